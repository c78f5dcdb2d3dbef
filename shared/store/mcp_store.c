/* SPDX-License-Identifier: Apache-2.0 */

/* Formats and checks regions, takes and releases the lock of a region, frees
 * expired streams and values, and changes and reads the counters. */


#include "store/mcp_store_layout.h"


_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "atomics between processes");


/* Maximum number of freed streams for which mcp_store_sweep() calls report()
 * after each release of the lock. */
#define MCP_SWEEP_REPORTS  4

/* Maximum number of owners in each list of blocked ones that mcp_store_feed()
 * checks when the lock is released. */
#define MCP_STORE_FEED     64

/* The call statistics have one row for each MCP_STORE_CALL_STATS_PER bytes of
 * chunks, and one record of an active request for each MCP_STORE_ACTIVE_PER
 * bytes, within the given limits. */
#define MCP_STORE_CALL_STATS_PER      16384
#define MCP_STORE_CALL_STATS_ALL_MIN  16
#define MCP_STORE_ACTIVE_PER          4096
#define MCP_STORE_ACTIVE_MIN          64
#define MCP_STORE_ACTIVE_MAX          16384

/* There is one row of an MCP server for each MCP_STORE_UPSTREAMS_PER bytes of
 * chunks, but at least MCP_STORE_UPSTREAMS_MIN and at most MCP_STORE_UPSTREAMS
 * rows. */
#define MCP_STORE_UPSTREAMS_PER       65536
#define MCP_STORE_UPSTREAMS_MIN       4

/* There is one histogram of durations for each MCP_STORE_DURATIONS_PER bytes of
 * chunks, within the given limits, in addition to the MCP_STORE_DURATIONS_REST
 * histograms that each region has. */
#define MCP_STORE_DURATIONS_PER       16384
#define MCP_STORE_DURATIONS_MIN       32
#define MCP_STORE_DURATIONS_MAX       512


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
                       ^ sizeof(mcp_store_call_stats_t) << 4
                       ^ sizeof(mcp_store_upstream_data_t) << 6
                       ^ sizeof(mcp_store_duration_t) << 12
                       ^ MCP_METHOD_COUNT << 20
                       ^ MCP_STORE_SLOTS ^ MCP_COUNT_MAX << 4);
}


static uint32_t
mcp_store_clamp(uint64_t n, uint32_t min, uint32_t max)
{
    return n < min ? min : n > max ? max : (uint32_t) n;
}


/* Sets the sizes and offsets of all tables, and the offset of the chunks, for a
 * region with n chunks. Below 16 MB, the rows of the call statistics and the
 * records of active requests take about a twentieth of the region. Returns the
 * size of the region. */
static uint64_t
mcp_store_place(mcp_store_head_t *head, uint32_t n)
{
    uint64_t  size, end;
    uint32_t  streams, entries;

    size = (uint64_t) n * MCP_STORE_CHUNK;
    streams = mcp_store_power(n / 4);
    entries = mcp_store_power(n);

    head->chunks = n;
    head->stream_mask = streams - 1;
    head->entry_mask = entries - 1;

    head->max_call_stats = mcp_store_clamp(size / MCP_STORE_CALL_STATS_PER,
                                           MCP_STORE_CALL_STATS_ALL_MIN,
                                           MCP_CALL_STATS_ROWS_MAX);
    head->max_active = mcp_store_clamp(size / MCP_STORE_ACTIVE_PER,
                                       MCP_STORE_ACTIVE_MIN,
                                       MCP_STORE_ACTIVE_MAX);
    head->max_upstreams = mcp_store_clamp(size / MCP_STORE_UPSTREAMS_PER,
                                          MCP_STORE_UPSTREAMS_MIN,
                                          MCP_STORE_UPSTREAMS);
    head->max_durations = MCP_STORE_DURATIONS_REST
                          + mcp_store_clamp(size / MCP_STORE_DURATIONS_PER,
                                            MCP_STORE_DURATIONS_MIN,
                                            MCP_STORE_DURATIONS_MAX);

    head->call_stats = mcp_store_align64(sizeof(mcp_store_head_t));
    head->active = mcp_store_align64(head->call_stats
        + head->max_call_stats * sizeof(mcp_store_call_stats_t));
    head->failures = mcp_store_align64(head->active
        + head->max_active * sizeof(mcp_store_active_t));
    head->upstreams = mcp_store_align64(head->failures
        + MCP_STORE_FAILURES * sizeof(mcp_call_stats_failure_t));
    head->durations = mcp_store_align64(head->upstreams
        + head->max_upstreams * sizeof(mcp_store_upstream_data_t));
    head->types = mcp_store_align64(head->durations
        + head->max_durations * sizeof(mcp_store_duration_t));
    head->stream_hash = mcp_store_align64(head->types + n + 1);
    head->entry_hash = head->stream_hash + (uint64_t) streams * 4;
    end = mcp_store_align64(head->entry_hash + (uint64_t) entries * 4);

    /* chunk 1 begins where the tables end; there is no chunk 0 */
    head->base = end - MCP_STORE_CHUNK;

    return end + size;
}


