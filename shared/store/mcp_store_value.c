/* SPDX-License-Identifier: Apache-2.0 */

/* Small values with a time to live, by purpose and key. */


#include "store/mcp_store_layout.h"


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


/* Makes room for a value that is pushed, or sees whether there is some. */
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

    /* the first of a party counts, but is asked for no quota */

    return op->head->n_values < mcp_store_values_max(op->head)
           ? MCP_OK : MCP_ERR_FULL;
}


/* Makes a value that is not there. */
static int
mcp_store_value_new(mcp_store_op_t *op, char purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value, uint64_t expires,
    const mcp_party_t *party, int pushed)
{
    int                 rc;
    mcp_store_entry_t  *e, *group;

    group = NULL;

    if (party && mcp_store_party_is_nobody(party->id)) {
        party = NULL;
    }

    rc = mcp_store_value_admit(op, party, pushed);
    if (rc != MCP_OK) {
        return rc;
    }

    /* first: making room must not make an end of the group */

    if (party) {
        op->party = party->id;
        group = mcp_store_party_value_enter(op, party->id);

        if (group == NULL) {
            return MCP_ERR_FULL;
        }
    }

    e = mcp_store_entry_take(op, 1);

    if (e == NULL) {
        mcp_store_party_value_leave(op, group ? mcp_store_ref(op->head, group)
                                              : 0);
        return MCP_ERR_FULL;
    }

    e->purpose = (unsigned char) purpose;
    memcpy(e->key, key, sizeof(e->key));
    e->u.value.value = value;
    e->u.value.expires = expires;

    if (party) {
        memcpy(e->u.value.party, party->id, MCP_DIGEST_LEN);
        e->u.value.group = mcp_store_ref(op->head, group);
        e->pushed = (uint8_t) pushed;
    }

    /* raised first: who looks without the lock must not miss it */

    atomic_fetch_add(&op->head->purpose[(unsigned char) purpose], 1);
    op->head->n_values++;

    mcp_store_entry_publish(op->head, e, MCP_ENTRY_VALUE);

    if (e->pushed) {
        mcp_store_party_push(op, e);
    }

    return MCP_OK;
}


static int
mcp_store_value_put(mcp_store_t *store, char purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value, uint64_t expires,
    const mcp_party_t *party, int pushed)
{
    int                 rc;
    mcp_store_op_t      op;
    mcp_store_entry_t  *e;

    rc = mcp_store_enter(store, &op);
    if (rc != MCP_OK) {
        return rc;
    }

    e = mcp_store_entry_find(op.head, MCP_ENTRY_VALUE, (unsigned char) purpose,
                             key, 0);

    if (e != NULL) {
        e->u.value.value = value;
        e->u.value.expires = expires;

    } else {
        rc = mcp_store_value_new(&op, purpose, key, value, expires, party,
                                 pushed);
    }

    mcp_store_leave(&op);

    return rc;
}


int
mcp_store_value_set(mcp_store_t *store, char purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value, uint64_t expires,
    const mcp_party_t *party)
{
    return mcp_store_value_put(store, purpose, key, value, expires, party, 0);
}


int
mcp_store_value_push(mcp_store_t *store, char purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value, uint64_t expires,
    const mcp_party_t *party)
{
    return mcp_store_value_put(store, purpose, key, value, expires, party, 1);
}


int
mcp_store_value_add(mcp_store_t *store, char purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value,
    uint64_t expires, uint64_t now, const mcp_party_t *party)
{
    int                 rc;
    mcp_store_op_t      op;
    mcp_store_entry_t  *e;

    rc = mcp_store_enter(store, &op);
    if (rc != MCP_OK) {
        return rc;
    }

    e = mcp_store_entry_find(op.head, MCP_ENTRY_VALUE, (unsigned char) purpose,
                             key, 0);

    if (e == NULL) {
        rc = mcp_store_value_new(&op, purpose, key, value, expires, party, 0);

    } else if (e->u.value.expires != 0 && now >= e->u.value.expires) {
        e->u.value.value = value;
        e->u.value.expires = expires;

    } else {
        rc = MCP_ERR_DENIED;
    }

    mcp_store_leave(&op);

    return rc;
}


int
mcp_store_value_get(mcp_store_t *store, char purpose,
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

    e = mcp_store_entry_find(op.head, MCP_ENTRY_VALUE, (unsigned char) purpose,
                             key, 0);

    if (e != NULL && (e->u.value.expires == 0 || now < e->u.value.expires)) {
        *value = e->u.value.value;
        rc = MCP_OK;

    } else {
        rc = MCP_ERR_NOT_FOUND;
    }

    mcp_store_leave(&op);

    return rc;
}


void
mcp_store_value_delete(mcp_store_t *store, char purpose,
    const unsigned char key[MCP_DIGEST_LEN])
{
    mcp_store_op_t      op;
    mcp_store_entry_t  *e;

    if (atomic_load(&store->head->purpose[(unsigned char) purpose]) == 0
        || mcp_store_enter(store, &op) != MCP_OK)
    {
        return;
    }

    e = mcp_store_entry_find(op.head, MCP_ENTRY_VALUE, (unsigned char) purpose,
                             key, 0);

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

        if (e->kind != MCP_ENTRY_VALUE || e->u.value.expires == 0
            || now < e->u.value.expires)
        {
            continue;
        }

        last = entries->used == (1u << i);
        mcp_store_value_free(op, e);
        n++;

        if (last) {
            break;                     /* the chunk is gone */
        }
    }

    return n;
}
