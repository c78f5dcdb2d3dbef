/* SPDX-License-Identifier: Apache-2.0 */

/* Shared memory, the slots of processes in it, and their bells. */

#ifndef MOD_MCP_ZONE_H
#define MOD_MCP_ZONE_H

#include "mod_mcp.h"

#include "mcp_zone.h"

int mod_mcp_zone_post_config(apr_pool_t *pconf, apr_pool_t *plog,
                             apr_pool_t *ptemp, server_rec *s);

/* 1 if post_config made the zone. */
int mod_mcp_zone_exists(void);

/* The keys of endpoints that configure none. */
const mcp_keys_t *mod_mcp_zone_keys(void);

/* See mcp_zone_epoch(). */
apr_uint64_t mod_mcp_zone_epoch(void);

/* Takes a slot for this process and returns 1, with the slot's bell in *bell;
 * or logs an error and returns 0. */
int mod_mcp_zone_claim(int *bell);
void mod_mcp_zone_release(void);

/* Attaches to the store in this slot.  Returns what mcp_zone_attach() does. */
int mod_mcp_zone_attach(mcp_store_t *store);

/* Under the lock, every now and then: finds slots whose process has died. */
void mod_mcp_zone_patrol(void);

#endif /* MOD_MCP_ZONE_H */
