/* SPDX-License-Identifier: Apache-2.0 */


#include "store_fixture.h"


static const unsigned char  key[] = "what is asked for";


static void
spec_join(mcp_stream_spec_t *spec, unsigned id, unsigned once)
{
    store_spec(spec, id, 1);
    spec->join = key;
    spec->join_once = once;
    spec->params[0] = 1;
}


TEST(another_process_finds_a_call_by_the_key_that_equal_requests_share)
{
    mcp_stream_ref_t   ref, other;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    spec_join(&spec, 1, 0);
    assert_int_equal(mcp_store_join_find(S0, &spec, 1, &info),
                     MCP_ERR_NOT_FOUND);
    store_create(&d, 0, &spec, &ref);

    /* a process finds the call of another process */

    assert_ok(mcp_store_join_find(S1, &spec, 1, &info));
    assert_memory_equal(&info.ref, &ref, sizeof(ref));
    assert_int_equal(info.owner_slot, 0);

    spec_join(&spec, 2, 0);
    assert_int_equal(mcp_store_create(S1, &spec, 1, &other), MCP_ERR_EXISTS);

    spec.params[0] = 2;
    assert_int_equal(mcp_store_join_find(S1, &spec, 1, &info), MCP_ERR_DENIED);
    assert_int_equal(mcp_store_create(S1, &spec, 1, &other), MCP_ERR_DENIED);

    spec.join = (const unsigned char *) "another question";
    assert_int_equal(mcp_store_join_find(S1, &spec, 1, &info),
                     MCP_ERR_NOT_FOUND);
    store_create(&d, 1, &spec, &other);
    store_sound(&d);

    /* the stream is freed: no longer found */

    mcp_store_free(S1, &ref);
    spec_join(&spec, 3, 0);
    assert_int_equal(mcp_store_join_find(S1, &spec, 1, &info),
                     MCP_ERR_NOT_FOUND);
    store_create(&d, 1, &spec, &ref);
}


/* A stream that is created together with its consumer is never without a
 * consumer in between, so that it never counts as abandoned. */
TEST(stream_that_is_created_with_a_consumer_has_the_consumer_at_once)
{
    int                taken;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    spec_join(&spec, 1, 1);
    spec.consumer = 7;
    store_create(&d, 0, &spec, &ref);
    store_sound(&d);

    assert_ok(mcp_store_join_find(S1, &spec, 1, &info));
    assert_int_equal(info.consumer_slot, 0);
    assert_int_equal(info.consumer_handle, 7);

    assert_ok(mcp_store_watch(S0, &ref, 7, 0, &cursor, &taken));
    assert_int_equal(taken, 0);
    store_sound(&d);

    mcp_store_unwatch(S0, &ref, 7, 0, 2);
    assert_ok(mcp_store_join_find(S1, &spec, 2, &info));
    assert_int_equal(info.consumer_slot, MCP_STORE_NO_SLOT);
}


/* Without join_once, requests can join a call that is over until its stream is
 * due to be freed. */
TEST(finished_call_can_be_joined_until_its_stream_is_due_to_be_freed)
{
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    spec_join(&spec, 1, 0);
    spec.max_wait = 10;
    store_create(&d, 0, &spec, &ref);
    watch_ok(S0, &ref, 1, 0, &cursor);
    store_append(&d, 0, &ref, mcp_str("over"), 0, MCP_STATE_COMPLETED);
    mcp_store_unwatch(S0, &ref, 1, 0, 100);

    /* not all events were sent: kept for "linger", because the call can be
     * joined and its max_wait is shorter than "linger" */

    assert_ok(mcp_store_join_find(S1, &spec, 5099, &info));
    assert_int_equal(mcp_store_join_find(S1, &spec, 5100, &info),
                     MCP_ERR_NOT_FOUND);

    /* all events were sent: kept for "linger" */

    watch_ok(S0, &ref, 1, 0, &cursor);
    mcp_store_unwatch(S0, &ref, 1, 1, 200);
    assert_ok(mcp_store_join_find(S1, &spec, 5199, &info));
    assert_int_equal(info.state, MCP_STATE_COMPLETED);
    assert_int_equal(mcp_store_join_find(S1, &spec, 5200, &info),
                     MCP_ERR_NOT_FOUND);

    /* the stream is due to be freed: an equal call may create a stream */

    spec_join(&spec, 2, 0);
    assert_ok(mcp_store_create(S0, &spec, 5200, &ref));
    store_sound(&d);

    mcp_store_set_state(S0, &ref, MCP_STATE_CANCELLED, 0);
    assert_int_equal(mcp_store_join_find(S1, &spec, 5201, &info),
                     MCP_ERR_NOT_FOUND);
}


