/* SPDX-License-Identifier: Apache-2.0 */

/* Take-over: other nodes take over the streams of a dead node, each stream
 * once, and end them with an error. */

#include "cluster_streams.h"


TEST(node_dies__another_node_ends_its_streams_with_an_error)
{
    int       successor;
    char      text[160];
    uint64_t  seq;

    begin_all(3);
    make(0, 'a');
    add_events(0, 'a', 300);
    make(0, 'b');
    UNTIL(repl_state(0, 'a').acked.seq == 300 && repl_state(0, 'b').created);

    /* the dead node's set has 1500 ids of streams that have expired, more than
     * the script checks in one call (1024): they are skipped */

    snprintf(text, sizeof(text), "EVAL for\ti=1,1500\tdo\t"
             "redis.call('SADD','{mcp}:1:o:%016llx',i)\tend 0",
             (unsigned long long) node_info(0).id);
    (void) command(1, text);

    /* stream "a" has a reader at node 1, which survives */

    come(1, 'a', 299, 's');
    assert_int_equal(read_from(1, 'a', 299, &seq), MCP_AGAIN);
    end(0);

    /* the link of the successor is lost during the take-over: the take-over
     * continues on the next link */

    UNTIL(nodes[1].cluster->takeover.node || nodes[2].cluster->takeover.node);
    cut_off(nodes[1].cluster->takeover.node ? 1 : 2);

    UNTIL((is_at(1, 'b') && info_of(1, 'b').state == MCP_STATE_FAILED)
          || (is_at(2, 'b') && info_of(2, 'b').state == MCP_STATE_FAILED));
    successor = is_at(1, 'b') && info_of(1, 'b').state == MCP_STATE_FAILED ? 1
        : 2;

    UNTIL(is_at(1, 'a') && info_of(1, 'a').state == MCP_STATE_FAILED);
    come(1, 'a', 299, 's');
    assert_int_equal(read_from(1, 'a', 299, &seq), MCP_DONE);
    assert_int_equal(seq, 301);

    /* the dead node is no longer in the list of members */

    UNTIL(strcmp(command(successor, "ZCARD {mcp}:1:nodes"), "2") == 0);
    assert_string_equal(about(successor, "HGET", 'h', 'a', "l"), "301");
    all_expire(successor);
}


/* The successor has a slow reader and a full mirror: the events that the dead
 * node had stored beyond a mirror's limit are not lost. */
TEST(successor_has_a_slow_reader__no_event_of_the_dead_node_is_lost)
{
    int                taken;
    uint64_t           seq;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_info_t  info;
    mcp_stream_spec_t  spec;

    /* The stream has eight events, but a mirror accepts only four. The owner's
     * client was sent the first four. */

    begin_all(2);
    fill_spec(&spec, 'a');
    spec.max_wait = 60000;
    spec.max_events = 4;
    assert_ok(mcp_store_create(&nodes[0].store, &spec, real_now(), &ref));
    nodes[0].worker->cluster_hooks->replicate(nodes[0].cluster, &ref, 0);
    add_acked(0, 'a', 4);
    assert_int_equal(read_from(0, 'a', 0, &seq), MCP_AGAIN);
    add_acked(0, 'a', 4);
    leave(0, 'a', 4);

    /* the client has received no event, and resumes at node 1 from the
     * beginning */

    come(1, 'a', 0, 's');
    info = info_of(1, 'a');
    assert_ok(mcp_store_watch(&nodes[1].store, &info.ref, HANDLE, 0, &cursor,
                              &taken));
    UNTIL(info_of(1, 'a').last_seq == 4);
    end(0);
    UNTIL(info_of(1, 'a').state == MCP_STATE_FAILED);
    assert_int_equal(read_from(1, 'a', 0, &seq), MCP_DONE);
    assert_int_equal(seq, 9);
    assert_int_equal(node_info(1).counts[MCP_NODE_DROPPED], 0);
}


