/* SPDX-License-Identifier: Apache-2.0 */

/* Regular expressions made from URI templates. */


#include "memory_cases.h"

#include "base/mcp_match.h"


static mcp_match_t *
template_create(const char *text)
{
    char          error[128];
    mcp_match_t  *match;

    test_mem_init(&tm);

    if (mcp_match_create_template(&tm.mem, test_str(text), &match, error,
                                  sizeof(error)) != MCP_OK)
    {
        fail_msg("%s: %s", text, error);
    }

    return match;
}


TEST(uri_template_has_an_operator__only_uris_in_the_form_of_that_operator_match)
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

        /* the modifiers "*" (explode) and ":3" (prefix) */
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
    mcp_match_t  *match;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        match = template_create(cases[i].text);

        if (mcp_match(match, test_str(cases[i].uri)) != cases[i].matches) {
            fail_msg("%s on %s", cases[i].text, cases[i].uri);
        }

        assert_int_equal(mcp_match_is_exact(match), 0);

        mcp_match_free(match);
        assert_int_equal(tm.live, 0);
    }
}


TEST(invalid_uri_template_is_rejected_with_the_reason)
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
    mcp_match_t  *match;

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


/* An extremely long template: a configuration error, not a lack of memory. */
TEST(uri_template_that_is_too_long_is_a_configuration_error)
{
    char          error[128], *text;
    size_t        size;
    mcp_match_t  *match;

    size = 400 * 1024;
    text = malloc(size);
    assert_non_null(text);
    memset(text, '-', size);

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


/* Templates whose regular expression backtracks a lot: the time for a match is
 * bounded. */
TEST(template_that_backtracks_exponentially_does_not_match)
{
    char          uri[8192];
    mcp_match_t  *match;

    memset(uri, 'a', sizeof(uri));
    memcpy(uri, "x://", 4);
    uri[sizeof(uri) - 1] = '#';

    match = template_create("x://{a}{b}{c}{d}{e}{f}{g}{h}");
    assert_int_equal(mcp_match(match, (mcp_str_t) { uri, sizeof(uri) }), 0);
    mcp_match_free(match);

    match = template_create("x://{+a}{+b}{+c}{+d}{+e}!");
    assert_int_equal(mcp_match(match, (mcp_str_t) { uri, sizeof(uri) }), 0);
    mcp_match_free(match);
}


RUN_TESTS(init, done)
