/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The store as a whole: format, time, processes, wakes, counters.  Random
 * operations against a model are in mcp_store_model_test.c, processes that
 * are killed in mcp_store_crash_test.c, single instructions in
 * mcp_store_step_test.c.
 */


#include "store_fixture.h"


static void
test_format(void **state)
{
    size_t         size;
    unsigned char *p;

    (void) state;

    p = malloc(8 * 1024 * 1024 + 8);
    assert_non_null(p);

    assert_int_equal(mcp_store_format(p, MCP_STORE_MIN_SIZE - 1),
                     MCP_ERR_CONFIG);
    assert_int_equal(mcp_store_format(p + 1, MCP_STORE_MIN_SIZE),
                     MCP_ERR_CONFIG);
    assert_int_equal(mcp_store_format(p, (size_t) MCP_STORE_SIZE_MAX + 1),
                     MCP_ERR_CONFIG);

    memset(p, 0x5a, MCP_STORE_MIN_SIZE);
    assert_int_equal(mcp_store_check(p, MCP_STORE_MIN_SIZE),
                     MCP_ERR_NOT_FOUND);

    /* all sizes, and nothing beyond their end */

    for (size = MCP_STORE_MIN_SIZE; size < 8 * 1024 * 1024;
         size += 12345 + size / 8)
    {
        memset(p + size, 0x77, 8);
        assert_int_equal(mcp_store_format(p, size), MCP_OK);
        assert_int_equal(mcp_store_check(p, size), MCP_OK);
        assert_int_equal(mcp_store_check(p, size + 8), MCP_ERR_NOT_FOUND);
        assert_memory_equal(p + size, "\x77\x77\x77\x77\x77\x77\x77\x77", 8);

        /* most of it is for chunks */
        assert_true(((mcp_store_head_t *) p)->chunks
                    > (size - 80 * 1024) / 512 * 95 / 100);
    }

    ((mcp_store_head_t *) p)->version++;
    assert_int_equal(mcp_store_check(p, ((mcp_store_head_t *) p)->size),
                     MCP_ERR_NOT_FOUND);
    free(p);
}


static unsigned  reported;


static void
report(void *ctx, const mcp_stream_info_t *info)
{
    assert_ptr_equal(ctx, &reported);
    assert_int_equal(d.held, 0);
    assert_true(info->last_seq > info->sent_seq);
    reported++;
}


static size_t
sweep(uint64_t now)
{
    size_t    n;
    unsigned  i;

    reported = 0;

    /* in small steps, round and round */

    for (n = 0, i = 0; i < 1000; i++) {
        n += mcp_store_sweep(S0, now, 10, report, &reported);
    }

    return n;
}


static void
test_sweep(void **state)
{
    int                taken;
    unsigned           i;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref[12], live, listen[4];
    mcp_stream_spec_t  spec;

    (void) state;

    /* 0-5: over, not sent; 6-11: over, sent */

    for (i = 0; i < 12; i++) {
        store_spec(&spec, i, i);
        store_create(&d, 0, &spec, &ref[i]);
        assert_int_equal(store_say(&d, 0, &ref[i], mcp_str("x"), 0,
                                   MCP_STATE_COMPLETED), MCP_OK);

        if (i >= 6) {
            assert_int_equal(mcp_store_watch(S1, &ref[i], 5, 0, &cursor,
                                             &taken), MCP_OK);
        }
    }

    store_spec(&spec, 20, 20);
    store_create(&d, 0, &spec, &live);

    for (i = 0; i < 4; i++) {
        store_spec(&spec, 30 + i, 30 + i);
        spec.kind = MCP_STREAM_LISTEN;
        spec.expires = i == 2 ? 200000 : 0;
        store_create(&d, 0, &spec, &listen[i]);
    }

    /* 0, 1: have a subscription; 2: a consumer; 3: nothing */

    assert_int_equal(mcp_store_subscribe(S0, &listen[0], TOPIC(1)), MCP_OK);
    assert_int_equal(mcp_store_subscribe(S0, &listen[1], TOPIC(1)), MCP_OK);
    assert_int_equal(mcp_store_watch(S1, &listen[2], 5, 0, &cursor, &taken),
                     MCP_OK);

    assert_int_equal(sweep(59000), 0);

    for (i = 6; i < 12; i++) {
        mcp_store_unwatch(S1, &ref[i], 5, 1, 59000);
    }

    assert_int_equal(sweep(60000), 0);
    assert_int_equal(sweep(60001), 3);                 /* listeners */
    assert_int_equal(reported, 0);
    assert_int_equal(sweep(60002), 6);                 /* not sent */
    assert_int_equal(reported, 6);
    assert_int_equal(sweep(63999), 0);
    assert_int_equal(sweep(64000), 6);                 /* sent */
    assert_int_equal(reported, 0);
    assert_int_equal(sweep(199999), 0);
    assert_int_equal(sweep(200000), 1);                /* session's end */
    store_sound(&d);
    assert_int_equal(store_counter(&d, MCP_COUNT_STREAMS_EXPIRED), 16);

    /* ended without a time: from the next sweep on */

    assert_int_equal(mcp_store_set_state(S0, &live, MCP_STATE_CANCELLED),
                     MCP_OK);
    assert_int_equal(sweep(300000), 0);
    assert_int_equal(sweep(304999), 0);
    assert_int_equal(sweep(305000), 1);
    assert_int_equal(sweep(UINT64_MAX), 0);
}


