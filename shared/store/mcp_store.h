/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The store: the durable log that the processes of a server share. It contains
 * streams with their events, inboxes, owners and consumers; numbers and short
 * texts with a time to live; subscriptions; and counters.
 *
 * This is the interface of a synchronous engine on shared memory: every
 * function returns with its result, holds the lock for a few microseconds, and
 * never waits for input or output. Callers rely on that: they need the results
 * of mcp_store_find() or mcp_store_value_get() immediately. A store that has
 * to query another machine cannot implement this interface; one that
 * replicates to other machines can.
 *
 * The store defines the layout of the region and repairs it. It does not
 * interpret messages, and does not decide when a call ends.
 *
 * The glue provides a region of memory, which processes may map at different
 * addresses, and a lock. The region contains no pointers. Data are written
 * before the lengths and numbers that make them valid, so a process that is
 * killed between any two instructions leaves intact streams. If the holder of
 * the lock has died, the next process that takes the lock rebuilds all derived
 * data: the list of free chunks, hash chains, queues and counts.
 *
 * All times are milliseconds of mcp_env_t.now. Every function that returns an
 * int may return, besides the listed values,
 *   MCP_ERR_INTERNAL  the lock cannot be taken, or this process was declared
 *                     dead
 */


#ifndef MCP_STORE_H_INCLUDED
#define MCP_STORE_H_INCLUDED


#include "base/mcp_token.h"
#include "config/mcp_tenant.h"
#include "http/mcp_sse.h"
#include "mcp_zone.h"
#include "rpc/mcp_revision.h"


#define MCP_STORE_CHUNK      512       /* bytes */
#define MCP_STORE_NAME_MAX   128       /* bytes for the method or the name of a
                                          stream, with the NUL; longer texts are
                                          truncated */
#define MCP_STORE_NO_SLOT    0xffffffffu
#define MCP_STORE_READ_MIN   64        /* smallest "cap" that mcp_store_read()
                                          accepts */

/* Flags that callers of mcp_store_append() add to the number of a request in
 * "answers". */
#define MCP_STORE_RESULT(n)  ((n) << 8)    /* n: a result of the request from 0
                                              to 7, whose meaning the caller
                                              defines */
#define MCP_STORE_ABOUT      0x2000    /* the message concerns the request but
                                          is not its response */
#define MCP_STORE_ERROR      0x4000    /* the response is an error */


/* Promises to the client of a call's stream. */
#define MCP_PROMISE_TIME  0x1  /* the stream is kept for at least max_wait
                                  after its end, unless the client has
                                  confirmed the last event */
#define MCP_PROMISE_IDS   0x2  /* a client without a session gets event ids and
                                  may resume the stream by an event id */


/* Functions that the glue provides. */
typedef struct {

    /* Returns MCP_OK, MCP_AGAIN if the lock was acquired but its last holder
     * died while it held the lock, or an error. */
    int    (*lock)(void *mutex);
    void   (*unlock)(void *mutex);
    void    *mutex;

    /* Makes the process in a slot call mcp_store_drain() soon. Called without
     * the lock, also for the caller's own slot. */
    void   (*wake)(void *ctx, unsigned slot);
    void    *ctx;
} mcp_store_glue_t;


/* A handle, by which one process uses a store. */
struct mcp_store_s {
    struct mcp_store_head_s  *head;    /* start of the region */
    mcp_store_glue_t          glue;
    unsigned                  slot;
    uint64_t                  pid;     /* process id; the slot has the same id
                                          until this process detaches or is
                                          declared dead */
    uint32_t                  active;  /* index of the record at which
                                          mcp_store_active_begin() begins to
                                          search for a free record */

    /* Called with the lock held when this process appends an event to a stream
     * whose consumer "handle" is in this process as well, or when this append
     * finds no room in the stream or in the region. Not called for a stream
     * that requests can join. Returns 1 if it has recorded the handle. The
     * process then wakes the consumer without mcp_store_drain(). If it returns
     * 0, or is NULL, and for all other wake-ups, mcp_store_drain() reports the
     * consumer. */
    int                     (*note)(void *noter, uint64_t handle);
    void                     *noter;
};


typedef enum {
    MCP_STREAM_CALL = 0,       /* a call: has an owner and ends with a
                                  response */
    MCP_STREAM_LISTEN          /* a listener: gets notifications, has no
                                  owner */
} mcp_stream_kind_e;


typedef enum {
    MCP_STATE_PROCESSING = 0,
    MCP_STATE_INPUT_REQUIRED,

    /* final states: the stream is over and has no owner */
    MCP_STATE_COMPLETED,
    MCP_STATE_FAILED,          /* final state: the response is a JSON-RPC
                                  error */
    MCP_STATE_CANCELLED
} mcp_stream_state_e;


/* A reference to a stream: its index, and the id that the stream at that index
 * must have. */
typedef struct {
    uint32_t       index;
    unsigned char  id[MCP_STREAM_ID_LEN];
} mcp_stream_ref_t;


