/* SPDX-License-Identifier: Apache-2.0 */

/* The requests that FastCGI backends get, byte for byte those of nginx.  */


#ifndef NGX_HTTP_MCP_FASTCGI_H_INCLUDED
#define NGX_HTTP_MCP_FASTCGI_H_INCLUDED


#include "ngx_http_mcp_module.h"


/* What is known of a location's "fastcgi_param" before a call begins.  */
typedef struct ngx_http_mcp_fastcgi_s  ngx_http_mcp_fastcgi_t;


/* Prepares a backend's location, if it has a "fastcgi_pass" whose requests can
 * be made here; otherwise it stays as it is.  */
ngx_int_t ngx_http_mcp_fastcgi_prepare(ngx_conf_t *cf,
    ngx_http_core_loc_conf_t *clcf);


#endif /* NGX_HTTP_MCP_FASTCGI_H_INCLUDED */
