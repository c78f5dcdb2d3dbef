/* SPDX-License-Identifier: Apache-2.0 */

/* The arena. */


#include "memory_cases.h"

#include "base/mcp_arena.h"


TEST(arena_allocations_are_aligned_and_a_large_allocation_has_its_own_block)
{
    char        *p, *big;
    size_t       i;
    mcp_arena_t  arena;

    mcp_arena_init(&arena, &tm.mem);

    assert_non_null(mcp_arena_alloc(&arena, 0));

    for (i = 1; i < 3000; i += 7) {
        p = mcp_arena_alloc(&arena, i);
        assert_non_null(p);
        assert_int_equal((uintptr_t) p % 8, 0);
        memset(p, 1, i);
    }

    /* an allocation that is larger than a block gets a separate block; the
     * rest of the current block stays available */

    p = mcp_arena_alloc(&arena, 8);
    big = mcp_arena_alloc(&arena, 100000);
    assert_non_null(big);
    memset(big, 1, 100000);
    assert_ptr_equal(mcp_arena_alloc(&arena, 8), p + 8);

    p = mcp_arena_calloc(&arena, 64);

    for (i = 0; i < 64; i++) {
        assert_int_equal(p[i], 0);
    }

    assert_null(mcp_arena_alloc(&arena, SIZE_MAX));
    assert_null(mcp_arena_alloc(&arena, SIZE_MAX - 7));
    assert_null(mcp_arena_calloc(&arena, SIZE_MAX));

    mcp_arena_destroy(&arena);
    assert_int_equal(tm.live, 0);

    /* the arena can be used again after it was destroyed */

    assert_non_null(mcp_arena_alloc(&arena, 1));
    mcp_arena_destroy(&arena);
}


/* The first block is small, and further blocks are larger. */
TEST(first_block_of_an_arena_is_small_and_later_ones_are_larger)
{
    size_t       i, n;
    mcp_arena_t  arena;

    static const size_t  sizes[] = { 1536, 2816, 4096, 4096 };

    mcp_arena_init(&arena, &tm.mem);

    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {

        for (n = 0; n < sizes[i] - 16; n += 8) {
            assert_non_null(mcp_arena_alloc(&arena, 8));
        }

        assert_int_equal(tm.live, i + 1);
    }

    mcp_arena_destroy(&arena);

    /* an allocation that does not fit into the first block gets a larger
     * block, in which later allocations fit as well */

    assert_non_null(mcp_arena_alloc(&arena, 3000));
    assert_non_null(mcp_arena_alloc(&arena, 1000));
    assert_int_equal(tm.live, 1);

    mcp_arena_destroy(&arena);
}


TEST(arena_is_reset__its_memory_is_used_again)
{
    int          i;
    void        *p;
    mcp_arena_t  arena;

    mcp_arena_init(&arena, &tm.mem);

    mcp_arena_reset(&arena);
    assert_int_equal(tm.live, 0);

    p = mcp_arena_alloc(&arena, 1000);

    for (i = 0; i < 100; i++) {
        mcp_arena_reset(&arena);
        assert_ptr_equal(mcp_arena_alloc(&arena, 1000), p);
    }

    assert_int_equal(tm.total, 1);

    for (i = 0; i < 100; i++) {
        assert_non_null(mcp_arena_alloc(&arena, i % 2 ? 3000 : 9000));
    }

    mcp_arena_reset(&arena);
    assert_int_equal(tm.live, 1);

    mcp_arena_destroy(&arena);
}


TEST(arena_is_released_to_a_mark__all_later_allocations_are_freed)
{
    char             *p;
    long              live;
    mcp_arena_t       arena;
    mcp_arena_mark_t  empty, mark, inner;

    mcp_arena_init(&arena, &tm.mem);

    empty = mcp_arena_mark(&arena);

    p = mcp_arena_alloc(&arena, 16);
    mark = mcp_arena_mark(&arena);
    live = tm.live;

    assert_non_null(mcp_arena_alloc(&arena, 50000));
    inner = mcp_arena_mark(&arena);
    assert_non_null(mcp_arena_alloc(&arena, 4072));
    assert_non_null(mcp_arena_alloc(&arena, 4072));
    assert_int_equal(tm.live, live + 3);

    mcp_arena_release(&arena, inner);
    assert_int_equal(tm.live, live + 1);

    mcp_arena_release(&arena, mark);
    assert_int_equal(tm.live, live);
    assert_ptr_equal(mcp_arena_alloc(&arena, 8), p + 16);

    mcp_arena_release(&arena, empty);
    assert_int_equal(tm.live, 1);
    assert_ptr_equal(mcp_arena_alloc(&arena, 8), p);

    mcp_arena_destroy(&arena);
}


TEST(string_is_copied_into_an_arena__the_copy_has_no_data_if_memory_runs_out)
{
    mcp_str_t    s;
    mcp_arena_t  arena;

    mcp_arena_init(&arena, &tm.mem);

    s = mcp_arena_dup(&arena, mcp_str("text"));
    assert_str_is(s, "text");

    s = mcp_arena_dup(&arena, mcp_null_str);
    assert_non_null(s.data);
    assert_int_equal(s.len, 0);

    mcp_arena_destroy(&arena);

    tm.fail_at = 1;
    assert_null(mcp_arena_dup(&arena, mcp_str("text")).data);

    tm.fail_at = 1;
    assert_null(mcp_arena_alloc(&arena, 100000));
    tm.fail_at = 1;
    assert_null(mcp_arena_calloc(&arena, 1));

    /* the arena works after a failure */

    assert_non_null(mcp_arena_alloc(&arena, 1));

    mcp_arena_destroy(&arena);
}


RUN_TESTS(init, done)
