/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Creates mirrors, and appends to them the events that come from the owner's
 * node. The events keep their numbers, and are appended in the order of these
 * numbers, in the same way as the events of an owner. The latest known state of
 * the owner's stream is stored with the mirror, and takes effect when all
 * events before that state have arrived.
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


/*
 * Takes the lock, finds the mirror of the stream with this id, and sets *repl
 * to its replication data.
 *
 * Returns MCP_OK, or, without the lock,
 *   MCP_ERR_NOT_FOUND  there is no mirror
 *   MCP_ERR_INTERNAL   the lock cannot be taken
 */
static int
mcp_store_mirror_enter(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], mcp_store_op_t *op,
    mcp_store_stream_t **st, mcp_store_replication_t **repl)
{
    int  rc;

    rc = mcp_store_replication_enter(store, id, op, st, repl);
    if (rc != MCP_OK) {
        return rc;
    }

    if (!(*repl)->mirror) {
        mcp_store_leave(op);
        return MCP_ERR_NOT_FOUND;
    }

    op->tenant = (*st)->tenant;
    op->keep = *st;

    return MCP_OK;
}


/* Wakes the feeding process if the mirror lacks events. Does nothing if that
 * process waits for room in the mirror, because it is woken when there is
 * room. */
static void
mcp_store_mirror_fetch(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    if (mcp_store_replication_of(op->head, st->repl)->last > st->events.last
        && !st->blocked
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
        st->state = (uint8_t) checkpoint->state;
    }
}


/* Applies the known state of the owner's stream to a mirror. If the state or
 * the answered requests change, also wakes the readers, and finishes a mirror
 * that is over. */
static void
mcp_store_mirror_apply(mcp_store_op_t *op, mcp_store_stream_t *st, uint64_t now)
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
 * Stores a state of the owner's stream in the replication data of a mirror. A
 * final state is replaced only by a final state with a higher number. Any other
 * state is replaced by a final state, or by a state with the same or a higher
 * number. A final state may have a lower number than events that the mirror
 * has, because the node that ended the stream never had those events.
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


int
mcp_store_mirror_known(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN],
    const mcp_store_checkpoint_t *checkpoint, uint64_t confirmed, uint64_t now)
{
    int                       rc;
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    rc = mcp_store_mirror_enter(store, id, &op, &st, &repl);
    if (rc != MCP_OK) {
        return rc;
    }

    if (checkpoint->state >= MCP_STATE_COMPLETED
        && checkpoint->seq < st->events.last && !mcp_store_final(st))
    {
        /* frees the mirror, because it has events that the node that ended the
         * stream never had: a client that resumes after such an event gets an
         * error */
        mcp_store_stream_free(&op, st, 0);
        rc = MCP_ERR_NOT_FOUND;
    } else {
        if (confirmed > repl->confirmed) {
            repl->confirmed = confirmed;
        }

        mcp_store_mirror_note(repl, checkpoint);
        mcp_store_mirror_apply(&op, st, now);
        mcp_store_mirror_fetch(&op, st);
    }

    mcp_store_leave(&op);

    return rc;
}


/* --- events --- */

/*
 * Takes the lock, and checks whether the event seq is the next one that a
 * mirror needs.
 *
 * Returns MCP_OK, or, without the lock,
 *   MCP_DONE           the mirror has the event already
 *   MCP_AGAIN          the mirror lacks an earlier event
 *   MCP_ERR_NOT_FOUND  there is no mirror, or its stream is over
 *   MCP_ERR_INTERNAL   the lock cannot be taken
 */
static int
mcp_store_mirror_next(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t seq,
    mcp_store_op_t *op, mcp_store_stream_t **st)
{
    int                       rc;
    mcp_store_replication_t  *repl;

    rc = mcp_store_mirror_enter(store, id, op, st, &repl);
    if (rc != MCP_OK) {
        return rc;
    }

    if (seq <= (*st)->events.last) {
        rc = MCP_DONE;
    } else if (mcp_store_final(*st)) {
        rc = MCP_ERR_NOT_FOUND;
    } else {
        if (seq > repl->last) {
            repl->last = seq;
        }

        if (seq == (*st)->events.last + 1) {
            return MCP_OK;
        }

        mcp_store_mirror_fetch(op, *st);
        rc = MCP_AGAIN;
    }

    mcp_store_leave(op);

    return rc;
}


