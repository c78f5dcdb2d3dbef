/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Jobs: a backend at work on one request of a call.  How one starts, what is
 * made of what it says, and how it ends.  What finds no room in the stream is
 * held, and keeps all that the backend says after it waiting.
 */

#include <stdio.h>

#include "call/mcp_call_parts.h"
#include "call/mcp_publish_url.h"
#include "call/mcp_request.h"
#include "rpc/mcp_id.h"
#include "rpc/mcp_topic.h"
#include "worker/mcp_hook.h"
#include "worker/mcp_notify.h"


static void mcp_job_invoke_again(mcp_request_t *req);


/* The log of the client's request has the same trace. */
static void
mcp_job_tell_trace(const mcp_facts_t *from, mcp_facts_t *to)
{
    mcp_fact_set(to, MCP_FACT_TRACEPARENT, from->value[MCP_FACT_TRACEPARENT]);
    mcp_fact_set(to, MCP_FACT_TRACESTATE, from->value[MCP_FACT_TRACESTATE]);
    mcp_fact_set(to, MCP_FACT_BAGGAGE, from->value[MCP_FACT_BAGGAGE]);
}


/* The call's facts, and those of this request.  A URL that was made for an
 * invocation before stays. */
static void
mcp_job_set_facts(mcp_request_t *req)
{
    mcp_str_t     url;
    mcp_call_t   *call;
    mcp_facts_t  *facts;

    call = req->call;
    facts = &req->job.facts;
    url = facts->value[MCP_FACT_PUBLISH_URL];

    if (url.len == 0 && call->endpoint->publish_url.len) {
        url = mcp_publish_url(call, req->job.request);
    }

    *facts = call->facts;
    mcp_fact_set(facts, MCP_FACT_PUBLISH_URL, url);
    mcp_fact_put(facts, MCP_FACT_METHOD, req->method->name);
    mcp_fact_set(facts, MCP_FACT_NAME, req->name);
    mcp_fact_set(facts, MCP_FACT_REQUEST_ID, req->id);
    mcp_fact_set(facts, MCP_FACT_PROGRESS_TOKEN, req->progress_token);

    mcp_trace_set(facts, &req->trace);

    if (call->x && !call->batch) {
        mcp_job_tell_trace(facts, &call->x->facts);
    }
}


int
mcp_job_start(mcp_request_t *req)
{
    mcp_job_t   *job;
    mcp_call_t  *call;

    call = req->call;

    if (req->backend) {
        mcp_backend_free(req->backend);
    }

    req->backend = mcp_backend_create(&call->worker->env->mem,
                                      req->method->want, req->name,
                                      call->endpoint->max_message,
                                      call->endpoint->max_depth);
    if (req->backend == NULL) {
        return MCP_ERR_MEMORY;
    }

    job = &req->job;
    job->started = 0;
    job->aborted = 0;
    job->glue = NULL;
    job->target = req->target;

    if (req->body.len) {
        job->body = (mcp_str_t) { req->body.data, req->body.len };
        job->rebuilt = 1;

    } else {
        job->body = req->raw;
        job->rebuilt = 0;
    }

    mcp_job_set_facts(req);

    mcp_request_set_state(req, MCP_REQUEST_RUN);
    req->deadline = mcp_call_now(call) + call->endpoint->call_timeout;
    req->ended = 0;
    req->again = 0;
    req->starved = 0;
    req->late = 0;
    req->live = 1;
    call->jobs++;

    job->errand.action.type = MCP_ACT_INVOKE;
    mcp_worker_queue(call->worker, &job->errand);

    return MCP_OK;
}


/* From now on the call goes on when its client leaves. */
static void
mcp_job_join(mcp_call_t *call)
{
    if (call->join && !call->joinable) {
        call->joinable = 1;
        mcp_store_join_release(call->worker->store, &call->ref);
    }
}


void
mcp_job_taken(mcp_errand_t *errand, mcp_action_t *action)
{
    mcp_call_t  *call;

    (void) errand;

    if (action->type == MCP_ACT_INVOKE) {
        call = action->job->call;
        action->job->started = 1;
        action->exchange = call->x;
        mcp_job_join(call);
        mcp_call_trace(call, "request %u: its backend is called",
                       action->job->request);
    }
}


