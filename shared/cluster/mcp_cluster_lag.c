/* SPDX-License-Identifier: Apache-2.0 */

/* The replication lag: the events of this process that Redis has not
 * acknowledged. While there are such events, the lag is reported to the status
 * at intervals. */


#include "cluster/mcp_cluster_replication.h"


/* Interval of reports to the status, ms. */
#define MCP_LAG_TIME  1000


static void
mcp_lag_add(mcp_replication_t *repl, mcp_node_lag_t *lag)
{
    uint64_t  events, bytes;

    mcp_store_behind(repl->cluster->worker->store, &repl->ref, &events,
                     &bytes);

    if (events == 0) {
        return;
    }

    lag->events += events;
    lag->bytes += bytes;

    if (lag->since == 0 || repl->behind < lag->since) {
        lag->since = repl->behind;
    }
}


static void
mcp_lag_measure(void *data)
{
    size_t              i;
    mcp_replication_t  *repl;
    mcp_worker_t       *worker;
    mcp_cluster_t      *cluster;
    mcp_node_lag_t      lag;

    cluster = data;
    worker = cluster->worker;

    memset(&lag, 0, sizeof(mcp_node_lag_t));

    for (i = 0; i < MCP_CLUSTER_BUCKETS; i++) {
        for (repl = cluster->repls[i]; repl; repl = repl->next) {
            if (repl->behind) {
                mcp_lag_add(repl, &lag);
            }
        }
    }

    mcp_store_node_lag(worker->store, &lag);

    if (lag.events) {
        mcp_timer_set(&worker->timers, &cluster->lag,
                      mcp_worker_now(worker) + MCP_LAG_TIME);
    }
}


void
mcp_lag_init(mcp_cluster_t *cluster)
{
    mcp_node_lag_t  none = { 0, 0, 0 };

    cluster->lag.handler = mcp_lag_measure;
    cluster->lag.data = cluster;
    mcp_store_node_lag(cluster->worker->store, &none);
}


void
mcp_lag_check(mcp_replication_t *repl,
              const mcp_store_replication_state_t *repl_state)
{
    uint64_t        now;
    mcp_cluster_t  *cluster;

    cluster = repl->cluster;

    if (repl_state->acked.seq >= repl_state->own.seq) {
        repl->behind = 0;
        return;
    }

    now = mcp_worker_now(cluster->worker);

    if (repl->behind == 0) {
        repl->behind = now;

    } else if (repl_state->acked.seq > repl->acked && repl->time) {

        /* Redis has acknowledged events since the last check: the remaining
         * ones were appended after the last command was sent */

        repl->behind = repl->time;
    }

    repl->acked = repl_state->acked.seq;

    if (!mcp_timer_armed(&cluster->lag)) {
        mcp_timer_set(&cluster->worker->timers, &cluster->lag,
                      now + MCP_LAG_TIME);
    }
}
