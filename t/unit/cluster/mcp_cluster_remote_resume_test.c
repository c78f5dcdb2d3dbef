/* SPDX-License-Identifier: Apache-2.0 */

/* Resuming a stream of another node: its mirror, or the reason why there is
 * none. */

#include "cluster_streams.h"


static mcp_operation_stream_t  wanted;
static int               answered;


/* The entry function of a request that resumes a stream: stores the result of
 * mcp_operation_stream() in "answered". Returns MCP_NEXT_WAIT. */
static mcp_next_e
root(mcp_exchange_t *x)
{
    answered = mcp_operation_stream(x, MCP_OPERATION_STREAM, &wanted);

    return MCP_NEXT_WAIT;
}


/* Resumes a stream as come() does, waits for the reply, and returns the
 * result. */
static int
comes(int i, char c, uint64_t after, char session)
{
    mcp_exchange_t  x;

    memset(&x, 0, sizeof(x));
    x.worker = nodes[i].worker;
    mcp_arena_init(&x.arena, &nodes[i].te.env.mem);
    describe(&wanted, c, after, session);
    assert_int_equal(mcp_operation_now(&x, root), MCP_NEXT_WAIT);
    run(i);
    mcp_operation_leave(&x);
    mcp_arena_destroy(&x.arena);

    return answered;
}


/* Returns the text "o NODE" with the id of node i. Written into a stream's
 * head in Redis, it makes node i the owner. */
static const char *
own(int i)
{
    static char  text[2 + MCP_CLUSTER_ID_LEN + 1] = "o ";

    mcp_cluster_id(nodes[i].cluster, text + 2);

    return text;
}


TEST(client_resumes_at_another_node__it_gets_its_events_from_a_mirror)
{
    uint64_t           seq;
    mcp_stream_info_t  info;

    begin_replicated(3, 4);

    come(1, 'a', 2, 's');
    info = info_of(1, 'a');
    assert_int_equal(info.last_seq, 4);
    assert_int_equal(info.first_seq, 3);
    assert_string_equal(info.name, "count");
    assert_string_equal(info.method, "tools/call");
    assert_int_equal(info.revision, MCP_REVISION_2025_11_25);
    assert_int_equal(info.session[0], 's');
    assert_int_equal(info.principal[0], 'p');
    assert_int_equal(info.max_wait, 60000);
    assert_int_equal(read_from(1, 'a', 2, &seq), MCP_AGAIN);
    assert_int_equal(seq, 4);

    /* the client resumes after an event before the mirror's first one: the
     * mirror then has all events */

    come(1, 'a', 0, 's');
    assert_int_equal(read_from(1, 'a', 0, &seq), MCP_AGAIN);
    assert_int_equal(seq, 4);

    /* the client resumes at a third node: its connection at the second node is
     * detached */

    come(2, 'a', 3, 's');
    assert_int_equal(read_from(2, 'a', 3, &seq), MCP_AGAIN);
    UNTIL(info_of(1, 'a').consumer_slot == MCP_STORE_NO_SLOT);
    assert_string_equal(about(0, "HGET", 'h', 'a', "w"), "4");

    /* the client resumes at the owner's node: its connection at the third node
     * is detached */

    come(0, 'a', 4, 's');
    assert_int_equal(read_from(0, 'a', 4, &seq), MCP_AGAIN);
    UNTIL(info_of(2, 'a').consumer_slot == MCP_STORE_NO_SLOT);
    assert_int_equal(info_of(0, 'a').consumer_slot, 0);
}


TEST(resume_by_another_session_or_after_an_unknown_event_creates_no_mirror)
{
    begin_replicated(2, 1);

    /* another session resumes the stream; the client resumes after an event
     * that does not exist; it resumes a stream that does not exist: no
     * mirror */

    come(1, 'a', 0, 'x');
    assert_false(is_at(1, 'a'));
    come(1, 'a', 2, 's');
    assert_false(is_at(1, 'a'));
    come(1, 'b', 0, 's');
    assert_false(is_at(1, 'b'));
    assert_string_equal(about(0, "HGET", 'h', 'a', "w"), "1");

    /* the stream's constant values in Redis are invalid: an error, and no
     * mirror */

    (void) about(0, "SET", 'c', 'a', "x EX 60");
    come(1, 'a', 0, 's');
    assert_false(is_at(1, 'a'));
    assert_non_null(strstr(node_info(1).error, "script resume"));
}


/* Redis lacks the client's last event: the owner may have it, so the request
 * waits, unless the stream is over. */
