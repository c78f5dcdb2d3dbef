/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of requests that join calls. */

#include "join_cases.h"
#include "worker/mcp_cluster_operation.h"


/* Two requests have the same key: both get the response of one call, each with
 * its own id. */
TEST(two_requests_have_the_same_key__both_get_the_response_of_one_call)
{
    client_post(&d, 0, &a, session, KEYED("1", "other", "\"k\""));
    client_post(&d, 1, &b, session, KEYED("\"2\"", "other", "\"k\""));
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(b.streaming, 1);
    assert_int_equal(joined(), 1);
    variable_is(mcp_exchange_variables(b.x), MCP_VARIABLE_JOINED, "1");
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_JOINED, "");

    backend_json(&d, RESULT);
    assert_string_equal(a.text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":"
                        RESULT "}");
    has(b.text, JOINED_ANSWER("\"2\""));
    has_not(b.text, "id: ");
    assert_int_equal(b.ended, 1);
    sent(&a);
    sent(&b);

    /* requests with the same key get the response at any process, until
     * mcp_linger is over */

    client_post(&d, 0, &a, session, KEYED("3", "other", "\"k\""));
    has(a.text, JOINED_ANSWER("3"));
    sent(&a);
    assert_int_equal(d.n_breqs, 0);
    driver_wait(&d, 5001);
    client_post(&d, 0, &a, session, KEYED("4", "other", "\"k\""));
    assert_int_equal(d.n_breqs, 1);
    backend_json(&d, RESULT);
    sent(&a);
    driver_wait(&d, 60001);
}


TEST(request_joins_a_call__it_gets_later_progress_and_the_response)
{
    mcp_backend_request_t  *breq;

    client_post(&d, 0, &a, session, KEYED("1", "other", "\"k\""));
    breq = backend_stream(&d, 0);
    backend_send(&d, breq, NOTE("notifications/progress", "{\"progressToken\":"
                "1,\"progress\":1}") "\n");
    client_post(&d, 1, &b, session, KEYED("2", "other", "\"k\""));
    backend_send(&d, breq, NOTE("notifications/progress", "{\"progressToken\":"
                "1,\"progress\":2}") "\n");
    backend_send(&d, breq, NOTE("notifications/progress", "{\"progressToken\":"
                "1,\"progress\":3}") "\n");
    has(a.text, "\"progressToken\":1,\"progress\":1");
    has(a.text, "\"progressToken\":1,\"progress\":2");
    has_not(b.text, "\"progress\":1");
    has(b.text, "\"progressToken\":2,\"progress\":2");

    /* the first client disconnects: the call continues for the second one */

    client_close(&d, &a);
    aborts_after(60001, 0);
    end_with_result(breq);
    has(b.text, JOINED_ANSWER("2"));
    sent(&b);
    driver_wait(&d, 60001);
}


/* A client without a session loses its connection after the head of the
 * response, and then another connection before the head: each time, the
 * repeated request joins the call. */
TEST(client_loses_its_connection_and_repeats_its_request__it_joins_the_call)
{
    modern_call(0, &a, KEY("k"));
    driver_wait(&d, 1001);
    assert_int_equal(a.streaming, 1);
    mcp_exchange_last(a.x);
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESULT, "");
    client_close(&d, &a);
    assert_int_equal(d.aborts, 0);
    driver_wait(&d, 20000);

    modern_call(1, &a, KEY("k"));
    assert_int_equal(d.n_breqs, 1);
    client_close(&d, &a);
    modern_call(0, &a, KEY("k"));
    backend_json(&d, RESULT);
    has(a.text, "\"resultType\":\"complete\"");
    sent(&a);

    /* another caller, and the same caller with another key: new calls */

    round_principal = "you";
    modern_call(0, &a, KEY("k"));
    assert_int_equal(d.n_breqs, 1);
    modern_call(0, &b, KEY("k2"));
    assert_int_equal(d.n_breqs, 2);
    backend_reply(&d, d.breqs[0], RESULT);
    backend_reply(&d, d.breqs[0], RESULT);
    sent(&a);
    sent(&b);
    driver_wait(&d, 60001);
}


/* Without a key, a request with the same arguments joins only after the first
 * connection was lost. */
