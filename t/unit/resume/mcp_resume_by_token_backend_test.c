/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of the resume tokens of backends. */

#include "token_cases.h"


/* Sends the request again(key), where "key" is a token that was used before:
 * the client gets the same response as before, which contains "part", and no
 * backend is invoked. */
static void
gets_again(unsigned process, const char *key, const char *part)
{
    client_post(&d, process, &b, session, again(key));
    assert_int_equal(b.status, 200);
    assert_int_equal(b.streaming, 1);
    assert_int_equal(b.ended, 1);
    has(b.text, "data: {\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{");
    has(b.text, part);
    assert_int_equal(count(b.text, "data: "), 1);
    has_not(b.text, "id: ");
    assert_int_equal(d.n_breqs, 0);
    client_close(&d, &b);
}


/* Sends the request again(key), to which the backend responds with its next
 * token "next". Replaces "key" by the encrypted token that the client gets. */
static void
turn(unsigned process, char *key, const char *next)
{
    client_post(&d, process, &a, session, again(key));
    snprintf(line, sizeof(line), "{\"content\":[],\"_meta\":{"
             "\"nextResumeToken\":\"%s\"}}", next);
    backend_json(&d, line);
    token_of(&a);
    strcpy(key, token);
    client_close(&d, &a);
}


TEST(backend_tokens_are_encrypted_for_clients_but_not_for_the_backend)
{
    char  key[sizeof(token)];

    begin(NEW);
    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, PAGE);
    has_not(a.text, "\"p2\"");
    token_of(&a);
    snprintf(line, sizeof(line), "{\"content\":[],\"nextResumeToken\":\"%s\","
             "\"_meta\":{\"x\":1,\"nextResumeToken\":\"%s\"}}}", token, token);
    has(a.text, line);
    client_close(&d, &a);

    /* the backend gets its own token back unchanged, in the place where the
     * client has put the sealed one */

    client_post(&d, 1, &a, session, again(token));
    has(d.last_body, "\"resumeToken\":\"p2\"}");
    backend_json(&d, "{\"content\":[],\"nextResumeToken\":\"p\\u00333\"}");
    token_of(&a);
    client_close(&d, &a);

    snprintf(text, sizeof(text), REQUEST("9", "tools/call",
             "{\"name\":\"echo\",\"resumeToken\":\"%s\",\"arguments\":"
             "{\"a\":1},\"_meta\":{\"resumeToken\":\"%s\"}}"), token, token);
    strcpy(key, token);
    client_post(&d, 1, &a, session, text);
    has(d.last_body, "\"resumeToken\":\"p\\u00333\",\"arguments\":{\"a\":1},"
                     "\"_meta\":{\"resumeToken\":\"p\\u00333\"}}");
    backend_json(&d, RESULT);
    has(a.text, "\"id\":9,\"result\":" RESULT);
    has_not(a.text, NEXT);
    client_close(&d, &a);

    /* the client uses a token twice: it gets the same response, until
     * mcp_linger is over */

    gets_again(0, key, RESULT);
    driver_wait(&d, 6000);
    ask(session, text, 200, REFUSED);
}


/* Params are compared by their values: the order of members and the spelling
 * of strings and numbers do not matter. */
TEST(token_is_accepted_only_with_params_of_the_same_values)
{
    size_t  i;

    static const char *const  good[] = {
        "\"arguments\":{\"a\":1},\"name\":\"echo\"",
        "\"name\":\"ec\\u0068o\",\"arguments\":{\"a\":1}",
        "\"name\":\"echo\",\"arguments\":{\"a\":1.0}",
        "\"name\":\"echo\",\"argument\\u0073\":{\"\\u0061\":10e-1}",
        "\"name\":\"echo\",\"arguments\" : { \"a\"\n: 1 }"
    };

    static const char *const  bad[] = {
        "\"name\":\"echo\"",
        "\"name\":\"echo\",\"arguments\":{\"a\":\"1\"}",
        "\"name\":\"echo\",\"arguments\":{\"a\":1.01}",
        "\"name\":\"echo\",\"arguments\":{\"a\":[1]}",
        "\"name\":\"echo\",\"arguments\":{\"a\":1,\"b\":null}",
        "\"name\":\"echo\",\"arguments\":{\"a\":1},\"b\":1"
    };

    begin(NEW);

    for (i = 0; i < ITEMS(good); i++) {
        page();
        snprintf(line, sizeof(line), REQUEST("8", "tools/call",
                 "{\"_meta\":{\"resumeToken\":\"%s\"},%s}"), token, good[i]);
        client_post(&d, 0, &a, session, line);
        has(d.last_body, "\"resumeToken\":\"p2\"}");
        backend_json(&d, RESULT);
        has(a.text, RESULT);
        client_close(&d, &a);
    }

    page();

    for (i = 0; i < ITEMS(bad); i++) {
        snprintf(line, sizeof(line), REQUEST("8", "tools/call",
                 "{\"_meta\":{\"resumeToken\":\"%s\"},%s}"), token, bad[i]);
        ask(session, line, 200, REFUSED);
    }
}


