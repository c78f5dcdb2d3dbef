/* SPDX-License-Identifier: Apache-2.0 */

/* The readers of a replicated stream outside of this node: the replicator,
 * which copies its events to Redis and acknowledges them, and the consumer at
 * another node, whose reports the cluster passes on. */


#include "store/mcp_store_layout.h"


/* Takes the lock and finds a stream that this process replicates, or, if
 * "mirror" is set, a mirror that it feeds. Otherwise returns
 * MCP_ERR_DENIED. */
static int
mcp_store_replicator_enter(mcp_store_t *store, const mcp_stream_ref_t *ref,
    int mirror, mcp_store_op_t *op, mcp_store_stream_t **st,
    mcp_store_replication_t **repl)
{
    int  rc;

    rc = mcp_store_stream_enter(store, ref, op, st);
    if (rc != MCP_OK) {
        return rc;
    }

    *repl = mcp_store_replication_of(op->head, (*st)->repl);

    if ((*st)->repl == 0 || (*repl)->slot != store->slot
        || ((*repl)->mirror && !mirror))
    {
        mcp_store_leave(op);
        return MCP_ERR_DENIED;
    }

    return MCP_OK;
}


/* Copies the values that are stored with the stream to *spec, and sets all
 * other values to 0. */
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
mcp_store_replication_spec(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_stream_spec_t *spec, mcp_stream_info_t *info, mcp_buf_t *request)
{
    int                       rc;
    size_t                    start;
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    rc = mcp_store_replicator_enter(store, ref, 0, &op, &st, &repl);
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


/* Sets the fields of *repl_state that concern joining, for a stream that
 * requests may join. */
static void
mcp_store_replicating_join(mcp_store_op_t *op, const mcp_store_stream_t *st,
    mcp_store_replication_state_t *repl_state)
{
    const mcp_store_entry_t  *e;

    e = mcp_store_at(op->head, st->join);

    repl_state->joins = 1;
    repl_state->held |= st->held && !mcp_store_final(st);
    repl_state->once = st->held == 2;
    repl_state->stateless = mcp_revision(st->revision)->stateless;
    repl_state->readers = e->u.join.count;
    memcpy(repl_state->join, e->key, MCP_DIGEST_LEN);
    repl_state->hidden = memcmp(e->key, st->id, MCP_DIGEST_LEN) == 0;
}


int
mcp_store_replication_state(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_replication_state_t *repl_state)
{
    int                       rc;
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    rc = mcp_store_replicator_enter(store, ref, 1, &op, &st, &repl);
    if (rc != MCP_OK) {
        return rc;
    }

    memset(repl_state, 0, sizeof(mcp_store_replication_state_t));
    mcp_store_replication_claim(st, &repl_state->own);
    repl_state->acked = repl->acked;
    repl_state->first_seq = st->events.first;
    repl_state->sent_seq = st->sent_seq;
    repl_state->confirmed_seq = st->confirmed_seq;
    repl_state->generation = st->generation;
    repl_state->expires = mcp_store_is_task(st) ? st->expires : 0;
    repl_state->kept = st->created + st->kept_after;
    repl_state->changed = st->changed;
    repl_state->given = st->given;
    repl_state->end = mcp_store_final(st) ? mcp_store_stream_end(st) : 0;
    repl_state->reader = repl->reader;
    repl_state->consumer_slot = st->consumer_slot;
    repl_state->created = repl->created;
    repl_state->mirror = repl->mirror;
    repl_state->listener = st->kind == MCP_STREAM_LISTEN;
    repl_state->max_wait = st->max_wait;
    repl_state->state_requests = repl->state_requests;

    /* the owner may delay the processing of all posts until it finds its inbox
     * empty and sets st->taken to 0. Until then, none of the posts counts as
     * processed */

    repl->taken = st->inbox.head == 0 && !st->taken ? repl->got : repl->taken;

    repl_state->taken = repl->taken;
    repl_state->got = repl->got;

    if (repl->mirror) {
        repl_state->reader = repl->here;
        repl_state->known = repl->known[repl->which];
        repl_state->known.seq = repl->last > st->events.last ? repl->last
                                                             : st->events.last;
        repl_state->held = repl->joined.held && !mcp_store_final(st);
    }

    if (st->join) {
        mcp_store_replicating_join(&op, st, repl_state);
    }

    mcp_store_leave(&op);

    return MCP_OK;
}


/* Advances a checkpoint by the event that follows it. */
static void
mcp_store_replicator_apply(mcp_store_checkpoint_t *at,
    const mcp_store_record_t *rec)
{
    uint64_t  bit;

    bit = mcp_store_response_bit(rec);

    at->seq = rec->seq;
    at->state = (mcp_stream_state_e) rec->type;
    at->answered |= bit;

    if (bit && (rec->answers & MCP_STORE_ERROR)) {
        at->failed |= bit;
        at->failed_seq = rec->seq;
    }
}


/*
 * Copies the event at pos, which follows replicator->at, and advances
 * replicator->at.
 *
 * Returns MCP_OK, or
 *   MCP_DONE          the buffer has no room for the event
 *   MCP_ERR_LIMIT     the event does not fit into an empty buffer either
 *   MCP_ERR_INTERNAL  the log is broken
 */
static int
mcp_store_replicator_read_one(mcp_store_head_t *head,
    mcp_store_replicator_t *replicator, mcp_store_pos_t *pos)
{
    mcp_store_raw_t     *raw;
    mcp_store_record_t  *rec;

    rec = mcp_store_log_record(head, pos);

    if (rec == NULL || rec->seq != replicator->at.seq + 1) {
        return MCP_ERR_INTERNAL;
    }

    if (rec->len > replicator->cap - replicator->len) {
        if (replicator->n == 0) {
            replicator->len = rec->len;
            return MCP_ERR_LIMIT;
        }

        return MCP_DONE;
    }

    raw = &replicator->raw[replicator->n];
    raw->seq = rec->seq;
    raw->offset = replicator->len;
    raw->len = rec->len;
    raw->answers = rec->answers;
    raw->state = (mcp_stream_state_e) rec->type;

    pos->offset += MCP_RECORD_HEAD;

    if (mcp_store_copy_out(head, pos, replicator->buf + replicator->len,
            raw->len)
        != raw->len)
    {
        return MCP_ERR_INTERNAL;
    }

    replicator->len += raw->len;
    replicator->n++;
    mcp_store_replicator_apply(&replicator->at, rec);

    return MCP_OK;
}


static int
mcp_store_replicator_locked(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_replicator_t *replicator)
{
    int              rc;
    mcp_store_pos_t  pos;

    if (replicator->at.seq > st->events.last) {
        return MCP_ERR_NOT_FOUND;
    }

    if (replicator->at.seq + 1 < st->events.first) {
        return MCP_ERR_PURGED;
    }

    rc = MCP_OK;

    if (replicator->at.seq < st->events.last
        && !mcp_store_log_seek(op->head, &st->events, replicator->at.seq + 1,
            &pos))
    {
        return MCP_ERR_INTERNAL;
    }

    while (rc == MCP_OK && replicator->n < replicator->max
           && replicator->at.seq < st->events.last)
    {
        rc = mcp_store_replicator_read_one(op->head, replicator, &pos);
    }

    /* the last event was copied: takes the present state, which may have
     * changed after this event */

    if (replicator->at.seq == st->events.last) {
        mcp_store_replication_claim(st, &replicator->at);
    }

    return rc == MCP_DONE ? MCP_OK : rc;
}


int
mcp_store_replicator_read(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_replicator_t *replicator)
{
    int                       rc;
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    replicator->n = 0;
    replicator->len = 0;

    rc = mcp_store_replicator_enter(store, ref, 0, &op, &st, &repl);
    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_store_replicator_locked(&op, st, replicator);
    replicator->received = repl->received;
    replicator->complete = replicator->at.seq == st->events.last;

    mcp_store_leave(&op);

    return rc;
}


void
mcp_store_replication_lag(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t *events, uint64_t *bytes)
{
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    *events = 0;
    *bytes = 0;

    if (mcp_store_replicator_enter(store, ref, 0, &op, &st, &repl) != MCP_OK)
    {
        return;
    }

    if (repl->acked.seq < st->events.last) {
        *events = st->events.last - repl->acked.seq;
        *bytes = mcp_store_log_bytes(op.head, &st->events,
                                     repl->acked.seq + 1 > st->events.first
                                     ? repl->acked.seq + 1
                                     : st->events.first,
                                     st->events.last);
    }

    mcp_store_leave(&op);
}


/* Sets the acknowledged state. Its member "state" is set last, because readers
 * expect no event after "seq" if "state" is final. */
static void
mcp_store_replicator_set(mcp_store_checkpoint_t *acked,
    const mcp_store_checkpoint_t *checkpoint)
{
    acked->seq = checkpoint->seq;
    acked->answered = checkpoint->answered;
    acked->failed = checkpoint->failed;
    acked->failed_seq = checkpoint->failed_seq;
    mcp_store_barrier();
    acked->state = checkpoint->state;
}


/* Counts the events of a replicated stream up to seq as acknowledged. */
static void
mcp_store_replication_reach(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t seq)
{
    uint64_t                  from;
    mcp_store_pos_t           pos;
    mcp_store_replication_t  *repl;
    mcp_store_checkpoint_t    checkpoint;
    mcp_store_record_t       *rec;

    repl = mcp_store_replication_of(op->head, st->repl);

    if (seq <= repl->acked.seq) {
        return;
    }

    checkpoint = repl->acked;
    from = checkpoint.seq + 1 > st->events.first ? checkpoint.seq + 1
        : st->events.first;

    if (from <= seq && mcp_store_log_seek(op->head, &st->events, from, &pos)) {
        while (checkpoint.seq < seq
               && (rec = mcp_store_log_record(op->head, &pos)) != NULL)
        {
            mcp_store_replicator_apply(&checkpoint, rec);
            mcp_store_log_pass(op->head, &pos, rec->len);
        }
    }

    mcp_store_node_add(op->head, MCP_NODE_REPLICATED, seq - repl->acked.seq);

    checkpoint.seq = seq;
    mcp_store_replicator_set(&repl->acked, &checkpoint);
}


/* Records that Redis has acknowledged a state, like mcp_store_acked(). Called
 * with the lock, in any process. */
static int
mcp_store_replication_ack(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_store_checkpoint_t *checkpoint)
{
    mcp_store_replication_t  *repl;

    repl = mcp_store_replication_of(op->head, st->repl);

    if (checkpoint->seq > st->events.last) {
        return MCP_ERR_NOT_FOUND;
    }

    if (checkpoint->seq < repl->acked.seq) {
        return MCP_OK;
    }

    mcp_store_node_add(op->head, MCP_NODE_REPLICATED,
                       checkpoint->seq - repl->acked.seq);

    repl->created = 1;
    mcp_store_replicator_set(&repl->acked, checkpoint);

    mcp_store_task_release(op, st);
    mcp_store_task_replace(op, st);
    mcp_store_stream_settle(op, st);
    mcp_store_mark_consumer(op, st);

    return MCP_OK;
}


int
mcp_store_acked(mcp_store_t *store, const mcp_stream_ref_t *ref,
    const mcp_store_checkpoint_t *checkpoint)
{
    int                       rc;
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    rc = mcp_store_replicator_enter(store, ref, 0, &op, &st, &repl);

    if (rc == MCP_OK) {
        rc = mcp_store_replication_ack(&op, st, checkpoint);
        mcp_store_leave(&op);
    }

    return rc;
}


/* --- the consumer at another node --- */

/* Takes the lock, finds a replicated stream, and sets *repl to its replication
 * data. Returns MCP_ERR_DENIED for a stream that is not replicated, or is a
 * mirror. */
static int
mcp_store_remote_consumer_enter(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_op_t *op, mcp_store_stream_t **st, mcp_store_replication_t **repl)
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


int
mcp_store_remote_consumer(mcp_store_t *store, const mcp_stream_ref_t *ref,
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

        /* The reader at the other node does not read any more. The stream has
         * no consumer until the local reader attaches, which it may never
         * do. */

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
mcp_store_replication_taken(mcp_store_head_t *head,
    const mcp_store_stream_t *st)
{
    uint64_t                  here;
    mcp_store_replication_t  *repl;

    if (st->repl == 0) {
        return 0;
    }

    repl = mcp_store_replication_of(head, st->repl);
    here = repl->here;

    if (repl->mirror) {
        return here < repl->reader;
    }

    repl->here = 0;

    return here != 0 && here < repl->reader;
}


/* Counts the events up to "sent" as sent by the remote consumer "number". With
 * "left", also detaches this consumer, which left at the time "now". */
static void
mcp_store_remote_consumer_report(mcp_store_t *store,
    const mcp_stream_ref_t *ref, uint64_t number, uint64_t sent, int left,
    uint64_t now)
{
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    if (mcp_store_remote_consumer_enter(store, ref, &op, &st, &repl) != MCP_OK)
    {
        return;
    }

    if (st->consumer_slot == MCP_STORE_REMOTE_CONSUMER
        && st->consumer_handle == number)
    {
        mcp_store_remote_consumer_note(&op, st, sent);

        if (left) {
            st->takeovers = 0;
            mcp_store_consumer_gone(&op, st, now);
        }
    }

    mcp_store_leave(&op);
}


void
mcp_store_remote_consumer_sent(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t sent)
{
    mcp_store_remote_consumer_report(store, ref, number, sent, 0, 0);
}


void
mcp_store_remote_consumer_left(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t sent, uint64_t now)
{
    mcp_store_remote_consumer_report(store, ref, number, sent, 1, now);
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
