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
 * for a stream that is over mcp_store_adopt() gives away this role alone.
 */


#ifndef MCP_STORE_SHARE_H_INCLUDED
#define MCP_STORE_SHARE_H_INCLUDED


#include "store/mcp_store.h"


/* What stands after an event, with everything before it. */
typedef struct {
    uint64_t            seq;
    mcp_stream_state_e  state;
    uint64_t            answered;
    uint64_t            failed;
    uint64_t            failed_seq;
} mcp_store_stand_t;


typedef struct {
    mcp_store_stand_t  acked;          /* what is safe */
    mcp_store_stand_t  own;            /* what the owner has got to */
    uint64_t           first_seq;      /* oldest event kept */
    uint64_t           sent_seq;
    uint64_t           confirmed_seq;
    uint32_t           alias;
    uint32_t           turn;
    unsigned           sync;
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
} mcp_store_copy_t;


/*
 * Shares a call's stream, or sets "sync" anew.  Only its owner's process may,
 * and gets mcp_store_drain()'s wakes with this handle.  Nothing is safe yet.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED     another process is the owner; or "sync" comes too late,
 *                      after more was sent than is safe
 *   MCP_ERR_NOT_FOUND  the stream is gone or over, or a listener
 *   MCP_ERR_FULL       the region has no room
 */
int mcp_store_share_start(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t handle, unsigned sync);

/* Makes it a stream as any other: readers see all there is. */
void mcp_store_share_end(mcp_store_t *store, const mcp_stream_ref_t *ref);

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

/* Says which number the consumer of here has, so that news of an earlier one
 * come too late.  Returns what mcp_store_remote() does. */
int mcp_store_remote_over(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number);

/* What it was sent counts as with a consumer of here; it has left.  Both do
 * nothing unless that one is the consumer. */
void mcp_store_remote_sent(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t sent);
void mcp_store_remote_left(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t sent, uint64_t now);


#endif /* MCP_STORE_SHARE_H_INCLUDED */
