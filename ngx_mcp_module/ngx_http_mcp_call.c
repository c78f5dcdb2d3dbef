/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Detached backend calls.
 *
 * A backend runs in a named location, behind the server's own FastCGI, proxy,
 * uwsgi ... modules, for a request of ours on a connection of ours.  There is
 * no socket behind it, so that no client who leaves can cut it off.  A filter
 * catches what the location answers and hands it to the core.
 *
 *   snapshot    what the client's request left behind: copied once per call,
 *               outlives the client, shared by all invocations of the call
 *   invocation  one connection and one request in a named location; ends with
 *               mcp_job_end(), always from the request's clean-up
 */


#include "ngx_http_mcp_call.h"

#include "ngx_http_mcp_capture.h"
#include "ngx_http_mcp_config.h"
#include "ngx_http_mcp_request.h"
#include "ngx_http_mcp_variables.h"


static ngx_http_mcp_snapshot_t *ngx_http_mcp_call_snapshot(mcp_call_t *call,
    ngx_http_request_t *r);
static ngx_connection_t *ngx_http_mcp_call_connect(
    ngx_http_mcp_snapshot_t *snapshot, mcp_job_t *job);
static void ngx_http_mcp_call_init(ngx_http_mcp_invocation_t *inv,
    ngx_http_mcp_snapshot_t *snapshot, mcp_job_t *job);
static void ngx_http_mcp_call_start(mcp_job_t *job, ngx_connection_t *c,
    ngx_str_t *target);
static void ngx_http_mcp_call_release(void *data);
static void ngx_http_mcp_call_done_handler(ngx_event_t *ev);
static void ngx_http_mcp_call_end(void *data);
static void ngx_http_mcp_call_log_line(ngx_http_mcp_invocation_t *inv);
static void ngx_http_mcp_call_judge(ngx_http_mcp_invocation_t *inv);
static ngx_uint_t ngx_http_mcp_call_timed_out(ngx_http_mcp_invocation_t *inv);
static ngx_uint_t ngx_http_mcp_call_cut_off(ngx_http_request_t *r);
static u_char *ngx_http_mcp_call_log_error(ngx_log_t *log, u_char *buf,
    size_t len);
static u_char *ngx_http_mcp_call_log_fact(u_char *p, u_char *last,
    const char *name, mcp_str_t *value);


/* The pool of a connection holds little but the invocation.  */
#define NGX_HTTP_MCP_CALL_POOL_SIZE                                           \
    (ngx_align(sizeof(ngx_pool_t) + sizeof(ngx_http_mcp_invocation_t)         \
               + sizeof(ngx_pool_cleanup_t), 64)                              \
     + 64)


void
ngx_http_mcp_call_invoke(mcp_job_t *job, ngx_http_request_t *r)
{
    ngx_str_t                 target;
    ngx_connection_t         *c;
    ngx_http_mcp_snapshot_t  *snapshot;
    ngx_http_mcp_loc_conf_t  *mlcf;

    job->glue = NULL;

    snapshot = ngx_http_mcp_call_snapshot(job->call, r);

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

    target = ngx_http_mcp_text(mcp_setup_target(mlcf->setup, job->target));

    c = ngx_http_mcp_call_connect(snapshot, job);
    if (c == NULL) {
        mcp_job_end(job, MCP_FAULT_BACKEND_FAILED,
                    "no connection or memory to start the backend call");
        return;
    }

    ngx_http_mcp_call_start(job, c, &target);
}


/* Returns the call's snapshot; the first invocation makes it.  */
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


