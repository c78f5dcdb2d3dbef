/* SPDX-License-Identifier: Apache-2.0 */

/* Sessions: initialize, the check of the session and the revision of a request,
 * and the end of a session by DELETE. */


#include "call/mcp_cancel.h"
#include "call/mcp_upstream_session.h"
#include "config/mcp_catalog.h"
#include "config/mcp_tenant.h"
#include "exchange/mcp_exchange_internal.h"
#include "exchange/mcp_exchange_session.h"
#include "rpc/mcp_result.h"
#include "rpc/mcp_revision.h"
#include "rpc/mcp_upstream_body.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_respond.h"


/* --- the end of a session at MCP servers --- */

/* The method of the call that ends a client's sessions at MCP servers. The
 * client's request is an HTTP DELETE without a JSON-RPC method, so logs show
 * "DELETE" as the method. */
static const mcp_method_t  mcp_session_close_method = {
    .name = mcp_str("DELETE"),
    .list_kind = MCP_METHOD_NO_LIST,
    .want = MCP_WANT_PLAIN
};


/* Called when all MCP servers have responded to their DELETE requests, or have
 * failed. Responds to the client, which has sent DELETE to this server. */
static void
mcp_session_close_end(mcp_exchange_t *x)
{
    x->output.out.len = 0;
    x->output.call_outcome = MCP_OUTCOME_NONE;

    mcp_answer_next(x, x->respond(x));
}


/* Returns 1 if a target may be an MCP server with sessions. */
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


/*
 * Ends the sessions of the client of x at the MCP servers that are targets of
 * the endpoint, and calls respond() after their responses. If no target can
 * have sessions, calls respond() at once and returns its value.
 *
 * Otherwise returns
 *   MCP_NEXT_WAIT   respond() is called later
 *   MCP_NEXT_ERROR
 */
static mcp_next_e
mcp_session_close(mcp_exchange_t *x, mcp_next_e (*respond)(mcp_exchange_t *x))
{
    unsigned        i;
    mcp_call_t     *call;
    mcp_request_t  *req;

    if (!mcp_session_close_needed(x->endpoint)) {
        return respond(x);
    }

    call = mcp_call_create(x, x->endpoint->n_targets);
    if (call == NULL) {
        return MCP_NEXT_ERROR;
    }

    call->respond = mcp_session_close_end;
    call->outlives_client = 1;
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

    /* the call does not belong to the client's session, because the session has
     * ended */

    call->client.has_session = 0;

    return mcp_dispatch_start(x, call);
}


/* --- checks --- */

/* Accepts a missing MCP-Protocol-Version header, because the session or the
 * stream already determines the revision. */
mcp_fault_e
mcp_exchange_check_revision(const mcp_exchange_t *x)
{
    mcp_revision_e  revision;

    if (x->head.revision_text.data == NULL) {
        return MCP_FAULT_NONE;
    }

    revision = mcp_revision_find(x->head.revision_text);

    return mcp_revision(revision)->name.len
           && !mcp_revision(revision)->stateless
           && (x->endpoint->revisions & mcp_revision_bit(revision))
           ? MCP_FAULT_NONE : MCP_FAULT_REVISION;
}


void
mcp_exchange_take_offers(mcp_exchange_t *x)
{
    if (x->endpoint->resume_tokens) {
        x->client.capabilities |= MCP_CLIENT_TOKENS;
    }
}


mcp_fault_e
mcp_exchange_check_session(mcp_exchange_t *x)
{
    int       rc;
    uint64_t  now;

    if (x->head.session_text.len == 0) {
        return MCP_FAULT_SESSION_ABSENT;
    }

    now = x->worker->env->now(x->worker->env->ctx);

    rc = mcp_session_parse_cached(&x->worker->sessions, x->endpoint->keys,
                                  x->head.session_text, now, x->head.principal,
                                  &x->client);
    if (rc != MCP_OK) {

        /* a session that has expired by the clock of this node may be valid at
         * other nodes, because this clock may be wrong as long as it cannot be
         * compared with that of Redis */

        return x->client.expires != 0 && x->client.expires <= now
               && mcp_operation_clock(x->worker) == MCP_ERR_UNREACHABLE
               ? MCP_FAULT_CLUSTER_UNREACHABLE : MCP_FAULT_SESSION_UNKNOWN;
    }

    /* the endpoint no longer serves the session's revision; the client can
     * create a session with another one */

    if (!(x->endpoint->revisions & mcp_revision_bit(x->client.revision))) {
        return MCP_FAULT_SESSION_UNKNOWN;
    }

    if (mcp_cancel_has_ended(x->worker, x->client.id)) {
        return MCP_FAULT_SESSION_UNKNOWN;
    }

    x->client.has_session = 1;
    mcp_exchange_take_offers(x);

    return mcp_exchange_check_revision(x);
}


