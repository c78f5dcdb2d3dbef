/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The event loop: one thread of each process that serves the clients without a
 * thread, that is, suspended ones and those whose thread runs a backend
 * request.  It also runs the worker's timers and reacts to wake-ups.
 *
 * It never blocks on a client: if a socket is full, it polls until the socket
 * is writable, for at most Timeout.
 */

#include "mod_mcp_event_loop.h"

#include "mod_mcp_child.h"
#include "mod_mcp_client.h"
#include "mod_mcp_cluster.h"
#include "mod_mcp_connection.h"
#include "mod_mcp_event.h"
#include "mod_mcp_response.h"
#include "mod_mcp_stream.h"
#include "mod_mcp_poller.h"
#include "mod_mcp_worker.h"
#include "mod_mcp_zone.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http_connection.h"

#define PATROL   2000                   /* interval of checks for dead
                                           processes, ms */
#define LINGER   apr_time_from_sec(2)
#define DRAINS   64                     /* maximum number of reads from a
                                           lingering connection in one turn */
#define CLIENTS  4096                   /* maximum number of clients served
                                           before the event loop fetches new
                                           events */

/*
 * time after which the event loop checks again whether it may destroy a
 * suspended connection.  It must not do so while the MPM's thread that has
 * suspended the connection still uses it.  Nearly always the thread has
 * finished at the first check
 */
#define SETTLE   apr_time_from_msec(10)

/*
 * time for which a backend request on the client's thread may continue after
 * the response is complete.  Then the event loop shuts the client's connection
 * down
 */
#define PATIENCE  apr_time_from_msec(500)

static apr_thread_t *thread;
static int ended;
static apr_uint64_t patrol_at;          /* time of the next check for dead
                                           processes, ms; used by the event
                                           loop only */

/* mod_mcp_lock() protects all variables below */
static mod_mcp_client_t *queue_head, **queue_tail = &queue_head;
static mcp_timers_t timers;
static apr_uint64_t until;              /* time at which the event loop will
                                           wake, ms; 0 while it is awake */

/* --- queue and timers --- */

static void wake_up(void)
{
    uint64_t one = 1;

    if (until == 0) {
        return;
    }

    until = 0;

    if (write(mod_mcp_child.wakeup_fd, &one, sizeof(one)) == -1
        && errno != EAGAIN) {
        ap_log_error(APLOG_MARK, APLOG_ERR, APR_FROM_OS_ERROR(errno),
                     mod_mcp_child.server,
                     "mod_mcp: write() to the eventfd that wakes the event "
                     "loop failed");
    }
}

void mod_mcp_event_loop_before(apr_uint64_t when)
{
    if (when < until) {
        wake_up();
    }
}

void mod_mcp_event_loop_queue(mod_mcp_client_t *client)
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

void mod_mcp_event_loop_unqueue(mod_mcp_client_t *client)
{
    mod_mcp_client_t **link;

    if (!client->queued) {
        return;
    }

    for (link = &queue_head; *link != client; link = &(*link)->next) {
        /* the loop ends, because the client is in the queue */
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
        mod_mcp_client_set_state(client, MOD_MCP_EVENT_LOOPED);
    }

    mod_mcp_event_loop_queue(client);
}

void mod_mcp_event_loop_timer(mod_mcp_client_t *client,
    apr_interval_time_t after)
{
    if (after < 0) {
        mcp_timer_del(&timers, &client->timer);
        return;
    }

    client->timer.handler = timer_handler;
    client->timer.data = client;

    mcp_timer_set(&timers, &client->timer,
                  mod_mcp_now_ms() + (apr_uint64_t)apr_time_as_msec(after) + 1);
    mod_mcp_event_loop_before(client->timer.when);
}

static void set_timer(mod_mcp_client_t *client, apr_interval_time_t after)
{
    mod_mcp_lock();
    mod_mcp_event_loop_timer(client, after);
    mod_mcp_unlock();
}

/* --- the end of a connection --- */

/*
 * Destroys the connection of a client.  Returns 1; or sets a timer to try
 * again and returns 0, because the MPM's thread may still use the connection.
 */
static int destroy(mod_mcp_client_t *client)
{
    if (!mod_mcp_event_has_left(client->c, client->mpm, client->suspended)) {
        set_timer(client, SETTLE);
        return 0;
    }

    mod_mcp_lock();
    mod_mcp_poller_remove(client);
    mod_mcp_event_loop_unqueue(client);
    mod_mcp_event_loop_timer(client, -1);
    mod_mcp_unlock();

    /* closes the socket and frees the client */

    apr_pool_destroy(client->c->pool);

    return 1;
}

