/* SPDX-License-Identifier: Apache-2.0 */

/* The requests of clients about tasks (extension
 * io.modelcontextprotocol/tasks). Any process can handle them, because the
 * store has the data about their calls. */


#ifndef MCP_TASK_H_INCLUDED
#define MCP_TASK_H_INCLUDED


#include "rpc/mcp_request_id.h"
#include "worker/mcp_cluster_operation.h"


/* A task found by its id. */
typedef struct {
    mcp_str_t           text;          /* id as clients have it, a signed
                                          token */
    mcp_task_id_t       id;
    mcp_stream_ref_t    ref;
    const mcp_found_t  *found;         /* the task's state in the cluster, to be
                                          used instead of the local state; NULL:
                                          the local state is current */
    unsigned            is_local:1;    /* 1: the task's stream is at this
                                          node */
} mcp_task_t;


/*
 * To be called by an entry function (mcp_cluster_operation.h) before
 * mcp_task_request(). Looks the request's task up in the cluster, unless this
 * node has the task's current state. If the state in the cluster has to be used
 * (mcp_task_t.found), sends tasks/update and tasks/cancel to the cluster.
 *
 * Returns the values of mcp_operation(), or MCP_ERR_LIMIT.
 */
int mcp_task_start(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_method_e method);

/*
 * To be called by an entry function: looks a task up in the cluster, unless
 * this node has its current state. If listens is 1, this node is notified of
 * later changes of the task. Returns the values of mcp_operation(), or
 *   MCP_DONE  no lookup is needed, or the task does not exist
 */
int mcp_task_lookup(mcp_exchange_t *x, mcp_str_t text, int listens,
    mcp_task_t *task);

/* Sets *stream to the arguments of a lookup of the task; listens as for
 * mcp_task_lookup(). */
void mcp_task_stream(const mcp_exchange_t *x, const mcp_task_t *task,
    int listens, mcp_operation_stream_t *stream);

/*
 * Finds the task with an id, if it belongs to the principal of x. task->text
 * points to the text of the id, which is not copied.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the task does not exist, belongs to another principal,
 *                      or has expired
 *   MCP_ERR_INTERNAL
 */
int mcp_task_find(mcp_exchange_t *x, mcp_str_t text, mcp_task_t *task);

/*
 * Appends a CreateTaskResult to x->output.out: the response to a call that has
 * become a task. state and changed are the task's current state and the time
 * of its last change, ms. Returns MCP_OK, the values of mcp_task_id_write(),
 * or the error of a buffer.
 */
int mcp_task_created(mcp_exchange_t *x, const mcp_task_id_t *id,
    mcp_stream_state_e state, uint64_t changed);

/* Makes x->output.out the CreateTaskResult of a task that another request has
 * created. Returns the values of mcp_task_created(). */
int mcp_task_created_before(mcp_exchange_t *x, const mcp_stream_info_t *info);

/*
 * Appends the members of a task in its current state (DetailedTask), without
 * braces.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the task does not exist any more
 *   MCP_ERR_INTERNAL or the error of out.
 */
int mcp_task_write(mcp_exchange_t *x, const mcp_task_t *task, mcp_buf_t *out);

/* Handles tasks/get, tasks/update or tasks/cancel, and appends the result to
 * out. Returns MCP_FAULT_NONE or the fault. */
mcp_fault_e mcp_task_request(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_method_e method, mcp_buf_t *out);


/* Returns 1 if one of the first MCP_STORE_QUESTIONS questions of a task has no
 * answer yet. "questions" is the task's event, a JSON object of questions.
 * "given" has a bit for each answered question. */
int mcp_task_has_questions(mcp_str_t questions, uint32_t given);

/* Appends a JSON object of the first MCP_STORE_QUESTIONS questions, without the
 * answered ones. For the arguments see mcp_task_has_questions(). */
void mcp_task_questions(mcp_str_t questions, uint32_t given, mcp_buf_t *out);


#endif /* MCP_TASK_H_INCLUDED */
