/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What other processes have for a call: answers of the client, published
 * messages, in the inbox of its stream; cancellations, which it notes.  They
 * wake the process that owns the call.
 */

#include "call/mcp_request.h"
#include "http/mcp_id.h"
#include "worker/mcp_hook.h"


/* Of a call's requests, which have a bit each. */
#define MCP_INBOX_ALL          UINT64_MAX

/* How long a cancellation waits for its call to become known, beyond the time
 * that this takes. */
#define MCP_INBOX_CANCEL_MARK  10000

/* How often calls that are not durable are looked at: so much may all marks
 * there are, whoever makes them, cost. */
#define MCP_INBOX_LOOK         200


static void mcp_inbox_cancel(mcp_call_t *call, uint64_t requests);
static void mcp_inbox_look(void *data);


static int
mcp_inbox_is_held(const mcp_call_t *call)
{
    size_t  i;

    for (i = 0; i < call->n; i++) {
        if (call->requests[i].held) {
            return 1;
        }
    }

    return 0;
}


/* For when nothing is held any more.  Without memory the call cannot be
 * served as its publishers were promised. */
static void
mcp_inbox_keep(mcp_call_t *call, mcp_post_e type, uint64_t tag, mcp_str_t text)
{
    mcp_kept_t       *kept;
    const mcp_mem_t  *mem;

    mem = &call->worker->env->mem;

    kept = mem->alloc(mem->ctx, sizeof(mcp_kept_t) + text.len);
    if (kept == NULL) {
        mcp_call_abandon(call, MCP_FAULT_INTERNAL);
        return;
    }

    kept->next = NULL;
    kept->type = type;
    kept->tag = tag;
    kept->len = text.len;

    if (text.len) {
        memcpy(kept + 1, text.data, text.len);
    }

    *call->kept_last = kept;
    call->kept_last = &kept->next;
    call->kept_bytes += sizeof(mcp_kept_t) + text.len;
}


/* Takes the oldest out: the caller frees it. */
static mcp_kept_t *
mcp_inbox_unkeep(mcp_call_t *call)
{
    mcp_kept_t  *kept;

    kept = call->kept;

    if (kept) {
        call->kept = kept->next;
        call->kept_bytes -= sizeof(mcp_kept_t) + kept->len;

        if (call->kept == NULL) {
            call->kept_last = &call->kept;
        }
    }

    return kept;
}


void
mcp_inbox_drop(mcp_call_t *call)
{
    mcp_kept_t       *kept;
    const mcp_mem_t  *mem;

    mem = &call->worker->env->mem;

    while ((kept = mcp_inbox_unkeep(call)) != NULL) {
        mem->free(mem->ctx, kept);
    }
}


static void
mcp_inbox_publish(mcp_call_t *call, uint64_t tag, mcp_str_t text)
{
    mcp_request_t      *req;
    mcp_backend_msg_t   msg;

    if (tag >= call->n) {
        return;
    }

    req = &call->requests[tag];

    if (req->state == MCP_REQUEST_OVER
        || mcp_backend_message(req->backend, text, &msg) != MCP_OK)
    {
        return;
    }

    /* while the client is asked, only the next invocation has an answer */

    if (req->state == MCP_REQUEST_INPUT
        && msg.kind != MCP_BACKEND_NOTIFICATION)
    {
        return;
    }

    if (mcp_job_message(req, &msg) == MCP_AGAIN) {
        mcp_job_hold(req, &msg);
    }
}


static void
mcp_inbox_posted(mcp_call_t *call, mcp_post_e type, uint64_t tag,
    mcp_str_t text)
{
    switch (type) {

    case MCP_POST_INPUT:
        mcp_input_answer(call, text);
        break;

    case MCP_POST_PUBLISH:
        mcp_inbox_publish(call, tag, text);
        break;
    }
}


