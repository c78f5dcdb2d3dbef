/* SPDX-License-Identifier: Apache-2.0 */

/* What is JSON and what is not, and where the fields stand. */


#include "test_env.h"
#include "json/mcp_json.h"


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

    /* behind the value */
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
scan(const mcp_mem_t *mem, mcp_str_t text, mcp_json_error_t *error)
{
    int                rc;
    char              *copy;
    mcp_arena_t        arena;
    mcp_json_value_t   root;

    /* of its own, so that reading too far shows */

    copy = malloc(text.len ? text.len : 1);
    memcpy(copy, text.data, text.len);

    mcp_arena_init(&arena, mem);

    rc = mcp_json_scan(&arena, (mcp_str_t) { copy, text.len }, DEPTH, NULL, 0,
                       &root, NULL, error);

    if (rc == MCP_OK) {
        assert_int_not_equal(root.type, MCP_JSON_NONE);
    } else {
        assert_int_equal(root.type, MCP_JSON_NONE);
    }

    mcp_arena_destroy(&arena);
    free(copy);

    return rc;
}


static void
test_grammar(void **state)
{
    size_t            i;
    test_mem_t        tm;
    mcp_json_error_t  error;

    (void) state;

    test_mem_init(&tm);

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
        assert_true(error.offset <= strlen(bad[i]));
        assert_int_equal(scan(&tm.mem, test_str(bad[i]), NULL),
                         MCP_ERR_SYNTAX);
    }

    assert_int_equal(scan(&tm.mem, (mcp_str_t) { "{}\0", 3 }, NULL),
                     MCP_ERR_SYNTAX);
    assert_int_equal(scan(&tm.mem, (mcp_str_t) { "\"a\0b\"", 5 }, NULL),
                     MCP_ERR_SYNTAX);

    assert_int_equal(tm.live, 0);
}


/* A text is JSON only as a whole: none of its beginnings is. */
static void
test_prefixes(void **state)
{
    size_t               n;
    test_mem_t           tm;
    static const char    text[] =
        "{\"a\":[1,-2.5e3,\"x\\u00e9\\\"\",true,null],\"b\":{\"c\":\"\xe2\x82"
        "\xac\"},\"long\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}";

    (void) state;

    test_mem_init(&tm);

    for (n = 0; n < sizeof(text) - 1; n++) {
        assert_int_equal(scan(&tm.mem, (mcp_str_t) { text, n }, NULL),
                         MCP_ERR_SYNTAX);
    }

    assert_int_equal(scan(&tm.mem, mcp_str(text), NULL), MCP_OK);
    assert_int_equal(tm.live, 0);
}


static const struct {
    const char  *text;
    size_t       offset;
    size_t       line;
} places[] = {
    { "", 0, 1 },
    { "  \n ", 0, 1 },
    { "{\n  \"a\": 1,\n  \"b\": x\n}", 20, 3 },
    { "\n\n{\"a\":\n1,}", 11, 4 },
    { "[1,\n2", 5, 2 },
    { "\n[\"a\",\n\"\xff\"]", 7, 3 },
    { "\n[\v]", 2, 2 },
};


static void
test_places(void **state)
{
    size_t            i;
    test_mem_t        tm;
    mcp_json_error_t  error;

    (void) state;

    test_mem_init(&tm);

    for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        assert_int_equal(scan(&tm.mem, test_str(places[i].text), &error),
                         MCP_ERR_SYNTAX);

        if (error.line != places[i].line || error.offset != places[i].offset) {
            fail_msg("place %u: offset %u, line %u", (unsigned) i,
                     (unsigned) error.offset, (unsigned) error.line);
        }
    }
}


