/* SPDX-License-Identifier: Apache-2.0 */

/* This process's workers, one for each zone. */


#ifndef NGX_HTTP_MCP_WORKER_H_INCLUDED
#define NGX_HTTP_MCP_WORKER_H_INCLUDED


#include "ngx_http_mcp_zone.h"


/*
 * Checks the event method of the configuration.  Returns NGX_OK for epoll and
 * kqueue, and if no method is set at the time of the call.  Otherwise logs an
 * error and returns NGX_ERROR.
 */
ngx_int_t ngx_http_mcp_worker_check_events(ngx_cycle_t *cycle, ngx_log_t *log);

ngx_int_t ngx_http_mcp_worker_init_module(ngx_cycle_t *cycle);
ngx_int_t ngx_http_mcp_worker_init_process(ngx_cycle_t *cycle);
void ngx_http_mcp_worker_exit_process(ngx_cycle_t *cycle);

/*
 * Sets the timer of a zone to the core's next deadline, or leaves this to the
 * next run of the queue.  Must be called after each call into the core.
 */
void ngx_http_mcp_worker_arm(ngx_http_mcp_zone_t *zone);


#endif /* NGX_HTTP_MCP_WORKER_H_INCLUDED */
