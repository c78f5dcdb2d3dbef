/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Streams that are replicated to other nodes. A replicated stream has a
 * replicator, which is its owner's process. The replicator is woken for every
 * change, and reads the events as they were appended.
 *
 * With "sync", readers see only events that Redis has acknowledged, and the
 * state and the responses after the last such event. Unacknowledged events are
 * not removed, unless the stream itself is freed. The owner may append further
 * events meanwhile, within the stream's limits.
 *
 * If the replicator dies, the process that adopts the stream becomes the
 * replicator. Because finished streams and listeners have no owner, a process
 * that adopts one of them by mcp_store_adopt() becomes only its replicator.
 */


#ifndef MCP_STORE_REPLICATION_H_INCLUDED
#define MCP_STORE_REPLICATION_H_INCLUDED


#include "store/mcp_store.h"
#include "store/mcp_store_own_node.h"


/* A checkpoint: the state of a stream after event "seq". The other fields are
 * as in mcp_stream_info_t. */
typedef struct {
    uint64_t            seq;
    mcp_stream_state_e  state;
    uint64_t            answered;
    uint64_t            failed;
    uint64_t            failed_seq;
} mcp_store_checkpoint_t;


/* The state of a stream at its owner, for the requests that join the stream at
 * another node. */
typedef struct {
    unsigned           held;           /* 1: the stream cannot be joined yet */
    unsigned           attended;       /* 1: the stream has a consumer */
    uint64_t           sent;           /* last event sent to any reader */
    uint64_t           expires;        /* when the task expires; 0: the stream
                                          is not a task */
    uint64_t           kept;           /* time when the stream became a task,
                                          ms */
    uint64_t           changed;
} mcp_store_joined_t;


typedef struct {
    mcp_store_checkpoint_t  acked;          /* the state that Redis has
                                               acknowledged */
    mcp_store_checkpoint_t  own;            /* the owner's state; for a mirror:
                                               the state of the mirror */
    mcp_store_checkpoint_t  known;          /* for a mirror: the latest state of
                                               the owner's stream that this node
                                               has received. Only seq may be
                                               newer than the other fields: it
                                               is the highest event number that
                                               this node has received from the
                                               owner */
    uint64_t                first_seq;      /* oldest kept event */
    uint64_t                sent_seq;
    uint64_t                confirmed_seq;
    uint64_t                reader;         /* number of the latest consumer at
                                               any node; for a mirror: number
                                               of the mirror's reader */
    uint32_t                generation;
    uint64_t                expires;        /* when the task expires; 0: the
                                               stream is not a task */
    uint64_t                kept;           /* time when the stream became a
                                               task, ms */
    uint64_t                changed;
    uint32_t                given;          /* bit k: question k of the last
                                               event has been answered */
    uint64_t                end;            /* when the stream expires if it has
                                               no reader until then, ms; 0: the
                                               stream is not over */
    unsigned                consumer_slot;  /* slot of the consumer,
                                               MCP_STORE_REMOTE_CONSUMER, or
                                               MCP_STORE_NO_SLOT */
    unsigned                created;        /* 1: Redis has acknowledged the
                                               stream at least once */
    unsigned                mirror;
    unsigned                listener;
    unsigned                joins;          /* 1: other requests may join the
                                               stream, and "hidden", "once",
                                               "readers" and "join" are set */
    unsigned                held;           /* 1: the stream cannot be joined
                                               yet */
    unsigned                hidden;         /* 1: "join" is the stream's own id,
                                               because another stream now has
                                               its digest. New requests join the
                                               other stream. This stream is kept
                                               for its joined readers */
    unsigned                once;           /* 1: the stream is held, and was
                                               created with
                                               mcp_stream_spec_t.join_once */
    unsigned                stateless;      /* 1: the protocol revision of the
                                               stream has no sessions */
    unsigned                readers;        /* number of joined readers at this
                                               node */
    uint64_t                max_wait;
    unsigned char           join[MCP_DIGEST_LEN];
    uint64_t                taken;          /* number of the last client input
                                               from other nodes that the owner
                                               has processed */
    uint64_t                got;            /* number of the last one that has
                                               arrived at the stream */
    uint32_t                state_requests; /* number of times that the
                                               replicator still has to send the
                                               state, see
                                               mcp_store_replication_query() */
} mcp_store_replication_state_t;