/* The values with which a stream is created. */
typedef struct {
    unsigned char       id[MCP_STREAM_ID_LEN];
    mcp_stream_kind_e   kind;
    unsigned char       session[MCP_DIGEST_LEN];
    unsigned char       principal[MCP_DIGEST_LEN];
    unsigned char       params[MCP_DIGEST_LEN];    /* digest of the request's
                                                      params */
    unsigned            revision;
    mcp_str_t           request;       /* raw id, or raw array of the ids of a
                                          batch; any length; copied */
    mcp_str_t           method;
    mcp_str_t           name;
    uint64_t            expires;       /* of a listener: when its session
                                          expires; 0: never */
    uint64_t            max_wait;      /* time for which the stream is kept
                                          without a reader, ms */
    uint64_t            linger;        /* time for which the stream is kept
                                          after its last event was sent, ms */
    unsigned            promised;      /* MCP_PROMISE_... */
    uint32_t            max_events;    /* maximum number of unsent events; 0:
                                          no limit */
    uint64_t            max_bytes;     /* maximum number of bytes of unsent
                                          events; 0: no limit */
    uint32_t            session_limit; /* maximum number of the session's
                                          streams that do not linger; 0: no
                                          limit. Has no effect without a session
                                          (all zeros) */
    mcp_tenant_t        tenant;        /* tenant whose quotas the stream counts
                                          towards */
    uint64_t            handle;        /* handle of the owner for
                                          mcp_store_drain() */
    unsigned            left;          /* 1: the client has disconnected, so
                                          the stream may be evicted */
    uint64_t            consumer;      /* handle of a consumer in this process,
                                          which is attached when the stream is
                                          created; then the caller has to call
                                          mcp_store_watch() for it; 0: none */
    const unsigned char  *join;        /* digest by which other requests find
                                          the stream to join it; NULL: they
                                          cannot */
    unsigned            join_once;     /* 1: requests can join the stream only
                                          until it is over and its last event
                                          was sent */
    unsigned            join_known;    /* only for mcp_store_join_find(), 1: a
                                          mirror without a reader is found as
                                          well, because the caller has just
                                          brought it up to date */
    unsigned            held;          /* 1: the stream cannot be joined before
                                          mcp_store_join_release() */
    unsigned char       joins[MCP_DIGEST_LEN];     /* storage for the digest
                                                      "join" in a spec that
                                                      was read from a stream
                                                      or from Redis */
} mcp_stream_spec_t;


typedef struct {
    mcp_stream_ref_t    ref;
    mcp_stream_kind_e   kind;
    mcp_stream_state_e  state;
    unsigned char       session[MCP_DIGEST_LEN];
    unsigned char       principal[MCP_DIGEST_LEN];
    unsigned            revision;
    unsigned            promised;      /* MCP_PROMISE_... */
    uint64_t            max_wait;
    uint64_t            expires;       /* when the task expires; 0: the stream
                                          is not a task */
    uint64_t            kept;          /* time when the stream became a task */
    uint64_t            changed;       /* time of the last event or of the last
                                          change of state, whichever is later */
    uint64_t            first_seq;     /* number of the oldest stored event;
                                          last_seq + 1: no event is stored */
    uint64_t            last_seq;      /* number of the last event that readers
                                          may see; 0: there is none */
    uint64_t            own_seq;       /* number of the last event in this zone.
                                          In a stream that is replicated with
                                          "sync", Redis has not acknowledged the
                                          events after last_seq yet, and
                                          "state", "answered" and "failed" do
                                          not include them */
    uint64_t            own_answered;  /* like "answered" and "failed", but
                                          including all events up to own_seq */
    uint64_t            own_failed;
    unsigned            mirror;        /* 1: the stream is a mirror: its call
                                          runs at another node */
    unsigned            shared;        /* 1: the stream is replicated */
    unsigned            ahead;         /* 1: readers here do not see the owner's
                                          latest event or state yet, because
                                          Redis has not acknowledged it
                                          ("sync"), or because the mirror lacks
                                          it */
    unsigned            held;          /* 1: the stream cannot be joined yet */
    unsigned            attended;      /* 1: the stream has a consumer, either
                                          here or, according to the latest
                                          notification, at another node */
    unsigned            replicated;    /* 0: the stream is replicated with
                                          "sync", and Redis has not acknowledged
                                          it yet, so no client may get its id;
                                          1: otherwise */
    uint64_t            read_after;    /* event after which the last consumer
                                          began to read */
    uint64_t            sent_seq;      /* last event written to a consumer's
                                          socket */
    uint64_t            confirmed_seq; /* last event confirmed by
                                          mcp_store_confirm() or
                                          mcp_store_acknowledge() */
    uint64_t            answered;      /* bit k: request k has its response */
    uint64_t            failed;        /* bit k: the response to request k is
                                          an error */
    uint64_t            failed_seq;    /* last event that is an error response;
                                          0: none */
    uint64_t            unattended;    /* time since which the stream has had no
                                          reader; 0: it has a reader, or the
                                          time is unknown */
    uint32_t            alias;         /* second name of the stream, see
                                          mcp_store_set_alias() */
    uint32_t            generation;    /* a number, 0 at first, see
                                          mcp_store_set_generation() */
    uint32_t            result;        /* largest n of MCP_STORE_RESULT(n) among
                                          the responses */
    unsigned            posted;        /* 1: posts or cancellations wait for the
                                          owner or are being processed */
    uint64_t            cancelled;     /* bits of cancelled requests, see
                                          mcp_store_take_cancelled() */
    uint32_t            takeovers;     /* number of consumers that were
                                          displaced since a consumer last left
                                          by itself */
    unsigned            owner_slot;    /* slot of the owner; MCP_STORE_NO_SLOT:
                                          there is no owner */
    unsigned            consumer_slot;
    uint64_t            consumer_handle;
    char                method[MCP_STORE_NAME_MAX];   /* ends with a NUL */
    char                name[MCP_STORE_NAME_MAX];
} mcp_stream_info_t;


