/* SPDX-License-Identifier: Apache-2.0 */

/* The next backend request for a request whose backend has asked for input:
 * with the client's answers, or after a pause if the backend has asked no
 * question. */

#include "call/mcp_call_internal.h"
#include "call/mcp_call_request.h"


/* First and maximum length of the pause between two backend requests, ms. It
 * doubles each time. */
#define MCP_INPUT_PAUSE_MIN  250
#define MCP_INPUT_PAUSE_MAX  5000


static int
mcp_input_has_members(mcp_str_t object)
{
    size_t  i;

    for (i = 1; i + 1 < object.len; i++) {
        if (object.data[i] != ' ' && object.data[i] != '\t'
            && object.data[i] != '\r' && object.data[i] != '\n')
        {
            return 1;
        }
    }

    return 0;
}


static void
mcp_input_add_responses(mcp_buf_t *body, const mcp_request_t *req)
{
    size_t  i;

    mcp_buf_lit(body, "\"inputResponses\":{");

    for (i = 0; i < req->n_questions; i++) {
        if (i) {
            mcp_buf_lit(body, ",");
        }

        mcp_buf_str(body, req->questions[i].key);
        mcp_buf_lit(body, ":");
        mcp_buf_str(body, req->questions[i].answer);
    }

    mcp_buf_lit(body, "}");
}


/* Builds the body of the next backend request: the client's request with
 * inputResponses and requestState added to its params. */
static int
mcp_input_body(mcp_request_t *req)
{
    int          comma;
    size_t       head;
    mcp_buf_t   *body;
    mcp_str_t    params;

    body = &req->body;
    params = req->params;

    mcp_buf_free(body);
    mcp_buf_init(body, &req->call->worker->env->mem, SIZE_MAX / 2);

    /* head is the length up to the brace that closes params; a comma is needed
     * there unless params are empty */

    comma = mcp_input_has_members(params);
    head = (size_t) (params.data - req->raw.data) + params.len - 1;

    mcp_buf_add(body, req->raw.data, head);

    if (req->n_questions) {
        if (comma) {
            mcp_buf_lit(body, ",");
        }

        mcp_input_add_responses(body, req);
        comma = 1;
    }

    if (req->request_state.len) {
        if (comma) {
            mcp_buf_lit(body, ",");
        }

        mcp_buf_lit(body, "\"requestState\":");
        mcp_buf_str(body, req->request_state);
    }

    mcp_buf_add(body, req->raw.data + head, req->raw.len - head);

    return body->failed;
}


int
mcp_input_retry(mcp_request_t *req)
{
    mcp_request_set_state(req, MCP_REQUEST_RUN);

    if (req->active || req->held) {

        /* the previous backend request has not ended, or its messages are not
         * processed yet */

        req->again = 1;
        req->deadline = req->call->worker->env->now(req->call->worker->env->ctx)
                        + MCP_CALL_GRACE;
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
                     "for mcp_input_timeout the backend has requested input "
                     "again and again, but without a question");
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
