/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The life of a stream: created, found, appended to, over, freed.  What its
 * consumer does is in mcp_store_consumer.c, what its owner finds in its inbox
 * in mcp_store_inbox.c.
 */


#include "store/mcp_store_layout.h"


_Static_assert(sizeof(mcp_store_stream_t) <= MCP_STORE_CHUNK, "stream");


/* ms: after that a listener that has had no reader may be evicted. */
#define MCP_STORE_YOUNG  10000


/* --- finding --- */

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

    if (st->kind == MCP_STREAM_LISTEN) {
        head->n_listeners++;
    }
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

    if (st->kind == MCP_STREAM_LISTEN) {
        head->n_listeners--;
    }
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
mcp_store_stream_get(mcp_store_op_t *op, const mcp_stream_ref_t *ref)
{
    mcp_store_stream_t  *st;

    if (!mcp_store_index_ok(op->head, ref->index)
        || mcp_store_types(op->head)[ref->index] != MCP_CHUNK_STREAM)
    {
        return NULL;
    }

    st = mcp_store_stream(op->head, ref->index);

    if (st->live != MCP_STREAM_LIVE
        || memcmp(st->id, ref->id, MCP_STREAM_ID_LEN) != 0)
    {
        return NULL;
    }

    return st;
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

    op->party = (*st)->party;

    return MCP_OK;
}


/* --- what is told of it --- */

void
mcp_store_stream_info(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_stream_info_t *info)
{
    mcp_store_pos_t  pos;

    memset(info, 0, sizeof(mcp_stream_info_t));

    info->ref.index = mcp_store_index(op->head, st);
    memcpy(info->ref.id, st->id, MCP_STREAM_ID_LEN);
    memcpy(info->session, st->session, MCP_DIGEST_LEN);
    memcpy(info->principal, st->principal, MCP_DIGEST_LEN);

    info->kind = (mcp_stream_kind_e) st->kind;
    info->state = (mcp_stream_state_e) st->state;
    info->revision = st->revision;
    info->created = st->created;
    info->max_wait = st->max_wait;
    info->first_seq = st->events.first;
    info->last_seq = st->events.last;
    info->sent_seq = st->sent_seq;
    info->confirmed_seq = st->confirmed_seq;
    info->answered = st->answered;
    info->failed = st->failed;
    info->failed_seq = st->failed_seq;
    info->unattended = st->unattended;
    info->bytes = st->events.bytes;
    info->alias = st->alias;
    info->turn = st->turn;
    info->result = st->result;
    info->takeovers = st->takeovers;
    info->posted = (st->inbox.head != 0 || st->taken || st->cancelled != 0);
    info->cancelled = st->cancelled;
    info->consumer_slot = st->consumer_slot;
    info->consumer_handle = st->consumer_handle;
    info->owner_slot = st->owner_slot == MCP_STORE_ORPHAN ? MCP_STORE_NO_SLOT
                                                          : st->owner_slot;

    pos.chunk = st->text;
    pos.offset = MCP_CHUNK_HEAD;

    if (st->method_len < MCP_STORE_NAME_MAX
        && st->name_len < MCP_STORE_NAME_MAX)
    {
        mcp_store_copy_out(op->head, &pos, info->method, st->method_len);
        mcp_store_copy_out(op->head, &pos, info->name, st->name_len);
    }
}


