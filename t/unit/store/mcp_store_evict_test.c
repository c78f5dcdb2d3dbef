/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_evict.c: which streams are evicted, and for which tenant. */


#include "store_tenant.h"


/*
 * Order of eviction for a tenant that needs room: first idle listeners,
 * beginning with the tenant's own; then the tenant's lingering streams; then
 * lingering streams of the largest tenant. The streams of a tenant that uses
 * less room are never evicted.
 */
static void
test_order(void **state)
{
    unsigned          i;
    mcp_stream_ref_t  all, idle[3], own, small, large[2], held, made_now;

    (void) state;

    quota = MCP_QUOTA_OFF;

    /* tenant 1 needs room; tenant 2 uses more room than tenant 1, and tenant 3
     * less */

    made(1, MCP_STREAM_CALL, &held);
    assert_int_equal(store_append(&d, 0, &held, store_message(1, 20000),
                                        -1,
                               MCP_STATE_PROCESSING), MCP_OK);
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

    assert_int_equal(admits(1), MCP_OK);
    assert_int_equal(admits(4), MCP_OK);
    assert_true(there(&large[1]) && there(&small));
    store_sound(&d);
    d.died = 1;
    store_sound(&d);
    assert_int_equal(make(1, MCP_STREAM_LISTEN, &made_now), MCP_ERR_FULL);
}


/* A listener is not idle if it has unsent events, has a consumer, or was
 * created less than 10 seconds ago. */
static void
test_idle(void **state)
{
    int               taken;
    size_t            n;
    uint64_t          position;
    mcp_cursor_t      cursor;
    mcp_stream_ref_t  ref, all, other;

    (void) state;

    quota = MCP_QUOTA_OFF;
    made(0, MCP_STREAM_CALL, &all);
    assert_int_equal(mcp_store_watch(S1, &all, 9, 0, &cursor, &taken), MCP_OK);
    made(1, MCP_STREAM_LISTEN, &ref);
    assert_int_equal(mcp_store_subscribe(S0, &ref, TOPIC(1)), MCP_OK);
    fill(&all, 3);
    assert_int_equal(make(1, MCP_STREAM_LISTEN, &other), MCP_ERR_FULL);

    /* 10 seconds without a consumer: the listener "ref" is idle */

    mcp_store_sweep(S0, 11000, UINT32_MAX, NULL, NULL);
    store_sound(&d);
    assert_int_equal(make(1, MCP_STREAM_LISTEN, &other), MCP_OK);
    assert_false(there(&ref));

    assert_int_equal(mcp_store_subscribe(S0, &other, TOPIC(1)), MCP_OK);
    assert_int_equal(mcp_store_watch(S1, &other, 5, 0, &cursor, &taken),
                     MCP_OK);
    fill(&all, 3);
    assert_int_equal(make(1, MCP_STREAM_LISTEN, &ref), MCP_ERR_FULL);
    mcp_store_unwatch(S1, &other, 5, 0, 12000);
    store_sound(&d);

    /* a publication needs room: the listener that receives it is not evicted
     * for it */

    position = 0;
    assert_int_equal(store_publish(S0, TOPIC(1), store_message(1, 300), 9,
                                   &position, &n), MCP_OK);
    assert_int_equal(n, 1);
    assert_true(there(&other));
    store_sound(&d);
    assert_int_equal(make(1, MCP_STREAM_LISTEN, &ref), MCP_ERR_FULL);

    left(&other, 1);
    store_sound(&d);
    assert_int_equal(make(1, MCP_STREAM_LISTEN, &ref), MCP_OK);
    assert_false(there(&other));
}


static void
attended(unsigned id, unsigned principal, mcp_stream_ref_t *ref)
{
    int                taken;
    mcp_cursor_t       cursor;
    mcp_stream_spec_t  spec;

    store_spec(&spec, ++numbers, 1 + id);
    spec.tenant = tenant(id);
    memset(spec.principal, (int) principal, MCP_DIGEST_LEN);
    store_create(&d, 0, &spec, ref);
    assert_int_equal(store_append(&d, 0, ref, store_message(1, 100), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(mcp_store_watch(S1, ref, 5, 0, &cursor, &taken), MCP_OK);
}


/* If there are neither idle listeners nor lingering streams, calls without a
 * consumer are evicted, first those that are over and have no principal. Tasks
 * of a principal and streams with a consumer stay. */
static void
test_unread(void **state)
{
    unsigned          i;
    mcp_stream_ref_t  all, read, mine, over, task, left_one, kept, idle;
    mcp_stream_ref_t  made_now;
    mcp_store_wake_t  wake;

    (void) state;

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
    assert_int_equal(mcp_store_keep(S0, &task, 1000, 1), MCP_OK);
    assert_int_equal(mcp_store_keep(S0, &kept, 1000, 1), MCP_OK);
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
static void
test_unread_whose(void **state)
{
    mcp_stream_ref_t  all, first, second, small, made_now;

    (void) state;

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


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        tenant_test(test_order),
        tenant_test(test_idle),
        tenant_test(test_unread),
        tenant_test(test_unread_whose),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
