/* SPDX-License-Identifier: Apache-2.0 */

#include "call/mcp_upstream_question.h"

#include "call/mcp_call_internal.h"
#include "call/mcp_upstream_listen.h"
#include "call/mcp_upstream_respond.h"
#include "call/mcp_upstream_question_stateless_client.h"
#include "rpc/mcp_request_id.h"


/* JSON-RPC error codes in responses to an MCP server. UNKNOWN: the client does
 * not support such questions (2025-11-25, client/roots, "Error Handling").
 * FAILED: the client cannot get this question now, or has not answered it. */
#define MCP_UPSTREAM_QUESTION_UNKNOWN  (-32601)
#define MCP_UPSTREAM_QUESTION_FAILED   (-32000)


void
mcp_upstream_question_free(mcp_worker_t *worker,
    mcp_upstream_question_t *question)
{
    mcp_arena_destroy(&question->arena);
    mcp_mem_free(&worker->env->mem, question);
}


/* Creates a question from msg, a request of the MCP server. Returns NULL when
 * out of memory. */
static mcp_upstream_question_t *
mcp_upstream_question_create(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    const mcp_mem_t          *mem;
    mcp_question_t           *q;
    mcp_upstream_question_t  *question;

    mem = &req->call->worker->env->mem;

    question = mcp_mem_calloc(mem, sizeof(mcp_upstream_question_t));
    if (question == NULL) {
        return NULL;
    }

    mcp_arena_init(&question->arena, mem);

    q = &question->question;
    q->method = mcp_arena_dup(&question->arena, msg->method);
    q->params = mcp_arena_dup(&question->arena, msg->params.raw);
    question->id = mcp_arena_dup(&question->arena, msg->id.raw);

    if (q->method.data == NULL || q->params.data == NULL
        || question->id.data == NULL)
    {
        mcp_upstream_question_free(req->call->worker, question);
        return NULL;
    }

    return question;
}


/* Sets the deadline of a request to the earliest deadline of its open
 * questions. If the request has no open question, mcp_call_timeout begins
 * again now. */
static void
mcp_upstream_question_set_deadline(mcp_request_t *req)
{
    mcp_upstream_question_t  *question;

    req->deadline = mcp_call_now(req->call) + req->call->endpoint->call_timeout;

    if (req->server_questions) {
        req->deadline = UINT64_MAX;
    }

    for (question = req->server_questions; question; question = question->next)
    {
        if (question->deadline < req->deadline) {
            req->deadline = question->deadline;
        }
    }

    mcp_call_set_timer(req->call);
}


/* Removes a question that was answered, was withdrawn by the server, or has
 * timed out. "until" becomes call->answered_until, ms: the call does not end
 * before this time, unless a consumer attaches that had the question. */
static void
mcp_upstream_question_remove(mcp_request_t *req,
    mcp_upstream_question_t *question, uint64_t until)
{
    int                        listened;
    mcp_upstream_question_t  **link;

    for (link = &req->server_questions; *link != question;
         link = &(*link)->next)
    {
        /* the loop ends, because the question is in the list */
    }

    *link = question->next;
    listened = question->listened;

    req->call->answered = mcp_call_now(req->call);
    req->call->answered_question = question->question.number;
    req->call->answered_until = until;
    mcp_upstream_question_free(req->call->worker, question);
    mcp_call_set_stream_state(req->call, mcp_call_state(req->call));
    mcp_upstream_question_set_deadline(req);

    if (listened && mcp_upstream_listen_questions_until(req) == 0) {
        mcp_upstream_listen_answered(req);
    }
}


/* Appends a question to the stream of a task, unless the task shows another
 * question, because a question has to be the last event of a task. The time for
 * the answer begins when the task shows the question. Returns the values of
 * mcp_upstream_question_append(). */
