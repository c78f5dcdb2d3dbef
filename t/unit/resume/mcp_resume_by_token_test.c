/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of interim responses for slow calls, and of resume tokens that are
 * rejected. */

#include "token_cases.h"


/* --- interim responses --- */

/* Some events that were sent on a lost connection have been dropped: when the
 * client resumes, a log message contains their number, and the remaining
 * events follow. */
TEST(response_to_a_resume_token_contains_the_number_of_dropped_events)
{
    mcp_backend_request_t  *breq;

    begin(NEW);
    d.endpoint.stream_buffer = 8 * 1024;
    breq = slow();
    client_post(&d, 0, &a, session, again(token));
    flood(breq, 50);
    client_close(&d, &a);

    client_post(&d, 1, &a, session, again(token));
    gap_reported(a.text, 50);
    has_not(a.text, "id: ");
    end_with_result(breq);
    has(a.text, "{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":" RESULT "}\n\n");
    assert_int_equal(a.ended, 1);
}


/* A process that stops sends no interim response to a request that has got its
 * response. */
TEST(finished_call_is_resumed_at_a_stopping_worker__the_client_gets_its_result)
{
    begin(NEW);
    end_with_result(slow());
    mcp_worker_stop(d.process[1].worker, 0);
    client_post(&d, 1, &a, session, again(token));
    assert_string_equal(a.text, ":\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":8,"
                        "\"result\":" RESULT "}\n\n");
}


/* The response is a stream already: its last event is the interim response,
 * which is not stored. */
TEST(event_stream_has_begun__the_interim_response_is_its_last_event)
{
    char                    last[64];
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = call_with_progress(0);
    driver_wait(&d, 5100);
    assert_int_equal(a.ended, 1);
    has(a.text, "\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{"
                "\"content\":[{\"type\":\"text\",\"text\":\"" INTERIM);
    token_of(&a);
    leave_with_last_id(&a, last);

    /* GET with the event id of the interim response: 204; GET with an earlier
     * id, because the interim response was lost: the stream */

    client_resume(&d, 1, &a, session, last);
    answered(&a, 204, NULL);
    snprintf(last + 22, sizeof(last) - 22, ".%llu",
             (unsigned long long) (MCP_EVENT_ANSWERED | 2));
    client_resume(&d, 1, &a, session, last);
    answered(&a, 404, NULL);
    strcpy(last + 22, ".1");
    client_resume(&d, 1, &a, session, last);
    answered(&a, 200, NULL);

    backend_send(&d, breq, PROGRESS(2) "\n");
    client_post(&d, 0, &a, session, again(token));
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESUME_METHOD,
                "tokens");
    has_not(a.text, "\"progress\":1}");
    end_of_rest(breq, &a);
}


/* Checks that the last event of a stream is an interim response with the token
 * "key". */
static void
same_again(const client_t *client, const char *key)
{
    char  said[2048];

    assert_int_equal(client->ended, 1);
    snprintf(said, sizeof(said), "data: {\"jsonrpc\":\"2.0\",\"id\":8,"
             "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"%s",
             INTERIM);
    has(client->text, said);
    snprintf(said, sizeof(said), "\"nextResumeToken\":\"%s\",\"_meta\":{"
             "\"nextResumeToken\":\"%s\"}}}\n\n", key, key);
    has(client->text, said);
    assert_int_equal(count(client->text, INTERIM), 1);
    has_not(client->text, "\"error\"");
}


/* The connection that waits for the messages of a slow call is lost, or
 * superseded by another request with the same token. */
TEST(connection_is_lost_or_superseded__a_later_request_gets_the_events)
{
    char                    key[sizeof(token)];
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = slow();

    client_post(&d, 1, &a, session, again(token));
    client_close(&d, &a);

    /* the client may be reading the older connection: the server sends an
     * interim response there after mcp_resume_after, so that two requests do
     * not supersede each other forever */

    strcpy(key, token);
    client_post(&d, 1, &a, session, again(key));
    client_post(&d, 0, &b, session, again(key));
    assert_int_equal(a.ended, 0);
    driver_wait(&d, 4900);
    assert_int_equal(a.ended, 0);
    backend_send(&d, breq, PROGRESS(1) "\n");
    has(b.text, AGAIN(1));
    has_not(a.text, AGAIN(1));
    client_close(&d, &b);
    driver_wait(&d, 200);
    same_again(&a, key);
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_OUTCOME,
                "taken-over");
    client_close(&d, &a);

    /* the client uses the same token again: it gets all messages again */

    client_post(&d, 0, &b, session, again(key));
    has(b.text, AGAIN(1));

    /* the result could not be written: the next request with the token gets
     * it */

    b.slow = 1;
    end_with_result(breq);
    client_close(&d, &b);
    client_post(&d, 1, &b, session, again(token));
    has(b.text, "\"id\":8,\"result\":" RESULT);
    client_close(&d, &b);
    driver_wait(&d, 6000);
    ask(session, again(token), 200, REFUSED);
}


