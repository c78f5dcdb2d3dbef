/* SPDX-License-Identifier: Apache-2.0 */

/* The list of streams that wait for room on the link. */

#include "cluster_streams.h"


static unsigned
n_waiting(int i)
{
    unsigned            n = 0;
    mcp_replication_t  *repl;

    for (repl = nodes[i].cluster->waiting; repl; repl = repl->waits_next) {
        assert_int_equal(repl->phase, MCP_REPLICATION_SEND_QUEUE);
        assert_false(mcp_timer_armed(&repl->timer));
        n++;
    }

    return n;
}


static void
ignore(void *data, const mcp_reply_t *reply)
{
}


/* Sends commands until the link has no room for commands of replicators. */
static void
fill_window(int i)
{
    mcp_str_t    ping = mcp_str("PING");
    mcp_link_t  *link = &nodes[i].cluster->link;

    while (mcp_link_has_room(link)) {
        assert_ok(mcp_link_send(link, &ping, 1, ignore, NULL));
    }

    assert_int_equal(link->n_pending, MCP_LINK_REPLICATIONS);
}


/* Frees a stream. Its replicator detects that at its next wake-up. */
static void
lose(int i, char c)
{
    mcp_stream_info_t  info;

    info = info_of(i, c);
    mcp_store_free(&nodes[i].store, &info.ref);
}


/* The link has no room: streams wait, and continue one after the other when
 * replies have arrived. */
TEST(link_has_no_room__streams_wait_and_are_sent_after_replies)
{
    char  c;

    begin_all(1);
    fill_window(0);

    for (c = 'a'; c <= 'e'; c++) {
        make(0, c);
    }

    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_waiting(0), 5);

    /* an event is appended to a waiting stream: the stream keeps its place; a
     * waiting stream is freed: it leaves the list */

    add_events(0, 'a', 1);
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_waiting(0), 5);
    assert_memory_equal(nodes[0].cluster->waiting->ref.id, id_of('a'),
                        MCP_STREAM_ID_LEN);
    lose(0, 'e');

    /* a command of a client depends on the changes of a stream: they are sent
     * at once */

    mcp_replication_flush(nodes[0].cluster, id_of('c'));
    assert_int_equal(n_waiting(0), 4);
    assert_int_equal(nodes[0].cluster->link.n_pending,
                     MCP_LINK_REPLICATIONS + 1);

    UNTIL(n_waiting(0) == 0);
    UNTIL(repl_state(0, 'a').acked.seq == 1 && repl_state(0, 'b').created
          && repl_state(0, 'c').created && repl_state(0, 'd').created);
    assert_int_equal(n_replications(0), 4);
}


/* The link has room again, but no waiting stream was sent yet: a new stream
 * waits behind the others. */
TEST(streams_are_waiting__a_new_stream_waits_too_although_the_link_has_room)
{
    mcp_link_t  *link;

    begin_all(1);
    link = &nodes[0].cluster->link;
    fill_window(0);
    make(0, 'a');
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_waiting(0), 1);

    /* the replies arrive while the node is not a member, so no waiting stream
     * is sent */

    nodes[0].cluster->state = MCP_CLUSTER_REGISTERING;
    run(0);
    nodes[0].cluster->state = MCP_CLUSTER_MEMBER;
    assert_int_equal(link->n_pending, 0);

    make(0, 'b');
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_waiting(0), 2);
    assert_int_equal(link->n_pending, 0);

    mcp_replication_continue(nodes[0].cluster);
    assert_int_equal(n_waiting(0), 0);
    assert_int_equal(link->n_pending, 2);
    UNTIL(repl_state(0, 'a').created && repl_state(0, 'b').created);
}


static void
answered(void *data, int rc)
{
    *(int *) data = rc;
}


static void
wants(int i, char c, int *rc)
{
    mcp_operation_t    *op;
    mcp_stream_info_t   info = info_of(i, c);

    op = mcp_mem_calloc(&nodes[i].te.env.mem, sizeof(mcp_operation_t));
    assert_non_null(op);
    op->worker = nodes[i].worker;
    op->handler = answered;
    op->data = rc;
    op->rc = MCP_AGAIN;
    *rc = MCP_AGAIN;
    assert_int_equal(mcp_cluster_await_replication(nodes[i].cluster, &info.ref,
                                                   op),
                     MCP_AGAIN);
}


/* A client waits for the replication of a stream: that stream is sent before
 * the waiting ones. */
TEST(link_is_full__a_stream_that_a_client_waits_for_is_still_replicated)
{
    int          first, second;
    mcp_link_t  *link;

    begin_all(1);
    link = &nodes[0].cluster->link;
    fill_window(0);
    make(0, 'a');
    make(0, 'b');
    wants(0, 'b', &second);
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_waiting(0), 1);
    assert_int_equal(link->n_pending, MCP_LINK_REPLICATIONS + 1);

    /* the stream waits in the list already: it leaves the list and is sent */

    wants(0, 'a', &first);
    assert_int_equal(n_waiting(0), 0);
    UNTIL(first == MCP_OK && second == MCP_OK);
}


/* A freed stream is removed from Redis even if the link has no room, because
 * another stream may get its id. */
TEST(link_has_no_room__a_freed_stream_is_still_removed_from_redis)
{
    mcp_replication_t  *repl;
    mcp_stream_info_t   info;

    begin_replicated(1, 0);
    info = info_of(0, 'a');
    repl = mcp_replication_get(nodes[0].cluster, &info.ref);
    fill_window(0);
    lose(0, 'a');
    mcp_replication_check(repl);
    assert_int_equal(nodes[0].cluster->link.n_pending,
                     MCP_LINK_REPLICATIONS + 1);
    assert_int_equal(n_replications(0), 0);
    run(0);
    assert_string_equal(about(0, "EXISTS", 'h', 'a', ""), "0");
}


