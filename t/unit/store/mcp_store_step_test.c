/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Single operations under ptrace: after each instruction that has changed the
 * region, a copy of the region is repaired and verified. The copy must have
 * the content before the operation or the content after it. STORE_STEPS makes
 * the test longer.
 */


#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store_crash.h"


#define SMALL    MCP_STORE_MIN_SIZE
#define STREAMS  7
#define TEXTS    3                     /* texts without a tenant */

/* Times at which the texts of the scene expire, ms. A sweep frees text 1. */
#define SWEEP    1000000
#define LATER    (2 * SWEEP)
#define EXPIRES  10                    /* text 1; the other texts: LATER */
#define EXTENDED 20                    /* text 1 after op_text_use() */

#define U  MCP_VALUE_UPSTREAM_SESSION

/* the bit of text i in operation_t.may_free */
#define TEXT(i)  (1u << (STREAMS + (i)))


typedef struct {
    mcp_stream_ref_t  ref[STREAMS];
    mcp_cursor_t      cursor;
    uint64_t          last[STREAMS];   /* number of the last event before the
                                          operation */
} scene_t;


static const unsigned char  key_3[] = "what stream 3 is";
static const unsigned char  key_6[] = "what stream 6 is";

/* the row of the MCP server that counts the texts */
static mcp_store_upstream_row_t         server;
static const mcp_store_upstream_item_t  item = {
    key_3, mcp_str("/mcp"), mcp_str("localhost/mcp"), mcp_str("@server"), 3,
    MCP_REVISION_NONE
};


static int
no_lock(void *ctx)
{
    return MCP_OK;
}


static void
no_unlock(void *ctx)
{
}


static void
scene_attach(mcp_store_t *store, void *region, unsigned slot)
{
    mcp_store_glue_t  glue = { no_lock, no_unlock, NULL, shared_wake, NULL };

    if (mcp_store_attach(store, region, &glue, slot, 100 + slot) != MCP_OK) {
        abort();
    }
}


static void
scene_append(mcp_store_t *store, const mcp_stream_ref_t *ref, uint64_t seq,
    int answers)
{
    size_t                len;
    uint64_t              n;
    static char           text[70000];

    len = text_len(ref->id, seq);
    text_fill(text, ref->id, seq, len);
    mcp_store_append(store, ref, (mcp_str_t) { text, len }, answers,
                     answers < 0 ? MCP_STATE_PROCESSING
                                 : MCP_STATE_COMPLETED, 1, &n);
}


/* Creates the streams on which the operations run. Streams 0 and 1 are active,
 * 2 has a consumer and is at its limit, 3 lingers, 4 and 5 are listeners.
 * Streams 3 and 6 can be joined; 6 has a joined reader. Text i is
 * text_run(i); text 1 expires. */