/* A connection is superseded: it gets an error if the stream was freed, and no
 * further message if it already has its response. */
TEST(stream_is_freed_or_finished__superseded_requests_get_no_interim_response)
{
    mcp_backend_request_t  *breq;

    begin(NEW);
    slow();
    client_post(&d, 1, &a, session, again(token));
    client_post(&d, 0, &b, session, again(token));
    mcp_store_free(&d.process[1].store, &b.x->reader.ref);
    driver_wait(&d, 5100);
    assert_int_equal(a.ended, 1);
    has(a.text, "\"id\":8," REFUSED);
    has_not(a.text, INTERIM);
    client_close(&d, &a);
    client_close(&d, &b);

    breq = slow();
    client_post(&d, 1, &a, session, again(token));
    a.slow = 1;
    end_with_result(breq);
    assert_ok(client_pull(&a));
    has(a.text, "\"id\":8,\"result\":" RESULT);
    client_post(&d, 0, &b, session, again(token));
    has(b.text, "\"id\":8,\"result\":" RESULT);
    client_close(&d, &b);
    assert_int_equal(client_pull(&a), MCP_DONE);
    assert_int_equal(count(a.text, "\"id\":8,"), 1);
}


/* Supersedes the connection of client a. */
static void
supersede(void)
{
    client_post(&d, 0, &b, session, again(token));
}


/* A message of more than 512 bytes is read in two parts, and the connection is
 * superseded at any time during this: it ends with an interim response. */
TEST(request_is_superseded_while_it_reads_a_message__it_gets_an_interim_response)
{
    unsigned                n, reached;
    mcp_backend_request_t  *breq;

    begin(NEW);
    d.meanwhile = supersede;

    for (n = 1, reached = 1; reached; n++) {
        assert_in_range(n, 1, 20);
        breq = slow();
        client_post(&d, 1, &a, session, again(token));
        a.slow = 1;
        flood(breq, 1);

        d.meanwhile_in = n;
        (void) client_pull(&a);
        reached = d.meanwhile_in == 0;
        d.meanwhile_in = 0;
        a.slow = 0;

        if (reached) {
            driver_wait(&d, 5100);
            has(a.text, "\"id\":8,\"result\":");
            has(a.text, INTERIM);
            assert_int_equal(a.ended, 1);
            client_close(&d, &b);
        }

        client_close(&d, &a);
        backend_end(&d, breq, MCP_FAILURE_REPLY);
        driver_wait(&d, 10000);
    }

    assert_in_range(n, 3, 20);
}


/* mcp_resume_after is 0: a superseded connection gets an interim response
 * after 10 s. */
TEST(mcp_resume_after_is_0__superseded_requests_end_after_10_seconds)
{
    char                    key[sizeof(token)];
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = slow();
    strcpy(key, token);
    d.endpoint.resume_after = 0;
    client_post(&d, 1, &a, session, again(key));
    client_post(&d, 0, &b, session, again(key));
    driver_wait(&d, 9900);
    assert_int_equal(a.ended, 0);
    driver_wait(&d, 200);
    same_again(&a, key);
    client_close(&d, &a);
    end_of_rest(breq, &b);
}


/* A connection is superseded while its process stops: it gets an interim
 * result at once, and the newer request gets the later messages. */
