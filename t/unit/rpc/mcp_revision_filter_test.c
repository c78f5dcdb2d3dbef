/* SPDX-License-Identifier: Apache-2.0 */

/* Members of results that clients of some revisions do not accept are removed
 * for these clients only. */


#include "memory_cases.h"

#include "rpc/mcp_result.h"


#define SESSION    MCP_REVISION_2025_11_25
#define STATELESS  MCP_REVISION_2026_07_28

#define TOOL       "\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}"


static const struct {
    mcp_method_e    method;
    mcp_revision_e  revision;
    const char     *body;
    const char     *result;            /* NULL: unchanged */
} cases[] = {

    /* results of tools/call */
    { MCP_METHOD_TOOLS_CALL, SESSION, "{}", NULL },
    { MCP_METHOD_TOOLS_CALL, SESSION,
      "{\"structuredContent\": {\"a\":1} }", NULL },
    { MCP_METHOD_TOOLS_CALL, STATELESS, "{\"structuredContent\":[1]}", NULL },
    { MCP_METHOD_TOOLS_CALL, SESSION, "{\"structuredContent\":[1]}", "{}" },
    { MCP_METHOD_TOOLS_CALL, MCP_REVISION_2025_03_26,
      "{\"structuredContent\":null,\"content\":[ 1 ], \"b\" :2.0}",
      "{\"content\":[ 1 ],\"b\":2.0}" },
    { MCP_METHOD_TOOLS_CALL, MCP_REVISION_2025_06_18,
      "{\"content\":[{}],\"structured\\u0043ontent\":\"x\"}",
      "{\"content\":[{}]}" },
    { MCP_METHOD_TOOLS_CALL, SESSION,
      "{\"a\":{\"structuredContent\":1},\"tools\":[{\"outputSchema\":1}]}",
      NULL },
    { MCP_METHOD_PROMPTS_GET, SESSION, "{\"structuredContent\":1}", NULL },

    /* lists of tools */
    { MCP_METHOD_TOOLS_LIST, SESSION, "{\"tools\":[]}", NULL },
    { MCP_METHOD_TOOLS_LIST, SESSION, "{\"structuredContent\":1}", NULL },
    { MCP_METHOD_TOOLS_LIST, SESSION, "{\"tools\":{\"outputSchema\":1}}",
      NULL },
    { MCP_METHOD_TOOLS_LIST, SESSION,
      "{\"tools\":[{" TOOL ",\"outputSchema\":{\"a\":1,\"type\":\"object\"},"
      "\"execution\":{\"taskSupport\":\"optional\"}}]}", NULL },
    { MCP_METHOD_TOOLS_LIST, STATELESS,
      "{\"tools\":[{" TOOL ",\"outputSchema\":{\"$ref\":\"#/a\"}}]}", NULL },
    { MCP_METHOD_PROMPTS_LIST, SESSION,
      "{\"prompts\":[{\"outputSchema\":1,\"execution\":1}],\"tools\":["
      "{\"outputSchema\":1}]}", NULL },
    { MCP_METHOD_TOOLS_LIST, SESSION,
      "{\"nextCursor\":\"c\",\"tools\":[{" TOOL "},"
      "{" TOOL ",\"outputSchema\":{\"$ref\":\"#/a\"},\"title\": \"x\"},7, "
      "{ " TOOL " },{\"outputSchema\":true}],\"z\":{}}",
      "{\"nextCursor\":\"c\",\"tools\":[{" TOOL "},"
      "{" TOOL ",\"title\":\"x\"},7,"
      "{ " TOOL " },{}],\"z\":{}}" },
    { MCP_METHOD_TOOLS_LIST, SESSION,
      "{\"tools\":[{\"a\":{},\"outputSchema\":{\"type\":[\"object\"]},"
      "\"execution\":{}}]}",
      "{\"tools\":[{\"a\":{},\"execution\":{}}]}" },
    { MCP_METHOD_TOOLS_LIST, SESSION,
      "{\"tools\":[{\"a\":1,\"outputSchema\":"
      "{\"type\":\"array\",\"type\":\"object\"}}]}",
      "{\"tools\":[{\"a\":1}]}" },
    { MCP_METHOD_TOOLS_LIST, STATELESS,
      "{\"tools\":[{" TOOL ",\"execution\":{\"taskSupport\":\"required\"},"
      "\"outputSchema\":{\"type\":\"array\"}}]}",
      "{\"tools\":[{" TOOL ",\"outputSchema\":{\"type\":\"array\"}}]}" },
};


TEST(revision_does_not_allow_a_member_of_a_result__the_member_is_removed)
{
    int        rc;
    size_t     i;
    mcp_buf_t  out;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mcp_buf_init(&out, &tm.mem, 2000);

        rc = mcp_revision_filter_result(mcp_revision_filter(cases[i].revision),
                                        mcp_method(cases[i].method),
                                        test_str(cases[i].body), &out);

        if (cases[i].result) {
            assert_ok(rc);
            assert_str_is(mcp_buf_text(&out), cases[i].result);

        } else {
            assert_int_equal(rc, MCP_DONE);
            assert_int_equal(out.len, 0);
        }

        mcp_buf_free(&out);
    }
}


TEST(memory_runs_out__filtering_a_result_fails)
{
    mcp_buf_t  out;

    tm.fail_at = 1;
    mcp_buf_init(&out, &tm.mem, 2000);

    assert_int_equal(mcp_revision_filter_result(MCP_REVISION_FILTER_OUTPUT,
                                                mcp_method(
                                                    MCP_METHOD_TOOLS_CALL),
                                                mcp_str("{\"structuredContent\""
                                                        ":1}"),
                                                &out),
                     MCP_ERR_MEMORY);

    mcp_buf_free(&out);
}


TEST(session_and_stateless_revisions_have_filters_for_different_members)
{
    mcp_revision_e  revision;

    assert_int_equal(mcp_revision_filter(SESSION), MCP_REVISION_FILTER_OUTPUT);
    assert_int_equal(mcp_revision_filter(STATELESS),
                     MCP_REVISION_FILTER_EXECUTION);

    for (revision = mcp_revision_next(MCP_REVISION_NONE);
         revision != MCP_REVISION_NONE; revision = mcp_revision_next(revision))
    {
        assert_true(mcp_revision_filter(revision) < MCP_REVISION_FILTER_SETS);
    }
}


RUN_TESTS(init, done)
