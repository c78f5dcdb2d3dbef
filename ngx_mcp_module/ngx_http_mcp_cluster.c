/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Connections to Redis: host names, sockets and TLS.  The core decides when to
 * connect, what to write, and how long each step may take (mcp_cluster.h).
 */


#include "ngx_http_mcp_cluster.h"

#include "ngx_http_mcp_cluster_conf.h"
#include "ngx_http_mcp_worker.h"

#include "mcp_cluster.h"


/* maximum number of reads or writes of a connection before other events get
 * their turn */
#define NGX_HTTP_MCP_CLUSTER_ROUNDS  16

#define NGX_HTTP_MCP_CLUSTER_READ   16384

/* timeout of the resolver, ms; the core abandons the connection earlier */
#define NGX_HTTP_MCP_CLUSTER_RESOLVE  60000


typedef struct {
    ngx_queue_t              queue;    /* entry in zone->cluster->links */
    ngx_http_mcp_zone_t     *zone;
    mcp_link_t              *link;
    ngx_pool_t              *pool;     /* pool of this structure and of the
                                          connection's data */
    ngx_resolver_ctx_t      *resolve;  /* NULL unless the host name is being
                                          resolved */
    ngx_peer_connection_t    peer;
    ngx_sockaddr_t           sockaddr;
    ngx_str_t                name;     /* the address as text */
    u_char                   why[64];  /* text of the TLS alert that Redis
                                          has sent; empty if none */
    unsigned                 opened:1; /* 1 if the socket is connected, and
                                          the TLS handshake, if any, is
                                          complete */
} ngx_http_mcp_cluster_link_t;


static void ngx_http_mcp_cluster_resolved(ngx_resolver_ctx_t *ctx);
static void ngx_http_mcp_cluster_connect_handler(ngx_event_t *ev);
static void ngx_http_mcp_cluster_read_handler(ngx_event_t *rev);
static void ngx_http_mcp_cluster_write_handler(ngx_event_t *wev);
static void ngx_http_mcp_cluster_dummy_handler(ngx_event_t *ev);


/* --- the end of a connection --- */

static void
ngx_http_mcp_cluster_free(ngx_http_mcp_cluster_link_t *own)
{
    ngx_connection_t  *c;

    c = own->peer.connection;

    if (own->resolve) {
        ngx_resolve_name_done(own->resolve);
    }

    if (c) {

#if (NGX_SSL)
        if (c->ssl) {
            /* close immediately, without sending a TLS alert */

            c->ssl->no_wait_shutdown = 1;
            c->ssl->no_send_shutdown = 1;
            (void) ngx_ssl_shutdown(c);
        }
#endif

        ngx_close_connection(c);
    }

    mcp_link_set_glue(own->link, NULL);

    ngx_queue_remove(&own->queue);
    ngx_destroy_pool(own->pool);
}


/*
 * Frees the connection "own" and reports its failure to the core.  "why" may
 * point into own: it is copied before own is freed.
 */
static void
ngx_http_mcp_cluster_closed(ngx_http_mcp_cluster_link_t *own, const char *why)
{
    u_char                reason[128];
    mcp_link_t           *link;
    ngx_http_mcp_zone_t  *zone;

    link = own->link;
    zone = own->zone;

    (void) ngx_cpystrn(reason, (u_char *) why, sizeof(reason));

    ngx_http_mcp_cluster_free(own);

    mcp_link_closed(link, (char *) reason);
    ngx_http_mcp_worker_arm(zone);
}


static void
ngx_http_mcp_cluster_failed(ngx_http_mcp_cluster_link_t *own, ngx_err_t err)
{
    u_char  text[NGX_MAX_ERROR_STR];

    *ngx_strerror(err, text, sizeof(text) - 1) = '\0';

    ngx_http_mcp_cluster_closed(own, (char *) text);
}


/* --- opening a connection --- */

