/* SPDX-License-Identifier: Apache-2.0 */

/* Resumable requests: policy, status, resumption. */

#include "resume_cases.h"


#define POLICY   "notifications/requests/resumePolicy"

#define OTHERS   NOTE("notifications/message", "{\"level\":\"info\","         \
                      "\"data\":\"of another\"}")


static char  last[64], first[512];


static void
begin(const char *revision)
{
    client_open(&d, session, revision,
                "{" INPUT ",\"resumableRequests\":{}}");
}


static const char *
status_of(const char *id, const char *of)
{
    static char  body[1024];

    snprintf(body, sizeof(body), REQUEST("9", "requests/getStatus",
             "{\"requestId\":%s,\"resumeToken\":\"%s\"}"), id, of);

    return body;
}


static const char *
resume_of(const char *id, const char *of)
{
    static char  body[1024];

    snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":"
             "\"requests/resume\",\"params\":{\"resumeToken\":\"%s\"}}", id,
             of);

    return body;
}


/* The policy is the first event, and says what is configured. */
static void
test_policy(void **state)
{
    mcp_backend_request_t  *breq;

    (void) state;

    d.endpoint.max_wait = 90500;
    d.endpoint.min_wait = 2000;

    begin(NEW);
    breq = durable(1);

    has(a.text, ".1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"" POLICY "\","
                "\"params\":{\"requestId\":7,\"resumeToken\":\"");
    has(a.text, "\",\"minWait\":2,\"maxWait\":90.500}}\n\n");
    has(a.text, ".2\ndata: " PROGRESS(1));
    assert_int_equal(count(a.text, POLICY), 1);

    end_with_result(breq);
    has(a.text, ".3\ndata: " ANSWER);
    client_close(&d, &a);

    /* nothing of it for others, nor for what is answered at once */

    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, RESULT);
    assert_string_equal(a.text, ANSWER);
    client_close(&d, &a);

    client_open(&d, session, NEW, ALL);
    breq = call(0);
    backend_say(&d, breq, PROGRESS(1) "\n");
    has(a.text, ".1\ndata: " PROGRESS(1));
    has_not(a.text, POLICY);
    ask(session, status_of("7", token), 200, "\"code\":-32601");
    ask(session, resume_of("7", token), 200, "\"code\":-32601");
    end_with_result(breq);
    client_close(&d, &a);
    quiet();
}


static void
test_status(void **state)
{
    mcp_backend_request_t  *breq;

    (void) state;

    begin(NEW);
    breq = durable(1);

    ask(session, status_of("7", token), 200,
        "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{\"requestId\":7,"
        "\"status\":\"processing\",\"hasPendingMessage\":true,"
        "\"hasInputRequest\":false}}");

    /* written is not arrived, until a Last-Event-ID says so */

    client_last_id(&a, last);
    client_close(&d, &a);
    ask(session, status_of("7", token), 200, "\"hasPendingMessage\":true");
    post_after(0, &b, session, status_of("7", token), last);
    has(b.text, "\"hasPendingMessage\":false");
    client_close(&d, &b);
    ask(session, status_of("7", token), 200, "\"hasPendingMessage\":false");
    backend_say(&d, breq, PROGRESS(2) "\n");
    ask(session, status_of("7", token), 200, "\"hasPendingMessage\":true,"
        "\"hasInputRequest\":false");

    /* nothing is fetched, nothing deleted; a cursor says more than sockets */

    ask(session, status_of("7", token), 200, "\"hasPendingMessage\":true");
    client_init(&b, session);
    client_header(&b, "Last-Event-ID", last);
    client_send(&d, 0, &b, "POST", status_of("7", token));
    has(b.text, "\"hasPendingMessage\":true");
    client_close(&d, &b);

    end_with(breq, ASK "\n");
    ask(session, status_of("7", token), 200, "\"status\":\"processing\","
        "\"hasPendingMessage\":true,\"hasInputRequest\":true");

    cancel(1, session, "7");
    driver_pump(&d);
    ask(session, status_of("7", token), 200, REFUSED);
    quiet();

    breq = durable(0);
    client_close(&d, &a);
    end_with_result(breq);
    ask(session, status_of("7", token), 200, "\"status\":\"completed\","
        "\"hasPendingMessage\":true");

    breq = durable(0);
    client_close(&d, &a);
    backend_end(&d, breq, MCP_FAULT_BACKEND_FAILED);
    ask(session, status_of("7", token), 200, "\"status\":\"failed\","
        "\"hasPendingMessage\":true");
    quiet();
}


