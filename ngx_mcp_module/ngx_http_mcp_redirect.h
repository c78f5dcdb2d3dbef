/* SPDX-License-Identifier: Apache-2.0 */

/* Checks the X-Accel-Redirect of a backend's response. */


#ifndef NGX_HTTP_MCP_REDIRECT_H_INCLUDED
#define NGX_HTTP_MCP_REDIRECT_H_INCLUDED


#include "ngx_http_mcp_module.h"


/*
 * Installs the handlers that reject an X-Accel-Redirect to a location that is
 * not a backend.
 */
ngx_int_t ngx_http_mcp_redirect_init(ngx_conf_t *cf);


#endif /* NGX_HTTP_MCP_REDIRECT_H_INCLUDED */
