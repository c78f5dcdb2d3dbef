/* SPDX-License-Identifier: Apache-2.0 */

/* The life of a decoder: an answer without a head, and an end in each
 * state. */


#include "backend_cases.h"


TEST(response_has_no_head__its_body_is_text_and_an_empty_body_is_a_fault)
{
    static const answer_t  answers[] = {
        { "no head", TOOL, 0, NULL, BODY("hello"),
          "RESULT " SAID("hello") "\n" },
        { "no answer", TOOL, 0, NULL, BODY(""),
          "FAULT FAILED the backend ended without a response\n" },
        { "refused", TOOL, 0, NULL, BODY(""), "FAULT TIMEOUT broke off\n",
          MCP_FAULT_BACKEND_TIMEOUT },
    };

    CHECK(answers);
}


TEST(response_breaks_off_before_its_result_is_complete__the_result_is_a_fault)
{
    static const answer_t  answers[] = {
        { "JSON", TOOL, 200, JSON, BODY(RESULT),
          "FAULT TIMEOUT broke off\n", MCP_FAULT_BACKEND_TIMEOUT },
        { "text", TOOL, 200, "text/plain", BODY("hello"),
          "FAULT FAILED broke off\n", MCP_FAULT_BACKEND_FAILED },
        { "202", TOOL, 202, NULL, BODY(""), "DETACHED \n",
          MCP_FAULT_BACKEND_FAILED },
        { "error page", TOOL, 500, "text/plain", BODY("out of"),
          "FAULT TIMEOUT broke off\n", MCP_FAULT_BACKEND_TIMEOUT },
        { "lines, empty", TOOL, 500, LINES, BODY(""),
          "FAULT TIMEOUT broke off\n", MCP_FAULT_BACKEND_TIMEOUT },
        { "lines, no last newline", TOOL, 200, LINES,
          BODY(PROGRESS "\n" RESULT),
          PROGRESSED "FAULT TIMEOUT broke off\n", MCP_FAULT_BACKEND_TIMEOUT },
        { "lines, after the response", TOOL, 200, LINES,
          BODY(PROGRESS "\n" RESULT "\n"),
          PROGRESSED "RESULT {\"a\":1}\n", MCP_FAULT_BACKEND_TIMEOUT },
        { "events, no blank line", TOOL, 200, SSE,
          BODY("data: " RESULT "\n"), "FAULT TIMEOUT broke off\n",
          MCP_FAULT_BACKEND_TIMEOUT },
        { "events, after the response", TOOL, 200, SSE,
          BODY("data: " RESULT "\n\ndata: {\"jso"), "RESULT {\"a\":1}\n",
          MCP_FAULT_BACKEND_TIMEOUT },
    };

    CHECK(answers);
}


TEST(lines_after_the_response_are_dropped)
{
    static const answer_t  answers[] = {
        { "lines after the response: dropped", TOOL, 200, LINES,
          BODY(RESULT "\n" PROGRESS "\n{\n"),
          "RESULT {\"a\":1}\n" },
    };

    CHECK(answers);
}


RUN_TESTS(NULL, NULL)
