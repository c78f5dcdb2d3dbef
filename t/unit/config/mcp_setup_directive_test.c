/* SPDX-License-Identifier: Apache-2.0 */

/* Directives of an endpoint: accepted and rejected values. */


#include "setup_cases.h"


TEST(option_that_is_invalid_or_set_twice_is_rejected_with_the_reason)
{
    mcp_setup_t  *s;

    s = setup_new();

    taken(mcp_setup_option(s, MCP_OPTION_RETRY, mcp_str("3s"), error));
    refused(mcp_setup_option(s, MCP_OPTION_RETRY, mcp_str("3s"), error),
            MCP_SETUP_DUPLICATE);
    refused(mcp_setup_option(s, MCP_OPTION_LINGER, mcp_str("x"), error),
            "invalid value \"x\": write a time, such as 500ms, 90s or "
            "\"1h 30m\"");
    refused(mcp_setup_option(s, MCP_OPTION_MAX_DEPTH, mcp_str("1"), error),
            "value must be between 4 and 512");

    endpoint(s);
    assert_int_equal(e.retry, 3000);
    assert_int_equal(e.linger, 60000);
}


TEST(server_name_or_version_or_title_that_is_empty_or_not_utf_8_is_rejected)
{
    size_t        i;
    mcp_setup_t  *s;

    static const struct {
        mcp_str_t    name;
        mcp_str_t    version;
        mcp_str_t    title;
        const char  *error;
    } bad[] = {
        { mcp_str(""), mcp_str("1"), { NULL, 0 },
          "\"\" is empty or not UTF-8" },
        { { NULL, 0 }, mcp_str("1"), { NULL, 0 },
          "\"\" is empty or not UTF-8" },
        { mcp_str("a"), mcp_str(""), { NULL, 0 },
          "\"\" is empty or not UTF-8" },
        { mcp_str("a"), mcp_str("1"), mcp_str(""),
          "\"\" is empty or not UTF-8" },
        { mcp_str("\xff"), mcp_str("1"), { NULL, 0 },
          "\"\xff\" is empty or not UTF-8" },
        { mcp_str("a"), mcp_str("\xc3"), { NULL, 0 },
          "\"\xc3\" is empty or not UTF-8" },
        { mcp_str("a"), mcp_str("1"), mcp_str("x\xed\xa0\x80"),
          "\"x\xed\xa0\x80\" is empty or not UTF-8" }
    };

    s = setup_new();

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        refused(mcp_setup_server(s, bad[i].name, bad[i].version, bad[i].title,
                                 error),
                bad[i].error);
    }

    taken(mcp_setup_server(s, mcp_str("n\xc3\xa4me"), mcp_str("1"),
                           mcp_null_str, error));
    refused(mcp_setup_server(s, mcp_str("b"), mcp_str("2"), mcp_null_str,
                             error),
            MCP_SETUP_DUPLICATE);

    endpoint(s);
    assert_str_is(e.name, "n\xc3\xa4me");
    assert_str_is(e.version, "1");
    assert_int_equal(e.title.len, 0);

    s = setup_new();
    taken(mcp_setup_server(s, mcp_str("a"), mcp_str("1"), mcp_str("A B"),
                           error));
    endpoint(s);
    assert_str_is(e.title, "A B");
}


TEST(signing_key_is_readable_by_all_or_is_one_repeated_byte__reported_as_weak)
{
    assert_int_equal(mcp_setup_key_weak(mcp_str("/k"), mcp_str(KEY), 0, error),
                     0);
    assert_int_equal(mcp_setup_key_weak(mcp_str("/k"), mcp_str("aaab\n"), 0,
                                        error), 0);
    assert_int_equal(mcp_setup_key_weak(mcp_str("/k"), mcp_str(KEY), 1, error),
                     1);
    assert_non_null(strstr(error, "\"/k\" is readable"));
    assert_int_equal(mcp_setup_key_weak(mcp_str("/k"), mcp_str(" aaaa\n"), 1,
                                        error), 1);
    assert_non_null(strstr(error, "\"/k\" is one repeated byte"));
    assert_int_equal(mcp_setup_key_weak(mcp_str("/k"), mcp_str("\n"), 0, error),
                     0);
}