/* A client uses a token twice: it gets the same response at any process, until
 * it has used the token in that response, or until mcp_linger is over. */
TEST(token_is_used_twice__the_client_gets_the_kept_response_again)
{
    char               first[sizeof(token)], second[sizeof(token)];
    char               third[sizeof(token)];
    mcp_stream_ref_t   ref;

    begin(NEW);
    page();
    strcpy(first, token);
    strcpy(second, token);
    turn(0, second, "p3");
    assert_string_not_equal(first, second);
    assert_int_equal(stats().streams, 1);
    gets_again(1, first, second);
    gets_again(0, first, second);

    strcpy(third, second);
    turn(1, third, "p4");
    has(d.last_body, "\"resumeToken\":\"p3\"}");
    ask(session, again(first), 200, REFUSED);
    assert_int_equal(stats().streams, 1);
    gets_again(0, second, "\"nextResumeToken\":\"p.");

    /* each use of the token restarts mcp_linger */

    driver_wait(&d, 4000);
    gets_again(1, second, "\"nextResumeToken\":\"p.");
    driver_wait(&d, 4000);
    gets_again(0, second, "\"nextResumeToken\":\"p.");
    driver_wait(&d, 6000);
    assert_int_equal(stats().streams, 0);
    ask(session, again(second), 200, REFUSED);

    /* the response is a result with "isError": the client gets it again */

    page();
    strcpy(first, token);
    client_post(&d, 0, &a, session, again(first));
    backend_json(&d, "{\"content\":[],\"isError\":true}");
    client_close(&d, &a);
    gets_again(0, first, "\"isError\":true");

    /* there is no room to keep the response: the second use of the token is
     * rejected */

    page();
    strcpy(first, token);
    client_post(&d, 0, &a, session, again(first));
    hog(&ref);
    backend_json(&d, RESULT);
    has(a.text, "\"id\":8,\"result\":" RESULT);
    client_close(&d, &a);
    mcp_store_free(&d.process[1].store, &ref);
    ask(session, again(first), 200, REFUSED);

    /* mcp_max_wait is 0: the response is not kept */

    d.endpoint.max_wait = 0;
    page();
    strcpy(first, token);
    client_post(&d, 0, &a, session, again(first));
    backend_json(&d, RESULT);
    client_close(&d, &a);
    ask(session, again(first), 200, REFUSED);
    d.endpoint.max_wait = 60000;

    /* the session is deleted, and with it the kept response */

    page();
    client_post(&d, 0, &a, session, again(token));
    backend_json(&d, RESULT);
    client_close(&d, &a);
    assert_int_equal(stats().streams, 1);
    end_session(1, session);
    assert_int_equal(stats().streams, 0);
}


/* Two requests have the same token: the older one gets an interim response
 * with this token. */
