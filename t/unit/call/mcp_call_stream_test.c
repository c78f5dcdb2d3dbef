/* SPDX-License-Identifier: Apache-2.0 */

/* Calls that become durable, and calls that cannot, because the region has no
 * room or the session has too many streams. */

#include "core_cases.h"


/* A batch becomes durable after some of its requests got their responses:
 * these are the first events of the stream. */
TEST(batch_becomes_a_stream__earlier_responses_are_its_first_events)
{
    char  old[MCP_SESSION_TEXT_MAX];

    client_open(&d, old, OLD, ALL);
    client_post(&d, 0, &a, old, "[" CALL "," CALL8 "]");
    backend_reply(&d, d.breqs[0], RESULT);
    assert_int_equal(stats().counter[MCP_COUNT_EVENTS], 0);

    driver_wait(&d, 1500);
    assert_int_equal(a.streaming, 1);
    assert_int_equal(count(a.text, "\ndata: {"), 1);
    assert_int_equal(stats().counter[MCP_COUNT_EVENTS], 1);

    driver_kill(&d, 0);
    client_close(&d, &a);
    driver_killed(&d, 0, 1);
    assert_int_equal(stats().counter[MCP_COUNT_EVENTS], 2);
}


/* A call without a reader fills the zone, and another call needs a stream: the
 * first call is aborted, and a client that resumes it gets 404. */
TEST(zone_is_full__a_call_without_a_reader_is_evicted_for_a_new_call)
{
    char                    id[64];
    mcp_backend_request_t  *breq;

    d.endpoint.stream_buffer = 64 * 1024 * 1024;

    breq = call_with_progress(0);
    leave_with_last_id(&a, id);
    fill(breq);

    client_post(&d, 1, &b, session, CALL8);
    assert_int_equal(d.n_breqs, 2);
    driver_wait(&d, 1100);
    assert_int_equal(b.streaming, 1);
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(stats().counter[MCP_COUNT_STREAMS_EVICTED], 1);
    assert_int_equal(stats().counter[MCP_COUNT_REFUSED_FULL], 0);

    client_init(&a, session);
    client_header(&a, "Last-Event-ID", id);
    client_send(&d, 1, &a, "GET", "");
    answered(&a, 404, NULL);

    end_with_result(d.breqs[0]);
}


/* A single call has filled the zone: it completes if its client reads, because
 * the events that were sent are freed. */
TEST(call_has_filled_the_zone__it_continues_when_its_client_reads)
{
    int                     i;
    mcp_backend_request_t  *breq;

    d.endpoint.stream_buffer = 64 * 1024 * 1024;

    /* the client reads all events at once */

    breq = call(0);
    snprintf(line, sizeof(line), BIG(15000), 0);

    for (i = 0; i < 100; i++) {
        assert_true(backend_send(&d, breq, line) > 0);
        a.len = 0;
    }

    gets_result(&a, breq);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    driver_wait(&d, 10000);
    assert_int_equal(stats().streams, 0);

    /* the client reads nothing for 5 s: the message stays held, and the
     * backend has to wait */

    d.resumes = 0;
    breq = call(0);
    a.slow = 1;
    fill(breq);
    driver_wait(&d, 5000);
    assert_int_equal(d.resumes, 0);

    /* the client reads all events: the held message is appended without
     * waiting for a timer */

    while (client_pull(&a) == MCP_OK) {
        a.len = 0;
        driver_pump(&d);
    }

    assert_int_equal(d.resumes, 1);
    a.slow = 0;
    gets_result(&a, breq);
    assert_int_equal(a.ended, 1);
}


TEST(session_has_too_many_streams__a_further_call_gets_an_error)
{
    static client_t  c;

    d.endpoint.max_session_streams = 1;

    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 1500);

    /* the limit of calls is reached: a call is rejected before its backend
     * request starts */

    client_post(&d, 1, &b, session, CALL8);
    assert_int_equal(b.status, 429);
    has(b.text, "\"id\":8");
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(stats().counter[MCP_COUNT_REJECTED_LIMIT], 1);
    client_close(&d, &b);

    /* two calls begin before either has a stream, but only one more is
     * allowed: the second one gets an error */

    d.endpoint.max_session_streams = 2;
    client_post(&d, 0, &b, session, CALL8);
    client_post(&d, 1, &c, session,
                REQUEST("9", "tools/call", "{\"name\":\"other\"}"));
    driver_wait(&d, 1500);
    assert_int_equal(c.status, 200);
    assert_null(client_response_header(&c, "Retry-After"));
    has(c.text, "\"id\":9,\"error\":{\"code\":-32603,");
    has(c.text, "too many streams");
    client_close(&d, &c);
    assert_int_equal(stats().counter[MCP_COUNT_REJECTED_LIMIT], 2);

    backend_reply(&d, d.breqs[1], RESULT);
    client_close(&d, &b);
    gets_json_result(&a);
}


RUN_TESTS(setup, teardown)
