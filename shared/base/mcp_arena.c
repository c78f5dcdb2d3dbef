/* SPDX-License-Identifier: Apache-2.0 */

/* Implements the arena (mcp_arena.h) as a list of blocks. Allocations are taken
 * from the current block, one after the other. */


#include "base/mcp_arena.h"


#define MCP_ARENA_ALIGN  8


struct mcp_arena_block_s {
    mcp_arena_block_t  *next;
    size_t              size;          /* number of bytes after the block's
                                          header */
};


#define MCP_ARENA_ROOM(size)  ((size) - sizeof(mcp_arena_block_t))

/*
 * The sizes of an arena's first, second and third block. Every later block has
 * the last size. The first block is small because it is enough for a listener,
 * which may keep its arena for hours. The second one is enough for a call.
 */
static const size_t  mcp_arena_rooms[] = {
    MCP_ARENA_ROOM(1536),
    MCP_ARENA_ROOM(MCP_ARENA_CALL_BLOCK),
    MCP_ARENA_ROOM(4096)
};

#define MCP_ARENA_LAST                                                        \
    (sizeof(mcp_arena_rooms) / sizeof(mcp_arena_rooms[0]) - 1)


void *
mcp_mem_calloc(const mcp_mem_t *mem, size_t size)
{
    void  *p;

    p = mem->alloc(mem->ctx, size);

    if (p != NULL) {
        mcp_zero(p, size);
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
    arena->step = 0;
}


/* Adds a block with space for allocations of size bytes in total to the arena's
 * list. Returns the address of this space, or NULL when out of memory. */
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


/*
 * Adds a block for at least size bytes and makes it the current one. Returns
 * MCP_OK or MCP_ERR_MEMORY.
 */
static int
mcp_arena_grow(mcp_arena_t *arena, size_t size)
{
    char      *p;
    unsigned   step;

    step = arena->step;

    while (mcp_arena_rooms[step] < size) {
        step++;
    }

    p = mcp_arena_block(arena, mcp_arena_rooms[step]);
    if (p == NULL) {
        return MCP_ERR_MEMORY;
    }

    arena->pos = p;
    arena->end = p + mcp_arena_rooms[step];
    arena->step = step < MCP_ARENA_LAST ? step + 1 : step;

    return MCP_OK;
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

    /* the allocation is larger than any regular block: it gets a separate
     * block, and later allocations continue in the current block */

    if (size > mcp_arena_rooms[MCP_ARENA_LAST]) {
        return mcp_arena_block(arena, size);
    }

    if (size > (size_t) (arena->end - arena->pos)
        && mcp_arena_grow(arena, size) != MCP_OK)
    {
        return NULL;
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
        mcp_zero(p, size);
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


mcp_str_t
mcp_arena_take(mcp_arena_t *arena, mcp_buf_t *buf)
{
    mcp_str_t  text;

    text = buf->failed ? mcp_null_str : mcp_arena_dup(arena, mcp_buf_text(buf));
    mcp_buf_free(buf);

    return text;
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

    /* the arena was empty when the mark was taken: keeps one block, because
     * memory is usually needed again soon */

    if (mark.blocks == NULL) {
        mcp_arena_reset(arena);
        return;
    }

    while (arena->blocks != mark.blocks) {
        block = arena->blocks;
        arena->blocks = block->next;
        mcp_mem_free(arena->mem, block);
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

        if (keep == NULL && block->size <= mcp_arena_rooms[MCP_ARENA_LAST]) {
            keep = block;
            continue;
        }

        mcp_mem_free(arena->mem, block);
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
        mcp_mem_free(arena->mem, block);
    }

    mcp_arena_init(arena, arena->mem);
}