static void
ngx_http_mcp_cluster_opened(ngx_http_mcp_cluster_link_t *own)
{
    ngx_connection_t  *c;

    c = own->peer.connection;

    c->read->handler = ngx_http_mcp_cluster_read_handler;
    c->write->handler = ngx_http_mcp_cluster_write_handler;

    own->opened = 1;

    mcp_link_opened(own->link);

    /* read data that arrived together with the end of the handshake */

    if (c->read->ready) {
        ngx_post_event(c->read, &ngx_posted_events);

    } else if (ngx_handle_read_event(c->read, 0) != NGX_OK) {
        ngx_http_mcp_cluster_closed(own, "cannot add the connection to the "
                                         "event loop");
        return;
    }

    ngx_http_mcp_worker_arm(own->zone);
}


#if (NGX_SSL)

static const char *
ngx_http_mcp_cluster_tls_error(ngx_connection_t *c)
{
    long           rc;
    unsigned long  code;
    const char    *reason;

    rc = SSL_get_verify_result(c->ssl->connection);

    if (rc != X509_V_OK) {
        return X509_verify_cert_error_string(rc);
    }

    code = ERR_peek_error();
    reason = code ? ERR_reason_error_string(code) : NULL;

    ERR_clear_error();

    return reason ? reason : "the TLS handshake failed";
}


static void
ngx_http_mcp_cluster_handshaken(ngx_connection_t *c)
{
    ngx_http_mcp_cluster_link_t  *own;

    own = c->data;

    if (c->ssl->handshaked) {
        ngx_http_mcp_cluster_opened(own);
        return;
    }

    ngx_http_mcp_cluster_closed(own, ngx_http_mcp_cluster_tls_error(c));
}


/*
 * OpenSSL's callback for verification: returns OpenSSL's own result.  Replaces
 * nginx's callback, which accepts every certificate.
 */
static int
ngx_http_mcp_cluster_verify(int ok, X509_STORE_CTX *store)
{
    return ok;
}


/*
 * OpenSSL's callback for TLS messages: stores the text of an alert from Redis.
 */
static void
ngx_http_mcp_cluster_alert(int sent, int version, int type, const void *data,
    size_t len, SSL *ssl, void *arg)
{
    const u_char                 *alert = data;
    ngx_http_mcp_cluster_link_t  *own = arg;

    const char  *why;

    if (!sent && type == SSL3_RT_ALERT && len == 2
        && alert[1] != SSL_AD_CLOSE_NOTIFY)
    {
        why = ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0,
                                          SSL_AD_REASON_OFFSET + alert[1]));

        (void) ngx_snprintf(own->why, sizeof(own->why) - 1,
                            "TLS alert from Redis: %s%Z",
                            why ? why : "unknown");
    }
}


/*
 * Makes OpenSSL verify the certificate chain and the server's name during the
 * handshake, before data is sent.
 */
static ngx_int_t
ngx_http_mcp_cluster_expect(ngx_http_mcp_cluster_link_t *own, SSL *ssl)
{
    char                       name[256];
    mcp_str_t                  host;
    X509_VERIFY_PARAM         *param;
    const mcp_cluster_conf_t  *conf;
    const mcp_cluster_seed_t  *seed;

    conf = own->zone->cluster->conf;
    seed = mcp_link_target(own->link);
    host = conf->tls_server_name.len ? conf->tls_server_name : seed->host;

    if (host.len == 0 || host.len >= sizeof(name)) {
        return NGX_ERROR;
    }

    (void) ngx_cpystrn((u_char *) name, (u_char *) host.data, host.len + 1);

    param = SSL_get0_param(ssl);

    if (conf->tls_verify) {
        SSL_set_verify(ssl, SSL_VERIFY_PEER, ngx_http_mcp_cluster_verify);
    }

    /* no SNI for an IP address (RFC 6066, section 3) */

    if (X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1) {
        return NGX_OK;
    }

    return SSL_set_tlsext_host_name(ssl, name) == 1
           && SSL_set1_host(ssl, name) == 1 ? NGX_OK : NGX_ERROR;
}


