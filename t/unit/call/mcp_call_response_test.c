/* SPDX-License-Identifier: Apache-2.0 */

/* Responses: sent as soon as they are there, and never twice. */

#include "core_cases.h"


TEST(backend_responds_at_once__the_client_gets_json_without_a_stream)
{
    client_post(&d, 0, &a, session, CALL);
    assert_int_equal(a.status, 0);
    assert_string_equal(d.last_body, CALL);
    variable_is(&d.breqs[0]->variables, MCP_VARIABLE_PROGRESS_TOKEN, "\"t\"");
    backend_json(&d, RESULT);

    assert_int_equal(a.status, 200);
    assert_string_equal(a.text, ANSWER);
    assert_str_is(mcp_exchange_response(a.x)->content_type,
                  "application/json");
    assert_int_equal(stats().streams, 0);

    assert_int_equal(d.forgets, 0);
    client_close(&d, &a);
    assert_int_equal(d.forgets, 1);
}


/* A request gets one response, even if its backend request fails after the
 * response. */
TEST(request_has_its_response__a_later_failure_adds_no_second_response)
{
    char         old[MCP_SESSION_TEXT_MAX];
    mcp_call_t  *call;

    client_open(&d, old, OLD, ALL);
    client_post(&d, 0, &a, old, "[" CALL "," CALL8 "]");
    driver_wait(&d, 1500);
    call = d.breqs[0]->call;

    (void) backend_stream(&d, 0);
    backend_send(&d, d.breqs[0], RESULT "\n");
    assert_int_equal(call->pending, 1);
    mcp_call_fail(&call->requests[d.breqs[0]->request], MCP_FAULT_INTERNAL);
    assert_int_equal(call->pending, 1);
    backend_end(&d, d.breqs[0], MCP_FAILURE_NONE);
    backend_json(&d, RESULT);
    assert_int_equal(count(a.text, "\"id\":7"), 1);
    assert_int_equal(count(a.text, "\"id\":8"), 1);
    assert_int_equal(a.ended, 1);
}


/* The error code -32021 has HTTP status 400 in revision 2026-07-28. In a
 * revision with sessions, backends may use it for any purpose. */
TEST(backend_responds_32021_to_a_client_with_a_session__http_status_is_200)
{
    static const char  error[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32021,"
        "\"message\":\"m\"}}";

    char                    old[MCP_SESSION_TEXT_MAX];
    mcp_backend_request_t  *first;

    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, error);
    answered(&a, 200, "\"id\":7,\"error\":{\"code\":-32021,");

    client_open(&d, old, OLD, ALL);
    client_post(&d, 0, &a, old, "[" CALL "," CALL8 "]");
    first = d.breqs[0];
    backend_reply(&d, d.breqs[1], error);
    backend_reply(&d, first, RESULT);
    has(a.text, ANSWER);
    answered(&a, 200, "\"id\":8,\"error\":{\"code\":-32021,");
}


RUN_TESTS(setup, teardown)
