/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Detects that the addresses of the configuration lead to another Redis than
 * the one to which processes of this node are connected. After a proxy was
 * switched, or a Sentinel has promoted a replica of a master that is only cut
 * off from it, two masters accept writes, and old connections stay at the old
 * one.
 *
 * The leader opens a connection with each heartbeat, which follows the address
 * of its open connection anew, and reads the run id at which members have
 * registered. A process that has registered at another run id connects again.
 * That takes less than two thirds of mcp_cluster_node_timeout. In this time
 * nodes at the new Redis grant no key, because they have found another run id
 * there, see redis/register_node.lua. So no key is granted at both.
 */


#include "cluster/mcp_cluster_internal.h"


static void
mcp_probe_ignore(mcp_cluster_t *cluster)
{
    (void) cluster;
}


/* A replica may have old data, so only a master is queried. */
static void
mcp_probe_role(void *data, const mcp_reply_t *reply)
{
    mcp_link_t  *link;

    link = data;

    if (reply && !mcp_reply_is(mcp_reply_item(reply, 0), "master")) {
        mcp_link_settled(link);
        mcp_link_stop(link);
    }
}


static void
mcp_probe_answered(void *data, const mcp_reply_t *reply)
{
    mcp_link_t   *link;
    mcp_store_t  *store;

    link = data;

    if (reply == NULL) {
        return;
    }

    /* the key is missing if Redis was emptied, or if its user may not run
     * INFO */

    if (reply->type == MCP_REPLY_TEXT) {
        store = link->cluster->worker->store;
        mcp_store_node_set_run(store, reply->text);
    }

    mcp_link_settled(link);
    mcp_link_stop(link);
}


static int
mcp_probe_query(mcp_link_t *link)
{
    int        rc;
    char       key[MCP_CLUSTER_KEY_MAX];
    mcp_str_t  argv[2];

    argv[0] = mcp_str("ROLE");
    rc = mcp_link_login(link, argv, 1, mcp_probe_role);

    if (rc != MCP_OK) {
        return rc;
    }

    argv[0] = mcp_str("GET");
    argv[1] = mcp_cluster_key(link->cluster, MCP_KEY_RUN, mcp_null_str, key);

    return mcp_link_login(link, argv, 2, mcp_probe_answered);
}


const mcp_link_handlers_t  mcp_probe_handlers = {
    .up = mcp_probe_ignore,
    .down = mcp_probe_ignore,
    .reloaded = mcp_probe_ignore,
    .replied = mcp_probe_ignore,
    .denied = mcp_cluster_denied,
    .query = mcp_probe_query
};


void
mcp_probe_set(mcp_cluster_t *cluster)
{
    if (cluster->leads) {

        /* the address of the open connection; but each Sentinel names the same
         * master */

        if (cluster->conf->sentinel.len == 0
            && cluster->probe.state == MCP_LINK_DOWN
            && !mcp_timer_armed(&cluster->probe.timer))
        {
            cluster->probe.seed = cluster->link.seed;
        }

        mcp_link_start(&cluster->probe);

    } else {
        mcp_link_stop(&cluster->probe);
    }
}


int
mcp_probe_is_elsewhere(mcp_cluster_t *cluster)
{
    char  run[MCP_NODE_RUN_MAX + 1];

    mcp_store_node_run(cluster->worker->store, run);

    return cluster->run[0] && run[0] && strcmp(cluster->run, run) != 0;
}
