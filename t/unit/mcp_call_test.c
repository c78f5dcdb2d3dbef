
/* Calls: becoming durable, time, every way to end in every order, a store
 * without room, memory that fails. */

#include "core_cases.h"


static void
test_fast_path(void **state)
{
    (void) state;

    client_post(&d, 0, &a, session, CALL);
    assert_int_equal(a.status, 0);
    assert_string_equal(d.last_body, CALL);
    fact_is(&d.jobs[0]->facts, MCP_FACT_PROGRESS_TOKEN, "\"t\"");
    backend_json(&d, RESULT);

    assert_int_equal(a.status, 200);
    assert_string_equal(a.text, ANSWER);
    assert_str_is(mcp_exchange_response(a.x)->content_type,
                  "application/json");
    assert_int_equal(stats().streams, 0);

    assert_int_equal(d.forgets, 0);
    client_close(&d, &a);
    assert_int_equal(d.forgets, 1);
    quiet();
}


static void
test_stream(void **state)
{
    mcp_job_t  *job;

    (void) state;

    job = call(0);
    backend_say(&d, job, PROGRESS(1) "\n" PROGRESS(2) "\n");

    assert_int_equal(a.status, 200);
    assert_int_equal(a.streaming, 1);
    has(a.text, ".1\ndata: " PROGRESS(1) "\n\n");
    has(a.text, ".2\ndata: " PROGRESS(2) "\n\n");
    assert_int_equal(a.ended, 0);

    backend_say(&d, job, RESULT "\n");
    has(a.text, ".3\ndata: " ANSWER "\n\n");
    assert_int_equal(a.ended, 1);

    backend_end(&d, job, MCP_FAULT_NONE);
    client_close(&d, &a);
    quiet();
}


static void
test_stream_after(void **state)
{
    (void) state;

    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 999);
    assert_int_equal(a.status, 0);
    driver_wait(&d, 2);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.streaming, 1);
    assert_int_equal(stats().streams, 1);

    backend_json(&d, RESULT);
    has(a.text, ".1\ndata: " ANSWER "\n\n");
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    quiet();
}


/*
 * What happens to one call, in every order of two things, with and without a
 * stream before.  For each: how the backend call ends, and what the stream or
 * the answer then has.
 */

enum {
    LEAVE,                     /* the client */
    RESULT_COMES,
    JOB_BREAKS,
    CANCEL,
    TIMEOUT,
    SESSION_ENDS,
    THINGS
};


static const char *const  things[] = {
    "leave", "result", "break", "cancel", "timeout", "session ends"
};


static void
happen(int thing, mcp_job_t *job)
{
    int  live;

    live = (d.n_jobs == 1 && d.jobs[0] == job);

    switch (thing) {

    case LEAVE:
        client_close(&d, &a);
        break;

    case RESULT_COMES:
        if (live) {
            end_with_result(job);
        }

        break;

    case JOB_BREAKS:
        if (live) {
            backend_end(&d, job, MCP_FAULT_BACKEND_FAILED);
        }

        break;

    case CANCEL:
        /* 404 if the session has ended */
        client_post(&d, 1, &b, session, CANCEL7);
        client_close(&d, &b);
        break;

    case TIMEOUT:
        driver_wait(&d, 31000);
        break;

    case SESSION_ENDS:
        client_init(&b, session);
        client_send(&d, 1, &b, "DELETE", "");
        client_close(&d, &b);
        break;
    }
}


