/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Handles initialize and server/discover at an endpoint that has no catalog and
 * forwards its requests to an MCP server. The response contains that server's
 * description of itself, which is requested first unless a recent one is
 * stored.
 */


#ifndef MCP_DESCRIBE_UPSTREAM_H_INCLUDED
#define MCP_DESCRIBE_UPSTREAM_H_INCLUDED


#include "worker/mcp_worker_internal.h"


/*
 * Calls respond() at once if the endpoint needs no description, or a recent one
 * is stored. Otherwise requests a description from the MCP server, and calls
 * respond() after that server's response.
 *
 * A description older than mcp_upstream_check is not recent. If the request for
 * a new one has failed or is pending for another client, the old description is
 * used for another mcp_upstream_stale, and after that time the client gets 503.
 * If no description is stored, the client gets 503 only if a request for one
 * has failed.
 *
 * Returns the values of mcp_exchange_body(), as respond() does:
 *   MCP_NEXT_WAIT   a description is requested; respond() is called later
 *   MCP_NEXT_ERROR
 */
mcp_next_e mcp_describe(mcp_exchange_t *x,
    mcp_next_e (*respond)(mcp_exchange_t *x));


#endif /* MCP_DESCRIBE_UPSTREAM_H_INCLUDED */
