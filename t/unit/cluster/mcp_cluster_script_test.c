/* SPDX-License-Identifier: Apache-2.0 */

/* The scripts for members and broadcasts, run by Redis. */

#include "cluster_redis.h"


/* Two nodes register, send heartbeats, and get each other as members. All keys
 * that they write have a time of expiry. */
TEST(two_nodes_register__each_gets_the_other_as_a_member)
{
    char             text[256];
    mcp_node_info_t  f;

    begin(0, KEY1);
    assert_int_equal(nodes[0].cluster->state, MCP_CLUSTER_MEMBER);
    f = node_info(0);
    assert_int_equal(f.view.n_members, 1);
    assert_true(f.view.members[0].id == f.id);
    assert_string_equal(f.view.members[0].label, "here");
    assert_int_equal(f.view.layout, 1);
    assert_string_equal(f.standalone, "");
    assert_int_equal(f.processes, 1);
    assert_int_equal(f.up, 1);
    assert_true(f.view.offset > -500 && f.view.offset < 500);

    begin(1, KEY1);
    assert_int_equal(nodes[1].cluster->state, MCP_CLUSTER_MEMBER);
    assert_int_equal(node_info(1).view.n_members, 2);
    nodes[0].conf.node_timeout = 1234;

    tick(0);
    assert_int_equal(node_info(0).view.n_members, 2);
    tick(0);
    tick(0);

    /* Redis counts the registration and three heartbeats of node 0 */

    assert_string_equal(command(1, "ZCARD {mcp}:1:nodes"), "2");
    snprintf(text, sizeof(text), "ZSCORE {mcp}:1:nodes %016llx",
             (unsigned long long) f.id);
    assert_string_equal(command(1, text), "4");
    all_expire(0);

    /* node 0 has received the timeout of node 1, 500 ms */

    assert_int_equal(nodes[0].cluster->n_heartbeats, 1);
    assert_int_equal(nodes[0].cluster->heartbeats[0].node_timeout, 500);
}


/* A node that has no key in common with a live node is rejected, and is
 * accepted when the other node does not live any more. */
TEST(node_that_shares_no_signing_key_with_a_live_node_serves_alone)
{
    begin(0, KEY1);
    (void) command(0, "FLUSHALL");
    tick(0);
    tick(0);
    assert_int_equal(nodes[0].cluster->state, MCP_CLUSTER_MEMBER);

    begin(1, KEY2);
    assert_int_equal(nodes[1].cluster->state, MCP_CLUSTER_APART);
    assert_non_null(strstr(node_info(1).standalone,
                           "(here) has no mcp_key in common"));
    assert_non_null(strstr(nodes[1].te.last, "serves alone"));

    /* the rejected node is not in the list of members */

    tick(0);
    assert_int_equal(node_info(0).view.n_members, 1);

    wait_for(2100);
    tick(1);
    assert_int_equal(nodes[1].cluster->state, MCP_CLUSTER_MEMBER);
    assert_string_equal(node_info(1).standalone, "");
    (void) command(1, "FLUSHALL");
}


/* The node was declared dead: it registers again with a new id. */
TEST(node_declared_dead_sends_a_heartbeat__it_has_to_register_with_a_new_id)
{
    char      text[256];
    uint64_t  id;

    begin(0, KEY1);
    (void) command(0, "FLUSHALL");
    tick(0);
    id = node_info(0).id;
    snprintf(text, sizeof(text), "SET {mcp}:1:x:%016llx 1 EX 60",
             (unsigned long long) id);
    (void) command(0, text);

    tick(0);
    assert_true(node_info(0).id != id);
    assert_true(nodes[0].cluster->node == node_info(0).id);
    assert_int_equal(nodes[0].cluster->state, MCP_CLUSTER_MEMBER);
    assert_non_null(strstr(nodes[0].te.last, "joined as node"));
}


/* Redis loses all keys: the node registers again. Redis loses the scripts:
 * they are loaded again on the open link. The key of the members has a wrong
 * type: an error, until the key is deleted. */
TEST(redis_loses_keys_or_scripts__the_node_becomes_a_member_again)
{
    begin(0, KEY1);

    (void) command(0, "FLUSHALL");
    tick(0);
    assert_int_equal(nodes[0].cluster->state, MCP_CLUSTER_MEMBER);
    assert_string_equal(command(0, "ZCARD {mcp}:1:nodes"), "1");

    (void) command(0, "SCRIPT FLUSH");
    tick(0);
    tick(0);
    assert_int_equal(nodes[0].disconnects, 0);
    assert_int_equal(nodes[0].cluster->state, MCP_CLUSTER_MEMBER);

    (void) command(0, "SET {mcp}:1:nodes x EX 60");
    tick(0);
    assert_non_null(strstr(nodes[0].te.last, "script heartbeat: "));
    assert_non_null(strstr(nodes[0].te.last, "WRONGTYPE"));
    assert_non_null(strstr(node_info(0).error, "WRONGTYPE"));
    (void) command(0, "DEL {mcp}:1:nodes");
    tick(0);
    assert_string_equal(command(0, "ZCARD {mcp}:1:nodes"), "1");
    all_expire(0);
}


/* A wrong password, or a user without the right to ROLE: the login fails. A
 * user with the rules that the documentation names: the login succeeds. */
