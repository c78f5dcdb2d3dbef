/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Requests to FastCGI backends. mod_proxy_fcgi encodes each variable twice,
 * sends and receives in many small pieces, and copies the response through
 * brigades.  This file writes the request into one buffer and sends it at
 * once, and parses the response in the buffer into which it was read.
 *
 * The functions of httpd for CGI programs make the variables and parse the
 * head of the response, as for mod_proxy_fcgi.  Requests that need a feature
 * of mod_proxy_fcgi are left to that module: mod_mcp_fastcgi_can() detects
 * them. Errors are logged under the name of mod_proxy_fcgi and with its texts,
 * because operators search for these.
 */

#include "mod_mcp_fastcgi.h"

#include "mod_mcp_cgi.h"
#include "mod_mcp_child.h"
#include "mod_mcp_env.h"
#include "mod_mcp_fetch.h"
#include "mod_mcp_proxy.h"

#include "mcp_fastcgi.h"
#include "util_script.h"

#define BALANCER  "proxy:balancer://"

/* size of the buffer that holds first the complete request, then each part of
 * the response that is read, bytes */
#define BUFFER    (2 * AP_IOBUFSIZE)

/* maximum length of a request's body, bytes; mod_proxy_fcgi sends a longer
 * body in several records */
#define BODY      AP_IOBUFSIZE

/* maximum length of the response's head, bytes; a head whose end has not been
 * found until then is parsed without it */
#define HEAD      (1024 * 1024)

/* arguments of ap_log_rerror() that log a message as one of mod_proxy_fcgi */
#define NAMED(level)  __FILE__, __LINE__, fcgi->module_index, level

typedef struct {
    mod_mcp_backend_request_t *req;
    request_rec *r;
    proxy_conn_rec *conn;
    const char *err;                    /* failed operation, for the log; NULL
                                           if unknown */
    apr_bucket_brigade *out;            /* brigade for the output filters; NULL
                                           if it was not needed yet */

    /* the response */
    mcp_fastcgi_t records;
    mcp_fastcgi_state_e state;          /* search for the end of the head */
    char *head;                         /* received part of the head */
    apr_size_t head_len, head_size;
    unsigned headed:1;                  /* 1 if the head was parsed */
    unsigned responded:1;               /* 1 if a part of the response was
                                           passed on */
    unsigned unflushed:1;
    unsigned done:1;
} call_t;

/* mod_proxy_fcgi; NULL if this file cannot replace it */
static const module *fcgi;

static const module *proxy;

/* The configuration of mod_proxy_fcgi in sections without its directives. */
static const void *pristine;

/* --- requests that this file can make --- */

/*
 * Returns 1 if a directive of mod_proxy_fcgi is in the list, or in a
 * conditional section (<If...>) of the list.  In other sections, such a
 * directive creates a configuration other than "pristine", which
 * mod_mcp_fastcgi_can() detects.
 */
static int configures(const ap_directive_t *directive)
{
    for (; directive; directive = directive->next) {
        if (ap_cstr_casecmpn(directive->directive, "ProxyFCGI", 9) == 0
            || (ap_cstr_casecmpn(directive->directive, "<If", 3) == 0
                && configures(directive->first_child))) {
            return 1;
        }
    }

    return 0;
}

void mod_mcp_fastcgi_init(void)
{
    proxy = ap_find_linked_module("mod_proxy.c");
    fcgi = ap_find_linked_module("mod_proxy_fcgi.c");

    if (proxy == NULL || fcgi == NULL || configures(ap_conftree)
        || !mod_mcp_proxy_leads_to("mod_proxy_fcgi.c")) {
        fcgi = NULL;
        return;
    }

    pristine = ap_get_module_config(mod_mcp_child.server->lookup_defaults,
                                    fcgi);
}

/* Returns 1 if the body has at most BODY bytes and has not been read, no
 * filter changes it, and its Content-Length is the one that this module has
 * set. */
