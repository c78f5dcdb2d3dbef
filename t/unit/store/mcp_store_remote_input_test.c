/* SPDX-License-Identifier: Apache-2.0 */

/* Messages from other nodes for a replicated stream: numbered client input,
 * and requests for the state of the stream. */

#include "store_fixture.h"


static mcp_stream_ref_t  ref;


static void
begin(unsigned shares)
{
    create_ok(0, 1, 1, &ref);

    if (shares) {
        assert_ok(mcp_store_replication_start(S0, &ref, 0));
    }
}


static unsigned
posted(void)
{
    mcp_stream_info_t  info;

    assert_ok(mcp_store_info(S1, &ref, &info));

    return info.posted;
}


static mcp_store_replication_state_t
repl_state(void)
{
    mcp_store_replication_state_t  repl_state;

    assert_ok(mcp_store_replication_state(S0, &ref, &repl_state));

    return repl_state;
}


static int
take(void)
{
    int         rc;
    uint64_t    tag;
    mcp_buf_t   buf;
    mcp_inbox_item_e type;

    mcp_buf_init(&buf, &d.tm.mem, 4096);
    rc = mcp_store_take(S0, &ref, &type, &tag, &buf);
    mcp_buf_free(&buf);

    return rc;
}


/* The number of a client input may be announced before or after the input
 * arrives; numbers lower than the highest one have no effect. */
TEST(announced_client_input_counts_as_open_until_it_arrives)
{
    begin(1);
    assert_int_equal(posted(), 0);
    mcp_store_remote_inputs(S1, ref.id, 2);
    assert_int_equal(posted(), 1);
    mcp_store_replication_got(S1, ref.id, 1);
    assert_int_equal(posted(), 1);
    mcp_store_replication_got(S1, ref.id, 2);
    assert_int_equal(posted(), 0);
    mcp_store_remote_inputs(S1, ref.id, 1);
    mcp_store_replication_got(S1, ref.id, 0);
    assert_int_equal(posted(), 0);

    mcp_store_replication_got(S1, ref.id, 5);
    mcp_store_remote_inputs(S1, ref.id, 5);
    assert_int_equal(posted(), 0);
}


/* Client input counts as processed when its owner finds the inbox empty. */
TEST(client_input_counts_as_processed_when_the_owner_finds_its_inbox_empty)
{
    mcp_store_wake_t  wake;

    begin(1);
    assert_int_equal(repl_state().taken, 0);
    assert_ok(mcp_store_inbox_put(S1, &ref, MCP_INBOX_INPUT, 0,
                                  mcp_str("{}")));
    mcp_store_replication_got(S1, ref.id, 1);
    assert_int_equal(repl_state().taken, 0);
    assert_ok(take());
    assert_int_equal(repl_state().taken, 0);

    while (store_drain(&d, 0, &wake)) { /* void */ }

    assert_int_equal(take(), MCP_AGAIN);
    assert_int_equal(repl_state().taken, 1);

    /* the replicator is woken to report the processed input */

    woken_as(0, 1, MCP_WAKE_REPLICATOR);
}


TEST(queries_for_a_streams_state_are_counted_until_the_state_was_sent)
{
    mcp_store_wake_t  wake;

    begin(1);

    while (store_drain(&d, 0, &wake)) { /* void */ }

    mcp_store_replication_query(S1, ref.id);
    woken_as(0, 1, MCP_WAKE_REPLICATOR);
    assert_int_equal(repl_state().state_requests, 2);
    mcp_store_replication_sent(S0, &ref);
    assert_int_equal(repl_state().state_requests, 1);
    mcp_store_replication_sent(S0, &ref);
    mcp_store_replication_sent(S0, &ref);
    assert_int_equal(repl_state().state_requests, 0);
}


TEST(message_from_another_node_for_an_unreplicated_stream_has_no_effect)
{
    unsigned char      other[MCP_STREAM_ID_LEN];
    mcp_stream_spec_t  spec;

    begin(0);
    mcp_store_remote_inputs(S1, ref.id, 1);
    mcp_store_replication_query(S1, ref.id);
    assert_int_equal(posted(), 0);

    /* messages for a stream that this node lacks have no effect */

    memset(other, 'x', sizeof(other));
    mcp_store_remote_inputs(S1, other, 1);
    mcp_store_replication_got(S1, other, 1);

    /* a mirror has no replicator: requests for its state are ignored */

    store_spec(&spec, 2, 2);
    assert_ok(mcp_store_mirror(S0, &spec, 1, 0, 1, 1, &ref));
    mcp_store_replication_query(S1, ref.id);
    assert_int_equal(repl_state().state_requests, 0);
    mcp_store_remote_inputs(S1, ref.id, 1);
    assert_int_equal(posted(), 1);
    mcp_store_replication_got(S1, ref.id, 1);
    assert_int_equal(posted(), 0);
}


RUN_TESTS(setup, teardown)
