/* SPDX-License-Identifier: Apache-2.0 */

/* A subscription in a cluster: its response waits until all nodes have stored
 * the subscription. */


#include "core_cases.h"
#include "worker/mcp_cluster_operation.h"


static struct {
    int                    says;  /* the value that topic() returns */
    unsigned               asked;
    unsigned               shared;
    mcp_operation_topic_t  topic;
    mcp_operation_t       *op;
} cluster;


static int
topic(void *ctx, const mcp_operation_spec_t *spec, mcp_operation_t *op)
{
    assert_ptr_equal(ctx, &cluster);
    cluster.asked++;
    assert_int_equal(spec->kind, MCP_OPERATION_TOPIC);
    cluster.topic = spec->topic;
    cluster.op = cluster.says == MCP_AGAIN ? op : NULL;

    return cluster.says;
}


static void
share(void *ctx, const mcp_stream_ref_t *ref, uint32_t limit)
{
    cluster.shared++;
}


static const mcp_cluster_hooks_t  hooks = {
    .start = topic,
    .is_unreachable = redis_reachable,
    .clock = clock_agrees,
    .check_leader = leader_stays,
    .replicate = share
};


static void
join(int says)
{
    memset(&cluster, 0, sizeof(cluster));
    cluster.says = says;

    d.process[1].worker->cluster_hooks = &hooks;
    d.process[1].worker->cluster = &cluster;
}


static void
answer(int rc)
{
    mcp_operation_t  *op;

    op = cluster.op;
    cluster.op = NULL;
    assert_non_null(op);
    mcp_operation_complete(op, rc);
    driver_pump(&d);
}


static void
subscribe(const char *method)
{
    char  text[200];

    snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
             "\"resources/%s\",\"params\":{\"uri\":\"test://a\"}}", method);
    client_post(&d, 1, &b, session, text);
}


/* The session's stream is at another node: the response waits for the result
 * of the cluster. */
TEST(session_stream_is_at_another_node__subscribe_waits_for_the_cluster)
{
    join(MCP_AGAIN);
    subscribe("subscribe");
    assert_int_equal(b.status, 0);
    assert_int_equal(cluster.asked, 1);
    assert_int_equal(cluster.topic.subscribe, 1);
    driver_wait(&d, 300);
    assert_int_equal(b.status, 0);
    assert_int_equal(cluster.asked, 1);
    answer(MCP_OK);
    has(b.text, "\"result\":{}");
    client_close(&d, &b);
    assert_int_equal(stats().listeners, 0);

    subscribe("unsubscribe");
    assert_int_equal(cluster.topic.subscribe, 0);
    answer(MCP_OK);
    has(b.text, "\"result\":{}");
}


/* The call has become a stream before the cluster's result is there: the
 * client gets its response in the stream. */
TEST(cluster_responds_late__the_subscribe_of_a_connected_client_still_succeeds)
{
    join(MCP_AGAIN);
    subscribe("subscribe");
    driver_wait(&d, 2000);
    answer(MCP_OK);
    has(b.text, "\"result\":{}");
    client_close(&d, &b);

    /* the client has disconnected, or has cancelled the request, before the
     * cluster's result is there: no listener is left */

    subscribe("subscribe");
    client_close(&d, &b);
    answer(MCP_OK);

    subscribe("subscribe");
    driver_wait(&d, 2000);
    cancel(0, session, "1");
    answer(MCP_ERR_NOT_FOUND);
    client_close(&d, &b);
    assert_int_equal(stats().listeners, 0);
}


/* No node has a stream of the session: this node creates one, and queries the
 * cluster again. */
TEST(no_node_has_a_stream_of_the_session__the_subscribing_node_creates_one)
{
    join(MCP_AGAIN);
    subscribe("unsubscribe");
    answer(MCP_ERR_NOT_FOUND);
    has(b.text, "\"result\":{}");
    client_close(&d, &b);
    assert_int_equal(stats().listeners, 0);

    subscribe("subscribe");
    answer(MCP_ERR_NOT_FOUND);
    assert_int_equal(b.status, 0);
    assert_int_equal(cluster.shared, 1);
    assert_int_equal(stats().subscriptions, 3);
    answer(MCP_OK);
    has(b.text, "\"result\":{}");
    client_close(&d, &b);
    assert_int_equal(cluster.asked, 3);

    /* the session unsubscribes: its stream at this node loses the subscription
     * before the cluster's result is there */

    client_post(&d, 1, &b, session,
                REQUEST("1", "resources/unsubscribe",
                        "{\"uri\":\"test://a\"}"));
    assert_int_equal(stats().subscriptions, 2);
    answer(MCP_ERR_NOT_FOUND);
    client_close(&d, &b);

    /* standalone node, where topic() returns MCP_ERR_NOT_FOUND at once: it is
     * called twice, and then the client gets its response */

    join(MCP_ERR_NOT_FOUND);
    subscribe("subscribe");
    has(b.text, "\"result\":{}");
    assert_int_equal(cluster.asked, 2);
    client_close(&d, &b);
    end_session(0, session);
}


/* Redis is unreachable: subscriptions of streams at this node succeed, others
 * fail. */
TEST(redis_is_unreachable__subscribe_works_only_for_a_stream_at_this_node)
{
    join(MCP_ERR_UNREACHABLE);
    subscribe("subscribe");
    has(b.text, "cannot be reached");
    client_close(&d, &b);
    assert_int_equal(stats().listeners, 0);

    client_resume(&d, 0, &a, session, NULL);
    subscribe("subscribe");
    has(b.text, "\"result\":{}");
    client_close(&d, &b);
    assert_int_equal(stats().subscriptions, 3);
    client_close(&d, &a);
    end_session(0, session);
}


RUN_TESTS(setup, teardown)
