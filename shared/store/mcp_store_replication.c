/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Maintains replicated streams: decides which events readers may see, chooses
 * the replicator, and receives client input from other nodes. The replication
 * data of a stream are in a chunk of their own. The chunk outlives the stream
 * until the replicator has been notified of the stream's end. Primary data in
 * the chunk are the stream's index and id, the replicator, and the acknowledged
 * state. The stream's reference to the chunk is derived: a repair restores it
 * from the chunk.
 */


#include "store/mcp_store_layout.h"


_Static_assert(sizeof(mcp_store_replication_t) <= MCP_STORE_CHUNK, "share");


uint64_t
mcp_store_replication_visible(mcp_store_head_t *head,
    const mcp_store_stream_t *st)
{
    const mcp_store_replication_t  *repl;

    repl = mcp_store_replication_of(head, st->repl);

    return repl->sync && repl->acked.seq < st->events.last
           ? repl->acked.seq : st->events.last;
}


void
mcp_store_replication_claim(const mcp_store_stream_t *st,
    mcp_store_checkpoint_t *checkpoint)
{
    checkpoint->seq = st->events.last;
    checkpoint->state = (mcp_stream_state_e) st->state;
    checkpoint->answered = st->answered;
    checkpoint->failed = st->failed;
    checkpoint->failed_seq = st->failed_seq;
}


void
mcp_store_replication_checkpoint(mcp_store_head_t *head,
    const mcp_store_stream_t *st, mcp_store_checkpoint_t *checkpoint)
{
    const mcp_store_replication_t  *repl;

    repl = st->repl ? mcp_store_replication_of(head, st->repl) : NULL;

    if (repl != NULL && repl->sync) {
        *checkpoint = repl->acked;
        return;
    }

    mcp_store_replication_claim(st, checkpoint);
}


void
mcp_store_replication_info(mcp_store_head_t *head, const mcp_store_stream_t *st,
    mcp_stream_info_t *info)
{
    const mcp_store_replication_t  *repl;

    repl = mcp_store_replication_of(head, st->repl);

    info->mirror = repl->mirror;
    info->shared = !repl->mirror;
    info->replicated = !repl->sync || repl->created;
    info->posted |= repl->posts > repl->got;

    if (repl->mirror) {
        info->held = repl->joined.held && !mcp_store_final(st);
        info->attended |= repl->joined.attended;
        info->ahead = repl->last > st->events.last
                      || repl->known[repl->which].state != st->state;
    } else {
        info->ahead = repl->sync && (repl->acked.seq != st->events.last
                                      || repl->acked.state != st->state);
    }
}


void
mcp_store_replication_mark(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_replication_t  *repl;

    repl = mcp_store_replication_of(op->head, st->repl);

    if (repl->slot != MCP_STORE_OWNERLESS) {
        mcp_store_mark(op, &repl->link, repl->slot);
        return;
    }

    /* The replicator died. A running call is in the list of ownerless streams
     * itself, and the process that adopts it also replicates it. Finished calls
     * and listeners have no owner, so their replication data are added to the
     * list instead. */

    if ((mcp_store_final(st) || st->kind == MCP_STREAM_LISTEN)
        && !mcp_store_linked(&repl->link))
    {
        mcp_store_mark_ownerless(op->head, &repl->link);
    }
}


static void
mcp_store_replication_free(mcp_store_op_t *op, mcp_store_replication_t *repl)
{
    mcp_store_unmark(op, &repl->link, repl->slot);
    repl->live = 0;
    mcp_store_root_free(op, mcp_store_index(op->head, repl));
}


void
mcp_store_replication_leave(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_replication_t  *repl;

    repl = mcp_store_replication_of(op->head, st->repl);
    op->head->n_mirrors -= (repl->mirror != 0);

    st->repl = 0;
    repl->last = repl->mirror && mcp_store_final(st) ? st->sent_seq : 0;
    repl->stream = 0;

    if (repl->slot != MCP_STORE_OWNERLESS) {
        mcp_store_mark(op, &repl->link, repl->slot);
    }

    /* the replicator is gone: nothing to notify */
    if (repl->slot == MCP_STORE_OWNERLESS || !mcp_store_linked(&repl->link)) {
        mcp_store_replication_free(op, repl);
    }
}


void
mcp_store_replication_drain(mcp_store_op_t *op, uint32_t index,
    mcp_store_wake_t *out)
{
    mcp_store_replication_t  *repl;

    repl = mcp_store_replication_of(op->head, index);

    out->kind = MCP_WAKE_REPLICATOR;
    out->handle = repl->stream == 0 ? repl->last : 0;
    out->ref.index = repl->stream;
    memcpy(out->ref.id, repl->id, MCP_STREAM_ID_LEN);

    mcp_store_unmark(op, &repl->link, repl->slot);

    if (repl->stream == 0) {
        mcp_store_replication_free(op, repl);
    }
}


