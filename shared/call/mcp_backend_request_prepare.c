/* SPDX-License-Identifier: Apache-2.0 */

/* The variables of backend requests, publish URLs, and the translation of the
 * client's request for an MCP server. */


#include "call/mcp_call.h"
#include "call/mcp_call_internal.h"
#include "call/mcp_upstream_detect.h"
#include "call/mcp_upstream_param_header.h"
#include "call/mcp_upstream_session.h"
#include "http/mcp_mirrored_header.h"
#include "rpc/mcp_revision.h"
#include "rpc/mcp_upstream_body.h"


/* --- variables --- */

/* Maximum length of the capabilities object that a client has sent, bytes. A
 * longer object is not passed to the backend, because it would become a header
 * or a parameter of the backend request. */
#define MCP_BACKEND_REQUEST_DECLARED_MAX  4096


/* Returns the capabilities object of a client without a session on one line,
 * or an empty text if it is too long, contains DEL, or there is no memory. */
static mcp_str_t
mcp_backend_request_declared(mcp_call_t *call)
{
    char       *text;
    size_t      i;
    mcp_str_t   declared;

    declared = call->client.declared;

    if (declared.len > MCP_BACKEND_REQUEST_DECLARED_MAX) {
        return mcp_null_str;
    }

    if (!mcp_variable_has_control(declared)) {
        return declared;
    }

    text = mcp_arena_alloc(&call->arena, declared.len);
    if (text == NULL) {
        return mcp_null_str;
    }

    /* control characters below 0x20 are white space, because this is valid
     * JSON */

    for (i = 0; i < declared.len; i++) {
        text[i] = (unsigned char) declared.data[i] < 0x20 ? ' '
                                                          : declared.data[i];
    }

    declared.data = text;

    return mcp_variable_has_control(declared) ? mcp_null_str : declared;
}


/* Returns the client's capabilities object. For a client without a session this
 * is the object in its request, if mcp_backend_request_declared() returns it.
 * Otherwise the object is built from the bits in call->client.capabilities. */
static mcp_str_t
mcp_backend_request_client_capabilities(mcp_call_t *call)
{
    unsigned   bits;
    mcp_buf_t  buf;
    mcp_str_t  text;

    if (mcp_client_is_stateless(&call->client)) {
        text = mcp_backend_request_declared(call);

        if (text.len) {
            return text;
        }
    }

    bits = call->client.capabilities & MCP_CLIENT_INPUT;

    if (bits == 0) {
        return mcp_str("{}");
    }

    mcp_buf_init(&buf, &call->worker->env->mem, 256);
    mcp_input_capabilities(bits, &buf);

    return mcp_arena_take(&call->arena, &buf);
}


int
mcp_backend_request_is_last(const mcp_backend_request_t *breq)
{
    const mcp_request_t  *req;

    req = &breq->call->requests[breq->request];

    return breq->kind == MCP_BACKEND_REQUEST_CALL
           && mcp_upstream_session_was_call(req)
           && (req->outcome != MCP_OUTCOME_NONE
               || req->state == MCP_REQUEST_DETACHED);
}


mcp_str_t
mcp_backend_request_arguments(const mcp_backend_request_t *breq)
{
    mcp_str_t             key;
    mcp_json_iter_t       iter;
    mcp_json_value_t      value;
    const mcp_request_t  *req;

    req = &breq->call->requests[breq->request];
    mcp_json_iter_init(&iter, req->params);

    while (breq->kind == MCP_BACKEND_REQUEST_CALL && req->params.len
           && mcp_json_iter_next(&iter, &key, &value))
    {
        if (mcp_str_eq(key, mcp_str("\"arguments\""))) {
            return value.raw;
        }
    }

    return mcp_null_str;
}


/* Sets the variables with the trace context of the client's HTTP request. They
 * are copies, because the HTTP request may end before the call. */
static void
mcp_backend_request_trace(mcp_call_t *call)
{
    mcp_trace_t         copy;
    const mcp_trace_t  *trace;

    trace = &call->x->head.trace;

    if (trace->parent.len == 0 && trace->baggage.len == 0) {
        return;
    }

    copy.parent = mcp_arena_dup(&call->arena, trace->parent);
    copy.state = mcp_arena_dup(&call->arena, trace->state);
    copy.baggage = mcp_arena_dup(&call->arena, trace->baggage);

    mcp_trace_set(&call->variables, &copy);
}


void
mcp_backend_request_call_variables(mcp_call_t *call)
{
    mcp_variables_t  *variables;

    variables = &call->variables;

    mcp_variable_put(variables, MCP_VARIABLE_PROTOCOL_VERSION,
                     mcp_revision(call->client.revision)->name);
    mcp_variable_put(variables, MCP_VARIABLE_CALL,
                     (mcp_str_t) { call->id_text, 8 });

    if (call->x) {
        mcp_variable_set(variables, MCP_VARIABLE_PRINCIPAL,
                         mcp_arena_dup(&call->arena,
                                       call->x->head.principal_name));
        mcp_backend_request_trace(call);
    }

    if (call->client.has_session) {
        mcp_client_session_variables(&call->client, variables);
    }

    mcp_variable_put(variables, MCP_VARIABLE_CLIENT_CAPABILITIES,
                     mcp_backend_request_client_capabilities(call));
}


