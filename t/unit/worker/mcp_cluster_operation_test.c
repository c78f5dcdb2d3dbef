/* SPDX-License-Identifier: Apache-2.0 */

/* Cluster operations: a request waits for the result of its operation, at most
 * for MCP_OPERATION_TIME, and has no effect before the result. */


#include "core_cases.h"
#include "store/mcp_store_replication.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_notification.h"


/* A cluster whose results the test chooses. */
static struct {
    int               says;    /* result of the hook "start" */
    unsigned          n_broadcasts;
    mcp_broadcast_t   broadcast;
    mcp_operation_t  *op;
    unsigned          n_streams;
    unsigned          posted;
    unsigned          shared;
    int               unreachable;
} cluster;


static int
start(void *ctx, const mcp_operation_spec_t *spec, mcp_operation_t *op)
{
    assert_ptr_equal(ctx, &cluster);

    cluster.op = op;

    switch (spec->kind) {

    case MCP_OPERATION_BROADCAST:
        cluster.n_broadcasts++;
        cluster.broadcast = spec->broadcast;
        break;

    case MCP_OPERATION_STREAM:
        assert_int_equal(spec->stream.after, spec->stream.listens ? 0 : 3);
        cluster.n_streams++;
        break;

    default:
        assert_int_equal(spec->kind, MCP_OPERATION_CLIENT_INPUT);
        assert_non_null(memmem(spec->input.data.data, spec->input.data.len,
                               "\"result\"", 8));
        cluster.posted++;
    }

    return cluster.says;
}


static int
is_unreachable(void *ctx)
{
    return cluster.unreachable;
}


static void
share(void *ctx, const mcp_stream_ref_t *ref, uint32_t limit)
{
    cluster.shared++;
}


