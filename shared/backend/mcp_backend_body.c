/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Answers that are a body, decoded once all of it is there: JSON, or something
 * to be wrapped.
 */


#include "backend/mcp_backend_parts.h"


int
mcp_backend_gather(mcp_backend_t *b, const char *data, size_t len)
{
    size_t  room;

    room = b->limit - b->in.len;

    if (len > room) {

        if (b->status < 400) {
            mcp_backend_release(b);
            mcp_backend_fail(b, MCP_FAULT_BACKEND_TOO_LARGE,
                             "body too large");
            return MCP_ERR_LIMIT;
        }

        /* of an error page the beginning will do */

        b->truncated = 1;
        len = room;

        if (len == 0) {
            return MCP_OK;
        }
    }

    mcp_buf_add(&b->in, data, len);

    if (b->in.failed) {
        b->failed = MCP_ERR_MEMORY;
        return MCP_ERR_MEMORY;
    }

    return MCP_OK;
}


static int
mcp_backend_is_braced(mcp_str_t text)
{
    text = mcp_backend_trim(text);

    return text.len >= 2 && text.data[0] == '{'
           && text.data[text.len - 1] == '}';
}


int
mcp_backend_body(mcp_backend_t *b, mcp_backend_msg_t *msg)
{
    int                  rc;
    mcp_str_t            text;
    mcp_backend_class_e  class;

    text.data = b->in.len ? b->in.data : "";
    text.len = b->in.len;
    class = b->class;

    if (class != MCP_BACKEND_IMAGE && class != MCP_BACKEND_AUDIO
        && class != MCP_BACKEND_BINARY)
    {
        text = mcp_backend_skip_bom(text);
    }

    if (class == MCP_BACKEND_JSON || class == MCP_BACKEND_UNKNOWN) {

        rc = MCP_ERR_SYNTAX;

        if (text.len == 0) {
            mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT, "empty body");

        } else if (!b->truncated) {
            rc = mcp_backend_decode(b, text,
                                    b->in.data + (b->in.len - text.len), 0,
                                    msg);
            if (rc == MCP_ERR_MEMORY) {
                return rc;
            }

            if (msg->kind != MCP_BACKEND_FAULT) {
                return MCP_OK;
            }

            msg->at += b->in.len - text.len;
        }

        if (b->status < 400
            && (class == MCP_BACKEND_JSON || b->want == MCP_WANT_PLAIN
                || rc == MCP_OK))
        {
            return MCP_OK;
        }

        class = MCP_BACKEND_TEXT;
    }

    if (b->status >= 400) {
        return mcp_backend_status(b, text, msg);
    }

    if (b->want == MCP_WANT_PLAIN) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT, "empty body");
        return MCP_OK;
    }

    rc = mcp_backend_wrap(b, class, text, msg);

    /* what scripts say that name no type: it was to be read */

    if (mcp_str_eq((mcp_str_t) { b->type, b->type_len }, mcp_str("text/html"))
        && mcp_backend_is_braced(text))
    {
        msg->doubt = "JSON as text/html, which is given as text";
    }

    return rc;
}
