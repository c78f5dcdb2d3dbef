/* SPDX-License-Identifier: Apache-2.0 */

/*
 * mcp_store_value.c: values with text. Each takes a chunk, and is freed with it
 * wherever a value is freed.
 */


#include "store_tenant.h"


#define U  MCP_VALUE_UPSTREAM_SESSION


typedef struct {
    unsigned char  bytes[MCP_DIGEST_LEN];
} digest_t;


/* Returns key n of a tenant. */
static digest_t
digest(unsigned id, unsigned n)
{
    digest_t  key = { { 0 } };

    memcpy(key.bytes, &id, sizeof(id));
    memcpy(key.bytes + 4, &n, sizeof(n));

    return key;
}


/* Adds the text of key n of a tenant at the time "now". It expires at 100 + n.
 * Tenant 0 is none. */
static int
add_at(unsigned id, unsigned n, uint64_t now)
{
    char          text[40];
    int           len;
    mcp_tenant_t  p = tenant(id);

    len = snprintf(text, sizeof(text), "session %u of %u", n, id);

    return store_text_add(S0, U, digest(id, n).bytes,
                          (mcp_str_t) { text, (size_t) len }, now, 100 + n,
                          id ? &p : NULL);
}


/* Adds the text of key n of a tenant while no text has expired. */
static int
add(unsigned id, unsigned n)
{
    return add_at(id, n, 0);
}


/* Replaces the text of key n of a tenant, which has expired, by the same
 * text. */
static int
replace(unsigned id, unsigned n)
{
    return add_at(id, n, 100 + n);
}


/* Returns 1 if key n of a tenant has its text, 0 if there is none. */
static int
kept(unsigned id, unsigned n)
{
    int     rc;
    char    text[MCP_STORE_TEXT_MAX], want[40];
    size_t  len;

    rc = store_text_get(S1, U, digest(id, n).bytes, 0, 0, text, &len, NULL);

    if (rc == MCP_ERR_NOT_FOUND) {
        return 0;
    }

    assert_ok(rc);
    assert_int_equal(len, snprintf(want, sizeof(want), "session %u of %u", n,
                                   id));
    assert_memory_equal(text, want, len);

    return 1;
}


/* Returns 1 if a value exists, without using it. */
static int
there_is(unsigned id, unsigned n)
{
    return mcp_store_entry_find(S0->head, MCP_ENTRY_VALUE, U,
                                digest(id, n).bytes, 0) != NULL;
}


static mcp_store_entry_t *
entry(unsigned id, unsigned n)
{
    mcp_store_entry_t  *e;

    e = mcp_store_entry_find(S0->head, MCP_ENTRY_VALUE, U, digest(id, n).bytes,
                             0);
    assert_non_null(e);

    return e;
}


static void
drop(unsigned id, unsigned n)
{
    mcp_store_value_delete(S0, U, digest(id, n).bytes);
}


static uint32_t
texts(void)
{
    return mcp_store_values(S0->head, 1);
}


/* Texts of all lengths are stored, replaced by each other when they have
 * expired, and read by another process. */
TEST(texts_of_all_lengths_up_to_the_maximum_are_stored_and_read)
{
    char                 text[MCP_STORE_TEXT_MAX];
    size_t               i, k, len;
    digest_t             key = digest(1, 1);
    static const size_t  sizes[] = { 0, 1, 2, 39, MCP_STORE_TEXT_MAX - 1,
                                     MCP_STORE_TEXT_MAX, 0, 7 };

    assert_int_equal(store_text_get(S1, U, key.bytes, 1, 0, text, &len, NULL),
                     MCP_ERR_NOT_FOUND);

    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        mcp_str_t  s = store_message((unsigned) i, sizes[i]);

        for (k = 0; k < 2; k++) {
            assert_ok(store_text_add(S0, U, key.bytes, s, 5, 5, NULL));
            assert_ok(store_text_get(S1, U, key.bytes, 1, 0, text, &len, NULL));
            assert_int_equal(len, s.len);
            assert_memory_equal(text, s.data, len);
        }

        store_repair(&d);
        assert_ok(store_text_get(S1, U, key.bytes, 1, 0, text, &len, NULL));
        assert_int_equal(len, s.len);
        assert_memory_equal(text, s.data, len);

        /* an entry chunk, with the value and its group, and the text */
        assert_int_equal(store_used(&d), 2 * MCP_STORE_CHUNK);
    }

    /* a text that is too long is rejected, and the older one is kept */

    assert_int_equal(store_text_add(S0, U, key.bytes,
                                    store_message(9, MCP_STORE_TEXT_MAX
                                                  + 1), 5, 9, NULL),
                     MCP_ERR_LIMIT);
    assert_ok(store_text_get(S1, U, key.bytes, 1, 0, text, &len, NULL));
    assert_int_equal(len, 7);

    mcp_store_value_delete(S1, U, key.bytes);
    assert_int_equal(store_used(&d), 0);
}


