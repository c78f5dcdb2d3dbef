/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The GET stream of a session at an MCP server, with mcp_upstream_listen
 * (2025-11-25, basic/transports, "Listening for Messages from the Server"). On
 * this stream a server may send requests and notifications that belong to no
 * request of its client.
 *
 * If the client has declared that it answers questions, the stream is opened
 * before the client's request is sent. All requests of the session in this
 * process share the stream. It ends with the last of these requests:
 *
 *     OPENING ---> OPEN ---> PAUSE ---> OPENING   the server has closed it
 *     OPENING ---> PAUSE                          HTTP 409
 *     any state ---> OVER    no request uses the stream, the server has refused
 *                            GET, or the server has sent an invalid message
 *
 * A request waits until the server has responded to GET, at most for
 * MCP_UPSTREAM_LISTEN_WAIT. Then it is sent, even if there is no stream.
 *
 * If exactly one request uses the stream, a question on the stream belongs to
 * that request. If several requests use the stream, the question could belong
 * to any of them, so the server gets an error as the response.
 *
 * The backend request of the stream belongs to the call that has opened the
 * stream. This call is not freed before the backend request has ended.
 */


#ifndef MCP_UPSTREAM_LISTEN_H_INCLUDED
#define MCP_UPSTREAM_LISTEN_H_INCLUDED


#include "call/mcp_upstream_session.h"
#include "http/mcp_sse.h"


/* Maximum time for which requests wait for the stream, ms. */
#define MCP_UPSTREAM_LISTEN_WAIT    2000

/* Time after which a stream is opened again if the server has closed it, ms:
 * AGAIN is the time if the server has sent no field "retry", MIN the minimum if
 * the server has sent one, LONG the maximum. The time doubles after each stream
 * on which no message has arrived. */
#define MCP_UPSTREAM_LISTEN_AGAIN   1000u
#define MCP_UPSTREAM_LISTEN_MIN     100u
#define MCP_UPSTREAM_LISTEN_LONG    30000u

/* After TRIES successive streams on which no message has arrived, no further
 * stream is opened. A stream that has lasted for LASTS, ms, does not count. */
#define MCP_UPSTREAM_LISTEN_TRIES   8
#define MCP_UPSTREAM_LISTEN_LASTS   5000

/*
 * Time after which GET is repeated if the server has responded with HTTP 409,
 * ms. The server may not have noticed yet that the previous stream has ended,
 * so the first repetitions follow soon; the time doubles each time.
 *
 * After MCP_UPSTREAM_LISTEN_BUSY repetitions, another process probably has a
 * stream of the session: requests are sent without waiting for GET. GET is then
 * repeated after the times for a closed stream, because the stream of the other
 * process may end.
 */
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
    mcp_upstream_listen_t **link;      /* address of the pointer to this
                                          structure in worker->listens; NULL:
                                          not in the list */
    mcp_upstream_listen_t  *sibling;   /* next one of call->listens */
    unsigned char           key[MCP_DIGEST_LEN];       /* key of the session */
    size_t                  len;       /* length of id */
    char                    id[MCP_UPSTREAM_SESSION_ID];       /* the session */
    mcp_upstream_listen_e   state;
    mcp_backend_t          *backend;   /* decoder; NULL: none */
    mcp_backend_msg_t       msg;       /* the held message, if "held" is set */
    mcp_request_t          *asked;     /* request to which the held question
                                          belongs; NULL: no question is held, or
                                          "orphan" is set */
    uint64_t                at;        /* time of the next step, ms; 0: none.
                                          OPENING: the waiting requests are sent
                                          without the stream; OPEN: the held
                                          message is processed again; PAUSE: the
                                          stream is opened again; OVER: this
                                          structure is freed */
    uint64_t                deadline;  /* until when requests wait, ms */
    uint64_t                began;     /* when the server last responded to GET
                                          with a stream, ms */
    uint64_t                hold;      /* time after which the held message is
                                          processed again, ms */
    unsigned                tries;     /* number of streams since the last
                                          message */
    unsigned                busy_tries;        /* number of successive responses
                                                  with HTTP 409 */
    size_t                  last_len;  /* length of "last" */
    char                    last[MCP_SSE_ID];  /* id of the last event */
    unsigned                active:1;  /* 1: the glue runs the backend
                                          request */
    unsigned                busy:1;    /* 1: the server has responded with HTTP
                                          409 */
    unsigned                held:1;    /* 1: msg has to be processed again */
    unsigned                orphan:1;  /* 1: the request to which the held
                                          question belonged has ended */
    unsigned                ended:1;   /* 1: the stream has ended, and msg is
                                          still held */
    unsigned                starved:1; /* 1: bytes were rejected, so the glue
                                          needs a RESUME action */
};


/*
 * Called before a client's request is sent in a session. Opens the stream if
 * the request needs one and there is none.
 *
 * Returns MCP_OK if the request is sent now, or
 *   MCP_AGAIN  the request waits for the stream; mcp_upstream_wait_start() is
 *              called for the request later
 */
int mcp_upstream_listen_begin(mcp_request_t *req);

/* Called when a request is over or its session is lost. Ends the stream if no
 * other request uses it. */
void mcp_upstream_listen_leave(mcp_upstream_session_t *session);

/* Does the same as mcp_backend_request_head(), mcp_backend_request_data() and
 * mcp_backend_request_end(), for the backend request of a stream. */
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

/* Returns the time of the next step of a call's streams, ms, or UINT64_MAX. */
uint64_t mcp_upstream_listen_due(const mcp_call_t *call);

/* Executes the next steps of a call's streams that are due at the time now,
 * ms. */
void mcp_upstream_listen_timer(mcp_call_t *call, uint64_t now);


#endif /* MCP_UPSTREAM_LISTEN_H_INCLUDED */
