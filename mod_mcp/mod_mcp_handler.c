/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Client requests: the head and the body go into the core, what it answers
 * goes out.
 *
 * A call's backend runs on the thread of the request that asked for it, as any
 * proxied request does.  Meanwhile that thread can do nothing else, so what has
 * to be sent before the backend is done is the pump's to send, unless that
 * thread has just brought it.  When nothing is left to run and the stream goes
 * on, the connection is suspended; where it cannot be (other MPMs, HTTP/2), the
 * thread waits.
 */

#include "mod_mcp.h"

#include "http_connection.h"

#include "util_filter.h"

/* How often a thread that waits looks whether an HTTP/2 stream was reset. */
#define WAIT_STEP  apr_time_from_sec(1)

/* A response that comes out of a backend call on the client's own thread is
 * sent by that thread, unless the call goes on for longer than this. */
#define PATIENCE   apr_time_from_msec(50)

/* Of a response, at once; and what FlushMaxThreshold must allow for it. */
#define PIECE      32768
#define PIECE_MIN  2048

/* Less of a body is copied at once. */
#define SCRAP  256

/* What a connection is read into, about. */
#define BUFFER_SIZE  APR_BUCKET_BUFF_SIZE

/* --- the client --- */

mod_mcp_request_t *mod_mcp_request(request_rec *r)
{
    mod_mcp_request_t *own = ap_get_module_config(r->request_config,
                                                  &mcp_module);

    if (own == NULL) {
        own = apr_pcalloc(r->pool, sizeof(*own));
        ap_set_module_config(r->request_config, &mcp_module, own);
    }

    return own;
}

mod_mcp_client_t *mod_mcp_client(request_rec *r)
{
    mod_mcp_client_t *client;

    client = ap_get_module_config(r->connection->conn_config, &mcp_module);

    if (client == NULL || client->r == NULL) {
        return NULL;
    }

    while (r && r != client->r) {
        r = r->prev ? r->prev : r->main;
    }

    return r ? client : NULL;
}

static void free_exchange(mod_mcp_client_t *client)
{
    mod_mcp_snapshot_part(client);

    if (client->exchange) {
        mcp_exchange_free(client->exchange);
        client->exchange = NULL;
    }
}

void mod_mcp_client_part(mod_mcp_client_t *client)
{
    if (client->exchange) {
        mcp_exchange_last(client->exchange);
    }

    mod_mcp_note(client);
    free_exchange(client);
}

/* The request's pool goes, with whoever destroys it. */
static apr_status_t client_cleanup(void *data)
{
    mod_mcp_client_t *client = data;

    if (!mod_mcp_child.ready) {
        return APR_SUCCESS;             /* the process ends */
    }

    mod_mcp_lock();

    free_exchange(client);
    client->r = NULL;

    mod_mcp_unlock();

    free(client->buf);
    client->buf = NULL;

    return APR_SUCCESS;
}

static apr_status_t exchange_cleanup(void *data)
{
    if (mod_mcp_child.ready) {
        mod_mcp_lock();
        mcp_exchange_free(data);
        mod_mcp_unlock();
    }

    return APR_SUCCESS;
}

/* A request before this one, whose response waits in the filters still, keeps
 * what is its own. */
static void client_part(mod_mcp_client_t *client)
{
    apr_pool_t *p;

    if (client->r == NULL) {
        return;
    }

    p = client->r->pool;
    apr_pool_cleanup_kill(p, client, client_cleanup);

    mod_mcp_lock();

    mod_mcp_snapshot_part(client);

    if (client->exchange) {
        apr_pool_cleanup_register(p, client->exchange, exchange_cleanup,
                                  apr_pool_cleanup_null);
        client->exchange = NULL;
    }

    mod_mcp_unlock();
}

