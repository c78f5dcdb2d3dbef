/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Internal declarations of the files of a call:
 *
 *   mcp_call.c                       its life: start and end
 *   mcp_call_stream.c                its stream: becoming durable
 *   mcp_call_answer.c                its responses
 *   mcp_call_join.c                  a call that others may join
 *   mcp_call_list.c                  hides items of a backend's lists
 *   mcp_call_timer.c                 its timer
 *   mcp_call_task.c                  a call that is a task
 *   mcp_request.c                    the states of a request
 *   mcp_backend_request.c            a backend request
 *   mcp_backend_request_variables.c  the variables for a backend
 *   mcp_backend_request_message.c    messages from a backend
 *   mcp_backend_request_subscribe.c  subscriptions of a session
 *   mcp_inbox.c                      posts from other processes
 *   mcp_cancel.c                     cancellation
 *   mcp_input.c                      questions to the client during the call
 *   mcp_input_retry.c                calling the backend again
 *   mcp_input_capability.c           capabilities that questions need
 *   mcp_input_post.c                 the client's responses
 *   mcp_input_respond.c              questions as the response (2026-07-28)
 *   mcp_input_state.c                the request state of such a client
 *   mcp_input_task.c                 questions of a task
 *   mcp_input_url.c                  questions that send the user to a URL
 */


#ifndef MCP_CALL_INTERNAL_H_INCLUDED
#define MCP_CALL_INTERNAL_H_INCLUDED


#include "call/mcp_call.h"


/* --- mcp_call.c --- */

/* Starts a backend request for a request, the first one or one with input, or
 * fails the request. */
void mcp_call_invoke(mcp_request_t *req);

/* Sets the limits of the call. */
void mcp_call_take_policy(mcp_call_t *call);

/* Sets the phase, and logs the change at level debug. */
void mcp_call_set_phase(mcp_call_t *call, mcp_call_phase_e phase);

/* Ends a call whose requests all have their responses, or need none; a waiting
 * client gets them. */
void mcp_call_done(mcp_call_t *call);

/* Ends a call that cannot continue, with the same fault for all pending
 * requests. */
void mcp_call_abandon(mcp_call_t *call, mcp_fault_e fault);

/* Ends a call without a response: stops its backend requests. */
void mcp_call_stop(mcp_call_t *call);

/* Ends a call that is cancelled by the end of its client's connection. */
void mcp_call_cancelled(mcp_call_t *call);

/* Frees a call that is over if the backend request that has ended was its last
 * one. */
void mcp_call_check_end(mcp_call_t *call);


/* --- mcp_call_stream.c --- */

/* Sets the state of the call's stream in the store, and logs a change. */
void mcp_call_set_stream_state(mcp_call_t *call, mcp_stream_state_e state);

/* Handles the state that an event has given the stream: logs a change at level
 * debug, and notifies the listeners of a task. */
void mcp_call_note_stream_state(mcp_call_t *call, mcp_stream_state_e state);

/* Creates the stream. promised is 1 if the client gets a resume policy. */
int  mcp_call_create_stream(mcp_call_t *call, int promised);

/* Makes the call durable: from now on each event is stored before it is sent.
 * Returns MCP_OK, also if it was durable, or MCP_ERR_DENIED: the call has
 * ended. */
int  mcp_call_durable(mcp_call_t *call);

/* Appends the fault as the response of each pending request. If a response
 * cannot be stored, frees the stream, so that its client gets 404 instead of
 * waiting. */
void mcp_call_abandon_stream(mcp_call_t *call, mcp_fault_e fault);

/* Ends a call that could not be stored, with MCP_ERR_LIMIT, MCP_ERR_FULL or
 * another error. If its backend has started, the client gets an error that does
 * not suggest a retry, other than 503 and 429. */
void mcp_call_refuse(mcp_call_t *call, int rc);

/* Returns the reason for the log of an append that failed finally. */
const char *mcp_call_append_reason(int rc);


/* --- mcp_call_join.c --- */

/* Returns how long a call that others may join continues without a client, ms;
 * max_wait is the configured value. */
