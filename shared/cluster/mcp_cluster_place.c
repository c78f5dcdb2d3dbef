/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How far the node has heard what it is told, against Redis's clock.
 *
 * That clock may have been set back, or be another server's, and what was heard
 * may be lost there: then a stream begins anew with ids that are lower than the
 * last one heard, and nobody would hear what comes until the clock is there.
 */


#include "cluster/mcp_cluster_copy.h"


/* What Redis says of a stream whose place is beyond its clock: it may go on
 * from there all the same. */
static void
mcp_place_checked(mcp_cluster_t *cluster, mcp_node_place_e which,
    const mcp_reply_t *reply)
{
    size_t             i;
    mcp_node_place_t   place, last, begin = { 0, 0 };

    mcp_store_node_place(cluster->worker->store, which, &place);

    /* what was heard meanwhile is of the stream that is there */

    if (reply == NULL || place.ms != cluster->beyond[which].ms
        || place.n != cluster->beyond[which].n)
    {
        return;
    }

    if (reply->type == MCP_REPLY_ERROR) {
        if (!mcp_str_eq(reply->text, mcp_str("ERR no such key"))) {
            return;
        }

    } else {
        last = place;

        for (i = 0; i + 1 < reply->n; i += 2) {
            if (mcp_reply_is(reply->items[i], "last-generated-id")) {
                (void) mcp_tell_place(reply->items[i + 1]->text, &last);
            }
        }

        if (last.ms > place.ms || (last.ms == place.ms && last.n >= place.n)) {
            return;
        }
    }

    mcp_store_node_set_place(cluster->worker->store, which, &begin);
}


static void
mcp_place_checked_told(void *data, const mcp_reply_t *reply)
{
    mcp_place_checked(data, MCP_NODE_TOLD, reply);
}


static void
mcp_place_checked_heard(void *data, const mcp_reply_t *reply)
{
    mcp_place_checked(data, MCP_NODE_HEARD, reply);
}


static void
mcp_place_checked_mail(void *data, const mcp_reply_t *reply)
{
    mcp_place_checked(data, MCP_NODE_MAIL, reply);
}


void
mcp_place_check(mcp_cluster_t *cluster, uint64_t now)
{
    char              key[MCP_TELL_KEY_MAX];
    unsigned          i;
    mcp_str_t         words[3];
    mcp_node_place_t  place;

    static const mcp_link_reply_cb  handlers[] = {
        [MCP_NODE_TOLD] = mcp_place_checked_told,
        [MCP_NODE_HEARD] = mcp_place_checked_heard,
        [MCP_NODE_MAIL] = mcp_place_checked_mail
    };

    words[0] = mcp_str("XINFO");
    words[1] = mcp_str("STREAM");

    for (i = 0; i < MCP_NODE_PLACES; i++) {
        mcp_store_node_place(cluster->worker->store, (mcp_node_place_e) i,
                             &place);

        if (place.ms > now) {
            cluster->beyond[i] = place;
            words[2] = mcp_tell_key(cluster, (mcp_node_place_e) i, key);
            (void) mcp_link_send(&cluster->link, words, 3, handlers[i],
                                 cluster);
        }
    }
}
