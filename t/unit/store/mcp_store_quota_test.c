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
TEST(ten_tenants_have_streams_up_to_their_quotas__an_eleventh_tenant_gets_one)
{
    unsigned           i, n, most, kind;
    mcp_store_stats_t  stats;

    for (kind = MCP_STREAM_CALL; kind <= MCP_STREAM_LISTEN; kind++) {
        most = N;

        for (i = 1; i <= 10; i++) {
            n = crowd(i, kind);
            assert_true(n >= 2 && n <= most);
            most = n;
            assert_true(admits(i) == MCP_ERR_LIMIT
                        || kind == MCP_STREAM_LISTEN);
            assert_ok(admits(i + 1));
        }

        store_sound(&d);
        d.died = 1;
        mcp_store_stats(S0, &stats);
        store_sound(&d);
        assert_int_equal(make(1, kind, &refs[0]), MCP_ERR_LIMIT);
        assert_ok(make(11, kind, &refs[0]));

        /* the next kind of stream begins with an empty region, because calls
         * and listeners share the room */

        teardown(NULL);
        setup_numbers(NULL);
    }
}


/* A tenant has used its share of bytes: its appends are rejected, and the
 * owner is woken when the tenant has room again. */
TEST(tenant_has_used_its_share_of_bytes__its_appends_are_rejected)
{
    int                rc;
    unsigned           i, n;
    mcp_stream_ref_t   a, b, more;
    mcp_store_wake_t   wake;
    mcp_store_stats_t  stats;

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

    append_rc(0, &a, store_message(1, 70000), MCP_ERR_FULL);
    append_rc(0, &a, store_message(1, 1100000), MCP_ERR_LARGE);

    /* a short answer may exceed the quota, a long one may not */

    assert_ok(store_append(&d, 0, &b, store_message(1, 3000), 0,
                           MCP_STATE_PROCESSING));
    assert_int_equal(store_append(&d, 0, &b, store_message(1, 30000), 1,
                                  MCP_STATE_PROCESSING), MCP_ERR_FULL);

    /* appends of another tenant still succeed, and reduce the share of the
     * first tenant */

    assert_ok(admits(2));
    made(2, MCP_STREAM_CALL, &more);

    for (i = 0; i < 20; i++) {
        append_ok(0, &more, store_message(i, 5000));
    }

    store_drain_all(&d);
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
    append_ok(0, &a, store_message(1, 70000));
    assert_ok(admits(1));
}


