/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of resumable streams: create, poll, resume, end. */

#include "resume_cases.h"


#define CREATE   "notifications/stream/create"
#define END      "notifications/stream/end"
#define OTHERS   NOTE("notifications/progress", "{\"progressToken\":\"u\","   \
                      "\"progress\":1}")
#define CANCEL99 NOTE("notifications/cancelled", "{\"requestId\":99}")


static char  last[64], text[2048];


static void
begin(const char *revision)
{
    client_open(&d, session, revision, "{" INPUT ",\"streams\":{}}");
}


static const char *
of(const char *method, const char *id, const char *key)
{
    snprintf(text, sizeof(text), REQUEST("9", "%s",
             "{\"streamId\":\"%s\",\"resumeToken\":\"%s\"}"), method, id, key);

    return text;
}


static const char *
poll_it(void)
{
    return of("stream/poll", stream, token);
}


static const char *
resume_it(void)
{
    return of("stream/resume", stream, token);
}


/* The first event contains the configured times. */
TEST(first_event_is_a_stream_create_message_with_the_configured_times)
{
    mcp_backend_request_t  *breq;

    d.endpoint.max_wait = 90000;
    d.endpoint.min_wait = 1500;
    begin(NEW);
    breq = durable(1);

    has(a.text, ".1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"" CREATE "\","
                "\"params\":{\"streamId\":\"");
    has(a.text, "\",\"requestId\":7,\"resumeInterval\":{\"min\":1.500,"
                "\"max\":90}}}\n\n");
    end_with_result(breq);
}


TEST(method_stream_poll_returns_the_stream_status_and_if_messages_are_pending)
{
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = durable(1);
    snprintf(line, sizeof(line), "\"result\":{\"streamId\":\"%s\","
             "\"status\":\"live\",\"pendingMessages\":true,"
             "\"hasRequest\":false,\"hasError\":false}}", stream);
    ask(session, poll_it(), 200, line);
    assert_int_equal(a.ended, 0);
    client_close(&d, &a);

    end_with(breq, ASK "\n");
    ask(session, poll_it(), 200, "\"status\":\"live\","
        "\"pendingMessages\":true,\"hasRequest\":true,\"hasError\":false");

    cancel(0, session, "7");
    ask(session, poll_it(), 200, REFUSED);

    breq = durable(0);
    client_close(&d, &a);
    backend_end(&d, breq, MCP_FAILURE_REPLY);
    ask(session, poll_it(), 200, "\"status\":\"completed\","
        "\"pendingMessages\":true,\"hasRequest\":false,\"hasError\":true");
    post_after(0, &a, session, resume_it(), NULL);
    assert_int_equal(a.ended, 1);

    /* an event that was written counts as pending until Last-Event-ID confirms
     * it */

    leave_with_last_id(&a, last);
    ask(session, poll_it(), 200, "\"status\":\"completed\","
        "\"pendingMessages\":true,\"hasRequest\":false,\"hasError\":true");
    ask(session, REQUEST("1", "stream/poll/all", "{}"), 200,
        "\"pendingMessages\":true,\"hasRequest\":false,\"hasError\":true");
    client_resume(&d, 1, &a, session, last);
    answered(&a, 204, NULL);
    ask(session, poll_it(), 200, "\"status\":\"completed\","
        "\"pendingMessages\":false,\"hasRequest\":false,\"hasError\":false");
}


