/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of the dispatch of a POSTed message: the status and the error code for
 * each kind of message. */

#include "core_cases.h"


typedef struct {
    const char  *body;
    int          status;
    const char  *part;
} answer_case_t;


static const answer_case_t  answer_cases[] = {

    { PING, 200, PONG },
    { "{\"jsonrpc\":\"2.0\",\"id\":\"x\\u0041\",\"method\":\"ping\"}", 200,
      "{\"jsonrpc\":\"2.0\",\"id\":\"x\\u0041\",\"result\":{}}" },
    { REQUEST("-5", "ping", "{\"x\":1}"), 200, "\"id\":-5,\"result\":{}" },

    /* texts that are not JSON, and JSON that is not JSON-RPC */

    { "{", 400, "-32700" },
    { "nonsense", 400, "-32700" },
    { PING PING, 400, "-32700" },
    { "1", 400, "-32600" },
    { "{}", 400, "-32600" },
    { "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", 400, "-32600" },
    { "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", 400, "-32600" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", 400, "-32600" },
    { "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", 400, "-32600" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}", 400, "-32600" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", 400,
      "-32600" },

    /* methods */

    { REQUEST("1", "no/such", "{}"), 200, "-32601" },
    { REQUEST("1", "Ping", "{}"), 200, "-32601" },
    { REQUEST("1", "notifications/cancelled", "{\"requestId\":1}"), 200,
      "-32601" },
    { REQUEST("1", "elicitation/create", "{}"), 200, "-32601" },

    /* messages that get no response: 202 */

    { NOTE("notifications/initialized", "{}"), 202, NULL },
    { NOTE("notifications/x", "{}"), 202, NULL },
    { NOTE("ping", "{}"), 202, NULL },
    { NOTE("notifications/cancelled", "{}"), 202, NULL },
    { NOTE("notifications/cancelled", "{\"requestId\":{}}"), 202, NULL },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 202, NULL },
    { "{\"jsonrpc\":\"2.0\",\"id\":\"\",\"result\":{}}", 202, NULL },
    { "{\"jsonrpc\":\"2.0\",\"id\":\"AAAAAAAAAAAAAAAAAAAAAA.1\","
      "\"result\":{}}", 202, NULL },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,"
      "\"message\":\"\"}}", 202, NULL },

    /* lists, whose pages have one item each */

    { REQUEST("1", "tools/list", "{}"), 200, "\"name\":\"echo\"" },
    { REQUEST("1", "prompts/list", "{}"), 200,
      "\"result\":{\"prompts\":[{\"name\":\"p\"}]}" },
    { REQUEST("1", "resources/list", "{}"), 200, "\"uri\":\"test://a\"" },
    { REQUEST("1", "resources/templates/list", "{}"), 200,
      "\"uriTemplate\":\"test://t/{id}\"" },
    { REQUEST("1", "tools/list", "{\"cursor\":\"bogus\"}"), 200, "-32602" },
    { REQUEST("1", "tools/list", "{\"cursor\":\"\"}"), 200, "-32602" },
    { REQUEST("1", "tools/list", "{\"cursor\":5}"), 200,
      "Invalid cursor" },
    { REQUEST("1", "tools/list", "{\"cursor\":null}"), 200,
      "\"name\":\"echo\"" },

    /* tools, prompts */

    { REQUEST("1", "tools/call", "{\"name\":\"none\"}"), 200,
      "Unknown tool: none" },
    { REQUEST("1", "tools/call", "{}"), 200, "-32602" },
    { REQUEST("1", "tools/call", "{\"name\":\"\"}"), 200, "-32602" },
    { REQUEST("1", "tools/call", "{\"name\":7}"), 200,
      "\\\"name\\\" must be a string" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}", 200,
      "-32602" },
    { REQUEST("1", "tools/call", "{\"name\":\"echo\",\"arguments\":[]}"), 200,
      "\\\"arguments\\\" must be an object" },
    { REQUEST("1", "tools/call", "{\"name\":null}"), 200,
      "\\\"name\\\" must be a string" },
    { REQUEST("1", "tools/call", "{\"name\":\"echo\",\"Name\":\"other\"}"),
      400, "Invalid Request: the member \\\"Name\\\" must be spelled "
      "\\\"name\\\"" },
    { REQUEST("1", "tools/call", "{\"name\":\"echo\",\"name\":\"other\"}"),
      400, "Invalid Request: duplicate member \\\"name\\\"" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}",
      400, "Invalid Request: params must be an object" },
    { REQUEST("1", "tools/call",
              "{\"name\":\"echo\",\"requestState\":\"x\"}"), 200, "-32602" },
    { REQUEST("1", "tools/call",
              "{\"name\":\"echo\",\"inputResponses\":{}}"), 200, "-32602" },
    { REQUEST("1", "prompts/get", "{\"name\":\"none\"}"), 200,
      "Unknown prompt: none" },
    { REQUEST("1", "prompts/get", "{\"name\":\"echo\"}"), 200, "-32602" },

    /* resources */

    { REQUEST("1", "resources/read", "{\"uri\":\"test://zzz\"}"), 200,
      "-32002" },
    { REQUEST("1", "resources/read", "{}"), 200, "-32602" },
    { REQUEST("1", "resources/read", "{\"uri\":[]}"), 200,
      "\\\"uri\\\" must be a string" },
    { REQUEST("1", "resources/subscribe", "{\"uri\":\"test://zzz\"}"), 200,
      "-32002" },
    { REQUEST("1", "resources/unsubscribe", "{\"uri\":\"test://zzz\"}"), 200,
      "-32002" },

    /* completion */

    { REQUEST("1", "completion/complete", "{}"), 200, "-32602" },
    { REQUEST("1", "completion/complete", "{\"ref\":\"p\"}"), 200, "-32602" },
    { REQUEST("1", "completion/complete",
              "{\"ref\":{\"type\":\"ref/other\",\"name\":\"p\"}}"), 200,
      "-32602" },
    { REQUEST("1", "completion/complete",
              "{\"ref\":{\"type\":\"ref/prompt\",\"uri\":\"p\"}}"), 200,
      "-32602" },
    { REQUEST("1", "completion/complete",
              "{\"ref\":{\"type\":\"ref/resource\",\"name\":\"p\"}}"), 200,
      "-32602" },
    { REQUEST("1", "completion/complete",
              "{\"ref\":{\"type\":\"ref/prompt\",\"name\":1}}"), 200,
      "-32602" },

    /* log levels */

    { REQUEST("1", "logging/setLevel", "{\"level\":\"error\"}"), 200,
      "\"result\":{}" },
    { REQUEST("1", "logging/setLevel", "{\"level\":\"loud\"}"), 200,
      "Invalid log level" },
    { REQUEST("1", "logging/setLevel", "{\"level\":3}"), 200, "-32602" },
    { REQUEST("1", "logging/setLevel", "{}"), 200, "-32602" }
};