/* Quotas that are numbers. */
TEST(quotas_given_as_absolute_numbers_limit_bytes_and_streams_and_listeners)
{
    mcp_stream_ref_t   ref, other;
    mcp_stream_spec_t  spec;

    store_spec(&spec, ++numbers, 1);
    spec.tenant = tenant(7);
    spec.tenant.streams = MCP_QUOTA_OFF;
    spec.tenant.bytes = 8 * MCP_STORE_CHUNK;
    store_create(&d, 0, &spec, &ref);
    append_ok(0, &ref, store_message(1, 2000));
    append_rc(0, &ref, store_message(1, 2000), MCP_ERR_FULL);
    append_rc(0, &ref, store_message(1, 9000), MCP_ERR_LARGE);

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
    assert_ok(mcp_store_admits(S0, spec.session, 2, &spec.tenant));
    assert_ok(mcp_store_create(S0, &spec, 1, &other));

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


/* Appends messages of "from" to "to" chunks, each to the new stream of a tenant
 * that uses nothing else: each fits or is too large, and none waits. Returns
 * the largest number of chunks that fits. */
static unsigned
largest(unsigned from, unsigned to, int answers)
{
    int               rc;
    unsigned          k, last;
    mcp_stream_ref_t  ref;

    for (k = from, last = 0; k <= to; k++) {
        made(7, MCP_STREAM_CALL, &ref);
        rc = store_append(&d, 0, &ref, store_message(1, k * 480ul - 16),
                          answers, MCP_STATE_PROCESSING);
        assert_true(rc == MCP_OK || rc == MCP_ERR_LARGE);
        last = rc == MCP_OK ? k : last;
        mcp_store_free(S0, &ref);
    }

    return last;
}


TEST(message_and_its_stream_exceed_the_whole_quota__message_is_too_large)
{
    uint32_t  chunks, reserve, own;

    /* the root and the request of the stream take a chunk each */

    own = 2;
    quota = 128 * MCP_STORE_CHUNK;
    assert_int_equal(largest(120, 130, -1), 128 - own);
    assert_int_equal(largest(120, 130, 0), 128 - own);

    /* a short response is exempt from the quota */

    quota = 4 * MCP_STORE_CHUNK;
    assert_int_equal(largest(1, 12, -1), 4 - own);
    assert_int_equal(largest(1, 12, 0), 8);

    /* a tenant may use as much as it leaves free, without the reserve, the last
     * eighth and the chunk of the groups */

    quota = MCP_QUOTA_SHARE;
    chunks = d.store[0].head->chunks;
    reserve = d.store[0].head->reserve;
    assert_int_equal(largest(1500, 1600, -1),
                     (chunks - reserve - chunks / 8 - 1 - 2 * own) / 2);
}


/* Ten tenants store as many values as they can: the eleventh may still store
 * one. */
TEST(ten_tenants_have_values_up_to_their_quotas__an_eleventh_tenant_gets_one)
{
    int            rc;
    unsigned       i, n, most;
    mcp_tenant_t   p;
    unsigned char  key[MCP_DIGEST_LEN] = { 9, 9 };

    most = N;

    for (i = 1; i <= 10; i++) {
        for (n = 0; (rc = keep(i, n)) == MCP_OK; n++) { /* void */ }

        assert_int_equal(rc, MCP_ERR_LIMIT);
        assert_true(n >= 8 && n <= most);
        most = n;
    }

    store_repair(&d);
    assert_int_equal(keep(5, most + 1000), MCP_ERR_LIMIT);
    assert_ok(keep(5, 0));          /* replaces a value */
    assert_ok(keep(11, 0));

    p = tenant(11);
    p.values = 1;
    assert_int_equal(mcp_store_value_add(S0, 'x', key, 1, 100, 1, &p),
                     MCP_ERR_LIMIT);
    p.values = 2;
    assert_ok(mcp_store_value_add(S0, 'x', key, 1, 100, 1, &p));
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
        assert_ok(mcp_store_keep(S0, ref, 3600000, 1));
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
TEST(many_tenants_fill_the_zone__a_new_tenant_still_gets_a_stream)
{
    unsigned           n, i, how, family;
    mcp_tenant_t       p;
    mcp_stream_ref_t   ref;

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
                    assert_ok(mcp_store_admits(S0, p.id, 0, &p));
                    assert_ok(leave(&p, i % 3, &ref));
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
TEST(ipv6_prefix_64_gets_half_of_the_calls_and_56_two_thirds_and_48_four_fifths)
{
    unsigned  all, one, some, most;

    all = S0->head->chunks / MCP_STORE_CALLS;
    all -= all / MCP_STORE_LAST;

    one = networks(FAMILY6_ONE, 0, 1);
    some = one + networks(FAMILY6_ONE, 1, 255);
    most = some + networks(FAMILY6_ONE, 256, 4 * 256);

    assert_in_range(one, all / 2 - 1, all / 2);
    assert_in_range(some, all * 2 / 3 - 2, all * 2 / 3);
    assert_in_range(most, all * 4 / 5 - 4, all * 4 / 5);
    store_repair(&d);
    assert_int_equal(networks(FAMILY6_ONE, 0, 2000), 0);
    assert_true(networks(FAMILY6, 1, 1) >= all / 5 / 2 - 2);
}


/*
 * Order of eviction for a tenant that needs room: first idle listeners,
 * beginning with the tenant's own; then the tenant's lingering streams; then
 * lingering streams of the largest tenant. The streams of a tenant that uses
 * less room are never evicted.
 */
TEST(idle_listeners_are_evicted_before_lingering_streams)
{
    unsigned          i;
    mcp_stream_ref_t  all, idle[3], own, small, large[2], held, made_now;

    quota = MCP_QUOTA_OFF;

    /* tenant 1 needs room; tenant 2 uses more room than tenant 1, and tenant 3
     * less */

    made(1, MCP_STREAM_CALL, &held);
    append_ok(0, &held, store_message(1, 20000));
    lingering(3, 200, &small);
    lingering(1, 2000, &own);
    lingering(2, 30000, &large[0]);
    lingering(2, 200, &large[1]);

    for (i = 0; i < 3; i++) {
        made(i + 1, MCP_STREAM_LISTEN, &idle[i]);
        left(&idle[i], 0);
    }

    store_sound(&d);
    made(0, MCP_STREAM_CALL, &all);
    fill(&all, 3);

    made(1, MCP_STREAM_LISTEN, &made_now);         /* a listener that was just
                                                      created is not idle */
    assert_false(there(&idle[0]));
    assert_true(there(&idle[1]) && there(&idle[2]));
    fill(&all, 3);

    made(1, MCP_STREAM_LISTEN, &made_now);
    assert_false(there(&idle[1]));                 /* idle[1] before idle[2],
                                                      because its tenant uses
                                                      more room */
    fill(&all, 3);
    made(1, MCP_STREAM_LISTEN, &made_now);
    assert_false(there(&idle[2]));
    assert_true(there(&own) && there(&large[0]) && there(&small));
    store_sound(&d);

    fill(&all, 3);
    made(1, MCP_STREAM_LISTEN, &made_now);
    assert_false(there(&own));
    assert_true(there(&large[0]) && there(&small));
    fill(&all, 3);
    made(1, MCP_STREAM_LISTEN, &made_now);
    assert_false(there(&large[0]));
    assert_true(there(&large[1]) && there(&small));
    fill(&all, 3);

    /* tenants 2 and 3 use less room than tenant 1 now: nothing is evicted for
     * tenant 1 */

    assert_int_equal(make(1, MCP_STREAM_LISTEN, &made_now), MCP_ERR_FULL);

    /* calls are still admitted, because a call that creates no stream needs no
     * room */

    assert_ok(admits(1));
    assert_ok(admits(4));
    assert_true(there(&large[1]) && there(&small));
    store_repair(&d);
    assert_int_equal(make(1, MCP_STREAM_LISTEN, &made_now), MCP_ERR_FULL);
}


/* A listener is not idle if it has unsent events, has a consumer, or was
 * created less than 10 seconds ago. */
TEST(listener_that_is_new_or_has_a_consumer_or_unsent_events_is_not_evicted)
{
    size_t            n;
    uint64_t          position;
    mcp_cursor_t      cursor;
    mcp_stream_ref_t  ref, all, other;

    quota = MCP_QUOTA_OFF;
    made(0, MCP_STREAM_CALL, &all);
    watch_ok(S1, &all, 9, 0, &cursor);
    made(1, MCP_STREAM_LISTEN, &ref);
    assert_ok(mcp_store_subscribe(S0, &ref, TOPIC(1)));
    fill(&all, 3);
    assert_int_equal(make(1, MCP_STREAM_LISTEN, &other), MCP_ERR_FULL);

    /* 10 seconds without a consumer: the listener "ref" is idle */

    mcp_store_sweep(S0, 11000, UINT32_MAX, NULL, NULL);
    store_sound(&d);
    assert_ok(make(1, MCP_STREAM_LISTEN, &other));
    assert_false(there(&ref));

    assert_ok(mcp_store_subscribe(S0, &other, TOPIC(1)));
    watch_ok(S1, &other, 5, 0, &cursor);
    fill(&all, 3);
    assert_int_equal(make(1, MCP_STREAM_LISTEN, &ref), MCP_ERR_FULL);
    mcp_store_unwatch(S1, &other, 5, 0, 12000);
    store_sound(&d);

    /* a publication needs room: the listener that receives it is not evicted
     * for it */

    position = 0;
    assert_ok(store_publish(S0, TOPIC(1), store_message(1, 300), 9, &position,
                            &n));
    assert_int_equal(n, 1);
    assert_true(there(&other));
    store_sound(&d);
    assert_int_equal(make(1, MCP_STREAM_LISTEN, &ref), MCP_ERR_FULL);

    left(&other, 1);
    store_sound(&d);
    assert_ok(make(1, MCP_STREAM_LISTEN, &ref));
    assert_false(there(&other));
}


static void
attended(unsigned id, unsigned principal, mcp_stream_ref_t *ref)
{
    mcp_cursor_t       cursor;
    mcp_stream_spec_t  spec;

    store_spec(&spec, ++numbers, 1 + id);
    spec.tenant = tenant(id);
    memset(spec.principal, (int) principal, MCP_DIGEST_LEN);
    store_create(&d, 0, &spec, ref);
    append_ok(0, ref, store_message(1, 100));
    watch_ok(S1, ref, 5, 0, &cursor);
}


/* If there are neither idle listeners nor lingering streams, calls without a
 * consumer are evicted, first those that are over and have no principal. Tasks
 * of a principal and streams with a consumer stay. */
TEST(zone_is_full__calls_without_a_consumer_are_evicted_and_finished_ones_first)
{
    unsigned          i;
    mcp_stream_ref_t  all, read, mine, over, task, left_one, kept, idle;
    mcp_stream_ref_t  made_now;
    mcp_store_wake_t  wake;

    quota = MCP_QUOTA_OFF;
    attended(9, 0, &all);
    attended(2, 0, &read);
    attended(2, 7, &mine);
    attended(2, 0, &left_one);
    attended(2, 0, &over);
    attended(2, 0, &task);
    attended(2, 7, &kept);
    made(2, MCP_STREAM_LISTEN, &idle);
    left(&idle, 0);

    mcp_store_unwatch(S1, &left_one, 5, 0, 10);
    mcp_store_unwatch(S1, &mine, 5, 0, 10);
    mcp_store_unwatch(S1, &over, 5, 0, 10);
    mcp_store_unwatch(S1, &task, 5, 0, 10);
    mcp_store_unwatch(S1, &kept, 5, 0, 10);
    assert_ok(mcp_store_keep(S0, &task, 1000, 1));
    assert_ok(mcp_store_keep(S0, &kept, 1000, 1));
    store_append(&d, 0, &over, store_message(1, 20), 0,
                       MCP_STATE_COMPLETED);
    store_append(&d, 0, &kept, store_message(1, 20), 0,
                       MCP_STATE_COMPLETED);
    store_sound(&d);

    const mcp_stream_ref_t  *order[] = {
        &idle, &over, &left_one, &mine, &task
    };

    for (i = 0; i < 5; i++) {
        assert_true(there(order[i]));
        fill(&all, 2);
        store_drain(&d, 0, NULL);
        made(10 + i, MCP_STREAM_LISTEN, &made_now);
        assert_false(there(order[i]));

        /* a call is evicted: its owner is woken, even if it is the evicting
         * process */

        if (i >= 2) {
            assert_int_equal(store_drain(&d, 0, &wake), 1);
            assert_int_equal(wake.kind, MCP_WAKE_OWNER);
            assert_int_equal(wake.ref.index, order[i]->index);
        }

        d.died = (i == 4);
        store_sound(&d);
    }

    fill(&all, 2);
    assert_int_equal(make(15, MCP_STREAM_LISTEN, &made_now), MCP_ERR_FULL);
    assert_true(there(&read) && there(&kept) && there(&all));
}


/* A call without a consumer is evicted if the tenant that needs room uses less
 * than the tenant of the call. Calls without a tenant are evicted if a stream
 * without a tenant needs room. */
TEST(call_without_a_consumer_is_evicted_for_a_tenant_that_uses_less_room)
{
    mcp_stream_ref_t  all, first, second, small, made_now;

    quota = MCP_QUOTA_OFF;
    attended(9, 0, &all);
    attended(1, 0, &first);
    attended(2, 0, &second);
    mcp_store_unwatch(S1, &first, 5, 0, 10);
    mcp_store_unwatch(S1, &second, 5, 0, 10);
    fill(&all, 2);
    assert_int_equal(make(1, MCP_STREAM_CALL, &made_now), MCP_ERR_FULL);
    assert_int_equal(make(9, MCP_STREAM_CALL, &made_now), MCP_ERR_FULL);
    assert_true(there(&first) && there(&second));

    made(3, MCP_STREAM_LISTEN, &small);
    assert_true(there(&first) != there(&second));

    mcp_store_free(S0, &all);
    attended(0, 0, &all);
    attended(0, 0, &first);
    mcp_store_unwatch(S1, &first, 5, 0, 10);
    fill(&all, 2);
    made(0, MCP_STREAM_LISTEN, &made_now);
    assert_false(there(&first));
    assert_true(there(&all));
}


RUN_TESTS(setup_numbers, teardown)
