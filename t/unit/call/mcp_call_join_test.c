/* SPDX-License-Identifier: Apache-2.0 */

/* A call that has a stream from the start, because other requests may join
 * it. */

#include "join_cases.h"


/* The client that begins a call that can be joined gets the same response as
 * without a stream, for example plain JSON. */
TEST(joinable_call_ends_within_1_s__first_client_gets_json_instead_of_events)
{
    mcp_store_stats_t  s;

    client_post(&d, 0, &a, session, KEYED("1", "other", "\"k\""));
    mcp_store_stats(&d.process[0].store, &s);
    assert_int_equal(s.streams, 1);
    backend_json(&d, RESULT);
    assert_string_equal(a.text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":"
                        RESULT "}");
    sent(&a);

    client_post(&d, 0, &a, session, KEYED("1", "other", "\"l\""));
    driver_wait(&d, 1001);
    assert_int_equal(a.streaming, 1);
    has(a.text, "id: ");
    backend_json(&d, RESULT);
    has(a.text, JOINED_ANSWER("1"));
    sent(&a);

    client_post(&d, 0, &a, session, KEYED("1", "other", "\"m\""));
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    has(a.text, "\"id\":1,\"error\":{\"code\":-32603");
    sent(&a);
    client_post(&d, 1, &a, session, KEYED("2", "other", "\"m\""));
    has(a.text, "\"id\":2,\"error\":{\"code\":-32603");
    sent(&a);

    driver_wait(&d, 60001);
}


/* A cancellation at another process finds the call by its stream. */
TEST(joinable_call_is_cancelled_at_another_process__it_is_aborted)
{
    client_post(&d, 0, &a, session, KEYED("1", "other", "\"k\""));
    cancel(1, session, "1");
    assert_int_equal(d.aborts, 1);
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    driver_wait(&d, 60001);
}


/* A rejected call leaves no stream behind. */
TEST(zone_is_full_or_session_has_too_many_streams__a_joinable_call_is_rejected)
{
    mcp_stream_ref_t  ref;

    hog(&ref);
    ask(session, KEYED("1", "other", "\"k\""), 503, "\"error\":{");
    assert_int_equal(d.n_breqs, 0);
    mcp_store_free(&d.process[0].store, &ref);

    d.endpoint.max_session_streams = 1;
    client_post(&d, 0, &a, session, KEYED("1", "other", "\"k\""));
    ask(session, KEYED("2", "other", "\"l\""), 429, "\"error\":{");
    assert_int_equal(d.n_breqs, 1);
}


/* Each allocation fails once: no memory leaks. */
TEST(memory_runs_out_while_requests_join_a_call__no_call_is_left)
{
    unsigned  n;

    for (n = 1; n < 60; n++) {
        d.te.tm.fail_at = n;
        client_post(&d, 0, &a, session, KEYED("1", "other", "\"k\""));
        client_post(&d, 1, &b, session, KEYED("2", "other", "\"k\""));
        d.te.tm.fail_at = 0;

        while (d.n_breqs) {
            backend_reply(&d, d.breqs[0], RESULT);
        }

        client_close(&d, &a);
        client_close(&d, &b);
        driver_wait(&d, 60001);
        quiet();
    }
}


RUN_TESTS(join_setup, join_teardown)
