/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The initialize request of a request that is over: its client has cancelled
 * it, has disconnected or has ended its session, or it has timed out. The MCP
 * server may have opened the session already, but only the head of the response
 * has the session id. So the backend request continues until its response has
 * arrived. Then the first request that waits for the session gets the session.
 * If none waits, the step CLOSE ends the session at the server.
 */


#ifndef MCP_UPSTREAM_FINISH_INITIALIZE_H_INCLUDED
#define MCP_UPSTREAM_FINISH_INITIALIZE_H_INCLUDED


#include "call/mcp_call.h"


/* Time for which an initialize request may continue when its request is over,
 * ms. */
#define MCP_UPSTREAM_OPEN_GRACE  10000


/* Called when a request is over and its backend request would be aborted. If
 * the backend request is initialize, and its response has to arrive first, sets
 * session->late and returns 1. Otherwise returns 0: the caller has to abort the
 * backend request. */
int mcp_upstream_open_continue(mcp_request_t *req);

/* Returns the time for which the backend request of a request may continue when
 * the request is over, ms: MCP_UPSTREAM_OPEN_GRACE or MCP_CALL_GRACE. */
uint64_t mcp_upstream_open_grace(const mcp_request_t *req);

/* Do the same as mcp_backend_request_data() and mcp_backend_request_end() for
 * an initialize request whose request is over. For any other backend request,
 * they do nothing, and mcp_upstream_open_data() returns 0 instead of 1. */
int  mcp_upstream_open_data(mcp_backend_request_t *breq, const char *data,
    size_t len);
void mcp_upstream_open_end(mcp_request_t *req, mcp_fault_e fault,
    const char *detail);


#endif /* MCP_UPSTREAM_FINISH_INITIALIZE_H_INCLUDED */
