/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Lists of an MCP server without a catalog that are answered from the cache of
 * the worker.
 *
 * A list may differ for each caller, so only those are stored that the server
 * declares as public (2026-07-28, server/utilities/caching, "Cache Scope"), or
 * with "mcp_upstream_lists shared" those that it does not declare as private.
 * A page belongs to the cursor and to the capabilities of the client. Requests
 * with other parameters are not answered from the cache, nor is any request of
 * an endpoint that passes the credentials of its clients to the server, because
 * the server then decides who may get a list.
 */


#ifndef MCP_UPSTREAM_LIST_FROM_CACHE_H_INCLUDED
#define MCP_UPSTREAM_LIST_FROM_CACHE_H_INCLUDED


#include "call/mcp_call.h"


/* Returns 1 if the request is answered from the cache: req->cached is the
 * response. Returns 0 if the server is called. */
int mcp_upstream_list_begin(mcp_request_t *req);

/* Called for the result of a list. */
void mcp_upstream_list_result(mcp_request_t *req,
    const mcp_backend_msg_t *msg);

/* Returns 1 if an error means that the server is overloaded or has failed: HTTP
 * 429 or 5xx. */
int mcp_upstream_list_is_busy(const mcp_backend_msg_t *msg);

/* Called for an error of the server, which may show that pages in the cache are
 * out of date. */
void mcp_upstream_list_error(mcp_request_t *req, const mcp_backend_msg_t *msg);

/* Called for a notification of the server: removes the list that has changed
 * from the cache. */
void mcp_upstream_list_changed(mcp_request_t *req, mcp_str_t method);

/* Called if the server has failed. Returns 1 and sets *msg to the result of its
 * last response, which the client gets instead of the fault; returns 0 if there
 * is none. */
int mcp_upstream_list_stale(mcp_request_t *req, mcp_fault_e fault,
    mcp_backend_msg_t *msg);


#endif /* MCP_UPSTREAM_LIST_FROM_CACHE_H_INCLUDED */
