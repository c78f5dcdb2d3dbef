/* SPDX-License-Identifier: Apache-2.0 */

/* A POST with an array of messages (2025-03-26). The requests among the
 * messages become one call. */

#include "call/mcp_call_response.h"
#include "exchange/mcp_exchange_internal.h"
#include "exchange/mcp_exchange_session.h"
#include "rpc/mcp_fault.h"
#include "rpc/mcp_revision.h"
#include "worker/mcp_call_stats.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_respond.h"
#include "worker/mcp_resume_hooks.h"


/* The parsed messages of a batch. x->msg points to the member "message", which
 * has to be the first one. */
typedef struct {
    mcp_rpc_t          message;        /* placeholder for x->msg: only its
                                          method is set, to "batch", for logs */
    mcp_rpc_t         *msgs;
    size_t             n;
    size_t             n_requests;     /* number of messages that get a
                                          response */
    unsigned           may_call:1;     /* 1: a request may need a backend, so
                                          the limits for calls apply */
} mcp_batch_t;


/* Sets the response of a request in a batch that needs no backend: the server's
 * own result, or a fault. Returns MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_batch_set_response(mcp_exchange_t *x, mcp_request_t *req,
    const mcp_rpc_t *msg, mcp_routing_e routing, const mcp_routing_t *v,
    mcp_buf_t *result)
{
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &x->worker->env->mem, SIZE_MAX / 2);

    req->outcome = MCP_OUTCOME_OK;

    if (routing == MCP_ROUTING_LOCAL) {
        mcp_result_write(&buf, msg->id,
                         (mcp_str_t) { result->data, result->len }, NULL);

    } else {
        mcp_fault_write(&buf, x->client.revision, msg->id, v->fault, v->detail,
                        mcp_null_str);
        mcp_store_count(x->worker->store, MCP_COUNT_ERRORS, 1);
        req->outcome = MCP_OUTCOME_RPC_ERROR;
    }

    if (msg->kind == MCP_RPC_REQUEST) {
        mcp_duration_count(x, msg->row, v->name,
                           routing == MCP_ROUTING_LOCAL
                           ? MCP_ERROR_TYPE_NONE
                           : mcp_error_type_of_code(mcp_fault_code(v->fault,
                                                   x->client.revision)->code));
    }

    req->id = msg->id;
    req->method = v->method ? v->method : mcp_method_find(msg->method);
    mcp_request_set_state(req, MCP_REQUEST_OVER);

    req->response = mcp_arena_take(&x->call->arena, &buf);

    return req->response.data ? MCP_OK : MCP_ERR_MEMORY;
}


/* Returns 1 if a message gets a response: a request, or an invalid message. */
static int
mcp_batch_gets_response(const mcp_rpc_t *msg)
{
    return msg->kind == MCP_RPC_REQUEST || msg->kind == MCP_RPC_INVALID;
}


/* Returns the routing decision for one message of a batch. */
static mcp_routing_e
mcp_batch_route(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_routing_t *v,
    mcp_buf_t *result)
{
    mcp_routing_e  routing;

    if (msg->kind == MCP_RPC_INVALID) {
        memset(v, 0, sizeof(mcp_routing_t));
        return mcp_routing_fault(v, msg->fault, msg->detail);
    }

    if (!mcp_dispatch_token_usable(msg)) {
        memset(v, 0, sizeof(mcp_routing_t));
        return mcp_routing_fault(v, MCP_FAULT_PARAMS, mcp_dispatch_bad_token);
    }

    routing = mcp_routing_decide(x, msg, v, result);

    /* rejects a resume token in a batch: mcp_hook_request(), which checks
     * tokens, is called only for a single request, and a backend must not get
     * an unchecked token */

    if (routing == MCP_ROUTING_CALL
        && (msg->resume_token.type != MCP_JSON_NONE
            || msg->meta_resume_token.type != MCP_JSON_NONE))
    {
        return mcp_routing_fault(v, MCP_FAULT_RESUME_TOKEN, mcp_null_str);
    }

    return routing;
}


