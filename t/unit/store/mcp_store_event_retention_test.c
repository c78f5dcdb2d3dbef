/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_event_retention.c: limits of streams, and which sent events are
 * kept. */


#include "store_fixture.h"


static void
test_back_pressure(void **state)
{
    int                rc, taken;
    char               buf[65536];
    size_t             len;
    unsigned           i;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_store_wake_t   wake;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    store_spec(&spec, 1, 1);
    spec.max_events = 200;
    store_create(&d, 0, &spec, &ref);

    for (i = 0; i < 200; i++) {
        assert_int_equal(store_append(&d, 0, &ref, store_message(i, 100),
                                            -1,
                                   MCP_STATE_PROCESSING), MCP_OK);
    }

    assert_int_equal(store_append(&d, 0, &ref, mcp_str("x"), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_LIMIT);
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken), MCP_OK);
    store_drain(&d, 0, NULL);

    /* the owner is woken when a quarter of the limit was sent, not before */

    while (cursor.seq < 48) {
        assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf,
                                        500, &len), MCP_OK);
    }

    assert_int_equal(store_drain(&d, 0, NULL), 0);

    while (cursor.seq < 60) {
        assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf,
                                        500, &len), MCP_OK);
    }

    assert_int_equal(d.woken[0], 1);
    assert_int_equal(store_drain(&d, 0, &wake), 1);
    assert_int_equal(wake.kind, MCP_WAKE_OWNER);
    assert_int_equal(wake.handle, spec.handle);

    /* all events were sent: as many as the limit allows are kept, for a client
     * that resumes because it has not received them */

    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf,
                                    sizeof(buf), &len), MCP_OK);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf,
                                    sizeof(buf), &len), MCP_AGAIN);

    for (i = 0; i < 136; i++) {
        assert_int_equal(store_append(&d, 0, &ref, store_message(i, 100),
                                            -1,
                                   MCP_STATE_PROCESSING), MCP_OK);
    }

    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.first_seq, 1);
    assert_int_equal(info.last_seq, 336);

    do {
        rc = mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf,
                            sizeof(buf), &len);
    } while (rc == MCP_OK);

    assert_int_equal(store_append(&d, 0, &ref, mcp_str("x"), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.first_seq, 137);
    assert_int_equal(info.last_seq, 337);

    /* a client resumes after a removed event: MCP_ERR_PURGED; after a kept
     * event: it gets the later ones */

    mcp_store_unwatch(S1, &ref, 5, 336, 9);
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 135, &cursor, &taken),
                     MCP_ERR_PURGED);
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 136, &cursor, &taken),
                     MCP_OK);

    /* the events after the client's position count as unsent again: no room,
     * except for answers */

    assert_int_equal(store_append(&d, 0, &ref, mcp_str("x"), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_LIMIT);
    assert_int_equal(store_append(&d, 0, &ref, mcp_str("e"),
                                        63 | MCP_STORE_ERROR,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(store_append(&d, 0, &ref, mcp_str("end"), 3,
                               MCP_STATE_COMPLETED), MCP_OK);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.answered, 1ULL << 63 | 8);
    assert_int_equal(info.failed, 1ULL << 63);
    assert_int_equal(info.first_seq, 137);
    assert_int_equal(info.owner_slot, MCP_STORE_NO_SLOT);
}


static void
test_bytes(void **state)
{
    int                taken;
    char               buf[4096];
    size_t             len;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    store_spec(&spec, 1, 1);
    spec.max_bytes = 1000;
    store_create(&d, 0, &spec, &ref);

    /* a message may exceed the limit of bytes if all earlier messages were
     * sent */

    assert_int_equal(store_append(&d, 0, &ref, store_message(1, 3000), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(store_append(&d, 0, &ref, mcp_str("x"), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_LIMIT);

    assert_int_equal(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken), MCP_OK);
    store_drain(&d, 0, NULL);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 0, buf, sizeof(buf),
                                    &len), MCP_OK);
    assert_int_equal(store_drain(&d, 0, NULL), 0);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 1, buf, sizeof(buf),
                                    &len), MCP_AGAIN);
    assert_int_equal(store_drain(&d, 0, NULL), 1);

    assert_int_equal(store_append(&d, 0, &ref, store_message(1, 600), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(store_append(&d, 0, &ref, store_message(1, 401), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_LIMIT);
    assert_int_equal(store_append(&d, 0, &ref, store_message(1, 400), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.first_seq, 2);
    assert_int_equal(info.bytes, 1000);

    /* 600 of 1000 bytes are sent: room for the next message */

    assert_int_equal(store_append(&d, 0, &ref, store_message(1, 300), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_LIMIT);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 1, buf, sizeof(buf),
                                    &len), MCP_OK);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 2, buf, sizeof(buf),
                                    &len), MCP_AGAIN);
    assert_int_equal(store_drain(&d, 0, NULL), 1);
    assert_int_equal(store_append(&d, 0, &ref, store_message(1, 300), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
}


/* Confirmed events are removed, sent or not. */
static void
test_confirm(void **state)
{
    int                taken;
    char               buf[4096];
    size_t             len;
    unsigned           i;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref, none;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    store_spec(&spec, 1, 1);
    spec.max_events = 10;
    store_create(&d, 0, &spec, &ref);

    for (i = 1; i <= 10; i++) {
        assert_int_equal(store_append(&d, 0, &ref, store_message(i, 300),
                                            -1,
                                   MCP_STATE_PROCESSING), MCP_OK);
    }

    none = ref;
    none.id[0] ^= 1;
    assert_int_equal(mcp_store_confirm(S1, &none, 1), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_confirm(S1, &ref, 11), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_confirm(S1, &ref, 0), MCP_OK);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.first_seq, 1);

    assert_int_equal(mcp_store_confirm(S1, &ref, 4), MCP_OK);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.first_seq, 5);
    assert_int_equal(info.sent_seq, 4);
    assert_int_equal(info.confirmed_seq, 4);
    assert_int_equal(mcp_store_confirm(S1, &ref, 2), MCP_OK);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.confirmed_seq, 4);
    store_sound(&d);

    /* a client resumes after a removed event: MCP_ERR_PURGED; the confirmed
     * events have made room */

    assert_int_equal(mcp_store_watch(S1, &ref, 5, 3, &cursor, &taken),
                     MCP_ERR_PURGED);
    assert_int_equal(store_append(&d, 0, &ref, store_message(11, 300), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 4, &cursor, &taken),
                     MCP_OK);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 4, buf, sizeof(buf),
                                    &len), MCP_OK);

    /* all events are confirmed twice while a consumer reads: an event that is
     * appended later is still read */

    assert_int_equal(mcp_store_confirm(S0, &ref, 11), MCP_OK);
    assert_int_equal(mcp_store_confirm(S0, &ref, 11), MCP_OK);
    store_sound(&d);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.first_seq, 12);
    assert_int_equal(info.bytes, 0);

    assert_int_equal(store_append(&d, 0, &ref, store_message(12, 300), 0,
                               MCP_STATE_COMPLETED), MCP_OK);
    mcp_store_unwatch(S1, &ref, 5, 11, 9);
    assert_int_equal(mcp_store_confirm(S0, &ref, 12), MCP_OK);
    store_sound(&d);
    mcp_store_free(S0, &ref);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        store_test(test_confirm),
        store_test(test_back_pressure),
        store_test(test_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
