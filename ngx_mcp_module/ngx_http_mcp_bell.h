/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Bells: between processes travels only a wake-up, one eventfd per process
 * slot.  The master makes them, so that workers of all its generations hold
 * the same ones; what there is to do stands in the zone.
 */


#ifndef NGX_HTTP_MCP_BELL_H_INCLUDED
#define NGX_HTTP_MCP_BELL_H_INCLUDED


#include "ngx_http_mcp_module.h"


/* In the master, once: makes the bells that all workers inherit.  Processes
 * that find none look into their zones every NGX_HTTP_MCP_BELL_POLL ms.  */
void ngx_http_mcp_bell_create(ngx_cycle_t *cycle);

#define NGX_HTTP_MCP_BELL_POLL  50

/* Whether this process has a bell.  */
ngx_uint_t ngx_http_mcp_bell_is_ours(void);

/* How many slots, from the lowest, may have a process: low slots are taken
 * first, so none is far beyond the bells.  */
ngx_uint_t ngx_http_mcp_bell_slots(void);

/* Wakes the process in a slot.  */
void ngx_http_mcp_bell_ring(ngx_uint_t slot, ngx_log_t *log);

/*
 * Has the handler called when the bell of this process rings, and, with
 * c->close, when the process begins to wind up; ev->data is the connection,
 * whose data is the cycle.  Without a bell only the latter.
 */
ngx_int_t ngx_http_mcp_bell_listen(ngx_cycle_t *cycle,
    ngx_event_handler_pt handler);

/* In that handler: the bell has been heard.  */
void ngx_http_mcp_bell_silence(ngx_connection_t *c);


#endif /* NGX_HTTP_MCP_BELL_H_INCLUDED */
