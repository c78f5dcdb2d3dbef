/* SPDX-License-Identifier: Apache-2.0 */

/* Texts that are JSON, texts that are not, and the position of the error; both
 * parsers return the same. */


#include "memory_cases.h"
#include "json_scans.h"


#define DEPTH  8


static const char  *const good[] = {
    "{}", "[]", "\"\"", "0", "-0", "-0.0e-0", "12", "1.5", "1E400", "1e+5",
    "123456789012345678901234567890", "true", "false", "null",
    " { } ", "\t\r\n[ ]\n", " 12 ", "\n\"a\" ",
    "[1,2 , 3]", "[[],{},[{}]]", "[[[[[[[[]]]]]]]]",
    "{\"a\":1,\"b\":[true,null],\"c\":{\"d\":\"e\"}}",
    "{\"\":\"\"}", "{\"a\":1,\"a\":2}",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\uD83D\\uDE00\\ud800\"",
    "\"\\\\\"", "\"\x7f\"",
    "\"\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80\"",
    "\"\xef\xbf\xbf \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf\"",
};


static const char  *const bad[] = {
    "", " ", "\n\t", "{", "[", "}", "]", "\"", "\"a", ",", ":",
    "{]", "[}", "[1,]", "[,1]", "[,]", "[1 2]", "[\"a\" \"b\"]", "[1:2]",
    "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\" 1}", "{a:1}",
    "{1:1}", "{\"a\":1 \"b\":2}", "{\"a\"::1}", "{\"a\",1}", "{null:1}",
    "{\"a\":1", "{\"a\":\"}", "{\"a", "[1", "[tru", "{\"a\":1]",

    /* numbers and words */
    "01", "-", "+1", "-a", "1.", ".5", "1.e1", "1e", "1e+", "0x10", "1a",
    "- 1", "NaN", "Infinity", "tru", "truee", "True", "nul", "fals", "'a'",

    /* text after the value */
    "{} x", "{}{}", "{}}", "[]]", "1 2", "\"a\" tru", "\"a\" \"b", "\"a\"b",
    "{} tru", "{} \"a", "{} 1", "\"a\" 1", "1,", "\"a\",", "\"a\":",
    "true false", "null,",

    /* not JSON's */
    "{} // x", "/* x */{}", "[1,/**/2]", "# x\n{}",
    "\v{}", "{}\v", "[1,\f2]", "[\v]", "{\"a\"\f:1}", "[\xc2\xa0]",
    "\xef\xbb\xbf{}", "\xff\xfe{",

    /* strings */
    "\"\n\"", "\"\t\"", "\"\x01\"", "\"\x1f\"", "[\"a\r\n\"]",
    "\"\\x\"", "\"\\u12\"", "\"\\u123g\"", "\"\\\"", "\"\\u\"", "\"\\'\"",
    "\"\\v\"", "\"\\U0041\"", "\"\\ud800\\u\"", "\"\\ud800\\\\u\\\"",

    /* UTF-8: cut off, stray, overlong, surrogates, too large */
    "\"\xc3\"", "\"\xe2\x82\"", "\"\xf0\x9f\x98\"", "\"\xe2\x82", "\"\x80\"",
    "\"\xbf\"", "\"\xc0\x80\"", "\"\xc1\xbf\"", "\"\xe0\x80\x80\"",
    "\"\xe0\x9f\xbf\"", "\"\xf0\x80\x80\x80\"", "\"\xf0\x8f\xbf\xbf\"",
    "\"\xed\xa0\x80\"", "\"\xed\xbf\xbf\"", "\"\xed\xa0\xbd\xed\xb8\x80\"",
    "\"\xf4\x90\x80\x80\"", "\"\xf5\x80\x80\x80\"",
    "\"\xf8\x88\x80\x80\x80\"", "\"\xff\"", "\"\xfe\"", "\"12345678\xff\"",
    "{\"\xc0\x80\":1}", "[\"a\", \"\xed\xa0\x80\"]",
};


static int
scan_deep(const mcp_mem_t *mem, mcp_str_t text, unsigned max_depth,
    mcp_json_error_t *error)
{
    int                rc[JSON_SCANS];
    char              *copy;
    size_t             s;
    mcp_arena_t        arena;
    mcp_json_error_t   e[JSON_SCANS];
    mcp_json_value_t   root;

    /* a copy of exactly the right size: memory checkers detect reads after its
     * end */

    copy = malloc(text.len ? text.len : 1);
    memcpy(copy, text.data, text.len);

    for (s = 0; s < JSON_SCANS; s++) {
        mcp_arena_init(&arena, mem);

        rc[s] = json_scans[s](&arena, (mcp_str_t) { copy, text.len },
                              max_depth, NULL, 0, &root, NULL,
                              error ? &e[s] : NULL);

        if (rc[s] == MCP_OK) {
            assert_int_not_equal(root.type, MCP_JSON_NONE);
        } else {
            assert_int_equal(root.type, MCP_JSON_NONE);
        }

        mcp_arena_destroy(&arena);

        assert_int_equal(rc[s], rc[0]);

        if (error != NULL) {
            assert_int_equal(e[s].problem, e[0].problem);
            assert_true(e[s].offset <= text.len);
        }
    }

    free(copy);

    if (error != NULL) {
        *error = e[0];
    }

    return rc[0];
}


