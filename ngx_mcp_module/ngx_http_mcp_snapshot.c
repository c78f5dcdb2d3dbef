/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Snapshots: copies of the data of a client's request that backend requests
 * need, because the client's request may be freed before them.
 */


#include "ngx_http_mcp_snapshot.h"

#include "ngx_http_mcp_config.h"

#include "mcp_forward.h"


/* A variable whose value a snapshot may have to copy. */
typedef struct {
    ngx_uint_t                   index;
    unsigned                     evaluate:1;   /* 1 if its value depends on
                                                  the client's connection */
    unsigned                     assigned:1;   /* 1 if no handler computes its
                                                  value: it is only assigned,
                                                  for example by "set" */
    unsigned                     computed:1;   /* 1 if its value can be
                                                  computed again, so that it is
                                                  not copied */
    unsigned                     local:1;      /* 1 if its value depends
                                                  only on the local address */
    ngx_http_variable_value_t   *value;        /* value in the client's
                                                  request; NULL if it is not
                                                  copied */
    ngx_http_variable_value_t    known;        /* cached value if "local" is
                                                  1; known.valid is 1 until the
                                                  first request to another
                                                  local address */
    u_char                       text[NGX_SOCKADDR_STRLEN];
} ngx_http_mcp_freeze_t;


/* The data from which a snapshot is made. */
typedef struct {
    ngx_http_request_t          *request;
    ngx_str_t                   *host;
    ngx_http_mcp_freeze_t       *freeze;
    ngx_uint_t                   nfreeze;
    ngx_uint_t                   nlines;       /* upper limit of the number of
                                                  header lines */
} ngx_http_mcp_source_t;


static ngx_int_t ngx_http_mcp_snapshot_source(ngx_http_request_t *r,
    ngx_http_mcp_source_t *source);
static size_t ngx_http_mcp_snapshot_measure(ngx_http_mcp_source_t *source);
static u_char *ngx_http_mcp_snapshot_copy_head(
    ngx_http_mcp_snapshot_t *snapshot, u_char *p,
    ngx_http_mcp_source_t *source);
static u_char *ngx_http_mcp_snapshot_copy_addresses(
    ngx_http_mcp_snapshot_t *snapshot, u_char *p, ngx_connection_t *c);
static u_char *ngx_http_mcp_snapshot_copy_variables(
    ngx_http_mcp_snapshot_t *snapshot, u_char *p,
    ngx_http_mcp_source_t *source);
static ngx_uint_t ngx_http_mcp_snapshot_replaces(ngx_http_request_t *r,
    ngx_table_elt_t *h);
static u_char *ngx_http_mcp_snapshot_copy_lines(
    ngx_http_mcp_snapshot_t *snapshot, u_char *p, ngx_http_request_t *r);
static u_char *ngx_http_mcp_snapshot_copy_line(ngx_http_mcp_line_t *line,
    u_char *p, ngx_table_elt_t *h, ngx_hash_t *headers);
static u_char *ngx_http_mcp_snapshot_copy(u_char *p, ngx_str_t *dst,
    ngx_str_t *src);
static ngx_array_t *ngx_http_mcp_snapshot_variables(
    ngx_http_core_main_conf_t *cmcf);
static ngx_int_t ngx_http_mcp_snapshot_add_variable(ngx_array_t *list,
    ngx_http_core_main_conf_t *cmcf, ngx_uint_t index);
static ngx_uint_t ngx_http_mcp_snapshot_is_one(ngx_str_t *name,
    ngx_str_t *known);
static void ngx_http_mcp_snapshot_know(ngx_http_mcp_source_t *source);
static ngx_http_variable_value_t *ngx_http_mcp_snapshot_freezes(
    ngx_http_request_t *r, ngx_http_mcp_freeze_t *f);
static ngx_http_variable_value_t *ngx_http_mcp_snapshot_evaluate(
    ngx_http_request_t *r, ngx_http_mcp_freeze_t *f);
static ngx_uint_t ngx_http_mcp_snapshot_is_assigned(ngx_http_request_t *r,
    ngx_uint_t index);


/*
 * Variables that depend on the client's connection, or on a header that is not
 * forwarded.  An asterisk at the end matches any rest of a name.  Variables
 * that depend on the client's address only are not listed, because the internal
 * connection has the same addresses.
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


/* The variables in ngx_http_mcp_connection_variables that identify the user of
 * the client. */
