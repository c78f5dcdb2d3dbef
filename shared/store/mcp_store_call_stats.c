/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Contains the names and counters of outcomes, the statistics of finished calls
 * (rows of counters, and the latest failures), and the active requests, on
 * which backends work. Each active request has a record, which the process that
 * runs the backend request takes and frees without the lock. The upper half of
 * the record's "owner" counts how often the record was taken, so that a reader
 * notices if the record was taken again while it was being read. The lower half
 * is 0 while the record is free. Otherwise it is 2 * (slot + 1), plus 1 when
 * the data of the record are complete.
 */


#include "base/mcp_str.h"
#include "rpc/mcp_fault.h"
#include "store/mcp_store_layout.h"


/* --- outcomes --- */

#define MCP_OUTCOME_NO_COUNTER  MCP_COUNT_MAX


static const struct {
    mcp_str_t      name;
    mcp_counter_e  counter;
} mcp_outcomes[MCP_OUTCOME_COUNT] = {
    [MCP_OUTCOME_NONE] = { mcp_str(""), MCP_OUTCOME_NO_COUNTER },
    [MCP_OUTCOME_OK] = { mcp_str("ok"), MCP_OUTCOME_NO_COUNTER },
    [MCP_OUTCOME_TOOL_ERROR] = { mcp_str("tool_error"),
                                MCP_COUNT_CALLS_TOOL_ERRORS },
    [MCP_OUTCOME_RPC_ERROR] = { mcp_str("rpc_error"), MCP_COUNT_CALLS_FAILED },
    [MCP_OUTCOME_FAULT] = { mcp_str("fault"), MCP_COUNT_CALLS_FAILED },
    [MCP_OUTCOME_LOST] = { mcp_str("lost"), MCP_COUNT_CALLS_LOST },
    [MCP_OUTCOME_CANCELLED] = { mcp_str("cancelled"),
                               MCP_COUNT_CALLS_CANCELLED },
    [MCP_OUTCOME_EXPIRED] = { mcp_str("expired"), MCP_COUNT_CALLS_EXPIRED }
};


mcp_str_t
mcp_outcome_name(mcp_outcome_e outcome)
{
    return mcp_outcomes[outcome].name;
}


void
mcp_outcome_count(mcp_store_t *store, mcp_outcome_e outcome)
{
    mcp_counter_e  counter;

    counter = mcp_outcomes[outcome].counter;

    if (counter != MCP_OUTCOME_NO_COUNTER) {
        mcp_store_count(store, counter, 1);
    }
}


mcp_outcome_e
mcp_outcome_of(const mcp_stream_info_t *info)
{
    if (info->kind != MCP_STREAM_CALL || info->state < MCP_STATE_COMPLETED) {
        return MCP_OUTCOME_NONE;
    }

    if (info->state == MCP_STATE_CANCELLED) {
        return MCP_OUTCOME_CANCELLED;
    }

    return info->result <= MCP_OUTCOME_LOST ? (mcp_outcome_e) info->result
                                           : MCP_OUTCOME_NONE;
}


/* --- statistics --- */

/* Length of the suffix by which texts still differ after they were truncated: a
 * tilde and eight hexadecimal digits of the key. */
#define MCP_CALL_STATS_CUT  9


const uint64_t  mcp_call_stats_bounds[MCP_CALL_STATS_BUCKETS - 1] = {
    10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000, 120000,
    300000
};


int
mcp_call_stats_text(char *out, size_t size, mcp_str_t text)
{
    int     valid;
    size_t  i, len;

    len = text.len < size ? text.len : size - 1;
    valid = mcp_utf8_valid(text);

    while (valid && len < text.len && len > 0
           && ((unsigned char) text.data[len] & 0xc0) == 0x80)
    {
        len--;
    }

    for (i = 0; i < len; i++) {
        out[i] = text.data[i];

        if ((unsigned char) out[i] < 0x20 || out[i] == 0x7f
            || (!valid && (unsigned char) out[i] >= 0x80))
        {
            out[i] = '?';
        }
    }

    memset(out + len, 0, size - len);

    return len < text.len;
}


