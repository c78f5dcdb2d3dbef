/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What Redis has appended shall be had by replicas, too: WAIT says whether they
 * have all that came before it on its connection, and lets nothing pass as long
 * as they do not.  So one at most is on its way, for all streams, and after one
 * that has failed the link is left to others for a while.
 */


#include "cluster/mcp_cluster_copy.h"


/* What WAIT may take: half of the time after which the link counts as lost, and
 * less than what makes others take the node for dead, as its beat waits. */
static uint64_t
mcp_confirm_time(const mcp_cluster_conf_t *conf)
{
    uint64_t  link, beat;

    link = conf->timeout / 2;
    beat = conf->dead_after / MCP_CLUSTER_BEATS;

    return (link < beat ? link : beat) + 1;
}


/* The reply to WAIT: how many replicas have what all those in the row have
 * sent, whose replies came before. */
static void
mcp_confirm_waited(void *data, const mcp_reply_t *reply)
{
    int             rc;
    mcp_copy_t     *copy, *row;
    mcp_cluster_t  *cluster;

    cluster = data;
    row = cluster->confirms;
    cluster->confirms = NULL;
    cluster->confirming = 0;

    rc = reply && mcp_reply_number(reply) >= cluster->conf->replicas
         ? MCP_OK : MCP_ERR_AWAY;

    if (reply && reply->type != MCP_REPLY_NUMBER) {
        mcp_cluster_strange(cluster, "WAIT", reply);
    }

    if (reply && rc != MCP_OK) {
        cluster->unconfirmed = mcp_worker_now(cluster->worker);
    }

    /* one that waits for this is not freed before */

    while (row) {
        copy = row;
        row = copy->confirms_next;
        copy->confirms_next = NULL;

        /* if it is gone by now, another one may have its id */

        mcp_append_over(copy, copy->forgets ? MCP_ERR_AWAY : rc);
    }
}


void
mcp_confirm_ask(mcp_cluster_t *cluster)
{
    char                       texts[2][20];
    mcp_str_t                  words[3];
    const mcp_cluster_conf_t  *conf;

    conf = cluster->conf;

    if (cluster->confirming || conf->replicas == 0
        || mcp_worker_now(cluster->worker)
           < cluster->unconfirmed + MCP_COPY_LATER)
    {
        return;
    }

    words[0] = mcp_str("WAIT");
    words[1].data = texts[0];
    words[1].len = (size_t) (mcp_uint_print(texts[0], conf->replicas)
                             - texts[0]);
    words[2].data = texts[1];
    words[2].len = (size_t) (mcp_uint_print(texts[1], mcp_confirm_time(conf))
                             - texts[1]);

    cluster->confirming = mcp_link_send(&cluster->link, words, 3,
                                        mcp_confirm_waited, cluster)
                          == MCP_OK;
}


void
mcp_confirm(mcp_copy_t *copy)
{
    mcp_cluster_t  *cluster;

    cluster = copy->cluster;

    if (cluster->conf->replicas == 0) {
        mcp_append_over(copy, MCP_OK);
        return;
    }

    mcp_confirm_ask(cluster);

    /* there is no room to ask, or it is too early: it is said again */

    if (!cluster->confirming) {
        mcp_append_over(copy, MCP_ERR_AWAY);
        return;
    }

    if (cluster->confirms == NULL) {
        cluster->confirms_end = &cluster->confirms;
    }

    *cluster->confirms_end = copy;
    cluster->confirms_end = &copy->confirms_next;
}
