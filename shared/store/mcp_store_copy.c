/* SPDX-License-Identifier: Apache-2.0 */

/* What the copier of a shared stream reads of it, and what it says is safe. */


#include "store/mcp_store_layout.h"


/* Takes the lock for a stream that this process copies, or feeds. */
static int
mcp_store_copy_enter(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_op_t *op, mcp_store_stream_t **st, mcp_store_share_t **share)
{
    int  rc;

    rc = mcp_store_stream_enter(store, ref, op, st);
    if (rc != MCP_OK) {
        return rc;
    }

    if ((*st)->share != 0) {
        *share = mcp_store_share_of(op->head, (*st)->share);

        if ((*share)->slot == store->slot) {
            return MCP_OK;
        }
    }

    mcp_store_leave(op);

    return MCP_ERR_DENIED;
}


/* Takes it for one that is no mirror. */
static int
mcp_store_copy_enter_own(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_op_t *op, mcp_store_stream_t **st, mcp_store_share_t **share)
{
    int  rc;

    rc = mcp_store_copy_enter(store, ref, op, st, share);

    if (rc == MCP_OK && (*share)->mirror) {
        mcp_store_leave(op);
        return MCP_ERR_DENIED;
    }

    return rc;
}


/* Reads back what the stream itself knows of its spec. */
static void
mcp_store_spec_read(mcp_store_op_t *op, const mcp_store_stream_t *st,
    mcp_stream_spec_t *spec)
{
    memset(spec, 0, sizeof(mcp_stream_spec_t));

    memcpy(spec->id, st->id, MCP_STREAM_ID_LEN);
    memcpy(spec->session, st->session, MCP_DIGEST_LEN);
    memcpy(spec->principal, st->principal, MCP_DIGEST_LEN);
    memcpy(spec->params, st->params, MCP_DIGEST_LEN);

    spec->kind = (mcp_stream_kind_e) st->kind;
    spec->revision = st->revision;
    spec->expires = st->expires;
    spec->max_wait = st->max_wait;
    spec->linger = st->linger;
    spec->promised = st->promised;
    spec->max_events = st->max_events;
    spec->max_bytes = st->max_bytes;

    if (st->join) {
        memcpy(spec->joins, ((mcp_store_entry_t *)
                             mcp_store_at(op->head, st->join))->key,
               MCP_DIGEST_LEN);
        spec->join = spec->joins;
    }
}


int
mcp_store_share_spec(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_stream_spec_t *spec, mcp_stream_info_t *info, mcp_buf_t *request)
{
    int                  rc;
    size_t               start;
    mcp_store_op_t       op;
    mcp_store_share_t   *share;
    mcp_store_stream_t  *st;

    rc = mcp_store_copy_enter_own(store, ref, &op, &st, &share);
    if (rc != MCP_OK) {
        return rc;
    }

    start = request->len;
    mcp_store_spec_read(&op, st, spec);
    mcp_store_stream_info(&op, st, info);
    mcp_store_stream_request(&op, st, request);

    mcp_store_leave(&op);

    if (request->failed) {
        return request->failed;
    }

    spec->method.data = info->method;
    spec->method.len = strlen(info->method);
    spec->name.data = info->name;
    spec->name.len = strlen(info->name);
    spec->request.len = request->len - start;
    spec->request.data = spec->request.len ? request->data + start : NULL;

    return MCP_OK;
}


/* What there is of a mirror's stream elsewhere. */
static void
mcp_store_copying_mirror(const mcp_store_stream_t *st,
    const mcp_store_share_t *share, mcp_store_copying_t *copying)
{
    copying->reader = share->here;
    copying->known = share->known[share->which];
    copying->known.seq = share->last > st->events.last ? share->last
                                                       : st->events.last;
    copying->held = share->joined.held && !mcp_store_final(st);
}


/* What there is to say of a stream that others may join. */
static void
mcp_store_copying_join(mcp_store_op_t *op, const mcp_store_stream_t *st,
    mcp_store_copying_t *copying)
{
    const mcp_store_entry_t  *e;

    e = mcp_store_at(op->head, st->join);

    copying->joins = 1;
    copying->held |= st->held && !mcp_store_final(st);
    copying->once = st->held == 2;
    copying->readers = e->u.join.count;
    memcpy(copying->join, e->key, MCP_DIGEST_LEN);
    copying->hidden = memcmp(e->key, st->id, MCP_DIGEST_LEN) == 0;
}


