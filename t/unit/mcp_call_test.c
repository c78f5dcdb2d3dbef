
/* Exchanges, calls, consumers, input and the door, end to end in one
 * process. */

#include "core_driver.h"


#define CALL     "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\","   \
                 "\"params\":{\"name\":\"echo\",\"arguments\":{\"a\":1},"     \
                 "\"_meta\":{\"progressToken\":\"t\"}}}"

#define PROGRESS(n)                                                          \
                 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"" \
                 ",\"params\":{\"progressToken\":\"t\",\"progress\":" #n "}}"

#define RESULT   "{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}"

#define ANSWER   "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":" RESULT "}"

#define NEW      "2025-11-25"
#define ALL      "{\"sampling\":{},\"elicitation\":{},\"roots\":{}}"


static driver_t  d;
static client_t  a, b;
static char      session[MCP_SESSION_TEXT_MAX];


static int
setup(void **state)
{
    (void) state;

    driver_init(&d);
    client_open(&d, session, NEW, ALL);

    return 0;
}


static int
teardown(void **state)
{
    (void) state;

    driver_destroy(&d);

    return 0;
}


static void
has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("no %s in %s", part, text);
    }
}


static void
has_not(const char *text, const char *part)
{
    if (strstr(text, part) != NULL) {
        fail_msg("%s in %s", part, text);
    }
}


static unsigned
count(const char *text, const char *part)
{
    unsigned  n;

    for (n = 0; (text = strstr(text, part)) != NULL; n++) {
        text++;
    }

    return n;
}


static void
quiet(void)
{
    assert_int_equal(d.n_jobs, 0);
    assert_int_equal(d.process[0].node.calls, 0);
    assert_int_equal(d.process[1].node.calls, 0);
    assert_int_equal(d.process[0].node.consumers, 0);
    assert_int_equal(d.process[1].node.consumers, 0);
}