static mod_mcp_client_t *client_new(conn_rec *c)
{
    mod_mcp_client_t *client = apr_pcalloc(c->pool, sizeof(*client));

    client->c = c;
    client->cond = mod_mcp_cond(c->pool);
    client->bb = apr_brigade_create(c->pool, c->bucket_alloc);

    if (client->cond == NULL) {
        return NULL;
    }

    ap_set_module_config(c->conn_config, &mcp_module, client);

    return client;
}

static mod_mcp_client_t *client_create(request_rec *r)
{
    conn_rec *c = r->connection;
    mod_mcp_client_t *client;

    client = ap_get_module_config(c->conn_config, &mcp_module);

    if (client == NULL) {
        client = client_new(c);
        if (client == NULL) {
            return NULL;
        }
    }

    client_part(client);

    client->r = r;
    client->state = MOD_MCP_ATTENDED;
    client->todo = 0;
    client->run = NULL;
    client->holding = 0;
    client->broken = 0;
    client->held = 0;
    client->streaming = 0;
    client->responding = 0;
    client->patient = 0;
    client->finished = 0;
    client->blocked = 0;
    client->written = 0;
    client->lingering = 0;

    apr_pool_cleanup_register(r->pool, client, client_cleanup,
                              apr_pool_cleanup_null);

    return client;
}

/* --- under the lock --- */

void mod_mcp_client_notify(mod_mcp_client_t *client, unsigned what)
{
    if (client == NULL || client->exchange == NULL) {
        return;
    }

    client->todo |= what;

    switch (client->state) {
    case MOD_MCP_ATTENDED:
        if (client->holding) {
            apr_thread_cond_signal(client->cond);
        }
        break;

    case MOD_MCP_LENT:
        if (what == MOD_MCP_RESPOND) {
            mod_mcp_pump_timer(client, PATIENCE);
            break;
        }

        client->state = MOD_MCP_PUMPED;
        /* fall through */

    case MOD_MCP_PUMPED:
    case MOD_MCP_SUSPENDED:
        mod_mcp_pump_queue(client);
        break;

    default:
        break;
    }
}

void mod_mcp_client_take(mod_mcp_client_t *client)
{
    while (client->busy) {
        client->recall = 1;
        mod_mcp_wait(client->cond, 0);
    }

    client->recall = 0;
    client->state = MOD_MCP_ATTENDED;

    mod_mcp_pump_unqueue(client);
    mod_mcp_pump_unwatch(client);
    mod_mcp_pump_timer(client, -1);

    /* the socket that the pump waited for, nobody waits for any longer */

    if (client->blocked) {
        client->blocked = 0;
        client->todo |= MOD_MCP_WRITE;
    }
}

/* --- head --- */

static void make_headers(request_rec *r, mcp_head_t *head)
{
    const apr_array_header_t *array = apr_table_elts(r->headers_in);
    const apr_table_entry_t *entry = (const apr_table_entry_t *)array->elts;
    mcp_header_t *headers;
    int i;

    headers = apr_palloc(r->pool, (array->nelts + 1) * sizeof(*headers));

    for (i = 0; i < array->nelts; i++) {
        headers[i].name = mod_mcp_str(entry[i].key);
        headers[i].value = mod_mcp_str(entry[i].val);
    }

    head->headers = headers;
    head->n_headers = array->nelts;
}

static void add_names(apr_array_header_t *names, apr_array_header_t *more)
{
    int i;

    for (i = 0; more && i < more->nelts; i++) {
        APR_ARRAY_PUSH(names, mcp_str_t) =
                            mod_mcp_str(APR_ARRAY_IDX(more, i, const char *));
    }
}

const mcp_str_t *mod_mcp_server_names(request_rec *r, size_t *n)
{
    apr_array_header_t *names = apr_array_make(r->pool, 4, sizeof(mcp_str_t));

    APR_ARRAY_PUSH(names, mcp_str_t) = mod_mcp_str(r->server->server_hostname);

    add_names(names, r->server->names);
    add_names(names, r->server->wild_names);

    *n = names->nelts;

    return (const mcp_str_t *)names->elts;
}