/*
 * Reads and discards input of a lingering connection.  Returns 1 if the client
 * has closed the connection, or if more than DRAINS reads are needed.
 */
static int drained(mod_mcp_client_t *client)
{
    char buf[16384];
    ssize_t n;
    int round;

    for (round = 0; round < DRAINS; round++) {
        n = recv(mod_mcp_poller_fd(client), buf, sizeof(buf), MSG_DONTWAIT);

        if (n == 0 || (n == -1 && errno != EINTR)) {
            return n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
        }
    }

    return 1;
}

/*
 * Sends pending output of a connection that will be closed.  Returns 1 if all
 * has been sent, or if sending is impossible.
 */
static int is_sent(mod_mcp_client_t *client, unsigned todo)
{
    if (todo & MOD_MCP_EXPIRED) {
        client->c->aborted = 1;
    }

    if (client->c->aborted || mod_mcp_stream_flush(client) != APR_EAGAIN) {
        return 1;
    }

    set_timer(client, client->c->base_server->timeout);
    mod_mcp_poller_for(client, EPOLLOUT);

    return 0;
}

static void begin_lingering(mod_mcp_client_t *client)
{
    mod_mcp_client_set_output(client, MOD_MCP_SHUT);

    ap_prep_lingering_close(client->c);

    /* mod_ssl waits for room in the socket and, with "ssl-accurate-shutdown",
     * for the client's close_notify.  With a timeout of 0 it gives up at once.
     * All data has been sent, so the connection is not aborted. */

    apr_socket_timeout_set(ap_get_conn_socket(client->c), 0);
    mod_mcp_stream_bye(client);
    client->c->aborted = 0;

    shutdown(mod_mcp_poller_fd(client), SHUT_WR);

    set_timer(client, LINGER);
    mod_mcp_poller_for(client, EPOLLIN);
}

/*
 * Does the next step of closing a connection.  Returns 1 if the connection has
 * been destroyed.
 */
static int close_step(mod_mcp_client_t *client, unsigned todo)
{
    conn_rec *c = client->c;

    if (client->output != MOD_MCP_SHUT) {
        if (!is_sent(client, todo)) {
            return 0;
        }

        if (!c->aborted) {
            begin_lingering(client);
            todo = 0;
        }
    }

    if (c->aborted || (todo & MOD_MCP_EXPIRED) || drained(client)) {
        c->aborted = 1;
        return destroy(client);
    }

    return 0;
}

/* --- the end of a response --- */

/* Makes the client wait until its socket is writable, for at most Timeout. */
static void block(mod_mcp_client_t *client)
{
    if (!client->blocked) {
        client->blocked = 1;
        set_timer(client, client->r->server->timeout);
    }

    mod_mcp_poller_for(client, EPOLLOUT);
}

static void unblock(mod_mcp_client_t *client)
{
    if (client->blocked) {
        client->blocked = 0;
        set_timer(client, -1);
    }
}

/*
 * Ends the request of a suspended client whose response is complete.  When all
 * data has been sent, passes the client to the logger, which logs and frees
 * the request.  Flushes first, because httpd's core output filter would
 * otherwise wait for the socket.  httpd would also wait for the rest of the
 * request's body if the connection were kept.
 */
static void end_request(mod_mcp_client_t *client)
{
    if (!client->c->aborted) {
        if (!client->r->eos_sent) {
            client->c->keepalive = AP_CONN_CLOSE;
            ap_finalize_request_protocol(client->r);
        }

        if (mod_mcp_stream_flush(client) == APR_EAGAIN) {
            block(client);
            return;
        }
    }

    unblock(client);

    /* unqueue the client, which may have been queued again since its turn
     * began: a client must be in one queue only, because the queues of the
     * event loop and of the logger both use client->next.  In state LOGGING, a
     * client is not queued again. */

    mod_mcp_lock();
    mod_mcp_event_loop_unqueue(client);
    mod_mcp_logger_queue(client);
    mod_mcp_unlock();
}

/*
 * Handles a complete response while the client's thread still runs a backend
 * request.  The backend request should end immediately.  If it does not end
 * within PATIENCE, shuts the socket down for writing, because the client's next
 * request must not wait for the backend request.
 */