/* With join_once, requests can join a call until its response was sent. */
TEST(call_with_x_mcp_join_once_can_be_joined_until_its_response_was_sent)
{
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref, again;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    spec_join(&spec, 1, 1);
    store_create(&d, 0, &spec, &ref);
    watch_ok(S0, &ref, 1, 0, &cursor);
    assert_ok(mcp_store_join_find(S1, &spec, 1, &info));
    store_append(&d, 0, &ref, mcp_str("over"), 0, MCP_STATE_COMPLETED);
    assert_ok(mcp_store_join_find(S1, &spec, 1, &info));
    mcp_store_unwatch(S0, &ref, 1, 0, 2);
    assert_ok(mcp_store_join_find(S1, &spec, 2, &info));

    /* joined readers continue after the call can no longer be joined */

    assert_ok(mcp_store_join(S1, &ref, 7, 0, &cursor));
    assert_ok(mcp_store_join(S1, &ref, 8, 0, &cursor));
    mcp_store_unwatch(S1, &ref, 8, 1, 3);
    assert_int_equal(mcp_store_join_find(S1, &spec, 3, &info),
                     MCP_ERR_NOT_FOUND);

    spec_join(&spec, 2, 1);
    store_create(&d, 1, &spec, &again);
    store_sound(&d);
    assert_int_equal(store_info(S1, &ref).unattended, 0);
    assert_ok(mcp_store_join_find(S0, &spec, 3, &info));
    assert_memory_equal(&info.ref, &again, sizeof(again));

    mcp_store_free(S0, &again);
    assert_int_equal(mcp_store_join_find(S0, &spec, 3, &info),
                     MCP_ERR_NOT_FOUND);
    mcp_store_unwatch(S1, &ref, 7, 1, 3);
}


/* With join_once, a call of a stateless revision whose question was sent: an
 * equal request is a new call, because the client of the first one answers by
 * another request. In other revisions the request joins the call. */
TEST(call_with_x_mcp_join_once_asks_a_question__a_stateless_request_cannot_join)
{
    unsigned           i;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    static const unsigned  revisions[] = {
        MCP_REVISION_2025_11_25, MCP_REVISION_2026_07_28
    };

    for (i = 0; i < 2; i++) {
        spec_join(&spec, i + 1, 1);
        spec.revision = revisions[i];
        store_create(&d, 0, &spec, &ref);
        watch_ok(S0, &ref, 1, 0, &cursor);
        store_append(&d, 0, &ref, mcp_str("?"), 0, MCP_STATE_INPUT_REQUIRED);

        /* the client may not have received the question */

        mcp_store_unwatch(S0, &ref, 1, 0, 2);
        assert_ok(mcp_store_join_find(S1, &spec, 2, &info));

        watch_ok(S0, &ref, 1, 0, &cursor);
        mcp_store_unwatch(S0, &ref, 1, 1, 3);
        assert_int_equal(mcp_store_join_find(S1, &spec, 3, &info),
                         i == 0 ? MCP_OK : MCP_ERR_NOT_FOUND);

        /* with a key the request joins the call in any revision */

        spec.join_once = 0;
        assert_ok(mcp_store_join_find(S1, &spec, 3, &info));

        /* the question was answered: the call continues */

        store_append(&d, 0, &ref, mcp_str("on"), 0, MCP_STATE_PROCESSING);
        spec.join_once = 1;
        assert_ok(mcp_store_join_find(S1, &spec, 3, &info));
        mcp_store_free(S0, &ref);
    }
}


