/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Runs backend requests independently of the clients that caused them.
 *
 * A backend is a named location with one of nginx's own modules for FastCGI,
 * proxying or uwsgi.  A backend request is an internal request to this
 * location, on an internal connection without a socket, so that a client that
 * disconnects cannot abort it.  A filter captures the location's response and
 * passes it to the core.  A backend request ends, by a call of
 * mcp_backend_request_end(), when nginx cleans up the internal request, or in
 * an event that is posted when the response is complete.
 *
 * The data of the client's request that backend requests need is copied once
 * per call, to a snapshot.  The snapshot outlives the client's request, and
 * all backend requests of the call share it.
 */


#include "ngx_http_mcp_call.h"

#include "ngx_http_mcp_capture.h"
#include "ngx_http_mcp_config.h"
#include "ngx_http_mcp_request.h"
#include "ngx_http_mcp_variables.h"
#include "ngx_http_mcp_worker.h"


static ngx_http_mcp_snapshot_t *ngx_http_mcp_call_snapshot(mcp_call_t *call,
    ngx_http_request_t *r);
static ngx_connection_t *ngx_http_mcp_call_connect(
    ngx_http_mcp_snapshot_t *snapshot, mcp_backend_request_t *breq);
static void ngx_http_mcp_call_init(ngx_http_mcp_backend_request_t *req,
    ngx_http_mcp_snapshot_t *snapshot, mcp_backend_request_t *breq);
static void ngx_http_mcp_call_start(mcp_backend_request_t *breq,
    ngx_connection_t *c, ngx_str_t *target);
static void ngx_http_mcp_call_release(void *data);
static void ngx_http_mcp_call_done_handler(ngx_event_t *ev);
static void ngx_http_mcp_call_end(void *data);
static void ngx_http_mcp_call_log_line(ngx_http_mcp_backend_request_t *req);
static void ngx_http_mcp_call_judge(ngx_http_mcp_backend_request_t *req);
static ngx_uint_t ngx_http_mcp_call_timed_out(
    ngx_http_mcp_backend_request_t *req);
static ngx_uint_t ngx_http_mcp_call_cut_off(ngx_http_request_t *r);
static u_char *ngx_http_mcp_call_log_error(ngx_log_t *log, u_char *buf,
    size_t len);
static u_char *ngx_http_mcp_call_log_variable(u_char *p, u_char *last,
    const char *name, mcp_str_t *value);


/*
 * size of the pool of an internal connection, bytes; the pool holds little more
 * than the structure of the backend request
 */
#define NGX_HTTP_MCP_CALL_POOL_SIZE                                           \
    (ngx_align(sizeof(ngx_pool_t) + sizeof(ngx_http_mcp_backend_request_t)    \
               + sizeof(ngx_pool_cleanup_t), 64)                              \
     + 64)


void
ngx_http_mcp_call_prepare(mcp_backend_request_t *breq, ngx_http_request_t *r)
{
    /* ignore a failure to make the snapshot: ngx_http_mcp_call_invoke() tries
     * again, and reports its own failure to the core */

    (void) ngx_http_mcp_call_snapshot(breq->call, r);
}


void
ngx_http_mcp_call_invoke(mcp_backend_request_t *breq, ngx_http_request_t *r)
{
    ngx_str_t                 target;
    ngx_connection_t         *c;
    ngx_http_mcp_snapshot_t  *snapshot;
    ngx_http_mcp_loc_conf_t  *mlcf;

    breq->glue = NULL;

    snapshot = ngx_http_mcp_call_snapshot(breq->call, r);

    if (snapshot == NULL) {
        mcp_backend_request_end(breq, MCP_FAILURE_LOCAL,
                                r ? "no memory to start the backend call"
                      : "the client disconnected before the backend call could "
                                "start");
        return;
    }

    mlcf = snapshot->loc_conf[ngx_http_mcp_module.ctx_index];

    if (breq->target >= mcp_setup_targets(mlcf->setup)) {
        mcp_backend_request_end(breq, MCP_FAILURE_TARGET,
                                "the configuration of the client's location "
                                "lacks this backend");
        return;
    }

    target = ngx_http_mcp_text(mcp_setup_target(mlcf->setup, breq->target));

    c = ngx_http_mcp_call_connect(snapshot, breq);
    if (c == NULL) {
        mcp_backend_request_end(breq, MCP_FAILURE_LOCAL,
                                "no free connection (raise "
                                "worker_connections) or no memory to start "
                                "the backend call");
        return;
    }

    ngx_http_mcp_call_start(breq, c, &target);
}