/* Initializes one request of the call from a message. If the request needs no
 * backend, also sets its response. Returns MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_batch_add(mcp_exchange_t *x, mcp_request_t *req, const mcp_rpc_t *msg,
    mcp_buf_t *result)
{
    mcp_routing_e  routing;
    mcp_routing_t  v;

    result->len = 0;
    routing = mcp_batch_route(x, msg, &v, result);

    if (routing == MCP_ROUTING_CALL) {
        mcp_dispatch_fill(req, msg, &v);
        return MCP_OK;
    }

    if (result->failed) {
        return MCP_ERR_MEMORY;
    }

    return mcp_batch_set_response(x, req, msg, routing, &v, result);
}


/* Creates a call from the requests of a batch, and starts it. */
static mcp_next_e
mcp_batch_call(mcp_exchange_t *x, const mcp_batch_t *batch)
{
    size_t       i, k;
    mcp_buf_t    result;
    mcp_call_t  *call;

    call = mcp_call_create(x, batch->n_requests);
    if (call == NULL) {
        return MCP_NEXT_ERROR;
    }

    call->batch = 1;

    mcp_buf_init(&result, &x->worker->env->mem, SIZE_MAX / 2);

    for (i = 0, k = 0; i < batch->n; i++) {
        if (!mcp_batch_gets_response(&batch->msgs[i])) {
            continue;
        }

        if (mcp_batch_add(x, &call->requests[k++], &batch->msgs[i], &result)
            != MCP_OK)
        {
            mcp_buf_free(&result);
            mcp_call_discard(call);
            return MCP_NEXT_ERROR;
        }
    }

    mcp_buf_free(&result);
    call->decisions = x->decisions;

    return mcp_dispatch_start(x, call);
}


/* Starts the cluster operations on which the responses to a batch depend.
 * Returns MCP_AGAIN if an operation is pending, otherwise MCP_OK or the error
 * of an operation. */
static int
mcp_batch_start(mcp_exchange_t *x, const mcp_batch_t *batch)
{
    int     rc, worst;
    size_t  i;

    worst = MCP_OK;

    /* starts the operations of the single requests even if mcp_dispatch_admit()
     * waits, because all operations can run at the same time */

    if (batch->may_call) {
        (void) mcp_dispatch_admit(x);
    }

    for (i = 0; i < batch->n; i++) {
        if (batch->msgs[i].kind != MCP_RPC_REQUEST) {
            continue;
        }

        rc = mcp_hook_handle_method(x, &batch->msgs[i]);

        if (rc != MCP_OK && rc != MCP_AGAIN) {
            worst = rc;
        }
    }

    return mcp_operation_waits(x) ? MCP_AGAIN : worst;
}


/* Adds the duration of each notification of a batch to the histograms in the
 * zone. */
static void
mcp_batch_count_one_way(mcp_exchange_t *x, const mcp_batch_t *batch)
{
    size_t  i;

    for (i = 0; i < batch->n; i++) {
        if (batch->msgs[i].kind == MCP_RPC_NOTIFICATION) {
            mcp_duration_count(x, batch->msgs[i].row, mcp_null_str,
                               MCP_ERROR_TYPE_NONE);
        }
    }
}


/* The entry function of a batch. After returning MCP_NEXT_WAIT, this function
 * runs again when the cluster has replied, see mcp_cluster_operation.h. */