TEST(each_kind_of_message_in_a_session_gets_its_status_and_body)
{
    size_t  i;

    for (i = 0; i < ITEMS(answer_cases); i++) {
        ask(session, answer_cases[i].body, answer_cases[i].status,
            answer_cases[i].part);
    }

    assert_int_equal(stats().streams, 0);
    assert_int_equal(stats().counter[MCP_COUNT_CALLS], 0);
}


#define TOKEN(token)                                                          \
    REQUEST("7", "tools/call",                                                \
            "{\"name\":\"echo\",\"_meta\":{\"progressToken\":" token "}}")

#define BAD_TOKEN                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32602,\"message\":"   \
    "\"Invalid params: \\\"progressToken\\\" must be a short string or an "   \
    "integer\"}}"

/* Progress tokens that the schema does not allow, or that are too long. */
TEST(request_with_an_invalid_progress_token_is_rejected)
{
    static const char *const  bad[] = {
        TOKEN("true"), TOKEN("[\r\n\r\n1]"), TOKEN("[1,\n2]"),
        TOKEN("{\r\n\"a\":1}"), TOKEN("1.5"), TOKEN("1e3"), TOKEN("[]"),
        TOKEN("\"\x7f\""),
        REQUEST("7", "ping", "{\"_meta\":{\"progressToken\":[]}}"),
        REQUEST("7", "tools/list", "{\"_meta\":{\"progressToken\":{}}}"),
        REQUEST("7", "initialize", "{\"protocolVersion\":\"2025-06-18\","
                "\"_meta\":{\"progressToken\":{}}}")
    };

    static const char *const  good[] = { "\"\"", "7", "-7", "\"\\r\\n\"" };

    char    body[700], old[MCP_SESSION_TEXT_MAX];
    size_t  i, n;

    for (i = 0; i < ITEMS(bad); i++) {
        ask(session, bad[i], 200, BAD_TOKEN);
    }

    for (n = MCP_RPC_MAX_ID - 2; n <= MCP_RPC_MAX_ID - 1; n++) {
        snprintf(body, sizeof(body), TOKEN("\"%0*d\""), (int) n, 0);

        if (n == MCP_RPC_MAX_ID - 1) {
            ask(session, body, 200, BAD_TOKEN);
            continue;
        }

        client_post(&d, 0, &a, session, body);
        assert_int_equal(d.n_breqs, 1);
        backend_reply(&d, d.breqs[0], RESULT);
        client_close(&d, &a);
    }

    for (i = 0; i < ITEMS(good); i++) {
        snprintf(body, sizeof(body), TOKEN("%s"), good[i]);
        client_post(&d, 0, &a, session, body);
        assert_int_equal(d.n_breqs, 1);
        variable_is(&d.breqs[0]->variables, MCP_VARIABLE_PROGRESS_TOKEN,
                    good[i]);
        backend_reply(&d, d.breqs[0], RESULT);
        client_close(&d, &a);
    }

    /* in a batch, only the request with an invalid progress token gets the
     * error; a notification with an invalid token is ignored */

    client_open(&d, old, OLD, ALL);
    client_post(&d, 0, &a, old, "[" TOKEN("[\r\n1]") "," CALL8 ","
                NOTE("ping", "{\"_meta\":{\"progressToken\":[]}}") "]");
    assert_int_equal(d.n_breqs, 1);
    variable_is(&d.breqs[0]->variables, MCP_VARIABLE_REQUEST_ID, "8");
    backend_reply(&d, d.breqs[0], RESULT);
    has(a.text, "[" BAD_TOKEN ",{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":");
}


/* --- batches --- */

typedef struct {
    const char  *body;
    int          status;
    const char  *part;
} batch_case_t;

#define N        NOTE("notifications/x", "{}")
#define P(n)     REQUEST(#n, "ping", "{}")

static const batch_case_t  batch_cases[] = {
    { "[]", 400, "-32600" },
    { "[", 400, "-32700" },
    { "[" PING, 400, "-32700" },
    { "[" PING "] x", 400, "-32700" },
    { "[" N "]", 202, NULL },
    { "[" N "," N "]", 202, NULL },
    { "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]", 202, NULL },
    { "[" PING "]", 200, "[" PONG "]" },
    { " [" PING " , " N "]", 200, "[" PONG "]" },
    { "[" P(1) "," P(2) "," P(3) "]", 200,
      "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},"
      "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}},"
      "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}]" },
    { "[1]", 200, "-32600" },
    { "[[]]", 200, "-32600" },
    { "[1," PING "]", 200, PONG "]" },
    { "[{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":5}]", 200, "\"id\":4" },
    { "[" REQUEST("1", "no/such", "{}") "," PING "]", 200, "-32601" },
    { "[" REQUEST("1", "initialize", "{\"protocolVersion\":\"" NEW "\"}")
      "]", 200, "-32600" },
    { "[" REQUEST("1", "tools/call", "{\"name\":\"none\"}") "]", 200,
      "-32602" },
    { "[" N "," N "," N "," N "," N "," N "," N "," N "," N "," N "]", 202,
      NULL },
    { "[" N "," N "," N "," N "," N "," N "," N "," N "," N "," N "," N "]",
      400, "too many messages" }
};


