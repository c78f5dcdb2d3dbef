/* SPDX-License-Identifier: Apache-2.0 */

/* Stores the list of the cluster's members for the status page, logs why Redis
 * rejects this node, and probes whether the configured addresses still lead to
 * the same Redis. */


#include <stdio.h>
#include <stdlib.h>

#include "cluster/mcp_cluster_internal.h"
#include "cluster/mcp_cluster_replication.h"


/* Copies the text of a reply, cut to size - 1 bytes, with a NUL, and replaces
 * characters that are not printable ASCII. */
static void
mcp_cluster_text(char *to, size_t size, const mcp_reply_t *reply)
{
    size_t  i, len;

    len = reply->text.len < size - 1 ? reply->text.len : size - 1;

    for (i = 0; i < len; i++) {
        to[i] = reply->text.data[i];

        if ((unsigned char) to[i] < 0x20 || (unsigned char) to[i] > 0x7e) {
            to[i] = '?';
        }
    }

    to[len] = '\0';
}


/* Makes the node serve alone, and logs the reason by mcp_cluster_error(). */
static void
mcp_cluster_refuse(mcp_cluster_t *cluster, const char *why)
{
    mcp_store_node_standalone(cluster->worker->store, why);
    mcp_replication_standalone(cluster);
    mcp_cluster_error(cluster, "this node is not a member of the cluster and "
                      "serves alone: %s", why);
}


/* Returns Redis's clock "theirs" minus the local clock, ms. Redis read its
 * clock after the command was sent and before the reply arrived, so its clock
 * is compared with the time halfway between the two. */
static int64_t
mcp_cluster_offset(mcp_cluster_t *cluster, uint64_t theirs, uint64_t now)
{
    int      far;
    int64_t  offset;

    offset =
        (int64_t) (theirs
                   - (cluster->registered + (now - cluster->registered) / 2));
    far = offset > MCP_CLUSTER_OFFSET_MAX || offset < -MCP_CLUSTER_OFFSET_MAX;

    if (far && !cluster->far && cluster->leads) {
        mcp_worker_log(cluster->worker, MCP_LOG_WARN,
                       "cluster: the clock of Redis differs from the clock of "
                       "this node by %lld ms: synchronize both by NTP",
                       (long long) offset);
    }

    cluster->far = (far != 0);

    return offset;
}


void
mcp_cluster_set_run(mcp_cluster_t *cluster, const mcp_reply_t *run)
{
    cluster->run[0] = '\0';

    if (run->type == MCP_REPLY_TEXT && run->text.len) {
        mcp_cluster_text(cluster->run, sizeof(cluster->run), run);
        mcp_store_node_set_run(cluster->worker->store, run->text);
    }
}


int
mcp_cluster_reads(mcp_cluster_t *cluster, const mcp_reply_t *number)
{
    char      why[MCP_NODE_REASON_MAX + 1];
    uint64_t  layout;

    layout = mcp_reply_number(number);

    if (layout >= cluster->low && layout <= cluster->high) {
        return 1;
    }

    snprintf(why, sizeof(why), "the data in Redis has layout %llu, but this "
             "node reads the layouts %u to %u", (unsigned long long) layout,
             cluster->low, cluster->high);
    mcp_cluster_refuse(cluster, why);

    return 0;
}


