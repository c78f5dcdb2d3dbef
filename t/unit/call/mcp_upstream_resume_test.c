/* SPDX-License-Identifier: Apache-2.0 */

/* A stream of an MCP server that ends before the response: when and how it is
 * resumed. */

#include "upstream_cases.h"

#include "call/mcp_upstream_resume.h"


#define FIRST  "id: e1\nretry: 100\ndata:\n\n"


/* Begins the response to the only backend request as a stream. */
static mcp_backend_request_t *
begin_stream(const char *text)
{
    mcp_backend_request_t  *breq;

    assert_int_equal(d.n_breqs, 1);
    breq = d.breqs[0];

    mcp_backend_request_head(breq, 200, mcp_str("text/event-stream"));
    backend_send(&d, breq, text);

    return breq;
}


/* The only backend request gets a stream that ends without a response. */
static void
break_off(const char *text)
{
    backend_end(&d, begin_stream(text), MCP_FAILURE_NONE);
}


/* Calls a tool, whose stream ends after an event. */
static void
interrupted(const char *text)
{
    call_tool(&a);
    open_session();
    sends("tools/call");
    break_off(text);
    assert_int_equal(d.n_breqs, 0);
}


/* Waits until the next GET request starts. */
static mcp_backend_request_t *
resumed(uint64_t wait, const char *id)
{
    driver_wait(&d, wait - 1);
    assert_int_equal(d.n_breqs, 0);
    driver_wait(&d, 1);
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(d.breqs[0]->http_method, MCP_BACKEND_REQUEST_GET);
    assert_int_equal(d.breqs[0]->body.len, 0);
    variable_is(&d.breqs[0]->variables, MCP_VARIABLE_UPSTREAM_LAST_EVENT_ID,
                id);
    variable_is(&d.breqs[0]->variables, MCP_VARIABLE_UPSTREAM_SESSION, "s1");
    variable_is(&d.breqs[0]->variables, MCP_VARIABLE_UPSTREAM_VERSION,
                "2025-06-18");

    return d.breqs[0];
}


/* Writes the event with the response to the only call. */
static const char *
response_event(mcp_backend_request_t *breq)
{
    char  id[24];

    *mcp_uint_print(id, (mcp_be_get(breq->call->id, 8) >> 12)) = '\0';
    snprintf(line, sizeof(line), "data: {\"jsonrpc\":\"2.0\",\"id\":%s,"
                                 "\"result\":%s}\n\n", id, RESULT);

    return line;
}


TEST(server_ends_a_stream_with_retry_100__GET_follows_after_100_ms)
{
    mcp_backend_request_t  *breq;

    interrupted(FIRST);
    breq = resumed(100, "e1");
    begin_stream(response_event(breq));
    has(a.text, RESULT);
    client_close(&d, &a);
    assert_int_equal(d.n_breqs, 0);
}


TEST(server_ends_a_stream_without_retry__GET_follows_after_1_s)
{
    interrupted("id: e1\ndata:\n\n");
    resumed(MCP_UPSTREAM_RESUME_WAIT, "e1");
    break_off("id: e2\n\n");
    resumed(MCP_UPSTREAM_RESUME_WAIT, "e2");
    client_close(&d, &a);
    end();
    client_post(&d, 0, &b, session, CANCEL7);
    client_close(&d, &b);
    end();
}


TEST(server_ends_a_stream_with_a_huge_retry__GET_follows_after_30_s)
{
    d.endpoint.call_timeout = 100000;
    interrupted("id: e1\nretry: 18446744073709551615\n\n");
    resumed(MCP_UPSTREAM_RESUME_LONG, "e1");
    break_off("");
    resumed(MCP_UPSTREAM_RESUME_LONG, "e1");
    begin_stream(response_event(d.breqs[0]));
}


TEST(eight_GET_requests_bring_no_event__the_pause_doubles_until_the_call_fails)
{
    unsigned  i;

    interrupted(FIRST);

    for (i = 0; i < MCP_UPSTREAM_RESUME_TRIES; i++) {
        has_not(a.text, "error");
        backend_end(&d, resumed((uint64_t) 100 << i, "e1"),
                    MCP_FAILURE_REPLY);
    }

    has(a.text, "-32603");
    assert_int_equal(d.n_breqs, 0);
}


