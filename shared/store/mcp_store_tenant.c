/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Accounting of each tenant's use of the region. A tenant's group counts its
 * streams, their chunks and its values, and has a ring for each kind of streams
 * that may be evicted (MCP_EVICT_...). A rank contains the tenants with about
 * the same number of chunks. For each kind and rank there is a list of the
 * first streams of the tenants' rings, so that a stream of the largest tenant
 * is found at once. The group of an IPv6 address is contained in the groups of
 * its /56 and its /48 (mcp_tenant_parent()), which have the same counts for all
 * their tenants together, and have no rings. A second group of the tenant
 * counts only its values with text, so that a new value with text replaces only
 * such a value.
 */


#include "store/mcp_store_layout.h"


uint32_t
mcp_store_tenant_size(const mcp_store_stream_t *st)
{
    return mcp_store_tenant_base(st) + st->events.chunks + st->inbox.chunks;
}


uint32_t
mcp_store_tenant_base(const mcp_store_stream_t *st)
{
    return 1 + st->text_chunks + mcp_store_subs_chunks(st->n_subs);
}


uint32_t
mcp_store_subs_chunks(uint32_t n)
{
    return (2 * n + MCP_STORE_ENTRIES - 1) / MCP_STORE_ENTRIES;
}


mcp_store_entry_t *
mcp_store_tenant_up(mcp_store_head_t *head, const mcp_store_entry_t *tenant)
{
    unsigned char  id[MCP_DIGEST_LEN];

    return mcp_tenant_parent(tenant->key, id)
           ? mcp_store_entry_find(head, MCP_ENTRY_TENANT, tenant->purpose, id,
                                  0)
           : NULL;
}


mcp_store_entry_t *
mcp_store_tenant_group(mcp_store_op_t *op,
    const unsigned char id[MCP_DIGEST_LEN])
{
    unsigned char       up[MCP_DIGEST_LEN];
    mcp_store_entry_t  *tenant;

    tenant = mcp_store_entry_find(op->head, MCP_ENTRY_TENANT, 0, id, 0);

    /* no group exists without the groups that contain it, so those are created
     * first */

    if (tenant == NULL
        && (!mcp_tenant_parent(id, up) || mcp_store_tenant_group(op, up)))
    {
        tenant = mcp_store_group(op, MCP_ENTRY_TENANT, 0, id);
    }

    return tenant;
}


/* --- ranks --- */

/* Returns the rank of a tenant with that number of chunks. There are four
 * ranks for each power of two. */
static unsigned
mcp_store_tenant_rank(uint32_t chunks)
{
    unsigned  log;

    if (chunks < 8) {
        return chunks;
    }

    log = 31 - (unsigned) __builtin_clz(chunks);

    return 4 * (log - 1) + ((chunks >> (log - 2)) & 3);
}


/* Adds the first stream of a tenant's ring k to the list of the tenant's rank
 * if "change" is mcp_store_list_append(), or removes the stream from this list
 * if "change" is mcp_store_list_remove(). */
static void
mcp_store_tenant_rank_change(mcp_store_head_t *head, mcp_store_entry_t *tenant,
    unsigned k, void (*change)(mcp_store_head_t *head, mcp_store_list_t *list,
        mcp_store_link_t *link))
{
    mcp_store_stream_t  *st;

    st = mcp_store_tenant_first(head, tenant, k);

    if (st != NULL) {
        change(head, &head->rank[k][tenant->rank], &st->link[MCP_LINK_RANK]);
    }
}


/* Moves a tenant to the rank that matches its present number of chunks. */
static void
mcp_store_tenant_rank_set(mcp_store_head_t *head, mcp_store_entry_t *tenant)
{
    unsigned  k, rank;

    rank = mcp_store_tenant_rank(tenant->u.tenant.chunks);

    if (rank == tenant->rank) {
        return;
    }

    for (k = 0; k < MCP_EVICT_MAX; k++) {
        mcp_store_tenant_rank_change(head, tenant, k, mcp_store_list_remove);
    }

    tenant->rank = (uint8_t) rank;

    for (k = 0; k < MCP_EVICT_MAX; k++) {
        mcp_store_tenant_rank_change(head, tenant, k, mcp_store_list_append);
    }
}


/* --- members --- */

/* Returns 1 if a stream is in the ring IDLE or LINGER, and so does not count
 * towards its tenant's quota. */
static int
mcp_store_tenant_evictable(const mcp_store_stream_t *st)
{
    return mcp_store_in_ring(st, MCP_EVICT_IDLE)
           || mcp_store_in_ring(st, MCP_EVICT_LINGER);
}


/* Adds n to the number of chunks of a tenant and of the groups that contain the
 * tenant. Adds "held" to the number of chunks that count towards their
 * quotas. */
static void
mcp_store_tenant_add(mcp_store_head_t *head, mcp_store_entry_t *tenant,
    uint32_t n, uint32_t held)
{
    for (/* void */; tenant != NULL; tenant = mcp_store_tenant_up(head, tenant))
    {
        tenant->u.tenant.held += held;
        tenant->u.tenant.chunks += n;
        mcp_store_tenant_rank_set(head, tenant);
    }
}


