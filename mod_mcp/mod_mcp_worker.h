/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The core's worker.  The core is not thread-safe: whatever uses it does so
 * between mod_mcp_lock() and mod_mcp_unlock().
 */

#ifndef MOD_MCP_WORKER_H
#define MOD_MCP_WORKER_H

#include "mod_mcp.h"

#include "mcp_worker.h"

/* malloc, for the core. */
extern const mcp_mem_t mod_mcp_mem;

/* The steady clock; and the store's time, which follows it, in ms. */
apr_time_t mod_mcp_now(void);
apr_uint64_t mod_mcp_now_ms(void);

/* Makes the lock, attaches to the zone and creates the worker: 1 if that went
 * well. */
int mod_mcp_worker_init(void);

/* The child ends: clears its "ready" and gives up its slot, under the lock.
 * From then on nobody uses the worker, whose memory ends with the process. */
void mod_mcp_worker_exit(void);

void mod_mcp_lock(void);

/* Takes the lock and returns 1; returns 0 without the lock if the worker has
 * ended already. */
int mod_mcp_lock_ready(void);

/* 1 if the lock could be had within 100 ms; it is free again. */
int mod_mcp_can_lock(void);

/* Carries out the core's actions and makes sure that the pump wakes for its
 * next deadline. */
void mod_mcp_unlock(void);

/* Does the same, but keeps the lock.  Returns 1 if there were actions. */
int mod_mcp_drain(void);

/* Under the lock: does the same, and waits for a condition (timeout 0: without
 * limit).  May return though nobody signalled the condition. */
void mod_mcp_wait(mod_mcp_cond_t *cond, apr_interval_time_t timeout);

/* 1 if a thread waits in mod_mcp_wait(). */
int mod_mcp_is_waiting(void);

/* A condition for mod_mcp_wait(), or NULL. */
mod_mcp_cond_t *mod_mcp_cond(apr_pool_t *p);

/* Wakes a thread that waits for it, or all. */
void mod_mcp_signal(mod_mcp_cond_t *cond);
void mod_mcp_broadcast(mod_mcp_cond_t *cond);

/* Under the lock: the worker has to look at its slot. */
void mod_mcp_worker_woken(void);

#endif /* MOD_MCP_WORKER_H */