static const char *evaluate(request_rec *r, ap_expr_info_t *expression,
                            const char *directive)
{
    const char *error = NULL, *value;

    if (expression == NULL) {
        return NULL;
    }

    value = ap_expr_str_exec(r, expression, &error);

    if (error) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "%s: %s", directive, error);
        return NULL;
    }

    return value;
}

static const char *make_principal(request_rec *r, mod_mcp_dir_t *dir)
{
    return dir->principal ? evaluate(r, dir->principal, "MCPPrincipal")
                          : r->user;
}

static int is_loopback(apr_sockaddr_t *address)
{
    return mcp_http_address_is_loopback(address->ipaddr_ptr,
                                        address->ipaddr_len);
}

static void make_head(request_rec *r, mod_mcp_dir_t *dir, mcp_head_t *head)
{
    memset(head, 0, sizeof(*head));

    head->method = mod_mcp_str(r->method);
    head->path = mod_mcp_str(r->uri);
    head->target = mod_mcp_str(mod_mcp_secret_target(r));
    head->origin = mod_mcp_str(evaluate(r, dir->link_origin, "MCPLinkOrigin"));
    head->secure = strcmp(ap_http_scheme(r), "https") == 0;
    head->principal = mod_mcp_str(make_principal(r, dir));
    head->loopback = is_loopback(r->connection->local_addr);
    head->local = is_loopback(r->useragent_addr);
    head->address.data = r->useragent_addr->ipaddr_ptr;
    head->address.len = (size_t)r->useragent_addr->ipaddr_len;

    make_headers(r, head);
    head->server_names = mod_mcp_server_names(r, &head->n_server_names);
}

/* --- body --- */

static int too_large(request_rec *r, mod_mcp_dir_t *dir, apr_off_t length)
{
    apr_off_t max = dir->max_body < 0 ? MOD_MCP_MAX_BODY : dir->max_body;

    if (length <= max) {
        return 0;
    }

    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                  "a body of %" APR_OFF_T_FMT " bytes or more is larger than "
                  "MCPMaxBody", length);

    return 1;
}

/* Scraps of a body, chunks of a byte each maybe, are put together: a bucket for
 * every one takes more than a hundred times as much. */
static apr_bucket *add_scrap(request_rec *r, apr_bucket_brigade *body,
                             apr_bucket *last, const char *data,
                             apr_size_t len)
{
    if (last == NULL || last != APR_BRIGADE_LAST(body)
        || last->length + len > BUFFER_SIZE) {
        last = apr_bucket_immortal_create(apr_palloc(r->pool, BUFFER_SIZE), 0,
                                          r->connection->bucket_alloc);
        APR_BRIGADE_INSERT_TAIL(body, last);
    }

    memcpy((char *)last->data + last->length, data, len);
    last->length += len;

    return last;
}

/* A body is read as a whole: where its length is known right to its place. */
static int gather(request_rec *r, mod_mcp_dir_t *dir, apr_bucket_brigade *body,
                  apr_off_t *length)
{
    apr_bucket_brigade *bb;
    apr_bucket *b, *last = NULL;
    apr_status_t rv;
    const char *data;
    apr_size_t len;
    int eos = 0;

    bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    *length = 0;

    while (!eos) {
        rv = ap_get_brigade(r->input_filters, bb, AP_MODE_READBYTES,
                            APR_BLOCK_READ, 65536);
        if (rv != APR_SUCCESS) {
            return ap_map_http_request_error(rv, HTTP_BAD_REQUEST);
        }

        while (!APR_BRIGADE_EMPTY(bb)) {
            b = APR_BRIGADE_FIRST(bb);

            if (APR_BUCKET_IS_EOS(b)) {
                eos = 1;
                break;
            }

            len = 0;

            if (!APR_BUCKET_IS_METADATA(b)) {
                rv = apr_bucket_read(b, &data, &len, APR_BLOCK_READ);
                if (rv != APR_SUCCESS) {
                    return HTTP_BAD_REQUEST;
                }

                *length += len;
            }

            if (too_large(r, dir, *length)) {
                return HTTP_REQUEST_ENTITY_TOO_LARGE;
            }

            if (len < SCRAP) {
                if (len) {
                    last = add_scrap(r, body, last, data, len);
                }

                apr_bucket_delete(b);
                continue;
            }

            APR_BUCKET_REMOVE(b);
            rv = apr_bucket_setaside(b, r->pool);

            if (rv != APR_SUCCESS && rv != APR_ENOTIMPL) {
                apr_bucket_destroy(b);
                return HTTP_INTERNAL_SERVER_ERROR;
            }

            APR_BRIGADE_INSERT_TAIL(body, b);
        }

        apr_brigade_cleanup(bb);
    }

    return OK;
}

