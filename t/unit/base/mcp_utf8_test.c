/* SPDX-License-Identifier: Apache-2.0 */

/* UTF-8. */


#include "test_env.h"

#include "base/mcp_str.h"


/* Each code point, and invalid texts that resemble its encoding. */
TEST(complete_code_points_other_than_surrogates_are_valid_utf_8)
{
    int        n, valid;
    char       p[4], q[4];
    uint32_t   c;

    assert_true(mcp_utf8_valid(mcp_null_str));

    for (c = 0; c < 0x200000; c++) {
        if (c < 0x80) {
            p[0] = (char) c;
            n = 1;

        } else if (c < 0x800) {
            p[0] = (char) (0xc0 | c >> 6);
            n = 2;

        } else if (c < 0x10000) {
            p[0] = (char) (0xe0 | c >> 12);
            p[1] = (char) (0x80 | (c >> 6 & 0x3f));
            n = 3;

        } else {
            p[0] = (char) (0xf0 | c >> 18);
            p[1] = (char) (0x80 | (c >> 12 & 0x3f));
            p[2] = (char) (0x80 | (c >> 6 & 0x3f));
            n = 4;
        }

        if (n > 1) {
            p[n - 1] = (char) (0x80 | (c & 0x3f));
        }

        valid = c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff);

        if (valid && (mcp_utf8_print(q, c) != q + n
                      || memcmp(p, q, (size_t) n) != 0))
        {
            fail_msg("U+%X, printed", (unsigned) c);
        }

        if (mcp_utf8_valid((mcp_str_t) { p, (size_t) n }) != valid) {
            fail_msg("U+%X", (unsigned) c);
        }

        if (n > 1 && mcp_utf8_valid((mcp_str_t) { p, (size_t) n - 1 })) {
            fail_msg("U+%X, cut off", (unsigned) c);
        }
    }

    assert_true(mcp_utf8_valid(mcp_str("12345678\xc3\xa9" "12345678")));
    assert_false(mcp_utf8_valid(mcp_str("1234567812345678\xc3")));
    assert_false(mcp_utf8_valid(mcp_str("1234567\xff" "12345678")));
}


RUN_TESTS(NULL, NULL)
