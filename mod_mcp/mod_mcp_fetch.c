/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The internal request to a backend, and its response.
 *
 * A backend is a URI of the server, which may lead to mod_proxy, a CGI program
 * or a file.  The internal request has a connection without a socket, so that
 * a client that disconnects cannot abort it.  The final output filter of the
 * internal request captures the response for the core.
 *
 * The MPM does not know this connection.  So this file does not run hooks that
 * would query the MPM about the connection: hooks for connections, and hooks
 * that read requests.  It runs the hook log_transaction only if LOG_VARIABLE
 * is set.
 */

#include "mod_mcp_fetch.h"

#include "mod_mcp_client.h"
#include "mod_mcp_event.h"
#include "mod_mcp_note.h"
#include "mod_mcp_path.h"
#include "mod_mcp_event_loop.h"
#include "mod_mcp_request.h"
#include "mod_mcp_snapshot.h"
#include "mod_mcp_poller.h"
#include "mod_mcp_worker.h"

#include "mcp_forward.h"
#include "apr_atomic.h"
#include "scoreboard.h"
#include "util_filter.h"

/*
 * If the section of a backend sets this environment variable, calls of the
 * backend get access log lines.  The value "arguments" adds the arguments of
 * the call.
 */
#define LOG_VARIABLE  "mcp-log"

/* maximum size of output that put_pending() copies and keeps, bytes; most
 * responses are smaller */
#define PENDING_OUT   4096

/* size of the memory for mod_logio, bytes: more than mod_logio stores for a
 * connection */
#define LOGIO_SIZE    256

static ap_filter_rec_t *body_filter, *capture_filter;

/*
 * The socket of internal connections, for modules that require one.  Nothing
 * is sent to it.
 */
static apr_socket_t *dummy;

/* The backend request that the current thread runs, or NULL. */
static __thread mod_mcp_backend_request_t *current;

/* --- other modules' messages --- */

static const char *variable_of(const mod_mcp_backend_request_t *req,
    const char *name)
{
    const char *value = apr_table_get(req->env, name);

    return value ? value : "-";
}

/*
 * Hook error_log.  After the first warning or error of another module during a
 * backend request, logs a line that names the call, because mod_proxy and
 * others do not know the call, and may log without a request.  Ignores
 * messages about the client's connection.  Also detects timeouts by the status
 * of the message, because mod_proxy reports them as a bad gateway or an
 * incomplete response.
 */
void mod_mcp_fetch_logged(const ap_errorlog_info *info, const char *line)
{
    mod_mcp_backend_request_t *req = current;
    int aborted;

    if (req == NULL || req->r == NULL
        || info->level > APLOG_WARNING || info->startup
        || info->module_index == APLOG_MODULE_INDEX
        || (req->client && info->c == req->client->c)) {
        return;
    }

    if (APR_STATUS_IS_TIMEUP(info->status)) {
        req->timed_out = 1;
    }

    aborted = mod_mcp_proxy_is_aborted(req);

    if (aborted) {
        mod_mcp_proxy_spare(req->r);
    }

    if (req->named) {
        return;
    }

    req->named = 1;

    ap_log_rerror(APLOG_MARK, info->level, 0, req->r,
                  "mcp: the line above concerns call %s of \"%.128s\", at "
                  "%s%s",
                  req->id, variable_of(req, "MCP_NAME"), req->target,
                  aborted ? " (the server had aborted this request)" : "");
}

/* --- the request's body --- */

static void fill_input(mod_mcp_backend_request_t *req, conn_rec *c)
{
    apr_bucket *b;

    if (req->input == NULL) {
        req->input = apr_brigade_create(req->pool, c->bucket_alloc);

        b = apr_bucket_immortal_create(req->body, req->length,
                                       c->bucket_alloc);
        APR_BRIGADE_INSERT_TAIL(req->input, b);
    }

    /* append an end of stream if there is none: every read after the end of the
     * body must return one */

    if (APR_BRIGADE_EMPTY(req->input)
        || !APR_BUCKET_IS_EOS(APR_BRIGADE_LAST(req->input))) {
        b = apr_bucket_eos_create(c->bucket_alloc);
        APR_BRIGADE_INSERT_TAIL(req->input, b);
    }
}

