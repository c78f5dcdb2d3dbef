/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The variables $mcp_*.  Each variable of the core is a variable of nginx, in a
 * client's request and in the internal request of a backend request.  Further
 * variables contain values of request headers, which are available before the
 * body is read.
 */


#include "ngx_http_mcp_variables.h"

#include "ngx_http_mcp_call.h"
#include "ngx_http_mcp_config.h"
#include "ngx_http_mcp_handler.h"
#include "ngx_http_mcp_head.h"
#include "mcp_early_header.h"
#include "mcp_directive.h"
#include "mcp_version.h"


/* Sets a variable; an empty value counts as not found. */
static ngx_int_t
ngx_http_mcp_variable_set(ngx_http_variable_value_t *v, mcp_str_t value)
{
    if (value.len == 0) {
        v->not_found = 1;
        return NGX_OK;
    }

    v->data = (u_char *) value.data;
    v->len = value.len;
    v->valid = 1;
    v->no_cacheable = 0;
    v->not_found = 0;

    return NGX_OK;
}


static ngx_int_t
ngx_http_mcp_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data)
{
    const mcp_variables_t           *variables;
    ngx_http_mcp_ctx_t              *ctx;
    ngx_http_mcp_backend_request_t  *req;

    req = ngx_http_mcp_call_backend_request(r);

    if (req && req->kept) {
        variables = &req->kept->variables;

    } else {
        ctx = ngx_http_mcp_get_ctx(r);
        variables = ctx ? mcp_exchange_variables(ctx->exchange) : NULL;
    }

    /* no copy is needed: an exchange lives as long as its request; values of a
     * backend request live as long as their call, which the internal
     * connection retains */

    return ngx_http_mcp_variable_set(v, variables ? variables->value[data]
                                                  : mcp_null_str);
}


/*
 * Handler of $mcp_arguments.  The core searches the request for the arguments
 * only when this variable is used.
 */
static ngx_int_t
ngx_http_mcp_variable_arguments(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    u_char                          *p;
    size_t                           i;
    mcp_str_t                        text;
    ngx_http_mcp_backend_request_t  *req;

    req = ngx_http_mcp_call_backend_request(r);
    text = req && req->kept ? mcp_backend_request_arguments(req->kept)
                            : mcp_null_str;

    if (text.len == 0) {
        v->not_found = 1;
        return NGX_OK;
    }

    p = ngx_pnalloc(r->pool, text.len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    /* replace control characters by spaces, because in JSON text they can only
     * be white space; replace DEL, which may be in a string, by a question
     * mark */

    for (i = 0; i < text.len; i++) {
        p[i] = (u_char) text.data[i];

        if (p[i] < 0x20) {
            p[i] = ' ';

        } else if (p[i] == 0x7f) {
            p[i] = '?';
        }
    }

    text.data = (char *) p;

    return ngx_http_mcp_variable_set(v, text);
}


static ngx_int_t
ngx_http_mcp_variable_version(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    return ngx_http_mcp_variable_set(v, (mcp_str_t) { mcp_version,
                                                ngx_strlen(mcp_version) });
}


static void *
ngx_http_mcp_variable_alloc(void *pool, size_t size)
{
    return ngx_pnalloc(pool, size);
}


/*
 * Handler of $mcp_header_* and $mcp_param_*; "data" is a pointer to the
 * variable's name.
 */
static ngx_int_t
ngx_http_mcp_variable_header(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    mcp_mem_t                 mem;
    mcp_str_t                 value;
    mcp_head_t                head;
    mcp_early_header_t        early;
    ngx_str_t                *name;
    ngx_http_mcp_loc_conf_t  *mlcf;

    mlcf = ngx_http_get_module_loc_conf(r, ngx_http_mcp_module);

    if (mlcf->zone == NULL) {
        v->not_found = 1;
        return NGX_OK;
    }

    if (ngx_http_mcp_head_lines(r, &head) != NGX_OK) {
        return NGX_ERROR;
    }

    mem.alloc = ngx_http_mcp_variable_alloc;
    mem.free = NULL;
    mem.ctx = r->pool;

    early.mem = &mem;
    early.endpoint = mlcf->endpoint;
    early.headers = head.headers;
    early.n_headers = head.n_headers;

    name = (ngx_str_t *) data;

    if (mcp_early_header(&early, ngx_http_mcp_str(name), &value) != MCP_OK) {
        return NGX_ERROR;
    }

    return ngx_http_mcp_variable_set(v, value);
}


static ngx_http_variable_t  ngx_http_mcp_variables_early_headers[] = {

    { ngx_string("mcp_header_method"), NULL, ngx_http_mcp_variable_header, 0,
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("mcp_header_name"), NULL, ngx_http_mcp_variable_header, 0,
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("mcp_param_"), NULL, ngx_http_mcp_variable_header, 0,
      NGX_HTTP_VAR_NOCACHEABLE|NGX_HTTP_VAR_PREFIX, 0 },

    ngx_http_null_variable
};


/*
 * Adds the variables that depend on request headers.  They are not cacheable,
 * because their value depends on the location.
 */
static ngx_int_t
ngx_http_mcp_variables_add_early_headers(ngx_conf_t *cf)
{
    ngx_http_variable_t  *var, *v;

    for (v = ngx_http_mcp_variables_early_headers; v->name.len; v++) {
        var = ngx_http_add_variable(cf, &v->name, v->flags);
        if (var == NULL) {
            return NGX_ERROR;
        }

        var->get_handler = v->get_handler;
        var->data = (uintptr_t) &v->name;
    }

    return NGX_OK;
}


ngx_int_t
ngx_http_mcp_variables_add(ngx_conf_t *cf)
{
    ngx_str_t             name = ngx_string("mcp_version");
    ngx_uint_t            i;
    ngx_http_variable_t  *var;

    var = ngx_http_add_variable(cf, &name, 0);
    if (var == NULL) {
        return NGX_ERROR;
    }

    var->get_handler = ngx_http_mcp_variable_version;

    ngx_str_set(&name, "mcp_arguments");

    var = ngx_http_add_variable(cf, &name, NGX_HTTP_VAR_NOCACHEABLE);
    if (var == NULL) {
        return NGX_ERROR;
    }

    var->get_handler = ngx_http_mcp_variable_arguments;

    for (i = 0; i < MCP_VARIABLE_COUNT; i++) {
        name.data = (u_char *) mcp_variable_names[i].data;
        name.len = mcp_variable_names[i].len;

        var = ngx_http_add_variable(cf, &name, NGX_HTTP_VAR_NOCACHEABLE);
        if (var == NULL) {
            return NGX_ERROR;
        }

        var->get_handler = ngx_http_mcp_variable;
        var->data = i;
    }

    return ngx_http_mcp_variables_add_early_headers(cf);
}


/* A row of MCP_RENAMED_VARIABLES.  */
#define NGX_HTTP_MCP_RENAMED(nginx, new_nginx)                                \
    { ngx_string(nginx), ngx_string(new_nginx) },


ngx_int_t
ngx_http_mcp_variables_check(ngx_conf_t *cf)
{
    ngx_uint_t                  i, n;
    ngx_http_variable_t        *v;
    ngx_http_core_main_conf_t  *cmcf;

    static ngx_str_t  renamed[][2] = {
        MCP_RENAMED_VARIABLES(NGX_HTTP_MCP_RENAMED)
    };

    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);
    v = cmcf->variables.elts;

    for (i = 0; i < cmcf->variables.nelts; i++) {
        for (n = 0; n < sizeof(renamed) / sizeof(renamed[0]); n++) {
            if (v[i].name.len == renamed[n][0].len
                && ngx_strncmp(v[i].name.data, renamed[n][0].data,
                               v[i].name.len) == 0)
            {
                ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                              "the variable \"$%V\" was renamed: write \"$%V\"",
                              &renamed[n][0], &renamed[n][1]);
                return NGX_ERROR;
            }
        }
    }

    return NGX_OK;
}