TEST(superseded_request_at_a_stopping_worker_gets_an_interim_response_at_once)
{
    char                    key[sizeof(token)];
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = slow();
    strcpy(key, token);
    client_post(&d, 1, &a, session, again(key));
    backend_send(&d, breq, PROGRESS(1) "\n");
    has(a.text, AGAIN(1));

    driver_pause(&d, 1, 1);
    client_post(&d, 0, &b, session, again(token));
    mcp_worker_stop(d.process[1].worker, 0);
    driver_pause(&d, 1, 0);
    assert_int_equal(a.ended, 1);
    same_again(&a, key);
    client_close(&d, &a);

    assert_int_equal(b.ended, 0);
    end_of_rest(breq, &b);
}


/* The stream is freed, alone or with its session: the request that waits for
 * its messages gets an error. */
TEST(stream_is_freed__the_request_that_waits_for_it_gets_an_error)
{
    begin(NEW);
    slow();
    client_post(&d, 1, &a, session, again(token));
    mcp_store_free(&d.process[1].store, &a.x->reader.ref);
    driver_pump(&d);
    assert_int_equal(a.ended, 1);
    has(a.text, "\"id\":8," REFUSED);
    client_close(&d, &a);

    slow();
    client_post(&d, 1, &a, session, again(token));
    end_session(0, session);
    driver_pump(&d);
    assert_int_equal(a.ended, 1);
    has(a.text, "\"id\":8," REFUSED);
}


/* A request with a token arrives at a process that stops: the client gets
 * another interim response. */
TEST(request_with_a_token_at_a_stopping_worker_gets_an_interim_response)
{
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = slow();
    mcp_worker_stop(d.process[1].worker, 0);
    client_post(&d, 1, &a, session, again(token));
    driver_wait(&d, 100);
    assert_int_equal(a.ended, 1);
    has(a.text, "\"id\":8,\"result\":{\"content\":[{\"type\":\"text\","
                "\"text\":\"" INTERIM);
    token_of(&a);
    client_close(&d, &a);

    client_post(&d, 0, &a, session, again(token));
    end_of_rest(breq, &a);
}


TEST(call_fails_or_is_cancelled_or_expires__a_resuming_request_gets_an_error)
{
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = slow();
    client_post(&d, 1, &a, session, again(token));
    backend_end(&d, breq, MCP_FAILURE_REPLY);
    has(a.text, "{\"jsonrpc\":\"2.0\",\"id\":8,\"error\":{\"code\":-32603");
    assert_int_equal(a.ended, 1);
    has_not(a.text, NEXT);
    client_close(&d, &a);
    quiet();

    /* the call is cancelled while a request waits for its messages */

    slow();
    client_post(&d, 1, &a, session, again(token));
    cancel(0, session, "7");
    has(a.text, "\"id\":8," REFUSED);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    ask(session, again(token), 200, REFUSED);

    /* no client resumes within mcp_max_wait: the call is aborted */

    slow();
    aborts_after(61000, 2);
    ask(session, again(token), 200, REFUSED);
}


/* The backend asks a question after the interim response: the client that
 * resumes gets the question unchanged. */
TEST(question_after_an_interim_response_reaches_the_client_that_resumes)
{
    char                    id[64];
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = slow();
    end_with(breq, ASK "\n");
    client_post(&d, 1, &a, session, again(token));
    question_id(a.text, "elicitation/create", id);
    reply(1, session, id, "\"result\":{\"action\":\"accept\"}");
    question_id(a.text, "roots/list", id);
    reply(0, session, id, "\"result\":{\"roots\":[]}");
    backend_json(&d, RESULT);
    has(a.text, "\"id\":8,\"result\":" RESULT);
}


/* Only clients that have declared resume tokens, and neither resumable
 * requests nor streams, get interim responses. */
