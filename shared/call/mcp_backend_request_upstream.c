/* SPDX-License-Identifier: Apache-2.0 */

/* Backend requests to an MCP server (mcp_upstream): translation of the client's
 * request to the revision of the server. */

#include "call/mcp_call_internal.h"
#include "call/mcp_upstream_detect.h"
#include "call/mcp_upstream_param_header.h"
#include "call/mcp_upstream_session.h"
#include "call/mcp_upstream_record_stats.h"
#include "http/mcp_mirrored_header.h"
#include "rpc/mcp_upstream_body.h"


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


void
mcp_backend_request_session(mcp_backend_request_t *breq, mcp_str_t value)
{
    size_t                   i;
    mcp_upstream_session_t  *session;

    session = breq->call->requests[breq->request].session;

    if (session == NULL || breq->kind != MCP_BACKEND_REQUEST_CALL
        || session->step != MCP_UPSTREAM_STEP_OPEN)
    {
        return;
    }

    session->bad_id = value.len == 0 || value.len > MCP_UPSTREAM_SESSION_ID;

    for (i = 0; i < value.len; i++) {
        if (value.data[i] < 0x21 || value.data[i] > 0x7e) {
            session->bad_id = 1;
        }
    }

    if (!session->bad_id) {
        session->len = value.len;
        memcpy(session->id, value.data, value.len);
    }
}