static int
mcp_upstream_task_append(mcp_request_t *req, mcp_upstream_question_t *question)
{
    int                             rc;
    const mcp_upstream_question_t  *other;

    question->deadline = UINT64_MAX;

    for (other = req->server_questions; other; other = other->next) {
        if (other->question.number) {
            return MCP_OK;
        }
    }

    question->question.key = mcp_str("\"q\"");
    rc = mcp_input_task_append(req, &question->question, 1);

    if (rc == MCP_OK) {
        question->deadline = mcp_call_now(req->call)
                             + req->call->endpoint->input_timeout;
    }

    return rc;
}


/* Appends a question to the stream. Returns MCP_OK, or an error of the
 * store. */
static int
mcp_upstream_question_append(mcp_request_t *req,
    mcp_upstream_question_t *question)
{
    int        rc;
    mcp_buf_t  buf;

    if (req->call->task) {
        return mcp_upstream_task_append(req, question);
    }

    mcp_buf_init(&buf, &req->call->worker->env->mem, SIZE_MAX / 2);

    rc = req->call->rounds
         ? mcp_upstream_round_write(req, &question->question, &buf)
         : mcp_input_write(req->call, &question->question, &buf);

    if (rc == MCP_OK) {
        rc = mcp_call_append(req, mcp_buf_text(&buf), MCP_STATE_INPUT_REQUIRED);
    }

    mcp_buf_free(&buf);

    return rc;
}


/* Records that a question was sent to the client of a request. */
static void
mcp_upstream_question_sent(mcp_request_t *req,
    mcp_upstream_question_t *question)
{
    memcpy(question->stream, req->call->id, MCP_STREAM_ID_LEN);
    question->withdrawn = 0;
    question->next = req->server_questions;
    req->server_questions = question;
    mcp_store_count(req->call->worker->store, MCP_COUNT_INPUTS, 1);
    mcp_upstream_question_set_deadline(req);
}


/* Responds with an error to a question that can never fit into the zone or the
 * quota of the caller, and logs the reason. */
static void
mcp_upstream_question_large(const mcp_request_t *req, mcp_str_t id)
{
    mcp_call_log(req->call, MCP_LOG_WARN,
                 "did not forward a question of its MCP server",
                 mcp_call_append_reason(MCP_ERR_LARGE));
    mcp_upstream_question_refuse(&req->breq, id);
}


/* Sends a question to the client. Returns the values of
 * mcp_upstream_question_receive(). */
static int
mcp_upstream_question_send(mcp_request_t *req, const mcp_backend_msg_t *msg,
    unsigned listened)
{
    int                       rc;
    mcp_upstream_question_t  *question;

    question = mcp_upstream_question_create(req, msg);

    if (question) {
        question->deadline = mcp_call_now(req->call)
                             + (req->call->rounds
                                ? req->call->endpoint->state_lifetime
                                : req->call->endpoint->input_timeout);
    }

    rc = question ? mcp_upstream_question_append(req, question)
                  : MCP_ERR_MEMORY;

    if (rc == MCP_OK) {
        question->listened = listened & 1u;
        mcp_upstream_question_sent(req, question);

        return MCP_OK;
    }

    if (question) {
        mcp_upstream_question_free(req->call->worker, question);
    }

    if (rc == MCP_ERR_LARGE) {
        mcp_upstream_question_large(req, msg->id.raw);
        return MCP_OK;
    }

    if (rc == MCP_ERR_LIMIT || rc == MCP_ERR_FULL) {
        return MCP_AGAIN;
    }

    rc = mcp_call_finish_fault(req, MCP_FAULT_INTERNAL, mcp_null_str);

    return listened ? MCP_AGAIN : rc;
}


int
mcp_upstream_question_has_room(const mcp_request_t *req)
{
    unsigned                        n;
    const mcp_upstream_question_t  *question;

    n = 0;

    for (question = req->server_questions; question; question = question->next)
    {
        n++;
    }

    return n < MCP_UPSTREAM_QUESTIONS;
}


/* Makes the call durable, so that its client can answer through any process,
 * and sends the question. Returns the values of
 * mcp_upstream_question_receive(). */
