/* SPDX-License-Identifier: Apache-2.0 */

/* Acknowledgements of Redis's replicas: one WAIT serves many streams, and
 * other commands are not delayed for long. */

#include "cluster_streams.h"


#define STREAMS  30


/* Sends "text" on a separate connection, and returns all replies. The last
 * command in "text" has to be QUIT, by which Redis closes the connection. */
static const char *
query_redis(const char *text)
{
    int          fd;
    size_t       len = 0;
    ssize_t      n;
    static char  buf[65536];

    fd = dial();
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));

    while ((n = read(fd, buf + len, sizeof(buf) - 1 - len)) > 0) {
        len += (size_t) n;
    }

    close(fd);
    buf[len] = '\0';

    return buf;
}


static unsigned
n_waits(void)
{
    const char  *p;

    p = strstr(query_redis("INFO commandstats\r\nQUIT\r\n"),
               "cmdstat_wait:calls=");

    return p ? (unsigned) strtoul(p + strlen("cmdstat_wait:calls="), NULL, 10)
             : 0;
}


/* Opens a connection that Redis takes for a replica, and acknowledges all
 * future data on it. Returns the descriptor of the connection. */
static int
be_replica(void)
{
    int            fd;
    char           buf[4096];
    struct pollfd  wait;

    static const char  first[] = "REPLCONF capa eof\r\n";
    static const char  second[] = "PSYNC ? -1\r\n";
    static const char  ack[] = "REPLCONF ACK 1000000000000\r\n";

    (void) query_redis("CONFIG SET repl-diskless-sync-delay 0\r\nQUIT\r\n");
    fd = dial();
    assert_true(fd >= 0);
    assert_int_equal(write(fd, first, strlen(first)), strlen(first));
    assert_true(read(fd, buf, sizeof(buf)) > 0);
    assert_int_equal(write(fd, second, strlen(second)), strlen(second));

    wait.fd = fd;
    wait.events = POLLIN;

    do {
        if (poll(&wait, 1, 10) == 1) {
            assert_true(read(fd, buf, sizeof(buf)) > 0);
        }

        assert_int_equal(write(fd, ack, strlen(ack)), strlen(ack));
    } while (strstr(query_redis("INFO replication\r\nQUIT\r\n"),
                    "state=online")
             == NULL);

    assert_int_equal(write(fd, ack, strlen(ack)), strlen(ack));

    return fd;
}


/* Creates STREAMS streams at node i. When Redis has them, requires one replica
 * and appends an event to each stream. */
static void
make_streams(int i)
{
    int  n;

    for (n = 0; n < STREAMS; n++) {
        make(i, (char) ('A' + n));
    }

    for (n = 0; n < STREAMS; n++) {
        UNTIL(repl_state(i, (char) ('A' + n)).created);
    }

    nodes[i].conf.replicas = 1;
    (void) query_redis("CONFIG RESETSTAT\r\nQUIT\r\n");

    for (n = 0; n < STREAMS; n++) {
        add_events(i, (char) ('A' + n), 1);
    }
}


static unsigned
n_replicated(int i)
{
    int       n;
    unsigned  replicated = 0;

    for (n = 0; n < STREAMS; n++) {
        replicated += repl_state(i, (char) ('A' + n)).acked.seq == 1;
    }

    return replicated;
}


/* Redis has no replica: no event is acknowledged, but heartbeats get their
 * replies in time, however many streams wait for a replica. */
TEST(redis_has_no_replica__events_wait_but_heartbeats_are_not_delayed)
{
    unsigned  waits;
    uint64_t  begun;

    begin_all(1);
    make_streams(0);
    begun = real_now();

    while (real_now() < begun + 3000) {
        carry(0);
        assert_true(real_now() - node_info(0).view.at < nodes[0].conf.node_timeout);
        usleep(1000);
    }

    assert_int_equal(n_replicated(0), 0);
    waits = n_waits();
    assert_true(waits >= 2 && waits < STREAMS / 2);

    /* the configuration requires no replica any more: all events are
     * acknowledged */

    nodes[0].conf.replicas = 0;
    UNTIL(n_replicated(0) == STREAMS);
}


/* Redis has a replica: all events are acknowledged, with fewer WAITs than half
 * the number of streams. */
TEST(thirty_streams_get_events__fewer_than_15_wait_commands_acknowledge_them)
{
    int  fd;

    begin_all(1);
    fd = be_replica();
    make_streams(0);
    UNTIL(n_replicated(0) == STREAMS);
    assert_true(n_waits() >= 1 && n_waits() < STREAMS / 2);
    assert_null(nodes[0].cluster->ack_waiters);

    /* an event that is appended later is acknowledged, too */

    add_acked(0, 'A', 1);
    close(fd);
}


/* The link is lost while streams wait for a replica: their events are sent
 * again on the next link. */
TEST(link_is_lost_during_a_wait_command__its_events_are_acknowledged_later)
{
    int  fd;

    begin_all(1);
    make_streams(0);
    UNTIL(nodes[0].cluster->ack_waiters);
    cut_off(0);
    assert_null(nodes[0].cluster->ack_waiters);
    assert_false(nodes[0].cluster->ack_pending);
    fd = be_replica();
    UNTIL(n_replicated(0) == STREAMS);
    close(fd);
}


/* A stream is freed while it waits for a replica: its replication is freed
 * after the reply to WAIT, which has no effect on the next stream with that
 * id. */
TEST(wait_reply_for_a_freed_stream_has_no_effect_on_a_new_stream_of_that_id)
{
    mcp_stream_info_t  info;

    begin_all(1);
    make(0, 'a');
    make(0, 'b');
    UNTIL(repl_state(0, 'a').created && repl_state(0, 'b').created);
    nodes[0].conf.replicas = 1;
    add_events(0, 'a', 3);
    add_events(0, 'b', 3);
    UNTIL(nodes[0].cluster->ack_waiters
          && nodes[0].cluster->ack_waiters->ack_next == NULL);

    info = info_of(0, 'a');
    mcp_store_free(&nodes[0].store, &info.ref);
    info = info_of(0, 'b');
    mcp_store_free(&nodes[0].store, &info.ref);
    mcp_worker_wake(nodes[0].worker);
    make(0, 'a');
    nodes[0].conf.replicas = 0;
    UNTIL(repl_state(0, 'a').created);
    assert_int_equal(repl_state(0, 'a').acked.seq, 0);
    UNTIL(n_replications(0) == 1);
}


/* The process ends while streams wait for a replica. */
TEST(process_ends_while_streams_wait_for_a_replica__memory_is_freed)
{
    begin_all(1);
    make_streams(0);
    UNTIL(nodes[0].cluster->ack_waiters);
}


/* The Redis user has no right to WAIT: an error, and no event is
 * acknowledged. */
TEST(redis_user_has_no_right_to_the_command_wait__no_event_is_acknowledged)
{
    begin_all(1);
    make(0, 'A');
    UNTIL(repl_state(0, 'A').created);
    nodes[0].conf.replicas = 1;
    assert_string_equal(command(0, "ACL SETUSER default -wait"), "OK");
    add_events(0, 'A', 1);
    UNTIL(strstr(node_info(0).error, "WAIT: NOPERM"));
    assert_int_equal(repl_state(0, 'A').acked.seq, 0);
    assert_string_equal(command(0, "ACL SETUSER default +@all"), "OK");
    nodes[0].conf.replicas = 0;
    UNTIL(repl_state(0, 'A').acked.seq == 1);
}


RUN_TESTS_WITH_REDIS(start)
