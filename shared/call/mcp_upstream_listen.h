/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The GET stream of a session at an MCP server, with mcp_upstream_listen
 * (2025-11-25, basic/transports, "Listening for Messages from the Server"). On
 * this stream a server may send requests and notifications that belong to no
 * request of its client.
 *
 * If the client has declared that it answers questions, the stream is opened
 * before the client's request is sent. All requests of the session in this
 * process share the stream, which ends with the last of these requests. Its
 * states are:
 *
 *     OPENING ---> OPEN ---> PAUSE ---> OPENING   the server has closed it
 *     OPENING ---> PAUSE                          HTTP 409
 *     any state ---> OVER    no request uses the stream, the server has refused
 *                            GET, or the server has sent an invalid message
 *
 * A request waits until the server has responded to GET, at most for
 * MCP_UPSTREAM_LISTEN_WAIT. Then it is sent, even if there is no stream.
 *
 * A question on the stream does not show which request it belongs to, but all
 * requests come from one client: the client gets the question on the stream of
 * the newest request that can have a further question. If this request ends
 * before the client has answered, the question is withdrawn, and sent again on
 * the stream of another request. If there is none, the server gets an error.
 * While a question is open, mcp_call_timeout runs for none of the requests.
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

/* After TRIES + 1 successive streams on which no message has arrived, no
 * further stream is opened. A stream that has lasted for LASTS, ms, restarts
 * the count. */
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

/* Time after which a question is sent again if the client's stream had no room
 * for it, ms. */
#define MCP_UPSTREAM_LISTEN_QUESTION  50u


typedef enum {
    MCP_UPSTREAM_LISTEN_OPENING = 0,   /* the server has not responded yet */
    MCP_UPSTREAM_LISTEN_OPEN,
    MCP_UPSTREAM_LISTEN_PAUSE,         /* the stream will be opened again */
    MCP_UPSTREAM_LISTEN_OVER
} mcp_upstream_listen_e;


