/* SPDX-License-Identifier: Apache-2.0 */

/* Subscribes listeners to topics, and appends published messages to the streams
 * of the subscribed listeners. */


#include "store/mcp_store_layout.h"


/* Maximum number of subscriptions of one stream. */
#define MCP_STORE_SUBS_MAX  4096


void
mcp_store_sub_link(mcp_store_head_t *head, mcp_store_entry_t *topic,
    mcp_store_entry_t *e)
{
    mcp_store_stream_t  *st;

    st = mcp_store_stream(head, e->u.sub.stream);

    topic->u.group.count++;
    mcp_store_list_prepend(head, &topic->u.group.list, &e->u.sub.topic);
    mcp_store_list_append(head, &st->subs, &e->u.sub.peer);

    mcp_store_tenant_subs(head, st, st->n_subs + 1);
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
    mcp_store_tenant_subs(head, st, st->n_subs - 1);
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
    uint32_t            n;
    mcp_store_entry_t  *e, *group;

    if (st->kind != MCP_STREAM_LISTEN || mcp_store_final(st)) {
        return MCP_ERR_NOT_FOUND;
    }

    if (mcp_store_entry_find(op->head, MCP_ENTRY_SUB, 0, topic, st->self)) {
        return MCP_OK;
    }

    /* making room for the subscription must not evict the stream itself */
    op->keep = st;
    n = mcp_store_subs_chunks(st->n_subs + 1)
        - mcp_store_subs_chunks(st->n_subs);

    if (st->n_subs >= MCP_STORE_SUBS_MAX
        || (n > 0 && !mcp_store_tenant_allows(op, st, n, 0)))
    {
        return MCP_ERR_LIMIT;
    }

    /* makes room for the subscription and the topic's group at once, because
     * making room for the second one could evict the first */
    if (mcp_store_ensure(op, 2, 0) != MCP_OK) {
        return MCP_ERR_FULL;
    }

    group = mcp_store_group(op, MCP_ENTRY_TOPIC, 0, topic);
    e = mcp_store_entry_take(op, 0);

    if (group == NULL || e == NULL) {
        return MCP_ERR_INTERNAL;
    }

    memcpy(e->key, topic, sizeof(e->key));
    e->u.sub.stream = st->self;
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
    if (rc == MCP_OK) {
        rc = mcp_store_subscribe_locked(&op, st, topic);
        mcp_store_leave(&op);
    }

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
    if (rc == MCP_OK) {
        e = mcp_store_entry_find(op.head, MCP_ENTRY_SUB, 0, topic, ref->index);
        if (e != NULL) {
            mcp_store_sub_free(&op, e);
        }

        mcp_store_leave(&op);
    }

    return rc;
}


/*
 * Returns the next older subscription to a topic, or NULL if there is none.
 * "position" consists of the ref and the ordinal of the previous subscription,
 * or is 0 for the newest one, or is from mcp_store_publish_start(), without a
 * ref. If the previous subscription was freed, or there is no ref, searches the
 * list for the first older one. Does not find subscriptions that were added
 * meanwhile, because they are at the beginning of the list. Finds the topic's
 * group anew in each call, because making room for a message may free the last
 * subscription, and the group with it.
 */
