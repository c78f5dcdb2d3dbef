/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Processes that die at any instruction. test_kills runs worker processes that
 * append, read, displace consumers, post and publish, and kills them at
 * random; each acknowledged event must remain, once and in order. STORE_KILLS
 * and STORE_SECONDS make the test longer, STORE_SEED repeats a run.
 * test_threads runs the same workers as threads, for the thread sanitizer.
 */


#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store_crash.h"


#define WORKERS   4
#define ENTRIES   8                    /* streams per worker */
#define MIRRORS   4                    /* mirrors, shared by all workers */
#define SPEC_MAX_EVENTS  300


/* A worker's record of one of its streams, in memory that the other processes
 * see. */
typedef struct {
    _Atomic uint64_t    id;            /* id of the stream; other workers read
                                          it */
    mcp_stream_ref_t    ref;
    volatile uint64_t   started;       /* last event whose append has begun */
    volatile uint64_t   acked;
    volatile int        live;          /* 0: none; 1: created; 2: being freed
                                          or ended */
} entry_t;


typedef struct {
    entry_t             entry[WORKERS][ENTRIES];
    _Atomic uint64_t    ids;
    _Atomic uint64_t    operations;
    _Atomic uint64_t    events;
    _Atomic uint64_t    refused;
    _Atomic uint64_t    missing;       /* streams that do not exist any more
                                          although no worker has freed them */
    _Atomic int         stop;
    char                failed[256];
} journal_t;


typedef struct {
    void         *memory;              /* the lock, then the region */
    journal_t    *journal;
    mcp_store_t   store;
    unsigned      worker;
    uint64_t      seed;
    mcp_mem_t     mem;
} worker_t;


static uint64_t
draw(uint64_t *seed)
{
    uint64_t  z;

    z = (*seed += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;

    return z ^ (z >> 31);
}


static uint64_t
clock_ms(void)
{
    struct timespec  ts;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);

    return (uint64_t) ts.tv_sec * 1000 + (uint64_t) ts.tv_nsec / 1000000;
}


static int
shared_lock(void *ctx)
{
    return mcp_lock(ctx);
}


static void
shared_unlock(void *ctx)
{
    mcp_unlock(ctx);
}


static void
worker_fail(worker_t *w, const char *why, uint64_t n)
{
    snprintf(w->journal->failed, sizeof(w->journal->failed),
             "worker %u: %s (%llu)", w->worker, why, (unsigned long long) n);
    atomic_store(&w->journal->stop, 1);
}


/* --- workers --- */

/* Finds the stream of an entry, which may belong to another worker. */
static int
worker_find(worker_t *w, entry_t *e, mcp_stream_info_t *info)
{
    mcp_stream_spec_t  spec;

    store_spec(&spec, 0, 0);
    *(uint64_t *) spec.id = atomic_load(&e->id);

    return mcp_store_find(&w->store, spec.id, 0, info);
}


static void
worker_create(worker_t *w, entry_t *e)
{
    mcp_stream_spec_t  spec;

    store_spec(&spec, 0, 1 + (unsigned) (draw(&w->seed) % 3));
    atomic_store(&e->id, atomic_fetch_add(&w->journal->ids, 1) + 1);
    *(uint64_t *) spec.id = atomic_load(&e->id);

    spec.max_events = SPEC_MAX_EVENTS;
    spec.max_bytes = 1024 * 1024;
    spec.max_wait = 50;
    spec.linger = 1000000;

    e->started = 0;
    e->acked = 0;
    memcpy(e->ref.id, spec.id, MCP_STREAM_ID_LEN);
    e->ref.index = 0;

    if (mcp_store_create(&w->store, &spec, clock_ms(), &e->ref) != MCP_OK) {
        return;
    }

    e->live = 1;

    if (draw(&w->seed) % 2) {
        mcp_store_replication_start(&w->store, &e->ref,
                                    (unsigned) (draw(&w->seed) % 2));
    }
}


