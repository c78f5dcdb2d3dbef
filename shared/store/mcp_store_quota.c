/* SPDX-License-Identifier: Apache-2.0 */

/* Checks the quotas of tenants, and chooses the stream to evict when there is
 * no room. */


#include "store/mcp_store_layout.h"


/* --- eviction --- */

/* Returns the oldest stream of a tenant's ring k, except op->keep, or NULL. */
static mcp_store_stream_t *
mcp_store_victim_of(mcp_store_op_t *op, const mcp_store_entry_t *tenant,
    unsigned k)
{
    mcp_store_stream_t  *st;

    st = mcp_store_tenant_first(op->head, tenant, k);

    if (st == NULL || st != op->keep) {
        return st;
    }

    st = mcp_store_container(op->head, st->link[MCP_LINK_EVICT].next,
                             mcp_store_stream_t, link[MCP_LINK_EVICT]);

    return st == op->keep ? NULL : st;
}


/* Returns the oldest stream of ring k of the largest tenant that has one, if
 * that tenant's rank is at least "least"; otherwise NULL. */
static mcp_store_stream_t *
mcp_store_victim_largest(mcp_store_op_t *op, unsigned k, unsigned least)
{
    uint32_t             ref;
    unsigned             rank;
    mcp_store_head_t    *head;
    mcp_store_stream_t  *st, *victim;

    head = op->head;

    for (rank = MCP_STORE_RANKS; rank-- > least; /* void */ ) {
        ref = head->rank[k][rank].first;

        /* usually the first tenant in the list has a victim. The next tenant is
         * tried only if op->keep is the only stream in the first tenant's ring
         * k */

        while (ref != 0 && ref != MCP_STORE_END) {
            st = mcp_store_container(head, ref, mcp_store_stream_t,
                                     link[MCP_LINK_RANK]);
            victim = mcp_store_victim_of(op, mcp_store_tenant_of(head, st), k);

            if (victim != NULL) {
                return victim;
            }

            ref = st->link[MCP_LINK_RANK].next;
        }
    }

    return NULL;
}


static mcp_store_entry_t *
mcp_store_victim_own(mcp_store_op_t *op)
{
    return op->tenant ? mcp_store_entry_find(op->head, MCP_ENTRY_TENANT, 0,
                                             op->tenant, 0)
                     : NULL;
}


/*
 * Returns the stream to evict next so that op's tenant is not rejected, or
 * NULL. It belongs to the largest tenant, if that is larger than op's, and is
 *
 *   1.  the oldest call that is over, without a reader and without a principal,
 *       or
 *   2.  the oldest other call without a reader.
 *
 * Streams without a tenant make room for new ones without a tenant. Returns
 * NULL if the room is for the store itself or for a mirror.
 */
static mcp_store_stream_t *
mcp_store_victim_unread(mcp_store_op_t *op)
{
    unsigned             rank;
    mcp_store_entry_t   *own;
    mcp_store_stream_t  *st;

    /* no unread stream is evicted for the store itself, nor for a mirror,
     * whose events can be fetched later */

    if (op->head->n_unread == 0 || op->tenant == NULL
        || (op->keep && mcp_store_is_mirror(op->head, op->keep)))
    {
        return NULL;
    }

    own = mcp_store_victim_own(op);
    rank = own ? own->rank + 1 : 0;

    /* streams without a tenant are evicted for each other only if a new stream
     * needs the room */

    if (own && op->creates && mcp_digest_is_nobody(op->tenant)) {
        rank = 0;
    }

    st = mcp_store_victim_largest(op, MCP_EVICT_OVER, rank);

    return st ? st : mcp_store_victim_largest(op, MCP_EVICT_LEFT, rank);
}


mcp_store_stream_t *
mcp_store_victim(mcp_store_op_t *op)
{
    mcp_store_entry_t   *own;
    mcp_store_stream_t  *st;

    if (op->head->evictable == 0) {
        return mcp_store_victim_unread(op);
    }

    own = mcp_store_victim_own(op);

    /* idle listeners first: they have no unsent event, so their clients miss
     * nothing */
    st = own ? mcp_store_victim_of(op, own, MCP_EVICT_IDLE) : NULL;

    if (st == NULL) {
        st = mcp_store_victim_largest(op, MCP_EVICT_IDLE, 0);
    }

    if (st == NULL && own) {
        st = mcp_store_victim_of(op, own, MCP_EVICT_LINGER);
    }

    /* lingering streams of other tenants are evicted only if those tenants are
     * larger than op's */
    if (st == NULL) {
        st = mcp_store_victim_largest(op, MCP_EVICT_LINGER,
                                      own ? own->rank + 1 : 0);
    }

    return st ? st : mcp_store_victim_unread(op);
}


