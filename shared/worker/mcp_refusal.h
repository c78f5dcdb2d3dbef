/* SPDX-License-Identifier: Apache-2.0 */

/* Refused requests, as the log tells of them: which, why, and how many a full
 * zone has cost. */


#ifndef MCP_REFUSAL_H_INCLUDED
#define MCP_REFUSAL_H_INCLUDED


#include "rpc/mcp_fault.h"
#include "worker/mcp_worker_parts.h"


/* A request is refused, or its message: a line at info. */
void mcp_refusal(mcp_exchange_t *x, mcp_fault_e fault, mcp_str_t detail);

/* Once a minute, whichever process of the zone comes first: how many requests
 * were refused since the last time because the zone was full. */
void mcp_refusal_full(mcp_worker_t *worker);


#endif /* MCP_REFUSAL_H_INCLUDED */
