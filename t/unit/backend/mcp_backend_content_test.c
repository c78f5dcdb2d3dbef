/* SPDX-License-Identifier: Apache-2.0 */

/* A backend's answers that become content for tools, resources and prompts:
 * media types, encodings, limits. */


#include "backend_cases.h"
#include "memory_cases.h"


TEST(media_type_of_a_tool_response_decides_the_form_of_the_content)
{
    static const answer_t  answers[] = {
        { "empty text", TOOL, 200, "text/plain", BODY(""),
          "RESULT {\"content\":[]}\n" },
        { "image", TOOL, 200, "Image/PNG", BODY("\x89PNG\n"),
          "RESULT {\"content\":[{\"type\":\"image\",\"data\":\"iVBORwo=\","
          "\"mimeType\":\"image/png\"}]}\n" },
        { "empty image", TOOL, 200, "image/png", BODY(""),
          "RESULT {\"content\":[]}\n" },
        { "audio", TOOL, 200, "audio/wav", BODY("RIFF"),
          "RESULT {\"content\":[{\"type\":\"audio\",\"data\":\"UklGRg==\","
          "\"mimeType\":\"audio/wav\"}]}\n" },
        { "binary", TOOL, 200, "application/pdf", BODY("%PDF"),
          "RESULT {\"content\":[{\"type\":\"resource\",\"resource\":{"
          "\"uri\":\"mcp:result\",\"mimeType\":\"application/pdf\","
          "\"blob\":\"JVBERg==\"}}]}\n" },
        { "binary with a URI", TOOL, 200, "application/pdf", BODY("%PDF"),
          "RESULT {\"content\":[{\"type\":\"resource\",\"resource\":{"
          "\"uri\":\"a:\\\"b\",\"mimeType\":\"application/pdf\","
          "\"blob\":\"JVBERg==\"}}]}\n", .uri = "a:\"b" },
        { "binary of a named tool", TOOL, 200, "a/b", BODY("x"),
          "RESULT {\"content\":[{\"type\":\"resource\",\"resource\":{"
          "\"uri\":\"mcp:result\",\"mimeType\":\"a/b\","
          "\"blob\":\"eA==\"}}]}\n", .uri = "chart.draw" },
        { "XML", TOOL, 200, "application/atom+xml", BODY("<a/>"),
          "RESULT {\"content\":[{\"type\":\"resource\",\"resource\":{"
          "\"uri\":\"mcp:result\",\"mimeType\":\"application/atom+xml\","
          "\"text\":\"<a/>\"}}]}\n" },
        { "XML in another encoding", TOOL, 200, "application/xml",
          BODY("<\xff/>"),
          "RESULT {\"content\":[{\"type\":\"resource\",\"resource\":{"
          "\"uri\":\"mcp:result\",\"mimeType\":\"application/xml\","
          "\"blob\":\"PP8vPg==\"}}]}\n" },
        { "XML in latin1", TOOL, 200, "application/xml; charset=latin1",
          BODY("<\xfc/>"),
          "RESULT {\"content\":[{\"type\":\"resource\",\"resource\":{"
          "\"uri\":\"mcp:result\",\"mimeType\":\"application/xml\","
          "\"text\":\"<\xc3\xbc/>\"}}]}\n" },
    };

    CHECK(answers);
}


TEST(response_of_a_resource_becomes_its_text_or_blob)
{
    static const answer_t  answers[] = {
        { "resource, text", RESOURCE, 200, "text/css; charset=utf-8",
          BODY("a{}"),
          "RESULT {\"contents\":[{\"uri\":\"a:b\",\"mimeType\":\"text/css\","
          "\"text\":\"a{}\"}]}\n", .uri = "a:b" },
        { "resource, image", RESOURCE, 200, "image/png", BODY("\x89PNG\n"),
          "RESULT {\"contents\":[{\"uri\":\"a:b\",\"mimeType\":\"image/png\","
          "\"blob\":\"iVBORwo=\"}]}\n", .uri = "a:b" },
        { "resource, image as text", RESOURCE, 200, "image/svg+xml",
          BODY("<svg/>"),
          "RESULT {\"contents\":[{\"uri\":\"a:b\","
          "\"mimeType\":\"image/svg+xml\",\"text\":\"<svg/>\"}]}\n",
          .uri = "a:b" },
        { "resource, empty", RESOURCE, 200, "text/plain", BODY(""),
          "RESULT {\"contents\":[{\"uri\":\"a:b\","
          "\"mimeType\":\"text/plain\",\"text\":\"\"}]}\n", .uri = "a:b" },
        { "resource, latin1, empty", RESOURCE, 200,
          "text/plain;charset=latin1", BODY(""),
          "RESULT {\"contents\":[{\"uri\":\"a:b\","
          "\"mimeType\":\"text/plain\",\"text\":\"\"}]}\n", .uri = "a:b" },
        { "resource, empty blob", RESOURCE, 200, "image/png", BODY(""),
          "RESULT {\"contents\":[{\"uri\":\"a:b\","
          "\"mimeType\":\"image/png\",\"blob\":\"\"}]}\n", .uri = "a:b" },
    };

    CHECK(answers);
}


