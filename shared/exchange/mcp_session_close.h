/* SPDX-License-Identifier: Apache-2.0 */

/* The end of a client's session: its sessions at MCP servers with
 * "mcp_upstream session" end, too. */


#ifndef MCP_SESSION_CLOSE_H_INCLUDED
#define MCP_SESSION_CLOSE_H_INCLUDED


#include "worker/mcp_worker_internal.h"


/* Returns 1 if a target of the endpoint may be a server with sessions. */
int mcp_session_close_needed(const mcp_endpoint_t *endpoint);

/*
 * Ends the sessions of the client of x at the servers that are targets of the
 * endpoint, and calls respond() after their responses.
 *
 * Returns the value of respond(), one of mcp_exchange_body(), if there is no
 * such server; or
 *   MCP_AGAIN       respond() is called later
 *   MCP_ERR_MEMORY
 */
int mcp_session_close(mcp_exchange_t *x, int (*respond)(mcp_exchange_t *x));


#endif /* MCP_SESSION_CLOSE_H_INCLUDED */