static int has_own_body(const mod_mcp_backend_request_t *req,
    const request_rec *r)
{
    return req->length <= BODY && mod_mcp_fetch_is_unread(req, r)
           && apr_table_get(r->headers_in, "Content-Length")
                  == req->length_text
           && apr_table_get(r->headers_in, "Transfer-Encoding") == NULL;
}

static int is_balanced(const request_rec *r)
{
    return strncmp(r->filename, BALANCER, sizeof(BALANCER) - 1) == 0;
}

/* Returns 1 if r->filename contains a path for SCRIPT_FILENAME, and
 * mod_proxy_fcgi would not derive PATH_INFO from the path. */
static int has_filename(const request_rec *r)
{
    return r->filename
           && (!is_balanced(r)
               || ap_strchr_c(r->filename + sizeof(BALANCER) - 1, '/'))
           && apr_table_get(r->subprocess_env, "proxy-fcgi-pathinfo") == NULL;
}

/* Returns 0 also if mod_proxy_fcgi logs at level debug: its debug lines exist
 * only for requests that it makes itself. */
int mod_mcp_fastcgi_can(const mod_mcp_backend_request_t *req, request_rec *r,
                        const char *url)
{
    const proxy_dir_conf *conf;

    if (fcgi == NULL || r != req->r || ap_cstr_casecmpn(url, "fcgi:", 5) != 0
        || ap_get_module_config(r->per_dir_config, fcgi) != pristine
        || APLOG_R_MODULE_IS_LEVEL(r, fcgi->module_index, APLOG_DEBUG)) {
        return 0;
    }

    conf = ap_get_module_config(r->per_dir_config, proxy);

    return !conf->error_override && has_filename(r) && has_own_body(req, r);
}

/* --- the request --- */

/* Makes the variables as mod_proxy_fcgi does without ProxyFCGIBackendType. */
static void make_variables(mod_mcp_backend_request_t *req, request_rec *r)
{
    char *filename = r->filename;

    if (is_balanced(r)) {
        r->filename = ap_strchr(filename + sizeof(BALANCER) - 1, '/');
    }

    mod_mcp_env_hide(req, r, 0);
    ap_add_common_vars(r);

    /* the lookup of PATH_INFO in ap_add_cgi_vars() may read any variable */

    if (r->path_info && r->path_info[0]) {
        mod_mcp_env_show(req);
    }

    ap_add_cgi_vars(r);
    mod_mcp_env_show(req);

    r->filename = filename;
}

static char *write_variables(const apr_table_t *env, char *p, const char *end)
{
    const apr_array_header_t *array = apr_table_elts(env);
    const apr_table_entry_t *entry = (const apr_table_entry_t *)array->elts;
    int i;

    for (i = 0; i < array->nelts && p; i++, entry++) {
        if (entry->key) {
            p = mcp_fastcgi_param(p, end, mod_mcp_str(entry->key),
                                  mod_mcp_str(entry->val));
        }
    }

    return p;
}

/* Writes the request at p.  Returns the end of the written bytes, or NULL if
 * there is not enough room before "end". */
static char *write_request(const call_t *call, int keep, char *p,
                           const char *end)
{
    const mod_mcp_backend_request_t *req = call->req;
    char *params = mcp_fastcgi_begin(p, keep);

    p = params + MCP_FASTCGI_HEAD;
    p = write_variables(call->r->subprocess_env, p, end);

    if (p == NULL
        || end - p < (long)(3 * MCP_FASTCGI_HEAD + req->length)) {
        return NULL;
    }

    mcp_fastcgi_record(params, MCP_FASTCGI_PARAMS,
                       (size_t)(p - params - MCP_FASTCGI_HEAD));
    p = mcp_fastcgi_record(p, MCP_FASTCGI_PARAMS, 0);

    if (req->length) {
        p = mcp_fastcgi_record(p, MCP_FASTCGI_STDIN, req->length);
        memcpy(p, req->body, req->length);
        p += req->length;
    }

    return mcp_fastcgi_record(p, MCP_FASTCGI_STDIN, 0);
}

