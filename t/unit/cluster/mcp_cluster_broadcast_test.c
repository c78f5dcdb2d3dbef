/* SPDX-License-Identifier: Apache-2.0 */

/* Broadcasts: sending and receiving, also when Redis is unreachable or sends
 * unexpected replies. */

#include "cluster_process.h"


#define ID(c)   c c c c c c c c c c c c c c c c

#define WELCOME                                                               \
    "*4\r\n$2\r\nOK\r\n:1700000000000\r\n:1\r\n*0\r\n"

#define TEXT(len, text)   "$" #len "\r\n" text "\r\n"

/* An entry of the Redis stream with broadcasts: its id, the id of the sending
 * node, and the time when it expires, ms since the epoch. */
#define ENTRY(id, node, ends)                                                 \
    "*2\r\n$15\r\n" id "\r\n*12\r\n"                                          \
    TEXT(1, "n") TEXT(16, node) TEXT(1, "p") TEXT(1, "d")                     \
    TEXT(1, "k") TEXT(16, ID("k")) TEXT(1, "s") TEXT(16, ID("s"))             \
    TEXT(1, "v") TEXT(2, "42") TEXT(1, "e") TEXT(13, ends)

#define NEWS(n, entries)                                                      \
    "*1\r\n*2\r\n$12\r\n{mcp}:1:told\r\n*" #n "\r\n" entries

#define XREAD(lasting)                                                        \
    "XREAD COUNT 32 BLOCK 501 STREAMS {mcp}:1:told {mcp}:1:heard "            \
    "{mcp}:1:m:1111111111111111 " lasting " 0-0 0-0"


static unsigned         n_updates;
static mcp_broadcast_t  broadcast;


static void
on_broadcast(mcp_worker_t *worker, const mcp_broadcast_t *said)
{
    assert_ptr_equal(worker, p.worker);

    n_updates++;
    broadcast = *said;
}


static int
setup(void **state)
{
    setup_process(state);
    mcp_store_node_renew(&p.store, mcp_store_node_id(&p.store),
                         0x1111111111111111);
    p.worker->on_broadcast = on_broadcast;
    p.conf.sync = MCP_CLUSTER_SYNC_ON;
    p.conf.node_timeout = 600000;
    p.te.now = 1700000000000;
    n_updates = 0;

    return 0;
}


static void
join(void)
{
    process_connect(&p);
    process_receive(&p, WELCOME);
    p.taken = p.len;
    assert_int_equal(p.cluster->state, MCP_CLUSTER_MEMBER);
}


static int
start_broadcast(mcp_operation_t *op)
{
    int                   rc;
    mcp_operation_spec_t  said;
    unsigned char         key[MCP_DIGEST_LEN], session[MCP_DIGEST_LEN];

    memset(key, 'k', sizeof(key));
    memset(session, 0, sizeof(session));
    said.kind = MCP_OPERATION_BROADCAST;
    mcp_broadcast_make(&said.broadcast, MCP_BROADCAST_SESSION_ENDED, key,
                       session, 1, p.te.now + 5000);

    rc = mcp_cluster_start(p.worker->cluster, &said, op);
    process_pump(&p);

    return rc;
}


#define BROADCAST                                                             \
    "EVALSHA cccccccccccccccccccccccccccccccccccccccc 6 " MEMBER_KEYS         \
    "{mcp}:1:told {mcp}:1:heard "                                             \
    "1111111111111111 600000 d kkkkkkkkkkkkkkkk "                             \
    "\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00 1 5000 "


/* A broadcast is sent without an operation: the result is MCP_OK before the
 * reply arrives, and an error reply is logged. */
TEST(broadcast_has_no_operation__it_returns_at_once_and_logs_an_error_reply)
{
    join();
    assert_ok(start_broadcast(NULL));
    assert_command(&p, BROADCAST);
    process_receive(&p, "*1\r\n$2\r\nOK\r\n");
    assert_null(strstr(p.te.last, "broadcast"));

    assert_ok(start_broadcast(NULL));
    process_receive(&p, "-OOM no room\r\n");
    assert_non_null(strstr(p.te.last, "script broadcast: OOM no room"));
}


/* Returns an operation whose exchange was freed. Each kind of result has to
 * free the operation, see mcp_cluster_operation.h. */
