/* SPDX-License-Identifier: Apache-2.0 */

/* A backend's messages: responses, results without an envelope,
 * input_required, notifications; errors in them. */


#include "backend_cases.h"


TEST(valid_json_response_is_read_and_a_malformed_one_is_a_fault)
{
    static const answer_t  answers[] = {
        { "response", TOOL, 200, JSON, BODY(RESULT), "RESULT {\"a\":1}\n" },
        { "another id", TOOL, 200, JSON,
          BODY("{\"id\":\"x\",\"jsonrpc\":\"2.0\",\"result\":{}}"),
          "RESULT {}\n" },
        { "no id", TOOL, 200, JSON, BODY("{\"jsonrpc\":\"2.0\",\"result\":{}}"),
          "RESULT {}\n" },
        { "error", TOOL, 200, JSON, BODY(RPC_ERROR), "ERROR " ERROR "\n" },
        { "error for another method", PLAIN, 200, JSON, BODY(RPC_ERROR),
          "ERROR " ERROR "\n" },
        { "result without an envelope", TOOL, 200, JSON,
          BODY("{\"content\":[]}"),
          "RESULT {\"content\":[]}\n" },
        { "bare, with names of the envelope", PLAIN, 200, JSON,
          BODY("{\"method\":1,\"result\":2,\"id\":3}"),
          "RESULT {\"method\":1,\"result\":2,\"id\":3}\n" },
        { "bare, other result type", TOOL, 200, JSON,
          BODY("{\"resultType\":\"complete\",\"content\":[]}"),
          "RESULT {\"resultType\":\"complete\",\"content\":[]}\n" },
        { "bare, unknown result type", TOOL, 200, JSON,
          BODY("{\"resultType\":\"task\",\"content\":[]}"),
          "FAULT OUTPUT \"resultType\" is neither \"complete\" nor "
          "\"input_required\"\n" },
        { "bare, no result type", TOOL, 200, JSON,
          BODY("{\"resultType\":5,\"content\":[]}"),
          "FAULT OUTPUT \"resultType\" is neither \"complete\" nor "
          "\"input_required\"\n" },
        { "several lines", TOOL, 200, JSON,
          BODY("{\r\n  \"a\": [\n    1,\r    2\n  ]\n}\n"),
          "RESULT {    \"a\": [     1,     2   ] }\n" },
        { "several lines, response", TOOL, 200, JSON,
          BODY("{\n\"jsonrpc\": \"2.0\",\n\"result\": {\n\"a\": 1\n}\n}\n"),
          "RESULT { \"a\": 1 }\n" },
        { "broken", TOOL, 200, JSON, BODY("{\"content\":[}"),
          "FAULT OUTPUT broken JSON\n" },
        { "cut", TOOL, 200, JSON, BODY("{\"content\":["),
          "FAULT OUTPUT broken JSON\n" },
        { "not JSON at all", TOOL, 200, JSON, BODY("Fatal error: oops"),
          "FAULT OUTPUT broken JSON\n" },
        { "not UTF-8", TOOL, 200, JSON, BODY("{\"a\":\"\xff\"}"),
          "FAULT OUTPUT broken JSON\n" },
        { "two values", TOOL, 200, JSON, BODY("{} {}"),
          "FAULT OUTPUT broken JSON\n" },
        { "array", TOOL, 200, JSON, BODY("[{}]"),
          "FAULT OUTPUT the message is not a JSON object\n" },
        { "string", TOOL, 200, JSON, BODY("\"x\""),
          "FAULT OUTPUT the message is not a JSON object\n" },
        { "null", TOOL, 200, JSON, BODY("null"),
          "FAULT OUTPUT the message is not a JSON object\n" },
        { "too deep", TOOL, 200, JSON,
          BODY("{\"a\":[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]}"),
          "FAULT OUTPUT the JSON is nested deeper than mcp_max_depth\n" },
        { "twice", TOOL, 200, JSON,
          BODY("{\"jsonrpc\":\"2.0\",\"result\":{},\"result\":{}}"),
          "FAULT OUTPUT the JSON has an object with a duplicate key\n" },
        { "both result and error", TOOL, 200, JSON,
          BODY("{\"jsonrpc\":\"2.0\",\"result\":{},\"error\":" ERROR "}"),
          "FAULT OUTPUT the message must have exactly one of \"method\", "
          "\"result\" and \"error\"\n" },
        { "neither", TOOL, 200, JSON, BODY("{\"jsonrpc\":\"2.0\",\"id\":1}"),
          "FAULT OUTPUT the message must have exactly one of \"method\", "
          "\"result\" and \"error\"\n" },
        { "other version", TOOL, 200, JSON,
          BODY("{\"jsonrpc\":\"1.0\",\"result\":{}}"),
          "FAULT OUTPUT \"jsonrpc\" is not \"2.0\"\n" },
        { "version as a number", TOOL, 200, JSON,
          BODY("{\"jsonrpc\":2.0,\"result\":{}}"),
          "FAULT OUTPUT \"jsonrpc\" is not \"2.0\"\n" },
        { "notification", TOOL, 200, JSON, BODY(PROGRESS),
          "FAULT OUTPUT the message has a \"method\", so it is not a "
          "response\n" },
        { "result that is not an object", TOOL, 200, JSON,
          BODY("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}"),
          "FAULT OUTPUT \"result\" is not an object\n" },
        { "error that is not an object", TOOL, 200, JSON,
          BODY("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"no\"}"),
          "FAULT OUTPUT \"error\" is not an object with a number \"code\" and "
          "a string \"message\"\n" },
        { "error without message", TOOL, 200, JSON,
          BODY("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1}}"),
          "FAULT OUTPUT \"error\" is not an object with a number \"code\" and "
          "a string \"message\"\n" },
        { "error with a fraction", TOOL, 200, JSON,
          BODY("{\"jsonrpc\":\"2.0\",\"id\":1,"
               "\"error\":{\"code\":1.5,\"message\":\"\"}}"),
          "FAULT OUTPUT \"code\" of \"error\" is not an integer\n" },
    };

    CHECK(answers);
}


