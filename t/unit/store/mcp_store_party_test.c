/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_party.c: quotas of parties, and who goes for whom. */

#include "store_fixture.h"


#define N  4000


static mcp_stream_ref_t  refs[N];
static unsigned          numbers;
static uint64_t          quota;         /* of all parties */


static int
setup_numbers(void **state)
{
    numbers = 0;
    quota = MCP_QUOTA_SHARE;

    return setup(state);
}

#define party_test(f)                                                         \
    cmocka_unit_test_setup_teardown(f, setup_numbers, teardown)


static mcp_party_t
party(unsigned id)
{
    mcp_party_t  p;

    memset(p.id, (int) id, MCP_DIGEST_LEN);
    p.streams = quota;
    p.listeners = quota;
    p.values = quota;
    p.bytes = quota;

    return p;
}


/* A stream of a party, whose sessions are a few: teardown looks through them. */
static int
make(unsigned id, mcp_stream_kind_e kind, mcp_stream_ref_t *ref)
{
    mcp_stream_spec_t  spec;

    store_spec(&spec, ++numbers, 1 + id);
    spec.kind = kind;
    spec.party = party(id);

    return mcp_store_create(S0, &spec, 1, ref);
}


static void
made(unsigned id, mcp_stream_kind_e kind, mcp_stream_ref_t *ref)
{
    assert_int_equal(make(id, kind, ref), MCP_OK);
}


static void
left(const mcp_stream_ref_t *ref, uint64_t sent)
{
    int           taken;
    mcp_cursor_t  cursor;

    assert_int_equal(mcp_store_watch(S1, ref, 5, 0, &cursor, &taken), MCP_OK);
    mcp_store_unwatch(S1, ref, 5, sent, 10);
}


/* One that is over and was sent. */
static void
lingering(unsigned id, size_t len, mcp_stream_ref_t *ref)
{
    made(id, MCP_STREAM_CALL, ref);
    assert_int_equal(store_say(&d, 0, ref, store_message(1, len), 0,
                               MCP_STATE_COMPLETED), MCP_OK);
    left(ref, 1);
}


static int
there(const mcp_stream_ref_t *ref)
{
    mcp_stream_info_t  info;

    return mcp_store_info(S0, ref, &info) == MCP_OK;
}


/* One stream takes all room but so many chunks. */
static void
fill(const mcp_stream_ref_t *ref, uint32_t room)
{
    while (mcp_store_room(d.store[0].head, 0) > room) {
        assert_int_equal(store_say(&d, 0, ref, store_message(1, 460), -1,
                                   MCP_STATE_PROCESSING), MCP_OK);
    }
}


static int
admits(unsigned id)
{
    mcp_party_t    p = party(id);
    unsigned char  session[MCP_DIGEST_LEN] = { 0 };

    return mcp_store_admits(S0, session, 0, &p);
}


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


static int
keep(unsigned id, unsigned n)
{
    mcp_party_t    p = party(id);
    unsigned char  key[MCP_DIGEST_LEN] = { 0 };

    key[0] = (unsigned char) id;
    memcpy(key + 4, &n, sizeof(n));

    return mcp_store_value_set(S0, 'd', key, 1, 100, id ? &p : NULL);
}


