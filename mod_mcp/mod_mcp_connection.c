/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Serves a client on the thread of its request, and suspends its connection.
 *
 * A call's backend request runs on the thread of the client's request, like
 * any proxied request.  That thread is occupied until the backend has
 * finished.  Meanwhile the thread sends the output that it has just received
 * from the backend, and the event loop sends other output that cannot wait.
 * When no backend request is left and the stream continues, the connection is
 * suspended.  If it cannot be suspended (other MPMs than event, HTTP/2), the
 * thread waits.
 */

#include "mod_mcp_connection.h"

#include "mod_mcp_child.h"
#include "mod_mcp_client.h"
#include "mod_mcp_config.h"
#include "mod_mcp_event.h"
#include "mod_mcp_backend_threads.h"
#include "mod_mcp_event_loop.h"
#include "mod_mcp_response.h"
#include "mod_mcp_snapshot.h"
#include "mod_mcp_stream.h"
#include "mod_mcp_poller.h"
#include "mod_mcp_worker.h"

#include "ap_mpm.h"
#include "http_connection.h"

/*
 * interval at which a waiting thread checks whether its client's HTTP/2 stream
 * was reset
 */
#define WAIT_STEP  apr_time_from_sec(1)

/* approximate size of the buffer into which httpd reads data of a
 * connection */
#define BUFFER_SIZE  APR_BUCKET_BUFF_SIZE

/* maximum number of free buffers of BUFFER_SIZE in a connection's pool when a
 * stream has begun */
#define BUFFERS  4

/* --- suspension --- */

int mod_mcp_connection_can_suspend(mod_mcp_client_t *client)
{
    conn_rec *c = client->c;

    /* httpd does not support SUSPENDED after an internal redirect, nor in its
     * loop over the requests of a connection with clogging filters */

    return mod_mcp_child.async && c->cs && !c->master && !client->r->prev
           && !c->clogging_input_filters && !mod_mcp_filter_blocks(client->r);
}

int mod_mcp_connection_can_lend(mod_mcp_client_t *client)
{
    return !client->c->master && !mod_mcp_filter_blocks(client->r);
}

/*
 * Adds "Connection: close".  The response is chunked nevertheless, because the
 * final chunk distinguishes a complete stream from one that was cut off.
 */
void mod_mcp_connection_announce_close(mod_mcp_client_t *client)
{
    apr_table_setn(client->r->headers_out, "Connection", "close");
}

/*
 * Frees the buffer into which the head of the request was read.  If the request
 * has no body, httpd's input filter keeps an empty bucket of this buffer until
 * the next read.  So this function reads from the connection, without waiting
 * and without consuming data.
 */
static void drop_input(mod_mcp_client_t *client)
{
    ap_get_brigade(client->c->input_filters, client->bb, AP_MODE_SPECULATIVE,
                   APR_NONBLOCK_READ, 1);
    apr_brigade_cleanup(client->bb);
}

/*
 * Returns free memory of the connection's pool to the system, because a stream
 * may be idle for hours.  The free memory is mainly the buffers into which the
 * request was read and the head was written.  APR does not report the number
 * of free buffers, so this function allocates BUFFERS buffers and frees them.
 * If fewer were free, the new ones cost little, because their pages are not
 * touched.
 */
static void trim(conn_rec *c)
{
    apr_allocator_t *allocator = apr_pool_allocator_get(c->pool);
    apr_memnode_t *nodes[BUFFERS];
    int i;

    for (i = 0; i < BUFFERS; i++) {
        nodes[i] = apr_allocator_alloc(allocator, BUFFER_SIZE);
    }

    apr_allocator_max_free_set(allocator, 1);

    for (i = 0; i < BUFFERS; i++) {
        if (nodes[i]) {
            apr_allocator_free(allocator, nodes[i]);
        }
    }
}

