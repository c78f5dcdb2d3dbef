/* SPDX-License-Identifier: Apache-2.0 */

/* Outcomes: their names and counters, and the outcome of a stream that is
 * over. */

#include "core_cases.h"


TEST(ended_call_has_an_outcome_but_an_active_call_or_a_listener_has_none)
{
    static const struct {
        mcp_stream_kind_e   kind;
        mcp_stream_state_e  state;
        uint32_t            result;
        const char         *name;
    } cases[] = {
        { MCP_STREAM_LISTEN, MCP_STATE_COMPLETED, MCP_OUTCOME_OK, "" },
        { MCP_STREAM_CALL, MCP_STATE_PROCESSING, MCP_OUTCOME_OK, "" },
        { MCP_STREAM_CALL, MCP_STATE_INPUT_REQUIRED, MCP_OUTCOME_OK, "" },
        { MCP_STREAM_CALL, MCP_STATE_COMPLETED, MCP_OUTCOME_OK, "ok" },
        { MCP_STREAM_CALL, MCP_STATE_FAILED, MCP_OUTCOME_LOST, "lost" },
        { MCP_STREAM_CALL, MCP_STATE_CANCELLED, MCP_OUTCOME_OK, "cancelled" },
        { MCP_STREAM_CALL, MCP_STATE_FAILED, MCP_OUTCOME_COUNT, "" }
    };

    size_t             i;
    mcp_stream_info_t  info;

    memset(&info, 0, sizeof(info));

    for (i = 0; i < ITEMS(cases); i++) {
        info.kind = cases[i].kind;
        info.state = cases[i].state;
        info.result = cases[i].result;
        assert_str_is(mcp_outcome_name(mcp_outcome_of(&info)), cases[i].name);
    }
}


TEST(lost_call_is_counted_as_lost_and_a_call_with_an_error_or_fault_as_failed)
{
    mcp_outcome_count(&d.process[0].store, MCP_OUTCOME_OK);
    mcp_outcome_count(&d.process[0].store, MCP_OUTCOME_LOST);
    mcp_outcome_count(&d.process[0].store, MCP_OUTCOME_RPC_ERROR);
    mcp_outcome_count(&d.process[0].store, MCP_OUTCOME_FAULT);

    assert_int_equal(stats().counter[MCP_COUNT_CALLS_LOST], 1);
    assert_int_equal(stats().counter[MCP_COUNT_CALLS_FAILED], 2);
}


/* A request that is not a call has no outcome. */
TEST(request_that_is_not_a_call_has_no_outcome)
{
    client_post(&d, 0, &a, session, PING);
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESULT, "");
    client_close(&d, &a);

    client_post(&d, 0, &a, session,
                REQUEST("1", "tools/call", "{\"name\":\"none\"}"));
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESULT, "");
    client_close(&d, &a);

    client_resume(&d, 0, &a, session, NULL);
    mcp_exchange_last(a.x);
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESULT, "");
}


RUN_TESTS(setup, teardown)
