/* SPDX-License-Identifier: Apache-2.0 */

/* Reading a request's body. */

#ifndef MOD_MCP_BODY_H
#define MOD_MCP_BODY_H

#include "mod_mcp.h"

/* Reads the body.  Returns OK, or an HTTP status. */
int mod_mcp_body_read(mod_mcp_client_t *client, mod_mcp_dir_t *dir,
                      apr_bucket_brigade **body, apr_size_t *length);

/* Under the lock, which it releases to copy a large one: passes the body to the
 * exchange.  Returns what that does. */
int mod_mcp_body_pass(mod_mcp_client_t *client, apr_bucket_brigade *body,
                      apr_size_t length);

#endif /* MOD_MCP_BODY_H */
