/* SPDX-License-Identifier: Apache-2.0 */

/*
 * initialize and server/discover at an endpoint without a catalog whose backend
 * is an MCP server. The response contains that server's description of itself,
 * which is requested first unless a recent one is stored.
 */


#ifndef MCP_DESCRIBE_UPSTREAM_H_INCLUDED
#define MCP_DESCRIBE_UPSTREAM_H_INCLUDED


#include "worker/mcp_worker_internal.h"


/*
 * Calls respond() if the endpoint needs no description or has a recent one.
 * Otherwise requests a description and calls respond() after the server's
 * response, unless a request has just failed, or a request of another client is
 * renewing the last description. While there is no new description, the last
 * one is used for mcp_upstream_stale; after that, the client gets 503.
 *
 * Returns the values of mcp_exchange_body(), as respond() does:
 *   MCP_AGAIN       a description is requested; respond() is called later
 *   MCP_ERR_MEMORY
 */
int mcp_describe(mcp_exchange_t *x, int (*respond)(mcp_exchange_t *x));


#endif /* MCP_DESCRIBE_UPSTREAM_H_INCLUDED */
