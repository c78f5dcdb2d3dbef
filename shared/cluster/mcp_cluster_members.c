/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What Redis says of the nodes of a cluster: who they are, which is shown, and
 * why this one is not let in.
 */


#include <stdio.h>

#include "cluster/mcp_cluster_copy.h"


/* Copies a text that others have made, which may be none. */
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


/* The node serves alone, and the log has it once. */
static void
mcp_cluster_refuse(mcp_cluster_t *cluster, const char *why)
{
    mcp_store_node_alone(cluster->worker->store, why);
    mcp_copy_alone(cluster);
    mcp_cluster_error(cluster, "this node serves alone: %s", why);
}


/* Measures how far Redis's clock is from ours: it looked at it between question
 * and answer. */
static int64_t
mcp_cluster_offset(mcp_cluster_t *cluster, uint64_t theirs, uint64_t now)
{
    int      far;
    int64_t  offset;

    offset = (int64_t) (theirs - (cluster->asked + (now - cluster->asked) / 2));
    far = offset > MCP_CLUSTER_OFFSET_MAX || offset < -MCP_CLUSTER_OFFSET_MAX;

    if (far && !cluster->far && cluster->speaks) {
        mcp_worker_log(cluster->worker, MCP_LOG_WARN,
                       "cluster: the clock of Redis differs from this node's "
                       "by %lld ms", (long long) offset);
    }

    cluster->far = far;

    return offset;
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

    snprintf(why, sizeof(why), "what is in Redis has layout %llu, this node "
             "reads %u to %u", (unsigned long long) layout, cluster->low,
             cluster->high);
    mcp_cluster_refuse(cluster, why);

    return 0;
}


void
mcp_cluster_note(mcp_cluster_t *cluster, const mcp_reply_t *reply)
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

        member->beat = now - mcp_reply_number(mcp_reply_item(item, 1));
        mcp_cluster_text(member->label, sizeof(member->label),
                         mcp_reply_item(item, 2));
        mcp_cluster_text(member->build, sizeof(member->build),
                         mcp_reply_item(item, 3));
        view.n_members++;
    }

    mcp_store_node_view(cluster->worker->store, &view);
}


/* --- refused --- */

void
mcp_cluster_denied(mcp_link_t *link, const mcp_reply_t *error)
{
    char            text[MCP_NODE_REASON_MAX + 1];
    uint64_t        now;
    mcp_cluster_t  *cluster;

    cluster = link->cluster;

    /* that its link was lost before may have been told just now, but says
     * nothing of why */

    now = mcp_worker_now(cluster->worker);

    if (cluster->denied == 0 || now >= cluster->denied + MCP_CLUSTER_AGAIN) {
        cluster->denied = now;
        mcp_store_node_insist(cluster->worker->store);
    }

    /* what others know of goes on nowhere but in Redis: were it served here
     * alone, they would give its events another content */

    if (link != &cluster->link
        || mcp_store_node_has_joined(cluster->worker->store))
    {
        return;
    }

    mcp_cluster_text(text, sizeof(text), error);
    mcp_store_node_alone(cluster->worker->store, text);
    mcp_copy_alone(cluster);
}


void
mcp_cluster_barred(mcp_link_t *link, const char *command,
    const mcp_reply_t *error)
{
    int                        len;
    const mcp_cluster_conf_t  *conf;

    conf = link->cluster->conf;
    len = (int) (error->text.len < 100 ? error->text.len : 100);

    mcp_cluster_denied(link, error);

    if (len > 7 && memcmp(error->text.data, "NOPERM ", 7) == 0 && !link->asks) {
        mcp_link_fail(link, "%s: %.*s: Redis's user \"%.*s\" needs the rules "
                      "~%.*s:* " MCP_CLUSTER_RIGHTS, command, len,
                      error->text.data,
                      conf->user.len ? (int) conf->user.len : 7,
                      conf->user.len ? conf->user.data : "default",
                      (int) conf->prefix.len, conf->prefix.data);

    } else {
        mcp_link_fail(link, "%s: %.*s", command, len, error->text.data);
    }
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

    if (mcp_reply_is(kind, "KEYS")) {
        snprintf(why, sizeof(why), "node %s (%s) has no mcp_key in common "
                 "with it", node, label);

    } else if (mcp_reply_is(kind, "LAYOUT")) {
        snprintf(why, sizeof(why), "node %s (%s) reads layouts %llu to %llu of "
                 "what is in Redis, this one %u to %u", node, label,
                 (unsigned long long) mcp_reply_number(mcp_reply_item(reply,
                                                                      3)),
                 (unsigned long long) mcp_reply_number(mcp_reply_item(reply,
                                                                      4)),
                 cluster->low, cluster->high);

    } else if (mcp_reply_is(kind, "WRITTEN")) {
        return !mcp_cluster_reads(cluster, mcp_reply_item(reply, 1));

    } else {
        return 0;
    }

    mcp_cluster_refuse(cluster, why);

    return 1;
}
