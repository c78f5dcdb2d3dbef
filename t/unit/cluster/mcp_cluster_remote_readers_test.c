/* SPDX-License-Identifier: Apache-2.0 */

/* Readers at other nodes, which the owner gets from the replies to its
 * commands. */

#include "cluster_streams.h"


/* Redis has lost a remote reader, and the reader's node has died: the owner
 * drops the reader after a while. */
TEST(redis_is_emptied_and_the_readers_node_dies__the_owner_drops_the_reader)
{
    begin_replicated(2, 1);
    come(1, 'a', 0, 's');
    UNTIL(repl_state(0, 'a').consumer_slot == MCP_STORE_REMOTE_CONSUMER);
    assert_int_equal(repl_state(0, 'a').reader, 2);

    end(1);
    (void) command(0, "FLUSHALL");
    add_acked(0, 'a', 1);
    assert_string_equal(about(0, "HGET", 'h', 'a', "w"), "1");
    UNTIL(repl_state(0, 'a').consumer_slot == MCP_STORE_NO_SLOT);
    assert_int_not_equal(info_of(0, 'a').unattended, 0);
}


/* A client resumes stream "a" at node i. Redis records the client as the
 * reader with number "number", but the link of node i is lost before the
 * reply. Redis is queried on the link of node "other". */
static void
resume_without_reply(int i, int other, const char *number)
{
    resume_start(i, 'a', 1, 's');
    deliver(i);

    do {
        (void) about(other, "HGET", 'h', 'a', "w");
    } while (strcmp(said, number) != 0);

    cut_off(i);
}


/* A client resumes a stream at another node, the reply of Redis is lost, and
 * the client does not resume again: the owner drops the reader that Redis has
 * recorded. */
TEST(reply_to_a_remote_resume_is_lost__the_owner_drops_the_recorded_reader)
{
    begin_replicated(2, 3);
    resume_without_reply(1, 0, "2");
    UNTIL(info_of(0, 'a').consumer_slot == MCP_STORE_REMOTE_CONSUMER);
    UNTIL(info_of(0, 'a').consumer_slot == MCP_STORE_NO_SLOT);
}


/* The stream has a remote reader, and a client resumes it at the owner's node.
 * The reply of Redis is lost, and the client does not resume again: the owner
 * drops the remote reader. */
TEST(reply_to_a_resume_at_the_owner_is_lost__the_owner_drops_the_remote_reader)
{
    uint64_t  seq;

    begin_replicated(3, 3);
    come(1, 'a', 1, 's');
    assert_int_equal(read_from(1, 'a', 1, &seq), MCP_AGAIN);
    UNTIL(info_of(0, 'a').consumer_slot == MCP_STORE_REMOTE_CONSUMER);
    resume_without_reply(0, 2, "3");
    UNTIL(info_of(0, 'a').consumer_slot == MCP_STORE_NO_SLOT);
}


/* A node has not reported its reader for too long: the owner drops the reader.
 * After the node's next report, the stream has this reader again. */
TEST(node_is_late_to_report_its_reader__owner_drops_the_reader_until_then)
{
    uint64_t  seq;

    begin_replicated(2, 3);
    come(1, 'a', 1, 's');
    assert_int_equal(read_from(1, 'a', 1, &seq), MCP_AGAIN);
    UNTIL(info_of(0, 'a').consumer_slot == MCP_STORE_REMOTE_CONSUMER);

    (void) about(0, "HSET", 'h', 'a', "r 2\t1");

    while (info_of(0, 'a').consumer_slot != MCP_STORE_NO_SLOT) {
        carry(0);
    }

    UNTIL(info_of(0, 'a').consumer_slot == MCP_STORE_REMOTE_CONSUMER);
    add_events(0, 'a', 1);
    UNTIL(is_at(1, 'a') && info_of(1, 'a').last_seq == 4);
    assert_int_equal(read_from(1, 'a', 3, &seq), MCP_AGAIN);
    assert_int_equal(seq, 4);
}


RUN_TESTS_WITH_REDIS(start)
