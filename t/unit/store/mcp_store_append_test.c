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


TEST(zone_is_full__lingering_streams_are_evicted_so_that_calls_can_complete)
{
    unsigned           i, n;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   over[5], run[5], ref, other;
    mcp_store_wake_t   wake;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    /* five calls are over, and their events are sent below; five other calls
     * are active */

    for (i = 0; i < 5; i++) {
        create_ok(0, i, 1, &over[i]);
        store_append(&d, 0, &over[i], store_message(i, 10000), 0,
                  MCP_STATE_COMPLETED);
        create_ok(i % 2, 100 + i, 2, &run[i]);
        store_append(&d, 0, &run[i], store_message(i, 100), -1,
                  MCP_STATE_PROCESSING);
    }

    for (i = 5; i-- > 0; ) {
        watch_ok(S1, &over[i], 5, 0, &cursor);
        mcp_store_unwatch(S1, &over[i], 5, 1, 10);
    }

    /* appends need room: lingering streams are evicted, the first to linger
     * first */

    create_ok(0, 200, 3, &ref);
    assert_ok(admits());

    for (n = 0; store_counter(&d, MCP_COUNT_STREAMS_EVICTED) < 2; n++) {
        append_ok(0, &ref, store_message(n, 3000));
    }

    assert_int_equal(mcp_store_info(S0, &over[4], &info), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_info(S0, &over[3], &info), MCP_ERR_NOT_FOUND);
    assert_ok(mcp_store_info(S0, &over[2], &info));
    store_sound(&d);

    /* a lingering stream gets a consumer: the stream is not evicted */

    watch_ok(S1, &over[2], 5, 0, &cursor);

    while (store_append(&d, 0, &ref, store_message(n, 1000), -1,
                     MCP_STATE_PROCESSING) == MCP_OK)
    {
        /* void */
    }

    assert_ok(mcp_store_info(S0, &over[2], &info));
    assert_int_equal(mcp_store_info(S0, &over[0], &info), MCP_ERR_NOT_FOUND);

    while (store_append(&d, 0, &ref, store_message(n, 10), -1,
                     MCP_STATE_PROCESSING) == MCP_OK)
    {
        /* void */
    }

    store_sound(&d);
    store_spec(&spec, 300, 4);
    assert_int_equal(mcp_store_create(S0, &spec, 1, &other), MCP_ERR_FULL);
    assert_ok(admits());
    append_rc(0, &run[0], store_message(n, 100000), MCP_ERR_FULL);

    /* full region: active calls can still be cancelled, get another consumer
     * and be answered */

    for (i = 1; i < 5; i++) {
        assert_ok(mcp_store_cancel(S0, &run[i], 1));
        assert_int_equal(mcp_store_inbox_put(S0, &run[i], MCP_INBOX_INPUT, 0,
                                             store_message(1, 600)),
                         MCP_ERR_FULL);
        watch_ok(S0, &run[i], 5, 0, &cursor);
        watch_ok(S0, &run[i], 6, 0, &cursor);
        complete_ok(0, &run[i], store_message(i, 5000));
    }

    assert_ok(mcp_store_value_set(S0, 'd', spec.session, 1, 0, NULL));
    mcp_store_value_delete(S0, 'd', spec.session);
    store_sound(&d);

    /* the region has room again: the owner whose append failed is woken
     * once */

    store_drain_all(&d);
    mcp_store_free(S1, &run[1]);
    store_drain(&d, 0, NULL);
    mcp_store_free(S0, &over[2]);
    mcp_store_free(S0, &ref);
    assert_int_equal(store_drain(&d, 0, &wake), 1);
    assert_int_equal(wake.kind, MCP_WAKE_OWNER);
    assert_int_equal(wake.ref.index, run[0].index);
    append_ok(0, &run[0], store_message(n, 100000));
    assert_ok(admits());
}


/* Appends events of one chunk each until "room" chunks are left, not counting
 * the reserve. */
