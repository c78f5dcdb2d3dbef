/* SPDX-License-Identifier: Apache-2.0 */

#include "call/mcp_upstream_question_stateless_client.h"

#include "call/mcp_call_internal.h"
#include "call/mcp_upstream_detect.h"
#include "call/mcp_upstream_question.h"
#include "rpc/mcp_result.h"


int
mcp_upstream_round_possible(mcp_call_t *call)
{
    mcp_str_t       version;
    mcp_request_t  *req;
    mcp_upstream_e  form;

    req = &call->requests[0];

    if (!mcp_client_is_stateless(&call->client) || call->bare
        || !(call->client.capabilities & MCP_CLIENT_INPUT)
        || !req->method->takes_input
        || mcp_endpoint_upstream(call->endpoint, req->target)
           == MCP_UPSTREAM_OFF
        || call->endpoint->targets[req->target].session
           == MCP_UPSTREAM_OF_PRINCIPAL)
    {
        return 0;
    }

    form = mcp_upstream_form(req, &version);

    return form == MCP_UPSTREAM_SESSION || form == MCP_UPSTREAM_AUTO;
}


int
mcp_upstream_round_admit(const mcp_call_t *call)
{
    uint32_t           n, limit;
    const mcp_call_t  *other;

    limit = call->endpoint->max_session_streams / MCP_UPSTREAM_ROUND_SHARE;
    n = 0;

    for (other = call->worker->rounds; other; other = other->next) {
        n += other->requests[0].server_questions != NULL
             && memcmp(other->tenant, call->tenant, MCP_DIGEST_LEN) == 0;
    }

    if (call->endpoint->max_session_streams && n >= (limit ? limit : 1)
        && !mcp_digest_is_nobody(call->tenant))
    {
        mcp_worker_log(call->worker, MCP_LOG_INFO,
                       "call %s: a request of the MCP server to the client "
                       "(elicitation, sampling or roots) was rejected, "
                       "because %u calls of the caller already wait for input "
                       "in this process, a sixteenth of "
                       "mcp_max_session_streams or more: raise "
                       "mcp_max_session_streams",
                       call->id_text, n);
        return 0;
    }

    return 1;
}


void
mcp_upstream_round_track(mcp_call_t *call)
{
    mcp_call_t  **all;

    if (call->link) {
        return;
    }

    all = &call->worker->rounds;

    call->next = *all;
    call->link = all;
    *all = call;

    if (call->next) {
        call->next->link = &call->next;
    }
}


/* Appends a question as a member of inputRequests. */
static void
mcp_upstream_round_question(const mcp_question_t *q, mcp_buf_t *out)
{
    mcp_buf_lit(out, "\"q");
    mcp_buf_int(out, (int64_t) q->number);
    mcp_buf_lit(out, "\":{\"method\":");
    mcp_buf_json(out, q->method);

    if (q->params.len) {
        mcp_buf_lit(out, ",\"params\":");
        mcp_buf_str(out, q->params);
    }

    mcp_buf_lit(out, "}");
}


/* Appends all open questions of a request as members of inputRequests, oldest
 * first. */
static void
mcp_upstream_round_open(const mcp_request_t *req, mcp_buf_t *out)
{
    size_t                          n;
    const mcp_question_t           *open[MCP_UPSTREAM_QUESTIONS];
    const mcp_upstream_question_t  *question;

    n = 0;

    for (question = req->server_questions; question; question = question->next)
    {
        open[n++] = &question->question;
    }

    while (n > 0) {
        mcp_upstream_round_question(open[--n], out);

        if (n > 0) {
            mcp_buf_lit(out, ",");
        }
    }
}


/* Appends an InputRequiredResult with a question, or with all open questions if
 * q is NULL. Its request state is the id of its event, sealed; "number" is the
 * number of this event. Returns the values of mcp_upstream_round_write(). */
static int
mcp_upstream_round_result(mcp_request_t *req, const mcp_question_t *q,
    uint64_t number, mcp_buf_t *out)
{
    int    rc;
    char  *end, id[MCP_EVENT_ID_MAX];

    mcp_buf_lit(out, "{\"resultType\":\"input_required\",\"inputRequests\":"
                     "{");

    if (q) {
        mcp_upstream_round_question(q, out);

    } else {
        mcp_upstream_round_open(req, out);
    }

    mcp_buf_lit(out, "},\"requestState\":");

    end = mcp_event_id_print(id, req->call->id, number);
    rc = mcp_input_state_seal(req, (mcp_str_t) { id, (size_t) (end - id) },
                              out);

    mcp_buf_lit(out, "}");

    return rc == MCP_OK ? out->failed : rc;
}


/* Writes the response with a question, or with all open questions if q is NULL.
 * Returns the values of mcp_upstream_round_write(). */
static int
mcp_upstream_round_response(mcp_request_t *req, const mcp_question_t *q,
    uint64_t number, mcp_buf_t *out)
{
    int           rc;
    mcp_buf_t     body;
    mcp_result_t  add;

    mcp_buf_init(&body, &req->call->worker->env->mem, SIZE_MAX / 2);
    rc = mcp_upstream_round_result(req, q, number, &body);

    if (rc == MCP_OK) {
        mcp_result_write(out, req->id, mcp_buf_text(&body),
                         mcp_endpoint_result(req->call->endpoint,
                                             &req->call->client, req->method,
                                             mcp_null_str, &add));
        rc = out->failed;
    }

    mcp_buf_free(&body);

    return rc;
}


