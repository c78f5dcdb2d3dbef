/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Ends a backend request of mod_proxy while its backend is silent.
 *
 * A proxy handler waits for its backend up to ProxyTimeout, and does not
 * expose its connection.  So this file chooses and opens the connection before
 * the handler runs, and the handler gets a connection pool that contains only
 * this connection.  To end the backend request (action ABORT), a duplicate of
 * the socket is shut down, because the handler may close its own at any time.
 * After a complete backend request the connection is kept for the next, and
 * the duplicate lives as long as the socket.
 *
 * mod_proxy may be missing, or be loaded after this module, so its functions
 * are looked up at run time.
 */

#include "mod_mcp_proxy.h"

#include "mod_mcp_env.h"
#include "mod_mcp_fetch.h"
#include "mod_mcp_worker.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mod_proxy.h"

#define SCHEME  "MCP"

/* The key under which the pool of a socket has its duplicate. */
#define DUPLICATE    "mod_mcp duplicate"

static __typeof__(&ap_proxy_acquire_connection) acquire;
static __typeof__(&ap_proxy_release_connection) release;
static __typeof__(&ap_proxy_determine_connection) determine;
static __typeof__(&ap_proxy_connect_backend) connect_backend;
static __typeof__(&ap_proxy_check_connection) check_connection;
static __typeof__(&proxy_run_scheme_handler) run_scheme_handler;

/* A duplicate of a connection's socket, in the socket's pool. */
struct mod_mcp_duplicate_t {
    int fd;
    mod_mcp_backend_request_t *req;     /* backend request whose handler uses
                                           the connection; NULL while the
                                           connection is idle */
};

/*
 * Returns 0 if the address of the proxy worker can expire: a copy of the
 * worker would free the address, which the worker itself still uses.
 */
static int is_copyable(const proxy_worker *worker)
{
#if AP_MODULE_MAGIC_AT_LEAST(20120211, 130)
    return worker->s->address_ttl <= 0;
#else
    return 1;
#endif
}

static int is_cut(mod_mcp_backend_request_t *req)
{
    return __atomic_load_n(&req->cut, __ATOMIC_SEQ_CST);
}

static int take_socket(mod_mcp_backend_request_t *req)
{
    return __atomic_exchange_n(&req->socket, -1, __ATOMIC_SEQ_CST);
}

/*
 * Takes the socket back, so that ABORT cannot find it.  If ABORT has taken it,
 * waits until ABORT has finished with the socket and the log.  Returns 0 after
 * ABORT, else 1.
 */
static int hide(mod_mcp_backend_request_t *req)
{
    if (take_socket(req) == -1 && is_cut(req) && mod_mcp_lock_ready()) {
        mod_mcp_unlock();
    }

    if (req->duplicate) {
        req->duplicate->req = NULL;
        req->duplicate = NULL;
    }

    return !is_cut(req);
}

/*
 * Clean-up of the socket's pool: closes the duplicate, because the handler's
 * thread has closed the socket, or the socket was closed while idle.
 */
static apr_status_t duplicate_cleanup(void *data)
{
    mod_mcp_duplicate_t *duplicate = data;

    if (duplicate->req) {
        hide(duplicate->req);
    }

    close(duplicate->fd);

    return APR_SUCCESS;
}

static mod_mcp_duplicate_t *duplicate_create(proxy_conn_rec *conn)
{
    mod_mcp_duplicate_t *duplicate;
    apr_os_sock_t fd;

    if (apr_os_sock_get(&fd, conn->sock) != APR_SUCCESS) {
        return NULL;
    }

    fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (fd == -1) {
        return NULL;
    }

    duplicate = apr_pcalloc(conn->scpool, sizeof(*duplicate));
    duplicate->fd = fd;

    apr_pool_cleanup_register(conn->scpool, duplicate, duplicate_cleanup,
                              apr_pool_cleanup_null);
    apr_pool_userdata_setn(duplicate, DUPLICATE, NULL, conn->scpool);

    return duplicate;
}

