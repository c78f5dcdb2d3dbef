/* SPDX-License-Identifier: Apache-2.0 */

/* Questions of a task, and their answers. */


#ifndef MCP_TASK_UPDATE_H_INCLUDED
#define MCP_TASK_UPDATE_H_INCLUDED


#include "exchange/mcp_task.h"


/* Returns 1 if one of the first MCP_STORE_QUESTIONS questions of a task's
 * event, an object, has no answer yet. given has a bit for each answered
 * question. */
int mcp_task_asks(mcp_str_t questions, uint32_t given);

/* Appends the first MCP_STORE_QUESTIONS questions of a task's event, an object,
 * without the answered ones, for which given has bits. */
void mcp_task_questions(mcp_str_t questions, uint32_t given, mcp_buf_t *out);

/* Handles tasks/update: passes the responses to open questions to the call,
 * after which no process shows these questions again. Responses to other
 * questions are ignored. */
mcp_fault_e mcp_task_update(mcp_exchange_t *x, const mcp_task_t *task,
    const mcp_json_value_t *responses, mcp_buf_t *out);

/*
 * Sends the responses for a task of another node to that node. To be called
 * before mcp_task_update(), which responds to the request. *input contains the
 * stream and the principal. Returns the values of
 * mcp_operation_client_input().
 */
int mcp_task_update_unreachable(mcp_exchange_t *x, const mcp_task_t *task,
    const mcp_json_value_t *responses, mcp_operation_client_input_t *input);


#endif /* MCP_TASK_UPDATE_H_INCLUDED */
