/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_task.c, and the answers to tasks in mcp_store_inbox.c. */


#include "store_fixture.h"


static void
task(unsigned n, mcp_stream_ref_t *ref, uint64_t expires)
{
    mcp_stream_spec_t  spec;

    store_spec(&spec, n, n);
    spec.max_wait = 0;
    spec.max_events = 2;
    spec.max_bytes = 1000;
    store_create(&d, 0, &spec, ref);
    assert_ok(mcp_store_keep(S0, ref, expires, 5));
}


/* A task keeps its last event, of any length, and no earlier event. */
TEST(task_keeps_its_last_event_and_removes_all_earlier_events)
{
    size_t              i;
    mcp_buf_t           buf;
    mcp_store_lookup_t  lookup;
    mcp_stream_ref_t    ref;

    task(1, &ref, 100000);
    mcp_buf_init(&buf, &d.tm.mem, 1 << 24);
    assert_ok(mcp_store_lookup(S1, &ref, 0, &lookup, &buf));
    assert_int_equal(lookup.seq, 0);
    assert_int_equal(buf.len, 0);
    assert_int_equal(lookup.info.expires, 100000);
    assert_int_equal(lookup.info.changed, 5);

    for (i = 0; i < N_LENGTHS; i++) {
        d.died = i % 5 == 0;
        assert_ok(store_append(&d, 0, &ref, store_message((unsigned) i,
                                                          lengths[i]), 0
                               | MCP_STORE_ABOUT, MCP_STATE_PROCESSING));
        buf.len = 0;
        mcp_buf_lit(&buf, "x");
        assert_ok(mcp_store_lookup(S1, &ref, 0, &lookup, &buf));
        assert_int_equal(lookup.seq, i + 1);
        assert_int_equal(lookup.state, MCP_STATE_PROCESSING);
        assert_int_equal(lookup.info.first_seq, i + 1);
        assert_int_equal(buf.len, lengths[i] + 1);
        assert_memory_equal(buf.data + 1,
                            store_message((unsigned) i, lengths[i]).data,
                            lengths[i]);
        store_sound(&d);
    }

    /* a lookup copies the last event: MCP_ERR_MEMORY if the buffer cannot be
     * allocated, MCP_ERR_LIMIT if the event exceeds the buffer's limit */

    complete_ok(0, &ref, store_message(1, 70000));
    mcp_buf_free(&buf);
    d.tm.fail_at = 1;
    assert_int_equal(mcp_store_lookup(S1, &ref, 0, &lookup, &buf),
                     MCP_ERR_MEMORY);
    mcp_buf_init(&buf, &d.tm.mem, 1000);
    assert_int_equal(mcp_store_lookup(S1, &ref, 0, &lookup, &buf),
                     MCP_ERR_LIMIT);
    mcp_buf_free(&buf);

    mcp_store_free(S0, &ref);
    assert_int_equal(mcp_store_lookup(S1, &ref, 0, &lookup, &buf),
                     MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_keep(S1, &ref, 1, 0), MCP_ERR_NOT_FOUND);
}


/* mcp_store_lookup() returns the state that Redis has acknowledged, or with
 * "ahead" the owner's state. */
TEST(task_state_is_not_acknowledged__lookup_returns_it_only_on_request)
{
    mcp_buf_t           buf;
    mcp_store_lookup_t  lookup;
    mcp_stream_ref_t    ref;

    task(1, &ref, 100000);
    assert_ok(mcp_store_replication_start(S0, &ref, 1));
    mcp_buf_init(&buf, &d.tm.mem, 1 << 24);

    assert_ok(store_append(&d, 0, &ref, store_message(1, 70000), 0
                           | MCP_STORE_ABOUT, MCP_STATE_INPUT_REQUIRED));

    assert_ok(mcp_store_lookup(S1, &ref, 0, &lookup, &buf));
    assert_int_equal(lookup.seq, 0);
    assert_int_equal(lookup.info.state, MCP_STATE_PROCESSING);
    assert_int_equal(buf.len, 0);

    assert_ok(mcp_store_lookup(S1, &ref, 1, &lookup, &buf));
    assert_int_equal(lookup.seq, 1);
    assert_int_equal(lookup.state, MCP_STATE_INPUT_REQUIRED);
    assert_int_equal(lookup.info.state, MCP_STATE_INPUT_REQUIRED);
    assert_int_equal(buf.len, 70000);
    assert_memory_equal(buf.data, store_message(1, 70000).data, buf.len);

    mcp_buf_free(&buf);
    store_sound(&d);
}