static void
scene_make(scene_t *scene, void *region)
{
    int                rc;
    size_t             len;
    char               buf[20000];
    unsigned           i, k;
    mcp_store_t        a, b;
    mcp_cursor_t       cursor;
    unsigned char      key[MCP_DIGEST_LEN];
    mcp_stream_spec_t  spec;

    assert_ok(mcp_store_format(region, SMALL));
    scene_attach(&a, region, 0);
    scene_attach(&b, region, 1);
    memset(scene, 0, sizeof(scene_t));

    for (i = 0; i < STREAMS; i++) {
        store_spec(&spec, i + 1, 1 + i % 2);
        spec.max_events = i == 2 ? 70 : 0;
        spec.kind = i / 4 == 1 && i < 6 ? MCP_STREAM_LISTEN : MCP_STREAM_CALL;
        spec.join = i == 3 ? key_3 : i == 6 ? key_6 : NULL;
        spec.join_once = 1;
        assert_ok(mcp_store_create(i % 2 ? &b : &a, &spec, 1, &scene->ref[i]));
    }

    for (i = 0; i < 4; i++) {
        for (k = 1; k <= 6; k++) {
            scene_append(&a, &scene->ref[i], k, -1);
        }
    }

    for (k = 7; k <= 70; k++) {
        uint64_t  seq;

        assert_ok(mcp_store_append(&a, &scene->ref[2], mcp_str("x"), -1,
                                   MCP_STATE_PROCESSING, 1, &seq));
    }

    watch_ok(&b, &scene->ref[2], 5, 0, &scene->cursor);
    assert_ok(mcp_store_read(&b, &scene->ref[2], 5, &scene->cursor, 0, buf,
                             sizeof(buf), &len));
    assert_int_equal(mcp_store_read(&b, &scene->ref[2], 5, &scene->cursor, 60,
                                    buf, sizeof(buf), &len), MCP_AGAIN);

    scene_append(&a, &scene->ref[3], 7, 0);
    watch_ok(&b, &scene->ref[3], 6, 0, &cursor);

    do {
        rc = mcp_store_read(&b, &scene->ref[3], 6, &cursor, cursor.seq, buf,
                            sizeof(buf), &len);
    } while (rc == MCP_OK);

    mcp_store_unwatch(&b, &scene->ref[3], 6, cursor.seq, 1);

    for (i = 0; i < 12; i++) {
        memset(key, (int) i, sizeof(key));
        mcp_store_value_set(&a, 'v', key, i, i < 6 ? 10 : 0, NULL);
        mcp_store_subscribe(&a, &scene->ref[4 + i % 2], key);
    }

    assert_ok(mcp_store_upstream_offer(&a, &item, &server));

    for (i = 0; i < TEXTS; i++) {
        memset(key, (int) i, sizeof(key));
        assert_ok(store_session(&a, server, key, text_run(buf, i), 1,
                                i == 1 ? EXPIRES : LATER, NULL));
    }

    memset(key, 0, sizeof(key));
    mcp_store_subscribe(&a, &scene->ref[5], key);
    mcp_store_inbox_put(&b, &scene->ref[0], MCP_INBOX_INPUT, 1,
                   store_message(1, 700));
    mcp_store_cancel(&b, &scene->ref[0], 4);

    assert_ok(mcp_store_join(&a, &scene->ref[6], 3, 0, &cursor));
    assert_ok(mcp_store_join(&b, &scene->ref[6], 4, 0, &cursor));
}


typedef struct {
    const char  *name;
    void       (*run)(mcp_store_t *a, scene_t *scene);
    unsigned     may_append;           /* bit i is set if the operation may
                                          append to stream i; bit i of may_free
                                          is set if the operation may free
                                          stream i, bit TEXT(i) if it may
                                          change or free text i */
    unsigned     may_free;
} operation_t;


static void
op_append(mcp_store_t *a, scene_t *s)
{
    scene_append(a, &s->ref[0], 7, -1);
}


static void
op_append_last(mcp_store_t *a, scene_t *s)
{
    scene_append(a, &s->ref[0], 7, MCP_STORE_ERROR);
}


static void
op_append_first(mcp_store_t *a, scene_t *s)
{
    uint64_t  seq;

    mcp_store_append(a, &s->ref[4], mcp_str("x"), -1, MCP_STATE_PROCESSING, 1,
                     &seq);
}


static void
op_append_big(mcp_store_t *a, scene_t *s)
{
    uint64_t     seq;
    static char  text[65537];          /* static, so that zeroing it does not
                                          add to the counted instructions */

    mcp_store_append(a, &s->ref[1], (mcp_str_t) { text, sizeof(text) }, -1,
                     MCP_STATE_PROCESSING, 1, &seq);
}


/* Appends to stream 2, which is at its limit: sent events are removed. */
static void
op_append_trim(mcp_store_t *a, scene_t *s)
{
    uint64_t  seq;

    mcp_store_append(a, &s->ref[2], mcp_str("x"), -1, MCP_STATE_PROCESSING, 1,
                     &seq);
}


static void
op_append_evict(mcp_store_t *a, scene_t *s)
{
    a->head->reserve = mcp_store_room(a->head, 1) - 1;
    scene_append(a, &s->ref[0], 7, -1);
}


/* Appends in a full region without a lingering stream: the stream's own sent
 * events are removed. */
static void
op_append_keep(mcp_store_t *a, scene_t *s)
{
    uint64_t     seq;
    static char  text[600];

    mcp_store_free(a, &s->ref[3]);
    a->head->reserve = mcp_store_room(a->head, 1);

    if (mcp_store_append(a, &s->ref[2], (mcp_str_t) { text, sizeof(text) }, -1,
                         MCP_STATE_PROCESSING, 1, &seq)
        != MCP_OK)
    {
        abort();
    }
}


