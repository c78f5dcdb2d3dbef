/* SPDX-License-Identifier: Apache-2.0 */

/* Allowed origins. */


#include "memory_cases.h"

#include "http/mcp_http_authority.h"


TEST(web_origin_is_allowed_only_if_it_is_the_host_and_the_host_is_trusted)
{
    static const struct {
        const char  *origin;
        const char  *host;
        const char  *server_name;
        int          elsewhere;        /* result for a server that does not
                                          listen on loopback */
        int          loopback;
    } cases[] = {
        { "", "", "", 1, 1 },
        { "", "evil.com", "", 1, 1 },

        /* DNS rebinding: the attacker's host name resolves to this server */
        { "http://evil.com", "evil.com", "", 0, 0 },
        { "http://evil.com:8080", "evil.com:8080", "", 0, 0 },
        { "http://evil.com", "localhost", "", 0, 0 },
        { "http://localhost", "evil.com", "", 0, 0 },
        { "http://localhost.evil.com", "localhost.evil.com", "", 0, 0 },
        { "http://evillocalhost", "evillocalhost", "", 0, 0 },
        { "http://127.0.0.1.evil.com", "127.0.0.1.evil.com", "", 0, 0 },
        { "http://.localhost", ".localhost", "", 0, 0 },

        /* origins that are trusted on loopback */
        { "http://localhost", "localhost", "", 1, 1 },
        { "http://LocalHost:3000", "localhost:3000", "", 1, 1 },
        { "http://app.localhost", "app.localhost", "", 1, 1 },
        { "http://127.0.0.1", "127.0.0.1", "", 1, 1 },
        { "http://127.0.0.1:8080", "127.0.0.1:8080", "", 1, 1 },
        { "http://127.255.0.9", "127.255.0.9", "", 1, 1 },
        { "http://[::1]", "[::1]", "", 1, 1 },
        { "http://[::1]:81", "[::1]:81", "", 1, 1 },
        { "http://mcp.example.com", "mcp.example.com", "mcp.example.com",
          1, 1 },
        { "https://MCP.example.com", "mcp.Example.com", "mcp.example.COM",
          1, 1 },
        { "http://a.com", "a.com", "b.com", 0, 0 },

        /* origins that only resemble trusted ones */
        { "http://126.0.0.1", "126.0.0.1", "", 1, 0 },
        { "http://192.168.1.5:81", "192.168.1.5:81", "", 1, 0 },
        { "http://127.0.0.256", "127.0.0.256", "", 0, 0 },
        { "http://127.0.0", "127.0.0", "", 0, 0 },
        { "http://127.1", "127.1", "", 0, 0 },
        { "http://127.0.0.1.", "127.0.0.1.", "", 0, 0 },
        { "http://127.0.0.01", "127.0.0.01", "", 0, 0 },
        { "http://127..0.1", "127..0.1", "", 0, 0 },
        { "http://127.0.0.1.1", "127.0.0.1.1", "", 0, 0 },
        { "http://0127.0.0.1", "0127.0.0.1", "", 0, 0 },
        { "http://[::2]", "[::2]", "", 1, 0 },

        /* ports */
        { "http://localhost", "localhost:80", "", 1, 1 },
        { "http://localhost:80", "localhost", "", 1, 1 },
        { "http://localhost:", "localhost", "", 1, 1 },
        { "https://localhost", "localhost:443", "", 1, 1 },
        { "https://localhost:443", "localhost", "", 1, 1 },
        { "https://localhost", "localhost:80", "", 0, 0 },
        { "http://localhost", "localhost:443", "", 0, 0 },
        { "http://localhost:3000", "localhost:8080", "", 0, 0 },
        { "http://localhost:8080", "localhost:08080", "", 1, 1 },
        { "http://localhost:0", "localhost:0", "", 0, 0 },
        { "http://localhost:65536", "localhost:65536", "", 0, 0 },
        { "http://localhost:8o", "localhost:8o", "", 0, 0 },
        { "http://localhost:80:80", "localhost:80:80", "", 0, 0 },
        { "http://localhost:18446744073709551696", "localhost:80", "", 0, 0 },

        /* origins with other schemes, "null", and malformed ones */
        { "null", "localhost", "", 0, 0 },
        { "null", "null", "", 0, 0 },
        { "ftp://localhost", "localhost", "", 0, 0 },
        { "file://", "localhost", "", 0, 0 },
        { "chrome-extension://abc", "abc", "", 0, 0 },
        { "localhost", "localhost", "", 0, 0 },
        { "//localhost", "localhost", "", 0, 0 },
        { "://localhost", "localhost", "", 0, 0 },
        { "http:localhost", "localhost", "", 0, 0 },
        { "http:/localhost", "localhost", "", 0, 0 },
        { "http://", "", "", 0, 0 },
        { "http://:80", ":80", "", 0, 0 },
        { "http://localhost/", "localhost", "", 0, 0 },
        { "http://localhost/", "localhost/", "", 0, 0 },
        { "http://u@localhost", "u@localhost", "", 0, 0 },
        { "http://localhost ", "localhost", "", 0, 0 },
        { "http://localhost http://localhost", "localhost", "", 0, 0 },
        { "http://localhost, http://localhost", "localhost", "", 0, 0 },
        { "http://localhost?", "localhost?", "", 0, 0 },
        { "http://[::1", "[::1", "", 0, 0 },
        { "http://[]", "[]", "", 0, 0 },
        { "http://[::1]x", "[::1]x", "", 0, 0 },
        { "http://[::1%25lo]", "[::1%25lo]", "", 0, 0 },
        { "http://::1", "::1", "", 0, 0 },
        { "http://localhost", "", "", 0, 0 },
        { "1http://localhost", "localhost", "", 0, 0 },
    };

    size_t             i;
    mcp_str_t          name;
    mcp_http_origin_t  o;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(&o, 0, sizeof(o));

        o.origin = test_str(cases[i].origin);
        o.host = test_str(cases[i].host);
        name = test_str(cases[i].server_name);
        o.server_names = &name;
        o.n_server_names = 1;

        if (mcp_http_origin_allowed(&o) != cases[i].elsewhere) {
            fail_msg("Origin: %s, Host: %s", cases[i].origin, cases[i].host);
        }

        o.loopback = 1;

        if (mcp_http_origin_allowed(&o) != cases[i].loopback) {
            fail_msg("Origin: %s, Host: %s on loopback", cases[i].origin,
                     cases[i].host);
        }

        /* "*" allows any origin */

        o.any = 1;
        assert_int_equal(mcp_http_origin_allowed(&o), 1);
    }

    /* NUL within a value */

    memset(&o, 0, sizeof(o));
    o.origin = mcp_str("http://a\0b");
    o.host = mcp_str("a\0b");
    assert_int_equal(mcp_http_origin_allowed(&o), 0);

    o.origin = mcp_str("http://a");
    o.host = mcp_null_str;
    assert_int_equal(mcp_http_origin_allowed(&o), 0);
}


