/* SPDX-License-Identifier: Apache-2.0 */

/* The arena, the buffer, numbers and comparisons. */


#include "test_env.h"


static void
test_arena_alloc(void **state)
{
    char         *p, *big;
    size_t        i;
    test_mem_t    tm;
    mcp_arena_t   arena;

    (void) state;

    test_mem_init(&tm);
    mcp_arena_init(&arena, &tm.mem);

    assert_non_null(mcp_arena_alloc(&arena, 0));

    for (i = 1; i < 3000; i += 7) {
        p = mcp_arena_alloc(&arena, i);
        assert_non_null(p);
        assert_int_equal((uintptr_t) p % 8, 0);
        memset(p, 1, i);
    }

    /* one that is larger than a block does not waste the current block */

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

    /* as good as new */

    assert_non_null(mcp_arena_alloc(&arena, 1));
    mcp_arena_destroy(&arena);
    assert_int_equal(tm.live, 0);
}


static void
test_arena_reset(void **state)
{
    int           i;
    void         *p;
    test_mem_t    tm;
    mcp_arena_t   arena;

    (void) state;

    test_mem_init(&tm);
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
    assert_int_equal(tm.live, 0);
}


static void
test_arena_mark(void **state)
{
    char              *p;
    long               live;
    test_mem_t         tm;
    mcp_arena_t        arena;
    mcp_arena_mark_t   empty, mark, inner;

    (void) state;

    test_mem_init(&tm);
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
    assert_int_equal(tm.live, 0);
}


static void
test_arena_dup(void **state)
{
    mcp_str_t     s;
    test_mem_t    tm;
    mcp_arena_t   arena;

    (void) state;

    test_mem_init(&tm);
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

    /* it goes on after a failure */

    assert_non_null(mcp_arena_alloc(&arena, 1));

    mcp_arena_destroy(&arena);
    assert_int_equal(tm.live, 0);
}


static void
test_buf_grow(void **state)
{
    char        c;
    size_t      i;
    mcp_buf_t   buf;
    test_mem_t  tm;

    (void) state;

    test_mem_init(&tm);
    mcp_buf_init(&buf, &tm.mem, 10000);

    for (i = 0; i < 10000; i++) {
        c = (char) i;
        mcp_buf_add(&buf, &c, 1);
    }

    assert_int_equal(buf.failed, MCP_OK);
    assert_int_equal(buf.len, 10000);
    assert_true(buf.cap <= 10000);

    for (i = 0; i < 10000; i++) {
        assert_int_equal(buf.data[i], (char) i);
    }

    /* the maximum is one, and what follows does nothing */

    mcp_buf_lit(&buf, "x");
    assert_int_equal(buf.failed, MCP_ERR_LIMIT);
    mcp_buf_str(&buf, mcp_null_str);
    assert_null(mcp_buf_reserve(&buf, 0));
    assert_int_equal(buf.len, 10000);

    mcp_buf_free(&buf);
    assert_int_equal(tm.live, 0);

    mcp_buf_lit(&buf, "again");
    assert_int_equal(buf.failed, MCP_OK);
    assert_int_equal(buf.len, 5);

    mcp_buf_free(&buf);
    mcp_buf_free(&buf);
    assert_int_equal(tm.live, 0);
}


static void
test_buf_limits(void **state)
{
    mcp_buf_t   buf;
    test_mem_t  tm;

    (void) state;

    test_mem_init(&tm);

    mcp_buf_init(&buf, &tm.mem, 3);
    assert_non_null(mcp_buf_reserve(&buf, 0));
    mcp_buf_lit(&buf, "abc");
    assert_int_equal(buf.failed, MCP_OK);
    mcp_buf_lit(&buf, "d");
    assert_int_equal(buf.failed, MCP_ERR_LIMIT);
    mcp_buf_free(&buf);

    mcp_buf_init(&buf, &tm.mem, 0);
    mcp_buf_str(&buf, mcp_null_str);
    assert_int_equal(buf.failed, MCP_OK);
    mcp_buf_lit(&buf, "d");
    assert_int_equal(buf.failed, MCP_ERR_LIMIT);
    mcp_buf_free(&buf);

    mcp_buf_init(&buf, &tm.mem, SIZE_MAX);
    mcp_buf_lit(&buf, "abc");
    assert_null(mcp_buf_reserve(&buf, SIZE_MAX));
    assert_int_equal(buf.failed, MCP_ERR_LIMIT);
    mcp_buf_free(&buf);

    mcp_buf_init(&buf, &tm.mem, 100);
    tm.fail_at = 1;
    mcp_buf_lit(&buf, "abc");
    mcp_buf_lit(&buf, "abc");
    assert_int_equal(buf.failed, MCP_ERR_MEMORY);
    assert_int_equal(buf.len, 0);
    mcp_buf_free(&buf);

    assert_int_equal(tm.live, 0);
}


