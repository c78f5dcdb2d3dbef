/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Memory for yajl, which does not check whether its allocations fail: it gets
 * a block that is large enough for all its allocations, which are
 *
 * - its fixed parts;
 * - the stack of states, with one byte for each container and an additional
 *   one. yajl allocates it by realloc(NULL) and enlarges it later; here it
 *   gets the largest possible size at once;
 * - only if the text ends within a token or is a number, a copy of that token
 *   and a space, in a buffer that doubles from 2,048 bytes. This buffer is
 *   then the newest allocation and grows in place.
 *
 * There are no other allocations, because yajl decodes no strings here.
 */


#include "json/mcp_json_internal.h"


/*
 * Bytes for the fixed parts of yajl: handle (120 bytes), lexer (64), two
 * buffer heads (32 each); twice as many, for other versions of yajl.
 */
#define MCP_YAJL_FIXED      512

/* Initial size of yajl's buffers, which double when they are full
 * (YAJL_BUF_INIT_SIZE). */
#define MCP_YAJL_BUFFER     2048

/* Number of bytes by which yajl enlarges its stack of states (YAJL_BS_INC). */
#define MCP_YAJL_STACK      128

/* Size of the header of each allocation, which contains the size of the
 * allocation. */
#define MCP_YAJL_HEAD       sizeof(size_t)


int
mcp_json_memory_init(mcp_json_memory_t *memory, mcp_arena_t *arena, size_t len,
    unsigned max_depth)
{
    size_t  buffer, size;

    if (len > SIZE_MAX / 8) {
        return MCP_ERR_MEMORY;
    }

    memory->arena = arena;
    memory->last = NULL;

    memory->stack = (max_depth < len ? max_depth : len) + 2;
    memory->stack += MCP_YAJL_STACK - memory->stack % MCP_YAJL_STACK;

    buffer = MCP_YAJL_BUFFER;

    while (buffer <= len + 2) {
        buffer *= 2;
    }

    size = MCP_YAJL_FIXED + memory->stack + buffer + 8 * MCP_YAJL_HEAD;

    memory->pos = mcp_arena_alloc(arena, size);
    if (memory->pos == NULL) {
        return MCP_ERR_MEMORY;
    }

    memory->end = memory->pos + size;

    return MCP_OK;
}


void *
mcp_json_malloc(void *ctx, size_t size)
{
    char               *p;
    mcp_json_memory_t  *memory = ctx;

    size = (size + 7) & ~(size_t) 7;

    if (size + MCP_YAJL_HEAD > (size_t) (memory->end - memory->pos)) {

        /* no known version of yajl needs this: the block is large enough */

        p = mcp_arena_alloc(memory->arena, size + MCP_YAJL_HEAD);
        if (p == NULL) {
            return NULL;
        }

    } else {
        p = memory->pos;
        memory->pos += size + MCP_YAJL_HEAD;
        memory->last = p + MCP_YAJL_HEAD;
    }

    *(size_t *) (void *) p = size;

    return p + MCP_YAJL_HEAD;
}


void *
mcp_json_realloc(void *ctx, void *old, size_t size)
{
    char               *p = old;
    size_t             *have;
    mcp_json_memory_t  *memory = ctx;

    if (p == NULL) {
        return mcp_json_malloc(memory, size < memory->stack ? memory->stack
                                                            : size);
    }

    have = (size_t *) (void *) (p - MCP_YAJL_HEAD);

    if (size <= *have) {
        return p;
    }

    size = (size + 7) & ~(size_t) 7;

    if (p == memory->last && size <= (size_t) (memory->end - p)) {
        memory->pos = p + size;
        *have = size;
        return p;
    }

    p = mcp_json_malloc(memory, size);

    if (p != NULL) {
        memcpy(p, old, *have);
    }

    return p;
}


void
mcp_json_free(void *ctx, void *p)
{
    /* the arena frees the whole block */

    (void) ctx;
    (void) p;
}
