/* SPDX-License-Identifier: Apache-2.0 */

/* Equal calls at different nodes: one is the first, and the other requests
 * join it. */

#include "cluster_streams.h"


#define READER  78


static const unsigned char  digest[MCP_DIGEST_LEN] = "asked for again";
static int                  says[NODES];
static unsigned             revision = MCP_REVISION_2025_11_25;


static void
said_first(void *data, int rc)
{
    *(int *) data = rc;
}


/*
 * Creates held stream c at node i for a request that others may join, and
 * sends the claim that its call is the first of equal calls. The result is
 * stored in says[i] when Redis has replied: MCP_OK if the call is the first,
 * or MCP_ERR_EXISTS if the request has to join another stream.
 */
static void
claim(int i, char c, unsigned once)
{
    mcp_operation_t    *op;
    mcp_stream_ref_t    ref;
    mcp_stream_spec_t   spec;

    fill_spec(&spec, c);
    spec.revision = revision;
    spec.join = digest;
    spec.join_once = once;
    spec.held = 1;
    spec.consumer = HANDLE;
    assert_ok(mcp_store_create(&nodes[i].store, &spec, real_now(), &ref));
    nodes[i].worker->cluster_hooks->replicate(nodes[i].cluster, &ref, 0);

    op = mcp_mem_calloc(&nodes[i].te.env.mem, sizeof(mcp_operation_t));
    assert_non_null(op);
    op->worker = nodes[i].worker;
    op->handler = said_first;
    op->data = &says[i];
    op->rc = MCP_AGAIN;
    says[i] = MCP_AGAIN;
    assert_int_equal(nodes[i]
                         .worker->cluster_hooks
                         ->await_replication(nodes[i].cluster, &ref, op),
        MCP_AGAIN);
}


static void
begins(int i, char c)
{
    mcp_stream_info_t  info = info_of(i, c);

    mcp_store_join_release(&nodes[i].store, &info.ref);
}


static void
goes(int i, char c)
{
    mcp_stream_info_t  info = info_of(i, c);

    mcp_store_free(&nodes[i].store, &info.ref);
}


/* Returns the result of mcp_store_join_find() for an equal request at node
 * i. */
static int
found(int i, unsigned once, mcp_stream_info_t *info)
{
    mcp_stream_spec_t  spec;

    fill_spec(&spec, 'x');
    spec.join = digest;
    spec.join_once = once;
    spec.join_known = 1;

    return mcp_store_join_find(&nodes[i].store, &spec, real_now(), info);
}


/* Starts n nodes, and claims at node 0 that the call of stream "a" is the first
 * of equal calls. Waits for Redis's reply. */
static void
begin_first(int n, unsigned once)
{
    begin_all(n);
    claim(0, 'a', once);
    UNTIL(says[0] == MCP_OK);
}


/* Claims the same at node 1, which gets the reply that the request has to join
 * the stream of another call. */
static void
claim_second(unsigned once)
{
    claim(1, 'b', once);
    UNTIL(says[1] == MCP_ERR_EXISTS);
    goes(1, 'b');
}


static void
joins(int i, char c, uint64_t after)
{
    mcp_cursor_t       cursor;
    mcp_stream_info_t  info = info_of(i, c);

    assert_ok(mcp_store_join(&nodes[i].store, &info.ref, READER, after,
                             &cursor));
}


/* A request at another node joins a stream that is held until its call begins,
 * and gets the events of the call. The owner is informed which events were
 * sent to the joined request. */
