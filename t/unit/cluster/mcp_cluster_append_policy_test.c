/* SPDX-License-Identifier: Apache-2.0 */

/*
 * When the replicator sends the complete state of a stream (redis/append.lua),
 * and when it sends only events (redis/append_events.lua). Only
 * redis/append.lua writes field "z" of the stream in Redis. So a test writes a
 * mark into that field; the mark remains if only events are sent.
 */

#include "cluster_streams.h"


#define MARK  "12345"

/* The name of the set in Redis with the streams of session "s". */
#define STREAMS  "{mcp}:1:s:ssssssssssssssss"


/* Starts n nodes. Creates a stream of one event at node 0, waits until Redis
 * has its complete state, and sets field "z" of the stream in Redis to MARK,
 * which only redis/append.lua overwrites. */
static void
begin_marked(int n)
{
    int  i;

    begin_all(n);

    for (i = 0; i < n; i++) {
        nodes[i].conf.node_timeout = 600000;
    }

    make(0, 'a');
    add_acked(0, 'a', 1);
    (void) about(0, "HSET", 'h', 'a', "z " MARK);
}


/* Waits until Redis has acknowledged event seq. Returns 1 if only events were
 * sent since the test wrote the mark into field "z". */
static int
event_alone(uint64_t seq)
{
    UNTIL(repl_state(0, 'a').acked.seq == seq);

    return strcmp(about(0, "HGET", 'h', 'a', "z"), MARK) == 0;
}


