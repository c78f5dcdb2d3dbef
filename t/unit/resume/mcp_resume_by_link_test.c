/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of streams with a URL: GET, POST, rounds of questions. */

#include "link_cases.h"
#include "store/mcp_store_replication.h"
#include "worker/mcp_cluster_operation.h"


static char              old[4096];
static mcp_stream_ref_t  shared;


TEST(stream_resumed_by_url_begins_with_the_number_of_dropped_events)
{
    mcp_backend_request_t  *breq;

    begin(NEW);
    d.endpoint.stream_buffer = 8 * 1024;
    breq = linked(1);
    client_last_id(&a, last);
    flood(breq, 50);
    client_close(&d, &a);

    get_is(NULL, url, last, 404);

    send_to(1, &b, NULL, "GET", url, NULL, "");
    assert_int_equal(b.status, 200);
    gap_reported(b.text, 50);
    gets_result(&b, breq);
}


/* GET of a stream's URL, with and without Last-Event-ID, with and without a
 * session. */
TEST(GET_request_to_a_url_resumes_its_stream_with_or_without_a_session)
{
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = linked(2);
    client_last_id(&a, last);

    /* GET of the URL: the connection of the POST ends */

    send_to(1, &b, NULL, "GET", url, NULL, "");
    assert_int_equal(b.status, 200);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    assert_int_equal(count(b.text, PROGRESS(1)), 2);
    variable_is(mcp_exchange_variables(b.x), MCP_VARIABLE_RESUME_METHOD,
                "link");
    variable_is(mcp_exchange_variables(b.x), MCP_VARIABLE_RESUMED, "1");
    assert_non_null(link_of(&b, old));
    client_close(&d, &b);

    send_to(1, &b, session, "GET", old, last, "");
    assert_int_equal(count(b.text, PROGRESS(1)), 0);
    backend_send(&d, breq, PROGRESS(2) "\n");
    assert_int_equal(count(b.text, PROGRESS(2)), 1);

    /* the URL in the head of this response resumes at the same event as the
     * response */

    assert_non_null(link_of(&b, old));
    client_close(&d, &b);
    send_to(0, &b, session, "GET", old, NULL, "");
    assert_int_equal(count(b.text, PROGRESS(1)), 0);
    assert_int_equal(count(b.text, PROGRESS(2)), 1);

    gets_result(&b, breq);
    assert_int_equal(b.ended, 1);
    leave_with_last_id(&b, last);

    /* Last-Event-ID names the last event: 204; without Last-Event-ID the
     * client gets the response again */

    get_is(session, url, last, 204);
    get_is(NULL, url, last, 204);
    send_to(0, &b, NULL, "GET", url, NULL, "");
    assert_int_equal(count(b.text, ANSWER), 1);
    client_close(&d, &b);
    driver_wait(&d, 20000);
    get_is(NULL, url, NULL, 404);

    /* an error of GET without a URL has no Cache-Control */

    client_resume(&d, 0, &b, session, last);
    assert_int_equal(b.status, 404);
    assert_null(client_response_header(&b, "Cache-Control"));
}


/* The client has answered the questions, but the answers have not reached the
 * process of the call: GET waits instead of responding with 204. */
TEST(answers_have_not_yet_reached_the_call__a_GET_request_waits_for_events)
{
    begin(NEW);
    asked(linked(1));
    driver_pause(&d, 0, 1);
    client_post(&d, 1, &a, session, answer_of(0));
    client_close(&d, &a);
    client_post(&d, 1, &a, session, answer_of(1));
    client_close(&d, &a);

    send_to(1, &a, session, "GET", url, last, "");
    assert_int_equal(a.status, 200);
    assert_int_equal(a.ended, 0);

    send_to(1, &b, session, "GET", url, NULL, "");
    assert_int_equal(questions(b.text), 2);
    assert_int_equal(b.ended, 0);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);

    driver_pause(&d, 0, 0);
    gets_result(&b, d.breqs[0]);
}


