/* SPDX-License-Identifier: Apache-2.0 */

/* Topics and notifications of a session's own stream, whose reader, owner,
 * publishers and subscribers may be at different nodes. */

#include "cluster_streams.h"

#include "rpc/mcp_subscription.h"
#include "worker/mcp_notification.h"


#define CHANGED  "{\"method\":\"notifications/tools/list_changed\"}"
#define UPDATED                                                               \
    "{\"method\":\"notifications/resources/updated\","                        \
    "\"params\":{\"uri\":\"x://y\"}}"


static int  answer;


static void
answers(void *data, int rc)
{
    answer = rc;
}


static mcp_operation_t *
new_operation(int i)
{
    mcp_operation_t  *op;

    op = mcp_mem_calloc(&nodes[i].te.env.mem, sizeof(mcp_operation_t));
    assert_non_null(op);
    op->worker = nodes[i].worker;
    op->handler = answers;
    op->rc = MCP_AGAIN;
    answer = MCP_AGAIN;

    return op;
}


/* Processes a broadcast that a node has received: a notification, or a change
 * of the stream's topics. */
static void
notified(mcp_worker_t *worker, const mcp_broadcast_t *broadcast)
{
    mcp_stream_info_t  info;

    if (broadcast->what == MCP_BROADCAST_NOTIFICATION) {
        mcp_notify_receive(worker, broadcast);
        return;
    }

    assert_int_equal(broadcast->what, MCP_BROADCAST_TOPIC);
    assert_int_equal(broadcast->session[0], 's');

    if (mcp_store_find(worker->store, id_of('a'), 0, &info) == MCP_OK) {
        assert_ok(broadcast->value
                  ? mcp_store_subscribe(worker->store, &info.ref,
                                        broadcast->key)
                  : mcp_store_unsubscribe(worker->store, &info.ref,
                                          broadcast->key));
    }
}


static void
begin_listening(int n)
{
    begin_all(n);

    while (n--) {
        nodes[n].worker->on_broadcast = notified;
    }
}


/* Creates the session's own stream, "a", at node i and subscribes it to
 * changes of lists. */
static void
listen_at(int i)
{
    unsigned char      topic[MCP_DIGEST_LEN];
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    fill_spec(&spec, 'a');
    spec.kind = MCP_STREAM_LISTEN;
    spec.request = mcp_null_str;
    spec.method = mcp_null_str;
    spec.name = mcp_null_str;
    spec.max_events = 100;
    assert_ok(mcp_store_create(&nodes[i].store, &spec, real_now(), &ref));
    nodes[i].worker->cluster_hooks->replicate(nodes[i].cluster, &ref, 0);
    assert_ok(mcp_topic_list(MCP_TOPIC_LISTS, NULL, topic));
    assert_ok(mcp_store_subscribe(&nodes[i].store, &ref, topic));
}


/* The client resumes its session's own stream at node i without Last-Event-ID.
 * Returns the result. */
static int
come_listening(int i)
{
    int                     rc;
    mcp_operation_t        *op;
    mcp_operation_stream_t  stream;

    memset(&stream, 0, sizeof(stream));
    memcpy(stream.id, id_of('a'), MCP_STREAM_ID_LEN);
    memset(stream.session, 's', MCP_DIGEST_LEN);
    memset(stream.principal, 'p', MCP_DIGEST_LEN);
    stream.listens = 1;

    op = new_operation(i);
    rc = start_stream(i, MCP_OPERATION_STREAM, &stream, op);

    if (rc != MCP_AGAIN) {
        nodes[i].te.env.mem.free(nodes[i].te.env.mem.ctx, op);
        return rc;
    }

    UNTIL(answer != MCP_AGAIN);

    return answer;
}


/* Subscribes the stream to the resource x://y at node i if "on" is 1, or
 * unsubscribes it if "on" is 0. Returns MCP_AGAIN if the result is pending. */
