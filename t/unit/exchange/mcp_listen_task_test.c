/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of subscriptions to tasks: each notification has the members that
 * tasks/get returns. */

#include "task_cases.h"


static client_t  l;


static void
listens(unsigned process, const char *filter)
{
    char  params[4096];

    client_init(&l, NULL);
    snprintf(params, sizeof(params), "\"notifications\":{%s}", filter);
    modern(process, &l, "subscriptions/listen", NULL, params);
}


static void
listens_to(unsigned process)
{
    char  filter[1024];

    snprintf(filter, sizeof(filter), "\"taskIds\":[\"%s\",\"other\"],"
             "\"toolsListChanged\":true", task_id);
    listens(process, filter);
    assert_int_equal(l.streaming, 1);
}


/* Returns the text that client l has received since the last call of this
 * function, and empties its buffer. */
static const char *
on_broadcast(void)
{
    static char  text[16384];

    assert_true(l.len < sizeof(text));
    memcpy(text, l.text, l.len + 1);
    l.len = 0;
    l.text[0] = '\0';

    return text;
}


/* Checks that the last notification has the same members as the present result
 * of tasks/get at this process. */
static void
same(unsigned process)
{
    char        expected[8192], *end;
    const char  *p;

    static const char  tail[] = ",\"resultType\":\"complete\",\"_meta\":{";

    task_request(process, "tasks/get", "");
    p = strstr(b.text, "\"taskId\"");
    assert_non_null(p);
    snprintf(expected, sizeof(expected), "\"_meta\":{\"io.modelcontextprotocol/"
             "subscriptionId\":7},%s", p);

    /* find the last occurrence of "tail", because the result inside the task
     * has the same members */

    end = NULL;

    for (p = expected; (p = strstr(p, tail)) != NULL; p++) {
        end = (char *) p;
    }

    assert_non_null(end);
    strcpy(end, "}}\n\n");
    client_close(&d, &b);
    ends_with(on_broadcast(), expected);
}


TEST(task_changes__its_notification_has_the_same_members_as_a_tasks_get_result)
{
    mcp_backend_request_t  *breq;

    breq = task_begin(0);
    listens_to(1);
    has(l.text, "\"notifications\":{\"toolsListChanged\":true,\"taskIds\":[\"");
    has(l.text, task_id);
    has_not(l.text, "other");
    (void) on_broadcast();

    backend_send(&d, breq,
                 ROUND(",\"inputRequests\":{\"k\":" FORM ",\"l\":" FORM
                               "}") "\n");
    backend_end(&d, breq, MCP_FAILURE_NONE);
    has(l.text, "\"method\":\"notifications/tasks\"");
    has(l.text, "\"status\":\"input_required\"");
    same(0);

    task_does(0, "tasks/update", ",\"inputResponses\":{\"k#1\":{}}");
    has(l.text, "\"inputRequests\":{\"l#1\"");
    same(1);

    task_does(1, "tasks/update", ",\"inputResponses\":{\"l#1\":{}}");
    has(l.text, "\"status\":\"working\"");
    same(1);

    /* a notification about a list arrives between those about the task */

    publish(0, &b, "/publish/static-token", CHANGED);
    has(on_broadcast(), "notifications/tools/list_changed");

    backend_json(&d, RESULT);
    has(l.text, "\"status\":\"completed\"");
    same(1);
    client_close(&d, &l);
    quiet();
    assert_int_equal(stats().subscriptions, 0);
}


/* 100 status messages within a second: one notification is sent at once, and
 * one with the newest message later. */