/* A cursor: the position of a reader in a stream. */
typedef struct {
    uint64_t  seq;             /* number of the last event that was read
                                  completely */
    uint32_t  chunk;           /* index of the chunk with the next byte to read,
                                  as a cache; 0: it has to be looked up */
    uint32_t  offset;
    uint32_t  done;            /* > 0: the event seq + 1 was begun, and done -
                                  1 bytes of its message were read */
    uint32_t  left;            /* remaining bytes of the message of event seq +
                                  1, if done > 0 */
    uint32_t  check;           /* checksum of the cached position and of the
                                  stream's id */
    uint32_t  only;            /* set by the reader: number + 1 of the only
                                  request whose events are read; 0: all events
                                  are read */
    uint64_t  skipped;         /* number of the first event that was skipped
                                  because of "only"; 0: none */
    uint64_t  total;           /* bytes of all events up to seq; 0: unknown */
    unsigned  plain:1;         /* set by the reader; 1: events are written
                                  without ids */
    unsigned  all:1;           /* set by mcp_store_read(); 1: the reader may
                                  wait until its next wake-up to report that it
                                  has written the events to the client */
    char      id[MCP_STREAM_TEXT_LEN];     /* id of the stream, set with the
                                              first event that is read */
} mcp_cursor_t;


/* --- the region and its processes --- */

/*
 * Formats a region of "size" bytes, which need not be zero, as an empty store.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG    size is out of range, or region is not 8-byte aligned
 *   MCP_ERR_INTERNAL  there are no random numbers
 */
int mcp_store_format(void *region, size_t size);

/*
 * Checks whether a region contains a store that this version can continue to
 * use after a reload.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is no store with this layout version and size
 */
int mcp_store_check(const void *region, size_t size);

/*
 * Initializes the handle *store for the process "pid", and marks the slot as
 * used by this process, until mcp_store_detach() (mcp_zone.h). If another
 * process has used the slot before, its calls become ownerless, see
 * mcp_store_adopt().
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG    the slot does not exist, or pid is 0
 *   MCP_ERR_INTERNAL  the region is not a store
 */
int mcp_store_attach(mcp_store_t *store, void *region,
    const mcp_store_glue_t *glue, unsigned slot, uint64_t pid);

/* Returns the pid of the process in a slot, or 0 if the slot is free or does
 * not exist. The glue uses the pid to check whether the process lives. */
uint64_t mcp_store_slot_pid(mcp_store_t *store, unsigned slot);

/* Declares the process "pid" of a slot dead. Does nothing if another process
 * has the slot by now. */
void mcp_store_reclaim(mcp_store_t *store, unsigned slot, uint64_t pid);

/*
 * Adopts one ownerless stream: a call whose owner's process has ended. Makes
 * this process the owner, with the handle 0, sets *info, and appends the stored
 * request id or ids to request. Takes no lock if there is no such stream.
 *
 * Replicated streams that are over, and replicated listeners, are adopted if
 * their replicator's process has ended. This process becomes only their
 * replicator, because such streams have no owner.
 *
 * Returns MCP_OK, or
 *   MCP_DONE  there is no stream to adopt
 */
int mcp_store_adopt(mcp_store_t *store, uint64_t now, mcp_stream_info_t *info,
    mcp_buf_t *request);

/* The role in which a process is woken for a stream. */
typedef enum {
    MCP_WAKE_OWNER = 0,
    MCP_WAKE_CONSUMER,         /* the process has the consumer or a joined
                                  reader */
    MCP_WAKE_REPLICATOR        /* the process replicates the stream or feeds
                                  the mirror, see mcp_store_replication.h */
} mcp_store_wake_e;

typedef struct {
    mcp_stream_ref_t  ref;
    uint64_t          handle;
    mcp_store_wake_e  kind;
} mcp_store_wake_t;

/*
 * Reports the streams for which this process was woken, and the reason,
 * out[i].kind:
 *
 *   MCP_WAKE_OWNER       the stream has a post, a cancellation or room, its
 *                        readers have changed, or it was freed
 *   MCP_WAKE_CONSUMER    the stream has a new event or state, or was freed, or
 *                        another consumer has displaced one of this process
 *   MCP_WAKE_REPLICATOR  the stream has changed or was freed; "handle" is the
 *                        last event that was sent to the reader of a freed
 *                        mirror that was over, otherwise 0
 *
 * Returns the number of entries in out, at most n. The caller calls the
 * function until it returns 0.
 */
size_t mcp_store_drain(mcp_store_t *store, mcp_store_wake_t *out, size_t n);


/* --- streams --- */

/*
 * Creates a stream and sets *ref.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_EXISTS  there is a stream with this id, or one with spec->join that
 *                   can be joined
 *   MCP_ERR_DENIED  there is a stream with spec->join, but it has other params
 *   MCP_ERR_LIMIT   the session or the tenant has reached its limit
 *   MCP_ERR_FULL    the region has no room, even after eviction
 */
