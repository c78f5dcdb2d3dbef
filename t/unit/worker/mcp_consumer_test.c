/* SPDX-License-Identifier: Apache-2.0 */

/* Exchanges that read a stream: start, closing, end; GET requests. */

#include "core_cases.h"


#define RETRY  "retry: 2000\n\n"


/* mcp_close_after closes the connection between two events, however fast they
 * follow each other, and the client resumes after the last one it has
 * received. */
TEST(mcp_close_after_closes_the_stream_between_two_events_and_no_event_is_lost)
{
    int                     i, sent;
    char                    id[64], said[256], pattern[64];
    mcp_backend_request_t  *breq;

    d.endpoint.close_after = 3000;
    sent = 0;

    breq = call(0);
    backend_send(&d, breq, PROGRESS(0) "\n");

    for (i = 0; i < 40; i++) {
        snprintf(said, sizeof(said),
                 NOTE("notifications/progress", "{\"progressToken\":\"t\","
                      "\"progress\":%d}") "\n", ++sent);
        backend_send(&d, breq, said);
        driver_wait(&d, 100);

        if (a.ended) {
            break;
        }
    }

    assert_true(i >= 29 && i <= 31);
    ends_with(a.text, "}}\n\n" RETRY);
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_OUTCOME, "closed");
    leave_with_last_id(&a, id);

    client_resume(&d, 1, &b, session, id);
    backend_send(&d, breq, PROGRESS(99) "\n");

    for (i = 1; i <= sent; i++) {
        snprintf(pattern, sizeof(pattern), "\"progress\":%d}", i);
        assert_int_equal(count(a.text, pattern) + count(b.text, pattern), 1);
    }

    has(b.text, PROGRESS(99));

    /* mcp_close_after closes the resumed connection as well */

    driver_wait(&d, 3100);
    assert_int_equal(b.ended, 1);
    ends_with(b.text, RETRY);
    leave_with_last_id(&b, id);

    client_resume(&d, 0, &a, session, id);
    gets_result(&a, breq);
}


/* A client is slower than its backend: mcp_close_after disconnects it before
 * it has read all events. */
TEST(mcp_close_after_has_passed__a_client_with_unread_events_is_disconnected)
{
    int                     i;
    char                    id[64], said[700];
    mcp_backend_request_t  *breq;

    d.endpoint.close_after = 3000;

    breq = call(0);
    backend_send(&d, breq, PROGRESS(0) "\n");
    a.slow = 1;
    a.cap = MCP_PULL_MIN;

    for (i = 1; i <= 30; i++) {
        snprintf(said, sizeof(said), NOTE("notifications/progress",
                 "{\"progressToken\":\"t\",\"progress\":%d,"
                 "\"message\":\"%0400d\"}") "\n", i, 0);
        backend_send(&d, breq, said);
    }

    for (i = 0; i < 5; i++) {
        assert_ok(client_pull(&a));
    }

    driver_wait(&d, 3100);

    for (i = 0; !a.ended; i++) {
        assert_true(i < 3);
        client_pull(&a);
    }

    ends_with(a.text, "\"}}\n\n" RETRY);
    client_last_id(&a, id);
    assert_true(atoi(id + 23) < 10);
    client_close(&d, &a);

    client_resume(&d, 1, &b, session, id);
    client_last_id(&b, id);
    assert_string_equal(id + 22, ".31");
    gets_result(&b, breq);
}


/* mcp_close_after passes while an event is written in part: the rest of the
 * event is sent first. */
TEST(mcp_close_after_passes_inside_an_event__the_event_is_sent_completely_first)
{
    char                    said[8000];
    mcp_backend_request_t  *breq;

    d.endpoint.close_after = 3000;

    snprintf(said, sizeof(said),
             NOTE("notifications/progress", "{\"progressToken\":\"t\","
                  "\"progress\":1,\"message\":\"%07000d\"}") "\n", 5);

    breq = call_with_progress(0);
    a.slow = 1;
    a.cap = MCP_PULL_MIN;
    backend_send(&d, breq, said);
    assert_ok(client_pull(&a));
    driver_wait(&d, 5000);
    backend_send(&d, breq, PROGRESS(3) "\n");
    a.slow = 0;
    driver_pull(&a);
    assert_int_equal(a.ended, 1);
    said[strlen(said) - 1] = '\0';
    has(a.text, said);
    ends_with(a.text, RETRY);
    client_close(&d, &a);
    end_with_result(breq);
}


