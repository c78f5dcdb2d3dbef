/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Stores small values with a time to live, which are found by purpose and key.
 *
 * The entry of a value with text has the index of a chunk in place of a number.
 * The chunk contains the text, and its field "used" determines the length. An
 * expired text is replaced in place, because a replacement then needs no room.
 * The index is 0 meanwhile: if the process dies, the repair frees the value.
 */


#include "store/mcp_store_layout.h"


/* Maximum number of values that are freed to make room for a new value, which
 * needs an entry for itself and entries for its tenant's groups. */
#define MCP_STORE_YIELDS  8


_Static_assert(MCP_STORE_TEXT_MAX == MCP_CHUNK_ROOM, "a text fills a chunk");


/* The tenant of texts that belong to no tenant: they have no quota, but can be
 * replaced. */
static const mcp_tenant_t  mcp_store_value_nobody = {
    .streams = MCP_QUOTA_OFF,
    .listeners = MCP_QUOTA_OFF,
    .values = MCP_QUOTA_OFF,
    .bytes = MCP_QUOTA_OFF
};


void
mcp_store_value_free(mcp_store_op_t *op, mcp_store_entry_t *e)
{
    uint32_t  group, chunk;

    atomic_fetch_sub(&op->head->purpose[e->purpose], 1);
    op->head->n_values--;
    group = e->u.value.group;
    chunk = mcp_store_value_has_text(e->purpose) ? e->u.value.value : 0;

    if (e->purpose == MCP_VALUE_UPSTREAM_SESSION) {
        mcp_store_upstream_drop(op, chunk, e->key);
    }

    mcp_store_upstream_leave(op->head, chunk);

    mcp_store_tenant_pull(op, e);
    mcp_store_entry_free(op, e);

    /* the value is freed first, so that no value refers to a free chunk */

    mcp_store_barrier();
    mcp_store_chain_free(op, chunk, chunk, 1);

    mcp_store_tenant_value_leave(op, group);
}


/* Returns the oldest pushed value without text of the tenant that
 * mcp_store_entry_most_values() finds, or NULL. */
static mcp_store_entry_t *
mcp_store_value_of_many(mcp_store_head_t *head, const unsigned char *key)
{
    mcp_store_entry_t  *e;

    e = mcp_store_entry_most_values(head, key, NULL);

    return e ? mcp_store_tenant_oldest(head,
                                       mcp_store_at(head, e->u.value.group))
             : NULL;
}


/* Frees a pushed value of a tenant that has many: a value with text if "text"
 * is 1, otherwise one without. Returns 1, or 0 if no value was found. */
static int
mcp_store_value_yield(mcp_store_op_t *op, const unsigned char *key,
    unsigned text)
{
    mcp_store_entry_t  *e;

    if (mcp_store_values(op->head, text) == 0) {
        return 0;
    }

    e = text ? mcp_store_session_victim(op, NULL, key, NULL)
             : mcp_store_value_of_many(op->head, key);

    if (e == NULL) {
        return 0;
    }

    mcp_store_value_free(op, e);

    return 1;
}


/*
 * Checks whether the limits allow one more value. If they do not, but the value
 * is a pushed one and has a tenant, frees an older pushed value to make room.
 * This is the oldest one of the same tenant. If the tenant has none and the
 * store has the maximum number of values, it is one of a tenant that has many
 * values. Values with text are counted separately, with limits of their own: a
 * value with text replaces only a value with text, and one without text only
 * one without. Returns MCP_OK, MCP_ERR_LIMIT (the tenant has reached its quota)
 * or MCP_ERR_FULL (the store has the maximum number of values).
 */
static int
mcp_store_value_admit(mcp_store_op_t *op, const mcp_store_value_t *v,
    const mcp_tenant_t *tenant)
{
    int                 rc, full;
    unsigned            text;
    mcp_store_entry_t  *group, *oldest;

    text = mcp_store_value_has_text(v->purpose);
    full = mcp_store_values(op->head, text)
           >= mcp_store_values_max(op->head, text);
    rc = full ? MCP_ERR_FULL : MCP_OK;

    if (tenant && !mcp_store_tenant_may_value(op, tenant, text)) {
        rc = MCP_ERR_LIMIT;
    }

    if (rc == MCP_OK || tenant == NULL || !v->pushed) {
        return rc;
    }

    group = mcp_store_entry_find(op->head, MCP_ENTRY_TENANT, text, tenant->id,
                                 0);

    /* a tenant that has reached its quota replaces only its own values */

    oldest = text ? mcp_store_session_victim(op, group,
                                             rc == MCP_ERR_LIMIT ? NULL
                                                                 : v->key,
                                             NULL)
                  : mcp_store_tenant_oldest(op->head, group);

    if (oldest != NULL) {
        mcp_store_value_free(op, oldest);
        return MCP_OK;
    }

    /* the tenant has no older pushed value. Its quota does not reject its first
     * value, but a full store does, unless a value of another tenant can be
     * freed */

    return !full || mcp_store_value_yield(op, v->key, text)
           ? MCP_OK : MCP_ERR_FULL;
}