/* Logs a change of the session of x at level info. The argument "what" is a
 * predicate, such as "began". */
static void
mcp_exchange_log_session(mcp_exchange_t *x, const char *what)
{
    char  id[9];

    if (mcp_worker_logs(x->worker, MCP_LOG_INFO)) {
        mcp_stream_id_short(id, x->client.id);
        mcp_worker_log(x->worker, MCP_LOG_INFO, "session %s %s, revision %s",
                       id,
                     what, mcp_revision(x->client.revision)->name.data);
    }
}


static mcp_next_e
mcp_exchange_deleted(mcp_exchange_t *x)
{
    x->output.outcome = "deleted";

    return mcp_respond_status(x, 204);
}


/* Ends the session for a DELETE (2025-11-25, basic/transports, "Session
 * Management"). After returning MCP_NEXT_WAIT, this function runs again when
 * the cluster has replied, see mcp_cluster_operation.h. */
mcp_next_e
mcp_exchange_delete(mcp_exchange_t *x)
{
    int                    rc;
    mcp_tenant_t           tenant;
    mcp_store_t           *store;
    mcp_operation_spec_t   spec;

    spec.kind = MCP_OPERATION_BROADCAST;
    mcp_broadcast_make(&spec.broadcast, MCP_BROADCAST_SESSION_ENDED,
                       x->client.id, x->client.id, 1, x->client.expires);
    rc = mcp_operation(x, &spec);

    switch (rc) {
    case MCP_OK:
        break;
    case MCP_ERR_UNREACHABLE:
        return mcp_respond_fault(x, MCP_FAULT_CLUSTER_UNREACHABLE, mcp_null_str,
                                 mcp_null_str);
    default:
        return mcp_operation_next(rc);
    }

    store = x->worker->store;
    mcp_tenant(x->endpoint, x->head.tenant, &tenant);

    /* if the tenant has too many values, the store removes an older value, for
     * example the record that another session has ended, and adds the record
     * that this session has ended */

    if (mcp_store_value_push(store, MCP_VALUE_SESSION_ENDED, x->client.id, 1,
                             x->client.expires, &tenant)
        != MCP_OK)
    {
        return mcp_respond_fault(x, MCP_FAULT_STORE_FULL, mcp_null_str,
                                 mcp_null_str);
    }

    mcp_cancel_session(x->worker, x->client.id);
    mcp_store_count(store, MCP_COUNT_SESSIONS_DELETED, 1);
    mcp_exchange_log_session(x, "ended by its client");

    return mcp_session_close(x, mcp_exchange_deleted);
}


/* --- initialize --- */

/* Handles initialize (2025-11-25, basic/lifecycle, "Initialization"). Gives
 * each client a session that needs no memory on the server. */


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


/* --- the description of an MCP server --- */

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
    about->failed = about->at < x->received ? mcp_worker_now(x->worker) : 0;
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


/* Returns 1 if the stored description is recent: not older than
 * mcp_upstream_check, or received since the client's request, no matter how
 * long ago that was. */
static int
mcp_describe_is_recent(const mcp_exchange_t *x,
    const mcp_upstream_about_t *about, const mcp_target_t *target, uint64_t now)
{
    return about->at
           && (about->at >= x->received || now - about->at < target->check);
}


/* Returns 1 if the stored description may be used, perhaps only until there is
 * a new one. */
static int
mcp_describe_may_use(const mcp_exchange_t *x,
    const mcp_upstream_about_t *about, const mcp_target_t *target, uint64_t now)
{
    return mcp_describe_is_recent(x, about, target, now)
           || (about->at && now - about->at < target->check + target->stale);
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
        || mcp_describe_is_recent(x, about, target, now))
    {
        return 0;
    }

    return !mcp_describe_may_use(x, about, target, now)
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

    if (mcp_describe_may_use(x, about, target, now)) {

        if (!mcp_describe_is_recent(x, about, target, now)) {
            mcp_variable_put(&x->variables, MCP_VARIABLE_UPSTREAM_STATE,
                             mcp_str("stale"));
        }

        return respond(x);
    }

    return mcp_respond_fault(x, MCP_FAULT_UPSTREAM_DOWN, x->msg->id,
                             mcp_null_str);
}