/* Questions are stored after the connection has last read its stream: they are
 * sent before the connection ends. */
TEST(questions_arrive_after_the_last_read__they_are_sent_before_the_stream_ends)
{
    begin(NEW);
    (void) linked(1);
    client_close(&d, &a);
    send_to(1, &a, session, "GET", url, NULL, "");
    assert_int_equal(count(a.text, PROGRESS(1)), 1);

    driver_pause(&d, 1, 1);
    end_with(d.breqs[0], ASK "\n");
    assert_int_equal(client_pull(&a), MCP_AGAIN);
    driver_pause(&d, 1, 0);

    assert_int_equal(questions(a.text), 2);
    assert_int_equal(a.ended, 1);
    read_ids();
    client_close(&d, &a);

    send_to(1, &a, session, "POST", url, NULL, answers(2));
    gets_result(&a, d.breqs[0]);
}


/* The client sends its answers twice: the call ignores the second copy. A GET
 * waits until that copy has reached the call, and ends when the call has
 * ignored it. */
TEST(client_sends_its_answers_twice__the_call_ignores_the_second_copy)
{
    begin(NEW);
    d.endpoint.keepalive = 0;
    asked(linked(1));
    send_to(1, &a, session, "POST", url, NULL, answers(1));
    assert_non_null(link_of(&a, url));
    client_close(&d, &a);

    send_to(1, &a, session, "POST", url, NULL, answers(1));
    assert_int_equal(questions(a.text), 1);
    assert_int_equal(a.ended, 1);
    assert_non_null(link_of(&a, url));
    client_close(&d, &a);

    driver_pause(&d, 0, 1);
    client_post(&d, 1, &a, session, answer_of(0));
    client_close(&d, &a);
    send_to(1, &a, session, "GET", url, last, "");
    assert_int_equal(a.status, 200);
    assert_int_equal(a.ended, 0);
    driver_pause(&d, 0, 0);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);

    client_post(&d, 1, &a, session, answer_of(1));
    client_close(&d, &a);
    backend_json(&d, RESULT);
}


/* In a batch, the request that asked a question has ended and the other
 * request is active: GET for later events waits for the other request and does
 * not return 204. */
TEST(one_request_of_a_batch_has_ended__a_GET_request_waits_for_the_other)
{
    mcp_backend_request_t  *breq;

    begin(OLD);
    send_to(0, &a, session, "POST", "/mcp", NULL, "[" CALL "," CALL8 "]");
    breq = backend_stream(&d, 1);
    end_with(breq, "{\"resultType\":\"input_required\","
             "\"inputRequests\":{\"r\":{\"method\":\"roots/list\"}},"
             "\"requestState\":\"s1\"}\n");
    assert_non_null(link_of(&a, url));
    question_id(a.text, "roots/list", ids[0]);
    assert_int_equal(a.ended, 1);
    leave_with_last_id(&a, last);
    reply(0, session, ids[0], "\"error\":{\"code\":-1,\"message\":\"no\"}");
    send_to(0, &a, session, "GET", url, last, "");
    client_last_id(&a, last);
    has(a.text, "\"id\":8,");
    client_close(&d, &a);

    send_to(1, &b, session, "GET", url, last, "");
    assert_int_equal(b.status, 200);
    backend_reply(&d, d.breqs[0], RESULT);
    has(b.text, "\"id\":7,");
}


/* Events that were written may not have arrived. The stream in the response to
 * the answers begins after the last event of which the answers, the URL or
 * Last-Event-ID prove that it has arrived. */