mcp_store_entry_t *
mcp_store_value_find(mcp_store_head_t *head, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN])
{
    return mcp_store_entry_find(head, MCP_ENTRY_VALUE, (unsigned char) purpose,
                                key, 0);
}


static int
mcp_store_value_expired(const mcp_store_entry_t *e, uint64_t now)
{
    return e->u.value.expires != 0 && now >= e->u.value.expires;
}


/* Takes an entry for a value and counts it in the tenant's group. Returns NULL
 * if there is no room. */
static mcp_store_entry_t *
mcp_store_value_take(mcp_store_op_t *op, const mcp_tenant_t *tenant,
    unsigned text)
{
    uint32_t            group;
    mcp_store_entry_t  *e;

    group = 0;

    /* the tenant's group is created first, and counts the value at once:
     * making room for the entry must not free the group */

    if (tenant) {
        e = mcp_store_tenant_value_enter(op, tenant->id, text);

        if (e == NULL) {
            return NULL;
        }

        group = mcp_store_ref(op->head, e);
    }

    e = mcp_store_entry_take(op, 1);

    if (e == NULL) {
        mcp_store_tenant_value_leave(op, group);
        return NULL;
    }

    e->u.value.group = group;

    return e;
}


/* Copies a text to a chunk. */
static void
mcp_store_text_fill(mcp_store_head_t *head, uint32_t index, mcp_str_t text)
{
    mcp_store_pos_t     pos;
    mcp_store_chunk_t  *chunk;

    chunk = mcp_store_chunk(head, index);
    chunk->used = MCP_CHUNK_HEAD;
    chunk->seq = 0;
    chunk->total = 0;

    pos = (mcp_store_pos_t) { index, MCP_CHUNK_HEAD };
    mcp_store_copy_in(head, &pos, text.data, text.len);
}


/* Takes an entry for a value with text, and a chunk to which the text is
 * copied. With "all", the reserve may be used for the chunk. Returns NULL if
 * there is no room. */
static mcp_store_entry_t *
mcp_store_value_take_text(mcp_store_op_t *op, const mcp_store_value_t *v,
    const mcp_tenant_t *tenant, int all)
{
    mcp_store_entry_t  *e;
    mcp_store_chain_t   chain;

    if (mcp_store_ensure(op, 1, all) != MCP_OK) {
        return NULL;
    }

    mcp_store_chain_take(op, 1, &chain);
    e = mcp_store_value_take(op, tenant, 1);

    if (e == NULL) {
        mcp_store_chain_free(op, chain.first, chain.last, chain.count);
        return NULL;
    }

    mcp_store_text_fill(op->head, chain.first, v->text);
    e->u.value.value = chain.first;

    return e;
}


/* Allocates the entry of a value, and the chunk of its text. If there is no
 * room for a pushed value, frees at most MCP_STORE_YIELDS other pushed values:
 * first those with text, because it costs least to get them again. Returns NULL
 * if there is still no room. */
static mcp_store_entry_t *
mcp_store_value_room(mcp_store_op_t *op, const mcp_store_value_t *v,
    const mcp_tenant_t *tenant)
{
    unsigned            n, text;
    mcp_store_entry_t  *e;

    text = mcp_store_value_has_text(v->purpose);

    if (tenant && !mcp_digest_is_nobody(tenant->id)) {
        op->tenant = tenant->id;
    }

    for (n = 0; /* void */ ; n++) {

        /* a text may take a chunk of the reserve if another text was freed for
         * it */

        e = text ? mcp_store_value_take_text(op, v, tenant, n > 0)
                 : mcp_store_value_take(op, tenant, 0);

        if (e != NULL || tenant == NULL || !v->pushed || n == MCP_STORE_YIELDS)
        {
            return e;
        }

        if (!mcp_store_value_yield(op, v->key, 1)
            && (text || !mcp_store_value_yield(op, v->key, 0)))
        {
            return NULL;
        }
    }
}


/*
 * Creates the value v, which must not exist yet.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_LIMIT  the tenant has reached its quota, and v->pushed is 0: no
 *                  other value of the tenant may be removed
 *   MCP_ERR_FULL   the region has no room
 */
