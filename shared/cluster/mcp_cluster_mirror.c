/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Feeds mirrors. Fetches the events that did not arrive in the node queue.
 * Reports to Redis which event was last sent to the mirror's reader, and
 * whether the reader has left.
 *
 * Fetching an event by redis/resume.lua costs Redis four times as much as by
 * XRANGE. If there are many events, the script therefore fetches only the first
 * ones. Its reply also contains the number of the last event and the size of
 * the longest event, and XRANGE fetches the rest. While one reply to XRANGE is
 * added to the mirror, Redis prepares the next reply.
 */


#include <stdio.h>

#include "cluster/mcp_cluster_replication.h"


/* Limits of one reply to XRANGE: events and bytes. XRANGE is not used if
 * MCP_BULK_FETCH_BYTES have no room for MCP_BULK_FETCH_FEW events of the size
 * of the stream's longest event. */
#define MCP_BULK_FETCH_EVENTS  256
#define MCP_BULK_FETCH_BYTES   262144
#define MCP_BULK_FETCH_FEW     64

/* Maximum number of pending replies to XRANGE for one mirror. */
#define MCP_BULK_FETCH_AHEAD  2


static void mcp_bulk_fetch_fetched(void *data, const mcp_reply_t *reply);


void
mcp_mirror_set_state(mcp_replication_t *repl, mcp_mirror_state_e state)
{
    static const char *const  names[] = {
        [MCP_MIRROR_NONE] = "none",
        [MCP_MIRROR_FETCH] = "fetch",
        [MCP_MIRROR_PAUSED] = "paused",
        [MCP_MIRROR_TAKE_OVER] = "take-over",
        [MCP_MIRROR_NO_ROOM] = "no room",
        [MCP_MIRROR_NO_EVENTS] = "no events",
        [MCP_MIRROR_TOPICS] = "topics",
        [MCP_MIRROR_LOST] = "lost"
    };

    if (repl->mirror != state) {
        mcp_replication_log_change(repl, "mirror", names[state],
                                   names[repl->mirror]);
    }

    repl->mirror = state;
}


void
mcp_mirror_note_fetch(mcp_replication_t *repl, int rc, int has_none)
{
    int  has_room, paused;

    has_room = rc != MCP_ERR_LIMIT && rc != MCP_ERR_FULL;
    paused = rc != MCP_OK || has_none;

    if (repl->mirror < MCP_MIRROR_TAKE_OVER) {
        mcp_mirror_set_state(repl, paused ? MCP_MIRROR_PAUSED
                                          : MCP_MIRROR_FETCH);

    } else {
        mcp_mirror_set_state(repl, !has_room ? MCP_MIRROR_NO_ROOM
                                   : paused ? MCP_MIRROR_NO_EVENTS
                                            : MCP_MIRROR_TAKE_OVER);
    }
}


void
mcp_mirror_continue(mcp_replication_t *repl)
{
    if (repl->mirror == MCP_MIRROR_PAUSED) {
        mcp_mirror_set_state(repl, MCP_MIRROR_FETCH);

    } else if (repl->mirror == MCP_MIRROR_NO_ROOM
               || repl->mirror == MCP_MIRROR_NO_EVENTS)
    {
        mcp_mirror_set_state(repl, MCP_MIRROR_TAKE_OVER);
    }
}


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

    if (mcp_codec_decode_answers(answers, &raw) != MCP_OK
        || !mcp_codec_is_message(&cluster->worker->env->mem, message))
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


/* Frees a mirror whose next event Redis does not have, or for whose next event
 * the zone has no room. If this node is taking the stream over, also has the
 * stream removed from Redis, because no other node would end it. */
static void
mcp_mirror_give_up(mcp_replication_t *repl)
{
    if (repl->mirror >= MCP_MIRROR_TAKE_OVER && repl->mirror != MCP_MIRROR_LOST)
    {
        mcp_worker_log(repl->cluster->worker, MCP_LOG_ERROR,
                       "cluster: a stream of a dead node is lost: %s",
                       repl->mirror == MCP_MIRROR_NO_ROOM
                       ? "the zone is full: enlarge the zone"
                       : "Redis does not have all of its events");
        mcp_store_node_count(repl->cluster->worker->store, MCP_NODE_DROPPED);
        mcp_mirror_set_state(repl, MCP_MIRROR_LOST);
    }

    mcp_store_mirror_forget(repl->cluster->worker->store, repl->ref.id);
    mcp_replication_check(repl);
}


