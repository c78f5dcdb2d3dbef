/* SPDX-License-Identifier: Apache-2.0 */

/* Calls that begin only after the result of a cluster operation: calls with a
 * quota for their session, and calls with a resume token. */


#include "token_cases.h"
#include "store/mcp_store_replication.h"
#include "worker/mcp_cluster_operation.h"


/* A cluster whose results the test chooses. */
static struct {
    mcp_broadcast_t        broadcast;
    mcp_operation_t       *op;
    unsigned               shared;
    unsigned               n_streams;
    unsigned char          stream[MCP_STREAM_ID_LEN];  /* argument of the last
                                                          STREAM operation */
    uint32_t               limit;  /* argument of the latest call of the hook
                                      "replicate", or of the latest QUOTA
                                      operation */
    unsigned               n_started; /* number of QUOTA operations, and of
                                         operations to use a token */
    mcp_operation_token_t  token;  /* argument of the last TOKEN operation */
    unsigned               n_sent; /* number of TOKEN operations without a
                                      result, by which a node reports the end
                                      or the stream of a token's call */
} cluster;


static void
share(void *ctx, const mcp_stream_ref_t *ref, uint32_t limit)
{
    cluster.shared++;
    cluster.limit = limit;
}


static int
start(void *ctx, const mcp_operation_spec_t *spec, mcp_operation_t *op)
{
    switch (spec->kind) {

    case MCP_OPERATION_BROADCAST:
        cluster.broadcast = spec->broadcast;
        return MCP_OK;

    case MCP_OPERATION_STREAM:
        memcpy(cluster.stream, spec->stream.id, MCP_STREAM_ID_LEN);
        cluster.n_streams++;
        break;

    case MCP_OPERATION_QUOTA:
        assert_memory_equal(spec->quota.session, cluster.broadcast.key,
                            MCP_DIGEST_LEN);
        cluster.n_started++;
        cluster.limit = spec->quota.limit;
        break;

    default:
        assert_int_equal(spec->kind, MCP_OPERATION_TOKEN);
        cluster.token = spec->token;

        if (op == NULL) {
            cluster.n_sent++;
            return MCP_OK;
        }

        assert_int_equal(spec->token.what, MCP_OPERATION_TOKEN_TAKE);
        assert_true(spec->token.expires > d.te.now);
        cluster.n_started++;
    }

    cluster.op = op;

    return MCP_AGAIN;
}


static const mcp_cluster_hooks_t  hooks = {
    .changed = changes_nothing,
    .start = start,
    .is_unreachable = redis_reachable,
    .clock = clock_agrees,
    .check_leader = leader_stays,
    .replicate = share
};


static void
join(void)
{
    memset(&cluster, 0, sizeof(cluster));

    d.process[1].worker->cluster_hooks = &hooks;
    d.process[1].worker->cluster = &cluster;
}


static void
answer(int rc)
{
    mcp_operation_t  *op;

    op = cluster.op;
    cluster.op = NULL;
    mcp_operation_complete(op, rc);
    driver_pump(&d);
}


/* The cluster reports that a session has many calls: its next calls wait for a
 * QUOTA operation, and get 429 if that fails. */
TEST(session_has_many_calls__a_new_call_waits_for_the_cluster_quota)
{
    mcp_broadcast_t  broadcast;

    d.endpoint.max_session_streams = 9;
    join();
    client_post(&d, 1, &b, session,
                REQUEST("1", "logging/setLevel", "{\"level\":\"error\"}"));
    client_close(&d, &b);
    call(1);
    driver_wait(&d, 1500);
    assert_int_equal(cluster.n_started, 0);
    assert_int_equal(cluster.shared, 1);
    assert_int_equal(cluster.limit, 9);
    client_close(&d, &a);
    cancel(1, session, "7");

    mcp_broadcast_make(&broadcast, MCP_BROADCAST_CROWDED, cluster.broadcast.key,
                       cluster.broadcast.key, 1, d.te.now + 60000);
    cluster.broadcast = broadcast;
    mcp_operation_receive(d.process[1].worker, &broadcast);

    client_post(&d, 1, &b, session, CALL);
    assert_int_equal(b.status, 0);
    assert_int_equal(d.n_breqs, 0);
    assert_true(mcp_exchange_is_open(b.x));
    answer(MCP_ERR_LIMIT);
    answered(&b, 429, NULL);

    client_post(&d, 1, &b, session, CALL);
    assert_int_equal(cluster.n_started, 2);
    answer(MCP_OK);
    assert_int_equal(d.n_breqs, 1);
    client_close(&d, &b);
    cancel(1, session, "7");

    /* no result within MCP_OPERATION_TIME: the call begins */

    client_post(&d, 1, &b, session, CALL);
    driver_wait(&d, MCP_OPERATION_TIME);
    assert_int_equal(d.n_breqs, 1);
    client_close(&d, &b);
    cancel(1, session, "7");
    answer(MCP_OK);

    driver_wait(&d, 60000);
    client_post(&d, 1, &b, session, CALL);
    assert_int_equal(cluster.n_started, 3);
    assert_int_equal(d.n_breqs, 1);
    client_close(&d, &b);
    cancel(1, session, "7");
}


