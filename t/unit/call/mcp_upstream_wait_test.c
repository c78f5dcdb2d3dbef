/* SPDX-License-Identifier: Apache-2.0 */

/* Requests that wait while another one opens a session at an MCP server, the
 * first request in a session, which is sent alone, and the requests that
 * follow a call. */

#include "upstream_cases.h"

#include "call/mcp_upstream_wait.h"


/* Number of requests that are started in three portions. */
#define MANY  (2 * MCP_UPSTREAM_RELEASE + 10)

#define CALL9  REQUEST("9", "tools/call", "{\"name\":\"echo\"}")

/* the clients of requests that wait */
static client_t      clients[MANY];


TEST(two_requests_need_a_session_at_a_server__it_is_opened_once_for_both)
{
    call_tool(&a);
    call_tool(&b);
    open_session();

    sends("tools/call");
    answer(RESULT);
    assert_string_equal(a.text, ANSWER);

    sends("tools/call");
    answer(RESULT);
    assert_string_equal(b.text, ANSWER);

    client_close(&d, &a);
    client_close(&d, &b);
    end();
}


TEST(server_begins_its_response_to_the_first_request__waiting_ones_are_sent)
{
    call_tool(&a);
    call_tool(&b);
    open_session();

    mcp_backend_request_head(sends("tools/call"), 200,
                             mcp_str("text/event-stream"));
    driver_pump(&d);
    assert_int_equal(d.n_breqs, 2);

    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    client_close(&d, &a);
    client_close(&d, &b);
    end();
}


TEST(server_does_not_respond_to_the_first_request__others_are_sent_after_1_s)
{
    call_tool(&a);
    open_session();
    call_tool(&b);

    driver_wait(&d, MCP_UPSTREAM_ALONE_TIME - 1);
    sends("tools/call");
    driver_wait(&d, 1);
    assert_int_equal(d.n_breqs, 2);

    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    client_close(&d, &a);
    client_close(&d, &b);
    end();
}


TEST(server_does_not_respond_to_initialize__all_requests_fail_after_10_s)
{
    call_tool(&a);
    call_tool(&b);
    sends("\"initialize\"");
    driver_wait(&d, MCP_UPSTREAM_WAIT_TIME);

    has(a.text, "Backend timed out");
    has(b.text, "Backend timed out");

    driver_wait(&d, MCP_UPSTREAM_OPEN_GRACE);
    assert_int_equal(d.n_breqs, 0);
}


/* Sends a call that is durable when this returns. Its initialize request
 * runs. */
static mcp_backend_request_t *
durable_call(void)
{
    call_tool(&a);
    driver_wait(&d, d.endpoint.stream_after);

    return sends("\"initialize\"");
}


/* Cancels the call of durable_call(). */
static void
cancel_call(void)
{
    client_post(&d, 0, &clients[0], session, CANCEL7);
    client_close(&d, &clients[0]);
}


/* Responds to the only backend request, initialize, whose request is over.
 * Checks that DELETE of the session follows. */
static void
open_late(void)
{
    mcp_backend_request_session(sends("\"initialize\""), mcp_str("s1"));
    answer(VERSION);

    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(d.breqs[0]->http_method, MCP_BACKEND_REQUEST_DELETE);
    variable_is(&d.breqs[0]->variables, MCP_VARIABLE_UPSTREAM_SESSION, "s1");
    variable_is(&d.breqs[0]->variables, MCP_VARIABLE_UPSTREAM_VERSION,
                "2025-06-18");
    end();
}


TEST(call_is_cancelled_during_initialize__the_session_is_ended)
{
    (void) durable_call();
    cancel_call();
    open_late();
}


TEST(stateless_client_disconnects_during_initialize__the_session_is_ended)
{
    modern_call(0, &a, "");
    driver_wait(&d, d.endpoint.stream_after);
    client_close(&d, &a);
    driver_wait(&d, d.endpoint.reconnect_wait);
    open_late();
}


TEST(initialize_is_answered_after_the_timeout__the_session_is_ended)
{
    call_tool(&a);
    driver_wait(&d, MCP_UPSTREAM_WAIT_TIME);
    has(a.text, "Backend timed out");

    driver_wait(&d, MCP_UPSTREAM_OPEN_GRACE - 1);
    open_late();
}


TEST(request_is_over_and_initialize_gets_no_response__it_is_aborted_after_10_s)
{
    (void) durable_call();
    cancel_call();

    driver_wait(&d, MCP_UPSTREAM_OPEN_GRACE - 1);
    sends("\"initialize\"");
    driver_wait(&d, 1);
    assert_int_equal(d.n_breqs, 0);
}


TEST(call_is_cancelled_after_the_session_id_has_arrived__session_ends_at_once)
{
    mcp_backend_request_t  *breq;

    breq = durable_call();
    mcp_backend_request_session(breq, mcp_str("s1"));
    mcp_backend_request_head(breq, 200, mcp_str("text/event-stream"));
    cancel_call();

    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(d.breqs[0]->http_method, MCP_BACKEND_REQUEST_DELETE);
    end();
}


