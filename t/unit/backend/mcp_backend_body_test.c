/* SPDX-License-Identifier: Apache-2.0 */

/* Reading an answer as a whole, by lines or by events; the memory for a
 * stream. */


#include "backend_cases.h"


TEST(json_response_may_have_a_byte_order_mark_but_may_not_be_empty)
{
    static const answer_t  answers[] = {
        { "byte order mark", TOOL, 200, JSON, BODY("\xef\xbb\xbf{}"),
          "RESULT {}\n" },
        { "empty", TOOL, 200, JSON, BODY(""),
          "FAULT OUTPUT the response body is empty\n" },
        { "blank", TOOL, 200, JSON, BODY(" \n"),
          "FAULT OUTPUT broken JSON\n" },
    };

    CHECK(answers);
}


TEST(response_without_a_content_type_is_read_as_json_or_as_text)
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
          "FAULT OUTPUT the message must have exactly one of \"method\", "
          "\"result\" and \"error\"\n" },
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

    CHECK(answers);
}


TEST(body_larger_than_the_message_limit_is_a_fault)
{
    static const answer_t  answers[] = {
        { "exactly as large as the limit", TOOL, 200, JSON, BODY(RESULT),
          "RESULT {\"a\":1}\n", .max = sizeof(RESULT) - 1 },
        { "larger than the limit", TOOL, 200, JSON, BODY(RESULT),
          "FAULT TOO_LARGE the response body is larger than mcp_max_message\n",
          .max = sizeof(RESULT) - 2 },
        { "larger than the limit, cut", TOOL, 200, JSON, BODY(RESULT),
          "FAULT TOO_LARGE the response body is larger than mcp_max_message\n",
          MCP_FAULT_BACKEND_TIMEOUT, 4 },
        { "text, exactly as large as the limit", TOOL, 200, "text/plain",
          BODY("hello"),
          "RESULT " SAID("hello") "\n", .max = 5 },
        { "text, larger than the limit", TOOL, 200, "text/plain", BODY("hello"),
          "FAULT TOO_LARGE the response body is larger than mcp_max_message\n",
          .max = 4 },
    };

    CHECK(answers);
}


TEST(each_line_of_an_ndjson_response_is_read_as_a_message)
{
    static const answer_t  answers[] = {
        { "progress and response", TOOL, 200, LINES,
          BODY(PROGRESS "\n" PROGRESS "\n" RESULT "\n"),
          PROGRESSED PROGRESSED "RESULT {\"a\":1}\n" },
        { "bare result", TOOL, 200, "application/jsonl",
          BODY(PROGRESS "\n{\"content\":[]}\n"),
          PROGRESSED "RESULT {\"content\":[]}\n" },
        { "error", TOOL, 200, "application/ndjson", BODY(RPC_ERROR "\n"),
          "ERROR " ERROR "\n" },
        { "CRLF and blank lines", TOOL, 200, LINES,
          BODY("\r\n\n" PROGRESS "\r\n  \t\r\n\n" RESULT "\r\n\r\n"),
          PROGRESSED "RESULT {\"a\":1}\n" },
        { "CR inside", TOOL, 200, LINES, BODY("{\"a\":\r1}\n"),
          "RESULT {\"a\": 1}\n" },
        { "no last newline", TOOL, 200, LINES, BODY(PROGRESS "\n" RESULT),
          PROGRESSED "RESULT {\"a\":1}\n" },
        { "byte order mark", TOOL, 200, LINES,
          BODY("\xef\xbb\xbf" PROGRESS "\n" RESULT "\n"),
          PROGRESSED "RESULT {\"a\":1}\n" },
        { "ends early", TOOL, 200, LINES, BODY(PROGRESS "\n"),
          PROGRESSED "FAULT OUTPUT the stream ended without a response\n" },
        { "empty", TOOL, 200, LINES, BODY(""),
          "FAULT OUTPUT the stream ended without a response\n" },
        { "broken line", TOOL, 200, LINES,
          BODY(PROGRESS "\n{\"jsonrpc\"\n" RESULT "\n"),
          PROGRESSED "FAULT OUTPUT broken JSON\n" },
        { "not JSON", TOOL, 200, LINES, BODY("Warning: deprecated\n"),
          "FAULT OUTPUT broken JSON\n" },
        { "array", TOOL, 200, LINES, BODY("[" RESULT "]\n"),
          "FAULT OUTPUT the message is not a JSON object\n" },
        { "exactly as large as the limit", TOOL, 200, LINES,
          BODY(PROGRESS "\n" PROGRESS "\r\n{}\n"),
          PROGRESSED PROGRESSED "RESULT {}\n", .max = sizeof(PROGRESS) - 1 },
        { "larger than the limit", TOOL, 200, LINES,
          BODY("{}" PROGRESS "\n{}\n"),
          "FAULT TOO_LARGE a message is larger than mcp_max_message\n",
          .max = sizeof(PROGRESS) - 1 },
        { "larger than the limit by one", TOOL, 200, LINES,
          BODY(PROGRESS "\n " PROGRESS "\n{}\n"),
          PROGRESSED "FAULT TOO_LARGE a message is larger than "
                     "mcp_max_message\n",
          .max = sizeof(PROGRESS) - 1 },
        { "larger than the limit, no newline", TOOL, 200, LINES,
          BODY("{}\n{    "),
          "RESULT {}\n", .max = 2 },
        { "larger than the limit, cut", TOOL, 200, LINES, BODY("{          "),
          "FAULT TOO_LARGE a message is larger than mcp_max_message\n",
          MCP_FAULT_BACKEND_TIMEOUT,
          4 },
    };

    CHECK(answers);
}


