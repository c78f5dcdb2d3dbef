/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Cluster operations: requests to the other nodes of a cluster, and exchanges
 * that wait for the results.
 *
 * An exchange waits by running a function, its entry function, again. The
 * entry function starts an operation as if its result were available. If the
 * result is not available, the operation returns MCP_AGAIN, and the entry
 * function stops and returns MCP_NEXT_WAIT. When all results are available, the
 * function runs again from its beginning, and finds each result by its position
 * among the operations of the same kind. Therefore the function must not have
 * other effects before it has started all operations, except those that
 * mcp_operation_once() limits to one run.
 *
 * The comment "After returning MCP_NEXT_WAIT, this function runs again", or
 * MCP_AGAIN in place of MCP_NEXT_WAIT, marks the entry functions, and the
 * functions between them and their operations: a change of these functions must
 * not move an effect in front of an operation.
 *
 * A worker without a cluster never waits.
 */


#ifndef MCP_CLUSTER_OPERATION_H_INCLUDED
#define MCP_CLUSTER_OPERATION_H_INCLUDED


#include "worker/mcp_worker_internal.h"


/* Time for which an exchange waits for a result, ms. After that, the cluster
 * counts as unreachable for this exchange. */
#define MCP_OPERATION_TIME  1000


/* The kinds of broadcasts. */
typedef enum {
    /* Broadcasts of a value that each node puts into its store. The kind of the
     * broadcast is the kind of the value in the store. */
    MCP_BROADCAST_SESSION_ENDED = MCP_VALUE_SESSION_ENDED,
    MCP_BROADCAST_LOG_LEVEL = MCP_VALUE_LOG_LEVEL,
    MCP_BROADCAST_CANCELLED = MCP_VALUE_CANCELLED,
    MCP_BROADCAST_CROWDED = MCP_VALUE_CROWDED,

    /* A notification for subscribers. */
    MCP_BROADCAST_NOTIFICATION = 'p',

    /* Subscribes a session's own stream to a topic if the broadcast's value is
     * 1, otherwise unsubscribes it. The broadcast's key is the topic. */
    MCP_BROADCAST_TOPIC = 's'
} mcp_broadcast_e;

/* Maximum length of a notification for subscribers at other nodes, bytes. A
 * longer one is delivered only at this node. */
#define MCP_BROADCAST_MESSAGE_MAX  8192

struct mcp_broadcast_s {
    mcp_broadcast_e        what;
    unsigned char          key[MCP_DIGEST_LEN];        /* key of the value, or
                                                          the topic */
    unsigned char          session[MCP_DIGEST_LEN];    /* session that the
                                                          broadcast concerns */
    uint32_t               value;
    uint64_t               expires;    /* time of expiry, ms of mcp_env_t.now;
                                          0: never */
    mcp_str_t              message;    /* text of a notification; otherwise
                                          empty */
    uint64_t               ms;         /* "ms" and "n": the two numbers of the
                                          id that the broadcast's entry has in
                                          the Redis stream; both 0: not
                                          received from Redis */
    uint64_t               n;
    unsigned               own:1;      /* 1: sent by this node */
};

/* Sets the kind, key, session, value and time of expiry of a broadcast, and all
 * its other fields to 0. */
void mcp_broadcast_make(mcp_broadcast_t *broadcast, mcp_broadcast_e what,
    const unsigned char key[MCP_DIGEST_LEN],
    const unsigned char session[MCP_DIGEST_LEN], uint32_t value,
    uint64_t expires);


