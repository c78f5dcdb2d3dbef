/* SPDX-License-Identifier: Apache-2.0 */

/*
 * initialize and server/discover at an endpoint whose backend is an MCP server
 * and that has no catalog: the response contains what that server says about
 * itself, so that server is asked first, unless it has been asked recently.
 */


#ifndef MCP_DESCRIBE_H_INCLUDED
#define MCP_DESCRIBE_H_INCLUDED


#include "worker/mcp_worker_internal.h"


/*
 * Calls respond() if the endpoint needs no description or has a recent one.
 * Otherwise asks the server, and calls respond() when it has answered. If it
 * fails, the last description is used for mcp_upstream_stale; after that, the
 * client gets 503.
 *
 * Returns the value of respond(), which is one of mcp_exchange_body(); or
 *   MCP_AGAIN       the server is asked; respond() is called later
 *   MCP_ERR_MEMORY
 */
int mcp_describe(mcp_exchange_t *x, int (*respond)(mcp_exchange_t *x));


#endif /* MCP_DESCRIBE_H_INCLUDED */
