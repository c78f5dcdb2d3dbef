/* SPDX-License-Identifier: Apache-2.0 */

/* Notifications for all nodes: each node, including the sender's, receives
 * them once and in order, even if the link is lost. */

#include "cluster_streams.h"


#define WELCOME                                                               \
    "*4\r\n$2\r\nOK\r\n:1700000000000\r\n:1\r\n*0\r\n"
#define BROADCAST_OK  "*1\r\n$2\r\nOK\r\n"


/* The letters of the notifications that each node has received; a lowercase
 * letter is a notification that the node itself has sent. */
static char       all[NODES][16];

static process_t  p;


static void
receive_letter(mcp_worker_t *worker, const mcp_broadcast_t *broadcast)
{
    int  i;

    assert_int_equal(broadcast->what, MCP_BROADCAST_NOTIFICATION);
    assert_int_equal(broadcast->message.len, 1);

    for (i = 0; i < NODES && nodes[i].worker != worker; i++) {
        /* void */
    }

    i %= NODES;
    assert_true(strlen(all[i]) < sizeof(all[i]) - 1);
    all[i][strlen(all[i])] = (char) (broadcast->message.data[0]
                                     + (broadcast->own ? 'a' - 'A' : 0));
}


static int
notify(process_t *from, char letter)
{
    mcp_broadcast_t  broadcast;

    memset(&broadcast, 0, sizeof(broadcast));
    broadcast.what = MCP_BROADCAST_NOTIFICATION;
    broadcast.expires = mcp_worker_now(from->worker) + 60000;
    broadcast.message = (mcp_str_t) { &letter, 1 };

    return mcp_operation_broadcast(from->worker, &broadcast);
}


static void
begin_receiving(void)
{
    int  i;

    memset(all, 0, sizeof(all));
    begin_all(2);

    for (i = 0; i < 2; i++) {
        nodes[i].worker->on_broadcast = receive_letter;
        UNTIL(nodes[i].cluster->reading);
    }
}


/* Sends the notification "Z" from node 0. Checks that both nodes receive it
 * after the notifications of "before", which node 0 has sent, and that they
 * have received no others. */
static void
settled(const char *before)
{
    char  own[16], theirs[16];
    int   i;

    for (i = 0; before[i]; i++) {
        own[i] = (char) (before[i] + 'a' - 'A');
        theirs[i] = before[i];
    }

    own[i] = 'z';
    own[i + 1] = '\0';
    theirs[i] = 'Z';
    theirs[i + 1] = '\0';

    assert_int_equal(notify(&nodes[0], 'Z'), MCP_AGAIN);
    UNTIL(strchr(all[0], 'z') && strchr(all[1], 'Z'));
    assert_string_equal(all[0], own);
    assert_string_equal(all[1], theirs);
    assert_null(nodes[0].cluster->notifications);
}


/* Redis has two notifications, but the link is lost before the replies: each
 * notification is received once. */
TEST(link_is_lost_before_the_replies__nodes_receive_each_notification_once)
{
    begin_receiving();
    assert_int_equal(notify(&nodes[0], 'A'), MCP_AGAIN);
    assert_int_equal(notify(&nodes[0], 'B'), MCP_AGAIN);
    deliver(0);
    cut_off(0);

    /* a notification is sent while there is no link: it waits behind those
     * whose replies were lost */

    assert_int_equal(notify(&nodes[0], 'C'), MCP_AGAIN);
    settled("ABC");
    all_expire(0);
}


/* Redis has the first notification but not the second one, and the link is
 * lost before any reply: each notification is received once. */
TEST(link_is_lost_before_redis_has_a_notification__nodes_still_get_it_once)
{
    begin_receiving();
    assert_int_equal(notify(&nodes[0], 'A'), MCP_AGAIN);
    deliver(0);
    assert_int_equal(notify(&nodes[0], 'B'), MCP_AGAIN);
    cut_off(0);
    settled("AB");

    /* node 1, whose process counts separately, sends a notification with a
     * lower number: both nodes receive it */

    assert_int_equal(notify(&nodes[1], 'C'), MCP_AGAIN);
    UNTIL(strchr(all[0], 'C') && strchr(all[1], 'c'));
    assert_string_equal(command(0, "XLEN {mcp}:1:heard"), "4");
}


/* The key with the sender's last number has a wrong type: the notification is
 * delivered at the sender's node only. */
TEST(redis_key_of_a_sender_has_a_wrong_type__only_senders_node_is_notified)
{
    char  key[40], text[80];

    begin_receiving();
    assert_int_equal(notify(&nodes[0], 'A'), MCP_AGAIN);
    UNTIL(strchr(all[0], 'a') && strchr(all[1], 'A'));

    snprintf(key, sizeof(key), "{mcp}:1:i:%016llx",
             (unsigned long long) nodes[0].cluster->sender);
    snprintf(text, sizeof(text), "DEL %s", key);
    assert_string_equal(command(0, text), "1");
    snprintf(text, sizeof(text), "SADD %s x", key);
    assert_string_equal(command(0, text), "1");

    assert_int_equal(notify(&nodes[0], 'B'), MCP_AGAIN);
    UNTIL(strchr(all[0], 'b'));
    assert_non_null(strstr(nodes[0].te.last, "script broadcast: "));
    assert_null(strchr(all[1], 'B'));
    assert_null(nodes[0].cluster->notifications);
}


