/* SPDX-License-Identifier: Apache-2.0 */

/* The encoder and the decoder of SSE events; each input is split at each
 * position. */


#include "memory_cases.h"
#include "http/mcp_sse.h"


static const unsigned char  stream[MCP_STREAM_ID_LEN] = {
    0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
    0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff
};

#define STREAM  "ABEiM0RVZneImaq7zN3u_w"


TEST(event_head_and_priming_event_and_retry_are_written_in_sse_form)
{
    char  text[256], *end;

    end = mcp_sse_event_head(text, STREAM, 7);
    assert_str_is(((mcp_str_t) { text, (size_t) (end - text) }),
                  "id: " STREAM ".7\ndata: ");

    end = mcp_sse_event_head(text, STREAM, UINT64_MAX);
    assert_int_equal(end - text, MCP_SSE_HEAD_MAX);

    end = mcp_sse_priming(text, stream, 0, 0);
    assert_str_is(((mcp_str_t) { text, (size_t) (end - text) }),
                  "id: " STREAM ".0\ndata: \n\n");

    end = mcp_sse_priming(text, stream, 1, 3000);
    assert_str_is(((mcp_str_t) { text, (size_t) (end - text) }),
                  "id: " STREAM ".1\nretry: 3000\ndata: \n\n");

    end = mcp_sse_priming(text, stream, UINT64_MAX, UINT64_MAX);
    assert_true((size_t) (end - text) <= MCP_SSE_PRIMING_MAX);

    end = mcp_sse_retry(text, UINT64_MAX);
    assert_str_is(((mcp_str_t) { text, (size_t) (end - text) }),
                  "retry: 18446744073709551615\n\n");
    assert_true((size_t) (end - text) <= MCP_SSE_RETRY_MAX);
}


/* "events" has the decoded events, each followed by '|' */
static const struct {
    const char  *in;
    const char  *events;
    const char  *at_end;       /* event added by mcp_sse_decoder_end() */
} streams[] = {
    { "", "", NULL },
    { "data: a\n\n", "a|", NULL },
    { "data: a\r\n\r\n", "a|", NULL },
    { "data: a\r\r", "a|", NULL },
    { "data: a\r\n\ndata: b\n\r\n", "a|b|", NULL },
    { "data: a\r\rdata: b\r\n\r\ndata: c\n\n", "a|b|c|", NULL },
    { "data:a\n\n", "a|", NULL },
    { "data:  a \n\n", " a |", NULL },
    { "data: a\ndata: b\n\n", "a\nb|", NULL },
    { "data\ndata\n\n", "\n|", NULL },
    { "data: a\ndata\n\n", "a\n|", NULL },
    { "data: a:b\n\n", "a:b|", NULL },

    /* events without data */
    { "data\n\n", "", NULL },
    { "data:\n\ndata: \n\ndata: a\n\n", "a|", NULL },
    { "id: 1\nretry: 5\ndata: \n\ndata: a\n\n", "a|", NULL },
    { "\n\n\r\r\n\ndata: a\n\n\n\n", "a|", NULL },
    { "event: x\n\ndata: a\n\n", "a|", NULL },

    /* comments, other fields, and field names that resemble "data" */
    { ":\n\n: data: x\ndata: a\n:\n\n", "a|", NULL },
    { "event: ping\ndata: {}\n\ndata: a\n\n", "a|", NULL },
    { "data: {}\nevent: ping\n\ndata: a\n\n", "a|", NULL },
    { "event: ping\nevent: message\ndata: a\n\n", "a|", NULL },
    { "event\ndata: a\n\nevent:\ndata: b\n\n", "a|b|", NULL },
    { "events: x\ndata: a\n\n", "a|", NULL },
    { "event: ping\ndata: {}", "", NULL },
    { "event: message\nid: 4\nfoo: bar\nfoo\ndata: a\n\n", "a|", NULL },
    { "datax: a\n\ndata : a\n\n data: a\n\nDATA: a\n\n", "", NULL },
    { "dat: x\n\ndat\n\nd\n\n", "", NULL },

    /* a byte order mark is skipped once, at the start only */
    { "\xef\xbb\xbf" "data: a\n\n", "a|", NULL },
    { "\xef\xbb\xbf\xef\xbb\xbf" "data: a\n\n", "", NULL },
    { "\n\xef\xbb\xbf" "data: a\n\n", "", NULL },
    { "\xef\xbb" "data: a\n\ndata: b\n\n", "b|", NULL },
    { "\xef\xbb\xbf\n\ndata: b\n\n", "b|", NULL },

    /* the end */
    { "data: a\n\ndata: b\n", "a|", "b" },
    { "data: a\n\ndata: b", "a|", "b" },
    { "data: a\r", "", "a" },
    { "data: a\ndata: b", "", "a\nb" },
    { "data: a\nid: 3", "", "a" },
    { "data: a\n\nid: 3\n", "a|", NULL },
    { "data: a\n\ndata:", "a|", NULL },
    { "data: a\n\n:", "a|", NULL },
    { "\xef\xbb\xbf" "data: a", "", "a" },
};