static const mcp_cluster_hooks_t  hooks = {
    .changed = changes_nothing,
    .start = start,
    .is_unreachable = is_unreachable,
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
end(void)
{
    client_init(&b, session);
    client_send(&d, 1, &b, "DELETE", "");
}


static void
answer(int rc)
{
    mcp_operation_t  *op;

    /* clear "cluster.op" first, because the entry function may start another
     * operation */

    op = cluster.op;
    cluster.op = NULL;
    mcp_operation_complete(op, rc);
    driver_pump(&d);
}


/* Returns 1 if process 1 has work that it would complete before it exits. */
static int
is_busy(void)
{
    int  busy;

    (void) mcp_worker_deadline(d.process[1].worker, &busy);

    return busy;
}


static void
lives(int status)
{
    client_post(&d, 0, &a, session, PING);
    answered(&a, status, NULL);
}


TEST(session_ends_only_after_the_result_of_the_cluster_operation)
{
    join(MCP_AGAIN);
    assert_false(is_busy());
    end();
    assert_int_equal(b.next, MCP_NEXT_WAIT);
    assert_true(is_busy());
    assert_int_equal(cluster.n_broadcasts, 1);
    assert_int_equal(cluster.broadcast.what, MCP_BROADCAST_SESSION_ENDED);
    assert_int_equal(cluster.broadcast.value, 1);
    assert_memory_equal(cluster.broadcast.key, cluster.broadcast.session,
                        MCP_DIGEST_LEN);
    assert_true(cluster.broadcast.expires > d.te.now);
    lives(200);

    answer(MCP_OK);
    assert_int_equal(b.status, 204);
    assert_int_equal(cluster.n_broadcasts, 1);
    assert_false(is_busy());
    client_close(&d, &b);
    lives(404);
}


/* A process that exits does not wait for an operation whose client has
 * disconnected. */
TEST(client_disconnects_during_a_cluster_operation__the_worker_is_not_busy)
{
    join(MCP_AGAIN);
    end();
    assert_true(is_busy());
    client_close(&d, &b);
    assert_false(is_busy());
    answer(MCP_OK);
}


TEST(cluster_operation_ends_at_once__its_request_is_answered_at_once)
{
    join(MCP_OK);
    end();
    answered(&b, 204, NULL);
    lives(404);
}


TEST(cluster_is_unreachable__a_session_is_not_deleted_and_503_is_sent)
{
    join(MCP_ERR_UNREACHABLE);
    end();
    assert_int_equal(b.status, 503);
    assert_string_equal(client_response_header(&b, "Retry-After"), "1");
    client_close(&d, &b);

    join(MCP_AGAIN);
    end();
    answer(MCP_ERR_UNREACHABLE);
    answered(&b, 503, "cannot be reached");
    lives(200);
}


TEST(operation_has_no_result_in_time__503_is_sent_and_a_late_result_is_ignored)
{
    mcp_operation_t  *op;

    join(MCP_AGAIN);
    end();
    driver_wait(&d, MCP_OPERATION_TIME - 1);
    assert_int_equal(b.status, 0);
    driver_wait(&d, 1);
    assert_int_equal(b.status, 503);
    assert_int_equal(cluster.n_broadcasts, 1);
    client_close(&d, &b);

    /* the result arrives after MCP_OPERATION_TIME: ignored */

    answer(MCP_OK);
    lives(200);

    /* the result arrives after MCP_OPERATION_TIME, while the exchange still
     * exists: ignored */

    end();
    driver_wait(&d, MCP_OPERATION_TIME);
    assert_int_equal(b.status, 503);
    answer(MCP_OK);
    client_close(&d, &b);

    /* the client disconnects before the result: the result is ignored */

    end();
    op = cluster.op;
    client_close(&d, &b);
    assert_ptr_equal(cluster.op, op);
    answer(MCP_OK);
    driver_wait(&d, MCP_OPERATION_TIME);
    lives(200);
}


/* Broadcasts without an operation: no request waits for them. */
TEST(log_level_and_cancellation_are_broadcast_without_delaying_their_requests)
{
    join(MCP_AGAIN);
    client_post(&d, 1, &b, session,
                REQUEST("1", "logging/setLevel", "{\"level\":\"error\"}"));
    answered(&b, 200, NULL);
    assert_int_equal(cluster.n_broadcasts, 1);
    assert_null(cluster.op);
    assert_int_equal(cluster.broadcast.what, MCP_BROADCAST_LOG_LEVEL);
    assert_int_equal(cluster.broadcast.value, 4);

    cancel(1, session, "9");
    assert_int_equal(cluster.n_broadcasts, 2);
    assert_null(cluster.op);
    assert_int_equal(cluster.broadcast.what, MCP_BROADCAST_CANCELLED);

    /* the cancelled call is at this node: no broadcast */

    call(0);
    driver_wait(&d, 1500);
    cancel(1, session, "7");
    assert_int_equal(d.aborts, 1);
    assert_int_equal(cluster.n_broadcasts, 2);
}


#define EVENT  "AAAAAAAAAAAAAAAAAAAAAA.3"


/* A client resumes a stream that is not at this node: the status depends on
 * the result of "resume". */
TEST(stream_to_resume_is_not_at_this_node__cluster_result_selects_404_or_503)
{
    size_t  i;

    static const struct {
        int  rc;
        int  status;
    } answers[] = { { MCP_OK, 404 }, { MCP_ERR_FULL, 503 },
                    { MCP_ERR_UNREACHABLE, 503 } };

    for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        join(MCP_AGAIN);
        client_resume(&d, 1, &b, session, EVENT);
        assert_int_equal(b.next, MCP_NEXT_WAIT);
        assert_int_equal(cluster.n_streams, 1);
        answer(answers[i].rc);
        assert_int_equal(b.status, answers[i].status);
        assert_int_equal(cluster.n_streams, 1);
        client_close(&d, &b);
    }
}


static void
listens(int rc)
{
    join(MCP_AGAIN);
    client_resume(&d, 1, &b, session, NULL);
    assert_int_equal(b.next, MCP_NEXT_WAIT);
    answer(rc);
}