TEST(equal_request_joins_a_call_at_another_node_and_gets_its_events)
{
    mcp_stream_info_t  info;

    begin_first(2, 0);

    claim_second(0);
    assert_ok(found(1, 0, &info));
    assert_memory_equal(info.ref.id, id_of('a'), MCP_STREAM_ID_LEN);
    assert_int_equal(info.mirror, 1);
    assert_int_equal(info.held, 1);
    joins(1, 'a', 0);

    begins(0, 'a');
    UNTIL(!info_of(1, 'a').held);
    assert_int_equal(info_of(1, 'a').attended, 1);

    add_events(0, 'a', 2);
    UNTIL(info_of(1, 'a').last_seq == 2);

    /* the client of the call has left: an event counts as sent when it was
     * sent to the joined request */

    leave(0, 'a', 0);
    UNTIL(!info_of(1, 'a').attended);
    add(0, 'a', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    UNTIL(info_of(1, 'a').state == MCP_STATE_COMPLETED);
    assert_int_equal(info_of(0, 'a').sent_seq, 0);
    info = info_of(1, 'a');
    mcp_store_unwatch(&nodes[1].store, &info.ref, READER, 3, real_now());
    UNTIL(info_of(0, 'a').sent_seq == 3);

    /* the call is over: requests can join the stream until it is freed */

    claim(1, 'c', 0);
    UNTIL(says[1] == MCP_ERR_EXISTS);
    all_expire(0);
}


/* A stream of an equal call becomes available at the node before the claim is
 * sent to Redis: the request joins that stream. */
TEST(mirror_of_an_equal_call_appears_before_redis_is_asked__request_joins_it)
{
    mcp_stream_ref_t    ref;
    mcp_stream_info_t   info;
    mcp_stream_spec_t   spec;

    begin_first(2, 0);
    claim_second(0);

    claim(1, 'c', 0);
    fill_spec(&spec, 'a');
    spec.join = digest;
    assert_ok(mcp_store_mirror(&nodes[1].store, &spec, 1, 0, 0, real_now(),
                               &ref));
    UNTIL(says[1] != MCP_AGAIN);
    assert_int_equal(says[1], MCP_ERR_EXISTS);
    goes(1, 'c');
    assert_ok(found(1, 0, &info));
    assert_memory_equal(info.ref.id, id_of('a'), MCP_STREAM_ID_LEN);
}


/* join_once: when the response has been sent, the next equal call counts as
 * the first again. */
TEST(call_with_x_mcp_join_once_has_responded__an_equal_request_begins_a_call)
{
    mcp_stream_info_t  info;

    begin_first(2, 1);
    begins(0, 'a');
    claim_second(1);
    joins(1, 'a', 0);
    add(0, 'a', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    leave(0, 'a', 1);
    UNTIL(found(1, 1, &info) == MCP_ERR_NOT_FOUND);

    claim(1, 'c', 1);
    UNTIL(says[1] == MCP_OK);
}


/* A call without a key has sent a question, with which the response to its
 * client ends in a stateless revision: an equal request at another node begins
 * a call. In other revisions the request joins the first call. */
TEST(call_has_sent_a_question__equal_requests_join_unless_they_are_stateless)
{
    unsigned  i;

    static const unsigned  revisions[] = {
        MCP_REVISION_2025_11_25, MCP_REVISION_2026_07_28
    };

    for (i = 0; i < 2; i++) {
        revision = revisions[i];
        begin_first(2, 1);
        begins(0, 'a');
        add(0, 'a', "{\"method\":\"?\"}", 0, MCP_STATE_INPUT_REQUIRED);
        leave(0, 'a', 1);
        UNTIL(repl_state(0, 'a').acked.state == MCP_STATE_INPUT_REQUIRED);
        UNTIL(strcmp(about(0, "HGET", 'h', 'a', "t"), "1") == 0);
        claim(1, 'b', 1);
        UNTIL(says[1] == (i == 0 ? MCP_ERR_EXISTS : MCP_OK));
        end_all();
    }

    revision = MCP_REVISION_2025_11_25;
}


/* join_once, and the client of the call is connected: a response that was sent
 * only to a joined request does not count as sent. */
TEST(response_was_sent_only_to_a_joined_request__more_requests_can_still_join)
{
    mcp_stream_info_t  info;

    begin_first(2, 1);
    begins(0, 'a');
    claim_second(1);
    joins(1, 'a', 0);
    add(0, 'a', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    UNTIL(info_of(1, 'a').state == MCP_STATE_COMPLETED);
    assert_int_equal(info_of(1, 'a').attended, 1);

    info = info_of(1, 'a');
    mcp_store_unwatch(&nodes[1].store, &info.ref, READER, 1, real_now());
    assert_int_equal(info_of(1, 'a').sent_seq, 1);
    assert_ok(found(1, 1, &info));
}


/* A stream is freed before its call begins: the joined requests lose their
 * mirror, and the next equal call counts as the first. */
TEST(call_is_freed_before_it_begins__the_next_equal_request_is_a_new_call)
{
    begin_first(2, 0);
    claim_second(0);
    joins(1, 'a', 0);
    goes(0, 'a');
    UNTIL(!is_at(1, 'a'));

    claim(1, 'c', 0);
    UNTIL(says[1] == MCP_OK);
}


/* Redis is emptied: no call counts as the first until every node has had the
 * time to replicate its streams again. Then the request joins the earlier
 * call. */
TEST(redis_is_emptied__an_equal_request_waits_and_then_joins_the_earlier_call)
{
    begin_first(2, 0);
    begins(0, 'a');
    add_acked(0, 'a', 1);

    (void) command(1, "FLUSHALL");
    claim(1, 'b', 0);
    run(1);
    assert_int_equal(says[1], MCP_AGAIN);
    assert_int_equal(repl_state(1, 'b').created, 0);
    UNTIL(says[1] != MCP_AGAIN);
    assert_int_equal(says[1], MCP_ERR_EXISTS);
    goes(1, 'b');
    assert_true(is_at(1, 'a'));
}


/* Redis has lost only the events of a call, so a script removes the stream, but
 * not the claim: an equal request waits until the owner has written the stream
 * again, and does not become a second call. */
TEST(redis_has_lost_the_events_of_a_call__an_equal_request_joins_the_call)
{
    begin_first(2, 0);
    begins(0, 'a');
    add_acked(0, 'a', 1);

    (void) about(1, "DEL", 'e', 'a', "");
    (void) about(1, "DEL", 'h', 'a', "");
    (void) command(1, "DEL {mcp}:1:since");
    claim(1, 'b', 0);
    run(1);
    assert_int_equal(says[1], MCP_AGAIN);
    UNTIL(says[1] != MCP_AGAIN);
    assert_int_equal(says[1], MCP_ERR_EXISTS);
    goes(1, 'b');
}


/* The owner of a call dies when Redis has none of its events any more, and a
 * request at the successor has joined the call, but has not got all events: the
 * request does not keep the stream from being taken over. */
TEST(successor_has_a_joined_request_that_lacks_lost_events__it_takes_over)
{
    begin_first(2, 0);
    begins(0, 'a');
    claim_second(0);
    joins(1, 'a', 0);
    add_acked(0, 'a', 1);
    UNTIL(info_of(1, 'a').last_seq == 1);

    end(0);
    (void) about(1, "HSET", 'h', 'a', "l 9 f 10");
    (void) about(1, "DEL", 'e', 'a', "");
    UNTIL(is_at(1, 'a') && info_of(1, 'a').state == MCP_STATE_FAILED);
    assert_int_equal(info_of(1, 'a').last_seq, 10);
}


/* The owner's node of a call dies while a request at node 1 has joined the
 * call: the stream at node 1 ends, is removed or is promoted, or node 2 takes
 * the stream over. */
TEST(node_of_a_joined_call_dies__stream_ends_or_is_freed_or_gets_a_new_owner)
{
    begin_first(3, 0);
    begins(0, 'a');
    claim_second(0);
    joins(1, 'a', 0);
    end(0);
    UNTIL(!is_at(1, 'a') || info_of(1, 'a').state >= MCP_STATE_COMPLETED
          || !info_of(1, 'a').mirror
          || (is_at(2, 'a') && !info_of(2, 'a').mirror));
}


RUN_TESTS_WITH_REDIS(start)
