
/*
 * The store, scenario by scenario.  Random operations against a model are in
 * mcp_store_model_test.c, processes that are killed in
 * mcp_store_crash_test.c.
 */


#include "store_driver.h"


static store_driver_t  d;

#define S0  (&d.store[0])
#define S1  (&d.store[1])


static int
setup(void **state)
{
    (void) state;

    store_open(&d, 2 * 1024 * 1024, 2);

    return 0;
}


/* Everything is given back, and sound to the end. */
static int
teardown(void **state)
{
    unsigned           i;
    uint64_t           position;
    unsigned char      session[MCP_DIGEST_LEN];
    mcp_stream_info_t  info;

    (void) state;

    store_sound(&d);

    for (i = 0; i < 64; i++) {
        memset(session, 0, sizeof(session));
        memcpy(session, &i, sizeof(i));
        position = 0;

        while (mcp_store_session_next(S0, session, &position, &info, NULL)
               == MCP_OK)
        {
            mcp_store_free(S0, &info.ref);
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


/* Reads until there is no more, with a cap; the result code that ended it. */
static int
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


static void
expect_event(mcp_buf_t *out, const mcp_stream_ref_t *ref, uint64_t seq,
    mcp_str_t message)
{
    char  head[128];

    mcp_buf_add(out, head, (size_t) (mcp_sse_event_head(head, ref->id, seq)
                                     - head));
    mcp_buf_str(out, message);
    mcp_buf_lit(out, "\n\n");
}


static void
same(const mcp_buf_t *a, const mcp_buf_t *b)
{
    assert_int_equal(a->len, b->len);

    if (a->len) {
        assert_memory_equal(a->data, b->data, a->len);
    }
}


/* --- region --- */

static void
test_format(void **state)
{
    size_t         size;
    unsigned char *p;

    (void) state;

    p = malloc(8 * 1024 * 1024 + 8);
    assert_non_null(p);

    assert_int_equal(mcp_store_format(p, MCP_STORE_MIN_SIZE - 1),
                     MCP_ERR_CONFIG);
    assert_int_equal(mcp_store_format(p + 1, MCP_STORE_MIN_SIZE),
                     MCP_ERR_CONFIG);
    assert_int_equal(mcp_store_format(p, (size_t) MCP_STORE_SIZE_MAX + 1),
                     MCP_ERR_CONFIG);

    memset(p, 0x5a, MCP_STORE_MIN_SIZE);
    assert_int_equal(mcp_store_check(p, MCP_STORE_MIN_SIZE),
                     MCP_ERR_NOT_FOUND);

    /* all sizes, and nothing beyond their end */

    for (size = MCP_STORE_MIN_SIZE; size < 8 * 1024 * 1024;
         size += 12345 + size / 8)
    {
        memset(p + size, 0x77, 8);
        assert_int_equal(mcp_store_format(p, size), MCP_OK);
        assert_int_equal(mcp_store_check(p, size), MCP_OK);
        assert_int_equal(mcp_store_check(p, size + 8), MCP_ERR_NOT_FOUND);
        assert_memory_equal(p + size, "\x77\x77\x77\x77\x77\x77\x77\x77", 8);

        /* most of it is for chunks */
        assert_true(((mcp_store_head_t *) p)->chunks
                    > (size - 80 * 1024) / 512 * 95 / 100);
    }

    ((mcp_store_head_t *) p)->version++;
    assert_int_equal(mcp_store_check(p, ((mcp_store_head_t *) p)->size),
                     MCP_ERR_NOT_FOUND);
    free(p);
}


static void
test_create_and_find(void **state)
{
    char               name[300];
    mcp_buf_t          request;
    mcp_stream_ref_t   ref, other;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    memset(name, 'n', sizeof(name));

    /* the cut falls into a sequence of two bytes */
    memcpy(name + 126, "\xc3\xa4", 2);

    store_spec(&spec, 1, 1);
    spec.name = (mcp_str_t) { name, sizeof(name) };
    spec.request = store_message(3, 5000);
    assert_int_equal(mcp_store_create(S0, &spec, 77, &ref), MCP_OK);
    assert_int_equal(mcp_store_create(S0, &spec, 77, &other),
                     MCP_ERR_INTERNAL);

    assert_int_equal(mcp_store_find(S1, spec.id, &info), MCP_OK);
    assert_int_equal(info.ref.index, ref.index);
    assert_memory_equal(info.ref.id, spec.id, MCP_STREAM_ID_LEN);
    assert_memory_equal(info.session, spec.session, MCP_DIGEST_LEN);
    assert_memory_equal(info.principal, spec.principal, MCP_DIGEST_LEN);
    assert_int_equal(info.kind, MCP_STREAM_CALL);
    assert_int_equal(info.state, MCP_STATE_PROCESSING);
    assert_int_equal(info.revision, 3);
    assert_int_equal(info.created, 77);
    assert_int_equal(info.unattended, 77);
    assert_int_equal(info.first_seq, 1);
    assert_int_equal(info.last_seq, 0);
    assert_int_equal(info.owner_slot, 0);
    assert_int_equal(info.consumer_slot, MCP_STORE_NO_SLOT);
    assert_string_equal(info.method, "tools/call");
    assert_int_equal(strlen(info.name), 126);
    assert_memory_equal(info.name, name, 126);

    spec.id[3]++;
    assert_int_equal(mcp_store_find(S1, spec.id, &info), MCP_ERR_NOT_FOUND);
    memcpy(other.id, spec.id, MCP_STREAM_ID_LEN);
    other.index = ref.index;
    assert_int_equal(mcp_store_info(S1, &other, &info), MCP_ERR_NOT_FOUND);
    other.index = 0;
    assert_int_equal(mcp_store_info(S1, &other, &info), MCP_ERR_NOT_FOUND);
    other.index = UINT32_MAX;
    assert_int_equal(mcp_store_info(S1, &other, &info), MCP_ERR_NOT_FOUND);

    /* its request comes back whole, also when it is big */

    store_spec(&spec, 2, 2);
    spec.request = store_message(4, 300000);
    store_create(&d, 0, &spec, &ref);
    store_sound(&d);

    mcp_buf_init(&request, &d.tm.mem, 1024 * 1024);
    mcp_store_bury(S1, 0, 99);
    assert_int_equal(mcp_store_slot_pid(S1, 0), 100);
    mcp_store_bury(S1, 0, 100);
    assert_int_equal(mcp_store_adopt(S1, 5, &info, &request), MCP_OK);
    assert_str_is(((mcp_str_t) { info.method, strlen(info.method) }),
                  "tools/call");

    request.len = 0;
    assert_int_equal(mcp_store_adopt(S1, 5, &info, &request), MCP_OK);
    assert_int_equal(info.ref.index, ref.index);
    assert_int_equal(request.len, 300000);
    assert_memory_equal(request.data, store_message(4, 300000).data, 300000);
    mcp_buf_free(&request);
    store_attach(&d, 0, 100);
}


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

    /* newest first, and only this session's */

    mcp_buf_init(&request, &d.tm.mem, 100);
    position = 0;

    for (i = 18; mcp_store_session_next(S0, spec.session, &position, &info,
                                        &request) == MCP_OK; i -= 2)
    {
        assert_int_equal(info.ref.index, ref[i + 1].index);
    }

    assert_int_equal(i, (unsigned) -2);
    assert_str_is(((mcp_str_t) { request.data, request.len }), "7777777777");
    mcp_buf_free(&request);

    /* those at and around the position go, others come */

    position = 0;
    n = 0;

    while (mcp_store_session_next(S0, spec.session, &position, &info, NULL)
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


static void
test_crowd(void **state)
{
    unsigned           i;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref[4];
    mcp_stream_spec_t  spec;
    int                taken;

    (void) state;

    for (i = 0; i < 3; i++) {
        store_spec(&spec, i, 1);
        spec.session_limit = 3;
        store_create(&d, 0, &spec, &ref[i]);
    }

    store_spec(&spec, 9, 1);
    spec.session_limit = 3;
    assert_int_equal(mcp_store_create(S0, &spec, 1, &ref[3]), MCP_ERR_LIMIT);
    memset(spec.session, 9, MCP_DIGEST_LEN);
    assert_int_equal(mcp_store_create(S0, &spec, 1, &ref[3]), MCP_OK);
    mcp_store_free(S0, &ref[3]);

    spec.principal_limit = 3;
    assert_int_equal(mcp_store_create(S0, &spec, 1, &ref[3]), MCP_ERR_LIMIT);

    /* nobody in particular has no limit */
    memset(spec.principal, 0, MCP_DIGEST_LEN);
    memset(spec.session, 0, MCP_DIGEST_LEN);
    assert_int_equal(mcp_store_create(S0, &spec, 1, &ref[3]), MCP_OK);
    mcp_store_free(S0, &ref[3]);

    /* nor does one count that is over and was read */

    store_spec(&spec, 9, 1);
    spec.session_limit = 3;
    spec.principal_limit = 3;
    assert_int_equal(store_say(&d, 0, &ref[1], mcp_str("{}"), 0,
                               MCP_STATE_COMPLETED), MCP_OK);
    assert_int_equal(mcp_store_create(S0, &spec, 1, &ref[3]), MCP_ERR_LIMIT);
    assert_int_equal(mcp_store_watch(S1, &ref[1], 5, 0, &cursor, &taken),
                     MCP_OK);
    mcp_store_unwatch(S1, &ref[1], 5, 1, 3);
    assert_int_equal(mcp_store_create(S0, &spec, 1, &ref[3]), MCP_OK);

    /* read once more it counts again */

    store_spec(&spec, 10, 1);
    spec.session_limit = 4;
    assert_int_equal(mcp_store_watch(S1, &ref[1], 5, 0, &cursor, &taken),
                     MCP_OK);
    assert_int_equal(mcp_store_create(S0, &spec, 1, &ref[3]), MCP_ERR_LIMIT);
    mcp_store_unwatch(S1, &ref[1], 5, 1, 3);
    assert_int_equal(mcp_store_create(S0, &spec, 1, &ref[3]), MCP_OK);
}


/* --- reading --- */

static const size_t  lengths[] = {
    0, 1, 7, 8, 200, 440, 455, 456, 457, 464, 470, 471, 472, 473, 480, 487,
    488, 489, 500, 944, 959, 960, 961, 976, 1000, 4000, 65536, 65537, 66000,
    200000, 3, 65545, 2
};

#define N_LENGTHS  (sizeof(lengths) / sizeof(lengths[0]))


static void
test_every_cursor(void **state)
{
    int                taken;
    size_t             i, k;
    mcp_buf_t          want, have;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    static const size_t  caps[] = { 64, 65, 100, 500, 16384, 65536, 1 << 20 };

    (void) state;

    mcp_buf_init(&want, &d.tm.mem, 1 << 24);
    mcp_buf_init(&have, &d.tm.mem, 1 << 24);

    store_spec(&spec, 1, 1);
    store_create(&d, 0, &spec, &ref);

    for (i = 0; i < N_LENGTHS; i++) {
        assert_int_equal(store_say(&d, 0, &ref,
                                   store_message((unsigned) i, lengths[i]),
                                   i == N_LENGTHS - 1 ? 0 : -1,
                                   i == N_LENGTHS - 1 ? MCP_STATE_COMPLETED
                                   : MCP_STATE_PROCESSING), MCP_OK);
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

            assert_int_equal(mcp_store_watch(S1, &ref, 5, i, &cursor, &taken),
                             MCP_OK);
            assert_int_equal(taken, 0);
            assert_int_equal(cursor.resumed, i > 0);
            assert_int_equal(read_all(1, &ref, 5, &cursor, caps[k], &have),
                             MCP_DONE);
            assert_int_equal(cursor.seq, N_LENGTHS);
            same(&have, &want);
            mcp_store_unwatch(S1, &ref, 5, i, 9);
        }
    }

    assert_int_equal(mcp_store_watch(S1, &ref, 5, N_LENGTHS + 1, &cursor,
                                     &taken), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken), MCP_OK);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 0, have.data,
                                    MCP_STORE_READ_MIN - 1, &i),
                     MCP_ERR_LIMIT);
    mcp_buf_free(&want);
    mcp_buf_free(&have);
}


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


