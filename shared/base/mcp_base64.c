/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Encodes and decodes Base64 in both alphabets, standard and URL-safe.
 * Allocates no memory: callers size their buffers with the macros of
 * mcp_base64.h.
 */


#include "base/mcp_base64.h"


static const char  mcp_base64url_alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static const char  mcp_base64_alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";


static char *
mcp_base64_print(char *p, const unsigned char *s, size_t len,
    const char *alphabet)
{
    uint32_t  bits;

    for ( /* void */ ; len >= 3; len -= 3, s += 3) {
        bits = (uint32_t) s[0] << 16 | (uint32_t) s[1] << 8 | s[2];

        *p++ = alphabet[bits >> 18];
        *p++ = alphabet[bits >> 12 & 63];
        *p++ = alphabet[bits >> 6 & 63];
        *p++ = alphabet[bits & 63];
    }

    if (len == 0) {
        return p;
    }

    bits = (uint32_t) s[0] << 16;

    if (len == 2) {
        bits |= (uint32_t) s[1] << 8;
    }

    *p++ = alphabet[bits >> 18];
    *p++ = alphabet[bits >> 12 & 63];

    if (len == 2) {
        *p++ = alphabet[bits >> 6 & 63];
    }

    return p;
}


char *
mcp_base64url_encode(char *p, const void *data, size_t len)
{
    return mcp_base64_print(p, data, len, mcp_base64url_alphabet);
}


char *
mcp_base64_encode(char *p, const void *data, size_t len)
{
    p = mcp_base64_print(p, data, len, mcp_base64_alphabet);

    switch (len % 3) {
    case 1:
        *p++ = '=';
        /* fall through */
    case 2:
        *p++ = '=';
    }

    return p;
}


/*
 * Returns the value of a character (0 to 63), or 64 if it is invalid. last
 * contains the two characters that represent 62 and 63.
 */
static uint32_t
mcp_base64_value(char c, const char *last)
{
    if (c >= 'A' && c <= 'Z') {
        return (uint32_t) (c - 'A');
    }

    if (c >= 'a' && c <= 'z') {
        return (uint32_t) (c - 'a' + 26);
    }

    if (c >= '0' && c <= '9') {
        return (uint32_t) (c - '0' + 52);
    }

    if (c == last[0]) {
        return 62;
    }

    return c == last[1] ? 63 : 64;
}


/*
 * Decodes base64 without padding to out. last contains the last two characters
 * of the alphabet. Returns the same values as mcp_base64url_decode().
 */
static int
mcp_base64_read(mcp_str_t text, const char *last, unsigned char *out,
    size_t max, size_t *len)
{
    size_t     i, n;
    uint32_t   bits, value;
    unsigned   held;

    if (text.len % 4 == 1) {
        return MCP_ERR_SYNTAX;
    }

    if (mcp_base64url_decoded_len(text.len) > max) {
        return MCP_ERR_LIMIT;
    }

    n = 0;
    bits = 0;
    held = 0;

    for (i = 0; i < text.len; i++) {
        value = mcp_base64_value(text.data[i], last);

        if (value == 64) {
            return MCP_ERR_SYNTAX;
        }

        bits = bits << 6 | value;
        held += 6;

        if (held >= 8) {
            held -= 8;
            out[n++] = (unsigned char) (bits >> held);
            bits &= (1U << held) - 1;
        }
    }

    if (bits != 0) {
        return MCP_ERR_SYNTAX;
    }

    *len = n;

    return MCP_OK;
}


int
mcp_base64url_decode(mcp_str_t text, unsigned char *out, size_t max,
    size_t *len)
{
    return mcp_base64_read(text, "-_", out, max, len);
}


int
mcp_base64_decode(mcp_str_t text, unsigned char *out, size_t max, size_t *len)
{
    unsigned  padding;

    if (text.len % 4 != 0) {
        return MCP_ERR_SYNTAX;
    }

    for (padding = 0; padding < 2; padding++) {
        if (text.len == 0 || text.data[text.len - 1] != '=') {
            break;
        }

        text.len--;
    }

    return mcp_base64_read(text, "+/", out, max, len);
}