static ngx_str_t  ngx_http_mcp_user_variables[] = {
    ngx_string("remote_user"),
    ngx_string("ssl_client_*"),
    ngx_null_string
};


/* The variables in ngx_http_mcp_connection_variables whose values depend on
 * the local address only. */
static ngx_str_t  ngx_http_mcp_local_variables[] = {
    ngx_string("server_addr"),
    ngx_string("server_port"),
    ngx_null_string
};


ngx_http_mcp_snapshot_t *
ngx_http_mcp_snapshot_create(ngx_http_request_t *r)
{
    u_char                   *p;
    const mcp_mem_t          *mem;
    ngx_http_mcp_source_t     source;
    ngx_http_mcp_snapshot_t  *snapshot;
    ngx_http_mcp_loc_conf_t  *mlcf;

    mlcf = ngx_http_get_module_loc_conf(r, ngx_http_mcp_module);
    mem = &mlcf->zone->env.mem;

    if (ngx_http_mcp_snapshot_source(r, &source) != NGX_OK) {
        return NULL;
    }

    snapshot = mem->alloc(mem->ctx, ngx_http_mcp_snapshot_measure(&source));
    if (snapshot == NULL) {
        return NULL;
    }

    /* initialize the members that the ngx_http_mcp_snapshot_copy_*() functions
     * below only count up, or do not set */

    snapshot->refs = 1;
    snapshot->mem = mem;
    snapshot->nlines = 0;
    snapshot->nfrozen = 0;

    /* the parts that need alignment follow the structure directly, and texts
     * follow these parts */

    p = (u_char *) snapshot + sizeof(ngx_http_mcp_snapshot_t);

    snapshot->lines = (ngx_http_mcp_line_t *) p;
    p += source.nlines * sizeof(ngx_http_mcp_line_t);

    snapshot->frozen = (ngx_http_mcp_frozen_t *) p;
    p += source.nfreeze * sizeof(ngx_http_mcp_frozen_t);

    p = ngx_http_mcp_snapshot_copy_addresses(snapshot, p, r->connection);
    p = ngx_http_mcp_snapshot_copy_head(snapshot, p, &source);
    p = ngx_http_mcp_snapshot_copy_variables(snapshot, p, &source);

    ngx_http_mcp_snapshot_copy_lines(snapshot, p, r);

    return snapshot;
}


void
ngx_http_mcp_snapshot_release(ngx_http_mcp_snapshot_t *snapshot)
{
    if (snapshot && --snapshot->refs == 0) {
        snapshot->mem->free(snapshot->mem->ctx, snapshot);
    }
}


static ngx_int_t
ngx_http_mcp_snapshot_source(ngx_http_request_t *r,
    ngx_http_mcp_source_t *source)
{
    ngx_uint_t                  i;
    ngx_array_t                *freeze;
    ngx_list_part_t            *part;
    ngx_http_core_main_conf_t  *cmcf;

    /* get the local address: otherwise $server_addr would be taken from the
     * internal socket */

    if (ngx_connection_local_sockaddr(r->connection, NULL, 0) != NGX_OK) {
        return NGX_ERROR;
    }

    cmcf = ngx_http_get_module_main_conf(r, ngx_http_core_module);

    freeze = ngx_http_mcp_snapshot_variables(cmcf);
    if (freeze == NULL) {
        return NGX_ERROR;
    }

    source->request = r;
    source->host = r->headers_in.host ? &r->headers_in.host->value
                                      : &r->headers_in.server;
    source->freeze = freeze->elts;
    source->nfreeze = freeze->nelts;

    ngx_http_mcp_snapshot_know(source);

    for (i = 0; i < source->nfreeze; i++) {
        source->freeze[i].value = ngx_http_mcp_snapshot_freezes(r,
                                                        &source->freeze[i]);
    }

    source->nlines = 0;

    for (part = &r->headers_in.headers.part; part; part = part->next) {
        source->nlines += part->nelts;
    }

    return NGX_OK;
}


/*
 * Returns the size of a snapshot, bytes.  Texts end with NUL, except values of
 * variables and names of headers in lower case.
 */