TEST(server_keeps_the_stream_of_initialize_open__session_is_ended_after_5_s)
{
    mcp_backend_request_t  *breq;

    breq = durable_call();
    cancel_call();
    mcp_backend_request_session(breq, mcp_str("s1"));
    mcp_backend_request_head(breq, 200, mcp_str("text/event-stream"));
    backend_send(&d, breq, "data: {\"jsonrpc\":\"2.0\",\"id\":1,"
                           "\"result\":" VERSION "}\n\n");

    driver_wait(&d, MCP_CALL_GRACE - 1);
    assert_int_equal(breq->http_method, MCP_BACKEND_REQUEST_POST);
    driver_wait(&d, 1);
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(breq->http_method, MCP_BACKEND_REQUEST_DELETE);
    variable_is(&breq->variables, MCP_VARIABLE_UPSTREAM_VERSION, "2025-06-18");
    end();
}


TEST(call_is_cancelled_during_initialize__a_waiting_request_gets_the_session)
{
    (void) durable_call();
    client_post(&d, 0, &b, session, CALL8);
    client_post(&d, 0, &clients[1], session, CALL9);
    cancel_call();
    open_session();

    sends("tools/call");
    answer(RESULT);
    has(b.text, "\"id\":8,\"result\":" RESULT);
    sends("tools/call");
    answer(RESULT);
    has(clients[1].text, "\"id\":9,\"result\":" RESULT);
    assert_int_equal(d.n_breqs, 0);

    client_close(&d, &a);
    client_close(&d, &b);
    client_close(&d, &clients[1]);
}


TEST(initialize_of_a_cancelled_call_fails__a_waiting_request_repeats_it)
{
    (void) durable_call();
    client_post(&d, 0, &b, session, CALL8);
    cancel_call();

    backend_end(&d, sends("\"initialize\""), MCP_FAILURE_REPLY);
    open_session();
    sends("tools/call");
    answer(RESULT);
    has(b.text, "\"id\":8,\"result\":" RESULT);
}


TEST(request_waits_for_two_attempts_to_open_a_session__it_fails_after_10_s)
{
    call_tool(&a);
    client_post(&d, 0, &b, session, CALL8);
    client_post(&d, 0, &clients[0], session, CALL9);
    sends("\"initialize\"");

    /* the second request opens the session when the first attempt has failed */

    driver_wait(&d, MCP_UPSTREAM_WAIT_TIME - 1000);
    client_post(&d, 0, &clients[1], session, CANCEL7);
    backend_end(&d, sends("\"initialize\""), MCP_FAILURE_REPLY);
    sends("\"initialize\"");

    driver_wait(&d, 999);
    has_not(clients[0].text, "error");
    driver_wait(&d, 1);
    has(clients[0].text, "Backend timed out");
    has_not(b.text, "error");

    open_session();
    end();
    has(b.text, "\"id\":8,\"result\":" RESULT);

    client_close(&d, &a);
    client_close(&d, &b);
    client_close(&d, &clients[0]);
    client_close(&d, &clients[1]);
}


/* Starts a call that opens a session, and MANY calls that wait for it. */
static void
many_calls(void)
{
    size_t  i;

    call_tool(&a);

    for (i = 0; i < MANY; i++) {
        call_tool(&clients[i]);
    }

    sends("\"initialize\"");
}


/* Checks that the first n of MANY clients have a response with this text, and
 * the other ones have none. */
static void
have(size_t n, const char *text)
{
    size_t  i;

    for (i = 0; i < MANY; i++) {
        if (i < n) {
            has(clients[i].text, text);

        } else {
            assert_string_equal(clients[i].text, "");
        }
    }
}


static void
close_many(void)
{
    size_t  i;

    for (i = 0; i < MANY; i++) {
        client_close(&d, &clients[i]);
    }
}


TEST(many_requests_wait_for_a_session__all_get_it_64_in_each_millisecond)
{
    size_t  n;

    many_calls();
    open_session();
    sends("tools/call");
    answer(RESULT);

    for (n = MCP_UPSTREAM_RELEASE; n < MANY; n += MCP_UPSTREAM_RELEASE) {
        assert_int_equal(d.n_breqs, MCP_UPSTREAM_RELEASE);
        end();
        have(n, "\"result\":" RESULT);
        driver_wait(&d, 1);
    }

    assert_int_equal(d.n_breqs, MANY % MCP_UPSTREAM_RELEASE);
    end();
    have(MANY, "\"result\":" RESULT);
    close_many();
}


TEST(many_requests_wait_and_the_session_does_not_open__all_get_the_same_error)
{
    many_calls();
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    has(a.text, "Backend failed");

    have(MCP_UPSTREAM_RELEASE, "Backend failed");
    driver_wait(&d, 1);
    have(2 * MCP_UPSTREAM_RELEASE, "Backend failed");
    driver_wait(&d, 1);
    have(MANY, "Backend failed");
    assert_int_equal(d.n_breqs, 0);
    close_many();
}


