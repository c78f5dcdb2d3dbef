/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The internal request to a backend, and its answer.
 *
 * A backend is a URI of the server: mod_proxy may answer it, a CGI program, or
 * a file.  The request has a connection of its own, without a socket, so that
 * no client that leaves cuts it off.  A filter at the end of its output catches
 * the answer for the core.
 *
 * No MPM knows this connection.  So no hook runs that would ask the MPM about
 * it: neither hooks of connections nor those that read or log requests.
 */

#include "mod_mcp_fetch.h"

#include "mod_mcp_client.h"
#include "mod_mcp_env.h"
#include "mod_mcp_event.h"
#include "mod_mcp_note.h"
#include "mod_mcp_path.h"
#include "mod_mcp_pump.h"
#include "mod_mcp_request.h"
#include "mod_mcp_snapshot.h"
#include "mod_mcp_watch.h"
#include "mod_mcp_worker.h"

#include "mcp_forward.h"
#include "apr_atomic.h"
#include "scoreboard.h"
#include "util_filter.h"

/* Set in a backend's section, it has calls write lines to access logs; with
 * this value their arguments are noted, too. */
#define LOG_VARIABLE  "mcp-log"

/* More than most answers have, and less than is worth a copy. */
#define ASIDE         4096

/* More than mod_logio keeps of a connection. */
#define LOGIO_SIZE    256

static ap_filter_rec_t *body_filter, *capture_filter;

/* The socket of our connections, for modules that look for one.  Nothing is
 * ever sent to it. */
static apr_socket_t *dummy;

/* The run of this thread. */
static __thread mod_mcp_run_t *current;

/* --- other modules' messages --- */

static const char *fact(const mod_mcp_run_t *run, const char *name)
{
    const char *value = apr_table_get(run->env, name);

    return value ? value : "-";
}

/* mod_proxy and others know nothing of calls, and may log without a request.
 * So their first complaint is followed by a line that names the call, unless it
 * is about the client.  mod_proxy reports a timeout as a bad gateway or as a
 * broken answer, so the status of its log line tells the difference. */
void mod_mcp_fetch_logged(const ap_errorlog_info *info, const char *line)
{
    mod_mcp_run_t *run = current;

    if (run == NULL || run->r == NULL
        || info->level > APLOG_WARNING || info->startup
        || info->module_index == APLOG_MODULE_INDEX
        || (run->client && info->c == run->client->c)) {
        return;
    }

    if (APR_STATUS_IS_TIMEUP(info->status)) {
        run->timed_out = 1;
    }

    if (run->named) {
        return;
    }

    run->named = 1;

    ap_log_rerror(APLOG_MARK, info->level, 0, run->r,
                  "mcp: the line above is about call %s of \"%.128s\", at %s",
                  run->id, fact(run, "MCP_NAME"), run->target);
}

/* --- the request's body --- */

static void fill_input(mod_mcp_run_t *run, conn_rec *c)
{
    apr_bucket *b;

    if (run->input == NULL) {
        run->input = apr_brigade_create(run->pool, c->bucket_alloc);

        b = apr_bucket_immortal_create(run->body, run->length,
                                       c->bucket_alloc);
        APR_BRIGADE_INSERT_TAIL(run->input, b);
    }

    /* every further read finds the end again */

    if (APR_BRIGADE_EMPTY(run->input)
        || !APR_BUCKET_IS_EOS(APR_BRIGADE_LAST(run->input))) {
        b = apr_bucket_eos_create(c->bucket_alloc);
        APR_BRIGADE_INSERT_TAIL(run->input, b);
    }
}

static apr_status_t body(ap_filter_t *f, apr_bucket_brigade *bb,
                         ap_input_mode_t mode, apr_read_type_e block,
                         apr_off_t readbytes)
{
    mod_mcp_run_t *run = f->ctx;
    apr_bucket *b, *next, *end, *copy;
    apr_status_t rv;

    fill_input(run, f->c);

    switch (mode) {
    case AP_MODE_READBYTES:
    case AP_MODE_SPECULATIVE:
        rv = apr_brigade_partition(run->input, readbytes, &end);
        if (rv != APR_SUCCESS && rv != APR_INCOMPLETE) {
            return rv;
        }
        break;

    case AP_MODE_EXHAUSTIVE:
        end = APR_BRIGADE_SENTINEL(run->input);
        break;

    case AP_MODE_GETLINE:
        return apr_brigade_split_line(bb, run->input, block, HUGE_STRING_LEN);

    default:
        return APR_ENOTIMPL;
    }

    for (b = APR_BRIGADE_FIRST(run->input); b != end; b = next) {
        next = APR_BUCKET_NEXT(b);

        if (mode == AP_MODE_SPECULATIVE) {
            if (apr_bucket_copy(b, &copy) == APR_SUCCESS) {
                APR_BRIGADE_INSERT_TAIL(bb, copy);
            }
        }
        else {
            APR_BUCKET_REMOVE(b);
            APR_BRIGADE_INSERT_TAIL(bb, b);
        }
    }

    return APR_SUCCESS;
}

