/* SPDX-License-Identifier: Apache-2.0 */

/* Answers of a client, for a call that runs at another node. */


#include "cluster/mcp_cluster_copy.h"


/* What the client is told. */
static int
mcp_post_taken(mcp_cluster_t *cluster, const mcp_reply_t *reply)
{
    const mcp_reply_t  *kind;

    if (reply == NULL) {
        return MCP_ERR_AWAY;
    }

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "OK") || mcp_reply_is(kind, "NONE")) {
        return MCP_OK;
    }

    if (mcp_reply_is(kind, "FULL")) {
        return MCP_ERR_LIMIT;
    }

    mcp_cluster_strange(cluster, "post", reply);

    return MCP_ERR_AWAY;
}


static void
mcp_post_done(void *data, const mcp_reply_t *reply)
{
    mcp_ask_t  *ask;

    ask = data;

    mcp_ask_answer(ask, mcp_post_taken(ask->worker->cluster, reply));
}


static void
mcp_post_done_for_nobody(void *data, const mcp_reply_t *reply)
{
    (void) mcp_post_taken(data, reply);
}


int
mcp_cluster_post(void *data, const mcp_ask_post_t *post, mcp_ask_t *ask)
{
    int             rc;
    char            id[MCP_STREAM_TEXT_LEN];
    mcp_str_t       args[3];
    mcp_cluster_t  *cluster;

    cluster = data;

    (void) mcp_stream_id_print(id, post->id);
    args[0] = (mcp_str_t) { id, MCP_STREAM_TEXT_LEN };
    args[1] = (mcp_str_t) { (const char *) post->session, MCP_DIGEST_LEN };
    args[2] = post->data;

    rc = cluster->state == MCP_CLUSTER_MEMBER
         ? mcp_cluster_run(cluster, MCP_SCRIPT_POST, args, 3,
                           ask ? mcp_post_done : mcp_post_done_for_nobody,
                           ask ? (void *) ask : cluster)
         : MCP_AGAIN;

    if (rc == MCP_OK) {
        return ask ? MCP_AGAIN : MCP_OK;
    }

    return mcp_store_node_is_alone(cluster->worker->store) ? MCP_OK
                                                           : MCP_ERR_AWAY;
}
