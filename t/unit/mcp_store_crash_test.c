
/*
 * Processes that die at any instant.
 *
 * test_steps takes single operations through a debugger's eyes: after every
 * instruction that has changed the region, a copy of it is repaired and
 * verified, and must hold what was there before the operation or after it.
 *
 * test_kills runs workers that append, read, take over, post, publish, and
 * kills them at random; what an append has acknowledged must be there, once,
 * in order.  STORE_KILLS and STORE_SECONDS make it longer, STORE_STEPS the
 * other, STORE_SEED repeats.  test_threads runs the same workers as threads, for the thread
 * sanitizer.
 */


#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store_driver.h"


#define WORKERS   4
#define ENTRIES   8                    /* streams of a worker */
#define SPEC_MAX_EVENTS  300


/* What a worker knows of one of its streams, where the others see it. */
typedef struct {
    _Atomic uint64_t    id;            /* of the stream, for other workers */
    mcp_stream_ref_t    ref;
    volatile uint64_t   started;       /* being appended */
    volatile uint64_t   acked;
    volatile int        live;          /* 1: created, 2: being freed or ended */
} entry_t;


typedef struct {
    entry_t             entry[WORKERS][ENTRIES];
    _Atomic uint64_t    ids;
    _Atomic uint64_t    operations;
    _Atomic uint64_t    events;
    _Atomic uint64_t    refused;
    _Atomic int         stop;
    char                failed[256];
} journal_t;


