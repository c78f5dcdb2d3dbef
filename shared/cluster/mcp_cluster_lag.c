/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How far Redis is behind: what this process copies, and Redis is not known to
 * have.  While there is any, the status is told of it from time to time.
 */


#include "cluster/mcp_cluster_copy.h"


/* How often, ms. */
#define MCP_LAG_TIME  1000


static void
mcp_lag_add(mcp_copy_t *copy, mcp_node_lag_t *lag)
{
    uint64_t  events, bytes;

    mcp_store_behind(copy->cluster->worker->store, &copy->ref, &events,
                     &bytes);

    if (events == 0) {
        return;
    }

    lag->events += events;
    lag->bytes += bytes;

    if (lag->since == 0 || copy->behind < lag->since) {
        lag->since = copy->behind;
    }
}


static void
mcp_lag_measure(void *data)
{
    size_t           i;
    mcp_copy_t      *copy;
    mcp_worker_t    *worker;
    mcp_cluster_t   *cluster;
    mcp_node_lag_t   lag;

    cluster = data;
    worker = cluster->worker;

    memset(&lag, 0, sizeof(mcp_node_lag_t));

    for (i = 0; i < MCP_CLUSTER_BUCKETS; i++) {
        for (copy = cluster->copies[i]; copy; copy = copy->next) {
            if (copy->behind) {
                mcp_lag_add(copy, &lag);
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
mcp_lag_look(mcp_copy_t *copy, const mcp_store_copying_t *copying)
{
    uint64_t        now;
    mcp_cluster_t  *cluster;

    cluster = copy->cluster;

    if (copying->acked.seq >= copying->own.seq) {
        copy->behind = 0;
        return;
    }

    now = mcp_worker_now(cluster->worker);

    if (copy->behind == 0) {
        copy->behind = now;

    } else if (copying->acked.seq > copy->acked && copy->time) {

        /* what Redis does not have has come since it was told of the rest */

        copy->behind = copy->time;
    }

    copy->acked = copying->acked.seq;

    if (!mcp_timer_armed(&cluster->lag)) {
        mcp_timer_set(&cluster->worker->timers, &cluster->lag,
                      now + MCP_LAG_TIME);
    }
}
