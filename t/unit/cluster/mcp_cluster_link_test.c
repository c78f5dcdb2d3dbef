/* SPDX-License-Identifier: Apache-2.0 */

/* The life cycle of a link: it is opened, checked, lost and opened again. */

#include "cluster_process.h"


/* The login succeeds, even if commands are written and replies arrive in small
 * pieces. */
TEST(commands_and_replies_come_in_pieces_of_1_to_39_bytes__login_succeeds)
{
    size_t    step;
    uint64_t  total;

    for (step = 1; step < 40; step++) {
        p.step = step;
        process_connect(&p);
        mcp_cluster_destroy(p.cluster);
        p.cluster = NULL;
        p.connected = 0;
        total = p.te.tm.total;
        assert_true(total > 0);
    }
}


/* The delay between attempts to connect grows, up to 5 s. */
TEST(delay_between_attempts_to_connect_grows_to_at_most_5_s)
{
    unsigned  i;
    uint64_t  before, took, sum;

    process_start(&p);
    assert_int_equal(p.connects, 1);
    sum = 0;

    for (i = 0; i < 12; i++) {
        process_lose(&p, "connection refused");
        before = p.te.now;

        while (!p.connected) {
            process_wait(&p, 1);
        }

        took = p.te.now - before;
        sum += took;
        assert_true(took >= (50u << (i < 6 ? i : 6)) * 1u || took >= 2500);
        assert_true(took <= (100u << (i < 6 ? i : 6)) + 1u);
        assert_true(took <= 5001);
    }

    assert_true(sum > 15000);
    assert_int_equal(p.te.logged, 13 - 1);

    /* a login does not reset the delay; a successful registration does */

    process_login(&p);
    process_receive(&p, "-CLUSTERDOWN Hash slot not served\r\n");
    process_wait(&p, 2499);
    assert_false(p.connected);

    while (!p.connected) {
        process_wait(&p, 1);
    }

    process_login(&p);
    process_receive(&p, "*4\r\n$2\r\nOK\r\n:0\r\n:1\r\n*0\r\n");
    process_lose(&p, "gone");
    process_wait(&p, 101);
    assert_true(p.connected);
}


/* The error of an outage is logged once, and again after a minute. */
TEST(redis_stays_unreachable__the_error_is_logged_once_and_after_a_minute_again)
{
    process_start(&p);
    process_lose(&p, "connection refused");
    assert_string_equal(p.te.last, "cluster: one:6379: connection refused");

    p.te.last[0] = '\0';
    process_wait(&p, 101);
    process_lose(&p, "connection refused");
    assert_string_equal(p.te.last, "");
    assert_string_equal(p.te.info, "cluster: one:6379: connection refused");

    process_wait(&p, 58000);
    assert_string_equal(p.te.last, "");
    process_wait(&p, 10000);
    assert_non_null(strstr(p.te.last, "no connection within 1000 ms ("));
    assert_non_null(strstr(p.te.last, " more errors were logged at level "
                                      "info"));
}


/* Connecting and the login have a time limit each. */
TEST(connecting_or_the_login_exceeds_the_timeout__the_link_is_closed)
{
    process_start(&p);
    process_wait(&p, 999);
    assert_true(p.connected);
    process_wait(&p, 1);
    assert_int_equal(p.disconnects, 1);
    assert_string_equal(p.te.last, "cluster: one:6379: no connection within "
                                   "1000 ms (mcp_cluster_timeout)");

    process_wait(&p, 101);
    process_open(&p);
    process_receive(&p, GOOD_HELLO GOOD_ROLE);
    process_wait(&p, 999);
    assert_int_equal(p.disconnects, 1);
    process_wait(&p, 1);
    assert_int_equal(p.disconnects, 2);
    assert_string_equal(p.te.info, "cluster: one:6379: Redis sent no reply within "
                                   "1000 ms (mcp_cluster_timeout)");

    /* the glue reports events of a connection that was closed before:
     * ignored */

    mcp_link_opened(p.link);
    mcp_link_input(p.link, "+OK\r\n", 5);
    mcp_link_closed(p.link, "late");
    assert_int_equal(mcp_link_output(p.link).len, 0);
    assert_int_equal(p.cluster->link.state, MCP_LINK_DOWN);
}


/* A link that fails before the glue has pulled CONNECT: no DISCONNECT is
 * queued. */
TEST(link_fails_before_glue_has_pulled_action_connect__no_disconnect_is_queued)
{
    mcp_action_t  a;

    p.cluster = mcp_cluster_create(p.worker, &p.conf);
    p.te.now += 1000;
    mcp_worker_expire(p.worker);
    mcp_worker_next(p.worker, &a);
    assert_int_equal(a.type, MCP_ACT_NONE);
    assert_int_equal(p.cluster->link.state, MCP_LINK_DOWN);

    p.te.now += 101;
    mcp_worker_expire(p.worker);
    process_pump(&p);
    assert_true(p.connected);

    /* the connection is closed before the glue has pulled DISCONNECT:
     * DISCONNECT is not queued any more */

    process_open(&p);
    mcp_link_input(p.link, "-ERR no\r\n", 9);
    assert_int_equal(p.cluster->link.state, MCP_LINK_CLOSING);
    assert_int_equal(mcp_link_output(p.link).len, 0);
    process_lose(&p, "gone");
    assert_int_equal(p.disconnects, 0);
    assert_int_equal(p.cluster->link.state, MCP_LINK_DOWN);
}


