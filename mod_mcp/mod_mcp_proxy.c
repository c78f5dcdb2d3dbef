/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Ending a call of mod_proxy whose backend is silent.
 *
 * A proxy's handler waits for its backend for as long as ProxyTimeout says, and
 * shows nobody its connection.  So the connection is chosen and made here,
 * before the handler runs, and the handler gets a pool that has this connection
 * alone.  To end the call, a duplicate of the socket is shut down, for the
 * handler may close its own at any time.  The duplicate lasts as long as that:
 * connections are kept.
 *
 * mod_proxy may be absent, or loaded after this module: its functions are
 * looked up.
 */

#include "mod_mcp_proxy.h"

#include "mod_mcp_env.h"
#include "mod_mcp_fastcgi.h"
#include "mod_mcp_fetch.h"
#include "mod_mcp_worker.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mod_proxy.h"

#define SCHEME  "MCP"

/* The name of a duplicate in its pool. */
#define TWIN    "mod_mcp twin"

static __typeof__(&ap_proxy_acquire_connection) acquire;
static __typeof__(&ap_proxy_release_connection) release;
static __typeof__(&ap_proxy_determine_connection) determine;
static __typeof__(&ap_proxy_connect_backend) connect_backend;
static __typeof__(&ap_proxy_check_connection) check_connection;
static __typeof__(&ap_proxy_connection_reusable) is_reusable;
static __typeof__(&proxy_run_scheme_handler) run_scheme_handler;

/* A duplicate of a connection's socket, in the socket's pool. */
struct mod_mcp_twin_t {
    int fd;
    mod_mcp_run_t *run;                 /* whose handler has the connection, or
                                         * NULL: it is idle */
};

/* A copy of a worker whose address expires would free the address that the
 * worker itself still uses. */
static int is_copyable(const proxy_worker *worker)
{
#if AP_MODULE_MAGIC_AT_LEAST(20120211, 130)
    return worker->s->address_ttl <= 0;
#else
    return 1;
#endif
}

static int is_cut(mod_mcp_run_t *run)
{
    return __atomic_load_n(&run->cut, __ATOMIC_SEQ_CST);
}

static int take(mod_mcp_run_t *run)
{
    return __atomic_exchange_n(&run->socket, -1, __ATOMIC_SEQ_CST);
}

/* Takes the connection back, or waits for ABORT, which has it and still uses
 * its socket and the log.  1 unless the call is cut. */
static int hide(mod_mcp_run_t *run)
{
    if (take(run) == -1 && is_cut(run) && mod_mcp_lock_ready()) {
        mod_mcp_unlock();
    }

    if (run->twin) {
        run->twin->run = NULL;
        run->twin = NULL;
    }

    return !is_cut(run);
}

/* The socket is closed, by the handler's thread or while nobody has the
 * connection. */
static apr_status_t twin_cleanup(void *data)
{
    mod_mcp_twin_t *twin = data;

    if (twin->run) {
        hide(twin->run);
    }

    close(twin->fd);

    return APR_SUCCESS;
}

static mod_mcp_twin_t *twin_create(proxy_conn_rec *conn)
{
    mod_mcp_twin_t *twin;
    apr_os_sock_t fd;

    if (apr_os_sock_get(&fd, conn->sock) != APR_SUCCESS) {
        return NULL;
    }

    fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (fd == -1) {
        return NULL;
    }

    twin = apr_pcalloc(conn->scpool, sizeof(*twin));
    twin->fd = fd;

    apr_pool_cleanup_register(conn->scpool, twin, twin_cleanup,
                              apr_pool_cleanup_null);
    apr_pool_userdata_setn(twin, TWIN, NULL, conn->scpool);

    return twin;
}

/* That of a connection, or NULL.  mod_proxy clears the pool when it closes the
 * socket. */
static mod_mcp_twin_t *twin_of(proxy_conn_rec *conn)
{
    void *twin = NULL;

    if (conn == NULL || conn->sock == NULL) {
        return NULL;
    }

    apr_pool_userdata_get(&twin, TWIN, conn->scpool);

    return twin ? twin : twin_create(conn);
}

/* Lets ABORT find the connection, without the lock: either it finds that, or
 * this finds the call cut.  1 unless it is. */
