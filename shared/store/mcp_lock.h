/* SPDX-License-Identifier: Apache-2.0 */

/* The store's lock: a robust mutex that processes share, in the first bytes of
 * the zone's region. */


#ifndef MCP_LOCK_H_INCLUDED
#define MCP_LOCK_H_INCLUDED


#include "mcp.h"


#define MCP_LOCK_SIZE  128             /* bytes, a multiple of a cache line */

/* Initializes a lock, which no process holds, in MCP_LOCK_SIZE bytes. Returns
 * MCP_OK or MCP_ERR_INTERNAL. */
int mcp_lock_init(void *lock);

/*
 * Waits for the lock.
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN         acquired, but the last holder died: the caller repairs
 *                     the protected data before it unlocks
 *   MCP_ERR_INTERNAL  the lock is unusable
 */
int mcp_lock(void *lock);
void mcp_unlock(void *lock);


#endif /* MCP_LOCK_H_INCLUDED */
