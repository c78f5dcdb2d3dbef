/* SPDX-License-Identifier: Apache-2.0 */

/* The effect of calls on the statistics of an MCP server, and the variable with
 * the state of the session. */

#include "upstream_cases.h"

#include "call/mcp_upstream_session.h"
#include "call/mcp_upstream_wait.h"
#include "rpc/mcp_fault.h"
#include "store/mcp_store_upstream.h"


#define NAMED  "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"    \
               "\"serverInfo\":{\"name\":\"S\\u0031\",\"version\":\"7\"}}"


static mcp_store_upstream_t  rows[MCP_STORE_UPSTREAMS];


static int
setup_status(void **state)
{
    unsigned  i;

    setup_upstream(state);

    d.endpoint.catalog_key[0] = 1;
    d.endpoint.label = mcp_str("localhost/mcp");

    for (i = 0; i < 2; i++) {
        mcp_worker_begin(d.process[i].worker, 1);
        mcp_worker_offer(d.process[i].worker, &d.endpoint);
        mcp_worker_begun(d.process[i].worker);
    }

    return 0;
}


/* Reads the row of the server. */
static const mcp_store_upstream_t *
row(void)
{
    assert_int_equal(mcp_store_upstream_all(&d.process[1].store, rows), 1);

    return rows;
}


/* Checks the row's last error. */
static void
failed(mcp_upstream_up_e up, mcp_reason_e reason, const char *detail)
{
    assert_int_equal(row()->up, up);
    assert_int_equal(row()->reason, reason);
    assert_string_equal(row()->detail, detail);
    assert_int_not_equal(row()->failed_at, 0);
}


/* Checks the variable with the state of the session, for the backend and for
 * client a. */
static void
state_is(const char *state)
{
    assert_str_is(d.breqs[0]->variables.value[MCP_VARIABLE_UPSTREAM_STATE],
                  state);
    assert_str_is(mcp_exchange_variables(a.x)
                      ->value[MCP_VARIABLE_UPSTREAM_STATE], state);
}


/* Responds to the first backend request with a status and no body. */
static void
respond(int status)
{
    mcp_backend_request_head(d.breqs[0], status, mcp_null_str);
    backend_end(&d, d.breqs[0], MCP_FAILURE_NONE);
}


/* Calls a tool in an open session, and ends the call with a result. */
static void
call_ok(void)
{
    call_tool(&a);
    answer(RESULT);
    assert_string_equal(a.text, ANSWER);
    client_close(&d, &a);
}


/* Opens the session of the client. */
static void
open_first(void)
{
    call_tool(&a);
    open_session();
    answer(RESULT);
    client_close(&d, &a);
}


TEST(server_has_received_no_request__its_status_is_unknown)
{
    assert_string_equal(row()->endpoint, "localhost/mcp");
    assert_string_equal(row()->name, "server");
    assert_int_equal(row()->up, MCP_UPSTREAM_UNKNOWN);
    assert_int_equal(row()->form, MCP_UPSTREAM_SESSION);
    assert_int_equal(row()->failed_at, 0);
}


TEST(session_of_a_call_is_lost__mcp_upstream_state_of_the_call_is_set_to_again)
{
    open_first();

    call_tool(&a);
    state_is("hit");
    respond(404);
    assert_int_equal(row()->sessions, 0);
    state_is("again");
    open_session();
    state_is("again");
    answer(RESULT);
    assert_string_equal(a.text, ANSWER);
    client_close(&d, &a);

    assert_int_equal(row()->up, MCP_UPSTREAM_UP);
    assert_int_equal(row()->failed_at, 0);
    assert_int_equal(row()->opened, 2);
    assert_int_equal(row()->sessions, 1);

    call_tool(&a);
    state_is("hit");
    answer(RESULT);
}


TEST(mcp_upstream_session_is_call__mcp_upstream_state_of_a_call_is_set_to_init)
{
    unsigned  i;

    target.session = MCP_UPSTREAM_OF_CALL;

    for (i = 0; i < 2; i++) {
        call_tool(&a);
        open_session();
        state_is("init");
        answer(RESULT);
        client_close(&d, &a);
        end();
    }

    assert_int_equal(row()->opened, 2);
    assert_int_equal(row()->sessions, 0);
}


TEST(initialize_returns_the_servers_name_and_version__the_statistics_have_them)
{
    call_tool(&a);
    mcp_backend_request_session(sends("\"initialize\""), mcp_str("s1"));
    answer(NAMED);
    assert_string_equal(row()->server, "S1");
    assert_string_equal(row()->version, "7");
    client_close(&d, &a);
    end();
}