/* --- limits --- */

static void
test_back_pressure(void **state)
{
    int                rc, taken;
    char               buf[65536];
    size_t             len;
    unsigned           i;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_store_wake_t   wake;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    store_spec(&spec, 1, 1);
    spec.max_events = 200;
    store_create(&d, 0, &spec, &ref);

    for (i = 0; i < 200; i++) {
        assert_int_equal(store_say(&d, 0, &ref, store_message(i, 100), -1,
                                   MCP_STATE_PROCESSING), MCP_OK);
    }

    assert_int_equal(store_say(&d, 0, &ref, mcp_str("x"), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_LIMIT);
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken), MCP_OK);
    store_drain(&d, 0, NULL);

    /* the owner is woken once a quarter has gone out, not before */

    while (cursor.seq < 48) {
        assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf,
                                        500, &len), MCP_OK);
    }

    assert_int_equal(store_drain(&d, 0, NULL), 0);

    while (cursor.seq < 60) {
        assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf,
                                        500, &len), MCP_OK);
    }

    assert_int_equal(d.woken[0], 1);
    assert_int_equal(store_drain(&d, 0, &wake), 1);
    assert_int_equal(wake.owner, 1);
    assert_int_equal(wake.handle, spec.handle);

    /* with all of it out, as much as may wait is kept for a client that lost
     * it */

    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf,
                                    sizeof(buf), &len), MCP_OK);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf,
                                    sizeof(buf), &len), MCP_AGAIN);

    for (i = 0; i < 136; i++) {
        assert_int_equal(store_say(&d, 0, &ref, store_message(i, 100), -1,
                                   MCP_STATE_PROCESSING), MCP_OK);
    }

    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.first_seq, 1);
    assert_int_equal(info.last_seq, 336);

    do {
        rc = mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf,
                            sizeof(buf), &len);
    } while (rc == MCP_OK);

    assert_int_equal(store_say(&d, 0, &ref, mcp_str("x"), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.first_seq, 137);
    assert_int_equal(info.last_seq, 337);

    /* an older cursor is told so; one that is still there goes on */

    mcp_store_unwatch(S1, &ref, 5, 336, 9);
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 135, &cursor, &taken),
                     MCP_ERR_PURGED);
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 136, &cursor, &taken),
                     MCP_OK);

    /* which makes those events count as not sent */

    assert_int_equal(store_say(&d, 0, &ref, mcp_str("x"), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_LIMIT);
    assert_int_equal(store_say(&d, 0, &ref, mcp_str("end"), 3,
                               MCP_STATE_COMPLETED), MCP_OK);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.answered, 8);
    assert_int_equal(info.first_seq, 137);
    assert_int_equal(info.owner_slot, MCP_STORE_NO_SLOT);
}


