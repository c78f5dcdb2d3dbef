/* SPDX-License-Identifier: Apache-2.0 */

/* Sets the variables that all backend requests of a call have in common, and
 * creates and opens publish URLs. */


#include "call/mcp_call.h"
#include "call/mcp_call_internal.h"
#include "call/mcp_upstream_session.h"
#include "rpc/mcp_revision.h"


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
 * of the request in the call (1 byte), time of creation in ms (8 bytes). */
#define MCP_PUBLISH_AT_REQUEST  MCP_STREAM_ID_LEN
#define MCP_PUBLISH_AT_MADE     (MCP_STREAM_ID_LEN + 1)
#define MCP_PUBLISH_LEN         (MCP_STREAM_ID_LEN + 1 + 8)


mcp_str_t
mcp_publish_url(mcp_call_t *call, unsigned request)
{
    char           *p, *text;
    mcp_str_t       base;
    unsigned char   payload[MCP_PUBLISH_LEN];

    base = call->endpoint->publish_url;

    memcpy(payload, call->id, MCP_STREAM_ID_LEN);
    payload[MCP_PUBLISH_AT_REQUEST] = (unsigned char) request;
    mcp_be_put(payload + MCP_PUBLISH_AT_MADE, mcp_call_now(call), 8);

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
    target->made = mcp_be_get(payload + MCP_PUBLISH_AT_MADE, 8);

    return MCP_OK;
}