/* Calls and their joined readers survive a repair. */
TEST(joinable_call_and_its_joined_reader_survive_a_repair)
{
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref, gone;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    spec_join(&spec, 1, 0);
    store_create(&d, 0, &spec, &gone);
    mcp_store_free(S0, &gone);
    spec_join(&spec, 2, 0);
    store_create(&d, 0, &spec, &ref);
    assert_ok(mcp_store_join(S1, &ref, 7, 0, &cursor));

    S0->head->holder = 1;
    assert_ok(mcp_store_join_find(S1, &spec, 1, &info));
    store_sound(&d);
    assert_memory_equal(&info.ref, &ref, sizeof(ref));
    assert_int_equal(info.unattended, 0);

    mcp_store_unwatch(S1, &ref, 7, 0, 4);
    assert_int_equal(store_info(S1, &ref).unattended, 4);
}


static const unsigned char  joined_key[] = "what is asked for";


static void
joinable(mcp_stream_ref_t *ref)
{
    mcp_stream_spec_t  spec;

    store_spec(&spec, 1, 1);
    spec.join = joined_key;
    spec.max_events = 4;
    store_create(&d, 0, &spec, ref);
}


/* A consumer and joined readers read a stream independently, and none
 * displaces another. */
TEST(consumer_and_joined_readers_of_a_call_read_independently)
{
    mcp_buf_t          a, b;
    mcp_cursor_t       first, second, third;
    mcp_stream_ref_t   ref;

    joinable(&ref);
    mcp_buf_init(&a, &d.tm.mem, SIZE_MAX / 2);
    mcp_buf_init(&b, &d.tm.mem, SIZE_MAX / 2);

    watch_ok(S0, &ref, 1, 0, &first);
    store_append(&d, 0, &ref, mcp_str("one"), -1, MCP_STATE_PROCESSING);
    assert_ok(mcp_store_join(S1, &ref, 2, 0, &second));
    assert_ok(mcp_store_join(S0, &ref, 3, 1, &third));
    store_drain_all(&d);

    store_append(&d, 0, &ref, mcp_str("two"), 0, MCP_STATE_COMPLETED);
    assert_int_equal(store_drain(&d, 0, NULL), 2);
    assert_int_equal(store_drain(&d, 1, NULL), 1);
    store_sound(&d);

    assert_int_equal(read_all(0, &ref, 1, &first, 1000, &a), MCP_DONE);
    assert_int_equal(read_all(1, &ref, 2, &second, 1000, &b), MCP_DONE);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    b.len = 0;
    assert_int_equal(read_all(0, &ref, 3, &third, 1000, &b), MCP_DONE);
    assert_true(b.len < a.len);

    mcp_store_unwatch(S0, &ref, 1, 2, 10);
    mcp_store_unwatch(S1, &ref, 2, 2, 20);
    assert_int_equal(store_info(S1, &ref).unattended, 0);
    mcp_store_unwatch(S0, &ref, 3, 2, 30);
    assert_int_equal(store_info(S1, &ref).unattended, 30);

    mcp_buf_free(&a);
    mcp_buf_free(&b);
}


/* Events that the consumer has sent make room. While there is no consumer,
 * events that the fastest joined reader has sent make room. */
