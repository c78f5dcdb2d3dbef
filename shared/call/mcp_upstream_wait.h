/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Requests that wait for a session at an MCP server. In each process, one
 * request opens the session of a caller, and the caller's other requests wait,
 * so that each caller has only one session.
 *
 * The first request in a new session is sent alone: a server that stores its
 * sessions without locks may lose the session if it gets several requests at
 * once. The other requests are sent when the server has begun to respond to the
 * first one, at most MCP_UPSTREAM_ALONE_TIME later.
 */


#ifndef MCP_UPSTREAM_WAIT_H_INCLUDED
#define MCP_UPSTREAM_WAIT_H_INCLUDED


#include "call/mcp_upstream_session.h"


/* Number of requests that are started at once when their session is open. The
 * next ones follow 1 ms later, so that the process is not blocked. */
#define MCP_UPSTREAM_RELEASE     64

/* Maximum time for which a request waits until another one has opened the
 * session, ms. */
#define MCP_UPSTREAM_WAIT_TIME   10000

/* Maximum time for which other requests wait after the first request in a new
 * session was sent, ms. */
#define MCP_UPSTREAM_ALONE_TIME  1000


/* Adds a session to worker->openings, the list of sessions that are being
 * opened; does nothing if the session is in the list. */
void mcp_upstream_wait_list(mcp_upstream_session_t *session);

/*
 * Makes a request wait if another request of this process is opening the same
 * session.
 *
 * Returns MCP_OK if no request is opening the session, or
 *   MCP_AGAIN      the request waits: it is started again when the other
 *                  request has opened the session, and fails if the session
 *                  cannot be opened
 *
 * The number of requests that wait has no limit of its own: a client waits for
 * each of them, or each has a stream, and mcp_max_session_streams and
 * mcp_quota_streams limit the streams.
 */
int mcp_upstream_wait_begin(mcp_upstream_session_t *session);

/* Removes a session from worker->openings. Starts the requests that wait for
 * the session or, if fault is not MCP_FAULT_NONE, lets them fail with this
 * fault: MCP_UPSTREAM_RELEASE of them at once, the other ones later. Does
 * nothing if the session is not in the list. */
void mcp_upstream_wait_release(mcp_upstream_session_t *session,
    mcp_fault_e fault);

/* Called when a request is over: the request no longer waits, and requests that
 * wait for its session are started. These continue to wait if the initialize
 * request of the session continues (session->late). */
void mcp_upstream_wait_leave(mcp_upstream_session_t *session);

/* Starts a request that has waited or, if fault is not MCP_FAULT_NONE, lets it
 * fail. Does nothing if its call is over. */
void mcp_upstream_wait_start(mcp_request_t *req, mcp_fault_e fault);

/* Called when the server has begun to respond with a success status. If this
 * was the first request in its session, starts the requests that wait for the
 * session. */
void mcp_upstream_wait_head(mcp_request_t *req);

/* Returns the time at which requests that wait for the session of req have to
 * be started, ms. Returns UINT64_MAX if req is not the first request in the
 * session, if req is not sent yet, or if the waiting requests were started
 * already. */
uint64_t mcp_upstream_wait_due(const mcp_request_t *req);

/* Starts the requests that wait for the session of req, if this is due at the
 * time now, ms. */
void mcp_upstream_wait_timer(mcp_request_t *req, uint64_t now);

/* Returns 1 if the request waits for a session, for its GET stream, or for the
 * cluster. */
int mcp_upstream_waits(const mcp_request_t *req);

/* Called when the deadline of a request has passed. If the request waits for a
 * session, fails the request and returns 1. If the request waits for the
 * cluster, continues it without a result and returns 1. Otherwise returns 0. */
int mcp_upstream_wait_timeout(mcp_request_t *req);


/* --- the response to initialize --- */

/*
 * The initialize request of a request that is over: its client has cancelled
 * it, has disconnected or has ended its session, or it has timed out. The MCP
 * server may have opened the session already, but only the head of the response
 * has the session id. So the backend request continues until its response has
 * arrived. Then the first request that waits for the session gets the session.
 * If none waits, the step CLOSE ends the session at the server.
 */


/* Time for which an initialize request may continue when its request is over,
 * ms. */
#define MCP_UPSTREAM_OPEN_GRACE  10000


/* Called when a request is over and its backend request would be aborted. If
 * the backend request is initialize, and its response has to arrive first, sets
 * session->late and returns 1. Otherwise returns 0: the caller has to abort the
 * backend request. */
int mcp_upstream_open_continue(mcp_request_t *req);

/* Returns the time for which the backend request of a request may continue when
 * the request is over, ms: MCP_UPSTREAM_OPEN_GRACE or MCP_CALL_GRACE. */
uint64_t mcp_upstream_open_grace(const mcp_request_t *req);

/* Do the same as mcp_backend_request_data() and mcp_backend_request_end() for
 * an initialize request whose request is over. For any other backend request,
 * they do nothing, and mcp_upstream_open_data() returns 0 instead of 1. */
int  mcp_upstream_open_data(mcp_backend_request_t *breq, const char *data,
    size_t len);
void mcp_upstream_open_end(mcp_request_t *req, mcp_fault_e fault,
    const char *detail);


#endif /* MCP_UPSTREAM_WAIT_H_INCLUDED */
