/* SPDX-License-Identifier: Apache-2.0 */

/* Log lines about rejected requests. */


#ifndef MCP_REJECT_LOG_H_INCLUDED
#define MCP_REJECT_LOG_H_INCLUDED


#include "rpc/mcp_fault.h"
#include "worker/mcp_worker_internal.h"


/* Logs a rejected request, or a rejected message, at level info. */
void mcp_reject_log(mcp_exchange_t *x, mcp_fault_e fault, mcp_str_t detail);

/* Logs, once a minute for all processes of the zone, the number of requests
 * that were rejected since then because the zone was full. */
void mcp_reject_log_full(mcp_worker_t *worker);


#endif /* MCP_REJECT_LOG_H_INCLUDED */
