/* SPDX-License-Identifier: Apache-2.0 */

/* Detects whether a location authenticates its clients. */


#ifndef NGX_HTTP_MCP_ACCESS_H_INCLUDED
#define NGX_HTTP_MCP_ACCESS_H_INCLUDED


#include "ngx_http_mcp_module.h"


/*
 * Returns the name of a directive by which a location authenticates its
 * clients (such as auth_basic with a value other than "off"), or NULL if there
 * is none.  Called when this module merges the location: nginx's
 * authentication modules have merged their directives before.
 */
const char *ngx_http_mcp_access_check(ngx_conf_t *cf);


#endif /* NGX_HTTP_MCP_ACCESS_H_INCLUDED */
