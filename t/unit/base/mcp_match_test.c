/* SPDX-License-Identifier: Apache-2.0 */

/* Patterns: exact strings and regular expressions. */


#include <pthread.h>

#include "memory_cases.h"

#include "base/mcp_match.h"


static mcp_match_t *
match_create(const char *pattern)
{
    char          error[128];
    mcp_match_t  *match;

    test_mem_init(&tm);

    if (mcp_match_create(&tm.mem, test_str(pattern), &match, error,
                         sizeof(error)) != MCP_OK)
    {
        fail_msg("%s: %s", pattern, error);
    }

    return match;
}


TEST(pattern_after_a_tilde_is_a_regular_expression_and_otherwise_an_exact_text)
{
    static const struct {
        const char  *pattern;
        const char  *subject;
        int          matches;
    } cases[] = {
        { "abc", "abc", 1 },
        { "abc", "ABC", 0 },
        { "abc", "abcd", 0 },
        { "abc", "ab", 0 },
        { "abc", "", 0 },
        { "a.c", "abc", 0 },
        { "~b", "abc", 1 },
        { "~^b", "abc", 0 },
        { "~B", "abc", 0 },
        { "~*B", "abc", 1 },
        { "~^a.c$", "abc", 1 },
        { "~^a.c$", "abcd", 0 },
        { "~^abc$", "abc\n", 0 },
        { "~(a)(b)(c)", "abc", 1 },
        { "~^https://[a-z]+\\.example\\.com$", "https://x.example.com", 1 },
        { "~^https://[a-z]+\\.example\\.com$", "https://xexample.com", 0 },
        { "~^$", "", 1 },
        { "~*\\xe9", "\xe9", 1 },
        { "~(*UTF)^\\x{e9}$", "\xc3\xa9", 1 },
        { "~(*UTF)^.$", "\xc3", 0 },               /* not UTF-8 */
    };

    size_t        i;
    mcp_match_t  *match;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        match = match_create(cases[i].pattern);

        if (mcp_match(match, test_str(cases[i].subject)) != cases[i].matches) {
            fail_msg("%s on %s", cases[i].pattern, cases[i].subject);
        }

        assert_int_equal(mcp_match_is_exact(match),
                         cases[i].pattern[0] != '~');

        mcp_match_free(match);
        assert_int_equal(tm.live, 0);
    }
}


TEST(subject_has_no_final_nul__the_match_ends_at_the_length_of_the_subject)
{
    char         *p;
    mcp_match_t  *match;

    p = malloc(3);
    assert_non_null(p);
    memcpy(p, "abc", 3);

    match = match_create("~^abc$");
    assert_int_equal(mcp_match(match, (mcp_str_t) { p, 3 }), 1);
    assert_int_equal(mcp_match(match, (mcp_str_t) { p, 2 }), 0);
    assert_int_equal(mcp_match(match, mcp_null_str), 0);
    mcp_match_free(match);

    match = match_create("abc");
    assert_int_equal(mcp_match(match, (mcp_str_t) { p, 3 }), 1);
    assert_int_equal(mcp_match(match, mcp_null_str), 0);
    mcp_match_free(match);

    match = match_create("~^$");
    assert_int_equal(mcp_match(match, mcp_null_str), 1);
    mcp_match_free(match);

    free(p);
}


TEST(invalid_pattern_is_rejected_with_the_reason)
{
    static const struct {
        const char  *pattern;
        const char  *error;
    } cases[] = {
        { "", "empty pattern" },
        { "~", "empty regular expression" },
        { "~*", "empty regular expression" },
        { "~a(b", "missing closing parenthesis at offset 4" },
        { "~*[", "missing terminating ] for character class at offset 3" },
    };

    char          error[128], little[8];
    size_t        i;
    mcp_match_t  *match;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        test_mem_init(&tm);

        assert_int_equal(mcp_match_create(&tm.mem, test_str(cases[i].pattern),
                                          &match, error, sizeof(error)),
                         MCP_ERR_CONFIG);
        assert_string_equal(error, cases[i].error);

        assert_int_equal(mcp_match_create(&tm.mem, test_str(cases[i].pattern),
                                          &match, little, sizeof(little)),
                         MCP_ERR_CONFIG);
        assert_memory_equal(little, cases[i].error, sizeof(little) - 1);
        assert_int_equal(little[sizeof(little) - 1], '\0');

        assert_int_equal(mcp_match_create(&tm.mem, test_str(cases[i].pattern),
                                          &match, NULL, 0),
                         MCP_ERR_CONFIG);
        assert_int_equal(tm.live, 0);
    }

    mcp_match_free(NULL);
}