/* The mirror is removed before the successor has all events: the take-over
 * creates it again. */
TEST(mirror_is_removed_during_a_take_over__it_is_created_again)
{
    mcp_stream_info_t  info;

    begin_replicated(2, 300);
    end(0);

    while (find(1, 'a', &info) != MCP_OK
           || mcp_replication_get(nodes[1].cluster, &info.ref)->mirror
              < MCP_MIRROR_TAKE_OVER)
    {
        carry(1);
        usleep(1000);
    }

    mcp_store_mirror_forget(&nodes[1].store, id_of('a'));
    UNTIL(is_at(1, 'a') && info_of(1, 'a').state == MCP_STATE_FAILED);
    assert_int_equal(info_of(1, 'a').last_seq, 301);
    assert_int_equal(node_info(1).counts[MCP_NODE_DROPPED], 0);
}


/* Redis assigns the dead node's stream to node 1, but the reply is lost: node
 * 1 requests its assigned streams again. */
TEST(take_over_reply_is_lost__the_stream_is_still_taken_over)
{
    process_t  *p = &nodes[1];

    begin_replicated(2, 3);
    begin(2, KEY1);
    end(0);

    while (p->cluster->takeover.node == 0
           || p->cluster->takeover.node == p->cluster->node)
    {
        carry(1);
        usleep(1000);
    }

    deliver(1);

    do {
        (void) about(2, "HGET", 'h', 'a', "j");
    } while (strcmp(said, "1") != 0);

    assert_false(is_at(1, 'a'));
    end(2);
    cut_off(1);

    UNTIL(is_at(1, 'a') && info_of(1, 'a').state == MCP_STATE_FAILED);
    UNTIL(p->cluster->settled);
    assert_string_equal(about(1, "HEXISTS", 'h', 'a', "j"), "0");
    all_expire(1);
}


/* Node 0 dies. Node 1 sends redis/takeover.lua, and its link is lost. Redis
 * executes the command only after node 1 has connected again and has found that
 * no streams were assigned to it. Then node "by" takes node 0 over, which has
 * no streams left. */
static void
assigned_late(int by)
{
    int         fd;
    char        buf[4096];
    size_t      len;
    process_t  *p = &nodes[1];

    begin_replicated(2, 3);
    begin(2, KEY1);
    UNTIL(nodes[1].cluster->settled && nodes[2].cluster->settled);
    end(0);

    /* node 2 does not begin a take-over while its field "takeover" names
     * another one */

    nodes[2].cluster->takeover.node = 1;
    MASK_UNTIL(6, p->cluster->takeover.node);
    len = p->len - p->taken;
    assert_true(len > 0 && len < sizeof(buf));
    memcpy(buf, p->sent + p->taken, len);
    cut_off(1);
    MASK_UNTIL(6, p->cluster->settled);
    assert_string_equal(about(2, "HEXISTS", 'h', 'a', "j"), "0");

    fd = dial();
    assert_int_equal(write(fd, buf, len), len);
    assert_true(read(fd, buf, sizeof(buf)) > 0);
    close(fd);
    assert_string_equal(about(2, "HGET", 'h', 'a', "j"), "1");

    if (by == 2) {
        nodes[2].cluster->takeover.node = 0;
        MASK_UNTIL(4, strcmp(command(2, "ZCARD {mcp}:1:nodes"), "2") == 0);
    }

    UNTIL(is_at(1, 'a') && info_of(1, 'a').state == MCP_STATE_FAILED);
    UNTIL(p->cluster->settled);
    assert_string_equal(command(1, "ZCARD {mcp}:1:nodes"), "2");
    assert_string_equal(about(1, "HGET", 'h', 'a', "l"), "4");
    all_expire(1);
}


TEST(take_over_command_runs_late__the_node_that_sent_it_gets_the_stream)
{
    assigned_late(1);
}