static void
test_processes(void **state)
{
    int                taken;
    unsigned           i;
    mcp_buf_t          request;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref[6];
    mcp_store_wake_t   wake;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    mcp_buf_init(&request, &d.tm.mem, 100);
    assert_int_equal(mcp_store_adopt(S0, 1, &info, &request), MCP_DONE);
    assert_int_equal(mcp_store_slot_pid(S0, 1), 101);
    assert_int_equal(mcp_store_slot_pid(S0, 2), 0);
    assert_int_equal(mcp_store_slot_pid(S0, MCP_STORE_SLOTS), 0);

    /* 0-2 owned by process 1, one of them over, one consumed by 0; 3-5 owned
     * by 0 and consumed by 1 */

    for (i = 0; i < 6; i++) {
        store_spec(&spec, i, 1);
        store_create(&d, i < 3, &spec, &ref[i]);
        assert_int_equal(mcp_store_watch(&d.store[i >= 3], &ref[i], 5, 0,
                                         &cursor, &taken), MCP_OK);
    }

    store_say(&d, 1, &ref[2], mcp_str("x"), 0, MCP_STATE_COMPLETED);

    /* and a ghost for it */
    assert_int_equal(mcp_store_watch(S0, &ref[5], 6, 0, &cursor, &taken),
                     MCP_OK);

    mcp_store_count(S1, MCP_COUNT_CALLS_LIVE, 3);
    mcp_store_count(S1, MCP_COUNT_CALLS, 3);
    mcp_store_count(S0, MCP_COUNT_CALLS_LIVE, 2);
    assert_int_equal(store_counter(&d, MCP_COUNT_CALLS_LIVE), 5);

    store_drain(&d, 0, NULL);
    d.woken[0] = 0;
    store_sound(&d);

    mcp_store_bury(S0, 1, 100);                        /* not that one */
    assert_int_equal(mcp_store_slot_pid(S0, 1), 101);
    mcp_store_bury(S0, 1, 101);
    assert_int_equal(mcp_store_slot_pid(S0, 1), 0);
    store_sound(&d);

    assert_int_equal(store_counter(&d, MCP_COUNT_CALLS_LIVE), 2);
    assert_int_equal(store_counter(&d, MCP_COUNT_CALLS), 3);
    mcp_store_count(S1, MCP_COUNT_CALLS_LIVE, -3);
    assert_int_equal(store_counter(&d, MCP_COUNT_CALLS_LIVE), 2);

    /* its consumers have gone: the owners hear of it */

    assert_true(d.woken[0] > 0);
    assert_int_equal(store_drain(&d, 0, &wake), 2);
    assert_int_equal(mcp_store_info(S0, &ref[3], &info), MCP_OK);
    assert_int_equal(info.consumer_slot, MCP_STORE_NO_SLOT);

    /* its calls wait, also through a repair */

    d.died = 1;
    assert_int_equal(mcp_store_info(S0, &ref[0], &info), MCP_OK);
    assert_int_equal(info.owner_slot, MCP_STORE_NO_SLOT);
    store_sound(&d);
    store_drain(&d, 0, NULL);

    for (i = 0; i < 2; i++) {
        assert_int_equal(mcp_store_adopt(S0, 700, &info, &request), MCP_OK);
        assert_int_equal(info.owner_slot, 0);
        assert_true(info.ref.index == ref[0].index
                    || info.ref.index == ref[1].index);
    }

    assert_int_equal(mcp_store_adopt(S0, 700, &info, &request), MCP_DONE);
    assert_str_is(((mcp_str_t) { request.data, request.len }), "77");
    mcp_buf_free(&request);

    /* a new one in the slot of an old one, which nobody has buried */

    store_attach(&d, 1, 500);
    store_spec(&spec, 7, 1);
    store_create(&d, 1, &spec, &ref[1]);
    store_attach(&d, 1, 500);
    assert_int_equal(mcp_store_adopt(S0, 700, &info, NULL), MCP_DONE);
    store_attach(&d, 1, 501);
    assert_int_equal(mcp_store_adopt(S0, 700, &info, NULL), MCP_OK);
    assert_int_equal(info.unattended, 1);

    /* in good order */

    mcp_store_detach(S1);
    assert_int_equal(mcp_store_slot_pid(S0, 1), 0);
    mcp_store_count(S1, MCP_COUNT_CALLS_LIVE, -3);
    assert_int_equal(store_counter(&d, MCP_COUNT_CALLS_LIVE), 2);
    assert_int_equal(mcp_store_create(S1, &spec, 1, &ref[1]),
                     MCP_ERR_INTERNAL);
    store_attach(&d, 1, 502);
}


