/* SPDX-License-Identifier: Apache-2.0 */

/* The quotas of tenants. */


#include "store/mcp_store_layout.h"


/* A response of at most this many chunks is always accepted, because its
 * stream is then over and takes no more room. */
#define MCP_STORE_ANSWER  8


/* The input of one quota check. All numbers are of the same kind: chunks,
 * streams, listeners or values. */
typedef struct {
    uint64_t  quota;                   /* the quota: a number, MCP_QUOTA_SHARE
                                          or MCP_QUOTA_OFF */
    uint64_t  own;                     /* number that the tenant or the group
                                          uses */
    uint64_t  n;                       /* number that the tenant needs in
                                          addition */
    uint64_t  free;                    /* number that no tenant uses */
    uint64_t  all;
    unsigned  times;                   /* factor by which the limits are
                                          multiplied: 1 for a tenant, more for
                                          a group of tenants, see
                                          MCP_STORE_WIDER */
} mcp_store_demand_t;


/* Returns the number up to which a tenant counts as using little, and may use
 * even the last eighth of "all". */
static uint64_t
mcp_store_little(uint64_t all)
{
    uint64_t  little;

    little = all / MCP_STORE_LITTLE;

    return little > 2 * MCP_STORE_LEAST ? little : 2 * MCP_STORE_LEAST;
}


/*
 * Checks whether a tenant or a group of tenants may use more.
 *
 * With MCP_QUOTA_SHARE a tenant may use as much as remains free, which is half
 * of what the other tenants leave. Tenants that use as much as they can at the
 * same time get equal shares, and leave as much for one more tenant. Tenants
 * that come one after the other would each find half of what the previous one
 * found, so the last eighth is reserved for tenants that use little. If the
 * last eighth is used up as well, such a tenant displaces a larger one.
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN      allowed if larger tenants free the same amount
 *   MCP_ERR_LIMIT  not allowed
 */
static int
mcp_store_quota_allows(const mcp_store_demand_t *demand)
{
    uint64_t  own, free;

    own = demand->own + demand->n;

    if (demand->quota == MCP_QUOTA_OFF) {
        return MCP_OK;
    }

    if (demand->quota != MCP_QUOTA_SHARE) {
        return (own + demand->times - 1) / demand->times <= demand->quota
               ? MCP_OK : MCP_ERR_LIMIT;
    }

    free = demand->free > demand->n ? demand->free - demand->n : 0;

    if (demand->n <= demand->free && free > demand->all / MCP_STORE_LAST
        && own <= demand->times * (free - demand->all / MCP_STORE_LAST))
    {
        return MCP_OK;
    }

    if (own > demand->times * mcp_store_little(demand->all)) {
        return MCP_ERR_LIMIT;
    }

    return demand->n <= demand->free && own <= free / 4 ? MCP_OK : MCP_AGAIN;
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

    chunks = mcp_store_tenant_is_nobody(tenant->id)
             ? MCP_QUOTA_OFF : mcp_store_quota_chunks(tenant->bytes);

    return chunks < MCP_STORE_NO_QUOTA ? (uint32_t) chunks
                                       : MCP_STORE_NO_QUOTA;
}


/* Returns the number of chunks that are free, or whose streams can be evicted
 * at once. */
static uint64_t
mcp_store_tenant_free(const mcp_store_head_t *head)
{
    return (uint64_t) mcp_store_room(head, 0) + head->evictable;
}


/* Checks whether the tenant or the group of tenants "group", which is NULL if
 * it uses nothing, may use n more chunks. Returns rc or the result of this
 * check, whichever is worse. */
static int
mcp_store_tenant_demand(const mcp_store_head_t *head,
    const mcp_store_entry_t *group, uint64_t quota, uint32_t n, unsigned times,
    int rc)
{
    int              other;
    mcp_store_demand_t demand;

    demand.quota = quota;
    demand.own = group ? group->u.tenant.held : 0;
    demand.n = n;
    demand.free = mcp_store_tenant_free(head);
    demand.all = head->chunks;
    demand.times = times;
    other = mcp_store_quota_allows(&demand);

    return other == MCP_OK || rc == MCP_ERR_LIMIT ? rc : other;
}


