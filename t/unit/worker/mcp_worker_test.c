/* SPDX-License-Identifier: Apache-2.0 */

/* Workers: handles, the queue of actions, timers, dead processes, shutdown. */

#include "core_cases.h"


static void
wake_one(void *object)
{
}


static void
wake_other(void *object)
{
}


TEST(handles_are_unique_and_a_dropped_handle_stays_invalid)
{
    enum {
        N = 1000
    };

    int          i, x[N];
    uint64_t     h[N], again;
    mcp_worker_t  *worker;

    worker = d.process[0].worker;

    /* more handles than the table has at first: all differ, and none is 0 */

    for (i = 0; i < N; i++) {
        h[i] = mcp_worker_handle(worker, &x[i], i % 2 ? wake_one : wake_other,
                                 NULL);
        assert_true(h[i] != 0);
    }

    for (i = 0; i < N; i++) {
        assert_ptr_equal(worker->handles[(uint32_t) h[i]].object, &x[i]);
        assert_ptr_equal(worker->handles[(uint32_t) h[i]].wake,
                         i % 2 ? wake_one : wake_other);
    }

    /* a handle is dropped: the next handle has the same index, but another
     * value */

    mcp_worker_drop_handle(worker, h[7]);
    again = mcp_worker_handle(worker, &x[8], wake_one, NULL);
    assert_int_equal((uint32_t) again, (uint32_t) h[7]);
    assert_true(again != h[7]);

    mcp_worker_drop_handle(worker, h[7]);
    assert_ptr_equal(worker->handles[(uint32_t) again].object, &x[8]);
    mcp_worker_drop_handle(worker, again);

    /* dropping an invalid handle: no effect */

    mcp_worker_drop_handle(worker, 0);
    mcp_worker_drop_handle(worker, UINT64_MAX);
    mcp_worker_drop_handle(worker, again);

    for (i = 0; i < N; i++) {
        mcp_worker_drop_handle(worker, h[i]);
    }

    for (i = 1; i < (int) worker->n_handles; i++) {
        assert_null(worker->handles[i].object);
    }

    /* no memory: no new handle, and the existing ones remain */

    for (i = 0; i < N; i++) {
        h[i] = mcp_worker_handle(worker, &x[i], wake_one, NULL);
    }

    while (worker->free_handle) {
        mcp_worker_handle(worker, &x[0], wake_one, NULL);
    }

    d.te.tm.fail_at = 1;
    assert_int_equal(mcp_worker_handle(worker, &x[0], wake_one, NULL), 0);
    assert_true(mcp_worker_handle(worker, &x[0], wake_one, NULL) != 0);
    assert_ptr_equal(worker->handles[(uint32_t) h[5]].object, &x[5]);
    memset(worker->handles, 0, worker->n_handles * sizeof(mcp_handle_t));
}


static unsigned  ready_calls;


static void
count_ready(void *ctx)
{
    ready_calls++;
}


/* Actions leave the queue in their order, each once; the glue is notified when
 * the queue is no longer empty. */
TEST(actions_leave_the_queue_in_order_and_each_only_once)
{
    size_t               i;
    mcp_worker_t   *worker;
    mcp_queued_action_t  queued[4];
    mcp_action_t         action;

    worker = d.process[0].worker;
    worker->glue.ready = count_ready;
    ready_calls = 0;
    memset(queued, 0, sizeof(queued));

    for (i = 0; i < 4; i++) {
        queued[i].action.type = MCP_ACT_RESUME;
        queued[i].action.glue = &queued[i];
        mcp_worker_queue(worker, &queued[i]);
        mcp_worker_queue(worker, &queued[0]);
    }

    assert_int_equal(ready_calls, 1);
    mcp_worker_unqueue(worker, &queued[2]);
    mcp_worker_unqueue(worker, &queued[2]);
    mcp_worker_unqueue(worker, &queued[3]);
    mcp_worker_queue(worker, &queued[2]);

    mcp_worker_next(worker, &action);
    assert_ptr_equal(action.glue, &queued[0]);
    mcp_worker_next(worker, &action);
    assert_ptr_equal(action.glue, &queued[1]);
    mcp_worker_next(worker, &action);
    assert_ptr_equal(action.glue, &queued[2]);
    mcp_worker_next(worker, &action);
    assert_int_equal(action.type, MCP_ACT_NONE);
    mcp_worker_next(worker, &action);
    assert_int_equal(action.type, MCP_ACT_NONE);

    mcp_worker_queue(worker, &queued[3]);
    assert_int_equal(ready_calls, 2);
    mcp_worker_next(worker, &action);
    assert_ptr_equal(action.glue, &queued[3]);
}


