/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of the URLs of streams: their composition, and the masking of their
 * tokens in logs. */

#include "link_cases.h"


TEST(url_in_the_link_header_is_made_of_origin_or_host_and_the_request_target)
{
    static const struct {
        const char  *host;
        const char  *target;
        const char  *origin;
        int          secure;
        const char  *before;           /* start of the Link header's value;
                                          NULL: no Link header */
    } cases[] = {
        { "h", "/mcp", NULL, 0, "<http://h/mcp?mcp-stream=" },
        { "h:8443", "/a/mcp?x=1&&y", NULL, 1,
          "<https://h:8443/a/mcp?x=1&y&mcp-stream=" },
        { "[::1]:80", "/m?mcp-streams=1", NULL, 0,
          "<http://[::1]:80/m?mcp-streams=1&mcp-stream=" },
        { "h", "/mcp?", "https://api.example", 0,
          "<https://api.example/mcp?mcp-stream=" },
        { "a b", "/mcp", NULL, 0, NULL },
        { "h/x", "/mcp", NULL, 0, NULL },
        { "u@h", "/mcp", NULL, 0, NULL },
        { "h>", "/mcp", NULL, 0, NULL },
        { "", "/mcp", NULL, 0, NULL },
        { "h", "/mcp#x", NULL, 0, NULL },

        /* bytes that the header must not contain are percent-encoded */
        { "h", "/m\"<>?a=\"x\\y\"&mcp-streams=<&b=%3c", NULL, 0,
          "<http://h/m%22%3C%3E?a=%22x%5Cy%22&mcp-streams=%3C&b=%3c"
          "&mcp-stream=" },
        { "h", "/m\xc3\xa9?\x7f\r\n&{|}", NULL, 0,
          "<http://h/m%C3%A9?%7F%0D%0A&{|}&mcp-stream=" },
        { "h", "*", NULL, 0, NULL },

        /* the request target has the absolute form: Host is ignored, and the
         * scheme of the URL is that of the connection */
        { "h", "http://a:81/mcp?x=1", NULL, 0,
          "<http://a:81/mcp?x=1&mcp-stream=" },
        { "", "http://a/mcp", NULL, 1, "<https://a/mcp?mcp-stream=" },
        { "h", "HTTP://[::1]", NULL, 0, "<http://[::1]/?mcp-stream=" },
        { "h", "http://a?x", NULL, 0, "<http://a/?x&mcp-stream=" },
        { "h", "http://a/mcp", "https://api.example", 0,
          "<https://api.example/mcp?mcp-stream=" },
        { "h", "http:///mcp", NULL, 0, NULL },
        { "h", "http://u@a/mcp", NULL, 0, NULL },
        { "h", "/mcp", "https://a\r\nb", 0, NULL }
    };

    size_t  i;

    begin(NEW);

    for (i = 0; i < ITEMS(cases); i++) {
        client_init(&a, session);
        client_header(&a, "Host", cases[i].host);
        a.target = cases[i].target;
        a.origin = cases[i].origin;
        a.secure = cases[i].secure;
        client_send(&d, 0, &a, "GET", "");
        assert_int_equal(a.status, 200);

        if (cases[i].before) {
            assert_non_null(link_of(&a, url));
            has(client_response_header(&a, "Link"), cases[i].before);

        } else {
            assert_null(client_response_header(&a, "Link"));
        }

        client_close(&d, &a);
    }

    /* a plain JSON response has no Link header, although
     * Access-Control-Expose-Headers names Link */

    client_init(&a, session);
    client_header(&a, "Host", "localhost");
    client_header(&a, "Origin", "http://localhost");
    client_send(&d, 0, &a, "POST", PING);
    assert_null(client_response_header(&a, "Link"));
    assert_string_equal(client_response_header(&a,
                                               "Access-Control-Expose-Headers"),
                        "Mcp-Session-Id, WWW-Authenticate, Retry-After, Link");
    client_close(&d, &a);

    /* mcp_link is off: the response has no Link header, and
     * Access-Control-Expose-Headers does not name Link */

    d.endpoint.link = 0;
    client_init(&a, session);
    client_header(&a, "Host", "localhost");
    client_header(&a, "Origin", "http://localhost");
    a.target = url;
    client_send(&d, 0, &a, "GET", "");
    assert_null(client_response_header(&a, "Link"));
    assert_string_equal(client_response_header(&a,
                                               "Access-Control-Expose-Headers"),
                        "Mcp-Session-Id, WWW-Authenticate, Retry-After");
}


/* An origin with variables may have an invalid value: that is logged at most
 * once a minute. */
