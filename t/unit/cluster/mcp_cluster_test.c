/* SPDX-License-Identifier: Apache-2.0 */

/* The node as a member of its cluster: registration, the leader's heartbeats,
 * and the list of members. */

#include "mcp_version.h"
#include "cluster_driver.h"


#define ID(c)   c c c c c c c c c c c c c c c c

#define MEMBER(id, age, label)                                                \
    "*4\r\n$16\r\n" id "\r\n:" #age "\r\n$5\r\n" label "\r\n$5\r\n0.9.0\r\n"

#define WELCOME(time)                                                         \
    "*4\r\n$2\r\nOK\r\n:" time "\r\n:1\r\n*2\r\n" MEMBER(ID("1"), 0, "first")  \
    MEMBER(ID("2"), 2500, "other")


static process_t  p, q;


static int
setup(void **state)
{
    process_init(&p, NULL, 0);
    process_init(&q, p.zone, 1);
    mcp_store_node_renew(&p.store, mcp_store_node_id(&p.store),
                         0x1111111111111111);

    return 0;
}


static int
teardown(void **state)
{
    process_free(&q);
    process_free(&p);

    return 0;
}


static mcp_node_info_t
node_info(void)
{
    mcp_node_info_t  f;

    assert_ok(mcp_store_node_info(&p.store, &f));

    return f;
}


TEST(node_registers__it_joins_and_gets_the_list_of_members)
{
    mcp_keys_t       keys;
    mcp_node_info_t  f;

    memset(&keys, 0, sizeof(keys));
    assert_ok(mcp_keys_add(&keys, mcp_str("0123456789abcdef0123456789abcdef")));
    assert_ok(mcp_keys_add(&keys, mcp_str("fedcba9876543210fedcba9876543210")));

    process_start(&p);
    assert_int_equal(node_info().processes, 1);
    assert_int_equal(node_info().up, 0);
    assert_ok(mcp_cluster_keys(p.cluster, &keys));
    assert_ok(mcp_cluster_keys(p.cluster, &keys));
    assert_int_equal(p.cluster->keys.len, 34);

    /* the fingerprints contain no part of the signing keys */

    assert_null(strstr(p.cluster->keys.text, "0123456789abcdef"));

    p.cluster->keys.len = 33;
    memset(p.cluster->keys.text, 'f', 33);
    p.cluster->keys.text[16] = ',';
    p.cluster->keys.len = 34;
    assert_ok(mcp_cluster_endpoint(p.cluster, mcp_str("/mcp")));
    assert_ok(mcp_cluster_endpoint(p.cluster, mcp_str("/mcp")));
    assert_int_equal(p.cluster->endpoints.len, 17);
    memset(p.cluster->endpoints.text, 'e', 16);
    process_login(&p);
    assert_command(&p, "EVALSHA aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 6 "
                       REGISTRATION_KEYS
                       "1111111111111111 15000 1 1 " MCP_VERSION " here "
                       "ffffffffffffffff,ffffffffffffffff  "
                       "1700000000000 eeeeeeeeeeeeeeee");

    p.te.now += 20;
    process_receive(&p, WELCOME("1700000000110"));
    assert_int_equal(p.cluster->state, MCP_CLUSTER_MEMBER);
    assert_string_equal(p.te.last, "cluster: joined as node 1111111111111111; "
                                   "the cluster has 2 nodes");

    f = node_info();
    assert_true(f.id == 0x1111111111111111);
    assert_int_equal(f.up, 1);
    assert_int_equal(f.view.offset, 100);
    assert_int_equal(f.view.layout, 1);
    assert_int_equal(f.view.n_members, 2);
    assert_true(f.view.members[1].id == 0x2222222222222222);
    assert_true(f.view.members[1].heartbeat == p.te.now - 2500);
    assert_string_equal(f.view.members[1].label, "other");
    assert_string_equal(f.view.members[1].build, "0.9.0");
    assert_string_equal(f.standalone, "");
}


/* Starts the two processes p and q of the node; p is its leader. */
static void
start_both(void)
{
    p.conf.timeout = 100000;
    q.conf.timeout = 100000;

    process_connect(&p);
    process_receive(&p, WELCOME("1700000000000"));
    process_connect(&q);
    process_receive(&q, WELCOME("1700000000000"));
    p.taken = p.len;
    q.taken = q.len;
}


