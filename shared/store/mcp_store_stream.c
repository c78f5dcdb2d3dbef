/* SPDX-License-Identifier: Apache-2.0 */

/* Finds streams by id or reference, describes them and frees them. Maintains
 * the streams of a session, the states of a stream and its times of expiry.
 * mcp_store_stream_create.c creates streams, mcp_store_consumer.c handles their
 * consumers, and mcp_store_inbox.c handles messages to their owners. */


#include "store/mcp_store_layout.h"


/* --- finding streams by an id or a reference, and describing them --- */

static uint32_t *
mcp_store_stream_bucket(mcp_store_head_t *head,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    uint32_t  *table;

    table = (uint32_t *) ((char *) head + head->stream_hash);

    return &table[mcp_store_hash(head, 0, id) & head->stream_mask];
}


void
mcp_store_stream_link(mcp_store_head_t *head, uint32_t index)
{
    uint32_t            *bucket;
    mcp_store_stream_t  *st;

    st = mcp_store_stream(head, index);
    bucket = mcp_store_stream_bucket(head, st->id);
    st->next = *bucket;
    *bucket = index;

    head->n_streams++;
    head->n_listeners += (st->kind == MCP_STREAM_LISTEN);
}


static void
mcp_store_stream_unlink(mcp_store_head_t *head, uint32_t index)
{
    uint32_t             n, *link;
    mcp_store_stream_t  *st;

    st = mcp_store_stream(head, index);
    link = mcp_store_stream_bucket(head, st->id);

    for (n = 0; *link && n < head->chunks; n++) {
        if (*link == index) {
            *link = st->next;
            break;
        }

        link = &mcp_store_stream(head, *link)->next;
    }

    head->n_streams--;
    head->n_listeners -= (st->kind == MCP_STREAM_LISTEN);
}


mcp_store_stream_t *
mcp_store_stream_find(mcp_store_op_t *op,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    uint32_t             index, n;
    mcp_store_stream_t  *st;

    index = *mcp_store_stream_bucket(op->head, id);

    for (n = 0; index && n < op->head->chunks; n++) {
        st = mcp_store_stream(op->head, index);

        if (memcmp(st->id, id, MCP_STREAM_ID_LEN) == 0) {
            return st;
        }

        index = st->next;
    }

    return NULL;
}


mcp_store_stream_t *
mcp_store_stream_at(mcp_store_head_t *head, uint32_t index)
{
    mcp_store_stream_t  *st;

    if (!mcp_store_index_ok(head, index)
        || mcp_store_types(head)[index] != MCP_CHUNK_STREAM)
    {
        return NULL;
    }

    st = mcp_store_stream(head, index);

    return st->live == MCP_STREAM_LIVE ? st : NULL;
}


mcp_store_stream_t *
mcp_store_stream_get(mcp_store_op_t *op, const mcp_stream_ref_t *ref)
{
    mcp_store_stream_t  *st;

    st = mcp_store_stream_at(op->head, ref->index);

    return st && memcmp(st->id, ref->id, MCP_STREAM_ID_LEN) == 0 ? st : NULL;
}


int
mcp_store_stream_enter(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_op_t *op, mcp_store_stream_t **st)
{
    int  rc;

    rc = mcp_store_enter(store, op);
    if (rc != MCP_OK) {
        return rc;
    }

    *st = mcp_store_stream_get(op, ref);

    if (*st == NULL) {
        mcp_store_leave(op);
        return MCP_ERR_NOT_FOUND;
    }

    op->tenant = (*st)->tenant;

    return MCP_OK;
}


static void
mcp_store_stream_names(mcp_store_head_t *head, const mcp_store_stream_t *st,
    mcp_stream_info_t *info)
{
    mcp_store_pos_t  pos;

    pos = (mcp_store_pos_t) { st->text, MCP_CHUNK_HEAD };

    if (st->method_len < MCP_STORE_NAME_MAX
        && st->name_len < MCP_STORE_NAME_MAX)
    {
        mcp_store_copy_out(head, &pos, info->method, st->method_len);
        mcp_store_copy_out(head, &pos, info->name, st->name_len);
    }
}