/* Adds n to the chunks that a tenant uses for a stream. Does nothing for a
 * stream that is not counted yet. */
static void
mcp_store_tenant_change(mcp_store_head_t *head, const mcp_store_stream_t *st,
    uint32_t n)
{
    int  evictable;

    if (n == 0 || st->tenant_entry == 0) {
        return;
    }

    evictable = mcp_store_tenant_evictable(st);
    head->evictable += evictable ? n : 0;
    mcp_store_tenant_add(head, mcp_store_tenant_of(head, st), n,
                         evictable ? 0 : n);
}


void
mcp_store_tenant_resize(mcp_store_op_t *op, const mcp_store_log_t *log,
    uint32_t n)
{
    mcp_store_tenant_change(op->head,
                            mcp_store_stream(op->head,
                                             mcp_store_index(op->head, log)),
                            n);
}


void
mcp_store_tenant_subs(mcp_store_head_t *head, mcp_store_stream_t *st,
    uint32_t n)
{
    uint32_t  before;

    before = mcp_store_subs_chunks(st->n_subs);
    st->n_subs = n;

    mcp_store_tenant_change(head, st, mcp_store_subs_chunks(n) - before);
}


/* Adds n, which is 1 or -1, to the number of calls that do not linger if the
 * stream is a call, otherwise to the number of listeners. */
static void
mcp_store_tenant_count(mcp_store_head_t *head, mcp_store_entry_t *tenant,
    const mcp_store_stream_t *st, uint32_t n)
{
    int  call;

    call = st->kind == MCP_STREAM_CALL;
    head->n_calls += call ? n : 0;

    for (/* void */; tenant != NULL; tenant = mcp_store_tenant_up(head, tenant))
    {
        *(call ? &tenant->u.tenant.streams : &tenant->u.tenant.listeners) += n;
    }
}


/* Updates the counts for a stream that has entered a ring (n is 1), or is
 * about to leave it (n is -1). */
static void
mcp_store_tenant_ring_count(mcp_store_head_t *head, mcp_store_entry_t *tenant,
    const mcp_store_stream_t *st, uint32_t n)
{
    uint32_t  size;

    if (!mcp_store_tenant_evictable(st)) {
        head->n_unread += n;
        return;
    }

    size = n * mcp_store_tenant_size(st);
    head->evictable += size;
    mcp_store_tenant_add(head, tenant, 0, (uint32_t) -(int32_t) size);

    if (mcp_store_in_ring(st, MCP_EVICT_LINGER)
        && st->kind == MCP_STREAM_CALL)
    {
        mcp_store_tenant_count(head, tenant, st, (uint32_t) -(int32_t) n);
    }
}


static void
mcp_store_tenant_ring_enter(mcp_store_head_t *head, mcp_store_entry_t *tenant,
    mcp_store_stream_t *st, unsigned k)
{
    int  first;

    first = (tenant->u.tenant.ring[k] == 0);
    mcp_store_ring_append(head, &tenant->u.tenant.ring[k],
                          &st->link[MCP_LINK_EVICT]);
    st->evict = (uint8_t) (k + 1);

    if (first) {
        mcp_store_tenant_rank_change(head, tenant, k, mcp_store_list_append);
    }

    mcp_store_tenant_ring_count(head, tenant, st, 1);
}


static void
mcp_store_tenant_ring_leave(mcp_store_head_t *head, mcp_store_entry_t *tenant,
    mcp_store_stream_t *st)
{
    int       first;
    unsigned  k;

    if (st->evict == 0) {
        return;
    }

    k = st->evict - 1u;
    mcp_store_tenant_ring_count(head, tenant, st, (uint32_t) -1);
    first = mcp_store_tenant_first(head, tenant, k) == st;

    if (first) {
        mcp_store_tenant_rank_change(head, tenant, k, mcp_store_list_remove);
    }

    mcp_store_ring_remove(head, &tenant->u.tenant.ring[k],
                          &st->link[MCP_LINK_EVICT]);
    st->evict = 0;

    if (first) {
        mcp_store_tenant_rank_change(head, tenant, k, mcp_store_list_append);
    }
}


/* Returns 1 if a stream is an idle listener: it has no reader and no unsent
 * event, and it has had a reader or has waited for one long enough. */
static int
mcp_store_stream_idle(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    return st->kind == MCP_STREAM_LISTEN && !mcp_store_final(st) && st->seen
           && st->consumer_slot == MCP_STORE_NO_SLOT
           && st->sent_seq >= st->events.last
           && !mcp_store_is_mirror(head, st);
}


unsigned
mcp_store_stream_ring(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    int  anonymous;

    if (mcp_store_stream_settled(head, st)) {
        return MCP_EVICT_LINGER;
    }

    if (st->kind == MCP_STREAM_LISTEN) {
        return mcp_store_stream_idle(head, st) ? MCP_EVICT_IDLE : MCP_EVICT_MAX;
    }

    if (!st->seen || mcp_store_attended(head, st)) {
        return MCP_EVICT_MAX;
    }

    anonymous = mcp_digest_is_nobody(st->principal);

    if (anonymous && mcp_store_final(st)) {
        return MCP_EVICT_OVER;
    }

    return anonymous || !mcp_store_is_task(st) ? MCP_EVICT_LEFT : MCP_EVICT_MAX;
}


