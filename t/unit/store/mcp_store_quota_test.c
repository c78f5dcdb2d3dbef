/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_quota.c: shares, and numbers instead of them. */


#include "store_party.h"


#define N  4000


static mcp_stream_ref_t  refs[N];


/* Streams that a party gets before it is refused. */
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


/* However many are greedy, something is left for the next. */
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

        /* the kinds have nothing to do with each other but the room */

        teardown(NULL);
        setup_numbers(NULL);
    }
}


/* Of bytes, too: an append waits, and is woken when it may. */
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
        rc = store_say(&d, 0, n % 2 ? &a : &b, store_message(n, 460), -1,
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

    /* a big one waits in the same way; one that never may is refused */

    assert_int_equal(store_say(&d, 0, &a, store_message(1, 70000), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_FULL);
    assert_int_equal(store_say(&d, 0, &a, store_message(1, 1100000), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_LARGE);

    /* what is over goes out, if it is small */

    assert_int_equal(store_say(&d, 0, &b, store_message(1, 3000), 0,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(store_say(&d, 0, &b, store_message(1, 30000), 1,
                               MCP_STATE_PROCESSING), MCP_ERR_FULL);

    /* others are not concerned, and leave less */

    assert_int_equal(admits(2), MCP_OK);
    made(2, MCP_STREAM_CALL, &more);

    for (i = 0; i < 20; i++) {
        assert_int_equal(store_say(&d, 0, &more, store_message(i, 5000), -1,
                                   MCP_STATE_PROCESSING), MCP_OK);
    }

    store_drain(&d, 0, NULL);
    store_drain(&d, 1, NULL);
    mcp_store_free(S1, &more);
    assert_int_equal(store_drain(&d, 0, &wake), 1);    /* of its end */
    assert_int_equal(wake.ref.index, more.index);

    /* what is sent makes room for what is said next */

    mcp_store_free(S0, &b);
    assert_int_equal(store_drain(&d, 0, &wake), 1);
    assert_int_equal(wake.ref.index, a.index);
    assert_int_equal(store_say(&d, 0, &a, store_message(1, 70000), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(admits(1), MCP_OK);
}


/* What the operator says instead of a share. */
static void
test_numbers(void **state)
{
    mcp_stream_ref_t   ref, other;
    mcp_stream_spec_t  spec;

    (void) state;

    store_spec(&spec, ++numbers, 1);
    spec.party = party(7);
    spec.party.streams = MCP_QUOTA_OFF;
    spec.party.bytes = 8 * MCP_STORE_CHUNK;
    store_create(&d, 0, &spec, &ref);
    assert_int_equal(store_say(&d, 0, &ref, store_message(1, 2000), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(store_say(&d, 0, &ref, store_message(1, 2000), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_FULL);
    assert_int_equal(store_say(&d, 0, &ref, store_message(1, 9000), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_LARGE);

    store_spec(&spec, ++numbers, 1);
    spec.party = party(7);
    spec.party.streams = 1;
    spec.party.bytes = MCP_QUOTA_OFF;
    assert_int_equal(mcp_store_create(S0, &spec, 1, &other), MCP_ERR_LIMIT);
    assert_int_equal(mcp_store_admits(S0, spec.session, 0, &spec.party),
                     MCP_ERR_LIMIT);
    spec.party.streams = 2;
    assert_int_equal(mcp_store_admits(S0, spec.session, 1, &spec.party),
                     MCP_ERR_LIMIT);
    assert_int_equal(mcp_store_admits(S0, spec.session, 2, &spec.party),
                     MCP_OK);
    assert_int_equal(mcp_store_create(S0, &spec, 1, &other), MCP_OK);

    store_spec(&spec, ++numbers, 1);
    spec.kind = MCP_STREAM_LISTEN;
    spec.party = party(7);
    spec.party.listeners = 1;
    spec.party.bytes = MCP_QUOTA_OFF;
    store_create(&d, 0, &spec, &other);
    store_spec(&spec, ++numbers, 1);
    spec.kind = MCP_STREAM_LISTEN;
    spec.party = party(7);
    spec.party.listeners = 1;
    spec.party.bytes = MCP_QUOTA_OFF;
    assert_int_equal(mcp_store_create(S0, &spec, 1, &other), MCP_ERR_LIMIT);
}


/* Ten that end sessions as fast as they can leave as much for the eleventh. */
static void
test_values(void **state)
{
    int            rc;
    unsigned       i, n, most;
    mcp_party_t    p;
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
    assert_int_equal(keep(5, 0), MCP_OK);          /* it is there */
    assert_int_equal(keep(11, 0), MCP_OK);

    p = party(11);
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

    /* nobody in particular has all that is left */

    for (n = 0; (rc = keep(0, n)) == MCP_OK; n++) { /* void */ }

    assert_int_equal(rc, MCP_ERR_FULL);
    mcp_store_sweep(S0, 100, UINT32_MAX, NULL, NULL);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        party_test(test_share),
        party_test(test_bytes),
        party_test(test_numbers),
        party_test(test_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
