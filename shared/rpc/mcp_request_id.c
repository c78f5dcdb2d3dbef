/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/mcp_request_id.h"


/* maximum number of digits of an exponent that is evaluated */
#define MCP_ID_EXPONENT  15


/* Reads the exponent after the "e". Returns MCP_OK, or MCP_ERR_LIMIT if it has
 * more than MCP_ID_EXPONENT digits. */
static int
mcp_id_exponent(const char *p, const char *end, int64_t *exponent)
{
    int      negative;
    int64_t  n;

    negative = (p < end && *p == '-');

    while (p < end && (*p == '-' || *p == '+' || *p == '0')) {
        p++;
    }

    if (end - p > MCP_ID_EXPONENT) {
        return MCP_ERR_LIMIT;
    }

    for (n = 0; p < end; p++) {
        n = n * 10 + (*p - '0');
    }

    *exponent += negative ? -n : n;

    return MCP_OK;
}


char *
mcp_id_digits(char *out, mcp_str_t number, int64_t *exponent)
{
    int          fraction;
    char        *o;
    const char  *p, *end;

    *exponent = 0;
    fraction = 0;
    o = out;
    end = number.data + number.len;

    for (p = number.data; p < end && *p != 'e' && *p != 'E'; p++) {

        if (*p == '.') {
            fraction = 1;
            continue;
        }

        *exponent -= fraction;

        if (*p != '0' || o > out) {
            *o++ = *p;
        }
    }

    while (o > out && o[-1] == '0') {
        o--;
        *exponent += 1;
    }

    return o > out && p < end
           && mcp_id_exponent(p + 1, end, exponent) != MCP_OK ? NULL : o;
}


/*
 * Sets *plain to the canonical form of a number: its digits without zeros at
 * either end, and the power of ten of the last digit.
 */
static int
mcp_id_number(mcp_arena_t *arena, mcp_str_t raw, mcp_str_t *plain)
{
    size_t    minus;
    char     *start, *o;
    int64_t   exponent;

    start = mcp_arena_alloc(arena, raw.len + sizeof("-e-") + 20);
    if (start == NULL) {
        return MCP_ERR_MEMORY;
    }

    *start = '-';
    minus = *raw.data == '-';
    o = mcp_id_digits(start + minus, (mcp_str_t) { raw.data + minus,
                                                   raw.len - minus },
                      &exponent);

    if (o == NULL) {
        return MCP_OK;
    }

    if (o == start + minus) {
        *plain = mcp_str("0");
        return MCP_OK;
    }

    *o++ = 'e';

    if (exponent < 0) {
        *o++ = '-';
        exponent = -exponent;
    }

    o = mcp_uint_print(o, (uint64_t) exponent);
    *plain = (mcp_str_t) { start, (size_t) (o - start) };

    return MCP_OK;
}


/*
 * Sets *plain to the canonical form of a string: a quote and the unescaped
 * text.
 */
static int
mcp_id_string(mcp_arena_t *arena, mcp_str_t raw, mcp_str_t *plain)
{
    int         rc;
    char       *p;
    mcp_str_t   text;

    rc = mcp_json_unescape(arena, raw, &text);
    if (rc != MCP_OK) {
        return rc;
    }

    if (text.data == raw.data + 1) {

        /* the text has no escapes: the canonical form, which is the opening
         * quote and the text, is the beginning of raw */

        *plain = (mcp_str_t) { raw.data, text.len + 1 };
        return MCP_OK;
    }

    p = mcp_arena_alloc(arena, text.len + 1);
    if (p == NULL) {
        return MCP_ERR_MEMORY;
    }

    *p = '"';
    memcpy(p + 1, text.data, text.len);
    *plain = (mcp_str_t) { p, text.len + 1 };

    return MCP_OK;
}


int
mcp_id_plain(mcp_arena_t *arena, mcp_str_t raw, mcp_str_t *plain)
{
    *plain = raw;

    if (raw.len == 0) {
        return MCP_OK;
    }

    if (raw.data[0] == '-' || (raw.data[0] >= '0' && raw.data[0] <= '9')) {
        return mcp_id_number(arena, raw, plain);
    }

    return raw.data[0] == '"' ? mcp_id_string(arena, raw, plain) : MCP_OK;
}


int
mcp_id_same(const mcp_mem_t *mem, mcp_str_t a, mcp_str_t b)
{
    int          same;
    mcp_str_t    plain_a, plain_b;
    mcp_arena_t  arena;

    if (mcp_str_eq(a, b)) {
        return 1;
    }

    mcp_arena_init(&arena, mem);

    same = mcp_id_plain(&arena, a, &plain_a) == MCP_OK
           && mcp_id_plain(&arena, b, &plain_b) == MCP_OK
           && mcp_str_eq(plain_a, plain_b);

    mcp_arena_destroy(&arena);

    return same;
}


int
mcp_id_digest(const mcp_mem_t *mem, mcp_str_t prefix, mcp_str_t raw,
    unsigned char digest[MCP_DIGEST_LEN])
{
    int          rc;
    mcp_str_t    parts[2];
    mcp_arena_t  arena;

    parts[0] = prefix;

    mcp_arena_init(&arena, mem);
    rc = mcp_id_plain(&arena, raw, &parts[1]);

    if (rc == MCP_OK) {
        rc = mcp_digest(digest, parts, 2);
    }

    mcp_arena_destroy(&arena);

    return rc;
}


/* --- ids of tasks --- */

#define MCP_TASK_ID_AT_CREATED  MCP_STREAM_ID_LEN
#define MCP_TASK_ID_AT_TTL      (MCP_STREAM_ID_LEN + 8)
#define MCP_TASK_ID_LEN         (MCP_STREAM_ID_LEN + 16)


int
mcp_task_id_write(const mcp_task_id_t *id, const mcp_keys_t *keys,
    mcp_buf_t *out)
{
    char           *p, *end;
    unsigned char   data[MCP_TASK_ID_LEN];

    memcpy(data, id->stream, MCP_STREAM_ID_LEN);
    mcp_be_put(data + MCP_TASK_ID_AT_CREATED, id->created, 8);
    mcp_be_put(data + MCP_TASK_ID_AT_TTL, id->ttl, 8);

    p = mcp_buf_reserve(out, MCP_TOKEN_TEXT_MAX);
    if (p == NULL) {
        return out->failed;
    }

    end = mcp_token_sign(keys, MCP_TOKEN_TASK, data, sizeof(data), p);
    if (end == NULL) {
        return MCP_ERR_INTERNAL;
    }

    out->len += (size_t) (end - p);

    return MCP_OK;
}


int
mcp_task_id_read(mcp_task_id_t *id, const mcp_keys_t *keys, mcp_str_t text,
    uint64_t now)
{
    int            rc;
    unsigned char  data[MCP_TASK_ID_LEN];

    rc = mcp_token_verify(keys, MCP_TOKEN_TASK, text, data, sizeof(data));

    if (rc == MCP_ERR_INTERNAL) {
        return rc;
    }

    if (rc != MCP_OK) {
        return MCP_ERR_NOT_FOUND;
    }

    memcpy(id->stream, data, MCP_STREAM_ID_LEN);
    id->created = mcp_be_get(data + MCP_TASK_ID_AT_CREATED, 8);
    id->ttl = mcp_be_get(data + MCP_TASK_ID_AT_TTL, 8);

    return now < id->created + id->ttl ? MCP_OK : MCP_ERR_NOT_FOUND;
}
