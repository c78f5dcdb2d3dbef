/* SPDX-License-Identifier: Apache-2.0 */

/* What a process has of shared streams: as much as there is to do. */

#include "cluster_streams.h"


static void
test_life(void **state)
{
    char               text[64];
    mcp_stream_info_t  info;

    needs_redis();

    begin_all(2);
    make(0, 'a');
    make(0, 'b');
    UNTIL(copying(0, 'a').created && copying(0, 'b').created);
    assert_int_equal(n_copies(0), 2);

    come(1, 'a', 0, 's');
    assert_int_equal(n_copies(1), 1);

    /* nobody watches: it is told that there is nobody */

    UNTIL(strcmp(about(0, "HGET", 'h', 'a', "n"), "") == 0);

    info = info_of(0, 'a');
    mcp_store_free(&nodes[0].store, &info.ref);
    UNTIL(n_copies(0) == 1 && strcmp(about(0, "EXISTS", 'h', 'a', ""),
                                     "0") == 0);

    /* nor is it among those that the node has */

    snprintf(text, sizeof(text), "SCARD {mcp}:1:o:%016llx",
             (unsigned long long) node_info(0).id);
    assert_string_equal(command(0, text), "1");
    end_all();
}


/* Redis is told of each stream, again and again, so that it stays there. */
static void
test_refresh(void **state)
{
    needs_redis();

    begin_all(1);
    make(0, 'a');
    UNTIL(copying(0, 'a').created);
    (void) about(0, "PEXPIRE", 'h', 'a', "5000");
    UNTIL(strtol(about(0, "PTTL", 'h', 'a', ""), NULL, 10) > 50000);
    end_all();
}


/* A node that is refused serves alone, and nobody waits for Redis. */
static void
test_alone(void **state)
{
    uint64_t  seq;

    needs_redis();

    begin_all(1);
    make(0, 'a');
    UNTIL(copying(0, 'a').created);

    /* meanwhile the cluster is others', who have another key */

    (void) command(0, "FLUSHALL");
    hears = 0;
    begin(1, KEY2);
    hears = 1;
    assert_int_equal(nodes[1].cluster->state, MCP_CLUSTER_MEMBER);
    add_events(0, 'a', 1);
    tick(0);
    assert_int_equal(nodes[0].cluster->state, MCP_CLUSTER_APART);
    assert_int_equal(read_from(0, 'a', 0, &seq), MCP_AGAIN);
    assert_int_equal(seq, 1);
    end_all();
}


/* It goes with its process. */
static void
test_end(void **state)
{
    needs_redis();

    begin_all(1);
    make(0, 'a');
    add_events(0, 'a', 1);
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(nodes[0].cluster->link.n_pending, 1);
    end_all();
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_life),
        cmocka_unit_test(test_refresh),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_end),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
