
/* Resume tokens of backends. */

#include "token_cases.h"


static void
test_pages(void **state)
{
    (void) state;

    begin(NEW);
    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, PAGE);
    has_not(a.text, "\"p2\"");
    token_of(&a);
    snprintf(line, sizeof(line), "{\"content\":[],\"nextResumeToken\":\"%s\","
             "\"_meta\":{\"x\":1,\"nextResumeToken\":\"%s\"}}}", token, token);
    has(a.text, line);
    client_close(&d, &a);

    /* it comes back as it was, wherever the client put it */

    client_post(&d, 1, &a, session, again(token));
    has(d.last_body, "\"resumeToken\":\"p2\"}");
    backend_json(&d, "{\"content\":[],\"nextResumeToken\":\"p\\u00333\"}");
    token_of(&a);
    client_close(&d, &a);

    snprintf(text, sizeof(text), REQUEST("9", "tools/call",
             "{\"name\":\"echo\",\"resumeToken\":\"%s\",\"arguments\":"
             "{\"a\":1},\"_meta\":{\"resumeToken\":\"%s\"}}"), token, token);
    client_post(&d, 1, &a, session, text);
    has(d.last_body, "\"resumeToken\":\"p\\u00333\",\"arguments\":{\"a\":1},"
                     "\"_meta\":{\"resumeToken\":\"p\\u00333\"}}");
    backend_json(&d, RESULT);
    has(a.text, "\"id\":9,\"result\":" RESULT);
    has_not(a.text, NEXT);
    client_close(&d, &a);

    /* once */

    ask(session, text, 200, REFUSED);
    quiet();
}


/* The same params are those that are written alike, but for white space. */
static void
test_pages_as_sent(void **state)
{
    size_t  i;

    static const char *const  params[] = {
        "\"arguments\":{\"a\":1},\"name\":\"echo\"",
        "\"name\":\"ec\\u0068o\",\"arguments\":{\"a\":1}",
        "\"name\":\"echo\",\"arguments\":{\"a\":1.0}",
        "\"name\":\"echo\",\"arguments\" : { \"a\"\n: 1 }"
    };

    (void) state;

    begin(NEW);
    page();

    for (i = 0; i < ITEMS(params); i++) {
        snprintf(line, sizeof(line), REQUEST("8", "tools/call",
                 "{\"_meta\":{\"resumeToken\":\"%s\"},%s}"), token, params[i]);

        if (i < ITEMS(params) - 1) {
            ask(session, line, 200, REFUSED);
        }
    }

    client_post(&d, 0, &a, session, line);
    has(d.last_body, "\"resumeToken\":\"p2\"}");
    backend_json(&d, RESULT);
    has(a.text, RESULT);
    client_close(&d, &a);
    quiet();
}


/* Results of one moment that are the same have a token each, which is good
 * once, whatever becomes of the others. */
static void
test_pages_alike(void **state)
{
    size_t       i, k;
    static char  keys[20][sizeof(token)];

    (void) state;

    begin(NEW);

    for (i = 0; i < ITEMS(keys); i++) {
        client_post(&d, i % 2, &a, session, CALL);
        backend_json(&d, PAGE);
        token_of(&a);
        client_close(&d, &a);
        strcpy(keys[i], token);

        for (k = 0; k < i; k++) {
            assert_string_not_equal(keys[i], keys[k]);
        }
    }

    for (i = 0; i < ITEMS(keys); i++) {
        strcpy(token, keys[i]);
        client_post(&d, 0, &a, session, again(token));
        has(d.last_body, "\"resumeToken\":\"p2\"}");
        backend_json(&d, RESULT);
        has(a.text, "\"id\":8,\"result\":" RESULT);
        client_close(&d, &a);
        ask(session, again(token), 200, REFUSED);
    }

    /* nothing that could tell them apart: none at all */

    client_post(&d, 0, &a, session, CALL);
    d.process[0].node.n_random = 0;
    d.te.random_rc = MCP_ERR_INTERNAL;
    backend_json(&d, PAGE);
    d.te.random_rc = MCP_OK;
    has(a.text, "\"id\":7,\"error\":{\"code\":-32603,");
    client_close(&d, &a);
    quiet();
}