void
mcp_store_tenant_settle(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    unsigned            ring;
    mcp_store_entry_t  *tenant;

    if (st->tenant_entry == 0) {
        return;
    }

    tenant = mcp_store_tenant_of(op->head, st);
    ring = mcp_store_stream_ring(op->head, st);

    if (mcp_store_in_ring(st, ring)
        || (st->evict == 0 && ring == MCP_EVICT_MAX))
    {
        return;
    }

    mcp_store_tenant_ring_leave(op->head, tenant, st);

    if (ring != MCP_EVICT_MAX) {
        mcp_store_tenant_ring_enter(op->head, tenant, st, ring);
    }
}


void
mcp_store_tenant_enter(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_entry_t *tenant)
{
    uint32_t  size;

    st->tenant_entry = mcp_store_ref(op->head, tenant);
    size = mcp_store_tenant_size(st);

    mcp_store_tenant_count(op->head, tenant, st, 1);
    mcp_store_tenant_add(op->head, tenant, size, size);
}


/* Frees the group of a tenant, and the groups that contain it, if they have
 * neither streams nor values. */
static void
mcp_store_tenant_check(mcp_store_op_t *op, mcp_store_entry_t *tenant)
{
    mcp_store_entry_t  *up;

    for ( /* void */ ; tenant != NULL; tenant = up) {
        up = mcp_store_tenant_up(op->head, tenant);

        if (tenant->u.tenant.chunks == 0 && tenant->u.tenant.values == 0) {
            mcp_store_entry_free(op, tenant);
        }
    }
}


void
mcp_store_tenant_leave(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    uint32_t            size;
    mcp_store_entry_t  *tenant;

    if (st->tenant_entry == 0) {
        return;                        /* during a repair: the stream has not
                                          been added to its tenant yet */
    }

    tenant = mcp_store_tenant_of(op->head, st);
    mcp_store_tenant_ring_leave(op->head, tenant, st);
    size = (uint32_t) -(int32_t) mcp_store_tenant_size(st);
    st->tenant_entry = 0;

    mcp_store_tenant_count(op->head, tenant, st, (uint32_t) -1);
    mcp_store_tenant_add(op->head, tenant, size, size);

    mcp_store_tenant_check(op, tenant);
}


mcp_store_entry_t *
mcp_store_tenant_value_enter(mcp_store_op_t *op,
    const unsigned char id[MCP_DIGEST_LEN], unsigned text)
{
    unsigned char       up[MCP_DIGEST_LEN];
    mcp_store_entry_t  *tenant, *above;

    /* creates the outermost group first. Each group counts the new value at
     * once, so that making room for the next group does not free it */

    above = NULL;

    if (mcp_tenant_parent(id, up)) {
        above = mcp_store_tenant_value_enter(op, up, text);

        if (above == NULL) {
            return NULL;
        }
    }

    tenant = mcp_store_group(op, MCP_ENTRY_TENANT, text, id);

    if (tenant != NULL) {
        tenant->u.tenant.values++;

    } else if (above != NULL) {
        mcp_store_tenant_value_leave(op, mcp_store_ref(op->head, above));
    }

    return tenant;
}


void
mcp_store_tenant_value_leave(mcp_store_op_t *op, uint32_t ref)
{
    mcp_store_entry_t  *tenant, *up;

    if (ref == 0) {
        return;
    }

    tenant = mcp_store_at(op->head, ref);

    for (up = tenant; up != NULL; up = mcp_store_tenant_up(op->head, up)) {
        up->u.tenant.values--;
    }

    mcp_store_tenant_check(op, tenant);
}


/* --- pushed values --- */

void
mcp_store_tenant_push(mcp_store_op_t *op, mcp_store_entry_t *e)
{
    mcp_store_entry_t  *tenant;

    tenant = mcp_store_at(op->head, e->u.value.group);
    mcp_store_ring_append(op->head, &tenant->u.tenant.pushed, &e->u.value.ring);
}


void
mcp_store_tenant_pull(mcp_store_op_t *op, mcp_store_entry_t *e)
{
    mcp_store_entry_t  *tenant;

    if (!mcp_store_linked(&e->u.value.ring)) {
        return;
    }

    tenant = mcp_store_at(op->head, e->u.value.group);
    mcp_store_ring_remove(op->head, &tenant->u.tenant.pushed, &e->u.value.ring);
}


mcp_store_entry_t *
mcp_store_tenant_oldest(mcp_store_head_t *head, const mcp_store_entry_t *group)
{
    mcp_store_link_t  *newest;

    if (group == NULL || group->u.tenant.pushed == 0) {
        return NULL;
    }

    newest = mcp_store_at(head, group->u.tenant.pushed);

    return mcp_store_container(head, newest->next, mcp_store_entry_t,
                               u.value.ring);
}
