/* SPDX-License-Identifier: Apache-2.0 */

/* Directives without effect: the warnings about them, and the sections that
 * the warnings name. */


#include "setup_cases.h"


#define JOINS  "{\"tools\":[{\"name\":\"t\",\"x-mcp-join\":\"key\","          \
               "\"x-mcp-scope\":\"s\",\"inputSchema\":{\"type\":\"object\"}}]}"


static void
option(mcp_setup_t *s, mcp_option_e option, const char *value)
{
    taken(mcp_setup_option(s, option, test_str(value), error));
}


TEST(directive_of_the_section_itself_has_no_effect__it_is_reported)
{
    mcp_setup_t  *s;

    s = setup_new();
    taken(mcp_setup_backend(s, mcp_str("b"), error));
    option(s, MCP_OPTION_PAGE_SIZE, "10");
    option(s, MCP_OPTION_JOIN_WAIT, "5s");
    option(s, MCP_OPTION_POLICY_AFTER, "5s");
    option(s, MCP_OPTION_QUOTA_KEY, "off");
    option(s, MCP_OPTION_QUOTA_STREAMS, "5");
    mcp_setup_mark_own(s, MCP_SETUP_LINK_ORIGIN);

    assert_int_equal(warnings(s, 0, "no effect"), 5);
    assert_int_equal(warnings(s, 0, "has \"mcp_page_size\", which has no "
                                    "effect: \"mcp_catalog\" is not set"), 1);
    assert_int_equal(warnings(s, 1, "has MCPPageSize, which has no effect: "
                                    "MCPCatalog is not set"), 1);
    assert_int_equal(warnings(s, 1, "has MCPLinkOrigin"), 1);
}


TEST(inherited_directive_has_no_effect__it_is_not_reported)
{
    mcp_setup_t  *s, *parent;

    s = setup_new();
    parent = setup_new();
    taken(mcp_setup_backend(s, mcp_str("b"), error));
    option(parent, MCP_OPTION_PAGE_SIZE, "10");
    mcp_setup_mark_own(s, 0);
    mcp_setup_merge(s, parent);
    assert_int_equal(warnings(s, 0, "no effect"), 0);
}


TEST(directives_with_an_effect_are_not_reported)
{
    mcp_setup_t  *s;

    s = setup_new();
    taken(mcp_setup_backend(s, mcp_str("b"), error));
    taken(mcp_setup_catalog(s, mcp_str("/c"), mcp_str(JOINS), error));
    taken(mcp_setup_publish_url(s, mcp_str("http://a/publish"), error));
    option(s, MCP_OPTION_PAGE_SIZE, "10");
    option(s, MCP_OPTION_JOIN_WAIT, "5s");
    option(s, MCP_OPTION_LINK, "on");
    option(s, MCP_OPTION_MAX_BATCH, "5");
    option(s, MCP_OPTION_SESSION_LIFETIME, "5h");
    option(s, MCP_OPTION_TASK_AFTER, "5s");
    option(s, MCP_OPTION_TASK_TTL, "5h");
    option(s, MCP_OPTION_CACHE_TTL, "5s");
    option(s, MCP_OPTION_QUOTA_STREAMS, "5");
    option(s, MCP_OPTION_POLICY_AFTER, "500ms");
    option(s, MCP_OPTION_CALL_TIMEOUT, "5s");
    option(s, MCP_OPTION_STREAM_AFTER, "5s");
    option(s, MCP_OPTION_RESUME_AFTER, "off");
    option(s, MCP_OPTION_RESUME_STATELESS, "all");
    option(s, MCP_OPTION_RECONNECT_WAIT, "5s");
    option(s, MCP_OPTION_MAX_SESSION_STREAMS, "5");
    mcp_setup_mark_own(s, MCP_SETUP_LINK_ORIGIN);
    assert_int_equal(warnings(s, 0, "no effect"), 0);
}


