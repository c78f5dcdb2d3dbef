/* SPDX-License-Identifier: Apache-2.0 */

/* The growing buffer. */


#include "memory_cases.h"

#include "mcp_buf.h"


TEST(buffer_grows_to_its_maximum_and_then_further_writes_fail)
{
    char       c;
    size_t     i;
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &tm.mem, 10000);

    for (i = 0; i < 10000; i++) {
        c = (char) i;
        mcp_buf_add(&buf, &c, 1);
    }

    assert_ok(buf.failed);
    assert_int_equal(buf.len, 10000);
    assert_true(buf.cap <= 10000);

    for (i = 0; i < 10000; i++) {
        assert_int_equal(buf.data[i], (char) i);
    }

    /* a buffer can grow up to its maximum; further writes fail and do not
     * change it */

    mcp_buf_lit(&buf, "x");
    assert_int_equal(buf.failed, MCP_ERR_LIMIT);
    mcp_buf_str(&buf, mcp_null_str);
    assert_null(mcp_buf_reserve(&buf, 0));
    assert_int_equal(buf.len, 10000);

    mcp_buf_free(&buf);
    assert_int_equal(tm.live, 0);

    mcp_buf_lit(&buf, "again");
    assert_ok(buf.failed);
    assert_int_equal(buf.len, 5);

    mcp_buf_free(&buf);
    mcp_buf_free(&buf);
}


TEST(write_fails_if_the_buffer_is_full_or_memory_runs_out)
{
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &tm.mem, 3);
    assert_non_null(mcp_buf_reserve(&buf, 0));
    mcp_buf_lit(&buf, "abc");
    assert_ok(buf.failed);
    mcp_buf_lit(&buf, "d");
    assert_int_equal(buf.failed, MCP_ERR_LIMIT);
    mcp_buf_free(&buf);

    mcp_buf_init(&buf, &tm.mem, 0);
    mcp_buf_str(&buf, mcp_null_str);
    assert_ok(buf.failed);
    mcp_buf_lit(&buf, "d");
    assert_int_equal(buf.failed, MCP_ERR_LIMIT);
    mcp_buf_free(&buf);

    mcp_buf_init(&buf, &tm.mem, SIZE_MAX);
    mcp_buf_lit(&buf, "abc");
    assert_null(mcp_buf_reserve(&buf, SIZE_MAX));
    assert_int_equal(buf.failed, MCP_ERR_LIMIT);
    mcp_buf_free(&buf);

    mcp_buf_init(&buf, &tm.mem, 100);
    tm.fail_at = 1;
    mcp_buf_lit(&buf, "abc");
    mcp_buf_lit(&buf, "abc");
    assert_int_equal(buf.failed, MCP_ERR_MEMORY);
    assert_int_equal(buf.len, 0);
    mcp_buf_free(&buf);
}


static const struct {
    const char  *text;
    const char  *json;
} strings[] = {
    { "", "\"\"" },
    { "plain /text'", "\"plain /text'\"" },
    { "\"\\", "\"\\\"\\\\\"" },
    { "a\"", "\"a\\\"\"" },
    { "\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"" },
    { "\x01\x0b\x1f\x7f", "\"\\u0001\\u000b\\u001f\x7f\"" },
    { "\xe2\x80\xa8\xe2\x80\xa9\xf0\x9f\x98\x80",
      "\"\xe2\x80\xa8\xe2\x80\xa9\xf0\x9f\x98\x80\"" },
};


TEST(texts_are_escaped_as_json_strings)
{
    size_t     i;
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &tm.mem, 1000);

    for (i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
        buf.len = 0;
        mcp_buf_json(&buf, test_str(strings[i].text));
        assert_str_is(((mcp_str_t) { buf.data, buf.len }), strings[i].json);
    }

    buf.len = 0;
    mcp_buf_json(&buf, (mcp_str_t) { "a\0b", 3 });
    mcp_buf_json(&buf, mcp_null_str);
    mcp_buf_escape(&buf, mcp_str("x\ny"));
    assert_str_is(((mcp_str_t) { buf.data, buf.len }),
                  "\"a\\u0000b\"\"\"x\\ny");

    mcp_buf_free(&buf);
}


TEST(integers_are_written_as_decimals)
{
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &tm.mem, 1000);

    mcp_buf_int(&buf, 0);
    mcp_buf_lit(&buf, " ");
    mcp_buf_int(&buf, -32700);
    mcp_buf_lit(&buf, " ");
    mcp_buf_int(&buf, INT64_MAX);
    mcp_buf_lit(&buf, " ");
    mcp_buf_int(&buf, INT64_MIN);

    assert_str_is(((mcp_str_t) { buf.data, buf.len }),
                  "0 -32700 9223372036854775807 -9223372036854775808");

    mcp_buf_free(&buf);
}


RUN_TESTS(init, done)
