/* SPDX-License-Identifier: Apache-2.0 */

/* Whether a location identifies its clients.  */


#ifndef NGX_HTTP_MCP_ACCESS_H_INCLUDED
#define NGX_HTTP_MCP_ACCESS_H_INCLUDED


#include "ngx_http_mcp_module.h"


/* The directive by which the location that is being merged does so, or NULL. */
const char *ngx_http_mcp_access_check(ngx_conf_t *cf);


#endif /* NGX_HTTP_MCP_ACCESS_H_INCLUDED */
