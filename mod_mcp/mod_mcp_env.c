/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The environment of a backend's own request.
 *
 * ap_add_common_vars() writes into the environment if that is empty.  If not,
 * it makes a table of its own, and merges the two by sorting both, which takes
 * longer than all the rest of what it does.  So our variables are put aside
 * before.  If it is mod_proxy_fcgi that calls the function, they are added by
 * the hook that this calls to learn the scheme.
 *
 * This is done only if each name is there once, and is such that the function
 * neither reads it nor has a variable of that name itself: then the order alone
 * is another.
 */

#include "mod_mcp_env.h"

#include "mod_mcp_fetch.h"
#include "mod_mcp_proxy.h"
#include "mod_mcp_snapshot.h"

/* More than a request usually gets. */
#define VARIABLES  48

/* So many variables may be there besides our own: each is compared with all
 * others. */
#define OTHERS     8

/* Has proxies pass no interim responses on: no client is there to get one. */
static const char interim[] = "proxy-interim-response";

static int first;                       /* our hook is called, whatever others
                                         * do */

/* Tables ignore the case of names. */
static int begins(const char *name, const char *with)
{
    return ap_cstr_casecmpn(name, with, strlen(with)) == 0;
}

/* As mod_mcp_note_env() writes them. */
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

/* The first own variables are ours. */
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

void mod_mcp_env_make(mod_mcp_run_t *run, request_rec *r)
{
    const apr_table_t *more = run->snapshot->env;

    run->own = apr_table_elts(run->env)->nelts;

    r->subprocess_env = apr_is_empty_table(more)
                            ? run->env
                            : apr_table_overlay(r->pool, run->env, more);

    apr_table_setn(r->subprocess_env, interim, "Suppress");
}

int mod_mcp_env_is_told(const char *url)
{
    return first && ap_cstr_casecmpn(url, "fcgi:", 5) == 0;
}

void mod_mcp_env_hide(mod_mcp_run_t *run, request_rec *r, int told)
{
    if (!may_hide(r->subprocess_env, run->own)) {
        return;
    }

    run->hidden = r->subprocess_env;
    r->subprocess_env = apr_table_make(r->pool, VARIABLES);
    run->shown = r->subprocess_env;
    run->told = (told != 0);
}

void mod_mcp_env_show(mod_mcp_run_t *run)
{
    const apr_array_header_t *array;
    const apr_table_entry_t *entry;
    int i;

    if (run->hidden == NULL) {
        return;
    }

    array = apr_table_elts(run->hidden);
    entry = (const apr_table_entry_t *)array->elts;
    run->hidden = NULL;

    for (i = 0; i < array->nelts; i++) {
        apr_table_addn(run->shown, entry[i].key, entry[i].val);
    }
}

static const char *http_scheme(const request_rec *r)
{
    mod_mcp_run_t *run = mod_mcp_fetch_current(r->connection);

    if (run) {
        mod_mcp_proxy_renew(run);
    }

    if (run && run->told && run->shown == r->subprocess_env) {
        mod_mcp_env_show(run);
    }

    return NULL;
}

void mod_mcp_env_register(void)
{
    ap_hook_http_scheme(http_scheme, NULL, NULL, APR_HOOK_REALLY_FIRST);
}

/* A module that answers before us would keep our hook from being called. */
void mod_mcp_env_init(void)
{
    const apr_array_header_t *hooks = ap_hook_get_http_scheme();

    first = hooks && hooks->nelts
            && APR_ARRAY_IDX(hooks, 0, ap_LINK_http_scheme_t).pFunc
                   == http_scheme;
}
