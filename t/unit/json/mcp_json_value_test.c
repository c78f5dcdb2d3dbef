/* SPDX-License-Identifier: Apache-2.0 */

/* Strings, iterators and lookups of values. */


#include "memory_cases.h"
#include "base/mcp_str.h"
#include "json/mcp_json_scan.h"


TEST(iterator_returns_the_members_and_elements_in_order)
{
    int                n;
    mcp_str_t          key;
    mcp_json_iter_t    iter;
    mcp_json_value_t   value;
    static const char  *const keys[] = {
        "\"a\"", "\"b\\\"\"", "\"\"", "\"d\"", "\"e\"", "\"f\""
    };
    static const struct {
        mcp_json_type_e   type;
        const char       *raw;
    } values[] = {
        { MCP_JSON_NUMBER, "1" },
        { MCP_JSON_STRING, "\"}]\\\\\"" },
        { MCP_JSON_ARRAY, "[ {\"x\":\"]\"}, 2 ]" },
        { MCP_JSON_OBJECT, "{ }" },
        { MCP_JSON_BOOL, "true" },
        { MCP_JSON_NULL, "null" },
    };
    static const char  object[] =
        " { \"a\" :1,\"b\\\"\": \"}]\\\\\" , \"\":[ {\"x\":\"]\"}, 2 ],"
        "\"d\":{ },\n\"e\":true\t,\"f\":null} ";
    static const char  array[] =
        "[1,\"}]\\\\\" , [ {\"x\":\"]\"}, 2 ],{ },\ntrue\t,null ]";

    mcp_json_iter_init(&iter, mcp_str(object));

    for (n = 0; mcp_json_iter_next(&iter, &key, &value); n++) {
        assert_true(n < 6);
        assert_str_is(key, keys[n]);
        assert_int_equal(value.type, values[n].type);
        assert_str_is(value.raw, values[n].raw);
    }

    assert_int_equal(n, 6);
    assert_false(mcp_json_iter_next(&iter, &key, &value));

    mcp_json_iter_init(&iter, mcp_str(array));

    for (n = 0; mcp_json_iter_next(&iter, NULL, &value); n++) {
        assert_true(n < 6);
        assert_int_equal(value.type, values[n].type);
        assert_str_is(value.raw, values[n].raw);
    }

    assert_int_equal(n, 6);

    mcp_json_iter_init(&iter, mcp_str("{}"));
    assert_false(mcp_json_iter_next(&iter, NULL, &value));
    mcp_json_iter_init(&iter, mcp_str("[ ]"));
    assert_false(mcp_json_iter_next(&iter, NULL, &value));
    mcp_json_iter_init(&iter, mcp_str("12"));
    assert_false(mcp_json_iter_next(&iter, NULL, &value));
    mcp_json_iter_init(&iter, mcp_null_str);
    assert_false(mcp_json_iter_next(&iter, NULL, &value));
}


TEST(member_is_found_by_its_unescaped_key)
{
    mcp_json_value_t  object = {
        MCP_JSON_OBJECT,
        mcp_str("{\"a\":{\"b\":1},\"b\":2,\"\\u0063\":\"x\",\"\":[]}")
    };
    mcp_json_value_t  string = { MCP_JSON_STRING, mcp_str("\"{}\"") };
    mcp_json_value_t  none = { MCP_JSON_NONE, mcp_null_str };
    mcp_json_value_t  value;

    value = mcp_json_get(&object, mcp_str("b"));
    assert_int_equal(value.type, MCP_JSON_NUMBER);
    assert_str_is(value.raw, "2");

    assert_str_is(mcp_json_get(&object, mcp_str("c")).raw, "\"x\"");
    assert_str_is(mcp_json_get(&object, mcp_null_str).raw, "[]");

    value = mcp_json_get(&object, mcp_str("a"));
    assert_str_is(mcp_json_get(&value, mcp_str("b")).raw, "1");

    assert_int_equal(mcp_json_get(&object, mcp_str("B")).type, MCP_JSON_NONE);
    assert_int_equal(mcp_json_get(&string, mcp_str("b")).type, MCP_JSON_NONE);
    assert_int_equal(mcp_json_get(&none, mcp_str("b")).type, MCP_JSON_NONE);
}


