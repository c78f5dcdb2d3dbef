/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Small entries of one size, seven to a chunk, in one hash table: values with
 * a time to live, subscriptions, and the groups that count and chain what
 * belongs to one session, party or topic.
 *
 * Values and subscriptions are what counts; groups are derived from streams
 * and subscriptions, and a repair makes them anew.
 */


#include "store/mcp_store_layout.h"


/* Subscriptions that one stream may have. */
#define MCP_STORE_SUBS_MAX  4096


_Static_assert(sizeof(mcp_store_entry_t) == 64, "entry");
_Static_assert(sizeof(mcp_store_entries_t) <= MCP_STORE_CHUNK, "entries");


uint64_t
mcp_store_hash(const mcp_store_head_t *head, uint32_t salt,
    const unsigned char key[16])
{
    uint64_t  a, b, h;

    /* seeded: some keys are digests of what clients choose */

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
    return e->kind == MCP_ENTRY_SUB ? e->u.sub.stream : 0;
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


/* An entry that is nothing yet (its kind, set last, makes it something), or
 * NULL when full. */
static mcp_store_entry_t *
mcp_store_entry_take(mcp_store_op_t *op, int all)
{
    uint32_t              index;
    unsigned              i;
    mcp_store_head_t     *head;
    mcp_store_entry_t    *e;
    mcp_store_entries_t  *entries;

    head = op->head;

    if (head->partial.first == 0) {
        if (mcp_store_ensure(op, 1, all) != MCP_OK) {
            return NULL;
        }
    }

    /* evicting may have made room in a chunk that was full */

    if (head->partial.first == 0) {
        index = mcp_store_root_take(op, MCP_CHUNK_ENTRY);
        entries = (mcp_store_entries_t *) mcp_store_chunk(head, index);
        mcp_store_list_append(head, &head->partial, &entries->partial);
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


static void
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
    entries = (mcp_store_entries_t *) mcp_store_chunk(op->head, index);

    entries->used &= ~(1u << (e - entries->entry));

    if (entries->used == 0) {
        mcp_store_list_remove(op->head, &op->head->partial,
                              &entries->partial);
        mcp_store_root_free(op, index);

    } else if (!mcp_store_linked(&entries->partial)) {
        mcp_store_list_append(op->head, &op->head->partial,
                              &entries->partial);
    }
}


/* --- groups --- */

mcp_store_entry_t *
mcp_store_group(mcp_store_op_t *op, unsigned kind,
    const unsigned char key[16])
{
    mcp_store_entry_t  *e;

    e = mcp_store_entry_find(op->head, kind, 0, key, 0);
    if (e != NULL) {
        return e;
    }

    e = mcp_store_entry_take(op, 1);
    if (e == NULL) {
        return NULL;
    }

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


/* --- values --- */

static void mcp_store_value_free(mcp_store_op_t *op, mcp_store_entry_t *e);


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


/* --- subscriptions --- */

void
mcp_store_sub_link(mcp_store_head_t *head, mcp_store_entry_t *topic,
    mcp_store_entry_t *e)
{
    mcp_store_stream_t  *st;

    st = mcp_store_stream(head, e->u.sub.stream);

    topic->u.group.count++;
    mcp_store_list_prepend(head, &topic->u.group.list, &e->u.sub.topic);
    mcp_store_list_append(head, &st->subs, &e->u.sub.peer);

    st->n_subs++;
    head->n_subs++;
}


void
mcp_store_sub_free(mcp_store_op_t *op, mcp_store_entry_t *e)
{
    mcp_store_head_t    *head;
    mcp_store_entry_t   *topic;
    mcp_store_stream_t  *st;

    head = op->head;
    st = mcp_store_stream(head, e->u.sub.stream);
    topic = mcp_store_entry_find(head, MCP_ENTRY_TOPIC, 0, e->key, 0);

    mcp_store_list_remove(head, &st->subs, &e->u.sub.peer);
    st->n_subs--;
    head->n_subs--;

    if (topic != NULL) {
        mcp_store_list_remove(head, &topic->u.group.list, &e->u.sub.topic);
        mcp_store_group_leave(op, mcp_store_ref(head, topic));
    }

    mcp_store_entry_free(op, e);
}


static int
mcp_store_subscribe_locked(mcp_store_op_t *op, mcp_store_stream_t *st,
    const unsigned char topic[MCP_DIGEST_LEN])
{
    uint32_t            index;
    mcp_store_entry_t  *e, *group;

    index = mcp_store_index(op->head, st);

    if (mcp_store_entry_find(op->head, MCP_ENTRY_SUB, 0, topic, index)) {
        return MCP_OK;
    }

    if (st->n_subs >= MCP_STORE_SUBS_MAX) {
        return MCP_ERR_LIMIT;
    }

    /* for both entries, so that neither evicts the other's stream */

    if (mcp_store_ensure(op, 2, 0) != MCP_OK) {
        return MCP_ERR_FULL;
    }

    group = mcp_store_group(op, MCP_ENTRY_TOPIC, topic);
    e = mcp_store_entry_take(op, 0);

    if (group == NULL || e == NULL) {
        return MCP_ERR_INTERNAL;
    }

    memcpy(e->key, topic, sizeof(e->key));
    e->u.sub.stream = index;
    e->u.sub.ordinal = ++op->head->ordinal;

    mcp_store_entry_publish(op->head, e, MCP_ENTRY_SUB);
    mcp_store_sub_link(op->head, group, e);

    return MCP_OK;
}


int
mcp_store_subscribe(mcp_store_t *store, const mcp_stream_ref_t *ref,
    const unsigned char topic[MCP_DIGEST_LEN])
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc != MCP_OK) {
        return rc;
    }

    /* one that is over might be what is evicted to make room */

    op.keep = st;

    if (st->kind != MCP_STREAM_LISTEN || mcp_store_final(st)) {
        rc = MCP_ERR_NOT_FOUND;

    } else {
        rc = mcp_store_subscribe_locked(&op, st, topic);
    }

    mcp_store_leave(&op);

    return rc;
}


int
mcp_store_unsubscribe(mcp_store_t *store, const mcp_stream_ref_t *ref,
    const unsigned char topic[MCP_DIGEST_LEN])
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_entry_t   *e;
    mcp_store_stream_t  *st;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc != MCP_OK) {
        return rc;
    }

    e = mcp_store_entry_find(op.head, MCP_ENTRY_SUB, 0, topic, ref->index);

    if (e != NULL) {
        mcp_store_sub_free(&op, e);
    }

    mcp_store_leave(&op);

    return MCP_OK;
}