/* One that is not started yet is gone at once. */
static void
mcp_job_abort(mcp_request_t *req)
{
    mcp_job_t   *job;
    mcp_call_t  *call;

    call = req->call;
    job = &req->job;

    if (!req->live || job->aborted) {
        return;
    }

    if (!job->started) {
        mcp_worker_unqueue(call->worker, &job->errand);
        req->live = 0;
        call->jobs--;
        return;
    }

    job->aborted = 1;
    mcp_call_trace(call, "request %u: its backend is aborted", job->request);

    mcp_worker_unqueue(call->worker, &job->errand);
    job->errand.action.type = MCP_ACT_ABORT;
    mcp_worker_queue(call->worker, &job->errand);
}


void
mcp_job_stop(mcp_request_t *req)
{
    req->again = 0;
    req->held = 0;

    mcp_job_abort(req);
}


void
mcp_job_stop_all(mcp_call_t *call)
{
    size_t  i;

    for (i = 0; i < call->n; i++) {
        mcp_job_stop(&call->requests[i]);
    }
}


/* It is in the log already. */
static void
mcp_job_mark_logged(mcp_backend_msg_t *msg)
{
    msg->detail = NULL;
    msg->doubt = NULL;
    msg->status = 0;
}


void
mcp_job_hold(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    req->msg = *msg;
    mcp_job_mark_logged(&req->msg);
    req->held = 1;
}


/* The message that was held, if there is one: MCP_OK or MCP_AGAIN. */
static int
mcp_job_retry(mcp_request_t *req)
{
    if (!req->held) {
        return MCP_OK;
    }

    req->held = 0;

    if (mcp_job_message(req, &req->msg) == MCP_AGAIN) {
        mcp_job_mark_logged(&req->msg);
        req->held = 1;
        return MCP_AGAIN;
    }

    return MCP_OK;
}


void
mcp_job_process(mcp_request_t *req)
{
    int                rc;
    mcp_backend_msg_t  msg;

    if (mcp_job_retry(req) == MCP_AGAIN || req->backend == NULL) {
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

        if (mcp_job_message(req, &msg) == MCP_AGAIN) {
            mcp_job_hold(req, &msg);
            return;
        }
    }

    if (rc < 0 && req->call->phase != MCP_CALL_OVER
        && req->state != MCP_REQUEST_OVER)
    {
        mcp_call_abandon(req->call, MCP_FAULT_INTERNAL);
    }

    mcp_job_invoke_again(req);
}


void
mcp_job_continue(mcp_request_t *req)
{
    if (req->held) {
        mcp_job_process(req);
    }

    if (!req->held && req->starved && req->live && !req->job.aborted) {
        req->starved = 0;
        req->job.errand.action.type = MCP_ACT_RESUME;
        mcp_worker_queue(req->call->worker, &req->job.errand);
    }
}


/* Invokes once more if that was put off, and nothing stands in its way: what
 * is held lies in the decoder, which the next invocation replaces. */
static void
mcp_job_invoke_again(mcp_request_t *req)
{
    if (!req->again || req->live || req->held) {
        return;
    }

    req->again = 0;

    /* what was published meanwhile may have answered, or have asked anew */

    if (req->call->phase == MCP_CALL_OVER || req->state != MCP_REQUEST_RUN) {
        return;
    }

    if (mcp_input_again(req) == MCP_AGAIN) {
        mcp_call_hold_fault(req, MCP_FAULT_INTERNAL);
    }
}


static mcp_request_t *
mcp_job_request(mcp_job_t *job)
{
    return &job->call->requests[job->request];
}


void
mcp_job_retry_after(mcp_job_t *job, mcp_str_t value)
{
    mcp_backend_retry_after(mcp_job_request(job)->backend, value);
}


void
mcp_job_head(mcp_job_t *job, int status, mcp_str_t content_type)
{
    mcp_call_trace(job->call, "request %u: its backend answers with %d",
                   job->request, status);

    mcp_backend_head(mcp_job_request(job)->backend, status, content_type);
}