void
mcp_store_stream_info(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_stream_info_t *info)
{
    mcp_store_checkpoint_t  checkpoint;

    mcp_store_replication_checkpoint(op->head, st, &checkpoint);
    memset(info, 0, sizeof(mcp_stream_info_t));

    info->ref.index = mcp_store_index(op->head, st);
    memcpy(info->ref.id, st->id, MCP_STREAM_ID_LEN);
    memcpy(info->session, st->session, MCP_DIGEST_LEN);
    memcpy(info->principal, st->principal, MCP_DIGEST_LEN);

    info->kind = (mcp_stream_kind_e) st->kind;
    info->state = checkpoint.state;
    info->revision = st->revision;
    info->max_wait = st->max_wait;
    info->expires = mcp_store_is_task(st) ? st->expires : 0;
    info->kept = st->created + st->kept_after;
    info->changed = st->changed;
    info->first_seq = st->events.first;
    info->last_seq = checkpoint.seq;
    info->own_seq = st->events.last;
    info->own_answered = st->answered;
    info->own_failed = st->failed;
    info->posted = (st->inbox.head != 0 || st->taken || st->cancelled != 0);
    info->replicated = 1;
    info->held = st->held && !mcp_store_final(st);
    info->attended = st->consumer_slot != MCP_STORE_NO_SLOT;

    if (st->repl) {
        mcp_store_replication_info(op->head, st, info);
    }

    info->read_after = st->read_after;
    info->sent_seq = st->sent_seq;
    info->confirmed_seq = st->confirmed_seq;
    info->answered = checkpoint.answered;
    info->failed = checkpoint.failed;
    info->failed_seq = checkpoint.failed_seq;
    info->unattended = st->unattended;
    info->alias = st->alias;
    info->generation = st->generation;
    info->result = st->result;
    info->takeovers = st->takeovers;
    info->promised = st->promised;
    info->cancelled = st->cancelled;
    info->consumer_slot = st->consumer_slot;
    info->consumer_handle = st->consumer_handle;
    info->owner_slot = st->owner_slot == MCP_STORE_OWNERLESS ? MCP_STORE_NO_SLOT
                                                          : st->owner_slot;

    mcp_store_stream_names(op->head, st, info);
}


void
mcp_store_stream_request(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_buf_t *buf)
{
    char             *p, skipped[2 * MCP_STORE_NAME_MAX];
    mcp_store_pos_t   pos;

    pos = (mcp_store_pos_t) { st->text, MCP_CHUNK_HEAD };

    if (buf == NULL || st->request_len == 0
        || (size_t) st->method_len + st->name_len > sizeof(skipped))
    {
        return;
    }

    p = mcp_buf_reserve(buf, st->request_len);

    if (p != NULL) {
        mcp_store_copy_out(op->head, &pos, skipped,
                           (size_t) st->method_len + st->name_len);
        buf->len += mcp_store_copy_out(op->head, &pos, p, st->request_len);
    }
}


int
mcp_store_find(mcp_store_t *store, const unsigned char id[MCP_STREAM_ID_LEN],
    uint64_t now, mcp_stream_info_t *info)
{
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    st = mcp_store_stream_find(&op, id);

    if (st != NULL && now != 0 && mcp_store_stream_due(&op, st, now)) {
        st = NULL;                     /* the stream has expired, and counts as
                                          missing until a sweep frees it */
    } else if (st != NULL) {
        mcp_store_stream_info(&op, st, info);
    }

    mcp_store_leave(&op);

    return st ? MCP_OK : MCP_ERR_NOT_FOUND;
}


int
mcp_store_info(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_stream_info_t *info)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc == MCP_OK) {
        mcp_store_stream_info(&op, st, info);
        mcp_store_leave(&op);
    }

    return rc;
}


/* --- the streams of a session --- */

static mcp_store_list_t *
mcp_store_session_list(mcp_store_entry_t *session, int lingering)
{
    return lingering ? &session->u.group.sent : &session->u.group.list;
}


/* Adds a stream to one of its session's two lists, as the latest stream: to the
 * list of the streams that linger, or to that of all others. The stream must be
 * in neither list. */
static void
mcp_store_session_link(mcp_store_head_t *head, mcp_store_entry_t *session,
    mcp_store_stream_t *st)
{
    mcp_store_list_t  *list;

    list = mcp_store_session_list(session,
                                  mcp_store_in_ring(st, MCP_EVICT_LINGER));
    mcp_store_list_prepend(head, list, &st->link[MCP_LINK_SESSION]);
}


void
mcp_store_session_enter(mcp_store_head_t *head, mcp_store_entry_t *session,
    mcp_store_stream_t *st)
{
    st->session_group = mcp_store_ref(head, session);
    session->u.group.count++;
    session->u.group.active += !mcp_store_in_ring(st, MCP_EVICT_LINGER);
    mcp_store_session_link(head, session, st);
}


/* Moves a stream to the other list of its session, as the latest stream,
 * because the stream has begun or ceased to linger. */
