/* SPDX-License-Identifier: Apache-2.0 */

/* Lets backends see whether the client uses TLS. */

#ifndef MOD_MCP_TLS_H
#define MOD_MCP_TLS_H

#include "mod_mcp.h"

void mod_mcp_tls_register(void);
void mod_mcp_tls_init(apr_pool_t *pconf);

/*
 * Stores whether a client's request was received over TLS.  Called on the
 * request's own thread, before it creates a call.
 */
void mod_mcp_tls_note(request_rec *r);

#endif /* MOD_MCP_TLS_H */