/* mcp_close_after applies neither to revisions without polling nor to
 * listeners. */
TEST(mcp_close_after_does_not_affect_listeners_or_revisions_without_polling)
{
    char                    own[MCP_SESSION_TEXT_MAX], id[64];
    mcp_backend_request_t  *breq;

    d.endpoint.close_after = 3000;
    client_open(&d, own, MIDDLE, ALL);

    client_post(&d, 0, &a, own, CALL);
    breq = backend_stream(&d, 0);
    backend_send(&d, breq, PROGRESS(1) "\n");
    client_resume(&d, 0, &b, session, NULL);
    driver_wait(&d, 10000);
    assert_int_equal(a.ended, 0);
    assert_int_equal(b.ended, 0);

    leave_with_last_id(&a, id);
    client_resume(&d, 1, &a, own, id);
    driver_wait(&d, 10000);
    assert_int_equal(a.ended, 0);

    end_with_result(breq);
}


/* A process that stops closes listeners. The stream of an active call stays
 * open until its client has resumed once. */
TEST(worker_is_stopping__listeners_are_closed_and_a_call_stream_stays_open)
{
    char                    id[64];
    mcp_backend_request_t  *breq;

    breq = call_with_progress(0);
    client_resume(&d, 0, &b, session, NULL);

    mcp_worker_stop(d.process[0].worker, 0);
    driver_pump(&d);
    assert_int_equal(a.ended, 0);
    assert_int_equal(b.ended, 1);
    ends_with(b.text, RETRY);
    leave_with_last_id(&a, id);
    client_close(&d, &b);

    /* a client resumes at the process that stops: it gets the stored events,
     * and then its connection is closed */

    backend_send(&d, breq, PROGRESS(2) "\n");
    client_resume(&d, 0, &a, session, id);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.ended, 1);
    has(a.text, PROGRESS(2));
    ends_with(a.text, RETRY);
    leave_with_last_id(&a, id);

    client_resume(&d, 1, &b, session, id);
    end_with(breq, PROGRESS(3) "\n" RESULT "\n");
    has_not(b.text, PROGRESS(2));
    has(b.text, PROGRESS(3));
    has(b.text, ANSWER);
}


/* A process that stops at once closes every connection, except that of a call
 * with a running backend request, whose end ends the call. */
TEST(worker_stops_at_once__only_calls_with_a_backend_request_keep_their_clients)
{
    const char             *path;
    char                    id[64], url[512];
    mcp_backend_request_t  *breq;

    client_post(&d, 0, &a, session, CALL);
    breq = d.breqs[0];
    client_resume(&d, 0, &b, session, NULL);

    mcp_worker_stop(d.process[0].worker, 1);
    driver_pump(&d);
    assert_int_equal(a.ended, 0);
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);

    /* the backend responds with 202, so the call waits for a published
     * message, which other processes can handle too */

    path = publish_url_of(breq, url, sizeof(url));
    respond_202(breq);
    assert_int_equal(a.ended, 1);
    ends_with(a.text, RETRY);
    leave_with_last_id(&a, id);

    client_resume(&d, 1, &a, session, id);
    publish(1, &b, path, RESULT);
    has(a.text, ANSWER);
}


/* The client has many unread events when the process stops at once and ends its
 * call. */
TEST(worker_stops_at_once__slow_client_gets_all_events_of_its_own_call)
{
    int                     i;
    mcp_backend_request_t  *breq;

    breq = call_with_progress(0);
    a.slow = 1;

    for (i = 0; i < 50; i++) {
        backend_send(&d, breq, PROGRESS(2) "\n");
    }

    mcp_worker_stop(d.process[0].worker, 1);
    end_with_result(breq);

    while (!a.ended) {
        assert_int_not_equal(client_pull(&a), MCP_AGAIN);
    }

    has(a.text, ANSWER);
}


/* A backend has responded with 202 before the process stops, first gracefully,
 * then at once. */
