/* SPDX-License-Identifier: Apache-2.0 */

/* What comes from other processes: cancellations, the end of a session,
 * published messages; and all of it while something is held. */

#include "core_cases.h"


#define ASK_ROOTS  "{\"resultType\":\"input_required\",\"inputRequests\":{"  \
                   "\"r\":{\"method\":\"roots/list\"}}}"


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


/* An id is what it says, however it is spelled, and whether its call is
 * durable or not. */
static void
test_cancel_spelled(void **state)
{
    static const struct {
        const char  *id;
        const char  *spelled;
        int          same;
    } cases[] = {
        { "\"a\"", "\"\\u0061\"", 1 },
        { "\"\\u0041/\"", "\"A\\/\"", 1 },
        { "\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\"", 1 },
        { "1200", "1.2E3", 1 },
        { "-0", "0", 1 },
        { "7", "\"7\"", 0 },
        { "\"7\"", "7", 0 },
        { "7", "70e-2", 0 },
        { "\"1200\"", "\"1.2E3\"", 0 }
    };

    int         durable, aborts;
    char        body[256];
    size_t      i;
    mcp_job_t  *job;

    (void) state;

    d.endpoint.stream_after = 600000;

    for (i = 0; i < ITEMS(cases); i++) {
        for (durable = 0; durable <= 1; durable++) {
            aborts = (int) d.aborts;
            snprintf(body, sizeof(body),
                     REQUEST("%s", "tools/call", "{\"name\":\"echo\","
                             "\"_meta\":{\"progressToken\":\"t\"}}"),
                     cases[i].id);
            client_post(&d, 0, &a, session, body);
            job = d.jobs[0];
            mcp_job_head(job, 200, mcp_str("application/x-ndjson"));

            if (durable) {
                backend_say(&d, job, PROGRESS(1) "\n");
            }

            cancel(1, session, cases[i].spelled);
            driver_wait(&d, 250);

            if (cases[i].same) {
                assert_int_equal(d.aborts, aborts + 1);

            } else {
                assert_int_equal(d.aborts, aborts);
                end_with_result(job);
            }

            client_close(&d, &a);
            quiet();
            client_open(&d, session, NEW, ALL);
        }
    }

    d.endpoint.stream_after = 1000;
}


/* Calls that would not be durable for long: at once where they run, soon
 * elsewhere, and nobody else's. */
static void
test_cancel_young(void **state)
{
    int       i;
    char      other[MCP_SESSION_TEXT_MAX];
    unsigned  locks;

    (void) state;

    d.endpoint.stream_after = 600000;

    client_post(&d, 0, &a, session, CALL);
    client_post(&d, 0, &b, session, CALL8);
    cancel(0, session, "8");
    assert_int_equal(d.aborts, 1);
    assert_int_equal(b.ended, 1);
    has_not(b.text, "result");
    client_close(&d, &b);

    driver_wait(&d, 1000);
    assert_int_equal(d.aborts, 1);
    cancel(1, session, "7");
    driver_wait(&d, 250);
    assert_int_equal(d.aborts, 2);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    quiet();

    /* its session ends */

    client_open(&d, other, NEW, ALL);
    client_post(&d, 0, &a, other, CALL);
    client_init(&b, other);
    client_send(&d, 1, &b, "DELETE", "");
    client_close(&d, &b);
    driver_wait(&d, 250);
    assert_int_equal(d.aborts, 3);
    client_close(&d, &a);
    quiet();

    /* cancelling what there is not is no work for who runs others */

    client_post(&d, 0, &a, session, CALL);

    for (i = 0; i < 500; i++) {
        char  id[16];

        snprintf(id, sizeof(id), "%d", 1000 + i);
        cancel(1, session, id);
    }

    locks = d.locks;
    driver_wait(&d, 900);
    assert_in_range(d.locks - locks, 0, 100);
    assert_int_equal(d.aborts, 3);
    backend_json(&d, RESULT);
    has(a.text, ANSWER);
    client_close(&d, &a);
    d.endpoint.stream_after = 1000;
    quiet();
}


/* A call of a's with a full stream that nobody reads, and a message of its
 * backend that is held. */
static mcp_job_t *
stuck(char *id, char *url, size_t size)
{
    mcp_job_t  *job;

    client_open(&d, session, NEW, ALL);
    d.endpoint.stream_buffer = 8 * 1024;
    job = call(0);
    publish_url_of(job, url, size);
    backend_say(&d, job, PROGRESS(1) "\n");
    client_last_id(&a, id);
    client_close(&d, &a);
    fill(job);

    return job;
}


/* A cancellation does not wait behind what is held, nor behind what was
 * published before it. */
static void
test_cancel_held(void **state)
{
    int   way;
    char  id[64], url[512];

    (void) state;

    for (way = 0; way < 3; way++) {
        stuck(id, url, sizeof(url));

        if (way == 1) {
            publish(1, &b, url + strlen("http://127.0.0.1"), PROGRESS(77));
        }

        if (way == 2) {
            end_session(1, session);

        } else {
            cancel(1, session, "7");
        }

        assert_int_equal(d.n_jobs, 0);
        quiet();
    }
}