TEST(each_event_of_an_sse_response_is_read_as_a_message)
{
    static const answer_t  answers[] = {
        { "progress and response", TOOL, 200, SSE,
          BODY("data: " PROGRESS "\n\ndata:" PROGRESS "\n\n"
               "data: " RESULT "\n\n"),
          PROGRESSED PROGRESSED "RESULT {\"a\":1}\n" },
        { "CRLF, CR, comments, other fields, empty events", TOOL, 200, SSE,
          BODY("\xef\xbb\xbf: hello\r\nretry: 5\r\nid: 1\r\ndata:\r\n\r\n"
               "event: message\r\ndata: " PROGRESS "\r\n\r\n"
               "data: " RESULT "\r\r"),
          PROGRESSED "RESULT {\"a\":1}\n" },
        { "several lines", TOOL, 200, SSE,
          BODY("data: {\ndata: \"a\":\ndata: 1}\n\n"),
          "RESULT { \"a\": 1}\n" },
        { "bare result", RESOURCE, 200, SSE,
          BODY("data: {\"contents\":[]}\n\n"),
          "RESULT {\"contents\":[]}\n" },
        { "blank data", TOOL, 200, SSE, BODY("data:  \n\ndata: {}\n\n"),
          "RESULT {}\n" },
        { "no blank line at the end", TOOL, 200, SSE,
          BODY("data: " PROGRESS "\n\ndata: " RESULT "\n"),
          PROGRESSED "RESULT {\"a\":1}\n" },
        { "no newline at the end", TOOL, 200, SSE, BODY("data: " RESULT),
          "RESULT {\"a\":1}\n" },
        { "ends early", TOOL, 200, SSE, BODY("data: " PROGRESS "\n\n"),
          PROGRESSED "FAULT OUTPUT the stream ended without a response\n" },
        { "broken event", TOOL, 200, SSE, BODY("data: {\"jsonrpc\"\n\n"),
          "FAULT OUTPUT broken JSON\n" },
        { "a line break in a string", TOOL, 200, SSE,
          BODY("data: {\"a\":\"b\ndata: c\"}\n\n"),
          "FAULT OUTPUT broken JSON\n" },
        { "error", TOOL, 200, SSE, BODY("data: " RPC_ERROR "\n\n"),
          "ERROR " ERROR "\n" },
        { "exactly as large as the limit", TOOL, 200, SSE,
          BODY("data: " PROGRESS "\n\ndata: {}\n\n"),
          PROGRESSED "RESULT {}\n", .max = sizeof(PROGRESS) - 1 },
        { "larger than the limit", TOOL, 200, SSE,
          BODY("data: " PROGRESS "\n\ndata: {}\n\n"),
          "FAULT TOO_LARGE a message is larger than mcp_max_message\n",
          .max = sizeof(PROGRESS) - 2 },
    };

    CHECK(answers);
}


