/* SPDX-License-Identifier: Apache-2.0 */

/* Routing decisions: whether the server responds from configuration and
 * catalog, or a backend does. */

#include "base/mcp_uri.h"
#include "config/mcp_catalog.h"
#include "config/mcp_tenant.h"
#include "exchange/mcp_exchange_internal.h"
#include "exchange/mcp_permission.h"
#include "exchange/mcp_stateless.h"
#include "rpc/mcp_result.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_resume_hooks.h"


/* Maximum length of names and URIs, bytes. Names and URIs become FastCGI
 * parameters and headers. */
#define MCP_NAME_MAX  4096


mcp_routing_e
mcp_routing_fault(mcp_routing_t *v, mcp_fault_e fault, mcp_str_t detail)
{
    v->fault = fault;
    v->detail = detail;

    return MCP_ROUTING_FAULT;
}


/* Returns MCP_ERR_SYNTAX if the parameter is missing, empty, longer than
 * MCP_NAME_MAX, or has control characters: names and URIs become variables,
 * which operators write to headers and logs. */
int
mcp_routing_string(mcp_exchange_t *x, const mcp_json_value_t *value,
    mcp_str_t *out)
{
    if (value->type != MCP_JSON_STRING) {
        return MCP_ERR_SYNTAX;
    }

    if (mcp_json_unescape(mcp_call_arena(x), value->raw, out) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    if (mcp_variable_has_control(*out)) {
        return MCP_ERR_SYNTAX;
    }

    return out->len && out->len <= MCP_NAME_MAX ? MCP_OK : MCP_ERR_SYNTAX;
}


int
mcp_routing_is_objects(const mcp_json_value_t *value)
{
    mcp_json_iter_t   iter;
    mcp_json_value_t  member;

    if (value->type != MCP_JSON_OBJECT) {
        return 0;
    }

    mcp_json_iter_init(&iter, value->raw);

    while (mcp_json_iter_next(&iter, NULL, &member)) {
        if (member.type != MCP_JSON_OBJECT) {
            return 0;
        }
    }

    return 1;
}


/* Checks requestState and inputResponses, which a client sends with its answers
 * to questions (2026-07-28, basic/patterns/mrtr). Returns MCP_ROUTING_CALL, or
 * MCP_ROUTING_FAULT if one of them has the wrong JSON type or the method does
 * not accept them. */
static mcp_routing_e
mcp_routing_input(const mcp_rpc_t *msg, mcp_routing_t *v)
{
    int  responses, state;

    responses = msg->input_responses.type != MCP_JSON_NONE;
    state = msg->request_state.type != MCP_JSON_NONE;

    if ((responses || state) && !v->method->takes_input) {
        return mcp_routing_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("\"inputResponses\" and "
                                         "\"requestState\" are not allowed "
                                         "for this method"));
    }

    if (responses && !mcp_routing_is_objects(&msg->input_responses)) {
        return mcp_routing_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("\"inputResponses\" must be an "
                                         "object of objects"));
    }

    if (state && msg->request_state.type != MCP_JSON_STRING) {
        return mcp_routing_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("\"requestState\" must be a "
                                         "string"));
    }

    return MCP_ROUTING_CALL;
}


/* Decides that a backend is called, and selects the backend by mcp_route or
 * mcp_backend. Without a backend the request fails. */
static mcp_routing_e
mcp_routing_call(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_routing_t *v)
{
    /* a client with a session must not send these parameters, because this
     * server itself adds them to later backend requests of such a client's call
     * (mcp_input.c) */

    if (!mcp_client_is_stateless(&x->client)
        && (msg->request_state.type != MCP_JSON_NONE
            || msg->input_responses.type != MCP_JSON_NONE))
    {
        return mcp_routing_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("\"requestState\" and "
                                         "\"inputResponses\" are not allowed "
                                         "in this revision"));
    }

    if (mcp_routing_input(msg, v) != MCP_ROUTING_CALL) {
        return MCP_ROUTING_FAULT;
    }

    v->target = mcp_endpoint_route(x->endpoint, v->name);

    if (v->target == MCP_NO_TARGET) {
        mcp_worker_log(x->worker, MCP_LOG_ERROR,
                     "no backend for %.*s of \"%.*s\": no mcp_route matches "
                     "and mcp_backend is not set",
                     (int) v->method->name.len, v->method->name.data,
                     (int) (v->name.len > 128 ? 128 : v->name.len),
                     v->name.data ? v->name.data : "");

        if (x->endpoint->debug) {
            v->data = mcp_str("{\"reason\":\"no mcp_route matches and "
                              "mcp_backend is not set\"}");
        }

        return mcp_routing_fault(v, MCP_FAULT_NO_BACKEND, mcp_null_str);
    }

    return MCP_ROUTING_CALL;
}


