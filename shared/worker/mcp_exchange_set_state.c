/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/mcp_request_id.h"
#include "worker/mcp_exchange_set_state.h"


static const char *const  mcp_exchange_states[] = {
    [MCP_EXCHANGE_HEAD] = "reads its head",
    [MCP_EXCHANGE_BODY] = "waits for its body",
    [MCP_EXCHANGE_CLUSTER_WAIT] = "waits for the cluster",
    [MCP_EXCHANGE_WAIT] = "waits for its call",
    [MCP_EXCHANGE_RESPONSE] = "has its response",
    [MCP_EXCHANGE_STREAM] = "reads a stream",
    [MCP_EXCHANGE_ENDED] = "no longer reads its stream"
};

static const char *const  mcp_consumer_states[] = {
    [MCP_CONSUMER_PRIMING] = "has written nothing yet",
    [MCP_CONSUMER_READING] = "reads",
    [MCP_CONSUMER_LAST] = "writes its last bytes",
    [MCP_CONSUMER_DONE] = "has written all"
};

static const char *const  mcp_consumer_closes[] = {
    [MCP_CONSUMER_CLOSE_NOT] = "stays open",
    [MCP_CONSUMER_CLOSE_SOON] = "closes when its client can resume",
    [MCP_CONSUMER_CLOSE_NOW] = "closes"
};


static void
mcp_exchange_log_change(mcp_exchange_t *x, const char *part, const char *change)
{
    char                  id[9];
    const unsigned char  *call;

    call = x->reader.handle ? x->reader.ref.id : x->call_id;

    if (call) {
        mcp_stream_id_short(id, call);
    }

    mcp_worker_log(x->worker, MCP_LOG_DEBUG, "%s %u %s%s%s%s%s", part,
                   x->number, change, call ? ", call " : "", call ? id : "",
                   x->output.outcome ? ": " : "",
                   x->output.outcome ? x->output.outcome : "");
}


void
mcp_exchange_set_state(mcp_exchange_t *x, mcp_exchange_state_e state)
{
    if (x->state != state && mcp_worker_logs(x->worker, MCP_LOG_DEBUG)) {
        mcp_exchange_log_change(x, "exchange", mcp_exchange_states[state]);
    }

    x->worker->n_waiting -= mcp_exchange_is_waiting(x);
    x->state = state;
    x->worker->n_waiting += mcp_exchange_is_waiting(x);
}


unsigned
mcp_exchange_is_waiting(const mcp_exchange_t *x)
{
    return x->state == MCP_EXCHANGE_CLUSTER_WAIT
           || x->state == MCP_EXCHANGE_WAIT;
}


void
mcp_consumer_set_state(mcp_exchange_t *x, mcp_consumer_state_e state)
{
    if (x->reader.state != state && mcp_worker_logs(x->worker, MCP_LOG_DEBUG)) {
        mcp_exchange_log_change(x, "consumer of the exchange",
                                mcp_consumer_states[state]);
    }

    x->reader.state = state;
}


void
mcp_consumer_set_close(mcp_exchange_t *x, mcp_consumer_close_e close)
{
    if (close <= x->reader.close) {
        return;
    }

    if (mcp_worker_logs(x->worker, MCP_LOG_DEBUG)) {
        mcp_exchange_log_change(x, "consumer of the exchange",
                                mcp_consumer_closes[close]);
    }

    x->reader.close = close;
}
