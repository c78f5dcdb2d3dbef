/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Cancellation (2025-11-25, basic/utilities/cancellation), and the end of a
 * session, which cancels its calls. A durable call is found in the store,
 * which wakes its owner. For a call that is not durable, the cancellation
 * leaves a mark in the store, and each process polls for the marks of its
 * calls.
 *
 * A mark concerns only requests that began before the cancellation: a client
 * may use the id of a request again once it has the response, and a
 * cancellation that crosses the response on the wire must not cancel the next
 * request.
 */

#include "call/mcp_call_internal.h"
#include "call/mcp_call_response.h"
#include "call/mcp_cancel.h"
#include "config/mcp_tenant.h"
#include "json/mcp_json_scan.h"
#include "rpc/mcp_request_id.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_resume_hooks.h"


/* The bits of all requests of a call. */
#define MCP_CANCEL_ALL       UINT64_MAX

/* Time for which a mark is kept in addition to the time until a call becomes
 * durable, so that the owner of the call finds it, ms. */
#define MCP_CANCEL_MARK      10000

/* Interval at which a process polls for marks, ms. */
#define MCP_CANCEL_INTERVAL  200


static void mcp_cancel_poll(void *data);


/* Returns the final state of a stream whose last pending request was
 * cancelled: CANCELLED if no request has a response, otherwise FAILED or
 * COMPLETED, because the client still has to read the responses. */
static mcp_stream_state_e
mcp_cancel_state(mcp_call_t *call)
{
    mcp_stream_info_t  info;

    if (mcp_store_info(call->worker->store, &call->ref, &info) != MCP_OK
        || info.own_answered == 0)
    {
        return MCP_STATE_CANCELLED;
    }

    return info.own_failed ? MCP_STATE_FAILED : MCP_STATE_COMPLETED;
}


void
mcp_cancel_requests(mcp_call_t *call, uint64_t requests)
{
    size_t          i;
    mcp_request_t  *req;

    call->refs++;

    for (i = 0; i < call->n && call->phase != MCP_CALL_OVER; i++) {
        req = &call->requests[i];

        if (!(requests & (uint64_t) 1 << i)
            || req->state == MCP_REQUEST_OVER)
        {
            continue;
        }

        mcp_request_ends(req, MCP_OUTCOME_CANCELLED);

        mcp_backend_request_stop(req);
        mcp_hook_failed(call->states, req);
        mcp_request_set_state(req, MCP_REQUEST_OVER);

        if (--call->pending == 0) {
            if (call->phase == MCP_CALL_DURABLE) {
                mcp_call_set_stream_state(call, mcp_cancel_state(call));
            }

            mcp_call_done(call);

        } else if (call->phase == MCP_CALL_DURABLE) {
            mcp_call_set_stream_state(call, mcp_call_state(call));
        }
    }

    mcp_call_release(call);
}


/* Writes the key of a request, by which its mark is found: a digest of the
 * session and the request's id. */
static int
mcp_cancel_key(const mcp_worker_t *worker,
    const unsigned char session[MCP_DIGEST_LEN], mcp_str_t id,
    unsigned char key[MCP_DIGEST_LEN])
{
    return mcp_id_digest(&worker->env->mem,
                         (mcp_str_t) { (char *) session, MCP_DIGEST_LEN }, id,
                         key);
}


/* Returns the bit of the request with this key among the requests of a call, or
 * 0 if the call has no such request. "stored" is the id of the call's request
 * or, for a batch, the JSON array of the ids, as the store has it. */
