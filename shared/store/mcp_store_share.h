/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Streams that are copied to other machines as well.
 *
 * A shared stream has a copier, which is its owner's process: it is woken for
 * everything that changes, and reads the events as they were appended.  With
 * "sync" readers see no more than what the copier says is safe, state and
 * answers included: that is the gate.  Until then nothing of the stream is
 * dropped, unless the stream itself goes.  The owner goes on regardless, within
 * the stream's limits.
 *
 * When the copier's process dies, whoever adopts the stream is the next one;
 * for a stream that is over, or a listener, which has no owner,
 * mcp_store_adopt() gives away this role alone.
 */


#ifndef MCP_STORE_SHARE_H_INCLUDED
#define MCP_STORE_SHARE_H_INCLUDED


#include "store/mcp_store.h"
#include "store/mcp_store_node.h"


/* What stands after an event, with everything before it. */
typedef struct {
    uint64_t            seq;
    mcp_stream_state_e  state;
    uint64_t            answered;
    uint64_t            failed;
    uint64_t            failed_seq;
} mcp_store_stand_t;


/* What who joins a stream elsewhere wants to know of it. */
typedef struct {
    unsigned           held;           /* nobody may join it yet */
    unsigned           attended;       /* it has a consumer */
    uint64_t           sent;           /* last event sent to anybody */
    uint64_t           expires;        /* of a task; 0: it is none */
    uint64_t           kept;           /* as in mcp_stream_info_t */
    uint64_t           changed;
} mcp_store_joined_t;


typedef struct {
    mcp_store_stand_t  acked;          /* what is safe */
    mcp_store_stand_t  own;            /* what the owner has got to; of a
                                          mirror: what is here */
    mcp_store_stand_t  known;          /* of a mirror: what there is elsewhere;
                                          all but seq may be of before */
    uint64_t           first_seq;      /* oldest event kept */
    uint64_t           sent_seq;
    uint64_t           confirmed_seq;
    uint64_t           reader;         /* number of the latest consumer, or of
                                          the mirror's */
    uint32_t           alias;
    uint32_t           turn;
    uint64_t           expires;        /* of a task; 0: it is none */
    uint64_t           kept;           /* as in mcp_stream_info_t */
    uint64_t           changed;
    uint32_t           given;          /* as in mcp_store_look_t */
    uint64_t           end;            /* when it goes if nobody comes; 0: it is
                                          not over */
    unsigned           consumer_slot;  /* or MCP_STORE_REMOTE, or _NO_SLOT */
    unsigned           sync;
    unsigned           created;        /* mcp_store_acked() has been called */
    unsigned           mirror;
    unsigned           listener;
    unsigned           joins;          /* others may join it: what follows
                                          counts */
    unsigned           held;           /* not yet */
    unsigned           hidden;         /* another one is found in its place,
                                          and join is its own id */
    unsigned           once;           /* while it is held: as in the spec */
    unsigned           readers;        /* who have joined it here */
    uint64_t           max_wait;
    unsigned char      join[MCP_DIGEST_LEN];
    uint64_t           taken;          /* number of the last post that came from
                                          outside and that the owner is through
                                          with */
    uint32_t           asked;          /* see mcp_store_share_ask() */
} mcp_store_copying_t;


/* An event as it was appended. */
typedef struct {
    uint64_t            seq;
    size_t              offset;        /* of the message in the buffer */
    size_t              len;
    unsigned            answers;       /* number of the request + 1, with
                                          MCP_STORE_RESULT(), _ERROR, _ABOUT */
    mcp_stream_state_e  state;
} mcp_store_raw_t;


typedef struct {
    mcp_store_stand_t   at;            /* in: copied so far; out: now */
    mcp_store_raw_t    *raw;
    size_t              max;           /* events that raw has room for */
    char               *buf;
    size_t              cap;
    size_t              n;             /* out: events */
    size_t              len;           /* out: bytes; of the next message, with
                                          MCP_ERR_LIMIT */
    mcp_node_place_t    heard;         /* out: of a listener: the last of what
                                          nodes are told that it has by now */
} mcp_store_copy_t;


/*
 * Shares a stream, or sets "sync" anew.  Only a call's owner may; of a listener
 * the process that does so first.  It gets wakes of the kind MCP_WAKE_COPY,
 * which have no handle.  Nothing is safe yet.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED     it is another process's, or a mirror; or "sync" comes
 *                      too late, after more was sent than is safe
 *   MCP_ERR_NOT_FOUND  the stream is gone or over
 *   MCP_ERR_FULL       the region has no room
 */