int
mcp_store_format(void *region, size_t size)
{
    uint32_t           n;
    uint64_t           id;
    mcp_store_head_t  *head, place;

    head = region;

    if (size < MCP_STORE_MIN_SIZE || size > MCP_STORE_SIZE_MAX
        || (uintptr_t) region % 8 != 0)
    {
        return MCP_ERR_CONFIG;
    }

    n = (uint32_t) ((size - sizeof(mcp_store_head_t)) / MCP_STORE_CHUNK);

    while (mcp_store_place(&place, n) > size) {
        n -= n / 256 + 1;
    }

    /* a process that calls mcp_store_check() before the region is complete
     * must not find a store */

    head->magic = 0;
    mcp_store_barrier();

    memset(head, 0, sizeof(mcp_store_head_t));
    (void) mcp_store_place(head, n);
    memset((char *) head + head->call_stats, 0,
           head->base + MCP_STORE_CHUNK - head->call_stats);
    mcp_store_call_stats_format(head);

    head->version = MCP_STORE_VERSION;
    head->layout = mcp_store_layout_id();
    head->size = size;
    head->reserve = mcp_store_clamp(n / 32, MCP_STORE_RESERVE_MIN,
                                    MCP_STORE_RESERVE_MAX);
    head->fresh = 1;
    atomic_store(&head->hint_room, mcp_store_room(head, 0));

    if (mcp_random(head->seed, sizeof(head->seed)) != MCP_OK
        || mcp_random(&id, sizeof(id)) != MCP_OK)
    {
        return MCP_ERR_INTERNAL;
    }

    atomic_store(&head->node.id, id ? id : 1);
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
    op->tenant = NULL;
    op->keep = NULL;
    op->dropped = NULL;
    op->now = 0;
    op->creates = 0;
    op->wakes = 0;

    rc = store->glue.lock(store->glue.mutex);

    if (rc != MCP_OK && rc != MCP_AGAIN) {
        return MCP_ERR_INTERNAL;
    }

    /* head->holder is still set if the last holder of the lock died, even if
     * the lock does not report its death and returns MCP_OK */

    if (rc == MCP_AGAIN || op->head->holder != 0) {
        op->head->holder = store->slot + 1;
        mcp_store_barrier();
        mcp_store_repair(op);
    }

    op->head->holder = store->slot + 1;
    mcp_store_barrier();

    return MCP_OK;
}


void
mcp_store_unblock(mcp_store_head_t *head, mcp_store_stream_t *st)
{
    mcp_store_list_remove(head, &head->blocked[st->need_all],
                          &st->link[MCP_LINK_BLOCKED_ON_SPACE]);
}


/*
 * Wakes the owners in one of the lists of streams blocked on space, in the
 * order of the list, as long as the free chunks suffice or a stream can be
 * evicted. "all" is 1 for owners of responses, for which the chunks of the
 * reserve are free too. room[] are the numbers of free chunks without and with
 * the reserve: when an owner is woken, the chunks that it needs no longer
 * count. Owners whose tenant has no quota left move to the end of the list, and
 * so do owners for which no other stream can make enough room: such an owner is
 * woken when events of its own stream were sent.
 */
static void
mcp_store_feed(mcp_store_op_t *op, int all, uint32_t room[2])
{
    int                  own_first;
    unsigned             n, k;
    uint32_t             held;
    mcp_store_list_t    *blocked;
    mcp_store_link_t    *link;
    mcp_store_stream_t  *st;

    blocked = &op->head->blocked[all];

    for (n = MCP_STORE_FEED; n && blocked->first != 0; n--) {
        st = mcp_store_container(op->head, blocked->first, mcp_store_stream_t,
                                 link[MCP_LINK_BLOCKED_ON_SPACE]);
        op->tenant = st->tenant;
        op->keep = st;
        held = st->events.chunks + st->inbox.chunks;
        own_first = held + st->need > mcp_store_room_alone(op->head, st, all);

        if (!own_first && st->need > room[all]
            && mcp_store_victim(op) == NULL)
        {
            return;
        }

        link = &st->link[MCP_LINK_BLOCKED_ON_SPACE];
        mcp_store_list_remove(op->head, blocked, link);

        if (own_first
            || !mcp_store_tenant_would_allow(op, st, st->need, all))
        {
            mcp_store_list_append(op->head, blocked, link);
            continue;
        }

        for (k = 0; k < 2; k++) {
            room[k] -= st->need < room[k] ? st->need : room[k];
        }

        mcp_store_mark_owner(op, st);
        mcp_store_mark_replication(op, st);
    }
}


