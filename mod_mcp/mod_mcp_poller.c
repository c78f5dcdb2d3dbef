/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The sockets that the event loop polls with epoll.  All sockets are polled for
 * disconnection of their client.  The sockets that the event loop serves are
 * also polled for reading and writing.
 *
 * From its second request on, a persistent connection stays in epoll between
 * its calls, which saves two system calls for each call.  Between calls, its
 * entry only records that the client has disconnected.  The kernel removes a
 * socket from epoll when it is closed; the entry is freed with the
 * connection's pool.
 */

#include "mod_mcp_poller.h"

#include "mod_mcp_child.h"
#include "mod_mcp_client.h"
#include "mod_mcp_cluster.h"
#include "mod_mcp_event_loop.h"
#include "mod_mcp_worker.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "http_connection.h"

#define EVENTS         256

typedef struct {
    mod_mcp_client_t *client;           /* NULL if the entry is free */
    apr_uint32_t generation;            /* number of clients that have had
                                           this entry */
    apr_uint32_t next;                  /* index of the next free entry */
    unsigned resting:1;                 /* 1 between two calls of a connection:
                                           a disconnection is only recorded in
                                           "left", other events are ignored */
    unsigned left:1;                    /* 1 if the client disconnected while
                                           "resting" was 1 */
    unsigned more:1;                    /* 1 if polled for more than
                                           disconnection */
} entry_t;

static int epoll_fd = -1;

/*
 * The table of entries, under mod_mcp_lock().  The data of an epoll event are
 * the index and the generation of an entry.  The index 0 is used for sockets
 * that belong to no client: in place of the generation, the event has the id of
 * a connection to Redis, or 0 for the eventfd by which this process is woken.
 */
static entry_t *table;
static apr_uint32_t table_size, table_free;

/* --- the table --- */

int mod_mcp_poller_fd(mod_mcp_client_t *client)
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

/* Changes the epoll entry of a client.  Returns 1, or 0 on failure. */
static int control(mod_mcp_client_t *client, int op, apr_uint32_t events)
{
    entry_t *entry = &table[client->index];
    struct epoll_event event;

    entry->more = (events != 0);

    event.events = events | EPOLLRDHUP | EPOLLET;
    event.data.u64 = (apr_uint64_t)entry->generation << 32 | client->index;

    /* ignore EBADF: during an immediate stop the MPM has already closed the
     * socket */

    if (epoll_ctl(epoll_fd, op, mod_mcp_poller_fd(client), &event) == 0) {
        return 1;
    }

    if (errno != EBADF) {
        ap_log_cerror(APLOG_MARK, APLOG_ERR, APR_FROM_OS_ERROR(errno),
                      client->c, "mod_mcp: epoll_ctl() failed");
    }

    return 0;
}

static int take_entry(mod_mcp_client_t *client)
{
    entry_t *entry;

    if (epoll_fd == -1 || (table_free == 0 && !grow_table())) {
        return 0;
    }

    client->index = table_free;
    entry = &table[client->index];
    table_free = entry->next;

    entry->client = client;
    entry->generation++;
    entry->resting = 0;
    entry->left = 0;

    return 1;
}

/*
 * Returns the client's entry, or NULL if it has none or the process is ending.
 */
static entry_t *entry_of(const mod_mcp_client_t *client)
{
    return client->index && table ? &table[client->index] : NULL;
}

void mod_mcp_poller_add(mod_mcp_client_t *client)
{
    entry_t *entry = entry_of(client);

    if (client->c->master) {
        return;
    }

    if (entry == NULL) {
        if (take_entry(client) && !control(client, EPOLL_CTL_ADD, 0)) {
            mod_mcp_poller_forget(client);
        }

        return;
    }

    /* make epoll report the disconnection again, because take_event() has only
     * recorded it */

    if (entry->resting && entry->left) {
        control(client, EPOLL_CTL_MOD, 0);
    }

    entry->resting = 0;
}

void mod_mcp_poller_forget(mod_mcp_client_t *client)
{
    entry_t *entry = entry_of(client);

    if (entry) {
        entry->client = NULL;
        entry->next = table_free;
        table_free = client->index;
    }

    client->index = 0;
}

void mod_mcp_poller_remove(mod_mcp_client_t *client)
{
    if (entry_of(client)) {
        control(client, EPOLL_CTL_DEL, 0);
    }

    mod_mcp_poller_forget(client);
}

void mod_mcp_poller_rest(mod_mcp_client_t *client)
{
    entry_t *entry = entry_of(client);

    if (entry && !entry->more && client->c->keepalives > 0) {
        entry->resting = 1;
        return;
    }

    mod_mcp_poller_remove(client);
}

void mod_mcp_poller_for(mod_mcp_client_t *client, apr_uint32_t events)
{
    int known;

    mod_mcp_lock();

    known = (entry_of(client) != NULL);
    mod_mcp_poller_add(client);

    if (entry_of(client) && (known || events)) {
        control(client, EPOLL_CTL_MOD, events);
    }

    mod_mcp_unlock();
}

