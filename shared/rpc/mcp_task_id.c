/* SPDX-License-Identifier: Apache-2.0 */

/* The payload: stream id (16), time of creation (8), time to live (8). */


#include "rpc/mcp_task_id.h"


#define MCP_TASK_ID_AT_CREATED  MCP_STREAM_ID_LEN
#define MCP_TASK_ID_AT_TTL      (MCP_STREAM_ID_LEN + 8)
#define MCP_TASK_ID_LEN         (MCP_STREAM_ID_LEN + 16)


int
mcp_task_id_write(const mcp_task_id_t *id, const mcp_keys_t *keys,
    mcp_buf_t *out)
{
    char           *p, *end;
    unsigned char   data[MCP_TASK_ID_LEN];

    memcpy(data, id->stream, MCP_STREAM_ID_LEN);
    mcp_be_put(data + MCP_TASK_ID_AT_CREATED, id->created, 8);
    mcp_be_put(data + MCP_TASK_ID_AT_TTL, id->ttl, 8);

    p = mcp_buf_reserve(out, MCP_TOKEN_TEXT_MAX);
    if (p == NULL) {
        return out->failed;
    }

    end = mcp_token_sign(keys, MCP_TOKEN_TASK, data, sizeof(data), p);
    if (end == NULL) {
        return MCP_ERR_INTERNAL;
    }

    out->len += (size_t) (end - p);

    return MCP_OK;
}


int
mcp_task_id_read(mcp_task_id_t *id, const mcp_keys_t *keys, mcp_str_t text,
    uint64_t now)
{
    int            rc;
    unsigned char  data[MCP_TASK_ID_LEN];

    rc = mcp_token_verify(keys, MCP_TOKEN_TASK, text, data, sizeof(data));

    if (rc == MCP_ERR_INTERNAL) {
        return rc;
    }

    if (rc != MCP_OK) {
        return MCP_ERR_NOT_FOUND;
    }

    memcpy(id->stream, data, MCP_STREAM_ID_LEN);
    id->created = mcp_be_get(data + MCP_TASK_ID_AT_CREATED, 8);
    id->ttl = mcp_be_get(data + MCP_TASK_ID_AT_TTL, 8);

    return now < id->created + id->ttl ? MCP_OK : MCP_ERR_NOT_FOUND;
}
