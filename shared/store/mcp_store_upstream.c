/* SPDX-License-Identifier: Apache-2.0 */

/* The data of the zone about MCP servers: statistics, and which sessions are in
 * use. */


#include "config/mcp_endpoint_internal.h"
#include "store/mcp_store_layout.h"


/* --- statistics --- */

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


/* --- sessions in use --- */

/*
 * Records which sessions at MCP servers are in use, and chooses the session
 * that makes room for another one.
 *
 * The chunk of a session has a bit for each process that uses the session, and
 * a time until which all these bits are valid. A process sets its bit and this
 * time when a request begins to use the session, renews the time, and clears
 * its bit when its last request leaves the session. The bit of a process that
 * was killed has an effect until that time, or longer if other processes renew
 * it. Each is one number, so a process that dies leaves a valid chunk. A repair
 * does not change them.
 *
 * A bit stands for one slot, the last bit for all further slots. The last bit
 * is not cleared, so that a process does not end the use by another one.
 */


/* Maximum number of a tenant's oldest sessions that mcp_store_session_oldest()
 * examines. */
#define MCP_STORE_SESSION_SEARCH  64

/* Number of the bit of all slots that have no bit of their own. */
#define MCP_STORE_SESSION_LAST    63

/* Lets this process use the session in a chunk until the time "until". Does
 * nothing if "until" is 0. */
static void
mcp_store_session_use(mcp_store_op_t *op, uint32_t index, uint64_t until)
{
    uint32_t            slot;
    mcp_store_chunk_t  *chunk;

    if (until == 0) {
        return;
    }

    chunk = mcp_store_chunk(op->head, index);
    slot = op->store->slot;

    if (slot > MCP_STORE_SESSION_LAST) {
        slot = MCP_STORE_SESSION_LAST;
    }

    if (chunk->seq <= op->now) {
        chunk->total = 0;
    }

    chunk->total |= 1ull << slot;
    mcp_store_barrier();
    chunk->seq = until;
}


int
mcp_store_upstream_session_get(mcp_store_t *store,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t now, uint64_t expires,
    uint64_t until, char text[MCP_STORE_TEXT_MAX], size_t *len, int *extended)
{
    int                 rc;
    mcp_store_op_t      op;
    mcp_store_entry_t  *e;

    rc = mcp_store_value_enter(store, MCP_VALUE_UPSTREAM_SESSION, key, &op, &e);
    if (rc != MCP_OK) {
        return rc;
    }

    op.now = now;
    rc = mcp_store_text_read(&op, e, expires, text, len, extended);

    if (rc == MCP_OK) {
        mcp_store_session_use(&op, e->u.value.value, until);
    }

    mcp_store_leave(&op);

    return rc;
}


void
mcp_store_upstream_session_renew(mcp_store_t *store,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t now, uint64_t until)
{
    mcp_store_op_t      op;
    mcp_store_entry_t  *e;

    if (mcp_store_value_enter(store, MCP_VALUE_UPSTREAM_SESSION, key, &op, &e)
        == MCP_OK)
    {
        op.now = now;
        mcp_store_session_use(&op, e->u.value.value, until);
        mcp_store_text_used(&op, e);
        mcp_store_leave(&op);
    }
}


void
mcp_store_upstream_session_leave(mcp_store_t *store,
    const unsigned char key[MCP_DIGEST_LEN])
{
    mcp_store_op_t      op;
    mcp_store_entry_t  *e;

    if (mcp_store_value_enter(store, MCP_VALUE_UPSTREAM_SESSION, key, &op, &e)
        == MCP_OK)
    {
        if (store->slot < MCP_STORE_SESSION_LAST) {
            mcp_store_chunk(op.head, e->u.value.value)->total
                &= ~(1ull << store->slot);
        }

        mcp_store_text_used(&op, e);
        mcp_store_leave(&op);
    }
}


/* --- room for a session --- */

int
mcp_store_session_matches(mcp_store_head_t *head, const mcp_store_entry_t *e,
    const mcp_store_session_filter_t *filter)
{
    const mcp_store_chunk_t  *chunk;

    chunk = mcp_store_chunk(head, e->u.value.value);

    return (filter->row == NULL || chunk->count == *filter->row)
           && (chunk->total == 0 || chunk->seq <= filter->idle_at);
}


/* Searches the oldest MCP_STORE_SESSION_SEARCH sessions of a tenant's group for
 * sessions that *filter describes. Returns the oldest one, or NULL if there is
 * none. group may be NULL. */
