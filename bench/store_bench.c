/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Times of the store's operations: appending, replaying, following.
 *
 *     make build/made/store/mcp_status_page.c
 *     cc -std=c11 -D_GNU_SOURCE -O2 -Ishared -Ishared/include \
 *         bench/store_bench.c \
 *         $(find shared/{base,json,http,rpc,config,store} -name "*.c") \
 *         build/made/store/mcp_status_page.c \
 *         -lyajl -lpcre2-8 -lcrypto -lpthread \
 *         -o build/store_bench && build/store_bench
 *
 * One process, unless noted: it takes the lock without contention.
 */


#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/mcp_lock.h"
#include "store/mcp_store_layout.h"


#define ZONE      (512UL * 1024 * 1024)
#define MESSAGE   200


static mcp_store_t  store;
static void        *memory;


static int
bench_lock(void *ctx)
{
    return mcp_lock(ctx);
}


static void
bench_unlock(void *ctx)
{
    mcp_unlock(ctx);
}


static void
bench_wake(void *ctx, unsigned slot)
{
    (void) ctx;
    (void) slot;
}


static void
must(int rc, const char *what)
{
    if (rc != MCP_OK) {
        fprintf(stderr, "%s: %d\n", what, rc);
        exit(1);
    }
}


static double
ns(void)
{
    struct timespec  ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);

    return (double) ts.tv_sec * 1e9 + (double) ts.tv_nsec;
}


static void
attach(unsigned slot)
{
    mcp_store_glue_t  glue = { bench_lock, bench_unlock, memory,
                               bench_wake, NULL };

    must(mcp_store_attach(&store, (char *) memory + MCP_LOCK_SIZE, &glue,
                          slot, 100 + slot), "attach");
}


static void
create(unsigned n, mcp_stream_ref_t *ref)
{
    mcp_stream_spec_t  spec;

    memset(&spec, 0, sizeof(spec));
    memcpy(spec.id, &n, sizeof(n));
    memcpy(spec.session, &n, sizeof(n));
    spec.request = mcp_str("1");
    spec.method = mcp_str("tools/call");
    spec.name = mcp_str("bench");

    must(mcp_store_create(&store, &spec, 1, ref), "create");
}


static void
append(const mcp_stream_ref_t *ref, size_t len, unsigned n)
{
    uint64_t     seq;
    static char  text[1024 * 1024];

    while (n--) {
        must(mcp_store_append(&store, ref, (mcp_str_t) { text, len }, -1,
                              MCP_STATE_PROCESSING, 1, &seq), "append");
    }
}


static void
bench_append(size_t len, unsigned n)
{
    double            t, best;
    unsigned          i;
    mcp_stream_ref_t  ref;

    for (i = 0, best = 1e18; i < 5; i++) {
        create(1, &ref);
        t = ns();
        append(&ref, len, n);
        t = (ns() - t) / n;
        best = t < best ? t : best;
        mcp_store_free(&store, &ref);
    }

    printf("append %7zu bytes       %8.0f ns\n", len, best);
}


static void
bench_replay(unsigned n, size_t cap)
{
    int               taken, rc;
    char             *buf;
    size_t            len;
    double            t, best;
    unsigned          i, k, repeat;
    mcp_cursor_t      cursor;
    mcp_stream_ref_t  ref;

    buf = malloc(cap);
    create(1, &ref);
    append(&ref, MESSAGE, n);
    repeat = 2000000 / n + 1;

    for (i = 0, best = 1e18; i < 5; i++) {
        t = ns();

        for (k = 0; k < repeat; k++) {
            must(mcp_store_watch(&store, &ref, 1, 0, &cursor, &taken),
                 "watch");

            do {
                rc = mcp_store_read(&store, &ref, 1, &cursor, cursor.seq,
                                    buf, cap, &len);
            } while (rc == MCP_OK);

            mcp_store_unwatch(&store, &ref, 1, 0, 1);
        }

        t = (ns() - t) / repeat / n;
        best = t < best ? t : best;
    }

    printf("replay %6u events, %3zu KB %6.0f ns an event, %.1f M events/s\n",
           n, cap / 1024, best, 1e3 / best);
    mcp_store_free(&store, &ref);
    free(buf);
}


/* Reads one event after a cursor in the middle of the stream. */
static void
bench_seek(unsigned n)
{
    int               taken;
    char              buf[1024];
    size_t            len;
    double            t;
    unsigned          i;
    mcp_cursor_t      cursor;
    mcp_stream_ref_t  ref;

    create(1, &ref);
    append(&ref, MESSAGE, n);
    t = ns();

    for (i = 0; i < 20000; i++) {
        must(mcp_store_watch(&store, &ref, 1, (uint64_t) i * 7919 % n,
                             &cursor, &taken), "watch");
        must(mcp_store_read(&store, &ref, 1, &cursor, 0, buf, 300, &len),
             "read");
    }

    printf("resume in %6u events   %8.0f ns\n", n, (ns() - t) / 20000);
    mcp_store_free(&store, &ref);
}


/* Appends, wakes, takes the wake-up and reads, one event at a time. */
static void
bench_follow(unsigned n)
{
    int                taken;
    char               buf[1024];
    size_t             len;
    double             t;
    unsigned           i;
    mcp_cursor_t       cursor;
    mcp_store_wake_t   out[4];
    mcp_stream_ref_t   ref;

    create(1, &ref);
    must(mcp_store_watch(&store, &ref, 1, 0, &cursor, &taken), "watch");
    t = ns();

    for (i = 0; i < n; i++) {
        append(&ref, MESSAGE, 1);
        mcp_store_drain(&store, out, 4);
        must(mcp_store_read(&store, &ref, 1, &cursor, cursor.seq, buf,
                            sizeof(buf), &len), "read");
    }

    printf("follow                    %8.0f ns an event\n", (ns() - t) / n);
    mcp_store_free(&store, &ref);
    mcp_store_drain(&store, out, 4);
}


