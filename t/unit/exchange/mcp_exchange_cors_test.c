/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of CORS: responses, preflights, and the header names that a preflight
 * requests. */

#include "core_cases.h"


TEST(only_requests_of_an_allowed_origin_get_cors_headers)
{
    static const char   allowed[] = "https://app.example";
    static const char  *preflight[] = {
        "Access-Control-Allow-Methods", "GET, POST, DELETE",
        "Access-Control-Allow-Headers",
        "Accept, Authorization, Content-Type, Last-Event-ID, "
        "MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id",
        "Access-Control-Max-Age", "86400"
    };

    size_t        i;
    char          error[128];
    mcp_match_t  *match;

    assert_ok(mcp_match_create(&d.te.env.mem, test_str(allowed), &match, error,
                               sizeof(error)));
    d.endpoint.origins = &match;
    d.endpoint.n_origins = 1;

    /* no Origin header: no CORS headers */

    client_post(&d, 0, &a, session, PING);
    assert_null(client_response_header(&a, "Access-Control-Allow-Origin"));
    assert_null(client_response_header(&a, "Vary"));
    client_close(&d, &a);

    client_init(&a, session);
    client_header(&a, "Origin", allowed);
    client_send(&d, 0, &a, "POST", PING);
    assert_int_equal(a.status, 200);
    assert_string_equal(client_response_header(&a,
                                               "Access-Control-Allow-Origin"),
                        allowed);
    assert_string_equal(client_response_header(&a, "Vary"), "Origin");
    assert_string_equal(client_response_header(&a,
                                               "Access-Control-Expose-Headers"),
                        "Mcp-Session-Id, WWW-Authenticate, Retry-After");
    assert_null(client_response_header(&a, "Access-Control-Allow-Methods"));
    client_close(&d, &a);

    /* error responses and streams have CORS headers as well */

    client_init(&a, NULL);
    client_header(&a, "Origin", allowed);
    client_send(&d, 0, &a, "POST", PING);
    assert_int_equal(a.status, 400);
    assert_non_null(client_response_header(&a, "Access-Control-Allow-Origin"));
    client_close(&d, &a);

    client_init(&a, session);
    client_header(&a, "Origin", allowed);
    client_send(&d, 0, &a, "GET", "");
    assert_int_equal(a.streaming, 1);
    assert_non_null(client_response_header(&a, "Access-Control-Allow-Origin"));
    assert_string_equal(client_response_header(&a, "X-Accel-Buffering"), "no");
    assert_string_equal(client_response_header(&a, "Cache-Control"),
                        "no-cache");
    client_close(&d, &a);

    /* preflight: no session is required, because browsers send none */

    client_init(&a, NULL);
    client_header(&a, "Origin", allowed);
    client_send(&d, 0, &a, "OPTIONS", "");
    assert_int_equal(a.status, 204);
    assert_int_equal(a.len, 0);
    assert_string_equal(client_response_header(&a,
                                               "Access-Control-Allow-Origin"),
                        allowed);

    for (i = 0; i < ITEMS(preflight); i += 2) {
        assert_string_equal(client_response_header(&a, preflight[i]),
                            preflight[i + 1]);
    }

    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_OUTCOME, "preflight");
    client_close(&d, &a);

    /* an origin that is not allowed: 403 without CORS headers */

    client_init(&a, session);
    client_header(&a, "Origin", "https://other.example");
    client_send(&d, 0, &a, "POST", PING);
    assert_int_equal(a.status, 403);
    assert_null(client_response_header(&a, "Access-Control-Allow-Origin"));
    client_close(&d, &a);

    d.endpoint.any_origin = 1;
    client_init(&a, session);
    client_header(&a, "Origin", "https://other.example");
    client_send(&d, 0, &a, "POST", PING);
    answered(&a, 200, NULL);

    mcp_match_free(match);
}


#define FIXED                                                                 \
    "Accept, Authorization, Content-Type, Last-Event-ID, "                    \
    "MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id"


