/* SPDX-License-Identifier: Apache-2.0 */

/* Renewal of many idle streams by one command (redis/keep.lua). Only
 * redis/append.lua writes field "z" of a stream in Redis. So a test writes a
 * mark into that field; the mark remains if the stream is only renewed. */

#include "cluster_streams.h"


#define MARK  "12345"


/* Creates three idle streams of one event each. Their complete state was sent
 * 100 s ago, and their heads in Redis (key "h") expire in a second. Writes the
 * mark into field "z" of each. */
static void
begin_idle(void)
{
    int                 i;
    mcp_replication_t  *repl;
    mcp_stream_info_t   info;

    begin_all(1);
    nodes[0].conf.node_timeout = 600000;

    /* the heartbeat that is due within 0.2 s would renew the streams, too */

    mcp_timer_set(&nodes[0].worker->timers, &nodes[0].cluster->heartbeat,
                  nodes[0].te.now + nodes[0].conf.node_timeout);
    UNTIL(nodes[0].cluster->link.n_pending == 0);

    for (i = 'a'; i <= 'c'; i++) {
        make(0, i);
        add_acked(0, i, 1);
        (void) about(0, "HSET", 'h', i, "z " MARK);
        (void) about(0, "PEXPIRE", 'h', i, "1000");
        assert_true(mcp_replication_has(nodes[0].cluster, id_of(i), &info));
        repl = mcp_replication_get(nodes[0].cluster, &info.ref);
        repl->time -= 100000;
    }
}


static int
is_kept(int name)
{
    return atol(about(0, "PTTL", 'h', name, "")) > 100000;
}


/* Returns 1 if the keys of a stream were renewed, and redis/append.lua was not
 * run for it. */
static int
is_only_kept(int name)
{
    return is_kept(name)
           && strcmp(about(0, "HGET", 'h', name, "z"), MARK) == 0;
}


static void
keep(void)
{
    mcp_keep_all(nodes[0].cluster);
    assert_int_equal(nodes[0].cluster->keeping, 1);
    assert_int_equal(nodes[0].cluster->link.n_pending, 1);
    UNTIL(!nodes[0].cluster->keeping);
}


TEST(all_streams_are_idle__one_command_renews_their_keys_but_sends_no_state)
{
    int  i;

    begin_idle();
    keep();

    for (i = 'a'; i <= 'c'; i++) {
        assert_true(is_only_kept(i));
    }

    all_expire(0);

    /* no stream is due for renewal: no command is sent */

    mcp_keep_all(nodes[0].cluster);
    assert_int_equal(nodes[0].cluster->keeping, 0);
    assert_int_equal(nodes[0].cluster->link.n_pending, 0);

    /* an event is appended: it is replicated by the usual command */

    add_acked(0, 'a', 1);
    assert_string_equal(about(0, "HGET", 'h', 'a', "l"), "2");
}


/* Redis has lost a stream, a client queries the owner about an event, or
 * another node owns a stream: redis/append.lua is run for this stream, and the
 * other streams are only renewed. */
TEST(one_idle_stream_is_lost_or_queried_or_reassigned__it_alone_gets_an_append)
{
    begin_idle();
    (void) about(0, "DEL", 'h', 'a', "");
    (void) about(0, "HSET", 'h', 'b', "y 2_1");
    keep();
    assert_true(is_only_kept('c'));
    UNTIL(is_kept('a'));
    UNTIL(is_kept('b'));
    assert_string_not_equal(about(0, "HGET", 'h', 'b', "z"), MARK);
    assert_string_equal(about(0, "HGET", 'h', 'a', "l"), "1");
    all_expire(0);
    end_all();

    begin_idle();
    (void) about(0, "HSET", 'h', 'a', "o 00000000000000ff");
    keep();
    assert_true(is_only_kept('b'));
    assert_true(is_only_kept('c'));
    UNTIL(node_info(0).counts[MCP_NODE_FENCED] == 1);
}


/* A key of one stream has a wrong type: an error; the other streams are
 * renewed. */
TEST(key_of_one_idle_stream_is_lost__its_owner_writes_the_stream_again)
{
    begin_idle();
    (void) about(0, "DEL", 'e', 'a', "");
    (void) about(0, "DEL", 'c', 'b', "");
    keep();
    assert_true(is_only_kept('c'));
    UNTIL(strcmp(about(0, "XLEN", 'e', 'a', ""), "1") == 0);
    UNTIL(strcmp(about(0, "EXISTS", 'c', 'b', ""), "1") == 0);
}


TEST(key_of_one_idle_stream_has_a_wrong_type__the_other_streams_are_renewed)
{
    begin_idle();
    (void) about(0, "DEL", 'h', 'a', "");
    (void) about(0, "SET", 'h', 'a', "x");
    keep();
    assert_true(is_only_kept('b'));
    assert_true(is_only_kept('c'));
    UNTIL(strstr(node_info(0).error, "WRONGTYPE") != NULL);
}


/* The link is lost before the reply: the complete state of each stream is sent
 * on the next link. */
TEST(link_is_lost_during_a_renewal__the_next_link_gets_all_complete_states)
{
    int  i;

    begin_idle();
    mcp_keep_all(nodes[0].cluster);
    assert_int_equal(nodes[0].cluster->keeping, 1);
    process_lose(&nodes[0], "lost");
    assert_int_equal(nodes[0].cluster->keeping, 0);
    rerun(0);

    for (i = 'a'; i <= 'c'; i++) {
        UNTIL(is_kept(i));
        assert_string_not_equal(about(0, "HGET", 'h', i, "z"), MARK);
    }
}


RUN_TESTS_WITH_REDIS(start)
