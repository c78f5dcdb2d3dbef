/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Detached backend calls.
 *
 * A backend runs in a named location, behind the server's own FastCGI, proxy,
 * uwsgi ... modules, for a request of ours on a connection of ours: there is
 * no socket behind it, so that no client who leaves can cut it off.  What the
 * location answers is caught by a filter and handed to the core.
 *
 *   snapshot      what the client's request left behind: copied once per call,
 *               outlives the client, shared by all invocations of the call
 *   invocation  one connection and one request in a named location; ends with
 *               mcp_job_end(), always from the request's clean-up
 *
 * Nothing of the client's request is used after ngx_http_mcp_call_invoke().
 */


#include "ngx_http_mcp_call.h"

#include "mcp_forward.h"


static ngx_connection_t *ngx_http_mcp_call_connect(
    ngx_http_mcp_snapshot_t *snapshot, mcp_job_t *job);
static ngx_http_request_t *ngx_http_mcp_call_request(ngx_connection_t *c,
    ngx_http_mcp_invocation_t *inv);
static ngx_int_t ngx_http_mcp_call_headers(ngx_http_request_t *r,
    ngx_http_mcp_invocation_t *inv);
static ngx_int_t ngx_http_mcp_call_body(ngx_http_request_t *r,
    ngx_http_mcp_invocation_t *inv);
static void ngx_http_mcp_call_handler(ngx_event_t *ev);
static void ngx_http_mcp_call_end(void *data);
static void ngx_http_mcp_call_done_handler(ngx_event_t *ev);
static void ngx_http_mcp_call_release(void *data);
static ngx_uint_t ngx_http_mcp_call_cut_off(ngx_http_request_t *r);
static u_char *ngx_http_mcp_call_log_error(ngx_log_t *log, u_char *buf,
    size_t len);
static u_char *ngx_http_mcp_call_log_fact(u_char *p, u_char *last,
    const char *name, mcp_str_t *value);

static ssize_t ngx_http_mcp_call_recv(ngx_connection_t *c, u_char *buf,
    size_t size);
static ssize_t ngx_http_mcp_call_recv_chain(ngx_connection_t *c,
    ngx_chain_t *in, off_t limit);
static ssize_t ngx_http_mcp_call_send(ngx_connection_t *c, u_char *buf,
    size_t size);


/* Headers of our own, before those of the client: mcp_forward_headers, and two
 * whose values differ; the last one goes only if the server is known by a
 * name. */
static ngx_table_elt_t  ngx_http_mcp_headers[] = {
    { .lowcase_key = (u_char *) "content-type" },

    { .lowcase_key = (u_char *) "accept" },

    { .key = ngx_string("Content-Length"),
      .lowcase_key = (u_char *) "content-length" },

    { .key = ngx_string("Host"),
      .lowcase_key = (u_char *) "host" }
};

#define NGX_HTTP_MCP_HEADERS                                                  \
    (sizeof(ngx_http_mcp_headers) / sizeof(ngx_table_elt_t))


static ngx_str_t  ngx_http_mcp_post = ngx_string("POST");
static ngx_str_t  ngx_http_mcp_protocol = ngx_string("HTTP/1.1");


/* Of a connection's pool, which holds little but the invocation. */
#define NGX_HTTP_MCP_POOL_SIZE                                                \
    (ngx_align(sizeof(ngx_pool_t) + sizeof(ngx_http_mcp_invocation_t)         \
               + sizeof(ngx_pool_cleanup_t), 64)                              \
     + 64)


/* All our connections share one socket that nothing is ever sent to. */
static ngx_socket_t  ngx_http_mcp_socket = (ngx_socket_t) -1;