TEST(equal_requests_without_a_key_join_only_after_a_lost_connection)
{
    modern_call(0, &a, "");
    client_close(&d, &a);
    modern_call(1, &a, "");
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(a.streaming, 1);
    backend_json(&d, RESULT);
    sent(&a);
    assert_int_equal(joined(), 1);

    /* the first client has received its response: an equal request begins a
     * new call */

    modern_call(0, &a, "");
    assert_int_equal(d.n_breqs, 1);
    backend_json(&d, RESULT);
    client_close(&d, &a);

    /* the response of the new call could not be written: the next equal
     * request joins it */

    modern_call(1, &a, "");
    assert_int_equal(d.n_breqs, 0);
    assert_int_equal(a.streaming, 1);
    sent(&a);
    assert_int_equal(joined(), 2);

    /* callers without a principal, or with another one: their requests do not
     * join the call */

    modern_call(0, &a, "");
    round_principal = NULL;
    modern_call(0, &b, "");
    assert_int_equal(d.n_breqs, 2);
    client_close(&d, &a);
    client_close(&d, &b);
    assert_int_equal(d.aborts, 1);
    modern_call(0, &b, "");
    round_principal = "you";
    modern_call(1, &a, "");
    assert_int_equal(joined(), 2);
}


/* Without a key, a second equal request waits until the first client has
 * received its response or has lost its connection. */
TEST(equal_request_without_a_key_waits_until_the_first_client_is_served_or_gone)
{
    /* the first client receives its response: the second request begins a new
     * call */

    modern_call(0, &a, "");
    modern_call(1, &b, "");
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(b.status, 0);
    backend_json(&d, RESULT);
    assert_int_equal(a.ended, 1);
    assert_int_equal(b.status, 0);
    sent(&a);
    assert_int_equal(d.n_breqs, 1);
    backend_json(&d, RESULT);
    assert_int_equal(b.ended, 1);
    assert_int_equal(b.streaming, 0);
    sent(&b);
    assert_int_equal(joined(), 0);

    /* the first connection is lost: the second request joins the first call */

    modern_call(0, &a, "");
    modern_call(1, &b, "");
    client_close(&d, &a);
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(b.streaming, 1);
    backend_json(&d, RESULT);
    has(b.text, "\"id\":7,\"result\":");
    sent(&b);
    assert_int_equal(joined(), 1);

    /* the first call takes longer than mcp_join_wait: the second request
     * begins another call, which ends when its client disconnects */

    modern_call(0, &a, "");
    modern_call(1, &b, "");
    driver_wait(&d, 10001);
    assert_int_equal(d.n_breqs, 2);
    client_close(&d, &b);
    aborts_after(0, 1);
    modern_call(1, &b, "");
}


/* Returns 1 if process 1 must not end now. */
static int
is_busy(void)
{
    int  busy;

    (void) mcp_worker_deadline(d.process[1].worker, &busy);

    return busy;
}


/* A request waits for the call of another process: its own process, which has
 * no calls, ends only after the response. */
TEST(process_stops_while_an_equal_request_waits__it_ends_after_the_response)
{
    modern_call(0, &a, "");
    assert_int_equal(is_busy(), 0);
    modern_call(1, &b, "");
    assert_int_equal(is_busy(), 1);

    mcp_worker_stop(d.process[1].worker, 0);
    driver_pump(&d);
    assert_int_equal(b.status, 0);
    assert_int_equal(is_busy(), 1);

    client_close(&d, &a);
    backend_json(&d, RESULT);
    has(b.text, "\"result\":");
    client_close(&d, &b);
    assert_int_equal(is_busy(), 0);

    /* the same with a client that disconnects */

    modern_call(0, &a, "");
    modern_call(1, &b, "");
    assert_int_equal(is_busy(), 1);
    client_close(&d, &b);
    assert_int_equal(is_busy(), 0);
    backend_json(&d, RESULT);
    sent(&a);
}


/* The client of a call disconnects: a call without a key is aborted after
 * mcp_join_wait, and a call with a key after mcp_max_wait. */
TEST(client_leaves__a_key_extends_the_call_from_mcp_join_wait_to_mcp_max_wait)
{
    modern_call(0, &a, "");
    client_close(&d, &a);
    aborts_after(9999, 0);
    aborts_after(2, 1);
    driver_end_breqs(&d, 0);
    driver_wait(&d, 1);
    quiet();

    modern_call(0, &a, KEY("k"));
    client_close(&d, &a);
    aborts_after(59999, 1);
    aborts_after(2, 2);
}


