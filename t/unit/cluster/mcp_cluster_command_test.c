/* SPDX-License-Identifier: Apache-2.0 */

/* Commands on a link: how many are accepted, how they are written, and replies
 * that end the link. */

#include "cluster_process.h"


static unsigned  replies, lost;


static int
setup(void **state)
{
    setup_process(state);
    replies = 0;
    lost = 0;

    return 0;
}


static void
count(void *data, const mcp_reply_t *reply)
{
    replies += reply != NULL;
    lost += reply == NULL;
}


static int
send_word(const char *text)
{
    mcp_str_t  word = test_str(text);

    return mcp_link_send(&p.cluster->link, &word, 1, count, NULL);
}


/* The server replies that it cannot serve at present, or a reply is invalid:
 * the link is closed and opened again after a delay, and pending commands get
 * no reply. */
TEST(redis_is_loading_or_sends_an_invalid_reply__the_link_is_opened_again)
{
    unsigned  i;

    static const char *const  faults[] = {
        "-LOADING Redis is loading the dataset in memory\r\n",
        "-BUSY Redis is busy running a script\r\n",
        "-READONLY You can't write against a read only replica.\r\n",
        "-MASTERDOWN Link with MASTER is down\r\n",
        "-NOAUTH Authentication required.\r\n",
        "-CLUSTERDOWN Hash slot not served\r\n",
        "-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
        "-ASK 3999 127.0.0.1:6381\r\n",
        "-MOVED nonsense\r\n",
        "-MOVED 1 a:0\r\n",
        "-MOVED 1 a:65536\r\n",
        "-MOVED 1 :x\r\n",
        "hello\r\n",
        "*4294967296\r\n",
    };

    process_start(&p);

    for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        process_login(&p);
        process_receive(&p, "*4\r\n$2\r\nOK\r\n:0\r\n:1\r\n*0\r\n");
        assert_ok(send_word("A"));
        assert_ok(send_word("B"));
        lost = 0;
        process_receive(&p, faults[i]);
        assert_int_equal(p.disconnects, i + 1);
        assert_int_equal(p.cluster->link.state, MCP_LINK_DOWN);
        assert_int_equal(lost, 2);
        assert_int_equal(send_word("C"), MCP_AGAIN);
        assert_int_equal(p.connects, i + 1);
        process_wait(&p, 49);
        assert_int_equal(p.connects, i + 1);
        process_wait(&p, 52);
        assert_int_equal(p.connects, i + 2);
    }

    assert_int_equal(replies, 0);
}


/* A reply without a pending command: the link is closed. */
TEST(redis_sends_a_reply_although_no_command_is_pending__the_link_is_closed)
{
    process_connect(&p);
    process_receive(&p, "*4\r\n$2\r\nOK\r\n:0\r\n:1\r\n*0\r\n+OK\r\n");
    assert_int_equal(p.disconnects, 1);
}


/* The server redirects to another server: the link is opened there at once,
 * but at most five times in a row. */
TEST(redirections_are_followed_at_most_five_times_in_a_row)
{
    unsigned  i;

    process_connect(&p);
    process_receive(&p, "-MOVED 3999 10.0.0.7:6381\r\n");
    assert_int_equal(p.disconnects, 1);
    process_wait(&p, 0);
    assert_true(p.connected);
    assert_str_is(mcp_link_target(p.link)->host, "10.0.0.7");
    assert_int_equal(mcp_link_target(p.link)->port, 6381);

    process_login(&p);
    process_receive(&p, "-MOVED 3999 ::1:6382\r\n");
    process_wait(&p, 0);
    assert_str_is(mcp_link_target(p.link)->host, "::1");
    assert_int_equal(mcp_link_target(p.link)->port, 6382);

    process_login(&p);
    process_receive(&p, "-MOVED 3999 :6383\r\n");
    process_wait(&p, 0);
    assert_str_is(mcp_link_target(p.link)->host, "::1");
    assert_int_equal(mcp_link_target(p.link)->port, 6383);

    /* the server of the redirection cannot be reached: the link is opened at a
     * seed again */

    process_lose(&p, "connection refused");
    process_wait(&p, 0);
    assert_false(p.connected);
    process_wait(&p, 200);
    assert_str_is(mcp_link_target(p.link)->host, "one");

    /* each server redirects during the login: after five redirections, the
     * link is opened at a seed, after a delay */

    for (i = 0; p.connected; i++) {
        assert_true(i < 10);
        process_open(&p);
        process_receive(&p, "-MOVED 1 b:1\r\n");
        process_wait(&p, 0);
    }

    assert_int_equal(i, MCP_LINK_REDIRECTS + 1);
    process_wait(&p, 500);
    assert_str_is(mcp_link_target(p.link)->host, "one");
}


/* Too many commands without a reply, or too many unwritten bytes: the link
 * accepts no further command. */