/* At either process; with a cursor from there, else what is not confirmed,
 * live, and to the response under the same id. */
static void
test_resume(void **state)
{
    mcp_backend_request_t  *breq;
    unsigned char           id[MCP_STREAM_ID_LEN];
    uint64_t                seq;
    mcp_stream_info_t       info;

    (void) state;

    begin(NEW);
    breq = durable(2);
    client_last_id(&a, last);
    client_close(&d, &a);
    backend_say(&d, breq, PROGRESS(3) "\n");

    post_after(1, &a, session, resume_of("7", token), last);
    assert_int_equal(a.streaming, 1);
    has_not(a.text, PROGRESS(1));
    has(a.text, ".4\ndata: " PROGRESS(3));
    fact_is(mcp_exchange_variables(a.x), MCP_VARIABLE_RESUME_METHOD,
            "requests");

    /* what was confirmed is gone */

    assert_int_equal(mcp_event_id_parse(test_str(last), id, &seq), MCP_OK);
    assert_int_equal(mcp_store_find(&d.process[0].store, id, 0, &info), MCP_OK);
    assert_int_equal(info.first_seq, 4);

    /* twice at the same time: the newer one has it, without a cursor all that
     * was not confirmed */

    post_after(0, &b, session, resume_of("7", token), NULL);
    assert_int_equal(a.ended, 1);
    has(b.text, ".4\ndata: " PROGRESS(3));
    assert_int_equal(count(b.text, "\ndata: {"), 1);
    client_close(&d, &a);

    end_with_result(breq);
    has(b.text, ".5\ndata: " ANSWER);
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);

    /* over, and still there for a while: nothing but the response */

    post_after(0, &b, session, resume_of("7", token), NULL);
    has(b.text, ANSWER);
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);
    quiet();
}


/* Who names no event gets what is kept, and is told of what is not, unless it
 * was confirmed. */
static void
test_gap(void **state)
{
    mcp_backend_request_t  *breq;

    (void) state;

    begin(NEW);
    d.endpoint.stream_buffer = 8 * 1024;
    breq = durable(2);
    client_last_id(&a, last);
    flood(breq, 50);
    client_close(&d, &a);

    post_after(1, &a, session, resume_of("7", token), NULL);
    assert_int_equal(a.streaming, 1);
    has_not(a.text, PROGRESS(1));
    told_of_gap(a.text, 52);
    client_close(&d, &a);

    /* an event that is named is there, or an error */

    post_after(0, &a, session, resume_of("7", token), last);
    has(a.text, "\"error\":{\"code\":-32602,\"message\":\"Events no longer "
                "available\",\"data\":{\"resume\":\"refused\"}}");
    client_close(&d, &a);

    post_after(0, &a, session, resume_of("7", token), NULL);
    client_last_id(&a, last);
    client_close(&d, &a);
    post_after(0, &a, session, resume_of("7", token), last);
    client_close(&d, &a);
    post_after(0, &a, session, resume_of("7", token), NULL);
    has_not(a.text, "notifications/message");
    end_with_result(breq);
    has(a.text, ANSWER);
    client_close(&d, &a);
    quiet();
}


/* After the policy the server may go as well, also from a resumption. */
static void
test_closed_at_will(void **state)
{
    mcp_backend_request_t  *breq;

    (void) state;

    d.endpoint.close_after = 3000;
    begin(NEW);
    breq = durable(1);
    driver_wait(&d, 3100);
    assert_int_equal(a.ended, 1);
    has(a.text, "retry: 2000\n\n");
    client_last_id(&a, last);
    client_close(&d, &a);

    post_after(1, &b, session, resume_of("7", token), last);
    assert_int_equal(b.ended, 0);
    driver_wait(&d, 3100);
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);

    post_after(0, &b, session, resume_of("7", token), last);
    end_with_result(breq);
    assert_int_equal(count(b.text, ANSWER), 1);
    assert_int_equal(count(b.text, PROGRESS(1)), 0);
    client_close(&d, &b);
    quiet();
}