uint64_t mcp_call_join_wait(const mcp_call_t *call, uint64_t max_wait);

/* Passes the only response of a call, which its client gets as JSON, to the
 * joined requests by the stream. */
void mcp_call_join_answer(mcp_request_t *req, mcp_outcome_e how);

/* Ends a call whose client has disconnected before a backend was called; a
 * joined request starts it again. */
void mcp_call_withdraw(mcp_call_t *call);

/* Sends that response to the client when all nodes of a cluster have it. */
void mcp_call_join_respond(mcp_call_t *call, mcp_exchange_t *x);


/* --- mcp_call_answer.c --- */

/* Appends a response to the stream. Returns MCP_OK, MCP_AGAIN, or an error of
 * the store. */
int mcp_call_answer_stored(mcp_request_t *req, mcp_str_t text,
    mcp_outcome_e how);

/* Returns the state of the stream while the call is active. */
mcp_stream_state_e mcp_call_state(const mcp_call_t *call);

/* Returns the argument "answers" of mcp_store_append() for the response of a
 * request. */
int mcp_call_answers(const mcp_request_t *req, mcp_outcome_e how);

/*
 * Sets the response of a request: body is its result or, if how is an RPC
 * error, its error. Ends the call with the last response. Returns MCP_OK (also
 * if the request has a response, or everything has failed), or MCP_AGAIN: there
 * is no room, to be repeated.
 */
int  mcp_call_finish(mcp_request_t *req, mcp_str_t body, mcp_outcome_e how);

/* Does the same as mcp_call_finish(), for a result without resultType and
 * _meta. */
int  mcp_call_finish_plain(mcp_request_t *req, mcp_str_t result,
    mcp_outcome_e how);

int  mcp_call_finish_fault(mcp_request_t *req, mcp_fault_e fault,
    mcp_str_t detail);

/* Does the same as mcp_call_finish_fault(), with error.data, which is raw
 * JSON. */
int  mcp_call_finish_fault_data(mcp_request_t *req, mcp_fault_e fault,
    mcp_str_t detail, mcp_str_t data);

/* Does the same as mcp_call_finish_fault(), with the reason in error.data if
 * the fault is the server's or a backend's and mcp_debug is on. */
int  mcp_call_finish_fault_why(mcp_request_t *req, mcp_fault_e fault,
    mcp_str_t why);

/* Sets a tool result with isError, or a JSON-RPC error for other methods. */
int  mcp_call_finish_text(mcp_request_t *req, mcp_str_t text);

/* Does the same as mcp_call_finish_fault(), but keeps the fault and tries
 * again later if there is no room. */
void mcp_call_fail(mcp_request_t *req, mcp_fault_e fault);
void mcp_call_hold_fault(mcp_request_t *req, mcp_fault_e fault);


/* --- mcp_call_list.c --- */

/*
 * Copies the result of a list to out, without the items that the endpoint's
 * rules hide from the caller.
 *
 * Returns MCP_OK, or
 *   MCP_DONE        the request is not for a list, or no rule hides items: out
 *                   is unchanged
 *   MCP_ERR_MEMORY
 */
int mcp_call_list_filter(mcp_request_t *req, mcp_str_t result, mcp_buf_t *out);


/* --- mcp_call_task.c --- */

/* Makes the call durable and a task before a backend is called. Returns MCP_OK;
 * otherwise the call has ended. */
int  mcp_call_promote_first(mcp_call_t *call);

/* mcp_call_expires() returns when a task expires, in any state;
 * mcp_call_expire_task() ends it then. */
uint64_t mcp_call_expires(const mcp_call_t *call);
void mcp_call_expire_task(mcp_call_t *call);

/* mcp_call_task_changed() notifies the listeners of a task;
 * mcp_call_notify_at() returns when a delayed notification is due, or
 * UINT64_MAX. */
void mcp_call_task_changed(mcp_call_t *call);
uint64_t mcp_call_notify_at(const mcp_call_t *call);

/* Makes a backend's progress notification the status of a task. Listeners of a
 * task get no other notifications. */
