/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Connections to Redis: host names, sockets and TLS.  The core decides when to
 * connect, what to write, and how long each step may take (mcp_cluster.h).
 *
 * Any thread may carry out the core's actions, but only marks the connection.
 * The event loop then does the work: it reads and writes without
 * mod_mcp_lock(), and calls the core under mod_mcp_lock().  Because resolving a
 * host name blocks, each name is resolved by a thread of its own.
 */

#include "mod_mcp_cluster.h"

#include "mod_mcp_child.h"
#include "mod_mcp_cluster_conf.h"
#include "mod_mcp_event_loop.h"
#include "mod_mcp_poller.h"
#include "mod_mcp_worker.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "mcp_cluster.h"

#define BYTES  16384                    /* bytes of one read or write */
#define ROUNDS  16                      /* maximum number of reads or writes of
                                           one connection before the event loop
                                           serves others */
#define WHY    256                      /* bytes of an error text for the
                                           log */
#define NAMES  4                        /* maximum number of threads that
                                           resolve names */

/* The lookup of a host name.  A thread writes the result and a connection reads
 * the result; the one that releases the lookup last frees it. */
typedef struct {
    char *host;
    char port[8];
    int rc;                             /* return value of getaddrinfo() */
    struct addrinfo *found;
    int ready;                          /* 1 when complete; atomic, written
                                           after the other fields */
    int users;                          /* number of users: 2 while both thread
                                           and connection use the lookup, 1
                                           after one has released it */
} lookup_t;

typedef enum {
    STARTING = 0,
    NAMING,                             /* a thread resolves the host name */
    CONNECTING,
    SHAKING,                            /* TLS handshake */
    OPEN
} state_e;

typedef struct connection_t connection_t;

struct connection_t {
    connection_t *next;                 /* mod_mcp_lock() protects next, link
                                           and todo */
    mcp_link_t *link;                   /* the core's link for this connection;
                                           NULL after the action DISCONNECT */
    int todo;                           /* 1 if the event loop has work for
                                           this connection */

    /* members below: constant after creation */
    apr_uint32_t id;                    /* id by which the poller reports
                                           events of the socket */
    char *host;                         /* NULL: a Unix socket at "path" */
    char *path;
    unsigned port;
    int tls;

    /* members below: used by the event loop only */
    state_e state;
    int fd;
    lookup_t *lookup;
    SSL *ssl;
    char alert[64];                     /* text of Redis's TLS alert; empty
                                           if none */
};

static mcp_cluster_t *cluster;          /* mod_mcp_lock() protects cluster,
                                           connections and last_id */
static connection_t *connections;
static apr_uint32_t last_id;

static int lookups;                     /* number of threads that resolve
                                           names; atomic */

/* --- host names --- */

static void release_lookup(lookup_t *lookup)
{
    if (__atomic_sub_fetch(&lookup->users, 1, __ATOMIC_ACQ_REL) > 0) {
        return;
    }

    if (lookup->found) {
        freeaddrinfo(lookup->found);
    }

    free(lookup->host);
    free(lookup);
}

static void *APR_THREAD_FUNC look_up(void *data)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    lookup_t *lookup = data;
    uint64_t one = 1;

    lookup->rc = getaddrinfo(lookup->host, lookup->port, &hints,
                             &lookup->found);
    __atomic_store_n(&lookup->ready, 1, __ATOMIC_RELEASE);

    if (write(mod_mcp_child.wakeup_fd, &one, sizeof(one)) == -1) {
        /* the counter of the eventfd is full: a wake-up is pending */
    }

    release_lookup(lookup);
    __atomic_sub_fetch(&lookups, 1, __ATOMIC_RELEASE);

    return NULL;
}

/* Starts a thread that resolves the host name.  Returns 0 on failure. */
static int begin_lookup(connection_t *c)
{
    lookup_t *lookup = ap_calloc(1, sizeof(*lookup));
    sigset_t all, before;
    pthread_t thread;
    int rc;

    lookup->host = ap_malloc(strlen(c->host) + 1);
    strcpy(lookup->host, c->host);
    apr_snprintf(lookup->port, sizeof(lookup->port), "%u", c->port);
    lookup->users = 2;

    __atomic_add_fetch(&lookups, 1, __ATOMIC_ACQUIRE);

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&thread, NULL, look_up, lookup);
    pthread_sigmask(SIG_SETMASK, &before, NULL);

    if (rc) {
        __atomic_sub_fetch(&lookups, 1, __ATOMIC_RELEASE);
        lookup->users = 1;
        release_lookup(lookup);
        return 0;
    }

    pthread_detach(thread);
    c->lookup = lookup;

    return 1;
}