static uint64_t
mcp_cancel_find_key(const mcp_worker_t *worker,
    const unsigned char session[MCP_DIGEST_LEN], mcp_str_t stored,
    const unsigned char key[MCP_DIGEST_LEN])
{
    unsigned          k;
    unsigned char     other[MCP_DIGEST_LEN];
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    if (stored.len == 0 || stored.data[0] != '[') {
        return mcp_cancel_key(worker, session, stored, other) == MCP_OK
               && memcmp(other, key, MCP_DIGEST_LEN) == 0;
    }

    mcp_json_iter_init(&iter, stored);

    for (k = 0; k < 64 && mcp_json_iter_next(&iter, NULL, &value); k++) {
        if (mcp_cancel_key(worker, session, value.raw, other) == MCP_OK
            && memcmp(other, key, MCP_DIGEST_LEN) == 0)
        {
            return (uint64_t) 1 << k;
        }
    }

    return 0;
}


/* Returns 1 if the store has a mark for the request that was set after the
 * request began, otherwise 0. Sets key to the key of the mark. */
static int
mcp_cancel_has_mark(const mcp_call_t *call, const mcp_request_t *req,
    unsigned char key[MCP_DIGEST_LEN])
{
    uint32_t  mark;

    return mcp_cancel_key(call->worker, call->client.id, req->id, key) == MCP_OK
           && mcp_store_value_get(call->worker->store, MCP_VALUE_CANCELLED, key,
                                  mcp_call_now(call), &mark)
              == MCP_OK
           && (int32_t) (mark - call->cancels) > 0;
}


int
mcp_cancel_has_ended(const mcp_worker_t *worker,
    const unsigned char session[MCP_DIGEST_LEN])
{
    uint32_t  value;

    return mcp_store_value_get(worker->store, MCP_VALUE_SESSION_ENDED, session,
                               mcp_worker_now(worker), &value)
           == MCP_OK;
}


/* Returns 1 if the call's session has ended, or one of its pending requests
 * has a mark. */
static int
mcp_cancel_is_marked(mcp_call_t *call)
{
    size_t         i;
    unsigned char  key[MCP_DIGEST_LEN];

    if (mcp_cancel_has_ended(call->worker, call->client.id)) {
        return 1;
    }

    for (i = 0; i < call->n; i++) {
        if (call->requests[i].state != MCP_REQUEST_OVER
            && mcp_cancel_has_mark(call, &call->requests[i], key))
        {
            return 1;
        }
    }

    return 0;
}


/* Returns the first 32 bits of a request's key, never 0. The store keeps them
 * for a request that reads the stream of another request; they suffice to
 * distinguish the requests of one session. */
static uint32_t
mcp_cancel_alias(const unsigned char key[MCP_DIGEST_LEN])
{
    uint32_t  alias;

    memcpy(&alias, key, sizeof(uint32_t));

    return alias ? alias : 1;
}


void
mcp_cancel_set_alias(mcp_exchange_t *x, const mcp_stream_ref_t *ref)
{
    uint32_t       alias;
    unsigned char  key[MCP_DIGEST_LEN];

    alias = mcp_cancel_key(x->worker, x->client.id, x->msg->id, key) == MCP_OK
            ? mcp_cancel_alias(key) : 0;

    (void) mcp_store_set_alias(x->worker->store, ref, x->reader.handle, alias);
}


void
mcp_cancel_track(mcp_call_t *call)
{
    mcp_worker_t  *worker;

    if (mcp_client_is_stateless(&call->client)) {
        return;
    }

    worker = call->worker;

    if (worker->tracked) {
        worker->tracked->link = &call->next;

    } else {
        worker->cancel_poll.handler = mcp_cancel_poll;
        worker->cancel_poll.data = worker;
        mcp_timer_set(&worker->timers, &worker->cancel_poll,
                      mcp_call_now(call) + MCP_CANCEL_INTERVAL);
    }

    call->next = worker->tracked;
    call->link = &worker->tracked;
    worker->tracked = call;
}


void
mcp_cancel_untrack(mcp_call_t *call)
{
    if (call->link == NULL) {
        return;
    }

    *call->link = call->next;

    if (call->next) {
        call->next->link = call->link;
    }

    call->link = NULL;

    if (call->worker->tracked == NULL) {
        mcp_timer_del(&call->worker->timers, &call->worker->cancel_poll);
    }
}


