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
    mcp_operation_spec_t  spec;

    if (x->asking == NULL || limit == 0 || !mcp_operation_is_crowded(x)) {
        return MCP_OK;
    }

    spec.kind = MCP_OPERATION_QUOTA;
    memcpy(spec.quota.session, x->client.id, MCP_DIGEST_LEN);
    spec.quota.limit = limit;

    return mcp_operation(x, &spec);
}


static void
mcp_operation_token_spec(mcp_operation_spec_t *spec, mcp_operation_token_e what,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t expires)
{
    memset(spec, 0, sizeof(mcp_operation_spec_t));
    spec->kind = MCP_OPERATION_TOKEN;
    spec->token.what = what;
    memcpy(spec->token.key, key, MCP_DIGEST_LEN);
    spec->token.expires = expires;
}


int
mcp_operation_token(mcp_exchange_t *x, const unsigned char key[MCP_DIGEST_LEN],
    uint64_t expires, uint32_t *value)
{
    int                    rc;
    mcp_operation_t       *op;
    mcp_operation_spec_t   spec;

    mcp_operation_token_spec(&spec, MCP_OPERATION_TOKEN_TAKE, key, expires);
    rc = mcp_operation_run(x, &spec, &op);
    *value = op ? op->value : 0;

    return rc;
}


void
mcp_operation_token_sent(mcp_worker_t *worker, mcp_operation_token_e what,
    const unsigned char key[MCP_DIGEST_LEN])
{
    mcp_operation_spec_t  spec;

    mcp_operation_token_spec(&spec, what, key, 0);
    (void) mcp_operation_send(worker, &spec, NULL, NULL);
}


void
mcp_operation_token_set(mcp_worker_t *worker,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t expires, uint32_t value,
    const unsigned char stream[MCP_STREAM_ID_LEN])
{
    mcp_operation_spec_t  spec;

    mcp_operation_token_spec(&spec, MCP_OPERATION_TOKEN_SET, key, expires);
    spec.token.value = value;
    memcpy(spec.token.stream, stream, MCP_STREAM_ID_LEN);
    (void) mcp_operation_send(worker, &spec, NULL, NULL);
}