/* A message that found no room keeps those behind it waiting. */
static void
mcp_inbox_read(mcp_call_t *call)
{
    int               rc, held;
    uint64_t          tag;
    mcp_buf_t         data;
    mcp_str_t         text;
    mcp_kept_t       *kept;
    mcp_post_e        type;
    const mcp_mem_t  *mem;

    mem = &call->worker->env->mem;
    mcp_buf_init(&data, mem, SIZE_MAX / 2);

    while (!call->over) {

        held = mcp_inbox_is_held(call);

        if (!held && (kept = mcp_inbox_unkeep(call)) != NULL) {
            text = (mcp_str_t) { (char *) (kept + 1), kept->len };
            mcp_inbox_posted(call, kept->type, kept->tag, text);
            mem->free(mem->ctx, kept);
            continue;
        }

        /* as much again as the inbox itself may hold */

        if (held && call->policy.stream_buffer
            && call->kept_bytes >= call->policy.stream_buffer)
        {
            break;
        }

        data.len = 0;

        rc = mcp_store_take(call->worker->store, &call->ref, &type, &tag,
                            &data);

        if (rc == MCP_ERR_MEMORY) {
            mcp_call_abandon(call, MCP_FAULT_INTERNAL);
            break;
        }

        if (rc != MCP_OK) {
            break;
        }

        text = (mcp_str_t) { data.data, data.len };

        if (held) {
            mcp_inbox_keep(call, type, tag, text);
            continue;
        }

        mcp_inbox_posted(call, type, tag, text);
    }

    mcp_buf_free(&data);
}


void
mcp_inbox_go_on(mcp_call_t *call)
{
    size_t          i;
    mcp_request_t  *req;

    for (i = 0; i < call->n && !call->over; i++) {
        req = &call->requests[i];

        if (req->held) {
            mcp_job_process(req);
        }

        if (!req->held && req->starved && req->live && !req->job.aborted) {
            req->starved = 0;
            req->job.task.action.type = MCP_ACT_RESUME;
            mcp_worker_queue(call->worker, &req->job.task);
        }
    }

    mcp_inbox_read(call);
}


void
mcp_call_wake(void *data)
{
    mcp_call_t         *call;
    mcp_stream_info_t   info;

    call = data;

    if (call->over) {
        return;
    }

    call->refs++;

    if (mcp_store_info(call->worker->store, &call->ref, &info) != MCP_OK) {

        /* freed under us: nobody can ever read it */

        mcp_request_ends_all(call, MCP_ENDING_CANCELLED);
        mcp_call_stop(call);
        mcp_call_release(call);
        return;
    }

    call->unattended = (info.consumer_slot == MCP_STORE_NO_SLOT)
                       ? info.unattended : 0;

    /* who cancels does not read: it waits for nothing that is held */

    if (info.cancelled) {
        mcp_inbox_cancel(call, mcp_store_take_cancelled(call->worker->store,
                                                        &call->ref));
    }

    mcp_inbox_go_on(call);

    if (!call->over) {
        mcp_call_set_timer(call);
    }

    mcp_call_release(call);
}


/* --- cancellation (basic/utilities/cancellation) --- */

/* When the last request was cancelled: the responses of others are to be
 * fetched. */
static mcp_stream_state_e
mcp_inbox_cancelled_state(mcp_call_t *call)
{
    mcp_stream_info_t  info;

    if (mcp_store_info(call->worker->store, &call->ref, &info) != MCP_OK
        || info.answered == 0)
    {
        return MCP_STATE_CANCELLED;
    }

    return info.failed ? MCP_STATE_FAILED : MCP_STATE_COMPLETED;
}


/* No response is sent for what was cancelled. */
static void
mcp_inbox_cancel(mcp_call_t *call, uint64_t requests)
{
    size_t          i;
    mcp_request_t  *req;

    call->refs++;

    for (i = 0; i < call->n && !call->over; i++) {
        req = &call->requests[i];

        if (!(requests & (uint64_t) 1 << i)
            || req->state == MCP_REQUEST_OVER)
        {
            continue;
        }

        mcp_request_ends(req, MCP_ENDING_CANCELLED);

        mcp_job_stop(req);
        mcp_hook_undo(call->worker, req);
        req->state = MCP_REQUEST_OVER;

        if (--call->pending == 0) {
            if (call->durable) {
                mcp_store_set_state(call->worker->store, &call->ref,
                                    mcp_inbox_cancelled_state(call));
            }

            mcp_call_done(call);

        } else if (call->durable) {
            mcp_store_set_state(call->worker->store, &call->ref,
                                mcp_call_state(call));
        }
    }

    mcp_call_release(call);
}