static void
test_local_answers(void **state)
{
    (void) state;

    client_post(&d, 0, &a, session,
                "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"ping\"}");
    assert_int_equal(a.status, 200);
    assert_string_equal(a.text,
                        "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}");
    client_close(&d, &a);

    client_post(&d, 0, &a, session,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
    has(a.text, "\"name\":\"echo\"");
    has(a.text, "\"nextCursor\"");
    has_not(a.text, "\"name\":\"other\"");
    client_close(&d, &a);

    client_post(&d, 0, &a, session,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\","
                "\"params\":{\"cursor\":\"bogus\"}}");
    has(a.text, "-32602");
    client_close(&d, &a);

    client_post(&d, 0, &a, session,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}");
    assert_int_equal(a.status, 200);
    has(a.text, "-32601");
    client_close(&d, &a);

    client_post(&d, 0, &a, session,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}");
    assert_int_equal(a.status, 202);
    assert_int_equal(a.len, 0);
    client_close(&d, &a);

    quiet();
}


static void
test_session_rules(void **state)
{
    char  bad[MCP_SESSION_TEXT_MAX];

    (void) state;

    client_post(&d, 0, &a, NULL,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    assert_int_equal(a.status, 400);
    client_close(&d, &a);

    strcpy(bad, session);
    bad[5] = bad[5] == 'A' ? 'B' : 'A';

    client_post(&d, 0, &a, bad,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    assert_int_equal(a.status, 404);
    client_close(&d, &a);

    client_init(&a, session);
    client_header(&a, "MCP-Protocol-Version", "1999-01-01");
    client_send(&d, 0, &a, "POST",
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    assert_int_equal(a.status, 400);
    client_close(&d, &a);

    client_init(&a, session);
    client_send(&d, 1, &a, "DELETE", "");
    assert_int_equal(a.status, 204);
    client_close(&d, &a);

    client_post(&d, 0, &a, session,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    assert_int_equal(a.status, 404);
    has(a.text, "\"id\":1");
    client_close(&d, &a);

    client_resume(&d, 0, &a, session, NULL);
    assert_int_equal(a.status, 404);
    client_close(&d, &a);
}


static void
test_fast_path(void **state)
{
    mcp_store_stats_t  stats;

    (void) state;

    client_post(&d, 0, &a, session, CALL);
    assert_int_equal(a.status, 0);
    assert_string_equal(d.last_body, CALL);

    backend_json(&d, RESULT);

    assert_int_equal(a.status, 200);
    assert_string_equal(a.text, ANSWER);

    mcp_store_stats(&d.process[0].store, &stats);
    assert_int_equal(stats.streams, 0);

    client_close(&d, &a);
    assert_int_equal(d.forgets, 1);
    quiet();
}


static void
test_unknown_tool(void **state)
{
    (void) state;

    client_post(&d, 0, &a, session,
                "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\","
                "\"params\":{\"name\":\"none\"}}");
    has(a.text, "-32602");
    client_close(&d, &a);

    client_post(&d, 0, &a, session,
                "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"resources/read\","
                "\"params\":{\"uri\":\"test://zzz\"}}");
    has(a.text, "-32002");
    client_close(&d, &a);

    client_post(&d, 0, &a, session,
                "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\","
                "\"params\":{\"name\":\"echo\",\"requestState\":\"x\"}}");
    has(a.text, "-32602");
    client_close(&d, &a);

    quiet();
}


static void
test_stream(void **state)
{
    mcp_job_t  *job;

    (void) state;

    client_post(&d, 0, &a, session, CALL);
    job = d.jobs[0];
    mcp_job_head(job, 200, mcp_str("application/x-ndjson"));
    backend_say(&d, job, PROGRESS(1) "\n" PROGRESS(2) "\n");

    assert_int_equal(a.status, 200);
    assert_int_equal(a.streaming, 1);
    has(a.text, ".0\nretry: 2000\ndata: \n\n");
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

    driver_wait(&d, 16000);
    has(a.text, "\n\n:\n\n");

    backend_json(&d, RESULT);
    has(a.text, ANSWER);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    quiet();
}


static void
test_old_client(void **state)
{
    char        old[MCP_SESSION_TEXT_MAX];
    mcp_job_t  *job;

    (void) state;

    client_open(&d, old, "2025-06-18", ALL);
    client_post(&d, 0, &a, old, CALL);
    job = d.jobs[0];
    mcp_job_head(job, 200, mcp_str("application/x-ndjson"));
    backend_say(&d, job, PROGRESS(1) "\n");

    assert_int_equal(strncmp(a.text, ":\n\nid: ", 7), 0);
    has_not(a.text, "data: \n");

    backend_say(&d, job, RESULT "\n");
    backend_end(&d, job, MCP_FAULT_NONE);
    client_close(&d, &a);
    quiet();
}


static void
test_drop_and_resume(void **state)
{
    char        id[64];
    mcp_job_t  *job;

    (void) state;

    client_post(&d, 0, &a, session, CALL);
    job = d.jobs[0];
    mcp_job_head(job, 200, mcp_str("text/event-stream"));
    backend_say(&d, job, "data: " PROGRESS(1) "\n\n");
    client_last_id(&a, id);
    client_close(&d, &a);

    backend_say(&d, job, "data: " PROGRESS(2) "\n\n");

    /* at the other process: what was missed, then live, then the end */

    client_resume(&d, 1, &b, session, id);
    assert_int_equal(b.status, 200);
    has(b.text, ".1\nretry: 2000\ndata: \n\n");
    has(b.text, PROGRESS(2));
    has_not(b.text, PROGRESS(1));

    backend_say(&d, job, "data: " PROGRESS(3) "\n\n");
    has(b.text, PROGRESS(3));

    backend_say(&d, job, "data: " RESULT "\n\n");
    has(b.text, ANSWER);
    assert_int_equal(b.ended, 1);
    client_last_id(&b, id);
    client_close(&d, &b);
    backend_end(&d, job, MCP_FAULT_NONE);

    /* delivered: nothing more, and no reason to poll */

    client_resume(&d, 0, &b, session, id);
    assert_int_equal(b.status, 204);
    client_close(&d, &b);

    /* until it is forgotten */

    driver_wait(&d, 10000);
    client_resume(&d, 0, &b, session, id);
    assert_int_equal(b.status, 404);
    client_close(&d, &b);

    quiet();
}


static void
test_foreign_ids(void **state)
{
    char        id[64], other[MCP_SESSION_TEXT_MAX];
    mcp_job_t  *job;

    (void) state;

    client_open(&d, other, NEW, ALL);

    client_post(&d, 0, &a, session, CALL);
    job = d.jobs[0];
    mcp_job_head(job, 200, mcp_str("text/event-stream"));
    backend_say(&d, job, "data: " PROGRESS(1) "\n\n");
    client_last_id(&a, id);

    client_resume(&d, 1, &b, other, id);
    assert_int_equal(b.status, 404);
    client_close(&d, &b);

    id[strlen(id) - 1] = '9';
    client_resume(&d, 1, &b, session, id);
    assert_int_equal(b.status, 404);
    client_close(&d, &b);

    client_resume(&d, 1, &b, session, "nonsense");
    assert_int_equal(b.status, 400);
    client_close(&d, &b);

    backend_say(&d, job, "data: " RESULT "\n\n");
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    backend_end(&d, job, MCP_FAULT_NONE);
    quiet();
}


static void
test_take_over(void **state)
{
    char        id[64];
    mcp_job_t  *job;

    (void) state;

    client_post(&d, 0, &a, session, CALL);
    job = d.jobs[0];
    mcp_job_head(job, 200, mcp_str("text/event-stream"));
    backend_say(&d, job, "data: " PROGRESS(1) "\n\n");
    client_last_id(&a, id);

    client_resume(&d, 1, &b, session, id);
    assert_int_equal(a.ended, 1);
    assert_int_equal(b.ended, 0);

    backend_say(&d, job, "data: " RESULT "\n\n");
    has(b.text, ANSWER);
    has_not(a.text, ANSWER);

    client_close(&d, &a);
    client_close(&d, &b);
    backend_end(&d, job, MCP_FAULT_NONE);
    quiet();
}


static void
test_close_at_will(void **state)
{
    char        id[64];
    mcp_job_t  *job;

    (void) state;

    d.endpoint.close_after = 3000;

    client_post(&d, 0, &a, session, CALL);
    job = d.jobs[0];
    driver_wait(&d, 3900);
    assert_int_equal(a.ended, 0);
    driver_wait(&d, 200);
    assert_int_equal(a.ended, 1);
    assert_string_equal(a.text + a.len - 13, "retry: 2000\n\n");
    client_last_id(&a, id);
    client_close(&d, &a);

    client_resume(&d, 1, &b, session, id);
    mcp_job_head(job, 200, mcp_str("application/json"));
    backend_say(&d, job, RESULT);
    backend_end(&d, job, MCP_FAULT_NONE);
    has(b.text, ANSWER);
    client_close(&d, &b);
    quiet();
}


static void
test_client_leaves_early(void **state)
{
    mcp_store_stats_t  stats;

    (void) state;

    client_post(&d, 0, &a, session, CALL);
    client_close(&d, &a);

    mcp_store_stats(&d.process[0].store, &stats);
    assert_int_equal(stats.streams, 1);

    backend_json(&d, RESULT);
    quiet();

    driver_wait(&d, 70000);
    mcp_store_stats(&d.process[0].store, &stats);
    assert_int_equal(stats.streams, 0);
}


static void
test_max_wait(void **state)
{
    mcp_store_stats_t  stats;

    (void) state;

    d.endpoint.call_timeout = 3600000;

    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 1500);
    client_close(&d, &a);

    driver_wait(&d, 59000);
    assert_int_equal(d.aborts, 0);
    driver_wait(&d, 2000);
    assert_int_equal(d.aborts, 1);
    quiet();

    mcp_store_stats(&d.process[0].store, &stats);
    assert_int_equal(stats.streams, 0);
    assert_int_equal(stats.counter[MCP_COUNT_CALLS_EXPIRED], 1);
}


static void
test_timeout(void **state)
{
    (void) state;

    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 31000);
    has(a.text, "-32603");
    assert_int_equal(a.ended, 1);
    assert_int_equal(d.aborts, 1);
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

    client_post(&d, 0, &a, session, CALL);
    job = d.jobs[0];
    mcp_job_head(job, 200, mcp_str("text/event-stream"));
    backend_say(&d, job, "data: " PROGRESS(1) "\n\n");
    backend_end(&d, job, MCP_FAULT_BACKEND_FAILED);
    has(a.text, PROGRESS(1));
    has(a.text, "-32603");
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);

    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, "{\"broken\":");
    has(a.text, "-32603");
    client_close(&d, &a);
    quiet();
}


static void
test_cancel(void **state)
{
    mcp_job_t  *job;

    (void) state;

    /* a durable call, from another process */

    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 1500);

    client_post(&d, 1, &b, session,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                "\"params\":{\"requestId\":7}}");
    assert_int_equal(b.status, 202);
    client_close(&d, &b);

    assert_int_equal(d.aborts, 1);
    assert_int_equal(a.ended, 1);
    has_not(a.text, "result");
    client_close(&d, &a);
    quiet();

    /* one that is not durable yet */

    client_post(&d, 0, &a, session, CALL);
    client_post(&d, 1, &b, session,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                "\"params\":{\"requestId\":7}}");
    client_close(&d, &b);

    driver_wait(&d, 1500);
    assert_int_equal(d.aborts, 2);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    quiet();

    /* another id is none of its business */

    client_post(&d, 0, &a, session, CALL);
    job = d.jobs[0];
    driver_wait(&d, 1500);
    client_post(&d, 1, &b, session,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                "\"params\":{\"requestId\":\"7\"}}");
    client_close(&d, &b);
    assert_int_equal(d.aborts, 2);
    mcp_job_head(job, 200, mcp_str("application/json"));
    backend_say(&d, job, RESULT);
    backend_end(&d, job, MCP_FAULT_NONE);
    has(a.text, ANSWER);
    client_close(&d, &a);
    quiet();
}