static void end_response(mod_mcp_client_t *client, unsigned todo)
{
    if (client->output == MOD_MCP_SHUT) {
        return;
    }

    if (!client->r->eos_sent) {
        ap_finalize_request_protocol(client->r);
    }

    if (mod_mcp_stream_flush(client) == APR_EAGAIN) {
        mod_mcp_poller_for(client, EPOLLOUT);
    }
    else if (!client->patient) {
        mod_mcp_lock();
        mod_mcp_client_sent(client);
        mod_mcp_unlock();

        client->patient = 1;
        set_timer(client, PATIENCE);
    }
    else if (todo & MOD_MCP_EXPIRED) {
        mod_mcp_client_set_output(client, MOD_MCP_SHUT);
        shutdown(mod_mcp_poller_fd(client), SHUT_WR);
    }
}

static void broken(mod_mcp_client_t *client)
{
    mod_mcp_client_set_output(client, MOD_MCP_BROKEN);
    client->c->aborted = 1;

    /* the exchange must not wait for the logger, which may be slow */

    mod_mcp_lock();
    mod_mcp_client_detach(client);
    mod_mcp_unlock();

    if (client->suspended) {
        end_request(client);
    }
}

/* --- a client's turn --- */

static apr_status_t transfer(mod_mcp_client_t *client, unsigned todo)
{
    apr_status_t rv;

    if ((todo & MOD_MCP_RESPOND) && client->output == MOD_MCP_UNANSWERED) {

        /* announce the end of the connection: the client's thread may still run
         * a backend request when the client sends its next request, and
         * end_response() then shuts the connection down */

        if (!client->suspended) {
            mod_mcp_connection_announce_close(client);
        }

        mod_mcp_lock();
        mod_mcp_response_begin(client);
        mod_mcp_unlock();
    }

    if ((todo & MOD_MCP_STREAM) && client->output == MOD_MCP_UNANSWERED) {
        mod_mcp_stream_head(client);
    }

    if (client->output == MOD_MCP_UNANSWERED) {
        return APR_INCOMPLETE;
    }

    if (client->blocked || client->c->data_in_output_filters) {
        rv = mod_mcp_stream_flush(client);
        if (rv != APR_SUCCESS) {
            return rv;
        }

        unblock(client);
    }

    if (client->output == MOD_MCP_SHUT || mod_mcp_client_finished(client)) {
        return APR_EOF;
    }

    return client->output == MOD_MCP_RESPONDING
               ? mod_mcp_response_step(client, 0)
               : mod_mcp_stream_step(client, 0);
}

static void queue_again(mod_mcp_client_t *client)
{
    mod_mcp_lock();
    client->todo |= MOD_MCP_PULL;
    mod_mcp_event_loop_queue(client);
    mod_mcp_unlock();
}

static void send_more(mod_mcp_client_t *client, unsigned todo)
{
    switch (transfer(client, todo)) {
    case APR_SUCCESS:
        queue_again(client);
        break;

    case APR_EAGAIN:
        block(client);
        break;

    case APR_INCOMPLETE:
        if (!client->index) {
            mod_mcp_poller_for(client, 0);
        }
        break;

    case APR_EOF:
        if (client->suspended) {
            end_request(client);
        }
        else {
            end_response(client, todo);
        }
        break;

    default:
        broken(client);
        break;
    }
}

/* Serves a client: does the work "todo".  Returns 1 if the client has been
 * freed. */
static int serve(mod_mcp_client_t *client, unsigned todo)
{
    if (client->state == MOD_MCP_CLOSING) {
        return close_step(client, todo);
    }

    if (client->output == MOD_MCP_BROKEN || client->state == MOD_MCP_LOGGING) {
        return 0;
    }

    if ((todo & MOD_MCP_GONE)
        || (client->blocked && (todo & MOD_MCP_EXPIRED))) {
        broken(client);
    }
    else {
        send_more(client, todo);
    }

    return 0;
}

void mod_mcp_event_loop_own(mod_mcp_client_t *client)
{
    unsigned todo;

    if (client->state == MOD_MCP_SERVED || client->blocked) {
        return;
    }

    mod_mcp_event_loop_unqueue(client);

    client->own = 1;

    mod_mcp_drain();

    if (client->state == MOD_MCP_EVENT_LOOPED && client->todo) {
        todo = client->todo;
        client->todo = 0;
        mod_mcp_client_set_state(client, MOD_MCP_SERVED);

        mod_mcp_unlock();

        serve(client, todo);

        mod_mcp_lock();
        mod_mcp_client_set_state(client, MOD_MCP_EVENT_LOOPED);
    }

    client->own = 0;

    /* leave to the event loop the work that was added while this thread served
     * the client */

    if (client->state == MOD_MCP_EVENT_LOOPED && client->todo) {
        mod_mcp_event_loop_queue(client);
    }
}

