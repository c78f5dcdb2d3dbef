/* SPDX-License-Identifier: Apache-2.0 */

/* Text: bytes and integers (functions of mcp.h), search, UTF-8, and times. */


#include "base/mcp_str.h"
#include "base/mcp_word.h"


/* --- bytes and integers --- */

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


/* --- search --- */

const char *
mcp_str_find(mcp_str_t text, mcp_str_t part)
{
    size_t       left;
    const char  *p;

    p = text.data;
    left = text.len;

    while (left >= part.len && (p = memchr(p, part.data[0], left)) != NULL) {
        left = text.len - (size_t) (p - text.data);

        if (left >= part.len && memcmp(p, part.data, part.len) == 0) {
            return p;
        }

        p++;
        left--;
    }

    return NULL;
}


/* --- UTF-8 --- */

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


/* --- times as text --- */

#define MCP_TIME_DAY  86400000

/* end of 31 December 9999: later years have more digits */
#define MCP_TIME_END  253402300799999ULL

/* days in 400, 100, 4 years and one year */
#define MCP_TIME_ERA      146097
#define MCP_TIME_CENTURY  36524
#define MCP_TIME_LEAP     1461
#define MCP_TIME_YEAR     365

/* days from 1 March of the year 0 to 1 January 1970 */
#define MCP_TIME_EPOCH    719468


/* Appends the value with n decimal digits, and the character "then". */
static void
mcp_time_digits(mcp_buf_t *buf, unsigned value, unsigned n, char then)
{
    char      text[8];
    unsigned  i;

    for (i = n; i > 0; i--) {
        text[i - 1] = (char) ('0' + value % 10);
        value /= 10;
    }

    text[n] = then;
    mcp_buf_add(buf, text, n + 1);
}


/*
 * Appends a date in the form "2026-07-28T". days is the number of days since
 * the epoch. The computation uses years that begin in March, so that a leap day
 * is the last day of such a year.
 */
static void
mcp_time_date(mcp_buf_t *buf, unsigned days)
{
    unsigned  era, year, month;

    days += MCP_TIME_EPOCH;
    era = days / MCP_TIME_ERA;
    days %= MCP_TIME_ERA;

    year = (days - days / (MCP_TIME_LEAP - 1) + days / MCP_TIME_CENTURY
            - days / (MCP_TIME_ERA - 1))
           / MCP_TIME_YEAR;
    days -= MCP_TIME_YEAR * year + year / 4 - year / 100;

    /* from March on, the lengths of months repeat: 31, 30, 31, 30, 31 days */

    month = (5 * days + 2) / 153;
    days -= (153 * month + 2) / 5;
    month = month < 10 ? month + 3 : month - 9;

    mcp_time_digits(buf, 400 * era + year + (month <= 2), 4, '-');
    mcp_time_digits(buf, month, 2, '-');
    mcp_time_digits(buf, days + 1, 2, 'T');
}


void
mcp_time_write(mcp_buf_t *buf, uint64_t ms)
{
    unsigned  rest;

    if (ms > MCP_TIME_END) {
        ms = MCP_TIME_END;
    }

    rest = (unsigned) (ms % MCP_TIME_DAY);

    mcp_time_date(buf, (unsigned) (ms / MCP_TIME_DAY));
    mcp_time_digits(buf, rest / 3600000, 2, ':');
    mcp_time_digits(buf, rest / 60000 % 60, 2, ':');
    mcp_time_digits(buf, rest / 1000 % 60, 2, '.');
    mcp_time_digits(buf, rest % 1000, 3, 'Z');
}