/* Appends a message in a full region, where removing sent events does not make
 * enough room: the owner is blocked on space. */
static void
op_append_blocked(mcp_store_t *a, scene_t *s)
{
    uint64_t     seq;
    static char  text[9000];

    mcp_store_free(a, &s->ref[3]);
    a->head->reserve = mcp_store_room(a->head, 1);

    if (mcp_store_append(a, &s->ref[2], (mcp_str_t) { text, sizeof(text) }, -1,
                         MCP_STATE_PROCESSING, 1, &seq)
        != MCP_ERR_FULL)
    {
        abort();
    }
}


static void
op_create(mcp_store_t *a, scene_t *s)
{
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    store_spec(&spec, 50, 50);
    mcp_store_create(a, &spec, 1, &ref);
}


static void
op_free(mcp_store_t *a, scene_t *s)
{
    mcp_store_free(a, &s->ref[1]);
}


static void
op_free_consumed(mcp_store_t *a, scene_t *s)
{
    mcp_store_free(a, &s->ref[2]);
}


static void
op_free_listener(mcp_store_t *a, scene_t *s)
{
    mcp_store_free(a, &s->ref[5]);
}


static void
op_set_state(mcp_store_t *a, scene_t *s)
{
    mcp_store_set_state(a, &s->ref[0], MCP_STATE_CANCELLED, 0);
}


static void
op_watch(mcp_store_t *a, scene_t *s)
{
    int           taken;
    mcp_cursor_t  cursor;

    mcp_store_watch(a, &s->ref[2], 8, 3, &cursor, &taken);
}


static void
op_confirm(mcp_store_t *a, scene_t *s)
{
    mcp_store_confirm(a, &s->ref[2], 30);
    mcp_store_confirm(a, &s->ref[2], 70);
}


static void
op_notes(mcp_store_t *a, scene_t *s)
{
    mcp_store_set_alias(a, &s->ref[0], 1, 7);
    mcp_store_set_generation(a, &s->ref[0], 0, 3);
    mcp_store_set_generation(a, &s->ref[0], 0, 3);
}


static void
op_touch(mcp_store_t *a, scene_t *s)
{
    mcp_store_touch(a, &s->ref[0], 5);
}


/* Calls mcp_store_expire() for stream 2, which has a consumer and stays, and
 * for stream 1, which is freed. */
static void
op_expire(mcp_store_t *a, scene_t *s)
{
    uint64_t  since = 1;

    mcp_store_expire(a, &s->ref[2], &since);
    since = 1;
    mcp_store_expire(a, &s->ref[1], &since);
}


static void
op_watch_lingering(mcp_store_t *a, scene_t *s)
{
    int           taken;
    mcp_cursor_t  cursor;

    mcp_store_watch(a, &s->ref[3], 8, 3, &cursor, &taken);
    mcp_store_unwatch(a, &s->ref[3], 8, 7, 3);
}


static void
op_post(mcp_store_t *a, scene_t *s)
{
    mcp_store_inbox_put(a, &s->ref[1], MCP_INBOX_PUBLISH, 1,
                   store_message(1, 1500));
    mcp_store_cancel(a, &s->ref[1], 2);
}


static void
op_take(mcp_store_t *a, scene_t *s)
{
    uint64_t    tag;
    mcp_mem_t   mem = { plain_alloc, plain_free, NULL };
    mcp_buf_t   data;
    mcp_inbox_item_e type;

    mcp_buf_init(&data, &mem, 10000);
    mcp_store_take(a, &s->ref[0], &type, &tag, &data);
    mcp_store_take(a, &s->ref[0], &type, &tag, &data);
    mcp_buf_free(&data);
}


static void
op_values(mcp_store_t *a, scene_t *s)
{
    unsigned       i;
    mcp_tenant_t   tenant = { .id = { 1 }, .values = 2 };
    unsigned char  key[MCP_DIGEST_LEN];

    for (i = 8; i < 16; i++) {
        memset(key, (int) i, sizeof(key));
        mcp_store_value_set(a, 'v', key, i, 0, NULL);
        mcp_store_value_delete(a, 'v', key);
    }

    for (i = 16; i < 20; i++) {
        memset(key, (int) i, sizeof(key));
        mcp_store_value_push(a, 'v', key, i, 0, &tenant);
    }

    mcp_store_value_delete(a, 'v', key);
}