static void
mcp_store_session_move(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    int                 lingering;
    mcp_store_entry_t  *session;

    if (st->session_group == 0) {      /* during a repair: the stream has not
                                          been added to its session yet */
        return;
    }

    lingering = mcp_store_in_ring(st, MCP_EVICT_LINGER);
    session = mcp_store_at(op->head, st->session_group);
    session->u.group.active += lingering ? (uint32_t) -1 : 1;

    mcp_store_list_remove(op->head,
                          mcp_store_session_list(session, !lingering),
                          &st->link[MCP_LINK_SESSION]);

    /* the counter is raised before the stream gets the ordinal, so that no
     * other stream gets the same ordinal, even if this process dies in
     * between */

    op->head->ordinal++;
    mcp_store_barrier();
    st->joined = op->head->ordinal;

    mcp_store_session_link(op->head, session, st);
}


/* Removes a stream from its session. The session's group is freed when its last
 * member is removed. */
static void
mcp_store_session_leave(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    int                 lingering;
    mcp_store_entry_t  *session;

    if (st->session_group == 0) {      /* during a repair: the stream has not
                                          been added to its session yet */
        return;
    }

    lingering = mcp_store_in_ring(st, MCP_EVICT_LINGER);
    session = mcp_store_at(op->head, st->session_group);

    mcp_store_list_remove(op->head,
                          mcp_store_session_list(session, lingering),
                          &st->link[MCP_LINK_SESSION]);

    session->u.group.active -= !lingering;
    mcp_store_group_leave(op, st->session_group);
}


/*
 * Returns the next older stream in one of the lists of a session. "position" is
 * that of the previous stream: its index, and the ordinal with which it has
 * entered the list. If the previous stream has left the list, searches the list
 * for the first stream that is older.
 */
static mcp_store_stream_t *
mcp_store_session_stream(mcp_store_op_t *op, mcp_store_entry_t *group,
    int sent, uint64_t position)
{
    uint32_t             ref, joined, n;
    mcp_store_head_t    *head;
    mcp_store_stream_t  *st;

    head = op->head;
    joined = (uint32_t) position;
    ref = mcp_store_session_list(group, sent)->first;

    st = mcp_store_stream_at(head, (uint32_t) (position >> 32));

    if (st != NULL && st->joined == joined
        && mcp_store_in_ring(st, MCP_EVICT_LINGER) == sent
        && memcmp(st->session, group->key, MCP_DIGEST_LEN) == 0)
    {
        ref = st->link[MCP_LINK_SESSION].next;
    }

    for (n = 0; ref != 0 && ref != MCP_STORE_END && n < head->chunks; n++) {
        st = mcp_store_container(head, ref, mcp_store_stream_t,
                                 link[MCP_LINK_SESSION]);

        if (position == 0 || mcp_store_older(head, st->joined, joined)) {
            return st;
        }

        ref = st->link[MCP_LINK_SESSION].next;
    }

    return NULL;
}


int
mcp_store_session_next(mcp_store_t *store,
    const unsigned char session[MCP_DIGEST_LEN], int sent,
    uint64_t *position, mcp_stream_info_t *info, mcp_buf_t *request)
{
    mcp_store_op_t       op;
    mcp_store_entry_t   *group;
    mcp_store_stream_t  *st;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    group = mcp_store_entry_find(op.head, MCP_ENTRY_SESSION, 0, session, 0);
    st = group ? mcp_store_session_stream(&op, group, sent, *position) : NULL;

    if (st != NULL) {
        mcp_store_stream_info(&op, st, info);
        *position = (uint64_t) info->ref.index << 32 | st->joined;
        mcp_store_stream_request(&op, st, request);
    }

    mcp_store_leave(&op);

    return st ? MCP_OK : MCP_DONE;
}


int
mcp_store_session_crowded(mcp_store_head_t *head,
    const unsigned char session[MCP_DIGEST_LEN], uint32_t limit)
{
    mcp_store_entry_t  *group;

    if (limit == 0 || mcp_digest_is_nobody(session)) {
        return 0;
    }

    group = mcp_store_entry_find(head, MCP_ENTRY_SESSION, 0, session, 0);

    return group && group->u.group.active >= limit;
}


_Static_assert(sizeof(mcp_store_stream_t) <= MCP_STORE_CHUNK, "stream");


/* Time after which a stream that never had a reader may be evicted, ms. */
#define MCP_STORE_IDLE_AFTER  10000


/* --- the end of a stream --- */

