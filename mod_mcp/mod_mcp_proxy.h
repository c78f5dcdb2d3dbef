/* SPDX-License-Identifier: Apache-2.0 */

/* Ends a backend request of mod_proxy while its backend is silent. */

#ifndef MOD_MCP_PROXY_H
#define MOD_MCP_PROXY_H

#include "mod_mcp.h"

/* Called in pre_config: finds mod_proxy. */
void mod_mcp_proxy_init(void);

/*
 * Warns if mod_proxy has a different release than the one this module was
 * built for.
 */
void mod_mcp_proxy_check(server_rec *s);

/*
 * For the thread that runs the backend request, while a FastCGI handler makes
 * its variables: if the handler has replaced its connection to the backend,
 * makes the new connection available to mod_mcp_proxy_abort().
 */
void mod_mcp_proxy_renew(mod_mcp_backend_request_t *req);

/* Carries out the action ABORT: shuts down the connection to the backend.
 * Called under mod_mcp_lock(). */
void mod_mcp_proxy_abort(mod_mcp_backend_request_t *req);

#endif /* MOD_MCP_PROXY_H */