static void
worker_append(worker_t *w, entry_t *e)
{
    int                   rc, last;
    size_t                len;
    uint64_t              seq;
    static __thread char  text[70000];

    last = draw(&w->seed) % 100 == 0;
    len = text_len(e->ref.id, e->acked + 1);
    text_fill(text, e->ref.id, e->acked + 1, len);

    if (last) {
        e->live = 2;
    }

    e->started = e->acked + 1;
    rc = mcp_store_append(&w->store, &e->ref, (mcp_str_t) { text, len },
                          last ? 0 : -1,
                          last ? MCP_STATE_COMPLETED : MCP_STATE_PROCESSING,
                          clock_ms(), &seq);

    if (rc == MCP_OK) {
        if (seq != e->started) {
            worker_fail(w, "number of an event", seq);
        }

        e->acked = seq;
        atomic_fetch_add(&w->journal->events, 1);

        if (last) {
            e->live = 0;
        }

    } else if (rc == MCP_ERR_NOT_FOUND) {
        e->live = 0;
        atomic_fetch_add(&w->journal->missing, 1);

    } else {
        e->started = e->acked;
        e->live = 1;
        atomic_fetch_add(&w->journal->refused, 1);

        if (rc != MCP_ERR_FULL && rc != MCP_ERR_LIMIT) {
            worker_fail(w, "append", (uint64_t) -rc);
        }
    }
}


static void
worker_read(worker_t *w, entry_t *e)
{
    int                rc, taken;
    int64_t            seq;
    uint64_t           handle, after;
    mcp_cursor_t       cursor;
    mcp_stream_info_t  info;

    if (worker_find(w, e, &info) != MCP_OK) {
        return;
    }

    handle = draw(&w->seed);
    after = info.first_seq - 1
            + draw(&w->seed) % (info.last_seq + 2 - info.first_seq);

    if (draw(&w->seed) % 8 == 0) {
        mcp_store_confirm(&w->store, &info.ref, after);
    }

    rc = mcp_store_watch(&w->store, &info.ref, handle, after, &cursor,
                         &taken);
    if (rc != MCP_OK) {
        return;
    }

    seq = check_read(&w->store, &info.ref, handle, &cursor,
                     (unsigned) (draw(&w->seed) % 20), &rc);

    if (seq < 0 && rc != MCP_ERR_NOT_FOUND) {
        worker_fail(w, "events differ from those written", cursor.seq);
    }

    if (draw(&w->seed) % 4) {
        mcp_store_unwatch(&w->store, &info.ref, handle, cursor.seq,
                          clock_ms());
    }
}


static void
worker_listener(worker_t *w)
{
    size_t              n;
    uint64_t            position;
    unsigned char       topic[MCP_DIGEST_LEN];
    mcp_stream_ref_t    ref;
    mcp_stream_spec_t   spec;
    mcp_stream_info_t   info;

    memset(topic, (int) (draw(&w->seed) % 3), sizeof(topic));
    store_spec(&spec, 0, 1);
    memset(spec.id, 0xff, MCP_STREAM_ID_LEN);
    spec.id[0] = (unsigned char) (draw(&w->seed) % 6);
    spec.kind = MCP_STREAM_LISTEN;
    spec.max_events = 20;

    if (mcp_store_find(&w->store, spec.id, 0, &info) != MCP_OK) {
        if (mcp_store_create(&w->store, &spec, 1, &ref) != MCP_OK) {
            return;
        }

        info.ref = ref;
    }

    switch (draw(&w->seed) % 8) {
    case 0:
        mcp_store_free(&w->store, &info.ref);
        break;
    case 1:
        mcp_store_unsubscribe(&w->store, &info.ref, topic);
        break;
    case 2:
    case 3:
        mcp_store_subscribe(&w->store, &info.ref, topic);
        break;
    default:
        position = 0;
        store_publish(&w->store, topic,
                      store_message(1, draw(&w->seed) % 600), 3,
                      &position, &n);
        break;
    }
}


static void
worker_inbox(worker_t *w, entry_t *other, entry_t *own)
{
    uint64_t           tag;
    mcp_buf_t          data;
    mcp_inbox_item_e   type;
    mcp_stream_info_t  info;

    if (worker_find(w, other, &info) == MCP_OK) {
        mcp_store_inbox_put(&w->store, &info.ref, MCP_INBOX_INPUT,
                       draw(&w->seed),
                       store_message(1, draw(&w->seed) % 64 ? 300 : 70000));
    }

    mcp_buf_init(&data, &w->mem, 1 << 20);

    while (mcp_store_take(&w->store, &own->ref, &type, &tag, &data)
           == MCP_OK)
    {
        data.len = 0;
    }

    mcp_buf_free(&data);
}


