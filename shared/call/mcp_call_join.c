/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A call that other requests may join (exchange/mcp_join.c). It has its stream
 * before a backend is called, so that requests in any process find it; if two
 * processes create equal calls at the same time, only one succeeds. The client
 * that has begun the call waits for plain JSON. Until then it is the stream's
 * consumer, without reading, so that the store does not consider the client
 * lost.
 */


#include "call/mcp_call_internal.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_consumer.h"


uint64_t
mcp_call_join_wait(const mcp_call_t *call, uint64_t max_wait)
{
    if (call->join->once) {
        return call->endpoint->join_wait;
    }

    return max_wait ? max_wait : call->endpoint->max_wait;
}


/* Returns the arena with the message's text from the call to its exchange,
 * which no longer has a call. */
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
    x->call_id = NULL;
    x->arena = call->arena;
}


/* The stream has its consumer from its creation on, because otherwise its
 * client would count as lost as soon as other processes find the stream. */
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


void
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
mcp_call_join_answer(mcp_request_t *req, mcp_outcome_e how)
{
    int          rc;
    mcp_call_t  *call;

    call = req->call;
    rc = mcp_call_answer_stored(req, req->response, how);

    if (rc != MCP_OK) {
        mcp_call_log(call, MCP_LOG_WARN, "cannot be joined any more",
                     "the zone, or the quota of the caller "
                     "(mcp_quota_bytes), has no room for the response");
        mcp_store_free(call->worker->store, &call->ref);
    }

    if (call->x) {
        call->x->reader.whole = 1;
    }
}
