/* SPDX-License-Identifier: Apache-2.0 */

/* A notification for many listeners: the number of appends in one turn of the
 * event loop, and the order of notifications for each listener. */


#define DRIVER_ZONE  (16 * 1024 * 1024)

#include "core_cases.h"

#include "worker/mcp_notification.h"


#define LISTENERS  (2 * MCP_NOTIFY_SLICE + 100)


static mcp_stream_ref_t  refs[LISTENERS + 1];


/* Creates a listener that is subscribed to the list of tools. */
static void
listen_as(unsigned n)
{
    mcp_stream_spec_t  spec;

    memset(&spec, 0, sizeof(spec));
    spec.kind = MCP_STREAM_LISTEN;
    memset(spec.id, 1, MCP_STREAM_ID_LEN);
    memcpy(spec.id, &n, sizeof(n));
    spec.max_wait = 60000;
    spec.max_events = 100;
    spec.max_bytes = 100000;

    assert_ok(mcp_store_create(&d.process[0].store, &spec, d.te.now, &refs[n]));
    assert_ok(mcp_notify_subscribe(d.process[0].worker, &d.endpoint, &refs[n],
                                   MCP_TOPIC_TOOLS));
}


static void
listen_all(void)
{
    unsigned  n;

    for (n = 0; n < LISTENERS; n++) {
        listen_as(n);
    }
}


/* Returns the number of listeners that have at least "events" events. */
static unsigned
served(uint64_t events)
{
    unsigned           n, count;
    mcp_stream_info_t  info;

    count = 0;

    for (n = 0; n < LISTENERS; n++) {
        assert_ok(mcp_store_info(&d.process[0].store, &refs[n], &info));
        count += info.last_seq >= events;
    }

    return count;
}


static void
changed(const char *message)
{
    mcp_notify_list(d.process[0].worker, MCP_TOPIC_TOOLS, NULL,
                    test_str(message));
}


/* Runs one turn of the event loop. */
static void
turn(void)
{
    d.te.now = mcp_worker_deadline(d.process[0].worker, NULL);
    mcp_worker_expire(d.process[0].worker);
}


TEST(notification_has_many_listeners__each_turn_serves_at_most_one_slice)
{
    listen_all();
    changed(CHANGED);
    assert_int_equal(served(1), MCP_NOTIFY_SLICE);
    turn();
    assert_int_equal(served(1), 2 * MCP_NOTIFY_SLICE);
    turn();
    assert_int_equal(served(1), LISTENERS);
    assert_int_equal(served(2), 0);
}


/* Two notifications follow each other: all listeners get the first one before
 * any gets the second. A listener that is created after both gets neither. */
TEST(two_notifications_follow_each_other__listeners_get_the_first_one_first)
{
    unsigned           n, sum;
    mcp_stream_info_t  info;

    listen_all();
    changed(CHANGED);
    changed(CHANGED " ");
    assert_int_equal(served(1), MCP_NOTIFY_SLICE);
    listen_as(LISTENERS);

    for (n = 2; n <= 4; n++) {
        turn();
        sum = served(1) + served(2);
        assert_int_equal(sum, n * MCP_NOTIFY_SLICE);
        assert_true(served(2) == 0 || served(1) == LISTENERS);
    }

    turn();
    assert_int_equal(served(2), LISTENERS);
    assert_int_equal(served(3), 0);
    assert_ok(mcp_store_info(&d.process[0].store, &refs[LISTENERS], &info));
    assert_int_equal(info.last_seq, 0);
}


TEST(process_stops_during_a_notification__all_remaining_listeners_get_it)
{
    listen_all();
    changed(CHANGED);
    assert_int_equal(served(1), MCP_NOTIFY_SLICE);
    mcp_worker_stop(d.process[0].worker, 0);
    assert_int_equal(served(1), LISTENERS);
    changed(CHANGED);
    assert_int_equal(served(2), LISTENERS);
}


TEST(no_memory_to_split_a_notification__all_listeners_get_it_at_once)
{
    unsigned char     topic[MCP_DIGEST_LEN];
    mcp_publish_to_t  all = { MCP_PUBLISH_ALL, 0, 0 };

    listen_all();
    changed(CHANGED);
    assert_ok(mcp_topic_list(MCP_TOPIC_TOOLS, NULL, topic));
    d.te.tm.fail_at = 1;
    mcp_notify_slices(d.process[0].worker, topic, mcp_str(CHANGED), &all);
    assert_int_equal(d.te.tm.failed, 1);
    assert_int_equal(served(2), LISTENERS);
}


RUN_TESTS(setup, teardown)