TEST(stream_in_response_to_answers_starts_after_the_last_received_event)
{
    static const struct {
        int  from_get;                 /* 1 if the client has got its URL by a
                                          GET after event 4 */
        int  named;                    /* number of the event in Last-Event-ID,
                                          0: no header */
        int  after;
    } cases[] = {
        { 0, 0, 3 }, { 0, 1, 3 }, { 0, 4, 4 }, { 0, 5, 5 }, { 1, 0, 4 },
        { 1, 3, 4 }, { 1, 5, 5 }
    };

    int                     k;
    char                    path[512], named[64], id[64];
    size_t                  i;
    mcp_backend_request_t  *breq;

    for (i = 0; i < ITEMS(cases); i++) {
        begin(NEW);
        breq = linked(1);
        strcpy(path, publish_url_of(breq, old, sizeof(old)));
        asked(breq);

        /* events 4 and 5, which follow the questions, are lost on the
         * connection before the client sends its answers */

        publish(0, &b, path, PROGRESS(4));
        publish(1, &b, path, PROGRESS(5));
        send_to(0, &b, session, "GET", url, last, "");
        has(b.text, PROGRESS(5));
        client_close(&d, &b);

        if (cases[i].from_get) {
            snprintf(id, sizeof(id), "%.22s.4", last);
            send_to(0, &b, session, "GET", url, id, "");
            assert_non_null(link_of(&b, url));
            client_close(&d, &b);
        }

        snprintf(named, sizeof(named), "%.22s.%d", last, cases[i].named);
        send_to(1, &a, session, "POST", url, cases[i].named ? named : NULL,
                answers(2));
        assert_int_equal(a.status, 200);

        for (k = 1; k <= 5; k++) {
            snprintf(id, sizeof(id), "id: %.22s.%d\ndata: {", last, k);
            assert_int_equal(count(a.text, id), k > cases[i].after);
        }

        client_close(&d, &a);
        assert_int_equal(d.n_breqs, 1);
        backend_json(&d, RESULT);
    }
}


/* POSTs answers to a URL whose questions are answered already: the response is
 * the stream after the questions. */
static void
answered_again(const char *body)
{
    send_to(0, &a, NULL, "POST", url, NULL, body);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.ended, 0);
    assert_int_equal(questions(a.text), 0);
    assert_non_null(link_of(&a, old));
    assert_int_equal(d.n_breqs, 1);
    client_close(&d, &a);
}


/*
 * The client has lost the head of the response to its answers, and so the new
 * URL. It gets the stream by a POST of the same or other answers to the old
 * URL, where the first answers count, or by a GET with Last-Event-ID at the
 * endpoint.
 */
TEST(client_loses_the_new_url__it_gets_the_stream_with_the_old_url)
{
    begin(NEW);
    linked(1);
    asked(d.breqs[0]);
    driver_pause(&d, 0, 1);
    send_to(1, &a, session, "POST", url, NULL, answers(2));
    answered(&a, 200, NULL);

    /* other answers are POSTed to the old URL, first before the call has
     * received the first answers, then after it has continued */

    snprintf(old, sizeof(old), "[{\"jsonrpc\":\"2.0\",\"id\":\"%s\","
             "\"result\":{\"action\":\"decline\"}}]", ids[0]);
    send_to(1, &a, session, "POST", url, NULL, old);
    answered(&a, 200, NULL);
    driver_pause(&d, 0, 0);
    assert_int_equal(d.n_breqs, 1);
    has(d.last_body, "\"inputResponses\":{\"k\":{\"action\":\"accept\"},");

    snprintf(old, sizeof(old), "[{\"jsonrpc\":\"2.0\",\"id\":\"%s\","
             "\"result\":{\"action\":\"decline\"}}]", ids[1]);
    answered_again(old);
    answered_again(answers(2));
    has(d.last_body, "\"inputResponses\":{\"k\":{\"action\":\"accept\"},");

    /* GET at the endpoint, with the id of an event before the questions */

    snprintf(old, sizeof(old), "%.22s.1", last);
    client_init(&a, session);
    client_header(&a, "Host", "mcp.example");
    client_header(&a, "Last-Event-ID", old);
    client_send(&d, 1, &a, "GET", "");
    assert_int_equal(a.status, 200);
    assert_int_equal(questions(a.text), 2);
    assert_non_null(link_of(&a, old));
    client_close(&d, &a);

    /* the call has asked new questions, and the client POSTs the answers of
     * the previous round: it gets the new questions */

    end_with(d.breqs[0], ASK "\n");
    send_to(0, &a, session, "POST", url, NULL, answers(2));
    assert_int_equal(questions(a.text), 2);
    assert_int_equal(a.ended, 1);
    assert_int_equal(d.n_breqs, 0);
    assert_non_null(link_of(&a, url));
    client_last_id(&a, last);
    read_ids();
    client_close(&d, &a);
    send_to(0, &a, session, "POST", url, NULL, answers(2));
    assert_int_equal(d.n_breqs, 1);
    client_close(&d, &a);

    backend_json(&d, RESULT);
    send_to(1, &a, NULL, "GET", old, last, "");
    answered(&a, 404, NULL);
    send_to(1, &a, NULL, "GET", url, last, "");
    assert_int_equal(count(a.text, ANSWER), 1);
}


