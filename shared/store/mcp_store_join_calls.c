/* SPDX-License-Identifier: Apache-2.0 */

/* Calls that other requests may join. Each has a JOIN entry, which is found by
 * a digest of the request, refers to the call's stream, and has the list of
 * its joined readers. The entry is created and freed with the stream.
 *
 * Joined readers read the stream in addition to the consumer. Each has a
 * READER entry with the stream's id as the key. The entry belongs to the
 * reader's process and may outlive the stream, until the reader leaves. */


#include "store/mcp_store_layout.h"


/* Returns the stream of a JOIN entry, or NULL. */
static mcp_store_stream_t *
mcp_store_join_stream(mcp_store_op_t *op, const mcp_store_entry_t *e)
{
    mcp_stream_ref_t  ref;

    ref.index = e->u.join.stream;
    memcpy(ref.id, e->u.join.id, MCP_STREAM_ID_LEN);

    return mcp_store_stream_get(op, &ref);
}


/* Returns the number of the last event that was sent to the consumer of a
 * stream. For a mirror without a consumer at this node, this is the number that
 * the owner's node has reported, if the owner's stream has a consumer. */
static uint64_t
mcp_store_join_sent(mcp_store_op_t *op, const mcp_store_stream_t *st)
{
    const mcp_store_joined_t  *joined;

    if (!mcp_store_is_mirror(op->head, st)
        || st->consumer_slot != MCP_STORE_NO_SLOT)
    {
        return st->sent_seq;
    }

    joined = &mcp_store_replication_of(op->head, st->repl)->joined;

    return joined->attended ? joined->sent : st->sent_seq;
}


/* Returns 1 if the last event of st ends its client's request: it is the final
 * response, or, in a stateless revision, a question, which the client answers
 * by another request. */
static int
mcp_store_join_ended(const mcp_store_stream_t *st)
{
    return mcp_store_final(st)
           || (st->state == MCP_STATE_INPUT_REQUIRED
               && mcp_revision(st->revision)->stateless);
}


/* Returns 1 if a request with this spec can join st. A cancelled call cannot be
 * joined, because it will get no response. */
static int
mcp_store_join_open(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_stream_spec_t *spec, uint64_t now)
{
    if (st->state == MCP_STATE_CANCELLED
        || mcp_store_stream_due(op, st, now)
        || (mcp_store_is_mirror(op->head, st)
            && !spec->join_known && !mcp_store_attended(op->head, st)))
    {
        return 0;
    }

    return !spec->join_once || !mcp_store_join_ended(st)
           || mcp_store_join_sent(op, st) < st->events.last;
}


int
mcp_store_join_lookup(mcp_store_op_t *op, const mcp_stream_spec_t *spec,
    uint64_t now, mcp_store_stream_t **out)
{
    mcp_store_entry_t   *e;
    mcp_store_stream_t  *st;

    *out = NULL;

    e = mcp_store_entry_find(op->head, MCP_ENTRY_JOIN, 0, spec->join, 0);
    if (e == NULL) {
        return MCP_OK;
    }

    st = mcp_store_join_stream(op, e);

    if (st == NULL || !mcp_store_join_open(op, st, spec, now)) {
        return MCP_OK;
    }

    if (memcmp(st->params, spec->params, MCP_DIGEST_LEN) != 0) {
        return MCP_ERR_DENIED;
    }

    *out = st;

    return MCP_OK;
}


int
mcp_store_join_find(mcp_store_t *store, const mcp_stream_spec_t *spec,
    uint64_t now, mcp_stream_info_t *info)
{
    int                        rc;
    mcp_store_op_t             op;
    mcp_store_stream_t        *st;
    const mcp_store_joined_t  *joined;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    rc = mcp_store_join_lookup(&op, spec, now, &st);

    if (st != NULL) {
        mcp_store_stream_info(&op, st, info);
        joined = &mcp_store_replication_of(op.head, st->repl)->joined;

        /* the stream of a mirror does not have the times of its task: takes the
         * times that the owner's node has sent */
        if (info->mirror && joined->expires) {
            info->expires = joined->expires;
            info->kept = joined->kept;
            info->changed = joined->changed;
        }

    } else if (rc == MCP_OK) {
        rc = MCP_ERR_NOT_FOUND;
    }

    mcp_store_leave(&op);

    return rc;
}


void
mcp_store_join_release(mcp_store_t *store, const mcp_stream_ref_t *ref)
{
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    if (mcp_store_stream_enter(store, ref, &op, &st) != MCP_OK) {
        return;
    }

    st->held = 0;
    mcp_store_mark_owner(&op, st);
    mcp_store_mark_consumer(&op, st);
    mcp_store_mark_replication(&op, st);
    mcp_store_leave(&op);
}


/* If there is a stream that requests with the digest "key" can join, hides it
 * from later requests: replaces the key of its JOIN entry by the stream's id.
 * The joined readers of the stream still use the entry. */
