/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The thread of a client.
 *
 * A call's backend runs on the thread of the request that asked for it, as with
 * any proxied request.  That thread can do nothing else meanwhile, so the pump
 * sends what must be sent before the backend is done, unless the thread itself
 * has just brought it.  When nothing is left to run and the stream goes on, the
 * connection is suspended.  Where that is impossible (other MPMs, HTTP/2), the
 * thread waits.
 */

#include "mod_mcp_connection.h"

#include "mod_mcp_child.h"
#include "mod_mcp_client.h"
#include "mod_mcp_config.h"
#include "mod_mcp_event.h"
#include "mod_mcp_filter.h"
#include "mod_mcp_job.h"
#include "mod_mcp_pump.h"
#include "mod_mcp_response.h"
#include "mod_mcp_snapshot.h"
#include "mod_mcp_stream.h"
#include "mod_mcp_watch.h"
#include "mod_mcp_worker.h"

#include "ap_mpm.h"
#include "http_connection.h"

/* How often a waiting thread looks whether its HTTP/2 stream was reset. */
#define WAIT_STEP  apr_time_from_sec(1)

/* About the size of the buffer that a connection is read into. */
#define BUFFER_SIZE  APR_BUCKET_BUFF_SIZE

/* So many of these may be free when a stream has begun. */
#define BUFFERS  4

/* --- suspension --- */

int mod_mcp_connection_can_suspend(mod_mcp_client_t *client)
{
    conn_rec *c = client->c;

    /* an internal redirect does not understand SUSPENDED; neither does httpd's
     * loop over the requests of a connection with clogging filters */

    return mod_mcp_child.async && c->cs && !c->master && !client->r->prev
           && !c->clogging_input_filters && !mod_mcp_filter_blocks(client->r);
}

int mod_mcp_connection_can_lend(mod_mcp_client_t *client)
{
    return !client->c->master && !mod_mcp_filter_blocks(client->r);
}

/* Chunks follow all the same: their end tells a stream that is over from one
 * that was cut off. */
void mod_mcp_connection_announce_close(mod_mcp_client_t *client)
{
    apr_table_setn(client->r->headers_out, "Connection", "close");
}

/* What is left of the buffer that a request without a body was read into is an
 * empty bucket, which keeps it until the next attempt to read. */
static void drop_input(mod_mcp_client_t *client)
{
    ap_get_brigade(client->c->input_filters, client->bb, AP_MODE_SPECULATIVE,
                   APR_NONBLOCK_READ, 1);
    apr_brigade_cleanup(client->bb);
}

/* Gives the system back what is free in a pool, the buffers that the request
 * was read into and the head was written to above all: a stream may be idle for
 * hours.  Nobody says how many these are: others are new, and untouched. */
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
    c->current_thread = mod_mcp_pump_thread();

    mod_mcp_lock();

    client->suspended = mod_mcp_now();
    client->part = mod_mcp_event_part(c, r);
    mod_mcp_client_set_state(client, MOD_MCP_SUSPENDED);

    if (client->todo) {
        mod_mcp_pump_queue(client);
    }

    mod_mcp_watch_add(client);

    mod_mcp_unlock();
}

static void suspend(mod_mcp_client_t *client)
{
    /* a call of its own may come when its request is the pump's */

    if (client->exchange && !client->ahead
        && mcp_exchange_is_open(client->exchange)) {
        client->ahead = (mod_mcp_snapshot_create(client) != NULL);
    }

    if (!client->written) {
        mod_mcp_connection_announce_close(client);
    }

    mod_mcp_client_set_state(client, MOD_MCP_SUSPENDING);
}

/* --- a thread that waits --- */

/* How long the thread may still wait; 0: no longer; -1: without limit. */
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

/* Under the lock: waits for something to do. */
static void hold(mod_mcp_client_t *client)
{
    apr_interval_time_t left = hold_left(client);
    int state = AP_MPMQ_RUNNING;

    ap_mpm_query(AP_MPMQ_MPM_STATE, &state);

    /* worker and prefork tell the child's hook when no thread is left */

    if (state == AP_MPMQ_STOPPING) {
        mcp_worker_stop(mod_mcp_child.worker, 0);
    }

    if (left == 0 && client->streaming) {
        mcp_exchange_close(client->exchange);
        client->held = mod_mcp_now();
        left = WAIT_STEP;
    }

    if (left <= 0 || left > WAIT_STEP) {
        left = WAIT_STEP;
    }

    mod_mcp_watch_add(client);

    client->holding = 1;
    mod_mcp_wait(client->cond, left);
    client->holding = 0;
}

