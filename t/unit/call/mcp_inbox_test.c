/* SPDX-License-Identifier: Apache-2.0 */

/* Posts from other processes: cancellations, the end of a session, published
 * messages. They are handled also while a message of the backend is held. */

#include "core_cases.h"


#define ASK_ROOTS  "{\"resultType\":\"input_required\",\"inputRequests\":{"   \
                   "\"r\":{\"method\":\"roots/list\"}}}"


/* Starts a call whose stream is full and has no reader, and whose backend has
 * sent a message that is held. Sets "id" and "url" to the id of the last event
 * and the publish URL. */
static mcp_backend_request_t *
stuck(char *id, char *url, size_t size)
{
    mcp_backend_request_t  *breq;

    client_open(&d, session, NEW, ALL);
    d.endpoint.stream_buffer = 8 * 1024;
    breq = call(0);
    publish_url_of(breq, url, size);
    backend_send(&d, breq, PROGRESS(1) "\n");
    leave_with_last_id(&a, id);
    fill(breq);

    return breq;
}


/* A cancellation takes effect before the held message is appended, and before
 * messages that were published earlier. */
TEST(message_is_held__a_cancellation_still_ends_the_call)
{
    int   way;
    char  id[64], url[512];

    for (way = 0; way < 3; way++) {
        stuck(id, url, sizeof(url));

        if (way == 1) {
            publish(1, &b, url + strlen("http://127.0.0.1"), PROGRESS(77));
        }

        if (way == 2) {
            end_session(1, session);

        } else {
            cancel(1, session, "7");
        }

        assert_int_equal(d.n_breqs, 0);
        quiet();
    }
}


/* A cancellation takes effect even if other posts have filled the inbox. */
TEST(inbox_is_full__a_cancellation_still_ends_the_call)
{
    int         i, way;
    char        old[MCP_SESSION_TEXT_MAX], url[512];
    const char  *path;

    d.endpoint.stream_buffer = 8 * 1024;

    for (way = 0; way < 2; way++) {
        client_open(&d, old, OLD, ALL);
        client_post(&d, 0, &a, old, "[" CALL "," CALL8 "]");
        path = publish_url_of(d.breqs[0], url, sizeof(url));
        driver_wait(&d, 1500);
        client_close(&d, &a);

        driver_pause(&d, 0, 1);
        snprintf(line, sizeof(line), BIG(900), 0);
        i = 0;

        do {
            publish(1, &b, path, line);
            assert_true(i++ < 100);
        } while (b.status == 202);

        for (i = 0; i < 400; i++) {
            client_post(&d, 1, &b, old, NOTE("notifications/cancelled",
                                             "{\"requestId\":7}"));
            client_close(&d, &b);
        }

        if (way == 0) {
            end_session(1, old);

        } else {
            cancel(1, old, "8");
        }

        assert_int_equal(d.n_breqs, 2);
        driver_pause(&d, 0, 0);
        assert_int_equal(d.n_breqs, 0);
        quiet();
    }
}


/* The cluster reports that the session has too many calls: the call ends with
 * the error "too many streams". */
TEST(cluster_reports_too_many_streams__the_call_ends_with_an_error)
{
    mcp_backend_request_t  *breq;
    mcp_stream_info_t       info;

    client_open(&d, session, NEW, ALL);
    breq = call_with_progress(0);
    assert_ok(mcp_store_find(&d.process[1].store, breq->call->id, 0, &info));
    assert_ok(mcp_store_inbox_put(&d.process[1].store, &info.ref,
                             MCP_INBOX_LIMIT, 0, mcp_str("{}")));
    driver_pump(&d);
    has(a.text, "-32603");
    has(a.text, "too many streams");
    assert_int_equal(a.ended, 1);
    assert_int_equal(d.n_breqs, 0);
}


/* Published messages are appended after the held ones, in order. */
TEST(published_messages_are_sent_in_order_after_the_held_message)
{
    char                    id[64], url[512];
    mcp_backend_request_t  *breq;
    const char             *path;

    breq = stuck(id, url, sizeof(url));
    path = url + strlen("http://127.0.0.1");
    publish_gets(1, path, PROGRESS(77), 202);
    publish_gets(1, path, PROGRESS(78), 202);

    client_resume(&d, 1, &a, session, id);
    has(a.text, PROGRESS(77) "\n\n");
    assert_true(strstr(a.text, line) < strstr(a.text, PROGRESS(77)));
    assert_true(strstr(a.text, PROGRESS(77))
                < strstr(a.text, PROGRESS(78)));

    gets_result(&a, breq);
}


/* There is no room for a published response: the append is tried again until
 * there is room. */
TEST(zone_has_no_room_for_a_published_response__it_is_stored_when_room_is_free)
{
    char              id[64], url[512];
    const char       *path;
    mcp_stream_ref_t  ref;

    client_post(&d, 0, &a, session, CALL);
    path = publish_url_of(d.breqs[0], url, sizeof(url));
    driver_wait(&d, 1500);
    leave_with_last_id(&a, id);

    driver_pause(&d, 0, 1);
    publish_gets(1, path, RESULT, 202);
    hog(&ref);
    driver_pause(&d, 0, 0);
    driver_wait(&d, 2000);
    mcp_store_free(&d.process[1].store, &ref);
    driver_wait(&d, 1100);

    client_resume(&d, 1, &a, session, id);
    has(a.text, ANSWER);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    driver_wait(&d, 6000);
}


/*
 * The client has answered a question, the backend request that asked it has
 * not ended yet, and there is no room for a message that is published
 * meanwhile: the next backend request starts only after that message was
 * stored.
 */