/* The bit of the request with this id among the stored id or array of ids, 0 if
 * it is none of them. */
static uint64_t
mcp_inbox_find_id(const mcp_mem_t *mem, mcp_str_t stored, mcp_str_t id)
{
    unsigned          k;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    if (stored.len == 0 || stored.data[0] != '[') {
        return (uint64_t) mcp_id_same(mem, stored, id);
    }

    mcp_json_iter_init(&iter, stored);

    for (k = 0; k < 64 && mcp_json_iter_next(&iter, NULL, &value); k++) {
        if (mcp_id_same(mem, value.raw, id)) {
            return (uint64_t) 1 << k;
        }
    }

    return 0;
}


/* The key of the mark that a request of this session is cancelled. */
static int
mcp_inbox_cancel_key(const mcp_worker_t *worker,
    const unsigned char session[MCP_DIGEST_LEN], mcp_str_t id,
    unsigned char key[MCP_DIGEST_LEN])
{
    return mcp_id_digest(&worker->env->mem,
                         (mcp_str_t) { (char *) session, MCP_DIGEST_LEN }, id,
                         key);
}


/* Whether its session has ended, or one of its requests is cancelled. */
static int
mcp_inbox_is_marked(mcp_call_t *call)
{
    size_t         i;
    uint32_t       value;
    uint64_t       now;
    mcp_store_t   *store;
    unsigned char  key[MCP_DIGEST_LEN];

    store = call->worker->store;
    now = mcp_call_now(call);

    if (mcp_store_value_get(store, 'd', call->session.id, now, &value)
        == MCP_OK)
    {
        return 1;
    }

    for (i = 0; i < call->n; i++) {
        if (call->requests[i].state != MCP_REQUEST_OVER
            && mcp_inbox_cancel_key(call->worker, call->session.id,
                                    call->requests[i].id, key)
               == MCP_OK
            && mcp_store_value_get(store, 'c', key, now, &value) == MCP_OK)
        {
            return 1;
        }
    }

    return 0;
}


/* A request's id, as the store has it of one that reads what another one asked
 * for: enough to tell it from others of its session; 0 if that cannot be
 * had. */
static uint32_t
mcp_inbox_alias(mcp_exchange_t *x, mcp_str_t id)
{
    uint32_t       alias;
    unsigned char  key[MCP_DIGEST_LEN];

    if (mcp_inbox_cancel_key(x->worker, x->session.id, id, key) != MCP_OK) {
        return 0;
    }

    memcpy(&alias, key, sizeof(uint32_t));

    return alias ? alias : 1;
}


void
mcp_call_also_known(mcp_exchange_t *x, const mcp_stream_ref_t *ref)
{
    (void) mcp_store_set_alias(x->worker->store, ref, x->handle,
                               mcp_inbox_alias(x, x->msg.id));
}


void
mcp_inbox_look_after(mcp_call_t *call)
{
    mcp_worker_t  *worker;

    worker = call->worker;

    if (worker->young) {
        worker->young->link = &call->next;

    } else {
        worker->look.handler = mcp_inbox_look;
        worker->look.data = worker;
        mcp_timer_set(&worker->timers, &worker->look,
                      mcp_call_now(call) + MCP_INBOX_LOOK);
    }

    call->next = worker->young;
    call->link = &worker->young;
    worker->young = call;
}


void
mcp_inbox_look_away(mcp_call_t *call)
{
    if (call->link == NULL) {
        return;
    }

    *call->link = call->next;

    if (call->next) {
        call->next->link = call->link;
    }

    call->link = NULL;

    if (call->worker->young == NULL) {
        mcp_timer_del(&call->worker->timers, &call->worker->look);
    }
}


/* Cancels those that are marked: as they become durable they find it. */
static void
mcp_inbox_look_at(mcp_worker_t *worker, const unsigned char *session)
{
    mcp_call_t  *call, *next;

    for (call = worker->young; call; call = next) {
        next = call->next;

        if (session == NULL
            || memcmp(session, call->session.id, MCP_DIGEST_LEN) == 0)
        {
            if (mcp_inbox_is_marked(call)) {
                mcp_call_durable(call);
            }
        }
    }
}


