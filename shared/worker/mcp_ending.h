/* SPDX-License-Identifier: Apache-2.0 */

/* How the requests of a call end, whoever is there to see it: for the log, the
 * counters, and $mcp_result. */


#ifndef MCP_ENDING_H_INCLUDED
#define MCP_ENDING_H_INCLUDED


#include "call/mcp_call_parts.h"


/* One name for each, as logs and maps have it; empty for NONE. */
mcp_str_t mcp_ending_name(mcp_ending_e ending);

/* A line at info: a backend is about to work on it. */
void mcp_ending_begin(const mcp_request_t *req);

/* A request of a call has ended so: once for each, before the call is over.
 * The exchange that waits for it is told. */
void mcp_ending(mcp_request_t *req, mcp_ending_e how);

/* All those of a call that have not ended. */
void mcp_ending_all(mcp_call_t *call, mcp_ending_e how);

/* That of a stream, or NONE while its call goes on.  Of a batch it is the
 * worst, but a cancellation counts only if all were cancelled. */
mcp_ending_e mcp_ending_of(const mcp_stream_info_t *info);


#endif /* MCP_ENDING_H_INCLUDED */