/* The mirror is freed only after several consecutive replies that Redis does
 * not have the stream, because the owner may be about to replicate the stream
 * again. */
void
mcp_mirror_missed(mcp_replication_t *repl)
{
    if (++repl->misses < MCP_REPLICATION_MISSES) {
        mcp_replication_within(repl, repl->cluster->conf->node_timeout / 3);
        return;
    }

    mcp_mirror_give_up(repl);
}


void
mcp_mirror_known(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t seq, mcp_str_t state,
    uint64_t confirmed, uint64_t input)
{
    mcp_store_t             *store;
    mcp_store_checkpoint_t   checkpoint;

    store = cluster->worker->store;
    checkpoint.seq = seq;

    if (mcp_codec_decode_state(state, &checkpoint) == MCP_OK) {
        (void) mcp_store_mirror_known(store, id, &checkpoint, confirmed,
                                      mcp_worker_now(cluster->worker));
    }

    mcp_store_replication_got(store, id, input);
}


/* --- fetching many events --- */

void
mcp_bulk_fetch_note(mcp_replication_t *repl, const mcp_reply_t *reply)
{
    uint64_t  n, longest;

    longest =
        mcp_reply_number(mcp_reply_item(reply, MCP_REMOTE_RESUME_EVENTS - 1));
    n = longest ? MCP_BULK_FETCH_BYTES / longest : 0;

    /* XRANGE must not fetch beyond the last event that this reply of
     * redis/resume.lua names, because later events may be longer than
     * "longest" */

    repl->upto = mcp_reply_number(mcp_reply_item(reply, 3));
    repl->batch =
        n < MCP_BULK_FETCH_FEW
            ? 0
            : (uint32_t) (n < MCP_BULK_FETCH_EVENTS ? n
                                                    : MCP_BULK_FETCH_EVENTS);
}


/* Requests the events "first" to "last" by XRANGE. Returns the values of
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

    while (repl->batch && repl->pending < MCP_BULK_FETCH_AHEAD
           && repl->requested < repl->upto
           && (repl->pending ? mcp_link_has_room(&repl->cluster->link)
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

        if (repl->pending++ == 0) {
            mcp_replication_set_phase(repl, MCP_REPLICATION_SENT);
        }
    }
}


/* Adds the events of a reply to XRANGE, {{"NUMBER-0", {"m", message, "r",
 * answers}}, ...}, to the mirror. Returns MCP_ERR_SYNTAX if the reply is
 * malformed, otherwise the values of mcp_mirror_event(). */
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

    if (--repl->pending == 0) {
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


/* Requests the events after the event "after" by XRANGE and returns 1. Returns
 * 0 if XRANGE is not used or cannot be sent: redis/resume.lua has to fetch
 * them. */
static int
mcp_bulk_fetch_fetch(mcp_replication_t *repl, uint64_t after)
{
    if (repl->cluster->state != MCP_CLUSTER_MEMBER) {
        return 0;
    }

    repl->requested = after;
    mcp_bulk_fetch_more(repl);

    return repl->pending != 0;
}


/* --- fetching --- */

/* Returns 1 if the event "seq" is the last one of the mirror. */
static int
mcp_mirror_is_at(const mcp_replication_t *repl, uint64_t seq)
{
    mcp_store_replication_state_t  repl_state;

    return mcp_store_replication_state(repl->cluster->worker->store, &repl->ref,
                             &repl_state)
           == MCP_OK
           && repl_state.own.seq == seq;
}


static void
mcp_mirror_fetched(void *data, const mcp_reply_t *reply)
{
    int                 rc;
    mcp_replication_t  *repl;
    const mcp_reply_t  *kind;

    repl = data;

    mcp_replication_returned(repl);

    if (reply == NULL) {
        return;
    }

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "NONE") || mcp_reply_is(kind, "AHEAD")) {
        mcp_mirror_missed(repl);
        return;
    }

    if (!mcp_reply_is(kind, "OK")) {
        mcp_cluster_unexpected_reply(repl->cluster, "resume", reply);
        mcp_replication_within(repl, repl->cluster->conf->node_timeout / 3);
        return;
    }

    repl->misses = 0;
    mcp_bulk_fetch_note(repl, reply);

    rc = mcp_mirror_feed(repl->cluster, repl->ref.id, reply,
                         MCP_REMOTE_RESUME_EVENTS,
                         mcp_reply_number(mcp_reply_item(reply, 8)));

    /* pause the fetching if the mirror has no room, or if the reply has no
     * event */

    mcp_mirror_note_fetch(repl, rc, reply->n < MCP_REMOTE_RESUME_EVENTS + 2);

    if (rc == MCP_OK) {
        repl->cramped = 0;
    }

    /* free the mirror if its next event can never fit, or if Redis no longer
     * has its next event; in the second case the mirror is kept if it was
     * created anew since the command was sent */

    if (rc == MCP_ERR_LARGE
        || (rc == MCP_AGAIN && mcp_mirror_is_at(repl, repl->fetched)))
    {
        mcp_mirror_give_up(repl);
        return;
    }

    mcp_replication_check(repl);
}