/* A batch needs one "quota" operation; its messages that need no backend wait
 * for the result as well. */
TEST(batch_with_several_calls_waits_for_one_quota_operation)
{
    char             old[MCP_SESSION_TEXT_MAX];
    mcp_broadcast_t  broadcast;

    client_open(&d, old, OLD, ALL);
    d.endpoint.max_session_streams = 9;
    join();
    client_post(&d, 1, &b, old,
                REQUEST("1", "logging/setLevel", "{\"level\":\"error\"}"));
    client_close(&d, &b);

    mcp_broadcast_make(&broadcast, MCP_BROADCAST_CROWDED, cluster.broadcast.key,
                       cluster.broadcast.key, 1, d.te.now + 60000);
    cluster.broadcast = broadcast;
    mcp_operation_receive(d.process[1].worker, &broadcast);

    /* a batch without a request: no "quota" operation */

    client_post(&d, 1, &b, old, "[" CANCEL7 "]");
    answered(&b, 202, NULL);
    assert_int_equal(cluster.n_started, 0);
    cluster.broadcast = broadcast;

    client_post(&d, 1, &b, old, "[" PING "," CALL "," CALL8 "]");
    assert_int_equal(cluster.n_started, 1);
    assert_int_equal(b.status, 0);
    answer(MCP_ERR_LIMIT);
    assert_int_equal(b.status, 429);
    assert_int_equal(d.n_breqs, 0);
    client_close(&d, &b);

    client_post(&d, 1, &b, old, "[" PING "," CALL "]");
    assert_int_equal(cluster.n_started, 2);
    answer(MCP_OK);
    assert_int_equal(d.n_breqs, 1);
    backend_json(&d, RESULT);
    has(b.text, "[" PONG "," ANSWER "]");
}


static void
became(unsigned n, mcp_operation_token_e what)
{
    assert_int_equal(cluster.n_sent, n);
    assert_int_equal(cluster.token.what, what);
}


/* A resume token of a backend is used by one node, which reports the end or
 * the stream of its call. */
TEST(node_uses_a_resume_token__it_reports_the_stream_or_the_failure_of_the_call)
{
    uint32_t  number;

    begin(NEW);
    page();
    join();

    client_post(&d, 1, &a, session, again(token));
    assert_int_equal(cluster.n_started, 1);
    assert_int_equal(a.status, 0);
    assert_int_equal(d.n_breqs, 0);
    answer(MCP_OK);
    assert_int_equal(d.n_breqs, 1);

    /* the token is in use at this node: the second request waits for the call
     * of the first one */

    client_post(&d, 1, &b, session, again(token));
    answer(MCP_OK);
    became(1, MCP_OPERATION_TOKEN_GIVE);
    assert_int_equal(d.n_breqs, 1);

    backend_json(&d, RESULT);
    became(2, MCP_OPERATION_TOKEN_SET);
    assert_int_not_equal(cluster.token.value, 0);
    assert_int_equal(cluster.shared, 1);
    assert_int_equal(mcp_be_get(cluster.token.stream, 4), cluster.token.value);
    client_close(&d, &a);
    driver_wait(&d, 50);
    has(b.text, RESULT);
    client_close(&d, &b);

    /* the call fails: this node reports that the token can be used again */

    page();
    client_post(&d, 1, &a, session, again(token));
    answer(MCP_OK);
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    became(3, MCP_OPERATION_TOKEN_DROP);
    assert_int_equal(cluster.token.value, 0);
    client_close(&d, &a);
    assert_int_equal(d.n_breqs, 0);

    /* the call fails when it has a stream: the report names the stream */

    page();
    client_post(&d, 1, &a, session, again(token));
    answer(MCP_OK);
    driver_wait(&d, 1000);
    became(4, MCP_OPERATION_TOKEN_SET);
    number = cluster.token.value;
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    became(5, MCP_OPERATION_TOKEN_DROP);
    assert_true(cluster.token.value == number && number != 0);
    assert_true(cluster.token.expires > d.te.now);
}