/* The connection broke before the response arrived, though it was written. */
static void
test_response_lost(void **state)
{
    mcp_backend_request_t  *breq;

    (void) state;

    begin(NEW);
    breq = durable(1);
    end_with_result(breq);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);

    post_after(1, &b, session, resume_of("7", token), NULL);
    assert_int_equal(count(b.text, POLICY), 0);
    assert_int_equal(count(b.text, PROGRESS(1)), 1);
    assert_int_equal(count(b.text, ANSWER), 1);
    client_close(&d, &b);
    quiet();
}


/* Another process that goes on between some looks at the store. */
static int         looks;
static mcp_backend_request_t  *busy;

static int
busy_lock(void *ctx)
{
    mcp_backend_request_t  *breq;

    breq = busy;
    busy = NULL;

    if (breq && looks-- > 0) {
        (void) backend_say(&d, breq, PROGRESS(1) "\n");
        busy = breq;
    }

    return driver_lock(ctx);
}


/* Taken over from a consumer that still reads, at a stream's limit: what is
 * dropped meanwhile is no reason to refuse. */
static void
test_busy(void **state)
{
    int                     i;
    mcp_backend_request_t  *breq;

    (void) state;

    begin(NEW);
    d.endpoint.max_events = 2;
    breq = call(1);

    for (i = 0; i < 20; i++) {
        backend_say(&d, breq, PROGRESS(1) "\n");
    }

    quoted(a.text, "\"resumeToken\":\"", token, sizeof(token));

    busy = breq;
    looks = 10;
    d.process[0].store.glue.lock = busy_lock;
    client_init(&b, session);
    client_send(&d, 0, &b, "POST", resume_of("7", token));
    d.process[0].store.glue.lock = driver_lock;
    assert_true(looks < 8);

    assert_int_equal(b.streaming, 1);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    end_with_result(breq);
    has(b.text, ANSWER);
    client_close(&d, &b);
    driver_wait(&d, 20000);
    quiet();
}


static void
test_refused(void **state)
{
    size_t                  k;
    char                    bad[512];
    mcp_backend_request_t  *breq;

    (void) state;

    begin(NEW);
    breq = durable(1);
    client_last_id(&a, last);
    client_close(&d, &a);

    /* another token, however little is wrong with it */

    for (k = 0; k <= strlen(token); k++) {
        mangle(token, bad, k);
        ask(session, status_of("7", bad), 200, REFUSED);
        ask(session, resume_of("7", bad), 200, REFUSED);
    }

    ask(session, resume_of("7", ""), 200, REFUSED);
    ask(session, REQUEST("7", "requests/resume", "{}"), 200, REFUSED);
    ask(session, REQUEST("7", "requests/resume", "{\"resumeToken\":7}"), 200,
        REFUSED);
    ask(session, REQUEST("7", "requests/getStatus", "{\"requestId\":7}"), 200,
        REFUSED);

    /* another id */

    ask(session, resume_of("8", token), 200, REFUSED);
    ask(session, resume_of("\"7\"", token), 200, REFUSED);
    ask(session, status_of("8", token), 200, REFUSED);
    ask(session, status_of("null", token), 200, REFUSED);
    ask(session, status_of("[7]", token), 200, REFUSED);

    /* another session; another stream's cursor, or none */

    client_open(&d, other, NEW, "{\"resumableRequests\":{}}");
    ask(other, resume_of("7", token), 200, REFUSED);
    ask(other, status_of("7", token), 200, REFUSED);

    post_after(0, &b, session, resume_of("7", token), "nonsense");
    has(b.text, REFUSED);
    client_close(&d, &b);
    last[22] = '\0';
    snprintf(bad, sizeof(bad), "%s.77", last);
    post_after(0, &b, session, resume_of("7", token), bad);
    has(b.text, REFUSED);
    client_close(&d, &b);
    post_after(0, &b, session, resume_of("7", token),
               "AAAAAAAAAAAAAAAAAAAAAA.1");
    has(b.text, REFUSED);
    client_close(&d, &b);

    /* nothing of that has disturbed it */

    post_after(1, &b, session, resume_of("7", token), NULL);
    end_with_result(breq);
    has(b.text, ANSWER);
    client_close(&d, &b);

    /* expired */

    driver_wait(&d, 70000);
    ask(session, resume_of("7", token), 200, REFUSED);
    ask(session, status_of("7", token), 200, REFUSED);
    quiet();
}


