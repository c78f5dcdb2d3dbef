/* SPDX-License-Identifier: Apache-2.0 */

/* The timer of a call: finds the next deadline of the call, sets the timer, and
 * handles the deadlines that have passed. */

#include "call/mcp_call_internal.h"
#include "call/mcp_call_response.h"
#include "call/mcp_upstream_listen.h"
#include "call/mcp_upstream_question_stateless_client.h"
#include "call/mcp_upstream_respond.h"
#include "call/mcp_upstream_resume.h"
#include "call/mcp_upstream_wait.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_respond.h"
#include "worker/mcp_resume_hooks.h"


/* Returns when a call without a consumer ends, ms. Returns UINT64_MAX for a
 * call with "rounds" set while a question of its MCP server is open, because
 * then the deadline of the question applies instead. */
static uint64_t
mcp_call_unattended_until(const mcp_call_t *call)
{
    uint64_t  until;

    if (!call->rounds) {
        return call->unattended + call->policy.max_wait;
    }

    if (call->requests[0].server_questions) {
        return UINT64_MAX;
    }

    until = call->unattended + call->bound_wait;

    /* questions were asked again: the last connection may have ended because
     * its request got a question that another request has just answered, so the
     * client may send this answer, too, and then wait for the result */

    if (call->asked_again && call->bound_wait < MCP_UPSTREAM_ROUND_WAIT) {
        until = call->unattended + MCP_UPSTREAM_ROUND_WAIT;
    }

    /* The last connection may be the one that sent the question to the client.
     * It may end later than the answer arrives, which another connection
     * sends. */

    if ((call->unattended <= call->answered
         || call->read_after < call->answered_question)
        && until < call->answered_until)
    {
        until = call->answered_until;
    }

    return until;
}


/* Lowers *when to "at" if that is earlier. */
static void
mcp_call_earlier(uint64_t *when, uint64_t at)
{
    if (at < *when) {
        *when = at;
    }
}


/* Returns the next deadline of a call that is not over, ms, or UINT64_MAX if
 * there is none. The deadlines of the call's requests are not included. */
static uint64_t
mcp_call_phase_due(const mcp_call_t *call)
{
    uint64_t  when;

    when = UINT64_MAX;

    if (call->task) {
        when = mcp_call_expires(call);
        mcp_call_earlier(&when, mcp_call_notify_at(call));

    } else if (call->phase == MCP_CALL_TRANSIENT) {
        when = call->stream_at;

    } else if (call->unattended) {
        when = mcp_call_unattended_until(call);
    }

    if (call->x && call->interim_at) {
        mcp_call_earlier(&when, call->interim_at);
    }

    return when;
}


/* A call has one timer for all its deadlines: of its requests, POSTs and GET
 * streams, for becoming durable, for the interim response, for the expiry
 * without a consumer or as a task, for notifying the listeners of a task, and
 * for the next attempt to append a held message. */
void
mcp_call_set_timer(mcp_call_t *call)
{
    size_t          i;
    uint64_t        now, when;
    mcp_request_t  *req;

    now = mcp_call_now(call);
    when = UINT64_MAX;

    if (call->phase != MCP_CALL_OVER) {
        when = mcp_call_phase_due(call);
    }

    if (call->posts || call->listens) {
        mcp_call_earlier(&when, mcp_upstream_post_due(call));
        mcp_call_earlier(&when, mcp_upstream_listen_due(call));
    }

    for (i = 0; i < call->n; i++) {
        req = &call->requests[i];

        if (req->state == MCP_REQUEST_OVER && !req->active) {
            continue;
        }

        mcp_call_earlier(&when, req->deadline);

        if (req->session) {
            mcp_call_earlier(&when, mcp_upstream_wait_due(req));
            mcp_call_earlier(&when, mcp_upstream_resume_due(req));
        }

        if (req->held) {
            mcp_call_earlier(&when, now + MCP_CALL_RETRY);
        }
    }

    /* sets the timer at least 1 ms later than now, because otherwise
     * mcp_timers_run() would call the handler again at once */

    if (when <= now) {
        when = now + 1;
    }

    if (when == UINT64_MAX) {
        mcp_timer_del(&call->worker->timers, &call->timer);

    } else if (!mcp_timer_armed(&call->timer) || call->timer.when != when) {
        mcp_timer_set(&call->worker->timers, &call->timer, when);
    }
}


