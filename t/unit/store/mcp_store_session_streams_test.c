/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_session_streams.c: iteration over the streams of a session. */


#include "store_fixture.h"


static void
test_session_walk(void **state)
{
    unsigned           i, n;
    uint64_t           position;
    mcp_buf_t          request;
    mcp_stream_ref_t   ref[20];
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

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
        store_spec(&spec, 100 + n, 2);
        store_create(&d, 0, &spec, &ref[0]);
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
        assert_int_equal(mcp_store_session_next(S0, spec.session, sent,
                                                &position, &info, NULL),
                         MCP_OK);
        assert_int_equal(info.ref.index, ref[*numbers - '0'].index);
    }

    assert_int_equal(mcp_store_session_next(S0, spec.session, sent, &position,
                                            &info, NULL), MCP_DONE);
}


/* A session's lingering streams are in a list of their own; the stream that
 * was the last to begin lingering is the first in the list, even after a
 * repair. */
static void
test_session_sent(void **state)
{
    int                taken;
    unsigned           i;
    uint64_t           seq;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref[5];
    mcp_stream_spec_t  spec;

    (void) state;

    for (i = 0; i < 5; i++) {
        store_spec(&spec, i, 1);
        store_create(&d, 0, &spec, &ref[i]);
    }

    assert_int_equal(mcp_store_append(S0, &ref[0], mcp_str("x"), 0,
                                      MCP_STATE_COMPLETED, 1, &seq), MCP_OK);
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

    assert_int_equal(mcp_store_watch(S0, &ref[3], 1, 0, &cursor, &taken),
                     MCP_OK);
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


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        store_test(test_session_walk),
        store_test(test_session_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
