/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Pools that calls reuse one after the other, because getting memory from the
 * system for each call would cost more than the call.  All functions are
 * called under mod_mcp_lock().
 */

#ifndef MOD_MCP_POOL_H
#define MOD_MCP_POOL_H

#include "mod_mcp.h"

/*
 * _get() returns a pool without a parent, or NULL. _put() gives back a pool
 * that the caller has cleared.
 */
apr_pool_t *mod_mcp_pool_get(void);
void mod_mcp_pool_put(apr_pool_t *p);

/* Destroys the unused pools. */
void mod_mcp_pool_exit(void);

#endif /* MOD_MCP_POOL_H */
