/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Questions of a backend whose call is a task. The task shows each question
 * until the client has answered it (io.modelcontextprotocol/tasks, "Task Update
 * Requests").
 *
 * The questions of one backend message are one event, whose text is the object
 * inputRequests with changed keys. Each key gets the number of the event as a
 * suffix, because keys must be unique for the lifetime of the task, but a
 * backend may use the same keys again.
 */

#include "call/mcp_call_internal.h"
#include "call/mcp_call_outcome.h"
#include "call/mcp_upstream_ask.h"


/* Appends the text of the event with this number to out: the object
 * inputRequests, in which each key has the number as a suffix. */
static void
mcp_input_task_write(const mcp_question_t *questions, size_t n, uint64_t number,
    mcp_buf_t *out)
{
    size_t                 i;
    const mcp_question_t  *q;

    for (i = 0; i < n; i++) {
        q = &questions[i];

        mcp_buf_add(out, i ? "," : "{", 1);
        mcp_buf_add(out, q->key.data, q->key.len - 1);
        mcp_buf_lit(out, "#");
        mcp_buf_int(out, (int64_t) number);
        mcp_buf_lit(out, "\":{\"method\":");
        mcp_buf_json(out, q->method);

        if (q->params.len) {
            mcp_buf_lit(out, ",\"params\":");
            mcp_buf_str(out, q->params);
        }

        mcp_buf_lit(out, "}");
    }

    mcp_buf_lit(out, "}");
}


int
mcp_input_task_append(mcp_request_t *req, mcp_question_t *questions, size_t n)
{
    int                rc;
    size_t             i;
    uint64_t           number;
    mcp_buf_t          text;
    mcp_call_t        *call;
    mcp_stream_info_t  info;

    call = req->call;

    /* only this process appends to the stream, so own_seq cannot change before
     * the append */

    rc = mcp_store_info(call->worker->store, &call->ref, &info);
    if (rc != MCP_OK) {
        return rc;
    }

    number = info.own_seq + 1;

    mcp_buf_init(&text, &call->worker->env->mem, SIZE_MAX / 2);
    mcp_input_task_write(questions, n, number, &text);

    rc = text.failed;

    if (rc == MCP_OK) {
        rc = mcp_call_append(req, (mcp_str_t) { text.data, text.len },
                             MCP_STATE_INPUT_REQUIRED);
    }

    mcp_buf_free(&text);

    for (i = 0; rc == MCP_OK && i < n; i++) {
        questions[i].number = number;
    }

    return rc;
}


static int
mcp_input_task_send(mcp_request_t *req)
{
    int          rc;
    mcp_call_t  *call;

    call = req->call;
    rc = mcp_input_task_append(req, req->questions, req->n_questions);

    if (rc == MCP_ERR_LIMIT || rc == MCP_ERR_FULL) {
        return MCP_AGAIN;
    }

    if (rc != MCP_OK) {
        return mcp_call_finish_fault(req, MCP_FAULT_INTERNAL, mcp_null_str);
    }

    req->n_asked = req->n_questions;
    mcp_store_count(call->worker->store, MCP_COUNT_INPUTS,
                    (int64_t) req->n_questions);

    mcp_request_set_state(req, MCP_REQUEST_INPUT);
    req->deadline = mcp_call_now(call) + call->endpoint->input_timeout;
    mcp_call_set_timer(call);

    return MCP_OK;
}


int
mcp_input_task_begin(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    size_t       i;
    unsigned     lacks;
    mcp_fault_e  fault;

    /* the message was held, and its questions were read when it was first
     * processed */

    if (req->n_questions && req->n_asked < req->n_questions) {
        return mcp_input_task_send(req);
    }

    fault = mcp_input_read_round(req, msg);

    if (fault == MCP_FAULT_NONE && req->n_questions > MCP_STORE_QUESTIONS) {
        fault = MCP_FAULT_BACKEND_OUTPUT;
    }

    for (i = 0; fault == MCP_FAULT_NONE && i < req->n_questions; i++) {
        if (mcp_input_capability(&req->call->client, &req->questions[i]) < 0) {
            fault = MCP_FAULT_BACKEND_OUTPUT;
        }
    }

    if (fault != MCP_FAULT_NONE) {
        req->n_questions = 0;
        mcp_call_log(req->call, MCP_LOG_ERROR, "failed in its backend",
                     "\"inputRequests\" has too many requests, a malformed "
                     "request, or one whose method is not "
                     "elicitation/create, sampling/createMessage or "
                     "roots/list");

        return mcp_call_finish_fault(req, fault,
                                     mcp_str("request for input"));
    }

    if (req->n_questions == 0) {
        return mcp_input_pause(req);
    }

    req->pause = 0;
    lacks = mcp_input_lacks(&req->call->client, req->questions,
                            req->n_questions);

    if (lacks) {
        req->n_questions = 0;
        return mcp_input_refuse_lacks(req, lacks);
    }

    return mcp_input_task_send(req);
}


void
mcp_input_task_answer(mcp_call_t *call, uint64_t number, mcp_str_t text)
{
    uint64_t           k;
    mcp_str_t          key;
    mcp_request_t     *req;
    mcp_json_iter_t    iter;
    mcp_json_value_t   value;

    req = &call->requests[0];

    if (mcp_upstream_task_answer(req, number, text)) {
        return;
    }

    mcp_json_iter_init(&iter, text);

    while (req->state == MCP_REQUEST_INPUT && req->n_questions
           && req->questions[0].number == number
           && mcp_json_iter_next(&iter, &key, &value))
    {
        /* removes the quotes of the key */

        key.data++;
        key.len -= 2;

        if (mcp_str_uint(key, &k) == MCP_OK && k < req->n_questions
            && req->questions[k].answer.len == 0)
        {
            mcp_input_keep(req, &req->questions[k], value.raw);
        }
    }
}
