/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The environment of a backend's internal request.
 *
 * ap_add_common_vars() writes into the environment if it is empty.  Otherwise
 * it creates a table and merges both by sorting, which takes longer than the
 * rest of the function.  So this module's variables are hidden before the
 * call.  If mod_proxy_fcgi calls ap_add_common_vars(), the hook http_scheme,
 * which ap_add_common_vars() calls, appends the hidden variables again.
 *
 * The variables are hidden only if each name occurs once, and if
 * ap_add_common_vars() neither reads nor sets a variable of that name.  Then
 * only the order of the variables differs.
 */

#include "mod_mcp_env.h"

#include "mod_mcp_fetch.h"
#include "mod_mcp_proxy.h"
#include "mod_mcp_snapshot.h"

/* number of variables for which a table has room at first: more than a request
 * usually has */
#define VARIABLES  48

/*
 * maximum number of variables besides the module's own, because each is
 * compared with all others
 */
#define OTHERS     8

/*
 * The name of a variable that keeps proxies from passing on interim responses,
 * because no client would get them.
 */
static const char interim[] = "proxy-interim-response";

static int first;                       /* 1 if this module's http_scheme
                                           hook runs first, and so always
                                           runs */

/* Returns 1 if "name" begins with the text "with", ignoring case. */
static int begins(const char *name, const char *with)
{
    return ap_cstr_casecmpn(name, with, strlen(with)) == 0;
}

/* Returns 1 for a name that mod_mcp_note_env() has written. */
static int is_ours(const char *name)
{
    return name[0] == 'M' && name[1] == 'C' && name[2] == 'P' && name[3] == '_';
}

static int is_known(const char *name)
{
    static const char *const known[] = {
        interim, "mcp-log", "HTTPS", "SSL_", "UNIQUE_ID",
        "OIDC_", "OAUTH2_"
    };
    apr_size_t i;

    if (name == interim) {
        return 1;
    }

    for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (begins(name, known[i])) {
            return 1;
        }
    }

    return 0;
}

static int has(const char **names, int n, const char *name)
{
    while (n--) {
        if (ap_cstr_casecmp(names[n], name) == 0) {
            return 1;
        }
    }

    return 0;
}

/*
 * Returns 1 if hiding the variables changes only their order.  This module's
 * variables are among the first "own" ones.
 */
static int may_hide(const apr_table_t *env, int own)
{
    const apr_array_header_t *array = apr_table_elts(env);
    const apr_table_entry_t *entry = (const apr_table_entry_t *)array->elts;
    const char *others[OTHERS];
    int i, n = 0;

    for (i = 0; i < array->nelts; i++, entry++) {
        if (i < own && is_ours(entry->key)) {
            continue;
        }

        if (n == OTHERS || !is_known(entry->key)
            || has(others, n, entry->key)) {
            return 0;
        }

        others[n++] = entry->key;
    }

    return 1;
}

void mod_mcp_env_make(mod_mcp_backend_request_t *req, request_rec *r)
{
    const apr_table_t *more = req->snapshot->env;

    req->own = apr_table_elts(req->env)->nelts;

    r->subprocess_env = apr_is_empty_table(more)
                            ? req->env
                            : apr_table_overlay(r->pool, req->env, more);

    apr_table_setn(r->subprocess_env, interim, "Suppress");
}

int mod_mcp_env_is_revealed(const char *url)
{
    return first && ap_cstr_casecmpn(url, "fcgi:", 5) == 0;
}

void mod_mcp_env_hide(mod_mcp_backend_request_t *req, request_rec *r)
{
    if (!may_hide(r->subprocess_env, req->own)) {
        return;
    }

    req->hidden = r->subprocess_env;
    r->subprocess_env = apr_table_make(r->pool, VARIABLES);
    req->shown = r->subprocess_env;
}

void mod_mcp_env_show(mod_mcp_backend_request_t *req)
{
    const apr_array_header_t *array;
    const apr_table_entry_t *entry;
    int i;

    if (req->hidden == NULL) {
        return;
    }

    array = apr_table_elts(req->hidden);
    entry = (const apr_table_entry_t *)array->elts;
    req->hidden = NULL;

    for (i = 0; i < array->nelts; i++) {
        apr_table_addn(req->shown, entry[i].key, entry[i].val);
    }
}

static const char *env_http_scheme(const request_rec *r)
{
    mod_mcp_backend_request_t *req = mod_mcp_fetch_current(r->connection);

    if (req) {
        mod_mcp_proxy_renew(req);
    }

    if (req && req->shown == r->subprocess_env) {
        mod_mcp_env_show(req);
    }

    return NULL;
}

void mod_mcp_env_register(void)
{
    ap_hook_http_scheme(env_http_scheme, NULL, NULL, APR_HOOK_REALLY_FIRST);
}

/*
 * Checks whether this module's hook http_scheme is the first one.  If another
 * hook ran first and returned a scheme, this module's hook would not be
 * called.
 */
void mod_mcp_env_init(void)
{
    const apr_array_header_t *hooks = ap_hook_get_http_scheme();

    first = hooks && hooks->nelts
            && APR_ARRAY_IDX(hooks, 0, ap_LINK_http_scheme_t).pFunc
                   == env_http_scheme;
}