/* What went wrong may be tried again. */
static void
test_pages_again(void **state)
{
    mcp_job_t  *job;

    (void) state;

    begin(NEW);
    page();

    /* the backend failed */

    client_post(&d, 0, &a, session, again(token));
    ask(session, again(token), 200, REFUSED);
    backend_end(&d, d.jobs[0], MCP_FAULT_BACKEND_FAILED);
    has(a.text, "-32603");
    client_close(&d, &a);

    /* the client went, before there was anything and in the middle */

    client_post(&d, 0, &a, session, again(token));
    client_close(&d, &a);
    backend_end(&d, d.jobs[0], MCP_FAULT_BACKEND_FAILED);

    client_post(&d, 0, &a, session, again(token));
    job = d.jobs[0];
    mcp_job_head(job, 200, mcp_str("application/x-ndjson"));
    backend_say(&d, job, NOTE("notifications/progress",
                "{\"progressToken\":\"u\",\"progress\":1}") "\n");
    assert_int_equal(a.streaming, 1);
    client_close(&d, &a);
    end_with_result(job);

    /* cancelled */

    client_post(&d, 0, &a, session, again(token));
    driver_wait(&d, 1100);
    cancel(0, session, "8");
    client_close(&d, &a);

    client_post(&d, 0, &a, session, again(token));
    backend_json(&d, RESULT);
    has(a.text, RESULT);
    client_close(&d, &a);
    ask(session, again(token), 200, REFUSED);
    quiet();
}


/* Without room for new calls those that are there are gone on with, and a
 * backend's token is not used up by a call that is refused. */
static void
test_full(void **state)
{
    char               key[sizeof(token)];
    mcp_job_t         *job;
    mcp_stream_ref_t   ref;

    (void) state;

    begin(NEW);
    page();
    strcpy(key, token);
    job = slow();
    hog(&ref);

    client_post(&d, 1, &a, session, again(key));
    assert_int_equal(a.status, 503);
    has(a.text, "\"id\":8");
    client_close(&d, &a);

    client_post(&d, 1, &a, session, again(token));
    assert_int_equal(a.streaming, 1);

    mcp_store_free(&d.process[1].store, &ref);
    end_of_rest(job, &a);

    client_post(&d, 1, &a, session, again(key));
    has(d.last_body, "\"resumeToken\":\"p2\"}");
    backend_json(&d, RESULT);
    has(a.text, "\"id\":8,\"result\":" RESULT);
    client_close(&d, &a);
    quiet();
}


/* It comes to the backend; then that fails, so that it may come again. */
static void
passes(const char *key)
{
    client_post(&d, 0, &b, session, again(key));
    assert_int_equal(d.n_jobs, 1);
    has(d.last_body, "\"resumeToken\":\"p2\"}");
    backend_end(&d, d.jobs[0], MCP_FAULT_BACKEND_FAILED);
    client_close(&d, &b);
}


/* What did not come to be a call has spent nothing. */
static void
test_pages_unmade(void **state)
{
    unsigned long  k;

    (void) state;

    begin(NEW);
    page();

    for (k = 1; k < 200; k++) {
        d.te.tm.failed = 0;
        d.te.tm.fail_at = k;
        client_post(&d, 0, &a, session, again(token));
        d.te.tm.fail_at = 0;

        if (d.n_jobs) {
            backend_end(&d, d.jobs[0], MCP_FAULT_BACKEND_FAILED);
        }

        client_close(&d, &a);
        passes(token);

        if (d.te.tm.failed == 0) {
            break;
        }
    }

    assert_in_range(k, 2, 199);

    /* no randomness, as soon as what there is of it is used up */

    d.te.random_rc = MCP_ERR_INTERNAL;

    for (k = 0; k < 1000; k++) {
        client_post(&d, 0, &a, session, again(token));

        if (a.rc == MCP_ERR_MEMORY) {
            break;
        }

        backend_end(&d, d.jobs[0], MCP_FAULT_BACKEND_FAILED);
        client_close(&d, &a);
    }

    d.te.random_rc = MCP_OK;
    assert_int_equal(a.rc, MCP_ERR_MEMORY);
    client_close(&d, &a);
    passes(token);
    quiet();
}


