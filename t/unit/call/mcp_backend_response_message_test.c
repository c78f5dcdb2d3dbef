/* SPDX-License-Identifier: Apache-2.0 */

/* Messages from backends: notifications, failures, oversized answers. */

#include "round_cases.h"


/* Progress notifications of a backend reach the client only if they have the
 * client's own progress token. */
TEST(progress_without_the_clients_progress_token_is_not_sent_to_the_client)
{
    static const struct {
        const char  *meta;
        const char  *token;
        int          wanted;
    } cases[] = {
        { "\"_meta\":{\"progressToken\":\"t\"}", "\"t\"", 1 },
        { "\"_meta\":{\"progressToken\":\"t\"}", "\"u\"", 0 },
        { "\"_meta\":{\"progressToken\":5}", "5", 1 },
        { "\"_meta\":{\"progressToken\":5}", "\"5\"", 0 },
        { "\"_meta\":{}", "\"t\"", 0 },
        { "\"arguments\":{}", "\"t\"", 0 }
    };

    size_t                  i;
    char                    body[256];
    mcp_backend_request_t  *breq;

    for (i = 0; i < ITEMS(cases); i++) {
        snprintf(body, sizeof(body), REQUEST("7", "tools/call",
                 "{\"name\":\"echo\",%s}"), cases[i].meta);
        client_post(&d, 0, &a, session, body);
        breq = backend_stream(&d, 0);
        snprintf(body, sizeof(body), NOTE("notifications/progress",
                 "{\"progressToken\":%s,\"progress\":1}") "\n",
                 cases[i].token);
        backend_send(&d, breq, body);
        assert_int_equal(a.streaming, cases[i].wanted);
        end_with_result(breq);
        assert_int_equal(count(a.text, "notifications/progress"),
                         cases[i].wanted);
        has(a.text, ANSWER);
        client_close(&d, &a);
    }
}


TEST(log_messages_below_the_level_of_the_session_are_not_sent)
{
    static const char *const  levels[] = {
        "debug", "info", "notice", "warning", "error", "critical", "alert",
        "emergency"
    };

    size_t                  i, k;
    char                    body[256];
    mcp_backend_request_t  *breq;

    for (i = 0; i < ITEMS(levels); i++) {
        snprintf(body, sizeof(body), REQUEST("1", "logging/setLevel",
                 "{\"level\":\"%s\"}"), levels[i]);
        ask(session, body, 200, "\"result\":{}");

        breq = call(1);

        for (k = 0; k < ITEMS(levels); k++) {
            snprintf(body, sizeof(body), NOTE("notifications/message",
                     "{\"level\":\"%s\",\"data\":\"n%zu\"}") "\n",
                     levels[k], k);
            backend_send(&d, breq, body);
        }

        end_with_result(breq);

        for (k = 0; k < ITEMS(levels); k++) {
            snprintf(body, sizeof(body), "\"n%zu\"", k);
            assert_int_equal(count(a.text, body), k >= i);
        }

        client_close(&d, &a);
    }
}


/* A list_changed notification reaches all listeners. It is not an event of the
 * call. */
TEST(list_changed_notification_during_a_call_reaches_listeners_only)
{
    mcp_backend_request_t  *breq;

    client_resume(&d, 1, &b, session, NULL);
    breq = call(0);
    backend_send(&d, breq, CHANGED "\n" UPDATED "\n");
    has(b.text, CHANGED);
    has_not(b.text, UPDATED);
    assert_int_equal(a.status, 0);
    end_with_result(breq);
    assert_string_equal(a.text, ANSWER);
}


TEST(backend_ends_its_stream_without_a_result__the_client_gets_an_error)
{
    backend_end(&d, call(0), MCP_FAILURE_NONE);
    has(a.text, "\"id\":7,\"error\":{\"code\":-32603");
    assert_int_equal(a.ended, 1);
    assert_int_equal(stats().counter[MCP_COUNT_CALLS_FAILED], 1);
}


/* A message that exceeds the limit for one message ends the call. A message
 * that exceeds only the limit of the stream is sent as soon as the stream
 * contains no other message. */
TEST(backend_message_may_exceed_mcp_stream_buffer_but_not_mcp_max_message)
{
    mcp_backend_request_t  *breq;

    breq = call_with_progress(0);
    snprintf(line, sizeof(line), BIG(17000), 0);
    backend_send(&d, breq, line);
    has(a.text, "Backend response too large");
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    driver_wait(&d, 6000);
    quiet();

    d.endpoint.stream_buffer = 4 * 1024;
    breq = call(0);
    snprintf(line, sizeof(line), BIG(9000), 0);
    assert_int_equal(backend_send(&d, breq, line), strlen(line));
    assert_int_equal(backend_send(&d, breq, line), strlen(line));
    line[strlen(line) - 1] = '\0';
    assert_int_equal(count(a.text, line), 2);
    gets_result(&a, breq);
}


/* Members that the client's revision does not define are removed from the
 * stream of a durable call, and from a list of a backend. */
TEST(result_members_that_the_clients_revision_does_not_allow_are_removed)
{
    mcp_backend_request_t  *breq;

    breq = call(0);
    backend_send(&d, breq, PROGRESS(1) "\n");
    end_with(breq, "{\"content\":[],\"structuredContent\":null}\n");
    has(a.text, "\"result\":{\"content\":[]}}");
    client_close(&d, &a);

    d.endpoint.catalog = NULL;
    client_post(&d, 0, &a, session, REQUEST("7", "tools/list", "{}"));
    backend_json(&d, "{\"tools\":[{\"name\":\"a\",\"outputSchema\":{}},"
                     "{ \"name\":\"b\"}]}");
    assert_string_equal(a.text, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":"
                                "{\"tools\":[{\"name\":\"a\"},"
                                "{ \"name\":\"b\"}]}}");
}


/* The response contains the reason of a failure only with mcp_debug. */
TEST(reason_of_a_failure_is_in_the_response_only_with_mcp_debug)
{
    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, "{\"a\":");
    has(a.text, "-32603");
    has_not(a.text, "\"data\"");
    client_close(&d, &a);

    d.endpoint.debug = 1;

    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, "{\"a\":");
    has(a.text, "-32603");
    has(a.text, "\"data\":{\"reason\":\"broken JSON at byte ");
    client_close(&d, &a);

    client_post(&d, 0, &a, session, CALL);
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    has(a.text, "\"data\":{\"reason\":");
    client_close(&d, &a);

    client_post(&d, 0, &a, session,
                REQUEST("7", "tools/call", "{\"name\":\"nothing\"}"));
    has_not(a.text, "\"data\"");
    assert_int_equal(stats().counter[MCP_COUNT_CALLS_FAILED], 3);
}


/* The backend's result has a token, but no "_meta". A client of 2026-07-28 that
 * supports tokens gets the token in "_meta" as well, beside the name of the
 * server. */
TEST(result_of_2026_07_28_gets_a_token_and_the_server_name_in_one_meta_object)
{
    round_can = "{\"experimental\":{\"resumeTokens\":{}}}";
    modern_call(0, &a, "");
    backend_json(&d, "{\"content\":[],\"nextResumeToken\":\"p2\"}");

    assert_int_equal(a.status, 200);
    assert_int_equal(count(a.text, "\"nextResumeToken\":"), 2);
    assert_int_equal(count(a.text, "\"_meta\":"), 1);
    assert_int_equal(count(a.text, "\"resultType\":\"complete\""), 1);
    assert_int_equal(count(a.text, "/serverInfo\":"), 1);
    round_can = EVERYTHING;
}


RUN_TESTS(setup, teardown)
