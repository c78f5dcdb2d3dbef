/* SPDX-License-Identifier: Apache-2.0 */

/* This process's part in its zones.  */


#ifndef NGX_HTTP_MCP_WORKER_H_INCLUDED
#define NGX_HTTP_MCP_WORKER_H_INCLUDED


#include "ngx_http_mcp_zone.h"


/* Whether the event method suits, as far as it is known yet; logs if not.  */
ngx_int_t ngx_http_mcp_worker_check_events(ngx_cycle_t *cycle, ngx_log_t *log);

ngx_int_t ngx_http_mcp_worker_init_module(ngx_cycle_t *cycle);
ngx_int_t ngx_http_mcp_worker_init_process(ngx_cycle_t *cycle);
void ngx_http_mcp_worker_exit_process(ngx_cycle_t *cycle);

/* After feeding the core: its next deadline may be earlier.  */
void ngx_http_mcp_worker_arm(ngx_http_mcp_zone_t *zone);


#endif /* NGX_HTTP_MCP_WORKER_H_INCLUDED */
