/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Seals and opens a backend's requestState. The sealed data consist of the time
 * of expiry in ms (8 bytes) and the backend's state as JSON. They are bound to
 * a digest of the request. Any server with the key can open them, because
 * nothing about them is stored.
 */


#include "rpc/mcp_digest.h"
#include "rpc/mcp_request_state.h"


#define MCP_REQUEST_STATE_HEAD  8


static int
mcp_request_state_bind(const mcp_mem_t *mem, const mcp_request_state_t *of,
    unsigned char out[MCP_DIGEST_LEN])
{
    int            rc;
    mcp_str_t      parts[6];
    unsigned char  params[MCP_DIGEST_LEN];

    rc = mcp_digest_params(mem, of->params, of->max_depth, params);
    if (rc != MCP_OK) {
        return rc;
    }

    parts[0] = of->server;
    parts[1] = of->target;
    parts[2] = (mcp_str_t) { (const char *) of->principal, MCP_DIGEST_LEN };
    parts[3] = of->method;
    parts[4] = of->name;
    parts[5] = (mcp_str_t) { (const char *) params, MCP_DIGEST_LEN };

    return mcp_digest(out, parts, 6);
}


int
mcp_request_state_seal(const mcp_mem_t *mem, const mcp_keys_t *keys,
    const mcp_request_state_t *of, mcp_str_t state, uint64_t expires,
    const unsigned char nonce[MCP_SEAL_NONCE_LEN], mcp_buf_t *out)
{
    int            rc;
    size_t         start;
    mcp_buf_t      data;
    mcp_str_t      bound;
    unsigned char  bind[MCP_DIGEST_LEN], head[MCP_REQUEST_STATE_HEAD];

    rc = mcp_request_state_bind(mem, of, bind);
    if (rc != MCP_OK) {
        return rc;
    }

    start = out->len;
    bound = (mcp_str_t) { (const char *) bind, MCP_DIGEST_LEN };
    mcp_be_put(head, expires, MCP_REQUEST_STATE_HEAD);

    mcp_buf_init(&data, mem, MCP_SEAL_MAX_DATA);
    mcp_buf_add(&data, head, MCP_REQUEST_STATE_HEAD);
    mcp_buf_str(&data, state);

    mcp_buf_lit(out, "\"");

    rc = data.failed;

    if (rc == MCP_OK) {
        rc = mcp_token_seal(keys, MCP_TOKEN_STATE, bound,
                            mcp_buf_text(&data), nonce, out);
    }

    mcp_buf_lit(out, "\"");
    mcp_buf_free(&data);

    if (rc == MCP_OK) {
        rc = out->failed;
    }

    if (rc != MCP_OK) {
        out->len = start;
    }

    return rc;
}


/*
 * Returns the same error for all invalid states, so that clients cannot find
 * out why a state is invalid.
 */
static int
mcp_request_state_denied(int rc)
{
    return rc == MCP_OK || rc == MCP_ERR_MEMORY || rc == MCP_ERR_INTERNAL
           ? rc : MCP_ERR_DENIED;
}


int
mcp_request_state_open(mcp_arena_t *arena, const mcp_keys_t *keys,
    const mcp_request_state_t *of, mcp_str_t text, uint64_t now,
    mcp_str_t *state)
{
    int            rc;
    mcp_str_t      plain, data, bound;
    unsigned char  bind[MCP_DIGEST_LEN];

    plain = mcp_null_str;
    rc = mcp_request_state_bind(arena->mem, of, bind);

    if (rc == MCP_OK) {
        rc = mcp_json_unescape(arena, text, &plain);
    }

    if (rc == MCP_OK) {
        bound = (mcp_str_t) { (const char *) bind, MCP_DIGEST_LEN };
        rc = mcp_token_open(keys, MCP_TOKEN_STATE, bound, plain, arena, &data);
    }

    if (rc != MCP_OK) {
        return mcp_request_state_denied(rc);
    }

    if (data.len < MCP_REQUEST_STATE_HEAD
        || mcp_be_get((const unsigned char *) data.data, MCP_REQUEST_STATE_HEAD)
           <= now)
    {
        return MCP_ERR_DENIED;
    }

    state->data = data.data + MCP_REQUEST_STATE_HEAD;
    state->len = data.len - MCP_REQUEST_STATE_HEAD;

    return MCP_OK;
}
