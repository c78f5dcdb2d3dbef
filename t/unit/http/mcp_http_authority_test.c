/* SPDX-License-Identifier: Apache-2.0 */

/* Hosts, ports, server names and request targets. */


#include "test_env.h"

#include "mcp_http.h"
#include "http/mcp_http_authority.h"


/* Valid and invalid prefixes of URLs: scheme, host and port. */
TEST(malformed_authority_or_web_origin_is_rejected)
{
    static const struct {
        const char  *text;
        int          authority;
        int          origin;
    } cases[] = {
        { "a.example", 1, 0 },
        { "a.example:8443", 1, 0 },
        { "[::1]:80", 1, 0 },
        { "", 0, 0 },
        { "a b", 0, 0 },
        { "a/", 0, 0 },
        { "u@a", 0, 0 },
        { "a\"", 0, 0 },
        { "a>", 0, 0 },
        { "a:http", 0, 0 },
        { "a\r\nb", 0, 0 },

        { "http://a.example", 0, 1 },
        { "HTTPS://A.example:8443", 0, 1 },
        { "http://[::1]:80", 0, 1 },
        { "https://a.example/", 0, 0 },
        { "https://a.example/b", 0, 0 },
        { "https://a.example?b", 0, 0 },
        { "https://a.example ", 0, 0 },
        { "https://u@a.example", 0, 0 },
        { "https://", 0, 0 },
        { "https:a.example", 0, 0 },
        { "ftp://a.example", 0, 0 },
        { "null", 1, 0 }
    };

    char    text[8 + MCP_HTTP_AUTHORITY_MAX + 1];
    size_t  i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (mcp_http_is_authority(test_str(cases[i].text))
            != cases[i].authority
            || mcp_http_is_web_origin(test_str(cases[i].text))
               != cases[i].origin)
        {
            fail_msg("%s", cases[i].text);
        }
    }

    memset(text, 'a', sizeof(text));
    memcpy(text, "https://", 8);

    for (i = 0; i < 2; i++) {
        assert_int_equal(mcp_http_is_web_origin((mcp_str_t) { text,
                                                    sizeof(text) - 1 + i }),
                         i == 0);
        assert_int_equal(mcp_http_is_authority((mcp_str_t) { text + 8,
                                                   sizeof(text) - 9 + i }),
                         i == 0);
    }

    assert_int_equal(mcp_http_is_authority(mcp_null_str), 0);
    assert_int_equal(mcp_http_is_web_origin(mcp_null_str), 0);
}


/* The form of a request target, and its part without scheme and authority. */
TEST(request_target_is_split_into_authority_and_path)
{
    static const struct {
        const char  *target;
        const char  *authority;        /* NULL: none */
        const char  *left;
    } cases[] = {
        { "/mcp?x=1", NULL, "/mcp?x=1" },
        { "/mcp?x=http://a/b", NULL, "/mcp?x=http://a/b" },
        { "/http://a/b", NULL, "/http://a/b" },
        { "//a/b", NULL, "//a/b" },
        { "*", NULL, "*" },
        { "", NULL, "" },
        { "a:80", NULL, "a:80" },
        { "http:/a/b", NULL, "http:/a/b" },
        { "http:", NULL, "http:" },
        { "://a/b", NULL, "://a/b" },
        { "1http://a/b", NULL, "1http://a/b" },

        { "http://a/b?c", "a", "/b?c" },
        { "HTTPS://[::1]:80/b", "[::1]:80", "/b" },
        { "http://a//b://c", "a", "//b://c" },
        { "http://u@a:80/", "u@a:80", "/" },
        { "http://a", "a", "" },
        { "http://a?b/c", "a", "?b/c" },
        { "http:///b", "", "/b" },
        { "http://", "", "" },
    };

    size_t     i;
    mcp_str_t  target, authority;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        target = test_str(cases[i].target);
        mcp_http_target(&target, &authority);

        if (!mcp_str_eq(target, test_str(cases[i].left))
            || (authority.data != NULL) != (cases[i].authority != NULL)
            || (cases[i].authority
                && !mcp_str_eq(authority, test_str(cases[i].authority))))
        {
            fail_msg("target: %s", cases[i].target);
        }
    }

    target = mcp_null_str;
    mcp_http_target(&target, &authority);
    assert_null(authority.data);
    assert_int_equal(target.len, 0);
}