static void
test_depth(void **state)
{
    char              *text;
    size_t             n, i, pair;
    test_mem_t         tm;
    mcp_arena_t        arena;
    mcp_json_error_t   error;
    mcp_json_value_t   root;

    (void) state;

    test_mem_init(&tm);

    assert_int_equal(scan(&tm.mem, mcp_str("[[[[[[[[[1]]]]]]]]]"), &error),
                     MCP_ERR_SYNTAX);
    assert_int_equal(error.problem, MCP_JSON_BAD_DEPTH);
    assert_int_equal(error.offset, 8);

    assert_int_equal(scan(&tm.mem, mcp_str("[[[[[[[\n[{}]]]]]]]]"), &error),
                     MCP_ERR_SYNTAX);
    assert_int_equal(error.problem, MCP_JSON_BAD_DEPTH);
    assert_int_equal(error.line, 2);

    /* many, one after the other, are not deep */

    assert_int_equal(scan(&tm.mem,
                          mcp_str("[[],[],[],[],[],[],[],[],[],[],[],{}]"),
                          &error), MCP_OK);

    mcp_arena_init(&arena, &tm.mem);

    assert_int_equal(mcp_json_scan(&arena, mcp_str("1"), 0, NULL, 0, &root,
                                   NULL, NULL), MCP_OK);
    assert_int_equal(mcp_json_scan(&arena, mcp_str("[]"), 0, NULL, 0, &root,
                                   NULL, &error), MCP_ERR_SYNTAX);
    assert_int_equal(error.problem, MCP_JSON_BAD_DEPTH);

    /* deeper than the parser's stack is at first, with and without ends */

    for (n = 1; n < 2000; n += 63) {
        text = malloc(6 * n + 2);
        pair = 0;

        for (i = 0; i < n; i++) {
            memcpy(text + pair, i % 2 ? "{\"a\":" : "[", i % 2 ? 5 : 1);
            pair += i % 2 ? 5 : 1;
        }

        assert_int_equal(mcp_json_scan(&arena, (mcp_str_t) { text, pair },
                                       2000, NULL, 0, &root, NULL, &error),
                         MCP_ERR_SYNTAX);
        assert_int_equal(error.problem, MCP_JSON_BAD_SYNTAX);

        text[pair++] = '1';

        while (i-- > 0) {
            text[pair++] = i % 2 ? '}' : ']';
        }

        assert_int_equal(mcp_json_scan(&arena, (mcp_str_t) { text, pair },
                                       (unsigned) n, NULL, 0, &root, NULL,
                                       NULL), MCP_OK);
        assert_int_equal(mcp_json_scan(&arena, (mcp_str_t) { text, pair },
                                       UINT32_MAX, NULL, 0, &root, NULL,
                                       NULL), MCP_OK);
        assert_int_equal(mcp_json_scan(&arena, (mcp_str_t) { text, pair },
                                       (unsigned) n - 1, NULL, 0, &root, NULL,
                                       &error), MCP_ERR_SYNTAX);
        assert_int_equal(error.problem, MCP_JSON_BAD_DEPTH);

        free(text);
    }

    mcp_arena_destroy(&arena);
    assert_int_equal(tm.live, 0);
}


/* Long tokens, whole and broken off: the parser's memory is enough. */
static void
test_long(void **state)
{
    char              *text;
    size_t             n, k, len;
    test_mem_t         tm;
    mcp_arena_t        arena;
    mcp_json_value_t   root;
    static const size_t  sizes[] = {
        2000, 2043, 2044, 2045, 2046, 2047, 2048, 2049, 4093, 4094, 4095,
        4096, 4097, 8190, 8191, 8192, 100000, 1048574, 1048576
    };

    (void) state;

    test_mem_init(&tm);
    mcp_arena_init(&arena, &tm.mem);

    for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        n = sizes[k];
        text = malloc(n);

        /* a number is whole only when all is read */

        memset(text, '7', n);
        assert_int_equal(mcp_json_scan(&arena, (mcp_str_t) { text, n }, 1,
                                       NULL, 0, &root, NULL, NULL), MCP_OK);
        assert_int_equal(root.type, MCP_JSON_NUMBER);
        assert_ptr_equal(root.raw.data, text);
        assert_int_equal(root.raw.len, n);

        text[n - 1] = '.';
        assert_int_equal(mcp_json_scan(&arena, (mcp_str_t) { text, n }, 1,
                                       NULL, 0, &root, NULL, NULL),
                         MCP_ERR_SYNTAX);

        /* strings, with escapes */

        for (len = 0; len + 1 < n; len += 2) {
            memcpy(text + len, "\\n", 2);
        }

        memcpy(text, "[\"", 2);
        assert_int_equal(mcp_json_scan(&arena, (mcp_str_t) { text, n }, 1,
                                       NULL, 0, &root, NULL, NULL),
                         MCP_ERR_SYNTAX);

        memcpy(text + len - 2, "\"]", 2);
        assert_int_equal(mcp_json_scan(&arena, (mcp_str_t) { text, len }, 1,
                                       NULL, 0, &root, NULL, NULL), MCP_OK);
        assert_int_equal(root.raw.len, len);

        free(text);
    }

    mcp_arena_destroy(&arena);
    assert_int_equal(tm.live, 0);
}


