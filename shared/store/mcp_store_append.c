/* SPDX-License-Identifier: Apache-2.0 */

/* Appends events to streams, and makes room for them in the region. Owners that
 * find no room wait to be woken. The log numbers events: mcp_store_log.c. */


#include "store/mcp_store_layout.h"


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


/* Schedules the wake-up of the owner for when the region has room for the
 * message. */
static void
mcp_store_block_on_space(mcp_store_op_t *op, mcp_store_stream_t *st, size_t len)
{
    if (st->kind != MCP_STREAM_CALL) {
        return;
    }

    st->need = mcp_store_append_need(op, st, len);

    if (!mcp_store_linked(&st->link[MCP_LINK_BLOCKED_ON_SPACE])) {
        mcp_store_list_append(op->head, &op->head->blocked,
                              &st->link[MCP_LINK_BLOCKED_ON_SPACE]);
        mcp_store_query_sent(op, st);
    }
}


/* Returns 1 if a message of len bytes exceeds an empty region, or the tenant's
 * whole quota. */
static int
mcp_store_append_is_large(mcp_store_op_t *op, const mcp_store_stream_t *st,
    size_t len)
{
    uint32_t  n;

    n = mcp_store_chunks(len);

    return n > op->head->chunks - MCP_STORE_LEAST
           || mcp_store_tenant_large(op, st, n);
}


/*
 * Makes room for a message of len bytes in the region and within the tenant's
 * quota: evicts other streams, then removes events of the stream itself that
 * need not be kept. With "all", the message is a response, and may use the
 * reserve.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_FULL   there is no room even so; the owner is woken when there is
 *   MCP_ERR_LARGE  the message exceeds an empty region, or the whole quota
 */
static int
mcp_store_make_room(mcp_store_op_t *op, mcp_store_stream_t *st, size_t len,
    int all)
{
    uint32_t  n;

    op->keep = st;
    n = mcp_store_append_need(op, st, len);

    /* a message that fits into the log's last chunk is not large */

    if (n > 0 && mcp_store_append_is_large(op, st, len)) {
        return MCP_ERR_LARGE;
    }

    while (!mcp_store_tenant_allows(op, st, n, all)
           || mcp_store_ensure(op, n, all) != MCP_OK)
    {
        if (!mcp_store_stream_drop_event(op, st)) {
            mcp_store_block_on_space(op, st, len);
            return MCP_ERR_FULL;
        }

        n = mcp_store_append_need(op, st, len);
    }

    return MCP_OK;
}


/*
 * Checks, before a long message is copied, whether the stream accepts it and
 * has room for it. "lost" is 1 if an earlier check succeeded, but other
 * streams have taken the room since: then returns MCP_ERR_FULL, and the owner
 * is woken when there is room.
 */
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
        mcp_store_block_on_space(&op, st, len);
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


int
mcp_store_answers(const mcp_store_record_t *rec)
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

    answers = mcp_store_answers(rec);
    st = mcp_store_stream_get(op, ref);

    if (st == NULL || mcp_store_final(st)) {
        return MCP_ERR_NOT_FOUND;
    }

    op->tenant = st->tenant;
    mcp_store_task_release(op, st);

    rc = mcp_store_stream_admit(op, st, message.len, answers);
    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_store_append_event(op, st, rec, message, answers >= 0, chain);
    if (rc != MCP_OK) {
        return rc;
    }

    st->want_room = 0;
    mcp_store_list_remove(op->head, &op->head->blocked,
                          &st->link[MCP_LINK_BLOCKED_ON_SPACE]);
    mcp_store_stream_apply(op, st, rec, now);
    mcp_store_task_replace(op, st);
    mcp_store_notify_consumer(op, st);
    mcp_store_mark_replication(op, st);

    return MCP_OK;
}


/* Appends a message. A long message is in the private chain "chain", which is
 * empty for a short one. Inline, because owners append all the time. */
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


/* Skips the number of a message that has no room even after all events of the
 * listener were removed, so that the client notices the gap. */
static void
mcp_store_stream_burn(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_add(op->head, MCP_COUNT_EVENTS_DROPPED,
                  (int64_t) mcp_store_stream_unsent(st) + 1);

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
    op->tenant = st->tenant;

    (void) mcp_store_stream_admit(op, st, message.len, -1);

    rc = mcp_store_append_event(op, st, &rec, message, 0, chain);

    if (rc == MCP_OK) {
        mcp_store_stream_apply(op, st, &rec, 0);

    } else {
        mcp_store_stream_burn(op, st);
        mcp_store_stream_settle(op, st);
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

    if (st != NULL && !mcp_store_final(st)) {
        if (rc == MCP_OK) {
            mcp_store_stream_publish(&op, st, message, &chain);

        } else {
            mcp_store_stream_burn(&op, st);
            mcp_store_stream_settle(&op, st);
            mcp_store_mark_consumer(&op, st);
            mcp_store_mark_replication(&op, st);
        }

    } else if (rc == MCP_OK) {
        mcp_store_chain_free(&op, chain.first, chain.last, chain.count);
    }

    mcp_store_leave(&op);
}