static void
leave_room(const mcp_stream_ref_t *ref, uint32_t room)
{
    while (mcp_store_room(d.store[0].head, 0) > room) {
        append_ok(0, ref, store_message(1, 460));
    }

    assert_int_equal(mcp_store_room(d.store[0].head, 0), room);
}


/* An owner whose append failed is woken when there is enough room for its
 * message, not before: otherwise it would be woken again and again. */
TEST(append_found_no_room__owner_is_woken_when_the_whole_message_has_room)
{
    size_t             len, k;
    uint32_t           takes;
    mcp_stream_ref_t   hog, ref;
    mcp_store_wake_t   wake;
    mcp_stream_spec_t  spec;

    static const size_t  sizes[] = {
        65537, 65744, 65745, 65760, 70200, 400, 5000, 65536
    };

    for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        len = sizes[k];
        create_ok(0, 1, 1, &hog);
        store_spec(&spec, 2, 1);
        store_create(&d, 0, &spec, &ref);

        /* the last chunk of the stream has free bytes; messages of more than
         * 64 KiB do not use them */

        append_ok(0, &ref, store_message(1, 100));

        takes = (uint32_t) ((len + (len > 65536 ? 16 : 0)
                             - (len > 65536 ? 0 : 344) + 479) / 480);
        leave_room(&hog, takes - 1);
        store_drain(&d, 0, NULL);

        append_rc(0, &ref, store_message(2, len), MCP_ERR_FULL);
        assert_int_equal(store_drain(&d, 0, NULL), 0);
        append_rc(0, &ref, store_message(2, len), MCP_ERR_FULL);
        assert_int_equal(store_drain(&d, 0, NULL), 0);
        store_sound(&d);

        /* one more chunk becomes free: the owner is woken, and its append
         * succeeds */

        assert_ok(mcp_store_confirm(S0, &hog, 1));
        assert_int_equal(mcp_store_room(d.store[0].head, 0), takes);
        assert_int_equal(store_drain(&d, 0, &wake), 1);
        assert_int_equal(wake.handle, spec.handle);
        append_ok(0, &ref, store_message(2, len));
        assert_int_equal(mcp_store_room(d.store[0].head, 0), 0);
        store_sound(&d);

        mcp_store_free(S0, &hog);
        mcp_store_free(S0, &ref);
    }
}


/* A message that the region could never contain is rejected at once, and its
 * owner does not wait in front of others. */
TEST(message_exceeds_the_zone_without_its_reserve__is_too_large)
{
    uint32_t          chunks, reserve, limit;
    mcp_stream_ref_t  hog, big, ref;

    chunks = d.store[0].head->chunks;
    reserve = d.store[0].head->reserve;
    create_ok(0, 1, 1, &hog);
    create_ok(0, 2, 1, &big);
    create_ok(0, 3, 1, &ref);
    leave_room(&hog, 1);

    append_rc(0, &big, store_message(1, (chunks - 50) * 480ul), MCP_ERR_LARGE);
    append_rc(0, &ref, store_message(1, 900), MCP_ERR_FULL);
    mcp_store_free(S0, &hog);
    woken(0, 1, MCP_WAKE_OWNER, 1003);
    append_ok(0, &ref, store_message(1, 900));

    /* the longest message for a stream that is alone: the root, the request
     * and the group of the session take a chunk each */

    mcp_store_free(S0, &ref);
    limit = chunks - reserve - 3;
    append_rc(0, &big, store_message(1, limit * 480ul - 15), MCP_ERR_LARGE);
    append_ok(0, &big, store_message(1, limit * 480ul - 16));
    store_sound(&d);
}


/* An owner waits until its own events were sent, because the room of all other
 * streams would not be enough: other owners do not wait for it. */
