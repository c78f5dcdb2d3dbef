/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of the publish endpoint: access, bodies, and the receivers of
 * messages. */

#include "core_cases.h"


#define STATIC  "/publish/static-token"
#define NDJSON  "application/x-ndjson"


static char  url[512];


/* Starts a call whose backend answers 202. Returns the path of its publish
 * URL. */
static const char *
detached(unsigned process)
{
    mcp_backend_request_t  *breq;
    const char             *path;

    client_post(&d, process, &a, session, CALL);
    breq = d.breqs[0];
    path = publish_url_of(breq, url, sizeof(url));
    respond_202(breq);
    assert_int_equal(a.streaming, 1);
    assert_int_equal(a.ended, 0);

    return path;
}


static void
finish(const char *path)
{
    publish_gets(1, path, RESULT, 202);
    has(a.text, ANSWER);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    quiet();
}


/* POSTs a body with Content-Type "type", or without the header if "type" is
 * NULL. Returns the status. */
static int
send_as(const char *path, const char *type, const char *body)
{
    memset(&b, 0, sizeof(b));

    if (type) {
        client_header(&b, "Content-Type", type);
    }

    knock(1, &b, "POST", path, body);
    client_close(&d, &b);

    return b.status;
}


/* Published messages that end a call, as they do in a backend's stream. */
TEST(published_result_or_error_ends_the_call)
{
    static const struct {
        const char  *body;
        const char  *part;
    } cases[] = {
        { RESULT, ANSWER },
        { "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":" RESULT "}", ANSWER },
        { "{\"jsonrpc\":\"2.0\",\"id\":99,\"error\":{\"code\":5,"
          "\"message\":\"m\"}}",
          "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":5,"
          "\"message\":\"m\"}}" },
        { "{\"jsonrpc\":\"2.0\",\"id\":99}", "-32603" },
        { "{\n \"content\": [\n]\n}",
          "\"id\":7,\"result\":{  \"content\": [ ] }}\n\n" }
    };

    size_t       i;
    const char  *path;

    for (i = 0; i < ITEMS(cases); i++) {
        path = detached(i % 2);
        publish_gets(i / 2 % 2, path, cases[i].body, 202);
        has(a.text, cases[i].part);
        assert_int_equal(a.ended, 1);
        client_close(&d, &a);
        quiet();
    }
}


/* A backend publishes messages while its backend request is active: the client
 * gets them, and a published result ends the call. */
TEST(messages_published_during_the_backend_request_reach_the_client)
{
    mcp_backend_request_t  *breq;
    const char             *path;

    breq = call(0);
    path = publish_url_of(breq, url, sizeof(url));
    backend_send(&d, breq, PROGRESS(1) "\n");
    publish(1, &b, path, PROGRESS(2));
    has(a.text, PROGRESS(2));
    backend_send(&d, breq, PROGRESS(3) "\n");
    publish(1, &b, path, RESULT);
    has(a.text, ANSWER);
    assert_int_equal(a.ended, 1);
    backend_send(&d, breq, RESULT "\n");
    assert_int_equal(count(a.text, ANSWER), 1);
    client_close(&d, &a);
    backend_end(&d, breq, MCP_FAILURE_NONE);
}


/* A call whose backend has responded with 202 asks a question by publishing
 * it: its backend is invoked again with the answers. */
TEST(published_question_is_answered__the_backend_is_called_again)
{
    char         id[64];
    const char  *path;

    path = detached(0);
    publish_gets(1, path, ASK, 202);

    /* a published result is ignored while the call waits for answers */

    publish(1, &b, path, RESULT);
    has_not(a.text, ANSWER);

    question_id(a.text, "elicitation/create", id);
    reply(1, session, id, "\"result\":{}");
    question_id(a.text, "roots/list", id);
    reply(1, session, id, "\"result\":{}");
    assert_int_equal(d.n_breqs, 1);
    assert_true(d.breqs[0]->variables.value[MCP_VARIABLE_PUBLISH_URL].len > 0);
    gets_json_result(&a);
}


TEST(no_response_is_published__the_call_times_out)
{
    detached(0);
    driver_wait(&d, 31000);
    has(a.text, "Backend timed out");
}


