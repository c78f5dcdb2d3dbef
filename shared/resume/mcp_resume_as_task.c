/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tasks (extension io.modelcontextprotocol/tasks): if a call takes long, or
 * its backend will publish the remaining messages, the client gets the id of a
 * task as the response, and polls the task. Clients do not read the events of
 * a task: mcp_task.c reads its state, and mcp_call_task.c makes a call a task.
 */


#include "exchange/mcp_task.h"
#include "resume/mcp_resume_common.h"


/* Data of this resumption method for a request that may become a task. */
typedef struct {
    uint64_t  due;             /* time at which the call becomes a task if it
                                  has no response by then, ms */
    unsigned  first:1;         /* 1: the call becomes a task before a backend is
                                  called */
} mcp_resume_task_t;


#define mcp_resume_task_of(states)  mcp_hook_state(states, &mcp_resume_task)


static mcp_next_e
mcp_resume_task_request(mcp_exchange_t *x)
{
    mcp_policy_t        policy;
    mcp_resume_task_t  *state;

    mcp_endpoint_policy(x->endpoint, x->msg->method,
                        x->variables.value[MCP_VARIABLE_NAME], &policy);

    /* A call that can be joined without a key does not become a task. Such a
     * call can be joined only until its client has got the response, and it
     * cannot be known whether a client has got the id of its task. */

    if ((x->join && x->join->once)
        || !mcp_policy_is_task(&policy, x->client.capabilities))
    {
        return MCP_NEXT_CONTINUE;
    }

    state =
        mcp_hook_state_create(x, &mcp_resume_task, sizeof(mcp_resume_task_t));
    if (state == NULL) {
        return MCP_NEXT_ERROR;
    }

    state->first = policy.task != MCP_TASK_AUTO;
    state->due = mcp_worker_now(x->worker)
                 + (state->first ? 0 : policy.task_after);

    return MCP_NEXT_CONTINUE;
}


static void
mcp_resume_task_start(mcp_call_t *call)
{
    mcp_resume_task_t  *state;

    state = mcp_resume_task_of(call->states);

    call->may_be_task = 1;
    call->interim_first = state->first;
    mcp_call_interim_at(call, &mcp_resume_task, state->due);
}


/* Makes the call a task, and writes the response with the task's id. Returns
 * the values of mcp_call_promote() or mcp_task_created(). */
static int
mcp_resume_task_create(mcp_exchange_t *x)
{
    int            rc;
    mcp_task_id_t  id;

    rc = mcp_call_promote(x->call);
    if (rc != MCP_OK) {
        return rc;
    }

    memcpy(id.stream, x->call->id, MCP_STREAM_ID_LEN);
    id.created = x->call->task_created;
    id.ttl = x->endpoint->task_ttl;

    return mcp_task_created(x, &id, MCP_STATE_PROCESSING, id.created);
}


static void
mcp_resume_task_interim(mcp_exchange_t *x)
{
    if (mcp_resume_task_create(x) != MCP_OK) {
        mcp_fault_write(&x->output.out, x->client.revision, x->msg->id,
                        MCP_FAULT_INTERNAL, mcp_null_str, mcp_null_str);
    }
}


/* Writes the last message on the connection of a client that has read the
 * stream until the call became a task: the response with the id of the task. */
static void
mcp_resume_task_tail(mcp_exchange_t *x, mcp_tail_e how)
{
    /* the call does not become a task if its client gets a question as the
     * response */

    if (how != MCP_TAIL_CLOSED || x->call == NULL || !x->call->may_be_task
        || mcp_resume_task_of(x->states) == NULL)
    {
        return;
    }

    /* clears x->reader.bound after the response: the connection ends now, and
     * the call must not end with the connection */

    mcp_buf_lit(&x->output.out, "data: ");
    mcp_resume_task_interim(x);
    mcp_buf_lit(&x->output.out, "\n\n");
    x->reader.bound = 0;
}


static const mcp_resume_call_t  mcp_resume_task_call = {
    .request = mcp_resume_task_request,
    .start = mcp_resume_task_start,
    .interim = mcp_resume_task_interim
};


const mcp_resume_method_t  mcp_resume_task = {
    .name = { "tasks", 5 },
    .capability = MCP_CLIENT_TASKS,
    .start = mcp_task_start,
    .respond = mcp_task_request,
    .tail = mcp_resume_task_tail,
    .call = &mcp_resume_task_call
};