/* An event in the form in which it was appended. */
typedef struct {
    uint64_t            seq;
    size_t              offset;        /* offset of the message in
                                          mcp_store_replicator_t.buf */
    size_t              len;
    unsigned            answers;       /* 1 + number of the request that the
                                          event answers or concerns, to which
                                          MCP_STORE_RESULT(), _ERROR or _ABOUT
                                          is added; 0: it concerns no single
                                          request */
    mcp_stream_state_e  state;
} mcp_store_raw_t;


typedef struct {
    mcp_store_checkpoint_t  at;        /* in: checkpoint after the last event
                                          that the caller has already copied;
                                          out: checkpoint after the last event
                                          that this call has copied */
    mcp_store_raw_t        *raw;
    size_t                  max;       /* in: number of elements of raw */
    char                   *buf;
    size_t                  cap;
    size_t                  n;         /* out: number of events in raw */
    size_t                  len;       /* out: number of bytes in buf; with
                                          MCP_ERR_LIMIT, length of the next
                                          message */
    mcp_node_position_t     received;  /* out, for a listener: position of the
                                          last broadcast that it has received */
    unsigned                complete:1;        /* out: 1 if the stream has no
                                                  event after "at" */
} mcp_store_replicator_t;


/*
 * Starts the replication of a stream, or changes "sync" (see the top of this
 * file). For a call, only the owner may do that; for a listener, only its
 * replicator, or any process if there is no replicator yet. This process then
 * gets wake-ups of the kind MCP_WAKE_REPLICATOR. No event is acknowledged at
 * first.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED     another process owns or replicates the stream; or it is
 *                      a mirror; or "sync" is set too late, after
 *                      unacknowledged events were sent
 *   MCP_ERR_NOT_FOUND  the stream does not exist or is over
 *   MCP_ERR_FULL       the region has no room
 */
int mcp_store_replication_start(mcp_store_t *store, const mcp_stream_ref_t *ref,
    unsigned sync);

/* Ends the replication of a stream: readers then see all events, even those
 * that Redis has not acknowledged. */
void mcp_store_replication_end(mcp_store_t *store, const mcp_stream_ref_t *ref);

/*
 * Reads the spec with which a replicated stream was created, except
 * session_limit, tenant, handle, left, consumer, join_once, join_known and
 * held. Appends the stored request id or ids to *request, where spec->request
 * points; spec->method and spec->name point into *info.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED     this process does not replicate the stream
 *   MCP_ERR_LIMIT      the request exceeds the limit of the buffer
 *   MCP_ERR_MEMORY
 *   MCP_ERR_NOT_FOUND  the stream does not exist
 */
int mcp_store_replication_spec(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_stream_spec_t *spec, mcp_stream_info_t *info, mcp_buf_t *request);

/* Appends to *topics the topics to which a listener is subscribed,
 * MCP_DIGEST_LEN bytes each. Topics that are added during the call may be
 * missing. Returns MCP_OK, MCP_ERR_NOT_FOUND, or the error of the buffer. */
int mcp_store_topics(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_buf_t *topics);

/*
 * Reads the state of a replicated stream or a mirror.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED     this process neither replicates the stream nor feeds the
 *                      mirror
 *   MCP_ERR_NOT_FOUND  the stream does not exist
 */
int mcp_store_replication_state(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_replication_state_t *repl_state);

/*
 * Copies the events after replicator->at, as many complete events as fit into
 * replicator->raw and replicator->buf, and advances replicator->at. If the last
 * event of the stream was copied, replicator->at becomes the present state of
 * the stream. The lock is held during the whole call, so replicator->cap limits
 * the time for which other processes wait.
 *
 * Returns MCP_OK, with replicator->n events, which may be 0, or
 *   MCP_ERR_PURGED     the next event is no longer kept: continue with the
 *                      oldest kept event
 *   MCP_ERR_LIMIT      the next message is longer than replicator->cap
 *   MCP_ERR_DENIED     this process does not replicate the stream
 *   MCP_ERR_NOT_FOUND  the stream does not exist, or event replicator->at.seq
 *                      does not exist yet
 */
int mcp_store_replicator_read(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_replicator_t *replicator);