void
mcp_call_stats_label(char *out, size_t size, mcp_str_t text,
    const unsigned char *key)
{
    char        *p;
    unsigned     i;
    const char  *hex = "0123456789abcdef";

    if (!mcp_call_stats_text(out, size, text)) {
        return;
    }

    (void) mcp_call_stats_text(out, size - MCP_CALL_STATS_CUT, text);

    p = out + strlen(out);
    *p++ = '~';

    for (i = 0; i < 4; i++) {
        *p++ = hex[key[i] >> 4];
        *p++ = hex[key[i] & 15];
    }
}


void
mcp_store_call_stats_format(mcp_store_head_t *head)
{
    mcp_store_call_stats_t  *row;

    row = &mcp_store_call_stats_all(head)[MCP_CALL_STATS_OTHER];

    memcpy(row->endpoint, "(other)", 8);
    memcpy(row->name, "(other)", 8);
    row->kind = MCP_CALL_STATS_KIND_OTHER;

    atomic_store(&head->n_call_stats, 1);
}


/* Initializes row n, and makes it valid by setting n_call_stats to n + 1. */
static void
mcp_call_stats_make(mcp_store_head_t *head, uint32_t n,
    const unsigned char *key, const mcp_call_stats_item_t *item)
{
    mcp_store_call_stats_t  *row;

    row = &mcp_store_call_stats_all(head)[n];
    memset(row, 0, sizeof(mcp_store_call_stats_t));

    memcpy(row->key, key, MCP_DIGEST_LEN);
    mcp_call_stats_label(row->endpoint, MCP_CALL_STATS_ENDPOINT, item->endpoint,
                         item->catalog_key);
    mcp_call_stats_label(row->name, MCP_CALL_STATS_NAME,
                         item->kind == MCP_CALL_STATS_KIND_OTHER
                             ? mcp_str("(other)")
                             : item->name,
                         key);
    row->kind = (uint8_t) item->kind;

    mcp_store_barrier();
    atomic_store(&head->n_call_stats, n + 1);
}


int
mcp_store_call_stats_same(mcp_store_t *store, uint32_t row, uint32_t other)
{
    const mcp_store_call_stats_t  *rows;

    rows = mcp_store_call_stats_all(store->head);

    return memcmp(rows[row].endpoint, rows[other].endpoint,
                  MCP_CALL_STATS_ENDPOINT)
           == 0;
}


int
mcp_store_call_stats_is_tool(mcp_store_t *store, uint32_t row, mcp_str_t name)
{
    const mcp_store_call_stats_t  *stats;

    stats = &mcp_store_call_stats_all(store->head)[row];

    return stats->kind == MCP_CALL_STATS_KIND_TOOL
           && name.len < MCP_CALL_STATS_NAME && name.len > 0
           && memcmp(stats->name, name.data, name.len) == 0
           && stats->name[name.len] == '\0';
}


/* Returns 1 if an item that is not configured may get a new row, according to
 * the limits in mcp_store_call_stats_row(). n is the number of rows that are
 * taken. */
static int
mcp_call_stats_may_list(mcp_store_head_t *head, uint32_t n,
    const mcp_call_stats_item_t *item)
{
    char                           text[MCP_CALL_STATS_ENDPOINT];
    uint32_t                       i, listed;
    const mcp_store_call_stats_t  *rows;

    if (n >= head->max_call_stats / 2) {
        return 0;
    }

    rows = mcp_store_call_stats_all(head);
    mcp_call_stats_label(text, sizeof(text), item->endpoint, item->catalog_key);

    for (listed = 0, i = 1; i < n; i++) {
        listed += rows[i].kind == item->kind
                  && memcmp(rows[i].endpoint, text, sizeof(text)) == 0;
    }

    return listed < MCP_CALL_STATS_LISTED;
}


