/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Requests that backends work on.  Each has a record, which its process takes
 * and gives back without the lock.
 *
 * Of a record's owner the upper half counts how often it was taken, so that
 * who reads it can tell a record from a later one in its place.  The lower half
 * is 0 while it is free, else twice the slot + 1; the lowest bit is set once
 * the words are.
 */


#include "rpc/mcp_reason.h"
#include "store/mcp_store_layout.h"


_Static_assert(sizeof(mcp_store_live_data_t) % sizeof(uint64_t) == 0, "words");


/* Records that are looked at for a free one. */
#define MCP_LIVE_PROBES  64

#define mcp_live_slot(owner)  ((uint32_t) ((owner) >> 1 & 0x7fffffff))


static int
mcp_live_take(mcp_store_t *store, mcp_store_live_t *record)
{
    uint64_t  old, owner;

    old = atomic_load_explicit(&record->owner, memory_order_relaxed);

    if ((uint32_t) old != 0) {
        return 0;
    }

    owner = ((old >> 32) + 1) << 32 | (uint64_t) (store->slot + 1) << 1;

    return atomic_compare_exchange_strong(&record->owner, &old, owner);
}


/* Takes a free record; NULL: there is none nearby. */
static mcp_store_live_t *
mcp_live_find(mcp_store_t *store)
{
    uint32_t           n;
    mcp_store_live_t  *record;

    for (n = 0; n < MCP_LIVE_PROBES; n++) {
        store->live %= store->head->max_lives;
        record = &mcp_store_lives(store->head)[store->live++];

        if (mcp_live_take(store, record)) {
            return record;
        }
    }

    return NULL;
}


uint32_t
mcp_store_live_begin(mcp_store_t *store, const mcp_live_t *live)
{
    size_t                  k;
    uint64_t                words[MCP_LIVE_WORDS];
    mcp_store_live_t       *record;
    mcp_store_live_data_t   data;

    /* a process that has detached took its records with it */

    if (store->head->slots[store->slot].pid != store->pid) {
        return 0;
    }

    record = mcp_live_find(store);

    if (record == NULL) {
        return 0;
    }

    data.row = live->row;
    data.request = live->request;
    data.began = live->began;
    memcpy(data.id, live->id, MCP_STREAM_ID_LEN);
    memcpy(data.principal, live->principal, MCP_TALLY_PRINCIPAL);
    memcpy(words, &data, sizeof(words));

    for (k = 0; k < MCP_LIVE_WORDS; k++) {
        atomic_store_explicit(&record->word[k], words[k],
                              memory_order_relaxed);
    }

    atomic_fetch_or_explicit(&record->owner, 1, memory_order_release);

    return store->live;
}


void
mcp_store_live_end(mcp_store_t *store, uint32_t handle)
{
    uint64_t           owner;
    mcp_store_live_t  *record;

    if (handle == 0) {
        return;
    }

    record = &mcp_store_lives(store->head)[handle - 1];
    owner = atomic_load_explicit(&record->owner, memory_order_relaxed);

    /* after this process was declared dead it may be another's */

    if (mcp_live_slot(owner) == store->slot + 1) {
        atomic_compare_exchange_strong(&record->owner, &owner,
                                       owner >> 32 << 32);
    }

    store->live = handle - 1;
}


/* Copies a record; 0: nothing is there, or it was in change. */
static int
mcp_live_read(mcp_store_live_t *record, mcp_live_t *out)
{
    size_t                  k;
    uint64_t                owner, words[MCP_LIVE_WORDS];
    mcp_store_live_data_t   data;

    owner = atomic_load_explicit(&record->owner, memory_order_acquire);

    if (!(owner & 1)) {
        return 0;
    }

    for (k = 0; k < MCP_LIVE_WORDS; k++) {
        words[k] = atomic_load_explicit(&record->word[k],
                                        memory_order_acquire);
    }

    if (atomic_load_explicit(&record->owner, memory_order_relaxed) != owner) {
        return 0;
    }

    memcpy(&data, words, sizeof(data));

    out->row = data.row;
    out->request = data.request;
    out->began = data.began;
    out->slot = mcp_live_slot(owner) - 1;
    memcpy(out->id, data.id, MCP_STREAM_ID_LEN);
    memcpy(out->principal, data.principal, MCP_TALLY_PRINCIPAL);

    return 1;
}


void
mcp_store_live_count(mcp_store_t *store, uint64_t *counts, size_t n)
{
    uint32_t    i;
    mcp_live_t  live;

    for (i = 0; i < store->head->max_lives; i++) {
        if (mcp_live_read(&mcp_store_lives(store->head)[i], &live)
            && live.row < n)
        {
            counts[live.row]++;
        }
    }
}


/* Adds what the store knows of a request. */
static void
mcp_live_look(mcp_store_op_t *op, mcp_live_t *live)
{
    mcp_store_stream_t  *st;

    live->pid = op->head->slots[live->slot].pid;
    live->reader = 0;
    live->elsewhere = 0;
    live->events = 0;
    live->state = -1;

    st = mcp_store_stream_find(op, live->id);

    if (st == NULL) {
        return;
    }

    live->state = (int) st->state;
    live->events = st->events.last;

    /* another node's reader is no process of this one */

    live->elsewhere = st->consumer_slot == MCP_STORE_REMOTE;

    if (st->consumer_slot < MCP_STORE_SLOTS) {
        live->reader = op->head->slots[st->consumer_slot].pid;
    }
}


size_t
mcp_store_live_page(mcp_store_t *store, uint32_t *position,
    mcp_live_t out[MCP_TALLY_PAGE])
{
    size_t          k, n;
    uint32_t        i, max;
    mcp_store_op_t  op;

    n = 0;
    max = store->head->max_lives;

    for (i = *position; i < max && n < MCP_TALLY_PAGE; i++) {
        n += (size_t) mcp_live_read(&mcp_store_lives(store->head)[i],
                                    &out[n]);
    }

    *position = i < max ? i : 0;

    if (n == 0) {
        return 0;
    }

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return 0;
    }

    for (k = 0; k < n; k++) {
        mcp_live_look(&op, &out[k]);
    }

    mcp_store_leave(&op);

    return n;
}


void
mcp_store_live_retire(mcp_store_head_t *head, unsigned slot)
{
    uint32_t              i;
    uint64_t              owner;
    mcp_live_t            live;
    mcp_store_live_t     *record;
    mcp_tally_failure_t   failure;

    for (i = 0; i < head->max_lives; i++) {
        record = &mcp_store_lives(head)[i];
        owner = atomic_load(&record->owner);

        if (mcp_live_slot(owner) != slot + 1) {
            continue;
        }

        if (mcp_live_read(record, &live)) {
            failure.at = atomic_load(&head->seen);
            failure.row = live.row;
            failure.result = MCP_ENDING_LOST;
            failure.reason = MCP_REASON_LOST;
            memcpy(failure.id, live.id, MCP_STREAM_ID_LEN);
            memcpy(failure.principal, live.principal, MCP_TALLY_PRINCIPAL);

            mcp_store_tally_add(head, live.row, MCP_ENDING_LOST);
            mcp_store_tally_note(head, &failure);
        }

        atomic_store(&record->owner, owner >> 32 << 32);
    }
}
