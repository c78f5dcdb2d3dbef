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

    { "all is well", "POST", { BOTH, JSON, SESSION }, PING, 200, PONG },
    { "names of any case", "POST",
      { "aCCept", "application/json, text/event-stream",
        "CONTENT-TYPE", "application/json", "mcp-SESSION-id", "S" },
      PING, 200, PONG },

    /* Accept */

    { "anything", "POST", { "Accept", "*/*", JSON, SESSION }, PING, 200, PONG },
    { "no Accept is anything", "POST", { JSON, SESSION }, PING, 200, PONG },
    { "two lines", "POST",
      { "Accept", "application/json", "Accept", "text/event-stream", JSON,
        SESSION },
      PING, 200, PONG },
    { "JSON alone", "POST",
      { "Accept", "application/json", JSON, SESSION }, PING, 406, "-32000" },
    { "a stream alone", "POST",
      { "Accept", "text/event-stream", JSON, SESSION }, PING, 406, "-32000" },
    { "a stream refused", "POST",
      { "Accept", "*/*, text/event-stream;q=0", JSON, SESSION }, PING, 406,
      "Not Acceptable" },
    { "GET of JSON", "GET",
      { "Accept", "application/json", SESSION }, "", 406, "Not Acceptable" },
    { "DELETE does not care", "DELETE",
      { "Accept", "image/png", SESSION }, "", 204, NULL },

    /* Content-Type */

    { "a charset", "POST",
      { BOTH, "Content-Type", "application/json; charset=UTF-8", SESSION },
      PING, 200, PONG },
    { "another charset", "POST",
      { BOTH, "Content-Type", "application/json; charset=latin1", SESSION },
      PING, 415, "Unsupported Media Type" },
    { "a type that begins alike", "POST",
      { BOTH, "Content-Type", "application/jsonp", SESSION },
      PING, 415, "-32000" },
    { "a form", "POST",
      { BOTH, "Content-Type", "text/plain", SESSION }, PING, 415, "-32000" },
    { "no type", "POST", { BOTH, SESSION }, PING, 415, "-32000" },

    /* headers that must not be repeated */

    { "two types", "POST", { BOTH, JSON, JSON, SESSION }, PING, 400,
      "Bad Request" },
    { "two sessions", "POST", { BOTH, JSON, SESSION, SESSION }, PING, 400,
      "Bad Request" },
    { "two revisions", "POST",
      { BOTH, JSON, SESSION, "MCP-Protocol-Version", NEW,
        "MCP-Protocol-Version", NEW }, PING, 400, "Bad Request" },
    { "two event ids", "GET",
      { BOTH, SESSION, "Last-Event-ID", "x", "Last-Event-ID", "y" }, "", 400,
      "Bad Request\"" },
    { "two origins", "POST",
      { BOTH, JSON, SESSION, "Origin", "http://localhost", "Origin",
        "http://localhost" }, PING, 400, "Bad Request" },

    /* methods */

    { "PUT", "PUT", { BOTH, JSON, SESSION }, PING, 405,
      "Method not allowed" },
    { "HEAD", "HEAD", { BOTH, SESSION }, "", 405, "Method not allowed" },
    { "methods have a case", "post", { BOTH, JSON, SESSION }, PING, 405,
      "Method not allowed" },
    { "OPTIONS of no browser", "OPTIONS", { NULL }, "", 405,
      "Method not allowed" },

    /* sessions */

    { "POST without", "POST", { BOTH, JSON }, PING, 400,
      "Mcp-Session-Id header is required" },
    { "an empty one", "POST", { BOTH, JSON, "Mcp-Session-Id", "" }, PING, 400,
      "Mcp-Session-Id header is required" },
    { "GET without", "GET", { BOTH }, "", 400,
      "Mcp-Session-Id header is required" },
    { "DELETE without", "DELETE", { BOTH }, "", 400,
      "Mcp-Session-Id header is required" },
    { "POST with none of ours", "POST",
      { BOTH, JSON, "Mcp-Session-Id", "abc" }, PING, 404, "-32001" },
    { "GET with none of ours", "GET",
      { BOTH, "Mcp-Session-Id", "abc" }, "", 404, "-32001" },
    { "DELETE with none of ours", "DELETE",
      { BOTH, "Mcp-Session-Id", "abc" }, "", 404, "-32001" },
    { "a notification with none of ours", "POST",
      { BOTH, JSON, "Mcp-Session-Id", "abc" }, NOTE("notifications/x", "{}"),
      404, "-32001" },
    { "an id with it", "POST",
      { BOTH, JSON, "Mcp-Session-Id", "abc" }, PING, 404, "\"id\":1" },

    /* revisions */

    { "the session's revision", "POST",
      { BOTH, JSON, SESSION, "MCP-Protocol-Version", NEW }, PING, 200, PONG },
    { "one of ours", "POST",
      { BOTH, JSON, SESSION, "MCP-Protocol-Version", OLD }, PING, 200, PONG },
    { "none of ours", "POST",
      { BOTH, JSON, SESSION, "MCP-Protocol-Version", "1999-01-01" }, PING,
      400, "Unsupported protocol version" },
    { "an empty one", "POST",
      { BOTH, JSON, SESSION, "MCP-Protocol-Version", "" }, PING,
      400, "Unsupported protocol version" },
    { "GET, too", "GET",
      { BOTH, SESSION, "MCP-Protocol-Version", "1" }, "", 400,
      "Unsupported protocol version" },
    { "DELETE, too", "DELETE",
      { BOTH, SESSION, "MCP-Protocol-Version", "1" }, "", 400,
      "Unsupported protocol version" },

    /* origins, at a loopback address */

    { "its own origin", "POST",
      { BOTH, JSON, SESSION, "Host", "localhost:8080", "Origin",
        "http://localhost:8080" }, PING, 200, PONG },
    { "another's", "POST",
      { BOTH, JSON, SESSION, "Host", "localhost:8080", "Origin",
        "http://evil.example" }, PING, 403, "Origin not allowed" },
    { "a rebound name", "POST",
      { BOTH, JSON, SESSION, "Host", "evil.example", "Origin",
        "http://evil.example" }, PING, 403, "Origin not allowed" },
    { "null", "POST",
      { BOTH, JSON, SESSION, "Host", "localhost", "Origin", "null" }, PING,
      403, "Origin not allowed" },
    { "GET of another's", "GET",
      { BOTH, SESSION, "Host", "localhost", "Origin", "http://evil.example" },
      "", 403, "Origin not allowed" },
    { "DELETE of another's", "DELETE",
      { BOTH, SESSION, "Host", "localhost", "Origin", "http://evil.example" },
      "", 403, "Origin not allowed" },
    { "OPTIONS of another's", "OPTIONS",
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


TEST(test_http)
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

        allow = client_answer_header(&a, "Allow");

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
TEST(test_many_lines)
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
    assert_int_equal(mcp_exchange_head(a.x, &head), MCP_AGAIN);
    client_close(&d, &a);

    headers[0].value = mcp_str("image/png");
    headers[30].value = mcp_str("*/*");
    a.x = mcp_exchange_create(d.process[0].worker, &d.endpoint, &a);
    assert_ok(mcp_exchange_head(a.x, &head));
    assert_int_equal(mcp_exchange_response(a.x)->status, 406);
}


/* An origin whose host is the IP address in Host is accepted, except on a
 * connection from a loopback address. */
TEST(test_far_origin)
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
TEST(test_absolute_form)
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
