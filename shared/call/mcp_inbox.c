/* SPDX-License-Identifier: Apache-2.0 */

/* The inbox of a call's stream: other processes post the client's answers and
 * published messages to the process that owns the call. The stream also
 * records cancellations. A post or a cancellation wakes the owner. */


#include "call/mcp_call_internal.h"
#include "call/mcp_call_response.h"
#include "call/mcp_input.h"
#include "call/mcp_upstream_param_header.h"
#include "call/mcp_upstream_question_stateless_client.h"
#include "call/mcp_upstream_session.h"
#include "rpc/mcp_request_id.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_resume_hooks.h"


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


/* Keeps a post until no message of the call is held. If there is no memory,
 * ends the call, because the sender of the post has got an acknowledgement and
 * does not send the post again. */
static void
mcp_inbox_keep(mcp_call_t *call, mcp_inbox_item_e type, uint64_t tag,
    mcp_str_t text)
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


/* Keeps the messages of a post from the publish endpoint one by one. */
static void
mcp_inbox_keep_messages(mcp_call_t *call, uint64_t tag, mcp_str_t text)
{
    mcp_str_t    line;
    const char  *p, *end, *next;

    p = text.data;
    end = text.data + text.len;

    while (p < end && call->phase != MCP_CALL_OVER) {
        next = memchr(p, '\n', (size_t) (end - p));
        line.data = p;
        line.len = (size_t) ((next ? next : end) - p);
        p = next ? next + 1 : end;

        mcp_inbox_keep(call, MCP_INBOX_PUBLISH, tag, line);
    }
}


/* Removes the oldest kept post and returns it to be freed by the caller.
 * Returns NULL if there is none. */
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
    mcp_kept_t  *kept;

    while ((kept = mcp_inbox_unkeep(call)) != NULL) {
        mcp_mem_free(&call->worker->env->mem, kept);
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

    if (req->state == MCP_REQUEST_OVER) {
        return;
    }

    /* out of memory: the publisher does not send the message again */

    if (mcp_backend_message(req->backend, text, &msg) != MCP_OK) {
        mcp_call_abandon(call, MCP_FAULT_INTERNAL);
        return;
    }

    /* While the request waits for the client's answers, for the session at its
     * MCP server, or for the list of tools, a published message that is not a
     * notification is ignored, because only the next backend request may end
     * the request. */

    if (msg.kind != MCP_BACKEND_NOTIFICATION
        && (req->state == MCP_REQUEST_INPUT
            || !mcp_upstream_session_is_call(req)
            || (req->relist
                && (req->relist->needs_list || req->relist->continues))))
    {
        return;
    }

    if (mcp_backend_request_message(req, &msg) == MCP_AGAIN) {
        mcp_backend_request_hold(req, &msg);
    }
}


static void
mcp_inbox_process(mcp_call_t *call, mcp_inbox_item_e type, uint64_t tag,
    mcp_str_t text)
{
    switch (type) {

    case MCP_INBOX_INPUT:
        mcp_input_answer(call, text);
        break;

    case MCP_INBOX_PUBLISH:
        mcp_inbox_publish(call, tag, text);
        break;

    case MCP_INBOX_TASK:
        mcp_input_task_answer(call, tag, text);
        break;

    case MCP_INBOX_LIMIT:
        mcp_call_refuse(call, MCP_ERR_LIMIT);
        break;
    }
}


/* Processes a post from the inbox, or keeps it while a message of the call is
 * held. Published messages are always kept first, because a post may contain
 * several. */
static void
mcp_inbox_receive(mcp_call_t *call, mcp_inbox_item_e type, uint64_t tag,
    mcp_str_t text)
{
    if (type == MCP_INBOX_PUBLISH) {
        mcp_inbox_keep_messages(call, tag, text);

    } else if (mcp_inbox_is_held(call)) {
        mcp_inbox_keep(call, type, tag, text);

    } else {
        mcp_inbox_process(call, type, tag, text);
    }
}