TEST(origin_that_no_configured_pattern_matches_is_rejected)
{
    static const char  *patterns[] = {
        "https://app.example.com",
        "~^https://[a-z]+\\.dev\\.example\\.com$",
        "chrome-extension://abcdef",
    };

    static const struct {
        const char  *origin;
        int          allowed;
    } cases[] = {
        { "https://app.example.com", 1 },
        { "http://app.example.com", 0 },
        { "https://app.example.com:8443", 0 },
        { "https://app.example.com.evil.com", 0 },
        { "https://x.dev.example.com", 1 },
        { "https://x.y.dev.example.com", 0 },
        { "chrome-extension://abcdef", 1 },
        { "chrome-extension://abcdeg", 0 },
        { "null", 0 },
        { "https://evil.com", 0 },
        { "", 1 },
    };

    char               error[128];
    size_t             i;
    mcp_match_t       *allowed[5];
    mcp_http_origin_t  o;

    memset(&o, 0, sizeof(o));

    for (i = 0; i < 3; i++) {
        assert_ok(mcp_match_create(&tm.mem, test_str(patterns[i]), &allowed[i],
                                   error, sizeof(error)));
    }

    o.host = mcp_str("mcp.example.com");
    o.loopback = 1;
    o.allowed = allowed;
    o.n_allowed = 3;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        o.origin = test_str(cases[i].origin);

        if (mcp_http_origin_allowed(&o) != cases[i].allowed) {
            fail_msg("Origin: %s", cases[i].origin);
        }
    }

    /* a pattern for any text allows all origins except "null" ... */

    assert_ok(mcp_match_create(&tm.mem, mcp_str("~."), &allowed[3],
                               error, sizeof(error)));
    o.n_allowed = 4;

    o.origin = mcp_str("https://evil.com");
    assert_int_equal(mcp_http_origin_allowed(&o), 1);
    o.origin = mcp_str("evil.com");
    assert_int_equal(mcp_http_origin_allowed(&o), 0);
    o.origin = mcp_str("null");
    assert_int_equal(mcp_http_origin_allowed(&o), 0);

    /* ... which must be configured literally */

    assert_ok(mcp_match_create(&tm.mem, mcp_str("null"), &allowed[4],
                               error, sizeof(error)));
    o.n_allowed = 5;
    assert_int_equal(mcp_http_origin_allowed(&o), 1);

    for (i = 0; i < 5; i++) {
        mcp_match_free(allowed[i]);
    }
}


RUN_TESTS(init, done)