void
ngx_http_mcp_call_invoke(ngx_http_mcp_zone_t *zone, mcp_job_t *job,
    ngx_http_request_t *r)
{
    mcp_str_t                   name;
    ngx_str_t                   target;
    ngx_connection_t           *c;
    ngx_http_mcp_snapshot_t      *snapshot;
    ngx_http_mcp_loc_conf_t    *mlcf;
    ngx_http_mcp_invocation_t  *inv;

    job->glue = NULL;

    snapshot = mcp_call_glue(job->call);

    if (snapshot == NULL && r != NULL) {
        snapshot = ngx_http_mcp_snapshot_create(r);

        if (snapshot) {
            mcp_call_set_glue(job->call, snapshot);
        }
    }

    if (snapshot == NULL) {
        mcp_job_end(job, MCP_FAULT_BACKEND_FAILED,
            r ? "no memory to start the backend call"
              : "the client left before the backend call could start");
        return;
    }

    mlcf = snapshot->loc_conf[ngx_http_mcp_module.ctx_index];

    if (job->target >= mcp_setup_targets(mlcf->setup)) {
        mcp_job_end(job, MCP_FAULT_NO_BACKEND, "no such backend");
        return;
    }

    name = mcp_setup_target(mlcf->setup, job->target);
    target.data = (u_char *) name.data;
    target.len = name.len;

    c = ngx_http_mcp_call_connect(snapshot, job);
    if (c == NULL) {
        mcp_job_end(job, MCP_FAULT_BACKEND_FAILED,
            "no connection or memory to start the backend call");
        return;
    }

    inv = c->data;

    r = ngx_http_mcp_call_request(c, inv);

    if (r == NULL) {
        /* the job has ended if the clean-up was there already */
        if (!c->destroyed) {
            ngx_http_close_connection(c);
            mcp_job_end(job, MCP_FAULT_BACKEND_FAILED,
                "no memory to start the backend call");
        }

        return;
    }

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, c->log, 0,
        "mcp invoke \"%V\", %uz bytes, connection %uA", &target, job->body.len,
        c->number);

    ngx_http_named_location(r, &target);
    ngx_http_finalize_request(r, NGX_DONE);
    ngx_http_run_posted_requests(c);
}


void
ngx_http_mcp_call_abort(mcp_job_t *job)
{
    ngx_connection_t           *c;
    ngx_http_request_t         *r;
    ngx_http_mcp_invocation_t  *inv;

    inv = job->glue;

    if (inv == NULL) {
        mcp_job_end(job, MCP_FAULT_BACKEND_FAILED, "aborted");
        return;
    }

    r = inv->request;
    c = r->connection;

    ngx_http_set_log_request(c->log, r);

    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, c->log, 0, "mcp abort");

    inv->fault = MCP_FAULT_BACKEND_FAILED;
    inv->detail = "aborted";

    /* as if the client's connection broke: the upstream is closed at once */

    c->error = 1;
    r->count++;

    ngx_http_finalize_request(r, NGX_HTTP_CLIENT_CLOSED_REQUEST);
    ngx_http_run_posted_requests(c);
}


void
ngx_http_mcp_call_resume(mcp_job_t *job)
{
    ngx_int_t                   rc;
    ngx_connection_t           *c;
    ngx_http_request_t         *r;
    ngx_http_mcp_invocation_t  *inv;

    inv = job->glue;

    if (inv == NULL || !inv->parked) {
        return;
    }

    c = inv->request->connection;
    r = c->data;

    ngx_http_set_log_request(c->log, r);

    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, c->log, 0, "mcp resume");

    rc = ngx_http_mcp_call_unpark(inv);

    if (rc == NGX_AGAIN) {
        return;
    }

    if (rc == NGX_ERROR) {
        r->main->count++;
        ngx_http_finalize_request(r->main, NGX_ERROR);

    } else {

        /* reads on, or finishes what had finished but for this */

        r->write_event_handler(r);
    }

    ngx_http_run_posted_requests(c);
}


void
ngx_http_mcp_call_forget(void *glue)
{
    ngx_http_mcp_snapshot_release(glue);
}


mcp_job_t *
ngx_http_mcp_call_job(ngx_http_request_t *r)
{
    ngx_http_mcp_invocation_t  *inv;

    inv = ngx_http_mcp_call_invocation(r);

    return inv ? inv->job : NULL;
}


