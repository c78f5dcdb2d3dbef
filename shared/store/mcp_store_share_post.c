/* SPDX-License-Identifier: Apache-2.0 */

/* What other machines bring to a shared stream: numbered posts, which are known
 * of before they arrive, and the question how the stream stands. */


#include "store/mcp_store_layout.h"


/* How often the copier says how the stream stands: what it said first may have
 * been on its way when the question came. */
#define MCP_SHARE_ANSWERS  2


/* Takes the lock, and finds a stream that is shared, or a mirror; 0: there is
 * none, and the lock is not taken. */
static int
mcp_store_share_find(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], mcp_store_op_t *op,
    mcp_store_stream_t **st, mcp_store_share_t **share)
{
    if (mcp_store_enter(store, op) != MCP_OK) {
        return 0;
    }

    *st = mcp_store_stream_find(op, id);

    if (*st == NULL || (*st)->share == 0) {
        mcp_store_leave(op);
        return 0;
    }

    *share = mcp_store_share_of(op->head, (*st)->share);

    return 1;
}


void
mcp_store_share_posts(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t number)
{
    mcp_store_op_t       op;
    mcp_store_share_t   *share;
    mcp_store_stream_t  *st;

    if (mcp_store_share_find(store, id, &op, &st, &share)) {
        if (number > share->posts) {
            share->posts = number;
        }

        mcp_store_leave(&op);
    }
}


void
mcp_store_share_got(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t number)
{
    mcp_store_op_t       op;
    mcp_store_share_t   *share;
    mcp_store_stream_t  *st;

    if (mcp_store_share_find(store, id, &op, &st, &share)) {
        if (number > share->got) {
            share->got = number;

            /* if there was no room, or it came too late, that is all there will
             * be of it */

            mcp_store_mark_consumer(&op, st);
            mcp_store_mark_copy(&op, st);
        }

        mcp_store_leave(&op);
    }
}


void
mcp_store_share_ask(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    mcp_store_op_t       op;
    mcp_store_share_t   *share;
    mcp_store_stream_t  *st;

    if (mcp_store_share_find(store, id, &op, &st, &share)) {
        if (!share->mirror) {
            share->asked = MCP_SHARE_ANSWERS;
            mcp_store_share_mark(&op, st);
        }

        mcp_store_leave(&op);
    }
}


void
mcp_store_share_said(mcp_store_t *store, const mcp_stream_ref_t *ref)
{
    mcp_store_op_t       op;
    mcp_store_share_t   *share;
    mcp_store_stream_t  *st;

    if (mcp_store_share_find(store, ref->id, &op, &st, &share)) {
        share->asked -= (share->asked > 0);
        mcp_store_leave(&op);
    }
}
