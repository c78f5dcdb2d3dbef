/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Common parts of the tests of the store's files: the region d with two
 * processes. After each test it must be intact and empty.
 */


#ifndef STORE_FIXTURE_H_INCLUDED
#define STORE_FIXTURE_H_INCLUDED


#include "store_driver.h"


static store_driver_t  d;

#define S0  (&d.store[0])
#define S1  (&d.store[1])

#define TOPIC(n)  ((const unsigned char *) #n "-subscriptions-16")

/* Lengths of messages that, with their heads, end at or near the end of a
 * chunk, or that are copied without the lock. */
static const size_t  lengths[] = {
    0, 1, 7, 8, 200, 440, 447, 448, 449, 456, 462, 463, 464, 465, 472, 479,
    480, 481, 500, 928, 943, 944, 945, 960, 1000, 4000, 65536, 65537, 66000,
    200000, 3, 65545, 2
};

#define N_LENGTHS  (sizeof(lengths) / sizeof(lengths[0]))


static inline int
setup(void **state)
{
    store_open(&d, 2 * 1024 * 1024, 2);

    return 0;
}


/* Frees all streams and values. The store must be intact before and after
 * that, and use no chunks at the end. */
static inline int
teardown(void **state)
{
    unsigned           i;
    uint64_t           position;
    unsigned char      session[MCP_DIGEST_LEN];
    mcp_stream_info_t  info;

    store_sound(&d);

    for (i = 0; i < 64; i++) {
        memset(session, 0, sizeof(session));
        memcpy(session, &i, sizeof(i));
        position = 0;

        while (mcp_store_session_next(S0, session, 0, &position, &info, NULL)
               == MCP_OK
               || mcp_store_session_next(S0, session, 1, &position, &info,
                                         NULL)
                  == MCP_OK)
        {
            mcp_store_free(S0, &info.ref);
            position = 0;
        }
    }

    for (i = 0; i < STORE_PROCESSES; i++) {
        if (d.store[i].head) {
            store_drain(&d, i, NULL);
        }
    }

    mcp_store_sweep(S0, UINT64_MAX, UINT32_MAX, NULL, NULL);
    store_sound(&d);
    assert_int_equal(store_used(&d), 0);
    store_close(&d);

    return 0;
}


/* Reads with buffers of cap bytes until there are no more events. Returns the
 * last result. */
static inline int
read_all(unsigned slot, const mcp_stream_ref_t *ref, uint64_t handle,
    mcp_cursor_t *cursor, size_t cap, mcp_buf_t *out)
{
    int     rc;
    char   *p;
    size_t  len;

    p = malloc(cap);
    assert_non_null(p);

    for ( ;; ) {
        rc = mcp_store_read(&d.store[slot], ref, handle, cursor, cursor->seq,
                            p, cap, &len);
        if (rc != MCP_OK) {
            break;
        }

        assert_true(len > 0 && len <= cap);
        mcp_buf_add(out, p, len);
    }

    assert_int_equal(len, 0);
    free(p);

    return rc;
}


static inline void
expect_event(mcp_buf_t *out, const mcp_stream_ref_t *ref, uint64_t seq,
    mcp_str_t message)
{
    char  head[128];

    mcp_buf_add(out, head, (size_t) (store_event_head(head, ref->id, seq)
                                     - head));
    mcp_buf_str(out, message);
    mcp_buf_lit(out, "\n\n");
}


static inline void
same(const mcp_buf_t *a, const mcp_buf_t *b)
{
    assert_int_equal(a->len, b->len);

    if (a->len) {
        assert_memory_equal(a->data, b->data, a->len);
    }
}


/* Drains a process, and checks the number of its wake-ups, and the kind of the
 * last one. */
#define woken_as(slot, n, as)                                                 \
    do {                                                                      \
        mcp_store_wake_t  woken_wake_;                                        \
                                                                              \
        assert_int_equal(store_drain(&d, slot, &woken_wake_), n);             \
        assert_int_equal(woken_wake_.kind, as);                               \
    } while (0)

/* Like woken_as(), and checks the handle of the last wake-up. */
#define woken(slot, n, as, of)                                                \
    do {                                                                      \
        mcp_store_wake_t  woken_wake_;                                        \
                                                                              \
        assert_int_equal(store_drain(&d, slot, &woken_wake_), n);             \
        assert_int_equal(woken_wake_.kind, as);                               \
        assert_int_equal(woken_wake_.handle, of);                             \
    } while (0)


#endif /* STORE_FIXTURE_H_INCLUDED */