/* structuredContent that is not an object is an error for tools only. */

TEST(tool_result_has_structured_content_that_is_no_object__result_is_marked)
{
    static const answer_t  answers[] = {
        { "structuredContent is an object", TOOL, 200, JSON,
          BODY("{\"content\":[],\"structuredContent\":{}}"),
          "RESULT {\"content\":[],\"structuredContent\":{}}\n" },
        { "structuredContent is an array", TOOL, 200, JSON,
          BODY("{\"content\":[],\"structuredContent\":[]}"),
          "RESULT any output {\"content\":[],\"structuredContent\":[]}\n" },
        { "structuredContent is null, NDJSON", TOOL, 200, LINES,
          BODY("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":"
               "{\"structuredContent\":null}}\n"),
          "RESULT any output {\"structuredContent\":null}\n" },
        { "structuredContent in an item of content", TOOL, 200, JSON,
          BODY("{\"content\":[{\"structuredContent\":1}]}"),
          "RESULT {\"content\":[{\"structuredContent\":1}]}\n" },
        { "structuredContent of a prompt", PROMPT, 200, JSON,
          BODY("{\"structuredContent\":1}"),
          "RESULT {\"structuredContent\":1}\n" },
        { "HTTP 500 with structuredContent", TOOL, 500, JSON,
          BODY("{\"content\":[],\"structuredContent\":1}"),
          "RESULT any output {\"isError\":true,\"content\":[],"
          "\"structuredContent\":1}\n" },
        { "twice", TOOL, 200, JSON,
          BODY("{\"structuredContent\":{},\"structuredContent\":1}"),
          "FAULT OUTPUT the JSON has an object with a duplicate key\n" },
    };

    CHECK(answers);
}


