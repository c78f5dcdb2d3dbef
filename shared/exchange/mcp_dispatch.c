/* SPDX-License-Identifier: Apache-2.0 */

/* Handles the message of a POST. Checks its session or, in a revision without
 * sessions, the members of _meta that describe its client. Then the server
 * itself responds from configuration and catalog, or creates a call for a
 * backend. */

#include "call/mcp_cancel.h"
#include "call/mcp_input.h"
#include "config/mcp_tenant.h"
#include "exchange/mcp_exchange_internal.h"
#include "exchange/mcp_exchange_session.h"
#include "exchange/mcp_join_calls.h"
#include "exchange/mcp_listen.h"
#include "exchange/mcp_permission.h"
#include "exchange/mcp_retry_with_answers.h"
#include "exchange/mcp_stateless.h"
#include "rpc/mcp_result.h"
#include "rpc/mcp_revision.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_exchange_set_state.h"
#include "worker/mcp_respond.h"
#include "worker/mcp_resume_hooks.h"


/* Returns 1 if the message has no progress token, or one that can be passed to
 * backends unchanged, in the body and in the head of a backend request (schema,
 * ProgressToken). */
int
mcp_dispatch_token_usable(const mcp_rpc_t *msg)
{
    return msg->progress_token.type == MCP_JSON_NONE
           || (mcp_rpc_id_usable(&msg->progress_token)
               && !mcp_variable_has_control(msg->progress_token.raw));
}


/* Handles a notification of a client with a session. Only
 * notifications/cancelled with a valid request id has an effect. */
static int
mcp_dispatch_notification(mcp_exchange_t *x, const mcp_rpc_t *msg)
{
    if (msg->row->id != MCP_METHOD_NOTIFICATION_CANCELLED) {
        return MCP_OK;
    }

    if (msg->request_id.type != MCP_JSON_STRING
        && msg->request_id.type != MCP_JSON_NUMBER)
    {
        return MCP_OK;
    }

    return mcp_cancel_request(x, msg->request_id.raw);
}


mcp_fault_e
mcp_dispatch_start_fault(int rc)
{
    return rc == MCP_ERR_LIMIT ? MCP_FAULT_STORE_FULL
                               : MCP_FAULT_CLUSTER_UNREACHABLE;
}


mcp_next_e
mcp_dispatch_one_way(mcp_exchange_t *x, const mcp_rpc_t *msgs, size_t n,
    mcp_fault_e *fault)
{
    int     rc;
    size_t  i;

    rc = mcp_input_receive(x, msgs, n);

    for (i = 0; rc == MCP_OK && i < n; i++) {
        if (msgs[i].kind == MCP_RPC_NOTIFICATION) {
            rc = mcp_dispatch_notification(x, &msgs[i]);
        }
    }

    switch (rc) {
    case MCP_OK:
        *fault = MCP_FAULT_NONE;
        break;
    case MCP_AGAIN:
        return MCP_NEXT_WAIT;
    case MCP_ERR_UNREACHABLE:
        *fault = MCP_FAULT_CLUSTER_UNREACHABLE;
        break;
    case MCP_ERR_LIMIT:
    case MCP_ERR_FULL:
        *fault = MCP_FAULT_STORE_FULL;
        break;
    default:
        *fault = MCP_FAULT_INTERNAL;
    }

    return MCP_NEXT_CONTINUE;
}


/* Responds with 202 to a POST whose messages get no response. */
mcp_next_e
mcp_dispatch_accepted(mcp_exchange_t *x)
{
    x->output.outcome = "accepted";

    return mcp_respond_status(x, 202);
}


/* Initializes a request of a call from a message and its routing decision. */
void
mcp_dispatch_fill(mcp_request_t *req, const mcp_rpc_t *msg,
    const mcp_routing_t *v)
{
    req->raw = msg->raw;
    req->id = msg->id;
    req->method = v->method;
    req->name = v->name;
    req->raw_uri = v->raw_uri;
    req->params = msg->params.raw;
    req->progress_token = msg->progress_token.raw;
    mcp_trace_of_meta(&req->trace, &req->call->arena, msg);
    req->target = v->target;
    req->retry = msg->input_responses.type != MCP_JSON_NONE
                 || msg->request_state.type != MCP_JSON_NONE;
}


mcp_next_e
mcp_dispatch_start(mcp_exchange_t *x, mcp_call_t *call)
{
    mcp_exchange_set_state(x, MCP_EXCHANGE_WAIT);
    x->output.outcome = "pending";
    x->counted = (call->respond == NULL);

    mcp_call_start(call);

    return MCP_NEXT_WAIT;
}


