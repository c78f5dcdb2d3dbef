/* SPDX-License-Identifier: Apache-2.0 */

/* Questions of a call to its client, and the client's responses. */


#ifndef MCP_INPUT_H_INCLUDED
#define MCP_INPUT_H_INCLUDED


#include "call/mcp_call.h"


/* 1 if the server may send requests to this session's client. */
int mcp_input_possible(const mcp_client_t *client);

/* The stream and the event that a response's raw id names.  MCP_OK, or
 * MCP_ERR_NOT_FOUND: no request of ours has such an id. */
int mcp_input_names(const mcp_mem_t *mem, mcp_str_t id,
    unsigned char stream[MCP_STREAM_ID_LEN], uint64_t *number);

/*
 * Opens the state that the request of x brings, a JSON string: the message of x
 * has the backend's own in its place, and is parsed anew.  name and target are
 * the request's.
 *
 * Returns MCP_FAULT_NONE, MCP_FAULT_REQUEST_STATE whatever is wrong with the
 * state, or MCP_FAULT_INTERNAL.
 */
mcp_fault_e mcp_input_state_open(mcp_exchange_t *x, mcp_str_t name,
    unsigned target);

/* Brings responses of a client to the call that asked, at whatever node: text
 * is one, or a JSON array of them, and is taken as a whole or not at all.  The
 * turn of a stream of another node is at least "turn" then.  Returns what
 * mcp_store_post() or mcp_ask_post() does. */
int mcp_input_deliver(mcp_exchange_t *x, const mcp_stream_info_t *info,
    mcp_str_t text, uint32_t turn);

/*
 * The same for the responses among n messages of one POST, each for the call of
 * its session that asked, at whatever node; passes over what nobody waits for.
 * MCP_OK; MCP_AGAIN or MCP_ERR_AWAY of mcp_ask_post(); or an error of
 * mcp_store_post(): the client may send all of them again, as an answer counts
 * once.
 */
int mcp_input_posted(mcp_exchange_t *x, const mcp_rpc_t *msgs, size_t n);


#endif /* MCP_INPUT_H_INCLUDED */
