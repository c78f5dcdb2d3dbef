/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Sessions at MCP servers with "mcp_upstream session" or "auto" (2025-11-25,
 * basic/transports, "Session Management").
 *
 * A session is opened by the first request of a caller, and shared by all
 * processes: its id is in the zone and, in a cluster, in Redis. A request
 * without a session makes several backend requests, one after the other:
 *
 *     OPEN ---> OPENED ---> CALL ---> CLOSE or CANCEL
 *      ^                      |
 *      +----------------------+  the server has lost the session
 *
 * If the stream of CALL breaks off, RESUME follows, see mcp_upstream_resume.h.
 *
 * With "mcp_upstream auto", a request begins with DISCOVER if the form of the
 * protocol that the server uses was not detected yet. If the server does not
 * serve 2026-07-28, OPEN follows. If the response to OPEN has no session id,
 * CALL follows.
 *
 * A request that finds a session in the zone begins with CALL. A request waits
 * while another one of this process opens its session, see mcp_upstream_wait.h.
 * CLOSE follows only if no other request can use the session, CANCEL only if
 * the call was cancelled. If the request is over while OPEN runs, OPEN
 * continues, see mcp_upstream_wait.h.
 *
 * With mcp_upstream_listen, a GET stream of the session is opened before CALL,
 * see mcp_upstream_listen.h.
 */


#ifndef MCP_UPSTREAM_SESSION_H_INCLUDED
#define MCP_UPSTREAM_SESSION_H_INCLUDED


#include "call/mcp_call.h"
#include "worker/mcp_worker_upstream.h"


/* Time for which an unused session stays in the zone, ms. If the server has
 * dropped the session in the meantime, the next request opens a new one. */
#define MCP_UPSTREAM_SESSION_KEEP   (24 * 3600 * 1000ull)

/* Interval at which the time of expiry of a session that requests use is
 * extended in the zone and in Redis, ms. */
#define MCP_UPSTREAM_SESSION_RENEW  (3600 * 1000ull)

/* Maximum length of a session id, bytes of visible ASCII. */
#define MCP_UPSTREAM_SESSION_ID  256


/* The steps of a request in its session, each with the message that its backend
 * request sends. The current step is the step of the running backend request
 * or, if none runs, of the next one. */
typedef enum {
    MCP_UPSTREAM_STEP_CALL = 0,        /* the client's request */
    MCP_UPSTREAM_STEP_RESUME,          /* HTTP GET, see
                                          mcp_upstream_resume.h */
    MCP_UPSTREAM_STEP_DISCOVER,        /* server/discover */
    MCP_UPSTREAM_STEP_OPEN,            /* initialize */
    MCP_UPSTREAM_STEP_OPENED,          /* notifications/initialized */
    MCP_UPSTREAM_STEP_CANCEL,          /* notifications/cancelled */
    MCP_UPSTREAM_STEP_CLOSE            /* HTTP DELETE */
} mcp_upstream_step_e;


typedef struct mcp_upstream_dropped_s  mcp_upstream_dropped_t;

/* A session that has to be ended at the server, because the server has too many
 * sessions, because another node has opened one for the same caller earlier, or
 * because the server has opened it for server/discover. */
struct mcp_upstream_dropped_s {
    mcp_upstream_dropped_t  *next;
    mcp_str_t                version;
    mcp_str_t                id;
    char                     affinity[MCP_STREAM_TEXT_LEN];
};

/* The session at an MCP server that a request uses. Each request has its own
 * structure, even if several requests share a session. */
