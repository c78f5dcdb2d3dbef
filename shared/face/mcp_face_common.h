/* SPDX-License-Identifier: Apache-2.0 */

/* What faces have in common (docs/internals/faces.md). */


#ifndef MCP_FACE_COMMON_H_INCLUDED
#define MCP_FACE_COMMON_H_INCLUDED


#include "call/mcp_call.h"
#include "call/mcp_cancel.h"
#include "call/mcp_input.h"
#include "exchange/mcp_exchange_session.h"
#include "face/mcp_faces.h"
#include "worker/mcp_answer.h"
#include "worker/mcp_ask.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_exchange_state.h"


/* --- parameters and answers --- */

/*
 * Reads a string parameter, unescaped.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  there is no such string
 *   MCP_ERR_MEMORY
 */
int mcp_face_param(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_str_t key,
    mcp_str_t *out);

/* Answers a token that opens nothing, whatever the reason. */
int mcp_face_refuse(mcp_exchange_t *x);

/* Answers an error of mcp_face_fetch(), or returns MCP_AGAIN or
 * MCP_ERR_MEMORY. */
int mcp_face_refuse_for(mcp_exchange_t *x, int rc);

/* Appends seconds, with decimals if needed. */
void mcp_face_seconds(mcp_buf_t *buf, uint64_t ms);

void mcp_face_add_flag(mcp_buf_t *buf, int flag);


/* --- streams --- */

/* 1 if the stream belongs to the client's principal, and to the session of the
 * exchange if there is one. */
int mcp_face_owns(const mcp_exchange_t *x, const mcp_stream_info_t *info);

/* 1 if that is so, and the stream is that of a call which may be resumed. */
int mcp_face_allows(const mcp_exchange_t *x, const mcp_stream_info_t *info);

/*
 * Finds a stream that mcp_face_allows(), of this node, or of another one by
 * mcp_face_look(): info->mirror says so.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  whatever the reason
 */
int mcp_face_find(mcp_exchange_t *x, const unsigned char id[MCP_STREAM_ID_LEN],
    mcp_stream_info_t *info);

/* Describes it for mcp_ask_stream() or mcp_ask_look(): its client has the event
 * "least", or that of Last-Event-ID. */
void mcp_face_describe(const mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t least,
    mcp_ask_stream_t *stream);

/*
 * Finds a stream, or a mirror, that mcp_ask_stream() has got here; asked is
 * what that returned, but not MCP_AGAIN.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND
 *   MCP_ERR_AWAY       it may be at a node that cannot be asked now, or a
 *                      client that came later reads it at another one
 *   MCP_ERR_FULL       there is no room here
 *   MCP_ERR_MEMORY
 */
int mcp_face_here(mcp_exchange_t *x, int asked,
    const unsigned char id[MCP_STREAM_ID_LEN], mcp_stream_info_t *info);

/* Gets a stream that mcp_face_allows() here, to answer with it by
 * mcp_face_resume().  Returns what mcp_face_here() does, or MCP_AGAIN: see
 * mcp_ask.h. */
int mcp_face_fetch(mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t least,
    mcp_stream_info_t *info);

/* Asks how a stream of another node stands, for mcp_face_find().  Returns what
 * mcp_ask() does. */
int mcp_face_look(mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN]);

/* Sets *after to the event of Last-Event-ID if there is one, which is to be of
 * that stream; returns what mcp_face_cursor() does. */
mcp_fault_e mcp_face_names(const mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t *after);

/*
 * Sets *after to the event of Last-Event-ID, up to which the client has all;
 * the store is told.  Without the header *after stays as it is.
 *
 * Returns MCP_FAULT_NONE, or
 *   MCP_FAULT_EVENT_ID_MALFORMED
 *   MCP_FAULT_EVENT_ID_UNKNOWN    the event is of another stream
 */
mcp_fault_e mcp_face_cursor(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t *after);

/*
 * Answers a POST with the stream: with what follows event "least" at the
 * latest, but without what Last-Event-ID confirms, which is dropped.
 *
 * Returns MCP_DONE, or
 *   MCP_OK          the answer is a fault
 *   MCP_ERR_MEMORY
 */
int mcp_face_resume(mcp_exchange_t *x, const mcp_face_t *face,
    const mcp_stream_info_t *info, uint64_t least);

/*
 * Answers requests/getStatus or stream/poll: finds what the client has, which
 * is event "seq" at least, and starts the stream's time anew.  What was written
 * does not count: the client may ask because it has lost the connection.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the cursor is not of this stream, or the stream is gone
 */
int mcp_face_poll(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t seq, uint64_t *seen);

/*
 * Appends one of a request's first events, and frees buf.
 *
 * Returns what mcp_store_append() does, or
 *   MCP_ERR_MEMORY
 */
int mcp_face_add_first(mcp_request_t *req, mcp_buf_t *buf);


/* --- tokens --- */

/* Appends a token, as a JSON string. */
void mcp_face_add_token(mcp_buf_t *buf, const mcp_keys_t *keys,
    mcp_token_e purpose, const unsigned char *data, size_t len);

/*
 * Verifies a token whose payload has len bytes.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  whatever is wrong with it
 */
int mcp_face_open_token(const mcp_keys_t *keys, mcp_token_e purpose,
    mcp_str_t text, unsigned char *data, size_t len);


#endif /* MCP_FACE_COMMON_H_INCLUDED */
