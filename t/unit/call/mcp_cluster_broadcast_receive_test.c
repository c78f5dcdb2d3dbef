/* SPDX-License-Identifier: Apache-2.0 */

/* Broadcasts between two nodes, each with a zone. */


#include "core_cases.h"
#include "call/mcp_cluster_broadcast_receive.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_notification.h"


static driver_t    there;
static mcp_broadcast_t  broadcast;
static unsigned    n_broadcasts;


static int
broadcasts(void *ctx, const mcp_operation_spec_t *spec, mcp_operation_t *op)
{
    assert_int_equal(spec->kind, MCP_OPERATION_BROADCAST);
    broadcast = spec->broadcast;
    n_broadcasts++;

    return MCP_OK;
}


static const mcp_cluster_hooks_t  hooks = {
    .start = broadcasts,
    .is_unreachable = redis_reachable,
    .clock = clock_agrees,
    .check_leader = leader_stays,
    .replicate = replicates_nothing
};


/* Creates the second node, "there", with the same signing keys as the first
 * one, where the session began. */
static int
both(void **state)
{
    setup(state);
    driver_init(&there);

    there.process[0].worker->cluster_hooks = &hooks;
    there.process[0].worker->cluster = &there;
    n_broadcasts = 0;

    return 0;
}


static int
neither(void **state)
{
    driver_destroy(&there);

    return teardown(state);
}


static void
said(unsigned n)
{
    assert_int_equal(n_broadcasts, n);
    mcp_operation_receive(d.process[1].worker, &broadcast);
    driver_pump(&d);
}


static void
post(const char *message, int status)
{
    client_post(&there, 0, &b, session, message);
    assert_int_equal(b.status, status);
    client_close(&there, &b);
}


TEST(session_is_deleted_at_another_node__its_calls_end)
{
    call(0);
    driver_wait(&d, 1500);

    client_init(&b, session);
    client_send(&there, 0, &b, "DELETE", "");
    assert_int_equal(b.status, 204);
    client_close(&there, &b);

    said(1);
    aborts_after(250, 1);
    client_close(&d, &a);

    client_post(&d, 0, &a, session, PING);
    answered(&a, 404, NULL);
    quiet();

    /* a repeated broadcast has no further effect */

    said(1);
    assert_int_equal(stats().values, 1);
}


TEST(log_level_is_set_at_another_node__this_node_stores_it)
{
    post(REQUEST("1", "logging/setLevel", "{\"level\":\"error\"}"), 200);
    said(1);
    assert_int_equal(stats().values, 1);

    /* a broadcast of a log level that does not exist, for another session:
     * ignored */

    broadcast.value = 8;
    broadcast.key[0] ^= 1;
    said(1);
    assert_int_equal(stats().values, 1);
}


TEST(call_is_cancelled_at_another_node__it_is_aborted)
{
    /* a cancellation of a durable call, which the other node broadcasts */

    call(0);
    driver_wait(&d, 1500);
    post(CANCEL7, 202);
    said(1);
    assert_int_equal(d.aborts, 1);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    quiet();

    /* a cancellation of a call that is not durable */

    client_post(&d, 0, &a, session, CALL8);
    post(NOTE("notifications/cancelled", "{\"requestId\":8}"), 202);
    said(2);
    aborts_after(1500, 2);
    assert_int_equal(a.ended, 1);
}


/* A list_changed notification reaches the listeners of all nodes. */
TEST(list_changes_at_another_node__the_listeners_of_this_node_are_notified)
{
    size_t  i;

    static const char *const  invalid[] = {
        "", "7", "{", "{}", "{\"method\":7}", "{\"method\":\"ping\"}",
        "{\"method\":\"notifications/resources/updated\"}",
        "{\"method\":\"notifications/resources/updated\","
        "\"params\":{\"uri\":7}}"
    };

    client_resume(&d, 0, &a, session, NULL);
    assert_int_equal(a.status, 200);

    assert_int_equal(mcp_notify_broadcast(there.process[0].worker,
                         mcp_str("notifications/tools/list_changed"),
                         mcp_null_str, mcp_str(CHANGED)), 1);
    said(1);
    assert_int_equal(count(a.text, CHANGED), 1);

    /* other notifications are not broadcast */

    assert_int_equal(mcp_notify_broadcast(there.process[0].worker,
                         mcp_str("notifications/message"), mcp_null_str,
                         mcp_str("{}")), 0);
    assert_int_equal(n_broadcasts, 1);

    /* notifications of the other node with texts that no node sends: nothing
     * is broken */

    for (i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++) {
        broadcast.message = test_str(invalid[i]);
        said(1);
    }

    /* line ends in a message are removed, because the data of an SSE event is
     * one line */

    broadcast.message = mcp_str("{\"jsonrpc\":\"2.0\",\n\"method\":"
                           "\"notifications/prompts/list_changed\"}");
    said(1);
    has(a.text, "data: {\"jsonrpc\":\"2.0\", \"method\":"
                "\"notifications/prompts/list_changed\"}\n\n");
    assert_int_equal(count(a.text, "data: {"), 2);
    client_close(&d, &a);

    /* a notification that is too long for a broadcast is delivered at this
     * node only */

    snprintf(line, sizeof(line), "{\"method\":\"%08192d\"}", 7);
    assert_int_equal(mcp_notify_broadcast(there.process[0].worker,
                         mcp_str("notifications/tools/list_changed"),
                         mcp_null_str, test_str(line)), 1);
    assert_int_equal(n_broadcasts, 1);
}


/* A broadcast that is outdated or unknown changes nothing. */
TEST(outdated_or_unknown_broadcast_changes_nothing)
{
    post(REQUEST("1", "logging/setLevel", "{\"level\":\"error\"}"), 200);

    broadcast.expires = d.te.now;
    said(1);

    broadcast.expires = d.te.now + 1000;
    broadcast.what = (mcp_broadcast_e) MCP_VALUE_TOKEN_USED;
    said(1);
    assert_int_equal(stats().values, 0);
}


#undef test
RUN_TESTS(both, neither)
