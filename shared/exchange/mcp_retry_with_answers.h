/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The second request of a client without a session whose first request has
 * ended with a question (2026-07-28, basic/patterns/mrtr). The second request
 * contains the answers. These functions handle it if the call of the first
 * request is still running, because an MCP server with sessions has asked the
 * question, see call/mcp_upstream_question_stateless_client.h.
 */


#ifndef MCP_RETRY_WITH_ANSWERS_H_INCLUDED
#define MCP_RETRY_WITH_ANSWERS_H_INCLUDED


#include "exchange/mcp_exchange_internal.h"


/* "state" is a request state after its seal was opened. Returns 1 if it names a
 * running call, 0 if it is the state of a backend. */
int mcp_retry_is(mcp_str_t state);

/*
 * Passes the answers in the message of x to the call that the state names, and
 * makes x the consumer of the call's stream. The call may run at any node.
 * After returning MCP_NEXT_WAIT, this function runs again when the cluster has
 * replied, see mcp_cluster_operation.h.
 *
 * Returns the values of mcp_exchange_body(). The response is a fault if the
 * call does not exist any more, or belongs to another principal.
 */
mcp_next_e mcp_retry(mcp_exchange_t *x, mcp_str_t state);


#endif /* MCP_RETRY_WITH_ANSWERS_H_INCLUDED */