static void
test_batch(void **state)
{
    char        old[MCP_SESSION_TEXT_MAX];
    mcp_job_t  *one, *two;

    (void) state;

    client_post(&d, 0, &a, session, "[" CALL "]");
    assert_int_equal(a.status, 400);
    has(a.text, "-32600");
    client_close(&d, &a);

    client_open(&d, old, "2025-03-26", ALL);

    client_post(&d, 0, &a, old,
                "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},"
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}," CALL
                ",{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/call\","
                "\"params\":{\"name\":\"other\"}},{\"id\":1}]");
    assert_int_equal(d.n_jobs, 2);
    one = d.jobs[0];
    two = d.jobs[1];

    mcp_job_head(two, 200, mcp_str("application/json"));
    backend_say(&d, two, RESULT);
    backend_end(&d, two, MCP_FAULT_NONE);
    assert_int_equal(a.status, 0);
    mcp_job_head(one, 200, mcp_str("application/json"));
    backend_say(&d, one, RESULT);
    backend_end(&d, one, MCP_FAULT_NONE);

    assert_int_equal(a.status, 200);
    assert_int_equal(a.text[0], '[');
    assert_int_equal(a.text[a.len - 1], ']');
    has(a.text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    has(a.text, ANSWER);
    has(a.text, "\"id\":8,\"result\"");
    has(a.text, "-32600");
    client_close(&d, &a);

    client_post(&d, 0, &a, old,
                "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]");
    assert_int_equal(a.status, 202);
    client_close(&d, &a);
    quiet();
}