TEST(signing_key_shorter_than_32_bytes_is_rejected_and_so_is_a_ninth_key)
{
    int           i;
    char          key[64];
    mcp_keys_t    other;
    mcp_setup_t  *s;

    s = setup_new();

    taken(mcp_setup_keys_begin(s, error));
    refused(mcp_setup_key(s, mcp_str("/k"), mcp_str(" short\n"), error),
            "the key in \"/k\" is shorter than 32 bytes");

    for (i = 0; i < MCP_KEYS_MAX; i++) {
        snprintf(key, sizeof(key), "%d%s\n", i, KEY);
        taken(mcp_setup_key(s, mcp_str("/k"), test_str(key), error));
    }

    refused(mcp_setup_key(s, mcp_str("/k"), mcp_str("x" KEY), error),
            "more than 8 keys are not allowed");
    refused(mcp_setup_keys_begin(s, error), MCP_SETUP_DUPLICATE);

    memset(&other, 0, sizeof(other));
    assert_ok(mcp_keys_add(&other, mcp_str("0" KEY)));

    assert_ok(endpoint_of(s, &other));
    assert_ptr_not_equal(e.keys, &other);
    assert_int_equal(e.keys->n, MCP_KEYS_MAX);
    assert_memory_equal(e.keys->key[0], other.key[0], sizeof(other.key[0]));
}


TEST(second_catalog_is_rejected_and_a_catalog_without_a_backend_is_reported)
{
    mcp_setup_t  *s;

    s = setup_new();

    assert_int_equal(warnings(s, 0, "has a catalog, but neither"), 0);

    refused(mcp_setup_catalog(s, mcp_str("/c.json"), mcp_str("{\n\"x\":1}"),
                              error),
            "/c.json: line 2: unknown key \"x\"");

    taken(mcp_setup_catalog(s, mcp_str("/c.json"), mcp_str(CATALOG), error));
    refused(mcp_setup_catalog(s, mcp_str("/d.json"), mcp_str("{}"), error),
            MCP_SETUP_DUPLICATE);

    endpoint(s);
    assert_int_equal(mcp_catalog_has(e.catalog, MCP_LIST_TOOLS), 1);
    assert_int_equal(mcp_catalog_has(e.catalog, MCP_LIST_PROMPTS), 0);

    assert_int_equal(warnings(s, 0, "has a catalog, but neither"), 1);
    taken(mcp_setup_route(s, mcp_str("x"), mcp_str("@x"), error));
    assert_int_equal(warnings(s, 0, "has a catalog, but neither"), 0);

    s = setup_new();
    taken(mcp_setup_catalog(s, mcp_str("/c.json"), mcp_str("{}"), error));
    assert_int_equal(warnings(s, 0, "has a catalog, but neither"), 0);

    s = setup_new();
    taken(mcp_setup_catalog(s, mcp_str("/c.json"), mcp_str(CATALOG), error));
    taken(mcp_setup_backend(s, mcp_str("@x"), error));
    assert_int_equal(warnings(s, 0, "has a catalog, but neither"), 0);
}


