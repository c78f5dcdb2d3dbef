/* SPDX-License-Identifier: Apache-2.0 */

/* Nodes whose builds read different layouts of the data in Redis, or whose
 * clocks differ from Redis's clock. */

#include "cluster_redis.h"


/* Makes node i a build that can read the layouts "low" to "high", and
 * registers it again. */
static void
reads(int i, unsigned low, unsigned high)
{
    nodes[i].cluster->low = low;
    nodes[i].cluster->high = high;
    nodes[i].cluster->state = MCP_CLUSTER_APART;
    tick(i);
}


TEST(members_share_a_redis_layout__a_node_that_cannot_read_it_is_rejected)
{
    begin(0, KEY1);
    (void) command(0, "FLUSHALL");
    reads(0, 1, 2);

    /* node 0 reads layouts 1 and 2, node 1 reads layout 1: both write
     * layout 1 */

    begin(1, KEY1);
    tick(0);
    assert_int_equal(nodes[1].cluster->state, MCP_CLUSTER_MEMBER);
    assert_int_equal(node_info(0).view.layout, 1);
    assert_int_equal(node_info(1).view.layout, 1);

    /* a node that can read neither layout 1 nor layout 2 is rejected and
     * serves alone */

    begin(2, KEY2);
    reads(2, 3, 4);
    assert_int_equal(nodes[2].cluster->state, MCP_CLUSTER_APART);
    assert_non_null(strstr(node_info(2).standalone, "reads the layouts 1 to "));
    assert_non_null(strstr(node_info(2).standalone, "this node reads 3 to 4"));
}


/* The nodes of a cluster are upgraded one after the other; then the cluster
 * changes to layout 2. A node that does not read layout 2 is rejected from
 * then on, while Redis may have data in that layout. */
TEST(all_nodes_are_upgraded__redis_layout_changes_and_old_nodes_are_rejected)
{
    int  i;

    begin(0, KEY1);
    (void) command(0, "FLUSHALL");
    reads(0, 1, 1);
    begin(1, KEY1);
    reads(1, 1, 2);
    tick(1);
    assert_int_equal(node_info(1).view.layout, 1);

    /* the last node is upgraded: all nodes write layout 2 after twelve
     * heartbeats */

    reads(0, 1, 2);
    assert_int_equal(node_info(0).view.layout, 1);

    for (i = 0; i < 12; i++) {
        tick(1);
        tick(0);
    }

    assert_int_equal(node_info(0).view.layout, 2);
    assert_int_equal(node_info(1).view.layout, 2);

    /* a node that was not upgraded registers: rejected */

    begin(2, KEY1);
    assert_int_equal(nodes[2].cluster->state, MCP_CLUSTER_APART);
    assert_string_equal(node_info(2).standalone,
                        "the data in Redis has layout 2, but this "
                                        "node reads the layouts 1 to 1");
    assert_non_null(strstr(nodes[2].te.last, "serves alone"));

    /* the upgraded nodes end: the node is still rejected */

    end(0);
    end(1);
    wait_for(2100);
    tick(2);
    assert_int_equal(nodes[2].cluster->state, MCP_CLUSTER_APART);

    reads(2, 2, 3);
    assert_int_equal(nodes[2].cluster->state, MCP_CLUSTER_MEMBER);
    assert_int_equal(node_info(2).view.layout, 2);
    assert_string_equal(node_info(2).standalone, "");
    (void) command(2, "FLUSHALL");
}


/* Redis gets a layout that a member does not read: the member serves alone
 * until Redis is emptied. */
TEST(layout_of_the_data_in_redis_becomes_unknown__the_node_is_standalone)
{
    begin(0, KEY1);
    (void) command(0, "FLUSHALL");
    reads(0, 1, 1);
    assert_int_equal(nodes[0].cluster->state, MCP_CLUSTER_MEMBER);

    (void) command(0, "SET {mcp}:1:layout 3");
    tick(0);
    assert_int_equal(nodes[0].cluster->state, MCP_CLUSTER_APART);
    assert_string_equal(node_info(0).standalone,
                        "the data in Redis has layout 3, but this "
                                        "node reads the layouts 1 to 1");
    (void) command(0, "FLUSHALL");
    tick(0);
    assert_int_equal(nodes[0].cluster->state, MCP_CLUSTER_MEMBER);
    assert_string_equal(node_info(0).standalone, "");
    assert_string_equal(command(0, "GET {mcp}:1:layout"), "1");
}


/* Redis is emptied, and a node with another key is the first one to register:
 * it has to wait until the members before that have registered again. Without
 * members it joins after two node timeouts. */
