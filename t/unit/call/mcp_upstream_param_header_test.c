/* SPDX-License-Identifier: Apache-2.0 */

/* A call that an MCP server of 2026-07-28 has refused because of a header: its
 * deadline, and its error if the server does not list its tools. */

#include "upstream_cases.h"

#include "call/mcp_upstream_param_header.h"


#define REJECTION  "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32020," \
                   "\"message\":\"Header mismatch\"}}"

#define OTHERS   "{\"tools\":[],\"nextCursor\":\"more\"}"
#define TOOLS    "{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{"          \
                 "\"properties\":{\"a\":{\"type\":\"integer\","              \
                 "\"x-mcp-header\":\"A\"}}}}]}"


static int
setup_params(void **state)
{
    setup_upstream(state);

    target.upstream = MCP_UPSTREAM_MODERN;
    d.endpoint.catalog = NULL;

    return 0;
}


/* Calls a tool, which the server refuses after a time. */
static void
refused(uint64_t after)
{
    mcp_backend_request_t  *breq;

    call_tool(&a);
    breq = sends("tools/call");
    driver_wait(&d, after);
    mcp_backend_request_head(breq, 400, mcp_str("application/json"));
    backend_send(&d, breq, REJECTION);
    backend_end(&d, breq, MCP_FAILURE_NONE);
    sends("tools/list");
}


/* Checks that the client has got the error of the call, and that no backend
 * request is left. */
static void
call_has_failed(void)
{
    has(a.text, "\"code\":-32603,\"message\":\"Upstream failed\"");
    assert_int_equal(d.n_breqs, 0);
    client_close(&d, &a);
    quiet();
}


TEST(call_is_repeated_after_a_header_error__the_first_timeout_still_applies)
{
    refused(20000);
    driver_wait(&d, 5000);
    answer(TOOLS);
    sends("tools/call");
    driver_wait(&d, 4999);
    has_not(a.text, "error");
    driver_wait(&d, 1);
    has(a.text, "Backend timed out");
    assert_int_equal(d.n_breqs, 0);
}


TEST(tools_list_has_many_pages__the_waiting_call_ends_within_its_timeout)
{
    refused(0);
    driver_wait(&d, 9000);
    answer(OTHERS);
    driver_wait(&d, 9000);
    answer(OTHERS);
    driver_wait(&d, 9000);
    answer(OTHERS);
    sends("\"more\"");
    driver_wait(&d, 2999);
    has_not(a.text, "error");
    driver_wait(&d, 1);
    call_has_failed();
}


TEST(repeated_call_asks_a_question__the_answer_starts_a_new_timeout)
{
    char  id[72];

    refused(20000);
    answer(TOOLS);
    sends("tools/call");
    answer(ROUND(ONE(FORM)));
    driver_wait(&d, 15000);
    question_id(a.text, "elicitation/create", id);
    reply(1, session, id, "\"result\":{\"action\":\"accept\"}");
    sends("inputResponses");
    driver_wait(&d, 29999);
    has_not(a.text, "error");
    answer(RESULT);
    has(a.text, RESULT);
}


TEST(tools_list_after_a_header_error_fails__the_call_ends_with_an_error)
{
    refused(0);
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    call_has_failed();
}


TEST(tools_list_after_a_header_error_takes_10_s__the_call_ends_with_an_error)
{
    refused(0);
    driver_wait(&d, 10000);
    call_has_failed();
}


TEST(tools_list_after_a_header_error_is_refused__the_call_ends_with_an_error)
{
    refused(0);
    backend_reply(&d, d.breqs[0],
                  "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,"
                  "\"message\":\"no tools\"}}");
    call_has_failed();
}


TEST(result_is_published_during_tools_list_after_a_header_error__it_is_ignored)
{
    char        url[512];
    const char  *path;

    refused(1500);
    path = publish_url_of(d.breqs[0], url, sizeof(url));
    publish_gets(1, path, TOOLS, 202);
    publish(1, &b, path, ANSWER);
    has_not(a.text, RESULT);
    sends("tools/list");
    answer(TOOLS);
    assert_int_equal(sends("tools/call")->n_headers, 1);
    answer(RESULT);
    has(a.text, RESULT);
}


RUN_TESTS(setup_params, teardown)
