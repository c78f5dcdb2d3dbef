/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Builds messages: faults, and results from data that are not JSON. Such data
 * become text, images, audio or embedded resources in the results of tools,
 * resources and prompts. All strings of a result are UTF-8, even if the backend
 * uses another charset.
 */


#include "backend/mcp_backend_internal.h"
#include "base/mcp_base64.h"


/* Maximum number of bytes of a result in addition to its content, including
 * the media type. */
#define MCP_BACKEND_WRAPPING  1024

#define MCP_BACKEND_NO_URI    "mcp:result"


static void mcp_backend_add_tool(const mcp_backend_t *b, mcp_buf_t *buf,
    mcp_backend_class_e class, mcp_str_t text);
static void mcp_backend_add_block(const mcp_backend_t *b, mcp_buf_t *buf,
    mcp_backend_class_e class, mcp_str_t text);
static void mcp_backend_add_media(const mcp_backend_t *b, mcp_buf_t *buf,
    mcp_str_t data);
static void mcp_backend_add_resource(const mcp_backend_t *b, mcp_buf_t *buf,
    mcp_backend_class_e class, mcp_str_t text);
static void mcp_backend_add_base64(mcp_buf_t *buf, mcp_str_t data);
static void mcp_backend_add_text_block(mcp_buf_t *buf, mcp_str_t text,
    int latin1);
static void mcp_backend_add_text(mcp_buf_t *buf, mcp_str_t text, int latin1);
static void mcp_backend_from_latin1(mcp_buf_t *buf, mcp_str_t text);
static void mcp_backend_mend_utf8(mcp_buf_t *buf, mcp_str_t text);


void
mcp_backend_fault(mcp_backend_msg_t *msg, mcp_fault_e fault,
    const char *detail)
{
    memset(msg, 0, sizeof(mcp_backend_msg_t));

    msg->kind = MCP_BACKEND_FAULT;
    msg->fault = fault;
    msg->detail = detail ? detail : "";
}


int
mcp_backend_wrap(mcp_backend_t *b, mcp_backend_class_e class, mcp_str_t text,
    mcp_backend_msg_t *msg)
{
    mcp_buf_t  buf;

    memset(msg, 0, sizeof(mcp_backend_msg_t));
    mcp_backend_result_init(b, &buf);

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
        mcp_backend_add_tool(b, &buf, class, text);
    }

    return mcp_backend_result_give(b, &buf, msg);
}


void
mcp_backend_result_init(const mcp_backend_t *b, mcp_buf_t *buf)
{
    size_t  max;

    max = b->max > SIZE_MAX / 8 ? SIZE_MAX / 2
                                : 2 * b->max + MCP_BACKEND_WRAPPING
                                  + 6 * b->uri.len;

    mcp_buf_init(buf, b->mem, max);
}


