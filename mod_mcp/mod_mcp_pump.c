/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The pump: one thread of each process that waits for everything that no
 * request's thread waits for.  The worker's timers, the bell, and the clients
 * that no thread looks after: those that are suspended, and those whose
 * thread runs a backend call meanwhile.
 *
 * It never blocks on a client: a socket that is full is watched until it can
 * be written to, for as long as Timeout says.  Requests that are over are
 * logged by a thread of its own, since logs may wait (for a program that they
 * are piped to, for a name server).
 */

#include "mod_mcp.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ap_listen.h"
#include "http_connection.h"

#define EVENTS         256
#define PATROL         2000             /* ms */
#define LINGER         apr_time_from_sec(2)
#define DRAINS         64               /* reads meanwhile, at once */

/* How often the pump looks whether a thread of the MPM has done with what it
 * suspended: it nearly always has, long ago. */
#define SETTLE         apr_time_from_msec(10)

/* A client whose response is over waits so long for the thread that runs its
 * backend call, before the connection is given up. */
#define PATIENCE       apr_time_from_msec(500)

typedef struct {
    mod_mcp_client_t *client;           /* NULL: free */
    apr_uint32_t generation;
    apr_uint32_t next;                  /* free list */
} entry_t;

static apr_thread_t *thread, *logger_thread;
static int epoll_fd = -1;
static int ended;

/* all under the lock */
static mod_mcp_client_t *queue_head, **queue_tail = &queue_head;
static mcp_timers_t timers;
static mod_mcp_client_t *over_head, **over_tail = &over_head;  /* LOGGING */
static apr_thread_cond_t *over_cond;
static int logger_ended;
static entry_t *table;                  /* entry 0 is the bell's */
static apr_uint32_t table_size, table_free;
static apr_uint64_t until;              /* 0: awake; else when it will be */

static apr_uint64_t patrol_at;          /* of the pump alone */

/* --- queue and timers --- */

static void wake_up(void)
{
    uint64_t one = 1;

    if (until == 0) {
        return;
    }

    until = 0;

    if (write(mod_mcp_child.bell, &one, sizeof(one)) == -1
        && errno != EAGAIN) {
        ap_log_error(APLOG_MARK, APLOG_ERR, APR_FROM_OS_ERROR(errno),
                     mod_mcp_child.server, "mod_mcp: own eventfd");
    }
}

void mod_mcp_pump_before(apr_uint64_t when)
{
    if (when < until) {
        wake_up();
    }
}

void mod_mcp_pump_queue(mod_mcp_client_t *client)
{
    if (client->queued || client->own) {
        return;
    }

    client->queued = 1;
    client->next = NULL;
    *queue_tail = client;
    queue_tail = &client->next;

    wake_up();
}

void mod_mcp_pump_unqueue(mod_mcp_client_t *client)
{
    mod_mcp_client_t **link;

    if (!client->queued) {
        return;
    }

    for (link = &queue_head; *link != client; link = &(*link)->next) {
        /* it is there */
    }

    *link = client->next;

    if (client->next == NULL) {
        queue_tail = link;
    }

    client->queued = 0;
}

static void timer_handler(void *data)
{
    mod_mcp_client_t *client = data;

    client->todo |= MOD_MCP_EXPIRED;

    if (client->state == MOD_MCP_LENT) {
        client->state = MOD_MCP_PUMPED;
    }

    mod_mcp_pump_queue(client);
}

void mod_mcp_pump_timer(mod_mcp_client_t *client, apr_interval_time_t after)
{
    if (after < 0) {
        mcp_timer_del(&timers, &client->timer);
        return;
    }

    client->timer.handler = timer_handler;
    client->timer.data = client;

    mcp_timer_set(&timers, &client->timer,
                  mod_mcp_now_ms() + (apr_uint64_t)apr_time_as_msec(after) + 1);
    mod_mcp_pump_before(client->timer.when);
}

/* --- what is watched --- */

