/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Statistics of MCP servers. Rows are taken and texts are written under the
 * lock. Numbers are written without the lock. A process of an older
 * configuration may still refer to a row that was taken for another server
 * since. Its reference shows this, because it contains how often the row had
 * been taken.
 *
 * The number of a server's sessions is derived from the chunks with the
 * sessions, which have the number of the row. A repair counts them again.
 */


#include "config/mcp_endpoint_internal.h"
#include "store/mcp_store_layout.h"


/* An mcp_store_upstream_row_t consists of the index of the row + 1, in the
 * lowest MCP_STORE_UPSTREAM_BITS bits, and the number of times that the row was
 * taken. */
#define MCP_STORE_UPSTREAM_BITS  6

#define mcp_store_upstream_number(i, taken)                                   \
    (((uint32_t) (i) + 1) | ((uint32_t) (taken) << MCP_STORE_UPSTREAM_BITS))

_Static_assert(MCP_STORE_UPSTREAMS < 1 << MCP_STORE_UPSTREAM_BITS, "numbers");


mcp_store_upstream_data_t *
mcp_store_upstream_row(mcp_store_head_t *head, mcp_store_upstream_row_t row)
{
    uint32_t                    i;
    mcp_store_upstream_data_t  *data;

    i = row & ((1 << MCP_STORE_UPSTREAM_BITS) - 1);

    if (i == 0 || i > head->max_upstreams) {
        return NULL;
    }

    data = &mcp_store_upstreams(head)[i - 1];

    return mcp_store_upstream_number(i - 1, atomic_load(&data->taken)) == row
           ? data : NULL;
}


/* --- rows --- */

void
mcp_store_upstream_begin(mcp_store_t *store, uint32_t number)
{
    atomic_store(&store->head->configuration, number);
}


/* Returns the index of the row with this key, or of a row that may be taken for
 * the key. Returns head->max_upstreams if there is neither. */
static uint32_t
mcp_store_upstream_find(mcp_store_head_t *head, const unsigned char *key)
{
    uint32_t                    i, unused;
    mcp_store_upstream_data_t  *row;

    unused = head->n_upstreams;

    for (i = 0; i < head->n_upstreams; i++) {
        row = &mcp_store_upstreams(head)[i];

        if (row->complete && memcmp(row->key, key, MCP_DIGEST_LEN) == 0) {
            return i;
        }

        if (unused == head->max_upstreams
            && (!row->complete
                || (row->configuration != atomic_load(&head->configuration)
                    && atomic_load(&row->sessions) == 0)))
        {
            unused = i;
        }
    }

    return unused;
}


/* Initializes row i for a server that has no row yet. */
static void
mcp_store_upstream_take(mcp_store_head_t *head, uint32_t i,
    const unsigned char *key, const mcp_store_upstream_item_t *item)
{
    uint32_t                    taken;
    mcp_store_upstream_data_t  *row;

    row = &mcp_store_upstreams(head)[i];
    row->complete = 0;
    mcp_store_barrier();

    taken = atomic_load(&row->taken) + 1;
    memset(row, 0, sizeof(mcp_store_upstream_data_t));
    atomic_store(&row->taken, taken);

    memcpy(row->key, key, MCP_DIGEST_LEN);
    mcp_call_stats_label(row->endpoint, sizeof(row->endpoint), item->endpoint,
                         key);
    mcp_call_stats_label(row->name, sizeof(row->name), item->name, key);

    mcp_store_barrier();
    row->complete = 1;

    if (i == head->n_upstreams) {
        head->n_upstreams++;
    }
}