/* A token is in use at another node: the request repeats its "token" operation
 * every 500 ms. */
TEST(token_is_in_use_at_another_node__the_request_asks_the_cluster_every_500_ms)
{
    unsigned  n;

    begin(NEW);
    page();
    join();

    client_post(&d, 1, &a, session, again(token));

    for (n = 1; n < 4; n++) {
        answer(MCP_ERR_DENIED);
        assert_int_equal(cluster.n_started, n);
        driver_wait(&d, 500);
        assert_int_equal(cluster.n_started, n + 1);
        assert_int_equal(a.status, 0);
    }

    /* the other node's call has a stream: the request resumes it, but no node
     * has it, so the token is rejected */

    cluster.op->value = 0x01020305;
    answer(MCP_ERR_DENIED);
    assert_int_equal(cluster.n_streams, 1);
    assert_memory_equal(cluster.stream, "\x01\x02\x03\x05", 4);
    answer(MCP_OK);
    has(a.text, REFUSED);
    client_close(&d, &a);

    /* the token remains in use: the request ends with an interim response, as
     * it does when the token is in use at this node */

    client_post(&d, 1, &a, session, again(token));

    while (a.status == 0) {
        answer(MCP_ERR_DENIED);
        driver_wait(&d, 500);
    }

    has(a.text, INTERIM);
    client_close(&d, &a);

    /* one request with the token has disconnected, and then the other node's
     * call fails: the next request gets the token */

    client_post(&d, 1, &a, session, again(token));
    answer(MCP_ERR_DENIED);
    client_close(&d, &a);
    driver_wait(&d, 1000);

    client_post(&d, 1, &a, session, again(token));
    answer(MCP_ERR_DENIED);
    driver_wait(&d, 500);
    answer(MCP_OK);
    assert_int_equal(d.n_breqs, 1);
    backend_json(&d, RESULT);
    client_close(&d, &a);

    /* the cluster is unreachable: 503 */

    page();
    client_post(&d, 1, &a, session, again(token));
    answer(MCP_ERR_UNREACHABLE);
    answered(&a, 503, NULL);
    assert_int_equal(d.n_breqs, 0);
}


/* A client resumes a call by the server's token at this node, and at another
 * node before the cluster has replied. */
TEST(token_is_resumed_at_another_node_at_the_same_time__the_client_gets_503)
{
    mcp_store_t       *store;
    mcp_stream_ref_t   ref;
    mcp_stream_info_t  info;
    mcp_stream_spec_t  spec;

    begin(NEW);
    (void) slow();
    join();
    client_post(&d, 1, &b, session, again(token));
    assert_int_equal(cluster.n_streams, 1);
    store = d.process[1].worker->store;
    assert_ok(mcp_store_find(store, cluster.stream, 0, &info));
    mcp_store_revoke(store, &info.ref);

    memset(&spec, 0, sizeof(spec));
    memcpy(spec.id, cluster.stream, MCP_STREAM_ID_LEN);
    memcpy(spec.session, info.session, MCP_DIGEST_LEN);
    memcpy(spec.principal, info.principal, MCP_DIGEST_LEN);
    spec.kind = MCP_STREAM_CALL;
    spec.revision = info.revision;
    spec.max_wait = info.max_wait;
    assert_ok(mcp_store_mirror(store, &spec, 1, 0, 1, d.te.now, &ref));
    mcp_store_mirror_displaced(store, cluster.stream, 2);

    answer(MCP_OK);
    assert_int_equal(b.status, 503);
    assert_string_equal(client_response_header(&b, "Retry-After"), "1");
}


/* A token in the result of a list is in use at another node. */
TEST(token_of_a_list_stays_in_use_at_another_node__the_response_is_one_message)
{
    begin(NEW);
    d.endpoint.catalog = NULL;
    client_post(&d, 0, &a, session, REQUEST("7", "tools/list", "{}"));
    backend_json(&d, "{\"tools\":[],\"nextResumeToken\":\"p2\"}");
    token_of(&a);
    client_close(&d, &a);
    join();

    snprintf(text, sizeof(text),
             REQUEST("8", "tools/list", "{\"resumeToken\":\"%s\"}"), token);
    client_post(&d, 1, &a, session, text);

    while (a.status == 0) {
        answer(MCP_ERR_DENIED);
        driver_wait(&d, 500);
    }

    assert_int_equal(a.status, 200);
    has(a.text, INTERIM);
    assert_int_equal(count(a.text, "{\"jsonrpc\""), 1);
}


RUN_TESTS(setup, teardown)
