/* SPDX-License-Identifier: Apache-2.0 */

/* The rows of the statistics of MCP servers. A worker looks up the rows of the
 * servers of its configuration when it starts, and the row of an endpoint
 * without a catalog key when the endpoint's server is called. */


#ifndef MCP_UPSTREAM_STATS_ROWS_H_INCLUDED
#define MCP_UPSTREAM_STATS_ROWS_H_INCLUDED


#include "store/mcp_store_upstream_stats.h"
#include "worker/mcp_worker_internal.h"


/* Looks up the rows of an endpoint's MCP servers. Without memory or room for
 * them, the status does not show the servers. */
void mcp_upstream_stats_offer(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint);

void mcp_upstream_stats_free(mcp_worker_t *worker);

/* Returns the row of a target of the endpoint that is an MCP server,
 * MCP_STORE_UPSTREAM_NONE if it has none. */
mcp_store_upstream_row_t mcp_upstream_stats_find(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, unsigned target);


#endif /* MCP_UPSTREAM_STATS_ROWS_H_INCLUDED */