TEST(two_requests_have_one_token__the_older_one_gets_an_interim_response)
{
    char                    key[sizeof(token)];
    mcp_backend_request_t  *breq;

    begin(NEW);
    d.endpoint.stream_after = 20000;
    page();
    strcpy(key, token);

    client_post(&d, 0, &a, session, again(key));
    breq = backend_stream(&d, 0);
    backend_send(&d, breq, AGAIN(1) "\n");
    assert_int_equal(a.streaming, 1);
    client_post(&d, 1, &b, session, again(key));
    has(b.text, "data: " AGAIN(1));
    backend_send(&d, breq, AGAIN(2) "\n");
    has_not(a.text, AGAIN(2));
    assert_int_equal(a.ended, 0);
    driver_wait(&d, 5100);
    assert_int_equal(a.ended, 1);
    has(a.text, "data: {\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{"
                "\"content\":[{\"type\":\"text\",\"text\":\"" INTERIM);
    has(a.text, key);
    client_close(&d, &a);

    /* the newer request gets an interim response with a new token when it has
     * waited for mcp_resume_after */

    assert_int_equal(b.ended, 1);
    has(b.text, "data: " AGAIN(2));
    has(b.text, INTERIM);
    has_not(b.text, key);
    client_close(&d, &b);

    client_post(&d, 0, &a, session, again(key));
    has(a.text, "data: " AGAIN(1));
    end_of_rest(breq, &a);

    /* a superseded connection that has received the response of the call gets
     * no interim response */

    page();
    client_post(&d, 0, &a, session, again(token));
    breq = backend_stream(&d, 0);
    backend_send(&d, breq, AGAIN(1) "\n");
    a.slow = 1;
    end_with_result(breq);
    assert_ok(client_pull(&a));
    has(a.text, "\"id\":8,\"result\":" RESULT);
    client_post(&d, 1, &b, session, again(token));
    has(b.text, "\"id\":8,\"result\":" RESULT);
    client_close(&d, &b);
    assert_int_equal(client_pull(&a), MCP_DONE);
    has_not(a.text, INTERIM);
}


/* Checks that a plain JSON response is an interim response with the token
 * "key", which the client itself has sent. */
static void
come_again(client_t *client, const char *key)
{
    assert_int_equal(client->status, 200);
    assert_int_equal(client->streaming, 0);
    has(client->text, "{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{\"content\":"
                      "[{\"type\":\"text\",\"text\":\"" INTERIM);
    assert_int_equal(count(client->text, key), 2);
    variable_is(mcp_exchange_variables(client->x), MCP_VARIABLE_OUTCOME,
                "interim");
    client_close(&d, client);
}


/* The first request with a token runs, and has no stream yet. A second request
 * with this token waits, because the first connection may be lost. */
TEST(second_request_with_a_token_waits_for_the_call_of_the_first_one)
{
    char                    key[sizeof(token)];
    mcp_backend_request_t  *breq;

    begin(NEW);
    d.endpoint.stream_after = 20000;
    page();
    strcpy(key, token);

    /* the first client has disconnected: the second request detects that
     * within 60 ms and gets the call */

    client_post(&d, 0, &a, session, again(key));
    client_post(&d, 1, &b, session, again(key));
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(b.status, 0);
    client_close(&d, &a);
    driver_wait(&d, 60);
    assert_int_equal(b.streaming, 1);
    assert_int_equal(d.n_breqs, 1);
    backend_json(&d, RESULT);
    has(b.text, "\"id\":8,\"result\":" RESULT);
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);

    /* the first request gets its result: the second one gets the same
     * result */

    page();
    strcpy(key, token);
    client_post(&d, 0, &a, session, again(key));
    client_post(&d, 1, &b, session, again(key));
    backend_json(&d, RESULT);
    has(a.text, "\"id\":8,\"result\":" RESULT);
    assert_int_equal(a.streaming, 0);
    driver_wait(&d, 60);
    has(b.text, "\"id\":8,\"result\":" RESULT);
    assert_int_equal(b.ended, 1);
    client_close(&d, &a);
    client_close(&d, &b);

    /* the first request fails: the second one gets an interim response */

    page();
    strcpy(key, token);
    client_post(&d, 0, &a, session, again(key));
    client_post(&d, 1, &b, session, again(key));
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    driver_wait(&d, 60);
    client_close(&d, &a);
    come_again(&b, key);

    /* the second request waits until an interim response is due, or until its
     * process stops */

    client_post(&d, 0, &a, session, again(key));
    driver_wait(&d, 2000);
    client_post(&d, 1, &b, session, again(key));
    driver_wait(&d, 2900);
    answered(&b, 0, NULL);
    client_post(&d, 1, &b, session, again(key));
    mcp_worker_stop(d.process[1].worker, 0);
    driver_wait(&d, 60);
    come_again(&b, key);
    assert_int_equal(a.status, 0);
    breq = d.breqs[0];
    driver_wait(&d, 100);
    has(a.text, INTERIM);
    client_close(&d, &a);
    backend_end(&d, breq, MCP_FAILURE_REPLY);

    d.endpoint.resume_after = 0;
    client_post(&d, 0, &a, session, again(key));
    client_post(&d, 0, &b, session, again(key));
    driver_wait(&d, 9900);
    assert_int_equal(b.status, 0);
    driver_wait(&d, 200);
    come_again(&b, key);
    backend_json(&d, RESULT);
}