static void
test_orders(void **state)
{
    int         one, two, early;
    mcp_job_t  *job;

    (void) state;

    for (early = 0; early < 2; early++) {
        for (one = 0; one < THINGS; one++) {
            for (two = 0; two < THINGS; two++) {

                if (one == two) {
                    continue;
                }

                client_open(&d, session, NEW, ALL);
                job = call(0);

                if (!early) {
                    backend_say(&d, job, PROGRESS(1) "\n");
                    has(a.text, PROGRESS(1));
                }

                happen(one, job);

                /* what decides is the first; leaving decides nothing */

                if (one == RESULT_COMES) {
                    has(a.text, ANSWER);

                } else if (one == JOB_BREAKS || one == TIMEOUT) {
                    has(a.text, "-32603");
                    has(a.text, "\"id\":7");

                } else if ((one == CANCEL || one == SESSION_ENDS) && !early) {
                    assert_int_equal(a.ended, 1);
                    has_not(a.text, "\"id\":7");
                    assert_int_equal(d.n_jobs, 0);
                }

                happen(two, job);

                /* a cancellation found it as soon as it became durable */

                driver_wait(&d, 2000);

                if (d.n_jobs) {
                    fail_msg("%s, then %s: runs on", things[one],
                             things[two]);
                }

                if (a.x) {
                    assert_int_equal(a.ended, 1);
                    client_close(&d, &a);
                }

                driver_wait(&d, 200000);
                quiet();
                assert_int_equal(stats().streams, 0);
                assert_int_equal(d.process[0].node.calls, 0);
            }
        }
    }
}


static void
test_client_leaves_early(void **state)
{
    (void) state;

    client_post(&d, 0, &a, session, CALL);
    client_close(&d, &a);
    assert_int_equal(stats().streams, 1);
    assert_int_equal(d.n_jobs, 1);

    backend_json(&d, RESULT);
    quiet();
    assert_int_equal(stats().streams, 1);

    driver_wait(&d, 70000);
    assert_int_equal(stats().streams, 0);
}


/* The client has gone before a backend could be asked: a glue needs its
 * request for that, and may have to say that it cannot. */
static void
test_left_before_start(void **state)
{
    enum { PULLED, FULL, CANCELLED, NEVER_PULLED, NOBODY_COMES, PUBLISHED,
           WAYS };

    int               way;
    char              url[512];
    const char       *path;
    mcp_stream_ref_t  ref;

    (void) state;

    for (way = 0; way < WAYS; way++) {
        client_open(&d, session, NEW, ALL);
        d.endpoint.max_wait = way == NOBODY_COMES ? 1000 : 60000;

        driver_pause(&d, 0, 1);
        client_post(&d, 0, &a, session, CALL);
        path = door_of(&a.x->call->requests[0].job, url, sizeof(url));

        if (way == FULL) {
            hog(&ref);
        }

        client_close(&d, &a);
        assert_int_equal(d.n_jobs, 0);

        switch (way) {

        case PULLED:
            driver_pause(&d, 0, 0);
            assert_int_equal(d.n_jobs, 1);
            backend_end(&d, d.jobs[0], MCP_FAULT_BACKEND_FAILED);
            assert_int_equal(stats().counter[MCP_COUNT_CALLS_FAILED], 1);
            break;

        case FULL:
            mcp_store_free(&d.process[1].store, &ref);
            break;

        case CANCELLED:
            cancel(1, session, "7");
            driver_pause(&d, 0, 0);
            break;

        case NEVER_PULLED:
            driver_wait(&d, 31000);
            break;

        case NOBODY_COMES:
            driver_wait(&d, 1100);
            break;

        case PUBLISHED:
            publish(1, &b, path, RESULT);
            assert_int_equal(b.status, 202);
            mcp_node_wake(&d.process[0].node);
            assert_int_equal(d.process[0].node.calls, 1);
            driver_wait(&d, 6000);
            break;
        }

        assert_int_equal(d.process[0].node.calls, 0);
        driver_pause(&d, 0, 0);
        quiet();
        driver_wait(&d, 70000);
        assert_int_equal(stats().streams, 0);
    }
}


/* Whatever is due, and however late: what remains is armed in the future, or
 * the timers of the process would never be done. */
