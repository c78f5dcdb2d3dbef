/* SPDX-License-Identifier: Apache-2.0 */

/* FastCGI: requests, and replies that arrive in pieces of any size. */


#include "test_env.h"

#include "base/mcp_buf.h"
#include "mcp_fastcgi.h"


#define OUT  6
#define ERR  7
#define END  3


static const char *const  words[] = {
    "more", "out", "out-end", "err", "end", "unknown", "version", "id"
};


/* Appends a record whose padding is not zero. */
static void
add(mcp_buf_t *b, int type, const char *text, int padding)
{
    char    head[MCP_FASTCGI_HEAD];
    size_t  len = strlen(text);

    assert_ptr_equal(mcp_fastcgi_record(head, type, len), head + sizeof(head));
    head[6] = (char) padding;

    mcp_buf_add(b, head, sizeof(head));
    mcp_buf_add(b, text, len);

    while (padding-- > 0) {
        mcp_buf_lit(b, "!");
    }
}


/* Reads a reply in pieces of "step" bytes, and writes the events to "found";
 * pieces of one record are joined. */
static void
tell(const char *data, size_t len, size_t step, mcp_buf_t *found)
{
    size_t          n;
    mcp_str_t       in, piece;
    mcp_fastcgi_t   f;
    mcp_fastcgi_e   e, last = MCP_FASTCGI_MORE;

    memset(&f, 0, sizeof(f));

    for ( /* void */ ; len > 0; data += n, len -= n) {
        n = step < len ? step : len;
        in.data = data;
        in.len = n;

        while ((e = mcp_fastcgi_read(&f, &in, &piece)) != MCP_FASTCGI_MORE) {
            if (e != last || (e != MCP_FASTCGI_OUT && e != MCP_FASTCGI_ERR)) {
                mcp_buf_lit(found, " ");
                mcp_buf_add(found, words[e], strlen(words[e]));
                mcp_buf_lit(found, ":");
            }

            if (e == MCP_FASTCGI_OUT || e == MCP_FASTCGI_ERR) {
                assert_true(piece.len > 0);
                mcp_buf_str(found, piece);
            }

            last = e;

            if (e == MCP_FASTCGI_BAD_VERSION || e == MCP_FASTCGI_BAD_ID) {
                return;
            }
        }

        assert_int_equal(in.len, 0);
    }

    if (mcp_fastcgi_is_padded(&f)) {
        mcp_buf_lit(found, " padded");

    } else if (!mcp_fastcgi_is_between(&f)) {
        mcp_buf_lit(found, " cut");
    }
}


/* Reads a reply in pieces of each size, and checks the events. */
static void
check(const mcp_buf_t *b, const char *expected)
{
    size_t      step;
    test_mem_t  tm;
    mcp_buf_t   found;

    test_mem_init(&tm);

    for (step = 1; step <= b->len; step++) {
        mcp_buf_init(&found, &tm.mem, 4096);
        tell(b->data, b->len, step, &found);

        assert_int_equal(found.len, strlen(expected));
        assert_memory_equal(found.data, expected, found.len);

        mcp_buf_free(&found);
    }

    assert_int_equal(tm.live, 0);
}


static void
test_reply(void **state)
{
    test_mem_t  tm;
    mcp_buf_t   b;

    (void) state;

    test_mem_init(&tm);
    mcp_buf_init(&b, &tm.mem, 4096);

    add(&b, OUT, "A: b\r\n\r\n", 0);
    check(&b, " out:A: b\r\n\r\n");

    add(&b, ERR, "oops", 4);
    add(&b, OUT, "body", 1);
    add(&b, ERR, "", 0);
    add(&b, OUT, "", 8);
    add(&b, END, "12345678", 3);
    check(&b, " out:A: b\r\n\r\n err:oops out:body out-end: end:");

    /* another one */

    add(&b, END, "", 0);
    check(&b, " out:A: b\r\n\r\n err:oops out:body out-end: end: end:");

    mcp_buf_free(&b);
}


static void
test_broken(void **state)
{
    char        *head;
    test_mem_t   tm;
    mcp_buf_t    b;

    (void) state;

    test_mem_init(&tm);
    mcp_buf_init(&b, &tm.mem, 4096);

    /* the reply ends within the content of a record, and within its padding */

    add(&b, OUT, "body", 3);
    b.len -= 4;
    check(&b, " out:bod cut");
    b.len += 2;
    check(&b, " out:body padded");
    b.len += 2;
    check(&b, " out:body");

    /* records of an unknown type, with and without content */

    add(&b, 10, "ignored", 1);
    add(&b, 11, "", 0);
    add(&b, OUT, "more", 0);
    check(&b, " out:body unknown: unknown: out:more");

    head = b.data + b.len;
    add(&b, OUT, "lost", 0);
    head[3] = 2;
    check(&b, " out:body unknown: unknown: out:more id:");

    head[3] = 1;
    head[2] = 1;
    check(&b, " out:body unknown: unknown: out:more id:");

    head[0] = 2;
    check(&b, " out:body unknown: unknown: out:more version:");

    mcp_buf_free(&b);
}