int mod_mcp_poller_socket(int fd, apr_uint32_t id)
{
    struct epoll_event event;

    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.u64 = (apr_uint64_t)id << 32;

    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* --- disconnection --- */

static int has_left(mod_mcp_client_t *client)
{
    struct pollfd fd;

    if (client->c->master) {
        return client->c->aborted;      /* set by mod_http2 when it aborts the
                                           stream */
    }

    /* unlike a read, POLLRDHUP shows the disconnection even if a further
     * request has arrived before it */

    fd.fd = mod_mcp_poller_fd(client);
    fd.events = POLLRDHUP;

    return poll(&fd, 1, 0) == 1;
}

/* Returns 1 if no thread uses the client's data outside of mod_mcp_lock(). */
static int is_at_rest(mod_mcp_client_t *client)
{
    switch (client->state) {
    case MOD_MCP_HOLDING:
    case MOD_MCP_LENT:
    case MOD_MCP_SUSPENDED:
        return 1;

    default:
        return 0;
    }
}

void mod_mcp_poller_check(mod_mcp_client_t *client)
{
    if (client == NULL || !is_at_rest(client) || !has_left(client)) {
        return;
    }

    mod_mcp_client_detach(client);

    client->todo |= MOD_MCP_GONE;

    if (client->state == MOD_MCP_HOLDING) {
        mod_mcp_signal(client->cond);
    }
    else if (client->state == MOD_MCP_SUSPENDED) {
        mod_mcp_event_loop_queue(client);
    }

    /* carries out an ABORT that freeing the exchange may have caused */

    mod_mcp_drain();
}

/* --- events --- */

/*
 * Returns the entry of an event, or NULL if the entry has been freed or given
 * to another client after the event was fetched.
 */
static entry_t *find_entry(const struct epoll_event *event)
{
    apr_uint32_t i = (apr_uint32_t)event->data.u64;

    if (i == 0 || i >= table_size || table[i].client == NULL
        || table[i].generation != (apr_uint32_t)(event->data.u64 >> 32)) {
        return NULL;
    }

    return &table[i];
}

/* Handles an event of a client in state LENT: its thread runs a backend
 * request. */
static void interrupt(mod_mcp_client_t *client)
{
    /* if the client has disconnected, free its exchange at once.  The event
     * loop may serve the client later, and a response that becomes available
     * meanwhile would count as sent */

    if (client->todo & MOD_MCP_GONE) {
        mod_mcp_client_detach(client);
        return;
    }

    mod_mcp_client_set_state(client, MOD_MCP_EVENT_LOOPED);
    mod_mcp_event_loop_queue(client);
}

static void take_event(const struct epoll_event *event)
{
    entry_t *entry = find_entry(event);
    mod_mcp_client_t *client;
    int left = (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;

    if (entry == NULL) {
        return;
    }

    /* between calls, the thread of the connection uses the client without
     * mod_mcp_lock(): record the event, so that this thread handles it later */

    if (entry->resting) {
        entry->left |= (unsigned)left;
        return;
    }

    client = entry->client;

    if (left) {
        client->todo |= MOD_MCP_GONE;
    }

    if (!mod_mcp_client_attended(client)) {
        client->todo |= MOD_MCP_WRITE;
    }

    switch (client->state) {
    case MOD_MCP_HOLDING:
        mod_mcp_signal(client->cond);
        break;

    case MOD_MCP_LENT:
        interrupt(client);
        break;

    case MOD_MCP_ATTENDED:
    case MOD_MCP_SUSPENDING:
    case MOD_MCP_LOGGING:
        break;

    default:
        mod_mcp_event_loop_queue(client);
        break;
    }
}

int mod_mcp_poller_wait(int timeout)
{
    struct epoll_event events[EVENTS];
    int i, n, woken = 0;

    n = epoll_wait(epoll_fd, events, EVENTS, timeout);

    if (n == -1 && errno != EINTR) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, APR_FROM_OS_ERROR(errno),
                     mod_mcp_child.server, "mod_mcp: epoll_wait() failed");
        apr_sleep(apr_time_from_msec(100));
    }

    mod_mcp_lock();

    for (i = 0; i < n; i++) {
        if (events[i].data.u64 == 0) {
            woken = 1;
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

    return woken;
}

/* --- start and end --- */

apr_status_t mod_mcp_poller_start(void)
{
    struct epoll_event event;

    epoll_fd = epoll_create1(EPOLL_CLOEXEC);

    if (epoll_fd == -1 || !grow_table()) {
        return APR_FROM_OS_ERROR(errno);
    }

    event.events = EPOLLIN;
    event.data.u64 = 0;

    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, mod_mcp_child.wakeup_fd, &event)
        == -1) {
        return APR_FROM_OS_ERROR(errno);
    }

    return APR_SUCCESS;
}

/* Closes the epoll descriptor and clears the variables of this file.
 * Connections that are destroyed later then find no entry. */
void mod_mcp_poller_stop(void)
{
    mod_mcp_lock();

    close(epoll_fd);
    free(table);

    epoll_fd = -1;
    table = NULL;
    table_size = 0;
    table_free = 0;

    mod_mcp_unlock();
}
