/* SPDX-License-Identifier: Apache-2.0 */

/* Joining equal calls. */


#ifndef MCP_JOIN_H_INCLUDED
#define MCP_JOIN_H_INCLUDED


#include "exchange/mcp_exchange_internal.h"


/* Joins an equal call, which is active or has ended. Returns the values of
 * mcp_exchange_body(), or
 *   MCP_ERR_NOT_FOUND  there is none: a call has to be made of the message */
int mcp_join(mcp_exchange_t *x, const mcp_routing_t *v);

/*
 * Sets *join to the digests by which a request joins another one, or is joined.
 *
 * Returns MCP_OK, or
 *   MCP_DONE        the request cannot join or be joined
 *   MCP_ERR_SYNTAX  its key is invalid
 *   MCP_ERR_MEMORY
 */
int mcp_join_request(mcp_exchange_t *x, const mcp_routing_t *v,
    mcp_join_t *join);

/*
 * Allows others to join a call that is about to start. Returns the values of
 * mcp_exchange_body() if the call was rejected, or joined another one that was
 * first: this call is then freed. Otherwise returns
 *   MCP_ERR_NOT_FOUND  the call is the first one and has to be started
 */
int mcp_join_begin(mcp_exchange_t *x, mcp_call_t *call,
    const mcp_routing_t *v);


#endif /* MCP_JOIN_H_INCLUDED */
