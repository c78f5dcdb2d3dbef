/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of resumable requests: policy, status, resumption. */

#include "resume_cases.h"


#define POLICY   "notifications/requests/resumePolicy"

#define OTHERS   NOTE("notifications/message", "{\"level\":\"info\","         \
                      "\"data\":\"of another\"}")


static char  last[64], first[512];


static void
begin(const char *revision)
{
    client_open(&d, session, revision,
                "{" INPUT ",\"resumableRequests\":{}}");
}


static const char *
status_of(const char *id, const char *of)
{
    static char  body[1024];

    snprintf(body, sizeof(body), REQUEST("9", "requests/getStatus",
             "{\"requestId\":%s,\"resumeToken\":\"%s\"}"), id, of);

    return body;
}


static const char *
resume_of(const char *id, const char *of)
{
    static char  body[1024];

    snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":"
             "\"requests/resume\",\"params\":{\"resumeToken\":\"%s\"}}", id,
             of);

    return body;
}


/* The policy is the first event, and contains the configured times. */
TEST(first_event_is_the_resume_policy_with_the_configured_times)
{
    mcp_backend_request_t  *breq;

    d.endpoint.max_wait = 90500;
    d.endpoint.min_wait = 2000;

    begin(NEW);
    breq = durable(1);

    has(a.text, ".1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"" POLICY "\","
                "\"params\":{\"requestId\":7,\"resumeToken\":\"");
    has(a.text, "\",\"minWait\":2,\"maxWait\":90.500}}\n\n");
    has(a.text, ".2\ndata: " PROGRESS(1));
    assert_int_equal(count(a.text, POLICY), 1);

    end_with_result(breq);
}


TEST(method_requests_get_status_returns_call_state_and_if_messages_are_pending)
{
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = durable(1);

    ask(session, status_of("7", token), 200,
        "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{\"requestId\":7,"
        "\"status\":\"processing\",\"hasPendingMessage\":true,"
        "\"hasInputRequest\":false}}");

    /* an event that was written counts as pending until Last-Event-ID confirms
     * it */

    leave_with_last_id(&a, last);
    ask(session, status_of("7", token), 200, "\"hasPendingMessage\":true");
    post_after(0, &b, session, status_of("7", token), last);
    has(b.text, "\"hasPendingMessage\":false");
    client_close(&d, &b);
    ask(session, status_of("7", token), 200, "\"hasPendingMessage\":false");
    backend_send(&d, breq, PROGRESS(2) "\n");
    ask(session, status_of("7", token), 200, "\"hasPendingMessage\":true,"
        "\"hasInputRequest\":false");

    /* a status request removes no event; the event after Last-Event-ID is
     * pending */

    ask(session, status_of("7", token), 200, "\"hasPendingMessage\":true");
    client_init(&b, session);
    client_header(&b, "Last-Event-ID", last);
    client_send(&d, 0, &b, "POST", status_of("7", token));
    has(b.text, "\"hasPendingMessage\":true");
    client_close(&d, &b);

    end_with(breq, ASK "\n");
    ask(session, status_of("7", token), 200, "\"status\":\"processing\","
        "\"hasPendingMessage\":true,\"hasInputRequest\":true");

    cancel(1, session, "7");
    driver_pump(&d);
    ask(session, status_of("7", token), 200, REFUSED);
    quiet();

    breq = durable(0);
    client_close(&d, &a);
    end_with_result(breq);
    ask(session, status_of("7", token), 200, "\"status\":\"completed\","
        "\"hasPendingMessage\":true");

    breq = durable(0);
    client_close(&d, &a);
    backend_end(&d, breq, MCP_FAILURE_REPLY);
    ask(session, status_of("7", token), 200, "\"status\":\"failed\","
        "\"hasPendingMessage\":true");
}


/* A call is resumed at another process, after Last-Event-ID, or without it
 * from the first event that is not confirmed. The stream continues up to the
 * response of the call, which has the original request id. */