TEST(deadline_of_a_worker_is_the_earlier_of_its_next_timer_and_the_next_sweep)
{
    int       busy;
    uint64_t  first;

    /* the worker has no work: its deadline is the next sweep */

    first = mcp_worker_deadline(d.process[0].worker, &busy);
    assert_int_equal(first, d.te.now + 1000);
    assert_int_equal(busy, 0);

    d.endpoint.stream_after = 150;
    client_post(&d, 0, &a, session, CALL);
    assert_int_equal(mcp_worker_deadline(d.process[0].worker, &busy),
                     d.te.now + 150);
    assert_int_equal(busy, 1);
    assert_int_equal(mcp_worker_deadline(d.process[1].worker, &busy), first);
    assert_int_equal(busy, 0);

    backend_json(&d, RESULT);
    client_close(&d, &a);
    assert_int_equal(mcp_worker_deadline(d.process[0].worker, &busy), first);
    assert_int_equal(busy, 0);
}


/* An expired stream with unread events is logged. */
TEST(stream_expires_with_unread_events__it_is_logged)
{
    client_post(&d, 0, &a, session, CALL);
    client_close(&d, &a);
    backend_json(&d, RESULT);
    d.te.logged = 0;
    d.te.last[0] = '\0';
    driver_wait(&d, 70000);
    assert_int_equal(stats().streams, 0);
    has(d.te.last, "of \"echo\" expired: no client has fetched its last 1 "
        "events within mcp_max_wait");
    assert_int_equal(stats().counter[MCP_COUNT_STREAMS_EXPIRED], 1);
}


/* The consumer's process dies: the call continues in its own process. */
TEST(worker_of_a_reader_dies__the_call_continues_in_its_own_worker)
{
    char                    id[64];
    mcp_backend_request_t  *breq;

    breq = call_with_progress(0);
    leave_with_last_id(&a, id);
    client_resume(&d, 1, &b, session, id);

    driver_kill(&d, 1);
    client_close(&d, &b);
    driver_killed(&d, 1, 0);

    backend_send(&d, breq, PROGRESS(2) "\n");
    client_resume(&d, 1, &b, session, id);
    has(b.text, PROGRESS(2));
    gets_result(&b, breq);
    assert_int_equal(stats().counter[MCP_COUNT_CALLS_LOST], 0);
}


TEST(stopping_worker_is_busy_until_its_call_is_over)
{
    int                     busy;
    char                    id[64];
    mcp_backend_request_t  *breq;

    breq = call_with_progress(0);
    leave_with_last_id(&a, id);
    client_resume(&d, 0, &a, session, id);
    mcp_worker_stop(d.process[0].worker, 0);
    driver_pump(&d);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);

    /* a stopping worker is busy until its call is over */

    mcp_worker_deadline(d.process[0].worker, &busy);
    assert_int_equal(busy, 1);
    end_with_result(breq);
    mcp_worker_deadline(d.process[0].worker, &busy);
    assert_int_equal(busy, 0);
    driver_restart(&d, 0);

    client_resume(&d, 0, &b, session, id);
    has(b.text, ANSWER);
    client_close(&d, &b);
    assert_int_equal(stats().counter[MCP_COUNT_CALLS_LOST], 0);
}


static struct {
    mcp_stream_ref_t  ref;
    unsigned          held;
} mischief;


/* Makes a consumer of process 1 displace that of process 0 each time process 0
 * releases the lock, so that there is always another wake-up. */
static void
wake_again(void *ctx)
{
    int           taken;
    mcp_cursor_t  cursor;

    if (mischief.held++ > 100000) {
        fail_msg("does not come to an end");
    }

    assert_ok(mcp_store_watch(&d.process[1].store, &mischief.ref, 5, 0, &cursor,
                              &taken));
}


/* Wake-ups follow each other without end: each mcp_worker_wake() returns, and
 * no wake-up is lost. */