TEST(time_longer_than_mcp_call_timeout_is_reported)
{
    mcp_setup_t  *s;

    s = setup_new();
    taken(mcp_setup_backend(s, mcp_str("b"), error));
    option(s, MCP_OPTION_CALL_TIMEOUT, "5s");
    option(s, MCP_OPTION_STREAM_AFTER, "6s");
    mcp_setup_mark_own(s, 0);
    assert_int_equal(warnings(s, 0, "has \"mcp_stream_after\", which has no "
                                    "effect: calls end earlier, by "
                                    "\"mcp_call_timeout\""), 1);

    /* the default of mcp_task_after is not the section's own */

    assert_int_equal(warnings(s, 0, "no effect"), 1);

    option(s, MCP_OPTION_TASK_AFTER, "6s");
    option(s, MCP_OPTION_RESUME_AFTER, "6s");
    mcp_setup_mark_own(s, 0);
    assert_int_equal(warnings(s, 1, "by MCPCallTimeout"), 3);
}


TEST(directives_for_revisions_that_the_endpoint_lacks_are_reported)
{
    mcp_setup_t  *s;

    s = setup_new();
    taken(mcp_setup_backend(s, mcp_str("b"), error));
    taken(mcp_setup_revision(s, mcp_str("2025-11-25"), error));
    option(s, MCP_OPTION_RESUME_STATELESS, "all");
    option(s, MCP_OPTION_RECONNECT_WAIT, "5s");
    mcp_setup_mark_own(s, 0);
    assert_int_equal(warnings(s, 0, "has only revisions with sessions"), 2);
    assert_int_equal(warnings(s, 0, "no effect"), 2);

    s = setup_new();
    taken(mcp_setup_backend(s, mcp_str("b"), error));
    taken(mcp_setup_revision(s, mcp_str("2026-07-28"), error));
    option(s, MCP_OPTION_RECONNECT_WAIT, "5s");
    option(s, MCP_OPTION_LINK, "on");
    option(s, MCP_OPTION_MAX_SESSION_STREAMS, "5");
    mcp_setup_mark_own(s, 0);
    assert_int_equal(warnings(s, 0, "has only revisions without sessions"), 2);
    assert_int_equal(warnings(s, 1, "MCPReconnectWait, which has no effect: "
                                    "MCPResumeStateless is not \"all\""), 1);
}


TEST(routes_to_names_that_the_catalog_lacks_are_reported)
{
    mcp_setup_t  *s;

    s = setup_new();
    taken(mcp_setup_catalog(s, mcp_str("/c"), mcp_str(
        "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}],"
        "\"resources\":[{\"uri\":\"file:///\xc3\xa9\",\"name\":\"r\"}],"
        "\"resourceTemplates\":[{\"uriTemplate\":\"x:{y}\",\"name\":\"x\"}]}"),
                            error));
    taken(mcp_setup_route(s, mcp_str("t"), mcp_str("b"), error));
    taken(mcp_setup_route(s, mcp_str("file:///\xc3\xa9"), mcp_str("b"), error));
    taken(mcp_setup_route(s, mcp_str("x:1"), mcp_str("b"), error));
    taken(mcp_setup_route(s, mcp_str("~nothing"), mcp_str("b"), error));
    mcp_setup_mark_own(s, 0);
    assert_int_equal(warnings(s, 0, "correct the name"), 0);
    taken(mcp_setup_route(s, mcp_str("T"), mcp_str("b"), error));
    assert_int_equal(warnings(s, 0, "has \"mcp_route\" for \"T\""), 1);
    assert_int_equal(warnings(s, 1, "has MCPRoute for \"T\""), 1);
}


TEST(connections_that_an_endpoint_needs_are_computed_from_its_numeric_quotas)
{
    mcp_setup_t  *s;

    s = setup_new();
    assert_int_equal(mcp_setup_connections(s), 0);
    option(s, MCP_OPTION_QUOTA_STREAMS, "100");
    assert_int_equal(mcp_setup_connections(s), 200);
    option(s, MCP_OPTION_QUOTA_LISTENERS, "off");
    assert_int_equal(mcp_setup_connections(s), 200);
    option(s, MCP_OPTION_QUOTA_KEY, "off");
    assert_int_equal(mcp_setup_connections(s), 0);
}


RUN_TESTS(init, done)