TEST(method_requests_resume_sends_the_events_after_the_last_confirmed_one)
{
    mcp_backend_request_t  *breq;
    unsigned char           id[MCP_STREAM_ID_LEN];
    uint64_t                seq;
    mcp_stream_info_t       info;

    begin(NEW);
    breq = durable(2);
    leave_with_last_id(&a, last);
    backend_send(&d, breq, PROGRESS(3) "\n");

    post_after(1, &a, session, resume_of("7", token), last);
    assert_int_equal(a.streaming, 1);
    has_not(a.text, PROGRESS(1));
    has(a.text, ".4\ndata: " PROGRESS(3));
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESUME_METHOD,
            "requests");

    /* the confirmed events are removed */

    assert_ok(mcp_event_id_parse(test_str(last), id, &seq));
    assert_ok(mcp_store_find(&d.process[0].store, id, 0, &info));
    assert_int_equal(info.first_seq, 4);

    /* the client resumes twice: the newer connection gets the stream; without
     * Last-Event-ID it begins at the first event that is not confirmed */

    post_after(0, &b, session, resume_of("7", token), NULL);
    assert_int_equal(a.ended, 1);
    has(b.text, ".4\ndata: " PROGRESS(3));
    assert_int_equal(count(b.text, "\ndata: {"), 1);
    client_close(&d, &a);

    end_with_result(breq);
    has(b.text, ".5\ndata: " ANSWER);
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);

    /* the call is over: the client gets the response again */

    post_after(0, &b, session, resume_of("7", token), NULL);
    has(b.text, ANSWER);
    assert_int_equal(b.ended, 1);
}


/* Without Last-Event-ID a client gets all events that are kept. A log message
 * contains the number of dropped events, without the confirmed ones. */
TEST(method_requests_resume_reports_the_number_of_dropped_events)
{
    mcp_backend_request_t  *breq;

    begin(NEW);
    d.endpoint.stream_buffer = 8 * 1024;
    breq = durable(2);
    client_last_id(&a, last);
    flood(breq, 50);
    client_close(&d, &a);

    post_after(1, &a, session, resume_of("7", token), NULL);
    assert_int_equal(a.streaming, 1);
    has_not(a.text, PROGRESS(1));
    gap_reported(a.text, 52);
    client_close(&d, &a);

    /* Last-Event-ID names an event before the dropped ones: an error */

    post_after(0, &a, session, resume_of("7", token), last);
    has(a.text, "\"error\":{\"code\":-32602,\"message\":\"Events no longer "
                "available\",\"data\":{\"resume\":\"refused\"}}");
    client_close(&d, &a);

    post_after(0, &a, session, resume_of("7", token), NULL);
    leave_with_last_id(&a, last);
    post_after(0, &a, session, resume_of("7", token), last);
    client_close(&d, &a);
    post_after(0, &a, session, resume_of("7", token), NULL);
    has_not(a.text, "notifications/message");
    gets_result(&a, breq);
}


/* The hook "lock" of process 0: the next "looks" times that it is called, the
 * backend request "busy" of process 1 sends a message before process 0 gets
 * the lock. */
static int         looks;
static mcp_backend_request_t  *busy;

static int
busy_lock(void *ctx)
{
    mcp_backend_request_t  *breq;

    breq = busy;
    busy = NULL;

    if (breq && looks-- > 0) {
        (void) backend_send(&d, breq, PROGRESS(1) "\n");
        busy = breq;
    }

    return driver_lock(ctx);
}


/* The stream of a call is full (mcp_max_events), and its first consumer reads
 * while another connection resumes it: the resumption does not fail because
 * events are dropped meanwhile. */
