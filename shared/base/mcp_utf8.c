/* SPDX-License-Identifier: Apache-2.0 */

/* Validates, iterates over and encodes UTF-8 (Unicode 15, 3.9, table 3-7). */


#include "base/mcp_utf8.h"


int
mcp_utf8_valid(mcp_str_t s)
{
    int          valid;
    uint64_t     word;
    const char  *p, *end;

    if (s.len == 0) {
        return 1;
    }

    p = s.data;
    end = p + s.len;

    while (p < end) {

        while (end - p >= 8) {
            memcpy(&word, p, 8);

            if (word & 0x8080808080808080ULL) {
                break;
            }

            p += 8;
        }

        if (p == end) {
            break;
        }

        p += mcp_utf8_char(p, end, &valid);

        if (!valid) {
            return 0;
        }
    }

    return 1;
}


size_t
mcp_utf8_char(const char *p, const char *end, int *valid)
{
    size_t         i, n;
    unsigned char  c, low, high;

    c = (unsigned char) *p;
    n = mcp_utf8_len(*p);

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


size_t
mcp_utf8_len(char first)
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


char *
mcp_utf8_print(char *p, uint32_t c)
{
    if (c < 0x80) {
        *p++ = (char) c;
        return p;
    }

    if (c < 0x800) {
        *p++ = (char) (0xc0 | c >> 6);

    } else if (c < 0x10000) {
        *p++ = (char) (0xe0 | c >> 12);
        *p++ = (char) (0x80 | (c >> 6 & 0x3f));

    } else {
        *p++ = (char) (0xf0 | c >> 18);
        *p++ = (char) (0x80 | (c >> 12 & 0x3f));
        *p++ = (char) (0x80 | (c >> 6 & 0x3f));
    }

    *p++ = (char) (0x80 | (c & 0x3f));

    return p;
}
