/* SPDX-License-Identifier: Apache-2.0 */

/* Streams that wait for room on their process's link to Redis, one after the
 * other. */


#include "cluster/mcp_cluster_copy.h"


static void
mcp_room_wait(mcp_copy_t *copy)
{
    mcp_cluster_t  *cluster;

    if (copy->waits) {
        return;
    }

    cluster = copy->cluster;

    if (cluster->waiting == NULL) {
        cluster->waiting_end = &cluster->waiting;
    }

    copy->waits_next = NULL;
    copy->waits = cluster->waiting_end;
    *copy->waits = copy;
    cluster->waiting_end = &copy->waits_next;
}


void
mcp_copy_wait_no_more(mcp_copy_t *copy)
{
    if (copy->waits == NULL) {
        return;
    }

    *copy->waits = copy->waits_next;

    if (copy->waits_next) {
        copy->waits_next->waits = copy->waits;

    } else {
        copy->cluster->waiting_end = copy->waits;
    }

    copy->waits = NULL;
}


int
mcp_copy_may_send(mcp_copy_t *copy)
{
    mcp_cluster_t  *cluster;

    cluster = copy->cluster;

    /* when it is a member again all are looked at */

    if (cluster->state != MCP_CLUSTER_MEMBER) {
        return 0;
    }

    /* a client's request waits for it; or those that wait go first */

    if (cluster->at_once || cluster->turn == copy
        || (copy->asks && cluster->link.n_pending < MCP_LINK_ASKED)
        || (mcp_link_has_room(&cluster->link) && cluster->waiting == NULL))
    {
        return 1;
    }

    mcp_room_wait(copy);

    return 0;
}


/* Whether one that waits may go on; however busy others keep the link, one goes
 * on when replies have come. */
static int
mcp_room_has_turn(const mcp_cluster_t *cluster, unsigned n)
{
    const mcp_link_t  *link;

    link = &cluster->link;

    return cluster->waiting && cluster->state == MCP_CLUSTER_MEMBER
           && (mcp_link_has_room(link)
               || (n == 0 && link->n_pending < MCP_LINK_ASKED
                   && mcp_link_bytes(link) < MCP_LINK_COPY_BYTES));
}


void
mcp_copy_go_on(mcp_cluster_t *cluster)
{
    unsigned     n;
    mcp_copy_t  *copy;

    for (n = 0; mcp_room_has_turn(cluster, n); n++) {
        copy = cluster->waiting;
        mcp_copy_wait_no_more(copy);
        cluster->turn = copy;
        mcp_copy_look(copy);
        cluster->turn = NULL;
    }
}
