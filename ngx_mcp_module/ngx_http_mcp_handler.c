/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Client requests: this file passes their heads and bodies to the core, and
 * sends the core's responses.  An exchange lives as long as the pool of its
 * request, because access logs use the variables of the exchange.
 */


#include "ngx_http_mcp_handler.h"

#include "ngx_http_mcp_call.h"
#include "ngx_http_mcp_config.h"
#include "ngx_http_mcp_head.h"
#include "ngx_http_mcp_stream.h"
#include "ngx_http_mcp_variables.h"
#include "ngx_http_mcp_worker.h"


/*
 * free memory that must remain in a block of the request's pool after an
 * exchange was put there, bytes: nginx needs about 800 to send a response
 */
#define NGX_HTTP_MCP_RESPONSE_SPACE  1024


static ngx_int_t ngx_http_mcp_start(ngx_http_request_t *r,
    ngx_http_mcp_zone_t *zone, ngx_uint_t publish);
static ngx_int_t ngx_http_mcp_check(ngx_http_request_t *r,
    ngx_http_mcp_zone_t *zone);
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
 * Makes an HTTP/2 connection send GOAWAY if this process is shutting down.
 *
 * nginx sends GOAWAY itself, but too late in two cases.  The first case occurs
 * in versions before 1.27.1, if the connection is in its TLS handshake when the
 * shutdown begins.  The second case occurs if this module has just ended the
 * last stream of the connection.  A client that keeps such a connection would
 * resume its stream at the process that is shutting down, and this process
 * would end the stream at once.  So this function is called twice for each
 * request: when the request begins, so that the client gets GOAWAY before the
 * response, and when the request ends (ends: 1).
 */
static void
ngx_http_mcp_leave(ngx_http_request_t *r, ngx_uint_t ends)
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

    /* if the last stream ends before TLS has written all its data, do not
     * close: ngx_http_v2_finalize_connection() would drop the rest.  The next
     * request of the connection gets GOAWAY. */

    if (ends && h2c->processing == 1 && c->buffered) {
        c->close = 0;
        return;
    }

    /* post the read event instead of calling its handler, because frames of
     * this request may be pending.  Set "ready", because
     * ngx_http_v2_handle_connection_handler(), which nginx sets after the last
     * stream, checks c->close only for a ready event */

    c->close = 1;
    c->read->ready = 1;

    ngx_post_event(c->read, &ngx_posted_events);
}

#endif


/* Returns 1 if the response has been written to the socket completely. */
static ngx_uint_t
ngx_http_mcp_is_sent(ngx_http_request_t *r)
{
    ngx_connection_t  *c;

    c = r->connection;

    return r->header_sent && !r->buffered && r->out == NULL
           && !c->error && !c->timedout && !c->buffered;
}


