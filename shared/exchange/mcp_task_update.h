/* SPDX-License-Identifier: Apache-2.0 */

/* Questions of a task, and their answers. */


#ifndef MCP_TASK_UPDATE_H_INCLUDED
#define MCP_TASK_UPDATE_H_INCLUDED


#include "exchange/mcp_task.h"


/* Returns 1 if one of the first MCP_STORE_QUESTIONS questions of a task's
 * event, an object, has no answer yet; given has a bit for each that has one.
 */
int mcp_task_asks(mcp_str_t questions, uint32_t given);

/* Appends the first MCP_STORE_QUESTIONS questions of a task's event, an object,
 * without those that have their answer, a bit for each. */
void mcp_task_questions(mcp_str_t questions, uint32_t given, mcp_buf_t *out);

/* Answers tasks/update: what is known of the responses goes to the call, and is
 * not asked any more from then on, at whatever process; the rest is ignored. */
mcp_fault_e mcp_task_update(mcp_exchange_t *x, const mcp_task_t *task,
    const mcp_json_value_t *responses, mcp_buf_t *out);

/* The same for a task of another node, before mcp_task_update(), which answers
 * the request: post has its stream and its principal.  Returns what
 * mcp_ask_post() does. */
int mcp_task_update_away(mcp_exchange_t *x, const mcp_task_t *task,
    const mcp_json_value_t *responses, mcp_ask_post_t *post);


#endif /* MCP_TASK_UPDATE_H_INCLUDED */
