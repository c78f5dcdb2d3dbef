/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a POSTed message means: who answers it (we, from configuration and
 * catalog, or a backend), and the rules about sessions and batches.
 */

#include "config/mcp_catalog.h"
#include "exchange/mcp_exchange_parts.h"
#include "rpc/mcp_revision.h"
#include "worker/mcp_answer.h"
#include "worker/mcp_hook.h"


/* What to do with one message. */
typedef enum {
    MCP_VERDICT_FAULT = 0,     /* answer a fault */
    MCP_VERDICT_LOCAL,         /* the result is in the buffer */
    MCP_VERDICT_CALL,          /* a backend answers */
    MCP_VERDICT_SILENT         /* nothing to answer */
} mcp_verdict_e;


typedef struct {
    mcp_fault_e          fault;
    mcp_str_t            detail;
    const mcp_method_t  *method;
    mcp_str_t            name;         /* of a call: routes, variables */
    unsigned             target;
} mcp_verdict_t;


static mcp_verdict_e
mcp_verdict_fault(mcp_verdict_t *v, mcp_fault_e fault, mcp_str_t detail)
{
    v->fault = fault;
    v->detail = detail;

    return MCP_VERDICT_FAULT;
}


/* Longer names and URIs are refused: they become FastCGI parameters and
 * headers. */
#define MCP_NAME_MAX  4096

#define mcp_dispatch_bad_token                                               \
    mcp_str("\"progressToken\" must be a short string or an integer")

/*
 * A string parameter that must be there; MCP_ERR_SYNTAX if it is not, or if
 * control characters are in it: names and URIs become variables, which
 * operators put into headers and logs.
 */
static int
mcp_dispatch_string(mcp_exchange_t *x, const mcp_json_value_t *value,
    mcp_str_t *out)
{
    if (value->type != MCP_JSON_STRING) {
        return MCP_ERR_SYNTAX;
    }

    if (mcp_json_unescape(mcp_exchange_arena(x), value->raw, out) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    if (mcp_fact_has_control(*out)) {
        return MCP_ERR_SYNTAX;
    }

    return out->len && out->len <= MCP_NAME_MAX ? MCP_OK : MCP_ERR_SYNTAX;
}


/* Of a request: backends and their heads get the token as it stands (schema,
 * ProgressToken). */
static int
mcp_dispatch_token_usable(const mcp_rpc_t *msg)
{
    return msg->progress_token.type == MCP_JSON_NONE
           || (mcp_rpc_id_usable(&msg->progress_token)
               && !mcp_fact_has_control(msg->progress_token.raw));
}


static mcp_verdict_e
mcp_dispatch_call(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_verdict_t *v)
{
    mcp_json_value_t  state;

    /*
     * These parameters are ours to give to a backend (mcp_input.c); a client
     * of these revisions has no business to forge them.
     */

    state = mcp_json_get(&msg->params, mcp_str("requestState"));

    if (state.type == MCP_JSON_NONE) {
        state = mcp_json_get(&msg->params, mcp_str("inputResponses"));
    }

    if (state.type != MCP_JSON_NONE) {
        return mcp_verdict_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("requestState and inputResponses "
                                         "are not of this revision"));
    }

    v->target = mcp_endpoint_route(x->endpoint, v->name);

    if (v->target == MCP_NO_TARGET) {
        mcp_worker_log(x->worker, MCP_LOG_ERROR,
                     "%.*s of \"%.*s\" has no backend: no route matches, and "
                     "there is none for all",
                     (int) v->method->name.len, v->method->name.data,
                     (int) (v->name.len > 128 ? 128 : v->name.len),
                     v->name.data ? v->name.data : "");

        return mcp_verdict_fault(v, MCP_FAULT_NO_BACKEND, mcp_null_str);
    }

    return MCP_VERDICT_CALL;
}