/* --- the answer --- */

/* Whether the head of its answer is there. */
static int has_answered(const mod_mcp_run_t *run)
{
    return run->head || run->aside_len;
}

/* Under the lock: modules that refuse a request set the header in either
 * table. */
static void feed_retry_after(mod_mcp_run_t *run, request_rec *r)
{
    const char *value = NULL;

    if (!apr_is_empty_table(r->err_headers_out)) {
        value = apr_table_get(r->err_headers_out, "Retry-After");
    }

    if (value == NULL && !apr_is_empty_table(r->headers_out)) {
        value = apr_table_get(r->headers_out, "Retry-After");
    }

    if (value) {
        mcp_job_retry_after(run->job, mod_mcp_str(value));
    }
}

/* Under the lock. */
static void feed_head(mod_mcp_run_t *run)
{
    request_rec *r = run->r;

    if (run->head || run->job == NULL) {
        return;
    }

    run->head = 1;

    /* an internal redirect answers in its own name */

    while (r->next) {
        r = r->next;
    }

    feed_retry_after(run, r);
    mcp_job_head(run->job, r->status, mod_mcp_str(r->content_type));
}

/* Under the lock: waits until the core has taken all. */
static void feed_data(mod_mcp_run_t *run, const char *data, apr_size_t len)
{
    apr_size_t taken;

    while (run->job && len) {
        taken = mcp_job_data(run->job, data, len);

        data += taken;
        len -= taken;

        if (len == 0) {
            return;
        }

        if (run->cond == NULL) {
            run->cond = mod_mcp_cond(run->pool);

            if (run->cond == NULL) {
                run->failed = 1;
                return;
            }
        }

        run->resumed = 0;

        while (run->job && !run->resumed) {
            mod_mcp_wait(run->cond, 0);
        }
    }
}

/* 1 for an interim response, which proxies pass on as lines of text. */
static int is_interim(const request_rec *r)
{
    while (r->next) {
        r = r->next;
    }

    return ap_is_HTTP_INFO(r->status);
}

/* The core reads JSON when it is whole.  So a small piece of it, which mostly
 * is all, waits for the next one or for the end of the call, which is told
 * under the lock anyway. */
static int put_aside(mod_mcp_run_t *run, const char *data, apr_size_t len)
{
    const request_rec *r = run->r;

    if (has_answered(run) || len == 0 || len > ASIDE || r->next
        || r->status != HTTP_OK || r->content_type == NULL
        || strcmp(r->content_type, "application/json") != 0) {
        return 0;
    }

    run->aside = apr_pmemdup(run->pool, data, len);
    run->aside_len = len;

    return 1;
}

/* Under the lock. */
void mod_mcp_fetch_feed(mod_mcp_run_t *run)
{
    apr_size_t len = run->aside_len;

    if (len) {
        run->aside_len = 0;
        feed_head(run);
        feed_data(run, run->aside, len);
    }
}

/* Feeds a piece of the answer; 0 if the core wants no more. */
static int feed(mod_mcp_run_t *run, const char *data, apr_size_t len)
{
    int wanted;

    if (put_aside(run, data, len)) {
        return 1;
    }

    mod_mcp_lock();
    mod_mcp_watch_look(run->snapshot->client);
    mod_mcp_fetch_feed(run);
    feed_head(run);
    feed_data(run, data, len);

    if (run->client) {
        mod_mcp_pump_own(run->client);
    }

    wanted = (run->job != NULL);
    mod_mcp_unlock();

    return wanted;
}

/* Deletes the bucket at once: reading a pipe leaves a bucket behind with every
 * piece, and there may be any number of pieces. */
