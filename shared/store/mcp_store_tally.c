/* SPDX-License-Identifier: Apache-2.0 */

/* What became of calls: rows of counters, and the failures of late. */


#include "base/mcp_utf8.h"
#include "store/mcp_store_layout.h"


/* Ends a text that was cut: a tilde, and hexadecimal digits of the key. */
#define MCP_TALLY_CUT  9


const uint64_t  mcp_tally_bounds[MCP_TALLY_BUCKETS - 1] = {
    10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000, 120000,
    300000
};


/* Copies text as what pages, metrics and logs can show: no control characters,
 * nothing that is not UTF-8, no character in parts.  Returns 1 if it was
 * cut. */
static int
mcp_tally_text(char *out, size_t size, mcp_str_t text)
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


/* The same, so that other keys have other texts. */
static void
mcp_tally_label(char *out, size_t size, mcp_str_t text,
    const unsigned char *key)
{
    char        *p;
    unsigned     i;
    const char  *hex = "0123456789abcdef";

    if (!mcp_tally_text(out, size, text)) {
        return;
    }

    (void) mcp_tally_text(out, size - MCP_TALLY_CUT, text);

    p = out + strlen(out);
    *p++ = '~';

    for (i = 0; i < 4; i++) {
        *p++ = hex[key[i] >> 4];
        *p++ = hex[key[i] & 15];
    }
}


void
mcp_tally_principal(char out[MCP_TALLY_PRINCIPAL], mcp_str_t text)
{
    (void) mcp_tally_text(out, MCP_TALLY_PRINCIPAL, text);
}


void
mcp_tally_detail(char out[MCP_TALLY_DETAIL], mcp_str_t text)
{
    (void) mcp_tally_text(out, MCP_TALLY_DETAIL, text);
}


void
mcp_store_tally_format(mcp_store_head_t *head)
{
    mcp_store_tally_t  *row;

    row = &mcp_store_tallies(head)[MCP_TALLY_OTHER];

    memcpy(row->endpoint, "(other)", 8);
    memcpy(row->name, "(other)", 8);
    row->kind = MCP_TALLY_KIND_OTHER;

    atomic_store(&head->n_tallies, 1);
}


static int
mcp_tally_key(unsigned char key[MCP_DIGEST_LEN], const mcp_tally_item_t *item)
{
    char       kind;
    mcp_str_t  parts[4];

    kind = (char) ('0' + item->kind);

    parts[0] = mcp_str("tally");
    parts[1] = (mcp_str_t) { (const char *) item->place, MCP_DIGEST_LEN };
    parts[2] = (mcp_str_t) { &kind, 1 };
    parts[3] = item->name;

    return mcp_digest(key, parts, 4);
}


/* Makes a row, which counts with the last line. */
static void
mcp_tally_make(mcp_store_head_t *head, uint32_t n, const unsigned char *key,
    const mcp_tally_item_t *item)
{
    mcp_store_tally_t  *row;

    row = &mcp_store_tallies(head)[n];
    memset(row, 0, sizeof(mcp_store_tally_t));

    memcpy(row->key, key, MCP_DIGEST_LEN);
    mcp_tally_label(row->endpoint, MCP_TALLY_ENDPOINT, item->endpoint,
                    item->place);
    mcp_tally_label(row->name, MCP_TALLY_NAME,
                    item->kind == MCP_TALLY_KIND_OTHER ? mcp_str("(other)")
                                                       : item->name, key);
    row->kind = (uint8_t) item->kind;

    mcp_store_barrier();
    atomic_store(&head->n_tallies, n + 1);
}


int
mcp_store_tally_row(mcp_store_t *store, const mcp_tally_item_t *item,
    uint32_t *row)
{
    int                rc;
    uint32_t           i, n;
    unsigned char      key[MCP_DIGEST_LEN];
    mcp_store_op_t     op;
    mcp_store_tally_t  *rows;

    *row = MCP_TALLY_OTHER;

    if (mcp_tally_key(key, item) != MCP_OK
        || mcp_store_enter(store, &op) != MCP_OK)
    {
        return MCP_ERR_INTERNAL;
    }

    rc = MCP_OK;
    rows = mcp_store_tallies(op.head);
    n = atomic_load(&op.head->n_tallies);

    for (i = 1; i < n; i++) {
        if (memcmp(rows[i].key, key, MCP_DIGEST_LEN) == 0) {
            break;
        }
    }

    if (i == n && n == op.head->max_tallies) {
        rc = MCP_ERR_FULL;

    } else {
        if (i == n) {
            mcp_tally_make(op.head, n, key, item);
        }

        *row = i;
    }

    mcp_store_leave(&op);

    return rc;
}