static void
ngx_http_mcp_cleanup(void *data)
{
    ngx_http_mcp_ctx_t  *ctx = data;

#if (NGX_HTTP_V2)
    ngx_http_mcp_leave(ctx->request, 1);
#endif

    if (ctx->exchange) {
        ngx_log_debug1(NGX_LOG_DEBUG_HTTP, ctx->request->connection->log, 0,
                       "mcp call %V: the HTTP request is freed",
                       ngx_http_mcp_ctx_call(ctx));

        if (ngx_http_mcp_is_sent(ctx->request)) {
            mcp_exchange_sent(ctx->exchange);
        }

        mcp_exchange_free(ctx->exchange);
        ngx_http_mcp_worker_arm(ctx->zone);
    }

    ngx_http_mcp_stream_destroy(ctx);
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


/*
 * Adds a clean-up to the request that makes logs evaluate the variables $mcp_*
 * again, because "add_header" may have read them before they had their final
 * values.
 */
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


/*
 * Returns memory for an exchange from the free part of a block that the
 * request's pool already has.  Allocating a second block would waste most of
 * that block for as long as the exchange lives.  Leaves
 * NGX_HTTP_MCP_RESPONSE_SPACE bytes of the block free, for nginx's response.
 * Returns NULL if no block has enough free memory.
 */
static void *
ngx_http_mcp_exchange_room(ngx_pool_t *pool)
{
    size_t       size, wanted;
    ngx_pool_t  *p;

    size = mcp_exchange_size();
    wanted = size + NGX_HTTP_MCP_RESPONSE_SPACE;

    for (p = pool->current; p; p = p->d.next) {
        if ((size_t) (p->d.end - p->d.last) >= wanted) {
            return ngx_palloc(pool, size);
        }
    }

    return NULL;
}


static mcp_exchange_t *
ngx_http_mcp_create_exchange(ngx_http_mcp_ctx_t *ctx, ngx_uint_t publish)
{
    void                     *room;
    mcp_worker_t             *worker;
    ngx_http_mcp_loc_conf_t  *mlcf;

    worker = ctx->zone->worker;
    mlcf = ngx_http_get_module_loc_conf(ctx->request, ngx_http_mcp_module);

    if (publish) {
        return mcp_exchange_create_publish(worker, mlcf->endpoint,
                                         mcp_setup_publish_secret(mlcf->setup),
                                         (int) mlcf->publish_open, ctx);
    }

    room = ngx_http_mcp_exchange_room(ctx->request->pool);

    return room ? mcp_exchange_create_in(room, worker, mlcf->endpoint, ctx)
                : mcp_exchange_create(worker, mlcf->endpoint, ctx);
}


static ngx_http_mcp_ctx_t *
ngx_http_mcp_create_ctx(ngx_http_request_t *r, ngx_http_mcp_zone_t *zone,
    ngx_uint_t publish)
{
    ngx_http_mcp_ctx_t  *ctx;
    ngx_pool_cleanup_t  *cln;

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
    ngx_http_mcp_leave(r, 0);
#endif

    ctx->exchange = ngx_http_mcp_create_exchange(ctx, publish);
    if (ctx->exchange == NULL) {
        return NULL;
    }

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "mcp request of a %s begins",
                   publish ? "publisher" : "client");

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

    /* find the context by the clean-up entry, because an internal redirect
     * clears the contexts */

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

    rc = ngx_http_mcp_check(r, zone);
    if (rc != NGX_OK) {
        return rc;
    }

    /* ignore If-Modified-Since and similar headers: responses of an endpoint
     * are never cached, and nginx would test the conditions only after the
     * call */

    r->disable_not_modified = 1;

    ctx = ngx_http_mcp_create_ctx(r, zone, publish);
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_http_mcp_head_make(r, &head) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    switch (mcp_exchange_head(ctx->exchange, &head)) {

    case MCP_NEXT_BODY:
        r->request_body_in_single_buf = 1;

        rc = ngx_http_read_client_request_body(r, ngx_http_mcp_body_handler);

        return rc >= NGX_HTTP_SPECIAL_RESPONSE ? rc : NGX_DONE;

    case MCP_NEXT_RESPOND:
        rc = ngx_http_discard_request_body(r);

        return rc == NGX_OK ? ngx_http_mcp_send_response(r, ctx) : rc;

    case MCP_NEXT_STREAM:

        /* read the body, although the core does not need it: while nginx
         * discards a body, nginx does not notice that the client disconnects */

        rc = ngx_http_read_client_request_body(r, ngx_http_mcp_stream_handler);

        if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
            ctx->ended = 1;
            return rc;
        }

        return NGX_DONE;

    case MCP_NEXT_WAIT:
    case MCP_NEXT_CONTINUE:
    case MCP_NEXT_ERROR:
        break;
    }

    return NGX_HTTP_INTERNAL_SERVER_ERROR;
}


/*
 * Checks whether this process can serve the request.  Returns NGX_OK, or the
 * HTTP status of the response.
 */