TEST(take_over_command_runs_late_and_another_node_finishes__sender_gets_stream)
{
    assigned_late(2);
}


/* Transfers bytes until node i has processed the replies to n more
 * heartbeats. */
static void
pass_heartbeats(int i, unsigned n)
{
    uint64_t  at;

    while (n--) {
        at = node_info(i).view.at;
        UNTIL(node_info(i).view.at != at);
    }
}


/* Streams "b" and "c" of the successor have filled its zone: the successor
 * requests the assigned stream with each heartbeat, and takes it over when a
 * client has confirmed the events of stream "b". */
TEST(successor_has_no_room__it_takes_the_stream_over_when_there_is_room)
{
    int                rc, n;
    char               text[256];
    uint64_t           seq;
    mcp_stream_info_t  info;

    begin_replicated(2, 3);
    make(1, 'b');
    make(1, 'c');
    snprintf(text, sizeof(text), "{\"pad\":\"%0*d\"}", 200, 0);

    for (rc = MCP_OK, n = 0; rc == MCP_OK; n++) {
        info = info_of(1, n % 2 ? 'b' : 'c');
        rc = mcp_store_append(&nodes[1].store, &info.ref, test_str(text), -1,
                              MCP_STATE_PROCESSING, real_now(), &seq);
        carry(1);
    }

    assert_int_equal(rc, MCP_ERR_FULL);
    UNTIL(repl_state(1, 'b').acked.seq == repl_state(1, 'b').own.seq
          && repl_state(1, 'c').acked.seq == repl_state(1, 'c').own.seq);
    end(0);

    UNTIL(strstr(nodes[1].te.last, "cannot take over a stream"));
    UNTIL(strcmp(command(1, "ZCARD {mcp}:1:nodes"), "1") == 0);

    /* the error is logged once, not with each heartbeat */

    nodes[1].te.last[0] = '\0';
    pass_heartbeats(1, 3);
    assert_string_equal(nodes[1].te.last, "");
    assert_int_equal(nodes[1].cluster->stalled, MCP_ERR_FULL);
    assert_false(is_at(1, 'a'));
    assert_string_equal(about(1, "HGET", 'h', 'a', "j"), "1");

    assert_int_equal(read_from(1, 'b', 0, &seq), MCP_AGAIN);
    info = info_of(1, 'b');
    assert_ok(mcp_store_confirm(&nodes[1].store, &info.ref, seq));
    UNTIL(is_at(1, 'a') && info_of(1, 'a').state == MCP_STATE_FAILED);
    UNTIL(nodes[1].cluster->settled);
    assert_int_equal(nodes[1].cluster->stalled, MCP_OK);
    assert_string_equal(about(1, "HGET", 'h', 'a', "l"), "4");
    assert_int_equal(node_info(1).counts[MCP_NODE_DROPPED], 0);
    all_expire(1);
}


/* A key of stream "f" has a wrong type; "kind" is the letter of the key. The
 * streams from "a" to "last" end with an error nevertheless. */
static void
foreign(char kind, char last)
{
    char  c;

    begin_all(2);

    for (c = 'a'; c <= 'f'; c++) {
        make(0, c);
        add_events(0, c, 2);
    }

    for (c = 'a'; c <= 'f'; c++) {
        UNTIL(repl_state(0, c).acked.seq == 2);
    }

    UNTIL(nodes[1].cluster->settled);
    end(0);
    (void) about(1, "DEL", kind, 'f', "");
    (void) about(1, "SET", kind, 'f', "x EX 600");

    for (c = 'a'; c <= last; c++) {
        UNTIL(is_at(1, c) && info_of(1, c).state == MCP_STATE_FAILED);
    }

    UNTIL(strcmp(command(1, "ZCARD {mcp}:1:nodes"), "1") == 0);
    (void) about(1, "DEL", kind, 'f', "");
    all_expire(1);
    end_all();
}


