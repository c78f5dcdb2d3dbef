/* SPDX-License-Identifier: Apache-2.0 */

/* Writes the requests to FastCGI backends, with the same bytes as nginx. */


#ifndef NGX_HTTP_MCP_FASTCGI_H_INCLUDED
#define NGX_HTTP_MCP_FASTCGI_H_INCLUDED


#include "ngx_http_mcp_module.h"


/* The compiled "fastcgi_param" directives of a backend's location. */
typedef struct ngx_http_mcp_fastcgi_s  ngx_http_mcp_fastcgi_t;


/*
 * Replaces the handler of a backend's location, if that is the handler of
 * "fastcgi_pass" and ngx_http_mcp_fastcgi.c can write its requests; otherwise
 * does not change the location.  Returns NGX_OK, or NGX_ERROR if memory is
 * out.
 */
ngx_int_t ngx_http_mcp_fastcgi_prepare(ngx_conf_t *cf,
    ngx_http_core_loc_conf_t *clcf);


#endif /* NGX_HTTP_MCP_FASTCGI_H_INCLUDED */