/* Creates the text with a key, or replaces it: all texts have expired at the
 * time LATER. */
static void
set_text(mcp_store_t *a, unsigned key, unsigned n, const mcp_tenant_t *tenant)
{
    static char    buf[MCP_STORE_TEXT_MAX];
    unsigned char  bytes[MCP_DIGEST_LEN];

    memset(bytes, (int) key, sizeof(bytes));

    if (store_session(a, server, bytes, text_run(buf, n), LATER, LATER, tenant)
        != MCP_OK)
    {
        abort();
    }
}


/* Creates, reads, replaces and deletes texts of a tenant, which has a
 * quota. */
static void
op_texts(mcp_store_t *a, scene_t *s)
{
    size_t         len;
    unsigned       i;
    mcp_tenant_t   tenant = { .id = { 1 }, .values = 2 };
    static char    buf[MCP_STORE_TEXT_MAX];
    unsigned char  key[MCP_DIGEST_LEN];

    for (i = 16; i < 20; i++) {
        set_text(a, i, i, &tenant);
        memset(key, 18, sizeof(key));
        (void) store_text_get(a, U, key, 1, 0, buf, &len, NULL);
    }

    set_text(a, 18, 40, &tenant);

    if (mcp_store_text_delete(a, U, key, text_run(buf, 18))
        != MCP_ERR_NOT_FOUND
        || mcp_store_text_delete(a, U, key, text_run(buf, 40)) != MCP_OK)
    {
        abort();
    }

    memset(key, 19, sizeof(key));
    mcp_store_value_delete(a, U, key);
}


/* Reads text 1, which extends its time of expiry, and adds another text in
 * vain. */
static void
op_text_use(mcp_store_t *a, scene_t *s)
{
    size_t         len;
    static char    buf[MCP_STORE_TEXT_MAX];
    unsigned char  key[MCP_DIGEST_LEN];

    memset(key, 1, sizeof(key));

    if (store_text_get(a, U, key, 1, EXTENDED, buf, &len, NULL) != MCP_OK
        || store_text_add(a, U, key, text_run(buf, 8), 1, LATER, NULL)
           != MCP_ERR_EXISTS)
    {
        abort();
    }
}


/* Begins to use text 1 as a session at an MCP server, and leaves it. */
static void
op_session_use(mcp_store_t *a, scene_t *s)
{
    size_t         len;
    static char    buf[MCP_STORE_TEXT_MAX];
    unsigned char  key[MCP_DIGEST_LEN];

    memset(key, 1, sizeof(key));

    if (mcp_store_upstream_session_get(a, key, 1, 0, 5, buf, &len, NULL)
        != MCP_OK)
    {
        abort();
    }

    mcp_store_upstream_session_renew(a, key, 4, 8);
    mcp_store_upstream_session_leave(a, key);
}


/* Replaces text 0 by a longer and a shorter one, and deletes text 2. */
static void
op_text_replace(mcp_store_t *a, scene_t *s)
{
    unsigned char  key[MCP_DIGEST_LEN];

    set_text(a, 0, 6, NULL);
    set_text(a, 0, 7, NULL);
    memset(key, 2, sizeof(key));
    mcp_store_value_delete(a, U, key);
}


/* In a full region, a new text replaces another text. */
static void
op_text_full(mcp_store_t *a, scene_t *s)
{
    mcp_tenant_t  tenant = { .id = { 1 }, .values = 2 };

    mcp_store_free(a, &s->ref[3]);
    a->head->reserve = mcp_store_room(a->head, 1);
    set_text(a, 16, 16, &tenant);
}


static void
op_subscribe(mcp_store_t *a, scene_t *s)
{
    unsigned       i;
    unsigned char  key[MCP_DIGEST_LEN];

    for (i = 0; i < 4; i++) {
        memset(key, 12 + (int) i / 2, sizeof(key));
        mcp_store_subscribe(a, &s->ref[4 + i % 2], key);
    }

    memset(key, 0, sizeof(key));
    mcp_store_unsubscribe(a, &s->ref[4], key);
    mcp_store_unsubscribe(a, &s->ref[5], key);
}


