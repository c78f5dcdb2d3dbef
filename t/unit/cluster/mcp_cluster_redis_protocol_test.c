/* SPDX-License-Identifier: Apache-2.0 */

/* The Redis protocol: writing commands, and parsing replies, which may be cut
 * anywhere or be invalid. */

#include "test_env.h"

#include "cluster/mcp_cluster_redis_protocol.h"


static test_mem_t  tm;


/* Appends a readable form of a reply to out. */
static void
print(char *out, size_t size, const mcp_reply_t *reply)
{
    size_t  i, n = strlen(out);

    switch (reply->type) {
    case MCP_REPLY_NIL:
        snprintf(out + n, size - n, "nil");
        return;
    case MCP_REPLY_TEXT:
        snprintf(out + n, size - n, "'%.*s'", (int) reply->text.len,
                 reply->text.data);
        return;
    case MCP_REPLY_STATUS:
        snprintf(out + n, size - n, "+%.*s", (int) reply->text.len,
                 reply->text.data);
        return;
    case MCP_REPLY_ERROR:
        snprintf(out + n, size - n, "-%.*s", (int) reply->text.len,
                 reply->text.data);
        return;
    case MCP_REPLY_NUMBER:
        snprintf(out + n, size - n, "%lld", (long long) reply->number);
        return;
    case MCP_REPLY_ARRAY:
        snprintf(out + n, size - n, "[");

        for (i = 0; i < reply->n; i++) {
            print(out, size, reply->items[i]);
            n = strlen(out);
            snprintf(out + n, size - n, i + 1 < reply->n ? "," : "");
        }

        n = strlen(out);
        snprintf(out + n, size - n, "]");
        return;
    }
}


/* Parses the bytes of "in" in pieces of "step" bytes, and writes the replies
 * to "out". Returns the last value of mcp_wire_next(). */
static int
read_all(char *out, size_t size, const char *in, size_t len, size_t step,
    size_t max)
{
    int                 rc;
    size_t              part;
    mcp_wire_t         *wire;
    const mcp_reply_t  *reply;

    out[0] = '\0';
    rc = MCP_AGAIN;

    wire = mcp_wire_create(&tm.mem, max);
    assert_non_null(wire);

    while (len > 0 && rc == MCP_AGAIN) {
        part = step < len ? step : len;
        assert_ok(mcp_wire_feed(wire, in, part));
        in += part;
        len -= part;

        while ((rc = mcp_wire_next(wire, &reply)) == MCP_OK) {
            print(out, size, reply);
            strcat(out, ";");
        }
    }

    mcp_wire_free(wire);
    assert_int_equal(tm.live, 0);

    return rc;
}


TEST(commands_are_written_as_arrays_of_bulk_strings)
{
    mcp_buf_t  buf;
    mcp_str_t  words[3];

    test_mem_init(&tm);
    mcp_buf_init(&buf, &tm.mem, 4096);

    words[0] = test_str("SET");
    words[1] = test_str("");
    words[2].data = "a\r\n\0b";
    words[2].len = 5;

    mcp_wire_command(&buf, words, 3);
    mcp_wire_command(&buf, words, 1);

    assert_int_equal(buf.len, 30 + 13);
    assert_memory_equal(buf.data,
                        "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$5\r\na\r\n\0b\r\n"
                        "*1\r\n$3\r\nSET\r\n",
                        43);

    mcp_buf_free(&buf);
}


TEST(replies_are_parsed_however_their_bytes_are_split)
{
    char    out[1024];
    size_t  step;

    static const char  in[] =
        "+OK\r\n-ERR no\r\n:-42\r\n$5\r\na\r\nbc\r\n$0\r\n\r\n$-1\r\n*0\r\n*-1\r\n"
        "*3\r\n:1\r\n*2\r\n+a\r\n$-1\r\n-b\r\n:9223372036854775807\r\n";

    test_mem_init(&tm);

    for (step = 1; step <= sizeof(in); step++) {
        assert_int_equal(read_all(out, sizeof(out), in, sizeof(in) - 1, step,
                                  4096),
                         MCP_AGAIN);
        assert_string_equal(out, "+OK;-ERR no;-42;'a\r\nbc';'';nil;[];nil;"
                                 "[1,[+a,nil],-b];9223372036854775807;");
    }
}


/* Bytes that are not a reply, replies of RESP3, and extreme sizes: an
 * error. */
TEST(each_invalid_or_unsupported_reply_is_an_error)
{
    char      out[1024];
    size_t    step;
    unsigned  i;

    static const char *const  bad[] = {
        "hello\r\n",
        ":12a\r\n",
        ":\r\n",
        "$-2\r\n",
        "$x\r\n",
        "*-2\r\n",
        "*65537\r\n",
        "*4294967296\r\n:1\r\n:1\r\n",
        "*2147483649\r\n",
        "*9223372036854775807\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
        "%1\r\n+a\r\n+b\r\n",
        "~1\r\n+a\r\n",
        ",1.5\r\n",
        "#t\r\n",
        "_\r\n",
        "(123\r\n",
        "=5\r\ntxt:a\r\n",
        ">1\r\n+a\r\n",
        "*1\r\n#t\r\n"
    };

    test_mem_init(&tm);

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        for (step = 1; step <= strlen(bad[i]); step++) {
            assert_true(read_all(out, sizeof(out), bad[i], strlen(bad[i]),
                                 step, 1024 * 1024)
                        < 0);
            assert_string_equal(out, "");
        }
    }
}


