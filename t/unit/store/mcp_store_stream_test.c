/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_stream.c: states, alias and generation, times. */


#include "store_fixture.h"


static void
test_states(void **state)
{
    int                taken;
    char               buf[500];
    size_t             len;
    mcp_buf_t          data;
    mcp_inbox_item_e   type;
    uint64_t           tag;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    store_spec(&spec, 1, 1);
    store_create(&d, 0, &spec, &ref);
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken), MCP_OK);
    assert_int_equal(mcp_store_set_state(S0, &ref, MCP_STATE_INPUT_REQUIRED, 0),
                     MCP_OK);
    assert_int_equal(store_drain(&d, 1, NULL), 1);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.state, MCP_STATE_INPUT_REQUIRED);

    assert_int_equal(mcp_store_inbox_put(S1, &ref, MCP_INBOX_INPUT, 3,
                                    mcp_str("{}")), MCP_OK);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 0, buf, sizeof(buf),
                                    &len), MCP_AGAIN);
    assert_int_equal(mcp_store_set_state(S0, &ref, MCP_STATE_CANCELLED, 0),
                     MCP_OK);
    assert_int_equal(store_drain(&d, 1, NULL), 1);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 0, buf, sizeof(buf),
                                    &len), MCP_DONE);

    /* the stream is over: appends, posts and a change of state are rejected,
     * except for a cancellation */

    assert_int_equal(store_append(&d, 0, &ref, mcp_str("x"), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_set_state(S0, &ref, MCP_STATE_PROCESSING, 0),
                     MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_set_state(S0, &ref, MCP_STATE_CANCELLED, 0),
                     MCP_OK);
    assert_int_equal(mcp_store_inbox_put(S1, &ref, MCP_INBOX_INPUT, 0,
                                    mcp_null_str), MCP_ERR_NOT_FOUND);
    mcp_buf_init(&data, &d.tm.mem, 100);
    assert_int_equal(mcp_store_take(S0, &ref, &type, &tag, &data), MCP_AGAIN);
}


/* The owner's process is not woken when it frees a stream, but it is when it
 * revokes the stream. */
static void
test_revoke(void **state)
{
    mcp_store_wake_t   wake;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    store_spec(&spec, 1, 1);
    store_create(&d, 0, &spec, &ref);
    mcp_store_free(S0, &ref);
    assert_int_equal(store_drain(&d, 0, NULL), 0);

    store_spec(&spec, 2, 1);
    spec.handle = 7;
    store_create(&d, 0, &spec, &ref);
    mcp_store_revoke(S0, &ref);
    assert_int_equal(store_drain(&d, 0, &wake), 1);
    assert_int_equal(wake.kind, MCP_WAKE_OWNER);
    assert_int_equal(wake.handle, 7);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_ERR_NOT_FOUND);
    assert_int_equal(store_drain(&d, 0, NULL), 0);
}


/* Alias and generation. */
static void
test_notes(void **state)
{
    int                taken;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref[2];
    mcp_stream_info_t  info;
    mcp_stream_spec_t  spec;

    (void) state;

    store_spec(&spec, 1, 1);
    store_create(&d, 0, &spec, &ref[0]);
    store_spec(&spec, 2, 1);
    store_create(&d, 1, &spec, &ref[1]);

    /* only the consumer can set the alias: calls with another handle or from
     * another process have no effect */

    mcp_store_watch(S1, &ref[0], 5, 0, &cursor, &taken);
    assert_int_equal(mcp_store_set_alias(S1, &ref[0], 5, 7), MCP_OK);
    mcp_store_watch(S0, &ref[0], 6, 0, &cursor, &taken);
    assert_int_equal(mcp_store_set_alias(S0, &ref[0], 6, 8), MCP_OK);
    assert_int_equal(mcp_store_set_alias(S1, &ref[0], 5, 7), MCP_OK);
    assert_int_equal(mcp_store_set_alias(S1, &ref[0], 6, 7), MCP_OK);
    assert_int_equal(mcp_store_set_alias(S0, &ref[0], 5, 7), MCP_OK);
    assert_int_equal(mcp_store_info(S1, &ref[0], &info), MCP_OK);
    assert_int_equal(info.alias, 8);

    /* two processes replace generation 0: the first one succeeds */

    assert_int_equal(info.generation, 0);
    assert_int_equal(mcp_store_set_generation(S1, &ref[0], 0, 3), MCP_OK);
    assert_int_equal(mcp_store_set_generation(S0, &ref[0], 0, 3),
                     MCP_ERR_DENIED);
    assert_int_equal(mcp_store_set_generation(S0, &ref[0], 2, 4),
                     MCP_ERR_DENIED);
    assert_int_equal(mcp_store_info(S1, &ref[0], &info), MCP_OK);
    assert_int_equal(info.generation, 3);
    assert_int_equal(mcp_store_info(S1, &ref[1], &info), MCP_OK);
    assert_int_equal(info.alias, 0);
    store_sound(&d);

    /* the stream is freed: alias and generation of the next stream in its
     * place are 0 */

    mcp_store_free(S0, &ref[0]);
    assert_int_equal(mcp_store_set_alias(S0, &ref[0], 6, 9),
                     MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_set_generation(S0, &ref[0], 3, 9),
                     MCP_ERR_NOT_FOUND);
    store_spec(&spec, 1, 1);
    store_create(&d, 0, &spec, &ref[0]);
    assert_int_equal(mcp_store_info(S1, &ref[0], &info), MCP_OK);
    assert_int_equal(info.alias, 0);
    assert_int_equal(info.generation, 0);
    store_sound(&d);
}


