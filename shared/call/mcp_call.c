/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Creation, start and end of a call. A call is created from a client's message.
 * It is over when each of its requests has its response or needs none, and is
 * freed when none of its backend requests runs any more. For the time between
 * start and end see mcp_call_stream.c, mcp_call_response.c and
 * mcp_call_timer.c.
 */

#include <stdarg.h>
#include <stdio.h>

#include "call/mcp_call_internal.h"
#include "call/mcp_call_response.h"
#include "call/mcp_upstream_question.h"
#include "call/mcp_upstream_question_stateless_client.h"
#include "call/mcp_upstream_session.h"
#include "call/mcp_upstream_wait.h"
#include "rpc/mcp_fault.h"
#include "worker/mcp_respond.h"
#include "worker/mcp_resume_hooks.h"


/* Both are in one block of the arena, which also needs room for short texts:
 * one block more would cost each waiting call 4 KiB. */
_Static_assert(sizeof(mcp_call_t) + sizeof(mcp_request_t) + 128
               <= MCP_ARENA_CALL_BLOCK,
               "a call needs a larger MCP_ARENA_CALL_BLOCK");


static void mcp_call_forgotten(mcp_queued_action_t *queued,
    mcp_action_t *action);


mcp_arena_t *
mcp_call_arena(mcp_exchange_t *x)
{
    return x->call ? &x->call->arena : &x->arena;
}


uint64_t
mcp_call_now(const mcp_call_t *call)
{
    return call->worker->env->now(call->worker->env->ctx);
}


void
mcp_request_log(const mcp_request_t *req, mcp_log_level_e level,
    const char *what, const char *between, const char *why)
{
    char  id[9];

    if (!mcp_worker_logs(req->call->worker, level)) {
        return;
    }

    mcp_stream_id_short(id, req->call->id);

    mcp_worker_log(req->call->worker, level, "call %s of \"%.*s\" %s%s%s", id,
                   mcp_call_cut(req->name, 128), what, between, why);
}


void
mcp_call_log(mcp_call_t *call, mcp_log_level_e level, const char *what,
    const char *why)
{
    mcp_request_log(&call->requests[0], level, what, why ? ": " : "",
                    why ? why : "");
}


void
mcp_call_trace_line(const mcp_call_t *call, const char *fmt, ...)
{
    char     id[9], line[160];
    va_list  args;

    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);

    mcp_stream_id_short(id, call->id);
    mcp_worker_log(call->worker, MCP_LOG_DEBUG, "call %s: %s", id, line);
}


void
mcp_call_set_phase(mcp_call_t *call, mcp_call_phase_e phase)
{
    static const char *const  names[] = {
        [MCP_CALL_TRANSIENT] = "transient",
        [MCP_CALL_DURABLE] = "durable",
        [MCP_CALL_OVER] = "over"
    };

    mcp_call_trace(call, "its phase is now %s, was %s", names[phase],
                   names[call->phase]);
    call->phase = phase;
}


/* Returns 1 if the call waits for its client or for published messages, so that
 * its process adds nothing to the stream. */
static int
mcp_call_waits(const mcp_call_t *call)
{
    size_t                i;
    const mcp_request_t  *req;

    if (call->phase == MCP_CALL_OVER || call->n_breqs) {
        return 0;
    }

    for (i = 0; i < call->n; i++) {
        req = &call->requests[i];

        if (req->held || req->state == MCP_REQUEST_ACTIVE
            || req->state == MCP_REQUEST_PAUSE)
        {
            return 0;
        }
    }

    return 1;
}


static void
mcp_call_init_request(mcp_call_t *call, size_t i)
{
    mcp_request_t  *req;

    req = &call->requests[i];

    req->call = call;
    req->breq.call = call;
    req->breq.request = (unsigned) i;
    req->breq.queued.action.breq = &req->breq;
    req->breq.queued.taken = mcp_backend_request_taken;
    mcp_arena_init(&req->round, &call->worker->env->mem);
    mcp_buf_init(&req->urls, &call->worker->env->mem, SIZE_MAX / 2);
}


