/* SPDX-License-Identifier: Apache-2.0 */

/* Backend requests: handling of messages, messages that are held because the
 * stream has no room, and the ends of a backend request. */

#include "core_cases.h"


TEST(stream_is_full__the_backend_waits_and_no_message_is_lost)
{
    char                   *p, id[64];
    unsigned                i, sent;
    mcp_backend_request_t  *breq;

    d.endpoint.stream_buffer = 8 * 1024;

    breq = call(0);
    backend_send(&d, breq, PROGRESS(0) "\n");
    leave_with_last_id(&a, id);

    sent = 0;

    for (i = 1; i < 100; i++) {
        snprintf(line, sizeof(line), NOTE("notifications/progress",
                 "{\"progressToken\":\"t\",\"progress\":%u,"
                 "\"message\":\"%0900d\"}") "\n", i, 0);

        if (backend_send(&d, breq, line) == 0) {
            break;
        }

        sent = i;
    }

    assert_true(sent > 2 && sent < 20);

    client_resume(&d, 1, &b, session, id);
    assert_true(d.resumes > 0);

    for (i = sent + 1; i <= 40; i++) {
        snprintf(line, sizeof(line), NOTE("notifications/progress",
                 "{\"progressToken\":\"t\",\"progress\":%u,"
                 "\"message\":\"%0900d\"}") "\n", i, 0);
        assert_int_equal(backend_send(&d, breq, line), strlen(line));
    }

    end_with_result(breq);

    /* the client gets every progress notification, in order, although each one
     * supersedes the one before it */

    p = b.text;

    for (i = 1; i <= 40; i++) {
        snprintf(line, sizeof(line), "\"progress\":%u,", i);
        assert_int_equal(count(b.text, line), 1);
        p = strstr(p, line);
        assert_non_null(p);
    }

    has(p, ANSWER);
}


/* A message of a backend is held because the stream has no room. Then the call
 * ends or continues in one of several ways. */
TEST(message_is_held__a_result_or_failure_or_timeout_or_no_client_ends_the_call)
{
    enum { LEAVE, RESULT_COMES, BACKEND_BREAKS, TIMEOUT, NOBODY_COMES, THINGS };

    int                     thing, n;
    char                    id[64];
    mcp_backend_request_t  *breq;

    d.endpoint.stream_buffer = 8 * 1024;

    for (thing = 0; thing < THINGS; thing++) {

        client_open(&d, session, NEW, ALL);
        d.resumes = 0;
        breq = call_with_progress(0);
        leave_with_last_id(&a, id);
        n = fill(breq);

        switch (thing) {

        case LEAVE:
            /* the client resumes, and disconnects before it has received all
             * events */
            client_init(&a, session);
            client_header(&a, "Last-Event-ID", id);
            a.slow = 1;
            client_send(&d, 1, &a, "GET", "");
            client_pull(&a);
            client_close(&d, &a);
            assert_int_equal(d.n_breqs, 1);
            break;

        case RESULT_COMES:
            /* the stream has no room: the core does not accept the result, and
             * the backend has to wait */
            assert_int_equal(backend_send(&d, breq, RESULT "\n"), 0);
            break;

        case BACKEND_BREAKS:
            backend_end(&d, breq, MCP_FAILURE_REPLY);
            break;

        case TIMEOUT:
            driver_wait(&d, 31000);
            assert_int_equal(d.n_breqs, 0);
            break;

        case NOBODY_COMES:
            d.endpoint.call_timeout = 3600000;
            backend_end(&d, breq, MCP_FAILURE_NONE);
            driver_wait(&d, 130000);
            quiet();
            assert_int_equal(stats().streams, 0);
            d.endpoint.call_timeout = 30000;
            continue;
        }

        client_resume(&d, 1, &b, session, id);
        line[strlen(line) - 1] = '\0';

        /* after a timeout the held message is lost with its backend request */

        assert_int_equal(count(b.text, line), thing == TIMEOUT ? n - 1 : n);

        if (d.n_breqs) {
            assert_int_equal(d.resumes, 1);
            gets_result(&b, breq);

        } else {
            has(b.text, "-32603");
        }

        assert_int_equal(b.ended, 1);
        client_close(&d, &b);
        quiet();
    }
}


