/* SPDX-License-Identifier: Apache-2.0 */

/* A call that other requests may join: it begins after the result of the hook
 * "await_replication", and its response is sent after Redis has acknowledged
 * the response. */

#include "join_cases.h"
#include "store/mcp_store_replication.h"
#include "worker/mcp_cluster_operation.h"


static mcp_operation_t  *pending;
static unsigned    n_pending;


static void
share(void *ctx, const mcp_stream_ref_t *ref, uint32_t limit)
{
    assert_ok(mcp_store_replication_start(&d.process[1].store, ref, 1));
}


static int
await_replication(void *ctx, const mcp_stream_ref_t *ref, mcp_operation_t *op)
{
    pending = op;
    n_pending++;

    return MCP_AGAIN;
}


static const mcp_cluster_hooks_t  hooks = {
    .is_unreachable = redis_reachable,
    .clock = clock_agrees,
    .check_leader = leader_stays,
    .replicate = share,
    .await_replication = await_replication,
    .changed = changes_nothing
};


static void
asks(const char *id)
{
    char  text[512];

    pending = NULL;
    d.process[1].worker->cluster_hooks = &hooks;
    d.process[1].worker->cluster = &n_pending;

    snprintf(text, sizeof(text), REQUEST("%s", "tools/call", "{\"name\":"
             "\"other\",\"idempotencyKey\":\"k\"}"), id);
    client_post(&d, 1, &a, session, text);
    assert_int_equal(a.next, MCP_NEXT_WAIT);
    assert_non_null(pending);
}


static void
answer(int rc)
{
    mcp_operation_complete(pending, rc);
    driver_pump(&d);
}


static void
refused(int status)
{
    assert_int_equal(a.status, status);
    assert_int_equal(d.n_breqs, 0);
    client_close(&d, &a);
    d.process[1].worker->cluster = NULL;
    quiet();
}


TEST(replicated_call_waits_for_redis_before_it_starts_and_before_its_response)
{
    asks("1");
    assert_int_equal(d.n_breqs, 0);
    assert_int_equal(mcp_exchange_is_open(a.x), 1);
    answer(MCP_OK);
    assert_int_equal(d.n_breqs, 1);

    /* the response is sent when Redis has acknowledged it */

    backend_json(&d, RESULT);
    assert_int_equal(a.status, 0);
    answer(MCP_OK);
    assert_int_equal(a.status, 200);
    has(a.text, "\"result\":" RESULT);
    sent(&a);
}


/* No result from the cluster within MCP_OPERATION_TIME: the response is sent
 * as a stream. */
TEST(redis_does_not_acknowledge_a_response_within_1_s__the_response_is_a_stream)
{
    asks("1");
    answer(MCP_OK);
    backend_json(&d, RESULT);
    driver_wait(&d, MCP_OPERATION_TIME + 1);
    mcp_operation_complete(pending, MCP_OK);
    assert_int_equal(a.streaming, 1);
}


TEST(cluster_is_unreachable_or_has_no_room_or_responds_late__the_call_gets_503)
{
    asks("1");
    answer(MCP_ERR_UNREACHABLE);
    refused(503);

    asks("2");
    answer(MCP_ERR_FULL);
    refused(503);

    asks("3");
    driver_wait(&d, MCP_OPERATION_TIME + 1);
    mcp_operation_complete(pending, MCP_OK);
    refused(503);
}


/* An equal call at another node was the first one, but its stream no longer
 * exists: the stream of this call is created again. */
TEST(equal_call_at_another_node_is_gone__the_call_creates_its_own_stream_again)
{
    unsigned  n;

    asks("1");
    n = n_pending;
    answer(MCP_ERR_EXISTS);
    assert_int_equal(n_pending, n + 1);
    assert_int_equal(a.status, 0);
    answer(MCP_ERR_NOT_FOUND);
    assert_int_equal(n_pending, n + 2);
    answer(MCP_OK);
    assert_int_equal(d.n_breqs, 1);
}


/* The client disconnects before the result of "await_replication": the call
 * does not begin. */
TEST(client_disconnects_before_replication__the_call_does_not_begin)
{
    asks("1");
    client_close(&d, &a);
    mcp_operation_complete(pending, MCP_OK);
    driver_pump(&d);
    assert_int_equal(d.n_breqs, 0);
    d.process[1].worker->cluster = NULL;
}


RUN_TESTS(join_setup, join_teardown)
