/* SPDX-License-Identifier: Apache-2.0 */

/* The limit of a session's active calls at all nodes. */

#include "cluster_streams.h"


static int  answered;


static void
note(void *data, int rc)
{
    answered = rc;
}


/* Returns MCP_OK if one more call of a session may begin at node i, or
 * MCP_ERR_LIMIT if the session has as many active calls as "limit". */
static int
quota(int i, char session, uint32_t limit)
{
    int                   rc;
    mcp_operation_t      *op;
    mcp_operation_spec_t  spec;

    spec.kind = MCP_OPERATION_QUOTA;
    memset(spec.quota.session, session, MCP_DIGEST_LEN);
    spec.quota.limit = limit;
    op = mcp_mem_calloc(&nodes[i].te.env.mem, sizeof(mcp_operation_t));
    assert_non_null(op);
    op->worker = nodes[i].worker;
    op->handler = note;

    rc = mcp_cluster_start(nodes[i].cluster, &spec, op);

    if (rc != MCP_AGAIN) {
        nodes[i].te.env.mem.free(nodes[i].te.env.mem.ctx, op);
        return rc;
    }

    answered = MCP_AGAIN;
    run(i);
    assert_int_not_equal(answered, MCP_AGAIN);

    return answered;
}


/* Takes the oldest post from the inbox of stream c, and returns its type; 0 if
 * there is none. */
static int
posted(int i, char c)
{
    int                rc;
    uint64_t           tag;
    mcp_buf_t          buf;
    mcp_inbox_item_e   type;
    mcp_stream_info_t  info = info_of(i, c);

    mcp_buf_init(&buf, &nodes[i].te.env.mem, 4096);
    rc = mcp_store_take(&nodes[i].store, &info.ref, &type, &tag, &buf);
    mcp_buf_free(&buf);

    return rc == MCP_OK ? (int) type : 0;
}


static void
free_stream(int i, char c)
{
    mcp_stream_info_t  info = info_of(i, c);

    mcp_store_free(&nodes[i].store, &info.ref);
}


/* A call beyond the limit is not replicated, and its owner gets a post of type
 * MCP_INBOX_LIMIT. */
TEST(session_has_its_maximum_of_calls__a_further_call_is_not_replicated)
{
    uint64_t                 seq;
    mcp_stream_info_t        info;
    mcp_store_replication_state_t  out;

    begin_all(2);
    make_of(0, 'a', 2);
    make_of(1, 'b', 2);
    UNTIL(repl_state(0, 'a').created && repl_state(1, 'b').created);
    assert_int_equal(quota(1, 's', 2), MCP_ERR_LIMIT);
    assert_ok(quota(1, 's', 3));
    assert_ok(quota(1, 'x', 1));

    make_of(0, 'c', 2);
    add_events(0, 'c', 1);
    UNTIL(posted(0, 'c') == MCP_INBOX_LIMIT);
    info = info_of(0, 'c');
    assert_int_equal(mcp_store_replication_state(&nodes[0].store, &info.ref,
                                                 &out),
                     MCP_ERR_DENIED);
    assert_int_equal(read_from(0, 'c', 0, &seq), MCP_AGAIN);
    assert_int_equal(seq, 1);
    assert_string_equal(about(0, "EXISTS", 'h', 'c', ""), "0");

    /* neither a call that is over nor a call that was freed counts */

    add(0, 'a', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    UNTIL(repl_state(0, 'a').acked.state == MCP_STATE_COMPLETED);
    assert_ok(quota(0, 's', 2));
    make_of(1, 'd', 2);
    UNTIL(repl_state(1, 'd').created);
    assert_int_equal(quota(0, 's', 2), MCP_ERR_LIMIT);
    free_stream(1, 'd');
    UNTIL(quota(0, 's', 2) == MCP_OK);
    all_expire(0);
}


/* A session reaches half of its limit: all nodes receive a broadcast about
 * that, but none for the next call. */
TEST(session_reaches_half_of_its_maximum_of_calls__one_broadcast_is_sent)
{
    n_updates = 0;
    begin_all(2);
    make_of(0, 'a', 4);
    UNTIL(repl_state(0, 'a').created);
    assert_string_equal(command(0, "EXISTS {mcp}:1:heard"), "0");
    make_of(0, 'b', 4);
    make_of(1, 'c', 4);
    UNTIL(repl_state(0, 'b').created && repl_state(1, 'c').created);

    /* the node whose call has caused the broadcast receives it as well */

    UNTIL(n_updates == 2);
    assert_int_equal(broadcasts[0].what, MCP_BROADCAST_CROWDED);
    assert_int_equal(broadcasts[1].what, MCP_BROADCAST_CROWDED);
    assert_int_equal(broadcasts[0].key[0], 's');
    assert_true(broadcasts[0].expires > real_now() + 500000);
    assert_string_equal(command(0, "XLEN {mcp}:1:heard"), "1");
    all_expire(0);
    end_all();
    n_updates = 0;
}


/* A call that Redis has lost does not count. After that, its owner replicates
 * it again, even if the session has reached its limit in the meantime. */
TEST(redis_has_lost_a_call__it_is_replicated_again_even_at_the_session_limit)
{
    begin_all(1);
    make_of(0, 'a', 1);
    UNTIL(repl_state(0, 'a').created);
    assert_int_equal(quota(0, 's', 1), MCP_ERR_LIMIT);
    (void) about(0, "DEL", 'h', 'a', "");
    assert_ok(quota(0, 's', 1));

    (void) command(0, "FLUSHALL");
    tick(0);
    make_of(0, 'b', 2);
    UNTIL(repl_state(0, 'b').created);
    add_acked(0, 'a', 1);
    assert_int_equal(posted(0, 'a'), 0);
    assert_int_equal(quota(0, 's', 2), MCP_ERR_LIMIT);
    n_updates = 0;
}


/* Redis replies with an error or is unreachable: no call is rejected. */
TEST(redis_fails__no_call_is_rejected_by_the_session_limit)
{
    begin_all(1);
    make_of(0, 'a', 1);
    UNTIL(repl_state(0, 'a').created);
    (void) command(0, "SET {mcp}:1:a:ssssssssssssssss x EX 60");
    assert_ok(quota(0, 's', 1));
    assert_non_null(strstr(node_info(0).error, "script quota"));
    cut_off(0);
    assert_ok(quota(0, 's', 1));
    n_updates = 0;
}


RUN_TESTS_WITH_REDIS(start)