/* --- without Redis --- */

static void
join(mcp_cluster_sync_e sync)
{
    memset(all, 0, sizeof(all));
    memset(nodes, 0, sizeof(nodes));
    process_init(&p, NULL, 0);
    p.worker->on_broadcast = receive_letter;
    p.conf.sync = sync;
    p.conf.node_timeout = 600000;
    p.te.now = 1700000000000;
    process_start(&p);
    assert_int_equal(notify(&p, 'X'), MCP_ERR_UNREACHABLE);
    process_login(&p);
    process_receive(&p, WELCOME);
    assert_int_equal(p.cluster->state, MCP_CLUSTER_MEMBER);
}


/* The link stays down: each notification is delivered at the sender's node
 * when it expires, after a minute. */
TEST(link_stays_down__the_senders_node_delivers_a_notification_after_a_minute)
{
    join(MCP_CLUSTER_SYNC_ON);
    assert_int_equal(notify(&p, 'A'), MCP_AGAIN);
    process_wait(&p, 100);
    assert_int_equal(notify(&p, 'B'), MCP_AGAIN);
    process_lose(&p, "it is gone");
    process_wait(&p, 59899);
    assert_string_equal(all[0], "");
    process_wait(&p, 1);
    assert_string_equal(all[0], "a");
    process_wait(&p, 100);
    assert_string_equal(all[0], "ab");
    assert_int_equal(notify(&p, 'C'), MCP_ERR_UNREACHABLE);
    process_free(&p);
}


/* mcp_cluster_sync is off: a notification without a reply is delivered at the
 * sender's node as soon as the link is lost. */
TEST(link_is_lost_and_cluster_sync_is_off__notification_is_delivered_locally)
{
    join(MCP_CLUSTER_SYNC_OFF);
    assert_int_equal(notify(&p, 'A'), MCP_AGAIN);
    assert_int_equal(notify(&p, 'B'), MCP_AGAIN);
    process_pump(&p);
    process_receive(&p, BROADCAST_OK);
    assert_string_equal(all[0], "");
    process_lose(&p, "it is gone");
    assert_string_equal(all[0], "b");
    process_free(&p);
}


/* The link accepts no further command: notifications wait, and are sent in
 * order when it accepts commands again. */
TEST(link_is_full__notifications_wait_until_replies_arrive)
{
    unsigned  i;

    join(MCP_CLUSTER_SYNC_ON);
    assert_int_equal(notify(&p, 'A'), MCP_AGAIN);

    for (i = 1; i < MCP_LINK_WINDOW; i++) {
        assert_ok(mcp_link_send(&p.cluster->link,
                                &(mcp_str_t) { "PING", 4 }, 1, say,
                                NULL));
    }

    assert_int_equal(notify(&p, 'B'), MCP_AGAIN);
    assert_int_equal(notify(&p, 'C'), MCP_AGAIN);
    assert_int_equal(p.cluster->notifications_sending, 1);
    process_pump(&p);
    process_receive(&p, BROADCAST_OK);
    assert_int_equal(p.cluster->notifications_sending, 1);

    for (i = 1; i < MCP_LINK_WINDOW; i++) {
        process_receive(&p, "+PONG\r\n");
    }

    process_receive(&p, BROADCAST_OK);
    assert_int_equal(p.cluster->notifications_sending, 1);
    assert_int_equal(p.cluster->n_notifications, 1);
    process_receive(&p, BROADCAST_OK);
    assert_null(p.cluster->notifications);

    process_free(&p);
}


static unsigned  n_received;


static void
count(mcp_worker_t *worker, const mcp_broadcast_t *broadcast)
{
    n_received++;
}


/* At most MCP_LINK_WINDOW notifications wait. When the process ends, its node
 * delivers each waiting notification. */
TEST(maximum_of_notifications_is_waiting__a_further_notification_is_rejected)
{
    unsigned  i;

    join(MCP_CLUSTER_SYNC_ON);
    p.worker->on_broadcast = count;
    n_received = 0;

    for (i = 0; i < MCP_LINK_WINDOW; i++) {
        assert_int_equal(notify(&p, 'A'), MCP_AGAIN);
    }

    assert_int_equal(notify(&p, 'B'), MCP_ERR_UNREACHABLE);
    process_lose(&p, "it is gone");
    assert_int_equal(notify(&p, 'B'), MCP_ERR_UNREACHABLE);
    process_free(&p);
    assert_int_equal(n_received, MCP_LINK_WINDOW);
}


TEST(process_ends__its_waiting_notifications_are_delivered_at_its_own_node)
{
    join(MCP_CLUSTER_SYNC_ON);
    p.te.random_rc = MCP_ERR_MEMORY;
    assert_int_equal(notify(&p, 'X'), MCP_ERR_UNREACHABLE);
    p.te.random_rc = MCP_OK;
    assert_int_equal(notify(&p, 'A'), MCP_AGAIN);
    process_pump(&p);
    assert_int_equal(notify(&p, 'B'), MCP_AGAIN);
    process_free(&p);
    assert_string_equal(all[0], "ab");
}


RUN_TESTS_WITH_REDIS(start)
