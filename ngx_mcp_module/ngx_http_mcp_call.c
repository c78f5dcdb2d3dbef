
/*
 * Detached backend calls.
 *
 * A backend runs in a named location, behind the server's own FastCGI, proxy,
 * uwsgi ... modules, for a request of ours on a connection of ours: there is
 * no socket behind it, so that no client who leaves can cut it off.  What the
 * location answers is caught by a filter and handed to the core.
 *
 *   origin      what the client's request left behind: copied once per call,
 *               outlives the client, shared by all invocations of the call
 *   invocation  one connection and one request in a named location; ends with
 *               mcp_job_end(), always from the request's clean-up
 *
 * Nothing of the client's request is used after ngx_http_mcp_call_invoke().
 */


#include "ngx_http_mcp_module.h"


/* The core took less than offered and has not resumed yet. */
#define NGX_HTTP_MCP_BUFFERED  NGX_HTTP_WRITE_BUFFERED


typedef struct {
    ngx_table_elt_t              elt;
    ngx_http_header_t           *header;   /* known to nginx, or NULL */
} ngx_http_mcp_line_t;


typedef struct {
    ngx_uint_t                   index;
    ngx_http_variable_value_t    value;
} ngx_http_mcp_frozen_t;


/* One allocation: the strings and addresses stand behind the structures. */
typedef struct {
    ngx_uint_t                   refs;     /* the core's and invocations' */

    ngx_http_addr_conf_t        *addr_conf;
    ngx_http_conf_ctx_t         *conf_ctx;
    void                       **main_conf;
    void                       **srv_conf;
    void                       **loc_conf;
    ngx_listening_t             *listening;
    ngx_log_t                    log;      /* without handler: tells of c */
    ngx_log_handler_pt           log_handler;

    struct sockaddr             *sockaddr;
    socklen_t                    socklen;
    struct sockaddr             *local_sockaddr;
    socklen_t                    local_socklen;

    ngx_str_t                    addr_text;
    ngx_str_t                    server;
    ngx_str_t                    request_line;
    ngx_str_t                    unparsed_uri;
    ngx_str_t                    uri;
    ngx_str_t                    args;

    ngx_http_mcp_line_t         *lines;
    ngx_uint_t                   nlines;
    ngx_http_mcp_frozen_t       *frozen;
    ngx_uint_t                   nfrozen;
} ngx_http_mcp_origin_t;


typedef struct ngx_http_mcp_invocation_s  ngx_http_mcp_invocation_t;

typedef struct {
    ngx_http_log_ctx_t           ctx;      /* first: nginx casts */
    ngx_log_handler_pt           handler;
    ngx_http_mcp_invocation_t   *inv;
} ngx_http_mcp_log_ctx_t;


struct ngx_http_mcp_invocation_s {
    ngx_http_connection_t        hc;       /* first: r->http_connection */
    ngx_http_mcp_origin_t       *origin;
    mcp_job_t                   *job;      /* NULL: has ended */
    ngx_http_request_t          *request;

    ngx_log_t                    log;
    ngx_http_mcp_log_ctx_t       log_ctx;

    ngx_http_request_body_t      body;
    ngx_buf_t                    body_buf;
    ngx_chain_t                  body_chain;
    ngx_buf_t                    header_in;
    u_char                       length[NGX_SIZE_T_LEN];

    ngx_chain_t                 *out;      /* not taken by the core yet */
    ngx_msec_t                   heard;    /* when the backend last spoke */

    mcp_fault_e                  fault;
    const char                  *detail;

    unsigned                     head:1;
    unsigned                     parked:1;
    unsigned                     complete:1;
};


/* A variable to take from the client's request. */
typedef struct {
    ngx_uint_t                   index;
    unsigned                     evaluate:1;   /* of the connection */
    unsigned                     assigned:1;   /* known to be */
    unsigned                     computed:1;   /* known to be, so leave it */
} ngx_http_mcp_freeze_t;


static ngx_http_mcp_origin_t *ngx_http_mcp_origin_create(
    ngx_http_request_t *r);
static ngx_array_t *ngx_http_mcp_origin_variables(
    ngx_http_core_main_conf_t *cmcf);
static ngx_int_t ngx_http_mcp_origin_freezes(ngx_http_request_t *r,
    ngx_http_mcp_freeze_t *f);
static ngx_uint_t ngx_http_mcp_origin_skips(ngx_table_elt_t *h);
static void ngx_http_mcp_origin_release(void *data);