TEST(events_are_dropped_during_requests_resume__the_resumption_succeeds)
{
    int                     i;
    mcp_backend_request_t  *breq;

    begin(NEW);
    d.endpoint.max_events = 2;
    breq = call(1);

    for (i = 0; i < 20; i++) {
        backend_send(&d, breq, PROGRESS(1) "\n");
    }

    quoted(a.text, "\"resumeToken\":\"", token, sizeof(token));

    busy = breq;
    looks = 10;
    d.process[0].store.glue.lock = busy_lock;
    client_init(&b, session);
    client_send(&d, 0, &b, "POST", resume_of("7", token));
    d.process[0].store.glue.lock = driver_lock;
    assert_true(looks < 8);

    assert_int_equal(b.streaming, 1);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    gets_result(&b, breq);
    client_close(&d, &b);
    driver_wait(&d, 20000);
}


TEST(requests_with_a_wrong_token_or_id_are_rejected__the_call_continues)
{
    size_t                  k;
    char                    bad[512];
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = durable(1);
    leave_with_last_id(&a, last);

    /* a token with one changed or additional character */

    for (k = 0; k <= strlen(token); k++) {
        mangle(token, bad, k);
        ask(session, status_of("7", bad), 200, REFUSED);
        ask(session, resume_of("7", bad), 200, REFUSED);
    }

    ask(session, resume_of("7", ""), 200, REFUSED);
    ask(session, REQUEST("7", "requests/resume", "{}"), 200, REFUSED);
    ask(session, REQUEST("7", "requests/resume", "{\"resumeToken\":7}"), 200,
        REFUSED);
    ask(session, REQUEST("7", "requests/getStatus", "{\"requestId\":7}"), 200,
        REFUSED);

    /* another id */

    ask(session, resume_of("8", token), 200, REFUSED);
    ask(session, resume_of("\"7\"", token), 200, REFUSED);
    ask(session, status_of("8", token), 200, REFUSED);
    ask(session, status_of("null", token), 200, REFUSED);
    ask(session, status_of("[7]", token), 200, REFUSED);

    /* the call is resumed in another session, and with a Last-Event-ID that is
     * malformed, names a future event, or names another stream */

    client_open(&d, other, NEW, "{\"resumableRequests\":{}}");
    ask(other, resume_of("7", token), 200, REFUSED);
    ask(other, status_of("7", token), 200, REFUSED);

    post_after(0, &b, session, resume_of("7", token), "nonsense");
    has(b.text, REFUSED);
    client_close(&d, &b);
    last[22] = '\0';
    snprintf(bad, sizeof(bad), "%s.77", last);
    post_after(0, &b, session, resume_of("7", token), bad);
    has(b.text, REFUSED);
    client_close(&d, &b);
    post_after(0, &b, session, resume_of("7", token),
               "AAAAAAAAAAAAAAAAAAAAAA.1");
    has(b.text, REFUSED);
    client_close(&d, &b);

    /* the rejected requests have not affected the call */

    post_after(1, &b, session, resume_of("7", token), NULL);
    gets_result(&b, breq);
    client_close(&d, &b);

    /* expired */

    driver_wait(&d, 70000);
    ask(session, resume_of("7", token), 200, REFUSED);
    ask(session, status_of("7", token), 200, REFUSED);
}


/* Each status request and each resumption restarts mcp_max_wait, at any
 * process. */
TEST(each_status_request_and_resumption_restarts_mcp_max_wait)
{
    int                     i;
    mcp_backend_request_t  *breq;

    d.endpoint.max_wait = 5000;
    d.endpoint.call_timeout = 600000;
    begin(NEW);
    breq = durable(1);
    client_close(&d, &a);

    for (i = 0; i < 10; i++) {
        driver_wait(&d, 4000);
        ask(session, status_of("7", token), 200, "\"processing\"");
    }

    driver_wait(&d, 4000);
    post_after(1, &b, session, resume_of("7", token), NULL);
    driver_wait(&d, 30000);
    client_close(&d, &b);
    driver_wait(&d, 4900);
    ask(session, status_of("7", token), 200, "\"processing\"");
    assert_int_equal(d.aborts, 0);

    aborts_after(5100, 1);
    ask(session, status_of("7", token), 200, REFUSED);
    ask(session, resume_of("7", token), 200, REFUSED);
    assert_int_equal(stats().streams, 0);
    assert_int_equal(stats().counter[MCP_COUNT_CALLS_EXPIRED], 1);
    (void) breq;
}