int
mcp_store_call_stats_row(mcp_store_t *store, const mcp_call_stats_item_t *item,
    int listed, uint32_t *row)
{
    int                      rc;
    uint32_t                 i, n;
    unsigned char            key[MCP_DIGEST_LEN];
    mcp_store_op_t           op;
    mcp_store_call_stats_t  *rows;
    const char               kind = (char) ('0' + item->kind);
    const mcp_str_t          parts[4] = {
        mcp_str("call statistics"),
        { (const char *) item->catalog_key, MCP_DIGEST_LEN },
        { &kind, 1 },
        item->name
    };

    *row = MCP_CALL_STATS_OTHER;

    if (mcp_digest(key, parts, 4) != MCP_OK
        || mcp_store_enter(store, &op) != MCP_OK)
    {
        return MCP_ERR_INTERNAL;
    }

    rc = MCP_OK;
    rows = mcp_store_call_stats_all(op.head);
    n = atomic_load(&op.head->n_call_stats);

    for (i = 1; i < n; i++) {
        if (memcmp(rows[i].key, key, MCP_DIGEST_LEN) == 0) {
            break;
        }
    }

    if (i == n
        && (n == op.head->max_call_stats
            || (listed && !mcp_call_stats_may_list(op.head, n, item))))
    {
        rc = MCP_ERR_FULL;

    } else {
        if (i == n) {
            mcp_call_stats_make(op.head, n, key, item);
        }

        *row = i;
    }

    mcp_store_leave(&op);

    return rc;
}


static void
mcp_store_call_stats_add(mcp_store_head_t *head, uint32_t row,
    mcp_outcome_e outcome)
{
    atomic_fetch_add_explicit(&mcp_store_call_stats_all(head)[row]
                                   .results[outcome],
                              1, memory_order_relaxed);
}


void
mcp_store_call_stats_count(mcp_store_t *store, uint32_t row,
    mcp_outcome_e outcome, uint64_t ms)
{
    mcp_store_call_stats_t  *stats;

    stats = &mcp_store_call_stats_all(store->head)[row];

    mcp_store_call_stats_add(store->head, row, outcome);
    atomic_fetch_add_explicit(&stats->buckets[mcp_call_stats_bucket(ms)], 1,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&stats->sum, ms, memory_order_relaxed);
}


/* Adds a failure to the latest failures, in place of the oldest one. Also
 * stores the failure in the row of its item, unless it has rejected a request
 * before the request became a call. Called with the lock held. */
static void
mcp_store_call_stats_note(mcp_store_head_t *head,
    const mcp_call_stats_failure_t *failure)
{
    uint32_t                 n;
    mcp_store_call_stats_t  *row;

    n = atomic_load(&head->n_failures);
    mcp_store_failures(head)[n % MCP_STORE_FAILURES] = *failure;
    mcp_store_barrier();
    atomic_store(&head->n_failures, n + 1);

    if (failure->result == MCP_CALL_STATS_REFUSED) {
        return;
    }

    row = &mcp_store_call_stats_all(head)[failure->row];
    atomic_store(&row->failed,
                 (uint32_t) failure->result << 16 | failure->reason);
    atomic_store(&row->failed_at, failure->at);
}


void
mcp_store_call_stats_failed(mcp_store_t *store,
    const mcp_call_stats_failure_t *failure)
{
    mcp_store_op_t  op;

    if (mcp_store_enter(store, &op) == MCP_OK) {
        mcp_store_call_stats_note(op.head, failure);
        mcp_store_leave(&op);
    }
}


uint32_t
mcp_store_call_stats_rows(mcp_store_t *store)
{
    return atomic_load(&store->head->n_call_stats);
}


void
mcp_store_call_stats_get(mcp_store_t *store, uint32_t row,
    mcp_call_stats_t *out)
{
    unsigned                 i;
    uint32_t                 failed;
    mcp_store_call_stats_t  *stats;

    stats = &mcp_store_call_stats_all(store->head)[row];

    memcpy(out->endpoint, stats->endpoint, MCP_CALL_STATS_ENDPOINT);
    memcpy(out->name, stats->name, MCP_CALL_STATS_NAME);
    out->kind = (mcp_call_stats_kind_e) stats->kind;

    for (i = 0; i < MCP_OUTCOME_COUNT; i++) {
        out->results[i] = atomic_load(&stats->results[i]);
    }

    for (i = 0; i < MCP_CALL_STATS_BUCKETS; i++) {
        out->buckets[i] = atomic_load(&stats->buckets[i]);
    }

    out->sum = atomic_load(&stats->sum);
    out->failed_at = atomic_load(&stats->failed_at);

    failed = atomic_load(&stats->failed);
    out->failed = failed >> 16;
    out->reason = failed & 0xffff;
}