static apr_status_t body(ap_filter_t *f, apr_bucket_brigade *bb,
                         ap_input_mode_t mode, apr_read_type_e block,
                         apr_off_t readbytes)
{
    mod_mcp_backend_request_t *req = f->ctx;
    apr_bucket *b, *next, *end, *copy;
    apr_status_t rv;

    /* if ABORT was carried out while the handler connected, end the backend
     * request here, before the backend gets it: the handlers for SCGI and uwsgi
     * read the body only after they have connected */

    if (mod_mcp_proxy_is_aborted(req)) {
        mod_mcp_proxy_spare(req->r);

        return APR_ECONNABORTED;
    }

    fill_input(req, f->c);

    switch (mode) {
    case AP_MODE_READBYTES:
    case AP_MODE_SPECULATIVE:
        rv = apr_brigade_partition(req->input, readbytes, &end);
        if (rv != APR_SUCCESS && rv != APR_INCOMPLETE) {
            return rv;
        }
        break;

    case AP_MODE_EXHAUSTIVE:
        end = APR_BRIGADE_SENTINEL(req->input);
        break;

    case AP_MODE_GETLINE:
        return apr_brigade_split_line(bb, req->input, block, HUGE_STRING_LEN);

    default:
        return APR_ENOTIMPL;
    }

    for (b = APR_BRIGADE_FIRST(req->input); b != end; b = next) {
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

/* --- the response --- */

/* Returns a header of the response.  Modules that reject a request set it in
 * headers_out or err_headers_out. */
static const char *response_header(request_rec *r, const char *name)
{
    const char *value = NULL;

    if (!apr_is_empty_table(r->err_headers_out)) {
        value = apr_table_get(r->err_headers_out, name);
    }

    if (value == NULL && !apr_is_empty_table(r->headers_out)) {
        value = apr_table_get(r->headers_out, name);
    }

    return value;
}

/* Passes the headers Retry-After and Mcp-Session-Id of the response to the
 * core.  Called under mod_mcp_lock(). */
static void feed_headers(mod_mcp_backend_request_t *req, request_rec *r)
{
    const char *value = response_header(r, "Retry-After");

    if (value) {
        mcp_backend_request_retry_after(req->breq, mod_mcp_str(value));
    }

    value = response_header(r, MCP_BACKEND_REQUEST_SESSION);

    if (value) {
        mcp_backend_request_session(req->breq, mod_mcp_str(value));
    }
}

/*
 * Passes the head of the backend's response to the core, once.  Called under
 * mod_mcp_lock().
 */
static void feed_head(mod_mcp_backend_request_t *req)
{
    request_rec *r = req->r;

    if (req->phase == MOD_MCP_ANSWERED || req->breq == NULL) {
        return;
    }

    req->phase = MOD_MCP_ANSWERED;

    /* after internal redirects the last request has the response */

    while (r->next) {
        r = r->next;
    }

    feed_headers(req, r);
    mcp_backend_request_head(req->breq, r->status,
                             mod_mcp_str(r->content_type));
}

/*
 * Passes the backend's output to the core, and waits until the core has taken
 * all.  Called under mod_mcp_lock().
 */
static void feed_data(mod_mcp_backend_request_t *req, const char *data,
    apr_size_t len)
{
    apr_size_t taken;

    while (req->breq && len) {
        taken = mcp_backend_request_data(req->breq, data, len);

        data += taken;
        len -= taken;

        if (len == 0) {
            return;
        }

        if (req->cond == NULL) {
            req->cond = mod_mcp_cond(req->pool);

            if (req->cond == NULL) {
                req->failed = 1;
                return;
            }
        }

        req->resumed = 0;

        while (req->breq && !req->resumed) {
            mod_mcp_wait(req->cond, 0);
        }
    }
}

/*
 * Returns 1 while a proxy handler passes on an interim response, which it
 * writes as lines of text.
 */
static int is_interim(const request_rec *r)
{
    while (r->next) {
        r = r->next;
    }

    return ap_is_HTTP_INFO(r->status);
}

/*
 * Keeps a small piece of JSON, usually the complete response, until the next
 * piece or the end of the backend request.  The core needs complete JSON
 * anyway, and passing the piece with the end saves one call of mod_mcp_lock().
 * Returns 1 if the piece was kept.
 */
static int put_pending(mod_mcp_backend_request_t *req, const char *data,
    apr_size_t len)
{
    const request_rec *r = req->r;

    if (req->phase != MOD_MCP_SILENT || len == 0 || len > PENDING_OUT || r->next
        || r->status != HTTP_OK || r->content_type == NULL
        || strcmp(r->content_type, "application/json") != 0) {
        return 0;
    }

    req->pending_out = apr_pmemdup(req->pool, data, len);
    req->pending_out_len = len;
    req->phase = MOD_MCP_PENDING;

    return 1;
}

void mod_mcp_fetch_feed(mod_mcp_backend_request_t *req)
{
    if (req->phase == MOD_MCP_PENDING) {
        feed_head(req);
        feed_data(req, req->pending_out, req->pending_out_len);
    }
}

/*
 * Passes a piece of the backend's response to the core.  Returns 0 if the core
 * does not need more.
 */
static int pass_output(mod_mcp_backend_request_t *req, const char *data,
    apr_size_t len)
{
    int wanted;

    if (put_pending(req, data, len)) {
        return 1;
    }

    mod_mcp_lock();
    mod_mcp_poller_check(req->snapshot->client);
    mod_mcp_fetch_feed(req);
    feed_head(req);
    feed_data(req, data, len);

    if (req->client) {
        mod_mcp_event_loop_own(req->client);
    }

    wanted = (req->breq != NULL);
    mod_mcp_unlock();

    return wanted;
}

/*
 * Handles a bucket of the backend's response and deletes it immediately:
 * reading a pipe adds a bucket for every piece, and their number is unlimited.
 * Returns 0 if the core does not need more.
 */
static int capture_bucket(mod_mcp_backend_request_t *req, apr_bucket *b)
{
    const char *data;
    apr_status_t rv;
    apr_size_t len;
    int wanted = 1;

    if (APR_BUCKET_IS_EOS(b)) {
        req->eos = 1;
    }

    if (AP_BUCKET_IS_ERROR(b)) {
        req->failed = 1;
    }

    if (!APR_BUCKET_IS_METADATA(b)) {
        rv = apr_bucket_read(b, &data, &len, APR_BLOCK_READ);

        if (rv == APR_SUCCESS) {
            wanted = pass_output(req, data, len);
        }

        /* a connection reset is normal for a program that does not read its
         * input completely */

        else if (!APR_STATUS_IS_ECONNRESET(rv)) {
            req->failed = 1;
        }
    }

    /* mod_proxy_http sends a flush after the head of a stream that has no event
     * yet: pass the head of the stream to the core.  The head of any other
     * response is passed together with the body, unless it has the id of a new
     * session, which the core needs even if no body follows. */

    else if (APR_BUCKET_IS_FLUSH(b) && req->phase == MOD_MCP_SILENT
             && (req->kind == MCP_BACKEND_REQUEST_LISTEN
                 || response_header(req->r, MCP_BACKEND_REQUEST_SESSION))) {
        wanted = pass_output(req, "", 0);
    }

    apr_bucket_delete(b);

    return wanted;
}

/* Returns 1 if output at this time belongs to the final response: after
 * interim responses, and before the end of the response. */
static int is_open(const mod_mcp_backend_request_t *req)
{
    return !req->eos && !is_interim(req->r);
}

/*
 * Marks the internal connection as aborted, because the core needs no more of
 * the response.  A proxy handler then closes its connection to the backend, as
 * if the client had disconnected.
 */
static apr_status_t unwanted(mod_mcp_backend_request_t *req, conn_rec *c)
{
    mod_mcp_proxy_spare(req->r);
    c->aborted = 1;

    return APR_ECONNABORTED;
}

static apr_status_t capture(ap_filter_t *f, apr_bucket_brigade *bb)
{
    mod_mcp_backend_request_t *req = f->ctx;
    int wanted = 1;

    while (!APR_BRIGADE_EMPTY(bb) && wanted && is_open(req)) {
        wanted = capture_bucket(req, APR_BRIGADE_FIRST(bb));
    }

    apr_brigade_cleanup(bb);

    return wanted ? APR_SUCCESS : unwanted(req, f->c);
}

/* --- the request --- */

/*
 * Copies an address of a snapshot to *copy; both use the same strings.  httpd
 * looks up the name of an address in memory of the address's pool, and several
 * threads may use the same snapshot.  apr_sockaddr_info_copy() would also copy
 * the strings, and allocate memory.
 */
static void copy_address(apr_sockaddr_t *copy, const apr_sockaddr_t *address,
                         apr_pool_t *p)
{
    *copy = *address;

    /* ipaddr_ptr points to a member of "sa" */

    copy->pool = p;
    copy->ipaddr_ptr = (char *)copy
                       + ((const char *)address->ipaddr_ptr
                          - (const char *)address);
}

static conn_rec *make_connection(mod_mcp_backend_request_t *req)
{
    static apr_uint32_t number;

    mod_mcp_snapshot_t *snapshot = req->snapshot;
    apr_pool_t *p = req->pool;
    conn_rec *c = apr_pcalloc(p, sizeof(*c));
    ap_sb_handle_t *sbh;

    copy_address(&req->client_addr, snapshot->client_addr, p);
    copy_address(&req->local_addr, snapshot->local_addr, p);

    c->pool = p;
    c->base_server = snapshot->server;
    c->bucket_alloc = apr_bucket_alloc_create(p);
    c->conn_config = ap_create_conn_config(p);
    c->notes = apr_table_make(p, 4);
    c->client_addr = &req->client_addr;
    c->client_ip = (char *)snapshot->useragent_ip;
    c->local_addr = &req->local_addr;
    c->id = (long)apr_atomic_inc32(&number);
    c->keepalive = AP_CONN_CLOSE;
    c->clogging_input_filters = 1;
    c->current_thread = ap_thread_current();
    c->log_id = req->id;

    /* a scoreboard handle without a slot: without a handle, log lines would
     * have "remote" instead of "client" */

    ap_create_sb_handle(&sbh, p, -1, -1);
    c->sbh = sbh;

    c->local_ip = (char *)snapshot->local_ip;
    ap_set_core_module_config(c->conn_config, dummy);

    mod_mcp_event_pretend(c);

    return c;
}

static int replace_header(void *data, const char *name, const char *value)
{
    apr_table_setn(data, name, value);

    return 1;
}

/*
 * Sets the headers of the internal request.  Begins with the client's headers
 * in the snapshot, or only Host if req->bare is set.  The headers in
 * req->headers replace those with the same names.  All others are added without
 * a search for the same name, because the snapshot does not contain them.
 */
static void make_headers(request_rec *r, mod_mcp_backend_request_t *req)
{
    mod_mcp_snapshot_t *snapshot = req->snapshot;
    size_t i;

    if (req->bare) {
        r->headers_in = apr_table_make(r->pool, 4);
        apr_table_setn(r->headers_in, "Host",
                       apr_table_get(snapshot->headers, "Host"));
    }
    else {
        r->headers_in = apr_table_copy(r->pool, snapshot->headers);
    }

    for (i = 0; i < mcp_forward_n_headers; i++) {
        apr_table_addn(r->headers_in, mcp_forward_headers[i].name.data,
                       mcp_forward_headers[i].value.data);
    }

    if (req->headers) {
        apr_table_do(replace_header, r->headers_in, req->headers, NULL);
    }

    *mcp_uint_print(req->length_text, req->length) = '\0';
    apr_table_addn(r->headers_in, "Content-Length", req->length_text);
}

/*
 * Sets the environment of the internal request: MCP_* and the environment of
 * the client's request, of which a request with req->bare has only HTTPS,
 * because its response is not for this client alone.  The variable
 * proxy-interim-response makes proxy handlers drop interim responses, which no
 * client would get.
 */
static void make_env(request_rec *r, mod_mcp_backend_request_t *req)
{
    const apr_table_t *more = req->snapshot->env;

    r->subprocess_env = req->bare || apr_is_empty_table(more)
                            ? req->env
                            : apr_table_overlay(r->pool, req->env, more);

    if (req->bare && apr_table_get(more, "HTTPS")) {
        apr_table_setn(r->subprocess_env, "HTTPS", "on");
    }

    apr_table_setn(r->subprocess_env, "proxy-interim-response", "Suppress");
}

/* Replaces all filters of the internal request and of its connection by the two
 * filters of this file. */
static void make_filters(request_rec *r, mod_mcp_backend_request_t *req)
{
    conn_rec *c = r->connection;

    c->input_filters = c->output_filters = NULL;
    r->input_filters = r->proto_input_filters = NULL;
    r->output_filters = r->proto_output_filters = NULL;

    ap_add_input_filter_handle(body_filter, req, r, c);
    ap_add_output_filter_handle(capture_filter, req, r, c);

    r->input_filters = r->proto_input_filters = c->input_filters;
    r->output_filters = r->proto_output_filters = c->output_filters;
}

static request_rec *make_internal_request(mod_mcp_backend_request_t *req,
                                          conn_rec *c)
{
    static const struct {
        const char *name;
        int number;
    } methods[MCP_BACKEND_REQUEST_METHODS] = {
        [MCP_BACKEND_REQUEST_POST] = { "POST", M_POST },
        [MCP_BACKEND_REQUEST_GET] = { "GET", M_GET },
        [MCP_BACKEND_REQUEST_DELETE] = { "DELETE", M_DELETE },
    };

    mod_mcp_snapshot_t *snapshot = req->snapshot;
    request_rec *r = ap_create_request(c);

    make_filters(r, req);

    r->server = snapshot->server;
    r->per_dir_config = snapshot->server->lookup_defaults;
    r->request_time = apr_time_now();
    r->log_id = c->log_id;
    r->status = HTTP_OK;
    r->method = methods[req->http_method].name;
    r->method_number = methods[req->http_method].number;
    r->protocol = (char *)"HTTP/1.1";
    r->proto_num = HTTP_VERSION(1, 1);
    r->the_request = (char *)req->line;
    r->hostname = snapshot->hostname;
    r->user = req->bare ? NULL : (char *)snapshot->user;
    r->ap_auth_type = req->bare ? NULL : (char *)snapshot->auth_type;
    r->useragent_addr = c->client_addr;
    r->useragent_ip = (char *)snapshot->useragent_ip;

    make_headers(r, req);
    make_env(r, req);
    ap_parse_uri(r, req->target);

    /* the internal request gets the port of the client's request */

    r->parsed_uri.port_str = (char *)snapshot->port_str;
    r->parsed_uri.port = snapshot->port;

    mod_mcp_request(r)->req = req;

    req->r = r;

    return r;
}

/* --- the outcome --- */

/*
 * Passes an error that httpd itself has generated, with the status rc, to the
 * core, as if it were the backend's response.  The body is only the status
 * line, because error pages are meant for people.  Returns MCP_FAILURE_NONE.
 */
static mcp_failure_e feed_own(mod_mcp_backend_request_t *req, int rc)
{
    mcp_str_t line = mod_mcp_str(ap_get_status_line(rc));
    int limit = rc == HTTP_TOO_MANY_REQUESTS || rc == HTTP_SERVICE_UNAVAILABLE;

    mod_mcp_lock();

    if (req->breq) {
        feed_headers(req, req->r);
        mcp_backend_request_head(req->breq, rc, limit ? mcp_str("text/html")
                                         : mcp_str("text/plain"));
        feed_data(req, line.data, line.len);
    }

    mod_mcp_unlock();

    return MCP_FAILURE_NONE;
}

/*
 * Handles an error with which httpd itself, not the backend, has answered.  If
 * the status is 4xx, passes it to the core as the response of the call and
 * returns MCP_FAILURE_NONE.  Otherwise sets *detail, and returns
 *   MCP_FAILURE_LOCAL  no handler was called: the backend has received nothing
 *   MCP_FAILURE_REPLY  a handler has failed, which may have called the backend
 */
static mcp_failure_e server_error(mod_mcp_backend_request_t *req, int rc,
    const char **detail)
{
    if (rc < HTTP_BAD_REQUEST || rc >= HTTP_INTERNAL_SERVER_ERROR) {
        *detail = "the server itself answered with an error at the path of "
                  "the backend";
        return req->handled ? MCP_FAILURE_REPLY : MCP_FAILURE_LOCAL;
    }

    if (rc != HTTP_TOO_MANY_REQUESTS) {
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, req->r,
                      "mcp: the server itself, not a backend, answered at %s "
                      "with \"%s\": check that the path has a handler, that "
                      "its module is loaded, and that the access rules of the "
                      "path permit the request", req->target,
                      ap_get_status_line(rc));
    }

    return feed_own(req, rc);
}

/* Returns 1 if the status "rc" of a proxy handler means that the backend has
 * timed out. */
static int is_timeout(const mod_mcp_backend_request_t *req, int rc)
{
    switch (rc) {
    case HTTP_GATEWAY_TIME_OUT:
        return 1;

    case HTTP_BAD_GATEWAY:
        return req->timed_out
               || apr_table_get(req->r->notes, "proxy_timedout") != NULL;

    case HTTP_SERVICE_UNAVAILABLE:
        return req->timed_out;

    default:
        return 0;
    }
}

/* Returns 1 if the status "rc" means that the client may repeat the call after
 * some time. */
static int is_temporary(const mod_mcp_backend_request_t *req, int rc)
{
    return rc == HTTP_SERVICE_UNAVAILABLE
           && apr_table_get(req->r->err_headers_out, "Retry-After");
}

static mcp_failure_e refused(mod_mcp_backend_request_t *req, int rc,
    const char **detail)
{
    if (!req->handled && !is_temporary(req, rc)) {
        return server_error(req, rc, detail);
    }

    if (is_timeout(req, rc)) {
        *detail = "the backend timed out before its response";
        return MCP_FAILURE_TIMEOUT;
    }

    switch (rc) {
    case HTTP_BAD_GATEWAY:
        *detail = "the backend closed the connection before its response, or "
                  "sent a malformed response";
        return MCP_FAILURE_REPLY;

    case HTTP_SERVICE_UNAVAILABLE:
        if (is_temporary(req, rc)) {
            return feed_own(req, rc);
        }

        *detail = "could not connect, or the backend is unavailable";
        return MCP_FAILURE_REPLY;

    default:
        return server_error(req, rc, detail);
    }
}

/*
 * Returns 1 if a FastCGI backend has ended the request without a response, as
 * an overloaded backend does.  mod_proxy_fcgi treats this as success.  The
 * variable GATEWAY_INTERFACE shows that the handler has sent CGI variables.
 */
static int is_mute(const mod_mcp_backend_request_t *req, const request_rec *r)
{
    return req->phase == MOD_MCP_SILENT && r->status == HTTP_OK
           && r->content_type == NULL
           && apr_table_get(r->subprocess_env, "GATEWAY_INTERFACE");
}

static mcp_failure_e judge(mod_mcp_backend_request_t *req, int rc,
    const char **detail)
{
    request_rec *r = req->r;

    if (rc != OK && rc != DONE && req->phase == MOD_MCP_SILENT) {
        return refused(req, rc, detail);
    }

    if (rc == OK && !req->failed && is_mute(req, r)) {
        *detail = "the backend ended the request without a response";
        return MCP_FAILURE_REPLY;
    }

    /* a handler may return OK without an end of stream: send it */

    if (rc == OK && !req->eos && !req->failed) {
        ap_finalize_request_protocol(r);
    }

    if ((rc != OK && rc != DONE) || req->failed || !req->eos) {
        if (req->timed_out) {
            *detail = "the backend timed out in the middle of its response";
            return MCP_FAILURE_TIMEOUT;
        }

        *detail = "the response of the backend was cut off";
        return MCP_FAILURE_REPLY;
    }

    if (req->phase == MOD_MCP_SILENT) {
        mod_mcp_lock();
        feed_head(req);
        mod_mcp_unlock();
    }

    return MCP_FAILURE_NONE;
}

mcp_failure_e mod_mcp_fetch(mod_mcp_backend_request_t *req, const char **detail)
{
    request_rec *r = make_internal_request(req, make_connection(req));
    mcp_failure_e failure;
    int rc;

    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                  "mcp: calls the backend %s with a body of %" APR_SIZE_T_FMT
                  " bytes",
                  req->target, req->length);

    current = req;

    rc = ap_process_request_internal(r);

    /* the call may have been cancelled while the backend request waited for a
     * thread or, with prefork, for the end of another backend request */

    if (rc == OK && mod_mcp_proxy_is_aborted(req)) {
        current = NULL;
        *detail = "aborted";

        return MCP_FAILURE_REPLY;
    }

    if (rc == OK) {
        req->handled = 1;
        rc = ap_invoke_handler(r);
    }

    failure = judge(req, rc, detail);

    current = NULL;

    if (ap_is_HTTP_ERROR(rc) && req->phase == MOD_MCP_SILENT) {
        r->status = rc;
    }

    return failure;
}