TEST(initialize_fails__the_statistics_count_it_and_have_the_reason)
{
    size_t  i;

    static const struct {
        int                 status;    /* 0: connection closed */
        mcp_upstream_up_e   up;
        mcp_reason_e        reason;
        const char         *detail;
    } cases[] = {
        { 0, MCP_UPSTREAM_DOWN, MCP_REASON_BACKEND_FAILED,
          "the backend ended without a response" },
        { 401, MCP_UPSTREAM_UP, MCP_REASON_UPSTREAM_AUTH,
          "the MCP server refused the credentials of this server" },
        { 404, MCP_UPSTREAM_DOWN, MCP_REASON_STATUS, "HTTP 404" },
        { 500, MCP_UPSTREAM_DOWN, MCP_REASON_STATUS, "HTTP 500" }
    };

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        call_tool(&a);
        sends("\"initialize\"");

        if (cases[i].status) {
            respond(cases[i].status);
        } else {
            backend_end(&d, d.breqs[0], MCP_FAILURE_NONE);
        }

        failed(cases[i].up, cases[i].reason, cases[i].detail);
        assert_int_equal(row()->refused, i + 1);
        client_close(&d, &a);
    }

    assert_int_equal(row()->opened, 0);
}


TEST(server_rejects_initialize_with_a_json_rpc_error__its_status_is_up)
{
    call_tool(&a);
    sends("\"initialize\"");
    backend_reply(&d, d.breqs[0], "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":"
                                  "{\"code\":-32603,\"message\":\"no\"}}");
    failed(MCP_UPSTREAM_UP, MCP_REASON_UPSTREAM_SESSION,
           "the MCP server responded to initialize with an error");
    assert_int_equal(row()->refused, 1);
}


TEST(initialize_times_out__the_failure_is_counted_and_the_server_is_down)
{
    call_tool(&a);
    sends("\"initialize\"");
    driver_wait(&d, 10001);
    failed(MCP_UPSTREAM_DOWN, MCP_REASON_BACKEND_TIMEOUT,
           "the MCP server sent no response in time");

    /* the end of the initialize request is not counted again */

    driver_wait(&d, MCP_UPSTREAM_OPEN_GRACE);
    assert_int_equal(d.n_breqs, 0);
    assert_int_equal(row()->refused, 1);
}


/* The backend request waits in the glue, for a thread for example. */
TEST(initialize_times_out_before_it_was_sent__the_statistics_stay)
{
    call_tool(&a);
    sends("\"initialize\"")->unsent = 1;
    driver_wait(&d, 10001);
    has(a.text, "-32603");
    assert_int_equal(row()->refused, 0);
    assert_int_equal(row()->up, MCP_UPSTREAM_UNKNOWN);
    assert_int_equal(row()->failed_at, 0);
    client_close(&d, &a);

    driver_wait(&d, MCP_UPSTREAM_OPEN_GRACE);
    assert_int_equal(d.n_breqs, 0);
    assert_int_equal(row()->refused, 0);
}


TEST(call_times_out_before_it_was_sent__only_the_timeout_of_a_later_call_counts)
{
    open_first();

    call_tool(&a);
    sends("tools/call")->unsent = 1;
    driver_wait(&d, 30001);
    has(a.text, "-32603");
    assert_int_equal(row()->up, MCP_UPSTREAM_UP);
    assert_int_equal(row()->failed_at, 0);
    client_close(&d, &a);
    end();

    call_tool(&a);
    driver_wait(&d, 30001);
    failed(MCP_UPSTREAM_DOWN, MCP_REASON_BACKEND_TIMEOUT,
           "the MCP server sent no response in time");
    client_close(&d, &a);
    end();
}


TEST(glue_refuses_initialize__it_is_not_counted_and_the_next_call_sends_it)
{
    call_tool(&a);
    call_tool(&b);
    mcp_backend_request_refuse(sends("\"initialize\""), "test");
    d.n_breqs--;                                  /* the backend request has
                                                    ended */
    driver_pump(&d);
    assert_int_equal(a.status, 429);
    assert_int_equal(row()->refused, 0);
    assert_int_equal(row()->up, MCP_UPSTREAM_UNKNOWN);

    open_session();
    answer(RESULT);
    assert_string_equal(b.text, ANSWER);
    assert_int_equal(row()->opened, 1);
}


TEST(initialize_fails_at_this_server__the_statistics_of_the_mcp_server_stay)
{
    size_t  i;

    static const mcp_failure_e  failures[] = { MCP_FAILURE_LOCAL,
                                               MCP_FAILURE_TARGET };

    for (i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        call_tool(&a);
        backend_end(&d, sends("\"initialize\""), failures[i]);
        has(a.text, "-32603");
        assert_int_equal(row()->refused, 0);
        assert_int_equal(row()->up, MCP_UPSTREAM_UNKNOWN);
        assert_int_equal(row()->failed_at, 0);
        client_close(&d, &a);
    }

    /* a later failure of the MCP server is counted */

    call_tool(&a);
    backend_end(&d, sends("\"initialize\""), MCP_FAILURE_REPLY);
    assert_int_equal(row()->refused, 1);
    assert_int_equal(row()->up, MCP_UPSTREAM_DOWN);
}