/* Nor for room in an inbox that others have filled. */
static void
test_cancel_full(void **state)
{
    int         i, way;
    char        old[MCP_SESSION_TEXT_MAX], url[512];
    const char  *path;

    (void) state;

    d.endpoint.stream_buffer = 8 * 1024;

    for (way = 0; way < 2; way++) {
        client_open(&d, old, OLD, ALL);
        client_post(&d, 0, &a, old, "[" CALL "," CALL8 "]");
        path = publish_url_of(d.jobs[0], url, sizeof(url));
        driver_wait(&d, 1500);
        client_close(&d, &a);

        driver_pause(&d, 0, 1);
        snprintf(line, sizeof(line), BIG(900), 0);
        i = 0;

        do {
            publish(1, &b, path, line);
            assert_true(i++ < 100);
        } while (b.status == 202);

        for (i = 0; i < 400; i++) {
            client_post(&d, 1, &b, old, NOTE("notifications/cancelled",
                                             "{\"requestId\":7}"));
            client_close(&d, &b);
        }

        if (way == 0) {
            end_session(1, old);

        } else {
            cancel(1, old, "8");
        }

        assert_int_equal(d.n_jobs, 2);
        driver_pause(&d, 0, 0);
        assert_int_equal(d.n_jobs, 0);
        quiet();
    }
}


/* What is published comes behind what is held, in order. */
static void
test_publish_held(void **state)
{
    char         id[64], url[512];
    mcp_job_t   *job;
    const char  *path;

    (void) state;

    job = stuck(id, url, sizeof(url));
    path = url + strlen("http://127.0.0.1");
    publish(1, &b, path, PROGRESS(77));
    assert_int_equal(b.status, 202);
    publish(1, &b, path, PROGRESS(78));
    assert_int_equal(b.status, 202);

    client_resume(&d, 1, &a, session, id);
    has(a.text, PROGRESS(77) "\n\n");
    assert_true(strstr(a.text, line) < strstr(a.text, PROGRESS(77)));
    assert_true(strstr(a.text, PROGRESS(77))
                < strstr(a.text, PROGRESS(78)));

    end_with_result(job);
    has(a.text, ANSWER);
    client_close(&d, &a);
    quiet();
}


/* Where there is no room for a published answer it is tried until there is. */
static void
test_publish_no_room(void **state)
{
    char              id[64], url[512];
    const char       *path;
    mcp_stream_ref_t  ref;

    (void) state;

    client_post(&d, 0, &a, session, CALL);
    path = publish_url_of(d.jobs[0], url, sizeof(url));
    driver_wait(&d, 1500);
    client_last_id(&a, id);
    client_close(&d, &a);

    driver_pause(&d, 0, 1);
    publish(1, &b, path, RESULT);
    assert_int_equal(b.status, 202);
    hog(&ref);
    driver_pause(&d, 0, 0);
    driver_wait(&d, 2000);
    mcp_store_free(&d.process[1].store, &ref);
    driver_wait(&d, 1100);

    client_resume(&d, 1, &a, session, id);
    has(a.text, ANSWER);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    driver_wait(&d, 6000);
    quiet();
}


/* The client has answered, the backend that asked has not ended yet, and what
 * is published meanwhile finds no room: the next invocation waits for it. */
static void
test_publish_between_rounds(void **state)
{
    int          i;
    char         id[64], question[64], url[512];
    mcp_job_t   *job;
    const char  *path;

    (void) state;

    d.endpoint.stream_buffer = 8 * 1024;
    job = call(0);
    path = publish_url_of(job, url, sizeof(url));
    backend_say(&d, job, ASK_ROOTS "\n");
    question_id(a.text, "roots/list", question);
    client_last_id(&a, id);
    client_close(&d, &a);
    reply(1, session, question, "\"result\":{\"roots\":[]}");

    snprintf(line, sizeof(line), BIG(900), 0);
    line[strlen(line) - 1] = '\0';

    for (i = 0; i < 12; i++) {
        publish(1, &b, path, line);
        assert_int_equal(b.status, 202);
    }

    backend_end(&d, job, MCP_FAULT_NONE);
    assert_int_equal(d.n_jobs, 0);

    client_resume(&d, 1, &a, session, id);
    assert_int_equal(count(a.text, line), 12);
    assert_int_equal(d.n_jobs, 1);
    has(d.last_body, "\"inputResponses\":{\"r\":{\"roots\":[]}}");
    backend_json(&d, RESULT);
    has(a.text, ANSWER);
    client_close(&d, &a);
    quiet();
}


/* An answer that is published between two rounds ends them. */
static void
test_answer_between_rounds(void **state)
{
    char        old[MCP_SESSION_TEXT_MAX], id[64], url[512];
    mcp_job_t  *job;

    (void) state;

    client_open(&d, old, OLD, ALL);
    client_post(&d, 0, &a, old, "[" CALL "," CALL8 "]");
    job = d.jobs[0];
    mcp_job_head(job, 200, mcp_str("application/x-ndjson"));
    backend_say(&d, job, ASK_ROOTS "\n");
    question_id(a.text, "roots/list", id);
    reply(1, old, id, "\"result\":{\"roots\":[]}");
    publish(1, &b, publish_url_of(job, url, sizeof(url)), RESULT);
    assert_int_equal(count(a.text, ANSWER), 1);

    backend_end(&d, job, MCP_FAULT_NONE);
    assert_int_equal(d.n_jobs, 1);
    backend_json(&d, RESULT);
    has(a.text, "\"id\":8,\"result\"");
    assert_int_equal(count(a.text, ANSWER), 1);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    quiet();
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        test(test_cancel),
        test(test_cancel_spelled),
        test(test_cancel_young),
        test(test_cancel_held),
        test(test_cancel_full),
        test(test_publish_held),
        test(test_publish_no_room),
        test(test_publish_between_rounds),
        test(test_answer_between_rounds)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
