/* SPDX-License-Identifier: Apache-2.0 */

/* The responses to the requests of a call. In a durable call, a response is the
 * last event of its request in the stream. In any other call, a response is
 * kept in memory until the waiting client gets all responses together. */


#include "base/mcp_uri.h"
#include "call/mcp_call_internal.h"
#include "call/mcp_call_response.h"
#include "call/mcp_upstream_listen.h"
#include "call/mcp_upstream_question.h"
#include "call/mcp_upstream_resume.h"
#include "call/mcp_upstream_wait.h"
#include "rpc/mcp_fault.h"
#include "rpc/mcp_result.h"
#include "store/mcp_store_call_stats.h"
#include "worker/mcp_call_stats.h"
#include "worker/mcp_resume_hooks.h"


/* --- responses --- */

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

    /* a published message is the response, and the next backend request is
     * queued, but has not started: it must not reach the backend */

    if (req->active && !req->breq.started) {
        mcp_backend_request_stop(req);
    }

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

        /* only revisions without sessions define this code */

        if (code == MCP_CODE_CAPABILITY
            && mcp_client_is_stateless(&req->call->client))
        {
            req->call->status = mcp_fault(MCP_FAULT_CAPABILITY)
                                    ->stateless.status;
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


/* --- outcomes --- */

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


/* --- hidden items --- */

/* Removes hidden items from a backend's lists of tools, prompts, resources and
 * resource templates: items that the rules of mcp_allow hide from the
 * caller. */


/* The member of a result that contains the items of a list, and the member of
 * an item that contains its name, for each kind of list. */
typedef struct {
    mcp_str_t  items;
    mcp_str_t  name;
} mcp_call_list_member_t;

static const mcp_call_list_member_t  mcp_call_list_members[MCP_LIST_COUNT] = {
    { { "tools", 5 }, { "name", 4 } },
    { { "prompts", 7 }, { "name", 4 } },
    { { "resources", 9 }, { "uri", 3 } },
    { { "resourceTemplates", 17 }, { "uriTemplate", 11 } }
};


int
mcp_call_list_has_items(mcp_list_e kind, mcp_str_t result)
{
    return mcp_json_get_from(result, mcp_call_list_members[kind].items).type
           == MCP_JSON_ARRAY;
}


/* Returns 1 if the caller may see the item. The rules were evaluated when the
 * call began, see mcp_permission.h. */
static int
mcp_call_list_shows(const mcp_call_t *call, mcp_list_e kind, mcp_str_t name)
{
    size_t  i, n;

    n = call->endpoint->n_allow;
    i = mcp_allow_find(call->endpoint->allow, n, kind, name);

    return i < n && call->decisions
           && call->decisions[i] == MCP_DECISION_YES;
}


/* Sets *name to the unescaped text of a raw string; for a URI or a template, to
 * its normal form, with which rules are compared. Returns MCP_OK or
 * MCP_ERR_MEMORY. */
static int
mcp_call_list_name(mcp_call_t *call, mcp_list_e kind, mcp_str_t raw,
    mcp_str_t *name)
{
    int         rc;
    char       *text;
    mcp_str_t   uri;

    rc = mcp_json_unescape(&call->arena, raw, name);

    if (rc != MCP_OK
        || (kind != MCP_LIST_RESOURCES && kind != MCP_LIST_TEMPLATES))
    {
        return rc;
    }

    uri = *name;

    text = mcp_arena_alloc(&call->arena, mcp_uri_max(uri.len));
    if (text == NULL) {
        return MCP_ERR_MEMORY;
    }

    name->len = mcp_uri_write(text, uri, kind == MCP_LIST_TEMPLATES);
    name->data = text;

    return MCP_OK;
}


/* Returns 1 if the caller may see the item, 0 if not or if the item has no
 * name, or MCP_ERR_MEMORY. */
static int
mcp_call_list_shows_item(mcp_call_t *call, mcp_list_e kind,
    const mcp_json_value_t *item)
{
    int                rc;
    mcp_str_t          name;
    mcp_arena_mark_t   mark;
    mcp_json_value_t   value;

    if (item->type != MCP_JSON_OBJECT) {
        return 0;
    }

    value = mcp_json_get(item, mcp_call_list_members[kind].name);

    if (value.type != MCP_JSON_STRING) {
        return 0;
    }

    mark = mcp_arena_mark(&call->arena);
    rc = mcp_call_list_name(call, kind, value.raw, &name);

    if (rc == MCP_OK) {
        rc = mcp_call_list_shows(call, kind, name);
    }

    mcp_arena_release(&call->arena, mark);

    return rc;
}


static int
mcp_call_list_items(mcp_call_t *call, mcp_list_e kind, mcp_str_t items,
    mcp_buf_t *out)
{
    int               shows;
    const char       *before;
    mcp_json_iter_t   iter;
    mcp_json_value_t  item;

    before = "";
    mcp_buf_lit(out, "[");
    mcp_json_iter_init(&iter, items);

    while (mcp_json_iter_next(&iter, NULL, &item)) {
        shows = mcp_call_list_shows_item(call, kind, &item);

        if (shows < 0) {
            return shows;
        }

        if (shows) {
            mcp_buf_add(out, before, strlen(before));
            mcp_buf_str(out, item.raw);
            before = ",";
        }
    }

    mcp_buf_lit(out, "]");

    return MCP_OK;
}


int
mcp_call_list_filter(mcp_request_t *req, mcp_str_t result, mcp_buf_t *out)
{
    int               rc;
    mcp_str_t         key;
    mcp_call_t       *call;
    mcp_list_e        kind;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    call = req->call;

    if (req->method->list_kind == MCP_METHOD_NO_LIST
        || call->endpoint->n_allow == 0)
    {
        return MCP_DONE;
    }

    kind = (mcp_list_e) req->method->list_kind;
    mcp_buf_lit(out, "{");
    mcp_json_iter_init(&iter, result);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        mcp_json_add_key(out, key);

        if (!mcp_json_str_eq(key, mcp_call_list_members[kind].items)
            || value.type != MCP_JSON_ARRAY)
        {
            mcp_buf_str(out, value.raw);
            continue;
        }

        rc = mcp_call_list_items(call, kind, value.raw, out);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    mcp_buf_lit(out, "}");

    return out->failed == MCP_OK ? MCP_OK : MCP_ERR_MEMORY;
}
