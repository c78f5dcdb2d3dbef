
/* $mcp_*: one variable for each fact of the core, of a client's request or of
 * the detached request that runs a backend call. */


#include "ngx_http_mcp_module.h"


static ngx_int_t
ngx_http_mcp_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data)
{
    mcp_job_t           *job;
    ngx_http_mcp_ctx_t  *ctx;
    const mcp_str_t     *value;
    const mcp_facts_t   *facts;

    job = ngx_http_mcp_call_job(r);

    if (job) {
        facts = &job->facts;

    } else {
        ctx = ngx_http_mcp_get_ctx(r);
        facts = ctx ? mcp_exchange_facts(ctx->exchange) : NULL;
    }

    value = facts ? &facts->value[data] : NULL;

    if (value == NULL || value->len == 0) {
        v->not_found = 1;
        return NGX_OK;
    }

    v->len = value->len;
    v->valid = 1;
    v->no_cacheable = 0;
    v->not_found = 0;
    v->data = (u_char *) value->data;

    return NGX_OK;
}


ngx_int_t
ngx_http_mcp_add_variables(ngx_conf_t *cf)
{
    ngx_str_t             name;
    ngx_uint_t            i;
    ngx_http_variable_t  *var;

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

    return NGX_OK;
}