static void
test_bytes(void **state)
{
    int                taken;
    char               buf[4096];
    size_t             len;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    store_spec(&spec, 1, 1);
    spec.max_bytes = 1000;
    store_create(&d, 0, &spec, &ref);

    /* alone it goes through, larger than the limit or not */

    assert_int_equal(store_say(&d, 0, &ref, store_message(1, 3000), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(store_say(&d, 0, &ref, mcp_str("x"), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_LIMIT);

    assert_int_equal(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken), MCP_OK);
    store_drain(&d, 0, NULL);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 0, buf, sizeof(buf),
                                    &len), MCP_OK);
    assert_int_equal(store_drain(&d, 0, NULL), 0);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 1, buf, sizeof(buf),
                                    &len), MCP_AGAIN);
    assert_int_equal(store_drain(&d, 0, NULL), 1);

    assert_int_equal(store_say(&d, 0, &ref, store_message(1, 600), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(store_say(&d, 0, &ref, store_message(1, 401), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_LIMIT);
    assert_int_equal(store_say(&d, 0, &ref, store_message(1, 400), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.first_seq, 2);
    assert_int_equal(info.bytes, 1000);

    /* 600 of 1000 sent: room for the next */

    assert_int_equal(store_say(&d, 0, &ref, store_message(1, 300), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_LIMIT);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 1, buf, sizeof(buf),
                                    &len), MCP_OK);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 2, buf, sizeof(buf),
                                    &len), MCP_AGAIN);
    assert_int_equal(store_drain(&d, 0, NULL), 1);
    assert_int_equal(store_say(&d, 0, &ref, store_message(1, 300), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
}


/* --- consumers --- */

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


static void
test_states(void **state)
{
    int                taken;
    char               buf[500];
    size_t             len;
    mcp_buf_t          data;
    mcp_post_e         type;
    uint64_t           tag;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    store_spec(&spec, 1, 1);
    store_create(&d, 0, &spec, &ref);
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken), MCP_OK);
    assert_int_equal(mcp_store_set_state(S0, &ref, MCP_STATE_INPUT_REQUIRED),
                     MCP_OK);
    assert_int_equal(store_drain(&d, 1, NULL), 1);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.state, MCP_STATE_INPUT_REQUIRED);
    assert_int_equal(mcp_store_set_handle(S0, &ref, 4711), MCP_OK);

    assert_int_equal(mcp_store_post(S1, &ref, MCP_POST_INPUT, 3,
                                    mcp_str("{}")), MCP_OK);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 0, buf, sizeof(buf),
                                    &len), MCP_AGAIN);
    assert_int_equal(mcp_store_set_state(S0, &ref, MCP_STATE_CANCELLED),
                     MCP_OK);
    assert_int_equal(store_drain(&d, 1, NULL), 1);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 0, buf, sizeof(buf),
                                    &len), MCP_DONE);

    /* that was it */

    assert_int_equal(store_say(&d, 0, &ref, mcp_str("x"), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_set_state(S0, &ref, MCP_STATE_PROCESSING),
                     MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_set_state(S0, &ref, MCP_STATE_CANCELLED),
                     MCP_OK);
    assert_int_equal(mcp_store_post(S1, &ref, MCP_POST_CANCEL, 0,
                                    mcp_null_str), MCP_ERR_NOT_FOUND);
    mcp_buf_init(&data, &d.tm.mem, 100);
    assert_int_equal(mcp_store_take(S0, &ref, &type, &tag, &data), MCP_AGAIN);
}


