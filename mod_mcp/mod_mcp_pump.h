/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The pump: one thread of each process that serves the clients that have no
 * thread of their own, runs the worker's timers and answers the bell.
 */

#ifndef MOD_MCP_PUMP_H
#define MOD_MCP_PUMP_H

#include "mod_mcp.h"

apr_status_t mod_mcp_pump_start(apr_pool_t *pchild);
void mod_mcp_pump_stop(void);
apr_thread_t *mod_mcp_pump_thread(void);

/* All that follow are called under the lock. */

/* The pump has something to do for the client. */
void mod_mcp_pump_queue(mod_mcp_client_t *client);
void mod_mcp_pump_unqueue(mod_mcp_client_t *client);

/* Sets the client's timer, or deletes it (after < 0). */
void mod_mcp_pump_timer(mod_mcp_client_t *client, apr_interval_time_t after);

/*
 * The client's own thread, while it runs a backend call that has just brought
 * something: carries out the core's actions and sends to the client what the
 * pump would have to be woken for.  Gives the lock back meanwhile.
 */
void mod_mcp_pump_own(mod_mcp_client_t *client);

/* Makes the pump look at the latest at "when" (ms of mod_mcp_now_ms()). */
void mod_mcp_pump_before(apr_uint64_t when);

#endif /* MOD_MCP_PUMP_H */