int mod_mcp_cluster_is_naming(void)
{
    return __atomic_load_n(&lookups, __ATOMIC_ACQUIRE) > 0;
}

/* --- the end of a connection --- */

static void free_connection(connection_t *c)
{
    if (c->ssl) {
        SSL_free(c->ssl);
    }

    if (c->fd != -1) {
        close(c->fd);
    }

    if (c->lookup) {
        release_lookup(c->lookup);
    }

    free(c->host);
    free(c->path);
    free(c);
}

/* Removes a connection from the list and frees it.  Called under
 * mod_mcp_lock(). */
static void remove_connection(connection_t *c)
{
    connection_t **link;

    for (link = &connections; *link != c; link = &(*link)->next) {
        /* the loop ends, because c is in the list */
    }

    *link = c->next;
    free_connection(c);
}

/*
 * Reports to the core that a connection to Redis could not be made or is lost,
 * and frees the connection. "why" is the reason, for the log.
 */
static void failed(connection_t *c, const char *why)
{
    mcp_link_t *link;

    mod_mcp_lock();

    link = c->link;

    if (link) {
        mcp_link_set_glue(link, NULL);
        mcp_link_closed(link, why);
    }

    remove_connection(c);

    mod_mcp_unlock();
}

static void failed_by(connection_t *c, int error)
{
    char text[WHY];

    if (c->alert[0]) {
        failed(c, c->alert);
        return;
    }

    failed(c, apr_strerror(APR_FROM_OS_ERROR(error), text, sizeof(text)));
}

/* --- reading and writing --- */

/*
 * Converts the result of SSL_read() or SSL_write() to that of recv() or
 * send(), and sets errno.
 */
static ssize_t ssl_result(connection_t *c, int n)
{
    if (n > 0) {
        return n;
    }

    switch (SSL_get_error(c->ssl, n)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        errno = EAGAIN;
        return -1;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    default:
        ERR_clear_error();
        errno = ECONNRESET;
        return -1;
    }
}

static ssize_t receive(connection_t *c, char *buf)
{
    ssize_t n;

    if (c->ssl) {
        ERR_clear_error();
        return ssl_result(c, SSL_read(c->ssl, buf, BYTES));
    }

    do {
        n = recv(c->fd, buf, BYTES, 0);
    } while (n == -1 && errno == EINTR);

    return n;
}

static ssize_t transmit(connection_t *c, const char *buf, size_t len)
{
    ssize_t n;

    if (c->ssl) {
        ERR_clear_error();
        n = ssl_result(c, SSL_write(c->ssl, buf, (int)len));
    }
    else {
        do {
            n = send(c->fd, buf, len, MSG_NOSIGNAL);
        } while (n == -1 && errno == EINTR);
    }

    if (n == 0) {
        errno = EPIPE;
        n = -1;
    }

    return n;
}

/* Passes received data to the core.  Returns 1, or 0 if the core has already
 * sent the action DISCONNECT. */
static int pass_to_core(connection_t *c, const char *data, size_t len)
{
    int alive;

    mod_mcp_lock();

    alive = c->link != NULL;

    if (alive) {
        mcp_link_input(c->link, data, len);
    }

    mod_mcp_unlock();

    return alive;
}

/*
 * Copies at most BYTES pending bytes of the link to buf.  A copy is needed,
 * because the core may free the bytes, after the action DISCONNECT, while they
 * are being written.  Returns the number of copied bytes.
 */
static size_t fetch(connection_t *c, char *buf)
{
    mcp_str_t out = mcp_null_str;

    mod_mcp_lock();

    if (c->link) {
        out = mcp_link_output(c->link);
        out.len = out.len < BYTES ? out.len : BYTES;

        if (out.len) {
            memcpy(buf, out.data, out.len);
        }
    }

    mod_mcp_unlock();

    return out.len;
}

static void written(connection_t *c, size_t len)
{
    mod_mcp_lock();

    if (c->link) {
        mcp_link_written(c->link, len);
    }

    mod_mcp_unlock();
}

