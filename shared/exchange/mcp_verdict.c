/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Who answers a request: we, from configuration and catalog, or a backend.
 */

#include "call/mcp_cancel.h"
#include "config/mcp_catalog.h"
#include "config/mcp_party.h"
#include "exchange/mcp_exchange_param.h"
#include "exchange/mcp_exchange_parts.h"
#include "exchange/mcp_permission.h"
#include "exchange/mcp_stateless.h"
#include "rpc/mcp_omit.h"
#include "worker/mcp_ask.h"
#include "worker/mcp_hook.h"


/* Longer names and URIs are refused: they become FastCGI parameters and
 * headers. */
#define MCP_NAME_MAX  4096


mcp_verdict_e
mcp_verdict_fault(mcp_verdict_t *v, mcp_fault_e fault, mcp_str_t detail)
{
    v->fault = fault;
    v->detail = detail;

    return MCP_VERDICT_FAULT;
}


/*
 * A string parameter that must be there; MCP_ERR_SYNTAX if it is not, or if
 * control characters are in it: names and URIs become variables, which
 * operators put into headers and logs.
 */
int
mcp_verdict_string(mcp_exchange_t *x, const mcp_json_value_t *value,
    mcp_str_t *out)
{
    if (value->type != MCP_JSON_STRING) {
        return MCP_ERR_SYNTAX;
    }

    if (mcp_json_unescape(mcp_call_arena(x), value->raw, out) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    if (mcp_fact_has_control(*out)) {
        return MCP_ERR_SYNTAX;
    }

    return out->len && out->len <= MCP_NAME_MAX ? MCP_OK : MCP_ERR_SYNTAX;
}


int
mcp_verdict_is_objects(const mcp_json_value_t *value)
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


/* What a client answers to questions of the round before (2026-07-28,
 * basic/patterns/mrtr). */
static mcp_verdict_e
mcp_verdict_input(const mcp_rpc_t *msg, mcp_verdict_t *v)
{
    int  responses, state;

    responses = msg->input_responses.type != MCP_JSON_NONE;
    state = msg->request_state.type != MCP_JSON_NONE;

    if ((responses || state) && !v->method->asks) {
        return mcp_verdict_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("this method asks for no input"));
    }

    if (responses && !mcp_verdict_is_objects(&msg->input_responses)) {
        return mcp_verdict_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("\"inputResponses\" must be an "
                                         "object of objects"));
    }

    if (state && msg->request_state.type != MCP_JSON_STRING) {
        return mcp_verdict_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("\"requestState\" must be a "
                                         "string"));
    }

    return MCP_VERDICT_CALL;
}


static mcp_verdict_e
mcp_verdict_call(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_verdict_t *v)
{
    /*
     * These parameters are ours to give to a backend (mcp_input.c); a client
     * of revisions with sessions has no business to forge them.
     */

    if (!mcp_client_is_stateless(&x->client)
        && (msg->request_state.type != MCP_JSON_NONE
            || msg->input_responses.type != MCP_JSON_NONE))
    {
        return mcp_verdict_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("requestState and inputResponses "
                                         "are not of this revision"));
    }

    if (mcp_verdict_input(msg, v) != MCP_VERDICT_CALL) {
        return MCP_VERDICT_FAULT;
    }

    v->target = mcp_endpoint_route(x->endpoint, v->name);

    if (v->target == MCP_NO_TARGET) {
        mcp_worker_log(x->worker, MCP_LOG_ERROR,
                     "%.*s of \"%.*s\" has no backend: no route matches, and "
                     "there is none for all",
                     (int) v->method->name.len, v->method->name.data,
                     (int) (v->name.len > 128 ? 128 : v->name.len),
                     v->name.data ? v->name.data : "");

        if (x->endpoint->debug) {
            v->data = mcp_str("{\"reason\":\"no route matches, and there is "
                              "none for all\"}");
        }

        return mcp_verdict_fault(v, MCP_FAULT_NO_BACKEND, mcp_null_str);
    }

    return MCP_VERDICT_CALL;
}


