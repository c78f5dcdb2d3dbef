/* SPDX-License-Identifier: Apache-2.0 */

/* The consumer of a shared stream that is on another machine: it is told of
 * from outside, and counts as one of here. */


#include "store/mcp_store_layout.h"


/* Takes the lock for a shared stream, and gets what it has in addition. */
static int
mcp_store_remote_enter(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_op_t *op, mcp_store_stream_t **st, mcp_store_share_t **share)
{
    int  rc;

    rc = mcp_store_stream_enter(store, ref, op, st);
    if (rc != MCP_OK) {
        return rc;
    }

    if ((*st)->share == 0 || mcp_store_is_mirror(op->head, *st)) {
        mcp_store_leave(op);
        return MCP_ERR_DENIED;
    }

    *share = mcp_store_share_of(op->head, (*st)->share);

    return MCP_OK;
}


static int
mcp_store_remote_is(const mcp_store_stream_t *st, uint64_t number)
{
    return st->consumer_slot == MCP_STORE_REMOTE
           && st->consumer_handle == number;
}


/* What was sent from another machine is safe there, even if our copier does not
 * know yet. */
static void
mcp_store_remote_note(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t sent)
{
    if (sent > st->events.last) {
        sent = st->events.last;
    }

    mcp_store_share_reach(op, st, sent);
    mcp_store_stream_sent(op, st, sent);
}


/* again: also the one that was the last to read, and does not. */
static int
mcp_store_remote_take(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t after, int again)
{
    int                  rc, taken;
    mcp_store_op_t       op;
    mcp_store_share_t   *share;
    mcp_store_stream_t  *st;

    rc = mcp_store_remote_enter(store, ref, &op, &st, &share);
    if (rc != MCP_OK) {
        return rc;
    }

    if (number < share->reader) {
        rc = MCP_ERR_DENIED;

    } else if (number > share->reader
               || (again && st->consumer_slot == MCP_STORE_NO_SLOT
                   && share->here != number))
    {
        if (after > mcp_store_visible(op.head, st)) {
            after = mcp_store_visible(op.head, st);
        }

        if (after + 1 < st->events.first) {
            after = st->events.first - 1;
        }

        op.keep = st;

        if (st->consumer_slot < MCP_STORE_SLOTS) {
            mcp_store_node_add(op.head, MCP_NODE_DISPLACED, 1);
        }

        mcp_store_consumer_take(&op, st, MCP_STORE_REMOTE, number, after,
                                &taken);
        share->reader = number;
    }

    mcp_store_leave(&op);

    return rc;
}


int
mcp_store_remote(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t after)
{
    return mcp_store_remote_take(store, ref, number, after, 0);
}


int
mcp_store_remote_still(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t after)
{
    return mcp_store_remote_take(store, ref, number, after, 1);
}


int
mcp_store_remote_over(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, const mcp_store_stand_t *stand)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_share_t   *share;
    mcp_store_stream_t  *st;

    rc = mcp_store_remote_enter(store, ref, &op, &st, &share);
    if (rc != MCP_OK) {
        return rc;
    }

    if (number < share->reader) {
        rc = MCP_ERR_DENIED;

    } else {
        op.keep = st;

        /* the one of here may never come, and that one reads no more */

        if (st->consumer_slot == MCP_STORE_REMOTE
            && st->consumer_handle < number)
        {
            mcp_store_consumer_gone(&op, st, 0);
        }

        share->reader = number;
        share->here = number;
        (void) mcp_store_share_ack(&op, st, stand);
    }

    mcp_store_leave(&op);

    return rc;
}


int
mcp_store_remote_taken(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    int                 taken;
    mcp_store_share_t  *share;

    if (st->share == 0 || mcp_store_is_mirror(head, st)) {
        return 0;
    }

    share = mcp_store_share_of(head, st->share);
    taken = share->here && share->here < share->reader;
    share->here = 0;

    return taken;
}


void
mcp_store_remote_sent(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t sent)
{
    mcp_store_op_t       op;
    mcp_store_share_t   *share;
    mcp_store_stream_t  *st;

    if (mcp_store_remote_enter(store, ref, &op, &st, &share) != MCP_OK) {
        return;
    }

    if (mcp_store_remote_is(st, number)) {
        mcp_store_remote_note(&op, st, sent);
    }

    mcp_store_leave(&op);
}


void
mcp_store_remote_left(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t sent, uint64_t now)
{
    mcp_store_op_t       op;
    mcp_store_share_t   *share;
    mcp_store_stream_t  *st;

    if (mcp_store_remote_enter(store, ref, &op, &st, &share) != MCP_OK) {
        return;
    }

    if (mcp_store_remote_is(st, number)) {
        st->takeovers = 0;
        mcp_store_remote_note(&op, st, sent);
        mcp_store_consumer_gone(&op, st, now);
    }

    mcp_store_leave(&op);
}


void
mcp_store_remote_joined(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t sent, uint64_t now)
{
    mcp_store_op_t       op;
    mcp_store_share_t   *share;
    mcp_store_stream_t  *st;

    if (mcp_store_remote_enter(store, ref, &op, &st, &share) != MCP_OK) {
        return;
    }

    if (st->consumer_slot == MCP_STORE_NO_SLOT) {
        mcp_store_remote_note(&op, st, sent);

        if (!mcp_store_attended(op.head, st) && st->unattended < now
            && !mcp_store_final(st))
        {
            st->unattended = now;
        }

        mcp_store_stream_settle(&op, st);
        mcp_store_mark_owner(&op, st);
        mcp_store_mark_copy(&op, st);
    }

    mcp_store_leave(&op);
}
