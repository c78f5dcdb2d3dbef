/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Consumers: exchanges whose response is a stream.  This file pulls bytes from
 * the core only after the socket has taken all earlier ones.  So a slow client
 * costs one buffer, and an idle client none.
 *
 * A body filter may keep a buffer after its call has returned, and may set
 * bits of r->buffered and c->buffered during the whole response.  These bits do
 * not show that the socket is full, because such a filter usually waits for
 * more bytes.  So a stream continues in another buffer while filters keep the
 * earlier ones.  Each buffer owns its memory until the filters have consumed
 * the buffer.
 */


#include "ngx_http_mcp_stream.h"

#include "ngx_http_mcp_worker.h"


#define NGX_HTTP_MCP_BUF_MIN  4096
#define NGX_HTTP_MCP_BUF_MAX  65536

/* size of the buffers that filters have not consumed, bytes, at which a stream
 * pauses */
#define NGX_HTTP_MCP_KEPT_MAX (4 * NGX_HTTP_MCP_BUF_MAX)

/* number of buffers that a stream may fill before other events get their
 * turn */
#define NGX_HTTP_MCP_STEPS    16


static ngx_int_t ngx_http_mcp_stream_head(ngx_http_request_t *r,
    ngx_http_mcp_ctx_t *ctx);
static ngx_int_t ngx_http_mcp_stream_listen(ngx_http_request_t *r);
static void ngx_http_mcp_stream_write_handler(ngx_http_request_t *r);
static void ngx_http_mcp_stream_run(ngx_http_mcp_ctx_t *ctx);


void
ngx_http_mcp_stream_start(ngx_http_mcp_ctx_t *ctx)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;

    r = ctx->request;

    ctx->waiting = 0;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "mcp call %V: begins the event stream",
                   ngx_http_mcp_ctx_call(ctx));

    rc = ngx_http_mcp_stream_head(r, ctx);

    if (rc != NGX_DONE) {
        ctx->ended = 1;
        ngx_http_finalize_request(r, rc);
        return;
    }

    ctx->streaming = 1;
    ctx->size = NGX_HTTP_MCP_BUF_MIN;

    if (ngx_http_mcp_stream_listen(r) != NGX_OK) {
        ctx->ended = 1;
        ngx_http_finalize_request(r, NGX_ERROR);
        return;
    }

    ngx_http_mcp_stream_run(ctx);
}


/*
 * Sends the head of a stream.  Returns NGX_DONE if the stream follows.
 * Otherwise returns the value with which the caller finalizes the request.
 */