/* A stream that a client resumes or looks up. */
typedef struct {
    unsigned char          id[MCP_STREAM_ID_LEN];
    uint64_t               after;      /* last event that the client has */
    uint64_t               created;    /* in a lookup: when the stream was
                                          created, ms; 0: not known */
    unsigned char          session[MCP_DIGEST_LEN];    /* the stream must belong
                                                          to this session and
                                                          principal */
    unsigned char          principal[MCP_DIGEST_LEN];
    unsigned               listens:1;  /* 1: resume after the last event that
                                          any node has sent. In a lookup of a
                                          task, 1: notify this node of changes
                                          of the task, see mcp_notify_task() */
    unsigned               any_session:1;      /* 1: the stream may belong to
                                                  any session */
    unsigned               task:1;     /* 1: the result also contains the last
                                          event of the task */
    unsigned               drops:1;    /* 1: remove the events up to "after"
                                          from the stream */
    unsigned               has_generation:1; /* 1: generation and
                                                generation_max are set */
    uint32_t               generation; /* the stream's generation is raised to
                                          this value */
    uint32_t               generation_max;   /* a stream with a generation
                                                above this value is not
                                                found */
} mcp_operation_stream_t;


/* A change of the subscriptions of a session's own stream. */
typedef struct {
    unsigned char          id[MCP_STREAM_ID_LEN];
    unsigned char          session[MCP_DIGEST_LEN];
    unsigned char          topic[MCP_DIGEST_LEN];
    unsigned               subscribe:1;
} mcp_operation_topic_t;


/* The state of a stream of another node. */
typedef struct {
    mcp_store_lookup_t     lookup;     /* state of the stream;
                                          info.ref.index is 0, because it is
                                          not in this store */
    mcp_str_t              event;      /* last event, if the stream is that of
                                          a task */
} mcp_found_t;


/* The kinds of client input for a call. */
typedef enum {
    MCP_OPERATION_INPUT_ANSWER = 0,  /* answers to questions of a call */
    MCP_OPERATION_INPUT_TASK,        /* answers to questions of a task */
    MCP_OPERATION_INPUT_CANCEL       /* cancellation of a task */
} mcp_operation_client_input_e;

typedef struct {
    mcp_operation_client_input_e  what;
    unsigned char                 id[MCP_STREAM_ID_LEN];

    /* A call must belong to "session". The call of a task must belong to
     * "principal" instead. */

    unsigned char                 session[MCP_DIGEST_LEN];
    unsigned char                 principal[MCP_DIGEST_LEN];
    uint32_t                      generation;  /* generation to which the
                                                  stream is raised; 0: none */
    uint64_t                      seq;   /* for a task: number of the event
                                            with the questions */
    uint32_t                      bits;  /* for a task: bits of the questions
                                            that are answered */
    uint32_t                      all;   /* for a task: bits of all questions
                                            of the event */
    mcp_str_t                     data;  /* the answers, JSON; "{}" for
                                            CANCEL */
} mcp_operation_client_input_t;


/* Operations on a backend's resume token, which can be used once. */
typedef enum {
    MCP_OPERATION_TOKEN_TAKE = 0,  /* use the token */
    MCP_OPERATION_TOKEN_GIVE,      /* release the token, because the request
                                      that used it has not started a call */
    MCP_OPERATION_TOKEN_SET,       /* record the value that identifies the
                                      stream of the token's call */
    MCP_OPERATION_TOKEN_DROP       /* allow the token to be used again, because
                                      its call has failed */
} mcp_operation_token_e;

typedef struct {
    mcp_operation_token_e  what;
    unsigned char          key[MCP_DIGEST_LEN];
    unsigned char          stream[MCP_STREAM_ID_LEN];  /* for SET: stream of
                                                          the token's call */
    uint32_t               value;      /* for SET: identifies the stream of the
                                          token's call; never 0. For DROP: the
                                          value of the failed call's SET, 0 if
                                          this call had no stream. Otherwise
                                          0. */
    uint64_t               expires;
} mcp_operation_token_t;


/* Operations on the session at an MCP server that all nodes use for the
 * requests of one caller. */
typedef enum {
    MCP_OPERATION_SESSION_GET = 0,
    MCP_OPERATION_SESSION_TAKE,        /* get the session, and remove it from
                                          the cluster */
    MCP_OPERATION_SESSION_PUT,         /* store a new session in the cluster */
    MCP_OPERATION_SESSION_DROP         /* remove this session from the cluster,
                                          unless another one has replaced it
                                          there */
} mcp_operation_session_e;

