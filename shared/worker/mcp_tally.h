/* SPDX-License-Identifier: Apache-2.0 */

/* Which row of the zone counts what: a worker looks the rows of its
 * configuration up when it begins. */


#ifndef MCP_TALLY_H_INCLUDED
#define MCP_TALLY_H_INCLUDED


#include "store/mcp_store_tally.h"
#include "worker/mcp_worker_parts.h"


/* Looks up the rows of an endpoint.  Without memory, or room, its calls are
 * counted with others. */
void mcp_tally_offer(mcp_worker_t *worker, const mcp_endpoint_t *endpoint);

void mcp_tally_free(mcp_worker_t *worker);

/* Returns the row of a request of this method and name. */
uint32_t mcp_tally_find(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    const mcp_method_t *method, mcp_str_t name);

/* Notes that the request of an exchange was refused before a backend got
 * it. */
void mcp_tally_refused(mcp_exchange_t *x, mcp_fault_e fault);


#endif /* MCP_TALLY_H_INCLUDED */