/* A reply to a registration at the Redis with this run id. */
#define WELCOME_AT(run)                                                       \
    "*6\r\n$2\r\nOK\r\n:1700000000000\r\n:1\r\n*1\r\n"                        \
    MEMBER(ID("1"), 0, "first") "$0\r\n\r\n$4\r\n" run "\r\n"

/* The addresses lead to another Redis than the leader's connection: the process
 * connects again. */
TEST(address_leads_to_another_redis_now__the_process_connects_again)
{
    p.conf.timeout = 100000;
    p.probe = GOOD_HELLO GOOD_ROLE "$4\r\naaaa\r\n";

    process_connect(&p);
    process_receive(&p, WELCOME_AT("aaaa"));
    process_wait(&p, 5001);
    process_wait(&p, 5001);
    assert_int_equal(p.disconnects, 0);

    p.probe = GOOD_HELLO GOOD_ROLE "$4\r\nbbbb\r\n";
    process_wait(&p, 5001);
    assert_int_equal(p.disconnects, 0);
    process_wait(&p, 5001);
    assert_int_equal(p.disconnects, 1);
    assert_string_equal(p.te.last, "cluster: one:6379: the address now leads "
                        "to another Redis server, to which this process "
                        "connects; until mcp_cluster_node_timeout has "
                        "passed, new calls of tools with \"x-mcp-join\" "
                        "get 503");

    /* the registration contains that the process was a member elsewhere */

    process_wait(&p, 5001);
    process_login(&p);
    assert_non_null(strstr(p.sent + p.taken, "$1\r\n2\r\n"));
    process_receive(&p, WELCOME_AT("bbbb"));
    process_wait(&p, 5001);
    process_wait(&p, 5001);
    assert_int_equal(p.disconnects, 1);
    assert_int_equal(p.cluster->reports_loss, 0);
}


/* The slot of the keys is being moved in a Redis Cluster: the registration on
 * the next connection reports that Redis may lack keys, because the move may be
 * undone. */
TEST(redis_cluster_moves_the_hash_slot__next_registration_reports_lost_keys)
{
    unsigned  i, n;

    static const char *const  errors[] = {
        "-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
        "-ASK 3999 127.0.0.1:6381\r\n",
        "-LOADING Redis is loading the dataset in memory\r\n"
    };

    p.conf.timeout = 100000;
    process_start(&p);

    for (i = 0; i < 3; i++) {
        process_login(&p);
        process_receive(&p, WELCOME("1700000000000"));
        assert_int_equal(p.cluster->reports_loss, 0);
        process_wait(&p, 5001);
        process_receive(&p, errors[i]);
        assert_int_equal(p.disconnects, i + 1);

        /* the connection may be lost before the reply */

        for (n = 0; n < 2; n++) {
            process_wait(&p, 5001);
            process_login(&p);
            assert_true((strstr(p.sent + p.taken, "$1\r\n2\r\n") != NULL)
                        == (i < 2));
            process_lose(&p, "gone");
        }

        process_wait(&p, 5001);
    }
}


/* A reply of redis/takeover.lua: no stream was assigned to this node. */
#define NOTHING  "*1\r\n$2\r\nOK\r\n"


/* One process of a node, the leader, sends the heartbeats. If it loses its
 * link or ends, another process becomes the leader. */
TEST(leader_loses_its_link__another_process_sends_the_heartbeats)
{
    unsigned  i;

    p.conf.timeout = 100000;
    q.conf.timeout = 100000;

    process_connect(&p);
    process_receive(&p, WELCOME("1700000000000"));
    process_connect(&q);
    process_receive(&q, WELCOME("1700000000000"));
    assert_string_equal(q.te.info, "cluster: joined as node 1111111111111111; "
                                   "the cluster has 2 nodes");
    p.taken = p.len;
    q.taken = q.len;

    for (i = 0; i < 3; i++) {
        process_wait(&p, 5001);
        process_wait(&q, 5001);
        assert_command(&p, "EVALSHA bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb 6 "
                           REGISTRATION_KEYS "1111111111111111 15000");
        assert_command(&q, "");
        process_receive(&p, WELCOME("1700000020000"));

        /* after its first heartbeat, the leader requests the streams of dead
         * nodes that Redis has assigned to this node */

        if (i == 0) {
            assert_command(&p,
                           "EVALSHA 8888888888888888888888888888888888888888"
                           " 11 " TAKEOVER_KEYS("1111111111111111")
                           "1111111111111111 15000 1111111111111111 0");
            process_receive(&p, NOTHING);
        }
    }

    /* the reply to a heartbeat is pending: the leader sends no further
     * heartbeat */

    process_wait(&p, 5001);
    p.taken = p.len;
    process_wait(&p, 5001);
    assert_command(&p, "");

    process_lose(&p, "gone");
    assert_string_equal(p.te.last, "cluster: one:6379: gone");
    assert_int_equal(node_info().up, 1);
    process_wait(&q, 5001);
    assert_command(&q, "EVALSHA bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb 6 "
                       REGISTRATION_KEYS "1111111111111111 15000");

    /* the leader has ended: p becomes the leader */

    mcp_cluster_destroy(q.cluster);
    q.cluster = NULL;
    assert_int_equal(mcp_store_node_lead(&p.store, p.te.now, 0), 1);
}