static int
push(unsigned id, unsigned n, uint64_t values)
{
    mcp_party_t    p = party(id);
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


/* What is pushed has room: the oldest one of the same party gives way. */
static void
test_push(void **state)
{
    unsigned       n;
    unsigned char  key[MCP_DIGEST_LEN] = { 3 };

    (void) state;

    /* settings do not give way, and the first is asked for no quota */

    assert_int_equal(keep(1, 0), MCP_OK);
    assert_int_equal(push(1, 1, 1), MCP_OK);
    assert_int_equal(push(1, 2, 1), MCP_OK);
    assert_true(kept(1, 0) && !kept(1, 1) && kept(1, 2));

    for (n = 0; n < 3; n++) {
        assert_int_equal(push(2, n, 4), MCP_OK);
        assert_int_equal(push(3, n, 3), MCP_OK);
    }

    /* one is pushed again, and keeps its place */

    assert_int_equal(push(3, 0, 3), MCP_OK);
    store_sound(&d);

    assert_int_equal(push(3, 3, 3), MCP_OK);
    assert_true(!kept(3, 0) && kept(3, 1) && kept(3, 2) && kept(3, 3));

    /* out of the middle, and the newest */

    memcpy(key + 4, &(unsigned) { 2 }, sizeof(n));
    mcp_store_value_delete(S0, 'd', key);
    memcpy(key + 4, &(unsigned) { 3 }, sizeof(n));
    mcp_store_value_delete(S0, 'd', key);
    store_sound(&d);

    assert_int_equal(push(3, 4, 3), MCP_OK);
    assert_int_equal(push(3, 5, 3), MCP_OK);
    assert_int_equal(push(3, 6, 3), MCP_OK);
    assert_true(!kept(3, 1) && kept(3, 4) && kept(3, 5) && kept(3, 6));
    assert_true(kept(2, 0) && kept(2, 1) && kept(2, 2));

    /* after a death there is still one that gives way */

    d.died = 1;
    store_sound(&d);
    assert_int_equal(push(3, 7, 3), MCP_OK);
    assert_true(kept(3, 4) + kept(3, 5) + kept(3, 6) == 2 && kept(3, 7));

    /* what expired is out of the ring */

    mcp_store_sweep(S0, 105, UINT32_MAX, NULL, NULL);
    assert_true(!kept(2, 0) && !kept(3, 4) && !kept(3, 5) && kept(3, 7));
    store_sound(&d);
    assert_int_equal(push(3, 8, 1), MCP_OK);
    store_sound(&d);
}


/* A region full of values has room for who has some that give way. */
static void
test_push_full(void **state)
{
    unsigned  n;

    (void) state;

    quota = MCP_QUOTA_OFF;

    assert_int_equal(push(1, 0, MCP_QUOTA_OFF), MCP_OK);

    for (n = 0; keep(0, n) == MCP_OK; n++) { /* void */ }

    assert_int_equal(push(1, 1, MCP_QUOTA_OFF), MCP_OK);
    assert_true(!kept(1, 0) && kept(1, 1));
    assert_int_equal(push(2, 0, MCP_QUOTA_OFF), MCP_ERR_FULL);
    store_sound(&d);
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


/* Idle listeners first, one's own before others'; then one's own streams that
 * linger; then those of the largest, never of who has less than oneself. */
static void
test_order(void **state)
{
    unsigned          i;
    mcp_stream_ref_t  all, idle[3], own, small, large[2], held, made_now;

    (void) state;

    quota = MCP_QUOTA_OFF;

    /* party 1 makes room for itself, 2 has more and 3 has less than it */

    made(1, MCP_STREAM_CALL, &held);
    assert_int_equal(store_say(&d, 0, &held, store_message(1, 20000), -1,
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

    made(1, MCP_STREAM_LISTEN, &made_now);         /* new: not idle yet */
    assert_false(there(&idle[0]));
    assert_true(there(&idle[1]) && there(&idle[2]));
    fill(&all, 3);

    made(1, MCP_STREAM_LISTEN, &made_now);
    assert_false(there(&idle[1]));                 /* of who has more */
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

    /* 2 has less than 1 by now, like 3 */

    assert_int_equal(make(1, MCP_STREAM_LISTEN, &made_now), MCP_ERR_FULL);
    assert_int_equal(admits(1), MCP_ERR_FULL);
    assert_int_equal(admits(4), MCP_OK);
    assert_true(there(&large[1]) && there(&small));
    store_sound(&d);
    d.died = 1;
    store_sound(&d);
    assert_int_equal(make(1, MCP_STREAM_LISTEN, &made_now), MCP_ERR_FULL);
}


/* A listener that has missed something is not idle, nor is one that is read, or
 * that was made just now. */
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
    made(1, MCP_STREAM_LISTEN, &ref);
    assert_int_equal(mcp_store_subscribe(S0, &ref, TOPIC(1)), MCP_OK);
    fill(&all, 3);
    assert_int_equal(make(1, MCP_STREAM_LISTEN, &other), MCP_ERR_FULL);

    /* nobody came for it */

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

    /* what is published needs room itself, and does not push out who gets it */

    position = 0;
    assert_int_equal(mcp_store_publish(S0, TOPIC(1), store_message(1, 300), 9,
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


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        party_test(test_share),
        party_test(test_bytes),
        party_test(test_numbers),
        party_test(test_push),
        party_test(test_push_full),
        party_test(test_values),
        party_test(test_order),
        party_test(test_idle)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
