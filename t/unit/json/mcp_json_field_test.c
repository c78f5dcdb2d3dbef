/* SPDX-License-Identifier: Apache-2.0 */

/* Positions of the fields in a text; both parsers return the same. */


#include "memory_cases.h"
#include "json/mcp_json_scan.h"
#include "json_scans.h"


#define DEPTH  8


enum { F_ID, F_PARAMS, F_NAME, F_ARGS, F_META, F_TOKEN, F_LIST, F_COUNT };

static const mcp_json_field_t  fields[F_COUNT] = {
    [F_ID] = mcp_json_field(MCP_JSON_ROOT, "id"),
    [F_PARAMS] = mcp_json_object(MCP_JSON_ROOT, "params", F_NAME),
    [F_NAME] = mcp_json_field(F_PARAMS, "name"),
    [F_ARGS] = mcp_json_field(F_PARAMS, "args"),
    [F_META] = mcp_json_object(F_PARAMS, "_meta", F_TOKEN),
    [F_TOKEN] = mcp_json_field(F_META, "token"),
    [F_LIST] = mcp_json_field(MCP_JSON_ROOT, "list"),
};


/* Texts, and the values of their fields in the order of the fields; NULL: the
 * field is absent. */
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
pick(json_scan_pt scan)
{
    char             *copy;
    size_t            i, f, len;
    mcp_arena_t       arena;
    mcp_json_value_t  root, values[F_COUNT];

    test_mem_init(&tm);
    mcp_arena_init(&arena, &tm.mem);

    for (i = 0; i < sizeof(picks) / sizeof(picks[0]); i++) {
        len = strlen(picks[i].text);
        copy = malloc(len);
        memcpy(copy, picks[i].text, len);

        assert_ok(scan(&arena, (mcp_str_t) { copy, len }, DEPTH, fields,
                       F_COUNT, &root, values, NULL));

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


TEST(name_of_a_field_occurs_in_other_objects__both_parsers_ignore_it_there)
{
    size_t  s;

    for (s = 0; s < JSON_SCANS; s++) {
        pick(json_scans[s]);
    }
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
find_root(json_scan_pt scan)
{
    int               with;
    size_t            i;
    mcp_arena_t       arena;
    mcp_json_value_t  root, values[F_COUNT];

    test_mem_init(&tm);
    mcp_arena_init(&arena, &tm.mem);

    for (i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        for (with = 0; with < 2; with++) {
            assert_ok(scan(&arena, test_str(roots[i].text), DEPTH, fields,
                           with ? F_COUNT : 0, &root, values, NULL));
            assert_int_equal(root.type, roots[i].type);
            assert_str_is(root.raw, roots[i].raw);
        }
    }

    assert_int_equal(scan(&arena, mcp_str("1"), DEPTH, fields,
                          MCP_JSON_MAX_FIELDS + 1, &root, values, NULL),
                     MCP_ERR_INTERNAL);

    mcp_arena_destroy(&arena);
    assert_int_equal(tm.live, 0);
}


TEST(root_value_has_its_type_and_no_white_space_around_its_text)
{
    size_t  s;

    for (s = 0; s < JSON_SCANS; s++) {
        find_root(json_scans[s]);
    }
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

    /* a text that is not JSON: the syntax error is reported first */
    { "{\"id\":1,\"id\":2", MCP_JSON_BAD_SYNTAX, 0, 14, 0 },
};


static void
find_duplicates(json_scan_pt scan)
{
    size_t            i;
    mcp_arena_t       arena;
    mcp_json_error_t  error;
    mcp_json_value_t  root, values[F_COUNT];

    test_mem_init(&tm);
    mcp_arena_init(&arena, &tm.mem);

    for (i = 0; i < sizeof(duplicates) / sizeof(duplicates[0]); i++) {
        assert_int_equal(scan(&arena, test_str(duplicates[i].text), DEPTH,
                              fields, F_COUNT, &root, values, &error),
                         MCP_ERR_SYNTAX);
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


TEST(field_occurs_twice__both_parsers_report_the_offset_of_the_second)
{
    size_t  s;

    for (s = 0; s < JSON_SCANS; s++) {
        find_duplicates(json_scans[s]);
    }
}


RUN_TESTS(init, done)