/* Starts a node whose link is full, and creates streams "a" and "b", which wait
 * for room. */
static void
begin_waiting(void)
{
    begin_all(1);
    fill_window(0);
    make(0, 'a');
    make(0, 'b');
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_waiting(0), 2);
}


/* The node is rejected and serves alone: no stream waits for room any more. */
TEST(node_serves_alone__no_stream_waits_for_room_on_the_link)
{
    begin_waiting();
    mcp_replication_standalone(nodes[0].cluster);
    assert_null(nodes[0].cluster->waiting);
    UNTIL(n_replications(0) == 0);
}


/* The link counts the bytes of replicators' commands that were not written
 * yet. */
TEST(replicators_commands_are_not_written_yet__the_link_counts_their_bytes)
{
    mcp_link_t  *link;

    begin_all(1);
    link = &nodes[0].cluster->link;
    make(0, 'a');
    mcp_worker_wake(nodes[0].worker);
    assert_true(link->replicated > 0);
    assert_int_equal(link->replicated, mcp_link_bytes(link));
    UNTIL(repl_state(0, 'a').created);
    assert_int_equal(link->replicated, 0);
}


/* The link is lost: the waiting streams are sent on the next link. */
TEST(link_is_lost__waiting_streams_are_sent_on_the_next_link)
{
    begin_waiting();

    mcp_link_fail(&nodes[0].cluster->link, "as a test says");
    UNTIL(repl_state(0, 'a').created && repl_state(0, 'b').created);
    assert_int_equal(n_waiting(0), 0);

    fill_window(0);
    make(0, 'c');
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_waiting(0), 1);
}


/* Creates a stream with the letter, and so the id, of an earlier stream.
 * Appends one event, and checks that Redis has no event of the earlier
 * stream. */
static void
made_anew(int i, char c)
{
    make(i, c);
    add_acked(i, c, 1);
    assert_string_equal(about(i, "HGET", 'h', c, "l"), "1");
    assert_string_equal(about(i, "XLEN", 'e', c, ""), "1");
}


/* A stream is freed while Redis is unreachable: it is removed from Redis
 * later. */
TEST(stream_is_freed_while_redis_is_unreachable__redis_removes_it_later)
{
    begin_all(1);
    make(0, 'a');
    make(0, 'b');
    add_events(0, 'a', 3);
    add_events(0, 'b', 3);
    UNTIL(repl_state(0, 'a').acked.seq == 3 && repl_state(0,
                                                          'b').acked.seq == 3);
    cut_off(0);
    lose(0, 'a');
    lose(0, 'b');
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_replications(0), 2);
    made_anew(0, 'a');
    UNTIL(n_replications(0) == 1);
    assert_string_equal(about(0, "EXISTS", 'h', 'b', ""), "0");
}


/* A stream is freed while it waits for room: it is removed from Redis at
 * once. */
TEST(stream_that_waits_for_room_is_freed__redis_removes_it_at_once)
{
    begin_replicated(1, 3);
    fill_window(0);
    add_events(0, 'a', 1);
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_waiting(0), 1);
    lose(0, 'a');
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_waiting(0), 0);
    assert_int_equal(n_replications(0), 0);
    made_anew(0, 'a');
}


/* A stream is freed while its command is pending: the reply has no effect on
 * the next stream with that id. */
TEST(stream_is_freed_while_its_command_is_pending__its_id_can_be_reused)
{
    begin_replicated(1, 3);
    add_events(0, 'a', 1);
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(repl_phase(0, 'a'), MCP_REPLICATION_SENT);
    lose(0, 'a');
    mcp_worker_wake(nodes[0].worker);
    made_anew(0, 'a');
}


/* A stream that was over is freed, and Redis has its end: Redis keeps the
 * stream, even if the reply was lost. */
TEST(ended_stream_is_freed_after_redis_has_its_end__redis_keeps_the_stream)
{
    mcp_replication_t  *repl;
    mcp_stream_info_t   info;

    begin_all(1);
    make(0, 'a');
    add(0, 'a', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    UNTIL(repl_state(0, 'a').acked.state == MCP_STATE_COMPLETED);
    info = info_of(0, 'a');
    repl = mcp_replication_get(nodes[0].cluster, &info.ref);
    repl->time = 0;
    lose(0, 'a');
    mcp_worker_wake(nodes[0].worker);
    UNTIL(n_replications(0) == 0);
    run(0);
    assert_string_equal(about(0, "EXISTS", 'h', 'a', ""), "1");
}


/* A stream that was over is freed, but Redis lacks its end: it is removed from
 * Redis. */
TEST(ended_stream_is_freed_before_redis_has_its_end__redis_removes_the_stream)
{
    begin_replicated(1, 2);
    add(0, 'a', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    mcp_worker_wake(nodes[0].worker);
    cut_off(0);
    lose(0, 'a');
    mcp_worker_wake(nodes[0].worker);
    UNTIL(nodes[0].cluster->state == MCP_CLUSTER_MEMBER
          && n_replications(0) == 0);
    assert_string_equal(about(0, "EXISTS", 'h', 'a', ""), "0");
}


/* Other commands fill the link: after each reply, one waiting stream is
 * sent. */
TEST(link_stays_full__waiting_streams_are_sent_one_at_a_time)
{
    begin_waiting();
    mcp_replication_continue(nodes[0].cluster);
    assert_int_equal(n_waiting(0), 1);
}


RUN_TESTS_WITH_REDIS(start)