/* It is another's, though the session is not bound to anybody else. */
static void
test_principal(void **state)
{
    mcp_backend_request_t  *breq;

    (void) state;

    breq = call_as("alice", "{\"experimental\":{\"resumableRequests\":{}}}");
    begin(NEW);
    ask(session, resume_of("7", token), 200, REFUSED);

    end_with_result(breq);
    client_close(&d, &a);
    quiet();
}


/* A status or a resumption starts the time anew, at whatever process. */
static void
test_time(void **state)
{
    int                     i;
    mcp_backend_request_t  *breq;

    (void) state;

    d.endpoint.max_wait = 5000;
    d.endpoint.call_timeout = 600000;
    begin(NEW);
    breq = durable(1);
    client_close(&d, &a);

    for (i = 0; i < 10; i++) {
        driver_wait(&d, 4000);
        ask(session, status_of("7", token), 200, "\"processing\"");
    }

    driver_wait(&d, 4000);
    post_after(1, &b, session, resume_of("7", token), NULL);
    driver_wait(&d, 30000);
    client_close(&d, &b);
    driver_wait(&d, 4900);
    ask(session, status_of("7", token), 200, "\"processing\"");
    assert_int_equal(d.aborts, 0);

    driver_wait(&d, 5100);
    assert_int_equal(d.aborts, 1);
    ask(session, status_of("7", token), 200, REFUSED);
    ask(session, resume_of("7", token), 200, REFUSED);
    assert_int_equal(stats().streams, 0);
    assert_int_equal(stats().counter[MCP_COUNT_CALLS_EXPIRED], 1);
    (void) breq;
    quiet();
}


/* Ids are compared by what they say. */
static void
test_ids(void **state)
{
    mcp_backend_request_t  *breq;

    (void) state;

    begin(NEW);
    client_post(&d, 0, &a, session,
                REQUEST("\"\\u0061/b\"", "tools/call", "{\"name\":\"echo\"}"));
    breq = d.jobs[0];
    driver_wait(&d, 1500);
    has(a.text, "\"requestId\":\"\\u0061/b\"");
    quoted(a.text, "\"resumeToken\":\"", token, sizeof(token));
    ask(session, status_of("\"a\\/b\"", token), 200,
        "\"requestId\":\"a\\/b\"");
    ask(session, status_of("\"a/c\"", token), 200, REFUSED);
    client_close(&d, &a);

    post_after(1, &b, session, resume_of("\"a/b\"", token), NULL);
    assert_int_equal(b.streaming, 1);
    backend_answer(&d, breq, RESULT);
    has(b.text, "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0061/b\",\"result\":");
    client_close(&d, &b);
    quiet();
}


/* The tokens of a batch of CALL and CALL8: in "first", and in "token". */
static void
both_tokens(void)
{
    quoted(strstr(a.text, "\"requestId\":7"), "\"requestId\":7,"
           "\"resumeToken\":\"", first, sizeof(first));
    quoted(a.text, "\"requestId\":8,\"resumeToken\":\"", token,
           sizeof(token));
}


