/* SPDX-License-Identifier: Apache-2.0 */

/* Questions of a backend as the response to the client's request. The call
 * ends: the client sends its answers with a new request (2026-07-28,
 * basic/patterns/mrtr). */


#include <stdio.h>

#include "call/mcp_call_internal.h"
#include "call/mcp_call_response.h"
#include "call/mcp_input.h"
#include "rpc/mcp_request_state.h"


/* --- request state --- */

/* The request state of a backend, for a client without a session. The client
 * gets the state in sealed form and returns it with the client's next request.
 * This server opens the state before it passes the next request to the
 * backend. */

static void
mcp_input_state_of(const mcp_endpoint_t *endpoint, const mcp_client_t *client,
    unsigned target, mcp_request_state_t *of)
{
    of->server = endpoint->identity;
    of->target = mcp_endpoint_target_in_cluster(endpoint, target);
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


/* The changed message is still a valid request: the backend's state is a JSON
 * string, which was checked before it was sealed. */
mcp_fault_e
mcp_input_state_replace(mcp_exchange_t *x, mcp_str_t state)
{
    return mcp_rpc_replace(&x->arena, &x->msg->request_state, 1, state,
                           x->endpoint->max_depth, &x->msg)
           == MCP_OK ? MCP_FAULT_NONE : MCP_FAULT_INTERNAL;
}


/* --- the result --- */

/* Ends a request with MCP_FAULT_BACKEND_OUTPUT, and logs the reason. Returns
 * MCP_OK. */
static int
mcp_input_respond_fail(mcp_request_t *req, const char *why)
{
    mcp_call_log(req->call, MCP_LOG_ERROR, "failed in its backend", why);
    mcp_call_fail(req, MCP_FAULT_BACKEND_OUTPUT);

    return MCP_OK;
}


int
mcp_input_refuse_lacks(mcp_request_t *req, unsigned lacks)
{
    int        rc;
    char       why[160];
    size_t     before;
    mcp_buf_t  data;

    mcp_buf_init(&data, &req->call->worker->env->mem, 1024);
    mcp_buf_lit(&data, "{\"requiredCapabilities\":");
    before = data.len;
    mcp_input_capabilities(lacks, &data);

    (void) snprintf(why, sizeof(why),
                    "the backend requests input, but the client lacks the "
                    "capabilities %.*s",
                    (int) (data.failed ? 0 : data.len - before),
                    data.failed ? "" : data.data + before);

    mcp_buf_lit(&data, "}");
    mcp_call_log(req->call, MCP_LOG_WARN, "failed", why);
    mcp_request_why(req, why);

    rc = data.failed
         ? mcp_call_finish_fault(req, MCP_FAULT_INTERNAL, mcp_null_str)
         : mcp_call_finish_fault_data(req, MCP_FAULT_CAPABILITY, mcp_null_str,
                                      (mcp_str_t) { data.data, data.len });

    mcp_buf_free(&data);

    return rc;
}


/* Returns 1 for a member that is removed from a result with questions, because
 * such a result is neither cached (2026-07-28, server/utilities/caching) nor
 * continued by a resume token. */
static int
mcp_input_respond_skips(mcp_str_t key)
{
    return mcp_json_str_eq(key, mcp_str("ttlMs"))
           || mcp_json_str_eq(key, mcp_str("cacheScope"))
           || mcp_json_str_eq(key, mcp_str("nextResumeToken"));
}


/* Copies an object without the members for which mcp_input_respond_skips() is
 * 1. root is 1 for the result itself: its request state is sealed, and the
 * members of its _meta are copied in the same way. */
static int
mcp_input_respond_copy(mcp_request_t *req, mcp_str_t object, int root,
    mcp_buf_t *out)
{
    int               rc;
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    rc = MCP_OK;
    mcp_buf_lit(out, "{");
    mcp_json_iter_init(&iter, object);

    while (rc == MCP_OK && mcp_json_iter_next(&iter, &key, &value)) {

        if (mcp_input_respond_skips(key)) {
            continue;
        }

        mcp_json_add_key(out, key);

        if (root && mcp_json_str_eq(key, mcp_str("requestState"))) {
            rc = mcp_input_state_seal(req, value.raw, out);

        } else if (root && value.type == MCP_JSON_OBJECT
                   && mcp_json_str_eq(key, mcp_str("_meta")))
        {
            rc = mcp_input_respond_copy(req, value.raw, 0, out);

        } else {
            mcp_buf_str(out, value.raw);
        }
    }

    mcp_buf_lit(out, "}");

    return rc == MCP_OK ? out->failed : rc;
}


static int
mcp_input_respond_result(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    int        rc;
    mcp_buf_t  body;

    mcp_buf_init(&body, &req->call->worker->env->mem, SIZE_MAX / 2);
    rc = mcp_input_respond_copy(req, msg->body, 1, &body);

    if (rc == MCP_OK) {
        rc = mcp_call_finish(req, (mcp_str_t) { body.data, body.len },
                             MCP_OUTCOME_OK);

    } else if (rc == MCP_ERR_LIMIT) {
        rc = mcp_input_respond_fail(req,
                                    "the \"requestState\" in the result of "
                                    "the backend is too long");

    } else {
        rc = mcp_call_finish_fault(req, MCP_FAULT_INTERNAL, mcp_null_str);
    }

    mcp_buf_free(&body);

    return rc;
}


int
mcp_input_respond(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    int          rc;
    size_t       i, n;
    unsigned     lacks;
    mcp_fault_e  fault;

    if (!req->method->takes_input) {
        return mcp_input_respond_fail(req,
                                      "the backend requests input for a "
                                      "method other than tools/call, "
                                      "prompts/get and resources/read");
    }

    fault = mcp_input_read_round(req, msg);
    n = req->n_questions;
    req->n_questions = 0;

    if (fault == MCP_FAULT_INTERNAL) {
        return mcp_call_finish_fault(req, fault, mcp_null_str);
    }

    for (i = 0; fault == MCP_FAULT_NONE && i < n; i++) {
        if (mcp_input_capability(&req->call->client, &req->questions[i]) < 0) {
            fault = MCP_FAULT_BACKEND_OUTPUT;
        }
    }

    if (fault != MCP_FAULT_NONE) {
        return mcp_input_respond_fail(req,
                                      "a request in \"inputRequests\" is "
                                      "malformed, or has a method other than "
                                      "elicitation/create, "
                                      "sampling/createMessage and roots/list");
    }

    lacks = mcp_input_lacks(&req->call->client, req->questions, n);

    if (lacks) {
        return mcp_input_refuse_lacks(req, lacks);
    }

    rc = mcp_input_respond_result(req, msg);

    if (rc == MCP_OK) {
        mcp_store_count(req->call->worker->store, MCP_COUNT_INPUTS,
                        (int64_t) n);
    }

    return rc;
}


/* --- capabilities of clients --- */

/* The capabilities that a client needs for questions. A declared capability
 * counts only if the client's revision defines it. */


/* Returns the capabilities that a question of the method
 * sampling/createMessage needs (2025-11-25, client/sampling,
 * "Capabilities"). */
static unsigned
mcp_input_needs_sampling(const mcp_json_value_t *params)
{
    unsigned          needs;
    mcp_json_value_t  context;

    needs = MCP_CLIENT_SAMPLING;
    context = mcp_json_get(params, mcp_str("includeContext"));

    if (mcp_json_get(params, mcp_str("tools")).type != MCP_JSON_NONE
        || mcp_json_get(params, mcp_str("toolChoice")).type != MCP_JSON_NONE)
    {
        needs |= MCP_CLIENT_SAMPLING_TOOLS;
    }

    if (context.type != MCP_JSON_NONE
        && !mcp_json_str_eq(context.raw, mcp_str("none")))
    {
        needs |= MCP_CLIENT_SAMPLING_CONTEXT;
    }

    return needs;
}


/* Returns the bits of the capabilities that a question needs, 0 if its method
 * is unknown. */
static unsigned
mcp_input_needs(const mcp_question_t *q)
{
    mcp_json_value_t  params;

    params.type = q->params.len ? MCP_JSON_OBJECT : MCP_JSON_NONE;
    params.raw = q->params;

    if (mcp_str_eq(q->method, mcp_str("elicitation/create"))) {
        return mcp_json_str_eq(mcp_json_get(&params, mcp_str("mode")).raw,
                               mcp_str("url"))
               ? MCP_CLIENT_ELICITATION_URL : MCP_CLIENT_ELICITATION;
    }

    if (mcp_str_eq(q->method, mcp_str("sampling/createMessage"))) {
        return mcp_input_needs_sampling(&params);
    }

    return mcp_str_eq(q->method, mcp_str("roots/list")) ? MCP_CLIENT_ROOTS : 0;
}


/* Returns the bits of the declared capabilities that the client's revision
 * defines. */
static unsigned
mcp_input_declared(const mcp_client_t *client)
{
    unsigned               can, declared;
    const mcp_revision_t  *revision;

    revision = mcp_revision(client->revision);
    declared = client->capabilities;
    can = MCP_CLIENT_SAMPLING | MCP_CLIENT_SAMPLING_TOOLS
          | MCP_CLIENT_SAMPLING_CONTEXT | MCP_CLIENT_ROOTS;

    if (!revision->context && (declared & MCP_CLIENT_SAMPLING)) {
        declared |= MCP_CLIENT_SAMPLING_CONTEXT;
    }

    if (revision->elicitation) {
        can |= MCP_CLIENT_ELICITATION;
    }

    if (revision->url_mode) {
        can |= MCP_CLIENT_ELICITATION_URL;
    }

    return declared & can;
}


int
mcp_input_capability(const mcp_client_t *client, const mcp_question_t *q)
{
    unsigned  needs;

    needs = mcp_input_needs(q);

    if (needs == 0) {
        return -1;
    }

    return (needs & ~mcp_input_declared(client)) == 0;
}


unsigned
mcp_input_lacks(const mcp_client_t *client, const mcp_question_t *q, size_t n)
{
    size_t    i;
    unsigned  needs;

    needs = 0;

    for (i = 0; i < n; i++) {
        needs |= mcp_input_needs(&q[i]);
    }

    return needs & ~mcp_input_declared(client);
}


int
mcp_input_possible(const mcp_client_t *client)
{
    return !mcp_client_is_stateless(client)
           && mcp_input_declared(client) != 0;
}


void
mcp_input_capabilities(unsigned bits, mcp_buf_t *out)
{
    size_t  start;

    mcp_buf_lit(out, "{");
    start = out->len;

    switch (bits & (MCP_CLIENT_SAMPLING_TOOLS | MCP_CLIENT_SAMPLING_CONTEXT)) {

    case MCP_CLIENT_SAMPLING_TOOLS | MCP_CLIENT_SAMPLING_CONTEXT:
        mcp_buf_lit(out, "\"sampling\":{\"tools\":{},\"context\":{}},");
        break;

    case MCP_CLIENT_SAMPLING_TOOLS:
        mcp_buf_lit(out, "\"sampling\":{\"tools\":{}},");
        break;

    case MCP_CLIENT_SAMPLING_CONTEXT:
        mcp_buf_lit(out, "\"sampling\":{\"context\":{}},");
        break;

    default:
        if (bits & MCP_CLIENT_SAMPLING) {
            mcp_buf_lit(out, "\"sampling\":{},");
        }
    }

    if (bits & MCP_CLIENT_ELICITATION_URL) {
        mcp_buf_lit(out, "\"elicitation\":{");

        if (bits & MCP_CLIENT_ELICITATION) {
            mcp_buf_lit(out, "\"form\":{},");
        }

        mcp_buf_lit(out, "\"url\":{}},");

    } else if (bits & MCP_CLIENT_ELICITATION) {
        mcp_buf_lit(out, "\"elicitation\":{},");
    }

    if (bits & MCP_CLIENT_ROOTS) {
        mcp_buf_lit(out, "\"roots\":{},");
    }

    /* removes the last comma */

    if (out->failed == MCP_OK && out->len > start) {
        out->len--;
    }

    mcp_buf_lit(out, "}");
}