static int
mcp_verdict_shows(void *ctx, mcp_list_e kind, mcp_str_t key)
{
    return mcp_permission_shows(ctx, kind, key);
}


static mcp_verdict_e
mcp_verdict_list(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_verdict_t *v,
    mcp_buf_t *out)
{
    int                 rc;
    mcp_str_t           cursor;
    mcp_list_e          kind;
    mcp_catalog_view_t  view;

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
        mcp_permission_decide(x, kind);
        return mcp_verdict_call(x, msg, v);
    }

    cursor = mcp_null_str;

    if (msg->cursor.type != MCP_JSON_NONE) {
        if (mcp_verdict_string(x, &msg->cursor, &cursor) != MCP_OK) {
            return mcp_verdict_fault(v, MCP_FAULT_CURSOR, mcp_null_str);
        }
    }

    view.shows = mcp_verdict_shows;
    view.ctx = x;

    rc = mcp_catalog_list_shown(x->endpoint->catalog, kind,
                                mcp_omit(x->client.revision), cursor,
                                x->endpoint->page_size,
                                x->endpoint->n_allow ? &view : NULL, out);

    if (rc == MCP_ERR_NOT_FOUND) {
        return mcp_verdict_fault(v, MCP_FAULT_CURSOR, mcp_null_str);
    }

    return MCP_VERDICT_LOCAL;
}


/* Whether calls of the tool are tasks only, of which the client does not know:
 * only a catalog can say so. */
static int
mcp_verdict_lacks_tasks(const mcp_exchange_t *x, const mcp_verdict_t *v)
{
    mcp_policy_t          policy;
    const mcp_catalog_t  *catalog;

    catalog = x->endpoint->catalog;

    if ((x->client.capabilities & MCP_CLIENT_TASKS) || catalog == NULL
        || !mcp_catalog_tasks(catalog))
    {
        return 0;
    }

    mcp_endpoint_policy(x->endpoint, v->method->name, v->name, &policy);

    return policy.task == MCP_TASK_REQUIRED;
}


/* A tool's headers are looked at last, when its arguments are known to be
 * some. */
static mcp_verdict_e
mcp_verdict_tool(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_verdict_t *v)
{
    mcp_str_t  detail;

    if (mcp_verdict_lacks_tasks(x, v)) {
        v->data = mcp_str(MCP_CLIENT_TASKS_REQUIRED);
        return mcp_verdict_fault(v, MCP_FAULT_CAPABILITY, mcp_null_str);
    }

    switch (mcp_exchange_param_check(x, v->name, &msg->arguments, &detail)) {

    case MCP_OK:
        return mcp_verdict_call(x, msg, v);

    case MCP_ERR_SYNTAX:
        return mcp_verdict_fault(v, MCP_FAULT_HEADER, detail);

    default:
        return mcp_verdict_fault(v, MCP_FAULT_INTERNAL, mcp_null_str);
    }
}


static mcp_verdict_e
mcp_verdict_named(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_verdict_t *v,
    mcp_list_e kind, mcp_fault_e unknown)
{
    mcp_str_t  scope;

    if (!mcp_endpoint_offers(x->endpoint, kind)) {
        return mcp_verdict_fault(v, MCP_FAULT_METHOD_UNKNOWN,
                                 v->method->name);
    }

    if (mcp_verdict_string(x, &msg->name, &v->name) != MCP_OK) {
        return mcp_verdict_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("\"name\" must be a string"));
    }

    switch (mcp_permission(x, kind, v->name, &scope)) {

    case MCP_PERMISSION_UNKNOWN:
        return mcp_verdict_fault(v, unknown, v->name);

    case MCP_PERMISSION_SCOPE:
        return mcp_verdict_fault(v, MCP_FAULT_SCOPE, scope);

    case MCP_PERMISSION_CALL:
        break;
    }

    if (msg->arguments.type != MCP_JSON_NONE
        && msg->arguments.type != MCP_JSON_OBJECT)
    {
        return mcp_verdict_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("\"arguments\" must be an object"));
    }

    return kind == MCP_LIST_TOOLS && mcp_client_is_stateless(&x->client)
           ? mcp_verdict_tool(x, msg, v) : mcp_verdict_call(x, msg, v);
}


