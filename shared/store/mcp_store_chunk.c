/* SPDX-License-Identifier: Apache-2.0 */

/* Takes and frees chunks, links them to chains, links their contents to lists,
 * and fills private chains without the lock. */


#include "store/mcp_store_layout.h"


uint32_t
mcp_store_room(const mcp_store_head_t *head, int all)
{
    uint32_t  room;

    room = head->n_free + (head->chunks + 1 - head->fresh);

    if (all) {
        return room;
    }

    return room > head->reserve ? room - head->reserve : 0;
}


uint32_t
mcp_store_room_alone(const mcp_store_head_t *head, const mcp_store_stream_t *st,
    int all)
{
    uint32_t  taken;

    /* one chunk has the entry of the session's group, and another one the
     * replication data, if there are any */
    taken = mcp_store_tenant_base(st) + 1 + (st->repl != 0)
            + (all ? 0 : head->reserve);

    return head->chunks > taken ? head->chunks - taken : 0;
}


int
mcp_store_ensure(mcp_store_op_t *op, uint32_t n, int all)
{
    mcp_store_stream_t  *st;

    while (mcp_store_room(op->head, all) < n) {
        st = mcp_store_victim(op);

        if (st == NULL) {
            return MCP_ERR_FULL;
        }

        mcp_store_evict(op, st);
    }

    return MCP_OK;
}


/* Takes a free chunk. The caller has checked that there is one. */
static uint32_t
mcp_store_chunk_take(mcp_store_head_t *head)
{
    uint32_t  index;

    if (head->free == 0) {
        return head->fresh++;
    }

    index = head->free;
    head->free = mcp_store_chunk(head, index)->next;
    head->n_free--;

    return index;
}


void
mcp_store_chain_take(mcp_store_op_t *op, uint32_t n, mcp_store_chain_t *chain)
{
    uint32_t            i, index;
    mcp_store_head_t   *head;
    mcp_store_chunk_t  *chunk;

    head = op->head;
    *chain = (mcp_store_chain_t) { 0, 0, n };
    chunk = NULL;

    for (i = 0; i < n; i++) {
        index = mcp_store_chunk_take(head);

        if (chunk == NULL) {
            chain->first = index;

        } else {
            chunk->next = index;
        }

        chunk = mcp_store_chunk(head, index);
        memset(chunk, 0, MCP_CHUNK_HEAD);
        chunk->used = MCP_CHUNK_HEAD;
        chain->last = index;
    }
}


void
mcp_store_chain_free(mcp_store_op_t *op, uint32_t first, uint32_t last,
    uint32_t count)
{
    if (first == 0) {
        return;
    }

    mcp_store_chunk(op->head, last)->next = op->head->free;
    op->head->free = first;
    op->head->n_free += count;
}


void
mcp_store_chain_drop(mcp_store_op_t *op, uint32_t first)
{
    uint32_t  last, next, count;

    if (first == 0) {
        return;
    }

    last = first;

    for (count = 1; count < op->head->chunks; count++) {
        next = mcp_store_chunk(op->head, last)->next;

        if (next == 0) {
            break;
        }

        last = next;
    }

    mcp_store_chain_free(op, first, last, count);
}


uint32_t
mcp_store_next_chunk(mcp_store_head_t *head, uint32_t index, unsigned char type)
{
    while (++index < head->fresh) {
        if (mcp_store_types(head)[index] == type) {
            return index;
        }
    }

    return 0;
}


uint32_t
mcp_store_root_take(mcp_store_op_t *op, unsigned char type)
{
    uint32_t  index;

    index = mcp_store_chunk_take(op->head);

    /* clears the chunk before it gets its type. In a chunk of zeros, no stream,
     * entry or replication data count as live, so the chunk is valid if this
     * process dies before it writes more */

    memset(mcp_store_chunk(op->head, index), 0, MCP_STORE_CHUNK);
    mcp_store_barrier();
    mcp_store_types(op->head)[index] = type;

    return index;
}


void
mcp_store_root_free(mcp_store_op_t *op, uint32_t index)
{
    mcp_store_types(op->head)[index] = MCP_CHUNK_NONE;
    mcp_store_barrier();
    mcp_store_chain_free(op, index, index, 1);
}