TEST(routes_with_exact_names_precede_regular_expressions)
{
    mcp_setup_t  *s;

    s = setup_new();

    refused(mcp_setup_route(s, mcp_str(""), mcp_str("@a"), error),
            "invalid pattern \"\": empty pattern");
    refused(mcp_setup_route(s, mcp_str("~*"), mcp_str("@a"), error),
            "invalid pattern \"~*\": empty regular expression");

    taken(mcp_setup_route(s, mcp_str("~^x"), mcp_str("@re"), error));
    taken(mcp_setup_route(s, mcp_str("~x"), mcp_str("@never"), error));
    taken(mcp_setup_route(s, mcp_str("x1"), mcp_str("@exact"), error));
    taken(mcp_setup_route(s, mcp_str("x2"), mcp_str("@default"), error));
    taken(mcp_setup_route(s, mcp_str("x3"), mcp_str("@exact"), error));
    taken(mcp_setup_backend(s, mcp_str("@default"), error));
    refused(mcp_setup_backend(s, mcp_str("@other"), error),
            MCP_SETUP_DUPLICATE);

    endpoint(s);
    assert_int_equal(e.n_routes, 5);

    /* each backend is a target once, and the default backend is the first
     * target */

    assert_int_equal(mcp_setup_targets(s), 4);
    assert_int_equal(e.target, 0);
    assert_str_is(mcp_setup_target(s, 0), "@default");

    /* routes with exact names take precedence over regular expressions; within
     * both, the order is that of the file */

#define goes_to(name, to)                                                     \
    assert_str_is(mcp_setup_target(s, mcp_endpoint_route(&e, mcp_str(name))), \
                  to)

    goes_to("x1", "@exact");
    goes_to("x2", "@default");
    goes_to("x3", "@exact");
    goes_to("x4", "@re");
    goes_to("y", "@default");
    goes_to("yx", "@never");

    /* the endpoint is created again from the same setup: no new targets */

    endpoint(s);
    assert_int_equal(mcp_setup_targets(s), 4);
    goes_to("x4", "@re");

    /* no default backend: names without a route have no target */

    s = setup_new();
    taken(mcp_setup_route(s, mcp_str("a"), mcp_str("@a"), error));
    endpoint(s);
    goes_to("a", "@a");
    assert_int_equal(mcp_endpoint_route(&e, mcp_str("b")), MCP_NO_TARGET);
}


/* mcp_setup_set_upstream() gives a target the value of mcp_upstream that the
 * section of the backend has. The endpoint loses this value when it is created
 * again. */
TEST(section_of_a_backend_sets_mcp_upstream__the_target_has_that_value)
{
    mcp_setup_t  *s, *backend;

    s = setup_new();
    taken(mcp_setup_backend(s, mcp_str("@a"), error));
    endpoint(s);
    assert_int_equal(mcp_endpoint_upstream(&e, 0), MCP_UPSTREAM_OFF);
    assert_int_equal(mcp_endpoint_upstream(&e, MCP_NO_TARGET),
                     MCP_UPSTREAM_OFF);

    backend = setup_new();
    assert_int_equal(mcp_setup_has_upstream(backend), 0);
    taken(mcp_setup_option(backend, MCP_OPTION_UPSTREAM, mcp_str("modern"),
                           error));
    assert_int_equal(mcp_setup_has_upstream(backend), 1);
    mcp_setup_set_upstream(s, 0, backend);
    assert_int_equal(mcp_endpoint_upstream(&e, 0), MCP_UPSTREAM_MODERN);

    endpoint(s);
    assert_int_equal(mcp_endpoint_upstream(&e, 0), MCP_UPSTREAM_OFF);
}


/* Sections with these values of one option; NULL: not set. */
TEST(two_sections_have_the_same_upstream_only_if_all_values_of_it_are_equal)
{
    size_t        i, k;
    mcp_setup_t  *s[2];

    static const struct {
        mcp_option_e  option;
        const char   *values[2];
        int           same;
    } cases[] = {
        { MCP_OPTION_UPSTREAM, { "session", "session" }, 1 },
        { MCP_OPTION_UPSTREAM, { "session", "modern" }, 0 },
        { MCP_OPTION_UPSTREAM, { "off", NULL }, 1 },
        { MCP_OPTION_UPSTREAM_CHECK, { "1m", NULL }, 1 },
        { MCP_OPTION_UPSTREAM_CHECK, { "1m", "2m" }, 0 },
        { MCP_OPTION_UPSTREAM_STALE, { "off", NULL }, 0 },
        { MCP_OPTION_UPSTREAM_SESSION, { "client", "principal" }, 0 },
        { MCP_OPTION_UPSTREAM_SESSION, { "client", NULL }, 1 },
        { MCP_OPTION_UPSTREAM_LISTS, { "shared", "public" }, 0 },
        { MCP_OPTION_UPSTREAM_LISTEN, { "on", "off" }, 0 },
        { MCP_OPTION_UPSTREAM_MAX_SESSIONS, { "1", "2" }, 0 },

        /* an option of endpoints: not compared */

        { MCP_OPTION_MAX_BATCH, { "1", "2" }, 1 }
    };

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (k = 0; k < 2; k++) {
            s[k] = setup_new();

            if (cases[i].values[k]) {
                taken(mcp_setup_option(s[k], cases[i].option,
                                       test_str(cases[i].values[k]), error));
            }
        }

        assert_int_equal(mcp_setup_same_upstream(s[0], s[1]), cases[i].same);
        assert_int_equal(mcp_setup_same_upstream(s[1], s[0]), cases[i].same);
    }
}