static ngx_connection_t *ngx_http_mcp_call_connect(
    ngx_http_mcp_origin_t *origin, mcp_job_t *job);
static ngx_http_request_t *ngx_http_mcp_call_request(ngx_connection_t *c,
    ngx_http_mcp_invocation_t *inv);
static ngx_int_t ngx_http_mcp_call_headers(ngx_http_request_t *r,
    ngx_http_mcp_invocation_t *inv);
static void ngx_http_mcp_call_body(ngx_http_request_t *r,
    ngx_http_mcp_invocation_t *inv);
static void ngx_http_mcp_call_handler(ngx_event_t *ev);
static void ngx_http_mcp_call_end(void *data);
static ngx_uint_t ngx_http_mcp_call_cut_off(ngx_http_request_t *r);
static u_char *ngx_http_mcp_call_log_error(ngx_log_t *log, u_char *buf,
    size_t len);
static u_char *ngx_http_mcp_call_log_fact(u_char *p, u_char *last,
    const char *name, mcp_str_t *value);

static ngx_int_t ngx_http_mcp_call_header_filter(ngx_http_request_t *r);
static ngx_int_t ngx_http_mcp_call_body_filter(ngx_http_request_t *r,
    ngx_chain_t *in);
static ngx_int_t ngx_http_mcp_call_feed(ngx_http_request_t *r,
    ngx_chain_t **in);
static void ngx_http_mcp_call_park(ngx_http_request_t *r);

static ssize_t ngx_http_mcp_call_recv(ngx_connection_t *c, u_char *buf,
    size_t size);
static ssize_t ngx_http_mcp_call_recv_chain(ngx_connection_t *c,
    ngx_chain_t *in, off_t limit);
static ssize_t ngx_http_mcp_call_send(ngx_connection_t *c, u_char *buf,
    size_t size);
static ngx_chain_t *ngx_http_mcp_call_send_chain(ngx_connection_t *c,
    ngx_chain_t *in, off_t limit);


/*
 * Headers that stay behind: of the client's connection and representation,
 * those replaced by our own, and the session's token, which tools must not
 * see.  By length, as that is compared first.
 */
static ngx_str_t  ngx_http_mcp_skipped[] = {
    ngx_string("te"),
    ngx_string("range"),
    ngx_string("accept"),
    ngx_string("expect"),
    ngx_string("trailer"),
    ngx_string("upgrade"),
    ngx_string("if-match"),
    ngx_string("if-range"),
    ngx_string("connection"),
    ngx_string("keep-alive"),
    ngx_string("content-type"),
    ngx_string("if-none-match"),
    ngx_string("last-event-id"),
    ngx_string("http2-settings"),
    ngx_string("content-length"),
    ngx_string("mcp-session-id"),
    ngx_string("accept-encoding"),
    ngx_string("content-encoding"),
    ngx_string("proxy-connection"),
    ngx_string("if-modified-since"),
    ngx_string("transfer-encoding"),
    ngx_string("if-unmodified-since"),
    ngx_null_string
};


/*
 * Variables that the client's connection answers and ours could not, a
 * trailing asterisk stands for any rest.  What follows from the addresses is
 * not here: ours has the same.
 */
static ngx_str_t  ngx_http_mcp_connection_variables[] = {
    ngx_string("https"),
    ngx_string("scheme"),
    ngx_string("ssl_*"),
    ngx_string("http2"),
    ngx_string("http3"),
    ngx_string("request_id"),
    ngx_string("server_addr"),
    ngx_string("server_port"),
    ngx_string("realip_*"),
    ngx_string("proxy_protocol_*"),
    ngx_string("request_port"),
    ngx_string("is_request_port"),
    ngx_null_string
};


static ngx_str_t  ngx_http_mcp_post = ngx_string("POST");
static ngx_str_t  ngx_http_mcp_protocol = ngx_string("HTTP/1.1");


static ngx_http_output_header_filter_pt  ngx_http_next_header_filter;
static ngx_http_output_body_filter_pt    ngx_http_next_body_filter;

/* All our connections share one socket that nothing is ever sent to. */
static ngx_socket_t  ngx_http_mcp_socket = (ngx_socket_t) -1;