static void
test_batch_streams(void **state)
{
    char        old[MCP_SESSION_TEXT_MAX];
    mcp_job_t  *job;

    (void) state;

    client_open(&d, old, "2025-03-26", ALL);

    client_post(&d, 0, &a, old,
                "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}," CALL
                "]");
    job = d.jobs[0];
    mcp_job_head(job, 200, mcp_str("application/x-ndjson"));
    backend_say(&d, job, PROGRESS(1) "\n");
    has(a.text, "\"id\":1,\"result\":{}}\n\n");
    has(a.text, PROGRESS(1));
    backend_say(&d, job, RESULT "\n");
    backend_end(&d, job, MCP_FAULT_NONE);
    has(a.text, ANSWER);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    quiet();
}


#define ASK      "{\"resultType\":\"input_required\",\"inputRequests\":{"    \
                 "\"k\":{\"method\":\"elicitation/create\",\"params\":{"     \
                 "\"message\":\"?\"}},\"r\":{\"method\":\"roots/list\"}},"   \
                 "\"requestState\":\"s1\"}"


static void
question_id(const char *text, const char *method, char *id)
{
    char  *p, *q, pattern[64];

    snprintf(pattern, sizeof(pattern), "\",\"method\":\"%s\"", method);

    p = strstr(text, pattern);
    assert_non_null(p);

    for (q = p; q[-1] != '"'; q--) { /* void */ }

    snprintf(id, 64, "%.*s", (int) (p - q), q);
}


