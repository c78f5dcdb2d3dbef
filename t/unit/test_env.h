/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The environment of unit tests: memory that is counted and can fail, a clock
 * that the test sets, and reproducible randomness.
 *
 *     test_mem_t  tm;
 *
 *     test_mem_init(&tm);
 *     tm.fail_at = 3;            the third allocation from now on fails, once
 *     ... &tm.mem ...
 *     assert_int_equal(tm.live, 0);
 *
 * A test_mem_t or test_env_t must not be moved after its init function,
 * because it contains pointers to itself.
 */


#ifndef TEST_ENV_H_INCLUDED
#define TEST_ENV_H_INCLUDED


#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mcp.h"


#define ITEMS(array)  (sizeof(array) / sizeof(array[0]))


typedef struct {
    mcp_mem_t      mem;
    long           live;           /* number of allocations that are not
                                      freed */
    unsigned long  total;          /* number of allocations */
    unsigned long  fail_at;        /* 0: no allocation fails; 1: the next one
                                      fails; ... */
    unsigned long  failed;         /* allocations that failed */
} test_mem_t;


typedef struct {
    mcp_env_t      env;
    test_mem_t     tm;             /* the memory of env.mem */
    uint64_t       now;
    uint64_t       seed;
    int            random_rc;      /* return value of env.random */
    unsigned       logged;
    char           last[512];      /* last line of level notice or higher */
    char           debug[8192];   /* lines of level debug, as many as fit */
    char           info[512];      /* last line of level info */
} test_env_t;


static inline void *
test_mem_alloc(void *ctx, size_t size)
{
    test_mem_t  *tm = ctx;
    void        *p;

    tm->total++;

    if (tm->fail_at > 0 && --tm->fail_at == 0) {
        tm->failed++;
        return NULL;
    }

    p = malloc(size ? size : 1);
    if (p == NULL) {
        abort();
    }

    /* a value other than 0, so that a read of uninitialized memory fails the
     * test */
    memset(p, 0xa5, size);
    tm->live++;

    return p;
}


static inline void
test_mem_free(void *ctx, void *p)
{
    test_mem_t  *tm = ctx;

    if (p != NULL) {
        tm->live--;
        free(p);
    }
}


static inline void
test_mem_init(test_mem_t *tm)
{
    memset(tm, 0, sizeof(test_mem_t));

    tm->mem.alloc = test_mem_alloc;
    tm->mem.free = test_mem_free;
    tm->mem.ctx = tm;
}


/*
 * Begins the next round of a loop in which the first, second, ... allocation
 * fails, until none fails:
 *
 *     unsigned long  n = 0;
 *
 *     while (test_next_failure(&tm, &n)) {
 *         tm.fail_at = n;
 *         ...
 *     }
 *
 * Returns 0 after the first round without a failed allocation, which must not
 * be round 1.
 */
static inline int
test_next_failure(test_mem_t *tm, unsigned long *n)
{
    tm->fail_at = 0;

    if (*n && tm->failed == 0) {
        assert_true(*n > 1);
        return 0;
    }

    (*n)++;
    assert_in_range(*n, 1, 9999);
    tm->failed = 0;

    return 1;
}


static inline uint64_t
test_env_now(void *ctx)
{
    return ((test_env_t *) ctx)->now;
}


static inline int
test_env_random(void *ctx, void *buf, size_t len)
{
    test_env_t     *te = ctx;
    unsigned char  *p = buf;

    while (len--) {
        te->seed = te->seed * 6364136223846793005ULL + 1442695040888963407ULL;
        *p++ = (unsigned char) (te->seed >> 56);
    }

    return te->random_rc;
}


/* Returns a random number less than n. Equal seeds lead to equal numbers. */
static inline uint64_t
test_draw(uint64_t *seed, uint64_t n)
{
    *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;

    return (*seed >> 33) % n;
}


static inline void
test_env_log(void *ctx, mcp_log_level_e level, const char *line)
{
    size_t       n;
    test_env_t  *te = ctx;

    if (level == MCP_LOG_DEBUG) {
        n = strlen(te->debug);
        snprintf(te->debug + n, sizeof(te->debug) - n, "%s\n", line);
        return;
    }

    te->logged++;

    if (level == MCP_LOG_INFO) {
        snprintf(te->info, sizeof(te->info), "%s", line);

    } else {
        snprintf(te->last, sizeof(te->last), "%s", line);
    }
}


static inline void
test_env_init(test_env_t *te)
{
    memset(te, 0, sizeof(test_env_t));
    test_mem_init(&te->tm);

    te->now = 1700000000000ULL;
    te->seed = 1;

    te->env.mem = te->tm.mem;
    te->env.now = test_env_now;
    te->env.random = test_env_random;
    te->env.log = test_env_log;
    te->env.log_level = MCP_LOG_DEBUG;
    te->env.ctx = te;
}


/* Returns a C string as a slice. */
static inline mcp_str_t
test_str(const char *text)
{
    mcp_str_t  s = { text, strlen(text) };

    return s;
}


#define assert_str_is(s, text)                                                \
    do {                                                                      \
        mcp_str_t  test_s_ = (s);                                             \
                                                                              \
        assert_int_equal(test_s_.len, strlen(text));                          \
        assert_memory_equal(test_s_.data, text, strlen(text));                \
    } while (0)


/*
 * TEST(f) begins the test f, which is run because it is defined. RUN_TESTS() at
 * the end of the file is the main program. setup and teardown are called before
 * and after each test that is not begun by TEST_WITH(), which names its own;
 * NULL: there is none. The functions of RUN_TESTS_IN_GROUP() are called once,
 * before the first test and after the last one.
 */
static struct CMUnitTest  listed_tests[64] __attribute__((unused));
static size_t             listed_count __attribute__((unused));

#define TEST(f)  TEST_WITH(f, NULL, NULL)

#define TEST_WITH(f, setup, teardown)                                         \
    static void  f(void **state);                                             \
                                                                              \
    __attribute__((constructor)) static void                                  \
    f##_in_list(void)                                                         \
    {                                                                         \
        listed_tests[listed_count].name = #f;                                 \
        listed_tests[listed_count].setup_func = setup;                        \
        listed_tests[listed_count].teardown_func = teardown;                  \
        listed_tests[listed_count++].test_func = f;                           \
    }                                                                         \
                                                                              \
    static void                                                               \
    f(void **state __attribute__((unused)))

#define RUN_TESTS(setup, teardown)  run_tests_(setup, teardown, NULL, NULL)

#define RUN_TESTS_IN_GROUP(begin, end)  run_tests_(NULL, NULL, begin, end)

#define run_tests_(setup, teardown, begin, end)                               \
    int                                                                       \
    main(void)                                                                \
    {                                                                         \
        size_t  test_i_;                                                      \
                                                                              \
        for (test_i_ = 0; test_i_ < listed_count; test_i_++) {                \
            if (listed_tests[test_i_].teardown_func == NULL) {                \
                listed_tests[test_i_].setup_func = setup;                     \
                listed_tests[test_i_].teardown_func = teardown;               \
            }                                                                 \
        }                                                                     \
                                                                              \
        return _cmocka_run_group_tests("tests", listed_tests, listed_count,   \
                                       begin, end);                           \
    }


#define assert_ok(result)  assert_int_equal(result, MCP_OK)


#endif /* TEST_ENV_H_INCLUDED */
