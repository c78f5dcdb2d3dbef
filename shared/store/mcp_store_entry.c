/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Finds, creates and frees entries: values, subscriptions, joins, joined
 * readers and groups. All have the same size and are in one hash table; a chunk
 * has room for seven. A group counts and links the members of one session,
 * tenant or topic. Groups are derived from the other data, and a repair
 * rebuilds them.
 */


#include "store/mcp_store_layout.h"


/* Maximum number of pushed values, and of hash buckets, that
 * mcp_store_entry_most_values() examines. */
#define MCP_STORE_SAMPLE          64
#define MCP_STORE_SAMPLE_BUCKETS  4096


_Static_assert(sizeof(mcp_store_entry_t) == 64, "entry");
_Static_assert(sizeof(mcp_store_entries_t) <= MCP_STORE_CHUNK, "entries");


uint64_t
mcp_store_hash(const mcp_store_head_t *head, uint32_t salt,
    const unsigned char key[16])
{
    uint64_t  a, b, h;

    /* mixes in the secret seed of the region, because some keys are digests of
     * texts that clients choose: clients must not find keys with equal hash
     * values */

    memcpy(&a, key, 8);
    memcpy(&b, key + 8, 8);

    h = (a ^ head->seed[0]) * 0x9e3779b97f4a7c15ULL;
    h ^= h >> 32;
    h = (h + (b ^ head->seed[1])) * 0xd6e8feb86659fd93ULL;
    h ^= h >> 29;
    h = (h + salt) * 0xbf58476d1ce4e5b9ULL;

    return h ^ (h >> 32);
}


static uint32_t *
mcp_store_entry_bucket(mcp_store_head_t *head, unsigned kind,
    unsigned purpose, const unsigned char key[16], uint32_t stream)
{
    uint32_t   salt;
    uint32_t  *table;

    salt = (uint32_t) kind | (uint32_t) purpose << 3 | stream << 11;
    table = (uint32_t *) ((char *) head + head->entry_hash);

    return &table[mcp_store_hash(head, salt, key) & head->entry_mask];
}


static uint32_t
mcp_store_entry_stream(const mcp_store_entry_t *e)
{
    return e->kind == MCP_ENTRY_SUB ? e->u.sub.stream
           : e->kind == MCP_ENTRY_READER ? e->u.reader.tag : 0;
}


void
mcp_store_entry_insert(mcp_store_head_t *head, mcp_store_entry_t *e)
{
    uint32_t  *bucket;

    bucket = mcp_store_entry_bucket(head, e->kind, e->purpose, e->key,
                                    mcp_store_entry_stream(e));
    e->next = *bucket;
    *bucket = mcp_store_ref(head, e);
}


static void
mcp_store_entry_remove(mcp_store_head_t *head, mcp_store_entry_t *e)
{
    uint32_t           ref, n, *link;
    mcp_store_entry_t  *other;

    ref = mcp_store_ref(head, e);
    link = mcp_store_entry_bucket(head, e->kind, e->purpose, e->key,
                                  mcp_store_entry_stream(e));

    for (n = 0; *link && n < head->chunks * MCP_STORE_ENTRIES; n++) {
        if (*link == ref) {
            *link = e->next;
            return;
        }

        other = mcp_store_at(head, *link);
        link = &other->next;
    }
}


void
mcp_store_entry_rename(mcp_store_head_t *head, mcp_store_entry_t *e,
    const unsigned char key[16])
{
    mcp_store_entry_remove(head, e);
    memcpy(e->key, key, sizeof(e->key));
    mcp_store_entry_insert(head, e);
}


mcp_store_entry_t *
mcp_store_entry_find(mcp_store_head_t *head, unsigned kind, unsigned purpose,
    const unsigned char key[16], uint32_t stream)
{
    uint32_t            ref, n;
    mcp_store_entry_t  *e;

    ref = *mcp_store_entry_bucket(head, kind, purpose, key, stream);

    for (n = 0; ref && n < head->chunks * MCP_STORE_ENTRIES; n++) {
        e = mcp_store_at(head, ref);

        if (e->kind == kind && e->purpose == purpose
            && mcp_store_entry_stream(e) == stream
            && memcmp(e->key, key, sizeof(e->key)) == 0)
        {
            return e;
        }

        ref = e->next;
    }

    return NULL;
}


