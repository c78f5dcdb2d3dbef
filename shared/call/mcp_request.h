/* SPDX-License-Identifier: Apache-2.0 */

/* How the requests of a call begin and end, for the log, the counters, and
 * $mcp_result. */


#ifndef MCP_REQUEST_H_INCLUDED
#define MCP_REQUEST_H_INCLUDED


#include "call/mcp_call.h"


/* Logs a change of state at debug. */
void mcp_request_set_state(mcp_request_t *req, mcp_request_state_e state);

/* Keeps the log's reason of a failure for the status. */
void mcp_request_why(mcp_request_t *req, const char *why);

/* Logs at info, and shows in the zone, that a backend is about to work on the
 * request. */
void mcp_request_begins(mcp_request_t *req);

/* Notes how a request has ended, once for each, before its call is over, and
 * tells the exchange that waits for it. */
void mcp_request_ends(mcp_request_t *req, mcp_ending_e how);

/* The same for all requests of a call that have not ended. */
void mcp_request_ends_all(mcp_call_t *call, mcp_ending_e how);


#endif /* MCP_REQUEST_H_INCLUDED */
