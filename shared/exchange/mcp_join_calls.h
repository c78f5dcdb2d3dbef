/* SPDX-License-Identifier: Apache-2.0 */

/* Joining: a request gets the messages and the response of an equal call that
 * another request began. The comment in mcp_join_calls.c has the rules. */


#ifndef MCP_JOIN_CALLS_H_INCLUDED
#define MCP_JOIN_CALLS_H_INCLUDED


#include "exchange/mcp_exchange_internal.h"


/*
 * Joins an equal call of another request, if there is one. The equal call may
 * be active or have ended. Returns the values of mcp_exchange_body(), or
 *   MCP_NEXT_CONTINUE  there is no equal call: the caller has to create a call
 */
mcp_next_e mcp_join(mcp_exchange_t *x, const mcp_routing_t *v);

/*
 * Allows other requests to join the call of x, which is about to start. If an
 * equal call has begun before, x joins the equal call instead, or waits.
 *
 * Returns MCP_NEXT_CONTINUE if the call of x is the first one, and the caller
 * has to start it. Otherwise returns a value of mcp_exchange_body(): the
 * request was rejected, waits, or has joined another call. In these cases the
 * call of x was freed, unless x waits for the cluster.
 */
mcp_next_e mcp_join_begin(mcp_exchange_t *x, mcp_call_t *call,
    const mcp_routing_t *v);


#endif /* MCP_JOIN_CALLS_H_INCLUDED */
