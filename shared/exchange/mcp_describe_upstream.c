/* SPDX-License-Identifier: Apache-2.0 */

#include "exchange/mcp_describe_upstream.h"

#include "exchange/mcp_exchange_internal.h"
#include "rpc/mcp_upstream_body.h"
#include "worker/mcp_respond.h"


/* Time, ms, for which no description is requested from an MCP server after a
 * request for its description has failed. */
#define MCP_DESCRIBE_RETRY    1000

/* Time, ms, after which a pending request for the description of an MCP server
 * counts as lost, because the client for which it was sent may have
 * disconnected. This time is longer than MCP_BACKEND_REQUEST_DESCRIBE, the
 * maximum duration of such a request. */
#define MCP_DESCRIBE_PENDING  11000


/* Called when the request for the description of an MCP server has ended, with
 * or without success. Responds to the client that waits for the description. */
static void
mcp_describe_end(mcp_exchange_t *x)
{
    mcp_upstream_about_t  *about;

    about = x->endpoint->about;
    about->failed = about->at < about->sent_at ? mcp_worker_now(x->worker) : 0;
    about->sent_at = 0;

    x->described = 1;
    x->output.out.len = 0;
    x->output.call_outcome = MCP_OUTCOME_NONE;

    mcp_answer_next(x, mcp_describe(x, x->respond));
}


static mcp_str_t
mcp_describe_request(mcp_upstream_e upstream)
{
    switch (upstream) {

    case MCP_UPSTREAM_SESSION:
        return mcp_upstream_initialize;

    case MCP_UPSTREAM_STATELESS:
        return mcp_str("{\"jsonrpc\":\"2.0\",\"id\":" MCP_UPSTREAM_ID ","
                       "\"method\":\"initialize\",\"params\":{"
                       "\"protocolVersion\":\""
                       MCP_UPSTREAM_STATELESS_VERSION "\",\"capabilities\":{},"
                       "\"clientInfo\":" MCP_UPSTREAM_CLIENT_INFO "}}");

    default:
        return mcp_upstream_discover;
    }
}


/* Starts a call that requests the description of the MCP server to which the
 * endpoint forwards its requests. Returns MCP_NEXT_WAIT or MCP_NEXT_ERROR. */
static mcp_next_e
mcp_describe_start(mcp_exchange_t *x, mcp_upstream_e upstream)
{
    mcp_call_t     *call;
    mcp_request_t  *req;

    call = mcp_call_create(x, 1);
    if (call == NULL) {
        return MCP_NEXT_ERROR;
    }

    call->respond = mcp_describe_end;
    call->bare = 1;

    req = &call->requests[0];
    req->raw = mcp_describe_request(upstream);
    req->id = x->msg->id;
    req->method = mcp_method(upstream == MCP_UPSTREAM_MODERN
                             ? MCP_METHOD_SERVER_DISCOVER
                             : MCP_METHOD_INITIALIZE);
    req->target = x->endpoint->target;

    return mcp_dispatch_start(x, call);
}


/* Returns 1 if the stored description may be used, perhaps only until there is
 * a new one. */
static int
mcp_describe_may_use(const mcp_upstream_about_t *about,
    const mcp_target_t *target, uint64_t now)
{
    return about->at && now - about->at < target->check + target->stale;
}


/* Returns 1 if this exchange has to request a description. Returns 0 if it has
 * requested one already, if a request for one has failed in the last
 * MCP_DESCRIBE_RETRY ms, or if the stored description is recent. Also returns 0
 * if an older description is stored and another exchange's request for a new
 * one is pending. */
static int
mcp_describe_due(const mcp_exchange_t *x, const mcp_upstream_about_t *about,
    const mcp_target_t *target, uint64_t now)
{
    if (x->described || now - about->failed < MCP_DESCRIBE_RETRY
        || (about->at && now - about->at < target->check))
    {
        return 0;
    }

    return !mcp_describe_may_use(about, target, now)
           || now - about->sent_at > MCP_DESCRIBE_PENDING;
}


mcp_next_e
mcp_describe(mcp_exchange_t *x, mcp_next_e (*respond)(mcp_exchange_t *x))
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

    if (mcp_describe_due(x, about, target, now)) {
        about->sent_at = now;
        x->respond = respond;
        return mcp_describe_start(x, (mcp_upstream_e) target->upstream);
    }

    if (mcp_describe_may_use(about, target, now)) {

        if (now - about->at >= target->check) {
            mcp_variable_put(&x->variables, MCP_VARIABLE_UPSTREAM_STATE,
                             mcp_str("stale"));
        }

        return respond(x);
    }

    return mcp_respond_fault(x, MCP_FAULT_UPSTREAM_DOWN, x->msg->id,
                             mcp_null_str);
}