/* Decodes in pieces of n bytes, the first one of "first" bytes. */
static void
decode(const char *in, size_t first, size_t n, mcp_buf_t *out,
    mcp_sse_decoder_t *d)
{
    int         rc;
    char       *copy;
    size_t      len, part, consumed;
    mcp_str_t   data;

    len = strlen(in);
    part = first;

    while (len > 0) {
        part = part < len ? part : len;

        /* a copy of exactly the right size: memory checkers detect reads after
         * its end */
        copy = malloc(part);
        memcpy(copy, in, part);

        rc = mcp_sse_decode(d, copy, part, &consumed, &data);

        assert_true(consumed <= part);

        if (rc == MCP_OK) {
            assert_true(data.len > 0);
            mcp_buf_str(out, data);
            mcp_buf_lit(out, "|");

        } else {
            assert_int_equal(rc, MCP_AGAIN);
            assert_int_equal(consumed, part);
        }

        free(copy);

        in += consumed;
        len -= consumed;
        part = n;
    }
}


static void
check_stream(size_t i, size_t first, size_t n, const mcp_mem_t *mem)
{
    mcp_buf_t          out;
    mcp_str_t          data;
    mcp_sse_decoder_t  d;

    mcp_buf_init(&out, mem, 10000);
    mcp_sse_decoder_init(&d, mem, 1000);

    decode(streams[i].in, first, n, &out, &d);

    if (strlen(streams[i].events) != out.len
        || (out.len && memcmp(streams[i].events, out.data, out.len) != 0))
    {
        fail_msg("stream %u cut at %u: %.*s", (unsigned) i, (unsigned) first,
                 (int) out.len, out.len ? out.data : "");
    }

    if (streams[i].at_end != NULL) {
        assert_ok(mcp_sse_decoder_end(&d, &data));
        assert_str_is(data, streams[i].at_end);
    }

    assert_int_equal(mcp_sse_decoder_end(&d, &data), MCP_DONE);
    assert_int_equal(mcp_sse_decoder_end(&d, &data), MCP_DONE);

    mcp_sse_decoder_free(&d);
    mcp_buf_free(&out);
}


TEST(events_are_decoded_wherever_the_input_is_divided)
{
    size_t  i, cut, len;

    for (i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        len = strlen(streams[i].in);

        for (cut = 1; cut <= len; cut++) {
            check_stream(i, cut, len, &tm.mem);
        }

        check_stream(i, 1, 1, &tm.mem);
        check_stream(i, 2, 2, &tm.mem);
        check_stream(i, 3, 3, &tm.mem);

        assert_int_equal(tm.live, 0);
    }
}


/* Lines of each length, at the end of a text. */
TEST(lines_of_each_length_and_line_end_are_decoded)
{
    static const char *const  ends[] = { "\n", "\r", "\r\n" };

    char               text[640], *p;
    size_t             i, n, consumed;
    mcp_str_t          data;
    mcp_sse_decoder_t  d;

    for (n = 1; n < 600; n++) {
        for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
            mcp_sse_decoder_init(&d, &tm.mem, 1000);

            memset(text, 'x', sizeof(text));
            memcpy(text, "data:", 5);
            p = text + 5 + n;
            p = stpcpy(stpcpy(p, ends[i]), ends[i]);

            assert_ok(mcp_sse_decode(&d, text, (size_t) (p - text), &consumed,
                                     &data));
            assert_int_equal(consumed, p - text);
            assert_int_equal(data.len, n);
            assert_memory_equal(data.data, text + 5, n);

            mcp_sse_decoder_free(&d);
        }
    }
}


TEST(decoder_consumes_the_input_up_to_the_end_of_an_event)
{
    size_t             consumed;
    mcp_str_t          data;
    mcp_sse_decoder_t  d;

    mcp_sse_decoder_init(&d, &tm.mem, 1000);

    assert_ok(mcp_sse_decode(&d, "data: a\n\ndata: b\r\n\r\nx", 21,
                             &consumed, &data));
    assert_int_equal(consumed, 9);
    assert_str_is(data, "a");

    assert_ok(mcp_sse_decode(&d, "data: b\r\n\r\nx", 12, &consumed, &data));
    assert_int_equal(consumed, 11);
    assert_str_is(data, "b");

    assert_int_equal(mcp_sse_decode(&d, NULL, 0, &consumed, &data),
                     MCP_AGAIN);
    assert_int_equal(consumed, 0);

    mcp_sse_decoder_free(&d);
}