void
ngx_http_mcp_call_invoke(ngx_http_mcp_zone_t *zone, mcp_job_t *job,
    ngx_http_request_t *r)
{
    ngx_str_t                  *target;
    ngx_connection_t           *c;
    ngx_http_mcp_origin_t      *origin;
    ngx_http_mcp_loc_conf_t    *mlcf;
    ngx_http_mcp_invocation_t  *inv;

    job->glue = NULL;

    origin = mcp_call_glue(job->call);

    if (origin == NULL && r != NULL) {
        origin = ngx_http_mcp_origin_create(r);

        if (origin) {
            mcp_call_set_glue(job->call, origin);
        }
    }

    if (origin == NULL) {
        mcp_job_end(job, MCP_FAULT_BACKEND_FAILED,
            r ? "no memory to start the backend call"
              : "the client left before the backend call could start");
        return;
    }

    mlcf = origin->loc_conf[ngx_http_mcp_module.ctx_index];

    if (mlcf->targets == NULL || job->target >= mlcf->targets->nelts) {
        mcp_job_end(job, MCP_FAULT_NO_BACKEND, "no such backend");
        return;
    }

    target = (ngx_str_t *) mlcf->targets->elts + job->target;

    c = ngx_http_mcp_call_connect(origin, job);
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
        "mcp invoke \"%V\", %uz bytes, connection %uA", target, job->body.len,
        c->number);

    ngx_http_named_location(r, target);
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
    ngx_chain_t                *cl, *next, *rest;
    ngx_connection_t           *c;
    ngx_http_request_t         *r;
    ngx_http_mcp_invocation_t  *inv;

    inv = job->glue;

    if (inv == NULL || !inv->parked) {
        return;
    }

    r = inv->request;
    c = r->connection;

    ngx_http_set_log_request(c->log, r);

    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, c->log, 0, "mcp resume");

    rest = inv->out;

    if (ngx_http_mcp_call_feed(r, &rest) == NGX_ERROR) {
        r->count++;
        ngx_http_finalize_request(r, NGX_ERROR);
        ngx_http_run_posted_requests(c);
        return;
    }

    for (cl = inv->out; cl != rest; cl = next) {
        next = cl->next;
        ngx_free_chain(r->pool, cl);
    }

    inv->out = rest;

    if (rest) {
        return;
    }

    inv->parked = 0;
    c->buffered &= ~NGX_HTTP_MCP_BUFFERED;
    c->write->delayed = 0;

    /* reads on, or finishes what had finished but for this */

    r = c->data;
    r->write_event_handler(r);

    ngx_http_run_posted_requests(c);
}


void
ngx_http_mcp_call_forget(void *glue)
{
    ngx_http_mcp_origin_release(glue);
}


mcp_job_t *
ngx_http_mcp_call_job(ngx_http_request_t *r)
{
    ngx_http_mcp_invocation_t  *inv;

    if (r->connection->send_chain != ngx_http_mcp_call_send_chain) {
        return NULL;
    }

    inv = (ngx_http_mcp_invocation_t *) r->http_connection;

    return inv->job;
}


/* --- origin --- */


static u_char *
ngx_http_mcp_copy_str(u_char *p, ngx_str_t *dst, ngx_str_t *src)
{
    dst->len = src->len;
    dst->data = p;

    p = ngx_cpymem(p, src->data, src->len);
    *p++ = '\0';

    return p;
}


