/* SPDX-License-Identifier: Apache-2.0 */

#include "call/mcp_upstream_param_header.h"

#include "call/mcp_call_internal.h"
#include "call/mcp_upstream_session.h"
#include "config/mcp_catalog_header.h"
#include "rpc/mcp_upstream_body.h"
#include "worker/mcp_worker_upstream.h"


/* Returns 1 if this server has to create the Mcp-Param-* headers of a request.
 * Clients of revisions without sessions send these headers themselves. */
static int
mcp_upstream_param_applies(const mcp_request_t *req)
{
    return req->method->id == MCP_METHOD_TOOLS_CALL
           && !mcp_client_is_stateless(&req->call->client);
}


/* Returns the array of headers that the tool of a request needs, and sets *n to
 * the number of its elements. Returns NULL if the tool needs none, or its
 * headers are not known. */
static const mcp_catalog_header_t *
mcp_upstream_param_headers(mcp_request_t *req, size_t *n)
{
    const mcp_endpoint_t  *endpoint;

    endpoint = req->call->endpoint;

    return endpoint->catalog
           ? mcp_catalog_headers(endpoint->catalog, req->name, n)
           : mcp_upstream_tools_find(req->call->worker, endpoint, req->target,
                                     req->name, n);
}


/* Sets req->why, the reason in the client's error, to "what" followed by
 * "name". Returns MCP_ERR_SYNTAX, or MCP_ERR_MEMORY when out of memory. */
static int
mcp_upstream_param_refuse(mcp_request_t *req, mcp_str_t what, mcp_str_t name)
{
    mcp_buf_t  text;

    mcp_buf_init(&text, &req->call->worker->env->mem, SIZE_MAX / 2);
    mcp_buf_str(&text, what);
    mcp_buf_str(&text, name);

    req->why = mcp_arena_take(&req->call->arena, &text);

    return req->why.data ? MCP_ERR_SYNTAX : MCP_ERR_MEMORY;
}


int
mcp_upstream_param_write(mcp_request_t *req)
{
    int                          rc;
    size_t                       n;
    mcp_json_value_t             value;
    mcp_tool_params_t            params;
    const mcp_catalog_header_t  *headers;

    if (!mcp_upstream_param_applies(req)) {
        return MCP_OK;
    }

    headers = mcp_upstream_param_headers(req, &n);

    if (n == 0) {
        return MCP_OK;
    }

    value = (mcp_json_value_t) { req->params.len ? MCP_JSON_OBJECT
                                                 : MCP_JSON_NONE, req->params };
    value = mcp_json_get(&value, mcp_str("arguments"));

    mcp_tool_params_read(&params, headers, n, &value);

    rc = mcp_tool_params_write(&params, &req->call->arena, &req->breq.headers,
                               &n);

    switch (rc) {

    case MCP_OK:
        req->breq.n_headers = n;
        return MCP_OK;

    case MCP_ERR_SYNTAX:
        return mcp_upstream_param_refuse(req, mcp_str("\"arguments\" has an "
                                                      "ambiguous value for "
                                                      "the header "),
                                         req->breq.headers[0].name);

    case MCP_ERR_LIMIT:
        return mcp_upstream_param_refuse(req, mcp_str("the arguments that are "
                                                      "sent as headers are "
                                                      "longer than 64 KB"),
                                         mcp_null_str);

    default:
        return rc;
    }
}


void
mcp_upstream_param_learn(mcp_request_t *req, mcp_str_t result)
{
    mcp_call_t      *call;
    mcp_upstream_e   upstream;

    call = req->call;
    upstream = mcp_endpoint_upstream(call->endpoint, req->target);

    if (call->endpoint->catalog == NULL
        && (upstream == MCP_UPSTREAM_MODERN || upstream == MCP_UPSTREAM_AUTO))
    {
        mcp_upstream_tools_read(call->worker, call->endpoint, req->target,
                                result);
    }
}


/* --- asking for the list of tools --- */

int
mcp_upstream_param_needs_list(const mcp_request_t *req)
{
    return req->relist && req->relist->needs_list;
}


uint64_t
mcp_upstream_param_deadline(mcp_request_t *req, uint64_t deadline)
{
    uint64_t  until;

    until = req->relist->until;

    /* relist->until limits the requests for the list and the repetition of the
     * call only: a later backend request, with the client's answers, has its
     * own deadline */

    if (!req->relist->needs_list && mcp_upstream_session_is_call(req)) {
        req->relist->until = UINT64_MAX;
    }

    return deadline < until ? deadline : until;
}


void
mcp_upstream_param_begin(mcp_request_t *req, int modern)
{
    if (req->relist) {
        req->relist->continues = 0;
        req->relist->needs_list &= modern != 0;
    }
}