/* A text is deleted only if it is equal. */
TEST(text_is_deleted_only_if_it_equals_the_given_text)
{
    char      text[MCP_STORE_TEXT_MAX];
    size_t    len;
    digest_t  key = digest(1, 1), other = digest(1, 2);

    assert_int_equal(mcp_store_text_delete(S0, U, key.bytes, mcp_str("a")),
                     MCP_ERR_NOT_FOUND);
    assert_ok(store_text_add(S0, U, key.bytes, mcp_str("older"), 1, 2,
                             NULL));
    assert_ok(store_text_add(S1, U, key.bytes, mcp_str("newer"), 2, 0,
                             NULL));
    assert_int_equal(mcp_store_text_delete(S0, U, key.bytes, mcp_str("older")),
                     MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_text_delete(S0, U, key.bytes, mcp_str("newe")),
                     MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_text_delete(S0, U, key.bytes,
                                           (mcp_str_t) { NULL, 0 }),
                     MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_text_delete(S0, U, other.bytes,
                                           mcp_str("newer")),
                     MCP_ERR_NOT_FOUND);
    assert_ok(store_text_get(S0, U, key.bytes, 1, 0, text, &len, NULL));
    assert_int_equal(len, 5);

    assert_ok(mcp_store_text_delete(S0, U, key.bytes, mcp_str("newer")));
    assert_int_equal(store_text_get(S0, U, key.bytes, 1, 0, text, &len, NULL),
                     MCP_ERR_NOT_FOUND);
    assert_int_equal(store_used(&d), 0);

    /* an empty text */

    assert_ok(store_text_add(S0, U, key.bytes, (mcp_str_t) { NULL, 0 }, 1,
                             0, NULL));
    assert_int_equal(mcp_store_text_delete(S0, U, key.bytes, mcp_str("a")),
                     MCP_ERR_NOT_FOUND);
    assert_ok(mcp_store_text_delete(S0, U, key.bytes, mcp_str("")));
    assert_int_equal(store_used(&d), 0);
}


/* A sweep frees the chunks of expired texts. A replacement sets another time
 * of expiry. */
TEST(expired_text_is_not_found_and_is_freed_by_a_sweep)
{
    char      text[MCP_STORE_TEXT_MAX];
    size_t    len;
    unsigned  n;
    digest_t  key = digest(1, 7);

    for (n = 0; n < 20; n++) {
        assert_ok(add(1, n));
    }

    assert_ok(store_text_get(S0, U, key.bytes, 106, 0, text, &len, NULL));
    assert_int_equal(store_text_get(S0, U, key.bytes, 107, 0, text, &len, NULL),
                     MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_sweep(S0, 109, UINT32_MAX, NULL, NULL), 10);
    assert_int_equal(texts(), 10);
    assert_true(!there_is(1, 9) && there_is(1, 10));
    store_sound(&d);

    key = digest(1, 10);
    assert_ok(store_text_add(S0, U, key.bytes, mcp_str("x"), 110, 500,
                             NULL));
    assert_int_equal(mcp_store_sweep(S0, 119, UINT32_MAX, NULL, NULL), 9);
    assert_ok(store_text_get(S0, U, key.bytes, 499, 0, text, &len, NULL));
    assert_int_equal(mcp_store_sweep(S0, 500, UINT32_MAX, NULL, NULL), 1);
    assert_int_equal(store_used(&d), 0);
}


/* Returns 1 if the text of a key is the wanted one at the time "now". Extends
 * its time of expiry to "expires". */
static int
has(mcp_store_t *store, unsigned n, mcp_str_t want, uint64_t now,
    uint64_t expires)
{
    int     rc;
    char    text[MCP_STORE_TEXT_MAX];
    size_t  len;

    rc = store_text_get(store, U, digest(1, n).bytes, now, expires, text,
                        &len, NULL);

    if (rc == MCP_ERR_NOT_FOUND) {
        return 0;
    }

    assert_ok(rc);

    return mcp_str_eq((mcp_str_t) { text, len }, want);
}


