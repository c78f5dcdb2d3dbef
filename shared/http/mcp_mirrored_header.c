/* SPDX-License-Identifier: Apache-2.0 */

/* Checks, decodes, encodes and compares the values of headers that repeat parts
 * of a request's body. */


#include "base/mcp_base64.h"
#include "base/mcp_str.h"
#include "http/mcp_mirrored_header.h"


#define mcp_header_prefix  mcp_str("=?base64?")
#define mcp_header_suffix  mcp_str("?=")

/* 2^53-1: above it, two integers may be the same double. */
#define MCP_HEADER_NUMBER_MAX     "9007199254740991"
#define MCP_HEADER_NUMBER_DIGITS  (sizeof(MCP_HEADER_NUMBER_MAX) - 1)

/*
 * The largest exponent: mcp_header_exponent() replaces larger ones by this one.
 * The replacement changes no comparison: headers have no exponents, and no
 * header is long enough for a number of 2^48 digits.
 */
#define MCP_HEADER_EXPONENT_MAX   ((int64_t) 1 << 48)


/*
 * A decimal number: 0.DDD times ten to the power of "point". DDD are the digits
 * from "first" to "end", with a "." possibly between them; the first and the
 * last digit are not zero. The number zero has no digits.
 */
typedef struct {
    const char  *first;
    const char  *end;          /* position after the last digit */
    int64_t      point;
    int          negative;
} mcp_header_number_t;


/*
 * Returns 1 if eight bytes are all from 0x20 to 0x7e. Adding 1 sets the high
 * bit of 0x7f, and subtracting 0x20 sets the high bit of bytes below 0x20. Only
 * a byte that is itself invalid can carry into or borrow from the next byte.
 */
static inline int
mcp_header_word_is_plain(const char *p)
{
    uint64_t  word, ones;

    memcpy(&word, p, sizeof(word));

    ones = (uint64_t) -1 / 255;

    return ((word | (word + ones) | (word - 0x20 * ones)) & 0x80 * ones) == 0;
}


/*
 * Returns 1 if raw has at least 8 bytes, and all are from 0x20 to 0x7e. Checks
 * eight bytes at a time, and the last eight bytes together, even if some bytes
 * have already been checked.
 */
static int
mcp_header_bytes_are_plain(mcp_str_t raw)
{
    size_t  i;

    if (raw.len < 8) {
        return 0;
    }

    for (i = 0; i + 8 < raw.len; i += 8) {
        if (!mcp_header_word_is_plain(raw.data + i)) {
            return 0;
        }
    }

    return mcp_header_word_is_plain(raw.data + raw.len - 8);
}


int
mcp_header_value_plain(mcp_str_t raw, mcp_str_t *value)
{
    size_t         i;
    unsigned char  c;

    for (i = mcp_header_bytes_are_plain(raw) ? raw.len : 0; i < raw.len; i++) {
        c = (unsigned char) raw.data[i];

        if (c - 0x20U > 0x7e - 0x20U && c != '\t') {
            return MCP_ERR_SYNTAX;
        }
    }

    while (raw.len > 0 && (raw.data[0] == ' ' || raw.data[0] == '\t')) {
        raw.data++;
        raw.len--;
    }

    while (raw.len > 0
           && (raw.data[raw.len - 1] == ' ' || raw.data[raw.len - 1] == '\t'))
    {
        raw.len--;
    }

    *value = raw.data ? raw : mcp_str("");

    return MCP_OK;
}


/*
 * The prefix "=?base64?" and the suffix "?=" may share their "?": "=?base64?="
 * has the form of an encoded value, with an empty encoded part. So a client
 * must encode this text as well.
 */
int
mcp_header_value_is_encoded(mcp_str_t value)
{
    mcp_str_t  begin, end;

    if (value.len < mcp_header_prefix.len) {
        return 0;
    }

    begin = (mcp_str_t) { value.data, mcp_header_prefix.len };

    end.len = mcp_header_suffix.len;
    end.data = value.data + value.len - end.len;

    return mcp_str_eq(begin, mcp_header_prefix)
           && mcp_str_eq(end, mcp_header_suffix);
}


static int
mcp_header_value_is_literal(mcp_str_t text)
{
    size_t  i;

    for (i = 0; i < text.len; i++) {
        if ((unsigned char) text.data[i] - 0x20U > 0x7e - 0x20U) {
            return 0;
        }
    }

    return text.len == 0
           || (text.data[0] != ' ' && text.data[text.len - 1] != ' '
               && !mcp_header_value_is_encoded(text));
}