/*
 * Returns the call's snapshot; creates it for the first backend request.
 * Returns NULL if out of memory, or if the call has no snapshot and r is NULL.
 */
static ngx_http_mcp_snapshot_t *
ngx_http_mcp_call_snapshot(mcp_call_t *call, ngx_http_request_t *r)
{
    ngx_http_mcp_snapshot_t  *snapshot;

    snapshot = mcp_call_glue(call);

    if (snapshot == NULL && r != NULL) {
        snapshot = ngx_http_mcp_snapshot_create(r);

        if (snapshot) {
            mcp_call_set_glue(call, snapshot);
        }
    }

    return snapshot;
}


/*
 * Creates the internal connection of a backend request, with a new
 * ngx_http_mcp_backend_request_t in c->data.  Returns NULL on failure.
 */
static ngx_connection_t *
ngx_http_mcp_call_connect(ngx_http_mcp_snapshot_t *snapshot,
    mcp_backend_request_t *breq)
{
    ngx_pool_t                      *pool;
    ngx_connection_t                *c;
    ngx_pool_cleanup_t              *cln;
    ngx_http_mcp_backend_request_t  *req;

    pool = ngx_create_pool(NGX_HTTP_MCP_CALL_POOL_SIZE, &snapshot->log);
    if (pool == NULL) {
        return NULL;
    }

    req = ngx_pcalloc(pool, sizeof(ngx_http_mcp_backend_request_t));
    cln = ngx_pool_cleanup_add(pool, 0);

    if (req == NULL || cln == NULL) {
        goto failed;
    }

    ngx_http_mcp_call_init(req, snapshot, breq);

    c = ngx_http_mcp_connection_create(pool, &req->log, snapshot);
    if (c == NULL) {
        goto failed;
    }

    c->data = req;
    c->buffer = &req->header_in;
    pool->log = &req->log;

    /* complete the log context: ngx_http_mcp_call_init() has set its other
     * members, but the connection did not exist at that time */

    req->log.connection = c->number;
    req->log_ctx.ctx.connection = c;
    req->log_ctx.handler = snapshot->log_handler;

    cln->handler = ngx_http_mcp_call_release;
    cln->data = req;

    mcp_call_retain(req->call);
    snapshot->refs++;

    return c;

failed:

    ngx_destroy_pool(pool);

    return NULL;
}


static void
ngx_http_mcp_call_init(ngx_http_mcp_backend_request_t *req,
    ngx_http_mcp_snapshot_t *snapshot, mcp_backend_request_t *breq)
{
    req->hc.addr_conf = snapshot->addr_conf;
    req->hc.conf_ctx = snapshot->conf_ctx;
    req->snapshot = snapshot;
    req->breq = breq;
    req->call = breq->call;
    req->kept = breq;
    req->id = ngx_http_mcp_text(breq->variables.value[MCP_VARIABLE_CALL]);

    req->done.handler = ngx_http_mcp_call_done_handler;
    req->done.data = req;
    req->done.log = &req->log;

    /* add the id of the call to each line that nginx logs about this backend
     * request */

    req->log = snapshot->log;
    req->log.handler = ngx_http_mcp_call_log_error;
    req->log.data = &req->log_ctx;
    req->log.action = "calling mcp backend";

    req->log_ctx.req = req;
}


static void
ngx_http_mcp_call_start(mcp_backend_request_t *breq, ngx_connection_t *c,
    ngx_str_t *target)
{
    ngx_http_request_t              *r;
    ngx_http_mcp_backend_request_t  *req;

    req = c->data;

    r = ngx_http_mcp_request_create(c, req, ngx_http_mcp_call_end);

    if (r == NULL) {

        /* if the connection has been destroyed, ngx_http_mcp_call_end() has
         * run and has ended the backend request */

        if (!c->destroyed) {
            ngx_http_close_connection(c);
            mcp_backend_request_end(breq, MCP_FAILURE_LOCAL,
                                    "no memory to start the backend call");
        }

        return;
    }

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, c->log, 0,
                   "mcp call %V: calls \"%V\" with a body of %uz bytes, "
                   "connection %uA",
                   &req->id, target, breq->body.len, c->number);

    ngx_http_named_location(r, target);
    ngx_http_finalize_request(r, NGX_DONE);
    ngx_http_run_posted_requests(c);
}