TEST(own_events_leave_no_room_for_a_message__other_owners_are_woken_first)
{
    uint32_t          chunks;
    mcp_stream_ref_t  hog, big, ref;

    chunks = d.store[0].head->chunks;
    create_ok(0, 1, 1, &hog);
    create_ok(0, 2, 1, &big);
    create_ok(0, 3, 1, &ref);
    append_ok(0, &big, store_message(1, chunks / 2 * 480ul));
    leave_room(&hog, 1);

    append_rc(0, &big, store_message(1, chunks / 2 * 480ul), MCP_ERR_FULL);
    append_rc(0, &ref, store_message(1, 900), MCP_ERR_FULL);
    store_drain_all(&d);
    mcp_store_free(S1, &hog);
    store_sound(&d);
    assert_int_equal(store_drain(&d, 0, NULL), 2);
    append_ok(0, &ref, store_message(1, 900));

    /* its events are sent: the owner is woken */

    assert_ok(mcp_store_confirm(S1, &big, 1));
    woken(0, 1, MCP_WAKE_OWNER, 1002);
    append_ok(0, &big, store_message(1, chunks / 2 * 480ul));
    store_sound(&d);
}


/* A response may use the reserve: its owner is woken when the reserve has room,
 * before owners of other messages. */
TEST(zone_is_full__owner_of_a_response_is_woken_when_the_reserve_has_room)
{
    uint32_t          reserve;
    mcp_stream_ref_t  hog, other, full, ref;

    reserve = d.store[0].head->reserve;
    create_ok(0, 1, 1, &hog);
    create_ok(0, 2, 1, &other);
    create_ok(0, 3, 1, &full);
    create_ok(1, 4, 1, &ref);
    leave_room(&hog, 0);
    append_rc(0, &other, store_message(1, 2000), MCP_ERR_FULL);
    complete_ok(0, &full, store_message(1, reserve * 480ul - 16));
    assert_int_equal(mcp_store_room(d.store[0].head, 1), 0);

    assert_int_equal(store_append(&d, 1, &ref, store_message(1, 3000), 0,
                                  MCP_STATE_COMPLETED), MCP_ERR_FULL);
    store_drain_all(&d);
    mcp_store_free(S0, &full);
    woken(1, 1, MCP_WAKE_OWNER, 1004);
    assert_int_equal(store_drain(&d, 0, NULL), 0);
    store_sound(&d);
    complete_ok(1, &ref, store_message(1, 3000));

    /* the owner of the other message still waits for room without the
     * reserve */

    mcp_store_free(S0, &ref);
    assert_int_equal(store_drain(&d, 0, NULL), 0);
    mcp_store_free(S1, &hog);
    store_sound(&d);
    assert_int_equal(store_drain(&d, 0, NULL), 2);
}


/* A short response is exempt from the quota, so its owner is woken although its
 * tenant is above its share. */