int
mcp_backend_result_give(mcp_backend_t *b, mcp_buf_t *buf,
    mcp_backend_msg_t *msg)
{
    int  rc;

    if (buf->failed) {
        rc = buf->failed;
        mcp_buf_free(buf);

        if (rc == MCP_ERR_LIMIT) {
            mcp_backend_fault(msg, MCP_FAULT_BACKEND_TOO_LARGE,
                              "the response body, encoded as JSON, is larger "
                              "than twice mcp_max_message");
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


static void
mcp_backend_add_tool(const mcp_backend_t *b, mcp_buf_t *buf,
    mcp_backend_class_e class, mcp_str_t text)
{
    mcp_buf_lit(buf, "{\"content\":[");

    if (text.len) {
        mcp_backend_add_block(b, buf, class, text);
    }

    mcp_buf_lit(buf, "]");

    if (b->status >= 400) {
        mcp_buf_lit(buf, ",\"isError\":true");
    }

    mcp_buf_lit(buf, "}");
}


void
mcp_backend_tool_error(mcp_buf_t *buf, mcp_str_t text)
{
    mcp_buf_lit(buf, "{\"content\":[");

    if (text.len) {
        mcp_backend_add_text_block(buf, text, 0);
    }

    mcp_buf_lit(buf, "],\"isError\":true}");
}


static void
mcp_backend_add_block(const mcp_backend_t *b, mcp_buf_t *buf,
    mcp_backend_class_e class, mcp_str_t text)
{
    switch (class) {

    case MCP_BACKEND_TEXT:
        mcp_backend_add_text_block(buf, text, b->latin1);
        return;

    case MCP_BACKEND_IMAGE:
        mcp_buf_lit(buf, "{\"type\":\"image\"");
        mcp_backend_add_media(b, buf, text);
        return;

    case MCP_BACKEND_AUDIO:
        mcp_buf_lit(buf, "{\"type\":\"audio\"");
        mcp_backend_add_media(b, buf, text);
        return;

    default:
        mcp_buf_lit(buf, "{\"type\":\"resource\",\"resource\":");
        mcp_backend_add_resource(b, buf, class, text);
        mcp_buf_lit(buf, "}");
    }
}


static void
mcp_backend_add_media(const mcp_backend_t *b, mcp_buf_t *buf, mcp_str_t data)
{
    mcp_buf_lit(buf, ",\"data\":");
    mcp_backend_add_base64(buf, data);
    mcp_buf_lit(buf, ",\"mimeType\":");
    mcp_buf_json(buf, (mcp_str_t) { b->type, b->type_len });
    mcp_buf_lit(buf, "}");
}


static void
mcp_backend_add_resource(const mcp_backend_t *b, mcp_buf_t *buf,
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

    /* SVG is the only image type that is text: it becomes text instead of a
     * blob */

    if (mcp_str_eq(type, mcp_str("image/svg+xml"))) {
        class = MCP_BACKEND_TEXTUAL;
    }

    /* text that is neither ISO 8859-1 nor UTF-8 becomes a blob: XML may declare
     * another encoding in the text itself */

    if (class == MCP_BACKEND_TEXTUAL && !b->latin1 && !mcp_utf8_valid(text)) {
        class = MCP_BACKEND_BINARY;
    }

    if (class == MCP_BACKEND_TEXT || class == MCP_BACKEND_TEXTUAL) {
        mcp_buf_lit(buf, ",\"text\":");
        mcp_backend_add_text(buf, text, b->latin1);

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


static void
mcp_backend_add_text_block(mcp_buf_t *buf, mcp_str_t text, int latin1)
{
    mcp_buf_lit(buf, "{\"type\":\"text\",\"text\":");
    mcp_backend_add_text(buf, text, latin1);
    mcp_buf_lit(buf, "}");
}


/* Appends a JSON string; text may contain any bytes. */

static void
mcp_backend_add_text(mcp_buf_t *buf, mcp_str_t text, int latin1)
{
    mcp_buf_t  utf8;

    if (!latin1 && mcp_utf8_valid(text)) {
        mcp_buf_json(buf, text);
        return;
    }

    if (buf->failed) {
        return;
    }

    mcp_buf_init(&utf8, buf->mem, buf->max);

    if (latin1) {
        mcp_backend_from_latin1(&utf8, text);

    } else {
        mcp_backend_mend_utf8(&utf8, text);
    }

    if (utf8.failed) {
        buf->failed = utf8.failed;

    } else {
        mcp_buf_json(buf, (mcp_str_t) { utf8.data, utf8.len });
    }

    mcp_buf_free(&utf8);
}


static void
mcp_backend_from_latin1(mcp_buf_t *buf, mcp_str_t text)
{
    char    *p;
    size_t   i, high;

    for (i = 0, high = 0; i < text.len; i++) {
        high += (unsigned char) text.data[i] >> 7;
    }

    p = mcp_buf_reserve(buf, text.len + high);
    if (p == NULL) {
        return;
    }

    for (i = 0; i < text.len; i++) {
        p = mcp_utf8_print(p, (unsigned char) text.data[i]);
    }

    buf->len = (size_t) (p - buf->data);
}


/* Appends text to buf, with each ill-formed UTF-8 sequence replaced by
 * U+FFFD. */

static void
mcp_backend_mend_utf8(mcp_buf_t *buf, mcp_str_t text)
{
    int          valid;
    size_t       n;
    const char  *p, *end, *good;

    p = text.data;
    end = p + text.len;
    good = p;

    while (p < end) {
        n = mcp_utf8_char(p, end, &valid);

        if (!valid) {
            mcp_buf_add(buf, good, (size_t) (p - good));
            mcp_buf_lit(buf, "\xef\xbf\xbd");
            good = p + n;
        }

        p += n;
    }

    mcp_buf_add(buf, good, (size_t) (p - good));
}


mcp_str_t
mcp_backend_skip_bom(mcp_str_t text)
{
    if (text.len >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0) {
        text.data += 3;
        text.len -= 3;
    }

    return text;
}


mcp_str_t
mcp_backend_trim(mcp_str_t text)
{
    while (text.len && mcp_json_is_space(text.data[0])) {
        text.data++;
        text.len--;
    }

    while (text.len && mcp_json_is_space(text.data[text.len - 1])) {
        text.len--;
    }

    return text;
}
