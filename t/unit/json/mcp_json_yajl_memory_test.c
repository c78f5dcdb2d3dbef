/* SPDX-License-Identifier: Apache-2.0 */

/* The memory for yajl: it is sufficient for texts of many lengths, and is free
 * again after a scan. */


#include "memory_cases.h"
#include "json/mcp_json_scan.h"


#define DEPTH  8


static int
scan(mcp_arena_t *arena, const char *text, size_t len, mcp_json_value_t *root)
{
    return mcp_json_scan_config(arena, (mcp_str_t) { text, len }, DEPTH, NULL,
                                0, root, NULL, NULL);
}


/* Long tokens, complete or cut off: the memory for yajl is sufficient. */
TEST(yajl_scans_tokens_of_up_to_1_mib_without_running_out_of_memory)
{
    char             *text;
    size_t            n, k, len;
    mcp_arena_t       arena;
    mcp_json_value_t  root;
    static const size_t  sizes[] = {
        2000, 2043, 2044, 2045, 2046, 2047, 2048, 2049, 4093, 4094, 4095,
        4096, 4097, 8190, 8191, 8192, 100000, 1048574, 1048576
    };

    mcp_arena_init(&arena, &tm.mem);

    for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        n = sizes[k];
        text = malloc(n);

        /* a number: yajl detects its end only at the end of the text */

        memset(text, '7', n);
        assert_ok(scan(&arena, text, n, &root));
        assert_int_equal(root.type, MCP_JSON_NUMBER);
        assert_ptr_equal(root.raw.data, text);
        assert_int_equal(root.raw.len, n);

        text[n - 1] = '.';
        assert_int_equal(scan(&arena, text, n, &root), MCP_ERR_SYNTAX);

        /* strings, with escapes */

        for (len = 0; len + 1 < n; len += 2) {
            memcpy(text + len, "\\n", 2);
        }

        memcpy(text, "[\"", 2);
        assert_int_equal(scan(&arena, text, n, &root), MCP_ERR_SYNTAX);

        memcpy(text + len - 2, "\"]", 2);
        assert_ok(scan(&arena, text, len, &root));
        assert_int_equal(root.raw.len, len);

        free(text);
    }

    mcp_arena_destroy(&arena);
}


/* A scan keeps no memory of the arena; the next scan uses the same memory. */
TEST(scan_with_yajl_frees_its_memory_for_the_next_scan)
{
    int               i;
    char             *p;
    mcp_arena_t       arena;
    mcp_json_value_t  root;

    mcp_arena_init(&arena, &tm.mem);

    /* the first blocks of an arena are small */

    assert_non_null(mcp_arena_alloc(&arena, 1500));
    assert_non_null(mcp_arena_alloc(&arena, MCP_ARENA_CALL_BLOCK - 16));
    p = mcp_arena_alloc(&arena, 8);
    assert_int_equal(tm.total, 3);

    for (i = 0; i < 100; i++) {
        assert_ok(scan(&arena, "[1,2]", 5, &root));
    }

    assert_int_equal(tm.total, 3);
    assert_ptr_equal(mcp_arena_alloc(&arena, 8), p + 8);

    mcp_arena_destroy(&arena);
}


RUN_TESTS(init, done)
