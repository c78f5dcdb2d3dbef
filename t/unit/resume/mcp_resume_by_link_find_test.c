/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of the rules by which a stream's URL becomes invalid. */

#include "link_cases.h"


static char  old[4096];


/*
 * Three rounds of questions. In each round, the client gets the questions, and
 * its connection ends. GET returns 204 until the client POSTs answers, whose
 * response is a new stream with a new URL. The old URL is valid until the
 * client uses the new one.
 */
TEST(old_url_is_valid_until_the_client_uses_the_new_url)
{
    int                     generation;
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = linked(1);
    strcpy(old, url);

    for (generation = 0; generation < 3; generation++) {
        asked(breq);
        has(a.text + a.len - 12, "retry: 100\n\n");
        assert_int_equal(questions(a.text), 2);

        get_is(NULL, url, last, 204);
        driver_wait(&d, 500);
        get_is(session, url, last, 204);

        /* GET without Last-Event-ID: the client may have lost the questions,
         * so it gets them again */

        send_to(1, &b, session, "GET", url, NULL, "");
        assert_int_equal(b.status, 200);
        has(b.text, "elicitation/create");
        has(b.text, "roots/list");
        assert_int_equal(b.ended, 1);
        client_close(&d, &b);

        send_to(1, &a, generation % 2 ? session : NULL, "POST", url, NULL,
                answers(2));
        assert_int_equal(a.status, 200);
        cached_as_it_must(&a);
        assert_int_equal(a.streaming, 1);
        assert_int_equal(a.ended, 0);
        assert_int_equal(count(a.text, "\ndata: {"), 0);
        has(d.last_body, "\"inputResponses\":{\"k\":{\"action\":\"accept\"},"
                         "\"r\":{\"roots\":[]}}");

        strcpy(old, url);
        assert_non_null(link_of(&a, url));
        assert_string_not_equal(old, url);

        /* the client may not have received the new URL: the old one is
         * valid */

        get_is(session, old, last, 200);
        assert_int_equal(a.ended, 1);
        client_close(&d, &a);
        send_to(0, &b, session, "POST", old, NULL, line);
        assert_int_equal(b.status, 200);
        assert_int_equal(questions(b.text), 0);
        client_close(&d, &b);

        /* the new URL is used: the old one is not valid any more */

        send_to(0, &a, session, "GET", url, last, "");
        assert_int_equal(a.status, 200);
        assert_non_null(link_of(&a, url));
        get_is(session, old, last, 404);
        get_is(session, old, NULL, 404);
        send_to(0, &b, session, "POST", old, NULL, line);
        answered(&b, 404, LOST);
        assert_int_equal(a.ended, 0);

        assert_int_equal(d.n_breqs, 1);
        breq = backend_stream(&d, 0);
        backend_send(&d, breq, PROGRESS(2) "\n");
        assert_int_equal(a.ended, 0);
    }

    end_with_result(breq);
    assert_int_equal(count(a.text, ANSWER), 1);
    assert_int_equal(count(a.text, "elicitation/create"), 0);
    leave_with_last_id(&a, last);
    get_is(NULL, url, last, 204);
    assert_int_equal(stats().values, 0);
}


/* A superseded URL stays invalid as long as its stream exists: for the
 * x-mcp-max-wait of the tool, and while a client reads the stream. */
TEST(superseded_url_stays_invalid_as_long_as_its_stream_exists)
{
    int  i;

    use_catalog("{\"tools\":[{\"name\":\"echo\",\"inputSchema\":"
                "{\"type\":\"object\"},\"x-mcp-max-wait\":600}]}");
    d.endpoint.max_wait = 1000;

    begin(NEW);
    linked(0);
    strcpy(old, url);
    asked(d.breqs[0]);
    send_to(1, &a, session, "POST", url, NULL, answers(2));
    assert_non_null(link_of(&a, url));
    client_close(&d, &a);
    backend_json(&d, RESULT);
    driver_wait(&d, 590000);
    get_is(session, url, NULL, 200);
    get_is(session, old, NULL, 404);

    /* each GET restarts mcp_linger */

    for (i = 0; i < 200; i++) {
        get_is(session, url, NULL, 200);
        driver_wait(&d, 4500);
    }

    get_is(session, old, NULL, 404);
    get_is(session, url, NULL, 200);
    driver_wait(&d, 5500);
    get_is(session, url, NULL, 404);
}


/* A connection that a client has resumed by an event id stays open for 20
 * rounds of questions: the superseded URL stays invalid. */
TEST(superseded_url_is_still_invalid_after_20_more_rounds_of_questions)
{
    int  i;

    begin(MIDDLE);
    linked(0);
    strcpy(old, url);
    end_with(d.breqs[0], ASK "\n");
    client_last_id(&a, last);
    read_ids();
    client_close(&d, &a);
    send_to(1, &a, session, "POST", url, NULL, answers(2));
    assert_int_equal(a.status, 200);
    assert_non_null(link_of(&a, url));
    client_close(&d, &a);
    get_is(session, url, last, 200);

    client_resume(&d, 1, &a, session, last);

    for (i = 0; i < 20; i++) {
        driver_wait(&d, 15000);
        backend_json(&d, ASK);
        assert_int_equal(a.ended, 0);
        read_ids();
        reply(0, session, ids[0], "\"result\":{\"action\":\"accept\"}");
        reply(1, session, ids[1], "\"result\":{\"roots\":[]}");
    }

    get_is(session, old, NULL, 404);
    gets_json_result(&a);
}


RUN_TESTS(setup, teardown)
