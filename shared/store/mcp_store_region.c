/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The region as a whole: its format, the lock and what follows from it, the
 * processes, what waits for them, counters and time.
 */


#include "store/mcp_store_layout.h"


_Static_assert(sizeof(mcp_store_slot_t) == 64, "slot");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "atomics between processes");


/* Streams that one sweep's hold of the lock may have to report. */
#define MCP_SWEEP_REPORTS  4

/* Owners that wait for room, of which one hold of the lock looks after. */
#define MCP_STORE_FEED     64


/* --- format --- */

static uint64_t
mcp_store_align64(uint64_t n)
{
    return (n + 63) & ~(uint64_t) 63;
}


static uint32_t
mcp_store_power(uint32_t n)
{
    uint32_t  power;

    for (power = 64; power < n; power *= 2) { /* void */ }

    return power;
}


static uint32_t
mcp_store_layout_id(void)
{
    return (uint32_t) (sizeof(mcp_store_head_t) << 16
                       ^ sizeof(mcp_store_stream_t) << 8
                       ^ MCP_STORE_SLOTS ^ MCP_COUNT_MAX << 4);
}


/* Places everything for n chunks; returns the size that takes. */
static uint64_t
mcp_store_place(mcp_store_head_t *head, uint32_t n)
{
    uint64_t  end;
    uint32_t  streams, entries;

    streams = mcp_store_power(n / 4);
    entries = mcp_store_power(n);

    head->chunks = n;
    head->stream_mask = streams - 1;
    head->entry_mask = entries - 1;

    head->types = mcp_store_align64(sizeof(mcp_store_head_t));
    head->stream_hash = mcp_store_align64(head->types + n + 1);
    head->entry_hash = head->stream_hash + (uint64_t) streams * 4;
    end = mcp_store_align64(head->entry_hash + (uint64_t) entries * 4);

    /* chunk 0 would lie before the first one */
    head->base = end - MCP_STORE_CHUNK;

    return end + (uint64_t) n * MCP_STORE_CHUNK;
}


