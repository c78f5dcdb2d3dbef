/* SPDX-License-Identifier: Apache-2.0 */

/* Hides secrets in URLs from logs. */

#ifndef MOD_MCP_SECRET_H
#define MOD_MCP_SECRET_H

#include "mod_mcp.h"

/*
 * Hook post_perdir_config: hides the secrets of the request's URL from logs if
 * SetHandler names the handler "mcp".
 */
int mod_mcp_secret_early(request_rec *r);

/* Hides the secrets of the request's URL from logs, unless that has been done.
 * Returns OK, or an HTTP status. */
int mod_mcp_secret_hide(request_rec *r);

/* Returns the target as the client sent it, with its secrets. */
const char *mod_mcp_secret_target(request_rec *r);

#endif /* MOD_MCP_SECRET_H */
