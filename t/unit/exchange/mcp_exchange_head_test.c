/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of HTTP rules: methods, headers, origins, sessions. The streams of GET
 * are tested with the consumer, the messages of POST with the dispatcher. */

#include "core_cases.h"


/* A request. Its headers are pairs, with NULL after the last one; the value
 * "S" means the session's id. */
typedef struct {
    const char  *what;
    const char  *method;
    const char  *headers[12];
    const char  *body;
    int          status;
    const char  *part;             /* text that the response contains; NULL:
                                      the response has no body */
} http_case_t;


#define BOTH     "Accept", "application/json, text/event-stream"
#define JSON     "Content-Type", "application/json"
#define SESSION  "Mcp-Session-Id", "S"


static const http_case_t  http_cases[] = {

    { "valid POST: 200", "POST", { BOTH, JSON, SESSION }, PING, 200, PONG },
    { "header names in any case: 200", "POST",
      { "aCCept", "application/json, text/event-stream",
        "CONTENT-TYPE", "application/json", "mcp-SESSION-id", "S" },
      PING, 200, PONG },

    /* Accept */

    { "Accept */*: 200", "POST", { "Accept", "*/*", JSON, SESSION }, PING, 200,
      PONG },
    { "no Accept: 200", "POST", { JSON, SESSION }, PING, 200, PONG },
    { "Accept in two lines: 200", "POST",
      { "Accept", "application/json", "Accept", "text/event-stream", JSON,
        SESSION },
      PING, 200, PONG },
    { "POST, Accept without event streams: 406", "POST",
      { "Accept", "application/json", JSON, SESSION }, PING, 406, "-32000" },
    { "POST, Accept without JSON: 406", "POST",
      { "Accept", "text/event-stream", JSON, SESSION }, PING, 406, "-32000" },
    { "event stream with q=0: 406", "POST",
      { "Accept", "*/*, text/event-stream;q=0", JSON, SESSION }, PING, 406,
      "Not Acceptable" },
    { "GET, Accept without event streams: 406", "GET",
      { "Accept", "application/json", SESSION }, "", 406, "Not Acceptable" },
    { "DELETE with another Accept: 204", "DELETE",
      { "Accept", "image/png", SESSION }, "", 204, NULL },

    /* Content-Type */

    { "JSON in UTF-8: 200", "POST",
      { BOTH, "Content-Type", "application/json; charset=UTF-8", SESSION },
      PING, 200, PONG },
    { "JSON in another charset: 415", "POST",
      { BOTH, "Content-Type", "application/json; charset=latin1", SESSION },
      PING, 415, "Unsupported Media Type" },
    { "application/jsonp: 415", "POST",
      { BOTH, "Content-Type", "application/jsonp", SESSION },
      PING, 415, "-32000" },
    { "text/plain: 415", "POST",
      { BOTH, "Content-Type", "text/plain", SESSION }, PING, 415, "-32000" },
    { "no Content-Type: 415", "POST", { BOTH, SESSION }, PING, 415, "-32000" },

    /* headers that must not be repeated */

    { "Content-Type twice: 400", "POST", { BOTH, JSON, JSON, SESSION }, PING,
      400, "Bad Request" },
    { "Mcp-Session-Id twice: 400", "POST", { BOTH, JSON, SESSION, SESSION },
      PING, 400, "Bad Request" },
    { "MCP-Protocol-Version twice: 400", "POST",
      { BOTH, JSON, SESSION, "MCP-Protocol-Version", NEW,
        "MCP-Protocol-Version", NEW }, PING, 400, "Bad Request" },
    { "Last-Event-ID twice: 400", "GET",
      { BOTH, SESSION, "Last-Event-ID", "x", "Last-Event-ID", "y" }, "", 400,
      "Bad Request\"" },
    { "Origin twice: 400", "POST",
      { BOTH, JSON, SESSION, "Origin", "http://localhost", "Origin",
        "http://localhost" }, PING, 400, "Bad Request" },

    /* methods */

    { "PUT: 405", "PUT", { BOTH, JSON, SESSION }, PING, 405,
      "Method not allowed" },
    { "HEAD: 405", "HEAD", { BOTH, SESSION }, "", 405, "Method not allowed" },
    { "method in lower case: 405", "post", { BOTH, JSON, SESSION }, PING, 405,
      "Method not allowed" },
    { "OPTIONS that is no preflight: 405", "OPTIONS", { NULL }, "", 405,
      "Method not allowed" },

    /* sessions */

    { "POST without a session: 400", "POST", { BOTH, JSON }, PING, 400,
      "Mcp-Session-Id header is required" },
    { "empty session id: 400", "POST", { BOTH, JSON, "Mcp-Session-Id", "" },
      PING, 400,
      "Mcp-Session-Id header is required" },
    { "GET without a session: 400", "GET", { BOTH }, "", 400,
      "Mcp-Session-Id header is required" },
    { "DELETE without a session: 400", "DELETE", { BOTH }, "", 400,
      "Mcp-Session-Id header is required" },
    { "POST, unknown session: 404", "POST",
      { BOTH, JSON, "Mcp-Session-Id", "abc" }, PING, 404, "-32001" },
    { "GET, unknown session: 404", "GET",
      { BOTH, "Mcp-Session-Id", "abc" }, "", 404, "-32001" },
    { "DELETE, unknown session: 404", "DELETE",
      { BOTH, "Mcp-Session-Id", "abc" }, "", 404, "-32001" },
    { "notification, unknown session: 404", "POST",
      { BOTH, JSON, "Mcp-Session-Id", "abc" }, NOTE("notifications/x", "{}"),
      404, "-32001" },
    { "404 has the id of the request", "POST",
      { BOTH, JSON, "Mcp-Session-Id", "abc" }, PING, 404, "\"id\":1" },

    /* revisions */

    { "version of the session: 200", "POST",
      { BOTH, JSON, SESSION, "MCP-Protocol-Version", NEW }, PING, 200, PONG },
    { "version of another known revision: 200", "POST",
      { BOTH, JSON, SESSION, "MCP-Protocol-Version", OLD }, PING, 200, PONG },
    { "unknown version: 400", "POST",
      { BOTH, JSON, SESSION, "MCP-Protocol-Version", "1999-01-01" }, PING,
      400, "Unsupported protocol version" },
    { "empty version: 400", "POST",
      { BOTH, JSON, SESSION, "MCP-Protocol-Version", "" }, PING,
      400, "Unsupported protocol version" },
    { "GET, unknown version: 400", "GET",
      { BOTH, SESSION, "MCP-Protocol-Version", "1" }, "", 400,
      "Unsupported protocol version" },
    { "DELETE, unknown version: 400", "DELETE",
      { BOTH, SESSION, "MCP-Protocol-Version", "1" }, "", 400,
      "Unsupported protocol version" },

    /* origins, at a loopback address */

    { "Origin equal to Host: 200", "POST",
      { BOTH, JSON, SESSION, "Host", "localhost:8080", "Origin",
        "http://localhost:8080" }, PING, 200, PONG },
    { "POST, foreign Origin: 403", "POST",
      { BOTH, JSON, SESSION, "Host", "localhost:8080", "Origin",
        "http://evil.example" }, PING, 403, "Origin not allowed" },
    { "Origin equal to a foreign Host: 403", "POST",
      { BOTH, JSON, SESSION, "Host", "evil.example", "Origin",
        "http://evil.example" }, PING, 403, "Origin not allowed" },
    { "Origin null: 403", "POST",
      { BOTH, JSON, SESSION, "Host", "localhost", "Origin", "null" }, PING,
      403, "Origin not allowed" },
    { "GET, foreign Origin: 403", "GET",
      { BOTH, SESSION, "Host", "localhost", "Origin", "http://evil.example" },
      "", 403, "Origin not allowed" },
    { "DELETE, foreign Origin: 403", "DELETE",
      { BOTH, SESSION, "Host", "localhost", "Origin", "http://evil.example" },
      "", 403, "Origin not allowed" },
    { "OPTIONS, foreign Origin: 403", "OPTIONS",
      { "Host", "localhost", "Origin", "http://evil.example" }, "", 403,
      "Origin not allowed" }
};


