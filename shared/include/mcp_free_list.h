/* SPDX-License-Identifier: Apache-2.0 */

/* A cache of freed memory, with one list for each size. Calls are short, and
 * each call needs memory of the same sizes as the previous call. Used by one
 * thread at a time. */


#ifndef MCP_FREE_LIST_H_INCLUDED
#define MCP_FREE_LIST_H_INCLUDED


#include "mcp.h"


MCP_DECLARATIONS_BEGIN


/* Sizes are rounded up to a multiple of MCP_FREE_LIST_STEP. Memory of more
 * than MCP_FREE_LIST_SIZES - 1 steps is not cached. */
#define MCP_FREE_LIST_STEP   64
#define MCP_FREE_LIST_SIZES  68

/* Maximum number of cached blocks of one size. */
#define MCP_FREE_LIST_MAX  32


typedef struct {
    mcp_mem_t   below;                         /* allocator from which blocks
                                                  are taken */
    void       *first[MCP_FREE_LIST_SIZES];    /* first cached block of each
                                                  size; index: size in steps */
    unsigned    n[MCP_FREE_LIST_SIZES];        /* number of cached blocks of
                                                  each size */
} mcp_free_list_t;


/* Returns an allocator that takes memory from the allocator *below and caches
 * freed memory in *list. *below is copied; *list must outlive the returned
 * allocator. */
mcp_mem_t mcp_free_list_init(mcp_free_list_t *list, const mcp_mem_t *below);

/* Frees the cached memory. */
void mcp_free_list_clear(mcp_free_list_t *list);


MCP_DECLARATIONS_END


#endif /* MCP_FREE_LIST_H_INCLUDED */