static size_t
ngx_http_mcp_snapshot_measure(ngx_http_mcp_source_t *source)
{
    size_t               len;
    ngx_uint_t           i;
    ngx_list_part_t     *part;
    ngx_table_elt_t     *h;
    ngx_connection_t    *c;
    ngx_http_request_t  *r;

    r = source->request;
    c = r->connection;

    len = sizeof(ngx_http_mcp_snapshot_t)
          + source->nlines * sizeof(ngx_http_mcp_line_t)
          + source->nfreeze * sizeof(ngx_http_mcp_frozen_t)
          + ngx_align(c->socklen, NGX_ALIGNMENT)
          + ngx_align(c->local_socklen, NGX_ALIGNMENT)
          + c->addr_text.len + r->headers_in.server.len + source->host->len
          + r->request_line.len + r->unparsed_uri.len + r->uri.len
          + r->args.len + 7;

    for (i = 0; i < source->nfreeze; i++) {
        if (source->freeze[i].value) {
            len += source->freeze[i].value->len;
        }
    }

    for (part = &r->headers_in.headers.part; part; part = part->next) {
        h = part->elts;

        for (i = 0; i < part->nelts; i++) {
            len += 2 * h[i].key.len + h[i].value.len + 2;
        }
    }

    return len;
}


static u_char *
ngx_http_mcp_snapshot_copy_addresses(ngx_http_mcp_snapshot_t *snapshot,
    u_char *p, ngx_connection_t *c)
{
    snapshot->listening = c->listening;

    snapshot->sockaddr = (struct sockaddr *) p;
    snapshot->socklen = c->socklen;
    ngx_memcpy(p, c->sockaddr, c->socklen);
    p += ngx_align(c->socklen, NGX_ALIGNMENT);

    snapshot->local_sockaddr = (struct sockaddr *) p;
    snapshot->local_socklen = c->local_socklen;
    ngx_memcpy(p, c->local_sockaddr, c->local_socklen);
    p += ngx_align(c->local_socklen, NGX_ALIGNMENT);

    return ngx_http_mcp_snapshot_copy(p, &snapshot->addr_text, &c->addr_text);
}


static u_char *
ngx_http_mcp_snapshot_copy_head(ngx_http_mcp_snapshot_t *snapshot, u_char *p,
    ngx_http_mcp_source_t *source)
{
    ngx_log_t           *log;
    ngx_http_request_t  *r;

    r = source->request;
    log = r->connection->log;

    snapshot->addr_conf = r->http_connection->addr_conf;
    snapshot->conf_ctx = r->http_connection->conf_ctx;
    snapshot->main_conf = r->main_conf;
    snapshot->srv_conf = r->srv_conf;
    snapshot->loc_conf = r->loc_conf;

    snapshot->log = *log;
    snapshot->log.handler = NULL;
    snapshot->log.data = NULL;
    snapshot->log.action = NULL;
    snapshot->log_handler = log->handler;

    p = ngx_http_mcp_snapshot_copy(p, &snapshot->server, &r->headers_in.server);
    p = ngx_http_mcp_snapshot_copy(p, &snapshot->host, source->host);
    p = ngx_http_mcp_snapshot_copy(p, &snapshot->request_line,
                                   &r->request_line);
    p = ngx_http_mcp_snapshot_copy(p, &snapshot->unparsed_uri,
                                   &r->unparsed_uri);
    p = ngx_http_mcp_snapshot_copy(p, &snapshot->uri, &r->uri);

    return ngx_http_mcp_snapshot_copy(p, &snapshot->args, &r->args);
}


static u_char *
ngx_http_mcp_snapshot_copy_variables(ngx_http_mcp_snapshot_t *snapshot,
    u_char *p, ngx_http_mcp_source_t *source)
{
    ngx_uint_t                  i;
    ngx_http_mcp_freeze_t      *f;
    ngx_http_mcp_frozen_t      *frozen;
    ngx_http_variable_value_t  *vv;

    for (i = 0; i < source->nfreeze; i++) {
        f = &source->freeze[i];

        vv = f->value;

        if (vv == NULL) {
            continue;
        }

        frozen = &snapshot->frozen[snapshot->nfrozen++];

        frozen->index = f->index;
        frozen->value = *vv;
        frozen->value.data = p;

        if (vv->len) {
            p = ngx_cpymem(p, vv->data, vv->len);
        }
    }

    return p;
}


/*
 * Returns 1 if h is the client's Host, Content-Type or Content-Length.  These
 * headers are not copied, because the request to a backend has its own.
 * mcp_forward_skips() would skip them as well, but it compares names, which is
 * slower.
 */
