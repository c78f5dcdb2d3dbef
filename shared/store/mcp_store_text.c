/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Values with text. The entry has the index of a chunk in place of a number.
 * The chunk contains the text, and its field "used" determines the length.
 *
 * An expired text is replaced in place, because a replacement then needs no
 * room. The index is 0 meanwhile: if the process dies, the repair frees the
 * value.
 */


#include "store/mcp_store_layout.h"


_Static_assert(MCP_STORE_TEXT_MAX == MCP_CHUNK_ROOM, "a text fills a chunk");


void
mcp_store_text_fill(mcp_store_head_t *head, uint32_t index, mcp_str_t text)
{
    mcp_store_pos_t  pos;

    pos = (mcp_store_pos_t) { index, MCP_CHUNK_HEAD };
    mcp_store_chunk(head, index)->used = MCP_CHUNK_HEAD;
    mcp_store_copy_in(head, &pos, text.data, text.len);
}


static mcp_str_t
mcp_store_text_of(mcp_store_head_t *head, const mcp_store_entry_t *e)
{
    mcp_store_chunk_t  *chunk;

    chunk = mcp_store_chunk(head, e->u.value.value);

    return (mcp_str_t) { chunk->data, chunk->used - (size_t) MCP_CHUNK_HEAD };
}


static void
mcp_store_text_replace(mcp_store_head_t *head, mcp_store_entry_t *e,
    mcp_str_t text, uint64_t expires)
{
    uint32_t  index;

    index = e->u.value.value;
    e->u.value.value = 0;
    mcp_store_barrier();

    mcp_store_text_fill(head, index, text);
    e->u.value.expires = expires;

    mcp_store_barrier();
    e->u.value.value = index;
}


/*
 * Makes a text expire at "expires" if that is later than its time of expiry. A
 * single write of 64 bits changes that time: a process that dies leaves the
 * older time or the new one. No other data depend on it, because a sweep reads
 * the time from the entry.
 */
static void
mcp_store_text_extend(mcp_store_entry_t *e, uint64_t expires)
{
    if (e->u.value.expires != 0 && expires > e->u.value.expires) {
        e->u.value.expires = expires;
    }
}


/* Makes a text the newest one of its tenant, so that the texts that were not
 * used for the longest time are replaced first. */
static void
mcp_store_text_used(mcp_store_op_t *op, mcp_store_entry_t *e)
{
    if (mcp_store_linked(&e->u.value.ring)) {
        mcp_store_tenant_pull(op, e);
        mcp_store_tenant_push(op, e);
    }
}


/* Adds a value with text, unless there is one that has not expired. Called with
 * the lock. Returns the values of mcp_store_text_add(). */
static int
mcp_store_text_put(mcp_store_op_t *op, const mcp_store_value_t *v,
    uint64_t now)
{
    mcp_store_entry_t  *e;

    if (v->text.len > MCP_STORE_TEXT_MAX) {
        return MCP_ERR_LIMIT;
    }

    e = mcp_store_value_find(op->head, v->purpose, v->key);

    if (e == NULL) {
        return mcp_store_value_new(op, v);
    }

    if (!mcp_store_value_expired(e, now)) {
        return MCP_ERR_EXISTS;
    }

    mcp_store_text_replace(op->head, e, v->text, v->expires);
    mcp_store_text_used(op, e);

    return MCP_OK;
}


int
mcp_store_text_add(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], mcp_str_t text, uint64_t now,
    uint64_t expires, const mcp_tenant_t *tenant)
{
    int                      rc;
    mcp_store_op_t           op;
    const mcp_store_value_t  v = {
        purpose, key, 0, text, expires, tenant, 1
    };

    rc = mcp_store_enter(store, &op);

    if (rc == MCP_OK) {
        rc = mcp_store_text_put(&op, &v, now);
        mcp_store_leave(&op);
    }

    return rc;
}


int
mcp_store_upstream_session(mcp_store_t *store, mcp_store_upstream_row_t row,
    const unsigned char key[MCP_DIGEST_LEN], mcp_str_t text, uint64_t now,
    uint64_t expires, const mcp_tenant_t *tenant)
{
    int                      rc;
    uint32_t                 chunk;
    mcp_store_op_t           op;
    const mcp_store_value_t  v = {
        MCP_VALUE_UPSTREAM_SESSION, key, 0, text, expires, tenant, 1
    };

    rc = mcp_store_enter(store, &op);
    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_store_text_put(&op, &v, now);

    if (rc == MCP_OK) {
        chunk = mcp_store_value_find(op.head, v.purpose, key)->u.value.value;

        /* an expired session of the same server may have been replaced */

        mcp_store_upstream_leave(op.head, chunk);
        mcp_store_chunk(op.head, chunk)->count = row;
        mcp_store_upstream_enter(op.head, chunk);
    }

    mcp_store_leave(&op);

    return rc;
}


int
mcp_store_text_get(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t now, uint64_t expires,
    char text[MCP_STORE_TEXT_MAX], size_t *len)
{
    int                 rc;
    mcp_store_op_t      op;
    mcp_store_pos_t     pos;
    mcp_store_entry_t  *e;

    if (atomic_load(&store->head->purpose[(unsigned char) purpose]) == 0) {
        return MCP_ERR_NOT_FOUND;
    }

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    e = mcp_store_value_find(op.head, purpose, key);

    if (e != NULL && !mcp_store_value_expired(e, now)) {
        pos = (mcp_store_pos_t) { e->u.value.value, MCP_CHUNK_HEAD };
        *len = mcp_store_copy_out(op.head, &pos, text, MCP_STORE_TEXT_MAX);
        mcp_store_text_extend(e, expires);
        mcp_store_text_used(&op, e);
        rc = MCP_OK;

    } else {
        rc = MCP_ERR_NOT_FOUND;
    }

    mcp_store_leave(&op);

    return rc;
}


int
mcp_store_text_delete(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], mcp_str_t text)
{
    int                 rc;
    mcp_store_op_t      op;
    mcp_store_entry_t  *e;

    if (atomic_load(&store->head->purpose[(unsigned char) purpose]) == 0) {
        return MCP_ERR_NOT_FOUND;
    }

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    e = mcp_store_value_find(op.head, purpose, key);

    if (e != NULL && mcp_str_eq(mcp_store_text_of(op.head, e), text)) {
        mcp_store_value_free(&op, e);
        rc = MCP_OK;

    } else {
        rc = MCP_ERR_NOT_FOUND;
    }

    mcp_store_leave(&op);

    return rc;
}
