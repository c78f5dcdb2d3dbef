/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_quota.c: quotas that are shares of the region, and quotas that
 * operators set to a number. */


#include "store_tenant.h"


#define N  4000


static mcp_stream_ref_t  refs[N];


/* Creates streams of a tenant until one is rejected, and returns their
 * number. */
static unsigned
crowd(unsigned id, mcp_stream_kind_e kind)
{
    int       rc;
    unsigned  n;

    for (n = 0; (rc = make(id, kind, &refs[n])) == MCP_OK; n++) {
        assert_true(n < N - 1);
    }

    assert_int_equal(rc, MCP_ERR_LIMIT);

    return n;
}


/* Ten tenants create as many streams as they can: the next tenant may still
 * create one. */
static void
test_share(void **state)
{
    unsigned           i, n, most, kind;
    mcp_store_stats_t  stats;

    (void) state;

    for (kind = MCP_STREAM_CALL; kind <= MCP_STREAM_LISTEN; kind++) {
        most = N;

        for (i = 1; i <= 10; i++) {
            n = crowd(i, kind);
            assert_true(n >= 2 && n <= most);
            most = n;
            assert_true(admits(i) == MCP_ERR_LIMIT
                        || kind == MCP_STREAM_LISTEN);
            assert_int_equal(admits(i + 1), MCP_OK);
        }

        store_sound(&d);
        d.died = 1;
        mcp_store_stats(S0, &stats);
        store_sound(&d);
        assert_int_equal(make(1, kind, &refs[0]), MCP_ERR_LIMIT);
        assert_int_equal(make(11, kind, &refs[0]), MCP_OK);

        /* the next kind of stream begins with an empty region, because calls
         * and listeners share the room */

        teardown(NULL);
        setup_numbers(NULL);
    }
}


/* A tenant has used its share of bytes: its appends are rejected, and the
 * owner is woken when the tenant has room again. */