static ngx_uint_t
ngx_http_mcp_snapshot_replaces(ngx_http_request_t *r, ngx_table_elt_t *h)
{
    ngx_http_headers_in_t  *in;

    in = &r->headers_in;

    return h == in->host || h == in->content_type || h == in->content_length;
}


static u_char *
ngx_http_mcp_snapshot_copy_lines(ngx_http_mcp_snapshot_t *snapshot, u_char *p,
    ngx_http_request_t *r)
{
    ngx_uint_t                  i;
    ngx_list_part_t            *part;
    ngx_table_elt_t            *h;
    ngx_http_mcp_loc_conf_t    *mlcf;
    ngx_http_core_main_conf_t  *cmcf;

    mlcf = ngx_http_get_module_loc_conf(r, ngx_http_mcp_module);
    cmcf = ngx_http_get_module_main_conf(r, ngx_http_core_module);

    for (part = &r->headers_in.headers.part; part; part = part->next) {
        h = part->elts;

        for (i = 0; i < part->nelts; i++) {

            /* hash 0: another module has removed the header */

            if (h[i].hash == 0 || ngx_http_mcp_snapshot_replaces(r, &h[i])
                || mcp_forward_skips(mlcf->endpoint,
                                     ngx_http_mcp_str(&h[i].key)))
            {
                continue;
            }

            p = ngx_http_mcp_snapshot_copy_line(
                &snapshot->lines[snapshot->nlines++], p, &h[i],
                &cmcf->headers_in_hash);
        }
    }

    return p;
}