/* Ends a call whose client has not resumed the stream within max_wait. */
static void
mcp_call_expire(mcp_call_t *call)
{
    /* MCP_AGAIN: the call continues, because a consumer has attached, whose
     * wake-up is pending, or because the client has polled the state of the
     * call (mcp_store_touch()), which wakes no process */

    if (mcp_store_expire(call->worker->store, &call->ref, &call->unattended)
        == MCP_AGAIN)
    {
        return;
    }

    if (mcp_call_is_bound(call)) {
        mcp_call_cancelled(call);
        return;
    }

    mcp_call_log(call, MCP_LOG_NOTICE,
                 "cancelled: no client resumed the call within mcp_max_wait",
                 NULL);
    mcp_request_ends_all(call, MCP_OUTCOME_EXPIRED);
    mcp_call_stop(call);
}


int
mcp_call_is_started(const mcp_call_t *call)
{
    size_t                i;
    const mcp_request_t  *req;

    if (call->began == 0) {
        return 0;
    }

    for (i = 0; i < call->n; i++) {
        req = &call->requests[i];

        if ((req->active && !req->breq.started)
            || (mcp_upstream_waits(req) && !req->breq.prepared))
        {
            return 0;
        }
    }

    return 1;
}


/* Makes the call durable. Its client does not become a consumer, but gets the
 * interim response that a resumption method writes. */
void
mcp_call_send_interim(mcp_call_t *call)
{
    mcp_exchange_t  *x;

    call->interim = 1;
    (void) mcp_call_durable(call);

    /* mcp_call_durable() may have ended the call: call->x is NULL if the client
     * has got a response */

    x = call->x;
    call->x = NULL;

    if (x == NULL) {
        return;
    }

    mcp_consumer_detach(x);
    x->output.out.len = 0;
    x->output.outcome = "interim";

    if (call->phase == MCP_CALL_OVER && !call->task) {
        (void) mcp_respond_fault(x, MCP_FAULT_RESUME_TOKEN,
                                 call->requests[0].id, mcp_null_str);

    } else {
        call->interim_by->call->interim(x);

        if (mcp_respond_json(x) != MCP_NEXT_RESPOND) {
            mcp_respond_status(x, 500);
        }
    }

    mcp_operation_respond(x, &call->ref);
}


void
mcp_call_interim_at(mcp_call_t *call, const mcp_resume_method_t *resumption,
    uint64_t when)
{
    if (when && (call->interim_at == 0 || when < call->interim_at)) {
        call->interim_at = when;
        call->interim_by = resumption;
    }
}


void
mcp_call_detached(mcp_call_t *call)
{
    if (call->x && call->may_be_task) {
        mcp_call_send_interim(call);

    } else {
        (void) mcp_call_durable(call);
    }
}


/* Called when call->stream_at or call->interim_at has passed without a
 * response: the client gets an interim response if one is due, otherwise an
 * event stream. Waits until the backend requests of the call have started. */
static void
mcp_call_due(mcp_call_t *call, uint64_t now)
{
    if (!mcp_call_is_started(call)) {
        call->stream_at = now + 1;
        return;
    }

    if (call->x && call->interim_at && now >= call->interim_at) {
        mcp_call_send_interim(call);
        return;
    }

    mcp_call_durable(call);
}


/* Handles the deadlines of a call that is not over, except the requests' own
 * deadlines. */
static void
mcp_call_phase_timer(mcp_call_t *call, uint64_t now)
{
    if ((call->phase == MCP_CALL_TRANSIENT && now >= call->stream_at)
        || (call->x && call->interim_at && now >= call->interim_at))
    {
        mcp_call_due(call, now);
    }

    if (call->phase != MCP_CALL_DURABLE) {
        return;
    }

    if (call->task) {
        if (now >= mcp_call_expires(call)) {
            mcp_call_expire_task(call);

        } else if (now >= mcp_call_notify_at(call)) {
            mcp_call_task_changed(call);
        }

    } else if (call->unattended && now >= mcp_call_unattended_until(call)) {
        mcp_call_expire(call);
    }
}


void
mcp_call_timer(void *data)
{
    size_t       i;
    uint64_t     now;
    mcp_call_t  *call;

    call = data;
    now = mcp_call_now(call);

    call->refs++;

    if (call->phase != MCP_CALL_OVER) {
        mcp_call_phase_timer(call, now);
    }

    if (call->phase == MCP_CALL_DURABLE) {
        mcp_inbox_continue(call);
    }

    if (call->posts) {
        mcp_upstream_post_timer(call, now);
    }

    if (call->listens) {
        mcp_upstream_listen_timer(call, now);
    }

    for (i = 0; i < call->n; i++) {
        if (call->requests[i].session) {
            mcp_upstream_wait_timer(&call->requests[i], now);
            mcp_upstream_resume_timer(&call->requests[i], now);
        }

        if (now >= call->requests[i].deadline) {
            mcp_backend_request_deadline(&call->requests[i]);
        }
    }

    if (call->phase != MCP_CALL_OVER || call->n_breqs) {
        mcp_call_set_timer(call);
    }

    mcp_call_release(call);
}
