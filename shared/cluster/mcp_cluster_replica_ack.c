/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Acknowledgements of Redis's replicas. WAIT blocks its connection until
 * enough replicas have all earlier commands of the connection, or until a
 * timeout, and returns the number of these replicas. So at most one WAIT is
 * pending for all streams, and after a failed one none is sent for a while.
 */


#include "cluster/mcp_cluster_replication.h"


/* Returns the timeout for WAIT: half of the time after which the link counts
 * as lost, and less than the interval of heartbeats, which have to wait
 * behind it. */
static uint64_t
mcp_replica_ack_time(const mcp_cluster_conf_t *conf)
{
    uint64_t  link, interval;

    link = conf->timeout / 2;
    interval = conf->node_timeout / MCP_CLUSTER_HEARTBEATS;

    return (link < interval ? link : interval) + 1;
}


/* Handles the reply to WAIT: the number of replicas that have the commands of
 * all replications in the list. Redis had executed these commands before WAIT,
 * because their own replies arrived before that to WAIT. */
static void
mcp_replica_ack_waited(void *data, const mcp_reply_t *reply)
{
    int                 rc;
    mcp_replication_t  *repl, *row;
    mcp_cluster_t      *cluster;

    cluster = data;
    row = cluster->ack_waiters;
    cluster->ack_waiters = NULL;
    cluster->ack_pending = 0;

    rc = reply && mcp_reply_number(reply) >= cluster->conf->replicas
         ? MCP_OK : MCP_ERR_UNREACHABLE;

    if (reply && reply->type != MCP_REPLY_NUMBER) {
        mcp_cluster_unexpected_reply(cluster, "WAIT", reply);
    }

    if (reply && rc != MCP_OK) {
        cluster->ack_failed = mcp_worker_now(cluster->worker);
    }

    /* a reply is pending for each replication in the list, so none was freed */

    while (row) {
        repl = row;
        row = repl->ack_next;
        repl->ack_next = NULL;

        /* if the stream was freed, another stream may have its id */

        mcp_replicator_over(repl, repl->phase == MCP_REPLICATION_DISCARD
                                  ? MCP_ERR_UNREACHABLE : rc);
    }
}


void
mcp_replica_ack_wait(mcp_cluster_t *cluster)
{
    mcp_script_args_t          args;
    const mcp_cluster_conf_t  *conf;

    conf = cluster->conf;

    if (cluster->ack_pending || conf->replicas == 0
        || mcp_worker_now(cluster->worker)
           < cluster->ack_failed + MCP_REPLICATION_LATER)
    {
        return;
    }

    mcp_args_init(&args);
    mcp_args_text(&args, mcp_str("WAIT"));
    mcp_args_number(&args, conf->replicas);
    mcp_args_number(&args, mcp_replica_ack_time(conf));

    cluster->ack_pending = mcp_link_send(&cluster->link, args.args, args.n,
                                         mcp_replica_ack_waited, cluster)
                           == MCP_OK;
}


void
mcp_replica_ack(mcp_replication_t *repl)
{
    mcp_cluster_t  *cluster;

    cluster = repl->cluster;

    if (cluster->conf->replicas == 0) {
        mcp_replicator_over(repl, MCP_OK);
        return;
    }

    mcp_replica_ack_wait(cluster);

    /* no WAIT can be sent, because the link has no room or a WAIT has just
     * failed: the events are sent again */

    if (!cluster->ack_pending) {
        mcp_replicator_over(repl, MCP_ERR_UNREACHABLE);
        return;
    }

    if (cluster->ack_waiters == NULL) {
        cluster->ack_waiters_end = &cluster->ack_waiters;
    }

    mcp_replication_set_phase(repl, MCP_REPLICATION_WAIT_REPLICAS);
    *cluster->ack_waiters_end = repl;
    cluster->ack_waiters_end = &repl->ack_next;
}
