/* SPDX-License-Identifier: Apache-2.0 */

/* Which headers of a client are forwarded to backends. */


#include <ctype.h>

#include "test_env.h"

#include "config/mcp_endpoint_internal.h"
#include "mcp_variable.h"
#include "mcp_forward.h"


static const mcp_endpoint_t  none;


TEST(headers_meant_for_the_web_server_are_not_forwarded_to_backends)
{
    static const char  *skipped[] = {
        "Accept", "Accept-Encoding", "Connection", "Content-Encoding",
        "Content-Length", "Content-Type", "Expect", "Host", "HTTP2-Settings",
        "If-Match", "If-Modified-Since", "If-None-Match", "If-Range",
        "If-Unmodified-Since", "Keep-Alive", "Last-Event-ID",
        "Mcp-Session-Id", "Proxy", "Proxy-Connection", "Range", "TE", "Trailer",
        "Transfer-Encoding", "Upgrade"
    };

    static const char  *passed[] = {
        "", "x", "Authorization2", "Cookie2", "User-Agent", "Accept-Language",
        "Mcp-Param-Region", "Mcp-Names", "X-Forwarded-For", "Origin", "Hos", "Hosts",
        "T", "Te_", "If-Unmodified-Since-", "If-Unmodified-Sinc"
    };

    char    name[64];
    size_t  i, k;

    for (i = 0; i < sizeof(skipped) / sizeof(skipped[0]); i++) {
        assert_int_equal(mcp_forward_skips(&none, test_str(skipped[i])), 1);

        for (k = 0; skipped[i][k]; k++) {
            name[k] = (char) tolower((unsigned char) skipped[i][k]);
        }

        assert_int_equal(mcp_forward_skips(&none, (mcp_str_t) { name, k }), 1);

        /* a name that lacks the last character of a name that is not
         * forwarded: forwarded */

        assert_int_equal(mcp_forward_skips(&none, (mcp_str_t) { name, k - 1 }),
                         0);
    }

    for (i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
        assert_int_equal(mcp_forward_skips(&none, test_str(passed[i])), 0);
    }

    assert_int_equal(mcp_forward_skips(&none, mcp_null_str), 0);
}


/* Names with "_" instead of "-" are not forwarded, because CGI variables do
 * not distinguish them. */
TEST(mcp_headers_with_an_underscore_are_not_forwarded)
{
    assert_int_equal(mcp_forward_skips(&none, mcp_str("Mcp_Principal")), 1);
    assert_int_equal(mcp_forward_skips(&none, mcp_str("mcp-publish_url")), 1);
    assert_int_equal(mcp_forward_skips(&none, mcp_str("MCP_X")), 1);
    assert_int_equal(mcp_forward_skips(&none, mcp_str("Mcp_Param-x")), 1);
    assert_int_equal(mcp_forward_skips(&none, mcp_str("Mcp-Param_x")), 1);
    assert_int_equal(mcp_forward_skips(&none, mcp_str("Mcp-Params-x_y")), 1);

    assert_int_equal(mcp_forward_skips(&none, mcp_str("mcp_")), 0);
    assert_int_equal(mcp_forward_skips(&none, mcp_str("mcpx_y")), 0);
    assert_int_equal(mcp_forward_skips(&none, mcp_str("x_mcp")), 0);
}


/* A header that repeats an argument may have any name after "Mcp-Param-". No
 * variable of a call has such a name. */
TEST(mcp_param_header_with_an_underscore_is_forwarded)
{
    size_t  i;

    assert_int_equal(mcp_forward_skips(&none, mcp_str("Mcp-Param-dry_run")),
                     0);
    assert_int_equal(mcp_forward_skips(&none, mcp_str("MCP-PARAM-_")), 0);

    for (i = 0; i < MCP_VARIABLE_COUNT; i++) {
        assert_false(mcp_variable_env[i].len > 10
                     && memcmp(mcp_variable_env[i].data, "MCP_PARAM_", 10)
                        == 0);
    }
}


/* Returns "Mcp-Request-Id" for "MCP_REQUEST_ID", in static memory. */
static mcp_str_t
header_of(mcp_str_t env)
{
    static char  name[64];

    size_t  i;

    for (i = 0; i < env.len; i++) {
        name[i] = env.data[i] == '_' ? '-'
                  : i > 0 && env.data[i - 1] != '_'
                    ? (char) tolower((unsigned char) env.data[i])
                    : env.data[i];
    }

    return (mcp_str_t) { name, env.len };
}


