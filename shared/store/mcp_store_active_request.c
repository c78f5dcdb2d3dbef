/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Active requests: requests on which backends work. Each has a record, which
 * the process that runs the backend request takes and frees without the lock.
 * The upper half of the record's "owner" counts how often the record was
 * taken, so that a reader notices if the record was taken again while it was
 * being read. The lower half is 0 while the record is free, otherwise twice
 * the slot + 1; its lowest bit is set when the data are complete.
 */


#include "rpc/mcp_reason.h"
#include "store/mcp_store_layout.h"


_Static_assert(sizeof(mcp_store_active_data_t) % sizeof(uint64_t) == 0,
    "words");


/* Number of records among which mcp_active_find() searches for a free one. */
#define MCP_ACTIVE_PROBES  64

#define mcp_active_slot(owner)  ((uint32_t) ((owner) >> 1 & 0x7fffffff))


static int
mcp_active_take(mcp_store_t *store, mcp_store_active_t *record)
{
    uint64_t  old, owner;

    old = atomic_load_explicit(&record->owner, memory_order_relaxed);

    if ((uint32_t) old != 0) {
        return 0;
    }

    owner = ((old >> 32) + 1) << 32 | (uint64_t) (store->slot + 1) << 1;

    return atomic_compare_exchange_strong(&record->owner, &old, owner);
}


/* Takes a free record. Returns NULL if there is none among the next
 * MCP_ACTIVE_PROBES records. */
static mcp_store_active_t *
mcp_active_find(mcp_store_t *store)
{
    uint32_t             n;
    mcp_store_active_t  *record;

    for (n = 0; n < MCP_ACTIVE_PROBES; n++) {
        store->active %= store->head->max_active;
        record = &mcp_store_active_records(store->head)[store->active++];

        if (mcp_active_take(store, record)) {
            return record;
        }
    }

    return NULL;
}


uint32_t
mcp_store_active_begin(mcp_store_t *store, const mcp_active_t *active)
{
    size_t                   k;
    uint64_t                 words[MCP_ACTIVE_WORDS];
    mcp_store_active_t      *record;
    mcp_store_active_data_t  data;

    /* a process that has detached has freed its records, and must not take new
     * ones */

    if (store->head->slots[store->slot].pid != store->pid) {
        return 0;
    }

    record = mcp_active_find(store);

    if (record == NULL) {
        return 0;
    }

    data.row = active->row;
    data.request = active->request;
    data.began = active->began;
    memcpy(data.id, active->id, MCP_STREAM_ID_LEN);
    memcpy(data.principal, active->principal, MCP_CALL_STATS_PRINCIPAL);
    memcpy(words, &data, sizeof(words));

    for (k = 0; k < MCP_ACTIVE_WORDS; k++) {
        atomic_store_explicit(&record->word[k], words[k],
                              memory_order_relaxed);
    }

    atomic_fetch_or_explicit(&record->owner, 1, memory_order_release);

    return store->active;
}


void
mcp_store_active_end(mcp_store_t *store, uint32_t handle)
{
    uint64_t             owner;
    mcp_store_active_t  *record;

    if (handle == 0) {
        return;
    }

    record = &mcp_store_active_records(store->head)[handle - 1];
    owner = atomic_load_explicit(&record->owner, memory_order_relaxed);

    /* after this process was declared dead, another process may have taken the
     * record */

    if (mcp_active_slot(owner) == store->slot + 1) {
        atomic_compare_exchange_strong(&record->owner, &owner,
                                       owner >> 32 << 32);
    }

    store->active = handle - 1;
}


/* Copies a record to *out. Returns 0 if the record is free, incomplete, or was
 * changed meanwhile. */
static int
mcp_active_read(mcp_store_active_t *record, mcp_active_t *out)
{
    size_t                   k;
    uint64_t                 owner, words[MCP_ACTIVE_WORDS];
    mcp_store_active_data_t  data;

    owner = atomic_load_explicit(&record->owner, memory_order_acquire);

    if (!(owner & 1)) {
        return 0;
    }

    for (k = 0; k < MCP_ACTIVE_WORDS; k++) {
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
    out->slot = mcp_active_slot(owner) - 1;
    memcpy(out->id, data.id, MCP_STREAM_ID_LEN);
    memcpy(out->principal, data.principal, MCP_CALL_STATS_PRINCIPAL);

    return 1;
}


void
mcp_store_active_count(mcp_store_t *store, uint64_t *counts, size_t n)
{
    uint32_t      i;
    mcp_active_t  active;

    for (i = 0; i < store->head->max_active; i++) {
        if (mcp_active_read(&mcp_store_active_records(store->head)[i], &active)
            && active.row < n)
        {
            counts[active.row]++;
        }
    }
}


/* Adds the pid of the request's process and the data of the call's stream. */
static void
mcp_active_check(mcp_store_op_t *op, mcp_active_t *active)
{
    mcp_store_stream_t  *st;

    active->pid = op->head->slots[active->slot].pid;
    active->reader = 0;
    active->elsewhere = 0;
    active->events = 0;
    active->state = -1;

    st = mcp_store_stream_find(op, active->id);

    if (st == NULL) {
        return;
    }

    active->state = (int) st->state;
    active->events = st->events.last;

    /* a consumer at another node has no process in this zone */

    active->elsewhere = st->consumer_slot == MCP_STORE_REMOTE_CONSUMER;

    if (st->consumer_slot < MCP_STORE_SLOTS) {
        active->reader = op->head->slots[st->consumer_slot].pid;
    }
}


size_t
mcp_store_active_page(mcp_store_t *store, uint32_t *position,
    mcp_active_t out[MCP_CALL_STATS_PAGE])
{
    size_t          k, n;
    uint32_t        i, max;
    mcp_store_op_t  op;

    n = 0;
    max = store->head->max_active;

    for (i = *position; i < max && n < MCP_CALL_STATS_PAGE; i++) {
        n += (size_t) mcp_active_read(&mcp_store_active_records(store->head)[i],
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
        mcp_active_check(&op, &out[k]);
    }

    mcp_store_leave(&op);

    return n;
}


void
mcp_store_active_retire(mcp_store_head_t *head, unsigned slot)
{
    uint32_t                  i;
    uint64_t                  owner;
    mcp_active_t              active;
    mcp_store_active_t       *record;
    mcp_call_stats_failure_t  failure;

    memset(&failure, 0, sizeof(failure));

    for (i = 0; i < head->max_active; i++) {
        record = &mcp_store_active_records(head)[i];
        owner = atomic_load(&record->owner);

        if (mcp_active_slot(owner) != slot + 1) {
            continue;
        }

        if (mcp_active_read(record, &active)) {
            failure.at = atomic_load(&head->seen);
            failure.row = active.row;
            failure.result = MCP_OUTCOME_LOST;
            failure.reason = MCP_REASON_LOST;
            memcpy(failure.id, active.id, MCP_STREAM_ID_LEN);
            memcpy(failure.principal, active.principal,
                MCP_CALL_STATS_PRINCIPAL);

            mcp_store_call_stats_add(head, active.row, MCP_OUTCOME_LOST);
            mcp_store_call_stats_note(head, &failure);
        }

        atomic_store(&record->owner, owner >> 32 << 32);
    }
}
