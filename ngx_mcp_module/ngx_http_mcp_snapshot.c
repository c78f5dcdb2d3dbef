/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Snapshots: what a call keeps of the client's request, so that backends can be
 * invoked for it, more than once, when the client has long gone.
 */


#include "ngx_http_mcp_call.h"

#include "mcp_forward.h"


/* A variable to take from the client's request. */
typedef struct {
    ngx_uint_t                   index;
    unsigned                     evaluate:1;   /* of the connection */
    unsigned                     assigned:1;   /* known to be */
    unsigned                     computed:1;   /* known to be, so leave it */
    unsigned                     taken:1;      /* in this request */
} ngx_http_mcp_freeze_t;


static ngx_array_t *ngx_http_mcp_snapshot_variables(
    ngx_http_core_main_conf_t *cmcf);
static ngx_uint_t ngx_http_mcp_snapshot_freezes(ngx_http_request_t *r,
    ngx_http_mcp_freeze_t *f);
static u_char *ngx_http_mcp_snapshot_copy(u_char *p, ngx_str_t *dst,
    ngx_str_t *src);


/*
 * Variables that the client's connection answers and ours could not, or that
 * are made of a header which is not passed on; a trailing asterisk stands for any rest.  What follows from the addresses is
 * not here: ours has the same.
 */
static ngx_str_t  ngx_http_mcp_connection_variables[] = {
    ngx_string("https"),
    ngx_string("scheme"),
    ngx_string("ssl_*"),
    ngx_string("http2"),
    ngx_string("http3"),
    ngx_string("request_id"),
    ngx_string("remote_user"),
    ngx_string("server_addr"),
    ngx_string("server_port"),
    ngx_string("realip_*"),
    ngx_string("proxy_protocol_*"),
    ngx_string("request_port"),
    ngx_string("is_request_port"),
    ngx_null_string
};