/*
 * Clean-up of the connection's pool: releases the call and the snapshot,
 * because nothing, including log lines, uses the request's body or the
 * client's addresses any more.
 */
static void
ngx_http_mcp_call_release(void *data)
{
    ngx_http_mcp_backend_request_t  *req = data;

    req->kept = NULL;

    mcp_call_release(req->call);
    ngx_http_mcp_snapshot_release(req->snapshot);
}


void
ngx_http_mcp_call_abort(mcp_backend_request_t *breq)
{
    ngx_connection_t                *c;
    ngx_http_request_t              *r;
    ngx_http_mcp_backend_request_t  *req;

    req = breq->glue;

    if (req == NULL) {
        mcp_backend_request_end(breq, MCP_FAILURE_REPLY, "aborted");
        return;
    }

    r = req->request;
    c = r->connection;

    ngx_http_set_log_request(c->log, r);

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, c->log, 0,
                   "mcp call %V: aborts the backend request", &req->id);

    req->failure = MCP_FAILURE_REPLY;
    req->detail = "aborted";

    /* set c->error as if the connection to the client were broken: nginx then
     * closes the upstream immediately */

    c->error = 1;
    r->count++;

    ngx_http_finalize_request(r, NGX_HTTP_CLIENT_CLOSED_REQUEST);
    ngx_http_run_posted_requests(c);
}


void
ngx_http_mcp_call_resume(mcp_backend_request_t *breq)
{
    ngx_int_t                        rc;
    ngx_connection_t                *c;
    ngx_http_request_t              *r;
    ngx_http_mcp_backend_request_t  *req;

    req = breq->glue;

    if (req == NULL || !req->parked) {
        return;
    }

    c = req->request->connection;
    r = c->data;

    ngx_http_set_log_request(c->log, r);

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, c->log, 0,
                   "mcp call %V: reads from the backend again", &req->id);

    rc = ngx_http_mcp_capture_unpark(req);

    if (rc == NGX_AGAIN) {
        return;
    }

    if (rc == NGX_ERROR) {
        r->main->count++;
        ngx_http_finalize_request(r->main, NGX_ERROR);

    } else {

        /* let the upstream module continue to read the response, or end the
         * request */

        r->write_event_handler(r);
    }

    ngx_http_run_posted_requests(c);
}


void
ngx_http_mcp_call_forget(void *glue)
{
    ngx_http_mcp_snapshot_release(glue);
}


/*
 * Ends the backend request from a posted event, because filters and the
 * upstream module still use the request.  In most cases the request ends
 * before the event runs.
 */
void
ngx_http_mcp_call_complete(ngx_http_mcp_backend_request_t *req)
{
    req->complete = 1;

    ngx_post_event(&req->done, &ngx_posted_events);
}


static void
ngx_http_mcp_call_done_handler(ngx_event_t *ev)
{
    ngx_connection_t                *c;
    ngx_http_mcp_backend_request_t  *req;

    req = ev->data;
    c = req->request->connection;

    ngx_http_set_log_request(c->log, req->request);

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, c->log, 0,
                   "mcp call %V: has its response, but the backend has not "
                   "ended yet", &req->id);

    ngx_http_mcp_call_end(req);
}


static void
ngx_http_mcp_call_end(void *data)
{
    ngx_http_mcp_backend_request_t  *req = data;

    mcp_backend_request_t    *breq;
    ngx_http_mcp_loc_conf_t  *mlcf;

    breq = req->breq;

    if (req->done.posted) {
        ngx_delete_posted_event(&req->done);
    }

    if (breq == NULL) {
        ngx_http_mcp_call_log_line(req);
        return;
    }

    ngx_http_mcp_call_judge(req);

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, req->request->connection->log, 0,
                   "mcp call %V: backend request ended, failure %d, %s",
                   &req->id, req->failure,
                   req->detail ? req->detail : "complete");

    req->breq = NULL;
    breq->glue = NULL;

    mlcf = req->snapshot->loc_conf[ngx_http_mcp_module.ctx_index];

    mcp_backend_request_end(breq, req->failure, req->detail);

    ngx_http_mcp_worker_arm(mlcf->zone);

    ngx_http_mcp_call_log_line(req);
}