enum { F_ID, F_PARAMS, F_NAME, F_ARGS, F_META, F_TOKEN, F_LIST, F_COUNT };

static const mcp_json_field_t  fields[F_COUNT] = {
    [F_ID] = { MCP_JSON_ROOT, { "id", 2 } },
    [F_PARAMS] = { MCP_JSON_ROOT, { "params", 6 } },
    [F_NAME] = { F_PARAMS, { "name", 4 } },
    [F_ARGS] = { F_PARAMS, { "args", 4 } },
    [F_META] = { F_PARAMS, { "_meta", 5 } },
    [F_TOKEN] = { F_META, { "token", 5 } },
    [F_LIST] = { MCP_JSON_ROOT, { "list", 4 } },
};


/* In the fields' order; NULL for absent. */
static const struct {
    const char  *text;
    const char  *values[F_COUNT];
} picks[] = {
    { "{}", { NULL } },
    { "{\"id\":1}", { "1" } },
    { "{\"id\":\"a\"}", { "\"a\"" } },
    { "{\"id\":null}", { "null" } },
    { "{\"id\":true,\"list\":false}",
      { "true", NULL, NULL, NULL, NULL, NULL, "false" } },
    { " { \"id\" : -1.5e3 , \"x\" : [ ] } ", { "-1.5e3" } },
    { "{\"i\\u0064\":7}", { "7" } },
    { "{\"\\u0069\\u0064\":7}", { "7" } },
    { "{\"params\":{\"name\":\"n\",\"args\":{\"name\":\"x\",\"id\":2},"
      "\"_meta\":{\"token\":5}},\"id\":3}",
      { "3", "{\"name\":\"n\",\"args\":{\"name\":\"x\",\"id\":2},"
        "\"_meta\":{\"token\":5}}", "\"n\"", "{\"name\":\"x\",\"id\":2}",
        "{\"token\":5}", "5" } },
    { "{\"params\" : { } , \"list\" : [ { \"id\" : 1 } , \"id\" ] }",
      { NULL, "{ }", NULL, NULL, NULL, NULL,
        "[ { \"id\" : 1 } , \"id\" ]" } },
    { "{\"params\":[{\"name\":1}],\"id\":\"\"}",
      { "\"\"", "[{\"name\":1}]" } },
    { "{\"params\":\"name\",\"name\":1}", { NULL, "\"name\"" } },
    { "{\"x\":{\"params\":{\"name\":1}},\"id\":[[[]]]}", { "[[[]]]" } },
    { "{\"params\":{\"_meta\":null,\"name\":\"\\\"}\"}}",
      { NULL, "{\"_meta\":null,\"name\":\"\\\"}\"}", "\"\\\"}\"", NULL,
        "null" } },
    { "{\"params\":{\"_meta\":{\"x\":{\"token\":1}},\"token\":2}}",
      { NULL, "{\"_meta\":{\"x\":{\"token\":1}},\"token\":2}", NULL, NULL,
        "{\"x\":{\"token\":1}}" } },
    { "{\"x\":\"id\",\"y\":1,\"z\":\"\",\"id\":\"\\\\\"}", { "\"\\\\\"" } },
    { "{\"a\":1,\"a\":2,\"a\":{},\"b\":{\"id\":1,\"id\":2}}", { NULL } },
    { "[{\"id\":1}]", { NULL } },
    { "\"id\"", { NULL } },
    { "7", { NULL } },
};


