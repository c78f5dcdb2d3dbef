/* SPDX-License-Identifier: Apache-2.0 */

/* Lookups of streams at a node that does not have them. */

#include "cluster_streams.h"


static mcp_operation_stream_t  stream;
static uint64_t            created;    /* time at which the stream was created
                                          that op() looks up, ms */
static mcp_stream_info_t  found;
static int                answered;
static char               listed[16], event[64];
static mcp_store_lookup_t  lookup_of;


/* The entry function of a lookup: stores the result of mcp_operation_stream()
 * in "answered" and the state of the stream in "found". Always returns
 * MCP_NEXT_WAIT. */
static mcp_next_e
lookup_entry(mcp_exchange_t *x)
{
    const mcp_found_t  *it;

    answered = mcp_operation_stream(x, MCP_OPERATION_LOOKUP, &stream);

    if (answered != MCP_AGAIN) {
        it = mcp_operation_found(x, stream.id);
        assert_null(mcp_operation_found(x, id_of('z')));
        memset(&found, 0, sizeof(found));

        if (it) {
            found = it->lookup.info;
            lookup_of = it->lookup;
            snprintf(event, sizeof(event), "%.*s", (int) it->event.len,
                     it->event.len ? it->event.data : "");
        }
    }

    return MCP_NEXT_WAIT;
}


/* Runs entry function "root" at node i for stream c and a client that has
 * event "after". Returns the result that "root" has stored in "answered". The
 * session '*' means a lookup of a task, which may belong to any session. */
static int
op(int i, mcp_next_e (*root)(mcp_exchange_t *x), char c, uint64_t after,
    char session, char principal)
{
    mcp_exchange_t  x;

    memset(&x, 0, sizeof(x));
    x.worker = nodes[i].worker;
    mcp_arena_init(&x.arena, &nodes[i].te.env.mem);

    memset(&stream, 0, sizeof(stream));
    memcpy(stream.id, id_of(c), MCP_STREAM_ID_LEN);
    memset(stream.session, session, MCP_DIGEST_LEN);
    memset(stream.principal, principal, MCP_DIGEST_LEN);
    stream.any_session = session == '*';
    stream.task = session == '*';
    stream.after = after;
    stream.created = created;

    assert_int_equal(mcp_operation_now(&x, root), MCP_NEXT_WAIT);
    assert_int_equal(mcp_operation_waits(&x), answered == MCP_AGAIN);

    if (answered == MCP_AGAIN) {
        run(i);
    }

    mcp_operation_leave(&x);
    mcp_arena_destroy(&x.arena);

    return answered;
}


static int
lookup(int i, char c, uint64_t after, char session, char principal)
{
    return op(i, lookup_entry, c, after, session, principal);
}


TEST(lookup_of_a_call_at_another_node_finds_its_state)
{
    uint64_t           since;
    mcp_stream_info_t  info;

    begin_replicated(2, 4);
    info = info_of(0, 'a');
    since = real_now() - 1000;
    mcp_store_unwatch(&nodes[0].store, &info.ref, HANDLE, 2, since);

    assert_ok(lookup(1, 'a', 3, 's', 'p'));
    assert_int_equal(found.last_seq, 4);
    assert_int_equal(found.first_seq, 1);
    assert_int_equal(found.confirmed_seq, 3);
    assert_int_equal(found.state, MCP_STATE_PROCESSING);
    assert_int_equal(found.kind, MCP_STREAM_CALL);
    assert_int_equal(found.max_wait, 60000);
    assert_int_equal(found.session[0], 's');
    assert_int_equal(found.mirror, 1);
    assert_int_equal(found.posted, 0);
    assert_string_equal(found.name, "count");
    assert_false(is_at(1, 'a'));

    /* the owner is informed that the client has confirmed the event, and the
     * stream's time without a consumer starts anew */

    UNTIL(info_of(0, 'a').confirmed_seq == 3);
    UNTIL(info_of(0, 'a').unattended > since);

    /* a lookup by a client that has only an earlier event: the confirmed event
     * does not change */

    assert_ok(lookup(1, 'a', 0, '*', 'p'));
    assert_int_equal(found.confirmed_seq, 3);

    /* "posted" is 1 while the stream in Redis has unprocessed answers, and 0
     * when the owner has processed them; a failed stream is found with its
     * last event */

    (void) about(0, "HSET", 'h', 'a', "s 7");
    assert_ok(lookup(1, 'a', 0, 's', 'p'));
    assert_int_equal(found.posted, 1);
    (void) about(0, "HSET", 'h', 'a', "h 7");
    assert_ok(lookup(1, 'a', 0, 's', 'p'));
    assert_int_equal(found.posted, 0);
    add(0, 'a', "{\"error\":{}}", MCP_STORE_ERROR, MCP_STATE_FAILED);
    UNTIL(repl_state(0, 'a').acked.state == MCP_STATE_FAILED);
    assert_ok(lookup(1, 'a', 0, 's', 'p'));
    assert_int_equal(found.state, MCP_STATE_FAILED);
    assert_int_equal(found.last_seq, 5);
    all_expire(0);
}