TEST(content_type_and_body_decide_if_published_messages_are_accepted)
{
    static const struct {
        const char  *type;
        const char  *body;
        int          status;
        unsigned     n;            /* number of messages that the client
                                      receives */
    } cases[] = {
        { "application/json", PROGRESS(1), 202, 1 },
        { "Application/JSON; charset=utf-8", PROGRESS(1), 202, 1 },
        { "application/json", " [" PROGRESS(1) " , " PROGRESS(2) "] ", 202,
          2 },
        { "application/json", "[]", 202, 0 },
        { "application/json", "", 400, 0 },
        { "application/json", "{", 400, 0 },
        { "application/json", "[" PROGRESS(1), 400, 0 },
        { "application/json", "[" PROGRESS(1) ",", 400, 0 },
        { "application/json", "7", 400, 0 },
        { "application/json", "[" PROGRESS(1) ",7]", 400, 0 },
        { "application/x-ndjson", PROGRESS(1) "\n" PROGRESS(2) "\n", 202, 2 },
        { "application/ndjson", PROGRESS(1) "\r\n\r\n\n" PROGRESS(2), 202,
          2 },
        { "application/x-ndjson", "", 202, 0 },
        { "application/x-ndjson", PROGRESS(1) "\n{\n" PROGRESS(2), 400, 0 },
        { "application/x-ndjson", "[" PROGRESS(1) "]\n", 400, 0 },
        { "text/event-stream", "data: " PROGRESS(1) "\n\ndata: " PROGRESS(2)
          "\n\n", 202, 2 },
        { "text/event-stream", "id: 5\ndata: " PROGRESS(1), 202, 1 },
        { "text/event-stream", ": hello\n\n", 202, 0 },
        { "text/event-stream", "", 202, 0 },
        { "text/event-stream", "data: {\n\ndata: " PROGRESS(1) "\n\n", 400,
          0 },
        { "text/plain", PROGRESS(1), 415, 0 },
        { "application/json; charset=latin1", PROGRESS(1), 415, 0 },
        { NULL, PROGRESS(1), 415, 0 }
    };

    int          status;
    size_t       i;
    unsigned     before;
    const char  *path;

    path = detached(0);

    for (i = 0; i < ITEMS(cases); i++) {
        before = count(a.text, "notifications/progress");
        status = send_as(path, cases[i].type, cases[i].body);

        if (status != cases[i].status) {
            fail_msg("%s %s: %d", cases[i].type, cases[i].body, status);
        }

        assert_int_equal(count(a.text, "notifications/progress") - before,
                         cases[i].n);
    }

    finish(path);
}


/* A body has several messages, and the inbox has room for the first one only:
 * the call gets none of them. The publisher repeats the body: the call gets each
 * message once. */
TEST(inbox_has_no_room_for_one_message_of_a_body__the_whole_body_is_refused)
{
    const char  *path;
    static char  big[8192], body[9000];

    d.endpoint.stream_buffer = 8 * 1024;
    path = detached(0);

    snprintf(big, sizeof(big),
             NOTE("notifications/progress", "{\"progressToken\":\"t\","
                  "\"progress\":2,\"message\":\"%05000d\"}"), 0);
    snprintf(body, sizeof(body), PROGRESS(1) "\n%s\n" PROGRESS(3), big);

    driver_pause(&d, 0, 1);
    assert_int_equal(send_as(path, NDJSON, big), 202);
    assert_int_equal(send_as(path, NDJSON, body), 503);
    driver_pause(&d, 0, 0);
    has(a.text, big);
    has_not(a.text, PROGRESS(1));

    assert_int_equal(send_as(path, NDJSON, body), 202);
    assert_int_equal(count(a.text, PROGRESS(1)), 1);
    assert_int_equal(count(a.text, big), 2);
    assert_int_equal(count(a.text, PROGRESS(3)), 1);
    assert_true(strstr(a.text, PROGRESS(1)) < strstr(a.text, PROGRESS(3)));
    assert_int_equal(stats().counter[MCP_COUNT_PUBLISHED], 4);
    finish(path);
}


/* An event that is too large is rejected with 413, whether the body contains
 * its end or not. */
TEST(published_event_that_is_too_large_gets_413)
{
    static char  body[40000];

    int          i;
    const char  *path;

    path = detached(0);

    for (i = 0; i < 2; i++) {
        snprintf(body, sizeof(body), "data: " NOTE("notifications/progress",
                 "{\"progressToken\":\"t\",\"progress\":1,"
                 "\"message\":\"%020000d\"}") "%s", 0, i ? "\n\n" : "");
        assert_int_equal(send_as(path, "text/event-stream", body), 413);
    }

    /* an event that exceeds the limit only by its last line, which has no line
     * end */

    snprintf(body, sizeof(body), "data: [\"%010000d\",\n"
             "data: \"%010000d\"]", 0, 0);
    assert_int_equal(send_as(path, "text/event-stream", body), 413);

    has_not(a.text, "notifications/progress");
    finish(path);
}