/* Replicates a stream of this worker: checks the copied events, discards them,
 * and acknowledges them. */
static void
worker_copy(worker_t *w, entry_t *own)
{
    size_t                   i, len;
    static __thread char     buf[70000], want[70000];
    mcp_store_raw_t          raw[4];
    mcp_store_replicator_t   replicator = { 0 };
    mcp_store_replication_state_t  repl_state;

    if (draw(&w->seed) % 8 == 0) {
        mcp_store_replication_end(&w->store, &own->ref);
    }

    /* "sync" is used only if the replication starts before the first append:
     * later a reader may have written events without having reported them as
     * sent, and "sync" must not hide written events */

    if (mcp_store_replication_state(&w->store, &own->ref,
                                    &repl_state) != MCP_OK)
    {
        mcp_store_replication_start(&w->store, &own->ref,
                                    own->started == 0
                                    && draw(&w->seed) % 2 == 0);
        return;
    }

    replicator.at = repl_state.acked;
    replicator.raw = raw;
    replicator.max = 4;
    replicator.buf = buf;
    replicator.cap = sizeof(buf);

    if (mcp_store_replicator_read(&w->store, &own->ref,
                                  &replicator) != MCP_OK) {
        return;                        /* unacknowledged events were dropped,
                                          which can happen without "sync" */
    }

    for (i = 0; i < replicator.n; i++) {
        len = text_len(own->ref.id, raw[i].seq);
        text_fill(want, own->ref.id, raw[i].seq, len);

        if (raw[i].len != len
            || memcmp(buf + raw[i].offset, want, len) != 0)
        {
            worker_fail(w, "copied events differ from those written",
                        raw[i].seq);
        }
    }

    mcp_store_acked(&w->store, &own->ref, &replicator.at);

    if (draw(&w->seed) % 4 == 0) {
        mcp_store_remote_consumer(&w->store, &own->ref, repl_state.reader + 1,
                                  replicator.at.seq, 0);
        mcp_store_remote_consumer_left(&w->store, &own->ref,
                                       repl_state.reader + 1,
                                       replicator.at.seq, clock_ms());
    }
}


/* Reads a mirror and compares its events. */
static void
worker_mirror_read(worker_t *w, const mcp_stream_info_t *info)
{
    int           rc, taken;
    uint64_t      handle;
    mcp_cursor_t  cursor;

    handle = draw(&w->seed);

    if (mcp_store_watch(&w->store, &info->ref, handle, info->first_seq - 1,
                        &cursor, &taken)
        != MCP_OK)
    {
        return;
    }

    if (check_read(&w->store, &info->ref, handle, &cursor,
                   (unsigned) (draw(&w->seed) % 20), &rc) < 0
        && rc != MCP_ERR_NOT_FOUND)
    {
        worker_fail(w, "a mirror's events differ from those written",
                    cursor.seq);
    }

    if (draw(&w->seed) % 4) {
        mcp_store_unwatch(&w->store, &info->ref, handle, cursor.seq,
                          clock_ms());
    }
}


static void
worker_mirror(worker_t *w)
{
    uint64_t                seq;
    mcp_str_t               message;
    mcp_store_raw_t         raw = { 0 };
    mcp_store_checkpoint_t  checkpoint = { 0 };
    mcp_stream_ref_t        ref;
    mcp_stream_spec_t       spec;
    mcp_stream_info_t       info;
    static __thread char    text[70000];

    store_spec(&spec, 0, 1);
    memset(spec.id, 0xfe, MCP_STREAM_ID_LEN);
    spec.id[0] = (unsigned char) (draw(&w->seed) % MIRRORS);
    spec.max_events = 50;

    if (mcp_store_find(&w->store, spec.id, 0, &info) != MCP_OK
        || draw(&w->seed) % 32 == 0)
    {
        (void) mcp_store_mirror(&w->store, &spec, 1, draw(&w->seed) % 100,
                                draw(&w->seed) % 1000, clock_ms(), &ref);
        return;
    }

    seq = info.last_seq + draw(&w->seed) % 3;

    switch (draw(&w->seed) % 8) {
    case 0:
        worker_mirror_read(w, &info);
        break;
    case 1:
        checkpoint.seq = seq;
        checkpoint.state = draw(&w->seed) % 32 ? MCP_STATE_PROCESSING
                                          : MCP_STATE_COMPLETED;
        checkpoint.answered = checkpoint.state == MCP_STATE_COMPLETED;
        (void) mcp_store_mirror_known(&w->store, spec.id, &checkpoint, seq / 2,
                                      clock_ms());
        break;
    case 2:
        if (draw(&w->seed) % 8 == 0) {
            mcp_store_mirror_displaced(&w->store, spec.id,
                                       draw(&w->seed) % 1000);

        } else if (draw(&w->seed) % 8 == 0) {
            mcp_store_mirror_forget(&w->store, spec.id);
        }

        break;
    default:
        raw.seq = seq;
        message.data = text;
        message.len = seq ? text_len(spec.id, seq) : 0;
        text_fill(text, spec.id, seq, message.len);
        (void) mcp_store_mirror_append(&w->store, spec.id, &raw, message,
                                       clock_ms());
        break;
    }
}


