/* SPDX-License-Identifier: Apache-2.0 */

/* Sessions at MCP servers in a cluster, with a cluster of which the tests are
 * the other nodes and Redis. */

#include "upstream_cases.h"

#include "call/mcp_upstream_session.h"
#include "worker/mcp_cluster_operation.h"


#define OURS    "2025-06-18 s1"
#define THEIRS  "2025-06-18 s2"


static struct {
    int                      result;   /* of the next operation */
    mcp_operation_t         *op;       /* the operation without a result */
    mcp_operation_session_e  what;     /* of the last operation */
    char                     text[64]; /* of the last PUT or DROP */
    unsigned                 n[4];     /* number of operations of each kind */
} cluster;


static int
start(void *ctx, const mcp_operation_spec_t *spec, mcp_operation_t *op)
{
    if (spec->kind != MCP_OPERATION_UPSTREAM_SESSION) {
        return MCP_OK;
    }

    cluster.what = spec->session.what;
    cluster.n[cluster.what]++;
    snprintf(cluster.text, sizeof(cluster.text), "%.*s",
             (int) spec->session.text.len, spec->session.text.data);

    if (op == NULL || cluster.result != MCP_AGAIN) {
        return op ? cluster.result : MCP_OK;
    }

    assert_null(cluster.op);
    op->spec = *spec;
    cluster.op = op;

    return MCP_AGAIN;
}


static const mcp_cluster_hooks_t  hooks = {
    .start = start,
    .is_unreachable = redis_reachable,
    .clock = clock_agrees,
    .replicate = replicates_nothing,
    .changed = changes_nothing,
    .check_leader = leader_stays
};


static int
setup_cluster(void **state)
{
    setup_upstream(state);
    memset(&cluster, 0, sizeof(cluster));
    cluster.result = MCP_AGAIN;
    d.endpoint.stream_after = MCP_UPSTREAM_SESSION_KEEP; /* no streams */
    d.process[0].worker->cluster_hooks = &hooks;
    d.process[0].worker->cluster = &cluster;

    return 0;
}


/* Ends the test: frees an operation that still has no result. */
static int
teardown_cluster(void **state)
{
    if (cluster.op) {
        mcp_operation_complete(cluster.op, MCP_ERR_UNREACHABLE);
    }

    d.process[0].worker->cluster = NULL;

    return teardown(state);
}


/* Passes a result to the operation, which must be of this kind. */
static void
redis(mcp_operation_session_e what, int rc, const char *text)
{
    mcp_operation_t       *op;
    mcp_operation_text_t  *found;

    op = cluster.op;
    assert_non_null(op);
    assert_int_equal(op->spec.session.what, what);
    cluster.op = NULL;
    found = op->spec.session.found;
    found->len = strlen(text);
    memcpy(found->text, text, found->len);
    mcp_operation_complete(op, rc);
    driver_pump(&d);
}


/* Checks the id of the session that the first backend request uses. */
static void
uses(const char *id)
{
    mcp_str_t  text;

    text = d.breqs[0]->variables.value[MCP_VARIABLE_UPSTREAM_SESSION];
    assert_true(mcp_str_eq(text, (mcp_str_t) { id, strlen(id) }));
}


/* Calls a tool in a new session, which Redis gets. */
static void
call_in_new_session(void)
{
    call_tool(&a);
    assert_int_equal(d.n_breqs, 0);
    redis(MCP_OPERATION_SESSION_GET, MCP_ERR_NOT_FOUND, "");
    open_session();
    assert_int_equal(d.n_breqs, 0);
    redis(MCP_OPERATION_SESSION_PUT, MCP_OK, "");
    assert_string_equal(cluster.text, OURS);
    sends("tools/call");
    answer(RESULT);
    assert_string_equal(a.text, ANSWER);
    client_close(&d, &a);
}


/* The server does not know the session of the backend request. */
static void
lost(void)
{
    mcp_backend_request_head(sends("tools/call"), 404,
                             mcp_str("application/json"));
    backend_reply(&d, d.breqs[0], "");
}


TEST(redis_has_an_upstream_session__the_call_uses_it_and_keeps_it_in_the_zone)
{
    call_tool(&a);
    call_tool(&b);
    redis(MCP_OPERATION_SESSION_GET, MCP_OK, THEIRS);
    assert_int_equal(d.n_breqs, 2);
    uses("s2");
    answer(RESULT);
    answer(RESULT);
    assert_string_equal(a.text, ANSWER);
    client_close(&d, &a);
    client_close(&d, &b);

    call_tool(&a);
    sends("tools/call");
    uses("s2");
    answer(RESULT);
    client_close(&d, &a);
    assert_int_equal(cluster.n[MCP_OPERATION_SESSION_GET], 1);
}