static void
mcp_mirror_fetch(mcp_replication_t *repl, uint64_t after)
{
    mcp_script_args_t  args;

    if (mcp_bulk_fetch_fetch(repl, after)) {
        return;
    }

    mcp_args_init(&args);
    mcp_args_number(&args, after);
    mcp_args_text(&args, mcp_str(""));
    mcp_args_text(&args, mcp_str(""));

    /* with an empty principal redis/resume.lua ignores the remaining
     * arguments */

    (void) mcp_replication_run(repl, MCP_SCRIPT_RESUME, args.args, args.n,
                               mcp_mirror_fetched);
    repl->fetched = after;
}


/* --- reporting the position --- */

static void
mcp_mirror_position_sent(void *data, const mcp_reply_t *reply)
{
    mcp_replication_t  *repl;
    mcp_cluster_t      *cluster;
    const mcp_reply_t  *kind;

    repl = data;

    mcp_replication_returned(repl);

    if (reply == NULL) {
        return;
    }

    cluster = repl->cluster;
    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "NONE")) {
        mcp_mirror_missed(repl);
        return;
    }

    if (mcp_reply_is(kind, "TAKEN")) {
        mcp_store_mirror_displaced(cluster->worker->store, repl->ref.id,
                                   mcp_reply_number(mcp_reply_item(reply, 1)));
        repl->number = 0;

    } else if (mcp_reply_is(kind, "OK")) {
        repl->misses = 0;
        mcp_mirror_known(cluster, repl->ref.id,
                         mcp_reply_number(mcp_reply_item(reply, 1)),
                         mcp_reply_item(reply, 3)->text,
                         mcp_reply_number(mcp_reply_item(reply, 2)),
                         mcp_reply_number(mcp_reply_item(reply, 4)));

    } else {
        mcp_cluster_unexpected_reply(cluster, "read_position", reply);
        mcp_replication_within(repl, cluster->conf->node_timeout / 3);
        return;
    }

    mcp_replication_check(repl);
}


static void
mcp_mirror_send_position(mcp_replication_t *repl, uint64_t sent, int left)
{
    mcp_script_args_t  args;

    mcp_args_init(&args);
    mcp_args_number(&args, repl->number);
    mcp_args_number(&args, sent);
    mcp_args_text(&args, left ? mcp_str("1") : mcp_str("0"));

    if (mcp_replication_run(repl, MCP_SCRIPT_READ_POSITION, args.args, args.n,
                            mcp_mirror_position_sent)
        == MCP_OK)
    {
        repl->sent = sent;

        if (left) {
            repl->number = 0;
        }
    }
}


static void
mcp_mirror_freed_reported(void *data, const mcp_reply_t *reply)
{
    if (reply && reply->type != MCP_REPLY_ARRAY) {
        mcp_cluster_unexpected_reply(data, "read_position", reply);
    }
}


/* Without this report, the owner would keep a stream that is over for max_wait,
 * because the stream would count as not completely sent. */