/* A lookup of a task returns its last event, which contains its questions. */
TEST(lookup_of_a_task_returns_its_last_event_with_the_questions)
{
    uint64_t           expires;
    mcp_stream_info_t  info;

    begin_all(2);
    make(0, 'a');
    info = info_of(0, 'a');
    expires = real_now() + 600000;
    assert_ok(mcp_store_keep(&nodes[0].store, &info.ref, expires, real_now()));
    add(0, 'a', "\"begins\"", -1, MCP_STATE_PROCESSING);
    add(0, 'a', "{\"a\":1,\"b\":2}", -1, MCP_STATE_INPUT_REQUIRED);
    UNTIL(repl_state(0, 'a').acked.seq == 2);

    assert_ok(lookup(1, 'a', 0, '*', 'p'));
    assert_int_equal(found.expires, expires);
    assert_int_equal(found.state, MCP_STATE_INPUT_REQUIRED);
    assert_true(found.kept > 0 && found.changed > 0);
    assert_int_equal(lookup_of.seq, 2);
    assert_int_equal(lookup_of.state, MCP_STATE_INPUT_REQUIRED);
    assert_int_equal(lookup_of.given, 0);
    assert_string_equal(event, "{\"a\":1,\"b\":2}");

    /* Redis keeps the stream until the task expires */

    assert_true(strtol(about(0, "PTTL", 'h', 'a', ""), NULL, 10) > 590000);

    /* one of the two questions was answered: the stream still waits for
     * input */

    assert_ok(mcp_store_answer(&nodes[0].store, &info.ref, 2, 1, 3,
                               mcp_str("{\"0\":{}}"), real_now()));
    UNTIL(lookup(1, 'a', 0, '*', 'p') == MCP_OK && lookup_of.given == 1);
    assert_int_equal(found.state, MCP_STATE_INPUT_REQUIRED);
    all_expire(0);
}


TEST(lookup_by_another_session_finds_nothing_and_a_lookup_without_a_link_fails)
{
    begin_replicated(2, 1);

    /* another session, another principal, another stream: not found */

    assert_ok(lookup(1, 'a', 0, 'x', 'p'));
    assert_int_equal(found.last_seq, 0);
    assert_ok(lookup(1, 'a', 0, '*', 'x'));
    assert_int_equal(found.last_seq, 0);
    assert_ok(lookup(1, 'b', 0, 's', 'p'));
    assert_int_equal(found.last_seq, 0);

    /* the client has an event that Redis lacks: the request waits for the
     * owner */

    assert_int_equal(lookup(1, 'a', 2, 's', 'p'), MCP_AGAIN);

    /* the stream's constant values in Redis are invalid: an error */

    (void) about(0, "SET", 'c', 'a', "x EX 60");
    assert_int_equal(lookup(1, 'a', 0, 's', 'p'), MCP_ERR_UNREACHABLE);
    assert_non_null(strstr(node_info(1).error, "script lookup"));

    /* the link is lost: MCP_ERR_UNREACHABLE */

    cut_off(1);
    assert_int_equal(lookup(1, 'a', 0, 's', 'p'), MCP_ERR_UNREACHABLE);
}


/* The entry function that looks up all streams of a session: stores the result
 * of mcp_operation_stream() in "answered" and the letters of the found streams
 * in "listed". Always returns MCP_NEXT_WAIT. */
static mcp_next_e
list_root(mcp_exchange_t *x)
{
    size_t  i;

    answered = mcp_operation_stream(x, MCP_OPERATION_LIST, &stream);
    memset(listed, 0, sizeof(listed));

    for (i = 0; answered != MCP_AGAIN && mcp_operation_found_at(x, i); i++) {
        listed[i] = (char) mcp_operation_found_at(x, i)->lookup.info.ref.id[0];
    }

    return MCP_NEXT_WAIT;
}


static int
list(int i, char session, char principal)
{
    return op(i, list_root, 'z', 0, session, principal);
}


