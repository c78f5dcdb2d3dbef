/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Counts the durations of requests and notifications in a table of histograms.
 * The table begins with two histograms for messages that find no place in the
 * rest of the table: one for successful messages, and one for errors. The rest
 * is a hash table with open addressing: a process takes a place by storing the
 * attributes as one word, which is never removed.
 */


#include "store/mcp_store_layout.h"


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