static void
test_input(void **state)
{
    char  id[64], body[256];

    (void) state;

    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, ASK);

    assert_int_equal(a.streaming, 1);
    has(a.text, "\"method\":\"elicitation/create\",\"params\":"
                "{\"message\":\"?\"}}");
    has(a.text, "\"method\":\"roots/list\"}");

    /* responses at either process */

    question_id(a.text, "elicitation/create", id);
    snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\","
             "\"result\":{\"action\":\"accept\"}}", id);
    client_post(&d, 1, &b, session, body);
    assert_int_equal(b.status, 202);
    client_close(&d, &b);
    assert_int_equal(d.n_jobs, 0);

    question_id(a.text, "roots/list", id);
    snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\","
             "\"result\":{\"roots\":[]}}", id);
    client_post(&d, 0, &b, session, body);
    client_close(&d, &b);
    assert_int_equal(d.n_jobs, 1);

    has(d.last_body, "\"arguments\":{\"a\":1}");
    has(d.last_body, ",\"inputResponses\":{\"k\":{\"action\":\"accept\"},"
                     "\"r\":{\"roots\":[]}},\"requestState\":\"s1\"}}");

    backend_json(&d, RESULT);
    has(a.text, ANSWER);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    quiet();
}


static void
test_input_not_declared(void **state)
{
    char  poor[MCP_SESSION_TEXT_MAX];

    (void) state;

    client_open(&d, poor, NEW, "{}");
    client_post(&d, 0, &a, poor, CALL);
    backend_json(&d, ASK);
    has(a.text, "\"isError\":true");
    has(a.text, "elicitation/create");
    client_close(&d, &a);
    quiet();
}


static void
test_input_error_and_timeout(void **state)
{
    char  id[64], body[256];

    (void) state;

    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, ASK);
    question_id(a.text, "elicitation/create", id);
    snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\","
             "\"error\":{\"code\":-1,\"message\":\"no\"}}", id);
    client_post(&d, 1, &b, session, body);
    client_close(&d, &b);
    has(a.text, "\"isError\":true");
    client_close(&d, &a);
    quiet();

    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, ASK);
    driver_wait(&d, 21000);
    has(a.text, "\"isError\":true");
    client_close(&d, &a);
    quiet();
}


