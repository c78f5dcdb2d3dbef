/* SPDX-License-Identifier: Apache-2.0 */

/* Appends events to streams, within their limits, and wakes the owners that
 * wait for room. */


#include "store/mcp_store_layout.h"


/* Returns how many of the events kept were sent. */
static uint64_t
mcp_store_sent(const mcp_store_stream_t *st)
{
    return st->sent_seq < st->events.first
           ? 0 : st->sent_seq + 1 - st->events.first;
}


/* Returns how many of the events kept were not sent. */
static uint64_t
mcp_store_unsent(const mcp_store_stream_t *st)
{
    return mcp_store_log_count(&st->events) - mcp_store_sent(st);
}


/* Whether one more event would exceed the stream's limits. */
static int
mcp_store_over(const mcp_store_stream_t *st, size_t len)
{
    uint64_t  bytes;

    if (st->max_events != 0 && mcp_store_unsent(st) >= st->max_events) {
        return 1;
    }

    bytes = st->events.bytes - st->sent_bytes;

    return st->max_bytes != 0
           && (len > st->max_bytes || bytes > st->max_bytes - len);
}


/* Drops the oldest event. */
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


/* Keeps, of what was sent, as much as the limits allow of what was not: what
 * was written to a socket need not have arrived, and the client may ask for it
 * again. */
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


/* Drops the oldest event to make room, if the stream can do without it: a call
 * if it was sent, a listener always. */
static int
mcp_store_spare(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    if (mcp_store_sent(st) == 0) {
        if (st->kind != MCP_STREAM_LISTEN || st->events.head == 0) {
            return 0;
        }

        mcp_store_add(op->head, MCP_COUNT_EVENTS_DROPPED, 1);
    }

    mcp_store_drop(op, st);

    return 1;
}


/* Makes room for a message within the stream's limits; MCP_ERR_LIMIT: the owner
 * must wait. */
static int
mcp_store_admit(mcp_store_op_t *op, mcp_store_stream_t *st, size_t len,
    int answers)
{
    mcp_store_trim(op, st);

    if (!mcp_store_over(st, len)) {
        return MCP_OK;
    }

    if (st->kind == MCP_STREAM_LISTEN) {

        while (mcp_store_over(st, len) && mcp_store_spare(op, st)) {
            /* void */
        }

        return MCP_OK;
    }

    /* A response must go out.  A message larger than the limit would wait for
     * ever, so it goes when no other waits. */

    if (answers >= 0 || mcp_store_unsent(st) == 0) {
        return MCP_OK;
    }

    st->want_room = 1;

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


/* Whether an owner that was refused can go on for a while: a quarter of each
 * limit is free, or all was sent. */
static int
mcp_store_may_go_on(const mcp_store_stream_t *st)
{
    uint64_t  unsent;

    unsent = mcp_store_unsent(st);

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


void
mcp_store_stream_sent(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t sent)
{
    uint64_t  from;

    if (sent > st->events.last) {
        sent = st->events.last;
    }

    if (sent <= st->sent_seq) {
        return;
    }

    from = st->sent_seq + 1;

    if (from < st->events.first) {
        from = st->events.first;
    }

    st->sent_bytes += mcp_store_log_bytes(op->head, &st->events, from, sent);
    st->sent_seq = sent;

    /* Events that were sent may now be dropped for one that found no room in
     * the region. */

    if (mcp_store_linked(&st->link[MCP_LINK_HUNGRY])) {
        mcp_store_mark_owner(op, st);
    }

    if (st->want_room && mcp_store_may_go_on(st)) {
        st->want_room = 0;
        mcp_store_mark_owner(op, st);
    }
}


/* Returns how many chunks a message takes: a big one comes in a chain of its
 * own. */
static uint32_t
mcp_store_append_need(mcp_store_op_t *op, const mcp_store_stream_t *st,
    size_t len)
{
    if (len > MCP_STORE_BIG) {
        return mcp_store_chunks(len + sizeof(mcp_store_record_t));
    }

    return mcp_store_log_need(op->head, &st->events, len);
}


/* Has the owner woken when the region has as much room as the message takes. */
static void
mcp_store_hunger(mcp_store_op_t *op, mcp_store_stream_t *st, size_t len)
{
    if (st->kind != MCP_STREAM_CALL) {
        return;
    }

    st->need = mcp_store_append_need(op, st, len);

    if (!mcp_store_linked(&st->link[MCP_LINK_HUNGRY])) {
        mcp_store_list_append(op->head, &op->head->hungry,
                              &st->link[MCP_LINK_HUNGRY]);
    }
}


/*
 * Makes room for a message in the region, and within the party's quota: evicts
 * other streams, then drops the stream's own events that it can do without.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_FULL   that was not enough; the owner is woken when there is room
 *   MCP_ERR_LARGE  an empty region, or the whole quota, would not be enough
 */
static int
mcp_store_make_room(mcp_store_op_t *op, mcp_store_stream_t *st, size_t len,
    int all)
{
    uint32_t  n;

    n = mcp_store_chunks(len);
    op->keep = st;

    if (n > op->head->chunks - MCP_STORE_LEAST
        || mcp_store_party_large(op, st, n))
    {
        return MCP_ERR_LARGE;
    }

    for ( ;; ) {
        n = mcp_store_append_need(op, st, len);

        if (mcp_store_party_allows(op, st, n, all)
            && mcp_store_ensure(op, n, all) == MCP_OK)
        {
            break;
        }

        if (!mcp_store_spare(op, st)) {
            mcp_store_hunger(op, st, len);
            return MCP_ERR_FULL;
        }
    }

    return MCP_OK;
}


/* Asks, before a big message is copied, whether it may be appended and has
 * room.  "lost": it had, but others were quicker, so the owner must wait. */
static int
mcp_store_append_ask(mcp_store_t *store, const mcp_stream_ref_t *ref,
    size_t len, int answers, int lost, unsigned char party[MCP_DIGEST_LEN])
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc != MCP_OK) {
        return rc;
    }

    memcpy(party, st->party, MCP_DIGEST_LEN);

    if (mcp_store_final(st)) {
        rc = MCP_ERR_NOT_FOUND;

    } else if (lost) {
        mcp_store_hunger(&op, st, len);
        rc = MCP_ERR_FULL;

    } else {
        rc = mcp_store_admit(&op, st, len, answers);

        if (rc == MCP_OK) {
            rc = mcp_store_make_room(&op, st, len, answers >= 0);
        }
    }

    mcp_store_leave(&op);

    return rc;
}