int mcp_store_create(mcp_store_t *store, const mcp_stream_spec_t *spec,
    uint64_t now, mcp_stream_ref_t *ref);

/*
 * Checks, before a backend is called, whether the session and the tenant of a
 * call have reached their limits. If the region is full because of other
 * tenants, accepts the call of a tenant that uses little of the region: the
 * call may need no stream, and if it does, mcp_store_create() may return an
 * error. Usually takes no lock. Returns MCP_OK or MCP_ERR_LIMIT.
 */
int mcp_store_admits(mcp_store_t *store,
    const unsigned char session[MCP_DIGEST_LEN], uint32_t session_limit,
    const mcp_tenant_t *tenant);

/* Every function below that takes a ref may return, besides the listed values,
 *   MCP_ERR_NOT_FOUND  the stream does not exist */

/* Finds a stream by its id. A stream that mcp_store_sweep() would free at the
 * time "now" is not found, unless "now" is 0. mcp_store_create() returns
 * MCP_ERR_EXISTS even for such a stream. */
int mcp_store_find(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t now,
    mcp_stream_info_t *info);
int mcp_store_info(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_stream_info_t *info);

/*
 * Iterates over the streams of a session, the latest first. If "sent" is 1,
 * visits the streams that linger (over, sent and without a reader) and mirrors
 * without a reader. If "sent" is 0, visits all others. *position is 0 for the
 * first call. Appends the stored request id or ids to request, unless that is
 * NULL.
 *
 * If a stream begins to linger between an iteration with "sent" 0 and a later
 * one with "sent" 1, both may find the stream. If a lingering stream gets a
 * reader in between, neither may find it.
 *
 * Returns MCP_OK and the next stream, or
 *   MCP_DONE  there are no more
 */
int mcp_store_session_next(mcp_store_t *store,
    const unsigned char session[MCP_DIGEST_LEN], int sent,
    uint64_t *position, mcp_stream_info_t *info, mcp_buf_t *request);

/*
 * Appends one message, sets *seq to its number, sets the state, and wakes the
 * consumer. If the message answers a request, "answers" is the number of this
 * request plus MCP_STORE_RESULT(), and plus MCP_STORE_ERROR for an error. If
 * the message only concerns a request, "answers" is the number of this request
 * plus MCP_STORE_ABOUT. Otherwise "answers" is -1.
 *
 * The stream's limits apply to unsent events. In addition, sent events up to
 * the same limits are kept as long as the region has room. A message that
 * answers a request may exceed the limits.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the stream does not exist or is over
 *   MCP_ERR_LIMIT      too many unsent events or bytes; the owner is woken when
 *                      there is room
 *   MCP_ERR_FULL       the region or the tenant's quota has no room, even after
 *                      eviction and without the sent events; the owner is woken
 *                      when there is room
 *   MCP_ERR_LARGE      the message exceeds a region without other streams, or
 *                      the tenant's whole quota
 */
int mcp_store_append(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_str_t message, int answers, mcp_stream_state_e state, uint64_t now,
    uint64_t *seq);

/*
 * Changes the state of a stream without a message.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the stream does not exist, or is over in another state
 */
int mcp_store_set_state(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_stream_state_e state, uint64_t now);

/* Sets mcp_stream_info_t.alias, a second name of the stream: a number that the
 * caller chooses, or 0 for none. Has an effect only if the stream's consumer is
 * (this slot, handle). */
int mcp_store_set_alias(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t handle, uint32_t alias);

/*
 * Changes mcp_stream_info_t.generation to "to" if it is "from" at present. A
 * new stream has the generation 0. The callers define the meaning of a
 * generation.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED  the generation is not "from", for example because another
 *                   process has changed it
 */
int mcp_store_set_generation(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint32_t from, uint32_t to);

/* Restarts the time max_wait, for which a stream without a reader is kept. Has
 * no effect if the stream has a reader, or if it is over and its last event was
 * sent. */
int mcp_store_touch(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t now);

/*
 * Records that a client has the events up to seq, and removes them.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the stream does not exist, or has no such event yet
 */
int mcp_store_confirm(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t seq);

/* Records that a client has the events up to seq, but keeps them. */
int mcp_store_acknowledge(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t seq);

/* Frees a stream at once. Its consumer is woken and gets MCP_ERR_NOT_FOUND. */
void mcp_store_free(mcp_store_t *store, const mcp_stream_ref_t *ref);

/* Frees a stream whose owner has to abandon its call. Wakes the owner even if
 * it is this process, in contrast to mcp_store_free(). The owner finds the
 * stream gone, MCP_ERR_NOT_FOUND. */
void mcp_store_revoke(mcp_store_t *store, const mcp_stream_ref_t *ref);

/*
 * Frees a stream if it has had no reader since the time *since, or since an
 * earlier time.
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN  the stream is kept, and *since is set to the time since which
 *              it has had no reader. *since is set to 0 if the stream has a
 *              reader, or if the time is unknown until the next sweep, which
 *              then wakes the owner
 */
int mcp_store_expire(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t *since);


/* --- consumers --- */

