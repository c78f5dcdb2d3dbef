/* SPDX-License-Identifier: Apache-2.0 */

/* The second part of a repair: adds streams, values and subscriptions to their
 * hash tables, groups and lists again, in the order that they had before. */


#include "store/mcp_store_layout.h"


/* Sorts a list of structures by the ordinal at "offset" in each, oldest first:
 * a radix sort with a pass for each byte. The structures are linked by a ref
 * in their first word. Returns the first one. */
static uint32_t
mcp_store_repair_sort(mcp_store_head_t *head, uint32_t list, size_t offset)
{
    char      *p;
    unsigned   shift, k;
    uint32_t   ordinal, next, first[256], *last[256], *tail;

    for (shift = 0; shift < 32; shift += 8) {
        for (k = 0; k < 256; k++) {
            first[k] = 0;
            last[k] = &first[k];
        }

        for ( /* void */ ; list; list = next) {
            p = mcp_store_at(head, list);
            next = *(uint32_t *) p;
            memcpy(&ordinal, p + offset, sizeof(ordinal));

            /* ordinals wrap: compare their distance from the oldest possible
             * one */
            ordinal -= head->ordinal + 1;
            k = (ordinal >> shift) & 0xff;

            *last[k] = list;
            last[k] = (uint32_t *) p;
            *(uint32_t *) p = 0;
        }

        tail = &list;

        for (k = 0; k < 256; k++) {
            if (first[k] != 0) {
                *tail = first[k];
                tail = last[k];
            }
        }
    }

    return list;
}


/* Wakes the owner, the consumer and the joined readers of a stream. If the
 * owner is dead, makes the stream an orphan; if the consumer is dead, detaches
 * it. */
static void
mcp_store_repair_tenants(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_head_t         *head;
    mcp_store_replication_t  *repl;

    head = op->head;

    if (st->consumer_slot == MCP_STORE_REMOTE_CONSUMER && st->repl != 0) {
        repl = mcp_store_replication_of(head, st->repl);

        if (repl->reader < st->consumer_handle) {
            repl->reader = st->consumer_handle;
        }

    } else if (st->consumer_slot != MCP_STORE_NO_SLOT
               && (st->consumer_slot >= MCP_STORE_SLOTS
                   || head->slots[st->consumer_slot].pid == 0))
    {
        st->consumer_slot = MCP_STORE_NO_SLOT;
        st->unattended = 0;
    }

    if (st->owner_slot == MCP_STORE_OWNERLESS
        || (st->owner_slot < MCP_STORE_SLOTS
            && head->slots[st->owner_slot].pid == 0)
        || (st->owner_slot == MCP_STORE_NO_SLOT
            && st->kind == MCP_STREAM_CALL && !mcp_store_final(st)
            && !mcp_store_is_mirror(head, st)))
    {
        st->owner_slot = MCP_STORE_OWNERLESS;
        mcp_store_list_append(head, &head->ownerless,
                              &st->link[MCP_LINK_OWNER]);
        atomic_fetch_add(&head->n_ownerless, 1);

    } else {
        mcp_store_mark_owner(op, st);
    }

    mcp_store_mark_consumer(op, st);
}


/* Adds a stream to the hash table, to the groups of its session and its
 * tenant, and to their lists. */
static void
mcp_store_repair_enter(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_head_t   *head;
    mcp_store_entry_t  *session, *tenant;

    head = op->head;

    mcp_store_repair_tenants(op, st);
    mcp_store_stream_link(head, mcp_store_index(head, st));

    /* there is room, because at least as many groups existed before the
     * repair */

    session = mcp_store_group(op, MCP_ENTRY_SESSION, st->session);
    tenant = mcp_store_tenant_group(op, st->tenant);

    if (session == NULL || tenant == NULL) {
        return;
    }

    mcp_store_tenant_enter(op, st, tenant);

    /* called before the stream enters its session's list: otherwise
     * mcp_store_stream_settle() would move it to the top of the other list */

    mcp_store_stream_settle(op, st);

    st->session_group = mcp_store_ref(head, session);
    session->u.group.count++;

    if (!mcp_store_in_ring(st, MCP_EVICT_LINGER)) {
        session->u.group.active++;
    }

    mcp_store_session_enter(head, session, st);
}


