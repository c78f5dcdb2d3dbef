/* SPDX-License-Identifier: Apache-2.0 */

/* The data that this module stores for each request. */

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

static apr_size_t count(const apr_array_header_t *names)
{
    return names ? names->nelts : 0;
}

static mcp_str_t *add_names(mcp_str_t *last, const apr_array_header_t *more)
{
    apr_size_t i;

    for (i = 0; i < count(more); i++) {
        *last++ = mod_mcp_str(APR_ARRAY_IDX(more, i, const char *));
    }

    return last;
}

const mcp_str_t *mod_mcp_request_server_names(request_rec *r, size_t *n)
{
    const server_rec *s = r->server;
    mcp_str_t *names, *last;

    *n = 1 + count(s->names) + count(s->wild_names);
    names = apr_palloc(r->pool, *n * sizeof(*names));

    names[0] = mod_mcp_str(s->server_hostname);
    last = add_names(names + 1, s->names);
    add_names(last, s->wild_names);

    return names;
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

const mcp_header_t *mod_mcp_request_headers(request_rec *r, char initial,
                                            size_t *n)
{
    const apr_array_header_t *array = apr_table_elts(r->headers_in);
    const apr_table_entry_t *entry = (const apr_table_entry_t *)array->elts;
    mcp_header_t *headers;
    int i;

    headers = apr_palloc(r->pool, (array->nelts + 1) * sizeof(*headers));

    *n = 0;

    for (i = 0; i < array->nelts; i++) {
        if (initial == '\0' || (entry[i].key[0] | 0x20) == initial) {
            headers[*n].name = mod_mcp_str(entry[i].key);
            headers[*n].value = mod_mcp_str(entry[i].val);
            (*n)++;
        }
    }

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
    head->headers = mod_mcp_request_headers(r, '\0', &head->n_headers);
    head->server_names = mod_mcp_request_server_names(r, &head->n_server_names);
}
