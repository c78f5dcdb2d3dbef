/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_consumer.c: consumers that read a stream, and consumers that
 * displace another one. */


#include "store_fixture.h"


#define STREAMS  8
#define KNOWN    64


/* A consumer reads while events are appended, the oldest events are removed,
 * and the store is repaired: the consumer gets all events. */
TEST(consumer_reads_during_appends_and_repairs__it_gets_all_events)
{
    int                rc;
    char               buf[700];
    size_t             len;
    unsigned           i;
    mcp_buf_t          want, have;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    mcp_buf_init(&want, &d.tm.mem, 1 << 24);
    mcp_buf_init(&have, &d.tm.mem, 1 << 24);

    store_spec(&spec, 1, 1);
    spec.max_events = 100;
    store_create(&d, 0, &spec, &ref);
    watch_ok(S1, &ref, 5, 0, &cursor);

    for (i = 1; i <= 3000; i++) {
        mcp_str_t  message = store_message(i, i * 37 % 1500);

        d.died = i % 13 == 0;
        rc = store_append(&d, 0, &ref, message, -1, MCP_STATE_PROCESSING);

        if (rc == MCP_ERR_LIMIT) {
            i--;

        } else {
            assert_ok(rc);
            expect_event(&want, &ref, i, message);
        }

        if (i % 3 && rc == MCP_OK) {
            continue;
        }

        d.died = i % 7 == 0;

        if (mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf,
                           64 + i % 600, &len) == MCP_OK)
        {
            mcp_buf_add(&have, buf, len);
        }

        if (i % 100 == 0) {
            store_sound(&d);
        }
    }

    assert_int_equal(read_all(1, &ref, 5, &cursor, 1000, &have), MCP_AGAIN);
    same(&have, &want);

    mcp_buf_free(&want);
    mcp_buf_free(&have);
}


TEST(new_consumer_displaces_the_old_consumer_whose_next_read_is_denied)
{
    int                taken;
    char               buf[500];
    size_t             len;
    mcp_cursor_t       a, b, c;
    mcp_stream_ref_t   ref;
    mcp_store_wake_t   wake;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    store_spec(&spec, 1, 1);
    store_create(&d, 0, &spec, &ref);

    assert_ok(mcp_store_watch(S0, &ref, 1, 0, &a, &taken));
    assert_int_equal(taken, 0);
    assert_int_equal(store_drain(&d, 0, &wake), 1);    /* wake-up of the
                                                          owner */
    assert_int_equal(wake.kind, MCP_WAKE_OWNER);

    assert_int_equal(mcp_store_read(S0, &ref, 1, &a, 0, buf, sizeof(buf),
                                    &len), MCP_AGAIN);
    append_ok(0, &ref, mcp_str("one"));
    assert_int_equal(d.woken[0], 1);

    /* two more consumers displace the first one, before the first one is
     * woken */

    assert_ok(mcp_store_watch(S1, &ref, 2, 0, &b, &taken));
    assert_int_equal(taken, 1);
    assert_ok(mcp_store_watch(S1, &ref, 3, 0, &c, &taken));
    assert_int_equal(taken, 1);
    store_sound(&d);

    assert_int_equal(store_drain(&d, 1, &wake), 1);
    assert_int_equal(wake.kind, MCP_WAKE_CONSUMER);
    assert_int_equal(wake.handle, 2);
    assert_int_equal(wake.ref.index, ref.index);
    assert_int_equal(store_drain(&d, 0, NULL), 2);     /* the owner, and the
                                                          consumer with handle
                                                          1 */

    assert_int_equal(mcp_store_read(S0, &ref, 1, &a, 0, buf, sizeof(buf),
                                    &len), MCP_ERR_DENIED);
    assert_int_equal(mcp_store_read(S1, &ref, 2, &b, 0, buf, sizeof(buf),
                                    &len), MCP_ERR_DENIED);
    mcp_store_unwatch(S1, &ref, 2, 1, 9);
    assert_ok(mcp_store_read(S1, &ref, 3, &c, 0, buf, sizeof(buf), &len));
    assert_ok(mcp_store_info(S0, &ref, &info));
    assert_int_equal(info.unattended, 0);
    assert_int_equal(info.consumer_handle, 3);

    mcp_store_unwatch(S1, &ref, 3, 1, 9);
    assert_ok(mcp_store_info(S0, &ref, &info));
    assert_int_equal(info.unattended, 9);
    assert_int_equal(info.sent_seq, 1);
    assert_int_equal(info.consumer_slot, MCP_STORE_NO_SLOT);

    /* a stream with a consumer is freed: the consumer is woken */

    assert_ok(mcp_store_watch(S1, &ref, 4, 1, &b, &taken));
    mcp_store_free(S0, &ref);
    store_sound(&d);
    assert_int_equal(store_drain(&d, 1, &wake), 1);
    assert_int_equal(wake.handle, 4);
    assert_memory_equal(wake.ref.id, ref.id, MCP_STREAM_ID_LEN);
    assert_int_equal(mcp_store_read(S1, &ref, 4, &b, 0, buf, sizeof(buf),
                                    &len), MCP_ERR_NOT_FOUND);
    mcp_store_free(S0, &ref);

    /* another process frees the stream, not the owner's: the owner is woken */

    store_create(&d, 0, &spec, &ref);
    store_drain(&d, 0, NULL);
    mcp_store_free(S1, &ref);
    assert_int_equal(store_drain(&d, 0, &wake), 1);
    assert_int_equal(wake.handle, spec.handle);
    assert_int_equal(wake.kind, MCP_WAKE_OWNER);
}