/*
 * Marks a connection for another turn after ROUNDS reads or writes, because
 * more data may be pending.
 */
static void mark_again(connection_t *c)
{
    mod_mcp_lock();
    c->todo = 1;
    mod_mcp_unlock();
}

/* write_output() and read_input() read or write until the socket blocks, or
 * ROUNDS times.  They return 0 if the connection has been freed, else 1. */

static int write_output(connection_t *c)
{
    static char buf[BYTES];

    size_t len;
    ssize_t n;
    int round;

    for (round = 0; round < ROUNDS; round++) {
        len = fetch(c, buf);
        if (len == 0) {
            return 1;
        }

        n = transmit(c, buf, len);

        if (n == -1) {
            if (errno == EAGAIN || errno == EWOULDBLOCK) {
                return 1;
            }

            failed_by(c, errno);
            return 0;
        }

        written(c, (size_t)n);
    }

    mark_again(c);
    return 1;
}

static int read_input(connection_t *c)
{
    static char buf[BYTES];

    ssize_t n;
    int round;

    for (round = 0; round < ROUNDS; round++) {
        n = receive(c, buf);

        if (n == 0) {
            failed(c, "Redis closed the connection");
            return 0;
        }

        if (n == -1) {
            if (errno == EAGAIN || errno == EWOULDBLOCK) {
                return 1;
            }

            failed_by(c, errno);
            return 0;
        }

        if (!pass_to_core(c, buf, (size_t)n)) {
            break;
        }
    }

    mark_again(c);
    return 1;
}

/* --- opening a connection --- */

static void run_open(connection_t *c)
{
    if (read_input(c)) {
        write_output(c);
    }
}

static void opened(connection_t *c)
{
    c->state = OPEN;

    mod_mcp_lock();

    if (c->link) {
        mcp_link_opened(c->link);
    }

    mod_mcp_unlock();

    run_open(c);
}

static void shake(connection_t *c)
{
    const char *reason = NULL;
    unsigned long code;
    long verified;
    int rc;

    ERR_clear_error();

    rc = SSL_connect(c->ssl);
    if (rc == 1) {
        opened(c);
        return;
    }

    switch (SSL_get_error(c->ssl, rc)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return;
    default:
        break;
    }

    verified = SSL_get_verify_result(c->ssl);
    code = ERR_peek_error();

    if (verified != X509_V_OK) {
        reason = X509_verify_cert_error_string(verified);
    }
    else if (code) {
        reason = ERR_reason_error_string(code);
    }

    ERR_clear_error();
    if (c->alert[0]) {
        reason = c->alert;
    }

    failed(c, reason ? reason : "the TLS handshake failed");
}

/*
 * OpenSSL's callback for TLS messages: stores the text of an alert from Redis.
 */
static void note_alert(int sent, int version, int type, const void *data,
                       size_t len, SSL *ssl, void *arg)
{
    const unsigned char *alert = data;
    connection_t *c = arg;
    const char *why;

    if (!sent && type == SSL3_RT_ALERT && len == 2
        && alert[1] != SSL_AD_CLOSE_NOTIFY) {
        why = ERR_reason_error_string(ERR_PACK(
                  ERR_LIB_SSL, 0, SSL_AD_REASON_OFFSET + alert[1]));
        apr_snprintf(c->alert, sizeof(c->alert), "TLS alert from Redis: %s",
                     why ? why : "unknown");
    }
}

/*
 * Makes OpenSSL verify the certificate chain and the server's name during the
 * handshake, before data is sent.
 */
static int expect(SSL *ssl, const mcp_cluster_conf_t *conf, const char *host)
{
    char name[256];

    if (conf->tls_server_name.len) {
        apr_snprintf(name, sizeof(name), "%.*s",
                     (int)conf->tls_server_name.len,
                     conf->tls_server_name.data);
        host = name;
    }

    if (conf->tls_verify) {
        SSL_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    }

    /* no SNI for an IP address (RFC 6066, section 3) */

    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1) {
        return 1;
    }

    return SSL_set_tlsext_host_name(ssl, host) == 1
           && SSL_set1_host(ssl, host) == 1;
}

