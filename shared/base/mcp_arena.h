/* SPDX-License-Identifier: Apache-2.0 */

/* The arena: a bump allocator over mcp_mem_t, freed as a whole. */


#ifndef MCP_ARENA_H_INCLUDED
#define MCP_ARENA_H_INCLUDED


#include "mcp_buf.h"


/* Size of an arena's second block, bytes: enough for a call with one backend
 * request, whose arena has only two blocks then. */
#define MCP_ARENA_CALL_BLOCK  2816


typedef struct mcp_arena_block_s  mcp_arena_block_t;

typedef struct {
    const mcp_mem_t    *mem;
    mcp_arena_block_t  *blocks;        /* newest first */
    char               *pos;
    char               *end;
    unsigned            step;          /* index of the next block's size in
                                          mcp_arena_rooms[] */
} mcp_arena_t;


/* Returns memory that is set to zero, or NULL when out of memory. */
void *mcp_mem_calloc(const mcp_mem_t *mem, size_t size);

static inline void
mcp_mem_free(const mcp_mem_t *mem, void *p)
{
    mem->free(mem->ctx, p);
}


void mcp_arena_init(mcp_arena_t *arena, const mcp_mem_t *mem);

/* Returns 8-byte aligned memory that is valid until mcp_arena_release(),
 * _reset() or _destroy(), or NULL when out of memory. */
void *mcp_arena_alloc(mcp_arena_t *arena, size_t size);

/* Like mcp_arena_alloc(), but sets the memory to zero. */
void *mcp_arena_calloc(mcp_arena_t *arena, size_t size);

/*
 * Copies s into the arena. The copy's data is NULL when out of memory, and not
 * NULL otherwise, even if s is empty.
 */
mcp_str_t mcp_arena_dup(mcp_arena_t *arena, mcp_str_t s);

/*
 * Copies the content of a buffer into the arena, and frees the buffer's memory;
 * the buffer can be reused. The copy's data is NULL if the buffer has failed,
 * or when out of memory.
 */
mcp_str_t mcp_arena_take(mcp_arena_t *arena, mcp_buf_t *buf);


/* A position in an arena: the end of the memory that was in use when
 * mcp_arena_mark() was called. mcp_arena_release() returns the arena to this
 * position. */
typedef struct {
    mcp_arena_block_t  *blocks;
    char               *pos;
    char               *end;
} mcp_arena_mark_t;


mcp_arena_mark_t mcp_arena_mark(const mcp_arena_t *arena);

/*
 * Frees everything that was allocated after the mark was taken. Marks must be
 * released in reverse order.
 */
void mcp_arena_release(mcp_arena_t *arena, mcp_arena_mark_t mark);

/* Frees all allocations but keeps one block for reuse. */
void mcp_arena_reset(mcp_arena_t *arena);

/* Frees all allocations; the arena can be used again. */
void mcp_arena_destroy(mcp_arena_t *arena);


#endif /* MCP_ARENA_H_INCLUDED */