static int capture_bucket(mod_mcp_run_t *run, apr_bucket *b)
{
    const char *data;
    apr_status_t rv;
    apr_size_t len;
    int wanted = 1;

    if (APR_BUCKET_IS_EOS(b)) {
        run->eos = 1;
    }

    if (AP_BUCKET_IS_ERROR(b)) {
        run->failed = 1;
    }

    if (!APR_BUCKET_IS_METADATA(b)) {
        rv = apr_bucket_read(b, &data, &len, APR_BLOCK_READ);

        if (rv == APR_SUCCESS) {
            wanted = feed(run, data, len);
        }

        /* a program that does not read all of its input ends like this */

        else if (!APR_STATUS_IS_ECONNRESET(rv)) {
            run->failed = 1;
        }
    }

    apr_bucket_delete(b);

    return wanted;
}

/* 1 if what comes now belongs to the answer. */
static int is_open(const mod_mcp_run_t *run)
{
    return !run->eos && !is_interim(run->r);
}

/* Proxies take this for a client that has left, and close the backend's
 * connection. */
static apr_status_t unwanted(conn_rec *c)
{
    c->aborted = 1;

    return APR_ECONNABORTED;
}

static apr_status_t capture(ap_filter_t *f, apr_bucket_brigade *bb)
{
    mod_mcp_run_t *run = f->ctx;
    int wanted = 1;

    while (!APR_BRIGADE_EMPTY(bb) && wanted && is_open(run)) {
        wanted = capture_bucket(run, APR_BRIGADE_FIRST(bb));
    }

    apr_brigade_cleanup(bb);

    return wanted ? APR_SUCCESS : unwanted(f->c);
}

/* --- without brigades --- */

int mod_mcp_fetch_is_unread(const mod_mcp_run_t *run, const request_rec *r)
{
    return run->input == NULL && r->input_filters->frec == body_filter;
}

int mod_mcp_fetch_is_unfiltered(const request_rec *r)
{
    return r->output_filters->frec == capture_filter;
}

apr_status_t mod_mcp_fetch_pass(mod_mcp_run_t *run, const char *data,
                                apr_size_t len)
{
    return !is_open(run) || feed(run, data, len)
               ? APR_SUCCESS : unwanted(run->r->connection);
}

void mod_mcp_fetch_end(mod_mcp_run_t *run)
{
    if (is_open(run)) {
        run->eos = 1;
    }
}

/* --- the request --- */

static conn_rec *make_connection(mod_mcp_run_t *run)
{
    static apr_uint32_t number;

    mod_mcp_snapshot_t *snapshot = run->snapshot;
    apr_pool_t *p = run->pool;
    conn_rec *c = apr_pcalloc(p, sizeof(*c));
    ap_sb_handle_t *sbh;

    c->pool = p;
    c->base_server = snapshot->server;
    c->bucket_alloc = apr_bucket_alloc_create(p);
    c->conn_config = ap_create_conn_config(p);
    c->notes = apr_table_make(p, 4);
    c->client_addr = snapshot->client_addr;
    c->client_ip = (char *)snapshot->useragent_ip;
    c->local_addr = snapshot->local_addr;
    c->id = (long)apr_atomic_inc32(&number);
    c->keepalive = AP_CONN_CLOSE;
    c->clogging_input_filters = 1;
    c->current_thread = ap_thread_current();
    c->log_id = run->id;

    /* of no slot; with a handle, log lines say "client" and not "remote" */

    ap_create_sb_handle(&sbh, p, -1, -1);
    c->sbh = sbh;

    c->local_ip = (char *)snapshot->local_ip;
    ap_set_core_module_config(c->conn_config, dummy);

    mod_mcp_event_pretend(c);

    return c;
}

/* None of the headers that are added is among those of the snapshot. */
static void make_headers(request_rec *r, mod_mcp_run_t *run)
{
    mod_mcp_snapshot_t *snapshot = run->snapshot;
    size_t i;

    r->headers_in = apr_table_copy(r->pool, snapshot->headers);

    for (i = 0; i < mcp_forward_n_headers; i++) {
        apr_table_addn(r->headers_in, mcp_forward_headers[i].name.data,
                       mcp_forward_headers[i].value.data);
    }

    *mcp_uint_print(run->length_text, run->length) = '\0';
    apr_table_addn(r->headers_in, "Content-Length", run->length_text);
}

