/* SPDX-License-Identifier: Apache-2.0 */

/* The headers Accept and Content-Type. */


#include "test_env.h"

#include "http/mcp_http_accept.h"


#define JSON  "application/json"
#define SSE   "text/event-stream"


TEST(most_specific_range_in_header_accept_decides_if_a_type_is_accepted)
{
    static const struct {
        const char  *line;
        int          json;
        int          sse;
    } cases[] = {

        /* values that real clients send */
        { "application/json, text/event-stream", 1, 1 },
        { "text/event-stream, application/json", 1, 1 },
        { "application/json,text/event-stream", 1, 1 },
        { "application/json", 1, 0 },
        { "text/event-stream", 0, 1 },
        { "*/*", 1, 1 },
        { "application/*", 1, 0 },
        { "text/*", 0, 1 },
        { "APPLICATION/JSON, Text/Event-Stream", 1, 1 },
        { "text/html, */*;q=0.8", 1, 1 },
        { "text/html, image/gif, *; q=.2, */*; q=.2", 1, 1 },  /* Java */

        /* others */
        { "", 0, 0 },
        { " ", 0, 0 },
        { ",", 0, 0 },
        { "text/html", 0, 0 },
        { "application/jsonx", 0, 0 },
        { "application/jso", 0, 0 },
        { "xapplication/json", 0, 0 },
        { "application/json+x", 0, 0 },

        /* odd spacing, empty elements */
        { "  application/json  ,\ttext/event-stream\t", 1, 1 },
        { ",,application/json,, ,text/event-stream,", 1, 1 },
        { "application/json ;q=1 , text/event-stream ; q=1", 1, 1 },
        { "application/json;;;q=1;", 1, 0 },
        { "application/json; ,text/event-stream", 1, 1 },
        { "application / json", 0, 0 },
        { "application/ json", 0, 0 },

        /* weights */
        { "application/json;q=0", 0, 0 },
        { "application/json;q=0.", 0, 0 },
        { "application/json;q=0.0", 0, 0 },
        { "application/json;q=0.000", 0, 0 },
        { "application/json;q=0.001", 1, 0 },
        { "application/json;q=0.15", 1, 0 },
        { "application/json;q=1", 1, 0 },
        { "application/json;q=1.000", 1, 0 },
        { "application/json;Q=0", 0, 0 },
        { "application/json; q = 0", 0, 0 },
        { "application/json;q=\"0\"", 0, 0 },
        { "application/json;q=0.0000001", 1, 0 },

        /* a range with a malformed weight is skipped */
        { "application/json;q=1.001", 0, 0 },
        { "application/json;q=2", 0, 0 },
        { "application/json;q=10", 0, 0 },
        { "application/json;q=00", 0, 0 },
        { "application/json;q=-1", 0, 0 },
        { "application/json;q=", 0, 0 },
        { "application/json;q=.", 0, 0 },
        { "application/json;q=0.1.1", 0, 0 },
        { "application/json;q=x, text/event-stream", 0, 1 },
        { "application/json;q=x, */*", 1, 1 },

        /* the most specific range wins, in any order */
        { "*/*, application/json;q=0", 0, 1 },
        { "application/json;q=0, */*", 0, 1 },
        { "application/*;q=0, application/json", 1, 0 },
        { "application/json, application/*;q=0", 1, 0 },
        { "*/*;q=0, text/*", 0, 1 },
        { "text/*;q=0, */*", 1, 0 },
        { "*/*;q=0", 0, 0 },
        { "*/*;q=0, application/json", 1, 0 },

        /* parameters are ignored: a type is accepted if one range with this
         * type accepts it */
        { "application/json;v=1;q=0, application/json", 1, 0 },
        { "application/json, application/json;v=1;q=0", 1, 0 },
        { "application/json; charset=utf-8", 1, 0 },
        { "application/json; charset=\"a, b; q=0 \\\" c\", text/event-stream",
          1, 1 },
        { "application/json;q=1;q=0", 1, 0 },
        { "application/json;q=0;q=1", 0, 0 },
        { "application/json;q=0.5;ext;more=\"x\"", 1, 0 },

        /* malformed ranges are skipped */
        { "*/json", 0, 0 },
        { "*", 0, 0 },
        { "/json, text/event-stream", 0, 1 },
        { "application/, text/event-stream", 0, 1 },
        { "application, text/event-stream", 0, 1 },
        { "application/json/x, text/event-stream", 0, 1 },
        { "application/json x, text/event-stream", 0, 1 },
        { "application/json;=x, text/event-stream", 0, 1 },
        { "application/json;v=, text/event-stream", 0, 1 },
        { "application/json;v=\"x, text/event-stream", 0, 0 },
        { "\"application/json, x\", text/event-stream", 0, 1 },
        { "application/json;v=\"x\"y, text/event-stream", 0, 1 },
        { "application\x80/json, text/event-stream", 0, 1 },
        { "application/*x", 0, 0 },
    };

    char       *p;
    size_t      i;
    mcp_str_t   line;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {

        /* allocated on the heap, so that memory checkers detect reads after
         * its end */

        line = test_str(cases[i].line);
        p = malloc(line.len + (line.len == 0));
        assert_non_null(p);
        memcpy(p, line.data, line.len);
        line.data = p;

        if (mcp_http_accepts(&line, 1, mcp_str(JSON)) != cases[i].json
            || mcp_http_accepts(&line, 1, mcp_str(SSE)) != cases[i].sse)
        {
            fail_msg("Accept: %s", cases[i].line);
        }

        free(p);
    }
}


