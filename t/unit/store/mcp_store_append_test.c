/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_append.c: room in the region, and owners that wait for it. */


#include "store_fixture.h"


/* Returns MCP_OK if a new call without a tenant may begin. */
static int
admits(void)
{
    mcp_tenant_t   tenant;
    unsigned char  session[MCP_DIGEST_LEN] = { 0 };

    memset(&tenant, 0, sizeof(tenant));

    return mcp_store_admits(S0, session, 0, &tenant);
}


static void
test_full(void **state)
{
    int                taken;
    unsigned           i, n;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   over[5], run[5], ref, other;
    mcp_store_wake_t   wake;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    /* five calls are over, and their events are sent below; five other calls
     * are active */

    for (i = 0; i < 5; i++) {
        store_spec(&spec, i, 1);
        store_create(&d, 0, &spec, &over[i]);
        store_append(&d, 0, &over[i], store_message(i, 10000), 0,
                  MCP_STATE_COMPLETED);
        store_spec(&spec, 100 + i, 2);
        store_create(&d, i % 2, &spec, &run[i]);
        store_append(&d, 0, &run[i], store_message(i, 100), -1,
                  MCP_STATE_PROCESSING);
    }

    for (i = 5; i-- > 0; ) {
        assert_int_equal(mcp_store_watch(S1, &over[i], 5, 0, &cursor, &taken),
                         MCP_OK);
        mcp_store_unwatch(S1, &over[i], 5, 1, 10);
    }

    /* appends need room: lingering streams are evicted, the first to linger
     * first */

    store_spec(&spec, 200, 3);
    store_create(&d, 0, &spec, &ref);
    assert_int_equal(admits(), MCP_OK);

    for (n = 0; store_counter(&d, MCP_COUNT_STREAMS_EVICTED) < 2; n++) {
        assert_int_equal(store_append(&d, 0, &ref, store_message(n, 3000),
                                            -1,
                                   MCP_STATE_PROCESSING), MCP_OK);
    }

    assert_int_equal(mcp_store_info(S0, &over[4], &info), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_info(S0, &over[3], &info), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_info(S0, &over[2], &info), MCP_OK);
    store_sound(&d);

    /* a lingering stream gets a consumer: the stream is not evicted */

    assert_int_equal(mcp_store_watch(S1, &over[2], 5, 0, &cursor, &taken),
                     MCP_OK);

    while (store_append(&d, 0, &ref, store_message(n, 1000), -1,
                     MCP_STATE_PROCESSING) == MCP_OK)
    {
        /* void */
    }

    assert_int_equal(mcp_store_info(S0, &over[2], &info), MCP_OK);
    assert_int_equal(mcp_store_info(S0, &over[0], &info), MCP_ERR_NOT_FOUND);

    while (store_append(&d, 0, &ref, store_message(n, 10), -1,
                     MCP_STATE_PROCESSING) == MCP_OK)
    {
        /* void */
    }

    store_sound(&d);
    store_spec(&spec, 300, 4);
    assert_int_equal(mcp_store_create(S0, &spec, 1, &other), MCP_ERR_FULL);
    assert_int_equal(admits(), MCP_OK);
    assert_int_equal(store_append(&d, 0, &run[0], store_message(n, 100000), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_FULL);

    /* full region: active calls can still be cancelled, get another consumer
     * and be answered */

    for (i = 1; i < 5; i++) {
        assert_int_equal(mcp_store_cancel(S0, &run[i], 1), MCP_OK);
        assert_int_equal(mcp_store_inbox_put(S0, &run[i], MCP_INBOX_INPUT, 0,
                                        store_message(1, 600)), MCP_ERR_FULL);
        assert_int_equal(mcp_store_watch(S0, &run[i], 5, 0, &cursor, &taken),
                         MCP_OK);
        assert_int_equal(mcp_store_watch(S0, &run[i], 6, 0, &cursor, &taken),
                         MCP_OK);
        assert_int_equal(store_append(&d, 0, &run[i], store_message(i, 5000), 0,
                                   MCP_STATE_COMPLETED), MCP_OK);
    }

    assert_int_equal(mcp_store_value_set(S0, 'd', spec.session, 1, 0, NULL),
                     MCP_OK);
    mcp_store_value_delete(S0, 'd', spec.session);
    store_sound(&d);

    /* the region has room again: the owner whose append failed is woken
     * once */

    store_drain(&d, 0, NULL);
    store_drain(&d, 1, NULL);
    mcp_store_free(S1, &run[1]);
    store_drain(&d, 0, NULL);
    mcp_store_free(S0, &over[2]);
    mcp_store_free(S0, &ref);
    assert_int_equal(store_drain(&d, 0, &wake), 1);
    assert_int_equal(wake.kind, MCP_WAKE_OWNER);
    assert_int_equal(wake.ref.index, run[0].index);
    assert_int_equal(store_append(&d, 0, &run[0], store_message(n, 100000), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(admits(), MCP_OK);
}


/* Appends events of one chunk each until "room" chunks are left, not counting
 * the reserve. */
static void
leave_room(const mcp_stream_ref_t *ref, uint32_t room)
{
    while (mcp_store_room(d.store[0].head, 0) > room) {
        assert_int_equal(store_append(&d, 0, ref, store_message(1, 460),
                                            -1,
                                   MCP_STATE_PROCESSING), MCP_OK);
    }

    assert_int_equal(mcp_store_room(d.store[0].head, 0), room);
}


/* An owner whose append failed is woken when there is enough room for its
 * message, not before: otherwise it would be woken again and again. */
static void
test_blocked_on_space(void **state)
{
    size_t             len, k;
    uint32_t           takes;
    mcp_stream_ref_t   hog, ref;
    mcp_store_wake_t   wake;
    mcp_stream_spec_t  spec;

    static const size_t  sizes[] = {
        65537, 65744, 65745, 65760, 70200, 400, 5000, 65536
    };

    (void) state;

    for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        len = sizes[k];
        store_spec(&spec, 1, 1);
        store_create(&d, 0, &spec, &hog);
        store_spec(&spec, 2, 1);
        store_create(&d, 0, &spec, &ref);

        /* the last chunk of the stream has free bytes; messages of more than
         * 64 KiB do not use them */

        assert_int_equal(store_append(&d, 0, &ref, store_message(1, 100),
                                            -1,
                                   MCP_STATE_PROCESSING), MCP_OK);

        takes = (uint32_t) ((len + (len > 65536 ? 16 : 0)
                             - (len > 65536 ? 0 : 344) + 479) / 480);
        leave_room(&hog, takes - 1);
        store_drain(&d, 0, NULL);

        assert_int_equal(store_append(&d, 0, &ref, store_message(2, len),
                                            -1,
                                   MCP_STATE_PROCESSING), MCP_ERR_FULL);
        assert_int_equal(store_drain(&d, 0, NULL), 0);
        assert_int_equal(store_append(&d, 0, &ref, store_message(2, len),
                                            -1,
                                   MCP_STATE_PROCESSING), MCP_ERR_FULL);
        assert_int_equal(store_drain(&d, 0, NULL), 0);
        store_sound(&d);

        /* one more chunk becomes free: the owner is woken, and its append
         * succeeds */

        assert_int_equal(mcp_store_confirm(S0, &hog, 1), MCP_OK);
        assert_int_equal(mcp_store_room(d.store[0].head, 0), takes);
        assert_int_equal(store_drain(&d, 0, &wake), 1);
        assert_int_equal(wake.handle, spec.handle);
        assert_int_equal(store_append(&d, 0, &ref, store_message(2, len),
                                            -1,
                                   MCP_STATE_PROCESSING), MCP_OK);
        assert_int_equal(mcp_store_room(d.store[0].head, 0), 0);
        store_sound(&d);

        mcp_store_free(S0, &hog);
        mcp_store_free(S0, &ref);
    }
}


/* Reads all events of a stream, which then count as sent. */
static void
send_all(const mcp_stream_ref_t *ref, mcp_cursor_t *cursor)
{
    size_t       len;
    static char  buf[65536];

    while (mcp_store_read(S1, ref, 5, cursor, cursor->seq, buf, sizeof(buf),
                          &len) == MCP_OK)
    {
        /* void */
    }
}


/* A stream fills the region and all its events were sent: appends succeed, and
 * so does a response of any length. */
static void
test_full_of_sent(void **state)
{
    int                taken;
    size_t             k;
    unsigned           i;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    static const size_t  sizes[][3] = {
        { 1000, 5000, 1000 },
        { 60000, 100, 64000 },
        { 60000, 100, 100000 },
        { 100000, 100, 100000 },
        { 2000, 2000, 1600000 },
        { 1600000, 10, 1600000 }
    };

    (void) state;

    for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        store_spec(&spec, 1, 1);
        store_create(&d, 0, &spec, &ref);
        assert_int_equal(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken),
                         MCP_OK);

        for (i = 0; i < sizes[k][1]; i++) {
            assert_int_equal(store_append(&d, 0, &ref,
                                       store_message(i, sizes[k][0]), -1,
                                       MCP_STATE_PROCESSING), MCP_OK);
            send_all(&ref, &cursor);
        }

        assert_int_equal(store_append(&d, 0, &ref, store_message(i, sizes[k][2]),
                                   0, MCP_STATE_COMPLETED), MCP_OK);
        assert_int_equal(cursor.seq, sizes[k][1]);
        send_all(&ref, &cursor);
        assert_int_equal(cursor.seq, sizes[k][1] + 1);
        store_sound(&d);
        mcp_store_free(S0, &ref);
    }
}