TEST(redis_lacks_an_upstream_session__the_call_opens_and_stores_one_first)
{
    call_in_new_session();
    assert_int_equal(d.n_breqs, 0);
}


TEST(session_of_another_node_is_stored_first__call_uses_it_and_ends_its_own)
{
    call_tool(&a);
    redis(MCP_OPERATION_SESSION_GET, MCP_ERR_NOT_FOUND, "");
    open_session();
    redis(MCP_OPERATION_SESSION_PUT, MCP_ERR_EXISTS, THEIRS);
    sends("tools/call");
    uses("s2");
    answer(RESULT);
    assert_string_equal(a.text, ANSWER);
    client_close(&d, &a);

    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(d.breqs[0]->http_method, MCP_BACKEND_REQUEST_DELETE);
    uses("s1");
    end();

    call_tool(&a);
    uses("s2");
    answer(RESULT);
    client_close(&d, &a);
}


TEST(another_process_stored_the_same_upstream_session_first__it_is_not_ended)
{
    mcp_operation_t  *put;

    d.process[1].worker->cluster_hooks = &hooks;
    d.process[1].worker->cluster = &cluster;

    call_tool(&a);
    redis(MCP_OPERATION_SESSION_GET, MCP_ERR_NOT_FOUND, "");
    open_session();
    put = cluster.op;
    cluster.op = NULL;

    client_post(&d, 1, &b, session, CALL);
    redis(MCP_OPERATION_SESSION_GET, MCP_OK, OURS);
    sends("tools/call");
    uses("s1");

    cluster.op = put;
    redis(MCP_OPERATION_SESSION_PUT, MCP_OK, "");
    assert_int_equal(d.n_breqs, 2);
    answer(RESULT);
    answer(RESULT);
    client_close(&d, &a);
    client_close(&d, &b);
    assert_int_equal(d.n_breqs, 0);
    assert_int_equal(cluster.n[MCP_OPERATION_SESSION_DROP], 0);
    d.process[1].worker->cluster = NULL;
}


TEST(redis_does_not_reply_for_1_s__the_call_opens_an_upstream_session_itself)
{
    mcp_operation_t  *op;

    call_tool(&a);
    op = cluster.op;
    cluster.op = NULL;
    driver_wait(&d, MCP_OPERATION_TIME - 1);
    assert_int_equal(d.n_breqs, 0);
    driver_wait(&d, 1);
    open_session();
    driver_wait(&d, MCP_OPERATION_TIME);
    sends("tools/call");
    uses("s1");

    /* the late reply changes nothing */

    mcp_operation_complete(op, MCP_ERR_UNREACHABLE);
    answer(RESULT);
    assert_string_equal(a.text, ANSWER);
    client_close(&d, &a);
}


TEST(redis_is_unreachable__the_call_opens_an_upstream_session_at_once)
{
    cluster.result = MCP_ERR_UNREACHABLE;
    call_tool(&a);
    open_session();
    sends("tools/call");
    answer(RESULT);
    assert_string_equal(a.text, ANSWER);
    client_close(&d, &a);
}


TEST(upstream_session_is_lost__the_call_uses_the_new_session_of_another_node)
{
    call_in_new_session();
    call_tool(&a);
    lost();
    assert_int_equal(cluster.n[MCP_OPERATION_SESSION_DROP], 1);
    redis(MCP_OPERATION_SESSION_GET, MCP_OK, THEIRS);
    sends("tools/call");
    uses("s2");
    answer(RESULT);
    assert_string_equal(a.text, ANSWER);
    client_close(&d, &a);
}


TEST(upstream_session_and_its_two_replacements_are_lost__the_call_fails)
{
    call_in_new_session();
    call_tool(&a);
    lost();
    redis(MCP_OPERATION_SESSION_GET, MCP_OK, THEIRS);
    lost();
    open_session();
    redis(MCP_OPERATION_SESSION_PUT, MCP_OK, "");
    lost();
    has(a.text, "Upstream did not open a session");
    client_close(&d, &a);
    assert_int_equal(cluster.n[MCP_OPERATION_SESSION_GET], 2);
    end();
}


TEST(upstream_session_in_redis_has_an_unknown_revision__call_opens_another)
{
    call_tool(&a);
    redis(MCP_OPERATION_SESSION_GET, MCP_OK, "1999-01-01 s3");
    open_session();
    redis(MCP_OPERATION_SESSION_PUT, MCP_ERR_EXISTS, "1999-01-01 s3");
    sends("tools/call");
    uses("s1");
    answer(RESULT);
    client_close(&d, &a);
}


