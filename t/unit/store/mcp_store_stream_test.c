/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_stream.c: states, alias and generation, times. */


#include "store_fixture.h"


TEST(stream_is_over__appends_and_messages_are_rejected)
{
    char               buf[500];
    size_t             len;
    mcp_buf_t          data;
    mcp_inbox_item_e   type;
    uint64_t           tag;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;

    create_ok(0, 1, 1, &ref);
    watch_ok(S1, &ref, 5, 0, &cursor);
    assert_ok(mcp_store_set_state(S0, &ref, MCP_STATE_INPUT_REQUIRED, 0));
    assert_int_equal(store_drain(&d, 1, NULL), 1);
    assert_int_equal(store_info(S0, &ref).state, MCP_STATE_INPUT_REQUIRED);

    assert_ok(mcp_store_inbox_put(S1, &ref, MCP_INBOX_INPUT, 3,
                                  mcp_str("{}")));
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 0, buf, sizeof(buf),
                                    &len), MCP_AGAIN);
    assert_ok(mcp_store_set_state(S0, &ref, MCP_STATE_CANCELLED, 0));
    assert_int_equal(store_drain(&d, 1, NULL), 1);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 0, buf, sizeof(buf),
                                    &len), MCP_DONE);

    /* the stream is over: appends, posts and a change of state are rejected,
     * except for a cancellation */

    append_rc(0, &ref, mcp_str("x"), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_set_state(S0, &ref, MCP_STATE_PROCESSING, 0),
                     MCP_ERR_NOT_FOUND);
    assert_ok(mcp_store_set_state(S0, &ref, MCP_STATE_CANCELLED, 0));
    assert_int_equal(mcp_store_inbox_put(S1, &ref, MCP_INBOX_INPUT, 0,
                                         mcp_null_str), MCP_ERR_NOT_FOUND);
    mcp_buf_init(&data, &d.tm.mem, 100);
    assert_int_equal(mcp_store_take(S0, &ref, &type, &tag, &data), MCP_AGAIN);
}


/* The owner's process is not woken when it frees a stream, but it is when it
 * revokes the stream. */
TEST(owner_revokes_its_stream__owner_is_woken_but_not_if_it_frees_the_stream)
{
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    create_ok(0, 1, 1, &ref);
    mcp_store_free(S0, &ref);
    assert_int_equal(store_drain(&d, 0, NULL), 0);

    store_spec(&spec, 2, 1);
    spec.handle = 7;
    store_create(&d, 0, &spec, &ref);
    mcp_store_revoke(S0, &ref);
    woken(0, 1, MCP_WAKE_OWNER, 7);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_ERR_NOT_FOUND);
    assert_int_equal(store_drain(&d, 0, NULL), 0);
}


/* Alias and generation. */
TEST(alias_is_set_by_the_consumer_and_each_generation_by_the_first_process)
{
    int                taken;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref[2];
    mcp_stream_info_t  info;

    create_ok(0, 1, 1, &ref[0]);
    create_ok(1, 2, 1, &ref[1]);

    /* only the consumer can set the alias: calls with another handle or from
     * another process have no effect */

    mcp_store_watch(S1, &ref[0], 5, 0, &cursor, &taken);
    assert_ok(mcp_store_set_alias(S1, &ref[0], 5, 7));
    mcp_store_watch(S0, &ref[0], 6, 0, &cursor, &taken);
    assert_ok(mcp_store_set_alias(S0, &ref[0], 6, 8));
    assert_ok(mcp_store_set_alias(S1, &ref[0], 5, 7));
    assert_ok(mcp_store_set_alias(S1, &ref[0], 6, 7));
    assert_ok(mcp_store_set_alias(S0, &ref[0], 5, 7));
    assert_ok(mcp_store_info(S1, &ref[0], &info));
    assert_int_equal(info.alias, 8);

    /* two processes replace generation 0: the first one succeeds */

    assert_int_equal(info.generation, 0);
    assert_ok(mcp_store_set_generation(S1, &ref[0], 0, 3));
    assert_int_equal(mcp_store_set_generation(S0, &ref[0], 0, 3),
                     MCP_ERR_DENIED);
    assert_int_equal(mcp_store_set_generation(S0, &ref[0], 2, 4),
                     MCP_ERR_DENIED);
    assert_int_equal(store_info(S1, &ref[0]).generation, 3);
    assert_int_equal(store_info(S1, &ref[1]).alias, 0);
    store_sound(&d);

    /* the stream is freed: alias and generation of the next stream in its
     * place are 0 */

    mcp_store_free(S0, &ref[0]);
    assert_int_equal(mcp_store_set_alias(S0, &ref[0], 6, 9),
                     MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_set_generation(S0, &ref[0], 3, 9),
                     MCP_ERR_NOT_FOUND);
    create_ok(0, 1, 1, &ref[0]);
    assert_ok(mcp_store_info(S1, &ref[0], &info));
    assert_int_equal(info.alias, 0);
    assert_int_equal(info.generation, 0);
    store_sound(&d);
}