/* Stores a number that other processes read without the lock. Does not write
 * to the shared cache line if the number is unchanged. */
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
    uint32_t           room[2];
    uint64_t           bits;
    mcp_store_head_t  *head;

    head = op->head;

    if (head->blocked[0].first != 0 || head->blocked[1].first != 0) {
        room[0] = mcp_store_room(head, 0);
        room[1] = mcp_store_room(head, 1);
        mcp_store_feed(op, 1, room);
        mcp_store_feed(op, 0, room);
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


/* --- time --- */

/* Frees the expired values in the chunk "index", or the stream in it if
 * mcp_store_stream_due() returns 1. Returns 1 and sets *info if it has freed a
 * stream with unsent events, otherwise 0. */
static int
mcp_store_sweep_chunk(mcp_store_op_t *op, uint32_t index, uint64_t now,
    mcp_stream_info_t *info, size_t *freed)
{
    int                  unsent, mirror;
    unsigned char        type;
    mcp_store_stream_t  *st;

    type = mcp_store_types(op->head)[index];
    st = mcp_store_stream(op->head, index);

    if (type == MCP_CHUNK_ENTRY) {
        *freed += mcp_store_values_expire(op, index, now);
    }

    if (type != MCP_CHUNK_STREAM || st->live != MCP_STREAM_LIVE
        || !mcp_store_stream_due(op, st, now))
    {
        return 0;
    }

    /* reports neither a task, whose last event clients poll instead of
     * receiving it, nor a mirror, because the owner's stream has the same
     * events */
    mirror = mcp_store_is_mirror(op->head, st);
    unsent = st->sent_seq < st->events.last && !mcp_store_is_task(st)
             && !mirror;

    if (unsent) {
        mcp_store_stream_info(op, st, info);
    }

    mcp_store_stream_free(op, st, 0);
    mcp_store_add(op->head, MCP_COUNT_STREAMS_EXPIRED, !mirror);
    (*freed)++;

    return unsent;
}


size_t
mcp_store_sweep(mcp_store_t *store, uint64_t now, unsigned budget,
    void (*report)(void *ctx, const mcp_stream_info_t *info), void *ctx)
{
    size_t             freed, i, n;
    uint32_t           rest;
    mcp_store_op_t     op;
    mcp_store_head_t  *head;
    mcp_stream_info_t  info[MCP_SWEEP_REPORTS];

    freed = 0;
    head = store->head;
    atomic_store_explicit(&head->seen, now, memory_order_relaxed);

    if (budget > head->chunks) {
        budget = head->chunks;
    }

    while (budget > 0 && mcp_store_enter(store, &op) == MCP_OK) {
        n = 0;

        while (budget > 0 && n < MCP_SWEEP_REPORTS) {
            head->hand++;

            if (head->hand >= head->fresh) {
                /* chunks from head->fresh on were never used: counts them as
                 * visited, and continues with the first chunk */
                rest = head->chunks + 1 - head->fresh;
                budget -= rest < budget ? rest : budget;
                head->hand = 0;
                continue;
            }

            budget--;
            n += (size_t) mcp_store_sweep_chunk(&op, head->hand, now, &info[n],
                                                &freed);
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
    return counter == MCP_COUNT_CALLS_ACTIVE ? MCP_GAUGE_CALLS
           : counter == MCP_COUNT_CONSUMERS_ACTIVE ? MCP_GAUGE_CONSUMERS : -1;
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

    /* if this process has already detached, its part of the gauge was removed
     * with its slot, and must not be added again */

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

    /* if several processes reach this condition at the same time, only one
     * changes refused_at, and only that process returns the number */

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
    stats->values = head->n_values
                    - atomic_load(&head->purpose[MCP_VALUE_LIST])
                    - atomic_load(&head->purpose[MCP_VALUE_CONFIGURATION]);
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