/* A session has one listener in the whole cluster. */
TEST(listener_is_created_only_if_no_node_of_the_cluster_has_it)
{
    listens(MCP_ERR_UNREACHABLE);
    answered(&b, 503, NULL);

    listens(MCP_ERR_FULL);
    answered(&b, 503, NULL);

    /* no node has the listener: this node creates and replicates it, and
     * repeats "resume" */

    listens(MCP_ERR_NOT_FOUND);
    assert_int_equal(b.status, 0);
    assert_int_equal(cluster.n_streams, 2);
    assert_int_equal(cluster.shared, 1);
    answer(MCP_OK);
    answered(&b, 200, NULL);

    /* this node has the listener */

    listens(MCP_OK);
    assert_int_equal(b.status, 200);
    assert_int_equal(cluster.n_streams, 1);
    assert_int_equal(cluster.shared, 0);
    client_close(&d, &b);

    listens(MCP_ERR_UNREACHABLE);
    answered(&b, 200, NULL);

    d.process[1].worker->cluster = NULL;
    end_session(0, session);
}


/* A client ends its session while its GET waits for the cluster. */
TEST(session_ends_while_a_get_waits__the_get_opens_no_listener)
{
    unsigned char      id[MCP_STREAM_ID_LEN];
    mcp_stream_info_t  info;

    join(MCP_AGAIN);
    client_resume(&d, 1, &b, session, NULL);
    assert_int_equal(b.next, MCP_NEXT_WAIT);
    assert_ok(mcp_notify_listener_id(b.x->client.id, id));

    client_init(&a, session);
    client_send(&d, 0, &a, "DELETE", "");
    assert_int_equal(a.status, 204);
    client_close(&d, &a);

    answer(MCP_OK);
    assert_int_equal(b.status, 404);
    assert_int_equal(b.streaming, 0);
    assert_int_equal(mcp_store_find(d.process[1].worker->store, id, 0, &info),
                     MCP_ERR_NOT_FOUND);
}


/* Two nodes create the listener at the same time, and Redis keeps that of the
 * other node. */
TEST(other_node_creates_the_listener_first__the_client_reads_its_mirror)
{
    unsigned char      id[MCP_STREAM_ID_LEN];
    mcp_store_t       *store;
    mcp_stream_ref_t   ref;
    mcp_stream_info_t  info;
    mcp_stream_spec_t  spec;

    listens(MCP_ERR_NOT_FOUND);
    store = d.process[1].worker->store;
    assert_ok(mcp_notify_listener_id(b.x->client.id, id));
    assert_ok(mcp_store_find(store, id, 0, &info));
    mcp_store_revoke(store, &info.ref);

    memset(&spec, 0, sizeof(spec));
    memcpy(spec.id, id, MCP_STREAM_ID_LEN);
    memcpy(spec.session, b.x->client.id, MCP_DIGEST_LEN);
    memcpy(spec.principal, b.x->client.principal, MCP_DIGEST_LEN);
    spec.kind = MCP_STREAM_LISTEN;
    spec.revision = b.x->client.revision;
    spec.max_wait = 10000;
    assert_ok(mcp_store_mirror(store, &spec, 1, 0, 1, d.te.now, &ref));

    answer(MCP_OK);
    assert_int_equal(b.status, 200);
    assert_int_equal(cluster.n_streams, 2);
    assert_int_equal(cluster.shared, 1);
    assert_ok(mcp_store_find(store, id, 0, &info));
    assert_int_equal(info.mirror, 1);
    assert_int_equal(info.attended, 1);
    client_close(&d, &b);

    d.process[1].worker->cluster = NULL;
    end_session(0, session);
}


/* A client answers a question of a call that is not at this node: the status
 * depends on the result of "send_input". */
TEST(answer_for_another_node_gets_202_if_it_was_delivered_and_otherwise_503)
{
    size_t  i;

    static const char  text[] =
        "{\"jsonrpc\":\"2.0\",\"id\":\"" EVENT "\",\"result\":{}}";

    static const struct {
        int  rc;
        int  status;
    } answers[] = { { MCP_OK, 202 }, { MCP_ERR_LIMIT, 503 },
                    { MCP_ERR_UNREACHABLE, 503 } };

    for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        join(MCP_AGAIN);
        client_post(&d, 1, &b, session, text);
        assert_int_equal(b.next, MCP_NEXT_WAIT);
        assert_int_equal(cluster.posted, 1);
        answer(answers[i].rc);
        assert_int_equal(b.status, answers[i].status);
        assert_int_equal(cluster.posted, 1);
        client_close(&d, &b);
    }
}


