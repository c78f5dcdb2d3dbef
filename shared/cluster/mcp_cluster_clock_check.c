/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Compares the positions up to which broadcasts and the node queue were
 * received with Redis's clock. That clock may have been set back, or belong to
 * another server that lacks the broadcasts. Then a Redis stream begins anew
 * with ids below the position, and the node would ignore new entries until the
 * clock has passed the position.
 */


#include "cluster/mcp_cluster_replication.h"


/* Handles the reply to XINFO STREAM for a Redis stream whose position is later
 * than Redis's clock. The position remains if the last id of the Redis stream
 * is not below it; otherwise the Redis stream is read from its beginning. */
static void
mcp_position_checked(mcp_cluster_t *cluster, mcp_node_position_e which,
    const mcp_reply_t *reply)
{
    size_t               i;
    mcp_node_position_t  position, last, begin = { 0, 0 };

    mcp_store_node_position(cluster->worker->store, which, &position);

    /* a position that has changed since XINFO was sent shows that the Redis
     * stream exists */

    if (reply == NULL || position.ms != cluster->beyond[which].ms
        || position.n != cluster->beyond[which].n)
    {
        return;
    }

    if (reply->type == MCP_REPLY_ERROR) {
        if (!mcp_str_eq(reply->text, mcp_str("ERR no such key"))) {
            return;
        }

    } else {
        last = position;

        for (i = 0; i + 1 < reply->n; i += 2) {
            if (mcp_reply_is(reply->items[i], "last-generated-id")) {
                (void) mcp_broadcast_position(reply->items[i + 1]->text, &last);
            }
        }

        if (last.ms > position.ms
            || (last.ms == position.ms && last.n >= position.n)) {
            return;
        }
    }

    mcp_store_node_set_position(cluster->worker->store, which, &begin);
}


static void
mcp_position_checked_sent(void *data, const mcp_reply_t *reply)
{
    mcp_position_checked(data, MCP_NODE_SENT, reply);
}


static void
mcp_position_checked_received(void *data, const mcp_reply_t *reply)
{
    mcp_position_checked(data, MCP_NODE_RECEIVED, reply);
}


static void
mcp_position_checked_queue(void *data, const mcp_reply_t *reply)
{
    mcp_position_checked(data, MCP_NODE_QUEUE, reply);
}


void
mcp_position_check(mcp_cluster_t *cluster, uint64_t now)
{
    char                 key[MCP_CLUSTER_KEY_MAX];
    unsigned             i;
    mcp_str_t            argv[3];
    mcp_node_position_t  position;

    static const mcp_link_reply_cb  handlers[] = {
        [MCP_NODE_SENT] = mcp_position_checked_sent,
        [MCP_NODE_RECEIVED] = mcp_position_checked_received,
        [MCP_NODE_QUEUE] = mcp_position_checked_queue
    };

    argv[0] = mcp_str("XINFO");
    argv[1] = mcp_str("STREAM");

    for (i = 0; i < MCP_NODE_POSITIONS; i++) {
        mcp_store_node_position(cluster->worker->store, (mcp_node_position_e) i,
                                &position);

        if (position.ms > now) {
            cluster->beyond[i] = position;
            argv[2] = mcp_broadcast_key(cluster, (mcp_node_position_e) i, key);
            (void) mcp_link_send(&cluster->link, argv, 3, handlers[i],
                                 cluster);
        }
    }
}
