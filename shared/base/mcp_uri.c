/* SPDX-License-Identifier: Apache-2.0 */

#include "base/mcp_uri.h"


static const char  mcp_uri_hex[] = "0123456789ABCDEF";


static int
mcp_uri_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }

    c |= 0x20;

    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}


static int
mcp_uri_is_unreserved(unsigned char c)
{
    return mcp_is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
}


static char
mcp_uri_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char) (c | 0x20) : c;
}


/* Returns the length of the scheme without its colon, 0 if there is none. */
static size_t
mcp_uri_scheme(mcp_str_t uri)
{
    char    c;
    size_t  i;

    for (i = 0; i < uri.len; i++) {
        c = uri.data[i];

        if (c == ':') {
            return i;
        }

        if (!mcp_is_alnum((unsigned char) c)
            && (i == 0 || (c != '+' && c != '-' && c != '.')))
        {
            return 0;
        }
    }

    return 0;
}


/*
 * Sets start and end of the host, which may include a port; they are equal if
 * there is none.
 */
static void
mcp_uri_host(mcp_str_t uri, size_t scheme, size_t *start, size_t *end)
{
    size_t  i;

    *start = *end = scheme;

    if (scheme == 0 || uri.len < scheme + 3
        || uri.data[scheme + 1] != '/' || uri.data[scheme + 2] != '/')
    {
        return;
    }

    *start = scheme + 3;

    for (i = *start; i < uri.len && memchr("/?#", uri.data[i], 3) == NULL; i++)
    {
        if (uri.data[i] == '@') {
            *start = i + 1;
        }
    }

    *end = i;
}


/* Writes the byte c, percent-encoded if the normal form requires that. */
static char *
mcp_uri_encoded(char *out, unsigned char c, int lower)
{
    if (mcp_uri_is_unreserved(c)) {
        *out++ = lower ? mcp_uri_lower((char) c) : (char) c;
        return out;
    }

    *out++ = '%';
    *out++ = mcp_uri_hex[c >> 4];
    *out++ = mcp_uri_hex[c & 15];

    return out;
}


size_t
mcp_uri_write(char *out, mcp_str_t uri, int is_template)
{
    int          lower, high, low;
    char        *o;
    size_t       i, scheme, host, host_end;
    const char  *p;

    o = out;
    scheme = mcp_uri_scheme(uri);
    mcp_uri_host(uri, scheme, &host, &host_end);

    for (i = 0; i < uri.len; i++) {
        p = uri.data + i;
        lower = i < scheme || (i >= host && i < host_end);

        if (*p == '{' && is_template) {
            while (i < uri.len && uri.data[i] != '}') {
                *o++ = uri.data[i++];
            }

            if (i < uri.len) {
                *o++ = '}';
            }

            continue;
        }

        if (*p == '%' && uri.len - i > 2) {
            high = mcp_uri_digit(p[1]);
            low = mcp_uri_digit(p[2]);

            if (high >= 0 && low >= 0) {
                o = mcp_uri_encoded(o, (unsigned char) (high << 4 | low),
                                    lower);
                i += 2;
                continue;
            }
        }

        if ((*p & 0x80) || *p == '%') {
            o = mcp_uri_encoded(o, (unsigned char) *p, 0);

        } else {
            *o++ = lower ? mcp_uri_lower(*p) : *p;
        }
    }

    return (size_t) (o - out);
}


int
mcp_uri_normal(mcp_arena_t *arena, mcp_str_t uri, mcp_str_t *out)
{
    char    *data;
    size_t   len;

    *out = uri;

    if (uri.len == 0) {
        return MCP_OK;
    }

    data = mcp_arena_alloc(arena, mcp_uri_max(uri.len));
    if (data == NULL) {
        return MCP_ERR_MEMORY;
    }

    len = mcp_uri_write(data, uri, 0);
    *out = (mcp_str_t) { data, len };

    return MCP_OK;
}
