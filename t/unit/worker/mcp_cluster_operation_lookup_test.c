/* SPDX-License-Identifier: Apache-2.0 */

/* A client listens to a task of another node: its exchange looks the task up
 * after each change. */


#include "task_cases.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_notification.h"


static client_t          l;
static mcp_operation_t  *pending;
static unsigned          n_lookups;
static unsigned char     id[MCP_STREAM_ID_LEN];
static mcp_store_lookup_t  is;


static int
start_lookup(void *ctx, const mcp_operation_spec_t *spec, mcp_operation_t *op)
{
    assert_int_equal(spec->kind, MCP_OPERATION_LOOKUP);
    assert_memory_equal(spec->stream.id, id, MCP_STREAM_ID_LEN);
    assert_int_equal(spec->stream.task, 1);
    assert_int_equal(spec->stream.listens, 1);
    pending = op;
    n_lookups++;

    return MCP_AGAIN;
}


static const mcp_cluster_hooks_t  hooks = {
    .start = start_lookup,
    .is_unreachable = redis_reachable,
    .clock = clock_agrees,
    .check_leader = leader_stays
};


static void
answer(int rc)
{
    mcp_operation_t  *op = pending;

    pending = NULL;

    if (rc == MCP_OK) {
        op->found = mcp_mem_calloc(&op->worker->env->mem, sizeof(mcp_found_t));
        assert_non_null(op->found);
        op->n_found = 1;
        op->found->lookup = is;
    }

    mcp_operation_complete(op, rc);
    driver_pump(&d);
}


static void
changes(mcp_stream_state_e state)
{
    is.info.state = state;
    mcp_notify_task(d.process[1].worker, id);
    driver_pump(&d);
}


/* Creates a task in process 0, copies its state for the lookups, and frees it,
 * so that it counts as a task of another node. Then a client listens to it at
 * process 1. */
static void
begin(void)
{
    char               params[1024];
    mcp_buf_t          event;
    mcp_stream_info_t  info;

    memcpy(id, task_begin(0)->call->id, MCP_STREAM_ID_LEN);

    mcp_buf_init(&event, &d.te.env.mem, 4096);
    assert_ok(mcp_store_find(&d.process[0].store, id, 0, &info));
    assert_ok(mcp_store_lookup(&d.process[0].store, &info.ref, 0, &is, &event));
    mcp_buf_free(&event);
    is.info = info;
    is.info.ref.index = 0;

    task_does(0, "tasks/cancel", "");
    assert_int_equal(d.n_breqs, 0);
    mcp_store_free(&d.process[0].store, &info.ref);
    driver_wait(&d, 2000);

    n_lookups = 0;
    d.process[1].worker->cluster_hooks = &hooks;
    d.process[1].worker->cluster = id;

    client_init(&l, NULL);
    snprintf(params, sizeof(params), "\"notifications\":{\"taskIds\":[\"%s\"]"
             "}", task_id);
    modern(1, &l, "subscriptions/listen", NULL, params);
    assert_int_equal(n_lookups, 1);
    assert_int_equal(l.status, 0);
}


TEST(status_of_a_task_at_another_node_changes__the_listener_gets_it)
{
    begin();
    answer(MCP_OK);
    assert_int_equal(l.streaming, 1);
    has(l.text, task_id);
    has_not(l.text, "notifications/tasks");

    /* a change is reported, but the lookup returns the same state: no
     * notification */

    changes(is.info.state);
    assert_int_equal(n_lookups, 2);
    answer(MCP_OK);
    has_not(l.text, "notifications/tasks");

    /* two more changes before the result of the lookup: one more lookup */

    changes(MCP_STATE_INPUT_REQUIRED);
    assert_int_equal(n_lookups, 3);
    changes(MCP_STATE_PROCESSING);
    changes(MCP_STATE_CANCELLED);
    assert_int_equal(n_lookups, 3);
    answer(MCP_OK);
    has(l.text, "\"status\":\"cancelled\"");
    assert_int_equal(count(l.text, "notifications/tasks"), 1);
    assert_int_equal(n_lookups, 4);
    answer(MCP_OK);
    assert_int_equal(count(l.text, "notifications/tasks"), 1);

    /* a lookup fails: the next lookup follows the next change */

    changes(MCP_STATE_FAILED);
    answer(MCP_ERR_UNREACHABLE);
    changes(MCP_STATE_FAILED);
    answer(MCP_OK);
    has(l.text, "\"status\":\"failed\"");
    client_close(&d, &l);

    if (pending) {
        answer(MCP_OK);
    }
}


/* Redis has lost that this node listens to the task, so no change is reported:
 * the listener still gets the change. */
TEST(no_change_of_a_task_is_reported__the_task_is_looked_up_every_15_s)
{
    begin();
    answer(MCP_OK);
    driver_wait(&d, 14000);
    assert_int_equal(n_lookups, 1);
    driver_wait(&d, 1000);
    assert_int_equal(n_lookups, 2);

    /* a lookup fails: it is repeated after a second */

    answer(MCP_ERR_UNREACHABLE);
    assert_int_equal(n_lookups, 2);
    driver_wait(&d, 1000);
    assert_int_equal(n_lookups, 3);
    is.info.state = MCP_STATE_COMPLETED;
    answer(MCP_OK);
    has(l.text, "\"status\":\"completed\"");

    /* the task is over: it is not looked up again */

    driver_wait(&d, 60000);
    assert_int_equal(n_lookups, 3);
    client_close(&d, &l);
}