TEST(tenant_is_above_its_share__owner_of_a_short_response_is_woken)
{
    uint32_t           reserve;
    mcp_stream_ref_t   hog, full, own, ref;
    mcp_stream_spec_t  spec;

    reserve = d.store[0].head->reserve;
    create_ok(0, 1, 1, &hog);
    create_ok(0, 3, 1, &full);
    store_spec(&spec, 2, 1);
    spec.tenant.id[0] = 7;
    store_create(&d, 1, &spec, &own);
    store_spec(&spec, 4, 1);
    spec.tenant.id[0] = 7;
    store_create(&d, 1, &spec, &ref);
    append_ok(1, &own, store_message(1, 100000));
    leave_room(&hog, 0);
    complete_ok(0, &full, store_message(1, reserve * 480ul - 16));

    assert_int_equal(store_append(&d, 1, &ref, store_message(1, 3000), 0,
                                  MCP_STATE_COMPLETED), MCP_ERR_FULL);
    store_drain_all(&d);
    mcp_store_free(S0, &full);
    woken(1, 1, MCP_WAKE_OWNER, 1004);
    complete_ok(1, &ref, store_message(1, 3000));
    store_sound(&d);
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
TEST(zone_is_full_of_sent_events__appends_and_responses_succeed)
{
    size_t             k;
    unsigned           i;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;

    static const size_t  sizes[][3] = {
        { 1000, 5000, 1000 },
        { 60000, 100, 64000 },
        { 60000, 100, 100000 },
        { 100000, 100, 100000 },
        { 2000, 2000, 1600000 },
        { 1600000, 10, 1600000 }
    };

    for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        create_ok(0, 1, 1, &ref);
        watch_ok(S1, &ref, 5, 0, &cursor);

        for (i = 0; i < sizes[k][1]; i++) {
            append_ok(0, &ref, store_message(i, sizes[k][0]));
            send_all(&ref, &cursor);
        }

        complete_ok(0, &ref, store_message(i, sizes[k][2]));
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
TEST(one_stream_fills_the_zone__appending_to_it_removes_only_sent_events)
{
    size_t             len, k;
    unsigned           n;
    uint32_t           room;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_info_t  info;
    char               buf[1000];

    static const size_t  sizes[] = { 400, 4000, 70000 };

    for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        create_ok(0, 1, 1, &ref);
        leave_room(&ref, 0);
        assert_ok(mcp_store_info(S0, &ref, &info));
        n = (unsigned) info.last_seq;

        append_rc(0, &ref, store_message(1, sizes[k]), MCP_ERR_FULL);
        watch_ok(S1, &ref, 5, 0, &cursor);
        store_drain(&d, 0, NULL);

        /* the reader reports one event as sent: its chunk can be reused, and
         * the owner is woken */

        assert_ok(mcp_store_read(S1, &ref, 5, &cursor, 0, buf, 520, &len));
        assert_int_equal(cursor.seq, 1);
        assert_int_equal(store_drain(&d, 0, NULL), 0);
        assert_ok(mcp_store_read(S1, &ref, 5, &cursor, 1, buf, 520, &len));
        woken_as(0, 1, MCP_WAKE_OWNER);

        append_rc(0, &ref, store_message(1, sizes[k]), sizes[k] == 400 ? MCP_OK
                  : MCP_ERR_FULL);
        assert_int_equal(store_info(S0, &ref).first_seq, 2);
        store_sound(&d);

        if (sizes[k] != 400) {
            send_all(&ref, &cursor);
            assert_int_equal(store_drain(&d, 0, NULL), 1);
            append_ok(0, &ref, store_message(1, sizes[k]));
            assert_ok(mcp_store_info(S0, &ref, &info));
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
TEST(event_counter_counts_only_successful_appends_to_streams)
{
    size_t             n;
    unsigned           i;
    uint64_t           position;
    mcp_stream_ref_t   ref, listener;
    mcp_stream_spec_t  spec;

    store_spec(&spec, 1, 1);
    spec.max_events = 2;
    store_create(&d, 0, &spec, &ref);
    store_spec(&spec, 2, 1);
    spec.kind = MCP_STREAM_LISTEN;
    spec.max_events = 2;
    store_create(&d, 0, &spec, &listener);
    assert_ok(mcp_store_subscribe(S0, &listener, TOPIC(1)));
    assert_int_equal(store_counter(&d, MCP_COUNT_EVENTS), 0);

    append_ok(0, &ref, mcp_str("x"));
    append_ok(0, &ref, store_message(1, 100000));
    assert_int_equal(store_counter(&d, MCP_COUNT_EVENTS), 2);

    append_rc(0, &ref, mcp_str("x"), MCP_ERR_LIMIT);
    assert_int_equal(store_counter(&d, MCP_COUNT_EVENTS), 2);
    complete_ok(0, &ref, mcp_str("end"));
    assert_int_equal(store_counter(&d, MCP_COUNT_EVENTS), 3);

    /* a message for a topic without a listener: not counted; messages for a
     * topic with one listener: counted, even if the listener is at its limit
     * of events and drops its oldest event */

    position = 0;
    assert_ok(store_publish(S1, TOPIC(2), mcp_str("m"), 10, &position, &n));
    assert_int_equal(store_counter(&d, MCP_COUNT_EVENTS), 3);

    for (i = 0; i < 2; i++) {
        position = 0;
        assert_ok(store_publish(S1, TOPIC(1), mcp_str("m"), 10, &position,
                                &n));
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


TEST(stream_at_its_event_limit_rejects_events_until_some_were_sent)
{
    int                rc, taken;
    char               buf[65536];
    size_t             len;
    unsigned           i;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    store_spec(&spec, 1, 1);
    spec.max_events = 200;
    store_create(&d, 0, &spec, &ref);

    for (i = 0; i < 200; i++) {
        append_ok(0, &ref, store_message(i, 100));
    }

    append_rc(0, &ref, mcp_str("x"), MCP_ERR_LIMIT);
    assert_ok(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken));
    store_drain(&d, 0, NULL);

    /* the owner is woken when a quarter of the limit was sent, not before */

    while (cursor.seq < 48) {
        assert_ok(mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf, 500,
                                 &len));
    }

    assert_int_equal(store_drain(&d, 0, NULL), 0);

    while (cursor.seq < 60) {
        assert_ok(mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf, 500,
                                 &len));
    }

    assert_int_equal(d.woken[0], 1);
    woken(0, 1, MCP_WAKE_OWNER, spec.handle);

    /* all events were sent: as many as the limit allows are kept, for a client
     * that resumes because it has not received them */

    assert_ok(mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf,
                             sizeof(buf), &len));
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf,
                                    sizeof(buf), &len), MCP_AGAIN);

    for (i = 0; i < 136; i++) {
        append_ok(0, &ref, store_message(i, 100));
    }

    assert_ok(mcp_store_info(S0, &ref, &info));
    assert_int_equal(info.first_seq, 1);
    assert_int_equal(info.last_seq, 336);

    do {
        rc = mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf,
                            sizeof(buf), &len);
    } while (rc == MCP_OK);

    append_ok(0, &ref, mcp_str("x"));
    assert_ok(mcp_store_info(S0, &ref, &info));
    assert_int_equal(info.first_seq, 137);
    assert_int_equal(info.last_seq, 337);

    /* a client resumes after a removed event: MCP_ERR_PURGED; after a kept
     * event: it gets the later ones */

    mcp_store_unwatch(S1, &ref, 5, 336, 9);
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 135, &cursor, &taken),
                     MCP_ERR_PURGED);
    assert_ok(mcp_store_watch(S1, &ref, 5, 136, &cursor, &taken));

    /* the events after the client's position count as unsent again: no room,
     * except for answers */

    append_rc(0, &ref, mcp_str("x"), MCP_ERR_LIMIT);
    assert_ok(store_append(&d, 0, &ref, mcp_str("e"), 63 | MCP_STORE_ERROR,
                           MCP_STATE_PROCESSING));
    assert_ok(store_append(&d, 0, &ref, mcp_str("end"), 3,
                           MCP_STATE_COMPLETED));
    assert_ok(mcp_store_info(S0, &ref, &info));
    assert_int_equal(info.answered, 1ULL << 63 | 8);
    assert_int_equal(info.failed, 1ULL << 63);
    assert_int_equal(info.first_seq, 137);
    assert_int_equal(info.owner_slot, MCP_STORE_NO_SLOT);
}