/* The longest records, with the longest padding. */
static void
test_longest(void **state)
{
    size_t          i, n, total = 0;
    mcp_str_t       in, piece;
    mcp_fastcgi_t   f = { .have = 0 };

    static char  data[MCP_FASTCGI_HEAD + 65535 + 255];

    (void) state;

    mcp_fastcgi_record(data, OUT, 65535);
    data[6] = (char) 255;

    for (i = 0; i < sizeof(data); i += n) {
        n = sizeof(data) - i < 1000 ? sizeof(data) - i : 1000;
        in.data = data + i;
        in.len = n;

        while (mcp_fastcgi_read(&f, &in, &piece) == MCP_FASTCGI_OUT) {
            total += piece.len;
        }
    }

    assert_int_equal(total, 65535);
    assert_true(mcp_fastcgi_is_between(&f));
}


static void
test_request(void **state)
{
    char        *p;
    mcp_str_t    value;

    static char  data[400], text[200];

    static const char  begin[] = "\1\1\0\1\0\10\0\0\0\1\1\0\0\0\0\0";
    static const char  leave[] = "\1\1\0\1\0\10\0\0\0\1\0\0\0\0\0\0";

    (void) state;

    p = mcp_fastcgi_begin(data, 1);
    assert_int_equal(p - data, MCP_FASTCGI_BEGIN_LEN);
    assert_memory_equal(data, begin, MCP_FASTCGI_BEGIN_LEN);

    mcp_fastcgi_begin(data, 0);
    assert_memory_equal(data, leave, MCP_FASTCGI_BEGIN_LEN);

    mcp_fastcgi_record(data, MCP_FASTCGI_STDIN, 0x1234);
    assert_memory_equal(data, "\1\5\0\1\x12\x34\0\0", MCP_FASTCGI_HEAD);

    /* parameters whose lengths need one byte, and those that need four */

    memset(text, 'x', sizeof(text));
    value.data = text;
    value.len = 127;

    p = mcp_fastcgi_param(data, data + sizeof(data), mcp_str("NAME"), value);
    assert_int_equal(p - data, 2 + 4 + 127);
    assert_memory_equal(data, "\4\177NAMEx", 7);

    value.len = 128;

    p = mcp_fastcgi_param(data, data + sizeof(data), mcp_str("NAME"), value);
    assert_int_equal(p - data, 1 + 4 + 4 + 128);
    assert_memory_equal(data, "\4\200\0\0\200NAMEx", 10);

    p = mcp_fastcgi_param(data, data + sizeof(data), value, mcp_str(""));
    assert_int_equal(p - data, 4 + 1 + 128);
    assert_memory_equal(data, "\200\0\0\200\0x", 6);

    value.data = NULL;
    value.len = 0;
    p = mcp_fastcgi_param(data, data + sizeof(data), mcp_str("N"), value);
    assert_int_equal(p - data, 3);
}


/* Nothing is written after the end of the buffer. */
static void
test_room(void **state)
{
    char       *data, *p;
    size_t      room;
    mcp_str_t   value;

    static char  text[200];

    (void) state;

    value.data = text;
    value.len = sizeof(text);

    for (room = 0; room < 300; room++) {
        data = malloc(room + 1);
        assert_non_null(data);
        data[room] = '!';

        p = mcp_fastcgi_param(data, data + room, mcp_str("NAME"), value);
        assert_true(p == NULL || p <= data + room);
        assert_true(p != NULL || room < sizeof(text) + 16);
        assert_int_equal(data[room], '!');

        free(data);
    }
}


/* Returns the length of the head at the start of a text, which is read in
 * pieces of "step" bytes; 0: the head does not end. */
static size_t
head_of(const char *text, size_t step)
{
    size_t               n, end, at, len = strlen(text);
    mcp_str_t            piece;
    mcp_fastcgi_state_e  state = MCP_FASTCGI_LINE;

    for (at = 0; at < len; at += n) {
        n = step < len - at ? step : len - at;
        piece.data = text + at;
        piece.len = n;

        end = mcp_fastcgi_head_end(&state, piece);

        if (end > 0) {
            assert_true(end <= n);
            return at + end;
        }
    }

    return 0;
}


static void
test_head_end(void **state)
{
    size_t  i, step;

    static const struct {
        const char  *text;
        size_t       len;
    } texts[] = {
        { "A: b\r\n\r\nbody\r\n\r\n", 8 },
        { "A: b\n\nbody\n\n", 6 },
        { "A: b\r\nC: d\nE: f\n\n", 17 },
        { "\r\n\r\nx", 4 },
        { "\n\nx", 2 },

        /* not alike */

        { "A: b\r\n\n\n", 8 },
        { "A: b\n\r\n\r\n", 9 },
        { "A: b\r\n\nbody", 0 },
        { "A: b\n\r\nbody", 0 },

        /* none */

        { "A: b\r\r\n", 0 },
        { "A: b\r\n\r\r\n", 0 },
        { "A: b\r\n\rx\n", 0 },
        { "A: b\r\n\r", 0 },
        { "A: b\n", 0 },
        { "\t\v\f", 0 },
        { "A\n\t\nB\n\n", 7 },
    };

    (void) state;

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (step = 1; step <= strlen(texts[i].text); step++) {
            assert_int_equal(head_of(texts[i].text, step), texts[i].len);
        }
    }
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_reply),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_longest),
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_head_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