TEST(head_key_of_one_stream_has_a_wrong_type__other_streams_are_taken_over)
{
    foreign('h', 'e');
}


TEST(topics_key_of_a_stream_has_a_wrong_type__the_stream_is_still_taken_over)
{
    foreign('t', 'f');
}


static int  came;

static void
noted(void *data, int rc)
{
    came = rc;
}


/* A client resumes after an event that another process of the successor is
 * still fetching: MCP_ERR_UNREACHABLE. */
TEST(successor_has_not_fetched_the_clients_last_event_yet__a_resume_fails)
{
    mcp_operation_t        *op;
    uint64_t                seq;
    mcp_replication_t      *repl;
    mcp_operation_stream_t  stream;
    mcp_stream_info_t       info;

    begin_replicated(2, 3);
    end(0);

    while (!is_at(1, 'a')) {
        carry(1);
        usleep(1000);
    }

    info = info_of(1, 'a');
    assert_int_equal(info.mirror, 1);
    assert_int_equal(info.last_seq, 0);
    cut_off(1);
    repl = mcp_replication_get(nodes[1].cluster, &info.ref);
    mcp_replication_set_phase(repl, MCP_REPLICATION_SENT);

    while (nodes[1].cluster->state != MCP_CLUSTER_MEMBER) {
        carry(1);
        usleep(1000);
    }

    describe(&stream, 'a', 3, 's');
    op = mcp_mem_calloc(&nodes[1].te.env.mem, sizeof(mcp_operation_t));
    assert_non_null(op);
    op->worker = nodes[1].worker;
    op->handler = noted;
    came = MCP_AGAIN;
    assert_int_equal(start_stream(1, MCP_OPERATION_STREAM, &stream, op),
                     MCP_AGAIN);
    UNTIL(came != MCP_AGAIN);
    assert_int_equal(info_of(1, 'a').last_seq, 0);
    assert_int_equal(came, MCP_ERR_UNREACHABLE);

    mcp_replication_set_phase(repl, MCP_REPLICATION_IDLE);
    mcp_replication_check(repl);
    UNTIL(info_of(1, 'a').state == MCP_STATE_FAILED);
    come(1, 'a', 3, 's');
    assert_int_equal(read_from(1, 'a', 3, &seq), MCP_DONE);
    assert_int_equal(seq, 4);
    all_expire(1);
}


/* Redis is emptied. A node replicates its stream again, but dies before it
 * registers again: its stream is taken over. */
TEST(redis_is_emptied_and_an_unregistered_node_dies__its_stream_is_taken_over)
{
    begin_replicated(2, 0);
    mcp_timer_del(&nodes[0].worker->timers, &nodes[0].cluster->heartbeat);
    (void) command(1, "FLUSHALL");
    add_acked(0, 'a', 2);
    end(0);

    UNTIL(is_at(1, 'a') && info_of(1, 'a').state == MCP_STATE_FAILED);
    UNTIL(strcmp(command(1, "ZCARD {mcp}:1:nodes"), "1") == 0);
    all_expire(1);
}

/* Lets Redis lose stream "a" of node 0, which has "n" events. Node 0 writes the
 * first 64 events again, and dies. */
static void
die_between_appends(const char *n)
{
    (void) about(1, "DEL", 'h', 'a', "");
    (void) about(1, "DEL", 'e', 'a', "");
    mcp_worker_wake(nodes[0].worker);

    /* a command has room for 64 events: Redis has them, and node 0 does not
     * receive the reply */

    do {
        if (strcmp(about(1, "EXISTS", 'h', 'a', ""), "0") == 0) {
            carry(0);
        }
    } while (strcmp(about(1, "HGET", 'h', 'a', "l"), "64") != 0);

    assert_string_equal(about(1, "HGET", 'h', 'a', "m"), n);
    end(0);
}