static int read_body(mod_mcp_client_t *client, mod_mcp_dir_t *dir,
                     apr_size_t *length)
{
    request_rec *r = client->r;
    apr_bucket_brigade *body;
    const char *header;
    apr_off_t len;
    apr_size_t size;
    char *space;
    int rc;

    header = apr_table_get(r->headers_in, "Content-Length");

    if (header && too_large(r, dir, apr_atoi64(header))) {
        return HTTP_REQUEST_ENTITY_TOO_LARGE;
    }

    body = apr_brigade_create(r->pool, r->connection->bucket_alloc);

    rc = gather(r, dir, body, &len);
    if (rc != OK) {
        return rc;
    }

    size = (apr_size_t)len;

    mod_mcp_lock();
    space = mcp_exchange_body_space(client->exchange, size);
    mod_mcp_unlock();

    if (space == NULL
        || apr_brigade_flatten(body, space, &size) != APR_SUCCESS) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    apr_brigade_destroy(body);
    *length = size;

    return OK;
}

/* --- response --- */

void mod_mcp_response_head(request_rec *r, const mcp_response_t *response)
{
    apr_size_t i;

    r->status = response->status;
    r->status_line = NULL;

    if (response->content_type.len) {
        ap_set_content_type(r, apr_pstrmemdup(r->pool,
                                              response->content_type.data,
                                              response->content_type.len));
    }

    for (i = 0; i < response->n_headers; i++) {
        apr_table_addn(r->headers_out,
                       apr_pstrmemdup(r->pool, response->headers[i].name.data,
                                      response->headers[i].name.len),
                       apr_pstrmemdup(r->pool, response->headers[i].value.data,
                                      response->headers[i].value.len));
    }
}

void mod_mcp_respond(mod_mcp_client_t *client)
{
    request_rec *r = client->r;
    const mcp_response_t *response;

    response = mcp_exchange_response(client->exchange);

    mod_mcp_response_head(r, response);

    mod_mcp_lock();
    mod_mcp_note(client);
    mod_mcp_unlock();

    if (response->status != HTTP_NO_CONTENT) {
        ap_set_content_length(r, response->body.len);
    }

    /* the body lives as long as the exchange, which goes with the request */

    client->rest = response->body.data;
    client->left = response->body.len;
    client->responding = 1;
    client->written = 1;
}

/* A large body goes in pieces, or the filters would wait for the socket. */
apr_status_t mod_mcp_respond_step(mod_mcp_client_t *client, int wait)
{
    conn_rec *c = client->c;
    apr_bucket_brigade *bb = client->bb;
    apr_status_t rv;
    apr_size_t len, piece = mod_mcp_piece(c);

    do {
        len = wait || client->left < piece ? client->left : piece;

        if (len) {
            APR_BRIGADE_INSERT_TAIL(bb,
                                    apr_bucket_immortal_create(client->rest,
                                                               len,
                                                             c->bucket_alloc));
        }

        client->rest += len;
        client->left -= len;

        APR_BRIGADE_INSERT_TAIL(bb, client->left
                                    ? mod_mcp_stream_nudge(c->bucket_alloc)
                                    : apr_bucket_eos_create(c->bucket_alloc));

        rv = ap_pass_brigade(client->r->output_filters, bb);

        apr_brigade_cleanup(bb);

        if (rv == APR_SUCCESS && !wait) {
            rv = mod_mcp_stream_flush(client);
        }
    } while (rv == APR_SUCCESS && client->left);

    if (client->left == 0) {
        client->finished = 1;

        return rv == APR_SUCCESS ? APR_EOF : rv;
    }

    return rv;
}

