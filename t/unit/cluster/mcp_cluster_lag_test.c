/* SPDX-License-Identifier: Apache-2.0 */

/* The replication lag in the status. */

#include "cluster_streams.h"


#define EVENT  (sizeof("{\"method\":\"x\"}") - 1)


/* Redis is paused: the status has the number, bytes and age of the
 * unacknowledged events. Redis continues: the lag is 0. */
TEST(redis_is_paused__the_status_has_a_replication_lag_until_redis_continues)
{
    uint64_t  since;

    begin_all(1);
    make(0, 'a');
    make(0, 'b');
    add_acked(0, 'a', 2);
    UNTIL(node_info(0).counts[MCP_NODE_REPLICATED] == 2);

    kill(redis, SIGSTOP);
    since = real_now();
    add_events(0, 'a', 3);
    add_events(0, 'b', 1);
    UNTIL(node_info(0).lag.events == 4);
    assert_int_equal(node_info(0).lag.bytes, 4 * EVENT);
    assert_true(node_info(0).lag.since >= since);
    assert_true(node_info(0).lag.since <= real_now());

    kill(redis, SIGCONT);
    UNTIL(node_info(0).lag.events == 0);
    assert_int_equal(node_info(0).lag.bytes, 0);
    assert_int_equal(node_info(0).lag.since, 0);
    assert_int_equal(node_info(0).counts[MCP_NODE_REPLICATED], 6);
}


/* Redis acknowledges events slowly: the age of the lag is that of the oldest
 * unacknowledged event. */
TEST(redis_acknowledges_some_events__the_start_time_of_the_lag_moves_forward)
{
    uint64_t                 first;
    mcp_replication_t       *repl;
    mcp_stream_info_t        info;
    mcp_store_replication_state_t  now;

    begin_replicated(1, 0);

    info = info_of(0, 'a');
    repl = mcp_replication_get(nodes[0].cluster, &info.ref);
    add_events(0, 'a', 3);

    now = repl_state(0, 'a');
    mcp_lag_check(repl, &now);
    first = repl->behind;
    assert_int_not_equal(first, 0);

    /* no event was acknowledged: the lag began with the first event */

    nodes[0].te.now += 20;
    mcp_lag_check(repl, &now);
    assert_int_equal(repl->behind, first);

    /* one more event was acknowledged: the lag began when the latest command
     * was sent */

    repl->time = first + 10;
    now.acked.seq++;
    mcp_lag_check(repl, &now);
    assert_int_equal(repl->behind, first + 10);

    now.acked.seq = now.own.seq;
    mcp_lag_check(repl, &now);
    assert_int_equal(repl->behind, 0);
}


/* The process ends while the timer of the lag is armed. */
TEST(process_ends_while_the_lag_timer_is_armed__no_memory_leaks)
{
    begin_all(1);
    make(0, 'a');
    add_events(0, 'a', 1);
    mcp_worker_wake(nodes[0].worker);
    assert_true(mcp_timer_armed(&nodes[0].cluster->lag));
}


RUN_TESTS_WITH_REDIS(start)
