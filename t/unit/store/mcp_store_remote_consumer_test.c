/* SPDX-License-Identifier: Apache-2.0 */

#include "store_fixture.h"


static const mcp_store_checkpoint_t  nothing;


static void
shared(mcp_stream_ref_t *ref)
{
    unsigned           i;
    mcp_stream_spec_t  spec;

    store_spec(&spec, 1, 1);
    spec.max_events = 4;
    store_create(&d, 0, &spec, ref);
    assert_ok(mcp_store_replication_start(S0, ref, 1));

    for (i = 0; i < 4; i++) {
        append_ok(0, ref, mcp_str("x"));
    }

    append_rc(0, ref, mcp_str("x"), MCP_ERR_LIMIT);
    store_drain(&d, 0, NULL);
}


static void
reads(const mcp_stream_ref_t *ref, unsigned slot, uint64_t handle,
    uint64_t sent)
{
    mcp_stream_info_t  info;

    assert_ok(mcp_store_info(S1, ref, &info));
    assert_int_equal(info.consumer_slot, slot);
    assert_int_equal(info.sent_seq, sent);

    if (slot != MCP_STORE_NO_SLOT) {
        assert_int_equal(info.consumer_handle, handle);
        assert_int_equal(info.unattended, 0);
    }

    store_sound(&d);
}


/* A consumer at another node reports events as sent: they make room for the
 * owner, even after a repair. */
TEST(remote_consumer_reports_events_as_sent__these_events_make_room)
{
    mcp_stream_ref_t   ref;
    mcp_stream_info_t  info;

    shared(&ref);
    assert_ok(mcp_store_remote_consumer(S1, &ref, 3, 7, 0));
    reads(&ref, MCP_STORE_REMOTE_CONSUMER, 3, 0);
    d.died = 1;
    reads(&ref, MCP_STORE_REMOTE_CONSUMER, 3, 0);
    store_drain(&d, 0, NULL);

    mcp_store_remote_consumer_sent(S1, &ref, 2, 2);
    reads(&ref, MCP_STORE_REMOTE_CONSUMER, 3, 0);
    mcp_store_remote_consumer_sent(S1, &ref, 3, 2);
    mcp_store_remote_consumer_sent(S1, &ref, 3, 1);
    reads(&ref, MCP_STORE_REMOTE_CONSUMER, 3, 2);
    assert_ok(mcp_store_info(S1, &ref, &info));
    assert_int_equal(info.last_seq, 2);
    assert_int_equal(info.state, MCP_STATE_PROCESSING);
    assert_int_equal(store_drain(&d, 0, NULL), 1);
    complete_ok(0, &ref, mcp_str("x"));

    mcp_store_remote_consumer_left(S1, &ref, 2, 5, 44);
    reads(&ref, MCP_STORE_REMOTE_CONSUMER, 3, 2);
    mcp_store_remote_consumer_left(S1, &ref, 3, 99, 44);
    reads(&ref, MCP_STORE_NO_SLOT, 0, 5);
    assert_ok(mcp_store_info(S1, &ref, &info));
    assert_int_equal(info.unattended, 44);

    /* events that the other node has sent count as acknowledged, and so does
     * the state after the last one */

    assert_int_equal(info.last_seq, 5);
    assert_int_equal(info.state, MCP_STATE_COMPLETED);
    assert_int_equal(info.answered, 1);

    /* a remote consumer that has left cannot return with its old number */

    assert_ok(mcp_store_remote_consumer(S1, &ref, 3, 0, 0));
    reads(&ref, MCP_STORE_NO_SLOT, 0, 5);
}


/* A reader with a higher number displaces the previous reader, whether it is
 * at this node or at another one. */
TEST(reader_with_a_higher_number_comes__old_local_or_remote_reader_is_displaced)
{
    int               taken;
    mcp_buf_t         out;
    mcp_cursor_t      cursor;
    mcp_stream_ref_t  ref;

    shared(&ref);
    mcp_buf_init(&out, &d.tm.mem, SIZE_MAX / 2);

    assert_ok(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken));
    assert_ok(mcp_store_remote_consumer_over(S1, &ref, 4, &nothing));
    assert_int_equal(mcp_store_remote_consumer(S0, &ref, 3, 0, 0),
                     MCP_ERR_DENIED);
    assert_int_equal(mcp_store_remote_consumer_over(S1, &ref, 3, &nothing),
                     MCP_ERR_DENIED);
    reads(&ref, 1, 5, 0);

    assert_ok(mcp_store_remote_consumer(S0, &ref, 6, 0, 0));
    reads(&ref, MCP_STORE_REMOTE_CONSUMER, 6, 0);
    assert_int_equal(store_drain(&d, 1, NULL), 1);
    assert_int_equal(read_all(1, &ref, 5, &cursor, 100, &out), MCP_ERR_DENIED);

    /* a reader at another node attaches after a local reader was announced:
     * the first attempt of the local reader is denied, the second succeeds */

    assert_ok(mcp_store_remote_consumer(S0, &ref, 7, 0, 0));
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken),
                     MCP_ERR_DENIED);
    reads(&ref, MCP_STORE_REMOTE_CONSUMER, 7, 0);
    assert_ok(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken));
    assert_int_equal(taken, 1);
    reads(&ref, 1, 5, 0);
    mcp_buf_free(&out);
}


/* The replication of a stream ends: its remote consumer is removed. */
TEST(replication_ends__the_remote_consumer_is_removed)
{
    mcp_stream_ref_t  ref;

    shared(&ref);
    assert_ok(mcp_store_remote_consumer(S0, &ref, 1, 0, 0));
    mcp_store_replication_end(S0, &ref);
    reads(&ref, MCP_STORE_NO_SLOT, 0, 0);

    assert_int_equal(mcp_store_remote_consumer(S0, &ref, 2, 0, 0),
                     MCP_ERR_DENIED);
    mcp_store_remote_consumer_sent(S0, &ref, 1, 1);
    mcp_store_remote_consumer_left(S0, &ref, 1, 1, 1);
    mcp_store_free(S0, &ref);
    assert_int_equal(mcp_store_remote_consumer(S0, &ref, 2, 0, 0),
                     MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_remote_consumer_over(S0, &ref, 2, &nothing),
                     MCP_ERR_NOT_FOUND);
}


/* A client has received events at another node, so Redis has them: the client
 * can resume after them at the owner's node, even if the replicator has not
 * received the acknowledgement. */
TEST(client_got_events_at_another_node__it_can_resume_after_them_at_the_owner)
{
    int                     taken;
    mcp_cursor_t            cursor;
    mcp_stream_ref_t        ref;
    mcp_store_checkpoint_t  checkpoint = { 0 };

    shared(&ref);
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 2, &cursor, &taken),
                     MCP_ERR_NOT_FOUND);

    checkpoint.seq = 9;
    assert_ok(mcp_store_remote_consumer_over(S1, &ref, 4, &checkpoint));
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 2, &cursor, &taken),
                     MCP_ERR_NOT_FOUND);

    checkpoint.seq = 2;
    assert_ok(mcp_store_remote_consumer_over(S1, &ref, 4, &checkpoint));
    assert_ok(mcp_store_watch(S1, &ref, 5, 2, &cursor, &taken));
}


RUN_TESTS(setup, teardown)