void
mcp_store_evict(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_add(op->head, MCP_COUNT_STREAMS_EVICTED,
                  !mcp_store_is_mirror(op->head, st));
    mcp_store_stream_free(op, st, 1);
}


/* --- quotas --- */

/* A response of at most this many chunks is always accepted, because its
 * stream is then over and takes no more room. */
#define MCP_STORE_RESPONSE  8


/*
 * Checks whether a tenant or a group of tenants, which uses "own", may use n
 * more. "free" is the part of "all" that no tenant uses. All four numbers
 * count the same things: chunks, streams, listeners or values. The quota is a
 * number, MCP_QUOTA_SHARE or MCP_QUOTA_OFF. The limits are multiplied by
 * "times": 1 for a tenant, more for a group of tenants, see MCP_STORE_WIDER.
 *
 * With MCP_QUOTA_SHARE, a tenant may use at most as much as remains free, and
 * so at most half of what the other tenants leave. Tenants that use as much as
 * possible at the same time get equal shares, and leave a share of the same
 * size for one more tenant. If tenants come one after the other, each would
 * find only half of what the previous one found. Therefore the last eighth is
 * reserved for tenants that use little. If the last eighth is used up as well,
 * such a tenant displaces a larger one.
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN      allowed if larger tenants free the same amount
 *   MCP_ERR_LIMIT  not allowed
 */
static int
mcp_store_quota_allows(uint64_t quota, unsigned times, uint64_t own,
    uint64_t n, uint64_t free, uint64_t all)
{
    int       fits;
    uint64_t  little;

    own += n;

    if (quota == MCP_QUOTA_OFF) {
        return MCP_OK;
    }

    if (quota != MCP_QUOTA_SHARE) {
        return (own + times - 1) / times <= quota ? MCP_OK : MCP_ERR_LIMIT;
    }

    fits = n <= free;
    free = fits ? free - n : 0;

    if (fits && free > all / MCP_STORE_LAST
        && own <= times * (free - all / MCP_STORE_LAST))
    {
        return MCP_OK;
    }

    /* a tenant that uses little may use even the last eighth of "all" */
    little = all / MCP_STORE_LITTLE;
    if (little < 2 * MCP_STORE_LEAST) {
        little = 2 * MCP_STORE_LEAST;
    }

    if (own > times * little) {
        return MCP_ERR_LIMIT;
    }

    return fits && own <= free / 4 ? MCP_OK : MCP_AGAIN;
}


/* Returns the worse of two results of mcp_store_quota_allows(): MCP_AGAIN is
 * worse than MCP_OK, and MCP_ERR_LIMIT is worse than both. */
static int
mcp_store_quota_worse(int a, int b)
{
    return b == MCP_OK || a == MCP_ERR_LIMIT ? a : b;
}


static uint64_t
mcp_store_left(uint64_t all, uint64_t used)
{
    return used < all ? all - used : 0;
}


/* Converts a quota from bytes to chunks. */
static uint64_t
mcp_store_quota_chunks(uint64_t bytes)
{
    if (bytes == MCP_QUOTA_SHARE || bytes == MCP_QUOTA_OFF) {
        return bytes;
    }

    return bytes < MCP_STORE_CHUNK ? 1 : bytes / MCP_STORE_CHUNK;
}


uint32_t
mcp_store_tenant_quota(const mcp_tenant_t *tenant)
{
    uint64_t  chunks;

    chunks = mcp_store_quota_chunks(tenant->bytes);

    return mcp_digest_is_nobody(tenant->id)
           || chunks >= MCP_STORE_NO_QUOTA ? MCP_STORE_NO_QUOTA
                                           : (uint32_t) chunks;
}


/* Checks whether a tenant, or a group of tenants, may use n more chunks.
 * "group" is NULL if it uses nothing yet. The chunks of streams that can be
 * evicted at once count as free. Returns the values of
 * mcp_store_quota_allows(). */
static int
mcp_store_tenant_demand(const mcp_store_head_t *head,
    const mcp_store_entry_t *group, uint64_t quota, uint32_t n, unsigned times)
{
    uint64_t  free;

    free = (uint64_t) mcp_store_room(head, 0) + head->evictable;

    return mcp_store_quota_allows(quota, times,
                                  group ? group->u.tenant.held : 0, n, free,
                                  head->chunks);
}


/*
 * Evicts unread streams of tenants that are larger than op's, until at least
 * "calls" calls and "chunks" chunks are freed.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_LIMIT  there are not enough such streams
 */