static int client_fd(mod_mcp_client_t *client)
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

    /* EBADF: an MPM that ends at once has closed the socket already */

    if (epoll_ctl(epoll_fd, op, client_fd(client), &event) == -1
        && errno != EBADF) {
        ap_log_cerror(APLOG_MARK, APLOG_ERR, APR_FROM_OS_ERROR(errno),
                      client->c, "mod_mcp: epoll_ctl()");
    }
}

void mod_mcp_pump_watch(mod_mcp_client_t *client)
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

void mod_mcp_pump_unwatch(mod_mcp_client_t *client)
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

/* events: of interest besides the client's leaving. */
static void watch_for(mod_mcp_client_t *client, apr_uint32_t events)
{
    mod_mcp_lock();

    if (client->index) {
        control(client, EPOLL_CTL_MOD, events);
    }
    else {
        mod_mcp_pump_watch(client);

        if (client->index && events) {
            control(client, EPOLL_CTL_MOD, events);
        }
    }

    mod_mcp_unlock();
}

/* --- leaving --- */

static int has_left(mod_mcp_client_t *client)
{
    struct pollfd fd;

    if (client->c->master) {
        return client->c->aborted;      /* mod_http2 says so */
    }

    /* unlike reading, this sees the end behind a next request */

    fd.fd = client_fd(client);
    fd.events = POLLRDHUP;

    return poll(&fd, 1, 0) == 1;
}

/* No thread is at it, and none will be before it has the lock. */
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

void mod_mcp_pump_look(mod_mcp_client_t *client)
{
    if (client == NULL || !is_at_rest(client) || !has_left(client)) {
        return;
    }

    mod_mcp_client_part(client);

    client->todo |= MOD_MCP_GONE;

    if (client->holding) {
        apr_thread_cond_signal(client->cond);
    }
    else if (client->state == MOD_MCP_SUSPENDED) {
        mod_mcp_pump_queue(client);
    }

    /* the core may want nothing more of the call */

    mod_mcp_drain();
}

/* An entry may have been given to another since the event was fetched. */
static void take_event(const struct epoll_event *event)
{
    apr_uint32_t i = (apr_uint32_t)event->data.u64;
    mod_mcp_client_t *client;

    if (i == 0 || i >= table_size
        || table[i].generation != (apr_uint32_t)(event->data.u64 >> 32)
        || table[i].client == NULL) {
        return;
    }

    client = table[i].client;

    if (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
        client->todo |= MOD_MCP_GONE;
    }

    if (client->state == MOD_MCP_ATTENDED) {
        if (client->holding) {
            apr_thread_cond_signal(client->cond);
        }

        return;
    }

    client->todo |= MOD_MCP_WRITE;

    if (client->state == MOD_MCP_SUSPENDING
        || client->state == MOD_MCP_LOGGING) {
        return;
    }

    if (client->state == MOD_MCP_LENT) {

        /* not a moment later: an answer that comes from now on would be sent,
         * for all that the core knows */

        if (client->todo & MOD_MCP_GONE) {
            mod_mcp_client_part(client);
            return;
        }

        client->state = MOD_MCP_PUMPED;
    }

    mod_mcp_pump_queue(client);
}

/* --- looking after a client --- */

static void set_timer(mod_mcp_client_t *client, apr_interval_time_t after)
{
    mod_mcp_lock();
    mod_mcp_pump_timer(client, after);
    mod_mcp_unlock();
}

/* 1: it has gone; 0: it is too early. */
static int destroy(mod_mcp_client_t *client)
{
    if (!mod_mcp_event_has_left(client->c, client->part, client->suspended)) {
        set_timer(client, SETTLE);
        return 0;
    }

    mod_mcp_lock();
    mod_mcp_pump_unwatch(client);
    mod_mcp_pump_unqueue(client);
    mod_mcp_pump_timer(client, -1);
    mod_mcp_unlock();

    /* closes the socket, and takes the client with it */

    apr_pool_destroy(client->c->pool);

    return 1;
}