static void
test_pick(void **state)
{
    char              *copy;
    size_t             i, f, len;
    test_mem_t         tm;
    mcp_arena_t        arena;
    mcp_json_value_t   root, values[F_COUNT];

    (void) state;

    test_mem_init(&tm);
    mcp_arena_init(&arena, &tm.mem);

    for (i = 0; i < sizeof(picks) / sizeof(picks[0]); i++) {
        len = strlen(picks[i].text);
        copy = malloc(len);
        memcpy(copy, picks[i].text, len);

        assert_int_equal(mcp_json_scan(&arena, (mcp_str_t) { copy, len },
                                       DEPTH, fields, F_COUNT, &root, values,
                                       NULL), MCP_OK);

        for (f = 0; f < F_COUNT; f++) {
            if (picks[i].values[f] == NULL) {
                assert_int_equal(values[f].type, MCP_JSON_NONE);
                continue;
            }

            assert_str_is(values[f].raw, picks[i].values[f]);
            assert_int_not_equal(values[f].type, MCP_JSON_NONE);
            assert_true(values[f].raw.data > copy
                        && values[f].raw.data < copy + len);
        }

        free(copy);
    }

    mcp_arena_destroy(&arena);
    assert_int_equal(tm.live, 0);
}


static const struct {
    const char       *text;
    mcp_json_type_e   type;
    const char       *raw;
} roots[] = {
    { " {\"a\": 1} ", MCP_JSON_OBJECT, "{\"a\": 1}" },
    { "[1]\n", MCP_JSON_ARRAY, "[1]" },
    { " \"a\" ", MCP_JSON_STRING, "\"a\"" },
    { " -12 ", MCP_JSON_NUMBER, "-12" },
    { " -12", MCP_JSON_NUMBER, "-12" },
    { "\ttrue", MCP_JSON_BOOL, "true" },
    { "false\r\n", MCP_JSON_BOOL, "false" },
    { "null", MCP_JSON_NULL, "null" },
};


static void
test_root(void **state)
{
    int                with;
    size_t             i;
    test_mem_t         tm;
    mcp_arena_t        arena;
    mcp_json_value_t   root, values[F_COUNT];

    (void) state;

    test_mem_init(&tm);
    mcp_arena_init(&arena, &tm.mem);

    for (i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        for (with = 0; with < 2; with++) {
            assert_int_equal(mcp_json_scan(&arena, test_str(roots[i].text),
                                           DEPTH, fields,
                                           with ? F_COUNT : 0, &root, values,
                                           NULL), MCP_OK);
            assert_int_equal(root.type, roots[i].type);
            assert_str_is(root.raw, roots[i].raw);
        }
    }

    assert_int_equal(mcp_json_scan(&arena, mcp_str("1"), DEPTH, fields,
                                   MCP_JSON_MAX_FIELDS + 1, &root, values,
                                   NULL), MCP_ERR_INTERNAL);

    mcp_arena_destroy(&arena);
    assert_int_equal(tm.live, 0);
}


#define BIT(f)  ((uint64_t) 1 << (f))

