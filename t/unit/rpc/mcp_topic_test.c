/* SPDX-License-Identifier: Apache-2.0 */

/* Topics: one for each URI, one for all lists. */

#include "test_env.h"

#include "rpc/mcp_topic.h"


static void
test_topics(void **state)
{
    unsigned char  list[MCP_DIGEST_LEN], one[MCP_DIGEST_LEN];
    unsigned char  other[MCP_DIGEST_LEN];

    (void) state;

    assert_int_equal(mcp_topic_list_changed(list), MCP_OK);
    assert_int_equal(mcp_topic_uri(mcp_str("test://a"), one), MCP_OK);
    assert_int_equal(mcp_topic_uri(mcp_str("test://b"), other), MCP_OK);

    assert_memory_not_equal(one, other, MCP_DIGEST_LEN);
    assert_memory_not_equal(one, list, MCP_DIGEST_LEN);

    /* no URI is taken for the lists */

    assert_int_equal(mcp_topic_uri(mcp_str("list_changed"), other), MCP_OK);
    assert_memory_not_equal(other, list, MCP_DIGEST_LEN);

    assert_int_equal(mcp_topic_uri(mcp_str("test://a"), other), MCP_OK);
    assert_memory_equal(one, other, MCP_DIGEST_LEN);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = { cmocka_unit_test(test_topics) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
