/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Mirrors: streams whose events come from another machine, with their numbers.
 *
 * Events are appended as an owner's are, one after the other.  What is known of
 * those that are missing, and of what follows from them, is kept beside the
 * stream until they are here.
 */


#include "store/mcp_store_layout.h"


/* Time (ms) for which a mirror that nobody reads is kept, at most: it can be
 * made again. */
#define MCP_STORE_MIRROR_WAIT  30000


void
mcp_store_mirror_begin(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_store_begin_t *begin)
{
    uint32_t            index;
    mcp_store_share_t  *share;

    st->events.first = begin->after + 1;
    st->events.last = begin->after;
    st->applied_seq = begin->after;
    st->sent_seq = begin->after;

    index = mcp_store_root_take(op, MCP_CHUNK_SHARE);
    share = mcp_store_share_of(op->head, index);

    share->mirror = 1;
    share->reader = begin->number;
    share->here = begin->number;
    share->last = begin->after;
    mcp_store_share_fill(op, share, st);
    st->share = index;
    op->head->n_mirrors++;
}


int
mcp_store_mirror_taken(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    const mcp_store_share_t  *share;

    if (!mcp_store_is_mirror(head, st)) {
        return 0;
    }

    share = mcp_store_share_of(head, st->share);

    return share->here < share->reader;
}


int
mcp_store_mirror_due(const mcp_store_stream_t *st, uint64_t now)
{
    uint64_t  since, wait;

    since = st->unattended;
    wait = MCP_STORE_MIRROR_WAIT;

    if (mcp_store_final(st)) {
        since = st->ended > since ? st->ended : since;

        if (st->sent_seq >= st->events.last && st->linger < wait) {
            wait = st->linger;
        }
    }

    return now >= since && now - since >= wait;
}


/* Finds a mirror; NULL: there is none. */
static mcp_store_stream_t *
mcp_store_mirror_find(mcp_store_op_t *op,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    mcp_store_stream_t  *st;

    st = mcp_store_stream_find(op, id);

    if (st == NULL || !mcp_store_is_mirror(op->head, st)) {
        return NULL;
    }

    op->party = st->party;
    op->keep = st;

    return st;
}


/* Has the feeder fetch what is missing.  One that waits for room is woken when
 * there is. */
static void
mcp_store_mirror_fetch(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    if (mcp_store_share_of(op->head, st->share)->last > st->events.last
        && !st->want_room && !mcp_store_linked(&st->link[MCP_LINK_HUNGRY]))
    {
        mcp_store_share_mark(op, st);
    }
}


/* --- what comes from elsewhere --- */

void
mcp_store_mirror_count(mcp_store_stream_t *st, const mcp_store_share_t *share)
{
    uint64_t                  last;
    const mcp_store_stand_t  *stand;

    stand = &share->known[share->which];
    last = st->events.last;

    if (share->confirmed > st->confirmed_seq) {
        st->confirmed_seq = share->confirmed < last ? share->confirmed : last;
    }

    if (stand->seq > last) {
        return;
    }

    st->answered |= stand->answered;
    st->failed |= stand->failed;

    if (stand->failed_seq > st->failed_seq) {
        st->failed_seq = stand->failed_seq;
    }

    mcp_store_barrier();

    if (stand->seq == last && !mcp_store_final(st)) {
        mcp_store_stream_turn(st, stand->state);
    }
}


/* Lets count what is known, and does what follows from that. */
static void
mcp_store_mirror_apply(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t now)
{
    uint8_t   before;
    uint64_t  answered;

    before = st->state;
    answered = st->answered;

    mcp_store_mirror_count(st, mcp_store_share_of(op->head, st->share));

    if (st->state == before && st->answered == answered) {
        return;
    }

    st->changed = now;

    if (st->state != before && mcp_store_final(st)) {
        mcp_store_stream_finish(op, st, now);
    }

    mcp_store_mark_consumer(op, st);
}


/* Notes how the stream stands elsewhere, unless that is old.  Of two with one
 * number the one that is over counts, or the latter.  A stream that ended
 * before the last event known here was ended by a node that never had that
 * event: the end counts. */
static void
mcp_store_mirror_note(mcp_store_share_t *share, const mcp_store_stand_t *stand)
{
    int                       over;
    const mcp_store_stand_t  *known;

    known = &share->known[share->which];
    over = stand->state >= MCP_STATE_COMPLETED;

    if (known->state >= MCP_STATE_COMPLETED
        ? stand->seq <= known->seq || !over : stand->seq < known->seq && !over)
    {
        return;
    }

    if (stand->seq > share->last || over) {
        share->last = stand->seq;
    }

    share->known[!share->which] = *stand;
    mcp_store_barrier();
    share->which = !share->which;
}


/* Returns 1 if the stream ended elsewhere before the last event that is here,
 * and continues here: the events that followed are lost. */
static int
mcp_store_mirror_is_cut(const mcp_store_stream_t *st,
    const mcp_store_stand_t *stand)
{
    return stand->state >= MCP_STATE_COMPLETED
           && stand->seq < st->events.last && !mcp_store_final(st);
}


int
mcp_store_mirror_known(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], const mcp_store_stand_t *stand,
    uint64_t confirmed, uint64_t now)
{
    mcp_store_op_t       op;
    mcp_store_share_t   *share;
    mcp_store_stream_t  *st;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    st = mcp_store_mirror_find(&op, id);

    if (st != NULL && mcp_store_mirror_is_cut(st, stand)) {

        /* its client is told when it comes back with an event that is lost */

        mcp_store_stream_free(&op, st);
        st = NULL;

    } else if (st != NULL) {
        share = mcp_store_share_of(op.head, st->share);

        if (confirmed > share->confirmed) {
            share->confirmed = confirmed;
        }

        mcp_store_mirror_note(share, stand);
        mcp_store_mirror_apply(&op, st, now);
        mcp_store_mirror_fetch(&op, st);
    }

    mcp_store_leave(&op);

    return st ? MCP_OK : MCP_ERR_NOT_FOUND;
}