static const struct {
    const char          *text;
    mcp_json_problem_e   problem;
    int                  field;
    size_t               offset;
    uint64_t             duplicates;
} duplicates[] = {
    { "{\"id\":1,\"id\":2}", MCP_JSON_BAD_DUPLICATE, F_ID, 8, BIT(F_ID) },
    { "{\"id\":1,\"\\u0069d\":2}", MCP_JSON_BAD_DUPLICATE, F_ID, 8,
      BIT(F_ID) },
    { "{\"id\":null,\"id\":{}}", MCP_JSON_BAD_DUPLICATE, F_ID, 11, BIT(F_ID) },
    { "{\"params\":{\"name\":1,\"name\":1},\"id\":1,\"id\":2}",
      MCP_JSON_BAD_DUPLICATE, F_NAME, 20, BIT(F_NAME) | BIT(F_ID) },
    { "{\"params\":{},\"params\":{\"name\":1,\"name\":2}}",
      MCP_JSON_BAD_DUPLICATE, F_PARAMS, 13, BIT(F_PARAMS) },
    { "{\"params\":{\"name\":1},\"params\":{\"name\":2}}",
      MCP_JSON_BAD_DUPLICATE, F_PARAMS, 21, BIT(F_PARAMS) },

    /* a text that is not JSON is that first of all */
    { "{\"id\":1,\"id\":2", MCP_JSON_BAD_SYNTAX, 0, 14, 0 },
};


static void
test_duplicates(void **state)
{
    size_t             i;
    test_mem_t         tm;
    mcp_arena_t        arena;
    mcp_json_error_t   error;
    mcp_json_value_t   root, values[F_COUNT];

    (void) state;

    test_mem_init(&tm);
    mcp_arena_init(&arena, &tm.mem);

    for (i = 0; i < sizeof(duplicates) / sizeof(duplicates[0]); i++) {
        assert_int_equal(mcp_json_scan(&arena, test_str(duplicates[i].text),
                                       DEPTH, fields, F_COUNT, &root, values,
                                       &error), MCP_ERR_SYNTAX);
        assert_int_equal(error.problem, duplicates[i].problem);
        assert_int_equal(error.offset, duplicates[i].offset);

        if (error.problem != MCP_JSON_BAD_DUPLICATE) {
            assert_int_equal(values[F_ID].type, MCP_JSON_NONE);
            continue;
        }

        assert_int_equal(error.field, duplicates[i].field);
        assert_true(error.duplicates == duplicates[i].duplicates);
        assert_int_equal(root.type, MCP_JSON_OBJECT);
        assert_str_is(root.raw, duplicates[i].text);
    }

    mcp_arena_destroy(&arena);
    assert_int_equal(tm.live, 0);
}


static void
test_memory(void **state)
{
    int                rc;
    size_t             i, k;
    test_mem_t         tm;
    mcp_arena_t        arena;
    mcp_json_value_t   root, values[F_COUNT];

    (void) state;

    for (i = 0; i < sizeof(picks) / sizeof(picks[0]); i++) {
        for (k = 1; /* void */ ; k++) {
            test_mem_init(&tm);
            tm.fail_at = k;
            mcp_arena_init(&arena, &tm.mem);

            rc = mcp_json_scan(&arena, test_str(picks[i].text), DEPTH, fields,
                               F_COUNT, &root, values, NULL);

            assert_int_equal(rc, tm.failed ? MCP_ERR_MEMORY : MCP_OK);

            mcp_arena_destroy(&arena);
            assert_int_equal(tm.live, 0);

            if (tm.failed == 0) {
                break;
            }
        }

        assert_int_equal(k, 2);
    }
}


/* A scan leaves nothing in the arena, and reuses what is there. */
static void
test_scratch(void **state)
{
    int                i;
    char              *p;
    test_mem_t         tm;
    mcp_arena_t        arena;
    mcp_json_value_t   root;

    (void) state;

    test_mem_init(&tm);
    mcp_arena_init(&arena, &tm.mem);

    p = mcp_arena_alloc(&arena, 8);

    for (i = 0; i < 100; i++) {
        assert_int_equal(mcp_json_scan(&arena, mcp_str("[1,2]"), DEPTH, NULL,
                                       0, &root, NULL, NULL), MCP_OK);
    }

    assert_int_equal(tm.total, 1);
    assert_ptr_equal(mcp_arena_alloc(&arena, 8), p + 8);

    mcp_arena_destroy(&arena);
    assert_int_equal(tm.live, 0);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_grammar),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_pick),
        cmocka_unit_test(test_root),
        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_scratch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
