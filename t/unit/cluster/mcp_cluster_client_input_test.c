/* SPDX-License-Identifier: Apache-2.0 */

/* Client input for a call at another node: answers, updates of a task, and its
 * cancellation. */

#include "cluster_streams.h"


static void
bring(int i, const mcp_operation_client_input_t *post)
{
    mcp_operation_spec_t  spec;

    spec.kind = MCP_OPERATION_CLIENT_INPUT;
    spec.input = *post;
    assert_ok(mcp_cluster_start(nodes[i].cluster, &spec, NULL));
}


static void
answer(int i, char c, char session, const char *text)
{
    mcp_operation_client_input_t  post;

    memset(&post, 0, sizeof(post));
    memcpy(post.id, id_of(c), MCP_STREAM_ID_LEN);
    memset(post.session, session, MCP_DIGEST_LEN);
    post.data = test_str(text);

    bring(i, &post);
}


/* Takes the oldest input from the inbox of stream c, and returns its text,
 * which is empty if there is no input. */
static const char *
taken(int i, char c)
{
    int                rc;
    uint64_t           tag;
    mcp_buf_t          buf;
    mcp_inbox_item_e   type;
    mcp_stream_info_t  info = info_of(i, c);

    static char  text[256];

    text[0] = '\0';
    mcp_buf_init(&buf, &nodes[i].te.env.mem, 4096);
    rc = mcp_store_take(&nodes[i].store, &info.ref, &type, &tag, &buf);

    if (rc == MCP_OK) {
        assert_int_equal(type, MCP_INBOX_INPUT);
        snprintf(text, sizeof(text), "%.*s", (int) buf.len, buf.data);
    }

    mcp_buf_free(&buf);

    return text;
}