/* 1: the other side has closed, too, or will not stop. */
static int drained(mod_mcp_client_t *client)
{
    char buf[16384];
    ssize_t n;
    int turn;

    for (turn = 0; turn < DRAINS; turn++) {
        n = recv(client_fd(client), buf, sizeof(buf), MSG_DONTWAIT);

        if (n == 0 || (n == -1 && errno != EINTR)) {
            return n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
        }
    }

    return 1;
}

/* Gives the client back to nobody: 1 if it has gone for good. */
static int close_step(mod_mcp_client_t *client, unsigned todo)
{
    conn_rec *c = client->c;

    if (!client->lingering && !c->aborted) {

        if (todo & MOD_MCP_EXPIRED) {
            c->aborted = 1;
        }
        else if (mod_mcp_stream_flush(client) == APR_EAGAIN) {
            set_timer(client, client->c->base_server->timeout);
            watch_for(client, EPOLLOUT);
            return 0;
        }
    }

    if (!client->lingering && !c->aborted) {
        client->lingering = 1;

        ap_prep_lingering_close(c);
        mod_mcp_stream_bye(client);
        shutdown(client_fd(client), SHUT_WR);

        set_timer(client, LINGER);
        watch_for(client, EPOLLIN);
        todo = 0;
    }

    if (c->aborted || (todo & MOD_MCP_EXPIRED) || drained(client)) {
        c->aborted = 1;
        return destroy(client);
    }

    return 0;
}

/* Waits for the socket, for as long as Timeout says. */
static void block(mod_mcp_client_t *client)
{
    if (!client->blocked) {
        client->blocked = 1;
        set_timer(client, client->r->server->timeout);
    }

    watch_for(client, EPOLLOUT);
}

static void unblock(mod_mcp_client_t *client)
{
    if (client->blocked) {
        client->blocked = 0;
        set_timer(client, -1);
    }
}

/* Logs and frees the request of the next client; 0: there is none left. */
static int log_next(void)
{
    mod_mcp_client_t *client;

    mod_mcp_lock();

    client = over_head;

    if (client) {
        over_head = client->next;

        if (over_head == NULL) {
            over_tail = &over_head;
        }
    }

    mod_mcp_unlock();

    if (client == NULL) {
        return 0;
    }

    client->c->current_thread = ap_thread_current();

    ap_process_request_after_handler(client->r);

    client->c->current_thread = thread;
    client->c->cs->state = CONN_STATE_SUSPENDED;

    mod_mcp_lock();

    client->state = MOD_MCP_CLOSING;
    client->todo = 0;
    mod_mcp_pump_queue(client);

    mod_mcp_unlock();

    return 1;
}

/* A thread of its own. */
static void *APR_THREAD_FUNC logger(apr_thread_t *self, void *data)
{
    int more = 1;

    while (more) {
        while (log_next()) {
            /* the next one */
        }

        mod_mcp_lock();

        if (over_head == NULL && !logger_ended) {
            mod_mcp_wait(over_cond, 0);
        }

        more = over_head || !logger_ended;

        mod_mcp_unlock();
    }

    return NULL;
}

/* The response of a suspended client is over.  Its request is logged and freed
 * when all is sent: behind data that is not, that would be waited for. */
static int end_request(mod_mcp_client_t *client)
{
    conn_rec *c = client->c;

    if (!c->aborted) {
        if (!client->r->eos_sent) {
            ap_finalize_request_protocol(client->r);
        }

        if (mod_mcp_stream_flush(client) == APR_EAGAIN) {
            block(client);
            return 0;
        }
    }

    unblock(client);

    /* it may have been queued since it was taken up, and both lists are linked
     * by one member; nobody queues a client in this state */

    mod_mcp_lock();
    mod_mcp_pump_unqueue(client);

    client->state = MOD_MCP_LOGGING;
    client->next = NULL;
    *over_tail = client;
    over_tail = &client->next;
    apr_thread_cond_signal(over_cond);

    mod_mcp_unlock();

    return 0;
}

/* The response is over while the client's thread runs a backend call.  It
 * should be back at once; if not, the client must not wait for the thread with
 * its next request. */
