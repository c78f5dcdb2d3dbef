/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of subscriptions: filters, notifications, ends. */

#include "core_cases.h"


#define MODERN  "2026-07-28"

#define META                                                                 \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" MODERN "\","  \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"experimental\":"       \
    "{\"resumableRequests\":{}}}}"

#define LISTEN(id, filter)                                                   \
    REQUEST(id, "subscriptions/listen", "{" META ",\"notifications\":"        \
            filter "}")

#define ID(id)  "\"io.modelcontextprotocol/subscriptionId\":" id

#define ACK(id, notifications)                                               \
    "data: {\"jsonrpc\":\"2.0\",\"method\":"                                  \
    "\"notifications/subscriptions/acknowledged\",\"params\":{\"_meta\":{"    \
    ID(id) "},\"notifications\":{" notifications "}}}\n\n"

#define NOTIFIED(id, method, params)                                         \
    "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/" method "\","     \
    "\"params\":{\"_meta\":{" ID(id) "}" params "}}\n\n"

#define END(id)                                                              \
    "data: {\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"resultType\":"    \
    "\"complete\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":"         \
    "{\"name\":\"driver\",\"version\":\"1\"}," ID(id) "}}}\n\n"

#define TOOLS      "\"toolsListChanged\":true"
#define PROMPTS    "\"promptsListChanged\":true"
#define RESOURCES  "\"resourcesListChanged\":true"
#define URIS(uris) "\"resourceSubscriptions\":[" uris "]"

#define LIST(name)  NOTE("notifications/" name "/list_changed", "{}")

#define DOOR  "/publish/static-token"


static void
listens(unsigned process, client_t *c, const char *body)
{
    client_init(c, NULL);
    client_header(c, "MCP-Protocol-Version", MODERN);
    client_header(c, "Mcp-Method", "subscriptions/listen");
    client_send(&d, process, c, "POST", body);
}


/* Checks that no call, listener or subscription is left. */
static void
all_gone(void)
{
    quiet();
    assert_int_equal(stats().listeners, 0);
    assert_int_equal(stats().subscriptions, 0);
}


TEST(valid_filter_is_acknowledged_and_a_missing_one_is_rejected)
{
    size_t  i;

    /* filters, and the parts that are honoured */

    static const char *const  cases[][2] = {
        { "{\"unknown\":1}", "" },
        { "{" RESOURCES "," TOOLS "," PROMPTS "}",
          TOOLS "," PROMPTS "," RESOURCES },
        { "{" URIS("") "}", URIS("") },
        { "{" URIS("\"a:b\" , \"a\\u003ab\"") "}",
          URIS("\"a:b\" , \"a\\u003ab\"") }
    };

    for (i = 0; i < ITEMS(cases); i++) {
        snprintf(line, sizeof(line), LISTEN("1", "%s"), cases[i][0]);
        listens(0, &a, line);
        assert_int_equal(a.status, 200);
        snprintf(line, sizeof(line), ACK("1", "%s"), cases[i][1]);
        assert_string_equal(a.text, line);
        client_close(&d, &a);
        all_gone();
    }

    listens(0, &a, REQUEST("1", "subscriptions/listen", "{" META "}"));
    has(a.text, "\"id\":1,\"error\":{\"code\":-32602,");
    client_close(&d, &a);

    /* a request for a subscription in a session: the method does not exist
     * there */

    client_post(&d, 0, &a, session, LISTEN("1", "{}"));
    assert_true(a.status != 200 || strstr(a.text, "\"error\"") != NULL);
}


TEST(zone_is_full__a_subscription_is_rejected)
{
    mcp_stream_ref_t  ref;

    hog(&ref);
    listens(0, &a, LISTEN("1", "{" TOOLS "}"));
    answered(&a, 503, "\"id\":1,\"error\":{\"code\":-32603,");
    mcp_store_free(&d.process[1].store, &ref);
    all_gone();
}


/* A process stops because the configuration is reloaded: a subscription first
 * gets the notifications about changes between the two configurations, then
 * its result. */
TEST(configuration_is_reloaded__a_subscription_gets_changes_and_ends)
{
    d.endpoint.catalog_key[0] = 1;
    mcp_worker_begin(d.process[0].worker, 1);
    mcp_worker_offer(d.process[0].worker, &d.endpoint);
    mcp_worker_begun(d.process[0].worker);
    listens(0, &a, LISTEN("\"x\"", "{" PROMPTS "," TOOLS "}"));

    mcp_worker_stop(d.process[0].worker, 0);
    driver_wait(&d, 1000);
    assert_int_equal(a.ended, 0);

    d.endpoint.catalog = NULL;
    mcp_worker_begin(d.process[1].worker, 2);
    mcp_worker_offer(d.process[1].worker, &d.endpoint);
    mcp_worker_begun(d.process[1].worker);
    d.endpoint.catalog = d.catalog;
    driver_wait(&d, 100);

    assert_string_equal(a.text,
                        ACK("\"x\"", TOOLS "," PROMPTS)
                        NOTIFIED("\"x\"", "tools/list_changed", "")
                        NOTIFIED("\"x\"", "prompts/list_changed", "")
                        END("\"x\""));
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);

    /* a subscription that begins at a stopping process ends immediately */

    listens(0, &a, LISTEN("2", "{" TOOLS "}"));
    assert_string_equal(a.text, ACK("2", TOOLS) END("2"));
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    driver_restart(&d, 0);
    all_gone();
}