static void
mcp_store_join_hide(mcp_store_op_t *op, const unsigned char key[MCP_DIGEST_LEN])
{
    mcp_store_entry_t  *old;

    old = mcp_store_entry_find(op->head, MCP_ENTRY_JOIN, 0, key, 0);

    if (old != NULL) {
        mcp_store_entry_rename(op->head, old, old->u.join.id);
    }
}


void
mcp_store_join_name(mcp_store_op_t *op, mcp_store_stream_t *st,
    const unsigned char key[MCP_DIGEST_LEN])
{
    mcp_store_entry_t  *e;

    e = mcp_store_at(op->head, st->join);

    if (st->join != 0 && memcmp(e->key, key, MCP_DIGEST_LEN) != 0) {
        mcp_store_join_hide(op, key);
        mcp_store_entry_rename(op->head, e, key);
    }
}


void
mcp_store_join_enter(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_entry_t *e, const unsigned char key[MCP_DIGEST_LEN])
{
    mcp_store_join_hide(op, key);

    memcpy(e->key, key, MCP_DIGEST_LEN);
    e->u.join.stream = st->self;
    memcpy(e->u.join.id, st->id, MCP_STREAM_ID_LEN);
    mcp_store_entry_publish(op->head, e, MCP_ENTRY_JOIN);

    st->join = mcp_store_ref(op->head, e);
}


void
mcp_store_join_leave(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    uint32_t            n;
    mcp_store_entry_t  *e, *reader;

    if (st->join == 0) {
        return;
    }

    e = mcp_store_at(op->head, st->join);
    mcp_store_readers_mark(op, e);

    for (n = e->u.join.count; n && e->u.join.readers.first; n--) {
        reader = mcp_store_container(op->head, e->u.join.readers.first,
                                     mcp_store_entry_t, u.reader.peer);
        mcp_store_list_remove(op->head, &e->u.join.readers,
                              &reader->u.reader.peer);
    }

    st->join = 0;
    mcp_store_entry_free(op, e);
}


void
mcp_store_repair_join(mcp_store_op_t *op, mcp_store_entry_t *e)
{
    mcp_store_stream_t  *st;

    st = mcp_store_join_stream(op, e);

    if (st == NULL || st->join != 0
        || mcp_store_entry_find(op->head, MCP_ENTRY_JOIN, 0, e->key, 0))
    {
        mcp_store_entry_free(op, e);
        return;
    }

    e->u.join.count = 0;
    memset(&e->u.join.readers, 0, sizeof(mcp_store_list_t));
    mcp_store_entry_insert(op->head, e);
    st->join = mcp_store_ref(op->head, e);
}


/* --- joined readers --- */

/* Returns the tag by which the hash distinguishes the readers of one stream.
 * Handles of one process differ in their low bits, so only these are used. */
static uint32_t
mcp_store_reader_tag(uint32_t slot, uint64_t handle)
{
    return (uint32_t) handle * MCP_STORE_SLOTS + slot;
}


mcp_store_entry_t *
mcp_store_reader_find(mcp_store_op_t *op,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t handle)
{
    uint32_t            slot;
    mcp_store_entry_t  *e;

    slot = op->store->slot;
    e = mcp_store_entry_find(op->head, MCP_ENTRY_READER, 0, id,
                             mcp_store_reader_tag(slot, handle));

    return e != NULL && e->u.reader.slot == slot
           && e->u.reader.handle == handle ? e : NULL;
}


/* Returns the JOIN entry of the call that a reader has joined, and sets *st to
 * the call's stream. Returns NULL if the stream does not exist any more. */
static mcp_store_entry_t *
mcp_store_reader_join(mcp_store_op_t *op, const mcp_store_entry_t *e,
    mcp_store_stream_t **st)
{
    *st = mcp_store_stream_find(op, e->key);

    return *st != NULL && (*st)->join != 0
           ? mcp_store_at(op->head, (*st)->join) : NULL;
}


static void
mcp_store_reader_link(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_entry_t *join, mcp_store_entry_t *e)
{
    mcp_store_list_append(op->head, &join->u.join.readers, &e->u.reader.peer);
    join->u.join.count++;
    st->unattended = 0;
    mcp_store_stream_settle(op, st);
}


void
mcp_store_readers_mark(mcp_store_op_t *op, mcp_store_entry_t *join)
{
    uint32_t            n, ref;
    mcp_store_entry_t  *e;

    ref = join->u.join.readers.first;

    for (n = join->u.join.count; n && ref && ref != MCP_STORE_END; n--) {
        e = mcp_store_container(op->head, ref, mcp_store_entry_t,
                                u.reader.peer);
        mcp_store_mark(op, &e->u.reader.dirty, e->u.reader.slot);
        ref = e->u.reader.peer.next;
    }
}