int
mcp_store_mirror_append(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], const mcp_store_raw_t *raw,
    mcp_str_t message, uint64_t now)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_stream_ref_t     ref;
    mcp_store_chain_t    chain = { 0, 0, 0 };
    mcp_store_record_t   rec = { 0 };
    mcp_store_stream_t  *st;

    if (message.len > MCP_STORE_LEN_MAX) {
        return MCP_ERR_LARGE;
    }

    rec.len = (uint32_t) message.len;
    rec.answers = (uint16_t) raw->answers;
    rec.type = (uint16_t) raw->state;

    rc = mcp_store_mirror_next(store, id, raw->seq, &op, &st);
    if (rc != MCP_OK) {
        return rc;
    }

    ref.index = st->self;
    memcpy(ref.id, id, MCP_STREAM_ID_LEN);

    /* a long message is copied without the lock */
    if (message.len > MCP_STORE_BIG) {
        mcp_store_leave(&op);
        rc = mcp_store_append_copy(store, &ref, message,
                                   mcp_store_record_request(&rec), &chain);
        if (rc != MCP_OK) {
            return rc;
        }

        rc = mcp_store_mirror_next(store, id, raw->seq, &op, &st);
        if (rc != MCP_OK) {
            mcp_store_private_drop(store, &chain);
            return rc;
        }
    }

    ref.index = st->self;
    rc = mcp_store_append_next(&op, &ref, message, &rec, now, &chain);
    if (rc == MCP_OK) {
        mcp_store_mirror_apply(&op, st, now);
    }

    mcp_store_leave(&op);

    return rc;
}


void
mcp_store_mirror_joined(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], const mcp_store_joined_t *joined)
{
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    if (mcp_store_mirror_enter(store, id, &op, &st, &repl) != MCP_OK) {
        return;
    }

    repl->joined = *joined;

    /* without a local consumer, the events that were sent to readers of the
     * owner's stream count as sent */
    if (st->consumer_slot == MCP_STORE_NO_SLOT) {
        mcp_store_stream_sent(&op, st, joined->sent);
        mcp_store_stream_settle(&op, st);
    }

    mcp_store_mark_consumer(&op, st);
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

    if (mcp_store_mirror_enter(store, id, &op, &st, &repl) != MCP_OK) {
        return;
    }

    if (number > repl->reader) {
        repl->reader = number;

        if (st->consumer_slot != MCP_STORE_NO_SLOT) {
            st->takeovers += (st->takeovers < UINT32_MAX);
            mcp_store_node_add(op.head, MCP_NODE_DISPLACED, 1);
            mcp_store_consumer_displace(&op, st);
            mcp_store_consumer_gone(&op, st, 0);
        }
    }

    mcp_store_leave(&op);
}


void
mcp_store_mirror_forget(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    if (mcp_store_mirror_enter(store, id, &op, &st, &repl) == MCP_OK) {
        mcp_store_stream_free(&op, st, 0);
        mcp_store_leave(&op);
    }
}


/* --- readers of a mirror --- */

/*
 * Makes the existing mirror usable for its next reader. If begin->number is
 * set, the reader is the next consumer: raises the limits of the mirror if the
 * spec has higher limits, and makes this process feed the mirror. Otherwise,
 * requests may join the mirror: if it has a reader, the reader's process
 * already feeds the mirror; if not, this process feeds it from now on.
 */
static void
mcp_store_mirror_reuse(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_store_making_t *making)
{
    int                       attended;
    mcp_store_replication_t  *repl;
    const mcp_stream_spec_t  *spec;

    spec = making->spec;
    repl = mcp_store_replication_of(op->head, st->repl);
    attended = mcp_store_attended(op->head, st);

    if (!attended) {
        st->unattended = making->now;
    }

    if (making->begin->number) {
        repl->reader = making->begin->number;
        mcp_store_barrier();
        repl->here = making->begin->number;

        if (st->max_events && (spec->max_events == 0
                               || spec->max_events > st->max_events))
        {
            st->max_events = spec->max_events;
        }

        if (st->max_bytes && (spec->max_bytes == 0
                              || spec->max_bytes > st->max_bytes))
        {
            st->max_bytes = spec->max_bytes;
        }

    } else if (spec->join) {
        mcp_store_join_name(op, st, spec->join);
    }

    if (making->begin->number || !attended) {
        mcp_store_replication_pass(op, repl, op->store->slot);
    }
}


/*
 * Finds the existing mirror, and frees it if the next reader cannot use it.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is no mirror, or it was freed
 *   MCP_ERR_EXISTS     the stream itself is at this node
 *   MCP_ERR_DENIED     there was a later consumer, at this or another node; or
 *                      the next consumer cannot use the mirror, which is not
 *                      freed because joined requests read it
 */
