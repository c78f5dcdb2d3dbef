/* SPDX-License-Identifier: Apache-2.0 */

/* Attaches processes to slots, and cleans up after processes that have ended. A
 * slot has a list of the streams for which its process was woken. When a
 * process has ended, the streams that it owns become ownerless, and other
 * processes adopt them. */


#include "store/mcp_store_layout.h"


_Static_assert(sizeof(mcp_store_slot_t) == 64, "slot");


/* --- wake-ups of a process --- */

void
mcp_store_wake_slot(mcp_store_op_t *op, unsigned slot)
{
    if (op->wakes++ == 0) {
        memset(op->wake, 0, sizeof(op->wake));
    }

    op->wake[slot / 64] |= (uint64_t) 1 << (slot % 64);
}


void
mcp_store_mark(mcp_store_op_t *op, mcp_store_link_t *link, uint32_t slot)
{
    mcp_store_slot_t  *s;

    if (slot >= MCP_STORE_SLOTS || mcp_store_linked(link)) {
        return;
    }

    s = &op->head->slots[slot];

    if (s->pid == 0) {
        return;
    }

    mcp_store_list_append(op->head, &s->dirty, link);

    if (atomic_exchange(&s->pending, 1) == 0) {
        mcp_store_wake_slot(op, slot);
    }
}


void
mcp_store_mark_owner(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_mark(op, &st->link[MCP_LINK_OWNER], st->owner_slot);
}


void
mcp_store_mark_consumer(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_mark(op, &st->link[MCP_LINK_CONSUMER], st->consumer_slot);

    if (st->join) {
        mcp_store_readers_mark(op, mcp_store_at(op->head, st->join));
    }
}


void
mcp_store_notify_consumer(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_t  *store;

    store = op->store;

    if (st->join || st->consumer_slot != store->slot || store->note == NULL
        || !store->note(store->noter, st->consumer_handle))
    {
        mcp_store_mark_consumer(op, st);
    }
}


void
mcp_store_unmark(mcp_store_op_t *op, mcp_store_link_t *link, uint32_t slot)
{
    if (!mcp_store_linked(link)) {
        return;
    }

    if (slot == MCP_STORE_OWNERLESS) {
        mcp_store_list_remove(op->head, &op->head->ownerless, link);
        atomic_fetch_sub(&op->head->n_ownerless, 1);
    } else {
        mcp_store_list_remove(op->head, &op->head->slots[slot].dirty, link);
    }
}


void
mcp_store_mark_ownerless(mcp_store_head_t *head, mcp_store_link_t *link)
{
    mcp_store_list_append(head, &head->ownerless, link);
    atomic_fetch_add(&head->n_ownerless, 1);
}


void
mcp_store_unmark_owner(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_unmark(op, &st->link[MCP_LINK_OWNER], st->owner_slot);
    st->owner_slot = MCP_STORE_NO_SLOT;
}


void
mcp_store_unmark_consumer(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_unmark(op, &st->link[MCP_LINK_CONSUMER], st->consumer_slot);
    st->consumer_slot = MCP_STORE_NO_SLOT;
}


void
mcp_store_tombstone_settle(mcp_store_op_t *op, mcp_store_stream_t *tombstone)
{
    if (mcp_store_linked(&tombstone->link[MCP_LINK_OWNER])
        || mcp_store_linked(&tombstone->link[MCP_LINK_CONSUMER]))
    {
        return;
    }

    tombstone->live = 0;
    mcp_store_root_free(op, mcp_store_index(op->head, tombstone));
}


/* Removes the first link from a slot's dirty list, and sets *out to the
 * wake-up for it. */
