/* SPDX-License-Identifier: Apache-2.0 */

/* Input retries: the backend has returned a state, but no question. */

#include "core_cases.h"


#define EMPTY  "{\"resultType\":\"input_required\",\"requestState\":\"e\"}"
#define ONE    "{\"resultType\":\"input_required\",\"inputRequests\":{"       \
               "\"k\":{\"method\":\"roots/list\"}},\"requestState\":\"s\"}"


/* The backend returns no question; checks that the next backend request starts
 * after "ms" milliseconds. */
static void
paused(uint64_t ms)
{
    backend_json(&d, EMPTY);
    assert_int_equal(d.n_breqs, 0);
    driver_wait(&d, ms - 1);
    assert_int_equal(d.n_breqs, 0);
    driver_wait(&d, 1);
    assert_int_equal(d.n_breqs, 1);
    has(d.last_body, ",\"requestState\":\"e\"}}");
    has_not(d.last_body, "inputResponses");
}


/* The pause before the next backend request is 250 ms and doubles up to 5 s.
 * When mcp_input_timeout is over, the call ends. */
TEST(backend_returns_state_without_questions__the_retry_pause_doubles_up_to_5_s)
{
    client_post(&d, 0, &a, session, CALL);
    paused(250);
    assert_int_equal(a.status, 0);
    paused(500);
    paused(1000);
    assert_int_equal(a.streaming, 1);
    paused(2000);
    paused(4000);
    paused(5000);
    paused(5000);

    /* the last pause ends with mcp_input_timeout (20 s); if the backend again
     * returns no question, the call ends */

    paused(2250);
    backend_json(&d, EMPTY);
    assert_int_equal(a.ended, 1);
    has(a.text, "\"code\":-32603");
    has(a.text, "timed out");
    has(d.te.last, "\"input_required\" without a request in");
}


/* The backend returns a result after some retries. A question in between
 * resets the pause to 250 ms. */
TEST(backend_asks_a_question_between_retries__the_next_pause_is_250_ms_again)
{
    char  id[72];

    client_post(&d, 0, &a, session, CALL);
    paused(250);
    paused(500);
    backend_json(&d, ONE);
    question_id(a.text, "roots/list", id);
    reply(1, session, id, "\"result\":{}");
    assert_int_equal(d.n_breqs, 1);
    has(d.last_body, "\"inputResponses\":{\"k\":{}},\"requestState\":\"s\"");
    paused(250);
    gets_json_result(&a);
}


/* The client cancels, disconnects or ends its session during a pause: there is
 * no next backend request. */
TEST(call_ends_during_a_retry_pause__there_is_no_next_backend_request)
{
    int  i;

    for (i = 0; i < 2; i++) {
        client_open(&d, session, NEW, ALL);
        client_post(&d, 0, &a, session, CALL);
        paused(250);
        paused(500);
        paused(1000);
        backend_json(&d, EMPTY);

        if (i) {
            end_session(1, session);

        } else {
            cancel(1, session, "7");
        }

        assert_int_equal(a.ended, 1);
        has_not(a.text, "\"id\":7");
        driver_wait(&d, 10000);
        assert_int_equal(d.n_breqs, 0);
        client_close(&d, &a);
        quiet();
    }

    /* the call is cancelled during a pause, before it has a stream: there is
     * no next backend request */

    client_open(&d, session, NEW, ALL);
    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, EMPTY);
    cancel(0, session, "7");
    driver_wait(&d, 10000);
    assert_int_equal(d.n_breqs, 0);
    client_close(&d, &a);
    quiet();

    /* the client disconnects and does not resume: the call is abandoned */

    client_post(&d, 0, &a, session, CALL);
    paused(250);
    paused(500);
    paused(1000);
    d.endpoint.max_wait = 1000;
    client_close(&d, &a);
    backend_json(&d, EMPTY);
    driver_wait(&d, 61000);
}


/* The backend request that returned the state has not ended when the pause is
 * over: the next backend request starts as soon as it ends. */
TEST(backend_request_outlasts_the_retry_pause__the_retry_starts_when_it_ends)
{
    mcp_backend_request_t  *breq;

    breq = call(0);
    backend_send(&d, breq, EMPTY "\n");
    driver_wait(&d, 250);
    assert_int_equal(d.n_breqs, 1);
    assert_ptr_equal(d.breqs[0], breq);
    backend_end(&d, breq, MCP_FAILURE_NONE);
    assert_int_equal(d.n_breqs, 1);
    has(d.last_body, "\"requestState\":\"e\"");
    gets_json_result(&a);
    client_close(&d, &a);
    quiet();

    /* the backend request does not end for 5 s: it is aborted, and the next
     * one starts */

    breq = call(0);
    backend_send(&d, breq, EMPTY "\n");
    aborts_after(5250, 1);
    assert_int_equal(d.n_breqs, 1);
    gets_json_result(&a);
}


RUN_TESTS(setup, teardown)
