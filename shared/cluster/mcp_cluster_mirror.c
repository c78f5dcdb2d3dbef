/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The feeder of a mirror: it fetches what no mail has brought, says how far the
 * mirror is read, and that its reader has left.
 */


#include "cluster/mcp_cluster_copy.h"


int
mcp_mirror_event(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t seq, mcp_str_t message,
    mcp_str_t answers)
{
    int              rc;
    mcp_store_raw_t  raw;

    memset(&raw, 0, sizeof(mcp_store_raw_t));
    raw.seq = seq;
    raw.len = message.len;

    if (mcp_unpack_answers(answers, &raw) != MCP_OK
        || !mcp_pack_is_message(&cluster->worker->env->mem, message))
    {
        return MCP_ERR_SYNTAX;
    }

    rc = mcp_store_mirror_append(cluster->worker->store, id, &raw, message,
                                 mcp_worker_now(cluster->worker));

    return rc == MCP_DONE ? MCP_OK : rc;
}


int
mcp_mirror_feed(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], const mcp_reply_t *reply,
    size_t i, uint64_t seq)
{
    int  rc;

    for (rc = MCP_OK; i + 1 < reply->n && rc == MCP_OK; i += 2) {
        rc = mcp_mirror_event(cluster, id, seq++, reply->items[i]->text,
                              reply->items[i + 1]->text);
    }

    return rc;
}


/* What a dead node had is not all there, or finds no room: Redis is to forget
 * it when the mirror has gone, as nobody else would end it. */
static void
mcp_mirror_lost(mcp_copy_t *copy)
{
    if (copy->inherits && !copy->lost) {
        copy->lost = 1;
        mcp_worker_log(copy->cluster->worker, MCP_LOG_ERROR,
                       "cluster: a stream of a dead node is lost: %s",
                       copy->full && copy->tight ? "there is no room for it"
                                                 : "not all of it is there");
        mcp_store_node_count(copy->cluster->worker->store, MCP_NODE_DROPPED);
    }
}


/* Its owner may be about to begin it anew. */
void
mcp_mirror_missed(mcp_copy_t *copy)
{
    if (++copy->misses < MCP_COPY_MISSES) {
        mcp_copy_within(copy, copy->cluster->conf->dead_after / 3);
        return;
    }

    mcp_mirror_lost(copy);
    mcp_store_mirror_forget(copy->cluster->worker->store, copy->ref.id);
    mcp_copy_look(copy);
}


/* {..., last, confirmed, how it stands}: items i to i + 2. */
static void
mcp_mirror_known(mcp_copy_t *copy, const mcp_reply_t *reply, size_t i,
    uint64_t confirmed)
{
    mcp_store_stand_t  stand;

    stand.seq = mcp_reply_number(mcp_reply_item(reply, i));

    if (mcp_unpack_stand(mcp_reply_item(reply, i + 2)->text, &stand)
        == MCP_OK)
    {
        (void) mcp_store_mirror_known(copy->cluster->worker->store,
                                      copy->ref.id, &stand, confirmed,
                                      mcp_worker_now(copy->cluster->worker));
    }
}


/* --- fetching --- */

/* Returns 1 if the last event that is here is that one. */
static int
mcp_mirror_is_at(const mcp_copy_t *copy, uint64_t seq)
{
    mcp_store_copying_t  copying;

    return mcp_store_copying(copy->cluster->worker->store, &copy->ref,
                             &copying)
           == MCP_OK
           && copying.own.seq == seq;
}


static void
mcp_mirror_fetched(void *data, const mcp_reply_t *reply)
{
    int                 rc;
    mcp_copy_t         *copy;
    const mcp_reply_t  *kind;

    copy = data;

    if (!mcp_copy_returned(copy) || reply == NULL) {
        return;
    }

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "NONE") || mcp_reply_is(kind, "AHEAD")) {
        mcp_mirror_missed(copy);
        return;
    }

    if (!mcp_reply_is(kind, "OK")) {
        mcp_cluster_strange(copy->cluster, "watch", reply);
        mcp_copy_within(copy, copy->cluster->conf->dead_after / 3);
        return;
    }

    copy->misses = 0;
    mcp_range_learn(copy, reply);

    rc = mcp_mirror_feed(copy->cluster, copy->ref.id, reply, MCP_WATCH_EVENTS,
                         mcp_reply_number(mcp_reply_item(reply, 8)));

    /* until there is room, or there never will be; or more is known than there
     * is now */

    copy->full = (rc != MCP_OK || reply->n < MCP_WATCH_EVENTS + 2);
    copy->tight = (rc == MCP_ERR_LIMIT || rc == MCP_ERR_FULL);

    if (rc == MCP_OK) {
        copy->cramped = 0;
    }

    /* nor does it go on where what follows is not kept any more, unless it was
     * made anew meanwhile */

    if (rc == MCP_ERR_LARGE
        || (rc == MCP_AGAIN && mcp_mirror_is_at(copy, copy->fetched)))
    {
        mcp_mirror_lost(copy);
        mcp_store_mirror_forget(copy->cluster->worker->store, copy->ref.id);
    }

    mcp_copy_look(copy);
}


static void
mcp_mirror_fetch(mcp_copy_t *copy, uint64_t after)
{
    char       text[20];
    mcp_str_t  words[3];

    if (mcp_range_fetch(copy, after)) {
        return;
    }

    words[0].data = text;
    words[0].len = (size_t) (mcp_uint_print(text, after) - text);
    words[1] = mcp_str("");
    words[2] = mcp_str("");

    /* without a principal the script does not look at what follows */

    mcp_copy_run(copy, MCP_SCRIPT_WATCH, words, 3, mcp_mirror_fetched);
    copy->fetched = after;
}