/* A request with a token waits, because another request with the same token is
 * active. Allocations fail meanwhile: the response has status 200 or 500. */
static void
wait_without_memory(void)
{
    client_post(&d, 0, &b, session, again(token));
    driver_wait(&d, 6000);

    if (b.next != MCP_NEXT_ERROR) {
        assert_true(b.status == 200 || b.status == 500);
    }

    client_close(&d, &b);
}


TEST(memory_runs_out_for_a_request_that_waits_for_a_call__the_call_succeeds)
{
    begin(NEW);
    d.endpoint.stream_after = 1000000;
    d.endpoint.call_timeout = 100000000;
    page();
    d.endpoint.resume_after = 0;
    client_post(&d, 0, &a, session, again(token));
    d.endpoint.resume_after = 5000;
    fail_each(wait_without_memory);
    backend_json(&d, RESULT);
    has(a.text, RESULT);
}


/* In a batch, a token in a result is encrypted, but a request with a token is
 * rejected. */
TEST(batch_returns_a_token__it_is_accepted_alone_but_rejected_in_a_batch)
{
    begin(OLD);
    client_post(&d, 0, &a, session, "[" CALL "," PING "]");
    backend_json(&d, PAGE);
    has_not(a.text, "\"p2\"");
    token_of(&a);
    client_close(&d, &a);

    snprintf(line, sizeof(line), "[%s," PING "]", again(token));
    ask(session, line, 200, "\"id\":8," REFUSED);
    has(b.text, PONG);
    assert_int_equal(d.n_breqs, 0);

    client_post(&d, 0, &a, session, again(token));
    has(d.last_body, "\"resumeToken\":\"p2\"}");
    backend_json(&d, RESULT);
}


/* stream/poll/all does not list the stream of a kept response. */
TEST(method_stream_poll_all_does_not_return_the_stream_of_a_kept_response)
{
    begin(NEW);
    client_open(&d, session, NEW, "{\"streams\":{},\"resumeTokens\":{}}");
    page();
    client_post(&d, 0, &a, session, again(token));
    backend_json(&d, RESULT);
    assert_int_equal(a.streaming, 0);
    client_close(&d, &a);
    assert_int_equal(stats().streams, 1);
    ask(session, REQUEST("9", "stream/poll/all", "{}"), 200,
        "\"result\":{\"statuses\":[]}");
    driver_wait(&d, 6000);
    assert_int_equal(stats().streams, 0);
}


/* Equal results that are sent at the same time contain different tokens. Each
 * token can be used once, independent of the others. */
TEST(equal_results_have_different_tokens_that_can_be_used_separately)
{
    size_t       i, k;
    static char  keys[20][sizeof(token)];

    begin(NEW);

    for (i = 0; i < ITEMS(keys); i++) {
        client_post(&d, i % 2, &a, session, CALL);
        backend_json(&d, PAGE);
        token_of(&a);
        client_close(&d, &a);
        strcpy(keys[i], token);

        for (k = 0; k < i; k++) {
            assert_string_not_equal(keys[i], keys[k]);
        }
    }

    for (i = 0; i < ITEMS(keys); i++) {
        strcpy(token, keys[i]);
        client_post(&d, 0, &a, session, again(token));
        has(d.last_body, "\"resumeToken\":\"p2\"}");
        backend_json(&d, RESULT);
        has(a.text, "\"id\":8,\"result\":" RESULT);
        client_close(&d, &a);
        gets_again(1, token, RESULT);
    }

    /* no random bytes to make a token unique: an error */

    client_post(&d, 0, &a, session, CALL);
    d.process[0].worker->n_random = 0;
    d.te.random_rc = MCP_ERR_INTERNAL;
    backend_json(&d, PAGE);
    d.te.random_rc = MCP_OK;
    has(a.text, "\"id\":7,\"error\":{\"code\":-32603,");
}