TEST(result_asks_for_input_but_has_no_valid_requests_or_state__it_is_a_fault)
{
    static const answer_t  answers[] = {
        { "requests and state", TOOL, 200, JSON,
          BODY("{\"resultType\":\"input_required\",\"inputRequests\":" ASKED
               ",\"requestState\":\"s\"}"),
          "INPUT requests=" ASKED " state=\"s\" "
          "{\"resultType\":\"input_required\",\"inputRequests\":" ASKED
          ",\"requestState\":\"s\"}\n" },
        { "requests only, response, stream", TOOL, 200, SSE,
          BODY("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":"
               "{\"resultType\":\"input_required\",\"inputRequests\":" ASKED
               "}}\n\n"),
          "INPUT requests=" ASKED " "
          "{\"resultType\":\"input_required\",\"inputRequests\":" ASKED
          "}\n" },
        { "state only", PROMPT, 200, JSON,
          BODY("{\"resultType\":\"input_required\",\"requestState\":\"\"}"),
          "INPUT state=\"\" "
          "{\"resultType\":\"input_required\",\"requestState\":\"\"}\n" },
        { "several lines", TOOL, 200, JSON,
          BODY("{\"resultType\":\"input_required\",\n\"inputRequests\":{\n"
               "\"a\":{\n\"method\":\"m\"}}}\n"),
          "INPUT requests={ \"a\":{ \"method\":\"m\"}} "
          "{\"resultType\":\"input_required\", \"inputRequests\":{ "
          "\"a\":{ \"method\":\"m\"}}}\n" },
        { "several lines, stream", TOOL, 200, SSE,
          BODY("data: {\"resultType\":\"input_required\",\ndata: "
               "\"inputRequests\":{\ndata: \"a\":{\ndata: \"method\":\"m\""
               "}}}\n\n"),
          "INPUT requests={ \"a\":{ \"method\":\"m\"}} "
          "{\"resultType\":\"input_required\", \"inputRequests\":{ "
          "\"a\":{ \"method\":\"m\"}}}\n" },
        { "empty requests with state", TOOL, 200, JSON,
          BODY("{\"resultType\":\"input_required\",\"inputRequests\":{},"
               "\"requestState\":\"s\"}"),
          "INPUT requests={} state=\"s\" "
          "{\"resultType\":\"input_required\",\"inputRequests\":{},"
          "\"requestState\":\"s\"}\n" },
        { "neither", TOOL, 200, JSON,
          BODY("{\"resultType\":\"input_required\"}"),
          "FAULT OUTPUT the \"resultType\" is \"input_required\", but "
          "\"inputRequests\" has no request, and \"requestState\" is "
          "absent\n" },
        { "empty requests", TOOL, 200, JSON,
          BODY("{\"resultType\":\"input_required\",\"inputRequests\":{}}"),
          "FAULT OUTPUT the \"resultType\" is \"input_required\", but "
          "\"inputRequests\" has no request, and \"requestState\" is "
          "absent\n" },
        { "an array as requests", TOOL, 200, JSON,
          BODY("{\"resultType\":\"input_required\",\"inputRequests\":[],"
               "\"requestState\":\"s\"}"),
          "FAULT OUTPUT \"inputRequests\" is not an object whose values are "
          "requests\n" },
        { "request without a method", TOOL, 200, JSON,
          BODY("{\"resultType\":\"input_required\","
               "\"inputRequests\":{\"a\":{}}}"),
          "FAULT OUTPUT \"inputRequests\" is not an object whose values are "
          "requests\n" },
        { "a number as a request", TOOL, 200, JSON,
          BODY("{\"resultType\":\"input_required\","
               "\"inputRequests\":{\"a\":1}}"),
          "FAULT OUTPUT \"inputRequests\" is not an object whose values are "
          "requests\n" },
        { "state that is not a string", TOOL, 200, JSON,
          BODY("{\"resultType\":\"input_required\",\"requestState\":1}"),
          "FAULT OUTPUT \"requestState\" is not a string\n" },
    };

    CHECK(answers);
}