/* The client disconnects before the result of the lookup: the result is
 * ignored. For another client, the first lookup fails: 503. */
TEST(failed_lookup_gets_503_and_a_lookup_whose_client_has_gone_has_no_effect)
{
    begin();
    answer(MCP_OK);
    changes(MCP_STATE_CANCELLED);
    assert_int_equal(n_lookups, 2);
    client_close(&d, &l);
    answer(MCP_OK);

    begin();
    answer(MCP_ERR_UNREACHABLE);
    assert_int_equal(l.status, 503);
    client_close(&d, &l);
}


TEST(memory_runs_out_after_a_lookup__no_consumer_is_left)
{
    unsigned long  n;

    for (n = 1; n < 40; n++) {
        begin();
        pending->found = mcp_mem_calloc(&d.te.env.mem, sizeof(mcp_found_t));
        assert_non_null(pending->found);
        pending->n_found = 1;
        pending->found->lookup = is;

        d.te.tm.fail_at = n;
        mcp_operation_complete(pending, MCP_OK);
        d.te.tm.fail_at = 0;
        driver_pump(&d);
        assert_int_equal(l.streaming ? 200 : 500, l.status);
        client_close(&d, &l);
        assert_int_equal(d.process[1].worker->consumers, 0);
        assert_int_equal(stats().counter[MCP_COUNT_CONSUMERS_ACTIVE], 0);
        d.process[1].worker->cluster = NULL;
        driver_wait(&d, TTL + 1);
    }
}


/* --- two tasks of another node --- */

static struct {
    char                text[512];
    unsigned char       id[MCP_STREAM_ID_LEN];
    mcp_store_lookup_t  is;
    mcp_operation_t    *op;            /* the pending lookup */
    unsigned            n;             /* number of lookups */
} tasks[2];


static int
start_one_of_two(void *ctx, const mcp_operation_spec_t *spec,
    mcp_operation_t *op)
{
    int  i;

    i = memcmp(spec->stream.id, tasks[1].id, MCP_STREAM_ID_LEN) == 0;
    assert_memory_equal(spec->stream.id, tasks[i].id, MCP_STREAM_ID_LEN);
    assert_null(tasks[i].op);
    tasks[i].op = op;
    tasks[i].n++;

    return MCP_AGAIN;
}


static const mcp_cluster_hooks_t  hooks_of_two = {
    .start = start_one_of_two,
    .is_unreachable = redis_reachable,
    .clock = clock_agrees,
    .check_leader = leader_stays
};


/* Completes the lookup of task i. If young is 1, Redis does not have the end
 * time of the task yet. */
static void
answer_one(int i, int young)
{
    pending = tasks[i].op;
    tasks[i].op = NULL;
    is = tasks[i].is;

    if (young) {
        is.info.expires = 0;
    }

    answer(MCP_OK);
}


/* Redis does not have the end time of the first task yet: this task is looked
 * up again. */
TEST(client_listens_to_two_tasks_of_another_node__one_is_young__it_gets_both)
{
    int                i;
    char               params[2048];
    mcp_buf_t          event;
    mcp_stream_info_t  info;

    for (i = 0; i < 2; i++) {
        memcpy(tasks[i].id, task_begin(0)->call->id, MCP_STREAM_ID_LEN);
        strcpy(tasks[i].text, task_id);
        mcp_buf_init(&event, &d.te.env.mem, 4096);
        assert_ok(mcp_store_find(&d.process[0].store, tasks[i].id, 0, &info));
        assert_ok(mcp_store_lookup(&d.process[0].store, &info.ref, 0,
                                   &tasks[i].is, &event));
        mcp_buf_free(&event);
        tasks[i].is.info = info;
        tasks[i].is.info.ref.index = 0;

        task_does(0, "tasks/cancel", "");
        mcp_store_free(&d.process[0].store, &info.ref);
        driver_wait(&d, 2000);
    }

    d.process[1].worker->cluster_hooks = &hooks_of_two;
    d.process[1].worker->cluster = tasks;

    client_init(&l, NULL);
    snprintf(params, sizeof(params), "\"notifications\":{\"taskIds\":[\"%s\","
             "\"%s\"]}", tasks[0].text, tasks[1].text);
    modern(1, &l, "subscriptions/listen", NULL, params);

    answer_one(0, 1);
    answer_one(1, 0);
    assert_int_equal(l.status, 0);

    while (!l.streaming) {
        driver_wait(&d, 25);

        for (i = 0; i < 2; i++) {
            if (tasks[i].op) {
                answer_one(i, 0);
            }
        }
    }

    assert_in_range(tasks[0].n, 2, 10);
    has(l.text, tasks[0].text);
    has(l.text, tasks[1].text);
    client_close(&d, &l);

    for (i = 0; i < 2; i++) {
        if (tasks[i].op) {
            answer_one(i, 0);
        }
    }
}


RUN_TESTS(task_setup, task_teardown)
