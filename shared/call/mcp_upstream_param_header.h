/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The headers Mcp-Param-* of calls of clients that are older than 2026-07-28 to
 * an MCP server of this revision (basic/transports/streamable-http, "Client
 * Behavior"). The schemas of the catalog or, without one, of the tools that the
 * server has listed mark the arguments that need one. If the server refuses a
 * call because a header is missing or differs, the worker has not received the
 * server's list of tools, or the tools have changed: the worker requests the
 * list, and sends the call again, once. Both end within the time of the first
 * backend request (mcp_call_timeout). If the list cannot be read, the client
 * gets the error of the call.
 */


#ifndef MCP_UPSTREAM_PARAM_HEADER_H_INCLUDED
#define MCP_UPSTREAM_PARAM_HEADER_H_INCLUDED


#include "call/mcp_call.h"


/* Maximum number of pages of a list of tools that are read for one call. */
#define MCP_UPSTREAM_PARAM_PAGES  32


/* The list of tools that a request asks for before its call is sent again. */
struct mcp_upstream_relist_s {
    unsigned           asks:1;         /* 1: the next or running backend request
                                          is tools/list; 0: the call */
    unsigned           continues:1;    /* 1: the next backend request follows
                                          when the running one has ended */
    unsigned           failed:1;       /* 1: the list could not be read, which
                                          was logged */
    unsigned           pages;          /* number of pages that were asked for */
    mcp_str_t          cursor;         /* raw cursor of the next page; empty:
                                          the first page */
    uint64_t           until;          /* deadline of the call, ms; UINT64_MAX
                                          after it was sent again */
    mcp_backend_msg_t  refusal;        /* fault of the call, without body */
};


/*
 * Sets the headers of the next backend request to a server of 2026-07-28.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  the client gets an error; req->why is the reason
 *   MCP_ERR_MEMORY
 */
int mcp_upstream_param_write(mcp_request_t *req);

/* Reads the headers of the server's tools from a result of tools/list. */
void mcp_upstream_param_learn(mcp_request_t *req, mcp_str_t result);

/*
 * Processes a message of the server: the response to tools/list, or an error
 * because of a header. If the list could not be read, msg becomes the fault of
 * the call.
 *
 * Returns 1 if the message is processed, or 0: it is for the client.
 */
int mcp_upstream_param_message(mcp_request_t *req, mcp_backend_msg_t *msg);

/* Called when a backend request has timed out. Returns 1 if it is tools/list,
 * and sets msg to the fault of the call; otherwise 0. */
int mcp_upstream_param_timeout(mcp_request_t *req, mcp_backend_msg_t *msg);

/* Returns 1 if the next or running backend request is tools/list. */
int mcp_upstream_param_asks(const mcp_request_t *req);

/* Returns 1 if another backend request follows the running one. */
int mcp_upstream_param_continues(const mcp_request_t *req);

/* Returns 1 if the server has refused the call, which was not sent again yet:
 * the call has no response. */
int mcp_upstream_param_is_refused(const mcp_request_t *req);

/* Returns the deadline of the next backend request, ms: "deadline", or that of
 * the call that is sent again, if it is earlier. */
uint64_t mcp_upstream_param_deadline(mcp_request_t *req, uint64_t deadline);

/* Called when the next backend request is prepared. modern is 1 if the server
 * has revision 2026-07-28; otherwise its tools need not be listed. */
void mcp_upstream_param_begin(mcp_request_t *req, int modern);

/* Sets the body and the method of the next backend request to tools/list.
 * Returns MCP_OK or MCP_ERR_MEMORY. */
int mcp_upstream_param_ask(mcp_request_t *req);


#endif /* MCP_UPSTREAM_PARAM_HEADER_H_INCLUDED */