static mcp_verdict_e
mcp_verdict_no_resource(mcp_exchange_t *x, mcp_verdict_t *v)
{
    mcp_buf_t  data;

    /* 2026-07-28, server/resources, "Error Handling" */

    if (mcp_client_is_stateless(&x->client)) {
        mcp_buf_init(&data, &x->worker->env->mem, SIZE_MAX / 2);
        mcp_buf_lit(&data, "{\"uri\":");
        mcp_buf_json(&data, v->name);
        mcp_buf_lit(&data, "}");

        if (data.failed == MCP_OK) {
            v->data = mcp_arena_dup(&x->arena,
                                    (mcp_str_t) { data.data, data.len });
        }

        mcp_buf_free(&data);
    }

    return mcp_verdict_fault(v, MCP_FAULT_RESOURCE_UNKNOWN, v->name);
}


static mcp_verdict_e
mcp_verdict_resource(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_verdict_t *v)
{
    mcp_str_t  scope;

    if (!mcp_endpoint_offers(x->endpoint, MCP_LIST_RESOURCES)
        && !mcp_endpoint_offers(x->endpoint, MCP_LIST_TEMPLATES))
    {
        return mcp_verdict_fault(v, MCP_FAULT_METHOD_UNKNOWN,
                                 v->method->name);
    }

    if (mcp_verdict_string(x, &msg->uri, &v->name) != MCP_OK) {
        return mcp_verdict_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("\"uri\" must be a string"));
    }

    switch (mcp_permission(x, MCP_LIST_RESOURCES, v->name, &scope)) {

    case MCP_PERMISSION_UNKNOWN:
        return mcp_verdict_no_resource(x, v);

    case MCP_PERMISSION_SCOPE:
        return mcp_verdict_fault(v, MCP_FAULT_SCOPE, scope);

    case MCP_PERMISSION_CALL:
        break;
    }

    return mcp_verdict_call(x, msg, v);
}


/* What a completion is about; MCP_OK or MCP_ERR_SYNTAX. */
static int
mcp_verdict_reference(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_str_t *name,
    mcp_list_e *kind)
{
    mcp_str_t  type;

    if (mcp_verdict_string(x, &msg->ref_type, &type) != MCP_OK) {
        return MCP_ERR_SYNTAX;
    }

    if (mcp_str_eq(type, mcp_str("ref/prompt"))) {
        *kind = MCP_LIST_PROMPTS;
        return mcp_verdict_string(x, &msg->ref_name, name);
    }

    if (!mcp_str_eq(type, mcp_str("ref/resource"))) {
        return MCP_ERR_SYNTAX;
    }

    /* the text of a template, or a URI */

    *kind = MCP_LIST_TEMPLATES;

    return mcp_verdict_string(x, &msg->ref_uri, name);
}


/* Whether it may be completed.  Names that the catalog does not have are passed
 * on to the backend, but for prompts of the revisions that forbid it, and where
 * some names are hidden: these would be told from the others. */
static mcp_verdict_e
mcp_verdict_completes(mcp_exchange_t *x, mcp_verdict_t *v, mcp_list_e kind)
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
        return mcp_verdict_fault(v, MCP_FAULT_SCOPE, scope);
    }

    if (permission == MCP_PERMISSION_CALL) {
        return MCP_VERDICT_CALL;
    }

    /* 2026-07-28, server/utilities/completion, "Error Handling" */

    if (kind == MCP_LIST_PROMPTS) {
        return mcp_client_is_stateless(&x->client) || x->endpoint->n_allow
               ? mcp_verdict_fault(v, MCP_FAULT_PROMPT_UNKNOWN, v->name)
               : MCP_VERDICT_CALL;
    }

    return x->endpoint->n_allow ? mcp_verdict_no_resource(x, v)
                                : MCP_VERDICT_CALL;
}


