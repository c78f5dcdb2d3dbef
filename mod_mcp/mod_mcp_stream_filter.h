/* SPDX-License-Identifier: Apache-2.0 */

/* Writes a stream to the socket without httpd's core output filter. */

#ifndef MOD_MCP_STREAM_FILTER_H
#define MOD_MCP_STREAM_FILTER_H

#include "mod_mcp.h"

#define MOD_MCP_DIRECT  "MCP_DIRECT"

void mod_mcp_stream_filter_register(void);

/* Called in child_init: looks up httpd's filters and functions. */
void mod_mcp_stream_filter_init(void);

/* Adds the filter to a client's connection, unless it is there already. */
void mod_mcp_stream_filter_add(mod_mcp_client_t *client);

/*
 * Passes a brigade of the client's stream to the filters, and empties the
 * brigade.
 */
apr_status_t mod_mcp_stream_filter_pass(mod_mcp_client_t *client,
                                        apr_bucket_brigade *bb);

#endif /* MOD_MCP_STREAM_FILTER_H */
