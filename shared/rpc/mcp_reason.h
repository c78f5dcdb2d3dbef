/* SPDX-License-Identifier: Apache-2.0 */

/* The table of why calls fail, and what an operator can do: for the status of
 * a zone, the log and the manual. */


#ifndef MCP_REASON_H_INCLUDED
#define MCP_REASON_H_INCLUDED


#include "rpc/mcp_fault.h"


/* The numbers stand in the zone. */
typedef enum {
    MCP_REASON_NONE = 0,
    MCP_REASON_TOOL_ERROR,             /* the tool said so */
    MCP_REASON_RPC_ERROR,              /* its backend said so */
    MCP_REASON_STATUS,                 /* an HTTP status of 400 or more */
    MCP_REASON_BACKEND_FAILED,
    MCP_REASON_BACKEND_TIMEOUT,
    MCP_REASON_BACKEND_OUTPUT,
    MCP_REASON_BACKEND_TOO_LARGE,
    MCP_REASON_NO_BACKEND,
    MCP_REASON_INPUT_TIMEOUT,          /* its client was asked in vain */
    MCP_REASON_CAPABILITY,
    MCP_REASON_ZONE_FULL,
    MCP_REASON_QUOTA,
    MCP_REASON_UNKNOWN,                /* there is no such tool */
    MCP_REASON_CANCELLED,
    MCP_REASON_EXPIRED,
    MCP_REASON_LOST,
    MCP_REASON_REQUEST,                /* a client's bad request */
    MCP_REASON_INTERNAL,
    MCP_REASON_COUNT
} mcp_reason_e;


typedef struct {
    mcp_str_t  name;           /* [a-z_]+ */
    mcp_str_t  text;           /* what it is */
    mcp_str_t  remedy;         /* what to do */
} mcp_reason_t;


/* Returns the row of a reason, that of NONE if there is none: never NULL. */
const mcp_reason_t *mcp_reason(unsigned reason);

/* Returns the reason of a fault. */
mcp_reason_e mcp_reason_of_fault(mcp_fault_e fault);


#endif /* MCP_REASON_H_INCLUDED */
