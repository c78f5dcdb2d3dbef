/* SPDX-License-Identifier: Apache-2.0 */

/* The responses to the requests of a call. In a durable call, a response is the
 * last event of its request in the stream. In any other call, a response is
 * kept in memory until the waiting client gets all responses together. */

#include "call/mcp_call_internal.h"
#include "call/mcp_call_outcome.h"
#include "call/mcp_upstream_listen.h"
#include "call/mcp_upstream_finish_initialize.h"
#include "rpc/mcp_fault.h"
#include "rpc/mcp_result.h"
#include "worker/mcp_resume_hooks.h"


/* Returns the state that the stream of an active call has if the request req is
 * not considered; req may be NULL. */
static mcp_stream_state_e
mcp_call_state_without(const mcp_call_t *call, const mcp_request_t *req)
{
    size_t  i;

    for (i = 0; i < call->n; i++) {
        if ((call->requests[i].state == MCP_REQUEST_INPUT
             || call->requests[i].server_questions)
            && &call->requests[i] != req)
        {
            return MCP_STATE_INPUT_REQUIRED;
        }
    }

    return MCP_STATE_PROCESSING;
}


mcp_stream_state_e
mcp_call_state(const mcp_call_t *call)
{
    return mcp_call_state_without(call, NULL);
}


int
mcp_call_responses(const mcp_request_t *req, mcp_outcome_e how)
{
    int  answers;

    answers = (int) req->breq.request
              | (how >= MCP_OUTCOME_RPC_ERROR ? MCP_STORE_ERROR : 0);

    /* a request of a batch that was answered without a backend does not count
     * as a call */

    return answers | (req->backend ? MCP_STORE_RESULT((int) how) : 0);
}


int
mcp_call_response_stored(mcp_request_t *req, mcp_str_t text, mcp_outcome_e how)
{
    int                  rc;
    uint64_t             seq;
    mcp_call_t          *call;
    mcp_stream_state_e   state;

    call = req->call;

    if (call->pending == 1) {
        state = how >= MCP_OUTCOME_RPC_ERROR ? MCP_STATE_FAILED
                                            : MCP_STATE_COMPLETED;

    } else {
        state = mcp_call_state_without(call, req);
    }

    rc = mcp_store_append(call->worker->store, &call->ref, text,
                          mcp_call_responses(req, how), state,
                          mcp_call_now(call), &seq);

    if (rc == MCP_ERR_FULL || rc == MCP_ERR_LIMIT) {
        return MCP_AGAIN;
    }

    if (rc == MCP_OK) {
        mcp_call_note_stream_state(call, state);
    }

    /* the stream was freed: no client waits for the response */

    return rc == MCP_ERR_NOT_FOUND ? MCP_OK : rc;
}


/* Keeps a response until the waiting client gets it. Returns MCP_OK or
 * MCP_ERR_MEMORY. */
static int
mcp_call_response_kept(mcp_request_t *req, mcp_buf_t *buf)
{
    mcp_call_t  *call;

    call = req->call;

    if (call->x && !call->batch) {

        /* not a batch: the text becomes the body of the HTTP response, without
         * a copy */

        mcp_buf_free(&call->x->output.out);
        call->x->output.out = *buf;
        mcp_buf_init(buf, &call->worker->env->mem, SIZE_MAX / 2);

        req->response.data = call->x->output.out.data;
        req->response.len = call->x->output.out.len;

        return MCP_OK;
    }

    req->response = mcp_arena_dup(&call->arena,
                                  (mcp_str_t) { buf->data, buf->len });

    return req->response.data ? MCP_OK : MCP_ERR_MEMORY;
}


/* Passes the outcome of a request to the counters of the zone, the resumption
 * methods, and the exchange that waits. */
static void
mcp_call_note_outcome(mcp_request_t *req, mcp_outcome_e how)
{
    int          error;
    mcp_call_t  *call;

    call = req->call;
    error = how >= MCP_OUTCOME_RPC_ERROR;

    if (error) {
        mcp_store_count(call->worker->store, MCP_COUNT_ERRORS, 1);
        mcp_hook_failed(call->states, req);

    } else {
        mcp_hook_answered(call->states, req, how);
    }

    if (call->x) {
        call->x->output.outcome = error ? "error" : "ok";
    }
}


