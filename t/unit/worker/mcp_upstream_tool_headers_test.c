/* SPDX-License-Identifier: Apache-2.0 */

/* The headers of MCP servers' tools that a worker remembers. */

#include "core_cases.h"
#include "worker/mcp_worker_upstream.h"



#define A  "{\"name\":\"a\",\"inputSchema\":{\"properties\":{\"x\":"          \
           "{\"type\":\"string\",\"x-mcp-header\":\"X\"}}}}"
#define PLAIN_A  "{\"name\":\"a\",\"inputSchema\":{}}"
#define B  "{\"name\":\"b\",\"inputSchema\":{\"properties\":{\"y\":"          \
           "{\"type\":\"number\",\"x-mcp-header\":\"Y\"}}}}"


static mcp_worker_t *
worker_of_0(void)
{
    return d.process[0].worker;
}


/* Reads a list, whose text is not valid afterwards. */
static void
list(unsigned target, const char *tools)
{
    char    *text;
    size_t   size;

    size = strlen(tools) + 32;
    text = malloc(size);
    assert_non_null(text);
    snprintf(text, size, "{\"tools\":[%s]}", tools);

    mcp_upstream_tools_read(worker_of_0(), &d.endpoint, target,
                            test_str(text));
    memset(text, '?', size);
    free(text);
}


/* Returns the name of the only header of a tool, "" if it has none. */
static const char *
header_of(unsigned target, const char *name)
{
    size_t                       n;
    const mcp_catalog_header_t  *headers;

    static char  text[64];

    headers = mcp_upstream_tools_find(worker_of_0(), &d.endpoint, target,
                                      test_str(name), &n);

    if (headers == NULL) {
        assert_int_equal(n, 0);
        return "";
    }

    assert_int_equal(n, 1);
    snprintf(text, sizeof(text), "%.*s", (int) headers[0].name.len,
             headers[0].name.data);

    return text;
}


TEST(mcp_server_lists_a_tool_with_headers__they_are_known_for_this_server_only)
{
    list(0, PLAIN_A "," A);
    assert_string_equal(header_of(0, "a"), "X");
    assert_string_equal(header_of(1, "a"), "");
    assert_string_equal(header_of(0, "b"), "");
}


TEST(mcp_server_lists_a_tool_without_its_old_headers__they_are_forgotten)
{
    list(0, A);
    list(1, A);
    list(0, "1,{},{\"name\":1}," PLAIN_A);
    assert_string_equal(header_of(0, "a"), "");
    assert_string_equal(header_of(1, "a"), "X");
}


TEST(x_mcp_header_annotation_violates_a_rule__its_tool_has_no_headers)
{
    list(0, B "," A);
    assert_string_equal(header_of(0, "b"), "");
    assert_string_equal(header_of(0, "a"), "X");
}


TEST(result_has_no_list_of_tools__the_known_headers_stay)
{
    list(0, A);
    mcp_upstream_tools_read(worker_of_0(), &d.endpoint, 0,
                            mcp_str("{\"tools\":{\"x-mcp-header\":1}}"));
    assert_string_equal(header_of(0, "a"), "X");
}


TEST(more_tools_have_headers_than_are_kept__the_one_listed_first_is_forgotten)
{
    char    tool[256];
    size_t  i;

    list(0, A);

    for (i = 0; i < MCP_UPSTREAM_TOOLS; i++) {
        snprintf(tool, sizeof(tool), "{\"name\":\"t%zu\",\"inputSchema\":"
                 "{\"properties\":{\"x\":{\"type\":\"string\","
                 "\"x-mcp-header\":\"H\"}}}}", i);
        list(0, tool);
    }

    assert_string_equal(header_of(0, "a"), "");
    assert_string_equal(header_of(0, "t0"), "H");
    list(0, A);
    assert_string_equal(header_of(0, "t0"), "");
    assert_string_equal(header_of(0, "t1"), "H");
}


TEST(memory_runs_out__the_listed_tool_has_no_headers)
{
    unsigned long  i;

    for (i = 1; ; i++) {
        d.te.tm.fail_at = i;
        d.te.tm.failed = 0;
        list(0, A);
        d.te.tm.fail_at = 0;

        if (*header_of(0, "a")) {
            break;
        }

        assert_true(i < 20);
    }
}


RUN_TESTS(setup, teardown)
