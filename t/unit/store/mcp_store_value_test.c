/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_value.c: values of all purposes, and their expiry. */


#include "store_fixture.h"


TEST(value_is_found_by_its_purpose_and_key_until_it_expires)
{
    unsigned           i;
    uint32_t           value;
    unsigned char      key[MCP_DIGEST_LEN];
    mcp_store_stats_t  stats;

    memset(key, 0, sizeof(key));

    for (i = 0; i < 500; i++) {
        memcpy(key, &i, sizeof(i));
        assert_ok(mcp_store_value_set(S0, i % 2 ? 'a' : 'b', key, i, i % 5
                                      ? 1000 + i : 0, NULL));
    }

    store_sound(&d);
    mcp_store_stats(S0, &stats);
    assert_int_equal(stats.values, 500);
    assert_int_equal(stats.used, (500 + MCP_STORE_ENTRIES - 1)
                                 / MCP_STORE_ENTRIES * MCP_STORE_CHUNK);

    for (i = 0; i < 500; i++) {
        memcpy(key, &i, sizeof(i));
        assert_int_equal(mcp_store_value_get(S1, i % 2 ? 'b' : 'a', key, 1,
                                             &value), MCP_ERR_NOT_FOUND);
        assert_ok(mcp_store_value_get(S1, i % 2 ? 'a' : 'b', key, 999,
                                      &value));
        assert_int_equal(value, i);
        assert_int_equal(mcp_store_value_get(S1, i % 2 ? 'a' : 'b', key, 1000
                                             + i, &value), i % 5
                         ? MCP_ERR_NOT_FOUND : MCP_OK);
    }

    assert_int_equal(mcp_store_value_get(S1, 'z', key, 1, &value),
                     MCP_ERR_NOT_FOUND);
    mcp_store_value_delete(S1, 'z', key);

    /* mcp_store_value_add() returns MCP_ERR_DENIED until the existing value
     * expires */

    assert_ok(mcp_store_value_set(S0, 'a', key, 7, 50, NULL));
    assert_ok(mcp_store_value_get(S1, 'a', key, 1, &value));
    assert_int_equal(value, 7);
    assert_int_equal(mcp_store_value_add(S0, 'a', key, 8, 50, 49, NULL),
                     MCP_ERR_DENIED);
    assert_ok(mcp_store_value_add(S0, 'a', key, 8, 60, 50, NULL));
    mcp_store_value_delete(S1, 'a', key);
    mcp_store_value_delete(S1, 'a', key);
    assert_int_equal(mcp_store_value_get(S1, 'a', key, 1, &value),
                     MCP_ERR_NOT_FOUND);
    assert_ok(mcp_store_value_add(S0, 'a', key, 8, 60, 1, NULL));

    assert_int_equal(mcp_store_sweep(S0, 1200, UINT32_MAX, NULL, NULL), 161);
    store_sound(&d);
    mcp_store_stats(S0, &stats);
    assert_int_equal(stats.values, 339);

    for (i = 0; i < 500; i++) {
        memcpy(key, &i, sizeof(i));
        mcp_store_value_delete(S1, i % 2 ? 'a' : 'b', key);
    }

    assert_int_equal(store_used(&d), 0);
}


/* Two processes swap the same value: the second one gets the value that the
 * first one has stored. */
TEST(value_is_swapped__the_previous_value_is_returned)
{
    unsigned           i;
    uint32_t           old;
    mcp_tenant_t       tenant;
    unsigned char      key[MCP_DIGEST_LEN];
    mcp_store_stats_t  stats;

    memset(key, 0, sizeof(key));
    memset(&tenant, 0, sizeof(tenant));
    tenant.id[0] = 1;
    tenant.values = 3;

    assert_int_equal(mcp_store_value_swap(S0, 'a', key, 7, &tenant, &old),
                     MCP_ERR_NOT_FOUND);
    assert_ok(mcp_store_value_swap(S0, 'a', key, 8, &tenant, &old));
    assert_int_equal(old, 7);
    assert_ok(mcp_store_value_swap(S1, 'a', key, 8, &tenant, &old));
    assert_int_equal(old, 8);

    /* at the quota, a swapped value replaces the tenant's oldest value */

    for (i = 1; i <= 3; i++) {
        key[0] = (unsigned char) i;
        assert_int_equal(mcp_store_value_swap(S1, 'a', key, i, &tenant, &old),
                         MCP_ERR_NOT_FOUND);
    }

    store_sound(&d);
    mcp_store_stats(S0, &stats);
    assert_int_equal(stats.values, 3);

    key[0] = 0;
    assert_int_equal(mcp_store_value_get(S0, 'a', key, 1, &old),
                     MCP_ERR_NOT_FOUND);

    /* values of the purpose MCP_VALUE_LIST are not in the statistics */

    assert_int_equal(mcp_store_value_swap(S0, MCP_VALUE_LIST, key, 7, NULL,
                                          &old), MCP_ERR_NOT_FOUND);
    mcp_store_stats(S0, &stats);
    assert_int_equal(stats.values, 3);
    store_sound(&d);

    mcp_store_value_delete(S0, MCP_VALUE_LIST, key);

    for (i = 1; i <= 3; i++) {
        key[0] = (unsigned char) i;
        mcp_store_value_delete(S0, 'a', key);
    }

    assert_int_equal(store_used(&d), 0);
}


RUN_TESTS(setup, teardown)