/* A stream fills the region: appends remove no more sent events than necessary
 * and no unsent ones, and the owner is woken each time that the reader has
 * sent more events. */
static void
test_full_of_own(void **state)
{
    size_t             len, k;
    unsigned           n;
    uint32_t           room;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_store_wake_t   wake;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;
    int                taken;
    char               buf[1000];

    static const size_t  sizes[] = { 400, 4000, 70000 };

    (void) state;

    for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        store_spec(&spec, 1, 1);
        store_create(&d, 0, &spec, &ref);
        leave_room(&ref, 0);
        assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
        n = (unsigned) info.last_seq;

        assert_int_equal(store_append(&d, 0, &ref, store_message(1, sizes[k]), -1,
                                   MCP_STATE_PROCESSING), MCP_ERR_FULL);
        assert_int_equal(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken),
                         MCP_OK);
        store_drain(&d, 0, NULL);

        /* the reader reports one event as sent: its chunk can be reused, and
         * the owner is woken */

        assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 0, buf, 520,
                                        &len), MCP_OK);
        assert_int_equal(cursor.seq, 1);
        assert_int_equal(store_drain(&d, 0, NULL), 0);
        assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 1, buf, 520,
                                        &len), MCP_OK);
        assert_int_equal(store_drain(&d, 0, &wake), 1);
        assert_int_equal(wake.kind, MCP_WAKE_OWNER);

        assert_int_equal(store_append(&d, 0, &ref, store_message(1, sizes[k]), -1,
                                   MCP_STATE_PROCESSING),
                         sizes[k] == 400 ? MCP_OK : MCP_ERR_FULL);
        assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
        assert_int_equal(info.first_seq, 2);
        store_sound(&d);

        if (sizes[k] != 400) {
            send_all(&ref, &cursor);
            assert_int_equal(store_drain(&d, 0, NULL), 1);
            assert_int_equal(store_append(&d, 0, &ref,
                                       store_message(1, sizes[k]), -1,
                                       MCP_STATE_PROCESSING), MCP_OK);
            assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
            assert_int_equal(info.last_seq, n + 1);
            room = mcp_store_room(d.store[0].head, 0);
            assert_int_equal(room, 0);
            assert_true(info.first_seq < 200);
        }

        mcp_store_free(S0, &ref);
    }
}


