/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Trace context in headers and in _meta: W3C Trace Context, level 1, and W3C
 * Baggage.
 */


#ifndef MCP_TRACE_H_INCLUDED
#define MCP_TRACE_H_INCLUDED


#include "base/mcp_arena.h"
#include "mcp_variable.h"
#include "rpc/mcp_rpc.h"


/* Maximum lengths of values that are forwarded, bytes. */
#define MCP_TRACE_PARENT_MAX   256
#define MCP_TRACE_STATE_MAX    512
#define MCP_TRACE_BAGGAGE_MAX  8192


/* Values of a trace context; empty: absent. */
typedef struct {
    mcp_str_t  parent;
    mcp_str_t  state;
    mcp_str_t  baggage;
} mcp_trace_t;


/*
 * Sets the trace variables to the valid values in *trace, and omits invalid
 * values. A tracestate is valid only together with its traceparent. The values
 * are borrowed.
 */
void mcp_trace_set(mcp_variables_t *variables, const mcp_trace_t *trace);

/*
 * Sets *trace to the trace context in the _meta of a message; values that are
 * absent there are empty.
 */
void mcp_trace_of_meta(mcp_trace_t *trace, mcp_arena_t *arena,
    const mcp_rpc_t *msg);


#endif /* MCP_TRACE_H_INCLUDED */