int mcp_store_share_start(mcp_store_t *store, const mcp_stream_ref_t *ref,
    unsigned sync);

/* Makes it a stream as any other: readers see all there is. */
void mcp_store_share_end(mcp_store_t *store, const mcp_stream_ref_t *ref);

/*
 * Reads back what the stream was created from: all but session_limit, party,
 * handle, consumer, join_once and held.  spec->request, method and name point
 * into *request, to which the first is appended, and into *info.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED     it is not shared, or another process copies it
 *   MCP_ERR_LIMIT      the buffer does not take so much
 *   MCP_ERR_MEMORY
 *   MCP_ERR_NOT_FOUND  the stream is gone
 */
int mcp_store_share_spec(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_stream_spec_t *spec, mcp_stream_info_t *info, mcp_buf_t *request);

/* Appends the topics of a listener to a buffer, one after the other; those that
 * are added meanwhile may be missing.  Returns MCP_OK, MCP_ERR_NOT_FOUND, or
 * what has failed of the buffer. */
int mcp_store_topics(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_buf_t *topics);

/*
 * Says how far the stream is copied, and how it stands.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED     it is not shared, or another process copies it
 *   MCP_ERR_NOT_FOUND  the stream is gone
 */
int mcp_store_copying(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_copying_t *copying);

/*
 * Copies out the events that follow copy->at, whole ones, and advances it.  At
 * the last event it has the state of now, whoever set it.  A message is copied
 * in one hold of the lock, so cap bounds what others wait.
 *
 * Returns MCP_OK, with n events or none, or
 *   MCP_ERR_PURGED     the next event is not kept any more: begin at what is
 *   MCP_ERR_LIMIT      the next message is longer than cap
 *   MCP_ERR_DENIED     as above
 *   MCP_ERR_NOT_FOUND
 */
int mcp_store_copy(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_copy_t *copy);

/*
 * Opens the gate up to where copying stood, and wakes those who read.  What is
 * older than what is known does nothing.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED     as above
 *   MCP_ERR_NOT_FOUND
 */
int mcp_store_acked(mcp_store_t *store, const mcp_stream_ref_t *ref,
    const mcp_store_stand_t *stand);


/* Says how much of a stream that this process copies is not known to be safe:
 * nothing of one that it does not copy. */
void mcp_store_behind(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t *events, uint64_t *bytes);


/*
 * --- what comes to it from outside ---
 *
 * Posts that clients bring to whatever machine are numbered, from 1 on, and
 * arrive at the stream itself with their numbers.  Of a stream that is neither
 * shared nor a mirror nothing of this is noted.
 */

/* A post with that number is known to be on its way: until it has arrived the
 * stream counts as posted to. */
void mcp_store_share_posts(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t number);

/* The post with that number has arrived, whether there was room for it or not;
 * of a mirror: and its owner is through with it. */
void mcp_store_share_got(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t number);

/* Somebody elsewhere wants to know how the stream stands: its copier is woken,
 * and copying->asked is 2, until mcp_store_share_said() has been called twice,
 * by the copier. */
void mcp_store_share_ask(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN]);
void mcp_store_share_said(mcp_store_t *store, const mcp_stream_ref_t *ref);


/*
 * --- its consumer, when that is on another machine ---
 *
 * All who have ever begun to read a stream, anywhere, are numbered, and the
 * latest one is the consumer.
 */

/* The consumer_slot of a stream whose consumer is elsewhere; its handle is that
 * number. */
#define MCP_STORE_REMOTE  0xfffffffdu

/*
 * Makes that one the consumer, of the events after "after".  A consumer that is
 * here is woken and finds MCP_ERR_DENIED.  Again with the same number it does
 * nothing.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED     it is not shared, or there was a later one
 *   MCP_ERR_NOT_FOUND  the stream is gone
 */
int mcp_store_remote(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t after);

/* The same of one that reads still, though it may have counted as gone. */
int mcp_store_remote_still(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t after);

/* Says which number the consumer of here has, so that news of an earlier one
 * come too late, and what is safe, which the copier may not know yet.  Returns
 * what mcp_store_remote() does. */
int mcp_store_remote_over(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, const mcp_store_stand_t *stand);

/* What it was sent counts as with a consumer of here; it has left.  Both do
 * nothing unless that one is the consumer. */
