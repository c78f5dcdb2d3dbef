/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Resume tokens that are valid for one call: Redis records which node has used
 * a token. The update that names the stream of the token's call is repeated
 * until Redis replies or the token expires, because without the update the
 * token would be valid again after the death of this node.
 */


#include "cluster/mcp_cluster_replication.h"


struct mcp_token_update_s {
    mcp_token_update_t    *next;
    mcp_cluster_t         *cluster;
    mcp_operation_spec_t   spec;
    unsigned               sending:1;
};


/* Maximum number of updates without acknowledgement. */
#define MCP_TOKEN_UPDATES_MAX  4096


static void
mcp_token_sent(void *data, const mcp_reply_t *reply)
{
    if (reply && !mcp_reply_is(mcp_reply_item(reply, 0), "OK")) {
        mcp_cluster_unexpected_reply(data, "token", reply);
    }
}


void
mcp_token_encode(mcp_cluster_t *cluster, const mcp_operation_spec_t *spec,
    mcp_script_args_t *args)
{
    uint64_t                      now;
    const mcp_operation_token_t  *token;

    static const char *const  kinds[] = {
        [MCP_OPERATION_TOKEN_TAKE] = "t",
        [MCP_OPERATION_TOKEN_GIVE] = "g",
        [MCP_OPERATION_TOKEN_SET] = "s",
        [MCP_OPERATION_TOKEN_DROP] = "d"
    };

    now = mcp_worker_now(cluster->worker);
    token = &spec->token;

    mcp_args_digest(args, token->key);
    mcp_args_text(args, (mcp_str_t) { kinds[token->what], 1 });
    mcp_args_number(args, token->value);
    mcp_args_number(args, token->expires > now ? token->expires - now : 1);
}


static int
mcp_token_run(mcp_cluster_t *cluster, const mcp_operation_spec_t *spec,
    mcp_link_reply_cb handler, void *data)
{
    mcp_script_args_t  args;

    mcp_args_init(&args);
    mcp_token_encode(cluster, spec, &args);

    return mcp_cluster_run(cluster, MCP_SCRIPT_TOKEN, args.args, args.n,
                           handler, data);
}


int
mcp_token_decode(mcp_cluster_t *cluster, mcp_operation_t *op,
    const mcp_reply_t *reply, int rc)
{
    if (rc == MCP_ERR_DENIED) {
        op->value = (uint32_t) mcp_reply_number(mcp_reply_item(reply, 1));
    }

    /* this node was declared dead, which this process has not detected yet */

    if (mcp_reply_is(mcp_reply_item(reply, 0), "FENCED")) {
        mcp_cluster_self_check(cluster);
    }

    /* the client has disconnected: release the token unused */

    if (rc == MCP_OK && op->x == NULL
        && op->spec.token.what == MCP_OPERATION_TOKEN_TAKE)
    {
        op->spec.token.what = MCP_OPERATION_TOKEN_GIVE;
        (void) mcp_token_run(cluster, &op->spec, mcp_token_sent, cluster);
    }

    return rc;
}


/* --- the stream of a token --- */

static void
mcp_token_update_free(mcp_token_update_t *update)
{
    mcp_token_update_t  **p;

    for (p = &update->cluster->updates; *p != update; p = &(*p)->next) {
        /* void */
    }

    *p = update->next;
    update->cluster->n_updates--;
    mcp_mem_free(&update->cluster->worker->env->mem, update);
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

    if (mcp_worker_now(cluster->worker) >= update->spec.token.expires) {
        mcp_token_update_free(update);

    } else if (cluster->state == MCP_CLUSTER_MEMBER) {

        /* replicate the stream first, so that other nodes find the stream as
         * soon as Redis returns the value that identifies the stream */

        mcp_replication_flush(cluster, update->spec.token.stream);
        update->sending = mcp_token_run(cluster, &update->spec,
                                        mcp_token_update_sent, update)
                          == MCP_OK;
    }
}


void
mcp_token_retry(mcp_cluster_t *cluster)
{
    mcp_token_update_t  *update, *next;

    /* replicating a stream may answer a request that sets another token and so
     * calls this function recursively: that call does nothing */

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


void
mcp_token_set(mcp_cluster_t *cluster, const mcp_operation_spec_t *spec)
{
    mcp_token_update_t  *update;

    if (cluster->n_updates == MCP_TOKEN_UPDATES_MAX) {
        mcp_token_retry(cluster);
    }

    update = cluster->n_updates < MCP_TOKEN_UPDATES_MAX
           ? mcp_mem_calloc(&cluster->worker->env->mem,
                            sizeof(mcp_token_update_t))
           : NULL;

    if (update == NULL) {
        mcp_worker_log(cluster->worker, MCP_LOG_ERROR,
                       "cluster: the use of a resume token is not recorded in "
                       "Redis, so the client cannot resume the call at other "
                       "nodes: this process has no memory, or already waits "
                       "for Redis to record %d other tokens",
                       MCP_TOKEN_UPDATES_MAX);
        return;
    }

    update->cluster = cluster;
    update->spec = *spec;
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
