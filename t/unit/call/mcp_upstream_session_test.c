/* SPDX-License-Identifier: Apache-2.0 */

/* Which callers share a session at an MCP server, and when a session is in
 * use. */

#include "store_text.h"
#include "upstream_cases.h"

#include "call/mcp_upstream_session.h"


static client_t  others[2];

static char  sessions[3][MCP_SESSION_TEXT_MAX];


/* Two clients of one principal open sessions here and call a tool. Copies the
 * keys of the sessions that this opens at the MCP server. */
static void
two_clients(mcp_upstream_of_e of, char keys[2][MCP_STREAM_TEXT_LEN])
{
    size_t     i;
    mcp_str_t  affinity;

    target.session = of;

    for (i = 0; i < 2; i++) {
        client_open_as(&d, session, "alice", NEW, ALL);
        client_post_as(&d, 0, &others[i], session, "alice", CALL);

        if (of != MCP_UPSTREAM_OF_PRINCIPAL || i == 0) {
            open_session();
        }

        sends("tools/call");
        affinity = d.breqs[0]->variables.value[MCP_VARIABLE_UPSTREAM_AFFINITY];
        assert_int_equal(affinity.len, MCP_STREAM_TEXT_LEN);
        memcpy(keys[i], affinity.data, affinity.len);
        answer(RESULT);
        assert_string_equal(others[i].text, ANSWER);
        client_close(&d, &others[i]);
    }
}


TEST(mcp_upstream_session_is_client__each_client_has_its_own_session)
{
    char  keys[2][MCP_STREAM_TEXT_LEN];

    two_clients(MCP_UPSTREAM_OF_CLIENT, keys);
    assert_memory_not_equal(keys[0], keys[1], MCP_STREAM_TEXT_LEN);
}


TEST(mcp_upstream_session_is_principal__DELETE_does_not_end_the_shared_session)
{
    char  keys[2][MCP_STREAM_TEXT_LEN];

    two_clients(MCP_UPSTREAM_OF_PRINCIPAL, keys);
    assert_memory_equal(keys[0], keys[1], MCP_STREAM_TEXT_LEN);

    client_init(&a, session);
    a.principal = "alice";
    client_send(&d, 0, &a, "DELETE", "");
    assert_int_equal(a.status, 204);
    assert_int_equal(d.n_breqs, 0);
}


TEST(upstream_session_in_the_zone_has_an_unknown_revision__it_is_replaced)
{
    unsigned char  key[MCP_DIGEST_LEN];

    call_tool(&a);
    memcpy(key, d.breqs[0]->call->requests[0].session->key, MCP_DIGEST_LEN);
    open_session();
    answer(RESULT);
    client_close(&d, &a);

    mcp_store_value_delete(&d.process[1].store, MCP_VALUE_UPSTREAM_SESSION,
                           key);
    assert_ok(store_text_add(&d.process[1].store,
                             MCP_VALUE_UPSTREAM_SESSION, key,
                             mcp_str("1999-01-01 s1"), 1, 0, NULL));

    call_tool(&a);
    open_session();
    answer(RESULT);
    client_close(&d, &a);
    assert_int_equal(d.n_breqs, 0);

    call_tool(&a);
    sends("tools/call");
    answer(RESULT);
}


TEST(mcp_upstream_session_is_principal__initialize_declares_no_capabilities)
{
    target.session = MCP_UPSTREAM_OF_PRINCIPAL;
    client_open_as(&d, session, "alice", NEW, ALL);
    client_post_as(&d, 0, &a, session, "alice", CALL);
    has(d.last_body, "\"capabilities\":{}");
    client_close(&d, &a);
    open_session();
    end();
}


/* A client of 2026-07-28 has no session, so the session at the server ends with
 * its call. */
