/* SPDX-License-Identifier: Apache-2.0 */

#include "store/mcp_outcome.h"


#define MCP_OUTCOME_NO_COUNTER  MCP_COUNT_MAX


static const struct {
    mcp_str_t      name;
    mcp_counter_e  counter;
} mcp_outcomes[MCP_OUTCOME_COUNT] = {
    [MCP_OUTCOME_NONE] = { mcp_str(""), MCP_OUTCOME_NO_COUNTER },
    [MCP_OUTCOME_OK] = { mcp_str("ok"), MCP_OUTCOME_NO_COUNTER },
    [MCP_OUTCOME_TOOL_ERROR] = { mcp_str("tool_error"),
                                MCP_COUNT_CALLS_TOOL_ERRORS },
    [MCP_OUTCOME_RPC_ERROR] = { mcp_str("rpc_error"), MCP_COUNT_CALLS_FAILED },
    [MCP_OUTCOME_FAULT] = { mcp_str("fault"), MCP_COUNT_CALLS_FAILED },
    [MCP_OUTCOME_LOST] = { mcp_str("lost"), MCP_COUNT_CALLS_LOST },
    [MCP_OUTCOME_CANCELLED] = { mcp_str("cancelled"),
                               MCP_COUNT_CALLS_CANCELLED },
    [MCP_OUTCOME_EXPIRED] = { mcp_str("expired"), MCP_COUNT_CALLS_EXPIRED }
};


mcp_str_t
mcp_outcome_name(mcp_outcome_e outcome)
{
    return mcp_outcomes[outcome].name;
}


void
mcp_outcome_count(mcp_store_t *store, mcp_outcome_e outcome)
{
    mcp_counter_e  counter;

    counter = mcp_outcomes[outcome].counter;

    if (counter != MCP_OUTCOME_NO_COUNTER) {
        mcp_store_count(store, counter, 1);
    }
}


mcp_outcome_e
mcp_outcome_of(const mcp_stream_info_t *info)
{
    if (info->kind != MCP_STREAM_CALL || info->state < MCP_STATE_COMPLETED) {
        return MCP_OUTCOME_NONE;
    }

    if (info->state == MCP_STATE_CANCELLED) {
        return MCP_OUTCOME_CANCELLED;
    }

    return info->result <= MCP_OUTCOME_LOST ? (mcp_outcome_e) info->result
                                           : MCP_OUTCOME_NONE;
}