static int
subscribe_start(int i, unsigned on)
{
    int                    rc;
    mcp_operation_t       *op;
    mcp_broadcast_t        broadcast;
    mcp_operation_spec_t   spec;

    memset(&spec, 0, sizeof(spec));
    spec.kind = MCP_OPERATION_TOPIC;
    memcpy(spec.topic.id, id_of('a'), MCP_STREAM_ID_LEN);
    memset(spec.topic.session, 's', MCP_DIGEST_LEN);
    assert_ok(mcp_topic_session_uri(mcp_str("x://y"), spec.topic.topic));
    spec.topic.subscribe = on & 1;
    mcp_broadcast_make(&broadcast, MCP_BROADCAST_TOPIC, spec.topic.topic,
        spec.topic.session, on, 0);
    notified(nodes[i].worker, &broadcast);

    op = new_operation(i);
    rc = mcp_cluster_start(nodes[i].cluster, &spec, op);

    if (rc != MCP_AGAIN) {
        nodes[i].te.env.mem.free(nodes[i].te.env.mem.ctx, op);
    }

    return rc;
}


static int
subscribe(int i, unsigned on)
{
    int  rc;

    rc = subscribe_start(i, on);

    if (rc == MCP_AGAIN) {
        UNTIL(answer != MCP_AGAIN);
        rc = answer;
    }

    return rc;
}


static void
changed(int i)
{
    assert_int_equal(mcp_notify_broadcast(nodes[i].worker,
                         mcp_str("notifications/tools/list_changed"),
                         mcp_null_str, mcp_str(CHANGED)), 1);
}


static void
updated(int i)
{
    assert_int_equal(mcp_notify_broadcast(nodes[i].worker,
                         mcp_str("notifications/resources/updated"),
                         mcp_str("\"x://y\""), mcp_str(UPDATED)), 1);
}


static uint64_t
last(int i)
{
    mcp_stream_info_t  info;

    return find(i, 'a', &info) == MCP_OK ? info.last_seq : 0;
}


/* Publishes a notification at node n, and checks that the stream at node i
 * gets one event more. Nodes receive broadcasts in order, so the stream has
 * got all earlier notifications by then. */
static void
settled(int i, int n)
{
    uint64_t  seq = last(i);

    changed(n);
    UNTIL(last(i) > seq);
    assert_int_equal(last(i), seq + 1);
}


TEST(session_listens_at_any_node__it_gets_each_notification_once)
{
    uint64_t           seq;
    mcp_stream_info_t  info;

    begin_listening(3);
    assert_int_equal(come_listening(0), MCP_ERR_NOT_FOUND);
    assert_int_equal(subscribe(0, 1), MCP_ERR_NOT_FOUND);

    /* the client can resume the stream directly after its creation */

    listen_at(0);
    assert_ok(come_listening(0));
    assert_int_equal(read_from(0, 'a', 0, &seq), MCP_AGAIN);
    assert_string_equal(about(0, "SCARD", 't', 'a', ""), "1");
    all_expire(0);

    /* a notification published at any node: the stream gets it once */

    changed(1);
    UNTIL(last(0) == 1);
    changed(0);
    UNTIL(last(0) == 2);
    settled(0, 2);

    /* the client resumes at another node without Last-Event-ID: the stream
     * continues after the last event that was sent */

    assert_int_equal(read_from(0, 'a', 2, &seq), MCP_AGAIN);
    leave(0, 'a', 3);
    UNTIL(strcmp(about(0, "HGET", 'h', 'a', "t"), "3") == 0);
    assert_ok(come_listening(2));
    assert_int_equal(info_of(2, 'a').mirror, 1);
    assert_int_equal(info_of(2, 'a').kind, MCP_STREAM_LISTEN);
    assert_int_equal(info_of(2, 'a').sent_seq, 3);
    assert_int_equal(read_from(2, 'a', 3, &seq), MCP_AGAIN);
    changed(2);
    UNTIL(last(2) == 4);

    /* the client resumes at a third node after event 2 */

    come(1, 'a', 2, 's');
    assert_int_equal(read_from(1, 'a', 2, &seq), MCP_AGAIN);
    assert_int_equal(seq, 4);
    settled(1, 0);
    UNTIL(last(0) == 5);

    /* another session resumes the stream: no effect */

    come(2, 'a', 2, 'x');
    assert_int_equal(last(0), 5);

    /* the owner frees the stream: the mirror and the topics in Redis are
     * removed */

    info = info_of(0, 'a');
    mcp_store_free(&nodes[0].store, &info.ref);
    UNTIL(!is_at(1, 'a'));
    assert_string_equal(command(0, "KEYS *:t:*"), "");
}


/* A node that receives a notification has received all changes of topics that
 * were made before. */
