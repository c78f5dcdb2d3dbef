/* SPDX-License-Identifier: Apache-2.0 */

#include "call/mcp_upstream_list_from_cache.h"

#include "call/mcp_call_internal.h"
#include "call/mcp_upstream_session.h"
#include "rpc/mcp_subscription.h"
#include "worker/mcp_worker_upstream.h"


/* Time after a failed request for a list, ms. During this time clients get the
 * expired page from the cache, and the server gets no further request. */
#define MCP_UPSTREAM_LIST_RETRY    1000

/* Time after which a request for a list without a response counts as lost, ms.
 * Until then, other clients get the expired page from the cache. The time is
 * longer than the maximum duration of such a request. */
#define MCP_UPSTREAM_LIST_PENDING  11000


/* Returns 1 if the member "key" of a request's _meta does not affect the list
 * that the server returns. */
static int
mcp_upstream_list_is_neutral(mcp_str_t key)
{
    size_t  i;

    static const mcp_str_t  names[] = {
        mcp_str("\"progressToken\""), mcp_str("\"traceparent\""),
        mcp_str("\"tracestate\""), mcp_str("\"baggage\"")
    };

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (mcp_str_eq(key, names[i])) {
            return 1;
        }
    }

    return mcp_str_take(&key, mcp_str("\"io.modelcontextprotocol/"));
}


static int
mcp_upstream_list_meta(const mcp_json_value_t *meta)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    if (meta->type != MCP_JSON_OBJECT) {
        return 0;
    }

    mcp_json_iter_init(&iter, meta->raw);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (!mcp_upstream_list_is_neutral(key)) {
            return 0;
        }
    }

    return 1;
}


/* Returns 1 if the result of a request depends on no parameter but its cursor,
 * and sets *cursor to the raw JSON string, empty if there is none. Otherwise
 * returns 0. */
static int
mcp_upstream_list_params(mcp_str_t params, mcp_str_t *cursor)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    *cursor = mcp_null_str;

    if (params.len == 0) {
        return 1;
    }

    mcp_json_iter_init(&iter, params);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (mcp_str_eq(key, mcp_str("\"cursor\""))
            && value.type == MCP_JSON_STRING)
        {
            *cursor = value.raw;

        } else if (!mcp_str_eq(key, mcp_str("\"_meta\""))
                   || !mcp_upstream_list_meta(&value))
        {
            return 0;
        }
    }

    return 1;
}


/* Returns 1 if the response to a request may come from the cache and may be
 * stored there, and sets *key, the key of the page, and *cursor, the cursor in
 * the request. Otherwise returns 0. */
static int
mcp_upstream_list_key(const mcp_request_t *req, mcp_upstream_page_key_t *key,
    mcp_str_t *cursor)
{
    mcp_str_t              parts[3];
    const mcp_client_t    *client;
    const mcp_endpoint_t  *endpoint;

    endpoint = req->call->endpoint;
    client = &req->call->client;

    if (req->method->list_kind == MCP_METHOD_NO_LIST || req->retry
        || endpoint->catalog || endpoint->pass_authorization
        || endpoint->pass_cookie
        || mcp_endpoint_upstream(endpoint, req->target) == MCP_UPSTREAM_OFF
        || endpoint->targets[req->target].lists == MCP_UPSTREAM_LISTS_OFF
        || !mcp_upstream_list_params(req->params, cursor))
    {
        return 0;
    }

    parts[0] = mcp_client_is_stateless(client) ? mcp_str("declared")
                                               : mcp_str("session");
    parts[1] = *cursor;
    parts[2] = mcp_client_is_stateless(client) ? client->declared
               : (mcp_str_t) { (const char *) &client->capabilities,
                               sizeof(client->capabilities) };

    key->endpoint = endpoint;
    key->target = req->target;
    key->kind = (mcp_list_e) req->method->list_kind;

    return mcp_digest(key->request, parts, 3) == MCP_OK;
}


/* Copies the result of a page to req->cached. fresh is 0 if the page has
 * expired. Returns 1, or 0 when out of memory. */
static int
mcp_upstream_list_take(mcp_request_t *req, const mcp_upstream_page_t *page,
    int fresh)
{
    mcp_buf_t  text;

    mcp_buf_init(&text, &req->call->worker->env->mem, SIZE_MAX / 2);
    mcp_upstream_lists_write(page, mcp_call_now(req->call), &text);

    req->cached = mcp_arena_take(&req->call->arena, &text);

    if (req->cached.data == NULL) {
        return 0;
    }

    mcp_upstream_put_state(req, fresh ? mcp_str("cached") : mcp_str("stale"));

    return 1;
}


int
mcp_upstream_list_begin(mcp_request_t *req)
{
    uint64_t                  now;
    mcp_str_t                 cursor;
    mcp_upstream_page_t      *page;
    mcp_upstream_page_key_t   key;

    if (!mcp_upstream_list_key(req, &key, &cursor)) {
        return 0;
    }

    req->list_changed = mcp_upstream_lists_changed(req->call->worker, &key);

    now = mcp_call_now(req->call);
    page = mcp_upstream_lists_find(req->call->worker, &key);

    if (page == NULL) {
        return 0;
    }

    if (now < page->until) {
        return mcp_upstream_list_take(req, page, 1);
    }

    if (now - page->until >= key.endpoint->targets[key.target].stale) {
        return 0;
    }

    if (now - page->failed < MCP_UPSTREAM_LIST_RETRY
        || now - page->requested < MCP_UPSTREAM_LIST_PENDING)
    {
        return mcp_upstream_list_take(req, page, 0);
    }

    page->requested = now;
    req->may_be_stale = 1;

    return 0;
}