TEST(owner_dies_while_it_writes_lost_events_again__the_error_gets_a_new_number)
{
    uint64_t  seq;

    begin_replicated(2, 100);
    die_between_appends("100");

    UNTIL(is_at(1, 'a') && info_of(1, 'a').state == MCP_STATE_FAILED);
    assert_int_equal(info_of(1, 'a').last_seq, 101);
    assert_string_equal(about(1, "HEXISTS", 'h', 'a', "m"), "0");

    /* a client with event 100 gets the error; another client is informed that
     * events are missing */

    come(1, 'a', 100, 's');
    assert_int_equal(read_from(1, 'a', 100, &seq), MCP_DONE);
    assert_int_equal(seq, 101);
    leave(1, 'a', 100);
    assert_int_equal(read_from(1, 'a', 99, &seq), MCP_ERR_PURGED);
    UNTIL(strcmp(about(1, "HGET", 'h', 'a', "l"), "101") == 0);
    all_expire(1);
}


TEST(owner_dies_while_it_writes_lost_events_again__a_reader_elsewhere_has_all)
{
    uint64_t  seq;

    begin_replicated(2, 100);
    come(1, 'a', 0, 's');
    assert_int_equal(read_from(1, 'a', 0, &seq), MCP_AGAIN);
    UNTIL(info_of(1, 'a').last_seq == 100);
    die_between_appends("100");

    UNTIL(is_at(1, 'a') && info_of(1, 'a').state == MCP_STATE_FAILED);
    assert_int_equal(read_from(1, 'a', 0, &seq), MCP_DONE);
    assert_int_equal(seq, 101);
}


/* Redis had event 65, but the owner has not received the reply: a client at
 * another node may have received the event. */
TEST(redis_loses_an_event_before_its_reply_arrives__the_error_gets_a_new_number)
{
    begin_replicated(2, 64);
    add_events(0, 'a', 1);
    mcp_worker_wake(nodes[0].worker);
    deliver(0);
    assert_string_equal(about(1, "HGET", 'h', 'a', "l"), "65");
    cut_off(0);
    assert_int_equal(repl_state(0, 'a').acked.seq, 64);
    die_between_appends("65");
    UNTIL(is_at(1, 'a') && info_of(1, 'a').state == MCP_STATE_FAILED);
    assert_int_equal(info_of(1, 'a').last_seq, 66);
}


/* The owner has written all events again: the stream is taken over. */
TEST(owner_dies_after_it_has_written_lost_events_again__stream_is_taken_over)
{
    uint64_t  seq;

    begin_replicated(2, 100);
    (void) about(1, "DEL", 'h', 'a', "");
    (void) about(1, "DEL", 'e', 'a', "");
    UNTIL(strcmp(about(1, "HGET", 'h', 'a', "l"), "100") == 0);
    assert_string_equal(about(1, "HEXISTS", 'h', 'a', "m"), "0");
    end(0);
    UNTIL(is_at(1, 'a') && info_of(1, 'a').state == MCP_STATE_FAILED);
    assert_int_equal(info_of(1, 'a').last_seq, 101);
    assert_int_equal(read_from(1, 'a', 0, &seq), MCP_DONE);
    all_expire(1);
}


/* Redis has lost the constant values of a dead node's stream: no node can
 * continue the stream. */
TEST(redis_has_lost_the_constants_of_a_stream__its_take_over_removes_it)
{
    begin_replicated(2, 3);
    end(0);
    (void) about(1, "DEL", 'c', 'a', "");
    UNTIL(strcmp(command(1, "ZCARD {mcp}:1:nodes"), "1") == 0);
    UNTIL(nodes[1].cluster->settled);
    assert_false(is_at(1, 'a'));
    assert_string_equal(about(1, "EXISTS", 'h', 'a', ""), "0");
    assert_string_equal(about(1, "EXISTS", 'e', 'a', ""), "0");
}