TEST(only_revision_2025_03_26_accepts_valid_batches_and_newer_ones_reject_all)
{
    size_t  i;
    char    old[MCP_SESSION_TEXT_MAX], middle[MCP_SESSION_TEXT_MAX];

    client_open(&d, old, OLD, ALL);
    client_open(&d, middle, MIDDLE, ALL);

    for (i = 0; i < ITEMS(batch_cases); i++) {
        ask(old, batch_cases[i].body, batch_cases[i].status,
            batch_cases[i].part);

        /* newer revisions have no batches: any array is rejected */

        ask(session, batch_cases[i].body, 400, "batching is not supported");
        ask(middle, batch_cases[i].body, 400, "batching is not supported");
        ask(NULL, batch_cases[i].body, 400, "Mcp-Session-Id");
    }

    assert_int_equal(stats().streams, 0);
}


TEST(requests_and_messages_and_errors_and_calls_are_counted)
{
    mcp_store_stats_t  before, after;

    before = stats();
    ask(session, PING, 200, PONG);
    ask(session, "{", 400, "-32700");
    ask(session, REQUEST("1", "x", "{}"), 200, "-32601");
    client_post(&d, 1, &a, session, CALL);
    assert_int_equal(stats().counter[MCP_COUNT_CALLS_ACTIVE], 1);
    backend_json(&d, "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":"
                     "{\"code\":1,\"message\":\"m\"}}");
    client_close(&d, &a);
    after = stats();

    assert_int_equal(after.counter[MCP_COUNT_REQUESTS]
                     - before.counter[MCP_COUNT_REQUESTS], 4);
    assert_int_equal(after.counter[MCP_COUNT_MESSAGES]
                     - before.counter[MCP_COUNT_MESSAGES], 3);
    assert_int_equal(after.counter[MCP_COUNT_ERRORS]
                     - before.counter[MCP_COUNT_ERRORS], 3);
    assert_int_equal(after.counter[MCP_COUNT_CALLS], 1);
    assert_int_equal(after.counter[MCP_COUNT_CALLS_FAILED], 1);
    assert_int_equal(after.counter[MCP_COUNT_CALLS_ACTIVE], 0);
    assert_int_equal(after.counter[MCP_COUNT_SESSIONS], 1);
}