ngx_http_mcp_snapshot_t *
ngx_http_mcp_snapshot_create(ngx_http_request_t *r)
{
    u_char                      *p;
    size_t                       len, sockaddr_len, local_len;
    ngx_str_t                   *host;
    ngx_uint_t                   i, n, nfreeze;
    ngx_array_t                 *freeze;
    ngx_list_part_t             *part;
    ngx_table_elt_t             *h;
    ngx_connection_t            *c;
    ngx_http_mcp_line_t         *line;
    ngx_http_mcp_freeze_t       *f;
    ngx_http_mcp_frozen_t       *frozen;
    ngx_http_mcp_snapshot_t       *snapshot;
    ngx_http_mcp_loc_conf_t     *mlcf;
    ngx_http_variable_value_t   *vv;
    ngx_http_core_main_conf_t   *cmcf;

    c = r->connection;

    /* later $server_addr would ask our socket */

    if (ngx_connection_local_sockaddr(c, NULL, 0) != NGX_OK) {
        return NULL;
    }

    cmcf = ngx_http_get_module_main_conf(r, ngx_http_core_module);
    mlcf = ngx_http_get_module_loc_conf(r, ngx_http_mcp_module);

    freeze = ngx_http_mcp_snapshot_variables(cmcf);
    if (freeze == NULL) {
        return NULL;
    }

    f = freeze->elts;
    nfreeze = freeze->nelts;

    host = r->headers_in.host ? &r->headers_in.host->value
                              : &r->headers_in.server;

    sockaddr_len = ngx_align(c->socklen, NGX_ALIGNMENT);
    local_len = ngx_align(c->local_socklen, NGX_ALIGNMENT);

    len = sizeof(ngx_http_mcp_snapshot_t) + sockaddr_len + local_len
          + nfreeze * sizeof(ngx_http_mcp_frozen_t)
          + c->addr_text.len + r->headers_in.server.len + host->len
          + r->request_line.len + r->unparsed_uri.len + r->uri.len
          + r->args.len + 7;

    for (i = 0; i < nfreeze; i++) {
        f[i].taken = ngx_http_mcp_snapshot_freezes(r, &f[i]);

        if (f[i].taken) {
            len += r->variables[f[i].index].len;
        }
    }

    n = 0;

    for (part = &r->headers_in.headers.part; part; part = part->next) {
        h = part->elts;
        n += part->nelts;

        for (i = 0; i < part->nelts; i++) {
            len += 2 * h[i].key.len + h[i].value.len + 2;
        }
    }

    len += n * sizeof(ngx_http_mcp_line_t);

    snapshot = ngx_alloc(len, c->log);
    if (snapshot == NULL) {
        return NULL;
    }

    ngx_memzero(snapshot, sizeof(ngx_http_mcp_snapshot_t));

    p = (u_char *) snapshot + sizeof(ngx_http_mcp_snapshot_t);

    snapshot->refs = 1;

    snapshot->addr_conf = r->http_connection->addr_conf;
    snapshot->conf_ctx = r->http_connection->conf_ctx;
    snapshot->main_conf = r->main_conf;
    snapshot->srv_conf = r->srv_conf;
    snapshot->loc_conf = r->loc_conf;
    snapshot->listening = c->listening;
    snapshot->log = *c->log;
    snapshot->log.handler = NULL;
    snapshot->log.data = NULL;
    snapshot->log.action = NULL;
    snapshot->log_handler = c->log->handler;

    snapshot->lines = (ngx_http_mcp_line_t *) p;
    p += n * sizeof(ngx_http_mcp_line_t);

    snapshot->frozen = (ngx_http_mcp_frozen_t *) p;
    p += nfreeze * sizeof(ngx_http_mcp_frozen_t);

    snapshot->sockaddr = (struct sockaddr *) p;
    snapshot->socklen = c->socklen;
    ngx_memcpy(p, c->sockaddr, c->socklen);
    p += sockaddr_len;

    snapshot->local_sockaddr = (struct sockaddr *) p;
    snapshot->local_socklen = c->local_socklen;
    ngx_memcpy(p, c->local_sockaddr, c->local_socklen);
    p += local_len;

    p = ngx_http_mcp_snapshot_copy(p, &snapshot->addr_text, &c->addr_text);
    p = ngx_http_mcp_snapshot_copy(p, &snapshot->server, &r->headers_in.server);
    p = ngx_http_mcp_snapshot_copy(p, &snapshot->host, host);
    p = ngx_http_mcp_snapshot_copy(p, &snapshot->request_line, &r->request_line);
    p = ngx_http_mcp_snapshot_copy(p, &snapshot->unparsed_uri, &r->unparsed_uri);
    p = ngx_http_mcp_snapshot_copy(p, &snapshot->uri, &r->uri);
    p = ngx_http_mcp_snapshot_copy(p, &snapshot->args, &r->args);

    for (i = 0; i < nfreeze; i++) {

        if (!f[i].taken) {
            continue;
        }

        vv = &r->variables[f[i].index];
        frozen = &snapshot->frozen[snapshot->nfrozen++];

        frozen->index = f[i].index;
        frozen->value = *vv;
        frozen->value.data = p;

        if (vv->len) {
            p = ngx_cpymem(p, vv->data, vv->len);
        }
    }

    line = snapshot->lines;

    for (part = &r->headers_in.headers.part; part; part = part->next) {
        h = part->elts;

        for (i = 0; i < part->nelts; i++) {

            /* hash 0: cleared by some module */

            if (h[i].hash == 0
                || mcp_forward_skips(&mlcf->endpoint,
                                    ngx_http_mcp_str(&h[i].key)))
            {
                continue;
            }

            ngx_memzero(line, sizeof(ngx_http_mcp_line_t));

            line->elt.hash = h[i].hash;
            line->elt.lowcase_key = p;
            p = ngx_cpymem(p, h[i].lowcase_key, h[i].key.len);
            p = ngx_http_mcp_snapshot_copy(p, &line->elt.key, &h[i].key);
            p = ngx_http_mcp_snapshot_copy(p, &line->elt.value, &h[i].value);

            line->header = ngx_hash_find(&cmcf->headers_in_hash, h[i].hash,
                                         line->elt.lowcase_key, h[i].key.len);
            line++;
        }
    }

    snapshot->nlines = line - snapshot->lines;

    return snapshot;
}


