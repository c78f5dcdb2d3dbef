/* SPDX-License-Identifier: Apache-2.0 */

/* A client and its states. */

#ifndef MOD_MCP_CLIENT_H
#define MOD_MCP_CLIENT_H

#include "mod_mcp_job.h"

#include "mcp_exchange.h"
#include "mcp_timer.h"

/*
 * Who serves a client.  One thread at a time uses its connection and request:
 *
 *   ATTENDED    the request's own thread
 *   LENT        none: that thread runs a backend call
 *   PUMPED      the pump, while that thread runs a backend call; or the thread
 *               itself, while it sends what its call has just brought
 *   SUSPENDING  the request's thread, on its way back into the MPM
 *   SUSPENDED   the pump; the client has no thread
 *   LOGGING     the logger: the response is sent
 *   CLOSING     the pump: the request is logged, the connection is still open
 */
typedef enum {
    MOD_MCP_ATTENDED = 0,
    MOD_MCP_LENT,
    MOD_MCP_PUMPED,
    MOD_MCP_SUSPENDING,
    MOD_MCP_SUSPENDED,
    MOD_MCP_LOGGING,
    MOD_MCP_CLOSING
} mod_mcp_state_e;

/* What there is to do for a client. */
#define MOD_MCP_RESPOND  1u
#define MOD_MCP_STREAM   2u
#define MOD_MCP_PULL     4u
#define MOD_MCP_WRITE    8u             /* the socket has room */
#define MOD_MCP_EXPIRED  16u            /* the timer has expired */
#define MOD_MCP_GONE     32u            /* the client has left */

/* One for each connection, or for each stream of HTTP/2. */
struct mod_mcp_client_t {
    conn_rec *c;
    request_rec *r;
    mcp_exchange_t *exchange;           /* NULL: none, or freed */
    const char **values;                /* of mod_mcp_rules.h */

    /* under the lock */
    mod_mcp_state_e state;
    unsigned todo;
    mod_mcp_run_t *run;                 /* for its own thread to run */
    mod_mcp_snapshot_t *snapshot;       /* its call's; NULL: none, or over */
    mod_mcp_cond_t *cond;
    mod_mcp_client_t *next;             /* in the pump's queue, or if LOGGING
                                         * in the logger's */
    mcp_timer_t timer;                  /* the pump's */
    apr_uint32_t index;                 /* in the table of sockets; 0: none */
    unsigned queued:1;
    unsigned busy:1;                    /* a thread serves it without lock */
    unsigned own:1;                     /* its own thread does */
    unsigned recall:1;                  /* its own thread waits for the pump */
    unsigned holding:1;                 /* its own thread waits for work */
    unsigned ahead:1;                   /* the snapshot is its own: there is no
                                         * call yet */

    /* for the thread that serves it: no bit shares a word with those above */
    apr_bucket_brigade *bb;
    apr_bucket_brigade *head;           /* of mod_mcp_direct.c; NULL: its
                                         * filter is not there */
    mod_mcp_run_t *over;                /* a run of its own thread's that is
                                         * over, but not freed; or NULL */
    mod_mcp_remains_t remains;          /* of one that is freed */
    apr_off_t expected;                 /* its body's length; -1: unknown */
    char *space;                        /* for so much of it, or NULL */
    char *buf;                          /* NULL while the stream is idle */
    apr_size_t size;                    /* of buf, or of the next one */
    apr_time_t suspended;               /* when it was suspended */
    const mod_mcp_event_t *part;        /* the MPM's data then */
    apr_time_t held;                    /* since when its thread waits */
    const char *rest;                   /* the part of a response's body that */
    apr_size_t left;                    /* is not passed on yet */
    unsigned responding:1;              /* the head of a response is sent */
    unsigned streaming:1;               /* the head of a stream is sent */
    unsigned finished:1;                /* the last bytes are passed on */
    unsigned patient:1;                 /* the pump waits for its thread */
    unsigned blocked:1;                 /* the socket is full */
    unsigned written:1;                 /* some bytes are passed on */
    unsigned direct:1;                  /* while its stream is passed on */
    unsigned lingering:1;
    unsigned broken:1;                  /* nothing can be sent any more */
};

/* Makes the client of a request, ATTENDED; NULL when memory is out. */
mod_mcp_client_t *mod_mcp_client_create(request_rec *r);

/* The client that an earlier request of the connection made, or NULL. */
mod_mcp_client_t *mod_mcp_client_of(conn_rec *c);

/* The client of this request or of one that led to it, or NULL. */
mod_mcp_client_t *mod_mcp_client(request_rec *r);

/* All that follow are called under the lock. */

/* The one way to change the state: logs it for debugging. */
void mod_mcp_client_set_state(mod_mcp_client_t *client, mod_mcp_state_e state);

/* There is something to do for the client, which may be NULL. */
void mod_mcp_client_notify(mod_mcp_client_t *client, unsigned what);

/* For the client's own thread, at the end of its backend call: takes the client
 * back from the pump. */
void mod_mcp_client_take(mod_mcp_client_t *client);

/* The client reads no more: frees its exchange, and so its stream for another
 * consumer. */
void mod_mcp_client_part(mod_mcp_client_t *client);

#endif /* MOD_MCP_CLIENT_H */
