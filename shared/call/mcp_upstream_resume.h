/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Resuming the stream of a call at an MCP server of a revision up to
 * 2025-11-25 (2025-11-25, basic/transports, "Resumability and Redelivery"). A
 * server that sends ids with its events may end the stream before the
 * response, so that its client polls, or the connection may break. The next
 * backend request then is a GET with the id of the last event, and the server
 * continues the stream. It does not execute the call a second time.
 *
 *     CALL ---> wait ---> RESUME ---> ... ---> response
 *                ^          |
 *                +----------+  the stream has ended again
 *
 * The time to wait is that of the field "retry", otherwise one second; it
 * doubles after each GET that brings nothing. The call fails with the fault of
 * its first stream if the server refuses the GET, or after
 * MCP_UPSTREAM_RESUME_TRIES requests in a row that bring nothing.
 * mcp_call_timeout runs from the beginning of the call.
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


/* The stream of a call that has broken off. */
struct mcp_upstream_resume_s {
    mcp_fault_e   fault;       /* of the first stream */
    unsigned      tries;       /* GET requests since the last progress */
    uint64_t      at;          /* when the next one starts, ms; 0: one runs, or
                                  the response has arrived */
    uint64_t      began;       /* when the last one started, ms */
    uint64_t      wait;        /* value of "retry", ms; 0: none */
    size_t        len;         /* length of id */
    char          id[MCP_SSE_ID];     /* id of the last event */
    char          number[24];  /* memory for the JSON-RPC id */
    unsigned      done:1;      /* 1: the response has arrived */
    unsigned      failed:1;    /* 1: the stream cannot be resumed */
};


/*
 * Processes a message of the server to the request. If its stream has broken
 * off, schedules a GET request. A fault of a GET request becomes the fault of
 * the call.
 *
 * Returns 1 if the message is processed, otherwise 0.
 */
int mcp_upstream_resume(mcp_request_t *req, mcp_backend_msg_t *msg);

/* Prepares a GET request. Sets *version to the revision of the server if the
 * request has no session. Returns MCP_OK or MCP_ERR_MEMORY. */
int mcp_upstream_resume_prepare(mcp_request_t *req, mcp_str_t *version);

/* Returns when the next GET request starts, ms, or UINT64_MAX. */
uint64_t mcp_upstream_resume_due(const mcp_request_t *req);

/* Starts the GET request if that is due at the time now, ms. */
void mcp_upstream_resume_timer(mcp_request_t *req, uint64_t now);

/* Called when the request is over. If it waits for its next GET request, the
 * call is cancelled at the server. */
void mcp_upstream_resume_leave(mcp_request_t *req);

/* Returns 1 if a GET request has brought the response. The server may keep that
 * GET request open. */
int mcp_upstream_resume_is_done(const mcp_request_t *req);


#endif /* MCP_UPSTREAM_RESUME_H_INCLUDED */
