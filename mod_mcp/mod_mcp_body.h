/* SPDX-License-Identifier: Apache-2.0 */

/* Reading a request's body. */

#ifndef MOD_MCP_BODY_H
#define MOD_MCP_BODY_H

#include "mod_mcp.h"

/*
 * Stores the Content-Length in client->expected, and gets memory for a small
 * body from the exchange.  Called under mod_mcp_lock(), after the head was
 * passed to the core.
 */
void mod_mcp_body_expect(mod_mcp_client_t *client);

/*
 * Reads the body into the exchange and lets the core parse it.  Sets *length
 * to the length of the body, bytes.  Calls mod_mcp_lock() only to get memory.
 * Returns OK, or an HTTP status.
 */
int mod_mcp_body_read(mod_mcp_client_t *client, mod_mcp_dir_t *dir,
                      apr_size_t *length);

#endif /* MOD_MCP_BODY_H */
