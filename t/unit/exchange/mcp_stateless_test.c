/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of requests without a session: the checks of such a request with
 * their statuses, codes and data; the responses of calls; a client that
 * disconnects. */

#include "core_cases.h"


#define MODERN  "2026-07-28"

#define META(version)                                                         \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":" version ","     \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

#define CAPABILITIES(members)                                                 \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" MODERN "\","  \
    "\"io.modelcontextprotocol/clientCapabilities\":{" members "}}"

#define MESSAGE(method, params)  REQUEST("7", method, "{" params "}")
#define OK                   META("\"" MODERN "\"")


typedef struct {
    const char  *version;      /* MCP-Protocol-Version, NULL: none */
    const char  *method;
    const char  *name;
    const char  *body;
    int          status;
    const char  *part;
} entrance_case_t;


static const entrance_case_t  entrance_cases[] = {

    /* an older or unknown revision, and no _meta: a request of a session */

    { "2025-11-25", "ping", NULL, MESSAGE("ping", ""), 400,
      "Mcp-Session-Id header is required" },
    { "2027-01-01", "ping", NULL, MESSAGE("ping", ""), 400,
      "Mcp-Session-Id header is required" },

    /* a capability that JSON parsers may read in two ways */

    { MODERN, "tools/list", NULL,
      MESSAGE("tools/list", CAPABILITIES("\"extensions\":{},"
          "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}")), 400,
      "-32602" },
    { MODERN, "tools/list", NULL,
      MESSAGE("tools/list", CAPABILITIES("\"extensions\":{},"
          "\"\\u0065xtensions\":{}")), 400, "-32602" },
    { MODERN, "tools/list", NULL,
      MESSAGE("tools/list", CAPABILITIES("\"Extensions\":{}")), 400,
      "-32602" },
    { MODERN, "tools/list", NULL,
      MESSAGE("tools/list", CAPABILITIES("\"extensions\":{"
          "\"io.modelcontextprotocol/tasks\":null,"
          "\"io.modelcontextprotocol/tasks\":{}}")), 400,
      "clientCapabilities" },
    { MODERN, "tools/list", NULL,
      MESSAGE("tools/list", CAPABILITIES("\"extensions\":{"
          "\"io.modelcontextprotocol/Tasks\":{}}")), 400, "-32602" },
    { MODERN, "tools/list", NULL,
      MESSAGE("tools/list", CAPABILITIES("\"x\":1,\"x\":2,\"extensions\":{"
          "\"a/b\":{},\"a/b\":{},\"io.modelcontextprotocol/tasks\":{}}")),
      200, "\"tools\":" },

    /* the headers that repeat values of the body */

    { "v999", "tools/list", NULL, MESSAGE("tools/list", META("\"v999\"")), 400,
      "-32022,\"message\":\"Unsupported protocol version\"," },
    { " " MODERN "\t", "tools/list", NULL, MESSAGE("tools/list", OK), 200,
      "\"tools\":" },
    { MODERN, "requests/getStatus", NULL, MESSAGE("requests/getStatus", OK),
      404, "-32601" },
    { MODERN, "tools/call", "=?base64?ZWNoby?=",
      MESSAGE("tools/call", "\"name\":\"echo\"," OK), 400, "-32020" },
};


static void
send_case(client_t *c, const entrance_case_t *row)
{
    client_init(c, NULL);

    if (row->version) {
        client_header(c, "MCP-Protocol-Version", row->version);
    }

    if (row->method) {
        client_header(c, "mcp-method", row->method);
    }

    if (row->name) {
        client_header(c, "MCP-NAME", row->name);
    }

    client_send(&d, 0, c, "POST", row->body);
}


static void
send_modern(client_t *c, const char *method, const char *name, const char *body)
{
    const entrance_case_t  row = { MODERN, method, name, body, 0, NULL };

    send_case(c, &row);
}


TEST(headers_and_body_of_a_stateless_request_decide_its_status_and_error)
{
    size_t  i;

    for (i = 0; i < ITEMS(entrance_cases); i++) {
        send_case(&a, &entrance_cases[i]);

        if (a.status != entrance_cases[i].status) {
            fail_msg("%zu: %d %s", i, a.status, a.text);
        }

        answered(&a, entrance_cases[i].status, entrance_cases[i].part);
    }

    assert_int_equal(d.n_breqs, 0);
}


/* A header that repeats a value of the body must occur once only. In a
 * session, Mcp-Method is ignored. */
