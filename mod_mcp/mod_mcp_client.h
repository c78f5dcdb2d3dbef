/* SPDX-License-Identifier: Apache-2.0 */

/* A client and its states. */

#ifndef MOD_MCP_CLIENT_H
#define MOD_MCP_CLIENT_H

#include "mod_mcp_backend_threads.h"

#include "mcp_exchange.h"
#include "mcp_timer.h"

/*
 * Which thread may use the client's connection and request without
 * mod_mcp_lock():
 *
 *   ATTENDED      the request's own thread
 *   HOLDING       none: the request's thread waits for work
 *   LENT          none: the request's thread runs a backend request
 *   EVENT_LOOPED  none: the request's thread runs a backend request, and the
 *                 event loop sends the client's output
 *   SERVED        the event loop; or the request's thread, if "own" is set
 *   SUSPENDING    the request's thread, while it returns to the MPM
 *   SUSPENDED     none: the client has no thread
 *   LOGGING       the logger: the response has been sent
 *   CLOSING       the event loop: the request is logged, the connection is open
 *
 * The state is written under mod_mcp_lock() by the thread that this table
 * names, or by any thread if the table names none.  docs/internals/apache.md
 * has a diagram of the states.
 */
typedef enum {
    MOD_MCP_ATTENDED = 0,
    MOD_MCP_HOLDING,
    MOD_MCP_LENT,
    MOD_MCP_EVENT_LOOPED,
    MOD_MCP_SERVED,
    MOD_MCP_SUSPENDING,
    MOD_MCP_SUSPENDED,
    MOD_MCP_LOGGING,
    MOD_MCP_CLOSING
} mod_mcp_state_e;

/*
 * Progress of the client's response.  Written without mod_mcp_lock(), by the
 * thread that serves the client.  Other threads read it only in a state where
 * no thread serves the client.
 *
 *   UNANSWERED    no response has begun
 *   STREAM_BEGUN  status and headers of a stream are set, nothing was passed
 *                 to the filters
 *   STREAMING     bytes of the stream were passed to the filters
 *   STREAMED      all bytes of the stream were passed to the filters
 *   RESPONDING    a response that is not a stream has begun
 *   RESPONDED     all bytes of that response were passed to the filters
 *   SHUT          the socket was shut down for writing
 *   BROKEN        an error: nothing more can be sent
 */
typedef enum {
    MOD_MCP_UNANSWERED = 0,
    MOD_MCP_STREAM_BEGUN,
    MOD_MCP_STREAMING,
    MOD_MCP_STREAMED,
    MOD_MCP_RESPONDING,
    MOD_MCP_RESPONDED,
    MOD_MCP_SHUT,
    MOD_MCP_BROKEN
} mod_mcp_output_e;

/* Pending work for a client, bits of mod_mcp_client_t.todo.  The first three
 * are the core's actions RESPOND, STREAM and PULL. */
#define MOD_MCP_RESPOND  1u
#define MOD_MCP_STREAM   2u
#define MOD_MCP_PULL     4u
#define MOD_MCP_WRITE    8u             /* the socket is writable */
#define MOD_MCP_EXPIRED  16u            /* the client's timer has expired */
#define MOD_MCP_GONE     32u            /* the client has disconnected */

/* The client of a connection, or of a stream of HTTP/2. */
struct mod_mcp_client_t {
    conn_rec *c;
    request_rec *r;
    mcp_exchange_t *exchange;           /* exchange of the request; NULL if
                                           there is none, or after it was
                                           freed */
    const char **values;                /* values of the endpoint's
                                           expressions, see mod_mcp_handler.c */

    /* members below: written under mod_mcp_lock() */
    mod_mcp_state_e state;
    unsigned todo;
    mod_mcp_backend_request_t *req;     /* backend request that the client's
                                           own thread will run; NULL if none */
    mod_mcp_snapshot_t *snapshot;       /* snapshot of the client's call; NULL
                                           if there is no call, or when it has
                                           ended */
    mod_mcp_cond_t *cond;               /* wakes the client's own thread */
    mod_mcp_client_t *next;             /* next client in the queue of the
                                           event loop, or of the logger in
                                           state LOGGING */
    mcp_timer_t timer;                  /* the client's timer, in the event
                                           loop */
    apr_uint32_t index;                 /* index in the poller's table; 0 if
                                           the socket is not polled */
    unsigned queued:1;
    unsigned own:1;                     /* 1 while the client's own thread
                                           serves the client instead of the
                                           event loop */
    unsigned recall:1;                  /* 1 while the client's own thread
                                           waits until the event loop stops
                                           serving the client */
    unsigned ahead:1;                   /* 1 if the snapshot was made before
                                           the call that will use it */

