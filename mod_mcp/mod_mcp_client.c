/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Creates and frees clients, and changes their states.
 * docs/internals/apache.md has a diagram of the states.
 */

#include "mod_mcp_client.h"

#include "mod_mcp_child.h"
#include "mod_mcp_note.h"
#include "mod_mcp_event_loop.h"
#include "mod_mcp_snapshot.h"
#include "mod_mcp_poller.h"
#include "mod_mcp_worker.h"

/*
 * time for which a response waits for the end of a backend request on the
 * client's own thread.  If the backend request ends within this time, that
 * thread sends the response; otherwise the event loop sends it
 */
#define PATIENCE  apr_time_from_msec(50)

mod_mcp_client_t *mod_mcp_client_of(conn_rec *c)
{
    return ap_get_module_config(c->conn_config, &mcp_module);
}

mod_mcp_client_t *mod_mcp_client(request_rec *r)
{
    mod_mcp_client_t *client = mod_mcp_client_of(r->connection);

    if (client == NULL || client->r == NULL) {
        return NULL;
    }

    while (r && r != client->r) {
        r = r->prev ? r->prev : r->main;
    }

    return r ? client : NULL;
}

/* The exchange of an earlier request on a connection.  exchange_cleanup() frees
 * the exchange when the request's pool is destroyed; until then the response is
 * still in the filters. */
typedef struct {
    mcp_exchange_t *exchange;
    conn_rec *c;
} left_exchange_t;

/* --- the end of a client --- */

void mod_mcp_client_sent(mod_mcp_client_t *client)
{
    if (client->exchange && client->output == MOD_MCP_RESPONDED
        && !client->c->aborted) {
        mcp_exchange_sent(client->exchange);
    }
}

static void free_exchange(mod_mcp_client_t *client)
{
    mod_mcp_backend_threads_release(&client->remains);
    mod_mcp_snapshot_detach(client);

    if (client->exchange) {
        mod_mcp_client_sent(client);
        mcp_exchange_free(client->exchange);
        client->exchange = NULL;
    }
}

void mod_mcp_client_detach(mod_mcp_client_t *client)
{
    if (client->exchange) {
        mcp_exchange_last(client->exchange);
    }

    mod_mcp_note(client);
    free_exchange(client);
}

/* Clean-up of the request's pool: frees the exchange and the buffer of the
 * client.  Any thread may destroy the pool. */
static apr_status_t client_cleanup(void *data)
{
    mod_mcp_client_t *client = data;

    if (!mod_mcp_lock_ready()) {
        return APR_SUCCESS;             /* the process is ending: the core must
                                           not be used */
    }

    free_exchange(client);
    client->r = NULL;

    mod_mcp_unlock();

    free(client->buf);
    client->buf = NULL;

    return APR_SUCCESS;
}

static apr_status_t exchange_cleanup(void *data)
{
    left_exchange_t *left = data;

    if (mod_mcp_lock_ready()) {
        if (!left->c->aborted) {
            mcp_exchange_sent(left->exchange);
        }

        mcp_exchange_free(left->exchange);
        mod_mcp_unlock();
    }

    return APR_SUCCESS;
}

/*
 * Detaches the client from its previous request, if the pool of that request
 * still exists because the response is still in the filters.  A clean-up
 * function of the pool then frees the exchange.
 */
static void leave_request(mod_mcp_client_t *client)
{
    left_exchange_t *left;
    apr_pool_t *p;

    if (client->r == NULL) {
        return;
    }

    p = client->r->pool;
    apr_pool_cleanup_kill(p, client, client_cleanup);

    mod_mcp_lock();

    mod_mcp_backend_threads_release(&client->remains);
    mod_mcp_snapshot_detach(client);

    if (client->exchange) {
        left = apr_palloc(p, sizeof(*left));
        left->exchange = client->exchange;
        left->c = client->c;

        apr_pool_cleanup_register(p, left, exchange_cleanup,
                                  apr_pool_cleanup_null);
        client->exchange = NULL;
    }

    mod_mcp_unlock();
}

/* --- the creation of a client --- */

/* Clean-up of the connection's pool: frees the client's entry in the poller.
 * Any thread may destroy the pool. */
