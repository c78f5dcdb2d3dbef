/* SPDX-License-Identifier: Apache-2.0 */

/* Checks of the session and the revision of a request. */


#ifndef MCP_EXCHANGE_SESSION_H_INCLUDED
#define MCP_EXCHANGE_SESSION_H_INCLUDED


#include "rpc/mcp_fault.h"
#include "worker/mcp_worker_internal.h"


/* Checks the request's MCP-Protocol-Version header. Returns its fault, or
 * MCP_FAULT_NONE. */
mcp_fault_e mcp_exchange_check_revision(const mcp_exchange_t *x);

/* Checks the session of the request and then its MCP-Protocol-Version header,
 * and sets x->client. Returns the first fault, or MCP_FAULT_NONE. */
mcp_fault_e mcp_exchange_check_session(mcp_exchange_t *x);

/* Adds to x->client the capabilities that the endpoint assumes for all its
 * clients, whether or not they declare them. */
void mcp_exchange_take_offers(mcp_exchange_t *x);


/* When a client's session ends, its sessions at MCP servers with "mcp_upstream
 * session" or "auto" end as well. */

/* Returns 1 if the end of a session may have to end sessions at MCP servers: a
 * target of the endpoint may be a server with sessions. */
int mcp_session_close_needed(const mcp_endpoint_t *endpoint);


/* --- the description of an MCP server --- */

/*
 * Handles initialize and server/discover at an endpoint that has no catalog and
 * forwards its requests to an MCP server. The response contains that server's
 * description of itself, which is requested first unless a recent one is
 * stored.
 */


/*
 * Calls respond() at once if the endpoint needs no description, or a recent one
 * is stored. Otherwise requests a description from the MCP server, and calls
 * respond() after that server's response.
 *
 * A description is not recent if it is older than mcp_upstream_check and was
 * received before the client's request. If the request for a new one has failed
 * or is pending for another client, the old description is used for another
 * mcp_upstream_stale, and after that time the client gets 503. If none is
 * stored, the client gets 503 only if a request for one has failed.
 *
 * Returns the values of mcp_exchange_body(), as respond() does:
 *   MCP_NEXT_WAIT   a description is requested; respond() is called later
 *   MCP_NEXT_ERROR
 */
mcp_next_e mcp_describe(mcp_exchange_t *x,
    mcp_next_e (*respond)(mcp_exchange_t *x));


#endif /* MCP_EXCHANGE_SESSION_H_INCLUDED */