/*
 * Enables the access log line of a backend's location, if "log_subrequest" is
 * on.  Called when the request has ended, or when the core has finished with
 * the backend request.  If one JSON-RPC request leads to several backend
 * requests, only the final one writes a line.
 */
static void
ngx_http_mcp_call_log_line(ngx_http_mcp_backend_request_t *req)
{
    ngx_http_request_t        *r;
    ngx_http_core_loc_conf_t  *clcf;

    r = req->request;
    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    if (!clcf->log_subrequest || !mcp_backend_request_is_last(req->kept)) {
        return;
    }

    r->logged = 0;

    /* discard cached values of variables: some change when the call ends */

    ngx_http_mcp_variables_flush(r);
}


/*
 * Sets the failure and the detail with which the backend request ends, unless a
 * failure is set already.
 */
static void
ngx_http_mcp_call_judge(ngx_http_mcp_backend_request_t *req)
{
    ngx_http_request_t  *r;

    r = req->request;

    if (req->failure) {
        return;
    }

    if (req->head && req->complete && !ngx_http_mcp_call_cut_off(r)) {
        req->detail = NULL;
        return;
    }

    req->failure = MCP_FAILURE_REPLY;

    if (req->head && ngx_http_mcp_call_timed_out(req)) {
        req->failure = MCP_FAILURE_TIMEOUT;
        req->detail = "the backend timed out in the middle of its response";

    } else if (r->connection->close) {
        req->failure = MCP_FAILURE_LOCAL;
        req->detail = "the worker process is shutting down";

    } else {
        req->detail = req->head ? "the response of the backend was cut off"
                                : "the backend closed the connection without "
                                  "an answer";
    }
}


static ngx_uint_t
ngx_http_mcp_call_timed_out(ngx_http_mcp_backend_request_t *req)
{
    ngx_msec_t            silence;
    ngx_http_upstream_t  *u;

    u = req->request->upstream;

    if (req->complete || u == NULL || u->conf == NULL) {
        return 0;
    }

    /* add NGX_TIMER_LAZY_DELAY ms, because nginx's read timer may expire too
     * early by up to this time */

    silence = ngx_current_msec - req->last_read + NGX_TIMER_LAZY_DELAY;

    return silence >= u->conf->read_timeout;
}


/*
 * Returns 1 if a FastCGI application has died while it sent its response.
 * nginx does not distinguish this from a complete response; only the record
 * END_REQUEST is missing.
 */
static ngx_uint_t
ngx_http_mcp_call_cut_off(ngx_http_request_t *r)
{
    ngx_http_upstream_t  *u;

    u = r->upstream;

    if (u == NULL || !u->header_sent || r->header_only
        || u->schema.len != sizeof("fastcgi://") - 1
        || ngx_memcmp(u->schema.data, "fastcgi://", sizeof("fastcgi://") - 1)
           != 0)
    {
        return 0;
    }

    return u->buffering ? !u->pipe->upstream_done : u->length != 0;
}


static u_char *
ngx_http_mcp_call_log_error(ngx_log_t *log, u_char *buf, size_t len)
{
    u_char                  *p;
    mcp_variables_t         *variables;
    ngx_http_mcp_log_ctx_t  *ctx;

    ctx = log->data;

    p = ctx->handler ? ctx->handler(log, buf, len) : buf;

    if (ctx->req->kept) {
        variables = &ctx->req->kept->variables;

        p = ngx_http_mcp_call_log_variable(p, buf + len, "mcp call",
                                       &variables->value[MCP_VARIABLE_CALL]);
        p = ngx_http_mcp_call_log_variable(p, buf + len, "mcp name",
                                       &variables->value[MCP_VARIABLE_NAME]);
    }

    return p;
}


/*
 * Appends the value of a variable to a log line.  Replaces control characters
 * and quotes, because the client has chosen the value and must not be able to
 * forge log lines.
 */
static u_char *
ngx_http_mcp_call_log_variable(u_char *p, u_char *last, const char *name,
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
