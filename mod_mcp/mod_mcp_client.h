/* SPDX-License-Identifier: Apache-2.0 */

/* A client and its states. */

#ifndef MOD_MCP_CLIENT_H
#define MOD_MCP_CLIENT_H

#include "mod_mcp_backend_threads.h"

#include "mcp_exchange.h"
#include "mcp_timer.h"

/*
 * Which thread serves a client.  One thread at a time uses its connection and
 * request:
 *
 *   ATTENDED      the request's own thread
 *   LENT          none: that thread runs a backend request
 *   EVENT_LOOPED  the event loop, while that thread runs a backend request; or
 *                 the thread itself, while it sends its backend's output
 *   SUSPENDING    the request's thread, while it returns to the MPM
 *   SUSPENDED     the event loop; the client has no thread
 *   LOGGING       the logger: the response has been sent
 *   CLOSING       the event loop: the request is logged, the connection is open
 */
typedef enum {
    MOD_MCP_ATTENDED = 0,
    MOD_MCP_LENT,
    MOD_MCP_EVENT_LOOPED,
    MOD_MCP_SUSPENDING,
    MOD_MCP_SUSPENDED,
    MOD_MCP_LOGGING,
    MOD_MCP_CLOSING
} mod_mcp_state_e;

/* Pending work for a client, bits of mod_mcp_client_t.todo. */
#define MOD_MCP_RESPOND  1u
#define MOD_MCP_STREAM   2u
#define MOD_MCP_PULL     4u
#define MOD_MCP_WRITE    8u             /* the socket is writable */
#define MOD_MCP_EXPIRED  16u            /* the timer has expired */
#define MOD_MCP_GONE     32u            /* the client has disconnected */

/* One for each connection, or for each stream of HTTP/2. */
struct mod_mcp_client_t {
    conn_rec *c;
    request_rec *r;
    mcp_exchange_t *exchange;           /* NULL if there is none, or after
                                           it was freed */
    const char **values;                /* values of the endpoint's
                                           expressions, see mod_mcp_rules.h */

    /* written under mod_mcp_lock() */
    mod_mcp_state_e state;
    unsigned todo;
    mod_mcp_backend_request_t *req;     /* backend request for the client's
                                           own thread to run */
    mod_mcp_snapshot_t *snapshot;       /* snapshot of its call; NULL if
                                           there is none, or when the call
                                           has ended */
    mod_mcp_cond_t *cond;
    mod_mcp_client_t *next;             /* in the queue of the event loop,
                                           or of the logger if LOGGING */
    mcp_timer_t timer;                  /* timer of the event loop */
    apr_uint32_t index;                 /* index in the poller's table; 0 if
                                           the socket is not polled */
    unsigned queued:1;
    unsigned busy:1;                    /* 1 while a thread serves it without
                                           mod_mcp_lock() */
    unsigned own:1;                     /* 1 while its own thread serves it */
    unsigned recall:1;                  /* 1 while its own thread waits for
                                           the event loop to return it */
    unsigned holding:1;                 /* 1 while its own thread waits for
                                           work */
    unsigned ahead:1;                   /* 1 if the snapshot was made before
                                           the call */

    /* for the thread that serves it: no bit shares a word with those above */
    apr_bucket_brigade *bb;
    apr_bucket_brigade *head;           /* brigade of
                                           mod_mcp_stream_filter.c; NULL
                                           without that filter */
    mod_mcp_backend_request_t *over;    /* a backend request of the client's
                                           thread, ended but not freed; or
                                           NULL */
    mod_mcp_remains_t remains;          /* parts of its freed backend
                                           request, to be released under
                                           mod_mcp_lock() */
    apr_off_t expected;                 /* announced length of the body,
                                           bytes; -1 if unknown */
    char *space;                        /* memory for the announced body, or
                                           NULL */
    char *buf;                          /* buffer of the stream; NULL while
                                           the stream is idle */
    apr_size_t size;                    /* bytes, of buf or of the next
                                           buffer */
    apr_time_t suspended;               /* time of suspension, mod_mcp_now() */
    const mod_mcp_event_t *part;        /* the MPM's data at that time */
    apr_time_t held;                    /* mod_mcp_now() when its thread
                                           began to wait; 0 after output */
    const char *rest;                   /* unsent rest of a response's body */
    apr_size_t left;                    /* bytes in rest */
    unsigned responding:1;              /* 1 if a response has begun */
    unsigned streaming:1;               /* 1 if the head of a stream was
                                           sent */
    unsigned finished:1;                /* 1 if all bytes were passed to the
                                           filters */
    unsigned patient:1;                 /* 1 if the response was sent, but
                                           its thread still runs the backend
                                           request */
    unsigned blocked:1;                 /* 1 if the socket's buffer is full */
    unsigned written:1;                 /* 1 if some bytes were passed to
                                           the filters */
    unsigned direct:1;                  /* 1 while its stream bypasses the
                                           core's filter */
    unsigned lingering:1;
    unsigned broken:1;                  /* 1 after an error: nothing more
                                           can be sent */
};

/*
 * Creates the client of a request, in state ATTENDED.  Returns NULL if memory
 * is out.
 */
mod_mcp_client_t *mod_mcp_client_create(request_rec *r);

/*
 * Returns the client that an earlier request of the connection has created, or
 * NULL.
 */
mod_mcp_client_t *mod_mcp_client_of(conn_rec *c);

/*
 * Returns the client of this request, or of the request that led to it by
 * internal redirects or subrequests, or NULL.
 */
mod_mcp_client_t *mod_mcp_client(request_rec *r);

/* The functions below are called under mod_mcp_lock(). */

/*
 * Changes the state and logs the change at a debug level.  No other function
 * writes the state.
 */
void mod_mcp_client_set_state(mod_mcp_client_t *client, mod_mcp_state_e state);

/*
 * Adds work (MOD_MCP_RESPOND, ...) for the client and wakes the thread that
 * does it. client may be NULL.
 */
void mod_mcp_client_notify(mod_mcp_client_t *client, unsigned what);

/*
 * For the client's own thread, at the end of its backend request: takes the
 * client back from the event loop, and waits if the event loop is serving it.
 */
void mod_mcp_client_take(mod_mcp_client_t *client);

/*
 * The client does not read any more: frees its exchange, so that another
 * consumer can get the stream.
 */
void mod_mcp_client_part(mod_mcp_client_t *client);

#endif /* MOD_MCP_CLIENT_H */
