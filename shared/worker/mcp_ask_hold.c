/* SPDX-License-Identifier: Apache-2.0 */

/* What waits until other nodes have a stream that was made here, or an event of
 * it: an answer that is made, or a call that is to be started. */


#include "worker/mcp_answer.h"
#include "worker/mcp_ask_parts.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_exchange_state.h"


void
mcp_ask_go_on(mcp_exchange_t *x, int rc)
{
    mcp_timer_del(&x->worker->timers, &x->asking->timer);
    mcp_ask_drop(x->asking);
    x->asking->then(x, rc);
}


static void
mcp_ask_held(void *data)
{
    mcp_ask_go_on(data, MCP_ERR_AWAY);
}


/* Returns MCP_AGAIN if then() is called when the cluster has an event of the
 * stream; or what the answer is already. */
static int
mcp_ask_hold(mcp_exchange_t *x, const mcp_stream_ref_t *ref, uint64_t seq,
    void (*then)(mcp_exchange_t *x, int rc))
{
    int            rc;
    mcp_ask_t     *ask;
    mcp_worker_t  *worker;
    mcp_asking_t  *asking;

    worker = x->worker;
    asking = x->asking;

    if (asking == NULL || asking->late) {
        return asking ? MCP_ERR_AWAY : MCP_OK;
    }

    mcp_ask_drop(asking);
    ask = mcp_ask_create(x);

    if (ask == NULL) {
        return MCP_ERR_MEMORY;
    }

    ask->holds = 1;
    ask->seq = seq;
    asking->first = ask;
    asking->then = then;

    rc = worker->cluster_hooks->safe(worker->cluster, ref, ask);

    if (rc != MCP_AGAIN) {
        ask->rc = rc;
        return rc;
    }

    asking->timer.handler = mcp_ask_held;
    asking->timer.data = x;
    mcp_timer_set(&worker->timers, &asking->timer,
                  mcp_worker_now(worker) + MCP_ASK_TIME);

    return MCP_AGAIN;
}


int
mcp_ask_first(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    void (*then)(mcp_exchange_t *x, int rc))
{
    int  rc;

    rc = mcp_ask_hold(x, ref, 0, then);

    if (rc == MCP_AGAIN) {
        mcp_exchange_set_state(x, MCP_EXCHANGE_ASK);
    }

    return rc;
}


static void
mcp_ask_respond_now(mcp_exchange_t *x, int rc)
{
    (void) rc;

    mcp_answer_ready(x, MCP_ACT_RESPOND);
}


void
mcp_ask_respond(mcp_exchange_t *x, const mcp_stream_ref_t *ref)
{
    mcp_stream_info_t  info;

    if (mcp_store_info(x->worker->store, ref, &info) != MCP_OK || info.safe
        || mcp_ask_hold(x, ref, 0, mcp_ask_respond_now) != MCP_AGAIN)
    {
        mcp_answer_ready(x, MCP_ACT_RESPOND);
    }
}


static void
mcp_ask_respond_late(mcp_exchange_t *x, int rc)
{
    if (rc == MCP_ERR_AWAY && x->reader.handle
        && mcp_consumer_start(x, &x->reader.ref, 0) == MCP_OK)
    {
        mcp_answer_ready(x, MCP_ACT_STREAM);
        return;
    }

    mcp_answer_ready(x, MCP_ACT_RESPOND);
}


void
mcp_ask_respond_with(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    uint64_t seq)
{
    mcp_stream_info_t  info;

    if (mcp_store_info(x->worker->store, ref, &info) != MCP_OK
        || info.last_seq >= seq
        || mcp_ask_hold(x, ref, seq, mcp_ask_respond_late) != MCP_AGAIN)
    {
        mcp_answer_ready(x, MCP_ACT_RESPOND);
    }
}