TEST(link_is_lost_while_scripts_are_loaded__the_process_registers_again)
{
    p.conf.timeout = 100000;

    process_connect(&p);
    process_receive(&p, WELCOME("1700000000000"));
    process_wait(&p, 5001);
    process_receive(&p, "-NOSCRIPT No matching script.\r\n");
    assert_int_equal(p.cluster->link.state, MCP_LINK_LOGIN);

    process_lose(&p, "gone");
    assert_int_equal(p.cluster->state, MCP_CLUSTER_APART);
    assert_int_equal(node_info().up, 0);

    p.taken = p.len;
    process_wait(&p, 1000);
    process_login(&p);
    assert_int_equal(p.cluster->state, MCP_CLUSTER_REGISTERING);
}


#define HEARTBEAT                                                             \
    "EVALSHA bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb 6 " REGISTRATION_KEYS   \
    "1111111111111111 15000"


/* The leader is paused: another process becomes the leader and sends a
 * heartbeat before the node's timeout. */
TEST(leader_is_paused__another_process_sends_the_heartbeats)
{
    start_both();
    process_wait(&q, 5001);
    assert_command(&q, "");
    process_wait(&q, 5001);
    assert_command(&q, HEARTBEAT);

    /* the paused process continues: it detects that it is not the leader any
     * more */

    process_wait(&p, 10002);
    assert_command(&p, "");
    assert_int_equal(p.cluster->leads, 0);
}


/* The earlier leader has read broadcasts of a Redis whose clock was ahead. */
TEST(another_process_becomes_the_leader__it_checks_positions_in_the_future)
{
    const mcp_node_position_t  position = { 1800000000000, 0 };

    start_both();
    mcp_store_node_set_position(&p.store, MCP_NODE_BROADCASTS, &position);
    process_wait(&q, 5001);
    process_wait(&q, 5001);
    assert_command(&q, "XINFO STREAM {mcp}:1:heard");
}


/* The leader shuts down: another process becomes the leader. If there is no
 * other process, the process that shuts down continues to send heartbeats. */
TEST(leader_shuts_down__another_process_sends_the_heartbeats)
{
    start_both();
    process_wait(&q, 5001);
    mcp_worker_stop(p.worker, 0);
    process_wait(&p, 5001);
    assert_command(&p, "");
    process_wait(&q, 1);
    process_wait(&q, 5001);
    assert_command(&q, HEARTBEAT);

    mcp_store_reclaim(&p.store, 1, 101);
    process_wait(&p, 5001);
    assert_command(&p, HEARTBEAT);
}


/* The node is rejected: it serves alone, and registers again until it is
 * accepted. */
TEST(node_is_rejected__it_serves_alone_until_redis_accepts_it)
{
    p.conf.timeout = 100000;
    process_connect(&p);
    process_receive(&p,
                    "*3\r\n$4\r\nKEYS\r\n$16\r\n" ID("2") "\r\n$3\r\na\nb\r\n");
    assert_int_equal(p.cluster->state, MCP_CLUSTER_APART);
    assert_string_equal(node_info().standalone,
                        "node " ID("2") " (a?b) has no mcp_key in "
                                        "common with this node");
    assert_string_equal(p.te.last, "cluster: this node is not a member of the "
                                   "cluster and serves alone: node "
                                   ID("2") " (a?b) has no mcp_key in common "
                                   "with this node");
    assert_string_equal(node_info().error, p.te.last + 9);

    p.taken = p.len;
    process_wait(&p, 5001);
    assert_true(p.taken < p.len);
    process_receive(&p,
                "*5\r\n$6\r\nLAYOUT\r\n$16\r\n" ID("2") "\r\n$0\r\n\r\n:7\r\n"
                                                        ":9\r\n");
    assert_string_equal(node_info().standalone,
                        "node " ID("2") " () reads the layouts 7 to 9 of the "
                                       "data in Redis, but this node reads 1 "
                                       "to 1");

    process_wait(&p, 5001);
    process_receive(&p, WELCOME("1700000000000"));
    assert_int_equal(p.cluster->state, MCP_CLUSTER_MEMBER);
    assert_string_equal(node_info().standalone, "");
}


