/* SPDX-License-Identifier: Apache-2.0 */

/* Times of calls: mcp_stream_after, mcp_max_wait, timeouts, and the timer
 * itself. */

#include "core_cases.h"


TEST(mcp_stream_after_has_passed__the_response_becomes_a_stream)
{
    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 999);
    assert_int_equal(a.status, 0);
    driver_wait(&d, 2);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.streaming, 1);
    assert_int_equal(stats().streams, 1);

    backend_json(&d, RESULT);
    has(a.text, ".1\ndata: " ANSWER "\n\n");
    assert_int_equal(a.ended, 1);
}


/* The handler of a call's timer runs, on time or too late, in several states
 * of the call: afterwards the timer is not armed, or is armed for a time in
 * the future. Otherwise mcp_worker_expire() would never return. */
TEST(call_timer_has_run__it_is_off_or_set_for_the_future)
{
    enum { STARTED, NOT_STARTED, ASKED, LEFT, LEFT_NO_WAIT, NO_ROOM, WAYS };

    int               way, i;
    mcp_call_t       *call;
    mcp_stream_ref_t  ref;

    for (way = 0; way < WAYS; way++) {
        client_open(&d, session, NEW, ALL);
        d.endpoint.max_wait = way == LEFT_NO_WAIT ? 0 : 60000;

        if (way == NOT_STARTED) {
            driver_pause(&d, 0, 1);
        }

        client_post(&d, 0, &a, session, CALL);
        call = a.x->call;
        call->refs++;

        if (way == ASKED) {
            (void) backend_stream(&d, 0);
            backend_send(&d, d.breqs[0], ASK "\n");
        }

        if (way == LEFT || way == LEFT_NO_WAIT) {
            client_close(&d, &a);
        }

        if (way == NO_ROOM) {
            driver_wait(&d, 1500);
            hog(&ref);
        }

        driver_pause(&d, 0, 1);

        for (i = 0; i < 20 && mcp_timer_armed(&call->timer); i++) {

            /* the handler runs 100 s too late at the 19th time, otherwise on
             * time */

            d.te.now = call->timer.when + (i == 18 ? 100000 : 0);
            mcp_timer_del(&d.process[0].worker->timers, &call->timer);
            call->timer.handler(call);
            assert_true(!mcp_timer_armed(&call->timer)
                        || call->timer.when > d.te.now);
        }

        if (way == NO_ROOM) {
            mcp_store_free(&d.process[1].store, &ref);
        }

        driver_pause(&d, 0, 0);
        mcp_call_release(call);
        driver_pump(&d);
        driver_wait(&d, 200000);

        if (a.x) {
            assert_int_equal(a.ended, 1);
            client_close(&d, &a);
        }

        quiet();
    }
}


TEST(no_client_resumes_within_mcp_max_wait__the_call_is_aborted)
{
    char  id[64];

    d.endpoint.call_timeout = 3600000;

    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 1500);
    leave_with_last_id(&a, id);

    /* a client resumes before mcp_max_wait is over: that time starts anew when
     * the client disconnects */

    driver_wait(&d, 50000);
    client_resume(&d, 1, &a, session, id);
    driver_wait(&d, 50000);
    client_close(&d, &a);

    aborts_after(59000, 0);
    aborts_after(2000, 1);
    quiet();

    assert_int_equal(stats().streams, 0);
    assert_int_equal(stats().counter[MCP_COUNT_CALLS_EXPIRED], 1);
    client_resume(&d, 1, &a, session, id);
    assert_int_equal(a.status, 404);
}


static char  last_seen[64];


/* The hook "unlock" of process 0: a client resumes at process 1 as soon as
 * process 0 releases the lock. */
static void
come_now(void *ctx)
{
    d.process[0].store.glue.unlock = driver_unlock;
    client_resume(&d, 1, &b, session, last_seen);
}


/* A client resumes at the moment when mcp_max_wait ends: the call is
 * abandoned, and the client gets 404, not the stream of the abandoned call. */
TEST(client_resumes_when_mcp_max_wait_ends__it_gets_404)
{
    mcp_call_t  *call;

    d.endpoint.call_timeout = 3600000;

    client_post(&d, 0, &a, session, CALL);
    call = a.x->call;
    call->refs++;
    driver_wait(&d, 1500);
    leave_with_last_id(&a, last_seen);

    driver_pause(&d, 0, 1);
    d.te.now += 60000;
    d.process[0].store.glue.unlock = come_now;
    mcp_timer_del(&d.process[0].worker->timers, &call->timer);
    call->timer.handler(call);
    assert_ptr_equal(d.process[0].store.glue.unlock, driver_unlock);
    mcp_call_release(call);
    driver_pause(&d, 0, 0);

    assert_int_equal(d.aborts, 1);
    assert_int_equal(b.status, 404);
}


