/* SPDX-License-Identifier: Apache-2.0 */

/* The tenant of a request, which depends on its principal or its address. */


#include "test_env.h"

#include "config/mcp_tenant.h"


#define ADDRESS(bytes)  ((mcp_str_t) { bytes, sizeof(bytes) - 1 })

#define V4       ADDRESS("\xc0\x00\x02\x01")
#define V4_NEXT  ADDRESS("\xc0\x00\x02\x02")
#define MAPPED   ADDRESS("\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\x00\x02\x01")
#define V6       ADDRESS("\x20\x01\x0d\xb8\0\x01\0\x02\0\0\0\0\0\0\0\x01")
#define V6_SAME  ADDRESS("\x20\x01\x0d\xb8\0\x01\0\x02\xff\0\x01\x02\x03\x04\x05\x06")
#define V6_NEXT  ADDRESS("\x20\x01\x0d\xb8\0\x01\0\x03\0\0\0\0\0\0\0\x01")
#define LOCAL6   ADDRESS("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01")


static mcp_endpoint_t  e;

static const unsigned char  nobody[MCP_DIGEST_LEN];
static const unsigned char  alice[MCP_DIGEST_LEN] = "the digest of a";
static const unsigned char  bob[MCP_DIGEST_LEN] = "the digest of b";


static int
same(const unsigned char *p, mcp_str_t at, const unsigned char *q,
    mcp_str_t other)
{
    unsigned char  a[MCP_DIGEST_LEN], b[MCP_DIGEST_LEN];

    mcp_tenant_id(&e, p, at, a);
    mcp_tenant_id(&e, q, other, b);

    return memcmp(a, b, MCP_DIGEST_LEN) == 0;
}


static int
is_nobody(const unsigned char *p, mcp_str_t at)
{
    unsigned char  id[MCP_DIGEST_LEN];

    mcp_tenant_id(&e, p, at, id);

    return memcmp(id, nobody, MCP_DIGEST_LEN) == 0;
}


/* Two requests; "same" is 1 if they have the same tenant. */
typedef struct {
    const unsigned char  *principal[2];
    mcp_str_t             address[2];
    int                   same;
} pair_t;


static void
expect_pairs(mcp_quota_key_e by, const pair_t *pairs, size_t n)
{
    size_t  i;

    e.quota_key = by;

    for (i = 0; i < n; i++) {
        if (same(pairs[i].principal[0], pairs[i].address[0],
                 pairs[i].principal[1], pairs[i].address[1])
            != pairs[i].same)
        {
            fail_msg("pair %zu", i);
        }
    }
}


TEST(mcp_quota_key_is_principal__requests_of_a_principal_share_a_tenant)
{
    const pair_t  pairs[] = {
        { { alice, alice }, { V4, V6 }, 1 },
        { { alice, bob }, { V4, V4 }, 0 },
        { { alice, nobody }, { V4, V4 }, 0 },
        { { nobody, nobody }, { V4, V4 }, 1 },
        { { nobody, nobody }, { V4, V4_NEXT }, 0 },
    };

    expect_pairs(MCP_QUOTA_KEY_PRINCIPAL, pairs,
                 sizeof(pairs) / sizeof(pairs[0]));
}


TEST(mcp_quota_key_is_address__requests_of_an_address_share_a_tenant)
{
    const pair_t  pairs[] = {
        { { alice, bob }, { V4, V4 }, 1 },
        { { alice, alice }, { V4, V4_NEXT }, 0 },
        { { alice, alice }, { V4, MAPPED }, 1 },
        { { alice, alice }, { V6, V6_SAME }, 1 },
        { { alice, alice }, { V6, V6_NEXT }, 0 },

        /* all requests without an address have one tenant, which differs from
         * that of any address */

        { { nobody, alice }, { mcp_null_str, mcp_null_str }, 1 },
        { { nobody, nobody }, { mcp_null_str, V4 }, 0 },
        { { nobody, nobody }, { LOCAL6, mcp_null_str }, 0 },
    };

    expect_pairs(MCP_QUOTA_KEY_ADDRESS, pairs,
                 sizeof(pairs) / sizeof(pairs[0]));

    assert_false(is_nobody(nobody, mcp_null_str));
    assert_false(is_nobody(nobody, V4));
    assert_false(is_nobody(nobody, LOCAL6));
}


TEST(mcp_quota_key_is_off__requests_belong_to_no_tenant)
{
    e.quota_key = MCP_QUOTA_KEY_OFF;

    assert_true(is_nobody(alice, V4));
    assert_true(is_nobody(nobody, V6));
}


/* The tenant of an IPv6 address is a part of the tenant of its /56, which is a
 * part of the tenant of its /48. All other tenants are independent. */
TEST(tenant_of_an_ipv6_address_has_parents__its_slash_56_and_then_its_slash_48)
{
    size_t               i;
    unsigned             level;
    unsigned char        id[MCP_DIGEST_LEN], other[MCP_DIGEST_LEN];
    const mcp_str_t      none[] = { V4, MAPPED, mcp_null_str };
    const unsigned char  address[16] = { 0x20, 1, 0xd, 0xb8, 1, 2, 3, 4, 5 };
    const unsigned char  other_net[16] = { 0x20, 1, 0xd, 0xb8, 1, 2, 3, 9, 5 };
    const unsigned char  far[16] = { 0x20, 1, 0xd, 0xb8, 1, 2, 9, 4, 5 };

    e.quota_key = MCP_QUOTA_KEY_ADDRESS;

    for (i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        mcp_tenant_id(&e, nobody, none[i], id);
        assert_false(mcp_tenant_parent(id, other));
    }

    assert_false(mcp_tenant_parent(alice, other));
    assert_false(mcp_tenant_parent(nobody, other));

    mcp_tenant_id(&e, nobody, (mcp_str_t) { (const char *) address, 16 }, id);
    mcp_tenant_id(&e, nobody, (mcp_str_t) { (const char *) other_net, 16 },
                  other);
    assert_memory_not_equal(id, other, MCP_DIGEST_LEN);
    assert_true(mcp_tenant_parent(id, id) && mcp_tenant_parent(other, other));
    assert_memory_equal(id, other, MCP_DIGEST_LEN);

    mcp_tenant_id(&e, nobody, (mcp_str_t) { (const char *) far, 16 }, other);
    assert_true(mcp_tenant_parent(other, other));
    assert_memory_not_equal(id, other, MCP_DIGEST_LEN);
    assert_true(mcp_tenant_parent(id, id) && mcp_tenant_parent(other, other));
    assert_memory_equal(id, other, MCP_DIGEST_LEN);

    for (level = MCP_TENANT_LEVELS; level < 255; level++) {
        assert_false(mcp_tenant_parent(id, other));
        id[MCP_DIGEST_LEN - 1] = (unsigned char) level;
    }
}


TEST(tenant_has_the_quotas_of_its_endpoint)
{
    mcp_tenant_t  tenant;

    e.quota_streams = 1;
    e.quota_listeners = 2;
    e.quota_values = MCP_QUOTA_OFF;
    e.quota_bytes = MCP_QUOTA_SHARE;

    mcp_tenant(&e, alice, &tenant);
    assert_memory_equal(tenant.id, alice, MCP_DIGEST_LEN);
    assert_int_equal(tenant.streams, 1);
    assert_int_equal(tenant.listeners, 2);
    assert_true(tenant.values == MCP_QUOTA_OFF);
    assert_int_equal(tenant.bytes, MCP_QUOTA_SHARE);
}


RUN_TESTS(NULL, NULL)