/* mcp_store_touch() restarts the time that a stream may be without a consumer;
 * it has no effect while the stream has one. */
TEST(touching_a_stream_restarts_the_time_that_it_may_be_without_a_consumer)
{
    int                taken;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref, none;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    store_spec(&spec, 1, 1);
    store_create(&d, 0, &spec, &ref);
    complete_ok(0, &ref, mcp_str("1"));

    none = ref;
    none.id[0] ^= 1;
    assert_int_equal(mcp_store_touch(S1, &none, 1), MCP_ERR_NOT_FOUND);

    assert_ok(mcp_store_info(S0, &ref, &info));
    assert_ok(mcp_store_touch(S1, &ref, info.unattended + 777));
    taken = (int) info.unattended;
    assert_int_equal(store_info(S0, &ref).unattended, taken + 777);
    assert_ok(mcp_store_touch(S1, &ref, 1));
    assert_ok(mcp_store_info(S0, &ref, &info));
    assert_int_equal(info.unattended, taken + 777);

    /* a touched stream is kept for max_wait since the touch */

    mcp_store_sweep(S0, info.unattended + spec.max_wait - 1, UINT32_MAX, NULL,
                    NULL);
    assert_ok(mcp_store_info(S0, &ref, &info));

    assert_ok(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken));
    assert_ok(mcp_store_touch(S0, &ref, 900000));
    assert_int_equal(store_info(S0, &ref).unattended, 0);

    /* a stream that is over and whose events were sent is touched: no
     * effect */

    mcp_store_unwatch(S1, &ref, 5, 1, 1000000);
    assert_ok(mcp_store_touch(S0, &ref, 2000000));
    assert_int_equal(store_info(S0, &ref).unattended, 1000000);
    mcp_store_free(S0, &ref);
}


/* A stream that is over and whose events were sent is freed after "linger".
 * With MCP_PROMISE_TIME it is kept for max_wait, or until the client has
 * confirmed its last event. */
TEST(client_was_promised_a_time__its_finished_stream_is_kept_for_mcp_max_wait)
{
    int                promised;
    char               buf[4096];
    size_t             len;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    for (promised = 0; promised < 4; promised++) {
        store_spec(&spec, 1, 1);
        spec.promised = (promised > 0);
        spec.max_wait = promised == 3 ? 100 : 60000;
        store_create(&d, 0, &spec, &ref);
        complete_ok(0, &ref, mcp_str("1"));
        watch_ok(S1, &ref, 5, 0, &cursor);
        assert_ok(mcp_store_read(S1, &ref, 5, &cursor, 0, buf, sizeof(buf),
                                 &len));
        mcp_store_unwatch(S1, &ref, 5, 1, 1000000);

        if (promised == 2) {
            /* the last event was sent: a touch has no effect; the client then
             * confirms the event */

            mcp_store_touch(S0, &ref, 1055000);
            assert_int_equal(mcp_store_acknowledge(S0, &ref, 2),
                             MCP_ERR_NOT_FOUND);
            mcp_store_sweep(S0, 1059999, UINT32_MAX, NULL, NULL);
            assert_ok(mcp_store_info(S0, &ref, &info));
            assert_ok(mcp_store_acknowledge(S0, &ref, 1));
            assert_ok(mcp_store_info(S0, &ref, &info));
            assert_int_equal(info.first_seq, 1);
            assert_int_equal(info.confirmed_seq, 1);

        } else if (promised == 1) {
            mcp_store_sweep(S0, 1059999, UINT32_MAX, NULL, NULL);
            assert_ok(mcp_store_find(S0, spec.id, 1059999, &info));

            /* a stream that is due to be freed is not found, even before the
             * sweep */

            assert_int_equal(mcp_store_find(S0, spec.id, 1060000, &info),
                             MCP_ERR_NOT_FOUND);
            assert_ok(mcp_store_find(S0, spec.id, 0, &info));
            mcp_store_sweep(S0, 1060000, UINT32_MAX, NULL, NULL);

        } else {
            mcp_store_sweep(S0, 1004999, UINT32_MAX, NULL, NULL);
            assert_ok(mcp_store_info(S0, &ref, &info));
        }

        mcp_store_sweep(S0, 1065000, UINT32_MAX, NULL, NULL);
        assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_ERR_NOT_FOUND);
        store_sound(&d);
    }
}