TEST(session_changes_topics_at_any_node__next_notification_uses_the_new_topics)
{
    int       i;
    uint64_t  n;

    begin_listening(3);
    listen_at(0);
    assert_ok(come_listening(0));

    for (i = 0; i < 9; i++) {
        n = last(0);
        updated(i % 3);
        settled(0, (i + 1) % 3);
        assert_int_equal(last(0), n + 1);

        assert_ok(subscribe((i + 1) % 3, 1));

        updated(i % 3);
        UNTIL(last(0) == n + 2);
        assert_string_equal(about(1, "SCARD", 't', 'a', ""), "2");
        assert_ok(subscribe((i + 1) % 3, 0));
        assert_string_equal(about(1, "SCARD", 't', 'a', ""), "1");
        settled(0, i % 3);
    }
}


/* Returns the fields of a stream that Redis has assigned to a node, which has
 * not taken it over yet. */
static const char *
owned_by(int i)
{
    static char  text[MCP_CLUSTER_ID_LEN + sizeof("o  j 1")] = "o ";

    mcp_cluster_id(nodes[i].cluster, text + 2);
    strcat(text, " j 1");

    return text;
}


/* If hide is 1, renames the keys of the stream that have these kinds, so that no
 * node finds them. If hide is 0, gives them their names again. */
static void
keep(const char *kinds, int hide)
{
    char  text[160], name[MCP_STREAM_TEXT_LEN + 1];

    *mcp_stream_id_print(name, id_of('a')) = '\0';

    for ( ; *kinds; kinds++) {
        snprintf(text, sizeof(text),
                 hide ? "RENAME {mcp}:1:%1$c:%2$s {mcp}:1:hidden:%1$c"
                      : "RENAME {mcp}:1:hidden:%1$c {mcp}:1:%1$c:%2$s",
                 *kinds, name);
        (void) command(0, text);
    }
}


/* Redis has assigned the stream of a dead node to this node, which does not have
 * it yet. */
TEST(session_listens_while_its_stream_is_taken_over__the_resume_fails)
{
    begin_listening(2);
    listen_at(0);
    changed(0);
    UNTIL(strcmp(about(0, "HGET", 'h', 'a', "l"), "1") == 0);
    (void) about(0, "HSET", 'h', 'a', owned_by(1));
    assert_int_equal(come_listening(1), MCP_ERR_UNREACHABLE);
}


/* The node has freed the stream, but Redis has not executed the command that
 * removes it. */
TEST(redis_has_an_old_stream_of_the_session__a_new_one_does_not_continue_it)
{
    mcp_stream_info_t  info;

    begin_listening(2);
    listen_at(0);
    changed(0);
    changed(0);
    UNTIL(strcmp(about(0, "HGET", 'h', 'a', "l"), "2") == 0);
    assert_ok(subscribe(0, 1));
    assert_string_equal(about(0, "SCARD", 't', 'a', ""), "2");

    keep("hect", 1);
    info = info_of(0, 'a');
    mcp_store_free(&nodes[0].store, &info.ref);
    UNTIL(!is_at(0, 'a') && nodes[0].cluster->link.n_pending == 0);
    keep("hect", 0);

    assert_int_equal(come_listening(0), MCP_ERR_NOT_FOUND);
    listen_at(0);
    changed(0);
    UNTIL(strcmp(about(0, "HGET", 'h', 'a', "l"), "1") == 0);
    assert_string_equal(about(0, "SCARD", 't', 'a', ""), "1");
    assert_ok(come_listening(1));
    assert_int_equal(info_of(1, 'a').last_seq, 1);
}


/* Two nodes create the stream at the same time: the node whose command reaches
 * Redis first becomes its owner, and the second node gets a mirror. */
TEST(two_nodes_create_a_sessions_own_stream__one_is_owner_and_one_has_a_mirror)
{
    begin_listening(2);
    listen_at(0);
    listen_at(1);
    assert_ok(come_listening(1));
    assert_ok(come_listening(0));
    assert_int_equal(info_of(0, 'a').mirror + info_of(1, 'a').mirror, 1);
    changed(0);
    UNTIL(last(0) == 1);
}


/* The owner's node dies: another node takes the stream over and adds the
 * notifications published in the meantime. */
