/* SPDX-License-Identifier: Apache-2.0 */

/* Directives of sections that are not endpoints: the warnings about those
 * without effect. */


#include "setup_cases.h"


/* Returns a setup that itself sets an option. */
static mcp_setup_t *
with(mcp_option_e option, const char *value)
{
    mcp_setup_t  *s;

    s = setup_new();
    taken(mcp_setup_option(s, option, test_str(value), error));
    mcp_setup_mark_own(s, 0);

    return s;
}


/* Returns the setup of a backend with the option and this form. */
static mcp_setup_t *
backend(mcp_option_e option, const char *value, const char *form)
{
    mcp_setup_t  *s;

    s = with(option, value);
    taken(mcp_setup_option(s, MCP_OPTION_UPSTREAM, test_str(form), error));
    mcp_setup_mark_own(s, 0);

    return s;
}


TEST(section_without_a_directive_of_its_own_counts_as_empty)
{
    mcp_setup_t  *s;

    s = setup_new();
    mcp_setup_mark_own(s, 0);
    assert_int_equal(mcp_setup_is_empty_section(s), 1);

    mcp_setup_mark_own(s, MCP_SETUP_PRINCIPAL);
    assert_int_equal(mcp_setup_is_empty_section(s), 0);

    assert_int_equal(mcp_setup_is_empty_section(with(MCP_OPTION_RETRY, "1s")),
                     0);

    taken(say_all(s, "1"));
    mcp_setup_mark_own(s, 0);
    assert_int_equal(mcp_setup_is_empty_section(s), 0);
}


TEST(publish_endpoint_has_directives_that_it_does_not_use__they_are_reported)
{
    mcp_setup_t  *s;

    s = setup_new();
    taken(say_all(s, "1"));
    mcp_setup_mark_own(s, MCP_SETUP_PUBLISH_OPEN | MCP_SETUP_MAX_BODY);

    assert_int_equal(reported(s, MCP_SETUP_PUBLISH, 0, "no effect"), 7);
    assert_int_equal(reported(s, MCP_SETUP_PUBLISH, 0,
                              "has \"mcp_catalog\", which has no effect: "
                              "locations with \"mcp_publish\" do not use it"),
                     1);
    assert_int_equal(reported(s, MCP_SETUP_PUBLISH, 1, "MCPKey"), 0);
    assert_int_equal(reported(s, MCP_SETUP_PUBLISH, 1, "MCPPublishToken"), 0);
    assert_int_equal(reported(s, MCP_SETUP_PUBLISH, 1, "MCPMaxBody"), 0);

    s = with(MCP_OPTION_MAX_DEPTH, "10");
    mcp_setup_mark_own(s, MCP_SETUP_PRINCIPAL);
    assert_int_equal(reported(s, MCP_SETUP_PUBLISH, 1, ""), 0);
}


TEST(status_page_has_directives__all_of_them_are_reported_as_without_effect)
{
    mcp_setup_t  *s;

    s = setup_new();
    taken(say_all(s, "1"));
    mcp_setup_mark_own(s, MCP_SETUP_PUBLISH_OPEN | MCP_SETUP_MAX_BODY);

    assert_int_equal(reported(s, MCP_SETUP_STATUS, 1, "no effect"), 11);
    assert_int_equal(reported(s, MCP_SETUP_STATUS, 1, "MCPKey, which has no "
                              "effect: sections with \"SetHandler mcp-status\" "
                              "do not use it"), 1);
}


TEST(endpoint_has_directives_of_other_sections__they_are_reported)
{
    mcp_setup_t  *s;

    s = backend(MCP_OPTION_UPSTREAM_CHECK, "5s", "auto");
    taken(mcp_setup_backend(s, mcp_str("b"), error));
    taken(mcp_setup_publish_token(s, mcp_str("t"), error));
    mcp_setup_mark_own(s, MCP_SETUP_PUBLISH_OPEN);

    assert_int_equal(reported(s, MCP_SETUP_ENDPOINT, 0, "move the directive"),
                     2);
    assert_int_equal(reported(s, MCP_SETUP_ENDPOINT, 1,
                              "MCPPublishOpen, which has no effect: only "
                              "sections with \"SetHandler mcp-publish\""), 1);
    assert_int_equal(reported(s, MCP_SETUP_ENDPOINT, 1, "no effect"), 4);
}


TEST(backend_has_a_directive_that_its_form_does_not_use__it_is_reported)
{
    mcp_setup_t  *s, *plain, *listed;

    plain = setup_new();
    taken(mcp_setup_route(plain, mcp_str("x"), mcp_str("r"), error));
    taken(mcp_setup_backend(plain, mcp_str("b"), error));
    listed = setup_new();
    taken(mcp_setup_backend(listed, mcp_str("b"), error));
    taken(mcp_setup_catalog(listed, mcp_str("/c"), mcp_str(CATALOG), error));

    assert_str_is(mcp_setup_backend_name(plain, 0), "b");
    assert_str_is(mcp_setup_backend_name(plain, 1), "r");
    assert_null(mcp_setup_backend_name(plain, 2).data);

    s = with(MCP_OPTION_UPSTREAM_SESSION, "call");
    mcp_setup_mark_backend(s, plain, mcp_str("b"));
    assert_int_equal(reported(s, MCP_SETUP_BACKEND, 0, "\"mcp_upstream\" is "
                                                       "off"), 1);

    s = backend(MCP_OPTION_UPSTREAM_SESSION, "call", "modern");
    mcp_setup_mark_backend(s, plain, mcp_str("b"));
    assert_int_equal(reported(s, MCP_SETUP_BACKEND, 0, "is neither"), 1);

    s = backend(MCP_OPTION_UPSTREAM_SESSION, "call", "auto");
    mcp_setup_mark_backend(s, plain, mcp_str("r"));
    assert_int_equal(reported(s, MCP_SETUP_BACKEND, 0, ""), 0);

    s = backend(MCP_OPTION_UPSTREAM_STALE, "5s", "auto");
    assert_int_equal(reported(s, MCP_SETUP_BACKEND, 1, "names the path"), 1);
    mcp_setup_mark_backend(s, listed, mcp_str("b"));
    assert_int_equal(reported(s, MCP_SETUP_BACKEND, 0,
                              "of an endpoint without \"mcp_catalog\""), 1);
    mcp_setup_mark_backend(s, plain, mcp_str("r"));
    assert_int_equal(reported(s, MCP_SETUP_BACKEND, 0, ""), 1);
    mcp_setup_mark_backend(s, plain, mcp_str("b"));
    assert_int_equal(reported(s, MCP_SETUP_BACKEND, 0, ""), 0);

    s = backend(MCP_OPTION_UPSTREAM_CHECK, "5s", "auto");
    mcp_setup_mark_backend(s, listed, mcp_str("b"));
    assert_int_equal(reported(s, MCP_SETUP_BACKEND, 0, ""), 0);

    s = backend(MCP_OPTION_UPSTREAM_CHECK, "5s", "modern");
    mcp_setup_mark_backend(s, listed, mcp_str("b"));
    assert_int_equal(reported(s, MCP_SETUP_BACKEND, 0, ""), 1);

    s = with(MCP_OPTION_PASS_COOKIE, "on");
    assert_int_equal(reported(s, MCP_SETUP_BACKEND, 0,
                              "only locations with \"mcp\" use it"), 1);
    assert_int_equal(reported(s, MCP_SETUP_OUTER, 0, ""), 0);
}


RUN_TESTS(init, done)