/* --- inbox --- */

static void
test_inbox(void **state)
{
    unsigned           i;
    uint64_t           tag;
    mcp_buf_t          data;
    mcp_post_e         type;
    mcp_stream_ref_t   ref;
    mcp_store_wake_t   wake;
    mcp_stream_spec_t  spec;

    (void) state;

    store_spec(&spec, 1, 1);
    spec.max_bytes = 500000;
    store_create(&d, 0, &spec, &ref);
    mcp_buf_init(&data, &d.tm.mem, 1 << 24);
    assert_int_equal(mcp_store_take(S0, &ref, &type, &tag, &data), MCP_AGAIN);

    for (i = 0; i < N_LENGTHS - 4; i++) {
        assert_int_equal(mcp_store_post(S1, &ref, MCP_POST_CANCEL + i % 3,
                                        i * 1000ULL,
                                        store_message(i, lengths[i])),
                         MCP_OK);
    }

    assert_int_equal(d.woken[0], 1);
    assert_int_equal(store_drain(&d, 0, &wake), 1);
    assert_int_equal(wake.owner, 1);
    store_sound(&d);

    /* no memory: it stays */

    d.tm.fail_at = 1;
    tag = 99;
    assert_int_equal(mcp_store_take(S0, &ref, &type, &tag, &data), MCP_OK);
    assert_int_equal(tag, 0);
    assert_int_equal(mcp_store_take(S0, &ref, &type, &tag, &data),
                     MCP_ERR_MEMORY);
    mcp_buf_free(&data);

    for (i = 1; i < N_LENGTHS - 4; i++) {
        data.len = 0;
        d.died = i % 3 == 0;
        assert_int_equal(mcp_store_take(S0, &ref, &type, &tag, &data), MCP_OK);
        assert_int_equal(type, MCP_POST_CANCEL + i % 3);
        assert_int_equal(tag, i * 1000);
        assert_int_equal(data.len, lengths[i]);
        assert_memory_equal(data.data, store_message(i, lengths[i]).data,
                            lengths[i]);
        store_sound(&d);
    }

    assert_int_equal(mcp_store_take(S0, &ref, &type, &tag, &data), MCP_AGAIN);

    /* the limit; a cancel may go somewhat beyond it */

    while (mcp_store_post(S1, &ref, MCP_POST_INPUT, 1, store_message(1, 1000))
           == MCP_OK)
    {
        assert_true(++i < 1000);
    }

    assert_int_equal(mcp_store_post(S1, &ref, MCP_POST_PUBLISH, 1,
                                    store_message(1, 100000)), MCP_ERR_LIMIT);
    assert_int_equal(mcp_store_post(S1, &ref, MCP_POST_CANCEL, 1,
                                    store_message(1, 1000)), MCP_OK);

    for (i = 0; mcp_store_post(S1, &ref, MCP_POST_CANCEL, 1, mcp_null_str)
                == MCP_OK; i++)
    {
        assert_true(i < 300);
    }

    mcp_buf_free(&data);
}


/* --- values --- */

static void
test_values(void **state)
{
    unsigned           i;
    uint32_t           value;
    unsigned char      key[MCP_DIGEST_LEN];
    mcp_store_stats_t  stats;

    (void) state;

    memset(key, 0, sizeof(key));

    for (i = 0; i < 500; i++) {
        memcpy(key, &i, sizeof(i));
        assert_int_equal(mcp_store_value_set(S0, i % 2 ? 'a' : 'b', key, i,
                                             i % 5 ? 1000 + i : 0), MCP_OK);
    }

    store_sound(&d);
    mcp_store_stats(S0, &stats);
    assert_int_equal(stats.values, 500);
    assert_int_equal(stats.used, 50 * 512);

    for (i = 0; i < 500; i++) {
        memcpy(key, &i, sizeof(i));
        assert_int_equal(mcp_store_value_get(S1, i % 2 ? 'b' : 'a', key, 1,
                                             &value), MCP_ERR_NOT_FOUND);
        assert_int_equal(mcp_store_value_get(S1, i % 2 ? 'a' : 'b', key, 999,
                                             &value), MCP_OK);
        assert_int_equal(value, i);
        assert_int_equal(mcp_store_value_get(S1, i % 2 ? 'a' : 'b', key,
                                             1000 + i, &value),
                         i % 5 ? MCP_ERR_NOT_FOUND : MCP_OK);
    }

    assert_int_equal(mcp_store_value_get(S1, 'z', key, 1, &value),
                     MCP_ERR_NOT_FOUND);
    mcp_store_value_delete(S1, 'z', key);

    /* anew, once, and no more */

    assert_int_equal(mcp_store_value_set(S0, 'a', key, 7, 50), MCP_OK);
    assert_int_equal(mcp_store_value_get(S1, 'a', key, 1, &value), MCP_OK);
    assert_int_equal(value, 7);
    assert_int_equal(mcp_store_value_add(S0, 'a', key, 8, 50, 49),
                     MCP_ERR_DENIED);
    assert_int_equal(mcp_store_value_add(S0, 'a', key, 8, 60, 50), MCP_OK);
    mcp_store_value_delete(S1, 'a', key);
    mcp_store_value_delete(S1, 'a', key);
    assert_int_equal(mcp_store_value_get(S1, 'a', key, 1, &value),
                     MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_value_add(S0, 'a', key, 8, 60, 1), MCP_OK);

    assert_int_equal(mcp_store_sweep(S0, 1200, UINT32_MAX, NULL, NULL),
                     161);
    store_sound(&d);
    mcp_store_stats(S0, &stats);
    assert_int_equal(stats.values, 339);

    for (i = 0; i < 500; i++) {
        memcpy(key, &i, sizeof(i));
        mcp_store_value_delete(S1, i % 2 ? 'a' : 'b', key);
    }

    assert_int_equal(store_used(&d), 0);
}


/* --- subscriptions --- */