static void
ngx_http_mcp_cluster_handshake(ngx_http_mcp_cluster_link_t *own)
{
    ngx_int_t          rc;
    ngx_connection_t  *c;

    c = own->peer.connection;

    if (ngx_ssl_create_connection(&own->zone->cluster->ssl, c,
                                  NGX_SSL_BUFFER|NGX_SSL_CLIENT)
        != NGX_OK
        || ngx_http_mcp_cluster_expect(own, c->ssl->connection) != NGX_OK)
    {
        ngx_http_mcp_cluster_closed(own, "cannot set up TLS for the "
                                         "connection");
        return;
    }

    SSL_set_msg_callback(c->ssl->connection, ngx_http_mcp_cluster_alert);
    SSL_set_msg_callback_arg(c->ssl->connection, own);

    ERR_clear_error();

    rc = ngx_ssl_handshake(c);

    if (rc == NGX_AGAIN) {
        c->ssl->handler = ngx_http_mcp_cluster_handshaken;
        return;
    }

    ngx_http_mcp_cluster_handshaken(c);
}

#endif


/* Called when the socket is connected: starts the TLS handshake, or without
 * TLS, reports to the core that the connection is open. */
static void
ngx_http_mcp_cluster_connected(ngx_http_mcp_cluster_link_t *own)
{
    ngx_connection_t  *c;

    c = own->peer.connection;

    c->read->handler = ngx_http_mcp_cluster_dummy_handler;
    c->write->handler = ngx_http_mcp_cluster_dummy_handler;

    if (own->sockaddr.sockaddr.sa_family != AF_UNIX) {
        (void) ngx_tcp_nodelay(c);
    }

#if (NGX_SSL)
    if (mcp_link_target(own->link)->tls) {
        ngx_http_mcp_cluster_handshake(own);
        return;
    }
#endif

    ngx_http_mcp_cluster_opened(own);
}


/* Event handler: checks whether the attempt to connect has succeeded. */
static void
ngx_http_mcp_cluster_connect_handler(ngx_event_t *ev)
{
    int                           err;
    socklen_t                     len;
    ngx_connection_t             *c;
    ngx_http_mcp_cluster_link_t  *own;

    c = ev->data;
    own = c->data;

    err = 0;
    len = sizeof(int);

    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, (void *) &err, &len) == -1) {
        err = ngx_socket_errno;
    }

    if (err) {
        ngx_http_mcp_cluster_failed(own, err);
        return;
    }

    ngx_http_mcp_cluster_connected(own);
}


static void
ngx_http_mcp_cluster_connect(ngx_http_mcp_cluster_link_t *own,
    struct sockaddr *sockaddr, socklen_t socklen, unsigned port)
{
    ngx_int_t          rc;
    ngx_connection_t  *c;

    if (socklen > (socklen_t) sizeof(ngx_sockaddr_t)) {
        ngx_http_mcp_cluster_closed(own, "the address has an unknown family");
        return;
    }

    ngx_memcpy(&own->sockaddr, sockaddr, socklen);

    if (port) {
        ngx_inet_set_port(&own->sockaddr.sockaddr, (in_port_t) port);
    }

    own->name.len = ngx_sock_ntop(&own->sockaddr.sockaddr, socklen,
                                  own->name.data, NGX_SOCKADDR_STRLEN, 1);

    own->peer.sockaddr = &own->sockaddr.sockaddr;
    own->peer.socklen = socklen;
    own->peer.name = &own->name;
    own->peer.get = ngx_event_get_peer;
    own->peer.log = &own->zone->cluster->log;
    own->peer.log_error = NGX_ERROR_ERR;

    ngx_set_errno(0);

    rc = ngx_event_connect_peer(&own->peer);

    c = own->peer.connection;

    if ((rc != NGX_OK && rc != NGX_AGAIN) || c == NULL) {
        own->peer.connection = NULL;
        ngx_http_mcp_cluster_failed(own, ngx_errno ? ngx_errno : EAGAIN);
        return;
    }

    c->data = own;
    c->pool = own->pool;
    c->log = own->peer.log;
    c->read->log = c->log;
    c->write->log = c->log;
    c->sendfile = 0;

    if (rc == NGX_AGAIN) {
        c->read->handler = ngx_http_mcp_cluster_connect_handler;
        c->write->handler = ngx_http_mcp_cluster_connect_handler;
        return;
    }

    ngx_http_mcp_cluster_connected(own);
}


/* --- host names --- */