/* The reader's process is killed: mcp_max_wait begins at that time. */
TEST(process_of_the_reader_dies__mcp_max_wait_begins)
{
    char  id[64];

    d.endpoint.call_timeout = 3600000;

    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 1500);
    leave_with_last_id(&a, id);
    client_resume(&d, 1, &a, session, id);
    driver_wait(&d, 100000);

    driver_kill(&d, 1);
    client_close(&d, &a);
    driver_killed(&d, 1, 0);
    aborts_after(59000, 0);
    aborts_after(4000, 1);
    assert_int_equal(stats().streams, 0);
    assert_int_equal(stats().counter[MCP_COUNT_CALLS_EXPIRED], 1);
}


TEST(mcp_call_timeout_passes_despite_progress__the_client_gets_an_error)
{
    mcp_backend_request_t  *breq;

    client_post(&d, 0, &a, session, CALL);
    aborts_after(29000, 0);
    driver_wait(&d, 2000);
    has(a.text, "-32603");
    has(a.text, "Backend timed out");
    assert_int_equal(a.ended, 1);
    assert_int_equal(d.aborts, 1);
    client_close(&d, &a);
    quiet();

    /* progress does not extend the timeout */

    breq = call(0);

    while (d.n_breqs) {
        backend_send(&d, breq, PROGRESS(1) "\n");
        driver_wait(&d, 1000);
        assert_true(count(a.text, PROGRESS(1)) < 32);
    }

    assert_int_equal(count(a.text, PROGRESS(1)), 30);
    has(a.text, "Backend timed out");
}


/* A timeout is logged once, even if its response has to wait for room. */
TEST(zone_has_no_room_for_a_timeout_error__it_is_logged_once_and_sent_later)
{
    mcp_stream_ref_t   ref;

    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 2000);
    assert_int_equal(a.streaming, 1);
    hog(&ref);
    d.te.logged = 0;
    driver_wait(&d, 29000);
    has(d.te.last, "timed out");
    driver_wait(&d, 10000);
    assert_int_equal(d.te.logged, 1);
    has_not(a.text, "Backend timed out");
    mcp_store_free(&d.process[1].store, &ref);
    driver_wait(&d, 2000);
    has(a.text, "Backend timed out");
}


/* An append fails for another reason than lack of room: the call ends with an
 * error, because its stream would lack an event. */
TEST(event_cannot_be_written__the_call_ends_with_an_error)
{
    int                     i;
    mcp_backend_request_t  *breq;

    for (i = 0; i < 2; i++) {
        breq = call_with_progress(0);
        has(a.text, PROGRESS(1));

        d.te.last[0] = '\0';
        d.unlockable = 1;

        if (i == 0) {
            backend_send(&d, breq, PROGRESS(2) "\n");
            assert_int_equal(d.aborts, 1);

        } else {
            end_with_result(breq);
        }

        assert_int_equal(d.unlockable, 0);
        has(d.te.last, "could not be appended to the stream of the call");
        has(a.text, "-32603");
        client_close(&d, &a);
        quiet();
    }
}


/* A message larger than the region ends the call at once. */
TEST(message_is_larger_than_the_zone__the_call_ends_with_an_error)
{
    char                   *text;
    int                     i;
    size_t                  len;
    mcp_backend_request_t  *breq;

    d.endpoint.max_message = 2 * DRIVER_ZONE;
    d.endpoint.stream_buffer = 4 * DRIVER_ZONE;
    text = malloc(2 * DRIVER_ZONE);
    assert_non_null(text);

    for (i = 0; i < 2; i++) {
        breq = call_with_progress(0);
        d.te.last[0] = '\0';

        len = (size_t) sprintf(text, i
            ? "{\"content\":[],\"_meta\":{\"x\":\""
            : "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\","
              "\"params\":{\"level\":\"info\",\"data\":\"");
        memset(text + len, 'x', DRIVER_ZONE);
        strcpy(text + len + DRIVER_ZONE, "\"}}\n");
        backend_send(&d, breq, text);

        if (d.n_breqs) {
            backend_end(&d, breq, MCP_FAILURE_NONE);
        }

        has(d.te.last, "a message exceeds the size of the zone");
        has(a.text, "-32603");
        assert_int_equal(a.ended, 1);
        client_close(&d, &a);
        quiet();
    }

    free(text);
}


RUN_TESTS(setup, teardown)