static int
mcp_store_mirror_lookup(mcp_store_op_t *op, const mcp_store_making_t *making,
    mcp_stream_ref_t *ref)
{
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;
    const mcp_store_begin_t  *begin;

    begin = making->begin;
    st = mcp_store_stream_find(op, making->spec->id);

    if (st == NULL) {
        return MCP_ERR_NOT_FOUND;
    }

    if (!mcp_store_is_mirror(op->head, st)) {
        return MCP_ERR_EXISTS;
    }

    repl = mcp_store_replication_of(op->head, st->repl);

    if (begin->number && begin->number < repl->reader) {
        return MCP_ERR_DENIED;
    }

    /* A consumer cannot use a mirror whose kept events begin after
     * begin->after + 1 or end before begin->after. A joined reader can, if the
     * mirror has a reader and is thus kept up to date: the joined reader begins
     * with the events that the mirror has. */
    if ((begin->number || !mcp_store_attended(op->head, st))
        && (st->events.first > begin->after + 1
            || st->events.last < begin->after))
    {
        /* If the mirror were freed, its joined requests would get the error
         * that the call does not exist any more. So the new consumer is
         * rejected, and its client has to resume again when the joined requests
         * have got their responses. */
        if (begin->number
            && mcp_store_readers_slot(op, st, MCP_STORE_NO_SLOT)
               != MCP_STORE_NO_SLOT)
        {
            return MCP_ERR_DENIED;
        }

        /* this process need not be notified that the mirror is freed, because
         * it is about to feed the new mirror */
        if (repl->slot == op->store->slot) {
            mcp_store_replication_pass(op, repl, MCP_STORE_NO_SLOT);
        }

        mcp_store_stream_free(op, st, 0);

        return MCP_ERR_NOT_FOUND;
    }

    mcp_store_mirror_reuse(op, st, making);
    ref->index = st->self;
    memcpy(ref->id, st->id, MCP_STREAM_ID_LEN);

    return MCP_OK;
}


int
mcp_store_mirror(mcp_store_t *store, const mcp_stream_spec_t *spec,
    uint64_t first, uint64_t after, uint64_t number, uint64_t now,
    mcp_stream_ref_t *ref)
{
    int                 rc, found;
    mcp_store_op_t      op;
    mcp_store_begin_t   begin;
    mcp_stream_spec_t   own;
    mcp_store_making_t  making = { 0 };

    own = *spec;
    own.session_limit = 0;
    own.consumer = 0;
    own.held = 0;

    begin.after = after + 1 < first ? first - 1 : after;
    begin.number = number;

    making.spec = &own;
    making.begin = &begin;
    making.now = now;

    rc = mcp_store_create_begin(store, &making);
    if (rc != MCP_OK) {
        return rc;
    }

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    rc = op.head->slots[store->slot].pid == store->pid
         ? mcp_store_mirror_lookup(&op, &making, ref) : MCP_ERR_INTERNAL;
    found = rc != MCP_ERR_NOT_FOUND;

    if (!found) {
        rc = mcp_store_create_end(&op, &making, ref);

        /* the new mirror has no reader yet: adds it to the streams that may be
         * evicted */
        if (rc == MCP_OK) {
            mcp_store_stream_settle(&op, mcp_store_stream(op.head, ref->index));
        }
    }

    mcp_store_leave(&op);

    if (found) {
        mcp_store_private_drop(store, &making.chain);
    }

    return rc;
}


/* --- promotion --- */


/* A promoted call becomes ownerless: the process that adopts it becomes its
 * owner and its replicator. A listener has no owner, and this process
 * replicates it. */
int
mcp_store_promote(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], unsigned sync)
{
    int                       rc;
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    rc = mcp_store_mirror_enter(store, id, &op, &st, &repl);
    if (rc != MCP_OK) {
        return rc;
    }

    if (mcp_store_final(st)) {
        mcp_store_leave(&op);
        return MCP_ERR_NOT_FOUND;
    }

    mcp_store_replication_claim(st, &repl->acked);
    repl->created = 1;
    repl->sync = (uint8_t) (sync != 0);
    repl->here = 0;
    mcp_store_barrier();
    repl->mirror = 0;
    mcp_store_barrier();
    op.head->n_mirrors--;
    mcp_store_node_add(op.head, MCP_NODE_PROMOTED, 1);

    if (st->kind == MCP_STREAM_LISTEN) {
        /* repl->reader may be the number of a consumer at another node.
         * Decrements it, because mcp_store_remote_consumer() without "again"
         * accepts only a higher number than repl->reader. */
        if (st->consumer_slot == MCP_STORE_NO_SLOT && repl->reader > 0) {
            repl->reader--;
        }

        repl->received = op.head->node.positions[MCP_NODE_BROADCASTS];
        mcp_store_replication_pass(&op, repl, store->slot);
    } else {
        mcp_store_disown(&op, st);
    }

    mcp_store_stream_settle(&op, st);
    mcp_store_leave(&op);

    return MCP_OK;
}