int
mcp_upstream_round_write(mcp_request_t *req, mcp_question_t *q,
    mcp_buf_t *out)
{
    int  rc;

    rc = mcp_call_next_event(req->call, &q->number);

    return rc == MCP_OK ? mcp_upstream_round_response(req, q, q->number, out)
                        : rc;
}


/* --- requests without all answers --- */

/* Returns 1 if the client's request that reads the stream after the event
 * call->retried gets an open question from the stream: as the event of the
 * question, or in an event with all questions that were open. */
static int
mcp_upstream_round_is_asked(const mcp_call_t *call)
{
    const mcp_upstream_question_t  *question;

    for (question = call->requests[0].server_questions; question;
         question = question->next)
    {
        if (question->question.number > call->retried) {
            return 1;
        }
    }

    return call->asked_again > call->retried;
}


/* Appends an InputRequiredResult with a question, or with all open questions if
 * q is NULL, to the stream. Returns the values of mcp_call_append() and of
 * mcp_upstream_round_write(). */
static int
mcp_upstream_round_append(mcp_request_t *req, const mcp_question_t *q)
{
    int        rc;
    uint64_t   number;
    mcp_buf_t  out;

    rc = mcp_call_next_event(req->call, &number);
    if (rc != MCP_OK) {
        return rc;
    }

    mcp_buf_init(&out, &req->call->worker->env->mem, SIZE_MAX / 2);
    rc = mcp_upstream_round_response(req, q, number, &out);

    if (rc == MCP_OK) {
        rc = mcp_call_append(req, mcp_buf_text(&out), MCP_STATE_INPUT_REQUIRED);
    }

    mcp_buf_free(&out);

    if (rc == MCP_OK) {
        req->call->asked_again = number;
    }

    return rc;
}


void
mcp_upstream_round_continue(mcp_call_t *call)
{
    int             rc;
    mcp_request_t  *req;

    if (call->retried == 0 || call->phase == MCP_CALL_OVER) {
        return;
    }

    req = &call->requests[0];

    if (req->state == MCP_REQUEST_OVER || req->server_questions == NULL
        || mcp_upstream_round_is_asked(call))
    {
        call->retried = 0;
        return;
    }

    rc = mcp_upstream_round_append(req, NULL);

    if (rc == MCP_ERR_LARGE) {
        rc = mcp_upstream_round_append(req, &req->server_questions->question);
    }

    /* there is no room: this function is called again when there is */

    if (rc == MCP_ERR_LIMIT || rc == MCP_ERR_FULL) {
        return;
    }

    call->retried = 0;

    if (rc != MCP_OK) {
        mcp_call_fail(req, MCP_FAULT_INTERNAL);
    }
}


void
mcp_upstream_round_retried(mcp_call_t *call, uint64_t number)
{
    if (!call->rounds || call->task) {
        return;
    }

    if (number > call->retried) {
        call->retried = number;
    }

    mcp_upstream_round_continue(call);
}


/* Reads the number of a question from its raw key, such as "q7". Returns 1, or
 * 0 if the key has another form. */
static int
mcp_upstream_round_number(mcp_str_t key, uint64_t *number)
{
    mcp_str_t  digits;

    if (key.len < 4 || key.data[1] != 'q') {
        return 0;
    }

    digits.data = key.data + 2;
    digits.len = key.len - 3;

    return mcp_str_uint(digits, number) == MCP_OK;
}


/* Begins a message about an event of the stream, which is named by its id. */
static void
mcp_upstream_round_message(const unsigned char stream[MCP_STREAM_ID_LEN],
    uint64_t number, mcp_buf_t *out)
{
    char  *end, id[MCP_EVENT_ID_MAX];

    mcp_buf_lit(out, "{\"jsonrpc\":\"2.0\",\"id\":\"");
    end = mcp_event_id_print(id, stream, number);
    mcp_buf_add(out, id, (size_t) (end - id));
    mcp_buf_lit(out, "\"");
}


int
mcp_upstream_round_answers(const mcp_json_value_t *responses,
    const unsigned char stream[MCP_STREAM_ID_LEN], uint64_t after,
    mcp_buf_t *out)
{
    uint64_t          number;
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_json_iter_type(&iter, responses, MCP_JSON_OBJECT);
    mcp_buf_lit(out, "[");

    while (mcp_json_iter_next(&iter, &key, &value)) {

        if (!mcp_upstream_round_number(key, &number)) {
            continue;
        }

        mcp_upstream_round_message(stream, number, out);
        mcp_buf_lit(out, ",\"result\":");
        mcp_buf_str(out, value.raw);
        mcp_buf_lit(out, "},");
    }

    /* the mark that mcp_upstream_round_is_mark() recognizes: after the answers,
     * because these questions need not be asked again */

    mcp_upstream_round_message(stream, after, out);
    mcp_buf_lit(out, "}]");

    return out->failed;
}


int
mcp_upstream_round_is_mark(const mcp_json_value_t *message)
{
    return mcp_json_get(message, mcp_str("result")).type == MCP_JSON_NONE
           && mcp_json_get(message, mcp_str("error")).type == MCP_JSON_NONE;
}
