/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The event MPM's data of a connection, which is private to the MPM.
 * mod_mcp_connection.c suspends connections.
 *
 * This module destroys suspended connections.  But the thread that has
 * suspended a connection still writes to it after the hook suspend_connection
 * has returned, and the scheduler may delay these writes for any time.  In the
 * MPM's notify_suspend():
 *
 *      ap_run_suspend_connection(cs->c, cs->r);
 *      cs->c->sbh = NULL;
 *      cs->suspended = 1;
 *
 * Then notify_suspend() and its caller process_socket() return, and the loop
 * of worker_thread() uses neither the connection nor cs.  So the thread has
 * finished when both stores are visible, in either order.
 *
 * cs is not declared in a header.  Its beginning has been the same since
 * 2.4.10, and is verified for each connection: it must contain the connection,
 * the request and the scoreboard handle.  The next member is "suspended".
 */

#include "mod_mcp_event.h"

#include "mod_mcp_worker.h"

#include "apr_ring.h"

/* The beginning of an event_conn_state_t. */
struct mod_mcp_event_t {
    APR_RING_ENTRY(mod_mcp_event_t) timeout_list;
    apr_time_t queue_timestamp;
    conn_rec *c;
    request_rec *r;
    void *sc;
    void *sbh;
    int suspended;
};

/* If the layout of the MPM's data is unknown, this module assumes after this
 * time that the thread that has suspended a connection has finished with the
 * connection.  In practice threads need much less. */
#define SETTLE  apr_time_from_sec(1)

/*
 * Size of the memory that an internal connection has for the MPM's data, bytes.
 * With every request, also after internal redirects, the MPM stores a pointer
 * in this memory (event_post_read_request(): cs->sc).  In 2.4.63 the pointer
 * is the sixth word of an event_conn_state_t, which has 136 bytes.
 */
#define PART  1024

static module *mpm;

void mod_mcp_event_init(void)
{
    mpm = ap_find_linked_module("event.c");
}

void mod_mcp_event_pretend(conn_rec *c)
{
    if (mpm) {
        ap_set_module_config(c->conn_config, mpm, apr_pcalloc(c->pool, PART));
    }
}

const mod_mcp_event_t *mod_mcp_event_data(conn_rec *c, request_rec *r)
{
    static int warned;

    const mod_mcp_event_t *data = NULL;

    if (mpm) {
        data = ap_get_module_config(c->conn_config, mpm);
    }

    if (data && data->c == c && data->r == r && c->sbh && data->sbh == c->sbh
        && data->suspended == 0) {
        return data;
    }

    if (!__atomic_exchange_n(&warned, 1, __ATOMIC_RELAXED)) {
        ap_log_cerror(APLOG_MARK, APLOG_WARNING, 0, c,
                      "mod_mcp: connections are closed one second after the "
                      "end of a stream, because mod_mcp does not support this "
                      "version of the event MPM");
    }

    return NULL;
}

int mod_mcp_event_has_left(const conn_rec *c, const mod_mcp_event_t *data,
                           apr_time_t since)
{
    if (__atomic_load_n(&c->sbh, __ATOMIC_ACQUIRE) != NULL) {
        return 0;
    }

    return data ? __atomic_load_n(&data->suspended, __ATOMIC_ACQUIRE) == 1
                : mod_mcp_now() - since >= SETTLE;
}
