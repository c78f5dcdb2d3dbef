/* SPDX-License-Identifier: Apache-2.0 */

/* Statistics of finished calls: rows of counters, and the latest failures. */


#include "base/mcp_utf8.h"
#include "store/mcp_store_layout.h"


/* Length of the end of a truncated text that distinguishes it from others: a
 * tilde and eight hexadecimal digits of the key. */
#define MCP_CALL_STATS_CUT  9


const uint64_t  mcp_call_stats_bounds[MCP_CALL_STATS_BUCKETS - 1] = {
    10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000, 120000,
    300000
};


/* Copies text for pages, metrics and logs: replaces control characters and
 * invalid UTF-8 by "?", and truncates it between characters. Returns 1 if it
 * was truncated. */
static int
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


/* Copies text like mcp_call_stats_text(). If it is truncated, appends digits
 * of "key", so that texts with different keys differ. */
static void
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
mcp_call_stats_principal(char out[MCP_CALL_STATS_PRINCIPAL], mcp_str_t text)
{
    (void) mcp_call_stats_text(out, MCP_CALL_STATS_PRINCIPAL, text);
}


void
mcp_call_stats_detail(char out[MCP_CALL_STATS_DETAIL], mcp_str_t text)
{
    (void) mcp_call_stats_text(out, MCP_CALL_STATS_DETAIL, text);
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


static int
mcp_call_stats_key(unsigned char key[MCP_DIGEST_LEN],
    const mcp_call_stats_item_t *item)
{
    char       kind;
    mcp_str_t  parts[4];

    kind = (char) ('0' + item->kind);

    parts[0] = mcp_str("call statistics");
    parts[1] = (mcp_str_t) { (const char *) item->catalog_key, MCP_DIGEST_LEN };
    parts[2] = (mcp_str_t) { &kind, 1 };
    parts[3] = item->name;

    return mcp_digest(key, parts, 4);
}


/* Initializes a row, which becomes valid with the last statement. */
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
mcp_store_call_stats_row(mcp_store_t *store, const mcp_call_stats_item_t *item,
    uint32_t *row)
{
    int                rc;
    uint32_t           i, n;
    unsigned char      key[MCP_DIGEST_LEN];
    mcp_store_op_t     op;
    mcp_store_call_stats_t  *rows;

    *row = MCP_CALL_STATS_OTHER;

    if (mcp_call_stats_key(key, item) != MCP_OK
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

    if (i == n && n == op.head->max_call_stats) {
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


void
mcp_store_call_stats_count(mcp_store_t *store, uint32_t row,
    mcp_outcome_e outcome, uint64_t ms)
{
    unsigned                 i;
    mcp_store_call_stats_t  *stats;

    for (i = 0; i < MCP_CALL_STATS_BUCKETS - 1 && ms > mcp_call_stats_bounds[i];
         i++)
    {
        /* void */
    }

    stats = &mcp_store_call_stats_all(store->head)[row];

    mcp_store_call_stats_add(store->head, row, outcome);
    atomic_fetch_add_explicit(&stats->buckets[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&stats->sum, ms, memory_order_relaxed);
}


void
mcp_store_call_stats_note(mcp_store_head_t *head,
    const mcp_call_stats_failure_t *failure)
{
    uint32_t                 n;
    mcp_store_call_stats_t  *row;
    mcp_store_failure_t     *at;

    n = atomic_load(&head->n_failures);
    at = &mcp_store_failures(head)[n % MCP_STORE_FAILURES];

    at->at = failure->at;
    at->row = failure->row;
    at->result = (uint16_t) failure->result;
    at->reason = (uint16_t) failure->reason;
    memcpy(at->id, failure->id, MCP_STREAM_ID_LEN);
    memcpy(at->principal, failure->principal, MCP_CALL_STATS_PRINCIPAL);
    memcpy(at->detail, failure->detail, MCP_CALL_STATS_DETAIL);

    mcp_store_barrier();
    atomic_store(&head->n_failures, n + 1);

    if (failure->result == MCP_CALL_STATS_REFUSED) {
        return;
    }

    row = &mcp_store_call_stats_all(head)[failure->row];
    atomic_store(&row->failed, failure->result << 16 | failure->reason);
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
    size_t                      i, all;
    uint32_t                    last;
    mcp_store_op_t              op;
    const mcp_store_failure_t  *at;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return 0;
    }

    /* entries that were never written, because fewer failures have occurred
     * than there are entries, have the time 0 */

    last = atomic_load(&op.head->n_failures);
    all = n < MCP_CALL_STATS_RECENT ? n : MCP_CALL_STATS_RECENT;

    for (i = 0; i < all; i++) {
        at = &mcp_store_failures(op.head)[(last - 1 - (uint32_t) i)
                                          % MCP_STORE_FAILURES];
        if (at->at == 0) {
            break;
        }

        out[i].at = at->at;
        out[i].row = at->row;
        out[i].result = at->result;
        out[i].reason = at->reason;
        memcpy(out[i].id, at->id, MCP_STREAM_ID_LEN);
        memcpy(out[i].principal, at->principal, MCP_CALL_STATS_PRINCIPAL);
        memcpy(out[i].detail, at->detail, MCP_CALL_STATS_DETAIL);
    }

    mcp_store_leave(&op);

    return i;
}