static int
mcp_upstream_question_begin(mcp_request_t *req, const mcp_backend_msg_t *msg,
    unsigned listened)
{
    int  rounds;

    rounds = req->call->rounds && !req->call->task;

    /* a client that gets the question as its response does not get a task */

    if (rounds) {
        req->call->may_be_task = 0;
        req->call->interim_at = 0;
    }

    if (mcp_call_durable(req->call) != MCP_OK
        || req->state == MCP_REQUEST_OVER)
    {
        return listened ? MCP_AGAIN : MCP_OK;
    }

    if (rounds) {
        mcp_upstream_round_track(req->call);
    }

    return mcp_upstream_question_send(req, msg, listened);
}


int
mcp_upstream_question_receive(mcp_request_t *req, const mcp_backend_msg_t *msg,
    unsigned listened)
{
    int             can, code;
    mcp_str_t       text;
    mcp_question_t  q;

    if (mcp_str_eq(msg->method, mcp_str("ping"))) {
        mcp_upstream_post_pong(&req->breq, msg->id.raw);
        return MCP_OK;
    }

    if (mcp_upstream_post_is_full(req->call)) {
        return MCP_AGAIN;
    }

    mcp_zero(&q, sizeof(mcp_question_t));
    q.method = msg->method;
    q.params = msg->params.raw;
    can = mcp_input_capability(&req->call->client, &q);

    code = MCP_UPSTREAM_QUESTION_UNKNOWN;
    text = mcp_null_str;

    if (can < 0) {
        text = mcp_str("Method not found");

    } else if (can == 0 || (mcp_client_is_stateless(&req->call->client)
                            && !req->call->rounds))
    {
        text = mcp_str("The client does not support this request");

    } else if (!mcp_upstream_question_has_room(req)) {
        code = MCP_UPSTREAM_QUESTION_FAILED;
        text = mcp_str("Too many requests of this call wait for a response");

    } else if (req->call->rounds && !req->call->task
               && req->server_questions == NULL
               && !mcp_upstream_round_admit(req->call))
    {
        code = MCP_UPSTREAM_QUESTION_FAILED;
        text = mcp_str("Too many calls of this client wait for a response");
    }

    if (text.len > 0) {
        mcp_upstream_post_error(&req->breq, msg->id.raw, code, text);
        return MCP_OK;
    }

    return mcp_upstream_question_begin(req, msg, listened);
}


/* Called when a question of a request was removed. If the call is a task that
 * shows no question now, appends the oldest question that was not shown yet. If
 * the stream has no room, the timer tries this again after MCP_CALL_RETRY. */
static void
mcp_upstream_task_next(mcp_request_t *req)
{
    int                       rc;
    mcp_upstream_question_t  *question;

    do {
        question = req->server_questions;

        if (!req->call->task || question == NULL) {
            return;
        }

        while (question->next) {
            question = question->next;
        }

        if (question->question.number) {
            return;
        }

        rc = mcp_upstream_task_append(req, question);

        if (rc == MCP_ERR_LARGE) {
            mcp_upstream_question_large(req, question->id);
            mcp_upstream_question_remove(req, question, 0);
        }

    } while (rc == MCP_ERR_LARGE);

    if (rc == MCP_OK) {
        mcp_upstream_question_set_deadline(req);

        /* the append has not notified the listeners of the task, because the
         * state of the stream was INPUT_REQUIRED before */

        mcp_call_task_changed(req->call);

    } else {
        req->deadline = mcp_call_now(req->call) + MCP_CALL_RETRY;
        mcp_call_set_timer(req->call);
    }
}


int
mcp_upstream_task_answer(mcp_request_t *req, uint64_t number, mcp_str_t text)
{
    mcp_json_value_t          answer;
    mcp_upstream_question_t  *question;

    for (question = req->server_questions; question; question = question->next)
    {
        if (question->question.number == number) {
            break;
        }
    }

    if (question == NULL) {
        return 0;
    }

    answer = mcp_json_get_from(text, mcp_str("0"));

    if (answer.type != MCP_JSON_NONE) {
        mcp_upstream_post(&req->breq, question->id, mcp_str("\"result\""),
                          answer.raw);
        mcp_upstream_question_remove(req, question, 0);
        mcp_upstream_task_next(req);
    }

    return 1;
}