void mcp_call_status(mcp_request_t *req, const mcp_backend_msg_t *msg);


/* --- mcp_call_timer.c --- */

/* Sends the interim response to the waiting client. */
void mcp_call_send_interim(mcp_call_t *call);

/* Handles that the remaining messages will be published: the call becomes
 * durable, and a task if that is allowed. */
void mcp_call_detached(mcp_call_t *call);

/* Returns 1 if the call has started and no backend request waits to be started,
 * which needs the client's request; the call loses that when it becomes
 * durable. */
int mcp_call_is_started(const mcp_call_t *call);

/* Arms the call's timer for its next deadline. */
void mcp_call_set_timer(mcp_call_t *call);

/* Handler of the timer; data is the call. */
void mcp_call_timer(void *data);


/* --- mcp_backend_request.c --- */

/* Queues a backend request with a new decoder, which replaces the last one; no
 * message may be held. Returns MCP_OK or MCP_ERR_MEMORY. */
int  mcp_backend_request_start(mcp_request_t *req);

/* Called when the glue has pulled an action of a backend request. */
void mcp_backend_request_taken(mcp_queued_action_t *queued,
    mcp_action_t *action);

/* Stop the backend request of a request, or all of a call; held messages are
 * dropped. */
void mcp_backend_request_stop(mcp_request_t *req);
void mcp_backend_request_stop_all(mcp_call_t *call);

/* Handles that the deadline of a request has passed. May end the call. */
void mcp_backend_request_deadline(mcp_request_t *req);

/* Holds a message that found no room. Its text remains in the decoder, which is
 * not called in the meantime. */
void mcp_backend_request_hold(mcp_request_t *req, const mcp_backend_msg_t *msg);

/* Processes the held message and the messages of the decoder until there are
 * none, or the stream has no room. May end the call. */
void mcp_backend_request_process(mcp_request_t *req);


/* Continues with the held message, and lets the backend continue. */
void mcp_backend_request_continue(mcp_request_t *req);


/* --- mcp_backend_request_variables.c --- */

/* Sets the variables of all backend requests of a call, in its arena. */
void mcp_backend_request_call_variables(mcp_call_t *call);


/* --- mcp_backend_request_message.c --- */

/* Processes one message from the backend or the publish endpoint. Returns
 * MCP_OK, or MCP_AGAIN: there is no room for it now. May end the call. */
int  mcp_backend_request_message(mcp_request_t *req,
    const mcp_backend_msg_t *msg);


/* --- mcp_backend_request_subscribe.c --- */

/* Subscribes or unsubscribes, if that is the purpose of the request. Returns
 * MCP_OK and the fault, or MCP_AGAIN: mcp_backend_request_process() is called
 * later. */
int  mcp_backend_request_subscribe(mcp_request_t *req, mcp_fault_e *fault);


/* --- mcp_inbox.c --- */

/* Handles a wake-up of the call by the store: room, a new or lost consumer,
 * posts, or a cancellation. May end the call. */
void mcp_inbox_wake(void *call);

/* Continues when there may be room: with held messages, stopped backends, and
 * posts behind them. May end the call. */
void mcp_inbox_continue(mcp_call_t *call);

/* Frees the posts that were taken from the inbox but not processed. */
void mcp_inbox_drop(mcp_call_t *call);


/* --- mcp_cancel.c --- */

/* Cancels the requests of a call whose bits are set: they get no response. May
 * end the call. */
void mcp_cancel_requests(mcp_call_t *call, uint64_t requests);

/* Cancels the requests that were marked as cancelled before the call became
 * durable and could be found in the store. May end the call. */
void mcp_cancel_check(mcp_call_t *call);

/* Start and stop polling for such marks while a call is not durable. The second
 * does nothing for a call that is not polled. */
void mcp_cancel_track(mcp_call_t *call);
void mcp_cancel_untrack(mcp_call_t *call);


/* --- mcp_input_capability.c --- */