/* Processes kept posts, then the posts in the inbox. While a message of the
 * call is held, posts are taken from the inbox and kept. */
static void
mcp_inbox_read(mcp_call_t *call)
{
    int               rc, held;
    uint64_t          tag;
    mcp_buf_t         data;
    mcp_str_t         text;
    mcp_kept_t       *kept;
    mcp_inbox_item_e  type;
    const mcp_mem_t  *mem;

    mem = &call->worker->env->mem;
    mcp_buf_init(&data, mem, SIZE_MAX / 2);

    while (call->phase != MCP_CALL_OVER) {

        held = mcp_inbox_is_held(call);

        if (!held && (kept = mcp_inbox_unkeep(call)) != NULL) {
            text = (mcp_str_t) { (char *) (kept + 1), kept->len };
            mcp_inbox_process(call, kept->type, kept->tag, text);
            mcp_mem_free(mem, kept);
            continue;
        }

        /* the kept posts may use as many bytes as the inbox
         * (mcp_stream_buffer) */

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

        mcp_inbox_receive(call, type, tag, text);
    }

    mcp_buf_free(&data);
}


void
mcp_inbox_continue(mcp_call_t *call)
{
    size_t  i;

    for (i = 0; i < call->n && call->phase != MCP_CALL_OVER; i++) {
        mcp_backend_request_continue(&call->requests[i]);
    }

    mcp_upstream_round_continue(call);
    mcp_inbox_read(call);
}


void
mcp_inbox_wake(void *data)
{
    mcp_call_t         *call;
    mcp_stream_info_t   info;

    call = data;

    /* A call that has not started reads the inbox after its start. */

    if (call->phase == MCP_CALL_OVER || call->began == 0) {
        return;
    }

    call->refs++;

    if (mcp_store_info(call->worker->store, &call->ref, &info) != MCP_OK) {

        /* the stream was freed: a client that waits for plain JSON gets an
         * error, and a call without such a client is cancelled, because no
         * client can get the response */

        if (call->x) {
            mcp_call_abandon(call, MCP_FAULT_INTERNAL);
            mcp_call_release(call);
            return;
        }

        mcp_call_log(call, MCP_LOG_INFO, "cancelled",
                     "the stream of the call was freed, so no client can get "
                     "the response");
        mcp_request_ends_all(call, MCP_OUTCOME_CANCELLED);
        mcp_call_stop(call);
        mcp_call_release(call);
        return;
    }

    call->unattended = (info.consumer_slot == MCP_STORE_NO_SLOT)
                       ? info.unattended : 0;
    call->read_after = info.read_after;

    /* A client that has cancelled may have stopped reading, so the stream may
     * never have room: the cancellation does not wait until held messages are
     * processed. */

    if (info.cancelled && mcp_call_durable(call) == MCP_OK) {
        mcp_cancel_requests(call, mcp_store_take_cancelled(call->worker->store,
                                                           &call->ref));
    }

    mcp_inbox_continue(call);

    if (call->phase != MCP_CALL_OVER) {
        mcp_call_set_timer(call);
    }

    mcp_call_release(call);
}


/* --- responses of clients to questions --- */

/* Responses of clients to questions of calls: finding the call, which may run
 * in another process, and passing the response to it. */


int
mcp_input_names(const mcp_mem_t *mem, mcp_str_t id,
    unsigned char stream[MCP_STREAM_ID_LEN], uint64_t *number)
{
    int          rc;
    mcp_arena_t  arena;

    /* the ids of questions are strings */

    if (id.len < 3 || id.data[0] != '"') {
        return MCP_ERR_NOT_FOUND;
    }

    mcp_arena_init(&arena, mem);
    rc = mcp_id_plain(&arena, id, &id);

    if (rc == MCP_OK) {
        id.data++;
        id.len--;
        rc = mcp_event_id_parse(id, stream, number);
    }

    mcp_arena_destroy(&arena);

    return rc == MCP_OK ? MCP_OK : MCP_ERR_NOT_FOUND;
}


