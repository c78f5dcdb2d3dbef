/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The core's worker in this process.  The core is not thread-safe, so a thread
 * uses it only between mod_mcp_lock() and mod_mcp_unlock().
 */

#ifndef MOD_MCP_WORKER_H
#define MOD_MCP_WORKER_H

#include "mod_mcp.h"

#include "mcp_worker.h"

/* malloc() and free(), for the core. */
extern const mcp_mem_t mod_mcp_mem;

/*
 * _now() returns the time of the steady clock, microseconds. _now_ms() returns
 * the store's time, ms since 1970: the zone's epoch plus the steady clock.
 */
apr_time_t mod_mcp_now(void);
apr_uint64_t mod_mcp_now_ms(void);

/*
 * Creates the lock of mod_mcp_lock(), attaches to the zone and creates the
 * worker.  Returns 1 on success.
 */
int mod_mcp_worker_init(void);

/*
 * Called when the child ends: clears mod_mcp_child.ready under mod_mcp_lock(),
 * detaches from the store, and gives up the slot.  The worker must not be used
 * afterwards; its memory is freed with the process.
 */
void mod_mcp_worker_exit(void);

void mod_mcp_lock(void);

/*
 * Takes the lock like mod_mcp_lock() and returns 1.  If the worker has ended,
 * does not take the lock and returns 0.
 */
int mod_mcp_lock_ready(void);

/*
 * Returns 1 if mod_mcp_lock() succeeds within 100 ms.  Releases the lock
 * again.
 */
int mod_mcp_can_lock(void);

/*
 * Carries out the core's actions, makes the event loop wake for the core's
 * next deadline, and releases the lock of mod_mcp_lock().
 */
void mod_mcp_unlock(void);

/*
 * Carries out the core's actions, under mod_mcp_lock().  Returns 1 if there
 * were actions.
 */
int mod_mcp_drain(void);

/*
 * Carries out the core's actions, then releases the lock of mod_mcp_lock(),
 * waits for a condition and takes the lock again. timeout: microseconds, 0: no
 * limit.  May return although the condition was not signalled.
 */
void mod_mcp_wait(mod_mcp_cond_t *cond, apr_interval_time_t timeout);

/* Returns 1 if a thread waits in mod_mcp_wait(). */
int mod_mcp_is_waiting(void);

/* Creates a condition for mod_mcp_wait().  Returns NULL on failure. */
mod_mcp_cond_t *mod_mcp_cond(apr_pool_t *p);

/* Wake one thread, or all threads, that wait for the condition. */
void mod_mcp_signal(mod_mcp_cond_t *cond);
void mod_mcp_broadcast(mod_mcp_cond_t *cond);

/*
 * Records that the worker's slot was woken: the next mod_mcp_drain() calls
 * mcp_worker_wake().  Called under mod_mcp_lock().
 */
void mod_mcp_worker_woken(void);

#endif /* MOD_MCP_WORKER_H */
