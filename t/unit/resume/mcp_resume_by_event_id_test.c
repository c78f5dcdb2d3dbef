/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of GET with Last-Event-ID. */

#include "core_cases.h"
#include "worker/mcp_cluster_operation.h"


/* Responses to GET with Last-Event-ID. */
TEST(GET_request_has_last_event_id__status_and_events_depend_on_that_id)
{
    static const char *const  malformed[] = {
        "x", "nonsense", "AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAA.",
        "AAAAAAAAAAAAAAAAAAAAAA.01", "AAAAAAAAAAAAAAAAAAAAAA.-1",
        "AAAAAAAAAAAAAAAAAAAAAA.99999999999999999999",
        "AAAAAAAAAAAAAAAAAAAAAA.1 ", "*AAAAAAAAAAAAAAAAAAAAA.1"
    };

    size_t                  i;
    char                    id[64], other[MCP_SESSION_TEXT_MAX];
    mcp_backend_request_t  *breq;

    for (i = 0; i < ITEMS(malformed); i++) {
        client_resume(&d, 0, &a, session, malformed[i]);
        answered(&a, 400, "Invalid event ID format");
    }

    client_open(&d, other, NEW, ALL);
    breq = call_with_progress(0);
    client_last_id(&a, id);

    /* the id of an event of another session, of a future event, and of an
     * unknown stream: the same error for all */

    client_resume(&d, 1, &b, other, id);
    answered(&b, 404, "Unknown event ID");

    id[23] = '9';
    client_resume(&d, 1, &b, session, id);
    answered(&b, 404, "Unknown event ID");

    client_resume(&d, 1, &b, session, "AAAAAAAAAAAAAAAAAAAAAA.1");
    answered(&b, 404, "Unknown event ID");

    /* the rejected requests did not take the stream over */

    assert_int_equal(a.ended, 0);
    end_with_result(breq);
    leave_with_last_id(&a, id);

    client_resume(&d, 1, &b, session, id);
    assert_int_equal(b.status, 204);
    assert_int_equal(b.len, 0);
    variable_is(mcp_exchange_variables(b.x), MCP_VARIABLE_OUTCOME, "finished");
    client_close(&d, &b);

    /* the call is over, and its stream has events after the one that
     * Last-Event-ID names: the client gets them */

    id[23] = '0';
    client_resume(&d, 1, &b, session, id);
    assert_int_equal(b.status, 200);
    assert_int_equal(b.ended, 1);
    has(b.text, ".1\ndata: " PROGRESS(1));
    has(b.text, ".2\ndata: " ANSWER);
    variable_is(mcp_exchange_variables(b.x), MCP_VARIABLE_RESUMED, "1");
    client_close(&d, &b);

    driver_wait(&d, 10000);
    client_resume(&d, 1, &b, session, id);
    assert_int_equal(b.status, 404);
}


/* A stream drops sent events beyond mcp_stream_buffer. A client that names an
 * event before the dropped ones gets 404. */
TEST(events_after_last_event_id_were_dropped__the_client_gets_404)
{
    int                     i;
    char                    id[64], first[64], said[1200];
    mcp_backend_request_t  *breq;

    d.endpoint.stream_buffer = 8 * 1024;
    breq = call(0);
    backend_send(&d, breq, PROGRESS(0) "\n");
    client_last_id(&a, first);

    for (i = 1; i < 50; i++) {
        snprintf(said, sizeof(said),
                 NOTE("notifications/progress", "{\"progressToken\":\"t\","
                      "\"progress\":%d,\"message\":\"%0900d\"}") "\n", i, 0);
        assert_int_equal(backend_send(&d, breq, said), strlen(said));
    }

    leave_with_last_id(&a, id);

    client_resume(&d, 1, &b, session, first);
    answered(&b, 404, "Events no longer available");

    client_resume(&d, 1, &b, session, id);
    assert_int_equal(b.status, 200);
    gets_result(&b, breq);
}


/* A call that is over can be resumed until mcp_linger is over, independent of
 * the times of the store's sweeps. */
TEST(call_that_is_over_can_be_resumed_until_mcp_linger_has_passed)
{
    int                     phase;
    char                    id[64];
    mcp_backend_request_t  *breq;

    for (phase = 0; phase < 1000; phase += 250) {
        client_post(&d, 0, &a, session, CALL);
        breq = backend_stream(&d, 0);
        backend_send(&d, breq, PROGRESS(1) "\n");
        client_last_id(&a, id);
        driver_wait(&d, 1000 + (uint64_t) phase);
        gets_result(&a, breq);
        client_close(&d, &a);

        driver_wait(&d, d.endpoint.linger - 1);
        client_resume(&d, 1, &a, session, id);
        has(a.text, ANSWER);
        client_close(&d, &a);

        driver_wait(&d, d.endpoint.linger);
        client_resume(&d, 1, &a, session, id);
        answered(&a, 404, NULL);
        quiet();
    }
}


/* Result of the operation by which a request queries the cluster. */
static int  cluster_says;


static int
query(void *ctx, const mcp_operation_spec_t *spec, mcp_operation_t *op)
{
    assert_int_equal(spec->kind, MCP_OPERATION_STREAM);

    return cluster_says;
}


/* While Redis is unreachable, a client gets the remaining events of a stream
 * at the node of the call, but no final 204. */
TEST(redis_is_unreachable__a_client_with_all_events_gets_503_instead_of_204)
{
    char                    id[64], last[64];
    mcp_backend_request_t  *breq;

    static const mcp_cluster_hooks_t  hooks = {
        .start = query,
        .clock = clock_agrees,
        .check_leader = leader_stays,
        .changed = changes_nothing
    };

    client_post(&d, 0, &a, session, CALL);
    breq = backend_stream(&d, 0);
    backend_send(&d, breq, PROGRESS(1) "\n");
    client_last_id(&a, id);
    gets_result(&a, breq);
    client_last_id(&a, last);
    client_close(&d, &a);

    d.process[1].worker->cluster_hooks = &hooks;
    d.process[1].worker->cluster = &cluster_says;
    cluster_says = MCP_ERR_UNREACHABLE;

    client_resume(&d, 1, &a, session, last);
    assert_int_equal(a.status, 503);
    assert_string_equal(client_response_header(&a, "Retry-After"), "1");
    client_close(&d, &a);

    client_resume(&d, 1, &a, session, id);
    has(a.text, ANSWER);
    client_close(&d, &a);

    cluster_says = MCP_OK;
    client_resume(&d, 1, &a, session, last);
    answered(&a, 204, NULL);

    d.process[1].worker->cluster = NULL;
}


RUN_TESTS(setup, teardown)
