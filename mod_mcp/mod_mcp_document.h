/* SPDX-License-Identifier: Apache-2.0 */

/* The documents of resources, below /.well-known/. */

#ifndef MOD_MCP_DOCUMENT_H
#define MOD_MCP_DOCUMENT_H

#include "mod_mcp.h"

#include "mcp_auth.h"

/* The life of the list, with the configuration's. */
void mod_mcp_document_begin(apr_pool_t *p);
void mod_mcp_document_forget(void);

/* Adds the document of an endpoint of the server; returns 0 if another one
 * stands at its path.  auth lives as long as the configuration. */
int mod_mcp_document_add(server_rec *s, const mcp_auth_t *auth);

/* quick_handler: public, whatever rules hold for the path. */
int mod_mcp_document_handler(request_rec *r, int lookup);

#endif /* MOD_MCP_DOCUMENT_H */