/* MCP_COUNT_EVENTS counts the successful appends to streams, and nothing
 * else. */
static void
test_counted(void **state)
{
    size_t             n;
    unsigned           i;
    uint64_t           position;
    mcp_stream_ref_t   ref, listener;
    mcp_stream_spec_t  spec;

    (void) state;

    store_spec(&spec, 1, 1);
    spec.max_events = 2;
    store_create(&d, 0, &spec, &ref);
    store_spec(&spec, 2, 1);
    spec.kind = MCP_STREAM_LISTEN;
    spec.max_events = 2;
    store_create(&d, 0, &spec, &listener);
    assert_int_equal(mcp_store_subscribe(S0, &listener, TOPIC(1)), MCP_OK);
    assert_int_equal(store_counter(&d, MCP_COUNT_EVENTS), 0);

    assert_int_equal(store_append(&d, 0, &ref, mcp_str("x"), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(store_append(&d, 0, &ref, store_message(1, 100000),
                                        -1,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(store_counter(&d, MCP_COUNT_EVENTS), 2);

    assert_int_equal(store_append(&d, 0, &ref, mcp_str("x"), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_LIMIT);
    assert_int_equal(store_counter(&d, MCP_COUNT_EVENTS), 2);
    assert_int_equal(store_append(&d, 0, &ref, mcp_str("end"), 0,
                               MCP_STATE_COMPLETED), MCP_OK);
    assert_int_equal(store_counter(&d, MCP_COUNT_EVENTS), 3);

    /* a message for a topic without a listener: not counted; messages for a
     * topic with one listener: counted, even if the listener is at its limit
     * of events and drops its oldest event */

    position = 0;
    assert_int_equal(store_publish(S1, TOPIC(2), mcp_str("m"), 10,
                                   &position, &n), MCP_OK);
    assert_int_equal(store_counter(&d, MCP_COUNT_EVENTS), 3);

    for (i = 0; i < 2; i++) {
        position = 0;
        assert_int_equal(store_publish(S1, TOPIC(1), mcp_str("m"), 10,
                                       &position, &n), MCP_OK);
    }

    position = 0;

    while (store_publish(S1, TOPIC(1), store_message(1, 100000), 10,
                         &position, &n) == MCP_AGAIN)
    {
        /* void */
    }

    assert_int_equal(store_counter(&d, MCP_COUNT_EVENTS), 6);
    assert_int_equal(store_counter(&d, MCP_COUNT_EVENTS_DROPPED), 1);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        store_test(test_full),
        store_test(test_blocked_on_space),
        store_test(test_full_of_sent),
        store_test(test_full_of_own),
        store_test(test_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
