/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Questions to the client during a call. Backends ask in the form of
 * 2026-07-28, by an input_required result, which clients of that revision get
 * (mcp_input_required.c). Clients of earlier revisions get the questions as
 * JSON-RPC requests on the call's stream and POST their responses. The id of
 * such a JSON-RPC request is the id of its event. Therefore any process that
 * gets the response finds the call, and the response proves that the client
 * has the earlier events.
 */

#include "call/mcp_call_internal.h"
#include "call/mcp_input.h"
#include "call/mcp_upstream_ask.h"
#include "call/mcp_call_request.h"
#include "rpc/mcp_id.h"


/* Reads one member of inputRequests, with its key, into *q. */
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
 * is no such object. */
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
mcp_input_ask(mcp_call_t *call, mcp_question_t *q, mcp_buf_t *buf)
{
    int                rc;
    char              *end;
    char               id[MCP_EVENT_ID_MAX];
    mcp_stream_info_t  info;

    /* only this process appends to the stream, so own_seq cannot change before
     * this event */

    rc = mcp_store_info(call->worker->store, &call->ref, &info);
    if (rc != MCP_OK) {
        return rc;
    }

    q->number = info.own_seq + 1;
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

    /* new questions show that the user has completed the URLs of earlier
     * questions: the client is notified of the URLs first */

    if (req->n_asked == 0 && mcp_input_url_settle(req) == MCP_AGAIN) {
        return MCP_AGAIN;
    }

    rc = MCP_OK;

    mcp_buf_init(&buf, &call->worker->env->mem, SIZE_MAX / 2);

    while (req->n_asked < req->n_questions) {

        rc = mcp_input_ask(call, &req->questions[req->n_asked], &buf);

        if (rc == MCP_OK) {

            /* only the last question changes the state, so that a client which
             * reads INPUT_REQUIRED has all questions */

            rc = mcp_call_append(req, (mcp_str_t) { buf.data, buf.len },
                                 req->n_asked + 1 == req->n_questions
                                 ? MCP_STATE_INPUT_REQUIRED
                                 : mcp_call_state(call));
        }

        if (rc != MCP_OK) {
            break;
        }

        mcp_input_url_asked(req, &req->questions[req->n_asked]);
        req->n_asked++;
        mcp_store_count(call->worker->store, MCP_COUNT_INPUTS, 1);
    }

    mcp_buf_free(&buf);

    if (rc == MCP_ERR_LIMIT || rc == MCP_ERR_FULL) {
        return MCP_AGAIN;
    }

    if (rc != MCP_OK) {
        return mcp_call_finish_fault(req, MCP_FAULT_INTERNAL, mcp_null_str);
    }

    mcp_request_set_state(req, MCP_REQUEST_INPUT);
    req->deadline = call->worker->env->now(call->worker->env->ctx)
                    + call->endpoint->input_timeout;
    mcp_call_set_timer(call);

    return MCP_OK;
}


mcp_fault_e
mcp_input_read_round(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    mcp_fault_e  fault;

    mcp_arena_reset(&req->round);

    req->n_asked = 0;
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


/* Ends a request whose backend asks a question that this client, or any
 * client, does not support. */
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

    /* the message was held: its questions were read before */

    if (req->n_questions && req->n_asked < req->n_questions) {
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
        mcp_request_set_state(req, MCP_REQUEST_RUN);
        mcp_call_set_stream_state(req->call, mcp_call_state(req->call));

        if (mcp_input_retry(req) == MCP_AGAIN) {
            mcp_call_hold_fault(req, MCP_FAULT_INTERNAL);
        }
    }
}


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

    if (mcp_upstream_ask_answer(call, number, &value)) {
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