/* mcp_store_expire() frees a stream only if it has had no consumer and was not
 * touched since the given time. */
TEST(stream_that_was_read_or_touched_since_a_given_time_does_not_expire)
{
    uint64_t           since;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    store_spec(&spec, 1, 1);
    assert_ok(mcp_store_create(S0, &spec, 10, &ref));

    since = 9;
    assert_int_equal(mcp_store_expire(S0, &ref, &since), MCP_AGAIN);
    assert_int_equal(since, 10);
    assert_ok(mcp_store_touch(S1, &ref, 20));
    assert_int_equal(mcp_store_expire(S0, &ref, &since), MCP_AGAIN);
    assert_int_equal(since, 20);

    watch_ok(S1, &ref, 5, 0, &cursor);
    assert_int_equal(mcp_store_expire(S0, &ref, &since), MCP_AGAIN);
    assert_int_equal(since, 0);

    mcp_store_unwatch(S1, &ref, 5, 0, 30);
    watch_ok(S1, &ref, 5, 0, &cursor);
    since = 30;
    assert_int_equal(mcp_store_expire(S0, &ref, &since), MCP_AGAIN);
    assert_int_equal(since, 0);

    /* the consumer's process dies: the time since which the stream has no
     * consumer is set by the next sweep, which also wakes the owner; before
     * that sweep, mcp_store_expire() does not free the stream */

    mcp_store_reclaim(S0, 1, 101);
    store_drain(&d, 0, NULL);
    since = 40;
    assert_int_equal(mcp_store_expire(S0, &ref, &since), MCP_AGAIN);
    assert_int_equal(since, 0);
    assert_int_equal(mcp_store_sweep(S0, 50, UINT32_MAX, NULL, NULL), 0);
    assert_int_equal(store_drain(&d, 0, NULL), 1);
    assert_int_equal(mcp_store_expire(S0, &ref, &since), MCP_AGAIN);
    assert_int_equal(since, 50);

    assert_ok(mcp_store_expire(S0, &ref, &since));
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_expire(S0, &ref, &since), MCP_ERR_NOT_FOUND);
}


TEST(streams_of_a_session_are_iterated__each_is_found_and_the_latest_is_first)
{
    unsigned           i, n;
    uint64_t           position;
    mcp_buf_t          request;
    mcp_stream_ref_t   ref[20];
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    for (i = 0; i < 20; i++) {
        store_spec(&spec, i, 1 + i % 2);
        store_create(&d, i % 2, &spec, &ref[i]);
    }

    /* an iteration finds the latest stream first, and no stream of another
     * session */

    mcp_buf_init(&request, &d.tm.mem, 100);
    position = 0;

    for (i = 18; mcp_store_session_next(S0, spec.session, 0, &position, &info,
                                        &request) == MCP_OK; i -= 2)
    {
        assert_int_equal(info.ref.index, ref[i + 1].index);
    }

    assert_int_equal(i, (unsigned) -2);
    assert_str_is(((mcp_str_t) { request.data, request.len }), "7777777777");
    mcp_buf_free(&request);

    /* during an iteration, the found stream and other streams are freed, and
     * streams of another session are created: the iteration finds the
     * remaining streams */

    position = 0;
    n = 0;

    while (mcp_store_session_next(S0, spec.session, 0, &position, &info, NULL)
           == MCP_OK)
    {
        mcp_store_free(S0, &info.ref);
        mcp_store_free(S0, &ref[15]);
        create_ok(0, 100 + n, 2, &ref[0]);
        n++;
    }

    assert_int_equal(n, 9);
}


