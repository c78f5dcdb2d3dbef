/* SPDX-License-Identifier: Apache-2.0 */

/* The members that contain resume tokens: resumeToken in the params of a
 * request, and nextResumeToken in a result. Each may be in _meta, beside
 * _meta, or at both places. */


#include "resume/mcp_resume_by_token.h"


#define MCP_RESUME_TOKEN_NEXT  mcp_str("nextResumeToken")


size_t
mcp_resume_token_find(const mcp_rpc_t *msg, mcp_json_value_t places[2])
{
    size_t  n;

    n = 0;

    if (msg->resume_token.type != MCP_JSON_NONE) {
        places[n++] = msg->resume_token;
    }

    if (msg->meta_resume_token.type != MCP_JSON_NONE) {
        places[n++] = msg->meta_resume_token;
    }

    return n;
}


mcp_json_value_t
mcp_resume_token_next(const mcp_json_value_t *result,
    const mcp_json_value_t *meta)
{
    mcp_json_value_t  next;

    next = mcp_json_get(meta, MCP_RESUME_TOKEN_NEXT);

    return next.type != MCP_JSON_NONE
           ? next : mcp_json_get(result, MCP_RESUME_TOKEN_NEXT);
}


static void
mcp_resume_token_comma(mcp_buf_t *out, int *first)
{
    if (!*first) {
        mcp_buf_lit(out, ",");
    }

    *first = 0;
}


/* Appends the members of an object except nextResumeToken, and except _meta if
 * is_meta is 0: the object is the result itself. *first is 1 as long as no
 * member was appended. */
static void
mcp_resume_token_members(mcp_buf_t *out, mcp_str_t object, int is_meta,
    int *first)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_json_iter_init(&iter, object);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (mcp_json_str_eq(key, MCP_RESUME_TOKEN_NEXT)
            || (!is_meta && mcp_json_str_eq(key, mcp_str("_meta"))))
        {
            continue;
        }

        mcp_resume_token_comma(out, first);
        mcp_buf_str(out, key);
        mcp_buf_lit(out, ":");
        mcp_buf_str(out, value.raw);
    }
}


/* Appends the members of an object, and nextResumeToken with the other token,
 * unless token is empty. */
static void
mcp_resume_token_object(mcp_buf_t *out, const mcp_json_value_t *object,
    int is_meta, mcp_str_t token, int *first)
{
    if (object->type == MCP_JSON_OBJECT) {
        mcp_resume_token_members(out, object->raw, is_meta, first);
    }

    if (token.len) {
        mcp_resume_token_comma(out, first);
        mcp_buf_lit(out, "\"nextResumeToken\":");
        mcp_buf_str(out, token);
    }
}


void
mcp_resume_token_write(mcp_buf_t *out, const mcp_json_value_t *result,
    const mcp_json_value_t *meta, mcp_str_t token, int wanted)
{
    int        first;
    mcp_str_t  top, low;

    top = token;
    low = token;

    if (!wanted) {
        if (mcp_json_get(result, MCP_RESUME_TOKEN_NEXT).type == MCP_JSON_NONE) {
            top = mcp_null_str;
        }

        if (mcp_json_get(meta, MCP_RESUME_TOKEN_NEXT).type == MCP_JSON_NONE) {
            low = mcp_null_str;
        }
    }

    first = 1;
    mcp_buf_lit(out, "{");
    mcp_resume_token_object(out, result, 0, top, &first);

    if (meta->type == MCP_JSON_OBJECT || low.len) {
        mcp_resume_token_comma(out, &first);
        mcp_buf_lit(out, "\"_meta\":{");
        first = 1;
        mcp_resume_token_object(out, meta, 1, low, &first);
        mcp_buf_lit(out, "}");
    }

    mcp_buf_lit(out, "}");
}