/* Makes a connection; its data is the invocation.  */
static ngx_connection_t *
ngx_http_mcp_call_connect(ngx_http_mcp_snapshot_t *snapshot, mcp_job_t *job)
{
    ngx_pool_t                 *pool;
    ngx_connection_t           *c;
    ngx_pool_cleanup_t         *cln;
    ngx_http_mcp_invocation_t  *inv;

    pool = ngx_create_pool(NGX_HTTP_MCP_CALL_POOL_SIZE, &snapshot->log);
    if (pool == NULL) {
        return NULL;
    }

    inv = ngx_pcalloc(pool, sizeof(ngx_http_mcp_invocation_t));
    cln = ngx_pool_cleanup_add(pool, 0);

    if (inv == NULL || cln == NULL) {
        goto failed;
    }

    ngx_http_mcp_call_init(inv, snapshot, job);

    c = ngx_http_mcp_connection_create(pool, &inv->log, snapshot);
    if (c == NULL) {
        goto failed;
    }

    c->data = inv;
    c->buffer = &inv->header_in;
    pool->log = &inv->log;

    /* the client's log handler needs the connection */

    inv->log.connection = c->number;
    inv->log_ctx.ctx.connection = c;
    inv->log_ctx.handler = snapshot->log_handler;

    cln->handler = ngx_http_mcp_call_release;
    cln->data = inv;

    mcp_call_retain(inv->call);
    snapshot->refs++;

    return c;

failed:

    ngx_destroy_pool(pool);

    return NULL;
}


static void
ngx_http_mcp_call_init(ngx_http_mcp_invocation_t *inv,
    ngx_http_mcp_snapshot_t *snapshot, mcp_job_t *job)
{
    inv->hc.addr_conf = snapshot->addr_conf;
    inv->hc.conf_ctx = snapshot->conf_ctx;
    inv->snapshot = snapshot;
    inv->job = job;
    inv->call = job->call;
    inv->kept = job;
    inv->id = ngx_http_mcp_text(job->facts.value[MCP_FACT_CALL]);

    inv->done.handler = ngx_http_mcp_call_done_handler;
    inv->done.data = inv;
    inv->done.log = &inv->log;

    /* what nginx logs about the invocation names the call */

    inv->log = snapshot->log;
    inv->log.handler = ngx_http_mcp_call_log_error;
    inv->log.data = &inv->log_ctx;
    inv->log.action = "calling mcp backend";

    inv->log_ctx.inv = inv;
}


static void
ngx_http_mcp_call_start(mcp_job_t *job, ngx_connection_t *c, ngx_str_t *target)
{
    ngx_http_request_t         *r;
    ngx_http_mcp_invocation_t  *inv;

    inv = c->data;

    r = ngx_http_mcp_request_create(c, inv, ngx_http_mcp_call_end);

    if (r == NULL) {

        /* if the clean-up was registered, it has ended the job */

        if (!c->destroyed) {
            ngx_http_close_connection(c);
            mcp_job_end(job, MCP_FAULT_BACKEND_FAILED,
                        "no memory to start the backend call");
        }

        return;
    }

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, c->log, 0,
                   "mcp call %V: invoke \"%V\", %uz bytes, connection %uA",
                   &inv->id, target, job->body.len, c->number);

    ngx_http_named_location(r, target);
    ngx_http_finalize_request(r, NGX_DONE);
    ngx_http_run_posted_requests(c);
}


/* Runs when the connection's pool is freed: from now on nothing uses the
 * request's body or the client's addresses, log lines included.  */
static void
ngx_http_mcp_call_release(void *data)
{
    ngx_http_mcp_invocation_t  *inv = data;

    inv->kept = NULL;

    mcp_call_release(inv->call);
    ngx_http_mcp_snapshot_release(inv->snapshot);
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

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, c->log, 0, "mcp call %V: abort",
                   &inv->id);

    inv->fault = MCP_FAULT_BACKEND_FAILED;
    inv->detail = "aborted";

    /* as if the client's connection broke: nginx closes the upstream at once */

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

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, c->log, 0, "mcp call %V: resume",
                   &inv->id);

    rc = ngx_http_mcp_capture_unpark(inv);

    if (rc == NGX_AGAIN) {
        return;
    }

    if (rc == NGX_ERROR) {
        r->main->count++;
        ngx_http_finalize_request(r->main, NGX_ERROR);

    } else {

        /* the upstream module reads on, or finishes */

        r->write_event_handler(r);
    }

    ngx_http_run_posted_requests(c);
}