int
mcp_store_format(void *region, size_t size)
{
    uint32_t           n, reserve;
    mcp_store_head_t  *head, place;

    head = region;

    if (size < MCP_STORE_MIN_SIZE || (uintptr_t) region % 8 != 0) {
        return MCP_ERR_CONFIG;
    }

    if (size > MCP_STORE_SIZE_MAX) {
        return MCP_ERR_CONFIG;
    }

    n = (uint32_t) ((size - sizeof(mcp_store_head_t)) / MCP_STORE_CHUNK);

    while (mcp_store_place(&place, n) > size) {
        n -= n / 256 + 1;
    }

    /* whoever looks meanwhile must not take it for a store */

    head->magic = 0;
    mcp_store_barrier();

    memset(head, 0, sizeof(mcp_store_head_t));
    (void) mcp_store_place(head, n);
    memset((char *) head + head->types, 0,
           head->base + MCP_STORE_CHUNK - head->types);

    reserve = n / 32;
    reserve = reserve > MCP_STORE_RESERVE_MIN ? reserve
                                              : MCP_STORE_RESERVE_MIN;
    reserve = reserve < MCP_STORE_RESERVE_MAX ? reserve
                                              : MCP_STORE_RESERVE_MAX;

    head->version = MCP_STORE_VERSION;
    head->layout = mcp_store_layout_id();
    head->size = size;
    head->reserve = reserve;
    head->fresh = 1;
    atomic_store(&head->hint_room, mcp_store_room(head, 0));

    if (mcp_random(head->seed, sizeof(head->seed)) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    mcp_store_barrier();
    head->magic = MCP_STORE_MAGIC;

    return MCP_OK;
}


int
mcp_store_check(const void *region, size_t size)
{
    const mcp_store_head_t  *head;

    head = region;

    if (size < MCP_STORE_MIN_SIZE || (uintptr_t) region % 8 != 0
        || head->magic != MCP_STORE_MAGIC
        || head->version != MCP_STORE_VERSION
        || head->layout != mcp_store_layout_id() || head->size != size)
    {
        return MCP_ERR_NOT_FOUND;
    }

    return MCP_OK;
}


/* --- the lock --- */

int
mcp_store_enter(mcp_store_t *store, mcp_store_op_t *op)
{
    int  rc;

    op->store = store;
    op->head = store->head;
    op->party = NULL;
    op->keep = NULL;
    op->wakes = 0;

    rc = store->glue.lock(store->glue.mutex);

    if (rc != MCP_OK && rc != MCP_AGAIN) {
        return MCP_ERR_INTERNAL;
    }

    /* "holder" tells of a death also where the lock cannot */

    if (rc == MCP_AGAIN || op->head->holder != 0) {
        op->head->holder = store->slot + 1;
        mcp_store_barrier();
        mcp_store_repair(op);
    }

    op->head->holder = store->slot + 1;
    mcp_store_barrier();

    return MCP_OK;
}


/* Wakes owners that wait for room in the region, as far as it goes; what
 * each of them needs is taken as spent.  Those whose party has what it may
 * stay, behind the others. */
static void
mcp_store_feed(mcp_store_op_t *op)
{
    unsigned             n;
    uint32_t             room;
    mcp_store_head_t    *head;
    mcp_store_stream_t  *st;

    head = op->head;
    room = mcp_store_room(head, 0);

    op->keep = NULL;

    for (n = MCP_STORE_FEED; n && head->hungry.first != 0; n--) {
        st = mcp_store_container(head, head->hungry.first, mcp_store_stream_t,
                                 link[MCP_LINK_HUNGRY]);
        op->party = st->party;

        if (st->need > room && mcp_store_victim(op) == NULL) {
            return;
        }

        mcp_store_list_remove(head, &head->hungry,
                              &st->link[MCP_LINK_HUNGRY]);

        if (!mcp_store_party_allows(op, st, st->need, 0)) {
            mcp_store_list_append(head, &head->hungry,
                                  &st->link[MCP_LINK_HUNGRY]);
            continue;
        }

        room -= st->need < room ? st->need : room;
        mcp_store_mark_owner(op, st);
    }
}


/* A number that others look at without the lock. */
static void
mcp_store_hint(_Atomic uint32_t *hint, uint32_t value)
{
    if (value != atomic_load_explicit(hint, memory_order_relaxed)) {
        atomic_store_explicit(hint, value, memory_order_relaxed);
    }
}


void
mcp_store_leave(mcp_store_op_t *op)
{
    unsigned           i, slot;
    uint64_t           bits;
    mcp_store_head_t  *head;

    head = op->head;

    if (head->hungry.first != 0) {
        mcp_store_feed(op);
    }

    mcp_store_hint(&head->hint_room, mcp_store_room(head, 0));
    mcp_store_hint(&head->hint_calls, head->n_calls);

    mcp_store_barrier();
    head->holder = 0;
    op->store->glue.unlock(op->store->glue.mutex);

    if (op->wakes == 0) {
        return;
    }

    for (i = 0; i < MCP_STORE_SLOTS / 64; i++) {
        bits = op->wake[i];

        for (slot = i * 64; bits; slot++, bits >>= 1) {
            if (bits & 1) {
                op->store->glue.wake(op->store->glue.ctx, slot);
            }
        }
    }
}


/* --- what waits for a process --- */

void
mcp_store_wake_slot(mcp_store_op_t *op, unsigned slot)
{
    if (op->wakes++ == 0) {
        memset(op->wake, 0, sizeof(op->wake));
    }

    op->wake[slot / 64] |= (uint64_t) 1 << (slot % 64);
}


static void
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
}


void
mcp_store_unmark(mcp_store_op_t *op, mcp_store_stream_t *st, unsigned role)
{
    uint32_t           slot;
    mcp_store_head_t  *head;

    head = op->head;

    if (!mcp_store_linked(&st->link[role])) {
        return;
    }

    slot = role == MCP_LINK_OWNER ? st->owner_slot : st->consumer_slot;

    if (slot == MCP_STORE_ORPHAN) {
        mcp_store_list_remove(head, &head->orphans, &st->link[role]);
        atomic_fetch_sub(&head->n_orphans, 1);

    } else {
        mcp_store_list_remove(head, &head->slots[slot].dirty,
                              &st->link[role]);
    }
}


