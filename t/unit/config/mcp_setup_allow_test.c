/* SPDX-License-Identifier: Apache-2.0 */

/* Setup of rules about names, and of granted scopes. */


#include "setup_cases.h"


static const char  yes[] = "1", scopes[] = "a b";


static void
test_rules(void **state)
{
    mcp_setup_t  *outer, *inner, *other;

    (void) state;

    outer = setup_new();
    inner = setup_new();
    other = setup_new();

    assert_int_equal(mcp_setup_allow(outer, mcp_str("tools/t"), yes, error),
                     MCP_OK);
    assert_int_equal(mcp_setup_allow(outer, mcp_str("~."), NULL, error),
                     MCP_OK);
    assert_int_equal(mcp_setup_granted_scopes(outer, scopes, error), MCP_OK);
    assert_int_equal(mcp_setup_granted_scopes(outer, scopes, error),
                     MCP_ERR_CONFIG);
    assert_string_equal(error, MCP_SETUP_DUPLICATE);

    assert_int_equal(mcp_setup_allow(other, mcp_str("*"), yes, error), MCP_OK);

    /* a section with rules does not inherit any; a section without rules
     * inherits all */

    mcp_setup_merge(inner, outer);
    mcp_setup_merge(other, outer);

    assert_int_equal(mcp_setup_endpoint(inner, NULL, mcp_str("n"),
                                        mcp_str("v"), &e), MCP_OK);
    assert_int_equal(e.n_allow, 2);
    assert_ptr_equal(e.allow[0].value, yes);
    assert_null(e.allow[1].value);
    assert_ptr_equal(e.granted_scopes, scopes);
    assert_true(mcp_endpoint_restricts(&e));

    assert_int_equal(mcp_setup_endpoint(other, NULL, mcp_str("n"),
                                        mcp_str("v"), &e), MCP_OK);
    assert_int_equal(e.n_allow, 1);
    assert_ptr_equal(e.granted_scopes, scopes);

    mcp_setup_free(other);
    mcp_setup_free(inner);
    mcp_setup_free(outer);
}


static void
test_wrong(void **state)
{
    int           i;
    char          name[16];
    mcp_setup_t  *s;

    (void) state;

    s = setup_new();

    assert_int_equal(mcp_setup_allow(s, mcp_str("a*b"), yes, error),
                     MCP_ERR_CONFIG);
    assert_string_equal(error, "invalid pattern \"a*b\": \"*\" is allowed "
                               "only at the end: write a regular expression, "
                               "which begins with \"~\"");

    for (i = 0; i < 1000; i++) {
        (void) snprintf(name, sizeof(name), "a%d", i);
        assert_int_equal(mcp_setup_allow(s, test_str(name), yes, error),
                         MCP_OK);
    }

    assert_int_equal(mcp_setup_allow(s, mcp_str("a"), yes, error),
                     MCP_ERR_CONFIG);
    assert_string_equal(error, "more than 1000 rules");

    mcp_setup_free(s);
}


static void
test_warnings(void **state)
{
    mcp_setup_t  *s;

    (void) state;

    s = setup_new();

    assert_int_equal(mcp_setup_allow(s, mcp_str("tools/t"), yes, error),
                     MCP_OK);
    assert_int_equal(mcp_setup_allow_nothing(s).len, 0);

    assert_int_equal(mcp_setup_catalog(s, mcp_str("f"), mcp_str(
        "{\"tools\":[{\"name\":\"t\",\"x-mcp-scope\":\"a\",\"inputSchema\":"
        "{\"type\":\"object\"}}],\"resourceTemplates\":[{\"name\":\"x\","
        "\"uriTemplate\":\"a:{x}\"}]}"), error), MCP_OK);

    assert_true(mcp_setup_lacks_scopes(s));
    assert_int_equal(mcp_setup_granted_scopes(s, scopes, error), MCP_OK);
    assert_false(mcp_setup_lacks_scopes(s));

    assert_int_equal(mcp_setup_allow(s, mcp_str("resources/a:{x}"), yes,
                                     error), MCP_OK);
    assert_int_equal(mcp_setup_allow(s, mcp_str("nothing*"), yes, error),
                     MCP_OK);
    assert_int_equal(mcp_setup_allow_nothing(s).len, 0);

    assert_int_equal(mcp_setup_allow(s, mcp_str("prompts/t"), yes, error),
                     MCP_OK);
    assert_true(mcp_str_eq(mcp_setup_allow_nothing(s), mcp_str("prompts/t")));

    mcp_setup_free(s);
}


static void
test_memory(void **state)
{
    int            rc;
    mcp_setup_t   *s;
    unsigned long  n;

    (void) state;

    rc = MCP_ERR_MEMORY;

    for (n = 1; rc != MCP_OK; n++) {
        s = setup_new();
        tm.fail_at = n;

        rc = mcp_setup_allow(s, mcp_str("~a"), yes, error);

        if (rc == MCP_OK) {
            rc = mcp_setup_endpoint(s, NULL, mcp_str("n"), mcp_str("v"), &e);
        }

        assert_true(rc == MCP_OK || rc == MCP_ERR_MEMORY);
        tm.fail_at = 0;
        mcp_setup_free(s);
    }
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test_setup_teardown(test_rules, init, done),
        cmocka_unit_test_setup_teardown(test_wrong, init, done),
        cmocka_unit_test_setup_teardown(test_warnings, init, done),
        cmocka_unit_test_setup_teardown(test_memory, init, done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