/*
 * Makes (this slot, handle) the stream's only consumer, which reads the events
 * after "after", and wakes the owner. Events that are read again count as
 * unsent. If there was another consumer, sets *taken to 1; that consumer is
 * woken and gets MCP_ERR_DENIED.
 *
 * Returns MCP_OK and the cursor, or
 *   MCP_ERR_NOT_FOUND  the stream does not exist, or has no event "after" yet
 *   MCP_ERR_PURGED     events after "after" have been removed
 *   MCP_ERR_DENIED     the stream is replicated or a mirror, and a later reader
 *                      at another node has already displaced this one
 */
int mcp_store_watch(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t handle, uint64_t after, mcp_cursor_t *cursor, int *taken);

/* Detaches (this slot, handle) if it is the consumer or a joined reader, and
 * wakes the owner. "sent" is the last event that was written to its socket. */
void mcp_store_unwatch(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t handle, uint64_t sent, uint64_t now);

/*
 * Copies the events after the cursor to buf as SSE text (mcp_sse.h), and
 * advances the cursor. An event larger than "cap" takes several calls. "sent"
 * is the last event known to be written to the socket: it counts as sent, which
 * makes room for the owner.
 *
 * Sets cursor->all to 1 if the caller need not report before its next wake-up
 * that these events were written: there are no more events now, the call is not
 * over, its owner does not wait for room and is far from the stream's limits,
 * and no other reader or node depends on the report.
 *
 * With cursor->only, the events of one request and events that concern no
 * request are read, without ids, until the request has its response.
 *
 * Returns MCP_OK and *len > 0, or
 *   MCP_AGAIN          there are no events now; a wake-up follows when there
 *                      are
 *   MCP_DONE           there are none, and the stream is over
 *   MCP_ERR_LIMIT      cap is less than MCP_STORE_READ_MIN
 *   MCP_ERR_DENIED     another consumer has displaced this one
 *   MCP_ERR_PURGED     the next event was removed, because the reader of a
 *                      listener is too slow for its limit: end the connection,
 *                      possibly within an event; or the cursor was modified
 *   MCP_ERR_NOT_FOUND  the stream does not exist, or has no event cursor->seq
 */
int mcp_store_read(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t handle, mcp_cursor_t *cursor, uint64_t sent, char *buf,
    size_t cap, size_t *len);


/* --- joined requests: readers of a stream beside its consumer --- */

/* Maximum number of joined readers of a stream. */
#define MCP_STORE_READERS  32

/*
 * Finds a stream that a request can join: one created with the "join" and the
 * params of the spec. Ignores cancelled streams, and streams that are due to be
 * freed. With spec->join_once, also ignores streams whose last event was sent,
 * if it is the final response, or, in a stateless revision, a question. Without
 * spec->join_known, also ignores mirrors without a reader. If the stream is the
 * mirror of a task, *info has the times of the task.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is none
 *   MCP_ERR_DENIED     there is a stream with the same "join", but it has other
 *                      params
 */
int mcp_store_join_find(mcp_store_t *store, const mcp_stream_spec_t *spec,
    uint64_t now, mcp_stream_info_t *info);

/* Allows requests to join a stream that was created with "held", and wakes the
 * requests that already read it. */
void mcp_store_join_release(mcp_store_t *store, const mcp_stream_ref_t *ref);

/*
 * Makes (this slot, handle) a joined reader of a stream: in addition to the
 * consumer, it reads the events after "after" by mcp_store_read(). A joined
 * reader is woken for events as the consumer is, and also when the consumer
 * leaves. A stream with a joined reader does not count as having no reader. But
 * events are not kept for joined readers: mcp_store_read() may return
 * MCP_ERR_PURGED, and the reader continues with the events that are still
 * stored. If the stream has no consumer, the events that were sent to the
 * fastest joined reader count as sent. mcp_store_unwatch() detaches the reader.
 *
 * Returns MCP_OK and the cursor, or
 *   MCP_ERR_NOT_FOUND  the stream does not exist or cannot be joined
 *   MCP_ERR_LIMIT      the stream has the maximum number of joined readers
 *   MCP_ERR_FULL       the region has no room
 */
int mcp_store_join(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t handle, uint64_t after, mcp_cursor_t *cursor);


/*
 * --- tasks ---
 *
 * The stream of a task is kept until a fixed time, and counts as a stream of
 * its tenant until then. If the task has a principal, the stream is not evicted
 * before that time.
 * Any process may poll the task. Only the last event of a task is kept, so the
 * owner never waits for room within the stream's limits.
 */

/* The maximum number of questions in one event of a task. */
#define MCP_STORE_QUESTIONS  32

/*
 * Makes a call a task until the time "expires", which is not 0. The call may
 * be over.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the stream does not exist, or is a listener
 */
int mcp_store_keep(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t expires, uint64_t now);

/* The state of a task at one moment. */
typedef struct {
    mcp_stream_info_t   info;
    uint64_t            seq;           /* number of the task's last event; 0:
                                          there is none */
    mcp_stream_state_e  state;         /* state that was set with the event
                                          seq */
    uint32_t            given;         /* bit k: question k of the event seq
                                          has its answer */
} mcp_store_lookup_t;

/*
 * Reads the state of a task, and appends its last event to buf.
 *
 * With "ahead", reads the state as the owner has it, including events that
 * Redis has not acknowledged yet. This is for a client's answers, because
 * another node may have sent the task's question to the client before this node
 * gets Redis's reply. The caller must not send that state to clients, because
 * it may still be lost.
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN       the task changes faster than it can be read
 *   MCP_ERR_LIMIT   the event exceeds the limit of buf
 *   MCP_ERR_MEMORY
 */
