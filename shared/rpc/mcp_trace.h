/* SPDX-License-Identifier: Apache-2.0 */

/* Trace context, as headers and _meta have it: W3C Trace Context, level 1, and
 * W3C Baggage. */


#ifndef MCP_TRACE_H_INCLUDED
#define MCP_TRACE_H_INCLUDED


#include "base/mcp_arena.h"
#include "mcp_fact.h"
#include "rpc/mcp_rpc.h"


/* The longest values that are passed on. */
#define MCP_TRACE_PARENT_MAX   256
#define MCP_TRACE_STATE_MAX    512
#define MCP_TRACE_BAGGAGE_MAX  8192


/* Where a value comes from: empty ones are not there. */
typedef struct {
    mcp_str_t  parent;
    mcp_str_t  state;
    mcp_str_t  baggage;
} mcp_trace_t;


/* Sets those facts whose values are what they should be; others are dropped.  A
 * tracestate counts with its traceparent only.  The values are borrowed. */
void mcp_trace_set(mcp_facts_t *facts, const mcp_trace_t *trace);

/* Takes what the _meta object of a message has, which may be nothing. */
void mcp_trace_of_meta(mcp_trace_t *trace, mcp_arena_t *arena,
    const mcp_rpc_t *msg);


#endif /* MCP_TRACE_H_INCLUDED */