TEST(too_many_commands_or_bytes_are_pending__the_link_accepts_no_more_commands)
{
    int        i;
    char       big[100000];
    mcp_str_t  word = { big, sizeof(big) };

    p.conf.node_timeout = 600000;
    process_connect(&p);
    process_receive(&p, "*4\r\n$2\r\nOK\r\n:0\r\n:1\r\n*0\r\n");

    for (i = 0; send_word("X") == MCP_OK; i++) {
        process_pump(&p);
    }

    assert_int_equal(i, MCP_LINK_WINDOW);
    process_receive(&p, "+OK\r\n");
    assert_int_equal(replies, 1);
    assert_ok(send_word("X"));
    assert_int_equal(send_word("X"), MCP_AGAIN);

    while (replies < MCP_LINK_WINDOW + 1) {
        process_receive(&p, "+OK\r\n-ERR x\r\n");
    }

    p.stuck = 1;
    memset(big, 'x', sizeof(big));

    for (i = 0; i < 1000; i++) {
        if (mcp_link_send(&p.cluster->link, &word, 1, count, NULL) != MCP_OK) {
            break;
        }

        process_pump(&p);
    }

    assert_int_equal(i, 168);
    assert_int_equal(send_word("X"), MCP_AGAIN);
    process_lose(&p, "gone");
    assert_int_equal(lost, 168);
}


/* Long commands of one client are unwritten: commands of other clients are
 * accepted. */
TEST(long_commands_are_not_written_yet__short_commands_are_still_accepted)
{
    size_t     i;
    char      *big;
    mcp_str_t  word;

    big = calloc(1, 2000000);
    assert_non_null(big);
    word = (mcp_str_t) { big, 2000000 };

    process_connect(&p);
    process_receive(&p, "*4\r\n$2\r\nOK\r\n:0\r\n:1\r\n*0\r\n");

    for (i = 0; i < 4; i++) {
        assert_ok(mcp_link_send(&p.cluster->link, &word, 1, count, NULL));
        assert_ok(send_word("X"));
    }

    free(big);
}


/* One command may fill the whole limit of unwritten bytes. Its buffer is freed
 * when the command has been written. */
TEST(command_fills_the_whole_byte_limit__its_buffer_is_freed_once_written)
{
    size_t     len;
    char      *big;
    mcp_str_t  left, word;

    len = MCP_LINK_BYTES;
    big = malloc(len);
    assert_non_null(big);
    memset(big, 'x', len);
    word = (mcp_str_t) { big, len };

    p.conf.node_timeout = 600000;
    process_connect(&p);
    process_receive(&p, "*4\r\n$2\r\nOK\r\n:0\r\n:1\r\n*0\r\n");

    assert_ok(mcp_link_send(&p.cluster->link, &word, 1, count, NULL));
    assert_int_equal(send_word("X"), MCP_AGAIN);

    /* the bytes of the long command are counted as bytes of a replicator,
     * which have a limit of their own: other commands are accepted */

    mcp_link_replicated(&p.cluster->link, 0);
    assert_ok(send_word("X"));
    assert_false(mcp_link_has_room(&p.cluster->link));

    /* while the command is being written, the link expects no reply and does
     * not fail */

    for (left = mcp_link_output(&p.cluster->link); left.len > 0;
         left = mcp_link_output(&p.cluster->link))
    {
        mcp_link_written(&p.cluster->link,
                         left.len < 300000 ? left.len : 300000);
        p.te.now += p.conf.timeout - 1;
        mcp_worker_expire(p.worker);
        assert_int_equal(p.cluster->link.state, MCP_LINK_UP);
    }

    assert_true(p.cluster->link.out[0].cap <= MCP_LINK_BYTES_KEPT
                && p.cluster->link.out[1].cap <= MCP_LINK_BYTES_KEPT);
    assert_int_equal(p.cluster->link.replicated, 0);
    assert_true(mcp_link_has_room(&p.cluster->link));
    assert_ok(send_word("X"));
    free(big);
}


/* Bytes that are being written do not move when other commands are added. */
TEST(commands_are_queued_during_a_write__the_bytes_being_written_do_not_move)
{
    char       first[32];
    unsigned   i;
    mcp_str_t  out, same;

    p.conf.node_timeout = 600000;
    process_connect(&p);
    process_receive(&p, "*4\r\n$2\r\nOK\r\n:0\r\n:1\r\n*0\r\n");

    p.stuck = 1;
    assert_ok(send_word("FIRST"));
    process_pump(&p);
    out = mcp_link_output(p.link);
    assert_int_equal(out.len, 15);
    memcpy(first, out.data, out.len);

    for (i = 0; i < 1000; i++) {
        assert_ok(send_word("SECOND"));
    }

    same = mcp_link_output(p.link);
    assert_ptr_equal(same.data, out.data);
    assert_int_equal(same.len, out.len);
    assert_memory_equal(out.data, first, 15);

    mcp_link_written(p.link, 10);
    assert_int_equal(mcp_link_output(p.link).len, 5);
    mcp_link_written(p.link, 500);
    assert_int_equal(mcp_link_output(p.link).len, 16000);
    mcp_link_written(p.link, 16000);
    assert_int_equal(mcp_link_output(p.link).len, 0);
    assert_int_equal(mcp_link_output(p.link).len, 0);
}


RUN_TESTS(setup, teardown_process)
