/* SPDX-License-Identifier: Apache-2.0 */

/* What the copier hears, from the reply to what it has appended, of those who
 * read the stream elsewhere: no mail may have told it. */


#include "cluster/mcp_cluster_copy.h"


/* Where Redis says that its reader is. */
#define MCP_HEAR_READ_ELSEWHERE  0
#define MCP_HEAR_READ_NOWHERE    2


/* Redis has lost who reads elsewhere: its node says so soon, or it is dead, or
 * its reader has left before Redis was there again. */
static void
mcp_hear_missed(mcp_copy_t *copy, uint64_t number)
{
    uint64_t              now;
    mcp_store_t          *store;
    mcp_store_copying_t   copying;

    store = copy->cluster->worker->store;
    now = mcp_worker_now(copy->cluster->worker);

    if (mcp_store_copying(store, &copy->ref, &copying) != MCP_OK
        || copying.consumer_slot != MCP_STORE_REMOTE
        || copying.reader <= number)
    {
        copy->missed = 0;

    } else if (copy->missed == 0) {
        copy->missed = now;

    } else if (now - copy->missed > copy->cluster->conf->dead_after) {
        copy->missed = 0;
        mcp_store_remote_left(store, &copy->ref, copying.reader,
                              copying.sent_seq, now);
    }
}


/* Its reader has come back to this node, and the reply to that was lost. */
static void
mcp_hear_back(mcp_copy_t *copy, uint64_t number)
{
    mcp_store_t          *store;
    mcp_store_copying_t   copying;

    store = copy->cluster->worker->store;

    if (mcp_store_copying(store, &copy->ref, &copying) == MCP_OK
        && copying.consumer_slot == MCP_STORE_REMOTE
        && copying.reader < number)
    {
        mcp_store_remote_left(store, &copy->ref, copying.reader,
                              copying.sent_seq,
                              mcp_worker_now(copy->cluster->worker));
    }
}


void
mcp_hear_readers(mcp_copy_t *copy, const mcp_reply_t *reply)
{
    uint64_t      number, sent;
    mcp_store_t  *store;

    store = copy->cluster->worker->store;
    number = mcp_reply_number(mcp_reply_item(reply, 3));
    sent = mcp_reply_number(mcp_reply_item(reply, 4));

    switch (mcp_reply_number(mcp_reply_item(reply, 2))) {

    case MCP_HEAR_READ_ELSEWHERE:
        copy->missed = 0;
        (void) mcp_store_remote_still(store, &copy->ref, number, sent);
        mcp_store_remote_sent(store, &copy->ref, number, sent);
        break;

    case MCP_HEAR_READ_NOWHERE:
        mcp_store_remote_left(store, &copy->ref, number, sent,
                              mcp_worker_now(copy->cluster->worker));
        mcp_hear_missed(copy, number);
        break;

    default:
        copy->missed = 0;
        mcp_hear_back(copy, number);
        break;
    }
}
