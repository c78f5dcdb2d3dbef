/* SPDX-License-Identifier: Apache-2.0 */

/* $mcp_*: one variable for each fact of the core, about a client's request or
 * about the detached request of a backend call; and those that are known before
 * the body is read.  */


#include "ngx_http_mcp_variables.h"

#include "ngx_http_mcp_call.h"
#include "ngx_http_mcp_config.h"
#include "ngx_http_mcp_handler.h"
#include "ngx_http_mcp_head.h"
#include "mcp_sent.h"
#include "mcp_version.h"


static ngx_int_t
ngx_http_mcp_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data)
{
    const mcp_str_t            *value;
    const mcp_facts_t          *facts;
    ngx_http_mcp_ctx_t         *ctx;
    ngx_http_mcp_invocation_t  *inv;

    inv = ngx_http_mcp_call_invocation(r);

    if (inv && inv->kept) {
        facts = &inv->kept->facts;

    } else {
        ctx = ngx_http_mcp_get_ctx(r);
        facts = ctx ? mcp_exchange_facts(ctx->exchange) : NULL;
    }

    value = facts ? &facts->value[data] : NULL;

    if (value == NULL || value->len == 0) {
        v->not_found = 1;
        return NGX_OK;
    }

    /* an exchange lives as long as its request, and what jobs know as long as
     * their call, which the request's connection keeps */

    v->data = (u_char *) value->data;
    v->len = value->len;
    v->valid = 1;
    v->no_cacheable = 0;
    v->not_found = 0;

    return NGX_OK;
}


/* Nobody but this variable looks for the arguments.  */
static ngx_int_t
ngx_http_mcp_variable_arguments(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    u_char                     *p;
    size_t                      i;
    mcp_str_t                   text;
    ngx_http_mcp_invocation_t  *inv;

    inv = ngx_http_mcp_call_invocation(r);
    text = inv && inv->kept ? mcp_job_arguments(inv->kept) : mcp_null_str;

    if (text.len == 0) {
        v->not_found = 1;
        return NGX_OK;
    }

    p = ngx_pnalloc(r->pool, text.len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    /* in JSON a control character is white space, but for DEL */

    for (i = 0; i < text.len; i++) {
        p[i] = (u_char) text.data[i];

        if (p[i] < 0x20) {
            p[i] = ' ';

        } else if (p[i] == 0x7f) {
            p[i] = '?';
        }
    }

    v->data = p;
    v->len = text.len;
    v->valid = 1;
    v->no_cacheable = 0;
    v->not_found = 0;

    return NGX_OK;
}


static ngx_int_t
ngx_http_mcp_variable_version(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    v->data = (u_char *) mcp_version;
    v->len = ngx_strlen(mcp_version);
    v->valid = 1;
    v->no_cacheable = 0;
    v->not_found = 0;

    return NGX_OK;
}


static void *
ngx_http_mcp_variable_alloc(void *pool, size_t size)
{
    return ngx_pnalloc(pool, size);
}


/* data is the name of the variable.  */
static ngx_int_t
ngx_http_mcp_variable_sent(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    mcp_mem_t                 mem;
    mcp_str_t                 value;
    mcp_head_t                head;
    mcp_sent_t                sent;
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

    sent.mem = &mem;
    sent.endpoint = &mlcf->endpoint;
    sent.headers = head.headers;
    sent.n_headers = head.n_headers;

    name = (ngx_str_t *) data;

    if (mcp_sent(&sent, ngx_http_mcp_str(name), &value) != MCP_OK) {
        return NGX_ERROR;
    }

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


static ngx_http_variable_t  ngx_http_mcp_variables_sent[] = {

    { ngx_string("mcp_sent_method"), NULL, ngx_http_mcp_variable_sent, 0,
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("mcp_sent_name"), NULL, ngx_http_mcp_variable_sent, 0,
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("mcp_param_"), NULL, ngx_http_mcp_variable_sent, 0,
      NGX_HTTP_VAR_NOCACHEABLE|NGX_HTTP_VAR_PREFIX, 0 },

    ngx_http_null_variable
};


/* The location says whether anything is known: values that were found in
 * another one, or without any, do not count.  */
static ngx_int_t
ngx_http_mcp_variables_add_sent(ngx_conf_t *cf)
{
    ngx_http_variable_t  *var, *v;

    for (v = ngx_http_mcp_variables_sent; v->name.len; v++) {
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

    for (i = 0; i < MCP_FACT_COUNT; i++) {
        name.data = (u_char *) mcp_fact_names[i].data;
        name.len = mcp_fact_names[i].len;

        var = ngx_http_add_variable(cf, &name, NGX_HTTP_VAR_NOCACHEABLE);
        if (var == NULL) {
            return NGX_ERROR;
        }

        var->get_handler = ngx_http_mcp_variable;
        var->data = i;
    }

    return ngx_http_mcp_variables_add_sent(cf);
}


/* Finds the variables that the configuration uses.  */
ngx_int_t
ngx_http_mcp_variables_find(ngx_cycle_t *cycle)
{
    ngx_uint_t                  i;
    ngx_http_variable_t        *v;
    ngx_http_mcp_used_t        *used, *told;
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
        used->fact = v[i].data;

        if (mcp_fact_env[v[i].data].len == 0) {
            continue;
        }

        told = ngx_array_push(&mmcf->told);
        if (told == NULL) {
            return NGX_ERROR;
        }

        *told = *used;
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


/* The others are made while it runs.  */
void
ngx_http_mcp_variables_fill(ngx_http_request_t *r, mcp_job_t *job)
{
    ngx_uint_t                  i;
    mcp_str_t                  *value;
    ngx_http_mcp_used_t        *used;
    ngx_http_mcp_main_conf_t   *mmcf;
    ngx_http_variable_value_t  *v;

    mmcf = ngx_http_get_module_main_conf(r, ngx_http_mcp_module);

    used = mmcf->told.elts;

    for (i = 0; i < mmcf->told.nelts; i++) {
        v = &r->variables[used[i].index];
        value = &job->facts.value[used[i].fact];

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
