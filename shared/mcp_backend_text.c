
/*
 * Bytes that are text: around them, byte order mark and white space; inside,
 * their encoding, which JSON wants to be UTF-8.
 */


#include "mcp_backend_parts.h"


static void mcp_backend_add_latin1(mcp_buf_t *buf, mcp_str_t text);
static void mcp_backend_add_utf8(mcp_buf_t *buf, mcp_str_t text);
static size_t mcp_backend_utf8(const char *p, const char *end, int *valid);
static size_t mcp_backend_sequence(char first);


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
            if (mcp_backend_sequence(text.data[text.len - n]) > n) {
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
    char           *p;
    size_t          i, high;
    unsigned char   c;

    for (i = 0, high = 0; i < text.len; i++) {
        high += (unsigned char) text.data[i] >> 7;
    }

    p = mcp_buf_reserve(buf, text.len + high);
    if (p == NULL) {
        return;
    }

    for (i = 0; i < text.len; i++) {
        c = (unsigned char) text.data[i];

        if (c < 0x80) {
            *p++ = (char) c;

        } else {
            *p++ = (char) (0xc0 | c >> 6);
            *p++ = (char) (0x80 | (c & 0x3f));
        }
    }

    buf->len = (size_t) (p - buf->data);
}


/* Replaces what is ill-formed (Unicode 15, 3.9 "U+FFFD Substitution of Maximal
 * Subparts"). */

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
        n = mcp_backend_utf8(p, end, &valid);

        if (!valid) {
            mcp_buf_add(buf, good, (size_t) (p - good));
            mcp_buf_lit(buf, "\xef\xbf\xbd");
            good = p + n;
        }

        p += n;
    }

    mcp_buf_add(buf, good, (size_t) (p - good));
}


/* The length of one character, or of what one U+FFFD stands for. */

static size_t
mcp_backend_utf8(const char *p, const char *end, int *valid)
{
    size_t         i, n;
    unsigned char  c, low, high;

    c = (unsigned char) *p;
    n = mcp_backend_sequence(*p);

    /* no overlong forms, no surrogates, nothing above U+10FFFF */

    low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;

    *valid = 0;

    if (n == 0) {
        return 1;
    }

    for (i = 1; i < n; i++) {

        if (p + i == end) {
            return i;
        }

        c = (unsigned char) p[i];

        if (c < low || c > high) {
            return i;
        }

        low = 0x80;
        high = 0xbf;
    }

    *valid = 1;

    return n;
}


/* How long the character is that begins so; 0 if none does. */

static size_t
mcp_backend_sequence(char first)
{
    unsigned char  c;

    c = (unsigned char) first;

    if (c < 0x80) {
        return 1;
    }

    if (c < 0xc2 || c > 0xf4) {
        return 0;
    }

    return c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}
