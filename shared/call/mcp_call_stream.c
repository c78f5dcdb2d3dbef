/* SPDX-License-Identifier: Apache-2.0 */

/* The stream of a call. A call gets its stream when it becomes durable, and
 * from then on the client reads the events from the stream. */


#include "call/mcp_call_internal.h"
#include "call/mcp_upstream_listen.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_resume_hooks.h"


/* Maximum length of the first event that a resumption method writes for a
 * request, bytes, without the request's id. */
#define MCP_CALL_FIRST_MAX  (512 + MCP_TOKEN_TEXT_MAX)


static void mcp_call_withdraw(mcp_call_t *call);


void
mcp_call_note_stream_state(mcp_call_t *call, mcp_stream_state_e state)
{
    static const char *const  names[] = {
        [MCP_STATE_PROCESSING] = "processing",
        [MCP_STATE_INPUT_REQUIRED] = "input required",
        [MCP_STATE_COMPLETED] = "completed",
        [MCP_STATE_FAILED] = "failed",
        [MCP_STATE_CANCELLED] = "cancelled"
    };

    if (state != call->stream_state) {
        mcp_call_trace(call, "its stream is now %s, was %s", names[state],
                       names[call->stream_state]);
        call->stream_state = state;
        mcp_call_task_changed(call);
    }
}


void
mcp_call_set_stream_state(mcp_call_t *call, mcp_stream_state_e state)
{
    mcp_store_set_state(call->worker->store, &call->ref, state,
                        mcp_call_now(call));
    mcp_call_note_stream_state(call, state);
}


int
mcp_call_next_event(const mcp_call_t *call, uint64_t *number)
{
    int                rc;
    mcp_stream_info_t  info;

    /* only this process appends to the stream, so own_seq cannot change before
     * this process appends the event */

    rc = mcp_store_info(call->worker->store, &call->ref, &info);

    if (rc == MCP_OK) {
        *number = info.own_seq + 1;
    }

    return rc;
}


int
mcp_call_append(mcp_request_t *req, mcp_str_t message,
    mcp_stream_state_e state)
{
    int          rc;
    uint64_t     seq;
    mcp_call_t  *call;

    call = req->call;

    rc = mcp_store_append(call->worker->store, &call->ref, message,
                          (int) req->breq.request | MCP_STORE_ABOUT, state,
                          mcp_call_now(call), &seq);

    if (rc == MCP_OK) {
        mcp_call_note_stream_state(call, state);
    }

    return rc;
}


const char *
mcp_call_append_reason(int rc)
{
    return rc == MCP_ERR_LARGE ? "a message exceeds the size of the zone or "
                                 "mcp_quota_bytes"
                               : "an event could not be appended to the "
                                 "stream of the call";
}


/* Writes the request id of the call, or the JSON array of the ids of a batch,
 * in the form in which the store has them. */
static int
mcp_call_request_ids(mcp_call_t *call, mcp_buf_t *buf)
{
    size_t  i;

    if (!call->batch) {
        mcp_buf_str(buf, call->requests[0].id);
        return buf->failed;
    }

    for (i = 0; i < call->n; i++) {
        mcp_buf_add(buf, i ? "," : "[", 1);

        if (call->requests[i].id.len) {
            mcp_buf_str(buf, call->requests[i].id);

        } else {
            mcp_buf_lit(buf, "null");
        }
    }

    mcp_buf_lit(buf, "]");

    return buf->failed;
}


/* Sets spec->promised: a bit for each promise that the first events of the
 * stream make to the client. Raises the limits of the stream by the maximum
 * size of these events, which are appended before the stream has a reader. */
static void
mcp_call_promise(const mcp_call_t *call, mcp_stream_spec_t *spec)
{
    size_t  i;

    if (mcp_client_is_stateless(&call->client) && call->policy.resumable
        && (call->client.capabilities & (MCP_CLIENT_REQUESTS|MCP_CLIENT_IDS)))
    {
        spec->promised = MCP_PROMISE_IDS;
    }

    if (!(call->client.capabilities
          & (MCP_CLIENT_REQUESTS|MCP_CLIENT_STREAMS)))
    {
        return;
    }

    /* the first event contains the time for which the call waits for the
     * client */

    spec->promised |= MCP_PROMISE_TIME;

    if (spec->max_events) {
        spec->max_events += 2 * (uint32_t) call->n;
    }

    if (spec->max_bytes) {
        spec->max_bytes += 2 * call->n * MCP_CALL_FIRST_MAX;

        for (i = 0; i < call->n; i++) {
            spec->max_bytes += 2 * call->requests[i].id.len;
        }
    }
}


/* Sets the spec of the call's stream, except its request ids, and creates the
 * handle by which the store wakes the call. */