/* A task is kept until it expires: it does not linger, and is not evicted. */
TEST(task_is_neither_evicted_nor_freed_before_it_expires)
{
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref, hog, listener;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    task(1, &ref, 1000);
    complete_ok(0, &ref, mcp_str("r"));

    /* the last event was read: the task is kept nevertheless */

    watch_ok(S1, &ref, 5, 0, &cursor);
    mcp_store_unwatch(S1, &ref, 5, 1, 10);
    store_sound(&d);

    create_ok(0, 2, 2, &hog);

    while (store_append(&d, 0, &hog, store_message(1, 60000), 0,
                     MCP_STATE_PROCESSING) == MCP_OK) { /* void */ }

    assert_ok(mcp_store_find(S1, ref.id, 999, &info));
    assert_int_equal(mcp_store_sweep(S0, 999, UINT32_MAX, NULL, NULL), 0);
    assert_int_equal(mcp_store_find(S1, ref.id, 1000, &info),
                     MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_sweep(S0, 1000, UINT32_MAX, NULL, NULL), 1);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_ERR_NOT_FOUND);

    /* an active task expires as well */

    mcp_store_free(S0, &hog);
    task(3, &ref, 2000);
    assert_int_equal(mcp_store_sweep(S0, 2000, UINT32_MAX, NULL, NULL), 1);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_ERR_NOT_FOUND);

    store_spec(&spec, 4, 4);
    spec.kind = MCP_STREAM_LISTEN;
    store_create(&d, 0, &spec, &listener);
    assert_int_equal(mcp_store_keep(S0, &listener, 1, 0), MCP_ERR_NOT_FOUND);
}


/* Each question of an event can be answered once. The answer to the last open
 * question sets the state to PROCESSING. */
TEST(each_question_of_a_task_can_be_answered_once)
{
    uint64_t            tag;
    mcp_buf_t           buf;
    mcp_inbox_item_e    type;
    mcp_store_lookup_t  lookup;
    mcp_stream_ref_t    ref;
    mcp_store_wake_t    wake;

    task(1, &ref, 100000);
    mcp_buf_init(&buf, &d.tm.mem, 1 << 20);
    assert_int_equal(mcp_store_answer(S1, &ref, 0, 1, 1, mcp_str("a"), 6),
                     MCP_AGAIN);
    assert_ok(store_append(&d, 0, &ref, mcp_str("{}"), 0 | MCP_STORE_ABOUT,
                           MCP_STATE_INPUT_REQUIRED));
    assert_int_equal(mcp_store_answer(S1, &ref, 2, 1, 7, mcp_str("a"), 6),
                     MCP_AGAIN);
    assert_ok(mcp_store_answer(S1, &ref, 1, 5, 7, mcp_str("a"), 6));
    assert_ok(mcp_store_lookup(S0, &ref, 0, &lookup, &buf));
    assert_int_equal(lookup.given, 5);
    assert_int_equal(lookup.info.changed, 6);
    assert_int_equal(lookup.info.state, MCP_STATE_INPUT_REQUIRED);
    assert_int_equal(mcp_store_answer(S1, &ref, 1, 3, 7, mcp_str("b"), 7),
                     MCP_AGAIN);

    /* an answer that exceeds max_bytes is rejected */

    assert_int_equal(mcp_store_answer(S1, &ref, 1, 2, 7, store_message(1,
                                                                       1000),
                                      7), MCP_ERR_LIMIT);
    assert_int_equal(mcp_store_answer(S0, &ref, 1, 2, 7, store_message(1,
                                                                       100000),
                                      7), MCP_ERR_LIMIT);
    assert_ok(mcp_store_answer(S1, &ref, 1, 2, 7, mcp_str("bb"), 7));
    assert_ok(mcp_store_lookup(S0, &ref, 0, &lookup, &buf));
    assert_int_equal(lookup.info.state, MCP_STATE_PROCESSING);
    assert_int_equal(lookup.state, MCP_STATE_INPUT_REQUIRED);
    assert_int_equal(mcp_store_answer(S1, &ref, 1, 8, 15, mcp_str("c"), 8),
                     MCP_AGAIN);
    store_sound(&d);

    assert_int_equal(store_drain(&d, 0, &wake), 1);
    buf.len = 0;
    assert_ok(mcp_store_take(S0, &ref, &type, &tag, &buf));
    assert_int_equal(type, MCP_INBOX_TASK);
    assert_int_equal(tag, 1);
    assert_ok(mcp_store_take(S0, &ref, &type, &tag, &buf));
    assert_memory_equal(buf.data, "abb", 3);
    assert_int_equal(mcp_store_take(S0, &ref, &type, &tag, &buf), MCP_AGAIN);

    /* the questions of the next event are not answered yet */

    assert_ok(store_append(&d, 0, &ref, mcp_str("{}"), 0 | MCP_STORE_ABOUT,
                           MCP_STATE_INPUT_REQUIRED));
    assert_ok(mcp_store_lookup(S0, &ref, 0, &lookup, &buf));
    assert_int_equal(lookup.given, 0);
    assert_ok(mcp_store_set_state(S0, &ref, MCP_STATE_CANCELLED, 9));
    assert_int_equal(mcp_store_answer(S1, &ref, 2, 1, 1, mcp_str("a"), 9),
                     MCP_ERR_NOT_FOUND);
    mcp_buf_free(&buf);
}


RUN_TESTS(setup, teardown)
