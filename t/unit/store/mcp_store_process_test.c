/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_process.c: processes and their wake-ups. */


#include "store_fixture.h"


TEST(process_dies__its_calls_can_be_adopted_and_its_gauges_are_removed)
{
    unsigned           i;
    mcp_buf_t          request;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref[6];
    mcp_store_wake_t   wake;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    mcp_buf_init(&request, &d.tm.mem, 100);
    assert_int_equal(mcp_store_adopt(S0, 1, &info, &request), MCP_DONE);
    assert_int_equal(mcp_store_slot_pid(S0, 1), 101);
    assert_int_equal(mcp_store_slot_pid(S0, 2), 0);
    assert_int_equal(mcp_store_slot_pid(S0, MCP_STORE_SLOTS), 0);

    /* streams 0 to 2 have their owner in process 1 and their consumer in
     * process 0, and stream 2 is over; streams 3 to 5 have their owner in
     * process 0 and their consumer in process 1 */

    for (i = 0; i < 6; i++) {
        create_ok(i < 3, i, 1, &ref[i]);
        watch_ok(&d.store[i >= 3], &ref[i], 5, 0, &cursor);
    }

    store_append(&d, 1, &ref[2], mcp_str("x"), 0, MCP_STATE_COMPLETED);

    /* the consumer of stream 5 is displaced: it leaves a tombstone for process
     * 1 */
    watch_ok(S0, &ref[5], 6, 0, &cursor);

    mcp_store_count(S1, MCP_COUNT_CALLS_ACTIVE, 3);
    mcp_store_count(S1, MCP_COUNT_CALLS, 3);
    mcp_store_count(S0, MCP_COUNT_CALLS_ACTIVE, 2);
    assert_int_equal(store_counter(&d, MCP_COUNT_CALLS_ACTIVE), 5);

    store_drain(&d, 0, NULL);
    d.woken[0] = 0;
    store_sound(&d);

    mcp_store_reclaim(S0, 1, 100);                     /* another pid: no
                                                          effect */
    assert_int_equal(mcp_store_slot_pid(S0, 1), 101);
    mcp_store_reclaim(S0, 1, 101);
    assert_int_equal(mcp_store_slot_pid(S0, 1), 0);
    store_sound(&d);

    assert_int_equal(store_counter(&d, MCP_COUNT_CALLS_ACTIVE), 2);
    assert_int_equal(store_counter(&d, MCP_COUNT_CALLS), 3);
    mcp_store_count(S1, MCP_COUNT_CALLS_ACTIVE, -3);
    assert_int_equal(store_counter(&d, MCP_COUNT_CALLS_ACTIVE), 2);

    /* process 1 was reclaimed: its consumers are detached, and the owners of
     * their streams are woken */

    assert_true(d.woken[0] > 0);
    assert_int_equal(store_drain(&d, 0, &wake), 2);
    assert_int_equal(store_info(S0, &ref[3]).consumer_slot, MCP_STORE_NO_SLOT);

    /* the calls of process 1 have no owner, even after a repair */

    d.died = 1;
    assert_int_equal(store_info(S0, &ref[0]).owner_slot, MCP_STORE_NO_SLOT);
    store_sound(&d);
    store_drain(&d, 0, NULL);

    for (i = 0; i < 2; i++) {
        assert_ok(mcp_store_adopt(S0, 700, &info, &request));
        assert_int_equal(info.owner_slot, 0);
        assert_true(info.ref.index == ref[0].index
                    || info.ref.index == ref[1].index);
    }

    assert_int_equal(mcp_store_adopt(S0, 700, &info, &request), MCP_DONE);
    assert_str_is(((mcp_str_t) { request.data, request.len }), "77");
    mcp_buf_free(&request);

    /* a new process attaches to the slot of a process that was not declared
     * dead: the calls of the previous process lose their owner and can be
     * adopted */

    store_attach(&d, 1, 500);
    store_spec(&spec, 7, 1);
    store_create(&d, 1, &spec, &ref[1]);
    store_attach(&d, 1, 500);
    assert_int_equal(mcp_store_adopt(S0, 700, &info, NULL), MCP_DONE);
    store_attach(&d, 1, 501);
    assert_ok(mcp_store_adopt(S0, 700, &info, NULL));
    assert_int_equal(info.unattended, 1);

    /* the process detaches: its slot is free, and the process can neither
     * change the number of active calls nor create a stream */

    mcp_store_detach(S1);
    assert_int_equal(mcp_store_slot_pid(S0, 1), 0);
    mcp_store_count(S1, MCP_COUNT_CALLS_ACTIVE, -3);
    assert_int_equal(store_counter(&d, MCP_COUNT_CALLS_ACTIVE), 2);
    assert_int_equal(mcp_store_create(S1, &spec, 1, &ref[1]),
                     MCP_ERR_INTERNAL);
    store_attach(&d, 1, 502);
}