static int expose(mod_mcp_run_t *run, proxy_conn_rec *conn,
                  struct ap_logconf *log)
{
    mod_mcp_twin_t *twin = twin_of(conn);

    run->log = log;

    if (twin) {
        twin->run = run;
        run->twin = twin;
        __atomic_store_n(&run->socket, twin->fd, __ATOMIC_SEQ_CST);
    }

    return !is_cut(run);
}

/* The handler would log the end of its connection as an error of the backend.
 * Its thread may read the levels meanwhile: they are bytes and an int. */
static void silence(struct ap_logconf *log)
{
    log->level = APLOG_EMERG;
    ap_reset_module_loglevels(log, -1);
}

/* Whoever takes the socket, ABORT or the thread that runs the call. */
static void shut(mod_mcp_run_t *run)
{
    int fd = take(run);

    if (fd != -1) {
        silence(run->log);
        shutdown(fd, SHUT_RDWR);
    }
}

void mod_mcp_proxy_abort(mod_mcp_run_t *run)
{
    __atomic_store_n(&run->cut, 1, __ATOMIC_SEQ_CST);
    shut(run);
}

void mod_mcp_proxy_renew(mod_mcp_run_t *run)
{
    proxy_conn_rec *conn = run->conn;

    /* ABORT may have come while there was none */

    if (conn && conn->sock && run->twin == NULL
        && !expose(run, conn, run->log)) {
        shut(run);
    }
}

/* Tells mod_proxy that the client has left.  After an error it would take the
 * backend for broken, and so all members of a balancer in turn. */
static int ended(request_rec *r)
{
    r->connection->aborted = 1;

    return DONE;
}

/* 1 if the handler will speak TLS on the connection: it replaces a connection
 * that was not chosen for that. */
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

/* 1 if the connection is one to the Unix socket that the request is for, or to
 * none if it is for none: a worker may have several, which requests name. */
static int is_to_socket(request_rec *r, const proxy_worker *worker,
                        const proxy_conn_rec *conn)
{
    const char *path = worker->s->uds_path[0]
                           ? worker->s->uds_path
                           : apr_table_get(r->notes, "uds_path");

    return path ? conn->uds_path && strcmp(path, conn->uds_path) == 0
                : conn->uds_path == NULL;
}

/* 1 if a kept connection leads to where the handler will want to go: the
 * worker has one address, and TLS, where names matter, is not spoken. */
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

/* What is there on a kept connection before a request is sent. */
typedef enum {
    KEPT_NOT = 0,                       /* or mod_proxy knows itself */
    KEPT_IDLE,
    KEPT_CLOSED,
    KEPT_STRAY                          /* bytes, which are no reply to what
                                         * comes next */
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

/* A connection of the pool.  One on which something came after the last reply
 * is closed: httpd takes it for one that is alive, and who reads next would
 * get what is another's. */
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

        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r, "mcp: a backend has "
                      "said more than its reply: its connection is closed");
        (*conn)->close = 1;
        release(SCHEME, *conn, r->server);
        *conn = NULL;
    }
}

/* asks: the handler will ask whether the backend has closed its connection. */
static int connected(request_rec *r, proxy_worker *worker,
                     proxy_server_conf *conf, const char *url,
                     proxy_conn_rec *conn, kept_e kept, int asks)
{
    int rc;

    conn->is_ssl = is_secure(url);

    if (!is_determined(r, worker, conn)) {
        rc = determined(r, worker, conf, url, conn);
        if (rc != OK) {
            return rc;
        }
    }
    else if (asks || kept == KEPT_IDLE
             || check_connection(SCHEME, conn, r->server, 0,
                                 PROXY_CHECK_CONN_EMPTY) == APR_SUCCESS) {
        return OK;
    }

    return connect_backend(SCHEME, conn, worker, r->server) == OK
               ? OK : HTTP_SERVICE_UNAVAILABLE;
}

/* Connects to the backend, and gives the request log levels of its own. */
static int prepare(request_rec *r, proxy_worker *worker,
                   proxy_server_conf *conf, const char *url,
                   proxy_conn_rec **conn, int asks)
{
    mod_mcp_run_t *run = mod_mcp_fetch_run(r);
    struct ap_logconf *log;
    kept_e kept;
    int rc;

    rc = choose(r, worker, url, conn, &kept);

    if (rc == OK) {
        rc = connected(r, worker, conf, url, *conn, kept, asks);
    }

    log = ap_new_log_config(r->pool, r->log ? r->log : &r->server->log);
    r->log = log;

    if (!expose(run, *conn, log)) {
        rc = ended(r);
    }

    if (rc != OK) {
        hide(run);

        if (*conn) {
            (*conn)->close = 1;
            release(SCHEME, *conn, r->server);
        }
    }

    return rc;
}

