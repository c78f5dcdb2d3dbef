/* SPDX-License-Identifier: Apache-2.0 */

/* Exchanges that wait until other nodes have a stream of this node, or an
 * event of the stream. The exchange has a response to send, or a call to
 * start. */


#include "worker/mcp_answer.h"
#include "worker/mcp_cluster_operation_internal.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_exchange_state.h"


void
mcp_operation_go_on(mcp_exchange_t *x, int rc)
{
    mcp_timer_del(&x->worker->timers, &x->asking->timer);
    mcp_operation_drop(x->asking);
    x->asking->then(x, rc);
}


static void
mcp_operation_held(void *data)
{
    mcp_operation_go_on(data, MCP_ERR_UNREACHABLE);
}


/*
 * Waits until the cluster has event seq of the stream, or the stream itself if
 * seq is 0. Returns MCP_AGAIN if then() will be called: with the result, or
 * with MCP_ERR_UNREACHABLE after MCP_OPERATION_TIME. Otherwise returns the
 * result, which is MCP_OK without a cluster.
 */
static int
mcp_operation_hold(mcp_exchange_t *x, const mcp_stream_ref_t *ref, uint64_t seq,
    void (*then)(mcp_exchange_t *x, int rc))
{
    int               rc;
    mcp_operation_t  *op;
    mcp_worker_t     *worker;
    mcp_asking_t     *asking;

    worker = x->worker;
    asking = x->asking;

    if (asking == NULL || asking->late) {
        return asking ? MCP_ERR_UNREACHABLE : MCP_OK;
    }

    mcp_operation_drop(asking);
    op = mcp_operation_create(worker, x);

    if (op == NULL) {
        return MCP_ERR_MEMORY;
    }

    op->holds = 1;
    op->seq = seq;
    asking->first = op;
    asking->then = then;

    rc = worker->cluster_hooks->await_replication(worker->cluster, ref, op);

    if (rc != MCP_AGAIN) {
        op->rc = rc;
        return rc;
    }

    asking->timer.handler = mcp_operation_held;
    asking->timer.data = x;
    mcp_timer_set(&worker->timers, &asking->timer,
                  mcp_worker_now(worker) + MCP_OPERATION_TIME);

    return MCP_AGAIN;
}


int
mcp_operation_first(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    void (*then)(mcp_exchange_t *x, int rc))
{
    int  rc;

    rc = mcp_operation_hold(x, ref, 0, then);

    if (rc == MCP_AGAIN) {
        mcp_exchange_set_state(x, MCP_EXCHANGE_CLUSTER_WAIT);
    }

    return rc;
}


static void
mcp_operation_respond_now(mcp_exchange_t *x, int rc)
{
    (void) rc;

    mcp_answer_ready(x, MCP_ACT_RESPOND);
}


void
mcp_operation_respond(mcp_exchange_t *x, const mcp_stream_ref_t *ref)
{
    mcp_stream_info_t  info;

    if (mcp_store_info(x->worker->store, ref, &info) != MCP_OK
        || info.replicated
        || mcp_operation_hold(x, ref, 0, mcp_operation_respond_now)
               != MCP_AGAIN)
    {
        mcp_answer_ready(x, MCP_ACT_RESPOND);
    }
}


static void
mcp_operation_respond_late(mcp_exchange_t *x, int rc)
{
    if (rc == MCP_ERR_UNREACHABLE && x->reader.handle
        && mcp_consumer_start(x, &x->reader.ref, 0) == MCP_OK)
    {
        mcp_answer_ready(x, MCP_ACT_STREAM);
        return;
    }

    mcp_answer_ready(x, MCP_ACT_RESPOND);
}


void
mcp_operation_respond_with(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    uint64_t seq)
{
    mcp_stream_info_t  info;

    if (mcp_store_info(x->worker->store, ref, &info) != MCP_OK
        || info.last_seq >= seq
        || mcp_operation_hold(x, ref, seq, mcp_operation_respond_late)
               != MCP_AGAIN)
    {
        mcp_answer_ready(x, MCP_ACT_RESPOND);
    }
}