TEST(response_of_a_prompt_becomes_a_message_of_the_user)
{
    static const answer_t  answers[] = {
        { "prompt, text", PROMPT, 200, "text/plain", BODY("Do it."),
          "RESULT {\"messages\":[{\"role\":\"user\",\"content\":"
          "{\"type\":\"text\",\"text\":\"Do it.\"}}]}\n" },
        { "prompt, image", PROMPT, 200, "image/png", BODY("\x89PNG\n"),
          "RESULT {\"messages\":[{\"role\":\"user\",\"content\":"
          "{\"type\":\"image\",\"data\":\"iVBORwo=\","
          "\"mimeType\":\"image/png\"}}]}\n" },
        { "prompt, empty", PROMPT, 200, "text/plain", BODY(""),
          "RESULT {\"messages\":[]}\n" },
    };

    CHECK(answers);
}


/* An answer of control characters, which grows most when it becomes a JSON
 * string, is limited as well. */

TEST(content_as_json_is_larger_than_twice_mcp_max_message__it_is_a_fault)
{
    static char           body[4000];
    static transcript_t   t;

    answer_t  a = { "controls", TOOL, 200, "text/plain", body, sizeof(body),
                    "FAULT TOO_LARGE the response body, encoded as JSON, is "
                    "larger than twice mcp_max_message\n",
                    .max = sizeof(body) };

    memset(body, 1, sizeof(body));

    assert_ok(play(&tm, &a, WHOLE, 0, &t));
    check_transcript(&a, "whole", 0, &t);

    /* the characters that replace invalid bytes count towards the limit */

    memset(body, 0xff, sizeof(body));

    assert_ok(play(&tm, &a, WHOLE, 0, &t));
    check_transcript(&a, "replaced", 0, &t);

    /* encoding as base64 never makes an answer exceed the limit */

    a.type = "image/png";
    a.len = 0;
    a.max = 1;

    for (a.len = 1; a.len < 600; a.len += 7) {
        a.max = a.len;
        assert_ok(play(&tm, &a, WHOLE, 0, &t));
        assert_memory_equal(t.text, "RESULT ", 7);
    }
}


TEST(tool_error_with_a_text_is_written_as_a_result_with_is_error_true)
{
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &tm.mem, SIZE_MAX / 2);

    mcp_backend_tool_error(&buf, mcp_str("a \"\xff\""));
    assert_str_is(((mcp_str_t) { buf.data, buf.len }),
                  "{\"content\":[{\"type\":\"text\",\"text\":"
                  "\"a \\\"\xef\xbf\xbd\\\"\"}],\"isError\":true}");
    mcp_buf_free(&buf);

    tm.fail_at = 1;
    mcp_buf_init(&buf, &tm.mem, SIZE_MAX / 2);
    mcp_backend_tool_error(&buf, mcp_str("x"));
    assert_int_equal(buf.failed, MCP_ERR_MEMORY);
    mcp_buf_free(&buf);
}


TEST(text_of_a_response_becomes_a_json_string_in_utf_8)
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

    CHECK(answers);
}


TEST(bytes_of_a_text_that_are_not_utf_8_are_replaced)
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
        { "a whole character and a cut one", TOOL, 200, "text/plain",
          BODY("\xf0\x9f\x98\x80\xf0\x9f\x98"),
          "RESULT " SAID("\xf0\x9f\x98\x80\xef\xbf\xbd") "\n" },
    };

    CHECK(answers);
}


TEST(error_text_is_cut_at_the_limit_between_two_characters)
{
    static const answer_t  answers[] = {
        { "cut before a character that does not fit", TOOL, 500, "text/plain",
          BODY("hell\xc3\xb6"),
          "RESULT " FAILED("hell") "\n", .max = 5 },
        { "cut, ill-formed", TOOL, 500, "text/plain",
          BODY("hel\x80\x80\x80\x80"),
          "RESULT " FAILED("hel\xef\xbf\xbd\xef\xbf\xbd") "\n", .max = 5 },
        { "cut, only continuation bytes", TOOL, 500,
          "text/plain", BODY("\x80\x80\x80\x80"),
          "RESULT " FAILED("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd") "\n",
          .max = 3 },
        { "cut after a whole character", TOOL, 500, "text/plain",
          BODY("hel\xc3\xb6o"), "RESULT " FAILED("hel\xc3\xb6") "\n",
          .max = 5 },
        { "cut, latin1", TOOL, 500,
          "text/plain;charset=latin1", BODY("hel\xc3\xb6"),
          "RESULT " FAILED("hel\xc3\x83") "\n", .max = 4 },
    };

    CHECK(answers);
}


/* Only the start of a large error page becomes content; it is cut between two
 * characters. */

TEST(large_error_page_is_cut_between_two_characters)
{
    size_t                i;
    static char           body[70000], expected[140000];
    static transcript_t   t;

    answer_t  a = { "error page", TOOL, 500, "text/html", body, sizeof(body),
                    expected, .max = 1024 * 1024 };

    /* the last byte of a character would exceed the limit: the whole character
     * is cut off */

    memset(body, 'x', sizeof(body));
    memcpy(body + 65534, "\xe2\x82\xac", 3);

    i = (size_t) sprintf(expected, "RESULT {\"content\":[{\"type\":\"text\","
                         "\"text\":\"");
    memset(expected + i, 'x', 65534);
    strcpy(expected + i + 65534, "\"}],\"isError\":true}\n");

    assert_ok(play(&tm, &a, WHOLE, 0, &t));
    check_transcript(&a, "whole", 0, &t);

    assert_ok(play(&tm, &a, BYTES, 0, &t));
    check_transcript(&a, "byte by byte", 0, &t);

    /* an error page with the type JSON is read completely before it becomes
     * text */

    a.type = JSON;

    assert_ok(play(&tm, &a, WHOLE, 0, &t));
    check_transcript(&a, "as JSON", 0, &t);

    check_memory(&a, WHOLE, &t);
}


RUN_TESTS(init, done)