/* The limit applies to the data of an event, however the input is split. After
 * the error, each call returns the error. */
TEST(event_or_line_beyond_the_limit_is_an_error)
{
    int                rc;
    char               in[64];
    size_t             n, i, len, step, consumed;
    mcp_str_t          data;
    mcp_sse_decoder_t  d;

    for (n = 15; n <= 17; n++) {
        len = (size_t) snprintf(in, sizeof(in), "data: %.*s\ndata: 1234567\n\n",
                                (int) n - 8, "abcdefghijklmnop");

        for (step = 1; step <= len; step++) {
            mcp_sse_decoder_init(&d, &tm.mem, 16);

            for (i = 0, rc = MCP_AGAIN; i < len && rc == MCP_AGAIN; i += step) {
                rc = mcp_sse_decode(&d, in + i, step < len - i ? step : len - i,
                                    &consumed, &data);
            }

            assert_int_equal(rc, n <= 16 ? MCP_OK : MCP_ERR_LIMIT);

            if (rc != MCP_OK) {
                assert_int_equal(mcp_sse_decode(&d, "\n", 1, &consumed,
                                                &data), MCP_ERR_LIMIT);
                assert_int_equal(mcp_sse_decoder_end(&d, &data),
                                 MCP_ERR_LIMIT);
            }

            mcp_sse_decoder_free(&d);
        }
    }

    /* a comment whose line never ends: an error */

    mcp_sse_decoder_init(&d, &tm.mem, 16);

    for (i = 0, rc = MCP_AGAIN; rc == MCP_AGAIN; i++) {
        rc = mcp_sse_decode(&d, ":::", 3, &consumed, &data);
        assert_true(i < 20);
    }

    assert_int_equal(rc, MCP_ERR_LIMIT);
    mcp_sse_decoder_free(&d);

    /* a long line in one piece, with and without an end */

    memset(in, ':', sizeof(in));
    mcp_sse_decoder_init(&d, &tm.mem, 16);
    assert_int_equal(mcp_sse_decode(&d, in, sizeof(in), &consumed, &data),
                     MCP_ERR_LIMIT);
    mcp_sse_decoder_free(&d);

    in[63] = '\n';
    mcp_sse_decoder_init(&d, &tm.mem, 16);
    assert_int_equal(mcp_sse_decode(&d, in, sizeof(in), &consumed, &data),
                     MCP_ERR_LIMIT);
    mcp_sse_decoder_free(&d);
}


TEST(memory_runs_out__decoding_an_event_fails)
{
    int                rc;
    size_t             i, consumed;
    mcp_str_t          data;
    unsigned long      k = 0;
    mcp_sse_decoder_t  d;
    static const char  in[] = "data: first\ndata: second\n\ndata: third";
    static const char   last[] = "data: first\n"
        ":a line that is too long, as 64 bytes are more than a line may have";

    /* an input with several errors: the first one is reported */

    tm.fail_at = 1;
    mcp_sse_decoder_init(&d, &tm.mem, 16);
    assert_int_equal(mcp_sse_decode(&d, last, sizeof(last) - 1, &consumed,
                                    &data),
                     MCP_ERR_MEMORY);
    mcp_sse_decoder_free(&d);

    while (test_next_failure(&tm, &k)) {
        tm.fail_at = k;

        mcp_sse_decoder_init(&d, &tm.mem, 100000);

        for (i = 0, rc = MCP_AGAIN; i < sizeof(in) - 1 && rc >= 0; i++) {
            rc = mcp_sse_decode(&d, in + i, 1, &consumed, &data);
        }

        if (rc >= 0) {
            rc = mcp_sse_decoder_end(&d, &data);
        }

        assert_int_equal(rc, tm.failed ? MCP_ERR_MEMORY : MCP_OK);

        mcp_sse_decoder_free(&d);
        assert_int_equal(tm.live, 0);
    }

    assert_true(k > 2);
}


/* If the data of an event is one line that arrived in one piece, it is a slice
 * of the input. Data that was joined from lines or pieces is in the decoder's
 * buffer, and the decoder reports that. */