/* Returns 1 if the result may be sent to other callers. A result with a resume
 * token may not, because only the caller of this request may use the token. */
static int
mcp_upstream_list_is_shared(const mcp_request_t *req,
    const mcp_backend_msg_t *msg, mcp_str_t cursor)
{
    mcp_json_value_t     object, scope, next;
    const mcp_target_t  *target;

    object = (mcp_json_value_t) { MCP_JSON_OBJECT, msg->body };
    scope = mcp_json_get(&object, mcp_str("cacheScope"));
    target = &req->call->endpoint->targets[req->target];

    if (msg->has_next
        || (!mcp_json_str_eq(scope.raw, mcp_str("public"))
            && (target->lists != MCP_UPSTREAM_LISTS_SHARED
                || scope.type != MCP_JSON_NONE)))
    {
        return 0;
    }

    /* a cursor of a server with sessions may be valid in its session only */

    next = mcp_json_get(&object, mcp_str("nextCursor"));

    return req->session == NULL || req->session->len == 0
           || (cursor.len == 0 && next.type != MCP_JSON_STRING);
}


void
mcp_upstream_list_result(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    mcp_str_t                 cursor;
    mcp_worker_t             *worker;
    mcp_upstream_page_key_t   key;

    if (req->cached.len || !mcp_upstream_list_key(req, &key, &cursor)) {
        return;
    }

    worker = req->call->worker;

    /* the list has changed since the request was made: the result may be out of
     * date */

    if (req->list_changed != mcp_upstream_lists_changed(worker, &key)) {
        return;
    }

    if (!mcp_call_list_has_items(key.kind, msg->body)) {
        return;
    }

    if (mcp_upstream_list_is_shared(req, msg, cursor)) {
        mcp_upstream_lists_put(worker, &key, msg->body,
                               key.endpoint->targets[key.target].check);

    } else {
        mcp_upstream_lists_drop(worker, key.endpoint, key.target, key.kind);
    }
}


int
mcp_upstream_list_is_busy(const mcp_backend_msg_t *msg)
{
    return msg->kind == MCP_BACKEND_ERROR
           && (msg->status == 429 || msg->status >= 500);
}


void
mcp_upstream_list_error(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    mcp_call_t  *call;

    call = req->call;

    /* an error about a header may mean that the tools have changed. An error as
     * the response to a request for a list may mean that the cursor is out of
     * date. A client can cause such errors, too, but the cost is only one more
     * request for the list. */

    if (msg->header) {
        mcp_upstream_lists_drop(call->worker, call->endpoint, req->target,
                                MCP_LIST_TOOLS);

    } else if (msg->kind == MCP_BACKEND_ERROR
               && !mcp_upstream_list_is_busy(msg)
               && req->method->list_kind != MCP_METHOD_NO_LIST)
    {
        mcp_upstream_lists_drop(call->worker, call->endpoint, req->target,
                                (mcp_list_e) req->method->list_kind);
    }
}


void
mcp_upstream_list_changed(mcp_request_t *req, mcp_str_t method)
{
    mcp_call_t   *call;
    mcp_topic_e   topic;

    call = req->call;
    topic = mcp_topic_of(method);

    switch (topic) {

    case MCP_TOPIC_TOOLS:
        mcp_upstream_lists_drop(call->worker, call->endpoint, req->target,
                                MCP_LIST_TOOLS);
        break;

    case MCP_TOPIC_PROMPTS:
        mcp_upstream_lists_drop(call->worker, call->endpoint, req->target,
                                MCP_LIST_PROMPTS);
        break;

    case MCP_TOPIC_RESOURCES:
        mcp_upstream_lists_drop(call->worker, call->endpoint, req->target,
                                MCP_LIST_RESOURCES);
        mcp_upstream_lists_drop(call->worker, call->endpoint, req->target,
                                MCP_LIST_TEMPLATES);
        break;

    default:
        break;
    }
}


/* Returns 1 if a fault means that the server does not respond, or responds with
 * an invalid message or an HTTP error other than 401 and 403. */
static int
mcp_upstream_list_is_down(mcp_fault_e fault)
{
    return fault == MCP_FAULT_BACKEND_FAILED
           || fault == MCP_FAULT_BACKEND_TIMEOUT
           || fault == MCP_FAULT_BACKEND_OUTPUT
           || fault == MCP_FAULT_UPSTREAM_STATUS;
}


int
mcp_upstream_list_stale(mcp_request_t *req, mcp_fault_e fault,
    mcp_backend_msg_t *msg)
{
    mcp_str_t                 cursor;
    mcp_upstream_page_t      *page;
    mcp_upstream_page_key_t   key;

    if (!req->may_be_stale || !mcp_upstream_list_key(req, &key, &cursor)) {
        return 0;
    }

    page = mcp_upstream_lists_find(req->call->worker, &key);

    if (page == NULL) {
        return 0;
    }

    page->requested = 0;

    if (!mcp_upstream_list_is_down(fault)) {
        return 0;
    }

    page->failed = mcp_call_now(req->call);

    if (!mcp_upstream_list_take(req, page, 0)) {
        return 0;
    }

    memset(msg, 0, sizeof(mcp_backend_msg_t));
    msg->kind = MCP_BACKEND_RESULT;
    msg->body = req->cached;

    return 1;
}