/*
 * Records that Redis has acknowledged a state and all events up to it, and
 * wakes the readers. A state older than the acknowledged one has no effect.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED     this process does not replicate the stream
 *   MCP_ERR_NOT_FOUND  the stream does not exist, or has no such event
 */
int mcp_store_acked(mcp_store_t *store, const mcp_stream_ref_t *ref,
    const mcp_store_checkpoint_t *checkpoint);


/* For a stream that this process replicates, sets *events to the number of
 * events that Redis has not acknowledged, and *bytes to their size. Sets both
 * to 0 for any other stream. */
void mcp_store_replication_lag(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t *events, uint64_t *bytes);


/*
 * --- client input from other nodes ---
 *
 * Client input for a stream, from any node, is numbered from 1 on, and arrives
 * at the stream with its number. The functions below have no effect on a stream
 * that is neither replicated nor a mirror.
 */

/* Announces that client input with this number will arrive. Until it has
 * arrived, mcp_stream_info_t.posted is 1 for the stream. */
void mcp_store_remote_inputs(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t number);

/* Records that client input with this number has arrived at the stream,
 * even if there was no room for it; for a mirror: that the owner has
 * processed it. */
void mcp_store_replication_got(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t number);

/*
 * mcp_store_replication_query() makes the replicator of a stream send the
 * stream's state, because another node has queried it: the replicator is
 * woken, and state_requests in mcp_store_replication_state_t is 2. The
 * replicator calls mcp_store_replication_sent() each time it has sent the
 * state, which subtracts 1.
 */
void mcp_store_replication_query(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN]);
void mcp_store_replication_sent(mcp_store_t *store,
    const mcp_stream_ref_t *ref);


/*
 * --- a consumer at another node ---
 *
 * All readers of a stream, at any node, are numbered in the order in which
 * they began to read. The latest one is the consumer.
 */

/* The consumer_slot of a stream whose consumer is at another node.
 * consumer_handle is then the number of this consumer. */
#define MCP_STORE_REMOTE_CONSUMER  0xfffffffdu

/*
 * Makes the reader with this number, which is at another node, the consumer of
 * a replicated stream. It reads the events after event "after". A local
 * consumer is woken and gets MCP_ERR_DENIED. A later call with the same number
 * has no effect, except with "again", which means that the other node has
 * reported that this reader still reads. If the reader was recorded as
 * detached, it then becomes the consumer again.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED     the stream is not replicated, or is a mirror; or there
 *                      was a later reader
 *   MCP_ERR_NOT_FOUND  the stream does not exist
 */
int mcp_store_remote_consumer(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t after, int again);

/*
 * Records that a reader with this number is about to read a replicated stream
 * at this node, so that later messages about earlier readers are ignored. A
 * consumer at another node with a lower number is detached. Also records that
 * Redis has acknowledged the state "checkpoint", because the replicator may not
 * have received Redis's reply yet. Returns the values of
 * mcp_store_remote_consumer().
 */
int mcp_store_remote_consumer_over(mcp_store_t *store,
    const mcp_stream_ref_t *ref, uint64_t number,
    const mcp_store_checkpoint_t *checkpoint);

/*
 * mcp_store_remote_consumer_sent() records up to which event the consumer at
 * another node has sent the stream to its client;
 * mcp_store_remote_consumer_left() also records that this consumer has
 * detached. Both have no effect unless the reader with this number is the
 * consumer.
 */
void mcp_store_remote_consumer_sent(mcp_store_t *store,
    const mcp_stream_ref_t *ref, uint64_t number, uint64_t sent);
void mcp_store_remote_consumer_left(mcp_store_t *store,
    const mcp_stream_ref_t *ref, uint64_t number, uint64_t sent, uint64_t now);


/*
 * Records up to which event a joined reader at another node has sent the
 * stream to its client. Has an effect only while the stream has no consumer:
 * these events then count as sent, and the time without a reader starts anew.
 */
void mcp_store_remote_consumer_joined(mcp_store_t *store,
    const mcp_stream_ref_t *ref, uint64_t sent, uint64_t now);


