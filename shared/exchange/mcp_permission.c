/* SPDX-License-Identifier: Apache-2.0 */

#include "exchange/mcp_permission.h"
#include "config/mcp_auth_internal.h"
#include "config/mcp_catalog.h"
#include "config/mcp_item_access.h"
#include "worker/mcp_respond.h"


#define MCP_PERMISSION_NAME  128       /* maximum length of a name in the log */


/* Evaluates an expression of the configuration for this request: that of
 * mcp_allow rule i or, if i is the number of rules, mcp_granted_scopes. Returns
 * its value, or an empty string if there is no expression or its evaluation
 * fails. */
static mcp_str_t
mcp_permission_evaluate(mcp_exchange_t *x, size_t i, const void *value)
{
    mcp_str_t  text;

    text = mcp_null_str;

    if (x->head.evaluate == NULL || value == NULL
        || x->head.evaluate(x->glue, i, value, &text) != MCP_OK)
    {
        return mcp_null_str;
    }

    return text;
}


/* Returns whether the value of the mcp_allow rule i is true for the caller.
 * Evaluates each rule once per request. Denies if there is no memory. */
static mcp_decision_e
mcp_permission_rule(mcp_exchange_t *x, size_t i)
{
    mcp_str_t  text;

    if (x->decisions == NULL) {
        x->decisions = mcp_arena_calloc(mcp_call_arena(x),
                                        x->endpoint->n_allow);
        if (x->decisions == NULL) {
            return MCP_DECISION_NO;
        }
    }

    if (x->decisions[i] == MCP_DECISION_NONE) {
        text = mcp_permission_evaluate(x, i, x->endpoint->allow[i].value);
        x->decisions[i] = mcp_allow_is_true(text) ? MCP_DECISION_YES
                                                  : MCP_DECISION_NO;
    }

    return x->decisions[i];
}


int
mcp_permission_shows(mcp_exchange_t *x, mcp_list_e kind, mcp_str_t name)
{
    size_t  i, n;

    n = x->endpoint->n_allow;

    if (n == 0) {
        return 1;
    }

    i = mcp_allow_find(x->endpoint->allow, n, kind, name);

    return i < n && mcp_permission_rule(x, i) == MCP_DECISION_YES;
}


void
mcp_permission_decide(mcp_exchange_t *x, mcp_list_e kind)
{
    size_t  i;

    for (i = 0; i < x->endpoint->n_allow; i++) {
        if (x->endpoint->allow[i].kinds & (1u << kind)) {
            (void) mcp_permission_rule(x, i);
        }
    }
}


/* Logs which mcp_allow rule hides the item, or that no rule matches the item.
 * Returns MCP_PERMISSION_UNKNOWN, so that the client gets the same error as for
 * an unknown name. */
static mcp_permission_e
mcp_permission_hidden(mcp_exchange_t *x, mcp_list_e kind, mcp_str_t name)
{
    size_t     i;
    mcp_str_t  rule;

    static const char *const  nouns[MCP_LIST_COUNT] = {
        "tool", "prompt", "resource", "resource template"
    };

    if (!mcp_worker_logs(x->worker, MCP_LOG_INFO)) {
        return MCP_PERMISSION_UNKNOWN;
    }

    i = mcp_allow_find(x->endpoint->allow, x->endpoint->n_allow, kind, name);
    rule = i < x->endpoint->n_allow ? x->endpoint->allow[i].text
                                    : mcp_null_str;

    mcp_worker_log(x->worker, MCP_LOG_INFO,
                   "%s \"%.*s\" is hidden from the caller: %s%.*s%s",
                   nouns[kind],
                   (int) (name.len > MCP_PERMISSION_NAME ? MCP_PERMISSION_NAME
                                                         : name.len),
                   name.data, rule.len ? "the value of mcp_allow \""
                                       : "no mcp_allow matches it",
                   (int) (rule.len > MCP_PERMISSION_NAME ? MCP_PERMISSION_NAME
                                                         : rule.len),
                   rule.len ? rule.data : "",
                   rule.len ? "\" is empty or 0" : "");

    return MCP_PERMISSION_UNKNOWN;
}


