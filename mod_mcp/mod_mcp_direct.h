/* SPDX-License-Identifier: Apache-2.0 */

/* Writing a stream to the socket without the core's output filter. */

#ifndef MOD_MCP_DIRECT_H
#define MOD_MCP_DIRECT_H

#include "mod_mcp.h"

#define MOD_MCP_DIRECT  "MCP_DIRECT"

void mod_mcp_direct_register(void);

/* child_init */
void mod_mcp_direct_init(void);

/* Adds the filter to a client's connection, unless it is there. */
void mod_mcp_direct_add(mod_mcp_client_t *client);

/* Passes a brigade of the client's stream on, and empties it. */
apr_status_t mod_mcp_direct_pass(mod_mcp_client_t *client,
                                 apr_bucket_brigade *bb);

#endif /* MOD_MCP_DIRECT_H */