TEST(key_already_has_a_text__adding_another_is_rejected_and_changes_nothing)
{
    unsigned      n;
    mcp_tenant_t  p = tenant(2);

    assert_ok(store_text_add(S0, U, digest(1, 1).bytes, mcp_str("first"),
                             10, 20, NULL));
    assert_ok(store_text_add(S0, U, digest(1, 2).bytes, mcp_str("never"),
                             10, 0, NULL));

    /* a text with another length, time of expiry and tenant */

    for (n = 1; n <= 2; n++) {
        assert_int_equal(store_text_add(S0, U, digest(1, n).bytes,
                                        mcp_str("another"), 19, 90, &p),
                         MCP_ERR_EXISTS);
    }

    assert_true(has(S1, 1, mcp_str("first"), 19, 0));
    assert_false(has(S1, 1, mcp_str("first"), 20, 0));
    assert_true(has(S1, 2, mcp_str("never"), UINT64_MAX, 0));
    assert_int_equal(texts(), 2);
    assert_null(mcp_store_entry_find(S0->head, MCP_ENTRY_TENANT, 1, p.id, 0));

    drop(1, 1);
    drop(1, 2);
}


TEST(text_has_expired__adding_a_text_under_its_key_replaces_it)
{
    assert_ok(store_text_add(S0, U, digest(1, 1).bytes, mcp_str("first"),
                             10, 20, NULL));
    assert_ok(store_text_add(S1, U, digest(1, 1).bytes, mcp_str("second"),
                             20, 30, NULL));
    assert_true(has(S0, 1, mcp_str("second"), 29, 0));
    assert_false(has(S0, 1, mcp_str("second"), 30, 0));
    assert_int_equal(texts(), 1);
    store_repair(&d);
    assert_true(has(S0, 1, mcp_str("second"), 29, 0));
    drop(1, 1);
}


TEST(two_processes_add_a_text_under_one_key__the_first_text_stays)
{
    assert_ok(store_text_add(S0, U, digest(1, 1).bytes, mcp_str("first"),
                             10, 20, NULL));
    assert_int_equal(store_text_add(S1, U, digest(1, 1).bytes,
                                    mcp_str("second"), 10, 20, NULL),
                     MCP_ERR_EXISTS);
    assert_true(has(S0, 1, mcp_str("first"), 10, 0));
    assert_true(has(S1, 1, mcp_str("first"), 10, 0));
    drop(1, 1);
}


TEST(text_is_read_with_a_later_expiry__it_expires_at_the_later_time)
{
    assert_ok(store_text_add(S0, U, digest(1, 1).bytes, mcp_str("x"), 10,
                             20, NULL));

    /* a time that is 0 or not later changes nothing */

    assert_true(has(S1, 1, mcp_str("x"), 10, 0));
    assert_true(has(S1, 1, mcp_str("x"), 10, 20));
    assert_true(has(S1, 1, mcp_str("x"), 10, 19));
    assert_false(has(S1, 1, mcp_str("x"), 20, 40));

    assert_true(has(S1, 1, mcp_str("x"), 19, 40));
    assert_int_equal(mcp_store_sweep(S0, 39, UINT32_MAX, NULL, NULL), 0);
    assert_int_equal(store_text_add(S0, U, digest(1, 1).bytes,
                                    mcp_str("y"), 39, 90, NULL),
                     MCP_ERR_EXISTS);
    store_repair(&d);
    assert_true(has(S0, 1, mcp_str("x"), 39, 60));
    assert_false(has(S0, 1, mcp_str("x"), 60, 0));
    assert_int_equal(mcp_store_sweep(S0, 60, UINT32_MAX, NULL, NULL), 1);
    assert_int_equal(store_used(&d), 0);
}


TEST(text_never_expires__reading_it_with_an_expiry_does_not_change_that)
{
    assert_ok(store_text_add(S0, U, digest(1, 1).bytes, mcp_str("x"), 10,
                             0, NULL));
    assert_true(has(S1, 1, mcp_str("x"), 10, 20));
    assert_int_equal(mcp_store_sweep(S0, UINT64_MAX, UINT32_MAX, NULL, NULL),
                     0);
    assert_true(has(S1, 1, mcp_str("x"), UINT64_MAX, 0));
    drop(1, 1);
}


/* At the quota, a new text replaces the one that was not used for the longest
 * time. Reading a text and replacing it are uses. Adding a text that exists is
 * not. */