TEST(tokens_are_not_the_sole_method__interim_response_needs_mcp_resume_tokens)
{
    begin(NEW);
    d.endpoint.stream_after = 20000;

    client_open(&d, session, NEW, "{}");
    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 10000);
    assert_int_equal(a.status, 0);
    backend_json(&d, PAGE);
    client_close(&d, &a);

    /* a client that has not declared resume tokens: the token in a backend's
     * result stays in its member, but is encrypted; a client's token that is
     * not encrypted is rejected */

    token_of(&a);
    has_not(a.text, "\"p2\"");
    snprintf(line, sizeof(line), "\"result\":{\"content\":[],\"_meta\":{"
             "\"x\":1,\"nextResumeToken\":\"%s\"}}}", token);
    has(a.text, line);
    ask(session, again("p2"), 200, REFUSED);
    client_post(&d, 0, &a, session, again(token));
    has(d.last_body, "\"resumeToken\":\"p2\"");
    backend_json(&d, "{\"content\":[],\"nextResumeToken\":\"p3\"}");
    token_of(&a);
    snprintf(line, sizeof(line), "\"result\":{\"content\":[],"
             "\"nextResumeToken\":\"%s\"}}", token);
    has(a.text, line);
    client_close(&d, &a);

    client_open(&d, session, NEW, "{\"resumeTokens\":{},\"streams\":{}}");
    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 10000);
    assert_int_equal(a.streaming, 1);
    has_not(a.text, INTERIM);
    backend_json(&d, RESULT);
    client_close(&d, &a);

    client_open(&d, session, NEW, "{\"resumeTokens\":{}}");
    client_post(&d, 0, &a, session, REQUEST("7", "prompts/get",
                                            "{\"name\":\"p\"}"));
    driver_wait(&d, 10000);
    assert_int_equal(a.status, 0);
    backend_json(&d, "{\"messages\":[]}");
    client_close(&d, &a);

    /* mcp_resume_tokens on: all clients get interim responses, with any
     * declared capabilities */

    d.endpoint.resume_tokens = 1;
    client_open(&d, session, NEW, "{}");
    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 5100);
    has(a.text, INTERIM);
    client_close(&d, &a);
    backend_json(&d, RESULT);

    d.endpoint.resume_after = 0;
    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 10000);
    assert_int_equal(a.status, 0);
    backend_json(&d, RESULT);
}


/* The client cancels at another process the request with which it resumed the
 * call: the call ends. */
TEST(request_that_resumed_a_call_is_cancelled__the_call_ends)
{
    begin(NEW);
    slow();
    client_post(&d, 1, &a, session, again(token));
    assert_int_equal(a.ended, 0);

    client_open(&d, other, NEW, "{\"resumeTokens\":{}}");
    cancel(0, other, "8");
    cancel(0, session, "9");
    aborts_after(10, 0);

    cancel(0, session, "8");
    aborts_after(10, 1);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    ask(session, again(token), 200, REFUSED);
    driver_wait(&d, 70000);
    assert_int_equal(stats().values, 0);
}


/* A token is used 50 times: nothing except the call's stream is stored, and
 * only the id of the newest request cancels the call. */
TEST(token_is_used_50_times__only_the_newest_request_id_cancels_the_call)
{
    int   i;
    char  id[16], other_id[16];

    begin(NEW);
    slow();

    for (i = 0; i < 50; i++) {
        snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":\"r%d\","
                 "\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
                 "\"arguments\":{\"a\":1},\"resumeToken\":\"%s\"}}", i,
                 token);
        client_post(&d, i % 2, &a, session, text);
        assert_int_equal(a.streaming, 1);

        if (i < 49) {
            client_close(&d, &a);
        }
    }

    assert_int_equal(stats().values, 0);

    snprintf(other_id, sizeof(other_id), "\"r%d\"", i - 2);
    cancel(0, session, other_id);
    driver_wait(&d, 10);
    assert_int_equal(a.ended, 0);

    snprintf(id, sizeof(id), "\"r%d\"", i - 1);
    cancel(0, session, id);
    aborts_after(10, 1);
    assert_int_equal(a.ended, 1);
}


/* --- refusals --- */