/* Our filters instead of those that would talk HTTP to a client. */
static void make_filters(request_rec *r, mod_mcp_run_t *run)
{
    conn_rec *c = r->connection;

    c->input_filters = c->output_filters = NULL;
    r->input_filters = r->proto_input_filters = NULL;
    r->output_filters = r->proto_output_filters = NULL;

    ap_add_input_filter_handle(body_filter, run, r, c);
    ap_add_output_filter_handle(capture_filter, run, r, c);

    r->input_filters = r->proto_input_filters = c->input_filters;
    r->output_filters = r->proto_output_filters = c->output_filters;
}

static request_rec *make_request(mod_mcp_run_t *run, conn_rec *c)
{
    mod_mcp_snapshot_t *snapshot = run->snapshot;
    request_rec *r = ap_create_request(c);

    make_filters(r, run);

    r->server = snapshot->server;
    r->per_dir_config = snapshot->server->lookup_defaults;
    r->request_time = apr_time_now();
    r->log_id = c->log_id;
    r->status = HTTP_OK;
    r->method = "POST";
    r->method_number = M_POST;
    r->protocol = (char *)"HTTP/1.1";
    r->proto_num = HTTP_VERSION(1, 1);
    r->the_request = (char *)run->line;
    r->hostname = snapshot->hostname;
    r->user = (char *)snapshot->user;
    r->ap_auth_type = (char *)snapshot->auth_type;
    r->useragent_addr = snapshot->client_addr;
    r->useragent_ip = (char *)snapshot->useragent_ip;

    make_headers(r, run);
    mod_mcp_env_make(run, r);
    ap_parse_uri(r, run->target);

    /* the port as the client's request told it */

    r->parsed_uri.port_str = (char *)snapshot->port_str;
    r->parsed_uri.port = snapshot->port;

    mod_mcp_request(r)->run = run;

    run->r = r;

    return r;
}

/* --- how it ended --- */

/* The server's own answer is that of the call, a page without a text: what it
 * says is for people. */
static mcp_fault_e feed_own(mod_mcp_run_t *run, int rc)
{
    mcp_str_t line = mod_mcp_str(ap_get_status_line(rc));
    int limit = rc == HTTP_TOO_MANY_REQUESTS || rc == HTTP_SERVICE_UNAVAILABLE;

    mod_mcp_lock();

    if (run->job) {
        feed_retry_after(run, run->r);
        mcp_job_head(run->job, rc, limit ? mcp_str("text/html")
                                         : mcp_str("text/plain"));
        feed_data(run, line.data, line.len);
    }

    mod_mcp_unlock();

    return MCP_FAULT_NONE;
}

/* An answer of 4xx that the server gives itself is the answer of the call. */
static mcp_fault_e own_answer(mod_mcp_run_t *run, int rc, const char **detail)
{
    if (rc < HTTP_BAD_REQUEST || rc >= HTTP_INTERNAL_SERVER_ERROR) {
        *detail = "its location failed";
        return MCP_FAULT_BACKEND_FAILED;
    }

    if (rc != HTTP_TOO_MANY_REQUESTS) {
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, run->r,
                      "mcp: no backend has answered at %s, but the server "
                      "itself, with \"%s\": is there a handler for it, and is "
                      "its module loaded?", run->target,
                      ap_get_status_line(rc));
    }

    return feed_own(run, rc);
}

/* Returns 1 if the proxy's status is that of a backend that was silent for too
 * long. */
static int is_timeout(const mod_mcp_run_t *run, int rc)
{
    switch (rc) {
    case HTTP_GATEWAY_TIME_OUT:
        return 1;

    case HTTP_BAD_GATEWAY:
        return run->timed_out
               || apr_table_get(run->r->notes, "proxy_timedout") != NULL;

    case HTTP_SERVICE_UNAVAILABLE:
        return run->timed_out;

    default:
        return 0;
    }
}

static mcp_fault_e refused(mod_mcp_run_t *run, int rc, const char **detail)
{
    if (is_timeout(run, rc)) {
        *detail = "timed out before an answer";
        return MCP_FAULT_BACKEND_TIMEOUT;
    }

    switch (rc) {
    case HTTP_BAD_GATEWAY:
        *detail = "closed or malformed before an answer";
        return MCP_FAULT_BACKEND_FAILED;

    case HTTP_SERVICE_UNAVAILABLE:
        if (apr_table_get(run->r->err_headers_out, "Retry-After")) {
            return feed_own(run, rc);
        }

        *detail = "could not connect, or unavailable";
        return MCP_FAULT_BACKEND_FAILED;

    default:
        return own_answer(run, rc, detail);
    }
}