static mcp_verdict_e
mcp_dispatch_list(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_verdict_t *v,
    mcp_buf_t *out)
{
    int         rc;
    mcp_str_t   cursor;
    mcp_list_e  kind;

    kind = (mcp_list_e) v->method->list_kind;

    if (!mcp_endpoint_offers(x->endpoint, kind)) {

        /* resources without templates (or the reverse) are an empty list:
         * one capability announces both */

        if (x->endpoint->catalog == NULL
            || (kind != MCP_LIST_RESOURCES && kind != MCP_LIST_TEMPLATES)
            || (!mcp_endpoint_offers(x->endpoint, MCP_LIST_RESOURCES)
                && !mcp_endpoint_offers(x->endpoint, MCP_LIST_TEMPLATES)))
        {
            return mcp_verdict_fault(v, MCP_FAULT_METHOD_UNKNOWN,
                                     v->method->name);
        }
    }

    if (x->endpoint->catalog == NULL) {
        return mcp_dispatch_call(x, msg, v);
    }

    cursor = mcp_null_str;

    if (msg->cursor.type != MCP_JSON_NONE) {
        if (mcp_dispatch_string(x, &msg->cursor, &cursor) != MCP_OK) {
            return mcp_verdict_fault(v, MCP_FAULT_CURSOR, mcp_null_str);
        }
    }

    rc = mcp_catalog_list(x->endpoint->catalog, kind, cursor,
                          x->endpoint->page_size, out);

    if (rc == MCP_ERR_NOT_FOUND) {
        return mcp_verdict_fault(v, MCP_FAULT_CURSOR, mcp_null_str);
    }

    return MCP_VERDICT_LOCAL;
}


static mcp_verdict_e
mcp_dispatch_named(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_verdict_t *v,
    mcp_list_e kind, mcp_fault_e unknown)
{
    const mcp_catalog_t  *catalog;

    catalog = x->endpoint->catalog;

    if (!mcp_endpoint_offers(x->endpoint, kind)) {
        return mcp_verdict_fault(v, MCP_FAULT_METHOD_UNKNOWN,
                                 v->method->name);
    }

    if (mcp_dispatch_string(x, &msg->name, &v->name) != MCP_OK) {
        return mcp_verdict_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("\"name\" must be a string"));
    }

    if (catalog && mcp_catalog_find(catalog, kind, v->name).data == NULL) {
        return mcp_verdict_fault(v, unknown, v->name);
    }

    if (msg->arguments.type != MCP_JSON_NONE
        && msg->arguments.type != MCP_JSON_OBJECT)
    {
        return mcp_verdict_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("\"arguments\" must be an object"));
    }

    return mcp_dispatch_call(x, msg, v);
}


static mcp_verdict_e
mcp_dispatch_resource(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_verdict_t *v)
{
    const mcp_catalog_t  *catalog;

    catalog = x->endpoint->catalog;

    if (!mcp_endpoint_offers(x->endpoint, MCP_LIST_RESOURCES)
        && !mcp_endpoint_offers(x->endpoint, MCP_LIST_TEMPLATES))
    {
        return mcp_verdict_fault(v, MCP_FAULT_METHOD_UNKNOWN,
                                 v->method->name);
    }

    if (mcp_dispatch_string(x, &msg->uri, &v->name) != MCP_OK) {
        return mcp_verdict_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("\"uri\" must be a string"));
    }

    if (catalog
        && mcp_catalog_find(catalog, MCP_LIST_RESOURCES, v->name).data
           == NULL
        && mcp_catalog_find(catalog, MCP_LIST_TEMPLATES, v->name).data
           == NULL)
    {
        return mcp_verdict_fault(v, MCP_FAULT_RESOURCE_UNKNOWN, v->name);
    }

    return mcp_dispatch_call(x, msg, v);
}


static mcp_verdict_e
mcp_dispatch_completion(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_verdict_t *v)
{
    int                      rc;
    mcp_str_t                type;
    const mcp_json_value_t  *value;

    if (!mcp_endpoint_completes(x->endpoint)) {
        return mcp_verdict_fault(v, MCP_FAULT_METHOD_UNKNOWN,
                                 v->method->name);
    }

    rc = mcp_dispatch_string(x, &msg->ref_type, &type);

    if (rc == MCP_OK) {
        if (mcp_str_eq(type, mcp_str("ref/prompt"))) {
            value = &msg->ref_name;

        } else if (mcp_str_eq(type, mcp_str("ref/resource"))) {
            value = &msg->ref_uri;

        } else {
            rc = MCP_ERR_SYNTAX;
        }
    }

    if (rc == MCP_OK) {
        rc = mcp_dispatch_string(x, value, &v->name);
    }

    if (rc != MCP_OK) {
        return mcp_verdict_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("\"ref\" names no prompt and no "
                                         "resource"));
    }

    return mcp_dispatch_call(x, msg, v);
}


