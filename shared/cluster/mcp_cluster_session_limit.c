/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The number of active calls of a session at all nodes. Redis counts them, and
 * rejects a call when its stream is to be replicated. At that time the call
 * may have started. To reject a call before it starts, as a single node does,
 * this file queries the count, but only for sessions that have many calls
 * according to a broadcast.
 */


#include "cluster/mcp_cluster_replication.h"


void
mcp_quota_refused(mcp_replication_t *repl)
{
    mcp_store_t  *store;

    store = repl->cluster->worker->store;
    mcp_store_replication_end(store, &repl->ref);

    /* if the inbox has no room, the call continues, and the session has one
     * more than allowed; a call that is over need not be ended */

    (void) mcp_store_inbox_put(store, &repl->ref, MCP_INBOX_LIMIT, 0,
        mcp_str("{}"));
}


/* Handles the reply to a query. Returns MCP_ERR_LIMIT if the session has too
 * many calls, otherwise MCP_OK, also without a reply: the call is then
 * rejected when its stream is replicated. */
static int
mcp_quota_taken(mcp_cluster_t *cluster, const mcp_reply_t *reply)
{
    const mcp_reply_t  *kind;

    if (reply == NULL) {
        return MCP_OK;
    }

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "LIMIT")) {
        return MCP_ERR_LIMIT;
    }

    if (!mcp_reply_is(kind, "OK")) {
        mcp_cluster_unexpected_reply(cluster, "quota", reply);
    }

    return MCP_OK;
}


static void
mcp_quota_done(void *data, const mcp_reply_t *reply)
{
    mcp_operation_t  *op;

    op = data;

    mcp_operation_answer(op, mcp_quota_taken(op->worker->cluster, reply));
}


int
mcp_cluster_quota(void *data, const unsigned char session[MCP_DIGEST_LEN],
    uint32_t limit, mcp_operation_t *op)
{
    char            text[20];
    mcp_str_t       args[2];
    mcp_cluster_t  *cluster;

    cluster = data;

    args[0] = (mcp_str_t) { (const char *) session, MCP_DIGEST_LEN };
    args[1] = (mcp_str_t) { text, (size_t) (mcp_uint_print(text, limit)
                                            - text) };

    return cluster->state == MCP_CLUSTER_MEMBER
           && mcp_cluster_run(cluster, MCP_SCRIPT_QUOTA, args, 2,
                              mcp_quota_done, op)
              == MCP_OK ? MCP_AGAIN : MCP_OK;
}