/*
 * The subscription that follows a position: the entry's ref and its
 * ordinal.  New ones come first in the list, and are not met any more.  When
 * the entry at the position has gone, the list is searched for the place.
 */
static mcp_store_entry_t *
mcp_store_sub_next(mcp_store_head_t *head, mcp_store_entry_t *topic,
    uint64_t position)
{
    uint32_t            ref, ordinal, index, n;
    mcp_store_entry_t  *e;

    e = mcp_store_at(head, (uint32_t) (position >> 32));
    ordinal = (uint32_t) position;
    ref = topic->u.group.list.first;

    if (position != 0) {
        index = mcp_store_index(head, e);

        if (mcp_store_index_ok(head, index)
            && mcp_store_types(head)[index] == MCP_CHUNK_ENTRY
            && e->kind == MCP_ENTRY_SUB && e->u.sub.ordinal == ordinal
            && memcmp(e->key, topic->key, sizeof(e->key)) == 0)
        {
            ref = e->u.sub.topic.next;
        }
    }

    for (n = 0; ref != 0 && ref != MCP_STORE_END && n <= head->n_subs; n++) {
        e = mcp_store_container(head, ref, mcp_store_entry_t, u.sub.topic);

        if (position == 0 || mcp_store_older(e->u.sub.ordinal, ordinal)) {
            return e;
        }

        ref = e->u.sub.topic.next;
    }

    return NULL;
}


uint64_t
mcp_store_subscribers(mcp_store_t *store,
    const unsigned char topic[MCP_DIGEST_LEN])
{
    uint64_t            n;
    mcp_store_op_t      op;
    mcp_store_entry_t  *group;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return 0;
    }

    group = mcp_store_entry_find(op.head, MCP_ENTRY_TOPIC, 0, topic, 0);
    n = group ? group->u.group.count : 0;

    mcp_store_leave(&op);

    return n;
}


int
mcp_store_publish(mcp_store_t *store,
    const unsigned char topic[MCP_DIGEST_LEN], mcp_str_t message,
    unsigned budget, uint64_t *position, size_t *n)
{
    int                  big, rc;
    size_t               copied;
    mcp_store_op_t       op;
    mcp_stream_ref_t     ref;
    mcp_store_entry_t   *group, *e;
    mcp_store_stream_t  *st;

    if (*position == 0) {
        *n = 0;
    }

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    big = message.len > MCP_STORE_BIG;
    copied = 0;
    rc = MCP_OK;
    st = NULL;

    for ( ;; ) {
        /* looked up again: making room may free the last subscription */

        group = mcp_store_entry_find(op.head, MCP_ENTRY_TOPIC, 0, topic, 0);
        e = group ? mcp_store_sub_next(op.head, group, *position) : NULL;

        if (e == NULL) {
            break;
        }

        if (budget-- == 0 || copied > MCP_STORE_BIG) {
            rc = MCP_AGAIN;
            break;
        }

        *position = (uint64_t) mcp_store_ref(op.head, e) << 32
                    | e->u.sub.ordinal;
        st = mcp_store_stream(op.head, e->u.sub.stream);

        if (mcp_store_final(st)) {
            st = NULL;
            continue;
        }

        (*n)++;

        if (big) {
            rc = MCP_AGAIN;
            ref.index = e->u.sub.stream;
            memcpy(ref.id, st->id, MCP_STREAM_ID_LEN);
            break;
        }

        mcp_store_stream_publish(&op, st, message, NULL);
        copied += message.len;
    }

    mcp_store_leave(&op);

    if (big && st != NULL && rc == MCP_AGAIN) {
        mcp_store_stream_publish_big(store, &ref, message);
    }

    return rc;
}