static int
mcp_store_tenant_press(mcp_store_op_t *op, uint32_t calls, uint32_t chunks)
{
    uint32_t             n, size;
    mcp_store_stream_t  *st;

    for (n = 0, size = 0; n < calls || size < chunks; n++) {
        st = mcp_store_victim_unread(op);

        if (st == NULL) {
            return MCP_ERR_LIMIT;
        }

        size += mcp_store_tenant_size(st);
        mcp_store_evict(op, st);
    }

    return MCP_OK;
}


/* Returns 1 if no quota applies when a stream takes n more chunks: the tenant
 * has none, or the chunks are for a short response. */
static int
mcp_store_tenant_exempt(const mcp_store_stream_t *st, uint32_t n, int response)
{
    return st->quota == MCP_STORE_NO_QUOTA || st->tenant_entry == 0
           || (response && n <= MCP_STORE_RESPONSE);
}


/*
 * Checks whether a stream may take n more chunks: for its tenant, and for the
 * groups that contain the tenant. With "response", a response of at most
 * MCP_STORE_RESPONSE chunks is allowed. Returns the values of
 * mcp_store_quota_allows().
 */
static int
mcp_store_tenant_append(mcp_store_op_t *op, const mcp_store_stream_t *st,
    uint32_t n, int response)
{
    int                 rc, other;
    unsigned            times;
    mcp_store_entry_t  *tenant;

    if (mcp_store_tenant_exempt(st, n, response)) {
        return MCP_OK;
    }

    rc = MCP_OK;
    times = 1;

    for (tenant = mcp_store_tenant_of(op->head, st);
         tenant != NULL;
         tenant = mcp_store_tenant_up(op->head, tenant))
    {
        other = mcp_store_tenant_demand(op->head, tenant, st->quota, n, times);
        rc = mcp_store_quota_worse(rc, other);
        times *= MCP_STORE_WIDER;
    }

    return rc;
}


int
mcp_store_tenant_allows(mcp_store_op_t *op, const mcp_store_stream_t *st,
    uint32_t n, int response)
{
    int  rc;

    rc = mcp_store_tenant_append(op, st, n, response);

    if (rc == MCP_AGAIN) {
        rc = mcp_store_tenant_press(op, 0, n);
    }

    return rc == MCP_OK;
}


int
mcp_store_tenant_would_allow(mcp_store_op_t *op, const mcp_store_stream_t *st,
    uint32_t n, int response)
{
    int  rc;

    rc = mcp_store_tenant_append(op, st, n, response);

    return rc == MCP_OK
           || (rc == MCP_AGAIN && mcp_store_victim_unread(op) != NULL);
}


int
mcp_store_tenant_large(mcp_store_op_t *op, const mcp_store_stream_t *st,
    uint32_t n, uint32_t total, int response)
{
    uint32_t  free;

    free = mcp_store_room_alone(op->head, st, 0);

    return !mcp_store_tenant_exempt(st, n, response)
           && mcp_store_quota_allows(st->quota, 1, mcp_store_tenant_base(st),
                                     total, free, op->head->chunks)
              != MCP_OK;
}


/*
 * Checks whether the quotas of a tenant, or of a group that contains the
 * tenant, allow a new stream that takes "chunks" chunks. "group" is NULL if
 * the tenant or the group uses nothing yet. For "times" and the return values
 * see mcp_store_quota_allows().
 */
static int
mcp_store_tenant_takes(mcp_store_head_t *head, const mcp_store_entry_t *group,
    const mcp_tenant_t *tenant, mcp_stream_kind_e kind, uint32_t chunks,
    unsigned times)
{
    int       rc;
    uint32_t  all;

    if (kind == MCP_STREAM_CALL) {
        all = head->chunks / MCP_STORE_CALLS;
        rc = mcp_store_quota_allows(tenant->streams, times,
                                    group ? group->u.tenant.streams : 0, 1,
                                    mcp_store_left(all, head->n_calls), all);
    } else {
        all = head->chunks / MCP_STORE_LISTENERS;
        rc = mcp_store_quota_allows(tenant->listeners, times,
                                    group ? group->u.tenant.listeners : 0, 1,
                                    mcp_store_left(all, head->n_listeners),
                                    all);

        /* no stream is evicted for a new listener if the share of listeners is
         * used up */
        rc = rc == MCP_AGAIN ? MCP_ERR_LIMIT : rc;
    }

    return mcp_store_quota_worse(rc, mcp_store_tenant_demand(head, group,
                                         mcp_store_quota_chunks(tenant->bytes),
                                         chunks, times));
}


/* Checks whether the quotas of a tenant and of all groups that contain it
 * allow a new stream. Returns the worst result of mcp_store_tenant_takes(). */