/* A connection that has got a URL in its head may be closed after
 * mcp_close_after, before the response of the call. The last field that it
 * gets is "retry". */
TEST(mcp_close_after_has_passed__a_stream_with_a_url_closes_and_can_be_resumed)
{
    mcp_backend_request_t  *breq;

    d.endpoint.close_after = 3000;
    begin(NEW);
    breq = linked(1);
    driver_wait(&d, 3100);
    assert_int_equal(a.ended, 1);
    has(a.text + a.len - 13, "retry: 2000\n\n");
    has_not(a.text, ANSWER);
    leave_with_last_id(&a, last);

    send_to(1, &b, NULL, "GET", url, last, "");
    assert_int_equal(b.ended, 0);
    driver_wait(&d, 3100);
    assert_int_equal(b.ended, 1);
    has(b.text + b.len - 13, "retry: 2000\n\n");
    client_close(&d, &b);

    send_to(0, &b, NULL, "GET", url, last, "");
    gets_result(&b, breq);
}


/* In every revision, a stream with a URL ends after questions and after
 * mcp_close_after, and the client may resume by its URL or by an event id. */
TEST(stream_has_a_url__questions_and_mcp_close_after_close_it_in_any_revision)
{
    static const char *const  revisions[] = { "2024-11-05", OLD, MIDDLE, NEW };

    size_t  i;

    for (i = 0; i < ITEMS(revisions); i++) {
        d.endpoint.close_after = 0;
        begin(revisions[i]);
        linked(0);
        end_with(d.breqs[0], "{\"resultType\":\"input_required\","
                 "\"inputRequests\":{\"r\":{\"method\":\"roots/list\"}}}\n");
        assert_int_equal(a.ended, 1);
        question_id(a.text, "roots/list", ids[0]);
        has(a.text + a.len - 12, "retry: 100\n\n");
        client_close(&d, &a);
        get_is(NULL, url, ids[0], 204);

        /* a resumed stream has the configured "retry"; it begins with an event
         * id only if Last-Event-ID was sent */

        send_to(0, &a, NULL, "GET", url, NULL, "");
        assert_memory_equal(a.text, ":\n\nretry: 2000\n\nid: ", 20);
        client_close(&d, &a);
        client_resume(&d, 1, &a, session, ids[0]);

        if (i == ITEMS(revisions) - 1) {
            assert_memory_equal(a.text, "id: ", 4);
            assert_memory_equal(a.text + 4, ids[0], strlen(ids[0]));
            assert_string_equal(a.text + 4 + strlen(ids[0]),
                                "\nretry: 2000\ndata: \n\n");
        }

        client_close(&d, &a);
        d.endpoint.close_after = 3000;
        snprintf(line, sizeof(line), "[{\"jsonrpc\":\"2.0\",\"id\":\"%s\","
                 "\"result\":{\"roots\":[]}}]", ids[0]);
        send_to(1, &a, NULL, "POST", url, NULL, line);
        assert_int_equal(d.n_breqs, 1);
        driver_wait(&d, 3100);
        assert_int_equal(a.ended, 1);
        assert_non_null(link_of(&a, url));
        client_close(&d, &a);
        backend_json(&d, RESULT);
        send_to(0, &a, NULL, "GET", url, NULL, "");
        has(a.text, ANSWER);
        client_close(&d, &a);

        linked(0);
        driver_wait(&d, 3100);
        assert_int_equal(a.ended, 1);
        client_close(&d, &a);
        backend_json(&d, RESULT);
    }
}