static int
mcp_routing_shows(void *ctx, mcp_list_e kind, mcp_str_t key)
{
    return mcp_permission_shows(ctx, kind, key);
}


/* Decides about a list request: this server responds to it if there is a
 * catalog, otherwise the backend. The method is unknown if the endpoint does
 * not offer the list. */
static mcp_routing_e
mcp_routing_list(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_routing_t *v,
    mcp_buf_t *out)
{
    int                 rc;
    mcp_str_t           cursor;
    mcp_list_e          kind;
    mcp_catalog_view_t  view;

    kind = (mcp_list_e) v->method->list_kind;

    if (!mcp_endpoint_offers(x->endpoint, kind)) {

        /* the capability "resources" announces both lists: if the catalog has
         * only one of resources and templates, the other list is empty rather
         * than unknown */

        if (x->endpoint->catalog == NULL
            || (kind != MCP_LIST_RESOURCES && kind != MCP_LIST_TEMPLATES)
            || (!mcp_endpoint_offers(x->endpoint, MCP_LIST_RESOURCES)
                && !mcp_endpoint_offers(x->endpoint, MCP_LIST_TEMPLATES)))
        {
            return mcp_routing_fault(v, MCP_FAULT_METHOD_UNKNOWN,
                                     v->method->name);
        }
    }

    if (x->endpoint->catalog == NULL) {
        mcp_permission_decide(x, kind);
        return mcp_routing_call(x, msg, v);
    }

    cursor = mcp_null_str;

    if (msg->cursor.type != MCP_JSON_NONE) {
        if (mcp_routing_string(x, &msg->cursor, &cursor) != MCP_OK) {
            return mcp_routing_fault(v, MCP_FAULT_CURSOR, mcp_null_str);
        }
    }

    view.shows = mcp_routing_shows;
    view.ctx = x;

    rc = mcp_catalog_list(x->endpoint->catalog, kind,
                          mcp_revision_filter(x->client.revision), cursor,
                          x->endpoint->page_size,
                          x->endpoint->n_allow ? &view : NULL, out);

    if (rc == MCP_ERR_NOT_FOUND) {
        return mcp_routing_fault(v, MCP_FAULT_CURSOR, mcp_null_str);
    }

    return MCP_ROUTING_LOCAL;
}


/* Returns 1 if the catalog requires that calls of the tool are tasks, but the
 * client does not support tasks. */
static int
mcp_routing_lacks_tasks(const mcp_exchange_t *x, const mcp_routing_t *v)
{
    mcp_policy_t          policy;
    const mcp_catalog_t  *catalog;

    catalog = x->endpoint->catalog;

    if ((x->client.capabilities & MCP_CLIENT_TASKS) || catalog == NULL
        || !mcp_catalog_info(catalog)->tasks)
    {
        return 0;
    }

    mcp_endpoint_policy(x->endpoint, v->method->name, v->name, &policy);

    return policy.task == MCP_TASK_REQUIRED;
}


/* Decides on a tools/call of a revision without sessions. "arguments" is an
 * object or missing; mcp_routing_named() has checked this. */
static mcp_routing_e
mcp_routing_tool(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_routing_t *v)
{
    mcp_str_t  detail;

    if (mcp_routing_lacks_tasks(x, v)) {
        v->data = mcp_str(MCP_CLIENT_TASKS_REQUIRED);
        return mcp_routing_fault(v, MCP_FAULT_CAPABILITY, mcp_null_str);
    }

    switch (mcp_exchange_param_check(x, v->name, &msg->arguments, &detail)) {

    case MCP_OK:
        return mcp_routing_call(x, msg, v);

    case MCP_ERR_SYNTAX:
        return mcp_routing_fault(v, MCP_FAULT_HEADER, detail);

    default:
        return mcp_routing_fault(v, MCP_FAULT_INTERNAL, mcp_null_str);
    }
}


/* Decides about tools/call and prompts/get: the endpoint must offer the
 * list, the caller must see the item and have its scopes, and "arguments"
 * must be an object. */
