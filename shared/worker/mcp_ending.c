/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How the requests of a call end.  This is the one place that counts it and
 * says so in the log; what a client is answered is decided elsewhere.
 */

#include "worker/mcp_ending.h"


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
mcp_ending_begin(const mcp_request_t *req)
{
    char         id[9], session[9];
    mcp_call_t  *call;

    call = req->call;

    if (!mcp_worker_logs(call->worker, MCP_LOG_INFO)) {
        return;
    }

    mcp_stream_id_short(id, call->id);
    mcp_stream_id_short(session, call->session.id);

    mcp_worker_log(call->worker, MCP_LOG_INFO,
                 "call %s of \"%.*s\" began: %.*s, session %s", id,
                 (int) (req->name.len > 128 ? 128 : req->name.len),
                 req->name.data ? req->name.data : "",
                 (int) req->method->name.len, req->method->name.data, session);
}


static void
mcp_ending_log(const mcp_request_t *req, mcp_ending_e how)
{
    char         id[9];
    mcp_call_t  *call;

    call = req->call;
    mcp_stream_id_short(id, call->id);

    mcp_worker_log(call->worker, MCP_LOG_INFO,
                 "call %s of \"%.*s\" ended: %s, after %llu ms", id,
                 (int) (req->name.len > 128 ? 128 : req->name.len),
                 req->name.data ? req->name.data : "",
                 mcp_endings[how].name.data,
                 (unsigned long long) (mcp_call_now(call) - call->began));
}


void
mcp_ending(mcp_request_t *req, mcp_ending_e how)
{
    mcp_call_t     *call;
    mcp_counter_e   counter;

    call = req->call;
    req->ending = how;
    counter = mcp_endings[how].counter;

    if (counter != MCP_ENDING_NO_COUNTER) {
        mcp_store_count(call->worker->store, counter, 1);
    }

    /* of a batch it is known with the last one */

    if (call->x && !call->batch) {
        call->x->ending = how;
    }

    if (mcp_worker_logs(call->worker, MCP_LOG_INFO)) {
        mcp_ending_log(req, how);
    }
}


void
mcp_ending_all(mcp_call_t *call, mcp_ending_e how)
{
    size_t  i;

    for (i = 0; i < call->n; i++) {
        if (call->requests[i].state != MCP_REQUEST_OVER) {
            mcp_ending(&call->requests[i], how);
        }
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