TEST(answer_from_another_session_or_to_a_finished_call_is_ignored)
{
    begin_replicated(2, 0);

    /* an answer from another session, and an answer for a stream that does not
     * exist: ignored */

    answer(1, 'a', 'x', "\"wrong\"");
    answer(1, 'b', 's', "\"wrong\"");
    answer(1, 'a', 's', "\"one\"");
    answer(1, 'a', 's', "\"two\"");
    UNTIL(strcmp(taken(0, 'a'), "\"one\"") == 0);
    UNTIL(strcmp(taken(0, 'a'), "\"two\"") == 0);
    all_expire(0);

    /* an answer for a call that is over: ignored */

    add(0, 'a', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    UNTIL(repl_state(0, 'a').acked.state == MCP_STATE_COMPLETED);
    answer(1, 'a', 's', "\"late\"");
    run(1);
    assert_int_equal(strtol(about(0, "HGET", 'h', 'a', "i"), NULL, 10), 0);
}


/* From the time when Redis has an answer until the owner has processed it, the
 * stream and its mirrors have the flag "posted". */
TEST(owner_has_not_processed_an_answer__stream_and_mirror_have_flag_posted)
{
    int       i;
    uint64_t  seq;

    begin_all(3);
    make(0, 'a');
    add(0, 'a', "{\"id\":1,\"method\":\"x\"}", -1,
        MCP_STATE_INPUT_REQUIRED);
    UNTIL(repl_state(0, 'a').acked.seq == 1);
    come(1, 'a', 0, 's');
    assert_int_equal(read_from(1, 'a', 0, &seq), MCP_AGAIN);

    for (i = 0; i < 2; i++) {
        assert_int_equal(info_of(i, 'a').state, MCP_STATE_INPUT_REQUIRED);
        assert_int_equal(info_of(i, 'a').posted, 0);
    }

    /* node 1 is informed late that the owner has processed earlier input:
     * "posted" stays 1 in the mirror */

    answer(2, 'a', 's', "\"one\"");
    mcp_store_remote_inputs(&nodes[1].store, id_of('a'), 1);
    mcp_store_replication_got(&nodes[1].store, id_of('a'), 0);
    assert_int_equal(info_of(1, 'a').posted, 1);

    UNTIL(info_of(0, 'a').posted == 1);
    come(1, 'a', 0, 's');
    assert_int_equal(info_of(1, 'a').posted, 1);

    assert_string_equal(taken(0, 'a'), "\"one\"");
    assert_int_equal(info_of(0, 'a').posted, 1);

    /* the owner finds its inbox empty: the answer counts as processed,
     * although it had no effect */

    assert_string_equal(taken(0, 'a'), "");
    assert_int_equal(info_of(0, 'a').posted, 0);
    UNTIL(info_of(1, 'a').posted == 0);
    assert_string_equal(about(0, "HGET", 'h', 'a', "h"), "1");
    all_expire(0);
}


/* The owner's node is informed of an answer before the answer arrives:
 * "posted" is 1 until the owner has processed the answer. */
TEST(answer_is_announced_but_not_yet_processed__the_stream_has_flag_posted)
{
    begin_all(2);
    make(0, 'a');
    add(0, 'a', "{\"id\":1,\"method\":\"x\"}", -1,
        MCP_STATE_INPUT_REQUIRED);
    UNTIL(repl_state(0, 'a').acked.seq == 1);
    assert_int_equal(info_of(0, 'a').shared, 1);
    assert_int_equal(info_of(0, 'a').posted, 0);
    mcp_store_remote_inputs(&nodes[0].store, id_of('a'), 1);
    assert_int_equal(info_of(0, 'a').posted, 1);

    answer(1, 'a', 's', "\"one\"");
    UNTIL(strcmp(taken(0, 'a'), "\"one\"") == 0);
    assert_string_equal(taken(0, 'a'), "");
    assert_int_equal(info_of(0, 'a').posted, 0);
}


/* An answer that a client sends at the owner's node is sent through Redis as
 * well: the owner gets all answers in order, even if the process that received
 * an answer has died. */
TEST(client_answers_at_the_owners_node__the_answer_is_still_sent_through_redis)
{
    begin_replicated(2, 0);
    answer(0, 'a', 's', "\"one\"");
    UNTIL(strcmp(about(0, "HGET", 'h', 'a', "s"), "1") == 0);
    answer(1, 'a', 's', "\"two\"");
    UNTIL(strcmp(taken(0, 'a'), "\"one\"") == 0);
    UNTIL(strcmp(taken(0, 'a'), "\"two\"") == 0);
    assert_string_equal(taken(0, 'a'), "");
    UNTIL(strcmp(about(0, "HGET", 'h', 'a', "h"), "2") == 0);
}


/* A failover of Redis has lost the numbers of the answers: the owner writes
 * them to Redis again, and the next answer gets a new number. */
TEST(redis_has_lost_the_sequence_numbers_of_answers__owner_writes_them_again)
{
    begin_replicated(2, 0);
    answer(1, 'a', 's', "\"one\"");
    UNTIL(strcmp(taken(0, 'a'), "\"one\"") == 0);
    assert_string_equal(taken(0, 'a'), "");
    UNTIL(strcmp(about(0, "HGET", 'h', 'a', "h"), "1") == 0);

    (void) about(0, "HSET", 'h', 'a', "s 0 h 0");
    mcp_store_replication_query(&nodes[0].store, id_of('a'));
    UNTIL(strcmp(about(0, "HGET", 'h', 'a', "h"), "1") == 0);
    assert_string_equal(about(0, "HGET", 'h', 'a', "s"), "1");
    answer(1, 'a', 's', "\"two\"");
    UNTIL(strcmp(taken(0, 'a'), "\"two\"") == 0);
    assert_string_equal(taken(0, 'a'), "");
    UNTIL(strcmp(about(0, "HGET", 'h', 'a', "h"), "2") == 0);
}


/* Starts two nodes, and task "a" at node 0, which has asked questions. Fills in
 * an answer for the task, with the task's principal and without data. */
static void
begin_task(const char *questions, mcp_operation_client_input_t *post)
{
    mcp_stream_info_t  info;

    begin_all(2);
    make(0, 'a');
    info = info_of(0, 'a');
    assert_ok(mcp_store_keep(&nodes[0].store, &info.ref, real_now() + 60000,
                             real_now()));
    add(0, 'a', questions, -1, MCP_STATE_INPUT_REQUIRED);
    UNTIL(repl_state(0, 'a').acked.seq == 1);

    memset(post, 0, sizeof(mcp_operation_client_input_t));
    post->what = MCP_OPERATION_INPUT_TASK;
    memcpy(post->id, id_of('a'), MCP_STREAM_ID_LEN);
    memset(post->principal, 'p', MCP_DIGEST_LEN);
    post->seq = 1;
}


/* The client answers the two questions of a task: when both answers have
 * arrived, the task continues. Then the client cancels the task. */
TEST(client_answers_and_cancels_a_task_at_another_node__the_owner_gets_both)
{
    mcp_operation_client_input_t  post;

    begin_task("{\"a\":1,\"b\":2}", &post);
    memset(post.principal, 'x', MCP_DIGEST_LEN);
    post.bits = 2;
    post.all = 3;
    post.data = mcp_str("{\"1\":{}}");

    /* an answer from another principal: ignored */

    bring(1, &post);
    run(1);
    assert_non_null(strstr(about(0, "HGET", 'h', 'a', "v"), " 0"));

    /* an answer that names another event than the one with the questions: no
     * question counts as answered */

    memset(post.principal, 'p', MCP_DIGEST_LEN);
    post.seq = 7;
    bring(1, &post);
    UNTIL(strcmp(about(0, "HGET", 'h', 'a', "h"), "1") == 0);
    assert_non_null(strstr(about(0, "HGET", 'h', 'a', "v"), " 0"));
    assert_int_equal(repl_state(0, 'a').given, 0);

    post.seq = 1;
    bring(1, &post);
    UNTIL(repl_state(0, 'a').given == 2);
    assert_int_equal(info_of(0, 'a').state, MCP_STATE_INPUT_REQUIRED);
    post.bits = 1;
    post.data = mcp_str("{\"0\":{}}");
    bring(1, &post);
    UNTIL(info_of(0, 'a').state == MCP_STATE_PROCESSING);

    post.what = MCP_OPERATION_INPUT_CANCEL;
    bring(1, &post);
    UNTIL(info_of(0, 'a').cancelled == 1);
    all_expire(0);
}


/* Accepts input for stream c at node 1, and removes it from the queue of node 0
 * before node 0 has received it. */
static void
lose_input(const mcp_operation_client_input_t *post)
{
    char  text[64];

    cut_off(0);
    bring(1, post);
    run(1);
    snprintf(text, sizeof(text), "DEL {mcp}:1:m:%016llx",
             (unsigned long long) node_info(0).id);
    assert_string_equal(command(1, text), "1");
}


TEST(answer_for_a_task_is_lost_in_the_node_queue__its_question_is_open_again)
{
    mcp_operation_client_input_t  post;

    begin_task("{\"a\":1}", &post);
    post.bits = 1;
    post.all = 1;
    post.data = mcp_str("{\"0\":{}}");
    lose_input(&post);
    assert_int_equal(about(1, "HGET", 'h', 'a', "x")[0], '0');

    UNTIL(strcmp(about(1, "HGET", 'h', 'a', "h"), "1") == 0);
    assert_int_equal(about(1, "HGET", 'h', 'a', "x")[0], '1');
    assert_non_null(strstr(about(1, "HGET", 'h', 'a', "v"), " 0"));
    assert_int_equal(info_of(0, 'a').posted, 0);
    assert_int_equal(node_info(0).counts[MCP_NODE_DROPPED], 1);

    bring(1, &post);
    UNTIL(info_of(0, 'a').state == MCP_STATE_PROCESSING);
    assert_int_equal(node_info(0).counts[MCP_NODE_DROPPED], 1);
}


/* The stream of the call does not change, so only its keys are renewed. */
TEST(answer_for_an_idle_call_is_lost_in_the_node_queue__the_loss_is_detected)
{
    mcp_operation_client_input_t  post;

    begin_replicated(2, 1);
    memset(&post, 0, sizeof(post));
    memcpy(post.id, id_of('a'), MCP_STREAM_ID_LEN);
    memset(post.session, 's', MCP_DIGEST_LEN);
    post.data = mcp_str("\"one\"");
    lose_input(&post);
    UNTIL(strcmp(about(1, "HGET", 'h', 'a', "h"), "1") == 0);
    assert_int_equal(node_info(0).counts[MCP_NODE_DROPPED], 1);

    answer(1, 'a', 's', "\"two\"");
    UNTIL(strcmp(taken(0, 'a'), "\"two\"") == 0);
}


/* The owner does not take the answers: Redis stores at most 1 MiB for a
 * call. */
TEST(owner_does_not_fetch_answers__redis_stores_at_most_1_mib_of_them_per_call)
{
    unsigned  i;
    char      text[200001];

    begin_replicated(2, 0);
    memset(text, 'x', sizeof(text) - 1);
    text[0] = '"';
    text[sizeof(text) - 2] = '"';
    text[sizeof(text) - 1] = '\0';

    for (i = 0; i < 8; i++) {
        answer(1, 'a', 's', text);
        run(1);
    }

    assert_string_equal(about(1, "HGET", 'h', 'a', "i"), "1000000");
}


RUN_TESTS_WITH_REDIS(start)
