/* SPDX-License-Identifier: Apache-2.0 */

/* Backends whose handler names their script. */

#ifndef MOD_MCP_SCRIPT_H
#define MOD_MCP_SCRIPT_H

#include "mod_mcp.h"

/* translate_name: whether the handler of the location names the script of a
 * FastCGI program.  Later the configuration of locations is not at hand. */
int mod_mcp_script_find(request_rec *r);

/* map_to_storage: then the request of a call does not look for a file. */
int mod_mcp_script_map(request_rec *r);

#endif /* MOD_MCP_SCRIPT_H */