static void end_response(mod_mcp_client_t *client, unsigned todo)
{
    if (client->lingering) {
        return;
    }

    if (!client->r->eos_sent) {
        ap_finalize_request_protocol(client->r);
    }

    if (mod_mcp_stream_flush(client) == APR_EAGAIN) {
        watch_for(client, EPOLLOUT);
    }
    else if (!client->patient) {
        client->patient = 1;
        set_timer(client, PATIENCE);
    }
    else if (todo & MOD_MCP_EXPIRED) {
        client->lingering = 1;
        shutdown(client_fd(client), SHUT_WR);
    }
}

static int broken(mod_mcp_client_t *client)
{
    client->broken = 1;
    client->c->aborted = 1;

    if (client->state == MOD_MCP_SUSPENDED) {
        return end_request(client);
    }

    mod_mcp_lock();
    mod_mcp_client_part(client);
    mod_mcp_unlock();

    return 0;
}

static apr_status_t transfer(mod_mcp_client_t *client, unsigned todo)
{
    apr_status_t rv;

    if ((todo & MOD_MCP_RESPOND) && !client->streaming
        && !client->responding) {
        mod_mcp_respond(client);
    }

    if ((todo & MOD_MCP_STREAM) && !client->streaming) {
        mod_mcp_stream_head(client);
    }

    if (!client->streaming && !client->responding) {
        return APR_INCOMPLETE;
    }

    if (client->blocked || client->c->data_in_output_filters) {
        rv = mod_mcp_stream_flush(client);
        if (rv != APR_SUCCESS) {
            return rv;
        }

        unblock(client);
    }

    if (client->finished) {
        return APR_EOF;
    }

    return client->responding ? mod_mcp_respond_step(client, 0)
                              : mod_mcp_stream_step(client, 0);
}

/* 1: it is no more. */
static int serve(mod_mcp_client_t *client, unsigned todo)
{
    apr_status_t rv;

    if (client->state == MOD_MCP_CLOSING) {
        return close_step(client, todo);
    }

    if (client->broken || client->state == MOD_MCP_LOGGING) {
        return 0;
    }

    if ((todo & MOD_MCP_GONE) || (client->blocked && (todo & MOD_MCP_EXPIRED))) {
        return broken(client);
    }

    rv = transfer(client, todo);

    switch (rv) {
    case APR_SUCCESS:
        mod_mcp_lock();
        client->todo |= MOD_MCP_PULL;
        mod_mcp_pump_queue(client);
        mod_mcp_unlock();
        return 0;

    case APR_EAGAIN:
        block(client);
        return 0;

    case APR_INCOMPLETE:
        if (!client->index) {
            watch_for(client, 0);
        }

        return 0;

    case APR_EOF:
        if (client->state == MOD_MCP_SUSPENDED) {
            return end_request(client);
        }

        end_response(client, todo);
        return 0;

    default:
        return broken(client);
    }
}

void mod_mcp_pump_own(mod_mcp_client_t *client)
{
    unsigned todo;

    if (client->busy || client->blocked) {
        return;
    }

    mod_mcp_pump_unqueue(client);

    client->busy = 1;
    client->own = 1;

    mod_mcp_drain();

    if (client->state == MOD_MCP_PUMPED && client->todo) {
        todo = client->todo;
        client->todo = 0;

        mod_mcp_unlock();

        serve(client, todo);

        mod_mcp_lock();
    }

    client->busy = 0;
    client->own = 0;

    /* what came meanwhile, or is left over */

    if (client->state == MOD_MCP_PUMPED && client->todo) {
        mod_mcp_pump_queue(client);
    }
}

static void work(void)
{
    mod_mcp_client_t *client;
    unsigned todo, turn;
    int n;

    /* those that are queued again have their next turn after the events */

    for (turn = 0; turn < 4096; turn++) {
        mod_mcp_lock();

        client = queue_head;

        if (client == NULL) {
            mod_mcp_unlock();
            return;
        }

        mod_mcp_pump_unqueue(client);

        client->busy = 1;
        todo = client->todo;
        client->todo = 0;

        mod_mcp_unlock();

        n = serve(client, todo);

        if (n) {
            continue;
        }

        mod_mcp_lock();

        client->busy = 0;

        if (client->recall) {
            apr_thread_cond_signal(client->cond);
        }

        mod_mcp_unlock();
    }
}

