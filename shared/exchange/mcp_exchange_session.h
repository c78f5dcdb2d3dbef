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


#endif /* MCP_EXCHANGE_SESSION_H_INCLUDED */
