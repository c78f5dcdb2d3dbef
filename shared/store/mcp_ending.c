/* SPDX-License-Identifier: Apache-2.0 */

#include "store/mcp_ending.h"


#define MCP_ENDING_NO_COUNTER  MCP_COUNT_MAX


static const struct {
    mcp_str_t      name;
    mcp_counter_e  counter;
} mcp_endings[MCP_ENDING_COUNT] = {
    [MCP_ENDING_NONE] = { mcp_str(""), MCP_ENDING_NO_COUNTER },
    [MCP_ENDING_OK] = { mcp_str("ok"), MCP_ENDING_NO_COUNTER },
    [MCP_ENDING_TOOL_ERROR] = { mcp_str("tool_error"),
                                MCP_COUNT_CALLS_TOOL_ERRORS },
    [MCP_ENDING_RPC_ERROR] = { mcp_str("rpc_error"), MCP_COUNT_CALLS_FAILED },
    [MCP_ENDING_FAULT] = { mcp_str("fault"), MCP_COUNT_CALLS_FAILED },
    [MCP_ENDING_LOST] = { mcp_str("lost"), MCP_COUNT_CALLS_LOST },
    [MCP_ENDING_CANCELLED] = { mcp_str("cancelled"),
                               MCP_COUNT_CALLS_CANCELLED },
    [MCP_ENDING_EXPIRED] = { mcp_str("expired"), MCP_COUNT_CALLS_EXPIRED }
};


mcp_str_t
mcp_ending_name(mcp_ending_e ending)
{
    return mcp_endings[ending].name;
}


void
mcp_ending_count(mcp_store_t *store, mcp_ending_e ending)
{
    mcp_counter_e  counter;

    counter = mcp_endings[ending].counter;

    if (counter != MCP_ENDING_NO_COUNTER) {
        mcp_store_count(store, counter, 1);
    }
}


mcp_ending_e
mcp_ending_of(const mcp_stream_info_t *info)
{
    if (info->kind != MCP_STREAM_CALL || info->state < MCP_STATE_COMPLETED) {
        return MCP_ENDING_NONE;
    }

    if (info->state == MCP_STATE_CANCELLED) {
        return MCP_ENDING_CANCELLED;
    }

    return info->result <= MCP_ENDING_LOST ? (mcp_ending_e) info->result
                                           : MCP_ENDING_NONE;
}
