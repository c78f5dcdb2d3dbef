/* SPDX-License-Identifier: Apache-2.0 */

/* The form of the messages of a subscription, and the subscription id that is
 * added to them. */

#include "test_env.h"

#include "rpc/mcp_subscription.h"


#define METHOD  "notifications/tools/list_changed"
#define HEAD    "{\"jsonrpc\":\"2.0\",\"method\":\"" METHOD "\",\"params\":"
#define ID      "\"io.modelcontextprotocol/subscriptionId\":"


static test_env_t  te;


static void
forms(const char *message, const char *params)
{
    char       wanted[512];
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &te.env.mem, SIZE_MAX / 2);
    mcp_subscription_form(&buf, mcp_str(METHOD),
                          (mcp_str_t) { message, strlen(message) });
    mcp_buf_lit(&buf, "");
    assert_int_equal(buf.failed, 0);

    snprintf(wanted, sizeof(wanted), HEAD "%s}", params);
    assert_int_equal(buf.len, strlen(wanted));
    assert_memory_equal(buf.data, wanted, buf.len);
    mcp_buf_free(&buf);
}


TEST(stored_notification_has_meta_first_and_no_subscription_id)
{
    forms("{}", "{\"_meta\":{}}");
    forms("{\"params\":[]}", "{\"_meta\":{}}");
    forms("{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", "{\"_meta\":{}}");
    forms("{\"params\":{}}", "{\"_meta\":{}}");
    forms("{\"params\":{\"_meta\":1}}", "{\"_meta\":{}}");
    forms("{\"params\":{\"uri\" : \"a:{b}\"}}",
          "{\"_meta\":{},\"uri\":\"a:{b}\"}");
    forms("{\"params\":{\"a\":[1, {}],\"_meta\": {\"b\":{\"c\":\"\\n\"},"
          "\"d\":null},\"e\":false},\"more\":1}",
          "{\"_meta\":{\"b\":{\"c\":\"\\n\"},\"d\":null},\"a\":[1, {}],"
          "\"e\":false}");

    /* a message has the id of another subscription: that id is removed */

    forms("{\"params\":{\"_meta\":{\"io.modelcontextprotocol\\/"
          "subscriptionId\":\"x\"}}}", "{\"_meta\":{}}");
    forms("{\"params\":{\"_meta\":{" ID "7,\"a\":1}}}",
          "{\"_meta\":{\"a\":1}}");
}


/* Checks the message with the added id. It is written in two parts, split at
 * each position, and byte by byte. */
static void
splices(const char *text, const char *id, const char *wanted)
{
    size_t                     i, cut, len;
    mcp_buf_t                  buf;
    mcp_str_t                  raw;
    mcp_subscription_splice_t  splice;

    len = strlen(text);
    raw = (mcp_str_t) { id, strlen(id) };

    for (cut = 0; cut <= len + 1; cut++) {
        mcp_buf_init(&buf, &te.env.mem, SIZE_MAX / 2);
        memset(&splice, 0, sizeof(splice));

        if (cut <= len) {
            mcp_subscription_splice(&splice, raw, (mcp_str_t) { text, cut },
                                    &buf);
            mcp_subscription_splice(&splice, raw,
                                    (mcp_str_t) { text + cut, len - cut },
                                    &buf);
        } else {
            for (i = 0; i < len; i++) {
                mcp_subscription_splice(&splice, raw,
                                        (mcp_str_t) { text + i, 1 }, &buf);
            }
        }

        assert_int_equal(buf.failed, 0);
        assert_int_equal(buf.len, strlen(wanted));
        assert_memory_equal(buf.data, wanted, buf.len);
        mcp_buf_free(&buf);
    }
}


TEST(subscription_id_is_inserted_into_each_stored_notification)
{
    splices("", "1", "");
    splices("data: " HEAD "{\"_meta\":{}}}\n\n", "1",
            "data: " HEAD "{\"_meta\":{" ID "1}}}\n\n");
    splices("data: " HEAD "{\"_meta\":{\"a\":{}},\"uri\":\"{{\"}}\n\n"
            "data: " HEAD "{\"_meta\":{}}}\n\n", "\"\\u0041{\"",
            "data: " HEAD "{\"_meta\":{" ID "\"\\u0041{\",\"a\":{}},"
            "\"uri\":\"{{\"}}\n\n"
            "data: " HEAD "{\"_meta\":{" ID "\"\\u0041{\"}}}\n\n");
}


static int
setup(void **state)
{
    test_env_init(&te);
    return 0;
}


#define MAX_TOPICS  32


static struct {
    size_t         n;
    unsigned char  topic[MAX_TOPICS][MCP_DIGEST_LEN];
} seen;


/* Checks that a topic differs from seen topics that were checked before. */
static void
is_new(const unsigned char topic[MCP_DIGEST_LEN])
{
    size_t  i;

    for (i = 0; i < seen.n; i++) {
        assert_memory_not_equal(seen.topic[i], topic, MCP_DIGEST_LEN);
    }

    assert_true(seen.n < MAX_TOPICS);
    memcpy(seen.topic[seen.n++], topic, MCP_DIGEST_LEN);
}


TEST(each_list_and_each_uri_has_a_topic_of_its_own)
{
    int                  list;
    unsigned char        topic[MCP_DIGEST_LEN], same[MCP_DIGEST_LEN];
    const unsigned char  here[MCP_DIGEST_LEN] = { 1 };
    const unsigned char  there[MCP_DIGEST_LEN] = { 2 };
    const unsigned char  unknown[MCP_DIGEST_LEN] = { 0 };

    for (list = 0; list < MCP_TOPIC_COUNT; list++) {
        assert_ok(mcp_topic_list(list, NULL, topic));
        is_new(topic);
        assert_ok(mcp_topic_list(list, here, topic));
        is_new(topic);
        assert_ok(mcp_topic_list(list, there, topic));
        is_new(topic);
        assert_ok(mcp_topic_list(list, unknown, topic));
        is_new(topic);
        assert_ok(mcp_topic_list(list, there, same));
        assert_memory_equal(same, seen.topic[seen.n - 2], MCP_DIGEST_LEN);
    }

    assert_ok(mcp_topic_uri(mcp_str("test://a"), topic));
    is_new(topic);
    assert_ok(mcp_topic_uri(mcp_str("test://b"), topic));
    is_new(topic);
    assert_ok(mcp_topic_session_uri(mcp_str("test://a"), topic));
    is_new(topic);

    assert_ok(mcp_topic_session_uri(mcp_str("test://a"), same));
    assert_memory_equal(topic, same, MCP_DIGEST_LEN);

    /* the URI "list_changed" does not get the topic of a list */

    assert_ok(mcp_topic_uri(mcp_str("list_changed"), topic));
    is_new(topic);
}


TEST(list_changed_method_has_the_topic_of_its_list_and_other_methods_have_none)
{
    int  list;

    for (list = 0; list < MCP_TOPIC_LISTS; list++) {
        assert_int_equal(mcp_topic_of(mcp_topic_method(list)), list);
    }

    assert_int_equal(mcp_topic_of(mcp_str("notifications/tools/list_changed")),
                     MCP_TOPIC_TOOLS);
    assert_int_equal(mcp_topic_of(mcp_str("notifications/resources/updated")),
                     MCP_TOPIC_COUNT);
    assert_int_equal(mcp_topic_of(mcp_null_str), MCP_TOPIC_COUNT);
}


RUN_TESTS(setup, NULL)