void
mcp_store_repair_links(mcp_store_op_t *op)
{
    uint32_t             i, list, next;
    mcp_store_head_t    *head;
    mcp_store_stream_t  *st;

    head = op->head;
    list = 0;

    for (i = 1; i < head->fresh; i++) {
        if (mcp_store_types(head)[i] != MCP_CHUNK_STREAM) {
            continue;
        }

        st = mcp_store_stream(head, i);

        if (st->live == MCP_STREAM_LIVE) {
            st->next = list;
            list = mcp_store_ref(head, st);
            continue;
        }

        /* a tombstone only has to notify its owner and its consumer */

        mcp_store_mark_owner(op, st);
        mcp_store_mark_consumer(op, st);

        mcp_store_tombstone_settle(op, st);
    }

    list = mcp_store_repair_sort(head, list,
                                 offsetof(mcp_store_stream_t, joined));

    for ( /* void */ ; list; list = next) {
        st = mcp_store_at(head, list);
        next = st->next;
        mcp_store_repair_enter(op, st);
    }
}


static void
mcp_store_repair_sub(mcp_store_op_t *op, mcp_store_entry_t *e)
{
    uint32_t             index;
    mcp_store_head_t    *head;
    mcp_store_entry_t   *topic;
    mcp_store_stream_t  *st;

    head = op->head;
    index = e->u.sub.stream;
    topic = NULL;

    memset(&e->u.sub.topic, 0, sizeof(mcp_store_link_t));
    memset(&e->u.sub.peer, 0, sizeof(mcp_store_link_t));

    if (mcp_store_index_ok(head, index)
        && mcp_store_types(head)[index] == MCP_CHUNK_STREAM)
    {
        st = mcp_store_stream(head, index);

        /* a subscription older than the stream belonged to an earlier stream
         * in the same chunk */

        if (st->live == MCP_STREAM_LIVE && st->kind == MCP_STREAM_LISTEN
            && mcp_store_older(st->ordinal, e->u.sub.ordinal)
            && !mcp_store_entry_find(head, MCP_ENTRY_SUB, 0, e->key, index))
        {
            topic = mcp_store_group(op, MCP_ENTRY_TOPIC, e->key);
        }
    }

    if (topic == NULL) {
        mcp_store_entry_free(op, e);
        return;
    }

    mcp_store_entry_insert(head, e);
    mcp_store_sub_link(head, topic, e);
}


static void
mcp_store_repair_value(mcp_store_op_t *op, mcp_store_entry_t *e)
{
    mcp_store_entry_t  *tenant;

    mcp_store_entry_insert(op->head, e);
    op->head->n_values++;
    e->u.value.group = 0;
    memset(&e->u.value.ring, 0, sizeof(mcp_store_link_t));

    if (mcp_store_tenant_is_nobody(e->u.value.tenant)) {
        return;
    }

    tenant = mcp_store_tenant_value_enter(op, e->u.value.tenant);

    if (tenant != NULL) {
        e->u.value.group = mcp_store_ref(op->head, tenant);

        if (e->pushed) {
            mcp_store_tenant_push(op, e);
        }
    }
}


/* Adds all values, subscriptions and JOIN entries to the hash table, and to
 * their groups and lists. */
void
mcp_store_repair_insert(mcp_store_op_t *op)
{
    unsigned              k;
    uint32_t              i, list, next, purpose[256];
    mcp_store_head_t     *head;
    mcp_store_entry_t    *e;
    mcp_store_entries_t  *entries;

    head = op->head;
    list = 0;
    memset(purpose, 0, sizeof(purpose));

    for (i = 1; i < head->fresh; i++) {
        if (mcp_store_types(head)[i] != MCP_CHUNK_ENTRY) {
            continue;
        }

        entries = (mcp_store_entries_t *) mcp_store_chunk(head, i);

        for (k = 0; k < MCP_STORE_ENTRIES; k++) {
            e = &entries->entry[k];

            if (e->kind == MCP_ENTRY_VALUE) {
                purpose[e->purpose]++;
                mcp_store_repair_value(op, e);

            } else if (e->kind == MCP_ENTRY_SUB) {
                e->next = list;
                list = mcp_store_ref(head, e);

            } else if (e->kind == MCP_ENTRY_JOIN) {
                mcp_store_repair_join(op, e);
            }
        }
    }

    /* the complete counts are stored at once, because other processes read
     * them without the lock */

    for (k = 0; k < 256; k++) {
        atomic_store(&head->purpose[k], purpose[k]);
    }

    list = mcp_store_repair_sort(head, list,
                                 offsetof(mcp_store_entry_t, u.sub.ordinal));

    for ( /* void */ ; list; list = next) {
        e = mcp_store_at(head, list);
        next = e->next;
        mcp_store_repair_sub(op, e);
    }
}