static void
worker_value(worker_t *w)
{
    uint32_t       value;
    mcp_tenant_t   tenant = { .id = { 1 }, .values = 20 };
    unsigned char  key[MCP_DIGEST_LEN];

    memset(key, (int) (draw(&w->seed) % 100), sizeof(key));

    switch (draw(&w->seed) % 4) {
    case 0:
        mcp_store_value_set(&w->store, 'a', key, key[0], 0, NULL);
        break;
    case 1:
        mcp_store_value_delete(&w->store, 'a', key);
        break;
    case 2:
        mcp_store_value_push(&w->store, 'a', key, key[0], 0, &tenant);
        break;
    default:
        if (mcp_store_value_get(&w->store, 'a', key, 1, &value) == MCP_OK
            && value != key[0])
        {
            worker_fail(w, "a value", value);
        }
    }
}


static void
worker_text(worker_t *w)
{
    int            rc;
    char           text[MCP_STORE_TEXT_MAX];
    size_t         len;
    uint64_t       now;
    mcp_str_t      run;
    mcp_tenant_t   tenant = { .id = { 1 }, .values = 20 };
    unsigned char  key[MCP_DIGEST_LEN];

    memset(key, (int) (draw(&w->seed) % 100), sizeof(key));
    run = text_run(text, (unsigned) draw(&w->seed));
    now = clock_ms();

    switch (draw(&w->seed) % 4) {
    case 0:
        (void) mcp_store_text_delete(&w->store, MCP_VALUE_UPSTREAM_SESSION,
                                     key, run);
        break;
    case 1:

        /* half of the calls have a time at which all texts have expired: they
         * replace an existing text */

        (void) store_text_add(&w->store, MCP_VALUE_UPSTREAM_SESSION, key,
                              run, draw(&w->seed) % 2 ? now : UINT64_MAX,
                              now + 1000, key[0] % 2 ? &tenant : NULL);
        break;
    case 2:
        mcp_store_value_delete(&w->store, MCP_VALUE_UPSTREAM_SESSION, key);
        break;
    default:
        rc = mcp_store_upstream_session_get(&w->store, key, now, now + 1000,
                                            now + 1000, text, &len, NULL);
        mcp_store_upstream_session_leave(&w->store, key);

        if (rc == MCP_OK && !is_run((mcp_str_t) { text, len })) {
            worker_fail(w, "a text", len);
        }
    }
}


static void
worker_step(worker_t *w)
{
    unsigned           k;
    entry_t           *own, *any;
    mcp_store_wake_t   wakes[8];
    mcp_stream_info_t  info;

    own = &w->journal->entry[w->worker][draw(&w->seed) % ENTRIES];
    any = &w->journal->entry[draw(&w->seed) % WORKERS]
                            [draw(&w->seed) % ENTRIES];

    if (!own->live) {
        worker_create(w, own);
        return;
    }

    k = (unsigned) (draw(&w->seed) % 42);

    if (k < 16) {
        worker_append(w, own);

    } else if (k < 22) {
        worker_read(w, any);

    } else if (k < 24) {
        worker_listener(w);

    } else if (k < 26) {
        worker_inbox(w, any, own);

    } else if (k < 28) {
        worker_value(w);

    } else if (k == 28) {
        mcp_store_sweep(&w->store, clock_ms(), 500, NULL, NULL);

    } else if (k == 29) {
        mcp_store_adopt(&w->store, clock_ms(), &info, NULL);

    } else if (k == 30 && draw(&w->seed) % 8 == 0) {
        own->live = 2;
        mcp_store_free(&w->store, &own->ref);
        own->live = 0;

    } else if (k >= 32 && k < 35) {
        worker_copy(w, own);

    } else if (k >= 40) {
        worker_text(w);

    } else if (k >= 35) {
        worker_mirror(w);

    } else {
        mcp_store_drain(&w->store, wakes, 8);
    }
}


