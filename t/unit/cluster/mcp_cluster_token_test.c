/* SPDX-License-Identifier: Apache-2.0 */

/* Resume tokens in a cluster: a token is valid for one call, so only one node
 * can use it. */

#include "cluster_streams.h"


static int       answered;
static uint32_t  value;


static void
note(void *data, int rc)
{
    mcp_operation_t  **op = data;

    answered = rc;
    value = (*op)->value;
}


static void
word(mcp_operation_spec_t *spec, mcp_operation_token_e what, char c)
{
    memset(spec, 0, sizeof(mcp_operation_spec_t));
    spec->kind = MCP_OPERATION_TOKEN;
    spec->token.what = what;
    memset(spec->token.key, c, MCP_DIGEST_LEN);
    memcpy(spec->token.stream, id_of(c), MCP_STREAM_ID_LEN);
    spec->token.expires = real_now() + 60000;
}


/* A request at node i uses token c. Returns the result of the cluster
 * operation. x is the request's exchange; NULL means that the client of the
 * request has disconnected. */
static int
take_for(int i, char c, mcp_exchange_t *x)
{
    int                      rc;
    mcp_operation_t         *op;
    mcp_operation_spec_t     spec;
    static mcp_operation_t  *asked;

    op = mcp_mem_calloc(&nodes[i].te.env.mem, sizeof(mcp_operation_t));
    assert_non_null(op);
    op->worker = nodes[i].worker;
    op->handler = note;
    op->data = &asked;
    op->x = x;
    asked = op;
    word(&spec, MCP_OPERATION_TOKEN_TAKE, c);

    rc = mcp_cluster_start(nodes[i].cluster, &spec, op);

    if (rc != MCP_AGAIN) {
        nodes[i].te.env.mem.free(nodes[i].te.env.mem.ctx, op);
        return rc;
    }

    answered = MCP_AGAIN;
    run(i);
    assert_int_not_equal(answered, MCP_AGAIN);

    /* the operation of an exchange is freed with the exchange */

    if (x) {
        nodes[i].te.env.mem.free(nodes[i].te.env.mem.ctx, op);
    }

    return answered;
}


static int
take(int i, char c)
{
    static mcp_exchange_t  x;

    return take_for(i, c, &x);
}


static void
send_token(int i, mcp_operation_token_e what, char c, uint32_t number)
{
    mcp_operation_spec_t  spec;

    word(&spec, what, c);
    spec.token.value = number;
    assert_ok(mcp_cluster_start(nodes[i].cluster, &spec, NULL));
}


static void
say_token(int i, mcp_operation_token_e what, char c, uint32_t number)
{
    send_token(i, what, c, number);
    run(i);
}


TEST(resume_token_is_used_at_one_node__other_nodes_are_denied_the_token)
{
    begin_all(2);
    assert_ok(take(0, 'a'));
    assert_int_equal(take(1, 'a'), MCP_ERR_DENIED);
    assert_int_equal(value, 0);
    assert_ok(take(1, 'b'));
    all_expire(0);

    /* another request at the same node uses the token: MCP_OK from the
     * cluster, because the node's own zone records which request uses the
     * token */

    assert_ok(take(0, 'a'));
    say_token(0, MCP_OPERATION_TOKEN_GIVE, 'a', 0);
    assert_int_equal(take(1, 'a'), MCP_ERR_DENIED);

    /* updates of the token from node 1, which does not use it: ignored */

    say_token(1, MCP_OPERATION_TOKEN_GIVE, 'a', 0);
    say_token(1, MCP_OPERATION_TOKEN_DROP, 'a', 0);
    say_token(1, MCP_OPERATION_TOKEN_SET, 'a', 9);
    assert_int_equal(take(1, 'a'), MCP_ERR_DENIED);
    assert_int_equal(value, 0);

    say_token(0, MCP_OPERATION_TOKEN_SET, 'a', 4000000000);
    assert_int_equal(take(1, 'a'), MCP_ERR_DENIED);
    assert_true(value == 4000000000);
    assert_int_equal(take(0, 'a'), MCP_ERR_DENIED);
    assert_true(value == 4000000000);
    say_token(0, MCP_OPERATION_TOKEN_DROP, 'a', 0);
    assert_int_equal(take(1, 'a'), MCP_ERR_DENIED);
}


TEST(resume_token_is_released_at_one_node__another_node_can_use_it)
{
    begin_all(2);
    assert_ok(take(0, 'a'));
    say_token(0, MCP_OPERATION_TOKEN_GIVE, 'a', 0);
    assert_ok(take(1, 'a'));
    assert_ok(take(1, 'a'));
    say_token(1, MCP_OPERATION_TOKEN_DROP, 'a', 0);
    assert_ok(take(0, 'a'));

    /* the client disconnects before the reply: the token is released */

    assert_ok(take_for(1, 'b', NULL));
    run(1);
    assert_ok(take(0, 'b'));
}


/* A call that has a stream fails. A DROP for an earlier call of the same token
 * is ignored. */
TEST(call_with_a_stream_fails__its_resume_token_can_be_used_at_every_node)
{
    begin_all(2);
    assert_ok(take(0, 'a'));
    say_token(0, MCP_OPERATION_TOKEN_SET, 'a', 7);
    say_token(0, MCP_OPERATION_TOKEN_DROP, 'a', 6);
    assert_int_equal(take(1, 'a'), MCP_ERR_DENIED);
    say_token(0, MCP_OPERATION_TOKEN_DROP, 'a', 7);
    assert_ok(take(1, 'a'));
    say_token(0, MCP_OPERATION_TOKEN_DROP, 'a', 7);
    assert_int_equal(take(0, 'a'), MCP_ERR_DENIED);
    assert_int_equal(nodes[0].cluster->n_updates, 0);
}


