/* SPDX-License-Identifier: Apache-2.0 */

#include "call/mcp_publish_url.h"


/* The token's payload: stream id (16 bytes), number of the request in its call
 * (1), time of creation (8). */
#define MCP_PUBLISH_AT_REQUEST  MCP_STREAM_ID_LEN
#define MCP_PUBLISH_AT_MADE     (MCP_STREAM_ID_LEN + 1)
#define MCP_PUBLISH_LEN         (MCP_STREAM_ID_LEN + 1 + 8)


mcp_str_t
mcp_publish_url(mcp_call_t *call, unsigned request)
{
    char           *p, *text;
    mcp_str_t       base;
    unsigned char   payload[MCP_PUBLISH_LEN];

    base = call->endpoint->publish_url;

    memcpy(payload, call->id, MCP_STREAM_ID_LEN);
    payload[MCP_PUBLISH_AT_REQUEST] = (unsigned char) request;
    mcp_be_put(payload + MCP_PUBLISH_AT_MADE,
               call->worker->env->now(call->worker->env->ctx), 8);

    text = mcp_arena_alloc(&call->arena, base.len + 1 + MCP_TOKEN_TEXT_MAX);
    if (text == NULL) {
        return mcp_null_str;
    }

    memcpy(text, base.data, base.len);
    p = text + base.len;

    if (base.len && p[-1] != '/') {
        *p++ = '/';
    }

    p = mcp_token_sign(call->endpoint->keys, MCP_TOKEN_PUBLISH, payload,
                       sizeof(payload), p);
    if (p == NULL) {
        return mcp_null_str;
    }

    return (mcp_str_t) { text, (size_t) (p - text) };
}


int
mcp_publish_url_open(const mcp_keys_t *keys, mcp_str_t token,
    mcp_publish_target_t *target)
{
    unsigned char  payload[MCP_PUBLISH_LEN];

    if (mcp_token_verify(keys, MCP_TOKEN_PUBLISH, token, payload,
                         sizeof(payload))
        != MCP_OK)
    {
        return MCP_ERR_DENIED;
    }

    memcpy(target->id, payload, MCP_STREAM_ID_LEN);
    target->request = payload[MCP_PUBLISH_AT_REQUEST];
    target->made = mcp_be_get(payload + MCP_PUBLISH_AT_MADE, 8);

    return MCP_OK;
}
