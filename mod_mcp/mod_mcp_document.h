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

/* quick_handler: answers a request for a document, which is public whatever
 * access rules hold for its path. */
int mod_mcp_document_find(request_rec *r, int lookup);

/* handler: sends the document that mod_mcp_document_find() found. */
int mod_mcp_document_handler(request_rec *r);

#endif /* MOD_MCP_DOCUMENT_H */
