/* SPDX-License-Identifier: Apache-2.0 */

/* Answers to a task's questions: what they may be, and what is left. */

#include "exchange/mcp_task_update.h"
#include "store/mcp_store_share.h"
#include "task_cases.h"


static void
test_params(void **state)
{
    size_t  i;

    static const char *const  wrong[] = {
        "", ",\"inputResponses\":null", ",\"inputResponses\":[]",
        ",\"inputResponses\":\"x\"", ",\"inputResponses\":{\"k\":1}",
        ",\"inputResponses\":{\"k\":{},\"l\":[]}"
    };

    (void) state;

    end_with_result(task_begin(0));

    for (i = 0; i < ITEMS(wrong); i++) {
        task_refused(1, "tasks/update", wrong[i],
                     "\"error\":{\"code\":-32602,\"message\":\"Invalid params"
                     "\"}");
    }

    task_does(1, "tasks/update", ",\"inputResponses\":{}");
    quiet();
}


static void
questions_are(const char *text, uint32_t given, const char *left)
{
    mcp_buf_t  buf;
    mcp_str_t  rest;

    mcp_buf_init(&buf, &d.te.env.mem, 4096);
    mcp_task_questions(test_str(text), given, &buf);
    rest = (mcp_str_t) { buf.data, buf.len };
    assert_str_is(rest, left);
    assert_int_equal(mcp_task_asks(test_str(text), given),
                     strcmp(left, "{}") != 0);
    mcp_buf_free(&buf);
}


static void
test_questions(void **state)
{
    (void) state;

    questions_are("{\"a\":{},\"b\":{\"c\":1}}", 0,
                  "{\"a\":{},\"b\":{\"c\":1}}");
    questions_are("{\"a\":{},\"b\":{\"c\":1}}", 1, "{\"b\":{\"c\":1}}");
    questions_are("{\"a\":{},\"b\":{\"c\":1}}", 2, "{\"a\":{}}");
    questions_are("{\"a\":{},\"b\":{\"c\":1}}", 3, "{}");
}


/* More than the inbox holds. */
static void
test_large(void **state)
{
    mcp_job_t  *job;

    (void) state;

    d.endpoint.stream_buffer = 2048;
    job = task_begin(0);
    backend_say(&d, job, ROUND(",\"inputRequests\":{\"k\":" FORM ",\"l\":" FORM
                               "}") "\n");
    backend_end(&d, job, MCP_FAULT_NONE);
    driver_pause(&d, 0, 1);
    snprintf(line, sizeof(line), ",\"inputResponses\":{\"k#1\":{\"a\":"
             "\"%01500d\"}}", 0);
    task_does(1, "tasks/update", line);
    snprintf(line, sizeof(line), ",\"inputResponses\":{\"l#1\":{\"a\":"
             "\"%01500d\"}}", 0);
    task_ask(1, "tasks/update", line);
    assert_int_equal(b.status, 503);
    has(b.text, "\"code\":-32603");
    client_close(&d, &b);
    task_is(1, "\"inputRequests\":{\"l#1\"");
    driver_pause(&d, 0, 0);
    task_does(1, "tasks/update", line);
    backend_json(&d, RESULT);
    task_is(1, "\"status\":\"completed\"");
    quiet();
}


/* Answers to what a client was asked at another node, before this one, where
 * the call runs, knows that others have it. */
static void
test_behind(void **state)
{
    mcp_job_t          *job;
    mcp_store_t        *store;
    mcp_task_id_t       id;
    mcp_stream_info_t   info;

    (void) state;

    job = task_begin(0);
    store = &d.process[0].store;
    assert_int_equal(mcp_task_id_read(&id, d.endpoint.keys, test_str(task_id),
                                      d.te.now), MCP_OK);
    assert_int_equal(mcp_store_find(store, id.stream, 0, &info), MCP_OK);
    assert_int_equal(mcp_store_share_start(store, &info.ref, 1), MCP_OK);
    backend_say(&d, job, ROUND(",\"inputRequests\":{\"k\":" FORM "}") "\n");
    backend_end(&d, job, MCP_FAULT_NONE);
    task_is(1, "\"status\":\"working\"");
    assert_int_equal(d.n_jobs, 0);

    task_does(1, "tasks/update", ",\"inputResponses\":{\"k#1\":{}}");
    assert_int_equal(d.n_jobs, 1);
    backend_json(&d, RESULT);
    quiet();
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        task_test(test_params),
        task_test(test_questions),
        task_test(test_large),
        task_test(test_behind)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