TEST(event_data_is_one_line_in_one_piece__the_decoder_returns_it_uncopied)
{
    size_t             consumed;
    mcp_str_t          data, in;
    mcp_sse_decoder_t  d;

    mcp_sse_decoder_init(&d, &tm.mem, 1000);

    in = mcp_str("event: message\ndata: abc\n\ndata: a\ndata: b\n\ndata: d");

    assert_ok(mcp_sse_decode(&d, in.data, in.len, &consumed, &data));
    assert_ptr_equal(data.data, in.data + 21);
    assert_str_is(data, "abc");
    assert_int_equal(d.joined, 0);
    assert_int_equal(tm.live, 0);

    in.data += consumed;
    in.len -= consumed;

    assert_ok(mcp_sse_decode(&d, in.data, in.len, &consumed, &data));
    assert_str_is(data, "a\nb");
    assert_int_equal(d.joined, 1);

    in.data += consumed;
    in.len -= consumed;

    assert_int_equal(mcp_sse_decode(&d, in.data, in.len, &consumed, &data),
                     MCP_AGAIN);
    in = mcp_str("e\n\n");
    assert_ok(mcp_sse_decode(&d, in.data, in.len, &consumed, &data));
    assert_str_is(data, "de");
    assert_int_equal(d.joined, 0);

    mcp_sse_decoder_free(&d);
}


/* Decodes all input in steps, and checks the last id and "retry". */
static void
check_ids(const char *in, size_t step, const char *id, uint64_t retry)
{
    size_t             i, n, len, consumed;
    mcp_str_t          data;
    mcp_sse_decoder_t  d;

    test_mem_init(&tm);
    mcp_sse_decoder_init(&d, &tm.mem, 2000);
    assert_ok(mcp_sse_decoder_keep_ids(&d, mcp_str("old")));

    len = strlen(in);

    for (i = 0; i < len; i += consumed) {
        n = step < len - i ? step : len - i;
        assert_true(mcp_sse_decode(&d, in + i, n, &consumed, &data) >= 0);
    }

    assert_str_is(mcp_buf_text(&d.id), id);
    assert_int_equal(d.retry, retry);

    mcp_sse_decoder_free(&d);
    assert_int_equal(tm.live, 0);
}


TEST(last_event_id_and_retry_time_are_those_of_the_last_complete_event)
{
    static const struct {
        const char  *in;
        const char  *id;
        uint64_t     retry;
    } cases[] = {
        { "", "old", 0 },
        { "data: a\n\n", "old", 0 },
        { "id: 1\ndata:\n\n", "1", 0 },
        { "id: 1\nretry: 5\n\n", "1", 5 },
        { "id:1\ndata: a\n\nid: 2\ndata: b\n", "1", 0 },
        { "id: 1\nid: 2\r\n\r\ndata: b\n\n", "2", 0 },
        { "event: other\nid: 1\ndata: a\n\n", "1", 0 },
        { "id: 1\n\nid\n\n", "", 0 },
        { "id: 1\n\nid: a b\n\n", "", 0 },
        { "id: 1\n\nid: \xc3\xa4\n\n", "", 0 },
        { "retry: 5\nretry: x\nretry:\nretry: -1\n\n", "old", 5 },
        { "retry: 7", "old", 0 },
        { "ids: 1\nretrys: 5\n\n", "old", 0 },
    };

    size_t  i, step;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (step = 1; step < 40; step++) {
            check_ids(cases[i].in, step, cases[i].id, cases[i].retry);
        }
    }
}


TEST(id_is_longer_than_1024_bytes__it_counts_as_empty)
{
    char  in[MCP_SSE_ID + 16], id[MCP_SSE_ID + 2];

    memset(id, 'x', sizeof(id));
    id[MCP_SSE_ID] = '\0';
    snprintf(in, sizeof(in), "id: %s\n\n", id);
    check_ids(in, sizeof(in), id, 0);
    check_ids(in, 7, id, 0);

    id[MCP_SSE_ID] = 'x';
    id[MCP_SSE_ID + 1] = '\0';
    snprintf(in, sizeof(in), "id: %s\n\n", id);
    check_ids(in, sizeof(in), "", 0);
    check_ids(in, 7, "", 0);
}


TEST(decoder_keeps_event_ids_and_retry_times_only_if_requested)
{
    size_t             consumed;
    mcp_str_t          data;
    mcp_sse_decoder_t  d;

    mcp_sse_decoder_init(&d, &tm.mem, 1000);
    assert_int_equal(mcp_sse_decode(&d, "id: 1\nretry: 5\n\n", 16, &consumed,
                                    &data), MCP_AGAIN);
    assert_int_equal(d.id.len, 0);
    assert_int_equal(d.retry, 0);
    assert_int_equal(tm.live, 0);
    mcp_sse_decoder_free(&d);
}


RUN_TESTS(init, done)
