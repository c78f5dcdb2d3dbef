/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The request in a backend's location, with headers and variables from the
 * snapshot: usually a POST with the call's JSON-RPC request as its body, but a
 * GET or DELETE for streams and sessions of MCP servers.
 */


#include "ngx_http_mcp_request.h"

#include "ngx_http_mcp_variables.h"

#include "mcp_forward.h"


static void ngx_http_mcp_request_init_line(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req);
static void ngx_http_mcp_request_cut_query(ngx_str_t *s);
static ngx_int_t ngx_http_mcp_request_init_body(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req);
static ngx_int_t ngx_http_mcp_request_init_headers(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req);
static void ngx_http_mcp_request_length_header(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req);
static void ngx_http_mcp_request_own_headers(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req);
static ngx_int_t ngx_http_mcp_request_client_headers(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req);
static ngx_uint_t ngx_http_mcp_request_replaces(mcp_backend_request_t *breq,
    ngx_str_t *name);
static ngx_int_t ngx_http_mcp_request_add_header(ngx_http_request_t *r,
    const mcp_header_t *header);


/*
 * The header lines that this module sets; the client's lines follow them.
 * First come the lines of the core's list mcp_forward_headers.  Host is the
 * last one, because it is left out if the client's host is unknown.
 */
static ngx_table_elt_t  ngx_http_mcp_request_headers[] = {
    { .lowcase_key = (u_char *) "content-type" },

    { .lowcase_key = (u_char *) "accept" },

    { .key = ngx_string("Host"),
      .lowcase_key = (u_char *) "host" }
};

#define NGX_HTTP_MCP_REQUEST_HEADERS                                          \
    (sizeof(ngx_http_mcp_request_headers) / sizeof(ngx_table_elt_t))


/*
 * Content-Length is not in the list of header lines, because each upstream
 * module sets the length of the body itself, and $content_length does not
 * search the list.
 */
static ngx_table_elt_t  ngx_http_mcp_request_length = {
    .hash = 1,
    .key = ngx_string("Content-Length"),
    .lowcase_key = (u_char *) "content-length"
};


static const struct {
    ngx_uint_t  method;
    ngx_str_t   name;
} ngx_http_mcp_request_methods[MCP_BACKEND_REQUEST_METHODS] = {
    [MCP_BACKEND_REQUEST_POST] = { NGX_HTTP_POST, ngx_string("POST") },
    [MCP_BACKEND_REQUEST_GET] = { NGX_HTTP_GET, ngx_string("GET") },
    [MCP_BACKEND_REQUEST_DELETE] = { NGX_HTTP_DELETE, ngx_string("DELETE") },
};
static ngx_str_t  ngx_http_mcp_request_protocol = ngx_string("HTTP/1.1");


void
ngx_http_mcp_request_init_process(void)
{
    ngx_uint_t        i;
    ngx_table_elt_t  *h;

    for (i = 0; i < NGX_HTTP_MCP_REQUEST_HEADERS; i++) {
        h = &ngx_http_mcp_request_headers[i];

        if (i < mcp_forward_n_headers) {
            h->key = ngx_http_mcp_text(mcp_forward_headers[i].name);
            h->value = ngx_http_mcp_text(mcp_forward_headers[i].value);
        }

        h->hash = ngx_hash_key(h->lowcase_key, h->key.len);
    }
}


ngx_http_request_t *
ngx_http_mcp_request_create(ngx_connection_t *c,
    ngx_http_mcp_backend_request_t *req, ngx_http_cleanup_pt end)
{
    ngx_http_cleanup_t  *cln;
    ngx_http_request_t  *r;

    r = ngx_http_create_request(c);
    if (r == NULL) {
        return NULL;
    }

    c->data = r;

#if (NGX_STAT_STUB)
    (void) ngx_atomic_fetch_add(ngx_stat_reading, -1);
    r->stat_reading = 0;
    (void) ngx_atomic_fetch_add(ngx_stat_writing, 1);
    r->stat_writing = 1;
#endif

    /* no access log line, unless ngx_http_mcp_call_log_line() enables it */

    r->logged = 1;

    ngx_http_mcp_request_init_line(r, req);

    /* from here on the end of the request ends the backend request */

    cln = ngx_http_cleanup_add(r, 0);
    if (cln == NULL) {
        ngx_http_free_request(r, 0);
        c->destroyed = 0;
        return NULL;
    }

    cln->handler = end;
    cln->data = req;

    req->request = r;
    req->breq->glue = req;
    req->last_read = ngx_current_msec;

    ngx_http_mcp_variables_fill(r, req->breq);

    if (ngx_http_mcp_request_init_body(r, req) != NGX_OK
        || ngx_http_mcp_request_init_headers(r, req) != NGX_OK)
    {
        if (!c->destroyed) {
            ngx_http_finalize_request(r, NGX_ERROR);
            ngx_http_run_posted_requests(c);
        }

        return NULL;
    }

    return r;
}


