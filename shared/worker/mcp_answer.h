/* SPDX-License-Identifier: Apache-2.0 */

/* The answer to a request that is no stream. */


#ifndef MCP_ANSWER_H_INCLUDED
#define MCP_ANSWER_H_INCLUDED


#include "rpc/mcp_fault.h"
#include "worker/mcp_worker_parts.h"


/* Appends a header; those over the limit of a response are dropped. */
void mcp_answer_header(mcp_exchange_t *x, mcp_str_t name, mcp_str_t value);

/* Answers without a body.  Returns MCP_OK. */
int mcp_answer_status(mcp_exchange_t *x, int status);

/* Answers 200 with x->answer.out as JSON.  Returns MCP_OK, or the error of that
 * buffer. */
int mcp_answer_json(mcp_exchange_t *x);

/* Answers with a fault, counts and logs it; id and detail may be empty.
 * Returns what mcp_answer_json() does. */
int mcp_answer_fault(mcp_exchange_t *x, mcp_fault_e fault, mcp_str_t id,
    mcp_str_t detail);

/* The same, with error.data, which is raw JSON. */
int mcp_answer_fault_data(mcp_exchange_t *x, mcp_fault_e fault, mcp_str_t id,
    mcp_str_t detail, mcp_str_t data);

/* Tells the glue, which waits for it, that the answer is there. */
void mcp_answer_ready(mcp_exchange_t *x, mcp_action_e action);


#endif /* MCP_ANSWER_H_INCLUDED */