TEST(event_is_longest_so_far_or_a_response__only_then_complete_state_is_sent)
{
    begin_marked(1);

    add_events(0, 'a', 1);
    assert_true(event_alone(2));
    add_events(0, 'a', 100);
    assert_true(event_alone(102));
    assert_string_equal(about(0, "XLEN", 'e', 'a', ""), "102");
    assert_string_equal(about(0, "HGET", 'h', 'a', "l"), "102");
    all_expire(0);

    /* an event that is longer than the longest one in Redis: complete state */

    add(0, 'a', "{\"method\":\"longer\"}", -1, MCP_STATE_PROCESSING);
    assert_false(event_alone(103));
    assert_string_equal(about(0, "HGET", 'h', 'a', "e"), "19");
    (void) about(0, "HSET", 'h', 'a', "z " MARK);
    add(0, 'a', "{\"method\":\"longer\"}", -1, MCP_STATE_PROCESSING);
    assert_true(event_alone(104));

    /* the response: complete state */

    add(0, 'a', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    assert_false(event_alone(105));
    assert_string_equal(about(0, "HGET", 'h', 'a', "x"), "2 1 0 0");
    all_expire(0);
}


/* Events are appended all the time: the complete state is sent at intervals
 * nevertheless, and no key of the stream expires. */
TEST(events_are_appended_without_pause__the_redis_keys_are_still_renewed)
{
    int       i;
    uint64_t  end;

    begin_marked(1);
    nodes[0].conf.node_timeout = 60;
    end = real_now() + 10000;

    for (i = 2; strcmp(about(0, "HGET", 'h', 'a', "z"), MARK) == 0; i++) {
        assert_true(real_now() < end);
        add_acked(0, 'a', 1);
    }

    (void) command(0, "PEXPIRE " STREAMS " 100");
    (void) about(0, "PEXPIRE", 'e', 'a', "100");

    for ( ; atoi(about(0, "PTTL", 'e', 'a', "")) <= 100; i++) {
        add_acked(0, 'a', 1);
    }

    assert_true(atoi(command(0, "PTTL " STREAMS)) > 100);
    all_expire(0);
}


/* The stream has a reader at another node, and later at the owner's node: only
 * events are sent, and the reader gets them. */
TEST(client_reads_at_another_node__the_owner_sends_each_event_without_the_state)
{
    uint64_t  seq;

    begin_marked(2);
    come(1, 'a', 0, 's');
    assert_int_equal(read_from(1, 'a', 0, &seq), MCP_AGAIN);
    UNTIL(repl_state(0, 'a').consumer_slot == MCP_STORE_REMOTE_CONSUMER);
    add_events(0, 'a', 1);
    assert_true(event_alone(2));
    UNTIL(info_of(1, 'a').last_seq == 2);
    all_expire(0);

    /* the client leaves, and resumes at the owner's node */

    leave(1, 'a', 2);
    UNTIL(repl_state(0, 'a').consumer_slot == MCP_STORE_NO_SLOT);
    add_events(0, 'a', 1);
    assert_true(event_alone(3));
    assert_int_equal(repl_state(0, 'a').consumer_slot, MCP_STORE_NO_SLOT);
    assert_string_equal(about(0, "HGET", 'h', 'a', "t"), "2");

    come(0, 'a', 3, 's');
    assert_int_equal(read_from(0, 'a', 3, &seq), MCP_AGAIN);
    add_acked(0, 'a', 1);
    assert_string_equal(about(0, "HGET", 'h', 'a', "t"), "3");
}


/* The reader's node was declared dead: the complete state is sent, and Redis
 * removes the reader. */
TEST(node_of_a_reader_was_declared_dead__redis_removes_the_reader)
{
    begin_marked(1);
    (void) about(0, "HSET", 'h', 'a', "n another w 2");
    add_events(0, 'a', 1);
    assert_true(event_alone(2));
    assert_string_equal(command(0, "XLEN {mcp}:1:m:another"), "1");
    (void) command(0, "SET {mcp}:1:x:another x EX 60");
    add_events(0, 'a', 1);
    assert_false(event_alone(3));
    assert_string_equal(about(0, "HGET", 'h', 'a', "n"), "");
    assert_string_equal(command(0, "XLEN {mcp}:1:m:another"), "1");
    all_expire(0);
}


/* Redis has lost events of the stream, its log, or all keys: the complete
 * state is sent. */
TEST(redis_has_lost_events_or_keys__the_complete_state_is_sent)
{
    begin_marked(1);
    add_events(0, 'a', 2);
    assert_true(event_alone(3));

    (void) about(0, "XDEL", 'e', 'a', "2-0 3-0");
    (void) about(0, "HSET", 'h', 'a', "l 1");
    (void) about(0, "DEL", 'e', 'a', "");
    add_events(0, 'a', 1);
    assert_false(event_alone(4));
    assert_string_equal(about(0, "XLEN", 'e', 'a', ""), "4");
    all_expire(0);

    (void) about(0, "HSET", 'h', 'a', "z " MARK);
    (void) about(0, "DEL", 'e', 'a', "");
    add_events(0, 'a', 1);
    assert_false(event_alone(5));
    assert_string_equal(about(0, "XLEN", 'e', 'a', ""), "5");
    all_expire(0);

    (void) about(0, "HSET", 'h', 'a', "z " MARK);
    (void) command(0, "FLUSHALL");
    add_events(0, 'a', 1);
    assert_false(event_alone(6));
    assert_string_equal(about(0, "XLEN", 'e', 'a', ""), "6");
    all_expire(0);
}


/* Redis is emptied: the longest event that the owner has sent since then
 * counts as the longest event in Redis. */
TEST(redis_is_emptied__only_events_sent_since_then_count_for_the_longest_event)
{
    mcp_stream_info_t  info;

    begin_marked(1);
    add(0, 'a', "{\"method\":\"longer\"}", -1, MCP_STATE_PROCESSING);
    assert_false(event_alone(2));
    info = info_of(0, 'a');
    assert_ok(mcp_store_confirm(&nodes[0].store, &info.ref, 2));
    (void) command(0, "FLUSHALL");
    add_events(0, 'a', 1);
    assert_false(event_alone(3));
    assert_string_equal(about(0, "HGET", 'h', 'a', "e"), "14");
    (void) about(0, "HSET", 'h', 'a', "z " MARK);
    add(0, 'a', "{\"method\":\"longer\"}", -1, MCP_STATE_PROCESSING);
    assert_false(event_alone(4));
    assert_string_equal(about(0, "HGET", 'h', 'a', "e"), "19");
}


/* Another node owns the stream in Redis: this node drops its stream, and Redis
 * gets no event. */
TEST(redis_has_another_owner_for_a_stream__events_of_this_node_are_not_added)
{
    begin_marked(1);
    (void) about(0, "HSET", 'h', 'a', "o another");
    add_events(0, 'a', 1);
    UNTIL(!is_at(0, 'a'));
    assert_string_equal(about(0, "HGET", 'h', 'a', "l"), "1");
    assert_string_equal(about(0, "XLEN", 'e', 'a', ""), "1");
}


/* Creates a stream with 100 events at node "owner", and attaches a consumer at
 * node "reader", which reads nothing yet. "wait" is the stream's max_wait and
 * its linger, ms. */
static void
make_read(int owner, int reader, uint64_t wait)
{
    int                taken;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_info_t  info;
    mcp_stream_spec_t  spec;

    fill_spec(&spec, 'a');
    spec.max_wait = wait;
    spec.linger = wait;
    assert_ok(mcp_store_create(&nodes[owner].store, &spec, real_now(), &ref));
    nodes[owner].worker->cluster_hooks->replicate(nodes[owner].cluster, &ref,
        0);
    add_acked(owner, 'a', 100);

    if (reader != owner) {
        come(reader, 'a', 0, 's');
    }

    info = info_of(reader, 'a');
    assert_ok(mcp_store_watch(&nodes[reader].store, &info.ref, HANDLE, 0,
                              &cursor, &taken));
}


static int
is_kept(int reader)
{
    return atoi(about(2, "PTTL", 'h', 'a', "")) > 1 && is_at(0, 'a')
           && is_at(reader, 'a');
}


/* A stream is over, and its client reads for longer than its linger (300 ms):
 * the nodes and Redis keep the stream until the client has left. */
static void
read_slowly(int reader)
{
    uint64_t  seq, end;

    begin_all(3);
    make_read(0, reader, 300);
    UNTIL(repl_state(0, 'a').consumer_slot
          == (reader ? MCP_STORE_REMOTE_CONSUMER : nodes[0].store.slot));
    add(0, 'a', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    UNTIL(repl_state(0, 'a').acked.seq == 101);
    end = real_now() + (reader ? 3000 : 1000);

    UNTIL(!is_kept(reader) || real_now() >= end);
    assert_true(is_kept(reader));
    assert_int_equal(node_info(0).counts[MCP_NODE_REFILLED], 0);
    assert_string_equal(about(2, "XLEN", 'e', 'a', ""), "101");

    assert_int_equal(read_from(reader, 'a', 0, &seq), MCP_DONE);
    assert_int_equal(seq, 101);
    leave(reader, 'a', 101);
    UNTIL(!is_at(0, 'a'));
    end_all();
}


TEST(ended_stream_is_kept_while_a_client_at_the_owners_node_reads_it)
{
    read_slowly(0);
}


TEST(ended_stream_is_kept_while_a_client_at_another_node_reads_it)
{
    read_slowly(1);
}


RUN_TESTS_WITH_REDIS(start)