int mod_mcp_fetch_note(mod_mcp_backend_request_t *req)
{
    const char *log = apr_table_get(req->r->subprocess_env, LOG_VARIABLE);

    if (log == NULL || !mcp_backend_request_is_last(req->kept)) {
        return 0;
    }

    mod_mcp_note_backend_request(req->r, req->kept,
                                 strcmp(log, "arguments") == 0);

    return 1;
}

void mod_mcp_fetch_log(mod_mcp_backend_request_t *req)
{
    module *logio = ap_find_linked_module("mod_logio.c");
    conn_rec *c = req->r->connection;

    /* give the internal connection memory for the counters of mod_logio */

    if (logio) {
        ap_set_module_config(c->conn_config, logio,
                             apr_pcalloc(c->pool, LOGIO_SIZE));
    }

    ap_run_log_transaction(req->r);
}

void mod_mcp_fetch_free(mod_mcp_backend_request_t *req)
{
    apr_pool_destroy(req->r->pool);
    req->r = NULL;
}

mod_mcp_backend_request_t *mod_mcp_fetch_backend_request(request_rec *r)
{
    const mod_mcp_request_t *own;

    while (r) {
        own = ap_get_module_config(r->request_config, &mcp_module);

        if (own && own->req) {
            return own->req;
        }

        r = r->prev ? r->prev : r->main;
    }

    return NULL;
}

mod_mcp_backend_request_t *mod_mcp_fetch_current(void)
{
    return current;
}

int mod_mcp_fetch_check_access(request_rec *r)
{
    if (mod_mcp_fetch_backend_request(r) || !mod_mcp_path_is_backend(r->uri)) {
        return DECLINED;
    }

    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                  "%s is an MCP backend and does not accept direct "
                  "requests", r->uri);

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