/* Sends again() with the token of a call that is over: the client gets all
 * messages of the call, the first of which is "first". */
static void
gets_all(const char *key, const char *first)
{
    client_post(&d, 0, &b, session, again(key));
    assert_int_equal(b.ended, 1);
    assert_int_equal(strncmp(b.text + strcspn(b.text, "{"), first,
                             strlen(first)), 0);
    has(b.text, "\"id\":8,\"result\":" RESULT);
    assert_int_equal(d.n_breqs, 0);
    client_close(&d, &b);
}


/* A token whose use failed can be used again. */
TEST(call_with_a_backend_token_fails__the_token_can_be_used_again)
{
    mcp_backend_request_t  *breq;

    begin(NEW);
    page();

    /* the backend fails: the client gets an error, and can use the token
     * again */

    client_post(&d, 0, &a, session, again(token));
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    has(a.text, "-32603");
    client_close(&d, &a);

    /* the client disconnects before the first message of the call, and after
     * it: the call continues, and the next request with the token gets it */

    client_post(&d, 0, &a, session, again(token));
    client_close(&d, &a);
    client_post(&d, 1, &a, session, again(token));
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(a.streaming, 1);
    backend_json(&d, RESULT);
    has(a.text, "\"id\":8,\"result\":" RESULT);
    client_close(&d, &a);

    page();
    client_post(&d, 0, &a, session, again(token));
    breq = backend_stream(&d, 0);
    backend_send(&d, breq, AGAIN(1) "\n");
    assert_int_equal(a.streaming, 1);
    client_close(&d, &a);
    client_post(&d, 1, &a, session, again(token));
    has(a.text, "data: " AGAIN(1));
    end_of_rest(breq, &a);
    gets_all(token, AGAIN(1));

    /* the backend fails after the stream has begun: the client gets an error,
     * and can use the token again */

    page();
    client_post(&d, 0, &a, session, again(token));
    driver_wait(&d, 1100);
    assert_int_equal(a.streaming, 1);
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    has(a.text, "-32603");
    client_close(&d, &a);

    /* cancelled */

    client_post(&d, 0, &a, session, again(token));
    assert_int_equal(d.n_breqs, 1);
    driver_wait(&d, 1100);
    cancel(0, session, "8");
    client_close(&d, &a);

    client_post(&d, 0, &a, session, again(token));
    backend_json(&d, RESULT);
    has(a.text, RESULT);
    client_close(&d, &a);
    gets_again(0, token, RESULT);
}


/* Sends again() with the token in "token". The backend sends "message", and
 * its event id is copied to "id". */
static mcp_backend_request_t *
says(client_t *client, char *id, const char *message)
{
    mcp_backend_request_t  *breq;

    client_post(&d, 0, client, session, again(token));
    assert_int_equal(d.n_breqs, 1);
    breq = backend_stream(&d, 0);
    backend_send(&d, breq, message);
    client_last_id(client, id);

    return breq;
}


/* A token whose use failed is used again: the second attempt has a new stream,
 * and event ids belong to one attempt only. */
