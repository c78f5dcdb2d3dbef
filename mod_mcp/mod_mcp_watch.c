/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The sockets that the pump watches, with epoll: whether their client leaves,
 * and for the pump also whether they can be written to or read.
 */

#include "mod_mcp_watch.h"

#include "mod_mcp_child.h"
#include "mod_mcp_client.h"
#include "mod_mcp_cluster.h"
#include "mod_mcp_pump.h"
#include "mod_mcp_worker.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "http_connection.h"

#define EVENTS         256

typedef struct {
    mod_mcp_client_t *client;           /* NULL: free */
    apr_uint32_t generation;
    apr_uint32_t next;                  /* free list */
} entry_t;

static int epoll_fd = -1;

/* under the lock; entry 0 is the bell's, and with a number in the place of the
 * generation a socket's that belongs to no client */
static entry_t *table;
static apr_uint32_t table_size, table_free;

/* --- the table --- */

int mod_mcp_watch_fd(mod_mcp_client_t *client)
{
    apr_socket_t *socket = ap_get_conn_socket(client->c);
    apr_os_sock_t fd;

    if (socket == NULL || apr_os_sock_get(&fd, socket) != APR_SUCCESS) {
        return -1;
    }

    return fd;
}

static int grow_table(void)
{
    apr_uint32_t i, n = table_size ? table_size * 2 : 64;
    entry_t *bigger;

    bigger = realloc(table, n * sizeof(entry_t));
    if (bigger == NULL) {
        return 0;
    }

    memset(bigger + table_size, 0, (n - table_size) * sizeof(entry_t));

    for (i = n - 1; i >= table_size && i > 0; i--) {
        bigger[i].next = table_free;
        table_free = i;
    }

    table = bigger;
    table_size = n;

    return 1;
}

static void control(mod_mcp_client_t *client, int op, apr_uint32_t events)
{
    struct epoll_event event;

    event.events = events | EPOLLRDHUP | EPOLLET;
    event.data.u64 = (apr_uint64_t)table[client->index].generation << 32
                     | client->index;

    /* EBADF: an MPM that ends at once has already closed the socket */

    if (epoll_ctl(epoll_fd, op, mod_mcp_watch_fd(client), &event) == -1
        && errno != EBADF) {
        ap_log_cerror(APLOG_MARK, APLOG_ERR, APR_FROM_OS_ERROR(errno),
                      client->c, "mod_mcp: epoll_ctl()");
    }
}

void mod_mcp_watch_add(mod_mcp_client_t *client)
{
    apr_uint32_t i;

    if (client->index || client->c->master) {
        return;
    }

    if (table_free == 0 && !grow_table()) {
        return;
    }

    i = table_free;
    table_free = table[i].next;
    table[i].client = client;
    table[i].generation++;
    client->index = i;

    control(client, EPOLL_CTL_ADD, 0);
}

void mod_mcp_watch_remove(mod_mcp_client_t *client)
{
    apr_uint32_t i = client->index;

    if (i == 0) {
        return;
    }

    control(client, EPOLL_CTL_DEL, 0);

    table[i].client = NULL;
    table[i].next = table_free;
    table_free = i;
    client->index = 0;
}

void mod_mcp_watch_for(mod_mcp_client_t *client, apr_uint32_t events)
{
    mod_mcp_lock();

    if (client->index) {
        control(client, EPOLL_CTL_MOD, events);
    }
    else {
        mod_mcp_watch_add(client);

        if (client->index && events) {
            control(client, EPOLL_CTL_MOD, events);
        }
    }

    mod_mcp_unlock();
}