TEST(two_of_many_requests_are_cancelled_before_they_start__they_are_not_sent)
{
    size_t  i;

    call_tool(&a);

    for (i = 0; i < MANY; i++) {
        client_post(&d, 0, &clients[i], session,
                    i == MCP_UPSTREAM_RELEASE ? CALL8
                    : i == MANY - 1 ? CALL9 : CALL);
    }

    open_session();
    sends("tools/call");
    answer(RESULT);
    end();

    client_post(&d, 0, &b, session,
                NOTE("notifications/cancelled", "{\"requestId\":8}"));
    client_close(&d, &b);
    client_post(&d, 0, &b, session,
                NOTE("notifications/cancelled", "{\"requestId\":9}"));
    driver_wait(&d, 1);
    assert_int_equal(d.n_breqs, MCP_UPSTREAM_RELEASE);
    end();
    driver_wait(&d, 1);
    assert_int_equal(d.n_breqs, MANY % MCP_UPSTREAM_RELEASE - 2);
    end();

    has(clients[MANY - 2].text, "\"result\":" RESULT);
    has_not(clients[MANY - 1].text, "result");
    has_not(clients[MCP_UPSTREAM_RELEASE].text, "result");
    close_many();
}


TEST(client_whose_request_waits_for_a_session_disconnects__it_can_resume)
{
    char  id[64];

    call_tool(&a);
    call_tool(&b);
    driver_wait(&d, d.endpoint.stream_after);
    leave_with_last_id(&b, id);

    open_session();
    answer(RESULT);
    sends("tools/call");
    answer(RESULT);

    client_resume(&d, 1, &b, session, id);
    has(b.text, ANSWER);

    client_close(&d, &a);
    client_close(&d, &b);
    end();
}


TEST(waiting_request_of_a_batch_is_cancelled__the_other_one_gets_its_response)
{
    client_open(&d, session, OLD, ALL);

    call_tool(&a);
    client_post(&d, 0, &b, session, "[" CALL "," CALL8 "]");
    client_post(&d, 0, &clients[0], session, CANCEL7);
    client_close(&d, &clients[0]);
    driver_wait(&d, d.endpoint.stream_after);

    open_session();
    end();
    has(b.text, "\"id\":8,\"result\":" RESULT);
    has_not(b.text, "\"id\":7");

    client_close(&d, &a);
    client_close(&d, &b);
    end();
}


/* The end of the first request of a durable batch starts the second one, which
 * fails at once for lack of memory. */
TEST(second_request_of_a_batch_cannot_start__the_stream_of_the_batch_ends)
{
    unsigned long  k = 0;

    while (test_next_failure(&d.te.tm, &k)) {
        client_open(&d, session, OLD, ALL);
        client_post(&d, 0, &b, session, "[" CALL "," CALL8 "]");
        driver_wait(&d, d.endpoint.stream_after);
        open_session();

        d.te.tm.fail_at = k;
        mcp_backend_request_head(d.breqs[0], 400, mcp_str("application/json"));
        backend_send(&d, d.breqs[0],
                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":"
                     "{\"code\":-32602,\"message\":\"no\"}}");
        backend_end(&d, d.breqs[0], MCP_FAILURE_NONE);
        d.te.tm.fail_at = 0;
        end();
        driver_wait(&d, 1);
        assert_int_equal(b.ended, 1);

        client_close(&d, &b);
        driver_wait(&d, 100000);
        end();
        quiet();
    }
}


TEST(DELETE_of_the_session_follows_a_call__the_call_is_still_the_last_request)
{
    mcp_call_t             *call;
    mcp_backend_request_t  *breq;

    modern_call(0, &a, "");
    open_session();

    breq = sends("tools/call");
    call = breq->call;
    mcp_call_retain(call);

    mcp_backend_request_head(breq, 200, mcp_str("application/json"));
    snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",%.*s,\"result\":%s}",
             (int) strcspn(strstr(d.last_body, "\"id\":"), ",}"),
             strstr(d.last_body, "\"id\":"), RESULT);
    backend_send(&d, breq, line);

    d.n_breqs = 0;
    mcp_backend_request_end(breq, MCP_FAILURE_NONE, NULL);
    assert_true(mcp_backend_request_is_last(breq));
    variable_is(&breq->variables, MCP_VARIABLE_METHOD, "tools/call");

    driver_pump(&d);
    assert_int_equal(d.n_breqs, 1);
    assert_ptr_equal(d.breqs[0], breq);
    assert_int_equal(breq->http_method, MCP_BACKEND_REQUEST_DELETE);

    mcp_backend_request_head(breq, 200, mcp_null_str);
    d.n_breqs = 0;
    mcp_backend_request_end(breq, MCP_FAILURE_NONE, NULL);
    assert_false(mcp_backend_request_is_last(breq));

    mcp_call_release(call);
}


RUN_TESTS(setup_upstream, teardown)