TEST(stateless_request_has_an_mcp_header_twice__it_gets_400)
{
    size_t  i;

    static const char *const  names[][2] = {
        { "MCP-Protocol-Version", MODERN },
        { "Mcp-Method", "tools/call" },
        { "Mcp-Name", "echo" }
    };

    for (i = 0; i < ITEMS(names); i++) {
        client_init(&a, NULL);
        client_header(&a, names[i][0], names[i][1]);
        client_header(&a, "MCP-Protocol-Version", MODERN);
        client_header(&a, "Mcp-Method", "tools/call");
        client_header(&a, "Mcp-Name", "echo");
        client_send(&d, 0, &a, "POST",
                    MESSAGE("tools/call", "\"name\":\"echo\"," OK));
        answered(&a, 400, "\"id\":7,\"error\":{\"code\":-32020");
    }

    client_init(&a, session);
    client_header(&a, "Mcp-Method", "x");
    client_header(&a, "Mcp-Method", "y");
    client_send(&d, 0, &a, "POST", PING);
    answered(&a, 200, NULL);

    client_init(&a, session);
    client_header(&a, "MCP-Protocol-Version", NEW);
    client_header(&a, "MCP-Protocol-Version", NEW);
    client_send(&d, 0, &a, "POST", PING);
    assert_int_equal(a.status, 400);
}


/* A request without Mcp-Method is logged, because a proxy may drop the header.
 * Each process logs only the first such request. */
TEST(first_request_without_header_mcp_method_is_logged_and_later_ones_are_not)
{
    int       i;
    unsigned  logged;

    const entrance_case_t  row = { MODERN, NULL, NULL,
                                   MESSAGE("tools/list", OK), 0, NULL };

    d.te.env.log_level = MCP_LOG_NOTICE;
    logged = d.te.logged;

    for (i = 0; i < 3; i++) {
        send_case(&a, &row);
        answered(&a, 400, NULL);
        assert_int_equal(d.te.logged, logged + 1);
    }

    send_modern(&a, "TOOLS/LIST", NULL, MESSAGE("tools/list", OK));
    client_close(&d, &a);
    assert_int_equal(d.te.logged, logged + 1);
}


TEST(stateless_PUT_is_rejected__only_POST_is_allowed)
{
    client_init(&a, session);
    client_header(&a, "MCP-Protocol-Version", MODERN);
    client_send(&d, 0, &a, "PUT", "");
    assert_string_equal(client_response_header(&a, "Allow"), "POST");
    answered(&a, 405, "-32600");
}


/* mcp_revisions lacks the revision of a session or of a stateless request. */
TEST(endpoint_uses_only_the_revisions_that_mcp_revisions_allows)
{
    /* no revision with sessions: a request of a session is handled as a
     * stateless one */

    d.endpoint.revisions = mcp_revision_bit(MCP_REVISION_2026_07_28);
    client_post(&d, 0, &a, session, REQUEST("7", "tools/list", "{}"));
    answered(&a, 400, "\"id\":7,\"error\":{\"code\":-32602,");

    d.endpoint.revisions = mcp_revision_bit(MCP_REVISION_2025_06_18);
    send_modern(&a, "tools/list", NULL, MESSAGE("tools/list", OK));
    answered(&a, 400, "\"code\":-32000");

    /* a session of another revision */

    client_post(&d, 0, &a, session, PING);
    assert_int_equal(a.status, 404);
}


/* The methods "streams" and "streamLinks" need a session. */
TEST(server_discover_declares_only_resumption_methods_without_sessions)
{
    send_modern(&a, "server/discover", NULL, MESSAGE("server/discover", OK));
    answered(&a, 200, "\"experimental\":{\"resumableRequests\":{},"
                      "\"resumeTokens\":{}}},");
}


#define ECHO        MESSAGE("tools/call", "\"name\":\"echo\"," OK)


/* The "ttlMs" of a resource does not apply to a result that depends on
 * inputResponses. */
TEST(resource_has_a_ttl__a_read_with_input_responses_gets_ttl_0)
{
    int  i;

    static const char *const  reads[][2] = {
        { MESSAGE("resources/read", "\"uri\":\"test://a\"," OK),
          "\"ttlMs\":300000," },
        { MESSAGE("resources/read", "\"uri\":\"test://a\","
                  "\"inputResponses\":{}," OK), "\"ttlMs\":0," }
    };

    for (i = 0; i < 2; i++) {
        send_modern(&a, "resources/read", "test://a", reads[i][0]);
        backend_json(&d, "{\"contents\":[]}");
        answered(&a, 200, reads[i][1]);
    }
}


