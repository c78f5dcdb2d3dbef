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
#include "worker/mcp_consumer.h"
#include "worker/mcp_exchange_state.h"


/* A string parameter, unescaped, or MCP_ERR_SYNTAX. */
int mcp_face_param(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_str_t key,
    mcp_str_t *out);

/* 1 if it is this principal's, and this session's if the exchange has one. */
int mcp_face_owns(const mcp_exchange_t *x, const mcp_stream_info_t *info);

/* The same, and it is a call's that may be resumed. */
int mcp_face_allows(const mcp_exchange_t *x, const mcp_stream_info_t *info);

/* Such a stream by its id: MCP_OK or MCP_ERR_NOT_FOUND, whatever the
 * reason. */
int mcp_face_find(mcp_exchange_t *x, const unsigned char id[MCP_STREAM_ID_LEN],
    mcp_stream_info_t *info);

/* What the client has according to its Last-Event-ID, which is noted down, or
 * *after as it is when it sent none: MCP_FAULT_NONE; else that it is malformed,
 * or not of this stream. */
mcp_fault_e mcp_face_cursor(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t *after);

/*
 * Answers a POST with the stream: at least what follows event "least", but
 * nothing that Last-Event-ID confirms, which is dropped.  MCP_DONE, or an
 * answer with fault.
 */
int mcp_face_resume(mcp_exchange_t *x, const mcp_face_t *face,
    const mcp_stream_info_t *info, uint64_t least);

/* What a token that does not open anything is answered, whatever the reason. */
int mcp_face_refuse(mcp_exchange_t *x);

/* One of a request's first events, and frees buf; what mcp_store_append()
 * returns, or MCP_ERR_MEMORY. */
int mcp_face_add_first(mcp_request_t *req, mcp_buf_t *buf);

/* Appends seconds, with decimals where there must be. */
void mcp_face_seconds(mcp_buf_t *buf, uint64_t ms);

void mcp_face_add_flag(mcp_buf_t *buf, int flag);

/* Appends a token, as a JSON string. */
void mcp_face_add_token(mcp_buf_t *buf, const mcp_keys_t *keys,
    mcp_token_e purpose, const unsigned char *data, size_t len);

/* Its payload, of len bytes: MCP_OK or MCP_ERR_NOT_FOUND. */
int mcp_face_open_token(const mcp_keys_t *keys, mcp_token_e purpose,
    mcp_str_t text, unsigned char *data, size_t len);


#endif /* MCP_FACE_COMMON_H_INCLUDED */