TEST(call_ends_while_the_reply_to_a_ping_is_sent__session_ends_after_the_reply)
{
    const char             *id;
    mcp_backend_request_t  *call, *post;

    modern_call(0, &a, "");
    open_session();
    call = sends("tools/call");
    mcp_backend_request_head(call, 200, mcp_str("text/event-stream"));
    backend_send(&d, call, "data: {\"jsonrpc\":\"2.0\",\"id\":1,"
                           "\"method\":\"ping\"}\n\n");
    assert_int_equal(d.n_breqs, 2);
    post = d.breqs[1];
    assert_int_equal(post->kind, MCP_BACKEND_REQUEST_RESPONSE);
    assert_true(post->urgent);
    assert_true(call->asks);

    id = memmem(call->body.data, call->body.len, "\"id\":", 5);
    assert_non_null(id);
    snprintf(line, sizeof(line),
             "data: {\"jsonrpc\":\"2.0\",%.*s,\"result\":" RESULT "}\n\n",
             (int) strcspn(id, ",}"), id);
    backend_send(&d, call, line);
    backend_end(&d, call, MCP_FAILURE_NONE);
    has(a.text, "\"hi\"");
    assert_int_equal(d.n_breqs, 1);
    assert_ptr_equal(d.breqs[0], post);

    respond_202(post);
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(d.breqs[0]->http_method, MCP_BACKEND_REQUEST_DELETE);
    end();
}


/* Lets the server have at most two sessions, and opens sessions here for three
 * clients. */
static void
limit_sessions(void)
{
    unsigned  i;

    target.max_sessions = 2;
    d.endpoint.call_timeout = 3600 * 1000;
    d.endpoint.input_timeout = 3600 * 1000;
    d.endpoint.catalog_key[0] = 1;
    d.endpoint.label = mcp_str("localhost/mcp");

    for (i = 0; i < 2; i++) {
        mcp_worker_begin(d.process[i].worker, 1);
        mcp_worker_offer(d.process[i].worker, &d.endpoint);
        mcp_worker_begun(d.process[i].worker);
    }

    for (i = 0; i < 3; i++) {
        client_open(&d, sessions[i], NEW, ALL);
    }
}


/* Client i calls a tool, for which the session with this id at the server is
 * opened. Returns the backend request of the call. */
static mcp_backend_request_t *
call_in(unsigned process, client_t *c, unsigned i, const char *id)
{
    client_post(&d, process, c, sessions[i], CALL);
    mcp_backend_request_session(sends("\"initialize\""), test_str(id));
    answer(VERSION);
    mcp_backend_request_head(sends("notifications/initialized"), 202,
                             mcp_null_str);
    backend_end(&d, d.breqs[0], MCP_FAILURE_NONE);

    return sends("tools/call");
}


/* Checks that the only backend request ends the session with this id, and ends
 * the backend request. */
static void
ends_session(const char *id)
{
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(d.breqs[0]->http_method, MCP_BACKEND_REQUEST_DELETE);
    assert_str_is(d.breqs[0]->variables.value[MCP_VARIABLE_UPSTREAM_SESSION],
                  id);
    answer(RESULT);
}


/* Client 0 has a call with an open question in process 0, for longer than the
 * time for which the zone shows a session as in use. The backend request of the
 * call is not in d.breqs. */
static mcp_backend_request_t *
open_question(void)
{
    mcp_backend_request_t  *call;

    limit_sessions();
    call = call_in(0, &a, 0, "s1");
    mcp_backend_request_head(call, 200, mcp_str("text/event-stream"));
    backend_send(&d, call, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\","
                           "\"method\":\"roots/list\"}\n\n");
    has(a.text, "roots/list");
    d.n_breqs = 0;
    driver_wait(&d, 10 * MCP_UPSTREAM_SESSION_USED);

    return call;
}


TEST(session_limit__an_open_question_keeps_its_session_in_use)
{
    mcp_backend_request_t  *call;

    call = open_question();

    (void) call_in(1, &b, 1, "s2");
    answer(RESULT);
    client_close(&d, &b);
    assert_int_equal(d.n_breqs, 0);

    (void) call_in(1, &b, 2, "s3");
    answer(RESULT);
    client_close(&d, &b);
    ends_session("s2");

    /* the call has ended, so its session makes room for the next one */

    backend_end(&d, call, MCP_FAILURE_REPLY);
    client_close(&d, &a);
    client_post(&d, 1, &b, sessions[2], CALL);
    sends("tools/call");
    answer(RESULT);
    client_close(&d, &b);

    (void) call_in(1, &b, 1, "s4");
    answer(RESULT);
    client_close(&d, &b);
    ends_session("s1");
}