static void
worker_init(worker_t *w, void *memory, journal_t *journal, unsigned worker,
    uint64_t seed, uint64_t pid)
{
    mcp_store_glue_t  glue = { shared_lock, shared_unlock, memory,
                               shared_wake, memory };

    memset(w, 0, sizeof(worker_t));
    w->memory = memory;
    w->journal = journal;
    w->worker = worker;
    w->seed = seed;
    w->mem.alloc = plain_alloc;
    w->mem.free = plain_free;

    if (mcp_store_attach(&w->store, (char *) memory + MCP_LOCK_SIZE, &glue,
                         worker + 1, pid) != MCP_OK)
    {
        worker_fail(w, "attach", 0);
    }
}


static void *
worker_run(void *data)
{
    worker_t  *w = data;

    while (!atomic_load(&w->journal->stop)) {
        worker_step(w);
        atomic_fetch_add_explicit(&w->journal->operations, 1,
                                  memory_order_relaxed);
    }

    return NULL;
}


/* --- kills --- */

#define ZONE  (4 * 1024 * 1024)


static void *
zone_new(size_t size)
{
    void  *memory;

    memory = shared_new(MCP_LOCK_SIZE + size);
    assert_ok(mcp_lock_init(memory));
    assert_ok(mcp_store_format((char *) memory + MCP_LOCK_SIZE, size));

    return memory;
}


/* Checks a stream after its worker was killed. */
static void
check_entry(mcp_store_t *store, journal_t *journal, entry_t *e)
{
    int                rc, taken;
    int64_t            seq;
    mcp_cursor_t       cursor;
    mcp_stream_info_t  info;

    if (!e->live && e->ref.index != 0) {
        return;                        /* the stream is over or was freed */
    }

    rc = mcp_store_find(store, e->ref.id, 0, &info);

    /* end the replication, so that events which are not acknowledged can be
     * read as well */

    if (rc == MCP_OK) {
        mcp_store_replication_end(store, &info.ref);
        rc = mcp_store_find(store, e->ref.id, 0, &info);
    }

    if (rc != MCP_OK) {
        if (e->live == 1) {
            atomic_fetch_add(&journal->missing, 1);
        }

        e->live = 0;
        return;
    }

    e->ref = info.ref;

    if (info.last_seq != e->acked && info.last_seq != e->started) {
        fail_msg("event %llu, acknowledged %llu, begun %llu",
                 (unsigned long long) info.last_seq,
                 (unsigned long long) e->acked,
                 (unsigned long long) e->started);
    }

    if (info.first_seq > info.sent_seq + 1) {
        fail_msg("dropped before it was sent");
    }

    /* during this read, other workers may displace its consumer, or confirm
     * events, which removes them */

    rc = mcp_store_watch(store, &info.ref, 77, info.first_seq - 1, &cursor,
                         &taken);

    if (rc == MCP_OK) {
        seq = check_read(store, &info.ref, 77, &cursor, 10000, &rc);

        if (rc == MCP_AGAIN || rc == MCP_DONE) {
            if (seq < 0 || (uint64_t) seq != info.last_seq) {
                fail_msg("events differ from those written");
            }

        } else if (rc != MCP_ERR_DENIED && rc != MCP_ERR_NOT_FOUND
                   && rc != MCP_ERR_PURGED)
        {
            fail_msg("read %d", rc);
        }

        mcp_store_unwatch(store, &info.ref, 77, info.first_seq - 1,
                          clock_ms());
    }

    e->acked = info.last_seq;
    e->started = info.last_seq;
    e->live = info.state < MCP_STATE_COMPLETED;
}


/* In a full store, running calls without a reader are evicted. No other stream
 * may be missing. */
