/* SPDX-License-Identifier: Apache-2.0 */

/* Outcomes of requests: for each outcome, the log line, the counter, and the
 * variables of the client's request. */

#include "core_cases.h"

#include "rpc/mcp_fault.h"
#include "store/mcp_store_call_stats.h"


#define TOOL_ERROR  "{\"content\":[],\"isError\":true}"
#define RPC_ERROR   "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1,"    \
                    "\"message\":\"m\"}}"


static int64_t
counted(mcp_counter_e counter)
{
    return stats().counter[counter];
}


/* The client of a stream, and a client that resumes the stream after its end
 * at another process, get the same outcome. */
TEST(client_resumes_a_call_that_has_ended__both_requests_have_its_outcome)
{
    static const struct {
        const char  *text;
        const char  *ending;
        int          errors;
    } cases[] = {
        { "{\"content\":[],\"isError\":false}\n", "ok", 0 },
        { TOOL_ERROR "\n", "tool_error", 0 },
        { RPC_ERROR "\n", "rpc_error", 1 }
    };

    char                    id[64];
    size_t                  i;
    int64_t                 errors;
    mcp_backend_request_t  *breq;

    for (i = 0; i < ITEMS(cases); i++) {
        errors = counted(MCP_COUNT_ERRORS);
        breq = call(0);
        backend_send(&d, breq, PROGRESS(1) "\n");
        client_last_id(&a, id);
        variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESULT, "");
        end_with(breq, cases[i].text);
        variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESULT,
                    cases[i].ending);
        client_close(&d, &a);

        client_resume(&d, 1, &a, session, id);
        variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESULT,
                    cases[i].ending);
        client_close(&d, &a);
        assert_int_equal(counted(MCP_COUNT_ERRORS) - errors, cases[i].errors);
        quiet();
    }
}


TEST(call_is_cancelled_or_its_session_ends__the_outcome_is_cancelled)
{
    char  other[MCP_SESSION_TEXT_MAX];

    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 1500);
    cancel(1, session, "7");
    assert_int_equal(a.ended, 1);
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESULT, "cancelled");
    has(d.te.info, "ended: cancelled, after 1500 ms");
    client_close(&d, &a);

    client_open(&d, other, NEW, ALL);
    client_post(&d, 0, &a, other, CALL);
    driver_wait(&d, 1500);
    end_session(1, other);
    assert_int_equal(a.ended, 1);
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESULT, "cancelled");
    client_close(&d, &a);

    assert_int_equal(counted(MCP_COUNT_CALLS_CANCELLED), 2);
    assert_int_equal(counted(MCP_COUNT_ERRORS), 0);
}


TEST(client_disconnects_and_does_not_resume__the_call_counts_as_expired)
{
    /* the client has disconnected: its request has no outcome */

    d.endpoint.max_wait = 5000;

    call(0);
    backend_send(&d, d.breqs[0], PROGRESS(1) "\n");
    mcp_exchange_last(a.x);
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESULT, "");
    client_close(&d, &a);
    driver_wait(&d, d.endpoint.max_wait + 1500);
    assert_int_equal(counted(MCP_COUNT_CALLS_EXPIRED), 1);
    has(d.te.info, "ended: expired, after");
    has(d.te.last, "no client resumed the call within mcp_max_wait");
    quiet();

    /* mcp_max_wait is 0, so no client can resume the call: the outcome is
     * "expired" when its client disconnects */

    d.endpoint.max_wait = 0;
    call(0);
    backend_send(&d, d.breqs[0], PROGRESS(1) "\n");
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESULT, "");
    mcp_exchange_last(a.x);
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESULT, "expired");
    client_close(&d, &a);
    driver_wait(&d, 10);
    assert_int_equal(counted(MCP_COUNT_CALLS_EXPIRED), 2);
    quiet();

    client_post(&d, 0, &a, session, CALL);
    mcp_exchange_last(a.x);
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESULT, "expired");
    client_close(&d, &a);
    driver_wait(&d, 10);
    assert_int_equal(counted(MCP_COUNT_CALLS_EXPIRED), 3);
}


/* The client disconnects when the result is stored but was not sent: the
 * outcome is that of the result. */
TEST(client_leaves_before_a_stored_tool_error_is_sent__outcome_is_tool_error)
{
    mcp_backend_request_t  *breq;

    breq = call_with_progress(0);
    a.slow = 1;
    end_with(breq, TOOL_ERROR "\n");
    assert_int_equal(a.ended, 0);
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESULT, "");
    mcp_exchange_last(a.x);
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESULT, "tool_error");
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_OUTCOME, "stream");
}