TEST(invalid_origin_from_a_variable_is_logged_once_a_minute)
{
    static const struct {
        const char  *origin;
        unsigned     wait;
        const char  *line;             /* NULL: none */
    } cases[] = {
        { "https://a.example/", 0, "a stream has no URL, because "
          "\"https://a.example/\" is not of the form http://host[:port]" },
        { "ftp://a.example", 0, NULL },
        { "ftp://a.example", 59000, NULL },
        { "https://a\r\nb", 1000, "a stream has no URL, because "
          "\"https://a??b\" is not" },
        { "https://a.example", 60000, NULL },
    };

    size_t    i;
    unsigned  before;

    begin(NEW);
    d.te.env.log_level = MCP_LOG_WARN;

    for (i = 0; i < ITEMS(cases); i++) {
        driver_wait(&d, cases[i].wait);
        before = d.te.logged;

        client_init(&a, session);
        client_header(&a, "Host", "h");
        a.origin = cases[i].origin;
        client_send(&d, 0, &a, "GET", "");
        assert_int_equal(a.status, 200);
        assert_int_equal(client_response_header(&a, "Link") != NULL,
                         i == ITEMS(cases) - 1);
        client_close(&d, &a);

        assert_int_equal(d.te.logged - before, cases[i].line != NULL);

        if (cases[i].line) {
            has(d.te.last, cases[i].line);
        }
    }
}


/* A target of 2048 bytes, most of which are percent-encoded, has a URL; a
 * target of 2049 bytes has none. */
TEST(request_target_exceeds_2048_bytes__the_response_has_no_link_header)
{
    static char  target[2048 + 2];

    int  more;

    begin(NEW);

    for (more = 0; more < 2; more++) {
        memset(target, '"', 2048 + (size_t) more);
        target[0] = '/';
        target[2048 + more] = '\0';

        client_init(&a, session);
        client_header(&a, "Host", "h");
        a.target = target;
        client_send(&d, 0, &a, "GET", "");
        assert_int_equal(a.status, 200);

        if (more) {
            assert_null(client_response_header(&a, "Link"));

        } else {
            has(client_response_header(&a, "Link"), "<http://h/%22%22");
        }

        client_close(&d, &a);
    }
}


/* The tokens that logs mask in a request line, a target or a query. */
TEST(each_token_in_a_request_line_or_target_or_query_is_found_for_masking)
{
    static const struct {
        const char  *text;
        const char  *masked;
    } cases[] = {
        { "", "" },
        { "GET /mcp HTTP/1.1", "GET /mcp HTTP/1.1" },
        { "GET /mcp?mcp-stream=ab-_ HTTP/1.1",
          "GET /mcp?mcp-stream=**** HTTP/1.1" },
        { "GET http://h/mcp?mcp-stream=abc HTTP/1.1",
          "GET http://h/mcp?mcp-stream=*** HTTP/1.1" },
        { "/mcp?mcp-stream=abc", "/mcp?mcp-stream=***" },
        { "/mcp?x=1&mcp-stream=ab&y=2", "/mcp?x=1&mcp-stream=**&y=2" },
        { "/mcp?mcp-stream=ab&mcp-stream=cde&mcp-stream=f",
          "/mcp?mcp-stream=**&mcp-stream=***&mcp-stream=*" },
        { "/mcp?mcp-stream=ab?mcp-stream=c", "/mcp?mcp-stream=***************" },
        { "/mcp?mcp-stream=%41=/#b", "/mcp?mcp-stream=*******" },
        { "mcp-stream=abc&x", "mcp-stream=***&x" },
        { "mcp-stream=&mcp-stream=a", "mcp-stream=&mcp-stream=*" },
        { "mcp-stream=", "mcp-stream=" },
        { "mcp-stream", "mcp-stream" },
        { "/mcp-stream=abc", "/mcp-stream=abc" },
        { "/mcp?xmcp-stream=abc&mcp-streams=a&mcp_stream=a",
          "/mcp?xmcp-stream=abc&mcp-streams=a&mcp_stream=a" },
        { "/mcp?mcp%2Dstream=abc", "/mcp?mcp%2Dstream=***" },
        { "/mcp?%6d%63p-stream=abc&x", "/mcp?%6d%63p-stream=***&x" },
        { "/mcp?mcp%2stream=abc&mcp-stream%3D=a&mcp-stream%",
          "/mcp?mcp%2stream=abc&mcp-stream%3D=a&mcp-stream%" }
    };

    char       text[128];
    size_t     i;
    mcp_str_t  rest, secret;

    begin(NEW);

    for (i = 0; i < ITEMS(cases); i++) {
        strcpy(text, cases[i].text);
        rest = test_str(cases[i].text);

        while (mcp_exchange_secret(&d.endpoint, &rest, &secret)) {
            memset(text + (secret.data - cases[i].text), '*', secret.len);
        }

        assert_string_equal(text, cases[i].masked);
    }

    /* mcp_link off: the argument is not masked */

    d.endpoint.link = 0;
    rest = mcp_str("/mcp?mcp-stream=abc");
    assert_int_equal(mcp_exchange_secret(&d.endpoint, &rest, &secret), 0);
}


RUN_TESTS(setup, teardown)