/* A token, and the name of the URL's argument, may be percent-encoded. If the
 * URL has the argument several times, the last one counts. */
TEST(stream_url_repeats_its_token_or_encodes_it__the_last_decoded_token_counts)
{
    char                    text[2048], *p;
    const char *secret, *q;
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = linked(1);
    client_close(&d, &a);
    secret = strstr(url, "mcp-stream=") + sizeof("mcp-stream=") - 1;

    p = text + sprintf(text, "/mcp?mcp%%2dstream=");

    for (q = secret; *q; q++) {
        p += sprintf(p, "%%%02X", (unsigned char) *q);
    }

    get_is(session, text, NULL, 200);

    snprintf(text, sizeof(text), "/mcp?mcp-stream=x&mcp-stream=%s", secret);
    get_is(session, text, NULL, 200);
    snprintf(text, sizeof(text), "/mcp?mcp-stream=%s&mcp%%2Dstream=x", secret);
    get_is(session, text, NULL, 404);
    snprintf(text, sizeof(text), "/mcp?mcp-stream=%s%%2", secret);
    get_is(session, text, NULL, 404);
    snprintf(text, sizeof(text), "/mcp?mcp-stream=%s%%4g", secret);
    get_is(session, text, NULL, 404);
    snprintf(text, sizeof(text), "/mcp?mcp-stream=%01500d", 0);
    get_is(session, text, NULL, 404);

    end_with_result(breq);
}


static void
post_is(const char *target, const char *body, int status, const char *part)
{
    send_to(0, &b, session, "POST", target, NULL, body);

    if (b.status != status) {
        fail_msg("%d for %s: %s", b.status, body, b.text);
    }

    has(b.text, part);
    cached_as_it_must(&b);
    client_close(&d, &b);
}


TEST(invalid_answers_get_400_and_invalid_stream_urls_get_404)
{
    size_t                  k, n;
    char                    bad[1024];
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = linked(1);
    client_last_id(&a, last);

    /* answers while no question is open, and then bodies that are not answers
     * to the open questions: 400 */

    snprintf(line, sizeof(line), "[{\"jsonrpc\":\"2.0\",\"id\":\"%.22s.1\","
             "\"result\":{}}]", last);
    post_is(url, line, 400, ERROR);

    snprintf(line, sizeof(line), "[{\"jsonrpc\":\"2.0\",\"id\":\"%.22s.1\","
             "\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":\"%.22s.1\","
             "\"result\":{}}]", last, last);
    post_is(url, line, 400, "more responses than the stream has open requests");

    end_with(breq, ASK "\n");
    client_close(&d, &a);

    post_is(url, "[]", 400, ERROR);
    post_is(url, "[", 400, "-32700");
    post_is(url, PING, 400, ERROR);
    post_is(url, "[" PING "]", 400, ERROR);
    post_is(url, "[" CALL "]", 400, ERROR);
    post_is(url, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]", 400,
            ERROR);
    post_is(url, "[{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}]", 400,
            ERROR);
    post_is(url, "[{\"jsonrpc\":\"2.0\",\"id\":"
            "\"AAAAAAAAAAAAAAAAAAAAAA.1\",\"result\":{}}]", 400, ERROR);

    for (k = 0; k < 5; k += 4) {
        snprintf(line, sizeof(line), "[{\"jsonrpc\":\"2.0\",\"id\":"
                 "\"%.22s.%zu\",\"result\":{}}]", last, k);
        post_is(url, line, 400, ERROR);
    }

    /* a URL with a changed token */

    n = (size_t) (strstr(url, "mcp-stream=") - url) + 11;

    for (k = n; k <= strlen(url); k++) {
        mangle(url, bad, k);
        get_is(session, bad, NULL, 404);
        get_is(NULL, bad, NULL, 404);
    }

    post_is(bad, line, 404, LOST);
    get_is(session, "/mcp?mcp-stream=", NULL, 404);
    get_is(session, url, "AAAAAAAAAAAAAAAAAAAAAA.1", 404);
    get_is("nonsense", url, NULL, 404);

    /* the URL is used in another session, and by another principal */

    client_open(&d, other, NEW, "{}");
    get_is(other, url, NULL, 404);
    client_init(&b, NULL);
    client_header(&b, "Host", "mcp.example");
    b.principal = "bob";
    b.target = url;
    client_send(&d, 0, &b, "GET", "");
    answered(&b, 404, LOST);

    /* the call is cancelled; the session of a call is deleted */

    cancel(0, session, "7");
    get_is(session, url, NULL, 404);
    quiet();

    breq = linked(1);
    client_close(&d, &a);
    end_with_result(breq);
    end_session(0, session);
    get_is(NULL, url, NULL, 404);
}


