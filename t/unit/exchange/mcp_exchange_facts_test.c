/* SPDX-License-Identifier: Apache-2.0 */

/* What logs are told of a request. */

#include "core_cases.h"


/* Whoever checked that name did not: nobody is called so. */
static void
test_principal_with_control(void **state)
{
    static const char *const  who[] = { "bob\r\nMcp-Principal", "a\x7f",
                                        "\t" };

    size_t  i;

    (void) state;

    for (i = 0; i < ITEMS(who); i++) {
        client_post_as(&d, 1, &a, session, who[i], PING);
        assert_int_equal(a.status, 403);
        has(a.text, "Forbidden");
        fact_is(mcp_exchange_facts(a.x), MCP_FACT_PRINCIPAL, "?");
        client_close(&d, &a);

        client_init(&a, session);
        a.principal = who[i];
        client_send(&d, 1, &a, "DELETE", "");
        assert_int_equal(a.status, 403);
        client_close(&d, &a);
    }

    ask(session, PING, 200, PONG);
}


static void
test_facts(void **state)
{
    mcp_job_t          *job;
    const mcp_facts_t  *facts;

    (void) state;

    client_post(&d, 0, &a, session, PING);
    facts = mcp_exchange_facts(a.x);
    fact_is(facts, MCP_FACT_METHOD, "ping");
    fact_is(facts, MCP_FACT_REQUEST_ID, "1");
    fact_is(facts, MCP_FACT_PROTOCOL_VERSION, NEW);
    fact_is(facts, MCP_FACT_OUTCOME, "ok");
    fact_is(facts, MCP_FACT_CALL, "");
    assert_int_equal(facts->value[MCP_FACT_SESSION].len, 8);
    assert_int_equal(facts->value[MCP_FACT_SESSION_ID].len, 22);
    client_close(&d, &a);

    client_post(&d, 0, &a, "nonsense", PING);
    facts = mcp_exchange_facts(a.x);
    fact_is(facts, MCP_FACT_OUTCOME, "error");
    fact_is(facts, MCP_FACT_SESSION, "");
    client_close(&d, &a);

    job = call(0);
    facts = mcp_exchange_facts(a.x);
    fact_is(facts, MCP_FACT_OUTCOME, "pending");
    fact_is(facts, MCP_FACT_NAME, "echo");
    assert_int_equal(facts->value[MCP_FACT_CALL].len, 8);
    assert_memory_equal(facts->value[MCP_FACT_CALL].data,
                        job->facts.value[MCP_FACT_CALL].data, 8);
    backend_say(&d, job, PROGRESS(1) "\n" PROGRESS(2) "\n");
    facts = mcp_exchange_facts(a.x);
    fact_is(facts, MCP_FACT_OUTCOME, "stream");
    fact_is(facts, MCP_FACT_EVENTS, "2");
    fact_is(facts, MCP_FACT_FACE, "polling");
    fact_is(facts, MCP_FACT_RESUMED, "");
    backend_say(&d, job, RESULT "\n");
    fact_is(mcp_exchange_facts(a.x), MCP_FACT_OUTCOME, "complete");
    backend_end(&d, job, MCP_FAULT_NONE);
    fact_is(mcp_exchange_facts(a.x), MCP_FACT_EVENTS, "3");
    client_close(&d, &a);
    quiet();
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        test(test_principal_with_control),
        test(test_facts)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