static ngx_int_t
ngx_http_mcp_stream_head(ngx_http_request_t *r, ngx_http_mcp_ctx_t *ctx)
{
    ngx_int_t                  rc;
    ngx_http_core_loc_conf_t  *clcf;

    if (ngx_http_mcp_set_headers(r, mcp_exchange_response(ctx->exchange))
        != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ctx->answered = 1;

    r->headers_out.content_length_n = -1;

    /*
     * while the process keeps running, the head must not contain "Connection:
     * close": some clients would then take a reset for the regular end of the
     * body
     */

    if (ngx_exiting || ngx_terminate) {
        r->keepalive = 0;
    }

    /* nginx holds the head back until the first bytes of the stream */

    rc = ngx_http_send_header(r);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    /* set TCP_NODELAY: nginx does so only for persistent connections and for
     * upgrades */

    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    if (clcf->tcp_nodelay && ngx_tcp_nodelay(r->connection) != NGX_OK) {
        return NGX_ERROR;
    }

    return NGX_DONE;
}


/*
 * Sets the event handlers of a stream, by which nginx notices that the client
 * disconnects, or has disconnected already.
 */
static ngx_int_t
ngx_http_mcp_stream_listen(ngx_http_request_t *r)
{
    ngx_event_t  *rev;

    rev = r->connection->read;

    r->read_event_handler = ngx_http_test_reading;
    r->write_event_handler = ngx_http_mcp_stream_write_handler;

    if (rev->ready) {
        ngx_post_event(rev, &ngx_posted_events);
        return NGX_OK;
    }

    return ngx_handle_read_event(rev, 0);
}


/*
 * Returns 1 if the socket is full, if nginx's rate limit or a subrequest
 * delays the stream, or if filters keep NGX_HTTP_MCP_KEPT_MAX bytes.
 */
static ngx_uint_t
ngx_http_mcp_stream_blocked(ngx_http_request_t *r, ngx_http_mcp_ctx_t *ctx)
{
    ngx_event_t  *wev;

    wev = r->connection->write;

    return (r->connection->buffered & NGX_HTTP_WRITE_BUFFERED)
           || (r->connection->buffered && !wev->ready)
           || wev->delayed
           || r->postponed
           || ctx->kept >= NGX_HTTP_MCP_KEPT_MAX;
}


/*
 * Reuses or frees the memory of buffers that the filters have consumed, and
 * counts the memory of the others.
 */
static void
ngx_http_mcp_stream_update(ngx_http_request_t *r, ngx_http_mcp_ctx_t *ctx,
    ngx_chain_t *out)
{
    u_char           *p;
    ngx_chain_t      *cl;
    const mcp_mem_t  *mem;

    mem = &ctx->zone->env.mem;

    ngx_chain_update_chains(r->pool, &ctx->free, &ctx->busy, &out,
                            (ngx_buf_tag_t) &ngx_http_mcp_module);

    /* ctx->free begins with the buffers that have just become free; after them
     * are the earlier ones, which have no memory any more */

    for (cl = ctx->free; cl && cl->buf->start; cl = cl->next) {
        p = cl->buf->start;
        cl->buf->start = NULL;

        if (ctx->buf == NULL && (size_t) (cl->buf->end - p) == ctx->size) {
            ctx->buf = p;

        } else {
            mem->free(mem->ctx, p);
        }
    }

    ctx->kept = 0;

    for (cl = ctx->busy; cl; cl = cl->next) {
        ctx->kept += cl->buf->end - cl->buf->start;
    }
}


void
ngx_http_mcp_stream_pull(ngx_http_mcp_ctx_t *ctx)
{
    if (!ctx->streaming) {
        return;
    }

    if (ctx->busy) {
        ngx_http_mcp_stream_update(ctx->request, ctx, NULL);
    }

    /* if the stream is blocked, the handler of the next write event continues
     * the stream */

    if (!ngx_http_mcp_stream_blocked(ctx->request, ctx)) {
        ngx_http_mcp_stream_run(ctx);
    }
}


static ngx_int_t
ngx_http_mcp_stream_output(ngx_http_request_t *r, ngx_http_mcp_ctx_t *ctx,
    ngx_chain_t *out)
{
    ngx_int_t  rc;

    rc = ngx_http_output_filter(r, out);

    ngx_http_mcp_stream_update(r, ctx, out);

    return rc;
}


/* Sends "len" bytes of ctx->buf.  The memory then belongs to an nginx buffer
 * in ctx->busy. */
static ngx_int_t
ngx_http_mcp_stream_send(ngx_http_request_t *r, ngx_http_mcp_ctx_t *ctx,
    size_t len, ngx_uint_t last)
{
    ngx_buf_t    *b;
    ngx_chain_t  *cl;

    if (len == 0) {
        return last ? ngx_http_send_special(r, NGX_HTTP_LAST) : NGX_OK;
    }

    cl = ngx_chain_get_free_buf(r->pool, &ctx->free);
    if (cl == NULL) {
        return NGX_ERROR;
    }

    b = cl->buf;

    ngx_memzero(b, sizeof(ngx_buf_t));

    b->start = ctx->buf;
    b->pos = ctx->buf;
    b->last = ctx->buf + len;
    b->end = ctx->buf + ctx->size;
    ctx->buf = NULL;
    b->tag = (ngx_buf_tag_t) &ngx_http_mcp_module;
    b->temporary = 1;
    b->flush = 1;
    b->last_buf = last;
    b->last_in_chain = last;

    return ngx_http_mcp_stream_output(r, ctx, cl);
}


/* Frees ctx->buf.  zone->env.mem puts small memory into its free list, for the
 * buffer of the next stream. */
static void
ngx_http_mcp_stream_free(ngx_http_mcp_ctx_t *ctx)
{
    const mcp_mem_t  *mem;

    if (ctx->buf) {
        mem = &ctx->zone->env.mem;
        mem->free(mem->ctx, ctx->buf);
        ctx->buf = NULL;
    }
}


void
ngx_http_mcp_stream_destroy(ngx_http_mcp_ctx_t *ctx)
{
    ngx_chain_t      *cl;
    const mcp_mem_t  *mem;

    mem = &ctx->zone->env.mem;

    ngx_http_mcp_stream_free(ctx);

    for (cl = ctx->busy; cl; cl = cl->next) {
        mem->free(mem->ctx, cl->buf->start);
    }

    ctx->busy = NULL;
}


static void
ngx_http_mcp_stream_idle(ngx_http_mcp_ctx_t *ctx)
{
    ngx_http_mcp_stream_free(ctx);

    ctx->size = NGX_HTTP_MCP_BUF_MIN;
}


static ngx_int_t
ngx_http_mcp_stream_buffer(ngx_http_mcp_ctx_t *ctx)
{
    const mcp_mem_t  *mem;

    if (ctx->buf == NULL) {
        mem = &ctx->zone->env.mem;
        ctx->buf = mem->alloc(mem->ctx, ctx->size);
    }

    return ctx->buf ? NGX_OK : NGX_ERROR;
}


/* Makes the next buffer of a stream four times as large, up to
 * NGX_HTTP_MCP_BUF_MAX, if "len" bytes filled at least half of the previous
 * buffer. */
static void
ngx_http_mcp_stream_grow(ngx_http_mcp_ctx_t *ctx, size_t len)
{
    if (len < ctx->size / 2 || ctx->size == NGX_HTTP_MCP_BUF_MAX) {
        return;
    }

    ngx_http_mcp_stream_free(ctx);

    ctx->size = ngx_min(ctx->size * 4, NGX_HTTP_MCP_BUF_MAX);
}


static ngx_int_t
ngx_http_mcp_stream_step(ngx_http_request_t *r, ngx_http_mcp_ctx_t *ctx)
{
    int        rc;
    size_t     len;
    ngx_int_t  sent;

    if (ngx_http_mcp_stream_buffer(ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    len = 0;

    rc = mcp_exchange_pull(ctx->exchange, (char *) ctx->buf, ctx->size, &len);

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "mcp call %V: sends %uz bytes of the event stream%s",
                   ngx_http_mcp_ctx_call(ctx), len,
                   rc == MCP_DONE ? ", the last bytes" : "");

    switch (rc) {

    case MCP_OK:
        sent = ngx_http_mcp_stream_send(r, ctx, len, 0);

        if (sent == NGX_ERROR) {
            return NGX_ERROR;
        }

        ngx_http_mcp_stream_grow(ctx, len);

        return NGX_OK;

    case MCP_DONE:
        ctx->ended = 1;

        sent = ngx_http_mcp_stream_send(r, ctx, len, 1);

        return sent == NGX_ERROR ? NGX_ERROR : NGX_DONE;

    default:
        ngx_http_mcp_stream_idle(ctx);

        return NGX_DECLINED;
    }
}


/*
 * Sends the response head if nginx still holds it back, because the stream has
 * no bytes yet.
 */
static ngx_int_t
ngx_http_mcp_stream_head_flush(ngx_http_request_t *r, ngx_http_mcp_ctx_t *ctx)
{
    if (r->out == NULL || ngx_http_mcp_stream_blocked(r, ctx)) {
        return NGX_OK;
    }

    if (ngx_http_send_special(r, NGX_HTTP_FLUSH) == NGX_ERROR) {
        return NGX_ERROR;
    }

    /* if the head is still held back, a filter has dropped the buffer with the
     * flush, because that buffer has no bytes: send the head without a flush */

    if (r->out == NULL || ngx_http_mcp_stream_blocked(r, ctx)) {
        return NGX_OK;
    }

    return ngx_http_output_filter(r, NULL) == NGX_ERROR ? NGX_ERROR : NGX_OK;
}


/*
 * Prepares for the next write event.  The client, or a filter that keeps
 * NGX_HTTP_MCP_KEPT_MAX bytes, must take some bytes within "send_timeout".
 */
static ngx_int_t
ngx_http_mcp_stream_wait(ngx_http_request_t *r, ngx_http_mcp_ctx_t *ctx,
    ngx_int_t rc)
{
    ngx_event_t               *wev;
    ngx_http_core_loc_conf_t  *clcf;

    wev = r->connection->write;

    if (ngx_http_mcp_stream_blocked(r, ctx)) {
        ctx->paused = 1;

        clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

        if (!wev->delayed) {
            ngx_add_timer(wev, clcf->send_timeout);
        }

        return ngx_handle_write_event(wev, clcf->send_lowat);
    }

    if (wev->timer_set && !wev->delayed) {
        ngx_del_timer(wev);
    }

    if (rc == NGX_OK) {
        ctx->paused = 1;
        ngx_post_event(wev, &ngx_posted_next_events);
    }

    return NGX_OK;
}


static void
ngx_http_mcp_stream_run(ngx_http_mcp_ctx_t *ctx)
{
    ngx_int_t            rc;
    ngx_uint_t           n;
    ngx_http_request_t  *r;

    r = ctx->request;
    n = 0;

    ctx->paused = 0;

    do {
        rc = ngx_http_mcp_stream_blocked(r, ctx)
             ? NGX_AGAIN : ngx_http_mcp_stream_step(r, ctx);
    } while (rc == NGX_OK && ++n < NGX_HTTP_MCP_STEPS);

    ngx_http_mcp_worker_arm(ctx->zone);

    if (rc == NGX_DONE) {
        ngx_http_finalize_request(r, NGX_OK);
        return;
    }

    if (rc == NGX_DECLINED
        && ngx_http_mcp_stream_head_flush(r, ctx) != NGX_OK)
    {
        rc = NGX_ERROR;
    }

    if (rc == NGX_ERROR || ngx_http_mcp_stream_wait(r, ctx, rc) != NGX_OK) {
        ctx->ended = 1;
        ngx_http_finalize_request(r, NGX_ERROR);
    }
}


/* Disconnects a client that has not accepted data within send_timeout. The
 * cause may also be a body filter that holds the data back. */
static void
ngx_http_mcp_stream_timeout(ngx_http_request_t *r, ngx_http_mcp_ctx_t *ctx)
{
    ngx_connection_t  *c;

    c = r->connection;

    if (ctx->kept >= NGX_HTTP_MCP_KEPT_MAX && c->write->ready) {
        ngx_log_error(NGX_LOG_ERR, c->log, 0,
                      "a body filter holds back an event stream (%uz bytes of "
                      "buffers), so the connection is closed: turn the filter "
                      "off for the location", ctx->kept);

    } else {
        ngx_log_error(NGX_LOG_INFO, c->log, NGX_ETIMEDOUT,
                      "client timed out");
    }

    c->timedout = 1;
    ctx->ended = 1;

    ngx_http_finalize_request(r, NGX_HTTP_REQUEST_TIME_OUT);
}


static void
ngx_http_mcp_stream_write_handler(ngx_http_request_t *r)
{
    ngx_int_t            rc;
    ngx_event_t         *wev;
    ngx_connection_t    *c;
    ngx_http_mcp_ctx_t  *ctx;

    c = r->connection;
    wev = c->write;

    ctx = ngx_http_get_module_ctx(r, ngx_http_mcp_module);

    if (wev->timedout) {
        ngx_http_mcp_stream_timeout(r, ctx);
        return;
    }

    rc = NGX_OK;

    /* send the bytes that nginx or a filter holds */

    if (!wev->delayed && (r->buffered || r->postponed || c->buffered)) {
        rc = ngx_http_mcp_stream_output(r, ctx, NULL);

    } else if (ctx->busy) {
        ngx_http_mcp_stream_update(r, ctx, NULL);
    }

    if (rc == NGX_ERROR) {
        ctx->ended = 1;
        ngx_http_finalize_request(r, NGX_ERROR);
        return;
    }

    /* skip a stream that is neither paused nor blocked: it waits for the action
     * PULL */

    if (ctx->paused || ngx_http_mcp_stream_blocked(r, ctx)) {
        ngx_http_mcp_stream_run(ctx);
    }
}