/* A long stream: each message is read in order, and the memory is bounded by
 * the bytes that were not read yet. */

TEST(messages_of_a_long_stream_are_read_in_order)
{
    int                 rc, len;
    size_t              i, n, pos, size, got;
    char               *all, number[32];
    test_mem_t          tm;
    mcp_backend_t      *b;
    mcp_backend_msg_t   msg;

    static const size_t  steps[] = { 1, 7, 100, 4096, 70000, 1000000 };

    all = malloc(1000000);
    assert_non_null(all);

    for (n = 0, size = 0; n < 3000; n++) {
        size += (size_t) sprintf(all + size,
                                 "{\"jsonrpc\":\"2.0\",\"method\":"
                                 "\"notifications/progress\",\"params\":"
                                 "{\"progressToken\":%zu,\"progress\":1}}\n",
                                 n);
    }

    for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        test_mem_init(&tm);

        b = mcp_backend_create(&tm.mem, MCP_WANT_TOOL, mcp_null_str, 1024,
                               20);
        assert_non_null(b);
        mcp_backend_head(b, 200, mcp_str(LINES));

        got = 0;

        for (pos = 0; pos < size; pos += n) {
            n = size - pos < steps[i] ? size - pos : steps[i];

            assert_ok(mcp_backend_write(b, all + pos, n));

            while ((rc = mcp_backend_read(b, &msg)) == MCP_OK) {
                len = sprintf(number, "%zu", got++);

                assert_int_equal(msg.kind, MCP_BACKEND_NOTIFICATION);
                assert_int_equal(msg.progress_token.raw.len, len);
                assert_memory_equal(msg.progress_token.raw.data, number, len);

                /* after every third message, leave the remaining ones unread
                 * until the next write */

                if (got % 3 == 0 && pos + n < size) {
                    rc = MCP_AGAIN;
                    break;
                }
            }

            assert_int_equal(rc, MCP_AGAIN);
        }

        assert_int_equal(got, 3000);

        mcp_backend_free(b);
        assert_int_equal(tm.live, 0);
    }

    free(all);
}


/* The buffer of a stream has grown: the decoder frees it while the stream is
 * idle. */

TEST(stream_is_idle__its_decoder_has_freed_the_buffer)
{
    char                *large;
    test_mem_t           tm;
    mcp_backend_t       *b;
    mcp_backend_msg_t    msg;

    test_mem_init(&tm);

    large = malloc(100000);
    assert_non_null(large);
    memset(large, ' ', 100000);
    memcpy(large, PROGRESS, sizeof(PROGRESS) - 1);
    large[99999] = '\n';

    b = mcp_backend_create(&tm.mem, MCP_WANT_TOOL, mcp_null_str, 1000000,
                           20);
    assert_non_null(b);
    mcp_backend_head(b, 200, mcp_str(LINES));
    assert_ok(mcp_backend_write(b, large, 100000));
    assert_ok(mcp_backend_read(b, &msg));
    assert_str_is(msg.body, PROGRESS);
    assert_int_equal(mcp_backend_read(b, &msg), MCP_AGAIN);

    /* only the decoder itself is left */

    assert_int_equal(tm.live, 1);

    assert_ok(mcp_backend_write(b, RESULT "\n", sizeof(RESULT)));
    assert_ok(mcp_backend_read(b, &msg));
    assert_str_is(msg.body, "{\"a\":1}");
    mcp_backend_head(b, 500, mcp_null_str);
    assert_int_equal(mcp_backend_read(b, &msg), MCP_DONE);

    mcp_backend_free(b);
    free(large);

    assert_int_equal(tm.live, 0);
}


RUN_TESTS(NULL, NULL)
