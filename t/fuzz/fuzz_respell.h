/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Writes JSON in another spelling: members in another order, strings with
 * escapes, numbers in another form.
 */


#ifndef FUZZ_RESPELL_H_INCLUDED
#define FUZZ_RESPELL_H_INCLUDED


#include "fuzz_env.h"

#include "base/mcp_str.h"
#include "json/mcp_json_scan.h"


#define DEPTH  16


static void respell(mcp_buf_t *out, mcp_json_value_t value, uint8_t how);


/* Writes a JSON string with each character as an escape. */
static void
respell_string(mcp_buf_t *out, mcp_str_t raw)
{
    size_t       i, k, units;
    char         unit[2][8];
    int          valid;
    uint32_t     c;
    size_t       n;
    mcp_str_t    s;
    mcp_arena_t  arena;

    mcp_arena_init(&arena, &fuzz_mem);
    must(mcp_json_unescape(&arena, raw, &s) == MCP_OK);

    mcp_buf_lit(out, "\"");

    for (i = 0; i < s.len; i += n) {
        n = mcp_utf8_char(s.data + i, s.data + s.len, &valid);
        must(valid);
        c = (unsigned char) s.data[i];
        c = n == 1 ? c : c & (0x7fu >> n);

        for (k = 1; k < n; k++) {
            c = c << 6 | ((unsigned char) s.data[i + k] & 0x3f);
        }

        units = 1;

        if (c < 0x10000) {
            snprintf(unit[0], sizeof(unit[0]), "\\u%04x", c & 0xffff);

        } else {
            c -= 0x10000;
            units = 2;
            snprintf(unit[0], sizeof(unit[0]), "\\u%04X",
                     (0xd800 | c >> 10) & 0xffff);
            snprintf(unit[1], sizeof(unit[1]), "\\u%04x",
                     (0xdc00 | (c & 0x3ff)) & 0xffff);
        }

        for (k = 0; k < units; k++) {
            mcp_buf_str(out, (mcp_str_t) { unit[k], 6 });
        }
    }

    mcp_buf_lit(out, "\"");
    mcp_arena_destroy(&arena);
}


/* Writes a number with additional zeros or an exponent.  A number that is
 * compared as text is not changed. */
static void
respell_number(mcp_buf_t *out, mcp_str_t raw, uint8_t how)
{
    size_t  e, i, digits;
    int     point;

    point = 0;

    for (e = 0; e < raw.len && raw.data[e] != 'e' && raw.data[e] != 'E'; e++) {
        point |= (raw.data[e] == '.');
    }

    for (i = e, digits = 0; i < raw.len; i++) {
        digits += (raw.data[i] >= '0' && raw.data[i] <= '9');
    }

    if (digits > 15) {
        mcp_buf_str(out, raw);
        return;
    }

    mcp_buf_add(out, raw.data, e);

    if (!point) {
        mcp_buf_lit(out, ".");
    }

    mcp_buf_lit(out, "000");

    if (e < raw.len) {
        mcp_buf_lit(out, "E");
        e++;

        if (raw.data[e] == '-' || raw.data[e] == '+') {
            mcp_buf_add(out, raw.data + e, 1);
            e++;
        }

        mcp_buf_lit(out, "00");
        mcp_buf_add(out, raw.data + e, raw.len - e);

    } else if (how & 1) {
        mcp_buf_lit(out, "e-0");
    }
}


/* Returns 1 if two members of the object have the same name: then the order of
 * members counts. */
static int
is_doubled(mcp_str_t object)
{
    int               doubled;
    mcp_str_t         key, other, plain;
    const char       *nul;
    mcp_arena_t       arena;
    mcp_json_iter_t   i, k;
    mcp_json_value_t  value;

    doubled = 0;
    mcp_arena_init(&arena, &fuzz_mem);
    mcp_json_iter_init(&i, object);

    while (!doubled && mcp_json_iter_next(&i, &key, &value)) {
        must(mcp_json_unescape(&arena, key, &plain) == MCP_OK);
        k = i;
        nul = plain.len ? memchr(plain.data, '\0', plain.len) : NULL;
        plain.len = nul ? (size_t) (nul - plain.data) : plain.len;

        while (!doubled && mcp_json_iter_next(&k, &other, &value)) {
            doubled = mcp_json_alike(other, plain);
        }
    }

    mcp_arena_destroy(&arena);

    return doubled;
}


static void
respell_member(mcp_buf_t *out, mcp_str_t key, mcp_json_value_t value,
    uint8_t how)
{
    respell_string(out, key);
    mcp_buf_lit(out, " :\t");
    respell(out, value, how);
}


/* Writes the members of an object from the last to the first. */
static void
respell_object(mcp_buf_t *out, mcp_str_t raw, uint8_t how)
{
    size_t            i, n;
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    n = 0;
    mcp_json_iter_init(&iter, raw);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        n++;
    }

    if (n > 64 || is_doubled(raw)) {
        mcp_buf_str(out, raw);
        return;
    }

    mcp_buf_lit(out, "{ ");

    while (n-- > 0) {
        mcp_json_iter_init(&iter, raw);

        for (i = 0; i <= n; i++) {
            must(mcp_json_iter_next(&iter, &key, &value));
        }

        respell_member(out, key, value, how);

        if (n) {
            mcp_buf_lit(out, "\n,");
        }
    }

    mcp_buf_lit(out, "}");
}


static void
respell(mcp_buf_t *out, mcp_json_value_t value, uint8_t how)
{
    mcp_json_iter_t   iter;
    mcp_json_value_t  one;
    const char       *between;

    switch (value.type) {

    case MCP_JSON_OBJECT:
        respell_object(out, value.raw, how);
        break;

    case MCP_JSON_ARRAY:
        between = "[ ";
        mcp_json_iter_init(&iter, value.raw);

        while (mcp_json_iter_next(&iter, NULL, &one)) {
            mcp_buf_add(out, between, 2);
            respell(out, one, how);
            between = " ,";
        }

        mcp_buf_add(out, "[", *between == '[');
        mcp_buf_lit(out, "]");
        break;

    case MCP_JSON_STRING:
        respell_string(out, value.raw);
        break;

    case MCP_JSON_NUMBER:
        respell_number(out, value.raw, how);
        break;

    default:
        mcp_buf_str(out, value.raw);
    }
}


static int
is_object(mcp_str_t text, mcp_json_value_t *root)
{
    int          rc;
    mcp_arena_t  arena;

    mcp_arena_init(&arena, &fuzz_mem);
    rc = mcp_json_scan(&arena, text, DEPTH, NULL, 0, root, NULL, NULL);
    mcp_arena_destroy(&arena);

    return rc == MCP_OK && root->type == MCP_JSON_OBJECT;
}


#endif /* FUZZ_RESPELL_H_INCLUDED */
