/* SPDX-License-Identifier: Apache-2.0 */

/* What the module keeps of a request. */

#include "mod_mcp_request.h"

#include "mod_mcp_secret.h"

#include "ap_expr.h"

mod_mcp_request_t *mod_mcp_request(request_rec *r)
{
    mod_mcp_request_t *own = ap_get_module_config(r->request_config,
                                                  &mcp_module);

    if (own == NULL) {
        own = apr_pcalloc(r->pool, sizeof(*own));
        ap_set_module_config(r->request_config, &mcp_module, own);
    }

    return own;
}

static void add_names(apr_array_header_t *names, apr_array_header_t *more)
{
    int i;

    for (i = 0; more && i < more->nelts; i++) {
        APR_ARRAY_PUSH(names, mcp_str_t) =
                            mod_mcp_str(APR_ARRAY_IDX(more, i, const char *));
    }
}

const mcp_str_t *mod_mcp_request_server_names(request_rec *r, size_t *n)
{
    apr_array_header_t *names = apr_array_make(r->pool, 4, sizeof(mcp_str_t));

    APR_ARRAY_PUSH(names, mcp_str_t) = mod_mcp_str(r->server->server_hostname);

    add_names(names, r->server->names);
    add_names(names, r->server->wild_names);

    *n = names->nelts;

    return (const mcp_str_t *)names->elts;
}

const char *mod_mcp_request_handler(request_rec *r)
{
    core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    const char *error = NULL, *value;

    if (core->expr_handler == NULL) {
        return core->handler;
    }

    value = ap_expr_str_exec(r, core->expr_handler, &error);

    return error ? NULL : value;
}

const mcp_header_t *mod_mcp_request_headers(request_rec *r, size_t *n)
{
    const apr_array_header_t *array = apr_table_elts(r->headers_in);
    const apr_table_entry_t *entry = (const apr_table_entry_t *)array->elts;
    mcp_header_t *headers;
    int i;

    headers = apr_palloc(r->pool, (array->nelts + 1) * sizeof(*headers));

    for (i = 0; i < array->nelts; i++) {
        headers[i].name = mod_mcp_str(entry[i].key);
        headers[i].value = mod_mcp_str(entry[i].val);
    }

    *n = array->nelts;

    return headers;
}

void mod_mcp_request_head(request_rec *r, mcp_head_t *head)
{
    const apr_sockaddr_t *local = r->connection->local_addr;

    memset(head, 0, sizeof(*head));

    head->method = mod_mcp_str(r->method);
    head->path = mod_mcp_str(r->uri);
    head->target = mod_mcp_str(mod_mcp_secret_target(r));
    head->loopback = mcp_http_address_is_loopback(local->ipaddr_ptr,
                                                  local->ipaddr_len);
    head->headers = mod_mcp_request_headers(r, &head->n_headers);
    head->server_names = mod_mcp_request_server_names(r, &head->n_server_names);
}
