/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Cluster operations: requests to the other nodes of a cluster, and exchanges
 * that wait for the results.
 *
 * An exchange waits by running a function again. That function, the entry
 * function, starts an operation as if its result were available. If it is not,
 * the function stops and returns MCP_AGAIN. When all results are available it
 * runs again from its beginning, and finds each result by its position among
 * the operations of the same kind. So it must not have effects before it has
 * started its operations.
 *
 * A worker without a cluster never waits.
 */


#ifndef MCP_OPERATION_H_INCLUDED
#define MCP_OPERATION_H_INCLUDED


#include "worker/mcp_worker_internal.h"


/* Time after which a silent cluster counts as unreachable, ms. */
#define MCP_OPERATION_TIME  1000


/* The kinds of broadcasts. */
typedef enum {
    /* Values of the store that all nodes need. */
    MCP_BROADCAST_SESSION_ENDED = MCP_VALUE_SESSION_ENDED,
    MCP_BROADCAST_LOG_LEVEL = MCP_VALUE_LOG_LEVEL,
    MCP_BROADCAST_CANCELLED = MCP_VALUE_CANCELLED,
    MCP_BROADCAST_CROWDED = MCP_VALUE_CROWDED,

    /* A notification for subscribers. */
    MCP_BROADCAST_NOTIFICATION = 'p',

    /* A session's own stream is subscribed to a topic, the key, if the value is
     * 1; otherwise it is unsubscribed. */
    MCP_BROADCAST_TOPIC = 's'
} mcp_broadcast_e;

/* Maximum length of a notification that is broadcast, bytes. */
#define MCP_BROADCAST_MESSAGE_MAX  8192

struct mcp_broadcast_s {
    mcp_broadcast_e        what;
    unsigned char          key[MCP_DIGEST_LEN];
    unsigned char          session[MCP_DIGEST_LEN];    /* the session
                                                          concerned */
    uint32_t               value;
    uint64_t               expires;
    mcp_str_t              message;    /* of a notification; otherwise empty */
    uint64_t               ms;         /* position among the broadcasts; 0: it
                                          was not received */
    uint64_t               n;
    unsigned               own:1;      /* 1: sent by this node */
};

/* Initializes a broadcast of a value. */
void mcp_broadcast_make(mcp_broadcast_t *broadcast, mcp_broadcast_e what,
    const unsigned char key[MCP_DIGEST_LEN],
    const unsigned char session[MCP_DIGEST_LEN], uint32_t value,
    uint64_t expires);


/* A stream that a client resumes or looks up. */
typedef struct {
    unsigned char          id[MCP_STREAM_ID_LEN];
    uint64_t               after;      /* last event that the client has */
    unsigned char          session[MCP_DIGEST_LEN];    /* the stream must belong
                                                          to this session and
                                                          principal */
    unsigned char          principal[MCP_DIGEST_LEN];
    unsigned               listens:1;  /* 1: resume after the last event that
                                          was sent by any node; for a task:
                                          notify this node of changes, see
                                          mcp_notify_task() */
    unsigned               any_session:1;      /* 1: the stream may belong to
                                                  any session */
    unsigned               task:1;     /* 1: return the last event of the task
                                          as well */
    unsigned               drops:1;    /* 1: drop the events up to "after" */
    unsigned               has_generation:1; /* 1: generation and
                                                generation_max are set */
    uint32_t               generation; /* the stream's generation is raised to
                                          this value */
    uint32_t               generation_max;   /* above this generation, the
                                                stream is not found */
} mcp_operation_stream_t;


/* A topic of a session's own stream. */
typedef struct {
    unsigned char          id[MCP_STREAM_ID_LEN];
    unsigned char          session[MCP_DIGEST_LEN];
    unsigned char          topic[MCP_DIGEST_LEN];
    unsigned               subscribe:1;
} mcp_operation_topic_t;


/* The state of a stream of another node. */
typedef struct {
    mcp_store_lookup_t     lookup;     /* info.ref.index is 0 */
    mcp_str_t              event;      /* the last event, for a task */
} mcp_found_t;


