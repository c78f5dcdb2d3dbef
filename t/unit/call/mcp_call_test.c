/* SPDX-License-Identifier: Apache-2.0 */

/* Calls: the ways in which a call ends, in each order, and failing
 * allocations. */

#include "core_cases.h"


/*
 * Two of the things in this enum happen to one call: each pair, in each order,
 * with and without a stream. Then the test checks the end of the backend
 * request, and the content of the stream or of the response.
 */

enum {
    LEAVE,                     /* the client */
    RESULT_COMES,
    BACKEND_BREAKS,
    CANCEL,
    TIMEOUT,
    SESSION_ENDS,
    THINGS
};


static const char *const  things[] = {
    "leave", "result", "break", "cancel", "timeout", "session ends"
};


static void
happen(int thing, mcp_backend_request_t *breq)
{
    int  live;

    live = (d.n_breqs == 1 && d.breqs[0] == breq);

    switch (thing) {

    case LEAVE:
        client_close(&d, &a);
        break;

    case RESULT_COMES:
        if (live) {
            end_with_result(breq);
        }

        break;

    case BACKEND_BREAKS:
        if (live) {
            backend_end(&d, breq, MCP_FAILURE_REPLY);
        }

        break;

    case CANCEL:
        /* the response to the cancellation is 202, or 404 if the session has
         * ended */
        client_post(&d, 1, &b, session, CANCEL7);
        client_close(&d, &b);
        break;

    case TIMEOUT:
        driver_wait(&d, 31000);
        break;

    case SESSION_ENDS:
        client_init(&b, session);
        client_send(&d, 1, &b, "DELETE", "");
        client_close(&d, &b);
        break;
    }
}


TEST(two_events_end_a_call_in_any_order__the_first_one_decides_the_response)
{
    int                     one, two, early;
    mcp_backend_request_t  *breq;

    for (early = 0; early < 2; early++) {
        for (one = 0; one < THINGS; one++) {
            for (two = 0; two < THINGS; two++) {

                if (one == two) {
                    continue;
                }

                client_open(&d, session, NEW, ALL);
                breq = call(0);

                if (!early) {
                    backend_send(&d, breq, PROGRESS(1) "\n");
                    has(a.text, PROGRESS(1));
                }

                happen(one, breq);

                /* the first of the two decides the response, unless it was the
                 * disconnection of the client */

                if (one == RESULT_COMES) {
                    has(a.text, ANSWER);

                } else if (one == BACKEND_BREAKS || one == TIMEOUT) {
                    has(a.text, "-32603");
                    has(a.text, "\"id\":7");

                } else if ((one == CANCEL || one == SESSION_ENDS) && !early) {
                    assert_int_equal(a.ended, 1);
                    has_not(a.text, "\"id\":7");
                    assert_int_equal(d.n_breqs, 0);
                }

                happen(two, breq);

                /* a cancellation takes effect when the call becomes durable,
                 * at the latest */

                driver_wait(&d, 2000);

                if (d.n_breqs) {
                    fail_msg("%s, then %s: runs on", things[one],
                             things[two]);
                }

                if (a.x) {
                    assert_int_equal(a.ended, 1);
                    client_close(&d, &a);
                }

                driver_wait(&d, 200000);
                quiet();
                assert_int_equal(stats().streams, 0);
                assert_int_equal(d.process[0].worker->calls, 0);
            }
        }
    }
}


/* The client disconnects before the glue has started the backend request: in
 * each of these cases the call ends and leaves no stream behind. */
TEST(client_leaves_before_its_backend_request_has_started__the_call_ends)
{
    enum { PULLED, FULL, CANCELLED, NEVER_PULLED, NOBODY_COMES, PUBLISHED,
           WAYS };

    int               way;
    char              url[512];
    const char       *path;
    mcp_stream_ref_t  ref;

    for (way = 0; way < WAYS; way++) {
        client_open(&d, session, NEW, ALL);
        d.endpoint.max_wait = way == NOBODY_COMES ? 1000 : 60000;

        driver_pause(&d, 0, 1);
        client_post(&d, 0, &a, session, CALL);
        path = publish_url_of(&a.x->call->requests[0].breq, url, sizeof(url));

        if (way == FULL) {
            hog(&ref);
        }

        client_close(&d, &a);
        assert_int_equal(d.n_breqs, 0);

        switch (way) {

        case PULLED:
            driver_pause(&d, 0, 0);
            assert_int_equal(d.n_breqs, 1);
            backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
            assert_int_equal(stats().counter[MCP_COUNT_CALLS_FAILED], 1);
            break;

        case FULL:
            mcp_store_free(&d.process[1].store, &ref);
            break;

        case CANCELLED:
            cancel(1, session, "7");
            driver_pause(&d, 0, 0);
            break;

        case NEVER_PULLED:
            driver_wait(&d, 31000);
            break;

        case NOBODY_COMES:
            driver_wait(&d, 1100);
            break;

        case PUBLISHED:
            publish_gets(1, path, RESULT, 202);
            mcp_worker_wake(d.process[0].worker);
            break;
        }

        assert_int_equal(d.process[0].worker->calls, 0);
        driver_pause(&d, 0, 0);
        quiet();
        driver_wait(&d, 70000);
        assert_int_equal(stats().streams, 0);
    }
}