TEST(method_stream_poll_all_returns_the_calls_of_its_session_but_no_listener)
{
    mcp_backend_request_t  *breq;

    begin(NEW);
    ask(session, "{\"jsonrpc\":\"2.0\",\"id\":1,"
        "\"method\":\"stream/poll/all\"}", 200,
        "\"result\":{\"statuses\":[]}}");

    /* the session's listener is not in the list */

    client_resume(&d, 0, &b, session, NULL);
    client_close(&d, &b);

    breq = durable(1);
    client_close(&d, &a);
    client_post(&d, 1, &a, session, CALL8);
    driver_wait(&d, 1500);

    client_post(&d, 1, &b, session, REQUEST("1", "stream/poll/all", "{}"));
    assert_int_equal(count(b.text, "\"streamId\":\""), 2);
    assert_int_equal(count(b.text, "\"status\":\"live\""), 2);
    has(b.text, stream);
    client_close(&d, &b);

    client_open(&d, other, NEW, "{\"streams\":{}}");
    ask(other, REQUEST("1", "stream/poll/all", "{}"), 200,
        "\"result\":{\"statuses\":[]}}");

    end_with_result(breq);
    backend_json(&d, RESULT);
}


static unsigned
locks_of(const char *body)
{
    unsigned  before;

    before = d.locks;
    client_post(&d, 1, &b, session, body);
    before = d.locks - before;
    client_close(&d, &b);

    return before;
}


/* stream/poll/all lists all active streams, and at most 256 streams that are
 * over and whose events were sent. */
TEST(method_stream_poll_all_returns_all_active_and_at_most_256_ended_streams)
{
    int                     i;
    unsigned                poll_locks, cancel_locks;
    mcp_backend_request_t  *breq;

    poll_locks = 0;
    cancel_locks = 0;

    begin(NEW);
    d.endpoint.stream_after = 0;
    breq = durable(1);

    for (i = 0; i < 300; i++) {
        client_post(&d, 0, &b, session, CALL8);
        driver_wait(&d, 10);
        (void) backend_stream(&d, 1);
        end_with_result(d.breqs[1]);
        assert_int_equal(b.ended, 1);
        client_close(&d, &b);

        if (i == 270) {
            poll_locks = locks_of(REQUEST("1", "stream/poll/all", "{}"));
            cancel_locks = locks_of(CANCEL99);
        }
    }

    client_post(&d, 1, &b, session, REQUEST("1", "stream/poll/all", "{}"));
    assert_int_equal(count(b.text, "\"status\":\"live\""), 1);
    assert_int_equal(count(b.text, "\"status\":\"completed\""), 256);
    has(b.text, stream);
    client_close(&d, &b);

    /* with 29 more streams that are over, the response needs no additional
     * lock of the store */

    assert_int_equal(locks_of(REQUEST("1", "stream/poll/all", "{}")),
                     poll_locks);
    assert_int_equal(locks_of(CANCEL99), cancel_locks);

    end_with_result(breq);
    client_close(&d, &a);
    driver_wait(&d, 20000);
}


/* A clock that changes the store: while the server makes a response to
 * stream/poll/all, the clock confirms all events of the stream "unsent", as a
 * request of the client at another process would. */

static uint64_t           (*real_now)(void *ctx);
static mcp_stream_info_t  unsent;

static uint64_t
now_it_is_sent(void *ctx)
{
    mcp_store_t  *store;

    store = &d.process[0].store;

    /* the server has locked the store twice for the response, which contains
     * the stream by now */

    if (d.locks == 2) {
        assert_ok(mcp_store_confirm(store, &unsent.ref, unsent.last_seq));
        d.te.env.now = real_now;
    }

    return real_now(ctx);
}


/* stream/poll/all lists each stream once, even if the stream moves to the list
 * of lingering streams while the response is made. */
TEST(stream_sends_events_during_stream_poll_all__the_stream_is_returned_once)
{
    unsigned char           id[MCP_STREAM_ID_LEN];
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = durable(1);
    client_close(&d, &a);
    end_with_result(breq);
    assert_ok(mcp_stream_id_parse((mcp_str_t) { stream, 22 }, id));
    assert_ok(mcp_store_find(&d.process[0].store, id, 0, &unsent));

    real_now = d.te.env.now;
    d.te.env.now = now_it_is_sent;
    d.locks = 0;
    client_post(&d, 1, &b, session, REQUEST("1", "stream/poll/all", "{}"));
    assert_ptr_equal(d.te.env.now, real_now);
    assert_int_equal(count(b.text, stream), 1);
    has(b.text, "\"pendingMessages\":true");
    client_close(&d, &b);

    /* the next response contains the stream, without pending messages */

    client_post(&d, 1, &b, session, REQUEST("1", "stream/poll/all", "{}"));
    assert_int_equal(count(b.text, stream), 1);
    has(b.text, "\"pendingMessages\":false");
}