void
mcp_store_copy_in(mcp_store_head_t *head, mcp_store_pos_t *pos,
    const void *data, size_t len)
{
    size_t              n;
    const char         *p;
    mcp_store_chunk_t  *chunk;

    p = data;

    while (len > 0) {

        if (pos->offset == MCP_STORE_CHUNK) {
            pos->chunk = mcp_store_chunk(head, pos->chunk)->next;
            pos->offset = MCP_CHUNK_HEAD;
        }

        chunk = mcp_store_chunk(head, pos->chunk);
        n = MCP_STORE_CHUNK - pos->offset;

        if (n > len) {
            n = len;
        }

        memcpy((char *) chunk + pos->offset, p, n);

        pos->offset += (uint32_t) n;
        p += n;
        len -= n;
        chunk->used = (uint16_t) pos->offset;
    }
}


size_t
mcp_store_copy_out(mcp_store_head_t *head, mcp_store_pos_t *pos, void *data,
    size_t len)
{
    char               *p;
    size_t              n, left;
    mcp_store_chunk_t  *chunk;

    p = data;
    left = len;

    while (left > 0) {
        chunk = mcp_store_chunk(head, pos->chunk);

        if (pos->offset >= chunk->used) {
            if (!mcp_store_index_ok(head, chunk->next)) {
                break;
            }

            pos->chunk = chunk->next;
            pos->offset = MCP_CHUNK_HEAD;
            chunk = mcp_store_chunk(head, pos->chunk);

            if (chunk->used <= MCP_CHUNK_HEAD) {
                break;
            }
        }

        n = chunk->used - pos->offset;

        if (n > left) {
            n = left;
        }

        memcpy(p, (char *) chunk + pos->offset, n);

        pos->offset += (uint32_t) n;
        p += n;
        left -= n;
    }

    return len - left;
}


int
mcp_store_copy_piece(mcp_store_head_t *head, mcp_store_pos_t *pos, char **data,
    size_t *left)
{
    size_t  n;

    n = *left < MCP_STORE_BIG ? *left : MCP_STORE_BIG;

    if (mcp_store_copy_out(head, pos, *data, n) != n) {
        return MCP_ERR_INTERNAL;
    }

    if (n > 0) {
        *data += n;
        *left -= n;
    }

    return *left > 0 ? MCP_OK : MCP_DONE;
}


/* Takes at most MCP_STORE_BATCH more chunks for a private chain that will have
 * "total" chunks. If the chain is still empty, also adds it to the list of
 * private chains of this process's slot, so that it is freed if this process
 * dies. Returns the values of mcp_store_private_make(). */
static int
mcp_store_private_grow(mcp_store_t *store, uint32_t total, int all,
    const unsigned char *tenant, mcp_store_chain_t *chain)
{
    int                 rc;
    uint32_t            n;
    mcp_store_op_t      op;
    mcp_store_slot_t   *slot;
    mcp_store_chain_t   more;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    op.tenant = tenant;
    slot = &op.head->slots[store->slot];
    n = total - chain->count;
    rc = slot->pid == store->pid ? MCP_OK : MCP_ERR_INTERNAL;

    if (rc == MCP_OK) {
        rc = mcp_store_ensure(&op, n, all);
    }

    if (rc == MCP_OK) {
        n = n < MCP_STORE_BATCH ? n : MCP_STORE_BATCH;
        mcp_store_chain_take(&op, n, &more);

        if (chain->count == 0) {
            *chain = more;
            mcp_store_chunk(op.head, chain->first)->skip = slot->reserved;
            mcp_store_barrier();
            slot->reserved = chain->first;

        } else {
            mcp_store_chunk(op.head, chain->last)->next = more.first;
            chain->last = more.last;
            chain->count += n;
        }

        mcp_store_chunk(op.head, chain->first)->count = chain->count;
    }

    mcp_store_leave(&op);

    return rc;
}


void
mcp_store_private_drop(mcp_store_t *store, mcp_store_chain_t *chain)
{
    mcp_store_op_t  op;

    if (chain->count == 0 || mcp_store_enter(store, &op) != MCP_OK) {
        return;
    }

    if (mcp_store_private_claim(&op, chain) == MCP_OK) {
        mcp_store_chain_free(&op, chain->first, chain->last, chain->count);
    }

    mcp_store_leave(&op);
}


