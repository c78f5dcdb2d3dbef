/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of the variables that a request sets for logs. */

#include "core_cases.h"


/* A principal with control characters is rejected, and its variable has the
 * value "?". */
TEST(principal_has_control_characters__the_request_is_rejected)
{
    static const char *const  who[] = { "bob\r\nMcp-Principal", "a\x7f",
                                        "\t" };

    size_t  i;

    for (i = 0; i < ITEMS(who); i++) {
        client_post_as(&d, 1, &a, session, who[i], PING);
        assert_int_equal(a.status, 403);
        has(a.text, "Forbidden");
        variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_PRINCIPAL, "?");
        client_close(&d, &a);

        client_init(&a, session);
        a.principal = who[i];
        client_send(&d, 1, &a, "DELETE", "");
        answered(&a, 403, NULL);
    }

    ask(session, PING, 200, PONG);
}


TEST(variables_describe_the_request_and_the_session_and_the_outcome)
{
    mcp_backend_request_t  *breq;
    const mcp_variables_t  *variables;

    client_post(&d, 0, &a, session, PING);
    variables = mcp_exchange_variables(a.x);
    variable_is(variables, MCP_VARIABLE_METHOD, "ping");
    variable_is(variables, MCP_VARIABLE_REQUEST_ID, "1");
    variable_is(variables, MCP_VARIABLE_PROTOCOL_VERSION, NEW);
    variable_is(variables, MCP_VARIABLE_OUTCOME, "ok");
    variable_is(variables, MCP_VARIABLE_CALL, "");
    assert_int_equal(variables->value[MCP_VARIABLE_SESSION].len, 8);
    assert_int_equal(variables->value[MCP_VARIABLE_SESSION_ID].len, 22);
    client_close(&d, &a);

    client_post(&d, 0, &a, "nonsense", PING);
    variables = mcp_exchange_variables(a.x);
    variable_is(variables, MCP_VARIABLE_OUTCOME, "error");
    variable_is(variables, MCP_VARIABLE_SESSION, "");
    client_close(&d, &a);

    breq = call(0);
    variables = mcp_exchange_variables(a.x);
    variable_is(variables, MCP_VARIABLE_OUTCOME, "pending");
    variable_is(variables, MCP_VARIABLE_NAME, "echo");
    assert_int_equal(variables->value[MCP_VARIABLE_CALL].len, 8);
    assert_memory_equal(variables->value[MCP_VARIABLE_CALL].data,
                        breq->variables.value[MCP_VARIABLE_CALL].data, 8);
    backend_send(&d, breq, PROGRESS(1) "\n" PROGRESS(2) "\n");
    variables = mcp_exchange_variables(a.x);
    variable_is(variables, MCP_VARIABLE_OUTCOME, "stream");
    variable_is(variables, MCP_VARIABLE_EVENTS, "2");
    variable_is(variables, MCP_VARIABLE_RESUME_METHOD, "polling");
    variable_is(variables, MCP_VARIABLE_RESUMED, "");
    backend_send(&d, breq, RESULT "\n");
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_OUTCOME, "complete");
    backend_end(&d, breq, MCP_FAILURE_NONE);
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_EVENTS, "3");
}


RUN_TESTS(setup, teardown)