int
mcp_upstream_param_request_list(mcp_request_t *req)
{
    mcp_str_t              body;
    mcp_buf_t              list, out;
    const mcp_mem_t       *mem;
    mcp_upstream_meta_t    meta;
    mcp_variables_t       *variables;

    mem = &req->call->worker->env->mem;
    mcp_buf_init(&list, mem, SIZE_MAX / 2);
    mcp_buf_init(&out, mem, SIZE_MAX / 2);

    mcp_backend_set_id(req->backend, mcp_str(MCP_UPSTREAM_ID));
    mcp_buf_lit(&list, "{\"jsonrpc\":\"2.0\",\"id\":" MCP_UPSTREAM_ID ","
                       "\"method\":\"tools/list\",\"params\":{");

    if (req->relist->cursor.len) {
        mcp_buf_lit(&list, "\"cursor\":");
        mcp_buf_str(&list, req->relist->cursor);
    }

    mcp_buf_lit(&list, "}}");
    mcp_backend_request_meta(req, &meta);

    if (!list.failed) {
        mcp_upstream_add_meta(&out, mcp_buf_text(&list), &meta);
    }

    out.failed |= list.failed;
    mcp_buf_free(&list);
    body = mcp_arena_take(&req->call->arena, &out);

    req->breq.body = body;
    req->breq.rebuilt = 0;
    req->relist->pages++;

    variables = &req->breq.variables;
    mcp_variable_put(variables, MCP_VARIABLE_METHOD, mcp_str("tools/list"));
    mcp_variable_put(variables, MCP_VARIABLE_UPSTREAM_MCP_NAME, mcp_null_str);

    return body.data ? MCP_OK : MCP_ERR_MEMORY;
}


/* Sends the next backend request as soon as the running one has ended. Returns
 * 1. */
static int
mcp_upstream_param_next(mcp_request_t *req)
{
    uint64_t  grace;

    grace = mcp_call_now(req->call) + MCP_CALL_GRACE;

    req->relist->continues = 1;
    req->again = 1;
    req->deadline = grace < req->relist->until ? grace : req->relist->until;
    mcp_call_set_timer(req->call);

    return 1;
}


/* Reads a page of the list. Requests the next page if the headers of the call's
 * tool are still unknown. */
static void
mcp_upstream_param_listed(mcp_request_t *req, mcp_str_t result)
{
    size_t            n;
    mcp_json_value_t  value;

    mcp_upstream_param_learn(req, result);
    req->relist->needs_list = 0;

    if (mcp_upstream_param_headers(req, &n)
        || req->relist->pages == MCP_UPSTREAM_PARAM_PAGES)
    {
        return;
    }

    value = mcp_json_get_from(result, mcp_str("nextCursor"));

    if (value.type == MCP_JSON_STRING) {
        req->relist->cursor = mcp_arena_dup(&req->call->arena, value.raw);
        req->relist->needs_list = req->relist->cursor.data != NULL;
    }
}


/* Logs once why the list of tools could not be read, and sets msg to the fault
 * of the call. */
static void
mcp_upstream_param_fail(mcp_request_t *req, const char *why,
    mcp_backend_msg_t *msg)
{
    *msg = req->relist->rejection;

    /* logged once, although a held message is processed again */

    if (req->relist->failed) {
        msg->detail = NULL;
        return;
    }

    req->relist->failed = 1;
    mcp_call_log(req->call, MCP_LOG_ERROR,
                 "was rejected by the MCP server because of a header, and "
                 "tools/list, which is needed to correct the header, failed",
                 why);
}


/* Processes a message of the server in response to tools/list. Returns the
 * values of mcp_upstream_param_message(). */
static int
mcp_upstream_param_response(mcp_request_t *req, mcp_backend_msg_t *msg)
{
    switch (msg->kind) {

    case MCP_BACKEND_NOTIFICATION:
        return 1;

    case MCP_BACKEND_RESULT:
        mcp_upstream_param_listed(req, msg->body);
        return mcp_upstream_param_next(req);

    case MCP_BACKEND_FAULT:
        mcp_upstream_param_fail(req, msg->detail, msg);
        return 0;

    default:
        mcp_upstream_param_fail(req, "the response to tools/list is not a list",
                                msg);
        return 0;
    }
}


int
mcp_upstream_param_timeout(mcp_request_t *req, mcp_backend_msg_t *msg)
{
    if (!mcp_upstream_param_needs_list(req)) {
        return 0;
    }

    mcp_upstream_param_fail(req, "the server did not respond to tools/list in "
                                 "time", msg);

    return 1;
}


int
mcp_upstream_param_message(mcp_request_t *req, mcp_backend_msg_t *msg)
{
    if (mcp_upstream_param_needs_list(req)) {
        return mcp_upstream_param_response(req, msg);
    }

    /* the call is not sent again if the server has begun to respond with a
     * success status, because it may have executed the call */

    if (!msg->header || req->responds || req->relist
        || req->call->endpoint->catalog || !mcp_upstream_param_applies(req))
    {
        return 0;
    }

    req->relist = mcp_arena_calloc(&req->call->arena,
                                   sizeof(mcp_upstream_relist_t));
    if (req->relist == NULL) {
        return 0;
    }

    mcp_call_trace(req->call,
                   "request %u: requests the list of tools from the MCP "
                   "server, which has refused a header", req->breq.request);

    req->relist->needs_list = 1;
    req->relist->until = req->deadline;
    req->relist->rejection = *msg;
    req->relist->rejection.body = mcp_null_str;

    return mcp_upstream_param_next(req);
}
