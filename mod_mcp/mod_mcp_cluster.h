/* SPDX-License-Identifier: Apache-2.0 */

/* A child's connections to Redis. */

#ifndef MOD_MCP_CLUSTER_H
#define MOD_MCP_CLUSTER_H

#include "mod_mcp.h"

#ifdef MCP_CLUSTER

#include "mcp_worker.h"

/* Under the lock: the child's part in the cluster begins, if there is one. */
void mod_mcp_cluster_start(server_rec *s);

/* After the pump: it ends. */
void mod_mcp_cluster_stop(void);

/* 1 if a name is still being looked up, by a thread that nothing can end. */
int mod_mcp_cluster_is_naming(void);

/* Under the lock: CONNECT, WRITE and DISCONNECT; and an event of a socket. */
void mod_mcp_cluster_act(const mcp_action_t *action);
void mod_mcp_cluster_event(apr_uint32_t id);

/* Under the lock: 1 if mod_mcp_cluster_work() has something to do. */
int mod_mcp_cluster_has_work(void);

/* The pump alone, without the lock. */
void mod_mcp_cluster_work(void);

#endif /* MCP_CLUSTER */

#endif /* MOD_MCP_CLUSTER_H */
