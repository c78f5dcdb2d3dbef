/* SPDX-License-Identifier: Apache-2.0 */

/* Responses that are not streams. */


#ifndef MCP_ANSWER_H_INCLUDED
#define MCP_ANSWER_H_INCLUDED


#include "rpc/mcp_fault.h"
#include "worker/mcp_worker_internal.h"


/* Appends a header. Headers beyond the limit of a response are dropped. */
void mcp_answer_header(mcp_exchange_t *x, mcp_str_t name, mcp_str_t value);

/* Responds without a body. Returns MCP_OK. */
int mcp_answer_status(mcp_exchange_t *x, int status);

/* Responds with 200 and x->answer.out as JSON. Returns MCP_OK, or the error of
 * the buffer. */
int mcp_answer_json(mcp_exchange_t *x);

/* Responds with a fault, which is counted and logged. id and detail may be
 * empty. Returns the values of mcp_answer_json(). */
int mcp_answer_fault(mcp_exchange_t *x, mcp_fault_e fault, mcp_str_t id,
    mcp_str_t detail);

/* Responds with a fault and error.data, which is raw JSON. */
int mcp_answer_fault_data(mcp_exchange_t *x, mcp_fault_e fault, mcp_str_t id,
    mcp_str_t detail, mcp_str_t data);

/* Notifies the waiting glue that the response is ready. */
void mcp_answer_ready(mcp_exchange_t *x, mcp_action_e action);


#endif /* MCP_ANSWER_H_INCLUDED */
