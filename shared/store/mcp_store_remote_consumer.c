/* SPDX-License-Identifier: Apache-2.0 */

/* The consumer of a replicated stream at another node. This file records the
 * reports of the cluster about this consumer, which then counts like a local
 * one. */


#include "store/mcp_store_layout.h"


/* Takes the lock, finds a replicated stream, and sets *repl to its replication
 * data. Returns MCP_ERR_DENIED for a stream that is not replicated, or is a
 * mirror. */
static int
mcp_store_remote_consumer_enter(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_op_t *op, mcp_store_stream_t **st,
    mcp_store_replication_t **repl)
{
    int  rc;

    rc = mcp_store_stream_enter(store, ref, op, st);
    if (rc != MCP_OK) {
        return rc;
    }

    if ((*st)->repl == 0 || mcp_store_is_mirror(op->head, *st)) {
        mcp_store_leave(op);
        return MCP_ERR_DENIED;
    }

    *repl = mcp_store_replication_of(op->head, (*st)->repl);

    return MCP_OK;
}


static int
mcp_store_remote_consumer_is(const mcp_store_stream_t *st, uint64_t number)
{
    return st->consumer_slot == MCP_STORE_REMOTE_CONSUMER
           && st->consumer_handle == number;
}


/* Counts the events up to "sent" as acknowledged and as sent. If another node
 * has sent them to a client, Redis has them, even if the replicator has not
 * received the acknowledgement yet. */
static void
mcp_store_remote_consumer_note(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t sent)
{
    if (sent > st->events.last) {
        sent = st->events.last;
    }

    mcp_store_replication_reach(op, st, sent);
    mcp_store_stream_sent(op, st, sent);
}


/* Makes the reader "number" at another node the consumer. With "again", also
 * if this reader was the latest one and was recorded as detached. */
static int
mcp_store_remote_consumer_take(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t after, int again)
{
    int                       rc, taken;
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    rc = mcp_store_remote_consumer_enter(store, ref, &op, &st, &repl);
    if (rc != MCP_OK) {
        return rc;
    }

    if (number < repl->reader) {
        rc = MCP_ERR_DENIED;

    } else if (number > repl->reader
               || (again && st->consumer_slot == MCP_STORE_NO_SLOT
                   && repl->here != number))
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

        mcp_store_consumer_take(&op, st, MCP_STORE_REMOTE_CONSUMER, number,
                                after, &taken);
        repl->reader = number;
    }

    mcp_store_leave(&op);

    return rc;
}


int
mcp_store_remote_consumer(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t after)
{
    return mcp_store_remote_consumer_take(store, ref, number, after, 0);
}


int
mcp_store_remote_consumer_unchanged(mcp_store_t *store,
    const mcp_stream_ref_t *ref, uint64_t number, uint64_t after)
{
    return mcp_store_remote_consumer_take(store, ref, number, after, 1);
}


int
mcp_store_remote_consumer_over(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, const mcp_store_checkpoint_t *checkpoint)
{
    int                       rc;
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    rc = mcp_store_remote_consumer_enter(store, ref, &op, &st, &repl);
    if (rc != MCP_OK) {
        return rc;
    }

    if (number < repl->reader) {
        rc = MCP_ERR_DENIED;

    } else {
        op.keep = st;

        /* the remote consumer does not read any more, and the local reader may
         * never attach: until it does, the stream has no consumer */

        if (st->consumer_slot == MCP_STORE_REMOTE_CONSUMER
            && st->consumer_handle < number)
        {
            mcp_store_consumer_gone(&op, st, 0);
        }

        repl->reader = number;
        repl->here = number;
        (void) mcp_store_replication_ack(&op, st, checkpoint);
    }

    mcp_store_leave(&op);

    return rc;
}


int
mcp_store_remote_consumer_taken(mcp_store_head_t *head,
    const mcp_store_stream_t *st)
{
    int                       taken;
    mcp_store_replication_t  *repl;

    if (st->repl == 0 || mcp_store_is_mirror(head, st)) {
        return 0;
    }

    repl = mcp_store_replication_of(head, st->repl);
    taken = repl->here && repl->here < repl->reader;
    repl->here = 0;

    return taken;
}


void
mcp_store_remote_consumer_sent(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t sent)
{
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    if (mcp_store_remote_consumer_enter(store, ref, &op, &st, &repl) != MCP_OK)
    {
        return;
    }

    if (mcp_store_remote_consumer_is(st, number)) {
        mcp_store_remote_consumer_note(&op, st, sent);
    }

    mcp_store_leave(&op);
}


void
mcp_store_remote_consumer_left(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t sent, uint64_t now)
{
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    if (mcp_store_remote_consumer_enter(store, ref, &op, &st, &repl) != MCP_OK)
    {
        return;
    }

    if (mcp_store_remote_consumer_is(st, number)) {
        st->takeovers = 0;
        mcp_store_remote_consumer_note(&op, st, sent);
        mcp_store_consumer_gone(&op, st, now);
    }

    mcp_store_leave(&op);
}


void
mcp_store_remote_consumer_joined(mcp_store_t *store,
    const mcp_stream_ref_t *ref, uint64_t sent, uint64_t now)
{
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    if (mcp_store_remote_consumer_enter(store, ref, &op, &st, &repl) != MCP_OK)
    {
        return;
    }

    if (st->consumer_slot == MCP_STORE_NO_SLOT) {
        mcp_store_remote_consumer_note(&op, st, sent);

        if (!mcp_store_attended(op.head, st) && st->unattended < now
            && !mcp_store_final(st))
        {
            st->unattended = now;
        }

        mcp_store_stream_settle(&op, st);
        mcp_store_mark_owner(&op, st);
        mcp_store_mark_replication(&op, st);
    }

    mcp_store_leave(&op);
}
