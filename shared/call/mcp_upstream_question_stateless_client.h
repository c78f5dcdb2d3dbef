/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Questions of an MCP server with sessions to a client without a session
 * (2026-07-28, basic/patterns/mrtr). The server sends the question on the
 * stream of the call, and waits for the response. The client gets the question
 * as an InputRequiredResult, which ends its request, while the call continues.
 * The request state in this result names the call. The client's next request
 * contains this state and the answers, and reads the stream of the call, see
 * exchange/mcp_retry_with_answers.h. If it lacks answers, it gets another
 * InputRequiredResult with all questions that are open then, and a new request
 * state ("Error Handling"). This does not extend the time for the answers.
 *
 * The end of the client's connection does not cancel such a call while a
 * question has no answer. If no connection has read the stream since the last
 * answer, the call continues for at least MCP_UPSTREAM_ROUND_WAIT after that
 * answer.
 */


#ifndef MCP_UPSTREAM_QUESTION_STATELESS_CLIENT_H_INCLUDED
#define MCP_UPSTREAM_QUESTION_STATELESS_CLIENT_H_INCLUDED


#include "call/mcp_call.h"


/* Minimum time for which the call continues after an answer if no connection
 * reads its stream, ms. The request with the answer may have failed to read the
 * stream, for example with HTTP 503. The client can then repeat the request. */
#define MCP_UPSTREAM_ROUND_WAIT  30000


/* The maximum number of calls with open questions, for one caller in one
 * process, is mcp_max_session_streams divided by this number. Each such call
 * holds a connection to its MCP server, and in Apache a thread. */
#define MCP_UPSTREAM_ROUND_SHARE  16


/* Returns 1 if the MCP server may ask the client of this call: the client has
 * no session and has declared that it answers questions, the method allows
 * questions, and the MCP server may have sessions in which this server declares
 * the client's capabilities. */
int mcp_upstream_round_possible(mcp_call_t *call);

/* Returns 1 if the caller may have another call with an open question in this
 * process. Otherwise returns 0, and logs the reason. Not to be called for a
 * call that has an open question already. */
int mcp_upstream_round_admit(const mcp_call_t *call);

/* Adds a durable call to worker->rounds, the calls that may have open
 * questions; does nothing if the call is in the list. */
void mcp_upstream_round_track(mcp_call_t *call);

/*
 * Writes the InputRequiredResult with a question to out. The caller has to
 * append it as the next event of the stream: q->number is set to the number of
 * this event.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_LIMIT   the parameters of the client's request are too deep
 *   MCP_ERR_MEMORY
 *   another error of mcp_store_info() or mcp_request_state_seal()
 */
int mcp_upstream_round_write(mcp_request_t *req, mcp_question_t *q,
    mcp_buf_t *out);

/*
 * Called when a request of the client whose answers were processed begins to
 * read the stream after the event "number". Appends an InputRequiredResult with
 * all open questions, unless the request gets an open question from the stream
 * anyway. May end the call.
 *
 * mcp_upstream_round_continue() tries this again if the stream had no room. It
 * is called when there may be room.
 */
void mcp_upstream_round_retried(mcp_call_t *call, uint64_t number);
void mcp_upstream_round_continue(mcp_call_t *call);

/*
 * Appends the client's answers to questions on the stream as a JSON array of
 * responses, with the ids that mcp_input_answer() expects. The last element is
 * a mark that the client's request reads the stream after the event "after".
 * "responses" is the client's "inputResponses", an object
 * whose members are objects, or has the type MCP_JSON_NONE. Ignores members
 * whose keys do not have the form of mcp_upstream_round_write(), such as "q7".
 *
 * Returns MCP_OK or MCP_ERR_MEMORY.
 */
int mcp_upstream_round_answers(const mcp_json_value_t *responses,
    const unsigned char stream[MCP_STREAM_ID_LEN], uint64_t after,
    mcp_buf_t *out);

/* Returns 1 if an element of this array is the mark: it has neither a result
 * nor an error, unlike each response of a client. */
int mcp_upstream_round_is_mark(const mcp_json_value_t *message);


#endif /* MCP_UPSTREAM_QUESTION_STATELESS_CLIENT_H_INCLUDED */
