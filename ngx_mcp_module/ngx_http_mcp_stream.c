/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Consumers: exchanges that are answered by a stream.  The core is asked for
 * bytes only when the socket has taken all earlier ones, so a slow client costs
 * one buffer, and an idle one none.
 */


#include "ngx_http_mcp_stream.h"

#include "ngx_http_mcp_worker.h"


#define NGX_HTTP_MCP_BUF_MIN  4096
#define NGX_HTTP_MCP_BUF_MAX  65536

/* Buffers that one stream may fill before other events get their turn.  */
#define NGX_HTTP_MCP_STEPS    16


static ngx_int_t ngx_http_mcp_stream_head(ngx_http_request_t *r,
    ngx_http_mcp_ctx_t *ctx);
static ngx_int_t ngx_http_mcp_stream_listen(ngx_http_request_t *r);
static void ngx_http_mcp_stream_write_handler(ngx_http_request_t *r);
static ngx_int_t ngx_http_mcp_stream_flush(ngx_http_request_t *r,
    ngx_http_mcp_ctx_t *ctx);
static void ngx_http_mcp_stream_run(ngx_http_mcp_ctx_t *ctx);


void
ngx_http_mcp_stream_start(ngx_http_mcp_ctx_t *ctx)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;

    r = ctx->request;

    ctx->waiting = 0;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "mcp call %V: stream", ngx_http_mcp_ctx_call(ctx));

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


/* Sends the head. NGX_DONE: the stream follows; any other value: the request is
 * to be finalized with it.  */
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

    /* A promise to keep the connection could not be taken back: a client sends
     * its next request as soon as the stream has ended, and a process that
     * ended it because it winds up would not read that request.  */

    r->keepalive = 0;

    /* nginx holds it back until the first bytes of the stream */

    rc = ngx_http_send_header(r);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    /* nginx does so only for connections that it keeps, and for upgrades */

    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    if (clcf->tcp_nodelay && ngx_tcp_nodelay(r->connection) != NGX_OK) {
        return NGX_ERROR;
    }

    return NGX_DONE;
}


/* Has the client's leaving noticed, which may have happened already.  */
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


static ngx_uint_t
ngx_http_mcp_stream_blocked(ngx_http_request_t *r, ngx_http_mcp_ctx_t *ctx)
{
    return ctx->busy || r->buffered || r->postponed || r->connection->buffered;
}


void
ngx_http_mcp_stream_pull(ngx_http_mcp_ctx_t *ctx)
{
    /* while the stream is blocked, the write handler goes on with it */

    if (ctx->streaming && !ngx_http_mcp_stream_blocked(ctx->request, ctx)) {
        ngx_http_mcp_stream_run(ctx);
    }
}


static ngx_int_t
ngx_http_mcp_stream_output(ngx_http_request_t *r, ngx_http_mcp_ctx_t *ctx,
    ngx_chain_t *out)
{
    ngx_int_t  rc;

    rc = ngx_http_output_filter(r, out);

    ngx_chain_update_chains(r->pool, &ctx->free, &ctx->busy, &out,
                            (ngx_buf_tag_t) &ngx_http_mcp_module);

    return rc;
}


/* Sends len bytes of ctx->buf.  */
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
    b->tag = (ngx_buf_tag_t) &ngx_http_mcp_module;
    b->temporary = 1;
    b->flush = 1;
    b->last_buf = last;
    b->last_in_chain = last;

    return ngx_http_mcp_stream_output(r, ctx, cl);
}


/* Waits for the socket; the client has send_timeout to take something.  */
static ngx_int_t
ngx_http_mcp_stream_block(ngx_http_request_t *r)
{
    ngx_event_t               *wev;
    ngx_http_core_loc_conf_t  *clcf;

    wev = r->connection->write;
    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    if (!wev->delayed) {
        ngx_add_timer(wev, clcf->send_timeout);
    }

    return ngx_handle_write_event(wev, clcf->send_lowat);
}