int mcp_store_lookup(mcp_store_t *store, const mcp_stream_ref_t *ref,
    unsigned ahead, mcp_store_lookup_t *lookup, mcp_buf_t *buf);


/* --- the inbox of a call: messages of other processes to its owner --- */

typedef enum {
    MCP_INBOX_INPUT = 1,        /* a client's answers to questions; tag: 0 */
    MCP_INBOX_PUBLISH,         /* messages from the publish endpoint, one per
                                  line; tag: number of the request that they
                                  concern */
    MCP_INBOX_TASK,            /* answers from mcp_store_answer(); tag: number
                                  of the task's event */
    MCP_INBOX_LIMIT            /* the session has too many calls according to
                                  other nodes; no data */
} mcp_inbox_item_e;

/*
 * Posts answers to questions of a task's event "seq". "bits" has a bit for
 * each answer, "all" a bit for each question of the event. With the answer to
 * the last open question the state becomes PROCESSING.
 *
 * Returns the values of mcp_store_inbox_put(), or
 *   MCP_AGAIN  the event is no longer the last one, or another process has
 *              posted some of these answers: read the state again
 */
int mcp_store_answer(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t seq, uint32_t bits, uint32_t all, mcp_str_t data, uint64_t now);

/*
 * Posts data to a call's owner and wakes it.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the stream does not exist, is over, or is a listener
 *   MCP_ERR_LIMIT      the inbox is not empty, and would exceed the stream's
 *                      max_bytes
 *   MCP_ERR_FULL       the region has no room, even after eviction
 */
int mcp_store_inbox_put(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_inbox_item_e type, uint64_t tag, mcp_str_t data);

/*
 * Removes the oldest post of a stream's inbox, appends its data to the buffer,
 * and sets *type and *tag.
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN       the inbox is empty: the removed posts count as processed,
 *                   and the consumer is woken
 *   MCP_ERR_LIMIT   the post exceeds the limit of the buffer
 *   MCP_ERR_MEMORY
 */
int mcp_store_take(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_inbox_item_e *type, uint64_t *tag, mcp_buf_t *data);

/*
 * Cancellations are numbered, so that a cancellation does not concern requests
 * that began after it. mcp_store_count_cancel() returns the number of a new
 * cancellation; mcp_store_cancels() returns the number of the latest one, 0 at
 * first. All processes share the numbers, which wrap around.
 */
uint32_t mcp_store_count_cancel(mcp_store_t *store);
uint32_t mcp_store_cancels(const mcp_store_t *store);

/*
 * Cancels requests of a call, a bit for each, and wakes the owner. A
 * cancellation needs no room. mcp_stream_info_t.posted is 1 until the owner
 * has processed it.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the stream does not exist, is over, or is a listener
 */
int mcp_store_cancel(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t requests);

/* Returns a bit for each request of a call that was cancelled since the owner
 * last used this function. The owner uses it before it reads the inbox. */
uint64_t mcp_store_take_cancelled(mcp_store_t *store,
    const mcp_stream_ref_t *ref);


/* --- small values: purpose, 16-byte key, 32-bit value, expiry (0: never)
 * --- */

/* The purposes of values. The comment at each purpose describes the value and
 * its key, and names the code that sets the value. The numbers are part of the
 * zone's layout. */
typedef enum {
    /* Marks an ended session. The key is the session's id, and the value is
     * 1. Set by the exchange that serves DELETE, or at another node by the
     * process that receives the broadcast about it. Expires with the session's
     * token. */
    MCP_VALUE_SESSION_ENDED = 'd',

    /* The minimum log level of a session. The key is the session's id. Set by
     * the exchange that serves logging/setLevel, or at another node by the
     * process that receives the broadcast about it. */
    MCP_VALUE_LOG_LEVEL = 'l',

    /* Marks a cancelled request whose call has no stream yet. The key is the
     * digest of the request's session and id, and the value is from
     * mcp_store_count_cancel(). Set by the exchange that receives the
     * cancellation, or at another node by the process that receives the
     * broadcast about it. Read by the process that runs the call. */
    MCP_VALUE_CANCELLED = 'c',

    /* Marks a used resume token of mcp_resume_by_token_backend.c. The key is
     * the token's digest, and the value identifies the call. Set when the token
     * is used, and again when the call gets a stream. */
    MCP_VALUE_TOKEN_USED = 'n',

    /* Marks a session that has too many calls at all nodes together. The key is
     * the session's id, and the value is 1. Set by the process that receives
     * the broadcast about the session. */
    MCP_VALUE_CROWDED = 'q',

    /* The digest of a list of an endpoint's catalog in the current
     * configuration. The key is the topic from mcp_topic_list(). The first
     * process of the next configuration replaces the value. */
    MCP_VALUE_LIST = 'L',

    /* Two values with different keys, see mcp_catalog_change.c: the number of
     * the configuration of the process that has started last, and the number of
     * the last configuration that has announced all its catalog changes. */
    MCP_VALUE_CONFIGURATION = 'C',

    /* The session of a caller at an MCP server, as text. The key is the digest
     * of caller and server. Set by the first process that has opened a session.
     * Each use extends the time of expiry. */
    MCP_VALUE_UPSTREAM_SESSION = 'u',

    /* The form of an MCP server with mcp_upstream auto (mcp_upstream_e), and
     * the revision of the server. The key is the digest of the server. Set by
     * the process whose requests to the server have shown the form. */
    MCP_VALUE_UPSTREAM_FORM = 'f',

    /* Marks an MCP server that has no GET stream. The key is the digest of the
     * server, and the value is 1. Set by the process whose GET request the
     * server has rejected with HTTP 405. */
    MCP_VALUE_UPSTREAM_NO_STREAM = 'g'
} mcp_value_e;