/* The cluster is unreachable: a new call is rejected. Otherwise the stream of
 * a new call is replicated. */
TEST(new_call_is_replicated_or_gets_503_while_the_cluster_is_unreachable)
{
    join(MCP_OK);
    cluster.unreachable = 1;
    client_post(&d, 1, &b, session, CALL);
    assert_int_equal(b.status, 503);
    assert_string_equal(client_response_header(&b, "Retry-After"), "1");
    client_close(&d, &b);

    cluster.unreachable = 0;
    call(1);
    driver_wait(&d, 1500);
    assert_int_equal(cluster.shared, 1);
    client_close(&d, &a);
    cancel(1, session, "7");
}


static int  result;


/* An entry function with two operations: stores the result in "result". */
static mcp_next_e
two_entry(mcp_exchange_t *x)
{
    mcp_operation_spec_t  spec;

    memset(&spec, 0, sizeof(spec));
    spec.kind = MCP_OPERATION_BROADCAST;
    result = mcp_operation(x, &spec);

    if (result == MCP_OK) {
        memset(&spec, 0, sizeof(spec));
        spec.kind = MCP_OPERATION_STREAM;
        spec.stream.after = 3;
        result = mcp_operation(x, &spec);
    }

    return MCP_NEXT_WAIT;
}


/* The cluster lacks the event that the client has: the operation is repeated
 * for MCP_OPERATION_TIME, but not the one before it. */
TEST(event_is_not_in_the_cluster_yet__the_operation_is_repeated)
{
    unsigned        n;
    mcp_exchange_t  x;

    join(MCP_AGAIN);
    memset(&x, 0, sizeof(x));
    x.worker = d.process[1].worker;
    mcp_arena_init(&x.arena, &x.worker->env->mem);
    assert_int_equal(mcp_operation_now(&x, two_entry), MCP_NEXT_WAIT);
    answer(MCP_OK);

    for (n = 1; n < 5; n++) {
        assert_int_equal(cluster.n_streams, n);
        answer(MCP_ERR_AHEAD);
        assert_int_equal(result, MCP_AGAIN);
        assert_int_equal(mcp_operation_waits(&x), 1);
        driver_wait(&d, 24);
        assert_int_equal(cluster.n_streams, n);
        driver_wait(&d, 1);
    }

    /* the cluster has the event now, or does not get it in time */

    answer(MCP_OK);
    assert_ok(result);
    assert_int_equal(mcp_operation_waits(&x), 0);
    mcp_operation_leave(&x);

    assert_int_equal(mcp_operation_now(&x, two_entry), MCP_NEXT_WAIT);
    answer(MCP_OK);
    driver_wait(&d, MCP_OPERATION_TIME - 1);
    answer(MCP_ERR_AHEAD);
    assert_int_equal(result, MCP_AGAIN);
    driver_wait(&d, 25);
    answer(MCP_ERR_AHEAD);
    assert_int_equal(result, MCP_ERR_UNREACHABLE);
    assert_int_equal(cluster.n_broadcasts, 2);
    mcp_operation_leave(&x);
    mcp_arena_destroy(&x.arena);
}


TEST(memory_runs_out__deleting_a_session_fails_and_the_session_remains)
{
    unsigned long  n;

    join(MCP_AGAIN);

    for (n = 1; n < 100; n++) {
        d.te.tm.fail_at = n;
        cluster.op = NULL;
        end();

        if (cluster.op) {
            answer(MCP_OK);
        }

        d.te.tm.fail_at = 0;

        if (b.status == 204) {
            client_close(&d, &b);
            break;
        }

        assert_true(b.next == MCP_NEXT_ERROR || b.status == 500);
        client_close(&d, &b);
        lives(200);
    }

    assert_in_range(n, 2, 99);
}


RUN_TESTS(setup, teardown)
