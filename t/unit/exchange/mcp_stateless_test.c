/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of requests without a session: the checks of such a request with
 * their statuses, codes and data; the responses of calls; a client that
 * disconnects. */

#include "core_cases.h"


#define MODERN  "2026-07-28"

#define META(version)                                                         \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":" version ","     \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define META_AND(more)                                                        \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" MODERN "\","  \
    "\"io.modelcontextprotocol/clientCapabilities\":{}," more "}"

#define CAPABILITIES(members)                                                 \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" MODERN "\","  \
    "\"io.modelcontextprotocol/clientCapabilities\":{" members "}}"

#define MESSAGE(method, params)  REQUEST("7", method, "{" params "}")
#define OK                   META("\"" MODERN "\"")

#define INFO  "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":"            \
              "{\"name\":\"driver\",\"version\":\"1\"}}"


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


/* GET without Last-Event-ID and DELETE are rejected: there is no listening
 * stream and no session. */
TEST(stateless_GET_without_last_event_id_and_stateless_DELETE_are_rejected)
{
    size_t  i;

    static const char *const  methods[] = { "GET", "DELETE", "PUT" };

    for (i = 0; i < ITEMS(methods); i++) {
        client_init(&a, session);
        client_header(&a, "MCP-Protocol-Version", MODERN);
        client_send(&d, 0, &a, methods[i], "");
        assert_int_equal(a.status, 405);
        assert_string_equal(client_response_header(&a, "Allow"), "POST");
        has(a.text, "-32600");
        client_close(&d, &a);
    }

    /* the DELETE without effect: the session still exists */

    client_post(&d, 0, &a, session, PING);
    assert_int_equal(a.status, 200);
}


/* An endpoint supports only the revisions of mcp_revisions. */
TEST(endpoint_uses_only_the_revisions_that_mcp_revisions_allows)
{
    d.endpoint.revisions = mcp_revision_bit(MCP_REVISION_2026_07_28);
    client_post(&d, 0, &a, NULL,
                REQUEST("7", "initialize",
                        "{\"protocolVersion\":\"2025-11-25\"}"));
    assert_int_equal(a.status, 400);
    has(a.text, "\"id\":7,\"error\":{\"code\":-32600,");
    has(a.text, "revisions without sessions: [\\\"2026-07-28\\\"]");
    client_close(&d, &a);

    /* the endpoint has no revision with sessions: a request of a session is
     * handled as a stateless one */

    client_post(&d, 0, &a, session, REQUEST("7", "tools/list", "{}"));
    answered(&a, 400, "\"id\":7,\"error\":{\"code\":-32602,");

    client_init(&a, session);
    client_send(&d, 0, &a, "DELETE", "");
    answered(&a, 405, NULL);

    d.endpoint.revisions = mcp_revision_bit(MCP_REVISION_2025_06_18);
    client_post(&d, 0, &a, NULL,
                REQUEST("7", "initialize",
                        "{\"protocolVersion\":\"2025-11-25\"}"));
    answered(&a, 200, "\"protocolVersion\":\"2025-06-18\"");

    send_modern(&a, "tools/list", NULL, MESSAGE("tools/list", OK));
    answered(&a, 400, "\"code\":-32000");

    /* a session that began with a revision that the endpoint no longer
     * supports */

    client_post(&d, 0, &a, session, PING);
    assert_int_equal(a.status, 404);
}


/* initialize never returns a revision without sessions. */
TEST(initialize_requests_a_revision_without_sessions__result_has_2025_11_25)
{
    client_post(&d, 0, &a, NULL,
                REQUEST("7", "initialize",
                        "{\"protocolVersion\":\"" MODERN "\"}"));
    assert_int_equal(a.status, 200);
    has(a.text, "\"protocolVersion\":\"2025-11-25\"");
}