/* Makes calls with a mark durable, which cancels the marked requests. Checks
 * all polled calls of the process; if session is not NULL, only the calls of
 * that session. */
static void
mcp_cancel_scan(mcp_worker_t *worker, const unsigned char *session)
{
    mcp_call_t  *call, *next;

    for (call = worker->tracked; call; call = next) {
        next = call->next;

        if (session == NULL
            || memcmp(session, call->client.id, MCP_DIGEST_LEN) == 0)
        {
            if (mcp_cancel_is_marked(call)) {
                mcp_call_durable(call);
            }
        }
    }
}


static void
mcp_cancel_poll(void *data)
{
    mcp_worker_t  *worker;

    worker = data;
    mcp_cancel_scan(worker, NULL);

    if (worker->tracked) {
        mcp_timer_set(&worker->timers, &worker->cancel_poll,
                      worker->env->now(worker->env->ctx) + MCP_CANCEL_INTERVAL);
    }
}


/*
 * Finds the active durable call that contains the request with this key.
 * Returns the bit of the request in the call. Sets *info, and sets *ids to the
 * ids of all requests of the call. Returns 0 if there is no such call.
 *
 * The request with this key may have resumed another request, so that it reads
 * the stream of that request's call. In this case the function returns the bit
 * of the call's first request. For a mirror, only this case is checked: the
 * owner's node finds the call's own requests, but only this node has recorded
 * which request reads the mirror.
 */
static uint64_t
mcp_cancel_find(mcp_worker_t *worker,
    const unsigned char session[MCP_DIGEST_LEN],
    const unsigned char key[MCP_DIGEST_LEN], mcp_stream_info_t *info,
    mcp_buf_t *ids)
{
    uint64_t  request, position;

    request = 0;
    position = 0;

    while (request == 0) {
        ids->len = 0;

        if (mcp_store_session_next(worker->store, session, 0, &position, info,
                                   ids)
            != MCP_OK)
        {
            break;
        }

        if (info->kind != MCP_STREAM_CALL
            || info->state >= MCP_STATE_COMPLETED)
        {
            continue;
        }

        if (!info->mirror) {
            request = mcp_cancel_find_key(worker, session,
                                          (mcp_str_t) { ids->data, ids->len },
                                          key);
        }

        if (info->alias == mcp_cancel_alias(key)) {
            request = 1;
        }
    }

    return request;
}


/* Cancels a request that reads a mirror: sends the cancellation to the other
 * nodes, with the key of the request that has begun the call. "id" is the id of
 * that request. */
static int
mcp_cancel_elsewhere(mcp_worker_t *worker, const mcp_broadcast_t *broadcast,
    mcp_str_t id)
{
    int              rc;
    mcp_broadcast_t  other;

    other = *broadcast;
    rc = mcp_cancel_key(worker, broadcast->session, id, other.key);

    if (rc == MCP_OK) {
        mcp_operation_broadcast(worker, &other);
    }

    return rc;
}


/* Cancels a request of a durable call. Returns MCP_OK, also if the call has
 * ended in the meantime, or
 *   MCP_ERR_NOT_FOUND  no durable call has the request
 *   or another error of the store or the cluster */
static int
mcp_cancel_durable(mcp_worker_t *worker, const mcp_broadcast_t *broadcast)
{
    int                rc;
    uint64_t           request;
    mcp_buf_t          ids;
    mcp_stream_info_t  info;

    mcp_buf_init(&ids, &worker->env->mem, SIZE_MAX / 2);
    request = mcp_cancel_find(worker, broadcast->session, broadcast->key, &info,
        &ids);

    if (request == 0) {
        rc = MCP_ERR_NOT_FOUND;

    } else {
        rc = info.mirror
             ? mcp_cancel_elsewhere(worker, broadcast,
                                    (mcp_str_t) { ids.data, ids.len })
             : mcp_store_cancel(worker->store, &info.ref, request);
        rc = rc == MCP_ERR_NOT_FOUND ? MCP_OK : rc;
    }

    mcp_buf_free(&ids);

    return rc;
}


