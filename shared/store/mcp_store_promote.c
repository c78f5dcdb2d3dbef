/* SPDX-License-Identifier: Apache-2.0 */

/* Promotes mirrors: the mirror of a stream whose node was declared dead
 * becomes the stream itself. */


#include "store/mcp_store_layout.h"


/* Makes a promoted call an orphan: the process that adopts it becomes its
 * owner and its replicator. A listener has no owner, and this process
 * replicates it. */
static void
mcp_store_promote_pass(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_replication_t *repl)
{
    if (st->kind == MCP_STREAM_LISTEN) {

        /* if the listener has a reader at another node,
         * mcp_store_remote_consumer() with the number of this reader must make
         * the reader the consumer, so the number must be higher than
         * repl->reader */

        if (st->consumer_slot == MCP_STORE_NO_SLOT && repl->reader > 0) {
            repl->reader--;
        }

        repl->received = op->head->node.positions[MCP_NODE_RECEIVED];
        mcp_store_replication_pass(op, repl, op->store->slot);

    } else {
        mcp_store_disown(op, st);
    }

    mcp_store_stream_settle(op, st);
}


int
mcp_store_promote(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], unsigned sync)
{
    int                       rc;
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    rc = MCP_ERR_NOT_FOUND;
    st = mcp_store_stream_find(&op, id);

    if (st != NULL && mcp_store_is_mirror(op.head, st) && !mcp_store_final(st))
    {
        op.keep = st;
        repl = mcp_store_replication_of(op.head, st->repl);

        mcp_store_replication_claim(st, &repl->acked);
        repl->created = 1;
        repl->sync = (uint8_t) (sync != 0);
        repl->here = 0;
        mcp_store_barrier();
        repl->mirror = 0;
        mcp_store_barrier();
        op.head->n_mirrors--;
        mcp_store_node_add(op.head, MCP_NODE_PROMOTED, 1);

        mcp_store_promote_pass(&op, st, repl);
        rc = MCP_OK;
    }

    mcp_store_leave(&op);

    return rc;
}