TEST(notification_is_read__a_malformed_notification_and_a_request_are_faults)
{
    static const answer_t  answers[] = {
        { "request", TOOL, 200, LINES,
          BODY("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n"),
          "FAULT OUTPUT the message has an \"id\", so it is a request to "
          "the client, which is not allowed: return a result with "
          "\"resultType\": \"input_required\" instead\n" },
        { "no version", TOOL, 200, LINES,
          BODY("{\"method\":\"notifications/progress\"}\n"),
          "FAULT OUTPUT the message has no \"jsonrpc\"\n" },
        { "method that is not a string", TOOL, 200, LINES,
          BODY("{\"jsonrpc\":\"2.0\",\"method\":1}\n"),
          "FAULT OUTPUT \"method\" is empty or not a string\n" },
        { "empty method", TOOL, 200, LINES,
          BODY("{\"jsonrpc\":\"2.0\",\"method\":\"\"}\n"),
          "FAULT OUTPUT \"method\" is empty or not a string\n" },
        { "params that are not an object", TOOL, 200, LINES,
          BODY("{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":[]}\n"),
          "FAULT OUTPUT \"params\" is not an object\n" },
        { "log message", TOOL, 200, LINES,
          BODY("{\"jsonrpc\":\"2.0\",\"method\":\"notifications\\/message\","
               "\"params\":{\"level\":\"info\",\"data\":1}}\n{}\n"),
          "NOTIFICATION notifications/message level=\"info\" "
          "{\"jsonrpc\":\"2.0\",\"method\":\"notifications\\/message\","
          "\"params\":{\"level\":\"info\",\"data\":1}}\n"
          "RESULT {}\n" },
        { "resource updated", TOOL, 200, LINES,
          BODY("{\"jsonrpc\":\"2.0\",\"method\":"
               "\"notifications/resources/updated\","
               "\"params\":{\"uri\":\"a:b\"}}\n{}\n"),
          "NOTIFICATION notifications/resources/updated uri=\"a:b\" "
          "{\"jsonrpc\":\"2.0\",\"method\":"
          "\"notifications/resources/updated\","
          "\"params\":{\"uri\":\"a:b\"}}\n"
          "RESULT {}\n" },
        { "any other method", TOOL, 200, LINES,
          BODY("{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n{}\n"),
          "NOTIFICATION x {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n"
          "RESULT {}\n" },
    };

    CHECK(answers);
}


/* mcp_backend_message() parses a complete message from another source than the
 * answer, for example a published one, in any state of the answer. */

