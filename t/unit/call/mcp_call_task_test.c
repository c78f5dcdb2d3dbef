/* SPDX-License-Identifier: Apache-2.0 */

/* Active tasks: messages of their backends, and ends of the tasks. */

#include "task_cases.h"


#define SAYS(params)                                                          \
    NOTE("notifications/progress", "{\"progressToken\":\"t\"," params "}")    \
    "\n"


/* Starts a task for a call with a progress token. */
static mcp_backend_request_t *
begin(unsigned process)
{
    mcp_backend_request_t  *breq;

    modern(process, &a, "tools/call", "always",
           "\"name\":\"always\",\"_meta\":{\"progressToken\":\"t\","
           "\"io.modelcontextprotocol/protocolVersion\":\"" MODERN "\","
           "\"io.modelcontextprotocol/clientCapabilities\":" TASK_CAN "}},"
           "\"other\":{\"a\":1");
    assert_int_equal(d.n_breqs, 1);
    breq = backend_stream(&d, 0);
    driver_wait(&d, 2);
    begin_status_listener();

    return breq;
}


TEST(task_status_message_is_the_latest_progress_with_the_clients_progress_token)
{
    int                     i;
    char                    text[4096];
    mcp_backend_request_t  *breq;

    d.endpoint.max_events = 4;
    breq = begin(0);
    task_is(1, "\"status\":\"working\",\"createdAt\"");
    backend_send(&d, breq, SAYS("\"progress\":1,\"message\":\"one \\u00e9\""));
    task_is(1, "\"statusMessage\":\"one \xc3\xa9\",");
    backend_send(&d, breq, SAYS("\"progress\":2,\"total\":10"));
    task_is(0, "\"statusMessage\":\"2 of 10\",");
    backend_send(&d, breq, SAYS("\"progress\":3"));
    task_is(0, "\"statusMessage\":\"3\",");
    backend_send(&d, breq, SAYS("\"none\":0"));
    task_is(0, "\"statusMessage\":\"3\",");

    /* neither progress with another token nor log messages change the status
     * message */

    backend_send(&d, breq, NOTE("notifications/progress",
                              "{\"progressToken\":\"u\",\"progress\":9}") "\n"
                         NOTE("notifications/message",
                              "{\"level\":\"error\",\"data\":1}") "\n"
                         NOTE("notifications/other", "{}") "\n");
    task_is(0, "\"statusMessage\":\"3\",");

    /* a long message is cut between two characters */

    for (i = 0; i < 1500; i += 2) {
        memcpy(text + i, "\xc3\xa9", 2);
    }

    text[i] = '\0';
    snprintf(line, sizeof(line), NOTE("notifications/progress",
             "{\"progressToken\":\"t\",\"progress\":4,\"message\":\"x%s\"}")
             "\n", text);
    backend_send(&d, breq, line);
    task_request(0, "tasks/get", "");
    assert_int_equal(count(b.text, "\xc3\xa9"), 511);
    client_close(&d, &b);

    /* the backend is never paused, because the task keeps only its last
     * status */

    for (i = 0; i < 3000; i++) {
        assert_int_not_equal(backend_send(&d, breq, SAYS("\"progress\":5")), 0);
    }

    task_is(0, "\"statusMessage\":\"5\",");
    assert_true(stats().used < 32 * 1024);
    end_with_result(breq);
    task_is(0, "\"status\":\"completed\",\"createdAt\"");
}


/* The time to live of a task begins with its creation; polling does not extend
 * it. */
TEST(task_is_polled__it_still_expires_after_its_time_to_live)
{
    int  i;

    (void) begin(0);
    d.endpoint.call_timeout = 600000;
    d.breqs[0]->call->requests[0].deadline = UINT64_MAX;

    for (i = 0; i < 59; i++) {
        driver_wait(&d, 1000);
        task_is(i % 2, "\"status\":\"working\"");
    }

    driver_wait(&d, 1000);
    task_refused(1, "tasks/get", "", UNKNOWN);
    assert_int_equal(d.aborts, 1);
    quiet();
    assert_int_equal(stats().streams, 0);
    assert_int_equal(stats().counter[MCP_COUNT_CALLS_EXPIRED], 1);

    /* a completed task is kept until the same time */

    end_with_result(begin(1));
    driver_wait(&d, TTL - 10);
    task_is(0, "\"status\":\"completed\"");
    driver_wait(&d, 10);
    task_refused(0, "tasks/get", "", UNKNOWN);
    driver_wait(&d, 10000);
    assert_int_equal(stats().streams, 0);
}


/* The ways in which a task can end without a result. */
TEST(task_ends_with_an_error__method_tasks_get_returns_its_status_and_error)
{
    mcp_backend_request_t  *breq;

    end_with(begin(0), "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-5,"
                       "\"message\":\"no \\\"luck\\\"\",\"data\":{\"a\":1}}}"
                       "\n");
    task_is(1, "\"status\":\"failed\",\"statusMessage\":\"no \\\"luck\\\"\",");
    task_is(1, "\"error\":{\"code\":-5,\"message\":\"no \\\"luck\\\"\","
               "\"data\":{\"a\":1}}");

    end_with(begin(0), "{\"content\":[],\"isError\":true}\n");
    task_is(1, "\"status\":\"completed\"");
    task_is(1, "\"isError\":true");

    backend_end(&d, begin(0), MCP_FAILURE_REPLY);
    task_is(1, "\"status\":\"failed\",\"statusMessage\":\"Backend failed\",");

    (void) begin(0);
    driver_wait(&d, 30000);
    task_is(1, "\"statusMessage\":\"Backend timed out\"");

    /* the process of the task dies while the backend works; then before the
     * client has polled the task */

    breq = begin(0);
    backend_send(&d, breq, SAYS("\"progress\":1"));
    driver_killed(&d, 0, 1);
    task_is(1, "\"status\":\"failed\"");
    task_is(0, "\"error\":{\"code\":-32603,\"message\":\"Call lost");
}


/* The zone has no room: updates of the status are lost, but the result is
 * stored. */
TEST(zone_is_full__a_status_update_is_not_held_and_the_task_continues)
{
    mcp_backend_request_t  *breq;
    mcp_stream_ref_t        ref;

    breq = begin(0);
    backend_send(&d, breq, SAYS("\"progress\":1"));
    hog(&ref);
    snprintf(line, sizeof(line), NOTE("notifications/progress",
             "{\"progressToken\":\"t\",\"progress\":2,\"message\":\"%0900d\"}")
             "\n", 0);
    assert_int_not_equal(backend_send(&d, breq, line), 0);
    task_is(1, "\"status\":\"working\"");
    mcp_store_free(&d.process[1].store, &ref);
    backend_send(&d, breq, SAYS("\"progress\":3"));
    task_is(1, "\"statusMessage\":\"3\"");
    end_with_result(breq);
    task_is(1, "\"status\":\"completed\"");
}


RUN_TESTS(task_setup, task_teardown)