/* Checks that a text contains no bytes of other streams: all messages of a
 * stream repeat one byte, which no other stream uses. */
static void
only_of(const char *text, size_t len, unsigned stream)
{
    size_t  i;

    for (i = 0; i < len; i++) {
        if ((text[i] & 0x80) && (text[i] & 0x7f) != (char) stream) {
            fail_msg("stream %u is read in stream %u", text[i] & 0x7f,
                     stream);
        }
    }
}


static unsigned
random_next(uint64_t *random)
{
    *random = *random * 6364136223846793005ULL + 1442695040888963407ULL;

    return (unsigned) (*random >> 33);
}


/* Modifies a cursor: its members get the values of another cursor, old values,
 * or random ones. */
static void
cursor_distort(mcp_cursor_t *cursor, const mcp_cursor_t *other,
    uint64_t *random)
{
    unsigned  n, bits;

    bits = random_next(random);
    n = random_next(random);
    n = bits & 64 ? n % 5000 : bits & 128 ? n % 64 : n;

    *cursor = bits & 256 ? *other : *cursor;
    cursor->seq = bits & 1 ? other->seq : bits & 512 ? n : cursor->seq;
    cursor->chunk = bits & 2 ? n : bits & 1024 ? other->chunk : cursor->chunk;
    cursor->offset = bits & 4 ? n % 1000 : cursor->offset;
    cursor->done = bits & 8 ? n : cursor->done;
    cursor->left = bits & 16 ? n : cursor->left;
    cursor->check = bits & 32 ? other->check : cursor->check;
}


/* Reads with modified cursors return an error or bytes of the right stream,
 * and the store stays intact. */