int
mcp_store_private_make(mcp_store_t *store, const mcp_str_t *parts, size_t n,
    uint32_t skip, int all, const unsigned char *tenant,
    mcp_store_chain_t *chain)
{
    int              rc;
    size_t           i, len;
    uint32_t         total;
    mcp_store_pos_t  pos;

    *chain = (mcp_store_chain_t) { 0, 0, 0 };
    len = skip;

    for (i = 0; i < n; i++) {
        len += parts[i].len;
    }

    total = mcp_store_chunks(len);

    while (chain->count < total) {
        rc = mcp_store_private_grow(store, total, all, tenant, chain);
        if (rc != MCP_OK) {
            mcp_store_private_drop(store, chain);
            return rc;
        }
    }

    pos = (mcp_store_pos_t) { chain->first, MCP_CHUNK_HEAD + skip };

    for (i = 0; i < n; i++) {
        mcp_store_copy_in(store->head, &pos, parts[i].data, parts[i].len);
    }

    return MCP_OK;
}


int
mcp_store_private_claim(mcp_store_op_t *op, mcp_store_chain_t *chain)
{
    uint32_t            n, *link;
    mcp_store_slot_t   *slot;
    mcp_store_chunk_t  *chunk;

    slot = &op->head->slots[op->store->slot];

    if (slot->pid != op->store->pid) {
        return MCP_ERR_INTERNAL;
    }

    link = &slot->reserved;

    for (n = 0; *link && n < op->head->chunks; n++) {
        chunk = mcp_store_chunk(op->head, *link);

        if (*link == chain->first) {
            *link = chunk->skip;
            chunk->skip = 0;
            chunk->count = 0;
            return MCP_OK;
        }

        link = &chunk->skip;
    }

    return MCP_ERR_INTERNAL;
}


void
mcp_store_private_reclaim(mcp_store_op_t *op, unsigned slot)
{
    uint32_t  first, *link;

    link = &op->head->slots[slot].reserved;

    while (*link) {
        first = *link;
        *link = mcp_store_chunk(op->head, first)->skip;
        mcp_store_chain_drop(op, first);
    }
}


/* Adds a link to a list between its neighbours, whose refs are prev and
 * next. */
static void
mcp_store_list_insert(mcp_store_head_t *head, mcp_store_list_t *list,
    uint32_t prev, mcp_store_link_t *link, uint32_t next)
{
    link->prev = prev;
    link->next = next;

    *(prev == MCP_STORE_END ? &list->first : &mcp_store_link(head, prev)->next)
        = mcp_store_ref(head, link);
    *(next == MCP_STORE_END ? &list->last : &mcp_store_link(head, next)->prev)
        = mcp_store_ref(head, link);
}


void
mcp_store_list_append(mcp_store_head_t *head, mcp_store_list_t *list,
    mcp_store_link_t *link)
{
    mcp_store_list_insert(head, list, list->first ? list->last : MCP_STORE_END,
                          link, MCP_STORE_END);
}


void
mcp_store_list_prepend(mcp_store_head_t *head, mcp_store_list_t *list,
    mcp_store_link_t *link)
{
    mcp_store_list_insert(head, list, MCP_STORE_END, link,
                          list->first ? list->first : MCP_STORE_END);
}


void
mcp_store_list_remove(mcp_store_head_t *head, mcp_store_list_t *list,
    mcp_store_link_t *link)
{
    if (!mcp_store_linked(link)) {
        return;
    }

    if (link->prev == MCP_STORE_END) {
        list->first = link->next == MCP_STORE_END ? 0 : link->next;
    } else {
        mcp_store_link(head, link->prev)->next = link->next;
    }

    if (link->next == MCP_STORE_END) {
        list->last = link->prev == MCP_STORE_END ? 0 : link->prev;
    } else {
        mcp_store_link(head, link->next)->prev = link->prev;
    }

    *link = (mcp_store_link_t) { 0, 0 };
}


void
mcp_store_ring_append(mcp_store_head_t *head, uint32_t *ring,
    mcp_store_link_t *link)
{
    uint32_t  ref;

    ref = mcp_store_ref(head, link);
    link->prev = *ring ? *ring : ref;
    link->next = *ring ? mcp_store_link(head, *ring)->next : ref;
    mcp_store_link(head, link->prev)->next = ref;
    mcp_store_link(head, link->next)->prev = ref;
    *ring = ref;
}


void
mcp_store_ring_remove(mcp_store_head_t *head, uint32_t *ring,
    mcp_store_link_t *link)
{
    uint32_t  ref;

    ref = mcp_store_ref(head, link);

    if (*ring == ref) {
        *ring = link->prev == ref ? 0 : link->prev;
    }

    mcp_store_link(head, link->prev)->next = link->next;
    mcp_store_link(head, link->next)->prev = link->prev;
    *link = (mcp_store_link_t) { 0, 0 };
}
