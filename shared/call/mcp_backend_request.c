/* SPDX-License-Identifier: Apache-2.0 */

/* Start and end of backend requests, and processing of the messages in a
 * backend's reply. A message for which the call's stream has no room is held.
 * The decoder keeps all later messages until the held one is processed. */

#include <stdio.h>

#include "call/mcp_call.h"
#include "call/mcp_call_internal.h"
#include "call/mcp_call_response.h"
#include "call/mcp_upstream_detect.h"
#include "call/mcp_upstream_list_from_cache.h"
#include "call/mcp_upstream_listen.h"
#include "call/mcp_upstream_param_header.h"
#include "call/mcp_upstream_question.h"
#include "call/mcp_upstream_respond.h"
#include "call/mcp_upstream_resume.h"
#include "call/mcp_upstream_session.h"
#include "call/mcp_upstream_wait.h"
#include "worker/mcp_resume_hooks.h"


/* Maximum duration of a short backend request to an MCP server, ms: one that
 * gets the server's description, gets the list of tools after the server has
 * refused a header, opens a session, ends a session for a client's DELETE, or
 * refreshes a cached list. A client waits for the end of such a request. If
 * mcp_call_timeout is shorter, it applies instead. */
#define MCP_BACKEND_REQUEST_DESCRIBE  10000


static void mcp_backend_request_invoke_again(mcp_request_t *req);
static void mcp_backend_request_end_with(mcp_backend_request_t *breq,
    mcp_fault_e fault, const char *detail);


static mcp_request_t *
mcp_backend_request_request(mcp_backend_request_t *breq)
{
    return &breq->call->requests[breq->request];
}


/* Copies the trace context of the client's HTTP request from one set of
 * variables to another. */
static void
mcp_backend_request_put_trace(const mcp_variables_t *from, mcp_variables_t *to)
{
    mcp_variable_set(to, MCP_VARIABLE_TRACEPARENT,
                     from->value[MCP_VARIABLE_TRACEPARENT]);
    mcp_variable_set(to, MCP_VARIABLE_TRACESTATE,
                     from->value[MCP_VARIABLE_TRACESTATE]);
    mcp_variable_set(to, MCP_VARIABLE_BAGGAGE,
                     from->value[MCP_VARIABLE_BAGGAGE]);
}


/* Sets the variables of a backend request: the variables of the call and of
 * the request. If an earlier backend request for the same request had a publish
 * URL, keeps this URL, because the backend may still use it. */
static void
mcp_backend_request_set_variables(mcp_request_t *req)
{
    mcp_str_t         url;
    mcp_call_t       *call;
    mcp_variables_t  *variables;

    call = req->call;
    variables = &req->breq.variables;

    if (call->bare) {
        mcp_zero(variables, sizeof(mcp_variables_t));
        mcp_variable_put(variables, MCP_VARIABLE_METHOD, req->method->name);
        return;
    }

    url = variables->value[MCP_VARIABLE_PUBLISH_URL];

    if (url.len == 0 && call->endpoint->publish_url.len) {
        url = mcp_publish_url(call, req->breq.request);
    }

    *variables = call->variables;
    mcp_variable_set(variables, MCP_VARIABLE_PUBLISH_URL, url);
    mcp_variable_put(variables, MCP_VARIABLE_METHOD, req->method->name);
    mcp_variable_set(variables, MCP_VARIABLE_NAME, req->name);
    mcp_variable_set(variables, MCP_VARIABLE_REQUEST_ID, req->id);
    mcp_variable_set(variables, MCP_VARIABLE_PROGRESS_TOKEN,
                     req->progress_token);

    mcp_trace_set(variables, &req->trace);

    if (call->x && !call->batch) {
        mcp_backend_request_put_trace(variables, &call->x->variables);
    }
}


static int
mcp_backend_request_is_upstream(const mcp_request_t *req)
{
    return mcp_endpoint_upstream(req->call->endpoint, req->target)
           != MCP_UPSTREAM_OFF;
}


