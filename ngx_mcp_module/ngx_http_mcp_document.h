/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Metadata documents of protected resources (RFC 9728), below /.well-known/.
 */


#ifndef NGX_HTTP_MCP_DOCUMENT_H_INCLUDED
#define NGX_HTTP_MCP_DOCUMENT_H_INCLUDED


#include "ngx_http_mcp_config.h"


/*
 * Adds the metadata document of an endpoint, if the endpoint has one, to its
 * server.  Returns NGX_ERROR, after an error in the log, if another endpoint
 * of the server has a different document for the same path.
 */
ngx_int_t ngx_http_mcp_document_add(ngx_conf_t *cf,
    ngx_http_mcp_loc_conf_t *mlcf);

/*
 * Installs the handler that serves the metadata documents, if there are any.
 * Called after all documents have been added.
 */
ngx_int_t ngx_http_mcp_document_init(ngx_conf_t *cf);


#endif /* NGX_HTTP_MCP_DOCUMENT_H_INCLUDED */