static const struct {
    const char  *raw;
    const char  *text;
    size_t       len;          /* length of the text, for strings that contain
                                  NUL */
} strings[] = {
    { "\"\"", "", 0 },
    { "\"abc\"", "abc", 0 },
    { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 0 },
    { "\"a\\nb\"", "a\nb", 0 },
    { "\"\\u0041\\u00e9\\u20AC\\uD83D\\uDE00z\"",
      "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z", 0 },
    { "\"\\uDBFF\\uDFFF\\ud800\\udc00\"",
      "\xf4\x8f\xbf\xbf\xf0\x90\x80\x80", 0 },
    { "\"\\ud800\"", "\xef\xbf\xbd", 0 },
    { "\"\\udc00x\"", "\xef\xbf\xbdx", 0 },
    { "\"\\ud800\\u0041\"", "\xef\xbf\xbd" "A", 0 },
    { "\"\\ud800\\ud800\\udc00\"", "\xef\xbf\xbd\xf0\x90\x80\x80", 0 },
    { "\"\\ud800\\n\"", "\xef\xbf\xbd\n", 0 },
    { "\"\\ud800\\\\u0041\"", "\xef\xbf\xbd\\u0041", 0 },
    { "\"a\\u0000b\"", "a\0b", 3 },
    { "\"\xe2\x82\xac\\t\xe2\x82\xac\"", "\xe2\x82\xac\t\xe2\x82\xac", 0 },
};


TEST(json_strings_are_decoded_to_utf_8)
{
    size_t       i;
    mcp_str_t    out, text;
    mcp_arena_t  arena;

    for (i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
        mcp_arena_init(&arena, &tm.mem);

        text.data = strings[i].text;
        text.len = strings[i].len ? strings[i].len : strlen(strings[i].text);

        assert_ok(mcp_json_unescape(&arena, test_str(strings[i].raw), &out));
        assert_true(mcp_str_eq(out, text));
        assert_true(mcp_utf8_valid(out));

        assert_true(mcp_json_str_eq(test_str(strings[i].raw), text));
        assert_false(mcp_json_str_eq(test_str(strings[i].raw),
                                     mcp_str("abd")));

        if (text.len > 0) {
            text.len--;
            assert_false(mcp_json_str_eq(test_str(strings[i].raw), text));
        }

        mcp_arena_destroy(&arena);

        if (strchr(strings[i].raw, '\\') == NULL) {
            assert_ptr_equal(out.data, strings[i].raw + 1);

        } else {
            tm.fail_at = 1;
            mcp_arena_init(&arena, &tm.mem);
            assert_int_equal(mcp_json_unescape(&arena,
                                               test_str(strings[i].raw),
                                               &out), MCP_ERR_MEMORY);
        }
    }

    assert_false(mcp_json_str_eq(mcp_str("12"), mcp_str("12")));
    assert_false(mcp_json_str_eq(mcp_null_str, mcp_null_str));
    assert_false(mcp_json_str_eq(mcp_str("\"a\\n\""), mcp_str("a\\n")));
    assert_true(mcp_json_str_eq(mcp_str("\"\""), mcp_null_str));

    /* the result for an absent value */

    assert_ok(mcp_json_unescape(&arena, mcp_null_str, &out));
    assert_int_equal(out.len, 0);
}


TEST(key_is_not_the_first_of_its_object__a_comma_is_written_before_the_key)
{
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &tm.mem, 100);

    mcp_json_add_key(&buf, mcp_str("\"a\""));
    mcp_buf_lit(&buf, "{");
    mcp_json_add_key(&buf, mcp_str("\"b\""));
    mcp_buf_lit(&buf, "{}");
    mcp_json_add_key(&buf, mcp_str("\"c\""));
    assert_str_is(((mcp_str_t) { buf.data, buf.len }),
                  "\"a\":{\"b\":{},\"c\":");

    mcp_buf_free(&buf);
}


TEST(members_and_elements_are_counted_up_to_a_limit)
{
    assert_int_equal(mcp_json_count(mcp_str("[]"), 9), 0);
    assert_int_equal(mcp_json_count(mcp_str("[1,[2,3],{}]"), 9), 3);
    assert_int_equal(mcp_json_count(mcp_str("[1,[2,3],{}]"), 2), 2);
    assert_int_equal(mcp_json_count(mcp_str("{\"a\":1,\"b\":[2,3]}"), 9), 2);
}


TEST(line_breaks_between_json_tokens_become_spaces)
{
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &tm.mem, 20);

    mcp_json_add_line(&buf, mcp_str("{\r\n \"a\\n\":\n1}"));
    mcp_json_add_line(&buf, mcp_null_str);
    assert_str_is(((mcp_str_t) { buf.data, buf.len }), "{   \"a\\n\": 1}");

    mcp_json_add_line(&buf, mcp_str("[1,2,3,4]"));
    assert_int_equal(buf.failed, MCP_ERR_LIMIT);

    mcp_buf_free(&buf);
}