/* Runs the scheme's own handler on the connection, which it may replace. */
static int delegate(mod_mcp_run_t *run, request_rec *r, proxy_worker *worker,
                    proxy_server_conf *conf, char *url, proxy_conn_rec **conn)
{
    proxy_conn_pool pool = *worker->cp;
    proxy_worker one = *worker;
    int rc;

    pool.res = NULL;
    pool.conn = *conn;
    one.cp = &pool;

    if (mod_mcp_env_is_told(url)) {
        mod_mcp_env_hide(run, r, 1);
    }

    run->conn = *conn;
    rc = run_scheme_handler(r, &one, conf, url, NULL, 0);
    run->conn = NULL;

    mod_mcp_env_show(run);

    *conn = pool.conn;

    if (*conn) {
        (*conn)->worker = worker;
    }

    return rc;
}

/* As mod_proxy_fcgi does: only who asks for it has connections kept. */
static int fastcgi(mod_mcp_run_t *run, request_rec *r, proxy_conn_rec *conn)
{
    const proxy_worker_shared *s = conn->worker->s;

    conn->close = !s->disablereuse_set || s->disablereuse;

    return mod_mcp_fastcgi(run, r, conn, is_reusable(conn));
}

static int scheme_handler(request_rec *r, proxy_worker *worker,
                          proxy_server_conf *conf, char *url,
                          const char *proxyname, apr_port_t proxyport)
{
    mod_mcp_run_t *run = mod_mcp_fetch_run(r);
    proxy_conn_rec *conn = NULL;
    int rc, own;

    if (run == NULL || run->proxied || proxyname || !is_copyable(worker)) {
        return DECLINED;
    }

    run->fcgi = is_fastcgi(url);
    own = mod_mcp_fastcgi_can(run, r, url);

    rc = prepare(r, worker, conf, url, &conn,
                 !own && mod_mcp_env_is_told(url));
    if (rc != OK) {
        return rc;
    }

    run->proxied = 1;

    rc = own ? fastcgi(run, r, conn) : DECLINED;

    if (rc == DECLINED) {
        rc = delegate(run, r, worker, conf, url, &conn);
    }

    run->proxied = 0;

    if (!hide(run)) {
        rc = ended(r);
    }

    /* back into the pool */

    if (conn) {
        release(SCHEME, conn, r->server);
    }

    return rc;
}

/* mod_proxy, if it is not of the release that this module was built for: its
 * structures, which are copied here, grow with minor versions. */
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

int mod_mcp_proxy_leads_to(const char *module)
{
    __typeof__(&proxy_hook_get_scheme_handler) get;
    const proxy_LINK_scheme_handler_t *link;
    const apr_array_header_t *hooks;
    int i;

    get = dlsym(RTLD_DEFAULT, "proxy_hook_get_scheme_handler");
    hooks = get ? get() : NULL;

    for (i = 0; hooks && i < hooks->nelts; i++) {
        link = &APR_ARRAY_IDX(hooks, i, proxy_LINK_scheme_handler_t);

        if (strcmp(link->szName, module) == 0) {
            return 1;
        }

        if (link->pFunc != scheme_handler
            && strncmp(link->szName, "mod_proxy_", 10) != 0) {
            return 0;
        }
    }

    return 0;
}

/* All modules are loaded now, and hooks are not sorted yet. */
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
    is_reusable = dlsym(RTLD_DEFAULT, "ap_proxy_connection_reusable");
    run_scheme_handler = dlsym(RTLD_DEFAULT, "proxy_run_scheme_handler");
    hook = dlsym(RTLD_DEFAULT, "proxy_hook_scheme_handler");

    if (acquire && release && determine && check_connection && connect_backend
        && is_reusable && run_scheme_handler && hook) {
        hook(scheme_handler, NULL, NULL, APR_HOOK_REALLY_FIRST);
    }
}
