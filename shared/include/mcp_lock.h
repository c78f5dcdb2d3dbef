/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The store's lock: a process-shared robust mutex that lives in the region's
 * first bytes, for glue whose server has no robust lock of its own.
 */


#ifndef MCP_LOCK_H_INCLUDED
#define MCP_LOCK_H_INCLUDED


#include "mcp.h"


#define MCP_LOCK_SIZE  128             /* bytes, multiple of a cache line */

/* MCP_OK or MCP_ERR_INTERNAL. */
int mcp_lock_init(void *lock);

/* MCP_OK; MCP_AGAIN: acquired, but its holder died (already marked
 * consistent: the caller repairs what it protects before unlocking). */
int mcp_lock(void *lock);
void mcp_unlock(void *lock);


#endif /* MCP_LOCK_H_INCLUDED */