/* Nor what could not be kept, or that nobody came back for. */
static void
test_pages_unanswered(void **state)
{
    char              key[512];
    mcp_stream_ref_t  ref;

    (void) state;

    begin(NEW);
    page();
    strcpy(key, token);

    client_post(&d, 0, &a, session, again(key));
    hog(&ref);
    driver_wait(&d, 1100);
    assert_int_equal(a.status, 503);
    client_close(&d, &a);
    mcp_store_free(&d.process[1].store, &ref);
    driver_pump(&d);
    passes(key);

    d.endpoint.max_session_streams = 1;
    client_post(&d, 1, &b, session, CALL);
    driver_wait(&d, 1100);
    assert_int_equal(b.streaming, 1);
    client_post(&d, 0, &a, session, again(key));
    driver_wait(&d, 1100);
    assert_int_equal(a.status, 429);
    client_close(&d, &a);
    backend_json(&d, RESULT);
    client_close(&d, &b);
    driver_wait(&d, 6000);
    d.endpoint.max_session_streams = 100;
    passes(key);

    d.endpoint.max_wait = 10000;
    d.endpoint.stream_after = 20000;
    client_post(&d, 0, &a, session, again(key));
    driver_wait(&d, 5100);
    has(a.text, INTERIM);
    client_close(&d, &a);
    ask(session, again(key), 200, REFUSED);
    driver_wait(&d, 11000);
    assert_int_equal(d.n_jobs, 0);
    passes(key);
    quiet();
}


/* Never with an error; null is none. */
static void
test_pages_without(void **state)
{
    static const char  *const results[] = {
        "{\"content\":[],\"isError\":true,\"_meta\":{"
        "\"nextResumeToken\":\"p2\"}}",
        "{\"content\":[],\"isError\":true,\"nextResumeToken\":7}",
        "{\"nextResumeToken\":null,\"content\":[],\"_meta\":{}}"
    };

    size_t  i;

    (void) state;

    begin(NEW);

    for (i = 0; i < ITEMS(results); i++) {
        client_post(&d, 0, &a, session, CALL);
        backend_json(&d, results[i]);
        has(a.text, "\"result\":{\"content\":[]");
        has_not(a.text, "nextResumeToken");
        client_close(&d, &a);
    }

    quiet();
}


/* A result with a token of so many bytes between its quotes. */
static const char *
long_page(int n)
{
    snprintf(line, sizeof(line), "{\"content\":[],\"_meta\":{"
             "\"nextResumeToken\":\"%0*d\"}}", n, 1);

    return line;
}


/* What is no token is an error, or rows would be missing without a word; but
 * to those who would not have asked for more. */
static void
test_pages_bad(void **state)
{
    static const char  *const bad[] = {
        "{\"content\":[],\"nextResumeToken\":7}",
        "{\"content\":[],\"_meta\":{\"nextResumeToken\":{}}}",
        NULL
    };

    char               key[512];
    size_t             i;
    mcp_stream_ref_t   ref;

    (void) state;

    begin(NEW);
    page();
    strcpy(key, token);

    for (i = 0; i < ITEMS(bad); i++) {
        d.te.last[0] = '\0';
        client_post(&d, 0, &a, session, again(key));
        backend_json(&d, bad[i] ? bad[i] : long_page(2047));
        has(a.text, "\"error\":{\"code\":-32603,\"message\":"
                    "\"Backend sent an invalid response\"}");
        has(d.te.last, "its nextResumeToken");
        client_close(&d, &a);
    }

    client_post(&d, 0, &a, session, again(key));
    backend_json(&d, long_page(2046));
    has(a.text, NEXT);
    client_close(&d, &a);

    /* it waits for room */

    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 1100);
    assert_int_equal(a.streaming, 1);
    hog(&ref);
    d.te.logged = 0;
    backend_json(&d, bad[0]);
    driver_wait(&d, 1500);
    assert_int_equal(d.te.logged, 2);
    has_not(a.text, "-32603");
    mcp_store_free(&d.process[1].store, &ref);
    driver_wait(&d, 1500);
    has(a.text, "-32603");
    client_close(&d, &a);

    /* and those who know no tokens get what the backend said */

    client_open(&d, session, NEW, "{}");
    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, bad[0]);
    has(a.text, bad[0]);
    client_close(&d, &a);
    quiet();
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        test(test_pages),
        test(test_pages_as_sent),
        test(test_pages_alike),
        test(test_pages_again),
        test(test_full),
        test(test_pages_unmade),
        test(test_pages_unanswered),
        test(test_pages_without),
        test(test_pages_bad)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
