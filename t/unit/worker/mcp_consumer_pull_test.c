/* SPDX-License-Identifier: Apache-2.0 */

/* The bytes that a consumer writes: those at the start of a stream, parts of
 * events, comments, and those at its end. */

#include "core_cases.h"


/* The first bytes of a new and of a resumed stream, by revision. */
TEST(first_bytes_of_a_stream_depend_on_the_revision)
{
    static const struct {
        const char  *revision;
        int          priming;
    } cases[] = { { NEW, 1 }, { MIDDLE, 0 }, { OLD, 0 } };

    size_t                  i;
    char                    id[64], own[MCP_SESSION_TEXT_MAX], first[128];
    mcp_backend_request_t  *breq;

    for (i = 0; i < ITEMS(cases); i++) {
        client_open(&d, own, cases[i].revision, ALL);

        client_post(&d, 0, &a, own, CALL);
        breq = backend_stream(&d, 0);
        backend_send(&d, breq, PROGRESS(1) "\n");
        leave_with_last_id(&a, id);

        if (cases[i].priming) {
            assert_memory_equal(a.text, "id: ", 4);
            assert_memory_equal(a.text + 4, id, 22);
            assert_memory_equal(a.text + 26, ".0\nretry: 2000\ndata: \n\nid: ",
                                27);
            snprintf(first, sizeof(first),
                     "id: %s\nretry: 2000\ndata: \n\n", id);

        } else {
            strcpy(first, ":\n\n");
            assert_memory_equal(a.text, ":\n\nid: ", 7);
            has_not(a.text, "data: \n");
            has_not(a.text, "retry:");
        }

        client_resume(&d, 1, &b, own, id);
        assert_string_equal(b.text, first);
        end_with_result(breq);
        has(b.text, ".2\ndata: " ANSWER "\n\n");
        assert_int_equal(b.ended, 1);
        client_close(&d, &b);
        quiet();
    }
}


/* Comments are written when there are no events for the keepalive time. They
 * do not change the cursor of the client. */
TEST(no_event_within_mcp_keepalive__a_comment_is_sent)
{
    char                    id[64], before[64];
    mcp_backend_request_t  *breq;

    breq = call_with_progress(0);
    client_last_id(&a, before);

    driver_wait(&d, 14000);
    assert_int_equal(count(a.text, "\n:\n"), 0);
    driver_wait(&d, 2000);
    assert_int_equal(count(a.text, "\n:\n"), 1);

    /* an event restarts the keepalive time */

    driver_wait(&d, 10000);
    backend_send(&d, breq, PROGRESS(2) "\n");
    driver_wait(&d, 3000);
    assert_int_equal(count(a.text, "\n:\n"), 1);

    client_close(&d, &a);
    client_resume(&d, 1, &a, session, before);
    backend_send(&d, breq, PROGRESS(3) "\n");
    client_last_id(&a, id);
    assert_string_equal(id + 22, ".3");
    has(a.text, ".2\ndata: " PROGRESS(2));
    end_with_result(breq);
    client_close(&d, &a);
    quiet();

    d.endpoint.keepalive = 0;
    client_resume(&d, 0, &a, session, NULL);
    driver_wait(&d, 100000);
    assert_int_equal(count(a.text, "\n:\n"), 0);
}


/* The buffers of pulls are smaller than an event: the event is written in
 * parts. */
TEST(event_is_larger_than_the_pull_buffer__it_is_written_completely)
{
    char                    said[8000], id[64];
    mcp_backend_request_t  *breq;

    snprintf(said, sizeof(said),
             NOTE("notifications/progress", "{\"progressToken\":\"t\","
                  "\"progress\":1,\"message\":\"%07000d\"}") "\n", 5);

    client_init(&a, session);
    a.cap = MCP_PULL_MIN;
    client_send(&d, 0, &a, "POST", CALL);
    breq = backend_stream(&d, 0);
    backend_send(&d, breq, said);
    said[strlen(said) - 1] = '\0';
    has(a.text, said);
    client_last_id(&a, id);
    assert_string_equal(id + 22, ".1");

    /* the keepalive time passes while an event is written in part: no comment,
     * because it would break the event */

    a.slow = 1;
    said[strlen(said)] = '\n';
    backend_send(&d, breq, said);
    assert_ok(client_pull(&a));
    driver_wait(&d, 20000);
    a.slow = 0;
    driver_pull(&a);
    said[strlen(said) - 1] = '\0';
    assert_int_equal(count(a.text, said), 2);

    end_with_result(breq);
    assert_int_equal(a.ended, 1);
}


/* Several connections resume the same stream: only the newest one gets later
 * events. */
TEST(stream_is_resumed_several_times__the_newest_connection_gets_events)
{
    int                     i;
    char                    id[64], retry[32];
    client_t               *c;
    mcp_backend_request_t  *breq;

    c = calloc(6, sizeof(client_t));
    assert_non_null(c);

    breq = call_with_progress(0);
    client_last_id(&a, id);

    for (i = 0; i < 6; i++) {
        client_resume(&d, i % 2, &c[i], session, id);
        assert_int_equal(c[i].ended, 0);

        if (i) {
            assert_int_equal(c[i - 1].ended, 1);
            snprintf(retry, sizeof(retry), "\n\nretry: %d\n\n",
                     i < 4 ? 2000 << i : 30000);
            has(c[i - 1].text + c[i - 1].len - strlen(retry), retry);
            variable_is(mcp_exchange_variables(c[i - 1].x),
                        MCP_VARIABLE_OUTCOME,
                    "taken-over");
        }
    }

    assert_int_equal(a.ended, 1);
    assert_int_equal(stats().counter[MCP_COUNT_TAKEOVERS], 6);
    assert_int_equal(stats().counter[MCP_COUNT_RESUMES], 6);

    /* the displaced connections close: the newest one continues */

    for (i = 0; i < 5; i++) {
        client_close(&d, &c[i]);
    }

    client_close(&d, &a);

    end_with(breq, PROGRESS(2) "\n" RESULT "\n");
    has(c[5].text, PROGRESS(2));
    has(c[5].text, ANSWER);

    for (i = 0; i < 5; i++) {
        has_not(c[i].text, "data: {");
    }

    client_close(&d, &c[5]);
    free(c);
}


static uint64_t
sent(const mcp_stream_ref_t *ref)
{
    mcp_stream_info_t  info;

    assert_ok(mcp_store_info(&d.process[0].store, ref, &info));

    return info.sent_seq;
}


/* A consumer reports sent events at its next pull; the core requests no
 * additional pull for the report. */
TEST(sent_events_are_reported_to_the_store_at_the_next_pull_or_at_disconnection)
{
    mcp_backend_request_t  *breq;
    mcp_stream_ref_t        ref;

    breq = call_with_progress(0);
    ref = breq->call->ref;
    has(a.text, PROGRESS(1));
    backend_send(&d, breq, PROGRESS(2) "\n");
    has(a.text, PROGRESS(2));
    assert_int_equal(sent(&ref), 1);

    driver_wait(&d, 16000);
    assert_int_equal(count(a.text, "\n:\n"), 1);
    assert_int_equal(sent(&ref), 2);

    backend_send(&d, breq, PROGRESS(3) "\n");
    assert_int_equal(sent(&ref), 2);
    client_close(&d, &a);
    assert_int_equal(sent(&ref), 3);

    end_with_result(breq);
}


RUN_TESTS(setup, teardown)
