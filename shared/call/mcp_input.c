/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Questions to the client during a call. A backend asks by an input_required
 * result, the form of 2026-07-28. Clients of that revision get the questions in
 * this form (mcp_input_required.c). Clients of earlier revisions get them as
 * JSON-RPC requests on the call's stream, and POST their responses.
 *
 * The id of such a JSON-RPC request is the id of its event. Therefore any
 * process that gets the response finds the call, and the response proves that
 * the client has the earlier events.
 */


#include "call/mcp_call_internal.h"
#include "call/mcp_call_response.h"
#include "call/mcp_input.h"
#include "call/mcp_upstream_question.h"
#include "call/mcp_upstream_question_stateless_client.h"
#include "http/mcp_sse.h"
#include "rpc/mcp_request_id.h"


/* --- questions that send the user to a URL --- */

/* Questions that send the user to a URL get an elicitationId for clients of
 * 2025-11-25, see the comment before mcp_input_url_settle() in
 * mcp_call_internal.h. */

/* Appends the elicitationId of a question as a JSON string: the id of the
 * question's event. */
static void
mcp_input_url_id(const mcp_call_t *call, uint64_t number, mcp_buf_t *out)
{
    char  *end;
    char   id[MCP_EVENT_ID_MAX];

    end = mcp_event_id_print(id, call->id, number);

    mcp_buf_lit(out, "\"");
    mcp_buf_add(out, id, (size_t) (end - id));
    mcp_buf_lit(out, "\"");
}


/* Returns 1 if the question sends the user to a URL and its backend has not
 * given it an elicitationId. */
static int
mcp_input_url_lacks_id(const mcp_question_t *q)
{
    return mcp_str_eq(q->method, mcp_str("elicitation/create"))
           && mcp_json_str_eq(mcp_json_get_from(q->params, mcp_str("mode")).raw,
                              mcp_str("url"))
           && mcp_json_get_from(q->params, mcp_str("elicitationId")).type
              == MCP_JSON_NONE;
}


/* Appends the params of a question. Adds an elicitationId, which is the id
 * of the question's event, if the question sends the user to a URL and has
 * none. */
static void
mcp_input_url_params(const mcp_call_t *call, mcp_question_t *q,
    mcp_buf_t *out)
{
    q->url = mcp_input_url_lacks_id(q) != 0;

    if (!q->url) {
        mcp_buf_str(out, q->params);
        return;
    }

    /* the params have a member already, "mode", so a comma is needed */

    mcp_buf_add(out, q->params.data, q->params.len - 1);
    mcp_buf_lit(out, ",\"elicitationId\":");
    mcp_input_url_id(call, q->number, out);
    mcp_buf_lit(out, "}");
}


/* Records that a question was sent, if it sends the user to a URL and this
 * server has added its elicitationId. */
static void
mcp_input_url_sent(mcp_request_t *req, const mcp_question_t *q)
{
    /* when out of memory, the client gets no notification of the completion,
     * which is optional */

    if (q->url) {
        mcp_buf_add(&req->urls, &q->number, sizeof(q->number));
    }
}


static void
mcp_input_url_drop(mcp_request_t *req, size_t at)
{
    mcp_buf_t  *urls;

    urls = &req->urls;
    urls->len -= sizeof(uint64_t);
    memmove(urls->data + at, urls->data + at + sizeof(uint64_t),
            urls->len - at);
}


/* Called for the answer to a question. If the user has not accepted the URL,
 * removes the question from req->urls, because it will not be completed. */
static void
mcp_input_url_answered(mcp_request_t *req, const mcp_question_t *q)
{
    size_t            at;
    mcp_json_value_t  answer;

    answer.type = q->answer.data[0] == '{' ? MCP_JSON_OBJECT : MCP_JSON_NULL;
    answer.raw = q->answer;

    if (!q->url
        || mcp_json_str_eq(mcp_json_get(&answer, mcp_str("action")).raw,
                           mcp_str("accept")))
    {
        return;
    }

    for (at = 0; at < req->urls.len; at += sizeof(uint64_t)) {
        if (memcmp(req->urls.data + at, &q->number, sizeof(uint64_t)) == 0) {
            mcp_input_url_drop(req, at);
            return;
        }
    }
}