static mcp_routing_e
mcp_routing_named(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_routing_t *v,
    mcp_list_e kind, mcp_fault_e unknown)
{
    mcp_str_t  scope;

    if (!mcp_endpoint_offers(x->endpoint, kind)) {
        return mcp_routing_fault(v, MCP_FAULT_METHOD_UNKNOWN,
                                 v->method->name);
    }

    if (mcp_routing_string(x, &msg->name, &v->name) != MCP_OK) {
        return mcp_routing_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("\"name\" must be a string"));
    }

    switch (mcp_permission(x, kind, v->name, &scope)) {

    case MCP_PERMISSION_UNKNOWN:
        return mcp_routing_fault(v, unknown, v->name);

    case MCP_PERMISSION_SCOPE:
        return mcp_routing_fault(v, MCP_FAULT_SCOPE, scope);

    case MCP_PERMISSION_CALL:
        break;
    }

    if (msg->arguments.type != MCP_JSON_NONE
        && msg->arguments.type != MCP_JSON_OBJECT)
    {
        return mcp_routing_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("\"arguments\" must be an object"));
    }

    return kind == MCP_LIST_TOOLS && mcp_client_is_stateless(&x->client)
           ? mcp_routing_tool(x, msg, v) : mcp_routing_call(x, msg, v);
}


static mcp_routing_e
mcp_routing_no_resource(mcp_exchange_t *x, mcp_routing_t *v)
{
    mcp_buf_t  data;

    /* the error contains the URI (2026-07-28, server/resources, "Error
     * Handling") */

    if (mcp_client_is_stateless(&x->client)) {
        mcp_buf_init(&data, &x->worker->env->mem, SIZE_MAX / 2);
        mcp_buf_lit(&data, "{\"uri\":");
        mcp_buf_json(&data, v->raw_uri.len ? v->raw_uri : v->name);
        mcp_buf_lit(&data, "}");
        v->data = mcp_arena_take(&x->arena, &data);
    }

    return mcp_routing_fault(v, MCP_FAULT_RESOURCE_UNKNOWN,
                             v->raw_uri.len ? v->raw_uri : v->name);
}


/* Decides about resources/read, resources/subscribe and
 * resources/unsubscribe: the caller must see the resource and have its
 * scopes. */
static mcp_routing_e
mcp_routing_resource(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_routing_t *v)
{
    mcp_str_t  scope;

    if (!mcp_endpoint_offers(x->endpoint, MCP_LIST_RESOURCES)
        && !mcp_endpoint_offers(x->endpoint, MCP_LIST_TEMPLATES))
    {
        return mcp_routing_fault(v, MCP_FAULT_METHOD_UNKNOWN,
                                 v->method->name);
    }

    if (mcp_routing_string(x, &msg->uri, &v->raw_uri) != MCP_OK) {
        return mcp_routing_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("\"uri\" must be a string"));
    }

    if (mcp_uri_normal(mcp_call_arena(x), v->raw_uri, &v->name) != MCP_OK) {
        return mcp_routing_fault(v, MCP_FAULT_INTERNAL, mcp_null_str);
    }

    switch (mcp_permission(x, MCP_LIST_RESOURCES, v->name, &scope)) {

    case MCP_PERMISSION_UNKNOWN:
        return mcp_routing_no_resource(x, v);

    case MCP_PERMISSION_SCOPE:
        return mcp_routing_fault(v, MCP_FAULT_SCOPE, scope);

    case MCP_PERMISSION_CALL:
        break;
    }

    /* for resources of the catalog, this server itself handles
     * resources/subscribe and resources/unsubscribe: the call gets no target,
     * so no backend is called */

    if (v->method->id != MCP_METHOD_RESOURCES_READ
        && x->endpoint->catalog != NULL)
    {
        return MCP_ROUTING_CALL;
    }

    return mcp_routing_call(x, msg, v);
}


/* Reads the member "ref" of a completion request: sets *kind, and *name to the
 * name of the prompt, the URI of the resource, or the text of the template.
 * Returns MCP_OK, or an error of mcp_routing_string(). */