/* Node 0 has sent no heartbeat for two checks of node 1. Then "loss", a command
 * for Redis, deletes keys, and node 0 sends as many heartbeats as Redis had
 * counted before. Node 1 detects the loss of keys, and does not compare the new
 * number with the old one. */
static void
heartbeats_after(const char *loss)
{
    char             text[64];
    uint64_t         count;
    unsigned         n;
    mcp_cluster_t   *cluster;

    begin_replicated(2, 2);
    cluster = nodes[1].cluster;

    while (cluster->n_heartbeats == 0
           || cluster->heartbeats[0].seen < MCP_CLUSTER_HEARTBEATS)
    {
        carry(1);
        usleep(1000);
    }

    count = cluster->heartbeats[0].count;
    (void) command(0, loss);
    snprintf(text, sizeof(text), "ZSCORE {mcp}:1:nodes %016llx",
             (unsigned long long) nodes[0].cluster->node);

    for (n = 0; strtoull(command(0, text), NULL, 10) != count; n++) {
        assert_true(n <= count);
        tick(0);
    }

    while (cluster->n_heartbeats == 0 || cluster->heartbeats[0].seen != 1) {
        carry(1);
        usleep(1000);
        assert_null(strstr(nodes[1].te.last, "declared dead"));
    }

    pass_heartbeats(0, 3);
    assert_false(info_of(0, 'a').mirror);
    assert_false(is_at(1, 'a'));
    all_expire(1);
}


TEST(redis_is_emptied__new_heartbeats_of_a_node_are_not_taken_for_old_ones)
{
    heartbeats_after("FLUSHALL");
}


/* Each node still has its data, so its heartbeats get no reply GONE. */
TEST(redis_loses_the_list_of_nodes__new_heartbeats_are_not_taken_for_old_ones)
{
    heartbeats_after("DEL {mcp}:1:nodes");
}


/* A node that was only paused detects that it was declared dead, and registers
 * again. */
TEST(node_was_paused_and_declared_dead__it_becomes_a_member_again)
{
    char  text[32];

    begin_replicated(2, 2);

    /* node 0 does not run until node 1 has taken its stream over and ended
     * it */

    while (!is_at(1, 'a') || info_of(1, 'a').state != MCP_STATE_FAILED) {
        carry(1);
        usleep(1000);
    }

    /* node 0 creates a stream before it detects that it was declared dead: the
     * stream is replicated under the node's new id */

    make(0, 'b');
    UNTIL(!is_at(0, 'a') && repl_state(0, 'b').created);
    snprintf(text, sizeof(text), "%016llx",
             (unsigned long long) node_info(0).id);
    assert_string_equal(about(1, "HGET", 'h', 'b', "o"), text);
    UNTIL(nodes[0].cluster->state == MCP_CLUSTER_MEMBER
          && node_info(1).view.n_members == 2);
}


/* A node was paused and declared dead, and another node has ended its stream.
 * When the node continues, Redis does not have the stream any more: it is not
 * replicated again. */
TEST(node_was_paused__its_stream_that_another_node_ended_is_not_replicated)
{
    begin_replicated(2, 2);

    while (!is_at(1, 'a') || info_of(1, 'a').state != MCP_STATE_FAILED) {
        carry(1);
        usleep(1000);
    }

    while (strcmp(about(1, "HGET", 'h', 'a', "l"), "3") != 0) {
        carry(1);
    }

    (void) about(1, "DEL", 'h', 'a', "");
    (void) about(1, "DEL", 'e', 'a', "");
    (void) about(1, "DEL", 'c', 'a', "");

    UNTIL(!is_at(0, 'a'));
    UNTIL(nodes[0].cluster->state == MCP_CLUSTER_MEMBER
          && node_info(1).view.n_members == 2);
    assert_string_equal(about(1, "EXISTS", 'h', 'a', ""), "0");
}


RUN_TESTS_WITH_REDIS(start)
