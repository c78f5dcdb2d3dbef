/* SPDX-License-Identifier: Apache-2.0 */

#include "exchange/mcp_describe.h"

#include "exchange/mcp_exchange_internal.h"
#include "rpc/mcp_upstream_body.h"
#include "worker/mcp_answer.h"


/* Called when the server has answered, or has failed. */
static void
mcp_describe_end(mcp_exchange_t *x)
{
    int  rc;

    x->described = 1;
    x->answer.out.len = 0;
    x->answer.call_outcome = MCP_OUTCOME_NONE;

    rc = mcp_describe(x, x->respond);

    if (rc == MCP_AGAIN) {
        return;
    }

    if (rc != MCP_OK) {
        (void) mcp_answer_status(x, 500);
    }

    mcp_answer_ready(x, MCP_ACT_RESPOND);
}


static mcp_str_t
mcp_describe_question(mcp_upstream_e upstream)
{
    return upstream == MCP_UPSTREAM_MODERN
           ? mcp_str("{\"jsonrpc\":\"2.0\",\"id\":1,"
                     "\"method\":\"server/discover\",\"params\":{\"_meta\":{"
                     "\"io.modelcontextprotocol/protocolVersion\":"
                     "\"2026-07-28\","
                     "\"io.modelcontextprotocol/clientCapabilities\":{},"
                     "\"io.modelcontextprotocol/clientInfo\":"
                     MCP_UPSTREAM_CLIENT_INFO "}}}")
           : mcp_str("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\","
                     "\"params\":{\"protocolVersion\":\""
                     MCP_UPSTREAM_STATELESS_VERSION "\",\"capabilities\":{},"
                     "\"clientInfo\":" MCP_UPSTREAM_CLIENT_INFO "}}");
}


/* Starts the call that asks the server. */
static int
mcp_describe_ask(mcp_exchange_t *x, mcp_upstream_e upstream)
{
    mcp_call_t     *call;
    mcp_request_t  *req;

    call = mcp_call_create(x, 1);
    if (call == NULL) {
        return MCP_ERR_MEMORY;
    }

    call->describe = mcp_describe_end;

    req = &call->requests[0];
    req->raw = mcp_describe_question(upstream);
    req->id = x->msg->id;
    req->method = mcp_method(upstream == MCP_UPSTREAM_MODERN
                             ? MCP_METHOD_SERVER_DISCOVER
                             : MCP_METHOD_INITIALIZE);
    req->target = x->endpoint->target;

    return mcp_dispatch_start(x, call);
}


int
mcp_describe(mcp_exchange_t *x, int (*respond)(mcp_exchange_t *x))
{
    uint64_t               now;
    const mcp_target_t    *target;
    mcp_upstream_about_t  *about;

    about = mcp_endpoint_describer(x->endpoint);

    if (about == NULL) {
        return respond(x);
    }

    target = &x->endpoint->targets[x->endpoint->target];
    now = mcp_worker_now(x->worker);

    if (about->at && now - about->at < target->check) {
        return respond(x);
    }

    if (!x->described) {
        x->respond = respond;
        return mcp_describe_ask(x, (mcp_upstream_e) target->upstream);
    }

    if (about->at && now - about->at < target->check + target->stale) {
        return respond(x);
    }

    return mcp_answer_fault(x, MCP_FAULT_UPSTREAM_DOWN, x->msg->id,
                            mcp_null_str);
}
