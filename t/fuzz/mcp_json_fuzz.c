/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The JSON parser for messages, with arbitrary text.  If the scan accepts a
 * text, iterators find the same fields, each part is JSON, and no memory is
 * left behind.
 */


#include "fuzz_env.h"

#include "base/mcp_str.h"
#include "json/mcp_json_scan.h"


#define DEPTH  16


enum { F_A, F_B, F_AA, F_AB, F_ABC, F_COUNT };

static const mcp_json_field_t  fields[F_COUNT] = {
    [F_A] = mcp_json_object(MCP_JSON_ROOT, "a", F_AA),
    [F_B] = mcp_json_field(MCP_JSON_ROOT, "b"),
    [F_AA] = mcp_json_field(F_A, "a"),
    [F_AB] = mcp_json_object(F_A, "b", F_ABC),
    [F_ABC] = mcp_json_field(F_AB, "c"),
};


static int
same(const mcp_json_value_t *a, const mcp_json_value_t *b)
{
    return a->type == b->type
           && (a->type == MCP_JSON_NONE
               || (a->raw.data == b->raw.data && a->raw.len == b->raw.len));
}


/* Checks a value with all its parts: each must be JSON, each string UTF-8. */
static void
walk(mcp_arena_t *arena, const mcp_json_value_t *value, unsigned depth)
{
    size_t             n;
    mcp_str_t          key, text;
    mcp_json_iter_t    iter;
    mcp_json_value_t   item, part;

    must(depth <= DEPTH);

    if (value->type == MCP_JSON_STRING) {
        must(mcp_json_unescape(arena, value->raw, &text) == MCP_OK);
        must(mcp_utf8_valid(text));
        must(mcp_json_str_eq(value->raw, text));
        must(text.len <= value->raw.len - 2);
    }

    mcp_json_iter_init(&iter, value->raw);

    for (n = 0; mcp_json_iter_next(&iter, &key, &item); n++) {
        must(item.raw.data > value->raw.data);
        must(item.raw.data + item.raw.len
             < value->raw.data + value->raw.len);
        must(item.type != MCP_JSON_NONE);

        if (value->type == MCP_JSON_OBJECT) {
            must(mcp_json_unescape(arena, key, &text) == MCP_OK);
            must(mcp_json_str_eq(key, text));

            /* mcp_json_get() finds the first member of this name, perhaps an
             * earlier one */
            part = mcp_json_get(value, text);
            must(part.type != MCP_JSON_NONE);
            must(part.raw.data <= item.raw.data);
        }

        /* scan only members of the root again, because scanning all parts
         * takes quadratic time */
        if (depth == 0) {
            must(mcp_json_scan(arena, item.raw, DEPTH, NULL, 0, &part, NULL,
                               NULL) == MCP_OK);
            must(same(&part, &item));
        }

        walk(arena, &item, depth + 1);
    }

    must(n == 0 || value->type == MCP_JSON_OBJECT
         || value->type == MCP_JSON_ARRAY);
}


/* Compares the fields that the scan has found with the results of
 * mcp_json_get(). */
static void
compare(const mcp_json_value_t *root, const mcp_json_value_t *values)
{
    size_t                   f;
    mcp_json_value_t         value;
    const mcp_json_value_t  *parent;

    for (f = 0; f < F_COUNT; f++) {
        parent = fields[f].parent == MCP_JSON_ROOT ? root
                                                   : &values[fields[f].parent];
        value = mcp_json_get(parent, fields[f].key);
        must(same(&value, &values[f]));
    }
}


/* Checks that the compact form of a value, on one line, has the same
 * values. */
static void
line(mcp_arena_t *arena, const mcp_json_value_t *root)
{
    mcp_buf_t         buf;
    mcp_json_value_t  again;

    mcp_buf_init(&buf, &fuzz_mem, SIZE_MAX);
    mcp_json_add_line(&buf, root->raw);

    must(buf.len == root->raw.len);
    must(memchr(buf.data, '\n', buf.len) == NULL);
    must(memchr(buf.data, '\r', buf.len) == NULL);
    must(mcp_json_scan(arena, (mcp_str_t) { buf.data, buf.len }, DEPTH, NULL,
                       0, &again, NULL, NULL) == MCP_OK);
    must(again.type == root->type && again.raw.len == root->raw.len);

    mcp_buf_free(&buf);
}


/* Checks that bytes written as a JSON string are read back unchanged, if they
 * are UTF-8. */
static void
quote(mcp_arena_t *arena, mcp_str_t text)
{
    int               rc;
    mcp_buf_t         buf;
    mcp_str_t         back;
    mcp_json_value_t  root;

    mcp_buf_init(&buf, &fuzz_mem, SIZE_MAX);
    mcp_buf_json(&buf, text);

    rc = mcp_json_scan(arena, (mcp_str_t) { buf.data, buf.len }, 0, NULL, 0,
                       &root, NULL, NULL);

    must((rc == MCP_OK) == mcp_utf8_valid(text));

    if (rc == MCP_OK) {
        must(root.type == MCP_JSON_STRING);
        must(mcp_json_unescape(arena, root.raw, &back) == MCP_OK);
        must(mcp_str_eq(back, text));
    }

    mcp_buf_free(&buf);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int               rc;
    mcp_str_t         text;
    mcp_arena_t       arena;
    mcp_json_error_t  error;
    mcp_json_value_t  root, values[F_COUNT];

    text.data = (const char *) data;
    text.len = size;

    mcp_arena_init(&arena, &fuzz_mem);

    rc = mcp_json_scan(&arena, text, DEPTH, fields, F_COUNT, &root, values,
                       &error);

    must(rc == MCP_OK || rc == MCP_ERR_SYNTAX);
    must((rc == MCP_OK) == (error.problem == MCP_JSON_FINE));
    must(error.offset <= size);

    if (rc == MCP_OK || error.problem == MCP_JSON_BAD_DUPLICATE) {
        must(mcp_utf8_valid(text));
        compare(&root, values);
        walk(&arena, &root, 0);
        line(&arena, &root);

    } else {
        must(root.type == MCP_JSON_NONE);
    }

    quote(&arena, text);

    mcp_arena_destroy(&arena);
    must(live == 0);

    return 0;
}