#define TOPIC(n)  ((const unsigned char *) #n "-subscriptions-16")


static void
test_publish(void **state)
{
    int                rc;
    size_t             n;
    unsigned           i;
    uint64_t           position;
    mcp_stream_ref_t   ref[10], call;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;
    mcp_store_stats_t  stats;

    (void) state;

    for (i = 0; i < 10; i++) {
        store_spec(&spec, i, i);
        spec.kind = MCP_STREAM_LISTEN;
        store_create(&d, 0, &spec, &ref[i]);
        assert_int_equal(mcp_store_subscribe(S0, &ref[i], TOPIC(1)), MCP_OK);
        assert_int_equal(mcp_store_subscribe(S0, &ref[i], TOPIC(1)), MCP_OK);

        if (i % 2) {
            assert_int_equal(mcp_store_subscribe(S0, &ref[i], TOPIC(2)),
                             MCP_OK);
        }
    }

    store_spec(&spec, 50, 1);
    store_create(&d, 0, &spec, &call);
    assert_int_equal(mcp_store_subscribe(S0, &call, TOPIC(1)),
                     MCP_ERR_NOT_FOUND);

    mcp_store_stats(S0, &stats);
    assert_int_equal(stats.subscriptions, 15);
    assert_int_equal(stats.listeners, 10);
    assert_int_equal(stats.streams, 11);
    store_sound(&d);

    /* every budget, and subscribers that come and go meanwhile */

    for (i = 1; i < 12; i++) {
        position = 0;

        do {
            rc = mcp_store_publish(S1, TOPIC(1), store_message(i, 10), 1, i,
                                   &position, &n);
            store_sound(&d);
        } while (rc == MCP_AGAIN);

        assert_int_equal(rc, MCP_OK);
        assert_int_equal(n, 10);
    }

    position = 0;

    for (i = 10; i > 0; i--) {
        assert_int_equal(mcp_store_publish(S1, TOPIC(1), mcp_str("m"), 1, 1,
                                           &position, &n),
                         i == 7 ? MCP_OK : MCP_AGAIN);

        /* the last one served, the next one, and one served before */

        if (i == 8) {
            assert_int_equal(mcp_store_unsubscribe(S0, &ref[7], TOPIC(1)),
                             MCP_OK);
            mcp_store_free(S0, &ref[6]);
            mcp_store_free(S0, &ref[9]);
            store_spec(&spec, 60, 3);
            spec.kind = MCP_STREAM_LISTEN;
            store_create(&d, 0, &spec, &ref[9]);
            assert_int_equal(mcp_store_subscribe(S0, &ref[9], TOPIC(1)),
                             MCP_OK);
            assert_int_equal(mcp_store_publish(S1, TOPIC(1), mcp_str("m"), 1,
                                               100, &position, &n), MCP_OK);
            break;
        }
    }

    assert_int_equal(n, 9);

    for (i = 0; i < 9; i++) {
        if (i != 6) {
            assert_int_equal(mcp_store_info(S0, &ref[i], &info), MCP_OK);
            assert_int_equal(info.last_seq, 12);
        }
    }

    assert_int_equal(mcp_store_info(S0, &ref[9], &info), MCP_OK);
    assert_int_equal(info.last_seq, 0);

    /* big ones */

    position = 0;
    i = 0;

    while (mcp_store_publish(S1, TOPIC(2), store_message(5, 70000), 1, 2,
                             &position, &n) == MCP_AGAIN)
    {
        assert_true(i++ < 10);
        store_sound(&d);
    }

    assert_int_equal(n, 4);
    assert_int_equal(mcp_store_info(S0, &ref[1], &info), MCP_OK);
    assert_int_equal(info.last_seq, 13);
    assert_true(info.bytes > 70000);

    position = 0;
    assert_int_equal(mcp_store_publish(S1, TOPIC(3), mcp_str("m"), 1, 1,
                                       &position, &n), MCP_OK);
    assert_int_equal(n, 0);
}


static void
test_slow_listener(void **state)
{
    int                taken;
    char               buf[600];
    size_t             len, n;
    unsigned           i;
    uint64_t           position;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    store_spec(&spec, 1, 1);
    spec.kind = MCP_STREAM_LISTEN;
    spec.max_events = 10;
    store_create(&d, 0, &spec, &ref);
    assert_int_equal(mcp_store_subscribe(S0, &ref, TOPIC(1)), MCP_OK);
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken), MCP_OK);

    for (i = 0; i < 15; i++) {
        position = 0;
        assert_int_equal(mcp_store_publish(S0, TOPIC(1),
                                           store_message(i, 100), 1, 10,
                                           &position, &n), MCP_OK);
    }

    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(info.first_seq, 6);
    assert_int_equal(store_counter(&d, MCP_COUNT_EVENTS_DROPPED), 5);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 0, buf, sizeof(buf),
                                    &len), MCP_ERR_PURGED);
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 4, &cursor, &taken),
                     MCP_ERR_PURGED);
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 5, &cursor, &taken), MCP_OK);
    assert_int_equal(mcp_store_read(S1, &ref, 5, &cursor, 0, buf, sizeof(buf),
                                    &len), MCP_OK);

    /* a message for which there is no room at all leaves a gap */

    position = 0;
    store_spec(&spec, 2, 1);
    store_create(&d, 0, &spec, &ref);

    while (store_say(&d, 0, &ref, store_message(2, 4000), -1,
                     MCP_STATE_PROCESSING) == MCP_OK)
    {
        /* void */
    }

    do {
        i = mcp_store_publish(S0, TOPIC(1), store_message(2, 1000000), 1, 10,
                              &position, &n);
    } while (i == MCP_AGAIN);

    store_spec(&spec, 1, 1);
    assert_int_equal(mcp_store_find(S0, spec.id, &info), MCP_OK);
    assert_int_equal(info.last_seq, 16);
    assert_int_equal(info.first_seq, 17);
    assert_int_equal(mcp_store_read(S1, &info.ref, 5, &cursor, 0, buf,
                                    sizeof(buf), &len), MCP_ERR_PURGED);
}


/* --- time --- */

static unsigned  reported;