int
mcp_store_copying(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_copying_t *copying)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_share_t   *share;
    mcp_store_stream_t  *st;

    rc = mcp_store_copy_enter(store, ref, &op, &st, &share);
    if (rc != MCP_OK) {
        return rc;
    }

    memset(copying, 0, sizeof(mcp_store_copying_t));
    mcp_store_share_own(st, &copying->own);
    copying->acked = share->acked;
    copying->first_seq = st->events.first;
    copying->sent_seq = st->sent_seq;
    copying->confirmed_seq = st->confirmed_seq;
    copying->alias = st->alias;
    copying->turn = st->turn;
    copying->expires = mcp_store_is_task(st) ? st->expires : 0;
    copying->kept = st->created + st->kept_after;
    copying->changed = st->changed;
    copying->given = st->given;
    copying->end = mcp_store_final(st) ? mcp_store_stream_end(st) : 0;
    copying->reader = share->reader;
    copying->consumer_slot = st->consumer_slot;
    copying->sync = share->sync;
    copying->created = share->created;
    copying->mirror = share->mirror;
    copying->listener = st->kind == MCP_STREAM_LISTEN;

    copying->max_wait = st->max_wait;
    copying->asked = share->asked;

    /* what it has taken may change nothing before it has taken all */

    if (st->inbox.head == 0 && !st->taken) {
        share->taken = share->got;
    }

    copying->taken = share->taken;

    if (share->mirror) {
        mcp_store_copying_mirror(st, share, copying);
    }

    if (st->join) {
        mcp_store_copying_join(&op, st, copying);
    }

    mcp_store_leave(&op);

    return MCP_OK;
}


/* Notes what an event does to how a stream stands. */
static void
mcp_store_copy_apply(mcp_store_stand_t *at, const mcp_store_record_t *rec)
{
    uint64_t  bit;

    bit = mcp_store_answer_bit(rec);

    at->seq = rec->seq;
    at->state = (mcp_stream_state_e) rec->type;
    at->answered |= bit;

    if (bit && (rec->answers & MCP_STORE_ERROR)) {
        at->failed |= bit;
        at->failed_seq = rec->seq;
    }
}


/*
 * Copies the event at pos, which follows copy->at.
 *
 * Returns MCP_OK, or
 *   MCP_DONE          there is no room for it
 *   MCP_ERR_LIMIT     nor would there be in an empty buffer
 *   MCP_ERR_INTERNAL  the log is not what it should be
 */
static int
mcp_store_copy_one(mcp_store_head_t *head, mcp_store_copy_t *copy,
    mcp_store_pos_t *pos)
{
    mcp_store_raw_t     *raw;
    mcp_store_record_t  *rec;

    rec = mcp_store_log_record(head, pos);

    if (rec == NULL || rec->seq != copy->at.seq + 1) {
        return MCP_ERR_INTERNAL;
    }

    if (rec->len > copy->cap - copy->len) {
        if (copy->n == 0) {
            copy->len = rec->len;
            return MCP_ERR_LIMIT;
        }

        return MCP_DONE;
    }

    raw = &copy->raw[copy->n];
    raw->seq = rec->seq;
    raw->offset = copy->len;
    raw->len = rec->len;
    raw->answers = rec->answers;
    raw->state = (mcp_stream_state_e) rec->type;

    pos->offset += MCP_RECORD_HEAD;

    if (mcp_store_copy_out(head, pos, copy->buf + copy->len, raw->len)
        != raw->len)
    {
        return MCP_ERR_INTERNAL;
    }

    copy->len += raw->len;
    copy->n++;
    mcp_store_copy_apply(&copy->at, rec);

    return MCP_OK;
}


