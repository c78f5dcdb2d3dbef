/* SPDX-License-Identifier: Apache-2.0 */

/* Lists of scopes, separated by spaces. */


#include "config/mcp_item_access.h"
#include "memory_cases.h"



TEST(scope_list_satisfies_only_scopes_that_it_contains)
{
    static const struct {
        const char  *list;
        const char  *scopes;
        int          has;
    } cases[] = {
        { "", "", 1 },
        { "", "a", 0 },
        { "a", "", 1 },
        { "a", "a", 1 },
        { "a b c", "c a", 1 },
        { "  a   b ", "b", 1 },
        { "ab", "a", 0 },
        { "a", "ab", 0 },
        { "A", "a", 0 },
        { "a b", "a b c", 0 },
    };

    size_t  i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (mcp_scope_has_all(test_str(cases[i].list),
                              test_str(cases[i].scopes)) != cases[i].has)
        {
            fail_msg("\"%s\", \"%s\"", cases[i].list, cases[i].scopes);
        }
    }

    assert_true(mcp_scope_has(mcp_str("a b"), mcp_str("b")));
    assert_false(mcp_scope_has(mcp_null_str, mcp_str("b")));
}


TEST(scope_that_a_list_already_has_is_not_added_again)
{
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &tm.mem, 100);

    mcp_scope_add(&buf, mcp_str("a b"));
    mcp_scope_add(&buf, mcp_str("b  c a"));
    mcp_scope_add(&buf, mcp_null_str);

    assert_int_equal(buf.len, 5);
    assert_memory_equal(buf.data, "a b c", 5);

    mcp_buf_free(&buf);
}


RUN_TESTS(init, done)