static mcp_operation_t *
waiter(void)
{
    mcp_operation_t  *op;

    op = mcp_mem_calloc(&p.te.env.mem, sizeof(mcp_operation_t));
    assert_non_null(op);
    op->worker = p.worker;

    return op;
}


TEST(any_reply_arrives_or_the_link_is_lost__the_broadcasts_operation_is_freed)
{
    size_t  i;

    static const char *const  replies[] = {
        "*1\r\n$2\r\nOK\r\n", "*1\r\n$2\r\nNO\r\n", "-ERR x\r\n", "$-1\r\n",
        ":1\r\n", "*0\r\n"
    };

    join();

    for (i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        assert_int_equal(start_broadcast(waiter()), MCP_AGAIN);
        process_receive(&p, replies[i]);
    }

    /* the link is lost before the reply, and at the end of the test the
     * process ends before the reply: the operation is freed */

    assert_int_equal(start_broadcast(waiter()), MCP_AGAIN);
    process_lose(&p, "it is gone");
    process_wait(&p, 200);
    process_login(&p);
    process_receive(&p, WELCOME);
    assert_int_equal(start_broadcast(waiter()), MCP_AGAIN);
}


TEST(sync_is_off_or_the_node_is_standalone__only_then_broadcasts_need_no_redis)
{
    mcp_operation_t  op;

    process_start(&p);
    assert_int_equal(start_broadcast(&op), MCP_ERR_UNREACHABLE);

    /* mcp_cluster_sync is off: sending a broadcast returns MCP_OK, although
     * Redis is unreachable */

    p.conf.sync = MCP_CLUSTER_SYNC_OFF;
    assert_ok(start_broadcast(&op));
    p.conf.sync = MCP_CLUSTER_SYNC_ON;

    /* the node was rejected and serves alone: sending a broadcast returns
     * MCP_OK */

    process_login(&p);
    process_receive(&p, "*3\r\n$4\r\nKEYS\r\n$16\r\n" ID("2")
                    "\r\n$5\r\nother\r\n");
    assert_ok(start_broadcast(&op));
}


/* mcp_cluster_sync is off: the broadcast is sent, but the operation does not
 * wait for the reply. */
TEST(cluster_sync_is_off__a_broadcast_does_not_wait_for_the_reply_of_redis)
{
    mcp_operation_t  op;

    p.conf.sync = MCP_CLUSTER_SYNC_OFF;
    join();
    assert_ok(start_broadcast(&op));
    assert_command(&p, BROADCAST);
    process_receive(&p, "*1\r\n$2\r\nOK\r\n");
}


static void
say(const char *text)
{
    process_inbound_receive(&p, text, strlen(text));
}


TEST(broadcasts_of_other_nodes_are_received_and_own_ones_are_skipped)
{
    mcp_node_position_t  position;

    p.has_inbound = 1;
    join();
    p.cluster->offset = 100;
    process_inbound_login(&p);
    assert_inbound(&p, XREAD("0-0"));

    say(NEWS(1, ENTRY("1700000000000-0", ID("2"), "1700000005000")));
    assert_int_equal(n_updates, 1);
    assert_int_equal(broadcast.what, MCP_BROADCAST_SESSION_ENDED);
    assert_int_equal(broadcast.key[0], 'k');
    assert_int_equal(broadcast.session[0], 's');
    assert_int_equal(broadcast.value, 42);
    assert_int_equal(broadcast.expires, 1700000004900);
    assert_inbound(&p, XREAD("1700000000000-0"));

    /* a reply without entries; then one with an entry that this node itself
     * has sent, which is skipped */

    say("*-1\r\n");
    assert_inbound(&p, XREAD("1700000000000-0"));
    say(NEWS(2, ENTRY("1700000000001-0", ID("1"), "1700000005000")
                ENTRY("1700000000001-7", ID("2"), "1700000005000")));
    assert_int_equal(n_updates, 2);
    assert_inbound(&p, XREAD("1700000000001-7"));

    mcp_store_node_position(&p.store, MCP_NODE_LASTING_BROADCASTS, &position);
    assert_true(position.ms == 1700000000001 && position.n == 7);

    /* the inbound connection is lost: the next one requests the entries after
     * the last received one */

    p.inbound.connected = 0;
    mcp_link_closed(&p.cluster->inbound, "it is gone");
    process_wait(&p, 200);
    assert_int_equal(p.inbound.connects, 2);
    process_inbound_login(&p);
    assert_inbound(&p, XREAD("1700000000001-7"));
}