static int
mcp_store_copy_locked(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_copy_t *copy)
{
    int              rc;
    mcp_store_pos_t  pos;

    if (copy->at.seq > st->events.last) {
        return MCP_ERR_NOT_FOUND;
    }

    if (copy->at.seq + 1 < st->events.first) {
        return MCP_ERR_PURGED;
    }

    rc = MCP_OK;

    if (copy->at.seq < st->events.last
        && !mcp_store_log_seek(op->head, &st->events, copy->at.seq + 1, &pos))
    {
        return MCP_ERR_INTERNAL;
    }

    while (rc == MCP_OK && copy->n < copy->max
           && copy->at.seq < st->events.last)
    {
        rc = mcp_store_copy_one(op->head, copy, &pos);
    }

    /* a state may change without an event */

    if (copy->at.seq == st->events.last) {
        mcp_store_share_own(st, &copy->at);
    }

    return rc == MCP_DONE ? MCP_OK : rc;
}


int
mcp_store_copy(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_copy_t *copy)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_share_t   *share;
    mcp_store_stream_t  *st;

    copy->n = 0;
    copy->len = 0;

    rc = mcp_store_copy_enter_own(store, ref, &op, &st, &share);
    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_store_copy_locked(&op, st, copy);
    copy->heard = share->heard;

    mcp_store_leave(&op);

    return rc;
}


void
mcp_store_behind(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t *events, uint64_t *bytes)
{
    mcp_store_op_t       op;
    mcp_store_share_t   *share;
    mcp_store_stream_t  *st;

    *events = 0;
    *bytes = 0;

    if (mcp_store_copy_enter_own(store, ref, &op, &st, &share) != MCP_OK) {
        return;
    }

    if (share->acked.seq < st->events.last) {
        *events = st->events.last - share->acked.seq;
        *bytes = mcp_store_log_bytes(op.head, &st->events,
                                     share->acked.seq + 1 > st->events.first
                                     ? share->acked.seq + 1
                                     : st->events.first,
                                     st->events.last);
    }

    mcp_store_leave(&op);
}


/* The state last: a reader that finds it final looks for no event. */
static void
mcp_store_copy_set(mcp_store_stand_t *acked, const mcp_store_stand_t *stand)
{
    acked->seq = stand->seq;
    acked->answered = stand->answered;
    acked->failed = stand->failed;
    acked->failed_seq = stand->failed_seq;
    mcp_store_barrier();
    acked->state = stand->state;
}


void
mcp_store_share_reach(mcp_store_op_t *op, mcp_store_stream_t *st, uint64_t seq)
{
    uint64_t             from;
    mcp_store_pos_t      pos;
    mcp_store_share_t   *share;
    mcp_store_stand_t    stand;
    mcp_store_record_t  *rec;

    share = mcp_store_share_of(op->head, st->share);

    if (seq <= share->acked.seq) {
        return;
    }

    stand = share->acked;
    from = stand.seq + 1 > st->events.first ? stand.seq + 1 : st->events.first;

    if (from <= seq && mcp_store_log_seek(op->head, &st->events, from, &pos)) {
        while (stand.seq < seq
               && (rec = mcp_store_log_record(op->head, &pos)) != NULL)
        {
            mcp_store_copy_apply(&stand, rec);
            mcp_store_log_pass(op->head, &pos, rec->len);
        }
    }

    mcp_store_node_add(op->head, MCP_NODE_COPIED, seq - share->acked.seq);

    stand.seq = seq;
    mcp_store_copy_set(&share->acked, &stand);
}


int
mcp_store_share_ack(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_store_stand_t *stand)
{
    mcp_store_share_t  *share;

    share = mcp_store_share_of(op->head, st->share);

    if (stand->seq > st->events.last) {
        return MCP_ERR_NOT_FOUND;
    }

    if (stand->seq < share->acked.seq) {
        return MCP_OK;
    }

    mcp_store_node_add(op->head, MCP_NODE_COPIED,
                       stand->seq - share->acked.seq);

    share->created = 1;
    mcp_store_copy_set(&share->acked, stand);

    mcp_store_task_release(op, st);
    mcp_store_task_replace(op, st);
    mcp_store_stream_settle(op, st);
    mcp_store_mark_consumer(op, st);

    return MCP_OK;
}


int
mcp_store_acked(mcp_store_t *store, const mcp_stream_ref_t *ref,
    const mcp_store_stand_t *stand)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_share_t   *share;
    mcp_store_stream_t  *st;

    rc = mcp_store_copy_enter_own(store, ref, &op, &st, &share);

    if (rc == MCP_OK) {
        rc = mcp_store_share_ack(&op, st, stand);
        mcp_store_leave(&op);
    }

    return rc;
}