/* The kinds of client input for a call. */
typedef enum {
    MCP_OPERATION_INPUT_ANSWER = 0,  /* answers, as for mcp_store_inbox_put() */
    MCP_OPERATION_INPUT_TASK,        /* answers, as for mcp_store_answer() */
    MCP_OPERATION_INPUT_CANCEL       /* cancellation of a task */
} mcp_operation_client_input_e;

typedef struct {
    mcp_operation_client_input_e  what;
    unsigned char                 id[MCP_STREAM_ID_LEN];

    /* the call must belong to this session, a task to this principal */

    unsigned char                 session[MCP_DIGEST_LEN];
    unsigned char                 principal[MCP_DIGEST_LEN];
    uint32_t                      generation;  /* see mcp_operation_stream_t; or
                                                  0 */
    uint64_t                      seq;   /* for a task: the event with the
                                            questions */
    uint32_t                      bits;  /* bits of the answered questions */
    uint32_t                      all;   /* bits of all its questions */
    mcp_str_t                     data;
} mcp_operation_client_input_t;


/* The kind of an operation, by which an entry function finds its result when it
 * runs again. */
typedef enum {
    MCP_OPERATION_BROADCAST = 0,
    MCP_OPERATION_STREAM,
    MCP_OPERATION_LOOKUP,
    MCP_OPERATION_LIST,
    MCP_OPERATION_CLIENT_INPUT,
    MCP_OPERATION_QUOTA,
    MCP_OPERATION_TOKEN
} mcp_operation_kind_e;


/* An operation. An exchange waits for its result, or a handler gets it. */
struct mcp_operation_s {
    void                 (*handler)(void *data, int rc);
    void                  *data;
    mcp_operation_t       *next;       /* next operation of the same exchange */
    mcp_exchange_t        *x;          /* NULL: the exchange was freed */
    mcp_worker_t          *worker;
    mcp_operation_kind_e   kind;       /* kind, if an entry function has started
                                          it */
    int                    rc;         /* result; MCP_AGAIN: pending */
    unsigned               holds;      /* 1: the response of the exchange is
                                          ready and waits for this */
    mcp_operation_t       *later;      /* next operation for the same stream,
                                          for the hook "await_replication" */
    uint32_t               value;      /* result of the hook "token" */
    uint64_t seq;       /* the event for the hook "await_replication"; 0: the
                           stream itself */
    mcp_found_t *found; /* result of the hooks "lookup" and "list",
                           from env->mem */
    size_t                 n_found;
};


/* Operations on a resume token that is valid once. */
typedef enum {
    MCP_OPERATION_TOKEN_TAKE = 0,  /* use it */
    MCP_OPERATION_TOKEN_GIVE,      /* release it unused */
    MCP_OPERATION_TOKEN_SET,       /* set the stream of its call to value */
    MCP_OPERATION_TOKEN_DROP       /* its call has failed */
} mcp_operation_token_e;

typedef struct {
    mcp_operation_token_e  what;
    unsigned char          key[MCP_DIGEST_LEN];
    unsigned char          stream[MCP_STREAM_ID_LEN];  /* of its call, for
                                                          SET */
    uint32_t               value;      /* other than 0 */
    uint64_t               expires;
} mcp_operation_token_t;


/* The functions of a cluster for its worker, see mcp_worker_s. */
struct mcp_cluster_hooks_s {

    /* Sends a broadcast. op waits for the result, or is NULL; it is not
     * answered before the function returns.
     *
     * Returns MCP_OK if no result follows, or
     *   MCP_AGAIN            mcp_operation_answer() follows, if op is not
     *                        NULL; a notification is received by this node as
     *                        well, see mcp_operation_receive()
     *   MCP_ERR_UNREACHABLE  the cluster is unreachable
     *   MCP_ERR_MEMORY */
    int (*send_broadcast)(void *cluster, const mcp_broadcast_t *broadcast,
                mcp_operation_t *op);