/* The text that describes a session at an MCP server. */
typedef struct {
    size_t                   len;
    char                     text[MCP_STORE_TEXT_MAX];
} mcp_operation_text_t;

typedef struct {
    mcp_operation_session_e  what;
    unsigned char            key[MCP_DIGEST_LEN];      /* identifies the caller
                                                          and the server */
    mcp_str_t                text;     /* for PUT and DROP: text of the
                                          session */
    uint64_t                 lasts;    /* for GET and PUT: time for which an
                                          unused session is kept, ms */
    mcp_operation_text_t    *found;    /* buffer for the text of the session in
                                          the cluster, valid until the handler
                                          has been called; NULL if the operation
                                          has no handler */
} mcp_operation_upstream_session_t;


/* The arguments of MCP_OPERATION_QUOTA, which checks whether a session may
 * begin one more call. */
typedef struct {
    unsigned char          session[MCP_DIGEST_LEN];
    uint32_t               limit;      /* maximum number of the session's active
                                          calls at all nodes */
} mcp_operation_quota_t;


/* The kind of an operation. When an entry function runs again, it finds each
 * result by the kind of the operation. The comments list the results besides
 * MCP_OK, MCP_ERR_UNREACHABLE and MCP_ERR_MEMORY. */
typedef enum {
    /* Sends a broadcast. A notification is also received by this node itself,
     * see mcp_operation_receive(). */
    MCP_OPERATION_BROADCAST = 0,

    /*
     * Makes a stream available at this node, so that this process can read it:
     * the stream itself, or a mirror. MCP_OK does not prove that the stream
     * exists: the caller has to find it in the store. Redis may lack a stream
     * that only this node has.
     *   MCP_ERR_DENIED     a client that came later reads the stream at
     *                      another node
     *   MCP_ERR_AHEAD      the cluster does not have the event stream.after
     *                      yet; the owner's node was queried about it
     *   MCP_ERR_FULL       the region has no room for a mirror
     *   MCP_ERR_NOT_FOUND  stream.listens is set, and the cluster does not
     *                      have the stream
     */
    MCP_OPERATION_STREAM,

    /* Looks a stream up without reading it. Restarts the time for which the
     * stream may be without a consumer, and records in Redis that the client
     * has received the event stream.after. With the result MCP_OK, "found" has
     * the state of the stream in the cluster, if the stream exists.
     *   MCP_ERR_AHEAD      the cluster does not have the event stream.after
     *                      yet; the owner's node was queried about it */
    MCP_OPERATION_LOOKUP,

    /* Looks up all streams of the session and the principal in "stream", whose
     * other fields are ignored. The results are in "found"; there may be
     * hundreds. */
    MCP_OPERATION_LIST,

    /* Sends client input to a call of another node, or notifies the other
     * nodes of input for a call of this node. If no exchange waits for the
     * result, input for a call that does not exist is ignored.
     *   MCP_ERR_LIMIT      there is no room for the input
     *   MCP_ERR_NOT_FOUND  the cluster has no such call, or the call is over */
    MCP_OPERATION_CLIENT_INPUT,

    /* Subscribes or unsubscribes a session's own stream at its owner's node.
     * That node receives the change before all broadcasts that are sent later.
     * Before starting this operation, the caller changes the subscriptions of
     * the stream or mirror at this node.
     *   MCP_ERR_NOT_FOUND  the cluster has no such stream */
    MCP_OPERATION_TOPIC,

    /* Checks whether a session may begin one more call.
     *   MCP_ERR_LIMIT      the session has reached the limit */
    MCP_OPERATION_QUOTA,

    /* Performs an operation on a resume token. An exchange waits only for the
     * result of TAKE, which lets requests of this node use the token.
     *   MCP_ERR_DENIED     another node uses the token, or its call has a
     *                      stream at any node; "value" is the value of SET,
     *                      or 0 */
    MCP_OPERATION_TOKEN,

    /* Reads or changes a session at an MCP server. No exchange waits for the
     * result.
     *   MCP_ERR_NOT_FOUND  for GET and TAKE: the cluster has no session
     *   MCP_ERR_EXISTS     for PUT: the cluster has another session, which is
     *                      now in "found" */
    MCP_OPERATION_UPSTREAM_SESSION,

    /* Makes a mirror of the stream with the id stream.id for requests of this
     * node that join this stream. Only mcp_cluster_join_taken() starts this
     * operation. For the results see the hook "await_replication". */
    MCP_OPERATION_JOIN,

    MCP_OPERATION_KINDS
} mcp_operation_kind_e;


