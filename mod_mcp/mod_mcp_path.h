/* SPDX-License-Identifier: Apache-2.0 */

/* Lists of the paths of endpoints and backends, and comparison of paths. */

#ifndef MOD_MCP_PATH_H
#define MOD_MCP_PATH_H

#include "mod_mcp.h"

/* Create and drop the lists of paths. p lives as long as the configuration. */
void mod_mcp_path_begin(apr_pool_t *p);
void mod_mcp_path_forget(void);

/* Returns 1 if uri equals path or is below it, by the rules of <Location>. */
int mod_mcp_path_is_below(const char *uri, const char *path);

/*
 * Returns 1 if the path of the section is a pattern (regular expression or
 * wildcards).
 */
int mod_mcp_path_is_pattern(const core_dir_config *core);

/*
 * Adds the path of a backend that a directive names.  Returns NULL, or an
 * error message.
 */
const char *mod_mcp_path_add_backend(cmd_parms *cmd, const char *target);

/*
 * Returns the paths of all backends, and their number in *n.  The paths contain
 * no escapes, dot segments or doubled slashes.
 */
const char **mod_mcp_path_backends(int *n);

/* Returns 1 if uri equals the path of a backend or is below it. */
int mod_mcp_path_is_backend(const char *uri);

/* Adds the <Location> of an endpoint to the list of endpoints. */
void mod_mcp_path_add_endpoint(server_rec *s, const core_dir_config *core);

/*
 * Returns 1 if the request's path is below the path of an endpoint, but is not
 * an endpoint itself.
 */
int mod_mcp_path_is_below_endpoint(request_rec *r);

#endif /* MOD_MCP_PATH_H */
