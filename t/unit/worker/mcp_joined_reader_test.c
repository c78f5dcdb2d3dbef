/* SPDX-License-Identifier: Apache-2.0 */

/* The later messages of a call, as the request that resumes the call with a
 * resume token reads them. */

#include "token_cases.h"


/* Returns a request that resumes the call with the token "key". It has a
 * progress token unless "progress" is NULL. */
static const char *
asking(const char *key, const char *progress)
{
    snprintf(text, sizeof(text), REQUEST("8", "tools/call",
             "{\"name\":\"echo\",\"arguments\":{\"a\":1},\"_meta\":{"
             "\"resumeToken\":\"%s\"%s%s}}"), key,
             progress ? ",\"progressToken\":" : "",
             progress ? progress : "");

    return text;
}


/* Progress notifications get the progress token of the resuming request, in
 * its own spelling. All other bytes and messages are unchanged. */
TEST(progress_of_a_resumed_call_has_the_progress_token_of_the_resuming_request)
{
    size_t                  i;
    char                    id[64], said[256];
    mcp_backend_request_t  *breq;

    static const char  *const tokens[] = { "\"\\u0075\"", "5", "\"\"" };

    begin(NEW);
    breq = slow();
    backend_send(&d, breq, "{\"jsonrpc\":\"2.0\",\"params\" : {\"_meta\":{"
                "\"progressToken\":\"t\"}, \"progressToken\": \"\\u0074\" ,"
                "\"x\":\"t\"},\"method\":\"notifications/progress\"}\n");
    backend_send(&d, breq, NOTE("notifications/message", "{\"data\":\"t\","
                "\"progressToken\":\"t\"}") "\n");

    for (i = 0; i < ITEMS(tokens); i++) {
        client_post(&d, i % 2, &a, session, asking(token, tokens[i]));
        snprintf(said, sizeof(said), "data: {\"jsonrpc\":\"2.0\","
                 "\"params\" : {\"_meta\":{\"progressToken\":\"t\"}, "
                 "\"progressToken\": %s ,\"x\":\"t\"},"
                 "\"method\":\"notifications/progress\"}\n\n", tokens[i]);
        has(a.text, said);
        has(a.text, "data: " NOTE("notifications/message",
            "{\"data\":\"t\",\"progressToken\":\"t\"}") "\n\n");
        assert_int_equal(count(a.text, "data: "), 2);
        client_close(&d, &a);
    }

    /* the progress token in the params of a question is unchanged */

    end_with(breq, "{\"resultType\":\"input_required\","
             "\"inputRequests\":{\"k\":{\"method\":\"elicitation/create\","
             "\"params\":{\"_meta\":{\"progressToken\":\"t\"},"
             "\"message\":\"?\"}}}}\n");
    client_post(&d, 1, &a, session, again(token));
    has(a.text, "\"_meta\":{\"progressToken\":\"t\"},\"message\"");
    question_id(a.text, "elicitation/create", id);
    reply(1, session, id, "\"result\":{\"action\":\"accept\"}");
    backend_json(&d, RESULT);
    has(a.text, "\"id\":8,\"result\":" RESULT);
}


/* A resuming request without a progress token gets no progress notifications,
 * and these do not use up the room of the stream. */
TEST(request_without_a_progress_token_gets_no_progress_notifications)
{
    int                     i;
    mcp_backend_request_t  *breq;

    begin(NEW);
    d.endpoint.max_events = 4;
    breq = slow();
    backend_send(&d, breq, PROGRESS(1) "\n");
    client_post(&d, 1, &a, session, asking(token, NULL));

    /* more progress notifications than the stream has room for: none has to
     * wait */

    for (i = 0; i < 20; i++) {
        assert_int_not_equal(backend_send(&d, breq, PROGRESS(2) "\n"), 0);
    }

    assert_int_equal(a.ended, 0);
    has_not(a.text, "data:");
    assert_in_range(count(a.text, ":\n\n"), 1, 22);

    /* the request gets an interim response after mcp_resume_after; the next
     * request reads the events after those that were left out */

    driver_wait(&d, 5100);
    assert_int_equal(a.ended, 1);
    has(a.text, INTERIM);
    assert_int_equal(count(a.text, "data:"), 1);
    token_of(&a);
    client_close(&d, &a);

    client_post(&d, 0, &a, session, again(token));
    assert_string_equal(a.text, ":\n\n");
    client_close(&d, &a);

    /* a request with the progress token "true", which is invalid, gets an
     * error and reads nothing; then a request without a progress token gets
     * only the response, because the progress notification is left out */

    backend_send(&d, breq, PROGRESS(3) "\n");
    end_with_result(breq);
    ask(session, asking(token, "true"), 200, "-32602");
    client_post(&d, 1, &a, session, asking(token, NULL));
    assert_string_equal(a.text, ":\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":8,"
                        "\"result\":" RESULT "}\n\n");
    assert_int_equal(a.ended, 1);
}


/* A request resumes at a process that stops: it reads once, leaves progress
 * notifications out, and ends with a new resume token. */
TEST(request_that_resumes_at_a_stopping_worker_gets_an_interim_response)
{
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = slow();
    backend_send(&d, breq, PROGRESS(1) "\n");
    mcp_worker_stop(d.process[1].worker, 0);
    client_post(&d, 1, &a, session, asking(token, NULL));
    assert_int_equal(a.ended, 1);
    assert_int_equal(count(a.text, "data:"), 1);
    has(a.text, INTERIM);
    token_of(&a);
    client_close(&d, &a);

    client_post(&d, 0, &a, session, again(token));
    has_not(a.text, "notifications/progress");
    end_of_rest(breq, &a);
}


/* A result whose JSON has the maximum depth: the resuming request gets it
 * unchanged. */
TEST(result_of_maximum_json_depth_reaches_the_client_unchanged)
{
    int                     i;
    size_t                  n;
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = slow();
    n = (size_t) sprintf(line, "{\"content\":[],\"x\":");

    for (i = 0; i < 31; i++) {
        line[n++] = '[';
    }

    for (i = 0; i < 31; i++) {
        line[n++] = ']';
    }

    strcpy(line + n, "}\n");
    backend_send(&d, breq, line);
    backend_end(&d, breq, MCP_FAILURE_NONE);
    line[n + 1] = '\0';
    client_post(&d, 1, &a, session, again(token));
    has(a.text, "data: {\"jsonrpc\":\"2.0\",\"id\":8,\"result\":");
    has(a.text, line);
}


/* In long messages, the progress token is replaced as in short ones. */
TEST(messages_longer_than_the_pull_buffer_reach_the_resuming_request)
{
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = slow();
    snprintf(line, sizeof(line), BIG(7000), 1);
    backend_send(&d, breq, line);
    snprintf(line, sizeof(line), "{\"content\":[],\"x\":\"%09000d\"}\n", 7);
    client_init(&a, session);
    a.cap = MCP_PULL_MIN;
    client_send(&d, 1, &a, "POST", again(token));
    backend_send(&d, breq, line);
    backend_end(&d, breq, MCP_FAILURE_NONE);
    line[strlen(line) - 1] = '\0';
    has(a.text, line);
    has(a.text, "data: {\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{");
    assert_int_equal(count(a.text, "\n\ndata: "), 2);
}


RUN_TESTS(setup, teardown)
