/* SPDX-License-Identifier: Apache-2.0 */

/* Questions of a call to its client, and the client's responses. */


#ifndef MCP_INPUT_H_INCLUDED
#define MCP_INPUT_H_INCLUDED


#include "call/mcp_call.h"


/* Returns 1 if the server may send requests to this session's client. */
int mcp_input_possible(const mcp_client_t *client);

/* Parses the raw id of a response into the stream and the event of the
 * question. Returns MCP_OK, or MCP_ERR_NOT_FOUND: the server has not sent a
 * request with such an id. */
int mcp_input_names(const mcp_mem_t *mem, mcp_str_t id,
    unsigned char stream[MCP_STREAM_ID_LEN], uint64_t *number);

/*
 * Opens the request state of x, a JSON string: the message of x then contains
 * the backend's own state and is parsed again. name and target are those of the
 * request. Returns MCP_FAULT_NONE, MCP_FAULT_REQUEST_STATE for any invalid
 * state, or MCP_FAULT_INTERNAL.
 */
mcp_fault_e mcp_input_state_open(mcp_exchange_t *x, mcp_str_t name,
    unsigned target);

/*
 * Passes responses of a client to the call that has asked, at any node. text is
 * one response or a JSON array of them, and is accepted completely or not at
 * all. Raises the generation of another node's stream to "generation". Returns
 * the values of mcp_store_inbox_put() or mcp_operation_client_input().
 */
int mcp_input_deliver(mcp_exchange_t *x, const mcp_stream_info_t *info,
    mcp_str_t text, uint32_t generation);

/*
 * Passes the responses among n messages of one POST to the calls of the session
 * that have asked, at any node; unexpected ones are ignored. Returns MCP_OK;
 * MCP_AGAIN or MCP_ERR_UNREACHABLE from mcp_operation_client_input(); or an
 * error of mcp_store_inbox_put(). The client may then send all of them again,
 * because an answer counts once.
 */
int mcp_input_posted(mcp_exchange_t *x, const mcp_rpc_t *msgs, size_t n);


#endif /* MCP_INPUT_H_INCLUDED */