TEST(publish_request_with_an_invalid_method_or_token_is_rejected)
{
    size_t       i;
    char         bad[512];
    const char  *path;

    static const char *const  methods[] = {
        "GET", "PUT", "DELETE", "OPTIONS", "HEAD"
    };

    path = detached(0);

    for (i = 0; i < ITEMS(methods); i++) {
        client_init(&b, NULL);
        knock(1, &b, methods[i], path, "");
        assert_int_equal(b.status, 405);
        assert_string_equal(client_response_header(&b, "Allow"), "POST");
        client_close(&d, &b);
    }

    /* rejected tokens: none, a wrong one, a truncated one, a session id, and
     * tokens with a changed character */

    publish_gets(1, "/publish/", PROGRESS(1), 403);
    publish_gets(1, "/publish/wrong", PROGRESS(1), 403);
    publish_gets(1, "", PROGRESS(1), 403);
    publish_gets(1, "/publish/static-toke", PROGRESS(1), 403);
    snprintf(bad, sizeof(bad), "/publish/%s", session);
    publish_gets(1, bad, PROGRESS(1), 403);

    for (i = strlen("/publish/"); path[i]; i++) {
        strcpy(bad, path);
        bad[i] = bad[i] == 'A' ? 'B' : 'A';
        publish_gets(1, bad, PROGRESS(1), 403);
    }

    /* the token in Authorization takes precedence over that in the path */

    client_init(&b, NULL);
    snprintf(bad, sizeof(bad), "bearer %s", path + strlen("/publish/"));
    client_header(&b, "Authorization", bad);
    knock(1, &b, "POST", "/publish", PROGRESS(1));
    answered(&b, 202, NULL);
    has(a.text, PROGRESS(1));

    client_init(&b, NULL);
    client_header(&b, "Authorization", "Bearer wrong");
    knock(1, &b, "POST", path, PROGRESS(1));
    answered(&b, 403, NULL);

    client_init(&b, NULL);
    client_header(&b, "Authorization", "Basic abc");
    knock(1, &b, "POST", path, PROGRESS(2));
    answered(&b, 202, NULL);

    /* a request from another machine is accepted if the endpoint is open to
     * other machines (b.cap is 1); a request of a browser never is */

    client_init(&b, NULL);
    b.far = 1;
    knock(1, &b, "POST", path, PROGRESS(1));
    answered(&b, 403, NULL);

    client_init(&b, NULL);
    b.far = 1;
    b.cap = 1;
    knock(1, &b, "POST", path, PROGRESS(3));
    answered(&b, 202, NULL);

    client_init(&b, NULL);
    b.cap = 1;
    client_header(&b, "Origin", "http://localhost");
    knock(1, &b, "POST", path, PROGRESS(1));
    answered(&b, 403, NULL);

    assert_int_equal(count(a.text, PROGRESS(1)), 1);
    assert_int_equal(count(a.text, PROGRESS(2)), 1);
    assert_int_equal(count(a.text, PROGRESS(3)), 1);
    finish(path);
}


/* Published notifications that a session's listener receives. */
TEST(published_list_changes_reach_listeners_but_not_streams_of_calls)
{
    static const struct {
        const char  *body;
        int          status;
        int          arrives;
    } cases[] = {
        { CHANGED, 202, 1 },
        { NOTE("notifications/prompts/list_changed", "{}"), 202, 1 },
        { NOTE("notifications/resources/list_changed", "{}"), 202, 1 },
        { "{\"jsonrpc\":\"2.0\",\n\"method\":"
          "\"notifications/tools/list\\u005fchanged\"}", 202, 1 },
        { UPDATED, 202, 0 },
        { NOTE("notifications/resources/updated", "{}"), 202, 0 },
        { NOTE("notifications/resources/updated", "{\"uri\":1}"), 202, 0 },

        /* with the static token, messages cannot be published to calls */

        { PROGRESS(1), 403, 0 },
        { RESULT, 403, 0 },
        { NOTE("notifications/other", "{}"), 403, 0 },
        { "[" CHANGED "," PROGRESS(1) "]", 403, 1 }
    };

    size_t       i;
    unsigned     before;
    const char  *path;

    client_resume(&d, 0, &a, session, NULL);

    for (i = 0; i < ITEMS(cases); i++) {
        before = count(a.text, "data: {");
        assert_int_equal(send_as(STATIC, "application/json", cases[i].body),
                         cases[i].status);
        assert_int_equal(count(a.text, "data: {") - before,
                         cases[i].arrives);
    }

    /* the counter includes notifications without a receiver, and those in
     * front of a rejected message */

    assert_int_equal(stats().counter[MCP_COUNT_PUBLISHED], 8);
    client_close(&d, &a);

    /* a notification is published with the token of a call: the session's
     * listener gets it, the call's stream does not */

    path = detached(0);
    publish_gets(1, path, CHANGED, 202);
    has_not(a.text, "list_changed");
    finish(path);

    client_resume(&d, 0, &a, session, NULL);
    has(a.text, CHANGED);
}


/* The call is cancelled, its session is deleted, or the call times out:
 * requests to its publish URL get 404. */