TEST(client_cancels_while_its_call_waits_for_redis__nothing_goes_to_the_server)
{
    call_tool(&a);
    client_post(&d, 0, &b, session, CANCEL7);
    redis(MCP_OPERATION_SESSION_GET, MCP_OK, THEIRS);
    assert_int_equal(d.n_breqs, 0);
    client_close(&d, &a);
    client_close(&d, &b);
}


TEST(client_cancels_while_redis_stores_the_new_session__the_session_is_ended)
{
    call_tool(&a);
    redis(MCP_OPERATION_SESSION_GET, MCP_ERR_NOT_FOUND, "");
    open_session();
    client_post(&d, 0, &b, session, CANCEL7);
    assert_int_equal(cluster.what, MCP_OPERATION_SESSION_DROP);
    assert_string_equal(cluster.text, OURS);
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(d.breqs[0]->http_method, MCP_BACKEND_REQUEST_DELETE);
    uses("s1");
    end();
    redis(MCP_OPERATION_SESSION_PUT, MCP_OK, "");
    assert_int_equal(d.n_breqs, 0);
    client_close(&d, &a);
    client_close(&d, &b);
}


TEST(new_upstream_session_enters_the_zone_only_after_redis_has_stored_it)
{
    call_tool(&a);
    redis(MCP_OPERATION_SESSION_GET, MCP_ERR_NOT_FOUND, "");
    open_session();
    assert_int_equal(stats().values, 0);
    redis(MCP_OPERATION_SESSION_PUT, MCP_OK, "");
    assert_int_equal(stats().values, 1);
    answer(RESULT);
    client_close(&d, &a);
}


TEST(paths_of_two_servers_have_the_same_end__each_has_its_own_upstream_session)
{
    static mcp_target_t  targets[2];
    unsigned             i;

    for (i = 0; i < 2; i++) {
        targets[i] = target;
        targets[i].name = i ? mcp_str("/b/mcp") : mcp_str("/a/mcp");
    }

    d.endpoint.targets = targets;
    d.endpoint.n_targets = 2;
    call_in_new_session();

    d.endpoint.target = 1;
    call_tool(&a);
    redis(MCP_OPERATION_SESSION_GET, MCP_ERR_NOT_FOUND, "");
    open_session();
    redis(MCP_OPERATION_SESSION_PUT, MCP_OK, "");
    answer(RESULT);
    client_close(&d, &a);
    assert_int_equal(stats().values, 2);
}


TEST(session_ends_with_an_upstream_session_only_in_redis__server_gets_DELETE)
{
    client_init(&a, session);
    client_send(&d, 0, &a, "DELETE", "");
    redis(MCP_OPERATION_SESSION_TAKE, MCP_OK, THEIRS);
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(d.breqs[0]->http_method, MCP_BACKEND_REQUEST_DELETE);
    uses("s2");
    end();
    assert_int_equal(a.status, 204);
}


TEST(client_disconnects_while_redis_is_asked__the_server_still_gets_DELETE)
{
    client_init(&a, session);
    client_send(&d, 0, &a, "DELETE", "");
    client_close(&d, &a);
    redis(MCP_OPERATION_SESSION_TAKE, MCP_OK, THEIRS);
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(d.breqs[0]->http_method, MCP_BACKEND_REQUEST_DELETE);
    uses("s2");
    end();
    quiet();
}


TEST(session_ends_without_an_upstream_session__no_request_goes_to_the_server)
{
    client_init(&a, session);
    client_send(&d, 0, &a, "DELETE", "");
    redis(MCP_OPERATION_SESSION_TAKE, MCP_ERR_NOT_FOUND, "");
    assert_int_equal(d.n_breqs, 0);
    assert_int_equal(a.status, 204);
}


TEST(upstream_session_in_use_is_renewed_in_redis_once_an_hour)
{
    unsigned  i;

    call_in_new_session();

    /* a full hour of the clock passes during the loop */

    for (i = 0; i < 5; i++) {
        driver_wait(&d, MCP_UPSTREAM_SESSION_RENEW / 6);
        call_tool(&a);
        sends("tools/call");
        answer(RESULT);
        client_close(&d, &a);
    }

    assert_int_equal(cluster.n[MCP_OPERATION_SESSION_PUT], 1 + 1);
    assert_string_equal(cluster.text, OURS);
}


RUN_TESTS(setup_cluster, teardown_cluster)
