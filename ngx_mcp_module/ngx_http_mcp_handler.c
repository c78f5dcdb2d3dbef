/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Client requests: the head and the body go into the core, what it answers
 * goes out.  An exchange lives exactly as long as its request's pool, so that
 * logs can still ask it.
 */


#include "ngx_http_mcp_handler.h"

#include "ngx_http_mcp_call.h"
#include "ngx_http_mcp_config.h"
#include "ngx_http_mcp_head.h"
#include "ngx_http_mcp_stream.h"
#include "ngx_http_mcp_variables.h"
#include "ngx_http_mcp_worker.h"


static ngx_int_t ngx_http_mcp_start(ngx_http_request_t *r,
    ngx_http_mcp_zone_t *zone, ngx_uint_t publish);
static void ngx_http_mcp_body_handler(ngx_http_request_t *r);
static void ngx_http_mcp_stream_handler(ngx_http_request_t *r);
static ngx_int_t ngx_http_mcp_send_response(ngx_http_request_t *r,
    ngx_http_mcp_ctx_t *ctx);


ngx_int_t
ngx_http_mcp_handler(ngx_http_request_t *r)
{
    ngx_http_mcp_loc_conf_t  *mlcf;

    mlcf = ngx_http_get_module_loc_conf(r, ngx_http_mcp_module);

    return ngx_http_mcp_start(r, mlcf->zone, 0);
}


ngx_int_t
ngx_http_mcp_publish_handler(ngx_http_request_t *r)
{
    ngx_http_mcp_loc_conf_t  *mlcf;

    mlcf = ngx_http_get_module_loc_conf(r, ngx_http_mcp_module);

    return ngx_http_mcp_start(r, mlcf->publish_zone, 1);
}


#if (NGX_HTTP_V2)

/*
 * When a worker begins to wind up, nginx tells the HTTP/2 connections that it
 * has, but before 1.27.1 not one that is in its TLS handshake then; and one
 * whose last stream the bell has ended just before hears of it with the next
 * event.  A client that stays at such a worker comes back to one that ends
 * every stream at once, for as long as it keeps coming.  So a request tells its
 * connection: as it begins, to be heard before the response, and as it ends.
 */
static void
ngx_http_mcp_leave(ngx_http_request_t *r)
{
    ngx_connection_t          *c;
    ngx_http_v2_connection_t  *h2c;

    if (!ngx_exiting || r->stream == NULL) {
        return;
    }

    h2c = r->stream->connection;
    c = h2c->connection;

    if (h2c->goaway || c->error) {
        return;
    }

    /* not now: frames of this request may be on their way; ready: or the
     * handler that nginx sets after the last stream would not look at close */

    c->close = 1;
    c->read->ready = 1;

    ngx_post_event(c->read, &ngx_posted_events);
}

#endif


static void
ngx_http_mcp_cleanup(void *data)
{
    ngx_http_mcp_ctx_t  *ctx = data;

#if (NGX_HTTP_V2)
    ngx_http_mcp_leave(ctx->request);
#endif

    if (ctx->exchange) {
        mcp_exchange_free(ctx->exchange);
        ngx_http_mcp_worker_arm(ctx->zone);
    }

    if (ctx->buf) {
        ngx_free(ctx->buf);
    }
}


static void
ngx_http_mcp_end(void *data)
{
    ngx_http_request_t  *r = data;

    ngx_http_mcp_ctx_t  *ctx;

    ctx = ngx_http_mcp_get_ctx(r);

    if (ctx && ctx->exchange) {
        mcp_exchange_last(ctx->exchange);
    }

    ngx_http_mcp_variables_flush(r);
}


/* Logs shall have the last word, not what "add_header" saw. */
static ngx_int_t
ngx_http_mcp_watch_end(ngx_http_request_t *r)
{
    ngx_http_cleanup_t        *cln;
    ngx_http_mcp_main_conf_t  *mmcf;

    mmcf = ngx_http_get_module_main_conf(r, ngx_http_mcp_module);

    if (mmcf->variables.nelts == 0) {
        return NGX_OK;
    }

    cln = ngx_http_cleanup_add(r, 0);
    if (cln == NULL) {
        return NGX_ERROR;
    }

    cln->handler = ngx_http_mcp_end;
    cln->data = r;

    return NGX_OK;
}


