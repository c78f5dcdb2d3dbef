/* SPDX-License-Identifier: Apache-2.0 */

/* Comparisons, search, decimals and big endian. */


#include "test_env.h"

#include "base/mcp_str.h"


static const struct {
    const char  *text;
    int          rc;
    uint64_t     n;
} numbers[] = {
    { "0", MCP_OK, 0 },
    { "007", MCP_OK, 7 },
    { "18446744073709551615", MCP_OK, UINT64_MAX },
    { "18446744073709551616", MCP_ERR_SYNTAX, 0 },
    { "99999999999999999999", MCP_ERR_SYNTAX, 0 },
    { "", MCP_ERR_SYNTAX, 0 },
    { "-1", MCP_ERR_SYNTAX, 0 },
    { "+1", MCP_ERR_SYNTAX, 0 },
    { " 1", MCP_ERR_SYNTAX, 0 },
    { "1 ", MCP_ERR_SYNTAX, 0 },
    { "1a", MCP_ERR_SYNTAX, 0 },
    { "0x1", MCP_ERR_SYNTAX, 0 },
};


TEST(decimals_up_to_64_bits_are_read_and_printed_and_other_texts_are_rejected)
{
    char      text[20], *end;
    size_t    i;
    uint64_t  n;

    for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        n = 42;
        assert_int_equal(mcp_str_uint(test_str(numbers[i].text), &n),
                         numbers[i].rc);
        assert_true(n == (numbers[i].rc == MCP_OK ? numbers[i].n : 42));
    }

    end = mcp_uint_print(text, UINT64_MAX);
    assert_str_is(((mcp_str_t) { text, (size_t) (end - text) }),
                  "18446744073709551615");

    end = mcp_uint_print(text, 0);
    assert_str_is(((mcp_str_t) { text, (size_t) (end - text) }), "0");
}


TEST(strings_are_compared_with_and_without_case)
{
    assert_true(mcp_str_eq(mcp_str("a"), mcp_str("a")));
    assert_false(mcp_str_eq(mcp_str("a"), mcp_str("b")));
    assert_false(mcp_str_eq(mcp_str("a"), mcp_str("ab")));
    assert_true(mcp_str_eq(mcp_null_str, mcp_str("")));

    assert_true(mcp_str_case_eq(mcp_str("Accept-Z"), mcp_str("aCCEPT-z")));
    assert_true(mcp_str_case_eq(mcp_null_str, mcp_str("")));
    assert_false(mcp_str_case_eq(mcp_str("a"), mcp_str("ab")));
    assert_false(mcp_str_case_eq(mcp_str("["), mcp_str("{")));
    assert_false(mcp_str_case_eq(mcp_str("@"), mcp_str("`")));
    assert_false(mcp_str_case_eq(mcp_str("\xc4"), mcp_str("\xe4")));
}


/* Comparison without case: each pair of bytes, at each position in strings of
 * up to three machine words, among letters of both cases. */
TEST(comparison_without_case_folds_ascii_letters_only)
{
    int       same;
    char      a[24], b[24];
    size_t    len, at;
    unsigned  i, x, y;

    for (i = 0; i < sizeof(a); i++) {
        a[i] = "aZ-"[i % 3];
        b[i] = "Az-"[i % 3];
    }

    for (x = 0; x < 256; x++) {
        for (y = 0; y < 256; y++) {
            same = x == y
                   || ((x ^ y) == 0x20 && (x | 0x20) >= 'a'
                       && (x | 0x20) <= 'z');

            len = 1 + (x + y) % sizeof(a);

            for (at = 0; at < len; at++) {
                a[at] = (char) x;
                b[at] = (char) y;

                assert_int_equal(mcp_case_eq(a, b, len), same);

                a[at] = "aZ-"[at % 3];
                b[at] = "Az-"[at % 3];
            }
        }
    }
}


TEST(first_occurrence_of_a_part_is_found)
{
    mcp_str_t  text;

    text = mcp_str("aababbab");

    assert_ptr_equal(mcp_str_find(text, mcp_str("a")), text.data);
    assert_ptr_equal(mcp_str_find(text, mcp_str("ab")), text.data + 1);
    assert_ptr_equal(mcp_str_find(text, mcp_str("abb")), text.data + 3);
    assert_ptr_equal(mcp_str_find(text, mcp_str("bbab")), text.data + 4);
    assert_ptr_equal(mcp_str_find(text, text), text.data);

    assert_null(mcp_str_find(text, mcp_str("c")));
    assert_null(mcp_str_find(text, mcp_str("bb ")));
    assert_null(mcp_str_find(text, mcp_str("abc")));
    assert_null(mcp_str_find(text, mcp_str("aababbabb")));
    assert_null(mcp_str_find(mcp_null_str, mcp_str("a")));
}


TEST(only_the_given_bytes_are_set_to_zero)
{
    char  bytes[4] = { 1, 2, 3, 4 };

    mcp_zero(bytes + 1, 2);
    assert_memory_equal(bytes, "\1\0\0\4", 4);
}


TEST(numbers_are_written_and_read_in_big_endian)
{
    unsigned char  bytes[8] = { 0 };

    mcp_be_put(bytes, 0x0102030405060708, 8);
    assert_memory_equal(bytes, "\1\2\3\4\5\6\7\10", 8);
    assert_true(mcp_be_get(bytes, 8) == 0x0102030405060708);
    assert_true(mcp_be_get(bytes, 2) == 0x0102);

    mcp_be_put(bytes, 0xfffefd, 2);
    assert_memory_equal(bytes, "\xfe\xfd\3", 3);

    mcp_be_put(bytes, 1, 0);
    assert_memory_equal(bytes, "\xfe\xfd\3", 3);
    assert_true(mcp_be_get(bytes, 0) == 0);
}


RUN_TESTS(NULL, NULL)