/*
 * Sets a value. A new value counts towards the quota of tenant, unless that is
 * NULL.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_LIMIT  the tenant has reached its quota
 *   MCP_ERR_FULL   the region has no room
 */
int mcp_store_value_set(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value,
    uint64_t expires, const mcp_tenant_t *tenant);

/*
 * Sets a *pushed* value: one that may later be removed to make room for another
 * pushed value. If the tenant's quota or the maximum number of values is
 * reached, a new value replaces the oldest pushed value of the same tenant. If
 * the tenant has none, its quota does not reject the value, and at the maximum
 * number the value replaces the oldest pushed value of a tenant that has many
 * values. If the region has no room, removes pushed values of such tenants,
 * those with text first. A value without a tenant (NULL) removes no other.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_FULL  there is no room, and no value was found that may be removed
 */
int mcp_store_value_push(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value,
    uint64_t expires, const mcp_tenant_t *tenant);

/*
 * Sets a value, and sets *old to its previous value, atomically. A new value
 * is a pushed one, see mcp_store_value_push().
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there was no value; there is one now
 *   MCP_ERR_FULL       there was no value, and the region has no room
 */
int mcp_store_value_swap(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value,
    const mcp_tenant_t *tenant, uint32_t *old);

/*
 * Reads a value by its purpose and key. Takes no lock if the store has no value
 * with this purpose.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the value does not exist, or has expired
 */
int mcp_store_value_get(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t now, uint32_t *value);

/*
 * Sets a value if there is none with this purpose and key, atomically: for
 * tokens that may be used once.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED  there is a value that has not expired
 *   MCP_ERR_LIMIT   the tenant has reached its quota
 *   MCP_ERR_FULL    the region has no room
 */
int mcp_store_value_add(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint32_t value,
    uint64_t expires, uint64_t now, const mcp_tenant_t *tenant);
void mcp_store_value_delete(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN]);


/*
 * --- values with text ---
 *
 * A value of the purpose UPSTREAM_SESSION has a text in place of a number. Of
 * the functions above, only mcp_store_value_delete() accepts this purpose. All
 * values with text are pushed values, even those without a tenant. They are
 * counted separately: a tenant may have as many values with text as other
 * values. To make room for a value with text, only values with text are
 * removed.
 */

#define MCP_STORE_TEXT_MAX   480       /* maximum length of a text, bytes */

/*
 * Deletes a value if it has this text, so that a newer text of another process
 * stays.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is no value with this text
 */
int mcp_store_text_delete(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], mcp_str_t text);


/* --- subscriptions of listeners --- */

/*
 * Subscribes a listener to a topic. Does nothing if it is already subscribed.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the stream does not exist, is over, or is not a listener
 *   MCP_ERR_LIMIT      the listener has too many subscriptions, or they exceed
 *                      its tenant's quota of bytes
 *   MCP_ERR_FULL       the region has no room
 */
int mcp_store_subscribe(mcp_store_t *store, const mcp_stream_ref_t *ref,
    const unsigned char topic[MCP_DIGEST_LEN]);
int mcp_store_unsubscribe(mcp_store_t *store, const mcp_stream_ref_t *ref,
    const unsigned char topic[MCP_DIGEST_LEN]);

/* Returns the number of subscriptions to a topic. */
uint64_t mcp_store_subscribers(mcp_store_t *store,
    const unsigned char topic[MCP_DIGEST_LEN]);

/* Selects the subscribed streams that get a message: all, only those that are
 * not replicated (UNSHARED), or only those that are (SHARED). */
typedef enum {
    MCP_PUBLISH_ALL = 0,
    MCP_PUBLISH_UNSHARED,
    MCP_PUBLISH_SHARED
} mcp_publish_e;

typedef struct {
    mcp_publish_e  which;
    uint64_t       ms;         /* ms and n: position of the broadcast that
                                  contained the message, which each replicated
                                  stream stores as its last received broadcast.
                                  ms 0: the message was not in a broadcast */
    uint64_t       n;
} mcp_publish_to_t;

/*
 * Appends a message to the streams that are subscribed to a topic and that "to"
 * selects. One call visits at most "budget" streams, and adds the number of
 * streams that got the message to *n. In the first call, *position is 0 or the
 * value of mcp_store_publish_start(). If it is 0, the function begins with *n =
 * 0. Otherwise the caller has to initialize *n. A listener that has reached its
 * limits loses its oldest events. If its client has not received them and
 * resumes, mcp_store_watch() returns MCP_ERR_PURGED.
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN  there may be more streams: call again
 */
int mcp_store_publish(mcp_store_t *store,
    const unsigned char topic[MCP_DIGEST_LEN], mcp_str_t message,
    const mcp_publish_to_t *to, unsigned budget, uint64_t *position, size_t *n);