static int
mcp_store_tenant_may(mcp_store_op_t *op, const mcp_tenant_t *tenant,
    mcp_stream_kind_e kind, uint32_t chunks)
{
    int                 rc, other;
    unsigned            times;
    unsigned char       id[MCP_DIGEST_LEN];
    mcp_store_entry_t  *group;

    if (mcp_digest_is_nobody(tenant->id)) {
        return MCP_OK;
    }

    rc = MCP_OK;
    times = 1;
    memcpy(id, tenant->id, MCP_DIGEST_LEN);

    do {
        group = mcp_store_entry_find(op->head, MCP_ENTRY_TENANT, 0, id, 0);
        other = mcp_store_tenant_takes(op->head, group, tenant, kind, chunks,
                                       times);
        rc = mcp_store_quota_worse(rc, other);
        times *= MCP_STORE_WIDER;

    } while (mcp_tenant_parent(id, id));

    return rc;
}


int
mcp_store_tenant_may_create(mcp_store_op_t *op, const mcp_tenant_t *tenant,
    mcp_stream_kind_e kind, uint32_t chunks)
{
    int  rc;

    rc = mcp_store_tenant_may(op, tenant, kind, chunks);

    if (rc == MCP_AGAIN) {
        rc = mcp_store_tenant_press(op, kind == MCP_STREAM_CALL, chunks);
    }

    return rc == MCP_OK;
}


int
mcp_store_tenant_may_value(mcp_store_op_t *op, const mcp_tenant_t *tenant,
    unsigned text)
{
    int                 rc;
    uint32_t            all;
    uint64_t            free;
    unsigned            times;
    unsigned char       id[MCP_DIGEST_LEN];
    mcp_store_entry_t  *group;

    times = 1;
    all = mcp_store_values_max(op->head, text);
    free = mcp_store_left(all, mcp_store_values(op->head, text));
    memcpy(id, tenant->id, MCP_DIGEST_LEN);

    do {
        group = mcp_store_entry_find(op->head, MCP_ENTRY_TENANT, text, id, 0);
        rc = mcp_store_quota_allows(tenant->values, times,
                                    group ? group->u.tenant.values : 0, 1,
                                    free, all);
        times *= MCP_STORE_WIDER;

    } while (rc == MCP_OK && mcp_tenant_parent(id, id));

    return rc == MCP_OK;
}


/* Returns 1 if a call would be allowed even if all calls and all used chunks of
 * the region belonged to its session and its tenant. Reads the numbers of calls
 * and chunks without the lock. */
static int
mcp_store_admits_at_once(const mcp_store_head_t *head, uint32_t session_limit,
    const mcp_tenant_t *tenant)
{
    uint32_t  calls, room, all;

    calls = atomic_load_explicit(&head->hint_calls, memory_order_relaxed);
    room = atomic_load_explicit(&head->hint_room, memory_order_relaxed);

    if (room < MCP_STORE_LEAST
        || (session_limit != 0 && calls >= session_limit))
    {
        return 0;
    }

    if (mcp_digest_is_nobody(tenant->id)) {
        return 1;
    }

    all = head->chunks / MCP_STORE_CALLS;

    return mcp_store_quota_allows(tenant->streams, 1, calls, 1,
                                  mcp_store_left(all, calls), all)
           == MCP_OK
           && mcp_store_quota_allows(mcp_store_quota_chunks(tenant->bytes), 1,
                                     head->chunks - room, MCP_STORE_LEAST,
                                     room, head->chunks)
              == MCP_OK;
}


/*
 * If the quota is a number, rejects a call that would exceed it. If the quota
 * is a share, rejects a call only if no room remains for the tenant, and the
 * tenant uses more than about 1/MCP_STORE_LITTLE of the region. A tenant that
 * uses less may begin the call, because the call may need no room; the call is
 * rejected later if it needs some.
 */
int
mcp_store_admits(mcp_store_t *store,
    const unsigned char session[MCP_DIGEST_LEN], uint32_t session_limit,
    const mcp_tenant_t *tenant)
{
    int                 rc;
    mcp_store_op_t      op;
    mcp_store_entry_t  *group;

    if (mcp_store_admits_at_once(store->head, session_limit, tenant)) {
        return MCP_OK;
    }

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    rc = MCP_OK;

    if (mcp_store_session_crowded(op.head, session, session_limit)) {
        rc = MCP_ERR_LIMIT;
    } else if (!mcp_digest_is_nobody(tenant->id)) {
        group = mcp_store_entry_find(op.head, MCP_ENTRY_TENANT, 0, tenant->id,
                                     0);
        rc = mcp_store_tenant_takes(op.head, group, tenant, MCP_STREAM_CALL,
                                    MCP_STORE_LEAST, 1);
    }

    mcp_store_leave(&op);

    return rc == MCP_ERR_LIMIT ? rc : MCP_OK;
}