static void
mcp_inbox_look(void *data)
{
    mcp_worker_t  *worker;

    worker = data;
    mcp_inbox_look_at(worker, NULL);

    if (worker->young) {
        mcp_timer_set(&worker->timers, &worker->look,
                      worker->env->now(worker->env->ctx) + MCP_INBOX_LOOK);
    }
}


int
mcp_call_cancel_request(mcp_exchange_t *x, mcp_str_t id)
{
    int                 rc;
    uint32_t            alias;
    uint64_t            request, position;
    mcp_buf_t           ids;
    mcp_party_t         party;
    mcp_store_t        *store;
    unsigned char       key[MCP_DIGEST_LEN];
    mcp_stream_info_t   info;

    store = x->worker->store;
    position = 0;
    alias = mcp_inbox_alias(x, id);
    mcp_buf_init(&ids, &x->worker->env->mem, SIZE_MAX / 2);

    for ( ;; ) {
        ids.len = 0;

        if (mcp_store_session_next(store, x->session.id, 0, &position, &info,
                                   &ids)
            != MCP_OK)
        {
            break;
        }

        if (info.kind != MCP_STREAM_CALL
            || info.state >= MCP_STATE_COMPLETED)
        {
            continue;
        }

        request = mcp_inbox_find_id(&x->worker->env->mem,
                                    (mcp_str_t) { ids.data, ids.len }, id);

        if (alias && alias == info.alias) {
            request = 1;
        }

        if (request) {
            rc = mcp_store_cancel(store, &info.ref, request);
            mcp_buf_free(&ids);

            /* over meanwhile: there is nothing to cancel */

            return rc == MCP_ERR_NOT_FOUND ? MCP_OK : rc;
        }
    }

    mcp_buf_free(&ids);

    /* not durable yet, in whatever process: that looks for it */

    rc = mcp_inbox_cancel_key(x->worker, x->session.id, id, key);

    if (rc == MCP_OK) {
        mcp_party(x->endpoint, x->party, &party);
        rc = mcp_store_value_set(store, 'c', key, 1,
                                 x->worker->env->now(x->worker->env->ctx)
                                 + mcp_endpoint_stream_after(x->endpoint)
                                 + MCP_INBOX_CANCEL_MARK, &party);
    }

    if (rc == MCP_OK) {
        mcp_inbox_look_at(x->worker, x->session.id);
    }

    return rc;
}


void
mcp_call_end_session(mcp_exchange_t *x)
{
    uint64_t            position, next;
    mcp_store_t        *store;
    mcp_stream_info_t   info;

    store = x->worker->store;
    position = 0;
    next = 0;

    while (mcp_store_session_next(store, x->session.id, 0, &next, &info, NULL)
           == MCP_OK)
    {
        if (info.kind == MCP_STREAM_CALL
            && info.state < MCP_STATE_COMPLETED)
        {
            mcp_store_cancel(store, &info.ref, MCP_INBOX_ALL);
            position = next;

        } else {
            /* on from the one before, which is still there */

            mcp_store_free(store, &info.ref);
            next = position;
        }
    }

    next = 0;

    while (mcp_store_session_next(store, x->session.id, 1, &next, &info, NULL)
           == MCP_OK)
    {
        mcp_store_free(store, &info.ref);
        next = 0;
    }
}


void
mcp_inbox_look_for_cancel(mcp_call_t *call)
{
    size_t         i;
    uint32_t       value;
    unsigned char  key[MCP_DIGEST_LEN];

    if (mcp_store_value_get(call->worker->store, 'd', call->session.id,
                            mcp_call_now(call), &value)
        == MCP_OK)
    {
        mcp_inbox_cancel(call, MCP_INBOX_ALL);
        return;
    }

    for (i = 0; i < call->n && !call->over; i++) {
        if (mcp_inbox_cancel_key(call->worker, call->session.id,
                                 call->requests[i].id, key)
            == MCP_OK
            && mcp_store_value_get(call->worker->store, 'c', key,
                                   mcp_call_now(call), &value)
               == MCP_OK)
        {
            mcp_store_value_delete(call->worker->store, 'c', key);
            mcp_inbox_cancel(call, (uint64_t) 1 << i);
        }
    }
}