TEST(valid_mcp_param_headers_of_a_preflight_are_allowed)
{
    static const struct {
        const char  *asked;
        const char  *added;
    } cases[] = {
        { "", "" },
        { ",, ,", "" },
        { "content-type,mcp-method", "" },
        { "mcp-param-region", ", mcp-param-region" },
        { " \tMcp-Param-A ,mcp-param-b\t", ", Mcp-Param-A, mcp-param-b" },
        { "mcp-param-a, MCP-NAME, x-other, mcp-protocol-version, mcp-new",
          ", mcp-param-a, mcp-new" },
        { "mcp-param-!#$%&'*+-.^_`|~9", ", mcp-param-!#$%&'*+-.^_`|~9" },
        { "mcp-param-a b, mcp-param-c:, mcp-param-\"d\"", "" },
        { "mcp-param-a\r\nSet-Cookie: b", "" },
        { "mcp-param-\xc3\xa4", "" },
        { "mcp-, mcp, *", "" },
        { "x-mcp-param-a", "" }
    };

    char    expected[512], list[8192];
    size_t  i;

    d.endpoint.any_origin = 1;

    for (i = 0; i < ITEMS(cases); i++) {
        client_init(&a, NULL);
        client_header(&a, "Origin", "https://app.example");
        client_header(&a, "Access-Control-Request-Method", "POST");
        client_header(&a, "access-control-REQUEST-headers", cases[i].asked);
        client_send(&d, 0, &a, "OPTIONS", "");
        assert_int_equal(a.status, 204);

        snprintf(expected, sizeof(expected), FIXED "%s", cases[i].added);
        assert_string_equal(client_response_header(
                                &a, "Access-Control-Allow-Headers"), expected);
        client_close(&d, &a);
    }

    /* Access-Control-Request-Headers of more than 4096 bytes: the response
     * contains none of its names */

    memset(list, 'a', sizeof(list) - 1);
    memcpy(list, "mcp-param-", 10);
    list[sizeof(list) - 1] = '\0';

    client_init(&a, NULL);
    client_header(&a, "Origin", "https://app.example");
    client_header(&a, "Access-Control-Request-Headers", list);
    client_send(&d, 0, &a, "OPTIONS", "");
    assert_int_equal(a.status, 204);
    assert_string_equal(client_response_header(&a,
                                               "Access-Control-Allow-Headers"),
                        FIXED);
}


/* mcp_exchange_is_preflight() and mcp_exchange_cors_headers(), which a glue
 * calls when there is no exchange. */
TEST(preflight_is_recognized_and_gets_cors_headers_without_an_exchange)
{
    static const struct {
        const char  *method;
        const char  *headers[8];       /* names and values in turn */
        const char  *target;
        int          preflight;
        int          headed;
    } cases[] = {
        { "OPTIONS", { "Origin", "https://app.example",
                       "access-control-REQUEST-method", "POST" }, "/mcp", 1,
          1 },
        { "OPTIONS", { "Origin", "https://app.example" }, "/mcp", 0, 1 },
        { "POST", { "Origin", "https://app.example",
                    "Access-Control-Request-Method", "POST" }, "/mcp", 0, 1 },
        { "OPTIONS", { "Origin", "https://other.example",
                       "Access-Control-Request-Method", "POST" }, "/mcp", 0,
          0 },
        { "OPTIONS", { "Access-Control-Request-Method", "POST" }, "/mcp", 0,
          0 },
        { "OPTIONS", { "Origin", "", "Access-Control-Request-Method",
                       "POST" }, "/mcp", 0, 0 },

        /* two Origin headers: neither counts, because the server cannot decide
         * between them */
        { "OPTIONS", { "Origin", "https://app.example",
                       "origin", "https://app.example",
                       "Access-Control-Request-Method", "POST" }, "/mcp", 0,
          0 },

        /* Origin is the server's own origin */
        { "POST", { "Origin", "http://localhost:1", "Host", "localhost:1" },
          "/mcp", 0, 1 },
        { "POST", { "Origin", "http://localhost:1", "Host", "localhost:2" },
          "/mcp", 0, 0 },
        { "POST", { "Origin", "http://localhost:1", "Host", "localhost:2" },
          "http://localhost:1/mcp", 0, 1 }
    };

    char          why[128];
    size_t        i, k;
    mcp_head_t    head;
    mcp_match_t  *match;
    mcp_header_t  in[4], out[MCP_CORS_HEADERS];

    assert_ok(mcp_match_create(&d.te.env.mem,
                               mcp_str("https://app.example"), &match,
                               why, sizeof(why)));
    d.endpoint.origins = &match;
    d.endpoint.n_origins = 1;

    for (i = 0; i < ITEMS(cases); i++) {
        memset(&head, 0, sizeof(head));
        head.method = test_str(cases[i].method);
        head.target = test_str(cases[i].target);
        head.headers = in;

        for (k = 0; k < 8 && cases[i].headers[k]; k += 2) {
            in[k / 2].name = test_str(cases[i].headers[k]);
            in[k / 2].value = test_str(cases[i].headers[k + 1]);
            head.n_headers++;
        }

        assert_int_equal(mcp_exchange_is_preflight(&d.endpoint, &head),
                         cases[i].preflight);
        assert_int_equal(mcp_exchange_cors_headers(&d.endpoint, &head, out),
                         cases[i].headed ? MCP_CORS_HEADERS : 0);

        if (cases[i].headed) {
            assert_str_is(out[0].value, cases[i].headers[1]);
            assert_str_is(out[1].value, "Origin");
            assert_str_is(out[2].value,
                          "Mcp-Session-Id, WWW-Authenticate, Retry-After");
        }
    }

    d.endpoint.link = 1;
    assert_int_equal(mcp_exchange_cors_headers(&d.endpoint, &head, out),
                     MCP_CORS_HEADERS);
    assert_str_is(out[2].value,
                  "Mcp-Session-Id, WWW-Authenticate, Retry-After, Link");

    mcp_match_free(match);
}


RUN_TESTS(setup, teardown)