static int
mcp_input_is_answer(mcp_exchange_t *x, const mcp_rpc_t *msg,
    unsigned char stream[MCP_STREAM_ID_LEN])
{
    uint64_t  number;

    return (msg->kind == MCP_RPC_RESULT || msg->kind == MCP_RPC_ERROR)
           && mcp_input_names(&x->worker->env->mem, msg->id, stream, &number)
              == MCP_OK;
}


/* Returns 1 if msgs contain a response to a question of the stream. */
static int
mcp_input_has(mcp_exchange_t *x, const mcp_rpc_t *msgs, size_t n,
    const unsigned char stream[MCP_STREAM_ID_LEN])
{
    size_t         i;
    unsigned char  other[MCP_STREAM_ID_LEN];

    for (i = 0; i < n; i++) {
        if (mcp_input_is_answer(x, &msgs[i], other)
            && memcmp(other, stream, MCP_STREAM_ID_LEN) == 0)
        {
            return 1;
        }
    }

    return 0;
}


/* Records in the stream that the client has all events up to the last question
 * that the responses in msgs answer. */
static void
mcp_input_confirm(mcp_exchange_t *x, const mcp_stream_info_t *info,
    const mcp_rpc_t *msgs, size_t n)
{
    size_t         i;
    uint64_t       number, last;
    unsigned char  stream[MCP_STREAM_ID_LEN];

    last = 0;

    for (i = 0; i < n; i++) {
        if (mcp_input_is_answer(x, &msgs[i], stream)
            && memcmp(stream, info->ref.id, MCP_STREAM_ID_LEN) == 0
            && mcp_input_names(&x->worker->env->mem, msgs[i].id, stream,
                               &number)
               == MCP_OK
            && number > last)
        {
            last = number;
        }
    }

    if (last > info->confirmed_seq && last <= info->last_seq) {
        (void) mcp_store_acknowledge(x->worker->store, &info->ref, last);
    }
}


/* Passes responses to a call through the cluster. Returns the values of
 * mcp_operation_client_input(). After returning MCP_AGAIN, this function runs
 * again when the cluster has replied, see mcp_cluster_operation.h. */
static int
mcp_input_deliver_by_cluster(mcp_exchange_t *x,
    const unsigned char stream[MCP_STREAM_ID_LEN], mcp_str_t text,
    uint32_t generation)
{
    mcp_operation_client_input_t  input;

    memset(&input, 0, sizeof(mcp_operation_client_input_t));
    memcpy(input.id, stream, MCP_STREAM_ID_LEN);
    memcpy(input.session, x->client.id, MCP_DIGEST_LEN);
    input.data = text;
    input.generation = generation;

    return mcp_operation_client_input(x, &input);
}


/*
 * Responses for a replicated call of this node also pass through the cluster,
 * so that all nodes get the information that the question was answered. If the
 * cluster is unreachable, does not have the call, or has no room for the
 * responses, they are put into the inbox here.
 *
 * After returning MCP_AGAIN, this function runs again when the cluster has
 * replied, see mcp_cluster_operation.h.
 */
int
mcp_input_deliver(mcp_exchange_t *x, const mcp_stream_info_t *info,
    mcp_str_t text, uint32_t generation)
{
    int  rc;

    if (info->mirror || (info->shared && x->operations)) {
        rc = mcp_input_deliver_by_cluster(x, info->ref.id, text, generation);

        if (info->mirror
            || (rc != MCP_ERR_NOT_FOUND && rc != MCP_ERR_UNREACHABLE
                && rc != MCP_ERR_LIMIT))
        {
            return rc;
        }
    }

    return mcp_store_inbox_put(x->worker->store, &info->ref, MCP_INBOX_INPUT, 0,
                          text);
}


/* Passes responses to the call of a stream. "found" is the return value of
 * mcp_store_find() for the stream at this node. After returning MCP_AGAIN, this
 * function runs again when the cluster has replied, see
 * mcp_cluster_operation.h. */