void
mcp_store_stream_free(mcp_store_op_t *op, mcp_store_stream_t *st, int revoked)
{
    uint32_t            n;
    mcp_store_head_t   *head;
    mcp_store_entry_t  *sub;

    head = op->head;

    /* from here on the stream does not exist any more, even if this process
     * dies before the rest is done */
    st->live = MCP_STREAM_TOMBSTONE;
    mcp_store_barrier();

    if (st->repl) {
        mcp_store_replication_leave(op, st);
    }

    mcp_store_join_leave(op, st);
    mcp_store_stream_unlink(head, mcp_store_index(head, st));
    mcp_store_session_leave(op, st);
    mcp_store_tenant_leave(op, st);
    mcp_store_unblock(head, st);

    for (n = head->n_subs; n && st->subs.first; n--) {
        sub = mcp_store_container(head, st->subs.first, mcp_store_entry_t,
                                  u.sub.peer);
        mcp_store_sub_free(op, sub);
    }

    mcp_store_log_clear(op, &st->events);
    mcp_store_log_clear(op, &st->inbox);
    mcp_store_chain_drop(op, st->text);
    st->text = 0;

    /* notifies the owner, unless it is this process and "revoked" is 0.
     * Notifies the consumer in any case */
    if (st->owner_slot == MCP_STORE_OWNERLESS
        || (st->owner_slot == op->store->slot && !revoked))
    {
        mcp_store_unmark_owner(op, st);
    }

    mcp_store_mark_owner(op, st);
    mcp_store_mark_consumer(op, st);
    mcp_store_tombstone_settle(op, st);
}


static void
mcp_store_stream_drop(mcp_store_t *store, const mcp_stream_ref_t *ref,
    int revoked)
{
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    if (mcp_store_stream_enter(store, ref, &op, &st) == MCP_OK) {
        mcp_store_stream_free(&op, st, revoked);
        mcp_store_leave(&op);
    }
}


void
mcp_store_free(mcp_store_t *store, const mcp_stream_ref_t *ref)
{
    mcp_store_stream_drop(store, ref, 0);
}


void
mcp_store_revoke(mcp_store_t *store, const mcp_stream_ref_t *ref)
{
    mcp_store_stream_drop(store, ref, 1);
}


/* --- states --- */

int
mcp_store_stream_settled(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    mcp_store_checkpoint_t  checkpoint;

    if (mcp_store_is_mirror(head, st)) {
        return !mcp_store_attended(head, st);
    }

    if (!mcp_store_final(st) || mcp_store_attended(head, st)
        || st->sent_seq < st->events.last || mcp_store_is_task(st))
    {
        return 0;
    }

    mcp_store_replication_checkpoint(head, st, &checkpoint);

    return checkpoint.state >= MCP_STATE_COMPLETED;
}


void
mcp_store_stream_settle(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    int  lingered;

    lingered = mcp_store_in_ring(st, MCP_EVICT_LINGER);
    mcp_store_tenant_settle(op, st);

    if (lingered != mcp_store_in_ring(st, MCP_EVICT_LINGER)) {
        mcp_store_session_move(op, st);
    }
}


void
mcp_store_stream_finish(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t now)
{
    st->ended = now;
    st->blocked = 0;
    st->cancelled = 0;

    mcp_store_unmark_owner(op, st);

    mcp_store_unblock(op->head, st);
    mcp_store_log_clear(op, &st->inbox);
    mcp_store_stream_settle(op, st);
}


uint64_t
mcp_store_response_bit(const mcp_store_record_t *rec)
{
    unsigned  number;

    number = rec->answers % MCP_STORE_RESULT(1);

    return (rec->answers & MCP_STORE_ABOUT) || number == 0 || number > 64
           ? 0 : (uint64_t) 1 << (number - 1);
}


void
mcp_store_stream_response(mcp_store_stream_t *st, const mcp_store_record_t *rec)
{
    uint64_t  bit;
    unsigned  result;

    bit = mcp_store_response_bit(rec);

    if (bit == 0) {
        return;
    }

    st->answered |= bit;
    result = rec->answers / MCP_STORE_RESULT(1) % 8;

    if (st->result < result) {
        st->result = (uint8_t) result;
    }

    if (rec->answers & MCP_STORE_ERROR) {
        st->failed |= bit;
        st->failed_seq = rec->seq;
    }
}


void
mcp_store_stream_apply(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_store_record_t *rec, uint64_t now)
{
    mcp_store_stream_response(st, rec);
    st->state = (uint8_t) rec->type;
    st->changed = now;
    st->given = 0;
    mcp_store_barrier();
    st->applied_seq = rec->seq;

    if (mcp_store_final(st)) {
        mcp_store_stream_finish(op, st, now);

    } else if (st->kind == MCP_STREAM_LISTEN) {
        mcp_store_stream_settle(op, st);
    }
}