size_t
mcp_job_data(mcp_job_t *job, const char *data, size_t len)
{
    mcp_request_t  *req;

    req = mcp_job_request(job);

    if (req->call->phase == MCP_CALL_OVER || job->aborted) {
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

    mcp_job_process(req);

    if (req->held) {
        mcp_call_set_timer(req->call);
    }

    return len;
}


void
mcp_job_end(mcp_job_t *job, mcp_fault_e fault, const char *detail)
{
    mcp_call_t     *call;
    mcp_request_t  *req;

    req = mcp_job_request(job);
    call = req->call;

    mcp_call_trace(call, "request %u: its backend has ended%s%s", job->request,
                   detail ? ": " : "", detail ? detail : "");

    mcp_worker_unqueue(call->worker, &job->errand);

    req->live = 0;
    call->refs++;

    if (req->again) {
        mcp_job_invoke_again(req);

    } else if (call->phase != MCP_CALL_OVER && !job->aborted
               && req->state == MCP_REQUEST_RUN)
    {
        req->ended = 1;
        req->end_fault = fault;
        req->end_detail = detail;

        if (!req->held) {
            mcp_job_process(req);
        }

        /* no more of the job wakes the call up for what is held now */

        if (req->held) {
            mcp_call_set_timer(call);
        }
    }

    call->jobs--;

    mcp_call_check_end(call);
    mcp_call_release(call);
}


/* --- its caller's share --- */

const unsigned char *
mcp_job_party(const mcp_job_t *job)
{
    static const unsigned char  nobody[MCP_DIGEST_LEN];

    const mcp_call_t  *call = job->call;

    if (call->endpoint->max_party_streams != MCP_QUOTA_SHARE
        || memcmp(call->party, nobody, MCP_DIGEST_LEN) == 0)
    {
        return NULL;
    }

    return call->party;
}


int
mcp_job_is_first(const mcp_job_t *job)
{
    return job->call->phase == MCP_CALL_TRANSIENT
           && mcp_call_glue(job->call) == NULL;
}


void
mcp_job_refuse(mcp_job_t *job, const char *detail)
{
    mcp_call_t  *call = job->call;

    mcp_call_log(call, MCP_LOG_WARN, "refused", detail);
    mcp_store_count(call->worker->store, MCP_COUNT_REFUSED_LIMIT, 1);
    mcp_call_abandon(call, MCP_FAULT_TOO_MANY_STREAMS);

    mcp_job_end(job, MCP_FAULT_BACKEND_FAILED, detail);
}


/* --- its time --- */

static void
mcp_job_timeout(mcp_request_t *req)
{
    int  rc;

    if (req->state == MCP_REQUEST_INPUT) {
        req->reason = MCP_REASON_INPUT_TIMEOUT;
        rc = mcp_call_finish_text(req, mcp_str("The client did not answer "
                                               "the request for input in "
                                               "time"));
    } else {
        /* once: it comes again until there is room for its answer */

        if (!req->late) {
            req->late = 1;
            mcp_call_log(req->call, MCP_LOG_ERROR, "timed out", NULL);
        }

        rc = mcp_call_finish_fault_why(req, MCP_FAULT_BACKEND_TIMEOUT,
                                       mcp_str("no answer in the time that "
                                               "mcp_call_timeout gives"));
    }

    if (rc == MCP_AGAIN) {
        req->deadline = mcp_call_now(req->call) + MCP_CALL_RETRY;
    }
}


void
mcp_job_deadline(mcp_request_t *req)
{
    unsigned     was_live;
    mcp_call_t  *call;

    call = req->call;
    was_live = req->live;

    /* it passes once */

    req->deadline = UINT64_MAX;

    if (call->phase == MCP_CALL_OVER || req->state == MCP_REQUEST_OVER) {
        mcp_job_stop(req);

        if (was_live && !req->live) {
            mcp_call_check_end(call);
        }

        return;
    }

    if (req->state == MCP_REQUEST_PAUSE) {
        if (mcp_input_again(req) == MCP_AGAIN) {
            mcp_call_hold_fault(req, MCP_FAULT_INTERNAL);
        }

        return;
    }

    if (req->again) {

        /* it asked, was answered, and does not end */

        mcp_job_abort(req);
        mcp_job_invoke_again(req);
        return;
    }

    if (req->held && req->msg.kind != MCP_BACKEND_NOTIFICATION) {

        /* its last word is here, only room is not */

        req->deadline = mcp_call_now(call) + MCP_CALL_RETRY;
        return;
    }

    mcp_job_stop(req);
    mcp_job_timeout(req);
}