void
mcp_store_stream_request(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_buf_t *buf)
{
    char             *p, skipped[2 * MCP_STORE_NAME_MAX];
    mcp_store_pos_t   pos;

    pos.chunk = st->text;
    pos.offset = MCP_CHUNK_HEAD;

    if (st->request_len == 0
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
        st = NULL;                     /* for a sweep to free, and to report */
    }

    if (st != NULL) {
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
    if (rc != MCP_OK) {
        return rc;
    }

    mcp_store_stream_info(&op, st, info);
    mcp_store_leave(&op);

    return MCP_OK;
}


/* The session's list that a stream is in. */
static mcp_store_list_t *
mcp_store_session_list(mcp_store_entry_t *session, int sent)
{
    return sent ? &session->u.group.sent : &session->u.group.list;
}


void
mcp_store_session_enter(mcp_store_head_t *head, mcp_store_entry_t *session,
    mcp_store_stream_t *st)
{
    mcp_store_list_t  *list;

    list = mcp_store_session_list(session,
                                  mcp_store_linked(&st->link[MCP_LINK_LINGER]));

    mcp_store_list_prepend(head, list, &st->link[MCP_LINK_SESSION]);
}


/* The stream that follows a position: the index of the one before, and when
 * that joined its list.  If it is not there any more, the list is searched for
 * the place. */
static mcp_store_stream_t *
mcp_store_session_stream(mcp_store_op_t *op, mcp_store_entry_t *group,
    int sent, uint64_t position)
{
    uint32_t             ref, index, joined, n;
    mcp_store_head_t    *head;
    mcp_store_stream_t  *st;

    head = op->head;
    index = (uint32_t) (position >> 32);
    joined = (uint32_t) position;
    ref = mcp_store_session_list(group, sent)->first;

    if (mcp_store_index_ok(head, index)
        && mcp_store_types(head)[index] == MCP_CHUNK_STREAM)
    {
        st = mcp_store_stream(head, index);

        if (st->live == MCP_STREAM_LIVE && st->joined == joined
            && mcp_store_linked(&st->link[MCP_LINK_LINGER]) == sent
            && memcmp(st->session, group->key, MCP_DIGEST_LEN) == 0)
        {
            ref = st->link[MCP_LINK_SESSION].next;
        }
    }

    for (n = 0; ref != 0 && ref != MCP_STORE_END && n < head->chunks; n++) {
        st = mcp_store_container(head, ref, mcp_store_stream_t,
                                 link[MCP_LINK_SESSION]);

        if (position == 0 || mcp_store_older(st->joined, joined)) {
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

        if (request != NULL) {
            mcp_store_stream_request(&op, st, request);
        }
    }

    mcp_store_leave(&op);

    return st ? MCP_OK : MCP_DONE;
}


/* --- begin and end --- */

int
mcp_store_session_crowded(mcp_store_head_t *head,
    const unsigned char session[MCP_DIGEST_LEN], uint32_t limit)
{
    mcp_store_entry_t           *group;
    static const unsigned char   nobody[MCP_DIGEST_LEN];

    if (limit == 0 || memcmp(session, nobody, MCP_DIGEST_LEN) == 0) {
        return 0;
    }

    group = mcp_store_entry_find(head, MCP_ENTRY_SESSION, 0, session, 0);

    return group && group->u.group.active >= limit;
}


static void
mcp_store_stream_fill(mcp_store_stream_t *st, const mcp_stream_spec_t *spec,
    const mcp_str_t text[3], uint64_t now)
{
    memcpy(st->id, spec->id, MCP_STREAM_ID_LEN);
    memcpy(st->session, spec->session, MCP_DIGEST_LEN);
    memcpy(st->principal, spec->principal, MCP_DIGEST_LEN);
    memcpy(st->party, spec->party.id, MCP_DIGEST_LEN);
    memcpy(st->params, spec->params, MCP_DIGEST_LEN);

    st->kind = (uint8_t) spec->kind;
    st->state = MCP_STATE_PROCESSING;
    st->revision = spec->revision;
    st->created = now;
    st->unattended = now;
    st->expires = spec->expires;
    st->max_wait = spec->max_wait;
    st->linger = spec->linger;
    st->promised = spec->promised;
    st->max_events = spec->max_events;
    st->max_bytes = spec->max_bytes;
    st->quota = mcp_store_party_quota(&spec->party);

    st->method_len = (uint16_t) text[0].len;
    st->name_len = (uint16_t) text[1].len;
    st->request_len = (uint32_t) text[2].len;

    st->owner_slot = MCP_STORE_NO_SLOT;
    st->consumer_slot = MCP_STORE_NO_SLOT;
    st->events.first = 1;
    st->inbox.first = 1;
}


/* Enters a stream into its session and party, whose groups there is room
 * for. */
static void
mcp_store_stream_join(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_entry_t *session, mcp_store_entry_t *party)
{
    st->session_group = mcp_store_ref(op->head, session);

    session->u.group.count++;
    session->u.group.active++;

    mcp_store_party_enter(op, st, party);
    mcp_store_session_enter(op->head, session, st);
}


static int
mcp_store_create_locked(mcp_store_op_t *op, const mcp_stream_spec_t *spec,
    const mcp_str_t text[3], mcp_store_chain_t *chain, uint64_t now,
    mcp_stream_ref_t *ref)
{
    unsigned             i;
    uint32_t             index, need;
    mcp_store_pos_t      pos;
    mcp_store_head_t    *head;
    mcp_store_entry_t   *session, *party;
    mcp_store_stream_t  *st;

    head = op->head;
    op->party = spec->party.id;

    if (head->slots[op->store->slot].pid != op->store->pid) {
        return MCP_ERR_INTERNAL;
    }

    if (mcp_store_stream_find(op, spec->id) != NULL) {
        return MCP_ERR_EXISTS;
    }

    need = 0;

    if (chain->count == 0) {
        need = mcp_store_chunks(text[0].len + text[1].len + text[2].len);
    }

    if (mcp_store_session_crowded(head, spec->session, spec->session_limit)
        || !mcp_store_party_may_create(op, &spec->party, spec->kind,
                                       1 + need + chain->count))
    {
        return MCP_ERR_LIMIT;
    }

    /* header, text, and an entry for each of two groups */

    if (mcp_store_ensure(op, 1 + need + 2, 0) != MCP_OK) {
        return MCP_ERR_FULL;
    }

    session = mcp_store_group(op, MCP_ENTRY_SESSION, spec->session);
    party = mcp_store_group(op, MCP_ENTRY_PARTY, spec->party.id);

    if (session == NULL || party == NULL) {
        return MCP_ERR_INTERNAL;
    }

    if (need > 0) {
        mcp_store_chain_take(op, need, chain);
        pos.chunk = chain->first;
        pos.offset = MCP_CHUNK_HEAD;

        for (i = 0; i < 3; i++) {
            mcp_store_copy_in(head, &pos, text[i].data, text[i].len);
        }
    }

    index = mcp_store_root_take(op, MCP_CHUNK_STREAM);
    st = mcp_store_stream(head, index);

    mcp_store_stream_fill(st, spec, text, now);
    st->self = index;
    st->ordinal = ++head->ordinal;
    st->joined = st->ordinal;
    st->text = chain->first;
    st->text_chunks = chain->count;

    if (spec->kind == MCP_STREAM_CALL) {
        st->owner_slot = op->store->slot;
        st->owner_handle = spec->handle;
    }

    mcp_store_barrier();
    st->live = MCP_STREAM_LIVE;
    mcp_store_barrier();

    mcp_store_stream_link(head, index);
    mcp_store_stream_join(op, st, session, party);

    ref->index = index;
    memcpy(ref->id, st->id, MCP_STREAM_ID_LEN);

    return MCP_OK;
}


static mcp_str_t
mcp_store_cut(mcp_str_t s)
{
    if (s.len > MCP_STORE_NAME_MAX - 1) {
        s.len = MCP_STORE_NAME_MAX - 1;

        /* not in the middle of a UTF-8 sequence */

        while (s.len > 0 && ((unsigned char) s.data[s.len] & 0xc0) == 0x80) {
            s.len--;
        }
    }

    return s;
}


/* A private chain for which no use was found. */
static void
mcp_store_private_return(mcp_store_op_t *op, mcp_store_chain_t *chain)
{
    mcp_store_chain_free(op, chain->first, chain->last, chain->count);
    chain->count = 0;
}


int
mcp_store_create(mcp_store_t *store, const mcp_stream_spec_t *spec,
    uint64_t now, mcp_stream_ref_t *ref)
{
    int                rc;
    mcp_str_t          text[3];
    mcp_store_op_t     op;
    mcp_store_chain_t  chain = { 0, 0, 0 };

    text[0] = mcp_store_cut(spec->method);
    text[1] = mcp_store_cut(spec->name);
    text[2] = spec->request;

    if (text[2].len > MCP_STORE_LEN_MAX) {
        return MCP_ERR_FULL;
    }

    if (text[2].len > MCP_STORE_BIG) {
        rc = mcp_store_private_make(store, text, 3, 0, 0, spec->party.id,
                                    &chain);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    rc = MCP_OK;

    if (chain.count > 0) {
        rc = mcp_store_private_claim(&op, &chain);
    }

    if (rc == MCP_OK) {
        rc = mcp_store_create_locked(&op, spec, text, &chain, now, ref);

        if (rc != MCP_OK && chain.count > 0) {
            mcp_store_private_return(&op, &chain);
        }
    }

    mcp_store_leave(&op);

    return rc;
}


/* Leaves the session's and party's groups. */
static void
mcp_store_stream_part(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    int                 lingering;
    mcp_store_entry_t  *group;

    if (st->session_group != 0) {      /* see repair */
        lingering = mcp_store_linked(&st->link[MCP_LINK_LINGER]);
        group = mcp_store_at(op->head, st->session_group);
        mcp_store_list_remove(op->head,
                              mcp_store_session_list(group, lingering),
                              &st->link[MCP_LINK_SESSION]);

        if (!lingering) {
            group->u.group.active--;
        }

        mcp_store_group_leave(op, st->session_group);
    }

    mcp_store_party_leave(op, st);
}


void
mcp_store_stream_free(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    uint32_t            index, n;
    mcp_store_head_t   *head;
    mcp_store_entry_t  *sub;

    head = op->head;
    index = mcp_store_index(head, st);

    /* from here on it is not a stream any more, whatever happens */

    st->live = MCP_STREAM_GHOST;
    mcp_store_barrier();

    mcp_store_stream_unlink(head, index);
    mcp_store_stream_part(op, st);
    mcp_store_list_remove(head, &head->hungry, &st->link[MCP_LINK_HUNGRY]);

    for (n = head->n_subs; n && st->subs.first; n--) {
        sub = mcp_store_container(head, st->subs.first, mcp_store_entry_t,
                                  u.sub.peer);
        mcp_store_sub_free(op, sub);
    }

    mcp_store_log_clear(op, &st->events);
    mcp_store_log_clear(op, &st->inbox);
    mcp_store_chain_drop(op, st->text);
    st->text = 0;

    /* those who must know: an owner other than the caller, the consumer */

    if (st->owner_slot == MCP_STORE_ORPHAN
        || st->owner_slot == op->store->slot)
    {
        mcp_store_unmark(op, st, MCP_LINK_OWNER);
        st->owner_slot = MCP_STORE_NO_SLOT;
    }

    mcp_store_mark_owner(op, st);
    mcp_store_mark_consumer(op, st);

    if (!mcp_store_linked(&st->link[MCP_LINK_OWNER])
        && !mcp_store_linked(&st->link[MCP_LINK_CONSUMER]))
    {
        st->live = 0;
        mcp_store_root_free(op, index);
    }
}


void
mcp_store_free(mcp_store_t *store, const mcp_stream_ref_t *ref)
{
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    if (mcp_store_stream_enter(store, ref, &op, &st) != MCP_OK) {
        return;
    }

    mcp_store_stream_free(&op, st);
    mcp_store_leave(&op);
}


/* --- states --- */

int
mcp_store_stream_settled(const mcp_store_stream_t *st)
{
    return mcp_store_final(st) && st->consumer_slot == MCP_STORE_NO_SLOT
           && st->sent_seq >= st->events.last;
}


void
mcp_store_stream_settle(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    int                 settled;
    mcp_store_entry_t  *session;

    settled = mcp_store_linked(&st->link[MCP_LINK_LINGER]);
    mcp_store_party_settle(op, st);

    if (settled == mcp_store_linked(&st->link[MCP_LINK_LINGER])
        || st->session_group == 0)     /* see repair */
    {
        return;
    }

    settled = !settled;
    session = mcp_store_at(op->head, st->session_group);
    session->u.group.active += settled ? (uint32_t) -1 : 1;

    mcp_store_list_remove(op->head, mcp_store_session_list(session, !settled),
                          &st->link[MCP_LINK_SESSION]);

    /* none has joined later than the last ordinal, wherever this ends */

    op->head->ordinal++;
    mcp_store_barrier();
    st->joined = op->head->ordinal;

    mcp_store_session_enter(op->head, session, st);
}


/* Enters a final state: nobody owns the stream any more. */
static void
mcp_store_stream_finish(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t now)
{
    st->ended = now;
    st->want_room = 0;
    st->cancelled = 0;

    mcp_store_unmark(op, st, MCP_LINK_OWNER);
    st->owner_slot = MCP_STORE_NO_SLOT;

    mcp_store_list_remove(op->head, &op->head->hungry,
                          &st->link[MCP_LINK_HUNGRY]);
    mcp_store_log_clear(op, &st->inbox);
    mcp_store_stream_settle(op, st);
}


void
mcp_store_stream_answer(mcp_store_stream_t *st, const mcp_store_record_t *rec)
{
    uint64_t  bit;
    unsigned  number, result;

    if (rec->answers & MCP_STORE_ABOUT) {
        return;
    }

    number = rec->answers % MCP_STORE_RESULT(1);
    result = rec->answers / MCP_STORE_RESULT(1) % 8;

    if (number == 0 || number > 64) {
        return;
    }

    bit = (uint64_t) 1 << (number - 1);
    st->answered |= bit;

    if (st->result < result) {
        st->result = result;
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
    mcp_store_stream_answer(st, rec);
    st->state = (uint8_t) rec->type;
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
    mcp_stream_state_e state)
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

        if (mcp_store_final(st)) {
            mcp_store_stream_finish(&op, st, 0);
        }

        mcp_store_mark_consumer(&op, st);
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
    }

    mcp_store_leave(&op);

    return MCP_OK;
}


int
mcp_store_set_turn(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint32_t from, uint32_t to)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc != MCP_OK) {
        return rc;
    }

    if (st->turn == from) {
        st->turn = to;

    } else {
        rc = MCP_ERR_DENIED;
    }

    mcp_store_leave(&op);

    return rc;
}


