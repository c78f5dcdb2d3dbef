/* SPDX-License-Identifier: Apache-2.0 */

/* Lets backends see whether the client uses TLS. */

#ifndef MOD_MCP_TLS_H
#define MOD_MCP_TLS_H

#include "mod_mcp.h"

void mod_mcp_tls_register(void);
void mod_mcp_tls_init(apr_pool_t *pconf);

/*
 * Stores in mod_mcp_request_t whether a client's request was received over TLS,
 * and whether the client has a verified certificate.  Called on the request's
 * own thread, before the request creates a call.
 */
void mod_mcp_tls_note(request_rec *r);

#endif /* MOD_MCP_TLS_H */