static void tcp_connected(connection_t *c)
{
    const mod_mcp_cluster_conf_t *conf;

    conf = mod_mcp_cluster_conf(mod_mcp_child.server);

    if (!c->tls) {
        opened(c);
        return;
    }

    if (conf->tls) {
        c->ssl = SSL_new(conf->tls);
    }

    if (c->ssl == NULL || !expect(c->ssl, conf->conf, c->host)
        || SSL_set_fd(c->ssl, c->fd) != 1) {
        failed(c, "OpenSSL cannot begin TLS with this Redis server");
        return;
    }

    SSL_set_msg_callback(c->ssl, note_alert);
    SSL_set_msg_callback_arg(c->ssl, c);

    c->state = SHAKING;
    shake(c);
}

/* Continues after an attempt to connect: if it has succeeded, begins the TLS
 * handshake or reports the connection to the core; if it has failed, reports
 * the failure.  Does nothing while the attempt is pending. */
static void run_connecting(connection_t *c)
{
    struct pollfd fd = { .fd = c->fd, .events = POLLOUT };
    socklen_t len = sizeof(int);
    int error = 0;

    if (poll(&fd, 1, 0) != 1) {
        return;
    }

    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1) {
        error = errno;
    }

    if (error) {
        failed_by(c, error);
    }
    else {
        tcp_connected(c);
    }
}

static void connect_to(connection_t *c, const struct sockaddr *address,
                       socklen_t len)
{
    int one = 1;

    c->fd = socket(address->sa_family,
                   SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (c->fd == -1 || !mod_mcp_poller_socket(c->fd, c->id)) {
        failed_by(c, errno);
        return;
    }

    if (address->sa_family != AF_UNIX) {
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    }

    c->state = CONNECTING;

    if (connect(c->fd, address, len) == 0) {
        tcp_connected(c);
    }
    else if (errno != EINPROGRESS) {
        failed_by(c, errno);
    }
}

/*
 * Connects to one of the addresses in the list "found", chosen at random.  If
 * this address is unreachable, the core tries to connect again later.
 */
static void connect_found(connection_t *c, const struct addrinfo *found)
{
    const struct addrinfo *each;
    unsigned n = 0, pick = 0;

    for (each = found; each; each = each->ai_next) {
        n++;
    }

    if (mcp_random(&pick, sizeof(pick)) != MCP_OK) {
        pick = 0;
    }

    for (pick = pick % n; pick > 0; pick--) {
        found = found->ai_next;
    }

    connect_to(c, found->ai_addr, found->ai_addrlen);
}

static void run_naming(connection_t *c)
{
    lookup_t *lookup = c->lookup;

    if (!__atomic_load_n(&lookup->ready, __ATOMIC_ACQUIRE)) {
        return;
    }

    if (lookup->rc) {
        failed(c, gai_strerror(lookup->rc));
        return;
    }

    connect_found(c, lookup->found);
}

static void start_naming(connection_t *c)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                              .ai_socktype = SOCK_STREAM };
    struct addrinfo *found;
    char port[8];

    apr_snprintf(port, sizeof(port), "%u", c->port);

    /* a numeric address needs no thread */

    if (getaddrinfo(c->host, port, &hints, &found) == 0) {
        connect_found(c, found);
        freeaddrinfo(found);
        return;
    }

    c->state = NAMING;

    /* a thread that resolves a name cannot be stopped, so "lookups" includes
     * threads whose connections the core has abandoned */

    if (__atomic_load_n(&lookups, __ATOMIC_ACQUIRE) >= NAMES) {
        failed(c, "too many earlier DNS lookups are still running: check the "
                  "DNS servers of the system");
    }
    else if (!begin_lookup(c)) {
        failed(c, "cannot start a thread for the DNS lookup");
    }
}

static void connect_to_server(connection_t *c)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    if (c->host) {
        start_naming(c);
        return;
    }

    apr_cpystrn(address.sun_path, c->path, sizeof(address.sun_path));
    connect_to(c, (struct sockaddr *)&address, sizeof(address));
}

/* --- work on a connection --- */

/* Does the next step of a marked connection, according to its state. */
static void run_step(connection_t *c)
{
    switch (c->state) {
    case STARTING:
        connect_to_server(c);
        break;
    case NAMING:
        run_naming(c);
        break;
    case CONNECTING:
        run_connecting(c);
        break;
    case SHAKING:
        shake(c);
        break;
    default: /* OPEN */
        run_open(c);
        break;
    }
}