int
mcp_header_value_encode(mcp_arena_t *arena, mcp_str_t text, mcp_str_t *value)
{
    char  *p, *start;

    if (mcp_header_value_is_literal(text)) {
        *value = text;
        return MCP_OK;
    }

    start = mcp_arena_alloc(arena, mcp_header_prefix.len
                                   + mcp_base64_len(text.len)
                                   + mcp_header_suffix.len);
    if (start == NULL) {
        return MCP_ERR_MEMORY;
    }

    p = start;
    memcpy(p, mcp_header_prefix.data, mcp_header_prefix.len);
    p = mcp_base64_encode(p + mcp_header_prefix.len, text.data, text.len);
    memcpy(p, mcp_header_suffix.data, mcp_header_suffix.len);

    value->data = start;
    value->len = (size_t) (p - start) + mcp_header_suffix.len;

    return MCP_OK;
}


int
mcp_header_value_decode_to(mcp_str_t value, char *space, mcp_str_t *out)
{
    size_t     marks;
    mcp_str_t  text, decoded;

    marks = mcp_header_prefix.len + mcp_header_suffix.len;

    if (value.len < marks) {
        return MCP_ERR_SYNTAX;
    }

    text.data = value.data + mcp_header_prefix.len;
    text.len = value.len - marks;

    decoded.data = space;

    if (mcp_base64_decode(text, (unsigned char *) space, value.len,
                          &decoded.len)
        != MCP_OK
        || !mcp_utf8_valid(decoded))
    {
        return MCP_ERR_SYNTAX;
    }

    *out = decoded;

    return MCP_OK;
}


int
mcp_header_value_decode(mcp_arena_t *arena, mcp_str_t raw, mcp_str_t *value)
{
    int    rc;
    char  *space;

    rc = mcp_header_value_plain(raw, value);

    if (rc != MCP_OK || !mcp_header_value_is_encoded(*value)) {
        return rc;
    }

    space = mcp_arena_alloc(arena, value->len);

    return space ? mcp_header_value_decode_to(*value, space, value)
                 : MCP_ERR_MEMORY;
}


static const char *
mcp_header_digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9') {
        p++;
    }

    return p;
}


/*
 * Reads the exponent after "e". Sets *exponent, which is limited to the range
 * from -MCP_HEADER_EXPONENT_MAX to MCP_HEADER_EXPONENT_MAX. Returns MCP_OK or
 * MCP_ERR_SYNTAX.
 */
static int
mcp_header_exponent(const char *p, const char *end, int64_t *exponent)
{
    int      negative;
    int64_t  n;

    negative = p < end && *p == '-';

    if (p < end && (*p == '-' || *p == '+')) {
        p++;
    }

    if (p == end || mcp_header_digits(p, end) != end) {
        return MCP_ERR_SYNTAX;
    }

    for (n = 0; p < end; p++) {
        n = n * 10 + (*p - '0');

        if (n > MCP_HEADER_EXPONENT_MAX) {
            n = MCP_HEADER_EXPONENT_MAX;
        }
    }

    *exponent = negative ? -n : n;

    return MCP_OK;
}


/*
 * Sets the digits of the number to those from p to end, without zeros at either
 * end, and adds the position of the decimal point to number->point. dot is the
 * address of the point, or end if the number has none.
 */
static void
mcp_header_normalise(mcp_header_number_t *number, const char *p,
    const char *dot, const char *end)
{
    while (p < end && (*p == '0' || *p == '.')) {
        p++;
    }

    while (end > p && (end[-1] == '0' || end[-1] == '.')) {
        end--;
    }

    number->first = p;
    number->end = end;

    if (p == end) {
        number->negative = 0;
        number->point = 0;
        return;
    }

    /* adds the number of digits before the decimal point. For 0.00D this number
     * is -2, because two zeros follow the point. */

    number->point += p < dot ? dot - p : dot + 1 - p;
}


/* Parses a number in the syntax of JSON. Returns MCP_OK, or MCP_ERR_SYNTAX if s
 * is not such a number. */
static int
mcp_header_number(mcp_str_t s, mcp_header_number_t *number)
{
    const char  *p, *start, *dot, *end;

    p = s.data;
    end = p + s.len;

    number->negative = p < end && *p == '-';
    number->point = 0;

    start = p + number->negative;
    p = mcp_header_digits(start, end);

    if (p == start || (p - start > 1 && *start == '0')) {
        return MCP_ERR_SYNTAX;
    }

    dot = p;

    if (p < end && *p == '.') {
        p = mcp_header_digits(p + 1, end);

        if (p == dot + 1) {
            return MCP_ERR_SYNTAX;
        }
    }

    if (p < end
        && ((*p != 'e' && *p != 'E')
            || mcp_header_exponent(p + 1, end, &number->point) != MCP_OK))
    {
        return MCP_ERR_SYNTAX;
    }

    mcp_header_normalise(number, start, dot, p);

    return MCP_OK;
}