TEST(published_message_is_read_in_any_state_of_the_response)
{
    char                text[] = PROGRESS;
    test_mem_t          tm;
    unsigned long       n;
    mcp_backend_t      *b;
    mcp_backend_msg_t   msg;

    test_mem_init(&tm);

    b = mcp_backend_create(&tm.mem, MCP_WANT_TOOL, mcp_null_str, 200, 20);
    assert_non_null(b);

    assert_ok(mcp_backend_message(b, mcp_str("{\"a\":\n1}"), &msg));
    assert_int_equal(msg.kind, MCP_BACKEND_RESULT);
    assert_str_is(msg.body, "{\"a\": 1}");

    mcp_backend_head(b, 202, mcp_null_str);
    assert_ok(mcp_backend_end(b, MCP_FAULT_NONE, NULL));
    assert_ok(mcp_backend_read(b, &msg));
    assert_int_equal(msg.kind, MCP_BACKEND_DETACHED);
    assert_int_equal(mcp_backend_read(b, &msg), MCP_DONE);

    /* the message has a copy of the text, which may be freed first */

    assert_ok(mcp_backend_message(b, test_str(text), &msg));
    memset(text, 'x', sizeof(text));
    assert_int_equal(msg.kind, MCP_BACKEND_NOTIFICATION);
    assert_str_is(msg.method, "notifications/progress");
    assert_str_is(msg.progress_token.raw, "7");
    assert_str_is(msg.body, PROGRESS);

    assert_ok(mcp_backend_message(b, mcp_str(RESULT), &msg));
    assert_int_equal(msg.kind, MCP_BACKEND_RESULT);
    assert_ok(mcp_backend_message(b, mcp_str(RPC_ERROR), &msg));
    assert_int_equal(msg.kind, MCP_BACKEND_ERROR);

    assert_ok(mcp_backend_message(b, mcp_null_str, &msg));
    assert_int_equal(msg.kind, MCP_BACKEND_FAULT);
    assert_int_equal(msg.fault, MCP_FAULT_BACKEND_OUTPUT);

    assert_ok(mcp_backend_message(b, mcp_str("[]"), &msg));
    assert_int_equal(msg.kind, MCP_BACKEND_FAULT);

    assert_ok(mcp_backend_message(b, mcp_str(PROGRESS PROGRESS PROGRESS),
                                  &msg));
    assert_int_equal(msg.kind, MCP_BACKEND_FAULT);
    assert_int_equal(msg.fault, MCP_FAULT_BACKEND_TOO_LARGE);

    mcp_backend_free(b);
    assert_int_equal(tm.live, 0);

    for (n = 1; /* void */ ; n++) {
        test_mem_init(&tm);
        b = mcp_backend_create(&tm.mem, MCP_WANT_TOOL, mcp_null_str, 200,
                               20);
        assert_non_null(b);
        tm.fail_at = n;

        if (mcp_backend_message(b, mcp_str(PROGRESS), &msg) == MCP_OK) {
            assert_int_equal(tm.failed, 0);
            mcp_backend_free(b);
            break;
        }

        assert_int_equal(tm.failed, 1);
        mcp_backend_free(b);
        assert_int_equal(tm.live, 0);
    }

    mcp_backend_free(NULL);
}


/* Reads one message of a server that may (asks is 1) or may not send
 * requests. */
static mcp_backend_t *
server_message(int asks, const char *text, mcp_backend_msg_t *msg)
{
    mcp_backend_t     *b;
    static test_mem_t  tm;

    test_mem_init(&tm);

    b = mcp_backend_create(&tm.mem, MCP_WANT_TOOL, mcp_null_str, 200, 20);
    assert_non_null(b);
    mcp_backend_set_server(b);

    if (asks) {
        mcp_backend_allow_questions(b);
    }

    mcp_backend_head(b, 200, mcp_str("text/event-stream"));
    assert_ok(mcp_backend_write(b, "data: ", 6));
    assert_ok(mcp_backend_write(b, text, strlen(text)));
    assert_ok(mcp_backend_write(b, "\n\n", 2));
    assert_ok(mcp_backend_read(b, msg));

    return b;
}


TEST(mcp_server_is_allowed_to_ask__its_requests_are_read)
{
    mcp_backend_t      *b;
    mcp_backend_msg_t   msg;

    b = server_message(1, "{\"jsonrpc\":\"2.0\",\"id\":\"a\","
                          "\"method\":\"roots/list\",\"params\":{}}", &msg);
    assert_int_equal(msg.kind, MCP_BACKEND_REQUEST);
    assert_str_is(msg.method, "roots/list");
    assert_str_is(msg.id.raw, "\"a\"");
    assert_str_is(msg.params.raw, "{}");
    assert_int_equal(mcp_backend_read(b, &msg), MCP_AGAIN);
    mcp_backend_free(b);

    b = server_message(1, "{\"jsonrpc\":\"2.0\",\"id\":1,"
                          "\"method\":\"ping\"}", &msg);
    assert_int_equal(msg.kind, MCP_BACKEND_REQUEST);
    assert_str_is(msg.method, "ping");
    mcp_backend_free(b);
}