int
mcp_input_url_settle(mcp_request_t *req)
{
    int        rc;
    uint64_t   number;
    mcp_buf_t  buf;

    rc = MCP_OK;
    mcp_buf_init(&buf, &req->call->worker->env->mem, SIZE_MAX / 2);

    while (rc == MCP_OK && req->urls.len) {
        memcpy(&number, req->urls.data, sizeof(number));

        buf.len = 0;
        mcp_buf_lit(&buf, "{\"jsonrpc\":\"2.0\",\"method\":"
                          "\"notifications/elicitation/complete\",\"params\":{"
                          "\"elicitationId\":");
        mcp_input_url_id(req->call, number, &buf);
        mcp_buf_lit(&buf, "}}");

        rc = buf.failed;

        if (rc == MCP_OK) {
            rc = mcp_call_append(req, (mcp_str_t) { buf.data, buf.len },
                                 mcp_call_state(req->call));
        }

        if (rc != MCP_ERR_LIMIT && rc != MCP_ERR_FULL) {
            mcp_input_url_drop(req, 0);
        }
    }

    mcp_buf_free(&buf);

    /* an error other than a lack of room is not reported here: the append of
     * the next event fails with it as well */

    return rc == MCP_ERR_LIMIT || rc == MCP_ERR_FULL ? MCP_AGAIN : MCP_OK;
}


int
mcp_input_url_is_settled(const mcp_request_t *req,
    const mcp_backend_msg_t *msg)
{
    mcp_json_value_t       params;
    const mcp_revision_t  *revision;

    if (!mcp_str_eq(msg->method,
                    mcp_str("notifications/elicitation/complete")))
    {
        return 0;
    }

    params = mcp_json_get_from(msg->body, mcp_str("params"));
    revision = mcp_revision(req->call->client.revision);

    /* 2026-07-28 has no notification that a URL question was completed */

    return revision->stateless
           || (revision->url_mode
               && mcp_json_get(&params, mcp_str("elicitationId")).type
                  == MCP_JSON_NONE);
}


/* --- calling the backend again --- */

/* When a backend has asked for input, it is called again: with the client's
 * answers or, if it has asked no question, after a pause. */

/* First and maximum length of the pause between two backend requests, ms. The
 * length doubles after each pause. */
#define MCP_INPUT_PAUSE_MIN  250
#define MCP_INPUT_PAUSE_MAX  5000


static void
mcp_input_add_responses(mcp_buf_t *body, const mcp_request_t *req)
{
    size_t  i;

    mcp_buf_lit(body, "{");

    for (i = 0; i < req->n_questions; i++) {
        mcp_json_add_key(body, req->questions[i].key);
        mcp_buf_str(body, req->questions[i].answer);
    }

    mcp_buf_lit(body, "}");
}


/* Returns 0 for the answers and the request state in the client's request. They
 * are left out, because the backend gets only the answers and the state of the
 * last round. */
static int
mcp_input_keeps(mcp_buf_t *body, mcp_str_t key)
{
    (void) body;

    return !mcp_json_str_eq(key, mcp_str("inputResponses"))
           && !mcp_json_str_eq(key, mcp_str("requestState"));
}


/* Builds the body of the next backend request: the client's request with
 * inputResponses and requestState added to its params. */
static int
mcp_input_body(mcp_request_t *req)
{
    size_t                  head, tail;
    mcp_buf_t              *body;
    const mcp_json_value_t  params = { MCP_JSON_OBJECT, req->params };

    body = &req->body;

    mcp_buf_free(body);
    mcp_buf_init(body, &req->call->worker->env->mem, SIZE_MAX / 2);

    /* the new members are inserted before the closing brace of params; head is
     * the length of the text before params, and tail the offset of the closing
     * brace */

    head = (size_t) (req->params.data - req->raw.data);
    tail = head + req->params.len - 1;

    mcp_buf_add(body, req->raw.data, head);
    mcp_buf_lit(body, "{");
    mcp_json_add_members(body, &params, mcp_null_str,
                         req->retry ? mcp_input_keeps : NULL);

    if (req->n_questions) {
        mcp_json_add_key(body, mcp_str("\"inputResponses\""));
        mcp_input_add_responses(body, req);
    }

    if (req->request_state.len) {
        mcp_json_add_key(body, mcp_str("\"requestState\""));
        mcp_buf_str(body, req->request_state);
    }

    mcp_buf_add(body, req->raw.data + tail, req->raw.len - tail);

    return body->failed;
}


int
mcp_input_retry(mcp_request_t *req)
{
    mcp_request_set_state(req, MCP_REQUEST_ACTIVE);

    if (req->active || req->held) {

        /* the previous backend request has not ended, or its messages are not
         * processed yet: mcp_backend_request_invoke_again() calls this function
         * later */

        req->again = 1;
        req->deadline = mcp_call_now(req->call) + MCP_CALL_GRACE;
        mcp_call_set_timer(req->call);

        return MCP_OK;
    }

    if (mcp_input_body(req) != MCP_OK) {
        return mcp_call_finish_fault(req, MCP_FAULT_INTERNAL, mcp_null_str);
    }

    mcp_call_invoke(req);
    mcp_call_set_timer(req->call);

    return MCP_OK;
}