void
mcp_store_replication_pass(mcp_store_op_t *op, mcp_store_replication_t *repl,
    uint32_t slot)
{
    mcp_store_unmark(op, &repl->link, repl->slot);
    repl->slot = slot;
    mcp_store_replication_mark(op, mcp_store_stream(op->head, repl->stream));
}


/*
 * Returns the slot of the process that replaces the replicator of a stream
 * after the process in slot "gone" has ended. For a mirror, this is the slot of
 * the consumer or of a joined reader, or MCP_STORE_NO_SLOT if there is neither.
 * For any other stream it is MCP_STORE_OWNERLESS, because a process has to
 * adopt the stream first.
 */
static uint32_t
mcp_store_replication_successor(mcp_store_op_t *op,
    const mcp_store_replication_t *repl, uint32_t gone)
{
    mcp_store_stream_t  *st;

    if (!repl->mirror || repl->stream == 0) {
        return repl->mirror ? MCP_STORE_NO_SLOT : MCP_STORE_OWNERLESS;
    }

    st = mcp_store_stream(op->head, repl->stream);

    if (st->consumer_slot < MCP_STORE_SLOTS && st->consumer_slot != gone) {
        return st->consumer_slot;
    }

    return mcp_store_readers_slot(op, st, gone);
}


void
mcp_store_replication_retire(mcp_store_op_t *op, uint32_t index, uint32_t slot)
{
    mcp_store_replication_t  *repl;

    repl = mcp_store_replication_of(op->head, index);

    if (repl->live != MCP_REPLICATION_LIVE || repl->slot != slot) {
        return;
    }

    if (repl->stream == 0) {
        mcp_store_replication_free(op, repl);
        return;
    }

    mcp_store_replication_pass(op, repl,
                               mcp_store_replication_successor(op, repl,
                                                               slot));
}


mcp_store_stream_t *
mcp_store_replication_adopt(mcp_store_op_t *op, uint32_t index)
{
    mcp_store_replication_t  *repl;

    repl = mcp_store_replication_of(op->head, index);
    mcp_store_replication_pass(op, repl, op->store->slot);

    return mcp_store_stream(op->head, repl->stream);
}


/* --- repair --- */

void
mcp_store_repair_replications(mcp_store_op_t *op)
{
    uint32_t                  i;
    mcp_store_head_t         *head;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    head = op->head;
    i = 0;

    while ((i = mcp_store_next_chunk(head, i, MCP_CHUNK_REPLICATION)) != 0) {
        repl = mcp_store_replication_of(head, i);
        memset(&repl->link, 0, sizeof(mcp_store_link_t));
        st = mcp_store_stream_at(head, repl->stream);

        if (st == NULL || memcmp(st->id, repl->id, MCP_STREAM_ID_LEN) != 0) {
            repl->stream = 0;
            continue;
        }

        st->repl = i;

        if (repl->mirror) {
            mcp_store_mirror_count(st, repl);
            head->n_mirrors++;
        }
    }
}


void
mcp_store_repair_replicators(mcp_store_op_t *op)
{
    uint32_t                  i;
    mcp_store_head_t         *head;
    mcp_store_replication_t  *repl;

    head = op->head;
    i = 0;

    while ((i = mcp_store_next_chunk(head, i, MCP_CHUNK_REPLICATION)) != 0) {
        repl = mcp_store_replication_of(head, i);

        if (repl->slot >= MCP_STORE_SLOTS || head->slots[repl->slot].pid == 0) {
            repl->slot = mcp_store_replication_successor(op, repl, repl->slot);
        }

        if (repl->stream != 0) {
            mcp_store_replication_mark(op,
                                       mcp_store_stream(head, repl->stream));
        } else if (repl->slot < MCP_STORE_SLOTS) {
            mcp_store_mark(op, &repl->link, repl->slot);
        } else {
            mcp_store_replication_free(op, repl);
        }
    }
}


/* --- start and end of replication --- */

void
mcp_store_replication_fill(mcp_store_op_t *op, mcp_store_replication_t *repl,
    const mcp_store_stream_t *st)
{
    memcpy(repl->id, st->id, MCP_STREAM_ID_LEN);
    repl->slot = op->store->slot;
    repl->stream = st->self;
    mcp_store_barrier();
    repl->live = MCP_REPLICATION_LIVE;
    mcp_store_barrier();
}


/* Returns 1 if this process may replicate a stream: the owner of a call, or
 * the first process that replicates a listener, which has no owner. No process
 * replicates a mirror. */
