/* SPDX-License-Identifier: Apache-2.0 */

/* Bodies, which are decoded once they are whole. */


#include "backend_cases.h"


static void
test_json(void **state)
{
    static const answer_t  answers[] = {
        { "byte order mark", TOOL, 200, JSON, BODY("\xef\xbb\xbf{}"),
          "RESULT {}\n" },
        { "empty", TOOL, 200, JSON, BODY(""),
          "FAULT OUTPUT empty body\n" },
        { "blank", TOOL, 200, JSON, BODY(" \n"),
          "FAULT OUTPUT broken JSON\n" },
    };

    (void) state;

    CHECK(answers);
}


static void
test_no_type(void **state)
{
    static const answer_t  answers[] = {
        { "no type: a result", TOOL, 200, NULL, BODY(" {\"content\":[]}\n"),
          "RESULT {\"content\":[]}\n" },
        { "no type: text", TOOL, 200, NULL, BODY("hello\n"),
          "RESULT " SAID("hello\\n") "\n" },
        { "no type: no object", TOOL, 200, NULL, BODY("[1]"),
          "RESULT " SAID("[1]") "\n" },
        { "no type: broken envelope", TOOL, 200, NULL,
          BODY("{\"jsonrpc\":\"2.0\"}"),
          "FAULT OUTPUT not exactly one of method, result and error\n" },
        { "no type: empty", TOOL, 200, "", BODY(""),
          "RESULT {\"content\":[]}\n" },
        { "resource, no type", RESOURCE, 200, NULL, BODY("x"),
          "RESULT {\"contents\":[{\"uri\":\"a:b\","
          "\"mimeType\":\"text/plain\",\"text\":\"x\"}]}\n", .uri = "a:b" },
        { "plain, no type", PLAIN, 200, NULL, BODY("x"),
          "FAULT OUTPUT broken JSON\n" },
        { "plain, no type, JSON", PLAIN, 200, NULL, BODY("{\"a\":1}"),
          "RESULT {\"a\":1}\n" },
    };

    (void) state;

    CHECK(answers);
}


static void
test_limit(void **state)
{
    static const answer_t  answers[] = {
        { "as large as may be", TOOL, 200, JSON, BODY(RESULT),
          "RESULT {\"a\":1}\n", .max = sizeof(RESULT) - 1 },
        { "too large", TOOL, 200, JSON, BODY(RESULT),
          "FAULT TOO_LARGE body too large\n", .max = sizeof(RESULT) - 2 },
        { "too large and broke off", TOOL, 200, JSON, BODY(RESULT),
          "FAULT TOO_LARGE body too large\n", MCP_FAULT_BACKEND_TIMEOUT, 4 },
        { "text, as large as may be", TOOL, 200, "text/plain", BODY("hello"),
          "RESULT " SAID("hello") "\n", .max = 5 },
        { "text, too large", TOOL, 200, "text/plain", BODY("hello"),
          "FAULT TOO_LARGE body too large\n", .max = 4 },
    };

    (void) state;

    CHECK(answers);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_no_type),
        cmocka_unit_test(test_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