/* Returns MCP_PERMISSION_CALL if the caller has all scopes in "needed", the
 * "x-mcp-scope" of an item. Otherwise sets *scope to them and returns
 * MCP_PERMISSION_SCOPE. */
static mcp_permission_e
mcp_permission_scope(mcp_exchange_t *x, mcp_str_t needed, mcp_str_t *scope)
{
    if (needed.len == 0) {
        return MCP_PERMISSION_CALL;
    }

    if (!x->granted_known) {
        x->granted = mcp_permission_evaluate(x, x->endpoint->n_allow,
                                             x->endpoint->granted_scopes);
        x->granted_known = 1;
    }

    if (mcp_scope_has_all(x->granted, needed)) {
        return MCP_PERMISSION_CALL;
    }

    *scope = needed;

    return MCP_PERMISSION_SCOPE;
}


/* Returns the permission for a resource that is not in the catalog itself, but
 * may match templates. The first matching template that is visible to the
 * caller decides. If all matching templates are hidden, the resource is
 * hidden. */
static mcp_permission_e
mcp_permission_template(mcp_exchange_t *x, mcp_str_t uri, mcp_str_t *scope)
{
    uint32_t   i;
    mcp_str_t  text, hidden, needed;

    i = 0;
    hidden = mcp_null_str;

    while (mcp_catalog_template(x->endpoint->catalog, uri, &i, &text, &needed))
    {
        if (mcp_permission_shows(x, MCP_LIST_TEMPLATES, text)) {
            return mcp_permission_shows(x, MCP_LIST_RESOURCES, uri)
                   ? mcp_permission_scope(x, needed, scope)
                   : mcp_permission_hidden(x, MCP_LIST_RESOURCES, uri);
        }

        hidden = text;
    }

    return hidden.len ? mcp_permission_hidden(x, MCP_LIST_TEMPLATES, hidden)
                      : MCP_PERMISSION_UNKNOWN;
}


/* Returns 1 if the catalog has the item, and sets *needed to the scopes that
 * the item requires. A resource that only matches a template does not count. */
static int
mcp_permission_find(const mcp_catalog_t *catalog, mcp_list_e kind,
    mcp_str_t name, mcp_str_t *needed)
{
    if (kind == MCP_LIST_TEMPLATES) {
        return mcp_catalog_has_template(catalog, name, needed);
    }

    *needed = mcp_catalog_scope(catalog, kind, name);

    return mcp_catalog_find(catalog, kind, name).data != NULL;
}


mcp_permission_e
mcp_permission(mcp_exchange_t *x, mcp_list_e kind, mcp_str_t name,
    mcp_str_t *scope)
{
    mcp_str_t             needed;
    const mcp_catalog_t  *catalog;

    catalog = x->endpoint->catalog;
    needed = mcp_null_str;

    if (catalog && !mcp_permission_find(catalog, kind, name, &needed)) {
        return kind == MCP_LIST_RESOURCES
               ? mcp_permission_template(x, name, scope)
               : MCP_PERMISSION_UNKNOWN;
    }

    if (!mcp_permission_shows(x, kind, name)) {
        return mcp_permission_hidden(x, kind, name);
    }

    return mcp_permission_scope(x, needed, scope);
}


mcp_next_e
mcp_permission_refuse(mcp_exchange_t *x, mcp_str_t scope)
{
    mcp_buf_t  buf;
    mcp_str_t  challenge;

    mcp_buf_init(&buf, &x->worker->env->mem, SIZE_MAX / 2);
    mcp_auth_insufficient(x->endpoint->auth, scope, &buf);

    challenge = mcp_arena_take(&x->arena, &buf);

    if (challenge.data == NULL) {
        return MCP_NEXT_ERROR;
    }

    mcp_respond_header(x, mcp_str("WWW-Authenticate"), challenge);

    return mcp_respond_fault(x, MCP_FAULT_SCOPE, x->msg->id, scope);
}
