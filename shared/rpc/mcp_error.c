/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/mcp_error.h"

#include "json/mcp_json.h"


#define MCP_CODE_RESOURCE  -32002
#define MCP_CODE_PARAMS    -32602
#define MCP_CODE_INTERNAL  -32603


/*
 * Returns the code of an error object, 0 if it is not an integer or exceeds
 * INT32_MAX.
 */
static int64_t
mcp_error_code(const mcp_json_value_t *error)
{
    int        negative;
    uint64_t   n;
    mcp_str_t  raw;

    raw = mcp_json_get(error, mcp_str("code")).raw;
    negative = raw.len > 0 && raw.data[0] == '-';
    raw.data += negative;
    raw.len -= (size_t) negative;

    if (mcp_str_uint(raw, &n) != MCP_OK || n > INT32_MAX) {
        return 0;
    }

    return negative ? -(int64_t) n : (int64_t) n;
}


static int64_t
mcp_error_allowed(int64_t code)
{
    if (code == MCP_CODE_RESOURCE) {
        return MCP_CODE_PARAMS;
    }

    if (code == MCP_CODE_CAPABILITY || code > -32000 || code < -32099) {
        return code;
    }

    return MCP_CODE_INTERNAL;
}


static void
mcp_error_members(mcp_buf_t *out, mcp_str_t error, int64_t code,
    mcp_str_t uri)
{
    int               data;
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    data = 0;

    mcp_buf_lit(out, "{\"code\":");
    mcp_buf_int(out, code);

    mcp_json_iter_init(&iter, error);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (mcp_json_str_eq(key, mcp_str("code"))) {
            continue;
        }

        data |= mcp_json_str_eq(key, mcp_str("data"));

        mcp_buf_lit(out, ",");
        mcp_buf_str(out, key);
        mcp_buf_lit(out, ":");
        mcp_buf_str(out, value.raw);
    }

    if (uri.len && !data) {
        mcp_buf_lit(out, ",\"data\":{\"uri\":");
        mcp_buf_json(out, uri);
        mcp_buf_lit(out, "}");
    }

    mcp_buf_lit(out, "}");
}


int64_t
mcp_error_write(mcp_buf_t *out, mcp_revision_e revision, mcp_str_t id,
    mcp_str_t error, mcp_str_t uri)
{
    int64_t           code, allowed;
    mcp_json_value_t  value;

    value.type = MCP_JSON_OBJECT;
    value.raw = error;

    code = mcp_error_code(&value);
    allowed = mcp_revision(revision)->stateless ? mcp_error_allowed(code)
                                                : code;

    mcp_buf_lit(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    mcp_buf_str(out, id);
    mcp_buf_lit(out, ",\"error\":");

    if (allowed == code) {
        mcp_buf_str(out, error);

    } else {
        mcp_error_members(out, error, allowed,
                          code == MCP_CODE_RESOURCE ? uri : mcp_null_str);
    }

    mcp_buf_lit(out, "}");

    return allowed;
}
