/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_evict.c: who goes for whom. */


#include "store_party.h"


/* Idle listeners first, one's own before others'; then one's own streams that
 * linger; then those of the largest, never of who has less than oneself. */
static void
test_order(void **state)
{
    unsigned          i;
    mcp_stream_ref_t  all, idle[3], own, small, large[2], held, made_now;

    (void) state;

    quota = MCP_QUOTA_OFF;

    /* party 1 makes room for itself, 2 has more and 3 has less than it */

    made(1, MCP_STREAM_CALL, &held);
    assert_int_equal(store_say(&d, 0, &held, store_message(1, 20000), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
    lingering(3, 200, &small);
    lingering(1, 2000, &own);
    lingering(2, 30000, &large[0]);
    lingering(2, 200, &large[1]);

    for (i = 0; i < 3; i++) {
        made(i + 1, MCP_STREAM_LISTEN, &idle[i]);
        left(&idle[i], 0);
    }

    store_sound(&d);
    made(0, MCP_STREAM_CALL, &all);
    fill(&all, 3);

    made(1, MCP_STREAM_LISTEN, &made_now);         /* new: not idle yet */
    assert_false(there(&idle[0]));
    assert_true(there(&idle[1]) && there(&idle[2]));
    fill(&all, 3);

    made(1, MCP_STREAM_LISTEN, &made_now);
    assert_false(there(&idle[1]));                 /* of who has more */
    fill(&all, 3);
    made(1, MCP_STREAM_LISTEN, &made_now);
    assert_false(there(&idle[2]));
    assert_true(there(&own) && there(&large[0]) && there(&small));
    store_sound(&d);

    fill(&all, 3);
    made(1, MCP_STREAM_LISTEN, &made_now);
    assert_false(there(&own));
    assert_true(there(&large[0]) && there(&small));
    fill(&all, 3);
    made(1, MCP_STREAM_LISTEN, &made_now);
    assert_false(there(&large[0]));
    assert_true(there(&large[1]) && there(&small));
    fill(&all, 3);

    /* 2 has less than 1 by now, like 3 */

    assert_int_equal(make(1, MCP_STREAM_LISTEN, &made_now), MCP_ERR_FULL);
    assert_int_equal(admits(1), MCP_ERR_FULL);
    assert_int_equal(admits(4), MCP_OK);
    assert_true(there(&large[1]) && there(&small));
    store_sound(&d);
    d.died = 1;
    store_sound(&d);
    assert_int_equal(make(1, MCP_STREAM_LISTEN, &made_now), MCP_ERR_FULL);
}


/* A listener that has missed something is not idle, nor is one that is read, or
 * that was made just now. */
static void
test_idle(void **state)
{
    int               taken;
    size_t            n;
    uint64_t          position;
    mcp_cursor_t      cursor;
    mcp_stream_ref_t  ref, all, other;

    (void) state;

    quota = MCP_QUOTA_OFF;
    made(0, MCP_STREAM_CALL, &all);
    made(1, MCP_STREAM_LISTEN, &ref);
    assert_int_equal(mcp_store_subscribe(S0, &ref, TOPIC(1)), MCP_OK);
    fill(&all, 3);
    assert_int_equal(make(1, MCP_STREAM_LISTEN, &other), MCP_ERR_FULL);

    /* nobody came for it */

    mcp_store_sweep(S0, 11000, UINT32_MAX, NULL, NULL);
    store_sound(&d);
    assert_int_equal(make(1, MCP_STREAM_LISTEN, &other), MCP_OK);
    assert_false(there(&ref));

    assert_int_equal(mcp_store_subscribe(S0, &other, TOPIC(1)), MCP_OK);
    assert_int_equal(mcp_store_watch(S1, &other, 5, 0, &cursor, &taken),
                     MCP_OK);
    fill(&all, 3);
    assert_int_equal(make(1, MCP_STREAM_LISTEN, &ref), MCP_ERR_FULL);
    mcp_store_unwatch(S1, &other, 5, 0, 12000);
    store_sound(&d);

    /* what is published needs room itself, and does not push out who gets it */

    position = 0;
    assert_int_equal(mcp_store_publish(S0, TOPIC(1), store_message(1, 300), 9,
                                       &position, &n), MCP_OK);
    assert_int_equal(n, 1);
    assert_true(there(&other));
    store_sound(&d);
    assert_int_equal(make(1, MCP_STREAM_LISTEN, &ref), MCP_ERR_FULL);

    left(&other, 1);
    store_sound(&d);
    assert_int_equal(make(1, MCP_STREAM_LISTEN, &ref), MCP_OK);
    assert_false(there(&other));
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        party_test(test_order),
        party_test(test_idle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