/*
 * Returns the duplicate of a connection's socket; creates it if needed.
 * Returns NULL if there is no socket or on failure. mod_proxy clears the
 * socket's pool, which contains the duplicate, when it closes the socket.
 */
static mod_mcp_duplicate_t *duplicate_of(proxy_conn_rec *conn)
{
    void *duplicate = NULL;

    if (conn == NULL || conn->sock == NULL) {
        return NULL;
    }

    apr_pool_userdata_get(&duplicate, DUPLICATE, conn->scpool);

    return duplicate ? duplicate : duplicate_create(conn);
}

/*
 * Makes the connection available to ABORT, without mod_mcp_lock(): either
 * ABORT finds the socket, or this function detects that ABORT was carried out.
 * Returns 0 after ABORT, else 1.
 */
static int expose(mod_mcp_backend_request_t *req, proxy_conn_rec *conn,
                  struct ap_logconf *log)
{
    mod_mcp_duplicate_t *duplicate = duplicate_of(conn);

    req->log = log;

    if (duplicate) {
        duplicate->req = req;
        req->duplicate = duplicate;
        __atomic_store_n(&req->socket, duplicate->fd, __ATOMIC_SEQ_CST);
    }

    return !is_cut(req);
}

/*
 * Silences the log of a backend's request before ABORT, because the handler
 * would log the end of its connection as an error of the backend.  The
 * handler's thread may read the log levels meanwhile; they are bytes and an
 * int.
 */
static void silence(struct ap_logconf *log)
{
    log->level = APLOG_EMERG;
    ap_reset_module_loglevels(log, -1);
}

/*
 * Shuts down the socket to the backend, if the caller is the first to take it:
 * either ABORT, or the thread that runs the backend request.
 */
static void shut(mod_mcp_backend_request_t *req)
{
    int fd = take_socket(req);

    if (fd != -1) {
        silence(req->log);
        shutdown(fd, SHUT_RDWR);
    }
}

void mod_mcp_proxy_abort(mod_mcp_backend_request_t *req)
{
    __atomic_store_n(&req->cut, 1, __ATOMIC_SEQ_CST);
    shut(req);
}

void mod_mcp_proxy_renew(mod_mcp_backend_request_t *req)
{
    proxy_conn_rec *conn = req->conn;

    /* expose() returns 0 if ABORT was carried out while no connection was
     * available */

    if (conn && conn->sock && req->duplicate == NULL
        && !expose(req, conn, req->log)) {
        shut(req);
    }
}

/*
 * Reports to mod_proxy that the client has disconnected.  After an error
 * instead, mod_proxy would mark the backend as broken, and in turn all members
 * of a balancer.
 */
static int ended(request_rec *r)
{
    r->connection->aborted = 1;

    return DONE;
}

/*
 * Returns 1 if the handler of the URL will use TLS on the connection.  The
 * handler replaces a connection that was not chosen for TLS.
 */
static int is_secure(const char *url)
{
    static const char *const schemes[] = { "https:", "wss:", "h2:" };
    apr_size_t i;

    for (i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (((url[0] ^ schemes[i][0]) & ~0x20) == 0
            && ap_cstr_casecmpn(url, schemes[i], strlen(schemes[i])) == 0) {
            return 1;
        }
    }

    return 0;
}

/*
 * Returns 1 if the connection leads to the Unix socket of the request, or to
 * no Unix socket if the request has none.  The connections of one proxy worker
 * may lead to several Unix sockets, because each request names its own.
 */
static int is_to_socket(request_rec *r, const proxy_worker *worker,
                        const proxy_conn_rec *conn)
{
    const char *path = worker->s->uds_path[0]
                           ? worker->s->uds_path
                           : apr_table_get(r->notes, "uds_path");

    return path ? conn->uds_path && strcmp(path, conn->uds_path) == 0
                : conn->uds_path == NULL;
}

/*
 * Returns 1 if a kept connection leads to the request's destination, so that
 * mod_proxy need not determine it: the worker has a single address, and TLS,
 * for which names matter, is not used.
 */
