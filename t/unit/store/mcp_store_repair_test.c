/* SPDX-License-Identifier: Apache-2.0 */

/*
 * mcp_store_repair.c: repairs that need no crash; for crashes see
 * mcp_store_step_test.c.
 */


#include "store_fixture.h"


/* The holder of the lock has died, but the lock does not report that: the
 * store detects it by head->holder, which is still set. */
static void
test_holder(void **state)
{
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    store_spec(&spec, 1, 1);
    store_create(&d, 0, &spec, &ref);
    S0->head->holder = 2;
    S0->head->free = 12345;
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(store_counter(&d, MCP_COUNT_REPAIRS), 1);
    store_sound(&d);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        store_test(test_holder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