mcp_call_t *
mcp_call_create(mcp_exchange_t *x, size_t n)
{
    size_t       i;
    mcp_call_t  *call;

    call = mcp_arena_calloc(&x->arena, sizeof(mcp_call_t));
    if (call == NULL) {
        return NULL;
    }

    call->requests = mcp_arena_calloc(&x->arena, n * sizeof(mcp_request_t));
    if (call->requests == NULL) {
        return NULL;
    }

    call->worker = x->worker;
    call->endpoint = x->endpoint;

    if (mcp_worker_random(x->worker, call->id, MCP_STREAM_ID_LEN) != MCP_OK) {
        return NULL;
    }

    mcp_stream_id_short(call->id_text, call->id);

    call->client = x->client;
    memcpy(call->tenant, x->head.tenant, MCP_DIGEST_LEN);
    call->n = n;
    call->refs = 2;
    call->kept_last = &call->kept;
    call->timer.handler = mcp_call_timer;
    call->timer.data = call;
    call->forget.action.type = MCP_ACT_FORGET;
    call->forget.taken = mcp_call_forgotten;

    for (i = 0; i < n; i++) {
        mcp_call_init_request(call, i);
    }

    /* moves the arena, with the text of the message, to the call */

    call->arena = x->arena;
    mcp_arena_init(&x->arena, &x->worker->env->mem);

    call->x = x;
    call->decisions = x->decisions;
    call->states = x->states;
    x->call = call;
    x->call_waits = mcp_call_waits;
    x->call_id = call->id;

    mcp_call_trace(call, "created from the message of exchange %u", x->number);

    return call;
}


static void
mcp_call_destroy(mcp_call_t *call)
{
    size_t          i;
    mcp_arena_t     arena;
    mcp_request_t  *req;

    for (i = 0; i < call->n; i++) {
        req = &call->requests[i];

        if (req->backend) {
            mcp_backend_free(req->backend);
        }

        if (req->session) {
            mcp_upstream_session_leave(req->session);
        }

        if (req->server_questions) {
            mcp_upstream_question_clear(req);
        }

        mcp_buf_free(&req->body);
        mcp_buf_free(&req->urls);
        mcp_arena_destroy(&req->round);
    }

    mcp_inbox_drop(call);

    /* the structure of the call is in call->arena: frees the arena by a copy
     * of its head */

    arena = call->arena;
    mcp_arena_destroy(&arena);
}


/* Called when the glue has pulled MCP_ACT_FORGET, the last action of a call.
 * Frees the call. */
static void
mcp_call_forgotten(mcp_queued_action_t *queued, mcp_action_t *action)
{
    (void) action;

    /* the entry of the queue is the first member of its call */

    mcp_call_destroy((mcp_call_t *) (void *) queued);
}


void
mcp_call_retain(mcp_call_t *call)
{
    call->refs++;
}


void
mcp_call_release(mcp_call_t *call)
{
    if (--call->refs) {
        return;
    }

    if (call->glue) {
        call->forget.action.glue = call->glue;
        mcp_worker_queue(call->worker, &call->forget);
        return;
    }

    mcp_call_destroy(call);
}


void
mcp_call_discard(mcp_call_t *call)
{
    /* the call was not started: nothing to stop, no client to notify */

    mcp_call_set_phase(call, MCP_CALL_OVER);
    mcp_call_release(call);
}


void
mcp_call_set_glue(mcp_call_t *call, void *glue)
{
    call->glue = glue;
}


void *
mcp_call_glue(const mcp_call_t *call)
{
    return call->glue;
}


void
mcp_call_invoke(mcp_request_t *req)
{
    int  rc;

    rc = mcp_backend_request_start(req);

    if (rc == MCP_ERR_SYNTAX) {
        if (mcp_call_finish_fault(req, MCP_FAULT_PARAMS, req->why)
            == MCP_AGAIN)
        {
            mcp_call_hold_fault(req, MCP_FAULT_PARAMS);
        }

    } else if (rc != MCP_OK) {
        mcp_call_fail(req, MCP_FAULT_INTERNAL);
    }
}


/*
 * Called for a client without a session that has not declared that it resumes.
 * The end of such a client's connection cancels its call (2026-07-28,
 * basic/transports/streamable-http, "Cancellation"). Therefore limits
 * policy.max_wait, the time for which the call continues without a consumer: to
 * mcp_reconnect_wait if the client can resume by an event id, otherwise to 0.
 */
static void
mcp_call_limit_wait(mcp_call_t *call)
{
    uint64_t  wait;

    wait = call->client.capabilities & MCP_CLIENT_IDS
           ? call->endpoint->reconnect_wait : 0;

    if (call->policy.max_wait > wait) {
        call->policy.max_wait = wait;
        mcp_policy_apply(&call->policy, NULL);
    }
}


/* A batch has one stream: if one of its requests must not be resumed, the
 * stream cannot be resumed. */
