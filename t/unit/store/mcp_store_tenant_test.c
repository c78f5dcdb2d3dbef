/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_tenant.c: values that are pushed. At the quota, a pushed value
 * replaces the tenant's oldest pushed value; a value that is set is
 * rejected. */


#include "store_tenant.h"


static int
push(unsigned id, unsigned n, uint64_t values)
{
    mcp_tenant_t   p = tenant(id);
    unsigned char  key[MCP_DIGEST_LEN] = { 0 };

    p.values = values;
    key[0] = (unsigned char) id;
    memcpy(key + 4, &n, sizeof(n));

    return mcp_store_value_push(S0, 'd', key, 1, 100 + n, &p);
}


static int
kept(unsigned id, unsigned n)
{
    uint32_t       value;
    unsigned char  key[MCP_DIGEST_LEN] = { 0 };

    key[0] = (unsigned char) id;
    memcpy(key + 4, &n, sizeof(n));

    return mcp_store_value_get(S0, 'd', key, 0, &value) == MCP_OK;
}


/* A pushed value always has room: at the quota, the tenant's oldest pushed
 * value is removed. */
TEST(tenant_at_its_quota_pushes_a_value__its_oldest_pushed_value_is_removed)
{
    unsigned       n;
    unsigned char  key[MCP_DIGEST_LEN] = { 3 };

    /* a value that was set is never replaced, and the first pushed value is
     * accepted even at the quota */

    assert_ok(keep(1, 0));
    assert_ok(push(1, 1, 1));
    assert_ok(push(1, 2, 1));
    assert_true(kept(1, 0) && !kept(1, 1) && kept(1, 2));

    for (n = 0; n < 3; n++) {
        assert_ok(push(2, n, 4));
        assert_ok(push(3, n, 3));
    }

    /* a value is pushed again: it remains the oldest */

    assert_ok(push(3, 0, 3));
    store_sound(&d);

    assert_ok(push(3, 3, 3));
    assert_true(!kept(3, 0) && kept(3, 1) && kept(3, 2) && kept(3, 3));

    /* delete a value in the middle of the ring, and the newest one */

    memcpy(key + 4, &(unsigned) { 2 }, sizeof(n));
    mcp_store_value_delete(S0, 'd', key);
    memcpy(key + 4, &(unsigned) { 3 }, sizeof(n));
    mcp_store_value_delete(S0, 'd', key);
    store_sound(&d);

    assert_ok(push(3, 4, 3));
    assert_ok(push(3, 5, 3));
    assert_ok(push(3, 6, 3));
    assert_true(!kept(3, 1) && kept(3, 4) && kept(3, 5) && kept(3, 6));
    assert_true(kept(2, 0) && kept(2, 1) && kept(2, 2));

    /* a repair does not keep the order of the ring: the next pushed value
     * replaces any of the older ones */

    store_repair(&d);
    assert_ok(push(3, 7, 3));
    assert_true(kept(3, 4) + kept(3, 5) + kept(3, 6) == 2 && kept(3, 7));

    /* expired values leave the ring */

    mcp_store_sweep(S0, 105, UINT32_MAX, NULL, NULL);
    assert_true(!kept(2, 0) && !kept(3, 4) && !kept(3, 5) && kept(3, 7));
    store_sound(&d);
    assert_ok(push(3, 8, 1));
    store_sound(&d);
}


/* The region is full of values: a pushed value replaces an older pushed
 * one. */
TEST(zone_is_full__a_pushed_value_replaces_an_older_pushed_value)
{
    unsigned  n;

    quota = MCP_QUOTA_OFF;

    assert_ok(push(1, 0, MCP_QUOTA_OFF));

    for (n = 0; keep(0, n) == MCP_OK; n++) { /* void */ }

    assert_ok(push(1, 1, MCP_QUOTA_OFF));
    assert_true(!kept(1, 0) && kept(1, 1));

    /* the tenant has no pushed value: its first one replaces the oldest pushed
     * value of another tenant */

    assert_ok(push(2, 0, MCP_QUOTA_OFF));
    assert_true(!kept(1, 1) && kept(2, 0));
    store_repair(&d);
    assert_ok(push(3, 0, MCP_QUOTA_OFF));
    assert_true(!kept(2, 0) && kept(3, 0));

    mcp_store_value_delete(S0, 'd', (unsigned char [MCP_DIGEST_LEN]) { 3 });
    assert_ok(keep(0, n));
    assert_int_equal(push(2, 0, MCP_QUOTA_OFF), MCP_ERR_FULL);
    store_sound(&d);
}


/* Each tenant's first pushed value is stored, in place of a value of the
 * tenants with the most values. */
TEST(many_tenants_push_values__each_tenant_keeps_its_newest_value)
{
    unsigned  i, n;

    for (i = 1; i <= 250; i++) {
        for (n = 0; n < 300; n++) {
            assert_ok(push(i, n, MCP_QUOTA_SHARE));
            assert_true(kept(i, n));
        }
    }

    store_sound(&d);

    for (i = 1; i <= 250; i++) {
        assert_true(kept(i, 299));
    }
}


RUN_TESTS(setup_numbers, teardown)
