/* SPDX-License-Identifier: Apache-2.0 */

/* What the core needs from the process at once.  */


#ifndef NGX_HTTP_MCP_ENV_H_INCLUDED
#define NGX_HTTP_MCP_ENV_H_INCLUDED


#include "ngx_http_mcp_zone.h"


/* malloc() and free(), for what the core keeps.  */
extern const mcp_mem_t  ngx_http_mcp_mem;


/* Fills zone->env; zone->log is known.  */
void ngx_http_mcp_env_init(ngx_http_mcp_zone_t *zone);

/* The time at which the steady clock stood at 0, ms since 1970. */
uint64_t ngx_http_mcp_env_epoch(void);

/* The time in a zone, ms since 1970; ctx: ngx_http_mcp_zone_t.  */
uint64_t ngx_http_mcp_env_now(void *ctx);


#endif /* NGX_HTTP_MCP_ENV_H_INCLUDED */
