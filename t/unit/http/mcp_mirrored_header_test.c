/* SPDX-License-Identifier: Apache-2.0 */

/* Headers that repeat values of the body: their bytes, encoding and comparison
 * (2026-07-28, basic/transports/streamable-http). */


#include "memory_cases.h"

#include "base/mcp_base64.h"
#include "http/mcp_mirrored_header.h"


static const struct {
    const char  *raw;
    const char  *plain;        /* NULL: rejected */
} plain_cases[] = {
    { "tools/call", "tools/call" },
    { " tools/call", "tools/call" },
    { "\t \ttools/call \t ", "tools/call" },
    { "a b\tc", "a b\tc" },
    { "", "" },
    { " \t ", "" },
    { "!~", "!~" },
    { "=?base64?Zm9v?=", "=?base64?Zm9v?=" },
    { "tools/call\r", NULL },
    { "a\nb", NULL },
    { "a\vb", NULL },
    { "a\x7f", NULL },
    { "\x1f", NULL },
    { "caf\xc3\xa9", NULL },
    { "a\x80", NULL },
    { "\xff", NULL }
};


TEST(header_value_is_trimmed_and_invalid_bytes_are_rejected)
{
    size_t     i;
    mcp_str_t  value;

    for (i = 0; i < sizeof(plain_cases) / sizeof(plain_cases[0]); i++) {
        if (plain_cases[i].plain == NULL) {
            assert_int_equal(mcp_header_value_plain(
                                 test_str(plain_cases[i].raw), &value),
                             MCP_ERR_SYNTAX);
            continue;
        }

        assert_ok(mcp_header_value_plain(test_str(plain_cases[i].raw), &value));
        assert_str_is(value, plain_cases[i].plain);
    }

    assert_int_equal(mcp_header_value_plain((mcp_str_t) { "a\0b", 3 }, &value),
                     MCP_ERR_SYNTAX);

    assert_ok(mcp_header_value_plain(mcp_null_str, &value));
    assert_non_null(value.data);
    assert_int_equal(value.len, 0);
}


