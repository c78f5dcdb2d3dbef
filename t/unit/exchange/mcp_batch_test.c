/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of several messages in one POST. */

#include "core_cases.h"


#define N  NOTE("notifications/x", "{}")


TEST(responses_of_a_batch_are_one_array_in_the_order_of_its_requests)
{
    char                    old[MCP_SESSION_TEXT_MAX];
    mcp_backend_request_t  *one, *two;

    client_open(&d, old, OLD, ALL);

    client_post(&d, 0, &a, old,
                "[" PING "," N "," CALL "," CALL8 ",{\"id\":1}]");
    assert_int_equal(d.n_breqs, 2);
    one = d.breqs[0];
    two = d.breqs[1];
    variable_is(&one->variables, MCP_VARIABLE_REQUEST_ID, "7");
    variable_is(&two->variables, MCP_VARIABLE_REQUEST_ID, "8");
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_METHOD, "batch");

    backend_reply(&d, two, RESULT);
    assert_int_equal(a.status, 0);
    backend_reply(&d, one, RESULT);

    assert_int_equal(a.status, 200);
    has(a.text, "[" PONG "," ANSWER ",{\"jsonrpc\":\"2.0\",\"id\":8,"
                "\"result\":" RESULT "},{");
    has(a.text, "-32600");
    assert_int_equal(a.text[a.len - 1], ']');
}


TEST(backend_of_a_batch_sends_progress__the_responses_are_events)
{
    char                    old[MCP_SESSION_TEXT_MAX];
    mcp_backend_request_t  *breq;

    client_open(&d, old, OLD, ALL);

    client_post(&d, 0, &a, old, "[" PING "," CALL "]");
    breq = backend_stream(&d, 0);
    backend_send(&d, breq, PROGRESS(1) "\n");
    has(a.text, ".1\ndata: " PONG "\n\n");
    has(a.text, ".2\ndata: " PROGRESS(1) "\n\n");
    end_with_result(breq);
    has(a.text, ".3\ndata: " ANSWER "\n\n");
    assert_int_equal(a.ended, 1);
}


/* The session has reached its limit of calls. */
TEST(batch_without_calls_is_answered_when_the_session_has_too_many_streams)
{
    char  old[MCP_SESSION_TEXT_MAX];

    client_open(&d, old, OLD, ALL);
    d.endpoint.max_session_streams = 1;
    client_post(&d, 0, &a, old, CALL);
    driver_wait(&d, 1500);

    client_post(&d, 1, &b, old, "[" PING ","
                REQUEST("2", "tools/list", "{}") ",{\"id\":1}]");
    assert_int_equal(b.status, 200);
    has(b.text, "[" PONG ",{");
    has(b.text, "\"tools\":");
    client_close(&d, &b);

    client_post(&d, 1, &b, old, "[" PING "," CALL8 "]");
    answered(&b, 429, NULL);

    /* without a catalog the list comes from the backend */

    d.endpoint.catalog = NULL;
    client_post(&d, 1, &b, old, "[" REQUEST("2", "tools/list", "{}") "]");
    answered(&b, 429, NULL);
    client_close(&d, &a);
    end_session(0, old);
}


/* One request of a batch is cancelled: before the batch has a stream, after
 * that, or by a message in the batch itself. The other request gets its
 * response. */
TEST(some_requests_of_a_batch_are_cancelled__only_the_others_get_a_response)
{
    int                     late;
    char                    old[MCP_SESSION_TEXT_MAX];
    mcp_backend_request_t  *breq;

    client_open(&d, old, OLD, ALL);

    for (late = 0; late < 3; late++) {

        client_post(&d, 0, &a, old,
                    late == 2 ? "[" CALL "," CALL8 "," CANCEL7 "]"
                              : "[" CALL "," CALL8 "]");

        if (late == 1) {
            driver_wait(&d, 1500);
            assert_int_equal(d.n_breqs, 2);
        }

        if (late != 2) {
            cancel(1, old, "7");
        }

        driver_wait(&d, 1500);
        assert_int_equal(d.n_breqs, 1);
        assert_int_equal(d.aborts, late + 1);
        breq = d.breqs[0];
        variable_is(&breq->variables, MCP_VARIABLE_REQUEST_ID, "8");
        assert_int_equal(a.ended, 0);

        backend_json(&d, RESULT);
        assert_int_equal(a.ended, 1);
        has(a.text, "\"id\":8,\"result\"");
        has_not(a.text, "\"id\":7");
        client_close(&d, &a);
        quiet();
    }

    /* all requests are cancelled: the stream ends without an event */

    client_post(&d, 0, &a, old, "[" CALL "," CALL8 "]");
    driver_wait(&d, 1500);
    cancel(0, old, "8");
    cancel(1, old, "7");
    assert_int_equal(a.ended, 1);
    has_not(a.text, "data:");
}


RUN_TESTS(setup, teardown)