/* 1 if a FastCGI backend has ended the request and said nothing, as one that is
 * overloaded does: its handler sees nothing wrong with that. */
static int is_mute(const mod_mcp_run_t *run, const request_rec *r)
{
    return run->fcgi && !has_answered(run) && r->status == HTTP_OK
           && r->content_type == NULL;
}

static mcp_fault_e judge(mod_mcp_run_t *run, int rc, const char **detail)
{
    request_rec *r = run->r;

    if (rc != OK && rc != DONE && !has_answered(run)) {
        return refused(run, rc, detail);
    }

    if (rc == OK && !run->failed && is_mute(run, r)) {
        *detail = "ended without an answer";
        return MCP_FAULT_BACKEND_FAILED;
    }

    /* a handler may leave the end to the server */

    if (rc == OK && !run->eos && !run->failed) {
        ap_finalize_request_protocol(r);
    }

    if ((rc != OK && rc != DONE) || run->failed || !run->eos) {
        if (run->timed_out) {
            *detail = "timed out amid its answer";
            return MCP_FAULT_BACKEND_TIMEOUT;
        }

        *detail = "its answer broke off";
        return MCP_FAULT_BACKEND_FAILED;
    }

    if (!has_answered(run)) {
        mod_mcp_lock();
        feed_head(run);
        mod_mcp_unlock();
    }

    return MCP_FAULT_NONE;
}

mcp_fault_e mod_mcp_fetch(mod_mcp_run_t *run, const char **detail)
{
    request_rec *r = make_request(run, make_connection(run));
    mcp_fault_e fault;
    int rc;

    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                  "mcp: backend call %s, %" APR_SIZE_T_FMT " bytes",
                  run->target, run->length);

    current = run;

    rc = ap_process_request_internal(r);

    if (rc == OK) {
        rc = ap_invoke_handler(r);
    }

    fault = judge(run, rc, detail);

    current = NULL;

    if (ap_is_HTTP_ERROR(rc) && !has_answered(run)) {
        r->status = rc;
    }

    return fault;
}

int mod_mcp_fetch_note(mod_mcp_run_t *run)
{
    const char *log = apr_table_get(run->r->subprocess_env, LOG_VARIABLE);

    if (log == NULL || !mcp_job_is_last(run->kept)) {
        return 0;
    }

    mod_mcp_note_job(run->r, run->kept, strcmp(log, "arguments") == 0);

    return 1;
}

void mod_mcp_fetch_log(mod_mcp_run_t *run)
{
    module *logio = ap_find_linked_module("mod_logio.c");
    conn_rec *c = run->r->connection;

    /* its counters, of which a connection without a socket has none */

    if (logio) {
        ap_set_module_config(c->conn_config, logio,
                             apr_pcalloc(c->pool, LOGIO_SIZE));
    }

    ap_run_log_transaction(run->r);
}

void mod_mcp_fetch_free(mod_mcp_run_t *run)
{
    apr_pool_destroy(run->r->pool);
    run->r = NULL;
}

mod_mcp_run_t *mod_mcp_fetch_run(request_rec *r)
{
    const mod_mcp_request_t *own;

    while (r) {
        own = ap_get_module_config(r->request_config, &mcp_module);

        if (own && own->run) {
            return own->run;
        }

        r = r->prev ? r->prev : r->main;
    }

    return NULL;
}

mod_mcp_run_t *mod_mcp_fetch_current(const conn_rec *c)
{
    return current && current->r && current->r->connection == c ? current
                                                                : NULL;
}

int mod_mcp_fetch_guard(request_rec *r)
{
    if (mod_mcp_fetch_run(r) || !mod_mcp_path_is_backend(r->uri)) {
        return DECLINED;
    }

    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                  "%s is an MCP backend, which only calls may request", r->uri);

    return HTTP_NOT_FOUND;
}

void mod_mcp_fetch_register(void)
{
    body_filter = ap_register_input_filter("MCP_BODY", body, NULL,
                                           AP_FTYPE_CONNECTION);
    capture_filter = ap_register_output_filter("MCP_CAPTURE", capture, NULL,
                                               AP_FTYPE_NETWORK);
}

apr_status_t mod_mcp_fetch_init(apr_pool_t *pchild)
{
    return apr_socket_create(&dummy, APR_INET, SOCK_STREAM, APR_PROTO_TCP,
                             pchild);
}
