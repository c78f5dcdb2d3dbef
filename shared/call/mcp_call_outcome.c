/* SPDX-License-Identifier: Apache-2.0 */

#include "call/mcp_call_outcome.h"
#include "call/mcp_upstream_listen.h"
#include "call/mcp_upstream_question.h"
#include "call/mcp_upstream_resume.h"
#include "call/mcp_upstream_wait.h"
#include "store/mcp_store_duration.h"
#include "worker/mcp_call_stats_find_row.h"


void
mcp_request_set_state(mcp_request_t *req, mcp_request_state_e state)
{
    static const char *const  names[] = {
        [MCP_REQUEST_ACTIVE] = "the backend request runs",
        [MCP_REQUEST_INPUT] = "waits for input from the client",
        [MCP_REQUEST_PAUSE] = "pauses before the next backend request",
        [MCP_REQUEST_DETACHED] = "waits for messages to its publish endpoint",
        [MCP_REQUEST_OVER] = "over"
    };

    if (req->state != state) {
        mcp_call_trace(req->call, "request %u: %s", req->breq.request,
                       names[state]);
    }

    req->state = state;

    if (state == MCP_REQUEST_OVER && req->session) {
        mcp_upstream_wait_leave(req->session);
        mcp_upstream_listen_leave(req->session);
        mcp_upstream_question_clear(req);
        mcp_upstream_resume_leave(req);
        mcp_upstream_session_leave(req->session);

        /* needed if no backend request runs; if one runs, this does nothing,
         * and mcp_backend_request_end() calls the function again */

        mcp_upstream_session_end(req);
    }
}


/* Records in the zone that a backend works on the request, and finds the
 * request's row in the call statistics. */
static void
mcp_request_record_active(mcp_request_t *req)
{
    mcp_active_t  active;
    mcp_call_t   *call;

    call = req->call;

    req->stats = mcp_call_stats_find(call->worker, call->endpoint, req->method,
                                     req->name);

    active.row = req->stats;
    active.request = req->breq.request;
    active.began = call->began;
    memcpy(active.id, call->id, MCP_STREAM_ID_LEN);
    mcp_call_stats_copy(active.principal,
                        call->variables.value[MCP_VARIABLE_PRINCIPAL]);

    req->record = mcp_store_active_begin(call->worker->store, &active);
}


/* Returns the reason of a failure: req->reason, or the general reason of the
 * outcome. */
static mcp_reason_e
mcp_request_reason(const mcp_request_t *req, mcp_outcome_e how)
{
    switch (how) {

    case MCP_OUTCOME_LOST:
        return MCP_REASON_LOST;

    case MCP_OUTCOME_CANCELLED:
        return req->reason == MCP_REASON_LEFT ? MCP_REASON_LEFT
                                              : MCP_REASON_CANCELLED;

    case MCP_OUTCOME_EXPIRED:
        return MCP_REASON_EXPIRED;

    case MCP_OUTCOME_TOOL_ERROR:
        return req->reason ? req->reason : MCP_REASON_TOOL_ERROR;

    case MCP_OUTCOME_RPC_ERROR:
        return req->reason ? req->reason : MCP_REASON_RPC_ERROR;

    default:
        return req->reason ? req->reason : MCP_REASON_INTERNAL;
    }
}


void
mcp_request_why(mcp_request_t *req, const char *why)
{
    req->why = mcp_arena_dup(&req->call->arena,
                             (mcp_str_t) { why, strlen(why) });
}


/* Returns the class of the error with which a request ended. */
static mcp_error_type_e
mcp_request_error(const mcp_request_t *req, mcp_outcome_e how)
{
    switch (how) {

    case MCP_OUTCOME_OK:
        return MCP_ERROR_TYPE_NONE;

    case MCP_OUTCOME_TOOL_ERROR:
        return MCP_ERROR_TYPE_TOOL;

    case MCP_OUTCOME_CANCELLED:
        return MCP_ERROR_TYPE_CANCELLED;

    case MCP_OUTCOME_EXPIRED:
        return MCP_ERROR_TYPE_EXPIRED;

    default:
        return req->error ? req->error : MCP_ERROR_TYPE_OTHER;
    }
}


/* Counts the duration of a request, from the time when its message was
 * received. */
