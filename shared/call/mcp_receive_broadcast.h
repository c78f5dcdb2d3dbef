/* SPDX-License-Identifier: Apache-2.0 */

/* Processing of broadcasts from other nodes of the cluster. */


#ifndef MCP_RECEIVE_BROADCAST_H_INCLUDED
#define MCP_RECEIVE_BROADCAST_H_INCLUDED


#include "worker/mcp_operation.h"


/* Applies a broadcast at this node: ends a session, sets its log level, cancels
 * a request, or notifies subscribers. May be repeated for the same broadcast;
 * unknown ones are ignored. Its values count towards no tenant's quota. */
void mcp_receive_broadcast(mcp_worker_t *worker,
    const mcp_broadcast_t *broadcast);


#endif /* MCP_RECEIVE_BROADCAST_H_INCLUDED */