static void
check_missing(mcp_store_t *store, journal_t *journal)
{
    uint64_t           missing;
    mcp_store_stats_t  stats;

    missing = atomic_load(&journal->missing);
    mcp_store_stats(store, &stats);

    if (missing > (uint64_t) stats.counter[MCP_COUNT_STREAMS_EVICTED]) {
        fail_msg("%llu streams are missing, %lld were evicted",
                 (unsigned long long) missing,
                 (long long) stats.counter[MCP_COUNT_STREAMS_EVICTED]);
    }
}


static pid_t
worker_fork(void *memory, journal_t *journal, unsigned i, uint64_t seed,
    uint64_t incarnation)
{
    pid_t     pid;
    worker_t  w;

    pid = fork();
    assert_true(pid != -1);

    if (pid != 0) {
        return pid;
    }

    worker_init(&w, memory, journal, i, seed, incarnation);
    worker_run(&w);
    _exit(0);
}


static double
seconds(void)
{
    struct timespec  ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);

    return (double) ts.tv_sec + (double) ts.tv_nsec / 1e9;
}


TEST(processes_are_killed_at_random__no_successfully_appended_event_is_lost)
{
    int                status;
    void              *memory;
    pid_t              pid[WORKERS];
    double             end;
    worker_t           w;
    unsigned           i, k, n, kills;
    uint64_t           seed, incarnation, inc[WORKERS];
    journal_t         *journal;
    const char        *why;
    mcp_store_stats_t  stats;

    memory = zone_new(ZONE);
    journal = shared_new(sizeof(journal_t));
    seed = store_seed();
    kills = (unsigned) store_setting("STORE_KILLS", 3000);
    end = seconds() + (double) store_setting("STORE_SECONDS", 8);
    incarnation = 1000;

    printf("STORE_SEED=%llu\n", (unsigned long long) seed);
    fflush(stdout);

    /* workers have the slots 0 to WORKERS - 1; the parent has slot WORKERS */
    worker_init(&w, memory, journal, WORKERS, seed, 1);

    for (i = 0; i < WORKERS; i++) {
        inc[i] = incarnation++;
        pid[i] = worker_fork(memory, journal, i, draw(&seed), inc[i]);
    }

    for (n = 0; n < kills && seconds() < end && !journal->failed[0]; n++) {
        usleep((useconds_t) (draw(&seed) % 2500));

        i = (unsigned) (draw(&seed) % WORKERS);
        kill(pid[i], SIGKILL);
        waitpid(pid[i], &status, 0);

        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
            fail_msg("worker ended by itself: %s", journal->failed);
        }

        if (draw(&seed) % 2) {
            mcp_store_reclaim(&w.store, i + 1, inc[i]);
        }

        if (store_verify(&w.store, &why) != MCP_OK) {
            fail_msg("after %u kills: %s", n + 1, why);
        }

        for (k = 0; k < ENTRIES; k++) {
            check_entry(&w.store, journal, &journal->entry[i][k]);
        }

        inc[i] = incarnation++;
        pid[i] = worker_fork(memory, journal, i, draw(&seed), inc[i]);
    }

    for (i = 0; i < WORKERS; i++) {
        kill(pid[i], SIGKILL);
        waitpid(pid[i], &status, 0);
        mcp_store_reclaim(&w.store, i + 1, inc[i]);
    }

    if (journal->failed[0]) {
        fail_msg("%s", journal->failed);
    }

    for (i = 0; i < WORKERS; i++) {
        for (k = 0; k < ENTRIES; k++) {
            check_entry(&w.store, journal, &journal->entry[i][k]);
            mcp_store_free(&w.store, &journal->entry[i][k].ref);
        }
    }

    check_missing(&w.store, journal);
    mcp_store_stats(&w.store, &stats);
    printf("%u kills, %lld repairs, %llu operations, %llu events, "
           "%llu refused\n", n,
           (long long) stats.counter[MCP_COUNT_REPAIRS],
           (unsigned long long) atomic_load(&journal->operations),
           (unsigned long long) atomic_load(&journal->events),
           (unsigned long long) atomic_load(&journal->refused));

    assert_true(n < 100 || stats.counter[MCP_COUNT_REPAIRS] > 0);
    assert_ok(store_verify(&w.store, &why));

    munmap(memory, MCP_LOCK_SIZE + ZONE);
    munmap(journal, sizeof(journal_t));
}


