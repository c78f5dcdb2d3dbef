/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_create.c: limits of the streams of a session and of a tenant. */


#include "store_fixture.h"


static void
test_crowd(void **state)
{
    unsigned           i;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref[4];
    mcp_stream_spec_t  spec;
    int                taken;

    (void) state;

    for (i = 0; i < 3; i++) {
        store_spec(&spec, i, 1);
        spec.session_limit = 3;
        memset(spec.tenant.id, 8, MCP_DIGEST_LEN);
        store_create(&d, 0, &spec, &ref[i]);
    }

    store_spec(&spec, 9, 1);
    spec.session_limit = 3;
    assert_int_equal(mcp_store_create(S0, &spec, 1, &ref[3]), MCP_ERR_LIMIT);
    memset(spec.session, 9, MCP_DIGEST_LEN);
    assert_int_equal(mcp_store_create(S0, &spec, 1, &ref[3]), MCP_OK);
    mcp_store_free(S0, &ref[3]);

    memset(spec.tenant.id, 8, MCP_DIGEST_LEN);
    spec.tenant.streams = 3;
    assert_int_equal(mcp_store_create(S0, &spec, 1, &ref[3]), MCP_ERR_LIMIT);

    /* a stream without a session and a tenant: no limit applies */
    memset(spec.tenant.id, 0, MCP_DIGEST_LEN);
    memset(spec.session, 0, MCP_DIGEST_LEN);
    assert_int_equal(mcp_store_create(S0, &spec, 1, &ref[3]), MCP_OK);
    mcp_store_free(S0, &ref[3]);

    /* a lingering stream does not count towards the limits */

    store_spec(&spec, 9, 1);
    spec.session_limit = 3;
    memset(spec.tenant.id, 8, MCP_DIGEST_LEN);
    spec.tenant.streams = 3;
    assert_int_equal(store_append(&d, 0, &ref[1], mcp_str("{}"), 0,
                               MCP_STATE_COMPLETED), MCP_OK);
    assert_int_equal(mcp_store_create(S0, &spec, 1, &ref[3]), MCP_ERR_LIMIT);
    assert_int_equal(mcp_store_watch(S1, &ref[1], 5, 0, &cursor, &taken),
                     MCP_OK);
    mcp_store_unwatch(S1, &ref[1], 5, 1, 3);
    assert_int_equal(mcp_store_create(S0, &spec, 1, &ref[3]), MCP_OK);

    /* a lingering stream gets a consumer: it counts towards the limits
     * again */

    store_spec(&spec, 10, 1);
    spec.session_limit = 4;
    assert_int_equal(mcp_store_watch(S1, &ref[1], 5, 0, &cursor, &taken),
                     MCP_OK);
    assert_int_equal(mcp_store_create(S0, &spec, 1, &ref[3]), MCP_ERR_LIMIT);
    mcp_store_unwatch(S1, &ref[1], 5, 1, 3);
    assert_int_equal(mcp_store_create(S0, &spec, 1, &ref[3]), MCP_OK);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        store_test(test_crowd),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