/* Last-Event-ID with a URL: a malformed event id (400) is distinguished from
 * an event that the stream does not have (404), as at the endpoint. */
TEST(malformed_last_event_id_with_a_url_gets_400_and_an_unknown_one_404)
{
    static const struct {
        const char  *id;               /* value of Last-Event-ID; "S" is
                                          replaced by the id of the stream */
        int          status;
        const char  *text;
    } cases[] = {
        { "nonsense", 400, "Invalid event ID format" },
        { "S", 400, "Invalid event ID format" },
        { "S.01", 400, "Invalid event ID format" },
        { "S.9", 404, "Unknown event ID" },
        { "AAAAAAAAAAAAAAAAAAAAAA.1", 404, "Unknown event ID" }
    };

    char    after[64];
    size_t  i, k;

    static const char *const  methods[] = { "GET", "POST" };

    begin(NEW);
    asked(linked(0));

    for (i = 0; i < 2 * ITEMS(cases); i++) {
        k = i / 2;
        snprintf(after, sizeof(after), "%.*s%s",
                 cases[k].id[0] == 'S' ? 22 : 0, last,
                 cases[k].id + (cases[k].id[0] == 'S'));
        send_to(1, &b, NULL, methods[i % 2], url, after, answers(2));
        assert_int_equal(b.status, cases[k].status);
        has(b.text, cases[k].text);
        cached_as_it_must(&b);
        client_close(&d, &b);

        client_resume(&d, 1, &b, session, after);
        assert_int_equal(b.status, cases[k].status);
        has(b.text, cases[k].text);
        client_close(&d, &b);
    }

    driver_wait(&d, 70000);
}


/* A protocol version that is not supported is rejected, with and without a
 * session. */
TEST(request_to_a_url_with_an_unsupported_revision_gets_400)
{
    static const struct {
        const char  *of;
        const char  *method;
        const char  *revision;
        int          status;
    } cases[] = {
        { session, "GET", "1999-01-01", 400 },
        { NULL, "GET", "1999-01-01", 400 },
        { NULL, "GET", "", 400 },
        { NULL, "POST", "1999-01-01", 400 },
        { NULL, "GET", OLD, 200 },
        { NULL, "GET", NEW, 200 }
    };

    size_t                  i;
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = linked(1);

    for (i = 0; i < ITEMS(cases); i++) {
        client_init(&b, cases[i].of);
        client_header(&b, "Host", "mcp.example");
        client_header(&b, "MCP-Protocol-Version", cases[i].revision);
        b.target = url;
        client_send(&d, 1, &b, cases[i].method, "[]");
        assert_int_equal(b.status, cases[i].status);
        cached_as_it_must(&b);

        if (b.status == 400) {
            has(b.text, "Unsupported protocol version");
            assert_int_equal(a.ended, 0);
        }

        client_close(&d, &b);
    }

    client_close(&d, &a);
    end_with_result(breq);
    driver_wait(&d, 70000);
}