/* Takes one from a slot's list. */
static void
mcp_store_drain_one(mcp_store_op_t *op, mcp_store_list_t *list,
    mcp_store_wake_t *out)
{
    uint32_t             index;
    unsigned             role;
    mcp_store_link_t    *link;
    mcp_store_stream_t  *st;

    link = mcp_store_at(op->head, list->first);
    index = mcp_store_index(op->head, link);
    st = mcp_store_stream(op->head, index);
    role = (unsigned) (link - st->link);

    mcp_store_list_remove(op->head, list, link);

    out->ref.index = st->self;
    memcpy(out->ref.id, st->id, MCP_STREAM_ID_LEN);
    out->owner = role == MCP_LINK_OWNER;
    out->handle = out->owner ? st->owner_handle : st->consumer_handle;

    if (st->live == MCP_STREAM_GHOST
        && !mcp_store_linked(&st->link[MCP_LINK_OWNER])
        && !mcp_store_linked(&st->link[MCP_LINK_CONSUMER]))
    {
        st->live = 0;
        mcp_store_root_free(op, index);
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

/* A stream whose owner has gone waits to be adopted. */
static void
mcp_store_orphan(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_unmark(op, st, MCP_LINK_OWNER);

    st->owner_slot = MCP_STORE_ORPHAN;

    mcp_store_list_append(op->head, &op->head->orphans,
                          &st->link[MCP_LINK_OWNER]);
    atomic_fetch_add(&op->head->n_orphans, 1);
}


/* Takes a slot out of one stream, or out of a ghost. */
static void
mcp_store_retire_stream(mcp_store_op_t *op, mcp_store_stream_t *st,
    uint32_t index, uint32_t slot)
{
    if (st->live == MCP_STREAM_LIVE) {

        if (st->owner_slot == slot) {
            mcp_store_orphan(op, st);
        }

        if (st->consumer_slot == slot) {
            mcp_store_consumer_gone(op, st, 0);
        }

        return;
    }

    if (st->live != MCP_STREAM_GHOST) {
        return;
    }

    if (st->owner_slot == slot) {
        mcp_store_unmark(op, st, MCP_LINK_OWNER);
        st->owner_slot = MCP_STORE_NO_SLOT;
    }

    if (st->consumer_slot == slot) {
        mcp_store_unmark(op, st, MCP_LINK_CONSUMER);
        st->consumer_slot = MCP_STORE_NO_SLOT;
    }

    if (!mcp_store_linked(&st->link[MCP_LINK_OWNER])
        && !mcp_store_linked(&st->link[MCP_LINK_CONSUMER]))
    {
        st->live = 0;
        mcp_store_root_free(op, index);
    }
}


/* The process of a slot is no more. */
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
            mcp_store_retire_stream(op, mcp_store_stream(op->head, i), i,
                                    slot);
        }
    }

    mcp_store_private_reclaim(op, slot);

    for (k = 0; k < MCP_GAUGE_MAX; k++) {
        atomic_store(&s->gauge[k], 0);
    }

    /* last: until then a repair leaves it to be done again */

    mcp_store_barrier();
    atomic_store(&s->pid, 0);
    atomic_store(&s->pending, 0);

    /* it may have died between its last hold of the lock and the wakes that
     * were to follow */

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
    mcp_store_bury(store, store->slot, store->pid);
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
mcp_store_bury(mcp_store_t *store, unsigned slot, uint64_t pid)
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


int
mcp_store_adopt(mcp_store_t *store, uint64_t now, mcp_stream_info_t *info,
    mcp_buf_t *request)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    if (atomic_load(&store->head->n_orphans) == 0) {
        return MCP_DONE;
    }

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    rc = MCP_DONE;

    if (op.head->orphans.first != 0
        && op.head->slots[store->slot].pid == store->pid)
    {
        st = mcp_store_container(op.head, op.head->orphans.first,
                                 mcp_store_stream_t, link[MCP_LINK_OWNER]);

        mcp_store_unmark(&op, st, MCP_LINK_OWNER);

        st->owner_handle = 0;
        mcp_store_barrier();
        st->owner_slot = store->slot;

        if (st->consumer_slot == MCP_STORE_NO_SLOT && st->unattended == 0) {
            st->unattended = now;
        }

        mcp_store_stream_info(&op, st, info);

        if (request != NULL) {
            mcp_store_stream_request(&op, st, request);
        }

        rc = MCP_OK;
    }

    mcp_store_leave(&op);

    return rc;
}


/* --- time --- */

/* Looks at one chunk; 1 when a stream with events not sent was freed. */
static int
mcp_store_sweep_chunk(mcp_store_op_t *op, uint32_t index, uint64_t now,
    mcp_stream_info_t *info, size_t *freed)
{
    int                  unsent;
    mcp_store_stream_t  *st;

    switch (mcp_store_types(op->head)[index]) {

    case MCP_CHUNK_ENTRY:
        *freed += mcp_store_values_expire(op, index, now);
        return 0;

    case MCP_CHUNK_STREAM:
        st = mcp_store_stream(op->head, index);

        if (st->live != MCP_STREAM_LIVE
            || !mcp_store_stream_due(op, st, now))
        {
            return 0;
        }

        unsent = st->sent_seq < st->events.last;

        if (unsent) {
            mcp_store_stream_info(op, st, info);
        }

        mcp_store_stream_free(op, st);
        mcp_store_add(op->head, MCP_COUNT_STREAMS_EXPIRED, 1);
        (*freed)++;

        return unsent;

    default:
        return 0;
    }
}