/* --- after the request --- */

/* Filters of httpd that wait for nothing but the socket, and for that only if
 * they are told to, and hold nothing back that a metadata bucket pushes. */
static const char *const prompt_names[] = {
    "BYTERANGE", "CONTENT_LENGTH", "HTTP_HEADER", "HTTP_OUTERROR", "CHUNK",
    "OLD_WRITE", "FIXUP_HEADERS_OUT", "FIXUP_HEADERS_ERR", "MOD_EXPIRES",
    "DEFLATE", "BROTLI_COMPRESS", "LOGIO_TTFB_OUT", "REQTIMEOUT", "DUMPIO_OUT",
    "SSL/TLS Coalescing Filter", "SSL/TLS Filter", "CORE"
};

#define PROMPT  (sizeof(prompt_names) / sizeof(prompt_names[0]))

/* mod_filter's, which stands for another one */
#define BYTYPE  "BYTYPE:"

static const ap_filter_rec_t *prompt[PROMPT];

void mod_mcp_handler_init(void)
{
    apr_size_t i;

    for (i = 0; i < PROMPT; i++) {
        prompt[i] = ap_get_output_filter_handle(prompt_names[i]);
    }
}

static int is_prompt(const ap_filter_rec_t *frec)
{
    apr_size_t i, len = strlen(BYTYPE);

    for (i = 0; i < PROMPT; i++) {
        if (frec == prompt[i]) {
            return 1;
        }
    }

    if (strncasecmp(frec->name, BYTYPE, len) != 0) {
        return 0;
    }

    for (i = 0; i < PROMPT; i++) {
        if (strcasecmp(frec->name + len, prompt_names[i]) == 0) {
            return 1;
        }
    }

    return 0;
}

static apr_size_t flush_threshold(const conn_rec *c)
{
    const core_server_config *core;

    core = ap_get_core_module_config(c->base_server->module_config);

    return core->flush_max_threshold;
}

/* With what becomes of it on its way. */
apr_size_t mod_mcp_piece(const conn_rec *c)
{
    apr_size_t piece = flush_threshold(c) / 2;

    return piece < PIECE_MIN ? PIECE_MIN : piece < PIECE ? piece : PIECE;
}

/* A filter that sleeps, or waits for somebody, must not do so in the pump, and
 * nobody knows what those of other modules do. */
static int is_slowed(request_rec *r)
{
    ap_filter_t *f;

    if (flush_threshold(r->connection) < 2 * PIECE_MIN) {
        return 1;
    }

    for (f = r->output_filters; f; f = f->next) {
        if (!is_prompt(f->frec)) {
            return 1;
        }
    }

    return 0;
}

int mod_mcp_can_suspend(mod_mcp_client_t *client)
{
    conn_rec *c = client->c;

    /* an internal redirect knows nothing of SUSPENDED, nor does httpd's loop
     * over the requests of a connection that has such filters */

    return mod_mcp_child.async && c->cs && !c->master && !client->r->prev
           && !c->clogging_input_filters && !is_slowed(client->r);
}

int mod_mcp_can_lend(mod_mcp_client_t *client)
{
    return !client->c->master && !is_slowed(client->r);
}

/* A pool keeps what was freed in it: the buffer that the request was read
 * into, above all.  A stream may be idle for hours; the system gets it back. */
