/* SPDX-License-Identifier: Apache-2.0 */

/* Reading a request's body. */

#ifndef MOD_MCP_BODY_H
#define MOD_MCP_BODY_H

#include "mod_mcp.h"

/* Under the lock, when the head was taken: makes room for a small body whose
 * length is known. */
void mod_mcp_body_expect(mod_mcp_client_t *client);

/* Reads the body into the exchange and has it parsed, without the lock but for
 * making room.  Returns OK, or an HTTP status. */
int mod_mcp_body_read(mod_mcp_client_t *client, mod_mcp_dir_t *dir,
                      apr_size_t *length);

#endif /* MOD_MCP_BODY_H */