static mcp_verdict_e
mcp_dispatch_set_level(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_verdict_t *v, mcp_buf_t *out)
{
    int          level;
    mcp_str_t    name;
    mcp_party_t  party;

    level = -1;

    if (mcp_dispatch_string(x, &msg->level, &name) == MCP_OK) {
        level = mcp_log_level_find(name);
    }

    if (level < 0) {
        return mcp_verdict_fault(v, MCP_FAULT_LOG_LEVEL, mcp_null_str);
    }

    mcp_party(x->endpoint, x->party, &party);

    /* 'l': the session's log level */

    switch (mcp_store_value_set(x->worker->store, 'l', x->session.id,
                                (uint32_t) level, x->session.expires, &party))
    {
    case MCP_OK:
        mcp_buf_lit(out, "{}");
        return MCP_VERDICT_LOCAL;

    case MCP_ERR_LIMIT:
        return mcp_verdict_fault(v, MCP_FAULT_TOO_MANY_VALUES, mcp_null_str);

    default:
        return mcp_verdict_fault(v, MCP_FAULT_STORE_FULL, mcp_null_str);
    }
}


/* A method of one of the faces; for clients that do not know it there is
 * none. */
static mcp_verdict_e
mcp_dispatch_face(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_verdict_t *v,
    mcp_buf_t *out)
{
    mcp_fault_e        fault;
    const mcp_face_t  *face;

    face = mcp_hook_find(x, v->method);

    if (face == NULL) {
        return mcp_verdict_fault(v, MCP_FAULT_METHOD_UNKNOWN, msg->method);
    }

    if (v->method->opens) {
        return mcp_verdict_fault(v, MCP_FAULT_RESUME_BATCH, mcp_null_str);
    }

    fault = face->answer(x, msg, v->method->id, out);

    if (fault != MCP_FAULT_NONE) {
        return mcp_verdict_fault(v, fault, mcp_null_str);
    }

    return MCP_VERDICT_LOCAL;
}


/* Decides on a request other than initialize; a local result is appended to
 * out. */
static mcp_verdict_e
mcp_dispatch_request(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_verdict_t *v, mcp_buf_t *out)
{
    memset(v, 0, sizeof(mcp_verdict_t));

    v->method = mcp_method_find(msg->method);
    v->target = MCP_NO_TARGET;

    switch (v->method->id) {

    case MCP_METHOD_PING:
        mcp_buf_lit(out, "{}");
        return MCP_VERDICT_LOCAL;

    case MCP_METHOD_TOOLS_LIST:
    case MCP_METHOD_PROMPTS_LIST:
    case MCP_METHOD_RESOURCES_LIST:
    case MCP_METHOD_RESOURCES_TEMPLATES_LIST:
        return mcp_dispatch_list(x, msg, v, out);

    case MCP_METHOD_TOOLS_CALL:
        return mcp_dispatch_named(x, msg, v, MCP_LIST_TOOLS,
                                  MCP_FAULT_TOOL_UNKNOWN);

    case MCP_METHOD_PROMPTS_GET:
        return mcp_dispatch_named(x, msg, v, MCP_LIST_PROMPTS,
                                  MCP_FAULT_PROMPT_UNKNOWN);

    case MCP_METHOD_RESOURCES_READ:
    case MCP_METHOD_RESOURCES_SUBSCRIBE:
    case MCP_METHOD_RESOURCES_UNSUBSCRIBE:
        return mcp_dispatch_resource(x, msg, v);

    case MCP_METHOD_COMPLETION_COMPLETE:
        return mcp_dispatch_completion(x, msg, v);

    case MCP_METHOD_LOGGING_SET_LEVEL:
        return mcp_dispatch_set_level(x, msg, v, out);

    case MCP_METHOD_REQUESTS_GET_STATUS:
    case MCP_METHOD_REQUESTS_RESUME:
    case MCP_METHOD_STREAM_POLL:
    case MCP_METHOD_STREAM_POLL_ALL:
    case MCP_METHOD_STREAM_RESUME:
        return mcp_dispatch_face(x, msg, v, out);

    case MCP_METHOD_INITIALIZE:
        /* 2025-03-26, lifecycle: not part of a batch */
        return mcp_verdict_fault(v, MCP_FAULT_INVALID_REQUEST,
                                 mcp_str("initialize in a batch"));

    default:
        return mcp_verdict_fault(v, MCP_FAULT_METHOD_UNKNOWN, msg->method);
    }
}


