/* SPDX-License-Identifier: Apache-2.0 */

/* Resume tokens of backends. */

#include "token_cases.h"


/* It gets the answer that it got before, which has this in it, and no backend
 * is asked. */
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
    assert_int_equal(d.n_jobs, 0);
    client_close(&d, &b);
}


/* A page's token becomes another page's. */
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


static void
test_pages(void **state)
{
    char  key[sizeof(token)];

    (void) state;

    begin(NEW);
    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, PAGE);
    has_not(a.text, "\"p2\"");
    token_of(&a);
    snprintf(line, sizeof(line), "{\"content\":[],\"nextResumeToken\":\"%s\","
             "\"_meta\":{\"x\":1,\"nextResumeToken\":\"%s\"}}}", token, token);
    has(a.text, line);
    client_close(&d, &a);

    /* it comes back as it was, wherever the client put it */

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

    /* once, but for the answer, which may have been lost */

    gets_again(0, key, RESULT);
    driver_wait(&d, 6000);
    ask(session, text, 200, REFUSED);
    quiet();
}


/* Params are the same in any order of members, and any spelling of strings and
 * numbers. */
static void
test_pages_params(void **state)
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

    (void) state;

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

    quiet();
}


/* The answer to a page's token is given again to that, at any process, until
 * the token in it is used, or it lingers no longer. */
static void
test_pages_lost(void **state)
{
    char               first[sizeof(token)], second[sizeof(token)];
    char               third[sizeof(token)];
    mcp_stream_ref_t   ref;

    (void) state;

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

    /* each time begins anew, but it ends */

    driver_wait(&d, 4000);
    gets_again(1, second, "\"nextResumeToken\":\"p.");
    driver_wait(&d, 4000);
    gets_again(0, second, "\"nextResumeToken\":\"p.");
    driver_wait(&d, 6000);
    assert_int_equal(stats().streams, 0);
    ask(session, again(second), 200, REFUSED);

    /* a tool's error is an answer; an error is none */

    page();
    strcpy(first, token);
    client_post(&d, 0, &a, session, again(first));
    backend_json(&d, "{\"content\":[],\"isError\":true}");
    client_close(&d, &a);
    gets_again(0, first, "\"isError\":true");

    /* no room for it */

    page();
    strcpy(first, token);
    client_post(&d, 0, &a, session, again(first));
    hog(&ref);
    backend_json(&d, RESULT);
    has(a.text, "\"id\":8,\"result\":" RESULT);
    client_close(&d, &a);
    mcp_store_free(&d.process[1].store, &ref);
    ask(session, again(first), 200, REFUSED);

    /* nor is it kept of what cannot be resumed */

    d.endpoint.max_wait = 0;
    page();
    strcpy(first, token);
    client_post(&d, 0, &a, session, again(first));
    backend_json(&d, RESULT);
    client_close(&d, &a);
    ask(session, again(first), 200, REFUSED);
    d.endpoint.max_wait = 60000;

    /* it goes with its session */

    page();
    client_post(&d, 0, &a, session, again(token));
    backend_json(&d, RESULT);
    client_close(&d, &a);
    assert_int_equal(stats().streams, 1);
    end_session(1, session);
    assert_int_equal(stats().streams, 0);
    quiet();
}


