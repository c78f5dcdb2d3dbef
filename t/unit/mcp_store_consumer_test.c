
/* mcp_store_consumer.c: following a stream, taking it over. */


#include "store_fixture.h"


/* Reading while the stream grows, its start is dropped, and the store is
 * repaired in between. */
static void
test_follow(void **state)
{
    int                taken, rc;
    char               buf[700];
    size_t             len;
    unsigned           i;
    mcp_buf_t          want, have;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    (void) state;

    mcp_buf_init(&want, &d.tm.mem, 1 << 24);
    mcp_buf_init(&have, &d.tm.mem, 1 << 24);

    store_spec(&spec, 1, 1);
    spec.max_events = 100;
    store_create(&d, 0, &spec, &ref);
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken), MCP_OK);

    for (i = 1; i <= 3000; i++) {
        mcp_str_t  message = store_message(i, i * 37 % 1500);

        d.died = i % 13 == 0;
        rc = store_say(&d, 0, &ref, message, -1, MCP_STATE_PROCESSING);

        if (rc == MCP_ERR_LIMIT) {
            i--;

        } else {
            assert_int_equal(rc, MCP_OK);
            expect_event(&want, &ref, i, message);
        }

        if (i % 3 && rc == MCP_OK) {
            continue;
        }

        d.died = i % 7 == 0;

        if (mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf,
                           64 + i % 600, &len) == MCP_OK)
        {
            mcp_buf_add(&have, buf, len);
        }

        if (i % 100 == 0) {
            store_sound(&d);
        }
    }

    assert_int_equal(read_all(1, &ref, 5, &cursor, 1000, &have), MCP_AGAIN);
    same(&have, &want);

    mcp_buf_free(&want);
    mcp_buf_free(&have);
}


static void
test_takeover(void **state)
{
    int                taken;
    char               buf[500];
    size_t             len;
    mcp_cursor_t       a, b, c;
    mcp_stream_ref_t   ref;
    mcp_store_wake_t   wake;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    store_spec(&spec, 1, 1);
    store_create(&d, 0, &spec, &ref);

    assert_int_equal(mcp_store_watch(S0, &ref, 1, 0, &a, &taken), MCP_OK);
    assert_int_equal(taken, 0);
    assert_int_equal(store_drain(&d, 0, &wake), 1);    /* the owner */
    assert_int_equal(wake.owner, 1);

    assert_int_equal(mcp_store_read(S0, &ref, 1, &a, 0, buf, sizeof(buf),
                                    &len), MCP_AGAIN);
    assert_int_equal(store_say(&d, 0, &ref, mcp_str("one"), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(d.woken[0], 1);

    /* twice before the first has looked */

    assert_int_equal(mcp_store_watch(S1, &ref, 2, 0, &b, &taken), MCP_OK);
    assert_int_equal(taken, 1);
    assert_int_equal(mcp_store_watch(S1, &ref, 3, 0, &c, &taken), MCP_OK);
    assert_int_equal(taken, 1);
    store_sound(&d);

    assert_int_equal(store_drain(&d, 1, &wake), 1);
    assert_int_equal(wake.owner, 0);
    assert_int_equal(wake.handle, 2);
    assert_int_equal(wake.ref.index, ref.index);
    assert_int_equal(store_drain(&d, 0, NULL), 2);     /* owner, handle 1 */

    assert_int_equal(mcp_store_read(S0, &ref, 1, &a, 0, buf, sizeof(buf),
                                    &len), MCP_ERR_DENIED);
    assert_int_equal(mcp_store_read(S1, &ref, 2, &b, 0, buf, sizeof(buf),
                                    &len), MCP_ERR_DENIED);
    mcp_store_unwatch(S1, &ref, 2, 1, 9);
    assert_int_equal(mcp_store_read(S1, &ref, 3, &c, 0, buf, sizeof(buf),
                                    &len), MCP_OK);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.unattended, 0);
    assert_int_equal(info.consumer_handle, 3);

    mcp_store_unwatch(S1, &ref, 3, 1, 9);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.unattended, 9);
    assert_int_equal(info.sent_seq, 1);
    assert_int_equal(info.consumer_slot, MCP_STORE_NO_SLOT);

    /* freed under a consumer, which is told */

    assert_int_equal(mcp_store_watch(S1, &ref, 4, 1, &b, &taken), MCP_OK);
    mcp_store_free(S0, &ref);
    store_sound(&d);
    assert_int_equal(store_drain(&d, 1, &wake), 1);
    assert_int_equal(wake.handle, 4);
    assert_memory_equal(wake.ref.id, ref.id, MCP_STREAM_ID_LEN);
    assert_int_equal(mcp_store_read(S1, &ref, 4, &b, 0, buf, sizeof(buf),
                                    &len), MCP_ERR_NOT_FOUND);
    mcp_store_free(S0, &ref);

    /* freed by another than its owner, which is told, too */

    store_create(&d, 0, &spec, &ref);
    store_drain(&d, 0, NULL);
    mcp_store_free(S1, &ref);
    assert_int_equal(store_drain(&d, 0, &wake), 1);
    assert_int_equal(wake.handle, spec.handle);
    assert_int_equal(wake.owner, 1);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        store_test(test_follow),
        store_test(test_takeover),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