TEST(session_limit__the_session_of_a_killed_process_is_idle_after_a_minute)
{
    mcp_backend_request_t  *call;

    call = open_question();
    driver_kill(&d, 0);
    client_close(&d, &a);
    d.breqs[d.n_breqs++] = call;
    driver_killed(&d, 0, 1);

    (void) call_in(1, &b, 1, "s2");
    answer(RESULT);
    client_close(&d, &b);
    driver_wait(&d, MCP_UPSTREAM_SESSION_USED);

    (void) call_in(1, &b, 2, "s3");
    answer(RESULT);
    client_close(&d, &b);
    ends_session("s1");
}



/* Checks when the glue starts the only running backend request. */
static void
ranks(unsigned urgent, unsigned asks)
{
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(d.breqs[0]->urgent, urgent);
    assert_int_equal(d.breqs[0]->asks, asks);
}


TEST(requests_of_a_call_in_a_session__asks_until_DELETE_which_is_urgent)
{
    modern_call(0, &a, "");
    sends("initialize");
    ranks(0, 1);
    open_session();
    sends("tools/call");
    ranks(0, 1);
    answer(RESULT);
    assert_int_equal(d.breqs[0]->http_method, MCP_BACKEND_REQUEST_DELETE);
    ranks(1, 0);
    end();
}


TEST(call_in_a_session_is_cancelled__the_notification_is_urgent)
{
    call_tool(&a);
    open_session();
    sends("tools/call");
    client_post(&d, 0, &others[0], session,
                NOTE("notifications/cancelled", "{\"requestId\":7}"));
    sends("notifications/cancelled");
    ranks(1, 0);
    end();
    client_close(&d, &others[0]);
}


TEST(client_disconnects_during_its_DELETE__the_server_still_gets_DELETE)
{
    call_tool(&a);
    open_session();
    answer(RESULT);
    client_close(&d, &a);

    client_init(&a, session);
    client_send(&d, 0, &a, "DELETE", "");
    client_close(&d, &a);
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(d.breqs[0]->http_method, MCP_BACKEND_REQUEST_DELETE);
    assert_int_equal(d.aborts, 0);
    end();
}


/* The server responds to a tool call with an HTTP status and an event stream.
 * "event" is its only event; NULL: it has none. */
static void
refuses_by_stream(int status, const char *event)
{
    call_tool(&a);
    open_session();
    mcp_backend_request_head(sends("tools/call"), status,
                             mcp_str("text/event-stream"));

    if (event) {
        backend_send(&d, d.breqs[0], event);
    }

    backend_end(&d, d.breqs[0], MCP_FAILURE_NONE);
}


TEST(server_responds_404_with_an_empty_stream__the_session_is_opened_again)
{
    refuses_by_stream(404, NULL);
    open_session();
    sends("tools/call");
    answer(RESULT);
    assert_string_equal(a.text, ANSWER);
}


TEST(server_responds_403_with_a_stream__the_client_gets_no_text_of_the_server)
{
    refuses_by_stream(403, "data: secret\n\n");
    has(a.text, "\"error\"");
    has_not(a.text, "secret");
    has_not(a.text, "isError");
    client_close(&d, &a);
    end();
}


/* Responds to the only backend request with a JSON-RPC error, or with no body
 * if "error" is empty. */
static void
refuses(int status, const char *error)
{
    mcp_backend_request_head(d.breqs[0], status, mcp_str("application/json"));
    snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":%s}",
             error);
    backend_reply(&d, d.breqs[0], error[0] ? line : "");
}


/* A client calls a tool at a server with "mcp_upstream auto", which was
 * detected as one with sessions, and the server refuses its initialize request.
 * Checks the method of the next request to the server, which has a session
 * afterwards. */