#define NOTIFICATION(id, len)                                                 \
    "*2\r\n$15\r\n" id "\r\n*14\r\n"                                          \
    TEXT(1, "n") TEXT(16, ID("2")) TEXT(1, "p") TEXT(1, "p")                  \
    TEXT(1, "k") TEXT(16, ID("k")) TEXT(1, "s") TEXT(16, ID("s"))             \
    TEXT(1, "v") TEXT(1, "0") TEXT(1, "e") TEXT(13, "1700000005000")          \
    TEXT(1, "m") "$" #len "\r\n%0" #len "d\r\n"


/* A notification of 8192 bytes is received; a longer one is skipped. */
TEST(notification_of_8192_bytes_is_received_but_a_longer_one_is_skipped)
{
    char  text[16384];

    p.has_inbound = 1;
    join();
    process_inbound_login(&p);

    snprintf(text, sizeof(text), NEWS(1, NOTIFICATION("1700000000001-0", 8192)),
             7);
    say(text);
    assert_int_equal(n_updates, 1);
    assert_int_equal(broadcast.what, MCP_BROADCAST_NOTIFICATION);
    assert_int_equal(broadcast.message.len, 8192);

    snprintf(text, sizeof(text), NEWS(1, NOTIFICATION("1700000000002-0", 8193)),
             7);
    say(text);
    assert_int_equal(n_updates, 1);
    p.inbound.taken = p.inbound.len;
    say("*-1\r\n");
    assert_inbound(&p, XREAD("1700000000002-0"));
}


/* The node gets a new id while it waits for entries, and then receives an
 * entry of the queue of its old id: that entry neither changes the position in
 * the new queue nor removes entries from it. */
TEST(node_has_a_new_id__an_entry_in_the_queue_of_its_old_id_has_no_effect)
{
    mcp_node_position_t  position;

    p.has_inbound = 1;
    join();
    process_inbound_login(&p);
    assert_inbound(&p, XREAD("0-0"));
    mcp_store_node_renew(&p.store, 0x1111111111111111, 0x2222222222222222);
    p.cluster->node = 0x2222222222222222;
    p.taken = p.len;

    say("*1\r\n*2\r\n$26\r\n{mcp}:1:m:1111111111111111\r\n*1\r\n"
        "*2\r\n$15\r\n1700000000009-0\r\n*2\r\n$1\r\nx\r\n$1\r\ny\r\n");

    mcp_store_node_position(&p.store, MCP_NODE_QUEUE, &position);
    assert_int_equal(position.ms, 0);
    assert_int_equal(p.taken, p.len);
    assert_inbound(&p, "XREAD COUNT 32 BLOCK 501 STREAMS {mcp}:1:told "
                   "{mcp}:1:heard {mcp}:1:m:2222222222222222 0-0 0-0 0-0");
}


/* The leader was paused, and another process of the node has received the same
 * entries in the meantime: they have their effect only once. */
TEST(leader_was_paused__no_broadcast_takes_effect_twice)
{
    process_t            q;
    mcp_node_position_t  position = { 1700000000005, 0 };

    p.has_inbound = 1;
    join();
    process_inbound_login(&p);

    /* no other process became the leader: entries up to the position that the
     * zone has recorded are skipped, and the entry after that position is
     * received */

    mcp_store_node_set_position(&p.store, MCP_NODE_LASTING_BROADCASTS,
                                &position);
    say(NEWS(2, ENTRY("1700000000005-0", ID("2"), "1700000005000")
                ENTRY("1700000000006-0", ID("2"), "1700000005000")));
    assert_int_equal(n_updates, 1);

    /* another process became the leader: the paused process ignores the reply,
     * and then closes its inbound connection */

    process_init(&q, p.zone, 1);
    mcp_store_node_resign(&p.store);
    assert_int_equal(mcp_store_node_lead(&q.store, p.te.now, 0), 1);
    say(NEWS(1, ENTRY("1700000000007-0", ID("2"), "1700000005000")));
    assert_int_equal(n_updates, 1);
    mcp_store_node_position(&p.store, MCP_NODE_LASTING_BROADCASTS, &position);
    assert_int_equal(position.ms, 1700000000006);
    p.cluster->heartbeat.handler(p.cluster);
    process_pump(&p);
    assert_false(p.inbound.connected);
    process_free(&q);
}


