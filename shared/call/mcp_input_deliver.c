/* SPDX-License-Identifier: Apache-2.0 */

/* Responses of clients to questions of calls: finding the call, which may run
 * in another process, and passing the response to it. */

#include "call/mcp_input.h"
#include "rpc/mcp_request_id.h"
#include "worker/mcp_cluster_operation.h"


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