TEST(call_has_no_consumer__events_sent_by_the_fastest_joined_reader_make_room)
{
    size_t             len;
    char               buf[200];
    unsigned           i;
    mcp_cursor_t       first, second;
    mcp_stream_ref_t   ref;

    joinable(&ref);
    watch_ok(S0, &ref, 1, 0, &first);
    assert_ok(mcp_store_join(S1, &ref, 2, 0, &second));

    for (i = 0; i < 4; i++) {
        append_ok(0, &ref, mcp_str("x"));
    }

    assert_ok(mcp_store_read(S1, &ref, 2, &second, 0, buf, sizeof(buf), &len));
    assert_int_equal(mcp_store_read(S1, &ref, 2, &second, second.seq, buf,
                                    sizeof(buf), &len), MCP_AGAIN);
    append_rc(0, &ref, mcp_str("x"), MCP_ERR_LIMIT);
    assert_int_equal(store_info(S1, &ref).sent_seq, 0);

    /* the consumer leaves: the events that the fastest joined reader has sent
     * make room */

    mcp_store_unwatch(S0, &ref, 1, 0, 5);
    store_drain(&d, 0, NULL);
    assert_int_equal(mcp_store_read(S1, &ref, 2, &second, second.seq, buf,
                                    sizeof(buf), &len), MCP_AGAIN);
    assert_int_equal(store_info(S1, &ref).sent_seq, 4);
    assert_int_equal(store_drain(&d, 0, NULL), 1);
    append_ok(0, &ref, mcp_str("x"));

    mcp_store_unwatch(S1, &ref, 2, 4, 6);
}


TEST(consumer_leaves__the_stream_does_not_expire_while_a_joined_reader_remains)
{
    size_t             len;
    char               buf[200];
    uint64_t           since;
    mcp_cursor_t       first, second;
    mcp_store_wake_t   wake;
    mcp_stream_ref_t   ref;

    joinable(&ref);
    assert_ok(mcp_store_join(S1, &ref, 2, 0, &second));
    watch_ok(S0, &ref, 1, 0, &first);
    store_drain(&d, 0, NULL);

    /* the consumer leaves: the joined reader is woken, and the stream does not
     * expire while it has a joined reader */

    mcp_store_unwatch(S0, &ref, 1, 0, 5);
    assert_int_equal(store_drain(&d, 1, &wake), 1);
    assert_int_equal(wake.handle, 2);
    assert_int_equal(wake.kind, MCP_WAKE_CONSUMER);
    since = 5;
    assert_int_equal(mcp_store_expire(S0, &ref, &since), MCP_AGAIN);
    assert_int_equal(since, 0);

    mcp_store_free(S0, &ref);
    assert_int_equal(store_drain(&d, 1, &wake), 1);
    assert_memory_equal(wake.ref.id, ref.id, MCP_STREAM_ID_LEN);
    assert_int_equal(mcp_store_read(S1, &ref, 2, &second, 0, buf, sizeof(buf),
                                    &len), MCP_ERR_NOT_FOUND);
    store_sound(&d);
    mcp_store_unwatch(S1, &ref, 2, 0, 6);
    assert_int_equal(mcp_store_join(S1, &ref, 2, 0, &second),
                     MCP_ERR_NOT_FOUND);
}


/* A joined reader is removed when its process dies. */
TEST(process_of_a_joined_reader_ends__the_reader_is_removed)
{
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;

    joinable(&ref);
    assert_ok(mcp_store_join(S1, &ref, 2, 0, &cursor));
    mcp_store_detach(S1);
    store_sound(&d);
    mcp_store_sweep(S0, 77, UINT32_MAX, NULL, NULL);
    assert_int_equal(store_info(S0, &ref).unattended, 77);
}


TEST(call_has_the_maximum_of_joined_readers__another_reader_is_rejected)
{
    unsigned          i;
    mcp_cursor_t      cursor;
    mcp_stream_ref_t  ref;

    joinable(&ref);

    for (i = 1; i <= MCP_STORE_READERS; i++) {
        assert_ok(mcp_store_join(S1, &ref, i, 0, &cursor));
    }

    assert_int_equal(mcp_store_join(S1, &ref, i, 0, &cursor), MCP_ERR_LIMIT);
    store_sound(&d);

    while (--i) {
        mcp_store_unwatch(S1, &ref, i, 0, 1);
    }
}


RUN_TESTS(setup, teardown)
