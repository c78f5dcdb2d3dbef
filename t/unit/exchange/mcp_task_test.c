/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of tasks: the methods that clients use, and who may use them. */

#include "task_cases.h"


static const char *const  methods[] = {
    "tasks/get", "tasks/update", "tasks/cancel"
};


/* The id of another principal's task, no id, and an id that is not a string
 * get the same error. */
TEST(each_invalid_task_id_gets_the_same_error)
{
    size_t  i;

    end_with_result(task_begin(0));

    for (i = 0; i < ITEMS(methods); i++) {
        round_principal = "mallory";
        task_refused(1, methods[i], ",\"inputResponses\":{}", UNKNOWN);
        round_principal = NULL;
        modern(0, &b, methods[i], NULL, "\"x\":1");
        answered(&b, 200, UNKNOWN);
        modern(0, &b, methods[i], NULL, "\"taskId\":5");
        answered(&b, 200, UNKNOWN);
    }

    task_is(1, "\"status\":\"completed\"");
}


/* A task belongs to the principal that created it. */
TEST(task_is_unknown_to_other_principals)
{
    round_principal = "alice";
    end_with_result(task_begin(0));
    task_is(1, "\"status\":\"completed\"");
    round_principal = NULL;
    task_refused(1, "tasks/get", "", UNKNOWN);
    round_principal = "bob";
    task_refused(1, "tasks/cancel", "", UNKNOWN);
}


/* The client has not declared the extension for tasks: -32021. The endpoint
 * has no tasks: -32601. */
TEST(tasks_are_not_declared_or_not_offered__task_methods_get_an_error)
{
    size_t  i;

    (void) task_begin(0);

    for (i = 0; i < ITEMS(methods); i++) {
        round_can = "{\"extensions\":{\"io.modelcontextprotocol/tasks\":1}}";
        task_request(1, methods[i], "");
        answered(&b, 400, REQUIRED);

        round_can = TASK_CAN;
        d.endpoint.catalog = d.catalog;
        d.endpoint.task_after = 0;
        task_request(1, methods[i], "");
        answered(&b, 404, "\"code\":-32601");
        d.endpoint.catalog = task_tools;

        /* the methods for tasks of revision 2025-11-25 do not exist either */

        modern(1, &b, i ? "tasks/list" : "tasks/result", NULL, "\"x\":1");
        answered(&b, 404, NULL);

        modern(1, &b, methods[i], NULL, "\"taskId\":\"x\"");
        answered(&b, 400,
            "\"code\":-32020,\"message\":\"Header mismatch: Mcp-Name\"");
    }

    task_does(1, "tasks/cancel", "");
}


/* In a session there are no methods of tasks, and a tool that requires a task
 * is a stream. */
TEST(tool_requires_a_task_in_a_session__its_call_is_a_stream_instead)
{
    client_open(&d, session, NEW, TASK_CAN);
    ask(session, REQUEST("1", "tasks/get", "{\"taskId\":\"x\"}"), 200,
        "\"code\":-32601");
    client_post(&d, 0, &a, session,
                REQUEST("7", "tools/call", "{\"name\":\"required\"}"));
    driver_wait(&d, 1001);
    assert_int_equal(a.streaming, 1);
    mcp_backend_request_head(d.breqs[0], 200, mcp_str("application/json"));
    end_with_result(d.breqs[0]);
    has(a.text, RESULT);
}


TEST(task_is_cancelled__its_status_is_cancelled_until_it_expires)
{
    (void) task_begin(0);
    driver_pause(&d, 0, 1);
    task_does(1, "tasks/cancel", "");
    task_is(1, "\"status\":\"working\"");
    driver_pause(&d, 0, 0);
    assert_int_equal(d.aborts, 1);
    task_is(1, "\"status\":\"cancelled\"");
    task_does(1, "tasks/cancel", "");
    task_does(1, "tasks/update", ",\"inputResponses\":{\"x\":{}}");

    /* the cancelled task can be polled until it expires */

    driver_wait(&d, TTL - 100);
    task_is(0, "\"status\":\"cancelled\"");
    driver_wait(&d, 100);
    task_refused(0, "tasks/get", "", UNKNOWN);

    end_with_result(task_begin(1));
    task_does(1, "tasks/cancel", "");
    task_is(1, "\"status\":\"completed\"");
}


TEST(task_has_its_creation_time_and_the_time_of_its_last_change)
{
    mcp_backend_request_t  *breq;

    d.te.now = 1785229500250;
    breq = task_begin(0);
    task_is(1, "\"createdAt\":\"2026-07-28T09:05:00.250Z\",\"lastUpdatedAt\":"
               "\"2026-07-28T09:05:00.250Z\"");
    driver_wait(&d, 1000);
    end_with_result(breq);
    task_is(1, "\"createdAt\":\"2026-07-28T09:05:00.250Z\",\"lastUpdatedAt\":"
               "\"2026-07-28T09:05:01.252Z\"");

    d.endpoint.retry = 0;
    task_request(0, "tasks/get", "");
    has_not(b.text, "pollIntervalMs");
}