/* The zone has no room for the answers: 503, and the call does not change. The
 * same POST succeeds later. */
TEST(zone_has_no_room_for_answers__the_client_gets_503_and_can_resend_them)
{
    mcp_stream_ref_t  ref;

    begin(NEW);
    linked(0);
    end_with(d.breqs[0], ASK "\n");
    read_ids();
    client_close(&d, &a);

    snprintf(line, sizeof(line), "[{\"jsonrpc\":\"2.0\",\"id\":\"%s\","
             "\"result\":{\"action\":\"accept\"}},{\"jsonrpc\":\"2.0\","
             "\"id\":\"%s\",\"result\":{\"roots\":[],\"x\":\"%01500d\"}}]",
             ids[0], ids[1], 1);
    strcpy(old, line);
    hog(&ref);
    send_to(1, &b, session, "POST", url, NULL, old);
    assert_int_equal(b.status, 503);
    assert_null(client_response_header(&b, "Link"));
    client_close(&d, &b);
    mcp_store_free(&d.process[1].store, &ref);

    send_to(1, &b, session, "POST", url, NULL, old);
    assert_int_equal(b.status, 200);
    assert_int_equal(d.n_breqs, 1);
    gets_json_result(&b);
}


/* An array of answers may be longer than mcp_stream_buffer and have more
 * elements than mcp_max_batch. */
TEST(answers_may_exceed_mcp_stream_buffer_and_mcp_max_batch)
{
    int     i;
    size_t  len;

    begin(NEW);
    d.endpoint.stream_buffer = 2 * 1024;
    d.endpoint.max_batch = 2;
    linked(0);
    len = (size_t) sprintf(line, "{\"resultType\":\"input_required\","
                           "\"inputRequests\":{");

    for (i = 0; i < 5; i++) {
        len += (size_t) sprintf(line + len, "%s\"k%d\":{\"method\":"
                                "\"roots/list\"}", i ? "," : "", i);
    }

    strcpy(line + len, "}}\n");
    end_with(d.breqs[0], line);
    question_id(a.text, "roots/list", last);
    client_close(&d, &a);

    len = (size_t) sprintf(line, " [");

    for (i = 0; i < 5; i++) {
        len += (size_t) sprintf(line + len, "%s{\"jsonrpc\":\"2.0\",\"id\":"
                                "\"%.22s.%d\",\"result\":{\"roots\":[],"
                                "\"x\":\"%0600d\"}}", i ? "," : "", last,
                                atoi(last + 23) - 4 + i, i);
    }

    strcpy(line + len, "]");
    send_to(1, &b, session, "POST", url, NULL, line);
    assert_int_equal(b.status, 200);
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(count(d.last_body, "\"roots\":[]"), 5);
    gets_json_result(&b);
}


/* The client POSTs answers after mcp_input_timeout: the response is the stream
 * with the error of the tool. */
TEST(answers_arrive_after_mcp_input_timeout__the_client_gets_the_tools_error)
{
    begin(NEW);
    d.endpoint.input_timeout = 5000;
    asked(linked(1));
    driver_wait(&d, 5100);

    send_to(1, &b, session, "POST", url, NULL, answers(2));
    assert_int_equal(b.status, 200);
    has(b.text, "\"isError\":true");
    assert_int_equal(b.ended, 1);
    leave_with_last_id(&b, last);
    get_is(session, url, last, 204);
}


TEST(listener_gets_a_url__a_GET_request_to_this_url_gets_status_200)
{
    begin(NEW);
    send_to(0, &a, session, "GET", "/mcp", NULL, "");
    assert_non_null(link_of(&a, url));
    client_close(&d, &a);

    client_init(&b, NULL);
    b.cap = 1;
    knock(0, &b, "POST", "/publish", CHANGED);
    b.cap = 0;
    client_close(&d, &b);

    send_to(1, &a, NULL, "GET", url, NULL, "");
    assert_int_equal(a.status, 200);
}


