/* SPDX-License-Identifier: Apache-2.0 */

/* The streams and mirrors that a process replicates and feeds. */

#include "cluster_streams.h"


TEST(stream_is_freed__its_replication_and_its_redis_data_are_removed)
{
    char               text[64];
    mcp_stream_info_t  info;

    begin_all(2);
    make(0, 'a');
    make(0, 'b');
    UNTIL(repl_state(0, 'a').created && repl_state(0, 'b').created);
    assert_int_equal(n_replications(0), 2);

    come(1, 'a', 0, 's');
    assert_int_equal(n_replications(1), 1);

    /* no consumer attaches to the mirror: node 1 reports that, and Redis
     * removes the reader */

    UNTIL(strcmp(about(0, "HGET", 'h', 'a', "n"), "") == 0);

    info = info_of(0, 'a');
    mcp_store_free(&nodes[0].store, &info.ref);
    UNTIL(n_replications(0) == 1 && strcmp(about(0, "EXISTS", 'h', 'a', ""),
                                     "0") == 0);

    /* Redis has removed the freed stream from the set of the node's streams */

    snprintf(text, sizeof(text), "SCARD {mcp}:1:o:%016llx",
             (unsigned long long) node_info(0).id);
    assert_string_equal(command(0, text), "1");
}


/* The keys of a stream in Redis are renewed at intervals. */
TEST(keys_of_a_stream_are_renewed_in_redis_before_they_expire)
{
    begin_replicated(1, 0);
    (void) about(0, "PEXPIRE", 'h', 'a', "5000");
    UNTIL(strtol(about(0, "PTTL", 'h', 'a', ""), NULL, 10) > 50000);
}


/* A node is rejected and serves alone: a reader gets events that Redis
 * lacks. */
TEST(node_serves_alone__a_reader_gets_events_that_redis_lacks)
{
    uint64_t  seq;

    begin_replicated(1, 0);

    /* the data in Redis get a layout that node 0 does not read */

    (void) command(0, "SET {mcp}:1:layout 99 EX 60");
    add_events(0, 'a', 1);
    tick(0);
    assert_int_equal(nodes[0].cluster->state, MCP_CLUSTER_APART);
    assert_int_equal(read_from(0, 'a', 0, &seq), MCP_AGAIN);
    assert_int_equal(seq, 1);
    (void) command(0, "FLUSHALL");
}


/* A stream is freed while a command is pending: its reply is discarded, and
 * Redis removes the stream. */
TEST(stream_is_freed_while_its_command_is_pending__redis_removes_the_stream)
{
    mcp_stream_info_t   info;
    mcp_replication_t  *repl;

    begin_replicated(1, 0);
    info = info_of(0, 'a');
    repl = mcp_replication_get(nodes[0].cluster, &info.ref);
    assert_int_equal(repl->phase, MCP_REPLICATION_IDLE);
    assert_int_equal(repl->mirror, MCP_MIRROR_NONE);

    add_events(0, 'a', 1);
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(repl->phase, MCP_REPLICATION_SENT);

    mcp_store_free(&nodes[0].store, &info.ref);
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(repl->phase, MCP_REPLICATION_DISCARD);

    UNTIL(n_replications(0) == 0
          && strcmp(about(0, "EXISTS", 'h', 'a', ""), "0") == 0);
}


/* The process ends while a command is pending: its replications are freed. */
TEST(process_ends_while_a_command_is_pending__its_replications_are_freed)
{
    begin_all(1);
    make(0, 'a');
    add_events(0, 'a', 1);
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(repl_phase(0, 'a'), MCP_REPLICATION_SENT);
}


RUN_TESTS_WITH_REDIS(start)