void
mcp_cluster_store_members(mcp_cluster_t *cluster, const mcp_reply_t *reply)
{
    size_t              i;
    uint64_t            now;
    mcp_node_view_t     view;
    mcp_node_member_t  *member;
    const mcp_reply_t  *list, *item;

    memset(&view, 0, sizeof(mcp_node_view_t));

    now = mcp_worker_now(cluster->worker);
    list = mcp_reply_item(reply, 3);

    cluster->offset = mcp_cluster_offset(cluster,
                          mcp_reply_number(mcp_reply_item(reply, 1)), now);

    view.at = now;
    view.offset = cluster->offset;
    view.layout = (uint32_t) mcp_reply_number(mcp_reply_item(reply, 2));

    for (i = 0; i < list->n && view.n_members < MCP_NODE_MEMBERS; i++) {
        item = list->items[i];
        member = &view.members[view.n_members];
        member->id = mcp_cluster_read_id(mcp_reply_item(item, 0)->text);

        if (member->id == 0) {
            continue;
        }

        member->heartbeat = now - mcp_reply_number(mcp_reply_item(item, 1));
        mcp_cluster_text(member->label, sizeof(member->label),
                         mcp_reply_item(item, 2));
        mcp_cluster_text(member->build, sizeof(member->build),
                         mcp_reply_item(item, 3));
        view.n_members++;
    }

    mcp_store_node_view(cluster->worker->store, &view);
}


void
mcp_cluster_check_endpoints(mcp_cluster_t *cluster, const mcp_reply_t *other)
{
    char  node[MCP_CLUSTER_ID_LEN + 1];
    char  label[MCP_NODE_LABEL_MAX + 1];

    if (other->type != MCP_REPLY_ARRAY || !cluster->leads || cluster->apart) {
        return;
    }

    cluster->apart = 1;
    mcp_cluster_text(node, sizeof(node), mcp_reply_item(other, 0));
    mcp_cluster_text(label, sizeof(label), mcp_reply_item(other, 1));
    mcp_worker_log(cluster->worker, MCP_LOG_WARN,
                   "cluster: node %s (%s) has no endpoint in common with this "
                   "node, so equal calls at both nodes are executed twice: "
                   "set mcp_cluster_endpoint to the same name at both nodes",
                   node, label);
}


/* --- rejections by Redis --- */

void
mcp_cluster_denied(mcp_link_t *link, const mcp_reply_t *error)
{
    char            text[MCP_NODE_REASON_MAX + 1];
    uint64_t        now;
    mcp_cluster_t  *cluster;

    cluster = link->cluster;

    /* make mcp_cluster_error() log this error at level error, even if it has
     * just logged the loss of the link without this reason */

    now = mcp_worker_now(cluster->worker);

    if (cluster->denied == 0 || now >= cluster->denied + MCP_CLUSTER_AGAIN) {
        cluster->denied = now;
        mcp_store_node_insist(cluster->worker->store);
    }

    /* After the node has joined, its streams wait for Redis: if they
     * continued here alone, their events could differ from those that other
     * nodes have. */

    if (link != &cluster->link
        || mcp_store_node_has_joined(cluster->worker->store))
    {
        return;
    }

    mcp_cluster_text(text, sizeof(text), error);
    mcp_store_node_standalone(cluster->worker->store, text);
    mcp_replication_standalone(cluster);
}


/* Records that the clocks of Redis and of this node differ too much, so that
 * the node answers with 503. The node does not serve alone, because it would
 * take valid tokens of other nodes for expired ones, or expired ones for
 * valid. */
static void
mcp_cluster_set_skewed(mcp_cluster_t *cluster, const mcp_reply_t *reply)
{
    long long  seconds;

    cluster->offset = mcp_cluster_offset(cluster,
                          mcp_reply_number(mcp_reply_item(reply, 1)),
                          mcp_worker_now(cluster->worker));
    seconds = (long long) cluster->offset / 1000;

    mcp_store_node_set_skewed(cluster->worker->store, 1);
    mcp_store_node_standalone(cluster->worker->store, "");
    mcp_cluster_error(cluster, "this node's clock is %lld s %s the clock of "
                               "Redis: synchronize both by NTP, then stop and "
                               "start this server, which answers with 503 "
                               "until then", llabs(seconds),
                      seconds < 0 ? "ahead of" : "behind");
}


/* Handles a rejection by another node. A node that has joined does not serve
 * alone, for the reason in mcp_cluster_denied(): Redis counts as unreachable.
 * The other node may have registered first after Redis was emptied. */
