/* SPDX-License-Identifier: Apache-2.0 */

/* Handles initialize (2025-11-25, basic/lifecycle, "Initialization"). Gives
 * each client a session that needs no memory on the server. */

#include "config/mcp_catalog.h"
#include "exchange/mcp_exchange_internal.h"
#include "exchange/mcp_exchange_session.h"
#include "rpc/mcp_result.h"
#include "rpc/mcp_revision.h"
#include "worker/mcp_respond.h"


/* Sets x->client to a new session. The session gets the revision "wanted" if
 * the endpoint serves it, otherwise the endpoint's latest revision with
 * sessions. Returns MCP_OK, or MCP_ERR_INTERNAL if there are no random bytes
 * for the id. */
static int
mcp_initialize_session(mcp_exchange_t *x, mcp_str_t wanted)
{
    mcp_client_t  *client;

    client = &x->client;
    client->revision = mcp_revision_find(wanted);

    if (client->revision == MCP_REVISION_NONE
        || mcp_client_is_stateless(client)
        || !(x->endpoint->revisions & mcp_revision_bit(client->revision)))
    {
        client->revision = mcp_revision_latest(x->endpoint->revisions, 0);
    }

    client->capabilities = mcp_client_capabilities(&x->msg->capabilities);
    client->expires = x->worker->env->now(x->worker->env->ctx)
                       + x->endpoint->session_lifetime;
    memcpy(client->principal, x->head.principal, MCP_DIGEST_LEN);

    if (mcp_worker_random(x->worker, client->id, MCP_DIGEST_LEN) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    mcp_stream_id_print(client->id_text, client->id);

    return MCP_OK;
}


/* Adds the header Mcp-Session-Id with the signed session to the response.
 * Returns MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_initialize_header(mcp_exchange_t *x)
{
    char  *token, *end;

    token = mcp_arena_alloc(&x->arena, MCP_SESSION_TEXT_MAX);
    if (token == NULL) {
        return MCP_ERR_MEMORY;
    }

    end = mcp_session_print(x->endpoint->keys, &x->client, token);
    if (end == NULL) {
        return MCP_ERR_MEMORY;
    }

    mcp_respond_header(x, mcp_str("Mcp-Session-Id"),
                       (mcp_str_t) { token, (size_t) (end - token) });

    return MCP_OK;
}


static void
mcp_initialize_result(mcp_exchange_t *x)
{
    mcp_str_t              instructions;
    const mcp_endpoint_t  *endpoint;

    endpoint = x->endpoint;

    mcp_result_head(&x->output.out, x->msg->id);

    mcp_buf_lit(&x->output.out, "{\"protocolVersion\":");
    mcp_buf_json(&x->output.out, mcp_revision(x->client.revision)->name);
    mcp_buf_lit(&x->output.out, ",\"capabilities\":");
    mcp_endpoint_capabilities(endpoint, 0, &x->output.out);
    mcp_buf_lit(&x->output.out, ",\"serverInfo\":");
    mcp_endpoint_info(endpoint, x->client.revision, &x->output.out);

    instructions = mcp_endpoint_instructions(endpoint);

    if (instructions.len) {
        mcp_buf_lit(&x->output.out, ",\"instructions\":");
        mcp_buf_str(&x->output.out, instructions);
    }

    mcp_buf_lit(&x->output.out, "}");
    mcp_result_tail(&x->output.out, NULL);
}


mcp_next_e
mcp_initialize(mcp_exchange_t *x)
{
    mcp_str_t         wanted;
    const mcp_rpc_t  *msg;

    msg = x->msg;

    if (!mcp_dispatch_token_usable(msg)) {
        return mcp_respond_fault(x, MCP_FAULT_PARAMS, msg->id,
                                 mcp_dispatch_bad_token);
    }

    if (mcp_routing_string(x, &msg->protocol_version, &wanted) != MCP_OK) {
        return mcp_respond_fault(x, MCP_FAULT_PARAMS, msg->id,
                                 mcp_str("\"protocolVersion\" must be a "
                                         "string"));
    }

    if (mcp_initialize_session(x, wanted) != MCP_OK) {
        return mcp_respond_fault(x, MCP_FAULT_INTERNAL, msg->id,
                                 mcp_null_str);
    }

    if (mcp_initialize_header(x) != MCP_OK) {
        return MCP_NEXT_ERROR;
    }

    mcp_initialize_result(x);

    x->client.has_session = 1;
    x->output.outcome = "ok";
    mcp_store_count(x->worker->store, MCP_COUNT_SESSIONS, 1);
    mcp_exchange_log_session(x, "began");

    return mcp_respond_json(x);
}
