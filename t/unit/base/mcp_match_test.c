/* SPDX-License-Identifier: Apache-2.0 */

/* Patterns: exact, regular, and what URI templates may have become. */


#include <pthread.h>

#include "test_env.h"

#include "base/mcp_match.h"


static mcp_match_t *
match_create(test_mem_t *tm, const char *pattern)
{
    char          error[128];
    mcp_match_t  *match;

    test_mem_init(tm);

    if (mcp_match_create(&tm->mem, test_str(pattern), &match, error,
                         sizeof(error)) != MCP_OK)
    {
        fail_msg("%s: %s", pattern, error);
    }

    return match;
}


static mcp_match_t *
template_create(test_mem_t *tm, const char *text)
{
    char          error[128];
    mcp_match_t  *match;

    test_mem_init(tm);

    if (mcp_match_create_template(&tm->mem, test_str(text), &match, error,
                                  sizeof(error)) != MCP_OK)
    {
        fail_msg("%s: %s", text, error);
    }

    return match;
}


static void
patterns_match(void **state)
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
    test_mem_t    tm;
    mcp_match_t  *match;

    (void) state;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        match = match_create(&tm, cases[i].pattern);

        if (mcp_match(match, test_str(cases[i].subject)) != cases[i].matches) {
            fail_msg("%s on %s", cases[i].pattern, cases[i].subject);
        }

        assert_int_equal(mcp_match_is_exact(match),
                         cases[i].pattern[0] != '~');

        mcp_match_free(match);
        assert_int_equal(tm.live, 0);
    }
}


static void
subjects_end_without_nul(void **state)
{
    char          *p;
    test_mem_t     tm;
    mcp_match_t   *match;

    (void) state;

    p = malloc(3);
    assert_non_null(p);
    memcpy(p, "abc", 3);

    match = match_create(&tm, "~^abc$");
    assert_int_equal(mcp_match(match, (mcp_str_t) { p, 3 }), 1);
    assert_int_equal(mcp_match(match, (mcp_str_t) { p, 2 }), 0);
    assert_int_equal(mcp_match(match, mcp_null_str), 0);
    mcp_match_free(match);

    match = match_create(&tm, "abc");
    assert_int_equal(mcp_match(match, (mcp_str_t) { p, 3 }), 1);
    assert_int_equal(mcp_match(match, mcp_null_str), 0);
    mcp_match_free(match);

    match = match_create(&tm, "~^$");
    assert_int_equal(mcp_match(match, mcp_null_str), 1);
    mcp_match_free(match);

    free(p);
}


static void
patterns_are_wrong(void **state)
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
    test_mem_t    tm;
    mcp_match_t  *match;

    (void) state;

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


/* Patterns that explode: bounded, and no match. */
static void
limits_hold(void **state)
{
    static const char  *patterns[] = {
        "~^(a+)+$",
        "~^(a|aa)+$",
        "~(*NO_JIT)^(a+)+$",
        "~(*NO_JIT)^(?:(a)|b)*$",
    };

    char          subject[20000];
    size_t        i;
    test_mem_t    tm;
    mcp_match_t  *match;

    (void) state;

    memset(subject, 'a', sizeof(subject));
    subject[sizeof(subject) - 1] = '!';

    for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        match = match_create(&tm, patterns[i]);
        assert_int_equal(mcp_match(match, (mcp_str_t) { subject,
                                                        sizeof(subject) }),
                         0);
        mcp_match_free(match);
    }
}


/* Without JIT all that a match needs must find its room, too. */
static void
interpreter_has_room(void **state)
{
    char          subject[8192];
    size_t        i;
    test_mem_t    tm;
    mcp_match_t  *match;

    (void) state;

    memset(subject, 'a', sizeof(subject));

    match = match_create(&tm, "~(*NO_JIT)^(a)(a)(a)[ab]*(?:c|$)");
    assert_int_equal(mcp_match(match, (mcp_str_t) { subject,
                                                    sizeof(subject) }), 1);
    mcp_match_free(match);

    /* keeps a place for each repetition: beyond the first 20 KiB, too */

    match = match_create(&tm, "~(*NO_JIT)^(?:a|b)*$");

    for (i = 0; i < 150; i++) {
        assert_int_equal(mcp_match(match, (mcp_str_t) { subject, i }), 1);
    }

    mcp_match_free(match);
}