static ngx_http_mcp_origin_t *
ngx_http_mcp_origin_create(ngx_http_request_t *r)
{
    u_char                      *p;
    size_t                       len, sockaddr_len, local_len;
    ngx_uint_t                   i, n, nfreeze;
    ngx_array_t                 *freeze;
    ngx_list_part_t             *part;
    ngx_table_elt_t             *h;
    ngx_connection_t            *c;
    ngx_http_mcp_line_t         *line;
    ngx_http_mcp_freeze_t       *f;
    ngx_http_mcp_frozen_t       *frozen;
    ngx_http_mcp_origin_t       *origin;
    ngx_http_variable_value_t   *vv;
    ngx_http_core_main_conf_t   *cmcf;

    c = r->connection;

    /* later $server_addr would ask our socket */

    if (ngx_connection_local_sockaddr(c, NULL, 0) != NGX_OK) {
        return NULL;
    }

    cmcf = ngx_http_get_module_main_conf(r, ngx_http_core_module);

    freeze = ngx_http_mcp_origin_variables(cmcf);
    if (freeze == NULL) {
        return NULL;
    }

    f = freeze->elts;
    nfreeze = freeze->nelts;

    sockaddr_len = ngx_align(c->socklen, NGX_ALIGNMENT);
    local_len = ngx_align(c->local_socklen, NGX_ALIGNMENT);

    len = sizeof(ngx_http_mcp_origin_t) + sockaddr_len + local_len
          + nfreeze * sizeof(ngx_http_mcp_frozen_t)
          + c->addr_text.len + r->headers_in.server.len + r->request_line.len
          + r->unparsed_uri.len + r->uri.len + r->args.len + 6;

    for (i = 0; i < nfreeze; i++) {

        if (ngx_http_mcp_origin_freezes(r, &f[i])) {
            len += r->variables[f[i].index].len;
        }
    }

    n = 0;

    for (part = &r->headers_in.headers.part; part; part = part->next) {
        h = part->elts;
        n += part->nelts;

        for (i = 0; i < part->nelts; i++) {
            len += 2 * h[i].key.len + h[i].value.len + 2;
        }
    }

    len += n * sizeof(ngx_http_mcp_line_t);

    origin = ngx_alloc(len, c->log);
    if (origin == NULL) {
        return NULL;
    }

    ngx_memzero(origin, sizeof(ngx_http_mcp_origin_t));

    p = (u_char *) origin + sizeof(ngx_http_mcp_origin_t);

    origin->refs = 1;

    origin->addr_conf = r->http_connection->addr_conf;
    origin->conf_ctx = r->http_connection->conf_ctx;
    origin->main_conf = r->main_conf;
    origin->srv_conf = r->srv_conf;
    origin->loc_conf = r->loc_conf;
    origin->listening = c->listening;
    origin->log = *c->log;
    origin->log.handler = NULL;
    origin->log.data = NULL;
    origin->log.action = NULL;
    origin->log_handler = c->log->handler;

    origin->lines = (ngx_http_mcp_line_t *) p;
    p += n * sizeof(ngx_http_mcp_line_t);

    origin->frozen = (ngx_http_mcp_frozen_t *) p;
    p += nfreeze * sizeof(ngx_http_mcp_frozen_t);

    origin->sockaddr = (struct sockaddr *) p;
    origin->socklen = c->socklen;
    ngx_memcpy(p, c->sockaddr, c->socklen);
    p += sockaddr_len;

    origin->local_sockaddr = (struct sockaddr *) p;
    origin->local_socklen = c->local_socklen;
    ngx_memcpy(p, c->local_sockaddr, c->local_socklen);
    p += local_len;

    p = ngx_http_mcp_copy_str(p, &origin->addr_text, &c->addr_text);
    p = ngx_http_mcp_copy_str(p, &origin->server, &r->headers_in.server);
    p = ngx_http_mcp_copy_str(p, &origin->request_line, &r->request_line);
    p = ngx_http_mcp_copy_str(p, &origin->unparsed_uri, &r->unparsed_uri);
    p = ngx_http_mcp_copy_str(p, &origin->uri, &r->uri);
    p = ngx_http_mcp_copy_str(p, &origin->args, &r->args);

    for (i = 0; i < nfreeze; i++) {

        if (!ngx_http_mcp_origin_freezes(r, &f[i])) {
            continue;
        }

        vv = &r->variables[f[i].index];
        frozen = &origin->frozen[origin->nfrozen++];

        frozen->index = f[i].index;
        frozen->value = *vv;
        frozen->value.data = p;

        p = ngx_cpymem(p, vv->data, vv->len);
    }

    line = origin->lines;

    for (part = &r->headers_in.headers.part; part; part = part->next) {
        h = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (ngx_http_mcp_origin_skips(&h[i])) {
                continue;
            }

            ngx_memzero(line, sizeof(ngx_http_mcp_line_t));

            line->elt.hash = h[i].hash;
            line->elt.lowcase_key = p;
            p = ngx_cpymem(p, h[i].lowcase_key, h[i].key.len);
            p = ngx_http_mcp_copy_str(p, &line->elt.key, &h[i].key);
            p = ngx_http_mcp_copy_str(p, &line->elt.value, &h[i].value);

            line->header = ngx_hash_find(&cmcf->headers_in_hash, h[i].hash,
                                         line->elt.lowcase_key, h[i].key.len);
            line++;
        }
    }

    origin->nlines = line - origin->lines;

    return origin;
}