static const struct {
    const char  *raw;
    const char  *value;        /* NULL: rejected */
} decoded[] = {

    /* the examples of the specification */

    { "us-west1", "us-west1" },
    { "=?base64?SGVsbG8sIOS4lueVjA==?=", "Hello, \xe4\xb8\x96\xe7\x95\x8c" },
    { "=?base64?IHBhZGRlZCA=?=", " padded " },
    { "=?base64?bGluZTEKbGluZTI=?=", "line1\nline2" },
    { "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "=?base64?literal?=" },

    { "=?base64?SGVsbG8=?=", "Hello" },
    { "  =?base64?SGVsbG8=?=\t", "Hello" },
    { "=?base64?\?=", "" },
    { "", "" },
    { "SGVsbG8=", "SGVsbG8=" },

    /* a value that was encoded twice is decoded once */

    { "=?base64?PT9iYXNlNjQ/Wm05dj89?=", "=?base64?Zm9v?=" },

    /* an incomplete marker, a marker in another case, or a marker with text
     * around it: the value is literal */

    { "=?base64?SGVsbG8=", "=?base64?SGVsbG8=" },
    { "=?base64?", "=?base64?" },
    { "=?base64", "=?base64" },
    { "SGVsbG8=?=", "SGVsbG8=?=" },
    { "?=", "?=" },
    { "=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?=" },
    { "=?Base64?SGVsbG8=?=", "=?Base64?SGVsbG8=?=" },
    { "=?utf-8?b?SGVsbG8=?=", "=?utf-8?b?SGVsbG8=?=" },
    { "x=?base64?SGVsbG8=?=", "x=?base64?SGVsbG8=?=" },
    { "=?base64?SGVsbG8=?=x", "=?base64?SGVsbG8=?=x" },
    { "=? base64?SGVsbG8=?=", "=? base64?SGVsbG8=?=" },

    /* the question mark belongs to both the start and the end of the marker:
     * rejected */

    { "=?base64?=", NULL },

    /* base64 that is not canonical: rejected */

    { "=?base64?SGVsbG8?=", NULL },
    { "=?base64?SGVsbG8==?=", NULL },
    { "=?base64?SGVsbG9=?=", NULL },
    { "=?base64?SGVs!!!bG8=?=", NULL },
    { "=?base64?SGVs bG8=?=", NULL },
    { "=?base64? SGVsbG8=?=", NULL },
    { "=?base64?SGVsbG8= ?=", NULL },
    { "=?base64?-_--?=", NULL },
    { "=?base64?====?=", NULL },
    { "=?base64?Zg==Zg==?=", NULL },
    { "=?base64?Zm9v?=?base64?Zm9v?=", NULL },

    /* decoded bytes that are not UTF-8 (an isolated byte, a surrogate, an
     * overlong form): rejected */

    { "=?base64?/w==?=", NULL },
    { "=?base64?7aCA?=", NULL },
    { "=?base64?wIA=?=", NULL },

    /* bytes that a header must not contain */

    { "caf\xc3\xa9", NULL },
    { "a\x01", NULL },
    { "a\x7f", NULL },
    { "a\r\nb", NULL },
    { "=?base64?SGVsbG8=\n?=", NULL }
};


TEST(encoded_header_value_is_decoded_and_a_malformed_one_is_rejected)
{
    int          rc;
    char         space[256];
    size_t       i;
    mcp_str_t    value;
    mcp_arena_t  arena;

    mcp_arena_init(&arena, &tm.mem);

    for (i = 0; i < sizeof(decoded) / sizeof(decoded[0]); i++) {
        rc = mcp_header_value_decode(&arena, test_str(decoded[i].raw), &value);

        if (rc != (decoded[i].value ? MCP_OK : MCP_ERR_SYNTAX)) {
            fail_msg("%s: %d", decoded[i].raw, rc);
        }

        if (rc == MCP_OK) {
            assert_str_is(value, decoded[i].value);
        }

        /* mcp_header_value_plain() followed by mcp_header_value_decode_to()
         * has the same result */

        if (mcp_header_value_plain(test_str(decoded[i].raw), &value) == MCP_OK
            && mcp_header_value_is_encoded(value))
        {
            assert_true(value.len <= sizeof(space));
            assert_int_equal(mcp_header_value_decode_to(value, space, &value),
                             rc);
        }

        if (rc == MCP_OK) {
            assert_str_is(value, decoded[i].value);
        }
    }

    /* an encoded value may contain any character, even NUL */

    assert_ok(mcp_header_value_decode(&arena,
                                      mcp_str("=?base64?YQBi?="),
                                      &value));
    assert_int_equal(value.len, 3);
    assert_memory_equal(value.data, "a\0b", 3);

    assert_ok(mcp_header_value_decode(&arena, mcp_null_str, &value));
    assert_non_null(value.data);

    mcp_arena_destroy(&arena);

    tm.fail_at = 1;
    assert_int_equal(mcp_header_value_decode(&arena,
                                             mcp_str("=?base64?YQBi?="),
                                             &value), MCP_ERR_MEMORY);
}


/* Each byte, within a value and at its start and end. */
TEST(each_byte_other_than_printable_ascii_and_tab_is_rejected_in_a_header)
{
    int        c, good;
    char       text[3] = "axb";
    mcp_str_t  value;

    for (c = 0; c < 256; c++) {
        text[1] = (char) c;
        good = c == '\t' || (c >= ' ' && c <= '~');

        assert_int_equal(mcp_header_value_plain((mcp_str_t) { text, 3 },
                                                &value),
                         good ? MCP_OK : MCP_ERR_SYNTAX);
        assert_int_equal(mcp_header_value_plain((mcp_str_t) { text + 1, 1 },
                                                &value),
                         good ? MCP_OK : MCP_ERR_SYNTAX);

        if (good) {
            assert_int_equal(value.len, c != ' ' && c != '\t');
        }
    }
}


static const struct {
    const char       *value;
    mcp_json_type_e   type;
    const char       *body;
    int               is;
} compared[] = {
    { "us-west1", MCP_JSON_STRING, "\"us-west1\"", 1 },
    { "us-west1", MCP_JSON_STRING, "\"us\\u002dwest1\"", 1 },
    { "us-west1", MCP_JSON_STRING, "\"US-WEST1\"", 0 },
    { "us-west1", MCP_JSON_STRING, "\"us-west\"", 0 },
    { "us-west", MCP_JSON_STRING, "\"us-west1\"", 0 },
    { "", MCP_JSON_STRING, "\"\"", 1 },
    { "", MCP_JSON_STRING, "\" \"", 0 },
    { "42", MCP_JSON_STRING, "\"42\"", 1 },
    { "42", MCP_JSON_STRING, "\"42.0\"", 0 },
    { "\"a\"", MCP_JSON_STRING, "\"a\"", 0 },
    { "a\nb", MCP_JSON_STRING, "\"a\\nb\"", 1 },
    { "\xf0\x9f\x98\x80", MCP_JSON_STRING, "\"\\ud83d\\ude00\"", 1 },

    { "true", MCP_JSON_BOOL, "true", 1 },
    { "false", MCP_JSON_BOOL, "false", 1 },
    { "false", MCP_JSON_BOOL, "true", 0 },
    { "True", MCP_JSON_BOOL, "true", 0 },
    { "1", MCP_JSON_BOOL, "true", 0 },
    { "", MCP_JSON_BOOL, "false", 0 },
    { "true", MCP_JSON_STRING, "\"true\"", 1 },

    { "42", MCP_JSON_NUMBER, "42", 1 },
    { "42.0", MCP_JSON_NUMBER, "42", 1 },
    { "42", MCP_JSON_NUMBER, "42.0", 1 },
    { "42.000", MCP_JSON_NUMBER, "42.0", 1 },
    { "42", MCP_JSON_NUMBER, "4.2e1", 1 },
    { "42", MCP_JSON_NUMBER, "4.2E+01", 1 },
    { "42", MCP_JSON_NUMBER, "420e-1", 1 },
    { "42", MCP_JSON_NUMBER, "0.00042e5", 1 },
    { "42", MCP_JSON_NUMBER, "42000e-3", 1 },
    { "4200", MCP_JSON_NUMBER, "42e2", 1 },
    { "0.42", MCP_JSON_NUMBER, "42e-2", 1 },
    { "0.0042", MCP_JSON_NUMBER, "0.42e-2", 1 },
    { "-7", MCP_JSON_NUMBER, "-7", 1 },
    { "-7.0", MCP_JSON_NUMBER, "-70e-1", 1 },
    { "100.001", MCP_JSON_NUMBER, "100001e-3", 1 },
    { "10.01", MCP_JSON_NUMBER, "1001e-2", 1 },

    { "0", MCP_JSON_NUMBER, "0", 1 },
    { "0", MCP_JSON_NUMBER, "-0", 1 },
    { "-0", MCP_JSON_NUMBER, "0", 1 },
    { "-0.0", MCP_JSON_NUMBER, "0e99999999999999999999999", 1 },
    { "0", MCP_JSON_NUMBER, "0.000e-5", 1 },
    { "0", MCP_JSON_NUMBER, "1e-99999999999999999999999", 0 },
    { "0", MCP_JSON_NUMBER, "1e-400", 0 },

    { "42", MCP_JSON_NUMBER, "43", 0 },
    { "42", MCP_JSON_NUMBER, "-42", 0 },
    { "-42", MCP_JSON_NUMBER, "42", 0 },
    { "42", MCP_JSON_NUMBER, "420", 0 },
    { "42", MCP_JSON_NUMBER, "4.2", 0 },
    { "4.2", MCP_JSON_NUMBER, "42", 0 },
    { "42", MCP_JSON_NUMBER, "42.01", 0 },
    { "42.00000000000000000001", MCP_JSON_NUMBER, "42", 0 },
    { "0.1", MCP_JSON_NUMBER, "0.1000000000000000055", 0 },
    { "1.5", MCP_JSON_NUMBER, "1.5", 1 },

    { "4.2e1", MCP_JSON_NUMBER, "42", 0 },
    { "42e0", MCP_JSON_NUMBER, "42", 0 },
    { "42E0", MCP_JSON_NUMBER, "42", 0 },
    { "0x2a", MCP_JSON_NUMBER, "42", 0 },
    { "0x2A", MCP_JSON_NUMBER, "42", 0 },
    { "052", MCP_JSON_NUMBER, "42", 0 },
    { "042", MCP_JSON_NUMBER, "42", 0 },
    { "00", MCP_JSON_NUMBER, "0", 0 },
    { "+42", MCP_JSON_NUMBER, "42", 0 },
    { "- 42", MCP_JSON_NUMBER, "-42", 0 },
    { "4 2", MCP_JSON_NUMBER, "42", 0 },
    { " 42", MCP_JSON_NUMBER, "42", 0 },
    { "42 ", MCP_JSON_NUMBER, "42", 0 },
    { "42,42", MCP_JSON_NUMBER, "42", 0 },
    { "42.", MCP_JSON_NUMBER, "42", 0 },
    { ".5", MCP_JSON_NUMBER, "0.5", 0 },
    { "4.2.0", MCP_JSON_NUMBER, "4.2", 0 },
    { "-", MCP_JSON_NUMBER, "0", 0 },
    { "", MCP_JSON_NUMBER, "0", 0 },
    { "--1", MCP_JSON_NUMBER, "1", 0 },
    { "NaN", MCP_JSON_NUMBER, "0", 0 },
    { "Infinity", MCP_JSON_NUMBER, "1e999", 0 },
    { "1_000", MCP_JSON_NUMBER, "1000", 0 },

    { "9007199254740991", MCP_JSON_NUMBER, "9007199254740991", 1 },
    { "-9007199254740991", MCP_JSON_NUMBER, "-9007199254740991", 1 },
    { "9007199254740991.0", MCP_JSON_NUMBER, "9.007199254740991e15", 1 },
    { "9007199254740990.9", MCP_JSON_NUMBER, "9007199254740990.9", 1 },
    { "9007199254740991.5", MCP_JSON_NUMBER, "9007199254740991.5", 0 },
    { "9007199254740992", MCP_JSON_NUMBER, "9007199254740992", 0 },
    { "-9007199254740992", MCP_JSON_NUMBER, "-9007199254740992", 0 },
    { "9007199254740993", MCP_JSON_NUMBER, "9007199254740992", 0 },
    { "9100000000000000", MCP_JSON_NUMBER, "91e14", 0 },
    { "9000000000000000", MCP_JSON_NUMBER, "9e15", 1 },
    { "10000000000000000", MCP_JSON_NUMBER, "1e16", 0 },
    { "100000000000000000000", MCP_JSON_NUMBER, "1e20", 0 },

    { "null", MCP_JSON_NULL, "null", 0 },
    { "", MCP_JSON_NULL, "null", 0 },
    { "", MCP_JSON_NONE, "", 0 },
    { "[]", MCP_JSON_ARRAY, "[]", 0 },
    { "{}", MCP_JSON_OBJECT, "{}", 0 },
    { "[object Object]", MCP_JSON_OBJECT, "{}", 0 }
};


TEST(header_value_is_compared_with_the_body_by_type_and_value)
{
    size_t            i;
    mcp_json_value_t  body;

    for (i = 0; i < sizeof(compared) / sizeof(compared[0]); i++) {
        body.type = compared[i].type;
        body.raw = test_str(compared[i].body);

        if (mcp_header_value_is(test_str(compared[i].value), &body)
            != compared[i].is)
        {
            fail_msg("%s and %s", compared[i].value, compared[i].body);
        }
    }
}


/* A string that a client encodes is decoded to the same string. */
TEST(header_has_the_bodys_string_in_base64__both_are_found_equal)
{
    char              raw[64], *p;
    size_t            i;
    mcp_str_t         value;
    mcp_arena_t       arena;
    mcp_json_value_t  body;

    static const struct {
        const char  *text;
        const char  *json;
    } cases[] = {
        { "", "\"\"" },
        { " ", "\" \"" },
        { "\t", "\"\\t\"" },
        { "=?base64?\?=", "\"=?base64?\?=\"" },
        { "\xe4\xb8\x96", "\"\\u4e16\"" },
        { "a\r\nX: b", "\"a\\r\\nX: b\"" }
    };

    mcp_arena_init(&arena, &tm.mem);

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        p = raw + sprintf(raw, "=?base64?");
        p = mcp_base64_encode(p, cases[i].text, strlen(cases[i].text));
        p += sprintf(p, "?=");

        assert_ok(mcp_header_value_decode(
                      &arena, (mcp_str_t) { raw, (size_t) (p - raw) },
                      &value));

        body = (mcp_json_value_t) { MCP_JSON_STRING, test_str(cases[i].json) };
        assert_int_equal(mcp_header_value_is(value, &body), 1);
    }

    mcp_arena_destroy(&arena);
}


/* A text is encoded only if it has to be, and decodes to itself. */
TEST(header_value_cannot_be_sent_unchanged__only_then_it_is_base64_encoded)
{
    size_t       i;
    mcp_str_t    text, value, back;
    mcp_arena_t  arena;

    static const struct {
        const char  *text;
        int          encoded;
    } cases[] = {
        { "", 0 },
        { "add", 0 },
        { "a b~", 0 },
        { "=?base64?", 0 },
        { "a:b?c=%20", 0 },
        { " a", 1 },
        { "a ", 1 },
        { "a\tb", 1 },
        { "a\r\nX: b", 1 },
        { "\x7f", 1 },
        { "=?base64?\?=", 1 },
        { "gr\xc3\xb6\xc3\x9f" "e", 1 }
    };

    mcp_arena_init(&arena, &tm.mem);

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        text = test_str(cases[i].text);
        assert_ok(mcp_header_value_encode(&arena, text, &value));
        assert_int_equal(mcp_header_value_is_encoded(value), cases[i].encoded);
        assert_ok(mcp_header_value_decode(&arena, value, &back));
        assert_true(mcp_str_eq(back, text));
    }

    mcp_arena_destroy(&arena);
}


RUN_TESTS(init, done)
