/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Resuming the stream of a call at an MCP server of a revision up to 2025-11-25
 * (2025-11-25, basic/transports, "Resumability and Redelivery"). A server that
 * sends ids with its events may end the stream before the response, so that its
 * client polls; or the connection may break. In both cases the next backend
 * request is a GET with the id of the last event. The server then continues the
 * stream, and does not execute the call a second time.
 *
 *     CALL ---> wait ---> RESUME ---> ... ---> response
 *                ^          |
 *                +----------+  the stream has ended again
 *
 * The wait has the length in the server's field "retry", or one second. It
 * doubles after each GET that brings no new event. The call fails with the
 * fault of its first stream if the server refuses a GET, or after
 * MCP_UPSTREAM_RESUME_TRIES successive GET requests without a new event.
 * mcp_call_timeout limits the call and all its GET requests together.
 */


#ifndef MCP_UPSTREAM_RESUME_H_INCLUDED
#define MCP_UPSTREAM_RESUME_H_INCLUDED


#include "call/mcp_upstream_session.h"


/* Number of successive GET requests without a new event or a long stream after
 * which the call fails. */
#define MCP_UPSTREAM_RESUME_TRIES  8

/* Default and maximum of the time before a GET request, ms. */
#define MCP_UPSTREAM_RESUME_WAIT   1000u
#define MCP_UPSTREAM_RESUME_LONG   30000u

/* A stream that has lasted for this time counts as progress, ms. */
#define MCP_UPSTREAM_RESUME_LASTS  5000


/* State of a call whose stream has ended without the response. */
struct mcp_upstream_resume_s {
    mcp_fault_e   fault;       /* fault with which the first stream ended */
    unsigned      tries;       /* number of GET requests since the last new
                                  event or long stream */
    uint64_t      at;          /* when the next GET request starts, ms; 0: one
                                  runs, or the response has arrived */
    uint64_t      began;       /* when the last GET request started, ms;
                                  UINT64_MAX: none has started */
    uint64_t      wait;        /* last value of the server's field "retry", ms;
                                  0: none */
    size_t        len;         /* length of id */
    char          id[MCP_SSE_ID];     /* id of the last event */
};


/*
 * Processes a message for a request. If the message is the fault with which the
 * stream ended, schedules a GET request. If the stream cannot be resumed, msg
 * becomes the fault of the first stream.
 *
 * Returns 1 if the message is processed, or 0: the caller has to process msg.
 */
int mcp_upstream_resume(mcp_request_t *req, mcp_backend_msg_t *msg);

/* Prepares a GET request. If *version is empty, because the request has no
 * session, sets it to the revision of the server. Returns MCP_OK or
 * MCP_ERR_MEMORY. */
int mcp_upstream_resume_prepare(mcp_request_t *req, mcp_str_t *version);

/* Returns when the next GET request starts, ms, or UINT64_MAX if none is
 * scheduled. */
uint64_t mcp_upstream_resume_due(const mcp_request_t *req);

/* Starts the next GET request if it is due at the time now, ms. */
void mcp_upstream_resume_timer(mcp_request_t *req, uint64_t now);

/* Called when the request is over. If its next GET request has not started, and
 * the request has a session, the call is cancelled at the server. */
void mcp_upstream_resume_leave(mcp_request_t *req);

/* Returns 1 if a GET request has brought the response. The server may keep that
 * GET request open. */
int mcp_upstream_resume_is_done(const mcp_request_t *req);


#endif /* MCP_UPSTREAM_RESUME_H_INCLUDED */