/*
 * Evicts unread streams of tenants that are larger than op's, until as many as
 * "calls" and as many chunks as "chunks" are freed.
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


/*
 * Checks whether a stream may take n more chunks: for its tenant, and for the
 * groups that contain the tenant. With "answer", a response of at most
 * MCP_STORE_ANSWER chunks is allowed. Returns the values of
 * mcp_store_quota_allows().
 */
static int
mcp_store_tenant_append(mcp_store_op_t *op, const mcp_store_stream_t *st,
    uint32_t n, int answer)
{
    int                 rc;
    uint64_t            quota;
    unsigned            times;
    mcp_store_entry_t  *tenant;

    if (st->quota == MCP_STORE_NO_QUOTA || st->tenant_entry == 0
        || (answer && n <= MCP_STORE_ANSWER))
    {
        return MCP_OK;
    }

    rc = MCP_OK;
    times = 1;
    quota = st->quota == 0 ? MCP_QUOTA_SHARE : st->quota;

    for (tenant = mcp_store_tenant_of(op->head, st);
         tenant != NULL;
         tenant = mcp_store_tenant_up(op->head, tenant))
    {
        rc = mcp_store_tenant_demand(op->head, tenant, quota, n, times, rc);
        times *= MCP_STORE_WIDER;
    }

    return rc;
}


int
mcp_store_tenant_allows(mcp_store_op_t *op, const mcp_store_stream_t *st,
    uint32_t n, int answer)
{
    int  rc;

    rc = mcp_store_tenant_append(op, st, n, answer);

    if (rc == MCP_AGAIN) {
        rc = mcp_store_tenant_press(op, 0, n);
    }

    return rc == MCP_OK;
}


int
mcp_store_tenant_would_allow(mcp_store_op_t *op, const mcp_store_stream_t *st,
    uint32_t n)
{
    int  rc;

    rc = mcp_store_tenant_append(op, st, n, 0);

    return rc == MCP_OK
           || (rc == MCP_AGAIN && mcp_store_victim_unread(op) != NULL);
}


int
mcp_store_tenant_large(mcp_store_op_t *op, const mcp_store_stream_t *st,
    uint32_t n)
{
    mcp_store_demand_t demand;

    if (st->quota == MCP_STORE_NO_QUOTA) {
        return 0;
    }

    demand.quota = st->quota == 0 ? MCP_QUOTA_SHARE : st->quota;
    demand.own = 0;
    demand.n = n;
    demand.free = op->head->chunks;
    demand.all = op->head->chunks;
    demand.times = 1;

    return mcp_store_quota_allows(&demand) != MCP_OK;
}


/*
 * Checks whether the quotas of a tenant, or of a group that contains the
 * tenant, allow a new stream that takes "chunks" chunks. "group" is NULL if
 * the tenant or the group uses nothing yet. Returns the values of
 * mcp_store_quota_allows().
 */
