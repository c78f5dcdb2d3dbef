/* SPDX-License-Identifier: Apache-2.0 */

#include "exchange/mcp_session_close.h"

#include "call/mcp_upstream_session.h"
#include "exchange/mcp_exchange_internal.h"
#include "worker/mcp_answer.h"


/* An HTTP method in place of the JSON-RPC method, for the log. */
static const mcp_method_t  mcp_session_close_method = {
    .name = mcp_str("DELETE"),
    .list_kind = MCP_METHOD_NO_LIST,
    .want = MCP_WANT_PLAIN
};


/* Called when all servers have responded, or have failed. */
static void
mcp_session_close_end(mcp_exchange_t *x)
{
    x->answer.out.len = 0;
    x->answer.call_outcome = MCP_OUTCOME_NONE;

    if (x->respond(x) != MCP_OK) {
        (void) mcp_answer_status(x, 500);
    }

    mcp_answer_ready(x, MCP_ACT_RESPOND);
}


/* Returns 1 if a target may be a server with sessions. */
static int
mcp_session_close_may(const mcp_endpoint_t *endpoint, unsigned target)
{
    mcp_upstream_e  upstream;

    upstream = mcp_endpoint_upstream(endpoint, target);

    return upstream == MCP_UPSTREAM_SESSION || upstream == MCP_UPSTREAM_AUTO;
}


int
mcp_session_close_needed(const mcp_endpoint_t *endpoint)
{
    unsigned  i;

    for (i = 0; i < endpoint->n_targets; i++) {
        if (mcp_session_close_may(endpoint, i)) {
            return 1;
        }
    }

    return 0;
}


int
mcp_session_close(mcp_exchange_t *x, int (*respond)(mcp_exchange_t *x))
{
    unsigned        i;
    mcp_call_t     *call;
    mcp_request_t  *req;

    if (!mcp_session_close_needed(x->endpoint)) {
        return respond(x);
    }

    call = mcp_call_create(x, x->endpoint->n_targets);
    if (call == NULL) {
        return MCP_ERR_MEMORY;
    }

    call->respond = mcp_session_close_end;
    x->respond = respond;

    for (i = 0; i < x->endpoint->n_targets; i++) {
        req = &call->requests[i];
        req->method = &mcp_session_close_method;
        req->target = i;

        if (!mcp_session_close_may(x->endpoint, i)
            || mcp_upstream_session_close(req) != MCP_OK)
        {
            req->state = MCP_REQUEST_OVER;
        }
    }

    /* the call belongs to no session, because this one has ended */

    call->client.has_session = 0;

    return mcp_dispatch_start(x, call);
}