TEST(client_leaves_and_initialize_fails_at_this_server__it_is_not_counted)
{
    call_tool(&a);
    sends("\"initialize\"");
    client_close(&d, &a);
    driver_pump(&d);
    backend_end(&d, sends("\"initialize\""), MCP_FAILURE_LOCAL);
    assert_int_equal(row()->refused, 0);
    assert_int_equal(row()->up, MCP_UPSTREAM_UNKNOWN);
}


/* The zone has no room for the error of a call whose initialize has failed. */
TEST(error_about_initialize_waits_for_room__one_failed_initialize_is_counted)
{
    size_t            i;
    uint64_t          at;
    mcp_stream_ref_t  ref;

    static const char *const  responses[] = {
        "no json",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":"
        "{\"code\":-32603,\"message\":\"no\"}}"
    };

    for (i = 0; i < sizeof(responses) / sizeof(responses[0]); i++) {
        call_tool(&a);
        sends("\"initialize\"");
        driver_wait(&d, 1500);

        hog(&ref);
        backend_reply(&d, d.breqs[0], responses[i]);
        at = row()->failed_at;
        driver_wait(&d, 5 * MCP_CALL_RETRY);
        assert_int_equal(row()->refused, i + 1);
        assert_int_equal(row()->failed_at, at);

        has_not(a.text, "error");
        mcp_store_free(&d.process[1].store, &ref);
        driver_wait(&d, MCP_CALL_RETRY);
        has(a.text, "error");
        client_close(&d, &a);
    }
}


TEST(call_fails__the_status_of_the_server_is_down_until_its_next_response)
{
    open_first();

    call_tool(&a);
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    assert_int_equal(row()->up, MCP_UPSTREAM_DOWN);
    assert_int_equal(row()->reason, MCP_REASON_BACKEND_FAILED);
    client_close(&d, &a);

    call_ok();
    assert_int_equal(row()->up, MCP_UPSTREAM_UP);
    assert_int_equal(row()->reason, MCP_REASON_BACKEND_FAILED);
}


TEST(call_fails_at_this_server__the_status_of_the_mcp_server_stays_up)
{
    open_first();

    call_tool(&a);
    backend_end(&d, d.breqs[0], MCP_FAILURE_LOCAL);
    has(a.text, "-32603");
    assert_int_equal(row()->up, MCP_UPSTREAM_UP);
    assert_int_equal(row()->failed_at, 0);
    client_close(&d, &a);

    call_tool(&a);
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    assert_int_equal(row()->up, MCP_UPSTREAM_DOWN);
}


/* The stream of a call has ended, and the GET request that resumes it fails at
 * this server. The call times out before the next GET request. */
TEST(resume_fails_at_this_server__a_later_timeout_of_the_call_is_recorded)
{
    d.endpoint.call_timeout = 10000;
    open_first();

    call_tool(&a);
    mcp_backend_request_head(d.breqs[0], 200, mcp_str("text/event-stream"));
    backend_send(&d, d.breqs[0], "id: e1\nretry: 4000\ndata:\n\n");
    backend_end(&d, d.breqs[0], MCP_FAILURE_NONE);
    driver_wait(&d, 4000);
    assert_int_equal(d.breqs[0]->http_method, MCP_BACKEND_REQUEST_GET);
    backend_end(&d, d.breqs[0], MCP_FAILURE_LOCAL);
    assert_int_equal(row()->failed_at, 0);

    driver_wait(&d, 6001);
    failed(MCP_UPSTREAM_DOWN, MCP_REASON_BACKEND_TIMEOUT,
           "the MCP server sent no response in time");
    end();
}


TEST(call_gets_an_invalid_response__the_status_of_the_server_is_down)
{
    open_first();

    call_tool(&a);
    backend_reply(&d, d.breqs[0], "{\"jsonrpc\":\"2.0\"");
    assert_int_equal(row()->up, MCP_UPSTREAM_DOWN);
    assert_int_equal(row()->reason, MCP_REASON_BACKEND_OUTPUT);
}


TEST(call_gets_a_json_rpc_error__the_status_of_the_server_is_up)
{
    open_first();

    call_tool(&a);
    backend_reply(&d, d.breqs[0], "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":"
                                  "{\"code\":-32602,\"message\":\"no\"}}");
    assert_int_equal(row()->up, MCP_UPSTREAM_UP);
    assert_int_equal(row()->failed_at, 0);
}


TEST(server_rejects_DELETE_of_a_session__its_status_stays_up)
{
    open_first();

    client_init(&a, session);
    client_send(&d, 0, &a, "DELETE", "");
    assert_int_equal(d.breqs[0]->http_method, MCP_BACKEND_REQUEST_DELETE);
    assert_int_equal(row()->sessions, 0);
    respond(405);
    assert_int_equal(a.status, 204);
    assert_int_equal(row()->up, MCP_UPSTREAM_UP);
    assert_int_equal(row()->failed_at, 0);
}


RUN_TESTS(setup_status, teardown)
