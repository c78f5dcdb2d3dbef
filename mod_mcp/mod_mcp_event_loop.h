/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The event loop: one thread of each process.  It serves the clients that have
 * no thread of their own, runs the worker's timers, and reacts to wake-ups of
 * other processes.
 */

#ifndef MOD_MCP_EVENT_LOOP_H
#define MOD_MCP_EVENT_LOOP_H

#include "mod_mcp.h"

apr_status_t mod_mcp_event_loop_start(apr_pool_t *pchild);
void mod_mcp_event_loop_stop(void);
apr_thread_t *mod_mcp_event_loop_thread(void);

/* The functions below are called under mod_mcp_lock(). */

/* Add a client to the event loop's queue, or remove it. */
void mod_mcp_event_loop_queue(mod_mcp_client_t *client);
void mod_mcp_event_loop_unqueue(mod_mcp_client_t *client);

/*
 * Sets the client's timer to "after" microseconds from now; deletes it if
 * after < 0.
 */
void mod_mcp_event_loop_timer(mod_mcp_client_t *client,
    apr_interval_time_t after);

/*
 * For the client's own thread, after it has passed data from the backend to the
 * core: carries out the core's actions and sends the resulting output on this
 * thread, which saves waking the event loop.  Does nothing while the event loop
 * serves the client, or while the socket's buffer is full.  Releases the lock
 * of mod_mcp_lock() while sending.
 */
void mod_mcp_event_loop_own(mod_mcp_client_t *client);

/*
 * Makes the event loop wake at "when" (ms, see mod_mcp_now_ms()) at the
 * latest.
 */
void mod_mcp_event_loop_before(apr_uint64_t when);

/* --- mod_mcp_logger.c --- */

apr_status_t mod_mcp_logger_start(apr_pool_t *pchild);
void mod_mcp_logger_stop(void);

/*
 * Passes a client to the logger, which returns the client to the event loop in
 * state CLOSING.  Called under mod_mcp_lock().
 */
void mod_mcp_logger_queue(mod_mcp_client_t *client);

#endif /* MOD_MCP_EVENT_LOOP_H */