/* Copies a big message into a private chain, without the lock. */
static int
mcp_store_append_copy(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_str_t message, int answers, mcp_store_chain_t *chain)
{
    int            rc;
    unsigned char  party[MCP_DIGEST_LEN];

    rc = mcp_store_append_ask(store, ref, message.len, answers, 0, party);
    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_store_private_make(store, &message, 1, sizeof(mcp_store_record_t),
                                answers >= 0, party, chain);

    if (rc == MCP_ERR_FULL) {
        rc = mcp_store_append_ask(store, ref, message.len, answers, 1, party);
    }

    return rc;
}


/* Appends a message that the stream's limits allow. */
static int
mcp_store_append_event(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_record_t *rec, mcp_str_t message, int all,
    const mcp_store_chain_t *chain)
{
    int  rc;

    if (chain != NULL && chain->count > 0) {
        mcp_store_log_attach(op, &st->events, rec, chain);

    } else {
        rc = mcp_store_make_room(op, st, message.len, all);

        if (rc == MCP_OK) {
            rc = mcp_store_log_append(op, &st->events, rec, &message, 1, all);
        }

        if (rc != MCP_OK) {
            return rc;
        }
    }

    mcp_store_add(op->head, MCP_COUNT_EVENTS, 1);

    return MCP_OK;
}


/* Returns the number of the request that a record answers, or -1. */
static int
mcp_store_answers(const mcp_store_record_t *rec)
{
    return rec->answers & MCP_STORE_ABOUT ? -1 : (int) rec->answers - 1;
}


static int
mcp_store_append_locked(mcp_store_op_t *op, const mcp_stream_ref_t *ref,
    mcp_str_t message, mcp_store_record_t *rec, uint64_t now,
    mcp_store_chain_t *chain)
{
    int                  rc, answers;
    mcp_store_stream_t  *st;

    answers = mcp_store_answers(rec);
    st = mcp_store_stream_get(op, ref);

    if (st == NULL || mcp_store_final(st)) {
        return MCP_ERR_NOT_FOUND;
    }

    op->party = st->party;

    rc = mcp_store_admit(op, st, message.len, answers);
    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_store_append_event(op, st, rec, message, answers >= 0, chain);
    if (rc != MCP_OK) {
        return rc;
    }

    st->want_room = 0;
    mcp_store_list_remove(op->head, &op->head->hungry,
                          &st->link[MCP_LINK_HUNGRY]);
    mcp_store_stream_apply(op, st, rec, now);
    mcp_store_mark_consumer(op, st);

    return MCP_OK;
}


/* Appends a message; chain: holds it already, if it is big. */
static int
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
mcp_store_append(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_str_t message, int answers, mcp_stream_state_e state, uint64_t now,
    uint64_t *seq)
{
    int                 rc;
    mcp_store_op_t      op;
    mcp_store_chain_t   chain = { 0, 0, 0 };
    mcp_store_record_t  rec;

    if (message.len > MCP_STORE_LEN_MAX || answers > UINT16_MAX - 1) {
        return MCP_ERR_LIMIT;
    }

    rec.len = (uint32_t) message.len;
    rec.answers = (uint16_t) (answers < 0 ? 0 : answers + 1);
    rec.type = (uint16_t) state;

    if (message.len > MCP_STORE_BIG) {
        rc = mcp_store_append_copy(store, ref, message,
                                   mcp_store_answers(&rec), &chain);
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

    if (seq > st->events.last) {
        rc = MCP_ERR_NOT_FOUND;

    } else {
        if (seq > st->confirmed_seq) {
            st->confirmed_seq = seq;
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


/* Passes over the number of a message for which there is no room even without
 * all of the listener's events: its client learns that something is missing. */
static void
mcp_store_stream_burn(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_add(op->head, MCP_COUNT_EVENTS_DROPPED,
                  (int64_t) mcp_store_unsent(st) + 1);

    mcp_store_log_clear(op, &st->events);

    st->events.last++;
    mcp_store_barrier();
    st->events.first = st->events.last + 1;
    st->applied_seq = st->events.last;
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
    op->party = st->party;

    (void) mcp_store_admit(op, st, message.len, -1);

    rc = mcp_store_append_event(op, st, &rec, message, 0, chain);

    if (rc == MCP_OK) {
        mcp_store_stream_apply(op, st, &rec, 0);

    } else {
        mcp_store_stream_burn(op, st);
        mcp_store_stream_settle(op, st);
    }

    mcp_store_mark_consumer(op, st);
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

    if (st != NULL && !mcp_store_final(st)) {
        if (rc == MCP_OK) {
            mcp_store_stream_publish(&op, st, message, &chain);

        } else {
            mcp_store_stream_burn(&op, st);
            mcp_store_stream_settle(&op, st);
            mcp_store_mark_consumer(&op, st);
        }

    } else if (rc == MCP_OK) {
        mcp_store_chain_free(&op, chain.first, chain.last, chain.count);
    }

    mcp_store_leave(&op);
}
