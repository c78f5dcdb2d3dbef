/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How many calls of a session may go on at all nodes.  Redis counts them, and
 * refuses one more when its stream is to be copied; before, when it may still
 * be refused as at one node, it is asked for sessions alone of which all nodes
 * were told that they have many.
 */


#include "cluster/mcp_cluster_copy.h"


void
mcp_quota_refused(mcp_copy_t *copy)
{
    mcp_store_t  *store;

    store = copy->cluster->worker->store;
    mcp_store_share_end(store, &copy->ref);

    /* without room it goes on, one too many; what is over needs no end */

    (void) mcp_store_post(store, &copy->ref, MCP_POST_LIMIT, 0, mcp_str("{}"));
}


/* What cannot be asked is refused when its stream is copied. */
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
        mcp_cluster_strange(cluster, "quota", reply);
    }

    return MCP_OK;
}


static void
mcp_quota_done(void *data, const mcp_reply_t *reply)
{
    mcp_ask_t  *ask;

    ask = data;

    mcp_ask_answer(ask, mcp_quota_taken(ask->worker->cluster, reply));
}


int
mcp_cluster_quota(void *data, const unsigned char session[MCP_DIGEST_LEN],
    uint32_t limit, mcp_ask_t *ask)
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
                              mcp_quota_done, ask)
              == MCP_OK ? MCP_AGAIN : MCP_OK;
}
