/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One process's part in a zone: the objects that live here (calls, consumers),
 * their timers, and the queue of actions that the glue pulls.
 *
 * The glue feeds (exchange, job, wake, expire) and then pulls actions with
 * mcp_worker_next() until there is none; glue.ready() tells it that the queue
 * has become non-empty.  Not thread-safe: one thread at a time.
 */


#ifndef MCP_WORKER_H_INCLUDED
#define MCP_WORKER_H_INCLUDED


#include "mcp.h"
#include "mcp_endpoint.h"


typedef struct mcp_worker_s    mcp_worker_t;
typedef struct mcp_exchange_s  mcp_exchange_t;
typedef struct mcp_call_s      mcp_call_t;
typedef struct mcp_job_s       mcp_job_t;
typedef struct mcp_link_s      mcp_link_t;
typedef struct mcp_store_s     mcp_store_t;


typedef enum {
    MCP_ACT_NONE = 0,
    MCP_ACT_RESPOND,           /* exchange: send mcp_exchange_response() */
    MCP_ACT_STREAM,            /* exchange: the same head, then pull */
    MCP_ACT_PULL,              /* exchange: there is something to pull */
    MCP_ACT_INVOKE,            /* job: start a backend call */
    MCP_ACT_ABORT,             /* job: end it; mcp_job_end() must follow */
    MCP_ACT_RESUME,            /* job: offer the bytes not taken again */
    MCP_ACT_FORGET,            /* glue: the call that owned it is over */
    MCP_ACT_CONNECT,           /* link: open a connection, see mcp_cluster.h */
    MCP_ACT_WRITE,             /* link: there is something to write */
    MCP_ACT_DISCONNECT         /* link: close the connection */
} mcp_action_e;


typedef struct {
    mcp_action_e     type;
    mcp_exchange_t  *exchange; /* also for INVOKE, NULL if the client left */
    mcp_job_t       *job;
    void            *glue;     /* FORGET: what mcp_call_set_glue() left */
    mcp_link_t      *link;     /* CONNECT, WRITE, DISCONNECT */
} mcp_action_t;


/* Something that can be queued; embedded in exchanges, jobs and calls. */
typedef struct mcp_errand_s  mcp_errand_t;

struct mcp_errand_s {
    mcp_errand_t   *next;
    mcp_errand_t  **link;      /* NULL: not queued */
    mcp_action_t    action;

    /* The glue pulls the action, which this may complete; it may free the
     * errand.  May be NULL. */
    void          (*taken)(mcp_errand_t *errand, mcp_action_t *action);
};


typedef struct {
    void  (*ready)(void *ctx); /* the queue has become non-empty */
    void   *ctx;
} mcp_worker_glue_t;


/*
 * Creates the worker of a process.  The store must be attached; env and store
 * are borrowed until mcp_worker_destroy().  NULL when out of memory.
 */
mcp_worker_t *mcp_worker_create(const mcp_env_t *env, mcp_store_t *store,
    const mcp_worker_glue_t *glue);

/* Frees the worker, which may be NULL, after all exchanges and jobs are
 * gone. */
void mcp_worker_destroy(mcp_worker_t *worker);

/*
 * Takes up a configuration, when the process begins: "begin", then "offer" for
 * each endpoint that has a place (mcp_setup_stand()), then "begun".  Of lists
 * that are not what they were in that place the listeners there are told, by
 * the first process to find it.  number: another one for each configuration
 * that is read.
 */
void mcp_worker_begin(mcp_worker_t *worker, uint32_t number);
void mcp_worker_offer(mcp_worker_t *worker, const mcp_endpoint_t *endpoint);
void mcp_worker_begun(mcp_worker_t *worker);

/* Takes the next action out of the queue; MCP_ACT_NONE in action->type when
 * there is none. */
void mcp_worker_next(mcp_worker_t *worker, mcp_action_t *action);

/* Reads what the store has for this slot, whose wake has arrived.  Work that is
 * more than one turn's comes with another wake of the same slot. */
void mcp_worker_wake(mcp_worker_t *worker);

/*
 * Returns when mcp_worker_expire() is due (ms of env->now), or UINT64_MAX.
 * *busy (may be NULL) becomes 1 if something is going on that must not be cut
 * off: a process that winds up waits until it is 0.
 */
uint64_t mcp_worker_deadline(const mcp_worker_t *worker, int *busy);

/* Runs the timers that are due. */
void mcp_worker_expire(mcp_worker_t *worker);

/* Returns how many calls this worker owns that are not over. */
unsigned mcp_worker_calls(const mcp_worker_t *worker);

/* Winds up: ends consumers whose clients can come back with a retry, now and
 * from now on; and subscriptions as soon as they know what the next
 * configuration has changed, which takes two seconds at most, or at once.
 * Calls run on.  It may be said again. */
void mcp_worker_stop(mcp_worker_t *worker, int at_once);

/* Ends the calls of processes that died with an error.  The glue calls it at
 * start, mcp_worker_patrol() when it has buried one. */
void mcp_worker_adopt(mcp_worker_t *worker);

/*
 * Checks whether the processes of at most max slots, of the first n, are still
 * alive, continuing where the last patrol ended; buries those that are not, and
 * adopts their calls.  The glue calls it every second or two.  is_dead asks the
 * system, at once.
 */
void mcp_worker_patrol(mcp_worker_t *worker, unsigned n, unsigned max,
    int (*is_dead)(uint64_t pid));


#endif /* MCP_WORKER_H_INCLUDED */