void
mcp_store_tally_count(mcp_store_t *store, uint32_t row, mcp_ending_e ending,
    uint64_t ms)
{
    unsigned            i;
    mcp_store_tally_t  *tally;

    for (i = 0; i < MCP_TALLY_BUCKETS - 1 && ms > mcp_tally_bounds[i]; i++) {
        /* void */
    }

    tally = &mcp_store_tallies(store->head)[row];

    mcp_store_tally_add(store->head, row, ending);
    atomic_fetch_add_explicit(&tally->buckets[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&tally->sum, ms, memory_order_relaxed);
}


void
mcp_store_tally_note(mcp_store_head_t *head,
    const mcp_tally_failure_t *failure)
{
    uint32_t              n;
    mcp_store_tally_t    *row;
    mcp_store_failure_t  *at;

    n = atomic_load(&head->n_failures);
    at = &mcp_store_failures(head)[n % MCP_STORE_FAILURES];

    at->at = failure->at;
    at->row = failure->row;
    at->result = (uint16_t) failure->result;
    at->reason = (uint16_t) failure->reason;
    memcpy(at->id, failure->id, MCP_STREAM_ID_LEN);
    memcpy(at->principal, failure->principal, MCP_TALLY_PRINCIPAL);
    memcpy(at->detail, failure->detail, MCP_TALLY_DETAIL);

    mcp_store_barrier();
    atomic_store(&head->n_failures, n + 1);

    if (failure->result == MCP_TALLY_REFUSED) {
        return;
    }

    row = &mcp_store_tallies(head)[failure->row];
    atomic_store(&row->failed, failure->result << 16 | failure->reason);
    atomic_store(&row->failed_at, failure->at);
}


void
mcp_store_tally_failed(mcp_store_t *store, const mcp_tally_failure_t *failure)
{
    mcp_store_op_t  op;

    if (mcp_store_enter(store, &op) == MCP_OK) {
        mcp_store_tally_note(op.head, failure);
        mcp_store_leave(&op);
    }
}


uint32_t
mcp_store_tally_rows(mcp_store_t *store)
{
    return atomic_load(&store->head->n_tallies);
}


void
mcp_store_tally_get(mcp_store_t *store, uint32_t row, mcp_tally_t *out)
{
    unsigned            i;
    uint32_t            failed;
    mcp_store_tally_t  *tally;

    tally = &mcp_store_tallies(store->head)[row];

    memcpy(out->endpoint, tally->endpoint, MCP_TALLY_ENDPOINT);
    memcpy(out->name, tally->name, MCP_TALLY_NAME);
    out->kind = (mcp_tally_kind_e) tally->kind;

    for (i = 0; i < MCP_ENDING_COUNT; i++) {
        out->results[i] = atomic_load(&tally->results[i]);
    }

    for (i = 0; i < MCP_TALLY_BUCKETS; i++) {
        out->buckets[i] = atomic_load(&tally->buckets[i]);
    }

    out->sum = atomic_load(&tally->sum);
    out->failed_at = atomic_load(&tally->failed_at);

    failed = atomic_load(&tally->failed);
    out->failed = failed >> 16;
    out->reason = failed & 0xffff;
}


size_t
mcp_store_tally_recent(mcp_store_t *store, mcp_tally_failure_t *out, size_t n)
{
    size_t                      i, all;
    uint32_t                    last;
    mcp_store_op_t              op;
    const mcp_store_failure_t  *at;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return 0;
    }

    /* those behind the last one have the time 0 as long as there are fewer */

    last = atomic_load(&op.head->n_failures);
    all = n < MCP_TALLY_RECENT ? n : MCP_TALLY_RECENT;

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
        memcpy(out[i].principal, at->principal, MCP_TALLY_PRINCIPAL);
        memcpy(out[i].detail, at->detail, MCP_TALLY_DETAIL);
    }

    mcp_store_leave(&op);

    return i;
}
