/* SPDX-License-Identifier: Apache-2.0 */

/* Hiding the secrets of URLs from logs. */

#ifndef MOD_MCP_SECRET_H
#define MOD_MCP_SECRET_H

#include "mod_mcp.h"

/* post_perdir_config: hides them if SetHandler names our handler. */
int mod_mcp_secret_early(request_rec *r);

/* Hides them unless that is done.  Returns OK, or an HTTP status. */
int mod_mcp_secret_hide(request_rec *r);

/* The target as it came. */
const char *mod_mcp_secret_target(request_rec *r);

#endif /* MOD_MCP_SECRET_H */