int
mcp_input_pause(mcp_request_t *req)
{
    uint64_t  now;

    now = mcp_call_now(req->call);

    if (req->pause == 0) {
        req->pause = MCP_INPUT_PAUSE_MIN;
        req->pause_until = now + req->call->endpoint->input_timeout;
    }

    if (now >= req->pause_until) {
        mcp_call_log(req->call, MCP_LOG_ERROR, "timed out",
                     "the backend repeated \"input_required\" without a "
                     "request in \"inputRequests\" until mcp_input_timeout "
                     "expired: if it needs more time, raise "
                     "mcp_input_timeout");
        mcp_call_fail(req, MCP_FAULT_BACKEND_TIMEOUT);
        return MCP_OK;
    }

    mcp_request_set_state(req, MCP_REQUEST_PAUSE);

    req->deadline = req->pause_until - now < req->pause
                    ? req->pause_until : now + req->pause;
    req->pause = 2 * req->pause < MCP_INPUT_PAUSE_MAX ? 2 * req->pause
                                                      : MCP_INPUT_PAUSE_MAX;
    mcp_call_set_timer(req->call);

    return MCP_OK;
}


/* --- questions --- */

/* Reads one member of inputRequests, with its key, into *q. Returns
 * MCP_FAULT_NONE, MCP_FAULT_BACKEND_OUTPUT for an invalid member, or
 * MCP_FAULT_INTERNAL. */
static mcp_fault_e
mcp_input_read_question(mcp_request_t *req, mcp_str_t key,
    const mcp_json_value_t *value, mcp_question_t *q)
{
    mcp_json_value_t  method, params;

    method = mcp_json_get(value, mcp_str("method"));
    params = mcp_json_get(value, mcp_str("params"));

    if (method.type != MCP_JSON_STRING
        || (params.type != MCP_JSON_NONE && params.type != MCP_JSON_OBJECT))
    {
        return MCP_FAULT_BACKEND_OUTPUT;
    }

    if (mcp_json_unescape(&req->round, method.raw, &q->method) != MCP_OK) {
        return MCP_FAULT_INTERNAL;
    }

    q->method = mcp_arena_dup(&req->round, q->method);
    q->key = mcp_arena_dup(&req->round, key);
    q->params = mcp_arena_dup(&req->round, params.raw);

    if (q->method.data == NULL || q->key.data == NULL
        || q->params.data == NULL)
    {
        return MCP_FAULT_INTERNAL;
    }

    return MCP_FAULT_NONE;
}


/* Reads the object inputRequests into req->questions, which is empty if there
 * is no such object. Returns the values of mcp_input_read_question(). */
static mcp_fault_e
mcp_input_read(mcp_request_t *req, const mcp_json_value_t *requests)
{
    size_t            n;
    mcp_str_t         key;
    mcp_fault_e       fault;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    req->n_questions = 0;

    if (requests->type != MCP_JSON_OBJECT) {
        return MCP_FAULT_NONE;
    }

    n = 0;
    mcp_json_iter_init(&iter, requests->raw);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        n++;
    }

    req->questions = mcp_arena_calloc(&req->round,
                                      (n ? n : 1) * sizeof(mcp_question_t));
    if (req->questions == NULL) {
        return MCP_FAULT_INTERNAL;
    }

    mcp_json_iter_init(&iter, requests->raw);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        fault = mcp_input_read_question(req, key, &value,
                                        &req->questions[req->n_questions]);
        if (fault != MCP_FAULT_NONE) {
            return fault;
        }

        req->n_questions++;
    }

    return MCP_FAULT_NONE;
}


static int
mcp_input_unsupported(mcp_request_t *req, mcp_str_t method)
{
    int        rc;
    mcp_buf_t  text;

    mcp_buf_init(&text, &req->call->worker->env->mem, 1024);

    mcp_buf_lit(&text, "The client does not support ");
    mcp_buf_str(&text, method);
    mcp_buf_lit(&text, ", which the call needs to continue");

    if (text.failed) {
        rc = mcp_call_finish_text(req, mcp_str("The client cannot provide the "
                                               "input that the call needs"));

    } else {
        rc = mcp_call_finish_text(req, (mcp_str_t) { text.data, text.len });
    }

    mcp_buf_free(&text);

    return rc;
}


