/* SPDX-License-Identifier: Apache-2.0 */

/* Shared memory, the slots of processes in it, and their wake-ups. */

#ifndef MOD_MCP_ZONE_H
#define MOD_MCP_ZONE_H

#include "mod_mcp.h"

#include "mcp_zone.h"

int mod_mcp_zone_post_config(apr_pool_t *pconf, apr_pool_t *plog,
                             apr_pool_t *ptemp, server_rec *s);

/* Returns 1 if post_config has created the zone. */
int mod_mcp_zone_exists(void);

/* Returns the generated keys, for endpoints without configured keys. */
const mcp_keys_t *mod_mcp_zone_keys(void);

/* Returns the zone's epoch: the wall clock's time at which the steady clock
 * was 0, ms since 1970. */
apr_uint64_t mod_mcp_zone_epoch(void);

/*
 * Claims a slot for this process.  Returns 1 and sets *wakeup_fd to the slot's
 * eventfd, or returns 0 after an error in the log.
 */
int mod_mcp_zone_claim(int *wakeup_fd);
void mod_mcp_zone_release(void);

/*
 * Attaches the worker to the store, in the slot of this process.  Returns the
 * result of mcp_zone_attach().
 */
int mod_mcp_zone_attach(mcp_store_t *store);

/* Reclaims slots whose process has died.  Each call inspects some of the slots,
 * and the next call begins with the slot after them.  Called periodically,
 * under mod_mcp_lock(). */
void mod_mcp_zone_patrol(void);

#endif /* MOD_MCP_ZONE_H */