static void
op_publish(mcp_store_t *a, scene_t *s)
{
    size_t         n;
    uint64_t       position;
    unsigned char  key[MCP_DIGEST_LEN];

    memset(key, 0, sizeof(key));
    position = 0;
    store_publish(a, key, mcp_str("x"), 10, &position, &n);
}


static void
op_sweep(mcp_store_t *a, scene_t *s)
{
    mcp_store_sweep(a, SWEEP, 10000, NULL, NULL);
}


static void
op_reclaim(mcp_store_t *a, scene_t *s)
{
    mcp_stream_info_t  info;

    mcp_store_reclaim(a, 1, 101);
    mcp_store_adopt(a, 1, &info, NULL);
}


static void
op_drain(mcp_store_t *a, scene_t *s)
{
    mcp_store_wake_t  out[8];

    mcp_store_drain(a, out, 8);
}


static void
op_repair(mcp_store_t *a, scene_t *s)
{
    a->head->holder = 2;
    (void) mcp_store_slot_pid(a, 0);
    mcp_store_reclaim(a, 5, 5);
}


static void
op_join(mcp_store_t *a, scene_t *s)
{
    mcp_cursor_t  cursor;

    mcp_store_join(a, &s->ref[6], 9, 0, &cursor);
    mcp_store_unwatch(a, &s->ref[6], 3, 0, 2);
    mcp_store_unwatch(a, &s->ref[6], 9, 0, 2);
}


static void
op_join_append(mcp_store_t *a, scene_t *s)
{
    scene_append(a, &s->ref[6], 1, -1);
}


static void
op_join_create(mcp_store_t *a, scene_t *s)
{
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    store_spec(&spec, 20, 1);
    spec.join = (const unsigned char *) "something  else!";
    mcp_store_create(a, &spec, 1, &ref);
}


/* Creates a joinable call in place of an equal one that is over. */
static void
op_join_replace(mcp_store_t *a, scene_t *s)
{
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    store_spec(&spec, 20, 1);
    spec.join = key_3;
    spec.join_once = 1;

    if (mcp_store_create(a, &spec, 1, &ref) != MCP_OK) {
        abort();
    }
}


static void
op_join_free(mcp_store_t *a, scene_t *s)
{
    mcp_store_free(a, &s->ref[6]);
    mcp_store_unwatch(a, &s->ref[6], 3, 0, 2);
}


/* Starts a replication with "sync": readers get the events only when they are
 * acknowledged, here in two steps. */
static void
op_share(mcp_store_t *a, scene_t *s)
{
    char                    buf[8000];
    unsigned                i;
    mcp_store_raw_t         raw[3];
    mcp_store_replicator_t  replicator = { 0 };

    replicator.raw = raw;
    replicator.max = 3;
    replicator.buf = buf;
    replicator.cap = sizeof(buf);

    if (mcp_store_replication_start(a, &s->ref[0], 1) != MCP_OK) {
        abort();
    }

    for (i = 0; i < 2; i++) {
        if (mcp_store_replicator_read(a, &s->ref[0], &replicator) != MCP_OK
            || replicator.n != 3
            || mcp_store_acked(a, &s->ref[0], &replicator.at) != MCP_OK)
        {
            abort();
        }
    }

    mcp_store_replication_end(a, &s->ref[0]);
}


static void
op_share_free(mcp_store_t *a, scene_t *s)
{
    mcp_store_wake_t  wake[8];

    mcp_store_replication_start(a, &s->ref[0], 1);
    mcp_store_free(a, &s->ref[0]);
    mcp_store_drain(a, wake, 8);
    mcp_store_drain(a, wake, 8);
}


/* A consumer at another node takes over and leaves again. */
static void
op_remote(mcp_store_t *a, scene_t *s)
{
    int           taken;
    mcp_cursor_t  cursor;

    mcp_store_replication_start(a, &s->ref[0], 1);
    mcp_store_watch(a, &s->ref[0], 8, 0, &cursor, &taken);

    if (mcp_store_remote_consumer(a, &s->ref[0], 3, 0, 0) != MCP_OK) {
        abort();
    }

    mcp_store_remote_consumer_sent(a, &s->ref[0], 3, 2);
    mcp_store_remote_consumer_left(a, &s->ref[0], 3, 4, 2);
}


