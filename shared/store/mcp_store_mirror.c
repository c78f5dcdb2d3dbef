/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Mirrors: streams whose events come from another node, with their numbers.
 * Events are appended in the order of their numbers, in the same way as the
 * events of an owner. The latest known state of the owner's stream is stored
 * with the mirror, and takes effect when all events before that state have
 * arrived.
 */


#include "store/mcp_store_layout.h"


/* Maximum time for which a mirror without a reader is kept, ms. The mirror can
 * be created again when it is needed. */
#define MCP_STORE_MIRROR_WAIT  30000


void
mcp_store_mirror_begin(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_store_begin_t *begin)
{
    uint32_t                  index;
    mcp_store_replication_t  *repl;

    st->events.first = begin->after + 1;
    st->events.last = begin->after;
    st->applied_seq = begin->after;
    st->sent_seq = begin->after;

    index = mcp_store_root_take(op, MCP_CHUNK_REPLICATION);
    repl = mcp_store_replication_of(op->head, index);

    repl->mirror = 1;
    repl->reader = begin->number;
    repl->here = begin->number;
    repl->last = begin->after;
    mcp_store_replication_fill(op, repl, st);
    st->repl = index;
    op->head->n_mirrors++;
}


int
mcp_store_mirror_taken(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    const mcp_store_replication_t  *repl;

    if (!mcp_store_is_mirror(head, st)) {
        return 0;
    }

    repl = mcp_store_replication_of(head, st->repl);

    return repl->here < repl->reader;
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


/* Returns the mirror of the stream with this id, or NULL. */
static mcp_store_stream_t *
mcp_store_mirror_find(mcp_store_op_t *op,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    mcp_store_stream_t  *st;

    st = mcp_store_stream_find(op, id);

    if (st == NULL || !mcp_store_is_mirror(op->head, st)) {
        return NULL;
    }

    op->tenant = st->tenant;
    op->keep = st;

    return st;
}


/* Wakes the feeding process if the mirror lacks events, unless that process
 * waits for room in the mirror: it is woken when there is room. */
static void
mcp_store_mirror_fetch(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    if (mcp_store_replication_of(op->head, st->repl)->last > st->events.last
        && !st->want_room
        && !mcp_store_linked(&st->link[MCP_LINK_BLOCKED_ON_SPACE]))
    {
        mcp_store_replication_mark(op, st);
    }
}


/* --- events and states from the owner --- */

void
mcp_store_mirror_count(mcp_store_stream_t *st,
    const mcp_store_replication_t *repl)
{
    uint64_t                       last;
    const mcp_store_checkpoint_t  *checkpoint;

    checkpoint = &repl->known[repl->which];
    last = st->events.last;

    if (repl->confirmed > st->confirmed_seq) {
        st->confirmed_seq = repl->confirmed < last ? repl->confirmed : last;
    }

    if (checkpoint->seq > last) {
        return;
    }

    st->answered |= checkpoint->answered;
    st->failed |= checkpoint->failed;

    if (checkpoint->failed_seq > st->failed_seq) {
        st->failed_seq = checkpoint->failed_seq;
    }

    mcp_store_barrier();

    if (checkpoint->seq == last && !mcp_store_final(st)) {
        mcp_store_stream_set_state(st, checkpoint->state);
    }
}


/* Applies the known state of the owner's stream to a mirror. If the state or
 * the answered requests change, also wakes the readers, and finishes a mirror
 * that is over. */
static void
mcp_store_mirror_apply(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t now)
{
    uint8_t   before;
    uint64_t  answered;

    before = st->state;
    answered = st->answered;

    mcp_store_mirror_count(st, mcp_store_replication_of(op->head, st->repl));

    if (st->state == before && st->answered == answered) {
        return;
    }

    st->changed = now;

    if (st->state != before && mcp_store_final(st)) {
        mcp_store_stream_finish(op, st, now);
    }

    mcp_store_mark_consumer(op, st);
}


/*
 * Stores a state of the owner's stream, unless it is older than the known one.
 * Of two states with the same number, a final one counts, otherwise the later
 * one. A final state counts even if it is older than known events: the node
 * that ended the stream never had those events.
 */
static void
mcp_store_mirror_note(mcp_store_replication_t *repl,
    const mcp_store_checkpoint_t *checkpoint)
{
    int                            over;
    const mcp_store_checkpoint_t  *known;

    known = &repl->known[repl->which];
    over = checkpoint->state >= MCP_STATE_COMPLETED;

    if (known->state >= MCP_STATE_COMPLETED
        ? checkpoint->seq <= known->seq || !over : checkpoint->seq < known->seq
            && !over)
    {
        return;
    }

    if (checkpoint->seq > repl->last || over) {
        repl->last = checkpoint->seq;
    }

    repl->known[!repl->which] = *checkpoint;
    mcp_store_barrier();
    repl->which = !repl->which;
}


/* Returns 1 if the owner's stream ended before the last event of a mirror that
 * is not over: the later events are lost. */
static int
mcp_store_mirror_is_cut(const mcp_store_stream_t *st,
    const mcp_store_checkpoint_t *checkpoint)
{
    return checkpoint->state >= MCP_STATE_COMPLETED
           && checkpoint->seq < st->events.last && !mcp_store_final(st);
}


int
mcp_store_mirror_known(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN],
    const mcp_store_checkpoint_t *checkpoint, uint64_t confirmed, uint64_t now)
{
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    st = mcp_store_mirror_find(&op, id);

    if (st != NULL && mcp_store_mirror_is_cut(st, checkpoint)) {

        /* the client is notified when it resumes after an event that was
         * lost */

        mcp_store_stream_free(&op, st);
        st = NULL;

    } else if (st != NULL) {
        repl = mcp_store_replication_of(op.head, st->repl);

        if (confirmed > repl->confirmed) {
            repl->confirmed = confirmed;
        }

        mcp_store_mirror_note(repl, checkpoint);
        mcp_store_mirror_apply(&op, st, now);
        mcp_store_mirror_fetch(&op, st);
    }

    mcp_store_leave(&op);

    return st ? MCP_OK : MCP_ERR_NOT_FOUND;
}