/* In a batch every request has a policy of its own, on the one stream. */
static void
test_batch(void **state)
{
    char  body[2048];

    (void) state;

    begin(OLD);
    client_post(&d, 0, &a, session, "[" CALL "," PING "," CALL8 "]");
    assert_int_equal(d.n_jobs, 2);
    driver_wait(&d, 1500);
    assert_int_equal(count(a.text, POLICY), 2);
    has(a.text, "\"requestId\":8");
    both_tokens();
    client_last_id(&a, last);
    client_close(&d, &a);

    ask(session, status_of("7", token), 200, REFUSED);
    ask(session, status_of("8", first), 200, REFUSED);

    snprintf(body, sizeof(body), "[%s]", status_of("8", token));
    ask(session, body, 200, "[{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{"
        "\"requestId\":8,\"status\":\"processing\"");
    snprintf(body, sizeof(body), "[%s]", resume_of("8", token));
    ask(session, body, 200, "[{\"jsonrpc\":\"2.0\",\"id\":8,\"error\":{"
        "\"code\":-32600,\"message\":\"Invalid Request: a stream in a batch\","
        "\"data\":{\"resume\":\"refused\"}}}]");

    /* each has its own messages, and its own end */

    mcp_backend_request_head(d.jobs[1], 200, mcp_str("application/x-ndjson"));
    backend_say(&d, d.jobs[1], OTHERS "\n");
    post_after(1, &b, session, resume_of("7", first), NULL);
    has_not(b.text, OTHERS);
    has_not(b.text, POLICY);
    mcp_backend_request_head(d.jobs[0], 200, mcp_str("application/x-ndjson"));
    backend_say(&d, d.jobs[0], PROGRESS(1) "\n");
    has(b.text, "\n\ndata: " PROGRESS(1) "\n\n");
    backend_say(&d, d.jobs[1], OTHERS "\n");
    assert_int_equal(b.ended, 0);
    end_with_result(d.jobs[0]);
    has(b.text, "\"id\":7,\"result\"");
    has_not(b.text, OTHERS);
    has_not(b.text, "id: ");
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);

    /* the other goes on; what is there of it was not sent by that */

    driver_wait(&d, 10000);
    post_after(0, &b, session, resume_of("8", token), NULL);
    assert_int_equal(count(b.text, OTHERS), 2);
    assert_int_equal(b.ended, 0);
    end_with_result(d.jobs[0]);
    has(b.text, "\"id\":8,\"result\"");
    has_not(b.text, PROGRESS(1));
    has_not(b.text, "\"id\":7");
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);

    /* once more, as it may not have arrived; and all of both by event id */

    post_after(1, &b, session, resume_of("7", first), NULL);
    assert_int_equal(count(b.text, "\ndata: {"), 2);
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);
    snprintf(body, sizeof(body), "%.22s.0", last);
    client_resume(&d, 1, &b, session, body);
    assert_int_equal(count(b.text, "\ndata: {"), 8);
    client_close(&d, &b);
    quiet();
}


/* A batch of 7, whose token is "first", and 8, whose token is "token". */
static void
batch(const char *body)
{
    client_post(&d, 0, &a, session, body);
    assert_int_equal(d.n_jobs, 2);
    driver_wait(&d, 1500);
    both_tokens();
    client_close(&d, &a);
}


/* 8 asks its client. */
static void
batch_asks(void)
{
    mcp_backend_request_t  *breq;

    breq = d.jobs[1];
    mcp_backend_request_head(breq, 200, mcp_str("application/x-ndjson"));
    end_with(breq, "{\"resultType\":\"input_required\","
             "\"inputRequests\":{\"r\":{\"method\":\"roots/list\"}},"
             "\"requestState\":\"s1\"}\n");
}


/* And a state of its own, whatever the others do. */
static void
test_batch_status(void **state)
{
    mcp_backend_request_t  *breq;

    (void) state;

    begin(OLD);
    batch("[" PING "," CALL "," CALL8 "]");
    batch_asks();
    breq = d.jobs[0];
    ask(session, status_of("7", first), 200, "\"status\":\"processing\"");

    /* the first fails while the second waits for its client */

    backend_end(&d, breq, MCP_FAULT_BACKEND_FAILED);
    ask(session, status_of("7", first), 200, "\"status\":\"failed\","
        "\"hasPendingMessage\":true,\"hasInputRequest\":false");
    ask(session, status_of("8", token), 200, "\"status\":\"processing\","
        "\"hasPendingMessage\":true,\"hasInputRequest\":true");

    post_after(1, &a, session, resume_of("8", token), NULL);
    question_id(a.text, "roots/list", last);
    reply(0, session, last, "\"result\":{\"roots\":[]}");
    backend_json(&d, RESULT);
    has(a.text, "\"id\":8,\"result\"");
    client_close(&d, &a);
    ask(session, status_of("7", first), 200, "\"status\":\"failed\"");
    ask(session, status_of("8", token), 200, "\"status\":\"completed\"");

    /* the last one does */

    batch("[" CALL "," CALL8 "]");
    breq = d.jobs[1];
    backend_answer(&d, d.jobs[0], RESULT);
    ask(session, status_of("7", first), 200, "\"status\":\"completed\"");
    ask(session, status_of("8", token), 200, "\"status\":\"processing\"");
    backend_end(&d, breq, MCP_FAULT_BACKEND_FAILED);
    ask(session, status_of("7", first), 200, "\"status\":\"completed\"");
    ask(session, status_of("8", token), 200, "\"status\":\"failed\"");
    quiet();
}