/* The owner's process detaches while the end of its stream is not
 * acknowledged. */
static void
op_replicate_ownerless(mcp_store_t *a, scene_t *s)
{
    mcp_store_replication_start(a, &s->ref[0], 1);
    mcp_store_set_state(a, &s->ref[0], MCP_STATE_CANCELLED, 2);
    mcp_store_detach(a);
}


/* Creates a mirror that begins after event "after". */
static mcp_stream_ref_t
mirror(mcp_store_t *a, mcp_stream_spec_t *spec, uint64_t after,
    uint64_t number)
{
    mcp_stream_ref_t  ref;

    store_spec(spec, 60, 60);

    if (mcp_store_mirror(a, spec, 1, after, number, 1, &ref) != MCP_OK) {
        abort();
    }

    return ref;
}


static void
mirror_event(mcp_store_t *a, const mcp_stream_spec_t *spec, uint64_t seq,
    int rc)
{
    mcp_store_raw_t  raw = { 0 };

    raw.seq = seq;

    if (mcp_store_mirror_append(a, spec->id, &raw, mcp_str("x"), 2) != rc) {
        abort();
    }
}


/* A mirror gets a checkpoint of the owner, and then the events up to that
 * checkpoint. */
static void
op_mirror(mcp_store_t *a, scene_t *s)
{
    mcp_stream_spec_t       spec;
    mcp_store_checkpoint_t  checkpoint = { 0 };

    checkpoint.seq = 5;
    checkpoint.state = MCP_STATE_FAILED;
    checkpoint.answered = 3;
    checkpoint.failed = 2;
    checkpoint.failed_seq = 4;

    mirror(a, &spec, 3, 1);
    mirror_event(a, &spec, 5, MCP_AGAIN);
    mcp_store_mirror_known(a, spec.id, &checkpoint, 4, 2);
    mirror_event(a, &spec, 4, MCP_OK);
    mirror_event(a, &spec, 5, MCP_OK);
}


/* A mirror is replaced by another one, and its reader is displaced. */
static void
op_mirror_anew(mcp_store_t *a, scene_t *s)
{
    int                taken;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    mirror(a, &spec, 3, 1);
    ref = mirror(a, &spec, 1, 2);
    mcp_store_watch(a, &ref, 8, 1, &cursor, &taken);
    mirror_event(a, &spec, 2, MCP_OK);
    ref = mirror(a, &spec, 2, 3);
    mcp_store_mirror_displaced(a, spec.id, 4);
    mcp_store_unwatch(a, &ref, 8, 2, 3);
    mcp_store_mirror_forget(a, spec.id);
}


/* The feeder's process detaches. */
static void
op_mirror_left(mcp_store_t *a, scene_t *s)
{
    mcp_stream_spec_t  spec;

    mirror(a, &spec, 3, 1);
    mcp_store_detach(a);
}