/* Called when the response of a request was written. Ends the call if this is
 * the last request. The end of a request can start another one that waits for
 * the same session, and so end the call as well. */
static void
mcp_call_response_over(mcp_request_t *req)
{
    int          last;
    mcp_call_t  *call;

    call = req->call;

    mcp_call_retain(call);
    last = --call->pending == 0;
    mcp_request_set_state(req, MCP_REQUEST_OVER);

    if (last) {
        mcp_call_done(call);

    } else if (req->active) {
        req->deadline = mcp_call_now(call) + mcp_upstream_open_grace(req);
        mcp_call_set_timer(call);
    }

    mcp_call_release(call);
}


/* Sets the text in buf as the response of a request. Returns MCP_OK, also if
 * the call has failed, or MCP_AGAIN if the stream has no room: the caller has
 * to repeat this later. */
static int
mcp_call_response(mcp_request_t *req, mcp_buf_t *buf, mcp_outcome_e how)
{
    int          rc;
    mcp_call_t  *call;

    call = req->call;

    /* the request has a response: a second one is ignored */

    if (req->state == MCP_REQUEST_OVER) {
        return MCP_OK;
    }

    rc = buf->failed;

    if (rc == MCP_OK) {
        if (req->session) {
            mcp_upstream_listen_ends(req);
        }

        rc = call->phase == MCP_CALL_DURABLE
             ? mcp_call_response_stored(req,
                                        (mcp_str_t) { buf->data, buf->len },
                                        how)
             : mcp_call_response_kept(req, buf);
    }

    if (rc == MCP_AGAIN) {
        return MCP_AGAIN;
    }

    if (rc != MCP_OK) {
        mcp_call_log(call, MCP_LOG_ERROR, "failed",
                     rc == MCP_ERR_MEMORY
                     ? "no memory" : mcp_call_append_reason(rc));
        mcp_call_abandon(call, MCP_FAULT_INTERNAL);
        return MCP_OK;
    }

    if (call->phase == MCP_CALL_TRANSIENT && call->join) {
        mcp_call_join_append(req, how);
    }

    mcp_call_note_outcome(req, how);

    mcp_request_ends(req, how);

    mcp_call_response_over(req);

    return MCP_OK;
}


/* Does the same as mcp_call_response(), and then frees the buffer. */
static int
mcp_call_respond_from(mcp_request_t *req, mcp_buf_t *buf, mcp_outcome_e how)
{
    int  rc;

    rc = mcp_call_response(req, buf, how);
    mcp_buf_free(buf);

    return rc;
}


static const mcp_result_t *
mcp_call_adds(const mcp_request_t *req, mcp_result_t *add)
{
    return mcp_endpoint_result(req->call->endpoint, &req->call->client,
                               req->method,
                               req->retry ? mcp_null_str : req->name, add);
}


int
mcp_call_finish_plain(mcp_request_t *req, mcp_str_t result, mcp_outcome_e how)
{
    mcp_buf_t            buf;
    mcp_result_t         space;
    const mcp_result_t  *add;

    add = mcp_call_adds(req, &space);

    /* the result may contain ttlMs and cacheScope already, so it has to be
     * parsed */

    if (add && add->caches) {
        return mcp_call_finish(req, result, how);
    }

    mcp_buf_init(&buf, &req->call->worker->env->mem, SIZE_MAX / 2);
    mcp_buf_reserve(&buf, result.len + req->id.len + 48
                          + (add ? add->members.len + 80 : 0));
    mcp_result_head(&buf, req->id);
    mcp_buf_str(&buf, result);
    mcp_result_tail(&buf, add);

    return mcp_call_respond_from(req, &buf, how);
}


