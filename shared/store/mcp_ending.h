/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How a request of a call ends: its name in logs and maps, its counter, and
 * what the store says of a stream that is over.
 */


#ifndef MCP_ENDING_H_INCLUDED
#define MCP_ENDING_H_INCLUDED


#include "store/mcp_store.h"


/* How a request of a call ended; the worse, the larger.  Those up to LOST
 * stand in the zone, see MCP_STORE_RESULT(). */
typedef enum {
    MCP_ENDING_NONE = 0,       /* it has not, or there is no call */
    MCP_ENDING_OK,
    MCP_ENDING_TOOL_ERROR,     /* a tool's result with isError */
    MCP_ENDING_RPC_ERROR,      /* an error response of the backend's */
    MCP_ENDING_FAULT,          /* an error response of ours */
    MCP_ENDING_LOST,           /* its process died */
    MCP_ENDING_CANCELLED,      /* by its client, or its session has ended */
    MCP_ENDING_EXPIRED,        /* nobody came for it within max wait */
    MCP_ENDING_COUNT
} mcp_ending_e;


/* One name for each, as logs and maps have it; empty for NONE. */
mcp_str_t mcp_ending_name(mcp_ending_e ending);

/* Counts a request that ended so, if that has a counter. */
void mcp_ending_count(mcp_store_t *store, mcp_ending_e ending);

/* Returns how a stream's call ended, or NONE while it goes on.  Of a batch it
 * is the worst, but a cancellation counts only if all were cancelled. */
mcp_ending_e mcp_ending_of(const mcp_stream_info_t *info);


#endif /* MCP_ENDING_H_INCLUDED */