/* The last bytes of a reply contain notifications, for which the stream has no
 * room, and the result, except in the case NO_RESULT. The client resumes after
 * mcp_call_timeout, and gets all messages. In the case BREAKS, the connection to
 * the backend breaks after the result. */
TEST(reply_has_ended_behind_a_held_notification__the_call_does_not_time_out)
{
    enum { COMPLETE, BREAKS, NO_RESULT, WAYS };

    int                     i, way;
    char                    id[64];
    mcp_backend_request_t  *breq;

    d.endpoint.stream_buffer = 8 * 1024;

    for (way = 0; way < WAYS; way++) {
        breq = call(0);
        backend_send(&d, breq, PROGRESS(0) "\n");
        leave_with_last_id(&a, id);

        line[0] = '\0';

        for (i = 1; i <= 20; i++) {
            snprintf(line + strlen(line), 2000, BIG(900), i);
        }

        strcat(line, way == NO_RESULT ? "" : RESULT "\n");
        assert_int_equal(backend_send(&d, breq, line), strlen(line));
        backend_end(&d, breq, way == COMPLETE ? MCP_FAILURE_NONE
                                              : MCP_FAILURE_REPLY);
        driver_wait(&d, 31000);

        client_resume(&d, 1, &a, session, id);
        assert_int_equal(count(a.text, "\"progressToken\""), 20);
        has(a.text, way == NO_RESULT ? "-32603" : ANSWER);
        assert_int_equal(a.ended, 1);
        client_close(&d, &a);
        quiet();
    }
}


/* There is no room for the response, not even in the reserve: the append is
 * tried again until there is room, even without a wake-up, and beyond the
 * timeout of the call. */
TEST(zone_has_no_room_for_the_response__it_is_stored_as_soon_as_room_is_free)
{
    enum { AT_END, SAID, BREAKS, LATE, WAYS };

    int                     way;
    char                    id[64];
    unsigned                logged;
    mcp_backend_request_t  *breq;
    mcp_stream_ref_t        ref;

    for (way = 0; way < WAYS; way++) {
        client_open(&d, session, NEW, ALL);
        client_post(&d, 0, &a, session, CALL);
        driver_wait(&d, 1500);
        leave_with_last_id(&a, id);
        breq = d.breqs[0];
        hog(&ref);

        switch (way) {

        case SAID:
            mcp_backend_request_head(breq, 200,
                mcp_str("application/x-ndjson"));
            end_with_result(breq);
            break;

        case BREAKS:
            backend_end(&d, breq, MCP_FAILURE_REPLY);
            break;

        default:
            backend_json(&d, RESULT);
        }

        assert_int_equal(d.n_breqs, 0);
        assert_int_equal(d.process[0].worker->calls, 1);

        if (way == LATE) {
            driver_wait(&d, 40000);
            assert_int_equal(d.process[0].worker->calls, 1);
        }

        /* failed attempts are logged once */

        logged = d.te.logged;
        driver_wait(&d, 5000);
        assert_int_equal(d.te.logged, logged);

        /* the zone gets room while the process receives no wake-up: the timer
         * appends the response */

        driver_pause(&d, 0, 1);
        mcp_store_free(&d.process[1].store, &ref);
        driver_wait(&d, 1100);

        client_resume(&d, 1, &a, session, id);
        has(a.text, way == BREAKS ? "-32603" : ANSWER);
        assert_int_equal(a.ended, 1);
        driver_pause(&d, 0, 0);
        client_close(&d, &a);
        quiet();
        driver_wait(&d, 100000);
    }
}