TEST(stream_at_its_byte_limit_rejects_events_until_some_were_sent)
{
    char               buf[4096];
    size_t             len;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    store_spec(&spec, 1, 1);
    spec.max_bytes = 1000;
    store_create(&d, 0, &spec, &ref);

    /* a message may exceed the limit of bytes if all earlier messages were
     * sent */

    append_ok(0, &ref, store_message(1, 3000));
    append_rc(0, &ref, mcp_str("x"), MCP_ERR_LIMIT);

    watch_ok(S1, &ref, 5, 0, &cursor);
    store_drain(&d, 0, NULL);
    assert_ok(mcp_store_read(S1, &ref, 5, &cursor, 0, buf, sizeof(buf), &len));
    assert_int_equal(store_drain(&d, 0, NULL), 0);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 1, buf, sizeof(buf),
                                    &len), MCP_AGAIN);
    assert_int_equal(store_drain(&d, 0, NULL), 1);

    append_ok(0, &ref, store_message(1, 600));
    append_rc(0, &ref, store_message(1, 401), MCP_ERR_LIMIT);
    append_ok(0, &ref, store_message(1, 400));
    assert_ok(mcp_store_info(S0, &ref, &info));
    assert_int_equal(info.first_seq, 2);
    assert_int_equal(mcp_store_stream(S0->head, ref.index)->events.bytes, 1000);

    /* 600 of 1000 bytes are sent: room for the next message */

    append_rc(0, &ref, store_message(1, 300), MCP_ERR_LIMIT);
    assert_ok(mcp_store_read(S1, &ref, 5, &cursor, 1, buf, sizeof(buf), &len));
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 2, buf, sizeof(buf),
                                    &len), MCP_AGAIN);
    assert_int_equal(store_drain(&d, 0, NULL), 1);
    append_ok(0, &ref, store_message(1, 300));
}