TEST(GET_brings_an_event_or_lasts_5_s__the_next_pause_is_the_retry_time_again)
{
    interrupted(FIRST);
    resumed(100, "e1");
    break_off("");
    resumed(200, "e1");
    break_off("id: e2\n\n");
    resumed(100, "e2");
    break_off("");
    resumed(200, "e2");
    driver_wait(&d, MCP_UPSTREAM_RESUME_LASTS);
    break_off("");
    resumed(100, "e2");
    begin_stream(response_event(d.breqs[0]));
    has(a.text, RESULT);
}


TEST(mcp_call_timeout_passes_before_GET__the_server_gets_a_cancellation)
{
    d.endpoint.call_timeout = 20000;
    interrupted("id: e1\nretry: 25000\n\n");
    driver_wait(&d, 20000);
    has(a.text, "timed out");
    sends("notifications/cancelled");
    variable_is(&d.breqs[0]->variables, MCP_VARIABLE_UPSTREAM_LAST_EVENT_ID,
                "");
    backend_end(&d, d.breqs[0], MCP_FAILURE_NONE);
    driver_wait(&d, 10000);
    assert_int_equal(d.n_breqs, 0);
}


TEST(pause_before_GET_counts_for_mcp_call_timeout__call_times_out_during_GET)
{
    d.endpoint.call_timeout = 20000;
    interrupted("id: e1\nretry: 15000\n\n");
    resumed(15000, "e1");
    driver_wait(&d, 5000);
    has(a.text, "timed out");
    sends("notifications/cancelled");
    backend_end(&d, d.breqs[0], MCP_FAILURE_NONE);
}


TEST(call_times_out_when_GET_is_due__the_server_gets_a_cancellation)
{
    d.endpoint.call_timeout = 20000;
    interrupted("id: e1\nretry: 20000\n\n");
    driver_wait(&d, 20000);
    has(a.text, "timed out");
    sends("notifications/cancelled");
    backend_end(&d, d.breqs[0], MCP_FAILURE_NONE);
    assert_int_equal(d.n_breqs, 0);
}


TEST(stream_stays_open_after_the_response__it_is_aborted_without_cancellation)
{
    call_tool(&a);
    open_session();
    begin_stream(response_event(sends("tools/call")));
    has(a.text, RESULT);
    client_close(&d, &a);
    assert_int_equal(d.n_breqs, 1);
    aborts_after(MCP_CALL_GRACE, 1);
    assert_int_equal(d.n_breqs, 0);
}


TEST(server_rejects_GET__the_client_gets_the_fault_of_the_interrupted_stream)
{
    mcp_backend_request_t  *breq;

    interrupted(FIRST);
    breq = resumed(100, "e1");
    mcp_backend_request_head(breq, 404, mcp_str("text/plain"));
    backend_end(&d, breq, MCP_FAILURE_NONE);
    has(a.text, "Backend sent an invalid response");
    assert_int_equal(d.n_breqs, 0);
}


TEST(server_has_lost_the_session_when_GET_arrives__the_call_is_not_sent_again)
{
    mcp_backend_request_t  *breq;

    interrupted(FIRST);
    breq = resumed(100, "e1");
    mcp_backend_request_head(breq, 404, mcp_str("application/json"));
    backend_send(&d, breq, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":"
                           "{\"code\":-32001,\"message\":\"no session\"}}");
    backend_end(&d, breq, MCP_FAILURE_NONE);
    has(a.text, "Backend sent an invalid response");
    assert_int_equal(d.n_breqs, 0);
}


TEST(process_stops_at_once__an_interrupted_stream_is_not_resumed)
{
    call_tool(&a);
    open_session();
    begin_stream(FIRST);
    mcp_worker_stop(d.process[0].worker, 1);
    mcp_worker_stop(d.process[1].worker, 1);
    driver_pump(&d);
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    driver_wait(&d, 1000);
    assert_int_equal(d.n_breqs, 0);
}


