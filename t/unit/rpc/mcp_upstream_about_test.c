/* SPDX-License-Identifier: Apache-2.0 */

/* The description of an MCP server: its response to server/discover or
 * initialize. */


#include "memory_cases.h"
#include "rpc/mcp_upstream_body.h"


#define INFO  "{\"name\":\"a\",\"version\":\"1\"}"


static mcp_upstream_about_t  about;


static int
set(const char *result, uint64_t now)
{
    return mcp_upstream_about_set(&about, &tm.mem, test_str(result), now);
}


/* The members are found in both forms, and a later result replaces all of an
 * earlier one. */
TEST(mcp_server_is_described_by_server_discover_or_initialize)
{
    memset(&about, 0, sizeof(about));

    assert_ok(set("{\"supportedVersions\":[\"2026-07-28\"],"
                  "\"capabilities\":{\"tools\":{},\"logging\":{}},"
                  "\"instructions\":\"i\\n\",\"_meta\":{"
                  "\"io.modelcontextprotocol/serverInfo\":" INFO "}}",
                  7));
    assert_int_equal(about.at, 7);
    assert_str_is(about.server_info, INFO);
    assert_str_is(about.instructions, "\"i\\n\"");
    assert_int_equal(about.version.len, 0);
    assert_int_equal(about.tools, 1);
    assert_int_equal(about.prompts, 0);
    assert_true(about.members.len > 0);

    assert_ok(set("{\"protocolVersion\":\"2025-06-18\","
                  "\"capabilities\":{\"prompts\":{},\"resources\":{},"
                  "\"completions\":{}},\"serverInfo\":" INFO "}", 0));
    assert_int_equal(about.at, 1);
    assert_str_is(about.version, "2025-06-18");
    assert_str_is(about.server_info, INFO);
    assert_int_equal(about.instructions.len, 0);
    assert_int_equal(about.tools, 0);
    assert_int_equal(about.prompts, 1);
    assert_int_equal(about.resources, 1);
    assert_int_equal(about.completions, 1);

    mcp_upstream_about_drop(&about);
    mcp_upstream_about_drop(&about);
}


/* Members of another type count as absent; without capabilities the result is
 * rejected, and the earlier one stays. */
TEST(members_of_a_wrong_type_in_a_description_count_as_absent)
{
    memset(&about, 0, sizeof(about));

    assert_ok(set("{\"capabilities\":{\"tools\":true},"
                  "\"instructions\":1,\"serverInfo\":\"a\","
                  "\"protocolVersion\":\"1\",\"_meta\":[]}", 7));
    assert_int_equal(about.tools, 0);
    assert_int_equal(about.instructions.len, 0);
    assert_int_equal(about.server_info.len, 0);
    assert_int_equal(about.members.len, 0);
    assert_int_equal(about.version.len, 0);

    assert_int_equal(set("{\"capabilities\":[]}", 8), MCP_ERR_SYNTAX);
    assert_int_equal(set("{}", 8), MCP_ERR_SYNTAX);
    assert_int_equal(about.at, 7);

    mcp_upstream_about_drop(&about);
}


RUN_TESTS(init, done)