size_t
mcp_store_sweep(mcp_store_t *store, uint64_t now, unsigned budget,
    void (*report)(void *ctx, const mcp_stream_info_t *info), void *ctx)
{
    size_t             freed, i, n;
    uint32_t           limit;
    mcp_store_op_t     op;
    mcp_stream_info_t  info[MCP_SWEEP_REPORTS];

    freed = 0;
    limit = store->head->chunks;

    if (budget > limit) {
        budget = limit;
    }

    while (budget > 0) {
        if (mcp_store_enter(store, &op) != MCP_OK) {
            break;
        }

        n = 0;

        while (budget > 0 && n < MCP_SWEEP_REPORTS) {
            op.head->hand++;

            if (op.head->hand >= op.head->fresh) {
                /* chunks never used have nothing */

                limit = op.head->chunks + 1 - op.head->fresh;
                budget -= limit < budget ? limit : budget;
                op.head->hand = 0;
                continue;
            }

            budget--;

            n += (size_t) mcp_store_sweep_chunk(&op, op.head->hand, now,
                                                &info[n], &freed);
        }

        mcp_store_leave(&op);

        for (i = 0; i < n && report; i++) {
            report(ctx, &info[i]);
        }
    }

    return freed;
}


/* --- counters --- */

static int
mcp_store_gauge(mcp_counter_e counter)
{
    switch (counter) {
    case MCP_COUNT_CALLS_LIVE:
        return MCP_GAUGE_CALLS;
    case MCP_COUNT_CONSUMERS_LIVE:
        return MCP_GAUGE_CONSUMERS;
    default:
        return -1;
    }
}


void
mcp_store_count(mcp_store_t *store, mcp_counter_e counter, int64_t delta)
{
    int                gauge;
    mcp_store_slot_t  *slot;

    gauge = mcp_store_gauge(counter);

    if (gauge == -1) {
        mcp_store_add(store->head, counter, delta);
        return;
    }

    /* a process that has detached gave its share back with that */

    slot = &store->head->slots[store->slot];

    if (slot->pid == store->pid) {
        atomic_fetch_add_explicit(&slot->gauge[gauge], delta,
                                  memory_order_relaxed);
    }
}


uint64_t
mcp_store_refused(mcp_store_t *store, uint64_t now, uint64_t interval)
{
    int64_t            all;
    uint64_t           at;
    mcp_store_head_t  *head;

    head = store->head;
    all = atomic_load_explicit(&head->counter[MCP_COUNT_REFUSED_FULL],
                               memory_order_relaxed);

    if (all == atomic_load_explicit(&head->refused, memory_order_relaxed)) {
        return 0;
    }

    at = atomic_load(&head->refused_at);

    /* of several processes one changes it */

    if ((at != 0 && now < at + interval)
        || !atomic_compare_exchange_strong(&head->refused_at, &at, now))
    {
        return 0;
    }

    return (uint64_t) (all - atomic_exchange(&head->refused, all));
}


void
mcp_store_stats(mcp_store_t *store, mcp_store_stats_t *stats)
{
    int                gauge;
    unsigned           i, k;
    mcp_store_op_t     op;
    mcp_store_head_t  *head;

    memset(stats, 0, sizeof(mcp_store_stats_t));

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return;
    }

    head = op.head;

    stats->size = (uint64_t) head->chunks * MCP_STORE_CHUNK;
    stats->used = (uint64_t) (head->chunks - mcp_store_room(head, 1))
                  * MCP_STORE_CHUNK;
    stats->streams = head->n_streams;
    stats->listeners = head->n_listeners;
    stats->values = head->n_values;
    stats->subscriptions = head->n_subs;

    mcp_store_leave(&op);

    for (i = 0; i < MCP_COUNT_MAX; i++) {
        gauge = mcp_store_gauge((mcp_counter_e) i);

        if (gauge == -1) {
            stats->counter[i] = atomic_load(&head->counter[i]);
            continue;
        }

        for (k = 0; k < MCP_STORE_SLOTS; k++) {
            stats->counter[i] += atomic_load(&head->slots[k].gauge[gauge]);
        }
    }
}