static int
scan(const mcp_mem_t *mem, mcp_str_t text, mcp_json_error_t *error)
{
    return scan_deep(mem, text, DEPTH, error);
}


TEST(valid_json_is_accepted_and_invalid_json_is_rejected)
{
    size_t            i;
    mcp_json_error_t  error;

    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (scan(&tm.mem, test_str(good[i]), &error) != MCP_OK) {
            fail_msg("refused: %s", good[i]);
        }

        assert_int_equal(error.problem, MCP_JSON_FINE);
    }

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (scan(&tm.mem, test_str(bad[i]), &error) != MCP_ERR_SYNTAX) {
            fail_msg("accepted: %s", bad[i]);
        }

        assert_int_equal(error.problem, MCP_JSON_BAD_SYNTAX);
        assert_int_equal(scan(&tm.mem, test_str(bad[i]), NULL),
                         MCP_ERR_SYNTAX);
    }

    assert_int_equal(scan(&tm.mem, (mcp_str_t) { "{}\0", 3 }, NULL),
                     MCP_ERR_SYNTAX);
    assert_int_equal(scan(&tm.mem, (mcp_str_t) { "\"a\0b\"", 5 }, NULL),
                     MCP_ERR_SYNTAX);
}


/* No proper prefix of a JSON text is JSON. */
TEST(json_text_that_is_cut_off_anywhere_is_rejected)
{
    size_t  n;
    static const char    text[] =
        "{\"a\":[1,-2.5e3,\"x\\u00e9\\\"\",true,null],\"b\":{\"c\":\"\xe2\x82"
        "\xac\"},\"long\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}";

    for (n = 0; n < sizeof(text) - 1; n++) {
        assert_int_equal(scan(&tm.mem, (mcp_str_t) { text, n }, NULL),
                         MCP_ERR_SYNTAX);
    }

    assert_ok(scan(&tm.mem, mcp_str(text), NULL));
}


static const struct {
    const char  *text;
    size_t       offset;
} places[] = {
    { "", 0 },
    { "  \n ", 0 },
    { "{\n  \"a\": 1,\n  \"b\": x\n}", 19 },
    { "\n\n{\"a\":\n1,}", 10 },
    { "[1,\n2", 5 },
    { "\n[\"a\",\n\"\xff\"]", 8 },
    { "\n[\v]", 2 },
};


TEST(json_is_invalid__the_error_has_the_offset_of_the_problem)
{
    size_t            i;
    mcp_json_error_t  error;

    for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        assert_int_equal(scan(&tm.mem, test_str(places[i].text), &error),
                         MCP_ERR_SYNTAX);

        if (error.offset != places[i].offset) {
            fail_msg("place %u: offset %u", (unsigned) i,
                     (unsigned) error.offset);
        }
    }
}


TEST(json_nested_deeper_than_allowed_is_rejected)
{
    char             *text;
    size_t            n, i, pair;
    mcp_json_error_t  error;

    assert_int_equal(scan(&tm.mem, mcp_str("[[[[[[[[[1]]]]]]]]]"), &error),
                     MCP_ERR_SYNTAX);
    assert_int_equal(error.problem, MCP_JSON_BAD_DEPTH);
    assert_int_equal(error.offset, 8);

    assert_int_equal(scan(&tm.mem, mcp_str("[[[[[[[\n[{}]]]]]]]]"), &error),
                     MCP_ERR_SYNTAX);
    assert_int_equal(error.problem, MCP_JSON_BAD_DEPTH);
    assert_int_equal(error.offset, 9);

    /* many values side by side do not count as depth */

    assert_ok(scan(&tm.mem,
                   mcp_str("[[],[],[],[],[],[],[],[],[],[],[],{}]"),
                   &error));

    assert_ok(scan_deep(&tm.mem, mcp_str("1"), 0, NULL));
    assert_int_equal(scan_deep(&tm.mem, mcp_str("[]"), 0, &error),
                     MCP_ERR_SYNTAX);
    assert_int_equal(error.problem, MCP_JSON_BAD_DEPTH);

    /* deeper texts than the initial stack of the parser allows, with and
     * without the closing brackets */

    for (n = 1; n < 2000; n += 63) {
        text = malloc(6 * n + 2);
        pair = 0;

        for (i = 0; i < n; i++) {
            memcpy(text + pair, i % 2 ? "{\"a\":" : "[", i % 2 ? 5 : 1);
            pair += i % 2 ? 5 : 1;
        }

        assert_int_equal(scan_deep(&tm.mem, (mcp_str_t) { text, pair }, 2000,
                                   &error), MCP_ERR_SYNTAX);
        assert_int_equal(error.problem, MCP_JSON_BAD_SYNTAX);

        text[pair++] = '1';

        while (i-- > 0) {
            text[pair++] = i % 2 ? '}' : ']';
        }

        assert_ok(scan_deep(&tm.mem, (mcp_str_t) { text, pair },
                            (unsigned) n, NULL));
        assert_ok(scan_deep(&tm.mem, (mcp_str_t) { text, pair },
                            UINT32_MAX, NULL));
        assert_int_equal(scan_deep(&tm.mem, (mcp_str_t) { text, pair },
                                   (unsigned) n - 1, &error), MCP_ERR_SYNTAX);
        assert_int_equal(error.problem, MCP_JSON_BAD_DEPTH);

        free(text);
    }
}


RUN_TESTS(init, done)