/* A reply that exceeds the limit is an error. */
TEST(reply_longer_than_the_limit_is_rejected)
{
    char                out[8192], in[4096];
    size_t              i;
    mcp_wire_t         *wire;
    const mcp_reply_t  *reply;

    test_mem_init(&tm);

    /* replies that exceed the limit: a long text, a line without an end, an
     * array of many numbers */

    memset(in, 'x', sizeof(in));
    memcpy(in, "$3000\r\n", 7);
    assert_int_equal(read_all(out, sizeof(out), in, 4096, 100, 2048),
                     MCP_ERR_LIMIT);
    assert_int_equal(read_all(out, sizeof(out), in, 4096, 4096, 2048),
                     MCP_ERR_LIMIT);

    memcpy(in, "+xxxxxx", 7);
    assert_int_equal(read_all(out, sizeof(out), in, 4096, 100, 2048),
                     MCP_ERR_LIMIT);

    snprintf(in, sizeof(in), "*1000\r\n");
    i = strlen(in);

    while (i + 4 < sizeof(in)) {
        memcpy(in + i, ":1\r\n", 4);
        i += 4;
    }

    assert_int_equal(read_all(out, sizeof(out), in, i, 7, 16384),
                     MCP_ERR_LIMIT);

    /* 1000 replies, each within the limit: all are accepted, and the memory
     * does not grow */

    wire = mcp_wire_create(&tm.mem, 2048);

    for (i = 0; i < 1000; i++) {
        memset(in, 'x', sizeof(in));
        memcpy(in, "$1500\r\n", 7);
        memcpy(in + 1507, "\r\n", 2);
        assert_ok(mcp_wire_feed(wire, in, 1509));
        assert_ok(mcp_wire_next(wire, &reply));
        assert_int_equal(reply->text.len, 1500);
        assert_int_equal(mcp_wire_next(wire, &reply), MCP_AGAIN);
    }

    assert_true(tm.live < 10);
    mcp_wire_free(wire);
    assert_int_equal(tm.live, 0);
}


TEST(memory_runs_out__the_parser_returns_no_further_reply)
{
    unsigned            i;
    mcp_wire_t         *wire;
    const mcp_reply_t  *reply;

    static const char  in[] = "*2\r\n+a\r\n$3\r\nabc\r\n";

    test_mem_init(&tm);
    tm.fail_at = 1;
    assert_null(mcp_wire_create(&tm.mem, 1024));

    for (i = 1; i < 3; i++) {
        wire = mcp_wire_create(&tm.mem, 1024);
        tm.fail_at = i;
        assert_ok(mcp_wire_feed(wire, in, sizeof(in) - 1));

        if (mcp_wire_next(wire, &reply) != MCP_OK) {
            assert_int_equal(mcp_wire_next(wire, &reply), MCP_ERR_SYNTAX);
            assert_ok(mcp_wire_feed(wire, in, sizeof(in) - 1));
            assert_int_equal(mcp_wire_next(wire, &reply), MCP_ERR_SYNTAX);
        }

        tm.fail_at = 0;
        mcp_wire_free(wire);
        assert_int_equal(tm.live, 0);
    }

    mcp_wire_free(NULL);
}


TEST(redis_reply_has_another_type__reading_it_yields_nil_or_zero_or_no_match)
{
    mcp_reply_t   number = { .type = MCP_REPLY_NUMBER, .number = 7 };
    mcp_reply_t   text = { .type = MCP_REPLY_TEXT, .text = mcp_str("12") };
    mcp_reply_t   error = { .type = MCP_REPLY_ERROR, .text = mcp_str("12") };
    mcp_reply_t  *items[] = { &number, &text };
    mcp_reply_t   array = { .type = MCP_REPLY_ARRAY, .items = items, .n = 2 };

    assert_ptr_equal(mcp_reply_item(&array, 1), &text);
    assert_int_equal(mcp_reply_item(&array, 2)->type, MCP_REPLY_NIL);
    assert_int_equal(mcp_reply_item(&text, 0)->type, MCP_REPLY_NIL);

    assert_int_equal(mcp_reply_number(&number), 7);
    assert_int_equal(mcp_reply_number(&text), 12);
    assert_int_equal(mcp_reply_number(&error), 0);
    assert_int_equal(mcp_reply_number(&array), 0);
    number.number = -7;
    assert_int_equal(mcp_reply_number(&number), 0);

    assert_true(mcp_reply_is(&text, "12"));
    assert_false(mcp_reply_is(&text, "1"));
    assert_false(mcp_reply_is(&error, "12"));
    assert_false(mcp_reply_is(mcp_reply_item(&array, 5), ""));
}


RUN_TESTS(NULL, NULL)
