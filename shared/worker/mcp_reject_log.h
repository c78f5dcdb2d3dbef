/* SPDX-License-Identifier: Apache-2.0 */

/* Log lines about rejected requests. */


#ifndef MCP_REJECT_LOG_H_INCLUDED
#define MCP_REJECT_LOG_H_INCLUDED


#include "rpc/mcp_fault.h"
#include "worker/mcp_worker_internal.h"


/* Logs a rejected request, or a rejected message of a POST, at level info.
 * detail is logged if the request has no invalid text to log, and may be
 * empty. */
void mcp_reject_log(mcp_exchange_t *x, mcp_fault_e fault, mcp_str_t detail);

/* Logs the number of requests that were rejected because the zone was full,
 * since the last such line. At most one line a minute for all processes of the
 * zone. */
void mcp_reject_log_full(mcp_worker_t *worker);


#endif /* MCP_REJECT_LOG_H_INCLUDED */