static void
mcp_store_drain_one(mcp_store_op_t *op, mcp_store_list_t *list,
    mcp_store_wake_t *out)
{
    uint32_t             index;
    mcp_store_link_t    *link;
    mcp_store_entry_t   *e;
    mcp_store_stream_t  *st;

    link = mcp_store_link(op->head, list->first);
    index = mcp_store_index(op->head, link);
    out->kind = MCP_WAKE_CONSUMER;

    if (mcp_store_types(op->head)[index] == MCP_CHUNK_REPLICATION) {
        mcp_store_replication_drain(op, index, out);
        return;
    }

    mcp_store_list_remove(op->head, list, link);

    if (mcp_store_types(op->head)[index] == MCP_CHUNK_ENTRY) {
        e = mcp_store_container(op->head, mcp_store_ref(op->head, link),
                                mcp_store_entry_t, u.reader.dirty);
        st = mcp_store_stream_find(op, e->key);
        out->ref.index = st ? st->self : 0;
        memcpy(out->ref.id, e->key, MCP_STREAM_ID_LEN);
        out->handle = e->u.reader.handle;
        return;
    }

    st = mcp_store_stream(op->head, index);
    out->ref.index = st->self;
    memcpy(out->ref.id, st->id, MCP_STREAM_ID_LEN);
    out->handle = st->consumer_handle;

    if (link == &st->link[MCP_LINK_OWNER]) {
        out->kind = MCP_WAKE_OWNER;
        out->handle = st->owner_handle;
    }

    if (st->live == MCP_STREAM_TOMBSTONE) {
        mcp_store_tombstone_settle(op, st);
    }
}


size_t
mcp_store_drain(mcp_store_t *store, mcp_store_wake_t *out, size_t n)
{
    size_t             i;
    mcp_store_op_t     op;
    mcp_store_slot_t  *slot;

    slot = &store->head->slots[store->slot];

    if (n == 0 || atomic_load(&slot->pending) == 0
        || mcp_store_enter(store, &op) != MCP_OK)
    {
        return 0;
    }

    i = 0;

    if (slot->pid == store->pid) {
        while (i < n && slot->dirty.first != 0) {
            mcp_store_drain_one(&op, &slot->dirty, &out[i++]);
        }

        if (slot->dirty.first == 0) {
            atomic_store(&slot->pending, 0);
        }
    }

    mcp_store_leave(&op);

    return i;
}


/* --- processes --- */

void
mcp_store_disown(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_unmark_owner(op, st);
    st->owner_slot = MCP_STORE_OWNERLESS;
    mcp_store_mark_ownerless(op->head, &st->link[MCP_LINK_OWNER]);
}


/* Separates a stream from the process of a slot, which has ended: a call that
 * the process owned becomes ownerless, and a consumer in the process is
 * detached. A tombstone need not notify the process any more. */
static void
mcp_store_retire_stream(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint32_t slot)
{
    if (st->live == MCP_STREAM_LIVE) {
        if (st->owner_slot == slot) {
            mcp_store_disown(op, st);
        }

        if (st->consumer_slot == slot) {
            mcp_store_consumer_gone(op, st, 0);
        }

    } else if (st->live == MCP_STREAM_TOMBSTONE) {
        if (st->owner_slot == slot) {
            mcp_store_unmark_owner(op, st);
        }

        if (st->consumer_slot == slot) {
            mcp_store_unmark_consumer(op, st);
        }

        mcp_store_tombstone_settle(op, st);
    }
}


/* Clears the slot of a process that has ended. */
static void
mcp_store_retire(mcp_store_op_t *op, unsigned slot)
{
    uint32_t           i;
    unsigned           k;
    unsigned char     *types;
    mcp_store_slot_t  *s;

    s = &op->head->slots[slot];
    types = mcp_store_types(op->head);

    for (i = 1; i < op->head->fresh; i++) {
        if (types[i] == MCP_CHUNK_STREAM) {
            mcp_store_retire_stream(op, mcp_store_stream(op->head, i), slot);

        } else if (types[i] == MCP_CHUNK_ENTRY) {
            mcp_store_readers_retire(op, i, slot);

        } else if (types[i] == MCP_CHUNK_REPLICATION) {
            mcp_store_replication_retire(op, i, slot);
        }
    }

    mcp_store_private_reclaim(op, slot);
    mcp_store_active_retire(op->head, slot);

    for (k = 0; k < MCP_GAUGE_MAX; k++) {
        atomic_store(&s->gauge[k], 0);
    }

    atomic_store(&s->link, 0);

    /* pid is cleared at the end: if this process dies before that, another
     * process clears the slot again */

    mcp_store_barrier();
    atomic_store(&s->pid, 0);
    atomic_store(&s->pending, 0);

    /* wakes all processes whose dirty lists are not empty, because the process
     * of this slot may have died after it had released the lock and before it
     * sent these wake-ups */
    for (k = 0; k < MCP_STORE_SLOTS; k++) {
        if (op->head->slots[k].pid != 0
            && atomic_load(&op->head->slots[k].pending))
        {
            mcp_store_wake_slot(op, k);
        }
    }
}


