/* SPDX-License-Identifier: Apache-2.0 */

/* Functions for the questions of a call to its client: they open the request
 * state in a client's message, and pass the client's responses to the call. */


#ifndef MCP_INPUT_H_INCLUDED
#define MCP_INPUT_H_INCLUDED


#include "call/mcp_call.h"


/* Returns 1 if a call may send questions to the client by its stream: the
 * client has a session and has declared a capability for questions. */
int mcp_input_possible(const mcp_client_t *client);

/* Parses the id of a client's response, raw JSON, into the stream and the
 * number of the event with the question. Returns MCP_OK, or MCP_ERR_NOT_FOUND:
 * the id is not that of a question. */
int mcp_input_names(const mcp_mem_t *mem, mcp_str_t id,
    unsigned char stream[MCP_STREAM_ID_LEN], uint64_t *number);

/*
 * Opens the sealed request state in the message of x. Sets *state to the
 * request state of a backend, a raw JSON string, or to the event id of a
 * question of a running call (call/mcp_upstream_question_stateless_client.h).
 * name is the name of the tool or prompt, or the resource's URI in normal form.
 * target is the index of the backend for the message.
 *
 * Returns MCP_FAULT_NONE, MCP_FAULT_REQUEST_STATE for an invalid state, or
 * MCP_FAULT_INTERNAL.
 */
mcp_fault_e mcp_input_state_open(mcp_exchange_t *x, mcp_str_t name,
    unsigned target, mcp_str_t *state);

/* Replaces the sealed request state in the message of x with "state", the
 * opened request state of the backend, and parses the message again. Returns
 * MCP_FAULT_NONE or MCP_FAULT_INTERNAL. */
mcp_fault_e mcp_input_state_replace(mcp_exchange_t *x, mcp_str_t state);

/*
 * Passes a client's responses to the call that has sent the questions, which
 * may run at any node. text is one response or a JSON array of responses, and
 * is accepted completely or not at all. If the call runs at another node,
 * raises the generation of its stream there to "generation". Returns the
 * values of mcp_store_inbox_put() or mcp_operation_client_input().
 */
int mcp_input_deliver(mcp_exchange_t *x, const mcp_stream_info_t *info,
    mcp_str_t text, uint32_t generation);

/* Passes the responses in "text" to the call that has the stream. The call may
 * run at any node, and must have the session of x. Returns the values of
 * mcp_input_deliver(). After returning MCP_AGAIN, this function runs again when
 * the cluster has replied, see mcp_cluster_operation.h. */
int mcp_input_deliver_to(mcp_exchange_t *x,
    const unsigned char stream[MCP_STREAM_ID_LEN], mcp_str_t text);

/*
 * Passes the responses among the n messages of one POST to the calls that have
 * sent the questions, which may run at any node; responses without a question
 * are ignored.
 *
 * Returns MCP_OK, MCP_AGAIN or MCP_ERR_UNREACHABLE from
 * mcp_operation_client_input(), or an error of mcp_store_inbox_put(). After an
 * error the client may repeat the POST, because only the first answer to a
 * question counts.
 */
int mcp_input_receive(mcp_exchange_t *x, const mcp_rpc_t *msgs, size_t n);


#endif /* MCP_INPUT_H_INCLUDED */