int
mcp_store_upstream_offer(mcp_store_t *store,
    const mcp_store_upstream_item_t *item, mcp_store_upstream_row_t *row)
{
    uint32_t                    i;
    unsigned char               key[MCP_DIGEST_LEN];
    mcp_store_op_t              op;
    mcp_store_upstream_data_t  *data;
    const mcp_str_t             parts[4] = {
        mcp_str("MCP server"),
        { (const char *) item->catalog_key, MCP_DIGEST_LEN },
        item->identity,
        item->name
    };

    *row = MCP_STORE_UPSTREAM_NONE;

    if (mcp_digest(key, parts, 4) != MCP_OK
        || mcp_store_enter(store, &op) != MCP_OK)
    {
        return MCP_ERR_INTERNAL;
    }

    i = mcp_store_upstream_find(op.head, key);

    if (i == op.head->max_upstreams) {
        mcp_store_leave(&op);
        return MCP_ERR_FULL;
    }

    data = &mcp_store_upstreams(op.head)[i];

    if (!data->complete || memcmp(data->key, key, MCP_DIGEST_LEN) != 0) {
        mcp_store_upstream_take(op.head, i, key, item);
    }

    /* if the configured form is "auto", the row keeps the form that earlier
     * requests to the server have shown */

    if (item->form != atomic_load(&data->form)
        && (item->form != MCP_UPSTREAM_AUTO || atomic_load(&data->form) == 0))
    {
        atomic_store(&data->form, item->form);
        atomic_store(&data->revision, item->revision);
    }

    data->configuration = atomic_load(&op.head->configuration);
    *row = mcp_store_upstream_number(i, atomic_load(&data->taken));

    mcp_store_leave(&op);

    return MCP_OK;
}


/* --- numbers --- */

/* Stores a number of a row; "offset" is its offset in
 * mcp_store_upstream_data_t. Writes only if the number changes. */
static void
mcp_store_upstream_put(mcp_store_t *store, mcp_store_upstream_row_t row,
    size_t offset, uint32_t value)
{
    _Atomic uint32_t           *number;
    mcp_store_upstream_data_t  *data;

    data = mcp_store_upstream_row(store->head, row);

    if (data) {
        number = (_Atomic uint32_t *) ((char *) data + offset);

        if (atomic_load_explicit(number, memory_order_relaxed) != value) {
            atomic_store_explicit(number, value, memory_order_relaxed);
        }
    }
}


void
mcp_store_upstream_up(mcp_store_t *store, mcp_store_upstream_row_t row,
    mcp_upstream_up_e up)
{
    mcp_store_upstream_put(store, row,
                           offsetof(mcp_store_upstream_data_t, up), up);
}


void
mcp_store_upstream_form(mcp_store_t *store, mcp_store_upstream_row_t row,
    unsigned form)
{
    mcp_store_upstream_put(store, row,
                           offsetof(mcp_store_upstream_data_t, form), form);
}


void
mcp_store_upstream_revision(mcp_store_t *store, mcp_store_upstream_row_t row,
    mcp_revision_e revision)
{
    mcp_store_upstream_put(store, row,
                           offsetof(mcp_store_upstream_data_t, revision),
                           revision);
}


void
mcp_store_upstream_initialized(mcp_store_t *store,
    mcp_store_upstream_row_t row, int ok)
{
    mcp_store_upstream_data_t  *data;

    data = mcp_store_upstream_row(store->head, row);

    if (data) {
        atomic_fetch_add_explicit(ok ? &data->opened : &data->refused, 1,
                                  memory_order_relaxed);
    }
}


/* --- texts --- */

void
mcp_store_upstream_describe(mcp_store_t *store, mcp_store_upstream_row_t row,
    mcp_str_t server, mcp_str_t version)
{
    mcp_store_op_t              op;
    mcp_store_upstream_data_t  *data;

    if (mcp_store_upstream_row(store->head, row) == NULL
        || mcp_store_enter(store, &op) != MCP_OK)
    {
        return;
    }

    data = mcp_store_upstream_row(op.head, row);

    if (data) {
        (void) mcp_call_stats_text(data->server, sizeof(data->server), server);
        (void) mcp_call_stats_text(data->version, sizeof(data->version),
                                   version);
    }

    mcp_store_leave(&op);
}