int
mcp_store_set_state(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_stream_state_e state, uint64_t now)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc != MCP_OK) {
        return rc;
    }

    if (mcp_store_final(st)) {
        rc = st->state == (uint8_t) state ? MCP_OK : MCP_ERR_NOT_FOUND;

    } else if (st->state != (uint8_t) state) {
        st->state = (uint8_t) state;
        st->changed = now;

        if (mcp_store_final(st)) {
            mcp_store_stream_finish(&op, st, now);
        }

        mcp_store_mark_consumer(&op, st);
        mcp_store_mark_replication(&op, st);
    }

    mcp_store_leave(&op);

    return rc;
}


int
mcp_store_set_alias(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t handle, uint32_t alias)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc != MCP_OK) {
        return rc;
    }

    if (st->consumer_slot == store->slot && st->consumer_handle == handle) {
        st->alias = alias;
        mcp_store_mark_replication(&op, st);
    }

    mcp_store_leave(&op);

    return MCP_OK;
}


int
mcp_store_set_generation(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint32_t from, uint32_t to)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc != MCP_OK) {
        return rc;
    }

    if (st->generation == from) {
        st->generation = to;
        mcp_store_mark_replication(&op, st);

    } else {
        rc = MCP_ERR_DENIED;
    }

    mcp_store_leave(&op);

    return rc;
}


/* --- time --- */


int
mcp_store_touch(mcp_store_t *store, const mcp_stream_ref_t *ref, uint64_t now)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc != MCP_OK) {
        return rc;
    }

    if (!mcp_store_attended(op.head, st) && st->unattended < now
        && !(mcp_store_final(st) && st->sent_seq >= st->events.last))
    {
        st->unattended = now;
    }

    mcp_store_leave(&op);

    return MCP_OK;
}


int
mcp_store_expire(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t *since)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc != MCP_OK) {
        return rc;
    }

    if (!mcp_store_attended(op.head, st) && st->unattended != 0
        && st->unattended <= *since)
    {
        mcp_store_stream_free(&op, st, 0);

    } else {
        *since = mcp_store_attended(op.head, st) ? 0 : st->unattended;
        rc = MCP_AGAIN;
    }

    mcp_store_leave(&op);

    return rc;
}


/* Sets "unattended" and "ended" to "now" if they should be set but are 0,
 * because the last reader was detached or the stream was ended without the
 * current time. Also sets "seen" if the stream was created at least
 * MCP_STORE_IDLE_AFTER ms ago. */
static void
mcp_store_stream_stamp(mcp_store_op_t *op, mcp_store_stream_t *st, uint64_t now)
{
    if (!mcp_store_attended(op->head, st) && st->unattended == 0) {
        st->unattended = now;
        mcp_store_mark_owner(op, st);
    }

    if (mcp_store_final(st) && st->ended == 0) {
        st->ended = now;
    }

    /* a reader had enough time to attach: if there is none now, the stream may
     * be evicted */

    if (!st->seen && now >= st->created + MCP_STORE_IDLE_AFTER)
    {
        st->seen = 1;
        mcp_store_stream_settle(op, st);
    }
}


uint64_t
mcp_store_stream_end(const mcp_store_stream_t *st)
{
    int       sent, delivered;
    uint64_t  since, wait;

    since = st->ended > st->unattended ? st->ended : st->unattended;
    wait = st->max_wait;
    sent = st->sent_seq >= st->events.last;

    /* with MCP_PROMISE_TIME, the last event counts as delivered only when the
     * client has confirmed it, because a sent event may not have arrived */
    delivered = sent && (!(st->promised & MCP_PROMISE_TIME)
                         || st->state == MCP_STATE_CANCELLED
                         || st->confirmed_seq >= st->events.last);

    /* a completely sent stream, and one that requests can join, is kept for at
     * least "linger" ms */
    if (delivered || ((sent || st->join) && wait < st->linger)) {
        wait = st->linger;
    }

    return since + wait;
}


int
mcp_store_stream_due(mcp_store_op_t *op, mcp_store_stream_t *st, uint64_t now)
{
    mcp_store_stream_stamp(op, st, now);

    if (st->expires != 0 && now >= st->expires) {
        return 1;
    }

    if (mcp_store_is_task(st) || mcp_store_attended(op->head, st)) {
        return 0;
    }

    if (mcp_store_is_mirror(op->head, st)) {
        return mcp_store_mirror_due(st, now);
    }

    if (mcp_store_final(st)) {
        return now >= mcp_store_stream_end(st);
    }

    return st->kind == MCP_STREAM_LISTEN && now >= st->unattended
           && now - st->unattended >= st->max_wait;
}