TEST(read_with_a_corrupted_cursor_returns_no_bytes_of_other_streams)
{
    int                rc, taken;
    char              *buf;
    size_t             len, cap;
    uint64_t           random;
    unsigned           i, k, n, round;
    mcp_cursor_t       cursor, known[KNOWN];
    mcp_stream_ref_t   ref[STREAMS], bad;
    mcp_stream_spec_t  spec;

    static char  text[4000];

    random = 20251125;
    memset(known, 0, sizeof(known));

    for (i = 0; i < STREAMS; i++) {
        store_spec(&spec, i + 1, 1);
        spec.max_events = 40;
        spec.kind = i & 1 ? MCP_STREAM_LISTEN : MCP_STREAM_CALL;
        store_create(&d, 0, &spec, &ref[i]);
    }

    for (round = 0; round < 20000; round++) {
        i = random_next(&random) % STREAMS;

        if (round % 4 == 0) {
            n = random_next(&random) % (round % 3 ? 100 : sizeof(text));
            memset(text, (int) (0x80 | i), n);
            store_append(&d, 0, &ref[i], (mcp_str_t) { text, n }, -1,
                      MCP_STATE_PROCESSING);
        }

        rc = mcp_store_watch(S1, &ref[i], 1, random_next(&random) % 200,
                             &cursor, &taken);
        assert_true(rc == MCP_OK || rc == MCP_ERR_PURGED
                    || rc == MCP_ERR_NOT_FOUND);

        /* one read with an unmodified cursor, which may end within an event */

        cap = MCP_STORE_READ_MIN + random_next(&random) % 1000;
        buf = malloc(cap);
        assert_non_null(buf);

        if (rc == MCP_OK) {
            rc = mcp_store_read(S1, &ref[i], 1, &cursor, cursor.seq, buf, cap,
                                &len);
            only_of(buf, len, i);
        }

        k = random_next(&random) % KNOWN;
        cursor_distort(&cursor, &known[random_next(&random) % KNOWN],
                       &random);

        if (rc == MCP_OK) {
            known[k] = cursor;
        }

        bad = ref[i];
        bad.index = round % 7 ? bad.index : random_next(&random) % 5000;

        for (n = 0; n < 5; n++) {
            rc = mcp_store_read(S1, &bad, 1, &cursor,
                                random_next(&random) % 300, buf, cap, &len);
            assert_true(len <= cap);
            only_of(buf, len, i);

            if (rc != MCP_OK) {
                assert_int_equal(len, 0);
                assert_true(rc == MCP_AGAIN || rc == MCP_ERR_PURGED
                            || rc == MCP_ERR_NOT_FOUND
                            || rc == MCP_ERR_DENIED);
                break;
            }
        }

        free(buf);

        if (round % 500 == 0) {
            store_sound(&d);
        }

        /* a new stream with the same id */

        if (round % 61 == 0) {
            mcp_store_free(S0, &ref[i]);
            store_spec(&spec, i + 1, 1);
            spec.max_events = 40;
            spec.kind = i & 1 ? MCP_STREAM_LISTEN : MCP_STREAM_CALL;
            assert_ok(mcp_store_create(S0, &spec, round, &ref[i]));
        }

        store_drain_all(&d);
    }
}


/*
 * When a reader has read all events, cursor.all is 1, and the reader may delay
 * its report that these events were sent. It has to report them when the next
 * event wakes it, or when the store wakes it because the owner is blocked on
 * space.
 */
TEST(reader_may_delay_its_report_of_sent_events_unless_the_owner_needs_room)
{
    char               buf[4096];
    size_t             len;
    unsigned           i;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    store_spec(&spec, 1, 1);
    spec.max_events = 8;
    store_create(&d, 0, &spec, &ref);
    watch_ok(S1, &ref, 5, 0, &cursor);

    for (i = 1; i <= 2; i++) {
        append_ok(0, &ref, store_message(i, 100));
        assert_ok(mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf,
                                 sizeof(buf), &len));
        assert_int_equal(cursor.all, 1);
        assert_int_equal(store_info(S0, &ref).sent_seq, i - 1);
    }

    /* not all events were read: cursor.all is 0 */

    for ( ; i <= 9; i++) {
        append_ok(0, &ref, store_message(i, 100));
    }

    assert_ok(mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf, 200,
                             &len));
    assert_int_equal(cursor.all, 0);
    store_drain_all(&d);

    append_ok(0, &ref, store_message(10, 100));
    store_drain(&d, 1, NULL);
    append_rc(0, &ref, store_message(11, 100), MCP_ERR_LIMIT);
    woken(1, 1, MCP_WAKE_CONSUMER, 5);

    /* the owner is blocked on space: the reader has to report sent events at
     * once */

    assert_ok(mcp_store_read(S1, &ref, 5, &cursor, 3, buf, sizeof(buf), &len));
    assert_int_equal(cursor.seq, 10);
    assert_int_equal(cursor.all, 0);
    assert_int_equal(store_drain(&d, 0, NULL), 0);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 10, buf, sizeof(buf),
                                    &len), MCP_AGAIN);
    woken_as(0, 1, MCP_WAKE_OWNER);

    /* the stream is over: the reader has to report sent events at once */

    complete_ok(0, &ref, mcp_str("end"));
    assert_ok(mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf,
                             sizeof(buf), &len));
    assert_int_equal(cursor.all, 0);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf,
                                    sizeof(buf), &len), MCP_DONE);
    mcp_store_unwatch(S1, &ref, 5, cursor.seq, 9);
}


RUN_TESTS(setup, teardown)