/*
 * Unmarks a marked connection and returns it.  Returns NULL if none is marked.
 * Frees connections for which the core has sent DISCONNECT.
 */
static connection_t *next_todo(void)
{
    connection_t *c, *next, *found = NULL;

    mod_mcp_lock();

    for (c = connections; c && found == NULL; c = next) {
        next = c->next;

        if (c->link == NULL) {
            remove_connection(c);
        }
        else if (c->todo) {
            c->todo = 0;
            found = c;
        }
    }

    mod_mcp_unlock();

    return found;
}

void mod_mcp_cluster_work(void)
{
    connection_t *c;
    int round;

    for (round = 0; round < ROUNDS; round++) {
        c = next_todo();

        if (c == NULL) {
            break;
        }

        run_step(c);
    }
}

int mod_mcp_cluster_has_work(void)
{
    connection_t *c;

    for (c = connections; c; c = c->next) {
        if (c->todo || c->link == NULL
            || (c->state == NAMING
                && __atomic_load_n(&c->lookup->ready, __ATOMIC_ACQUIRE))) {
            c->todo = 1;
            return 1;
        }
    }

    return 0;
}

/* --- actions of the core --- */

void mod_mcp_cluster_event(apr_uint32_t id)
{
    connection_t *c;

    for (c = connections; c; c = c->next) {
        if (c->id == id) {
            c->todo = 1;
            return;
        }
    }
}

static char *copy(mcp_str_t text)
{
    char *p;

    if (text.len == 0) {
        return NULL;
    }

    p = ap_malloc(text.len + 1);
    memcpy(p, text.data, text.len);
    p[text.len] = '\0';

    return p;
}

static void open_connection(mcp_link_t *link)
{
    const mcp_cluster_seed_t *seed = mcp_link_target(link);
    connection_t *c = ap_calloc(1, sizeof(*c));

    c->link = link;
    c->todo = 1;
    c->id = ++last_id ? last_id : ++last_id;
    c->host = copy(seed->host);
    c->path = copy(seed->path);
    c->port = seed->port;
    c->tls = seed->tls;
    c->fd = -1;

    c->next = connections;
    connections = c;

    mcp_link_set_glue(link, c);
}

void mod_mcp_cluster_act(const mcp_action_t *action)
{
    connection_t *c = mcp_link_glue(action->link);

    switch (action->type) {
    case MCP_ACT_CONNECT:
        open_connection(action->link);
        break;

    case MCP_ACT_WRITE:
        if (c) {
            c->todo = 1;
        }
        break;

    default: /* MCP_ACT_DISCONNECT */
        if (c) {
            c->link = NULL;
            mcp_link_set_glue(action->link, NULL);
        }
        break;
    }

    mod_mcp_event_loop_before(0);
}

static int add_keys(void *ctx, const mcp_keys_t *keys)
{
    return mcp_cluster_keys(ctx, keys);
}

static int add_endpoint(void *ctx, mcp_str_t identity)
{
    return mcp_cluster_endpoint(ctx, identity);
}

void mod_mcp_cluster_start(server_rec *s)
{
    const mod_mcp_cluster_conf_t *conf = mod_mcp_cluster_conf(s);
    int rc = MCP_ERR_MEMORY;

    cluster = NULL;

    if (conf == NULL) {
        return;
    }

    cluster = mcp_cluster_create(mod_mcp_child.worker, conf->conf);

    if (cluster) {
        rc = mod_mcp_config_keys(add_keys, cluster);
    }

    if (rc == MCP_OK) {
        rc = mod_mcp_cluster_endpoints(conf, add_endpoint, cluster);
    }

    if (rc != MCP_OK) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s,
                     "mod_mcp: this process cannot take part in the cluster: "
                     "%s",
                     rc == MCP_ERR_LIMIT ? "the endpoints have too many "
                                           "different keys: set one MCPKey "
                                           "for all"
                                         : "no memory, or OpenSSL "
                                           "failed");
        mcp_cluster_destroy(cluster);
        cluster = NULL;
    }
}

void mod_mcp_cluster_stop(void)
{
    mod_mcp_lock();

    while (connections) {
        remove_connection(connections);
    }

    mcp_cluster_destroy(cluster);
    cluster = NULL;

    mod_mcp_unlock();
}
