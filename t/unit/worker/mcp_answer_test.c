/* SPDX-License-Identifier: Apache-2.0 */

/* Responses: headers, status, JSON, faults. */

#include "core_cases.h"


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
static void
test_headers(void **state)
{
    size_t           i;
    mcp_exchange_t  *x;

    (void) state;

    x = waiting();

    for (i = 0; i < MCP_RESPONSE_HEADERS + 2; i++) {
        mcp_answer_header(x, mcp_str("X-Name"), mcp_str("value"));
    }

    assert_int_equal(mcp_exchange_response(x)->n_headers,
                     MCP_RESPONSE_HEADERS);
    mcp_exchange_free(x);
}


/* The response to a request that was rejected only for the time being has a
 * Retry-After header. */
static void
test_retry_after(void **state)
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

    (void) state;

    for (i = 0; i < ITEMS(cases); i++) {
        x = waiting();
        before = stats().counter[cases[i].counter];

        assert_int_equal(mcp_answer_fault(x, cases[i].fault, mcp_null_str,
                                          mcp_null_str),
                         MCP_OK);

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


static void
test_no_memory(void **state)
{
    mcp_exchange_t  *x;

    (void) state;

    x = waiting();
    d.te.tm.fail_at = 1;
    assert_int_equal(mcp_answer_fault(x, MCP_FAULT_ORIGIN, mcp_null_str,
                                      mcp_null_str),
                     MCP_ERR_MEMORY);
    d.te.tm.fail_at = 0;

    assert_int_equal(mcp_answer_status(x, 204), MCP_OK);
    assert_int_equal(mcp_exchange_response(x)->status, 204);
    assert_int_equal(mcp_exchange_response(x)->body.len, 0);
    mcp_exchange_free(x);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        test(test_headers),
        test(test_retry_after),
        test(test_no_memory)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
