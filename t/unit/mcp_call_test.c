
/* Calls: becoming durable, every way to end in every order, what is held
 * back. */

#include "core_cases.h"


#define BIG(n)   NOTE("notifications/progress", "{\"progressToken\":\"t\","   \
                      "\"progress\":1,\"message\":\"%0" #n "d\"}") "\n"


static char  line[40000];


static void
end_with_result(mcp_job_t *job)
{
    backend_say(&d, job, RESULT "\n");
    backend_end(&d, job, MCP_FAULT_NONE);
}


/* Speaks until the stream has no room; the number of messages taken. */
static int
fill(mcp_job_t *job)
{
    int  i;

    snprintf(line, sizeof(line), BIG(900), 0);

    for (i = 0; backend_say(&d, job, line); i++) {
        assert_true(i < 1000);
    }

    return i;
}


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


/* Only what is the client's business: its own progress token. */
static void
test_progress_tokens(void **state)
{
    static const struct {
        const char  *meta;
        const char  *token;
        int          wanted;
    } cases[] = {
        { "\"_meta\":{\"progressToken\":\"t\"}", "\"t\"", 1 },
        { "\"_meta\":{\"progressToken\":\"t\"}", "\"u\"", 0 },
        { "\"_meta\":{\"progressToken\":5}", "5", 1 },
        { "\"_meta\":{\"progressToken\":5}", "\"5\"", 0 },
        { "\"_meta\":{}", "\"t\"", 0 },
        { "\"arguments\":{}", "\"t\"", 0 }
    };

    size_t      i;
    char        body[256];
    mcp_job_t  *job;

    (void) state;

    for (i = 0; i < ITEMS(cases); i++) {
        snprintf(body, sizeof(body), REQUEST("7", "tools/call",
                 "{\"name\":\"echo\",%s}"), cases[i].meta);
        client_post(&d, 0, &a, session, body);
        job = d.jobs[0];
        mcp_job_head(job, 200, mcp_str("application/x-ndjson"));
        snprintf(body, sizeof(body), NOTE("notifications/progress",
                 "{\"progressToken\":%s,\"progress\":1}") "\n",
                 cases[i].token);
        backend_say(&d, job, body);
        assert_int_equal(a.streaming, cases[i].wanted);
        end_with_result(job);
        assert_int_equal(count(a.text, "notifications/progress"),
                         cases[i].wanted);
        has(a.text, ANSWER);
        client_close(&d, &a);
    }

    quiet();
}


static void
test_log_level(void **state)
{
    static const char *const  levels[] = {
        "debug", "info", "notice", "warning", "error", "critical", "alert",
        "emergency"
    };

    size_t      i, k;
    char        body[256];
    mcp_job_t  *job;

    (void) state;

    for (i = 0; i < ITEMS(levels); i++) {
        snprintf(body, sizeof(body), REQUEST("1", "logging/setLevel",
                 "{\"level\":\"%s\"}"), levels[i]);
        ask(session, body, 200, "\"result\":{}");

        job = call(1);

        for (k = 0; k < ITEMS(levels); k++) {
            snprintf(body, sizeof(body), NOTE("notifications/message",
                     "{\"level\":\"%s\",\"data\":\"n%zu\"}") "\n",
                     levels[k], k);
            backend_say(&d, job, body);
        }

        end_with_result(job);

        for (k = 0; k < ITEMS(levels); k++) {
            snprintf(body, sizeof(body), "\"n%zu\"", k);
            assert_int_equal(count(a.text, body), k >= i);
        }

        client_close(&d, &a);
    }

    quiet();
}


/* What concerns all goes to all, and is no event of the call. */
static void
test_broadcast(void **state)
{
    mcp_job_t  *job;

    (void) state;

    client_resume(&d, 1, &b, session, NULL);
    job = call(0);
    backend_say(&d, job, CHANGED "\n" UPDATED "\n");
    has(b.text, CHANGED);
    has_not(b.text, UPDATED);
    assert_int_equal(a.status, 0);
    end_with_result(job);
    assert_string_equal(a.text, ANSWER);
    client_close(&d, &a);
    client_close(&d, &b);
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


static void
test_backend_failures(void **state)
{
    mcp_job_t  *job;

    (void) state;

    client_post(&d, 0, &a, session, CALL);
    backend_end(&d, d.jobs[0], MCP_FAULT_BACKEND_FAILED);
    assert_int_equal(a.status, 200);
    has(a.text, "-32603");
    has(a.text, "\"id\":7");
    client_close(&d, &a);

    job = call(0);
    backend_say(&d, job, PROGRESS(1) "\n");
    backend_end(&d, job, MCP_FAULT_BACKEND_FAILED);
    has(a.text, PROGRESS(1));
    has(a.text, "-32603");
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);

    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, "{\"broken\":");
    has(a.text, "Backend sent an invalid response");
    client_close(&d, &a);

    job = call(0);
    backend_end(&d, job, MCP_FAULT_NONE);
    has(a.text, "-32603");
    client_close(&d, &a);
    assert_int_equal(stats().counter[MCP_COUNT_CALLS_FAILED], 4);
    quiet();
}