/* The variables worth a look, worked out once per configuration. */
static ngx_array_t *
ngx_http_mcp_snapshot_variables(ngx_http_core_main_conf_t *cmcf)
{
    size_t                             len;
    ngx_str_t                         *name;
    ngx_uint_t                         i, evaluate;
    ngx_http_variable_t               *v;
    ngx_http_mcp_freeze_t             *freeze;

    static ngx_array_t                *list;
    static ngx_http_core_main_conf_t  *list_cmcf;

    /* one configuration per process, but for "master_process off" */

    if (list_cmcf == cmcf) {
        return list;
    }

    list_cmcf = NULL;

    list = ngx_array_create(ngx_cycle->pool, 8, sizeof(ngx_http_mcp_freeze_t));
    if (list == NULL) {
        return NULL;
    }

    v = cmcf->variables.elts;

    for (i = 0; i < cmcf->variables.nelts; i++) {

        evaluate = 0;

        for (name = ngx_http_mcp_connection_variables; name->len; name++) {
            len = name->len;

            if (name->data[len - 1] == '*') {
                len--;

                if (v[i].name.len < len) {
                    continue;
                }

            } else if (v[i].name.len != len) {
                continue;
            }

            if (ngx_strncmp(v[i].name.data, name->data, len) == 0) {
                evaluate = 1;
                break;
            }
        }

        if (!evaluate
            && (!(v[i].flags & NGX_HTTP_VAR_CHANGEABLE)
                || (v[i].flags & NGX_HTTP_VAR_NOCACHEABLE)))
        {
            continue;
        }

        freeze = ngx_array_push(list);
        if (freeze == NULL) {
            return NULL;
        }

        ngx_memzero(freeze, sizeof(ngx_http_mcp_freeze_t));

        freeze->index = i;
        freeze->evaluate = evaluate;

        /* so "set" leaves it, with a handler that would warn when asked */
        freeze->assigned = (v[i].data == i);
    }

    list_cmcf = cmcf;

    return list;
}


/*
 * Besides what the connection knows the values to keep are those that cannot
 * be worked out again: from "set", "auth_request_set", named captures.  Such
 * a variable's handler finds nothing.  Maps and the like have to be worked
 * out again, as what they depend on may differ in our request.
 */
static ngx_uint_t
ngx_http_mcp_snapshot_freezes(ngx_http_request_t *r, ngx_http_mcp_freeze_t *f)
{
    ngx_http_variable_t        *v;
    ngx_http_variable_value_t  *vv, probe;
    ngx_http_core_main_conf_t  *cmcf;

    if (f->computed) {
        return 0;
    }

    vv = &r->variables[f->index];

    if (f->evaluate) {
        vv = ngx_http_get_indexed_variable(r, f->index);
        return vv != NULL && vv->valid && !vv->no_cacheable;
    }

    if (!vv->valid || vv->no_cacheable) {
        return 0;
    }

    if (!f->assigned) {
        cmcf = ngx_http_get_module_main_conf(r, ngx_http_core_module);
        v = (ngx_http_variable_t *) cmcf->variables.elts + f->index;

        ngx_memzero(&probe, sizeof(ngx_http_variable_value_t));

        if (v->get_handler(r, &probe, v->data) == NGX_OK && probe.not_found) {
            f->assigned = 1;

        } else {
            f->computed = 1;
            return 0;
        }
    }

    return 1;
}


void
ngx_http_mcp_snapshot_release(void *data)
{
    ngx_http_mcp_snapshot_t  *snapshot = data;

    if (snapshot && --snapshot->refs == 0) {
        ngx_free(snapshot);
    }
}


static u_char *
ngx_http_mcp_snapshot_copy(u_char *p, ngx_str_t *dst, ngx_str_t *src)
{
    dst->len = src->len;
    dst->data = p;

    if (src->len) {
        p = ngx_cpymem(p, src->data, src->len);
    }

    *p++ = '\0';

    return p;
}