/* The variables worth a look, worked out once per configuration. */
static ngx_array_t *
ngx_http_mcp_origin_variables(ngx_http_core_main_conf_t *cmcf)
{
    size_t                             len;
    ngx_str_t                         *name;
    ngx_uint_t                         i, evaluate;
    ngx_http_variable_t               *v;
    ngx_http_mcp_freeze_t             *freeze;

    static ngx_array_t                *list;
    static ngx_http_core_main_conf_t  *list_cmcf;

    /* one configuration per process, but for "master_process off" */

    if (list_cmcf == cmcf) {
        return list;
    }

    list_cmcf = NULL;

    list = ngx_array_create(ngx_cycle->pool, 8, sizeof(ngx_http_mcp_freeze_t));
    if (list == NULL) {
        return NULL;
    }

    v = cmcf->variables.elts;

    for (i = 0; i < cmcf->variables.nelts; i++) {

        evaluate = 0;

        for (name = ngx_http_mcp_connection_variables; name->len; name++) {
            len = name->len;

            if (name->data[len - 1] == '*') {
                len--;

                if (v[i].name.len < len) {
                    continue;
                }

            } else if (v[i].name.len != len) {
                continue;
            }

            if (ngx_strncmp(v[i].name.data, name->data, len) == 0) {
                evaluate = 1;
                break;
            }
        }

        if (!evaluate
            && (!(v[i].flags & NGX_HTTP_VAR_CHANGEABLE)
                || (v[i].flags & NGX_HTTP_VAR_NOCACHEABLE)))
        {
            continue;
        }

        freeze = ngx_array_push(list);
        if (freeze == NULL) {
            return NULL;
        }

        ngx_memzero(freeze, sizeof(ngx_http_mcp_freeze_t));

        freeze->index = i;
        freeze->evaluate = evaluate;

        /* so "set" leaves it, with a handler that would warn when asked */
        freeze->assigned = (v[i].data == i);
    }

    list_cmcf = cmcf;

    return list;
}


/*
 * Besides what the connection knows the values to keep are those that cannot
 * be worked out again: from "set", "auth_request_set", named captures.  Such
 * a variable's handler finds nothing.  Maps and the like have to be worked
 * out again, as what they depend on may differ in our request.
 */
static ngx_int_t
ngx_http_mcp_origin_freezes(ngx_http_request_t *r, ngx_http_mcp_freeze_t *f)
{
    ngx_http_variable_t        *v;
    ngx_http_variable_value_t  *vv, probe;
    ngx_http_core_main_conf_t  *cmcf;

    if (f->computed) {
        return 0;
    }

    vv = &r->variables[f->index];

    if (f->evaluate) {
        vv = ngx_http_get_indexed_variable(r, f->index);
        return vv != NULL && vv->valid && !vv->no_cacheable;
    }

    if (!vv->valid || vv->no_cacheable) {
        return 0;
    }

    if (!f->assigned) {
        cmcf = ngx_http_get_module_main_conf(r, ngx_http_core_module);
        v = (ngx_http_variable_t *) cmcf->variables.elts + f->index;

        ngx_memzero(&probe, sizeof(ngx_http_variable_value_t));

        if (v->get_handler(r, &probe, v->data) == NGX_OK && probe.not_found) {
            f->assigned = 1;

        } else {
            f->computed = 1;
            return 0;
        }
    }

    return 1;
}


static ngx_uint_t
ngx_http_mcp_origin_skips(ngx_table_elt_t *h)
{
    ngx_str_t  *name;

    for (name = ngx_http_mcp_skipped; name->len; name++) {

        if (name->len < h->key.len) {
            continue;
        }

        if (name->len > h->key.len) {
            break;
        }

        if (ngx_memcmp(name->data, h->lowcase_key, name->len) == 0) {
            return 1;
        }
    }

    /* hash 0: cleared by some module */

    return h->hash == 0;
}


static void
ngx_http_mcp_origin_release(void *data)
{
    ngx_http_mcp_origin_t  *origin = data;

    if (origin && --origin->refs == 0) {
        ngx_free(origin);
    }
}


/* --- connection and request --- */


/*
 * A connection that is always ready for writing and never for reading.  It
 * is not in the event mechanism, its descriptor only has to look valid.
 */