/* Redis rejects the credentials of a node that was a member: Redis counts as
 * unreachable. The node does not serve alone, because other nodes may use its
 * streams. */
TEST(redis_rejects_the_credentials_of_a_member__the_node_does_not_serve_alone)
{
    p.conf.timeout = 100000;
    p.conf.sync = MCP_CLUSTER_SYNC_ON;
    q.conf = p.conf;
    process_connect(&p);
    process_receive(&p, WELCOME("1700000000000"));
    process_connect(&q);
    process_receive(&q, WELCOME("1700000000000"));

    process_lose(&q, "gone");
    process_wait(&q, 101);
    process_open(&q);
    process_receive(&q, "-WRONGPASS no\r\n");
    assert_false(q.connected);
    assert_string_equal(node_info().standalone, "");
    assert_string_equal(node_info().error, "one:6379: HELLO: WRONGPASS no");

    /* the error is logged, although the loss of the link was logged just
     * before it */

    assert_string_equal(q.te.last, "cluster: one:6379: HELLO: WRONGPASS no");
    q.te.now += 5000;
    assert_int_equal(mcp_cluster_is_unreachable(q.cluster), 1);

    /* p, the last process that was a member, loses its link: the node still
     * does not serve alone */

    mcp_worker_expire(q.worker);
    process_pump(&q);
    process_lose(&p, "gone");
    process_open(&q);
    process_receive(&q, "-WRONGPASS no\r\n");
    assert_string_equal(node_info().standalone, "");
    assert_int_equal(mcp_cluster_is_unreachable(q.cluster), 1);

    process_wait(&p, 101);
    process_login(&p);
    process_receive(&p, WELCOME("1700000000000"));
    assert_string_equal(node_info().standalone, "");
}


/* The Redis user may connect but has no right to the keys: the node is
 * rejected. */
TEST(redis_user_lacks_a_right_when_a_node_joins__the_node_serves_alone)
{
    p.conf.timeout = 100000;
    p.conf.sync = MCP_CLUSTER_SYNC_ON;
    q.conf = p.conf;
    process_connect(&p);
    process_receive(&p, "-NOPERM no\r\n");
    assert_int_equal(p.cluster->state, MCP_CLUSTER_APART);
    assert_string_equal(node_info().standalone, "NOPERM no");
    assert_string_equal(p.te.last,
                        "cluster: one:6379: register: NOPERM no: Redis's "
                        "user \"default\" needs the rules ~{mcp}:* +@all "
                        "-@admin -@dangerous +info +role");
    assert_false(p.connected);
    p.te.now += 5000;
    assert_int_equal(mcp_cluster_is_unreachable(p.cluster), 0);

    /* the Redis user may run scripts, but has no right to the commands in
     * them: the node is rejected */

    process_wait(&p, 1);
    process_login(&p);
    process_receive(&p,
                    "-ERR The user executing the script can't run this command "
                    "or subcommand\r\n");
    assert_memory_equal(node_info().standalone, "ERR The user", 12);

    process_wait(&p, 5001);
    process_login(&p);
    process_receive(&p, WELCOME("1700000000000"));
    assert_int_equal(p.cluster->state, MCP_CLUSTER_MEMBER);
    assert_string_equal(node_info().standalone, "");

    /* the node became a member, and then Redis rejects its second process: for
     * that process Redis counts as unreachable */

    process_connect(&q);
    process_receive(&q, "-NOPERM no\r\n");
    assert_int_equal(q.cluster->state, MCP_CLUSTER_APART);
    assert_string_equal(node_info().standalone, "");
    q.te.now += 5000;
    assert_int_equal(mcp_cluster_is_unreachable(q.cluster), 1);

    /* a member loses its rights: Redis counts as unreachable */

    p.cluster->heartbeat.handler(p.cluster);
    process_pump(&p);
    process_receive(&p, "-NOPERM not now\r\n");
    assert_int_equal(p.cluster->state, MCP_CLUSTER_APART);
    assert_non_null(strstr(p.te.info, "beat: NOPERM not now"));
    assert_false(p.connected);
    assert_string_equal(node_info().standalone, "");
    p.te.now += 5000;
    assert_int_equal(mcp_cluster_is_unreachable(p.cluster), 1);
}


