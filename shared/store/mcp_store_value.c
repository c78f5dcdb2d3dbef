/* SPDX-License-Identifier: Apache-2.0 */

/* Small values with a time to live, by purpose and key. */


#include "store/mcp_store_layout.h"


/* Maximum number of values that are freed to make room for a new value, which
 * needs an entry for itself and entries for its tenant's groups. */
#define MCP_STORE_YIELDS  8


/* The data of a value. */
typedef struct {
    mcp_value_e           purpose;
    const unsigned char  *key;
    uint32_t              value;
    uint64_t              expires;
    const mcp_tenant_t   *tenant;      /* NULL: the value counts for no
                                          tenant */
    int                   pushed;
} mcp_store_value_t;


static void
mcp_store_value_free(mcp_store_op_t *op, mcp_store_entry_t *e)
{
    uint32_t  group;

    atomic_fetch_sub(&op->head->purpose[e->purpose], 1);
    op->head->n_values--;
    group = e->u.value.group;

    mcp_store_tenant_pull(op, e);
    mcp_store_entry_free(op, e);
    mcp_store_tenant_value_leave(op, group);
}


/* Frees the oldest pushed value of the tenant with the most values in a
 * sample. Returns 1, or 0 if no pushed value was found. */
static int
mcp_store_value_yield(mcp_store_op_t *op, const unsigned char *key)
{
    mcp_store_entry_t  *oldest;

    oldest =
        mcp_store_tenant_oldest(op->head,
                                mcp_store_entry_most_values(op->head, key));

    if (oldest == NULL) {
        return 0;
    }

    mcp_store_value_free(op, oldest);

    return 1;
}


/*
 * Checks whether the limits allow one more value. If they do not, but the
 * value is a tenant's pushed one, frees an older pushed value instead: the
 * oldest of the same tenant, or otherwise, if the store has the maximum number
 * of values, one of a tenant that has many.
 */
static int
mcp_store_value_admit(mcp_store_op_t *op, const mcp_store_value_t *v,
    const mcp_tenant_t *tenant)
{
    int                 rc;
    mcp_store_entry_t  *oldest;

    rc = MCP_OK;

    if (tenant && !mcp_store_tenant_may_value(op, tenant)) {
        rc = MCP_ERR_LIMIT;

    } else if (op->head->n_values >= mcp_store_values_max(op->head)) {
        rc = MCP_ERR_FULL;
    }

    if (rc == MCP_OK || tenant == NULL || !v->pushed) {
        return rc;
    }

    oldest = mcp_store_tenant_oldest(op->head,
                 mcp_store_entry_find(op->head, MCP_ENTRY_TENANT, 0, tenant->id,
                                      0));

    if (oldest != NULL) {
        mcp_store_value_free(op, oldest);
        return MCP_OK;
    }

    /* no quota rejects a tenant's first value */

    return op->head->n_values < mcp_store_values_max(op->head)
           || mcp_store_value_yield(op, v->key)
           ? MCP_OK : MCP_ERR_FULL;
}


static mcp_store_entry_t *
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
mcp_store_value_take(mcp_store_op_t *op, const mcp_tenant_t *tenant)
{
    uint32_t            group;
    mcp_store_entry_t  *e;

    group = 0;

    /* the tenant's group is created first, and counts the value at once:
     * making room for the entry must not free the group */

    if (tenant) {
        op->tenant = tenant->id;
        e = mcp_store_tenant_value_enter(op, tenant->id);

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


/* Creates a new value. */
static int
mcp_store_value_new(mcp_store_op_t *op, const mcp_store_value_t *v)
{
    int                  rc;
    unsigned             n;
    mcp_store_entry_t   *e;
    const mcp_tenant_t  *tenant;

    tenant = v->tenant;

    if (tenant && mcp_store_tenant_is_nobody(tenant->id)) {
        tenant = NULL;
    }

    rc = mcp_store_value_admit(op, v, tenant);
    if (rc != MCP_OK) {
        return rc;
    }

    /* without room for a pushed value or its tenant's group, other pushed
     * values are freed, at most MCP_STORE_YIELDS */

    for (n = 0; (e = mcp_store_value_take(op, tenant)) == NULL; n++) {
        if (tenant == NULL || !v->pushed || n == MCP_STORE_YIELDS
            || !mcp_store_value_yield(op, v->key))
        {
            return MCP_ERR_FULL;
        }
    }

    e->purpose = (unsigned char) v->purpose;
    memcpy(e->key, v->key, sizeof(e->key));
    e->u.value.value = v->value;
    e->u.value.expires = v->expires;

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
    const mcp_store_value_t  v = { purpose, key, value, expires, tenant, 0 };

    return mcp_store_value_put(store, &v);
}


int
mcp_store_value_push(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value, uint64_t expires,
    const mcp_tenant_t *tenant)
{
    const mcp_store_value_t  v = { purpose, key, value, expires, tenant, 1 };

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
    const mcp_store_value_t  v = { purpose, key, value, 0, tenant, 1 };

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
    const mcp_store_value_t  v = { purpose, key, value, expires, tenant, 0 };

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
mcp_store_value_get(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t now, uint32_t *value)
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

    if (e != NULL && !mcp_store_value_expired(e, now)) {
        *value = e->u.value.value;
        rc = MCP_OK;

    } else {
        rc = MCP_ERR_NOT_FOUND;
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

    if (atomic_load(&store->head->purpose[(unsigned char) purpose]) == 0
        || mcp_store_enter(store, &op) != MCP_OK)
    {
        return;
    }

    e = mcp_store_value_find(op.head, purpose, key);

    if (e != NULL) {
        mcp_store_value_free(&op, e);
    }

    mcp_store_leave(&op);
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
