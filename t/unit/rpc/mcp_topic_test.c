/* SPDX-License-Identifier: Apache-2.0 */

/* Topics: for each list, one for all catalogs and one for each catalog; and
 * one for each URI. */

#include "test_env.h"

#include "rpc/mcp_topic.h"


#define MAX_TOPICS  32


static struct {
    size_t         n;
    unsigned char  topic[MAX_TOPICS][MCP_DIGEST_LEN];
} all;


/* Checks that a topic differs from all topics that were checked before. */
static void
is_new(const unsigned char topic[MCP_DIGEST_LEN])
{
    size_t  i;

    for (i = 0; i < all.n; i++) {
        assert_memory_not_equal(all.topic[i], topic, MCP_DIGEST_LEN);
    }

    assert_true(all.n < MAX_TOPICS);
    memcpy(all.topic[all.n++], topic, MCP_DIGEST_LEN);
}


static void
test_topics(void **state)
{
    int                  list;
    unsigned char        topic[MCP_DIGEST_LEN], same[MCP_DIGEST_LEN];
    const unsigned char  here[MCP_DIGEST_LEN] = { 1 };
    const unsigned char  there[MCP_DIGEST_LEN] = { 2 };
    const unsigned char  unknown[MCP_DIGEST_LEN] = { 0 };

    (void) state;

    for (list = 0; list < MCP_TOPIC_COUNT; list++) {
        assert_int_equal(mcp_topic_list(list, NULL, topic), MCP_OK);
        is_new(topic);
        assert_int_equal(mcp_topic_list(list, here, topic), MCP_OK);
        is_new(topic);
        assert_int_equal(mcp_topic_list(list, there, topic), MCP_OK);
        is_new(topic);
        assert_int_equal(mcp_topic_list(list, unknown, topic), MCP_OK);
        is_new(topic);
        assert_int_equal(mcp_topic_list(list, there, same), MCP_OK);
        assert_memory_equal(same, all.topic[all.n - 2], MCP_DIGEST_LEN);
    }

    assert_int_equal(mcp_topic_uri(mcp_str("test://a"), topic), MCP_OK);
    is_new(topic);
    assert_int_equal(mcp_topic_uri(mcp_str("test://b"), topic), MCP_OK);
    is_new(topic);
    assert_int_equal(mcp_topic_session_uri(mcp_str("test://a"), topic), MCP_OK);
    is_new(topic);

    assert_int_equal(mcp_topic_session_uri(mcp_str("test://a"), same), MCP_OK);
    assert_memory_equal(topic, same, MCP_DIGEST_LEN);

    /* the topic of a URI is never that of a list */

    assert_int_equal(mcp_topic_uri(mcp_str("list_changed"), topic), MCP_OK);
    is_new(topic);
}


static void
test_methods(void **state)
{
    int  list;

    (void) state;

    for (list = 0; list < MCP_TOPIC_LISTS; list++) {
        assert_int_equal(mcp_topic_of(mcp_topic_method(list)), list);
    }

    assert_int_equal(mcp_topic_of(mcp_str("notifications/tools/list_changed")),
                     MCP_TOPIC_TOOLS);
    assert_int_equal(mcp_topic_of(mcp_str("notifications/resources/updated")),
                     MCP_TOPIC_COUNT);
    assert_int_equal(mcp_topic_of(mcp_null_str), MCP_TOPIC_COUNT);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_topics),
        cmocka_unit_test(test_methods)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