TEST(key_that_an_object_has_twice_is_rejected)
{
    mcp_json_value_t  object, value;

    object = (mcp_json_value_t) {
        MCP_JSON_OBJECT, mcp_str("{\"a\":1,\"b\":2,\"\\u0062\":3,\"c\":null}")
    };

    assert_ok(mcp_json_get_once(&object, mcp_str("a"), &value));
    assert_str_is(value.raw, "1");
    assert_ok(mcp_json_get_once(&object, mcp_str("c"), &value));
    assert_int_equal(value.type, MCP_JSON_NULL);
    assert_ok(mcp_json_get_once(&object, mcp_str("d"), &value));
    assert_int_equal(value.type, MCP_JSON_NONE);
    assert_int_equal(mcp_json_get_once(&object, mcp_str("b"), &value),
                     MCP_ERR_SYNTAX);

    object = (mcp_json_value_t) { MCP_JSON_ARRAY, mcp_str("[\"a\"]") };
    assert_ok(mcp_json_get_once(&object, mcp_str("a"), &value));
    assert_int_equal(value.type, MCP_JSON_NONE);
}


/* White space between tokens is removed; strings, numbers and the order of
 * members do not change. */
TEST(white_space_between_json_tokens_is_removed)
{
    static const struct {
        const char  *text;
        const char  *compact;
    } cases[] = {
        { " { \"b\" : 1.0 ,\r\n\t\"a\" : [ 1e+2 , -0 , 1.50E-7 ] } ",
          "{\"b\":1.0,\"a\":[1e+2,-0,1.50E-7]}" },
        { "[ \"a  b\" , \"\\\" \" , \"\\\\\" ]",
          "[\"a  b\",\"\\\" \",\"\\\\\"]" },
        { "{ \"\\u0061 \" : \"\\ud800 \xc3\xa9 \\/\" }",
          "{\"\\u0061 \":\"\\ud800 \xc3\xa9 \\/\"}" },
        { "123456789012345678901234567890.0e999",
          "123456789012345678901234567890.0e999" },
        { "[]", "[]" }, { "\" \"", "\" \"" }, { "", "" }
    };

    size_t      i;
    mcp_buf_t   buf;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mcp_buf_init(&buf, &tm.mem, 4096);
        mcp_json_add_compact(&buf, test_str(cases[i].text));
        assert_str_is(((mcp_str_t) { buf.data, buf.len }), cases[i].compact);
        mcp_buf_free(&buf);
    }
}


typedef struct {
    const char  *key;
    const char  *name;
} alike_case_t;


static const alike_case_t  alike[] = {
    { "\"\"", "" },
    { "\"region\"", "region" },
    { "\"REGION\"", "region" },
    { "\"r\\u0065g\\u0049on\"", "reGIon" },
    { "\"regi\\u00f6n\"", "regi\xc3\xb6n" },
    { "\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80" },
    { "\"reg\\u0131on\"", "region" },
    { "\"task\"", "ta\xc5\xbf\xe2\x84\xaa" },
    { "\"region\\u0000x\"", "region" },
    { "\"a\\/b\\n\"", "a/b\n" }
};


TEST(keys_that_are_equal_without_case_have_equal_hashes)
{
    size_t     i;
    mcp_str_t  key, name;

    for (i = 0; i < sizeof(alike) / sizeof(alike[0]); i++) {
        key = test_str(alike[i].key);
        name = test_str(alike[i].name);

        assert_true(mcp_json_alike(key, name));
        assert_int_equal(mcp_json_hash_key(key), mcp_json_hash_name(name));
    }

    /* U+0000 in a name */

    key = mcp_str("\"a\\u0000b\"");
    name = (mcp_str_t) { "a\0b", 3 };
    assert_true(mcp_json_str_eq(key, name));
    assert_int_equal(mcp_json_hash_key(key), mcp_json_hash_name(name));

    assert_int_not_equal(mcp_json_hash_key(mcp_str("\"region\"")),
                         mcp_json_hash_name(mcp_str("regioo")));
}


/* A tool may have 64 headers with arguments, and a body millions of keys: each
 * key is compared only with the names that have the same last six bits of the
 * hash. On average that is one of 64 names. */
TEST(last_six_bits_of_a_keys_hash_match_at_most_two_of_64_names_on_average)
{
    char       key[16], name[16];
    unsigned   i, j, equal;
    uint32_t   hash;
    mcp_str_t  text;

    equal = 0;

    for (i = 0; i < 4096; i++) {
        text.data = key;
        text.len = (size_t) sprintf(key, "\"key%u\"", i);
        hash = mcp_json_hash_key(text);

        for (j = 0; j < 64; j++) {
            text.data = name;
            text.len = (size_t) sprintf(name, "name%u", j);
            equal += hash % 64 == mcp_json_hash_name(text) % 64;
        }
    }

    assert_in_range(equal, 0, 2 * 4096);
}


RUN_TESTS(init, done)
