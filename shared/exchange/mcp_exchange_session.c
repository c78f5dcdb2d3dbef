/* SPDX-License-Identifier: Apache-2.0 */

/* Checks the session and the revision of a request, and ends the session of a
 * DELETE request. */


#include "call/mcp_cancel.h"
#include "call/mcp_upstream_session.h"
#include "config/mcp_tenant.h"
#include "exchange/mcp_exchange_internal.h"
#include "exchange/mcp_exchange_session.h"
#include "rpc/mcp_revision.h"
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
    uint32_t  value;

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

    if (mcp_store_value_get(x->worker->store, MCP_VALUE_SESSION_ENDED,
                            x->client.id, now, &value)
        == MCP_OK)
    {
        return MCP_FAULT_SESSION_UNKNOWN;
    }

    x->client.has_session = 1;
    mcp_exchange_take_offers(x);

    return mcp_exchange_check_revision(x);
}


void
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
