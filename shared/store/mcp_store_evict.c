/* SPDX-License-Identifier: Apache-2.0 */

/* Which stream is evicted when there is no room. */


#include "store/mcp_store_layout.h"


/* Returns the first stream of one of a party's lists that is not in use. */
static mcp_store_stream_t *
mcp_store_victim_of(mcp_store_op_t *op, const mcp_store_entry_t *party,
    unsigned k)
{
    uint32_t             ref;
    mcp_store_stream_t  *st;

    st = mcp_store_party_first(op->head, party, k);

    if (st == NULL || st != op->keep) {
        return st;
    }

    ref = st->link[MCP_LINK_IDLE + k].next;

    return ref == MCP_STORE_END ? NULL
           : mcp_store_container(op->head, ref, mcp_store_stream_t,
                                 link[MCP_LINK_IDLE + k]);
}


/* Does the same for the largest party of this rank or above that has such a
 * stream. */
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

        /* the first party has one, unless its only one is in use */

        while (ref != 0 && ref != MCP_STORE_END) {
            st = mcp_store_container(head, ref, mcp_store_stream_t,
                                     link[MCP_LINK_RANK]);
            victim = mcp_store_victim_of(op, mcp_store_party_of(head, st), k);

            if (victim != NULL) {
                return victim;
            }

            ref = st->link[MCP_LINK_RANK].next;
        }
    }

    return NULL;
}


mcp_store_stream_t *
mcp_store_victim(mcp_store_op_t *op)
{
    unsigned             rank;
    mcp_store_entry_t   *own;
    mcp_store_stream_t  *st;

    if (op->head->evictable == 0) {
        return NULL;
    }

    own = op->party ? mcp_store_entry_find(op->head, MCP_ENTRY_PARTY, 0,
                                           op->party, 0)
                    : NULL;
    rank = own ? own->rank + 1 : 0;

    /* a listener without a reader or an event misses nothing */

    st = own ? mcp_store_victim_of(op, own, MCP_EVICT_IDLE) : NULL;

    if (st == NULL) {
        st = mcp_store_victim_largest(op, MCP_EVICT_IDLE, 0);
    }

    if (st == NULL && own) {
        st = mcp_store_victim_of(op, own, MCP_EVICT_LINGER);
    }

    /* no party makes room for one that has more */

    if (st == NULL) {
        st = mcp_store_victim_largest(op, MCP_EVICT_LINGER, rank);
    }

    return st;
}