/* A backend's error code that the revision forbids is replaced by -32603.
 * Error -32021, for a missing client capability, has status 400. */
TEST(error_of_a_backend__a_forbidden_code_becomes_32603_and_32021_gets_http_400)
{
    send_modern(&a, "tools/call", "echo", ECHO);
    backend_json(&d, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":"
                     "-32042,\"message\":\"m\"}}");
    answered(&a, 200, "\"error\":{\"code\":-32603,\"message\":\"m\"}");

    send_modern(&a, "tools/call", "echo", ECHO);
    backend_json(&d, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":"
                     "-32021,\"message\":\"m\",\"data\":{\"required"
                     "Capabilities\":{\"sampling\":{}}}}}");
    assert_int_equal(a.status, 400);
    has(a.text, "\"error\":{\"code\":-32021,");
}


#define TOKENS(more)                                                          \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" MODERN "\","  \
    "\"io.modelcontextprotocol/clientCapabilities\":{" more "}"


/* Sends a GET of the stateless revision with Last-Event-ID, and checks its
 * status. */
static void
get(const char *id, unsigned expected)
{
    client_init(&b, NULL);
    client_header(&b, "MCP-Protocol-Version", MODERN);
    client_header(&b, "Last-Event-ID", id);
    client_send(&d, 1, &b, "GET", "");
    assert_int_equal(b.status, expected);

    if (expected != 200) {
        client_close(&d, &b);
    }
}


/* GET resumes a stream if its client has declared resumable requests. A client
 * that has declared only resume tokens gets no event ids, and 404 if it
 * guesses one. */
TEST(GET_resumes_a_stream_only_if_resumable_requests_were_declared)
{
    char                    id[64];
    mcp_backend_request_t  *breq;

    send_modern(&a, "tools/call", "echo",
        MESSAGE("tools/call", "\"name\":\"echo\"," TOKENS(
            "\"experimental\":{\"resumeTokens\":{}}") ",\"progressToken\":\"t\"}"));
    breq = backend_stream(&d, 0);
    backend_send(&d, breq, PROGRESS(1) "\n");
    has(a.text, PROGRESS(1));
    has_not(a.text, "id: ");
    *mcp_event_id_print(id, a.x->reader.ref.id, 0) = '\0';
    get(id, 404);
    end_with_result(breq);
    client_close(&d, &a);

    send_modern(&a, "tools/call", "echo",
        MESSAGE("tools/call", "\"name\":\"echo\"," TOKENS(
            "\"experimental\":{\"resumableRequests\":{}}") ",\"progressToken\":\"t\"}"));
    breq = backend_stream(&d, 0);
    backend_send(&d, breq, PROGRESS(1) "\n");
    has(a.text, "\"resumeToken\":\"");
    client_last_id(&a, id);
    d.endpoint.resume_stateless = MCP_RESUME_STATELESS_OFF;
    get(id, 405);
    d.endpoint.resume_stateless = MCP_RESUME_STATELESS_DECLARED;
    get(id, 200);
    end_with_result(breq);
    has(b.text, "\"resultType\":\"complete\"");
    client_last_id(&b, id);
    client_close(&d, &a);
    client_close(&d, &b);
    get(id, 204);
}


/* mcp_resume_stateless is "all": a call continues for mcp_reconnect_wait
 * without its client, and without a time limit when its client has resumed. */
TEST(client_that_got_an_event_id_can_resume_within_mcp_reconnect_wait)
{
    char                    id[64];
    mcp_backend_request_t  *breq;

    d.endpoint.resume_stateless = MCP_RESUME_STATELESS_ALL;
    d.endpoint.reconnect_wait = 3000;

    send_modern(&a, "tools/call", "echo",
        MESSAGE("tools/call", "\"name\":\"echo\"," TOKENS("") ","
                "\"progressToken\":\"t\"}"));
    breq = backend_stream(&d, 0);
    backend_send(&d, breq, PROGRESS(1) "\n");
    client_last_id(&a, id);
    client_close(&d, &a);
    driver_wait(&d, 2000);
    assert_int_equal(d.aborts, 0);
    get(id, 200);
    driver_wait(&d, 10000);
    assert_int_equal(d.aborts, 0);
    end_with_result(breq);
}


RUN_TESTS(setup, teardown)
