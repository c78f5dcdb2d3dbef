/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_inbox.c: posts and cancellations. */


#include "store_fixture.h"


TEST(inbox_returns_messages_in_order_and_accepts_cancellations_when_full)
{
    unsigned           i;
    uint64_t           tag;
    mcp_buf_t          data;
    mcp_inbox_item_e   type;
    mcp_stream_ref_t   ref;
    mcp_stream_info_t  info;
    mcp_stream_spec_t  spec;

    store_spec(&spec, 1, 1);
    spec.max_bytes = 500000;
    store_create(&d, 0, &spec, &ref);
    mcp_buf_init(&data, &d.tm.mem, 1 << 24);
    assert_int_equal(mcp_store_take(S0, &ref, &type, &tag, &data), MCP_AGAIN);

    for (i = 0; i < N_LENGTHS - 4; i++) {
        assert_ok(mcp_store_inbox_put(S1, &ref, MCP_INBOX_INPUT + i % 2,
                                      i * 1000ULL, store_message(i,
                                                                 lengths[i])));
    }

    assert_int_equal(d.woken[0], 1);
    woken_as(0, 1, MCP_WAKE_OWNER);
    store_sound(&d);

    /* no memory for the copy: the post remains in the inbox */

    d.tm.fail_at = 1;
    tag = 99;
    assert_ok(mcp_store_take(S0, &ref, &type, &tag, &data));
    assert_int_equal(tag, 0);
    assert_int_equal(mcp_store_take(S0, &ref, &type, &tag, &data),
                     MCP_ERR_MEMORY);
    mcp_buf_free(&data);

    for (i = 1; i < N_LENGTHS - 4; i++) {
        data.len = 0;
        d.died = i % 3 == 0;
        assert_ok(mcp_store_take(S0, &ref, &type, &tag, &data));
        assert_int_equal(type, MCP_INBOX_INPUT + i % 2);
        assert_int_equal(tag, i * 1000);
        assert_int_equal(data.len, lengths[i]);
        assert_memory_equal(data.data, store_message(i, lengths[i]).data,
                            lengths[i]);
        store_sound(&d);
    }

    assert_int_equal(mcp_store_take(S0, &ref, &type, &tag, &data), MCP_AGAIN);

    /* the number of posts in an inbox has a limit; that of cancellations does
     * not */

    while (mcp_store_inbox_put(S1, &ref, MCP_INBOX_INPUT, 1,
               store_message(1, 1000))
           == MCP_OK)
    {
        assert_true(++i < 1000);
    }

    assert_int_equal(mcp_store_inbox_put(S1, &ref, MCP_INBOX_PUBLISH, 1,
                                         store_message(1, 100000)),
                     MCP_ERR_LIMIT);
    store_drain(&d, 0, NULL);
    d.woken[0] = 0;

    for (i = 0; i < 64; i += 21) {
        assert_ok(mcp_store_cancel(S1, &ref, (uint64_t) 1 << i));
    }

    store_sound(&d);
    assert_int_equal(d.woken[0], 1);
    woken_as(0, 1, MCP_WAKE_OWNER);
    assert_ok(mcp_store_info(S0, &ref, &info));
    assert_int_equal(info.cancelled, 0x8000040000200001);
    assert_int_equal(mcp_store_take_cancelled(S0, &ref), info.cancelled);
    assert_int_equal(mcp_store_take_cancelled(S0, &ref), 0);

    /* a cancellation counts as processed when the owner of the stream finds
     * the inbox empty */

    do {
        assert_ok(mcp_store_info(S0, &ref, &info));
        assert_int_equal(info.cancelled, 0);
        assert_int_equal(info.posted, 1);
        data.len = 0;
    } while (mcp_store_take(S0, &ref, &type, &tag, &data) == MCP_OK);

    assert_int_equal(store_info(S0, &ref).posted, 0);

    /* the stream is over: its cancellations are discarded */

    assert_ok(mcp_store_cancel(S1, &ref, 1));
    assert_ok(mcp_store_set_state(S0, &ref, MCP_STATE_CANCELLED, 0));
    store_sound(&d);
    assert_int_equal(mcp_store_take_cancelled(S0, &ref), 0);
    assert_int_equal(mcp_store_cancel(S1, &ref, 1), MCP_ERR_NOT_FOUND);

    mcp_buf_free(&data);
}


/* A post that is rejected evicts no stream. */
TEST(rejected_message_to_an_inbox_evicts_no_stream_from_a_full_zone)
{
    unsigned           i;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   over, hog, run, listener, none;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    create_ok(0, 1, 1, &over);
    store_append(&d, 0, &over, store_message(1, 300000), 0,
                       MCP_STATE_COMPLETED);
    watch_ok(S1, &over, 5, 0, &cursor);
    mcp_store_unwatch(S1, &over, 5, 1, 10);

    store_spec(&spec, 2, 2);
    spec.max_bytes = 150000;
    store_create(&d, 0, &spec, &run);
    store_spec(&spec, 3, 3);
    spec.kind = MCP_STREAM_LISTEN;
    store_create(&d, 0, &spec, &listener);
    none = run;
    none.id[0] ^= 1;

    create_ok(0, 4, 4, &hog);

    while (mcp_store_room(d.store[0].head, 1) > 200) {
        assert_ok(store_append(&d, 0, &hog, store_message(1, 460), 0,
                               MCP_STATE_PROCESSING));
    }

    assert_int_equal(store_counter(&d, MCP_COUNT_STREAMS_EVICTED), 0);
    assert_ok(mcp_store_inbox_put(S1, &run, MCP_INBOX_INPUT, 1,
                                  store_message(1, 1000)));

    for (i = 0; i < 2; i++) {
        assert_int_equal(mcp_store_inbox_put(S1, &run, MCP_INBOX_INPUT, 1,
                                             store_message(1, 160000)),
                         MCP_ERR_LIMIT);
        assert_int_equal(mcp_store_inbox_put(S1, &none, MCP_INBOX_INPUT, 1,
                                             store_message(1, 140000)),
                         MCP_ERR_NOT_FOUND);
        assert_int_equal(mcp_store_inbox_put(S1, &listener, MCP_INBOX_INPUT, 1,
                                             store_message(1, 140000)),
                         MCP_ERR_NOT_FOUND);
        assert_int_equal(mcp_store_cancel(S1, &listener, 1),
                         MCP_ERR_NOT_FOUND);
        assert_int_equal(mcp_store_inbox_put(S1, &over, MCP_INBOX_INPUT, 1,
                                             store_message(1, 140000)),
                         MCP_ERR_NOT_FOUND);
        assert_int_equal(mcp_store_cancel(S1, &over, 1), MCP_ERR_NOT_FOUND);
    }

    assert_int_equal(store_counter(&d, MCP_COUNT_STREAMS_EVICTED), 0);
    assert_ok(mcp_store_info(S0, &over, &info));

    /* an accepted post evicts the lingering stream */

    assert_ok(mcp_store_inbox_put(S1, &run, MCP_INBOX_INPUT, 1,
                                  store_message(1, 140000)));
    assert_int_equal(store_counter(&d, MCP_COUNT_STREAMS_EVICTED), 1);
    mcp_store_free(S0, &listener);
}


RUN_TESTS(setup, teardown)
