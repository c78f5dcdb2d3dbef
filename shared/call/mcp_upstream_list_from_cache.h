/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Answers requests for the lists of an MCP server from the cache of the worker,
 * at an endpoint without a catalog.
 *
 * A list may differ for each caller. Therefore a list is stored only if the
 * server declares it as public (2026-07-28, server/utilities/caching, "Cache
 * Scope"), or with "mcp_upstream_lists shared" if the server does not declare
 * it as private. The cache distinguishes pages by the request's cursor and by
 * the capabilities of the client. Requests with other parameters are not
 * answered from the cache, nor is any request of an endpoint that passes the
 * credentials of its clients to the server, because the server then decides who
 * may get a list.
 */


#ifndef MCP_UPSTREAM_LIST_FROM_CACHE_H_INCLUDED
#define MCP_UPSTREAM_LIST_FROM_CACHE_H_INCLUDED


#include "call/mcp_call.h"


/* Returns 1 if the request is answered from the cache: req->cached is the
 * result. Returns 0 if the server has to be called. */
int mcp_upstream_list_begin(mcp_request_t *req);

/* Called for the result of a request for a list. Stores the page in the cache
 * if it may be sent to other callers; otherwise removes the list from the
 * cache. */
void mcp_upstream_list_result(mcp_request_t *req,
    const mcp_backend_msg_t *msg);

/* Returns 1 if a message is an error which means that the server is overloaded
 * or has failed: its HTTP status is 429 or 5xx. */
int mcp_upstream_list_is_busy(const mcp_backend_msg_t *msg);

/* Called for an error of the server. Removes a list from the cache if the error
 * may mean that the list is out of date. */
void mcp_upstream_list_error(mcp_request_t *req, const mcp_backend_msg_t *msg);

/* Called for a notification of the server: removes the list that has changed
 * from the cache. */
void mcp_upstream_list_changed(mcp_request_t *req, mcp_str_t method);

/* Called if the server has failed with this fault. If the cache has an expired
 * page that may still be used (mcp_upstream_stale), returns 1 and sets *msg to
 * its result, which the client gets instead of the fault. Otherwise returns
 * 0. */
int mcp_upstream_list_stale(mcp_request_t *req, mcp_fault_e fault,
    mcp_backend_msg_t *msg);


#endif /* MCP_UPSTREAM_LIST_FROM_CACHE_H_INCLUDED */
