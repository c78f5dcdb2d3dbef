/* SPDX-License-Identifier: Apache-2.0 */

/* The documents of resources, below /.well-known/.  */


#ifndef NGX_HTTP_MCP_DOCUMENT_H_INCLUDED
#define NGX_HTTP_MCP_DOCUMENT_H_INCLUDED


#include "ngx_http_mcp_config.h"


/* Adds the document of an endpoint, if it has one, to its server.  */
ngx_int_t ngx_http_mcp_document_add(ngx_conf_t *cf,
    ngx_http_mcp_loc_conf_t *mlcf);

/* Has the documents served; after they have been added.  */
ngx_int_t ngx_http_mcp_document_init(ngx_conf_t *cf);


#endif /* NGX_HTTP_MCP_DOCUMENT_H_INCLUDED */
