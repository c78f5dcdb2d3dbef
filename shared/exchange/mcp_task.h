/* SPDX-License-Identifier: Apache-2.0 */

/* Tasks as their clients see them (extension io.modelcontextprotocol/tasks): at
 * whatever process, by what the store has of their calls. */


#ifndef MCP_TASK_H_INCLUDED
#define MCP_TASK_H_INCLUDED


#include "rpc/mcp_task_id.h"
#include "worker/mcp_ask.h"


/* A task by its id. */
typedef struct {
    mcp_str_t           text;          /* of the id, as clients have it */
    mcp_task_id_t       id;
    mcp_stream_ref_t    ref;
    const mcp_found_t  *found;         /* what the cluster knows of it, and
                                          counts; or NULL */
    unsigned            own:1;         /* it runs at this node */
} mcp_task_t;


/*
 * Asks how a task is, of which other nodes may know more, and tells them what
 * the request has for it, for a root: see mcp_ask.h.  Returns what mcp_ask()
 * does, or MCP_ERR_LIMIT.
 */
int mcp_task_ask(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_method_e method);

/*
 * Asks how a task is, for a root, unless this node knows; and, if listens, to
 * hear when that changes.
 *
 * Returns what mcp_ask() does, or
 *   MCP_DONE  there is nothing to ask, or to be found
 */
int mcp_task_look(mcp_exchange_t *x, mcp_str_t text, int listens,
    mcp_task_t *task);

/* Describes what is asked for that. */
void mcp_task_stream(const mcp_exchange_t *x, const mcp_task_t *task,
    int listens, mcp_ask_stream_t *stream);

/*
 * Finds the task of an id, whose text is borrowed, for the principal of x.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is none, or it is another's, or its time is over
 *   MCP_ERR_INTERNAL
 */
int mcp_task_find(mcp_exchange_t *x, mcp_str_t text, mcp_task_t *task);

/*
 * Appends the response to a call that is a task to x->answer.out
 * (CreateTaskResult); the state, and when that changed, are how the task is
 * now.
 *
 * Returns MCP_OK, or what mcp_task_id_write() does, or the error of a buffer.
 */
int mcp_task_created(mcp_exchange_t *x, const mcp_task_id_t *id,
    mcp_stream_state_e state, uint64_t changed);

/*
 * Appends the members of a task as it is now, without braces (DetailedTask).
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  it has gone
 *   MCP_ERR_INTERNAL
 *   the error of out
 */
int mcp_task_write(mcp_exchange_t *x, const mcp_task_t *task, mcp_buf_t *out);

/* Answers tasks/get, tasks/update or tasks/cancel: appends the result. */
mcp_fault_e mcp_task_request(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_method_e method, mcp_buf_t *out);


#endif /* MCP_TASK_H_INCLUDED */
