/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fetching many events of a mirror. An event costs Redis four times as much by
 * redis/resume.lua as by XRANGE, so the script fetches only the first of many
 * events, and reports the last event and the size of the longest one. While
 * one reply to XRANGE is added to the mirror, Redis prepares the next.
 */


#include "cluster/mcp_cluster_replication.h"


/* Limits of one reply to XRANGE: events and bytes. XRANGE is not used if
 * MCP_BULK_FETCH_BYTES have no room for MCP_BULK_FETCH_FEW events of the
 * longest size. */
#define MCP_BULK_FETCH_EVENTS  256
#define MCP_BULK_FETCH_BYTES   262144
#define MCP_BULK_FETCH_FEW     64

/* Maximum number of pending replies to XRANGE for one mirror. */
#define MCP_BULK_FETCH_AHEAD  2


static void mcp_bulk_fetch_fetched(void *data, const mcp_reply_t *reply);


void
mcp_bulk_fetch_note(mcp_replication_t *repl, const mcp_reply_t *reply)
{
    uint64_t  n, longest;

    longest =
        mcp_reply_number(mcp_reply_item(reply, MCP_REMOTE_RESUME_EVENTS - 1));
    n = longest ? MCP_BULK_FETCH_BYTES / longest : 0;

    /* XRANGE ends at the last event of this reply: later events may be
     * longer */

    repl->upto = mcp_reply_number(mcp_reply_item(reply, 3));
    repl->batch =
        n < MCP_BULK_FETCH_FEW
            ? 0
            : (uint32_t) (n < MCP_BULK_FETCH_EVENTS ? n
                                                    : MCP_BULK_FETCH_EVENTS);
}


/* Requests the events from first to last. Returns the values of
 * mcp_link_send(). */
static int
mcp_bulk_fetch_send(mcp_replication_t *repl, uint64_t first, uint64_t last)
{
    char                key[MCP_CLUSTER_KEY_MAX];
    mcp_cluster_t      *cluster;
    mcp_script_args_t   args;

    cluster = repl->cluster;

    mcp_args_init(&args);
    mcp_args_text(&args, mcp_str("XRANGE"));
    mcp_args_text(&args, mcp_cluster_stream_key(cluster, MCP_KEY_LOG,
                                                repl->ref.id, key));
    mcp_args_number(&args, first);
    mcp_args_number(&args, last);

    return mcp_link_send(&cluster->link, args.args, args.n,
                         mcp_bulk_fetch_fetched, repl);
}


/* Sends XRANGE commands until MCP_BULK_FETCH_AHEAD replies are pending, or all
 * events up to "upto" were requested. */
static void
mcp_bulk_fetch_more(mcp_replication_t *repl)
{
    uint64_t  last;

    while (repl->batch && repl->ranges < MCP_BULK_FETCH_AHEAD
           && repl->requested < repl->upto
           && (repl->ranges ? mcp_link_has_room(&repl->cluster->link)
                            : mcp_replication_may_send(repl)))
    {
        last = repl->requested + repl->batch;

        if (last > repl->upto) {
            last = repl->upto;
        }

        if (mcp_bulk_fetch_send(repl, repl->requested + 1, last) != MCP_OK) {
            return;
        }

        repl->requested = last;

        if (repl->ranges++ == 0) {
            mcp_replication_set_phase(repl, MCP_REPLICATION_SENT);
        }
    }
}


/* Adds the events of a reply to the mirror: {{"NUMBER-0", {"m", message, "r",
 * answers}}, ...}. */
static int
mcp_bulk_fetch_feed(mcp_replication_t *repl, const mcp_reply_t *reply)
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

        rc = mcp_mirror_event(repl->cluster, repl->ref.id, seq,
                              mcp_reply_item(fields, 1)->text,
                              mcp_reply_item(fields, 3)->text);
    }

    return rc;
}


/* Returns 1 if the mirror still has a reader or is being taken over. */
static int
mcp_bulk_fetch_is_wanted(const mcp_replication_t *repl)
{
    mcp_store_replication_state_t  repl_state;

    return mcp_store_replication_state(repl->cluster->worker->store, &repl->ref,
                             &repl_state)
           == MCP_OK
           && (repl->mirror >= MCP_MIRROR_TAKE_OVER
               || repl_state.consumer_slot != MCP_STORE_NO_SLOT);
}


static void
mcp_bulk_fetch_fetched(void *data, const mcp_reply_t *reply)
{
    int                 discards, rc;
    mcp_replication_t  *repl;

    repl = data;
    discards = repl->phase == MCP_REPLICATION_DISCARD;

    if (--repl->ranges == 0) {
        mcp_replication_returned(repl);
    }

    /* after an event for which the mirror had no room, no later event can be
     * added */

    if (repl->mirror == MCP_MIRROR_PAUSED || repl->mirror == MCP_MIRROR_NO_ROOM)
    {
        rc = MCP_ERR_FULL;

    } else {
        rc = reply && reply->type == MCP_REPLY_ARRAY && reply->n && !discards
             ? mcp_bulk_fetch_feed(repl, reply) : MCP_ERR_NOT_FOUND;
    }

    /* on any error redis/resume.lua is used next, whose reply contains the
     * reason */

    if (rc != MCP_OK || !mcp_bulk_fetch_is_wanted(repl)) {
        repl->batch = 0;
        mcp_mirror_note_fetch(repl, rc == MCP_ERR_LIMIT || rc == MCP_ERR_FULL
                                    ? rc : MCP_OK, 0);
    }

    mcp_bulk_fetch_more(repl);

    if (reply) {
        mcp_replication_check(repl);
    }
}


int
mcp_bulk_fetch_fetch(mcp_replication_t *repl, uint64_t after)
{
    if (repl->cluster->state != MCP_CLUSTER_MEMBER) {
        return 0;
    }

    repl->requested = after;
    mcp_bulk_fetch_more(repl);

    return repl->ranges != 0;
}
