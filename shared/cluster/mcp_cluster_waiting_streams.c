/* SPDX-License-Identifier: Apache-2.0 */

/* The list of streams that wait for room on their process's link to Redis.
 * They send commands in the order of the list. */


#include "cluster/mcp_cluster_replication.h"


static void
mcp_send_queue_wait(mcp_replication_t *repl)
{
    mcp_cluster_t  *cluster;

    if (repl->phase == MCP_REPLICATION_WAIT_ROOM) {
        return;
    }

    cluster = repl->cluster;

    if (cluster->waiting == NULL) {
        cluster->waiting_end = &cluster->waiting;
    }

    repl->waits_next = NULL;
    repl->waits = cluster->waiting_end;
    *repl->waits = repl;
    cluster->waiting_end = &repl->waits_next;
    mcp_replication_set_phase(repl, MCP_REPLICATION_WAIT_ROOM);
}


void
mcp_replication_wait_no_more(mcp_replication_t *repl)
{
    if (repl->phase != MCP_REPLICATION_WAIT_ROOM) {
        return;
    }

    *repl->waits = repl->waits_next;

    if (repl->waits_next) {
        repl->waits_next->waits = repl->waits;

    } else {
        repl->cluster->waiting_end = repl->waits;
    }

    mcp_replication_set_phase(repl, MCP_REPLICATION_IDLE);
}


int
mcp_replication_may_send(mcp_replication_t *repl)
{
    mcp_cluster_t  *cluster;

    cluster = repl->cluster;

    /* all streams are checked when the process is a member again */

    if (cluster->state != MCP_CLUSTER_MEMBER) {
        return 0;
    }

    /* a stream for which a client's request waits may send; any other stream
     * sends after those in the list */

    if (cluster->at_once || cluster->allowed == repl
        || (repl->ops && cluster->link.n_pending < MCP_LINK_QUERIED)
        || (mcp_link_has_room(&cluster->link) && cluster->waiting == NULL))
    {
        return 1;
    }

    mcp_send_queue_wait(repl);

    return 0;
}


/* Returns 1 if the first stream in the list may send now. "n" is the number
 * of streams in the list that were allowed to send since the last replies.
 * At least one may send after each reply, even if other commands fill the
 * link. */
static int
mcp_send_queue_is_first(const mcp_cluster_t *cluster, unsigned n)
{
    const mcp_link_t  *link;

    link = &cluster->link;

    return cluster->waiting && cluster->state == MCP_CLUSTER_MEMBER
           && (mcp_link_has_room(link)
               || (n == 0 && link->n_pending < MCP_LINK_QUERIED
                   && mcp_link_bytes(link) < MCP_LINK_REPLICATION_BYTES));
}


void
mcp_replication_continue(mcp_cluster_t *cluster)
{
    unsigned            n;
    mcp_replication_t  *repl;

    for (n = 0; mcp_send_queue_is_first(cluster, n); n++) {
        repl = cluster->waiting;
        mcp_replication_wait_no_more(repl);
        cluster->allowed = repl;
        mcp_replication_check(repl);
        cluster->allowed = NULL;
    }
}