/* A message that is larger than one may be ends the call; one that is larger
 * than the stream may be goes when it is alone. */
static void
test_oversized(void **state)
{
    mcp_job_t  *job;

    (void) state;

    job = call(0);
    backend_say(&d, job, PROGRESS(1) "\n");
    snprintf(line, sizeof(line), BIG(17000), 0);
    backend_say(&d, job, line);
    has(a.text, "Backend response too large");
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    driver_wait(&d, 6000);
    quiet();

    d.endpoint.stream_buffer = 4 * 1024;
    job = call(0);
    snprintf(line, sizeof(line), BIG(9000), 0);
    assert_int_equal(backend_say(&d, job, line), strlen(line));
    assert_int_equal(backend_say(&d, job, line), strlen(line));
    line[strlen(line) - 1] = '\0';
    assert_int_equal(count(a.text, line), 2);
    end_with_result(job);
    has(a.text, ANSWER);
    client_close(&d, &a);
    quiet();
}


static void
test_back_pressure(void **state)
{
    char        id[64];
    unsigned    i, sent;
    mcp_job_t  *job;

    (void) state;

    d.endpoint.stream_buffer = 8 * 1024;

    job = call(0);
    backend_say(&d, job, PROGRESS(0) "\n");
    client_last_id(&a, id);
    client_close(&d, &a);

    sent = 0;

    for (i = 1; i < 100; i++) {
        snprintf(line, sizeof(line), NOTE("notifications/progress",
                 "{\"progressToken\":\"t\",\"progress\":%u,"
                 "\"message\":\"%0900d\"}") "\n", i, 0);

        if (backend_say(&d, job, line) == 0) {
            break;
        }

        sent = i;
    }

    assert_true(sent > 2 && sent < 20);

    client_resume(&d, 1, &b, session, id);
    assert_true(d.resumes > 0);

    for (i = sent + 1; i <= 40; i++) {
        snprintf(line, sizeof(line), NOTE("notifications/progress",
                 "{\"progressToken\":\"t\",\"progress\":%u,"
                 "\"message\":\"%0900d\"}") "\n", i, 0);
        assert_int_equal(backend_say(&d, job, line), strlen(line));
    }

    end_with_result(job);

    for (i = 1; i <= 40; i++) {
        snprintf(line, sizeof(line), "\"progress\":%u,", i);
        assert_int_equal(count(b.text, line), 1);
    }

    has(b.text, ANSWER);
    client_close(&d, &b);
    quiet();
}


/* A message is held for want of room, and then ... */
static void
test_held(void **state)
{
    int         thing, n;
    char        id[64], url[512];
    mcp_job_t  *job;

    (void) state;

    d.endpoint.stream_buffer = 8 * 1024;

    for (thing = 0; thing < THINGS + 3; thing++) {

        client_open(&d, session, NEW, ALL);
        d.resumes = 0;
        job = call(0);
        door_of(job, url, sizeof(url));
        backend_say(&d, job, PROGRESS(1) "\n");
        client_last_id(&a, id);
        client_close(&d, &a);
        n = fill(job);

        switch (thing) {

        case LEAVE:
            /* the client comes, and leaves before it was all */
            client_init(&a, session);
            client_header(&a, "Last-Event-ID", id);
            a.slow = 1;
            client_send(&d, 1, &a, "GET", "");
            client_pull(&a);
            client_close(&d, &a);
            assert_int_equal(d.n_jobs, 1);
            break;

        case RESULT_COMES:
            /* it is not taken: the backend is offered to speak later */
            assert_int_equal(backend_say(&d, job, RESULT "\n"), 0);
            break;

        case JOB_BREAKS:
            backend_end(&d, job, MCP_FAULT_BACKEND_FAILED);
            break;

        case CANCEL:
            cancel(1, session, "7");
            assert_int_equal(d.n_jobs, 0);
            quiet();
            continue;

        case TIMEOUT:
            driver_wait(&d, 31000);
            assert_int_equal(d.n_jobs, 0);
            break;

        case SESSION_ENDS:
            end_session(1, session);
            assert_int_equal(d.n_jobs, 0);
            quiet();
            continue;

        case THINGS:
            /* nobody ever comes */
            d.endpoint.call_timeout = 3600000;
            backend_end(&d, job, MCP_FAULT_NONE);
            driver_wait(&d, 130000);
            quiet();
            assert_int_equal(stats().streams, 0);
            d.endpoint.call_timeout = 30000;
            continue;

        case THINGS + 1:
            /* what is published meanwhile comes behind it, in order */
            publish(1, &b, url + 16, PROGRESS(77));
            assert_int_equal(b.status, 202);
            publish(1, &b, url + 16, PROGRESS(78));
            assert_int_equal(b.status, 202);
            break;

        case THINGS + 2:
            /* a cancellation does not wait behind it */
            publish(1, &b, url + 16, PROGRESS(77));
            cancel(1, session, "7");
            assert_int_equal(d.n_jobs, 0);
            quiet();
            continue;
        }

        client_resume(&d, 1, &b, session, id);
        line[strlen(line) - 1] = '\0';

        if (thing == TIMEOUT) {
            /* the one that was held is lost with the job that said it */
            assert_int_equal(count(b.text, line), n - 1);

        } else {
            assert_int_equal(count(b.text, line), n);
        }

        if (thing == THINGS + 1) {
            has(b.text, PROGRESS(77) "\n\n");
            assert_true(strstr(b.text, PROGRESS(77))
                        < strstr(b.text, PROGRESS(78)));
        }

        if (d.n_jobs) {
            assert_int_equal(d.resumes, 1);
            end_with_result(job);
            has(b.text, ANSWER);

        } else {
            has(b.text, "-32603");
        }

        assert_int_equal(b.ended, 1);
        client_close(&d, &b);
        quiet();
    }
}