static int
mcp_input_deliver_found(mcp_exchange_t *x, int found,
    const mcp_stream_info_t *info,
    const unsigned char stream[MCP_STREAM_ID_LEN], mcp_str_t text)
{
    if (found == MCP_OK) {
        return mcp_input_deliver(x, info, text, 0);
    }

    return found == MCP_ERR_NOT_FOUND
               ? mcp_input_deliver_by_cluster(x, stream, text, 0)
               : found;
}


/* After returning MCP_AGAIN, this function runs again when the cluster has
 * replied, see mcp_cluster_operation.h. */
int
mcp_input_deliver_to(mcp_exchange_t *x,
    const unsigned char stream[MCP_STREAM_ID_LEN], mcp_str_t text)
{
    int                rc;
    mcp_stream_info_t  info;

    rc = mcp_store_find(x->worker->store, stream, mcp_worker_now(x->worker),
                        &info);

    return mcp_input_deliver_found(x, rc, &info, stream, text);
}


/* Passes "text", the responses of the client, to the call of a stream, at this
 * or another node, and confirms the events that the client has received. "msgs"
 * are the n messages of the same POST. After returning MCP_AGAIN, this function
 * runs again when the cluster has replied, see mcp_cluster_operation.h. */
static int
mcp_input_bring(mcp_exchange_t *x, const mcp_rpc_t *msgs, size_t n,
    const unsigned char stream[MCP_STREAM_ID_LEN], mcp_str_t text)
{
    int                rc;
    mcp_stream_info_t  info;

    rc = mcp_store_find(x->worker->store, stream, mcp_worker_now(x->worker),
                        &info);

    if (rc == MCP_OK
        && memcmp(info.session, x->client.id, MCP_DIGEST_LEN) != 0)
    {
        return MCP_ERR_NOT_FOUND;
    }

    if (rc == MCP_OK) {
        mcp_input_confirm(x, &info, msgs, n);
    }

    return mcp_input_deliver_found(x, rc, &info, stream, text);
}


/* Passes the responses in msgs that answer questions of one stream to the call
 * of the stream. msgs[0] is the first such response. The call gets msgs[0]
 * alone if no other one follows, otherwise a JSON array. */
static int
mcp_input_gather(mcp_exchange_t *x, const mcp_rpc_t *msgs, size_t n,
    const unsigned char stream[MCP_STREAM_ID_LEN])
{
    int        rc;
    size_t     i;
    mcp_buf_t  text;

    if (!mcp_input_has(x, msgs + 1, n - 1, stream)) {
        return mcp_input_bring(x, msgs, n, stream, msgs[0].raw);
    }

    mcp_buf_init(&text, &x->worker->env->mem, SIZE_MAX / 2);
    mcp_buf_lit(&text, "[");

    for (i = 0; i < n; i++) {
        if (mcp_input_has(x, &msgs[i], 1, stream)) {
            if (i) {
                mcp_buf_lit(&text, ",");
            }

            mcp_buf_str(&text, msgs[i].raw);
        }
    }

    mcp_buf_lit(&text, "]");

    rc = text.failed;

    if (rc == MCP_OK) {
        rc = mcp_input_bring(x, msgs, n, stream,
                             (mcp_str_t) { text.data, text.len });
    }

    mcp_buf_free(&text);

    return rc;
}


int
mcp_input_receive(mcp_exchange_t *x, const mcp_rpc_t *msgs, size_t n)
{
    int            rc;
    size_t         i;
    unsigned char  stream[MCP_STREAM_ID_LEN];

    for (i = 0; i < n; i++) {
        if (!mcp_input_is_answer(x, &msgs[i], stream)
            || mcp_input_has(x, msgs, i, stream))
        {
            continue;
        }

        rc = mcp_input_gather(x, &msgs[i], n - i, stream);

        if (rc != MCP_OK && rc != MCP_ERR_NOT_FOUND) {
            return rc;
        }
    }

    return MCP_OK;
}
