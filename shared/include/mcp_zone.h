/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A zone: the region of memory that a server's processes share, as the glue
 * sees it.  It holds the lock, a secret from which keys are made when none is
 * configured, the zone's clock, and the store.
 */


#ifndef MCP_ZONE_H_INCLUDED
#define MCP_ZONE_H_INCLUDED


#include "mcp_lock.h"
#include "store/mcp_store.h"


#define MCP_ZONE_HEAD      256         /* bytes before the store */
#define MCP_ZONE_MIN_SIZE  (MCP_STORE_MIN_SIZE + MCP_ZONE_HEAD)


/*
 * Lays out a new region; epoch: see mcp_zone_epoch(), not 0.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG    size is out of range, or region not 64-byte aligned
 *   MCP_ERR_INTERNAL  there is no lock, or there are no random bytes
 */
int mcp_zone_format(void *region, size_t size, uint64_t epoch);

/* Returns the time (ms) of the wall clock at which the machine's steady clock
 * was 0, as it was when the region was laid out.  It gives all processes the
 * same time, even when the wall clock is set later: see mcp_env_t. */
uint64_t mcp_zone_epoch(const void *region);

/*
 * Checks a region that was kept.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG  another version laid it out, whose processes may use it:
 *                   leave it alone
 */
int mcp_zone_check(const void *region);

/* Adds the zone's own key; returns what mcp_keys_add() does. */
int mcp_zone_keys(const void *region, mcp_keys_t *keys);

/* Attaches to the store with the region's own lock: see mcp_store_attach(), and
 * mcp_store_glue_t for wake. */
int mcp_zone_attach(mcp_store_t *store, void *region,
    void (*wake)(void *ctx, unsigned slot), void *ctx, unsigned slot,
    uint64_t pid);


#endif /* MCP_ZONE_H_INCLUDED */
