/* SPDX-License-Identifier: Apache-2.0 */

/* Retention: a stream keeps unsent events up to its limits, sent events up to
 * the same limits in addition, and no event that a client has confirmed. */


#include "store/mcp_store_layout.h"


/* Returns the number of kept events that were sent. */
static uint64_t
mcp_store_sent(const mcp_store_stream_t *st)
{
    return st->sent_seq < st->events.first
           ? 0 : st->sent_seq + 1 - st->events.first;
}


uint64_t
mcp_store_stream_unsent(const mcp_store_stream_t *st)
{
    return mcp_store_log_count(&st->events) - mcp_store_sent(st);
}


/* Returns 1 if one more event of len bytes would exceed the stream's
 * limits. */
static int
mcp_store_over(const mcp_store_stream_t *st, size_t len)
{
    uint64_t  bytes;

    if (st->max_events != 0 && mcp_store_stream_unsent(st) >= st->max_events) {
        return 1;
    }

    bytes = st->events.bytes - st->sent_bytes;

    return st->max_bytes != 0
           && (len > st->max_bytes || bytes > st->max_bytes - len);
}


/* Removes the oldest event. */
static void
mcp_store_drop(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    uint64_t  bytes;

    if (mcp_store_sent(st) == 0) {
        mcp_store_log_drop(op, &st->events);
        return;
    }

    bytes = st->events.bytes;
    mcp_store_log_drop(op, &st->events);
    st->sent_bytes -= bytes - st->events.bytes;
}


/* Removes sent events that exceed the stream's limits, which apply to sent and
 * unsent events separately. Sent events are kept because they may not have
 * arrived: the client may request them again. */
static void
mcp_store_trim(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    while (mcp_store_sent(st) > 0
           && ((st->max_events != 0 && mcp_store_sent(st) > st->max_events)
               || (st->max_bytes != 0 && st->sent_bytes > st->max_bytes)))
    {
        mcp_store_drop(op, st);
    }
}


/* Returns 1 if a stream loses unsent events when it has reached its limits: a
 * listener. Returns 0 if instead its owner waits for room, or, for a mirror,
 * the feeding process, which can fetch the events from Redis again. */
static int
mcp_store_stream_drops(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    return st->kind == MCP_STREAM_LISTEN && !mcp_store_is_mirror(head, st);
}


int
mcp_store_stream_drop_event(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    if (mcp_store_sent(st) == 0) {
        if (!mcp_store_stream_drops(op->head, st) || st->events.head == 0) {
            return 0;
        }

        mcp_store_add(op->head, MCP_COUNT_EVENTS_DROPPED, 1);
    }

    mcp_store_drop(op, st);

    return 1;
}


/* Does nothing for a replicated stream, because its consumer reports at once
 * which events it has sent. */
void
mcp_store_query_sent(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    if (st->repl == 0) {
        mcp_store_notify_consumer(op, st);
    }
}


int
mcp_store_may_go_on(const mcp_store_stream_t *st)
{
    uint64_t  unsent;

    unsent = mcp_store_stream_unsent(st);

    if (unsent == 0) {
        return 1;
    }

    if (st->max_events != 0
        && unsent > st->max_events - (st->max_events + 3) / 4)
    {
        return 0;
    }

    return st->max_bytes == 0
           || st->events.bytes - st->sent_bytes
              <= st->max_bytes - st->max_bytes / 4;
}


int
mcp_store_stream_admit(mcp_store_op_t *op, mcp_store_stream_t *st, size_t len,
    int answers)
{
    mcp_store_trim(op, st);

    if (!mcp_store_over(st, len)) {
        return MCP_OK;
    }

    if (mcp_store_stream_drops(op->head, st)) {

        while (mcp_store_over(st, len) && mcp_store_stream_drop_event(op, st)) {
            /* void */
        }

        return MCP_OK;
    }

    /* A response is always accepted. A message larger than the limit would
     * wait forever, so it is accepted if there is no unsent event. */

    if (answers >= 0 || mcp_store_stream_unsent(st) == 0) {
        return MCP_OK;
    }

    st->want_room = 1;
    mcp_store_query_sent(op, st);

    return MCP_ERR_LIMIT;
}


void
mcp_store_stream_seen(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t sent)
{
    st->sent_seq = sent;
    st->sent_bytes = mcp_store_log_bytes(op->head, &st->events,
                                         st->events.first, sent);
}


void
mcp_store_stream_sent(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t sent)
{
    uint64_t  from, bytes;

    if (sent > st->events.last) {
        sent = st->events.last;
    }

    if (sent <= st->sent_seq) {
        return;
    }

    if (sent == st->events.last) {

        /* usually all events were sent: the log need not be searched */

        bytes = st->events.bytes;

    } else {
        from = st->sent_seq + 1;

        if (from < st->events.first) {
            from = st->events.first;
        }

        bytes = st->sent_bytes
                + mcp_store_log_bytes(op->head, &st->events, from, sent);
    }

    mcp_store_stream_sent_bytes(op, st, sent, bytes);
}


void
mcp_store_stream_sent_bytes(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t sent, uint64_t bytes)
{
    if (sent <= st->sent_seq) {
        return;
    }

    st->sent_seq = sent;
    st->sent_bytes = bytes;
    mcp_store_mark_replication(op, st);

    /* the owner may be waiting for room in the region: now these sent events
     * can be removed */

    if (mcp_store_linked(&st->link[MCP_LINK_BLOCKED_ON_SPACE])) {
        mcp_store_mark_owner(op, st);
    }

    if (st->want_room && mcp_store_may_go_on(st)) {
        st->want_room = 0;
        mcp_store_mark_owner(op, st);
    }
}


static int
mcp_store_confirmed(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t seq, int drop)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc != MCP_OK) {
        return rc;
    }

    if (seq > mcp_store_visible(op.head, st)) {
        rc = MCP_ERR_NOT_FOUND;

    } else {
        if (seq > st->confirmed_seq) {
            st->confirmed_seq = seq;
            mcp_store_mark_replication(&op, st);
        }

        mcp_store_stream_sent(&op, st, seq);

        while (drop && st->events.first <= seq) {
            mcp_store_drop(&op, st);
        }

        mcp_store_stream_settle(&op, st);
    }

    mcp_store_leave(&op);

    return rc;
}


int
mcp_store_confirm(mcp_store_t *store, const mcp_stream_ref_t *ref, uint64_t seq)
{
    return mcp_store_confirmed(store, ref, seq, 1);
}


int
mcp_store_acknowledge(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t seq)
{
    return mcp_store_confirmed(store, ref, seq, 0);
}