TEST(redis_is_emptied__a_rejected_node_does_not_register_before_the_members)
{
    uint64_t  started;

    begin(0, KEY1);
    (void) command(0, "FLUSHALL");
    tick(0);
    begin(1, KEY2);
    assert_non_null(strstr(node_info(1).standalone, "no mcp_key in common"));

    (void) command(0, "FLUSHALL");
    tick(1);
    assert_int_equal(nodes[1].cluster->state, MCP_CLUSTER_APART);
    tick(0);
    tick(1);
    assert_int_equal(nodes[0].cluster->state, MCP_CLUSTER_MEMBER);
    assert_int_equal(nodes[1].cluster->state, MCP_CLUSTER_APART);
    assert_non_null(strstr(node_info(1).standalone, "no mcp_key in common"));

    end(0);
    (void) command(1, "FLUSHALL");
    started = real_now();
    tick(1);
    UNTIL(nodes[1].cluster->state == MCP_CLUSTER_MEMBER);
    assert_true(real_now() - started >= 2 * nodes[1].conf.node_timeout);
    assert_string_equal(node_info(1).standalone, "");
    (void) command(1, "FLUSHALL");
}


/* A node that another node rejects, after Redis was emptied, has been a member
 * before: it does not serve alone. */
TEST(node_that_has_joined_is_rejected_by_another_one__redis_is_unreachable)
{
    begin(0, KEY1);
    (void) command(0, "FLUSHALL");
    tick(0);
    nodes[0].conf.outage_timeout = 1;
    (void) command(0, "FLUSHALL");
    begin(1, KEY2);
    assert_int_equal(nodes[1].cluster->state, MCP_CLUSTER_MEMBER);
    tick(0);
    assert_int_equal(nodes[0].cluster->state, MCP_CLUSTER_APART);
    assert_string_equal(node_info(0).standalone, "");
    assert_non_null(strstr(nodes[0].te.last, "has no mcp_key in common"));
    wait_for(20);
    nodes[0].te.now = real_now();
    assert_int_equal(mcp_cluster_is_unreachable(nodes[0].cluster), 1);

    end(1);
    (void) command(0, "FLUSHALL");
    tick(0);
    assert_int_equal(nodes[0].cluster->state, MCP_CLUSTER_MEMBER);
}


/* Starts node i with a new zone, and with a clock that is "ms" milliseconds
 * ahead of Redis's clock. */
static void
set_ahead(int i, int64_t ms)
{
    node_time += (uint64_t) ms;
    begin(i, KEY1);
    node_time -= (uint64_t) ms;
}


TEST(clock_of_a_node_is_400_s_off__the_node_cannot_join_but_with_200_s_it_can)
{
    begin(0, KEY1);
    (void) command(0, "FLUSHALL");
    tick(0);
    assert_ok(mcp_cluster_clock(nodes[0].cluster));

    /* a node whose clock is 200 s behind joins; nodes whose clocks are 400
     * s behind or a day ahead are rejected, and are not in the list of
     * members */

    set_ahead(1, -200000);
    assert_int_equal(nodes[1].cluster->state, MCP_CLUSTER_MEMBER);
    set_ahead(2, -400000);
    set_ahead(3, 86400000);

    assert_int_equal(nodes[2].cluster->state, MCP_CLUSTER_APART);
    assert_int_equal(nodes[3].cluster->state, MCP_CLUSTER_APART);
    assert_int_equal(mcp_cluster_clock(nodes[2].cluster), MCP_ERR_DENIED);
    assert_int_equal(mcp_cluster_clock(nodes[3].cluster), MCP_ERR_DENIED);
    assert_non_null(strstr(node_info(2).error,
                           "s behind the clock of Redis: synchronize "
                           "both by NTP"));
    assert_non_null(strstr(node_info(3).error, "s ahead of the clock of "
                                               "Redis"));
    assert_string_equal(node_info(3).standalone, "");
    assert_string_equal(command(0, "ZCARD {mcp}:1:nodes"), "2");

    /* the clocks agree: the node joins */

    nodes[2].te.now = real_now();
    tick(2);
    assert_int_equal(nodes[2].cluster->state, MCP_CLUSTER_MEMBER);
    assert_ok(mcp_cluster_clock(nodes[2].cluster));
}


/* The clock of Redis is changed while a node is a member: the node stays a
 * member, because the clock of its zone is steady. */
TEST(clock_of_redis_jumps_after_a_node_has_joined__the_node_stays_a_member)
{
    begin(0, KEY1);
    (void) command(0, "FLUSHALL");
    tick(0);
    node_time += 400000;
    nodes[0].cluster->state = MCP_CLUSTER_APART;
    tick(0);
    assert_int_equal(nodes[0].cluster->state, MCP_CLUSTER_MEMBER);
    assert_ok(mcp_cluster_clock(nodes[0].cluster));
    node_time -= 400000;
}


RUN_TESTS_WITH_REDIS(start)