TEST(mcp_server_sends_a_request_with_wrong_members__the_message_is_a_fault)
{
    size_t              i;
    mcp_backend_t      *b;
    mcp_backend_msg_t   msg;

    static const char *const  wrong[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":1}"
    };

    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        b = server_message(1, wrong[i], &msg);
        assert_int_equal(msg.kind, MCP_BACKEND_FAULT);
        assert_int_equal(msg.fault, MCP_FAULT_BACKEND_OUTPUT);
        mcp_backend_free(b);
    }
}


TEST(mcp_server_must_not_ask__ping_is_ignored_and_other_requests_are_faults)
{
    mcp_backend_t      *b;
    mcp_backend_msg_t   msg;

    b = server_message(0, "{\"jsonrpc\":\"2.0\",\"id\":1,"
                          "\"method\":\"ping\"}", &msg);
    assert_int_equal(msg.kind, MCP_BACKEND_NOTIFICATION);
    assert_true(msg.ignored);
    mcp_backend_free(b);

    b = server_message(0, "{\"jsonrpc\":\"2.0\",\"id\":1,"
                          "\"method\":\"roots/list\"}", &msg);
    assert_int_equal(msg.kind, MCP_BACKEND_FAULT);
    mcp_backend_free(b);
}


TEST(mcp_server_reports_a_header_mismatch__fault_has_that_error_and_flag_header)
{
    mcp_backend_t      *b;
    mcp_backend_msg_t   msg;

    b = server_message(0, "{\"jsonrpc\":\"2.0\",\"id\":1,"
                          "\"error\":{\"code\":-32020,\"message\":\"m\"}}",
                       &msg);
    assert_int_equal(msg.kind, MCP_BACKEND_FAULT);
    assert_int_equal(msg.fault, MCP_FAULT_UPSTREAM_STATUS);
    assert_true(msg.header);
    assert_str_is(msg.body, "{\"code\":-32020,\"message\":\"m\"}");
    mcp_backend_free(b);

    b = server_message(0, "{\"jsonrpc\":\"2.0\",\"id\":1,"
                          "\"error\":{\"code\":-32022,\"message\":\"m\"}}",
                       &msg);
    assert_int_equal(msg.kind, MCP_BACKEND_FAULT);
    assert_false(msg.header);
    mcp_backend_free(b);
}


/* Reads the message of a server to which a request with the id 7 was sent: an
 * event (type is SSE) or the whole body. */
static mcp_backend_t *
server_responds(int status, const char *type, const char *text,
    mcp_backend_msg_t *msg)
{
    mcp_backend_t     *b;
    static test_mem_t  tm;

    test_mem_init(&tm);

    b = mcp_backend_create(&tm.mem, MCP_WANT_TOOL, mcp_null_str, 200, 20);
    assert_non_null(b);
    mcp_backend_set_server(b);
    mcp_backend_set_id(b, mcp_str("7"));
    mcp_backend_head(b, status, test_str(type));

    if (strcmp(type, JSON) == 0) {
        assert_ok(mcp_backend_write(b, text, strlen(text)));
        assert_ok(mcp_backend_end(b, MCP_FAULT_NONE, NULL));

    } else {
        assert_ok(mcp_backend_write(b, "data: ", 6));
        assert_ok(mcp_backend_write(b, text, strlen(text)));
        assert_ok(mcp_backend_write(b, "\n\n", 2));
    }

    assert_ok(mcp_backend_read(b, msg));

    return b;
}


#define WITH_ID(id)   "{\"jsonrpc\":\"2.0\"" id ",\"result\":{}}"
#define ERROR_ID(id)  "{\"jsonrpc\":\"2.0\"" id ",\"error\":{\"code\":1,"     \
                      "\"message\":\"m\"}}"