static mcp_verdict_e
mcp_verdict_completion(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_verdict_t *v)
{
    mcp_list_e  kind;

    if (!mcp_endpoint_completes(x->endpoint)) {
        return mcp_verdict_fault(v, MCP_FAULT_METHOD_UNKNOWN,
                                 v->method->name);
    }

    if (mcp_verdict_reference(x, msg, &v->name, &kind) != MCP_OK) {
        return mcp_verdict_fault(v, MCP_FAULT_PARAMS,
                                 mcp_str("\"ref\" names no prompt and no "
                                         "resource"));
    }

    return mcp_verdict_completes(x, v, kind) == MCP_VERDICT_CALL
           ? mcp_verdict_call(x, msg, v) : MCP_VERDICT_FAULT;
}


static mcp_verdict_e
mcp_verdict_set_level(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_verdict_t *v, mcp_buf_t *out)
{
    int          level;
    mcp_str_t    name;
    mcp_word_t   word;
    mcp_party_t  party;

    level = -1;

    if (mcp_verdict_string(x, &msg->level, &name) == MCP_OK) {
        level = mcp_log_level_find(name);
    }

    if (level < 0) {
        return mcp_verdict_fault(v, MCP_FAULT_LOG_LEVEL, mcp_null_str);
    }

    mcp_party(x->endpoint, x->head.party, &party);

    switch (mcp_store_value_set(x->worker->store, MCP_VALUE_LOG_LEVEL,
                                x->client.id, (uint32_t) level,
                                x->client.expires, &party))
    {
    case MCP_OK:
        mcp_word(&word, MCP_WORD_LOG_LEVEL, x->client.id, x->client.id,
                 (uint32_t) level, x->client.expires);
        mcp_ask_nobody(x->worker, &word);

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
mcp_verdict_face(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_verdict_t *v,
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
mcp_verdict_e
mcp_verdict(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_verdict_t *v, mcp_buf_t *out)
{
    memset(v, 0, sizeof(mcp_verdict_t));

    v->method = msg->row;
    v->target = MCP_NO_TARGET;

    /* stateless requests of other methods have not entered */

    if (!v->method->session && !mcp_client_is_stateless(&x->client)) {
        return mcp_verdict_fault(v, MCP_FAULT_METHOD_UNKNOWN, msg->method);
    }

    if (v->method->list_kind != MCP_METHOD_NO_LIST) {
        return mcp_verdict_list(x, msg, v, out);
    }

    if (v->method->capability) {
        return mcp_verdict_face(x, msg, v, out);
    }

    switch (v->method->id) {

    case MCP_METHOD_SERVER_DISCOVER:
        mcp_stateless_discover(x, out);
        return MCP_VERDICT_LOCAL;

    case MCP_METHOD_PING:
        mcp_buf_lit(out, "{}");
        return MCP_VERDICT_LOCAL;

    case MCP_METHOD_TOOLS_CALL:
        return mcp_verdict_named(x, msg, v, MCP_LIST_TOOLS,
                                 MCP_FAULT_TOOL_UNKNOWN);

    case MCP_METHOD_PROMPTS_GET:
        return mcp_verdict_named(x, msg, v, MCP_LIST_PROMPTS,
                                 MCP_FAULT_PROMPT_UNKNOWN);

    case MCP_METHOD_RESOURCES_READ:
    case MCP_METHOD_RESOURCES_SUBSCRIBE:
    case MCP_METHOD_RESOURCES_UNSUBSCRIBE:
        return mcp_verdict_resource(x, msg, v);

    case MCP_METHOD_COMPLETION_COMPLETE:
        return mcp_verdict_completion(x, msg, v);

    case MCP_METHOD_LOGGING_SET_LEVEL:
        return mcp_verdict_set_level(x, msg, v, out);

    case MCP_METHOD_INITIALIZE:
        /* 2025-03-26, lifecycle: not part of a batch */
        return mcp_verdict_fault(v, MCP_FAULT_INVALID_REQUEST,
                                 mcp_str("initialize in a batch"));

    default:
        return mcp_verdict_fault(v, MCP_FAULT_METHOD_UNKNOWN, msg->method);
    }
}
