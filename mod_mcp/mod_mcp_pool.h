/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Pools that calls use one after the other: to get memory from the system for
 * each call would cost more than the call.  All under the lock.
 */

#ifndef MOD_MCP_POOL_H
#define MOD_MCP_POOL_H

#include "mod_mcp.h"

/* A pool without a parent, or NULL; and back, when it is cleared. */
apr_pool_t *mod_mcp_pool_get(void);
void mod_mcp_pool_put(apr_pool_t *p);

/* Destroys those that nobody uses. */
void mod_mcp_pool_exit(void);

#endif /* MOD_MCP_POOL_H */