/* Confirmed events are removed, sent or not. */
TEST(events_that_the_client_has_confirmed_are_removed_whether_sent_or_not)
{
    int                taken;
    char               buf[4096];
    size_t             len;
    unsigned           i;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref, none;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    store_spec(&spec, 1, 1);
    spec.max_events = 10;
    store_create(&d, 0, &spec, &ref);

    for (i = 1; i <= 10; i++) {
        append_ok(0, &ref, store_message(i, 300));
    }

    none = ref;
    none.id[0] ^= 1;
    assert_int_equal(mcp_store_confirm(S1, &none, 1), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_confirm(S1, &ref, 11), MCP_ERR_NOT_FOUND);
    assert_ok(mcp_store_confirm(S1, &ref, 0));
    assert_int_equal(store_info(S0, &ref).first_seq, 1);

    assert_ok(mcp_store_confirm(S1, &ref, 4));
    assert_ok(mcp_store_info(S0, &ref, &info));
    assert_int_equal(info.first_seq, 5);
    assert_int_equal(info.sent_seq, 4);
    assert_int_equal(info.confirmed_seq, 4);
    assert_ok(mcp_store_confirm(S1, &ref, 2));
    assert_int_equal(store_info(S0, &ref).confirmed_seq, 4);
    store_sound(&d);

    /* a client resumes after a removed event: MCP_ERR_PURGED; the confirmed
     * events have made room */

    assert_int_equal(mcp_store_watch(S1, &ref, 5, 3, &cursor, &taken),
                     MCP_ERR_PURGED);
    append_ok(0, &ref, store_message(11, 300));
    assert_ok(mcp_store_watch(S1, &ref, 5, 4, &cursor, &taken));
    assert_ok(mcp_store_read(S1, &ref, 5, &cursor, 4, buf, sizeof(buf), &len));

    /* all events are confirmed twice while a consumer reads: an event that is
     * appended later is still read */

    assert_ok(mcp_store_confirm(S0, &ref, 11));
    assert_ok(mcp_store_confirm(S0, &ref, 11));
    store_sound(&d);
    assert_ok(mcp_store_info(S0, &ref, &info));
    assert_int_equal(info.first_seq, 12);
    assert_int_equal(mcp_store_stream(S0->head, ref.index)->events.bytes, 0);

    complete_ok(0, &ref, store_message(12, 300));
    mcp_store_unwatch(S1, &ref, 5, 11, 9);
    assert_ok(mcp_store_confirm(S0, &ref, 12));
    store_sound(&d);
    mcp_store_free(S0, &ref);
}


RUN_TESTS(setup, teardown)
