/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Content made of what is no JSON: blocks of a tool's or a prompt's text,
 * images, audio; embedded resources.
 */


#include "backend/mcp_backend_parts.h"
#include "base/mcp_base64.h"


/* What stands around content, the media type included. */
#define MCP_BACKEND_WRAPPING  1024

#define MCP_BACKEND_NO_URI    "mcp:result"


static void mcp_backend_add_tool(mcp_backend_t *b, mcp_buf_t *buf,
    mcp_backend_class_e class, mcp_str_t text, int error);
static void mcp_backend_add_block(mcp_backend_t *b, mcp_buf_t *buf,
    mcp_backend_class_e class, mcp_str_t text);
static void mcp_backend_add_resource(mcp_backend_t *b, mcp_buf_t *buf,
    mcp_backend_class_e class, mcp_str_t text);
static void mcp_backend_add_base64(mcp_buf_t *buf, mcp_str_t data);


int
mcp_backend_wrap(mcp_backend_t *b, mcp_backend_class_e class, mcp_str_t text,
    mcp_backend_msg_t *msg)
{
    mcp_buf_t  buf;

    mcp_buf_init(&buf, b->mem, mcp_backend_wrapped_max(b));

    switch (b->want) {

    case MCP_WANT_RESOURCE:
        mcp_buf_lit(&buf, "{\"contents\":[");
        mcp_backend_add_resource(b, &buf, class, text);
        mcp_buf_lit(&buf, "]}");
        break;

    case MCP_WANT_PROMPT:
        mcp_buf_lit(&buf, "{\"messages\":[");

        if (text.len) {
            mcp_buf_lit(&buf, "{\"role\":\"user\",\"content\":");
            mcp_backend_add_block(b, &buf, class, text);
            mcp_buf_lit(&buf, "}");
        }

        mcp_buf_lit(&buf, "]}");
        break;

    default:
        msg->is_error = b->status >= 400;
        mcp_backend_add_tool(b, &buf, class, text, b->status >= 400);
    }

    return mcp_backend_give(b, &buf, msg);
}


void
mcp_backend_tool_error(mcp_buf_t *buf, mcp_str_t text)
{
    mcp_backend_t  b;

    /* nothing but where memory comes from */

    memset(&b, 0, sizeof(mcp_backend_t));
    b.mem = buf->mem;

    mcp_backend_add_tool(&b, buf, MCP_BACKEND_TEXT, text, 1);
}


static void
mcp_backend_add_tool(mcp_backend_t *b, mcp_buf_t *buf,
    mcp_backend_class_e class, mcp_str_t text, int error)
{
    mcp_buf_lit(buf, "{\"content\":[");

    if (text.len) {
        mcp_backend_add_block(b, buf, class, text);
    }

    mcp_buf_lit(buf, "]");

    if (error) {
        mcp_buf_lit(buf, ",\"isError\":true");
    }

    mcp_buf_lit(buf, "}");
}


static void
mcp_backend_add_block(mcp_backend_t *b, mcp_buf_t *buf,
    mcp_backend_class_e class, mcp_str_t text)
{
    switch (class) {

    case MCP_BACKEND_TEXT:
        mcp_buf_lit(buf, "{\"type\":\"text\",\"text\":");
        mcp_backend_add_text(b, buf, text);
        mcp_buf_lit(buf, "}");
        return;

    case MCP_BACKEND_IMAGE:
    case MCP_BACKEND_AUDIO:

        if (class == MCP_BACKEND_IMAGE) {
            mcp_buf_lit(buf, "{\"type\":\"image\",\"data\":");

        } else {
            mcp_buf_lit(buf, "{\"type\":\"audio\",\"data\":");
        }

        mcp_backend_add_base64(buf, text);
        mcp_buf_lit(buf, ",\"mimeType\":");
        mcp_buf_json(buf, (mcp_str_t) { b->type, b->type_len });
        mcp_buf_lit(buf, "}");
        return;

    default:
        mcp_buf_lit(buf, "{\"type\":\"resource\",\"resource\":");
        mcp_backend_add_resource(b, buf, class, text);
        mcp_buf_lit(buf, "}");
    }
}


static void
mcp_backend_add_resource(mcp_backend_t *b, mcp_buf_t *buf,
    mcp_backend_class_e class, mcp_str_t text)
{
    mcp_str_t  type;

    type.data = b->type;
    type.len = b->type_len;

    if (type.len == 0) {
        type = mcp_str("text/plain");
    }

    mcp_buf_lit(buf, "{\"uri\":");
    mcp_buf_json(buf, b->uri.len ? b->uri : mcp_str(MCP_BACKEND_NO_URI));
    mcp_buf_lit(buf, ",\"mimeType\":");
    mcp_buf_json(buf, type);

    /* the one image that can be read */

    if (mcp_str_eq(type, mcp_str("image/svg+xml"))) {
        class = MCP_BACKEND_TEXTUAL;
    }

    /* XML may name an encoding of its own inside */

    if (class == MCP_BACKEND_TEXTUAL && !b->latin1 && !mcp_utf8_valid(text)) {
        class = MCP_BACKEND_BINARY;
    }

    if (class == MCP_BACKEND_TEXT || class == MCP_BACKEND_TEXTUAL) {
        mcp_buf_lit(buf, ",\"text\":");
        mcp_backend_add_text(b, buf, text);

    } else {
        mcp_buf_lit(buf, ",\"blob\":");
        mcp_backend_add_base64(buf, text);
    }

    mcp_buf_lit(buf, "}");
}


static void
mcp_backend_add_base64(mcp_buf_t *buf, mcp_str_t data)
{
    char  *p;

    p = mcp_buf_reserve(buf, mcp_base64_len(data.len) + 2);
    if (p == NULL) {
        return;
    }

    *p++ = '"';
    p = mcp_base64_encode(p, data.data, data.len);
    *p++ = '"';

    buf->len = (size_t) (p - buf->data);
}


int
mcp_backend_give(mcp_backend_t *b, mcp_buf_t *buf, mcp_backend_msg_t *msg)
{
    int  rc;

    if (buf->failed) {
        rc = buf->failed;
        mcp_buf_free(buf);

        if (rc == MCP_ERR_LIMIT) {
            mcp_backend_fault(msg, MCP_FAULT_BACKEND_TOO_LARGE,
                              "too large once wrapped");
            return MCP_OK;
        }

        return rc;
    }

    mcp_buf_free(&b->out);
    b->out = *buf;

    msg->kind = MCP_BACKEND_RESULT;
    msg->body.data = buf->data;
    msg->body.len = buf->len;

    return MCP_OK;
}


size_t
mcp_backend_wrapped_max(const mcp_backend_t *b)
{
    return b->max > SIZE_MAX / 8 ? SIZE_MAX / 2
                                 : 2 * b->max + MCP_BACKEND_WRAPPING
                                   + 6 * b->uri.len;
}