    /* members below: used without mod_mcp_lock() by the thread that serves the
     * client; so their bit-fields are separate from those above, and share no
     * word with them */
    apr_bucket_brigade *bb;
    apr_bucket_brigade *head;           /* response head that
                                           mod_mcp_stream_filter.c holds back;
                                           NULL if that filter was not added */
    mod_mcp_backend_request_t *over;    /* a backend request of the client's
                                           thread, ended but not freed; or
                                           NULL */
    mod_mcp_remains_t remains;          /* parts of the thread's previous
                                           backend request, to be released
                                           under mod_mcp_lock() */
    apr_off_t expected;                 /* Content-Length of the request,
                                           bytes; -1 if unknown */
    char *space;                        /* memory for a request body of
                                           "expected" bytes, or NULL */
    char *buf;                          /* buffer of the stream; NULL while
                                           the stream is idle */
    apr_size_t size;                    /* size of buf, or of the next buffer
                                           if buf is NULL, bytes */
    apr_time_t suspended;               /* time of suspension, mod_mcp_now();
                                           0 while the client has a thread */
    const mod_mcp_event_t *mpm;         /* the MPM's data of the connection at
                                           the time of suspension */
    apr_time_t held;                    /* mod_mcp_now() when the client's
                                           thread began to wait for work; 0
                                           after output */
    const char *rest;                   /* unsent rest of a response's body */
    apr_size_t left;                    /* bytes in rest */
    mod_mcp_output_e output;
    unsigned patient:1;                 /* 1 if the event loop has sent the
                                           response and waits until the
                                           client's own thread has ended its
                                           backend request */
    unsigned blocked:1;                 /* 1 if the socket's buffer is full */
    unsigned bypass:1;                  /* 1 while a stream bypasses httpd's
                                           core output filter */
};

/*
 * Creates the client of a request, in state ATTENDED.  Returns NULL when out
 * of memory.
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

/*
 * Changes client->output, and logs the change at level trace1.
 * No other function writes client->output.
 */
void mod_mcp_client_set_output(mod_mcp_client_t *client,
    mod_mcp_output_e output);

/* Returns 1 if a stream has begun and can continue. */
static APR_INLINE int mod_mcp_client_streams(const mod_mcp_client_t *client)
{
    return client->output == MOD_MCP_STREAM_BEGUN
           || client->output == MOD_MCP_STREAMING;
}

/* Returns 1 if all bytes of a stream or response were passed to the filters. */
static APR_INLINE int mod_mcp_client_finished(const mod_mcp_client_t *client)
{
    return client->output == MOD_MCP_STREAMED
           || client->output == MOD_MCP_RESPONDED;
}

/* The functions below are called under mod_mcp_lock(). */

/* Returns 1 if the client's own thread serves the client or waits for work,
 * and so runs no backend request. */
static APR_INLINE int mod_mcp_client_attended(const mod_mcp_client_t *client)
{
    return client->state == MOD_MCP_ATTENDED
           || client->state == MOD_MCP_HOLDING;
}

/*
 * Changes the state and logs the change at level trace1.  No other function
 * writes the state.
 */
void mod_mcp_client_set_state(mod_mcp_client_t *client, mod_mcp_state_e state);

/*
 * Adds work (MOD_MCP_RESPOND, ...) for the client and wakes the thread that
 * serves the client. client may be NULL.
 */
void mod_mcp_client_notify(mod_mcp_client_t *client, unsigned what);

/*
 * For the client's own thread, at the end of its backend request: takes the
 * client back from the event loop, and waits if the event loop is serving it.
 */
void mod_mcp_client_take(mod_mcp_client_t *client);

/*
 * Tells the core that the response is sent, if the client has got all of it.
 * The caller holds the lock.
 */
void mod_mcp_client_sent(mod_mcp_client_t *client);

/*
 * Frees the exchange of a client that does not read any more, so that another
 * consumer can get the stream.
 */
void mod_mcp_client_detach(mod_mcp_client_t *client);

#endif /* MOD_MCP_CLIENT_H */