struct mcp_upstream_session_s {
    mcp_upstream_step_e  step;
    mcp_upstream_step_e  after;        /* CANCEL or CLOSE while this step is
                                          queued, but its backend request is not
                                          prepared yet; otherwise CALL */
    mcp_upstream_of_e    of;           /* which requests share the session */
    unsigned char        key[MCP_DIGEST_LEN];   /* key of the session's value in
                                                   the zone */
    char                 affinity[MCP_STREAM_TEXT_LEN];  /* the key as text, for
                                                            the variable
                                                            UPSTREAM_AFFINITY */
    mcp_str_t            version;      /* revision that the server has chosen,
                                          static text; empty: the session is not
                                          open yet */
    uint32_t             form;         /* form and revision of the server that
                                          this request has detected; 0: none;
                                          see mcp_upstream_detect.c */
    char                 number[24];   /* text of the JSON-RPC id that the
                                          client's request has in the session,
                                          see mcp_upstream_session_id() */
    size_t               len;          /* length of id; 0: the server has sent
                                          no session id */
    char                 id[MCP_UPSTREAM_SESSION_ID];
    mcp_request_t       *req;          /* the request that uses the session */
    mcp_upstream_session_use_t use;    /* the use of the session in the zone */
    mcp_upstream_dropped_t *dropped;   /* sessions that are ended when this
                                          request is over; NULL: none */
    mcp_upstream_resume_t  *resume;    /* state for resuming a stream that has
                                          ended without the response; NULL: no
                                          stream has */

    /* members of a session that is being opened */
    mcp_upstream_session_t   *next;    /* next one in worker->openings */
    mcp_upstream_session_t  **link;    /* address of the pointer to this
                                          structure in worker->openings; NULL:
                                          not in the list */
    mcp_upstream_waiters_t    waiters; /* requests that wait for the
                                          session */
    uint64_t             alone_until;  /* time, ms, at which the waiting
                                          requests are started even if the
                                          server has not responded to the first
                                          request in the session */

    /* members of a request that waits for a session */
    mcp_upstream_waiters_t   *waits_in;        /* list that has the request:
                                                  session->waiters or
                                                  worker->released; NULL: the
                                                  request does not wait */
    mcp_upstream_session_t   *sibling; /* next one in this list */
    mcp_upstream_session_t  **sibling_link;    /* address of the pointer to this
                                                  structure in this list */
    mcp_fault_e          wake_fault;   /* fault of a request in
                                          worker->released, which then fails
                                          instead of being started; NONE:
                                          none */
    mcp_upstream_lookup_t    *lookup;  /* operation in the cluster for which
                                          the request waits; NULL: none */
    uint64_t             wait_until;   /* time, ms, at which the wait ends: a
                                          request that waits for the session
                                          then fails, a request that waits for
                                          the cluster continues. 0: the request
                                          does not wait. UINT64_MAX: the request
                                          waits for the GET stream, which has
                                          its own time limit */

    /* members for the GET stream of the session */
    mcp_upstream_session_t   *listener;        /* next one in
                                                  worker->listeners */
    mcp_upstream_session_t  **listener_link;   /* address of the pointer to this
                                                  structure in
                                                  worker->listeners; NULL: not
                                                  in the list */
    unsigned             listened:1;   /* 1: the request was added to
                                          worker->listeners, and does not wait
                                          for the GET stream again */
    unsigned             listen_waits:1;       /* 1: the request waits for the
                                                  GET stream */
    unsigned             postponed:1;  /* 1: mcp_call_timeout has passed while a
                                          question on the GET stream was
                                          open */