TEST(worker_stops_at_once_during_a_graceful_stop__client_of_a_202_call_is_closed)
{
    const char  *path;
    char         url[512];

    client_post(&d, 0, &a, session, CALL);
    path = publish_url_of(d.breqs[0], url, sizeof(url));
    respond_202(d.breqs[0]);

    mcp_worker_stop(d.process[0].worker, 0);
    driver_pump(&d);
    assert_int_equal(a.ended, 0);

    mcp_worker_stop(d.process[0].worker, 1);
    driver_pump(&d);
    assert_int_equal(a.ended, 1);
    ends_with(a.text, RETRY);

    publish(1, &b, path, RESULT);
}


/* mcp_exchange_close() closes one connection; the others stay open. */
TEST(connection_of_one_exchange_is_closed__the_other_connections_stay_open)
{
    char                    id[64];
    mcp_backend_request_t  *breq;

    breq = call_with_progress(0);
    client_resume(&d, 0, &b, session, NULL);

    mcp_exchange_close(a.x);
    assert_int_equal(a.ended, 0);
    driver_pump(&d);
    assert_int_equal(a.ended, 1);
    ends_with(a.text, RETRY);
    assert_int_equal(b.ended, 0);

    /* mcp_exchange_close() for a connection whose stream has ended: no further
     * action MCP_ACT_PULL */

    mcp_exchange_close(a.x);
    driver_pump(&d);

    leave_with_last_id(&a, id);
    client_resume(&d, 0, &a, session, id);
    assert_int_equal(a.ended, 0);

    mcp_exchange_close(b.x);
    driver_pump(&d);
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);

    gets_result(&a, breq);
}


/* The connection of a client without an event id stays open until the client
 * has one. */
TEST(connection_is_to_close__it_stays_open_until_the_client_has_an_event_id)
{
    char                    own[MCP_SESSION_TEXT_MAX];
    mcp_backend_request_t  *breq;

    client_open(&d, own, MIDDLE, ALL);

    client_post(&d, 0, &a, own, CALL);
    breq = backend_stream(&d, 0);

    /* mcp_exchange_close() before the response has begun: no effect */

    mcp_exchange_close(a.x);
    driver_pump(&d);
    assert_int_equal(a.status, 0);

    driver_wait(&d, 2000);
    assert_int_equal(a.status, 200);
    mcp_exchange_close(a.x);
    driver_pump(&d);
    assert_int_equal(a.ended, 0);

    backend_send(&d, breq, PROGRESS(1) "\n");
    assert_int_equal(a.ended, 1);
    has(a.text, PROGRESS(1));
    ends_with(a.text, RETRY);
    client_close(&d, &a);

    end_with_result(breq);
}


/* The session is deleted while clients read its streams: the streams end, and
 * the call is aborted. */
TEST(session_is_deleted__its_streams_end_and_its_call_is_aborted)
{
    client_t  *c;

    call_with_progress(0);
    client_resume(&d, 1, &b, session, NULL);

    assert_int_equal(b.ended, 0);

    c = malloc(sizeof(client_t));
    assert_non_null(c);
    client_init(c, session);
    client_send(&d, 0, c, "DELETE", "");
    assert_int_equal(c->status, 204);
    client_close(&d, c);
    free(c);

    assert_int_equal(a.ended, 1);
    assert_int_equal(b.ended, 1);
    variable_is(mcp_exchange_variables(b.x), MCP_VARIABLE_OUTCOME, "gone");
    assert_int_equal(d.aborts, 1);
}


TEST(memory_runs_out_during_a_GET_request__the_call_can_still_be_resumed)
{
    char                    id[64];
    unsigned long           k = 0;
    mcp_backend_request_t  *breq;

    breq = call_with_progress(0);
    leave_with_last_id(&a, id);

    while (test_next_failure(&d.te.tm, &k)) {
        d.te.tm.fail_at = k;
        client_resume(&d, 1, &a, session, id);
        client_close(&d, &a);
        client_resume(&d, 1, &a, session, NULL);
        client_close(&d, &a);
    }

    client_resume(&d, 1, &a, session, id);
    gets_result(&a, breq);
}


RUN_TESTS(setup, teardown)