TEST(ranges_of_several_accept_headers_count_together)
{
    mcp_str_t  lines[3];

    assert_int_equal(mcp_http_accepts(NULL, 0, mcp_str(JSON)), 1);

    lines[0] = mcp_str("text/html");
    lines[1] = mcp_str("application/json");
    lines[2] = mcp_str("text/event-stream;q=0.1");

    assert_int_equal(mcp_http_accepts(lines, 3, mcp_str(JSON)), 1);
    assert_int_equal(mcp_http_accepts(lines, 3, mcp_str(SSE)), 1);
    assert_int_equal(mcp_http_accepts(lines, 2, mcp_str(SSE)), 0);

    /* several lines: the most specific range of all lines wins; a quoted
     * string that is not closed ends with its line */

    lines[0] = mcp_str("*/*");
    lines[1] = mcp_str("application/json;v=\"");
    lines[2] = mcp_str("application/json;q=0");

    assert_int_equal(mcp_http_accepts(lines, 3, mcp_str(JSON)), 0);
    assert_int_equal(mcp_http_accepts(lines, 3, mcp_str(SSE)), 1);

    lines[0] = mcp_null_str;
    assert_int_equal(mcp_http_accepts(lines, 1, mcp_str(JSON)), 0);
    assert_int_equal(mcp_http_accepts(lines, 1, mcp_str("nonsense")), 0);
}


TEST(only_application_json_in_utf_8_counts_as_json)
{
    static const struct {
        const char  *text;
        const char  *media_type;
        int          is_json;
    } cases[] = {
        { "application/json", "application/json", 1 },
        { "Application/JSON", "Application/JSON", 1 },
        { " application/json\t", "application/json", 1 },
        { "application/json;charset=utf-8", "application/json", 1 },
        { "application/json; charset=UTF-8", "application/json", 1 },
        { "application/json ; Charset=\"utf-8\" ; x=y", "application/json",
          1 },
        { "application/json;", "application/json", 1 },
        { "application/json; ;", "application/json", 1 },
        { "application/json; x=\"a;charset=latin1\"", "application/json", 1 },
        { "application/json; charset=iso-8859-1", "application/json", 0 },
        { "application/json; charset=utf8", "application/json", 0 },
        { "application/json; charset", "application/json", 0 },
        { "application/json; charset=utf-8; charset=latin1",
          "application/json", 0 },
        { "application/json; =x", "application/json", 0 },
        { "application/json; x=\"", "application/json", 0 },
        { "application/json; x=y z", "application/json", 0 },
        { "application/json; x=y, text/plain", "application/json", 0 },
        { "application/json, text/plain", "", 0 },
        { "application/json text/plain", "", 0 },
        { "application/json-rpc", "application/json-rpc", 0 },
        { "text/event-stream", "text/event-stream", 0 },
        { "application", "", 0 },
        { "application/", "", 0 },
        { "/json", "", 0 },
        { "", "", 0 },
        { " ", "", 0 },
    };

    size_t     i;
    mcp_str_t  bare;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bare = mcp_http_media_type(test_str(cases[i].text));

        assert_str_is(bare, cases[i].media_type);

        if (mcp_http_is_type(test_str(cases[i].text), mcp_str(JSON))
            != cases[i].is_json)
        {
            fail_msg("Content-Type: %s", cases[i].text);
        }
    }

    assert_int_equal(mcp_http_is_type(mcp_null_str, mcp_str(JSON)), 0);
    assert_int_equal(mcp_http_media_type(mcp_null_str).len, 0);
}


TEST(token_has_only_the_characters_of_rfc_9110)
{
    int   c;
    char  text[3] = "axb";

    for (c = 0; c < 256; c++) {
        text[1] = (char) c;

        assert_int_equal(mcp_http_is_token((mcp_str_t) { text, 3 }),
                         mcp_is_alnum((unsigned char) c)
                         || (c != '\0'
                             && strchr("!#$%&'*+-.^_`|~", c) != NULL));
    }

    assert_int_equal(mcp_http_is_token(mcp_str("Region")), 1);
    assert_int_equal(mcp_http_is_token(mcp_str("a b")), 0);
    assert_int_equal(mcp_http_is_token(mcp_str("a:")), 0);
    assert_int_equal(mcp_http_is_token(mcp_null_str), 0);
}


RUN_TESTS(NULL, NULL)
