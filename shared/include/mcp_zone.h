/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A zone: the region of memory that a server's processes share, as the glue
 * sees it.  In it stand the lock, a secret for the keys of those who
 * configure none, where its time begins, and the store.
 */


#ifndef MCP_ZONE_H_INCLUDED
#define MCP_ZONE_H_INCLUDED


#include "mcp_lock.h"
#include "store/mcp_store.h"


#define MCP_ZONE_HEAD      256         /* bytes before the store */
#define MCP_ZONE_MIN_SIZE  (MCP_STORE_MIN_SIZE + MCP_ZONE_HEAD)


/* Lays out a new region, 64-byte aligned; epoch is not 0.  MCP_OK;
 * MCP_ERR_CONFIG: the size will not do; MCP_ERR_INTERNAL: no lock, or no random
 * bytes. */
int mcp_zone_format(void *region, size_t size, uint64_t epoch);

/* What the wall clock said when the machine's steady clock was at 0, in ms: as
 * given when the region was laid out.  With it all processes have one time,
 * whatever becomes of the wall clock: see mcp_env_t. */
uint64_t mcp_zone_epoch(const void *region);

/* MCP_OK if the region was laid out by this version, with this size or less;
 * else MCP_ERR_CONFIG: older processes use it, so leave it alone. */
int mcp_zone_check(const void *region);

/* Adds the zone's own key.  What mcp_keys_add() returns. */
int mcp_zone_keys(const void *region, mcp_keys_t *keys);

/* Attaches to the store with the region's own lock, see mcp_store_attach();
 * wake as in mcp_store_glue_t. */
int mcp_zone_attach(mcp_store_t *store, void *region,
    void (*wake)(void *ctx, unsigned slot), void *ctx, unsigned slot,
    uint64_t pid);


#endif /* MCP_ZONE_H_INCLUDED */
