/* SPDX-License-Identifier: Apache-2.0 */

/* What others answer at an endpoint: access rules, limits, nginx itself.  */


#ifndef NGX_HTTP_MCP_GUARD_H_INCLUDED
#define NGX_HTTP_MCP_GUARD_H_INCLUDED


#include "ngx_http_mcp_config.h"


/* Whether the endpoint of a location has anything to add there.  */
ngx_uint_t ngx_http_mcp_guard_needed(ngx_http_mcp_loc_conf_t *mlcf);

/* Adds what pages and clients need to know: CORS headers, challenges.  */
ngx_int_t ngx_http_mcp_guard_init(ngx_conf_t *cf);


#endif /* NGX_HTTP_MCP_GUARD_H_INCLUDED */
