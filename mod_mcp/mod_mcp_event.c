/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The event MPM's own data of a connection, which its interface does not show.
 * Connections are suspended in mod_mcp_connection.c.
 *
 * We destroy a suspended connection.  But the thread that suspended it writes
 * to it after it has called the hook, and may be stopped before it does, for
 * any time.  In the MPM's notify_suspend():
 *
 *     ap_run_suspend_connection(cs->c, cs->r);
 *     cs->c->sbh = NULL;
 *     cs->suspended = 1;
 *
 * The caller process_socket() returns then, and the loop of worker_thread()
 * uses neither the connection nor cs any more.  So the thread is done once both
 * stores are seen, in either order.
 *
 * No header declares cs.  Its beginning has been the same since 2.4.10, and is
 * verified for each connection: it has to name the connection, the request and
 * the scoreboard's handle.  The member after those is the one that counts.
 */

#include "mod_mcp_event.h"

#include "mod_mcp_worker.h"

#include "apr_ring.h"

/* How an event_conn_state_t begins. */
struct mod_mcp_event_t {
    APR_RING_ENTRY(mod_mcp_event_t) timeout_list;
    apr_time_t queue_timestamp;
    conn_rec *c;
    request_rec *r;
    void *sc;
    void *sbh;
    int suspended;
};

/* If the beginning is unknown: a time that was always enough. */
#define SETTLE  apr_time_from_sec(1)

/*
 * With every request, internal redirects included, the MPM stores a pointer in
 * its data of the connection (event_post_read_request(): cs->sc).  Our
 * connections have this much memory for it: an event_conn_state_t has 136 bytes
 * in 2.4.63, and that member is its sixth word.
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

const mod_mcp_event_t *mod_mcp_event_part(conn_rec *c, request_rec *r)
{
    static int said;

    const mod_mcp_event_t *part = NULL;

    if (mpm) {
        part = ap_get_module_config(c->conn_config, mpm);
    }

    if (part && part->c == c && part->r == r && c->sbh && part->sbh == c->sbh
        && part->suspended == 0) {
        return part;
    }

    if (!__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED)) {
        ap_log_cerror(APLOG_MARK, APLOG_WARNING, 0, c,
                      "mod_mcp: this release of the MPM is not known: "
                      "connections of streams are closed a second late");
    }

    return NULL;
}

int mod_mcp_event_has_left(const conn_rec *c, const mod_mcp_event_t *part,
                           apr_time_t since)
{
    if (__atomic_load_n(&c->sbh, __ATOMIC_ACQUIRE) != NULL) {
        return 0;
    }

    return part ? __atomic_load_n(&part->suspended, __ATOMIC_ACQUIRE) == 1
                : mod_mcp_now() - since >= SETTLE;
}