TEST(threads_use_one_store_at_once__the_store_stays_intact)
{
    void        *memory;
    worker_t     w[WORKERS];
    unsigned     i;
    pthread_t    thread[WORKERS];
    journal_t   *journal;
    const char  *why;

    memory = zone_new(ZONE);
    journal = shared_new(sizeof(journal_t));

    for (i = 0; i < WORKERS; i++) {
        worker_init(&w[i], memory, journal, i, i + 1, 10 + i);
        assert_int_equal(pthread_create(&thread[i], NULL, worker_run, &w[i]),
                         0);
    }

    usleep((useconds_t) store_setting("STORE_THREAD_MS", 500) * 1000);
    atomic_store(&journal->stop, 1);

    for (i = 0; i < WORKERS; i++) {
        pthread_join(thread[i], NULL);
    }

    if (journal->failed[0]) {
        fail_msg("%s", journal->failed);
    }

    check_missing(&w[0].store, journal);
    assert_ok(store_verify(&w[0].store, &why));
    munmap(memory, MCP_LOCK_SIZE + ZONE);
    munmap(journal, sizeof(journal_t));
}


/* --- texts that several processes add --- */

#define RACE_KEYS  2000


typedef struct {
    _Atomic(unsigned)  ready;          /* number of processes that have
                                          started */
    _Atomic(unsigned)  added[RACE_KEYS];   /* bit k: process k has added its
                                              text with this key */
} race_t;


static void
race_attach(mcp_store_t *store, void *memory, unsigned slot)
{
    mcp_store_glue_t  glue = { shared_lock, shared_unlock, memory,
                               shared_wake, memory };

    assert_ok(mcp_store_attach(store, (char *) memory + MCP_LOCK_SIZE, &glue,
                               slot, 10 + slot));
}


static void
race_key(unsigned char key[MCP_DIGEST_LEN], unsigned n)
{
    memset(key, 0, MCP_DIGEST_LEN);
    memcpy(key, &n, sizeof(n));
}


/* Adds the text of process k with each of the keys, and exits. */
static void
race_run(mcp_store_t *store, race_t *race, unsigned k)
{
    int            rc;
    char           text[MCP_STORE_TEXT_MAX];
    unsigned       n;
    unsigned char  key[MCP_DIGEST_LEN];

    atomic_fetch_add(&race->ready, 1);

    while (atomic_load(&race->ready) < 2) {
        usleep(10);
    }

    for (n = 0; n < RACE_KEYS; n++) {
        race_key(key, n);
        rc = store_text_add(store, MCP_VALUE_UPSTREAM_SESSION, key,
                            text_run(text, k), 1, 2, NULL);

        if (rc == MCP_OK) {
            atomic_fetch_or(&race->added[n], 1u << k);

        } else if (rc != MCP_ERR_EXISTS) {
            _exit(1);
        }
    }

    _exit(0);
}


TEST(two_processes_race_to_add_a_text_under_one_key__the_first_text_stays)
{
    int            status;
    char           text[MCP_STORE_TEXT_MAX], want[MCP_STORE_TEXT_MAX];
    void          *memory;
    pid_t          pid[2];
    size_t         len;
    race_t        *race;
    unsigned       k, n, added;
    mcp_store_t    store[2];
    unsigned char  key[MCP_DIGEST_LEN];

    memory = zone_new(8 * ZONE);
    race = shared_new(sizeof(race_t));
    race_attach(&store[0], memory, 0);
    race_attach(&store[1], memory, 1);

    for (k = 0; k < 2; k++) {
        pid[k] = fork();
        assert_true(pid[k] != -1);

        if (pid[k] == 0) {
            race_run(&store[k], race, k);
        }
    }

    for (k = 0; k < 2; k++) {
        assert_int_equal(waitpid(pid[k], &status, 0), pid[k]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }

    for (n = 0; n < RACE_KEYS; n++) {
        added = atomic_load(&race->added[n]);
        assert_true(added == 1 || added == 2);

        race_key(key, n);
        assert_ok(store_text_get(&store[0], MCP_VALUE_UPSTREAM_SESSION,
                                 key, 1, 0, text, &len, NULL));
        assert_true(mcp_str_eq((mcp_str_t) { text, len },
                               text_run(want, added - 1)));
    }

    munmap(memory, MCP_LOCK_SIZE + 8 * ZONE);
    munmap(race, sizeof(race_t));
}


RUN_TESTS(NULL, NULL)
