/* SPDX-License-Identifier: Apache-2.0 */

/* Responses: headers, status, JSON, faults. */

#include "core_cases.h"

#include "worker/mcp_respond.h"


static mcp_exchange_t *
waiting(void)
{
    mcp_exchange_t  *x;

    x = mcp_exchange_create(d.process[0].worker, &d.endpoint, NULL);
    assert_non_null(x);

    return x;
}


/* A response gets more headers than MCP_RESPONSE_HEADERS: the surplus headers
 * are left out. */
TEST(response_has_too_many_headers__the_surplus_is_left_out)
{
    size_t           i;
    mcp_exchange_t  *x;

    x = waiting();

    for (i = 0; i < MCP_RESPONSE_HEADERS + 2; i++) {
        mcp_respond_header(x, mcp_str("X-Name"), mcp_str("value"));
    }

    assert_int_equal(mcp_exchange_response(x)->n_headers, MCP_RESPONSE_HEADERS);
    mcp_exchange_free(x);
}


/* The response to a request that was rejected only for the time being has a
 * Retry-After header. */
TEST(only_temporary_rejections_have_a_retry_after_header)
{
    static const struct {
        mcp_fault_e    fault;
        const char    *after;
        mcp_counter_e  counter;
    } cases[] = {
        { MCP_FAULT_STORE_FULL, "5", MCP_COUNT_REFUSED_FULL },
        { MCP_FAULT_CALL_EARLY, "1", MCP_COUNT_ERRORS },
        { MCP_FAULT_TOO_MANY_STREAMS, NULL, MCP_COUNT_REJECTED_LIMIT },
        { MCP_FAULT_TOO_MANY_VALUES, NULL, MCP_COUNT_REJECTED_LIMIT },
        { MCP_FAULT_ORIGIN, NULL, MCP_COUNT_ERRORS }
    };

    size_t                 i;
    int64_t                before;
    mcp_exchange_t        *x;
    const mcp_response_t  *r;

    for (i = 0; i < ITEMS(cases); i++) {
        x = waiting();
        before = stats().counter[cases[i].counter];

        assert_int_equal(mcp_respond_fault(x, cases[i].fault, mcp_null_str,
                                           mcp_null_str),
                         MCP_NEXT_RESPOND);

        r = mcp_exchange_response(x);
        assert_int_equal(r->status, mcp_fault(cases[i].fault)->session.status);
        assert_true(r->body.len > 0);
        assert_int_equal(r->n_headers, cases[i].after != NULL);

        if (cases[i].after) {
            assert_str_is(r->headers[0].name, "Retry-After");
            assert_str_is(r->headers[0].value, cases[i].after);
        }

        assert_int_equal(stats().counter[cases[i].counter] - before, 1);
        mcp_exchange_free(x);
    }
}


TEST(memory_runs_out_for_an_error_response__a_status_can_still_be_sent)
{
    mcp_exchange_t  *x;

    x = waiting();
    d.te.tm.fail_at = 1;
    assert_int_equal(mcp_respond_fault(x, MCP_FAULT_ORIGIN, mcp_null_str,
                                       mcp_null_str),
                     MCP_NEXT_ERROR);
    d.te.tm.fail_at = 0;

    assert_int_equal(mcp_respond_status(x, 204), MCP_NEXT_RESPOND);
    assert_int_equal(mcp_exchange_response(x)->status, 204);
    assert_int_equal(mcp_exchange_response(x)->body.len, 0);
    mcp_exchange_free(x);
}


static void
get(const char *origin, const char *of, const char *who, int status)
{
    client_init(&b, of);

    if (origin) {
        client_header(&b, "Origin", origin);
    }

    b.principal = who;
    client_send(&d, 0, &b, "GET", "");
    answered(&b, status, NULL);
}


TEST(log_has_the_reason_for_each_rejected_request)
{
    get("http://evil.example", session, NULL, 403);
    has(d.te.info, "refused with 403: Forbidden: Origin not allowed: "
                   "\"http://evil.example\": the origin is neither the "
                   "origin of the endpoint nor listed");

    get(NULL, "nonsense", NULL, 404);
    has(d.te.info, "404: Session not found: the session id was not signed");
    has_not(d.te.info, "nonsense");

    get(NULL, session, "ada", 404);
    has(d.te.info, "the session belongs to another principal");

    get(NULL, session, "a\nb", 403);
    has(d.te.info, "the principal contains control characters");

    end_session(0, session);
    has(d.te.info, "ended by its client, revision 2025-11-25");
    get(NULL, session, NULL, 404);
    has(d.te.info, "the session was ended");

    client_open(&d, session, NEW, ALL);
    has(d.te.info, "began, revision 2025-11-25");
    d.te.now += d.endpoint.session_lifetime + 2000;
    get(NULL, session, NULL, 404);
    has(d.te.info, "the session has expired");
}


/* A logger that does not log level "notice": no message about a rejected
 * request. */
TEST(log_level_is_notice__a_rejected_request_and_a_call_are_not_logged)
{
    unsigned  logged;

    d.te.env.log_level = MCP_LOG_NOTICE;
    logged = d.te.logged;
    get("http://evil.example", session, NULL, 403);
    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, RESULT);
    client_close(&d, &a);
    assert_int_equal(d.te.logged, logged);
}


/* A full zone is logged at the first rejected request, and then once a minute,
 * by any process. */
TEST(full_zone_is_logged_at_once_and_then_at_most_once_a_minute)
{
    int               i;
    unsigned char     key[MCP_DIGEST_LEN] = { 0 };
    mcp_store_t      *store = &d.process[0].store;
    mcp_stream_ref_t  ref;

    d.te.env.zone = mcp_str("tiny");
    hog(&ref);

    while (mcp_store_value_set(store, 'x', key, 1, 0, NULL) == MCP_OK) {
        key[0]++;
    }

    for (i = 0; i < 20; i++) {
        client_post(&d, (unsigned) i % 2, &a, session,
                    "{\"jsonrpc\":\"2.0\",\"id\":7,"
                    "\"method\":\"logging/setLevel\","
                    "\"params\":{\"level\":\"error\"}}");
        answered(&a, 503, NULL);
    }

    has(d.te.last, "zone \"tiny\" is full (requests refused: 1)");

    driver_wait(&d, 58000);
    has(d.te.last, "requests refused: 1");
    driver_wait(&d, 4000);
    has(d.te.last, "zone \"tiny\" is full (requests refused: 19)");

    d.te.last[0] = '\0';
    driver_wait(&d, 120000);
    has_not(d.te.last, "refused");

    while (key[0]-- > 0) {
        mcp_store_value_delete(store, 'x', key);
    }

    mcp_store_free(&d.process[1].store, &ref);
}


RUN_TESTS(setup, teardown)
