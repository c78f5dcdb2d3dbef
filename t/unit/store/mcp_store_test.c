/* SPDX-License-Identifier: Apache-2.0 */

/*
 * mcp_store.c: format, sweep, counters. Other tests of the whole region
 * are mcp_store_model_test.c (random operations), mcp_store_crash_test.c
 * (killed processes) and mcp_store_step_test.c (single instructions).
 */


#include "store_fixture.h"


TEST(region_of_any_valid_size_is_formatted_within_its_bounds)
{
    size_t         size;
    unsigned char *p;

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

    /* regions of many sizes: nothing is written after their end */

    for (size = MCP_STORE_MIN_SIZE; size < 8 * 1024 * 1024;
         size += 12345 + size / 8)
    {
        memset(p + size, 0x77, 8);
        assert_ok(mcp_store_format(p, size));
        assert_ok(mcp_store_check(p, size));
        assert_int_equal(mcp_store_check(p, size + 8), MCP_ERR_NOT_FOUND);
        assert_memory_equal(p + size, "\x77\x77\x77\x77\x77\x77\x77\x77", 8);

        /* of the region without 96 KiB, more than 90 % are chunks of 512
         * bytes */
        assert_true(((mcp_store_head_t *) p)->chunks
                    > (size - 96 * 1024) / 512 * 90 / 100);
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

    /* 1000 sweeps of 10 chunks each */

    for (n = 0, i = 0; i < 1000; i++) {
        n += mcp_store_sweep(S0, now, 10, report, &reported);
    }

    return n;
}


TEST(sweep_frees_each_stream_when_its_time_has_passed_and_not_earlier)
{
    unsigned           i;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref[12], live, listen[4];
    mcp_stream_spec_t  spec;

    /* streams 0 to 5 are over and not sent; 6 to 11 have a consumer */

    for (i = 0; i < 12; i++) {
        create_ok(0, i, i, &ref[i]);
        complete_ok(0, &ref[i], mcp_str("x"));

        if (i >= 6) {
            watch_ok(S1, &ref[i], 5, 0, &cursor);
        }
    }

    create_ok(0, 20, 20, &live);

    for (i = 0; i < 4; i++) {
        store_spec(&spec, 30 + i, 30 + i);
        spec.kind = MCP_STREAM_LISTEN;
        spec.expires = i == 2 ? 200000 : 0;
        store_create(&d, 0, &spec, &listen[i]);
    }

    /* listeners 0 and 1 have a subscription; 2 has a consumer; 3 has
     * neither */

    assert_ok(mcp_store_subscribe(S0, &listen[0], TOPIC(1)));
    assert_ok(mcp_store_subscribe(S0, &listen[1], TOPIC(1)));
    watch_ok(S1, &listen[2], 5, 0, &cursor);

    assert_int_equal(sweep(59000), 0);

    for (i = 6; i < 12; i++) {
        mcp_store_unwatch(S1, &ref[i], 5, 1, 59000);
    }

    assert_int_equal(sweep(60000), 0);
    assert_int_equal(sweep(60001), 3);                 /* listeners */
    assert_int_equal(reported, 0);
    assert_int_equal(sweep(60002), 6);                 /* calls whose events
                                                          were not sent */
    assert_int_equal(reported, 6);
    assert_int_equal(sweep(63999), 0);
    assert_int_equal(sweep(64000), 6);                 /* calls whose events
                                                          were sent */
    assert_int_equal(reported, 0);
    assert_int_equal(sweep(199999), 0);
    assert_int_equal(sweep(200000), 1);                /* expired session */
    store_sound(&d);
    assert_int_equal(store_counter(&d, MCP_COUNT_STREAMS_EXPIRED), 16);

    /* mcp_store_set_state() cancels a stream without a time (0): the stream is
     * kept for "linger" after the next sweep */

    assert_ok(mcp_store_set_state(S0, &live, MCP_STATE_CANCELLED, 0));
    assert_int_equal(sweep(300000), 0);
    assert_int_equal(sweep(304999), 0);
    assert_int_equal(sweep(305000), 1);
    assert_int_equal(sweep(UINT64_MAX), 0);
}


TEST(each_counter_in_the_store_is_the_sum_of_the_counts_of_all_processes)
{
    unsigned           i;
    mcp_store_stats_t  stats;

    for (i = 0; i < MCP_COUNT_MAX; i++) {
        mcp_store_count(S0, (mcp_counter_e) i, 3);
        mcp_store_count(S1, (mcp_counter_e) i, i);
    }

    mcp_store_stats(S1, &stats);

    for (i = 0; i < MCP_COUNT_MAX; i++) {
        assert_int_equal(stats.counter[i], 3 + i);
    }

    assert_true(stats.size > 1800 * 1024);
}


RUN_TESTS(setup, teardown)