/* The kind of an operation and its arguments. */
struct mcp_operation_spec_s {
    mcp_operation_kind_e              kind;

    union {
        mcp_broadcast_t               broadcast;
        mcp_operation_stream_t        stream;  /* for STREAM, LOOKUP, LIST and
                                                  JOIN */
        mcp_operation_client_input_t  input;
        mcp_operation_topic_t         topic;
        mcp_operation_quota_t         quota;
        mcp_operation_token_t         token;
        mcp_operation_upstream_session_t  session;
    };
};


/* A pending or finished operation. Either an exchange waits for its result, or
 * its handler gets the result. */
struct mcp_operation_s {
    void                 (*handler)(void *data, int rc);
    void                  *data;
    mcp_operation_t       *next;       /* next operation of the same exchange */
    mcp_exchange_t        *x;          /* NULL: the exchange was freed */
    mcp_worker_t          *worker;
    mcp_operation_spec_t   spec;       /* texts in it are valid only until the
                                          operation has started */
    int                    rc;         /* result; MCP_AGAIN: pending */
    unsigned               unwaited:1; /* 1: no exchange waits for the result */
    unsigned               repeats:1;  /* 1: the next run of the entry function
                                          starts the operation again */
    unsigned               defers;     /* 1: the entry function of the exchange
                                          has returned; the exchange sends its
                                          response, or starts its call, when
                                          this operation has its result */
    mcp_operation_t       *later;      /* next operation for which the hook
                                          "await_replication" waits for the same
                                          stream */
    uint32_t               value;      /* result of MCP_OPERATION_TOKEN */
    uint64_t seq;       /* number of the event for which the hook
                           "await_replication" waits; 0: the hook waits for the
                           stream itself */
    mcp_found_t           *found;      /* result of MCP_OPERATION_LOOKUP and
                                          MCP_OPERATION_LIST, allocated with
                                          env->mem */
    size_t                 n_found;
};


/* The functions by which a worker calls its cluster part. The argument
 * "cluster" is worker->cluster. */
struct mcp_cluster_hooks_s {

    /*
     * Starts an operation. mcp_operation_complete() passes the result to op,
     * but never before this function has returned. If op is NULL, no exchange
     * waits for the result.
     *
     * Returns MCP_OK if there is no result to wait for, or
     *   MCP_AGAIN            mcp_operation_complete() follows, if op is not
     *                        NULL; if the operation broadcasts a notification,
     *                        this node will receive the notification as well
     *   MCP_ERR_UNREACHABLE  the cluster is unreachable
     *   MCP_ERR_NOT_FOUND    for CLIENT_INPUT and TOPIC: this node is
     *                        standalone; for TOPIC also: the cluster is
     *                        unreachable, and mcp_cluster_sync is off
     *   MCP_ERR_MEMORY
     */
    int (*start)(void *cluster, const mcp_operation_spec_t *spec,
                 mcp_operation_t *op);

    /* Returns 1 if the cluster has been unreachable for
     * mcp_cluster_outage_timeout, so that no new call may begin. */
    int                       (*is_unreachable)(void *cluster);