int
mcp_input_write(mcp_call_t *call, mcp_question_t *q, mcp_buf_t *buf)
{
    int    rc;
    char  *end, id[MCP_EVENT_ID_MAX];

    rc = mcp_call_next_event(call, &q->number);
    if (rc != MCP_OK) {
        return rc;
    }

    end = mcp_event_id_print(id, call->id, q->number);

    buf->len = 0;
    mcp_buf_lit(buf, "{\"jsonrpc\":\"2.0\",\"id\":\"");
    mcp_buf_add(buf, id, (size_t) (end - id));
    mcp_buf_lit(buf, "\",\"method\":");
    mcp_buf_json(buf, q->method);

    if (q->params.len) {
        mcp_buf_lit(buf, ",\"params\":");
        mcp_input_url_params(call, q, buf);
    }

    mcp_buf_lit(buf, "}");

    return buf->failed;
}


/* Appends the questions that are not sent yet to the stream, and waits for the
 * answers. Returns MCP_AGAIN if there is no room, otherwise the values of
 * mcp_call_finish(). */
static int
mcp_input_send(mcp_request_t *req)
{
    int          rc;
    mcp_buf_t    buf;
    mcp_call_t  *call;

    call = req->call;

    /* the backend asks new questions only after the user has finished at the
     * URLs of earlier questions: first notifies the client that these are
     * completed */

    if (req->n_sent == 0 && mcp_input_url_settle(req) == MCP_AGAIN) {
        return MCP_AGAIN;
    }

    rc = MCP_OK;

    mcp_buf_init(&buf, &call->worker->env->mem, SIZE_MAX / 2);

    while (req->n_sent < req->n_questions) {

        rc = mcp_input_write(call, &req->questions[req->n_sent], &buf);

        if (rc == MCP_OK) {

            /* only the last question changes the state, so that a client which
             * reads INPUT_REQUIRED has all questions */

            rc = mcp_call_append(req, (mcp_str_t) { buf.data, buf.len },
                                 req->n_sent + 1 == req->n_questions
                                 ? MCP_STATE_INPUT_REQUIRED
                                 : mcp_call_state(call));
        }

        if (rc != MCP_OK) {
            break;
        }

        mcp_input_url_sent(req, &req->questions[req->n_sent]);
        req->n_sent++;
        mcp_store_count(call->worker->store, MCP_COUNT_INPUTS, 1);
    }

    mcp_buf_free(&buf);

    if (rc == MCP_ERR_LIMIT || rc == MCP_ERR_FULL) {
        return MCP_AGAIN;
    }

    if (rc != MCP_OK) {
        return mcp_call_finish_fault(req, MCP_FAULT_INTERNAL, mcp_null_str);
    }

    mcp_input_wait(req);

    return MCP_OK;
}


void
mcp_input_wait(mcp_request_t *req)
{
    /* the questions may have been published after the answers to earlier ones:
     * the backend is called again only after the new answers */

    req->again = 0;

    mcp_request_set_state(req, MCP_REQUEST_INPUT);
    req->deadline = mcp_call_now(req->call)
                    + req->call->endpoint->input_timeout;
    mcp_call_set_timer(req->call);
}


mcp_fault_e
mcp_input_read_round(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    mcp_fault_e  fault;

    mcp_arena_reset(&req->round);

    req->n_sent = 0;
    req->n_answered = 0;
    req->request_state = mcp_null_str;

    fault = mcp_input_read(req, &msg->input_requests);

    if (fault == MCP_FAULT_NONE && msg->request_state.type != MCP_JSON_NONE) {
        req->request_state = mcp_arena_dup(&req->round,
                                           msg->request_state.raw);

        if (req->request_state.data == NULL) {
            fault = MCP_FAULT_INTERNAL;
        }
    }

    if (req->params.len < 2 || req->params.data[0] != '{') {
        fault = MCP_FAULT_BACKEND_OUTPUT;
    }

    return fault;
}


/* Ends a request whose backend has asked a question that this client does not
 * support, or that no client supports. Returns the values of
 * mcp_call_finish(). */
static int
mcp_input_refuse(mcp_request_t *req, const mcp_question_t *q)
{
    req->n_questions = 0;

    if (mcp_input_capability(&req->call->client, q) < 0) {
        return mcp_call_finish_fault(req, MCP_FAULT_BACKEND_OUTPUT,
                                     mcp_str("request for input"));
    }

    return mcp_input_unsupported(req, q->method);
}