static void
mcp_cluster_rejected(mcp_cluster_t *cluster, const char *why)
{
    cluster->emptied = 0;

    if (mcp_store_node_has_joined(cluster->worker->store)) {
        mcp_cluster_error(cluster, "this node is no longer a member of the "
                          "cluster, and counts Redis as unreachable: %s", why);
        return;
    }

    mcp_cluster_refuse(cluster, why);
}


int
mcp_cluster_refused(mcp_cluster_t *cluster, const mcp_reply_t *reply)
{
    char                why[MCP_NODE_REASON_MAX + 1];
    char                node[MCP_CLUSTER_ID_LEN + 1];
    char                label[MCP_NODE_LABEL_MAX + 1];
    const mcp_reply_t  *kind;

    kind = mcp_reply_item(reply, 0);

    mcp_cluster_text(node, sizeof(node), mcp_reply_item(reply, 1));
    mcp_cluster_text(label, sizeof(label), mcp_reply_item(reply, 2));

    if (mcp_reply_is(kind, "CLOCK")) {
        mcp_cluster_set_skewed(cluster, reply);
        return 1;
    }

    mcp_store_node_set_skewed(cluster->worker->store, 0);

    if (mcp_reply_is(kind, "KEYS")) {
        snprintf(why, sizeof(why), "node %s (%s) has no mcp_key in common with "
                 "this node", node, label);

    } else if (mcp_reply_is(kind, "LAYOUT")) {
        snprintf(why, sizeof(why), "node %s (%s) reads the layouts %llu to "
                 "%llu of the data in Redis, but this node reads %u to "
                 "%u", node, label,
                 (unsigned long long) mcp_reply_number(mcp_reply_item(reply,
                                                                      3)),
                 (unsigned long long) mcp_reply_number(mcp_reply_item(reply,
                                                                      4)),
                 cluster->low, cluster->high);

    } else if (mcp_reply_is(kind, "WRITTEN")) {
        return !mcp_cluster_reads(cluster, mcp_reply_item(reply, 1));

    } else if (mcp_reply_is(kind, "EMPTY")) {

        if (cluster->emptied == 0) {
            cluster->emptied = mcp_worker_now(cluster->worker);
        }

        return 1;

    } else {
        return 0;
    }

    mcp_cluster_rejected(cluster, why);

    return 1;
}


/* --- the probe of the addresses --- */

/*
 * Detects that the addresses of the configuration lead to another Redis than
 * the one to which processes of this node are connected. After a proxy was
 * switched, or a Sentinel has promoted a replica although the old master is
 * only cut off from the Sentinel, two masters accept writes, and existing
 * connections stay at the old master.
 *
 * With each heartbeat the leader opens one more connection to the configured
 * address of its link, and reads the run id that members have stored there when
 * they registered. A process that has registered at a Redis with another run id
 * connects again. That takes less than two thirds of mcp_cluster_node_timeout.
 * In this time scripts at the new Redis grant neither claims of calls nor
 * resume tokens, because a member that registered there has detected the
 * change of the run id (redis/register_node.lua). So the old and the new Redis
 * do not both grant the same claim.
 */

static void
mcp_probe_ignore(mcp_cluster_t *cluster)
{
    (void) cluster;
}


/* Stops the probe if the server is not a master, because a replica may have old
 * data. */
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
mcp_probe_received(void *data, const mcp_reply_t *reply)
{
    mcp_link_t   *link;
    mcp_store_t  *store;

    link = data;

    if (reply == NULL) {
        return;
    }

    /* the reply is not a text if Redis was emptied, or if members could not
     * store the run id because their Redis user may not run INFO: the run id is
     * then unknown */

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

    return mcp_link_login(link, argv, 2, mcp_probe_received);
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

        /* the probe starts with the address of the open connection; with
         * Sentinels any address will do, because each Sentinel names the same
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
