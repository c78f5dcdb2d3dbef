/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Values of headers that mirror arguments.  The input is the value of a header
 * up to a line end, then the JSON value in the body.  A decoded header value
 * must encode to the same header, and a client's encoding of the body's value
 * must be equal to the body's value.
 */


#include "fuzz_env.h"

#include "base/mcp_base64.h"
#include "base/mcp_str.h"
#include "http/mcp_mirrored_header.h"


/* Encodes a value like a client that encodes every value, even if that is not
 * needed. */
static mcp_str_t
encode(mcp_arena_t *arena, mcp_str_t value)
{
    char  *p, *start;

    start = mcp_arena_alloc(arena, mcp_base64_len(value.len) + 11);
    must(start != NULL);

    memcpy(start, "=?base64?", 9);
    p = mcp_base64_encode(start + 9, value.data, value.len);
    memcpy(p, "?=", 2);

    return (mcp_str_t) { start, (size_t) (p + 2 - start) };
}


static void
decode(mcp_arena_t *arena, mcp_str_t raw)
{
    int        rc;
    size_t     i;
    mcp_str_t  plain, value, again;

    rc = mcp_header_value_decode(arena, raw, &value);
    must(rc == MCP_OK || rc == MCP_ERR_SYNTAX);

    if (mcp_header_value_plain(raw, &plain) != MCP_OK) {
        must(rc == MCP_ERR_SYNTAX);
        return;
    }

    if (rc != MCP_OK) {
        must(plain.len >= 10 && memcmp(plain.data, "=?base64?", 9) == 0);
        return;
    }

    must(value.data != NULL);

    for (i = 0; i < plain.len; i++) {
        must(plain.data[i] == '\t'
             || (plain.data[i] >= ' ' && plain.data[i] <= '~'));
    }

    /* a value that decoding has changed was encoded */

    if (!mcp_str_eq(value, plain)) {
        must(mcp_utf8_valid(value));
        must(mcp_str_eq(encode(arena, value), plain));
    }

    must(mcp_header_value_decode(arena, encode(arena, value), &again)
         == MCP_OK);
    must(mcp_str_eq(value, again));
}


static void
compare(mcp_arena_t *arena, mcp_str_t raw, mcp_str_t json)
{
    mcp_str_t         value, text;
    mcp_json_value_t  body, other;

    if (mcp_json_scan(arena, json, 16, NULL, 0, &body, NULL, NULL) != MCP_OK) {
        return;
    }

    if (mcp_header_value_decode(arena, raw, &value) == MCP_OK) {
        other = body;
        other.type = MCP_JSON_NULL;

        (void) mcp_header_value_is(value, &body);
        must(!mcp_header_value_is(value, &other));
    }

    switch (body.type) {

    case MCP_JSON_STRING:
        must(mcp_json_unescape(arena, body.raw, &text) == MCP_OK);
        must(mcp_header_value_decode(arena, encode(arena, text), &value)
             == MCP_OK);
        must(mcp_header_value_is(value, &body));
        break;

    case MCP_JSON_NUMBER:
        if (!mcp_header_value_is(body.raw, &body)) {

            /* only a number beyond 2^53-1, or with an exponent, may be
             * unequal */

            must(body.raw.len >= 16
                 || memchr(body.raw.data, 'e', body.raw.len)
                 || memchr(body.raw.data, 'E', body.raw.len));
        }

        break;

    case MCP_JSON_BOOL:
        must(mcp_header_value_is(body.raw, &body));
        break;

    default:
        must(!mcp_header_value_is(body.raw, &body));
    }
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_str_t    raw, json;
    mcp_arena_t  arena;

    raw.data = (const char *) data;
    json.data = size ? memchr(data, '\n', size) : NULL;
    raw.len = json.data ? (size_t) (json.data - raw.data) : size;

    mcp_arena_init(&arena, &fuzz_mem);

    decode(&arena, raw);

    if (json.data) {
        json.data++;
        json.len = size - raw.len - 1;
        compare(&arena, raw, json);
    }

    mcp_arena_destroy(&arena);
    must(live == 0);

    return 0;
}