/*
 * Returns 1 if this server itself answers a request:
 *
 *   - no backend is configured for the request, or
 *   - its backend is an MCP server, and the response is in the cache of lists,
 *     or
 *   - its backend is an MCP server, and the method is resources/subscribe or
 *     resources/unsubscribe. An MCP server does not get these methods, because
 *     its later notifications could not reach the client.
 */
static int
mcp_backend_request_is_local(mcp_request_t *req)
{
    if (req->target == MCP_NO_TARGET) {
        return 1;
    }

    if (!mcp_backend_request_is_upstream(req)) {
        return 0;
    }

    if (req->method->id == MCP_METHOD_RESOURCES_SUBSCRIBE
        || req->method->id == MCP_METHOD_RESOURCES_UNSUBSCRIBE)
    {
        return 1;
    }

    if (req->looked_up) {
        return 0;
    }

    req->looked_up = 1;

    return mcp_upstream_list_begin(req);
}


/* Returns the time after which the next backend request of req times out,
 * ms. */
static uint64_t
mcp_backend_request_time_limit(const mcp_request_t *req)
{
    uint64_t  time;

    time = req->call->endpoint->call_timeout;

    if (req->call->phase == MCP_CALL_OVER) {
        return MCP_CALL_GRACE;
    }

    if (time <= MCP_BACKEND_REQUEST_DESCRIBE) {
        return time;
    }

    return req->call->respond || req->may_be_stale
           || (req->session && !mcp_upstream_session_is_call(req))
           || (req->relist && mcp_upstream_param_needs_list(req))
           ? MCP_BACKEND_REQUEST_DESCRIBE : time;
}


/* Sets the body of a backend request: the client's request or, if it was
 * changed for an earlier backend request, the changed one. The client's answers
 * to questions are such a change, and so is the translation for an MCP
 * server. */
static void
mcp_backend_request_set_body(mcp_request_t *req)
{
    mcp_backend_request_t  *breq;

    breq = &req->breq;

    if (req->session && req->session->reforms) {
        req->session->reforms = 0;
        mcp_buf_free(&req->body);
    }

    breq->rebuilt = req->body.len != 0;
    breq->body = req->body.len ? mcp_buf_text(&req->body) : req->raw;
}


/* Prepares a request for its next backend request, with a new decoder. Returns
 * MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_backend_request_prepare(mcp_request_t *req)
{
    mcp_call_t             *call;
    mcp_backend_request_t  *breq;

    call = req->call;

    if (req->backend) {
        mcp_backend_free(req->backend);
    }

    req->backend = mcp_backend_create(&call->worker->env->mem,
        req->method->want, req->raw_uri.len ? req->raw_uri : req->name,
        call->endpoint->max_message, call->endpoint->max_depth);
    if (req->backend == NULL) {
        return MCP_ERR_MEMORY;
    }

    breq = &req->breq;
    breq->started = 0;
    breq->aborted = 0;
    breq->bare = call->bare;
    breq->urgent = 0;
    breq->unsent = 0;
    breq->asks = 0;
    breq->http_method = MCP_BACKEND_REQUEST_POST;
    breq->glue = NULL;
    breq->target = req->target;
    breq->n_headers = 0;

    mcp_backend_request_set_body(req);
    mcp_backend_request_set_variables(req);

    req->ended = 0;
    req->again = 0;
    req->starved = 0;
    req->late = 0;
    req->responds = 0;
    req->failed_here = 0;
    req->has_response = 0;

    return MCP_OK;
}


/* Queues an action for a backend request. */
static void
mcp_backend_request_queue(mcp_request_t *req, mcp_action_e type)
{
    req->breq.queued.action.type = type;
    mcp_worker_queue(req->call->worker, &req->breq.queued);
}


/* Makes a request wait for a session, its GET stream or the cluster. The glue
 * prepares the backend request already, because the glue needs the client's
 * HTTP request for this, and the HTTP request may end before the backend
 * request starts. */