static void
bench_create(unsigned n)
{
    double             t;
    unsigned           i;
    mcp_stream_ref_t  *ref;

    ref = malloc(n * sizeof(mcp_stream_ref_t));
    t = ns();

    for (i = 0; i < n; i++) {
        create(i, &ref[i]);
    }

    printf("create, of %6u streams  %8.0f ns\n", n, (ns() - t) / n);
    t = ns();

    for (i = 0; i < n; i++) {
        append(&ref[i], MESSAGE, 1);
    }

    printf("append, of %6u streams  %8.0f ns\n", n, (ns() - t) / n);

    store.head->holder = 1;
    t = ns();
    mcp_store_reclaim(&store, 1000, 1);
    printf("repair of %4lu MB, %u streams %.1f ms\n", ZONE >> 20, n,
           (ns() - t) / 1e6);

    t = ns();

    for (i = 0; i < n; i++) {
        mcp_store_free(&store, &ref[i]);
    }

    printf("free                      %8.0f ns\n", (ns() - t) / n);
    free(ref);
}


/* Lists a session's active calls among many streams of calls that have
 * ended. */
static void
bench_session(unsigned n)
{
    double              t;
    unsigned            i;
    uint64_t            position;
    mcp_stream_ref_t   *ref;
    mcp_stream_spec_t   spec;
    mcp_stream_info_t   info;

    ref = malloc(n * sizeof(mcp_stream_ref_t));
    memset(&spec, 0, sizeof(spec));
    spec.request = mcp_str("1");

    for (i = 0; i < n; i++) {
        memcpy(spec.id, &i, sizeof(i));
        must(mcp_store_create(&store, &spec, 1, &ref[i]), "create");

        if (i > 0) {
            mcp_store_set_state(&store, &ref[i], MCP_STATE_COMPLETED, 0);
        }
    }

    t = ns();

    for (i = 0; i < 1000; i++) {
        position = 0;

        while (mcp_store_session_next(&store, spec.session, 0, &position,
                                      &info, NULL)
               == MCP_OK) { /* void */ }
    }

    printf("session, 1 of %6u goes on %6.0f ns\n", n, (ns() - t) / 1000);

    for (i = 0; i < n; i++) {
        mcp_store_free(&store, &ref[i]);
    }

    free(ref);
}


/* Each process appends to its own stream. */
static void
bench_crowd(unsigned processes)
{
    double             t;
    unsigned           i;
    mcp_stream_ref_t   ref;

    t = ns();

    for (i = 0; i < processes; i++) {
        if (fork() == 0) {
            attach(i + 1);
            create(i + 1, &ref);
            append(&ref, MESSAGE, 200000);
            mcp_store_free(&store, &ref);
            _exit(0);
        }
    }

    for (i = 0; i < processes; i++) {
        wait(NULL);
    }

    printf("append, %u processes       %8.0f ns, together\n", processes,
           (ns() - t) / 200000 / processes);
}


/* Polls a task "polls" times a second, until it is gone. */
static void
poll_task(const mcp_stream_ref_t *ref, unsigned polls)
{
    int                 rc;
    char               *space;
    mcp_buf_t           buf;
    mcp_store_lookup_t  look;

    space = malloc(MESSAGE);
    memset(&buf, 0, sizeof(buf));

    do {
        buf.data = space;
        buf.cap = MESSAGE;
        buf.max = MESSAGE;
        buf.len = 0;
        rc = mcp_store_lookup(&store, ref, 0, &look, &buf);
        usleep(1000000 / polls);
    } while (rc == MCP_OK);

    _exit(0);
}


/* Measures how polls of a task slow down its owner, which appends as fast as
 * possible. */
static void
bench_task(unsigned polls)
{
    double            t[2];
    unsigned          i;
    mcp_stream_ref_t  ref;

    for (i = 0; i < 2; i++) {
        create(1, &ref);
        must(mcp_store_keep(&store, &ref, UINT64_MAX, 1), "keep");

        if (i == 1 && fork() == 0) {
            attach(1);
            poll_task(&ref, polls);
        }

        t[i] = ns();
        append(&ref, MESSAGE, 2000000);
        t[i] = (ns() - t[i]) / 2000000;
        mcp_store_free(&store, &ref);
    }

    wait(NULL);
    printf("task, %u polls a second  %8.0f ns, %+.1f %%\n", polls, t[1],
           100 * (t[1] / t[0] - 1));
}


int
main(void)
{
    memory = mmap(NULL, ZONE + MCP_LOCK_SIZE, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        return 1;
    }

    must(mcp_lock_init(memory), "lock");
    must(mcp_store_format((char *) memory + MCP_LOCK_SIZE, ZONE), "format");
    attach(0);

    bench_append(MESSAGE, 200000);
    bench_append(2000, 100000);
    bench_append(60000, 4000);
    bench_append(1000000, 200);
    bench_replay(1000, 65536);
    bench_replay(10000, 65536);
    bench_replay(100000, 65536);
    bench_replay(10000, 16384);
    bench_seek(1000);
    bench_seek(10000);
    bench_seek(100000);
    bench_follow(1000000);
    bench_create(100000);
    bench_session(10000);
    bench_crowd(2);
    bench_crowd(4);
    bench_task(1000);

    return 0;
}
