/* SPDX-License-Identifier: Apache-2.0 */

/* Functions that several resumption methods use to find a stream, to check
 * Last-Event-ID, to make an exchange the consumer of a stream, and to append
 * their first events to it (docs/internals/resume.md). */


#ifndef MCP_RESUME_COMMON_H_INCLUDED
#define MCP_RESUME_COMMON_H_INCLUDED


#include "call/mcp_call.h"
#include "call/mcp_cancel.h"
#include "call/mcp_input.h"
#include "exchange/mcp_exchange_session.h"
#include "resume/mcp_resume_methods.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_exchange_set_state.h"
#include "worker/mcp_respond.h"


/* --- parameters and answers --- */

/*
 * Reads a string parameter of a message, unescaped.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  the message has no such parameter, or it is not a string
 *   MCP_ERR_MEMORY
 */
int mcp_resume_param(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_str_t key,
    mcp_str_t *out);

/* Responds to a request whose token is not valid. The fault does not reveal the
 * reason. */
mcp_next_e mcp_resume_refuse(mcp_exchange_t *x);

/* Responds with the fault for an error rc of mcp_resume_fetch(). If rc is
 * MCP_AGAIN or MCP_ERR_MEMORY, does not respond, and returns
 * mcp_operation_next(rc). */
mcp_next_e mcp_resume_refuse_for(mcp_exchange_t *x, int rc);

/* Appends a time in ms as a JSON number of seconds, with three decimals if the
 * time is not a whole number of seconds. */
void mcp_resume_seconds(mcp_buf_t *buf, uint64_t ms);

/* Appends "true" or "false". */
void mcp_resume_add_flag(mcp_buf_t *buf, int flag);


/* --- streams --- */

/* Returns 1 if the stream belongs to the principal of the exchange and, if the
 * exchange has a session, to this session. */
int mcp_resume_owns(const mcp_exchange_t *x, const mcp_stream_info_t *info);

/* Returns 1 if the stream belongs to a call that may be resumed, and
 * mcp_resume_owns() returns 1. */
int mcp_resume_allows(const mcp_exchange_t *x, const mcp_stream_info_t *info);

/*
 * Finds a stream for which mcp_resume_allows() returns 1: at this node, or
 * among the results of mcp_resume_lookup() from other nodes. In the second case
 * info->mirror is 1.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is no such stream, or mcp_resume_allows() returns
 *                      0
 */
int mcp_resume_find(mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN], mcp_stream_info_t *info);

/*
 * Sets *stream to the arguments of mcp_operation_stream(). stream->after is the
 * last event that the client has: the one in Last-Event-ID, or event number
 * "least" if this header is missing or names another stream.
 */
void mcp_resume_describe(const mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t least,
    mcp_operation_stream_t *stream);

/*
 * Finds the stream or mirror that mcp_operation_stream() has made available.
 * cluster_rc is the return value of mcp_operation_stream(), other than
 * MCP_AGAIN.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND
 *   MCP_ERR_UNREACHABLE  the stream may be at a node that is unreachable; or
 *                        another client, whose request came later, reads the
 *                        stream at another node; or the client has all events
 *                        that this node has, but the stream may belong to
 *                        another node, which may have more events
 *   MCP_ERR_FULL         this node has no room for a mirror
 *   MCP_ERR_MEMORY
 */
int mcp_resume_here(mcp_exchange_t *x, int cluster_rc,
    const unsigned char id[MCP_STREAM_ID_LEN], mcp_stream_info_t *info);

/*
 * Makes a stream for which mcp_resume_allows() returns 1 available at this
 * node, as preparation for mcp_resume_resume(). "least" is the argument of
 * mcp_resume_describe(). Returns the values of mcp_resume_here(), or MCP_AGAIN:
 * the entry function has to return MCP_NEXT_WAIT.
 */
int mcp_resume_fetch(mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t least,
    mcp_stream_info_t *info);

/* Looks a stream up at the other nodes, unless it is a stream of this node.
 * mcp_resume_find() then returns the result. Returns the values of
 * mcp_operation(). */
int mcp_resume_lookup(mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN]);

/* Sets *after to the number of the event in Last-Event-ID, if the request has
 * this header. Returns MCP_FAULT_NONE, or a fault of mcp_resume_cursor() if
 * the header is malformed or names another stream. */
mcp_fault_e mcp_resume_names(const mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t *after);

/*
 * Sets *after to the number of the event in Last-Event-ID, and records in the
 * store that the client has the events up to it. Without the header *after is
 * unchanged.
 *
 * Returns MCP_FAULT_NONE, or
 *   MCP_FAULT_EVENT_ID_MALFORMED
 *   MCP_FAULT_EVENT_ID_UNKNOWN    the event belongs to another stream, or does
 *                                 not exist
 */
mcp_fault_e mcp_resume_cursor(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t *after);

/*
 * Makes the exchange of a POST the consumer of a stream. With Last-Event-ID,
 * the exchange reads the events after the event in the header; this event and
 * all earlier ones are removed from the stream. Without the header, the
 * exchange reads the events after "least", or all stored events if the event
 * after "least" is no longer stored.
 *
 * Returns MCP_NEXT_STREAM, or
 *   MCP_NEXT_RESPOND  the response is a fault
 *   MCP_NEXT_ERROR
 */
mcp_next_e mcp_resume_resume(mcp_exchange_t *x,
    const mcp_resume_method_t *resumption, const mcp_stream_info_t *info,
    uint64_t least);

/*
 * The common part of requests/getStatus and stream/poll. Restarts the time for
 * which the stream's call continues without a consumer. Sets *seen to the last
 * event that the client certainly has: the event in Last-Event-ID or, without
 * this header, the greater of the last confirmed event and seq, the event with
 * the request's token. Events that were only written to a connection do not
 * count, because the connection may have been lost.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  Last-Event-ID is not valid for the stream, or the stream
 *                      does not exist
 */
int mcp_resume_poll(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t seq, uint64_t *seen);

/* Appends the message in buf to the stream as one of the first events of a
 * request, and frees buf. Returns the values of mcp_store_append(), or
 * MCP_ERR_MEMORY. */
int mcp_resume_add_first(mcp_request_t *req, mcp_buf_t *buf);


/* --- tokens --- */

/* Appends a token with the payload "data", signed, as a JSON string. */
void mcp_resume_add_token(mcp_buf_t *buf, const mcp_keys_t *keys,
    mcp_token_e purpose, const unsigned char *data, size_t len);


#endif /* MCP_RESUME_COMMON_H_INCLUDED */