/* A process that dies after it has let the lock go and before it has woken
 * others. */
static void
test_lost_wake(void **state)
{
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    (void) state;

    store_spec(&spec, 1, 1);
    store_create(&d, 0, &spec, &ref);
    store_drain(&d, 0, NULL);
    assert_int_equal(mcp_store_post(S1, &ref, MCP_POST_INPUT, 1,
                                    mcp_str("x")), MCP_OK);
    d.woken[0] = 0;

    mcp_store_bury(S0, 1, 101);
    assert_int_equal(d.woken[0], 1);
    assert_int_equal(store_drain(&d, 0, NULL), 1);
    store_attach(&d, 1, 101);
}


static void
test_wakes(void **state)
{
    unsigned           i;
    mcp_stream_ref_t   ref[10];
    mcp_store_wake_t   out[4];
    mcp_stream_spec_t  spec;

    (void) state;

    for (i = 0; i < 10; i++) {
        store_spec(&spec, i, 1);
        store_create(&d, 0, &spec, &ref[i]);
    }

    assert_int_equal(mcp_store_drain(S0, out, 4), 0);

    /* once for all, in order, each once */

    for (i = 0; i < 20; i++) {
        assert_int_equal(mcp_store_post(S1, &ref[i % 10], MCP_POST_INPUT, 1,
                                        mcp_str("x")), MCP_OK);
    }

    assert_int_equal(d.woken[0], 1);
    assert_int_equal(mcp_store_drain(S0, out, 0), 0);
    assert_int_equal(mcp_store_drain(S0, out, 4), 4);
    assert_int_equal(out[0].ref.index, ref[0].index);
    assert_int_equal(out[3].handle, 1003);

    /* not emptied yet: no second wake */

    assert_int_equal(mcp_store_post(S1, &ref[0], MCP_POST_INPUT, 1,
                                    mcp_str("x")), MCP_OK);
    assert_int_equal(d.woken[0], 1);
    mcp_store_free(S0, &ref[5]);
    assert_int_equal(store_drain(&d, 0, NULL), 6);

    assert_int_equal(mcp_store_post(S1, &ref[0], MCP_POST_INPUT, 1,
                                    mcp_str("x")), MCP_OK);
    assert_int_equal(d.woken[0], 1);
}


static void
test_counters(void **state)
{
    unsigned           i;
    mcp_store_stats_t  stats;

    (void) state;

    for (i = 0; i < MCP_COUNT_MAX; i++) {
        mcp_store_count(S0, (mcp_counter_e) i, 3);
        mcp_store_count(S1, (mcp_counter_e) i, i);
    }

    mcp_store_stats(S1, &stats);

    for (i = 0; i < MCP_COUNT_MAX; i++) {
        assert_int_equal(stats.counter[i], 3 + i);
    }

    assert_true(stats.size > 1900 * 1024);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_format),
        store_test(test_sweep),
        store_test(test_processes),
        store_test(test_lost_wake),
        store_test(test_wakes),
        store_test(test_counters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
