/* SPDX-License-Identifier: Apache-2.0 */

/* Permissions that depend on all nodes: one more call of a session, and the
 * use of a resume token. */


#include "worker/mcp_cluster_operation_internal.h"


/* Returns 1 if a broadcast has marked the session as having many calls. The
 * result of the first run is kept for the later runs of the entry function. */
static int
mcp_operation_is_crowded(mcp_exchange_t *x)
{
    int       rc;
    uint32_t  many;

    if (x->asking->quota == 0) {
        rc = mcp_store_value_get(x->worker->store, MCP_VALUE_CROWDED,
                                 x->client.id, mcp_worker_now(x->worker),
                                 &many);
        x->asking->quota = rc == MCP_OK ? 1 : 2;
    }

    return x->asking->quota == 1;
}


int
mcp_operation_quota(mcp_exchange_t *x, uint32_t limit)
{
    int               rc, answer;
    mcp_operation_t  *op;
    mcp_worker_t     *worker;

    worker = x->worker;

    if (x->asking == NULL || limit == 0 || !mcp_operation_is_crowded(x)) {
        return MCP_OK;
    }

    rc = mcp_operation_next(x, MCP_OPERATION_QUOTA, &op, &answer);
    if (rc != MCP_OK) {
        return rc == MCP_DONE ? answer : rc;
    }

    rc = worker->cluster_hooks->quota(worker->cluster, x->client.id, limit,
                                      op);

    return mcp_operation_is_started(x, op, rc);
}


static void
mcp_operation_token_update(mcp_operation_token_t *token,
    mcp_operation_token_e what, const unsigned char key[MCP_DIGEST_LEN],
    uint64_t expires)
{
    memset(token, 0, sizeof(mcp_operation_token_t));
    token->what = what;
    memcpy(token->key, key, MCP_DIGEST_LEN);
    token->expires = expires;
}


int
mcp_operation_token(mcp_exchange_t *x, const unsigned char key[MCP_DIGEST_LEN],
    uint64_t expires, uint32_t *value)
{
    int                    rc, answer;
    mcp_operation_t       *op;
    mcp_worker_t          *worker;
    mcp_operation_token_t  token;

    worker = x->worker;

    if (x->asking == NULL) {
        return MCP_OK;
    }

    op = NULL;
    rc = mcp_operation_next(x, MCP_OPERATION_TOKEN, &op, &answer);

    if (rc != MCP_OK) {
        *value = op ? op->value : 0;
        return rc == MCP_DONE ? answer : rc;
    }

    mcp_operation_token_update(&token, MCP_OPERATION_TOKEN_TAKE, key, expires);
    rc = worker->cluster_hooks->token(worker->cluster, &token, op);

    return mcp_operation_is_started(x, op, rc);
}


void
mcp_operation_token_sent(mcp_worker_t *worker, mcp_operation_token_e what,
    const unsigned char key[MCP_DIGEST_LEN])
{
    mcp_operation_token_t  token;

    if (worker->cluster) {
        mcp_operation_token_update(&token, what, key, 0);
        (void) worker->cluster_hooks->token(worker->cluster, &token, NULL);
    }
}


void
mcp_operation_token_set(mcp_worker_t *worker,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t expires, uint32_t value,
    const unsigned char stream[MCP_STREAM_ID_LEN])
{
    mcp_operation_token_t  token;

    if (worker->cluster) {
        mcp_operation_token_update(&token, MCP_OPERATION_TOKEN_SET, key,
                                   expires);
        token.value = value;
        memcpy(token.stream, stream, MCP_STREAM_ID_LEN);
        (void) worker->cluster_hooks->token(worker->cluster, &token, NULL);
    }
}
