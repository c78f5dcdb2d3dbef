/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_record_queue.c: reading the log from each position, with buffers of several
 * sizes. */


#include "store_fixture.h"


TEST(reader_resumes_after_any_event__it_gets_exactly_the_later_events)
{
    int                taken;
    size_t             i, k;
    mcp_buf_t          want, have;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    static const size_t  caps[] = { 64, 65, 100, 500, 16384, 65536, 1 << 20 };

    mcp_buf_init(&want, &d.tm.mem, 1 << 24);
    mcp_buf_init(&have, &d.tm.mem, 1 << 24);

    create_ok(0, 1, 1, &ref);

    for (i = 0; i < N_LENGTHS; i++) {
        assert_ok(store_append(&d, 0, &ref, store_message((unsigned) i,
                                                          lengths[i]), i
                               == N_LENGTHS - 1 ? 0 : -1, i == N_LENGTHS - 1
                               ? MCP_STATE_COMPLETED : MCP_STATE_PROCESSING));
    }

    store_sound(&d);

    for (k = 0; k < sizeof(caps) / sizeof(caps[0]); k++) {
        for (i = 0; i <= N_LENGTHS; i++) {
            size_t  n;

            want.len = 0;
            have.len = 0;

            for (n = i; n < N_LENGTHS; n++) {
                expect_event(&want, &ref, n + 1,
                             store_message((unsigned) n, lengths[n]));
            }

            assert_ok(mcp_store_watch(S1, &ref, 5, i, &cursor, &taken));
            assert_int_equal(taken, 0);
            assert_int_equal(read_all(1, &ref, 5, &cursor, caps[k], &have),
                             MCP_DONE);
            assert_int_equal(cursor.seq, N_LENGTHS);
            same(&have, &want);
            mcp_store_unwatch(S1, &ref, 5, i, 9);
        }
    }

    assert_int_equal(mcp_store_watch(S1, &ref, 5, N_LENGTHS + 1, &cursor,
                                     &taken), MCP_ERR_NOT_FOUND);
    assert_ok(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken));
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 0, have.data,
                                    MCP_STORE_READ_MIN - 1, &i),
                     MCP_ERR_LIMIT);
    mcp_buf_free(&want);
    mcp_buf_free(&have);
}


RUN_TESTS(setup, teardown)