/* A silent server gets a PING. If there is no reply, the link fails. */
TEST(redis_is_silent__a_ping_is_sent_and_without_a_reply_the_link_fails)
{
    unsigned  i;

    p.conf.node_timeout = 600000;
    process_connect(&p);
    process_receive(&p, "*4\r\n$2\r\nOK\r\n:0\r\n:1\r\n*0\r\n");
    p.taken = p.len;

    for (i = 0; i < 5; i++) {
        process_wait(&p, 1000);
        assert_command(&p, "PING");
        process_wait(&p, 300 + i);
        process_receive(&p, "+PONG\r\n");
        assert_int_equal(p.cluster->link.round_trip, 300 + i);
    }

    process_wait(&p, 1000);
    assert_command(&p, "PING");
    process_wait(&p, 999);
    assert_int_equal(p.disconnects, 0);
    process_wait(&p, 1);
    assert_int_equal(p.disconnects, 1);
    assert_string_equal(p.te.last, "cluster: one:6379: Redis sent no reply for "
                                   "2000 ms");

    /* the process was paused for a long time: it sends a PING before the link
     * may fail */

    process_wait(&p, 101);
    process_login(&p);
    p.taken = p.len;
    p.te.now += 100000;
    mcp_worker_expire(p.worker);
    process_pump(&p);
    assert_true(p.connected);
    assert_command(&p, "PING");
}


static void
ignore(void *data, const mcp_reply_t *reply)
{
}


/* Fills the window with commands, so that no PING can be sent. */
static void
fill(void)
{
    mcp_str_t  word = mcp_str("X");

    while (mcp_link_send(&p.cluster->link, &word, 1, ignore, NULL) == MCP_OK) {
        /* void */
    }

    process_pump(&p);
    p.taken = p.len;
}


/* The window is full, so no PING can be sent: the link fails if no reply
 * arrives. If a reply arrives and the server is then silent again, a PING is
 * sent. */
TEST(maximum_of_commands_is_pending__a_silent_link_fails_without_a_ping)
{
    unsigned  i;

    p.conf.node_timeout = 600000;
    process_connect(&p);
    process_receive(&p, "*4\r\n$2\r\nOK\r\n:0\r\n:1\r\n*0\r\n");
    fill();

    process_wait(&p, 1000);
    assert_command(&p, "");
    process_wait(&p, 300);

    for (i = 0; i < MCP_LINK_WINDOW; i++) {
        process_receive(&p, "+OK\r\n");
    }

    process_wait(&p, 1000);
    assert_true(p.connected);
    assert_command(&p, "PING");
    process_wait(&p, 300);
    process_receive(&p, "+PONG\r\n");
    assert_int_equal(p.cluster->link.round_trip, 300);

    fill();
    process_wait(&p, 1000);
    assert_command(&p, "");
    process_wait(&p, 999);
    assert_true(p.connected);
    process_wait(&p, 1);
    assert_false(p.connected);
}


/* All seeds are tried before the delay grows. */
TEST(reconnect_delay_grows_only_after_all_seed_addresses_were_tried)
{
    unsigned  i;

    static const char *const  hosts[] = { "one", "two", "three" };

    p.conf.n_seeds = 3;
    p.conf.seeds[1] = p.conf.seeds[0];
    p.conf.seeds[1].host = mcp_str("two");
    p.conf.seeds[2] = p.conf.seeds[0];
    p.conf.seeds[2].host = mcp_str("three");

    process_start(&p);

    for (i = 0; i < 7; i++) {
        assert_str_is(mcp_link_target(p.link)->host, hosts[i % 3]);
        process_lose(&p, "refused");
        process_wait(&p, 101 << i / 3);
    }
}


/* An allocation fails: the link fails and is opened again. */
TEST(allocation_on_a_link_fails__the_link_is_closed_and_opened_again)
{
    unsigned long  i, live;

    p.te.tm.fail_at = 1;
    assert_null(mcp_cluster_create(p.worker, &p.conf));
    live = (unsigned long) p.te.tm.live;

    for (i = 1; i < 20; i++) {
        process_start(&p);
        p.te.tm.fail_at = i;
        process_open(&p);

        if (p.connected) {
            process_receive(&p, GOOD_ALL);
        }

        p.te.tm.fail_at = 0;

        if (!p.connected) {
            process_wait(&p, 101);
            process_login(&p);
        }

        mcp_cluster_destroy(p.cluster);
        p.cluster = NULL;
        p.connected = 0;
        assert_int_equal(p.te.tm.live, live);
    }
}


TEST(glue_sets_a_pointer_on_a_link__the_link_returns_the_same_pointer)
{
    int  glue;

    process_start(&p);
    assert_null(mcp_link_glue(p.link));
    mcp_link_set_glue(p.link, &glue);
    assert_ptr_equal(mcp_link_glue(p.link), &glue);
}


RUN_TESTS(setup_process, teardown_process)
