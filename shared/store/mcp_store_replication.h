/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Streams that are replicated to other nodes. A replicated stream has a
 * replicator, which is its owner's process: it is woken for every change, and
 * reads the events as they were appended.
 *
 * With "sync", readers see only acknowledged events, and the state and
 * responses as of those. Unacknowledged events are not removed, unless the
 * stream itself is freed. The owner continues independently, within the
 * stream's limits.
 *
 * When the replicator's process dies, the process that adopts the stream
 * replaces it. For a finished stream, or a listener, which have no owner,
 * mcp_store_adopt() hands over this role alone.
 */


#ifndef MCP_STORE_REPLICATION_H_INCLUDED
#define MCP_STORE_REPLICATION_H_INCLUDED


#include "store/mcp_store.h"
#include "store/mcp_store_node.h"


/* The state after an event. */
typedef struct {
    uint64_t            seq;
    mcp_stream_state_e  state;
    uint64_t            answered;
    uint64_t            failed;
    uint64_t            failed_seq;
} mcp_store_checkpoint_t;


/* The data for requests that join the stream at another node. */
typedef struct {
    unsigned           held;           /* 1: it cannot be joined yet */
    unsigned           attended;       /* 1: it has a consumer */
    uint64_t           sent;           /* last event sent to any reader */
    uint64_t           expires;        /* when the task expires; 0: not a
                                          task */
    uint64_t           kept;           /* as in mcp_stream_info_t */
    uint64_t           changed;
} mcp_store_joined_t;


typedef struct {
    mcp_store_checkpoint_t  acked;          /* the acknowledged state */
    mcp_store_checkpoint_t  own;            /* the owner's state; of a mirror:
                                               the local state */
    mcp_store_checkpoint_t  known;          /* of a mirror: the owner's state as
                                               far as known; all but seq may be
                                               older */
    uint64_t                first_seq;      /* oldest kept event */
    uint64_t                sent_seq;
    uint64_t                confirmed_seq;
    uint64_t                reader;         /* number of the latest consumer, or
                                               of the mirror's reader */
    uint32_t                alias;
    uint32_t                generation;
    uint64_t                expires;        /* when the task expires; 0: not a
                                               task */
    uint64_t                kept;           /* as in mcp_stream_info_t */
    uint64_t                changed;
    uint32_t                given;          /* as in mcp_store_lookup_t */
    uint64_t                end;            /* time of expiry if no consumer
                                               returns, ms; 0 while the call
                                               runs */
    unsigned                consumer_slot;  /* or MCP_STORE_REMOTE_CONSUMER, or
                                               MCP_STORE_NO_SLOT */
    unsigned                sync;
    unsigned                created;        /* 1: mcp_store_acked() was called
                                               at least once */
    unsigned                mirror;
    unsigned                listener;
    unsigned                joins;          /* 1: others may join it, and the
                                               following fields are set */
    unsigned                held;           /* 1: not yet */
    unsigned                hidden;         /* 1: another stream is found in its
                                               place, and join is its own id */
    unsigned                once;           /* while it is held: as in the
                                               spec */
    unsigned                readers;        /* number of local joined readers */
    uint64_t                max_wait;
    unsigned char           join[MCP_DIGEST_LEN];
    uint64_t                taken;          /* number of the last client input
                                               from other nodes that the owner
                                               has processed */
    uint32_t                state_requests; /* see
                                               mcp_store_replication_query() */
} mcp_store_replication_state_t;


/* An event in the form in which it was appended. */
typedef struct {
    uint64_t            seq;
    size_t              offset;        /* offset of the message in the buffer */
    size_t              len;
    unsigned            answers;       /* number of the request + 1, with
                                          MCP_STORE_RESULT(), _ERROR, _ABOUT */
    mcp_stream_state_e  state;
} mcp_store_raw_t;


typedef struct {
    mcp_store_checkpoint_t  at;        /* in: state up to which was copied; out:
                                          new state */
    mcp_store_raw_t        *raw;
    size_t                  max;       /* number of events for which raw has
                                          room */
    char                   *buf;
    size_t                  cap;
    size_t                  n;         /* out: number of events */
    size_t                  len;       /* out: bytes; with MCP_ERR_LIMIT, length
                                          of the next message */
    mcp_node_position_t     received;  /* out, for a listener: position of the
                                          last broadcast that it has received */
} mcp_store_replicator_t;