/* Adds n to a counter that all requests to the proxy worker share. mod_proxy
 * adds without a lock; this addition is atomic. */
static void count(apr_off_t *total, apr_size_t n)
{
    __atomic_fetch_add(total, (apr_off_t)n, __ATOMIC_RELAXED);
}

static apr_status_t send_all(const call_t *call, const char *p, apr_size_t len)
{
    apr_status_t rv = APR_SUCCESS;
    apr_size_t n;

    while (len && rv == APR_SUCCESS) {
        n = len;
        rv = apr_socket_send(call->conn->sock, p, &n);

        p += n;
        len -= n;
        count(&call->conn->worker->s->transferred, n);
    }

    return rv;
}

/* --- the response --- */

static apr_status_t pass_bucket(call_t *call, apr_bucket *b)
{
    apr_status_t rv;

    APR_BRIGADE_INSERT_TAIL(call->out, b);
    rv = ap_pass_brigade(call->r->output_filters, call->out);
    apr_brigade_cleanup(call->out);

    return rv;
}

/* Returns 1 if output filters of other modules must get the response; creates
 * call->out for them. */
static int is_filtered(call_t *call)
{
    request_rec *r = call->r;

    if (call->out == NULL && !mod_mcp_fetch_is_unfiltered(r)) {
        call->out = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    }

    return call->out != NULL;
}

static apr_status_t pass(call_t *call, mcp_str_t piece)
{
    apr_status_t rv;

    if (piece.len == 0) {
        return APR_SUCCESS;
    }

    call->responded = 1;
    call->unflushed = 1;

    if (is_filtered(call)) {
        rv = pass_bucket(call, apr_bucket_transient_create(piece.data,
                                   piece.len, call->out->bucket_alloc));
    }
    else {
        rv = mod_mcp_fetch_pass(call->req, piece.data, piece.len);
    }

    if (rv != APR_SUCCESS) {
        call->err = "passing brigade to output filters";
    }

    return rv;
}

static apr_status_t pass_end(call_t *call)
{
    call->responded = 1;
    call->unflushed = 0;

    if (is_filtered(call)) {
        return pass_bucket(call,
                           apr_bucket_eos_create(call->out->bucket_alloc));
    }

    mod_mcp_fetch_end(call->req);

    return APR_SUCCESS;
}

/* Flushes the output filters if "flushpackets" of the proxy worker is "on", or
 * if it is "auto" and the backend sends nothing within "flushwait". */
static apr_status_t flush(call_t *call)
{
    const proxy_worker_shared *s = call->conn->worker->s;
    apr_pollfd_t fd = { 0 };
    apr_int32_t n;

    if (call->out == NULL || !call->unflushed
        || s->flush_packets == flush_off) {
        return APR_SUCCESS;
    }

    fd.p = call->r->pool;
    fd.desc_type = APR_POLL_SOCKET;
    fd.desc.s = call->conn->sock;
    fd.reqevents = APR_POLLIN;

    if (s->flush_packets == flush_auto
        && !APR_STATUS_IS_TIMEUP(apr_poll(&fd, 1, &n, s->flush_wait))) {
        return APR_SUCCESS;
    }

    call->unflushed = 0;

    return pass_bucket(call, apr_bucket_flush_create(call->out->bucket_alloc));
}

/* --- the head of the response --- */

static apr_status_t parse_head(call_t *call, mcp_str_t text)
{
    request_rec *r = call->r;
    apr_status_t rv;
    int status;

    call->headed = 1;

    status = mod_mcp_cgi_head(r, &text, fcgi->module_index);
    if (status == OK) {
        return pass(call, text);
    }

    r->status = status;
    rv = pass_end(call);

    if (rv != APR_SUCCESS) {
        call->err = "passing headers brigade to output filters";
        return rv;
    }

    ap_log_rerror(NAMED(APLOG_ERR), 0, r,
                  APLOGNO(01070) "Error parsing script headers");

    return APR_EINVAL;
}