static const operation_t  operations[] = {
    { "append", op_append, 1, 0 },
    { "append the response", op_append_last, 1, 0 },
    { "append the first event", op_append_first, 1 << 4, 0 },
    { "append a big one", op_append_big, 1 << 1, 0 },
    { "append and drop", op_append_trim, 1 << 2, 0 },
    { "append and evict", op_append_evict, 1, 1 << 3 },
    { "append and keep", op_append_keep, 1 << 2, 1 << 3 },
    { "append in vain", op_append_blocked, 0, 1 << 3 },
    { "create", op_create, 0, 0 },
    { "free", op_free, 0, 1 << 1 },
    { "free a consumed stream", op_free_consumed, 0, 1 << 2 },
    { "free a listener", op_free_listener, 0, 1 << 5 },
    { "set_state", op_set_state, 0, 0 },
    { "watch", op_watch, 0, 0 },
    { "watch a lingering stream", op_watch_lingering, 0, 0 },
    { "confirm", op_confirm, 0, 0 },
    { "alias and turn", op_notes, 0, 0 },
    { "touch", op_touch, 0, 0 },
    { "expire", op_expire, 0, 1 << 1 },
    { "post", op_post, 0, 0 },
    { "take", op_take, 0, 0 },
    { "values", op_values, 0, 0 },
    { "texts", op_texts, 0, 0 },
    { "use a text", op_text_use, 0, 0 },
    { "use a session", op_session_use, 0, 0 },
    { "replace and delete texts", op_text_replace, 0, TEXT(0) | TEXT(2) },
    { "replace another text", op_text_full, 0,
      1 << 3 | TEXT(0) | TEXT(1) | TEXT(2) },
    { "subscribe", op_subscribe, 0, 0 },
    { "publish", op_publish, 3 << 4, 0 },
    { "sweep", op_sweep, 0, 1 << 3 | 3 << 4 | TEXT(1) },
    { "bury and adopt", op_reclaim, 0, 0 },
    { "drain", op_drain, 0, 0 },
    { "join", op_join, 0, 0 },
    { "append for those who joined", op_join_append, 1 << 6, 0 },
    { "create to be joined", op_join_create, 0, 0 },
    { "create again to be joined", op_join_replace, 0, 0 },
    { "free what was joined", op_join_free, 0, 1 << 6 },
    { "share and copy", op_share, 0, 0 },
    { "free what is shared", op_share_free, 0, 1 },
    { "leave what is shared", op_replicate_ownerless, 0, 0 },
    { "read from elsewhere", op_remote, 0, 0 },
    { "mirror", op_mirror, 0, 0 },
    { "mirror anew", op_mirror_anew, 0, 0 },
    { "leave a mirror", op_mirror_left, 0, 0 },
    { "repair", op_repair, 0, 0 },
};

#define N_OPERATIONS  (sizeof(operations) / sizeof(operations[0]))


/* Checks the texts of a copy: each is complete, and only those that the
 * operation may change are different or absent. Text 1 expires at one of two
 * times. */
static void
scene_check_texts(const operation_t *op, mcp_store_t *store,
    unsigned long step)
{
    int            rc;
    char           text[MCP_STORE_TEXT_MAX], want[MCP_STORE_TEXT_MAX];
    size_t         len;
    mcp_str_t      s;
    unsigned       i;
    unsigned char  key[MCP_DIGEST_LEN];

    for (i = 0; i < 20; i++) {
        memset(key, (int) i, sizeof(key));
        rc = store_text_get(store, U, key, 1, 0, text, &len, NULL);
        s = (mcp_str_t) { text, rc == MCP_OK ? len : 0 };

        if (rc == MCP_OK && !is_run(s)) {
            fail_msg("%s, step %lu: text %u is a mixture", op->name, step, i);
        }

        if (i < TEXTS && !(op->may_free & TEXT(i))
            && (rc != MCP_OK || !mcp_str_eq(s, text_run(want, i))))
        {
            fail_msg("%s, step %lu: text %u has changed", op->name, step, i);
        }
    }

    memset(key, 1, sizeof(key));
    rc = store_text_get(store, U, key, EXPIRES - 1, 0, text, &len, NULL);

    if ((rc != MCP_OK && !(op->may_free & TEXT(1)))
        || store_text_get(store, U, key, EXTENDED, 0, text, &len, NULL) == MCP_OK
        || (op->run != op_text_use
            && store_text_get(store, U, key, EXPIRES, 0, text, &len, NULL)
               == MCP_OK))
    {
        fail_msg("%s, step %lu: text 1 expires at another time", op->name,
                 step);
    }
}


/* Checks a copy of the region after a step of an operation, as a process that
 * repairs the region would find it. */
