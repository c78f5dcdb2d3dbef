/* SPDX-License-Identifier: Apache-2.0 */

/* Functions that resumption methods share (docs/internals/resume.md). */


#ifndef MCP_RESUME_COMMON_H_INCLUDED
#define MCP_RESUME_COMMON_H_INCLUDED


#include "call/mcp_call.h"
#include "call/mcp_cancel.h"
#include "call/mcp_input.h"
#include "exchange/mcp_exchange_session.h"
#include "resume/mcp_resume_methods.h"
#include "worker/mcp_answer.h"
#include "worker/mcp_operation.h"
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
int mcp_resume_param(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_str_t key,
    mcp_str_t *out);

/* Rejects a token that is not valid, for any reason, with the same error. */
int mcp_resume_refuse(mcp_exchange_t *x);

/* Responds to an error of mcp_resume_fetch(), or returns MCP_AGAIN or
 * MCP_ERR_MEMORY. */
int mcp_resume_refuse_for(mcp_exchange_t *x, int rc);

/* Appends a time in seconds, with decimals if needed. */
void mcp_resume_seconds(mcp_buf_t *buf, uint64_t ms);

void mcp_resume_add_flag(mcp_buf_t *buf, int flag);


/* --- streams --- */

/* Returns 1 if the stream belongs to the client's principal, and to the session
 * of the exchange if that has one. */
int mcp_resume_owns(const mcp_exchange_t *x, const mcp_stream_info_t *info);

/* Returns 1 if mcp_resume_owns() does, and the stream is that of a call which
 * may be resumed. */
int mcp_resume_allows(const mcp_exchange_t *x, const mcp_stream_info_t *info);

/*
 * Finds a stream for which mcp_resume_allows() returns 1, at this node, or at
 * another one by mcp_resume_lookup(), in which case info->mirror is 1.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  for any reason
 */
int mcp_resume_find(mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN], mcp_stream_info_t *info);

/* Sets *stream for mcp_operation_stream() or mcp_operation_lookup(). Its client
 * has the event "least", or that of Last-Event-ID. */
void mcp_resume_describe(const mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t least,
    mcp_operation_stream_t *stream);

/*
 * Finds the stream or mirror that mcp_operation_stream() has made available;
 * asked is the return value of that function, other than MCP_AGAIN.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND
 *   MCP_ERR_UNREACHABLE  it may be at a node that is unreachable, or a client
 *                        that came later reads it at another node
 *   MCP_ERR_FULL         there is no room at this node
 *   MCP_ERR_MEMORY
 */
int mcp_resume_here(mcp_exchange_t *x, int cluster_rc,
    const unsigned char id[MCP_STREAM_ID_LEN], mcp_stream_info_t *info);

/* Makes a stream for which mcp_resume_allows() returns 1 available at this
 * node, for mcp_resume_resume(). Returns the values of mcp_resume_here(), or
 * MCP_AGAIN: see mcp_operation.h. */
int mcp_resume_fetch(mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t least,
    mcp_stream_info_t *info);

/* Looks a stream of another node up, for mcp_resume_find(). Returns the values
 * of mcp_operation(). */
int mcp_resume_lookup(mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN]);

/* Sets *after to the event of Last-Event-ID, if the request has this header;
 * the event must belong to the stream. Returns the values of
 * mcp_resume_cursor(). */
mcp_fault_e mcp_resume_names(const mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t *after);

/*
 * Sets *after to the event of Last-Event-ID, and records in the store that the
 * client has the events up to it. Without the header *after is unchanged.
 *
 * Returns MCP_FAULT_NONE, or
 *   MCP_FAULT_EVENT_ID_MALFORMED
 *   MCP_FAULT_EVENT_ID_UNKNOWN    the event belongs to another stream
 */
mcp_fault_e mcp_resume_cursor(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t *after);

/*
 * Responds to a POST with the stream, from the event after "least" at the
 * latest, without the events that Last-Event-ID confirms, which are removed.
 *
 * Returns MCP_DONE, or
 *   MCP_OK  the response is a fault
 *   MCP_ERR_MEMORY
 */
int mcp_resume_resume(mcp_exchange_t *x, const mcp_resume_method_t *resumption,
    const mcp_stream_info_t *info, uint64_t least);

/*
 * Handles requests/getStatus or stream/poll: sets *seen to the last event that
 * the client has, which is at least seq, and restarts the stream's time without
 * a consumer. Events that were only written do not count, because the client
 * may have lost the connection.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the cursor belongs to another stream, or the stream does
 *                      not exist
 */
int mcp_resume_poll(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t seq, uint64_t *seen);

/* Appends one of the first events of a request, and frees buf. Returns the
 * values of mcp_store_append(), or MCP_ERR_MEMORY. */
int mcp_resume_add_first(mcp_request_t *req, mcp_buf_t *buf);


/* --- tokens --- */

/* Appends a token as a JSON string. */
void mcp_resume_add_token(mcp_buf_t *buf, const mcp_keys_t *keys,
    mcp_token_e purpose, const unsigned char *data, size_t len);

/*
 * Opens a token with a payload of len bytes.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  it is not valid, for any reason
 */
int mcp_resume_open_token(const mcp_keys_t *keys, mcp_token_e purpose,
    mcp_str_t text, unsigned char *data, size_t len);


#endif /* MCP_RESUME_COMMON_H_INCLUDED */
