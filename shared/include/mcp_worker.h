/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The part of one process in a zone: its calls and consumers, their timers, and
 * the queue of actions for the glue.
 *
 * The glue passes input (exchange, backend request, wake-up, expired timers)
 * and then pulls actions with mcp_worker_next() until there are none.
 * glue.ready() is called when the queue is no longer empty. Not thread-safe:
 * one thread at a time.
 */


#ifndef MCP_WORKER_H_INCLUDED
#define MCP_WORKER_H_INCLUDED


#include "mcp.h"
#include "mcp_endpoint.h"


MCP_DECLARATIONS_BEGIN


typedef struct mcp_worker_s    mcp_worker_t;
typedef struct mcp_exchange_s  mcp_exchange_t;
typedef struct mcp_call_s      mcp_call_t;
typedef struct mcp_backend_request_s  mcp_backend_request_t;
typedef struct mcp_link_s      mcp_link_t;
typedef struct mcp_store_s     mcp_store_t;


typedef enum {
    MCP_ACT_NONE = 0,
    MCP_ACT_RESPOND,           /* exchange: send mcp_exchange_response() */
    MCP_ACT_STREAM,            /* exchange: send the head of the response, then
                                  pull the stream */
    MCP_ACT_PULL,              /* exchange: call mcp_exchange_pull() */
    MCP_ACT_PREPARE,           /* backend request: copy the client's request,
                                  because the client may disconnect before
                                  INVOKE */
    MCP_ACT_INVOKE,            /* backend request: start it */
    MCP_ACT_ABORT,             /* backend request: end it;
                                  mcp_backend_request_end() must follow */
    MCP_ACT_RESUME,            /* backend request: pass again the bytes that
                                  mcp_backend_request_data() did not accept */
    MCP_ACT_FORGET,            /* glue: free this pointer, which
                                  mcp_call_set_glue() has stored, because the
                                  call is over */
    MCP_ACT_CONNECT,           /* link: open a connection, see mcp_cluster.h */
    MCP_ACT_WRITE,             /* link: write the bytes of mcp_link_output() */
    MCP_ACT_DISCONNECT         /* link: close the connection */
} mcp_action_e;


typedef struct {
    mcp_action_e            type;
    mcp_exchange_t         *exchange; /* for RESPOND, STREAM and PULL; also for
                                         PREPARE and INVOKE, but NULL if the
                                         client has disconnected */
    mcp_backend_request_t  *breq;  /* for PREPARE, INVOKE, ABORT and RESUME */
    void                   *glue;  /* for FORGET: the pointer of
                                      mcp_call_set_glue() */
    mcp_link_t             *link;  /* for CONNECT, WRITE and DISCONNECT */
} mcp_action_t;


/* An entry of the queue of actions, embedded in exchanges, backend requests and
 * calls. */
typedef struct mcp_queued_action_s  mcp_queued_action_t;

struct mcp_queued_action_s {
    mcp_queued_action_t   *next;
    mcp_queued_action_t  **link;  /* address of the queue's pointer to this
                                     entry; NULL: not in the queue */
    mcp_action_t           action;

    /* Called when the glue pulls the action; may set fields of *action and may
     * free the object that contains the entry. May be NULL. */
    void          (*taken)(mcp_queued_action_t *queued, mcp_action_t *action);
};


typedef struct {
    void  (*ready)(void *ctx); /* called when the queue of actions is no longer
                                  empty */
    void   *ctx;
} mcp_worker_glue_t;


/* Creates the worker of a process. The store must be attached. env and store
 * are borrowed until mcp_worker_destroy(). Returns NULL when out of memory. */
mcp_worker_t *mcp_worker_create(const mcp_env_t *env, mcp_store_t *store,
    const mcp_worker_glue_t *glue);

/* Frees the worker, which may be NULL. To be called after all exchanges and
 * backend requests have ended. */
void mcp_worker_destroy(mcp_worker_t *worker);

/*
 * Announce the configuration of a process that starts. The glue calls
 * mcp_worker_begin(), then mcp_worker_offer() for each endpoint that has a
 * catalog key (mcp_setup_set_catalog_key()), then mcp_worker_begun(). If the
 * lists of a catalog key differ from the lists of the previous configuration,
 * the first process that detects the difference notifies the listeners, before
 * mcp_worker_begun() returns. "number" differs for each configuration that is
 * read.
 */
void mcp_worker_begin(mcp_worker_t *worker, uint32_t number);
void mcp_worker_offer(mcp_worker_t *worker, const mcp_endpoint_t *endpoint);
void mcp_worker_begun(mcp_worker_t *worker);

/* Removes the next action from the queue and sets *action; action->type is
 * MCP_ACT_NONE if there is none. */
void mcp_worker_next(mcp_worker_t *worker, mcp_action_t *action);

/* Processes the messages that the store has for this process's slot. To be
 * called after a wake-up of the slot. If there are more messages than one call
 * processes, the slot is woken again. */
void mcp_worker_wake(mcp_worker_t *worker);

/* Returns the time at which mcp_worker_expire() is due, in ms of env->now(), or
 * UINT64_MAX. Sets *busy, which may be NULL, to 1 if work is in progress that
 * must not be interrupted, otherwise to 0. A process that shuts down waits
 * until *busy is 0. */
uint64_t mcp_worker_deadline(const mcp_worker_t *worker, int *busy);

/* Runs the timers that are due. */
void mcp_worker_expire(mcp_worker_t *worker);

/* Returns the number of active calls that this worker owns. */
unsigned mcp_worker_calls(const mcp_worker_t *worker);

/*
 * Prepares the worker for the end of its process. From now on, ends all
 * consumers whose clients can resume. Ends subscriptions when the next
 * configuration has announced its changes, after at most five seconds. Calls
 * continue.
 *
 * If at_once is 1, immediately ends all subscriptions and consumers, except a
 * consumer whose own call will still get its response from this process: the
 * glue aborts the backend requests, which ends the calls with an error. May be
 * called again.
 */
void mcp_worker_stop(mcp_worker_t *worker, int at_once);

/* Ends the calls of dead processes with an error, and also the calls of dead
 * nodes whose streams this node has taken over. The glue calls this function
 * when its process starts. The worker calls it at intervals, after a take-over,
 * and after mcp_worker_patrol() has reclaimed a slot. */
void mcp_worker_adopt(mcp_worker_t *worker);

/*
 * Checks whether the processes of the first n slots are still alive. Each call
 * checks at most max slots, and continues where the previous call ended.
 * Reclaims the slots of dead processes and ends their calls. The glue calls it
 * every second or two. is_dead() queries the system without waiting.
 */
void mcp_worker_patrol(mcp_worker_t *worker, unsigned n, unsigned max,
    int (*is_dead)(uint64_t pid));


MCP_DECLARATIONS_END


#endif /* MCP_WORKER_H_INCLUDED */
