/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A store and the processes that use it, for tests: a region with a lock
 * before it, handles for up to STORE_PROCESSES slots, and short functions for
 * frequent operations.
 */


#ifndef STORE_DRIVER_H_INCLUDED
#define STORE_DRIVER_H_INCLUDED


#include <time.h>
#include <unistd.h>

#include "test_env.h"

#include "store/mcp_lock.h"
#include "store_text.h"
#include "store_verify.h"


#define STORE_PROCESSES  4


typedef struct {
    void         *memory;
    size_t        size;                /* bytes of the region, without the
                                          lock */
    mcp_store_t   store[STORE_PROCESSES];
    unsigned      woken[STORE_PROCESSES];
    int           died;                /* 1: the next lock reports the death of
                                          its last holder */
    int           held;
    test_mem_t    tm;
} store_driver_t;


static inline void *
store_region(store_driver_t *d)
{
    return (char *) d->memory + MCP_LOCK_SIZE;
}


static inline int
store_driver_lock(void *ctx)
{
    int              rc;
    store_driver_t  *d = ctx;

    rc = mcp_lock(d->memory);
    assert_int_equal(d->held, 0);
    d->held = 1;

    if (d->died && rc == MCP_OK) {
        d->died = 0;
        return MCP_AGAIN;
    }

    return rc;
}


static inline void
store_driver_unlock(void *ctx)
{
    store_driver_t  *d = ctx;

    d->held = 0;
    mcp_unlock(d->memory);
}


static inline void
store_driver_wake(void *ctx, unsigned slot)
{
    store_driver_t  *d = ctx;

    assert_int_equal(d->held, 0);
    assert_true(slot < STORE_PROCESSES);
    d->woken[slot]++;
}


static inline void
store_attach(store_driver_t *d, unsigned slot, uint64_t pid)
{
    mcp_store_glue_t  glue = { store_driver_lock, store_driver_unlock, d,
                               store_driver_wake, d };

    assert_ok(mcp_store_attach(&d->store[slot], store_region(d), &glue, slot,
                               pid));
}


static inline void
store_open(store_driver_t *d, size_t size, unsigned processes)
{
    unsigned  i;

    memset(d, 0, sizeof(store_driver_t));
    test_mem_init(&d->tm);

    d->size = size;
    d->memory = malloc(MCP_LOCK_SIZE + size);
    assert_non_null(d->memory);
    memset(d->memory, 0xa5, MCP_LOCK_SIZE + size);

    assert_ok(mcp_lock_init(d->memory));
    assert_ok(mcp_store_format(store_region(d), size));

    for (i = 0; i < processes; i++) {
        store_attach(d, i, 100 + i);
    }
}


static inline void
store_close(store_driver_t *d)
{
    assert_int_equal(d->tm.live, 0);
    free(d->memory);
}


static inline void
store_sound(store_driver_t *d)
{
    const char  *why;

    if (store_verify(&d->store[0], &why) != MCP_OK) {
        fail_msg("store: %s", why);
    }
}


/* Checks the store before and after a repair. */
static inline void
store_repair(store_driver_t *d)
{
    store_sound(d);
    d->died = 1;
    store_sound(d);
}


static inline uint64_t
store_used(store_driver_t *d)
{
    mcp_store_stats_t  stats;

    mcp_store_stats(&d->store[0], &stats);

    return stats.used;
}


static inline int64_t
store_counter(store_driver_t *d, mcp_counter_e counter)
{
    mcp_store_stats_t  stats;

    mcp_store_stats(&d->store[0], &stats);

    return stats.counter[counter];
}


/* Initializes a stream's spec. Its id, session and principal are derived from
 * the two numbers. */
static inline void
store_spec(mcp_stream_spec_t *spec, unsigned id, unsigned session)
{
    memset(spec, 0, sizeof(mcp_stream_spec_t));
    memcpy(spec->id, &id, sizeof(id));
    spec->id[15] = 1;
    memcpy(spec->session, &session, sizeof(session));
    memcpy(spec->principal, &session, sizeof(session));
    spec->principal[8] = 2;
    spec->revision = 3;
    spec->request = mcp_str("7");
    spec->method = mcp_str("tools/call");
    spec->name = mcp_str("echo");
    spec->max_wait = 60000;
    spec->linger = 5000;
    spec->handle = 1000 + id;
}


static inline void
store_create(store_driver_t *d, unsigned slot, const mcp_stream_spec_t *spec,
    mcp_stream_ref_t *ref)
{
    assert_ok(mcp_store_create(&d->store[slot], spec, 1, ref));
}