int
mcp_store_attach(mcp_store_t *store, void *region,
    const mcp_store_glue_t *glue, unsigned slot, uint64_t pid)
{
    mcp_store_op_t     op;
    mcp_store_slot_t  *s;

    if (slot >= MCP_STORE_SLOTS || pid == 0) {
        return MCP_ERR_CONFIG;
    }

    store->head = region;
    store->glue = *glue;
    store->slot = slot;
    store->pid = pid;
    store->active = 0;
    store->note = NULL;

    if (store->head->magic != MCP_STORE_MAGIC
        || mcp_store_enter(store, &op) != MCP_OK)
    {
        return MCP_ERR_INTERNAL;
    }

    s = &op.head->slots[slot];

    if (s->pid != 0 && s->pid != pid) {
        mcp_store_retire(&op, slot);
    }

    if (s->pid == 0) {
        atomic_store(&s->pending, 0);
        mcp_store_barrier();
        atomic_store(&s->pid, pid);
    }

    mcp_store_leave(&op);

    return MCP_OK;
}


void
mcp_store_detach(mcp_store_t *store)
{
    mcp_store_reclaim(store, store->slot, store->pid);
}


uint64_t
mcp_store_slot_pid(mcp_store_t *store, unsigned slot)
{
    if (slot >= MCP_STORE_SLOTS) {
        return 0;
    }

    return atomic_load(&store->head->slots[slot].pid);
}


void
mcp_store_reclaim(mcp_store_t *store, unsigned slot, uint64_t pid)
{
    mcp_store_op_t  op;

    if (slot >= MCP_STORE_SLOTS || pid == 0
        || mcp_store_enter(store, &op) != MCP_OK)
    {
        return;
    }

    if (op.head->slots[slot].pid == pid) {
        mcp_store_retire(&op, slot);
    }

    mcp_store_leave(&op);
}


/* Makes this process the owner, or only the replicator, of the first ownerless
 * stream, and returns the stream. Returns NULL if there is none. */
static mcp_store_stream_t *
mcp_store_adopt_first(mcp_store_op_t *op, uint64_t now)
{
    uint32_t             index;
    mcp_store_t         *store;
    mcp_store_head_t    *head;
    mcp_store_stream_t  *st;

    store = op->store;
    head = op->head;

    if (head->ownerless.first == 0
        || head->slots[store->slot].pid != store->pid)
    {
        return NULL;
    }

    index = mcp_store_index(head, mcp_store_at(head, head->ownerless.first));

    if (mcp_store_types(head)[index] == MCP_CHUNK_REPLICATION) {
        return mcp_store_replication_adopt(op, index);
    }

    st = mcp_store_stream(head, index);
    mcp_store_unmark_owner(op, st);
    st->owner_handle = 0;
    mcp_store_barrier();
    st->owner_slot = store->slot;

    if (st->repl) {
        (void) mcp_store_replication_adopt(op, st->repl);
    }

    if (!mcp_store_attended(head, st) && st->unattended == 0) {
        st->unattended = now;
    }

    return st;
}


int
mcp_store_adopt(mcp_store_t *store, uint64_t now, mcp_stream_info_t *info,
    mcp_buf_t *request)
{
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    if (atomic_load(&store->head->n_ownerless) == 0) {
        return MCP_DONE;
    }

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    st = mcp_store_adopt_first(&op, now);

    if (st != NULL) {
        mcp_store_stream_info(&op, st, info);
        mcp_store_stream_request(&op, st, request);
    }

    mcp_store_leave(&op);

    return st ? MCP_OK : MCP_DONE;
}