/* Returns the open question to which the MCP server gave this JSON-RPC id, or
 * NULL. */
static mcp_upstream_question_t *
mcp_upstream_question_find(mcp_request_t *req, mcp_str_t id)
{
    mcp_upstream_question_t  *question;

    for (question = req->server_questions; question; question = question->next)
    {
        if (mcp_id_same(&req->call->worker->env->mem, question->id, id)) {
            break;
        }
    }

    return question;
}


/* Cancels a question at a client with a session, by an event on the stream of a
 * request. Returns MCP_OK, or MCP_AGAIN if the stream has no room. */
static int
mcp_upstream_question_withdraw(mcp_request_t *req,
    const mcp_upstream_question_t *question)
{
    int        rc;
    char      *end, id[MCP_EVENT_ID_MAX];
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &req->call->worker->env->mem, SIZE_MAX / 2);

    end = mcp_event_id_print(id, question->stream, question->question.number);
    mcp_buf_lit(&buf, "{\"jsonrpc\":\"2.0\",\"method\":"
                      "\"notifications/cancelled\",\"params\":{\"requestId\":"
                      "\"");
    mcp_buf_add(&buf, id, (size_t) (end - id));
    mcp_buf_lit(&buf, "\"}}");

    rc = buf.failed ? MCP_OK
         : mcp_call_append(req, mcp_buf_text(&buf), mcp_call_state(req->call));

    mcp_buf_free(&buf);

    return rc == MCP_ERR_LIMIT || rc == MCP_ERR_FULL ? MCP_AGAIN : MCP_OK;
}


int
mcp_upstream_question_cancelled(mcp_request_t *req,
    const mcp_backend_msg_t *msg)
{
    mcp_json_value_t          params;
    mcp_upstream_question_t  *question;

    params = mcp_json_get_from(msg->body, mcp_str("params"));
    question = mcp_upstream_question_find(req,
                   mcp_json_get(&params, mcp_str("requestId")).raw);

    if (question == NULL) {
        return MCP_OK;
    }

    /* a client without a session, or with a task, did not get the question as
     * a JSON-RPC request: there is nothing to cancel at the client */

    if (req->call->rounds || req->call->task) {
        mcp_upstream_question_remove(req, question, question->deadline);
        mcp_upstream_task_next(req);
        return MCP_OK;
    }

    if (mcp_upstream_question_withdraw(req, question) == MCP_AGAIN) {
        return MCP_AGAIN;
    }

    mcp_upstream_question_remove(req, question, 0);

    return MCP_OK;
}


void
mcp_upstream_question_cancel(mcp_request_t *req,
    mcp_upstream_question_t *question)
{
    if (question->withdrawn || req->call->rounds || req->call->task
        || req->call->phase != MCP_CALL_DURABLE)
    {
        return;
    }

    question->withdrawn =
        mcp_upstream_question_withdraw(req, question) == MCP_OK;
}


void
mcp_upstream_question_refuse(const mcp_backend_request_t *of, mcp_str_t id)
{
    mcp_upstream_post_error(of, id, MCP_UPSTREAM_QUESTION_FAILED,
                            mcp_str("No call of this client can forward the "
                                    "request"));
}


mcp_upstream_question_t *
mcp_upstream_question_take(mcp_request_t *req)
{
    mcp_upstream_question_t  *question, *taken, **link;

    taken = NULL;
    link = &req->server_questions;

    while ((question = *link) != NULL) {
        if (!question->listened) {
            link = &question->next;
            continue;
        }

        *link = question->next;
        question->next = taken;
        taken = question;
    }

    if (taken && req->state != MCP_REQUEST_OVER) {
        mcp_call_set_stream_state(req->call, mcp_call_state(req->call));
        mcp_upstream_question_set_deadline(req);
    }

    return taken;
}