/*
 * Starts the replication of a stream, or changes "sync". Only a call's owner
 * may do that; for a listener, the first process that does. It then gets
 * wake-ups of the kind MCP_WAKE_REPLICATOR, which have no handle. No event is
 * acknowledged yet.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED     it is another process's stream, or a mirror; or "sync"
 *                      comes too late, after unacknowledged events were sent
 *   MCP_ERR_NOT_FOUND  the stream does not exist or is over
 *   MCP_ERR_FULL       the region has no room
 */
int mcp_store_replication_start(mcp_store_t *store, const mcp_stream_ref_t *ref,
    unsigned sync);

/* Ends the replication of a stream: readers see all events. */
void mcp_store_replication_end(mcp_store_t *store, const mcp_stream_ref_t *ref);

/*
 * Reads the spec with which the stream was created, except session_limit,
 * tenant, handle, consumer, join_once and held. spec->request, method and name
 * point into *request, to which the first is appended, and into *info.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED     it is not replicated, or another process replicates it
 *   MCP_ERR_LIMIT      the request exceeds the limit of the buffer
 *   MCP_ERR_MEMORY
 *   MCP_ERR_NOT_FOUND  the stream does not exist
 */
int mcp_store_replication_spec(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_stream_spec_t *spec, mcp_stream_info_t *info, mcp_buf_t *request);

/* Appends the topics of a listener to a buffer, one after the other; topics
 * that are added in the meantime may be missing. Returns MCP_OK,
 * MCP_ERR_NOT_FOUND, or the error of the buffer. */
int mcp_store_topics(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_buf_t *topics);

/*
 * Reads the state of a stream's replication.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED     it is not replicated, or another process replicates it
 *   MCP_ERR_NOT_FOUND  the stream does not exist
 */
int mcp_store_replication_state(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_replication_state_t *repl_state);

/*
 * Copies the complete events after replicator->at and advances that position.
 * At the last event it has the present state of the stream. A message is copied
 * while the lock is held once, so cap bounds the waiting time of other
 * processes.
 *
 * Returns MCP_OK, with n events or none, or
 *   MCP_ERR_PURGED     the next event is no longer kept: continue with the
 *                      first one that is
 *   MCP_ERR_LIMIT      the next message is longer than cap
 *   MCP_ERR_DENIED     see mcp_store_replication_state()
 *   MCP_ERR_NOT_FOUND
 */
int mcp_store_replicator_read(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_replicator_t *replicator);

/*
 * Acknowledges the events up to a state, and wakes the readers. A state older
 * than the acknowledged one has no effect.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED     see mcp_store_replication_state()
 *   MCP_ERR_NOT_FOUND
 */
int mcp_store_acked(mcp_store_t *store, const mcp_stream_ref_t *ref,
    const mcp_store_checkpoint_t *checkpoint);


/* Returns the unacknowledged events and bytes of a stream that this process
 * replicates; 0 for any other stream. */
void mcp_store_behind(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t *events, uint64_t *bytes);


/*
 * --- client input from other nodes ---
 *
 * Posts of clients at any node are numbered from 1 on, and arrive at the
 * stream with their numbers. The functions have no effect on a stream that is
 * neither replicated nor a mirror.
 */

/* Announces client input with that number: until it has arrived, the stream
 * counts as having a post. */
void mcp_store_remote_inputs(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t number);

/* Records that client input with that number has arrived, whether or not there
 * was room for it; for a mirror: that its owner has processed it. */
void mcp_store_replication_got(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t number);

/* Handles a query of another node for the stream's state: the replicator is
 * woken, and copying->asked is 2 until it has called
 * mcp_store_replication_sent() twice. */
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

/* The consumer_slot of a stream whose consumer is at another node; its handle
 * is the number of the consumer. */
#define MCP_STORE_REMOTE_CONSUMER  0xfffffffdu

/*
 * Makes a reader at another node the consumer of the events after "after". A
 * local consumer is woken and gets MCP_ERR_DENIED. Calls with the same number
 * have no further effect.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED     it is not replicated, or there was a later reader
 *   MCP_ERR_NOT_FOUND  the stream does not exist
 */
int mcp_store_remote_consumer(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t after);

/* Does the same as mcp_store_remote_consumer(), for a reader that still reads
 * although it may have counted as gone. */
int mcp_store_remote_consumer_unchanged(mcp_store_t *store,
    const mcp_stream_ref_t *ref, uint64_t number, uint64_t after);

/* Sets the number of the local consumer, so that later messages about an
 * earlier reader are ignored, and acknowledges a state that the replicator may
 * not have yet. Returns the values of mcp_store_remote_consumer(). */
int mcp_store_remote_consumer_over(mcp_store_t *store,
    const mcp_stream_ref_t *ref, uint64_t number,
    const mcp_store_checkpoint_t *checkpoint);