void mcp_store_remote_sent(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t sent);
void mcp_store_remote_left(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t sent, uint64_t now);


/* Somebody has joined the stream on another machine, and was sent so much: that
 * counts while it has no consumer, and its time starts anew. */
void mcp_store_remote_joined(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t sent, uint64_t now);


/*
 * --- mirrors: where a stream of another machine is read ---
 *
 * A mirror is a stream without an owner.  Its events come from outside, with
 * their numbers, and nothing is published to it.  The process that named its
 * reader last is its feeder, and takes the place of the copier: it is woken
 * when more is known than is here, when there is room again, when something was
 * sent or confirmed, when the consumer came or left, and when the mirror is
 * gone.  It reads all of that from mcp_store_copying().  When it dies the
 * consumer's process takes its place, if that is another one; or the mirror
 * stays without a feeder.
 *
 * Who reads the mirror finds what is here; a state counts when all events
 * before it are here.  Nobody can post to it, or cancel.  Without a consumer it
 * may be evicted, and is freed after half a minute.
 */

/*
 * Makes a mirror for the events after "after", or finds the one that is here,
 * if it goes on from there; one that does not is freed, and its consumer finds
 * MCP_ERR_NOT_FOUND.  Events before "first" are kept nowhere.  This process is
 * its feeder from now on; the one before is not told, and finds MCP_ERR_DENIED.
 * "number" is that of the reader who is about to watch it.  Of the spec, a
 * mirror uses all but session_limit, expires, handle, consumer and held.
 *
 * With "number" 0 it is for those who join the stream, and gets no other
 * reader: one that is here and is read stays as it is, with its feeder.
 * mcp_store_mirror_joined() is to follow.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_EXISTS  the stream itself is here
 *   MCP_ERR_DENIED  there was a later reader; or the mirror does not go on from
 *                   there, and requests that have joined the call read it
 *   MCP_ERR_LIMIT   the party has as many streams as it may
 *   MCP_ERR_FULL    the region has no room, even after eviction
 */
int mcp_store_mirror(mcp_store_t *store, const mcp_stream_spec_t *spec,
    uint64_t first, uint64_t after, uint64_t number, uint64_t now,
    mcp_stream_ref_t *ref);

/* Says what who joins wants to know; wakes who waits.  Any process may. */
void mcp_store_mirror_joined(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN],
    const mcp_store_joined_t *joined);

/*
 * Appends the event raw->seq, with what it answers and its state.  Any process
 * may.
 *
 * Returns MCP_OK, or
 *   MCP_DONE           it is here already
 *   MCP_AGAIN          one before it is missing; it counts as known
 *   MCP_ERR_LIMIT      too many events were not sent yet; it counts as known
 *   MCP_ERR_FULL       there is no room; it counts as known
 *   MCP_ERR_LARGE      there never will be
 *   MCP_ERR_NOT_FOUND  there is no mirror, or its stream is over
 */
int mcp_store_mirror_append(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], const mcp_store_raw_t *raw,
    mcp_str_t message, uint64_t now);

/*
 * Says how the stream stands elsewhere, and what a client has confirmed.  Any
 * process may, in any order: what is older than what is known does nothing.  Of
 * what has the same number, the latter counts, but for one that is over.
 *
 * The end of the stream counts also if it has a lower number: then the events
 * that followed are lost, and another machine has ended the stream.  A mirror
 * that has one of these events is freed.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is no mirror, or none any more
 */
int mcp_store_mirror_known(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], const mcp_store_stand_t *stand,
    uint64_t confirmed, uint64_t now);

/* Another reader, elsewhere, has that number: a consumer here with a lower one
 * is woken and finds MCP_ERR_DENIED, and so does one that is about to watch. */
void mcp_store_mirror_displaced(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t number);

/*
 * Makes a mirror that has all there is the stream itself: its own machine is
 * lost.  What is here counts as safe.  mcp_store_adopt() gives a call an owner;
 * a listener is this process's to copy, and what is published to its topics
 * reaches it from now on.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is no mirror, or its stream is over
 */
int mcp_store_inherit(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN], unsigned sync);

/* Frees a mirror: the stream is gone elsewhere. */
void mcp_store_mirror_forget(mcp_store_t *store,
    const unsigned char id[MCP_STREAM_ID_LEN]);


#endif /* MCP_STORE_SHARE_H_INCLUDED */