TEST(method_server_discover_returns_revisions_and_capabilities_and_instructions)
{
    send_modern(&a, "server/discover", NULL, MESSAGE("server/discover", OK));
    assert_int_equal(a.status, 200);
    assert_string_equal(a.text,
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"supportedVersions\":"
        "[\"2026-07-28\"],\"capabilities\":{\"tools\":{\"listChanged\":true},"
        "\"prompts\":{\"listChanged\":true},\"resources\":{\"subscribe\":true,"
        "\"listChanged\":true},\"completions\":{},\"logging\":{},"
        "\"experimental\":{\"resumableRequests\":{},\"resumeTokens\":{}}},"
        "\"instructions\":\"Be kind.\",\"resultType\":\"complete\","
        "\"ttlMs\":0,\"cacheScope\":\"public\"," INFO "}}");
}


/* A list has "ttlMs" with the value of mcp_cache_ttl, and is private if
 * callers of the endpoint have a principal. */
TEST(callers_have_a_principal__lists_are_private_and_have_mcp_cache_ttl)
{
    d.endpoint.cache_ttl = 5000;
    d.endpoint.has_principal = 1;
    send_modern(&a, "prompts/list", NULL, MESSAGE("prompts/list", OK));
    assert_string_equal(a.text,
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"prompts\":[{\"name\":"
        "\"p\"}],\"resultType\":\"complete\",\"ttlMs\":5000,"
        "\"cacheScope\":\"private\"," INFO "}}");
}


#define ECHO        MESSAGE("tools/call", "\"name\":\"echo\"," OK)
#define ECHO_META(more)                                                       \
    MESSAGE("tools/call", "\"name\":\"echo\"," META_AND(more))


TEST(quick_stateless_call_gets_json_with_members_result_type_and_server_info)
{
    send_modern(&a, "tools/call", "=?base64?ZWNobw==?=", ECHO);
    backend_json(&d, "{\"content\":[ ],\"x\":{\"_meta\":1}}");
    assert_int_equal(a.status, 200);
    assert_string_equal(a.text,
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[ ],"
        "\"x\":{\"_meta\":1},\"resultType\":\"complete\"," INFO "}}");
}


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


/* The stream of a stateless call begins with a comment, and has no event ids.
 * It contains log messages of the level that the request names, and of higher
 * levels. */
TEST(stateless_stream_has_no_event_ids_and_only_requested_log_messages)
{
    mcp_backend_request_t  *breq;

    send_modern(&a, "tools/call", "echo",
        ECHO_META("\"progressToken\":\"t\",\"io.modelcontextprotocol/"
                  "logLevel\":\"warning\""));
    breq = backend_stream(&d, 0);
    backend_send(&d, breq, PROGRESS(1) "\n");
    backend_send(&d, breq, NOTE("notifications/message",
                              "{\"level\":\"info\",\"data\":1}") "\n");
    backend_send(&d, breq, NOTE("notifications/message",
                              "{\"level\":\"error\",\"data\":2}") "\n");
    assert_true(strncmp(a.text, ":\n\n", 3) == 0);
    has_not(a.text, "id: ");
    has_not(a.text, "retry");
    has(a.text, "notifications/progress");
    has_not(a.text, "\"data\":1");
    has(a.text, "\"data\":2");
    end_with_result(breq);
    has(a.text, "\"resultType\":\"complete\"");
}


/* A request without a log level gets no log messages. */
TEST(request_has_no_log_level__it_gets_no_log_messages)
{
    mcp_backend_request_t  *breq;

    send_modern(&a, "tools/call", "echo", ECHO);
    breq = backend_stream(&d, 0);
    backend_send(&d, breq, NOTE("notifications/message",
                              "{\"level\":\"emergency\",\"data\":1}") "\n");
    end_with_result(breq);
    assert_int_equal(a.status, 200);
    has_not(a.text, "notifications/message");
}


#define TOKENS(more)                                                          \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" MODERN "\","  \
    "\"io.modelcontextprotocol/clientCapabilities\":{" more "}"


/* A client that has declared resumable requests gets event ids, and its call
 * continues when it disconnects. */
