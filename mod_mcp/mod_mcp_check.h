/* SPDX-License-Identifier: Apache-2.0 */

/* Warnings and errors at startup. */

#ifndef MOD_MCP_CHECK_H
#define MOD_MCP_CHECK_H

#include "mod_mcp.h"

/*
 * Hook check_config: reports mistakes that can be detected only when the whole
 * configuration has been read.
 */
int mod_mcp_check_config(apr_pool_t *pconf, apr_pool_t *plog,
                         apr_pool_t *ptemp, server_rec *s);

/*
 * Warns about settings of the MPM that leave too few threads for streams or
 * calls.
 */
void mod_mcp_check_mpm(server_rec *s);

#endif /* MOD_MCP_CHECK_H */