static void
no_memory(void)
{
    mcp_backend_request_t  *breq;

    send_to(0, &a, session, "POST", "/mcp", NULL, CALL);

    if (d.n_breqs) {
        breq = backend_stream(&d, 0);
        backend_send(&d, breq, PROGRESS(1) "\n");

        if (a.x && a.streaming && link_of(&a, url)) {
            client_close(&d, &a);
            send_to(1, &b, NULL, "GET", url, NULL, "");
            client_close(&d, &b);

            if (d.n_breqs) {
                backend_send(&d, breq, ASK "\n");
            }

            send_to(1, &b, NULL, "GET", url, NULL, "");

            if (strstr(b.text, "roots/list")) {
                question_id(b.text, "roots/list", ids[1]);
                snprintf(line, sizeof(line), "[{\"jsonrpc\":\"2.0\","
                         "\"id\":\"%s\",\"result\":{\"roots\":[]}}]", ids[1]);
                client_close(&d, &b);
                send_to(1, &b, NULL, "POST", url, NULL, line);
            }

            client_close(&d, &b);
        }
    }

    client_close(&d, &a);

    give_up(90000);
}


static void
share(void *ctx, const mcp_stream_ref_t *ref, uint32_t limit)
{
    shared = *ref;
    assert_ok(mcp_store_replication_start(&d.process[0].store, ref, 1));
}


/* Acknowledges all events of the stream "shared", as Redis would. */
static void
known(void)
{
    mcp_store_replication_state_t  repl_state;

    assert_ok(mcp_store_replication_state(&d.process[0].store, &shared,
                                          &repl_state));
    assert_ok(mcp_store_acked(&d.process[0].store, &shared, &repl_state.own));
    driver_pump(&d);
}


/* Starts a call whose stream Redis has not acknowledged, and checks that the
 * client has not received the start of the response yet. */
static mcp_backend_request_t *
unknown(void)
{
    mcp_backend_request_t  *breq;

    send_to(0, &a, session, "POST", "/mcp", NULL, CALL);
    breq = backend_stream(&d, 0);
    backend_send(&d, breq, PROGRESS(1) "\n");
    backend_send(&d, breq, PROGRESS(2) "\n");
    assert_int_equal(a.streaming, 0);

    return breq;
}


/* A client gets the URL of a stream when Redis has acknowledged the stream, or
 * after MCP_OPERATION_TIME. */
TEST(stream_url_is_sent_when_redis_has_the_stream_or_after_1_s)
{
    mcp_backend_request_t  *breq;

    static const mcp_cluster_hooks_t  hooks = {
        .is_unreachable = redis_reachable,
        .clock = clock_agrees,
        .check_leader = leader_stays,
        .replicate = share,
        .changed = changes_nothing
    };

    begin(NEW);
    d.process[0].worker->cluster_hooks = &hooks;
    d.process[0].worker->cluster = &shared;

    breq = unknown();
    known();
    assert_int_equal(a.streaming, 1);
    assert_non_null(link_of(&a, url));
    has(a.text, PROGRESS(2));
    end_with_result(breq);
    known();
    has(a.text, ANSWER);
    client_close(&d, &a);

    breq = unknown();
    driver_wait(&d, MCP_OPERATION_TIME - 100);
    assert_int_equal(a.streaming, 0);
    driver_wait(&d, 200);
    assert_non_null(link_of(&a, url));
    assert_string_equal(a.text, ":\n\n");
    known();
    has(a.text, PROGRESS(2));
    client_close(&d, &a);
    end_with_result(breq);
    known();

    breq = unknown();
    client_close(&d, &a);
    end_with_result(breq);
    known();

    d.process[0].worker->cluster = NULL;
    give_up(90000);
}


TEST(memory_runs_out_during_requests_to_a_url__no_call_is_left)
{
    begin(NEW);
    fail_each(no_memory);
}


RUN_TESTS(setup, teardown)