/* Returns 1 if the client has declared the capability for a question, 0 if not,
 * -1 if no client can answer it. Modes and tools have capabilities of their own
 * (2025-11-25, client/elicitation and client/sampling, "Capabilities"). */
int  mcp_input_capability(const mcp_client_t *client, const mcp_question_t *q);

/* Returns the capabilities that n questions need and the client lacks. Each
 * question must be one that some clients can answer. */
unsigned mcp_input_lacks(const mcp_client_t *client, const mcp_question_t *q,
    size_t n);

/* Appends the ClientCapabilities object for bits of MCP_CLIENT_INPUT. */
void mcp_input_capabilities(unsigned bits, mcp_buf_t *out);


/* --- mcp_input.c --- */

/* Asks the client the backend's questions. Returns the values of
 * mcp_call_finish(). */
int  mcp_input_begin(mcp_request_t *req, const mcp_backend_msg_t *msg);

/* Reads the questions and the state of a new round. */
mcp_fault_e mcp_input_read_round(mcp_request_t *req,
    const mcp_backend_msg_t *msg);

/* Processes responses that mcp_input_deliver() has passed to the call's
 * process. */
void mcp_input_answer(mcp_call_t *call, mcp_str_t text);

/* Stores an answer; after the last one the backend is called again. May end the
 * call. */
void mcp_input_keep(mcp_request_t *req, mcp_question_t *q, mcp_str_t result);


/* --- mcp_input_retry.c --- */

/* Calls the backend again with the client's answers. Returns the values of
 * mcp_call_finish(). */
int  mcp_input_retry(mcp_request_t *req);

/* Calls the backend again after a while, until its deadline, because it has
 * asked no question. */
int  mcp_input_pause(mcp_request_t *req);


/* --- mcp_input_respond.c --- */

/* Sends the questions as the response, for a client of a stateless revision.
 * Returns the values of mcp_call_finish(). */
int  mcp_input_respond(mcp_request_t *req, const mcp_backend_msg_t *msg);

/* Ends a request whose client lacks capabilities that the questions need.
 * Returns the values of mcp_call_finish(). */
int  mcp_input_refuse_lacks(mcp_request_t *req, unsigned lacks);


/* --- mcp_input_task.c --- */

/* Stores the questions in the task. Returns the values of
 * mcp_call_finish(). */
int  mcp_input_task_begin(mcp_request_t *req, const mcp_backend_msg_t *msg);

/* Processes answers to the questions of an event: an object with results by the
 * index of the question. May end the call. */
void mcp_input_task_answer(mcp_call_t *call, uint64_t number, mcp_str_t text);


/* --- mcp_input_state.c --- */

/* Appends the backend's state, a JSON string, in the sealed form for the
 * client. Returns the values of mcp_request_state_seal(). */
int  mcp_input_state_seal(mcp_request_t *req, mcp_str_t state,
    mcp_buf_t *out);


/* --- mcp_input_url.c --- */

/*
 * In 2025-11-25 a question that sends the user to a URL has an elicitationId,
 * and a notification reports its completion (client/elicitation, "Completion
 * Notifications for URL Mode Elicitation"); in 2026-07-28 neither exists, so
 * backends do not write them.
 */

/* Appends the params of a question, with an elicitationId if it needs one: the
 * id of its event. */
void mcp_input_url_params(const mcp_call_t *call, mcp_question_t *q,
    mcp_buf_t *out);

/* Record that a question was sent or answered: only questions to which the user
 * has agreed can be completed. */
void mcp_input_url_asked(mcp_request_t *req, const mcp_question_t *q);
void mcp_input_url_answered(mcp_request_t *req, const mcp_question_t *q);

/* Notifies the client of completed questions. Returns MCP_OK, or MCP_AGAIN:
 * there is no room, to be repeated. */
int  mcp_input_url_settle(mcp_request_t *req);

/* Returns 1 if a notification of the backend reports a completion whose
 * questions the server has to name. */
int  mcp_input_url_is_settled(const mcp_request_t *req,
    const mcp_backend_msg_t *msg);


#endif /* MCP_CALL_INTERNAL_H_INCLUDED */