static void
ngx_http_mcp_request_init_line(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req)
{
    ngx_uint_t                i;
    ngx_http_mcp_frozen_t    *frozen;
    ngx_http_mcp_snapshot_t  *snapshot;

    snapshot = req->snapshot;

    r->main_conf = snapshot->main_conf;
    r->srv_conf = snapshot->srv_conf;
    r->loc_conf = snapshot->loc_conf;

    r->http_state = NGX_HTTP_PROCESS_REQUEST_STATE;
    r->http_version = NGX_HTTP_VERSION_11;
    r->http_protocol = ngx_http_mcp_request_protocol;

    r->method = ngx_http_mcp_request_methods[req->breq->http_method].method;
    r->method_name = ngx_http_mcp_request_methods[req->breq->http_method].name;

    r->request_line = snapshot->request_line;
    r->unparsed_uri = snapshot->unparsed_uri;
    r->uri = snapshot->uri;

    if (req->breq->bare) {
        ngx_http_mcp_request_cut_query(&r->request_line);
        ngx_http_mcp_request_cut_query(&r->unparsed_uri);

    } else {
        r->args = snapshot->args;
    }

    r->valid_location = 1;
    r->valid_unparsed_uri = 1;
    r->limit_rate_set = 1;
    r->limit_rate_after_set = 1;

    ngx_http_set_exten(r);

    for (i = 0; i < snapshot->nfrozen; i++) {
        frozen = &snapshot->frozen[i];

        if (req->breq->bare
            && ngx_http_mcp_snapshot_is_user(r, frozen->index))
        {
            continue;
        }

        r->variables[frozen->index] = frozen->value;
    }
}


static void
ngx_http_mcp_request_cut_query(ngx_str_t *s)
{
    u_char  *p;

    p = ngx_strlchr(s->data, s->data + s->len, '?');

    if (p) {
        s->len = p - s->data;
    }
}


/*
 * Sets the body of the request.  nginx may use the body after the core has
 * ended the backend request.  Usually the body is in the memory of the call,
 * which ngx_http_mcp_call.c retains by mcp_call_retain().  If the core has
 * rebuilt the body for this backend request, copies it.
 */
static ngx_int_t
ngx_http_mcp_request_init_body(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req)
{
    ngx_buf_t  *b;
    mcp_str_t  *body;

    body = &req->breq->body;

    b = &req->body_buf;

    b->start = (u_char *) body->data;

    if (req->breq->rebuilt) {
        b->start = ngx_pnalloc(r->pool, body->len);
        if (b->start == NULL) {
            return NGX_ERROR;
        }

        ngx_memcpy(b->start, body->data, body->len);
    }

    b->pos = b->start;
    b->last = b->start + body->len;
    b->end = b->last;
    b->memory = (body->len != 0);
    b->last_buf = 1;
    b->last_in_chain = 1;

    req->body_chain.buf = b;
    req->body.bufs = &req->body_chain;
    req->body.received = body->len;

    /* with request_body set, ngx_http_read_client_request_body() treats the
     * body as read */

    r->request_body = &req->body;
    r->request_length = body->len;
    r->headers_in.content_length_n = body->len;

    return NGX_OK;
}


