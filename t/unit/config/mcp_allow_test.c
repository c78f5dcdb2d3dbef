/* SPDX-License-Identifier: Apache-2.0 */

/* Rules that allow or hide items by their names. */


#include "test_env.h"

#include "config/mcp_allow.h"


#define RULES  8


static test_mem_t   tm;
static mcp_allow_t  rules[RULES];
static char         why[128];


static size_t
read_rules(const char *const *patterns)
{
    size_t  n;

    test_mem_init(&tm);

    for (n = 0; patterns[n]; n++) {
        if (mcp_allow_read(&tm.mem, test_str(patterns[n]), &rules[n], why,
                           sizeof(why)) != MCP_OK)
        {
            fail_msg("%s: %s", patterns[n], why);
        }
    }

    return n;
}


static void
free_rules(size_t n)
{
    while (n-- > 0) {
        mcp_match_free(rules[n].match);
    }

    assert_int_equal(tm.live, 0);
}


static void
test_find(void **state)
{
    static const char *const  patterns[] = {
        "tools/drop", "tools/~^admin_", "prompts/*", "resources/db:*",
        "resources/~*^FILE:///a", "plain", "~x$", NULL
    };

    static const struct {
        mcp_list_e   kind;
        const char  *name;
        size_t       rule;
    } cases[] = {
        { MCP_LIST_TOOLS, "drop", 0 },
        { MCP_LIST_TOOLS, "drops", 7 },
        { MCP_LIST_TOOLS, "admin_x", 1 },
        { MCP_LIST_TOOLS, "my_admin_x", 6 },
        { MCP_LIST_TOOLS, "plain", 5 },
        { MCP_LIST_PROMPTS, "drop", 2 },
        { MCP_LIST_PROMPTS, "", 2 },
        { MCP_LIST_RESOURCES, "db:///t", 3 },
        { MCP_LIST_RESOURCES, "db", 7 },
        { MCP_LIST_TEMPLATES, "db:///{t}", 3 },
        { MCP_LIST_RESOURCES, "file:///a/b", 4 },
        { MCP_LIST_RESOURCES, "plain", 5 },
        { MCP_LIST_RESOURCES, "admin_a", 7 },
    };

    size_t  i, n;

    (void) state;

    n = read_rules(patterns);

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (mcp_allow_find(rules, n, cases[i].kind, test_str(cases[i].name))
            != cases[i].rule)
        {
            fail_msg("%d, \"%s\"", (int) cases[i].kind, cases[i].name);
        }
    }

    assert_int_equal(mcp_allow_find(NULL, 0, MCP_LIST_TOOLS, mcp_str("a")), 0);
    free_rules(n);
}


/* The comparison of a rule's pattern with a name fails: no later rule
 * applies. */
static void
test_unsure(void **state)
{
    static const char *const  patterns[] = { "~(*UTF)^a", "*", NULL };

    size_t  n;

    (void) state;

    n = read_rules(patterns);

    assert_int_equal(mcp_allow_find(rules, n, MCP_LIST_TOOLS, mcp_str("a")),
                     0);
    assert_int_equal(mcp_allow_find(rules, n, MCP_LIST_TOOLS, mcp_str("b")),
                     1);
    assert_int_equal(mcp_allow_find(rules, n, MCP_LIST_TOOLS,
                                    mcp_str("b\xc3")), 2);
    free_rules(n);
}


static void
test_wrong(void **state)
{
    static const char *const  patterns[] = {
        "", "tools/", "resources/", "a*b", "*a", "tools/**", "~(", "tools/~("
    };

    size_t  i;

    (void) state;

    test_mem_init(&tm);

    for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        assert_int_equal(mcp_allow_read(&tm.mem, test_str(patterns[i]),
                                        &rules[0], why, sizeof(why)),
                         MCP_ERR_CONFIG);
        assert_true(strlen(why) > 0);
    }

    assert_int_equal(tm.live, 0);
}


static void
test_values(void **state)
{
    (void) state;

    assert_false(mcp_allow_is_true(mcp_null_str));
    assert_false(mcp_allow_is_true(mcp_str("")));
    assert_false(mcp_allow_is_true(mcp_str("0")));
    assert_true(mcp_allow_is_true(mcp_str("1")));
    assert_true(mcp_allow_is_true(mcp_str("00")));
    assert_true(mcp_allow_is_true(mcp_str("alice")));
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_unsure),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
