/* SPDX-License-Identifier: Apache-2.0 */

/* The rows of the statistics of MCP servers. A worker looks up the rows of the
 * servers of its configuration when it starts, and the row of an endpoint
 * without a catalog key when the endpoint's server is called. */


#ifndef MCP_UPSTREAM_STATS_FIND_ROW_H_INCLUDED
#define MCP_UPSTREAM_STATS_FIND_ROW_H_INCLUDED


#include "store/mcp_store_upstream_stats.h"
#include "worker/mcp_worker_internal.h"


/* Looks up the rows of an endpoint's MCP servers in the zone, and takes new
 * ones for servers without a row. The status does not show a server that gets
 * no row, because the zone or the memory is full. */
void mcp_upstream_stats_offer(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint);

void mcp_upstream_stats_free(mcp_worker_t *worker);

/* Returns the row of an MCP server, which is a target of the endpoint. Returns
 * MCP_STORE_UPSTREAM_NONE if the server has no row. */
mcp_store_upstream_row_t mcp_upstream_stats_find(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, unsigned target);


#endif /* MCP_UPSTREAM_STATS_FIND_ROW_H_INCLUDED */
