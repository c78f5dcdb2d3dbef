/* SPDX-License-Identifier: Apache-2.0 */

/* Joining equal calls. */


#ifndef MCP_JOIN_CALLS_H_INCLUDED
#define MCP_JOIN_CALLS_H_INCLUDED


#include "exchange/mcp_exchange_internal.h"


/* Joins an equal call, which is active or has ended. Returns the values of
 * mcp_exchange_body(), or
 *   MCP_ERR_NOT_FOUND  there is none: the caller has to create a call */
int mcp_join(mcp_exchange_t *x, const mcp_routing_t *v);

/*
 * Allows other requests to join a call that is about to start. Returns the
 * values of mcp_exchange_body() if the request was rejected, waits, or joined
 * an equal call that began before; the call is then freed, unless it waits for
 * the cluster. Otherwise returns
 *   MCP_ERR_NOT_FOUND  the call is the first one and has to be started
 */
int mcp_join_begin(mcp_exchange_t *x, mcp_call_t *call,
    const mcp_routing_t *v);


#endif /* MCP_JOIN_CALLS_H_INCLUDED */