/* Nothing is asked any more when the one that asked has ended, whatever way. */
static void
test_batch_asked(void **state)
{
    int  way;

    (void) state;

    d.endpoint.call_timeout = 100000;
    begin(OLD);

    for (way = 0; way < 3; way++) {
        batch("[" CALL "," CALL8 "]");
        batch_asks();
        ask(session, status_of("8", token), 200, "\"hasInputRequest\":true");

        switch (way) {

        case 0:
            post_after(1, &a, session, resume_of("8", token), NULL);
            question_id(a.text, "roots/list", last);
            client_close(&d, &a);
            reply(0, session, last, "\"error\":{\"code\":-1,"
                                    "\"message\":\"no\"}");
            break;

        case 1:
            driver_wait(&d, 21000);
            break;

        case 2:
            cancel(1, session, "8");
        }

        ask(session, status_of("7", first), 200, "\"status\":\"processing\"");
        ask(session, status_of("7", first), 200,
            "\"hasInputRequest\":false");
        backend_answer(&d, d.jobs[0], RESULT);
        ask(session, status_of("7", first), 200, "\"status\":\"completed\"");
    }

    quiet();
}


/* One that is cancelled takes no other's response with it, and has none. */
static void
test_batch_cancelled(void **state)
{
    (void) state;

    begin(OLD);
    batch("[" CALL "," CALL8 "]");
    backend_answer(&d, d.jobs[0], RESULT);
    cancel(1, session, "8");
    ask(session, status_of("7", first), 200, "\"status\":\"completed\","
        "\"hasPendingMessage\":true");
    ask(session, status_of("8", token), 200, REFUSED);
    post_after(1, &b, session, resume_of("8", token), NULL);
    has(b.text, REFUSED);
    client_close(&d, &b);
    post_after(1, &b, session, resume_of("7", first), NULL);
    has(b.text, "\"id\":7,\"result\"");
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);

    batch("[" CALL "," CALL8 "]");
    cancel(1, session, "8");
    ask(session, status_of("7", first), 200, "\"status\":\"processing\"");
    backend_answer(&d, d.jobs[0], RESULT);
    ask(session, status_of("7", first), 200, "\"status\":\"completed\"");
    ask(session, status_of("8", token), 200, REFUSED);
    quiet();
}


/* Its process dies; the client is told, and the token is as good as before. */
static void
test_owner_dies(void **state)
{
    (void) state;

    begin(NEW);
    durable(1);
    driver_kill(&d, 0);
    client_close(&d, &a);
    driver_killed(&d, 0, 1);

    ask(session, status_of("7", token), 200, "\"status\":\"failed\"");
    post_after(1, &b, session, resume_of("7", token), NULL);
    has(b.text, "\"id\":7,\"error\":{\"code\":-32603");
    client_close(&d, &b);
    quiet();
}


/* Without room for the policy there is no stream, and the client is told. */
static void
test_full(void **state)
{
    mcp_backend_request_t  *breq;
    mcp_stream_ref_t        ref;

    (void) state;

    begin(NEW);
    breq = call(0);
    hog(&ref);
    backend_say(&d, breq, PROGRESS(1) "\n");
    assert_int_equal(a.status, 200);
    has(a.text, "there is no room for its stream");
    client_close(&d, &a);
    driver_wait(&d, 100);
    mcp_store_free(&d.process[1].store, &ref);
    driver_wait(&d, 10000);
    quiet();
}


static void
no_memory(void)
{
    mcp_backend_request_t  *breq;

    client_post(&d, 0, &a, session, CALL);

    if (d.n_jobs) {
        breq = d.jobs[0];
        mcp_backend_request_head(breq, 200, mcp_str("application/x-ndjson"));
        backend_say(&d, breq, PROGRESS(1) "\n");

        (void) told();
        client_close(&d, &a);

        post_after(1, &b, session, status_of("7", token), NULL);
        client_close(&d, &b);
        post_after(1, &b, session, resume_of("7", token), NULL);
        client_close(&d, &b);
    }

    client_close(&d, &a);

    give_up(70000);
}


static void
test_no_memory(void **state)
{
    (void) state;

    begin(NEW);
    strcpy(token, "x");
    fail_each(no_memory);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        test(test_policy),
        test(test_status),
        test(test_resume),
        test(test_gap),
        test(test_closed_at_will),
        test(test_response_lost),
        test(test_busy),
        test(test_refused),
        test(test_principal),
        test(test_time),
        test(test_ids),
        test(test_batch),
        test(test_batch_status),
        test(test_batch_asked),
        test(test_batch_cancelled),
        test(test_owner_dies),
        test(test_full),
        test(test_no_memory)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
