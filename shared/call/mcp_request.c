/* SPDX-License-Identifier: Apache-2.0 */

#include "call/mcp_request.h"


void
mcp_request_set_state(mcp_request_t *req, mcp_request_state_e state)
{
    static const char *const  names[] = {
        [MCP_REQUEST_RUN] = "its backend works",
        [MCP_REQUEST_INPUT] = "its client is asked",
        [MCP_REQUEST_PAUSE] = "its backend will be called again",
        [MCP_REQUEST_DETACHED] = "the rest will be published",
        [MCP_REQUEST_OVER] = "over"
    };

    if (req->state != state) {
        mcp_call_trace(req->call, "request %u: %s", req->job.request,
                       names[state]);
    }

    req->state = state;
}


void
mcp_request_begins(const mcp_request_t *req)
{
    char         id[9], session[9];
    mcp_call_t  *call;

    call = req->call;

    if (!mcp_worker_logs(call->worker, MCP_LOG_INFO)) {
        return;
    }

    mcp_stream_id_short(id, call->id);
    mcp_stream_id_short(session, call->client.id);

    mcp_worker_log(call->worker, MCP_LOG_INFO,
                 "call %s of \"%.*s\" began: %.*s, session %s", id,
                 (int) (req->name.len > 128 ? 128 : req->name.len),
                 req->name.data ? req->name.data : "",
                 (int) req->method->name.len, req->method->name.data, session);
}


static void
mcp_request_log_end(const mcp_request_t *req, mcp_ending_e how)
{
    char         id[9];
    mcp_call_t  *call;

    call = req->call;
    mcp_stream_id_short(id, call->id);

    mcp_worker_log(call->worker, MCP_LOG_INFO,
                 "call %s of \"%.*s\" ended: %s, after %llu ms", id,
                 (int) (req->name.len > 128 ? 128 : req->name.len),
                 req->name.data ? req->name.data : "",
                 mcp_ending_name(how).data,
                 (unsigned long long) (mcp_call_now(call) - call->began));
}


void
mcp_request_ends(mcp_request_t *req, mcp_ending_e how)
{
    mcp_call_t  *call;

    call = req->call;
    req->ending = how;
    mcp_ending_count(call->worker->store, how);

    /* of a batch it is known with the last one */

    if (call->x && !call->batch) {
        call->x->answer.ending = how;
    }

    if (mcp_worker_logs(call->worker, MCP_LOG_INFO)) {
        mcp_request_log_end(req, how);
    }
}


void
mcp_request_ends_all(mcp_call_t *call, mcp_ending_e how)
{
    size_t  i;

    for (i = 0; i < call->n; i++) {
        if (call->requests[i].state != MCP_REQUEST_OVER) {
            mcp_request_ends(&call->requests[i], how);
        }
    }
}
