/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Memory that is kept for whoever asks for as much next: a call is over soon,
 * and the next one needs the same.  Used by one thread at a time.
 */


#ifndef MCP_SPARE_H_INCLUDED
#define MCP_SPARE_H_INCLUDED


#include "mcp.h"


/* Sizes are rounded up to a multiple of the step; larger ones are not kept. */
#define MCP_SPARE_STEP   64
#define MCP_SPARE_SIZES  68

/* How many of a size are kept. */
#define MCP_SPARE_MAX    32


typedef struct {
    mcp_mem_t   below;
    void       *first[MCP_SPARE_SIZES];
    unsigned    n[MCP_SPARE_SIZES];
} mcp_spare_t;


/* Returns memory on top of below; it is as good as that, and as long as
 * spare. */
mcp_mem_t mcp_spare_init(mcp_spare_t *spare, const mcp_mem_t *below);

/* Gives back what is kept. */
void mcp_spare_clear(mcp_spare_t *spare);


#endif /* MCP_SPARE_H_INCLUDED */
