/* SPDX-License-Identifier: Apache-2.0 */

/* A zone: the memory that a server's processes share, from the glue's point of
 * view. It contains the lock, a secret from which keys are derived when none is
 * configured, the zone's clock, and the store. */


#ifndef MCP_ZONE_H_INCLUDED
#define MCP_ZONE_H_INCLUDED


#include "mcp.h"


MCP_DECLARATIONS_BEGIN


#define MCP_STORE_MIN_SIZE   (256 * 1024)
#define MCP_STORE_SIZE_MAX   (32ULL * 1024 * 1024 * 1024)  /* maximum size of a
                                                              region, bytes,
                                                              because 32-bit
                                                              references count
                                                              units of 8
                                                              bytes */
#define MCP_STORE_SLOTS      1024      /* maximum number of processes that use a
                                          store at the same time */

#define MCP_ZONE_HEAD        256       /* bytes of the zone in front of the
                                          store */
#define MCP_ZONE_MIN_SIZE    (MCP_STORE_MIN_SIZE + MCP_ZONE_HEAD)


typedef struct mcp_keys_s   mcp_keys_t;
typedef struct mcp_store_s  mcp_store_t;


/*
 * Formats a new region. "epoch" must not be 0. Processes get it from the region
 * by mcp_zone_epoch().
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG    size is out of range, or region is not 64-byte aligned
 *   MCP_ERR_INTERNAL  the lock could not be created, or there were no random
 *                     bytes
 */
int mcp_zone_format(void *region, size_t size, uint64_t epoch);

/*
 * Returns the wall clock's time, ms, at which the machine's steady clock was
 * 0, measured when the region was formatted. The sum of this value and the
 * steady clock is the same in all processes, even if the wall clock is set
 * later: see mcp_env_t.
 */
uint64_t mcp_zone_epoch(const void *region);

/*
 * Checks a region that was formatted earlier.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG  another version of the module formatted the region, and its
 *                   processes may still use it: do not change it
 */
int mcp_zone_check(const void *region);

/* Returns the size of mcp_keys_t, bytes. Memory of the glue that is set to zero
 * is an mcp_keys_t without a key. */
size_t mcp_zone_keys_size(void);

/*
 * Adds the zone's own secret as a key.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_LIMIT     there are eight keys already
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_zone_keys(const void *region, mcp_keys_t *keys);

/* Returns the size of mcp_store_t, bytes. */
size_t mcp_zone_store_size(void);

/*
 * Attaches the process "pid", which uses this slot, to the store in the region.
 * *store is memory of the glue, which must outlive the worker. wake() makes the
 * process in a slot call mcp_worker_wake() soon. It is called without the
 * region's lock, also for the caller's own slot.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG    the slot does not exist, or pid is 0
 *   MCP_ERR_INTERNAL  the region is not a store, or its lock is unusable
 */
int mcp_zone_attach(mcp_store_t *store, void *region,
    void (*wake)(void *ctx, unsigned slot), void *ctx, unsigned slot,
    uint64_t pid);

/* Frees the slot of this process, which ends normally. Another process ends the
 * calls that this process still owns: see mcp_worker_adopt(). */
void mcp_store_detach(mcp_store_t *store);


MCP_DECLARATIONS_END


#endif /* MCP_ZONE_H_INCLUDED */