/* A published message has no room when the next GET is due: GET follows when
 * the message is stored, because it needs the decoder of the first stream. */
TEST(message_is_held_when_GET_is_due__GET_follows_after_the_message_is_stored)
{
    char               id[64], url[512];
    const char        *path;
    mcp_stream_ref_t   ref;

    call_tool(&a);
    open_session();
    path = publish_url_of(sends("tools/call"), url, sizeof(url));
    begin_stream(FIRST);
    driver_wait(&d, 1500);
    leave_with_last_id(&a, id);
    backend_end(&d, d.breqs[0], MCP_FAILURE_NONE);

    driver_pause(&d, 0, 1);
    publish_gets(1, path, NOTE("notifications/message",
                               "{\"level\":\"error\",\"data\":\"kept\"}"), 202);
    hog(&ref);
    driver_pause(&d, 0, 0);

    driver_wait(&d, 100);
    assert_int_equal(d.n_breqs, 0);
    mcp_store_free(&d.process[1].store, &ref);
    driver_wait(&d, MCP_CALL_RETRY);
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(d.breqs[0]->http_method, MCP_BACKEND_REQUEST_GET);

    begin_stream(response_event(d.breqs[0]));
    client_resume(&d, 1, &a, session, id);
    has(a.text, "\"kept\"");
    has(a.text, RESULT);
}


/* The zone has no room for the error after a GET that the server refuses: the
 * client gets the error when there is room, and no other GET follows. */
TEST(server_rejects_GET_while_the_zone_is_full__the_client_gets_the_fault_later)
{
    char                    id[64];
    mcp_stream_ref_t        ref;
    mcp_backend_request_t  *breq;

    call_tool(&a);
    open_session();
    begin_stream(FIRST);
    driver_wait(&d, 1500);
    leave_with_last_id(&a, id);
    backend_end(&d, d.breqs[0], MCP_FAILURE_NONE);
    breq = resumed(100, "e1");

    hog(&ref);
    mcp_backend_request_head(breq, 404, mcp_str("application/json"));
    backend_send(&d, breq, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":"
                           "{\"code\":-32001,\"message\":\"no session\"}}");
    backend_end(&d, breq, MCP_FAILURE_NONE);
    driver_wait(&d, 5 * MCP_CALL_RETRY);
    assert_int_equal(d.n_breqs, 0);
    mcp_store_free(&d.process[1].store, &ref);
    driver_wait(&d, MCP_CALL_RETRY);

    client_resume(&d, 1, &a, session, id);
    has(a.text, "Backend sent an invalid response");
    has_not(a.text, "no session");
    assert_int_equal(a.ended, 1);
    assert_int_equal(d.n_breqs, 0);
}


TEST(server_asks_on_a_resumed_stream__the_answer_is_posted_before_the_next_GET)
{
    char                    id[72];
    mcp_backend_request_t  *post;

    interrupted(FIRST);
    resumed(100, "e1");
    begin_stream("id: e2\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"q\","
                 "\"method\":\"roots/list\"}\n\n");
    question_id(a.text, "roots/list", id);
    backend_end(&d, d.breqs[0], MCP_FAILURE_NONE);
    reply(1, session, id, "\"result\":{\"roots\":[]}");

    post = sends("{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":{\"roots\":"
                 "[]}}");
    variable_is(&post->variables, MCP_VARIABLE_UPSTREAM_SESSION, "s1");
    respond_202(post);

    resumed(100, "e2");
    begin_stream(response_event(d.breqs[0]));
    has(a.text, RESULT);
}


TEST(server_without_a_statistics_row_ends_a_stream__GET_follows)
{
    take_rows();
    target.upstream = MCP_UPSTREAM_STATELESS;
    call_tool(&a);
    sends("tools/call");
    break_off(FIRST);
    driver_wait(&d, 100);
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(d.breqs[0]->http_method, MCP_BACKEND_REQUEST_GET);
    begin_stream("data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":" RESULT
                 "}\n\n");
    has(a.text, RESULT);
}


RUN_TESTS(setup_upstream, teardown)