/* Returns the *position for the first call of mcp_store_publish() if a message
 * is only for the streams that are subscribed now, and not for those that are
 * subscribed later. */
uint64_t mcp_store_publish_start(mcp_store_t *store);

/* Appends a message of at most 64 KiB to one stream, if it is subscribed to
 * the topic. */
void mcp_store_publish_one(mcp_store_t *store, const mcp_stream_ref_t *ref,
    const unsigned char topic[MCP_DIGEST_LEN], mcp_str_t message);


/* --- time --- */

/*
 * Visits the next "budget" chunks in a cycle, and frees
 *
 *   - streams that are over and have had no reader for "linger" ms, if all
 *     events were sent (with MCP_PROMISE_TIME: confirmed), or for max_wait ms
 *     otherwise. If requests can join the stream, or all its events were sent,
 *     it is kept for at least "linger" ms
 *   - tasks that have expired
 *   - listeners whose session has expired, or that had no consumer for
 *     max_wait ms, with their subscriptions
 *   - mirrors without a reader, after at most 30 seconds
 *   - expired values
 *
 * "report", which may be NULL, is called without the lock for each freed stream
 * that had unsent events, except tasks and mirrors. Returns the number of freed
 * streams and values.
 */
size_t mcp_store_sweep(mcp_store_t *store, uint64_t now, unsigned budget,
    void (*report)(void *ctx, const mcp_stream_info_t *info), void *ctx);


/* --- counters --- */

/* Counters. The store itself counts STREAMS_EXPIRED, STREAMS_EVICTED, EVENTS,
 * EVENTS_DROPPED and REPAIRS. Its callers count all others. */
typedef enum {
    MCP_COUNT_REQUESTS = 0,    /* HTTP requests */
    MCP_COUNT_MESSAGES,        /* JSON-RPC messages received */
    MCP_COUNT_SESSIONS,        /* sessions created by initialize */
    MCP_COUNT_SESSIONS_DELETED,
    MCP_COUNT_CALLS,           /* backend calls begun */
    MCP_COUNT_CALLS_ACTIVE,    /* gauge */
    MCP_COUNT_CALLS_FAILED,    /* calls that ended with an error response */
    MCP_COUNT_CALLS_TOOL_ERRORS,
    MCP_COUNT_CALLS_CANCELLED,
    MCP_COUNT_CALLS_EXPIRED,   /* calls that no client resumed within
                                  max_wait */
    MCP_COUNT_CALLS_LOST,      /* calls whose owner's process died */
    MCP_COUNT_CONSUMERS_ACTIVE, /* gauge: SSE connections */
    MCP_COUNT_EVENTS,          /* events appended to streams */
    MCP_COUNT_RESUMES,
    MCP_COUNT_TAKEOVERS,
    MCP_COUNT_STREAMS_EXPIRED,
    MCP_COUNT_STREAMS_EVICTED,
    MCP_COUNT_EVENTS_DROPPED,  /* unsent events that were removed; only
                                  listeners lose events */
    MCP_COUNT_REFUSED_FULL,
    MCP_COUNT_REJECTED_LIMIT,
    MCP_COUNT_ERRORS,          /* error responses, of HTTP and of JSON-RPC */
    MCP_COUNT_PUBLISHED,       /* messages at the publish endpoint */
    MCP_COUNT_INPUTS,          /* questions sent to clients */
    MCP_COUNT_REPAIRS,
    MCP_COUNT_HEADERS,         /* requests whose headers contradict their
                                  body */
    MCP_COUNT_VERSIONS,        /* requests with revisions that the endpoint does
                                  not serve */
    MCP_COUNT_STATES,          /* rejected request states */
    MCP_COUNT_JOINED,          /* requests that joined a call */
    MCP_COUNT_REVISION,        /* first of the counters of requests by revision,
                                  see mcp_store_count_revision() */
    MCP_COUNT_MAX = MCP_COUNT_REVISION + MCP_REVISION_LIMIT
} mcp_counter_e;

/* Returns the number of the counter that counts the requests of a revision. */
static inline mcp_counter_e
mcp_store_count_revision(mcp_revision_e revision)
{
    return (mcp_counter_e) ((unsigned) MCP_COUNT_REVISION
                            + (unsigned) revision);
}

/* Adds delta to a counter or a gauge without the lock. Gauges have a part for
 * each slot, so that the part of a dead process can be removed. */
void mcp_store_count(mcp_store_t *store, mcp_counter_e counter, int64_t delta);

/* Returns the growth of the counter MCP_COUNT_REFUSED_FULL since this function
 * last returned a number other than 0, in any process. Returns 0 if that was
 * less than "interval" ms ago. */
uint64_t mcp_store_refused(mcp_store_t *store, uint64_t now, uint64_t interval);

typedef struct {
    int64_t   counter[MCP_COUNT_MAX];
    uint64_t  size;            /* bytes of all chunks */
    uint64_t  used;            /* bytes of chunks in use */
    uint64_t  streams;         /* number of streams */
    uint64_t  listeners;
    uint64_t  values;          /* number of values, with or without text, except
                                  those of the purposes LIST and
                                  CONFIGURATION */
    uint64_t  subscriptions;
} mcp_store_stats_t;

void mcp_store_stats(mcp_store_t *store, mcp_store_stats_t *stats);


#endif /* MCP_STORE_H_INCLUDED */
