/* SPDX-License-Identifier: Apache-2.0 */

/* Requests that no file answers. */

#ifndef MOD_MCP_MAP_H
#define MOD_MCP_MAP_H

#include "mod_mcp.h"

/* translate_name: marks requests that no file answers.  The configuration of
 * <Location> is not available in later hooks. */
int mod_mcp_map_find(request_rec *r);

/* map_to_storage: applies <Directory> and <Files> sections to a marked request
 * by its name alone. */
int mod_mcp_map(request_rec *r);

/* type_checker: skips the search for the type of a file. */
int mod_mcp_map_type(request_rec *r);

/* fixups: logs a warning, once per process, if another module takes the
 * requests of an endpoint or backend. */
int mod_mcp_map_check(request_rec *r);

/* dirwalk_stat, open_htaccess: answer for marked requests without the file
 * system. */
apr_status_t mod_mcp_map_stat(apr_finfo_t *finfo, request_rec *r,
                              apr_int32_t wanted);
apr_status_t mod_mcp_map_htaccess(request_rec *r, const char *dir,
                                  const char *name, ap_configfile_t **file,
                                  const char **path);

#endif /* MOD_MCP_MAP_H */
