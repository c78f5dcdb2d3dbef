/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tasks (extension io.modelcontextprotocol/tasks): a tool's call that takes
 * long, or that its backend goes on with elsewhere, is answered with the id of
 * a task, which the client polls.  Its events are read by nobody; what the task
 * is at any time is in mcp_task.c, and what makes the call one in
 * mcp_call_task.c.
 */


#include "exchange/mcp_task.h"
#include "face/mcp_face_common.h"


/* What the face keeps of a request that may become a task. */
typedef struct {
    uint64_t  due;             /* when it does, if it has no response */
    unsigned  first:1;         /* before a backend is asked */
} mcp_face_task_t;


#define mcp_face_task_of(states)  mcp_hook_state(states, &mcp_face_task)


static int
mcp_face_task_request(mcp_exchange_t *x)
{
    mcp_policy_t      policy;
    mcp_face_task_t  *part;

    mcp_endpoint_policy(x->endpoint, x->msg->method,
                        x->facts.value[MCP_FACT_NAME], &policy);

    /* who may join a call by its arguments is one whose client got no response,
     * and nobody can say whether it got this one */

    if ((x->join && x->join->once)
        || !mcp_policy_is_task(&policy, x->client.capabilities))
    {
        return MCP_AGAIN;
    }

    part = mcp_hook_state_create(x, &mcp_face_task, sizeof(mcp_face_task_t));
    if (part == NULL) {
        return MCP_ERR_MEMORY;
    }

    part->first = policy.task != MCP_TASK_AUTO;
    part->due = mcp_worker_now(x->worker)
                + (part->first ? 0 : policy.task_after);

    return MCP_AGAIN;
}


static void
mcp_face_task_start(mcp_call_t *call)
{
    mcp_face_task_t  *part;

    part = mcp_face_task_of(call->states);

    call->may_be_task = 1;
    call->part_first = part->first;
    mcp_call_part_at(call, &mcp_face_task, part->due);
}


static void
mcp_face_task_refused(mcp_exchange_t *x)
{
    (void) x;
}


/* Makes a task of the call and writes the response that says so. */
static int
mcp_face_task_create(mcp_exchange_t *x)
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
mcp_face_task_interim(mcp_exchange_t *x)
{
    if (mcp_face_task_create(x) != MCP_OK) {
        mcp_fault_write(&x->answer.out, x->client.revision, x->msg->id,
                        MCP_FAULT_INTERNAL, mcp_null_str, mcp_null_str);
    }
}


static int
mcp_face_task_result(mcp_request_t *req, const mcp_backend_msg_t *msg,
    mcp_buf_t *out)
{
    (void) req;
    (void) msg;
    (void) out;

    return MCP_DONE;
}


static void
mcp_face_task_answered(mcp_request_t *req, mcp_ending_e how)
{
    (void) req;
    (void) how;
}


static void
mcp_face_task_failed(mcp_request_t *req)
{
    (void) req;
}


static mcp_fault_e
mcp_face_task_answer(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_method_e method, mcp_buf_t *out)
{
    return mcp_task_request(x, msg, method, out);
}


/* The client reads a stream already, and has waited long enough: the task is
 * the response on that connection. */
static void
mcp_face_task_tail(mcp_exchange_t *x, mcp_tail_e how)
{
    if (how != MCP_TAIL_CLOSED || x->call == NULL
        || mcp_face_task_of(x->states) == NULL)
    {
        return;
    }

    /* the call does not end with the connection any more */

    mcp_buf_lit(&x->answer.out, "data: ");
    mcp_face_task_interim(x);
    mcp_buf_lit(&x->answer.out, "\n\n");
    x->reader.bound = 0;
}


static const mcp_face_call_t  mcp_face_task_call = {
    .wanted_by = MCP_CLIENT_TASKS,
    .request = mcp_face_task_request,
    .start = mcp_face_task_start,
    .refused = mcp_face_task_refused,
    .interim = mcp_face_task_interim,
    .result = mcp_face_task_result,
    .answered = mcp_face_task_answered,
    .failed = mcp_face_task_failed
};


const mcp_face_t  mcp_face_task = {
    .name = { "tasks", 5 },
    .capability = MCP_CLIENT_TASKS,
    .ask = mcp_task_ask,
    .answer = mcp_face_task_answer,
    .tail = mcp_face_task_tail,
    .call = &mcp_face_task_call
};
