/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Bytes that are text: around them, byte order mark and white space; inside,
 * their encoding, which JSON wants to be UTF-8.
 */


#include "backend/mcp_backend_parts.h"


static void mcp_backend_add_latin1(mcp_buf_t *buf, mcp_str_t text);
static void mcp_backend_add_utf8(mcp_buf_t *buf, mcp_str_t text);


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


mcp_str_t
mcp_backend_cut(const mcp_backend_t *b, mcp_str_t text)
{
    size_t  n;

    if (text.len <= MCP_BACKEND_ERROR_TEXT && !b->truncated) {
        return text;
    }

    if (text.len > MCP_BACKEND_ERROR_TEXT) {
        text.len = MCP_BACKEND_ERROR_TEXT;
    }

    if (b->latin1) {
        return text;
    }

    for (n = 1; n <= 3 && n <= text.len; n++) {

        switch (text.data[text.len - n] & 0xc0) {

        case 0x80:
            continue;

        case 0xc0:
            if (mcp_utf8_len(text.data[text.len - n]) > n) {
                text.len -= n;
            }

            return text;

        default:
            return text;
        }
    }

    return text;
}


void
mcp_backend_add_text(mcp_backend_t *b, mcp_buf_t *buf, mcp_str_t text)
{
    mcp_buf_t  clean;

    if (!b->latin1 && mcp_utf8_valid(text)) {
        mcp_buf_json(buf, text);
        return;
    }

    if (buf->failed) {
        return;
    }

    mcp_buf_init(&clean, b->mem, buf->max);

    if (b->latin1) {
        mcp_backend_add_latin1(&clean, text);

    } else {
        mcp_backend_add_utf8(&clean, text);
    }

    if (clean.failed) {
        buf->failed = clean.failed;

    } else {
        mcp_buf_json(buf, (mcp_str_t) { clean.data, clean.len });
    }

    mcp_buf_free(&clean);
}


static void
mcp_backend_add_latin1(mcp_buf_t *buf, mcp_str_t text)
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


/* Replaces what is ill-formed. */

static void
mcp_backend_add_utf8(mcp_buf_t *buf, mcp_str_t text)
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
