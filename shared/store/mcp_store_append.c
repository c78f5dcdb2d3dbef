/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Appends events to streams, and makes room for them in the stream and in the
 * region. A stream keeps unsent events up to its limits, and in addition sent
 * events up to the same limits, except those that mcp_store_confirm() has
 * removed. An owner that finds no room waits until it is woken. The log, which
 * numbers the events, is in mcp_store_record_queue.c.
 */


#include "store/mcp_store_layout.h"


/* --- retention --- */

/* Returns the number of kept events that were sent. */
static uint64_t
mcp_store_sent(const mcp_store_stream_t *st)
{
    return st->sent_seq < st->events.first
           ? 0 : st->sent_seq + 1 - st->events.first;
}


/* Returns the number of kept events that were not sent. */
static uint64_t
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


/* Removes the oldest event of a stream. */
static void
mcp_store_drop(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    uint64_t  sent, bytes;

    sent = mcp_store_sent(st);
    bytes = st->events.bytes;
    mcp_store_log_drop(op, &st->events);
    st->sent_bytes -= sent ? bytes - st->events.bytes : 0;
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


/* Wakes the consumer of a stream whose owner waits for room, so that the
 * consumer's next mcp_store_read() reports how much it has sent. Does nothing
 * for a replicated stream, because its consumer reports at once. */
static void
mcp_store_query_sent(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    if (st->repl == 0) {
        mcp_store_notify_consumer(op, st);
    }
}


int
mcp_store_may_continue(const mcp_store_stream_t *st)
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


/*
 * Makes room for a message of len bytes within the stream's limits, by removing
 * old events. Accepts a response even if it exceeds the limits.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_LIMIT  there is no room; the owner is woken when there is
 */
static int
mcp_store_stream_admit(mcp_store_op_t *op, mcp_store_stream_t *st, size_t len,
    int answers)
{
    /* removes the oldest sent events until the other ones fit into the limits,
     * which apply to sent events and to unsent events separately. The
     * rest is kept, because the client may not have received it and may request
     * it again */
    while (mcp_store_sent(st) > 0
           && ((st->max_events != 0 && mcp_store_sent(st) > st->max_events)
               || (st->max_bytes != 0 && st->sent_bytes > st->max_bytes)))
    {
        mcp_store_drop(op, st);
    }

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

    st->blocked = 1;
    mcp_store_query_sent(op, st);

    return MCP_ERR_LIMIT;
}


void
mcp_store_stream_sent(mcp_store_op_t *op, mcp_store_stream_t *st, uint64_t sent)
{
    uint64_t  from, bytes;

    if (sent <= st->sent_seq) {
        return;
    }

    if (sent >= st->events.last) {
        sent = st->events.last;

        /* in the usual case all events were sent: the number of their bytes is
         * available without searching the log */

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

    /* wakes an owner that waits for room in the region, because the events that
     * were just sent can be removed now */

    if (mcp_store_linked(&st->link[MCP_LINK_BLOCKED_ON_SPACE])) {
        mcp_store_mark_owner(op, st);
    }

    if (st->blocked && mcp_store_may_continue(st)) {
        st->blocked = 0;
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


/* --- appending --- */

/* Returns the number of chunks that a message takes. A long message has a
 * chain of its own. */
static uint32_t
mcp_store_append_need(mcp_store_op_t *op, const mcp_store_stream_t *st,
    size_t len)
{
    if (len > MCP_STORE_BIG) {
        return mcp_store_chunks(len + sizeof(mcp_store_record_t));
    }

    return mcp_store_log_need(op->head, &st->events, len);
}


/* Adds a stream to a list of streams blocked on space: its owner, or the
 * feeding process of a mirror, is woken when the region has room for a message
 * of len bytes. With "all", the message is a response. A stream with a response
 * that waits stays in the list for responses. Does nothing for a listener that
 * is not a mirror: it loses the message. */
static void
mcp_store_block_on_space(mcp_store_op_t *op, mcp_store_stream_t *st, size_t len,
    int all)
{
    mcp_store_link_t  *link;

    link = &st->link[MCP_LINK_BLOCKED_ON_SPACE];

    if (mcp_store_stream_drops(op->head, st)
        || (mcp_store_linked(link) && st->need_all && !all))
    {
        return;
    }

    if (!mcp_store_linked(link)) {
        mcp_store_query_sent(op, st);

    } else if (st->need_all != all) {
        mcp_store_unblock(op->head, st);
    }

    st->need = mcp_store_append_need(op, st, len);
    st->need_all = (uint8_t) all;

    if (!mcp_store_linked(link)) {
        mcp_store_list_append(op->head, &op->head->blocked[all], link);
    }
}


/*
 * Makes room for a message of len bytes in the region and within the tenant's
 * quota: evicts other streams, then removes events of the stream itself that
 * need not be kept. With "all", the message is a response, and may use the
 * reserve of free chunks.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_FULL   there is not enough room even after that; the owner is
 *                  woken when there is
 *   MCP_ERR_LARGE  the message exceeds a region without other streams, or the
 *                  whole quota
 */
static int
mcp_store_make_room(mcp_store_op_t *op, mcp_store_stream_t *st, size_t len,
    int all)
{
    uint32_t  n, total;

    op->keep = st;
    n = mcp_store_append_need(op, st, len);
    total = mcp_store_chunks(len + MCP_RECORD_HEAD);

    /* n is 0 if the message fits into the log's last chunk: such a message is
     * never too large */

    if (n > 0 && (total > mcp_store_room_alone(op->head, st, all)
                  || mcp_store_tenant_large(op, st, n, total, all)))
    {
        return MCP_ERR_LARGE;
    }

    while (!mcp_store_tenant_allows(op, st, n, all)
           || mcp_store_ensure(op, n, all) != MCP_OK)
    {
        if (!mcp_store_stream_drop_event(op, st)) {
            mcp_store_block_on_space(op, st, len, all);
            return MCP_ERR_FULL;
        }

        n = mcp_store_append_need(op, st, len);
    }

    return MCP_OK;
}


/* Checks, before a long message is copied, whether the stream accepts the
 * message and has room for it. "lost" is 1 in a second call, if the first call
 * has succeeded but other streams have taken the room since: makes the owner
 * wait for room, and returns MCP_ERR_FULL. */
static int
mcp_store_append_try(mcp_store_t *store, const mcp_stream_ref_t *ref,
    size_t len, int answers, int lost, unsigned char tenant[MCP_DIGEST_LEN])
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc != MCP_OK) {
        return rc;
    }

    memcpy(tenant, st->tenant, MCP_DIGEST_LEN);
    mcp_store_task_release(&op, st);

    if (mcp_store_final(st)) {
        rc = MCP_ERR_NOT_FOUND;

    } else if (lost) {
        mcp_store_block_on_space(&op, st, len, answers >= 0);
        rc = MCP_ERR_FULL;

    } else {
        rc = mcp_store_stream_admit(&op, st, len, answers);

        if (rc == MCP_OK) {
            rc = mcp_store_make_room(&op, st, len, answers >= 0);
        }
    }

    mcp_store_leave(&op);

    return rc;
}


int
mcp_store_append_copy(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_str_t message, int answers, mcp_store_chain_t *chain)
{
    int            rc;
    unsigned char  tenant[MCP_DIGEST_LEN];

    rc = mcp_store_append_try(store, ref, message.len, answers, 0, tenant);
    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_store_private_make(store, &message, 1, sizeof(mcp_store_record_t),
                                answers >= 0, tenant, chain);

    if (rc == MCP_ERR_FULL) {
        rc = mcp_store_append_try(store, ref, message.len, answers, 1, tenant);
    }

    return rc;
}


/* Appends a message to a stream's log. If "chain" contains the message,
 * attaches the chain to the log, otherwise makes room in the region and copies
 * the message. The caller has checked the stream's limits. */
static int
mcp_store_append_event(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_record_t *rec, mcp_str_t message, int all,
    const mcp_store_chain_t *chain)
{
    int  rc;

    rc = MCP_OK;

    if (chain != NULL && chain->count > 0) {
        mcp_store_log_attach(op, &st->events, rec, chain);
    } else {
        rc = mcp_store_make_room(op, st, message.len, all);
        if (rc == MCP_OK) {
            rc = mcp_store_log_append(op, &st->events, rec, &message, 1, all);
        }
    }

    mcp_store_add(op->head, MCP_COUNT_EVENTS, rc == MCP_OK);

    return rc;
}


int
mcp_store_record_request(const mcp_store_record_t *rec)
{
    return rec->answers & MCP_STORE_ABOUT ? -1 : (int) rec->answers - 1;
}


static inline int
mcp_store_append_locked(mcp_store_op_t *op, const mcp_stream_ref_t *ref,
    mcp_str_t message, mcp_store_record_t *rec, uint64_t now,
    mcp_store_chain_t *chain)
{
    int                  rc, answers;
    mcp_store_stream_t  *st;

    answers = mcp_store_record_request(rec);
    st = mcp_store_stream_get(op, ref);

    if (st == NULL || mcp_store_final(st)) {
        return MCP_ERR_NOT_FOUND;
    }

    op->tenant = st->tenant;
    mcp_store_task_release(op, st);
    rc = mcp_store_stream_admit(op, st, message.len, answers);
    if (rc == MCP_OK) {
        rc = mcp_store_append_event(op, st, rec, message, answers >= 0, chain);
    }

    if (rc != MCP_OK) {
        return rc;
    }

    st->blocked = 0;
    mcp_store_unblock(op->head, st);
    mcp_store_stream_apply(op, st, rec, now);
    mcp_store_task_replace(op, st);
    mcp_store_notify_consumer(op, st);
    mcp_store_mark_replication(op, st);

    return MCP_OK;
}


/* Appends a message. "chain" is the private chain to which the caller has
 * copied a long message. It is empty for a short message. Frees the chain if
 * the message is not appended. Inline, because owners append all the time. */
static inline int
mcp_store_append_claimed(mcp_store_op_t *op, const mcp_stream_ref_t *ref,
    mcp_str_t message, mcp_store_record_t *rec, uint64_t now,
    mcp_store_chain_t *chain)
{
    int  rc;

    if (chain->count > 0) {
        rc = mcp_store_private_claim(op, chain);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    rc = mcp_store_append_locked(op, ref, message, rec, now, chain);
    if (rc != MCP_OK) {
        mcp_store_chain_free(op, chain->first, chain->last, chain->count);
    }

    return rc;
}


int
mcp_store_append_next(mcp_store_op_t *op, const mcp_stream_ref_t *ref,
    mcp_str_t message, mcp_store_record_t *rec, uint64_t now,
    mcp_store_chain_t *chain)
{
    return mcp_store_append_claimed(op, ref, message, rec, now, chain);
}


int
mcp_store_append(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_str_t message, int answers, mcp_stream_state_e state, uint64_t now,
    uint64_t *seq)
{
    int                 rc;
    mcp_store_op_t      op;
    mcp_store_chain_t   chain = { 0, 0, 0 };
    mcp_store_record_t  rec = { 0 };

    if (message.len > MCP_STORE_LEN_MAX || answers > UINT16_MAX - 1) {
        return MCP_ERR_LIMIT;
    }

    rec.len = (uint32_t) message.len;
    rec.answers = (uint16_t) (answers < 0 ? 0 : answers + 1);
    rec.type = (uint16_t) state;

    if (message.len > MCP_STORE_BIG) {
        rc = mcp_store_append_copy(store, ref, message,
                                   mcp_store_record_request(&rec), &chain);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    rc = mcp_store_enter(store, &op);
    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_store_append_claimed(&op, ref, message, &rec, now, &chain);

    mcp_store_leave(&op);

    if (rc == MCP_OK) {
        *seq = rec.seq;
    }

    return rc;
}


/* Called when a message to a listener finds no room in the region or within the
 * tenant's quota. Removes all events of the listener and skips the number of
 * the message, so that the client notices the gap. */
static void
mcp_store_stream_burn(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_add(op->head, MCP_COUNT_EVENTS_DROPPED,
                  (int64_t) mcp_store_stream_unsent(st) + 1);
    mcp_store_log_clear(op, &st->events);
    st->sent_bytes = 0;

    st->events.last++;
    mcp_store_barrier();
    st->events.first = st->events.last + 1;
    st->applied_seq = st->events.last;
    mcp_store_stream_settle(op, st);
}


void
mcp_store_stream_publish(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_str_t message, const mcp_store_chain_t *chain)
{
    int                 rc;
    mcp_store_record_t  rec;

    rec.len = (uint32_t) message.len;
    rec.answers = 0;
    rec.type = st->state;
    op->tenant = st->tenant;

    (void) mcp_store_stream_admit(op, st, message.len, -1);

    rc = mcp_store_append_event(op, st, &rec, message, 0, chain);

    if (rc == MCP_OK) {
        mcp_store_stream_apply(op, st, &rec, 0);

    } else {
        mcp_store_stream_burn(op, st);
    }

    mcp_store_mark_consumer(op, st);
    mcp_store_mark_replication(op, st);
}


void
mcp_store_stream_publish_big(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_str_t message)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_chain_t    chain;
    mcp_store_stream_t  *st;

    rc = MCP_ERR_FULL;

    if (message.len <= MCP_STORE_LEN_MAX) {
        rc = mcp_store_append_copy(store, ref, message, -1, &chain);
    }

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return;
    }

    if (rc == MCP_OK) {
        rc = mcp_store_private_claim(&op, &chain);
    }

    st = mcp_store_stream_get(&op, ref);

    if (st == NULL || mcp_store_final(st)) {
        if (rc == MCP_OK) {
            mcp_store_chain_free(&op, chain.first, chain.last, chain.count);
        }

    } else if (rc == MCP_OK) {
        mcp_store_stream_publish(&op, st, message, &chain);
    } else {
        mcp_store_stream_burn(&op, st);
        mcp_store_mark_consumer(&op, st);
        mcp_store_mark_replication(&op, st);
    }

    mcp_store_leave(&op);
}
