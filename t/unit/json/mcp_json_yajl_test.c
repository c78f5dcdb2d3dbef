/* SPDX-License-Identifier: Apache-2.0 */

/* Additions to yajl: bytes that yajl accepts are rejected, and its memory
 * comes from the arena. */


#include "memory_cases.h"
#include "json/mcp_json_scan.h"


#define DEPTH  8


/* Positions of errors in bytes; mcp_json_scan_test.c compares line numbers with
 * yajl. */
static const struct {
    const char  *text;
    size_t       offset;
} places[] = {
    { "", 0 },
    { "{\n  \"a\": 1,\n  \"b\": x\n}", 20 },
    { "[1,\n2", 5 },
    { "[\"a\",\n\"b\xff\"]", 6 },
    { "[\"a\", \v]", 6 },
    { "[\"a\", \f \v]", 8 },
    { "[\"a\", \f]", 6 },
};


TEST(syntax_error_found_with_yajl_has_an_offset)
{
    size_t            i;
    mcp_arena_t       arena;
    mcp_json_error_t  error;
    mcp_json_value_t  root;

    mcp_arena_init(&arena, &tm.mem);

    for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        assert_int_equal(mcp_json_scan_config(&arena,
                                              test_str(places[i].text), DEPTH,
                                              NULL, 0, &root, NULL, &error),
                         MCP_ERR_SYNTAX);
        assert_int_equal(error.problem, MCP_JSON_BAD_SYNTAX);
        assert_int_equal(error.offset, places[i].offset);
    }

    mcp_arena_destroy(&arena);
}


TEST(memory_runs_out__a_scan_with_yajl_fails)
{
    int               rc;
    size_t            k;
    mcp_arena_t       arena;
    mcp_json_value_t  root;

    for (k = 1; /* void */ ; k++) {
        test_mem_init(&tm);
        tm.fail_at = k;
        mcp_arena_init(&arena, &tm.mem);

        rc = mcp_json_scan_config(&arena, mcp_str("{\"a\":[1,2]}"), DEPTH,
                                  NULL, 0, &root, NULL, NULL);

        assert_int_equal(rc, tm.failed ? MCP_ERR_MEMORY : MCP_OK);

        mcp_arena_destroy(&arena);
        assert_int_equal(tm.live, 0);

        if (tm.failed == 0) {
            break;
        }
    }

    assert_int_equal(k, 2);
}


RUN_TESTS(init, done)