static int
mcp_dispatch_notification(mcp_exchange_t *x, const mcp_rpc_t *msg)
{
    if (mcp_method_find(msg->method)->id != MCP_METHOD_NOTIFICATION_CANCELLED) {
        return MCP_OK;
    }

    if (msg->request_id.type != MCP_JSON_STRING
        && msg->request_id.type != MCP_JSON_NUMBER)
    {
        return MCP_OK;
    }

    return mcp_call_cancel_request(x, msg->request_id.raw);
}


/* The notifications and responses among n messages of one POST: nothing is
 * answered to either, but a client is told if they found no room (transports,
 * "Sending Messages to the Server"). */
static mcp_fault_e
mcp_dispatch_quiet(mcp_exchange_t *x, const mcp_rpc_t *msgs, size_t n)
{
    int     rc;
    size_t  i;

    rc = mcp_input_posted(x, msgs, n);

    for (i = 0; rc == MCP_OK && i < n; i++) {
        if (msgs[i].kind == MCP_RPC_NOTIFICATION) {
            rc = mcp_dispatch_notification(x, &msgs[i]);
        }
    }

    switch (rc) {
    case MCP_OK:
        return MCP_FAULT_NONE;
    case MCP_ERR_LIMIT:
    case MCP_ERR_FULL:
        return MCP_FAULT_STORE_FULL;
    default:
        return MCP_FAULT_INTERNAL;
    }
}


/* There was nothing else in a POST. */
static int
mcp_dispatch_accepted(mcp_exchange_t *x)
{
    x->outcome = "accepted";

    return mcp_answer_status(x, 202);
}


