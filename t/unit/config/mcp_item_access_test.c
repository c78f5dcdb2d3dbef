/* SPDX-License-Identifier: Apache-2.0 */

/* Rules that allow or hide items by their names. */


#include "test_env.h"

#include "config/mcp_item_access.h"
#include "setup_cases.h"


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


TEST(rule_for_an_item_is_the_first_rule_whose_pattern_matches)
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
TEST(pattern_of_a_rule_cannot_be_compared_with_a_name__no_later_rule_applies)
{
    static const char *const  patterns[] = { "~(*UTF)^a", "*", NULL };

    size_t  n;

    n = read_rules(patterns);

    assert_int_equal(mcp_allow_find(rules, n, MCP_LIST_TOOLS, mcp_str("a")), 0);
    assert_int_equal(mcp_allow_find(rules, n, MCP_LIST_TOOLS, mcp_str("b")), 1);
    assert_int_equal(mcp_allow_find(rules, n, MCP_LIST_TOOLS,
                                    mcp_str("b\xc3")), 2);
    free_rules(n);
}


TEST(invalid_pattern_is_rejected_with_a_reason)
{
    static const char *const  patterns[] = {
        "", "tools/", "resources/", "a*b", "*a", "tools/**", "~(", "tools/~("
    };

    size_t  i;

    test_mem_init(&tm);

    for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        assert_int_equal(mcp_allow_read(&tm.mem, test_str(patterns[i]),
                                        &rules[0], why, sizeof(why)),
                         MCP_ERR_CONFIG);
        assert_true(strlen(why) > 0);
    }

    assert_int_equal(tm.live, 0);
}


TEST(value_of_a_rule_is_true_unless_it_is_empty_or_0)
{
    assert_false(mcp_allow_is_true(mcp_null_str));
    assert_false(mcp_allow_is_true(mcp_str("")));
    assert_false(mcp_allow_is_true(mcp_str("0")));
    assert_true(mcp_allow_is_true(mcp_str("1")));
    assert_true(mcp_allow_is_true(mcp_str("00")));
    assert_true(mcp_allow_is_true(mcp_str("alice")));
}


static const char  permits[] = "1", scopes[] = "a b";


TEST(section_inherits_rules_only_if_it_has_no_rules_itself)
{
    mcp_setup_t  *outer, *inner, *other;

    outer = setup_new();
    inner = setup_new();
    other = setup_new();

    assert_ok(mcp_setup_allow(outer, mcp_str("tools/t"), permits, error));
    assert_ok(mcp_setup_allow(outer, mcp_str("~."), NULL, error));
    assert_ok(mcp_setup_granted_scopes(outer, scopes, error));
    assert_int_equal(mcp_setup_granted_scopes(outer, scopes, error),
                     MCP_ERR_CONFIG);
    assert_string_equal(error, MCP_SETUP_DUPLICATE);

    assert_ok(mcp_setup_allow(other, mcp_str("*"), permits, error));

    /* a section with rules does not inherit any; a section without rules
     * inherits all */

    mcp_setup_merge(inner, outer);
    mcp_setup_merge(other, outer);

    endpoint(inner);
    assert_int_equal(e.n_allow, 2);
    assert_ptr_equal(e.allow[0].value, permits);
    assert_null(e.allow[1].value);
    assert_ptr_equal(e.granted_scopes, scopes);
    assert_true(mcp_endpoint_restricts(&e));

    endpoint(other);
    assert_int_equal(e.n_allow, 1);
    assert_ptr_equal(e.granted_scopes, scopes);
}


TEST(invalid_rule_and_more_than_1000_rules_are_rejected)
{
    int           i;
    char          name[16];
    mcp_setup_t  *s;

    s = setup_new();

    assert_int_equal(mcp_setup_allow(s, mcp_str("a*b"), permits, error),
                     MCP_ERR_CONFIG);
    assert_string_equal(error, "invalid pattern \"a*b\": \"*\" is allowed "
                               "only at the end: write a regular expression, "
                               "which begins with \"~\"");

    for (i = 0; i < 1000; i++) {
        (void) snprintf(name, sizeof(name), "a%d", i);
        assert_ok(mcp_setup_allow(s, test_str(name), permits, error));
    }

    assert_int_equal(mcp_setup_allow(s, mcp_str("a"), permits, error),
                     MCP_ERR_CONFIG);
    assert_string_equal(error, "more than 1000 rules are not allowed");
}


TEST(rule_without_an_item_and_scope_without_mcp_granted_scopes_are_reported)
{
    mcp_setup_t  *s;

    s = setup_new();

    assert_ok(mcp_setup_allow(s, mcp_str("tools/t"), permits, error));
    assert_int_equal(warnings(s, 0, "matches no item"), 0);

    assert_ok(mcp_setup_catalog(s, mcp_str("f"), mcp_str(
        "{\"tools\":[{\"name\":\"t\",\"x-mcp-scope\":\"a\",\"inputSchema\":"
        "{\"type\":\"object\"}}],\"resourceTemplates\":[{\"name\":\"x\","
        "\"uriTemplate\":\"a:{x}\"}]}"), error));

    assert_true(warnings(s, 0, "but no \"mcp_granted_scopes\""));
    assert_ok(mcp_setup_granted_scopes(s, scopes, error));
    assert_false(warnings(s, 0, "but no \"mcp_granted_scopes\""));

    assert_ok(mcp_setup_allow(s, mcp_str("resources/a:{x}"), permits, error));
    assert_ok(mcp_setup_allow(s, mcp_str("nothing*"), permits, error));
    mcp_setup_mark_own(s, 0);
    assert_int_equal(warnings(s, 0, "matches no item"), 0);

    assert_ok(mcp_setup_allow(s, mcp_str("prompts/t"), permits, error));
    assert_int_equal(warnings(s, 0, "\"mcp_allow prompts/t\", which matches no "
                                    "item"), 1);
}


/* The rules of an outer section apply to several catalogs. */
TEST(inherited_rule_matches_no_item_of_the_catalog__it_is_not_reported)
{
    mcp_setup_t  *outer, *inner;

    outer = setup_new();
    inner = setup_new();

    assert_ok(mcp_setup_allow(outer, mcp_str("tools/t"), permits, error));
    assert_ok(mcp_setup_catalog(inner, mcp_str("f"), mcp_str(
        "{\"tools\":[{\"name\":\"other\",\"inputSchema\":"
        "{\"type\":\"object\"}}]}"), error));

    mcp_setup_mark_own(inner, 0);
    mcp_setup_merge(inner, outer);
    assert_int_equal(warnings(inner, 0, "matches no item"), 0);
}


TEST(memory_runs_out__the_setup_of_a_rule_fails)
{
    int            rc;
    mcp_setup_t   *s;
    unsigned long  n;

    rc = MCP_ERR_MEMORY;

    for (n = 1; rc != MCP_OK; n++) {
        s = setup_new();
        tm.fail_at = n;

        rc = mcp_setup_allow(s, mcp_str("~a"), permits, error);

        if (rc == MCP_OK) {
            rc = endpoint_of(s, NULL);
        }

        assert_true(rc == MCP_OK || rc == MCP_ERR_MEMORY);
        tm.fail_at = 0;
    }
}


RUN_TESTS(init, done)