/* Request ids with different spellings and the same value are equal. */
TEST(request_ids_with_different_spellings_of_one_value_are_equal)
{
    mcp_backend_request_t  *breq;

    begin(NEW);
    client_post(&d, 0, &a, session,
                REQUEST("\"\\u0061/b\"", "tools/call", "{\"name\":\"echo\"}"));
    breq = d.breqs[0];
    driver_wait(&d, 1500);
    has(a.text, "\"requestId\":\"\\u0061/b\"");
    quoted(a.text, "\"resumeToken\":\"", token, sizeof(token));
    ask(session, status_of("\"a\\/b\"", token), 200,
        "\"requestId\":\"a\\/b\"");
    ask(session, status_of("\"a/c\"", token), 200, REFUSED);
    client_close(&d, &a);

    post_after(1, &b, session, resume_of("\"a/b\"", token), NULL);
    assert_int_equal(b.streaming, 1);
    backend_reply(&d, breq, RESULT);
    has(b.text, "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0061/b\",\"result\":");
}


/* Copies the token of CALL to "first", and the token of CALL8 to "token". */
static void
both_tokens(void)
{
    quoted(strstr(a.text, "\"requestId\":7"), "\"requestId\":7,"
           "\"resumeToken\":\"", first, sizeof(first));
    quoted(a.text, "\"requestId\":8,\"resumeToken\":\"", token,
           sizeof(token));
}


/* Each request of a batch has its own policy; the batch has one stream. */
TEST(each_request_of_a_batch_is_resumed_separately_with_its_own_token)
{
    char  body[2048];

    begin(OLD);
    client_post(&d, 0, &a, session, "[" CALL "," PING "," CALL8 "]");
    assert_int_equal(d.n_breqs, 2);
    driver_wait(&d, 1500);
    assert_int_equal(count(a.text, POLICY), 2);
    has(a.text, "\"requestId\":8");
    both_tokens();
    leave_with_last_id(&a, last);

    ask(session, status_of("7", token), 200, REFUSED);
    ask(session, status_of("8", first), 200, REFUSED);

    snprintf(body, sizeof(body), "[%s]", status_of("8", token));
    ask(session, body, 200, "[{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{"
        "\"requestId\":8,\"status\":\"processing\"");
    snprintf(body, sizeof(body), "[%s]", resume_of("8", token));
    ask(session, body, 200, "[{\"jsonrpc\":\"2.0\",\"id\":8,\"error\":{"
        "\"code\":-32600,\"message\":\"Invalid Request: a method that opens a stream is not allowed in a batch\","
        "\"data\":{\"resume\":\"refused\"}}}]");

    /* a client that resumes with the token of one request gets only the
     * messages and the response of this request */

    (void) backend_stream(&d, 1);
    backend_send(&d, d.breqs[1], OTHERS "\n");
    post_after(1, &b, session, resume_of("7", first), NULL);
    has_not(b.text, OTHERS);
    has_not(b.text, POLICY);
    (void) backend_stream(&d, 0);
    backend_send(&d, d.breqs[0], PROGRESS(1) "\n");
    has(b.text, "\n\ndata: " PROGRESS(1) "\n\n");
    backend_send(&d, d.breqs[1], OTHERS "\n");
    assert_int_equal(b.ended, 0);
    end_with_result(d.breqs[0]);
    has(b.text, "\"id\":7,\"result\"");
    has_not(b.text, OTHERS);
    has_not(b.text, "id: ");
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);

    /* request 8 is resumed: it continues, and its messages were not in the
     * stream of request 7 */

    driver_wait(&d, 10000);
    post_after(0, &b, session, resume_of("8", token), NULL);
    assert_int_equal(count(b.text, OTHERS), 2);
    assert_int_equal(b.ended, 0);
    end_with_result(d.breqs[0]);
    has(b.text, "\"id\":8,\"result\"");
    has_not(b.text, PROGRESS(1));
    has_not(b.text, "\"id\":7");
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);

    /* request 7 is resumed again, because its response may be lost; then GET
     * returns all events of the batch */

    post_after(1, &b, session, resume_of("7", first), NULL);
    assert_int_equal(count(b.text, "\ndata: {"), 2);
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);
    snprintf(body, sizeof(body), "%.22s.0", last);
    client_resume(&d, 1, &b, session, body);
    assert_int_equal(count(b.text, "\ndata: {"), 8);
}