static u_char *
ngx_http_mcp_snapshot_copy_line(ngx_http_mcp_line_t *line, u_char *p,
    ngx_table_elt_t *h, ngx_hash_t *headers)
{
    ngx_memzero(line, sizeof(ngx_http_mcp_line_t));

    line->elt.hash = h->hash;
    line->elt.lowcase_key = p;
    p = ngx_cpymem(p, h->lowcase_key, h->key.len);

    line->header = ngx_hash_find(headers, h->hash, line->elt.lowcase_key,
                                 h->key.len);

    p = ngx_http_mcp_snapshot_copy(p, &line->elt.key, &h->key);

    return ngx_http_mcp_snapshot_copy(p, &line->elt.value, &h->value);
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


/* Returns the list of variables whose values snapshots may have to copy.  The
 * list is made once per configuration. */
static ngx_array_t *
ngx_http_mcp_snapshot_variables(ngx_http_core_main_conf_t *cmcf)
{
    ngx_uint_t                         i;

    static ngx_array_t                *list;
    static ngx_http_core_main_conf_t  *list_cmcf;

    /* reuse the list if it belongs to this configuration; a process can have
     * had another one before only with "master_process off" */

    if (list_cmcf == cmcf) {
        return list;
    }

    list_cmcf = NULL;

    list = ngx_array_create(ngx_cycle->pool, 8, sizeof(ngx_http_mcp_freeze_t));
    if (list == NULL) {
        return NULL;
    }

    for (i = 0; i < cmcf->variables.nelts; i++) {
        if (ngx_http_mcp_snapshot_add_variable(list, cmcf, i) != NGX_OK) {
            return NULL;
        }
    }

    list_cmcf = cmcf;

    return list;
}


/* Adds a variable to the list if a snapshot may have to copy its value. */
static ngx_int_t
ngx_http_mcp_snapshot_add_variable(ngx_array_t *list,
    ngx_http_core_main_conf_t *cmcf, ngx_uint_t index)
{
    ngx_uint_t              evaluate;
    ngx_http_variable_t    *v;
    ngx_http_mcp_freeze_t  *freeze;

    v = (ngx_http_variable_t *) cmcf->variables.elts + index;

    evaluate = ngx_http_mcp_snapshot_is_one(&v->name,
                                            ngx_http_mcp_connection_variables);

    if (!evaluate
        && (!(v->flags & NGX_HTTP_VAR_CHANGEABLE)
            || (v->flags & NGX_HTTP_VAR_NOCACHEABLE)))
    {
        return NGX_OK;
    }

    freeze = ngx_array_push(list);
    if (freeze == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(freeze, sizeof(ngx_http_mcp_freeze_t));

    freeze->index = index;
    freeze->evaluate = evaluate;
    freeze->local = ngx_http_mcp_snapshot_is_one(&v->name,
                                                 ngx_http_mcp_local_variables);

    /* detect a variable of "set" by v->data, which is the variable's index.
     * Other variables are tested by a call of their handler, but the handler of
     * "set" would log a warning */

    freeze->assigned = (v->data == index);

    return NGX_OK;
}


ngx_uint_t
ngx_http_mcp_snapshot_is_user(ngx_http_request_t *r, ngx_uint_t index)
{
    ngx_http_variable_t        *v;
    ngx_http_core_main_conf_t  *cmcf;

    cmcf = ngx_http_get_module_main_conf(r, ngx_http_core_module);
    v = (ngx_http_variable_t *) cmcf->variables.elts + index;

    return ngx_http_mcp_snapshot_is_one(&v->name, ngx_http_mcp_user_variables);
}


/* Returns 1 if the list "known" contains the name; an asterisk at the end of
 * an entry matches any rest. */
static ngx_uint_t
ngx_http_mcp_snapshot_is_one(ngx_str_t *name, ngx_str_t *known)
{
    size_t  len;

    for ( ; known->len; known++) {
        len = known->len;

        if (known->data[len - 1] == '*') {
            len--;

            if (name->len < len) {
                continue;
            }

        } else if (name->len != len) {
            continue;
        }

        if (ngx_strncmp(name->data, known->data, len) == 0) {
            return 1;
        }
    }

    return 0;
}


/*
 * Discards the cached values of variables if the local address of the client's
 * connection differs from that of the previous snapshot.  The values are cached
 * because most clients connect to the same local address.
 */
static void
ngx_http_mcp_snapshot_know(ngx_http_mcp_source_t *source)
{
    ngx_uint_t              i;
    ngx_connection_t       *c;

    static ngx_sockaddr_t   known;
    static socklen_t        known_len;

    c = source->request->connection;

    if (c->local_socklen == known_len
        && ngx_memcmp(c->local_sockaddr, &known, known_len) == 0)
    {
        return;
    }

    for (i = 0; i < source->nfreeze; i++) {
        source->freeze[i].known.valid = 0;
    }

    known_len = ngx_min(c->local_socklen, (socklen_t) sizeof(known));
    ngx_memcpy(&known, c->local_sockaddr, known_len);
}


/*
 * Returns the value of a variable that the snapshot copies, or NULL.  A value
 * is copied if it depends on the client's connection, or if it cannot be
 * computed again, like the values of "set", "auth_request_set" and named
 * captures.  Maps and similar variables are computed again, because the
 * variables that they use may differ in the request to the backend.
 */
static ngx_http_variable_value_t *
ngx_http_mcp_snapshot_freezes(ngx_http_request_t *r, ngx_http_mcp_freeze_t *f)
{
    ngx_http_variable_value_t  *vv;

    if (f->computed) {
        return NULL;
    }

    if (f->evaluate) {
        vv = f->known.valid ? &f->known : ngx_http_mcp_snapshot_evaluate(r, f);
        return vv && vv->valid && !vv->no_cacheable ? vv : NULL;
    }

    vv = &r->variables[f->index];

    if (!vv->valid || vv->no_cacheable) {
        return NULL;
    }

    if (!f->assigned) {
        f->assigned = ngx_http_mcp_snapshot_is_assigned(r, f->index);
        f->computed = !f->assigned;
    }

    return f->assigned ? vv : NULL;
}


static ngx_http_variable_value_t *
ngx_http_mcp_snapshot_evaluate(ngx_http_request_t *r, ngx_http_mcp_freeze_t *f)
{
    ngx_http_variable_value_t  *vv;

    vv = ngx_http_get_indexed_variable(r, f->index);

    if (vv && f->local && vv->valid && !vv->no_cacheable
        && vv->len <= sizeof(f->text))
    {
        f->known = *vv;
        f->known.data = f->text;
        ngx_memcpy(f->text, vv->data, vv->len);
    }

    return vv;
}


/*
 * Returns 1 if a variable is only ever assigned: its handler computes no
 * value.
 */
static ngx_uint_t
ngx_http_mcp_snapshot_is_assigned(ngx_http_request_t *r, ngx_uint_t index)
{
    ngx_http_variable_t        *v;
    ngx_http_variable_value_t   probe;
    ngx_http_core_main_conf_t  *cmcf;

    cmcf = ngx_http_get_module_main_conf(r, ngx_http_core_module);
    v = (ngx_http_variable_t *) cmcf->variables.elts + index;

    ngx_memzero(&probe, sizeof(ngx_http_variable_value_t));

    return v->get_handler(r, &probe, v->data) == NGX_OK && probe.not_found;
}