int
mcp_cancel(mcp_worker_t *worker, const mcp_broadcast_t *broadcast,
    const mcp_tenant_t *tenant)
{
    int  rc;

    rc = mcp_cancel_durable(worker, broadcast);
    if (rc != MCP_ERR_NOT_FOUND) {
        return rc;
    }

    /* sets a mark, which the owner of a call that is not durable finds */

    rc = mcp_store_value_set(worker->store, MCP_VALUE_CANCELLED, broadcast->key,
                             mcp_store_count_cancel(worker->store),
                             broadcast->expires, tenant);
    if (rc != MCP_OK) {
        return rc;
    }

    mcp_cancel_scan(worker, broadcast->session);

    /* the call may have become durable before there was a mark: its owner does
     * not look for marks any more */

    rc = mcp_cancel_durable(worker, broadcast);

    if (rc != MCP_ERR_NOT_FOUND) {
        mcp_store_value_delete(worker->store, MCP_VALUE_CANCELLED,
                               broadcast->key);
    }

    return rc;
}


int
mcp_cancel_request(mcp_exchange_t *x, mcp_str_t id)
{
    int              rc;
    mcp_broadcast_t  broadcast;
    mcp_tenant_t     tenant;
    unsigned char    key[MCP_DIGEST_LEN];

    rc = mcp_cancel_key(x->worker, x->client.id, id, key);

    if (rc != MCP_OK) {
        return rc;
    }

    mcp_broadcast_make(&broadcast, MCP_BROADCAST_CANCELLED, key, x->client.id,
        1,
        mcp_worker_now(x->worker) + mcp_endpoint_stream_after(x->endpoint)
            + MCP_CANCEL_MARK);
    mcp_tenant(x->endpoint, x->head.tenant, &tenant);

    rc = mcp_cancel(x->worker, &broadcast, &tenant);

    if (rc != MCP_ERR_NOT_FOUND) {
        return rc;
    }

    /* the call may run at another node */

    (void) mcp_operation_broadcast(x->worker, &broadcast);

    return MCP_OK;
}


void
mcp_cancel_session(mcp_worker_t *worker,
    const unsigned char session[MCP_DIGEST_LEN])
{
    uint64_t            position, next;
    mcp_store_t        *store;
    mcp_stream_info_t   info;

    store = worker->store;
    position = 0;
    next = 0;

    mcp_store_value_delete(store, MCP_VALUE_LOG_LEVEL, session);

    while (mcp_store_session_next(store, session, 0, &next, &info, NULL)
           == MCP_OK)
    {
        if (info.kind == MCP_STREAM_CALL && !info.mirror
            && info.state < MCP_STATE_COMPLETED)
        {
            mcp_store_cancel(store, &info.ref, MCP_CANCEL_ALL);
            position = next;

        } else {
            /* the freed stream has no position in the iteration any more:
             * continues after the last call, whose position remains valid */

            mcp_store_free(store, &info.ref);
            next = position;
        }
    }

    next = 0;

    while (mcp_store_session_next(store, session, 1, &next, &info, NULL)
           == MCP_OK)
    {
        mcp_store_free(store, &info.ref);
        next = 0;
    }
}


void
mcp_cancel_check(mcp_call_t *call)
{
    size_t         i;
    unsigned char  key[MCP_DIGEST_LEN];

    if (mcp_client_is_stateless(&call->client)) {
        return;
    }

    if (mcp_cancel_has_ended(call->worker, call->client.id)) {
        mcp_cancel_requests(call, MCP_CANCEL_ALL);
        return;
    }

    for (i = 0; i < call->n && call->phase != MCP_CALL_OVER; i++) {
        if (mcp_cancel_has_mark(call, &call->requests[i], key)) {
            mcp_store_value_delete(call->worker->store, MCP_VALUE_CANCELLED,
                                   key);
            mcp_cancel_requests(call, (uint64_t) 1 << i);
        }
    }
}