TEST(stream_has_no_room_for_a_published_message__the_next_backend_request_waits)
{
    int                     i;
    char                    id[64], question[64], url[512];
    mcp_backend_request_t  *breq;
    const char             *path;

    d.endpoint.stream_buffer = 8 * 1024;
    breq = call(0);
    path = publish_url_of(breq, url, sizeof(url));
    backend_send(&d, breq, ASK_ROOTS "\n");
    question_id(a.text, "roots/list", question);
    leave_with_last_id(&a, id);
    reply(1, session, question, "\"result\":{\"roots\":[]}");

    snprintf(line, sizeof(line), BIG(900), 0);
    line[strlen(line) - 1] = '\0';

    for (i = 0; i < 12; i++) {
        publish_gets(1, path, line, 202);
    }

    backend_end(&d, breq, MCP_FAILURE_NONE);
    assert_int_equal(d.n_breqs, 0);

    client_resume(&d, 1, &a, session, id);
    assert_int_equal(count(a.text, line), 12);
    assert_int_equal(d.n_breqs, 1);
    has(d.last_body, "\"inputResponses\":{\"r\":{\"roots\":[]}}");
    gets_json_result(&a);
}


/* The backend publishes a question, for which there is no room, and then
 * replies 202: the client gets the question, and the backend gets the
 * answer. */
TEST(zone_has_no_room_for_a_published_question__a_202_does_not_replace_it)
{
    char                    id[64], question[64], url[512];
    mcp_backend_request_t  *breq;
    const char             *path;
    mcp_stream_ref_t        ref;

    client_post(&d, 0, &a, session, CALL);
    breq = d.breqs[0];
    path = publish_url_of(breq, url, sizeof(url));
    driver_wait(&d, 1500);
    leave_with_last_id(&a, id);

    driver_pause(&d, 0, 1);
    publish_gets(1, path, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":"
                          ASK_ROOTS "}", 202);
    hog(&ref);
    driver_pause(&d, 0, 0);
    respond_202(breq);
    mcp_store_free(&d.process[1].store, &ref);
    driver_wait(&d, 1100);

    client_resume(&d, 1, &a, session, id);
    question_id(a.text, "roots/list", question);
    reply(1, session, question, "\"result\":{\"roots\":[]}");
    assert_int_equal(d.n_breqs, 1);
    has(d.last_body, "\"inputResponses\":{\"r\":{\"roots\":[]}}");
    gets_json_result(&a);
}


/* A response that is published between two backend requests of a call ends the
 * call. */
TEST(response_is_published_between_backend_requests__the_client_request_ends)
{
    char                    old[MCP_SESSION_TEXT_MAX], id[64], url[512];
    mcp_backend_request_t  *breq;

    client_open(&d, old, OLD, ALL);
    client_post(&d, 0, &a, old, "[" CALL "," CALL8 "]");
    breq = backend_stream(&d, 0);
    backend_send(&d, breq, ASK_ROOTS "\n");
    question_id(a.text, "roots/list", id);
    reply(1, old, id, "\"result\":{\"roots\":[]}");
    publish(1, &b, publish_url_of(breq, url, sizeof(url)), RESULT);
    assert_int_equal(count(a.text, ANSWER), 1);

    backend_end(&d, breq, MCP_FAILURE_NONE);
    assert_int_equal(d.n_breqs, 1);
    backend_json(&d, RESULT);
    has(a.text, "\"id\":8,\"result\"");
    assert_int_equal(count(a.text, ANSWER), 1);
    assert_int_equal(a.ended, 1);
}


/* The process of a batch is paused. The answer to a question of one request and
 * its published response arrive meanwhile: its backend is not called, and the
 * other request continues. */
TEST(response_is_published_right_after_an_answer__only_the_batch_continues)
{
    char                    old[MCP_SESSION_TEXT_MAX], id[64], url[512];
    mcp_backend_request_t  *breq;
    const char             *path;

    client_open(&d, old, OLD, ALL);
    client_post(&d, 0, &a, old, "[" CALL "," CALL8 "]");
    breq = backend_stream(&d, 0);
    path = publish_url_of(breq, url, sizeof(url));
    end_with(breq, ASK_ROOTS "\n");
    question_id(a.text, "roots/list", id);

    driver_pause(&d, 0, 1);
    reply(1, old, id, "\"result\":{\"roots\":[]}");
    publish(1, &b, path, RESULT);
    d.last_body[0] = '\0';
    driver_pause(&d, 0, 0);

    assert_string_equal(d.last_body, "");
    assert_int_equal(count(a.text, ANSWER), 1);
    assert_int_equal(a.ended, 0);
    backend_json(&d, RESULT);
    has(a.text, "\"id\":8,\"result\"");
    assert_int_equal(a.ended, 1);
}


/* The publisher has got 202 and does not send the response again. */
TEST(memory_runs_out_for_a_published_response__the_client_gets_it_or_an_error)
{
    char           url[512];
    const char    *path;
    unsigned long  k = 0;

    while (test_next_failure(&d.te.tm, &k)) {
        client_post(&d, 0, &a, session, CALL);
        path = publish_url_of(d.breqs[0], url, sizeof(url));
        respond_202(d.breqs[0]);

        driver_pause(&d, 0, 1);
        publish_gets(1, path, RESULT, 202);

        d.te.tm.fail_at = k;
        driver_pause(&d, 0, 0);
        driver_pump(&d);
        d.te.tm.fail_at = 0;
        driver_wait(&d, 1100);

        assert_true(a.ended && (strstr(a.text, ANSWER)
                                || strstr(a.text, "\"error\"")));
        client_close(&d, &a);
        client_close(&d, &b);
        driver_wait(&d, 100000);
        quiet();
    }
}


RUN_TESTS(setup, teardown)