TEST(client_declares_resumable_requests_and_disconnects__its_call_continues)
{
    mcp_backend_request_t  *breq;

    send_modern(&a, "tools/call", "echo",
        MESSAGE("tools/call", "\"name\":\"echo\",\"_meta\":{"
            "\"io.modelcontextprotocol/protocolVersion\":\"" MODERN "\","
            "\"io.modelcontextprotocol/clientCapabilities\":{"
            "\"experimental\":{\"resumableRequests\":{}}}}"));
    driver_wait(&d, 60);
    has(a.text, "id: ");
    has(a.text, "resumeToken");
    breq = d.breqs[0];
    client_close(&d, &a);
    assert_int_equal(d.aborts, 0);
    end_with_result(breq);
}


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
 * without its client if the client has received an event id. */
TEST(client_that_got_an_event_id_can_resume_within_mcp_reconnect_wait)
{
    int                     back;
    char                    id[64];
    mcp_backend_request_t  *breq;

    d.endpoint.resume_stateless = MCP_RESUME_STATELESS_ALL;
    d.endpoint.reconnect_wait = 3000;

    send_modern(&a, "tools/call", "echo",
        ECHO_META("\"progressToken\":\"t\""));
    client_close(&d, &a);
    driver_wait(&d, 1);
    assert_int_equal(d.aborts, 1);

    for (back = 0; back < 2; back++) {
        d.aborts = 0;
        send_modern(&a, "tools/call", "echo",
            ECHO_META("\"progressToken\":\"t\""));
        breq = backend_stream(&d, 0);
        backend_send(&d, breq, PROGRESS(1) "\n");
        client_last_id(&a, id);
        client_close(&d, &a);
        driver_wait(&d, 2000);
        assert_int_equal(d.aborts, 0);

        if (back) {
            get(id, 200);
            driver_wait(&d, 10000);
            assert_int_equal(d.aborts, 0);
            end_with_result(breq);
            has(b.text, "\"resultType\":\"complete\"");
            client_close(&d, &b);

        } else {
            driver_wait(&d, 1500);
            assert_int_equal(d.aborts, 1);
            assert_int_equal(stats().counter[MCP_COUNT_CALLS_CANCELLED], 2);
            assert_int_equal(stats().counter[MCP_COUNT_CALLS_EXPIRED], 0);
        }

        quiet();
    }
}


/* A slow call gets an interim response if its client has declared resume
 * tokens, or with mcp_resume_tokens on. A request with the resume token in
 * that result gets the result of the call. */
TEST(slow_stateless_call_gets_a_resume_token_that_leads_to_its_result)
{
    int                     i;
    char                    token[512], again[1024];
    mcp_backend_request_t  *breq;

    static const char *const  calls[] = {
        MESSAGE("tools/call", "\"name\":\"echo\","
                TOKENS("\"resumeTokens\":{}") "}"),
        MESSAGE("tools/call", "\"name\":\"echo\"," TOKENS("") "}")
    };
    static const char *const  rests[] = {
        MESSAGE("tools/call", "\"name\":\"echo\","
                TOKENS("\"resumeTokens\":{}") ",\"resumeToken\":\"%s\"}"),
        MESSAGE("tools/call", "\"name\":\"echo\","
                TOKENS("") ",\"resumeToken\":\"%s\"}")
    };

    d.endpoint.resume_after = 5000;
    d.endpoint.resume_lifetime = 600000;
    d.endpoint.stream_after = 20000;

    for (i = 0; i < 2; i++) {
        d.endpoint.resume_tokens = (unsigned) i & 1;

        send_modern(&a, "tools/call", "echo", calls[i]);
        breq = backend_stream(&d, 0);
        driver_wait(&d, 5100);
        assert_int_equal(a.status, 200);
        has(a.text, "\"resultType\":\"complete\"");
        quoted(a.text, "\"nextResumeToken\":\"", token, sizeof(token));
        client_close(&d, &a);
        driver_wait(&d, 100);
        assert_int_equal(d.aborts, 0);

        snprintf(again, sizeof(again), rests[i], token);
        send_modern(&a, "tools/call", "echo", again);
        end_with_result(breq);
        has(a.text, "\"id\":7,\"result\":" "{\"content\":[{");
        has(a.text, "\"resultType\":\"complete\"");
        client_close(&d, &a);
    }
}


RUN_TESTS(setup, teardown)