TEST(call_has_ended__requests_to_its_publish_url_get_404)
{
    int          i;
    const char  *path;

    for (i = 0; i < 3; i++) {
        client_open(&d, session, NEW, ALL);
        path = detached(0);

        if (i == 0) {
            cancel(1, session, "7");

        } else if (i == 1) {
            end_session(1, session);

        } else {
            driver_wait(&d, 31000);
        }

        assert_int_equal(a.ended, 1);
        client_close(&d, &a);
        driver_wait(&d, 10000);
        publish(1, &b, path, RESULT);
        assert_int_equal(b.status, 404);
        has(b.text, "-32004");
        publish(1, &b, path, CHANGED);
        assert_int_equal(b.status, 404);
        quiet();
    }
}


/* The stream of a call that has ended is kept for its client: messages to its
 * publish URL get 404 from then on. A notification for subscribers is accepted
 * before the call has a stream. */
TEST(call_has_just_ended__its_publish_url_accepts_no_notification)
{
    const char  *path;

    client_open(&d, session, NEW, ALL);
    client_post(&d, 0, &a, session, CALL);
    path = publish_url_of(d.breqs[0], url, sizeof(url));
    publish_gets(1, path, CHANGED, 202);
    publish_gets(1, path, RESULT, 503);

    respond_202(d.breqs[0]);
    client_close(&d, &a);
    publish_gets(1, path, RESULT, 202);
    publish_gets(1, path, CHANGED, 404);
    publish_gets(1, path, RESULT, 404);
    end_session(0, session);
}


/* The endpoint of the call, or the tool, may have another mcp_stream_after than
 * the publish endpoint. */
TEST(call_has_no_stream_for_longer_than_others__its_publish_url_is_still_valid)
{
    const char  *path;

    d.endpoint.stream_after = 20000;
    client_open(&d, session, NEW, ALL);
    client_post(&d, 0, &a, session, CALL);
    path = publish_url_of(d.breqs[0], url, sizeof(url));
    d.endpoint.stream_after = 1000;
    driver_wait(&d, 15000);
    assert_int_equal(a.streaming, 0);
    publish_gets(1, path, CHANGED, 202);
    publish_gets(1, path, RESULT, 503);
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    end_session(0, session);
}


/* Each request of a batch has its own publish URL. */
TEST(each_request_of_a_batch_has_its_own_publish_url)
{
    char                    old[MCP_SESSION_TEXT_MAX], second[512];
    mcp_backend_request_t  *one, *two;

    client_open(&d, old, OLD, ALL);
    client_post(&d, 0, &a, old, "[" CALL "," CALL8 "]");
    one = d.breqs[0];
    two = d.breqs[1];
    publish_url_of(one, url, sizeof(url));
    publish_url_of(two, second, sizeof(second));
    assert_string_not_equal(url, second);
    respond_202(one);
    respond_202(two);

    publish(1, &b, second + 16, RESULT);
    has(a.text, "\"id\":8,\"result\"");
    has_not(a.text, "\"id\":7");
    publish(1, &b, second + 16, RESULT);
    has_not(a.text, "\"id\":7");
    publish(0, &b, url + 16, RESULT);
    has(a.text, ANSWER);
    assert_int_equal(a.ended, 1);
}


TEST(memory_runs_out_while_publishing__202_is_sent_only_if_the_message_arrives)
{
    static const char *const  types[] = {
        "application/json", "application/x-ndjson", "text/event-stream"
    };

    static const char *const  bodies[] = {
        "[" PROGRESS(1) "," UPDATED "]",
        PROGRESS(1) "\n" UPDATED "\n",
        "data: " PROGRESS(1) "\n\ndata: " UPDATED
    };

    size_t         i;
    unsigned       before;
    const char    *path;
    unsigned long  k;

    path = detached(0);

    for (i = 0; i < ITEMS(types); i++) {
        k = 0;

        while (test_next_failure(&d.te.tm, &k)) {
            before = count(a.text, PROGRESS(1));
            memset(&b, 0, sizeof(b));
            client_header(&b, "Content-Type", types[i]);

            /* only the publish endpoint at process 1 runs out of memory,
             * because the process of the call is paused */

            driver_pause(&d, 0, 1);
            d.te.tm.fail_at = k;
            knock(1, &b, "POST", path, bodies[i]);
            d.te.tm.fail_at = 0;
            client_close(&d, &b);
            driver_pause(&d, 0, 0);

            /* the response is 202 only if the call gets the message */

            if (b.next == MCP_NEXT_RESPOND && b.status == 202) {
                assert_int_equal(count(a.text, PROGRESS(1)), before + 1);

            } else if (b.next == MCP_NEXT_RESPOND) {
                assert_int_equal(b.status, 500);
            }
        }

        assert_int_equal(b.status, 202);
    }

    finish(path);
}


RUN_TESTS(setup, teardown)