void
mcp_store_upstream_failed(mcp_store_t *store, mcp_store_upstream_row_t row,
    mcp_reason_e reason, mcp_str_t detail, uint64_t now)
{
    mcp_store_op_t              op;
    mcp_store_upstream_data_t  *data;

    if (mcp_store_upstream_row(store->head, row) == NULL
        || mcp_store_enter(store, &op) != MCP_OK)
    {
        return;
    }

    data = mcp_store_upstream_row(op.head, row);

    if (data) {
        data->failed_at = now;
        data->reason = reason;
        (void) mcp_call_stats_text(data->detail, sizeof(data->detail), detail);
    }

    mcp_store_leave(&op);
}


/* Copies the values of a row to *out. */
static void
mcp_store_upstream_get(const mcp_store_upstream_data_t *row,
    mcp_store_upstream_t *out)
{
    memcpy(out->endpoint, row->endpoint, sizeof(out->endpoint));
    memcpy(out->name, row->name, sizeof(out->name));
    memcpy(out->server, row->server, sizeof(out->server));
    memcpy(out->version, row->version, sizeof(out->version));
    memcpy(out->detail, row->detail, sizeof(out->detail));

    out->form = atomic_load(&row->form);
    out->revision = (mcp_revision_e) atomic_load(&row->revision);
    out->up = (mcp_upstream_up_e) atomic_load(&row->up);
    out->opened = atomic_load(&row->opened);
    out->refused = atomic_load(&row->refused);
    out->sessions = atomic_load(&row->sessions);
    out->failed_at = row->failed_at;
    out->reason = row->reason;
}


size_t
mcp_store_upstream_all(mcp_store_t *store,
    mcp_store_upstream_t out[MCP_STORE_UPSTREAMS])
{
    size_t                      n;
    uint32_t                    i;
    mcp_store_op_t              op;
    mcp_store_upstream_data_t  *row;

    n = 0;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return 0;
    }

    for (i = 0; i < op.head->n_upstreams; i++) {
        row = &mcp_store_upstreams(op.head)[i];

        if (row->complete
            && row->configuration == atomic_load(&op.head->configuration))
        {
            mcp_store_upstream_get(row, &out[n++]);
        }
    }

    mcp_store_leave(&op);

    return n;
}


/* --- sessions --- */

/* Returns the row that counts the session in a chunk, or NULL. */
static mcp_store_upstream_data_t *
mcp_store_upstream_of(mcp_store_head_t *head, uint32_t chunk)
{
    return chunk ? mcp_store_upstream_row(head,
                                          mcp_store_chunk(head, chunk)->count)
                 : NULL;
}


void
mcp_store_upstream_leave(mcp_store_head_t *head, uint32_t chunk)
{
    mcp_store_upstream_data_t  *row;

    row = mcp_store_upstream_of(head, chunk);

    if (row) {
        atomic_fetch_sub(&row->sessions, 1);
    }
}


void
mcp_store_upstream_drop(mcp_store_op_t *op, uint32_t chunk,
    const unsigned char key[MCP_DIGEST_LEN])
{
    mcp_store_pos_t       pos;
    mcp_store_dropped_t  *dropped;

    dropped = op->dropped;

    if (dropped == NULL || dropped->len || chunk == 0
        || dropped->row == MCP_STORE_UPSTREAM_NONE
        || mcp_store_chunk(op->head, chunk)->count != dropped->row)
    {
        return;
    }

    pos = (mcp_store_pos_t) { chunk, MCP_CHUNK_HEAD };
    dropped->len = mcp_store_copy_out(op->head, &pos, dropped->text,
                                      MCP_STORE_TEXT_MAX);
    memcpy(dropped->key, key, MCP_DIGEST_LEN);
}


void
mcp_store_upstream_enter(mcp_store_head_t *head, uint32_t chunk)
{
    mcp_store_upstream_data_t  *row;

    row = mcp_store_upstream_of(head, chunk);

    if (row) {
        atomic_fetch_add(&row->sessions, 1);
    }
}


void
mcp_store_upstream_reset(mcp_store_head_t *head)
{
    uint32_t  i;

    for (i = 0; i < head->max_upstreams; i++) {
        atomic_store(&mcp_store_upstreams(head)[i].sessions, 0);
    }
}
