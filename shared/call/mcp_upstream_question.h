/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Requests that an MCP server with sessions sends to this server, its client,
 * on the stream of a call: questions (elicitation, sampling, roots) and ping
 * (2025-11-25, basic/transports, "Sending Messages to the Server").
 *
 * A client with a session that has declared the capability gets the question on
 * the stream of its call. The client's response is POSTed to the MCP server,
 * while the call continues there. A client without a session gets the question
 * as the response to its request, see mcp_upstream_question_stateless_client.h.
 * If the call is a task, the task shows its questions, one at a time.
 *
 * The MCP server gets an error at once for a question that the client cannot
 * answer. A client has mcp_input_timeout to answer. A client without a session
 * has mcp_state_lifetime instead, unless the call is a task. After this time,
 * the MCP server gets the result "cancel" for an elicitation, and an error for
 * any other question.
 */


#ifndef MCP_UPSTREAM_QUESTION_H_INCLUDED
#define MCP_UPSTREAM_QUESTION_H_INCLUDED


#include "call/mcp_call.h"


/* Maximum number of questions of one request that have no answer yet. */
#define MCP_UPSTREAM_QUESTIONS  16


/* A question of an MCP server. */
struct mcp_upstream_question_s {
    mcp_question_t           question;
    mcp_str_t                id;       /* JSON-RPC id that the server chose, raw
                                          JSON */
    uint64_t                 deadline; /* when the question times out, ms */
    mcp_arena_t              arena;    /* memory of the texts */
    mcp_upstream_question_t *next;     /* next question in the same list */
    unsigned char            stream[MCP_STREAM_ID_LEN];        /* stream on
                                                                  which the
                                                                  client got
                                                                  the question
                                                                  last */
    unsigned                 listened:1;       /* 1: the server has sent the
                                                  question on the GET stream of
                                                  its session */
    unsigned                 withdrawn:1;      /* 1: the question was cancelled
                                                  at the client, and not yet
                                                  sent again */
};


/*
 * Processes a request of the server; listened is 1 if it arrived on the GET
 * stream of the session (mcp_upstream_listen.h), otherwise 0.
 *
 * Returns MCP_OK, or MCP_AGAIN: the message has to be held, because the stream
 * has no room or, for a message of the GET stream, because the call has just
 * ended and another one may forward the question. May end the call.
 */
int mcp_upstream_question_receive(mcp_request_t *req,
    const mcp_backend_msg_t *msg, unsigned listened);

/* Returns 1 if a request may have a further open question. */
int mcp_upstream_question_has_room(const mcp_request_t *req);

/* Called for a request that no longer uses a GET stream. Removes its questions
 * that arrived on this stream, and returns them as a list, oldest first. The
 * caller has to free the questions. */
mcp_upstream_question_t *mcp_upstream_question_take(mcp_request_t *req);

/*
 * Withdraws a question at the client, and sends it again on the stream of
 * another request of the same client.
 *
 * Returns MCP_OK if the question was sent: it no longer belongs to the caller.
 * Returns MCP_AGAIN if the stream has no room, or the request has just ended.
 * May end the call. Not to be called for a task, or for a request that has no
 * room for a further question.
 */
int mcp_upstream_question_again(mcp_request_t *req,
    mcp_upstream_question_t *question);

/* Cancels a question at a client with a session, by an event on the stream of a
 * request of the same client. Does nothing if the call is a task or has no
 * stream, or if the stream has no room. */
void mcp_upstream_question_cancel(mcp_request_t *req,
    mcp_upstream_question_t *question);

/* Sends an error as the response to the server's request with the JSON-RPC id
 * "id", because no call can forward the request to the client. "of" has the
 * meaning of mcp_upstream_post(). */
void mcp_upstream_question_refuse(const mcp_backend_request_t *of,
    mcp_str_t id);

void mcp_upstream_question_free(mcp_worker_t *worker,
    mcp_upstream_question_t *question);

/*
 * Processes notifications/cancelled of the server: removes the question, and
 * cancels it at a client with a session. Returns the values of
 * mcp_upstream_question_receive().
 */
int mcp_upstream_question_cancelled(mcp_request_t *req,
    const mcp_backend_msg_t *msg);

/* POSTs a client's response to the server if "number" is the number of the
 * event of an open question; message is the response. Returns 1, or 0 if there
 * is no such question. */
int mcp_upstream_question_answer(mcp_call_t *call, uint64_t number,
    const mcp_json_value_t *message);

/* Does the same as mcp_upstream_question_answer(), for the request of a call
 * that is a task. "text" is an object with the client's responses, whose keys
 * are the indexes of the questions of the event. */
int mcp_upstream_task_answer(mcp_request_t *req, uint64_t number,
    mcp_str_t text);

/* Called when the deadline of the request has passed. Responds to the MCP
 * server for each question that has timed out. Returns 1, or 0 if neither the
 * request nor the GET stream of its session has an open question. */
int mcp_upstream_question_timeout(mcp_request_t *req);

/* Frees the questions of a request that is over. */
void mcp_upstream_question_clear(mcp_request_t *req);


#endif /* MCP_UPSTREAM_QUESTION_H_INCLUDED */
