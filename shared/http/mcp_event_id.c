/* SPDX-License-Identifier: Apache-2.0 */

/* Prints and parses the ids of streams and of events. */


#include "base/mcp_base64.h"
#include "http/mcp_event_id.h"


char *
mcp_stream_id_print(char *p, const unsigned char id[MCP_STREAM_ID_LEN])
{
    return mcp_base64url_encode(p, id, MCP_STREAM_ID_LEN);
}


char *
mcp_event_id_print(char *p, const unsigned char id[MCP_STREAM_ID_LEN],
    uint64_t seq)
{
    p = mcp_stream_id_print(p, id);
    *p++ = '.';

    return mcp_uint_print(p, seq);
}


int
mcp_stream_id_parse(mcp_str_t text, unsigned char id[MCP_STREAM_ID_LEN])
{
    size_t  len;

    if (text.len != MCP_STREAM_TEXT_LEN
        || mcp_base64url_decode(text, id, MCP_STREAM_ID_LEN, &len) != MCP_OK)
    {
        return MCP_ERR_SYNTAX;
    }

    return MCP_OK;
}


int
mcp_event_id_parse(mcp_str_t text, unsigned char id[MCP_STREAM_ID_LEN],
    uint64_t *seq)
{
    uint64_t   n;
    mcp_str_t  stream, number;

    if (text.len < MCP_STREAM_TEXT_LEN + 2
        || text.data[MCP_STREAM_TEXT_LEN] != '.')
    {
        return MCP_ERR_SYNTAX;
    }

    stream.data = text.data;
    stream.len = MCP_STREAM_TEXT_LEN;

    number.data = text.data + MCP_STREAM_TEXT_LEN + 1;
    number.len = text.len - MCP_STREAM_TEXT_LEN - 1;

    if (number.len > 1 && number.data[0] == '0') {
        return MCP_ERR_SYNTAX;
    }

    if (mcp_str_uint(number, &n) != MCP_OK || n > INT64_MAX) {
        return MCP_ERR_SYNTAX;
    }

    if (mcp_stream_id_parse(stream, id) != MCP_OK) {
        return MCP_ERR_SYNTAX;
    }

    *seq = n;

    return MCP_OK;
}
