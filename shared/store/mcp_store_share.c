/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Shared streams: their gate, and who copies them.
 *
 * A chunk of its own has what a shared stream has in addition.  It outlives the
 * stream until the copier has learned that that one is gone.  What counts in it
 * are the stream's index and id, the copier, and what is acked; the stream's
 * reference to it is derived.
 */


#include "store/mcp_store_layout.h"


_Static_assert(sizeof(mcp_store_share_t) <= MCP_STORE_CHUNK, "share");


uint64_t
mcp_store_share_gate(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    const mcp_store_share_t  *share;

    share = mcp_store_share_of(head, st->share);

    return share->sync && share->acked.seq < st->events.last
           ? share->acked.seq : st->events.last;
}


void
mcp_store_share_own(const mcp_store_stream_t *st, mcp_store_stand_t *stand)
{
    stand->seq = st->events.last;
    stand->state = (mcp_stream_state_e) st->state;
    stand->answered = st->answered;
    stand->failed = st->failed;
    stand->failed_seq = st->failed_seq;
}


void
mcp_store_share_stand(mcp_store_head_t *head, const mcp_store_stream_t *st,
    mcp_store_stand_t *stand)
{
    const mcp_store_share_t  *share;

    share = st->share ? mcp_store_share_of(head, st->share) : NULL;

    if (share != NULL && share->sync) {
        *stand = share->acked;
        return;
    }

    mcp_store_share_own(st, stand);
}


unsigned
mcp_store_share_safe(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    const mcp_store_share_t  *share;

    if (st->share == 0) {
        return 1;
    }

    share = mcp_store_share_of(head, st->share);

    return !share->sync || share->created;
}


void
mcp_store_share_info(mcp_store_head_t *head, const mcp_store_stream_t *st,
    mcp_stream_info_t *info)
{
    const mcp_store_share_t  *share;

    share = mcp_store_share_of(head, st->share);

    info->mirror = share->mirror;
    info->shared = !share->mirror;
    info->posted |= share->posts > share->got;

    if (share->mirror) {
        info->ahead = share->last > st->events.last
                      || share->known[share->which].state != st->state;

    } else {
        info->ahead = share->sync && (share->acked.seq != st->events.last
                                      || share->acked.state != st->state);
    }
}


void
mcp_store_share_mark(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_share_t  *share;

    share = mcp_store_share_of(op->head, st->share);

    if (share->slot != MCP_STORE_ORPHAN) {
        mcp_store_mark(op, &share->link, share->slot);
        return;
    }

    /* the owner's successor copies, too: without an owner this waits itself */

    if ((mcp_store_final(st) || st->kind == MCP_STREAM_LISTEN)
        && !mcp_store_linked(&share->link))
    {
        mcp_store_list_append(op->head, &op->head->orphans, &share->link);
        atomic_fetch_add(&op->head->n_orphans, 1);
    }
}


static void
mcp_store_share_unmark(mcp_store_op_t *op, mcp_store_share_t *share)
{
    mcp_store_head_t  *head;

    head = op->head;

    if (!mcp_store_linked(&share->link)) {
        return;
    }

    if (share->slot == MCP_STORE_ORPHAN) {
        mcp_store_list_remove(head, &head->orphans, &share->link);
        atomic_fetch_sub(&head->n_orphans, 1);

    } else {
        mcp_store_list_remove(head, &head->slots[share->slot].dirty,
                              &share->link);
    }
}


static void
mcp_store_share_free(mcp_store_op_t *op, mcp_store_share_t *share)
{
    mcp_store_share_unmark(op, share);
    share->live = 0;
    mcp_store_root_free(op, mcp_store_index(op->head, share));
}