static void
ngx_http_mcp_cluster_resolve(ngx_http_mcp_cluster_link_t *own,
    ngx_resolver_t *resolver, ngx_str_t *host)
{
    ngx_resolver_ctx_t  *ctx;

    ctx = ngx_resolve_start(resolver, NULL);

    if (ctx == NULL || ctx == NGX_NO_RESOLVER) {
        ngx_http_mcp_cluster_closed(own, "cannot begin the DNS lookup: check "
                                         "\"resolver\"");
        return;
    }

    ctx->name = *host;
    ctx->handler = ngx_http_mcp_cluster_resolved;
    ctx->data = own;
    ctx->timeout = NGX_HTTP_MCP_CLUSTER_RESOLVE;
    ctx->cancelable = 1;

    own->resolve = ctx;

    if (ngx_resolve_name(ctx) != NGX_OK) {
        own->resolve = NULL;
        ngx_http_mcp_cluster_closed(own, "cannot resolve the host name");
    }
}


/*
 * Handler of the resolver: connects to one of the addresses, chosen at random.
 * nginx may call this handler from within ngx_resolve_name(), and the handler
 * may free "own".  ngx_http_mcp_cluster_resolve() is not affected, because
 * ngx_resolve_name() returns NGX_OK to it and it does not use "own" again.
 */
static void
ngx_http_mcp_cluster_resolved(ngx_resolver_ctx_t *ctx)
{
    ngx_uint_t                    i;
    ngx_sockaddr_t                sockaddr;
    socklen_t                     socklen;
    ngx_http_mcp_cluster_link_t  *own;

    own = ctx->data;

    if (ctx->state || ctx->naddrs == 0) {
        ngx_http_mcp_cluster_closed(own, ngx_resolver_strerror(ctx->state));
        return;
    }

    i = (ngx_uint_t) ngx_random() % ctx->naddrs;

    socklen = ctx->addrs[i].socklen;
    ngx_memcpy(&sockaddr, ctx->addrs[i].sockaddr, socklen);

    ngx_resolve_name_done(ctx);
    own->resolve = NULL;

    ngx_http_mcp_cluster_connect(own, &sockaddr.sockaddr, socklen,
                                 mcp_link_target(own->link)->port);
}


/*
 * Returns an address of the host, chosen at random from the addresses to which
 * the host's name was resolved when the configuration was read.  Returns NULL
 * if the name was not resolved then.
 */
static ngx_addr_t *
ngx_http_mcp_cluster_find(ngx_http_mcp_cluster_t *cluster, mcp_str_t host)
{
    ngx_uint_t                    i;
    ngx_http_mcp_cluster_name_t  *name;

    for (i = 0; i < cluster->n_names; i++) {
        name = &cluster->names[i];

        if (mcp_str_eq(name->host, host)) {
            return &name->addrs[(ngx_uint_t) ngx_random() % name->naddrs];
        }
    }

    return NULL;
}


static void
ngx_http_mcp_cluster_unix(ngx_http_mcp_cluster_link_t *own, mcp_str_t path)
{
    struct sockaddr_un  sun;

    ngx_memzero(&sun, sizeof(struct sockaddr_un));
    sun.sun_family = AF_UNIX;
    ngx_memcpy(sun.sun_path, path.data,
               ngx_min(path.len, sizeof(sun.sun_path) - 1));

    ngx_http_mcp_cluster_connect(own, (struct sockaddr *) &sun,
                                 sizeof(struct sockaddr_un), 0);
}


static void
ngx_http_mcp_cluster_begin(ngx_http_mcp_cluster_link_t *own)
{
    ngx_str_t                  host;
    ngx_addr_t                 parsed, *addr;
    ngx_http_mcp_cluster_t    *cluster;
    const mcp_cluster_seed_t  *seed;

    seed = mcp_link_target(own->link);
    cluster = own->zone->cluster;

    if (seed->host.len == 0) {
        ngx_http_mcp_cluster_unix(own, seed->path);
        return;
    }

    host = ngx_http_mcp_text(seed->host);

    addr = &parsed;

    if (ngx_parse_addr(own->pool, addr, host.data, host.len) != NGX_OK) {
        addr = ngx_http_mcp_cluster_find(cluster, seed->host);
    }

    if (addr) {
        ngx_http_mcp_cluster_connect(own, addr->sockaddr, addr->socklen,
                                     seed->port);

    } else if (cluster->resolver) {
        ngx_http_mcp_cluster_resolve(own, cluster->resolver, &host);

    } else {
        ngx_http_mcp_cluster_closed(own, "a host name needs \"resolver\" in "
                                    "the http block");
    }
}


