/* SPDX-License-Identifier: Apache-2.0 */

/* Heads of backends' answers: statuses, media types, charsets; answers with an
 * HTTP error. */


#include "backend_cases.h"


TEST(backend_status_202_means_no_result_and_statuses_1xx_and_3xx_mean_a_fault)
{
    static const answer_t  answers[] = {
        { "202", TOOL, 202, "text/plain", BODY("Accepted"), "DETACHED \n" },
        { "redirect", TOOL, 302, "text/html", BODY("<p>elsewhere</p>"),
          "FAULT FAILED the backend responded with a redirect (HTTP 3xx), "
          "which is not followed\n" },
        { "interim", TOOL, 103, NULL, BODY(""),
          "FAULT FAILED the backend responded with an HTTP status below "
          "200\n" },
        { "204", TOOL, 204, NULL, BODY(""), "RESULT {\"content\":[]}\n" },
        { "204, JSON", TOOL, 204, JSON, BODY(""),
          "RESULT {\"content\":[]}\n" },
        { "resource, 204", RESOURCE, 204, NULL, BODY(""),
          "RESULT {\"contents\":[{\"uri\":\"mcp:result\","
          "\"mimeType\":\"text/plain\",\"text\":\"\"}]}\n" },
        { "plain, 204", PLAIN, 204, NULL, BODY(""),
          "FAULT OUTPUT the response body is empty\n" },
    };

    CHECK(answers);
}


TEST(content_type_decides_how_the_body_of_a_response_is_read)
{
    static const answer_t  answers[] = {
        { "space, type in capitals with parameters", TOOL, 201,
          " Application/JSON ; charset=UTF-8", BODY(" \t{}\r\n"),
          "RESULT {}\n" },
        { "a type with +json", TOOL, 200, "application/vnd.acme+json",
          BODY("{}"), "RESULT {}\n" },

        { "malformed type: text", TOOL, 200, "text", BODY("x"),
          "RESULT " SAID("x") "\n" },
        { "malformed type: two slashes", TOOL, 200, "a/b/c", BODY("x"),
          "RESULT " SAID("x") "\n" },
        { "malformed type: no subtype", TOOL, 200, "text/", BODY("x"),
          "RESULT " SAID("x") "\n" },
        { "malformed type: quotes", TOOL, 200, "te\"xt/plain", BODY("x"),
          "RESULT " SAID("x") "\n" },
        { "a type of 180 characters", TOOL, 200,
          "application/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
          BODY("x"),
          "RESULT {\"content\":[{\"type\":\"resource\",\"resource\":{"
          "\"uri\":\"mcp:result\",\"mimeType\":\"application/octet-stream\","
          "\"blob\":\"eA==\"}}]}\n" },
        { "plain, text", PLAIN, 200, "text/plain", BODY("x"),
          "FAULT OUTPUT the Content-Type of the response is not JSON\n" },
    };

    CHECK(answers);
}


TEST(latin1_is_converted_to_utf_8_and_other_charsets_count_as_utf_8)
{
    static const answer_t  answers[] = {
        { "latin1, quoted", TOOL, 200, "text/plain;charset=\"latin1\"",
          BODY("\xfc"), "RESULT " SAID("\xc3\xbc") "\n" },
        { "parameters without a valid charset", TOOL, 200,
          "text/plain; ;charset;a=latin1", BODY("\xfc"),
          "RESULT " SAID("\xef\xbf\xbd") "\n" },
        { "other charset", TOOL, 200, "text/plain; charset=koi8-r",
          BODY("a\xc1z"), "RESULT " SAID("a\xef\xbf\xbdz") "\n" },
    };

    CHECK(answers);
}


