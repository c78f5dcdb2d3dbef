/* SPDX-License-Identifier: Apache-2.0 */

/* Selects the stream to evict when there is no room. */


#include "store/mcp_store_layout.h"


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

        /* usually the first tenant in the list has a victim: only if op->keep
         * is its only stream in ring k, the next tenant is tried */

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


/* Returns the stream of the rings IDLE and LINGER that mcp_store_victim()
 * would return, or NULL. */
static mcp_store_stream_t *
mcp_store_victim_early(mcp_store_op_t *op)
{
    unsigned             rank;
    mcp_store_entry_t   *own;
    mcp_store_stream_t  *st;

    own = mcp_store_victim_own(op);
    rank = own ? own->rank + 1 : 0;

    /* an idle listener has no unsent event, so its client would miss
     * nothing */

    st = own ? mcp_store_victim_of(op, own, MCP_EVICT_IDLE) : NULL;

    if (st == NULL) {
        st = mcp_store_victim_largest(op, MCP_EVICT_IDLE, 0);
    }

    if (st == NULL && own) {
        st = mcp_store_victim_of(op, own, MCP_EVICT_LINGER);
    }

    /* only streams of larger tenants are evicted for this tenant */

    if (st == NULL) {
        st = mcp_store_victim_largest(op, MCP_EVICT_LINGER, rank);
    }

    return st;
}


mcp_store_stream_t *
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

    if (own && op->creates && mcp_store_tenant_is_nobody(op->tenant)) {
        rank = 0;
    }

    st = mcp_store_victim_largest(op, MCP_EVICT_OVER, rank);

    return st ? st : mcp_store_victim_largest(op, MCP_EVICT_LEFT, rank);
}


mcp_store_stream_t *
mcp_store_victim(mcp_store_op_t *op)
{
    mcp_store_stream_t  *st;

    st = op->head->evictable > 0 ? mcp_store_victim_early(op) : NULL;

    return st ? st : mcp_store_victim_unread(op);
}


void
mcp_store_evict(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_add(op->head, MCP_COUNT_STREAMS_EVICTED,
                  !mcp_store_is_mirror(op->head, st));
    mcp_store_stream_revoke(op, st);
}
