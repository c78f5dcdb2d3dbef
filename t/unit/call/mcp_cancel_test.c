/* SPDX-License-Identifier: Apache-2.0 */

/* Cancellation of a call at any process and at any time. */

#include "core_cases.h"


/* Request ids are compared by value, in any spelling, for durable calls and
 * for others. */
TEST(request_id_of_a_cancellation_is_spelled_differently__the_value_decides)
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

    int                     durable, aborts;
    char                    body[256];
    size_t                  i;
    mcp_backend_request_t  *breq;

    d.endpoint.stream_after = 600000;

    for (i = 0; i < ITEMS(cases); i++) {
        for (durable = 0; durable <= 1; durable++) {
            aborts = (int) d.aborts;
            snprintf(body, sizeof(body),
                     REQUEST("%s", "tools/call", "{\"name\":\"echo\","
                             "\"_meta\":{\"progressToken\":\"t\"}}"),
                     cases[i].id);
            client_post(&d, 0, &a, session, body);
            breq = backend_stream(&d, 0);

            if (durable) {
                backend_send(&d, breq, PROGRESS(1) "\n");
            }

            cancel(1, session, cases[i].spelled);
            driver_wait(&d, 250);

            if (cases[i].same) {
                assert_int_equal(d.aborts, aborts + 1);

            } else {
                assert_int_equal(d.aborts, aborts);
                end_with_result(breq);
            }

            client_close(&d, &a);
            quiet();
            client_open(&d, session, NEW, ALL);
        }
    }

    d.endpoint.stream_after = 1000;
}


/* Cancellation of calls that are not durable yet: a call in the same process
 * ends at once, a call in another process soon after; calls of other sessions
 * continue. */
TEST(call_without_a_stream_is_cancelled_at_any_process__it_ends)
{
    int       i;
    char      other[MCP_SESSION_TEXT_MAX];
    unsigned  locks;

    d.endpoint.stream_after = 600000;

    client_post(&d, 0, &a, session, CALL);
    client_post(&d, 0, &b, session, CALL8);
    cancel(0, session, "8");
    assert_int_equal(d.aborts, 1);
    assert_int_equal(b.ended, 1);
    has_not(b.text, "result");
    client_close(&d, &b);

    aborts_after(1000, 1);
    cancel(1, session, "7");
    aborts_after(250, 2);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    quiet();

    /* the session ends */

    client_open(&d, other, NEW, ALL);
    client_post(&d, 0, &a, other, CALL);
    client_init(&b, other);
    client_send(&d, 1, &b, "DELETE", "");
    client_close(&d, &b);
    aborts_after(250, 3);
    client_close(&d, &a);
    quiet();

    /* cancellations of unknown request ids cause no work for the process of a
     * call */

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
    gets_json_result(&a);
    client_close(&d, &a);
    d.endpoint.stream_after = 1000;
}


/* A cancellation arrives after its request has ended, from any process: the
 * next request with the same id runs to its end. */
TEST(call_has_ended_and_is_then_cancelled__next_call_with_the_same_id_continues)
{
    unsigned  by, aborts;

    for (by = 0; by < 2; by++) {
        aborts = d.aborts;

        client_post(&d, 0, &a, session, CALL);
        backend_json(&d, RESULT);
        has(a.text, ANSWER);
        client_close(&d, &a);

        cancel(by, session, "7");

        client_post(&d, 0, &a, session, CALL);
        driver_wait(&d, 500);
        assert_int_equal(d.aborts, aborts);
        assert_int_equal(a.ended, 0);

        /* the call becomes durable, and therefore looks for cancellations
         * again: it ignores the one that arrived before its start */

        driver_wait(&d, 1000);
        assert_int_equal(d.aborts, aborts);
        backend_json(&d, RESULT);
        has(a.text, "\"result\"");
        assert_int_equal(a.ended, 1);
        client_close(&d, &a);
        quiet();

        /* a cancellation that arrives after the start of the call still takes
         * effect */

        client_post(&d, 0, &a, session, CALL);
        cancel(by, session, "7");
        driver_wait(&d, 500);
        assert_int_equal(d.aborts, aborts + 1);
        client_close(&d, &a);
        quiet();
    }
}


/* The call of process 0 becomes durable. */
static void
becomes_durable(void)
{
    d.te.now += d.endpoint.stream_after + 1;
    mcp_worker_expire(d.process[0].worker);
}


TEST(call_becomes_durable_at_any_step_of_its_cancellation__it_is_cancelled)
{
    unsigned  n, aborts, reached;

    d.meanwhile = becomes_durable;

    for (n = 1, reached = 1; reached; n++) {
        assert_in_range(n, 1, 50);
        aborts = d.aborts;
        client_post(&d, 0, &a, session, CALL);

        d.meanwhile_in = n;
        cancel(1, session, "7");
        reached = d.meanwhile_in == 0;
        d.meanwhile_in = 0;
        aborts_after(250, aborts + 1);
        assert_int_equal(d.n_breqs, 0);
        client_close(&d, &a);
        driver_wait(&d, 10000);
    }

    assert_in_range(n, 3, 50);
}


RUN_TESTS(setup, teardown)