/* --- events --- */

/*
 * Looks whether an event is the next one, and sets *ref.
 *
 * Returns MCP_OK, or
 *   MCP_DONE           it is here already
 *   MCP_AGAIN          one before it is missing
 *   MCP_ERR_NOT_FOUND  there is no mirror, or its stream is over
 */
static int
mcp_store_mirror_next(mcp_store_op_t *op,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t seq,
    mcp_stream_ref_t *ref)
{
    mcp_store_share_t   *share;
    mcp_store_stream_t  *st;

    st = mcp_store_mirror_find(op, id);

    if (st == NULL) {
        return MCP_ERR_NOT_FOUND;
    }

    if (seq <= st->events.last) {
        return MCP_DONE;
    }

    if (mcp_store_final(st)) {
        return MCP_ERR_NOT_FOUND;
    }

    share = mcp_store_share_of(op->head, st->share);

    if (seq > share->last) {
        share->last = seq;
    }

    if (seq > st->events.last + 1) {
        mcp_store_mirror_fetch(op, st);
        return MCP_AGAIN;
    }

    ref->index = st->self;
    memcpy(ref->id, st->id, MCP_STREAM_ID_LEN);

    return MCP_OK;
}


static int
mcp_store_mirror_append_locked(mcp_store_op_t *op,
    const unsigned char id[MCP_STREAM_ID_LEN], const mcp_store_raw_t *raw,
    mcp_str_t message, uint64_t now, mcp_store_chain_t *chain)
{
    int                  rc;
    mcp_stream_ref_t     ref;
    mcp_store_record_t   rec = { 0 };

    rc = mcp_store_mirror_next(op, id, raw->seq, &ref);

    if (rc != MCP_OK) {
        mcp_store_private_drop(op, chain);
        return rc;
    }

    rec.len = (uint32_t) message.len;
    rec.answers = (uint16_t) raw->answers;
    rec.type = (uint16_t) raw->state;

    rc = mcp_store_append_next(op, &ref, message, &rec, now, chain);

    if (rc == MCP_OK) {
        mcp_store_mirror_apply(op, mcp_store_stream(op->head, ref.index), now);
    }

    return rc;
}


/* Copies a big message into a private chain, if it is the next one. */
static int
mcp_store_mirror_copy(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], const mcp_store_raw_t *raw,
    mcp_str_t message, mcp_store_chain_t *chain)
{
    int                 rc;
    mcp_store_op_t      op;
    mcp_stream_ref_t    ref;
    mcp_store_record_t  rec = { 0 };

    rc = mcp_store_enter(store, &op);
    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_store_mirror_next(&op, id, raw->seq, &ref);

    mcp_store_leave(&op);

    if (rc != MCP_OK) {
        return rc;
    }

    rec.answers = (uint16_t) raw->answers;

    return mcp_store_append_copy(store, &ref, message,
                                 mcp_store_answers(&rec), chain);
}


int
mcp_store_mirror_append(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], const mcp_store_raw_t *raw,
    mcp_str_t message, uint64_t now)
{
    int                rc;
    mcp_store_op_t     op;
    mcp_store_chain_t  chain = { 0, 0, 0 };

    if (message.len > MCP_STORE_LEN_MAX) {
        return MCP_ERR_LARGE;
    }

    if (message.len > MCP_STORE_BIG) {
        rc = mcp_store_mirror_copy(store, id, raw, message, &chain);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    rc = mcp_store_enter(store, &op);
    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_store_mirror_append_locked(&op, id, raw, message, now, &chain);

    mcp_store_leave(&op);

    return rc;
}


void
mcp_store_mirror_joined(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN],
    const mcp_store_joined_t *joined)
{
    mcp_store_op_t       op;
    mcp_store_share_t   *share;
    mcp_store_stream_t  *st;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return;
    }

    st = mcp_store_mirror_find(&op, id);

    if (st != NULL) {
        share = mcp_store_share_of(op.head, st->share);
        share->joined = *joined;

        /* with a consumer here, what that one has counts */

        if (st->consumer_slot == MCP_STORE_NO_SLOT) {
            mcp_store_stream_sent(&op, st, joined->sent);
            mcp_store_stream_settle(&op, st);
        }

        mcp_store_mark_consumer(&op, st);
    }

    mcp_store_leave(&op);
}


/* --- its end --- */

void
mcp_store_mirror_displaced(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t number)
{
    mcp_store_op_t       op;
    mcp_store_share_t   *share;
    mcp_store_stream_t  *st;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return;
    }

    st = mcp_store_mirror_find(&op, id);

    if (st != NULL) {
        share = mcp_store_share_of(op.head, st->share);

        if (number > share->reader) {
            share->reader = number;

            if (st->consumer_slot != MCP_STORE_NO_SLOT) {
                st->takeovers += (st->takeovers < UINT32_MAX);
                mcp_store_node_add(op.head, MCP_NODE_DISPLACED, 1);
                mcp_store_consumer_displace(&op, st);
                mcp_store_consumer_gone(&op, st, 0);
            }
        }
    }

    mcp_store_leave(&op);
}


void
mcp_store_mirror_forget(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return;
    }

    st = mcp_store_mirror_find(&op, id);

    if (st != NULL) {
        mcp_store_stream_free(&op, st);
    }

    mcp_store_leave(&op);
}
