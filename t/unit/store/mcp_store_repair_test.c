/* SPDX-License-Identifier: Apache-2.0 */

/*
 * mcp_store_repair.c: repairs that need no crash; for crashes see
 * mcp_store_step_test.c.
 */


#include "store_fixture.h"


/* The holder of the lock has died, but the lock does not report that: the
 * store detects it by head->holder, which is still set. */
TEST(lock_does_not_report_a_dead_holder__the_store_detects_it_and_repairs)
{
    mcp_stream_ref_t   ref;
    mcp_stream_info_t  info;

    create_ok(0, 1, 1, &ref);
    S0->head->holder = 2;
    S0->head->free = 12345;
    assert_ok(mcp_store_info(S0, &ref, &info));
    assert_int_equal(store_counter(&d, MCP_COUNT_REPAIRS), 1);
    store_sound(&d);
}


/* An iteration over a session's streams that do not linger finds each of these
 * streams, although a repair has moved the last found one to the list of
 * lingering streams. */
TEST(repair_happens_during_an_iteration_over_streams__no_stream_is_skipped)
{
    int                taken, n;
    unsigned           i;
    uint64_t           position;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref[5];
    mcp_stream_info_t  info;
    mcp_stream_spec_t  spec;

    for (i = 0; i < 5; i++) {
        store_spec(&spec, i, 1);
        store_create(&d, 0, &spec, &ref[i]);
    }

    mcp_store_watch(S1, &ref[4], 1, 0, &cursor, &taken);
    mcp_store_set_state(S0, &ref[4], MCP_STATE_COMPLETED, 0);

    position = 0;
    assert_ok(mcp_store_session_next(S0, spec.session, 0, &position, &info,
                                     NULL));
    assert_int_equal(info.ref.index, ref[4].index);

    /* the state that a process leaves if it is killed directly after it has
     * detached the consumer */

    mcp_store_stream(S0->head, ref[4].index)->consumer_slot =
        MCP_STORE_NO_SLOT;
    d.died = 1;

    for (n = 0; mcp_store_session_next(S0, spec.session, 0, &position, &info,
                                       NULL) == MCP_OK; n++)
    {
        /* void */
    }

    assert_int_equal(n, 4);
    store_sound(&d);
}


/* The log has damage that no crash causes, but a stray write might: the repair
 * removes the damage and terminates. */
TEST(event_log_is_damaged__the_repair_ends_with_an_intact_store)
{
    unsigned            i;
    mcp_stream_ref_t    ref[8];
    mcp_stream_info_t   info;
    mcp_store_head_t   *head;
    mcp_store_stream_t *st;

    head = S0->head;

    for (i = 0; i < 8; i++) {
        create_ok(0, i, i, &ref[i]);
        store_append(&d, 0, &ref[i], store_message(i, 2000), -1,
                  MCP_STATE_PROCESSING);
        store_append(&d, 0, &ref[i], store_message(i, 2000), -1,
                  MCP_STATE_PROCESSING);
    }

    st = mcp_store_stream(head, ref[0].index);
    mcp_store_chunk(head, st->events.head)->next = st->events.head;
    st = mcp_store_stream(head, ref[1].index);
    st->events.head = UINT32_MAX;
    st = mcp_store_stream(head, ref[2].index);
    st->events.last = 1000;
    st = mcp_store_stream(head, ref[3].index);
    mcp_store_chunk(head, st->events.head)->used = 65535;
    st = mcp_store_stream(head, ref[4].index);
    mcp_store_chunk(head, st->text)->next = ref[6].index;
    st = mcp_store_stream(head, ref[5].index);
    st->events.head = mcp_store_stream(head, ref[4].index)->events.head;

    d.died = 1;
    assert_ok(mcp_store_info(S0, &ref[6], &info));
    store_sound(&d);
    assert_int_equal(mcp_store_info(S0, &ref[0], &info), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_info(S0, &ref[5], &info), MCP_ERR_NOT_FOUND);
    assert_int_equal(store_info(S0, &ref[4]).last_seq, 2);
}


RUN_TESTS(setup, teardown)
