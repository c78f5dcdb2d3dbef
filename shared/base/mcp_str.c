/* SPDX-License-Identifier: Apache-2.0 */

/* Functions of mcp.h for bytes: comparison without regard to case, and
 * conversion of integers from and to decimal and big-endian form. */


#include "base/mcp_word.h"


#define mcp_str_bytes(c)  ((uint64_t) -1 / 255 * (c))


__attribute__((noinline)) void
mcp_zero(void *p, size_t size)
{
    memset(p, 0, size);
}


/*
 * Returns 1 if eight bytes are equal without regard to case. The two cases of
 * a letter differ in the bit 0x20, but so do other bytes: wherever this bit
 * differs, the byte must be a letter. No sum overflows into the next byte.
 */
static inline int
mcp_str_word_eq(uint64_t x, uint64_t y)
{
    uint64_t  diff, lower, letters;

    diff = x ^ y;

    if (diff == 0) {
        return 1;
    }

    lower = (x | mcp_str_bytes(0x20)) & mcp_str_bytes(0x7f);

    letters = (lower + mcp_str_bytes(0x80 - 'a'))
              & ~(lower + mcp_str_bytes(0x80 - 'z' - 1))
              & ~x & mcp_str_bytes(0x80);

    return (diff & ~(letters >> 2)) == 0;
}


int
mcp_case_eq(const char *a, const char *b, size_t len)
{
    char    c;
    size_t  i;

    if (len >= 8) {
        for (i = 0; i + 8 < len; i += 8) {
            if (!mcp_str_word_eq(mcp_word(a + i), mcp_word(b + i))) {
                return 0;
            }
        }

        return mcp_str_word_eq(mcp_word(a + len - 8),
                               mcp_word(b + len - 8));
    }

    if (len >= 4) {
        return mcp_str_word_eq(mcp_short_word(a, len),
                               mcp_short_word(b, len));
    }

    for (i = 0; i < len; i++) {
        if (a[i] == b[i]) {
            continue;
        }

        c = (char) (a[i] | 0x20);

        if (c != (char) (b[i] | 0x20) || c < 'a' || c > 'z') {
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
    char      *d, *end;
    uint64_t   rest;

    end = p + 1;

    for (rest = n; rest > 9; rest /= 10) {
        end++;
    }

    d = end;

    do {
        *--d = (char) ('0' + n % 10);
        n /= 10;
    } while (d > p);

    return end;
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
