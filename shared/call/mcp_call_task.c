/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Calls that are tasks. No client reads the stream of a task; clients poll the
 * task. Until the task ends, a progress notification of the backend with the
 * request's progress token becomes the task's status message.
 * mcp_resume_as_task.c decides how long a call runs before it becomes a task.
 * mcp_call_detached() decides whether a call becomes a task because its backend
 * responds with HTTP 202.
 */

#include "call/mcp_call_internal.h"
#include "call/mcp_call_response.h"
#include "call/mcp_upstream_question.h"
#include "worker/mcp_notification.h"


/* Maximum length of a status message, bytes; a longer one is truncated. */
#define MCP_CALL_STATUS_MAX   1024

/* Minimum time between two notifications of a task's status, ms. */
#define MCP_CALL_STATUS_NOTIFY  1000


int
mcp_call_promote(mcp_call_t *call)
{
    int       rc;
    uint64_t  now;

    if (call->task) {
        return MCP_OK;
    }

    now = mcp_call_now(call);

    rc = mcp_store_keep(call->worker->store, &call->ref,
                        now + call->endpoint->task_ttl, now);

    if (rc == MCP_OK) {
        call->task = 1;
        call->task_created = now;
        mcp_call_trace(call, "it is now a task");

        if (call->phase != MCP_CALL_OVER) {
            mcp_call_set_timer(call);
        }
    }

    return rc;
}


int
mcp_call_promote_first(mcp_call_t *call)
{
    int  rc;

    call->interim = 1;

    rc = mcp_call_durable(call);

    if (rc == MCP_OK) {
        rc = mcp_call_promote(call);
    }

    if (rc != MCP_OK && call->phase != MCP_CALL_OVER) {
        mcp_call_abandon(call, MCP_FAULT_INTERNAL);
    }

    return rc;
}


uint64_t
mcp_call_expires(const mcp_call_t *call)
{
    return call->task_created + call->endpoint->task_ttl;
}


void
mcp_call_expire_task(mcp_call_t *call)
{
    mcp_call_log(call, MCP_LOG_NOTICE,
                 "cancelled: the task ran for longer than mcp_task_ttl",
                 NULL);
    mcp_store_free(call->worker->store, &call->ref);
    mcp_request_ends_all(call, MCP_OUTCOME_EXPIRED);
    mcp_call_stop(call);
}


void
mcp_call_task_changed(mcp_call_t *call)
{
    if (call->task) {
        call->notified = mcp_call_now(call);
        call->to_notify = 0;
        mcp_notify_task(call->worker, call->id);
    }
}


/* Truncates a text to MCP_CALL_STATUS_MAX bytes, or to fewer bytes if a UTF-8
 * character would be divided. */
static mcp_str_t
mcp_call_status_cut(mcp_str_t text)
{
    if (text.len > MCP_CALL_STATUS_MAX) {
        text.len = MCP_CALL_STATUS_MAX;

        while (text.len > 0
               && ((unsigned char) text.data[text.len] & 0xc0) == 0x80)
        {
            text.len--;
        }
    }

    return text;
}


/* Writes the status text of a progress notification as a JSON string: the
 * member "message", or else "progress" and "total". Writes nothing if there is
 * neither. */
static int
mcp_call_status_text(mcp_call_t *call, mcp_str_t body, mcp_buf_t *out)
{
    mcp_str_t         text;
    mcp_arena_t       arena;
    mcp_json_value_t  params, message, progress, total;

    params = mcp_json_get_from(body, mcp_str("params"));
    message = mcp_json_get(&params, mcp_str("message"));
    progress = mcp_json_get(&params, mcp_str("progress"));
    total = mcp_json_get(&params, mcp_str("total"));

    if (message.type == MCP_JSON_STRING) {
        mcp_arena_init(&arena, &call->worker->env->mem);

        if (mcp_json_unescape(&arena, message.raw, &text) == MCP_OK) {
            mcp_buf_json(out, mcp_call_status_cut(text));

        } else {
            out->failed = MCP_ERR_MEMORY;
        }

        mcp_arena_destroy(&arena);

    } else if (progress.type == MCP_JSON_NUMBER) {
        mcp_buf_lit(out, "\"");
        mcp_buf_str(out, mcp_call_status_cut(progress.raw));

        if (total.type == MCP_JSON_NUMBER) {
            mcp_buf_lit(out, " of ");
            mcp_buf_str(out, mcp_call_status_cut(total.raw));
        }

        mcp_buf_lit(out, "\"");
    }

    return out->failed;
}


/* Notifies the listeners of a task of its new status. If the last notification
 * is less than MCP_CALL_STATUS_NOTIFY ago, the timer of the call sends the
 * notification later. */
static void
mcp_call_status_notify(mcp_call_t *call)
{
    if (mcp_call_now(call) >= call->notified + MCP_CALL_STATUS_NOTIFY) {
        mcp_call_task_changed(call);

    } else {
        call->to_notify = 1;
        mcp_call_set_timer(call);
    }
}


uint64_t
mcp_call_notify_at(const mcp_call_t *call)
{
    return call->to_notify ? call->notified + MCP_CALL_STATUS_NOTIFY
                           : UINT64_MAX;
}


void
mcp_call_status(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    mcp_buf_t    text;
    mcp_call_t  *call;

    call = req->call;

    /* no status message while the task waits for answers, because the
     * questions have to remain the last event of the task */

    if (req->state == MCP_REQUEST_INPUT || req->server_questions
        || !mcp_str_eq(msg->method, mcp_str("notifications/progress")))
    {
        return;
    }

    mcp_buf_init(&text, &call->worker->env->mem, SIZE_MAX / 2);

    /* if the stream has no room, the task keeps its previous status */

    if (mcp_call_status_text(call, msg->body, &text) == MCP_OK && text.len
        && mcp_call_append(req, (mcp_str_t) { text.data, text.len },
                           MCP_STATE_PROCESSING)
           == MCP_OK)
    {
        mcp_call_status_notify(call);
    }

    mcp_buf_free(&text);
}


/* --- questions of tasks --- */

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
    int          rc;
    size_t       i;
    uint64_t     number;
    mcp_buf_t    text;
    mcp_call_t  *call;

    call = req->call;

    rc = mcp_call_next_event(call, &number);
    if (rc != MCP_OK) {
        return rc;
    }

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

    req->n_sent = req->n_questions;
    mcp_store_count(call->worker->store, MCP_COUNT_INPUTS,
                    (int64_t) req->n_questions);

    mcp_input_wait(req);

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

    if (req->n_questions && req->n_sent < req->n_questions) {
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
                     fault == MCP_FAULT_INTERNAL
                         ? "no memory"
                         : "\"inputRequests\" has too many requests, or one "
                           "that is malformed or has a method other than "
                           "elicitation/create, sampling/createMessage and "
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