void mod_mcp_connection_suspended(conn_rec *c, request_rec *r)
{
    mod_mcp_client_t *client = mod_mcp_client_of(c);

    if (client == NULL || client->state != MOD_MCP_SUSPENDING) {
        return;
    }

    drop_input(client);
    trim(c);
    c->current_thread = mod_mcp_event_loop_thread();

    mod_mcp_lock();

    client->suspended = mod_mcp_now();
    client->mpm = mod_mcp_event_data(c, r);
    mod_mcp_client_set_state(client, MOD_MCP_SUSPENDED);

    if (client->todo) {
        mod_mcp_event_loop_queue(client);
    }

    mod_mcp_poller_add(client);

    mod_mcp_unlock();
}

static void suspend(mod_mcp_client_t *client)
{
    /* make the snapshot of the request now: a call that begins after the
     * suspension needs it, but then the event loop owns the request, and no
     * snapshot can be made */

    if (client->exchange && !client->ahead
        && mcp_exchange_is_open(client->exchange)) {
        client->ahead = (mod_mcp_snapshot_create(client) != NULL);
    }

    if (client->output <= MOD_MCP_STREAM_BEGUN) {
        mod_mcp_connection_announce_close(client);
    }

    mod_mcp_client_set_state(client, MOD_MCP_SUSPENDING);
}

/* --- a thread that waits --- */

/*
 * Returns the time for which the client's thread may still wait for work,
 * microseconds; 0: none; -1: no limit.
 */