TEST(tenant_is_at_its_quota__a_new_text_replaces_its_least_recently_used_text)
{
    unsigned  n;

    quota = 3;

    for (n = 0; n < 3; n++) {
        assert_ok(add(1, n));
    }

    assert_true(kept(1, 0));
    assert_ok(add(1, 3));
    assert_true(there_is(1, 0) && !there_is(1, 1) && there_is(1, 2));

    assert_int_equal(add(1, 0), MCP_ERR_EXISTS);
    assert_ok(replace(1, 2));
    assert_ok(add(1, 4));
    assert_true(!there_is(1, 0) && there_is(1, 2) && there_is(1, 3));
    store_sound(&d);

    /* the texts of another tenant remain */

    assert_ok(add(2, 0));
    assert_ok(add(1, 5));
    assert_true(kept(2, 0) && !there_is(1, 3) && kept(1, 2));
    assert_int_equal(texts(), 4);

    /* a repair does not keep the order of age: any of the older texts may be
     * replaced */

    store_repair(&d);
    assert_ok(add(1, 6));
    assert_int_equal(there_is(1, 2) + there_is(1, 4) + there_is(1, 5), 2);
    assert_true(kept(1, 6));

    /* a quota that was reduced rejects no text: a new one replaces an older
     * one */

    quota = 1;
    assert_ok(add(1, 7));
    assert_ok(add(3, 0));
    assert_true(kept(1, 7) && kept(3, 0));
    assert_int_equal(texts(), 5);
}


/* Texts and other values have separate quotas, and do not replace each
 * other. */
TEST(texts_and_other_values_have_separate_quotas)
{
    unsigned           n;
    uint32_t           value;
    mcp_tenant_t       p;
    mcp_store_stats_t  stats;

    quota = 2;
    p = tenant(1);

    for (n = 0; n < 4; n++) {
        assert_ok(mcp_store_value_push(S0, 'd', digest(1, n).bytes, n, 100,
                                       &p));
        assert_ok(add(1, n));
    }

    mcp_store_stats(S0, &stats);
    assert_int_equal(stats.values, 4);
    assert_int_equal(texts(), 2);

    for (n = 0; n < 4; n++) {
        assert_int_equal(kept(1, n), n >= 2);
        assert_int_equal(mcp_store_value_get(S0, 'd', digest(1, n).bytes, 0,
                                             &value),
                         n >= 2 ? MCP_OK : MCP_ERR_NOT_FOUND);
    }

    assert_int_equal(keep(1, 0), MCP_ERR_LIMIT);
    drop(1, 2);
    drop(1, 3);
    assert_int_equal(keep(1, 0), MCP_ERR_LIMIT);
    store_repair(&d);
}


/* Texts without a tenant may fill their part of the region. Then a new one
 * replaces the one that was not used for the longest time. */
TEST(texts_without_a_tenant_fill_only_their_part_of_the_zone)
{
    unsigned  n, max;

    max = mcp_store_values_max(S0->head, 1);
    assert_true(max > 100);

    for (n = 0; n < max; n++) {
        assert_ok(add(0, n));
    }

    assert_true(store_used(&d) <= d.size / 8);
    assert_true(kept(0, 0));

    for (n = max; n < max + 10; n++) {
        assert_ok(add(0, n));
    }

    assert_int_equal(texts(), max);
    assert_true(kept(0, 0) && !there_is(0, 1) && !there_is(0, 10));
    assert_true(kept(0, 11) && kept(0, max + 9));
    store_repair(&d);

    /* other values still have room, and a tenant's first text replaces one of
     * the tenant with the most texts */

    assert_ok(keep(0, 0));
    assert_ok(add(1, 0));
    assert_true(kept(1, 0));
    assert_int_equal(texts(), max);
    store_sound(&d);
}


/* A quota that is a share: a tenant gets about half of the texts, the next one
 * about a quarter, and all get a first one. */
TEST(many_tenants_store_texts_up_to_their_quotas__the_next_tenant_can_store_too)
{
    unsigned  i, n, max;
    uint32_t  before;

    max = mcp_store_values_max(S0->head, 1);

    for (i = 1; i <= 50; i++) {
        before = texts();

        for (n = 0; n < max; n++) {
            assert_ok(add(i, n));
            assert_true(kept(i, n));
        }

        assert_true(i > 2 || (texts() - before) * (i + 1) <= max);
    }

    assert_true(texts() <= max);
    store_repair(&d);
}