void
ngx_http_mcp_call_forget(void *glue)
{
    ngx_http_mcp_snapshot_release(glue);
}


/* Ends the job from an event, as filters and the upstream module are at work
 * now.  In most cases the request ends before.  */
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

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, c->log, 0,
                   "mcp call %V: answered, its request goes on", &inv->id);

    ngx_http_mcp_call_end(inv);
}


static void
ngx_http_mcp_call_end(void *data)
{
    ngx_http_mcp_invocation_t  *inv = data;

    mcp_job_t  *job;

    job = inv->job;

    if (inv->done.posted) {
        ngx_delete_posted_event(&inv->done);
    }

    if (job == NULL) {
        ngx_http_mcp_call_log_line(inv);
        return;
    }

    ngx_http_mcp_call_judge(inv);

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, inv->request->connection->log, 0,
                   "mcp call %V: end, fault %d, %s", &inv->id, inv->fault,
                   inv->detail ? inv->detail : "complete");

    inv->job = NULL;
    job->glue = NULL;

    mcp_job_end(job, inv->fault, inv->detail);

    ngx_http_mcp_call_log_line(inv);
}


/*
 * Decides whether the access log of the backend's location gets a line, where
 * that is wanted: the request has ended, or no backend will work on it any
 * more.  A backend that is called again for the same request writes one line,
 * the last time.
 */
static void
ngx_http_mcp_call_log_line(ngx_http_mcp_invocation_t *inv)
{
    ngx_http_request_t        *r;
    ngx_http_core_loc_conf_t  *clcf;

    r = inv->request;
    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    if (!clcf->log_subrequest || !mcp_job_is_last(inv->kept)) {
        return;
    }

    r->logged = 0;

    /* what a variable was before its call has ended is not what it is now */

    ngx_http_mcp_variables_flush(r);
}


/* Sets the fault that the job ends with, unless one is known already.  */
static void
ngx_http_mcp_call_judge(ngx_http_mcp_invocation_t *inv)
{
    ngx_http_request_t  *r;

    r = inv->request;

    if (inv->fault) {
        return;
    }

    if (inv->head && inv->complete && !ngx_http_mcp_call_cut_off(r)) {
        inv->detail = NULL;
        return;
    }

    inv->fault = MCP_FAULT_BACKEND_FAILED;

    if (inv->head && ngx_http_mcp_call_timed_out(inv)) {
        inv->fault = MCP_FAULT_BACKEND_TIMEOUT;
        inv->detail = "timed out amid its answer";

    } else if (r->connection->close) {
        inv->detail = "the worker shut down";

    } else {
        inv->detail = inv->head ? "broke off amid its answer"
                                : "closed without an answer";
    }
}


static ngx_uint_t
ngx_http_mcp_call_timed_out(ngx_http_mcp_invocation_t *inv)
{
    ngx_msec_t            silence;
    ngx_http_upstream_t  *u;

    u = inv->request->upstream;

    if (inv->complete || u == NULL || u->conf == NULL) {
        return 0;
    }

    /* timers may be that much early */

    silence = ngx_current_msec - inv->heard + NGX_TIMER_LAZY_DELAY;

    return silence >= u->conf->read_timeout;
}


/*
 * To nginx a FastCGI application that dies looks like one that finishes; only a
 * missing END_REQUEST gives it away.
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
    mcp_facts_t             *facts;
    ngx_http_mcp_log_ctx_t  *ctx;

    ctx = log->data;

    p = ctx->handler ? ctx->handler(log, buf, len) : buf;

    if (ctx->inv->kept) {
        facts = &ctx->inv->kept->facts;

        p = ngx_http_mcp_call_log_fact(p, buf + len, "mcp call",
                                       &facts->value[MCP_FACT_CALL]);
        p = ngx_http_mcp_call_log_fact(p, buf + len, "mcp name",
                                       &facts->value[MCP_FACT_NAME]);
    }

    return p;
}


/* The client chose the value: it must not be able to forge a log line.  */
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