/* --- the publish URL --- */

/* The payload of the token in a publish URL: id of the call (16 bytes), index
 * of the request in the call (1 byte), time until which the call may have no
 * stream in ms (8 bytes). */
#define MCP_PUBLISH_AT_REQUEST  MCP_STREAM_ID_LEN
#define MCP_PUBLISH_AT_STREAM   (MCP_STREAM_ID_LEN + 1)
#define MCP_PUBLISH_LEN         (MCP_STREAM_ID_LEN + 1 + 8)


mcp_str_t
mcp_publish_url(mcp_call_t *call, unsigned request)
{
    char           *p, *text;
    uint64_t        stream_at;
    mcp_str_t       base;
    unsigned char   payload[MCP_PUBLISH_LEN];

    base = call->endpoint->publish_url;
    stream_at = call->stream_at == UINT64_MAX ? mcp_call_now(call)
                                              : call->stream_at;

    memcpy(payload, call->id, MCP_STREAM_ID_LEN);
    payload[MCP_PUBLISH_AT_REQUEST] = (unsigned char) request;
    mcp_be_put(payload + MCP_PUBLISH_AT_STREAM, stream_at, 8);

    text = mcp_arena_alloc(&call->arena, base.len + 1 + MCP_TOKEN_TEXT_MAX);
    if (text == NULL) {
        return mcp_null_str;
    }

    memcpy(text, base.data, base.len);
    p = text + base.len;

    if (base.len && p[-1] != '/') {
        *p++ = '/';
    }

    p = mcp_token_sign(call->endpoint->keys, MCP_TOKEN_PUBLISH, payload,
                       sizeof(payload), p);
    if (p == NULL) {
        return mcp_null_str;
    }

    return (mcp_str_t) { text, (size_t) (p - text) };
}


int
mcp_publish_url_open(const mcp_keys_t *keys, mcp_str_t token,
    mcp_publish_target_t *target)
{
    unsigned char  payload[MCP_PUBLISH_LEN];

    if (mcp_token_verify(keys, MCP_TOKEN_PUBLISH, token, payload,
                         sizeof(payload))
        != MCP_OK)
    {
        return MCP_ERR_DENIED;
    }

    memcpy(target->id, payload, MCP_STREAM_ID_LEN);
    target->request = payload[MCP_PUBLISH_AT_REQUEST];
    target->stream_at = mcp_be_get(payload + MCP_PUBLISH_AT_STREAM, 8);

    return MCP_OK;
}


/* --- requests to MCP servers --- */

/* Backend requests to an MCP server (mcp_upstream): translation of the client's
 * request to the revision of the server. */


/* Returns the minimum level of log messages that a client has set for its
 * session, as a JSON string; empty if the client has set none. */
static mcp_str_t
mcp_backend_request_log_level(mcp_request_t *req)
{
    char         *text;
    size_t        len;
    uint32_t      level;
    mcp_str_t     name;
    mcp_call_t   *call;

    call = req->call;

    if (!call->client.has_session
        || mcp_store_value_get(call->worker->store, MCP_VALUE_LOG_LEVEL,
                               call->client.id, mcp_call_now(call), &level)
           != MCP_OK)
    {
        return mcp_null_str;
    }

    name = mcp_log_level_name(level);
    len = name.len + 2;

    text = mcp_arena_alloc(&call->arena, len);
    if (text == NULL) {
        return mcp_null_str;
    }

    text[0] = '"';
    memcpy(text + 1, name.data, name.len);
    text[len - 1] = '"';

    return (mcp_str_t) { text, len };
}


void
mcp_backend_request_meta(mcp_request_t *req, mcp_upstream_meta_t *meta)
{
    meta->capabilities =
                 req->call->variables.value[MCP_VARIABLE_CLIENT_CAPABILITIES];
    meta->client_info = mcp_str(MCP_UPSTREAM_CLIENT_INFO);
    meta->log_level = mcp_backend_request_log_level(req);

    if (meta->capabilities.len == 0) {
        meta->capabilities = mcp_str("{}");
    }
}


/* Writes the body of a backend request, translated for the MCP server, to out.
 * Returns 1, or 0 if the body needs no change. */
static int
mcp_backend_request_write_body(mcp_request_t *req, mcp_upstream_e upstream,
    mcp_buf_t *out)
{
    mcp_str_t            body;
    mcp_call_t          *call;
    mcp_upstream_meta_t  meta;

    call = req->call;
    body = req->breq.body;

    if (upstream == MCP_UPSTREAM_STATELESS) {
        return mcp_upstream_remove_meta(out, body);
    }

    if (mcp_client_is_stateless(&call->client)) {

        /* the tasks extension has to be removed from the body. First looks for
         * it in the client's capabilities, which are shorter than the body */

        return mcp_json_get_from(call->client.declared,
                                 mcp_str("extensions")).type
               != MCP_JSON_NONE
               && mcp_upstream_remove_tasks(out, body);
    }

    mcp_backend_request_meta(req, &meta);
    mcp_upstream_add_meta(out, body, &meta);

    return 1;
}