/* mcp_store_touch() restarts the time that a stream may be without a consumer;
 * it has no effect while the stream has one. */
static void
test_touch(void **state)
{
    int                taken;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref, none;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    store_spec(&spec, 1, 1);
    store_create(&d, 0, &spec, &ref);
    assert_int_equal(store_append(&d, 0, &ref, mcp_str("1"), 0,
                               MCP_STATE_COMPLETED), MCP_OK);

    none = ref;
    none.id[0] ^= 1;
    assert_int_equal(mcp_store_touch(S1, &none, 1), MCP_ERR_NOT_FOUND);

    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(mcp_store_touch(S1, &ref, info.unattended + 777), MCP_OK);
    taken = (int) info.unattended;
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.unattended, taken + 777);
    assert_int_equal(mcp_store_touch(S1, &ref, 1), MCP_OK);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.unattended, taken + 777);

    /* a touched stream is kept for max_wait since the touch */

    mcp_store_sweep(S0, info.unattended + spec.max_wait - 1, UINT32_MAX, NULL,
                    NULL);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);

    assert_int_equal(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken), MCP_OK);
    assert_int_equal(mcp_store_touch(S0, &ref, 900000), MCP_OK);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.unattended, 0);

    /* a stream that is over and whose events were sent is touched: no
     * effect */

    mcp_store_unwatch(S1, &ref, 5, 1, 1000000);
    assert_int_equal(mcp_store_touch(S0, &ref, 2000000), MCP_OK);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.unattended, 1000000);
    mcp_store_free(S0, &ref);
}


/* A stream that is over and whose events were sent is freed after "linger".
 * With MCP_PROMISE_TIME it is kept for max_wait, or until the client has
 * confirmed its last event. */
static void
test_promised(void **state)
{
    int                taken, promised;
    char               buf[4096];
    size_t             len;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    for (promised = 0; promised < 4; promised++) {
        store_spec(&spec, 1, 1);
        spec.promised = (promised > 0);
        spec.max_wait = promised == 3 ? 100 : 60000;
        store_create(&d, 0, &spec, &ref);
        assert_int_equal(store_append(&d, 0, &ref, mcp_str("1"), 0,
                                   MCP_STATE_COMPLETED), MCP_OK);
        assert_int_equal(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken),
                         MCP_OK);
        assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 0, buf,
                                        sizeof(buf), &len), MCP_OK);
        mcp_store_unwatch(S1, &ref, 5, 1, 1000000);

        if (promised == 2) {
            /* the last event was sent: a touch has no effect; the client then
             * confirms the event */

            mcp_store_touch(S0, &ref, 1055000);
            assert_int_equal(mcp_store_acknowledge(S0, &ref, 2),
                             MCP_ERR_NOT_FOUND);
            mcp_store_sweep(S0, 1059999, UINT32_MAX, NULL, NULL);
            assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
            assert_int_equal(mcp_store_acknowledge(S0, &ref, 1), MCP_OK);
            assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
            assert_int_equal(info.first_seq, 1);
            assert_int_equal(info.confirmed_seq, 1);

        } else if (promised == 1) {
            mcp_store_sweep(S0, 1059999, UINT32_MAX, NULL, NULL);
            assert_int_equal(mcp_store_find(S0, spec.id, 1059999, &info),
                             MCP_OK);

            /* a stream that is due to be freed is not found, even before the
             * sweep */

            assert_int_equal(mcp_store_find(S0, spec.id, 1060000, &info),
                             MCP_ERR_NOT_FOUND);
            assert_int_equal(mcp_store_find(S0, spec.id, 0, &info), MCP_OK);
            mcp_store_sweep(S0, 1060000, UINT32_MAX, NULL, NULL);

        } else {
            mcp_store_sweep(S0, 1004999, UINT32_MAX, NULL, NULL);
            assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
        }

        mcp_store_sweep(S0, 1065000, UINT32_MAX, NULL, NULL);
        assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_ERR_NOT_FOUND);
        store_sound(&d);
    }
}


/* mcp_store_expire() frees a stream only if it has had no consumer and was not
 * touched since the given time. */
static void
test_expire(void **state)
{
    int                taken;
    uint64_t           since;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    store_spec(&spec, 1, 1);
    assert_int_equal(mcp_store_create(S0, &spec, 10, &ref), MCP_OK);

    since = 9;
    assert_int_equal(mcp_store_expire(S0, &ref, &since), MCP_AGAIN);
    assert_int_equal(since, 10);
    assert_int_equal(mcp_store_touch(S1, &ref, 20), MCP_OK);
    assert_int_equal(mcp_store_expire(S0, &ref, &since), MCP_AGAIN);
    assert_int_equal(since, 20);

    assert_int_equal(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken), MCP_OK);
    assert_int_equal(mcp_store_expire(S0, &ref, &since), MCP_AGAIN);
    assert_int_equal(since, 0);

    mcp_store_unwatch(S1, &ref, 5, 0, 30);
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken), MCP_OK);
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

    assert_int_equal(mcp_store_expire(S0, &ref, &since), MCP_OK);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_expire(S0, &ref, &since), MCP_ERR_NOT_FOUND);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        store_test(test_states),
        store_test(test_revoke),
        store_test(test_notes),
        store_test(test_touch),
        store_test(test_promised),
        store_test(test_expire),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