static void
mcp_request_duration(const mcp_request_t *req, mcp_outcome_e how, uint64_t now)
{
    const mcp_call_t    *call;
    mcp_duration_key_t   key;

    call = req->call;

    /* this server itself has made the call: not counted */

    if (call->respond) {
        return;
    }

    /* the histograms of durations do not distinguish resources: count the
     * duration in the common row, although the resource has its own row in the
     * call statistics */

    key.row = req->method->subject == MCP_SUBJECT_URI
              ? mcp_call_stats_other(call->worker, call->endpoint)
              : req->stats;
    key.method = req->method->id;
    key.revision = call->client.revision;
    key.error = mcp_request_error(req, how);

    mcp_store_duration_count(call->worker->store, &key, call->received, now);
}


/* Counts the outcome of a request in the call statistics, with its duration,
 * and records a failure there. */
static void
mcp_request_count(mcp_request_t *req, mcp_outcome_e how)
{
    uint64_t                  now;
    mcp_call_t               *call;
    mcp_call_stats_failure_t  failure;

    call = req->call;
    now = mcp_call_now(call);

    mcp_store_active_end(call->worker->store, req->record);
    req->record = 0;

    mcp_store_call_stats_count(call->worker->store, req->stats, how,
                               now - call->began);
    mcp_request_duration(req, how, now);

    if (how <= MCP_OUTCOME_OK) {
        return;
    }

    failure.at = now;
    failure.row = req->stats;
    failure.result = (uint16_t) how;
    failure.reason = (uint16_t) mcp_request_reason(req, how);
    memcpy(failure.id, call->id, MCP_STREAM_ID_LEN);
    mcp_call_stats_copy(failure.principal,
                        call->variables.value[MCP_VARIABLE_PRINCIPAL]);
    mcp_call_stats_copy(failure.detail, req->why);

    mcp_store_call_stats_failed(call->worker->store, &failure);
}


void
mcp_request_begins( mcp_request_t *req)
{
    char         id[9], session[9];
    mcp_call_t  *call;

    call = req->call;
    mcp_request_record_active(req);

    if (!mcp_worker_logs(call->worker, MCP_LOG_INFO)) {
        return;
    }

    mcp_stream_id_short(id, call->id);

    if (mcp_client_is_stateless(&call->client)) {
        memcpy(session, "(none)", sizeof("(none)"));

    } else {
        mcp_stream_id_short(session, call->client.id);
    }

    mcp_worker_log(call->worker, MCP_LOG_INFO,
                   "call %s of \"%.*s\" began: %.*s, session %s", id,
                   mcp_call_cut(req->name, 128),
                   (int) req->method->name.len, req->method->name.data,
                   session);
}


static void
mcp_request_log_end(const mcp_request_t *req, mcp_outcome_e how)
{
    char         id[9];
    mcp_call_t  *call;

    call = req->call;
    mcp_stream_id_short(id, call->id);

    mcp_worker_log(call->worker, MCP_LOG_INFO,
                 "call %s of \"%.*s\" ended: %s, after %llu ms", id,
                 mcp_call_cut(req->name, 128),
                 mcp_outcome_name(how).data,
                 (unsigned long long) (mcp_call_now(call) - call->began));
}


void
mcp_request_ends(mcp_request_t *req, mcp_outcome_e how)
{
    mcp_call_t  *call;

    call = req->call;
    req->outcome = how;
    mcp_variable_set(&req->breq.variables, MCP_VARIABLE_RESULT,
                     mcp_outcome_name(how));
    mcp_outcome_count(call->worker->store, how);
    mcp_request_count(req, how);

    /* For a batch, mcp_call_respond() sets the outcome. */

    if (call->x && !call->batch) {
        call->x->output.call_outcome = how;
    }

    if (mcp_worker_logs(call->worker, MCP_LOG_INFO)) {
        mcp_request_log_end(req, how);
    }
}


void
mcp_request_ends_all(mcp_call_t *call, mcp_outcome_e how)
{
    size_t  i;

    for (i = 0; i < call->n; i++) {
        if (call->requests[i].state != MCP_REQUEST_OVER) {
            mcp_request_ends(&call->requests[i], how);
        }
    }
}
