/* SPDX-License-Identifier: Apache-2.0 */

/* The arena: memory that is freed as a whole. */


#include "base/mcp_arena.h"


/* One block with its header is one page for most allocators. */
#define MCP_ARENA_BLOCK  4096
#define MCP_ARENA_ALIGN  8


struct mcp_arena_block_s {
    mcp_arena_block_t  *next;
    size_t              size;          /* behind the header */
};


#define MCP_ARENA_ROOM   (MCP_ARENA_BLOCK - sizeof(mcp_arena_block_t))


void *
mcp_mem_calloc(const mcp_mem_t *mem, size_t size)
{
    void  *p;

    p = mem->alloc(mem->ctx, size);

    if (p != NULL) {
        memset(p, 0, size);
    }

    return p;
}


void
mcp_arena_init(mcp_arena_t *arena, const mcp_mem_t *mem)
{
    arena->mem = mem;
    arena->blocks = NULL;
    arena->pos = NULL;
    arena->end = NULL;
}


/* Adds a block with room for size bytes; returns where they begin. */
static char *
mcp_arena_block(mcp_arena_t *arena, size_t size)
{
    mcp_arena_block_t  *block;

    block = arena->mem->alloc(arena->mem->ctx,
                              sizeof(mcp_arena_block_t) + size);
    if (block == NULL) {
        return NULL;
    }

    block->size = size;
    block->next = arena->blocks;
    arena->blocks = block;

    return (char *) (block + 1);
}


void *
mcp_arena_alloc(mcp_arena_t *arena, size_t size)
{
    char  *p;

    if (size > SIZE_MAX - sizeof(mcp_arena_block_t) - MCP_ARENA_ALIGN) {
        return NULL;
    }

    size = (size + MCP_ARENA_ALIGN - 1) & ~(size_t) (MCP_ARENA_ALIGN - 1);

    if (size == 0) {
        size = MCP_ARENA_ALIGN;
    }

    /* what is larger than a block stands alone; the current one goes on */

    if (size > MCP_ARENA_ROOM) {
        return mcp_arena_block(arena, size);
    }

    if (size > (size_t) (arena->end - arena->pos)) {
        p = mcp_arena_block(arena, MCP_ARENA_ROOM);
        if (p == NULL) {
            return NULL;
        }

        arena->pos = p;
        arena->end = p + MCP_ARENA_ROOM;
    }

    p = arena->pos;
    arena->pos += size;

    return p;
}


void *
mcp_arena_calloc(mcp_arena_t *arena, size_t size)
{
    void  *p;

    p = mcp_arena_alloc(arena, size);

    if (p != NULL) {
        memset(p, 0, size);
    }

    return p;
}


mcp_str_t
mcp_arena_dup(mcp_arena_t *arena, mcp_str_t s)
{
    char  *p;

    p = mcp_arena_alloc(arena, s.len);
    if (p == NULL) {
        return mcp_null_str;
    }

    if (s.len > 0) {
        memcpy(p, s.data, s.len);
    }

    return (mcp_str_t) { p, s.len };
}


mcp_arena_mark_t
mcp_arena_mark(const mcp_arena_t *arena)
{
    return (mcp_arena_mark_t) { arena->blocks, arena->pos, arena->end };
}


void
mcp_arena_release(mcp_arena_t *arena, mcp_arena_mark_t mark)
{
    mcp_arena_block_t  *block;

    /* an arena that was empty keeps a block: it is about to be used */

    if (mark.blocks == NULL) {
        mcp_arena_reset(arena);
        return;
    }

    while (arena->blocks != mark.blocks) {
        block = arena->blocks;
        arena->blocks = block->next;
        arena->mem->free(arena->mem->ctx, block);
    }

    arena->pos = mark.pos;
    arena->end = mark.end;
}


void
mcp_arena_reset(mcp_arena_t *arena)
{
    mcp_arena_block_t  *block, *next, *keep;

    keep = NULL;

    for (block = arena->blocks; block; block = next) {
        next = block->next;

        if (keep == NULL && block->size == MCP_ARENA_ROOM) {
            keep = block;
            continue;
        }

        arena->mem->free(arena->mem->ctx, block);
    }

    mcp_arena_init(arena, arena->mem);

    if (keep != NULL) {
        keep->next = NULL;
        arena->blocks = keep;
        arena->pos = (char *) (keep + 1);
        arena->end = arena->pos + keep->size;
    }
}


void
mcp_arena_destroy(mcp_arena_t *arena)
{
    mcp_arena_block_t  *block, *next;

    for (block = arena->blocks; block; block = next) {
        next = block->next;
        arena->mem->free(arena->mem->ctx, block);
    }

    mcp_arena_init(arena, arena->mem);
}