TEST(http_error_for_a_tool_is_a_failed_result_if_the_body_has_no_json_rpc_error)
{
    static const answer_t  answers[] = {
        { "text", TOOL, 500, "text/plain", BODY("out of luck\n"),
          "RESULT " FAILED("out of luck\\n") "\n" },
        { "HTML", TOOL, 404, "text/html", BODY("<h1>no</h1>"),
          "RESULT " FAILED("<h1>no</h1>") "\n" },
        { "empty", TOOL, 503, "text/plain", BODY(""),
          "RESULT " FAILED("HTTP 503") "\n" },
        { "unregistered status", TOOL, 599, NULL, BODY(""),
          "RESULT " FAILED("HTTP 599") "\n" },
        { "binary", TOOL, 502, "image/gif", BODY("GIF89a"),
          "RESULT " FAILED("HTTP 502") "\n" },
        { "no type", TOOL, 500, NULL, BODY("oops"),
          "RESULT " FAILED("oops") "\n" },
        { "JSON-RPC error", TOOL, 400, JSON, BODY(RPC_ERROR),
          "ERROR " ERROR "\n" },
        { "JSON-RPC error, no type", TOOL, 400, NULL, BODY(RPC_ERROR),
          "ERROR " ERROR "\n" },
        { "result", TOOL, 500, JSON, BODY("{\"content\":\n[]}"),
          "RESULT {\"isError\":true,\"content\": []}\n" },
        { "result, response", TOOL, 500, JSON,
          BODY("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}"),
          "RESULT {\"isError\":true,\"content\":[]}\n" },
        { "result with isError", TOOL, 500, JSON,
          BODY("{\"content\":[],\"isError\":true}"),
          "RESULT {\"content\":[],\"isError\":true}\n" },
        { "other JSON", TOOL, 422, "application/problem+json",
          BODY("{\"title\":\"no\"}"),
          "RESULT " FAILED("{\\\"title\\\":\\\"no\\\"}") "\n" },
        { "other JSON, two lines", TOOL, 422, JSON, BODY("[\n1]"),
          "RESULT " FAILED("[\\n1]") "\n" },
        { "broken JSON", TOOL, 500, JSON, BODY("{\"a\""),
          "RESULT " FAILED("{\\\"a\\\"") "\n" },
        { "empty JSON", TOOL, 500, JSON, BODY(""),
          "RESULT " FAILED("HTTP 500") "\n" },
        { "input", TOOL, 500, JSON,
          BODY("{\"resultType\":\"input_required\",\"requestState\":\"\"}"),
          "RESULT " FAILED("{\\\"resultType\\\":\\\"input_required\\\","
                           "\\\"requestState\\\":\\\"\\\"}") "\n" },
        { "JSON beyond the limit", TOOL, 500, JSON,
          BODY("{\"content\":[]}  "),
          "RESULT " FAILED("{\\\"content\\\":[]}") "\n", .max = 14 },
    };

    CHECK(answers);
}


TEST(stream_with_an_http_error_is_a_failed_result_if_it_has_no_json_rpc_error)
{
    static const answer_t  answers[] = {
        { "lines, result", TOOL, 500, LINES,
          BODY(PROGRESS "\n{\"content\":[]}\n"),
          PROGRESSED "RESULT {\"isError\":true,\"content\":[]}\n" },
        { "lines, error", TOOL, 500, LINES, BODY(RPC_ERROR),
          "ERROR " ERROR "\n" },
        { "lines, empty", TOOL, 500, LINES, BODY(""),
          "RESULT " FAILED("HTTP 500") "\n" },
        { "lines, not JSON", TOOL, 500, LINES, BODY("oops\n"),
          "RESULT " FAILED("oops") "\n" },
        { "event, two lines", TOOL, 500, SSE,
          BODY("data: {\ndata: \"content\":[]}\n\n"),
          "RESULT {\"isError\":true, \"content\":[]}\n" },
        { "event, other JSON", TOOL, 500, SSE,
          BODY("data: {\ndata: \"a\":[]}\n\n"),
          "RESULT " FAILED("{ \\\"a\\\":[]}") "\n" },
    };

    CHECK(answers);
}


