/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Repeated requests with the answers to questions of an MCP server with
 * sessions, from clients without a session (2026-07-28, basic/patterns/mrtr).
 * The call of the first request is still running: the server has asked on its
 * stream (call/mcp_upstream_ask_stateless_client.h).
 */


#ifndef MCP_RETRY_WITH_ANSWERS_H_INCLUDED
#define MCP_RETRY_WITH_ANSWERS_H_INCLUDED


#include "exchange/mcp_exchange_internal.h"


/* Returns 1 if an opened request state names a running call, 0 if it is the
 * state of a backend. */
int mcp_retry_is(mcp_str_t state);

/*
 * Passes the answers in the message of x to the call that the state names,
 * which may run at any node, and makes x its reader. Runs again after
 * MCP_AGAIN, see mcp_cluster_operation.h.
 *
 * Returns the values of mcp_exchange_body(). The response is a fault if the
 * call does not exist any more, or belongs to another principal.
 */
int mcp_retry(mcp_exchange_t *x, mcp_str_t state);


#endif /* MCP_RETRY_WITH_ANSWERS_H_INCLUDED */