    /* Compares this node's clock with that of Redis.
     *
     * Returns MCP_OK if the clocks agree or this node is standalone, or
     *   MCP_ERR_UNREACHABLE  Redis has not been reached since the zone was
     *                        created
     *   MCP_ERR_DENIED       the clocks differ too much, and no request may be
     *                        served */
    int                       (*clock)(void *cluster);

    /* Waits until the cluster has a stream of this process, or the event
     * op->seq of the stream. Returns the values of "start", or
     * MCP_ERR_NOT_FOUND if the stream does not exist.
     *
     * For a held stream (cluster coalescing), the result may also be
     *   MCP_ERR_EXISTS     another node has created an equal call before; its
     *                      stream is available here and has to be joined
     *   MCP_ERR_NOT_FOUND  this stream, or the other call's, does not exist
     *                      any more
     *   MCP_ERR_FULL       the region has no room for a mirror of the other
     *                      stream */
    int (*await_replication)(void *cluster, const mcp_stream_ref_t *ref,
                mcp_operation_t *op);

    /* Starts the replication of a stream that this process has created. limit
     * is the maximum number of active calls of its session at all nodes, 0 for
     * none. If the session has more, the stream is not replicated, and
     * MCP_INBOX_LIMIT is posted to it. */
    void (*replicate)(void *cluster, const mcp_stream_ref_t *ref,
                      uint32_t limit);

    /* Called for a wake-up of the kind MCP_WAKE_REPLICATOR: a replicated
     * stream or a mirror of this process has changed. "sent" is the last event
     * that was sent to the reader of a freed mirror that was over, otherwise
     * 0. */
    void (*changed)(void *cluster, const mcp_stream_ref_t *ref, uint64_t sent);

    /* Called when another process has woken this one, and when this process
     * begins to shut down: the leader of the node may have to change. */
    void (*check_leader)(void *cluster);
};


/*
 * Stores the entry function of a request without a body. The function runs when
 * the glue calls mcp_exchange_body() with an empty body, because an exchange
 * cannot wait before that call. Returns the values of mcp_exchange_head().
 */
mcp_next_e mcp_operation_after_body(mcp_exchange_t *x,
    mcp_next_e (*entry)(mcp_exchange_t *x));

/* Without a cluster, runs the entry function of a request at once, because no
 * operation makes the function wait. In a cluster, stores the entry function
 * like mcp_operation_after_body(). Returns the values of
 * mcp_exchange_head(). */
mcp_next_e mcp_operation_begin(mcp_exchange_t *x,
    mcp_next_e (*entry)(mcp_exchange_t *x));

/* Stores the entry function of a request with a body, and runs it at once.
 * Returns the values of mcp_exchange_body(). */
mcp_next_e mcp_operation_now(mcp_exchange_t *x,
    mcp_next_e (*entry)(mcp_exchange_t *x));

/* Discards the effects of an earlier run of the entry function on the response,
 * and runs the stored entry function. Returns the values of
 * mcp_exchange_body(). */
mcp_next_e mcp_operation_entry(mcp_exchange_t *x);

/* Returns the next step of a request that cannot continue because of rc, the
 * result of an operation. This is MCP_NEXT_WAIT for MCP_AGAIN, and
 * MCP_NEXT_ERROR for an error to which the request has no other response. */
static inline mcp_next_e
mcp_operation_next(int rc)
{
    return rc == MCP_AGAIN ? MCP_NEXT_WAIT : MCP_NEXT_ERROR;
}

/*
 * Starts an operation for an entry function, or returns its result if an
 * earlier run has started it.
 *
 * Returns MCP_OK if the operation has succeeded or there are no other nodes, or
 *   MCP_AGAIN            the result is not available: the entry function has to
 *                        return MCP_NEXT_WAIT
 *   MCP_ERR_UNREACHABLE  the cluster is unreachable
 *   MCP_ERR_MEMORY
 *   other results that mcp_operation_kind_e lists, except MCP_ERR_AHEAD
 */