static void
test_timer(void **state)
{
    enum { STARTED, NOT_STARTED, ASKED, LEFT, LEFT_NO_WAIT, NO_ROOM, WAYS };

    int               way, i;
    mcp_call_t       *call;
    mcp_stream_ref_t  ref;

    (void) state;

    for (way = 0; way < WAYS; way++) {
        client_open(&d, session, NEW, ALL);
        d.endpoint.max_wait = way == LEFT_NO_WAIT ? 0 : 60000;

        if (way == NOT_STARTED) {
            driver_pause(&d, 0, 1);
        }

        client_post(&d, 0, &a, session, CALL);
        call = a.x->call;
        call->refs++;

        if (way == ASKED) {
            mcp_job_head(d.jobs[0], 200, mcp_str("application/x-ndjson"));
            backend_say(&d, d.jobs[0], ASK "\n");
        }

        if (way == LEFT || way == LEFT_NO_WAIT) {
            client_close(&d, &a);
        }

        if (way == NO_ROOM) {
            driver_wait(&d, 1500);
            hog(&ref);
        }

        driver_pause(&d, 0, 1);

        for (i = 0; i < 20 && mcp_timer_armed(&call->timer); i++) {

            /* the last time far too late */

            d.te.now = call->timer.when + (i == 18 ? 100000 : 0);
            mcp_timer_del(&d.process[0].node.timers, &call->timer);
            call->timer.handler(call);
            assert_true(!mcp_timer_armed(&call->timer)
                        || call->timer.when > d.te.now);
        }

        if (way == NO_ROOM) {
            mcp_store_free(&d.process[1].store, &ref);
        }

        driver_pause(&d, 0, 0);
        mcp_call_release(call);
        driver_pump(&d);
        driver_wait(&d, 200000);

        if (a.x) {
            assert_int_equal(a.ended, 1);
            client_close(&d, &a);
        }

        quiet();
    }
}


/* A request that has its answer gets no other, whatever fails later. */
static void
test_one_answer(void **state)
{
    char         old[MCP_SESSION_TEXT_MAX];
    mcp_call_t  *call;

    (void) state;

    client_open(&d, old, OLD, ALL);
    client_post(&d, 0, &a, old, "[" CALL "," CALL8 "]");
    driver_wait(&d, 1500);
    call = d.jobs[0]->call;

    mcp_job_head(d.jobs[0], 200, mcp_str("application/x-ndjson"));
    backend_say(&d, d.jobs[0], RESULT "\n");
    assert_int_equal(call->pending, 1);
    mcp_call_fail(&call->requests[d.jobs[0]->request], MCP_FAULT_INTERNAL);
    assert_int_equal(call->pending, 1);
    backend_end(&d, d.jobs[0], MCP_FAULT_NONE);
    backend_json(&d, RESULT);
    assert_int_equal(count(a.text, "\"id\":7"), 1);
    assert_int_equal(count(a.text, "\"id\":8"), 1);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    quiet();
}


static void
test_max_wait(void **state)
{
    char  id[64];

    (void) state;

    d.endpoint.call_timeout = 3600000;

    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 1500);
    client_last_id(&a, id);
    client_close(&d, &a);

    /* somebody comes back in time, and the time begins anew */

    driver_wait(&d, 50000);
    client_resume(&d, 1, &a, session, id);
    driver_wait(&d, 50000);
    client_close(&d, &a);

    driver_wait(&d, 59000);
    assert_int_equal(d.aborts, 0);
    driver_wait(&d, 2000);
    assert_int_equal(d.aborts, 1);
    quiet();

    assert_int_equal(stats().streams, 0);
    assert_int_equal(stats().counter[MCP_COUNT_CALLS_EXPIRED], 1);
    client_resume(&d, 1, &a, session, id);
    assert_int_equal(a.status, 404);
    client_close(&d, &a);
}


