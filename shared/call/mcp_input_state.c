/* SPDX-License-Identifier: Apache-2.0 */

/* A backend's request state for a client without a session, which stores it:
 * it is sealed for the client, and opened when the client's next request
 * contains it. */

#include "call/mcp_call_internal.h"
#include "call/mcp_input.h"
#include "rpc/mcp_request_state.h"


/* Returns the name of a backend without its prefix, because the servers of one
 * cluster may write it in different ways: "@tools" and "/mcp-backend/tools"
 * are both "tools". */
static mcp_str_t
mcp_input_state_target(const mcp_endpoint_t *endpoint, unsigned target)
{
    size_t     i;
    mcp_str_t  name;

    name = mcp_endpoint_target(endpoint, target);

    for (i = name.len; i; i--) {
        if (name.data[i - 1] == '@' || name.data[i - 1] == '/') {
            return (mcp_str_t) { name.data + i, name.len - i };
        }
    }

    return name;
}


static void
mcp_input_state_of(const mcp_endpoint_t *endpoint, const mcp_client_t *client,
    unsigned target, mcp_request_state_t *of)
{
    of->server = endpoint->identity;
    of->target = mcp_input_state_target(endpoint, target);
    of->principal = client->principal;
    of->max_depth = endpoint->max_depth;
}


int
mcp_input_state_seal(mcp_request_t *req, mcp_str_t state, mcp_buf_t *out)
{
    int                    rc;
    mcp_call_t            *call;
    unsigned char          nonce[MCP_SEAL_NONCE_LEN];
    mcp_request_state_t    of;
    const mcp_endpoint_t  *endpoint;

    call = req->call;
    endpoint = call->endpoint;

    rc = mcp_worker_random(call->worker, nonce, sizeof(nonce));
    if (rc != MCP_OK) {
        return rc;
    }

    mcp_input_state_of(endpoint, &call->client, req->target, &of);
    of.method = req->method->name;
    of.name = req->name;
    of.params = req->params;

    return mcp_request_state_seal(&call->worker->env->mem, endpoint->keys, &of,
                                  state,
                                  mcp_call_now(call)
                                  + endpoint->state_lifetime, nonce, out);
}


mcp_fault_e
mcp_input_state_open(mcp_exchange_t *x, mcp_str_t name, unsigned target,
    mcp_str_t *state)
{
    mcp_request_state_t  of;

    mcp_input_state_of(x->endpoint, &x->client, target, &of);
    of.method = x->msg->method;
    of.name = name;
    of.params = x->msg->params.raw;

    switch (mcp_request_state_open(&x->arena, x->endpoint->keys, &of,
                                   x->msg->request_state.raw,
                                   mcp_worker_now(x->worker), state))
    {
    case MCP_OK:
        return MCP_FAULT_NONE;

    case MCP_ERR_DENIED:
        return MCP_FAULT_REQUEST_STATE;

    default:
        return MCP_FAULT_INTERNAL;
    }
}


/* The message remains a request, because a backend's state is a string, which
 * was checked before it was sealed. */
mcp_fault_e
mcp_input_state_replace(mcp_exchange_t *x, mcp_str_t state)
{
    return mcp_rpc_replace(&x->arena, &x->msg->request_state, 1, state,
                           x->endpoint->max_depth, &x->msg)
           == MCP_OK ? MCP_FAULT_NONE : MCP_FAULT_INTERNAL;
}
