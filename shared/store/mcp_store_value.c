/* SPDX-License-Identifier: Apache-2.0 */

/* Small values with a time to live, by purpose and key. */


#include "store/mcp_store_layout.h"


/* What a value is made of. */
typedef struct {
    mcp_value_e           purpose;
    const unsigned char  *key;
    uint32_t              value;
    uint64_t              expires;
    const mcp_party_t    *party;       /* NULL: nobody's */
    int                   pushed;
} mcp_store_value_t;


static void
mcp_store_value_free(mcp_store_op_t *op, mcp_store_entry_t *e)
{
    uint32_t  group;

    atomic_fetch_sub(&op->head->purpose[e->purpose], 1);
    op->head->n_values--;
    group = e->u.value.group;

    mcp_store_party_pull(op, e);
    mcp_store_entry_free(op, e);
    mcp_store_party_value_leave(op, group);
}


/* Checks whether there is room for a value, and makes some for one that is
 * pushed. */
static int
mcp_store_value_admit(mcp_store_op_t *op, const mcp_party_t *party, int pushed)
{
    int                 rc;
    mcp_store_entry_t  *oldest;

    rc = MCP_OK;

    if (party && !mcp_store_party_may_value(op, party)) {
        rc = MCP_ERR_LIMIT;

    } else if (op->head->n_values >= mcp_store_values_max(op->head)) {
        rc = MCP_ERR_FULL;
    }

    if (rc == MCP_OK || party == NULL || !pushed) {
        return rc;
    }

    oldest = mcp_store_party_oldest(op, party);

    if (oldest != NULL) {
        mcp_store_value_free(op, oldest);
        return MCP_OK;
    }

    /* no quota refuses the party's first one */

    return op->head->n_values < mcp_store_values_max(op->head)
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


/* Takes an entry for a value and counts it in the party's group; NULL: there is
 * no room. */
static mcp_store_entry_t *
mcp_store_value_take(mcp_store_op_t *op, const mcp_party_t *party)
{
    uint32_t            group;
    mcp_store_entry_t  *e;

    group = 0;

    /* the group first: making room for the entry must not end the group */

    if (party) {
        op->party = party->id;
        e = mcp_store_party_value_enter(op, party->id);

        if (e == NULL) {
            return NULL;
        }

        group = mcp_store_ref(op->head, e);
    }

    e = mcp_store_entry_take(op, 1);

    if (e == NULL) {
        mcp_store_party_value_leave(op, group);
        return NULL;
    }

    e->u.value.group = group;

    return e;
}


/* Makes a value that is not there. */
static int
mcp_store_value_new(mcp_store_op_t *op, const mcp_store_value_t *v)
{
    int                 rc;
    mcp_store_entry_t  *e;
    const mcp_party_t  *party;

    party = v->party;

    if (party && mcp_store_party_is_nobody(party->id)) {
        party = NULL;
    }

    rc = mcp_store_value_admit(op, party, v->pushed);
    if (rc != MCP_OK) {
        return rc;
    }

    e = mcp_store_value_take(op, party);
    if (e == NULL) {
        return MCP_ERR_FULL;
    }

    e->purpose = (unsigned char) v->purpose;
    memcpy(e->key, v->key, sizeof(e->key));
    e->u.value.value = v->value;
    e->u.value.expires = v->expires;

    if (party) {
        memcpy(e->u.value.party, party->id, MCP_DIGEST_LEN);
        e->pushed = (uint8_t) v->pushed;
    }

    /* raised before the value is there: mcp_store_value_get(), which reads this
     * number without the lock, must not miss it */

    atomic_fetch_add(&op->head->purpose[(unsigned char) v->purpose], 1);
    op->head->n_values++;

    mcp_store_entry_publish(op->head, e, MCP_ENTRY_VALUE);

    if (e->pushed) {
        mcp_store_party_push(op, e);
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
    const mcp_party_t *party)
{
    const mcp_store_value_t  v = { purpose, key, value, expires, party, 0 };

    return mcp_store_value_put(store, &v);
}


int
mcp_store_value_push(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value, uint64_t expires,
    const mcp_party_t *party)
{
    const mcp_store_value_t  v = { purpose, key, value, expires, party, 1 };

    return mcp_store_value_put(store, &v);
}


int
mcp_store_value_swap(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value,
    const mcp_party_t *party, uint32_t *old)
{
    int                      rc;
    mcp_store_op_t           op;
    mcp_store_entry_t       *e;
    const mcp_store_value_t  v = { purpose, key, value, 0, party, 1 };

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
    uint64_t expires, uint64_t now, const mcp_party_t *party)
{
    int                      rc;
    mcp_store_op_t           op;
    mcp_store_entry_t       *e;
    const mcp_store_value_t  v = { purpose, key, value, expires, party, 0 };

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
    size_t                n;
    unsigned              i, last;
    mcp_store_entry_t    *e;
    mcp_store_entries_t  *entries;

    entries = (mcp_store_entries_t *) mcp_store_chunk(op->head, index);
    n = 0;

    for (i = 0; i < MCP_STORE_ENTRIES; i++) {
        e = &entries->entry[i];

        if (e->kind != MCP_ENTRY_VALUE || !mcp_store_value_expired(e, now)) {
            continue;
        }

        last = entries->used == (1u << i);
        mcp_store_value_free(op, e);
        n++;

        if (last) {
            break;                     /* the chunk was freed */
        }
    }

    return n;
}