static int is_determined(request_rec *r, const proxy_worker *worker,
                         const proxy_conn_rec *conn)
{
    return conn->sock && !conn->close && !conn->is_ssl
           && worker->s->is_address_reusable && is_to_socket(r, worker, conn);
}

static int determined(request_rec *r, proxy_worker *worker,
                      proxy_server_conf *conf, const char *url,
                      proxy_conn_rec *conn)
{
    char *where = apr_pstrdup(r->pool, url);
    char port[32];
    apr_uri_t uri;

    return determine(r->pool, r, conf, worker, conn, &uri, &where, NULL, 0,
                     port, sizeof(port));
}

/* The state of a kept connection before a request is sent. */
typedef enum {
    KEPT_NOT = 0,                       /* not kept, or left to mod_proxy */
    KEPT_IDLE,
    KEPT_CLOSED,
    KEPT_STRAY                          /* has bytes that do not belong to
                                           the next reply */
} kept_e;

static int is_fastcgi(const char *url)
{
    return ap_cstr_casecmpn(url, "fcgi:", 5) == 0;
}

static kept_e look(const char *url, const proxy_conn_rec *conn)
{
    apr_os_sock_t fd;
    ssize_t n;
    char byte;

    if (conn->sock == NULL || conn->close || !is_fastcgi(url)
        || apr_os_sock_get(&fd, conn->sock) != APR_SUCCESS) {
        return KEPT_NOT;
    }

    n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    if (n > 0) {
        return KEPT_STRAY;
    }

    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? KEPT_IDLE
                                                              : KEPT_CLOSED;
}

/*
 * Gets a connection from the worker's connection pool.  Closes a connection
 * that has bytes after the last reply, because httpd considers it alive, and
 * the next request would read another request's data.
 */
static int choose(request_rec *r, proxy_worker *worker, const char *url,
                  proxy_conn_rec **conn, kept_e *kept)
{
    int rc;

    for (;;) {
        rc = acquire(SCHEME, conn, worker, r->server);
        if (rc != OK) {
            return rc;
        }

        *kept = look(url, *conn);
        if (*kept != KEPT_STRAY) {
            return OK;
        }

        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r, "mcp: a backend sent "
                      "data after the end of its reply: its connection is "
                      "closed");
        (*conn)->close = 1;
        release(SCHEME, *conn, r->server);
        *conn = NULL;
    }
}

/*
 * Connects to the backend, unless the connection is kept. "checks" is 1 if the
 * handler itself checks whether the backend has closed the connection.
 */
static int connect_if_needed(request_rec *r, proxy_worker *worker,
                     proxy_server_conf *conf, const char *url,
                     proxy_conn_rec *conn, kept_e kept, int checks)
{
    int rc;

    conn->is_ssl = is_secure(url);

    if (!is_determined(r, worker, conn)) {
        rc = determined(r, worker, conf, url, conn);
        if (rc != OK) {
            return rc;
        }
    }
    else if (checks || kept == KEPT_IDLE
             || check_connection(SCHEME, conn, r->server, 0,
                                 PROXY_CHECK_CONN_EMPTY) == APR_SUCCESS) {
        return OK;
    }

    return connect_backend(SCHEME, conn, worker, r->server) == OK
               ? OK : HTTP_SERVICE_UNAVAILABLE;
}

/* Connects to the backend, and gives the request separate log levels, which
 * silence() can change. */
static int prepare(request_rec *r, proxy_worker *worker,
                   proxy_server_conf *conf, const char *url,
                   proxy_conn_rec **conn, int checks)
{
    mod_mcp_backend_request_t *req = mod_mcp_fetch_backend_request(r);
    struct ap_logconf *log;
    kept_e kept;
    int rc;

    rc = choose(r, worker, url, conn, &kept);

    if (rc == OK) {
        rc = connect_if_needed(r, worker, conf, url, *conn, kept, checks);
    }

    log = ap_new_log_config(r->pool, r->log ? r->log : &r->server->log);
    r->log = log;

    if (!expose(req, *conn, log)) {
        rc = ended(r);
    }

    if (rc != OK) {
        hide(req);

        if (*conn) {
            (*conn)->close = 1;
            release(SCHEME, *conn, r->server);
        }
    }

    return rc;
}