/* Removes the next digit and returns it; returns '0' after the last digit. */
static char
mcp_header_next(const char **p, const char *end)
{
    if (*p < end && **p == '.') {
        (*p)++;
    }

    return *p < end ? *(*p)++ : '0';
}


static int
mcp_header_is_safe(const mcp_header_number_t *number)
{
    char         c;
    size_t       i;
    const char  *p;

    if (number->point != (int64_t) MCP_HEADER_NUMBER_DIGITS) {
        return number->point < (int64_t) MCP_HEADER_NUMBER_DIGITS;
    }

    p = number->first;

    for (i = 0; i < MCP_HEADER_NUMBER_DIGITS; i++) {
        c = mcp_header_next(&p, number->end);

        if (c != MCP_HEADER_NUMBER_MAX[i]) {
            return c < MCP_HEADER_NUMBER_MAX[i];
        }
    }

    return p == number->end;
}


/* Returns 1 if the number has no fraction. */
static int
mcp_header_is_integer(const mcp_header_number_t *number)
{
    int64_t      digits;
    const char  *p;

    digits = 0;

    for (p = number->first; p < number->end; p++) {
        digits += *p != '.';
    }

    return digits <= number->point;
}


int
mcp_header_value_is_integer(mcp_str_t number)
{
    mcp_header_number_t  n;

    return mcp_header_number(number, &n) == MCP_OK && mcp_header_is_integer(&n);
}


/* Sets *value to the text by which a header repeats a JSON number, see
 * mcp_header_value_write(). Returns MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_header_write_number(mcp_arena_t *arena, mcp_str_t number, mcp_str_t *value)
{
    char                 *text, *end;
    int64_t               i;
    const char           *p;
    mcp_header_number_t   n;

    *value = number;

    if (mcp_header_number(number, &n) != MCP_OK || !mcp_header_is_integer(&n)
        || !mcp_header_is_safe(&n))
    {
        return MCP_OK;
    }

    text = mcp_arena_alloc(arena, MCP_HEADER_NUMBER_DIGITS + 2);
    if (text == NULL) {
        return MCP_ERR_MEMORY;
    }

    end = text;
    p = n.first;

    if (n.negative) {
        *end++ = '-';
    }

    if (n.point == 0) {
        *end++ = '0';
    }

    for (i = 0; i < n.point; i++) {
        *end++ = mcp_header_next(&p, n.end);
    }

    *value = (mcp_str_t) { text, (size_t) (end - text) };

    return MCP_OK;
}


int
mcp_header_value_write(mcp_arena_t *arena, const mcp_json_value_t *body,
    mcp_str_t *value)
{
    mcp_str_t  text;

    switch (body->type) {

    case MCP_JSON_STRING:
        return mcp_json_unescape(arena, body->raw, &text) == MCP_OK
               ? mcp_header_value_encode(arena, text, value) : MCP_ERR_MEMORY;

    case MCP_JSON_NUMBER:
        return mcp_header_write_number(arena, body->raw, value);

    case MCP_JSON_BOOL:
        *value = body->raw;
        return MCP_OK;

    default:
        return MCP_DONE;
    }
}


static int
mcp_header_numbers_eq(mcp_str_t value, mcp_str_t body)
{
    size_t               i;
    const char          *p, *q;
    mcp_header_number_t  a, b;

    for (i = 0; i < value.len; i++) {
        if (value.data[i] == 'e' || value.data[i] == 'E') {
            return 0;
        }
    }

    if (mcp_header_number(value, &a) != MCP_OK
        || mcp_header_number(body, &b) != MCP_OK
        || a.negative != b.negative || a.point != b.point
        || !mcp_header_is_safe(&b))
    {
        return 0;
    }

    p = a.first;
    q = b.first;

    while (p < a.end || q < b.end) {
        if (mcp_header_next(&p, a.end) != mcp_header_next(&q, b.end)) {
            return 0;
        }
    }

    return 1;
}


int
mcp_header_value_is(mcp_str_t value, const mcp_json_value_t *body)
{
    switch (body->type) {

    case MCP_JSON_STRING:
        return mcp_json_str_eq(body->raw, value);

    case MCP_JSON_NUMBER:
        return mcp_header_numbers_eq(value, body->raw);

    case MCP_JSON_BOOL:
        return mcp_str_eq(body->raw, value);

    default:
        return 0;
    }
}