static apr_interval_time_t hold_left(mod_mcp_client_t *client)
{
    mod_mcp_global_t *global = mod_mcp_config_global(mod_mcp_child.server);
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

/* Waits until the client has work, for at most WAIT_STEP.  If the thread has
 * waited longer than MCPHold permits, first closes the stream.  Called under
 * mod_mcp_lock(). */
static void hold(mod_mcp_client_t *client)
{
    apr_interval_time_t left = hold_left(client);
    int state = AP_MPMQ_RUNNING;

    ap_mpm_query(AP_MPMQ_MPM_STATE, &state);

    /* if the process is stopping, stop the core's worker here, because the MPMs
     * worker and prefork run the hook child_stopping only when no thread is
     * left */

    if (state == AP_MPMQ_STOPPING) {
        mcp_worker_stop(mod_mcp_child.worker, 0);
    }

    if (left == 0 && mod_mcp_client_streams(client)) {
        mcp_exchange_close(client->exchange);
        client->held = mod_mcp_now();
        left = WAIT_STEP;
    }

    if (left <= 0 || left > WAIT_STEP) {
        left = WAIT_STEP;
    }

    mod_mcp_poller_add(client);

    mod_mcp_client_set_state(client, MOD_MCP_HOLDING);
    mod_mcp_wait(client->cond, left);
    mod_mcp_client_set_state(client, MOD_MCP_ATTENDED);
}

/* --- a thread that sends --- */

static void stream(mod_mcp_client_t *client)
{
    apr_status_t rv;

    do {
        rv = mod_mcp_stream_step(client, 1);
    } while (rv == APR_SUCCESS);

    if (rv != APR_INCOMPLETE && rv != APR_EOF) {
        mod_mcp_client_set_output(client, MOD_MCP_BROKEN);
    }

    client->held = 0;
}

void mod_mcp_connection_begin(mod_mcp_client_t *client, unsigned todo)
{
    if ((todo & MOD_MCP_RESPOND) && client->output == MOD_MCP_UNANSWERED) {
        mod_mcp_response_begin(client);
    }
}

void mod_mcp_connection_serve(mod_mcp_client_t *client, unsigned todo)
{
    if (client->output == MOD_MCP_RESPONDING) {
        if (mod_mcp_response_step(client, 1) != APR_EOF) {
            mod_mcp_client_set_output(client, MOD_MCP_BROKEN);
        }

        return;
    }

    if ((todo & MOD_MCP_STREAM) && client->output == MOD_MCP_UNANSWERED) {
        mod_mcp_stream_head(client);
    }

    if (mod_mcp_client_streams(client)) {
        stream(client);
    }
}

/* --- the thread of a client --- */

static int is_over(mod_mcp_client_t *client)
{
    if (client->output >= MOD_MCP_SHUT || (client->todo & MOD_MCP_GONE)) {
        client->c->aborted = 1;
        return 1;
    }

    return mod_mcp_client_finished(client);
}

/*
 * Returns 1 if the event loop can serve the client from now on: the client is
 * idle, or its socket is slow.
 */
static int needs_no_thread(mod_mcp_client_t *client)
{
    return (client->todo == 0 || (client->todo & MOD_MCP_WRITE))
           && mod_mcp_connection_can_suspend(client);
}

/*
 * Runs the backend request of the client's thread.  Called under
 * mod_mcp_lock(); releases the lock while the backend request runs.
 */
static void start_call(mod_mcp_client_t *client)
{
    mod_mcp_backend_request_t *req = client->req;

    client->req = NULL;
    mod_mcp_client_set_state(client, MOD_MCP_LENT);
    mod_mcp_poller_add(client);

    /* pass all work in client->todo to mod_mcp_client_notify() again: before
     * the state was LENT, that function only recorded the work and did not wake
     * the event loop */

    if (client->todo) {
        mod_mcp_client_notify(client, client->todo);
    }

    mod_mcp_unlock();

    mod_mcp_backend_threads_run(req);

    client->over = req;

    /* carry out the actions that the backend's output has caused */

    mod_mcp_drain();
}

/*
 * Frees the finished backend request of the client's thread.  Called under
 * mod_mcp_lock(); releases the lock and takes it again.
 */
static void free_call(mod_mcp_client_t *client)
{
    mod_mcp_backend_request_t *req = client->over;

    client->over = NULL;

    mod_mcp_unlock();
    mod_mcp_backend_threads_free(req);
}

/*
 * Returns 1 if the client's thread has run a backend request, "req", and the
 * response has been passed to the filters completely.
 */
static int is_done(mod_mcp_client_t *client, mod_mcp_backend_request_t *req)
{
    return req && client->output == MOD_MCP_RESPONDED;
}

/*
 * Does the client's pending work, or waits for work.  Frees a finished backend
 * request after its response has been sent.  Called under mod_mcp_lock().
 * Returns 1 without mod_mcp_lock() if the response is complete; otherwise
 * returns 0 under mod_mcp_lock().
 */
static int do_next(mod_mcp_client_t *client)
{
    mod_mcp_backend_request_t *req = client->over;
    unsigned todo = client->todo;

    client->todo = 0;

    if (todo) {
        client->over = NULL;
        mod_mcp_connection_begin(client, todo);
        mod_mcp_unlock();

        mod_mcp_connection_serve(client, todo);

        if (is_done(client, req)) {
            mod_mcp_backend_threads_clear(req, &client->remains);
            return 1;
        }

        if (req) {
            mod_mcp_backend_threads_free(req);
        }
        else {
            mod_mcp_lock();
        }

        return 0;
    }

    hold(client);

    if (client->c->aborted) {
        mod_mcp_client_set_output(client, MOD_MCP_BROKEN);
    }

    return 0;
}

int mod_mcp_connection_attend(mod_mcp_client_t *client)
{
    int rc = OK;

    for ( ;; ) {
        if (client->over && (client->req || client->todo == 0)) {
            free_call(client);
        }
        else if (client->req) {
            start_call(client);
        }
        else if (is_over(client)) {
            mod_mcp_poller_rest(client);

            /* free the exchange now: a backend request that became ready
             * before the end of the request would be lent to this thread,
             * which does not run it any more */

            if (client->c->aborted) {
                mod_mcp_client_detach(client);
            }

            break;
        }
        else if (needs_no_thread(client)) {
            suspend(client);
            rc = SUSPENDED;
            break;
        }
        else if (do_next(client)) {
            return OK;
        }
    }

    if (client->over) {
        free_call(client);
    }

    mod_mcp_unlock();

    return rc;
}