static ngx_int_t
ngx_http_mcp_check(ngx_http_request_t *r, ngx_http_mcp_zone_t *zone)
{
    if (r != r->main) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "an MCP endpoint cannot answer a subrequest");
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_http_mcp_call_backend_request(r) != NULL) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "the location of an MCP backend redirects to an MCP "
                      "endpoint");
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (!zone->ready) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "this process is not attached to MCP zone \"%V\" (an "
                      "earlier line of this process has the cause)",
                      &zone->name);
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_mcp_copy_buf(ngx_buf_t *b, char *p, ngx_log_t *log)
{
    size_t   size;
    ssize_t  n;

    size = (size_t) ngx_buf_size(b);

    if (ngx_buf_in_memory(b)) {
        ngx_memcpy(p, b->pos, size);
        return NGX_OK;
    }

    if (!b->in_file) {
        return NGX_OK;
    }

    n = ngx_read_file(b->file, (u_char *) p, size, b->file_pos);

    if (n == NGX_ERROR) {
        return NGX_ERROR;
    }

    if ((size_t) n != size) {
        ngx_log_error(NGX_LOG_CRIT, log, 0,
                      ngx_read_file_n " \"%V\" returned only %z bytes "
                      "instead of %uz", &b->file->name, n, size);
        return NGX_ERROR;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_mcp_copy_body(ngx_http_request_t *r, ngx_http_mcp_ctx_t *ctx,
    size_t *len)
{
    char         *p;
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
        if (ngx_http_mcp_copy_buf(cl->buf, p, r->connection->log) != NGX_OK) {
            return NGX_ERROR;
        }

        p += ngx_buf_size(cl->buf);
    }

    return NGX_OK;
}


static void
ngx_http_mcp_stream_handler(ngx_http_request_t *r)
{
    ngx_http_mcp_stream_start(ngx_http_get_module_ctx(r, ngx_http_mcp_module));
}


/*
 * Makes the request wait for an action of the core.  Meanwhile the request
 * reacts only to a disconnection of the client, which may already have occurred
 * while the body was read.
 */
static ngx_int_t
ngx_http_mcp_wait(ngx_http_request_t *r, ngx_http_mcp_ctx_t *ctx)
{
    ngx_connection_t  *c;

    c = r->connection;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, c->log, 0,
                   "mcp call %V: the client waits for the response",
                   ngx_http_mcp_ctx_call(ctx));

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
    size_t               len;
    mcp_next_e           next;
    ngx_http_mcp_ctx_t  *ctx;

    ctx = ngx_http_get_module_ctx(r, ngx_http_mcp_module);

    if (ngx_http_mcp_copy_body(r, ctx, &len) != NGX_OK) {
        ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
        return;
    }

    next = mcp_exchange_body(ctx->exchange, len);

    ngx_http_mcp_worker_arm(ctx->zone);

    switch (next) {

    case MCP_NEXT_RESPOND:
        ngx_http_finalize_request(r, ngx_http_mcp_send_response(r, ctx));
        return;

    case MCP_NEXT_STREAM:
        ngx_http_mcp_stream_start(ctx);
        return;

    case MCP_NEXT_WAIT:
        if (ngx_http_mcp_wait(r, ctx) == NGX_OK) {
            return;
        }

        break;

    case MCP_NEXT_BODY:
    case MCP_NEXT_CONTINUE:
    case MCP_NEXT_ERROR:
        break;
    }

    ctx->waiting = 0;
    ctx->ended = 1;
    ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
}


ngx_int_t
ngx_http_mcp_set_headers(ngx_http_request_t *r, const mcp_response_t *response)
{
    size_t            i;
    ngx_table_elt_t  *h;

    r->headers_out.status = response->status;

    if (response->content_type.len) {
        r->headers_out.content_type = ngx_http_mcp_text(response->content_type);
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
        h->key = ngx_http_mcp_text(response->headers[i].name);
        h->value = ngx_http_mcp_text(response->headers[i].value);

        if (mcp_str_eq(response->headers[i].name, mcp_str("ETag"))) {
            r->headers_out.etag = h;
        }
    }

    return NGX_OK;
}


/*
 * Sends the response. nginx holds the head back until the body, so that a
 * single writev() sends both.
 */
static ngx_int_t
ngx_http_mcp_send_response(ngx_http_request_t *r, ngx_http_mcp_ctx_t *ctx)
{
    ngx_int_t              rc;
    const mcp_response_t  *response;

    ctx->ended = 1;

    response = mcp_exchange_response(ctx->exchange);

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "mcp call %V: responds with HTTP status %d, %uz bytes",
                   ngx_http_mcp_ctx_call(ctx), response->status,
                   response->body.len);

    if (ngx_http_mcp_set_headers(r, response) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ctx->answered = 1;

    r->headers_out.content_length_n = response->body.len;

    /* the process is exiting, so nginx closes the connection after the
     * response: do not announce a persistent connection */

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

    return ngx_http_mcp_send_body(r, response->body);
}


ngx_int_t
ngx_http_mcp_send_body(ngx_http_request_t *r, mcp_str_t body)
{
    ngx_buf_t    *b;
    ngx_chain_t   out;

    b = ngx_calloc_buf(r->pool);
    if (b == NULL) {
        return NGX_ERROR;
    }

    b->pos = (u_char *) body.data;
    b->last = b->pos + body.len;
    b->start = b->pos;
    b->end = b->last;
    b->memory = 1;
    b->last_buf = 1;
    b->last_in_chain = 1;

    out.buf = b;
    out.next = NULL;

    return ngx_http_output_filter(r, &out);
}


ngx_str_t *
ngx_http_mcp_ctx_call(ngx_http_mcp_ctx_t *ctx)
{
    mcp_str_t  id;

    id = mcp_exchange_variables(ctx->exchange)->value[MCP_VARIABLE_CALL];

    if (id.len == 0) {
        id = mcp_str("-");
    }

    ctx->call = ngx_http_mcp_text(id);

    return &ctx->call;
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