/* Checks that an iteration over session 1 finds certain streams in this order:
 * "numbers" has their indexes in "ref". If "sent" is 1, the iteration is over
 * lingering streams. */
static void
expect_walk(const mcp_stream_ref_t *ref, int sent, const char *numbers)
{
    uint64_t           position;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    store_spec(&spec, 0, 1);
    position = 0;

    for ( /* void */ ; *numbers; numbers++) {
        assert_ok(mcp_store_session_next(S0, spec.session, sent, &position,
                                         &info, NULL));
        assert_int_equal(info.ref.index, ref[*numbers - '0'].index);
    }

    assert_int_equal(mcp_store_session_next(S0, spec.session, sent, &position,
                                            &info, NULL), MCP_DONE);
}


/* A session's lingering streams are in a list of their own; the stream that
 * was the last to begin lingering is the first in the list, even after a
 * repair. */
TEST(stream_begins_to_linger__it_becomes_first_in_its_sessions_lingering_list)
{
    unsigned           i;
    uint64_t           seq;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref[5];

    for (i = 0; i < 5; i++) {
        create_ok(0, i, 1, &ref[i]);
    }

    assert_ok(mcp_store_append(S0, &ref[0], mcp_str("x"), 0,
                               MCP_STATE_COMPLETED, 1, &seq));
    expect_walk(ref, 0, "43210");
    expect_walk(ref, 1, "");

    mcp_store_set_state(S0, &ref[3], MCP_STATE_COMPLETED, 0);
    mcp_store_set_state(S0, &ref[1], MCP_STATE_COMPLETED, 0);
    mcp_store_confirm(S0, &ref[0], 1);
    expect_walk(ref, 0, "42");
    expect_walk(ref, 1, "013");

    /* a lingering stream gets a consumer: it becomes the first in the list of
     * other streams; the consumer leaves: it becomes the first in the list of
     * lingering streams */

    watch_ok(S0, &ref[3], 1, 0, &cursor);
    expect_walk(ref, 0, "342");
    expect_walk(ref, 1, "01");
    mcp_store_unwatch(S0, &ref[3], 1, 0, 2);
    expect_walk(ref, 0, "42");
    expect_walk(ref, 1, "301");
    store_sound(&d);

    S0->head->holder = 1;
    expect_walk(ref, 0, "42");
    expect_walk(ref, 1, "301");
    store_sound(&d);

    mcp_store_free(S0, &ref[0]);
    expect_walk(ref, 0, "42");
    expect_walk(ref, 1, "31");
}


TEST(session_has_its_maximum_of_streams__another_stream_is_rejected)
{
    unsigned           i;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref[4];
    mcp_stream_spec_t  spec;

    for (i = 0; i < 3; i++) {
        store_spec(&spec, i, 1);
        spec.session_limit = 3;
        memset(spec.tenant.id, 8, MCP_DIGEST_LEN);
        store_create(&d, 0, &spec, &ref[i]);
    }

    store_spec(&spec, 9, 1);
    spec.session_limit = 3;
    assert_int_equal(mcp_store_create(S0, &spec, 1, &ref[3]), MCP_ERR_LIMIT);
    memset(spec.session, 9, MCP_DIGEST_LEN);
    assert_ok(mcp_store_create(S0, &spec, 1, &ref[3]));
    mcp_store_free(S0, &ref[3]);

    memset(spec.tenant.id, 8, MCP_DIGEST_LEN);
    spec.tenant.streams = 3;
    assert_int_equal(mcp_store_create(S0, &spec, 1, &ref[3]), MCP_ERR_LIMIT);

    /* a stream without a session and a tenant: no limit applies */
    memset(spec.tenant.id, 0, MCP_DIGEST_LEN);
    memset(spec.session, 0, MCP_DIGEST_LEN);
    assert_ok(mcp_store_create(S0, &spec, 1, &ref[3]));
    mcp_store_free(S0, &ref[3]);

    /* a lingering stream does not count towards the limits */

    store_spec(&spec, 9, 1);
    spec.session_limit = 3;
    memset(spec.tenant.id, 8, MCP_DIGEST_LEN);
    spec.tenant.streams = 3;
    complete_ok(0, &ref[1], mcp_str("{}"));
    assert_int_equal(mcp_store_create(S0, &spec, 1, &ref[3]), MCP_ERR_LIMIT);
    watch_ok(S1, &ref[1], 5, 0, &cursor);
    mcp_store_unwatch(S1, &ref[1], 5, 1, 3);
    assert_ok(mcp_store_create(S0, &spec, 1, &ref[3]));

    /* a lingering stream gets a consumer: it counts towards the limits
     * again */

    store_spec(&spec, 10, 1);
    spec.session_limit = 4;
    watch_ok(S1, &ref[1], 5, 0, &cursor);
    assert_int_equal(mcp_store_create(S0, &spec, 1, &ref[3]), MCP_ERR_LIMIT);
    mcp_store_unwatch(S1, &ref[1], 5, 1, 3);
    assert_ok(mcp_store_create(S0, &spec, 1, &ref[3]));
}