static const struct {
    const char  *text;
    const char  *json;
} strings[] = {
    { "", "\"\"" },
    { "plain /text'", "\"plain /text'\"" },
    { "\"\\", "\"\\\"\\\\\"" },
    { "a\"", "\"a\\\"\"" },
    { "\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"" },
    { "\x01\x0b\x1f\x7f", "\"\\u0001\\u000b\\u001f\x7f\"" },
    { "\xe2\x80\xa8\xe2\x80\xa9\xf0\x9f\x98\x80",
      "\"\xe2\x80\xa8\xe2\x80\xa9\xf0\x9f\x98\x80\"" },
};


static void
test_buf_json(void **state)
{
    size_t      i;
    mcp_buf_t   buf;
    test_mem_t  tm;

    (void) state;

    test_mem_init(&tm);
    mcp_buf_init(&buf, &tm.mem, 1000);

    for (i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
        buf.len = 0;
        mcp_buf_json(&buf, test_str(strings[i].text));
        assert_str_is(((mcp_str_t) { buf.data, buf.len }), strings[i].json);
    }

    buf.len = 0;
    mcp_buf_json(&buf, (mcp_str_t) { "a\0b", 3 });
    mcp_buf_json(&buf, mcp_null_str);
    mcp_buf_escape(&buf, mcp_str("x\ny"));
    assert_str_is(((mcp_str_t) { buf.data, buf.len }),
                  "\"a\\u0000b\"\"\"x\\ny");

    mcp_buf_free(&buf);
    assert_int_equal(tm.live, 0);
}


static void
test_buf_int(void **state)
{
    mcp_buf_t   buf;
    test_mem_t  tm;

    (void) state;

    test_mem_init(&tm);
    mcp_buf_init(&buf, &tm.mem, 1000);

    mcp_buf_int(&buf, 0);
    mcp_buf_lit(&buf, " ");
    mcp_buf_int(&buf, -32700);
    mcp_buf_lit(&buf, " ");
    mcp_buf_int(&buf, INT64_MAX);
    mcp_buf_lit(&buf, " ");
    mcp_buf_int(&buf, INT64_MIN);

    assert_str_is(((mcp_str_t) { buf.data, buf.len }),
                  "0 -32700 9223372036854775807 -9223372036854775808");

    mcp_buf_free(&buf);
}


static const struct {
    const char  *text;
    int          rc;
    uint64_t     n;
} numbers[] = {
    { "0", MCP_OK, 0 },
    { "007", MCP_OK, 7 },
    { "18446744073709551615", MCP_OK, UINT64_MAX },
    { "18446744073709551616", MCP_ERR_SYNTAX, 0 },
    { "99999999999999999999", MCP_ERR_SYNTAX, 0 },
    { "", MCP_ERR_SYNTAX, 0 },
    { "-1", MCP_ERR_SYNTAX, 0 },
    { "+1", MCP_ERR_SYNTAX, 0 },
    { " 1", MCP_ERR_SYNTAX, 0 },
    { "1 ", MCP_ERR_SYNTAX, 0 },
    { "1a", MCP_ERR_SYNTAX, 0 },
    { "0x1", MCP_ERR_SYNTAX, 0 },
};


static void
test_numbers(void **state)
{
    char      text[20], *end;
    size_t    i;
    uint64_t  n;

    (void) state;

    for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        n = 42;
        assert_int_equal(mcp_str_uint(test_str(numbers[i].text), &n),
                         numbers[i].rc);
        assert_true(n == (numbers[i].rc == MCP_OK ? numbers[i].n : 42));
    }

    end = mcp_uint_print(text, UINT64_MAX);
    assert_str_is(((mcp_str_t) { text, (size_t) (end - text) }),
                  "18446744073709551615");

    end = mcp_uint_print(text, 0);
    assert_str_is(((mcp_str_t) { text, (size_t) (end - text) }), "0");
}


static void
test_compare(void **state)
{
    (void) state;

    assert_true(mcp_str_eq(mcp_str("a"), mcp_str("a")));
    assert_false(mcp_str_eq(mcp_str("a"), mcp_str("b")));
    assert_false(mcp_str_eq(mcp_str("a"), mcp_str("ab")));
    assert_true(mcp_str_eq(mcp_null_str, mcp_str("")));

    assert_true(mcp_str_case_eq(mcp_str("Accept-Z"), mcp_str("aCCEPT-z")));
    assert_true(mcp_str_case_eq(mcp_null_str, mcp_str("")));
    assert_false(mcp_str_case_eq(mcp_str("a"), mcp_str("ab")));
    assert_false(mcp_str_case_eq(mcp_str("["), mcp_str("{")));
    assert_false(mcp_str_case_eq(mcp_str("@"), mcp_str("`")));
    assert_false(mcp_str_case_eq(mcp_str("\xc4"), mcp_str("\xe4")));
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_arena_alloc),
        cmocka_unit_test(test_arena_reset),
        cmocka_unit_test(test_arena_mark),
        cmocka_unit_test(test_arena_dup),
        cmocka_unit_test(test_buf_grow),
        cmocka_unit_test(test_buf_limits),
        cmocka_unit_test(test_buf_json),
        cmocka_unit_test(test_buf_int),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_compare),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