    /* Makes a stream available at this node for reading by this process: the
     * stream itself, or a mirror. A stream that the cluster does not have
     * may exist locally. Returns the values of "send_broadcast"; the result may
     * also be
     *   MCP_ERR_DENIED     a client that came later reads it at another node
     *   MCP_ERR_AHEAD      the event does not exist, as far as the cluster
     *                      knows; the owner's node is asked
     *   MCP_ERR_FULL       the region has no room for a mirror
     *   MCP_ERR_NOT_FOUND  the cluster does not have it, and "listens" is
     *                      set */
    int (*resume)(void *cluster, const mcp_operation_stream_t *stream,
                 mcp_operation_t *op);

    /* Looks a stream up without reading it: its time without a consumer starts
     * anew, and "after" is confirmed. Returns the values of "send_broadcast";
     * with MCP_OK, op->found is the state in the cluster. The result may also
     * be MCP_ERR_AHEAD, as for "resume". */
    int (*lookup)(void *cluster, const mcp_operation_stream_t *stream,
                mcp_operation_t *op);

    /* Looks up all streams of the session and the principal. */
    int (*list)(void *cluster, const mcp_operation_stream_t *stream,
                mcp_operation_t *op);

    /* Sends client input to a call of another node, or informs other nodes of
     * input that this node takes itself. Input for an unknown call is ignored
     * if op is NULL. Returns the values of "send_broadcast"; the result may
     * also be MCP_ERR_LIMIT      there is no room for the input
     *   MCP_ERR_NOT_FOUND  the cluster has no such call, or it is over */
    int (*send_input)(void *cluster, const mcp_operation_client_input_t *input,
                mcp_operation_t *op);

    /* Subscribes a session's own stream at its owner's node before that node
     * receives later broadcasts. This node must have subscribed its own stream
     * itself. Returns the values of "send_broadcast"; the result may also be
     *   MCP_ERR_NOT_FOUND  the cluster has no such stream */
    int (*topic)(void *cluster, const mcp_operation_topic_t *topic,
                 mcp_operation_t *op);

    /* Returns 1 if the cluster has been unreachable for
     * mcp_cluster_outage_timeout, so that no new call may begin. */
    int                       (*is_unreachable)(void *cluster);

    /* Compares this node's clock with that of Redis.
     *
     * Returns MCP_OK if they agree or this node serves alone, or
     *   MCP_ERR_UNREACHABLE  Redis has not been reached since the zone was
     *                        created
     *   MCP_ERR_DENIED       they differ too much, and no request may be
     *                        served */
    int                       (*clock)(void *cluster);

    /* Waits until the cluster has a stream of this process, or an event of that
     * stream. Returns the values of "send_broadcast", or MCP_ERR_NOT_FOUND if
     * the stream does not exist. For a held stream, the result may also be
     *   MCP_ERR_EXISTS     another stream has to be joined, which is available
     *                      here
     *   MCP_ERR_NOT_FOUND  this stream, or that one, does not exist any more
     *   MCP_ERR_FULL       the region has no room for that one */
    int (*await_replication)(void *cluster, const mcp_stream_ref_t *ref,
                mcp_operation_t *op);

    /* Replicates a stream that this process has created. limit is the maximum
     * number of active calls of its session at all nodes, 0 for none. If it is
     * exceeded, the stream is not replicated and gets MCP_INBOX_LIMIT. */
    void (*replicate)(void *cluster, const mcp_stream_ref_t *ref,
                      uint32_t limit);

    /* Checks whether one more call of a session may begin. Returns the values
     * of "send_broadcast"; the result may also be
     *   MCP_ERR_LIMIT  it may not */
    int                       (*quota)(void *cluster,
                             const unsigned char session[MCP_DIGEST_LEN],
                             uint32_t limit, mcp_operation_t *op);

    /* Uses a resume token, which only one node may do; or, with op NULL,
     * reports the fate of a used one. Returns the values of "send_broadcast";
     * the result may also be
     *   MCP_ERR_DENIED  it is or was in use; op->value is the value that was
     *                   set, or 0 */
    int (*token)(void *cluster, const mcp_operation_token_t *token,
                 mcp_operation_t *op);