static void
report(void *ctx, const mcp_stream_info_t *info)
{
    assert_ptr_equal(ctx, &reported);
    assert_int_equal(d.held, 0);
    assert_true(info->last_seq > info->sent_seq);
    reported++;
}


static size_t
sweep(uint64_t now)
{
    size_t    n;
    unsigned  i;

    reported = 0;

    /* in small steps, round and round */

    for (n = 0, i = 0; i < 1000; i++) {
        n += mcp_store_sweep(S0, now, 10, report, &reported);
    }

    return n;
}


static void
test_sweep(void **state)
{
    int                taken;
    unsigned           i;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref[12], live, listen[4];
    mcp_stream_spec_t  spec;

    (void) state;

    /* 0-5: over, not sent; 6-11: over, sent */

    for (i = 0; i < 12; i++) {
        store_spec(&spec, i, i);
        store_create(&d, 0, &spec, &ref[i]);
        assert_int_equal(store_say(&d, 0, &ref[i], mcp_str("x"), 0,
                                   MCP_STATE_COMPLETED), MCP_OK);

        if (i >= 6) {
            assert_int_equal(mcp_store_watch(S1, &ref[i], 5, 0, &cursor,
                                             &taken), MCP_OK);
        }
    }

    store_spec(&spec, 20, 20);
    store_create(&d, 0, &spec, &live);

    for (i = 0; i < 4; i++) {
        store_spec(&spec, 30 + i, 30 + i);
        spec.kind = MCP_STREAM_LISTEN;
        spec.expires = i == 0 ? 200000 : 0;
        store_create(&d, 0, &spec, &listen[i]);
    }

    /* 1: has a subscription; 2: a consumer; 3: nothing */

    assert_int_equal(mcp_store_subscribe(S0, &listen[0], TOPIC(1)), MCP_OK);
    assert_int_equal(mcp_store_subscribe(S0, &listen[1], TOPIC(1)), MCP_OK);
    assert_int_equal(mcp_store_watch(S1, &listen[2], 5, 0, &cursor, &taken),
                     MCP_OK);

    assert_int_equal(sweep(59000), 0);

    for (i = 6; i < 12; i++) {
        mcp_store_unwatch(S1, &ref[i], 5, 1, 59000);
    }

    assert_int_equal(sweep(60000), 0);
    assert_int_equal(sweep(60001), 1);                 /* listener 3 */
    assert_int_equal(reported, 0);
    assert_int_equal(sweep(60002), 6);                 /* not sent */
    assert_int_equal(reported, 6);
    assert_int_equal(sweep(63999), 0);
    assert_int_equal(sweep(64000), 6);                 /* sent */
    assert_int_equal(reported, 0);
    assert_int_equal(sweep(199999), 0);
    assert_int_equal(sweep(200000), 1);                /* session's end */
    store_sound(&d);
    assert_int_equal(store_counter(&d, MCP_COUNT_STREAMS_EXPIRED), 14);

    /* ended without a time: from the next sweep on */

    assert_int_equal(mcp_store_set_state(S0, &live, MCP_STATE_CANCELLED),
                     MCP_OK);
    assert_int_equal(sweep(300000), 0);
    assert_int_equal(sweep(304999), 0);
    assert_int_equal(sweep(305000), 1);
    assert_int_equal(sweep(UINT64_MAX), 0);    /* subscribed; consumed */
}


/* --- room --- */

static void
test_full(void **state)
{
    int                taken;
    unsigned           i, n;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   over[5], run[5], ref, other;
    mcp_store_wake_t   wake;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    /* five are over and read, five run */

    for (i = 0; i < 5; i++) {
        store_spec(&spec, i, 1);
        store_create(&d, 0, &spec, &over[i]);
        store_say(&d, 0, &over[i], store_message(i, 10000), 0,
                  MCP_STATE_COMPLETED);
        store_spec(&spec, 100 + i, 2);
        store_create(&d, i % 2, &spec, &run[i]);
        store_say(&d, 0, &run[i], store_message(i, 100), -1,
                  MCP_STATE_PROCESSING);
    }

    for (i = 5; i-- > 0; ) {
        assert_int_equal(mcp_store_watch(S1, &over[i], 5, 0, &cursor, &taken),
                         MCP_OK);
        mcp_store_unwatch(S1, &over[i], 5, 1, 10);
    }

    /* what is over goes, the first to linger first */

    store_spec(&spec, 200, 3);
    store_create(&d, 0, &spec, &ref);
    assert_int_equal(mcp_store_has_room(S0), 1);

    for (n = 0; store_counter(&d, MCP_COUNT_STREAMS_EVICTED) < 2; n++) {
        assert_int_equal(store_say(&d, 0, &ref, store_message(n, 3000), -1,
                                   MCP_STATE_PROCESSING), MCP_OK);
    }

    assert_int_equal(mcp_store_info(S0, &over[4], &info), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_info(S0, &over[3], &info), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_info(S0, &over[2], &info), MCP_OK);
    store_sound(&d);

    /* one that is read again stays */

    assert_int_equal(mcp_store_watch(S1, &over[2], 5, 0, &cursor, &taken),
                     MCP_OK);

    while (store_say(&d, 0, &ref, store_message(n, 1000), -1,
                     MCP_STATE_PROCESSING) == MCP_OK)
    {
        /* void */
    }

    assert_int_equal(mcp_store_info(S0, &over[2], &info), MCP_OK);
    assert_int_equal(mcp_store_info(S0, &over[0], &info), MCP_ERR_NOT_FOUND);

    while (store_say(&d, 0, &ref, store_message(n, 10), -1,
                     MCP_STATE_PROCESSING) == MCP_OK)
    {
        /* void */
    }

    store_sound(&d);
    store_spec(&spec, 300, 4);
    assert_int_equal(mcp_store_create(S0, &spec, 1, &other), MCP_ERR_FULL);
    assert_int_equal(mcp_store_has_room(S0), 0);
    assert_int_equal(store_say(&d, 0, &run[0], store_message(n, 100000), -1,
                               MCP_STATE_PROCESSING), MCP_ERR_FULL);

    /* but those that run can end, be cancelled, taken over */

    for (i = 1; i < 5; i++) {
        assert_int_equal(mcp_store_post(S0, &run[i], MCP_POST_CANCEL, 0,
                                        mcp_null_str), MCP_OK);
        assert_int_equal(mcp_store_post(S0, &run[i], MCP_POST_INPUT, 0,
                                        store_message(1, 600)), MCP_ERR_FULL);
        assert_int_equal(mcp_store_watch(S0, &run[i], 5, 0, &cursor, &taken),
                         MCP_OK);
        assert_int_equal(mcp_store_watch(S0, &run[i], 6, 0, &cursor, &taken),
                         MCP_OK);
        assert_int_equal(store_say(&d, 0, &run[i], store_message(i, 5000), 0,
                                   MCP_STATE_COMPLETED), MCP_OK);
    }

    assert_int_equal(mcp_store_value_set(S0, 'd', spec.session, 1, 0), MCP_OK);
    mcp_store_value_delete(S0, 'd', spec.session);
    store_sound(&d);

    /* owners that wait are woken when there is room, once */

    store_drain(&d, 0, NULL);
    store_drain(&d, 1, NULL);
    mcp_store_free(S1, &run[1]);
    store_drain(&d, 0, NULL);
    mcp_store_free(S0, &over[2]);
    mcp_store_free(S0, &ref);
    assert_int_equal(store_drain(&d, 0, &wake), 1);
    assert_int_equal(wake.owner, 1);
    assert_int_equal(wake.ref.index, run[0].index);
    assert_int_equal(store_say(&d, 0, &run[0], store_message(n, 100000), -1,
                               MCP_STATE_PROCESSING), MCP_OK);
    assert_int_equal(mcp_store_has_room(S0), 1);
}


