/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Many events of a mirror: a script costs Redis four times as much for each as
 * XRANGE does, so that only tells how far there are events, and how long they
 * are.  While one reply is put into the mirror Redis makes the next.
 */


#include <stdio.h>

#include "cluster/mcp_cluster_copy.h"


/* Events of one reply, their bytes, and fewer events than which make it no
 * quicker. */
#define MCP_RANGE_EVENTS  256
#define MCP_RANGE_BYTES   262144
#define MCP_RANGE_FEW     64

/* Replies that are to come at a time. */
#define MCP_RANGE_AHEAD   2

#define MCP_RANGE_KEY_MAX  256


static void mcp_range_fetched(void *data, const mcp_reply_t *reply);


void
mcp_range_learn(mcp_copy_t *copy, const mcp_reply_t *reply)
{
    uint64_t  n, longest;

    longest = mcp_reply_number(mcp_reply_item(reply, MCP_WATCH_EVENTS - 1));
    n = longest ? MCP_RANGE_BYTES / longest : 0;

    /* what comes after the last one may be longer */

    copy->upto = mcp_reply_number(mcp_reply_item(reply, 3));
    copy->batch = n < MCP_RANGE_FEW ? 0
                  : (uint32_t) (n < MCP_RANGE_EVENTS ? n : MCP_RANGE_EVENTS);
}


/* Asks for the events from "first" to "last"; returns what mcp_link_send()
 * does. */
static int
mcp_range_ask(mcp_copy_t *copy, uint64_t first, uint64_t last)
{
    int             n;
    char            key[MCP_RANGE_KEY_MAX], id[MCP_STREAM_TEXT_LEN];
    char            texts[2][20];
    mcp_str_t       words[4], prefix;
    mcp_cluster_t  *cluster;

    cluster = copy->cluster;
    prefix = cluster->conf->prefix;

    (void) mcp_stream_id_print(id, copy->ref.id);
    n = snprintf(key, sizeof(key), "%.*s:1:e:%.*s", (int) prefix.len,
                 prefix.data, MCP_STREAM_TEXT_LEN, id);

    words[0] = mcp_str("XRANGE");
    words[1] = (mcp_str_t) { key, (size_t) n };
    words[2].data = texts[0];
    words[2].len = (size_t) (mcp_uint_print(texts[0], first) - texts[0]);
    words[3].data = texts[1];
    words[3].len = (size_t) (mcp_uint_print(texts[1], last) - texts[1]);

    return mcp_link_send(&cluster->link, words, 4, mcp_range_fetched, copy);
}


/* Asks for as much as may be on its way. */
static void
mcp_range_more(mcp_copy_t *copy)
{
    uint64_t  last;

    while (copy->batch && copy->ranges < MCP_RANGE_AHEAD
           && copy->asked < copy->upto
           && (copy->ranges ? mcp_link_has_room(&copy->cluster->link)
                            : mcp_copy_may_send(copy)))
    {
        last = copy->asked + copy->batch;

        if (last > copy->upto) {
            last = copy->upto;
        }

        if (mcp_range_ask(copy, copy->asked + 1, last) != MCP_OK) {
            return;
        }

        copy->asked = last;
        copy->ranges++;
    }
}


/* {{"NUMBER-0", {"m", message, "r", what it answers}}, ...} */
static int
mcp_range_feed(mcp_copy_t *copy, const mcp_reply_t *reply)
{
    int                 rc;
    size_t              i;
    uint64_t            seq;
    mcp_str_t           id;
    const mcp_reply_t  *entry, *fields;

    for (rc = MCP_OK, i = 0; i < reply->n && rc == MCP_OK; i++) {
        entry = reply->items[i];
        fields = mcp_reply_item(entry, 1);
        id = mcp_reply_item(entry, 0)->text;

        if (id.len < 2 || memcmp(id.data + id.len - 2, "-0", 2) != 0
            || mcp_str_uint((mcp_str_t) { id.data, id.len - 2 }, &seq)
               != MCP_OK)
        {
            return MCP_ERR_SYNTAX;
        }

        rc = mcp_mirror_event(copy->cluster, copy->ref.id, seq,
                              mcp_reply_item(fields, 1)->text,
                              mcp_reply_item(fields, 3)->text);
    }

    return rc;
}


/* Whether somebody still reads what is fetched. */
static int
mcp_range_is_wanted(const mcp_copy_t *copy)
{
    mcp_store_copying_t  copying;

    return mcp_store_copying(copy->cluster->worker->store, &copy->ref,
                             &copying)
           == MCP_OK
           && (copy->inherits || copying.consumer_slot != MCP_STORE_NO_SLOT);
}


static void
mcp_range_fetched(void *data, const mcp_reply_t *reply)
{
    int          rc;
    mcp_copy_t  *copy;

    copy = data;

    /* the last reply frees what was dropped */

    if (--copy->ranges ? copy->gone : !mcp_copy_returned(copy)) {
        return;
    }

    /* what follows an event that had no room is of no use */

    if (copy->full) {
        rc = MCP_ERR_FULL;

    } else {
        rc = reply && reply->type == MCP_REPLY_ARRAY && reply->n
             ? mcp_range_feed(copy, reply) : MCP_ERR_NOT_FOUND;
    }

    /* whatever it is, the script says it */

    if (rc != MCP_OK || !mcp_range_is_wanted(copy)) {
        copy->batch = 0;
        copy->full = (rc == MCP_ERR_LIMIT || rc == MCP_ERR_FULL);
        copy->tight = copy->full;
    }

    mcp_range_more(copy);
    copy->sending = (copy->ranges != 0);

    if (reply) {
        mcp_copy_look(copy);
    }
}


int
mcp_range_fetch(mcp_copy_t *copy, uint64_t after)
{
    if (copy->cluster->state != MCP_CLUSTER_MEMBER) {
        return 0;
    }

    copy->asked = after;
    mcp_range_more(copy);
    copy->sending = (copy->ranges != 0);

    return copy->sending;
}
