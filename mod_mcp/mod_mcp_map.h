/* SPDX-License-Identifier: Apache-2.0 */

/* Requests that are not mapped to files. */

#ifndef MOD_MCP_MAP_H
#define MOD_MCP_MAP_H

#include "mod_mcp.h"

/*
 * Hook translate_name: marks requests that are not mapped to files.  The hook
 * map_to_storage cannot find them: r->per_dir_config then lacks the
 * configuration of <Location>, which determines these requests.
 */
int mod_mcp_map_find(request_rec *r);

/*
 * Hook map_to_storage: for a request that mod_mcp_map_find() has marked,
 * applies the <Directory> and <Files> sections for its file name, without
 * access to the file system.  If the handler names a script, makes the file
 * name empty instead.
 */
int mod_mcp_map(request_rec *r);

/* Hook type_checker: skips the lookup of a file's type for requests that
 * mod_mcp_map_find() has marked. */
int mod_mcp_map_type(request_rec *r);

/*
 * Hook fixups: logs a warning, once per process, if another module handles
 * requests of an endpoint or backend.
 */
int mod_mcp_map_check(request_rec *r);

/*
 * Hooks dirwalk_stat and open_htaccess: for requests that mod_mcp_map_find()
 * has marked, report without access to the file system that every directory
 * exists and that no .htaccess file exists.
 */
apr_status_t mod_mcp_map_stat(apr_finfo_t *finfo, request_rec *r,
                              apr_int32_t wanted);
apr_status_t mod_mcp_map_htaccess(request_rec *r, const char *dir,
                                  const char *name, ap_configfile_t **file,
                                  const char **path);

#endif /* MOD_MCP_MAP_H */