/* A backend goes on after it has answered, and never closes. */
static void
test_after_the_end(void **state)
{
    int         fast;
    mcp_job_t  *job;

    (void) state;

    for (fast = 0; fast < 2; fast++) {
        d.aborts = 0;
        job = call(0);

        if (!fast) {
            backend_say(&d, job, PROGRESS(1) "\n");
        }

        backend_say(&d, job, RESULT "\n" PROGRESS(2) "\n" RESULT "\n");
        assert_int_equal(backend_say(&d, job, PROGRESS(3) "\n"),
                         strlen(PROGRESS(3) "\n"));
        has(a.text, ANSWER);
        assert_int_equal(count(a.text, "\"id\":7"), 1);
        has_not(a.text, PROGRESS(2));
        has_not(a.text, PROGRESS(3));
        assert_int_equal(a.ended, 1);

        client_close(&d, &a);
        driver_wait(&d, 4000);
        assert_int_equal(d.aborts, 0);
        driver_wait(&d, 2000);
        assert_int_equal(d.aborts, 1);
        quiet();
    }
}


static void
test_cancel(void **state)
{
    mcp_job_t  *job;

    (void) state;

    /* a durable call, from another process */

    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 1500);
    cancel(1, session, "7");
    assert_int_equal(d.aborts, 1);
    assert_int_equal(a.ended, 1);
    has_not(a.text, "result");
    client_close(&d, &a);
    quiet();

    /* one that is not durable yet */

    client_post(&d, 0, &a, session, CALL);
    cancel(1, session, "7");
    driver_wait(&d, 1500);
    assert_int_equal(d.aborts, 2);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    quiet();

    /* even if that takes long */

    d.endpoint.stream_after = 20000;
    client_post(&d, 0, &a, session, CALL);
    cancel(1, session, "7");
    driver_wait(&d, 20500);
    assert_int_equal(d.aborts, 3);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    quiet();
    d.endpoint.stream_after = 1000;

    /* another id, another session are none of its business */

    job = call(0);
    driver_wait(&d, 1500);
    cancel(1, session, "\"7\"");
    cancel(1, session, "77");
    client_open(&d, session, NEW, ALL);
    cancel(1, session, "7");
    assert_int_equal(d.aborts, 3);
    end_with_result(job);
    has(a.text, ANSWER);
    client_close(&d, &a);
    assert_int_equal(stats().counter[MCP_COUNT_CALLS_CANCELLED], 3);
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
        test(test_progress_tokens),
        test(test_log_level),
        test(test_broadcast),
        test(test_stream_after),
        test(test_orders),
        test(test_client_leaves_early),
        test(test_max_wait),
        test(test_timeout),
        test(test_backend_failures),
        test(test_oversized),
        test(test_back_pressure),
        test(test_held),
        test(test_after_the_end),
        test(test_cancel),
        test(test_full_store),
        test(test_full_later),
        test(test_too_many_streams),
        test(test_no_memory),
        test(test_no_memory_held)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