/* A stream that fills the region, and whose client keeps up, goes on. */
static void
test_full_of_sent(void **state)
{
    int                taken;
    char               buf[65536];
    size_t             len;
    unsigned           i;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    (void) state;

    store_spec(&spec, 1, 1);
    store_create(&d, 0, &spec, &ref);
    assert_int_equal(mcp_store_watch(S1, &ref, 5, 0, &cursor, &taken), MCP_OK);

    for (i = 0; i < 5000; i++) {
        assert_int_equal(store_say(&d, 0, &ref, store_message(i, 1000), -1,
                                   MCP_STATE_PROCESSING), MCP_OK);

        while (mcp_store_read(S1, &ref, 5, &cursor, cursor.seq, buf,
                              sizeof(buf), &len) == MCP_OK)
        {
            /* void */
        }
    }
}


/* --- processes --- */

static void
test_processes(void **state)
{
    int                taken;
    unsigned           i;
    mcp_buf_t          request;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref[6];
    mcp_store_wake_t   wake;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    mcp_buf_init(&request, &d.tm.mem, 100);
    assert_int_equal(mcp_store_adopt(S0, 1, &info, &request), MCP_DONE);
    assert_int_equal(mcp_store_slot_pid(S0, 1), 101);
    assert_int_equal(mcp_store_slot_pid(S0, 2), 0);
    assert_int_equal(mcp_store_slot_pid(S0, MCP_STORE_SLOTS), 0);

    /* 0-2 owned by process 1, one of them over, one consumed by 0; 3-5 owned
     * by 0 and consumed by 1 */

    for (i = 0; i < 6; i++) {
        store_spec(&spec, i, 1);
        store_create(&d, i < 3, &spec, &ref[i]);
        assert_int_equal(mcp_store_watch(&d.store[i >= 3], &ref[i], 5, 0,
                                         &cursor, &taken), MCP_OK);
    }

    store_say(&d, 1, &ref[2], mcp_str("x"), 0, MCP_STATE_COMPLETED);

    /* and a ghost for it */
    assert_int_equal(mcp_store_watch(S0, &ref[5], 6, 0, &cursor, &taken),
                     MCP_OK);

    mcp_store_count(S1, MCP_COUNT_CALLS_LIVE, 3);
    mcp_store_count(S1, MCP_COUNT_CALLS, 3);
    mcp_store_count(S0, MCP_COUNT_CALLS_LIVE, 2);
    assert_int_equal(store_counter(&d, MCP_COUNT_CALLS_LIVE), 5);

    store_drain(&d, 0, NULL);
    d.woken[0] = 0;
    store_sound(&d);

    mcp_store_bury(S0, 1, 100);                        /* not that one */
    assert_int_equal(mcp_store_slot_pid(S0, 1), 101);
    mcp_store_bury(S0, 1, 101);
    assert_int_equal(mcp_store_slot_pid(S0, 1), 0);
    store_sound(&d);

    assert_int_equal(store_counter(&d, MCP_COUNT_CALLS_LIVE), 2);
    assert_int_equal(store_counter(&d, MCP_COUNT_CALLS), 3);
    mcp_store_count(S1, MCP_COUNT_CALLS_LIVE, -3);
    assert_int_equal(store_counter(&d, MCP_COUNT_CALLS_LIVE), 2);

    /* its consumers have gone: the owners hear of it */

    assert_true(d.woken[0] > 0);
    assert_int_equal(store_drain(&d, 0, &wake), 2);
    assert_int_equal(mcp_store_info(S0, &ref[3], &info), MCP_OK);
    assert_int_equal(info.consumer_slot, MCP_STORE_NO_SLOT);

    /* its calls wait, also through a repair */

    d.died = 1;
    assert_int_equal(mcp_store_info(S0, &ref[0], &info), MCP_OK);
    assert_int_equal(info.owner_slot, MCP_STORE_NO_SLOT);
    store_sound(&d);
    store_drain(&d, 0, NULL);

    for (i = 0; i < 2; i++) {
        assert_int_equal(mcp_store_adopt(S0, 700, &info, &request), MCP_OK);
        assert_int_equal(info.owner_slot, 0);
        assert_true(info.ref.index == ref[0].index
                    || info.ref.index == ref[1].index);
    }

    assert_int_equal(mcp_store_adopt(S0, 700, &info, &request), MCP_DONE);
    assert_str_is(((mcp_str_t) { request.data, request.len }), "77");
    mcp_buf_free(&request);

    /* a new one in the slot of an old one, which nobody has buried */

    store_attach(&d, 1, 500);
    store_spec(&spec, 7, 1);
    store_create(&d, 1, &spec, &ref[1]);
    store_attach(&d, 1, 500);
    assert_int_equal(mcp_store_adopt(S0, 700, &info, NULL), MCP_DONE);
    store_attach(&d, 1, 501);
    assert_int_equal(mcp_store_adopt(S0, 700, &info, NULL), MCP_OK);
    assert_int_equal(info.unattended, 1);

    /* in good order */

    mcp_store_detach(S1);
    assert_int_equal(mcp_store_slot_pid(S0, 1), 0);
    mcp_store_count(S1, MCP_COUNT_CALLS_LIVE, -3);
    assert_int_equal(store_counter(&d, MCP_COUNT_CALLS_LIVE), 2);
    assert_int_equal(mcp_store_create(S1, &spec, 1, &ref[1]),
                     MCP_ERR_INTERNAL);
    store_attach(&d, 1, 502);
}