/* Handles a notification or a response that is the only message of its POST.
 * After returning MCP_NEXT_WAIT, this function runs again when the cluster has
 * replied, see mcp_cluster_operation.h. */
static mcp_next_e
mcp_dispatch_no_request(mcp_exchange_t *x)
{
    mcp_fault_e  fault;

    if (mcp_dispatch_one_way(x, x->msg, 1, &fault) == MCP_NEXT_WAIT) {
        return MCP_NEXT_WAIT;
    }

    if (fault != MCP_FAULT_NONE) {
        return mcp_respond_fault(x, fault, mcp_null_str, mcp_null_str);
    }

    return mcp_dispatch_accepted(x);
}


/* Returns the resumption method that responds to the message of x with a
 * stream. Returns NULL if the message gets another response. */
static const mcp_resume_method_t *
mcp_dispatch_opens(const mcp_exchange_t *x, const mcp_method_t *method)
{
    if (x->msg->kind != MCP_RPC_REQUEST && x->msg->kind != MCP_RPC_NOTIFICATION)
    {
        return NULL;
    }

    /* a notification gets a stream as its response only if it is stream/resume,
     * which was a notification in one draft of MCP PR #899 */

    if (!method->opens
        || (x->msg->kind == MCP_RPC_NOTIFICATION
            && method->id != MCP_METHOD_STREAM_RESUME))
    {
        return NULL;
    }

    return mcp_hook_find(x, method);
}


/* Returns the fault if this node cannot begin a new call: the cluster is
 * unreachable, or the session or the tenant has too many streams. Otherwise
 * returns MCP_FAULT_NONE. */
static mcp_fault_e
mcp_dispatch_admission(mcp_exchange_t *x)
{
    mcp_tenant_t  tenant;

    if (mcp_operation_is_unreachable(x->worker)) {
        return MCP_FAULT_CLUSTER_UNREACHABLE;
    }

    mcp_tenant(x->endpoint, x->head.tenant, &tenant);

    switch (mcp_store_admits(x->worker->store, x->client.id,
                             mcp_endpoint_session_limit(x->endpoint,
                                                        &x->client),
                             &tenant))
    {
    case MCP_OK:
        return MCP_FAULT_NONE;
    case MCP_ERR_LIMIT:
        return MCP_FAULT_TOO_MANY_STREAMS;
    default:
        return MCP_FAULT_INTERNAL;
    }
}


/* Decides whether a new call may begin. After returning MCP_NEXT_WAIT, this
 * function runs again when the cluster has replied, see
 * mcp_cluster_operation.h. */
mcp_next_e
mcp_dispatch_admit(mcp_exchange_t *x)
{
    int  rc;

    x->output.fault = mcp_dispatch_admission(x);

    if (x->output.fault != MCP_FAULT_NONE) {
        return MCP_NEXT_CONTINUE;
    }

    rc = mcp_operation_quota(x, mcp_endpoint_session_limit(x->endpoint,
                                                           &x->client));

    if (rc == MCP_ERR_LIMIT) {
        x->output.fault = MCP_FAULT_TOO_MANY_STREAMS;
    }

    return rc == MCP_AGAIN ? MCP_NEXT_WAIT : MCP_NEXT_CONTINUE;
}


mcp_next_e
mcp_dispatch_make(mcp_exchange_t *x, const mcp_routing_t *v)
{
    mcp_call_t  *call;
    mcp_next_e   next;

    /* calls mcp_dispatch_admit() before mcp_hook_request(): if
     * mcp_dispatch_admit() waits for the cluster, this function runs again
     * later, and mcp_hook_request() must not mark a resume token as used
     * twice */

    next = mcp_dispatch_admit(x);

    if (next != MCP_NEXT_CONTINUE) {
        return next;
    }

    next = mcp_hook_request(x);

    /* an error of one method: another one may have marked a resume token as
     * used */

    if (next == MCP_NEXT_ERROR) {
        mcp_hook_refused(x);
    }

    if (next != MCP_NEXT_CONTINUE) {
        return next;
    }

    if (x->output.fault != MCP_FAULT_NONE) {
        return mcp_respond_fault(x, x->output.fault, x->msg->id, mcp_null_str);
    }

    call = mcp_call_create(x, 1);
    if (call == NULL) {
        mcp_hook_refused(x);
        return MCP_NEXT_ERROR;
    }

    mcp_dispatch_fill(&call->requests[0], x->msg, v);

    if (x->join) {
        next = mcp_join_begin(x, call, v);

        if (next != MCP_NEXT_CONTINUE) {
            return next;
        }
    }

    return mcp_dispatch_start(x, call);
}


