/* SPDX-License-Identifier: Apache-2.0 */

/* The paths of endpoints and backends. */

#ifndef MOD_MCP_PATH_H
#define MOD_MCP_PATH_H

#include "mod_mcp.h"

/* Forgets all paths; p lives as long as the configuration. */
void mod_mcp_path_begin(apr_pool_t *p);
void mod_mcp_path_forget(void);

/* 1 if uri equals path or lies below it, as <Location> compares them. */
int mod_mcp_path_is_below(const char *uri, const char *path);

/* 1 if the section's path is a pattern. */
int mod_mcp_path_is_pattern(const core_dir_config *core);

/* Adds the backend that a directive names.  Returns NULL, or the error. */
const char *mod_mcp_path_add_backend(cmd_parms *cmd, const char *target);

/* The backends: paths without escapes, dots or doubled slashes. */
const char **mod_mcp_path_backends(int *n);

/* 1 if uri equals or lies below the path of a backend. */
int mod_mcp_path_is_backend(const char *uri);

/* Adds the <Location> of an endpoint. */
void mod_mcp_path_add_endpoint(server_rec *s, const core_dir_config *core);

/* 1 if the request's path lies below an endpoint's and is none itself. */
int mod_mcp_path_is_below_endpoint(request_rec *r);

#endif /* MOD_MCP_PATH_H */