TEST(owner_of_a_listener_dies__its_successor_adds_the_missed_notifications)
{
    int       successor;
    uint64_t  seq;

    begin_listening(3);
    listen_at(0);
    assert_ok(come_listening(0));
    assert_ok(subscribe(0, 1));
    changed(1);
    UNTIL(last(0) == 1);
    assert_ok(come_listening(1));
    assert_int_equal(read_from(1, 'a', 0, &seq), MCP_AGAIN);
    UNTIL(last(1) == 1);
    end(0);

    changed(1);
    changed(2);

    UNTIL((is_at(1, 'a') && !info_of(1, 'a').mirror)
          || (is_at(2, 'a') && !info_of(2, 'a').mirror));
    successor = is_at(1, 'a') && !info_of(1, 'a').mirror ? 1 : 2;

    UNTIL(last(successor) == 3);
    UNTIL(last(1) == 3);
    settled(1, 2);
    assert_int_equal(last(1), 4);

    /* the stream is kept because it has a consumer, at the successor or at
     * another node */

    UNTIL(info_of(successor, 'a').consumer_slot != MCP_STORE_NO_SLOT);
    come(2, 'a', 2, 's');
    assert_int_equal(read_from(2, 'a', 2, &seq), MCP_AGAIN);
    assert_int_equal(seq, 4);
    all_expire(1);
}


/* Changes the topics at node 2. Node 1 receives the broadcast about the change
 * before it reads a pending reply on its link. */
static void
subscribe_received(unsigned on)
{
    unsigned             tries;
    mcp_node_position_t  before, position;

    mcp_store_node_position(&nodes[1].store, MCP_NODE_BROADCASTS, &before);
    assert_int_equal(subscribe_start(2, on), MCP_AGAIN);
    run(2);
    assert_ok(answer);

    tries = 0;

    do {
        assert_true(tries++ < 10000);
        usleep(1000);
        carry_inbound(1);
        mcp_store_node_position(&nodes[1].store, MCP_NODE_BROADCASTS,
                                &position);
    } while (memcmp(&position, &before, sizeof(position)) == 0);
}


/* Node 0 dies, and Redis assigns its stream to node 1, which has not read that
 * reply yet. "on" is 1 if the stream was subscribed to x://y before. */
static void
leave_to_successor(unsigned on)
{
    uint64_t  dead;

    begin_listening(3);
    listen_at(0);
    assert_ok(come_listening(0));
    assert_ok(subscribe(0, on));
    UNTIL(nodes[1].cluster->settled && nodes[2].cluster->settled);
    dead = node_info(0).id;
    end(0);

    /* node 2 sends heartbeats, so that node 1 does not declare it dead; without
     * its observations, node 2 cannot declare node 0 dead */

    while (nodes[1].cluster->takeover.node != dead) {
        mcp_takeover_forget_members(nodes[2].cluster);
        carry(2);
        carry(1);
        usleep(1000);
    }

    deliver(1);
    assert_string_equal(about(2, "HGET", 'h', 'a', "j"), "1");
}


/* Checks that the stream at its successor, node 1, is subscribed to x://y if
 * "on" is 1, and is not if "on" is 0. */
static void
taken_over(unsigned on)
{
    int       i;
    uint64_t  seq;

    UNTIL(is_at(1, 'a') && !info_of(1, 'a').mirror);
    seq = last(1);
    updated(2);
    changed(2);
    UNTIL(last(1) > seq + on);

    for (i = 0; i < 100; i++) {
        carry(1);
        carry(2);
        usleep(1000);
    }

    assert_int_equal(last(1), seq + 1 + on);
    end_all();
}


/* The topics of a stream change before the successor has read that the stream
 * was assigned to it: the stream at the successor has the changed topics. */
TEST(topics_change_before_the_successor_takes_the_stream_over__change_is_kept)
{
    unsigned  on;

    for (on = 0; on < 2; on++) {

        /* the topics change at another node */

        leave_to_successor(!on);
        subscribe_received(on);
        taken_over(on);

        /* the topics change at the successor itself, which gets no broadcast
         * about that */

        leave_to_successor(!on);
        assert_int_equal(subscribe_start(1, on), MCP_AGAIN);
        UNTIL(answer == MCP_OK);
        taken_over(on);
    }
}


/* The topics of a stream change while the successor fetches them from Redis:
 * the stream at the successor has the changed topics. */