static void
http(client_t *c, const http_case_t *t)
{
    size_t  i;

    memset(c, 0, sizeof(client_t));

    for (i = 0; t->headers[i]; i += 2) {
        client_header(c, t->headers[i],
                      strcmp(t->headers[i + 1], "S") == 0 ? session
                                                         : t->headers[i + 1]);
    }

    client_send(&d, 0, c, t->method, t->body);
}


TEST(http_method_and_headers_decide_the_status_of_a_request)
{
    size_t              i;
    const char         *allow;
    const http_case_t  *t;

    for (i = 0; i < ITEMS(http_cases); i++) {
        t = &http_cases[i];

        /* a new session for each case, because the previous case may have
         * deleted its session */

        client_open(&d, session, NEW, ALL);
        http(&a, t);

        if (a.status != t->status) {
            fail_msg("%s: %d %s", t->what, a.status, a.text);
        }

        if (t->part == NULL) {
            assert_int_equal(a.len, 0);

        } else if (strstr(a.text, t->part) == NULL) {
            fail_msg("%s: no %s in %s", t->what, t->part, a.text);
        }

        allow = client_response_header(&a, "Allow");

        if (t->status == 405) {
            assert_string_equal(allow, "GET, POST, DELETE");

        } else {
            assert_null(allow);
        }

        if (t->status != 200 && t->part) {
            assert_str_is(mcp_exchange_response(a.x)->content_type,
                          "application/json");
            has(a.text, "\"jsonrpc\":\"2.0\"");
        }

        client_close(&d, &a);
    }
}


