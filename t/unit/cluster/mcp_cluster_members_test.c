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
    assert_int_equal(facts(0).view.layout, 1);
    assert_int_equal(facts(1).view.layout, 1);

    /* one that reads no such thing serves alone */

    begin(2, KEY1);
    reads(2, 3, 4);
    assert_int_equal(nodes[2].cluster->state, MCP_CLUSTER_APART);
    assert_non_null(strstr(facts(2).alone, "reads layouts 1 to "));
    assert_non_null(strstr(facts(2).alone, "this one 3 to 4"));

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
    assert_int_equal(facts(1).view.layout, 1);

    /* the last of the old ones is upgraded, and a while later all know it */

    reads(0, 1, 2);
    assert_int_equal(facts(0).view.layout, 1);

    for (i = 0; i < 12; i++) {
        tick(1);
        tick(0);
    }

    assert_int_equal(facts(0).view.layout, 2);
    assert_int_equal(facts(1).view.layout, 2);

    /* one that was away comes back */

    begin(2, KEY1);
    assert_int_equal(nodes[2].cluster->state, MCP_CLUSTER_APART);
    assert_string_equal(facts(2).alone, "what is in Redis has layout 2, this "
                                        "node reads 1 to 1");
    assert_non_null(strstr(nodes[2].te.last, "this node serves alone"));

    /* so it is when nobody else lives */

    end(0);
    end(1);
    wait_for(2100);
    tick(2);
    assert_int_equal(nodes[2].cluster->state, MCP_CLUSTER_APART);

    reads(2, 2, 3);
    assert_int_equal(nodes[2].cluster->state, MCP_CLUSTER_MEMBER);
    assert_int_equal(facts(2).view.layout, 2);
    assert_string_equal(facts(2).alone, "");
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
    assert_string_equal(facts(0).alone, "what is in Redis has layout 3, this "
                                        "node reads 1 to 1");
    (void) command(0, "FLUSHALL");
    tick(0);
    assert_int_equal(nodes[0].cluster->state, MCP_CLUSTER_MEMBER);
    assert_string_equal(facts(0).alone, "");
    assert_string_equal(command(0, "GET {mcp}:1:layout"), "1");
    end(0);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_upgrade),
        cmocka_unit_test(test_later),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