static void
mcp_dispatch_result_head(mcp_buf_t *out, mcp_str_t id)
{
    mcp_buf_lit(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    mcp_buf_str(out, id);
    mcp_buf_lit(out, ",\"result\":");
}


/* initialize (lifecycle, "Initialization"): any client gets a session that
 * costs nothing here. */
static int
mcp_dispatch_initialize(mcp_exchange_t *x)
{
    char                  *token, *end;
    mcp_str_t              wanted;
    const mcp_rpc_t       *msg;
    mcp_session_t         *session;
    const mcp_endpoint_t  *endpoint;

    msg = &x->msg;
    session = &x->session;
    endpoint = x->endpoint;

    if (!mcp_dispatch_token_usable(msg)) {
        return mcp_answer_fault(x, MCP_FAULT_PARAMS, msg->id,
                                mcp_dispatch_bad_token);
    }

    if (mcp_dispatch_string(x, &msg->protocol_version, &wanted) != MCP_OK) {
        return mcp_answer_fault(x, MCP_FAULT_PARAMS, msg->id,
                                mcp_str("\"protocolVersion\" must be a "
                                        "string"));
    }

    session->revision = mcp_revision_find(wanted);

    if (session->revision == MCP_REVISION_NONE) {
        session->revision = MCP_REVISION_LATEST;
    }

    session->capabilities = mcp_session_capabilities(&msg->capabilities);
    session->expires = x->worker->env->now(x->worker->env->ctx)
                       + endpoint->session_lifetime;
    memcpy(session->principal, x->principal, MCP_DIGEST_LEN);

    if (mcp_worker_random(x->worker, session->id, MCP_DIGEST_LEN) != MCP_OK) {
        return mcp_answer_fault(x, MCP_FAULT_INTERNAL, msg->id,
                                mcp_null_str);
    }

    token = mcp_arena_alloc(&x->arena, MCP_SESSION_TEXT_MAX);
    if (token == NULL) {
        return MCP_ERR_MEMORY;
    }

    end = mcp_session_print(endpoint->keys, session, token);
    if (end == NULL) {
        return MCP_ERR_MEMORY;
    }

    mcp_answer_header(x, mcp_str("Mcp-Session-Id"),
                      (mcp_str_t) { token, (size_t) (end - token) });

    mcp_dispatch_result_head(&x->out, msg->id);

    mcp_buf_lit(&x->out, "{\"protocolVersion\":");
    mcp_buf_json(&x->out, mcp_revision(session->revision)->name);
    mcp_buf_lit(&x->out, ",\"capabilities\":");
    mcp_endpoint_capabilities(endpoint, &x->out);
    mcp_buf_lit(&x->out, ",\"serverInfo\":{\"name\":");
    mcp_buf_json(&x->out, endpoint->name);

    if (endpoint->title.len
        && session->revision >= MCP_REVISION_2025_06_18)
    {
        mcp_buf_lit(&x->out, ",\"title\":");
        mcp_buf_json(&x->out, endpoint->title);
    }

    mcp_buf_lit(&x->out, ",\"version\":");
    mcp_buf_json(&x->out, endpoint->version);
    mcp_buf_lit(&x->out, "}");

    if (endpoint->catalog
        && mcp_catalog_instructions(endpoint->catalog).len)
    {
        mcp_buf_lit(&x->out, ",\"instructions\":");
        mcp_buf_str(&x->out, mcp_catalog_instructions(endpoint->catalog));
    }

    mcp_buf_lit(&x->out, "}}");

    x->has_session = 1;
    x->outcome = "ok";
    mcp_store_count(x->worker->store, MCP_COUNT_SESSIONS, 1);
    mcp_session_log(x, "began");

    return mcp_answer_json(x);
}


/* Fills a call's request in. */
static void
mcp_dispatch_fill(mcp_request_t *req, const mcp_rpc_t *msg,
    const mcp_verdict_t *v)
{
    req->raw = msg->raw;
    req->id = msg->id;
    req->method = v->method;
    req->name = v->name;
    req->params = msg->params.raw;
    req->progress_token = msg->progress_token.raw;
    req->target = v->target;
}


static int
mcp_dispatch_start(mcp_exchange_t *x, mcp_call_t *call)
{
    x->state = MCP_EXCHANGE_WAIT;
    x->outcome = "pending";

    mcp_call_start(call);

    return MCP_AGAIN;
}


/* The face that answers this message with a stream, or NULL. */
static const mcp_face_t *
mcp_dispatch_opens(const mcp_exchange_t *x)
{
    const mcp_method_t  *method;

    if (x->msg.kind != MCP_RPC_REQUEST && x->msg.kind != MCP_RPC_NOTIFICATION)
    {
        return NULL;
    }

    method = mcp_method_find(x->msg.method);

    /* only a draft of stream/resume was no request */

    if (!method->opens
        || (x->msg.kind == MCP_RPC_NOTIFICATION
            && method->id != MCP_METHOD_STREAM_RESUME))
    {
        return NULL;
    }

    return mcp_hook_find(x, method);
}


/* Why a call that is begun now could not be kept: then it is not begun. */
static mcp_fault_e
mcp_dispatch_refusal(mcp_exchange_t *x)
{
    mcp_party_t  party;

    mcp_party(x->endpoint, x->party, &party);

    switch (mcp_store_admits(x->worker->store, x->session.id,
                             x->endpoint->max_session_streams, &party))
    {
    case MCP_OK:
        return MCP_FAULT_NONE;
    case MCP_ERR_LIMIT:
        return MCP_FAULT_TOO_MANY_STREAMS;
    case MCP_ERR_FULL:
        return MCP_FAULT_STORE_FULL;
    default:
        return MCP_FAULT_INTERNAL;
    }
}


static int
mcp_dispatch_single(mcp_exchange_t *x)
{
    int                rc;
    mcp_call_t        *call;
    mcp_fault_e        fault;
    mcp_verdict_t      v;
    const mcp_face_t  *face;

    if (x->msg.kind == MCP_RPC_REQUEST
        && mcp_method_find(x->msg.method)->id == MCP_METHOD_INITIALIZE)
    {
        return mcp_dispatch_initialize(x);
    }

    fault = mcp_exchange_check_session(x);

    if (fault != MCP_FAULT_NONE) {
        return mcp_answer_fault(x, fault,
                                x->msg.kind == MCP_RPC_REQUEST ? x->msg.id
                                                        : mcp_null_str,
                                mcp_null_str);
    }

    if (x->msg.kind == MCP_RPC_REQUEST && !mcp_dispatch_token_usable(&x->msg))
    {
        return mcp_answer_fault(x, MCP_FAULT_PARAMS, x->msg.id,
                                mcp_dispatch_bad_token);
    }

    face = mcp_dispatch_opens(x);

    if (face) {
        return face->open(x);
    }

    if (x->msg.kind != MCP_RPC_REQUEST) {
        fault = mcp_dispatch_quiet(x, &x->msg, 1);

        if (fault != MCP_FAULT_NONE) {
            return mcp_answer_fault(x, fault, mcp_null_str, mcp_null_str);
        }

        return mcp_dispatch_accepted(x);
    }

    mcp_dispatch_result_head(&x->out, x->msg.id);

    switch (mcp_dispatch_request(x, &x->msg, &v, &x->out)) {

    case MCP_VERDICT_LOCAL:
        mcp_buf_lit(&x->out, "}");
        x->outcome = "ok";
        return mcp_answer_json(x);

    case MCP_VERDICT_CALL:
        mcp_fact_set(&x->facts, MCP_FACT_NAME, v.name);

        /* looked at once: a face that goes on with it has done something */

        x->refusal = mcp_dispatch_refusal(x);

        rc = mcp_hook_call(x);

        if (x->state == MCP_EXCHANGE_WAIT) {
            return MCP_AGAIN;
        }

        if (rc != MCP_AGAIN) {
            return rc;
        }

        if (x->refusal != MCP_FAULT_NONE) {
            return mcp_answer_fault(x, x->refusal, x->msg.id,
                                    mcp_null_str);
        }

        call = mcp_call_create(x, 1);
        if (call == NULL) {
            mcp_hook_unmade(x);
            return MCP_ERR_MEMORY;
        }

        mcp_dispatch_fill(&call->requests[0], &x->msg, &v);

        return mcp_dispatch_start(x, call);

    default:
        mcp_fact_set(&x->facts, MCP_FACT_NAME, v.name);
        return mcp_answer_fault(x, v.fault, x->msg.id, v.detail);
    }
}


/* A request of a batch that is answered here and now. */
static int
mcp_dispatch_answered(mcp_exchange_t *x, mcp_request_t *req,
    const mcp_rpc_t *msg, mcp_verdict_e verdict, const mcp_verdict_t *v,
    mcp_buf_t *result)
{
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &x->worker->env->mem, SIZE_MAX / 2);

    req->ending = MCP_ENDING_OK;

    if (verdict == MCP_VERDICT_LOCAL) {
        mcp_dispatch_result_head(&buf, msg->id);
        mcp_buf_add(&buf, result->data, result->len);
        mcp_buf_lit(&buf, "}");

    } else {
        mcp_fault_write(&buf, msg->id, v->fault, v->detail, mcp_null_str);
        mcp_store_count(x->worker->store, MCP_COUNT_ERRORS, 1);
        req->ending = MCP_ENDING_RPC_ERROR;
    }

    req->id = msg->id;
    req->method = v->method ? v->method : mcp_method_find(msg->method);
    req->state = MCP_REQUEST_OVER;

    if (buf.failed == MCP_OK) {
        req->response = mcp_arena_dup(&x->call->arena,
                                (mcp_str_t) { buf.data, buf.len });
    }

    mcp_buf_free(&buf);

    return req->response.data ? MCP_OK : MCP_ERR_MEMORY;
}