/* Of two that come with one token the older comes back with it. */
static void
test_pages_superseded(void **state)
{
    char                    key[sizeof(token)];
    mcp_backend_request_t  *breq;

    (void) state;

    begin(NEW);
    d.endpoint.stream_after = 20000;
    page();
    strcpy(key, token);

    client_post(&d, 0, &a, session, again(key));
    breq = d.jobs[0];
    mcp_backend_request_head(breq, 200, mcp_str("application/x-ndjson"));
    backend_say(&d, breq, AGAIN(1) "\n");
    assert_int_equal(a.streaming, 1);
    client_post(&d, 1, &b, session, again(key));
    has(b.text, "data: " AGAIN(1));
    backend_say(&d, breq, AGAIN(2) "\n");
    has_not(a.text, AGAIN(2));
    assert_int_equal(a.ended, 0);
    driver_wait(&d, 5100);
    assert_int_equal(a.ended, 1);
    has(a.text, "data: {\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{"
                "\"content\":[{\"type\":\"text\",\"text\":\"" INTERIM);
    has(a.text, key);
    client_close(&d, &a);

    /* the other has waited as long */

    assert_int_equal(b.ended, 1);
    has(b.text, "data: " AGAIN(2));
    has(b.text, INTERIM);
    has_not(b.text, key);
    client_close(&d, &b);

    client_post(&d, 0, &a, session, again(key));
    has(a.text, "data: " AGAIN(1));
    end_of_rest(breq, &a);

    /* who has the response gets no other */

    page();
    client_post(&d, 0, &a, session, again(token));
    breq = d.jobs[0];
    mcp_backend_request_head(breq, 200, mcp_str("application/x-ndjson"));
    backend_say(&d, breq, AGAIN(1) "\n");
    a.slow = 1;
    end_with_result(breq);
    assert_int_equal(client_pull(&a), MCP_OK);
    has(a.text, "\"id\":8,\"result\":" RESULT);
    client_post(&d, 1, &b, session, again(token));
    has(b.text, "\"id\":8,\"result\":" RESULT);
    client_close(&d, &b);
    assert_int_equal(client_pull(&a), MCP_DONE);
    has_not(a.text, INTERIM);
    client_close(&d, &a);
    quiet();
}


/* What is answered to who waited for nothing, as JSON: to come again. */
static void
come_again(client_t *client, const char *key)
{
    assert_int_equal(client->status, 200);
    assert_int_equal(client->streaming, 0);
    has(client->text, "{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{\"content\":"
                      "[{\"type\":\"text\",\"text\":\"" INTERIM);
    assert_int_equal(count(client->text, key), 2);
    fact_is(mcp_exchange_variables(client->x), MCP_VARIABLE_OUTCOME, "interim");
    client_close(&d, client);
}


/* The other one runs, and has no stream yet: it may be that of a connection
 * that was lost. */
static void
test_pages_running(void **state)
{
    char                    key[sizeof(token)];
    mcp_backend_request_t  *breq;

    (void) state;

    begin(NEW);
    d.endpoint.stream_after = 20000;
    page();
    strcpy(key, token);

    /* its client has gone, which shows a moment later */

    client_post(&d, 0, &a, session, again(key));
    client_post(&d, 1, &b, session, again(key));
    assert_int_equal(d.n_jobs, 1);
    assert_int_equal(b.status, 0);
    client_close(&d, &a);
    driver_wait(&d, 60);
    assert_int_equal(b.streaming, 1);
    assert_int_equal(d.n_jobs, 1);
    backend_json(&d, RESULT);
    has(b.text, "\"id\":8,\"result\":" RESULT);
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);

    /* it is answered */

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

    /* it comes to nothing */

    page();
    strcpy(key, token);
    client_post(&d, 0, &a, session, again(key));
    client_post(&d, 1, &b, session, again(key));
    backend_end(&d, d.jobs[0], MCP_FAULT_BACKEND_FAILED);
    driver_wait(&d, 60);
    client_close(&d, &a);
    come_again(&b, key);

    /* for as long as an interim result takes, or its process winds up */

    client_post(&d, 0, &a, session, again(key));
    driver_wait(&d, 2000);
    client_post(&d, 1, &b, session, again(key));
    driver_wait(&d, 2900);
    assert_int_equal(b.status, 0);
    client_close(&d, &b);
    client_post(&d, 1, &b, session, again(key));
    mcp_worker_stop(d.process[1].worker, 0);
    driver_wait(&d, 60);
    come_again(&b, key);
    assert_int_equal(a.status, 0);
    breq = d.jobs[0];
    driver_wait(&d, 100);
    has(a.text, INTERIM);
    client_close(&d, &a);
    backend_end(&d, breq, MCP_FAULT_BACKEND_FAILED);

    d.endpoint.resume_after = 0;
    client_post(&d, 0, &a, session, again(key));
    client_post(&d, 0, &b, session, again(key));
    driver_wait(&d, 9900);
    assert_int_equal(b.status, 0);
    driver_wait(&d, 200);
    come_again(&b, key);
    backend_json(&d, RESULT);
    client_close(&d, &a);
    quiet();
}