static void trim(conn_rec *c)
{
    apr_allocator_t *allocator = apr_pool_allocator_get(c->pool);
    apr_memnode_t *node;

    node = apr_allocator_alloc(allocator, BUFFER_SIZE);

    apr_allocator_max_free_set(allocator, 1);

    if (node) {
        apr_allocator_free(allocator, node);
    }
}

void mod_mcp_suspended(conn_rec *c, request_rec *r)
{
    mod_mcp_client_t *client;

    client = ap_get_module_config(c->conn_config, &mcp_module);

    if (client == NULL || client->state != MOD_MCP_SUSPENDING) {
        return;
    }

    trim(c);
    c->current_thread = mod_mcp_pump_thread();

    mod_mcp_lock();

    client->suspended = mod_mcp_now();
    client->part = mod_mcp_event_part(c, r);
    client->state = MOD_MCP_SUSPENDED;

    if (client->todo) {
        mod_mcp_pump_queue(client);
    }

    mod_mcp_pump_watch(client);

    mod_mcp_unlock();
}

/* How long its thread may wait for it still; 0: no longer; -1: for ever. */
static apr_interval_time_t hold_left(mod_mcp_client_t *client)
{
    const mod_mcp_global_t *global = mod_mcp_global(mod_mcp_child.server);
    apr_interval_time_t left;

    if (client->held == 0) {
        client->held = mod_mcp_now();
    }

    if (global->hold == 0) {
        return -1;
    }

    left = client->held + global->hold - mod_mcp_now();

    return left > 0 ? left : 0;
}

/* Waits, within the lock, for something to do. */
static void hold(mod_mcp_client_t *client)
{
    apr_interval_time_t left = hold_left(client);
    int state = AP_MPMQ_RUNNING;

    ap_mpm_query(AP_MPMQ_MPM_STATE, &state);

    if ((left == 0 || state == AP_MPMQ_STOPPING) && client->streaming) {
        mcp_exchange_close(client->exchange);
        client->held = mod_mcp_now();
        left = WAIT_STEP;
    }

    if (left <= 0 || left > WAIT_STEP) {
        left = WAIT_STEP;
    }

    mod_mcp_pump_watch(client);

    client->holding = 1;
    mod_mcp_wait(client->cond, left);
    client->holding = 0;
}

static int stream(mod_mcp_client_t *client)
{
    apr_status_t rv;

    do {
        rv = mod_mcp_stream_step(client, 1);
    } while (rv == APR_SUCCESS);

    if (rv != APR_INCOMPLETE && rv != APR_EOF) {
        client->broken = 1;
    }

    client->held = 0;

    return OK;
}

/* Work for the client's own thread. */
static int serve(mod_mcp_client_t *client, unsigned todo)
{
    if ((todo & MOD_MCP_RESPOND) && !client->streaming
        && !client->responding) {
        mod_mcp_respond(client);
    }

    if (client->responding) {
        if (mod_mcp_respond_step(client, 1) != APR_EOF) {
            client->broken = 1;
        }

        return OK;
    }

    if ((todo & MOD_MCP_STREAM) && !client->streaming) {
        mod_mcp_stream_head(client);
    }

    return client->streaming ? stream(client) : OK;
}

/* "Connection: close", and chunks all the same: their end tells a stream that
 * is over from one that was cut off. */
void mod_mcp_announce_close(mod_mcp_client_t *client)
{
    apr_table_setn(client->r->headers_out, "Connection", "close");
}

static int suspend(mod_mcp_client_t *client)
{
    if (!client->written) {
        mod_mcp_announce_close(client);
    }

    client->state = MOD_MCP_SUSPENDING;

    return SUSPENDED;
}

