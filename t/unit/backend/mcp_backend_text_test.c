/* SPDX-License-Identifier: Apache-2.0 */

/* Text in answers: encodings, and what is cut out of too much of it. */


#include "backend_cases.h"


static void
test_text(void **state)
{
    static const answer_t  answers[] = {
        { "text", TOOL, 200, "text/plain", BODY("a \"b\"\r\n\tc\0d\x7f"),
          "RESULT " SAID("a \\\"b\\\"\\r\\n\\tc\\u0000d\x7f") "\n" },
        { "HTML", TOOL, 200, "text/html; charset=utf-8",
          BODY("<p>Gr\xc3\xbc\xc3\x9f</p>"),
          "RESULT " SAID("<p>Gr\xc3\xbc\xc3\x9f</p>") "\n" },
        { "byte order mark", TOOL, 200, "text/plain", BODY("\xef\xbb\xbfx"),
          "RESULT " SAID("x") "\n" },
        { "latin1", TOOL, 200, "text/plain; format=flowed; Charset=ISO-8859-1",
          BODY("Gr\xfc\xdf\x80 \xc3\xbc"),
          "RESULT " SAID("Gr\xc3\xbc\xc3\x9f\xc2\x80 \xc3\x83\xc2\xbc")
          "\n" },
    };

    (void) state;

    CHECK(answers);
}


static void
test_ill_formed(void **state)
{
    static const answer_t  answers[] = {
        { "ill-formed", TOOL, 200, "text/plain",
          BODY("\x61\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64"),
          "RESULT " SAID("a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                         "b\xef\xbf\xbd" "c\xef\xbf\xbd\xef\xbf\xbd" "d")
          "\n" },
        { "surrogates, overlong, too high", TOOL, 200, "text/plain",
          BODY("\xed\xa0\x80|\xc0\xaf|\xf4\x90|\xf0\x8f|\xe0\x9f|\xf5"),
          "RESULT " SAID("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|"
                         "\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|"
                         "\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|"
                         "\xef\xbf\xbd") "\n" },
        { "whole and cut", TOOL, 200, "text/plain",
          BODY("\xf0\x9f\x98\x80\xf0\x9f\x98"),
          "RESULT " SAID("\xf0\x9f\x98\x80\xef\xbf\xbd") "\n" },
    };

    (void) state;

    CHECK(answers);
}


static void
test_cut(void **state)
{
    static const answer_t  answers[] = {
        { "larger than may be", TOOL, 500, "text/plain", BODY("hell\xc3\xb6"),
          "RESULT " FAILED("hell") "\n", .max = 5 },
        { "larger than may be, ill-formed", TOOL, 500, "text/plain",
          BODY("hel\x80\x80\x80\x80"),
          "RESULT " FAILED("hel\xef\xbf\xbd\xef\xbf\xbd") "\n", .max = 5 },
        { "larger than may be, nothing but ends of characters", TOOL, 500,
          "text/plain", BODY("\x80\x80\x80\x80"),
          "RESULT " FAILED("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd") "\n",
          .max = 3 },
        { "larger than may be, whole character", TOOL, 500, "text/plain",
          BODY("hel\xc3\xb6o"), "RESULT " FAILED("hel\xc3\xb6") "\n",
          .max = 5 },
        { "larger than may be, latin1", TOOL, 500,
          "text/plain;charset=latin1", BODY("hel\xc3\xb6"),
          "RESULT " FAILED("hel\xc3\x83") "\n", .max = 4 },
    };

    (void) state;

    CHECK(answers);
}


/* Of a large error page a model sees the beginning, whole characters only. */

static void
test_error_page(void **state)
{
    size_t                i;
    test_mem_t            tm;
    static char           body[70000], expected[140000];
    static transcript_t   t;

    answer_t  a = { "error page", TOOL, 500, "text/html", body, sizeof(body),
                    expected, .max = 1024 * 1024 };

    (void) state;

    /* the third of three bytes would be one too many */

    memset(body, 'x', sizeof(body));
    memcpy(body + 65534, "\xe2\x82\xac", 3);

    i = (size_t) sprintf(expected, "RESULT {\"content\":[{\"type\":\"text\","
                         "\"text\":\"");
    memset(expected + i, 'x', 65534);
    strcpy(expected + i + 65534, "\"}],\"isError\":true}\n");

    test_mem_init(&tm);

    assert_int_equal(play(&tm, &a, WHOLE, 0, &t), MCP_OK);
    check_transcript(&a, "whole", 0, &t);

    assert_int_equal(play(&tm, &a, BYTES, 0, &t), MCP_OK);
    check_transcript(&a, "byte by byte", 0, &t);

    /* JSON is read to its end before it is shown as text */

    a.type = JSON;

    assert_int_equal(play(&tm, &a, WHOLE, 0, &t), MCP_OK);
    check_transcript(&a, "as JSON", 0, &t);

    assert_int_equal(tm.live, 0);
    check_memory(&a, WHOLE, &t);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_ill_formed),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_error_page),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