/* The outcome of a batch is the worst outcome of its requests, in any
 * order. */
TEST(outcome_of_a_batch_is_the_worst_of_its_requests)
{
    char                    old[MCP_SESSION_TEXT_MAX];
    int                     durable;
    mcp_backend_request_t  *one, *two;

    client_open(&d, old, OLD, ALL);

    for (durable = 0; durable <= 1; durable++) {
        client_post(&d, 0, &a, old, "[" CALL "," CALL8 "," PING "]");
        assert_int_equal(d.n_breqs, 2);
        one = d.breqs[0];
        two = d.breqs[1];

        if (durable) {
            driver_wait(&d, 1500);
        }

        backend_reply(&d, two, TOOL_ERROR);
        variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESULT,
                "");
        backend_reply(&d, one, RESULT);
        variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESULT,
                    "tool_error");
        client_close(&d, &a);
        quiet();
    }

    assert_int_equal(counted(MCP_COUNT_CALLS_TOOL_ERRORS), 2);
}


/* A log line describes the backend's answer, and contains the name of the
 * tool. */
TEST(backend_response_is_an_error_or_not_as_expected__log_has_tool_and_reason)
{
    static const struct {
        int          status;
        const char  *type;
        const char  *body;
        const char  *ending;
        const char  *line;
    } cases[] = {
        { 404, "text/html", "File not found.\n", "tool_error",
          "failed in its backend: HTTP 404" },
        { 503, "text/html", "", "tool_error", "HTTP 503" },
        { 418, "application/json", RPC_ERROR, "rpc_error", "HTTP 418" },
        { 200, "application/json", "debug: here\n{\"content\":[]}", "fault",
          ": \"debug: here\\n{\\\"content\\\":[]}\"" },
        { 200, "application/json", "{\"content\":[],}", "fault",
          "at byte 14: \"{\\\"content\\\":[],}\"" },
        { 200, "application/json", "\xef\xbb\xbf{\x01\xff", "fault",
          ": \"{\\x01\\xff\"" }
    };

    size_t  i;

    for (i = 0; i < ITEMS(cases); i++) {
        d.te.last[0] = '\0';
        client_post(&d, 0, &a, session, CALL);
        mcp_backend_request_head(d.breqs[0], cases[i].status,
                                 test_str(cases[i].type));
        end_with(d.breqs[0], cases[i].body);
        has(d.te.last, cases[i].line);
        variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESULT,
                cases[i].ending);
        client_close(&d, &a);
    }

    /* a successful call causes no line at this log level */

    d.te.last[0] = '\0';
    client_post(&d, 0, &a, session, CALL);
    has(d.te.info, "of \"echo\" began: tools/call, session ");
    mcp_backend_request_head(d.breqs[0], 200, mcp_str("text/html"));
    end_with(d.breqs[0], "<b>{}</b>");
    client_close(&d, &a);
    client_post(&d, 0, &a, session, CALL);
    mcp_backend_request_head(d.breqs[0], 200, mcp_str("application/json"));
    end_with(d.breqs[0], TOOL_ERROR);
    client_close(&d, &a);
    assert_string_equal(d.te.last, "");
}


TEST(glue_refuses_a_call__the_recent_failures_have_one_entry_with_its_id)
{
    unsigned char              id[MCP_STREAM_ID_LEN];
    mcp_backend_request_t     *breq;
    mcp_call_stats_failure_t   failures[3];

    breq = call(0);
    memcpy(id, breq->call->id, MCP_STREAM_ID_LEN);
    mcp_backend_request_refuse(breq, "test");
    d.n_breqs--;                                  /* the backend request has
                                                    ended */
    driver_pump(&d);
    assert_int_equal(a.status, 429);
    assert_int_equal(counted(MCP_COUNT_REJECTED_LIMIT), 1);

    assert_int_equal(mcp_store_call_stats_recent(&d.process[0].store, failures,
                                                 ITEMS(failures)), 1);
    assert_int_equal(failures[0].result, MCP_OUTCOME_FAULT);
    assert_int_equal(failures[0].reason, MCP_REASON_QUOTA);
    assert_memory_equal(failures[0].id, id, MCP_STREAM_ID_LEN);
}


RUN_TESTS(setup, teardown)
