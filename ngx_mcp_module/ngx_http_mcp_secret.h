/* SPDX-License-Identifier: Apache-2.0 */

/* What logs must not show of a URL. */


#ifndef NGX_HTTP_MCP_SECRET_H_INCLUDED
#define NGX_HTTP_MCP_SECRET_H_INCLUDED


#include "ngx_http_mcp_module.h"


/* Hides secrets in the rewrite phase.  */
ngx_int_t ngx_http_mcp_secret_init(ngx_conf_t *cf);

/* The request line's target as it came; lives as long as the request.  */
ngx_str_t ngx_http_mcp_secret_target(ngx_http_request_t *r);


#endif /* NGX_HTTP_MCP_SECRET_H_INCLUDED */