int
mcp_mirror_report_freed(mcp_replication_t *repl)
{
    int                 rc;
    mcp_cluster_t      *cluster;
    mcp_script_args_t   args;

    cluster = repl->cluster;

    if (repl->left == 0 || repl->number == 0) {
        return MCP_OK;
    }

    if (cluster->state != MCP_CLUSTER_MEMBER) {
        return MCP_AGAIN;
    }

    mcp_args_init(&args);
    mcp_args_stream(&args, repl->ref.id);
    mcp_args_number(&args, repl->number);
    mcp_args_number(&args, repl->left);
    mcp_args_text(&args, mcp_str("1"));

    rc = mcp_cluster_run(cluster, MCP_SCRIPT_READ_POSITION, args.args, args.n,
                         mcp_mirror_freed_reported, cluster);

    if (rc == MCP_OK) {
        repl->left = 0;
    }

    return rc;
}


/* Turns the mirror of a dead node's stream into a stream of this node. */
static void
mcp_mirror_promote(mcp_replication_t *repl)
{
    int            rc;
    mcp_worker_t  *worker;

    worker = repl->cluster->worker;

    repl->number = 0;
    repl->time = 0;

    rc = mcp_store_promote(worker->store, repl->ref.id,
                           repl->cluster->conf->sync != MCP_CLUSTER_SYNC_OFF);
    mcp_mirror_set_state(repl, rc == MCP_OK ? MCP_MIRROR_NONE
                                            : MCP_MIRROR_FETCH);

    if (rc == MCP_OK) {
        mcp_topic_replay(repl);
        mcp_worker_adopt(worker);
    }
}


/* Returns 1 if the events of a dead node's stream may continue to wait for room
 * in the zone, or 0 if they have waited for two node timeouts. */
static int
mcp_mirror_may_wait(mcp_replication_t *repl)
{
    uint64_t  now;

    now = mcp_worker_now(repl->cluster->worker);

    if (repl->cramped == 0) {
        repl->cramped = now;
    }

    return now < repl->cramped + 2 * repl->cluster->conf->node_timeout;
}


static void
mcp_mirror_check_promoted(mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    if (repl_state->known.seq <= repl_state->own.seq) {
        if (repl_state->listener && repl->mirror != MCP_MIRROR_TOPICS) {
            mcp_topic_fetch(repl);

        } else {
            mcp_mirror_promote(repl);
        }

    } else if (repl->mirror == MCP_MIRROR_NO_ROOM && mcp_mirror_may_wait(repl))
    {
        mcp_mirror_continue(repl);
        mcp_replication_within(repl, repl->cluster->conf->node_timeout / 3);

    } else if (repl->mirror == MCP_MIRROR_NO_ROOM
               || repl->mirror == MCP_MIRROR_NO_EVENTS)
    {
        mcp_mirror_give_up(repl);

    } else {
        mcp_mirror_fetch(repl, repl_state->own.seq);
    }
}


void
mcp_mirror_check(mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    uint64_t  now, refresh;

    now = mcp_worker_now(repl->cluster->worker);
    refresh = repl->cluster->conf->node_timeout / 3;

    if (repl->mirror >= MCP_MIRROR_TAKE_OVER) {
        mcp_mirror_check_promoted(repl, repl_state);
        return;
    }

    /* get the number of the present reader: another process may have fed the
     * mirror and died, or a new reader may have attached after this process's
     * reader left */

    if (repl_state->consumer_slot != MCP_STORE_NO_SLOT) {
        repl->number = repl_state->reader;
    }

    if (repl->number == 0) {
        /* the mirror has no consumer: fetch events for joined requests only;
         * without joined requests the mirror expires */
        mcp_cluster_join_check(repl, repl_state);
        return;
    }

    if (repl_state->consumer_slot == MCP_STORE_NO_SLOT) {
        mcp_mirror_send_position(repl, repl_state->sent_seq, 1);
        return;
    }

    if (repl_state->known.seq > repl_state->own.seq
        && repl->mirror == MCP_MIRROR_FETCH)
    {
        mcp_mirror_fetch(repl, repl_state->own.seq);
        return;
    }

    if (repl_state->sent_seq >= repl->sent + MCP_REPLICATION_SEND_EVENTS
        || now >= repl->time + refresh
        || (repl_state->sent_seq > repl->sent
            && now >= repl->time + MCP_REPLICATION_SEND_TIME))
    {
        mcp_mirror_send_position(repl, repl_state->sent_seq, 0);
        return;
    }

    mcp_replication_within(repl, repl_state->sent_seq > repl->sent
                          ? MCP_REPLICATION_SEND_TIME : refresh);
}
