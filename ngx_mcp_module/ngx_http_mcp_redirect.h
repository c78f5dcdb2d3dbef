/* SPDX-License-Identifier: Apache-2.0 */

/* Where the X-Accel-Redirect of a backend may lead.  */


#ifndef NGX_HTTP_MCP_REDIRECT_H_INCLUDED
#define NGX_HTTP_MCP_REDIRECT_H_INCLUDED


#include "ngx_http_mcp_module.h"


/* Keeps it within the locations of backends.  */
ngx_int_t ngx_http_mcp_redirect_init(ngx_conf_t *cf);


#endif /* NGX_HTTP_MCP_REDIRECT_H_INCLUDED */