static int
mcp_store_value_new(mcp_store_op_t *op, const mcp_store_value_t *v)
{
    int                  rc;
    unsigned             text;
    mcp_store_entry_t   *e;
    const mcp_tenant_t  *tenant;

    text = mcp_store_value_has_text(v->purpose);
    tenant = v->tenant;

    if (tenant == NULL || mcp_digest_is_nobody(tenant->id)) {
        tenant = text ? &mcp_store_value_nobody : NULL;
    }

    rc = mcp_store_value_admit(op, v, tenant);
    if (rc != MCP_OK) {
        return rc;
    }

    e = mcp_store_value_room(op, v, tenant);
    if (e == NULL) {
        return MCP_ERR_FULL;
    }

    e->purpose = (unsigned char) v->purpose;
    memcpy(e->key, v->key, sizeof(e->key));
    e->u.value.expires = v->expires;

    if (!text) {
        e->u.value.value = v->value;
    }

    if (tenant) {
        memcpy(e->u.value.tenant, tenant->id, MCP_DIGEST_LEN);
        e->pushed = (uint8_t) v->pushed;
    }

    /* the count is raised before the value exists, because
     * mcp_store_value_get() reads it without the lock and must not miss the
     * value */

    atomic_fetch_add(&op->head->purpose[(unsigned char) v->purpose], 1);
    op->head->n_values++;

    mcp_store_entry_publish(op->head, e, MCP_ENTRY_VALUE);

    if (e->pushed) {
        mcp_store_tenant_push(op, e);
    }

    return MCP_OK;
}


static int
mcp_store_value_put(mcp_store_t *store, const mcp_store_value_t *v)
{
    int                 rc;
    mcp_store_op_t      op;
    mcp_store_entry_t  *e;

    rc = mcp_store_enter(store, &op);
    if (rc != MCP_OK) {
        return rc;
    }

    e = mcp_store_value_find(op.head, v->purpose, v->key);

    if (e != NULL) {
        e->u.value.value = v->value;
        e->u.value.expires = v->expires;
    } else {
        rc = mcp_store_value_new(&op, v);
    }

    mcp_store_leave(&op);

    return rc;
}


int
mcp_store_value_set(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value, uint64_t expires,
    const mcp_tenant_t *tenant)
{
    const mcp_store_value_t  v = {
        purpose, key, value, { NULL, 0 }, expires, tenant, 0
    };

    return mcp_store_value_put(store, &v);
}


int
mcp_store_value_push(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value, uint64_t expires,
    const mcp_tenant_t *tenant)
{
    const mcp_store_value_t  v = {
        purpose, key, value, { NULL, 0 }, expires, tenant, 1
    };

    return mcp_store_value_put(store, &v);
}


int
mcp_store_value_swap(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value,
    const mcp_tenant_t *tenant, uint32_t *old)
{
    int                      rc;
    mcp_store_op_t           op;
    mcp_store_entry_t       *e;
    const mcp_store_value_t  v = {
        purpose, key, value, { NULL, 0 }, 0, tenant, 1
    };

    rc = mcp_store_enter(store, &op);
    if (rc != MCP_OK) {
        return rc;
    }

    e = mcp_store_value_find(op.head, purpose, key);

    if (e != NULL) {
        *old = e->u.value.value;
        e->u.value.value = value;

    } else {
        rc = mcp_store_value_new(&op, &v);
        rc = rc == MCP_OK ? MCP_ERR_NOT_FOUND : rc;
    }

    mcp_store_leave(&op);

    return rc;
}


int
mcp_store_value_add(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value,
    uint64_t expires, uint64_t now, const mcp_tenant_t *tenant)
{
    int                      rc;
    mcp_store_op_t           op;
    mcp_store_entry_t       *e;
    const mcp_store_value_t  v = {
        purpose, key, value, { NULL, 0 }, expires, tenant, 0
    };

    rc = mcp_store_enter(store, &op);
    if (rc != MCP_OK) {
        return rc;
    }

    e = mcp_store_value_find(op.head, purpose, key);

    if (e == NULL) {
        rc = mcp_store_value_new(&op, &v);

    } else if (mcp_store_value_expired(e, now)) {
        e->u.value.value = value;
        e->u.value.expires = expires;

    } else {
        rc = MCP_ERR_DENIED;
    }

    mcp_store_leave(&op);

    return rc;
}


