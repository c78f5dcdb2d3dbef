/* SPDX-License-Identifier: Apache-2.0 */

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


#include "store/mcp_store_layout.h"


/* Maximum number of a tenant's oldest sessions that mcp_store_session_oldest()
 * examines. */
#define MCP_STORE_SESSION_SEARCH  64

/* Number of the bit of all slots that have no bit of their own. */
#define MCP_STORE_SESSION_LAST    63


/* --- sessions in use --- */

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

    if (mcp_store_value_find(op.head, v.purpose, v.key) == NULL) {
        rc = mcp_store_session_admit(&op, session);
    }

    if (rc == MCP_OK) {
        rc = mcp_store_text_put(&op, &v);
    }

    if (rc == MCP_OK) {
        chunk = mcp_store_value_find(op.head, v.purpose, v.key)->u.value.value;

        /* the chunk may have contained an expired session of the same server,
         * which is still counted */

        mcp_store_upstream_leave(op.head, chunk);
        mcp_store_chunk(op.head, chunk)->count = session->row;
        mcp_store_upstream_enter(op.head, chunk);
        mcp_store_session_use(&op, chunk, session->until);
    }

    mcp_store_leave(&op);

    return rc;
}