/* The requests of a batch become one call. */
static int
mcp_dispatch_batch_call(mcp_exchange_t *x, mcp_rpc_t *msgs, size_t n,
    size_t n_requests)
{
    int             rc;
    size_t          i, k;
    mcp_buf_t       result;
    mcp_call_t     *call;
    mcp_fault_e     fault;
    mcp_verdict_e   verdict;
    mcp_verdict_t   v;

    fault = mcp_dispatch_refusal(x);

    if (fault != MCP_FAULT_NONE) {
        return mcp_answer_fault(x, fault, mcp_null_str, mcp_null_str);
    }

    call = mcp_call_create(x, n_requests);
    if (call == NULL) {
        return MCP_ERR_MEMORY;
    }

    call->batch = 1;

    mcp_buf_init(&result, &x->worker->env->mem, SIZE_MAX / 2);

    for (i = 0, k = 0; i < n; i++) {

        if (msgs[i].kind != MCP_RPC_REQUEST
            && msgs[i].kind != MCP_RPC_INVALID)
        {
            continue;
        }

        result.len = 0;

        if (msgs[i].kind == MCP_RPC_INVALID) {
            memset(&v, 0, sizeof(mcp_verdict_t));
            verdict = mcp_verdict_fault(&v, msgs[i].fault, mcp_null_str);

        } else if (!mcp_dispatch_token_usable(&msgs[i])) {
            memset(&v, 0, sizeof(mcp_verdict_t));
            verdict = mcp_verdict_fault(&v, MCP_FAULT_PARAMS,
                                        mcp_dispatch_bad_token);

        } else {
            verdict = mcp_dispatch_request(x, &msgs[i], &v, &result);
        }

        /* tokens are for a request that is alone in its POST; a backend gets
         * none that was not looked at */

        if (verdict == MCP_VERDICT_CALL
            && (msgs[i].resume_token.type != MCP_JSON_NONE
                || msgs[i].meta_resume_token.type != MCP_JSON_NONE))
        {
            verdict = mcp_verdict_fault(&v, MCP_FAULT_RESUME_TOKEN,
                                        mcp_null_str);
        }

        if (verdict == MCP_VERDICT_CALL) {
            mcp_dispatch_fill(&call->requests[k++], &msgs[i], &v);
            continue;
        }

        rc = result.failed;

        if (rc == MCP_OK) {
            rc = mcp_dispatch_answered(x, &call->requests[k++], &msgs[i],
                                       verdict, &v, &result);
        }

        if (rc != MCP_OK) {
            mcp_buf_free(&result);
            mcp_call_discard(call);
            return MCP_ERR_MEMORY;
        }
    }

    mcp_buf_free(&result);

    return mcp_dispatch_start(x, call);
}


