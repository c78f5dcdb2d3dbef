/* SPDX-License-Identifier: Apache-2.0 */

/* Tokens that are good for one call: Redis says which node has one. */


#include "cluster/mcp_cluster_copy.h"


/* Who waits for the reply. */
typedef struct {
    mcp_ask_t        *ask;
    mcp_ask_token_t   token;
} mcp_taking_t;


static void
mcp_token_told(void *data, const mcp_reply_t *reply)
{
    if (reply && !mcp_reply_is(mcp_reply_item(reply, 0), "OK")) {
        mcp_cluster_strange(data, "token", reply);
    }
}


static int
mcp_token_run(mcp_cluster_t *cluster, const mcp_ask_token_t *token,
    mcp_link_reply_cb handler, void *data)
{
    char       value[20], good[20];
    uint64_t   now;
    mcp_str_t  args[4];

    static const char *const  kinds[] = {
        [MCP_ASK_TOKEN_TAKE] = "t",
        [MCP_ASK_TOKEN_GIVE] = "g",
        [MCP_ASK_TOKEN_SET] = "s",
        [MCP_ASK_TOKEN_DROP] = "d"
    };

    now = mcp_worker_now(cluster->worker);

    args[0] = (mcp_str_t) { (const char *) token->key, MCP_DIGEST_LEN };
    args[1] = (mcp_str_t) { kinds[token->what], 1 };
    args[2].data = value;
    args[2].len = (size_t) (mcp_uint_print(value, token->value) - value);
    args[3].data = good;
    args[3].len = (size_t) (mcp_uint_print(good, token->expires > now
                                                 ? token->expires - now : 1)
                            - good);

    return mcp_cluster_run(cluster, MCP_SCRIPT_TOKEN, args, 4, handler, data);
}


static int
mcp_token_taken(mcp_cluster_t *cluster, mcp_taking_t *taking,
    const mcp_reply_t *reply)
{
    const mcp_reply_t  *kind;

    if (reply == NULL) {
        return MCP_ERR_AWAY;
    }

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "USED")) {
        taking->ask->value
            = (uint32_t) mcp_reply_number(mcp_reply_item(reply, 1));
        return MCP_ERR_DENIED;
    }

    if (!mcp_reply_is(kind, "OK")) {
        mcp_cluster_strange(cluster, "token", reply);
        return MCP_ERR_AWAY;
    }

    /* who has left does not use it */

    if (taking->ask->x == NULL) {
        taking->token.what = MCP_ASK_TOKEN_GIVE;
        (void) mcp_token_run(cluster, &taking->token, mcp_token_told, cluster);
    }

    return MCP_OK;
}


static void
mcp_token_done(void *data, const mcp_reply_t *reply)
{
    int               rc;
    mcp_ask_t        *ask;
    mcp_taking_t     *taking;
    const mcp_mem_t  *mem;

    taking = data;
    ask = taking->ask;

    rc = mcp_token_taken(ask->worker->cluster, taking, reply);

    mem = &ask->worker->env->mem;
    mem->free(mem->ctx, taking);

    mcp_ask_answer(ask, rc);
}


/* Where nothing is promised, and of a node that serves alone, a token is good
 * once at each. */
static int
mcp_token_unreachable(const mcp_cluster_t *cluster)
{
    return cluster->conf->sync == MCP_CLUSTER_SYNC_OFF
           || mcp_store_node_is_alone(cluster->worker->store)
           ? MCP_OK : MCP_ERR_AWAY;
}


int
mcp_cluster_token(void *data, const mcp_ask_token_t *token, mcp_ask_t *ask)
{
    mcp_taking_t     *taking;
    mcp_cluster_t    *cluster;
    const mcp_mem_t  *mem;

    cluster = data;

    if (cluster->state != MCP_CLUSTER_MEMBER) {
        return mcp_token_unreachable(cluster);
    }

    if (ask == NULL) {

        /* who finds the stream named finds the stream */

        if (token->what == MCP_ASK_TOKEN_SET) {
            mcp_copy_flush(cluster, token->stream);
        }

        (void) mcp_token_run(cluster, token, mcp_token_told, cluster);
        return MCP_OK;
    }

    mem = &cluster->worker->env->mem;
    taking = mcp_mem_calloc(mem, sizeof(mcp_taking_t));

    if (taking == NULL) {
        return MCP_ERR_MEMORY;
    }

    taking->ask = ask;
    taking->token = *token;

    if (mcp_token_run(cluster, token, mcp_token_done, taking) != MCP_OK) {
        mem->free(mem->ctx, taking);
        return mcp_token_unreachable(cluster);
    }

    return MCP_AGAIN;
}