/* Starts a batch of two requests: copies the token of request 7 to "first",
 * and that of request 8 to "token". */
static void
batch(const char *body)
{
    client_post(&d, 0, &a, session, body);
    assert_int_equal(d.n_breqs, 2);
    driver_wait(&d, 1500);
    both_tokens();
    client_close(&d, &a);
}


/* The backend of request 8 asks the client a question. */
static void
batch_asks(void)
{
    mcp_backend_request_t  *breq;

    breq = backend_stream(&d, 1);
    end_with(breq, "{\"resultType\":\"input_required\","
             "\"inputRequests\":{\"r\":{\"method\":\"roots/list\"}},"
             "\"requestState\":\"s1\"}\n");
}


/* Each request of a batch has its own status. */
TEST(each_request_of_a_batch_has_its_own_status)
{
    mcp_backend_request_t  *breq;

    begin(OLD);
    batch("[" PING "," CALL "," CALL8 "]");
    batch_asks();
    breq = d.breqs[0];
    ask(session, status_of("7", first), 200, "\"status\":\"processing\"");

    /* request 7 fails while request 8 waits for answers */

    backend_end(&d, breq, MCP_FAILURE_REPLY);
    ask(session, status_of("7", first), 200, "\"status\":\"failed\","
        "\"hasPendingMessage\":true,\"hasInputRequest\":false");
    ask(session, status_of("8", token), 200, "\"status\":\"processing\","
        "\"hasPendingMessage\":true,\"hasInputRequest\":true");

    post_after(1, &a, session, resume_of("8", token), NULL);
    question_id(a.text, "roots/list", last);
    reply(0, session, last, "\"result\":{\"roots\":[]}");
    backend_json(&d, RESULT);
    has(a.text, "\"id\":8,\"result\"");
    client_close(&d, &a);
    ask(session, status_of("7", first), 200, "\"status\":\"failed\"");
    ask(session, status_of("8", token), 200, "\"status\":\"completed\"");

    /* request 8 fails after request 7 has completed */

    batch("[" CALL "," CALL8 "]");
    breq = d.breqs[1];
    backend_reply(&d, d.breqs[0], RESULT);
    ask(session, status_of("7", first), 200, "\"status\":\"completed\"");
    ask(session, status_of("8", token), 200, "\"status\":\"processing\"");
    backend_end(&d, breq, MCP_FAILURE_REPLY);
    ask(session, status_of("7", first), 200, "\"status\":\"completed\"");
    ask(session, status_of("8", token), 200, "\"status\":\"failed\"");
}


/* The request of a batch that has asked a question ends, by an answer, by
 * mcp_input_timeout or by a cancellation: the batch then has no open
 * question. */