TEST(login_needs_the_right_password_and_the_documented_rights)
{
    begin(0, KEY1);
    (void) command(0, "ACL SETUSER mcp on >secret ~{mcp}:* +@all -@admin "
                      "-@dangerous +info +role");
    (void) command(0, "ACL SETUSER poor on >secret ~{mcp}:* +@all -role");

    process_init(&nodes[1], NULL, 0);
    fds[1] = -1;
    nodes[1].conf.user = mcp_str("mcp");
    nodes[1].conf.password = mcp_str("wrong");
    nodes[1].te.now = real_now();
    nodes[1].cluster = mcp_cluster_create(nodes[1].worker, &nodes[1].conf);
    run(1);
    assert_non_null(strstr(nodes[1].te.last, "HELLO: WRONGPASS"));
    assert_int_equal(nodes[1].cluster->link.state, MCP_LINK_DOWN);

    nodes[1].conf.user = mcp_str("poor");
    nodes[1].conf.password = mcp_str("secret");
    wait_for(110);
    run(1);
    assert_non_null(strstr(nodes[1].te.info, "ROLE: NOPERM"));

    nodes[1].conf.user = mcp_str("mcp");
    rerun(1);
    run(1);
    assert_int_equal(nodes[1].cluster->link.state, MCP_LINK_UP);

    /* this node has no signing key, so it has none in common with node 0 */

    assert_int_equal(nodes[1].cluster->state, MCP_CLUSTER_APART);
}


/* Opens the inbound connection of node i and transfers its bytes until
 * n_updates, the number of received broadcasts, is n. Then closes the
 * connection. */
static void
listen_for(int i, unsigned n)
{
    int            fd;
    char           buf[4096];
    ssize_t        len;
    process_t     *p = &nodes[i];
    struct pollfd  wait;

    fd = dial();
    assert_true(fd >= 0);
    assert_true(p->inbound.connected);
    mcp_link_opened(&p->cluster->inbound);

    while (n_updates < n || !p->cluster->reading) {
        process_pump(p);

        len =
            write(fd, p->inbound.sent + p->inbound.taken,
                  p->inbound.len - p->inbound.taken);
        assert_true(len >= 0);
        p->inbound.taken += (size_t) len;

        wait.fd = fd;
        wait.events = POLLIN;
        assert_int_equal(poll(&wait, 1, 5000), 1);
        len = read(fd, buf, sizeof(buf));
        assert_true(len > 0);
        p->te.now = real_now();
        process_inbound_receive(p, buf, (size_t) len);
    }

    close(fd);
    p->inbound.connected = 0;
    mcp_link_closed(&p->cluster->inbound, "the test is over");
    process_pump(p);
    assert_int_equal(n_updates, n);
}


/* Waits until node i requests its inbound connection again. */
static void
rest(int i)
{
    int  tries;

    for (tries = 0; tries < 500 && !nodes[i].inbound.connected; tries++) {
        nodes[i].te.now = real_now();
        mcp_worker_expire(nodes[i].worker);
        process_pump(&nodes[i]);
        usleep(2000);
    }

    assert_true(nodes[i].inbound.connected);
}


static void
start_broadcast(int i, mcp_broadcast_e purpose, char c, uint64_t good)
{
    mcp_broadcast_t  broadcast;
    unsigned char    key[MCP_DIGEST_LEN];

    memset(key, c, sizeof(key));
    mcp_broadcast_make(&broadcast, purpose, key, key, (uint32_t) c,
                       real_now() + good);
    mcp_operation_broadcast(nodes[i].worker, &broadcast);
    run(i);
}


/* Each other node receives a broadcast once. A node that joins later receives
 * all broadcasts that Redis still has. */
TEST(each_broadcast_is_received_once_by_every_other_node)
{
    has_inbound = 1;
    begin(0, KEY1);
    (void) command(0, "FLUSHALL");
    tick(0);
    begin(1, KEY1);

    start_broadcast(0, MCP_BROADCAST_SESSION_ENDED, 'A', 60000);
    start_broadcast(0, MCP_BROADCAST_CANCELLED, '\n', 10000);
    listen_for(1, 2);

    assert_int_equal(broadcasts[0].what, MCP_BROADCAST_SESSION_ENDED);
    assert_int_equal(broadcasts[0].value, 'A');
    assert_int_equal(broadcasts[0].key[15], 'A');
    assert_in_range(broadcasts[0].expires, real_now() + 50000,
                    real_now() + 61000);
    assert_int_equal(broadcasts[1].what, MCP_BROADCAST_CANCELLED);
    assert_int_equal(broadcasts[1].session[0], '\n');
    all_expire(0);

    /* the next inbound connection continues after the last received broadcast;
     * a broadcast that the node itself has sent is skipped */

    start_broadcast(1, MCP_BROADCAST_SESSION_ENDED, 'B', 60000);
    start_broadcast(0, MCP_BROADCAST_LOG_LEVEL, 'C', 1);
    start_broadcast(0, MCP_BROADCAST_SESSION_ENDED, 'D', 60000);
    rest(1);
    listen_for(1, 4);
    assert_int_equal(broadcasts[2].value, 'C');
    assert_int_equal(broadcasts[3].value, 'D');

    /* a node that joins receives all five broadcasts; sending a broadcast
     * removes the oldest ones if they have expired */

    end(1);
    n_updates = 0;
    begin(1, KEY1);
    listen_for(1, 5);
    assert_string_equal(command(0, "XLEN {mcp}:1:told"), "4");

    (void) command(0, "DEL {mcp}:1:told");
    start_broadcast(0, MCP_BROADCAST_LOG_LEVEL, 'E', 1);
    usleep(5000);
    start_broadcast(0, MCP_BROADCAST_LOG_LEVEL, 'F', 60000);
    assert_string_equal(command(0, "XLEN {mcp}:1:told"), "1");

    /* the key of the broadcasts has a wrong type: an error */

    (void) command(0, "SET {mcp}:1:told x EX 60");
    start_broadcast(0, MCP_BROADCAST_LOG_LEVEL, 'G', 60000);
    assert_non_null(strstr(node_info(0).error, "script broadcast: "));

    has_inbound = 0;
}


RUN_TESTS_WITH_REDIS(start)
