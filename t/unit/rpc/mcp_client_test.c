/* SPDX-License-Identifier: Apache-2.0 */

/* Declared capabilities of clients, and the digest of a principal. */


#include "memory_cases.h"

#include "rpc/mcp_client.h"


TEST(client_capability_counts_only_if_its_value_is_an_object)
{
    static const struct {
        const char  *json;
        unsigned     bits;
    } cases[] = {
        { "{}", 0 },
        { "[]", 0 },
        { "null", 0 },
        { "\"sampling\"", 0 },
        { "{\"roots\":{}}", MCP_CLIENT_ROOTS },
        { "{\"roots\":{\"listChanged\":true}}", MCP_CLIENT_ROOTS },
        { "{\"roots\":null}", 0 },
        { "{\"roots\":true,\"sampling\":1,\"elicitation\":\"x\"}", 0 },
        { "{\"sampling\":{}}", MCP_CLIENT_SAMPLING },
        { "{\"sampling\":{\"context\":{}}}",
          MCP_CLIENT_SAMPLING|MCP_CLIENT_SAMPLING_CONTEXT },
        { "{\"sampling\":{\"context\":true}}", MCP_CLIENT_SAMPLING },
        { "{\"sampling\":{\"tools\":{}}}",
          MCP_CLIENT_SAMPLING|MCP_CLIENT_SAMPLING_TOOLS },
        { "{\"sampling\":{\"tools\":null}}", MCP_CLIENT_SAMPLING },
        { "{\"tools\":{}}", 0 },
        { "{\"elicitation\":{}}", MCP_CLIENT_ELICITATION },
        { "{\"elicitation\":{\"other\":{}}}", MCP_CLIENT_ELICITATION },
        { "{\"elicitation\":{\"form\":{}}}", MCP_CLIENT_ELICITATION },
        { "{\"elicitation\":{\"url\":{}}}", MCP_CLIENT_ELICITATION_URL },
        { "{\"elicitation\":{\"form\":{},\"url\":{}}}",
          MCP_CLIENT_ELICITATION|MCP_CLIENT_ELICITATION_URL },
        { "{ \"experimental\":{\"roots\":{}}, \"sampling\" : {} ,"
          "\"elicitation\":{\"url\": { } } }",
          MCP_CLIENT_SAMPLING|MCP_CLIENT_ELICITATION_URL },
        { "{\"resumableRequests\":{}}", MCP_CLIENT_REQUESTS },
        { "{\"streams\":{}}", MCP_CLIENT_STREAMS },
        { "{\"resumeTokens\":{}}", MCP_CLIENT_TOKENS },
        { "{\"experimental\":{\"resumableRequests\":{},\"streams\":{},"
          "\"resumeTokens\":{}}}",
          MCP_CLIENT_REQUESTS|MCP_CLIENT_STREAMS|MCP_CLIENT_TOKENS },
        { "{\"streams\":true,\"resumableRequests\":null,\"experimental\":"
          "{\"resumeTokens\":[]}}", 0 },
        { "{\"experimental\":[],\"roots\":{\"streams\":{}}}",
          MCP_CLIENT_ROOTS },
    };

    size_t            i;
    mcp_arena_t       scratch;
    mcp_json_value_t  root;

    mcp_arena_init(&scratch, &tm.mem);

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_ok(mcp_json_scan(&scratch, test_str(cases[i].json), 16, NULL, 0,
                                &root, NULL, NULL));
        assert_int_equal(mcp_client_capabilities(&root), cases[i].bits);
    }

    memset(&root, 0, sizeof(root));
    assert_int_equal(mcp_client_capabilities(&root), 0);
    assert_int_equal(mcp_client_capabilities(NULL), 0);

    mcp_arena_destroy(&scratch);
}


TEST(principals_that_differ_in_case_have_different_digests)
{
    unsigned char  a[MCP_DIGEST_LEN], b[MCP_DIGEST_LEN];

    static const unsigned char  zero[MCP_DIGEST_LEN];

    assert_ok(mcp_principal(mcp_null_str, a));
    assert_memory_equal(a, zero, MCP_DIGEST_LEN);

    assert_ok(mcp_principal(mcp_str("alice"), a));
    assert_ok(mcp_principal(mcp_str("Alice"), b));
    assert_memory_not_equal(a, b, MCP_DIGEST_LEN);
    assert_memory_not_equal(a, zero, MCP_DIGEST_LEN);
}


RUN_TESTS(init, done)
