/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Connections without a socket to a client: for backend requests, because nginx
 * processes a request only on a connection, and for objects that need only the
 * events of a connection.  No client can close these connections, and no bytes
 * are read or written.
 */


#include "ngx_http_mcp_connection.h"


static void ngx_http_mcp_connection_init_address(ngx_connection_t *c,
    ngx_http_mcp_snapshot_t *snapshot);
static void ngx_http_mcp_connection_init_events(ngx_connection_t *c);
static void ngx_http_mcp_connection_handler(ngx_event_t *ev);

static ssize_t ngx_http_mcp_connection_recv(ngx_connection_t *c, u_char *buf,
    size_t size);
static ssize_t ngx_http_mcp_connection_recv_chain(ngx_connection_t *c,
    ngx_chain_t *in, off_t limit);
static ssize_t ngx_http_mcp_connection_send(ngx_connection_t *c, u_char *buf,
    size_t size);


/*
 * Descriptor of all connections that this file creates.  It must be valid, but
 * is never used for data.
 */
static ngx_socket_t  ngx_http_mcp_connection_socket = (ngx_socket_t) -1;


ngx_int_t
ngx_http_mcp_connection_init_process(ngx_cycle_t *cycle)
{
    ngx_socket_t  s;

    if (ngx_http_mcp_connection_socket != (ngx_socket_t) -1) {
        return NGX_OK;
    }

    /* use a datagram socket: when nginx checks for a disconnection of the
     * client by recv(MSG_PEEK), this socket has neither data nor end of file */

    s = ngx_socket(AF_UNIX, SOCK_DGRAM, 0);

    if (s == (ngx_socket_t) -1) {
        ngx_log_error(NGX_LOG_EMERG, cycle->log, ngx_socket_errno,
                      ngx_socket_n " failed");
        return NGX_ERROR;
    }

    ngx_http_mcp_connection_socket = s;

    if (ngx_nonblocking(s) == -1) {
        ngx_log_error(NGX_LOG_EMERG, cycle->log, ngx_socket_errno,
                      ngx_nonblocking_n " failed");
        return NGX_ERROR;
    }

    return NGX_OK;
}


ngx_connection_t *
ngx_http_mcp_connection_dummy(ngx_log_t *log)
{
    ngx_connection_t  *c;

    c = ngx_get_connection(ngx_http_mcp_connection_socket, log);

    /* set "shared", so that nginx does not close the descriptor, which all
     * these connections have in common */

    if (c) {
        c->shared = 1;
    }

    return c;
}


ngx_connection_t *
ngx_http_mcp_connection_create(ngx_pool_t *pool, ngx_log_t *log,
    ngx_http_mcp_snapshot_t *snapshot)
{
    ngx_connection_t  *c;

    c = ngx_http_mcp_connection_dummy(log);
    if (c == NULL) {
        return NULL;
    }

    c->number = ngx_atomic_fetch_add(ngx_connection_counter, 1);
    c->start_time = ngx_current_msec;
    c->type = SOCK_STREAM;

    c->pool = pool;
    c->log = log;
    c->log_error = NGX_ERROR_INFO;

    c->tcp_nodelay = NGX_TCP_NODELAY_DISABLED;
    c->tcp_nopush = NGX_TCP_NOPUSH_DISABLED;
    c->sndlowat = 1;

    c->recv = ngx_http_mcp_connection_recv;
    c->recv_chain = ngx_http_mcp_connection_recv_chain;
    c->send = ngx_http_mcp_connection_send;
    c->send_chain = ngx_http_mcp_connection_send_chain;

    ngx_http_mcp_connection_init_address(c, snapshot);
    ngx_http_mcp_connection_init_events(c);

#if (NGX_STAT_STUB)
    (void) ngx_atomic_fetch_add(ngx_stat_active, 1);
#endif

    return c;
}


static void
ngx_http_mcp_connection_init_address(ngx_connection_t *c,
    ngx_http_mcp_snapshot_t *snapshot)
{
    c->listening = snapshot->listening;
    c->sockaddr = snapshot->sockaddr;
    c->socklen = snapshot->socklen;
    c->local_sockaddr = snapshot->local_sockaddr;
    c->local_socklen = snapshot->local_socklen;
    c->addr_text = snapshot->addr_text;
}


static void
ngx_http_mcp_connection_init_events(ngx_connection_t *c)
{
    c->read->log = c->log;
    c->read->handler = ngx_http_mcp_connection_handler;

    c->write->log = c->log;
    c->write->handler = ngx_http_mcp_connection_handler;

    /* set "active", so that nginx does not register the events, and "eof", so
     * that nginx does not linger when it closes the connection */

    c->read->active = 1;
    c->read->eof = 1;
    c->write->active = 1;
    c->write->ready = 1;
}


/*
 * Handler of the read and write events of an internal connection.  Calls the
 * event handlers of the request, for example when the timer of "limit_req" has
 * expired.  Ends the request with NGX_ERROR if c->close is set, because
 * "worker_shutdown_timeout" has expired.
 */
static void
ngx_http_mcp_connection_handler(ngx_event_t *ev)
{
    ngx_connection_t    *c;
    ngx_http_request_t  *r;

    c = ev->data;
    r = c->data;

    ngx_http_set_log_request(c->log, r);

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, c->log, 0,
                   "mcp: event on the client connection of \"%V?%V\"",
                   &r->uri, &r->args);

    if (c->close) {
        r->main->count++;
        ngx_http_finalize_request(r->main, NGX_ERROR);
        ngx_http_run_posted_requests(c);
        return;
    }

    if (ev->delayed && ev->timedout) {
        ev->delayed = 0;
        ev->timedout = 0;
    }

    if (ev->write) {
        r->write_event_handler(r);

    } else {
        r->read_event_handler(r);
    }

    ngx_http_run_posted_requests(c);
}


static ssize_t
ngx_http_mcp_connection_recv(ngx_connection_t *c, u_char *buf, size_t size)
{
    return NGX_AGAIN;
}


static ssize_t
ngx_http_mcp_connection_recv_chain(ngx_connection_t *c, ngx_chain_t *in,
    off_t limit)
{
    return NGX_AGAIN;
}


static ssize_t
ngx_http_mcp_connection_send(ngx_connection_t *c, u_char *buf, size_t size)
{
    return size;
}


/* Discards all output and reports it as sent.  nginx calls this function only
 * for interim responses such as early hints, because the filters of this module
 * capture final responses. */
ngx_chain_t *
ngx_http_mcp_connection_send_chain(ngx_connection_t *c, ngx_chain_t *in,
    off_t limit)
{
    ngx_chain_t  *cl;

    for (cl = in; cl; cl = cl->next) {
        cl->buf->pos = cl->buf->last;
        cl->buf->file_pos = cl->buf->file_last;
    }

    return NULL;
}
