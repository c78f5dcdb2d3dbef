/* SPDX-License-Identifier: Apache-2.0 */

#include "call/mcp_publish_url.h"


/* Length of the token's payload: stream id, number of the request in its call,
 * time of creation. */
#define MCP_PUBLISH_PAYLOAD  (MCP_STREAM_ID_LEN + 1 + 8)


mcp_str_t
mcp_publish_url(mcp_call_t *call, unsigned request)
{
    char           *p, *text;
    uint64_t        now;
    mcp_str_t       base;
    unsigned        i;
    unsigned char   payload[MCP_PUBLISH_PAYLOAD];

    base = call->endpoint->publish_url;
    now = call->worker->env->now(call->worker->env->ctx);

    memcpy(payload, call->id, MCP_STREAM_ID_LEN);
    payload[MCP_STREAM_ID_LEN] = (unsigned char) request;

    for (i = 0; i < 8; i++) {
        payload[MCP_STREAM_ID_LEN + 1 + i] =
                                       (unsigned char) (now >> (56 - 8 * i));
    }

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
    size_t         i, len;
    unsigned char  payload[MCP_TOKEN_MAX_DATA];

    len = sizeof(payload);

    if (mcp_token_verify(keys, MCP_TOKEN_PUBLISH, token, payload, &len)
        != MCP_OK
        || len != MCP_PUBLISH_PAYLOAD)
    {
        return MCP_ERR_DENIED;
    }

    memcpy(target->id, payload, MCP_STREAM_ID_LEN);
    target->request = payload[MCP_STREAM_ID_LEN];
    target->made = 0;

    for (i = 0; i < 8; i++) {
        target->made = (target->made << 8)
                       | payload[MCP_STREAM_ID_LEN + 1 + i];
    }

    return MCP_OK;
}