static mcp_next_e
mcp_batch_entry(mcp_exchange_t *x)
{
    int                 rc;
    mcp_fault_e         fault;
    const mcp_batch_t  *batch;

    batch = (const mcp_batch_t *) (const void *) x->msg;

    rc = mcp_batch_start(x, batch);

    if (rc == MCP_AGAIN || rc == MCP_ERR_MEMORY) {
        return mcp_operation_next(rc);
    }

    if (rc != MCP_OK) {
        return mcp_respond_fault(x, mcp_dispatch_start_fault(rc), mcp_null_str,
                                 mcp_null_str);
    }

    /* notifications and responses are handled before the requests: if handling
     * them fails, no call may be started */

    if (mcp_dispatch_one_way(x, batch->msgs, batch->n, &fault)
        == MCP_NEXT_WAIT)
    {
        return MCP_NEXT_WAIT;
    }

    if (fault == MCP_FAULT_NONE) {
        mcp_batch_count_one_way(x, batch);
    }

    if (fault == MCP_FAULT_NONE && batch->may_call) {
        fault = x->output.fault;
    }

    if (fault != MCP_FAULT_NONE) {
        return mcp_respond_fault(x, fault, mcp_null_str, mcp_null_str);
    }

    return batch->n_requests ? mcp_batch_call(x, batch)
                             : mcp_dispatch_accepted(x);
}


/* Splits a batch into its messages. Sets *fault if the session is invalid or
 * its revision does not have batches. */
static int
mcp_batch_split(mcp_exchange_t *x, mcp_str_t text, mcp_str_t **items,
    size_t *n, mcp_fault_e *fault)
{
    *items = NULL;
    *n = 0;
    *fault = mcp_exchange_check_session(x);

    if (*fault == MCP_FAULT_NONE
        && !mcp_revision(x->client.revision)->batch)
    {
        *fault = MCP_FAULT_BATCH;
    }

    if (*fault != MCP_FAULT_NONE) {
        return MCP_OK;
    }

    return mcp_rpc_split(&x->arena, text, x->endpoint->max_depth,
                         x->endpoint->max_batch, items, n, fault);
}


/* Parses all messages and counts those that get a response. Returns NULL when
 * out of memory. */
static mcp_batch_t *
mcp_batch_parse(mcp_exchange_t *x, const mcp_str_t *items, size_t n)
{
    size_t        i;
    mcp_rpc_t    *msgs;
    mcp_batch_t  *batch;

    batch = mcp_arena_calloc(&x->arena, sizeof(mcp_batch_t));
    msgs = mcp_arena_calloc(&x->arena, n * sizeof(mcp_rpc_t));

    if (batch == NULL || msgs == NULL) {
        return NULL;
    }

    batch->message.method = mcp_str("batch");
    batch->msgs = msgs;
    batch->n = n;

    for (i = 0; i < n; i++) {
        if (mcp_rpc_parse(&x->arena, items[i], x->endpoint->max_depth,
                          MCP_RPC_FROM_CLIENT, &msgs[i])
            != MCP_OK)
        {
            return NULL;
        }

        batch->n_requests += (size_t) mcp_batch_gets_response(&msgs[i]);

        if (msgs[i].kind == MCP_RPC_REQUEST
            && mcp_routing_may_call(x, msgs[i].row))
        {
            batch->may_call = 1;
        }
    }

    return batch;
}


mcp_next_e
mcp_batch(mcp_exchange_t *x, mcp_str_t text)
{
    size_t        n;
    mcp_str_t    *items;
    mcp_batch_t  *batch;
    mcp_fault_e   fault;

    if (mcp_batch_split(x, text, &items, &n, &fault) != MCP_OK) {
        return MCP_NEXT_ERROR;
    }

    if (fault != MCP_FAULT_NONE) {
        return mcp_respond_fault(x, fault, mcp_null_str, mcp_null_str);
    }

    batch = mcp_batch_parse(x, items, n);
    if (batch == NULL) {
        return MCP_NEXT_ERROR;
    }

    mcp_store_count(x->worker->store, MCP_COUNT_MESSAGES, (int64_t) n);
    mcp_store_count(x->worker->store,
                    mcp_store_count_revision(x->client.revision), 1);

    x->msg = &batch->message;

    return mcp_operation_now(x, mcp_batch_entry);
}