static void keep_head(call_t *call, mcp_str_t piece)
{
    apr_size_t size = call->head_len + piece.len;
    char *head;

    if (size > call->head_size) {
        head = apr_palloc(call->r->pool, 2 * size);

        if (call->head_len) {
            memcpy(head, call->head, call->head_len);
        }

        call->head = head;
        call->head_size = 2 * size;
    }

    memcpy(call->head + call->head_len, piece.data, piece.len);
    call->head_len = size;
}

/* Handles a piece of the response.  Collects pieces until the head is
 * complete, then parses the head and passes on the bytes after it. */
static apr_status_t take_output(call_t *call, mcp_str_t piece)
{
    int ends;

    if (call->headed) {
        return pass(call, piece);
    }

    ends = mcp_fastcgi_head_end(&call->state, piece) > 0
           || call->head_len + piece.len > HEAD;

    if (ends && call->head_len == 0) {
        return parse_head(call, piece);
    }

    keep_head(call, piece);
    piece.data = call->head;
    piece.len = call->head_len;

    return ends ? parse_head(call, piece) : APR_SUCCESS;
}

/* Handles the end of the response.  If the head has no end, its bytes are
 * passed on as the body. */
static apr_status_t take_output_end(call_t *call)
{
    mcp_str_t rest = { call->head, call->head_len };
    apr_status_t rv = call->headed ? APR_SUCCESS : pass(call, rest);

    if (rv == APR_SUCCESS) {
        rv = pass_end(call);
    }

    if (rv != APR_SUCCESS) {
        call->err = "passing brigade to output filters";
    }

    return rv;
}

/* --- the records of the response --- */

static apr_status_t take_record(call_t *call, mcp_fastcgi_e event,
                                mcp_str_t piece)
{
    const mcp_fastcgi_t *records = &call->records;
    request_rec *r = call->r;

    switch (event) {
    case MCP_FASTCGI_OUT:
        return take_output(call, piece);

    case MCP_FASTCGI_OUT_END:
        return take_output_end(call);

    case MCP_FASTCGI_ERR:
        ap_log_rerror(NAMED(APLOG_ERR), 0, r,
                      APLOGNO(01071) "Got error '%.*s'", (int)piece.len,
                      piece.data);
        return APR_SUCCESS;

    case MCP_FASTCGI_UNKNOWN:
        ap_log_rerror(NAMED(APLOG_ERR), 0, r,
                      APLOGNO(01072) "Got bogus record %d",
                      mcp_fastcgi_type(records));
        return APR_SUCCESS;

    case MCP_FASTCGI_BAD_VERSION:
        ap_log_rerror(NAMED(APLOG_ERR), 0, r,
                      APLOGNO(01068) "Got bogus version %d",
                      mcp_fastcgi_version(records));
        return APR_EINVAL;

    case MCP_FASTCGI_BAD_ID:
        ap_log_rerror(NAMED(APLOG_ERR), 0, r,
                      APLOGNO(01069) "Got bogus rid %d, expected 1",
                      mcp_fastcgi_id(records));
        return APR_EINVAL;

    case MCP_FASTCGI_END:
        call->done = 1;
        return APR_SUCCESS;

    default:
        return APR_SUCCESS;
    }
}

/* Reads the records in the received bytes, then flushes filters if necessary.
 * Closes the connection after the request if bytes follow the END record,
 * because they would be read as the response to the next request. */
static apr_status_t take_records(call_t *call, mcp_str_t in)
{
    mcp_str_t piece = { NULL, 0 };
    mcp_fastcgi_e event;
    apr_status_t rv;

    do {
        event = mcp_fastcgi_read(&call->records, &in, &piece);
        rv = take_record(call, event, piece);
    } while (rv == APR_SUCCESS && event != MCP_FASTCGI_MORE && !call->done);

    if (call->done && in.len) {
        call->conn->close = 1;
    }

    return rv == APR_SUCCESS ? flush(call) : rv;
}