TEST(link_origin_other_than_scheme_with_host_and_port_is_rejected)
{
    taken(mcp_setup_link_origin(mcp_str("https://a.example:8443"), error));
    taken(mcp_setup_link_origin(mcp_str("http://[::1]"), error));
    taken(mcp_setup_link_origin(mcp_str(""), error));

    refused(mcp_setup_link_origin(mcp_str("https://a.example/"), error),
            "\"https://a.example/\" is not of the form http://host[:port] "
            "or https://host[:port]");
    assert_int_equal(mcp_setup_link_origin(mcp_str("a b"), error),
                     MCP_ERR_CONFIG);
    assert_int_equal(mcp_setup_link_origin(mcp_str("ftp://x"), error),
                     MCP_ERR_CONFIG);
}


TEST(origin_that_is_neither_a_pattern_nor_null_nor_asterisk_is_rejected)
{
    size_t        i;
    mcp_setup_t  *s;

    static const char  *bad[] = {
        "example.com", "", "NULL", "**", "http:/x", "//x", "~"
    };

    s = setup_new();

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]) - 1; i++) {
        assert_int_equal(mcp_setup_origin(s, test_str(bad[i]), error),
                         MCP_ERR_CONFIG);
        assert_non_null(strstr(error, "\" is neither an origin "
                               "(scheme://host[:port]) nor \"~regex\", \"null\" or \"*\""));
        assert_int_equal(error[0], '"');
        assert_memory_equal(error + 1, bad[i], strlen(bad[i]));
    }

    refused(mcp_setup_origin(s, mcp_str("~"), error),
            "invalid pattern \"~\": empty regular expression");

    taken(mcp_setup_origin(s, mcp_str("https://a.example"), error));
    taken(mcp_setup_origin(s, mcp_str("~\\.example$"), error));
    taken(mcp_setup_origin(s, mcp_str("null"), error));

    endpoint(s);
    assert_int_equal(e.any_origin, 0);
    assert_int_equal(e.n_origins, 3);
    assert_int_equal(mcp_match(e.origins[0], mcp_str("https://a.example")), 1);
    assert_int_equal(mcp_match(e.origins[1], mcp_str("https://b.example")), 1);
    assert_int_equal(mcp_match(e.origins[2], mcp_str("null")), 1);

    /* "*" may be combined with other origins */

    taken(mcp_setup_origin(s, mcp_str("*"), error));
    taken(mcp_setup_origin(s, mcp_str("*"), error));
    endpoint(s);
    assert_int_equal(e.any_origin, 1);
    assert_int_equal(e.n_origins, 3);
}


/* Browsers send neither the default port of a scheme nor an empty host of
 * "http" and "https". */
TEST(origin_that_no_browser_sends_is_rejected)
{
    size_t        i;
    mcp_setup_t  *s;

    static const char  *bad[] = {
        "https://example.com:443", "http://x:80", "HTTP://x:80",
        "https://[::1]:443", "https://", "http://:8080", "https://x:",
        "https://x:0443", "https://x:65536", "https://x:y", "https://x:0",
        "https://*.example.com", "https://[::1", "https://a.example/"
    };

    static const char  *good[] = {
        "https://x:80", "http://x:443", "http://[::1]:8080", "http://a_b.c",
        "app://x:443", "app://.", "file://", "moz-extension://0-1", "~://x:80"
    };

    s = setup_new();

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(mcp_setup_origin(s, test_str(bad[i]), error),
                         MCP_ERR_CONFIG);
        assert_non_null(strstr(error, "\" never equals an Origin header, which "
                               "has the form scheme://host[:port] without "
                               "the default port of the scheme: remove "
                               "everything else"));
    }

    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        taken(mcp_setup_origin(s, test_str(good[i]), error));
    }
}