static ngx_int_t
ngx_http_mcp_request_init_headers(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req)
{
    size_t                  i;
    ngx_uint_t              n;
    mcp_backend_request_t  *breq;

    breq = req->breq;

    n = NGX_HTTP_MCP_REQUEST_HEADERS + req->snapshot->nlines + breq->n_headers;

    if (ngx_list_init(&r->headers_in.headers, r->pool, n,
                      sizeof(ngx_table_elt_t))
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_http_mcp_request_length_header(r, req);
    ngx_http_mcp_request_own_headers(r, req);

    r->headers_in.server = req->snapshot->server;

    if (!breq->bare && ngx_http_mcp_request_client_headers(r, req) != NGX_OK) {
        return NGX_ERROR;
    }

    for (i = 0; i < breq->n_headers; i++) {
        if (ngx_http_mcp_request_add_header(r, &breq->headers[i]) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


static void
ngx_http_mcp_request_length_header(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req)
{
    u_char  *end;

    end = (u_char *) mcp_uint_print((char *) req->length, req->breq->body.len);

    req->content_length = ngx_http_mcp_request_length;
    req->content_length.value.data = req->length;
    req->content_length.value.len = end - req->length;

    r->headers_in.content_length = &req->content_length;
}


static void
ngx_http_mcp_request_own_headers(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req)
{
    ngx_list_t       *list;
    ngx_table_elt_t  *h;

    list = &r->headers_in.headers;

    h = list->part.elts;
    ngx_memcpy(h, ngx_http_mcp_request_headers,
               sizeof(ngx_http_mcp_request_headers));

    r->headers_in.content_type = h++;

#if (NGX_HTTP_HEADERS)
    r->headers_in.accept = h;
#endif
    h++;

    /* Host is missing if the client has sent none, which HTTP/2 and HTTP/3
     * permit */

    if (req->snapshot->host.len) {
        h->value = req->snapshot->host;
        r->headers_in.host = h++;
    }

    list->part.nelts = h - (ngx_table_elt_t *) list->part.elts;
}


static ngx_int_t
ngx_http_mcp_request_client_headers(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req)
{
    ngx_uint_t                i;
    ngx_table_elt_t          *h;
    ngx_http_mcp_line_t      *line;
    ngx_http_mcp_snapshot_t  *snapshot;

    snapshot = req->snapshot;

    for (i = 0; i < snapshot->nlines; i++) {
        line = &snapshot->lines[i];

        if (ngx_http_mcp_request_replaces(req->breq, &line->elt.key)) {
            continue;
        }

        h = ngx_list_push(&r->headers_in.headers);
        if (h == NULL) {
            return NGX_ERROR;
        }

        *h = line->elt;

        if (line->header
            && line->header->handler(r, h, line->header->offset) != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* Returns 1 if a header of the backend request has this name; the case of
 * letters does not matter. */
static ngx_uint_t
ngx_http_mcp_request_replaces(mcp_backend_request_t *breq, ngx_str_t *name)
{
    size_t  i;

    for (i = 0; i < breq->n_headers; i++) {
        if (breq->headers[i].name.len == name->len
            && ngx_strncasecmp((u_char *) breq->headers[i].name.data,
                               name->data, name->len)
               == 0)
        {
            return 1;
        }
    }

    return 0;
}


/* Adds a copy of a header of the backend request.  Name and value of a header
 * end with NUL in nginx. */
static ngx_int_t
ngx_http_mcp_request_add_header(ngx_http_request_t *r,
    const mcp_header_t *header)
{
    u_char           *p;
    ngx_table_elt_t  *h;

    h = ngx_list_push(&r->headers_in.headers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(h, sizeof(ngx_table_elt_t));

    p = ngx_pnalloc(r->pool, 2 * header->name.len + header->value.len + 2);
    if (p == NULL) {
        return NGX_ERROR;
    }

    h->key.data = p;
    h->key.len = header->name.len;
    p = ngx_cpymem(p, header->name.data, header->name.len);
    *p++ = '\0';

    h->value.data = p;
    h->value.len = header->value.len;
    p = ngx_cpymem(p, header->value.data, header->value.len);
    *p++ = '\0';

    h->lowcase_key = p;
    h->hash = ngx_hash_strlow(p, h->key.data, h->key.len);

    return NGX_OK;
}