/* --- events --- */

/*
 * Checks whether the event seq is the next one that a mirror needs, and sets
 * *ref to the mirror.
 *
 * Returns MCP_OK, or
 *   MCP_DONE           the mirror has the event already
 *   MCP_AGAIN          the mirror lacks an earlier event
 *   MCP_ERR_NOT_FOUND  there is no mirror, or its stream is over
 */
static int
mcp_store_mirror_next(mcp_store_op_t *op,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t seq,
    mcp_stream_ref_t *ref)
{
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

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

    repl = mcp_store_replication_of(op->head, st->repl);

    if (seq > repl->last) {
        repl->last = seq;
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


/* Copies a long message to a private chain, if it is the next event that the
 * mirror needs. */
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
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return;
    }

    st = mcp_store_mirror_find(&op, id);

    if (st != NULL) {
        repl = mcp_store_replication_of(op.head, st->repl);
        repl->joined = *joined;

        /* without a local consumer, the events that were sent to readers of
         * the owner's stream count as sent */

        if (st->consumer_slot == MCP_STORE_NO_SLOT) {
            mcp_store_stream_sent(&op, st, joined->sent);
            mcp_store_stream_settle(&op, st);
        }

        mcp_store_mark_consumer(&op, st);
    }

    mcp_store_leave(&op);
}


/* --- the end of a mirror --- */

void
mcp_store_mirror_displaced(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t number)
{
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return;
    }

    st = mcp_store_mirror_find(&op, id);

    if (st != NULL) {
        repl = mcp_store_replication_of(op.head, st->repl);

        if (number > repl->reader) {
            repl->reader = number;

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