static void not_received(call_t *call, apr_status_t rv)
{
    const mcp_fastcgi_t *records = &call->records;

    if (mcp_fastcgi_is_padded(records)) {
        ap_log_rerror(NAMED(APLOG_ERR), rv, call->r,
                      APLOGNO(02537) "Error occurred reading padding");
    }
    else if (!mcp_fastcgi_is_between(records)) {
        call->err = "reading response body";
    }
    else if (APR_STATUS_IS_TIMEUP(rv)) {
        call->err = "polling";
    }
    else {
        ap_log_rerror(NAMED(APLOG_ERR), 0, call->r,
                      APLOGNO(01067) "Failed to read FastCGI header");
    }
}

/* Receives bytes of the response.  Waits before the first attempt to read,
 * because a backend does not respond immediately. */
static apr_status_t receive(call_t *call, char *buffer, apr_size_t *len)
{
    apr_socket_t *sock = call->conn->sock;
    apr_status_t rv;

    apr_socket_opt_set(sock, APR_INCOMPLETE_READ, 1);
    rv = apr_socket_recv(sock, buffer, len);

    /* the socket has a timeout of 0 */

    if (APR_STATUS_IS_EAGAIN(rv)) {
        rv = APR_TIMEUP;
    }

    if (rv == APR_SUCCESS) {
        count(&call->conn->worker->s->read, *len);
    }
    else {
        not_received(call, rv);
    }

    return rv;
}

static apr_status_t read_reply(call_t *call, char *buffer, apr_size_t size)
{
    apr_status_t rv;
    apr_size_t len;

    do {
        len = size;
        rv = receive(call, buffer, &len);

        if (rv == APR_SUCCESS) {
            rv = take_records(call, (mcp_str_t) { buffer, len });
        }
    } while (rv == APR_SUCCESS && !call->done);

    return rv;
}

/* --- the complete request --- */

/* Returns the server's own port as in messages of mod_proxy_fcgi: ":8080", or
 * "" for the default port. */
static const char *port_text(request_rec *r)
{
    apr_port_t port = ap_get_server_port(r);

    return ap_is_default_port(port, r) ? ""
                                       : apr_psprintf(r->pool, ":%u", port);
}

static int unsent(call_t *call, apr_status_t rv)
{
    call->conn->close = 1;

    ap_log_rerror(NAMED(APLOG_ERR), rv, call->r,
                  APLOGNO(01073) "Failed Writing Request to %s:",
                  port_text(call->r));

    return HTTP_SERVICE_UNAVAILABLE;
}

static int broken(call_t *call, apr_status_t rv)
{
    const char *err = call->err;

    call->conn->close = 1;

    /* the core needs no more of the response: the backend has not failed */

    if (call->r->connection->aborted) {
        return OK;
    }

    ap_log_rerror(NAMED(APLOG_ERR), rv, call->r,
                  APLOGNO(01075) "Error dispatching request to %s: %s%s%s",
                  port_text(call->r), err ? "(" : "", err ? err : "",
                  err ? ")" : "");

    if (call->responded) {
        return AP_FILTER_ERROR;
    }

    return APR_STATUS_IS_TIMEUP(rv) ? HTTP_GATEWAY_TIME_OUT
                                    : HTTP_SERVICE_UNAVAILABLE;
}

int mod_mcp_fastcgi(mod_mcp_backend_request_t *req, request_rec *r,
    proxy_conn_rec *conn, int keep)
{
    call_t call = { .req = req, .r = r, .conn = conn };
    char buffer[BUFFER], *end;
    apr_status_t rv;

    make_variables(req, r);

    end = write_request(&call, keep, buffer, buffer + sizeof(buffer));
    if (end == NULL) {
        return DECLINED;
    }

    rv = send_all(&call, buffer, (apr_size_t)(end - buffer));
    if (rv != APR_SUCCESS) {
        return unsent(&call, rv);
    }

    rv = read_reply(&call, buffer, sizeof(buffer));

    return rv == APR_SUCCESS ? OK : broken(&call, rv);
}