ngx_uint_t
ngx_http_mcp_call_is_detached(ngx_http_request_t *r)
{
    return ngx_http_mcp_call_invocation(r) != NULL;
}


/* The last thing that goes with a connection: what the request had of the
 * call, and of its client for log lines, is not used any more. */
static void
ngx_http_mcp_call_release(void *data)
{
    ngx_http_mcp_invocation_t  *inv = data;

    inv->facts = NULL;

    mcp_call_release(inv->call);
    ngx_http_mcp_snapshot_release(inv->snapshot);
}


/*
 * A connection that is always ready for writing and never for reading.  It
 * is not in the event mechanism, its descriptor only has to look valid.
 */
static ngx_connection_t *
ngx_http_mcp_call_connect(ngx_http_mcp_snapshot_t *snapshot, mcp_job_t *job)
{
    ngx_pool_t                 *pool;
    ngx_connection_t           *c;
    ngx_pool_cleanup_t         *cln;
    ngx_http_mcp_invocation_t  *inv;

    pool = ngx_create_pool(NGX_HTTP_MCP_POOL_SIZE, &snapshot->log);
    if (pool == NULL) {
        return NULL;
    }

    inv = ngx_pcalloc(pool, sizeof(ngx_http_mcp_invocation_t));
    cln = ngx_pool_cleanup_add(pool, 0);

    if (inv == NULL || cln == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    /* what nginx has to say of that shall name the call */

    inv->facts = &job->facts;
    inv->log_ctx.inv = inv;

    inv->log = snapshot->log;
    inv->log.handler = ngx_http_mcp_call_log_error;
    inv->log.data = &inv->log_ctx;
    inv->log.action = "calling mcp backend";

    c = ngx_http_mcp_call_dummy(&inv->log);
    if (c == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    inv->hc.addr_conf = snapshot->addr_conf;
    inv->hc.conf_ctx = snapshot->conf_ctx;
    inv->snapshot = snapshot;
    inv->job = job;

    inv->call = job->call;

    mcp_call_retain(inv->call);
    snapshot->refs++;

    cln->handler = ngx_http_mcp_call_release;
    cln->data = inv;

    inv->done.handler = ngx_http_mcp_call_done_handler;
    inv->done.data = inv;
    inv->done.log = &inv->log;

    inv->log_ctx.ctx.connection = c;
    inv->log_ctx.handler = snapshot->log_handler;

    c->number = ngx_atomic_fetch_add(ngx_connection_counter, 1);
    inv->log.connection = c->number;

    c->pool = pool;
    pool->log = &inv->log;

    c->data = inv;
    c->log = &inv->log;
    c->read->log = &inv->log;
    c->write->log = &inv->log;
    c->log_error = NGX_ERROR_INFO;

    c->type = SOCK_STREAM;
    c->start_time = ngx_current_msec;
    c->listening = snapshot->listening;
    c->sockaddr = snapshot->sockaddr;
    c->socklen = snapshot->socklen;
    c->local_sockaddr = snapshot->local_sockaddr;
    c->local_socklen = snapshot->local_socklen;
    c->addr_text = snapshot->addr_text;
    c->buffer = &inv->header_in;

    c->tcp_nodelay = NGX_TCP_NODELAY_DISABLED;
    c->tcp_nopush = NGX_TCP_NOPUSH_DISABLED;
    c->sndlowat = 1;

    c->recv = ngx_http_mcp_call_recv;
    c->recv_chain = ngx_http_mcp_call_recv_chain;
    c->send = ngx_http_mcp_call_send;
    c->send_chain = ngx_http_mcp_call_send_chain;

    c->read->handler = ngx_http_mcp_call_handler;
    c->write->handler = ngx_http_mcp_call_handler;

    /* active: nobody adds the events; eof: no lingering when closed */

    c->read->active = 1;
    c->read->eof = 1;
    c->write->active = 1;
    c->write->ready = 1;

#if (NGX_STAT_STUB)
    (void) ngx_atomic_fetch_add(ngx_stat_active, 1);
#endif

    return c;
}


/* NULL: c->destroyed tells whether the connection is gone with it. */
static ngx_http_request_t *
ngx_http_mcp_call_request(ngx_connection_t *c, ngx_http_mcp_invocation_t *inv)
{
    ngx_uint_t                  i;
    ngx_http_cleanup_t         *cln;
    ngx_http_request_t         *r;
    ngx_http_mcp_frozen_t      *frozen;
    ngx_http_mcp_snapshot_t      *snapshot;

    snapshot = inv->snapshot;

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

    /* the access log tells of clients */
    r->logged = 1;

    r->main_conf = snapshot->main_conf;
    r->srv_conf = snapshot->srv_conf;
    r->loc_conf = snapshot->loc_conf;

    r->http_state = NGX_HTTP_PROCESS_REQUEST_STATE;
    r->http_version = NGX_HTTP_VERSION_11;
    r->http_protocol = ngx_http_mcp_protocol;
    r->method = NGX_HTTP_POST;
    r->method_name = ngx_http_mcp_post;
    r->request_line = snapshot->request_line;
    r->unparsed_uri = snapshot->unparsed_uri;
    r->uri = snapshot->uri;
    r->args = snapshot->args;
    r->valid_location = 1;
    r->valid_unparsed_uri = 1;
    r->limit_rate_set = 1;
    r->limit_rate_after_set = 1;

    ngx_http_set_exten(r);

    for (i = 0; i < snapshot->nfrozen; i++) {
        frozen = &snapshot->frozen[i];
        r->variables[frozen->index] = frozen->value;
    }

    /* from here on the job ends whenever the request does */

    cln = ngx_http_cleanup_add(r, 0);
    if (cln == NULL) {
        ngx_http_free_request(r, 0);
        c->destroyed = 0;
        return NULL;
    }

    cln->handler = ngx_http_mcp_call_end;
    cln->data = inv;

    inv->request = r;
    inv->job->glue = inv;
    inv->heard = ngx_current_msec;

    if (ngx_http_mcp_call_body(r, inv) != NGX_OK
        || ngx_http_mcp_call_headers(r, inv) != NGX_OK)
    {
        if (!c->destroyed) {
            ngx_http_finalize_request(r, NGX_ERROR);
            ngx_http_run_posted_requests(c);
        }

        return NULL;
    }

    return r;
}


/* A request may use its body when its job is over: it lies in the memory of
 * the call, which is retained, unless it was made for this job. */
static ngx_int_t
ngx_http_mcp_call_body(ngx_http_request_t *r, ngx_http_mcp_invocation_t *inv)
{
    ngx_buf_t  *b;
    mcp_str_t  *body;

    body = &inv->job->body;

    b = &inv->body_buf;

    b->start = (u_char *) body->data;

    if (inv->job->rebuilt) {
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

    inv->body_chain.buf = b;
    inv->body.bufs = &inv->body_chain;
    inv->body.received = body->len;

    /* ngx_http_read_client_request_body() finds it read */

    r->request_body = &inv->body;
    r->request_length = body->len;
    r->headers_in.content_length_n = body->len;

    return NGX_OK;
}


static ngx_int_t
ngx_http_mcp_call_headers(ngx_http_request_t *r,
    ngx_http_mcp_invocation_t *inv)
{
    ngx_uint_t              i;
    ngx_list_t             *list;
    ngx_table_elt_t        *h;
    ngx_http_mcp_line_t    *line;
    ngx_http_mcp_snapshot_t  *snapshot;

    snapshot = inv->snapshot;
    list = &r->headers_in.headers;

    if (ngx_list_init(list, r->pool, NGX_HTTP_MCP_HEADERS + snapshot->nlines,
                      sizeof(ngx_table_elt_t))
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    h = list->part.elts;
    ngx_memcpy(h, ngx_http_mcp_headers, sizeof(ngx_http_mcp_headers));

    r->headers_in.content_type = h++;

#if (NGX_HTTP_HEADERS)
    r->headers_in.accept = h;
#endif
    h++;

    h->value.data = inv->length;
    h->value.len = ngx_sprintf(inv->length, "%uz", inv->job->body.len)
                   - inv->length;
    r->headers_in.content_length = h++;

    /* HTTP/2 and HTTP/3 clients may have sent none */

    if (snapshot->host.len) {
        h->value = snapshot->host;
        r->headers_in.host = h++;
    }

    list->part.nelts = h - (ngx_table_elt_t *) list->part.elts;

    r->headers_in.server = snapshot->server;

    for (i = 0; i < snapshot->nlines; i++) {
        line = &snapshot->lines[i];

        h = ngx_list_push(list);
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


/* Timers of the location (limit_req), and the end of the worker's patience. */
static void
ngx_http_mcp_call_handler(ngx_event_t *ev)
{
    ngx_connection_t    *c;
    ngx_http_request_t  *r;

    c = ev->data;
    r = c->data;

    ngx_http_set_log_request(c->log, r);

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, c->log, 0, "mcp call event: \"%V?%V\"",
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


/* By an event of its own: filters and upstream are in the midst of it now. In
 * most cases the request ends before. */
void
ngx_http_mcp_call_complete(ngx_http_mcp_invocation_t *inv)
{
    inv->complete = 1;

    ngx_post_event(&inv->done, &ngx_posted_events);
}


static void
ngx_http_mcp_call_done_handler(ngx_event_t *ev)
{
    ngx_connection_t           *c;
    ngx_http_mcp_invocation_t  *inv;

    inv = ev->data;
    c = inv->request->connection;

    ngx_http_set_log_request(c->log, inv->request);

    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, c->log, 0,
        "mcp call done, its request goes on");

    ngx_http_mcp_call_end(inv);
}


static void
ngx_http_mcp_call_end(void *data)
{
    ngx_http_mcp_invocation_t  *inv = data;

    mcp_job_t            *job;
    ngx_msec_t            silence;
    mcp_fault_e           fault;
    const char           *detail;
    ngx_http_request_t   *r;
    ngx_http_upstream_t  *u;

    job = inv->job;

    if (inv->done.posted) {
        ngx_delete_posted_event(&inv->done);
    }

    if (job == NULL) {
        return;
    }

    r = inv->request;
    u = r->upstream;

    fault = MCP_FAULT_BACKEND_FAILED;

    if (inv->fault) {
        fault = inv->fault;
        detail = inv->detail;

    } else if (!inv->head) {
        detail = r->connection->close ? "the worker shut down"
                                      : "closed without an answer";

    } else if (inv->complete && !ngx_http_mcp_call_cut_off(r)) {
        fault = MCP_FAULT_NONE;
        detail = NULL;

    } else {
        /* timers may be that much early */

        silence = ngx_current_msec - inv->heard + NGX_TIMER_LAZY_DELAY;

        if (!inv->complete && u && u->conf && silence >= u->conf->read_timeout)
        {
            fault = MCP_FAULT_BACKEND_TIMEOUT;
            detail = "timed out amid its answer";

        } else {
            detail = r->connection->close ? "the worker shut down"
                                          : "broke off amid its answer";
        }
    }

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
        "mcp call end: %d %s", fault, detail ? detail : "complete");

    inv->job = NULL;
    job->glue = NULL;

    mcp_job_end(job, fault, detail);
}


/*
 * FastCGI applications that die look like those that finish to the modules,
 * which only log it: END_REQUEST tells.
 */
static ngx_uint_t
ngx_http_mcp_call_cut_off(ngx_http_request_t *r)
{
    ngx_http_upstream_t  *u;

    u = r->upstream;

    if (u == NULL || !u->header_sent || r->header_only
        || u->schema.len != sizeof("fastcgi://") - 1
        || ngx_strncmp(u->schema.data, "fastcgi://", u->schema.len) != 0)
    {
        return 0;
    }

    return u->buffering ? !u->pipe->upstream_done : u->length != 0;
}


static u_char *
ngx_http_mcp_call_log_error(ngx_log_t *log, u_char *buf, size_t len)
{
    u_char                  *p;
    mcp_facts_t             *facts;
    ngx_http_mcp_log_ctx_t  *ctx;

    ctx = log->data;

    p = ctx->handler ? ctx->handler(log, buf, len) : buf;

    facts = ctx->inv->facts;

    if (facts) {
        p = ngx_http_mcp_call_log_fact(p, buf + len, "mcp call",
                                       &facts->value[MCP_FACT_CALL]);
        p = ngx_http_mcp_call_log_fact(p, buf + len, "mcp name",
                                       &facts->value[MCP_FACT_NAME]);
    }

    return p;
}


/* The client chose the value: nothing in it may look like a line of ours. */
static u_char *
ngx_http_mcp_call_log_fact(u_char *p, u_char *last, const char *name,
    mcp_str_t *value)
{
    u_char  ch;
    size_t  i, len;

    len = ngx_min(value->len, 64);

    if (len == 0) {
        return p;
    }

    p = ngx_slprintf(p, last, ", %s: \"", name);

    for (i = 0; i < len && p < last; i++) {
        ch = (u_char) value->data[i];
        *p++ = (ch < 0x20 || ch == '"' || ch == 0x7f) ? '?' : ch;
    }

    return ngx_slprintf(p, last, "\"");
}


ngx_int_t
ngx_http_mcp_call_init_process(ngx_cycle_t *cycle)
{
    ngx_uint_t        i;
    ngx_table_elt_t  *h;

    for (i = 0; i < NGX_HTTP_MCP_HEADERS; i++) {
        h = &ngx_http_mcp_headers[i];

        if (i < mcp_forward_n_headers) {
            h->key.data = (u_char *) mcp_forward_headers[i].name.data;
            h->key.len = mcp_forward_headers[i].name.len;
            h->value.data = (u_char *) mcp_forward_headers[i].value.data;
            h->value.len = mcp_forward_headers[i].value.len;
        }

        h->hash = ngx_hash_key(h->lowcase_key, h->key.len);
    }

    if (ngx_http_mcp_socket != (ngx_socket_t) -1) {
        return NGX_OK;
    }

    /* datagrams: whoever peeks finds that there is nothing yet */

    ngx_http_mcp_socket = ngx_socket(AF_UNIX, SOCK_DGRAM, 0);

    if (ngx_http_mcp_socket == (ngx_socket_t) -1) {
        ngx_log_error(NGX_LOG_EMERG, cycle->log, ngx_socket_errno,
            ngx_socket_n " failed");
        return NGX_ERROR;
    }

    if (ngx_nonblocking(ngx_http_mcp_socket) == -1) {
        ngx_log_error(NGX_LOG_EMERG, cycle->log, ngx_socket_errno,
            ngx_nonblocking_n " failed");
        return NGX_ERROR;
    }

    return NGX_OK;
}


ngx_connection_t *
ngx_http_mcp_call_dummy(ngx_log_t *log)
{
    ngx_connection_t  *c;

    c = ngx_get_connection(ngx_http_mcp_socket, log);

    if (c) {
        c->shared = 1;
    }

    return c;
}


static ssize_t
ngx_http_mcp_call_recv(ngx_connection_t *c, u_char *buf, size_t size)
{
    return NGX_AGAIN;
}


static ssize_t
ngx_http_mcp_call_recv_chain(ngx_connection_t *c, ngx_chain_t *in, off_t limit)
{
    return NGX_AGAIN;
}


static ssize_t
ngx_http_mcp_call_send(ngx_connection_t *c, u_char *buf, size_t size)
{
    return size;
}


/* Only early hints and the like come this far; it also marks our requests. */
ngx_chain_t *
ngx_http_mcp_call_send_chain(ngx_connection_t *c, ngx_chain_t *in, off_t limit)
{
    ngx_chain_t  *cl;

    for (cl = in; cl; cl = cl->next) {
        cl->buf->pos = cl->buf->last;
        cl->buf->file_pos = cl->buf->file_last;
    }

    return NULL;
}
