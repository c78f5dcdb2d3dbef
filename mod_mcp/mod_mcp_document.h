/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Metadata documents of protected resources (RFC 9728), below /.well-known/.
 */

#ifndef MOD_MCP_DOCUMENT_H
#define MOD_MCP_DOCUMENT_H

#include "mod_mcp.h"

#include "mcp_auth.h"

/* Create and drop the list of documents, together with the configuration. */
void mod_mcp_document_begin(apr_pool_t *p);
void mod_mcp_document_forget(void);

/*
 * Adds the metadata document of an endpoint of the server.  Returns 1, or 0 if
 * a different document has the same path. auth lives as long as the
 * configuration.
 */
int mod_mcp_document_add(server_rec *s, const mcp_auth_t *auth);

/*
 * Hook quick_handler: answers a request for a document.  It runs before access
 * rules, because the documents are public.
 */
int mod_mcp_document_find(request_rec *r, int lookup);

/* Hook handler: sends the document that mod_mcp_document_find() has found. */
int mod_mcp_document_handler(request_rec *r);

#endif /* MOD_MCP_DOCUMENT_H */
