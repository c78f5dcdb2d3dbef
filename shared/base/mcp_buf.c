/* SPDX-License-Identifier: Apache-2.0 */

/* The growing buffer, and functions that append to it. */


#include "mcp_buf.h"


#define MCP_BUF_MIN  256


/*
 * Moves the data to a larger allocation, usually of twice the capacity, that
 * has room for n more bytes. Returns MCP_OK, MCP_ERR_LIMIT if the data would
 * exceed buf->max, or MCP_ERR_MEMORY.
 */
static int
mcp_buf_grow(mcp_buf_t *buf, size_t n)
{
    char    *data;
    size_t   cap;

    if (n > buf->max - buf->len) {
        return MCP_ERR_LIMIT;
    }

    cap = buf->cap > buf->max / 2 ? buf->max : buf->cap * 2;

    if (cap < MCP_BUF_MIN) {
        cap = MCP_BUF_MIN;
    }

    if (cap < buf->len + n) {
        cap = buf->len + n;
    }

    data = buf->mem->alloc(buf->mem->ctx, cap);
    if (data == NULL) {
        return MCP_ERR_MEMORY;
    }

    if (buf->data != NULL) {
        memcpy(data, buf->data, buf->len);
        buf->mem->free(buf->mem->ctx, buf->data);
    }

    buf->data = data;
    buf->cap = cap;

    return MCP_OK;
}


char *
mcp_buf_reserve(mcp_buf_t *buf, size_t n)
{
    if (buf->failed) {
        return NULL;
    }

    /* a new buffer has a capacity of MCP_BUF_MIN bytes even if max is smaller,
     * so the length is compared with cap and with max */

    if (buf->data == NULL || n > buf->cap - buf->len
        || n > buf->max - buf->len)
    {
        buf->failed = mcp_buf_grow(buf, n);

        if (buf->failed) {
            return NULL;
        }
    }

    return buf->data + buf->len;
}


void
mcp_buf_add(mcp_buf_t *buf, const void *data, size_t len)
{
    char  *p;

    if (len == 0) {
        return;
    }

    p = mcp_buf_reserve(buf, len);

    if (p != NULL) {
        memcpy(p, data, len);
        buf->len += len;
    }
}


void
mcp_buf_str(mcp_buf_t *buf, mcp_str_t s)
{
    mcp_buf_add(buf, s.data, s.len);
}


void
mcp_buf_int(mcp_buf_t *buf, int64_t n)
{
    char       text[24], *p;
    uint64_t   abs;

    p = text;
    abs = (uint64_t) n;

    if (n < 0) {
        *p++ = '-';
        abs = 0 - abs;
    }

    p = mcp_uint_print(p, abs);

    mcp_buf_add(buf, text, (size_t) (p - text));
}


/* Writes the JSON escape of c, at most 6 bytes, to p. Returns the end. */
static char *
mcp_buf_escape_char(char *p, char c)
{
    static const char  hex[] = "0123456789abcdef";

    *p++ = '\\';

    switch (c) {
    case '"':
    case '\\':
        *p++ = c;
        return p;
    case '\b':
        *p++ = 'b';
        return p;
    case '\f':
        *p++ = 'f';
        return p;
    case '\n':
        *p++ = 'n';
        return p;
    case '\r':
        *p++ = 'r';
        return p;
    case '\t':
        *p++ = 't';
        return p;
    }

    *p++ = 'u';
    *p++ = '0';
    *p++ = '0';
    *p++ = hex[(unsigned char) c >> 4];
    *p++ = hex[c & 15];

    return p;
}


void
mcp_buf_escape(mcp_buf_t *buf, mcp_str_t s)
{
    char    escape[8], *p;
    size_t  i, start;

    start = 0;

    for (i = 0; i < s.len; i++) {
        if ((unsigned char) s.data[i] >= 0x20
            && s.data[i] != '"' && s.data[i] != '\\')
        {
            continue;
        }

        mcp_buf_add(buf, s.data + start, i - start);
        start = i + 1;

        p = mcp_buf_escape_char(escape, s.data[i]);
        mcp_buf_add(buf, escape, (size_t) (p - escape));
    }

    if (s.len > start) {
        mcp_buf_add(buf, s.data + start, s.len - start);
    }
}


void
mcp_buf_json(mcp_buf_t *buf, mcp_str_t s)
{
    mcp_buf_lit(buf, "\"");
    mcp_buf_escape(buf, s);
    mcp_buf_lit(buf, "\"");
}
