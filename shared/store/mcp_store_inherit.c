/* SPDX-License-Identifier: Apache-2.0 */

/* A mirror whose stream has lost its machine becomes the stream itself. */


#include "store/mcp_store_layout.h"


/* A call is given an owner, who copies it, too; a listener has none. */
static void
mcp_store_inherit_pass(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_share_t *share)
{
    if (st->kind == MCP_STREAM_LISTEN) {

        /* its reader, if it is elsewhere, is to be known as the consumer */

        if (st->consumer_slot == MCP_STORE_NO_SLOT && share->reader > 0) {
            share->reader--;
        }

        share->heard = op->head->node.places[MCP_NODE_HEARD];
        mcp_store_share_pass(op, share, op->store->slot);

    } else {
        mcp_store_orphan(op, st);
    }

    mcp_store_stream_settle(op, st);
}


int
mcp_store_inherit(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], unsigned sync)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_share_t   *share;
    mcp_store_stream_t  *st;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    rc = MCP_ERR_NOT_FOUND;
    st = mcp_store_stream_find(&op, id);

    if (st != NULL && mcp_store_is_mirror(op.head, st) && !mcp_store_final(st))
    {
        op.keep = st;
        share = mcp_store_share_of(op.head, st->share);

        mcp_store_share_own(st, &share->acked);
        share->created = 1;
        share->sync = (uint8_t) (sync != 0);
        share->here = 0;
        mcp_store_barrier();
        share->mirror = 0;
        mcp_store_barrier();
        op.head->n_mirrors--;
        mcp_store_node_add(op.head, MCP_NODE_INHERITED, 1);

        mcp_store_inherit_pass(&op, st, share);
        rc = MCP_OK;
    }

    mcp_store_leave(&op);

    return rc;
}