static int
mcp_store_tenant_takes(mcp_store_head_t *head, const mcp_store_entry_t *group,
    const mcp_tenant_t *tenant, mcp_stream_kind_e kind, uint32_t chunks,
    unsigned times)
{
    int              rc;
    uint64_t         used;
    mcp_store_demand_t demand;

    demand.n = 1;
    demand.times = times;

    if (kind == MCP_STREAM_CALL) {
        demand.quota = tenant->streams;
        demand.own = group ? group->u.tenant.streams : 0;
        demand.all = head->chunks / MCP_STORE_CALLS;
        used = head->n_calls;

    } else {
        demand.quota = tenant->listeners;
        demand.own = group ? group->u.tenant.listeners : 0;
        demand.all = head->chunks / MCP_STORE_LISTENERS;
        used = head->n_listeners;
    }

    demand.free = mcp_store_left(demand.all, used);
    rc = mcp_store_quota_allows(&demand);

    /* a new listener does not displace streams if the share of listeners is
     * used up */

    if (rc == MCP_AGAIN && kind == MCP_STREAM_LISTEN) {
        rc = MCP_ERR_LIMIT;
    }

    return mcp_store_tenant_demand(head, group,
                                mcp_store_quota_chunks(tenant->bytes), chunks,
                                times, rc);
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

    if (mcp_store_tenant_is_nobody(tenant->id)) {
        return MCP_OK;
    }

    rc = MCP_OK;
    times = 1;
    memcpy(id, tenant->id, MCP_DIGEST_LEN);

    do {
        group = mcp_store_entry_find(op->head, MCP_ENTRY_TENANT, 0, id, 0);
        other = mcp_store_tenant_takes(op->head, group, tenant, kind, chunks,
                                       times);
        rc = other == MCP_OK || rc == MCP_ERR_LIMIT ? rc : other;
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
mcp_store_tenant_may_value(mcp_store_op_t *op, const mcp_tenant_t *tenant)
{
    int                 rc;
    unsigned char       id[MCP_DIGEST_LEN];
    mcp_store_demand_t    demand;
    mcp_store_entry_t  *group;

    demand.quota = tenant->values;
    demand.n = 1;
    demand.all = mcp_store_values_max(op->head);
    demand.free = mcp_store_left(demand.all, op->head->n_values);
    demand.times = 1;
    memcpy(id, tenant->id, MCP_DIGEST_LEN);

    do {
        group = mcp_store_entry_find(op->head, MCP_ENTRY_TENANT, 0, id, 0);
        demand.own = group ? group->u.tenant.values : 0;
        rc = mcp_store_quota_allows(&demand);
        demand.times *= MCP_STORE_WIDER;

    } while (rc == MCP_OK && mcp_tenant_parent(id, id));

    return rc == MCP_OK;
}


/* Returns 1 if a call would be allowed even if its session and its tenant had
 * all calls and used all chunks in use, according to numbers that are read
 * without the lock. */
static int
mcp_store_admits_at_once(const mcp_store_head_t *head, uint32_t session_limit,
    const mcp_tenant_t *tenant)
{
    uint32_t         calls, room;
    mcp_store_demand_t demand;

    calls = atomic_load_explicit(&head->hint_calls, memory_order_relaxed);
    room = atomic_load_explicit(&head->hint_room, memory_order_relaxed);

    if (room < MCP_STORE_LEAST
        || (session_limit != 0 && calls >= session_limit))
    {
        return 0;
    }

    if (mcp_store_tenant_is_nobody(tenant->id)) {
        return 1;
    }

    demand.quota = tenant->streams;
    demand.own = calls;
    demand.n = 1;
    demand.all = head->chunks / MCP_STORE_CALLS;
    demand.free = mcp_store_left(demand.all, calls);
    demand.times = 1;

    if (mcp_store_quota_allows(&demand) != MCP_OK) {
        return 0;
    }

    demand.quota = mcp_store_quota_chunks(tenant->bytes);
    demand.own = head->chunks - room;
    demand.n = MCP_STORE_LEAST;
    demand.all = head->chunks;
    demand.free = room;

    return mcp_store_quota_allows(&demand) == MCP_OK;
}


/*
 * Returns 1 if a new call exceeds a quota of the tenant that is a number, or,
 * if the quota is a share, the part of the last eighth for a tenant that uses
 * little. If only other tenants have used up the room, returns 0: the call may
 * begin, and is rejected when it needs room.
 */
static int
mcp_store_tenant_full(mcp_store_op_t *op, const mcp_tenant_t *tenant)
{
    mcp_store_entry_t  *group;

    if (mcp_store_tenant_is_nobody(tenant->id)) {
        return 0;
    }

    group = mcp_store_entry_find(op->head, MCP_ENTRY_TENANT, 0, tenant->id, 0);

    return mcp_store_tenant_takes(op->head, group, tenant, MCP_STREAM_CALL,
                                  MCP_STORE_LEAST, 1) == MCP_ERR_LIMIT;
}


int
mcp_store_admits(mcp_store_t *store,
    const unsigned char session[MCP_DIGEST_LEN], uint32_t session_limit,
    const mcp_tenant_t *tenant)
{
    int             rc;
    mcp_store_op_t  op;

    if (mcp_store_admits_at_once(store->head, session_limit, tenant)) {
        return MCP_OK;
    }

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    rc = mcp_store_session_crowded(op.head, session, session_limit)
         || mcp_store_tenant_full(&op, tenant) ? MCP_ERR_LIMIT : MCP_OK;

    mcp_store_leave(&op);

    return rc;
}