/* Redis rejects the credentials on the inbound connection: the node stays a
 * member, and the connection is opened again. */
TEST(inbound_connection_is_rejected__the_node_stays_a_member)
{
    p.conf.timeout = 100000;
    p.has_inbound = 1;
    process_connect(&p);
    process_receive(&p, WELCOME("1700000000000"));
    assert_true(p.inbound.connected);

    mcp_link_opened(&p.cluster->inbound);
    process_pump(&p);
    process_inbound_receive(&p, "-WRONGPASS no\r\n", 15);
    assert_false(p.inbound.connected);
    assert_string_equal(node_info().standalone, "");
    assert_string_equal(p.te.last, "cluster: one:6379: HELLO: WRONGPASS no");
    assert_int_equal(p.cluster->state, MCP_CLUSTER_MEMBER);

    p.te.last[0] = '\0';
    process_wait(&p, 101);
    process_inbound_login(&p);
    assert_int_equal(p.cluster->reading, 1);
    assert_string_equal(p.te.last, "");
}


/* A reply that the scripts for registration and heartbeats cannot give is
 * recorded as an error and has no other effect. */
TEST(redis_sends_an_unexpected_reply__it_is_an_error_and_changes_no_state)
{
    unsigned  i;

    static const char *const  says[] = {
        "+OK\r\n", ":1\r\n", "*0\r\n", "$-1\r\n", "*1\r\n$2\r\nOK\r\n",
        "*4\r\n$2\r\nOK\r\n:1\r\n:1\r\n:1\r\n", "*1\r\n*1\r\n$2\r\nOK\r\n",
        "-WRONGTYPE Operation against a key\r\n",
        "-ERR Error running script\r\n"
    };

    p.conf.timeout = 100000;
    process_connect(&p);

    for (i = 0; i < sizeof(says) / sizeof(says[0]); i++) {
        process_receive(&p, says[i]);
        assert_int_equal(p.cluster->state, MCP_CLUSTER_APART);
        assert_non_null(strstr(node_info().error, "script register: "));
        process_wait(&p, 5001);
    }

    process_receive(&p, WELCOME("1700000000000"));
    assert_int_equal(p.cluster->state, MCP_CLUSTER_MEMBER);

    for (i = 0; i < sizeof(says) / sizeof(says[0]); i++) {
        process_wait(&p, 5001);
        process_receive(&p, says[i]);
        assert_int_equal(p.cluster->state, MCP_CLUSTER_MEMBER);
        assert_non_null(strstr(node_info().error, "script heartbeat: "));
    }

    /* invalid entries in the list of members are ignored */

    process_wait(&p, 5001);
    process_receive(&p, "*4\r\n$2\r\nOK\r\n:1\r\n:1\r\n*4\r\n:1\r\n*0\r\n"
                    "*4\r\n$3\r\nabc\r\n:1\r\n+a\r\n+b\r\n"
                    "*4\r\n$16\r\n0000000000000g00\r\n:1\r\n+a\r\n+b\r\n");
    assert_int_equal(node_info().view.n_members, 0);
}


#define SILENT(id, dead)                                                      \
    "*6\r\n$16\r\n" ID(id) "\r\n:0\r\n+x\r\n+x\r\n:7\r\n:" #dead "\r\n"

#define TAKEOVER(id)                                                          \
    "EVALSHA 8888888888888888888888888888888888888888 11 "                    \
    TAKEOVER_KEYS(ID(id)) "1111111111111111 15000 " ID(id) " 7"


/* Two nodes die at the same time: the leader requests first the streams of one
 * node and then the streams of the other one. A silent node whose own timeout
 * is longer is not declared dead. */
TEST(two_nodes_die__the_leader_takes_over_one_node_after_the_other)
{
    unsigned  i;

    p.conf.timeout = 100000;
    process_connect(&p);

    for (i = 0; i < 5; i++) {
        process_receive(&p, "*4\r\n$2\r\nOK\r\n:1700000000000\r\n:1\r\n*4\r\n"
                        MEMBER(ID("1"), 0, "first") SILENT("2", 60000)
                        SILENT("3", 15000) SILENT("4", 14000));

        if (i == 1) {
            process_receive(&p, NOTHING);
        }

        if (i < 4) {
            process_wait(&p, 5001);
            p.taken = p.len;
        }
    }

    assert_command(&p, TAKEOVER("3"));
    process_receive(&p, NOTHING);
    assert_command(&p, TAKEOVER("4"));
    process_receive(&p, NOTHING);
    assert_command(&p, "");
    assert_int_equal(p.cluster->takeover.node, 0);
}