/* The buffer goes to the next stream that writes, if it is a small one.  */
void
ngx_http_mcp_stream_free(ngx_http_mcp_ctx_t *ctx)
{
    const mcp_mem_t  *mem;

    if (ctx->buf) {
        mem = &ctx->zone->env.mem;
        mem->free(mem->ctx, ctx->buf);
        ctx->buf = NULL;
    }
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


/* A stream that fills its buffer gets a larger one.  */
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
                   "mcp call %V: pull %uz bytes%s", ngx_http_mcp_ctx_call(ctx),
                   len, rc == MCP_DONE ? ", the last" : "");

    switch (rc) {

    case MCP_OK:
        sent = ngx_http_mcp_stream_send(r, ctx, len, 0);

        if (sent == NGX_ERROR) {
            return NGX_ERROR;
        }

        if (ngx_http_mcp_stream_blocked(r, ctx)) {
            return NGX_AGAIN;
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


static void
ngx_http_mcp_stream_run(ngx_http_mcp_ctx_t *ctx)
{
    ngx_int_t            rc;
    ngx_uint_t           n;
    ngx_http_request_t  *r;

    r = ctx->request;
    n = 0;

    do {
        rc = ngx_http_mcp_stream_step(r, ctx);
    } while (rc == NGX_OK && ++n < NGX_HTTP_MCP_STEPS);

    if (!ctx->zone->pumping) {
        ngx_http_mcp_worker_arm(ctx->zone);
    }

    if (rc == NGX_OK) {
        ctx->yielded = 1;
        ngx_post_event(r->connection->write, &ngx_posted_next_events);
        return;
    }

    /* there is nothing to send now, but the head may still be held back */

    if (rc == NGX_DECLINED && r->out && !r->connection->buffered) {
        rc = ngx_http_send_special(r, NGX_HTTP_FLUSH) == NGX_ERROR
             ? NGX_ERROR : NGX_DECLINED;
    }

    if (rc == NGX_AGAIN
        || (rc == NGX_DECLINED && ngx_http_mcp_stream_blocked(r, ctx)))
    {
        rc = ngx_http_mcp_stream_block(r);
    }

    switch (rc) {

    case NGX_DONE:
        ngx_http_finalize_request(r, NGX_OK);
        break;

    case NGX_ERROR:
        ctx->ended = 1;
        ngx_http_finalize_request(r, NGX_ERROR);
        break;

    default:
        break;
    }
}


static void
ngx_http_mcp_stream_write_handler(ngx_http_request_t *r)
{
    ngx_event_t         *wev;
    ngx_connection_t    *c;
    ngx_http_mcp_ctx_t  *ctx;

    c = r->connection;
    wev = c->write;

    ctx = ngx_http_get_module_ctx(r, ngx_http_mcp_module);

    if (wev->timedout) {
        ngx_log_error(NGX_LOG_INFO, c->log, NGX_ETIMEDOUT,
                      "client timed out");
        c->timedout = 1;
        ctx->ended = 1;

        ngx_http_finalize_request(r, NGX_HTTP_REQUEST_TIME_OUT);
        return;
    }

    /* a spurious event, or a rate limit */

    if (!ngx_http_mcp_stream_blocked(r, ctx)) {

        if (ctx->yielded) {
            ctx->yielded = 0;
            ngx_http_mcp_stream_run(ctx);
        }

        return;
    }

    ctx->yielded = 0;

    switch (ngx_http_mcp_stream_flush(r, ctx)) {

    case NGX_OK:
        if (wev->timer_set && !wev->delayed) {
            ngx_del_timer(wev);
        }

        ngx_http_mcp_stream_run(ctx);
        break;

    case NGX_ERROR:
        ctx->ended = 1;
        ngx_http_finalize_request(r, NGX_ERROR);
        break;

    default: /* NGX_AGAIN */
        break;
    }
}


/* Sends bytes that are held back.  NGX_AGAIN: some of them still are.  */
static ngx_int_t
ngx_http_mcp_stream_flush(ngx_http_request_t *r, ngx_http_mcp_ctx_t *ctx)
{
    if (!r->connection->write->delayed
        && ngx_http_mcp_stream_output(r, ctx, NULL) == NGX_ERROR)
    {
        return NGX_ERROR;
    }

    if (!ngx_http_mcp_stream_blocked(r, ctx)) {
        return NGX_OK;
    }

    return ngx_http_mcp_stream_block(r) == NGX_OK ? NGX_AGAIN : NGX_ERROR;
}
