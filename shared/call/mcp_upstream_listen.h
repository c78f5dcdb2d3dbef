/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The GET stream of a session at an MCP server, with mcp_upstream_listen
 * (2025-11-25, basic/transports, "Listening for Messages from the Server"). On
 * this stream a server may send requests and notifications that belong to no
 * request of its client.
 *
 * The stream is opened before the client's request is sent, if the client has
 * declared that it answers questions, and serves all requests of the session in
 * this process. It ends when none of them is left:
 *
 *     OPENING ---> OPEN ---> PAUSE ---> OPENING   the server has closed it
 *     OPENING ---> PAUSE                          HTTP 409
 *     any state ---> OVER    no request uses it, or the server has refused it,
 *                            or has sent something else
 *
 * The request waits until the server has responded to GET, at most
 * MCP_UPSTREAM_LISTEN_WAIT. It is then sent, whether there is a stream or not.
 *
 * A question on the stream belongs to the only request that uses it. If there
 * are several, it gets an error, because the protocol does not name the one.
 *
 * The backend request belongs to the call that has opened the stream, which is
 * not freed before it has ended.
 */


#ifndef MCP_UPSTREAM_LISTEN_H_INCLUDED
#define MCP_UPSTREAM_LISTEN_H_INCLUDED


#include "call/mcp_upstream_session.h"
#include "http/mcp_sse.h"


/* Maximum time for which requests wait for the stream, ms. */
#define MCP_UPSTREAM_LISTEN_WAIT    2000

/* Time after which a stream is opened again that the server has closed, without
 * a field "retry"; its minimum with this field, and its maximum, ms. The time
 * doubles after each stream that has brought no message. */
#define MCP_UPSTREAM_LISTEN_AGAIN   1000u
#define MCP_UPSTREAM_LISTEN_MIN     100u
#define MCP_UPSTREAM_LISTEN_LONG    30000u

/* Number of successive streams without a message after which none is opened. A
 * stream that has lasted for MCP_UPSTREAM_LISTEN_LASTS, ms, does not count. */
#define MCP_UPSTREAM_LISTEN_TRIES   8
#define MCP_UPSTREAM_LISTEN_LASTS   5000

/* Time after which a stream is opened again if the server has responded with
 * HTTP 409, because it has not noticed the end of the last one, ms. It doubles
 * each time. After MCP_UPSTREAM_LISTEN_BUSY repetitions no request waits any
 * longer: another process may have a stream of the session. GET is repeated
 * after the times above then, because that stream may end. */
#define MCP_UPSTREAM_LISTEN_SOON    25u
#define MCP_UPSTREAM_LISTEN_BUSY    4


typedef enum {
    MCP_UPSTREAM_LISTEN_OPENING = 0,   /* the server has not responded yet */
    MCP_UPSTREAM_LISTEN_OPEN,
    MCP_UPSTREAM_LISTEN_PAUSE,         /* will be opened again */
    MCP_UPSTREAM_LISTEN_OVER
} mcp_upstream_listen_e;


struct mcp_upstream_listen_s {
    mcp_backend_request_t   breq;
    mcp_upstream_listen_t  *next;      /* next one in worker->listens */
    mcp_upstream_listen_t **link;      /* address of the pointer to this one in
                                          that list; NULL: not in it */
    mcp_upstream_listen_t  *sibling;   /* next one of call->listens */
    unsigned char           key[MCP_DIGEST_LEN];       /* key of the session */
    size_t                  len;       /* length of id */
    char                    id[MCP_UPSTREAM_SESSION_ID];       /* the session */
    mcp_upstream_listen_e   state;
    mcp_backend_t          *backend;   /* decoder; NULL: none */
    mcp_backend_msg_t       msg;       /* the held message, if "held" is set */
    mcp_request_t          *asked;     /* request to which the held question
                                          belongs; NULL: the message is none, or
                                          "orphan" is set */
    uint64_t                at;        /* OPENING: when the requests are sent
                                          that wait; OPEN: when the held message
                                          is processed again; PAUSE: when the
                                          stream is opened again; OVER: when
                                          this is freed, ms; 0: never */
    uint64_t                deadline;  /* until when requests wait, ms */
    uint64_t                began;     /* when it was opened last, ms */
    uint64_t                hold;      /* how long the held message waits, ms */
    unsigned                tries;     /* streams since the last message */
    unsigned                busy_tries;        /* responses HTTP 409 in a row */
    size_t                  last_len;  /* length of last */
    char                    last[MCP_SSE_ID];  /* id of the last event */
    unsigned                active:1;  /* 1: the glue runs the backend
                                          request */
    unsigned                busy:1;    /* 1: the server has responded with HTTP
                                          409 */
    unsigned                held:1;    /* 1: msg has to be processed again */
    unsigned                orphan:1;  /* 1: the request has ended to which the
                                          held question belonged */
    unsigned                ended:1;   /* 1: the stream has ended, and msg is
                                          still held */
    unsigned                starved:1; /* 1: bytes were rejected, so the glue
                                          needs a RESUME action */
};


/*
 * Called before the client's request is sent in a session. Returns MCP_OK: it
 * is sent now, or
 *   MCP_AGAIN  it waits for the stream, and is started again
 */
int mcp_upstream_listen_begin(mcp_request_t *req);

/* Called when a request is over or its session is lost. Ends the stream if no
 * other request uses it. */
void mcp_upstream_listen_leave(mcp_upstream_session_t *session);

/* The functions of mcp_backend_request.h for such a backend request. */
void mcp_upstream_listen_head(mcp_backend_request_t *breq, int status,
    mcp_str_t content_type);
size_t mcp_upstream_listen_data(mcp_backend_request_t *breq, const char *data,
    size_t len);
void mcp_upstream_listen_end(mcp_backend_request_t *breq, mcp_fault_e fault,
    const char *detail);

/* Returns 1 if the server of a request has responded to GET with HTTP 405
 * within mcp_upstream_check (mcp_upstream_listen_refused.c). */
int mcp_upstream_listen_is_refused(const mcp_request_t *req);

/* Stores that the server of a request has responded with HTTP 405. */
void mcp_upstream_listen_remember(const mcp_request_t *req);

/* Returns when one of the streams of a call has to be handled, ms, or
 * UINT64_MAX. */
uint64_t mcp_upstream_listen_due(const mcp_call_t *call);

/* Handles those that are due at the time now, ms. */
void mcp_upstream_listen_timer(mcp_call_t *call, uint64_t now);


#endif /* MCP_UPSTREAM_LISTEN_H_INCLUDED */
