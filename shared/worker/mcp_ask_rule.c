/* SPDX-License-Identifier: Apache-2.0 */

/* What only all nodes together can allow: one more call of a session, the use
 * of a token. */


#include "worker/mcp_ask_parts.h"


/* Whether the session has many calls: the same in every run of the root. */
static int
mcp_ask_is_crowded(mcp_exchange_t *x)
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
mcp_ask_quota(mcp_exchange_t *x, uint32_t limit)
{
    int            rc, answer;
    mcp_ask_t     *ask;
    mcp_worker_t  *worker;

    worker = x->worker;

    if (x->asking == NULL || limit == 0 || !mcp_ask_is_crowded(x)) {
        return MCP_OK;
    }

    rc = mcp_ask_next(x, MCP_ASK_QUOTA, &ask, &answer);
    if (rc != MCP_OK) {
        return rc == MCP_DONE ? answer : rc;
    }

    rc = worker->cluster_hooks->quota(worker->cluster, x->client.id, limit,
                                      ask);

    return mcp_ask_asked(x, ask, rc);
}


static void
mcp_ask_token_word(mcp_ask_token_t *token, mcp_ask_token_e what,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t expires)
{
    memset(token, 0, sizeof(mcp_ask_token_t));
    token->what = what;
    memcpy(token->key, key, MCP_DIGEST_LEN);
    token->expires = expires;
}


int
mcp_ask_token(mcp_exchange_t *x, const unsigned char key[MCP_DIGEST_LEN],
    uint64_t expires, uint32_t *value)
{
    int               rc, answer;
    mcp_ask_t        *ask;
    mcp_worker_t     *worker;
    mcp_ask_token_t   token;

    worker = x->worker;

    if (x->asking == NULL) {
        return MCP_OK;
    }

    ask = NULL;
    rc = mcp_ask_next(x, MCP_ASK_TOKEN, &ask, &answer);

    if (rc != MCP_OK) {
        *value = ask ? ask->value : 0;
        return rc == MCP_DONE ? answer : rc;
    }

    mcp_ask_token_word(&token, MCP_ASK_TOKEN_TAKE, key, expires);
    rc = worker->cluster_hooks->token(worker->cluster, &token, ask);

    return mcp_ask_asked(x, ask, rc);
}


void
mcp_ask_token_told(mcp_worker_t *worker, mcp_ask_token_e what,
    const unsigned char key[MCP_DIGEST_LEN])
{
    mcp_ask_token_t  token;

    if (worker->cluster) {
        mcp_ask_token_word(&token, what, key, 0);
        (void) worker->cluster_hooks->token(worker->cluster, &token, NULL);
    }
}


void
mcp_ask_token_set(mcp_worker_t *worker,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t expires, uint32_t value,
    const unsigned char stream[MCP_STREAM_ID_LEN])
{
    mcp_ask_token_t  token;

    if (worker->cluster) {
        mcp_ask_token_word(&token, MCP_ASK_TOKEN_SET, key, expires);
        token.value = value;
        memcpy(token.stream, stream, MCP_STREAM_ID_LEN);
        (void) worker->cluster_hooks->token(worker->cluster, &token, NULL);
    }
}