/*
 * Takes the next client from the queue for one turn, and moves its pending work
 * to *todo.  Returns NULL if the queue is empty.
 */
static mod_mcp_client_t *begin_turn(unsigned *todo)
{
    mod_mcp_client_t *client;

    mod_mcp_lock();

    client = queue_head;

    if (client) {
        mod_mcp_event_loop_unqueue(client);

        if (client->state != MOD_MCP_CLOSING) {
            mod_mcp_client_set_state(client, MOD_MCP_SERVED);
        }

        *todo = client->todo;
        client->todo = 0;
    }

    mod_mcp_unlock();

    return client;
}

static void end_turn(mod_mcp_client_t *client)
{
    mod_mcp_lock();

    if (client->state == MOD_MCP_SERVED) {
        mod_mcp_client_set_state(client, client->suspended
                                             ? MOD_MCP_SUSPENDED
                                             : MOD_MCP_EVENT_LOOPED);
    }

    if (client->recall) {
        mod_mcp_signal(client->cond);
    }

    mod_mcp_unlock();
}

/*
 * Serves queued clients.  Stops after CLIENTS turns, so that new events are
 * fetched before the rest of the queue is served.
 */
static void work(void)
{
    mod_mcp_client_t *client;
    unsigned todo, round;

    for (round = 0; round < CLIENTS; round++) {
        client = begin_turn(&todo);

        if (client == NULL) {
            break;
        }

        if (!serve(client, todo)) {
            end_turn(client);
        }
    }
}

/* --- the thread --- */

/* Handles a wake-up (if "woken" is set), deadlines of the worker, the check for
 * dead processes, and timers of clients. */
static void expire(int woken)
{
    apr_uint64_t now;

    mod_mcp_lock();

    until = 0;
    now = mod_mcp_now_ms();

    if (woken) {
        mod_mcp_child_woken();
    }

    if (mcp_worker_deadline(mod_mcp_child.worker, NULL) <= now) {
        mcp_worker_expire(mod_mcp_child.worker);
    }

    if (patrol_at <= now) {
        patrol_at = now + PATROL;
        mod_mcp_zone_patrol();
    }

    mcp_timers_run(&timers, now);

    mod_mcp_unlock();
}

/* Returns the time until the next timer, ms; 0 if a client is queued or a
 * connection to Redis has work. */
static int sleep_time(void)
{
    apr_uint64_t now, when;

    mod_mcp_lock();

    when = mcp_worker_deadline(mod_mcp_child.worker, NULL);
    when = when < patrol_at ? when : patrol_at;
    now = mod_mcp_now_ms();

    if (mcp_timers_next(&timers) < when) {
        when = mcp_timers_next(&timers);
    }

    if (queue_head || when < now) {
        when = now;
    }

#ifdef MCP_CLUSTER
    if (mod_mcp_cluster_has_work()) {
        when = now;
    }
#endif

    until = when;

    mod_mcp_unlock();

    return (int)(when - now);
}

static void *APR_THREAD_FUNC event_loop_main(apr_thread_t *self, void *data)
{
    int woken = 0;

    while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE)) {
        expire(woken);
        work();
#ifdef MCP_CLUSTER
        mod_mcp_cluster_work();
#endif
        woken = mod_mcp_poller_wait(sleep_time());
    }

    return NULL;
}

apr_status_t mod_mcp_event_loop_start(apr_pool_t *pchild)
{
    apr_status_t rv;

    ended = 0;

    rv = mod_mcp_poller_start();

    if (rv == APR_SUCCESS) {
        rv = mod_mcp_logger_start(pchild);
    }

    if (rv == APR_SUCCESS) {
        rv = mod_mcp_child_thread(&thread, NULL, event_loop_main, pchild);
    }

    if (rv != APR_SUCCESS) {
        mod_mcp_logger_stop();
    }

    return rv;
}

apr_thread_t *mod_mcp_event_loop_thread(void)
{
    return thread;
}

void mod_mcp_event_loop_stop(void)
{
    apr_status_t rv;

    __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);

    mod_mcp_lock();
    until = 1;
    wake_up();
    mod_mcp_unlock();

    apr_thread_join(&rv, thread);

    mod_mcp_logger_stop();
    mod_mcp_poller_stop();
}