/* A process stops without a reload: a subscription ends after 5 seconds.
 * mcp_exchange_close() ends it immediately. */
TEST(process_stops_without_a_reload__its_subscriptions_end_after_5_s)
{
    listens(0, &a, LISTEN("1", "{" TOOLS "}"));
    mcp_worker_stop(d.process[0].worker, 0);
    driver_wait(&d, 4900);
    assert_int_equal(a.ended, 0);
    driver_wait(&d, 200);
    assert_string_equal(a.text, ACK("1", TOOLS) END("1"));
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    driver_restart(&d, 0);

    listens(0, &a, LISTEN("1", "{" TOOLS "}"));
    mcp_exchange_close(a.x);
    driver_pump(&d);
    assert_string_equal(a.text, ACK("1", TOOLS) END("1"));
    client_close(&d, &a);
    all_gone();
}


/* A subscription with more than 64 unsent events ends with its result. */
TEST(subscription_with_more_than_64_unsent_events_ends)
{
    int  i;

    listens(0, &a, LISTEN("1", "{" TOOLS "}"));
    driver_pause(&d, 0, 1);

    for (i = 0; i < 64; i++) {
        publish(1, &b, DOOR, LIST("tools"));
    }

    driver_pause(&d, 0, 0);
    driver_pump(&d);
    assert_int_equal(count(a.text, "list_changed"), 64);
    assert_int_equal(a.ended, 0);

    driver_pause(&d, 0, 1);

    for (i = 0; i < 65; i++) {
        publish(1, &b, DOOR, LIST("tools"));
    }

    driver_pause(&d, 0, 0);
    driver_pump(&d);
    assert_int_equal(count(a.text, "list_changed"), 64);
    ends_with(a.text, END("1"));
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    all_gone();
}


/* The connection of a subscription is pulled with buffers of MCP_PULL_MIN
 * bytes: the client gets all notifications, with the published spelling of the
 * URI. */
TEST(output_buffer_has_minimum_size__all_notifications_are_sent)
{
    int  i;

    client_init(&a, NULL);
    client_header(&a, "MCP-Protocol-Version", MODERN);
    client_header(&a, "Mcp-Method", "subscriptions/listen");
    a.cap = MCP_PULL_MIN;
    client_send(&d, 0, &a, "POST", LISTEN("1", "{" URIS("\"test://a\"") "}"));

    for (i = 0; i < 3; i++) {
        publish(1, &b, DOOR, NOTE("notifications/resources/updated",
                                  "{\"uri\":\"test:\\/\\/a\"}"));
    }

    assert_int_equal(count(a.text, NOTIFIED("1", "resources/updated",
                           ",\"uri\":\"test:\\/\\/a\"")), 3);
    client_close(&d, &a);
    all_gone();
}


/* The process of a subscription dies: another process frees the subscription
 * later. */
TEST(process_dies__another_process_frees_its_subscriptions)
{
    listens(0, &a, LISTEN("1", "{" TOOLS "}"));
    assert_int_equal(stats().listeners, 1);
    driver_kill(&d, 0);
    client_close(&d, &a);
    driver_killed(&d, 0, 1);
    assert_int_equal(stats().listeners, 1);
    driver_wait(&d, 20000);
    all_gone();
}


/* Out of memory: the request gets a response, or fails, and no subscription is
 * left. */
TEST(memory_runs_out__no_subscription_is_left)
{
    unsigned long  n;

    for (n = 1; n < 60; n++) {
        client_init(&a, NULL);
        client_header(&a, "MCP-Protocol-Version", MODERN);
        client_header(&a, "Mcp-Method", "subscriptions/listen");
        d.te.tm.fail_at = n;
        client_send(&d, 0, &a, "POST",
                    LISTEN("1", "{" TOOLS "," URIS("\"\\u0061:b\"") "}"));
        d.te.tm.fail_at = 0;

        if (a.status == 200 && a.streaming) {
            has(a.text, "acknowledged");
        }

        client_close(&d, &a);
        all_gone();
    }
}


RUN_TESTS(setup, teardown)