mcp_store_entry_t *
mcp_store_entry_most_values(mcp_store_head_t *head,
    const unsigned char key[16], const mcp_store_session_filter_t *sessions)
{
    uint32_t            i, n, ref, found, *table;
    uint64_t            start;
    mcp_store_entry_t  *e, *tenant, *most, *value;

    table = (uint32_t *) ((char *) head + head->entry_hash);
    start = mcp_store_hash(head, 0, key);
    most = value = NULL;
    found = 0;

    for (i = 0; i < MCP_STORE_SAMPLE_BUCKETS && found < MCP_STORE_SAMPLE; i++) {
        ref = table[(start + i) & head->entry_mask];

        for (n = 0; ref && n < MCP_STORE_SAMPLE; n++) {
            e = mcp_store_at(head, ref);
            ref = e->next;

            if (e->kind != MCP_ENTRY_VALUE || !e->pushed
                || e->u.value.group == 0
                || mcp_store_value_has_text(e->purpose) != (sessions != NULL)
                || (sessions && !mcp_store_session_matches(head, e, sessions)))
            {
                continue;
            }

            found++;
            tenant = mcp_store_at(head, e->u.value.group);

            if (most == NULL || tenant->u.tenant.values > most->u.tenant.values)
            {
                most = tenant;
                value = e;
            }
        }
    }

    return value;
}


mcp_store_entry_t *
mcp_store_entry_take(mcp_store_op_t *op, int all)
{
    uint32_t              index;
    unsigned              i;
    mcp_store_head_t     *head;
    mcp_store_entry_t    *e;
    mcp_store_entries_t  *entries;

    head = op->head;

    if (head->partial.first == 0 && mcp_store_ensure(op, 1, all) != MCP_OK) {
        return NULL;
    }

    /* tests the list "partial" again, because mcp_store_ensure() may have
     * evicted a stream whose entry was in a full chunk. This chunk has a free
     * entry now and is in the list */
    if (head->partial.first == 0) {
        index = mcp_store_root_take(op, MCP_CHUNK_ENTRY);
        mcp_store_list_append(head, &head->partial,
                              &mcp_store_entries(head, index)->partial);
    }

    entries = mcp_store_container(head, head->partial.first,
                                  mcp_store_entries_t, partial);

    for (i = 0; entries->used & (1u << i); i++) { /* void */ }

    entries->used |= 1u << i;

    if (entries->used == (1u << MCP_STORE_ENTRIES) - 1) {
        mcp_store_list_remove(head, &head->partial, &entries->partial);
    }

    e = &entries->entry[i];
    memset(e, 0, sizeof(mcp_store_entry_t));

    return e;
}


void
mcp_store_entry_publish(mcp_store_head_t *head, mcp_store_entry_t *e,
    unsigned kind)
{
    mcp_store_barrier();
    e->kind = (uint8_t) kind;
    mcp_store_barrier();

    mcp_store_entry_insert(head, e);
}


void
mcp_store_entry_free(mcp_store_op_t *op, mcp_store_entry_t *e)
{
    uint32_t              index;
    mcp_store_entries_t  *entries;

    mcp_store_entry_remove(op->head, e);
    mcp_store_barrier();
    e->kind = MCP_ENTRY_FREE;

    index = mcp_store_index(op->head, e);
    entries = mcp_store_entries(op->head, index);

    entries->used &= ~(1u << (e - entries->entry));

    if (entries->used == 0) {
        mcp_store_list_remove(op->head, &op->head->partial, &entries->partial);
        mcp_store_root_free(op, index);

    } else if (!mcp_store_linked(&entries->partial)) {
        mcp_store_list_append(op->head, &op->head->partial, &entries->partial);
    }
}


mcp_store_entry_t *
mcp_store_entry_next(mcp_store_head_t *head, uint32_t index, unsigned *k,
    unsigned kind)
{
    mcp_store_entries_t  *entries;

    entries = mcp_store_entries(head, index);

    while (*k < MCP_STORE_ENTRIES
           && mcp_store_types(head)[index] == MCP_CHUNK_ENTRY)
    {
        if (entries->entry[(*k)++].kind == kind) {
            return &entries->entry[*k - 1];
        }
    }

    return NULL;
}


/* --- groups --- */

mcp_store_entry_t *
mcp_store_group(mcp_store_op_t *op, unsigned kind, unsigned purpose,
    const unsigned char key[16])
{
    mcp_store_entry_t  *e;

    e = mcp_store_entry_find(op->head, kind, purpose, key, 0);
    if (e != NULL) {
        return e;
    }

    e = mcp_store_entry_take(op, 1);
    if (e == NULL) {
        return NULL;
    }

    e->purpose = (uint8_t) purpose;
    memcpy(e->key, key, sizeof(e->key));
    mcp_store_entry_publish(op->head, e, kind);

    return e;
}


void
mcp_store_group_leave(mcp_store_op_t *op, uint32_t ref)
{
    mcp_store_entry_t  *e;

    if (ref == 0) {
        return;
    }

    e = mcp_store_at(op->head, ref);

    if (--e->u.group.count == 0) {
        mcp_store_entry_free(op, e);
    }
}