static void
scene_check(const operation_t *op, const scene_t *scene, void *replicator,
    unsigned long step)
{
    int                rc, taken;
    unsigned           i;
    const char        *why;
    mcp_store_t        store;
    mcp_cursor_t       cursor;
    mcp_stream_info_t  info;

    scene_attach(&store, replicator, 2);

    if (store_verify(&store, &why) != MCP_OK) {
        fail_msg("%s, step %lu: %s", op->name, step, why);
    }

    for (i = 0; i < STREAMS; i++) {
        rc = mcp_store_info(&store, &scene->ref[i], &info);

        if (rc != MCP_OK) {
            if (!(op->may_free & (1u << i))) {
                fail_msg("%s, step %lu: stream %u is gone", op->name, step,
                         i);
            }

            continue;
        }

        if (info.own_seq != scene->last[i]
            && !((op->may_append & (1u << i))
                 && info.own_seq == scene->last[i] + 1))
        {
            fail_msg("%s, step %lu: stream %u has event %llu", op->name, step,
                     i, (unsigned long long) info.own_seq);
        }

        /* streams 0 and 3 have the messages of text_fill(); other streams are
         * not read */

        if (i != 0 && i != 3) {
            continue;
        }

        if (mcp_store_watch(&store, &info.ref, 9, 0, &cursor, &taken)
            != MCP_OK
            || check_read(&store, &info.ref, 9, &cursor, 1000, &rc)
               != (int64_t) info.last_seq)
        {
            fail_msg("%s, step %lu: stream %u has other events",
                     op->name, step, i);
        }

        if ((rc == MCP_DONE) != (info.state >= MCP_STATE_COMPLETED)
            || (i == 3 && info.state != MCP_STATE_COMPLETED)
            || (i == 0 && info.state != MCP_STATE_PROCESSING
                && op->run != op_append_last && op->run != op_set_state
                && op->run != op_replicate_ownerless))
        {
            fail_msg("%s, step %lu: stream %u is in state %d", op->name, step,
                     i, info.state);
        }

        if (op->run == op_append_last && i == 0
            && (info.last_seq == 7) != (info.state == MCP_STATE_COMPLETED
                                        && info.answered == 1
                                        && info.failed == 1))
        {
            fail_msg("%s, step %lu: the response is half there", op->name,
                     step);
        }
    }

    scene_check_texts(op, &store, step);

    if (store_verify(&store, &why) != MCP_OK) {
        fail_msg("%s, step %lu, after reading: %s", op->name, step, why);
    }
}


/* Runs an operation in a child process, instruction by instruction. Returns 0
 * if ptrace is not permitted. */
static int
scene_step(const operation_t *op, scene_t *scene, void *region,
    void *replicator, void *before, unsigned long *steps, unsigned long *states)
{
    int            status;
    pid_t          pid;
    mcp_store_t    a;
    unsigned long  first, limit;

    /* maximum number of checked steps; without it, the operation "repair"
     * would take too long */
    limit = store_setting("STORE_STEPS", 50000);

    scene_attach(&a, region, 0);
    memcpy(before, region, SMALL);

    pid = fork();
    assert_true(pid != -1);

    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
            _exit(1);
        }

        raise(SIGSTOP);
        op->run(&a, scene);
        _exit(0);
    }

    waitpid(pid, &status, 0);

    if (!WIFSTOPPED(status)) {
        return 0;
    }

    first = *steps;

    for ( ;; ) {
        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0) {
            fail_msg("ptrace: %d", errno);
        }

        waitpid(pid, &status, 0);

        if (WIFEXITED(status)) {
            break;
        }

        if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) {
            fail_msg("%s: status %x", op->name, (unsigned) status);
        }

        (*steps)++;

        if (*steps - first == limit) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            break;
        }

        if (memcmp(before, region, SMALL) == 0) {
            continue;
        }

        (*states)++;
        memcpy(before, region, SMALL);
        memcpy(replicator, region, SMALL);
        scene_check(op, scene, replicator, *steps);
    }

    return 1;
}


TEST(process_dies_at_any_instruction__repair_completes_or_undoes_its_operation)
{
    void           *region, *replicator, *before;
    size_t          k;
    unsigned        i;
    scene_t         scene;
    mcp_store_t     store;
    unsigned long   steps, states;
    mcp_stream_info_t  info;

    region = shared_new(SMALL);
    replicator = shared_new(SMALL);
    before = shared_new(SMALL);
    steps = 0;
    states = 0;

    for (k = 0; k < N_OPERATIONS; k++) {
        scene_make(&scene, region);
        scene_attach(&store, region, 0);

        for (i = 0; i < STREAMS; i++) {
            assert_ok(mcp_store_info(&store, &scene.ref[i], &info));
            scene.last[i] = info.last_seq;
        }

        if (!scene_step(&operations[k], &scene, region, replicator, before,
                        &steps, &states))
        {
            printf("no ptrace here\n");
            skip();
        }
    }

    printf("%lu instructions, %lu states\n", steps, states);
    munmap(region, SMALL);
    munmap(replicator, SMALL);
    munmap(before, SMALL);
}


RUN_TESTS(NULL, NULL)