static void
call_refused(int status, const char *error, const char *method)
{
    client_open(&d, sessions[0], NEW, ALL);
    client_post(&d, 0, &a, sessions[0], CALL);
    sends("\"initialize\"");
    refuses(status, error);
    has(a.text, "-32603");
    client_close(&d, &a);

    client_post(&d, 0, &a, sessions[0], CALL);
    sends(method);

    if (strcmp(method, "server/discover") == 0) {
        refuses(404, "");
    }

    open_session();
    end();
    client_close(&d, &a);
}


/* A server with "mcp_upstream auto" is detected as one with sessions. */
static void
detect_sessions(void)
{
    target.upstream = MCP_UPSTREAM_AUTO;
    target.check = 60000;

    call_tool(&a);
    sends("server/discover");
    refuses(404, "");
    open_session();
    answer(RESULT);
    client_close(&d, &a);
}


TEST(mcp_upstream_auto__initialize_is_refused__the_next_call_detects_the_form)
{
    unsigned  i;

    static const struct {
        int          status;
        const char  *error;
    } cases[] = {
        { 200, "{\"code\":-32601,\"message\":\"Method not found\"}" },
        { 400, "{\"code\":-32022,\"message\":\"Unsupported\"}" },
        { 400, "{\"code\":-32020,\"message\":\"Header mismatch\"}" },
        { 404, "" }
    };

    detect_sessions();

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        call_refused(cases[i].status, cases[i].error, "server/discover");
    }
}


TEST(mcp_upstream_auto__server_is_overloaded_at_initialize__the_form_is_kept)
{
    detect_sessions();
    call_refused(429, "{\"code\":-32000,\"message\":\"Busy\"}",
                  "\"initialize\"");
    call_refused(503, "", "\"initialize\"");
}


/* The response of an overloaded server to server/discover does not show the
 * form of the server. */
TEST(mcp_upstream_auto__server_is_overloaded_at_server_discover__it_gets_another)
{
    size_t  i;

    static const int  statuses[] = { 429, 502, 503, 504 };

    target.upstream = MCP_UPSTREAM_AUTO;
    target.check = 60000;

    for (i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        call_tool(&a);
        sends("server/discover");
        refuses(statuses[i], i % 2 ? "" : "{\"code\":-1,\"message\":\"x\"}");
        has(a.text, "\"error\"");
        assert_int_equal(d.n_breqs, 0);
        client_close(&d, &a);
    }

    detect_sessions();
    end();
}


/* A server opens a session for server/discover, although it only knows older
 * revisions. */
TEST(mcp_upstream_auto__server_opens_a_session_for_server_discover__DELETE_ends_it)
{
    target.upstream = MCP_UPSTREAM_AUTO;
    target.check = 60000;

    call_tool(&a);
    mcp_backend_request_session(sends("server/discover"), mcp_str("bad id"));
    mcp_backend_request_session(sends("server/discover"), mcp_str("s0"));
    refuses(400, "{\"code\":-32600,\"message\":\"Missing session ID\"}");
    open_session();
    answer(RESULT);
    assert_string_equal(a.text, ANSWER);
    client_close(&d, &a);
    ends_session("s0");
    assert_int_equal(d.n_breqs, 0);

    call_tool(&a);
    sends("tools/call");
    answer(RESULT);
    assert_int_equal(d.n_breqs, 0);
}


/* The capabilities of the client may be missing, because there was no memory
 * for their text. */
TEST(memory_runs_out_before_initialize__it_has_capabilities_or_the_call_fails)
{
    unsigned long  k = 0;

    while (test_next_failure(&d.te.tm, &k)) {
        client_open(&d, session, NEW, ALL);

        d.te.tm.fail_at = k;
        call_tool(&a);
        d.te.tm.fail_at = 0;

        if (d.n_breqs) {
            sends("\"initialize\"");
            has(d.last_body, "\"capabilities\":{");
            backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
        }

        /* 0: no memory for the client's request, to which the glue responds */

        if (a.status) {
            has(a.text, "-32603");
        }

        client_close(&d, &a);
        driver_wait(&d, 100000);
        quiet();
    }

    assert_true(k > 3);
}


RUN_TESTS(setup_upstream, teardown)