/* Record the events that the remote consumer was sent, and that it has left.
 * Have no effect unless it is the consumer. */
void mcp_store_remote_consumer_sent(mcp_store_t *store,
    const mcp_stream_ref_t *ref, uint64_t number, uint64_t sent);
void mcp_store_remote_consumer_left(mcp_store_t *store,
    const mcp_stream_ref_t *ref, uint64_t number, uint64_t sent, uint64_t now);


/* Records a joined reader at another node and the events that it was sent: they
 * count while the stream has no consumer, and its time without a consumer
 * starts anew. */
void mcp_store_remote_consumer_joined(mcp_store_t *store,
    const mcp_stream_ref_t *ref, uint64_t sent, uint64_t now);


/*
 * --- mirrors: the copies of streams of other nodes ---
 *
 * A mirror is a stream without an owner. Its events arrive from other nodes,
 * with their numbers, and no local process publishes to it. The process that
 * passed the number of the latest reader feeds the mirror, in the role of the
 * replicator. It is woken if more events are known than the mirror has, if
 * there is room again, if an event was sent or confirmed, if the consumer
 * attached or left, and if the mirror was freed; it reads these conditions
 * from mcp_store_replication_state(). If the feeding process dies, the
 * consumer's process replaces it, unless both are the same process: then no
 * process feeds the mirror.
 *
 * A reader gets the events that the mirror has; a state counts when all events
 * before it have arrived. A mirror accepts neither posts nor cancellations.
 * Without a consumer it may be evicted, and is freed after half a minute.
 */

/*
 * Creates a mirror for the events after "after", or finds the existing one if
 * it has them; otherwise the existing one is freed, and its consumer gets
 * MCP_ERR_NOT_FOUND. Events before "first" do not exist any more. This process
 * feeds the mirror from now on; the previous one gets MCP_ERR_DENIED. "number"
 * is that of the reader that is about to watch it. A mirror uses all values of
 * the spec except session_limit, expires, handle, consumer and held.
 *
 * With "number" 0 it is for requests that join the stream, and gets no other
 * reader: an existing mirror with a reader remains unchanged.
 * mcp_store_mirror_joined() has to follow.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_EXISTS  the stream itself is here
 *   MCP_ERR_DENIED  there was a later reader; or the existing mirror lacks the
 *                   events, and joined requests read it
 *   MCP_ERR_LIMIT   the tenant has reached its quota of streams
 *   MCP_ERR_FULL    the region has no room, even after eviction
 */
int mcp_store_mirror(mcp_store_t *store, const mcp_stream_spec_t *spec,
    uint64_t first, uint64_t after, uint64_t number, uint64_t now,
    mcp_stream_ref_t *ref);

/* Updates the state that joined requests read, and wakes them. Any process may
 * call this. */
void mcp_store_mirror_joined(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN],
    const mcp_store_joined_t *joined);

/*
 * Appends the event raw->seq with its answers and state. Any process may call
 * this.
 *
 * Returns MCP_OK, or
 *   MCP_DONE           it is here already
 *   MCP_AGAIN          an earlier one is missing; the event counts as known
 *   MCP_ERR_LIMIT      too many unsent events; the event counts as known
 *   MCP_ERR_FULL       there is no room; the event counts as known
 *   MCP_ERR_LARGE      there will never be room
 *   MCP_ERR_NOT_FOUND  there is no mirror, or its stream is over
 */
int mcp_store_mirror_append(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], const mcp_store_raw_t *raw,
    mcp_str_t message, uint64_t now);

/*
 * Passes the owner's state, and the event that a client has confirmed, to a
 * mirror. Any process may call this, in any order: a state older than the known
 * one has no effect. Of two states with the same number, the later one counts,
 * unless the earlier one is over.
 *
 * The end of the stream also counts with a lower number: another node has then
 * ended the stream, and later events are lost. A mirror that has such an event
 * is freed.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is no mirror, or it was freed
 */
int mcp_store_mirror_known(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN],
    const mcp_store_checkpoint_t *checkpoint, uint64_t confirmed, uint64_t now);

/* Another reader at another node has that number: a local consumer with a lower
 * one is woken and gets MCP_ERR_DENIED, as does a reader that is about to
 * watch. */
void mcp_store_mirror_displaced(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t number);

/*
 * Promotes a complete mirror to the stream itself, because its own node is
 * dead. Its events count as acknowledged. mcp_store_adopt() gives a call an
 * owner; a listener is replicated by this process, and gets messages to its
 * topics from now on.
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