/* Replies and entries that no node writes are skipped, and the next XREAD is
 * sent. */
TEST(reply_to_xread_is_unexpected__it_is_skipped_and_xread_is_sent_again)
{
    size_t  i;

    static const char *const  replies[] = {
        "*0\r\n",
        "*1\r\n:1\r\n",
        "*1\r\n*0\r\n",
        "*1\r\n*1\r\n$1\r\nl\r\n",
        "*1\r\n*2\r\n$0\r\n\r\n*0\r\n",
        "*1\r\n*2\r\n$12\r\n{mcp}:1:told\r\n:7\r\n",
        NEWS(1, ":1\r\n"),
        NEWS(1, "*2\r\n$1\r\nx\r\n*0\r\n"),
        NEWS(1, "*2\r\n$3\r\n1-x\r\n*0\r\n"),
        NEWS(1, "*2\r\n$3\r\n1-1\r\n*0\r\n"),
        NEWS(1, "*2\r\n$3\r\n1-1\r\n*-1\r\n"),
        NEWS(1, "*2\r\n$3\r\n1-1\r\n*1\r\n$1\r\nn\r\n"),
        NEWS(1, "*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nk\r\n:5\r\n"),
        NEWS(1, ENTRY("1-0000000000000", ID("2"), "170000000500x")),
    };

    p.has_inbound = 1;
    join();
    process_inbound_login(&p);

    for (i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        p.inbound.taken = p.inbound.len;
        say(replies[i]);
        assert_int_equal(p.cluster->reading, 1);
    }

    assert_int_equal(n_updates, 0);

    /* an error reply: XREAD is sent again at the next heartbeat, not at
     * once */

    say("-WRONGTYPE no stream\r\n");
    assert_int_equal(p.cluster->reading, 0);
    assert_non_null(strstr(p.te.last, "XREAD: WRONGTYPE no stream"));
    p.cluster->heartbeat.handler(p.cluster);
    assert_int_equal(p.cluster->reading, 1);
}


/* Only the leader of a node receives broadcasts. */
TEST(only_the_leader_of_a_node_opens_the_inbound_connection)
{
    process_t  q;

    join();
    process_init(&q, p.zone, 1);
    q.has_inbound = 1;
    process_connect(&q);
    process_receive(&q, WELCOME);
    assert_int_equal(q.cluster->state, MCP_CLUSTER_MEMBER);
    assert_int_equal(q.inbound.connects, 0);

    process_lose(&p, "it is gone");
    q.cluster->heartbeat.handler(q.cluster);
    process_pump(&q);
    assert_int_equal(q.inbound.connects, 1);

    process_free(&q);
}


/* The inbound connection is lost several times, each time after a reply to
 * XREAD: the delay before the next connection stays at its minimum. */
TEST(inbound_connection_is_lost__reconnect_delay_grows_if_no_reply_had_arrived)
{
    unsigned  i;

    p.has_inbound = 1;
    join();

    for (i = 0; i < 9; i++) {
        process_inbound_login(&p);
        assert_inbound(&p, XREAD("0-0"));
        process_inbound_receive(&p, "*-1\r\n", 5);
        mcp_link_closed(&p.cluster->inbound, "gone");
        p.inbound.connected = 0;
        process_wait(&p, 101);
    }

    /* the inbound connection is lost without a reply to XREAD: each delay is
     * twice the previous one */

    for (i = 0; i < 2; i++) {
        process_inbound_login(&p);
        mcp_link_closed(&p.cluster->inbound, "gone");
        p.inbound.connected = 0;
        process_wait(&p, (200 << i) + 1);
    }

    process_inbound_login(&p);
    mcp_link_closed(&p.cluster->inbound, "gone");
    p.inbound.connected = 0;
    process_wait(&p, 101);
    assert_false(p.inbound.connected);
}


RUN_TESTS(setup, teardown_process)
