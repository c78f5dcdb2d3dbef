/* SPDX-License-Identifier: Apache-2.0 */

/* Joined readers of a call, which read its stream in addition to the
 * consumer. Each has a READER entry with the stream's id as the key. The
 * entry belongs to the reader's process and may outlive the stream, until
 * the reader leaves. */


#include "store/mcp_store_layout.h"


/* Returns a tag by which the hash distinguishes the readers of one stream. The
 * low bits of a handle number the objects of a process. */
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
    mcp_store_list_append(op->head, &join->u.join.readers,
                          &e->u.reader.peer);
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
mcp_store_readers_slot(mcp_store_op_t *op, mcp_store_entry_t *join,
    uint32_t but)
{
    uint32_t            n, ref;
    mcp_store_entry_t  *e;

    ref = join->u.join.readers.first;

    for (n = join->u.join.count; n && ref && ref != MCP_STORE_END; n--) {
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

    mcp_store_list_remove(head, &head->slots[e->u.reader.slot].dirty,
                          &e->u.reader.dirty);
    mcp_store_entry_free(op, e);

    if (join != NULL) {
        mcp_store_stream_settle(op, st);
        mcp_store_mark_owner(op, st);
        mcp_store_mark_replication(op, st);
    }
}


/* If the stream that a reader joins is a mirror, wakes the process that feeds
 * it. If no process feeds it, makes this process do so. */
static void
mcp_store_reader_feed(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_replication_t  *repl;

    if (!mcp_store_is_mirror(op->head, st)) {
        return;
    }

    repl = mcp_store_replication_of(op->head, st->repl);

    if (repl->slot == MCP_STORE_NO_SLOT) {
        mcp_store_replication_pass(op, repl, op->store->slot);
    }

    mcp_store_replication_mark(op, st);
}


static int
mcp_store_join_locked(mcp_store_op_t *op, const mcp_stream_ref_t *ref,
    uint64_t handle)
{
    mcp_store_entry_t   *join, *e;
    mcp_store_stream_t  *st;

    st = mcp_store_stream_get(op, ref);

    if (st == NULL || st->join == 0) {
        return MCP_ERR_NOT_FOUND;
    }

    op->tenant = st->tenant;
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
    mcp_store_reader_feed(op, st);

    return MCP_OK;
}


int
mcp_store_join(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t handle, uint64_t after, mcp_cursor_t *cursor)
{
    int             rc;
    mcp_store_op_t  op;

    rc = mcp_store_enter(store, &op);
    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_store_join_locked(&op, ref, handle);

    mcp_store_leave(&op);

    if (rc == MCP_OK) {
        memset(cursor, 0, sizeof(mcp_cursor_t));
        cursor->seq = after;
    }

    return rc;
}


void
mcp_store_readers_retire(mcp_store_op_t *op, uint32_t index, uint32_t slot)
{
    unsigned              k;
    mcp_store_entry_t    *e;
    mcp_store_entries_t  *entries;

    entries = (mcp_store_entries_t *) mcp_store_chunk(op->head, index);

    for (k = 0; k < MCP_STORE_ENTRIES; k++) {
        e = &entries->entry[k];

        /* if this was the last entry of the chunk, the chunk was freed */

        if (mcp_store_types(op->head)[index] == MCP_CHUNK_ENTRY
            && e->kind == MCP_ENTRY_READER && e->u.reader.slot == slot)
        {
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


static void
mcp_store_repair_readers_of(mcp_store_op_t *op, uint32_t index)
{
    unsigned              k;
    mcp_store_entries_t  *entries;

    entries = (mcp_store_entries_t *) mcp_store_chunk(op->head, index);

    for (k = 0; k < MCP_STORE_ENTRIES; k++) {
        if (mcp_store_types(op->head)[index] == MCP_CHUNK_ENTRY
            && entries->entry[k].kind == MCP_ENTRY_READER)
        {
            mcp_store_repair_reader(op, &entries->entry[k]);
        }
    }
}


void
mcp_store_repair_readers(mcp_store_op_t *op)
{
    uint32_t  i;

    for (i = 1; i < op->head->fresh; i++) {
        if (mcp_store_types(op->head)[i] == MCP_CHUNK_ENTRY) {
            mcp_store_repair_readers_of(op, i);
        }
    }
}