int
mcp_upstream_question_again(mcp_request_t *req,
    mcp_upstream_question_t *question)
{
    if (mcp_call_durable(req->call) != MCP_OK || req->state == MCP_REQUEST_OVER)
    {
        return MCP_AGAIN;
    }

    if (!question->withdrawn) {
        if (mcp_upstream_question_withdraw(req, question) == MCP_AGAIN) {
            return MCP_AGAIN;
        }

        question->withdrawn = 1;
    }

    switch (mcp_upstream_question_append(req, question)) {

    case MCP_OK:
        mcp_upstream_question_sent(req, question);
        return MCP_OK;

    case MCP_ERR_LIMIT:
    case MCP_ERR_FULL:
        return MCP_AGAIN;

    default:
        (void) mcp_call_finish_fault(req, MCP_FAULT_INTERNAL, mcp_null_str);
        return MCP_AGAIN;
    }
}


int
mcp_upstream_question_answer(mcp_call_t *call, uint64_t number,
    const mcp_json_value_t *message)
{
    size_t                    i;
    mcp_request_t            *req;
    mcp_json_value_t          error;
    mcp_upstream_question_t  *question;

    for (i = 0; i < call->n; i++) {
        req = &call->requests[i];

        for (question = req->server_questions; question;
             question = question->next)
        {
            if (question->question.number != number) {
                continue;
            }

            error = mcp_json_get(message, mcp_str("error"));

            if (error.type == MCP_JSON_NONE) {
                mcp_upstream_post(&req->breq, question->id,
                                  mcp_str("\"result\""),
                                  mcp_json_get(message,
                                               mcp_str("result")).raw);
            } else {
                mcp_upstream_post(&req->breq, question->id,
                                  mcp_str("\"error\""), error.raw);
            }

            mcp_upstream_question_remove(req, question,
                                         mcp_call_now(call)
                                         + MCP_UPSTREAM_ROUND_WAIT);

            return 1;
        }
    }

    return 0;
}


/* Postpones the timeout of a request while another request of its session has
 * an open question from the GET stream, because the question may belong to
 * either of the two requests. Returns 1, or 0 if there is no such question. */
static int
mcp_upstream_question_postpone(mcp_request_t *req, uint64_t now)
{
    uint64_t  until;

    until = mcp_upstream_listen_questions_until(req);

    if (until <= now) {
        return 0;
    }

    req->session->postponed = 1;
    req->deadline = until + MCP_CALL_RETRY;
    mcp_call_set_timer(req->call);

    return 1;
}


int
mcp_upstream_question_timeout(mcp_request_t *req)
{
    uint64_t                  now;
    mcp_upstream_question_t  *question, *next;

    now = mcp_call_now(req->call);

    if (req->server_questions == NULL) {
        return mcp_upstream_question_postpone(req, now);
    }

    for (question = req->server_questions; question; question = next) {
        next = question->next;

        if (now < question->deadline) {
            continue;
        }

        if (mcp_str_eq(question->question.method,
                       mcp_str("elicitation/create")))
        {
            mcp_upstream_post(&req->breq, question->id, mcp_str("\"result\""),
                              mcp_str("{\"action\":\"cancel\"}"));
        } else {
            mcp_upstream_post_error(&req->breq, question->id,
                                    MCP_UPSTREAM_QUESTION_FAILED,
                                    mcp_str("The client did not respond in "
                                            "time"));
        }

        mcp_upstream_question_remove(req, question, 0);
    }

    mcp_upstream_question_set_deadline(req);
    mcp_upstream_task_next(req);

    return 1;
}


void
mcp_upstream_question_clear(mcp_request_t *req)
{
    mcp_upstream_question_t  *question;

    while ((question = req->server_questions) != NULL) {
        req->server_questions = question->next;
        mcp_upstream_question_free(req->call->worker, question);
    }
}
