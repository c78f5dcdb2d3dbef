/* SPDX-License-Identifier: Apache-2.0 */

#include "call/mcp_upstream_question_stateless_client.h"

#include "call/mcp_call_internal.h"
#include "call/mcp_upstream_detect.h"
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

    static const unsigned char  nobody[MCP_DIGEST_LEN];

    limit = call->endpoint->max_session_streams / MCP_UPSTREAM_ROUND_SHARE;
    n = 0;

    for (other = call->worker->rounds; other; other = other->next) {
        n += other->requests[0].server_questions != NULL
             && memcmp(other->tenant, call->tenant, MCP_DIGEST_LEN) == 0;
    }

    if (call->endpoint->max_session_streams && n >= (limit ? limit : 1)
        && memcmp(call->tenant, nobody, MCP_DIGEST_LEN) != 0)
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


/* Appends an InputRequiredResult with the question. Its request state is the id
 * of the question's event, sealed. Returns the values of
 * mcp_upstream_round_write(). */
static int
mcp_upstream_round_result(mcp_request_t *req, const mcp_question_t *q,
    mcp_buf_t *out)
{
    int    rc;
    char  *end, id[MCP_EVENT_ID_MAX];

    mcp_buf_lit(out, "{\"resultType\":\"input_required\",\"inputRequests\":"
                     "{\"q");
    mcp_buf_int(out, (int64_t) q->number);
    mcp_buf_lit(out, "\":{\"method\":");
    mcp_buf_json(out, q->method);

    if (q->params.len) {
        mcp_buf_lit(out, ",\"params\":");
        mcp_buf_str(out, q->params);
    }

    mcp_buf_lit(out, "}},\"requestState\":");

    end = mcp_event_id_print(id, req->call->id, q->number);
    rc = mcp_input_state_seal(req, (mcp_str_t) { id, (size_t) (end - id) },
                              out);

    mcp_buf_lit(out, "}");

    return rc == MCP_OK ? out->failed : rc;
}


int
mcp_upstream_round_write(mcp_request_t *req, mcp_question_t *q,
    mcp_buf_t *out)
{
    int           rc;
    mcp_buf_t     body;
    mcp_result_t  add;

    rc = mcp_call_next_event(req->call, &q->number);
    if (rc != MCP_OK) {
        return rc;
    }

    mcp_buf_init(&body, &req->call->worker->env->mem, SIZE_MAX / 2);
    rc = mcp_upstream_round_result(req, q, &body);

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


int
mcp_upstream_round_answers(const mcp_json_value_t *responses,
    const unsigned char stream[MCP_STREAM_ID_LEN], mcp_buf_t *out)
{
    char              *end, id[MCP_EVENT_ID_MAX];
    uint64_t           number;
    mcp_str_t          key;
    mcp_json_iter_t    iter;
    mcp_json_value_t   value;

    mcp_json_iter_type(&iter, responses, MCP_JSON_OBJECT);

    while (mcp_json_iter_next(&iter, &key, &value)) {

        if (!mcp_upstream_round_number(key, &number)) {
            continue;
        }

        mcp_buf_add(out, out->len ? "," : "[", 1);
        mcp_buf_lit(out, "{\"jsonrpc\":\"2.0\",\"id\":\"");
        end = mcp_event_id_print(id, stream, number);
        mcp_buf_add(out, id, (size_t) (end - id));
        mcp_buf_lit(out, "\",\"result\":");
        mcp_buf_str(out, value.raw);
        mcp_buf_lit(out, "}");
    }

    if (out->len) {
        mcp_buf_lit(out, "]");
    }

    return out->failed;
}
