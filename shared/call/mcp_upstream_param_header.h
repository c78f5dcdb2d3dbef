/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The headers Mcp-Param-* (2026-07-28, basic/transports/streamable-http,
 * "Client Behavior"), which repeat arguments of a tool call. This server adds
 * them if the client has an older revision and the MCP server has revision
 * 2026-07-28. The schema of a tool marks the arguments for which a header is
 * needed. The schemas come from the catalog or, without a catalog, from the
 * list of tools that the MCP server has sent.
 *
 * If the MCP server refuses a call because a header is missing or differs, the
 * worker has not received the server's list of tools, or the tools have
 * changed. Then the worker requests the list and sends the call again, once.
 * The list and the repeated call have to end within the time of the first
 * backend request (mcp_call_timeout). If the list cannot be read, the client
 * gets the error of the call.
 */


#ifndef MCP_UPSTREAM_PARAM_HEADER_H_INCLUDED
#define MCP_UPSTREAM_PARAM_HEADER_H_INCLUDED


#include "call/mcp_call.h"


/* Maximum number of pages of a list of tools that are read for one call. */
#define MCP_UPSTREAM_PARAM_PAGES  32


/* State of the requests for the list of tools, which are sent before a refused
 * call is sent again. */
struct mcp_upstream_relist_s {
    unsigned           needs_list:1;   /* 1: the next or running backend request
                                          is tools/list; 0: the call */
    unsigned           continues:1;    /* 1: the next backend request follows
                                          when the running one has ended */
    unsigned           failed:1;       /* 1: the list could not be read, which
                                          was logged */
    unsigned           pages;          /* number of pages that were requested */
    mcp_str_t          cursor;         /* raw cursor of the next page; empty:
                                          the first page */
    uint64_t           until;          /* deadline of the call, ms; UINT64_MAX
                                          after it was sent again */
    mcp_backend_msg_t  rejection;      /* the server's response to the call,
                                          without its body */
};


/*
 * Sets the Mcp-Param-* headers of the next backend request, to a server of
 * 2026-07-28.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  an argument cannot become a header: the client gets an
 *                   error, and req->why is the reason
 *   MCP_ERR_MEMORY
 */
int mcp_upstream_param_write(mcp_request_t *req);

/* Stores in the worker which headers the server's tools need, from a result of
 * tools/list. Does nothing at an endpoint with a catalog, or if mcp_upstream
 * names a form that is older than 2026-07-28. */
void mcp_upstream_param_learn(mcp_request_t *req, mcp_str_t result);

/*
 * Processes a message of the server: the response to tools/list, or an error
 * because of a header. If the list could not be read, msg becomes the fault of
 * the call.
 *
 * Returns 1 if the message is processed, or 0: it is for the client.
 */
int mcp_upstream_param_message(mcp_request_t *req, mcp_backend_msg_t *msg);

/* Called when a backend request has timed out. If it is tools/list, sets msg to
 * the fault of the call and returns 1; otherwise returns 0. */
int mcp_upstream_param_timeout(mcp_request_t *req, mcp_backend_msg_t *msg);

/* Returns 1 if the next or running backend request is tools/list. */
int mcp_upstream_param_needs_list(const mcp_request_t *req);

/* Returns the deadline of the next backend request of a request that has
 * "relist", ms. This is "deadline", or the deadline of the refused call if that
 * is earlier and the next backend request is tools/list or the repetition of
 * the call. */
uint64_t mcp_upstream_param_deadline(mcp_request_t *req, uint64_t deadline);

/* Called when the next backend request is prepared. Clears "continues" in
 * req->relist. If modern is 0, also clears "needs_list", because a server that
 * does not have revision 2026-07-28 gets no tools/list from here. */
void mcp_upstream_param_begin(mcp_request_t *req, int modern);

/* Sets the body and the method of the next backend request to tools/list.
 * Returns MCP_OK or MCP_ERR_MEMORY. */
int mcp_upstream_param_request_list(mcp_request_t *req);


#endif /* MCP_UPSTREAM_PARAM_HEADER_H_INCLUDED */