TEST(stream_is_found_by_its_id_and_adopted_with_its_whole_request)
{
    char               name[300];
    mcp_buf_t          request;
    mcp_stream_ref_t   ref, other;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    memset(name, 'n', sizeof(name));

    /* a character of two bytes at the limit of 127 bytes: truncation must not
     * split it */
    memcpy(name + 126, "\xc3\xa4", 2);

    store_spec(&spec, 1, 1);
    spec.name = (mcp_str_t) { name, sizeof(name) };
    spec.request = store_message(3, 5000);
    assert_ok(mcp_store_create(S0, &spec, 77, &ref));
    assert_int_equal(mcp_store_create(S0, &spec, 77, &other), MCP_ERR_EXISTS);

    assert_ok(mcp_store_find(S1, spec.id, 0, &info));
    assert_int_equal(info.ref.index, ref.index);
    assert_memory_equal(info.ref.id, spec.id, MCP_STREAM_ID_LEN);
    assert_memory_equal(info.session, spec.session, MCP_DIGEST_LEN);
    assert_memory_equal(info.principal, spec.principal, MCP_DIGEST_LEN);
    assert_int_equal(info.kind, MCP_STREAM_CALL);
    assert_int_equal(info.state, MCP_STATE_PROCESSING);
    assert_int_equal(info.revision, 3);
    assert_int_equal(info.unattended, 77);
    assert_int_equal(info.first_seq, 1);
    assert_int_equal(info.last_seq, 0);
    assert_int_equal(info.owner_slot, 0);
    assert_int_equal(info.consumer_slot, MCP_STORE_NO_SLOT);
    assert_string_equal(info.method, "tools/call");
    assert_int_equal(strlen(info.name), 126);
    assert_memory_equal(info.name, name, 126);

    spec.id[3]++;
    assert_int_equal(mcp_store_find(S1, spec.id, 0, &info), MCP_ERR_NOT_FOUND);
    memcpy(other.id, spec.id, MCP_STREAM_ID_LEN);
    other.index = ref.index;
    assert_int_equal(mcp_store_info(S1, &other, &info), MCP_ERR_NOT_FOUND);
    other.index = 0;
    assert_int_equal(mcp_store_info(S1, &other, &info), MCP_ERR_NOT_FOUND);
    other.index = UINT32_MAX;
    assert_int_equal(mcp_store_info(S1, &other, &info), MCP_ERR_NOT_FOUND);

    /* mcp_store_adopt() returns the complete request, even a long one */

    store_spec(&spec, 2, 2);
    spec.request = store_message(4, 300000);
    store_create(&d, 0, &spec, &ref);
    store_sound(&d);

    mcp_buf_init(&request, &d.tm.mem, 1024 * 1024);
    mcp_store_reclaim(S1, 0, 99);
    assert_int_equal(mcp_store_slot_pid(S1, 0), 100);
    mcp_store_reclaim(S1, 0, 100);
    assert_ok(mcp_store_adopt(S1, 5, &info, &request));
    assert_str_is(((mcp_str_t) { info.method, strlen(info.method) }),
                  "tools/call");

    request.len = 0;
    assert_ok(mcp_store_adopt(S1, 5, &info, &request));
    assert_int_equal(info.ref.index, ref.index);
    assert_int_equal(request.len, 300000);
    assert_memory_equal(request.data, store_message(4, 300000).data, 300000);
    mcp_buf_free(&request);
    store_attach(&d, 0, 100);
}


RUN_TESTS(setup, teardown)