/* Whatever fails while it waits. */
static void
wait_without_memory(void)
{
    client_post(&d, 0, &b, session, again(token));
    driver_wait(&d, 6000);

    if (b.rc != MCP_ERR_MEMORY) {
        assert_true(b.status == 200 || b.status == 500);
    }

    client_close(&d, &b);
}


static void
test_pages_running_without_memory(void **state)
{
    (void) state;

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
    client_close(&d, &a);
    quiet();
}


/* In a batch a result's token is sealed, and none is taken. */
static void
test_pages_batch(void **state)
{
    (void) state;

    begin(OLD);
    client_post(&d, 0, &a, session, "[" CALL "," PING "]");
    backend_json(&d, PAGE);
    has_not(a.text, "\"p2\"");
    token_of(&a);
    client_close(&d, &a);

    snprintf(line, sizeof(line), "[%s," PING "]", again(token));
    ask(session, line, 200, "\"id\":8," REFUSED);
    has(b.text, PONG);
    assert_int_equal(d.n_jobs, 0);

    client_post(&d, 0, &a, session, again(token));
    has(d.last_body, "\"resumeToken\":\"p2\"}");
    backend_json(&d, RESULT);
    client_close(&d, &a);
    quiet();
}


/* What is kept is none of the streams that a client knows of. */
static void
test_pages_and_streams(void **state)
{
    (void) state;

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
    quiet();
}


/* Results of one moment that are the same have a token each, which is good
 * once, whatever becomes of the others. */
static void
test_pages_alike(void **state)
{
    size_t       i, k;
    static char  keys[20][sizeof(token)];

    (void) state;

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

    /* nothing that could tell them apart: none at all */

    client_post(&d, 0, &a, session, CALL);
    d.process[0].worker->n_random = 0;
    d.te.random_rc = MCP_ERR_INTERNAL;
    backend_json(&d, PAGE);
    d.te.random_rc = MCP_OK;
    has(a.text, "\"id\":7,\"error\":{\"code\":-32603,");
    client_close(&d, &a);
    quiet();
}


/* All of a call that has ended, which begins with this message. */
static void
gets_all(const char *key, const char *first)
{
    client_post(&d, 0, &b, session, again(key));
    assert_int_equal(b.ended, 1);
    assert_int_equal(strncmp(b.text + strcspn(b.text, "{"), first,
                             strlen(first)), 0);
    has(b.text, "\"id\":8,\"result\":" RESULT);
    assert_int_equal(d.n_jobs, 0);
    client_close(&d, &b);
}


/* What went wrong may be tried again. */
static void
test_pages_again(void **state)
{
    mcp_backend_request_t  *breq;

    (void) state;

    begin(NEW);
    page();

    /* the backend failed */

    client_post(&d, 0, &a, session, again(token));
    backend_end(&d, d.jobs[0], MCP_FAULT_BACKEND_FAILED);
    has(a.text, "-32603");
    client_close(&d, &a);

    /* the client went, before there was anything and in the middle: the call
     * goes on, and is joined */

    client_post(&d, 0, &a, session, again(token));
    client_close(&d, &a);
    client_post(&d, 1, &a, session, again(token));
    assert_int_equal(d.n_jobs, 1);
    assert_int_equal(a.streaming, 1);
    backend_json(&d, RESULT);
    has(a.text, "\"id\":8,\"result\":" RESULT);
    client_close(&d, &a);

    page();
    client_post(&d, 0, &a, session, again(token));
    breq = d.jobs[0];
    mcp_backend_request_head(breq, 200, mcp_str("application/x-ndjson"));
    backend_say(&d, breq, AGAIN(1) "\n");
    assert_int_equal(a.streaming, 1);
    client_close(&d, &a);
    client_post(&d, 1, &a, session, again(token));
    has(a.text, "data: " AGAIN(1));
    end_of_rest(breq, &a);
    gets_all(token, AGAIN(1));

    /* failed when it was a stream */

    page();
    client_post(&d, 0, &a, session, again(token));
    driver_wait(&d, 1100);
    assert_int_equal(a.streaming, 1);
    backend_end(&d, d.jobs[0], MCP_FAULT_BACKEND_FAILED);
    has(a.text, "-32603");
    client_close(&d, &a);

    /* cancelled */

    client_post(&d, 0, &a, session, again(token));
    assert_int_equal(d.n_jobs, 1);
    driver_wait(&d, 1100);
    cancel(0, session, "8");
    client_close(&d, &a);

    client_post(&d, 0, &a, session, again(token));
    backend_json(&d, RESULT);
    has(a.text, RESULT);
    client_close(&d, &a);
    gets_again(0, token, RESULT);
    quiet();
}


