/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Wake-ups between processes: one eventfd per process slot.  A wake-up carries
 * no data; the process finds its work in the zone.  The master creates the
 * eventfds, so that workers of all generations share them.
 */


#ifndef NGX_HTTP_MCP_WAKEUP_H_INCLUDED
#define NGX_HTTP_MCP_WAKEUP_H_INCLUDED


#include "ngx_http_mcp_module.h"


/*
 * Called in the master: creates the eventfds that all workers inherit.  On a
 * reload, creates only the missing ones.  A process without an eventfd checks
 * its zones every NGX_HTTP_MCP_WAKEUP_POLL ms.
 */
void ngx_http_mcp_wakeup_create(ngx_cycle_t *cycle);

#define NGX_HTTP_MCP_WAKEUP_POLL  50

/* Returns 1 if this process has an eventfd. */
ngx_uint_t ngx_http_mcp_wakeup_is_ours(void);

/*
 * Returns the number of process slots, counted from slot 0, that a check for
 * dead processes inspects.  Higher slots are not inspected, because nginx gives
 * new processes the lowest free slots.  The number is four times the number of
 * eventfds, at least four times NGX_HTTP_MCP_WAKEUP_MIN, and at most
 * NGX_MAX_PROCESSES.
 */
ngx_uint_t ngx_http_mcp_wakeup_slots(void);

/* Wakes the process in a slot.  Does nothing if the slot has no eventfd. */
void ngx_http_mcp_wakeup_send(ngx_uint_t slot, ngx_log_t *log);

/*
 * Installs a handler that is called when this process is woken.  The handler
 * is also called, with c->close set to 1, when the process starts to shut
 * down. ev->data is the connection c, and c->data is the cycle.  In a process
 * without an eventfd, the handler is called for the shutdown only.
 */
ngx_int_t ngx_http_mcp_wakeup_listen(ngx_cycle_t *cycle,
    ngx_event_handler_pt handler);

/* Called by the handler of ngx_http_mcp_wakeup_listen(): resets the
 * eventfd. */
void ngx_http_mcp_wakeup_silence(ngx_connection_t *c);


#endif /* NGX_HTTP_MCP_WAKEUP_H_INCLUDED */