static void
matching_allocates_nothing(void **state)
{
    unsigned long   total;
    test_mem_t      tm;
    mcp_match_t    *match;

    (void) state;

    match = match_create(&tm, "~^(a|b)+c$");
    total = tm.total;
    assert_int_equal(mcp_match(match, mcp_str("abababc")), 1);
    assert_int_equal(tm.total, total);
    mcp_match_free(match);

    match = match_create(&tm, "~(*NO_JIT)^(a|b)+c$");
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


static void
threads_share(void **state)
{
    int           i;
    void         *wrong;
    pthread_t     threads[4];
    test_mem_t    tm;
    mcp_match_t  *match;

    (void) state;

    match = template_create(&tm, "x://{a}{/b}{?q}");

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


static void
templates_match(void **state)
{
    static const struct {
        const char  *text;
        const char  *uri;
        int          matches;
    } cases[] = {

        /* literals */
        { "file:///a.b", "file:///a.b", 1 },
        { "file:///a.b", "file:///aXb", 0 },
        { "file:///a.b", "file:///a.bc", 0 },
        { "file:///(a)[b]$*+?", "file:///(a)[b]$*+?", 1 },
        { "x://\xc3\xa9", "x://\xc3\xa9", 1 },
        { "x://\xc3\xa9", "x://%C3%A9", 1 },
        { "x://\xc3\xa9", "x://%c3%a9", 1 },
        { "x://\xc3\xa9", "x://e", 0 },
        { "x://a%20b", "x://a%20b", 1 },

        /* level 1 */
        { "x://{a}", "x://1", 1 },
        { "x://{a}", "x://", 0 },
        { "x://{a}", "y://1", 0 },
        { "x://{a}", "x://1/2", 0 },
        { "x://{a}", "x://1?2", 0 },
        { "x://{a}", "x://1#2", 0 },
        { "x://{a}", "x://1%2F2", 1 },
        { "x://{a}", "x://1\n", 0 },
        { "x://{a}", "ax://1", 0 },
        { "x://{a}/b/{c}", "x://1/b/2", 1 },
        { "x://{a}/b/{c}", "x://1/c/2", 0 },
        { "x://{a}/b/{c}", "x://1/b/", 0 },
        { "x://{a}-{b}", "x://1-2-3", 1 },
        { "x://{a,b}", "x://1,2", 1 },
        { "{a}", "anything", 1 },
        { "x://{a.b_c%20}", "x://1", 1 },

        /* explode, prefix */
        { "x://{a*}", "x://1/2?3#4", 1 },
        { "x://{a*}", "x://", 0 },
        { "x://{a:3}", "x://123", 1 },
        { "x://{a:3}", "x://1/2", 0 },
        { "x://{a:3,b}", "x://1,2", 1 },

        /* level 2 */
        { "x://{+a}", "x://1/2?3#4", 1 },
        { "x://{+a}", "x://", 0 },
        { "x://{+a}", "x://1\r2", 0 },
        { "x://{+a}/end", "x://1/2/end", 1 },
        { "x://{+a}/end", "x://1/2/end/", 0 },
        { "x://a{#b}", "x://a#1/2", 1 },
        { "x://a{#b}", "x://a", 1 },
        { "x://a{#b}", "x://ab", 0 },

        /* level 3 */
        { "x://a{.b}", "x://a.txt", 1 },
        { "x://a{.b}", "x://a", 1 },
        { "x://a{.b,c}", "x://a.tar.gz", 1 },
        { "x://a{.b}", "x://a.t/x", 0 },
        { "x://a{.b}", "x://atxt", 0 },
        { "x://a{/b}", "x://a/1", 1 },
        { "x://a{/b}", "x://a", 1 },
        { "x://a{/b}", "x://a/1/2", 0 },
        { "x://a{/b,c}", "x://a/1/2", 1 },
        { "x://a{/b,c}", "x://a/1/2/3", 0 },
        { "x://a{/b*}", "x://a/1/2/3", 1 },
        { "x://a{/b*}", "x://a/1/2?3", 0 },
        { "x://a{;b,c}", "x://a;b=1;c=2", 1 },
        { "x://a{;b,c}", "x://a;b", 1 },
        { "x://a{;b,c}", "x://a;d=1", 0 },
        { "x://a{;b*}", "x://a;k=1;l=2;m=3", 1 },
        { "x://a{?b,c}", "x://a", 1 },
        { "x://a{?b,c}", "x://a?b=1", 1 },
        { "x://a{?b,c}", "x://a?c=1", 1 },
        { "x://a{?b,c}", "x://a?c=1&b=2", 1 },
        { "x://a{?b,c}", "x://a?b=&c=", 1 },
        { "x://a{?b,c}", "x://a?b=a/b?c", 1 },
        { "x://a{?b,c}", "x://a?d=1", 0 },
        { "x://a{?b,c}", "x://a?bc=1", 0 },
        { "x://a{?b,c}", "x://a?b=1&d=1", 0 },
        { "x://a{?b,c}", "x://a?b=1#f", 0 },
        { "x://a{?b,c}{#f}", "x://a?b=1#f", 1 },
        { "x://a{?b*}", "x://a?k=1&l=2", 1 },
        { "x://a?z=1{&b}", "x://a?z=1", 1 },
        { "x://a?z=1{&b}", "x://a?z=1&b=2", 1 },
        { "x://a?z=1{&b}", "x://a?z=1&c=2", 0 },
        { "x://a?z=1{&b*}", "x://a?z=1&c=2&d=3", 1 },
        { "x://a{?b.c}", "x://a?b.c=1", 1 },
        { "x://a{?b.c}", "x://a?bxc=1", 0 },
    };

    size_t        i;
    test_mem_t    tm;
    mcp_match_t  *match;

    (void) state;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        match = template_create(&tm, cases[i].text);

        if (mcp_match(match, test_str(cases[i].uri)) != cases[i].matches) {
            fail_msg("%s on %s", cases[i].text, cases[i].uri);
        }

        assert_int_equal(mcp_match_is_exact(match), 0);

        mcp_match_free(match);
        assert_int_equal(tm.live, 0);
    }
}


static void
templates_are_wrong(void **state)
{
    static const struct {
        const char  *text;
        const char  *error;
    } cases[] = {
        { "", "empty URI template" },
        { "x://{", "unclosed expression in URI template at offset 4" },
        { "x://{a", "unclosed expression in URI template at offset 4" },
        { "x://a}", "invalid character in URI template at offset 5" },
        { "x://a b", "invalid character in URI template at offset 5" },
        { "x://\x7f", "invalid character in URI template at offset 4" },
        { "x://<a>", "invalid character in URI template at offset 4" },
        { "x://{}", "empty expression in URI template at offset 4" },
        { "x://{=a}", "reserved operator in URI template at offset 4" },
        { "x://{|a}", "reserved operator in URI template at offset 4" },
        { "x://{+}", "bad variable name in URI template at offset 4" },
        { "x://{a,}", "bad variable name in URI template at offset 4" },
        { "x://{,a}", "reserved operator in URI template at offset 4" },
        { "x://{a b}", "bad variable name in URI template at offset 4" },
        { "x://{{a}}", "bad variable name in URI template at offset 4" },
        { "x://{a-b}", "bad variable name in URI template at offset 4" },
        { "x://{*}", "bad variable name in URI template at offset 4" },
        { "x://{a**}", "bad variable modifier in URI template at offset 4" },
        { "x://{a*b}", "bad variable modifier in URI template at offset 4" },
        { "x://{a:}", "bad prefix length in URI template at offset 4" },
        { "x://{a:0}", "bad prefix length in URI template at offset 4" },
        { "x://{a:12345}", "bad prefix length in URI template at offset 4" },
        { "x://{a:1x}", "bad prefix length in URI template at offset 4" },
        { "x://{a:1*}", "bad prefix length in URI template at offset 4" },
    };

    char          error[128];
    size_t        i;
    test_mem_t    tm;
    mcp_match_t  *match;

    (void) state;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        test_mem_init(&tm);

        assert_int_equal(mcp_match_create_template(&tm.mem,
                             test_str(cases[i].text), &match, error,
                             sizeof(error)),
                         MCP_ERR_CONFIG);
        assert_string_equal(error, cases[i].error);
        assert_int_equal(tm.live, 0);
    }
}