/* Patterns with exponential backtracking: the time is bounded, and the result
 * is no match. */
TEST(pattern_that_backtracks_exponentially_does_not_match)
{
    static const char  *patterns[] = {
        "~^(a+)+$",
        "~^(a|aa)+$",
        "~(*NO_JIT)^(a+)+$",
        "~(*NO_JIT)^(?:(a)|b)*$",
    };

    char          subject[20000];
    size_t        i;
    mcp_match_t  *match;

    memset(subject, 'a', sizeof(subject));
    subject[sizeof(subject) - 1] = '!';

    for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        match = match_create(patterns[i]);
        assert_int_equal(mcp_match(match, (mcp_str_t) { subject,
                                                        sizeof(subject) }),
                         0);
        mcp_match_free(match);
    }
}


/* Without JIT, a match has enough memory as well. */
TEST(pattern_without_jit_matches_long_subjects_and_many_repetitions)
{
    char          subject[8192];
    size_t        i;
    mcp_match_t  *match;

    memset(subject, 'a', sizeof(subject));

    match = match_create("~(*NO_JIT)^(a)(a)(a)[ab]*(?:c|$)");
    assert_int_equal(mcp_match(match, (mcp_str_t) { subject,
                                                    sizeof(subject) }), 1);
    mcp_match_free(match);

    /* without JIT, each repetition of a group needs memory: 128 repetitions
     * need more than the 20 KiB that PCRE2 has at first */

    match = match_create("~(*NO_JIT)^(?:a|b)*$");

    for (i = 0; i <= 128; i++) {
        assert_int_equal(mcp_match(match, (mcp_str_t) { subject, i }), 1);
    }

    mcp_match_free(match);
}


TEST(match_of_a_pattern_allocates_no_memory)
{
    unsigned long  total;
    mcp_match_t   *match;

    match = match_create("~^(a|b)+c$");
    total = tm.total;
    assert_int_equal(mcp_match(match, mcp_str("abababc")), 1);
    assert_int_equal(tm.total, total);
    mcp_match_free(match);

    match = match_create("~(*NO_JIT)^(a|b)+c$");
    total = tm.total;
    assert_int_equal(mcp_match(match, mcp_str("abababc")), 1);
    assert_int_equal(tm.total, total);
    mcp_match_free(match);
}


static void *
match_many(void *arg)
{
    int                 i;
    uintptr_t           wrong;
    const mcp_match_t  *match = arg;

    wrong = 0;

    for (i = 0; i < 5000; i++) {
        wrong += mcp_match(match, mcp_str("x://abc/def?q=1")) != 1;
        wrong += mcp_match(match, mcp_str("x://abc/def?z=1")) != 0;
    }

    return (void *) wrong;
}


TEST(four_threads_match_one_pattern_at_the_same_time__all_results_are_correct)
{
    int           i;
    char          error[128];
    void         *wrong;
    pthread_t     threads[4];
    mcp_match_t  *match;

    assert_ok(mcp_match_create_template(&tm.mem,
                  mcp_str("x://{a}{/b}{?q}"), &match, error,
                  sizeof(error)));

    for (i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, match_many, match),
                         0);
    }

    for (i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }

    mcp_match_free(match);
}


typedef int (*create_t)(const mcp_mem_t *mem, mcp_str_t text,
    mcp_match_t **match, char *error, size_t size);


static void
fail_each(create_t create, const char *text, const char *subject)
{
    int            rc;
    char           error[128];
    unsigned long  n = 0;
    mcp_match_t   *match;

    while (test_next_failure(&tm, &n)) {
        tm.fail_at = n;

        rc = create(&tm.mem, test_str(text), &match, error, sizeof(error));

        if (rc == MCP_OK) {

            /* no memory for JIT: the pattern is matched by the interpreter */

            assert_int_equal(mcp_match(match, test_str(subject)), 1);
            mcp_match_free(match);

        } else {
            assert_int_equal(rc, MCP_ERR_MEMORY);
        }

        assert_int_equal(tm.live, 0);
    }
}


TEST(memory_runs_out__a_pattern_is_not_created_or_has_no_jit)
{
    fail_each(mcp_match_create, "exact", "exact");
    fail_each(mcp_match_create, "~^(a|b)+(?<x>c)$", "abc");
    fail_each(mcp_match_create_template, "x://{a}/b{/c*}{?q,r}{#f}",
              "x://1/b/2?q=1#x");
}


RUN_TESTS(init, done)