static void
publish(unsigned process, client_t *c, const char *url, const char *body)
{
    char        *space;
    mcp_head_t   head;

    client_init(c, NULL);
    memset(&head, 0, sizeof(mcp_head_t));
    head.method = mcp_str("POST");
    head.headers = c->headers;
    head.n_headers = c->n_headers;
    head.path = test_str(url);
    head.local = 1;

    c->x = mcp_exchange_create_publish(&d.process[process].node, &d.endpoint,
                                       mcp_str("static-token"), 0, c);
    c->rc = mcp_exchange_head(c->x, &head);

    if (c->rc == MCP_AGAIN) {
        space = mcp_exchange_body_space(c->x, strlen(body));
        memcpy(space, body, strlen(body));
        c->rc = mcp_exchange_body(c->x, strlen(body));
    }

    assert_int_equal(c->rc, MCP_OK);
    driver_respond(c);
    client_close(&d, c);
}


static void
test_detached(void **state)
{
    char        url[512];
    mcp_str_t   fact;
    mcp_job_t  *job;

    (void) state;

    client_post(&d, 0, &a, session, CALL);
    job = d.jobs[0];
    fact = job->facts.value[MCP_FACT_PUBLISH_URL];
    snprintf(url, sizeof(url), "%.*s", (int) fact.len, fact.data);
    has(url, "http://127.0.0.1/publish/");

    publish(1, &b, url + 16, PROGRESS(1));
    assert_int_equal(b.status, 503);

    mcp_job_head(job, 202, mcp_null_str);
    backend_end(&d, job, MCP_FAULT_NONE);
    assert_int_equal(a.streaming, 1);
    assert_int_equal(a.ended, 0);

    publish(1, &b, url + 16, PROGRESS(1));
    assert_int_equal(b.status, 202);
    has(a.text, PROGRESS(1));

    publish(1, &b, "/publish/wrong", PROGRESS(2));
    assert_int_equal(b.status, 403);

    publish(1, &b, url + 16, "[" PROGRESS(2) "," RESULT "]");
    assert_int_equal(b.status, 202);
    has(a.text, PROGRESS(2));
    has(a.text, ANSWER);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);

    d.te.now += 20000;
    publish(1, &b, url + 16, PROGRESS(3));
    assert_int_equal(b.status, 404);
    quiet();
}


#define CHANGED  "{\"jsonrpc\":\"2.0\","                                     \
                 "\"method\":\"notifications/tools/list_changed\"}"
#define UPDATED  "{\"jsonrpc\":\"2.0\","                                     \
                 "\"method\":\"notifications/resources/updated\","           \
                 "\"params\":{\"uri\":\"test://a\"}}"


static void
test_listener(void **state)
{
    char  id[64];

    (void) state;

    client_resume(&d, 0, &a, session, NULL);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.streaming, 1);
    client_last_id(&a, id);

    publish(1, &b, "/publish/static-token", CHANGED);
    assert_int_equal(b.status, 202);
    has(a.text, CHANGED);

    /* not subscribed to this one */

    publish(1, &b, "/publish/static-token", UPDATED);
    has_not(a.text, UPDATED);

    client_post(&d, 1, &b, session,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
                "\"resources/subscribe\",\"params\":{\"uri\":\"test://a\"}}");
    backend_json(&d, "{}");
    has(b.text, "\"result\":{}");
    client_close(&d, &b);

    client_close(&d, &a);
    publish(1, &b, "/publish/static-token", UPDATED);

    /* missed while away: by id, and without one from where it was left */

    client_resume(&d, 1, &a, session, id);
    has(a.text, CHANGED);
    has(a.text, UPDATED);
    client_close(&d, &a);

    client_resume(&d, 1, &a, session, NULL);
    has_not(a.text, CHANGED);
    publish(0, &b, "/publish/static-token", UPDATED);
    assert_int_equal(count(a.text, UPDATED), 1);
    client_close(&d, &a);

    /* the static token opens no call */

    publish(1, &b, "/publish/static-token", PROGRESS(1));
    assert_int_equal(b.status, 403);
    quiet();
}