TEST(wake_ups_never_end__each_run_of_the_worker_returns_and_no_wake_up_is_lost)
{
    unsigned           i;
    process_t         *p;
    mcp_stream_spec_t  spec;
    mcp_store_wake_t   wake;

    p = &d.process[0];
    memset(&mischief, 0, sizeof(mischief));
    memset(&spec, 0, sizeof(mcp_stream_spec_t));
    memset(spec.id, 1, MCP_STREAM_ID_LEN);
    assert_ok(mcp_store_create(&p->store, &spec, 1, &mischief.ref));

    p->store.glue.unlock = wake_again;
    wake_again(NULL);

    for (i = 0; i < 3; i++) {
        assert_int_equal(p->woken, 1);
        p->woken = 0;
        mcp_worker_wake(p->worker);
    }

    /* the wake-up that was not processed is still in the store's list */

    p->store.glue.unlock = driver_unlock;
    assert_int_equal(p->woken, 1);
    assert_int_equal(mcp_store_drain(&p->store, &wake, 1), 1);
    assert_memory_equal(wake.ref.id, spec.id, MCP_STREAM_ID_LEN);
    mcp_store_free(&p->store, &mischief.ref);
}


/* mcp_worker_wake() processes 64 wake-ups, and then wakes its own process for
 * the remaining ones. */
TEST(wake_ups_for_150_streams_are_processed_in_three_turns)
{
    int                taken;
    unsigned           i, turns;
    process_t         *p;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   refs[150];
    mcp_stream_spec_t  spec;
    mcp_store_wake_t   wake;

    p = &d.process[0];
    memset(&spec, 0, sizeof(mcp_stream_spec_t));

    for (i = 0; i < ITEMS(refs); i++) {
        memset(spec.id, (int) i + 1, MCP_STREAM_ID_LEN);
        assert_ok(mcp_store_create(&p->store, &spec, 1, &refs[i]));
        assert_ok(mcp_store_watch(&d.process[1].store, &refs[i], i + 1, 0,
                                  &cursor, &taken));
    }

    for (turns = 0; p->woken; turns++) {
        p->woken = 0;
        mcp_worker_wake(p->worker);
    }

    assert_int_equal(turns, 3);
    assert_int_equal(mcp_store_drain(&p->store, &wake, 1), 0);

    for (i = 0; i < ITEMS(refs); i++) {
        mcp_store_free(&p->store, &refs[i]);
    }
}


static void
count_wake(void *object)
{
    (*(int *) object)++;
}


/* Consumers whose handles were passed to store->note() are woken once, when
 * the queue of actions is empty. At most MCP_WORKER_NOTED handles are noted;
 * for others, note() returns 0 and the wake-up stays in the store's list. */
TEST(action_queue_is_empty__each_noted_handle_is_woken_once)
{
    int            i, woken[MCP_WORKER_NOTED + 1] = { 0 };
    uint64_t       h[MCP_WORKER_NOTED + 1];
    mcp_store_t   *store;
    mcp_worker_t  *worker;
    mcp_action_t   action;

    worker = d.process[0].worker;
    store = &d.process[0].store;
    worker->glue.ready = count_ready;
    ready_calls = 0;

    for (i = 0; i <= MCP_WORKER_NOTED; i++) {
        h[i] = mcp_worker_handle(worker, &woken[i], count_wake, NULL);
        assert_int_equal(store->note(store->noter, h[i]), i < MCP_WORKER_NOTED);
        assert_int_equal(store->note(store->noter, h[i]), i < MCP_WORKER_NOTED);
    }

    assert_int_equal(ready_calls, 1);

    mcp_worker_drop_handle(worker, h[1]);
    mcp_worker_next(worker, &action);
    mcp_worker_next(worker, &action);
    assert_int_equal(action.type, MCP_ACT_NONE);

    for (i = 0; i <= MCP_WORKER_NOTED; i++) {
        assert_int_equal(woken[i], i != 1 && i < MCP_WORKER_NOTED);
        mcp_worker_drop_handle(worker, h[i]);
    }

    assert_int_equal(store->note(store->noter, h[0]), 1);
    assert_int_equal(ready_calls, 2);
    mcp_worker_next(worker, &action);
    assert_int_equal(woken[0], 1);
}


TEST(messages_below_the_log_level_are_dropped_and_long_ones_are_cut)
{
    char  long_text[1000];

    memset(long_text, 'x', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = '\0';

    d.te.logged = 0;
    d.te.env.log_level = MCP_LOG_WARN;
    mcp_worker_log(d.process[0].worker, MCP_LOG_INFO, "%s", "no");
    assert_int_equal(d.te.logged, 0);
    mcp_worker_log(d.process[0].worker, MCP_LOG_WARN, "%d %s", 5, long_text);
    assert_int_equal(d.te.logged, 1);
    assert_memory_equal(d.te.last, "5 xxx", 5);
    assert_int_equal(strlen(d.te.last), 511);
}


RUN_TESTS(setup, teardown)