static void
ngx_http_mcp_cluster_open(ngx_http_mcp_zone_t *zone, mcp_link_t *link)
{
    u_char                       *name;
    ngx_pool_t                   *pool;
    ngx_http_mcp_cluster_link_t  *own;

    own = NULL;
    name = NULL;

    pool = ngx_create_pool(NGX_DEFAULT_POOL_SIZE, zone->log);

    if (pool) {
        own = ngx_pcalloc(pool, sizeof(ngx_http_mcp_cluster_link_t));
        name = ngx_pnalloc(pool, NGX_SOCKADDR_STRLEN);
    }

    if (own == NULL || name == NULL) {

        if (pool) {
            ngx_destroy_pool(pool);
        }

        mcp_link_closed(link, "out of memory");
        return;
    }

    own->zone = zone;
    own->link = link;
    own->pool = pool;
    own->name.data = name;

    ngx_queue_insert_tail(&zone->cluster->links, &own->queue);
    mcp_link_set_glue(link, own);

    ngx_http_mcp_cluster_begin(own);
}


/* --- reading and writing --- */

static void
ngx_http_mcp_cluster_dummy_handler(ngx_event_t *ev)
{
    /* does nothing: nginx's TLS handshake replaces this handler, and so does
     * ngx_http_mcp_cluster_opened() */
}


/*
 * Returns the reason why reading or writing has failed: the TLS alert of Redis
 * if there is one.  After a failed write, first reads the alert that Redis may
 * have sent before it closed the connection.
 */
static const char *
ngx_http_mcp_cluster_why(ngx_http_mcp_cluster_link_t *own)
{
#if (NGX_SSL)
    u_char             buf[64];
    ngx_connection_t  *c;

    c = own->peer.connection;

    if (c->ssl && !c->read->error && own->why[0] == '\0') {
        (void) c->recv(c, buf, sizeof(buf));
    }
#endif

    return own->why[0] ? (const char *) own->why : "the connection was lost";
}


static void
ngx_http_mcp_cluster_read_handler(ngx_event_t *rev)
{
    ssize_t                       n;
    ngx_uint_t                    round;
    ngx_connection_t             *c;
    ngx_http_mcp_cluster_link_t  *own;

    static u_char  buf[NGX_HTTP_MCP_CLUSTER_READ];

    c = rev->data;
    own = c->data;

    for (round = 0; round < NGX_HTTP_MCP_CLUSTER_ROUNDS; round++) {
        n = c->recv(c, buf, sizeof(buf));

        if (n == NGX_AGAIN) {
            if (ngx_handle_read_event(rev, 0) != NGX_OK) {
                ngx_http_mcp_cluster_closed(own, "cannot add the connection "
                                                 "to the event loop");
                return;
            }

            break;
        }

        if (n <= 0) {
            ngx_http_mcp_cluster_closed(own, n ? ngx_http_mcp_cluster_why(own)
                                               : "the server closed the "
                                                 "connection");
            return;
        }

        mcp_link_input(own->link, (char *) buf, (size_t) n);
    }

    if (round == NGX_HTTP_MCP_CLUSTER_ROUNDS) {
        ngx_post_event(rev, &ngx_posted_next_events);
    }

    ngx_http_mcp_worker_arm(own->zone);
}


static void
ngx_http_mcp_cluster_write(ngx_http_mcp_cluster_link_t *own)
{
    ssize_t            n;
    mcp_str_t          out;
    ngx_uint_t         round;
    ngx_connection_t  *c;

    c = own->peer.connection;

    for (round = 0; round < NGX_HTTP_MCP_CLUSTER_ROUNDS; round++) {
        out = mcp_link_output(own->link);

        if (out.len == 0) {
            return;
        }

        n = c->send(c, (u_char *) out.data, out.len);

        if (n == NGX_AGAIN) {
            if (ngx_handle_write_event(c->write, 0) != NGX_OK) {
                ngx_http_mcp_cluster_closed(own, "cannot add the connection "
                                                 "to the event loop");
            }

            return;
        }

        if (n == NGX_ERROR) {
            ngx_http_mcp_cluster_closed(own, ngx_http_mcp_cluster_why(own));
            return;
        }

        mcp_link_written(own->link, (size_t) n);
    }

    ngx_post_event(c->write, &ngx_posted_next_events);
}