static void
test_log_level(void **state)
{
    mcp_job_t  *job;

    (void) state;

    client_post(&d, 0, &a, session,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\""
                ",\"params\":{\"level\":\"warning\"}}");
    has(a.text, "\"result\":{}");
    client_close(&d, &a);

    client_post(&d, 0, &a, session, CALL);
    job = d.jobs[0];
    mcp_job_head(job, 200, mcp_str("application/x-ndjson"));
    backend_say(&d, job,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\","
                "\"params\":{\"level\":\"info\",\"data\":\"low\"}}\n"
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\","
                "\"params\":{\"level\":\"error\",\"data\":\"high\"}}\n"
                RESULT "\n");
    backend_end(&d, job, MCP_FAULT_NONE);
    has(a.text, "high");
    has_not(a.text, "low");
    client_close(&d, &a);
    quiet();
}


static void
test_back_pressure(void **state)
{
    char        id[64], line[1200];
    unsigned    i, sent;
    mcp_job_t  *job;

    (void) state;

    d.endpoint.stream_buffer = 8 * 1024;

    client_post(&d, 0, &a, session, CALL);
    job = d.jobs[0];
    mcp_job_head(job, 200, mcp_str("application/x-ndjson"));
    backend_say(&d, job, PROGRESS(0) "\n");
    client_last_id(&a, id);
    client_close(&d, &a);

    sent = 0;

    for (i = 1; i < 100; i++) {
        snprintf(line, sizeof(line),
                 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                 "\"params\":{\"progressToken\":\"t\",\"progress\":%u,"
                 "\"message\":\"%0900d\"}}\n", i, 0);

        if (backend_say(&d, job, line) == 0) {
            break;
        }

        sent = i;
    }

    assert_true(sent > 2 && sent < 20);

    client_resume(&d, 1, &b, session, id);
    assert_true(d.resumes > 0);

    for (i = sent + 1; i <= 40; i++) {
        snprintf(line, sizeof(line),
                 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                 "\"params\":{\"progressToken\":\"t\",\"progress\":%u,"
                 "\"message\":\"%0900d\"}}\n", i, 0);
        assert_int_equal(backend_say(&d, job, line), strlen(line));
    }

    backend_say(&d, job, RESULT "\n");
    backend_end(&d, job, MCP_FAULT_NONE);

    for (i = 1; i <= 40; i++) {
        snprintf(line, sizeof(line), "\"progress\":%u,", i);
        assert_int_equal(count(b.text, line), 1);
    }

    has(b.text, ANSWER);
    client_close(&d, &b);
    quiet();
}


static void
test_owner_dies(void **state)
{
    char        id[64];
    mcp_job_t  *job;

    (void) state;

    client_post(&d, 0, &a, session, CALL);
    job = d.jobs[0];
    mcp_job_head(job, 200, mcp_str("application/x-ndjson"));
    backend_say(&d, job, PROGRESS(1) "\n");
    client_last_id(&a, id);

    client_resume(&d, 1, &b, session, id);

    mcp_store_bury(&d.process[1].store, 0, 100);
    mcp_node_adopt(&d.process[1].node);
    driver_pump(&d);

    has(b.text, "-32603");
    has(b.text, "\"id\":7");
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);

    /* clean up what the dead one had */

    client_close(&d, &a);
    backend_end(&d, job, MCP_FAULT_NONE);
}


static void
test_stop(void **state)
{
    char        id[64];
    mcp_job_t  *job;

    (void) state;

    client_post(&d, 0, &a, session, CALL);
    job = d.jobs[0];
    mcp_job_head(job, 200, mcp_str("application/x-ndjson"));
    backend_say(&d, job, PROGRESS(1) "\n");

    mcp_node_stop(&d.process[0].node);
    driver_pump(&d);
    assert_int_equal(a.ended, 1);
    assert_string_equal(a.text + a.len - 13, "retry: 2000\n\n");
    client_last_id(&a, id);
    client_close(&d, &a);

    client_resume(&d, 1, &b, session, id);
    backend_say(&d, job, PROGRESS(2) "\n" RESULT "\n");
    backend_end(&d, job, MCP_FAULT_NONE);
    has(b.text, PROGRESS(2));
    has(b.text, ANSWER);
    client_close(&d, &b);
    quiet();
}