struct mcp_upstream_listen_s {
    mcp_backend_request_t   breq;
    mcp_upstream_listen_t  *next;      /* next stream in worker->listens */
    mcp_upstream_listen_t **link;      /* address of the pointer to this
                                          structure in worker->listens; NULL:
                                          not in the list */
    mcp_upstream_listen_t  *sibling;   /* next stream in call->listens */
    unsigned char           key[MCP_DIGEST_LEN];       /* key of the session */
    size_t                  len;       /* length of id */
    char                    id[MCP_UPSTREAM_SESSION_ID];       /* id of the
                                                                  session */
    char                    affinity[MCP_STREAM_TEXT_LEN];     /* that of the
                                                                  session */
    mcp_upstream_listen_e   state;
    mcp_backend_t          *backend;   /* decoder; NULL: none */
    mcp_backend_msg_t       msg;       /* the held message, if "held" is set */
    mcp_request_t          *chosen;    /* request on whose stream the held
                                          question will be sent; NULL: none is
                                          chosen */
    mcp_upstream_question_t *questions;        /* questions that will be sent
                                                  again, oldest first */
    uint64_t                questions_at; /* when "questions" are sent, ms */
    uint64_t                at;        /* time of the next step, ms; 0: none.
                                          OPENING: the waiting requests are sent
                                          without the stream; OPEN: the held
                                          message is processed again; PAUSE: the
                                          stream is opened again; OVER: this
                                          structure is freed */
    uint64_t                deadline;  /* until when requests wait for the
                                          stream, ms */
    uint64_t                began;     /* when the server last responded to GET
                                          with a stream, ms */
    uint64_t                hold;      /* time after which the held message is
                                          processed again, ms */
    unsigned                tries;     /* number of successive streams on which
                                          no message has arrived */
    unsigned                busy_tries;        /* number of successive responses
                                                  with HTTP 409 */
    size_t                  last_len;  /* length of "last" */
    char                    last[MCP_SSE_ID];  /* id of the last event */
    unsigned                active:1;  /* 1: the backend request is queued or
                                          runs */
    unsigned                busy:1;    /* 1: the server has responded to the
                                          last GET with HTTP 409 */
    unsigned                held:1;    /* 1: msg has to be processed again */
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

/* Called when a request is over or its session is lost. Its open questions that
 * arrived on the GET stream are sent again on the stream of another request, or
 * the server gets errors. Ends the GET stream of the session if no other
 * request uses the stream. */
void mcp_upstream_listen_leave(mcp_upstream_session_t *session);

/* Called before a request with a session gets its response. Cancels its open
 * questions that arrived on the GET stream at the client, if no other request
 * can forward them and the client's stream has room. The server gets errors
 * when the request is over, see mcp_upstream_listen_leave(). */
void mcp_upstream_listen_ends(mcp_request_t *req);

/* Returns the latest deadline of the open questions from GET streams of the
 * session that a request uses, ms; 0: no question is open. A question remains
 * open when its GET stream has failed. */
uint64_t mcp_upstream_listen_questions_until(const mcp_request_t *req);

/* Called when the session has no open question from a GET stream any more.
 * Starts mcp_call_timeout again for requests whose timeout was postponed. */
void mcp_upstream_listen_answered(mcp_request_t *req);

/* Does the same as mcp_backend_request_head(), mcp_backend_request_data() and
 * mcp_backend_request_end(), for the backend request of a stream. */
void mcp_upstream_listen_head(mcp_backend_request_t *breq, int status,
    mcp_str_t content_type);
size_t mcp_upstream_listen_data(mcp_backend_request_t *breq, const char *data,
    size_t len);
void mcp_upstream_listen_end(mcp_backend_request_t *breq, const char *detail);

/* Returns the time of the next step of a call's GET streams, ms, or UINT64_MAX
 * if there is none. */
uint64_t mcp_upstream_listen_due(const mcp_call_t *call);

/* Executes the next steps of a call's GET streams that are due at the time now,
 * ms. */
void mcp_upstream_listen_timer(mcp_call_t *call, uint64_t now);


/* --- functions of mcp_upstream_listen*.c for each other --- */

/* Returns the stream of a session in this process, or NULL. */
mcp_upstream_listen_t *mcp_upstream_listen_find(
    const mcp_upstream_session_t *session);

/* Iterates over the requests that use a stream: returns the first one if
 * "after" is NULL, otherwise the one that follows the request after->req.
 * Returns NULL if there is none. */
mcp_request_t *mcp_upstream_listen_user(const mcp_upstream_listen_t *listen,
    const mcp_upstream_session_t *after);

/* Returns the request for which the stream was opened, even if that request is
 * over. */
mcp_request_t *mcp_upstream_listen_opener(const mcp_upstream_listen_t *listen);

/* Ends a stream and logs the reason. Requests that wait for the stream are sent
 * without it. */
void mcp_upstream_listen_fail(mcp_upstream_listen_t *listen,
    mcp_log_level_e level, const char *why);

/* Processes the held message, then the messages of the decoder. */
void mcp_upstream_listen_process(mcp_upstream_listen_t *listen);

/*
 * Called for a request that no longer uses a stream. Moves its open questions
 * that arrived on the GET stream to listen->questions, from which they are sent
 * again on the stream of another request. If no other request can forward them,
 * or listen is NULL because the GET stream is over, the server gets errors
 * instead.
 */
void mcp_upstream_listen_take_questions(mcp_upstream_listen_t *listen,
    mcp_request_t *req);

/* Sends the questions in listen->questions again, on streams of requests that
 * use the GET stream. If no request can forward them, the server gets
 * errors. */
void mcp_upstream_listen_question_again(mcp_upstream_listen_t *listen);

/* Sends the server an error for each question in listen->questions, and cancels
 * the questions at the client if the stream of req has room; req may be
 * NULL. */
void mcp_upstream_listen_refuse_questions(mcp_upstream_listen_t *listen,
    mcp_request_t *req);

/* Responds to the held message and the messages behind it: to a ping with a
 * result, to other requests with an error. */
void mcp_upstream_listen_refuse_held(mcp_upstream_listen_t *listen);


#endif /* MCP_UPSTREAM_LISTEN_H_INCLUDED */
