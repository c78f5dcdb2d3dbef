/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Resume tokens that are valid for one call: Redis records which node has used
 * a token. The update that names the stream of the token's call is sent to
 * Redis until Redis acknowledges it; otherwise the token would be valid again
 * after the death of this node.
 */


#include "cluster/mcp_cluster_replication.h"


/* A request that waits for the reply of redis/token.lua. */
typedef struct {
    mcp_operation_t       *op;
    mcp_operation_token_t  token;
} mcp_taking_t;


struct mcp_token_update_s {
    mcp_token_update_t    *next;
    mcp_cluster_t         *cluster;
    mcp_operation_token_t  token;
    unsigned               sending:1;
};


/* Maximum number of updates without acknowledgement. */
#define MCP_TOKEN_ARGUMENTS  4096


static void
mcp_token_sent(void *data, const mcp_reply_t *reply)
{
    if (reply && !mcp_reply_is(mcp_reply_item(reply, 0), "OK")) {
        mcp_cluster_unexpected_reply(data, "token", reply);
    }
}


static int
mcp_token_run(mcp_cluster_t *cluster, const mcp_operation_token_t *token,
    mcp_link_reply_cb handler, void *data)
{
    char       value[20], good[20];
    uint64_t   now;
    mcp_str_t  args[4];

    static const char *const  kinds[] = {
        [MCP_OPERATION_TOKEN_TAKE] = "t",
        [MCP_OPERATION_TOKEN_GIVE] = "g",
        [MCP_OPERATION_TOKEN_SET] = "s",
        [MCP_OPERATION_TOKEN_DROP] = "d"
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
        return MCP_ERR_UNREACHABLE;
    }

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "USED")) {
        taking->op->value
            = (uint32_t) mcp_reply_number(mcp_reply_item(reply, 1));
        return MCP_ERR_DENIED;
    }

    /* this node is about to detect that it was declared dead */

    if (mcp_reply_is(kind, "FENCED")) {
        mcp_cluster_self_check(cluster);
        return MCP_ERR_UNREACHABLE;
    }

    if (mcp_reply_is(kind, "LATER")) {
        return MCP_ERR_UNREACHABLE;
    }

    if (!mcp_reply_is(kind, "OK")) {
        mcp_cluster_unexpected_reply(cluster, "token", reply);
        return MCP_ERR_UNREACHABLE;
    }

    /* the client has disconnected: release the token unused */

    if (taking->op->x == NULL) {
        taking->token.what = MCP_OPERATION_TOKEN_GIVE;
        (void) mcp_token_run(cluster, &taking->token, mcp_token_sent, cluster);
    }

    return MCP_OK;
}


static void
mcp_token_done(void *data, const mcp_reply_t *reply)
{
    int               rc;
    mcp_operation_t  *op;
    mcp_taking_t     *taking;
    const mcp_mem_t  *mem;

    taking = data;
    op = taking->op;

    rc = mcp_token_taken(op->worker->cluster, taking, reply);

    mem = &op->worker->env->mem;
    mem->free(mem->ctx, taking);

    mcp_operation_answer(op, rc);
}


/* --- the stream of a token --- */

static void
mcp_token_update_free(mcp_token_update_t *update)
{
    const mcp_mem_t      *mem;
    mcp_token_update_t  **p;

    for (p = &update->cluster->updates; *p != update; p = &(*p)->next) {
        /* void */
    }

    *p = update->next;
    update->cluster->n_updates--;
    mem = &update->cluster->worker->env->mem;
    mem->free(mem->ctx, update);
}


static void
mcp_token_update_sent(void *data, const mcp_reply_t *reply)
{
    mcp_token_update_t  *update;

    update = data;
    update->sending = 0;

    if (reply) {
        mcp_token_sent(update->cluster, reply);
        mcp_token_update_free(update);
    }
}


static void
mcp_token_update_send(mcp_token_update_t *update)
{
    mcp_cluster_t  *cluster;

    cluster = update->cluster;

    if (mcp_worker_now(cluster->worker) >= update->token.expires) {
        mcp_token_update_free(update);

    } else if (cluster->state == MCP_CLUSTER_MEMBER) {

        /* replicate the stream first, so that other nodes find it when they
         * get its number */

        mcp_replication_flush(cluster, update->token.stream);
        update->sending = mcp_token_run(cluster, &update->token,
                                       mcp_token_update_sent, update)
                        == MCP_OK;
    }
}


void
mcp_token_retry(mcp_cluster_t *cluster)
{
    mcp_token_update_t  *update, *next;

    /* a call of this function within itself does nothing: replicating a stream
     * may answer a request that sets another token */

    if (cluster->updates_again) {
        return;
    }

    cluster->updates_again = 1;

    for (update = cluster->updates; update; update = next) {
        next = update->next;

        if (!update->sending) {
            mcp_token_update_send(update);
        }
    }

    cluster->updates_again = 0;
}


static void
mcp_token_set(mcp_cluster_t *cluster, const mcp_operation_token_t *token)
{
    mcp_token_update_t  *update;

    if (cluster->n_updates == MCP_TOKEN_ARGUMENTS) {
        mcp_token_retry(cluster);
    }

    update = cluster->n_updates < MCP_TOKEN_ARGUMENTS
           ? mcp_mem_calloc(&cluster->worker->env->mem,
                            sizeof(mcp_token_update_t))
           : NULL;

    if (update == NULL) {
        mcp_worker_log(cluster->worker, MCP_LOG_ERROR,
                       "cluster: no memory to publish the call of a resume "
                       "token");
        return;
    }

    update->cluster = cluster;
    update->token = *token;
    update->next = cluster->updates;
    cluster->updates = update;
    cluster->n_updates++;

    mcp_token_update_send(update);
}


void
mcp_token_free_all(mcp_cluster_t *cluster)
{
    while (cluster->updates) {
        mcp_token_update_free(cluster->updates);
    }
}


/* Returns the result without Redis: MCP_OK, with which a token is valid once
 * at each node, if replication is not required or the node serves alone;
 * otherwise MCP_ERR_UNREACHABLE. */
static int
mcp_token_unreachable(const mcp_cluster_t *cluster)
{
    return cluster->conf->sync == MCP_CLUSTER_SYNC_OFF
           || mcp_store_node_is_standalone(cluster->worker->store)
           ? MCP_OK : MCP_ERR_UNREACHABLE;
}


int
mcp_cluster_token(void *data, const mcp_operation_token_t *token,
    mcp_operation_t *op)
{
    mcp_taking_t     *taking;
    mcp_cluster_t    *cluster;
    const mcp_mem_t  *mem;

    cluster = data;

    if (token->what == MCP_OPERATION_TOKEN_SET
        && !mcp_store_node_is_standalone(cluster->worker->store))
    {
        mcp_token_set(cluster, token);
        return MCP_OK;
    }

    if (cluster->state != MCP_CLUSTER_MEMBER) {
        return mcp_token_unreachable(cluster);
    }

    if (op == NULL) {
        (void) mcp_token_run(cluster, token, mcp_token_sent, cluster);
        return MCP_OK;
    }

    mem = &cluster->worker->env->mem;
    taking = mcp_mem_calloc(mem, sizeof(mcp_taking_t));

    if (taking == NULL) {
        return MCP_ERR_MEMORY;
    }

    taking->op = op;
    taking->token = *token;

    if (mcp_token_run(cluster, token, mcp_token_done, taking) != MCP_OK) {
        mem->free(mem->ctx, taking);
        return mcp_token_unreachable(cluster);
    }

    return MCP_AGAIN;
}