TEST(empty_publish_token_is_rejected)
{
    mcp_setup_t  *s;

    s = setup_new();

    refused(mcp_setup_publish_token(s, mcp_str(""), error),
            "the token is empty");
    taken(mcp_setup_publish_token(s, mcp_str("t"), error));
}


TEST(publish_url_that_backends_cannot_use_is_rejected)
{
    size_t        i;
    mcp_setup_t  *s;

    static const char  *bad[] = {
        "127.0.0.1/publish", "/publish", "http:/h", "http://", "http:///p",
        "http://h/publish?x=", "http://h?x", "http://h/p#f", "ftp://h/p",
        "http://h/a b", "http://u@h/p"
    };

    static const char  *good[] = {
        "", "http://h", "https://h:8443/", "http://a_b/p/",
        "http://[::1]:80/p"
    };

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(mcp_setup_publish_url(setup_new(), test_str(bad[i]),
                                               error), MCP_ERR_CONFIG);
        assert_non_null(strstr(error, "\" is not a URL to which backends can "
                                      "append a token: write http:// or "
                                      "https://, a host, and a path, without "
                                      "a query or a fragment"));
    }

    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        s = setup_new();
        taken(mcp_setup_publish_url(s, test_str(good[i]), error));
    }
}


TEST(publish_token_and_publish_url_may_be_set_only_once)
{
    mcp_setup_t  *s;

    s = setup_new();

    taken(mcp_setup_publish_token(s, mcp_str("t"), error));
    refused(mcp_setup_publish_token(s, mcp_str("t"), error),
            MCP_SETUP_DUPLICATE);
    taken(mcp_setup_publish_url(s, mcp_str("http://a/p"), error));
    refused(mcp_setup_publish_url(s, mcp_str(""), error), MCP_SETUP_DUPLICATE);

    endpoint(s);
    assert_str_is(e.publish_url, "http://a/p");
    assert_str_is(mcp_setup_publish_secret(s), "t");
}


/* Values that are longer than an error message: the message still contains the
 * reason. */
TEST(value_is_longer_than_the_error_message__the_reason_is_kept)
{
    char          text[4096];
    mcp_str_t     s;
    mcp_setup_t  *setup;

    setup = setup_new();

    memset(text, 'a', sizeof(text));
    s = (mcp_str_t) { text, sizeof(text) };

    assert_int_equal(mcp_setup_origin(setup, s, error), MCP_ERR_CONFIG);
    assert_non_null(strstr(error, "is neither an origin"));

    assert_int_equal(mcp_setup_catalog(setup, s, mcp_str("x"), error),
                     MCP_ERR_CONFIG);
    assert_non_null(strstr(error, ": line 1: not valid JSON"));

    taken(mcp_setup_keys_begin(setup, error));
    assert_int_equal(mcp_setup_key(setup, s, mcp_str("x"), error),
                     MCP_ERR_CONFIG);
    assert_non_null(strstr(error, "is shorter than"));

    text[0] = '~';
    text[sizeof(text) - 1] = '(';
    assert_int_equal(mcp_setup_route(setup, s, mcp_str("@a"), error),
                     MCP_ERR_CONFIG);
    assert_non_null(strstr(error, "\": missing"));
}


/* Each allocation fails once: no leak. */
TEST(memory_runs_out__the_setup_of_an_endpoint_leaks_nothing)
{
    int            rc;
    unsigned       failed = 0;
    unsigned long  n = 0;
    mcp_setup_t   *s;

    while (test_next_failure(&tm, &n)) {
        tm.fail_at = n;

        s = mcp_setup_create(&tm.mem);
        rc = MCP_ERR_MEMORY;

        if (s) {
            rc = say_all(s, "1");
        }

        if (rc == MCP_OK) {
            rc = endpoint_of(s, NULL);
        }

        if (s) {
            mcp_setup_free(s);
        }

        assert_int_equal(tm.live, 0);

        /* MCP_OK if the failed allocation was for the JIT of an expression,
         * which works without it */

        assert_true(rc == MCP_OK || (tm.failed && rc == MCP_ERR_MEMORY));
        failed += (rc == MCP_ERR_MEMORY);
    }

    assert_true(failed > 8);
}


RUN_TESTS(init, done)