/* A client cannot send a header that a backend takes for an MCP_* variable. */
TEST(client_header_named_like_an_mcp_variable_is_not_forwarded)
{
    size_t  i, n;

    for (i = n = 0; i < MCP_VARIABLE_COUNT; i++) {
        if (mcp_variable_env[i].len) {
            assert_int_equal(
                mcp_forward_skips(&none, header_of(mcp_variable_env[i])), 1);
            n++;
        }
    }

    assert_true(n >= 10);
    assert_int_equal(mcp_forward_skips(&none, mcp_str("mcp-principal")), 1);
    assert_int_equal(mcp_forward_skips(&none, mcp_str("MCP-PRINCIPAL")), 1);
    assert_int_equal(mcp_forward_skips(&none, mcp_str("Mcp-Principa")), 0);
    assert_int_equal(mcp_forward_skips(&none, mcp_str("Xcp-Principal")), 0);
}


/* Headers that the server itself sends to backends are not forwarded. */
TEST(client_headers_that_the_server_itself_sends_are_not_forwarded)
{
    size_t  i;

    assert_int_equal(mcp_forward_n_headers, 2);
    assert_str_is(mcp_forward_headers[0].name, "Content-Type");
    assert_str_is(mcp_forward_headers[0].value, "application/json");
    assert_str_is(mcp_forward_headers[1].name, "Accept");
    assert_str_is(mcp_forward_headers[1].value,
                  "application/json, text/event-stream, "
                  "application/x-ndjson");

    for (i = 0; i < mcp_forward_n_headers; i++) {
        assert_int_equal(mcp_forward_skips(&none, mcp_forward_headers[i].name),
                         1);
    }
}


/* Credentials are forwarded only if the endpoint permits that. */
TEST(credentials_are_forwarded_only_if_the_endpoint_permits_it)
{
    static const struct {
        const char  *name;
        int          cookie;
        int          variable;
    } cases[] = {
        { "Authorization", 0, 0 },
        { "authorization", 0, 0 },
        { "Proxy-Authorization", 0, 0 },
        { "Cookie", 1, 0 },
        { "OIDC_access_token", 0, 0 },
        { "OAUTH2_CLAIM_access_token", 0, 0 },
        { "OIDC_access_token", 0, 1 },
        { "REDIRECT_OIDC_refresh_token", 0, 1 },
        { "HTTP_OAUTH2_CLAIM_ACCESS_TOKEN", 0, 1 },
        { "HTTP_AUTHORIZATION", 0, 1 },
        { "HTTP_PROXY_AUTHORIZATION", 0, 1 },
        { "REDIRECT_HTTP_AUTHORIZATION", 0, 1 },
        { "REDIRECT_REDIRECT_HTTP_COOKIE", 1, 1 },
        { "HTTP_COOKIE", 1, 1 }
    };

    int             skipped;
    size_t          i, k;
    mcp_endpoint_t  endpoint;

    memset(&endpoint, 0, sizeof(endpoint));

    for (k = 0; k < 4; k++) {
        endpoint.pass_authorization = k & 1;
        endpoint.pass_cookie = k >> 1 & 1;

        for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            skipped = cases[i].variable
                ? mcp_forward_skips_variable(&endpoint, test_str(cases[i].name))
                : mcp_forward_skips(&endpoint, test_str(cases[i].name));

            assert_int_equal(skipped, cases[i].cookie ? !endpoint.pass_cookie
                                              : !endpoint.pass_authorization);
        }
    }

    assert_int_equal(mcp_forward_skips_variable(&none, mcp_str("HTTP_X")), 0);
    assert_int_equal(mcp_forward_skips_variable(&none, mcp_str("HTTP_")), 0);
    assert_int_equal(mcp_forward_skips_variable(&none, mcp_str("COOKIE")), 0);
    assert_int_equal(mcp_forward_skips_variable(&none, mcp_str("REDIRECT_")),
                     0);
    assert_int_equal(mcp_forward_skips_variable(&none, mcp_null_str), 0);
}


RUN_TESTS(NULL, NULL)