    /* Called for a wake-up of the kind MCP_WAKE_REPLICATOR: a replicated stream
     * or a mirror has changed. */
    void (*changed)(void *cluster, const mcp_stream_ref_t *ref);
};


/* Runs the entry function of a request without a body. With a cluster it is
 * only stored, because only mcp_exchange_body() can wait; the body may be
 * empty. Returns the values of mcp_exchange_head(). */
int mcp_operation_begin(mcp_exchange_t *x, int (*entry)(mcp_exchange_t *x));

/* Runs the entry function of a request with a body at once. Returns the values
 * of mcp_exchange_body(). */
int mcp_operation_now(mcp_exchange_t *x, int (*entry)(mcp_exchange_t *x));

/* Runs the entry function that mcp_operation_begin() has stored. Returns the
 * values of mcp_exchange_body(). */
int mcp_operation_entry(mcp_exchange_t *x);

/*
 * Sends a broadcast, for an entry function.
 *
 * Returns MCP_OK if it was sent or there are no other nodes, or
 *   MCP_AGAIN            stop and return this value
 *   MCP_ERR_UNREACHABLE  the cluster is unreachable
 *   MCP_ERR_MEMORY
 */
int mcp_operation(mcp_exchange_t *x, const mcp_broadcast_t *broadcast);

/* Makes a stream available at this node, for an entry function. Returns the
 * values of mcp_operation(), or MCP_ERR_DENIED, MCP_ERR_FULL or
 * MCP_ERR_NOT_FOUND, see "resume". */
int mcp_operation_stream(mcp_exchange_t *x,
    const mcp_operation_stream_t *stream);

/* Looks a stream up, for an entry function. mcp_operation_found() returns the
 * result until the function returns. Returns the values of mcp_operation(). */
int mcp_operation_lookup(mcp_exchange_t *x,
    const mcp_operation_stream_t *stream);

/* Looks up all streams of the session and the principal, at most some hundred;
 * the other fields of *stream are ignored. */
int mcp_operation_list(mcp_exchange_t *x, const mcp_operation_stream_t *stream);

/* Returns the state of a stream that mcp_operation_lookup() has found, or NULL.
 * Valid as long as the exchange. */
const mcp_found_t *mcp_operation_found(const mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN]);

/* Returns result i, from 0, of mcp_operation_list(), or NULL. */
const mcp_found_t *mcp_operation_found_at(const mcp_exchange_t *x, size_t i);

/*
 * Looks a stream up again, for an exchange whose entry function has returned.
 * The handler is called unless the exchange is freed before. *op is replaced
 * by the new operation; the previous one, if it is not NULL, is freed.
 *
 * Returns MCP_AGAIN if the handler will be called, or
 *   MCP_ERR_UNREACHABLE  the cluster is unreachable
 *   MCP_ERR_MEMORY
 */
int mcp_operation_follow(mcp_exchange_t *x,
    const mcp_operation_stream_t *stream, void (*handler)(void *data, int rc),
    void *data, mcp_operation_t **op);

/*
 * Sends client input to a call of another node, or informs other nodes of input
 * that this node takes itself. Does not wait if x has no entry function.
 * Returns the values of mcp_operation(), or
 *   MCP_ERR_LIMIT      there is no room for the input
 *   MCP_ERR_NOT_FOUND  there is no such call, or only this node has it
 */
int mcp_operation_client_input(mcp_exchange_t *x,
    const mcp_operation_client_input_t *input);

/*
 * Subscribes a session's own stream.
 *
 * Returns MCP_AGAIN if the handler will be called with the result; otherwise
 * the result, without calling the handler:
 *   MCP_OK
 *   MCP_ERR_NOT_FOUND    the cluster has no such stream, or there is no cluster
 *   MCP_ERR_UNREACHABLE  the cluster is unreachable
 *   MCP_ERR_MEMORY
 */