static ngx_http_mcp_ctx_t *
ngx_http_mcp_create_ctx(ngx_http_request_t *r, ngx_http_mcp_zone_t *zone,
    ngx_uint_t publish)
{
    ngx_http_mcp_ctx_t       *ctx;
    ngx_pool_cleanup_t       *cln;
    ngx_http_mcp_loc_conf_t  *mlcf;

    mlcf = ngx_http_get_module_loc_conf(r, ngx_http_mcp_module);

    if (ngx_http_mcp_watch_end(r) != NGX_OK) {
        return NULL;
    }

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_http_mcp_ctx_t));
    if (cln == NULL) {
        return NULL;
    }

    ctx = cln->data;
    ngx_memzero(ctx, sizeof(ngx_http_mcp_ctx_t));

    ctx->request = r;
    ctx->zone = zone;

#if (NGX_HTTP_V2)
    ngx_http_mcp_leave(r);
#endif

    if (publish) {
        ctx->exchange = mcp_exchange_create_publish(&zone->worker,
                                     &mlcf->endpoint,
                                     mcp_setup_publish_secret(mlcf->setup),
                                     (int) mlcf->publish_open, ctx);

    } else {
        ctx->exchange = mcp_exchange_create(&zone->worker, &mlcf->endpoint,
                                            ctx);
    }

    if (ctx->exchange == NULL) {
        return NULL;
    }

    cln->handler = ngx_http_mcp_cleanup;

    ngx_http_set_ctx(r, ctx, ngx_http_mcp_module);

    return ctx;
}


ngx_http_mcp_ctx_t *
ngx_http_mcp_get_ctx(ngx_http_request_t *r)
{
    ngx_http_mcp_ctx_t  *ctx;
    ngx_pool_cleanup_t  *cln;

    r = r->main;

    ctx = ngx_http_get_module_ctx(r, ngx_http_mcp_module);

    if (ctx || (!r->internal && !r->filter_finalize)) {
        return ctx;
    }

    /* a redirect has cleared the contexts */

    for (cln = r->pool->cleanup; cln; cln = cln->next) {
        if (cln->handler == ngx_http_mcp_cleanup) {
            return cln->data;
        }
    }

    return NULL;
}


static ngx_int_t
ngx_http_mcp_start(ngx_http_request_t *r, ngx_http_mcp_zone_t *zone,
    ngx_uint_t publish)
{
    ngx_int_t            rc;
    mcp_head_t           head;
    ngx_http_mcp_ctx_t  *ctx;

    if (r != r->main) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "an MCP location cannot answer a subrequest");
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_http_mcp_call_invocation(r)) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "the location of an MCP backend leads to an MCP "
                      "location");
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (!zone->ready) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "this process has no part in MCP zone \"%V\"",
                      &zone->name);
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    ctx = ngx_http_mcp_create_ctx(r, zone, publish);
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_http_mcp_head_make(r, &head) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    switch (mcp_exchange_head(ctx->exchange, &head)) {

    case MCP_AGAIN:
        r->request_body_in_single_buf = 1;

        rc = ngx_http_read_client_request_body(r, ngx_http_mcp_body_handler);

        if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
            return rc;
        }

        return NGX_DONE;

    case MCP_OK:
        rc = ngx_http_discard_request_body(r);

        if (rc != NGX_OK) {
            return rc;
        }

        return ngx_http_mcp_send_response(r, ctx);

    case MCP_DONE:

        /* none is wanted, but while one is discarded nobody would notice that
         * the client leaves */

        rc = ngx_http_read_client_request_body(r, ngx_http_mcp_stream_handler);

        if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
            ctx->ended = 1;
            return rc;
        }

        return NGX_DONE;

    default:
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
}


