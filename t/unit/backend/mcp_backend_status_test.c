/* SPDX-License-Identifier: Apache-2.0 */

/* HTTP errors: of tools, and of what is no tool. */


#include "backend_cases.h"


static void
test_tool(void **state)
{
    static const answer_t  answers[] = {
        { "text", TOOL, 500, "text/plain", BODY("out of luck\n"),
          "RESULT " FAILED("out of luck\\n") "\n" },
        { "HTML", TOOL, 404, "text/html", BODY("<h1>no</h1>"),
          "RESULT " FAILED("<h1>no</h1>") "\n" },
        { "empty", TOOL, 503, "text/plain", BODY(""),
          "RESULT " FAILED("HTTP 503") "\n" },
        { "a status of one's own", TOOL, 599, NULL, BODY(""),
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
        { "result that says so", TOOL, 500, JSON,
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
        { "larger than may be, JSON", TOOL, 500, JSON,
          BODY("{\"content\":[]}  "),
          "RESULT " FAILED("{\\\"content\\\":[]}") "\n", .max = 14 },
    };

    (void) state;

    CHECK(answers);
}


static void
test_stream(void **state)
{
    static const answer_t  answers[] = {
        { "lines, result", TOOL, 500, LINES,
          BODY(PROGRESS "\n{\"content\":[]}\n"),
          PROGRESSED "RESULT {\"isError\":true,\"content\":[]}\n" },
        { "lines, error", TOOL, 500, LINES, BODY(RPC_ERROR),
          "ERROR " ERROR "\n" },
        { "lines, nothing", TOOL, 500, LINES, BODY(""),
          "RESULT " FAILED("HTTP 500") "\n" },
        { "lines, something", TOOL, 500, LINES, BODY("oops\n"),
          "RESULT " FAILED("oops") "\n" },
        { "event, two lines", TOOL, 500, SSE,
          BODY("data: {\ndata: \"content\":[]}\n\n"),
          "RESULT {\"isError\":true, \"content\":[]}\n" },
        { "event, other JSON", TOOL, 500, SSE,
          BODY("data: {\ndata: \"a\":[]}\n\n"),
          "RESULT " FAILED("{ \\\"a\\\":[]}") "\n" },
    };

    (void) state;

    CHECK(answers);
}


static void
test_other(void **state)
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

    (void) state;

    CHECK(answers);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_tool),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