static int
mcp_routing_reference(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_str_t *name,
    mcp_list_e *kind)
{
    char       *text;
    mcp_str_t   type;

    if (mcp_routing_string(x, &msg->ref_type, &type) != MCP_OK) {
        return MCP_ERR_SYNTAX;
    }

    if (mcp_str_eq(type, mcp_str("ref/prompt"))) {
        *kind = MCP_LIST_PROMPTS;
        return mcp_routing_string(x, &msg->ref_name, name);
    }

    if (!mcp_str_eq(type, mcp_str("ref/resource"))) {
        return MCP_ERR_SYNTAX;
    }

    /* "uri" is the text of a template or a URI: mcp_routing_completes() finds
     * out which */

    *kind = MCP_LIST_TEMPLATES;

    if (mcp_routing_string(x, &msg->ref_uri, name) != MCP_OK) {
        return MCP_ERR_SYNTAX;
    }

    text = mcp_arena_alloc(mcp_call_arena(x), mcp_uri_max(name->len));
    if (text == NULL) {
        return MCP_ERR_SYNTAX;
    }

    name->len = mcp_uri_write(text, *name, 1);
    name->data = text;

    return MCP_OK;
}


/*
 * Returns MCP_ROUTING_CALL if arguments of the item may be completed. A name
 * that the catalog does not have is passed to the backend, with two exceptions:
 * a prompt in a revision without sessions, which requires an error for it; and
 * any name at an endpoint with mcp_allow rules, because the backend's response
 * could reveal which names are hidden.
 */
static mcp_routing_e
mcp_routing_completes(mcp_exchange_t *x, mcp_routing_t *v, mcp_list_e kind)
{
    mcp_str_t         scope, needed;
    mcp_permission_e  permission;

    if (kind == MCP_LIST_TEMPLATES && x->endpoint->catalog
        && !mcp_catalog_has_template(x->endpoint->catalog, v->name, &needed))
    {
        kind = MCP_LIST_RESOURCES;
    }

    permission = mcp_permission(x, kind, v->name, &scope);

    if (permission == MCP_PERMISSION_SCOPE) {
        return mcp_routing_fault(v, MCP_FAULT_SCOPE, scope);
    }

    if (permission == MCP_PERMISSION_CALL) {
        return MCP_ROUTING_CALL;
    }

    /* revisions without sessions require an error for an unknown prompt
     * (2026-07-28, server/utilities/completion, "Error Handling") */

    if (kind == MCP_LIST_PROMPTS) {
        return mcp_client_is_stateless(&x->client) || x->endpoint->n_allow
               ? mcp_routing_fault(v, MCP_FAULT_PROMPT_UNKNOWN, v->name)
               : MCP_ROUTING_CALL;
    }

    return x->endpoint->n_allow ? mcp_routing_no_resource(x, v)
                                : MCP_ROUTING_CALL;
}


static mcp_routing_e
mcp_routing_completion(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_routing_t *v)
{
    mcp_list_e  kind;

    if (!mcp_endpoint_completes(x->endpoint)) {
        return mcp_routing_fault(v, MCP_FAULT_METHOD_UNKNOWN,
                                 v->method->name);
    }

    if (mcp_routing_reference(x, msg, &v->name, &kind) != MCP_OK) {
        return mcp_routing_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("\"ref\" must name a prompt or a "
                                         "resource"));
    }

    return mcp_routing_completes(x, v, kind) == MCP_ROUTING_CALL
           ? mcp_routing_call(x, msg, v) : MCP_ROUTING_FAULT;
}


static mcp_routing_e
mcp_routing_set_level(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_routing_t *v, mcp_buf_t *out)
{
    int              level;
    mcp_str_t        name;
    mcp_broadcast_t  broadcast;
    mcp_tenant_t     tenant;

    level = -1;

    if (mcp_routing_string(x, &msg->level, &name) == MCP_OK) {
        level = mcp_log_level_find(name);
    }

    if (level < 0) {
        return mcp_routing_fault(v, MCP_FAULT_LOG_LEVEL, mcp_null_str);
    }

    mcp_tenant(x->endpoint, x->head.tenant, &tenant);

    switch (mcp_store_value_set(x->worker->store, MCP_VALUE_LOG_LEVEL,
                                x->client.id, (uint32_t) level,
                                x->client.expires, &tenant))
    {
    case MCP_OK:
        mcp_broadcast_make(&broadcast, MCP_BROADCAST_LOG_LEVEL, x->client.id,
                           x->client.id, (uint32_t) level, x->client.expires);
        mcp_operation_broadcast(x->worker, &broadcast);

        mcp_buf_lit(out, "{}");
        return MCP_ROUTING_LOCAL;

    case MCP_ERR_LIMIT:
        return mcp_routing_fault(v, MCP_FAULT_TOO_MANY_VALUES, mcp_null_str);

    default:
        return mcp_routing_fault(v, MCP_FAULT_STORE_FULL, mcp_null_str);
    }
}