TEST(list_for_a_session_has_exactly_its_streams_at_other_nodes)
{
    mcp_stream_info_t  info;

    begin_all(2);
    make(0, 'a');
    make(0, 'b');
    make(1, 'c');
    UNTIL(repl_state(0, 'a').created && repl_state(0, 'b').created
          && repl_state(1, 'c').created);

    /* the result contains only the streams of other nodes */

    assert_ok(list(1, 's', 'p'));
    assert_int_equal(strlen(listed), 2);
    assert_non_null(strchr(listed, 'a'));
    assert_non_null(strchr(listed, 'b'));
    assert_ok(list(0, 's', 'p'));
    assert_string_equal(listed, "c");
    assert_ok(list(1, 'x', 'p'));
    assert_string_equal(listed, "");
    assert_ok(list(1, 's', 'x'));
    assert_string_equal(listed, "");

    /* "a" is freed: the result does not contain it any more; "b" is over: the
     * result still contains it */

    info = info_of(0, 'a');
    mcp_store_free(&nodes[0].store, &info.ref);
    add(0, 'b', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    UNTIL(repl_state(0, 'b').acked.state == MCP_STATE_COMPLETED);
    UNTIL(strcmp(about(1, "EXISTS", 'h', 'a', ""), "0") == 0);
    assert_ok(list(1, 's', 'p'));
    assert_string_equal(listed, "b");
    all_expire(0);

    /* the constant values of "b" in Redis are invalid: an error */

    (void) about(0, "SET", 'c', 'b', "x EX 60");
    assert_int_equal(list(1, 's', 'p'), MCP_ERR_UNREACHABLE);
    assert_non_null(strstr(node_info(1).error, "script list"));
}


/* Redis is emptied: MCP_ERR_UNREACHABLE, because the streams may be lost. */
TEST(redis_is_emptied__lookups_and_lists_fail_as_unreachable)
{
    begin_all(2);
    assert_ok(lookup(1, 'a', 0, 's', 'p'));
    assert_ok(list(1, 's', 'p'));
    (void) command(1, "FLUSHALL");
    assert_int_equal(lookup(1, 'a', 0, 's', 'p'), MCP_ERR_UNREACHABLE);
    assert_int_equal(list(1, 's', 'p'), MCP_ERR_UNREACHABLE);
    assert_string_equal(node_info(1).error, "");
}


/* Sets the last heartbeat of a node to "ago" ms before now. */
static void
set_heartbeat_of(uint64_t node, uint64_t node_timeout, uint64_t ago)
{
    char  text[128];

    snprintf(text, sizeof(text), "HSET {mcp}:1:n:%016llx dead %llu at %llu",
             (unsigned long long) node, (unsigned long long) node_timeout,
             (unsigned long long) (real_now() - ago));
    (void) command(1, text);
}


/* Removes the result of is_any_cut_off() that node 1 has stored. */
static void
forget_result(void)
{
    char  text[64];

    snprintf(text, sizeof(text), "HDEL {mcp}:1:n:%016llx cut",
             (unsigned long long) nodes[1].cluster->node);
    (void) command(1, text);
}


/* Keys were lost while the clock of Redis was an hour ahead, and then the clock
 * was set back: lookups fail for one node timeout only. */
TEST(time_of_a_loss_is_in_the_future__lookups_fail_for_one_node_timeout)
{
    char  text[100];

    begin_all(2);
    snprintf(text, sizeof(text), "SET {mcp}:1:since %llu EX 600",
             (unsigned long long) real_now() + 3600000);
    (void) command(1, text);
    assert_int_equal(lookup(1, 'b', 0, 's', 'p'), MCP_ERR_UNREACHABLE);
    UNTIL(lookup(1, 'b', 0, 's', 'p') == MCP_OK);
}


/* Sets the last heartbeat of a node to "ago" ms before now, for a node timeout
 * of 100 s. The next lookup reads it. */
static void
set_heartbeat(uint64_t node, uint64_t ago)
{
    set_heartbeat_of(node, 100000, ago);
    forget_result();
}


/* Returns how often Redis has run HMGET since CONFIG RESETSTAT. */
static unsigned
hmget_calls(void)
{
    const char  *p;

    p = strstr(command(1, "INFO commandstats"), "cmdstat_hmget:calls=");

    return p ? (unsigned) atoi(strchr(p, '=') + 1) : 0;
}


/* A node that was not declared dead has sent no heartbeat for three quarters of
 * its node timeout: an unknown stream may be at this node, so the result is
 * MCP_ERR_UNREACHABLE. */
TEST(another_node_misses_heartbeats__a_lookup_of_an_unknown_stream_fails)
{
    char      text[64];
    uint64_t  node;

    begin_all(2);
    make(1, 'a');
    UNTIL(repl_state(1, 'a').created);
    node = nodes[0].cluster->node;
    set_heartbeat(node, 60000);
    assert_int_equal(lookup(1, 'b', 0, 's', 'p'), MCP_OK);
    assert_int_equal(found.last_seq, 0);

    set_heartbeat(node, 80000);
    assert_int_equal(lookup(1, 'b', 0, 's', 'p'), MCP_ERR_UNREACHABLE);

    /* a stream that Redis has is known: another principal does not find it */

    assert_ok(lookup(1, 'a', 0, 's', 'x'));
    assert_int_equal(found.last_seq, 0);

    /* four node timeouts have passed, or the node was declared dead */

    set_heartbeat(node, 500000);
    assert_int_equal(lookup(1, 'b', 0, 's', 'p'), MCP_OK);
    set_heartbeat(node, 80000);
    snprintf(text, sizeof(text), "SET {mcp}:1:x:%016llx 1 EX 60",
             (unsigned long long) node);
    (void) command(1, text);
    assert_ok(lookup(1, 'b', 0, 's', 'p'));

    /* the heartbeats of this node do not matter */

    set_heartbeat(nodes[1].cluster->node, 80000);
    assert_int_equal(lookup(1, 'b', 0, 's', 'p'), MCP_OK);
}


/* The result of the check of all members is stored: further lookups of unknown
 * streams read only the member that is cut off, until it sends a heartbeat. */
TEST(one_node_is_silent__repeated_lookups_read_only_its_heartbeat_again)
{
    int       i;
    uint64_t  node;

    begin_all(4);
    node = nodes[0].cluster->node;
    set_heartbeat(node, 80000);
    assert_int_equal(lookup(1, 'b', 0, 's', 'p'), MCP_ERR_UNREACHABLE);

    /* no heartbeats meanwhile, which read the members as well */

    mcp_timer_del(&nodes[1].worker->timers, &nodes[1].cluster->heartbeat);
    (void) command(1, "CONFIG RESETSTAT");

    for (i = 0; i < 10; i++) {
        assert_int_equal(lookup(1, 'b', 0, 's', 'p'), MCP_ERR_UNREACHABLE);
    }

    /* one HMGET for the stream, and one for the member */

    assert_int_equal(hmget_calls(), 20);

    set_heartbeat_of(node, 100000, 0);
    assert_int_equal(lookup(1, 'b', 0, 's', 'p'), MCP_OK);
}


/* No member is cut off: that is stored, but not for longer than until the first
 * member can be. */
TEST(no_node_was_silent__lookups_check_again_as_soon_as_a_node_can_be_silent)
{
    uint64_t  node;

    begin_all(2);
    node = nodes[0].cluster->node;
    set_heartbeat_of(node, 20000, 14000);
    forget_result();

    while (lookup(1, 'b', 0, 's', 'p') == MCP_OK) {
        wait_for(50);
    }

    assert_int_equal(answered, MCP_ERR_UNREACHABLE);
}


/* A stream was created less than a node timeout ago, perhaps at a node that has
 * been cut off for a moment only: MCP_ERR_UNREACHABLE. */
TEST(redis_lacks_a_stream_younger_than_the_node_timeout__its_lookup_fails)
{
    begin_all(2);
    nodes[1].conf.node_timeout = 100000;
    set_heartbeat(nodes[0].cluster->node, 0);
    created = nodes[1].te.now - 90000;
    assert_int_equal(lookup(1, 'b', 0, '*', 'p'), MCP_ERR_UNREACHABLE);
    created = nodes[1].te.now - 100000;
    assert_ok(lookup(1, 'b', 0, '*', 'p'));
    created = 0;
    assert_ok(lookup(1, 'b', 0, '*', 'p'));
}


/* Redis has lost a key of a stream: the owner writes it again, although no
 * client resumes the stream. */
TEST(redis_has_lost_a_key_of_a_stream__lookup_and_list_find_the_stream_again)
{
    begin_replicated(2, 3);
    (void) about(1, "DEL", 'c', 'a', "");
    assert_int_equal(lookup(1, 'a', 0, 's', 'p'), MCP_ERR_UNREACHABLE);
    UNTIL(strcmp(about(1, "EXISTS", 'c', 'a', ""), "1") == 0);
    assert_ok(lookup(1, 'a', 0, 's', 'p'));
    assert_int_equal(found.last_seq, 3);

    (void) about(1, "DEL", 'c', 'a', "");
    assert_int_equal(list(1, 's', 'p'), MCP_ERR_UNREACHABLE);
    UNTIL(strcmp(about(1, "EXISTS", 'c', 'a', ""), "1") == 0);
    UNTIL(list(1, 's', 'p') == MCP_OK);
    assert_string_equal(listed, "a");

    (void) about(1, "XDEL", 'e', 'a', "3-0");
    assert_int_equal(lookup(1, 'a', 0, '*', 'p'), MCP_ERR_UNREACHABLE);
    UNTIL(strcmp(about(1, "XLEN", 'e', 'a', ""), "3") == 0);
}


RUN_TESTS_WITH_REDIS(start)
