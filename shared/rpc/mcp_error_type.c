/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/mcp_error_type.h"


/* The codes of JSON-RPC 2.0, of all revisions of MCP, and of this server. The
 * zone contains positions in this table, so new codes are added at the end. */
static const struct {
    int        code;
    mcp_str_t  name;
} mcp_error_types[] = {
    { -32700, mcp_str("-32700") },
    { -32600, mcp_str("-32600") },
    { -32601, mcp_str("-32601") },
    { -32602, mcp_str("-32602") },
    { -32603, mcp_str("-32603") },
    { -32000, mcp_str("-32000") },
    { -32001, mcp_str("-32001") },
    { -32002, mcp_str("-32002") },
    { -32004, mcp_str("-32004") },
    { -32020, mcp_str("-32020") },
    { -32021, mcp_str("-32021") },
    { -32022, mcp_str("-32022") },
    { -32042, mcp_str("-32042") }
};

#define MCP_ERROR_TYPE_ROWS                                                   \
    (sizeof(mcp_error_types) / sizeof(mcp_error_types[0]))

_Static_assert(MCP_ERROR_TYPE_CODES + MCP_ERROR_TYPE_ROWS
                   <= MCP_ERROR_TYPE_COUNT,
               "number of error types");


mcp_error_type_e
mcp_error_type_of_code(int64_t code)
{
    unsigned  i;

    if (code == 0) {
        return MCP_ERROR_TYPE_NONE;
    }

    for (i = 0; i < MCP_ERROR_TYPE_ROWS; i++) {
        if (mcp_error_types[i].code == code) {
            return (mcp_error_type_e) (MCP_ERROR_TYPE_CODES + i);
        }
    }

    return MCP_ERROR_TYPE_OTHER;
}


mcp_str_t
mcp_error_type_name(unsigned type)
{
    static const mcp_str_t  names[MCP_ERROR_TYPE_CODES] = {
        [MCP_ERROR_TYPE_NONE] = mcp_str(""),
        [MCP_ERROR_TYPE_OTHER] = mcp_str("_OTHER"),
        [MCP_ERROR_TYPE_TOOL] = mcp_str("tool_error"),
        [MCP_ERROR_TYPE_CANCELLED] = mcp_str("cancelled"),
        [MCP_ERROR_TYPE_EXPIRED] = mcp_str("expired")
    };

    if (type < MCP_ERROR_TYPE_CODES) {
        return names[type];
    }

    type -= MCP_ERROR_TYPE_CODES;

    return type < MCP_ERROR_TYPE_ROWS ? mcp_error_types[type].name
                                      : mcp_null_str;
}
