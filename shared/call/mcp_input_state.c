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
    of->server = endpoint->name;
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


/* Replaces the sealed request state in the message of x with the backend's own
 * state, and parses the message again. */
static mcp_fault_e
mcp_input_state_replace(mcp_exchange_t *x, mcp_str_t state)
{
    mcp_buf_t    buf;
    mcp_str_t    text, raw, old;
    const char  *rest;

    raw = x->msg->raw;
    old = x->msg->request_state.raw;
    rest = old.data + old.len;
    text = mcp_null_str;

    mcp_buf_init(&buf, &x->worker->env->mem, SIZE_MAX / 2);
    mcp_buf_add(&buf, raw.data, (size_t) (old.data - raw.data));
    mcp_buf_str(&buf, state);
    mcp_buf_add(&buf, rest, (size_t) (raw.data + raw.len - rest));

    if (buf.failed == MCP_OK) {
        text = mcp_arena_dup(&x->arena, (mcp_str_t) { buf.data, buf.len });
    }

    mcp_buf_free(&buf);

    /* the message remains a request, because a backend's state is a string,
     * which was checked before it was sealed */

    return text.data
           && mcp_rpc_read(&x->arena, text, x->endpoint->max_depth, &x->msg)
              == MCP_OK
           && x->msg->kind == MCP_RPC_REQUEST ? MCP_FAULT_NONE
                                             : MCP_FAULT_INTERNAL;
}


mcp_fault_e
mcp_input_state_open(mcp_exchange_t *x, mcp_str_t name, unsigned target)
{
    mcp_str_t            state;
    mcp_request_state_t  of;

    mcp_input_state_of(x->endpoint, &x->client, target, &of);
    of.method = x->msg->method;
    of.name = name;
    of.params = x->msg->params.raw;

    switch (mcp_request_state_open(&x->arena, x->endpoint->keys, &of,
                                   x->msg->request_state.raw,
                                   mcp_worker_now(x->worker), &state))
    {
    case MCP_OK:
        return mcp_input_state_replace(x, state);

    case MCP_ERR_DENIED:
        return MCP_FAULT_REQUEST_STATE;

    default:
        return MCP_FAULT_INTERNAL;
    }
}