TEST(call_fails_while_redis_is_unreachable__its_resume_token_is_usable_later)
{
    begin_all(2);
    assert_ok(take(0, 'a'));
    assert_ok(take(0, 'b'));
    say_token(0, MCP_OPERATION_TOKEN_SET, 'b', 8);
    cut_off(0);
    send_token(0, MCP_OPERATION_TOKEN_SET, 'a', 7);
    send_token(0, MCP_OPERATION_TOKEN_DROP, 'a', 7);
    assert_int_equal(nodes[0].cluster->n_updates, 1);
    send_token(0, MCP_OPERATION_TOKEN_DROP, 'b', 8);
    assert_int_equal(nodes[0].cluster->n_updates, 2);
    UNTIL(nodes[0].cluster->n_updates == 0);
    assert_ok(take(1, 'a'));
    assert_ok(take(1, 'b'));
}


/* The node that uses a token was declared dead: another node can use the
 * token, unless the token's call has a stream. */
TEST(node_that_uses_a_resume_token_dies__token_works_if_its_call_has_no_stream)
{
    char  text[128];

    begin_all(2);
    assert_ok(take(0, 'a'));
    assert_ok(take(0, 'b'));
    say_token(0, MCP_OPERATION_TOKEN_SET, 'b', 5);
    snprintf(text, sizeof(text), "SET {mcp}:1:x:%016llx 1 EX 60",
             (unsigned long long) node_info(0).id);
    (void) command(1, text);
    assert_ok(take(1, 'a'));
    assert_int_equal(take(1, 'b'), MCP_ERR_DENIED);
    assert_int_equal(value, 5);

    /* node 0, which was declared dead, requests a token: MCP_ERR_UNREACHABLE;
     * by the reply, the node detects that it was declared dead */

    nodes[0].conf.node_timeout = 600000;
    assert_int_equal(take(0, 'c'), MCP_ERR_UNREACHABLE);
    UNTIL(node_info(0).counts[MCP_NODE_REBORN] == 1);
    assert_ok(take(1, 'c'));
}


/* The stream of a token's call is recorded in Redis only after Redis has the
 * stream itself. */
TEST(stream_is_recorded_for_a_resume_token__redis_already_has_the_stream)
{
    begin_all(1);
    assert_ok(take(0, 'a'));
    make(0, 'a');
    add_events(0, 'a', 1);
    say_token(0, MCP_OPERATION_TOKEN_SET, 'a', 7);
    assert_string_equal(about(0, "XLEN", 'e', 'a', ""), "1");
}


/* Redis is unreachable: the stream of a token's call is recorded on the next
 * link. */
TEST(redis_is_unreachable__redis_gets_the_stream_id_of_a_resume_token_later)
{
    mcp_operation_spec_t  spec;

    begin_all(2);
    assert_ok(take(0, 'a'));
    assert_ok(take(0, 'b'));
    cut_off(0);
    send_token(0, MCP_OPERATION_TOKEN_SET, 'a', 7);
    assert_int_equal(nodes[0].cluster->n_updates, 1);
    UNTIL(nodes[0].cluster->n_updates == 0);
    assert_int_equal(take(1, 'a'), MCP_ERR_DENIED);
    assert_int_equal(value, 7);

    /* the reply is lost: the command that records the stream is sent again */

    send_token(0, MCP_OPERATION_TOKEN_SET, 'b', 8);
    cut_off(0);
    assert_int_equal(nodes[0].cluster->n_updates, 1);
    UNTIL(nodes[0].cluster->n_updates == 0);
    assert_int_equal(take(1, 'b'), MCP_ERR_DENIED);
    assert_int_equal(value, 8);

    /* the token expires, or the process ends: the command is dropped */

    cut_off(0);
    word(&spec, MCP_OPERATION_TOKEN_SET, 'c');
    spec.token.value = 9;
    spec.token.expires = real_now() + 10;
    (void) mcp_cluster_start(nodes[0].cluster, &spec, NULL);
    UNTIL(nodes[0].cluster->n_updates == 0);
    cut_off(0);
    send_token(0, MCP_OPERATION_TOKEN_SET, 'd', 9);
}


TEST(redis_fails__a_resume_token_can_be_used_only_if_mcp_cluster_sync_is_off)
{
    begin_all(1);
    (void) command(0, "SET {mcp}:1:v:aaaaaaaaaaaaaaaa x EX 60");
    assert_int_equal(take(0, 'a'), MCP_ERR_UNREACHABLE);
    assert_non_null(strstr(node_info(0).error, "script token"));

    cut_off(0);
    assert_int_equal(take(0, 'b'), MCP_ERR_UNREACHABLE);
    nodes[0].conf.sync = MCP_CLUSTER_SYNC_OFF;
    assert_ok(take(0, 'b'));
    say_token(0, MCP_OPERATION_TOKEN_DROP, 'b', 0);
}


/* Redis is emptied: MCP_ERR_UNREACHABLE, because it is unknown whether a token
 * was used. */
TEST(redis_is_emptied__no_resume_token_can_be_used)
{
    begin_all(2);
    assert_ok(take(0, 'a'));
    (void) command(0, "FLUSHALL");
    assert_int_equal(take(1, 'a'), MCP_ERR_UNREACHABLE);
    assert_int_equal(take(1, 'b'), MCP_ERR_UNREACHABLE);
    assert_string_equal(node_info(1).error, "");
}


RUN_TESTS_WITH_REDIS(start)