static ngx_connection_t *
ngx_http_mcp_call_connect(ngx_http_mcp_origin_t *origin, mcp_job_t *job)
{
    ngx_pool_t                 *pool;
    ngx_connection_t           *c;
    ngx_pool_cleanup_t         *cln;
    ngx_http_mcp_invocation_t  *inv;

    pool = ngx_create_pool(2048, &origin->log);
    if (pool == NULL) {
        return NULL;
    }

    inv = ngx_pcalloc(pool, sizeof(ngx_http_mcp_invocation_t));
    cln = ngx_pool_cleanup_add(pool, 0);

    if (inv == NULL || cln == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    c = ngx_get_connection(ngx_http_mcp_socket, ngx_cycle->log);
    if (c == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    /* ngx_close_connection() leaves the descriptor alone */
    c->shared = 1;

    inv->hc.addr_conf = origin->addr_conf;
    inv->hc.conf_ctx = origin->conf_ctx;
    inv->origin = origin;
    inv->job = job;

    /* the last thing that goes: log lines still name the client */

    cln->handler = ngx_http_mcp_origin_release;
    cln->data = origin;
    origin->refs++;

    inv->log_ctx.ctx.connection = c;
    inv->log_ctx.handler = origin->log_handler;
    inv->log_ctx.inv = inv;

    inv->log = origin->log;
    inv->log.handler = ngx_http_mcp_call_log_error;
    inv->log.data = &inv->log_ctx;
    inv->log.action = "calling mcp backend";

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
    c->listening = origin->listening;
    c->sockaddr = origin->sockaddr;
    c->socklen = origin->socklen;
    c->local_sockaddr = origin->local_sockaddr;
    c->local_socklen = origin->local_socklen;
    c->addr_text = origin->addr_text;
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
    ngx_http_mcp_origin_t      *origin;

    origin = inv->origin;

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

    r->main_conf = origin->main_conf;
    r->srv_conf = origin->srv_conf;
    r->loc_conf = origin->loc_conf;

    r->http_state = NGX_HTTP_PROCESS_REQUEST_STATE;
    r->http_version = NGX_HTTP_VERSION_11;
    r->http_protocol = ngx_http_mcp_protocol;
    r->method = NGX_HTTP_POST;
    r->method_name = ngx_http_mcp_post;
    r->request_line = origin->request_line;
    r->unparsed_uri = origin->unparsed_uri;
    r->uri = origin->uri;
    r->args = origin->args;
    r->valid_location = 1;
    r->valid_unparsed_uri = 1;
    r->limit_rate_set = 1;
    r->limit_rate_after_set = 1;

    ngx_http_set_exten(r);

    for (i = 0; i < origin->nfrozen; i++) {
        frozen = &origin->frozen[i];
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

    ngx_http_mcp_call_body(r, inv);

    if (ngx_http_mcp_call_headers(r, inv) != NGX_OK) {
        if (!c->destroyed) {
            ngx_http_finalize_request(r, NGX_ERROR);
            ngx_http_run_posted_requests(c);
        }

        return NULL;
    }

    return r;
}


static void
ngx_http_mcp_call_body(ngx_http_request_t *r, ngx_http_mcp_invocation_t *inv)
{
    ngx_buf_t  *b;
    mcp_str_t  *body;

    body = &inv->job->body;

    b = &inv->body_buf;

    b->start = (u_char *) body->data;
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
}


static ngx_int_t
ngx_http_mcp_call_headers(ngx_http_request_t *r,
    ngx_http_mcp_invocation_t *inv)
{
    ngx_uint_t                  i;
    ngx_list_t                 *list;
    ngx_table_elt_t            *h;
    ngx_http_mcp_line_t        *line;
    ngx_http_mcp_origin_t      *origin;

    origin = inv->origin;
    list = &r->headers_in.headers;

    if (ngx_list_init(list, r->pool, origin->nlines + 4,
                      sizeof(ngx_table_elt_t))
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    /* known already, so that nothing below looks for the server again */
    r->headers_in.server = origin->server;

    h = list->part.elts;
    ngx_memzero(h, 4 * sizeof(ngx_table_elt_t));

    ngx_str_set(&h->key, "Content-Type");
    ngx_str_set(&h->value, "application/json");
    h->lowcase_key = (u_char *) "content-type";
    r->headers_in.content_type = h++;

    ngx_str_set(&h->key, "Content-Length");
    h->value.data = inv->length;
    h->value.len = ngx_sprintf(inv->length, "%uz", inv->job->body.len)
                   - inv->length;
    h->lowcase_key = (u_char *) "content-length";
    r->headers_in.content_length = h++;

    ngx_str_set(&h->key, "Accept");
    ngx_str_set(&h->value,
        "application/json, text/event-stream, application/x-ndjson");
    h->lowcase_key = (u_char *) "accept";
#if (NGX_HTTP_HEADERS)
    r->headers_in.accept = h;
#endif
    h++;

    /* HTTP/2 and HTTP/3 clients may have sent none */

    ngx_str_set(&h->key, "Host");
    h->value = origin->server;
    h->lowcase_key = (u_char *) "host";
    r->headers_in.host = h;

    for (i = 0; i < origin->nlines; i++) {
        line = &origin->lines[i];

        if (line->header
            && line->header->offset == offsetof(ngx_http_headers_in_t, host))
        {
            r->headers_in.host->value = line->elt.value;
            break;
        }
    }

    if (r->headers_in.host->value.len) {
        h++;
    }

    /* any other value than 0 does: nobody looks these names up by hash */

    list->part.nelts = h - (ngx_table_elt_t *) list->part.elts;

    for (h = list->part.elts, i = 0; i < list->part.nelts; i++) {
        h[i].hash = ngx_hash_key(h[i].lowcase_key, h[i].key.len);
    }

    for (i = 0; i < origin->nlines; i++) {
        line = &origin->lines[i];

        if (line->header
            && line->header->offset == offsetof(ngx_http_headers_in_t, host))
        {
            continue;
        }

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


/* --- log --- */


static u_char *
ngx_http_mcp_call_log_error(ngx_log_t *log, u_char *buf, size_t len)
{
    u_char                  *p;
    mcp_job_t               *job;
    ngx_http_mcp_log_ctx_t  *ctx;

    ctx = log->data;

    p = ctx->handler ? ctx->handler(log, buf, len) : buf;

    job = ctx->inv->job;

    if (job) {
        p = ngx_http_mcp_call_log_fact(p, buf + len, "mcp call",
                                       &job->facts.value[MCP_FACT_CALL]);
        p = ngx_http_mcp_call_log_fact(p, buf + len, "mcp name",
                                       &job->facts.value[MCP_FACT_NAME]);
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


/* --- capture --- */


static ngx_int_t
ngx_http_mcp_call_header_filter(ngx_http_request_t *r)
{
    mcp_str_t                   type;
    ngx_http_upstream_t        *u;
    ngx_http_mcp_invocation_t  *inv;

    if (r->connection->send_chain != ngx_http_mcp_call_send_chain) {
        return ngx_http_next_header_filter(r);
    }

    if (r != r->main) {

        if (r->subrequest_in_memory) {
            return ngx_http_next_header_filter(r);
        }

        r->header_sent = 1;
        return NGX_OK;
    }

    if (r->header_sent) {
        return NGX_OK;
    }

    r->header_sent = 1;
    r->filter_need_in_memory = 1;

    inv = (ngx_http_mcp_invocation_t *) r->http_connection;

    if (inv->job == NULL || inv->fault) {
        return NGX_OK;
    }

    u = r->upstream;

    inv->heard = ngx_current_msec;

    if (r->err_status >= NGX_HTTP_INTERNAL_SERVER_ERROR
        && (u == NULL || u->cleanup == NULL))
    {
        /* the server's own page: there is no answer of a backend */

        switch (r->err_status) {

        case NGX_HTTP_GATEWAY_TIME_OUT:
            inv->fault = MCP_FAULT_BACKEND_TIMEOUT;
            inv->detail = "timed out before an answer";
            break;

        case NGX_HTTP_BAD_GATEWAY:
            inv->fault = MCP_FAULT_BACKEND_FAILED;
            inv->detail = "refused, reset or malformed before an answer";
            break;

        case NGX_HTTP_SERVICE_UNAVAILABLE:
            inv->fault = MCP_FAULT_BACKEND_FAILED;
            inv->detail = "unavailable, or limited by its location";
            break;

        default:
            inv->fault = MCP_FAULT_BACKEND_FAILED;
            inv->detail = "its location failed";
        }

        return NGX_OK;
    }

    inv->head = 1;

    if (r->headers_out.status == NGX_HTTP_NO_CONTENT
        || r->headers_out.status == NGX_HTTP_NOT_MODIFIED)
    {
        r->header_only = 1;
    }

    if (r->header_only) {
        inv->complete = 1;
    }

    type.data = (const char *) r->headers_out.content_type.data;
    type.len = r->headers_out.content_type.len;

    mcp_job_head(inv->job, (int) r->headers_out.status, type);

    return NGX_OK;
}


static ngx_int_t
ngx_http_mcp_call_body_filter(ngx_http_request_t *r, ngx_chain_t *in)
{
    ngx_int_t                   rc;
    ngx_chain_t                *rest;
    ngx_http_mcp_invocation_t  *inv;

    if (r->connection->send_chain != ngx_http_mcp_call_send_chain) {
        return ngx_http_next_body_filter(r, in);
    }

    if (r != r->main && r->subrequest_in_memory) {
        return ngx_http_next_body_filter(r, in);
    }

    inv = (ngx_http_mcp_invocation_t *) r->http_connection;

    rest = in;

    if (!inv->parked || r != r->main) {
        rc = ngx_http_mcp_call_feed(r, &rest);

        if (rc != NGX_AGAIN) {
            return rc;
        }

        ngx_http_mcp_call_park(r);
    }

    if (ngx_chain_add_copy(r->pool, &inv->out, rest) != NGX_OK) {
        return NGX_ERROR;
    }

    return NGX_AGAIN;
}


/*
 * Hands the bytes to the core.  NGX_AGAIN: *in is what it did not take.  What
 * nobody is interested in, as bodies of subrequests and of error pages, is
 * just consumed.
 */
static ngx_int_t
ngx_http_mcp_call_feed(ngx_http_request_t *r, ngx_chain_t **in)
{
    size_t                      size, taken;
    ngx_buf_t                  *b;
    ngx_chain_t                *cl;
    ngx_connection_t           *c;
    ngx_http_mcp_invocation_t  *inv;

    c = r->connection;
    inv = (ngx_http_mcp_invocation_t *) r->http_connection;

    for (cl = *in; cl; cl = cl->next) {
        b = cl->buf;

        if (r == r->main && inv->job && inv->head && !inv->fault) {

            if (ngx_buf_in_memory(b)) {
                size = b->last - b->pos;

            } else if (ngx_buf_size(b) == 0) {
                size = 0;

            } else {
                ngx_log_error(NGX_LOG_ALERT, c->log, 0,
                    "file buffer in the answer of an mcp backend");
                return NGX_ERROR;
            }

            if (size) {
                taken = mcp_job_data(inv->job, (const char *) b->pos, size);

                b->pos += taken;
                c->sent += taken;

                if (taken < size) {
                    *in = cl;
                    return NGX_AGAIN;
                }

                inv->heard = ngx_current_msec;
            }

            if (b->last_buf) {
                inv->complete = 1;
            }
        }

        if (ngx_buf_in_memory(b)) {
            b->pos = b->last;
        }

        if (b->in_file) {
            b->file_pos = b->file_last;
        }
    }

    *in = NULL;

    return NGX_OK;
}


/*
 * Looks like a rate limit to the modules above: they stop reading when their
 * buffers are full, and no timer of a client runs.
 */
static void
ngx_http_mcp_call_park(ngx_http_request_t *r)
{
    ngx_connection_t           *c;
    ngx_http_upstream_t        *u;
    ngx_http_mcp_invocation_t  *inv;

    c = r->connection;
    u = r->upstream;
    inv = (ngx_http_mcp_invocation_t *) r->http_connection;

    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, c->log, 0, "mcp park");

    inv->parked = 1;
    c->buffered |= NGX_HTTP_MCP_BUFFERED;
    c->write->delayed = 1;

    /* a backend that runs ahead must wait, not fill the disk */

    if (u && u->buffering && u->pipe && !u->pipe->cacheable) {
        u->pipe->max_temp_file_size = 0;
    }
}


ngx_int_t
ngx_http_mcp_call_filter_init(ngx_conf_t *cf)
{
    ngx_http_next_header_filter = ngx_http_top_header_filter;
    ngx_http_top_header_filter = ngx_http_mcp_call_header_filter;

    ngx_http_next_body_filter = ngx_http_top_body_filter;
    ngx_http_top_body_filter = ngx_http_mcp_call_body_filter;

    return NGX_OK;
}


ngx_int_t
ngx_http_mcp_call_init_process(ngx_cycle_t *cycle)
{
    if (ngx_http_mcp_socket != (ngx_socket_t) -1) {
        return NGX_OK;
    }

    /* with others an event that is "active" is not yet a no-op */

    if (!(ngx_event_flags & NGX_USE_CLEAR_EVENT)) {
        ngx_log_error(NGX_LOG_EMERG, cycle->log, 0,
            "\"mcp\" requires the event method epoll or kqueue");
        return NGX_ERROR;
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
static ngx_chain_t *
ngx_http_mcp_call_send_chain(ngx_connection_t *c, ngx_chain_t *in, off_t limit)
{
    ngx_chain_t  *cl;

    for (cl = in; cl; cl = cl->next) {
        cl->buf->pos = cl->buf->last;
        cl->buf->file_pos = cl->buf->file_last;
    }

    return NULL;
}
