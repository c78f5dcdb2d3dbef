/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_repair_link.c: lists that a repair has rebuilt. */


#include "store_fixture.h"


/* An iteration over a session's streams that do not linger finds each of these
 * streams, although a repair has moved the last found one to the list of
 * lingering streams. */
static void
test_walk(void **state)
{
    int                taken, n;
    unsigned           i;
    uint64_t           position;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref[5];
    mcp_stream_info_t  info;
    mcp_stream_spec_t  spec;

    (void) state;

    for (i = 0; i < 5; i++) {
        store_spec(&spec, i, 1);
        store_create(&d, 0, &spec, &ref[i]);
    }

    mcp_store_watch(S1, &ref[4], 1, 0, &cursor, &taken);
    mcp_store_set_state(S0, &ref[4], MCP_STATE_COMPLETED, 0);

    position = 0;
    assert_int_equal(mcp_store_session_next(S0, spec.session, 0, &position,
                                            &info, NULL), MCP_OK);
    assert_int_equal(info.ref.index, ref[4].index);

    /* the state that a process leaves if it is killed directly after it has
     * detached the consumer */

    mcp_store_stream(S0->head, ref[4].index)->consumer_slot =
        MCP_STORE_NO_SLOT;
    d.died = 1;

    for (n = 0; mcp_store_session_next(S0, spec.session, 0, &position, &info,
                                       NULL) == MCP_OK; n++)
    {
        /* void */
    }

    assert_int_equal(n, 4);
    store_sound(&d);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        store_test(test_walk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