TEST(redis_lacks_the_clients_last_event__a_resume_waits_unless_stream_is_over)
{
    begin_replicated(2, 1);

    assert_int_equal(comes(1, 'a', 2, 's'), MCP_AGAIN);
    assert_ok(comes(0, 'a', 2, 's'));

    add(0, 'a', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    UNTIL(repl_state(0, 'a').acked.state == MCP_STATE_COMPLETED);

    assert_ok(comes(1, 'a', 3, 's'));
    assert_false(is_at(1, 'a'));
}


/* The owner's node has freed a stream that was over, but Redis still has it:
 * the node gets a mirror. */
TEST(owner_has_freed_an_ended_stream__the_client_resumes_it_from_redis)
{
    uint64_t           seq;
    mcp_stream_info_t  info;

    begin_all(2);
    make(0, 'a');
    add_events(0, 'a', 2);
    add(0, 'a', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    UNTIL(repl_state(0, 'a').acked.state == MCP_STATE_COMPLETED);

    info = info_of(0, 'a');
    mcp_store_free(&nodes[0].store, &info.ref);
    assert_false(is_at(0, 'a'));

    assert_ok(comes(0, 'a', 1, 's'));
    assert_int_equal(info_of(0, 'a').mirror, 1);
    assert_int_equal(read_from(0, 'a', 1, &seq), MCP_DONE);
    assert_int_equal(seq, 3);
}


/* Redis has assigned a dead node's stream to this node, which does not have it
 * yet: MCP_ERR_UNREACHABLE. */
TEST(redis_has_assigned_a_stream_to_a_node_that_lacks_it__a_resume_fails)
{
    begin_replicated(2, 2);
    (void) about(1, "HSET", 'h', 'a', own(1));
    assert_int_equal(comes(1, 'a', 1, 's'), MCP_ERR_UNREACHABLE);
}


/* The link is lost before the reply: there is no mirror until the client
 * resumes again. */
TEST(link_is_lost_during_a_resume__the_next_resume_gets_a_mirror)
{
    uint64_t  seq;

    begin_replicated(2, 1);
    resume_start(1, 'a', 0, 's');
    cut_off(1);
    assert_false(is_at(1, 'a'));
    UNTIL(nodes[1].cluster->state == MCP_CLUSTER_MEMBER);
    come(1, 'a', 0, 's');
    assert_int_equal(read_from(1, 'a', 0, &seq), MCP_AGAIN);

    /* the link is lost while the mirror fetches events or reports sent ones:
     * the mirror gets all events on the next link, or Redis records that the
     * stream has no remote reader */

    add_events(0, 'a', 900);
    UNTIL(info_of(1, 'a').last_seq > 1);
    cut_off(1);
    UNTIL(info_of(1, 'a').last_seq == 901
          || strcmp(about(0, "HGET", 'h', 'a', "n"), "") == 0);
}


/* A stream's URL of one generation is valid until a URL of a later generation
 * was used at any node. */
TEST(stream_url_of_a_later_generation_was_used__an_earlier_url_is_rejected)
{
    mcp_operation_stream_t  stream;

    begin_replicated(2, 2);

    describe(&stream, 'a', 1, 's');
    stream.has_generation = 1;
    stream.generation = 4;
    stream.generation_max = 5;
    resume_start_with(1, &stream);
    run(1);
    assert_int_equal(info_of(1, 'a').generation, 4);
    assert_string_equal(about(0, "HGET", 'h', 'a', "d"), "4");

    stream.generation = 2;
    stream.generation_max = 3;
    resume_start_with(0, &stream);
    run(0);
    assert_string_equal(about(0, "HGET", 'h', 'a', "w"), "2");
    assert_int_equal(info_of(0, 'a').generation, 0);

    /* the owner's node gets the generation when a client resumes the stream
     * there */

    come(0, 'a', 1, 's');
    assert_int_equal(info_of(0, 'a').generation, 4);
}


/* A client resumes at one node with "drops", which removes the events up to
 * its last event: all nodes remove these events. */
TEST(resume_confirms_the_received_events__all_nodes_remove_these_events)
{
    mcp_operation_stream_t  stream;

    begin_replicated(3, 4);
    come(1, 'a', 0, 's');
    assert_int_equal(info_of(1, 'a').first_seq, 1);

    describe(&stream, 'a', 3, 's');
    stream.drops = 1;
    resume_start_with(2, &stream);
    run(2);
    assert_int_equal(info_of(2, 'a').first_seq, 4);
    come(1, 'a', 0, 's');
    assert_int_equal(info_of(1, 'a').first_seq, 4);
    UNTIL(info_of(0, 'a').first_seq == 4);

    /* the owner's next command does not change the first event that Redis
     * keeps */

    add_acked(0, 'a', 1);
    assert_string_equal(about(0, "HGET", 'h', 'a', "f"), "4");
}


/* The node queue reports a later reader at another node before Redis replies
 * to a request at this node: that request is denied. */
TEST(later_reader_at_another_node_is_reported__a_pending_resume_is_denied)
{
    mcp_stream_info_t  info;

    begin_replicated(1, 0);
    assert_ok(comes(0, 'a', 0, 's'));

    info = info_of(0, 'a');
    assert_ok(mcp_store_remote_consumer(&nodes[0].store, &info.ref, 50, 0, 0));
    assert_int_equal(comes(0, 'a', 0, 's'), MCP_ERR_DENIED);
    assert_int_equal(info_of(0, 'a').consumer_slot, MCP_STORE_REMOTE_CONSUMER);
}


/* Returns the value of field "y" of the stream's head without the time in it:
 * the number of the event for which Redis has queried the owner, and the
 * owner's answer, if there is one. */
static const char *
query(void)
{
    int          end;
    const char  *text;

    static char  out[64];

    text = about(1, "HGET", 'h', 'a', "y");
    out[0] = '\0';

    if (sscanf(text, "%63[0-9] %*u%n", out, &end) == 1) {
        snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s",
                 text + end);
    }

    return out;
}


static void
set_query(const char *text)
{
    char       key[64], *end;
    mcp_str_t  words[4] = { mcp_str("HSET"), { key, 0 }, mcp_str("y"),
                            test_str(text) };

    end = mcp_stream_id_print(key + sprintf(key, "{mcp}:1:h:"), id_of('a'));
    words[1].len = (size_t) (end - key);
    assert_ok(mcp_link_send(&nodes[1].cluster->link, words, 4, say, NULL));
    run(1);
}


/* The client's last event never existed: the owner is queried, because Redis
 * may have lost the event. */
TEST(client_resumes_after_an_event_that_never_existed__the_owner_is_queried)
{
    begin_replicated(2, 2);

    assert_int_equal(comes(1, 'a', 5, 's'), MCP_AGAIN);
    UNTIL(strcmp(query(), "5 no") == 0);
    assert_int_equal(comes(1, 'a', 4, 's'), MCP_AGAIN);
    UNTIL(strcmp(query(), "4 no") == 0);

    /* the client names an even later event: it does not exist either, so the
     * owner is not queried again */

    assert_ok(comes(1, 'a', 6, 's'));
    assert_false(is_at(1, 'a'));

    /* the owner is queried for event 3, which it then appends; a client
     * that names event 4 gets no result from that query: the owner is
     * queried again */

    assert_int_equal(comes(1, 'a', 3, 's'), MCP_AGAIN);
    add_acked(0, 'a', 1);
    assert_int_equal(comes(1, 'a', 4, 's'), MCP_AGAIN);
    assert_string_equal(query(), "4");

    /* the owner's answer is older than two seconds: the owner is queried
     * again */

    set_query("4 1 no");
    assert_int_equal(comes(1, 'a', 4, 's'), MCP_AGAIN);
    assert_string_equal(query(), "4");
}


/* The owner appends the queried event while its command that renews the stream
 * is on the way to Redis: Redis does not take that command as an answer to the
 * query. */
TEST(owners_command_sent_before_a_query_for_an_event_does_not_answer_the_query)
{
    char               name[MCP_STREAM_TEXT_LEN];
    process_t         *p = &nodes[0];
    mcp_stream_info_t  info;

    begin_replicated(2, 2);
    (void) mcp_stream_id_print(name, id_of('a'));

    /* if "whole" is 0, the owner renews this stream by a separate command, not
     * together with other streams */

    assert_true(mcp_replication_has(p->cluster, id_of('a'), &info));
    mcp_replication_get(p->cluster, &info.ref)->whole = 0;

    for (;;) {
        p->te.now = real_now();
        mcp_worker_expire(p->worker);
        process_pump(p);

        if (memmem(p->sent, p->len, name, sizeof(name))) {
            break;
        }

        carry(0);
        usleep(1000);
    }

    add_events(0, 'a', 1);
    assert_int_equal(comes(1, 'a', 3, 's'), MCP_AGAIN);
    assert_string_equal(query(), "3");

    assert_int_equal(write(fds[0], p->sent + p->taken, p->len - p->taken),
                     p->len - p->taken);
    p->taken = p->len;

    while (strcmp(query(), "3") == 0) {
        usleep(1000);
    }

    assert_int_equal(comes(1, 'a', 3, 's'), MCP_AGAIN);

    UNTIL(repl_state(0, 'a').acked.seq == 3);
    assert_ok(comes(1, 'a', 3, 's'));
    assert_true(is_at(1, 'a'));
}


/* Redis has lost one key of a stream: no stream can be resumed until its owner
 * has replicated it again, because other keys may be lost as well. */
TEST(redis_loses_a_key_of_a_stream__no_stream_can_be_resumed)
{
    unsigned  i;

    static const char  kinds[] = { 'c', 'e' };

    begin_replicated(2, 2);

    for (i = 0; i < 2; i++) {
        (void) about(0, "DEL", kinds[i], 'a', "");
        assert_int_equal(comes(1, 'a', 1, 's'), MCP_ERR_UNREACHABLE);
        assert_false(is_at(1, 'a'));
        assert_int_equal(comes(1, 'b', 1, 's'), MCP_ERR_UNREACHABLE);
        UNTIL(strcmp(about(0, "EXISTS", 'h', 'a', ""), "1") == 0);
        assert_string_equal(about(0, "EXISTS", kinds[i], 'a', ""), "1");
    }
}


/* Redis is emptied: until every node has had the time to replicate its streams
 * again, a request for an unknown stream gets MCP_ERR_UNREACHABLE, not the
 * result that the stream does not exist. */
TEST(redis_is_emptied__for_a_while_a_resume_of_an_unknown_stream_is_an_error)
{
    begin_all(2);
    assert_ok(comes(1, 'b', 1, 's'));
    make(0, 'a');
    add_acked(0, 'a', 2);

    (void) command(1, "FLUSHALL");
    assert_int_equal(comes(1, 'a', 1, 's'), MCP_ERR_UNREACHABLE);
    assert_int_equal(comes(1, 'b', 1, 's'), MCP_ERR_UNREACHABLE);
    assert_int_equal(comes(0, 'a', 1, 's'), MCP_ERR_UNREACHABLE);
    UNTIL(comes(1, 'a', 1, 's') != MCP_ERR_UNREACHABLE);
    assert_ok(answered);
    assert_true(is_at(1, 'a'));
    assert_int_equal(comes(1, 'b', 1, 's'), MCP_ERR_UNREACHABLE);

    /* every member has registered again and has had that time: the stream does
     * not exist */

    UNTIL(comes(1, 'b', 1, 's') != MCP_ERR_UNREACHABLE);
    assert_ok(answered);
    assert_false(is_at(1, 'b'));
}


/* A member connects to a Redis whose run id differs from the recorded one:
 * requests get the same result as after Redis was emptied, although all keys
 * exist. A node that was never a member detects no loss. */
TEST(redis_has_another_run_id__a_resume_of_an_unknown_stream_is_an_error)
{
    begin_all(1);
    begin(1, KEY1);
    assert_ok(comes(1, 'b', 1, 's'));
    assert_int_equal(strlen(command(0, "GET {mcp}:1:run")), 40);
    (void) command(0, "SET {mcp}:1:run 1234 EX 60");
    cut_off(1);
    rerun(1);
    assert_int_equal(comes(1, 'b', 1, 's'), MCP_ERR_UNREACHABLE);
    assert_int_equal(comes(0, 'b', 1, 's'), MCP_ERR_UNREACHABLE);
}


/* Another node has declared a node dead. A process of this node has not
 * detected that yet, and sends a resume with the dead id. */
TEST(node_was_declared_dead__its_resume_does_not_make_its_old_id_a_member)
{
    char      text[96];
    uint64_t  id;

    begin_replicated(2, 1);
    id = nodes[1].cluster->node;
    snprintf(text, sizeof(text), "SET {mcp}:1:x:%016llx dead EX 600",
             (unsigned long long) id);
    (void) command(0, text);
    snprintf(text, sizeof(text), "ZREM {mcp}:1:nodes %016llx",
             (unsigned long long) id);
    (void) command(0, text);
    come(1, 'a', 0, 's');
    snprintf(text, sizeof(text), "ZSCORE {mcp}:1:nodes %016llx",
             (unsigned long long) id);
    assert_string_equal(command(0, text), "");
}


/* The client resumes at the owner's node and leaves before the reply: the
 * stream has no consumer at any node. */
TEST(client_resumes_at_the_owner_and_leaves__the_stream_has_no_consumer)
{
    uint64_t  seq;

    begin_replicated(2, 3);
    come(1, 'a', 1, 's');
    assert_int_equal(read_from(1, 'a', 1, &seq), MCP_AGAIN);
    UNTIL(info_of(0, 'a').consumer_slot == MCP_STORE_REMOTE_CONSUMER);

    come(0, 'a', 3, 's');
    UNTIL(info_of(1, 'a').consumer_slot == MCP_STORE_NO_SLOT);
    UNTIL(info_of(0, 'a').consumer_slot == MCP_STORE_NO_SLOT);
}


RUN_TESTS_WITH_REDIS(start)