void
mcp_store_share_leave(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_share_t  *share;

    share = mcp_store_share_of(op->head, st->share);
    op->head->n_mirrors -= (share->mirror != 0);
    st->share = 0;
    share->stream = 0;

    if (share->slot == MCP_STORE_ORPHAN) {
        mcp_store_share_free(op, share);
        return;
    }

    mcp_store_mark(op, &share->link, share->slot);

    /* there is nobody who had to learn of it */

    if (!mcp_store_linked(&share->link)) {
        mcp_store_share_free(op, share);
    }
}


void
mcp_store_share_drain(mcp_store_op_t *op, uint32_t index,
    mcp_store_wake_t *out)
{
    mcp_store_share_t  *share;

    share = mcp_store_share_of(op->head, index);

    out->kind = MCP_WAKE_COPY;
    out->handle = 0;
    out->ref.index = share->stream;
    memcpy(out->ref.id, share->id, MCP_STREAM_ID_LEN);

    mcp_store_share_unmark(op, share);

    if (share->stream == 0) {
        mcp_store_share_free(op, share);
    }
}


void
mcp_store_share_pass(mcp_store_op_t *op, mcp_store_share_t *share,
    uint32_t slot)
{
    mcp_store_share_unmark(op, share);
    share->slot = slot;
    mcp_store_share_mark(op, mcp_store_stream(op->head, share->stream));
}


/* Returns who comes after a process that has gone: of a mirror who reads it. */
static uint32_t
mcp_store_share_heir(mcp_store_op_t *op, const mcp_store_share_t *share,
    uint32_t gone)
{
    uint32_t             slot;
    mcp_store_stream_t  *st;

    if (!share->mirror || share->stream == 0) {
        return share->mirror ? MCP_STORE_NO_SLOT : MCP_STORE_ORPHAN;
    }

    st = mcp_store_stream(op->head, share->stream);
    slot = st->consumer_slot;

    if (slot < MCP_STORE_SLOTS && slot != gone) {
        return slot;
    }

    return st->join ? mcp_store_readers_slot(op,
                                             mcp_store_at(op->head, st->join),
                                             gone)
                    : MCP_STORE_NO_SLOT;
}


void
mcp_store_share_retire(mcp_store_op_t *op, uint32_t index, uint32_t slot)
{
    mcp_store_share_t  *share;

    share = mcp_store_share_of(op->head, index);

    if (share->live != MCP_SHARE_LIVE || share->slot != slot) {
        return;
    }

    if (share->stream == 0) {
        mcp_store_share_free(op, share);
        return;
    }

    mcp_store_share_pass(op, share, mcp_store_share_heir(op, share, slot));
}


mcp_store_stream_t *
mcp_store_share_adopt(mcp_store_op_t *op, uint32_t index)
{
    mcp_store_share_t  *share;

    share = mcp_store_share_of(op->head, index);
    mcp_store_share_pass(op, share, op->store->slot);

    return mcp_store_stream(op->head, share->stream);
}


/* --- repair --- */

void
mcp_store_repair_shares(mcp_store_op_t *op)
{
    uint32_t             i;
    mcp_store_head_t    *head;
    mcp_store_share_t   *share;
    mcp_store_stream_t  *st;

    head = op->head;

    for (i = 1; i < head->fresh; i++) {
        if (mcp_store_types(head)[i] != MCP_CHUNK_SHARE) {
            continue;
        }

        share = mcp_store_share_of(head, i);
        memset(&share->link, 0, sizeof(mcp_store_link_t));

        st = mcp_store_index_ok(head, share->stream)
             && mcp_store_types(head)[share->stream] == MCP_CHUNK_STREAM
             ? mcp_store_stream(head, share->stream) : NULL;

        if (st != NULL && st->live == MCP_STREAM_LIVE
            && memcmp(st->id, share->id, MCP_STREAM_ID_LEN) == 0)
        {
            st->share = i;

            if (share->mirror) {
                mcp_store_mirror_count(st, share);
                head->n_mirrors++;
            }

        } else {
            share->stream = 0;
        }
    }
}