static int
mcp_backend_request_replace_body(mcp_request_t *req, mcp_upstream_e upstream)
{
    mcp_buf_t  out;

    mcp_buf_init(&out, &req->call->worker->env->mem, SIZE_MAX / 2);

    if (!mcp_backend_request_write_body(req, upstream, &out)) {
        mcp_buf_free(&out);
        return MCP_OK;
    }

    if (out.failed) {
        mcp_buf_free(&out);
        return MCP_ERR_MEMORY;
    }

    mcp_buf_free(&req->body);

    req->body = out;
    req->breq.body = (mcp_str_t) { out.data, out.len };
    req->breq.rebuilt = 1;

    return MCP_OK;
}


/* Prepares a request to an MCP server of the form "modern" or "stateless",
 * which has no sessions. Returns the values of
 * mcp_backend_request_to_upstream(). */
static int
mcp_backend_request_to_form(mcp_request_t *req, mcp_upstream_e upstream,
    mcp_str_t version)
{
    int  rc;

    /* with "mcp_upstream auto", the structure req->session is needed for a
     * server without sessions, too: it stores the detected form of the server,
     * which is detected again if the server rejects the request */

    if (mcp_endpoint_upstream(req->call->endpoint, req->target)
        == MCP_UPSTREAM_AUTO && mcp_upstream_session_create(req) != MCP_OK)
    {
        return MCP_ERR_MEMORY;
    }

    if (req->session) {
        req->session->continues = 0;
    }

    /* a request for the description of a server is not resumed, but sent
     * again */

    if (upstream == MCP_UPSTREAM_STATELESS && !req->call->bare) {
        (void) mcp_backend_set_resumes(req->backend, mcp_null_str);
    }

    mcp_variable_put(&req->breq.variables, MCP_VARIABLE_UPSTREAM_VERSION,
                     version);

    if (mcp_upstream_param_needs_list(req)) {
        return mcp_upstream_param_request_list(req);
    }

    mcp_backend_set_id(req->backend, req->call->bare ? mcp_str(MCP_UPSTREAM_ID)
                                                     : req->id);

    rc = mcp_backend_request_replace_body(req, upstream);

    return rc == MCP_OK && upstream == MCP_UPSTREAM_MODERN
           ? mcp_upstream_param_write(req) : rc;
}


int
mcp_backend_request_to_upstream(mcp_request_t *req)
{
    int               rc;
    mcp_str_t         name, version;
    mcp_upstream_e    upstream;
    mcp_variables_t  *variables;

    variables = &req->breq.variables;

    mcp_backend_set_server(req->backend);
    mcp_upstream_status_begin(req);

    /* Mcp-Name must equal the URI in the body, not its normal form */

    if (mcp_header_value_encode(&req->call->arena,
                                req->raw_uri.len ? req->raw_uri : req->name,
                                &name)
        != MCP_OK)
    {
        return MCP_ERR_MEMORY;
    }

    mcp_variable_put(variables, MCP_VARIABLE_UPSTREAM_MCP_NAME, name);

    upstream = mcp_upstream_form(req, &version);
    mcp_upstream_param_begin(req, upstream == MCP_UPSTREAM_MODERN);

    if (upstream == MCP_UPSTREAM_SESSION || upstream == MCP_UPSTREAM_AUTO
        || mcp_upstream_session_is_used(req))
    {
        rc = mcp_upstream_session_begin(req, upstream);

        return rc == MCP_OK ? mcp_upstream_session_prepare(req) : rc;
    }

    return mcp_backend_request_to_form(req, upstream, version);
}


/* Returns 1 if a session id is not too long and has only visible ASCII
 * characters (2025-11-25, basic/transports, "Session Management"). */
static int
mcp_backend_request_is_session_id(mcp_str_t value)
{
    size_t  i;

    for (i = 0; i < value.len; i++) {
        if (value.data[i] < 0x21 || value.data[i] > 0x7e) {
            return 0;
        }
    }

    return value.len > 0 && value.len <= MCP_UPSTREAM_SESSION_ID;
}


void
mcp_backend_request_session(mcp_backend_request_t *breq, mcp_str_t value)
{
    int                      good;
    mcp_request_t           *req;
    mcp_upstream_session_t  *session;

    req = &breq->call->requests[breq->request];
    session = req->session;

    if (session == NULL || breq->kind != MCP_BACKEND_REQUEST_CALL) {
        return;
    }

    good = mcp_backend_request_is_session_id(value);

    if (session->step == MCP_UPSTREAM_STEP_DISCOVER && good) {
        mcp_upstream_session_drop_discovered(req, value);
    }

    if (session->step != MCP_UPSTREAM_STEP_OPEN) {
        return;
    }

    session->bad_id = !good;

    if (good) {
        session->len = value.len;
        memcpy(session->id, value.data, value.len);
    }
}