void
mcp_call_take_policy(mcp_call_t *call)
{
    size_t          i;
    uint64_t        wait;
    mcp_policy_t    policy;
    mcp_request_t  *req;

    mcp_endpoint_policy(call->endpoint,
                        call->batch ? mcp_str("batch")
                                    : call->requests[0].method->name,
                        call->requests[0].name, &call->policy);

    wait = call->join ? mcp_call_join_wait(call, call->policy.max_wait) : 0;

    if (mcp_client_is_stateless(&call->client)
        && !(call->client.capabilities
             & (MCP_CLIENT_REQUESTS|MCP_CLIENT_TOKENS)))
    {
        mcp_call_limit_wait(call);
    }

    for (i = 0; call->batch && i < call->n; i++) {
        req = &call->requests[i];

        if (req->state == MCP_REQUEST_OVER) {
            continue;
        }

        mcp_endpoint_policy(call->endpoint, req->method->name, req->name,
                            &policy);

        if (!policy.resumable) {
            call->policy.max_wait = 0;
            mcp_policy_apply(&call->policy, NULL);
        }
    }

    if (call->policy.max_wait < wait) {
        call->policy.max_wait = wait;
    }

    call->rounds = (mcp_upstream_round_possible(call) != 0);

    if (call->rounds) {
        call->bound_wait = call->policy.max_wait;

        if (call->policy.max_wait < call->endpoint->state_lifetime) {
            call->policy.max_wait = call->endpoint->state_lifetime;
        }
    }
}


/* Returns the time from the start of a call until it becomes durable even if
 * its backend has sent nothing, ms. The time is mcp_stream_after, or
 * mcp_policy_after if that is shorter and the stream begins with data for its
 * resumption: a resume policy, stream/create or the URL of the stream. */
static uint64_t
mcp_call_stream_after(const mcp_call_t *call)
{
    uint64_t               after;
    const mcp_endpoint_t  *endpoint;

    after = call->policy.stream_after;
    endpoint = call->endpoint;

    if (call->policy.resumable && endpoint->policy_after < after
        && ((endpoint->link && !mcp_client_is_stateless(&call->client))
            || (call->client.capabilities
                & (MCP_CLIENT_REQUESTS|MCP_CLIENT_STREAMS))))
    {
        after = endpoint->policy_after;
    }

    return after;
}


void
mcp_call_start(mcp_call_t *call)
{
    size_t    i;
    uint64_t  now;

    now = mcp_call_now(call);
    call->began = now;
    call->received = call->x->received;
    call->cancels = call->x->cancels;

    if (call->join == NULL) {
        mcp_call_take_policy(call);
    }

    call->stream_at = call->respond ? UINT64_MAX
                                     : now + mcp_call_stream_after(call);
    mcp_hook_start(call->states, call);
    call->worker->calls++;

    if (call->respond == NULL) {
        mcp_cancel_track(call);
    }

    mcp_store_count(call->worker->store, MCP_COUNT_CALLS_ACTIVE, 1);
    mcp_backend_request_call_variables(call);

    for (i = 0; i < call->n; i++) {
        if (call->requests[i].state != MCP_REQUEST_OVER) {
            call->pending++;
        }
    }

    mcp_store_count(call->worker->store, MCP_COUNT_CALLS,
                    (int64_t) call->pending);

    if (call->pending == 0) {
        mcp_call_done(call);
        return;
    }

    if (call->interim_first && mcp_call_promote_first(call) != MCP_OK) {
        return;
    }

    for (i = 0; i < call->n; i++) {
        if (call->requests[i].state != MCP_REQUEST_OVER) {
            mcp_request_begins(&call->requests[i]);
            mcp_call_invoke(&call->requests[i]);
        }
    }

    mcp_call_set_timer(call);
}


void
mcp_call_check_end(mcp_call_t *call)
{
    if (call->phase != MCP_CALL_OVER || call->n_breqs) {
        return;
    }

    mcp_timer_del(&call->worker->timers, &call->timer);

    if (call->handle) {
        mcp_worker_drop_handle(call->worker, call->handle);
        call->handle = 0;
    }

    call->worker->calls--;
    mcp_store_count(call->worker->store, MCP_COUNT_CALLS_ACTIVE, -1);

    mcp_call_release(call);
}


/* Ends a call whose responses were all sent or are no longer needed. Does not
 * free the call, because a backend request may still run. The caller has to
 * call mcp_call_check_end(). */
static void
mcp_call_over(mcp_call_t *call)
{
    size_t          i;
    uint64_t        now, limit;
    mcp_request_t  *req;

    mcp_call_set_phase(call, MCP_CALL_OVER);
    mcp_cancel_untrack(call);

    /* the task has ended before its client got the task's id: sends the id
     * now */

    if (call->x && call->task) {
        mcp_call_send_interim(call);
    }

    now = mcp_call_now(call);

    for (i = 0; i < call->n; i++) {
        req = &call->requests[i];
        mcp_request_set_state(req, MCP_REQUEST_OVER);

        limit = now + mcp_upstream_open_grace(req);

        if (req->deadline > limit) {
            req->deadline = limit;
        }
    }

    mcp_call_set_timer(call);
}


