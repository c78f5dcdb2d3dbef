/* SPDX-License-Identifier: Apache-2.0 */

/* Warnings and errors at the start of the server. */

#ifndef MOD_MCP_CHECK_H
#define MOD_MCP_CHECK_H

#include "mod_mcp.h"

/* check_config: mistakes that need the whole configuration to be seen. */
int mod_mcp_check_config(apr_pool_t *pconf, apr_pool_t *plog,
                         apr_pool_t *ptemp, server_rec *s);

/* Warns of settings of the MPM that starve streams or calls. */
void mod_mcp_check_mpm(server_rec *s);

#endif /* MOD_MCP_CHECK_H */
