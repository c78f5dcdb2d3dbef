/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The table of reasons why calls fail, with remedies for the operator: for the
 * status page, the log and the manual.
 */


#ifndef MCP_REASON_H_INCLUDED
#define MCP_REASON_H_INCLUDED


#include "rpc/mcp_fault.h"


/* The zone contains these numbers, so new reasons are added at the end. */
typedef enum {
    MCP_REASON_NONE = 0,
    MCP_REASON_TOOL_ERROR,             /* the tool reported an error */
    MCP_REASON_RPC_ERROR,              /* the backend responded with a
                                          JSON-RPC error */
    MCP_REASON_STATUS,                 /* the backend responded with an HTTP
                                          status of 400 or more */
    MCP_REASON_BACKEND_FAILED,
    MCP_REASON_BACKEND_TIMEOUT,
    MCP_REASON_BACKEND_OUTPUT,
    MCP_REASON_BACKEND_TOO_LARGE,
    MCP_REASON_NO_BACKEND,
    MCP_REASON_INPUT_TIMEOUT,          /* the client did not answer a
                                          question in time */
    MCP_REASON_CAPABILITY,
    MCP_REASON_ZONE_FULL,
    MCP_REASON_QUOTA,
    MCP_REASON_UNKNOWN,                /* the tool does not exist */
    MCP_REASON_CANCELLED,
    MCP_REASON_EXPIRED,
    MCP_REASON_LOST,
    MCP_REASON_REQUEST,                /* the client's request is invalid */
    MCP_REASON_INTERNAL,
    MCP_REASON_LEFT,                   /* a client without a session closed
                                          the connection */
    MCP_REASON_UPSTREAM_AUTH,          /* an upstream refused credentials */
    MCP_REASON_UPSTREAM_HOST,          /* an upstream refused Host or Origin */
    MCP_REASON_UPSTREAM_VERSION,       /* an upstream does not serve the
                                          revision */
    MCP_REASON_UPSTREAM_SESSION,       /* a request got no session at an
                                          upstream, or the upstream rejected a
                                          new session */
    MCP_REASON_COUNT
} mcp_reason_e;


typedef struct {
    mcp_str_t  name;           /* [a-z_]+ */
    mcp_str_t  text;           /* explanation */
    mcp_str_t  remedy;         /* what the operator can do */
} mcp_reason_t;


/*
 * Returns the row of a reason; for an unknown number the row of
 * MCP_REASON_NONE. Never returns NULL.
 */
const mcp_reason_t *mcp_reason(unsigned reason);

/* Returns the reason of a fault. */
mcp_reason_e mcp_reason_of_fault(mcp_fault_e fault);


#endif /* MCP_REASON_H_INCLUDED */