static int
mcp_store_replication_may(mcp_store_op_t *op, const mcp_store_stream_t *st)
{
    if (mcp_store_is_mirror(op->head, st)) {
        return 0;
    }

    if (st->kind == MCP_STREAM_CALL) {
        return st->owner_slot == op->store->slot;
    }

    return st->repl == 0
           || mcp_store_replication_of(op->head, st->repl)->slot
              == op->store->slot;
}


static int
mcp_store_replication_locked(mcp_store_op_t *op, mcp_store_stream_t *st,
    unsigned sync)
{
    uint32_t                  index;
    mcp_store_replication_t  *repl;

    if (mcp_store_final(st)) {
        return MCP_ERR_NOT_FOUND;
    }

    repl = mcp_store_replication_of(op->head, st->repl);

    if (!mcp_store_replication_may(op, st)
        || (sync && st->sent_seq > (st->repl ? repl->acked.seq : 0)))
    {
        return MCP_ERR_DENIED;
    }

    if (st->repl == 0) {
        op->keep = st;

        if (mcp_store_ensure(op, 1, 0) != MCP_OK) {
            return MCP_ERR_FULL;
        }

        index = mcp_store_root_take(op, MCP_CHUNK_REPLICATION);
        repl = mcp_store_replication_of(op->head, index);
        repl->sync = sync != 0;
        repl->received = op->head->node.positions[MCP_NODE_BROADCASTS];
        mcp_store_replication_fill(op, repl, st);
        st->repl = index;
    }

    repl->sync = sync != 0;
    mcp_store_replication_mark(op, st);
    mcp_store_stream_settle(op, st);
    mcp_store_mark_consumer(op, st);

    return MCP_OK;
}


int
mcp_store_replication_start(mcp_store_t *store, const mcp_stream_ref_t *ref,
    unsigned sync)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc == MCP_OK) {
        rc = mcp_store_replication_locked(&op, st, sync);
        mcp_store_leave(&op);
    }

    return rc;
}


void
mcp_store_replication_end(mcp_store_t *store, const mcp_stream_ref_t *ref)
{
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    if (mcp_store_stream_enter(store, ref, &op, &st) != MCP_OK) {
        return;
    }

    if (st->repl && !mcp_store_is_mirror(op.head, st)) {
        repl = mcp_store_replication_of(op.head, st->repl);
        st->repl = 0;
        mcp_store_replication_free(&op, repl);

        if (st->consumer_slot == MCP_STORE_REMOTE_CONSUMER) {
            mcp_store_consumer_gone(&op, st, 0);
        }

        mcp_store_stream_settle(&op, st);
        mcp_store_mark_consumer(&op, st);
    }

    mcp_store_leave(&op);
}


/* --- client input from other nodes --- */

/* Number of times that the replicator sends the state of a stream after another
 * node has queried it. One is not enough: a command with an older state may be
 * pending when the query arrives, and the reply to this command is counted
 * too. */
#define MCP_REPLICATION_STATES  2


int
mcp_store_replication_enter(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], mcp_store_op_t *op,
    mcp_store_stream_t **st, mcp_store_replication_t **repl)
{
    int  rc;

    rc = mcp_store_enter(store, op);
    if (rc != MCP_OK) {
        return rc;
    }

    *st = mcp_store_stream_find(op, id);

    if (*st == NULL || (*st)->repl == 0) {
        mcp_store_leave(op);
        return MCP_ERR_NOT_FOUND;
    }

    *repl = mcp_store_replication_of(op->head, (*st)->repl);

    return MCP_OK;
}


void
mcp_store_remote_inputs(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t number)
{
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    if (mcp_store_replication_enter(store, id, &op, &st, &repl) == MCP_OK) {
        if (number > repl->posts) {
            repl->posts = number;
        }

        mcp_store_leave(&op);
    }
}


void
mcp_store_replication_got(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t number)
{
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    if (mcp_store_replication_enter(store, id, &op, &st, &repl) == MCP_OK) {
        if (number > repl->got) {
            repl->got = number;

            /* wakes the readers and the replicator even if the stream did not
             * accept the input, because they use repl->got */

            mcp_store_mark_consumer(&op, st);
            mcp_store_mark_replication(&op, st);
        }

        mcp_store_leave(&op);
    }
}


void
mcp_store_replication_query(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    if (mcp_store_replication_enter(store, id, &op, &st, &repl) == MCP_OK) {
        if (!repl->mirror) {
            repl->state_requests = MCP_REPLICATION_STATES;
            mcp_store_replication_mark(&op, st);
        }

        mcp_store_leave(&op);
    }
}


void
mcp_store_replication_sent(mcp_store_t *store, const mcp_stream_ref_t *ref)
{
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    if (mcp_store_replication_enter(store, ref->id, &op, &st, &repl)
        == MCP_OK)
    {
        repl->state_requests -= (repl->state_requests > 0);
        mcp_store_leave(&op);
    }
}