/* The call of a page's token, with its first message: id gets that event's. */
static mcp_backend_request_t *
says(client_t *client, char *id, const char *message)
{
    mcp_backend_request_t  *breq;

    client_post(&d, 0, client, session, again(token));
    assert_int_equal(d.n_jobs, 1);
    breq = d.jobs[0];
    mcp_backend_request_head(breq, 200, mcp_str("application/x-ndjson"));
    backend_say(&d, breq, message);
    client_last_id(client, id);

    return breq;
}


/* A token that is used again after its call came to nothing is of another
 * stream: an event id is of one event, and of that stream alone. */
static void
test_pages_again_ids(void **state)
{
    char                    first[64], second[64];
    mcp_backend_request_t  *breq;

    (void) state;

    begin(NEW);
    page();
    breq = says(&a, first, AGAIN(1) "\n");
    client_close(&d, &a);
    backend_end(&d, breq, MCP_FAULT_BACKEND_FAILED);

    breq = says(&a, second, AGAIN(2) "\n");
    assert_int_not_equal(strncmp(first, second, MCP_STREAM_TEXT_LEN), 0);

    /* what there is after the first is the end of that attempt */

    client_resume(&d, 1, &b, session, first);
    backend_say(&d, breq, AGAIN(3) "\n");
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

    /* cancelled: nothing is left of it */

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
    quiet();
}


/* Without room for new streams those that are there are gone on with, and a
 * quick call with a backend's token needs none. */
static void
test_full(void **state)
{
    char                    key[sizeof(token)];
    mcp_backend_request_t  *breq;
    mcp_stream_ref_t        ref;

    (void) state;

    begin(NEW);
    page();
    strcpy(key, token);
    breq = slow();
    hog(&ref);

    client_post(&d, 1, &a, session, again(key));
    has(d.last_body, "\"resumeToken\":\"p2\"}");
    mcp_backend_request_head(d.jobs[1], 200, mcp_str("application/json"));
    backend_say(&d, d.jobs[1], RESULT);
    backend_end(&d, d.jobs[1], MCP_FAULT_NONE);
    has(a.text, "\"id\":8,\"result\":" RESULT);
    client_close(&d, &a);

    client_post(&d, 1, &a, session, again(token));
    assert_int_equal(a.streaming, 1);

    mcp_store_free(&d.process[1].store, &ref);
    end_of_rest(breq, &a);
    client_close(&d, &a);
    quiet();
}


/* It comes to the backend; then that fails, so that it may come again. */
static void
passes(const char *key)
{
    client_post(&d, 0, &b, session, again(key));
    assert_int_equal(d.n_jobs, 1);
    has(d.last_body, "\"resumeToken\":\"p2\"}");
    backend_end(&d, d.jobs[0], MCP_FAULT_BACKEND_FAILED);
    client_close(&d, &b);
}


/* What did not come to be a call has spent nothing. */
static void
test_pages_unmade(void **state)
{
    unsigned long  k;

    (void) state;

    begin(NEW);
    page();

    for (k = 1; k < 200; k++) {
        d.te.tm.failed = 0;
        d.te.tm.fail_at = k;
        client_post(&d, 0, &a, session, again(token));
        d.te.tm.fail_at = 0;

        if (d.n_jobs) {
            backend_end(&d, d.jobs[0], MCP_FAULT_BACKEND_FAILED);
        }

        client_close(&d, &a);
        passes(token);

        if (d.te.tm.failed == 0) {
            break;
        }
    }

    assert_in_range(k, 2, 199);

    /* no randomness, as soon as what there is of it is used up */

    d.te.random_rc = MCP_ERR_INTERNAL;

    for (k = 0; k < 1000; k++) {
        client_post(&d, 0, &a, session, again(token));

        if (a.rc == MCP_ERR_MEMORY) {
            break;
        }

        backend_end(&d, d.jobs[0], MCP_FAULT_BACKEND_FAILED);
        client_close(&d, &a);
    }

    d.te.random_rc = MCP_OK;
    assert_int_equal(a.rc, MCP_ERR_MEMORY);
    client_close(&d, &a);
    passes(token);
    quiet();
}


