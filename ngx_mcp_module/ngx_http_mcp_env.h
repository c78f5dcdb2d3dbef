/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The mcp_env_t of a zone: memory, clock, randomness and log for the core.
 */


#ifndef NGX_HTTP_MCP_ENV_H_INCLUDED
#define NGX_HTTP_MCP_ENV_H_INCLUDED


#include "ngx_http_mcp_zone.h"


/* malloc() and free(), for the core. */
extern const mcp_mem_t  ngx_http_mcp_mem;


/* Sets zone->env, with zone->log as its log. zone->log must be set. */
void ngx_http_mcp_env_init(ngx_http_mcp_zone_t *zone);

/*
 * Returns the wall clock's time at which the steady clock was 0, ms since
 * 1970.
 */
uint64_t ngx_http_mcp_env_epoch(void);

/*
 * Returns the time of a zone, ms since 1970: its epoch plus the steady clock.
 * ctx is the ngx_http_mcp_zone_t.
 */
uint64_t ngx_http_mcp_env_now(void *ctx);


#endif /* NGX_HTTP_MCP_ENV_H_INCLUDED */