static mcp_store_entry_t *
mcp_store_sub_next(mcp_store_head_t *head,
    const unsigned char topic[MCP_DIGEST_LEN], uint64_t position)
{
    uint32_t            ref, ordinal, index, n;
    mcp_store_entry_t  *e;

    e = mcp_store_entry_find(head, MCP_ENTRY_TOPIC, 0, topic, 0);
    ref = e ? e->u.group.list.first : 0;
    ordinal = (uint32_t) position;

    if (ref && position >> 32 != 0) {
        e = mcp_store_at(head, (uint32_t) (position >> 32));
        index = mcp_store_index(head, e);

        if (mcp_store_index_ok(head, index)
            && mcp_store_types(head)[index] == MCP_CHUNK_ENTRY
            && e->kind == MCP_ENTRY_SUB && e->u.sub.ordinal == ordinal
            && memcmp(e->key, topic, sizeof(e->key)) == 0)
        {
            ref = e->u.sub.topic.next;
        }
    }

    for (n = 0; ref != 0 && ref != MCP_STORE_END && n <= head->n_subs; n++) {
        e = mcp_store_container(head, ref, mcp_store_entry_t, u.sub.topic);

        if (position == 0
            || mcp_store_older(head, e->u.sub.ordinal, ordinal))
        {
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
mcp_store_topics(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_buf_t *topics)
{
    int                  rc;
    char                *p;
    uint32_t             n, i, next;
    mcp_store_op_t       op;
    mcp_store_entry_t   *e;
    mcp_store_stream_t  *st;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc != MCP_OK) {
        return rc;
    }

    n = st->n_subs;
    mcp_store_leave(&op);

    p = mcp_buf_reserve(topics, (size_t) n * MCP_DIGEST_LEN + 1);
    if (p == NULL) {
        return topics->failed;
    }

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc != MCP_OK) {
        return rc;
    }

    next = st->subs.first;

    for (i = 0; i < n && i < st->n_subs; i++) {
        e = mcp_store_container(op.head, next, mcp_store_entry_t, u.sub.peer);
        memcpy(p, e->key, MCP_DIGEST_LEN);
        p += MCP_DIGEST_LEN;
        topics->len += MCP_DIGEST_LEN;
        next = e->u.sub.peer.next;
    }

    mcp_store_leave(&op);

    return MCP_OK;
}


/* Returns 1 if a stream subscribed to the topic gets the message: it is live,
 * not a mirror, and among those that "which" selects. */
static int
mcp_store_publishes(mcp_store_head_t *head, const mcp_store_stream_t *st,
    mcp_publish_e which)
{
    if (mcp_store_final(st) || mcp_store_is_mirror(head, st)) {
        return 0;
    }

    return which == MCP_PUBLISH_ALL
           || (which == MCP_PUBLISH_SHARED) == (st->repl != 0);
}


/* Appends a message to streams subscribed to a topic, like mcp_store_publish()
 * but with the lock held, and returns the same values. Does not append a
 * message longer than MCP_STORE_BIG: sets *ref to the next stream that gets the
 * message, and the caller appends the message there without the lock. */
static int
mcp_store_publish_locked(mcp_store_op_t *op,
    const unsigned char topic[MCP_DIGEST_LEN], mcp_str_t message,
    const mcp_publish_to_t *to, unsigned budget, uint64_t *position,
    size_t *n, mcp_stream_ref_t *ref)
{
    size_t               copied;
    mcp_store_entry_t   *e;
    mcp_store_stream_t  *st;

    copied = 0;

    for ( ;; ) {
        e = mcp_store_sub_next(op->head, topic, *position);

        if (e == NULL) {
            return MCP_OK;
        }

        if (budget-- == 0 || copied > MCP_STORE_BIG) {
            return MCP_AGAIN;
        }

        *position = (uint64_t) mcp_store_ref(op->head, e) << 32
                    | e->u.sub.ordinal;
        st = mcp_store_stream(op->head, e->u.sub.stream);

        if (!mcp_store_publishes(op->head, st, to->which)) {
            continue;
        }

        if (st->repl && to->ms) {
            mcp_store_replication_of(op->head, st->repl)->received
                = (mcp_node_position_t) { to->ms, to->n };
        }

        (*n)++;

        if (message.len > MCP_STORE_BIG) {
            ref->index = e->u.sub.stream;
            memcpy(ref->id, st->id, MCP_STREAM_ID_LEN);
            return MCP_AGAIN;
        }

        mcp_store_stream_publish(op, st, message, NULL);
        copied += message.len;
    }
}


int
mcp_store_publish(mcp_store_t *store, const unsigned char topic[MCP_DIGEST_LEN],
    mcp_str_t message, const mcp_publish_to_t *to, unsigned budget,
    uint64_t *position, size_t *n)
{
    int               rc;
    mcp_store_op_t    op;
    mcp_stream_ref_t  ref;

    if (*position == 0) {
        *n = 0;
    }

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    ref.index = 0;
    rc = mcp_store_publish_locked(&op, topic, message, to, budget, position,
                                  n, &ref);

    mcp_store_leave(&op);

    if (ref.index != 0) {
        mcp_store_stream_publish_big(store, &ref, message);
    }

    return rc;
}


uint64_t
mcp_store_publish_start(mcp_store_t *store)
{
    uint64_t        position;
    mcp_store_op_t  op;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return 0;
    }

    position = (uint32_t) (op.head->ordinal + 1);
    mcp_store_leave(&op);

    return position;
}


void
mcp_store_publish_one(mcp_store_t *store, const mcp_stream_ref_t *ref,
    const unsigned char topic[MCP_DIGEST_LEN], mcp_str_t message)
{
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    if (message.len > MCP_STORE_BIG
        || mcp_store_stream_enter(store, ref, &op, &st) != MCP_OK)
    {
        return;
    }

    if (mcp_store_entry_find(op.head, MCP_ENTRY_SUB, 0, topic, ref->index)
        && mcp_store_publishes(op.head, st, MCP_PUBLISH_ALL))
    {
        mcp_store_stream_publish(&op, st, message, NULL);
    }

    mcp_store_leave(&op);
}