/* Nor what could not be kept, or that nobody came back for. */
static void
test_pages_unanswered(void **state)
{
    char              key[512];
    mcp_stream_ref_t  ref;

    (void) state;

    begin(NEW);
    page();
    strcpy(key, token);

    client_post(&d, 0, &a, session, again(key));
    hog(&ref);
    driver_wait(&d, 1100);
    assert_int_equal(a.status, 200);
    has(a.text, "there is no room for its stream");
    client_close(&d, &a);
    mcp_store_free(&d.process[1].store, &ref);
    driver_pump(&d);
    passes(key);

    d.endpoint.max_session_streams = 1;
    client_post(&d, 1, &b, session, CALL);
    driver_wait(&d, 1100);
    assert_int_equal(b.streaming, 1);
    client_post(&d, 0, &a, session, again(key));
    driver_wait(&d, 1100);
    assert_int_equal(a.status, 429);
    client_close(&d, &a);
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

    /* that may have been lost */

    client_post(&d, 1, &a, session, again(key));
    assert_int_equal(d.n_jobs, 1);
    assert_int_equal(a.streaming, 1);
    client_close(&d, &a);
    driver_wait(&d, 11000);
    assert_int_equal(d.n_jobs, 0);
    passes(key);
    quiet();
}


/* Never with an error; null is none. */
static void
test_pages_without(void **state)
{
    static const char  *const results[] = {
        "{\"content\":[],\"isError\":true,\"_meta\":{"
        "\"nextResumeToken\":\"p2\"}}",
        "{\"content\":[],\"isError\":true,\"nextResumeToken\":7}",
        "{\"nextResumeToken\":null,\"content\":[],\"_meta\":{}}"
    };

    size_t  i;

    (void) state;

    begin(NEW);

    for (i = 0; i < ITEMS(results); i++) {
        client_post(&d, 0, &a, session, CALL);
        backend_json(&d, results[i]);
        has(a.text, "\"result\":{\"content\":[]");
        has_not(a.text, "nextResumeToken");
        client_close(&d, &a);
    }

    quiet();
}


/* A result with a token of so many bytes between its quotes. */
static const char *
long_page(int n)
{
    snprintf(line, sizeof(line), "{\"content\":[],\"_meta\":{"
             "\"nextResumeToken\":\"%0*d\"}}", n, 1);

    return line;
}


/* What is no token is an error, or rows would be missing without a word. */
static void
test_pages_bad(void **state)
{
    static const char  *const bad[] = {
        "{\"content\":[],\"nextResumeToken\":7}",
        "{\"content\":[],\"_meta\":{\"nextResumeToken\":{}}}",
        NULL
    };

    char               key[512];
    size_t             i;
    mcp_stream_ref_t   ref;

    (void) state;

    begin(NEW);
    page();
    strcpy(key, token);

    for (i = 0; i < ITEMS(bad); i++) {
        d.te.last[0] = '\0';
        client_post(&d, 0, &a, session, again(key));
        backend_json(&d, bad[i] ? bad[i] : long_page(2047));
        has(a.text, "\"error\":{\"code\":-32603,\"message\":"
                    "\"Backend sent an invalid response\"}");
        has(d.te.last, "its nextResumeToken");
        client_close(&d, &a);
    }

    client_post(&d, 0, &a, session, again(key));
    backend_json(&d, long_page(2046));
    has(a.text, NEXT);
    client_close(&d, &a);

    /* it waits for room */

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

    /* whoever asked: it is the backend that breaks its contract */

    client_open(&d, session, NEW, "{}");
    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, bad[0]);
    has(a.text, "-32603");
    client_close(&d, &a);
    quiet();
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        test(test_pages),
        test(test_pages_params),
        test(test_pages_lost),
        test(test_pages_superseded),
        test(test_pages_running),
        test(test_pages_running_without_memory),
        test(test_pages_batch),
        test(test_pages_and_streams),
        test(test_pages_alike),
        test(test_pages_again),
        test(test_pages_again_ids),
        test(test_full),
        test(test_pages_unmade),
        test(test_pages_unanswered),
        test(test_pages_without),
        test(test_pages_bad)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