TEST(backend_token_is_used_a_second_time__each_call_has_its_own_event_ids)
{
    char                    first[64], second[64];
    mcp_backend_request_t  *breq;

    begin(NEW);
    page();
    breq = says(&a, first, AGAIN(1) "\n");
    client_close(&d, &a);
    backend_end(&d, breq, MCP_FAILURE_REPLY);

    breq = says(&a, second, AGAIN(2) "\n");
    assert_int_not_equal(strncmp(first, second, MCP_STREAM_TEXT_LEN), 0);

    /* the client resumes the first attempt after its first event: it gets only
     * the error of the first attempt */

    client_resume(&d, 1, &b, session, first);
    backend_send(&d, breq, AGAIN(3) "\n");
    end_with_result(breq);
    assert_int_equal(b.ended, 1);
    has(b.text, "\"id\":8,\"error\":{\"code\":-32603,");
    has_not(b.text, AGAIN(2));
    has_not(b.text, AGAIN(3));
    has_not(b.text, RESULT);
    client_close(&d, &b);

    has(a.text, AGAIN(3));
    has(a.text, "\"id\":8,\"result\":" RESULT);
    client_close(&d, &a);

    client_resume(&d, 1, &b, session, second);
    has(b.text, AGAIN(3));
    has(b.text, "\"id\":8,\"result\":" RESULT);
    client_close(&d, &b);

    /* the first attempt is cancelled: with its event id, the client gets no
     * event of the second attempt */

    page();
    says(&a, first, AGAIN(1) "\n");
    cancel(1, session, "8");
    client_close(&d, &a);
    breq = says(&a, second, AGAIN(2) "\n");
    client_resume(&d, 1, &b, session, first);
    has_not(b.text, AGAIN(2));
    client_close(&d, &b);
    end_of_rest(breq, &a);
    gets_all(token, AGAIN(2));
}


/* The zone has no room for new streams: streams that exist can be resumed, and
 * a quick call with a backend's token succeeds, because it needs no stream. */
TEST(zone_has_no_room_for_streams__a_quick_call_with_a_token_succeeds)
{
    char                    key[sizeof(token)];
    mcp_backend_request_t  *breq;
    mcp_stream_ref_t        ref;

    begin(NEW);
    page();
    strcpy(key, token);
    breq = slow();
    hog(&ref);

    client_post(&d, 1, &a, session, again(key));
    has(d.last_body, "\"resumeToken\":\"p2\"}");
    mcp_backend_request_head(d.breqs[1], 200, mcp_str("application/json"));
    backend_send(&d, d.breqs[1], RESULT);
    backend_end(&d, d.breqs[1], MCP_FAILURE_NONE);
    has(a.text, "\"id\":8,\"result\":" RESULT);
    client_close(&d, &a);

    client_post(&d, 1, &a, session, again(token));
    assert_int_equal(a.streaming, 1);

    mcp_store_free(&d.process[1].store, &ref);
    end_of_rest(breq, &a);
}


/* Checks that the token in "key" is valid: the backend is invoked. The backend
 * fails, so that the token can be used again. */
static void
passes(const char *key)
{
    client_post(&d, 0, &b, session, again(key));
    assert_int_equal(d.n_breqs, 1);
    has(d.last_body, "\"resumeToken\":\"p2\"}");
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    client_close(&d, &b);
}


/* A request for which no call could be created does not use up its token. */
TEST(no_call_can_be_created_for_a_token__the_token_can_still_be_used)
{
    unsigned long  k = 0;

    begin(NEW);
    page();

    while (test_next_failure(&d.te.tm, &k)) {
        d.te.tm.fail_at = k;
        client_post(&d, 0, &a, session, again(token));
        d.te.tm.fail_at = 0;

        if (d.n_breqs) {
            backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
        }

        client_close(&d, &a);
        passes(token);
    }

    /* random bytes fail, as soon as the worker has used up those that it has
     * fetched in advance */

    d.te.random_rc = MCP_ERR_INTERNAL;

    for (k = 0; k < 1000; k++) {
        client_post(&d, 0, &a, session, again(token));

        if (a.next == MCP_NEXT_ERROR) {
            break;
        }

        backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
        client_close(&d, &a);
    }

    d.te.random_rc = MCP_OK;
    assert_int_equal(a.next, MCP_NEXT_ERROR);
    client_close(&d, &a);
    passes(token);
}


/* A call that got no stream, or that expired without a client, leaves its
 * token unused. */
