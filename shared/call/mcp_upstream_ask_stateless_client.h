/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Questions of an MCP server with sessions to a client without a session
 * (2026-07-28, basic/patterns/mrtr). The server asks on the stream of the call
 * and waits there. The client gets the question as an InputRequiredResult,
 * which ends its request, while the call continues. Its request state names the
 * call: the client's next request brings the answers and reads on, see
 * exchange/mcp_retry_with_answers.h.
 *
 * The end of the client's connection does not cancel such a call as long as a
 * question has no answer. If no connection has read the stream since the last
 * answer, the call continues for MCP_UPSTREAM_ROUND_WAIT after it.
 */


#ifndef MCP_UPSTREAM_ASK_STATELESS_CLIENT_H_INCLUDED
#define MCP_UPSTREAM_ASK_STATELESS_CLIENT_H_INCLUDED


#include "call/mcp_call.h"


/* Time in which the client may repeat a request that has brought an answer, but
 * could not read the stream, for example because of a response 503, ms. */
#define MCP_UPSTREAM_ROUND_WAIT  30000


/* The maximum number of calls of one caller in a process whose questions have
 * no answer is mcp_max_session_streams divided by this number: each holds a
 * connection to its server, and in Apache a thread. */
#define MCP_UPSTREAM_ROUND_SHARE  16


/* Returns 1 if the call may have such questions: its server may have sessions
 * that declare the capabilities of the client. */
int mcp_upstream_round_possible(mcp_call_t *call);

/* Returns 1 if the caller may have another call with an open question in this
 * process. Otherwise returns 0, and logs the reason. Does not apply to a call
 * that has an open question. */
int mcp_upstream_round_admit(const mcp_call_t *call);

/* Counts a durable call as one with an open question. */
void mcp_upstream_round_track(mcp_call_t *call);

/*
 * Writes the response with a question, which is the next event of the stream,
 * and sets the number of the question.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_LIMIT   the parameters of the client's request are too deep
 *   MCP_ERR_MEMORY
 *   another error of mcp_store_info() or mcp_request_state_seal()
 */
int mcp_upstream_round_write(mcp_request_t *req, mcp_question_t *q,
    mcp_buf_t *out);

/*
 * Appends the answers of a client as a JSON array of responses with the ids
 * that mcp_input_answer() expects, or nothing if there are none. Other members
 * are ignored. responses is "inputResponses", an object of objects, or none.
 * Returns MCP_OK or MCP_ERR_MEMORY.
 */
int mcp_upstream_round_answers(const mcp_json_value_t *responses,
    const unsigned char stream[MCP_STREAM_ID_LEN], mcp_buf_t *out);


#endif /* MCP_UPSTREAM_ASK_STATELESS_CLIENT_H_INCLUDED */