/*
 * Runs the proxy handler of the URL's scheme on the connection, which the
 * handler may replace.
 */
static int delegate(mod_mcp_backend_request_t *req, request_rec *r,
    proxy_worker *worker, proxy_server_conf *conf, char *url,
    proxy_conn_rec **conn)
{
    proxy_conn_pool pool = *worker->cp;
    proxy_worker one = *worker;
    int rc;

    pool.res = NULL;
    pool.conn = *conn;
    one.cp = &pool;

    if (mod_mcp_env_is_revealed(url)) {
        mod_mcp_env_hide(req, r);
    }

    req->conn = *conn;
    rc = run_scheme_handler(r, &one, conf, url, NULL, 0);
    req->conn = NULL;

    mod_mcp_env_show(req);

    *conn = pool.conn;

    if (*conn) {
        (*conn)->worker = worker;
    }

    return rc;
}

static int scheme_handler(request_rec *r, proxy_worker *worker,
                          proxy_server_conf *conf, char *url,
                          const char *proxyname, apr_port_t proxyport)
{
    mod_mcp_backend_request_t *req = mod_mcp_fetch_backend_request(r);
    proxy_conn_rec *conn = NULL;
    int rc;

    if (req == NULL || req->proxied || proxyname || !is_copyable(worker)) {
        return DECLINED;
    }

    req->fcgi = is_fastcgi(url);

    rc = prepare(r, worker, conf, url, &conn, mod_mcp_env_is_revealed(url));
    if (rc != OK) {
        return rc;
    }

    req->proxied = 1;
    rc = delegate(req, r, worker, conf, url, &conn);
    req->proxied = 0;

    if (!hide(req)) {
        rc = ended(r);
    }

    /* return the connection to the pool */

    if (conn) {
        release(SCHEME, conn, r->server);
    }

    return rc;
}

/*
 * Returns mod_proxy if it has another minor version than the one this module
 * was built for, else NULL.  Its structures, which are copied here, grow with
 * minor versions.
 */
static const module *stranger(void)
{
    const module *proxy = ap_find_linked_module("mod_proxy.c");

    return proxy && proxy->minor_version != MODULE_MAGIC_NUMBER_MINOR ? proxy
                                                                      : NULL;
}

void mod_mcp_proxy_check(server_rec *s)
{
    const module *proxy = stranger();

    if (proxy) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "mod_mcp: built for another release of httpd (%d:%d) than "
                     "mod_proxy (%d:%d): calls that are cancelled while their "
                     "backend is silent will not be cut, but run on until it "
                     "writes: build mod_mcp for this release",
                     MODULE_MAGIC_NUMBER_MAJOR, MODULE_MAGIC_NUMBER_MINOR,
                     proxy->version, proxy->minor_version);
    }
}

/* Called in pre_config, when all modules have been loaded, but before hooks
 * are sorted. */
void mod_mcp_proxy_init(void)
{
    __typeof__(&proxy_hook_scheme_handler) hook;

    if (stranger()) {
        return;
    }

    acquire = dlsym(RTLD_DEFAULT, "ap_proxy_acquire_connection");
    release = dlsym(RTLD_DEFAULT, "ap_proxy_release_connection");
    determine = dlsym(RTLD_DEFAULT, "ap_proxy_determine_connection");
    check_connection = dlsym(RTLD_DEFAULT, "ap_proxy_check_connection");
    connect_backend = dlsym(RTLD_DEFAULT, "ap_proxy_connect_backend");
    run_scheme_handler = dlsym(RTLD_DEFAULT, "proxy_run_scheme_handler");
    hook = dlsym(RTLD_DEFAULT, "proxy_hook_scheme_handler");

    if (acquire && release && determine && check_connection && connect_backend
        && run_scheme_handler && hook) {
        hook(scheme_handler, NULL, NULL, APR_HOOK_REALLY_FIRST);
    }
}
