/* SPDX-License-Identifier: Apache-2.0 */

/* Fetching many events of a mirror by XRANGE. After any error of XRANGE,
 * the mirror fetches events by a script, whose reply has the reason of the
 * error. */

#include "cluster_streams.h"


#define MANY  3000


static mcp_replication_t *
replication_of(int i, char c)
{
    mcp_replication_t  *repl;
    mcp_stream_info_t   info = info_of(i, c);

    repl = mcp_replication_get(nodes[i].cluster, &info.ref);
    assert_non_null(repl);

    return repl;
}


/* Starts n nodes, and creates stream "a" with MANY events at node 0. */
static void
begin_many(int n, const char *text)
{
    unsigned  i;

    begin_all(n);
    make(0, 'a');

    for (i = 0; i < MANY; i++) {
        add(0, 'a', text, -1, MCP_STATE_PROCESSING);
    }

    UNTIL(repl_state(0, 'a').acked.seq == MANY);
}


/* A client resumes stream "a" at node 1, whose mirror has some of the events
 * and is fetching others. */
static void
come_some(void)
{
    uint64_t  seq;

    come(1, 'a', 0, 's');
    (void) read_from(1, 'a', 0, &seq);
    UNTIL(info_of(1, 'a').last_seq > 300);
    assert_in_range(info_of(1, 'a').last_seq, 301, MANY - 1);
    assert_in_range(replication_of(1, 'a')->pending, 1, 2);
}


TEST(mirror_fetches_3000_events_in_batches_and_then_the_later_events)
{
    uint64_t  seq;

    begin_many(2, "{\"method\":\"x\"}");
    assert_string_equal(about(0, "HGET", 'h', 'a', "e"), "14");
    come_some();

    UNTIL(info_of(1, 'a').last_seq == MANY);
    assert_int_equal(read_from(1, 'a', 0, &seq), MCP_AGAIN);
    assert_int_equal(seq, MANY);
    assert_int_equal(replication_of(1, 'a')->batch, 256);
    assert_int_equal(replication_of(1, 'a')->pending, 0);

    /* events that are appended later may be longer, so a script is run before
     * the next XRANGE */

    add_events(0, 'a', 1400);
    add(0, 'a', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    UNTIL(read_from(1, 'a', MANY, &seq) == MCP_DONE);
    assert_int_equal(seq, MANY + 1401);
}


/* Long events are fetched by the script, which limits the bytes of its
 * reply. */
TEST(long_events_are_fetched_by_a_lua_script_instead_of_xrange)
{
    char      text[5000];
    uint64_t  seq;

    memset(text, 'x', sizeof(text));
    memcpy(text, "{\"method\":\"", 11);
    memcpy(text + sizeof(text) - 3, "\"}", 3);

    begin_all(2);
    make(0, 'a');
    add(0, 'a', text, -1, MCP_STATE_PROCESSING);
    add_acked(0, 'a', 600);
    assert_string_equal(about(0, "HGET", 'h', 'a', "e"), "4999");

    come(1, 'a', 0, 's');
    assert_int_equal(replication_of(1, 'a')->batch, 0);
    (void) read_from(1, 'a', 0, &seq);
    UNTIL(info_of(1, 'a').last_seq == 601);
    assert_int_equal(read_from(1, 'a', 0, &seq), MCP_AGAIN);
    assert_int_equal(seq, 601);
}


/* Redis is emptied: the mirror gets the remaining events when the owner has
 * replicated them again. */
TEST(redis_is_emptied_during_a_bulk_fetch__the_mirror_gets_all_events)
{
    uint64_t  seq;

    begin_many(2, "{\"method\":\"x\"}");
    come_some();
    (void) command(0, "FLUSHALL");
    add_events(0, 'a', 1);
    UNTIL(info_of(1, 'a').last_seq == MANY + 1);
    (void) read_from(1, 'a', 0, &seq);
    assert_int_equal(seq, MANY + 1);
}


/* The link is lost: the mirror fetches the remaining events on the next
 * link. */
TEST(link_is_lost_during_a_bulk_fetch__the_mirror_gets_all_events)
{
    begin_many(2, "{\"method\":\"x\"}");
    come_some();
    cut_off(1);
    UNTIL(info_of(1, 'a').last_seq == MANY);
}


/* The client leaves: the mirror fetches no more events. */
TEST(client_leaves_during_a_bulk_fetch__the_mirror_fetches_no_more_events)
{
    uint64_t  seq;

    begin_many(2, "{\"method\":\"x\"}");
    come_some();
    (void) read_from(1, 'a', 0, &seq);
    leave(1, 'a', seq);
    UNTIL(repl_state(0, 'a').own.seq == MANY
          && info_of(0, 'a').consumer_slot == MCP_STORE_NO_SLOT
          && info_of(0, 'a').sent_seq == seq);
    assert_in_range(info_of(1, 'a').last_seq, seq, MANY - 1);
    assert_int_equal(replication_of(1, 'a')->pending, 0);
}


/* The log in Redis has an invalid entry: the mirror gets the events before
 * that entry only. */
TEST(event_log_in_redis_has_an_invalid_entry__a_mirror_gets_only_earlier_events)
{
    static const char *const  what[] = {
        "601-0 m no r 0",
        "601-0 m {}",
        "601-0 m {} r nothing"
    };

    size_t    i;
    uint64_t  seq;

    for (i = 0; i < sizeof(what) / sizeof(char *); i++) {
        begin_replicated(2, 600);
        (void) about(0, "XADD", 'e', 'a', what[i]);
        (void) about(0, "HSET", 'h', 'a', "l 602");

        come(1, 'a', 0, 's');
        (void) read_from(1, 'a', 0, &seq);
        UNTIL(replication_of(1, 'a')->mirror == MCP_MIRROR_PAUSED);
        assert_int_equal(replication_of(1, 'a')->pending, 0);
        assert_int_equal(info_of(1, 'a').last_seq, 600);
        end_all();
    }
}


RUN_TESTS_WITH_REDIS(start)