TEST(mcp_server_responds_with_another_id__only_an_error_without_id_is_accepted)
{
    size_t              i;
    mcp_backend_t      *b;
    mcp_backend_msg_t   msg;

    static const struct {
        const char  *text;
        const char  *foreign;          /* NULL: the message is the response */
    } cases[] = {
        { WITH_ID(",\"id\":7"), NULL },
        { WITH_ID(",\"id\":0.7e1"), NULL },
        { WITH_ID(",\"id\":\"7\""), NULL },
        { WITH_ID(",\"id\":\"8\""), "\"8\"" },
        { WITH_ID(",\"id\":8"), "8" },
        { WITH_ID(",\"id\":null"), "null" },
        { WITH_ID(",\"id\":[7]"), "[7]" },
        { WITH_ID(""), "" },
        { ERROR_ID(",\"id\":7"), NULL },
        { ERROR_ID(",\"id\":null"), NULL },
        { ERROR_ID(""), NULL },
        { ERROR_ID(",\"id\":8"), "8" },
        { ERROR_ID(",\"id\":\"\""), "\"\"" }
    };

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        b = server_responds(200, SSE, cases[i].text, &msg);
        assert_int_equal(msg.ignored, cases[i].foreign != NULL);

        if (cases[i].foreign) {
            assert_int_equal(msg.kind, MCP_BACKEND_NOTIFICATION);
            assert_str_is(msg.foreign, cases[i].foreign);
            assert_str_is(msg.expected, "7");
            assert_ok(mcp_backend_end(b, MCP_FAULT_NONE, NULL));
            assert_ok(mcp_backend_read(b, &msg));
            assert_int_equal(msg.fault, MCP_FAULT_BACKEND_OUTPUT);
            assert_non_null(strstr(msg.detail, "\"id\""));
        }

        mcp_backend_free(b);

        b = server_responds(200, JSON, cases[i].text, &msg);

        if (cases[i].foreign) {
            assert_int_equal(msg.kind, MCP_BACKEND_FAULT);
            assert_int_equal(msg.fault, MCP_FAULT_BACKEND_OUTPUT);
            assert_str_is(msg.foreign, cases[i].foreign);
            assert_str_is(msg.expected, "7");

        } else {
            assert_true(msg.kind == MCP_BACKEND_RESULT
                        || msg.kind == MCP_BACKEND_ERROR);
            assert_int_equal(msg.expected.len, 0);
        }

        mcp_backend_free(b);
    }
}


TEST(mcp_server_responds_with_http_400_or_publishes__any_id_is_accepted)
{
    mcp_backend_t      *b;
    mcp_backend_msg_t   msg;

    b = server_responds(400, JSON, ERROR_ID(",\"id\":\"\""), &msg);
    assert_int_equal(msg.kind, MCP_BACKEND_ERROR);
    mcp_backend_free(b);

    b = server_responds(200, SSE, WITH_ID(",\"id\":8"), &msg);
    assert_true(msg.ignored);
    assert_ok(mcp_backend_message(b, mcp_str(WITH_ID(",\"id\":8")), &msg));
    assert_int_equal(msg.kind, MCP_BACKEND_RESULT);
    mcp_backend_free(b);
}


TEST(decoder_ignores_responses__also_an_error_without_an_id_is_ignored)
{
    mcp_backend_t      *b;
    mcp_backend_msg_t   msg;

    b = server_message(1, PROGRESS, &msg);
    mcp_backend_ignore_responses(b);
    assert_ok(mcp_backend_write(b, "data: " ERROR_ID("") "\n\n",
                                sizeof("data: " ERROR_ID("") "\n\n") - 1));
    assert_ok(mcp_backend_read(b, &msg));
    assert_true(msg.ignored);
    assert_int_equal(msg.expected.len, 0);
    mcp_backend_free(b);
}


RUN_TESTS(NULL, NULL)