int
mcp_input_begin(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    size_t       i;
    mcp_fault_e  fault;

    if (mcp_client_is_stateless(&req->call->client)) {
        return req->call->task ? mcp_input_task_begin(req, msg)
                               : mcp_input_respond(req, msg);
    }

    /* the message was held, and its questions were read when it was first
     * processed */

    if (req->n_questions && req->n_sent < req->n_questions) {
        return mcp_input_send(req);
    }

    fault = mcp_input_read_round(req, msg);

    if (fault != MCP_FAULT_NONE) {
        req->n_questions = 0;
        return mcp_call_finish_fault(req, fault,
                                     mcp_str("request for input"));
    }

    if (req->n_questions == 0) {
        return mcp_input_pause(req);
    }

    req->pause = 0;

    /* a client must not be asked a question for which it has not declared the
     * capability */

    for (i = 0; i < req->n_questions; i++) {
        if (mcp_input_capability(&req->call->client, &req->questions[i]) != 1) {
            return mcp_input_refuse(req, &req->questions[i]);
        }
    }

    if (mcp_call_durable(req->call) != MCP_OK
        || req->state == MCP_REQUEST_OVER)
    {
        return MCP_OK;
    }

    return mcp_input_send(req);
}


static mcp_question_t *
mcp_input_find(mcp_call_t *call, uint64_t number, mcp_request_t **req)
{
    size_t  i, k;

    for (i = 0; i < call->n; i++) {
        *req = &call->requests[i];

        if ((*req)->state != MCP_REQUEST_INPUT) {
            continue;
        }

        for (k = 0; k < (*req)->n_questions; k++) {
            if ((*req)->questions[k].number == number) {
                return &(*req)->questions[k];
            }
        }
    }

    return NULL;
}


void
mcp_input_keep(mcp_request_t *req, mcp_question_t *q, mcp_str_t result)
{
    q->answer = mcp_arena_dup(&req->round, result);

    if (q->answer.data == NULL) {
        mcp_call_fail(req, MCP_FAULT_INTERNAL);
        return;
    }

    mcp_input_url_answered(req, q);

    if (++req->n_answered == req->n_questions) {
        mcp_request_set_state(req, MCP_REQUEST_ACTIVE);
        mcp_call_set_stream_state(req->call, mcp_call_state(req->call));

        if (mcp_input_retry(req) == MCP_AGAIN) {
            mcp_call_hold_fault(req, MCP_FAULT_INTERNAL);
        }
    }
}


/* Handles an answer of a client to a question. Ignores it if the question is
 * unknown or was answered before. An error as the answer ends the request,
 * unless an MCP server has asked: this server gets the error. */
static void
mcp_input_take(mcp_call_t *call, mcp_str_t message)
{
    uint64_t          number;
    mcp_rpc_t         msg;
    unsigned char     stream[MCP_STREAM_ID_LEN];
    mcp_question_t   *q;
    mcp_request_t    *req;
    mcp_json_value_t  value;

    value.type = MCP_JSON_OBJECT;
    value.raw = message;

    if (mcp_input_names(&call->worker->env->mem,
                        mcp_json_get(&value, mcp_str("id")).raw, stream,
                        &number)
        != MCP_OK)
    {
        return;
    }

    if (mcp_upstream_round_is_mark(&value)) {
        mcp_upstream_round_retried(call, number);
        return;
    }

    if (mcp_upstream_question_answer(call, number, &value)) {
        return;
    }

    q = mcp_input_find(call, number, &req);

    if (q == NULL || q->answer.len) {
        return;
    }

    if (mcp_rpc_parse(&req->round, message, call->endpoint->max_depth,
                      MCP_RPC_FROM_BACKEND, &msg)
        != MCP_OK)
    {
        mcp_call_fail(req, MCP_FAULT_INTERNAL);
        return;
    }

    if (msg.kind == MCP_RPC_ERROR) {
        if (mcp_call_finish_text(req, mcp_str("The client answered the "
                                              "request for input with an "
                                              "error"))
            == MCP_AGAIN)
        {
            mcp_call_hold_fault(req, MCP_FAULT_BACKEND_FAILED);
        }

        return;
    }

    if (msg.kind == MCP_RPC_RESULT) {
        mcp_input_keep(req, q, msg.result.raw);
    }
}


void
mcp_input_answer(mcp_call_t *call, mcp_str_t text)
{
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    if (!mcp_rpc_is_batch(text)) {
        mcp_input_take(call, text);
        return;
    }

    mcp_json_iter_init(&iter, text);

    while (call->phase != MCP_CALL_OVER
           && mcp_json_iter_next(&iter, NULL, &value))
    {
        mcp_input_take(call, value.raw);
    }
}