static int
mcp_dispatch_batch(mcp_exchange_t *x, mcp_str_t text)
{
    size_t        i, n, n_requests;
    mcp_str_t    *items;
    mcp_rpc_t    *msgs;
    mcp_fault_e   fault;

    items = NULL;
    n = 0;

    fault = mcp_exchange_check_session(x);

    if (fault == MCP_FAULT_NONE
        && !mcp_revision(x->session.revision)->batch)
    {
        fault = MCP_FAULT_BATCH;
    }

    if (fault == MCP_FAULT_NONE) {
        if (mcp_rpc_split(&x->arena, text, x->endpoint->max_depth,
                          x->endpoint->max_batch, &items, &n, &fault)
            != MCP_OK)
        {
            return MCP_ERR_MEMORY;
        }
    }

    if (fault != MCP_FAULT_NONE) {
        return mcp_answer_fault(x, fault, mcp_null_str, mcp_null_str);
    }

    msgs = mcp_arena_calloc(&x->arena, n * sizeof(mcp_rpc_t));
    if (msgs == NULL) {
        return MCP_ERR_MEMORY;
    }

    n_requests = 0;

    for (i = 0; i < n; i++) {
        if (mcp_rpc_parse(&x->arena, items[i], x->endpoint->max_depth,
                          &msgs[i])
            != MCP_OK)
        {
            return MCP_ERR_MEMORY;
        }

        if (msgs[i].kind == MCP_RPC_REQUEST
            || msgs[i].kind == MCP_RPC_INVALID)
        {
            n_requests++;
        }
    }

    mcp_store_count(x->worker->store, MCP_COUNT_MESSAGES, (int64_t) n);

    x->msg.method = mcp_str("batch");

    /* first, as nothing else of it may be done if these find no room */

    fault = mcp_dispatch_quiet(x, msgs, n);

    if (fault != MCP_FAULT_NONE) {
        return mcp_answer_fault(x, fault, mcp_null_str, mcp_null_str);
    }

    if (n_requests == 0) {
        return mcp_dispatch_accepted(x);
    }

    return mcp_dispatch_batch_call(x, msgs, n, n_requests);
}


int
mcp_dispatch(mcp_exchange_t *x, size_t len)
{
    mcp_str_t  text;

    text.data = x->body;
    text.len = len;

    if (x->face) {
        return x->face->post(x, text);
    }

    if (mcp_rpc_is_batch(text)) {
        return mcp_dispatch_batch(x, text);
    }

    if (mcp_rpc_parse(&x->arena, text, x->endpoint->max_depth, &x->msg)
        != MCP_OK)
    {
        return MCP_ERR_MEMORY;
    }

    if (x->msg.kind == MCP_RPC_INVALID) {
        return mcp_answer_fault(x, x->msg.fault, x->msg.id, mcp_null_str);
    }

    mcp_store_count(x->worker->store, MCP_COUNT_MESSAGES, 1);

    return mcp_dispatch_single(x);
}