    unsigned             own:1;        /* 1: no other request can use the
                                          session, so this request ends it */
    unsigned             shared:1;     /* 1: other requests may use the
                                          session, which is in the zone or in
                                          Redis */
    unsigned             is_new:1;     /* 1: the session was opened, and has to
                                          be put into Redis and the zone */
    unsigned             looked_up:1;  /* 1: the session was looked up in
                                          Redis */
    unsigned             fetched:1;    /* 1: the session that the request uses
                                          was read from Redis */
    unsigned             declares:1;   /* 1: this server declares the
                                          capabilities of the client in the
                                          session */
    unsigned             opened:1;     /* 1: this request has opened a
                                          session, or tried to */
    unsigned             late:1;       /* 1: the request is over, but its
                                          initialize request continues, see
                                          mcp_upstream_wait.h */
    unsigned             lost:1;       /* 1: the server has lost a session of
                                          this request */
    unsigned             renewed:1;    /* 1: the client's request was sent
                                          again, because the server had lost the
                                          session or did not accept the detected
                                          form of the protocol any more */
    unsigned             reforms:1;    /* 1: the next backend request is written
                                          from the client's request again, and
                                          not from the body of the previous one,
                                          because the server has another form */
    unsigned             continues:1;  /* 1: the next step follows when the
                                          running backend request has ended */
    unsigned             bad_id:1;     /* 1: the server has sent an id that is
                                          empty, too long or not visible
                                          ASCII */
};


/* Creates req->session, without opening a session; does nothing if it exists.
 * Returns MCP_OK or MCP_ERR_MEMORY. */
int mcp_upstream_session_create(mcp_request_t *req);

/*
 * Finds the session for the next backend request, or prepares the step that
 * opens one. form is MCP_UPSTREAM_SESSION or, if the form of the server has to
 * be detected, MCP_UPSTREAM_AUTO.
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN       the request waits for the session, see mcp_upstream_wait.h,
 *                   for the cluster, or for the GET stream of the session, see
 *                   mcp_upstream_listen.h
 *   MCP_ERR_MEMORY
 */
int mcp_upstream_session_begin(mcp_request_t *req, mcp_upstream_e form);

/*
 * Removes the caller's session at an MCP server, the target of the request,
 * from the zone and the cluster. Makes CLOSE the next step of the request, by
 * which the request ends the session at the server.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the caller has no session at this server, or other
 *                      clients of its principal may use the session
 *   MCP_ERR_MEMORY
 */
int mcp_upstream_session_close(mcp_request_t *req);

/* Sets the body, the variables and the method of the next backend request.
 * Returns MCP_OK or MCP_ERR_MEMORY. */
int mcp_upstream_session_prepare(mcp_request_t *req);

/*
 * Processes a message of the server if it concerns the session and not the
 * client's request.
 *
 * Returns 1 if the message is processed, or 0: the caller has to process msg,
 * which is the response to the client's request or a fault that the client
 * gets.
 */
int mcp_upstream_session_message(mcp_request_t *req, mcp_backend_msg_t *msg);

/* Called with the result of initialize. Stores the revision that the server has
 * chosen in session->version and, with "mcp_upstream auto", the detected form
 * of the server. Returns 1 if the server was detected as one without sessions,
 * otherwise 0. */
int mcp_upstream_session_describe(mcp_request_t *req, mcp_str_t result);

/* Makes step the step of the next backend request. */
void mcp_upstream_session_set_step(mcp_request_t *req,
    mcp_upstream_step_e step);

/* Returns the JSON-RPC id with which the MCP server gets the request; "text" is
 * memory for the id. This server chooses the id, because two clients that share
 * a session may use the same id. */
mcp_str_t mcp_upstream_session_id(const mcp_request_t *req, char text[24]);

/* Sets the variable $mcp_upstream_state, also in the exchange of the client
 * that waits for the response. */
void mcp_upstream_put_state(mcp_request_t *req, mcp_str_t state);

/* Sets the body of the next backend request to a text that this server has
 * written. method is the JSON-RPC method in the text, empty if there is
 * none. */
void mcp_upstream_session_body(mcp_request_t *req, mcp_str_t body,
    mcp_str_t method);

/* Called when the request times out. If the request is opening a session, the
 * requests that wait for this session fail as well. */
void mcp_upstream_session_timeout(mcp_request_t *req);

/* Called for a request with a session when the request is over, when one of its
 * backend requests has ended, and when the last POST of its call has ended
 * (mcp_upstream_respond.h). Starts the step CANCEL or CLOSE if the request is
 * over and needs one. CLOSE waits until all POSTs have ended, because the
 * server would reject a response after CLOSE. */
