/* SPDX-License-Identifier: Apache-2.0 */

/* Heads of answers: statuses that say it all, media types, charsets. */


#include "backend_cases.h"


static void
test_status(void **state)
{
    static const answer_t  answers[] = {
        { "202", TOOL, 202, "text/plain", BODY("Accepted"), "DETACHED \n" },
        { "redirect", TOOL, 302, "text/html", BODY("<p>elsewhere</p>"),
          "FAULT FAILED redirect\n" },
        { "interim", TOOL, 103, NULL, BODY(""),
          "FAULT FAILED no final status\n" },
        { "204", TOOL, 204, NULL, BODY(""), "RESULT {\"content\":[]}\n" },
        { "204, JSON", TOOL, 204, JSON, BODY(""),
          "RESULT {\"content\":[]}\n" },
        { "resource, 204", RESOURCE, 204, NULL, BODY(""),
          "RESULT {\"contents\":[{\"uri\":\"mcp:result\","
          "\"mimeType\":\"text/plain\",\"text\":\"\"}]}\n" },
        { "plain, 204", PLAIN, 204, NULL, BODY(""),
          "FAULT OUTPUT empty body\n" },
    };

    (void) state;

    CHECK(answers);
}


static void
test_type(void **state)
{
    static const answer_t  answers[] = {
        { "space, type in capitals with parameters", TOOL, 201,
          " Application/JSON ; charset=UTF-8", BODY(" \t{}\r\n"),
          "RESULT {}\n" },
        { "a type on top of JSON", TOOL, 200, "application/vnd.acme+json",
          BODY("{}"), "RESULT {}\n" },

        { "malformed type: text", TOOL, 200, "text", BODY("x"),
          "RESULT " SAID("x") "\n" },
        { "malformed type: two slashes", TOOL, 200, "a/b/c", BODY("x"),
          "RESULT " SAID("x") "\n" },
        { "malformed type: no subtype", TOOL, 200, "text/", BODY("x"),
          "RESULT " SAID("x") "\n" },
        { "malformed type: quotes", TOOL, 200, "te\"xt/plain", BODY("x"),
          "RESULT " SAID("x") "\n" },
        { "a type beyond reason", TOOL, 200,
          "application/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
          BODY("x"),
          "RESULT {\"content\":[{\"type\":\"resource\",\"resource\":{"
          "\"uri\":\"mcp:result\",\"mimeType\":\"application/octet-stream\","
          "\"blob\":\"eA==\"}}]}\n" },
        { "plain, text", PLAIN, 200, "text/plain", BODY("x"),
          "FAULT OUTPUT not JSON by its Content-Type\n" },
    };

    (void) state;

    CHECK(answers);
}


static void
test_charset(void **state)
{
    static const answer_t  answers[] = {
        { "latin1, quoted", TOOL, 200, "text/plain;charset=\"latin1\"",
          BODY("\xfc"), "RESULT " SAID("\xc3\xbc") "\n" },
        { "no charset after all", TOOL, 200, "text/plain; ;charset;a=latin1",
          BODY("\xfc"), "RESULT " SAID("\xef\xbf\xbd") "\n" },
        { "other charset", TOOL, 200, "text/plain; charset=koi8-r",
          BODY("a\xc1z"), "RESULT " SAID("a\xef\xbf\xbdz") "\n" },
    };

    (void) state;

    CHECK(answers);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_type),
        cmocka_unit_test(test_charset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
