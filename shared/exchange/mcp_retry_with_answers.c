/* SPDX-License-Identifier: Apache-2.0 */

#include "exchange/mcp_retry_with_answers.h"

#include "call/mcp_input.h"
#include "call/mcp_upstream_question_stateless_client.h"
#include "rpc/mcp_fault.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_respond.h"
#include "worker/mcp_resume_hooks.h"


static void mcp_retry_last(mcp_exchange_t *x);


static const mcp_resume_reader_t  mcp_retry_reader = {
    .read = mcp_joined_reader_read,
    .last = mcp_retry_last
};

static const mcp_resume_method_t  mcp_retry_resume_method = {
    .name = { "state", 5 },
    .reader = &mcp_retry_reader
};


int
mcp_retry_is(mcp_str_t state)
{
    return state.len && state.data[0] != '"';
}


/* --- the reader --- */

/* Called when the request ends. If the request has not got the response,
 * because the call was cancelled or another request now reads the call's
 * stream, writes an error. */
static void
mcp_retry_last(mcp_exchange_t *x)
{
    if (x->reader.answered) {
        return;
    }

    mcp_buf_lit(&x->output.out, "data: ");
    mcp_fault_write(&x->output.out, x->client.revision, x->msg->id,
                    MCP_FAULT_REQUEST_STATE, mcp_null_str, mcp_null_str);
    mcp_buf_lit(&x->output.out, "\n\n");
}


/* Makes x the consumer of the stream: x reads the events after number "after".
 * Returns the values of mcp_consumer_start_kept(). */
static int
mcp_retry_start(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t after)
{
    int  rc;

    x->resumption = &mcp_retry_resume_method;
    x->reader.bound = 1;
    x->reader.answers = 1;

    rc = mcp_consumer_start_kept(x, info, after);

    if (rc != MCP_OK) {
        x->resumption = x->worker->methods[0];
        x->reader.bound = 0;
        x->reader.answers = 0;
    }

    return rc;
}


/* --- the call --- */

/*
 * Makes the stream of the call available at this node. After returning
 * MCP_AGAIN, this function runs again when the cluster has replied, see
 * mcp_cluster_operation.h.
 *
 * Returns MCP_OK, MCP_AGAIN, or
 *   MCP_ERR_NOT_FOUND    there is no such call of this principal
 *   MCP_ERR_UNREACHABLE  the call may be at a node that is unreachable
 *   MCP_ERR_FULL         this node has no room for a mirror
 *   MCP_ERR_MEMORY
 */
static int
mcp_retry_find(mcp_exchange_t *x, const unsigned char id[MCP_STREAM_ID_LEN],
    uint64_t after, mcp_stream_info_t *info)
{
    int                     rc, found;
    mcp_operation_stream_t  stream;

    memset(&stream, 0, sizeof(mcp_operation_stream_t));
    memcpy(stream.id, id, MCP_STREAM_ID_LEN);
    memcpy(stream.session, x->client.id, MCP_DIGEST_LEN);
    memcpy(stream.principal, x->head.principal, MCP_DIGEST_LEN);
    stream.any_session = 1;
    stream.after = after;

    rc = mcp_operation_stream(x, MCP_OPERATION_STREAM, &stream);

    if (rc == MCP_AGAIN) {
        return MCP_AGAIN;
    }

    if (rc == MCP_ERR_DENIED) {
        return MCP_ERR_UNREACHABLE;
    }

    found = mcp_store_find(x->worker->store, id, mcp_worker_now(x->worker),
                           info);

    if (rc != MCP_OK && (found != MCP_OK || info->mirror)) {
        return rc;
    }

    if (found == MCP_OK
        && (info->kind != MCP_STREAM_CALL
            || info->state == MCP_STATE_CANCELLED
            || memcmp(info->principal, x->head.principal, MCP_DIGEST_LEN)
               != 0))
    {
        return MCP_ERR_NOT_FOUND;
    }

    return found;
}


/* Passes the answers in the request of x to the call, and that x reads the
 * stream after the event "after": if questions are still open, the call asks
 * them again. After returning MCP_AGAIN, this function runs again when the
 * cluster has replied, see mcp_cluster_operation.h. */
static int
mcp_retry_deliver(mcp_exchange_t *x, const unsigned char id[MCP_STREAM_ID_LEN],
    uint64_t after)
{
    int        rc;
    mcp_buf_t  text;

    mcp_buf_init(&text, &x->worker->env->mem, SIZE_MAX / 2);

    rc = mcp_upstream_round_answers(&x->msg->input_responses, id, after, &text);

    if (rc == MCP_OK) {
        rc = mcp_input_deliver_to(x, id, mcp_buf_text(&text));
    }

    mcp_buf_free(&text);

    /* MCP_ERR_NOT_FOUND: the call is over, and its response may be in the
     * stream */

    return rc == MCP_ERR_NOT_FOUND ? MCP_OK : rc;
}


static mcp_next_e
mcp_retry_refuse(mcp_exchange_t *x, int rc)
{
    mcp_fault_e  fault;

    switch (rc) {

    case MCP_ERR_NOT_FOUND:
        fault = MCP_FAULT_REQUEST_STATE;
        break;

    case MCP_ERR_UNREACHABLE:
        fault = MCP_FAULT_CLUSTER_UNREACHABLE;
        break;

    case MCP_ERR_LIMIT:
    case MCP_ERR_FULL:
        fault = MCP_FAULT_STORE_FULL;
        break;

    case MCP_AGAIN:
    case MCP_ERR_MEMORY:
        return mcp_operation_next(rc);

    default:
        fault = MCP_FAULT_INTERNAL;
    }

    return mcp_respond_fault(x, fault, x->msg->id, mcp_null_str);
}


mcp_next_e
mcp_retry(mcp_exchange_t *x, mcp_str_t state)
{
    int                rc;
    uint64_t           after;
    mcp_stream_info_t  info;
    unsigned char      id[MCP_STREAM_ID_LEN];

    if (mcp_event_id_parse(state, id, &after) != MCP_OK) {
        return mcp_retry_refuse(x, MCP_ERR_NOT_FOUND);
    }

    /* Delivers the answers first. Once the stream is available here, x has to
     * become its reader at once: otherwise this node would report to the other
     * nodes that the stream has no reader here. */

    rc = mcp_retry_deliver(x, id, after);

    if (rc == MCP_OK) {
        rc = mcp_retry_find(x, id, after, &info);
    }

    if (rc == MCP_OK) {
        rc = mcp_retry_start(x, &info, after);
    }

    if (rc != MCP_OK) {
        return mcp_retry_refuse(x, rc);
    }

    mcp_store_count(x->worker->store, MCP_COUNT_RESUMES, 1);

    return MCP_NEXT_STREAM;
}
