/* SPDX-License-Identifier: Apache-2.0 */

/* Feeding of a mirror: it gets all events, and the owner is informed of the
 * events that were sent from it. */

#include "cluster_streams.h"


/* More events are appended than fit into one entry of the node queue: the
 * mirror fetches the remaining ones, and the owner is informed of the sent
 * ones. */
TEST(stream_gets_1500_events_at_once__its_mirror_gets_all_of_them)
{
    uint64_t  seq;

    begin_replicated(2, 2);
    come(1, 'a', 1, 's');
    assert_int_equal(read_from(1, 'a', 1, &seq), MCP_AGAIN);
    assert_int_equal(seq, 2);
    UNTIL(info_of(0, 'a').consumer_slot == MCP_STORE_REMOTE_CONSUMER);

    add_events(0, 'a', 1500);
    UNTIL(info_of(1, 'a').last_seq == 1502);
    assert_int_equal(read_from(1, 'a', 1, &seq), MCP_AGAIN);
    assert_int_equal(seq, 1502);
    UNTIL(info_of(0, 'a').sent_seq == 1502);

    add(0, 'a', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    UNTIL(read_from(1, 'a', 1502, &seq) == MCP_DONE);
    assert_int_equal(seq, 1503);
}


/* The mirror's reader leaves: the owner's stream then has no consumer. */
TEST(reader_of_a_mirror_leaves__the_owners_stream_has_no_consumer_any_more)
{
    uint64_t  seq;

    begin_replicated(2, 2);
    come(1, 'a', 0, 's');
    (void) read_from(1, 'a', 0, &seq);
    leave(1, 'a', 2);
    UNTIL(info_of(0, 'a').consumer_slot == MCP_STORE_NO_SLOT
          && info_of(0, 'a').sent_seq == 2);
    assert_string_equal(about(0, "HGET", 'h', 'a', "n"), "");

    /* a reader attaches to a mirror that exists, without a request to Redis:
     * the mirror is fed again */

    assert_int_equal(read_from(1, 'a', 2, &seq), MCP_AGAIN);
    add_events(0, 'a', 3);
    UNTIL(read_from(1, 'a', 2, &seq) == MCP_AGAIN && seq == 5);
}


/* Stream "a" is over, and its client has read all events at node 1. With "cut",
 * node 1 has lost its link. The mirror is freed before node 1 has reported that,
 * because other streams need the room. The owner is informed nevertheless, so
 * the stream counts as sent. */
static void
free_read_mirror(int cut)
{
    uint64_t           seq;
    mcp_stream_info_t  info;

    begin_replicated(2, 2);
    come(1, 'a', 0, 's');
    (void) read_from(1, 'a', 0, &seq);
    add(0, 'a', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    UNTIL(info_of(1, 'a').state == MCP_STATE_COMPLETED
          && info_of(0, 'a').consumer_slot == MCP_STORE_REMOTE_CONSUMER);

    if (cut) {
        cut_off(1);
    }

    assert_int_equal(read_from(1, 'a', 0, &seq), MCP_DONE);
    assert_int_equal(seq, 3);
    leave(1, 'a', 3);
    info = info_of(1, 'a');
    mcp_store_free(&nodes[1].store, &info.ref);

    UNTIL(info_of(0, 'a').consumer_slot == MCP_STORE_NO_SLOT);
    assert_int_equal(info_of(0, 'a').sent_seq, 3);
    UNTIL(n_replications(1) == 0);
    end_all();
}


TEST(mirror_is_freed_after_its_client_has_read_it__the_owner_is_informed)
{
    free_read_mirror(0);
    free_read_mirror(1);
}


/* Redis is emptied. If the owner replicates the stream again, the mirror gets
 * later events, and the mirror's reader is in Redis again. If the owner does
 * not, the mirror is removed. */
TEST(redis_is_emptied__a_mirror_is_kept_only_if_its_owner_replicates_again)
{
    uint64_t           seq;
    mcp_stream_info_t  info;

    begin_replicated(2, 2);
    come(1, 'a', 0, 's');
    (void) read_from(1, 'a', 0, &seq);
    UNTIL(info_of(0, 'a').consumer_slot == MCP_STORE_REMOTE_CONSUMER);

    (void) command(0, "FLUSHALL");
    add_events(0, 'a', 1);
    UNTIL(info_of(1, 'a').last_seq == 3);
    (void) read_from(1, 'a', 2, &seq);
    assert_int_equal(seq, 3);
    assert_string_equal(about(0, "HGET", 'h', 'a', "w"), "2");

    info = info_of(0, 'a');
    mcp_store_replication_end(&nodes[0].store, &info.ref);
    (void) command(0, "FLUSHALL");
    UNTIL(!is_at(1, 'a'));
}


/* Redis loses the log of a stream, or only its first events, and gets another
 * event: a client that resumes at another node gets all events, each under its
 * own number, after the owner has written them again. */
static void
lose_events(const char *what, const char *rest)
{
    int                i;
    char               text[64];
    uint64_t           seq;
    mcp_stream_info_t  info;

    begin_all(2);
    make(0, 'a');

    for (i = 1; i <= 4; i++) {
        snprintf(text, sizeof(text), "{\"method\":\"e%d\"}", i);
        add(0, 'a', text, -1, MCP_STATE_PROCESSING);
    }

    UNTIL(repl_state(0, 'a').acked.seq == 4);
    (void) about(0, what, 'e', 'a', rest);
    add(0, 'a', "{\"method\":\"e5\"}", -1, MCP_STATE_PROCESSING);
    UNTIL(repl_state(0, 'a').acked.seq == 5);

    do {
        come(1, 'a', 1, 's');
        carry(0);
    } while (find(1, 'a', &info) != MCP_OK);

    UNTIL(info_of(1, 'a').last_seq == 5);
    assert_int_equal(read_from(1, 'a', 1, &seq), MCP_AGAIN);
    assert_int_equal(seq, 5);
    assert_string_equal(about(1, "XLEN", 'e', 'a', ""), "5");
    end_all();
}


TEST(redis_has_lost_the_log_of_a_stream__a_client_elsewhere_gets_all_events)
{
    lose_events("DEL", "");
}


TEST(redis_has_lost_some_events_of_a_log__a_client_elsewhere_gets_all_events)
{
    lose_events("XDEL", "3-0");
}


RUN_TESTS_WITH_REDIS(start)
