/* SPDX-License-Identifier: Apache-2.0 */

/* Slices and numbers as bytes. */


#include "mcp.h"


int
mcp_str_case_eq(mcp_str_t a, mcp_str_t b)
{
    char    c;
    size_t  i;

    if (a.len != b.len) {
        return 0;
    }

    for (i = 0; i < a.len; i++) {
        if (a.data[i] == b.data[i]) {
            continue;
        }

        /* the two cases of a letter differ in this bit, and so do others */

        c = (char) (a.data[i] | 0x20);

        if (c != (char) (b.data[i] | 0x20) || c < 'a' || c > 'z') {
            return 0;
        }
    }

    return 1;
}


int
mcp_str_uint(mcp_str_t s, uint64_t *out)
{
    size_t    i;
    unsigned  digit;
    uint64_t  n;

    if (s.len == 0) {
        return MCP_ERR_SYNTAX;
    }

    n = 0;

    for (i = 0; i < s.len; i++) {
        if (s.data[i] < '0' || s.data[i] > '9') {
            return MCP_ERR_SYNTAX;
        }

        digit = (unsigned) (s.data[i] - '0');

        if (n > (UINT64_MAX - digit) / 10) {
            return MCP_ERR_SYNTAX;
        }

        n = n * 10 + digit;
    }

    *out = n;

    return MCP_OK;
}


char *
mcp_uint_print(char *p, uint64_t n)
{
    char    text[20], *d;
    size_t  len;

    d = text + sizeof(text);

    do {
        *--d = (char) ('0' + n % 10);
        n /= 10;
    } while (n > 0);

    len = (size_t) (text + sizeof(text) - d);
    memcpy(p, d, len);

    return p + len;
}


void
mcp_be_put(unsigned char *p, uint64_t n, size_t bytes)
{
    while (bytes-- > 0) {
        p[bytes] = (unsigned char) n;
        n >>= 8;
    }
}


uint64_t
mcp_be_get(const unsigned char *p, size_t bytes)
{
    size_t    i;
    uint64_t  n;

    n = 0;

    for (i = 0; i < bytes; i++) {
        n = n << 8 | p[i];
    }

    return n;
}