/* Creates a call of the store d with the spec of the two numbers. */
#define create_ok(slot, id, session, ref)                                     \
    do {                                                                      \
        mcp_stream_spec_t  create_spec_;                                      \
                                                                              \
        store_spec(&create_spec_, id, session);                               \
        store_create(&d, slot, &create_spec_, ref);                           \
    } while (0)


static inline mcp_stream_info_t
store_info(mcp_store_t *store, const mcp_stream_ref_t *ref)
{
    mcp_stream_info_t  info;

    assert_ok(mcp_store_info(store, ref, &info));

    return info;
}


/* Returns a message of len bytes whose content depends only on n, so that
 * threads may call this at the same time with the same n. Valid until the next
 * call. */
static inline mcp_str_t
store_message(unsigned n, size_t len)
{
    static char  text[4 * 1024 * 1024];
    size_t       i;

    assert_true(len <= sizeof(text));

    for (i = 0; i < len; i++) {
        text[i] = (char) ('a' + (n * 7 + i) % 26);
    }

    return (mcp_str_t) { text, len };
}


static inline int
store_append(store_driver_t *d, unsigned slot,
                   const mcp_stream_ref_t *ref,
    mcp_str_t message, int answers, mcp_stream_state_e state)
{
    uint64_t  seq;

    return mcp_store_append(&d->store[slot], ref, message, answers, state, 2,
                            &seq);
}


/* Append to a stream of the store d. append_rc() checks that appending an event
 * that is not the response has the result rc, append_ok() that it succeeds;
 * complete_ok() appends the response. */
#define append_rc(slot, ref, message, rc)                                     \
    assert_int_equal(store_append(&d, slot, ref, message, -1,                 \
                                  MCP_STATE_PROCESSING), rc)
#define append_ok(slot, ref, message)                                         \
    append_rc(slot, ref, message, MCP_OK)
#define complete_ok(slot, ref, message)                                       \
    assert_ok(store_append(&d, slot, ref, message, 0, MCP_STATE_COMPLETED))

#define watch_ok(store, ref, handle, after, cursor)                           \
    assert_ok(mcp_store_watch(store, ref, handle, after, cursor, &(int) { 0 }))


/* Writes an event up to and including "data: " to p. Returns the end. */
static inline char *
store_event_head(char *p, const unsigned char id[MCP_STREAM_ID_LEN],
    uint64_t seq)
{
    char  text[MCP_STREAM_TEXT_LEN];

    (void) mcp_stream_id_print(text, id);

    return mcp_sse_event_head(p, text, seq);
}


/* Returns the number in an environment variable, or "value" if the variable
 * is not set. */
static inline uint64_t
store_setting(const char *name, uint64_t value)
{
    const char  *text;

    text = getenv(name);

    return text ? strtoull(text, NULL, 10) : value;
}


/* Returns the seed of a random test: STORE_SEED, or a new one. */
static inline uint64_t
store_seed(void)
{
    return store_setting("STORE_SEED", (uint64_t) time(NULL) * 1000003
                                       + (uint64_t) getpid());
}


/* Publishes to all subscribed streams, like mcp_store_publish(). */
static inline int
store_publish(mcp_store_t *store, const unsigned char topic[MCP_DIGEST_LEN],
    mcp_str_t message, unsigned budget, uint64_t *position, size_t *n)
{
    const mcp_publish_to_t  all = { MCP_PUBLISH_ALL, 0, 0 };

    return mcp_store_publish(store, topic, message, &all, budget, position, n);
}


/* Drains a process, sets *wake to the last wake-up, and returns the number of
 * wake-ups. */
static inline unsigned
store_drain(store_driver_t *d, unsigned slot, mcp_store_wake_t *wake)
{
    size_t             n;
    unsigned           total;
    mcp_store_wake_t   out[3];

    total = 0;

    while ((n = mcp_store_drain(&d->store[slot], out, 3)) > 0) {
        total += (unsigned) n;

        if (wake) {
            *wake = out[n - 1];
        }
    }

    d->woken[slot] = 0;

    return total;
}


static inline void
store_drain_all(store_driver_t *d)
{
    store_drain(d, 0, NULL);
    store_drain(d, 1, NULL);
}


/* Adds the session of a caller at an MCP server without
 * mcp_upstream_max_sessions. Returns the value of
 * mcp_store_upstream_session(). */
static inline int
store_session(mcp_store_t *store, mcp_store_upstream_row_t row,
    const unsigned char *key, mcp_str_t text, uint64_t now, uint64_t expires,
    const mcp_tenant_t *tenant)
{
    mcp_store_dropped_t        dropped;
    const mcp_store_session_t  session = {
        row, key, text, expires, tenant, 0, 0
    };

    return mcp_store_upstream_session(store, &session, now, &dropped);
}


#endif /* STORE_DRIVER_H_INCLUDED */