TEST(http_error_for_a_prompt_or_resource_is_a_fault_if_it_has_no_json_rpc_error)
{
    static const answer_t  answers[] = {
        { "resource, 404", RESOURCE, 404, "text/html", BODY("<h1>"),
          "FAULT RESOURCE_UNKNOWN HTTP 404\n" },
        { "resource, 404 in JSON", RESOURCE, 404, JSON, BODY("{}"),
          "FAULT RESOURCE_UNKNOWN HTTP 404\n" },
        { "resource, JSON-RPC error", RESOURCE, 404, JSON, BODY(RPC_ERROR),
          "ERROR " ERROR "\n" },
        { "resource, 500", RESOURCE, 500, "text/plain", BODY("x"),
          "FAULT FAILED HTTP 500\n" },
        { "prompt, 404", PROMPT, 404, NULL, BODY(""),
          "FAULT PROMPT_UNKNOWN HTTP 404\n" },
        { "prompt, lines, 404", PROMPT, 404, LINES, BODY("{}\n"),
          "FAULT PROMPT_UNKNOWN HTTP 404\n" },
        { "prompt, 403", PROMPT, 403, JSON, BODY("{\"content\":[]}"),
          "FAULT FAILED HTTP 403\n" },
        { "plain, 404", PLAIN, 404, "text/plain", BODY("x"),
          "FAULT FAILED HTTP 404\n" },
        { "plain, 418", PLAIN, 418, NULL, BODY("x"),
          "FAULT FAILED HTTP error\n" },
    };

    CHECK(answers);
}


/* The answer of a rate limiter becomes a text with the time to wait; its body
 * is left out. */
TEST(status_429_or_503_with_retry_after_up_to_a_day__the_result_names_the_time)
{
    static const struct {
        int          status;
        const char  *type;
        const char  *retry;
        const char  *body;
        const char  *said;
    } cases[] = {
        { 429, "text/html", NULL, "<html>", "Too many calls: try again later." },
        { 429, "text/html; charset=x", " 7 ", "<html>",
          "Too many calls: try again in 7 seconds." },
        { 429, "text/plain", "1", "Slow down.",
          "Slow down.\nToo many calls: try again in 1 second." },
        { 429, "text/plain", NULL, "Slow down.", "Slow down." },
        { 429, NULL, "soon", "", "HTTP 429" },
        { 429, NULL, "5", "", "Too many calls: try again in 5 seconds." },
        { 503, "text/html", "60", "<html>",
          "The backend is not available: try again in 60 seconds." },
        { 503, "text/html", "86401", "<html>",
          "The backend is not available: try again later." },
        { 503, "text/plain", "Wed, 21 Oct 2026 07:28:00 GMT", "Down.",
          "Down." },
        { 500, "text/html", "7", "<html>", "<html>" },
    };

    char                expected[256];
    size_t              i;
    mcp_buf_t           said;
    test_mem_t          tm;
    mcp_backend_t      *b;
    mcp_backend_msg_t   msg;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        test_mem_init(&tm);
        b = mcp_backend_create(&tm.mem, MCP_WANT_TOOL, mcp_null_str, 1000, 10);
        assert_non_null(b);

        if (cases[i].retry) {
            mcp_backend_retry_after(b, test_str(cases[i].retry));
        }

        mcp_backend_head(b, cases[i].status, cases[i].type
                                             ? test_str(cases[i].type)
                                             : mcp_null_str);
        assert_ok(mcp_backend_write(b, cases[i].body, strlen(cases[i].body)));
        assert_ok(mcp_backend_end(b, MCP_FAULT_NONE, NULL));
        assert_ok(mcp_backend_read(b, &msg));

        assert_int_equal(msg.kind, MCP_BACKEND_RESULT);
        assert_int_equal(msg.is_error, 1);
        assert_int_equal(msg.status, cases[i].status);

        snprintf(expected, sizeof(expected), "%.*s", (int) msg.body.len,
                 msg.body.data);

        mcp_buf_init(&said, &tm.mem, 1000);
        mcp_buf_json(&said, test_str(cases[i].said));
        mcp_buf_lit(&said, "\0");

        if (strstr(expected, said.data) == NULL) {
            fail_msg("%s: %s", cases[i].said, expected);
        }

        mcp_buf_free(&said);

        mcp_backend_free(b);
        assert_int_equal(tm.live, 0);
    }
}


RUN_TESTS(NULL, NULL)