int mcp_operation(mcp_exchange_t *x, const mcp_operation_spec_t *spec);

/* Starts a STREAM, LOOKUP or LIST for an entry function. The entry function
 * gets the result of a LOOKUP from mcp_operation_found(), and the results of a
 * LIST from mcp_operation_found_at(). Returns the values of mcp_operation(). */
int mcp_operation_stream(mcp_exchange_t *x, mcp_operation_kind_e kind,
    const mcp_operation_stream_t *stream);

/* Returns the state of a stream that a LOOKUP has found, or NULL. The result
 * is valid until x is freed or starts to wait again. */
const mcp_found_t *mcp_operation_found(const mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN]);

/* Returns result i of a LIST, from 0, or NULL if there are fewer. */
const mcp_found_t *mcp_operation_found_at(const mcp_exchange_t *x, size_t i);

/*
 * Looks a stream up for an exchange whose entry function has returned. The
 * handler gets the result, unless the exchange is freed before. *op is set to
 * the operation. If *op was the operation of an earlier call, the earlier
 * operation is freed.
 *
 * Returns MCP_AGAIN if the handler will be called, or
 *   MCP_ERR_UNREACHABLE  the cluster is unreachable
 *   MCP_ERR_MEMORY
 */
int mcp_operation_lookup(mcp_exchange_t *x,
    const mcp_operation_stream_t *stream, void (*handler)(void *data, int rc),
    void *data, mcp_operation_t **op);

/*
 * Sends client input to a call of another node, or notifies the other nodes of
 * input for a call of this node. If x has no entry function, does not wait for
 * the result. Returns the values of mcp_operation(), or
 *   MCP_ERR_LIMIT      there is no room for the input
 *   MCP_ERR_NOT_FOUND  no other node has the call
 */
int mcp_operation_client_input(mcp_exchange_t *x,
    const mcp_operation_client_input_t *input);

/*
 * Starts an operation that no entry function waits for. With a handler, returns
 * MCP_AGAIN if the handler will be called with the result. Any other result is
 * returned without calling the handler. Without a handler, returns the values
 * of the hook "start", and does not repeat a command that is lost.
 *
 * Returns MCP_OK without a cluster.
 */
int mcp_operation_send(mcp_worker_t *worker, const mcp_operation_spec_t *spec,
    void (*handler)(void *data, int rc), void *data);

/* Sends a broadcast to all nodes by mcp_operation_send(), without a handler.
 * Returns the values of the hook "start", or MCP_OK without a cluster. */
int mcp_operation_broadcast(mcp_worker_t *worker,
    const mcp_broadcast_t *broadcast);

/* Sends the response of x, which is ready and names a stream, when other nodes
 * have the stream, or after MCP_OPERATION_TIME. To be called instead of
 * mcp_respond_ready(). */
void mcp_operation_respond(mcp_exchange_t *x, const mcp_stream_ref_t *ref);

/*
 * Sends the response of x, which is ready and was appended to a stream as
 * event seq, when other nodes have the event. If they do not have it after
 * MCP_OPERATION_TIME, and x is the consumer of the stream, x starts an SSE
 * response with the stream; otherwise the response is sent.
 */
void mcp_operation_respond_with(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    uint64_t seq);

/*
 * Finds out whether a newly created, held stream is the first one for equal
 * calls in the cluster.
 *
 * Returns MCP_AGAIN if then() will be called with MCP_OK, MCP_ERR_UNREACHABLE
 * or a result of "await_replication", unless x is freed before; or
 *   MCP_OK               the stream counts as the first one, because there are
 *                        no other nodes, or because Redis is unreachable and
 *                        mcp_cluster_sync is off
 *   MCP_ERR_NOT_FOUND    the stream does not exist
 *   MCP_ERR_MEMORY
 *   MCP_ERR_UNREACHABLE  the cluster is unreachable
 */