ngx_int_t
ngx_http_mcp_variables_find(ngx_cycle_t *cycle)
{
    ngx_uint_t                  i;
    ngx_http_variable_t        *v;
    ngx_http_mcp_used_t        *used, *exported;
    ngx_http_mcp_main_conf_t   *mmcf;
    ngx_http_core_main_conf_t  *cmcf;

    mmcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_mcp_module);
    cmcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_core_module);

    v = cmcf->variables.elts;

    for (i = 0; i < cmcf->variables.nelts; i++) {
        if (v[i].get_handler != ngx_http_mcp_variable) {
            continue;
        }

        used = ngx_array_push(&mmcf->variables);
        if (used == NULL) {
            return NGX_ERROR;
        }

        used->index = i;
        used->variable = v[i].data;

        if (mcp_variable_env[v[i].data].len == 0) {
            continue;
        }

        exported = ngx_array_push(&mmcf->exported);
        if (exported == NULL) {
            return NGX_ERROR;
        }

        *exported = *used;
    }

    return NGX_OK;
}


void
ngx_http_mcp_variables_flush(ngx_http_request_t *r)
{
    ngx_uint_t                 i;
    ngx_http_mcp_used_t       *used;
    ngx_http_mcp_main_conf_t  *mmcf;

    mmcf = ngx_http_get_module_main_conf(r, ngx_http_mcp_module);

    used = mmcf->variables.elts;

    for (i = 0; i < mmcf->variables.nelts; i++) {
        r->variables[used[i].index].valid = 0;
        r->variables[used[i].index].not_found = 0;
    }
}


/* Sets the variables in mmcf->exported, which backends get as MCP_*, in the
 * request to the backend.  All other variables are evaluated when they are
 * used. */
void
ngx_http_mcp_variables_fill(ngx_http_request_t *r, mcp_backend_request_t *breq)
{
    ngx_uint_t                  i;
    mcp_str_t                  *value;
    ngx_http_mcp_used_t        *used;
    ngx_http_mcp_main_conf_t   *mmcf;
    ngx_http_variable_value_t  *v;

    mmcf = ngx_http_get_module_main_conf(r, ngx_http_mcp_module);

    used = mmcf->exported.elts;

    for (i = 0; i < mmcf->exported.nelts; i++) {
        v = &r->variables[used[i].index];
        value = &breq->variables.value[used[i].variable];

        if (value->len == 0) {
            v->not_found = 1;
            continue;
        }

        *v = (ngx_http_variable_value_t) {
            .len = value->len,
            .valid = 1,
            .data = (u_char *) value->data
        };
    }
}