static void
test_timeout(void **state)
{
    mcp_job_t  *job;

    (void) state;

    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 29000);
    assert_int_equal(d.aborts, 0);
    driver_wait(&d, 2000);
    has(a.text, "-32603");
    has(a.text, "Backend timed out");
    assert_int_equal(a.ended, 1);
    assert_int_equal(d.aborts, 1);
    client_close(&d, &a);
    quiet();

    /* progress does not put it off */

    job = call(0);

    while (d.n_jobs) {
        backend_say(&d, job, PROGRESS(1) "\n");
        driver_wait(&d, 1000);
        assert_true(count(a.text, PROGRESS(1)) < 32);
    }

    assert_int_equal(count(a.text, PROGRESS(1)), 30);
    has(a.text, "Backend timed out");
    client_close(&d, &a);
    quiet();
}


/* The zone is full: new calls are refused, running ones end. */
static void
test_full_store(void **state)
{
    mcp_job_t  *job;

    (void) state;

    d.endpoint.stream_buffer = 64 * 1024 * 1024;

    job = call(0);
    backend_say(&d, job, PROGRESS(1) "\n");
    client_close(&d, &a);
    fill(job);

    client_post(&d, 1, &b, session, CALL8);
    assert_int_equal(b.status, 503);
    has(b.text, "\"id\":8");
    assert_string_equal(client_answer_header(&b, "Retry-After"), "5");
    client_close(&d, &b);
    assert_int_equal(d.n_jobs, 1);
    assert_int_equal(stats().counter[MCP_COUNT_REFUSED_FULL], 1);

    cancel(1, session, "7");
    quiet();

    driver_wait(&d, 90000);
    client_post(&d, 1, &b, session, CALL);
    backend_json(&d, RESULT);
    assert_string_equal(b.text, ANSWER);
    client_close(&d, &b);
    quiet();
}


/* It was full only when the call had to become durable. */
static void
test_full_later(void **state)
{
    mcp_job_t  *job;

    (void) state;

    d.endpoint.stream_buffer = 64 * 1024 * 1024;

    client_post(&d, 1, &b, session, CALL8);
    client_post(&d, 0, &a, session, CALL);
    job = d.jobs[1];
    mcp_job_head(job, 200, mcp_str("application/x-ndjson"));
    backend_say(&d, job, PROGRESS(1) "\n");
    client_close(&d, &a);
    fill(job);

    driver_wait(&d, 1100);
    assert_int_equal(b.status, 503);
    has(b.text, "\"id\":8");
    assert_int_equal(b.ended, 1);
    assert_int_equal(d.n_jobs, 1);
    client_close(&d, &b);
    cancel(1, session, "7");
    quiet();
}


static void
test_too_many_streams(void **state)
{
    (void) state;

    d.endpoint.max_session_streams = 1;

    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 1500);
    client_post(&d, 1, &b, session, CALL8);
    assert_int_equal(d.n_jobs, 2);
    driver_wait(&d, 1500);
    assert_int_equal(b.status, 429);
    has(b.text, "\"id\":8");
    assert_int_equal(d.n_jobs, 1);
    assert_int_equal(stats().counter[MCP_COUNT_REFUSED_LIMIT], 1);
    client_close(&d, &b);

    /* the fast path needs no stream */

    client_post(&d, 1, &b, session, CALL8);
    mcp_job_head(d.jobs[1], 200, mcp_str("application/json"));
    backend_say(&d, d.jobs[1], RESULT);
    backend_end(&d, d.jobs[1], MCP_FAULT_NONE);
    assert_int_equal(b.status, 200);
    client_close(&d, &b);

    backend_json(&d, RESULT);
    has(a.text, ANSWER);
    client_close(&d, &a);
    quiet();
}


/* Streams, input, resumption and the answer, with the k-th allocation
 * failing: anything may go wrong but nothing crashes, leaks or stays. */

static void
finish_all(void)
{
    size_t  i;

    for (i = d.n_jobs; i; i = d.n_jobs) {
        mcp_job_head(d.jobs[0], 200, mcp_str("application/json"));
        backend_say(&d, d.jobs[0], RESULT);

        if (d.n_jobs == i) {
            backend_end(&d, d.jobs[0], MCP_FAULT_NONE);
        }
    }
}


