/* SPDX-License-Identifier: Apache-2.0 */

/* Outcomes: functions that record the state, the start and the outcome of a
 * call's requests in the log, the counters of the zone, and $mcp_result. */


#ifndef MCP_CALL_RESPONSE_H_INCLUDED
#define MCP_CALL_RESPONSE_H_INCLUDED


#include "call/mcp_call.h"


/* Sets the state of a request, and logs the change at level debug. */
void mcp_request_set_state(mcp_request_t *req, mcp_request_state_e state);

/* Stores the text with which a failure was logged, for the status page. */
void mcp_request_why(mcp_request_t *req, const char *why);

/* Records the start of a request whose backend is called: in the log at level
 * info, and in the zone. */
void mcp_request_begins(mcp_request_t *req);

/* Records the outcome of a request for counters, log and variables, and passes
 * it to the waiting exchange. Called once for each request that has begun,
 * before its call is over. */
void mcp_request_ends(mcp_request_t *req, mcp_outcome_e how);

/* Records the outcome of all requests of a call that are not over. */
void mcp_request_ends_all(mcp_call_t *call, mcp_outcome_e how);


#endif /* MCP_CALL_RESPONSE_H_INCLUDED */