void
mcp_call_stop(mcp_call_t *call)
{
    mcp_hook_failed(call->states, &call->requests[0]);
    mcp_backend_request_stop_all(call);
    mcp_call_over(call);
    mcp_call_check_end(call);
}


int
mcp_call_is_bound(const mcp_call_t *call)
{
    return mcp_client_is_stateless(&call->client) && call->join == NULL
           && (!call->policy.resumable
               || !(call->client.capabilities
                    & (MCP_CLIENT_REQUESTS|MCP_CLIENT_TOKENS)));
}


void
mcp_call_cancelled(mcp_call_t *call)
{
    size_t  i;

    mcp_call_log(call, MCP_LOG_INFO, "cancelled: the client disconnected",
                 call->phase == MCP_CALL_DURABLE && call->policy.resumable
                 ? "no client resumed the call within mcp_reconnect_wait"
                 : NULL);

    for (i = 0; i < call->n; i++) {
        if (mcp_client_is_stateless(&call->client)) {
            call->requests[i].reason = MCP_REASON_LEFT;
        }
    }

    mcp_request_ends_all(call, MCP_OUTCOME_CANCELLED);
    mcp_call_stop(call);
}


/* Sends the responses of all requests to the waiting client as plain JSON. */
static void
mcp_call_respond(mcp_call_t *call)
{
    size_t           i;
    mcp_exchange_t  *x;

    x = call->x;
    call->x = NULL;

    if (call->respond) {
        call->respond(x);
        return;
    }

    if (call->batch) {
        x->output.outcome = "ok";
        x->output.out.len = 0;

        for (i = 0; i < call->n; i++) {
            if (call->requests[i].backend
                && call->requests[i].outcome > x->output.call_outcome)
            {
                x->output.call_outcome = call->requests[i].outcome;
            }

            if (call->requests[i].response.len == 0) {
                continue;
            }

            if (x->output.out.len) {
                mcp_buf_lit(&x->output.out, ",");

            } else {
                mcp_buf_lit(&x->output.out, "[");
            }

            mcp_buf_str(&x->output.out, call->requests[i].response);
        }

        mcp_buf_lit(&x->output.out, "]");
    }

    if (mcp_respond_json(x) != MCP_NEXT_RESPOND) {
        mcp_respond_status(x, 500);

    } else if (call->status) {
        x->output.response.status = call->status;
    }

    if (call->join) {
        mcp_call_join_respond(call, x);
        return;
    }

    x->queued.action.type = MCP_ACT_RESPOND;
    mcp_worker_queue(x->worker, &x->queued);
}


void
mcp_call_done(mcp_call_t *call)
{
    if (call->phase == MCP_CALL_OVER) {
        return;
    }

    /* a transient call has a response for each request at this point, because a
     * cancellation makes the call durable first */

    if (call->phase == MCP_CALL_TRANSIENT && call->x) {
        mcp_call_respond(call);
    }

    mcp_call_over(call);
    mcp_call_check_end(call);
}


void
mcp_call_abandon(mcp_call_t *call, mcp_fault_e fault)
{
    size_t           i;
    mcp_str_t        id;
    mcp_exchange_t  *x;

    if (call->phase == MCP_CALL_OVER) {
        return;
    }

    for (i = 0; i < call->n; i++) {
        call->requests[i].reason = mcp_reason_of_fault(fault);
        call->requests[i].error = mcp_error_type_of_code(
            mcp_fault_code(fault, call->client.revision)->code);
    }

    mcp_request_ends_all(call, MCP_OUTCOME_FAULT);

    x = call->x;
    call->x = NULL;

    if (call->phase == MCP_CALL_DURABLE || call->join) {
        mcp_call_abandon_stream(call, fault);
    }

    if (x == NULL || call->respond) {
        mcp_respond_count_refused(call->worker->store, fault);
    }

    if (x && call->respond) {
        call->respond(x);

    } else if (x) {
        x->reader.whole = 1;

        id = call->batch ? mcp_null_str : call->requests[0].id;

        if (mcp_respond_fault(x, fault, id, mcp_null_str) != MCP_NEXT_RESPOND) {
            mcp_respond_status(x, 500);
        }

        x->output.call_outcome = MCP_OUTCOME_FAULT;
        x->queued.action.type = MCP_ACT_RESPOND;
        mcp_worker_queue(x->worker, &x->queued);
    }

    mcp_call_stop(call);
}
