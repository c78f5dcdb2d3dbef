/* SPDX-License-Identifier: Apache-2.0 */

/* The replicator: Redis gets all events of a stream, and gets lost events
 * again. */

#include "cluster_streams.h"


/* Readers get only the events that Redis has acknowledged. */
TEST(readers_get_only_events_that_redis_has_acknowledged)
{
    uint64_t  seq;

    begin_all(1);
    make(0, 'a');
    add_events(0, 'a', 3);
    assert_int_equal(info_of(0, 'a').replicated, 0);
    assert_int_equal(read_from(0, 'a', 0, &seq), MCP_AGAIN);
    assert_int_equal(seq, 0);

    UNTIL(repl_state(0, 'a').acked.seq == 3);
    assert_int_equal(info_of(0, 'a').replicated, 1);
    assert_int_equal(read_from(0, 'a', 0, &seq), MCP_AGAIN);
    assert_int_equal(seq, 3);
    assert_string_equal(about(0, "XLEN", 'e', 'a', ""), "3");

    /* the first event is appended after Redis has got the stream */

    make(0, 'b');
    UNTIL(repl_state(0, 'b').created);
    add_acked(0, 'b', 1);
    all_expire(0);

    /* the response ends the stream for its reader when Redis has acknowledged
     * it */

    add(0, 'a', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    assert_int_equal(read_from(0, 'a', 3, &seq), MCP_AGAIN);
    UNTIL(repl_state(0, 'a').acked.state == MCP_STATE_COMPLETED);
    assert_int_equal(read_from(0, 'a', 3, &seq), MCP_DONE);
    assert_int_equal(seq, 4);
    assert_string_equal(about(0, "HGET", 'h', 'a', "x"), "2 1 0 0");
    all_expire(0);
}


TEST(stream_of_300_events_is_replicated)
{
    uint64_t  seq;

    begin_replicated(1, 300);
    assert_int_equal(read_from(0, 'a', 0, &seq), MCP_AGAIN);
    assert_int_equal(seq, 300);
}


/* Commands that were sent on a lost connection reach Redis after later ones:
 * the late commands change nothing. */
TEST(old_append_commands_reach_redis_after_newer_commands__nothing_changes)
{
    int     fd;
    char    buf[4096];
    size_t  len;

    begin_all(1);
    kept = malloc(1 << 20);
    kept_len = 0;
    make(0, 'a');
    add_acked(0, 'a', 1);
    add_acked(0, 'a', 100);
    len = kept_len;
    add(0, 'a', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    UNTIL(repl_state(0, 'a').acked.state == MCP_STATE_COMPLETED);

    fd = dial();
    assert_int_equal(write(fd, kept, len), len);
    assert_int_equal(write(fd, "QUIT\r\n", 6), 6);

    while (read(fd, buf, sizeof(buf)) > 0) {
        /* void */
    }

    close(fd);
    free(kept);
    kept = NULL;

    assert_string_equal(about(0, "HGET", 'h', 'a', "l"), "102");
    assert_string_equal(about(0, "XLEN", 'e', 'a', ""), "102");
    assert_string_equal(about(0, "HGET", 'h', 'a', "x"), "2 1 0 0");
    all_expire(0);
}


/* Redis has lost events of a stream: the replicator sends them again. */
TEST(redis_has_lost_events__the_replicator_sends_them_again)
{
    uint64_t  seq;

    begin_replicated(1, 3);

    (void) command(0, "FLUSHALL");
    add_acked(0, 'a', 1);
    assert_string_equal(about(0, "XLEN", 'e', 'a', ""), "4");

    /* a failover of Redis has lost the last events */

    (void) about(0, "XDEL", 'e', 'a', "3-0 4-0");
    (void) about(0, "HSET", 'h', 'a', "l 2");
    (void) about(0, "DEL", 'e', 'a', "");
    add_acked(0, 'a', 1);
    assert_string_equal(about(0, "HGET", 'h', 'a', "l"), "5");
    assert_string_equal(about(0, "XLEN", 'e', 'a', ""), "5");
    assert_int_equal(read_from(0, 'a', 0, &seq), MCP_AGAIN);
    assert_int_equal(seq, 5);
}


/* Only the log of a stream was restored from another master, or only its
 * head. */
TEST(log_has_later_events_than_the_head__the_replicator_sends_all_again)
{
    uint64_t  seq;

    begin_replicated(1, 3);
    (void) about(0, "XADD", 'e', 'a', "7-0 m {} r 0");
    add_acked(0, 'a', 1);
    assert_string_equal(about(0, "HGET", 'h', 'a', "l"), "4");
    assert_string_equal(about(0, "XLEN", 'e', 'a', ""), "4");
    assert_int_equal(read_from(0, 'a', 0, &seq), MCP_AGAIN);
    assert_int_equal(seq, 4);
}


/* The link is lost while a command is pending, and another event is appended:
 * Redis gets both events once. */
TEST(link_is_lost_during_an_append__redis_gets_each_event_once)
{
    begin_replicated(1, 1);
    add_events(0, 'a', 1);
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(repl_phase(0, 'a'), MCP_REPLICATION_SENT);
    cut_off(0);
    add_acked(0, 'a', 1);
    assert_string_equal(about(0, "XLEN", 'e', 'a', ""), "3");
}


/* Another node owns the stream in Redis: this node drops its stream. */
TEST(append_finds_another_owner_in_redis__the_node_drops_its_stream)
{
    begin_replicated(1, 0);
    (void) about(0, "HSET", 'h', 'a', "o another");
    add_events(0, 'a', 1);
    UNTIL(!is_at(0, 'a'));
    assert_non_null(strstr(nodes[0].te.last, "belongs to another node"));
    assert_string_equal(about(0, "HGET", 'h', 'a', "o"), "another");
}


TEST(stream_is_freed__its_redis_keys_for_head_and_constant_values_are_deleted)
{
    mcp_stream_info_t  info;

    begin_replicated(1, 0);
    assert_string_equal(about(0, "EXISTS", 'h', 'a', ""), "1");
    info = info_of(0, 'a');
    mcp_store_free(&nodes[0].store, &info.ref);
    UNTIL(strcmp(about(0, "EXISTS", 'h', 'a', ""), "0") == 0);
    assert_string_equal(about(0, "EXISTS", 'c', 'a', ""), "0");
}


/* The node was declared dead and has sent no heartbeat since. When it
 * replicates a new stream, it detects that it was declared dead and gets a new
 * id. Redis records the new id as the owner of the stream. */
TEST(node_that_was_declared_dead_gets_a_new_id_when_it_replicates_a_stream)
{
    char      text[80];
    uint64_t  id;

    begin_all(2);
    id = node_info(0).id;
    nodes[0].conf.node_timeout = 600000;
    tick(0);
    snprintf(text, sizeof(text), "SET {mcp}:1:x:%016llx 1 EX 60",
             (unsigned long long) id);
    (void) command(1, text);
    make(0, 'a');
    add_events(0, 'a', 1);
    UNTIL(node_info(0).id != id);
    UNTIL(repl_state(0, 'a').acked.seq == 1);
    assert_int_equal(node_info(0).counts[MCP_NODE_REBORN], 1);
    tick(0);
    make(0, 'b');
    add_acked(0, 'b', 1);
}


/* A key of a new stream has a wrong type: the node records an error of the
 * script "append". When the key was deleted, the stream is replicated with all
 * its events. */
TEST(head_key_of_a_wrong_type_is_deleted__the_new_stream_is_replicated)
{
    begin_all(1);
    (void) about(0, "SET", 'h', 'a', "x EX 60");
    make(0, 'a');
    UNTIL(strstr(node_info(0).error, "script append"));
    add_events(0, 'a', 1);
    (void) about(0, "DEL", 'h', 'a', "");
    UNTIL(repl_state(0, 'a').acked.seq == 1);
}


/* A key of the stream has a wrong type for longer than
 * mcp_cluster_outage_timeout: the stream is abandoned. "kind" is the letter of
 * the key. "left" is "1" if the stream's head (key "h") stays in Redis. */
static void
displaced(char kind, const char *left)
{
    begin_all(1);
    nodes[0].conf.outage_timeout = 50;
    make(0, 'a');
    UNTIL(repl_state(0, 'a').created);
    (void) about(0, "DEL", kind, 'a', "");
    (void) about(0, "SET", kind, 'a', "x EX 60");
    add_events(0, 'a', 1);
    UNTIL(!is_at(0, 'a'));
    UNTIL(strstr(nodes[0].te.last, "abandoned"));
    UNTIL(n_replications(0) == 0);
    assert_string_equal(about(0, "EXISTS", 'h', 'a', ""), left);
    end_all();
}


TEST(head_key_has_a_wrong_type_for_too_long__the_stream_is_abandoned)
{
    displaced('h', "1");
}


/* The key of the log has a wrong type: the other keys of the stream are
 * removed. */
TEST(event_log_key_has_a_wrong_type_for_too_long__the_head_key_is_deleted)
{
    displaced('e', "0");
}


/* A key has a wrong type, but mcp_cluster_sync is off, so no reader waits for
 * Redis: the stream is not abandoned. */
TEST(key_has_a_wrong_type_with_mcp_cluster_sync_off__stream_is_not_abandoned)
{
    begin_all(1);
    nodes[0].conf.outage_timeout = 0;
    nodes[0].conf.sync = MCP_CLUSTER_SYNC_OFF;
    (void) about(0, "SET", 'h', 'a', "x EX 60");
    make(0, 'a');
    UNTIL(nodes[0].cluster->link.n_pending == 0
          && strstr(node_info(0).error, "WRONGTYPE"));
    assert_true(is_at(0, 'a'));
}


/* Redis is out of memory: no event is acknowledged until there is memory
 * again. */
TEST(redis_is_out_of_memory__events_are_acknowledged_when_it_has_room)
{
    begin_replicated(1, 0);
    assert_string_equal(command(0, "CONFIG SET maxmemory 1"), "OK");
    add_events(0, 'a', 1);
    UNTIL(strstr(node_info(0).error, "OOM"));
    assert_int_equal(repl_state(0, 'a').acked.seq, 0);
    assert_string_equal(command(0, "CONFIG SET maxmemory 0"), "OK");
    UNTIL(repl_state(0, 'a').acked.seq == 1);
}


/* Redis has fewer replicas than configured: no event is acknowledged. */
TEST(redis_lacks_a_configured_replica__no_event_is_acknowledged)
{
    begin_all(1);
    nodes[0].conf.replicas = 1;
    nodes[0].conf.timeout = 20;
    make(0, 'a');
    add_events(0, 'a', 1);
    UNTIL(strcmp(about(0, "XLEN", 'e', 'a', ""), "1") == 0);
    assert_int_equal(repl_state(0, 'a').acked.seq, 0);
    nodes[0].conf.replicas = 0;
    UNTIL(repl_state(0, 'a').acked.seq == 1);
}


/* The stream's head in Redis has only the field with the owner, as after an
 * error within a script: the stream is replicated with all its events. */
TEST(stream_head_in_redis_has_only_the_owner_field__all_events_are_replicated)
{
    char  owner[40];

    begin_all(1);
    snprintf(owner, sizeof(owner), "o %016llx",
             (unsigned long long) node_info(0).id);
    (void) about(0, "HSET", 'h', 'a', owner);
    make(0, 'a');
    add_acked(0, 'a', 2);
    assert_string_equal(node_info(0).error, "");
    all_expire(0);
}


RUN_TESTS_WITH_REDIS(start)
