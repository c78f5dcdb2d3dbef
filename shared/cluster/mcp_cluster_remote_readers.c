/* SPDX-License-Identifier: Apache-2.0 */

/* The owner's view of readers at other nodes, from the replies to its own
 * commands: the entries of the node queue may have been lost. */


#include "cluster/mcp_cluster_replication.h"


/* Where the reader is, in a reply of redis/append.lua: at another node, or
 * nowhere. Any other value means at this node. */
#define MCP_REMOTE_READERS_READ_ELSEWHERE  0
#define MCP_REMOTE_READERS_READ_NOWHERE    2


/*
 * Handles a reply without a reader while the owner has a remote one: Redis may
 * have lost it. The reader's node reports it again soon, unless that node is
 * dead or the reader left while Redis was unreachable. Then the owner drops
 * the reader after the node timeout.
 */
static void
mcp_remote_readers_missed(mcp_replication_t *repl, uint64_t number)
{
    uint64_t                 now;
    mcp_store_t             *store;
    mcp_store_replication_state_t  repl_state;

    store = repl->cluster->worker->store;
    now = mcp_worker_now(repl->cluster->worker);

    if (mcp_store_replication_state(store, &repl->ref, &repl_state) != MCP_OK
        || repl_state.consumer_slot != MCP_STORE_REMOTE_CONSUMER
        || repl_state.reader <= number)
    {
        repl->missed = 0;

    } else if (repl->missed == 0) {
        repl->missed = now;

    } else if (now - repl->missed > repl->cluster->conf->node_timeout) {
        repl->missed = 0;
        mcp_store_remote_consumer_left(store, &repl->ref, repl_state.reader,
                                       repl_state.sent_seq, now);
    }
}


/* Handles a reply that the reader is at this node while the owner has a remote
 * one: the reader returned to this node, and the reply to its resuming was
 * lost. */
static void
mcp_remote_readers_back(mcp_replication_t *repl, uint64_t number)
{
    mcp_store_t             *store;
    mcp_store_replication_state_t  repl_state;

    store = repl->cluster->worker->store;

    if (mcp_store_replication_state(store, &repl->ref, &repl_state) == MCP_OK
        && repl_state.consumer_slot == MCP_STORE_REMOTE_CONSUMER
        && repl_state.reader < number)
    {
        mcp_store_remote_consumer_left(store, &repl->ref, repl_state.reader,
                                       repl_state.sent_seq,
                                       mcp_worker_now(repl->cluster->worker));
    }
}


void
mcp_remote_readers_readers(mcp_replication_t *repl, const mcp_reply_t *reply)
{
    uint64_t      number, sent;
    mcp_store_t  *store;

    store = repl->cluster->worker->store;
    number = mcp_reply_number(mcp_reply_item(reply, 3));
    sent = mcp_reply_number(mcp_reply_item(reply, 4));

    switch (mcp_reply_number(mcp_reply_item(reply, 2))) {

    case MCP_REMOTE_READERS_READ_ELSEWHERE:
        repl->missed = 0;
        (void) mcp_store_remote_consumer(store, &repl->ref, number, sent, 1);
        mcp_store_remote_consumer_sent(store, &repl->ref, number, sent);
        break;

    case MCP_REMOTE_READERS_READ_NOWHERE:
        mcp_store_remote_consumer_left(store, &repl->ref, number, sent,
                                       mcp_worker_now(repl->cluster->worker));
        mcp_remote_readers_missed(repl, number);
        break;

    default:
        repl->missed = 0;
        mcp_remote_readers_back(repl, number);
        break;
    }
}
