/* SPDX-License-Identifier: Apache-2.0 */

/*
 * store_verify.c reports each kind of damage to a store, and a repair mends
 * the damage. Other tests rely on store_verify.c.
 */


#include "store_fixture.h"


static mcp_stream_ref_t  ref[4];


static mcp_store_stream_t *
stream(unsigned i)
{
    return mcp_store_stream(S0->head, ref[i].index);
}


static mcp_store_entry_t *
value(void)
{
    unsigned char  key[MCP_DIGEST_LEN] = { 1 };

    return mcp_store_entry_find(S0->head, MCP_ENTRY_VALUE, 'v', key, 0);
}


static mcp_store_entry_t *
text(void)
{
    unsigned char  key[MCP_DIGEST_LEN] = { 1 };

    return mcp_store_entry_find(S0->head, MCP_ENTRY_VALUE,
                                MCP_VALUE_UPSTREAM_SESSION, key, 0);
}


static mcp_store_chunk_t *
text_chunk(void)
{
    return mcp_store_chunk(S0->head, text()->u.value.value);
}


static void harm_free(void) { S0->head->n_free++; }
static void harm_lost(void) { S0->head->fresh++; }
static void harm_streams(void) { S0->head->n_streams++; }
static void harm_values(void) { S0->head->n_values--; }
static void harm_subs(void) { S0->head->n_subs++; }
static void harm_purpose(void) { atomic_fetch_add(&S0->head->purpose[9], 1); }
static void harm_ownerless(void) { atomic_store(&S0->head->n_ownerless, 1); }
static void harm_partial(void) { S0->head->partial.last = 77; }
static void harm_reserved(void) { S0->head->slots[9].reserved = 1; }
static void harm_bytes(void) { stream(0)->events.bytes++; }
static void harm_total(void) { stream(0)->events.total++; }
static void harm_chunks(void) { stream(0)->events.chunks++; }
static void harm_offset(void) { stream(0)->events.offset += 8; }
static void harm_tail(void) { stream(0)->events.tail = stream(0)->events.head; }
static void harm_applied(void) { stream(0)->applied_seq--; }
static void harm_dirty(void) { stream(1)->link[MCP_LINK_OWNER].next = 0; }
static void harm_session(void) { stream(0)->session_group = 8; }
static void harm_linger(void) { stream(2)->sent_seq--; }
static void harm_text(void) { stream(0)->text_chunks++; }
static void harm_peers(void) { stream(3)->n_subs++; }
static void harm_key(void) { value()->key[5] ^= 1; }
static void harm_text_none(void) { text()->u.value.value = 0; }
static void harm_text_far(void) { text()->u.value.value = S0->head->fresh; }
static void harm_text_shared(void) { text()->u.value.value = stream(0)->text; }
static void harm_text_used(void) { text_chunk()->used = MCP_CHUNK_HEAD - 1; }
static void harm_text_next(void) { text_chunk()->next = stream(0)->text; }
static void harm_text_group(void) { text()->u.value.group = 0; }


static void
harm_group(void)
{
    mcp_store_entry_t  *e;

    e = mcp_store_at(S0->head, stream(0)->session_group);
    e->u.group.active++;
}


/* The group of values without text counts a text. */
static void
harm_text_counted(void)
{
    mcp_store_entry_t  *e;

    e = mcp_store_at(S0->head, text()->u.value.group);
    e->purpose = 0;
}


static void
harm_text_number(void)
{
    atomic_fetch_sub(&S0->head->purpose[MCP_VALUE_UPSTREAM_SESSION], 1);
    atomic_fetch_add(&S0->head->purpose['v'], 1);
}


static void
harm_pending(void)
{
    atomic_store(&S0->head->slots[1].pending, 0);
}


static void
harm_two_uses(void)
{
    stream(0)->text = stream(1)->text;
}


static void (*const harms[])(void) = {
    harm_free, harm_lost, harm_streams, harm_values, harm_subs, harm_purpose,
    harm_ownerless, harm_partial, harm_reserved, harm_bytes, harm_total,
    harm_chunks, harm_offset, harm_tail, harm_applied, harm_dirty,
    harm_session, harm_linger, harm_text, harm_peers, harm_key, harm_group,
    harm_pending, harm_two_uses, harm_text_none, harm_text_far,
    harm_text_shared, harm_text_used, harm_text_next, harm_text_group,
    harm_text_counted, harm_text_number
};


static void
make(void)
{
    unsigned           i;
    mcp_cursor_t       cursor;
    unsigned char      key[MCP_DIGEST_LEN] = { 1 };
    mcp_stream_spec_t  spec;

    for (i = 0; i < 4; i++) {
        store_spec(&spec, i, i);
        spec.kind = i == 3 ? MCP_STREAM_LISTEN : MCP_STREAM_CALL;
        store_create(&d, 1, &spec, &ref[i]);
        store_append(&d, 1, &ref[i], store_message(i, 900), -1,
                  MCP_STATE_PROCESSING);
    }

    store_append(&d, 1, &ref[2], store_message(1, 10), 0,
                       MCP_STATE_COMPLETED);
    watch_ok(S0, &ref[2], 1, 0, &cursor);
    mcp_store_unwatch(S0, &ref[2], 1, 2, 1);
    assert_ok(mcp_store_inbox_put(S0, &ref[1], MCP_INBOX_INPUT, 1,
                                  mcp_str("x")));
    assert_ok(mcp_store_subscribe(S0, &ref[3], key));
    assert_ok(mcp_store_value_set(S0, 'v', key, 1, 0, NULL));
    assert_ok(store_text_add(S0, MCP_VALUE_UPSTREAM_SESSION, key,
                             mcp_str("text"), 1, 0, NULL));
}


TEST(each_kind_of_damage_to_the_store_is_detected_and_repaired)
{
    size_t       i;
    const char  *why;

    for (i = 0; i < sizeof(harms) / sizeof(harms[0]); i++) {
        store_open(&d, 1024 * 1024, 2);
        make();
        store_sound(&d);

        harms[i]();

        if (store_verify(S0, &why) == MCP_OK) {
            fail_msg("harm %zu is not noticed", i);
        }

        assert_non_null(why);
        d.died = 1;
        store_sound(&d);
        store_close(&d);
    }
}


RUN_TESTS(NULL, NULL)
