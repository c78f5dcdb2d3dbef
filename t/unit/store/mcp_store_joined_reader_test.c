/* SPDX-License-Identifier: Apache-2.0 */

#include "store_fixture.h"


static const unsigned char  key[] = "what is asked for";


static void
joinable(mcp_stream_ref_t *ref)
{
    mcp_stream_spec_t  spec;

    store_spec(&spec, 1, 1);
    spec.join = key;
    spec.max_events = 4;
    store_create(&d, 0, &spec, ref);
}


/* A consumer and joined readers read a stream independently, and none
 * displaces another. */
static void
test_joined_readers(void **state)
{
    int                taken;
    mcp_buf_t          a, b;
    mcp_cursor_t       first, second, third;
    mcp_stream_ref_t   ref;
    mcp_stream_info_t  info;

    (void) state;

    joinable(&ref);
    mcp_buf_init(&a, &d.tm.mem, SIZE_MAX / 2);
    mcp_buf_init(&b, &d.tm.mem, SIZE_MAX / 2);

    assert_int_equal(mcp_store_watch(S0, &ref, 1, 0, &first, &taken), MCP_OK);
    store_append(&d, 0, &ref, mcp_str("one"), -1, MCP_STATE_PROCESSING);
    assert_int_equal(mcp_store_join(S1, &ref, 2, 0, &second), MCP_OK);
    assert_int_equal(mcp_store_join(S0, &ref, 3, 1, &third), MCP_OK);
    store_drain(&d, 0, NULL);
    store_drain(&d, 1, NULL);

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
    assert_int_equal(mcp_store_info(S1, &ref, &info), MCP_OK);
    assert_int_equal(info.unattended, 0);
    mcp_store_unwatch(S0, &ref, 3, 2, 30);
    assert_int_equal(mcp_store_info(S1, &ref, &info), MCP_OK);
    assert_int_equal(info.unattended, 30);

    mcp_buf_free(&a);
    mcp_buf_free(&b);
}


/* Events that the consumer has sent make room. While there is no consumer,
 * events that the fastest joined reader has sent make room. */
static void
test_pace(void **state)
{
    int                taken;
    size_t             len;
    char               buf[200];
    unsigned           i;
    mcp_cursor_t       first, second;
    mcp_stream_ref_t   ref;
    mcp_stream_info_t  info;

    (void) state;

    joinable(&ref);
    assert_int_equal(mcp_store_watch(S0, &ref, 1, 0, &first, &taken), MCP_OK);
    assert_int_equal(mcp_store_join(S1, &ref, 2, 0, &second), MCP_OK);

    for (i = 0; i < 4; i++) {
        assert_int_equal(store_append(&d, 0, &ref, mcp_str("x"), -1,
                                   MCP_STATE_PROCESSING), MCP_OK);
    }

    assert_int_equal(mcp_store_read(S1, &ref, 2, &second, 0, buf, sizeof(buf),
                                    &len), MCP_OK);
    assert_int_equal(mcp_store_read(S1, &ref, 2, &second, second.seq, buf,
                                    sizeof(buf), &len), MCP_AGAIN);
    assert_int_equal(store_append(&d, 0, &ref, mcp_str("x"), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_LIMIT);
    assert_int_equal(mcp_store_info(S1, &ref, &info), MCP_OK);
    assert_int_equal(info.sent_seq, 0);

    /* the consumer leaves: the events that the fastest joined reader has sent
     * make room */

    mcp_store_unwatch(S0, &ref, 1, 0, 5);
    store_drain(&d, 0, NULL);
    assert_int_equal(mcp_store_read(S1, &ref, 2, &second, second.seq, buf,
                                    sizeof(buf), &len), MCP_AGAIN);
    assert_int_equal(mcp_store_info(S1, &ref, &info), MCP_OK);
    assert_int_equal(info.sent_seq, 4);
    assert_int_equal(store_drain(&d, 0, NULL), 1);
    assert_int_equal(store_append(&d, 0, &ref, mcp_str("x"), -1,
                               MCP_STATE_PROCESSING), MCP_OK);

    mcp_store_unwatch(S1, &ref, 2, 4, 6);
}


static void
test_gone(void **state)
{
    int                taken;
    size_t             len;
    char               buf[200];
    uint64_t           since;
    mcp_cursor_t       first, second;
    mcp_store_wake_t   wake;
    mcp_stream_ref_t   ref;

    (void) state;

    joinable(&ref);
    assert_int_equal(mcp_store_join(S1, &ref, 2, 0, &second), MCP_OK);
    assert_int_equal(mcp_store_watch(S0, &ref, 1, 0, &first, &taken), MCP_OK);
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
static void
test_death(void **state)
{
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_info_t  info;

    (void) state;

    joinable(&ref);
    assert_int_equal(mcp_store_join(S1, &ref, 2, 0, &cursor), MCP_OK);
    mcp_store_detach(S1);
    store_sound(&d);
    mcp_store_sweep(S0, 77, UINT32_MAX, NULL, NULL);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.unattended, 77);
}


static void
test_limit(void **state)
{
    unsigned          i;
    mcp_cursor_t      cursor;
    mcp_stream_ref_t  ref;

    (void) state;

    joinable(&ref);

    for (i = 1; i <= MCP_STORE_READERS; i++) {
        assert_int_equal(mcp_store_join(S1, &ref, i, 0, &cursor), MCP_OK);
    }

    assert_int_equal(mcp_store_join(S1, &ref, i, 0, &cursor), MCP_ERR_LIMIT);
    store_sound(&d);

    while (--i) {
        mcp_store_unwatch(S1, &ref, i, 0, 1);
    }
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        store_test(test_joined_readers),
        store_test(test_pace),
        store_test(test_gone),
        store_test(test_death),
        store_test(test_limit)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
