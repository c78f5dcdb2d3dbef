/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Headers for error responses at an endpoint that do not come from the core:
 * from access rules, limits, or nginx itself.
 */


#ifndef NGX_HTTP_MCP_ERROR_HEADERS_H_INCLUDED
#define NGX_HTTP_MCP_ERROR_HEADERS_H_INCLUDED


#include "ngx_http_mcp_config.h"


/* Returns 1 if error responses at the location's endpoint need CORS headers or
 * an authentication challenge. */
ngx_uint_t ngx_http_mcp_error_headers_needed(ngx_http_mcp_loc_conf_t *mlcf);

/*
 * Installs the handlers and filters that answer CORS preflights, and add CORS
 * headers and authentication challenges to error responses.
 */
ngx_int_t ngx_http_mcp_error_headers_init(ngx_conf_t *cf);


#endif /* NGX_HTTP_MCP_ERROR_HEADERS_H_INCLUDED */