/*
 * --- mirrors: the copies of streams of other nodes ---
 *
 * A mirror is a stream without an owner. Its events arrive from other nodes,
 * with their numbers, and no local process publishes to it. The process that
 * passed the number of the latest reader to mcp_store_mirror() feeds the
 * mirror, in the role of the replicator. The feeding process is woken if more
 * events are known than the mirror has, if there is room again, if an event was
 * sent or confirmed, if the consumer attached or left, and if the mirror was
 * freed. It reads these conditions from mcp_store_replication_state(). If the
 * feeding process dies, another process that has the consumer or a joined
 * reader replaces it. If there is no such process, no process feeds the mirror.
 *
 * A reader gets the events that the mirror has. A state of the owner's stream
 * takes effect when all events before that state have arrived. A mirror accepts
 * neither posts nor cancellations. A mirror without a reader may be evicted,
 * and is freed after half a minute.
 */

/*
 * Creates a mirror for the events after "after", or finds the existing mirror
 * if it has these events; otherwise the existing mirror is freed, and its
 * consumer gets MCP_ERR_NOT_FOUND. Events before "first" do not exist any more.
 * This process feeds the mirror from now on; the process that fed it before
 * gets MCP_ERR_DENIED. "number" is the number of the local reader that is about
 * to attach to the mirror. All values of the spec are used except
 * session_limit, handle, consumer and held.
 *
 * With "number" 0 the mirror is for requests that join the stream, not for a
 * consumer: an existing mirror with a reader is not freed, and keeps its
 * feeding process. The caller then has to call mcp_store_mirror_joined().
 *
 * Returns MCP_OK, or
 *   MCP_ERR_EXISTS  the stream itself is at this node
 *   MCP_ERR_DENIED  there was a later reader; or the existing mirror lacks the
 *                   events, and joined requests read it
 *   MCP_ERR_LIMIT   the tenant has reached its quota
 *   MCP_ERR_FULL    the region has no room, even after eviction
 */
int mcp_store_mirror(mcp_store_t *store, const mcp_stream_spec_t *spec,
    uint64_t first, uint64_t after, uint64_t number, uint64_t now,
    mcp_stream_ref_t *ref);

/* Stores this state of the owner's stream in a mirror, and wakes the requests
 * that have joined the mirror, because they read the state. Any process may
 * call this. */
void mcp_store_mirror_joined(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN],
    const mcp_store_joined_t *joined);

/*
 * Appends the event raw->seq of the owner's stream, with its answers and state,
 * to a mirror. Any process may call this. The event counts as known from then
 * on, so that the feeding process fetches it if it could not be appended.
 *
 * Returns MCP_OK, or
 *   MCP_DONE           the mirror has the event already
 *   MCP_AGAIN          the mirror lacks an earlier event
 *   MCP_ERR_LIMIT      the mirror has too many unsent events
 *   MCP_ERR_FULL       there is no room; the feeding process is woken when
 *                      there is room
 *   MCP_ERR_LARGE      there will never be room
 *   MCP_ERR_NOT_FOUND  there is no mirror, or its stream is over
 */
int mcp_store_mirror_append(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], const mcp_store_raw_t *raw,
    mcp_str_t message, uint64_t now);

/*
 * Stores in a mirror the state of the owner's stream, and the number of the
 * last event that a client has confirmed. Any process may call this, in any
 * order: a state older than the known one has no effect. Of two states after
 * the same event, the one received later counts, unless the other one is final.
 *
 * A final state counts even if it is older than a known state that is not
 * final: another node has then ended the stream, and later events are lost. A
 * mirror that has one of the lost events is freed.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is no mirror, or it was freed
 */
int mcp_store_mirror_known(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN],
    const mcp_store_checkpoint_t *checkpoint, uint64_t confirmed, uint64_t now);

/* Records that a reader at another node has the reader number "number". A local
 * consumer with a lower number is woken and gets MCP_ERR_DENIED, as does a
 * local reader with a lower number that is about to attach to the mirror. */
void mcp_store_mirror_displaced(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t number);

/*
 * Makes a complete mirror the stream itself, because the node that had the
 * stream is dead. The mirror's events count as acknowledged. mcp_store_adopt()
 * then gives a call an owner. A listener is replicated by this process, and
 * gets messages to its topics from now on.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is no mirror, or its stream is over
 */
int mcp_store_promote(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], unsigned sync);

/* Frees a mirror, because its stream was freed at its owner. */
void mcp_store_mirror_forget(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN]);


#endif /* MCP_STORE_REPLICATION_H_INCLUDED */
