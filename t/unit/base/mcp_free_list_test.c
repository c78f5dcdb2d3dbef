/* SPDX-License-Identifier: Apache-2.0 */

/* Freed memory that is held for the next allocation. */


#include "memory_cases.h"

#include "mcp_free_list.h"


TEST(block_that_was_freed_last_is_allocated_first)
{
    char            *a, *b, *c;
    mcp_mem_t        mem;
    mcp_free_list_t  spare;

    mem = mcp_free_list_init(&spare, &tm.mem);

    a = mem.alloc(mem.ctx, 100);
    b = mem.alloc(mem.ctx, 100);
    assert_true(a != NULL && b != NULL && a != b);
    assert_int_equal((uintptr_t) a % sizeof(void *), 0);
    memset(a, 'a', 128);
    memset(b, 'b', 128);

    /* the block that was freed last is used first, for all sizes of its
     * class */

    mem.free(mem.ctx, a);
    mem.free(mem.ctx, b);

    if (tm.live) {
        c = mem.alloc(mem.ctx, 65);
        assert_ptr_equal(c, b);
        mem.free(mem.ctx, c);

        c = mem.alloc(mem.ctx, 64);
        assert_true(c != a && c != b);
        mem.free(mem.ctx, c);
    }

    mcp_free_list_clear(&spare);
}


TEST(free_list_allocates_blocks_of_each_size_and_keeps_a_limited_number)
{
    void            *p, *held[MCP_FREE_LIST_MAX + 1];
    size_t           i, size;
    mcp_mem_t        mem;
    mcp_free_list_t  spare;

    static const size_t  sizes[] = {
        0, 1, 63, 64, 65, 4096, MCP_FREE_LIST_STEP * (MCP_FREE_LIST_SIZES - 1),
        MCP_FREE_LIST_STEP * (MCP_FREE_LIST_SIZES - 1) + 1, 1 << 20
    };

    mem = mcp_free_list_init(&spare, &tm.mem);

    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size = sizes[i];

        p = mem.alloc(mem.ctx, size);
        assert_non_null(p);
        memset(p, 'x', size);
        mem.free(mem.ctx, p);
    }

    mcp_free_list_clear(&spare);
    assert_int_equal(tm.live, 0);

    assert_null(mem.alloc(mem.ctx, SIZE_MAX));
    mem.free(mem.ctx, NULL);

    /* at most MCP_FREE_LIST_MAX blocks are held */

    for (i = 0; i <= MCP_FREE_LIST_MAX; i++) {
        held[i] = mem.alloc(mem.ctx, 1000);
        assert_non_null(held[i]);
    }

    for (i = 0; i <= MCP_FREE_LIST_MAX; i++) {
        mem.free(mem.ctx, held[i]);
    }

    assert_true(tm.live <= MCP_FREE_LIST_MAX);

    mcp_free_list_clear(&spare);
}


RUN_TESTS(init, done)