/* stream/resume as a request, whose result is sent at the end of the stream,
 * and as a notification. */
TEST(method_stream_resume_sends_the_later_events_and_then_stream_end)
{
    char                    end[512];
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = durable(2);
    leave_with_last_id(&a, last);
    backend_send(&d, breq, PROGRESS(3) "\n");

    post_after(1, &a, session, resume_it(), last);
    has_not(a.text, PROGRESS(1));
    has(a.text, ".4\ndata: " PROGRESS(3));
    has_not(a.text, "\"id\":9");
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESUME_METHOD,
                "streams");

    snprintf(line, sizeof(line), NOTE("stream/resume",
             "{\"streamId\":\"%s\",\"resumeToken\":\"%s\"}"), stream, token);
    post_after(0, &b, session, line, NULL);
    assert_int_equal(a.ended, 1);
    has_not(a.text, "\"id\":9");
    has_not(a.text, END);
    assert_int_equal(b.streaming, 1);
    client_close(&d, &a);

    end_with_result(breq);
    snprintf(end, sizeof(end), ".5\ndata: " ANSWER "\n\ndata: {\"jsonrpc\":"
             "\"2.0\",\"method\":\"" END "\",\"params\":{\"streamId\":\"%s\"}}"
             "\n\n", stream);
    has(b.text, end);
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);

    post_after(0, &b, session, resume_it(), NULL);
    snprintf(end, sizeof(end), "data: {\"jsonrpc\":\"2.0\",\"id\":9,"
             "\"result\":{}}\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"" END
             "\",\"params\":{\"streamId\":\"%s\"}}\n\n", stream);
    has(b.text, ANSWER);
    has(b.text, end);
    leave_with_last_id(&b, last);

    /* Last-Event-ID names the last event: the client gets the result of
     * stream/resume and stream/end again */

    post_after(0, &b, session, resume_it(), last);
    has_not(b.text, ANSWER);
    has(b.text, end);
}


/* At a process that stops, a stream that is over ends as usual: with the
 * response, the result of stream/resume, and stream/end. */
TEST(finished_stream_is_resumed_at_a_stopping_worker__it_ends_with_stream_end)
{
    begin(NEW);
    end_with_result(durable(1));
    client_close(&d, &a);
    mcp_worker_stop(d.process[1].worker, 0);
    post_after(1, &a, session, resume_it(), NULL);
    has(a.text, ANSWER);
    has(a.text, "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n\n");
    has(a.text, "\"method\":\"" END "\"");
    assert_int_equal(count(a.text, "retry:"), 1);
}


/* The result of stream/resume and stream/end are complete even if the client's
 * connection is pulled with the smallest buffer. */
TEST(pull_buffer_is_minimal__the_result_and_stream_end_are_complete)
{
    char                    id[300];
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = durable(1);
    client_close(&d, &a);
    end_with_result(breq);

    memset(id, 'i', sizeof(id));
    id[240] = '\0';
    client_init(&a, session);
    a.cap = MCP_PULL_MIN;
    snprintf(line, sizeof(line), REQUEST("\"%s\"", "stream/resume",
             "{\"streamId\":\"%s\",\"resumeToken\":\"%s\"}"), id, stream,
             token);
    client_send(&d, 0, &a, "POST", line);
    assert_int_equal(a.ended, 1);
    snprintf(line, sizeof(line), "data: {\"jsonrpc\":\"2.0\",\"id\":\"%s\","
             "\"result\":{}}\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"" END
             "\",\"params\":{\"streamId\":\"%s\"}}\n\n", id, stream);
    has(a.text, line);
}