/* Server names in the syntax of nginx and Apache. */
TEST(host_matches_exact_server_names_and_safe_wildcards)
{
    static const struct {
        const char  *name;
        const char  *host;
        int          is;
    } cases[] = {
        { "a.example", "a.example", 1 },
        { "A.Example", "a.eXample", 1 },
        { "a.example", "b.a.example", 0 },
        { "a.example", "a.example.", 0 },
        { "a.example", "a-example", 0 },
        { "", "", 0 },
        { "", "a", 0 },
        { "a", "", 0 },

        { ".a.example", "a.example", 1 },
        { ".a.example", "b.a.example", 1 },
        { ".a.example", "c.B.A.example", 1 },
        { ".a.example", "ba.example", 0 },
        { ".a.example", "example", 0 },
        { ".", "", 0 },

        { "*.a.example", "b.a.example", 1 },
        { "*.a.example", "c.b.A.example", 1 },
        { "*.a.example", "a.example", 0 },
        { "*.a.example", "ba.example", 0 },
        { "*.a.example", "b.a.example.evil.com", 0 },
        { "*a.example", "ba.example", 1 },
        { "*a.example", "a.example", 1 },
        { "w*.a.example", "www.a.example", 1 },
        { "w*.a.example", "w.a.example", 1 },
        { "w*.a.example", "xw.a.example", 0 },
        { "*.b.*.example", "a.b.c.example", 1 },
        { "*.b.*.example", "a.b.b.c.b.d.example", 1 },
        { "*.b.*.example", "a.c.d.example", 0 },
        { "a**.example", "ab.example", 1 },
        { "**.example", "x.example", 1 },
        { "?.example", "a.example", 1 },
        { "?.example", "ab.example", 0 },
        { "?.example", ".example", 0 },
        { "a?c.*.example", "abc.d.example", 1 },
        { "a?c.*.example", "ac.d.example", 0 },

        /* server names with a wildcard that would also match names which
         * anybody can register: they match nothing */
        { "*", "a.example", 0 },
        { "www.*", "www.evil.com", 0 },
        { "www.*", "www.*", 0 },
        { "www.example.c*", "www.example.com", 0 },
        { "a.exampl?", "a.example", 0 },
        { "localhos?", "localhosx", 0 },

        /* server names that are regular expressions match nothing */
        { "~^a", "a", 0 },
        { "~^a", "~^a", 0 },
        { "~a.example", "~a.example", 0 }
    };

    size_t             i;
    mcp_str_t          names[3];
    mcp_http_origin_t  o;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        names[0] = test_str(cases[i].name);

        if (mcp_http_host_is_server(names, 1, test_str(cases[i].host))
            != cases[i].is)
        {
            fail_msg("%s on %s", cases[i].name, cases[i].host);
        }
    }

    /* a server with several names: each name matches, with any port */

    memset(&o, 0, sizeof(o));
    names[0] = mcp_str("~^(a|b)$");
    names[1] = mcp_str("a.example");
    names[2] = mcp_str("*.b.example");
    o.server_names = names;
    o.n_server_names = 3;
    o.loopback = 1;

    o.origin = mcp_str("http://x.b.example:8080");
    o.host = mcp_str("x.B.example:8080");
    assert_int_equal(mcp_http_origin_allowed(&o), 1);

    o.origin = mcp_str("http://a.example");
    o.host = mcp_str("a.example");
    assert_int_equal(mcp_http_origin_allowed(&o), 1);

    o.n_server_names = 1;
    assert_int_equal(mcp_http_origin_allowed(&o), 0);
}


/* Hosts whose names no attacker can resolve to the address of this server. */
TEST(host_that_is_neither_loopback_nor_a_server_name_is_rejected)
{
    static const mcp_str_t  names[] = {
        mcp_str("example.com"), mcp_str(".example.net"), mcp_str("10.0.0.1"),
        mcp_str("~^.*$"), mcp_str("")
    };

    static const char  *allowed[] = {
        "", "localhost", "LOCALHOST:8080", "a.localhost", "127.0.0.1",
        "127.3.2.1:80", "[::1]", "[::1]:80", "example.com", "Example.COM:1",
        "a.example.net", "10.0.0.1:9"
    };

    static const char  *refused[] = {
        "evil.example", "evil.example:80", "10.0.0.2", "[fe80::1]",
        "127.0.0.1.evil.example", "example.com.evil.example", "0.0.0.0",
        "a b", "localhost:x", ":80", "localhost@evil.example"
    };

    size_t  i;

    for (i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
        assert_int_equal(mcp_http_host_allowed(test_str(allowed[i]), names, 5),
                         1);
    }

    for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        assert_int_equal(mcp_http_host_allowed(test_str(refused[i]), names, 5),
                         0);
    }
}


TEST(loopback_addresses_of_ipv4_and_ipv6_are_recognized)
{
    size_t  i;

    static const struct {
        const char  *address;
        size_t       len;
        int          is;
    } cases[] = {
        { "\x7f\0\0\1", 4, 1 },
        { "\x7f\xff\xff\xff", 4, 1 },
        { "\x80\0\0\1", 4, 0 },
        { "\0\0\0\0", 4, 0 },
        { "\x0a\0\0\x7f", 4, 0 },
        { "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16, 1 },
        { "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, 0 },
        { "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2", 16, 0 },
        { "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1", 16, 1 },
        { "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1", 16, 0 },
        { "\0\0\0\0\0\0\0\0\0\0\0\0\x7f\0\0\1", 16, 0 },
        { "\x7f\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16, 0 },
        { "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16, 0 },
        { "\x7f", 1, 0 },
        { "", 0, 0 }
    };

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (mcp_http_address_is_loopback(cases[i].address, cases[i].len)
            != cases[i].is)
        {
            fail_msg("address %zu", i);
        }
    }
}


RUN_TESTS(NULL, NULL)
