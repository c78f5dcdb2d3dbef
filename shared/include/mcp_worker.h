
/*
 * One process's part in a zone: the objects that live here (calls, consumers),
 * their timers, and the queue of actions that the glue pulls.
 *
 * The glue feeds (exchange, job, wake, expire) and then pulls actions with
 * mcp_node_next() until there is none; node->glue.ready() tells it that the
 * queue has become non-empty.  Not thread-safe: one thread at a time.
 */


#ifndef MCP_NODE_H_INCLUDED
#define MCP_NODE_H_INCLUDED


#include "rpc/mcp_session.h"
#include "store/mcp_store.h"
#include "mcp_timer.h"


typedef struct mcp_node_s      mcp_node_t;
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
} mcp_node_glue_t;


struct mcp_node_s {
    const mcp_env_t   *env;
    mcp_store_t       *store;
    mcp_node_glue_t    glue;

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
int mcp_node_init(mcp_node_t *node, const mcp_env_t *env, mcp_store_t *store,
    const mcp_node_glue_t *glue);

/* After all exchanges and jobs are gone. */
void mcp_node_destroy(mcp_node_t *node);

/* The next action, or MCP_ACT_NONE in action->type. */
void mcp_node_next(mcp_node_t *node, mcp_action_t *action);

/* The store's wake for this slot arrived.  What there is more than one turn's
 * work comes with another wake of the same slot. */
void mcp_node_wake(mcp_node_t *node);

/* When mcp_node_expire() wants to be called (ms of env->now), or UINT64_MAX.
 * "busy" (may be NULL) tells whether something that must not be cut off is
 * going on, so that a process that winds up must wait for it. */
uint64_t mcp_node_deadline(const mcp_node_t *node, int *busy);
void mcp_node_expire(mcp_node_t *node);

/* The process winds up: consumers that can come back are ended with retry, new
 * ones of that kind at once; calls run on. */
void mcp_node_stop(mcp_node_t *node);

/* Looks after calls of processes that died; the glue calls it at start,
 * mcp_node_patrol() when it has buried one. */
void mcp_node_adopt(mcp_node_t *node);

/* Every now and then: looks whether the processes of at most max slots, of the
 * first n, are still there, going on where it ended last; buries those that
 * are not, and adopts.  is_dead: of the system, at once. */
void mcp_node_patrol(mcp_node_t *node, unsigned n, unsigned max,
    int (*is_dead)(uint64_t pid));


/* --- for the core's own files --- */

void mcp_node_queue(mcp_node_t *node, mcp_task_t *task);
void mcp_node_unqueue(mcp_node_t *node, mcp_task_t *task);

/* 0 is no handle. */
uint64_t mcp_node_handle(mcp_node_t *node, void *object, int call);
void mcp_node_drop_handle(mcp_node_t *node, uint64_t handle);

/* env->random, drawn in larger portions: asking OpenSSL's generator costs as
 * much for 16 bytes as for 512. */
int mcp_node_random(mcp_node_t *node, void *buf, size_t len);

void mcp_node_log(mcp_node_t *node, mcp_log_level_e level, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));

/* The first 8 characters of a stream id's text, for people: NUL-terminated. */
void mcp_stream_id_short(char out[9],
    const unsigned char id[MCP_STREAM_ID_LEN]);

#define mcp_node_logs(node, level)  ((level) <= (node)->env->log_level)


#endif /* MCP_NODE_H_INCLUDED */