TEST(topics_change_while_the_successor_fetches_them__the_change_is_kept)
{
    char      buf[4096];
    ssize_t   n;
    unsigned  on;

    for (on = 0; on < 2; on++) {
        leave_to_successor(!on);

        while (!is_at(1, 'a')) {
            n = read(fds[1], buf, sizeof(buf));
            assert_true(n > 0);
            process_input(&nodes[1], buf, (size_t) n);
        }

        deliver(1);
        subscribe_received(on);
        assert_int_equal(info_of(1, 'a').mirror, 1);
        taken_over(on);
    }
}


/* The link is lost while the successor requests missed broadcasts: it requests
 * them again on the next link. */
TEST(link_is_lost_during_a_request_for_missed_broadcasts__request_is_repeated)
{
    mcp_replication_t  *repl;
    mcp_stream_info_t   info;

    begin_listening(2);
    listen_at(0);
    assert_ok(come_listening(0));
    changed(1);
    UNTIL(last(0) == 1);

    info = info_of(0, 'a');
    repl = mcp_replication_get(nodes[0].cluster, &info.ref);
    repl->replays = 1;
    mcp_topic_replay(repl);
    cut_off(0);
    assert_non_null(nodes[0].cluster->replays);
    UNTIL(last(0) == 2);
    assert_null(nodes[0].cluster->replays);

    /* the process ends while it requests missed broadcasts: the request is
     * freed */

    repl->replays = 1;
    mcp_topic_replay(repl);
    cut_off(0);
    assert_non_null(nodes[0].cluster->replays);
}


/* Redis is emptied: the owner replicates the stream and its topics again. */
TEST(redis_is_emptied__the_owner_replicates_its_topics_again)
{
    begin_listening(2);
    listen_at(0);
    assert_ok(come_listening(0));
    assert_ok(subscribe(0, 1));
    (void) command(0, "FLUSHALL");
    changed(0);
    UNTIL(last(0) == 1);
    UNTIL(strcmp(about(0, "SCARD", 't', 'a', ""), "2") == 0);
    assert_ok(come_listening(1));
    UNTIL(last(1) == 1);
}


/* The owner drops events that a slow reader of a mirror lacks: the mirror is
 * removed, and the reader gets MCP_ERR_PURGED when it resumes. */
TEST(owner_drops_events_that_a_slow_mirror_reader_lacks__the_mirror_is_removed)
{
    int                i, taken;
    uint64_t           seq;
    mcp_cursor_t       cursor;
    mcp_stream_info_t  info;

    begin_listening(2);
    listen_at(0);
    assert_ok(come_listening(0));
    assert_ok(come_listening(1));
    info = info_of(1, 'a');
    assert_ok(mcp_store_watch(&nodes[1].store, &info.ref, HANDLE, 0, &cursor,
                              &taken));

    for (i = 1; i <= 250; i++) {
        changed(0);
        UNTIL(last(0) == (uint64_t) i);
    }

    assert_int_equal(info_of(0, 'a').first_seq, 151);
    UNTIL(!is_at(1, 'a'));

    come(1, 'a', 2, 's');
    assert_int_equal(info_of(1, 'a').first_seq, 151);
    assert_int_equal(read_from(1, 'a', 2, &seq), MCP_ERR_PURGED);
}


/* Redis is unreachable: requests to resume or to subscribe fail, unless
 * mcp_cluster_sync is off. */
TEST(redis_is_unreachable__a_session_can_listen_only_if_cluster_sync_is_off)
{
    begin_listening(1);
    cut_off(0);
    assert_int_equal(come_listening(0), MCP_ERR_UNREACHABLE);
    assert_int_equal(subscribe(0, 1), MCP_ERR_UNREACHABLE);
    nodes[0].conf.sync = MCP_CLUSTER_SYNC_OFF;
    assert_ok(come_listening(0));
    assert_int_equal(subscribe(0, 1), MCP_ERR_NOT_FOUND);

    /* a notification is published at this node: the stream at this node gets
     * it at once */

    listen_at(0);
    changed(0);
    assert_int_equal(last(0), 1);
}


/* The key of the topics has a wrong type: all keys of the stream have a time
 * of expiry nevertheless. */
TEST(key_of_the_topics_has_a_wrong_type__all_keys_still_expire)
{
    begin_listening(1);
    (void) about(0, "SET", 't', 'a', "x EX 600");
    listen_at(0);
    UNTIL(strstr(node_info(0).error, "script append"));
    all_expire(0);
}


RUN_TESTS_WITH_REDIS(start_unchecked)
