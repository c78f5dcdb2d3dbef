/* SPDX-License-Identifier: Apache-2.0 */

/* Nodes of builds that read other layouts of what is in Redis: they go together
 * while they can, and nobody reads what it does not know. */

#include "cluster_redis.h"


/* A node becomes one of a build that reads these layouts, and says hello. */
static void
reads(int i, unsigned low, unsigned high)
{
    nodes[i].cluster->low = low;
    nodes[i].cluster->high = high;
    nodes[i].cluster->state = MCP_CLUSTER_APART;
    tick(i);
}


static void
test_layouts(void **state)
{
    needs_redis();

    begin(0, KEY1);
    (void) command(0, "FLUSHALL");
    reads(0, 1, 2);

    /* of two builds, both write what both read */

    begin(1, KEY1);
    tick(0);
    assert_int_equal(nodes[1].cluster->state, MCP_CLUSTER_MEMBER);
    assert_int_equal(node_info(0).view.layout, 1);
    assert_int_equal(node_info(1).view.layout, 1);

    /* one that reads no such thing serves alone */

    begin(2, KEY1);
    reads(2, 3, 4);
    assert_int_equal(nodes[2].cluster->state, MCP_CLUSTER_APART);
    assert_non_null(strstr(node_info(2).standalone, "reads the layouts 1 to "));
    assert_non_null(strstr(node_info(2).standalone, "this node reads 3 to 4"));

    end(0);
    end(1);
    end(2);
}


/* A cluster is upgraded, node by node; what it has written then no older build
 * reads, as long as it may be there. */
static void
test_upgrade(void **state)
{
    int  i;

    needs_redis();

    begin(0, KEY1);
    (void) command(0, "FLUSHALL");
    reads(0, 1, 1);
    begin(1, KEY1);
    reads(1, 1, 2);
    tick(1);
    assert_int_equal(node_info(1).view.layout, 1);

    /* the last of the old ones is upgraded, and a while later all know it */

    reads(0, 1, 2);
    assert_int_equal(node_info(0).view.layout, 1);

    for (i = 0; i < 12; i++) {
        tick(1);
        tick(0);
    }

    assert_int_equal(node_info(0).view.layout, 2);
    assert_int_equal(node_info(1).view.layout, 2);

    /* one that was away comes back */

    begin(2, KEY1);
    assert_int_equal(nodes[2].cluster->state, MCP_CLUSTER_APART);
    assert_string_equal(node_info(2).standalone,
                        "the data in Redis has layout 2, but this "
                                        "node reads 1 to 1");
    assert_non_null(strstr(nodes[2].te.last, "serves alone"));

    /* so it is when nobody else lives */

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
    end(2);
}


/* Members that write what this one does not read have come to be meanwhile. */
static void
test_later(void **state)
{
    needs_redis();

    begin(0, KEY1);
    (void) command(0, "FLUSHALL");
    reads(0, 1, 1);
    assert_int_equal(nodes[0].cluster->state, MCP_CLUSTER_MEMBER);

    (void) command(0, "SET {mcp}:1:layout 3");
    tick(0);
    assert_int_equal(nodes[0].cluster->state, MCP_CLUSTER_APART);
    assert_string_equal(node_info(0).standalone,
                        "the data in Redis has layout 3, but this "
                                        "node reads 1 to 1");
    (void) command(0, "FLUSHALL");
    tick(0);
    assert_int_equal(nodes[0].cluster->state, MCP_CLUSTER_MEMBER);
    assert_string_equal(node_info(0).standalone, "");
    assert_string_equal(command(0, "GET {mcp}:1:layout"), "1");
    end(0);
}


/* Sets the clock of node i "ms" ahead of Redis's, in a new zone. */
static void
set_ahead(int i, int64_t ms)
{
    node_time += (uint64_t) ms;
    begin(i, KEY1);
    node_time -= (uint64_t) ms;
}


static void
test_clock(void **state)
{
    needs_redis();

    begin(0, KEY1);
    (void) command(0, "FLUSHALL");
    tick(0);
    assert_int_equal(mcp_cluster_clock(nodes[0].cluster), MCP_OK);

    /* 200 s off: it joins, 400 s off: not, and it is no member for others */

    set_ahead(1, -200000);
    assert_int_equal(nodes[1].cluster->state, MCP_CLUSTER_MEMBER);
    set_ahead(2, -400000);
    set_ahead(3, 86400000);

    assert_int_equal(nodes[2].cluster->state, MCP_CLUSTER_APART);
    assert_int_equal(nodes[3].cluster->state, MCP_CLUSTER_APART);
    assert_int_equal(mcp_cluster_clock(nodes[2].cluster), MCP_ERR_DENIED);
    assert_int_equal(mcp_cluster_clock(nodes[3].cluster), MCP_ERR_DENIED);
    assert_non_null(strstr(node_info(2).error,
                           "s behind that of Redis: set both "
                                           "by NTP"));
    assert_non_null(strstr(node_info(3).error, "s ahead of that of Redis"));
    assert_string_equal(node_info(3).standalone, "");
    assert_string_equal(command(0, "ZCARD {mcp}:1:nodes"), "2");

    /* the clocks agree: it joins */

    nodes[2].te.now = real_now();
    tick(2);
    assert_int_equal(nodes[2].cluster->state, MCP_CLUSTER_MEMBER);
    assert_int_equal(mcp_cluster_clock(nodes[2].cluster), MCP_OK);

    end(0);
    end(1);
    end(2);
    end(3);
}


/* Redis's clock is set while a node is a member, whose own is steady. */
static void
test_clock_later(void **state)
{
    needs_redis();

    begin(0, KEY1);
    (void) command(0, "FLUSHALL");
    tick(0);
    node_time += 400000;
    nodes[0].cluster->state = MCP_CLUSTER_APART;
    tick(0);
    assert_int_equal(nodes[0].cluster->state, MCP_CLUSTER_MEMBER);
    assert_int_equal(mcp_cluster_clock(nodes[0].cluster), MCP_OK);
    node_time -= 400000;
    end(0);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_upgrade),
        cmocka_unit_test(test_later),
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_clock_later),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