TEST(task_has_100_status_messages__listener_gets_one_at_once_and_then_the_last)
{
    int                     i;
    mcp_backend_request_t  *breq;

    modern(0, &a, "tools/call", "always",
           "\"name\":\"always\",\"_meta\":{\"progressToken\":\"t\","
           "\"io.modelcontextprotocol/protocolVersion\":\"" MODERN "\","
           "\"io.modelcontextprotocol/clientCapabilities\":" TASK_CAN "}},"
           "\"other\":{\"a\":1");
    breq = backend_stream(&d, 0);
    driver_wait(&d, 2);
    begin_status_listener();
    driver_wait(&d, 2000);
    listens_to(1);
    (void) on_broadcast();

    for (i = 0; i < 100; i++) {
        backend_send(&d, breq, i < 99 ? PROGRESS(1) "\n" : PROGRESS(2) "\n");
    }

    assert_int_equal(count(l.text, "notifications/tasks"), 1);
    (void) on_broadcast();
    driver_wait(&d, 1100);
    has(l.text, "\"statusMessage\":\"2\"");
    same(1);
    driver_wait(&d, 5000);
    assert_int_equal(l.len, 0);

    /* a task is cancelled; the process of another task dies */

    task_does(1, "tasks/cancel", "");
    has(l.text, "\"status\":\"cancelled\"");
    same(1);
    client_close(&d, &l);

    (void) task_begin(0);
    listens_to(1);
    (void) on_broadcast();
    driver_killed(&d, 0, 1);
    has(l.text, "\"status\":\"failed\"");
    same(1);
    client_close(&d, &l);
}


TEST(invalid_task_ids_are_rejected_and_unknown_task_ids_are_not_honoured)
{
    size_t  i;

    static const char *const  wrong[] = {
        "\"taskIds\":{}", "\"taskIds\":[1]", "\"taskIds\":null",
        "\"taskIds\":[\"\"]", "\"taskIds\":[],\"taskIds\":[]"
    };

    for (i = 0; i < ITEMS(wrong); i++) {
        listens(0, wrong[i]);
        has(l.text, "\"code\":-32602,\"message\":\"Invalid params: taskIds\"");
        client_close(&d, &l);
    }

    for (i = 0; i < 2; i++) {
        round_can = i ? "{}" : "{\"extensions\":{}}";
        listens(0, "\"taskIds\":[\"x\"]");
        assert_int_equal(l.status, 400);
        has(l.text, REQUIRED);
        client_close(&d, &l);
    }

    round_can = TASK_CAN;
    listens(0, "\"taskIds\":[\"x\"]");
    has(l.text, "\"notifications\":{}}}");
    client_close(&d, &l);

    /* a subscription to a task of another principal: the task is not
     * honoured */

    round_principal = "alice";
    (void) task_begin(0);
    round_principal = "bob";
    listens_to(0);
    has(l.text, "\"notifications\":{\"toolsListChanged\":true}");
    client_close(&d, &l);
    round_principal = "alice";
    task_does(1, "tasks/cancel", "");
    round_principal = NULL;

    /* a subscription to a task at an endpoint without tasks: not honoured */

    d.endpoint.catalog = d.catalog;
    d.endpoint.task_after = 0;
    listens(0, "\"taskIds\":[\"x\"]");
    has(l.text, "\"notifications\":{}}}");
    client_close(&d, &l);
}


/* Two tasks in one subscription, until both have expired. */
TEST(subscription_to_two_tasks_is_notified_that_both_completed)
{
    char                    first[512], filter[2048];
    mcp_backend_request_t  *one, *two;

    one = task_begin(0);
    strcpy(first, task_id);
    two = task_begin(1);
    snprintf(filter, sizeof(filter), "\"taskIds\":[\"%s\",\"%s\"]", first,
             task_id);
    listens(0, filter);
    (void) on_broadcast();

    l.slow = 1;
    end_with_result(one);
    end_with_result(two);
    l.slow = 0;
    driver_pull(&l);
    assert_int_equal(count(l.text, "\"status\":\"completed\""), 2);
    has(l.text, first);
    has(l.text, task_id);
    driver_wait(&d, TTL);
    client_close(&d, &l);
}


RUN_TESTS(task_setup, task_teardown)
