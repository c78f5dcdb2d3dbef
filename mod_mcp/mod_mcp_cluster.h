/* SPDX-License-Identifier: Apache-2.0 */

/* A child's connections to Redis. */

#ifndef MOD_MCP_CLUSTER_H
#define MOD_MCP_CLUSTER_H

#include "mod_mcp.h"

#ifdef MCP_CLUSTER

#include "mcp_worker.h"

/*
 * Creates the core's cluster object of this child, if a cluster is configured.
 * Called under mod_mcp_lock().
 */
void mod_mcp_cluster_start(server_rec *s);

/*
 * Destroys the core's cluster object and the connections to Redis.  Called
 * after the event loop has ended.
 */
void mod_mcp_cluster_stop(void);

/*
 * Returns 1 while a thread resolves a host name; such a thread cannot be
 * interrupted.
 */
int mod_mcp_cluster_is_naming(void);

/*
 * Mark a connection for the event loop: _act() for an action CONNECT, WRITE or
 * DISCONNECT, _event() for an event of the connection with this id.  Called
 * under mod_mcp_lock().
 */
void mod_mcp_cluster_act(const mcp_action_t *action);
void mod_mcp_cluster_event(apr_uint32_t id);

/*
 * Returns 1 if mod_mcp_cluster_work() has something to do.  Called under
 * mod_mcp_lock().
 */
int mod_mcp_cluster_has_work(void);

/*
 * Opens, reads and writes the marked connections.  Called by the event loop
 * only, without mod_mcp_lock().
 */
void mod_mcp_cluster_work(void);

#endif /* MCP_CLUSTER */

#endif /* MOD_MCP_CLUSTER_H */