static mcp_store_entry_t *
mcp_store_session_oldest(mcp_store_head_t *head, const mcp_store_entry_t *group,
    const mcp_store_session_filter_t *filter)
{
    unsigned            n;
    mcp_store_entry_t  *e, *oldest;

    e = oldest = mcp_store_tenant_oldest(head, group);

    for (n = 0; e && n < MCP_STORE_SESSION_SEARCH; n++) {
        if (mcp_store_session_matches(head, e, filter)) {
            return e;
        }

        e = mcp_store_container(head, e->u.value.ring.next, mcp_store_entry_t,
                                u.value.ring);

        if (e == oldest) {
            break;
        }
    }

    return NULL;
}


/* Searches the sessions of a tenant that has many for sessions that *filter
 * describes. The search for this tenant begins with the bucket of key. Returns
 * the oldest one that it finds, or NULL. */
static mcp_store_entry_t *
mcp_store_session_of_many(mcp_store_head_t *head, const unsigned char *key,
    const mcp_store_session_filter_t *filter)
{
    mcp_store_entry_t  *e, *oldest;

    e = mcp_store_entry_most_values(head, key, filter);

    if (e == NULL) {
        return NULL;
    }

    oldest = mcp_store_session_oldest(head,
                                      mcp_store_at(head, e->u.value.group),
                                      filter);

    return oldest ? oldest : e;
}


mcp_store_entry_t *
mcp_store_session_victim(mcp_store_op_t *op, const mcp_store_entry_t *group,
    const unsigned char *key, const mcp_store_upstream_row_t *row)
{
    mcp_store_entry_t           *e;
    mcp_store_session_filter_t   filter;

    filter.row = row;
    filter.idle_at = op->now;

    for ( ;; ) {
        e = mcp_store_session_oldest(op->head, group, &filter);

        if (e == NULL && key) {
            e = mcp_store_session_of_many(op->head, key, &filter);
        }

        if (e || filter.idle_at == UINT64_MAX) {
            return e;
        }

        filter.idle_at = UINT64_MAX;
    }
}


/* Removes a session at a server if the server has the maximum number of
 * sessions. Returns MCP_OK, or MCP_ERR_LIMIT if no session was found that may
 * be removed, or the server still has the maximum number. */
static int
mcp_store_session_admit(mcp_store_op_t *op, const mcp_store_session_t *session)
{
    mcp_store_entry_t          *e;
    mcp_store_upstream_data_t  *data;

    data = mcp_store_upstream_row(op->head, session->row);

    if (session->max == 0 || data == NULL
        || atomic_load(&data->sessions) < session->max)
    {
        return MCP_OK;
    }

    e = session->tenant ? mcp_store_entry_find(op->head, MCP_ENTRY_TENANT, 1,
                                               session->tenant->id, 0)
                        : NULL;

    e = mcp_store_session_victim(op, e, session->key, &session->row);

    if (e == NULL) {
        return MCP_ERR_LIMIT;
    }

    mcp_store_value_free(op, e);

    return atomic_load(&data->sessions) < session->max ? MCP_OK
                                                       : MCP_ERR_LIMIT;
}


int
mcp_store_upstream_session(mcp_store_t *store,
    const mcp_store_session_t *session, uint64_t now,
    mcp_store_dropped_t *dropped)
{
    int                      rc;
    uint32_t                 chunk;
    mcp_store_op_t           op;
    mcp_store_entry_t       *e;
    const mcp_store_value_t  v = {
        MCP_VALUE_UPSTREAM_SESSION, session->key, 0, session->text,
        session->expires, session->tenant, 1
    };

    dropped->row = session->row;
    dropped->len = 0;

    rc = mcp_store_enter(store, &op);
    if (rc != MCP_OK) {
        return rc;
    }

    op.now = now;
    op.dropped = dropped;

    e = mcp_store_value_find(op.head, v.purpose, v.key);

    if (e == NULL) {
        rc = mcp_store_session_admit(&op, session);
    }

    if (rc == MCP_OK) {
        rc = mcp_store_text_put(&op, &v);
    }

    if (rc == MCP_ERR_EXISTS
        && mcp_str_eq(mcp_store_text_of(op.head, e), v.text))
    {
        rc = MCP_OK;
    }

    if (rc == MCP_OK) {
        chunk = mcp_store_value_find(op.head, v.purpose, v.key)->u.value.value;

        /* the chunk may have contained this session or an expired one of the
         * same server, which is still counted */

        mcp_store_upstream_leave(op.head, chunk);
        mcp_store_chunk(op.head, chunk)->count = session->row;
        mcp_store_upstream_enter(op.head, chunk);
        mcp_store_session_use(&op, chunk, session->until);
    }

    mcp_store_leave(&op);

    return rc;
}