/* Continues or joins a call, or creates a call from the message. After
 * returning MCP_NEXT_WAIT, this function runs again when the cluster has
 * replied, see mcp_cluster_operation.h. */
static mcp_next_e
mcp_dispatch_call(mcp_exchange_t *x, const mcp_routing_t *v)
{
    mcp_str_t    state;
    mcp_next_e   next;
    mcp_fault_e  fault;

    mcp_variable_set(&x->variables, MCP_VARIABLE_NAME, v->name);

    if (x->msg->request_state.type != MCP_JSON_NONE && !x->state_opened) {
        fault = mcp_input_state_open(x, v->name, v->target, &state);

        if (fault == MCP_FAULT_NONE && mcp_retry_is(state)) {
            return mcp_retry(x, state);
        }

        if (fault == MCP_FAULT_NONE) {
            fault = mcp_input_state_replace(x, state);
        }

        if (fault != MCP_FAULT_NONE) {
            return mcp_respond_fault(x, fault, x->msg->id, mcp_null_str);
        }

        x->state_opened = 1;
    }

    next = mcp_join(x, v);

    return next == MCP_NEXT_CONTINUE ? mcp_dispatch_make(x, v) : next;
}


static mcp_next_e
mcp_dispatch_refuse(mcp_exchange_t *x, const mcp_routing_t *v)
{
    mcp_variable_set(&x->variables, MCP_VARIABLE_NAME, v->name);

    if (v->fault == MCP_FAULT_SCOPE) {
        return mcp_permission_refuse(x, v->detail);
    }

    return mcp_respond_fault_data(x, v->fault, x->msg->id, v->detail, v->data);
}


/* The entry function of a message to which a resumption method responds with a
 * stream. After returning MCP_NEXT_WAIT, this function runs again when the
 * cluster has replied, see mcp_cluster_operation.h. */
static mcp_next_e
mcp_dispatch_open(mcp_exchange_t *x)
{
    return mcp_dispatch_opens(x, x->msg->row)->open(x);
}


/* The entry function of a request that neither mcp_listen() nor
 * mcp_dispatch_open() handles. After returning MCP_NEXT_WAIT, this function
 * runs again when the cluster has replied, see mcp_cluster_operation.h. */
static mcp_next_e
mcp_dispatch_entry(mcp_exchange_t *x)
{
    int            rc;
    mcp_result_t   add;
    mcp_routing_t  v;

    rc = mcp_hook_handle_method(x, x->msg);

    if (rc == MCP_AGAIN || rc == MCP_ERR_MEMORY) {
        return mcp_operation_next(rc);
    }

    if (rc != MCP_OK) {
        return mcp_respond_fault(x, mcp_dispatch_start_fault(rc), x->msg->id,
                                 mcp_null_str);
    }

    /* writes the beginning of the response only for methods whose result this
     * server itself may write (MCP_WANT_PLAIN). Other results come from a
     * backend or a resumption method. */

    if (x->msg->row->want == MCP_WANT_PLAIN) {
        mcp_result_head(&x->output.out, x->msg->id);
    }

    switch (mcp_routing_decide(x, x->msg, &v, &x->output.out)) {

    case MCP_ROUTING_LOCAL:
        mcp_result_tail(&x->output.out,
                        mcp_endpoint_result(x->endpoint, &x->client, v.method,
                                            v.name, &add));
        x->output.outcome = "ok";
        return mcp_respond_json(x);

    case MCP_ROUTING_CALL:
        return mcp_dispatch_call(x, &v);

    default:
        return mcp_dispatch_refuse(x, &v);
    }
}


static mcp_next_e
mcp_dispatch_discover(mcp_exchange_t *x)
{
    return mcp_operation_now(x, mcp_dispatch_entry);
}


/* Handles a message after the check of its session or, in a revision without
 * sessions, of the members of _meta that describe its client. */
static mcp_next_e
mcp_dispatch_request(mcp_exchange_t *x)
{
    const mcp_method_t  *method;

    mcp_store_count(x->worker->store,
                    mcp_store_count_revision(x->client.revision), 1);

    if (x->msg->kind == MCP_RPC_REQUEST && !mcp_dispatch_token_usable(x->msg))
    {
        return mcp_respond_fault(x, MCP_FAULT_PARAMS, x->msg->id,
                                 mcp_dispatch_bad_token);
    }

    method = x->msg->row;

    if (mcp_client_is_stateless(&x->client)
        && method->id == MCP_METHOD_SUBSCRIPTIONS_LISTEN)
    {
        return mcp_operation_now(x, mcp_listen);
    }

    if (mcp_client_is_stateless(&x->client)
        && method->id == MCP_METHOD_SERVER_DISCOVER)
    {
        return mcp_describe(x, mcp_dispatch_discover);
    }

    if (mcp_dispatch_opens(x, method)) {
        return mcp_operation_now(x, mcp_dispatch_open);
    }

    return mcp_operation_now(x, x->msg->kind == MCP_RPC_REQUEST
                          ? mcp_dispatch_entry : mcp_dispatch_no_request);
}