/* --- a thread that sends --- */

static void stream(mod_mcp_client_t *client)
{
    apr_status_t rv;

    do {
        rv = mod_mcp_stream_step(client, 1);
    } while (rv == APR_SUCCESS);

    if (rv != APR_INCOMPLETE && rv != APR_EOF) {
        client->broken = 1;
    }

    client->held = 0;
}

void mod_mcp_connection_begin(mod_mcp_client_t *client, unsigned todo)
{
    if ((todo & MOD_MCP_RESPOND) && !client->streaming
        && !client->responding) {
        mod_mcp_response_begin(client);
    }
}

void mod_mcp_connection_serve(mod_mcp_client_t *client, unsigned todo)
{
    if (client->responding) {
        if (mod_mcp_response_step(client, 1) != APR_EOF) {
            client->broken = 1;
        }

        return;
    }

    if ((todo & MOD_MCP_STREAM) && !client->streaming) {
        mod_mcp_stream_head(client);
    }

    if (client->streaming) {
        stream(client);
    }
}

/* --- all of it --- */

static int is_over(mod_mcp_client_t *client)
{
    if (client->broken || client->lingering || (client->todo & MOD_MCP_GONE)) {
        client->c->aborted = 1;
        return 1;
    }

    return client->finished;
}

/* 1 if the pump serves it from here on: it is idle, or its socket is slow. */
static int needs_no_thread(mod_mcp_client_t *client)
{
    return (client->todo == 0 || (client->todo & MOD_MCP_WRITE))
           && mod_mcp_connection_can_suspend(client);
}

/* Under the lock, which it releases meanwhile. */
static void run_call(mod_mcp_client_t *client)
{
    mod_mcp_run_t *run = client->run;

    client->run = NULL;
    mod_mcp_client_set_state(client, MOD_MCP_LENT);
    mod_mcp_watch_add(client);

    /* an answer that came before there was anybody to tell */

    if (client->todo) {
        mod_mcp_client_notify(client, client->todo);
    }

    mod_mcp_unlock();

    mod_mcp_job_run(run);

    client->over = run;

    /* what it has brought is the next to be done */

    mod_mcp_drain();
}

/* Likewise. */
static void free_call(mod_mcp_client_t *client)
{
    mod_mcp_run_t *run = client->over;

    client->over = NULL;

    mod_mcp_unlock();
    mod_mcp_job_free(run);
}

/* 1 if all is passed on, and nobody else has anything to do with the client:
 * what its call leaves behind is freed with its exchange. */
static int is_done(mod_mcp_client_t *client, mod_mcp_run_t *run)
{
    return run && client->responding && client->finished && !client->broken;
}

/* Likewise.  What a call leaves behind is freed when its answer is sent.  1:
 * that was all, and the lock is not taken again. */
static int do_next(mod_mcp_client_t *client)
{
    mod_mcp_run_t *run = client->over;
    unsigned todo = client->todo;

    client->todo = 0;

    if (todo) {
        client->over = NULL;
        mod_mcp_connection_begin(client, todo);
        mod_mcp_unlock();

        mod_mcp_connection_serve(client, todo);

        if (is_done(client, run)) {
            mod_mcp_job_clear(run, &client->remains);
            return 1;
        }

        if (run) {
            mod_mcp_job_free(run);
        }
        else {
            mod_mcp_lock();
        }

        return 0;
    }

    hold(client);

    if (client->c->aborted) {
        client->broken = 1;
    }

    return 0;
}

int mod_mcp_connection_attend(mod_mcp_client_t *client)
{
    int rc = OK;

    for ( ;; ) {
        if (client->over && (client->run || client->todo == 0)) {
            free_call(client);
        }
        else if (client->run) {
            run_call(client);
        }
        else if (is_over(client)) {
            mod_mcp_watch_rest(client);
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
