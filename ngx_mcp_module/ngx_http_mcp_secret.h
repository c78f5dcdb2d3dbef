/* SPDX-License-Identifier: Apache-2.0 */

/* Hides secrets in URLs from logs. */


#ifndef NGX_HTTP_MCP_SECRET_H_INCLUDED
#define NGX_HTTP_MCP_SECRET_H_INCLUDED


#include "ngx_http_mcp_module.h"


/* Installs a handler of the rewrite phase that overwrites secrets in the
 * request's URL. */
ngx_int_t ngx_http_mcp_secret_init(ngx_conf_t *cf);

/*
 * Returns the target of the request line as the client sent it, with its
 * secrets.  It lives as long as the request.
 */
ngx_str_t ngx_http_mcp_secret_target(ngx_http_request_t *r);


#endif /* NGX_HTTP_MCP_SECRET_H_INCLUDED */