/* Whether the client of a stream that is over has had what it was promised:
 * what was written to a socket need not have arrived. */
static int
mcp_store_stream_delivered(const mcp_store_stream_t *st)
{
    if (st->sent_seq < st->events.last) {
        return 0;
    }

    return !st->promised || st->state == MCP_STATE_CANCELLED
           || st->confirmed_seq >= st->events.last;
}


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

    if (st->consumer_slot == MCP_STORE_NO_SLOT && st->unattended < now
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

    if (st->consumer_slot == MCP_STORE_NO_SLOT && st->unattended != 0
        && st->unattended <= *since)
    {
        mcp_store_stream_free(&op, st);

    } else {
        *since = st->consumer_slot == MCP_STORE_NO_SLOT ? st->unattended : 0;
        rc = MCP_AGAIN;
    }

    mcp_store_leave(&op);

    return rc;
}


/* Both times are "not known yet" after calls that do not bring the time. */
static void
mcp_store_stream_stamp(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t now)
{
    if (st->consumer_slot == MCP_STORE_NO_SLOT && st->unattended == 0) {
        st->unattended = now;
        mcp_store_mark_owner(op, st);
    }

    if (mcp_store_final(st) && st->ended == 0) {
        st->ended = now;
    }

    /* a listener without a reader: nobody is about to become that */

    if (st->kind == MCP_STREAM_LISTEN && !st->seen
        && now >= st->created + MCP_STORE_YOUNG)
    {
        st->seen = 1;
        mcp_store_stream_settle(op, st);
    }
}


int
mcp_store_stream_due(mcp_store_op_t *op, mcp_store_stream_t *st, uint64_t now)
{
    uint64_t  since, wait;

    mcp_store_stream_stamp(op, st, now);

    if (st->kind == MCP_STREAM_LISTEN && st->expires != 0
        && now >= st->expires)
    {
        return 1;
    }

    if (st->consumer_slot != MCP_STORE_NO_SLOT) {
        return 0;
    }

    since = st->unattended;
    wait = st->max_wait;

    if (mcp_store_final(st)) {
        since = st->ended > since ? st->ended : since;

        if (mcp_store_stream_delivered(st)
            || (st->sent_seq >= st->events.last && wait < st->linger))
        {
            wait = st->linger;
        }

    } else if (st->kind != MCP_STREAM_LISTEN) {
        return 0;
    }

    return now >= since && now - since >= wait;
}