static void
test_bytes(void **state)
{
    int                rc;
    unsigned           i, n;
    mcp_stream_ref_t   a, b, more;
    mcp_store_wake_t   wake;
    mcp_store_stats_t  stats;

    (void) state;

    made(1, MCP_STREAM_CALL, &a);
    made(1, MCP_STREAM_CALL, &b);

    for (n = 0; ; n++) {
        rc = store_append(&d, 0, n % 2 ? &a : &b, store_message(n, 460),
                                -1,
                       MCP_STATE_PROCESSING);
        if (rc != MCP_OK) {
            break;
        }
    }

    mcp_store_stats(S0, &stats);
    assert_int_equal(rc, MCP_ERR_FULL);
    assert_true(stats.used > stats.size * 6 / 16);
    assert_true(stats.used <= stats.size * 7 / 16);
    assert_int_equal(admits(1), MCP_ERR_LIMIT);
    assert_int_equal(make(1, MCP_STREAM_CALL, &more), MCP_ERR_LIMIT);

    /* a long message waits for room as well; a message that exceeds the whole
     * quota never gets room */

    assert_int_equal(store_append(&d, 0, &a, store_message(1, 70000), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_FULL);
    assert_int_equal(store_append(&d, 0, &a, store_message(1, 1100000),
                                        -1,
                               MCP_STATE_PROCESSING), MCP_ERR_LARGE);

    /* a short answer may exceed the quota, a long one may not */

    assert_int_equal(store_append(&d, 0, &b, store_message(1, 3000), 0,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(store_append(&d, 0, &b, store_message(1, 30000), 1,
                               MCP_STATE_PROCESSING), MCP_ERR_FULL);

    /* appends of another tenant still succeed, and reduce the share of the
     * first tenant */

    assert_int_equal(admits(2), MCP_OK);
    made(2, MCP_STREAM_CALL, &more);

    for (i = 0; i < 20; i++) {
        assert_int_equal(store_append(&d, 0, &more, store_message(i, 5000), -1,
                                   MCP_STATE_PROCESSING), MCP_OK);
    }

    store_drain(&d, 0, NULL);
    store_drain(&d, 1, NULL);
    mcp_store_free(S1, &more);
    assert_int_equal(store_drain(&d, 0, &wake), 1);    /* the owner of "more"
                                                          is woken because the
                                                          stream was freed, not
                                                          the blocked owner of
                                                          "a" */
    assert_int_equal(wake.ref.index, more.index);

    /* stream "b" of the first tenant is freed: the owner of "a", which belongs
     * to the same tenant, is woken and can append */

    mcp_store_free(S0, &b);
    assert_int_equal(store_drain(&d, 0, &wake), 1);
    assert_int_equal(wake.ref.index, a.index);
    assert_int_equal(store_append(&d, 0, &a, store_message(1, 70000), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(admits(1), MCP_OK);
}


/* Quotas that are numbers. */
static void
test_numbers(void **state)
{
    mcp_stream_ref_t   ref, other;
    mcp_stream_spec_t  spec;

    (void) state;

    store_spec(&spec, ++numbers, 1);
    spec.tenant = tenant(7);
    spec.tenant.streams = MCP_QUOTA_OFF;
    spec.tenant.bytes = 8 * MCP_STORE_CHUNK;
    store_create(&d, 0, &spec, &ref);
    assert_int_equal(store_append(&d, 0, &ref, store_message(1, 2000), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(store_append(&d, 0, &ref, store_message(1, 2000), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_FULL);
    assert_int_equal(store_append(&d, 0, &ref, store_message(1, 9000), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_LARGE);

    store_spec(&spec, ++numbers, 1);
    spec.tenant = tenant(7);
    spec.tenant.streams = 1;
    spec.tenant.bytes = MCP_QUOTA_OFF;
    assert_int_equal(mcp_store_create(S0, &spec, 1, &other), MCP_ERR_LIMIT);
    assert_int_equal(mcp_store_admits(S0, spec.session, 0, &spec.tenant),
                     MCP_ERR_LIMIT);
    spec.tenant.streams = 2;
    assert_int_equal(mcp_store_admits(S0, spec.session, 1, &spec.tenant),
                     MCP_ERR_LIMIT);
    assert_int_equal(mcp_store_admits(S0, spec.session, 2, &spec.tenant),
                     MCP_OK);
    assert_int_equal(mcp_store_create(S0, &spec, 1, &other), MCP_OK);

    store_spec(&spec, ++numbers, 1);
    spec.kind = MCP_STREAM_LISTEN;
    spec.tenant = tenant(7);
    spec.tenant.listeners = 1;
    spec.tenant.bytes = MCP_QUOTA_OFF;
    store_create(&d, 0, &spec, &other);
    store_spec(&spec, ++numbers, 1);
    spec.kind = MCP_STREAM_LISTEN;
    spec.tenant = tenant(7);
    spec.tenant.listeners = 1;
    spec.tenant.bytes = MCP_QUOTA_OFF;
    assert_int_equal(mcp_store_create(S0, &spec, 1, &other), MCP_ERR_LIMIT);
}


/* Ten tenants store as many values as they can: the eleventh may still store
 * one. */
static void
test_values(void **state)
{
    int            rc;
    unsigned       i, n, most;
    mcp_tenant_t   p;
    unsigned char  key[MCP_DIGEST_LEN] = { 9, 9 };

    (void) state;

    most = N;

    for (i = 1; i <= 10; i++) {
        for (n = 0; (rc = keep(i, n)) == MCP_OK; n++) { /* void */ }

        assert_int_equal(rc, MCP_ERR_LIMIT);
        assert_true(n >= 8 && n <= most);
        most = n;
    }

    store_sound(&d);
    d.died = 1;
    store_sound(&d);
    assert_int_equal(keep(5, most + 1000), MCP_ERR_LIMIT);
    assert_int_equal(keep(5, 0), MCP_OK);          /* replaces a value */
    assert_int_equal(keep(11, 0), MCP_OK);

    p = tenant(11);
    p.values = 1;
    assert_int_equal(mcp_store_value_add(S0, 'x', key, 1, 100, 1, &p),
                     MCP_ERR_LIMIT);
    p.values = 2;
    assert_int_equal(mcp_store_value_add(S0, 'x', key, 1, 100, 1, &p),
                     MCP_OK);
    mcp_store_value_delete(S0, 'x', key);
    p.values = 1;
    assert_int_equal(mcp_store_value_add(S0, 'x', key, 1, 100, 1, &p),
                     MCP_ERR_LIMIT);

    /* values without a tenant can use all the remaining room */

    for (n = 0; (rc = keep(0, n)) == MCP_OK; n++) { /* void */ }

    assert_int_equal(rc, MCP_ERR_FULL);
    mcp_store_sweep(S0, 100, UINT32_MAX, NULL, NULL);
}


/* --- many tenants --- */

enum { FAMILY4, FAMILY6, FAMILY6_ONE, FAMILIES };

/* Returns a tenant with address i of a family: FAMILY4, IPv4; FAMILY6, IPv6
 * with a /48 for each address; FAMILY6_ONE, IPv6 with one /48 for all
 * addresses. */
static mcp_tenant_t
address(unsigned family, unsigned i)
{
    mcp_tenant_t    p = tenant(1);
    unsigned char   bytes[16] = { 0x20, 1, 0xd, 0xb8 };
    mcp_str_t       text = { (const char *) bytes, 16 };
    mcp_endpoint_t  e = { 0 };
    unsigned char   nobody[MCP_DIGEST_LEN] = { 0 };

    e.quota_key = MCP_QUOTA_KEY_ADDRESS;
    bytes[family == FAMILY6_ONE ? 6 : 4] = (unsigned char) (i >> 8);
    bytes[family == FAMILY6_ONE ? 7 : 5] = (unsigned char) i;

    if (family == FAMILY4) {
        text = (mcp_str_t) { (const char *) bytes + 2, 4 };
    }

    mcp_tenant_id(&e, nobody, text, p.id);

    return p;
}


/* Creates a call of a tenant whose client has disconnected. If "how" is 0, the
 * call is active; 1: it is an active task; 2: it is a finished task. */
static int
leave(const mcp_tenant_t *p, unsigned how, mcp_stream_ref_t *ref)
{
    int                rc;
    mcp_stream_spec_t  spec;

    store_spec(&spec, ++numbers, 1);
    spec.tenant = *p;
    memset(spec.principal, 0, MCP_DIGEST_LEN);
    spec.left = 1;
    rc = mcp_store_create(S0, &spec, 1, ref);

    if (rc == MCP_OK && how > 0) {
        assert_int_equal(mcp_store_keep(S0, ref, 3600000, 1), MCP_OK);
    }

    if (rc == MCP_OK && how > 1) {
        rc = store_append(&d, 0, ref, store_message(1, 100), 0,
                       MCP_STATE_COMPLETED);
    }

    return rc;
}


/* Up to 4096 tenants create as many streams as they can: calls of a new tenant
 * are still admitted, and its first stream is created in place of an evicted
 * one. */
static void
test_newcomers(void **state)
{
    unsigned           n, i, how, family;
    mcp_tenant_t       p;
    mcp_stream_ref_t   ref;

    (void) state;

    for (family = 0; family < FAMILIES; family++) {
        for (n = 64; n <= 4096; n *= 8) {
            for (how = 0; how < 3; how++) {
                for (i = 0; i < n; i++) {
                    p = address(family, i);

                    while (leave(&p, how, &ref) == MCP_OK) {
                        store_drain(&d, 0, NULL);
                    }

                    store_drain(&d, 0, NULL);
                }

                for (i = 0; i < 8; i++) {
                    p = address(i % 2 ? FAMILY4 : FAMILY6, 60000 + i);
                    assert_int_equal(mcp_store_admits(S0, p.id, 0, &p), MCP_OK);
                    assert_int_equal(leave(&p, i % 3, &ref), MCP_OK);
                    assert_true(there(&ref));
                }

                store_sound(&d);
                d.died = (how == 1);
                store_sound(&d);
                teardown(NULL);
                setup_numbers(NULL);
            }
        }
    }
}


/* Creates an active call with a client. */
static int
make_of(const mcp_tenant_t *p)
{
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    store_spec(&spec, ++numbers, 1);
    spec.tenant = *p;

    return mcp_store_create(S0, &spec, 1, &ref);
}


/* Creates streams for each of n addresses until the store rejects the next
 * stream for the address. Returns the number of created streams. */
static unsigned
networks(unsigned family, unsigned from, unsigned n)
{
    unsigned      i, all;
    mcp_tenant_t  p;

    for (i = 0, all = 0; i < n; i++) {
        p = address(family, from + i);

        while (make_of(&p) == MCP_OK) {
            all++;
        }
    }

    return all;
}


/* In an empty region, a /64 gets half of the calls, its /56 gets two thirds,
 * and its /48 gets four fifths. */
static void
test_networks(void **state)
{
    unsigned  all, one, some, most;

    (void) state;

    all = S0->head->chunks / MCP_STORE_CALLS;
    all -= all / MCP_STORE_LAST;

    one = networks(FAMILY6_ONE, 0, 1);
    some = one + networks(FAMILY6_ONE, 1, 255);
    most = some + networks(FAMILY6_ONE, 256, 4 * 256);

    assert_in_range(one, all / 2 - 1, all / 2);
    assert_in_range(some, all * 2 / 3 - 2, all * 2 / 3);
    assert_in_range(most, all * 4 / 5 - 4, all * 4 / 5);
    store_sound(&d);
    d.died = 1;
    store_sound(&d);
    assert_int_equal(networks(FAMILY6_ONE, 0, 2000), 0);
    assert_true(networks(FAMILY6, 1, 1) >= all / 5 / 2 - 2);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        tenant_test(test_share),
        tenant_test(test_bytes),
        tenant_test(test_numbers),
        tenant_test(test_values),
        tenant_test(test_newcomers),
        tenant_test(test_networks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