void mcp_upstream_session_end(mcp_request_t *req);

/* For a request with a session: if the step CANCEL or CLOSE is queued
 * (session->after), makes this step the current one and returns 1. Otherwise
 * returns 0. */
int mcp_upstream_session_start_after(mcp_request_t *req);

/* Returns 1 if the last backend request that sent or resumed the client's
 * request has ended. A backend request that cancels the call or ends the
 * session may follow, and does not count. */
int mcp_upstream_session_was_call(const mcp_request_t *req);

/* Returns 1 if the next backend request belongs to a session, or to a step that
 * opens one. */
int mcp_upstream_session_is_used(const mcp_request_t *req);

/* Returns 1 if the running backend request sends the client's request or
 * resumes its stream, or the request uses no session. */
int mcp_upstream_session_is_call(const mcp_request_t *req);


/* --- sessions in the zone (mcp_upstream_session_shared.c) --- */

/* Sets the members "key", "of", "own" and "declares" of *session for the
 * request. Returns MCP_OK or MCP_ERR_MEMORY. */
int mcp_upstream_session_key(mcp_request_t *req,
    mcp_upstream_session_t *session);

/* Reads the session of a request from the zone. The zone and the cluster then
 * keep the session for another day, and the session is in use until the request
 * is over. Returns 1, or 0 if the zone has no session for the request. */
int mcp_upstream_session_find(mcp_request_t *req);

/* Called when a request with a session is over: the request does not use its
 * session in the zone any more. */
void mcp_upstream_session_leave(mcp_upstream_session_t *session);

/*
 * Called when a session was opened for a request: lets other requests use it.
 * Adds the session to the zone or, in a cluster, sets session->is_new, because
 * mcp_upstream_cluster_put() has to come first. If the client has ended its
 * session with this server, sets session->own instead.
 */
void mcp_upstream_session_share(mcp_request_t *req);

/* Called when a session has ended, or this server is about to end it. Removes
 * the session from its request, and from the zone and the cluster unless these
 * have a newer session. */
void mcp_upstream_session_forget(mcp_request_t *req);

/* Called for a session id in the response to server/discover: adds the session
 * to session->dropped. A server may open a session for each request without a
 * session id, such as version 1 of the Python SDK, and keep it for ever. */
void mcp_upstream_session_drop_discovered(mcp_request_t *req, mcp_str_t id);

/* Replaces the session of a request that is over with the first one of
 * session->dropped, so that the request ends that session at the server.
 * Returns 1, or 0 if there is no such session. */
int mcp_upstream_session_take_dropped(mcp_upstream_session_t *session);


/* --- sessions in a cluster (mcp_upstream_session_shared.c) --- */

/*
 * Start an operation, and make the request wait for its result:
 *
 * - mcp_upstream_cluster_find(): looks up the session of the request, once;
 *
 * - mcp_upstream_cluster_put(): puts a new session of the request into Redis,
 *   or replaces it by the session of another node that was faster;
 *
 * - mcp_upstream_cluster_take(): removes the session from Redis, so that the
 *   request can end it at the server. If Redis has no session, the request is
 *   finished.
 *
 * Return MCP_AGAIN, or MCP_OK if there is nothing to wait for.
 */
int mcp_upstream_cluster_find(mcp_request_t *req);
int mcp_upstream_cluster_put(mcp_request_t *req);
int mcp_upstream_cluster_take(mcp_request_t *req);

/* Called when a request is over: the request no longer waits. A session that is
 * being put into Redis is removed again. */
void mcp_upstream_cluster_leave(mcp_upstream_session_t *session);

/* Called when the deadline of a request with a session has passed. If the
 * request waits for the cluster, continues it without the result and returns
 * 1; otherwise returns 0. */
int mcp_upstream_cluster_timeout(mcp_request_t *req);


#endif /* MCP_UPSTREAM_SESSION_H_INCLUDED */