/* Handles a message of a revision with sessions: "initialize" needs no
 * session, every other message needs a valid one. */
static mcp_next_e
mcp_dispatch_of_session(mcp_exchange_t *x)
{
    mcp_fault_e  fault;

    if (x->msg->kind == MCP_RPC_REQUEST
        && x->msg->row->id == MCP_METHOD_INITIALIZE)
    {
        return mcp_revision_latest(x->endpoint->revisions, 0)
               == MCP_REVISION_NONE ? mcp_stateless_initialize(x)
                                    : mcp_describe(x, mcp_initialize);
    }

    fault = mcp_exchange_check_session(x);

    /* server/discover exists only in revisions without sessions: responds with
     * "method not found" in the form of these revisions, with status 404. The
     * fault for a missing session would make the client create a session, which
     * would not help. */

    if (fault == MCP_FAULT_SESSION_ABSENT
        && x->msg->row->id == MCP_METHOD_SERVER_DISCOVER)
    {
        x->client.revision = mcp_revision_latest(UINT32_MAX, 1);

        return mcp_respond_fault(x, MCP_FAULT_METHOD_UNKNOWN, x->msg->id,
                                 x->msg->method);
    }

    if (fault != MCP_FAULT_NONE) {
        return mcp_respond_fault(x, fault,
                                 x->msg->kind == MCP_RPC_REQUEST ? x->msg->id
                                                         : mcp_null_str,
                                 mcp_null_str);
    }

    return mcp_dispatch_request(x);
}


/* Handles a message of a revision without sessions. A response is rejected,
 * because such a client answers questions by another request. */
static mcp_next_e
mcp_dispatch_stateless(mcp_exchange_t *x)
{
    mcp_next_e  next;

    mcp_stateless_begin(x);

    switch (x->msg->kind) {

    case MCP_RPC_REQUEST:
        next = mcp_stateless_enter(x);

        return next == MCP_NEXT_CONTINUE ? mcp_dispatch_request(x) : next;

    case MCP_RPC_NOTIFICATION:
        /* no notification has an effect in revisions without sessions
         * (2026-07-28, basic/transports/streamable-http, "Sending
         * Messages") */

        return mcp_dispatch_accepted(x);

    default:
        return mcp_respond_fault(x, MCP_FAULT_INVALID_REQUEST, mcp_null_str,
                                 mcp_str("a response"));
    }
}


/* Parses a body that is a single message. Does nothing for a batch and for a
 * POST to the URL of a stream, which mcp_dispatch() handles. If there is no
 * memory, mcp_dispatch() repeats the parsing. */
void
mcp_dispatch_parse(mcp_exchange_t *x, size_t len)
{
    mcp_str_t  text;

    text.data = x->body;
    text.len = len;

    if (x->resumption->post == NULL && !mcp_rpc_is_batch(text)
        && mcp_rpc_read(&x->scratch, text, x->endpoint->max_depth, &x->msg)
           == MCP_OK)
    {
        x->parsed = 1;
    }
}


mcp_next_e
mcp_dispatch(mcp_exchange_t *x, size_t len)
{
    mcp_str_t  text;

    text.data = x->body;
    text.len = len;
    x->received = mcp_worker_now(x->worker);

    if (x->resumption->post) {
        return x->resumption->post(x, text);
    }

    if (mcp_rpc_is_batch(text)) {
        return mcp_stateless_era(x)
               ? mcp_respond_fault(x, MCP_FAULT_BATCH, mcp_null_str,
                                   mcp_null_str)
               : mcp_batch(x, text);
    }

    if (!x->parsed
        && mcp_rpc_read(&x->arena, text, x->endpoint->max_depth, &x->msg)
           != MCP_OK)
    {
        return MCP_NEXT_ERROR;
    }

    if (x->msg->kind == MCP_RPC_INVALID) {
        return mcp_respond_fault(x, x->msg->fault, x->msg->id, x->msg->detail);
    }

    mcp_store_count(x->worker->store, MCP_COUNT_MESSAGES, 1);

    if (mcp_stateless_is(x)) {
        return mcp_dispatch_stateless(x);
    }

    x->client.revision = MCP_REVISION_NONE;

    return mcp_dispatch_of_session(x);
}
