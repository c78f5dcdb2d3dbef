/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Memory for yajl, which does not check its allocations: it gets a block that
 * is worked out to be enough.
 *
 * It asks for its fixed parts; for the stack of states, one byte a container
 * and one more, the first time with realloc(NULL): it gets all it can need
 * then; and, only if the text breaks off within a token or is but a number, for
 * a copy of that token and a space, in a buffer that doubles from 2048.  This
 * buffer then is the newest piece and grows where it stands.  There is no third
 * kind, as nothing is decoded.
 */


#include "json/mcp_json_parts.h"


/*
 * yajl's fixed parts: handle (120 bytes), lexer (64), two buffer heads (32
 * each).  Twice that, for what other versions may add.
 */
#define MCP_YAJL_FIXED      512

/* Its buffers begin with this size and double (YAJL_BUF_INIT_SIZE). */
#define MCP_YAJL_BUFFER     2048

/* Its state stack grows by this (YAJL_BS_INC). */
#define MCP_YAJL_STACK      128

/* In front of each piece of its memory: the size. */
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

        /* not with any yajl we know; better a chance than none */

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
    /* the block goes as a whole */

    (void) ctx;
    (void) p;
}