/* --- telling --- */

static void
mcp_mirror_told(void *data, const mcp_reply_t *reply)
{
    mcp_copy_t         *copy;
    mcp_cluster_t      *cluster;
    const mcp_reply_t  *kind;

    copy = data;

    if (!mcp_copy_returned(copy) || reply == NULL) {
        return;
    }

    cluster = copy->cluster;
    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "NONE")) {
        mcp_mirror_missed(copy);
        return;
    }

    if (mcp_reply_is(kind, "TAKEN")) {
        mcp_store_mirror_displaced(cluster->worker->store, copy->ref.id,
                                   mcp_reply_number(mcp_reply_item(reply, 1)));
        copy->number = 0;

    } else if (mcp_reply_is(kind, "OK")) {
        copy->misses = 0;
        mcp_mirror_known(copy, reply, 1,
                         mcp_reply_number(mcp_reply_item(reply, 2)));
        mcp_store_share_got(cluster->worker->store, copy->ref.id,
                            mcp_reply_number(mcp_reply_item(reply, 4)));

    } else {
        mcp_cluster_strange(cluster, "sent", reply);
        mcp_copy_within(copy, cluster->conf->dead_after / 3);
        return;
    }

    mcp_copy_look(copy);
}


static void
mcp_mirror_tell(mcp_copy_t *copy, uint64_t sent, int left)
{
    char       texts[2][20];
    mcp_str_t  words[3];

    words[0].data = texts[0];
    words[0].len = (size_t) (mcp_uint_print(texts[0], copy->number)
                             - texts[0]);
    words[1].data = texts[1];
    words[1].len = (size_t) (mcp_uint_print(texts[1], sent) - texts[1]);
    words[2] = left ? mcp_str("1") : mcp_str("0");

    mcp_copy_run(copy, MCP_SCRIPT_SENT, words, 3, mcp_mirror_told);

    if (copy->sending) {
        copy->sent = sent;

        if (left) {
            copy->number = 0;
        }
    }
}


/* All that is kept of it is here: its owner is this node. */
static void
mcp_mirror_inherit(mcp_copy_t *copy)
{
    mcp_worker_t  *worker;

    worker = copy->cluster->worker;

    copy->inherits = 0;
    copy->number = 0;
    copy->time = 0;

    if (mcp_store_inherit(worker->store, copy->ref.id,
                          copy->cluster->conf->sync != MCP_CLUSTER_SYNC_OFF)
        == MCP_OK)
    {
        mcp_topic_replay(copy);
        mcp_worker_adopt(worker);
    }
}


/* Room may be made for what it inherits, but it is not waited for for ever. */
static int
mcp_mirror_may_wait(mcp_copy_t *copy)
{
    uint64_t  now;

    now = mcp_worker_now(copy->cluster->worker);

    if (copy->cramped == 0) {
        copy->cramped = now;
    }

    return copy->tight
           && now < copy->cramped + 2 * copy->cluster->conf->dead_after;
}


static void
mcp_mirror_look_inherited(mcp_copy_t *copy, const mcp_store_copying_t *copying)
{
    if (copy->full && copying->known.seq > copying->own.seq) {
        if (mcp_mirror_may_wait(copy)) {
            copy->full = 0;
            mcp_copy_within(copy, copy->cluster->conf->dead_after / 3);
            return;
        }

        mcp_mirror_lost(copy);
        mcp_store_mirror_forget(copy->cluster->worker->store, copy->ref.id);
        mcp_copy_look(copy);

    } else if (copying->known.seq > copying->own.seq) {
        mcp_mirror_fetch(copy, copying->own.seq);

    } else if (copying->listener && !copy->has_topics) {
        mcp_topic_fetch(copy);

    } else {
        mcp_mirror_inherit(copy);
    }
}


void
mcp_mirror_look(mcp_copy_t *copy, const mcp_store_copying_t *copying)
{
    uint64_t  now, refresh;

    now = mcp_worker_now(copy->cluster->worker);
    refresh = copy->cluster->conf->dead_after / 3;

    if (copy->inherits) {
        mcp_mirror_look_inherited(copy, copying);
        return;
    }

    /* it may have been fed by a process that has died, or named its reader
     * after this one's had left */

    if (copying->consumer_slot != MCP_STORE_NO_SLOT) {
        copy->number = copying->reader;
    }

    if (copy->number == 0) {
        /* what nobody has joined goes in its time */
        mcp_beside_look(copy, copying);
        return;
    }

    if (copying->consumer_slot == MCP_STORE_NO_SLOT) {
        mcp_mirror_tell(copy, copying->sent_seq, 1);
        return;
    }

    if (copying->known.seq > copying->own.seq && !copy->full) {
        mcp_mirror_fetch(copy, copying->own.seq);
        return;
    }

    if (copying->sent_seq >= copy->sent + MCP_COPY_TELL_EVENTS
        || now >= copy->time + refresh
        || (copying->sent_seq > copy->sent
            && now >= copy->time + MCP_COPY_TELL_TIME))
    {
        mcp_mirror_tell(copy, copying->sent_seq, 0);
        return;
    }

    mcp_copy_within(copy, copying->sent_seq > copy->sent
                          ? MCP_COPY_TELL_TIME : refresh);
}