static ngx_int_t
ngx_http_mcp_copy_body(ngx_http_request_t *r, ngx_http_mcp_ctx_t *ctx,
    size_t *len)
{
    char         *p;
    size_t        size;
    ssize_t       n;
    ngx_buf_t    *b;
    ngx_chain_t  *cl, *bufs;

    bufs = r->request_body ? r->request_body->bufs : NULL;
    *len = 0;

    for (cl = bufs; cl; cl = cl->next) {
        *len += (size_t) ngx_buf_size(cl->buf);
    }

    p = mcp_exchange_body_space(ctx->exchange, *len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    for (cl = bufs; cl; cl = cl->next) {
        b = cl->buf;
        size = (size_t) ngx_buf_size(b);

        if (ngx_buf_in_memory(b)) {
            p = (char *) ngx_cpymem(p, b->pos, size);
            continue;
        }

        if (!b->in_file) {
            continue;
        }

        n = ngx_read_file(b->file, (u_char *) p, size, b->file_pos);

        if (n == NGX_ERROR) {
            return NGX_ERROR;
        }

        if ((size_t) n != size) {
            ngx_log_error(NGX_LOG_CRIT, r->connection->log, 0,
                          ngx_read_file_n " \"%V\" returned only %z bytes "
                          "instead of %uz", &b->file->name, n, size);
            return NGX_ERROR;
        }

        p += size;
    }

    return NGX_OK;
}


static void
ngx_http_mcp_stream_handler(ngx_http_request_t *r)
{
    ngx_http_mcp_stream_start(ngx_http_get_module_ctx(r, ngx_http_mcp_module));
}


/* From here on only the client's leaving is of interest: see whether it left
 * while the body was read. */
static ngx_int_t
ngx_http_mcp_wait(ngx_http_request_t *r, ngx_http_mcp_ctx_t *ctx)
{
    ngx_connection_t  *c;

    c = r->connection;

    ctx->waiting = 1;

    r->read_event_handler = ngx_http_test_reading;
    r->write_event_handler = ngx_http_request_empty_handler;

    if (c->read->ready) {
        ngx_post_event(c->read, &ngx_posted_events);
        return NGX_OK;
    }

    return ngx_handle_read_event(c->read, 0);
}


static void
ngx_http_mcp_body_handler(ngx_http_request_t *r)
{
    int                  rc;
    size_t               len;
    ngx_http_mcp_ctx_t  *ctx;

    ctx = ngx_http_get_module_ctx(r, ngx_http_mcp_module);

    if (ngx_http_mcp_copy_body(r, ctx, &len) != NGX_OK) {
        ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
        return;
    }

    rc = mcp_exchange_body(ctx->exchange, len);

    ngx_http_mcp_worker_arm(ctx->zone);

    switch (rc) {

    case MCP_OK:
        ngx_http_finalize_request(r, ngx_http_mcp_send_response(r, ctx));
        return;

    case MCP_DONE:
        ngx_http_mcp_stream_start(ctx);
        return;

    case MCP_AGAIN:
        if (ngx_http_mcp_wait(r, ctx) == NGX_OK) {
            return;
        }

        /* fall through */

    default:
        ctx->waiting = 0;
        ctx->ended = 1;
        ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
        return;
    }
}


ngx_int_t
ngx_http_mcp_set_headers(ngx_http_request_t *r, const mcp_response_t *response)
{
    size_t            i;
    ngx_table_elt_t  *h;

    r->headers_out.status = response->status;

    if (response->content_type.len) {
        r->headers_out.content_type.data =
                                      (u_char *) response->content_type.data;
        r->headers_out.content_type.len = response->content_type.len;
        r->headers_out.content_type_len = response->content_type.len;
        r->headers_out.content_type_lowcase = NULL;
    }

    for (i = 0; i < response->n_headers; i++) {
        h = ngx_list_push(&r->headers_out.headers);
        if (h == NULL) {
            return NGX_ERROR;
        }

        ngx_memzero(h, sizeof(ngx_table_elt_t));

        h->hash = 1;
        h->key.data = (u_char *) response->headers[i].name.data;
        h->key.len = response->headers[i].name.len;
        h->value.data = (u_char *) response->headers[i].value.data;
        h->value.len = response->headers[i].value.len;
    }

    return NGX_OK;
}


/* The header waits for the body: both go out in one writev(). */
static ngx_int_t
ngx_http_mcp_send_response(ngx_http_request_t *r, ngx_http_mcp_ctx_t *ctx)
{
    ngx_int_t              rc;
    ngx_buf_t             *b;
    ngx_chain_t            out;
    const mcp_response_t  *response;

    ctx->ended = 1;

    response = mcp_exchange_response(ctx->exchange);

    if (ngx_http_mcp_set_headers(r, response) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    r->headers_out.content_length_n = response->body.len;

    /* nginx would say that it keeps the connection, and close it */

    if (ngx_exiting) {
        r->keepalive = 0;
    }

    if (response->body.len == 0) {
        r->header_only = 1;
    }

    rc = ngx_http_send_header(r);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    b = ngx_calloc_buf(r->pool);
    if (b == NULL) {
        return NGX_ERROR;
    }

    b->pos = (u_char *) response->body.data;
    b->last = b->pos + response->body.len;
    b->start = b->pos;
    b->end = b->last;
    b->memory = 1;
    b->last_buf = 1;
    b->last_in_chain = 1;

    out.buf = b;
    out.next = NULL;

    return ngx_http_output_filter(r, &out);
}


void
ngx_http_mcp_respond(ngx_http_mcp_ctx_t *ctx)
{
    ngx_http_request_t  *r;

    r = ctx->request;

    if (!ctx->waiting) {
        return;
    }

    ctx->waiting = 0;

    ngx_http_finalize_request(r, ngx_http_mcp_send_response(r, ctx));
}