/* Of absurd length: an error of the configuration, not of memory. */
static void
templates_are_bounded(void **state)
{
    char          error[128], *text;
    size_t        size;
    test_mem_t    tm;
    mcp_match_t  *match;

    (void) state;

    size = 400 * 1024;
    text = malloc(size);
    assert_non_null(text);
    memset(text, '-', size);

    test_mem_init(&tm);

    assert_int_equal(mcp_match_create_template(&tm.mem,
                         (mcp_str_t) { text, size }, &match, error,
                         sizeof(error)),
                     MCP_ERR_CONFIG);
    assert_string_equal(error, "URI template too long");
    assert_int_equal(tm.live, 0);

    assert_int_equal(mcp_match_create_template(&tm.mem,
                         (mcp_str_t) { text, 100 * 1024 }, &match, error,
                         sizeof(error)),
                     MCP_ERR_CONFIG);
    assert_int_equal(tm.live, 0);

    free(text);
}


/* Templates whose regular expression has much to try: still bounded. */
static void
templates_do_not_explode(void **state)
{
    char          uri[8192];
    test_mem_t    tm;
    mcp_match_t  *match;

    (void) state;

    memset(uri, 'a', sizeof(uri));
    memcpy(uri, "x://", 4);
    uri[sizeof(uri) - 1] = '#';

    match = template_create(&tm, "x://{a}{b}{c}{d}{e}{f}{g}{h}");
    assert_int_equal(mcp_match(match, (mcp_str_t) { uri, sizeof(uri) }), 0);
    mcp_match_free(match);

    match = template_create(&tm, "x://{+a}{+b}{+c}{+d}{+e}!");
    assert_int_equal(mcp_match(match, (mcp_str_t) { uri, sizeof(uri) }), 0);
    mcp_match_free(match);
}


