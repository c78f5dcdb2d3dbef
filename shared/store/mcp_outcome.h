/* SPDX-License-Identifier: Apache-2.0 */

/* The outcomes of requests: their names in logs and maps, their counters, and
 * the outcome of a finished stream. */


#ifndef MCP_OUTCOME_H_INCLUDED
#define MCP_OUTCOME_H_INCLUDED


#include "store/mcp_store.h"


/* How a request of a call ended; worse outcomes have larger numbers. Those up
 * to LOST are stored in the zone, see MCP_STORE_RESULT(). */
typedef enum {
    MCP_OUTCOME_NONE = 0,      /* it has not ended, or there is no call */
    MCP_OUTCOME_OK,
    MCP_OUTCOME_TOOL_ERROR,    /* a tool's result with isError */
    MCP_OUTCOME_RPC_ERROR,     /* an error response of the backend */
    MCP_OUTCOME_FAULT,         /* an error response of the server */
    MCP_OUTCOME_LOST,          /* the owner's process died */
    MCP_OUTCOME_CANCELLED,     /* by its client, or by the end of its session */
    MCP_OUTCOME_EXPIRED,       /* no client resumed the call within the
                                  max_wait of its policy */
    MCP_OUTCOME_COUNT
} mcp_outcome_e;


/* The names for logs and maps; empty for NONE. */
mcp_str_t mcp_outcome_name(mcp_outcome_e outcome);

/* Adds 1 to the store's counter for an outcome, if there is one. */
void mcp_outcome_count(mcp_store_t *store, mcp_outcome_e outcome);

/* Returns the outcome of a stream's call, or NONE while it is active. For a
 * batch it is the worst one, but a cancellation counts only if all requests
 * were cancelled. */
mcp_outcome_e mcp_outcome_of(const mcp_stream_info_t *info);


#endif /* MCP_OUTCOME_H_INCLUDED */