/* A process that dies after it has let the lock go and before it has woken
 * others. */
static void
test_lost_wake(void **state)
{
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    (void) state;

    store_spec(&spec, 1, 1);
    store_create(&d, 0, &spec, &ref);
    store_drain(&d, 0, NULL);
    assert_int_equal(mcp_store_post(S1, &ref, MCP_POST_INPUT, 1,
                                    mcp_str("x")), MCP_OK);
    d.woken[0] = 0;

    mcp_store_bury(S0, 1, 101);
    assert_int_equal(d.woken[0], 1);
    assert_int_equal(store_drain(&d, 0, NULL), 1);
    store_attach(&d, 1, 101);
}


static void
test_wakes(void **state)
{
    unsigned           i;
    mcp_stream_ref_t   ref[10];
    mcp_store_wake_t   out[4];
    mcp_stream_spec_t  spec;

    (void) state;

    for (i = 0; i < 10; i++) {
        store_spec(&spec, i, 1);
        store_create(&d, 0, &spec, &ref[i]);
    }

    assert_int_equal(mcp_store_drain(S0, out, 4), 0);

    /* once for all, in order, each once */

    for (i = 0; i < 20; i++) {
        assert_int_equal(mcp_store_post(S1, &ref[i % 10], MCP_POST_INPUT, 1,
                                        mcp_str("x")), MCP_OK);
    }

    assert_int_equal(d.woken[0], 1);
    assert_int_equal(mcp_store_drain(S0, out, 0), 0);
    assert_int_equal(mcp_store_drain(S0, out, 4), 4);
    assert_int_equal(out[0].ref.index, ref[0].index);
    assert_int_equal(out[3].handle, 1003);

    /* not emptied yet: no second wake */

    assert_int_equal(mcp_store_post(S1, &ref[0], MCP_POST_INPUT, 1,
                                    mcp_str("x")), MCP_OK);
    assert_int_equal(d.woken[0], 1);
    mcp_store_free(S0, &ref[5]);
    assert_int_equal(store_drain(&d, 0, NULL), 6);

    assert_int_equal(mcp_store_post(S1, &ref[0], MCP_POST_INPUT, 1,
                                    mcp_str("x")), MCP_OK);
    assert_int_equal(d.woken[0], 1);
}


static void
test_counters(void **state)
{
    unsigned           i;
    mcp_store_stats_t  stats;

    (void) state;

    for (i = 0; i < MCP_COUNT_MAX; i++) {
        mcp_store_count(S0, (mcp_counter_e) i, 3);
        mcp_store_count(S1, (mcp_counter_e) i, i);
    }

    mcp_store_stats(S1, &stats);

    for (i = 0; i < MCP_COUNT_MAX; i++) {
        assert_int_equal(stats.counter[i], 3 + i);
    }

    assert_true(stats.size > 1900 * 1024);
}


/* Death with the lock where the lock itself does not tell. */
static void
test_holder(void **state)
{
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    store_spec(&spec, 1, 1);
    store_create(&d, 0, &spec, &ref);
    S0->head->holder = 2;
    S0->head->free = 12345;
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(store_counter(&d, MCP_COUNT_REPAIRS), 1);
    store_sound(&d);
}


/* What no crash can leave, but a stray write might: the repair gets rid of
 * it and ends. */
static void
test_broken(void **state)
{
    unsigned            i;
    mcp_stream_ref_t    ref[8];
    mcp_stream_spec_t   spec;
    mcp_stream_info_t   info;
    mcp_store_head_t   *head;
    mcp_store_stream_t *st;

    (void) state;

    head = S0->head;

    for (i = 0; i < 8; i++) {
        store_spec(&spec, i, i);
        store_create(&d, 0, &spec, &ref[i]);
        store_say(&d, 0, &ref[i], store_message(i, 2000), -1,
                  MCP_STATE_PROCESSING);
        store_say(&d, 0, &ref[i], store_message(i, 2000), -1,
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
    assert_int_equal(mcp_store_info(S0, &ref[6], &info), MCP_OK);
    store_sound(&d);
    assert_int_equal(mcp_store_info(S0, &ref[0], &info), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_info(S0, &ref[5], &info), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_info(S0, &ref[4], &info), MCP_OK);
    assert_int_equal(info.last_seq, 2);
}


#define store_test(f)  cmocka_unit_test_setup_teardown(f, setup, teardown)


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_format),
        store_test(test_create_and_find),
        store_test(test_session_walk),
        store_test(test_crowd),
        store_test(test_every_cursor),
        store_test(test_follow),
        store_test(test_back_pressure),
        store_test(test_bytes),
        store_test(test_takeover),
        store_test(test_states),
        store_test(test_inbox),
        store_test(test_values),
        store_test(test_publish),
        store_test(test_slow_listener),
        store_test(test_sweep),
        store_test(test_full),
        store_test(test_full_of_sent),
        store_test(test_processes),
        store_test(test_lost_wake),
        store_test(test_wakes),
        store_test(test_counters),
        store_test(test_holder),
        store_test(test_broken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