static void
test_full_store(void **state)
{
    char        line[4096];
    unsigned    i;
    mcp_job_t  *job;

    (void) state;

    d.endpoint.stream_buffer = 64 * 1024 * 1024;

    client_post(&d, 0, &a, session, CALL);
    job = d.jobs[0];
    mcp_job_head(job, 200, mcp_str("application/x-ndjson"));
    backend_say(&d, job, PROGRESS(1) "\n");
    client_close(&d, &a);

    snprintf(line, sizeof(line),
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
             "\"params\":{\"progressToken\":\"t\",\"progress\":1,"
             "\"message\":\"%03900d\"}}\n", 0);

    for (i = 0; backend_say(&d, job, line); i++) {
        assert_true(i < 1000);
    }

    client_post(&d, 1, &b, session, CALL);
    assert_int_equal(b.status, 503);
    has(b.text, "\"id\":7");
    client_close(&d, &b);
    assert_int_equal(d.n_jobs, 1);

    /* what runs can still end */

    client_post(&d, 1, &b, session,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                "\"params\":{\"requestId\":7}}");
    client_close(&d, &b);
    quiet();

    driver_wait(&d, 90000);
    client_post(&d, 1, &b, session, CALL);
    backend_json(&d, RESULT);
    assert_string_equal(b.text, ANSWER);
    client_close(&d, &b);
    quiet();
}


static void
test_session_ends_calls(void **state)
{
    (void) state;

    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 1500);

    client_init(&b, session);
    client_send(&d, 1, &b, "DELETE", "");
    assert_int_equal(b.status, 204);
    client_close(&d, &b);

    assert_int_equal(d.aborts, 1);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    quiet();
}


/* Streams, input, resumption and the answer, with the k-th allocation
 * failing: anything may go wrong but nothing crashes, leaks or stays. */
static void
scenario(void)
{
    size_t      i;
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

    for (i = d.n_jobs; i; i = d.n_jobs) {
        job = d.jobs[0];
        mcp_job_head(job, 200, mcp_str("application/json"));
        backend_say(&d, job, RESULT);

        if (d.n_jobs == i) {
            backend_end(&d, job, MCP_FAULT_NONE);
        }
    }

    client_resume(&d, 1, &b, session, NULL);
    client_close(&d, &b);
}


static void
test_no_memory(void **state)
{
    unsigned long  k;

    (void) state;

    for (k = 1; k < 2000; k++) {
        d.te.tm.failed = 0;
        d.te.tm.fail_at = k;
        scenario();
        d.te.tm.fail_at = 0;
        driver_wait(&d, 100000);
        quiet();

        if (d.te.tm.failed == 0) {
            return;
        }
    }

    fail_msg("never came to an end");
}


int
main(void)
{
#define test(f)  cmocka_unit_test_setup_teardown(f, setup, teardown)

    const struct CMUnitTest  tests[] = {
        test(test_local_answers),
        test(test_session_rules),
        test(test_fast_path),
        test(test_unknown_tool),
        test(test_stream),
        test(test_stream_after),
        test(test_old_client),
        test(test_drop_and_resume),
        test(test_foreign_ids),
        test(test_take_over),
        test(test_close_at_will),
        test(test_client_leaves_early),
        test(test_max_wait),
        test(test_timeout),
        test(test_backend_failures),
        test(test_cancel),
        test(test_batch),
        test(test_batch_streams),
        test(test_input),
        test(test_input_not_declared),
        test(test_input_error_and_timeout),
        test(test_detached),
        test(test_listener),
        test(test_log_level),
        test(test_back_pressure),
        test(test_owner_dies),
        test(test_stop),
        test(test_full_store),
        test(test_session_ends_calls),
        test(test_no_memory)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