/* A request has more Accept lines than an exchange keeps: only the first ones
 * count. */
TEST(request_has_more_accept_headers_than_are_kept__only_the_first_ones_count)
{
    int           i;
    mcp_head_t    head;
    mcp_header_t  headers[40];

    for (i = 0; i < 40; i++) {
        headers[i].name = mcp_str("Accept");
        headers[i].value = mcp_str("image/png");
    }

    headers[0].value = mcp_str("*/*");
    headers[39].name = mcp_str("Content-Type");
    headers[39].value = mcp_str("application/json");

    memset(&head, 0, sizeof(mcp_head_t));
    head.method = mcp_str("POST");
    head.headers = headers;
    head.n_headers = 40;

    a.x = mcp_exchange_create(d.process[0].worker, &d.endpoint, &a);
    assert_int_equal(mcp_exchange_head(a.x, &head), MCP_NEXT_BODY);
    client_close(&d, &a);

    headers[0].value = mcp_str("image/png");
    headers[30].value = mcp_str("*/*");
    a.x = mcp_exchange_create(d.process[0].worker, &d.endpoint, &a);
    assert_int_equal(mcp_exchange_head(a.x, &head), MCP_NEXT_RESPOND);
    assert_int_equal(mcp_exchange_response(a.x)->status, 406);
}


/* An origin whose host is the IP address in Host is accepted, except on a
 * connection from a loopback address. */
TEST(origin_is_the_ip_address_in_host__accepted_except_on_a_loopback_connection)
{
    int  far;

    for (far = 0; far < 2; far++) {
        client_init(&a, session);
        a.far = far;
        client_header(&a, "Host", "192.0.2.7:8080");
        client_header(&a, "Origin", "http://192.0.2.7:8080");
        client_send(&d, 0, &a, "POST", PING);
        assert_int_equal(a.status, far ? 200 : 403);
        client_close(&d, &a);

        client_init(&a, session);
        a.far = far;
        client_header(&a, "Host", "192.0.2.7:8080");
        client_header(&a, "Origin", "http://192.0.2.8:8080");
        client_send(&d, 0, &a, "POST", PING);
        answered(&a, 403, NULL);
    }
}


/* The request target has the absolute form: its host overrides the Host
 * header. */
TEST(request_target_is_a_url__its_host_takes_precedence_over_the_host_header)
{
    static const struct {
        const char  *target;
        const char  *host;
        int          status;
    } cases[] = {
        { "/mcp", "localhost:80", 200 },
        { "/mcp", "localhost:81", 403 },
        { "http://localhost/mcp", "evil.example", 200 },
        { "http://localhost/mcp", "localhost:81", 200 },
        { "http://localhost/mcp", NULL, 200 },
        { "http://evil.example/mcp", "localhost", 403 },
        { "http://localhost:81/mcp", "localhost", 403 },
        { "http://u@localhost/mcp", "localhost", 403 },
        { "http:///mcp", "localhost", 403 }
    };

    size_t  i;

    for (i = 0; i < ITEMS(cases); i++) {
        client_init(&a, session);
        a.target = cases[i].target;
        client_header(&a, "Origin", "http://localhost");

        if (cases[i].host) {
            client_header(&a, "Host", cases[i].host);
        }

        client_send(&d, 0, &a, "POST", PING);
        assert_int_equal(a.status, cases[i].status);
        client_close(&d, &a);
    }
}


RUN_TESTS(setup, teardown)