TEST(call_gets_no_stream_or_expires__its_token_can_be_used_again)
{
    char              key[512];
    mcp_stream_ref_t  ref;

    begin(NEW);
    page();
    strcpy(key, token);

    client_post(&d, 0, &a, session, again(key));
    hog(&ref);
    driver_wait(&d, 1100);
    answered(&a, 200, "the server has no room for its events");
    assert_int_equal(stats().counter[MCP_COUNT_REFUSED_FULL], 1);
    mcp_store_free(&d.process[1].store, &ref);
    driver_pump(&d);
    passes(key);

    d.endpoint.max_session_streams = 1;
    client_post(&d, 1, &b, session, CALL);
    driver_wait(&d, 1100);
    assert_int_equal(b.streaming, 1);
    client_post(&d, 0, &a, session, again(key));
    driver_wait(&d, 1100);
    answered(&a, 429, NULL);
    backend_json(&d, RESULT);
    client_close(&d, &b);
    driver_wait(&d, 6000);
    d.endpoint.max_session_streams = 100;
    passes(key);

    d.endpoint.max_wait = 10000;
    d.endpoint.stream_after = 20000;
    client_post(&d, 0, &a, session, again(key));
    driver_wait(&d, 5100);
    has(a.text, INTERIM);
    client_close(&d, &a);

    /* the interim response may be lost: the next request with the same token
     * gets the call */

    client_post(&d, 1, &a, session, again(key));
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(a.streaming, 1);
    client_close(&d, &a);
    driver_wait(&d, 11000);
    assert_int_equal(d.n_breqs, 0);
    passes(key);
}


/* A result with "isError" gets no token. A token that is null is removed. */
TEST(result_is_an_error_or_its_token_is_null__the_client_gets_no_token)
{
    static const char  *const results[] = {
        "{\"content\":[],\"isError\":true,\"_meta\":{"
        "\"nextResumeToken\":\"p2\"}}",
        "{\"content\":[],\"isError\":true,\"nextResumeToken\":7}",
        "{\"nextResumeToken\":null,\"content\":[],\"_meta\":{}}"
    };

    size_t  i;

    begin(NEW);

    for (i = 0; i < ITEMS(results); i++) {
        client_post(&d, 0, &a, session, CALL);
        backend_json(&d, results[i]);
        has(a.text, "\"result\":{\"content\":[]");
        has_not(a.text, "nextResumeToken");
        client_close(&d, &a);
    }
}


/* Returns a result whose token has n characters. */
static const char *
long_page(int n)
{
    snprintf(line, sizeof(line), "{\"content\":[],\"_meta\":{"
             "\"nextResumeToken\":\"%0*d\"}}", n, 1);

    return line;
}


/* A backend's result with an invalid nextResumeToken is replaced by an error,
 * because the client would not detect that pages are missing. */
TEST(backend_sends_an_invalid_token__the_client_gets_an_error)
{
    static const char  *const bad[] = {
        "{\"content\":[],\"nextResumeToken\":7}",
        "{\"content\":[],\"_meta\":{\"nextResumeToken\":{}}}",
        NULL
    };

    char               key[512];
    size_t             i;
    mcp_stream_ref_t   ref;

    begin(NEW);
    page();
    strcpy(key, token);

    for (i = 0; i < ITEMS(bad); i++) {
        d.te.last[0] = '\0';
        client_post(&d, 0, &a, session, again(key));
        backend_json(&d, bad[i] ? bad[i] : long_page(2047));
        has(a.text, "\"error\":{\"code\":-32603,\"message\":"
                    "\"Backend sent an invalid response\"}");
        has(d.te.last, "the \"nextResumeToken\"");
        client_close(&d, &a);
    }

    client_post(&d, 0, &a, session, again(key));
    backend_json(&d, long_page(2046));
    has(a.text, NEXT);
    client_close(&d, &a);

    /* the zone has no room for the error: the error is sent later */

    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 1100);
    assert_int_equal(a.streaming, 1);
    hog(&ref);
    d.te.logged = 0;
    backend_json(&d, bad[0]);
    driver_wait(&d, 1500);
    assert_int_equal(d.te.logged, 2);
    has_not(a.text, "-32603");
    mcp_store_free(&d.process[1].store, &ref);
    driver_wait(&d, 1500);
    has(a.text, "-32603");
    client_close(&d, &a);

    /* a client that has not declared the capability gets the error as well */

    client_open(&d, session, NEW, "{}");
    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, bad[0]);
    has(a.text, "-32603");
}


RUN_TESTS(setup, teardown)