/* Decides on a request whose JSON-RPC method belongs to a resumption method. A
 * client that has not declared this resumption method gets the fault for an
 * unknown method. */
static mcp_routing_e
mcp_routing_resume(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_routing_t *v,
    mcp_buf_t *out)
{
    mcp_fault_e                 fault;
    const mcp_resume_method_t  *resumption;

    resumption = mcp_hook_find(x, v->method);

    if (resumption == NULL) {
        return mcp_routing_fault(v, MCP_FAULT_METHOD_UNKNOWN, msg->method);
    }

    if (v->method->opens) {
        return mcp_routing_fault(v, MCP_FAULT_RESUME_BATCH, mcp_null_str);
    }

    fault = resumption->respond(x, msg, v->method->id, out);

    if (fault != MCP_FAULT_NONE) {
        return mcp_routing_fault(v, fault, mcp_null_str);
    }

    return MCP_ROUTING_LOCAL;
}


int
mcp_routing_may_call(const mcp_exchange_t *x, const mcp_method_t *method)
{
    switch (method->id) {

    case MCP_METHOD_TOOLS_CALL:
    case MCP_METHOD_PROMPTS_GET:
    case MCP_METHOD_RESOURCES_READ:
    case MCP_METHOD_RESOURCES_SUBSCRIBE:
    case MCP_METHOD_RESOURCES_UNSUBSCRIBE:
    case MCP_METHOD_COMPLETION_COMPLETE:
        return 1;

    default:
        return method->list_kind != MCP_METHOD_NO_LIST
               && x->endpoint->catalog == NULL;
    }
}


/* Decides on a request other than initialize. If the decision is
 * MCP_ROUTING_LOCAL, the result was appended to out. */
mcp_routing_e
mcp_routing_decide(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_routing_t *v, mcp_buf_t *out)
{
    memset(v, 0, sizeof(mcp_routing_t));

    v->method = msg->row;
    v->target = MCP_NO_TARGET;

    /* without a session, mcp_stateless_enter() has checked the method */

    if (!v->method->session && !mcp_client_is_stateless(&x->client)) {
        return mcp_routing_fault(v, MCP_FAULT_METHOD_UNKNOWN, msg->method);
    }

    if (v->method->list_kind != MCP_METHOD_NO_LIST) {
        return mcp_routing_list(x, msg, v, out);
    }

    if (v->method->capability) {
        return mcp_routing_resume(x, msg, v, out);
    }

    switch (v->method->id) {

    case MCP_METHOD_SERVER_DISCOVER:
        mcp_stateless_discover(x, out);
        return MCP_ROUTING_LOCAL;

    case MCP_METHOD_PING:
        mcp_buf_lit(out, "{}");
        return MCP_ROUTING_LOCAL;

    case MCP_METHOD_TOOLS_CALL:
        return mcp_routing_named(x, msg, v, MCP_LIST_TOOLS,
                                 MCP_FAULT_TOOL_UNKNOWN);

    case MCP_METHOD_PROMPTS_GET:
        return mcp_routing_named(x, msg, v, MCP_LIST_PROMPTS,
                                 MCP_FAULT_PROMPT_UNKNOWN);

    case MCP_METHOD_RESOURCES_READ:
    case MCP_METHOD_RESOURCES_SUBSCRIBE:
    case MCP_METHOD_RESOURCES_UNSUBSCRIBE:
        return mcp_routing_resource(x, msg, v);

    case MCP_METHOD_COMPLETION_COMPLETE:
        return mcp_routing_completion(x, msg, v);

    case MCP_METHOD_LOGGING_SET_LEVEL:
        return mcp_routing_set_level(x, msg, v, out);

    case MCP_METHOD_INITIALIZE:
        /* initialize must not be part of a batch (2025-03-26, lifecycle) */
        return mcp_routing_fault(v, MCP_FAULT_INVALID_REQUEST,
                                 mcp_str("\"initialize\" in a batch"));

    default:
        return mcp_routing_fault(v, MCP_FAULT_METHOD_UNKNOWN, msg->method);
    }
}