/* A process dies after it has released the lock and before it has sent its
 * wake-ups: the wake-ups are sent when the process is declared dead. */
TEST(process_dies_before_a_wake_up_is_sent__its_reclaim_sends_the_wake_up)
{
    mcp_stream_ref_t   ref;

    create_ok(0, 1, 1, &ref);
    store_drain(&d, 0, NULL);
    assert_ok(mcp_store_inbox_put(S1, &ref, MCP_INBOX_INPUT, 1, mcp_str("x")));
    d.woken[0] = 0;

    mcp_store_reclaim(S0, 1, 101);
    assert_int_equal(d.woken[0], 1);
    assert_int_equal(store_drain(&d, 0, NULL), 1);
    store_attach(&d, 1, 101);
}


TEST(streams_of_one_process_get_many_messages__the_process_is_woken_once)
{
    unsigned           i;
    mcp_stream_ref_t   ref[10];
    mcp_store_wake_t   out[4];

    for (i = 0; i < 10; i++) {
        create_ok(0, i, 1, &ref[i]);
    }

    assert_int_equal(mcp_store_drain(S0, out, 4), 0);

    /* 20 posts to 10 streams: the process of the owners is woken once, and
     * each stream is reported once, in the order of the first posts */

    for (i = 0; i < 20; i++) {
        assert_ok(mcp_store_inbox_put(S1, &ref[i % 10], MCP_INBOX_INPUT, 1,
                                      mcp_str("x")));
    }

    assert_int_equal(d.woken[0], 1);
    assert_int_equal(mcp_store_drain(S0, out, 0), 0);
    assert_int_equal(mcp_store_drain(S0, out, 4), 4);
    assert_int_equal(out[0].ref.index, ref[0].index);
    assert_int_equal(out[3].handle, 1003);

    /* another post while the process has not drained its dirty list: no second
     * wake-up */

    assert_ok(mcp_store_inbox_put(S1, &ref[0], MCP_INBOX_INPUT, 1,
                                  mcp_str("x")));
    assert_int_equal(d.woken[0], 1);
    mcp_store_free(S0, &ref[5]);
    assert_int_equal(store_drain(&d, 0, NULL), 6);

    assert_ok(mcp_store_inbox_put(S1, &ref[0], MCP_INBOX_INPUT, 1,
                                  mcp_str("x")));
    assert_int_equal(d.woken[0], 1);
}


static uint64_t  noted;
static int       takes_notes;


static int
note(void *noter, uint64_t handle)
{
    assert_ptr_equal(noter, &d);
    noted = handle;

    return takes_notes;
}


/* A process appends to a stream whose consumer it has itself: the hook note()
 * gets the consumer, and there is no wake-up. */
TEST(owner_and_consumer_are_in_one_process__a_hook_is_called_without_a_wake_up)
{
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_store_wake_t   wake;

    create_ok(0, 1, 1, &ref);
    S0->note = note;
    S0->noter = &d;
    takes_notes = 1;

    watch_ok(S0, &ref, 5, 0, &cursor);
    store_drain(&d, 0, NULL);

    append_ok(0, &ref, mcp_str("a"));
    assert_int_equal(noted, 5);
    assert_int_equal(d.woken[0], 0);
    assert_int_equal(store_drain(&d, 0, NULL), 0);

    /* the hook note() returns 0: the process gets a wake-up */

    takes_notes = 0;
    append_ok(0, &ref, mcp_str("b"));
    assert_int_equal(d.woken[0], 1);
    assert_int_equal(store_drain(&d, 0, &wake), 1);
    assert_int_equal(wake.handle, 5);

    /* the consumer is in another process: that process is woken, and note() is
     * not called */

    noted = 0;
    takes_notes = 1;
    watch_ok(S1, &ref, 6, 0, &cursor);
    store_drain_all(&d);

    append_ok(0, &ref, mcp_str("c"));
    assert_int_equal(noted, 0);
    assert_int_equal(d.woken[0], 0);
    assert_int_equal(store_drain(&d, 1, &wake), 1);
    assert_int_equal(wake.handle, 6);

    S0->note = NULL;
}


RUN_TESTS(setup, teardown)