/* A backend request has not been started yet, but a question is published for
 * it and the client answers: the next backend request starts, although the
 * first one never ends. */
TEST(question_is_answered_before_the_backend_request_starts__input_retry_starts)
{
    char         id[64], url[512];
    const char  *path;
    mcp_call_t  *call;

    driver_pause(&d, 0, 1);
    client_post(&d, 0, &a, session, CALL);
    call = a.x->call;
    path = publish_url_of(&call->requests[0].breq, url, sizeof(url));
    *mcp_event_id_print(id, call->id, 1) = '\0';
    client_close(&d, &a);

    publish_gets(1, path, "{\"resultType\":\"input_required\","
            "\"inputRequests\":{\"r\":{\"method\":\"roots/list\"}}}", 202);
    mcp_worker_wake(d.process[0].worker);
    reply(1, session, id, "\"result\":{\"roots\":[]}");
    mcp_worker_wake(d.process[0].worker);

    driver_wait(&d, 6000);
    driver_pause(&d, 0, 0);
    assert_int_equal(d.n_breqs, 1);
    has(d.last_body, "\"inputResponses\":{\"r\":{\"roots\":[]}}");
    backend_json(&d, RESULT);
}


/* A backend sends more messages after its response and never closes its
 * connection: they are ignored. */
TEST(messages_of_a_backend_after_its_response_are_ignored)
{
    int                     fast;
    mcp_backend_request_t  *breq;

    for (fast = 0; fast < 2; fast++) {
        d.aborts = 0;
        breq = call(0);

        if (!fast) {
            backend_send(&d, breq, PROGRESS(1) "\n");
        }

        backend_send(&d, breq, RESULT "\n" PROGRESS(2) "\n" RESULT "\n");
        assert_int_equal(backend_send(&d, breq, PROGRESS(3) "\n"),
                         strlen(PROGRESS(3) "\n"));
        has(a.text, ANSWER);
        assert_int_equal(count(a.text, "\"id\":7"), 1);
        has_not(a.text, PROGRESS(2));
        has_not(a.text, PROGRESS(3));
        assert_int_equal(a.ended, 1);

        client_close(&d, &a);
        aborts_after(4000, 0);
        aborts_after(2000, 1);
        quiet();
    }
}


/* The glue may still read the body of a backend request that has ended. The
 * body is in the memory of the call, so the call is freed with the last
 * reference to it. */
TEST(backend_request_ends__its_body_is_kept_while_its_call_has_a_reference)
{
    mcp_backend_request_t  *breq;
    mcp_str_t               body;
    mcp_call_t             *retained;

    breq = call(0);
    assert_false(breq->rebuilt);
    body = breq->body;
    retained = breq->call;
    mcp_call_retain(retained);

    end_with_result(breq);
    assert_string_equal(a.text, ANSWER);
    client_close(&d, &a);

    assert_non_null(memmem(body.data, body.len, "tools/call", 10));
    mcp_call_release(retained);
    driver_pump(&d);
}


TEST(glue_refuses_the_first_backend_request__the_client_gets_429)
{
    mcp_backend_request_t  *breq;

    d.endpoint.quota_key = MCP_QUOTA_KEY_ADDRESS;
    d.endpoint.quota_streams = MCP_QUOTA_SHARE;

    breq = call(0);
    assert_true(mcp_backend_request_is_first(breq));
    assert_memory_equal(mcp_backend_request_tenant(breq), breq->call->tenant,
                        MCP_DIGEST_LEN);

    d.endpoint.quota_streams = MCP_QUOTA_OFF;
    assert_null(mcp_backend_request_tenant(breq));

    mcp_backend_request_refuse(breq, "test");
    d.n_breqs--;                                  /* the backend request has
                                                    ended */
    driver_pump(&d);
    assert_int_equal(a.status, 429);
    assert_int_equal(stats().counter[MCP_COUNT_REJECTED_LIMIT], 1);
}


RUN_TESTS(setup, teardown)