int mcp_operation_topic(mcp_worker_t *worker,
    const mcp_operation_topic_t *topic, void (*handler)(void *data, int rc),
    void *data);

/* Sends the finished response of x when other nodes have the stream that it
 * names, or after a second. Replaces mcp_answer_ready(). */
void mcp_operation_respond(mcp_exchange_t *x, const mcp_stream_ref_t *ref);

/* Sends the finished response of x when other nodes have the event on which
 * it is based. After a second, x reads the stream instead, if it is its
 * consumer. */
void mcp_operation_respond_with(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    uint64_t seq);

/*
 * Finds out whether a newly created, held stream is the first of those for
 * equal calls.
 *
 * Returns MCP_AGAIN if then() will be called, unless x is freed, with MCP_OK,
 * MCP_ERR_UNREACHABLE or a result of "await_replication"; or
 *   MCP_OK  it is, because there are no other nodes
 *   MCP_ERR_NOT_FOUND, MCP_ERR_MEMORY, MCP_ERR_UNREACHABLE
 */
int mcp_operation_first(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    void (*then)(mcp_exchange_t *x, int rc));

/* Returns 1 if a result is pending: the entry function has to return
 * MCP_AGAIN. */
int mcp_operation_waits(const mcp_exchange_t *x);

/* Returns 1 if no new call may begin, because the cluster is unreachable. */
int mcp_operation_is_unreachable(const mcp_worker_t *worker);

/* Returns the values of the hook "clock", or MCP_OK without a cluster. */
int mcp_operation_clock(const mcp_worker_t *worker);

/* Replicates a newly created stream. limit: see the hook "replicate". */
void mcp_operation_replicate(mcp_worker_t *worker, const mcp_stream_ref_t *ref,
    uint32_t limit);

/* Checks, for an entry function, whether one more call of the session of x may
 * begin, if the session is known to have many calls. limit is the maximum at
 * all nodes. Returns the values of mcp_operation(), or MCP_ERR_LIMIT. */
int mcp_operation_quota(mcp_exchange_t *x, uint32_t limit);

/*
 * Uses a resume token at this node, for an entry function; the store records by
 * which request. Returns the values of mcp_operation(), or
 *   MCP_ERR_DENIED  it is in use at another node, or was used: *value is the
 *                   value that was set, or 0
 */
int mcp_operation_token(mcp_exchange_t *x,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t expires, uint32_t *value);

/* mcp_operation_token_sent() reports that a used token was released or that its
 * call has failed; mcp_operation_token_set() reports the stream of its call,
 * with a value other than 0. */
void mcp_operation_token_sent(mcp_worker_t *worker, mcp_operation_token_e what,
    const unsigned char key[MCP_DIGEST_LEN]);
void mcp_operation_token_set(mcp_worker_t *worker,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t expires, uint32_t value,
    const unsigned char stream[MCP_STREAM_ID_LEN]);

/* Runs the entry function again after ms, with all operations anew. Returns
 * MCP_AGAIN, which the function has to return; or MCP_OK if it first ran limit
 * ms ago, or there is no cluster. */
int mcp_operation_later(mcp_exchange_t *x, uint64_t ms, uint64_t limit);

/* Sends a broadcast without waiting; a lost one is not repeated. Returns the
 * values of "send_broadcast". */
int mcp_operation_unknown(mcp_worker_t *worker,
    const mcp_broadcast_t *broadcast);

/* Passes the result of an operation. Frees op, or leaves that to its
 * exchange. */
void mcp_operation_answer(mcp_operation_t *op, int rc);

/* Detaches the operations of an exchange that is being freed. */
void mcp_operation_leave(mcp_exchange_t *x);

/* Processes a broadcast from another node by worker->on_broadcast, which
 * mcp_worker_create() has set. */
#define mcp_operation_receive(worker, broadcast)                               \
    ((worker)->on_broadcast(worker, broadcast))


#endif /* MCP_OPERATION_H_INCLUDED */
