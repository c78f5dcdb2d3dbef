/* SPDX-License-Identifier: Apache-2.0 */

/* Recovery: each request of a dead process's call gets a response. */

#include "core_cases.h"


/* The process of a call dies: client b, which reads the call at the other
 * process, gets the error. */
TEST(worker_of_a_call_dies__the_client_gets_an_error)
{
    int                     attached;
    char                    id[64];
    mcp_backend_request_t  *breq;

    for (attached = 0; attached < 2; attached++) {
        breq = call(0);
        backend_send(&d, breq, PROGRESS(1) "\n" PROGRESS(2) "\n");
        snprintf(id, sizeof(id), "%.22s.1", a.text + 4);

        if (attached) {
            client_resume(&d, 1, &b, session, id);
        }

        driver_kill(&d, 0);
        client_close(&d, &a);
        driver_end_breqs(&d, 0);
        driver_killed(&d, 0, 1);

        if (!attached) {
            client_resume(&d, 0, &b, session, id);
        }

        has_not(b.text, PROGRESS(1));
        has(b.text, ".2\ndata: " PROGRESS(2));
        has(b.text, ".3\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"error\":"
                    "{\"code\":-32603,\"message\":\"Call lost");
        assert_int_equal(b.ended, 1);
        variable_is(mcp_exchange_variables(b.x), MCP_VARIABLE_RESULT, "lost");
        leave_with_last_id(&b, id);

        client_resume(&d, 1, &b, session, id);
        assert_int_equal(b.status, 204);
        variable_is(mcp_exchange_variables(b.x), MCP_VARIABLE_RESULT, "lost");
        client_close(&d, &b);
        assert_int_equal(stats().counter[MCP_COUNT_CALLS_LOST], attached + 1);
        assert_int_equal(stats().counter[MCP_COUNT_CALLS_ACTIVE], 0);
        quiet();
    }

    driver_wait(&d, 10000);
    assert_int_equal(stats().streams, 0);
}


/* The process of a batch dies: each request without a response gets an
 * error. */
TEST(worker_of_a_batch_dies__requests_without_response_get_an_error)
{
    int                     n;
    char                    old[MCP_SESSION_TEXT_MAX], id[64];
    mcp_backend_request_t  *breq;

    client_open(&d, old, OLD, ALL);

    for (n = 0; n < 3; n++) {
        client_post(&d, 0, &a, old, "[" PING "," CALL ",1," CALL8 "]");
        driver_wait(&d, 1500);
        client_last_id(&a, id);

        if (n) {
            breq = d.breqs[n - 1];
            backend_reply(&d, breq, RESULT);
        }

        driver_kill(&d, 0);
        client_close(&d, &a);
        driver_end_breqs(&d, 0);
        driver_killed(&d, 0, 1);

        id[23] = '0';
        client_resume(&d, 1, &b, old, id);
        assert_int_equal(b.ended, 1);
        has(b.text, PONG);
        assert_int_equal(count(b.text, "\"id\":7,\"error\""), n != 1);
        assert_int_equal(count(b.text, "\"id\":8,\"error\""), n != 2);
        assert_int_equal(count(b.text, "\"id\":7,\"result\""), n == 1);
        assert_int_equal(count(b.text, "\"id\":8,\"result\""), n == 2);
        assert_int_equal(count(b.text, "Invalid Request"), 1);
        assert_int_equal(count(b.text, "data: "), 4);
        client_close(&d, &b);
        quiet();
    }
}


/* The process that adopts a call has no memory: the call is ended
 * nevertheless. */
TEST(memory_runs_out_after_a_worker_dies__its_call_ends_nevertheless)
{
    char           id[64];
    unsigned long  k = 0;

    while (test_next_failure(&d.te.tm, &k)) {
        call_with_progress(0);
        client_last_id(&a, id);

        driver_kill(&d, 0);
        client_close(&d, &a);
        driver_end_breqs(&d, 0);
        d.te.tm.fail_at = k;
        driver_killed(&d, 0, 1);
        d.te.tm.fail_at = 0;

        client_resume(&d, 1, &b, session, id);
        assert_true(b.status == 204 || b.ended);
        client_close(&d, &b);
        quiet();
    }
}


RUN_TESTS(setup, teardown)