int mcp_operation_first(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    void (*then)(mcp_exchange_t *x, int rc));

/* Returns 1 at its first call for x, 0 at later ones. So an effect between two
 * operations of an entry function is not repeated in later runs. Must not be
 * called without a cluster. */
int mcp_operation_once(mcp_exchange_t *x);

/* Returns 1 if a result for x is pending: the entry function has to return
 * MCP_NEXT_WAIT. */
int mcp_operation_waits(const mcp_exchange_t *x);

/* Returns 1 if no new call may begin, because the cluster has been unreachable
 * for mcp_cluster_outage_timeout. */
int mcp_operation_is_unreachable(const mcp_worker_t *worker);

/* Returns the values of the hook "clock", or MCP_OK without a cluster. */
int mcp_operation_clock(const mcp_worker_t *worker);

/* Starts the replication of a stream that this process has created. "limit" is
 * the maximum number of active calls of its session at all nodes, 0 for
 * none. */
void mcp_operation_replicate(mcp_worker_t *worker, const mcp_stream_ref_t *ref,
    uint32_t limit);

/*
 * Checks, for an entry function, whether the session of x may begin one more
 * call, with at most "limit" active calls at all nodes. Returns MCP_OK at
 * once, unless a broadcast has marked the session as having many calls.
 * Returns the values of mcp_operation(), or MCP_ERR_LIMIT.
 */
int mcp_operation_quota(mcp_exchange_t *x, uint32_t limit);

/*
 * Takes a resume token for this node, in an entry function. The caller records
 * in the store which request uses the token. Returns the values of
 * mcp_operation(), or
 *   MCP_ERR_DENIED  another node uses the token, or its call has a stream at
 *                   any node: *value is the value of
 *                   mcp_operation_token_set(), or 0
 */
int mcp_operation_token(mcp_exchange_t *x,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t expires, uint32_t *value);

/* mcp_operation_token_give() sends GIVE for a token. mcp_operation_token_set()
 * sends SET with the stream of the token's call and a value other than 0.
 * mcp_operation_token_drop() sends DROP with the value of the failed call's
 * SET, or 0 if this call had no stream. These functions wait for no result. */
void mcp_operation_token_give(mcp_worker_t *worker,
    const unsigned char key[MCP_DIGEST_LEN]);
void mcp_operation_token_drop(mcp_worker_t *worker,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t expires, uint32_t value);
void mcp_operation_token_set(mcp_worker_t *worker,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t expires, uint32_t value,
    const unsigned char stream[MCP_STREAM_ID_LEN]);

/*
 * Schedules another run of the entry function of x after "ms", with new
 * operations. Returns MCP_AGAIN: the entry function has to return
 * MCP_NEXT_WAIT. Returns MCP_OK, and schedules nothing, if the exchange has
 * waited for "limit" ms in all, the process shuts down, or there is no cluster.
 */
int mcp_operation_later(mcp_exchange_t *x, uint64_t ms, uint64_t limit);

/* mcp_operation_create() returns an operation, or NULL when out of memory. x
 * is the exchange that waits for the result, or NULL. mcp_operation_free()
 * frees a finished operation. */
mcp_operation_t *mcp_operation_create(mcp_worker_t *worker, mcp_exchange_t *x);
void mcp_operation_free(mcp_operation_t *op);

/* Called by the cluster: passes the result rc to the handler of an
 * operation, or to its exchange, which continues. op is freed, now or with
 * its exchange. */
void mcp_operation_complete(mcp_operation_t *op, int rc);

/* Detaches the operations of an exchange that is being freed: their results
 * are dropped. */
void mcp_operation_leave(mcp_exchange_t *x);

/* Processes a received broadcast by worker->on_broadcast, which
 * mcp_worker_create() has set. */
#define mcp_operation_receive(worker, broadcast)                               \
    ((worker)->on_broadcast(worker, broadcast))


#endif /* MCP_CLUSTER_OPERATION_H_INCLUDED */