static void
ngx_http_mcp_cluster_write_handler(ngx_event_t *wev)
{
    ngx_connection_t     *c;
    ngx_http_mcp_zone_t  *zone;

    c = wev->data;
    zone = ((ngx_http_mcp_cluster_link_t *) c->data)->zone;

    ngx_http_mcp_cluster_write(c->data);
    ngx_http_mcp_worker_arm(zone);
}


/* --- actions of the core --- */

void
ngx_http_mcp_cluster_act(ngx_http_mcp_zone_t *zone, mcp_action_t *action)
{
    ngx_http_mcp_cluster_link_t  *own;

    own = mcp_link_glue(action->link);

    switch (action->type) {

    case MCP_ACT_CONNECT:
        ngx_http_mcp_cluster_open(zone, action->link);
        break;

    case MCP_ACT_WRITE:
        if (own && own->opened) {
            ngx_http_mcp_cluster_write(own);
        }

        break;

    default: /* MCP_ACT_DISCONNECT */
        if (own) {
            ngx_http_mcp_cluster_free(own);
        }

        break;
    }
}


/*
 * Prepares the log for connections to Redis.  Unless debugging is on, nginx's
 * own messages about these connections are suppressed below level "alert",
 * because the core logs the errors itself, at a limited rate.
 */
static void
ngx_http_mcp_cluster_log(ngx_http_mcp_zone_t *zone)
{
    ngx_log_t  *log;

    log = &zone->cluster->log;

    *log = *zone->log;
    log->handler = NULL;

    if (!(log->log_level & NGX_LOG_DEBUG_ALL)) {
        log->log_level = ngx_min(log->log_level, NGX_LOG_ALERT);
    }
}


void
ngx_http_mcp_cluster_start(ngx_http_mcp_zone_t *zone,
    ngx_http_mcp_main_conf_t *mmcf)
{
    int                         rc;
    ngx_uint_t                  i;
    mcp_cluster_t              *cluster;
    ngx_http_mcp_loc_conf_t   **mlcf;

    ngx_queue_init(&zone->cluster->links);
    ngx_http_mcp_cluster_log(zone);

    cluster = mcp_cluster_create(zone->worker, zone->cluster->conf);
    zone->cluster->cluster = cluster;

    rc = cluster ? MCP_OK : MCP_ERR_MEMORY;
    mlcf = mmcf->endpoints.elts;

    for (i = 0; rc == MCP_OK && i < mmcf->endpoints.nelts; i++) {
        if (mlcf[i]->zone == zone) {
            rc = mcp_cluster_keys(cluster, mcp_setup_keys(mlcf[i]->setup));

            if (rc == MCP_OK) {
                rc = mcp_cluster_endpoint(cluster,
                                          mcp_setup_identity(mlcf[i]->setup));
            }
        }
    }

    if (rc == MCP_OK) {
        return;
    }

    ngx_log_error(NGX_LOG_EMERG, zone->log, 0,
                  "this process cannot take part in the cluster of zone "
                  "\"%V\"%s",
                  &zone->name,
                  rc == MCP_ERR_LIMIT ? ": its endpoints have too many "
                                        "different keys: set one \"mcp_key\" "
                                        "for all"
                                      : ": no memory, or OpenSSL failed");

    mcp_cluster_destroy(cluster);
    zone->cluster->cluster = NULL;
}


void
ngx_http_mcp_cluster_stop(ngx_http_mcp_zone_t *zone)
{
    ngx_queue_t             *q;
    ngx_http_mcp_cluster_t  *cluster;

    cluster = zone->cluster;

    while (!ngx_queue_empty(&cluster->links)) {
        q = ngx_queue_head(&cluster->links);

        ngx_http_mcp_cluster_free(ngx_queue_data(q,
                                                 ngx_http_mcp_cluster_link_t,
                                                 queue));
    }

    mcp_cluster_destroy(cluster->cluster);
}
