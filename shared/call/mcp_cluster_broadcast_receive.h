/* SPDX-License-Identifier: Apache-2.0 */

/* Processing of broadcasts from other nodes of the cluster. */


#ifndef MCP_CLUSTER_BROADCAST_RECEIVE_H_INCLUDED
#define MCP_CLUSTER_BROADCAST_RECEIVE_H_INCLUDED


#include "worker/mcp_cluster_operation.h"


/*
 * Applies a broadcast at this node: ends a session, sets the log level of a
 * session, marks a session as having many calls, cancels a request, subscribes
 * a session's own stream, or notifies subscribers. May be called again for the
 * same broadcast. Unknown and expired broadcasts are ignored. The stored
 * values do not count for any tenant's quota.
 */
void mcp_receive_broadcast(mcp_worker_t *worker,
    const mcp_broadcast_t *broadcast);


#endif /* MCP_CLUSTER_BROADCAST_RECEIVE_H_INCLUDED */