uint32_t
mcp_store_readers_slot(mcp_store_op_t *op, const mcp_store_stream_t *st,
    uint32_t but)
{
    uint32_t            n, ref;
    mcp_store_entry_t  *e;

    e = mcp_store_at(op->head, st->join);
    ref = st->join ? e->u.join.readers.first : 0;

    for (n = MCP_STORE_READERS; n && ref && ref != MCP_STORE_END; n--) {
        e = mcp_store_container(op->head, ref, mcp_store_entry_t,
                                u.reader.peer);
        if (e->u.reader.slot != but) {
            return e->u.reader.slot;
        }

        ref = e->u.reader.peer.next;
    }

    return MCP_STORE_NO_SLOT;
}


void
mcp_store_reader_gone(mcp_store_op_t *op, mcp_store_entry_t *e, uint64_t now)
{
    mcp_store_head_t    *head;
    mcp_store_entry_t   *join;
    mcp_store_stream_t  *st;

    head = op->head;
    join = mcp_store_reader_join(op, e, &st);

    if (join != NULL && mcp_store_linked(&e->u.reader.peer)) {
        mcp_store_list_remove(head, &join->u.join.readers, &e->u.reader.peer);
        join->u.join.count--;

        if (!mcp_store_attended(head, st)) {
            st->unattended = now;
            st->seen = 1;
        }
    }

    mcp_store_unmark(op, &e->u.reader.dirty, e->u.reader.slot);
    mcp_store_entry_free(op, e);

    if (join != NULL) {
        mcp_store_stream_settle(op, st);
        mcp_store_mark_owner(op, st);
        mcp_store_mark_replication(op, st);
    }
}


static int
mcp_store_join_locked(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint64_t handle)
{
    mcp_store_entry_t        *join, *e;
    mcp_store_replication_t  *repl;

    op->keep = st;
    join = mcp_store_at(op->head, st->join);

    if (join->u.join.count >= MCP_STORE_READERS) {
        return MCP_ERR_LIMIT;
    }

    e = mcp_store_entry_take(op, 0);
    if (e == NULL) {
        return MCP_ERR_FULL;
    }

    memcpy(e->key, st->id, MCP_STREAM_ID_LEN);
    e->u.reader.handle = handle;
    e->u.reader.slot = op->store->slot;
    e->u.reader.tag = mcp_store_reader_tag(op->store->slot, handle);
    mcp_store_entry_publish(op->head, e, MCP_ENTRY_READER);
    mcp_store_reader_link(op, st, join, e);
    mcp_store_mark_owner(op, st);

    /* if no process feeds the mirror, this process feeds it from now on */
    if (mcp_store_is_mirror(op->head, st)) {
        repl = mcp_store_replication_of(op->head, st->repl);

        if (repl->slot == MCP_STORE_NO_SLOT) {
            mcp_store_replication_pass(op, repl, op->store->slot);
        }

        mcp_store_replication_mark(op, st);
    }

    return MCP_OK;
}


int
mcp_store_join(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t handle, uint64_t after, mcp_cursor_t *cursor)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    memset(cursor, 0, sizeof(mcp_cursor_t));
    cursor->seq = after;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc == MCP_OK) {
        rc = st->join ? mcp_store_join_locked(&op, st, handle)
                      : MCP_ERR_NOT_FOUND;
        mcp_store_leave(&op);
    }

    return rc;
}


void
mcp_store_readers_retire(mcp_store_op_t *op, uint32_t index, uint32_t slot)
{
    unsigned            k;
    mcp_store_entry_t  *e;

    k = 0;

    while ((e = mcp_store_entry_next(op->head, index, &k, MCP_ENTRY_READER))
           != NULL)
    {
        if (e->u.reader.slot == slot) {
            mcp_store_reader_gone(op, e, 0);
        }
    }
}


static void
mcp_store_repair_reader(mcp_store_op_t *op, mcp_store_entry_t *e)
{
    uint32_t             slot;
    mcp_store_entry_t   *join;
    mcp_store_stream_t  *st;

    slot = e->u.reader.slot;

    if (slot >= MCP_STORE_SLOTS || op->head->slots[slot].pid == 0) {
        mcp_store_entry_free(op, e);
        return;
    }

    memset(&e->u.reader.peer, 0, sizeof(mcp_store_link_t));
    memset(&e->u.reader.dirty, 0, sizeof(mcp_store_link_t));
    mcp_store_entry_insert(op->head, e);

    join = mcp_store_reader_join(op, e, &st);

    if (join != NULL) {
        mcp_store_reader_link(op, st, join, e);
    }

    mcp_store_mark(op, &e->u.reader.dirty, slot);
}


void
mcp_store_repair_readers(mcp_store_op_t *op)
{
    uint32_t            i;
    unsigned            k;
    mcp_store_entry_t  *e;

    i = 0;

    while ((i = mcp_store_next_chunk(op->head, i, MCP_CHUNK_ENTRY)) != 0) {
        k = 0;

        while ((e = mcp_store_entry_next(op->head, i, &k, MCP_ENTRY_READER))
               != NULL)
        {
            mcp_store_repair_reader(op, e);
        }
    }
}
