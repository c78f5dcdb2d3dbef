/* SPDX-License-Identifier: Apache-2.0 */

/* The session that a request belongs to. */


#ifndef MCP_EXCHANGE_SESSION_H_INCLUDED
#define MCP_EXCHANGE_SESSION_H_INCLUDED


#include "rpc/mcp_fault.h"
#include "worker/mcp_worker_parts.h"


/* Verifies the protocol version header. */
mcp_fault_e mcp_exchange_check_revision(const mcp_exchange_t *x);

/* Verifies that and the session, which becomes x->client. */
mcp_fault_e mcp_exchange_check_session(mcp_exchange_t *x);

/* Adds to x->client what the endpoint takes as declared by all its clients. */
void mcp_exchange_take_offers(mcp_exchange_t *x);


#endif /* MCP_EXCHANGE_SESSION_H_INCLUDED */