/* --- the thread --- */

/* What is due; returns how long there is nothing to do, in ms. */
static int prepare(int rang)
{
    apr_uint64_t now, when;

    mod_mcp_lock();

    until = 0;
    now = mod_mcp_now_ms();

    if (rang) {
        mod_mcp_bell();
    }

    if (mcp_worker_deadline(&mod_mcp_child.worker, NULL) <= now) {
        mcp_worker_expire(&mod_mcp_child.worker);
    }

    if (patrol_at <= now) {
        patrol_at = now + PATROL;
        mod_mcp_patrol();
    }

    mcp_timers_run(&timers, now);

    mod_mcp_unlock();

    work();

    mod_mcp_lock();

    when = mcp_worker_deadline(&mod_mcp_child.worker, NULL);
    when = when < patrol_at ? when : patrol_at;
    now = mod_mcp_now_ms();

    if (mcp_timers_next(&timers) < when) {
        when = mcp_timers_next(&timers);
    }

    if (queue_head || when < now) {
        when = now;
    }

    until = when;

    mod_mcp_unlock();

    return (int)(when - now);
}

static void *APR_THREAD_FUNC pump(apr_thread_t *self, void *data)
{
    struct epoll_event events[EVENTS];
    int i, n, rang = 0;

    while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE)) {
        n = epoll_wait(epoll_fd, events, EVENTS, prepare(rang));

        if (n == -1 && errno != EINTR) {
            ap_log_error(APLOG_MARK, APLOG_CRIT, APR_FROM_OS_ERROR(errno),
                         mod_mcp_child.server, "mod_mcp: epoll_wait()");
            apr_sleep(apr_time_from_msec(100));
        }

        rang = 0;

        mod_mcp_lock();

        for (i = 0; i < n; i++) {
            if (events[i].data.u64 == 0) {
                rang = 1;
            }
            else {
                take_event(&events[i]);
            }
        }

        mod_mcp_unlock();
    }

    return NULL;
}

/* Only what is suspended is logged there. */
static apr_status_t logger_start(apr_pool_t *pchild)
{
    logger_thread = NULL;
    logger_ended = 0;

    if (!mod_mcp_child.async) {
        return APR_SUCCESS;
    }

    over_cond = mod_mcp_cond(pchild);

    return over_cond ? mod_mcp_thread_create(&logger_thread, NULL, logger,
                                             pchild)
                     : APR_ENOMEM;
}

static void logger_stop(void)
{
    apr_status_t rv;

    if (logger_thread == NULL) {
        return;
    }

    mod_mcp_lock();
    logger_ended = 1;
    apr_thread_cond_signal(over_cond);
    mod_mcp_unlock();

    apr_thread_join(&rv, logger_thread);
}

apr_status_t mod_mcp_pump_start(apr_pool_t *pchild)
{
    struct epoll_event event;
    apr_status_t rv;

    ended = 0;

    epoll_fd = epoll_create1(EPOLL_CLOEXEC);

    if (epoll_fd == -1 || !grow_table()) {
        return APR_FROM_OS_ERROR(errno);
    }

    event.events = EPOLLIN;
    event.data.u64 = 0;

    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, mod_mcp_child.bell, &event) == -1) {
        return APR_FROM_OS_ERROR(errno);
    }

    rv = logger_start(pchild);

    return rv == APR_SUCCESS
               ? mod_mcp_thread_create(&thread, NULL, pump, pchild) : rv;
}

apr_thread_t *mod_mcp_pump_thread(void)
{
    return thread;
}

void mod_mcp_pump_stop(void)
{
    apr_status_t rv;

    __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);

    mod_mcp_lock();
    until = 1;
    wake_up();
    mod_mcp_unlock();

    apr_thread_join(&rv, thread);

    logger_stop();

    close(epoll_fd);
    free(table);

    table = NULL;
    table_size = 0;
    table_free = 0;
}