/* Streams, input, resumption and the response with the k-th allocation
 * failing: any error may result, but nothing crashes, leaks or remains. */

static void
finish_all(void)
{
    size_t  i;

    for (i = d.n_breqs; i; i = d.n_breqs) {
        mcp_backend_request_head(d.breqs[0], 200, mcp_str("application/json"));
        backend_send(&d, d.breqs[0], RESULT);

        if (d.n_breqs == i) {
            backend_end(&d, d.breqs[0], MCP_FAILURE_NONE);
        }
    }
}


static void
scenario_input(void)
{
    char                    id[64], body[256];
    mcp_backend_request_t  *breq;

    client_post(&d, 0, &a, session, CALL);

    if (d.n_breqs) {
        breq = backend_stream(&d, 0);
        backend_send(&d, breq, PROGRESS(1) "\n" ASK "\n");

        if (d.n_breqs) {
            backend_end(&d, breq, MCP_FAILURE_NONE);
        }
    }

    if (a.streaming && strstr(a.text, "roots/list")) {
        question_id(a.text, "elicitation/create", id);
        snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\","
                 "\"result\":{}}", id);
        client_post(&d, 1, &b, session, body);
        client_close(&d, &b);

        question_id(a.text, "roots/list", id);
        snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\","
                 "\"result\":{}}", id);
        client_post(&d, 0, &b, session, body);
        client_close(&d, &b);
    }

    client_close(&d, &a);
    finish_all();
    client_resume(&d, 1, &b, session, NULL);
    client_close(&d, &b);
}


/* A scenario with held messages, publishing and cancelling. */
static void
scenario_held(void)
{
    int                     i;
    char                    url[512];
    mcp_str_t               variable;
    mcp_backend_request_t  *breq;

    client_post(&d, 0, &a, session, CALL);
    url[0] = '\0';

    if (d.n_breqs) {
        breq = d.breqs[0];
        variable = breq->variables.value[MCP_VARIABLE_PUBLISH_URL];
        snprintf(url, sizeof(url), "%.*s", (int) variable.len, variable.data);
        mcp_backend_request_head(breq, 200, mcp_str("application/x-ndjson"));
        client_close(&d, &a);
        snprintf(line, sizeof(line), BIG(900), 0);

        for (i = 0; i < 10 && d.n_breqs; i++) {
            backend_send(&d, breq, line);
        }
    }

    client_close(&d, &a);

    if (url[0]) {
        client_init(&b, NULL);
        knock(1, &b, "POST", url + strlen("http://127.0.0.1"), PROGRESS(77));
        client_close(&d, &b);
    }

    client_post(&d, 1, &b, session, CANCEL7);
    client_close(&d, &b);
    finish_all();
}


static void
scenario_batch(void)
{
    client_post(&d, 0, &a, session, "[" PING "," CALL "," CALL8 "]");
    driver_wait(&d, 1500);
    client_post(&d, 1, &b, session, CANCEL7);
    client_close(&d, &b);
    finish_all();
    client_close(&d, &a);
}


static void
without_memory(void (*scenario)(void), const char *revision)
{
    unsigned long  k = 0;

    while (test_next_failure(&d.te.tm, &k)) {

        /* open a new session for each round, because the session of the
         * previous round expires */

        client_open(&d, session, revision, ALL);
        d.te.tm.fail_at = k;
        scenario();
        d.te.tm.fail_at = 0;
        driver_wait(&d, 100000);
        quiet();
    }

    assert_true(k > 10);
    assert_int_equal(b.status, scenario == scenario_input ? 200 : 202);
}


TEST(memory_runs_out_during_questions_or_a_batch__no_call_is_left)
{
    without_memory(scenario_input, NEW);
    without_memory(scenario_batch, OLD);
}


TEST(memory_runs_out_while_messages_are_held__no_call_is_left)
{
    d.endpoint.stream_buffer = 4 * 1024;
    without_memory(scenario_held, NEW);
}


RUN_TESTS(setup, teardown)