/* A superseded connection gets neither stream/end nor the result of
 * stream/resume, because the stream continues at another connection. */
TEST(superseded_connection_gets_no_result_and_no_stream_end)
{
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = durable(1);
    client_last_id(&a, last);
    client_post(&d, 1, &b, session, of("stream/resume", stream, token));
    assert_int_equal(a.ended, 1);
    has_not(a.text, END);
    has_not(a.text, "\"result\"");
    client_close(&d, &a);

    client_resume(&d, 0, &a, session, last);
    assert_int_equal(b.ended, 1);
    has_not(b.text, END);
    has_not(b.text, "\"result\"");
    client_close(&d, &b);

    end_with_result(breq);
    has(a.text, END);
}


TEST(stream_requests_with_a_wrong_stream_id_or_token_are_rejected)
{
    size_t                  k;
    char                    bad[512], second[64];
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = durable(1);
    client_close(&d, &a);

    for (k = 0; k <= strlen(token); k++) {
        mangle(token, bad, k);
        ask(session, of("stream/poll", stream, bad), 200, REFUSED);
        ask(session, of("stream/resume", stream, bad), 200, REFUSED);
    }

    for (k = 0; k <= strlen(stream); k++) {
        mangle(stream, second, k);
        ask(session, of("stream/poll", second, token), 200, REFUSED);
        ask(session, of("stream/resume", second, token), 200, REFUSED);
    }

    ask(session, REQUEST("1", "stream/poll", "{}"), 200, REFUSED);
    ask(session, REQUEST("1", "stream/resume", "{\"streamId\":1}"), 200,
        REFUSED);

    /* a valid stream id with the token of another stream */

    strcpy(bad, token);
    strcpy(second, stream);
    client_post(&d, 0, &a, session, CALL8);
    driver_wait(&d, 1500);
    quoted(a.text, "\"resumeToken\":\"", token, sizeof(token));
    assert_string_not_equal(token, bad);
    ask(session, of("stream/resume", second, token), 200, REFUSED);
    client_close(&d, &a);

    client_open(&d, other, NEW, "{\"streams\":{}}");
    ask(other, of("stream/poll", second, bad), 200, REFUSED);
    ask(other, of("stream/resume", second, bad), 200, REFUSED);

    /* both methods as notifications: stream/resume is rejected with status
     * 400, stream/poll is ignored */

    snprintf(line, sizeof(line), NOTE("stream/resume",
             "{\"streamId\":\"%s\",\"resumeToken\":\"x\"}"), second);
    ask(session, line, 400, REFUSED);
    snprintf(line, sizeof(line), NOTE("stream/poll", "{}"));
    ask(session, line, 202, NULL);

    backend_end(&d, breq, MCP_FAILURE_REPLY);
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    driver_wait(&d, 70000);
}


TEST(method_stream_poll_all_restarts_mcp_max_wait)
{
    int                     i;
    mcp_backend_request_t  *breq;

    d.endpoint.max_wait = 3000;
    begin(NEW);
    breq = durable(1);
    client_close(&d, &a);

    for (i = 0; i < 3; i++) {
        driver_wait(&d, 2500);
        ask(session, REQUEST("1", "stream/poll/all", "{}"), 200,
            "\"status\":\"live\"");
    }

    assert_int_equal(d.aborts, 0);
    end_with_result(breq);
}


/* A request whose _meta.streamId names another stream gets its own response or
 * stream; the named stream is not affected. */