static void
scenario_input(void)
{
    char        id[64], body[256];
    mcp_job_t  *job;

    client_post(&d, 0, &a, session, CALL);

    if (d.n_jobs) {
        job = d.jobs[0];
        mcp_job_head(job, 200, mcp_str("application/x-ndjson"));
        backend_say(&d, job, PROGRESS(1) "\n" ASK "\n");

        if (d.n_jobs) {
            backend_end(&d, job, MCP_FAULT_NONE);
        }
    }

    if (a.streaming && strstr(a.text, "roots/list")) {
        question_id(a.text, "elicitation/create", id);
        snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\","
                 "\"result\":{}}", id);
        client_post(&d, 1, &b, session, body);
        client_close(&d, &b);

        question_id(a.text, "roots/list", id);
        snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\","
                 "\"result\":{}}", id);
        client_post(&d, 0, &b, session, body);
        client_close(&d, &b);
    }

    client_close(&d, &a);
    finish_all();
    client_resume(&d, 1, &b, session, NULL);
    client_close(&d, &b);
}


/* Held messages, publishing and cancelling. */
static void
scenario_held(void)
{
    int         i;
    char        url[512];
    mcp_str_t   fact;
    mcp_job_t  *job;

    client_post(&d, 0, &a, session, CALL);
    url[0] = '\0';

    if (d.n_jobs) {
        job = d.jobs[0];
        fact = job->facts.value[MCP_FACT_PUBLISH_URL];
        snprintf(url, sizeof(url), "%.*s", (int) fact.len, fact.data);
        mcp_job_head(job, 200, mcp_str("application/x-ndjson"));
        client_close(&d, &a);
        snprintf(line, sizeof(line), BIG(900), 0);

        for (i = 0; i < 10 && d.n_jobs; i++) {
            backend_say(&d, job, line);
        }
    }

    client_close(&d, &a);

    if (url[0]) {
        client_init(&b, NULL);
        knock(1, &b, "POST", url + strlen("http://127.0.0.1"), PROGRESS(77));
        client_close(&d, &b);
    }

    client_post(&d, 1, &b, session, CANCEL7);
    client_close(&d, &b);
    finish_all();
}


static void
scenario_batch(void)
{
    client_post(&d, 0, &a, session, "[" PING "," CALL "," CALL8 "]");
    driver_wait(&d, 1500);
    client_post(&d, 1, &b, session, CANCEL7);
    client_close(&d, &b);
    finish_all();
    client_close(&d, &a);
}


static void
without_memory(void (*scenario)(void), const char *revision)
{
    unsigned long  k;

    for (k = 1; k < 2000; k++) {

        /* a session would not live as long as all of this */

        client_open(&d, session, revision, ALL);
        d.te.tm.failed = 0;
        d.te.tm.fail_at = k;
        scenario();
        d.te.tm.fail_at = 0;
        driver_wait(&d, 100000);
        quiet();

        if (d.te.tm.failed == 0) {
            assert_true(k > 10);
            assert_int_equal(b.status, scenario == scenario_input ? 200
                                                                  : 202);
            return;
        }
    }

    fail_msg("never came to an end");
}


static void
test_no_memory(void **state)
{
    (void) state;

    without_memory(scenario_input, NEW);
    without_memory(scenario_batch, OLD);
}


static void
test_no_memory_held(void **state)
{
    (void) state;

    d.endpoint.stream_buffer = 4 * 1024;
    without_memory(scenario_held, NEW);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        test(test_fast_path),
        test(test_stream),
        test(test_stream_after),
        test(test_orders),
        test(test_client_leaves_early),
        test(test_left_before_start),
        test(test_timer),
        test(test_one_answer),
        test(test_max_wait),
        test(test_timeout),
        test(test_full_store),
        test(test_full_later),
        test(test_too_many_streams),
        test(test_no_memory),
        test(test_no_memory_held)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