int
mcp_store_value_enter(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], mcp_store_op_t *op,
    mcp_store_entry_t **e)
{
    if (atomic_load(&store->head->purpose[(unsigned char) purpose]) == 0) {
        return MCP_ERR_NOT_FOUND;
    }

    if (mcp_store_enter(store, op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    *e = mcp_store_value_find(op->head, purpose, key);

    if (*e == NULL) {
        mcp_store_leave(op);
        return MCP_ERR_NOT_FOUND;
    }

    return MCP_OK;
}


int
mcp_store_value_get(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t now, uint32_t *value)
{
    int                 rc;
    mcp_store_op_t      op;
    mcp_store_entry_t  *e;

    rc = mcp_store_value_enter(store, purpose, key, &op, &e);
    if (rc != MCP_OK) {
        return rc;
    }

    if (mcp_store_value_expired(e, now)) {
        rc = MCP_ERR_NOT_FOUND;
    } else {
        *value = e->u.value.value;
    }

    mcp_store_leave(&op);

    return rc;
}


void
mcp_store_value_delete(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN])
{
    mcp_store_op_t      op;
    mcp_store_entry_t  *e;

    if (mcp_store_value_enter(store, purpose, key, &op, &e) == MCP_OK) {
        mcp_store_value_free(&op, e);
        mcp_store_leave(&op);
    }
}


size_t
mcp_store_values_expire(mcp_store_op_t *op, uint32_t index, uint64_t now)
{
    size_t              n;
    unsigned            k;
    mcp_store_entry_t  *e;

    n = 0;
    k = 0;

    while ((e = mcp_store_entry_next(op->head, index, &k, MCP_ENTRY_VALUE))
           != NULL)
    {
        if (mcp_store_value_expired(e, now)) {
            mcp_store_value_free(op, e);
            n++;
        }
    }

    return n;
}


/* --- values with text --- */

mcp_str_t
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
 * Sets the time of expiry of a text to "expires" and returns 1. Does nothing
 * and returns 0 if the text never expires, or expires at that time or later. A
 * single write of 64 bits changes the time of expiry: a process that dies
 * leaves the older time or the new one. No other data depend on this time,
 * because a sweep reads it from the entry.
 */
static int
mcp_store_text_extend(mcp_store_entry_t *e, uint64_t expires)
{
    if (e->u.value.expires == 0 || expires <= e->u.value.expires) {
        return 0;
    }

    e->u.value.expires = expires;

    return 1;
}


void
mcp_store_text_used(mcp_store_op_t *op, mcp_store_entry_t *e)
{
    if (mcp_store_linked(&e->u.value.ring)) {
        mcp_store_tenant_pull(op, e);
        mcp_store_tenant_push(op, e);
    }
}


int
mcp_store_text_put(mcp_store_op_t *op, const mcp_store_value_t *v)
{
    mcp_store_entry_t  *e;

    if (v->text.len > MCP_STORE_TEXT_MAX) {
        return MCP_ERR_LIMIT;
    }

    e = mcp_store_value_find(op->head, v->purpose, v->key);

    if (e == NULL) {
        return mcp_store_value_new(op, v);
    }

    if (!mcp_store_value_expired(e, op->now)) {
        return MCP_ERR_EXISTS;
    }

    mcp_store_text_replace(op->head, e, v->text, v->expires);
    mcp_store_text_used(op, e);

    return MCP_OK;
}


int
mcp_store_text_read(mcp_store_op_t *op, mcp_store_entry_t *e,
    uint64_t expires, char text[MCP_STORE_TEXT_MAX], size_t *len,
    int *extended)
{
    int              later;
    mcp_store_pos_t  pos;

    if (mcp_store_value_expired(e, op->now)) {
        return MCP_ERR_NOT_FOUND;
    }

    pos = (mcp_store_pos_t) { e->u.value.value, MCP_CHUNK_HEAD };
    *len = mcp_store_copy_out(op->head, &pos, text, MCP_STORE_TEXT_MAX);
    later = mcp_store_text_extend(e, expires);
    mcp_store_text_used(op, e);

    if (extended) {
        *extended = later;
    }

    return MCP_OK;
}


int
mcp_store_text_delete(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], mcp_str_t text)
{
    int                 rc;
    mcp_store_op_t      op;
    mcp_store_entry_t  *e;

    rc = mcp_store_value_enter(store, purpose, key, &op, &e);
    if (rc != MCP_OK) {
        return rc;
    }

    if (mcp_str_eq(mcp_store_text_of(op.head, e), text)) {
        mcp_store_value_free(&op, e);
    } else {
        rc = MCP_ERR_NOT_FOUND;
    }

    mcp_store_leave(&op);

    return rc;
}