int mod_mcp_watch_socket(int fd, apr_uint32_t id)
{
    struct epoll_event event;

    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.u64 = (apr_uint64_t)id << 32;

    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* --- leaving --- */

static int has_left(mod_mcp_client_t *client)
{
    struct pollfd fd;

    if (client->c->master) {
        return client->c->aborted;      /* mod_http2 says so */
    }

    /* unlike reading, this finds the end even behind a next request */

    fd.fd = mod_mcp_watch_fd(client);
    fd.events = POLLRDHUP;

    return poll(&fd, 1, 0) == 1;
}

/* 1 if no thread uses the client, nor will before it has the lock. */
static int is_at_rest(mod_mcp_client_t *client)
{
    switch (client->state) {
    case MOD_MCP_ATTENDED:
        return client->holding;

    case MOD_MCP_LENT:
        return 1;

    case MOD_MCP_SUSPENDED:
        return !client->busy;

    default:
        return 0;
    }
}

void mod_mcp_watch_look(mod_mcp_client_t *client)
{
    if (client == NULL || !is_at_rest(client) || !has_left(client)) {
        return;
    }

    mod_mcp_client_part(client);

    client->todo |= MOD_MCP_GONE;

    if (client->holding) {
        mod_mcp_signal(client->cond);
    }
    else if (client->state == MOD_MCP_SUSPENDED) {
        mod_mcp_pump_queue(client);
    }

    /* the core may want nothing more of the call */

    mod_mcp_drain();
}

/* --- events --- */

/* The client of an event, or NULL: its entry may have gone to another client
 * since the event was fetched. */
static mod_mcp_client_t *find_client(const struct epoll_event *event)
{
    apr_uint32_t i = (apr_uint32_t)event->data.u64;

    if (i == 0 || i >= table_size
        || table[i].generation != (apr_uint32_t)(event->data.u64 >> 32)) {
        return NULL;
    }

    return table[i].client;
}

/* Handles an event of a client whose thread runs a backend call. */
static void interrupt(mod_mcp_client_t *client)
{
    /* at once, or the core would take an answer that comes now for sent */

    if (client->todo & MOD_MCP_GONE) {
        mod_mcp_client_part(client);
        return;
    }

    mod_mcp_client_set_state(client, MOD_MCP_PUMPED);
    mod_mcp_pump_queue(client);
}

static void take_event(const struct epoll_event *event)
{
    mod_mcp_client_t *client = find_client(event);

    if (client == NULL) {
        return;
    }

    if (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
        client->todo |= MOD_MCP_GONE;
    }

    if (client->state != MOD_MCP_ATTENDED) {
        client->todo |= MOD_MCP_WRITE;
    }

    switch (client->state) {
    case MOD_MCP_ATTENDED:
        if (client->holding) {
            mod_mcp_signal(client->cond);
        }
        break;

    case MOD_MCP_LENT:
        interrupt(client);
        break;

    case MOD_MCP_SUSPENDING:
    case MOD_MCP_LOGGING:
        break;

    default:
        mod_mcp_pump_queue(client);
        break;
    }
}

int mod_mcp_watch_wait(int timeout)
{
    struct epoll_event events[EVENTS];
    int i, n, rang = 0;

    n = epoll_wait(epoll_fd, events, EVENTS, timeout);

    if (n == -1 && errno != EINTR) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, APR_FROM_OS_ERROR(errno),
                     mod_mcp_child.server, "mod_mcp: epoll_wait()");
        apr_sleep(apr_time_from_msec(100));
    }

    mod_mcp_lock();

    for (i = 0; i < n; i++) {
        if (events[i].data.u64 == 0) {
            rang = 1;
        }
#ifdef MCP_CLUSTER
        else if ((apr_uint32_t)events[i].data.u64 == 0) {
            mod_mcp_cluster_event((apr_uint32_t)(events[i].data.u64 >> 32));
        }
#endif
        else {
            take_event(&events[i]);
        }
    }

    mod_mcp_unlock();

    return rang;
}

/* --- start and end --- */

apr_status_t mod_mcp_watch_start(void)
{
    struct epoll_event event;

    epoll_fd = epoll_create1(EPOLL_CLOEXEC);

    if (epoll_fd == -1 || !grow_table()) {
        return APR_FROM_OS_ERROR(errno);
    }

    event.events = EPOLLIN;
    event.data.u64 = 0;

    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, mod_mcp_child.bell, &event) == -1) {
        return APR_FROM_OS_ERROR(errno);
    }

    return APR_SUCCESS;
}

void mod_mcp_watch_stop(void)
{
    close(epoll_fd);
    free(table);

    table = NULL;
    table_size = 0;
    table_free = 0;
}