static void
refused(const char *key)
{
    size_t  k;
    char    bad[1024];

    for (k = 0; k <= strlen(key); k++) {
        mangle(key, bad, k);
        ask(session, again(bad), 200, REFUSED);
    }

    snprintf(text, sizeof(text), REQUEST("8", "tools/call",
             "{\"name\":\"other\",\"arguments\":{\"a\":1},\"resumeToken\":"
             "\"%s\"}"), key);
    ask(session, text, 200, REFUSED);
    snprintf(text, sizeof(text), REQUEST("8", "tools/call",
             "{\"name\":\"echo\",\"arguments\":{\"a\":2},\"resumeToken\":"
             "\"%s\"}"), key);
    ask(session, text, 200, REFUSED);
    snprintf(text, sizeof(text), REQUEST("8", "prompts/get",
             "{\"name\":\"p\",\"resumeToken\":\"%s\"}"), key);
    ask(session, text, 200, REFUSED);
    snprintf(text, sizeof(text), REQUEST("8", "tools/call",
             "{\"name\":\"echo\",\"arguments\":{\"a\":1},\"resumeToken\":"
             "\"%s\",\"_meta\":{\"resumeToken\":\"x\"}}"), key);
    ask(session, text, 200, REFUSED);
    ask(session, REQUEST("8", "tools/call", "{\"name\":\"echo\","
        "\"resumeToken\":7}"), 200, REFUSED);

    /* a request has a second token, which the backend might read instead of
     * the valid one: the request is rejected */

    snprintf(text, sizeof(text), REQUEST("8", "tools/call",
             "{\"name\":\"echo\",\"arguments\":{\"a\":1},\"resumeToken\":"
             "\"%s\",\"resumeToken\":\"p3\"}"), key);
    ask(session, text, 400, "-32600");
    snprintf(text, sizeof(text), REQUEST("8", "tools/call",
             "{\"name\":\"echo\",\"arguments\":{\"a\":1},\"_meta\":{"
             "\"resumeToken\":\"%s\",\"r\\u0065sumeToken\":\"p3\"}}"), key);
    ask(session, text, 400, "-32600");
    snprintf(text, sizeof(text), REQUEST("8", "tools/call",
             "{\"name\":\"echo\",\"arguments\":{\"a\":1},\"resumeToken\":"
             "\"%s\",\"_meta\":{\"resumeToken\":\"%s\",\"resumeToken\":"
             "\"p3\"}}"), key, key);
    ask(session, text, 400, "-32600");
    ask(session, again(""), 200, REFUSED);
    ask(session, again("."), 200, REFUSED);
    ask(session, again("p."), 200, REFUSED);
    ask(session, again("p.AAAA"), 200, REFUSED);

    client_open(&d, other, NEW, "{\"resumeTokens\":{}}");
    ask(other, again(key), 200, REFUSED);
}


TEST(tokens_that_are_invalid_or_expired_or_of_another_request_are_rejected)
{
    char                    key[512];
    mcp_backend_request_t  *breq;

    begin(NEW);
    d.endpoint.call_timeout = 600000;
    d.endpoint.max_wait = 600000;
    breq = slow();
    strcpy(key, token);
    refused(key);

    client_post(&d, 0, &a, session, CALL);
    backend_reply(&d, d.breqs[1], PAGE);
    token_of(&a);
    client_close(&d, &a);
    refused(token);

    /* the backend's token is accepted after 59 s; after 61 s
     * (mcp_resume_lifetime is 60 s) it is rejected, and so is the server's
     * token */

    driver_wait(&d, 59000);
    client_post(&d, 0, &a, session, again(token));
    assert_int_equal(d.n_breqs, 2);
    backend_end(&d, d.breqs[1], MCP_FAILURE_REPLY);
    client_close(&d, &a);
    driver_wait(&d, 2000);
    ask(session, again(token), 200, REFUSED);
    ask(session, again(key), 200, REFUSED);
    backend_end(&d, breq, MCP_FAILURE_REPLY);
}


static void
no_memory(void)
{
    mcp_backend_request_t  *breq;

    client_post(&d, 0, &a, session, CALL);

    if (d.n_breqs) {
        breq = backend_stream(&d, 0);
        driver_wait(&d, 5100);

        if (strstr(a.text, NEXT)) {
            token_of(&a);
        }

        client_close(&d, &a);
        client_post(&d, 1, &b, session, again(token));

        if (d.n_breqs == 1) {
            backend_send(&d, breq, PROGRESS(1) "\n");
        }

        if (d.n_breqs == 1) {
            backend_send(&d, breq, PAGE "\n");
        }

        if (strstr(b.text, NEXT)) {
            token_of(&b);
        }

        client_close(&d, &b);
        client_post(&d, 1, &b, session, again(token));
        client_close(&d, &b);
    }

    client_close(&d, &a);

    give_up(130000);
}


TEST(memory_runs_out_during_a_call_with_a_token__no_call_is_left)
{
    begin(NEW);
    d.endpoint.stream_after = 20000;
    strcpy(token, "x");
    fail_each(no_memory);
}


RUN_TESTS(setup, teardown)