int
mcp_call_finish(mcp_request_t *req, mcp_str_t body, mcp_outcome_e how)
{
    int64_t       code;
    mcp_buf_t     buf;
    mcp_result_t  add;

    mcp_buf_init(&buf, &req->call->worker->env->mem, SIZE_MAX / 2);

    if (how == MCP_OUTCOME_RPC_ERROR) {
        code = mcp_error_write(&buf, req->call->client.revision, req->id, body,
                               req->method->subject == MCP_SUBJECT_URI
                               ? req->name : mcp_null_str);

        req->error = mcp_error_type_of_code(code);

        if (code == MCP_CODE_CAPABILITY) {
            req->call->status = mcp_fault_code(MCP_FAULT_CAPABILITY,
                                       req->call->client.revision)->status;
        }

    } else {
        mcp_result_write(&buf, req->id, body, mcp_call_adds(req, &add));
    }

    return mcp_call_respond_from(req, &buf, how);
}


int
mcp_call_finish_fault(mcp_request_t *req, mcp_fault_e fault, mcp_str_t detail)
{
    return mcp_call_finish_fault_data(req, fault, detail, mcp_null_str);
}


int
mcp_call_finish_fault_data(mcp_request_t *req, mcp_fault_e fault,
    mcp_str_t detail, mcp_str_t data)
{
    mcp_buf_t  buf;

    req->reason = mcp_reason_of_fault(fault);
    req->error = mcp_error_type_of_code(
        mcp_fault_code(fault, req->call->client.revision)->code);

    /* an undeclared capability or a header that differs from the body is always
     * an error of the client, so clients of all revisions get the HTTP status
     * of 2026-07-28 (basic/index, "_meta", and
     * basic/transports/streamable-http, "Server Validation") */

    if (fault == MCP_FAULT_CAPABILITY || fault == MCP_FAULT_HEADER) {
        req->call->status = mcp_fault(fault)->stateless.status;
    }

    mcp_buf_init(&buf, &req->call->worker->env->mem, SIZE_MAX / 2);
    mcp_fault_write(&buf, req->call->client.revision, req->id, fault, detail,
                    data);

    return mcp_call_respond_from(req, &buf, MCP_OUTCOME_FAULT);
}


int
mcp_call_finish_fault_why(mcp_request_t *req, mcp_fault_e fault, mcp_str_t why)
{
    int        rc;
    mcp_buf_t  data;

    if (!req->call->endpoint->debug || why.len == 0
        || mcp_fault_code(fault, req->call->client.revision)->code
           != MCP_CODE_INTERNAL)
    {
        return mcp_call_finish_fault(req, fault, mcp_null_str);
    }

    mcp_buf_init(&data, &req->call->worker->env->mem, SIZE_MAX / 2);
    mcp_buf_lit(&data, "{\"reason\":");
    mcp_buf_json(&data, why);
    mcp_buf_lit(&data, "}");

    /* out of memory: the response gets no "reason" */

    if (data.failed) {
        data.len = 0;
    }

    rc = mcp_call_finish_fault_data(req, fault, mcp_null_str,
                                    (mcp_str_t) { data.data, data.len });

    mcp_buf_free(&data);

    return rc;
}


void
mcp_call_fail(mcp_request_t *req, mcp_fault_e fault)
{
    if (mcp_call_finish_fault(req, fault, mcp_null_str) == MCP_AGAIN) {
        mcp_call_hold_fault(req, fault);
    }
}


void
mcp_call_hold_fault(mcp_request_t *req, mcp_fault_e fault)
{
    memset(&req->msg, 0, sizeof(mcp_backend_msg_t));
    req->msg.kind = MCP_BACKEND_FAULT;
    req->msg.fault = fault;
    req->msg.detail = "the zone has no room for the response: enlarge the "
                      "zone";
    req->held = 1;

    mcp_call_set_timer(req->call);
}


int
mcp_call_finish_text(mcp_request_t *req, mcp_str_t text)
{
    int        rc;
    mcp_buf_t  buf;

    if (req->method->want != MCP_WANT_TOOL) {
        return mcp_call_finish_fault(req, MCP_FAULT_BACKEND_FAILED, text);
    }

    mcp_buf_init(&buf, &req->call->worker->env->mem, SIZE_MAX / 2);

    mcp_backend_tool_error(&buf, text);

    if (buf.failed) {
        return mcp_call_respond_from(req, &buf, MCP_OUTCOME_FAULT);
    }

    rc = mcp_call_finish(req, mcp_buf_text(&buf), MCP_OUTCOME_TOOL_ERROR);
    mcp_buf_free(&buf);

    return rc;
}