size_t
mcp_store_call_stats_recent(mcp_store_t *store, mcp_call_stats_failure_t *out,
    size_t n)
{
    size_t                           i, all;
    uint32_t                         last;
    mcp_store_op_t                   op;
    const mcp_call_stats_failure_t  *failure;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return 0;
    }

    /* entries that were never written, because fewer failures have occurred
     * than there are entries, have the time 0 */

    last = atomic_load(&op.head->n_failures);
    all = n < MCP_CALL_STATS_RECENT ? n : MCP_CALL_STATS_RECENT;

    for (i = 0; i < all; i++) {
        failure = &mcp_store_failures(op.head)[(last - 1 - (uint32_t) i)
                                               % MCP_STORE_FAILURES];
        if (failure->at == 0) {
            break;
        }

        out[i] = *failure;
    }

    mcp_store_leave(&op);

    return i;
}


/* --- active requests --- */

_Static_assert(offsetof(mcp_active_t, slot) % sizeof(uint64_t) == 0, "words");


/* Number of records among which mcp_active_find() searches for a free one. */
#define MCP_ACTIVE_PROBES  64

#define mcp_active_slot(owner)  ((uint32_t) ((owner) >> 1 & 0x7fffffff))


/* Takes a free record. Returns NULL if none of the MCP_ACTIVE_PROBES records
 * from store->active on is free. */
static mcp_store_active_t *
mcp_active_find(mcp_store_t *store)
{
    uint32_t             n;
    uint64_t             old, owner;
    mcp_store_active_t  *record;

    for (n = 0; n < MCP_ACTIVE_PROBES; n++) {
        store->active %= store->head->max_active;
        record = &mcp_store_active_records(store->head)[store->active++];
        old = atomic_load_explicit(&record->owner, memory_order_relaxed);
        owner = ((old >> 32) + 1) << 32 | (uint64_t) (store->slot + 1) << 1;

        if ((uint32_t) old == 0
            && atomic_compare_exchange_strong(&record->owner, &old, owner))
        {
            return record;
        }
    }

    return NULL;
}


