/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One process's part in a zone: the objects that live here (calls, consumers),
 * their timers, and the queue of actions that the glue pulls.
 *
 * The glue feeds (exchange, job, wake, expire) and then pulls actions with
 * mcp_worker_next() until there is none; worker->glue.ready() tells it that the
 * queue has become non-empty.  Not thread-safe: one thread at a time.
 */


#ifndef MCP_WORKER_H_INCLUDED
#define MCP_WORKER_H_INCLUDED


#include "rpc/mcp_session.h"
#include "store/mcp_store.h"
#include "mcp_timer.h"


typedef struct mcp_worker_s      mcp_worker_t;
typedef struct mcp_exchange_s  mcp_exchange_t;
typedef struct mcp_call_s      mcp_call_t;
typedef struct mcp_job_s       mcp_job_t;


typedef enum {
    MCP_ACT_NONE = 0,
    MCP_ACT_RESPOND,           /* exchange: send mcp_exchange_response() */
    MCP_ACT_STREAM,            /* exchange: the same head, then pull */
    MCP_ACT_PULL,              /* exchange: there is something to pull */
    MCP_ACT_INVOKE,            /* job: start a backend call */
    MCP_ACT_ABORT,             /* job: end it; mcp_job_end() must follow */
    MCP_ACT_RESUME,            /* job: offer the bytes not taken again */
    MCP_ACT_FORGET             /* glue: the call that owned it is over */
} mcp_action_e;


typedef struct {
    mcp_action_e     type;
    mcp_exchange_t  *exchange; /* also for INVOKE, NULL if the client left */
    mcp_job_t       *job;
    void            *glue;     /* FORGET: what mcp_call_set_glue() left */
} mcp_action_t;


/* Something that can be queued; embedded in exchanges, jobs and calls. */
typedef struct mcp_task_s  mcp_task_t;

struct mcp_task_s {
    mcp_task_t   *next;
    mcp_task_t  **link;        /* NULL: not queued */
    mcp_action_t  action;
};


typedef struct {
    void   *object;            /* NULL: free */
    uint32_t  generation;
    uint32_t  next;            /* free list */
    unsigned  call:1;          /* else exchange */
} mcp_handle_t;


typedef struct {
    void  (*ready)(void *ctx); /* queue became non-empty */
    void   *ctx;
} mcp_worker_glue_t;


struct mcp_worker_s {
    const mcp_env_t   *env;
    mcp_store_t       *store;
    mcp_worker_glue_t    glue;

    mcp_task_t        *head;
    mcp_task_t       **tail;

    mcp_timers_t         timers;
    mcp_timer_t          sweep;
    mcp_timer_t          look;         /* armed while there are young calls */
    mcp_session_cache_t  sessions;

    mcp_handle_t      *handles;
    uint32_t           n_handles;
    uint32_t           free_handle;
    unsigned           patrol;         /* slot looked at last */

    unsigned char      random[512];    /* drawn ahead; see below */
    size_t             n_random;       /* not yet given out */

    uint64_t           link_told;      /* when the log was told that a URL's
                                          origin is none; 0: never */

    mcp_call_t        *young;          /* neither durable nor over */
    unsigned           calls;          /* live calls owned here */
    unsigned           consumers;
    unsigned           stopping:1;
};


/* The store must be attached.  MCP_OK. */
int mcp_worker_init(mcp_worker_t *worker, const mcp_env_t *env,
    mcp_store_t *store, const mcp_worker_glue_t *glue);

/* After all exchanges and jobs are gone. */
void mcp_worker_destroy(mcp_worker_t *worker);

/* The next action, or MCP_ACT_NONE in action->type. */
void mcp_worker_next(mcp_worker_t *worker, mcp_action_t *action);

/* The store's wake for this slot arrived.  What there is more than one turn's
 * work comes with another wake of the same slot. */
void mcp_worker_wake(mcp_worker_t *worker);

/* When mcp_worker_expire() wants to be called (ms of env->now), or UINT64_MAX.
 * "busy" (may be NULL) tells whether something that must not be cut off is
 * going on, so that a process that winds up must wait for it. */
uint64_t mcp_worker_deadline(const mcp_worker_t *worker, int *busy);
void mcp_worker_expire(mcp_worker_t *worker);

/* The process winds up: consumers that can come back are ended with retry, new
 * ones of that kind at once; calls run on. */
void mcp_worker_stop(mcp_worker_t *worker);

/* Looks after calls of processes that died; the glue calls it at start,
 * mcp_worker_patrol() when it has buried one. */
void mcp_worker_adopt(mcp_worker_t *worker);

/* Every now and then: looks whether the processes of at most max slots, of the
 * first n, are still there, going on where it ended last; buries those that
 * are not, and adopts.  is_dead: of the system, at once. */
void mcp_worker_patrol(mcp_worker_t *worker, unsigned n, unsigned max,
    int (*is_dead)(uint64_t pid));


/* --- for the core's own files --- */

void mcp_worker_queue(mcp_worker_t *worker, mcp_task_t *task);
void mcp_worker_unqueue(mcp_worker_t *worker, mcp_task_t *task);

/* 0 is no handle. */
uint64_t mcp_worker_handle(mcp_worker_t *worker, void *object, int call);
void mcp_worker_drop_handle(mcp_worker_t *worker, uint64_t handle);

/* env->random, drawn in larger portions: asking OpenSSL's generator costs as
 * much for 16 bytes as for 512. */
int mcp_worker_random(mcp_worker_t *worker, void *buf, size_t len);

void mcp_worker_log(mcp_worker_t *worker, mcp_log_level_e level,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The first 8 characters of a stream id's text, for people: NUL-terminated. */
void mcp_stream_id_short(char out[9],
    const unsigned char id[MCP_STREAM_ID_LEN]);

#define mcp_worker_logs(worker, level)  ((level) <= (worker)->env->log_level)


#endif /* MCP_WORKER_H_INCLUDED */