static apr_status_t connection_cleanup(void *data)
{
    mod_mcp_client_t *client = data;

    if (client->index && mod_mcp_lock_ready()) {
        mod_mcp_poller_forget(client);
        mod_mcp_unlock();
    }

    return APR_SUCCESS;
}

static mod_mcp_client_t *client_new(conn_rec *c)
{
    mod_mcp_client_t *client = apr_pcalloc(c->pool, sizeof(*client));

    client->c = c;
    client->cond = mod_mcp_cond(c->pool);
    client->bb = apr_brigade_create(c->pool, c->bucket_alloc);

    if (client->cond == NULL) {
        return NULL;
    }

    apr_pool_cleanup_register(c->pool, client, connection_cleanup,
                              apr_pool_cleanup_null);

    ap_set_module_config(c->conn_config, &mcp_module, client);

    return client;
}

mod_mcp_client_t *mod_mcp_client_create(request_rec *r)
{
    conn_rec *c = r->connection;
    mod_mcp_client_t *client;

    client = mod_mcp_client_of(c);

    if (client == NULL) {
        client = client_new(c);
        if (client == NULL) {
            return NULL;
        }
    }

    leave_request(client);

    client->r = r;
    mod_mcp_client_set_state(client, MOD_MCP_ATTENDED);
    client->todo = 0;
    client->req = NULL;
    client->over = NULL;
    client->ahead = 0;
    client->held = 0;
    client->patient = 0;
    client->blocked = 0;
    mod_mcp_client_set_output(client, MOD_MCP_UNANSWERED);

    apr_pool_cleanup_register(r->pool, client, client_cleanup,
                              apr_pool_cleanup_null);

    return client;
}

/* --- states of a client --- */

static const char *const state_names[] = {
    "attended",
    "holding",
    "lent",
    "event-looped",
    "served",
    "suspending",
    "suspended",
    "logging",
    "closing"
};

static const char *const output_names[] = {
    "unanswered",
    "stream begun",
    "streaming",
    "streamed",
    "responding",
    "responded",
    "shut",
    "broken"
};

static void log_change(const conn_rec *c, const char *what, const char *now,
    const char *was)
{
    if (now != was) {
        ap_log_cerror(APLOG_MARK, APLOG_TRACE1, 0, c,
                      "mcp: the %s of connection %ld is now \"%s\", was \"%s\"",
                      what, c->id, now, was);
    }
}

void mod_mcp_client_set_state(mod_mcp_client_t *client, mod_mcp_state_e state)
{
    log_change(client->c, "state", state_names[state],
               state_names[client->state]);
    client->state = state;
}

void mod_mcp_client_set_output(mod_mcp_client_t *client,
    mod_mcp_output_e output)
{
    log_change(client->c, "output", output_names[output],
               output_names[client->output]);
    client->output = output;
}

void mod_mcp_client_notify(mod_mcp_client_t *client, unsigned what)
{
    if (client == NULL || client->exchange == NULL) {
        return;
    }

    client->todo |= what;

    switch (client->state) {
    case MOD_MCP_HOLDING:
        mod_mcp_signal(client->cond);
        break;

    case MOD_MCP_LENT:
        if (what == MOD_MCP_RESPOND) {
            mod_mcp_event_loop_timer(client, PATIENCE);
            break;
        }

        mod_mcp_client_set_state(client, MOD_MCP_EVENT_LOOPED);
        /* fall through */

    case MOD_MCP_EVENT_LOOPED:
    case MOD_MCP_SERVED:
    case MOD_MCP_SUSPENDED:
        mod_mcp_event_loop_queue(client);
        break;

    default:
        break;
    }
}

void mod_mcp_client_take(mod_mcp_client_t *client)
{
    while (client->state == MOD_MCP_SERVED) {
        client->recall = 1;
        mod_mcp_wait(client->cond, 0);
    }

    client->recall = 0;
    mod_mcp_client_set_state(client, MOD_MCP_ATTENDED);

    mod_mcp_event_loop_unqueue(client);
    mod_mcp_poller_rest(client);
    mod_mcp_event_loop_timer(client, -1);

    /* the event loop no longer polls the socket, so let the client's thread
     * try to write */

    if (client->blocked) {
        client->blocked = 0;
        client->todo |= MOD_MCP_WRITE;
    }
}