/* The quota of an IPv6 /56 limits the texts of its /64 networks together. */
TEST(ipv6_networks_with_equal_first_56_bits_share_a_quota_of_texts)
{
    unsigned      i, n;
    mcp_tenant_t  p = { { 0x20, 1, 0xd, 0xb8 }, MCP_QUOTA_OFF, MCP_QUOTA_OFF,
                        2, MCP_QUOTA_OFF };

    p.id[MCP_DIGEST_LEN - 1] = 1;

    for (i = 0; i < 5; i++) {
        p.id[7] = (unsigned char) i;

        for (n = 0; n < 3; n++) {
            assert_ok(store_text_add(S0, U, digest(i, n).bytes,
                                     mcp_str("x"), 0, 1, &p));
        }

        store_sound(&d);
    }

    /* the quota of the /56 lets two networks have two texts each; the others
     * have only their first text */

    assert_int_equal(texts(), 2 + 2 + 1 + 1 + 1);
    store_repair(&d);
    mcp_store_sweep(S0, 1, UINT32_MAX, NULL, NULL);
    assert_int_equal(store_used(&d), 0);
}


/* Streams fill the region, so that a new text finds no chunk: it replaces
 * another text. The replacement of an expired text needs no room. */
TEST(zone_is_full_of_streams__a_new_text_replaces_another_text)
{
    unsigned           i, n;
    uint32_t           value;
    mcp_tenant_t       p;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    quota = MCP_QUOTA_OFF;
    p = tenant(1);

    /* each text needs room for two entries: for itself, and for its tenant */

    for (i = 1; i <= 20; i++) {
        assert_ok(add(i, 0));
    }

    store_spec(&spec, 1, 1);
    store_create(&d, 0, &spec, &ref);
    fill(&ref, 0);

    assert_ok(replace(1, 0));
    assert_true(kept(1, 0));
    assert_int_equal(texts(), 20);

    for (n = 1; n <= 100; n++) {
        assert_ok(add(n % 30, n));
        assert_true(kept(n % 30, n));
        store_sound(&d);
    }

    assert_true(texts() > 0 && texts() <= 20);

    /* the value that marks an ended session replaces a text if there is no
     * room */

    n = mcp_store_room(S0->head, 1);
    assert_true(n > 0 && n <= S0->head->reserve);

    for (i = 0; texts() > 0; i++) {
        assert_ok(mcp_store_value_push(S0, 'd', digest(1, i).bytes, i, 100,
                                       &p));
    }

    assert_ok(mcp_store_value_get(S0, 'd', digest(1, 0).bytes, 0, &value));

    /* no text is left to replace */

    assert_int_equal(add(1, 1), MCP_ERR_FULL);
    assert_int_equal(texts(), 0);
    assert_ok(mcp_store_value_get(S0, 'd', digest(1, 0).bytes, 0, &value));
    store_repair(&d);
}


/* A text evicts a stream that lingers. */
TEST(zone_is_full__a_new_text_evicts_a_lingering_stream)
{
    mcp_stream_ref_t   ref, old;
    mcp_stream_spec_t  spec;

    lingering(1, 3000, &old);
    store_spec(&spec, 50, 1);
    store_create(&d, 0, &spec, &ref);
    fill(&ref, 0);

    assert_true(there(&old));
    assert_ok(add(1, 0));
    assert_true(!there(&old) && kept(1, 0));
}


/* The repair keeps texts, and frees values whose text cannot be valid. */
TEST(repair_keeps_texts_and_frees_values_without_a_valid_text)
{
    unsigned           n;
    mcp_stream_ref_t   ref;
    mcp_store_head_t  *head;

    head = S0->head;
    create_ok(0, 1, 1, &ref);

    for (n = 0; n < 10; n++) {
        assert_ok(add(1, n));
    }

    assert_ok(keep(1, 0));
    entry(1, 0)->u.value.value = 0;
    entry(1, 1)->u.value.value = UINT32_MAX;
    entry(1, 2)->u.value.value = head->fresh;
    entry(1, 3)->u.value.value = ref.index;
    entry(1, 4)->u.value.value = mcp_store_stream(head, ref.index)->text;
    entry(1, 5)->u.value.value = mcp_store_index(head, entry(1, 5));
    mcp_store_chunk(head, entry(1, 6)->u.value.value)->used = 31;
    mcp_store_chunk(head, entry(1, 7)->u.value.value)->used = 513;
    entry(1, 8)->u.value.value = entry(1, 9)->u.value.value;

    d.died = 1;
    store_sound(&d);

    for (n = 0; n < 8; n++) {
        assert_false(there_is(1, n));
    }

    assert_int_equal(there_is(1, 8) + there_is(1, 9), 1);
    assert_int_equal(texts(), 1);
    assert_true(there(&ref));
    assert_ok(add(1, 5));
    assert_true(kept(1, 5));
}


RUN_TESTS(setup_numbers, teardown)