TEST(request_of_a_batch_ends__the_status_no_longer_reports_its_open_question)
{
    int  way;

    d.endpoint.call_timeout = 100000;
    begin(OLD);

    for (way = 0; way < 3; way++) {
        batch("[" CALL "," CALL8 "]");
        batch_asks();
        ask(session, status_of("8", token), 200, "\"hasInputRequest\":true");

        switch (way) {

        case 0:
            post_after(1, &a, session, resume_of("8", token), NULL);
            question_id(a.text, "roots/list", last);
            client_close(&d, &a);
            reply(0, session, last, "\"error\":{\"code\":-1,"
                                    "\"message\":\"no\"}");
            break;

        case 1:
            driver_wait(&d, 21000);
            break;

        case 2:
            cancel(1, session, "8");
        }

        ask(session, status_of("7", first), 200, "\"status\":\"processing\"");
        ask(session, status_of("7", first), 200,
            "\"hasInputRequest\":false");
        backend_reply(&d, d.breqs[0], RESULT);
        ask(session, status_of("7", first), 200, "\"status\":\"completed\"");
    }
}


/* A cancelled request of a batch has no response, and the response of the
 * other request is kept. */
TEST(one_request_of_a_batch_is_cancelled__the_other_response_is_kept)
{
    begin(OLD);
    batch("[" CALL "," CALL8 "]");
    backend_reply(&d, d.breqs[0], RESULT);
    cancel(1, session, "8");
    ask(session, status_of("7", first), 200, "\"status\":\"completed\","
        "\"hasPendingMessage\":true");
    ask(session, status_of("8", token), 200, REFUSED);
    post_after(1, &b, session, resume_of("8", token), NULL);
    has(b.text, REFUSED);
    client_close(&d, &b);
    post_after(1, &b, session, resume_of("7", first), NULL);
    has(b.text, "\"id\":7,\"result\"");
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);

    batch("[" CALL "," CALL8 "]");
    cancel(1, session, "8");
    ask(session, status_of("7", first), 200, "\"status\":\"processing\"");
    backend_reply(&d, d.breqs[0], RESULT);
    ask(session, status_of("7", first), 200, "\"status\":\"completed\"");
    ask(session, status_of("8", token), 200, REFUSED);
}


/* The process of the call dies: the call has failed and the client gets an
 * error, but the token of the call is still valid. */
TEST(worker_of_a_call_dies__resuming_the_call_by_token_returns_an_error)
{
    begin(NEW);
    durable(1);
    driver_kill(&d, 0);
    client_close(&d, &a);
    driver_killed(&d, 0, 1);

    ask(session, status_of("7", token), 200, "\"status\":\"failed\"");
    post_after(1, &b, session, resume_of("7", token), NULL);
    has(b.text, "\"id\":7,\"error\":{\"code\":-32603");
}


/* The zone has no room for the policy: the call gets no stream, and its client
 * gets an error. */
TEST(zone_has_no_room_for_the_resume_policy__the_client_gets_an_error)
{
    mcp_backend_request_t  *breq;
    mcp_stream_ref_t        ref;

    begin(NEW);
    breq = call(0);
    hog(&ref);
    backend_send(&d, breq, PROGRESS(1) "\n");
    answered(&a, 200, "the server has no room for its events");
    driver_wait(&d, 100);
    mcp_store_free(&d.process[1].store, &ref);
    driver_wait(&d, 10000);
}


static void
no_memory(void)
{
    mcp_backend_request_t  *breq;

    client_post(&d, 0, &a, session, CALL);

    if (d.n_breqs) {
        breq = backend_stream(&d, 0);
        backend_send(&d, breq, PROGRESS(1) "\n");

        (void) has_token();
        client_close(&d, &a);

        post_after(1, &b, session, status_of("7", token), NULL);
        client_close(&d, &b);
        post_after(1, &b, session, resume_of("7", token), NULL);
        client_close(&d, &b);
    }

    client_close(&d, &a);

    give_up(70000);
}


TEST(memory_runs_out_during_requests_resume__no_call_is_left)
{
    begin(NEW);
    strcpy(token, "x");
    fail_each(no_memory);
}


RUN_TESTS(setup, teardown)