typedef int (*create_t)(const mcp_mem_t *mem, mcp_str_t text,
    mcp_match_t **match, char *error, size_t size);


static void
fail_each(create_t create, const char *text, const char *subject)
{
    int           rc;
    char          error[128];
    test_mem_t    tm;
    unsigned long n;
    mcp_match_t  *match;

    for (n = 1; n < 1000; n++) {
        test_mem_init(&tm);
        tm.fail_at = n;

        rc = create(&tm.mem, test_str(text), &match, error, sizeof(error));

        if (rc == MCP_OK) {

            /* without JIT for want of memory it still has to match */

            assert_int_equal(mcp_match(match, test_str(subject)), 1);
            mcp_match_free(match);

        } else {
            assert_int_equal(rc, MCP_ERR_MEMORY);
        }

        assert_int_equal(tm.live, 0);

        if (tm.failed == 0) {
            return;
        }
    }

    fail();
}


static void
allocations_fail(void **state)
{
    (void) state;

    fail_each(mcp_match_create, "exact", "exact");
    fail_each(mcp_match_create, "~^(a|b)+(?<x>c)$", "abc");
    fail_each(mcp_match_create_template, "x://{a}/b{/c*}{?q,r}{#f}",
              "x://1/b/2?q=1#x");
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(patterns_match),
        cmocka_unit_test(subjects_end_without_nul),
        cmocka_unit_test(patterns_are_wrong),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(interpreter_has_room),
        cmocka_unit_test(matching_allocates_nothing),
        cmocka_unit_test(threads_share),
        cmocka_unit_test(templates_match),
        cmocka_unit_test(templates_are_wrong),
        cmocka_unit_test(templates_are_bounded),
        cmocka_unit_test(templates_do_not_explode),
        cmocka_unit_test(allocations_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