/* The first client disconnects before its backend is invoked: the waiting
 * request begins the call. */
TEST(first_client_leaves_before_the_backend_request__the_next_client_starts_it)
{
    driver_pause(&d, 0, 1);
    client_post(&d, 0, &a, session, KEYED("1", "other", "\"k\""));
    client_post(&d, 1, &b, session, KEYED("2", "other", "\"k\""));
    assert_int_equal(d.n_breqs, 0);
    client_close(&d, &a);
    driver_pause(&d, 0, 0);
    driver_wait(&d, 1);
    assert_int_equal(d.n_breqs, 1);

    backend_json(&d, RESULT);
    has(b.text, "\"id\":2,\"result\":" RESULT);
    sent(&b);
    driver_wait(&d, 60001);
}


/* A request with inputResponses is a new call. */
TEST(request_with_input_responses_does_not_join_a_call)
{
    modern_call(0, &a, KEY("k"));
    modern_call(1, &b, KEY("k") ",\"inputResponses\":{}");
    assert_int_equal(d.n_breqs, 2);
    assert_int_equal(joined(), 0);
    client_close(&d, &b);
    assert_int_equal(d.aborts, 1);
}


/* A joined request gets an error if the call is cancelled, or if the call's
 * process dies. */
TEST(call_is_cancelled_or_its_process_dies__joined_requests_get_an_error)
{
    client_post(&d, 0, &a, session, KEYED("1", "other", "\"k\""));
    client_post(&d, 1, &b, session, KEYED("2", "other", "\"k\""));
    cancel(1, session, "1");
    has(b.text, "\"id\":2,\"error\":{\"code\":-32603");
    client_close(&d, &a);
    client_close(&d, &b);
    driver_end_breqs(&d, 0);

    client_post(&d, 0, &a, session, KEYED("3", "other", "\"k\""));
    assert_int_equal(d.n_breqs, 1);
    client_post(&d, 1, &b, session, KEYED("4", "other", "\"k\""));
    driver_kill(&d, 0);
    driver_end_breqs(&d, 0);
    client_close(&d, &a);
    driver_killed(&d, 0, 1);
    has(b.text, "\"id\":4,\"error\":{\"code\":-32603");
}


static unsigned    unreachable;
static mcp_operation_t  *pending;


static int
is_unreachable(void *ctx)
{
    return (int) unreachable;
}


/* The hook "await_replication", which stores the operation in "asked" and does
 * not answer it. */
static int
await_replication(void *ctx, const mcp_stream_ref_t *ref, mcp_operation_t *ask)
{
    pending = ask;

    return MCP_AGAIN;
}


/* A call waits until Redis has its stream: a request that would join the
 * call waits as well while the cluster is reachable, and gets 503 when it
 * is not. */
TEST(redis_becomes_unreachable__a_request_that_waits_to_join_gets_503)
{
    static const mcp_cluster_hooks_t  hooks = {
        .is_unreachable = is_unreachable,
        .clock = clock_agrees,
        .check_leader = leader_stays,
        .replicate = replicates_nothing,
        .await_replication = await_replication
    };

    unreachable = 0;
    d.process[0].worker->cluster_hooks = &hooks;
    d.process[0].worker->cluster = &unreachable;
    d.process[1].worker->cluster_hooks = &hooks;
    d.process[1].worker->cluster = &unreachable;

    client_post(&d, 1, &a, session, KEYED("1", "other", "\"k\""));
    client_post(&d, 0, &b, session, KEYED("2", "other", "\"k\""));
    assert_int_equal(d.n_breqs, 0);

    d.te.now += 10000;
    mcp_worker_expire(d.process[0].worker);
    d.te.now += 1000;
    mcp_worker_expire(d.process[0].worker);
    assert_int_equal(b.ended, 0);

    unreachable = 1;
    d.te.now += 1000;
    mcp_worker_expire(d.process[0].worker);
    driver_pump(&d);
    assert_int_equal(b.ended, 1);
    assert_int_equal(b.status, 503);

    client_close(&d, &a);
    mcp_operation_complete(pending, MCP_ERR_UNREACHABLE);
    d.process[0].worker->cluster = NULL;
    d.process[1].worker->cluster = NULL;
}


RUN_TESTS(join_setup, join_teardown)