void
mcp_store_repair_copiers(mcp_store_op_t *op)
{
    uint32_t            i;
    mcp_store_head_t   *head;
    mcp_store_share_t  *share;

    head = op->head;

    for (i = 1; i < head->fresh; i++) {
        if (mcp_store_types(head)[i] != MCP_CHUNK_SHARE) {
            continue;
        }

        share = mcp_store_share_of(head, i);

        if (share->slot >= MCP_STORE_SLOTS
            || head->slots[share->slot].pid == 0)
        {
            share->slot = mcp_store_share_heir(op, share, share->slot);
        }

        if (share->stream != 0) {
            mcp_store_share_mark(op, mcp_store_stream(head, share->stream));

        } else if (share->slot < MCP_STORE_SLOTS) {
            mcp_store_mark(op, &share->link, share->slot);

        } else {
            mcp_store_share_free(op, share);
        }
    }
}


/* --- sharing --- */

void
mcp_store_share_fill(mcp_store_op_t *op, mcp_store_share_t *share,
    const mcp_store_stream_t *st)
{
    memcpy(share->id, st->id, MCP_STREAM_ID_LEN);
    share->slot = op->store->slot;
    share->stream = st->self;
    mcp_store_barrier();
    share->live = MCP_SHARE_LIVE;
    mcp_store_barrier();
}


/* Whether this process is the one to share it: a listener has no owner, and the
 * first who does is its copier. */
static int
mcp_store_share_may(mcp_store_op_t *op, const mcp_store_stream_t *st)
{
    if (mcp_store_is_mirror(op->head, st)) {
        return 0;
    }

    if (st->kind == MCP_STREAM_CALL) {
        return st->owner_slot == op->store->slot;
    }

    return st->share == 0
           || mcp_store_share_of(op->head, st->share)->slot
              == op->store->slot;
}


static int
mcp_store_share_locked(mcp_store_op_t *op, mcp_store_stream_t *st,
    unsigned sync)
{
    uint32_t            index;
    mcp_store_share_t  *share;

    if (mcp_store_final(st)) {
        return MCP_ERR_NOT_FOUND;
    }

    if (!mcp_store_share_may(op, st)
        || (st->share == 0 && sync && st->sent_seq > 0))
    {
        return MCP_ERR_DENIED;
    }

    if (st->share == 0) {
        op->keep = st;

        if (mcp_store_ensure(op, 1, 0) != MCP_OK) {
            return MCP_ERR_FULL;
        }

        index = mcp_store_root_take(op, MCP_CHUNK_SHARE);
        share = mcp_store_share_of(op->head, index);
        share->sync = sync != 0;
        share->heard = op->head->node.places[MCP_NODE_HEARD];
        mcp_store_share_fill(op, share, st);
        st->share = index;
    }

    share = mcp_store_share_of(op->head, st->share);

    if (sync && st->sent_seq > share->acked.seq) {
        return MCP_ERR_DENIED;
    }

    share->sync = sync != 0;

    mcp_store_share_mark(op, st);
    mcp_store_stream_settle(op, st);
    mcp_store_mark_consumer(op, st);

    return MCP_OK;
}


int
mcp_store_share_start(mcp_store_t *store, const mcp_stream_ref_t *ref,
    unsigned sync)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_store_share_locked(&op, st, sync);

    mcp_store_leave(&op);

    return rc;
}


void
mcp_store_share_end(mcp_store_t *store, const mcp_stream_ref_t *ref)
{
    uint32_t             index;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    if (mcp_store_stream_enter(store, ref, &op, &st) != MCP_OK) {
        return;
    }

    if (st->share && !mcp_store_is_mirror(op.head, st)) {
        index = st->share;
        st->share = 0;
        mcp_store_share_free(&op, mcp_store_share_of(op.head, index));

        if (st->consumer_slot == MCP_STORE_REMOTE) {
            mcp_store_consumer_gone(&op, st, 0);
        }

        mcp_store_stream_settle(&op, st);
        mcp_store_mark_consumer(&op, st);
    }

    mcp_store_leave(&op);
}