/* --- memory --- */

static void
many(const char *of, const char *body)
{
    size_t  i;

    client_post(&d, 0, &a, of, body);

    for (i = d.n_breqs; i; i = d.n_breqs) {
        mcp_backend_request_head(d.breqs[0], 200, mcp_str("application/json"));
        backend_send(&d, d.breqs[0], RESULT);

        if (d.n_breqs == i) {
            backend_end(&d, d.breqs[0], MCP_FAILURE_NONE);
        }
    }

    client_close(&d, &a);
}


TEST(allocation_fails_during_a_message__no_call_or_stream_is_left)
{
    static const char *const  bodies[] = {
        REQUEST("1", "initialize", "{\"protocolVersion\":\"" NEW
                "\",\"capabilities\":" ALL "}"),
        REQUEST("1", "tools/list", "{}"),
        REQUEST("1", "logging/setLevel", "{\"level\":\"\\u0065rror\"}"),
        REQUEST("1", "tools/call", "{\"name\":\"\\u006eone\"}"),
        CALL,
        "[" PING "," CALL "," CALL8 "," CANCEL7 ",1,"
        REQUEST("2", "tools/list", "{}") "]",
        "[" N "," N "]"
    };

    size_t         i;
    unsigned long  k;
    char           old[MCP_SESSION_TEXT_MAX];

    for (i = 0; i < ITEMS(bodies); i++) {
        k = 0;

        while (test_next_failure(&d.te.tm, &k)) {

            /* a new session for each k, because the whole test takes longer
             * than the lifetime of a session */

            client_open(&d, old, OLD, ALL);
            d.te.tm.fail_at = k;
            many(old, bodies[i]);
            d.te.tm.fail_at = 0;
            driver_wait(&d, 100000);
            quiet();
            assert_int_equal(stats().streams, 0);
        }

        assert_true(a.status == 200 || a.status == 202);
    }
}


RUN_TESTS(setup, teardown)