/* Until the response is over, or no thread is needed for it. */
static int attend(mod_mcp_client_t *client)
{
    mod_mcp_run_t *run;
    unsigned todo;

    for ( ;; ) {
        mod_mcp_lock();

        run = client->run;
        client->run = NULL;

        if (run) {
            client->state = MOD_MCP_LENT;
            mod_mcp_pump_watch(client);
            mod_mcp_unlock();

            mod_mcp_job_run(run);
            continue;
        }

        if (client->broken || client->lingering
            || (client->todo & MOD_MCP_GONE)) {
            client->c->aborted = 1;
            break;
        }

        if (client->finished) {
            break;
        }

        /* one that is slow goes back to the pump */

        if ((client->todo & MOD_MCP_WRITE) && mod_mcp_can_suspend(client)) {
            int rc = suspend(client);

            mod_mcp_unlock();
            return rc;
        }

        todo = client->todo;
        client->todo = 0;

        if (todo) {
            mod_mcp_unlock();
            serve(client, todo);
            continue;
        }

        if (mod_mcp_can_suspend(client)) {
            int rc = suspend(client);

            mod_mcp_unlock();
            return rc;
        }

        hold(client);

        if (client->c->aborted) {
            client->broken = 1;
        }

        mod_mcp_unlock();
    }

    mod_mcp_pump_unwatch(client);
    mod_mcp_unlock();

    return OK;
}

static int answer(mod_mcp_client_t *client, int rc)
{
    switch (rc) {
    case MCP_OK:
        serve(client, MOD_MCP_RESPOND);
        return OK;

    case MCP_DONE:
        serve(client, MOD_MCP_STREAM);
        return attend(client);

    case MCP_AGAIN:
        return attend(client);

    default:
        return HTTP_INTERNAL_SERVER_ERROR;
    }
}

static int exchange(mod_mcp_client_t *client, mod_mcp_dir_t *dir, int publish)
{
    const mcp_endpoint_t *endpoint;
    mcp_head_t head;
    apr_size_t length;
    int rc;

    endpoint = mod_mcp_endpoint(dir, mod_mcp_zone_keys());
    if (endpoint == NULL) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    make_head(client->r, dir, &head);

    mod_mcp_lock();

    client->exchange = publish
        ? mcp_exchange_create_publish(&mod_mcp_child.worker, endpoint,
                                      mcp_setup_publish_secret(dir->setup),
                                      dir->publish_open == 1, client)
        : mcp_exchange_create(&mod_mcp_child.worker, endpoint, client);

    rc = client->exchange ? mcp_exchange_head(client->exchange, &head)
                          : MCP_ERR_MEMORY;
    mod_mcp_unlock();

    if (rc != MCP_AGAIN) {
        return answer(client, rc);
    }

    rc = read_body(client, dir, &length);
    if (rc != OK) {
        return rc;
    }

    mod_mcp_lock();
    rc = mcp_exchange_body(client->exchange, length);
    mod_mcp_unlock();

    return answer(client, rc);
}

static int start(request_rec *r, int publish)
{
    mod_mcp_client_t *client;

    if (r->main || mod_mcp_fetch_run(r)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "an MCP endpoint cannot answer a subrequest or be a "
                      "backend");
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    if (!mod_mcp_child.ready) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "this process has no part in the MCP store");
        return HTTP_SERVICE_UNAVAILABLE;
    }

    if (!publish && mod_mcp_secret_hide(r) != OK) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    client = client_create(r);
    if (client == NULL) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    mod_mcp_tls_note(r);

    return exchange(client, mod_mcp_dir(r), publish);
}

int mod_mcp_handler(request_rec *r)
{
    if (strcmp(r->handler, MOD_MCP_HANDLER) == 0) {
        if (mod_mcp_is_below_endpoint(r)) {
            ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                          "%s is below an MCP endpoint, and nothing itself",
                          r->uri);
            return HTTP_NOT_FOUND;
        }

        return start(r, 0);
    }

    if (strcmp(r->handler, MOD_MCP_PUBLISH_HANDLER) == 0) {
        return start(r, 1);
    }

    return DECLINED;
}