typedef struct {
    void         *memory;              /* lock and region */
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


static void *
plain_alloc(void *ctx, size_t size)
{
    (void) ctx;

    return malloc(size);
}


static void
plain_free(void *ctx, void *p)
{
    (void) ctx;

    free(p);
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
shared_wake(void *ctx, unsigned slot)
{
    (void) ctx;
    (void) slot;
}


/* A message is made of its stream's id and its number: nothing else must ever
 * be read under these. */
static size_t
text_len(const unsigned char *id, uint64_t seq)
{
    uint64_t  n;

    memcpy(&n, id, sizeof(n));
    n = n * 31 + seq * 17;

    return n % 401 == 0 ? 66000 + n % 1000 : n % 900;
}


static void
text_fill(char *p, const unsigned char *id, uint64_t seq, size_t len)
{
    size_t    i;
    uint64_t  n;

    memcpy(&n, id, sizeof(n));

    for (i = 0; i < len; i++) {
        p[i] = (char) ('!' + (n + seq * 5 + i) % 90);
    }
}


static void
worker_fail(worker_t *w, const char *why, uint64_t n)
{
    snprintf(w->journal->failed, sizeof(w->journal->failed),
             "worker %u: %s (%llu)", w->worker, why, (unsigned long long) n);
    atomic_store(&w->journal->stop, 1);
}


/*
 * Reads from the cursor on, up to n buffers, and compares.  The number of
 * the last event seen whole, or -1 when it is not what was written.  *rc is
 * that of the last read.
 */
static int64_t
check_read(mcp_store_t *store, const mcp_stream_ref_t *ref, uint64_t handle,
    mcp_cursor_t *cursor, unsigned n, int *rc)
{
    size_t              len, i, want_len, pos;
    uint64_t            seq;
    static __thread char  buf[20000], want[70000];

    seq = cursor->seq;
    want_len = 0;
    pos = 0;

    while (n-- > 0) {
        *rc = mcp_store_read(store, ref, handle, cursor, cursor->seq, buf,
                             sizeof(buf), &len);
        if (*rc != MCP_OK) {
            break;
        }

        for (i = 0; i < len; /* void */) {
            size_t  part;

            if (pos == want_len) {
                char  *p;

                p = mcp_sse_event_head(want, ref->id, seq + 1);
                want_len = text_len(ref->id, seq + 1);
                text_fill(p, ref->id, seq + 1, want_len);
                p += want_len;
                *p++ = '\n';
                *p++ = '\n';
                want_len = (size_t) (p - want);
                pos = 0;
            }

            part = len - i < want_len - pos ? len - i : want_len - pos;

            if (memcmp(buf + i, want + pos, part) != 0) {
                return -1;
            }

            i += part;
            pos += part;

            if (pos == want_len) {
                seq++;
            }
        }
    }

    return cursor->seq == seq ? (int64_t) seq : -1;
}


/* --- workers --- */

/* The stream of a worker, also another's. */
static int
worker_find(worker_t *w, entry_t *e, mcp_stream_info_t *info)
{
    mcp_stream_spec_t  spec;

    store_spec(&spec, 0, 0);
    *(uint64_t *) spec.id = atomic_load(&e->id);

    return mcp_store_find(&w->store, spec.id, info);
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

    if (mcp_store_create(&w->store, &spec, clock_ms(), &e->ref) == MCP_OK) {
        e->live = 1;
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
        worker_fail(w, "events are not what was written", cursor.seq);
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

    if (mcp_store_find(&w->store, spec.id, &info) != MCP_OK) {
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
        mcp_store_publish(&w->store, topic,
                          store_message(1, draw(&w->seed) % 600), 1, 3,
                          &position, &n);
        break;
    }
}


static void
worker_inbox(worker_t *w, entry_t *other, entry_t *own)
{
    uint64_t           tag;
    mcp_buf_t          data;
    mcp_post_e         type;
    mcp_stream_info_t  info;

    if (worker_find(w, other, &info) == MCP_OK) {
        mcp_store_post(&w->store, &info.ref, MCP_POST_INPUT,
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


static void
worker_value(worker_t *w)
{
    uint32_t       value;
    unsigned char  key[MCP_DIGEST_LEN];

    memset(key, (int) (draw(&w->seed) % 100), sizeof(key));

    switch (draw(&w->seed) % 3) {
    case 0:
        mcp_store_value_set(&w->store, 'a', key, key[0], 0);
        break;
    case 1:
        mcp_store_value_delete(&w->store, 'a', key);
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

    k = (unsigned) (draw(&w->seed) % 32);

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
shared_new(size_t size)
{
    void  *p;

    p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
             -1, 0);
    assert_true(p != MAP_FAILED);

    return p;
}


static void *
zone_new(size_t size)
{
    void  *memory;

    memory = shared_new(MCP_LOCK_SIZE + size);
    assert_int_equal(mcp_lock_init(memory), MCP_OK);
    assert_int_equal(mcp_store_format((char *) memory + MCP_LOCK_SIZE, size),
                     MCP_OK);

    return memory;
}


/* What a dead worker's stream must be like. */
static void
check_entry(mcp_store_t *store, entry_t *e)
{
    int                rc, taken;
    int64_t            seq;
    mcp_cursor_t       cursor;
    mcp_stream_info_t  info;

    if (!e->live && e->ref.index != 0) {
        return;                        /* over, or freed */
    }

    rc = mcp_store_find(store, e->ref.id, &info);

    if (rc != MCP_OK) {
        if (e->live == 1) {
            fail_msg("a stream is lost");
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

    /* others may take the stream over meanwhile, and confirm events, which
     * drops them */

    rc = mcp_store_watch(store, &info.ref, 77, info.first_seq - 1, &cursor,
                         &taken);

    if (rc == MCP_OK) {
        seq = check_read(store, &info.ref, 77, &cursor, 10000, &rc);

        if (rc == MCP_AGAIN || rc == MCP_DONE) {
            if (seq < 0 || (uint64_t) seq != info.last_seq) {
                fail_msg("events are not what was written");
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


static uint64_t
setting(const char *name, uint64_t value)
{
    const char  *text;

    text = getenv(name);

    return text ? strtoull(text, NULL, 10) : value;
}


static void
test_kills(void **state)
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

    (void) state;

    memory = zone_new(ZONE);
    journal = shared_new(sizeof(journal_t));
    seed = setting("STORE_SEED", (uint64_t) time(NULL) ^ (uint64_t) getpid());
    kills = (unsigned) setting("STORE_KILLS", 3000);
    end = seconds() + (double) setting("STORE_SECONDS", 8);
    incarnation = 1000;

    printf("STORE_SEED=%llu\n", (unsigned long long) seed);
    fflush(stdout);

    /* the parent's slot is beyond the workers' */
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
            mcp_store_bury(&w.store, i + 1, inc[i]);
        }

        if (mcp_store_verify(&w.store, &why) != MCP_OK) {
            fail_msg("after %u kills: %s", n + 1, why);
        }

        for (k = 0; k < ENTRIES; k++) {
            check_entry(&w.store, &journal->entry[i][k]);
        }

        inc[i] = incarnation++;
        pid[i] = worker_fork(memory, journal, i, draw(&seed), inc[i]);
    }

    for (i = 0; i < WORKERS; i++) {
        kill(pid[i], SIGKILL);
        waitpid(pid[i], &status, 0);
        mcp_store_bury(&w.store, i + 1, inc[i]);
    }

    if (journal->failed[0]) {
        fail_msg("%s", journal->failed);
    }

    for (i = 0; i < WORKERS; i++) {
        for (k = 0; k < ENTRIES; k++) {
            check_entry(&w.store, &journal->entry[i][k]);
            mcp_store_free(&w.store, &journal->entry[i][k].ref);
        }
    }

    mcp_store_stats(&w.store, &stats);
    printf("%u kills, %lld repairs, %llu operations, %llu events, "
           "%llu refused\n", n,
           (long long) stats.counter[MCP_COUNT_REPAIRS],
           (unsigned long long) atomic_load(&journal->operations),
           (unsigned long long) atomic_load(&journal->events),
           (unsigned long long) atomic_load(&journal->refused));

    assert_true(n < 100 || stats.counter[MCP_COUNT_REPAIRS] > 0);
    assert_int_equal(mcp_store_verify(&w.store, &why), MCP_OK);

    munmap(memory, MCP_LOCK_SIZE + ZONE);
    munmap(journal, sizeof(journal_t));
}


static void
test_threads(void **state)
{
    void        *memory;
    worker_t     w[WORKERS];
    unsigned     i;
    pthread_t    thread[WORKERS];
    journal_t   *journal;
    const char  *why;

    (void) state;

    memory = zone_new(ZONE);
    journal = shared_new(sizeof(journal_t));

    for (i = 0; i < WORKERS; i++) {
        worker_init(&w[i], memory, journal, i, i + 1, 10 + i);
        assert_int_equal(pthread_create(&thread[i], NULL, worker_run, &w[i]),
                         0);
    }

    usleep((useconds_t) setting("STORE_THREAD_MS", 500) * 1000);
    atomic_store(&journal->stop, 1);

    for (i = 0; i < WORKERS; i++) {
        pthread_join(thread[i], NULL);
    }

    if (journal->failed[0]) {
        fail_msg("%s", journal->failed);
    }

    assert_int_equal(mcp_store_verify(&w[0].store, &why), MCP_OK);
    munmap(memory, MCP_LOCK_SIZE + ZONE);
    munmap(journal, sizeof(journal_t));
}


/* --- steps --- */

#define SMALL    MCP_STORE_MIN_SIZE
#define STREAMS  6


typedef struct {
    mcp_stream_ref_t  ref[STREAMS];
    mcp_cursor_t      cursor;
    uint64_t          last[STREAMS];   /* before the operation */
} scene_t;


static int
no_lock(void *ctx)
{
    (void) ctx;

    return MCP_OK;
}


static void
no_unlock(void *ctx)
{
    (void) ctx;
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


/* Streams 0 and 1 run, 2 has a consumer and is at its limit, 3 is over and
 * lingers, 4 and 5 listen. */
static void
scene_make(scene_t *scene, void *region)
{
    int                taken, rc;
    size_t             len;
    char               buf[20000];
    unsigned           i, k;
    mcp_store_t        a, b;
    mcp_cursor_t       cursor;
    unsigned char      key[MCP_DIGEST_LEN];
    mcp_stream_spec_t  spec;

    assert_int_equal(mcp_store_format(region, SMALL), MCP_OK);
    scene_attach(&a, region, 0);
    scene_attach(&b, region, 1);
    memset(scene, 0, sizeof(scene_t));

    for (i = 0; i < STREAMS; i++) {
        store_spec(&spec, i + 1, 1 + i % 2);
        spec.max_events = i == 2 ? 70 : 0;
        spec.kind = i < 4 ? MCP_STREAM_CALL : MCP_STREAM_LISTEN;
        assert_int_equal(mcp_store_create(i % 2 ? &b : &a, &spec, 1,
                                          &scene->ref[i]), MCP_OK);
    }

    for (i = 0; i < 4; i++) {
        for (k = 1; k <= 6; k++) {
            scene_append(&a, &scene->ref[i], k, -1);
        }
    }

    for (k = 7; k <= 70; k++) {
        uint64_t  seq;

        assert_int_equal(mcp_store_append(&a, &scene->ref[2], mcp_str("x"),
                                          -1, MCP_STATE_PROCESSING, 1, &seq),
                         MCP_OK);
    }

    assert_int_equal(mcp_store_watch(&b, &scene->ref[2], 5, 0, &scene->cursor,
                                     &taken), MCP_OK);
    assert_int_equal(mcp_store_read(&b, &scene->ref[2], 5, &scene->cursor, 0,
                                    buf, sizeof(buf), &len), MCP_OK);

    scene_append(&a, &scene->ref[3], 7, 0);
    assert_int_equal(mcp_store_watch(&b, &scene->ref[3], 6, 0, &cursor,
                                     &taken), MCP_OK);

    do {
        rc = mcp_store_read(&b, &scene->ref[3], 6, &cursor, cursor.seq, buf,
                            sizeof(buf), &len);
    } while (rc == MCP_OK);

    mcp_store_unwatch(&b, &scene->ref[3], 6, cursor.seq, 1);

    for (i = 0; i < 12; i++) {
        memset(key, (int) i, sizeof(key));
        mcp_store_value_set(&a, 'v', key, i, i < 6 ? 10 : 0);
        mcp_store_subscribe(&a, &scene->ref[4 + i % 2], key);
    }

    memset(key, 0, sizeof(key));
    mcp_store_subscribe(&a, &scene->ref[5], key);
    mcp_store_post(&b, &scene->ref[0], MCP_POST_INPUT, 1,
                   store_message(1, 700));
    mcp_store_post(&b, &scene->ref[0], MCP_POST_CANCEL, 2, mcp_null_str);
}


typedef struct {
    const char  *name;
    void       (*run)(mcp_store_t *a, scene_t *scene);
    unsigned     may_append;           /* bit per stream */
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
    static char  text[65537];          /* making one up takes many steps */

    mcp_store_append(a, &s->ref[1], (mcp_str_t) { text, sizeof(text) }, -1,
                     MCP_STATE_PROCESSING, 1, &seq);
}


/* At its limit, with what was sent dropped. */
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


static void
op_create(mcp_store_t *a, scene_t *s)
{
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    (void) s;

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
    mcp_store_set_state(a, &s->ref[0], MCP_STATE_CANCELLED);
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
op_touch(mcp_store_t *a, scene_t *s)
{
    mcp_store_touch(a, &s->ref[0], 5);
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
    mcp_store_post(a, &s->ref[1], MCP_POST_PUBLISH, 1,
                   store_message(1, 1500));
}


static void
op_take(mcp_store_t *a, scene_t *s)
{
    uint64_t    tag;
    mcp_mem_t   mem = { plain_alloc, plain_free, NULL };
    mcp_buf_t   data;
    mcp_post_e  type;

    mcp_buf_init(&data, &mem, 10000);
    mcp_store_take(a, &s->ref[0], &type, &tag, &data);
    mcp_store_take(a, &s->ref[0], &type, &tag, &data);
    mcp_buf_free(&data);
}


static void
op_values(mcp_store_t *a, scene_t *s)
{
    unsigned       i;
    unsigned char  key[MCP_DIGEST_LEN];

    (void) s;

    for (i = 8; i < 16; i++) {
        memset(key, (int) i, sizeof(key));
        mcp_store_value_set(a, 'v', key, i, 0);
        mcp_store_value_delete(a, 'v', key);
    }
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

    (void) s;

    memset(key, 0, sizeof(key));
    position = 0;
    mcp_store_publish(a, key, mcp_str("x"), 1, 10, &position, &n);
}


static void
op_sweep(mcp_store_t *a, scene_t *s)
{
    (void) s;

    mcp_store_sweep(a, 1000000, 10000, NULL, NULL);
}


static void
op_bury(mcp_store_t *a, scene_t *s)
{
    mcp_stream_info_t  info;

    (void) s;

    mcp_store_bury(a, 1, 101);
    mcp_store_adopt(a, 1, &info, NULL);
}


static void
op_drain(mcp_store_t *a, scene_t *s)
{
    mcp_store_wake_t  out[8];

    (void) s;

    mcp_store_drain(a, out, 8);
}


static void
op_repair(mcp_store_t *a, scene_t *s)
{
    (void) s;

    a->head->holder = 2;
    (void) mcp_store_slot_pid(a, 0);
    mcp_store_bury(a, 5, 5);
}


static const operation_t  operations[] = {
    { "append", op_append, 1, 0 },
    { "append the response", op_append_last, 1, 0 },
    { "append the first event", op_append_first, 1 << 4, 0 },
    { "append a big one", op_append_big, 1 << 1, 0 },
    { "append and drop", op_append_trim, 1 << 2, 0 },
    { "append and evict", op_append_evict, 1, 1 << 3 },
    { "create", op_create, 0, 0 },
    { "free", op_free, 0, 1 << 1 },
    { "free a consumed stream", op_free_consumed, 0, 1 << 2 },
    { "free a listener", op_free_listener, 0, 1 << 5 },
    { "set_state", op_set_state, 0, 0 },
    { "watch", op_watch, 0, 0 },
    { "watch a lingering stream", op_watch_lingering, 0, 0 },
    { "confirm", op_confirm, 0, 0 },
    { "touch", op_touch, 0, 0 },
    { "post", op_post, 0, 0 },
    { "take", op_take, 0, 0 },
    { "values", op_values, 0, 0 },
    { "subscribe", op_subscribe, 0, 0 },
    { "publish", op_publish, 3 << 4, 0 },
    { "sweep", op_sweep, 0, 1 << 3 },
    { "bury and adopt", op_bury, 0, 0 },
    { "drain", op_drain, 0, 0 },
    { "repair", op_repair, 0, 0 },
};

#define N_OPERATIONS  (sizeof(operations) / sizeof(operations[0]))


/* A copy of the region, as another process would find it. */
static void
scene_check(const operation_t *op, const scene_t *scene, void *copy,
    unsigned long step)
{
    int                rc, taken;
    unsigned           i;
    const char        *why;
    mcp_store_t        store;
    mcp_cursor_t       cursor;
    mcp_stream_info_t  info;

    scene_attach(&store, copy, 2);

    if (mcp_store_verify(&store, &why) != MCP_OK) {
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

        if (info.last_seq != scene->last[i]
            && !((op->may_append & (1u << i))
                 && info.last_seq == scene->last[i] + 1))
        {
            fail_msg("%s, step %lu: stream %u has event %llu", op->name, step,
                     i, (unsigned long long) info.last_seq);
        }

        /* of the streams 0 and 3 the text is known */

        if (i != 0 && i != 3) {
            continue;
        }

        if (mcp_store_watch(&store, &info.ref, 9, 0, &cursor, &taken)
            != MCP_OK
            || check_read(&store, &info.ref, 9, &cursor, 1000, &rc)
               != (int64_t) info.last_seq)
        {
            fail_msg("%s, step %lu: stream %u is not what was written",
                     op->name, step, i);
        }

        if ((rc == MCP_DONE) != (info.state >= MCP_STATE_COMPLETED)
            || (i == 3 && info.state != MCP_STATE_COMPLETED)
            || (i == 0 && info.state != MCP_STATE_PROCESSING
                && op->run != op_append_last && op->run != op_set_state))
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

    if (mcp_store_verify(&store, &why) != MCP_OK) {
        fail_msg("%s, step %lu, after reading: %s", op->name, step, why);
    }
}


/* Runs an operation in a child, instruction by instruction; 0 if this machine
 * does not let us. */
static int
scene_step(const operation_t *op, scene_t *scene, void *region, void *copy,
    void *before, unsigned long *steps, unsigned long *states)
{
    int            status;
    pid_t          pid;
    mcp_store_t    a;
    unsigned long  first, limit;

    /* repair takes too many for every day */
    limit = setting("STORE_STEPS", 50000);

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
        memcpy(copy, region, SMALL);
        scene_check(op, scene, copy, *steps);
    }

    return 1;
}


static void
test_steps(void **state)
{
    void           *region, *copy, *before;
    size_t          k;
    unsigned        i;
    scene_t         scene;
    mcp_store_t     store;
    unsigned long   steps, states;
    mcp_stream_info_t  info;

    (void) state;

    region = shared_new(SMALL);
    copy = shared_new(SMALL);
    before = shared_new(SMALL);
    steps = 0;
    states = 0;

    for (k = 0; k < N_OPERATIONS; k++) {
        scene_make(&scene, region);
        scene_attach(&store, region, 0);

        for (i = 0; i < STREAMS; i++) {
            assert_int_equal(mcp_store_info(&store, &scene.ref[i], &info),
                             MCP_OK);
            scene.last[i] = info.last_seq;
        }

        if (!scene_step(&operations[k], &scene, region, copy, before, &steps,
                        &states))
        {
            printf("no ptrace here\n");
            skip();
        }
    }

    printf("%lu instructions, %lu states\n", steps, states);
    munmap(region, SMALL);
    munmap(copy, SMALL);
    munmap(before, SMALL);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_kills),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