static void
mcp_backend_request_wait(mcp_request_t *req)
{
    req->deadline = req->session->wait_until;

    if (!req->breq.prepared && mcp_call_glue(req->call) == NULL) {
        mcp_backend_request_queue(req, MCP_ACT_PREPARE);

    } else {
        req->breq.prepared = 1;
    }
}


int
mcp_backend_request_start(mcp_request_t *req)
{
    int  rc, local;

    if (mcp_backend_request_prepare(req) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    local = mcp_backend_request_is_local(req);
    rc = !local && mcp_backend_request_is_upstream(req)
         ? mcp_backend_request_to_upstream(req) : MCP_OK;

    if (rc < 0) {
        return rc;
    }

    mcp_request_set_state(req, MCP_REQUEST_ACTIVE);

    if (rc == MCP_AGAIN) {
        mcp_backend_request_wait(req);
        return MCP_OK;
    }

    /* a backend request that resumes a stream keeps the deadline of the call */

    if (req->session == NULL || req->session->step != MCP_UPSTREAM_STEP_RESUME)
    {
        req->deadline = mcp_call_now(req->call)
                        + mcp_backend_request_time_limit(req);

        if (req->relist) {
            req->deadline = mcp_upstream_param_deadline(req, req->deadline);
        }
    }

    req->active = 1;
    req->call->n_breqs++;

    mcp_backend_request_queue(req, local ? MCP_ACT_NONE : MCP_ACT_INVOKE);

    return MCP_OK;
}


void
mcp_backend_request_start_after(mcp_request_t *req)
{
    req->breq.started = 0;
    req->breq.aborted = 0;
    req->deadline = mcp_call_now(req->call) + MCP_CALL_GRACE;
    req->active = 1;
    req->call->n_breqs++;

    mcp_backend_request_queue(req, MCP_ACT_INVOKE);
}


/* Called when the glue starts a backend request of the call. If call->join is
 * set, other requests may join the call from now on, and the call continues
 * even if its client disconnects. */
static void
mcp_backend_request_join(mcp_call_t *call)
{
    if (call->join && !call->joinable) {
        call->joinable = 1;
        mcp_store_join_release(call->worker->store, &call->ref);
    }
}


static void
mcp_backend_request_write(mcp_backend_request_t *breq, mcp_str_t text)
{
    (void) mcp_backend_request_data(breq, text.data, text.len);
}


/* Answers a request that needs no backend: with the result from the cache, or
 * with an empty result. */
static void
mcp_backend_request_respond(mcp_backend_request_t *breq)
{
    mcp_str_t    cached;
    mcp_call_t  *call;

    call = breq->call;
    call->refs++;
    breq->started = 1;

    cached = mcp_backend_request_request(breq)->cached;
    mcp_backend_request_head(breq, 200, mcp_str("application/json"));

    if (cached.len) {
        mcp_backend_request_write(breq, mcp_str("{\"jsonrpc\":\"2.0\","
                                                "\"id\":1,\"result\":"));
        mcp_backend_request_write(breq, cached);
        mcp_backend_request_write(breq, mcp_str("}"));

    } else {
        mcp_backend_request_write(breq, mcp_str("{}"));
    }

    mcp_backend_request_end_with(breq, MCP_FAULT_NONE, NULL);

    mcp_call_release(call);
}


/* Called when the glue has pulled MCP_ACT_INVOKE. Prepares a backend request
 * that cancels a call or ends a session, and does nothing for any other backend
 * request. This is not done earlier, because it replaces the variables of the
 * previous backend request, and the glue has to log those first. Returns 1, or
 * 0 when out of memory. */
static int
mcp_backend_request_set_up_after(mcp_backend_request_t *breq)
{
    mcp_request_t  *req;

    req = mcp_backend_request_request(breq);

    return req->session == NULL || !mcp_upstream_session_start_after(req)
           || (mcp_backend_request_prepare(req) == MCP_OK
               && mcp_backend_request_to_upstream(req) == MCP_OK);
}


void
mcp_backend_request_taken(mcp_queued_action_t *queued, mcp_action_t *action)
{
    mcp_call_t             *call;
    mcp_backend_request_t  *breq;

    (void) queued;

    breq = action->breq;
    call = breq->call;

    switch (action->type) {

    case MCP_ACT_NONE:
        mcp_backend_request_respond(breq);
        break;

    case MCP_ACT_PREPARE:
        breq->prepared = 1;
        action->exchange = call->x;
        break;

    case MCP_ACT_INVOKE:
        if (!mcp_backend_request_set_up_after(breq)) {
            action->type = MCP_ACT_NONE;
            mcp_backend_request_end_with(breq, MCP_FAULT_INTERNAL, "no memory");
            break;
        }

        breq->started = 1;
        action->exchange = call->x;
        call->n_started++;
        mcp_backend_request_join(call);
        mcp_call_trace(call, "request %u: calls its backend",
                       breq->request);
        break;

    default:
        break;
    }
}


/* Aborts a backend request. If it has not started, the glue gets no action for
 * it. */
static void
mcp_backend_request_abort(mcp_request_t *req)
{
    mcp_backend_request_t  *breq;
    mcp_call_t             *call;

    call = req->call;
    breq = &req->breq;

    if (!req->active || breq->aborted) {
        return;
    }

    if (!breq->started) {
        mcp_worker_unqueue(call->worker, &breq->queued);
        req->active = 0;
        call->n_breqs--;
        return;
    }

    breq->aborted = 1;
    mcp_call_trace(call, "request %u: aborts its backend request",
                   breq->request);

    mcp_worker_unqueue(call->worker, &breq->queued);
    mcp_backend_request_queue(req, MCP_ACT_ABORT);
}


/* Aborts the backend request of a request, even one that opens a session, and
 * drops the held message. */
static void
mcp_backend_request_give_up(mcp_request_t *req)
{
    req->again = 0;
    req->held = 0;

    mcp_backend_request_abort(req);
}


void
mcp_backend_request_stop(mcp_request_t *req)
{
    if (mcp_upstream_open_continue(req)) {
        req->again = 0;
        req->held = 0;
        return;
    }

    mcp_backend_request_give_up(req);
}


void
mcp_backend_request_stop_all(mcp_call_t *call)
{
    size_t  i;

    for (i = 0; i < call->n; i++) {
        mcp_backend_request_stop(&call->requests[i]);
    }
}


/* Called for a message that has to be held and was logged already. Removes the
 * details that were logged, so that they are not logged again when the message
 * is processed. */
static void
mcp_backend_request_mark_logged(mcp_backend_msg_t *msg)
{
    msg->detail = NULL;
    msg->warning = NULL;
    msg->status = 0;
}


void
mcp_backend_request_hold(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    req->msg = *msg;
    mcp_backend_request_mark_logged(&req->msg);
    req->held = 1;
}


/* Processes the held message of a request. Returns MCP_OK, also if no message
 * is held, or MCP_AGAIN: the message has to remain held. */
static int
mcp_backend_request_retry(mcp_request_t *req)
{
    if (!req->held) {
        return MCP_OK;
    }

    req->held = 0;

    if (mcp_backend_request_message_held(req, &req->msg) == MCP_AGAIN) {
        mcp_backend_request_mark_logged(&req->msg);
        req->held = 1;
        return MCP_AGAIN;
    }

    return MCP_OK;
}


/* Returns 1 if a message of the decoder is ignored: the message is final, but a
 * published message was the final one of this backend request, and has
 * requested input. In particular, the reply 202 does not replace the published
 * questions. */
static int
mcp_backend_request_is_superseded(const mcp_request_t *req,
    const mcp_backend_msg_t *msg)
{
    return msg->kind != MCP_BACKEND_NOTIFICATION
           && msg->kind != MCP_BACKEND_REQUEST
           && (req->again || req->state == MCP_REQUEST_INPUT
               || req->state == MCP_REQUEST_PAUSE);
}


/* Processes the held message and the messages of the decoder until none is
 * left, or the stream has no room. May end the call. */
static void
mcp_backend_request_process(mcp_request_t *req)
{
    int                rc;
    mcp_backend_msg_t  msg;

    if (mcp_backend_request_retry(req) == MCP_AGAIN || req->backend == NULL) {
        return;
    }

    for ( ;; ) {

        rc = mcp_backend_read(req->backend, &msg);

        if (rc == MCP_AGAIN && req->ended) {
            req->ended = 0;
            mcp_backend_end(req->backend, req->end_fault, req->end_detail);
            continue;
        }

        if (rc != MCP_OK) {
            break;
        }

        if (mcp_backend_request_is_superseded(req, &msg)) {
            continue;
        }

        if (mcp_backend_request_message(req, &msg) == MCP_AGAIN) {
            mcp_backend_request_hold(req, &msg);
            return;
        }
    }

    if (rc < 0 && req->call->phase != MCP_CALL_OVER
        && req->state != MCP_REQUEST_OVER)
    {
        mcp_call_abandon(req->call, MCP_FAULT_INTERNAL);
    }

    mcp_backend_request_invoke_again(req);

    /* the response has arrived on a GET stream that resumes the call, but the
     * MCP server may keep this stream open: closes it */

    if (req->session && mcp_upstream_resume_is_done(req) && !req->held) {
        mcp_backend_request_abort(req);
    }
}


void
mcp_backend_request_continue(mcp_request_t *req)
{
    if (req->held) {
        mcp_backend_request_process(req);
    }

    if (!req->held && req->starved && req->active && !req->breq.aborted) {
        req->starved = 0;
        mcp_backend_request_queue(req, MCP_ACT_RESUME);
    }
}


/* Calls the backend again if req->again is set, the previous backend request
 * has ended and no message is held. A held message is in the decoder, which the
 * next backend request replaces. */
static void
mcp_backend_request_invoke_again(mcp_request_t *req)
{
    if (!req->again || req->active || req->held) {
        return;
    }

    req->again = 0;

    /* does nothing if a published message has answered the request, or has
     * asked a new question */

    if (req->call->phase == MCP_CALL_OVER || req->state != MCP_REQUEST_ACTIVE) {
        return;
    }

    if ((req->session && req->session->continues)
        || (req->relist && req->relist->continues))
    {
        mcp_call_invoke(req);
        mcp_call_set_timer(req->call);
        return;
    }

    if (mcp_input_retry(req) == MCP_AGAIN) {
        mcp_call_hold_fault(req, MCP_FAULT_INTERNAL);
    }
}


void
mcp_backend_request_retry_after(mcp_backend_request_t *breq, mcp_str_t value)
{
    if (breq->kind != MCP_BACKEND_REQUEST_CALL) {
        return;
    }

    mcp_backend_retry_after(mcp_backend_request_request(breq)->backend, value);
}


void
mcp_backend_request_head(mcp_backend_request_t *breq, int status,
    mcp_str_t content_type)
{
    mcp_request_t  *req;

    if (breq->kind == MCP_BACKEND_REQUEST_RESPONSE) {
        mcp_upstream_post_head(breq, status);
        return;
    }

    if (breq->kind == MCP_BACKEND_REQUEST_LISTEN) {
        mcp_upstream_listen_head(breq, status, content_type);
        return;
    }

    mcp_call_trace(breq->call,
                   "request %u: the backend responded with HTTP status %d",
                   breq->request, status);

    req = mcp_backend_request_request(breq);

    mcp_backend_head(req->backend, status, content_type);

    if (status / 100 == 2) {
        req->responds = 1;

        if (req->session) {
            mcp_upstream_wait_head(req);
        }
    }
}


size_t
mcp_backend_request_data(mcp_backend_request_t *breq, const char *data,
    size_t len)
{
    mcp_request_t  *req;

    if (breq->kind == MCP_BACKEND_REQUEST_LISTEN) {
        return mcp_upstream_listen_data(breq, data, len);
    }

    req = mcp_backend_request_request(breq);

    if (mcp_upstream_open_data(breq, data, len)
        || req->call->phase == MCP_CALL_OVER || breq->aborted
        || breq->kind == MCP_BACKEND_REQUEST_RESPONSE)
    {
        return len;
    }

    if (req->held) {
        req->starved = 1;
        return 0;
    }

    if (mcp_backend_write(req->backend, data, len) == MCP_ERR_MEMORY) {
        mcp_call_fail(req, MCP_FAULT_INTERNAL);
        return len;
    }

    if (!mcp_backend_collects(req->backend)) {
        mcp_backend_request_process(req);

        if (req->held) {
            mcp_call_set_timer(req->call);
        }
    }

    return len;
}


/* Does the same as mcp_backend_request_end(), but the reason for the end is a
 * fault instead of a failure that the glue reports. MCP_FAULT_NONE means that
 * the reply is complete. */
static void
mcp_backend_request_end_with(mcp_backend_request_t *breq, mcp_fault_e fault,
    const char *detail)
{
    mcp_call_t     *call;
    mcp_request_t  *req;

    if (breq->kind == MCP_BACKEND_REQUEST_RESPONSE) {
        mcp_upstream_post_end(breq, fault, detail);
        return;
    }

    if (breq->kind == MCP_BACKEND_REQUEST_LISTEN) {
        mcp_upstream_listen_end(breq, detail);
        return;
    }

    req = mcp_backend_request_request(breq);
    call = req->call;

    mcp_call_trace(call, "request %u: the backend request ended%s%s",
                   breq->request, detail ? ": " : "", detail ? detail : "");

    mcp_worker_unqueue(call->worker, &breq->queued);

    req->active = 0;
    call->refs++;

    mcp_upstream_open_end(req, fault, detail);

    if (req->again) {
        mcp_backend_request_invoke_again(req);

    } else if (call->phase != MCP_CALL_OVER && !breq->aborted
               && req->state == MCP_REQUEST_ACTIVE)
    {
        req->ended = 1;
        req->end_fault = fault;
        req->end_detail = detail;

        if (!req->held) {
            mcp_backend_request_process(req);
        }

        /* the glue reports nothing more about the backend request, so only the
         * timer of the call can process the held message */

        if (req->held) {
            mcp_call_set_timer(call);
        }
    }

    if (req->session) {
        mcp_upstream_session_end(req);
    }

    call->n_breqs--;

    mcp_call_check_end(call);
    mcp_call_release(call);
}


void
mcp_backend_request_end(mcp_backend_request_t *breq, mcp_failure_e failure,
    const char *detail)
{
    static const mcp_fault_e  faults[] = {
        [MCP_FAILURE_NONE] = MCP_FAULT_NONE,
        [MCP_FAILURE_REPLY] = MCP_FAULT_BACKEND_FAILED,
        [MCP_FAILURE_TIMEOUT] = MCP_FAULT_BACKEND_TIMEOUT,
        [MCP_FAILURE_TARGET] = MCP_FAULT_NO_BACKEND,
        [MCP_FAILURE_LOCAL] = MCP_FAULT_BACKEND_FAILED
    };

    breq->unsent = 0;

    if (breq->kind == MCP_BACKEND_REQUEST_CALL) {
        mcp_backend_request_request(breq)->failed_here =
            failure == MCP_FAILURE_LOCAL || failure == MCP_FAILURE_TARGET;
    }

    mcp_backend_request_end_with(breq, faults[failure], detail);
}


/* --- quota of the caller --- */

const unsigned char *
mcp_backend_request_tenant(const mcp_backend_request_t *breq)
{
    const mcp_call_t  *call = breq->call;

    if (call->endpoint->quota_streams != MCP_QUOTA_SHARE
        || mcp_digest_is_nobody(call->tenant))
    {
        return NULL;
    }

    return call->tenant;
}


int
mcp_backend_request_is_first(const mcp_backend_request_t *breq)
{
    return breq->kind == MCP_BACKEND_REQUEST_CALL
           && breq->call->phase == MCP_CALL_TRANSIENT
           && breq->call->n_started == 1;
}


void
mcp_backend_request_refuse(mcp_backend_request_t *breq, const char *detail)
{
    mcp_call_t  *call = breq->call;

    mcp_call_log(call, MCP_LOG_WARN, "refused", detail);
    mcp_call_abandon(call, MCP_FAULT_TOO_MANY_STREAMS);

    /* the request was not sent: do not count an initialize request as failed,
     * see mcp_upstream_open_end() */

    breq->aborted = 1;

    mcp_backend_request_end_with(breq, MCP_FAULT_BACKEND_FAILED, detail);
}


/* --- timeouts --- */

/* Ends a request that has waited too long: for answers of the client if the
 * backend has asked a question, otherwise for the backend. */
static void
mcp_backend_request_timeout(mcp_request_t *req)
{
    int  rc;

    if (req->state == MCP_REQUEST_INPUT) {
        req->reason = MCP_REASON_INPUT_TIMEOUT;
        rc = mcp_call_finish_text(req, mcp_str("The client did not answer "
                                               "the request for input in "
                                               "time"));
    } else {
        /* logged once: this function is repeated until the stream has room for
         * the response */

        if (!req->late) {
            req->late = 1;
            mcp_call_log(req->call, MCP_LOG_ERROR, "timed out", NULL);
            mcp_upstream_status_timeout(req);
        }

        rc = mcp_backend_request_late(req);
    }

    if (rc == MCP_AGAIN) {
        req->deadline = mcp_call_now(req->call) + MCP_CALL_RETRY;
    }
}


/* Returns 1 if a message is held and the backend has nothing more to send: the
 * held message is final, or the backend request has ended and the decoder has
 * the rest of the reply. */
static int
mcp_backend_request_is_complete(const mcp_request_t *req)
{
    return req->held
           && (req->ended || (req->msg.kind != MCP_BACKEND_NOTIFICATION
                              && req->msg.kind != MCP_BACKEND_REQUEST));
}


void
mcp_backend_request_deadline(mcp_request_t *req)
{
    unsigned     was_active;
    mcp_call_t  *call;

    call = req->call;
    was_active = req->active;

    /* each deadline is handled once */

    req->deadline = UINT64_MAX;

    if (call->phase == MCP_CALL_OVER || req->state == MCP_REQUEST_OVER) {
        mcp_backend_request_give_up(req);

        if (was_active && !req->active) {
            mcp_call_check_end(call);
        }

        return;
    }

    if (req->state == MCP_REQUEST_PAUSE) {
        if (mcp_input_retry(req) == MCP_AGAIN) {
            mcp_call_hold_fault(req, MCP_FAULT_INTERNAL);
        }

        return;
    }

    if (req->again) {

        /* the client has answered all questions, but the backend request that
         * has asked them has not ended within MCP_CALL_GRACE: aborts it, and
         * calls the backend again */

        mcp_backend_request_abort(req);
        mcp_backend_request_invoke_again(req);
        return;
    }

    if (mcp_backend_request_is_complete(req)) {

        /* the reply waits for room in the stream: postpones the timeout */

        req->deadline = mcp_call_now(call) + MCP_CALL_RETRY;
        return;
    }

    if (mcp_upstream_wait_timeout(req) || mcp_upstream_question_timeout(req)) {
        return;
    }

    mcp_upstream_session_timeout(req);
    mcp_backend_request_stop(req);
    mcp_backend_request_timeout(req);
}
