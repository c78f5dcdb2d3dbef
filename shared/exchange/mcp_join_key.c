/* SPDX-License-Identifier: Apache-2.0 */

/* The digests by which equal calls are found, computed from the tool, and from
 * the key or the arguments. */

#include "exchange/mcp_join.h"
#include "rpc/mcp_digest.h"


/* Maximum length of a client's "idempotencyKey", bytes. */
#define MCP_JOIN_KEY_MAX  255

static int
mcp_join_key_ok(const mcp_json_value_t *value)
{
    size_t         i;
    unsigned char  c;

    /* the raw text includes the quotation marks */

    if (value->type != MCP_JSON_STRING || value->raw.len < 3
        || value->raw.len > MCP_JOIN_KEY_MAX + 2)
    {
        return 0;
    }

    for (i = 1; i < value->raw.len - 1; i++) {
        c = (unsigned char) value->raw.data[i];

        if (c < 0x21 || c > 0x7e || c == '\\') {
            return 0;
        }
    }

    return 1;
}


/* Finds the client's key, which may be in _meta, in the parameters, or in
 * both; it is empty if there is none. Returns 0 if the key is invalid, or the
 * two differ. */
static int
mcp_join_read_key(const mcp_rpc_t *msg, mcp_str_t *key)
{
    const mcp_json_value_t  *value;

    *key = mcp_null_str;
    value = msg->meta_key.type != MCP_JSON_NONE ? &msg->meta_key : &msg->key;

    if (value->type == MCP_JSON_NONE) {
        return 1;
    }

    if (!mcp_join_key_ok(value)
        || (msg->key.type != MCP_JSON_NONE
            && !mcp_str_eq(msg->key.raw, value->raw)))
    {
        return 0;
    }

    *key = value->raw;

    return 1;
}


/* Returns whether the request may join a call of its tool, by a key only or
 * also by its arguments. */
static mcp_join_e
mcp_join_how(const mcp_exchange_t *x, const mcp_routing_t *v)
{
    mcp_policy_t  policy;

    if (x->endpoint->catalog == NULL
        || !mcp_catalog_info(x->endpoint->catalog)->joins
        || v->method->want != MCP_WANT_TOOL

        /* answers to questions, or the resumption of a call */

        || x->msg->request_state.type != MCP_JSON_NONE
        || x->msg->input_responses.type != MCP_JSON_NONE
        || x->msg->resume_token.type != MCP_JSON_NONE
        || x->msg->meta_resume_token.type != MCP_JSON_NONE)
    {
        return MCP_JOIN_NOT;
    }

    mcp_endpoint_policy(x->endpoint, v->method->name, v->name, &policy);

    /* a call that becomes a task is joined only by key: requests without a key
     * join a call until its client has the response, and whether a client has
     * got the id of its task is unknown */

    if (policy.join == MCP_JOIN_ARGUMENTS && policy.task > MCP_TASK_AUTO
        && mcp_policy_is_task(&policy, x->client.capabilities))
    {
        return MCP_JOIN_KEY;
    }

    return (mcp_join_e) policy.join;
}


/* Returns the name of the endpoint. In a cluster all nodes have the same name
 * for it, even if their servers have different names. */
static mcp_str_t
mcp_join_endpoint(const mcp_exchange_t *x)
{
    if (x->worker->cluster) {
        return x->endpoint->identity;
    }

    return (mcp_str_t) { (const char *) x->endpoint->catalog_key,
                         MCP_DIGEST_LEN };
}


/* Computes the digests. They depend on the revision, because results differ by
 * revision. Without a key they also depend on the kinds of questions that the
 * client takes, because a joined request gets the questions of the call. With a
 * key they do not: the key promises one execution. */
static int
mcp_join_digest(mcp_exchange_t *x, const mcp_routing_t *v, mcp_str_t key,
    mcp_join_t *join)
{
    int        rc;
    unsigned   input;
    mcp_str_t  parts[8];
    char       takes[2];

    rc = mcp_digest_params(&x->worker->env->mem, x->msg->params.raw,
                           x->endpoint->max_depth, join->params);
    if (rc != MCP_OK) {
        return rc;
    }

    join->once = (key.len == 0);

    parts[0] = join->once ? mcp_str("join by arguments")
                         : mcp_str("join by key");
    parts[1] = mcp_join_endpoint(x);
    parts[2] = (mcp_str_t) { (const char *) x->client.principal,
                             MCP_DIGEST_LEN };
    parts[3] = mcp_revision(x->client.revision)->name;
    parts[4] = v->method->name;
    parts[5] = v->name;
    parts[6] = join->once ? (mcp_str_t) { (const char *) join->params,
                                          MCP_DIGEST_LEN }
                          : key;

    input = x->client.capabilities & MCP_CLIENT_INPUT;
    takes[0] = (char) (input >> 8);
    takes[1] = (char) input;
    parts[7] = (mcp_str_t) { takes, sizeof(takes) };

    return mcp_digest(join->digest, parts, join->once ? 8 : 7);
}


int
mcp_join_request(mcp_exchange_t *x, const mcp_routing_t *v, mcp_join_t *join)
{
    mcp_str_t   key;
    mcp_join_e  how;

    static const unsigned char  nobody[MCP_DIGEST_LEN];

    how = mcp_join_how(x, v);

    if (how == MCP_JOIN_NOT) {
        return MCP_DONE;
    }

    if (!mcp_join_read_key(x->msg, &key)) {
        return MCP_ERR_SYNTAX;
    }

    if (key.len == 0
        && (how != MCP_JOIN_ARGUMENTS
            || memcmp(x->client.principal, nobody, MCP_DIGEST_LEN) == 0))
    {
        return MCP_DONE;
    }

    return mcp_join_digest(x, v, key, join) == MCP_OK ? MCP_OK
                                                     : MCP_ERR_MEMORY;
}