/* The node was declared dead: all its processes register again with a new
 * id. */
TEST(node_was_declared_dead__all_its_processes_get_a_new_id)
{
    start_both();

    process_wait(&p, 5001);
    process_receive(&p, "*1\r\n$4\r\nDEAD\r\n");
    assert_true(node_info().id != 0x1111111111111111);
    assert_true(p.cluster->node == node_info().id);
    assert_int_equal(p.cluster->state, MCP_CLUSTER_REGISTERING);
    assert_string_equal(p.te.last, "cluster: another node declared this node "
                                   "dead, because heartbeats of this node were "
                                   "missing: this node joins again with a new "
                                   "id");
    process_receive(&p, "*1\r\n$4\r\nDEAD\r\n");
    assert_int_equal(p.cluster->state, MCP_CLUSTER_APART);
    process_wait(&p, 5001);
    process_receive(&p, WELCOME("1700000000000"));

    process_wait(&q, 5001);
    assert_true(q.cluster->node == node_info().id);
    assert_int_equal(q.cluster->state, MCP_CLUSTER_REGISTERING);

    /* Redis has lost the node's registration: the node registers again */

    process_wait(&p, 5001);
    process_receive(&p, "*1\r\n$4\r\nGONE\r\n");
    assert_int_equal(p.cluster->state, MCP_CLUSTER_REGISTERING);
}


/* A warning that the clocks differ is logged once, and again only if the
 * clocks have agreed in the meantime. */
TEST(clocks_differ_again__a_warning_is_logged_if_the_clocks_agreed_in_between)
{
    p.conf.timeout = 100000;
    process_connect(&p);
    process_receive(&p, WELCOME("1700000002001"));
    assert_int_equal(node_info().view.offset, 2001);
    p.te.last[0] = '\0';

    process_wait(&p, 5001);
    process_receive(&p, WELCOME("1700000000001"));
    process_receive(&p, NOTHING);
    assert_int_equal(node_info().view.offset, -5000);
    assert_string_equal(p.te.last, "");

    process_wait(&p, 4999);
    process_wait(&p, 2);
    process_receive(&p, WELCOME("1700000010002"));
    assert_int_equal(node_info().view.offset, 0);

    process_wait(&p, 5001);
    process_receive(&p, WELCOME("1700000000000"));
    assert_string_equal(p.te.last, "cluster: the clock of Redis differs from "
                                   "the clock of this node by -15003 ms: "
                                   "synchronize both by NTP");
}


/* Redis rejects a process because of the node's clock: no process of the node
 * serves requests until Redis accepts a process as a member. */
TEST(redis_rejects_a_nodes_clock__no_process_of_the_node_serves_requests)
{
    process_start(&p);
    process_start(&q);
    process_login(&p);
    assert_int_equal(mcp_operation_clock(q.worker), MCP_ERR_UNREACHABLE);

    process_receive(&p, "*2\r\n$5\r\nCLOCK\r\n:1700086400000\r\n");
    assert_string_equal(p.te.last,
                        "cluster: this node's clock is 86400 s behind "
                                   "the clock of Redis: synchronize both by "
                                   "NTP, then stop and start this server, "
                                   "which answers with 503 until then");
    assert_int_equal(mcp_operation_clock(p.worker), MCP_ERR_DENIED);
    assert_int_equal(mcp_operation_clock(q.worker), MCP_ERR_DENIED);

    process_login(&q);
    process_receive(&q, WELCOME("1700000000000"));
    assert_ok(mcp_operation_clock(p.worker));
    assert_ok(mcp_operation_clock(q.worker));
}


TEST(node_has_the_maximum_of_signing_keys__another_key_is_rejected)
{
    char        secret[64];
    unsigned    i;
    mcp_keys_t  keys;

    process_start(&p);

    for (i = 0; i <= MCP_CLUSTER_KEYS_MAX; i++) {
        memset(&keys, 0, sizeof(keys));
        snprintf(secret, sizeof(secret), "%040u", i);
        assert_ok(mcp_keys_add(&keys, test_str(secret)));
        assert_int_equal(mcp_cluster_keys(p.cluster, &keys),
                         i < MCP_CLUSTER_KEYS_MAX ? MCP_OK : MCP_ERR_LIMIT);
    }

    mcp_cluster_destroy(NULL);
}


RUN_TESTS(setup, teardown)