/* server/discover lists the extension if the endpoint has tasks. */
TEST(endpoint_offers_tasks__method_server_discover_lists_the_tasks_extension)
{
    modern(0, &b, "server/discover", NULL, "\"x\":1");
    has(b.text, EXTENSION);
    client_close(&d, &b);

    d.endpoint.task_after = 0;
    modern(0, &b, "server/discover", NULL, "\"x\":1");
    has(b.text, EXTENSION);
    client_close(&d, &b);

    d.endpoint.catalog = d.catalog;
    modern(0, &b, "server/discover", NULL, "\"x\":1");
    has_not(b.text, "extensions");
}


#define JOIN(name, key)  "\"name\":\"" name "\",\"idempotencyKey\":\"" key "\""


/* Repeats a call, and checks that the response is the task "task_id" with this
 * status. */
static void
same_task(unsigned process, const char *name, const char *params,
    const char *status)
{
    char  text[600];

    modern(process, &b, "tools/call", name, params);
    snprintf(text, sizeof(text), "\"taskId\":\"%s\",\"status\":\"%s\"",
             task_id, status);
    has(b.text, "\"resultType\":\"task\"");
    has(b.text, text);
    variable_is(mcp_exchange_variables(b.x), MCP_VARIABLE_JOINED, "1");
    client_close(&d, &b);
}


/* A call with a key is repeated with the same key: a client that has
 * declared the extension gets the same task; another client gets the call's
 * response. */
TEST(keyed_call_is_repeated__task_for_clients_with_tasks_and_result_for_others)
{
    size_t  i;

    static const char *const  calls[][2] = {
        { "key_always", JOIN("key_always", "k") },
        { "key", JOIN("key", "k") }
    };

    for (i = 0; i < ITEMS(calls); i++) {
        modern(0, &a, "tools/call", calls[i][0], calls[i][1]);
        (void) backend_stream(&d, 0);
        driver_wait(&d, 1001);

        if (a.streaming) {
            has(a.text, "data: ");
        }

        begin_status_listener();
        same_task(1, calls[i][0], calls[i][1], "working");

        round_can = "{}";
        modern(1, &b, "tools/call", calls[i][0], calls[i][1]);
        assert_int_equal(b.streaming, 1);
        backend_send(&d, d.breqs[0], NOTE("notifications/progress",
                    "{\"progressToken\":1,\"progress\":1}") "\n");
        has_not(b.text, "\"progress\"");
        assert_int_equal(d.n_breqs, 1);
        end_with_result(d.breqs[0]);
        has(b.text, "\"id\":7,\"result\":{\"content\"");
        assert_int_equal(b.ended, 1);
        client_close(&d, &b);
        round_can = TASK_CAN;

        same_task(0, calls[i][0], calls[i][1], "completed");
        task_is(1, "\"status\":\"completed\"");
        driver_wait(&d, TTL + 1);
    }
}


/* A call without a key is repeated: the client gets another task. */
TEST(repeated_call_without_a_key_gets_another_task)
{
    char  first[512];

    round_principal = "me";
    modern(0, &a, "tools/call", "key_always", "\"name\":\"key_always\"");
    driver_wait(&d, 2);
    begin_status_listener();
    strcpy(first, task_id);
    modern(0, &a, "tools/call", "key_always", "\"name\":\"key_always\"");
    driver_wait(&d, 2);
    begin_status_listener();
    assert_string_not_equal(first, task_id);
    assert_int_equal(d.n_breqs, 2);

    driver_wait(&d, TTL + 1);
    round_principal = NULL;
}


/* A call with a backend's resume token becomes a task, and the request is
 * repeated with the same token. */
TEST(token_of_a_task_is_used_again__the_client_gets_the_task_without_its_events)
{
    size_t                  i;
    char                    params[2048], token[1024];
    mcp_backend_request_t  *breq;

    static const char *const  can[] = {
        "{\"elicitation\":{},\"experimental\":{\"resumeTokens\":{}},"
        EXTENSION "}",
        "{\"elicitation\":{},\"experimental\":{\"resumeTokens\":{}}}"
    };

    d.endpoint.resume_lifetime = 600000;

    for (i = 0; i < ITEMS(can); i++) {
        round_can = can[0];
        modern(0, &a, "tools/call", "echo", "\"name\":\"echo\"");
        backend_json(&d, "{\"content\":[],\"nextResumeToken\":\"p2\"}");
        quoted(a.text, "\"nextResumeToken\":\"", token, sizeof(token));
        client_close(&d, &a);

        snprintf(params, sizeof(params),
                 "\"name\":\"echo\",\"resumeToken\":\"%s\"", token);
        modern(0, &a, "tools/call", "echo", params);
        breq = backend_stream(&d, 0);
        driver_wait(&d, 1001);
        begin_status_listener();

        round_can = can[i];
        modern(1, &b, "tools/call", "echo", params);
        assert_int_equal(d.n_breqs, 1);

        if (i == 0) {
            has(b.text, "\"resultType\":\"task\"");
            has(b.text, task_id);
            assert_int_equal(b.ended, 1);
        }

        round_can = can[0];
        backend_send(&d, breq, "{\"jsonrpc\":\"2.0\",\"result\":{"
                     "\"resultType\":\"input_required\",\"inputRequests\":{"
                     "\"k\":" FORM "}}}\n");
        has_not(b.text, "elicitation/create");
        client_close(&d, &b);
        driver_wait(&d, TTL + 1);
    }
}


RUN_TESTS(task_setup, task_teardown)
