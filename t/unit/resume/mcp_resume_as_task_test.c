/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of the calls that become tasks, the time when they do, and the
 * responses to them. */

#include "task_cases.h"

#include "rpc/mcp_fault.h"
#include "store/mcp_store_call_stats.h"


/* A call has no response after mcp_task_after: its client gets a task as the
 * response. */
TEST(mcp_task_after_passes_without_a_response__the_client_gets_a_task)
{
    mcp_backend_request_t  *breq;

    breq = task_call(0, "echo");
    driver_wait(&d, 999);
    assert_int_equal(a.status, 0);
    driver_wait(&d, 2);
    assert_int_equal(a.status, 200);
    has(a.text, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"resultType\":"
                "\"task\",\"taskId\":\"");
    has(a.text, "\"ttlMs\":60000,\"pollIntervalMs\":2000,");
    assert_string_equal(mcp_exchange_variables(a.x)
                            ->value[MCP_VARIABLE_OUTCOME]
                            .data,
                        "task");
    begin_status_listener();

    task_is(1, "\"status\":\"working\"");
    end_with_result(breq);
    task_is(1, "\"status\":\"completed\"");
}


/* The backend responds before mcp_task_after: no task. */
TEST(backend_responds_before_mcp_task_after_has_passed__there_is_no_task)
{
    d.endpoint.stream_after = 100;
    end_with_result(task_call(0, "echo"));
    has_not(a.text, "task");
    client_close(&d, &a);

    (void) task_call(0, "echo");
    driver_wait(&d, 500);
    end_with_result(d.breqs[0]);
    assert_int_equal(a.ended, 1);
    has_not(a.text, "task");
}


TEST(backend_responds_with_202__the_client_gets_a_task_that_is_working)
{
    mcp_backend_request_t  *breq;

    modern_call(0, &a, "");
    breq = d.breqs[0];
    respond_202(breq);
    assert_int_equal(a.status, 200);
    begin_status_listener();
    task_is(1, "\"status\":\"working\"");
    driver_wait(&d, TTL);
}


/* x-mcp-task of a tool in the catalog. */
TEST(x_mcp_task_of_a_tool_decides_whether_and_when_a_call_is_a_task)
{
    mcp_backend_request_t  *breq;

    breq = task_begin(0);
    end_with_result(breq);
    task_is(1, "\"status\":\"completed\"");

    (void) task_call(0, "never");
    driver_wait(&d, 1500);
    assert_int_equal(a.streaming, 1);
    end_with_result(d.breqs[0]);
    has_not(a.text, "taskId");
    client_close(&d, &a);

    (void) task_call(0, "later");
    driver_wait(&d, 2400);
    assert_int_equal(a.ended, 0);
    driver_wait(&d, 200);
    begin_status_listener();
    end_with_result(d.breqs[0]);

    round_can = "{}";
    assert_null(task_call(0, "required"));
    answered(&a, 400, REQUIRED);

    /* a client without the extension gets no task */

    (void) task_call(0, "always");
    driver_wait(&d, 2);
    assert_int_equal(a.status, 0);
    end_with_result(d.breqs[0]);
    has(a.text, "\"resultType\":\"complete\"");
}


/* A call ends before its client has received the id of the task: the client
 * gets the task nevertheless. */
TEST(call_ends_before_its_task_id_is_sent__the_client_gets_a_completed_task)
{
    end_with_result(task_call(1, "always"));
    assert_int_equal(a.status, 200);
    begin_status_listener();
    task_is(0, "\"status\":\"completed\"");
}


/* A client that declared resumable requests gets a stream, except for a tool
 * that is always a task for all clients ("required"). A client that declared
 * resume tokens gets them only for calls that do not become tasks. */
TEST(tasks_and_another_resumption_method_are_declared__no_call_uses_both)
{
    d.endpoint.resume_after = 500;

    round_can = "{\"experimental\":{\"resumableRequests\":{}}," EXTENSION "}";
    (void) task_call(0, "always");
    driver_wait(&d, 1100);
    assert_int_equal(a.streaming, 1);
    has_not(a.text, "taskId");
    end_with_result(d.breqs[0]);
    client_close(&d, &a);

    (void) task_call(0, "required");
    driver_wait(&d, 2);
    begin_status_listener();
    end_with_result(d.breqs[0]);

    round_can = "{\"experimental\":{\"resumeTokens\":{}}," EXTENSION "}";
    (void) task_call(0, "echo");
    driver_wait(&d, 900);
    assert_int_equal(a.status, 0);
    driver_wait(&d, 200);
    begin_status_listener();
    end_with_result(d.breqs[0]);

    (void) task_call(0, "never");
    driver_wait(&d, 501);
    has(a.text, "nextResumeToken");
    end_with_result(d.breqs[0]);
}


/* The client disconnects before it has received the id of the task: the call
 * is cancelled. */
TEST(client_disconnects_before_it_has_the_task_id__the_call_is_cancelled)
{
    (void) task_call(0, "echo");
    client_close(&d, &a);
    assert_int_equal(d.aborts, 1);

    (void) task_call(0, "always");
    client_close(&d, &a);
    assert_int_equal(d.aborts, 2);

    d.endpoint.stream_after = 100;
    (void) task_call(0, "echo");
    driver_wait(&d, 500);
    client_close(&d, &a);
    aborts_after(10, 3);
    quiet();
    assert_int_equal(stats().streams, 0);
}


/* The zone has no room for a task: 503, and no backend is invoked. */
TEST(zone_has_no_room_for_a_task__the_client_gets_503_and_no_backend_is_called)
{
    mcp_stream_ref_t          ref;
    mcp_call_stats_failure_t  failures[2];

    hog(&ref);
    assert_null(task_call(0, "always"));
    answered(&a, 503, NULL);
    assert_int_equal(mcp_store_call_stats_recent(&d.process[0].store, failures,
                                                 ITEMS(failures)), 1);
    assert_int_equal(failures[0].reason, MCP_REASON_ZONE_FULL);
    mcp_store_free(&d.process[1].store, &ref);
    driver_pump(&d);
}


/* The events of a task are not messages for clients. */
TEST(client_sends_GET_with_an_event_id_of_a_task__it_gets_404)
{
    char                    id[64];
    mcp_backend_request_t  *breq;

    d.endpoint.resume_stateless = MCP_RESUME_STATELESS_ALL;
    d.endpoint.reconnect_wait = TTL;
    d.endpoint.stream_after = 100;

    breq = task_call(0, "echo");
    driver_wait(&d, 200);
    client_last_id(&a, id);
    driver_wait(&d, 1000);
    has(a.text, "taskId");
    client_close(&d, &a);

    client_init(&b, NULL);
    client_header(&b, "MCP-Protocol-Version", MODERN);
    client_header(&b, "Last-Event-ID", id);
    client_send(&d, 1, &b, "GET", "");
    assert_int_equal(b.status, 404);
    end_with_result(breq);
}


RUN_TESTS(task_setup, task_teardown)
