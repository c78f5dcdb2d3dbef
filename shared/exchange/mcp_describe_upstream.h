/* SPDX-License-Identifier: Apache-2.0 */

/*
 * initialize and server/discover at an endpoint without a catalog whose backend
 * is an MCP server: the response contains the server's description of itself,
 * which is requested first unless it is recent.
 */


#ifndef MCP_DESCRIBE_UPSTREAM_H_INCLUDED
#define MCP_DESCRIBE_UPSTREAM_H_INCLUDED


#include "worker/mcp_worker_internal.h"


/*
 * Calls respond() if the endpoint needs no description or has a recent one.
 * Otherwise requests a description, and calls respond() after the server's
 * response. If the server fails, the last description is used for
 * mcp_upstream_stale; after that, the client gets 503.
 *
 * respond() returns the values of mcp_exchange_body(). Returns its value, or
 *   MCP_AGAIN       a description is requested; respond() is called later
 *   MCP_ERR_MEMORY
 */
int mcp_describe(mcp_exchange_t *x, int (*respond)(mcp_exchange_t *x));


#endif /* MCP_DESCRIBE_UPSTREAM_H_INCLUDED */