static int
mcp_call_specify(mcp_call_t *call, int promised, mcp_stream_spec_t *spec)
{
    int                     rc;
    mcp_request_t          *req;
    const mcp_endpoint_t   *endpoint;

    memset(spec, 0, sizeof(mcp_stream_spec_t));

    endpoint = call->endpoint;
    req = &call->requests[0];

    memcpy(spec->id, call->id, MCP_STREAM_ID_LEN);
    memcpy(spec->session, call->client.id, MCP_DIGEST_LEN);
    memcpy(spec->principal, call->client.principal, MCP_DIGEST_LEN);

    spec->kind = MCP_STREAM_CALL;
    spec->revision = call->client.revision;
    spec->method = call->batch ? mcp_str("batch") : req->method->name;
    spec->name = req->name;
    spec->max_wait = call->policy.max_wait;
    spec->linger = endpoint->linger;
    spec->left = call->x == NULL;
    spec->max_events = (uint32_t) call->policy.max_events;
    spec->max_bytes = call->policy.stream_buffer;
    spec->session_limit = mcp_endpoint_session_limit(endpoint, &call->client);
    mcp_tenant(endpoint, call->tenant, &spec->tenant);

    if (promised) {
        mcp_call_promise(call, spec);
    }

    if (call->join) {
        spec->held = 1;
        spec->join = call->join->digest;
        spec->join_once = call->join->once;
        spec->consumer = call->x->reader.handle;
        memcpy(spec->params, call->join->params, MCP_DIGEST_LEN);

    } else {
        rc = mcp_digest(spec->params, &req->params, 1);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    call->handle = mcp_worker_handle(call->worker, call, mcp_inbox_wake, NULL);
    spec->handle = call->handle;

    return call->handle ? MCP_OK : MCP_ERR_MEMORY;
}


/* Creates the stream of the call. promised is 1 if the first events, which
 * resumption methods write, may promise the client that it can resume. Returns
 * the values of mcp_store_create(). */
static int
mcp_call_create_stream(mcp_call_t *call, int promised)
{
    int                rc;
    mcp_buf_t          ids;
    mcp_stream_spec_t  spec;

    rc = mcp_call_specify(call, promised, &spec);
    if (rc != MCP_OK) {
        return rc;
    }

    mcp_buf_init(&ids, &call->worker->env->mem, SIZE_MAX / 2);

    rc = mcp_call_request_ids(call, &ids);

    if (rc == MCP_OK) {
        spec.request = (mcp_str_t) { ids.data, ids.len };
        rc = mcp_store_create(call->worker->store, &spec, mcp_call_now(call),
                              &call->ref);
    }

    mcp_buf_free(&ids);

    return rc;
}


/* Creates the stream of a call that becomes durable, unless the stream exists
 * because other requests may join the call. Responses that exist become the
 * first events. A client that waits becomes the consumer, unless it gets an
 * interim response. Returns MCP_OK, or an error for mcp_call_refuse(). */
static int
mcp_call_make_stream(mcp_call_t *call)
{
    int             rc;
    size_t          i;
    uint64_t        seq;
    mcp_request_t  *req;

    if (call->join == NULL) {
        rc = mcp_call_create_stream(call, 1);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    if (call->join == NULL && (call->may_be_task || call->policy.max_wait)) {
        mcp_operation_replicate(call->worker, &call->ref,
                                mcp_endpoint_session_limit(call->endpoint,
                                                           &call->client));
    }

    rc = mcp_hook_begin(call->worker, call);

    for (i = 0; rc == MCP_OK && i < call->n; i++) {
        req = &call->requests[i];

        if (req->response.len) {
            rc = mcp_store_append(call->worker->store, &call->ref,
                                  req->response,
                                  mcp_call_responses(req, req->outcome),
                                  MCP_STATE_PROCESSING, mcp_call_now(call),
                                  &seq);
        }
    }

    if (rc == MCP_OK && call->x && !call->interim) {
        call->x->reader.bound = !call->policy.resumable;
        call->x->reader.rounds = call->rounds;
        rc = mcp_consumer_start(call->x, &call->ref, 0);
    }

    if (rc != MCP_OK) {
        mcp_store_free(call->worker->store, &call->ref);
    }

    return rc;
}


void
mcp_call_keep(mcp_call_t *call, mcp_str_t response, mcp_outcome_e how)
{
    int            rc, taken;
    uint64_t       seq;
    mcp_cursor_t   cursor;
    mcp_store_t   *store;

    if (!call->policy.resumable || call->join) {
        return;
    }

    seq = 0;
    store = call->worker->store;
    rc = mcp_call_create_stream(call, 0);

    if (rc == MCP_OK) {
        mcp_operation_replicate(call->worker, &call->ref, 0);
        rc = mcp_store_set_generation(store, &call->ref, 0, MCP_CALL_KEPT);

        if (rc == MCP_OK) {
            rc = mcp_store_append(store, &call->ref, response,
                                  mcp_call_responses(&call->requests[0], how),
                                  MCP_STATE_COMPLETED, mcp_call_now(call),
                                  &seq);
        }

        /* attaches a consumer and detaches it again, so that the response
         * counts as sent */

        if (rc == MCP_OK) {
            rc = mcp_store_watch(store, &call->ref, call->handle, 0, &cursor,
                                 &taken);
        }

        if (rc == MCP_OK) {
            mcp_store_unwatch(store, &call->ref, call->handle, seq,
                              mcp_call_now(call));

        } else {
            mcp_store_free(store, &call->ref);
        }
    }

    if (rc != MCP_OK) {
        mcp_call_log(call, MCP_LOG_DEBUG, "answered",
                     "the response could not be stored, so later requests "
                     "cannot get it");
    }
}


void
mcp_call_refuse(mcp_call_t *call, int rc)
{
    int  begun;

    begun = call->n_breqs > 0;

    switch (rc) {

    case MCP_ERR_LIMIT:
        mcp_call_log(call, MCP_LOG_WARN, "gets no stream",
                     "its session or its caller has too many streams, or the "
                     "streams are too large: raise mcp_max_session_streams, "
                     "mcp_quota_streams or mcp_quota_bytes");
        mcp_call_abandon(call, begun ? MCP_FAULT_CALL_LIMIT
                                     : MCP_FAULT_TOO_MANY_STREAMS);
        break;

    case MCP_ERR_FULL:
        mcp_call_log(call, MCP_LOG_WARN, "gets no stream",
                     "the zone is full: enlarge the zone");
        mcp_call_abandon(call, begun ? MCP_FAULT_CALL_FULL
                                     : MCP_FAULT_STORE_FULL);
        break;

    default:
        mcp_call_log(call, MCP_LOG_WARN, "gets no stream", "no memory");
        mcp_call_abandon(call, MCP_FAULT_INTERNAL);
    }
}


/* Makes the exchange that waits for the call a reader of the stream. */
static void
mcp_call_stream_to_client(mcp_call_t *call)
{
    mcp_exchange_t  *x;

    x = call->x;
    call->x = NULL;

    if (call->policy.close_after && mcp_consumer_may_be_closed(x)) {
        mcp_consumer_close_at(x, mcp_call_now(call)
                                 + call->policy.close_after);
    }

    mcp_consumer_close_at(x, call->interim_at);
    mcp_consumer_begin(x);
}


int
mcp_call_durable(mcp_call_t *call)
{
    int  rc;

    if (call->phase != MCP_CALL_TRANSIENT) {
        return call->phase == MCP_CALL_DURABLE ? MCP_OK : MCP_ERR_DENIED;
    }

    rc = mcp_call_make_stream(call);

    if (rc != MCP_OK) {
        mcp_call_refuse(call, rc);
        return MCP_ERR_DENIED;
    }

    mcp_call_set_phase(call, MCP_CALL_DURABLE);
    mcp_cancel_untrack(call);

    if (call->x && !call->interim) {
        mcp_call_stream_to_client(call);

    } else {
        call->unattended = mcp_call_now(call);
    }

    call->refs++;
    mcp_cancel_check(call);

    rc = MCP_ERR_DENIED;

    if (call->phase != MCP_CALL_OVER) {
        mcp_call_set_timer(call);
        rc = MCP_OK;
    }

    mcp_call_release(call);

    return rc;
}


void
mcp_call_leave(mcp_call_t *call)
{
    call->x = NULL;

    if (call->phase == MCP_CALL_OVER || call->outlives_client) {
        return;
    }

    if (call->join && !mcp_call_is_started(call)) {
        mcp_call_withdraw(call);
        return;
    }

    if (call->respond || mcp_call_is_bound(call)
        || (mcp_client_is_stateless(&call->client) && call->task
            && call->join == NULL))
    {
        /* the client received neither a task id nor an event id, so it cannot
         * resume or poll the call */

        if (call->phase == MCP_CALL_DURABLE) {
            mcp_store_free(call->worker->store, &call->ref);
        }

        mcp_call_cancelled(call);
        return;
    }

    mcp_call_durable(call);
}


void
mcp_call_abandon_stream(mcp_call_t *call, mcp_fault_e fault)
{
    int              rc;
    size_t           i, left;
    uint64_t         seq;
    mcp_buf_t        buf;
    mcp_request_t   *req;

    left = call->pending;
    mcp_buf_init(&buf, &call->worker->env->mem, SIZE_MAX / 2);

    for (i = 0; i < call->n && left; i++) {
        req = &call->requests[i];

        if (req->state == MCP_REQUEST_OVER) {
            continue;
        }

        if (req->session) {
            mcp_upstream_listen_ends(req);
        }

        left--;
        buf.len = 0;
        mcp_fault_write(&buf, call->client.revision, req->id, fault,
                        mcp_null_str, mcp_null_str);

        rc = buf.failed;

        if (rc == MCP_OK) {
            rc = mcp_store_append(call->worker->store, &call->ref,
                                  (mcp_str_t) { buf.data, buf.len },
                                  mcp_call_responses(req, MCP_OUTCOME_FAULT),
                                  left ? MCP_STATE_PROCESSING
                                       : MCP_STATE_FAILED,
                                  mcp_call_now(call), &seq);
        }

        if (rc == MCP_OK) {
            mcp_call_note_stream_state(call, left ? MCP_STATE_PROCESSING
                                                  : MCP_STATE_FAILED);
        }

        if (rc != MCP_OK) {
            mcp_store_free(call->worker->store, &call->ref);
            break;
        }

        mcp_store_count(call->worker->store, MCP_COUNT_ERRORS, 1);
    }

    mcp_buf_free(&buf);
}


/* --- a call that other requests may join --- */

/*
 * A call that other requests may join (exchange/mcp_join_calls.c) has its
 * stream before a backend is called, so that requests in any process find the
 * call. If two processes create equal calls at the same time, only one of them
 * succeeds in creating the stream.
 *
 * The client that has begun the call waits for plain JSON. During this time its
 * connection is the stream's consumer without reading the stream, so that the
 * store does not consider the client lost.
 */

uint64_t
mcp_call_join_wait(const mcp_call_t *call, uint64_t max_wait)
{
    if (call->join->once) {
        return call->endpoint->join_wait;
    }

    return max_wait ? max_wait : call->endpoint->max_wait;
}


/* Moves the arena with the text of the message back from the call to its
 * exchange, and separates the exchange from the call. */
static void
mcp_call_give_back(mcp_call_t *call)
{
    mcp_exchange_t  *x;

    x = call->x;

    if (call->handle) {
        mcp_worker_drop_handle(call->worker, call->handle);
    }

    mcp_consumer_forget(x);

    x->call = NULL;
    x->call_waits = NULL;
    x->call_id = NULL;
    x->arena = call->arena;
}


/* Creates the stream with the client's connection as its consumer from the
 * start, because other processes that find a stream without a consumer would
 * consider the client lost. */
int
mcp_call_reserve(mcp_call_t *call)
{
    int  rc;

    call->join = call->x->join;
    mcp_call_take_policy(call);

    rc = mcp_consumer_announce(call->x);

    if (rc == MCP_OK) {
        rc = mcp_call_create_stream(call, 1);
    }

    if (rc == MCP_OK) {
        rc = mcp_consumer_attach(call->x, &call->ref, 0);

        if (rc != MCP_OK) {
            mcp_store_free(call->worker->store, &call->ref);
        }
    }

    if (rc == MCP_OK) {
        mcp_operation_replicate(call->worker, &call->ref,
                                mcp_endpoint_session_limit(call->endpoint,
                                                           &call->client));
    }

    if (rc != MCP_OK) {
        mcp_call_give_back(call);
    }

    return rc;
}


void
mcp_call_undo(mcp_call_t *call)
{
    mcp_store_free(call->worker->store, &call->ref);
    mcp_call_give_back(call);
}


/* Ends a call that other requests may join, because its client has
 * disconnected before a backend was called. A request that waits to join the
 * call then begins an equal call. */
static void
mcp_call_withdraw(mcp_call_t *call)
{
    mcp_store_free(call->worker->store, &call->ref);

    if (call->began) {
        mcp_call_cancelled(call);
        return;
    }

    mcp_worker_drop_handle(call->worker, call->handle);
    mcp_call_discard(call);
}


void
mcp_call_join_respond(mcp_call_t *call, mcp_exchange_t *x)
{
    mcp_stream_info_t  info;

    info.own_seq = 0;
    (void) mcp_store_info(call->worker->store, &call->ref, &info);

    mcp_operation_respond_with(x, &call->ref, info.own_seq);
}


void
mcp_call_join_append(mcp_request_t *req, mcp_outcome_e how)
{
    int          rc;
    mcp_call_t  *call;

    call = req->call;
    rc = mcp_call_response_stored(req, req->response, how);

    if (rc != MCP_OK) {
        mcp_call_log(call, MCP_LOG_WARN, "cannot be joined by equal requests",
                     "the zone has no room for the response, or the caller "
                     "exceeds mcp_quota_bytes, so an equal request calls the "
                     "backend again: enlarge the zone, or raise "
                     "mcp_quota_bytes");
        mcp_store_free(call->worker->store, &call->ref);
    }

    if (call->x) {
        call->x->reader.whole = 1;
    }
}
