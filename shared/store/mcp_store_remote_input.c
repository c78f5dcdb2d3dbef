/* SPDX-License-Identifier: Apache-2.0 */

/* Client input from other nodes for a replicated stream: numbered posts, which
 * are announced before they arrive, and queries for the stream's state. */


#include "store/mcp_store_layout.h"


/* Number of times that the replicator sends the state after a query. It sends
 * the state twice, because the first command may have been sent to Redis
 * before the query arrived. */
#define MCP_REPLICATION_ANSWERS  2


/* Takes the lock and finds a replicated stream or a mirror. Returns 0, without
 * the lock, if there is none. */
static int
mcp_store_replication_find(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], mcp_store_op_t *op,
    mcp_store_stream_t **st, mcp_store_replication_t **repl)
{
    if (mcp_store_enter(store, op) != MCP_OK) {
        return 0;
    }

    *st = mcp_store_stream_find(op, id);

    if (*st == NULL || (*st)->repl == 0) {
        mcp_store_leave(op);
        return 0;
    }

    *repl = mcp_store_replication_of(op->head, (*st)->repl);

    return 1;
}


void
mcp_store_remote_inputs(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t number)
{
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    if (mcp_store_replication_find(store, id, &op, &st, &repl)) {
        if (number > repl->posts) {
            repl->posts = number;
        }

        mcp_store_leave(&op);
    }
}


void
mcp_store_replication_got(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t number)
{
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    if (mcp_store_replication_find(store, id, &op, &st, &repl)) {
        if (number > repl->got) {
            repl->got = number;

            /* the post counts as arrived even if there was no room for it, or
             * if it came too late */

            mcp_store_mark_consumer(&op, st);
            mcp_store_mark_replication(&op, st);
        }

        mcp_store_leave(&op);
    }
}


void
mcp_store_replication_query(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    if (mcp_store_replication_find(store, id, &op, &st, &repl)) {
        if (!repl->mirror) {
            repl->state_requests = MCP_REPLICATION_ANSWERS;
            mcp_store_replication_mark(&op, st);
        }

        mcp_store_leave(&op);
    }
}


void
mcp_store_replication_sent(mcp_store_t *store, const mcp_stream_ref_t *ref)
{
    mcp_store_op_t            op;
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;

    if (mcp_store_replication_find(store, ref->id, &op, &st, &repl)) {
        repl->state_requests -= (repl->state_requests > 0);
        mcp_store_leave(&op);
    }
}