TEST(request_has_the_stream_id_of_another_call_in_meta__the_id_is_ignored)
{
    char                    first[64];
    mcp_backend_request_t  *breq;

    begin(NEW);
    breq = durable(1);
    strcpy(first, stream);

    snprintf(line, sizeof(line), REQUEST("1", "ping",
             "{\"_meta\":{\"streamId\":\"%s\"}}"), first);
    ask(session, line, 200, PONG);

    snprintf(line, sizeof(line), REQUEST("8", "tools/call",
             "{\"name\":\"other\",\"_meta\":{\"progressToken\":\"u\","
             "\"streamId\":\"%s\"}}"), first);
    client_post(&d, 1, &b, session, line);
    driver_wait(&d, 1500);
    quoted(b.text, "\"streamId\":\"", stream, sizeof(stream));
    assert_string_not_equal(stream, first);
    (void) backend_stream(&d, 1);
    backend_send(&d, d.breqs[1], OTHERS "\n");
    has(b.text, OTHERS);
    end_with_result(d.breqs[1]);
    has(b.text, "\"id\":8,\"result\":" RESULT);
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);

    /* the reader of the first stream has received no event of the second
     * one */

    assert_int_equal(a.ended, 0);
    has_not(a.text, stream);
    has_not(a.text, OTHERS);
    has_not(a.text, "\"id\":8");
    snprintf(line, sizeof(line), "{\"streamId\":\"%s\",\"status\":\"live\","
             "\"pendingMessages\":true,", first);
    ask(session, of("stream/poll", first, token), 200, line);

    backend_send(&d, breq, PROGRESS(3) "\n");
    end_with_result(breq);
    client_last_id(&a, last);
    assert_memory_equal(last, first, 22);
    assert_string_equal(last + 22, ".4");
    has(a.text, ANSWER);
}


/* mcp_max_wait 0: the client gets the resumeInterval {"max":0}, polling and
 * resuming are refused, and the call ends with its connection. */
TEST(mcp_max_wait_is_0__a_stream_cannot_be_polled_or_resumed)
{
    d.endpoint.max_wait = 0;
    begin(NEW);
    durable(1);
    has(a.text, "\"resumeInterval\":{\"max\":0}");
    ask(session, poll_it(), 200, REFUSED);
    ask(session, resume_it(), 200, REFUSED);
    assert_int_equal(a.ended, 0);

    /* a process that stops does not close the connection */

    mcp_worker_stop(d.process[0].worker, 0);
    driver_pump(&d);
    assert_int_equal(a.ended, 0);

    client_close(&d, &a);
    aborts_after(100, 1);
}


TEST(batch_gets_one_stream_create_per_request__all_with_the_same_stream_id)
{
    begin(OLD);
    client_post(&d, 0, &a, session, "[" CALL "," CALL8 "]");
    driver_wait(&d, 1500);

    /* one stream/create for each request, all with the same stream id */

    assert_int_equal(count(a.text, CREATE), 2);
    assert_true(has_token());
    assert_int_equal(count(a.text, "\"streamId\":\""), 2);
    snprintf(line, sizeof(line), "\"streamId\":\"%s\"", stream);
    assert_int_equal(count(a.text, line), 2);
    has(a.text, "\"requestId\":7,\"resumeInterval\":{\"max\":60}}}");
    has(a.text, "\"requestId\":8,\"resumeInterval\":{\"max\":60}}}");
    client_close(&d, &a);

    post_after(1, &b, session, resume_it(), NULL);
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    has_not(b.text, END);
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    assert_int_equal(count(b.text, "\"code\":-32603"), 2);
    has(b.text, END);
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

        post_after(1, &b, session, poll_it(), NULL);
        client_close(&d, &b);
        post_after(1, &b, session, REQUEST("1", "stream/poll/all", "{}"),
                   NULL);
        client_close(&d, &b);
        post_after(1, &b, session, resume_it(), NULL);

        if (d.n_breqs) {
            backend_send(&d, breq, RESULT "\n");
        }

        client_close(&d, &b);
    }

    client_close(&d, &a);

    give_up(70000);
}


TEST(memory_runs_out_during_stream_resume__no_call_is_left)
{
    begin(NEW);
    strcpy(token, "x");
    strcpy(stream, "x");
    fail_each(no_memory);
}


RUN_TESTS(setup, teardown)