uint32_t
mcp_store_active_begin(mcp_store_t *store, const mcp_active_t *active)
{
    size_t               k;
    uint64_t             words[MCP_ACTIVE_WORDS];
    mcp_store_active_t  *record;

    /* a process that has detached has freed its records, and must not take new
     * ones */

    if (store->head->slots[store->slot].pid != store->pid) {
        return 0;
    }

    record = mcp_active_find(store);

    if (record == NULL) {
        return 0;
    }

    memcpy(words, active, sizeof(words));

    for (k = 0; k < MCP_ACTIVE_WORDS; k++) {
        atomic_store_explicit(&record->word[k], words[k], memory_order_relaxed);
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

    /* frees the record only if this process still has it: after this process
     * was declared dead, another process may have taken it */

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
    size_t    k;
    uint64_t  owner, words[MCP_ACTIVE_WORDS];

    owner = atomic_load_explicit(&record->owner, memory_order_acquire);

    if (!(owner & 1)) {
        return 0;
    }

    for (k = 0; k < MCP_ACTIVE_WORDS; k++) {
        words[k] = atomic_load_explicit(&record->word[k], memory_order_acquire);
    }

    if (atomic_load_explicit(&record->owner, memory_order_relaxed) != owner) {
        return 0;
    }

    memcpy(out, words, sizeof(words));
    out->slot = mcp_active_slot(owner) - 1;

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


/* Sets the fields of *active that no record contains: the pid of the request's
 * process, and the data of the call's stream. */
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

    /* consumer_slot is MCP_STORE_REMOTE_CONSUMER, which is not the number of a
     * slot, if the consumer is at another node */

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

    if (n == 0 || mcp_store_enter(store, &op) != MCP_OK) {
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


/* --- durations --- */

/*
 * Counts the durations of requests and notifications in a table of histograms.
 * The table begins with two histograms for messages that find no place in the
 * rest of the table: one for successful messages, and one for errors. The rest
 * is a hash table with open addressing: a process takes a place by storing the
 * attributes as one word, which is never removed.
 */


/* Maximum number of places at which mcp_duration_find() searches for a
 * histogram. */
#define MCP_DURATION_PROBES  32

/* The attributes of a histogram as one word. The word is never 0, because 0
 * means that a place is free. */
#define MCP_DURATION_TAKEN            ((uint64_t) 1 << 63)
#define mcp_duration_word(key)                                                \
    (MCP_DURATION_TAKEN | (uint64_t) (key)->row << 32                         \
     | (uint64_t) (key)->method << 16 | (uint64_t) (key)->revision << 8       \
     | (uint64_t) (key)->error)

_Static_assert(MCP_METHOD_COUNT <= 256 && MCP_REVISION_LIMIT <= 256
                   && MCP_ERROR_TYPE_COUNT <= 256,
               "attributes of a duration");


/* Returns 1 if *key has the attributes for which one of the first two
 * histograms of the table is reserved. These two do not store their attributes
 * in "word". */
static int
mcp_duration_is_rest(const mcp_duration_key_t *key)
{
    return key->row == MCP_CALL_STATS_OTHER && key->method == MCP_METHOD_UNKNOWN
           && key->revision == MCP_REVISION_NONE
           && key->error <= MCP_ERROR_TYPE_OTHER;
}


/* Returns the histogram with the attributes *key. If there is none, takes a
 * free place for it. If no place is free, returns one of the first two
 * histograms of the table. */
static mcp_store_duration_t *
mcp_duration_find(mcp_store_head_t *head, const mcp_duration_key_t *key)
{
    uint32_t               i, n, probes;
    uint64_t               word, old;
    mcp_store_duration_t  *table, *rest;

    table = mcp_store_durations_all(head);
    rest = &table[key->error != MCP_ERROR_TYPE_NONE];

    if (mcp_duration_is_rest(key)) {
        return rest;
    }

    table += MCP_STORE_DURATIONS_REST;

    n = head->max_durations - MCP_STORE_DURATIONS_REST;
    word = mcp_duration_word(key);

    /* scales the 32 hash bits to a number below n */

    i = (uint32_t) (((word * 0x9e3779b97f4a7c15u) >> 32) * n >> 32);

    for (probes = 0; probes < MCP_DURATION_PROBES && probes < n; probes++) {
        old = atomic_load_explicit(&table[i].word, memory_order_relaxed);

        /* if another process has taken the free place just now, the exchange
         * fails and sets "old" to the attributes of the new histogram */

        if (old == word
            || (old == 0
                && (atomic_compare_exchange_strong(&table[i].word, &old, word)
                    || old == word)))
        {
            return &table[i];
        }

        i = i + 1 == n ? 0 : i + 1;
    }

    return rest;
}


void
mcp_store_duration_count(mcp_store_t *store, const mcp_duration_key_t *key,
    uint64_t received, uint64_t ended)
{
    uint64_t               ms;
    mcp_store_duration_t  *duration;

    ms = ended > received ? ended - received : 0;
    duration = mcp_duration_find(store->head, key);

    atomic_fetch_add_explicit(&duration->buckets[mcp_call_stats_bucket(ms)], 1,
                              memory_order_relaxed);

    if (ms) {
        atomic_fetch_add_explicit(&duration->sum, ms, memory_order_relaxed);
    }
}


uint32_t
mcp_store_durations(mcp_store_t *store)
{
    return store->head->max_durations;
}


int
mcp_store_duration_get(mcp_store_t *store, uint32_t place, mcp_duration_t *out)
{
    int                    counted;
    unsigned               i;
    uint64_t               word;
    mcp_store_duration_t  *duration;

    duration = &mcp_store_durations_all(store->head)[place];

    if (place < MCP_STORE_DURATIONS_REST) {
        out->key.row = MCP_CALL_STATS_OTHER;
        out->key.method = MCP_METHOD_UNKNOWN;
        out->key.revision = MCP_REVISION_NONE;
        out->key.error = place ? MCP_ERROR_TYPE_OTHER : MCP_ERROR_TYPE_NONE;

    } else {
        word = atomic_load_explicit(&duration->word, memory_order_relaxed);
        out->key.row = (uint32_t) (word >> 32) & 0x7fffffff;
        out->key.method = (mcp_method_e) (word >> 16 & 0xff);
        out->key.revision = (mcp_revision_e) (word >> 8 & 0xff);
        out->key.error = (mcp_error_type_e) (word & 0xff);
    }

    counted = 0;

    for (i = 0; i < MCP_CALL_STATS_BUCKETS; i++) {
        out->buckets[i] = atomic_load_explicit(&duration->buckets[i],
                                               memory_order_relaxed);
        counted |= out->buckets[i] != 0;
    }

    out->sum = atomic_load_explicit(&duration->sum, memory_order_relaxed);

    return counted;
}
