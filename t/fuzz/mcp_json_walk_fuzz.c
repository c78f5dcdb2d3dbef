/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The two JSON parsers, with arbitrary text: mcp_json_scan() against yajl.
 * Both accept the same texts and find the same fields and duplicates.
 *
 * Both report the same error for an invalid text, except for
 *   - the offset of a syntax error: yajl reports the start or end of the token,
 *     or the start of a line that is not UTF-8;
 *   - a text with two errors: the test searches first for invalid bytes that
 *     yajl would ignore, so these are its error even if the text is too deep
 *     before them.
 *
 * The first byte of the input is the maximum depth, so that inputs reach it.
 */


#include "fuzz_env.h"

#include "base/mcp_str.h"
#include "json/mcp_json_scan.h"


enum { F_A, F_B, F_AA, F_AB, F_ABC, F_C, F_COUNT };

static const mcp_json_field_t  fields[F_COUNT] = {
    [F_A] = mcp_json_object(MCP_JSON_ROOT, "a", F_AA),
    [F_B] = mcp_json_field(MCP_JSON_ROOT, "b"),
    [F_AA] = mcp_json_field(F_A, "a"),
    [F_AB] = mcp_json_object(F_A, "b", F_ABC),
    [F_ABC] = mcp_json_field(F_AB, "c"),
    [F_C] = mcp_json_field(MCP_JSON_ROOT, "longer"),
};


typedef struct {
    int               rc;
    mcp_json_error_t  error;
    mcp_json_value_t  root;
    mcp_json_value_t  values[F_COUNT];
} result_t;


static int
same(const mcp_json_value_t *a, const mcp_json_value_t *b)
{
    return a->type == b->type
           && (a->type == MCP_JSON_NONE
               || (a->raw.data == b->raw.data && a->raw.len == b->raw.len));
}


/* Returns 1 if the text has bytes that are invalid anywhere in JSON. */
static int
bad_bytes(mcp_str_t text)
{
    return !mcp_utf8_valid(text)
           || (text.len > 0 && (memchr(text.data, '\v', text.len)
                                || memchr(text.data, '\f', text.len)));
}


static void
compare(mcp_str_t text, const result_t *walk, const result_t *yajl)
{
    size_t  f;

    must(walk->rc == yajl->rc);
    must(walk->error.offset <= text.len);
    must(yajl->error.offset <= text.len);
    must(same(&walk->root, &yajl->root));

    for (f = 0; f < F_COUNT; f++) {
        must(same(&walk->values[f], &yajl->values[f]));
    }

    if (walk->error.problem != yajl->error.problem) {
        must(walk->error.problem == MCP_JSON_BAD_DEPTH);
        must(yajl->error.problem == MCP_JSON_BAD_SYNTAX);
        must(bad_bytes(text));
        return;
    }

    if (walk->error.problem == MCP_JSON_BAD_SYNTAX) {
        return;
    }

    must(walk->error.offset == yajl->error.offset);
    must(walk->error.duplicates == yajl->error.duplicates);
    must(walk->error.field == yajl->error.field);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char         *copy;            /* copy of exactly the text's size, so that
                                      reading beyond its end is detected */
    unsigned      depth;
    result_t      walk, yajl;
    mcp_str_t     text;
    mcp_arena_t   arena;

    if (size == 0) {
        return 0;
    }

    depth = data[0] == 255 ? UINT32_MAX : data[0];

    copy = malloc(size);
    memcpy(copy, data, size);
    text = (mcp_str_t) { copy + 1, size - 1 };

    mcp_arena_init(&arena, &fuzz_mem);

    walk.rc = mcp_json_scan(&arena, text, depth, fields, F_COUNT, &walk.root,
                            walk.values, &walk.error);
    yajl.rc = mcp_json_scan_config(&arena, text, depth, fields, F_COUNT,
                                   &yajl.root, yajl.values, &yajl.error);
    compare(text, &walk, &yajl);

    mcp_arena_destroy(&arena);
    free(copy);
    must(live == 0);

    return 0;
}
