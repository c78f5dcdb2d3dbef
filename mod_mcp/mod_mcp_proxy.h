/* SPDX-License-Identifier: Apache-2.0 */

/* Ends a backend request of mod_proxy while its backend is silent. */

#ifndef MOD_MCP_PROXY_H
#define MOD_MCP_PROXY_H

#include "mod_mcp.h"

/* Registers filters and the hook that adds them to connections to backends. */
void mod_mcp_proxy_register(void);

/*
 * Carries out the action ABORT: shuts down the connection to the backend.  If
 * no connection is in use yet, the first use will shut it down.  Called under
 * mod_mcp_lock().
 */
void mod_mcp_proxy_abort(mod_mcp_backend_request_t *req);

#endif /* MOD_MCP_PROXY_H */
