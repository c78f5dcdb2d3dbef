/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Internal declarations of the files of a call:
 *
 *   mcp_call.c                                start and end of a call
 *   mcp_call_stream.c                         the stream of a durable call
 *   mcp_call_response.c                       the responses of a call; states
 *                                             and outcomes of its requests;
 *                                             hidden items of lists
 *   mcp_call_timer.c                          the timer of a call
 *   mcp_call_task.c                           a call that is a task
 *   mcp_call_subscribe.c                      subscriptions of a session
 *   mcp_cancel.c                              cancellation, end of a session
 *   mcp_inbox.c                               posts from other processes; the
 *                                             client's answers
 *   mcp_input.c                               questions to the client during
 *                                             the call
 *   mcp_input_required.c                      questions as the response
 *                                             (2026-07-28), and the
 *                                             capabilities that questions need
 *   mcp_backend_request.c                     a backend request
 *   mcp_backend_request_prepare.c             variables and URLs for a backend;
 *                                             the request for an MCP server
 *   mcp_backend_response_message.c            messages from a backend
 *   mcp_cluster_broadcast_receive.c           messages from other nodes
 *   mcp_upstream_detect.c                     the form, other properties and
 *                                             statistics of an MCP server
 *   mcp_upstream_list_from_cache.c            cached lists of an MCP server
 *   mcp_upstream_param_header.c               headers from the arguments of a
 *                                             tool
 *   mcp_upstream_session.c                    the session at an MCP server
 *   mcp_upstream_session_shared.c             its sessions in the zone and in
 *                                             Redis
 *   mcp_upstream_wait.c                       requests that wait for a session;
 *                                             initialize of a request that is
 *                                             over
 *   mcp_upstream_listen.c                     the GET stream of a session
 *   mcp_upstream_listen_message.c             the messages on the GET stream
 *   mcp_upstream_question.c                   questions of an MCP server
 *   mcp_upstream_question_stateless_client.c  these questions for clients of
 *                                             2026-07-28
 *   mcp_upstream_respond.c                    responses to these questions
 *   mcp_upstream_resume.c                     resuming a stream of an MCP
 *                                             server
 */


#ifndef MCP_CALL_INTERNAL_H_INCLUDED
#define MCP_CALL_INTERNAL_H_INCLUDED


#include "call/mcp_call.h"
#include "rpc/mcp_upstream_body.h"


/* --- mcp_call.c --- */

/* Starts the first or the next backend request of a request. If
 * mcp_backend_request_start() fails, the request gets a fault as its
 * response. */
void mcp_call_invoke(mcp_request_t *req);

/* Sets call->policy from the endpoint and the client. A batch can be resumed
 * only if the policy of each of its requests allows resumption. */
void mcp_call_take_policy(mcp_call_t *call);

/* Sets the phase of the call, and logs the change at level debug. */
void mcp_call_set_phase(mcp_call_t *call, mcp_call_phase_e phase);

/* Ends a call whose requests all have their responses, or need none. A client
 * that waits for plain JSON gets the responses. */
void mcp_call_done(mcp_call_t *call);

/* Ends a call that cannot continue, with the same fault for all pending
 * requests. */
void mcp_call_abandon(mcp_call_t *call, mcp_fault_e fault);

/* Ends a call without writing a response, and stops its backend requests. */
void mcp_call_stop(mcp_call_t *call);

/* Ends a call that is cancelled by the end of its client's connection. */
void mcp_call_cancelled(mcp_call_t *call);

/* Called when a backend request has ended. Frees a call that is over, if none
 * of its backend requests is left. */
void mcp_call_check_end(mcp_call_t *call);


/* --- mcp_call_stream.c --- */

/* Sets the state of the call's stream in the store. If the state has changed,
 * logs the new state at level debug and, if the call is a task, notifies its
 * listeners. */
void mcp_call_set_stream_state(mcp_call_t *call, mcp_stream_state_e state);

/* Called after an append that has set the state of the stream. If the state
 * has changed, logs the new state at level debug and, if the call is a task,
 * notifies its listeners. */
void mcp_call_note_stream_state(mcp_call_t *call, mcp_stream_state_e state);

/* Makes the call durable: from now on each event is stored before it is sent.
 * Returns MCP_OK, also if the call was durable already, or MCP_ERR_DENIED: the
 * call has ended. */
int  mcp_call_durable(mcp_call_t *call);

/* Appends the fault as the response of each pending request. If a response
 * cannot be stored, frees the stream, so that its client gets 404 instead of
 * waiting. */
void mcp_call_abandon_stream(mcp_call_t *call, mcp_fault_e fault);

/* Ends a call that cannot get or keep a stream. rc is the reason: MCP_ERR_LIMIT
 * for a quota, MCP_ERR_FULL for a full zone, or another error. The client gets
 * 429, 503 or 500. If a backend request runs, the client gets a fault that does
 * not suggest a retry instead of 429 or 503. */
void mcp_call_refuse(mcp_call_t *call, int rc);

/* Returns a text for the log: why mcp_store_append() has failed with rc, which
 * is not MCP_ERR_LIMIT or MCP_ERR_FULL. */
const char *mcp_call_append_reason(int rc);

/* Returns how long a call that other requests may join continues without a
 * consumer, ms. max_wait is the policy's time for a call that no other request
 * may join. */
uint64_t mcp_call_join_wait(const mcp_call_t *call, uint64_t max_wait);

/* Appends the response of the call's only request to the stream, from which the
 * joined requests read it. The call's own client gets plain JSON. Frees the
 * stream if the response cannot be appended. */
void mcp_call_join_append(mcp_request_t *req, mcp_outcome_e how);

/* Sends the response of a joinable call to the client of x, as soon as the
 * other nodes of the cluster have the response, see
 * mcp_operation_respond_with(). */
void mcp_call_join_respond(mcp_call_t *call, mcp_exchange_t *x);


/* --- mcp_call_response.c --- */

/* Appends a response to the stream. Returns MCP_OK (also if the stream does
 * not exist any more), MCP_AGAIN if there is no room, or an error of the
 * store. */
int mcp_call_response_stored(mcp_request_t *req, mcp_str_t text,
    mcp_outcome_e how);

/* Returns the stream state of a call that is active: INPUT_REQUIRED if one of
 * its requests waits for the client's answers, otherwise PROCESSING. */
mcp_stream_state_e mcp_call_state(const mcp_call_t *call);

/* Returns the argument "answers" of mcp_store_append() for the response of a
 * request with the outcome "how": the index of the request, with the flags for
 * an error and for the outcome. */
int mcp_call_responses(const mcp_request_t *req, mcp_outcome_e how);

/*
 * Sets the response of a request, with the outcome "how". body is the result,
 * or the error if how is MCP_OUTCOME_RPC_ERROR. Ends the call with the last
 * response.
 *
 * Returns MCP_OK, also if the request has a response already or the call has
 * failed; or
 *   MCP_AGAIN  the stream has no room: the caller repeats this later
 */
int  mcp_call_finish(mcp_request_t *req, mcp_str_t body, mcp_outcome_e how);

/* Does the same as mcp_call_finish(), for a result that has neither resultType
 * nor _meta. */
int  mcp_call_finish_plain(mcp_request_t *req, mcp_str_t result,
    mcp_outcome_e how);

/* Sets a fault as the response of a request; detail is added to the message of
 * the error, and may be empty. Returns the values of mcp_call_finish(). */
int  mcp_call_finish_fault(mcp_request_t *req, mcp_fault_e fault,
    mcp_str_t detail);

/* Does the same as mcp_call_finish_fault(), with the raw JSON "data" as
 * error.data. */
int  mcp_call_finish_fault_data(mcp_request_t *req, mcp_fault_e fault,
    mcp_str_t detail, mcp_str_t data);

/* Sets a fault as the response of a request. If mcp_debug is on, and the
 * JSON-RPC code of the fault is that of an internal error, "why" becomes the
 * member "reason" of error.data. Returns the values of mcp_call_finish(). */
int  mcp_call_finish_fault_why(mcp_request_t *req, mcp_fault_e fault,
    mcp_str_t why);

/* Sets text as the response: as a result with isError for tools/call, or as a
 * JSON-RPC error for other methods. */
int  mcp_call_finish_text(mcp_request_t *req, mcp_str_t text);

/* mcp_call_fail() does the same as mcp_call_finish_fault(), but repeats it
 * later if the stream has no room. mcp_call_hold_fault() makes the fault the
 * held message of the request, to be processed when there is room. */
void mcp_call_fail(mcp_request_t *req, mcp_fault_e fault);
void mcp_call_hold_fault(mcp_request_t *req, mcp_fault_e fault);

/* Returns 1 if the result of a list method has an array of items. */
int mcp_call_list_has_items(mcp_list_e kind, mcp_str_t result);

/*
 * Copies the result of a list method to out, without the items that the
 * endpoint's rules (mcp_allow) hide from the caller.
 *
 * Returns MCP_OK, or
 *   MCP_DONE        the method is not a list method, or the endpoint has no
 *                   rules: out is unchanged
 *   MCP_ERR_MEMORY
 */
int mcp_call_list_filter(mcp_request_t *req, mcp_str_t result, mcp_buf_t *out);


/* --- mcp_call_task.c --- */

/* Makes the call durable and a task before a backend is called, because the
 * client gets the task as an interim response. Returns MCP_OK; otherwise the
 * call has ended. */
int  mcp_call_promote_first(mcp_call_t *call);

/* mcp_call_expires() returns when a task expires, in any state of the task, ms.
 * mcp_call_expire_task() ends a task that has expired, and frees its stream. */
uint64_t mcp_call_expires(const mcp_call_t *call);
void mcp_call_expire_task(mcp_call_t *call);

/* mcp_call_task_changed() notifies the listeners of a task of its state; it
 * does nothing for other calls. mcp_call_notify_at() returns when a delayed
 * notification has to be sent, ms, or UINT64_MAX if there is none. */
void mcp_call_task_changed(mcp_call_t *call);
uint64_t mcp_call_notify_at(const mcp_call_t *call);

/* Makes the text of a backend's progress notification the status message of a
 * task. Ignores all other notifications. */
void mcp_call_status(mcp_request_t *req, const mcp_backend_msg_t *msg);


/* --- mcp_call_timer.c --- */

/* Makes the call durable, and sends the interim response to the waiting
 * client. */
void mcp_call_send_interim(mcp_call_t *call);

/* Called when a backend has responded with HTTP 202: it will deliver all
 * messages to the publish endpoint. Makes the call durable, and a task if its
 * client accepts one. */
void mcp_call_detached(mcp_call_t *call);

/* Returns 1 if the call has started, and the glue has pulled INVOKE for each of
 * its backend requests, or PREPARE for one that waits for a session. Before
 * that, the call must not become durable: a durable call releases the client's
 * exchange, which the start of a backend request needs. */
int mcp_call_is_started(const mcp_call_t *call);

/* Arms the call's timer for its next deadline. */
void mcp_call_set_timer(mcp_call_t *call);

/* Handler of the call's timer; data is the call. */
void mcp_call_timer(void *data);


/* --- mcp_backend_request.c --- */

/*
 * Queues a backend request with a new decoder, which replaces the decoder of
 * the previous backend request. The request must not have a held message.
 *
 * Returns MCP_OK, also if the request waits for a session at an MCP server, or
 *   MCP_ERR_SYNTAX  the arguments are invalid; req->why is the reason
 *   MCP_ERR_MEMORY
 */
int  mcp_backend_request_start(mcp_request_t *req);

/* Queues a backend request that cancels a call at an MCP server or ends its
 * session, see mcp_upstream_session_end(). */
void mcp_backend_request_start_after(mcp_request_t *req);

/* Called when the glue pulls an action about a backend request. Records that
 * the glue prepares or starts the backend request. For MCP_ACT_NONE, answers
 * the request without a backend. */
void mcp_backend_request_taken(mcp_queued_action_t *queued,
    mcp_action_t *action);

/* Stop the backend request of one request, or of all requests of a call, and
 * drop held messages. A backend request that opens a session at an MCP server
 * continues, see mcp_upstream_wait.h. */
void mcp_backend_request_stop(mcp_request_t *req);
void mcp_backend_request_stop_all(mcp_call_t *call);

/* Called when the deadline of a request has passed. Depending on the state of
 * the request, calls its backend again, postpones the deadline, or ends the
 * request with a timeout. Aborts a backend request that still runs after the
 * end of its request. May end the call. */
void mcp_backend_request_deadline(mcp_request_t *req);

/* Holds a message for which the stream has no room. Its text remains in the
 * decoder, which must not be called until the message is processed. */
void mcp_backend_request_hold(mcp_request_t *req, const mcp_backend_msg_t *msg);

/* If a message of the request is held, processes it again, and then the later
 * messages of the decoder. If no message is held after that, lets the glue pass
 * the bytes again that were rejected meanwhile. */
void mcp_backend_request_continue(mcp_request_t *req);


/* --- mcp_backend_request_prepare.c --- */

/* Sets the variables that are equal for all backend requests of a call. Their
 * values are in the call's arena. */
void mcp_backend_request_call_variables(mcp_call_t *call);

/* Adapts a prepared backend request to a backend that is an MCP server: its
 * body, its variables, its headers and its decoder. Returns MCP_OK, or a value
 * of mcp_upstream_session_begin() or mcp_upstream_param_write(). */
int  mcp_backend_request_to_upstream(mcp_request_t *req);

/* Sets *meta to the members that _meta gets when the request of a client with a
 * session is sent to an MCP server of 2026-07-28. */
void mcp_backend_request_meta(mcp_request_t *req, mcp_upstream_meta_t *meta);


/* --- mcp_backend_response_message.c --- */

/*
 * Processes one message from the backend or the publish endpoint. Returns
 * MCP_OK, or MCP_AGAIN: the caller has to hold the message, because the stream
 * has no room or the result of a cluster operation is pending. May change the
 * message, and may end the call.
 */
int  mcp_backend_request_message(mcp_request_t *req, mcp_backend_msg_t *msg);

/* Does the same for a held message, which has updated the data about its MCP
 * server already. */
int  mcp_backend_request_message_held(mcp_request_t *req,
    mcp_backend_msg_t *msg);

/* Sets the response of a request whose backend has timed out. Returns the
 * values of mcp_call_finish(). */
int  mcp_backend_request_late(mcp_request_t *req);


/* --- mcp_call_subscribe.c --- */

/*
 * Called for the result of a backend. Subscribes or unsubscribes the session
 * if the method is resources/subscribe or resources/unsubscribe. Returns
 * MCP_OK and sets *fault, to MCP_FAULT_NONE on success. Returns MCP_AGAIN if
 * the caller has to hold the result: it is processed again when the cluster
 * operation is done.
 */
int  mcp_backend_request_subscribe(mcp_request_t *req, mcp_fault_e *fault);


/* --- mcp_inbox.c --- */

/* Handles a wake-up of the call by the store: the stream has room again, has a
 * new consumer, has lost its consumer, or was freed; there are posts, or a
 * cancellation. May end the call. */
void mcp_inbox_wake(void *call);

/* Called when the stream may have room again: processes held messages, lets
 * backends whose bytes were rejected send them again, and reads posts. May end
 * the call. */
void mcp_inbox_continue(mcp_call_t *call);

/* Frees the posts that were taken from the inbox but not processed. */
void mcp_inbox_drop(mcp_call_t *call);


/* --- mcp_cancel.c --- */

/* Cancels the requests of a call whose bits are set in "requests"; they get no
 * response. May end the call. */
void mcp_cancel_requests(mcp_call_t *call, uint64_t requests);

/* Called when the call has become durable. Cancels all requests if the session
 * has ended; otherwise those for which mcp_cancel() has set a mark, because
 * they were cancelled before the call was durable. May end the call. */
void mcp_cancel_check(mcp_call_t *call);

/* mcp_cancel_track() starts, and mcp_cancel_untrack() ends, the polling for
 * marks of cancelled requests while a call is not durable. mcp_cancel_track()
 * does nothing for a client without a session. mcp_cancel_untrack() removes the
 * call from worker->tracked or worker->rounds, and does nothing if the call is
 * in neither list. */
void mcp_cancel_track(mcp_call_t *call);
void mcp_cancel_untrack(mcp_call_t *call);


/* --- mcp_input.c --- */

/* Lets a request wait for the client's answers, for mcp_input_timeout at
 * most. */
void mcp_input_wait(mcp_request_t *req);

/* Sends the questions in a backend's message to the client; without a
 * question, calls the backend again after a pause. Returns the values of
 * mcp_call_finish(). */
int  mcp_input_begin(mcp_request_t *req, const mcp_backend_msg_t *msg);

/* Frees the questions and the request state of the previous message, and reads
 * the ones of a backend's message into req. Returns MCP_FAULT_NONE,
 * MCP_FAULT_BACKEND_OUTPUT for an invalid message, or MCP_FAULT_INTERNAL. */
mcp_fault_e mcp_input_read_round(mcp_request_t *req,
    const mcp_backend_msg_t *msg);

/* Writes a question to buf as a JSON-RPC request, and sets the question's
 * number. The caller has to append the request as the next event of the stream.
 * Returns MCP_OK or an error of mcp_store_info() or of the buffer. */
int  mcp_input_write(mcp_call_t *call, mcp_question_t *q, mcp_buf_t *buf);

/* Processes the client's answers to questions. "text" is one response or an
 * array of responses, which mcp_input_deliver() has put into the inbox. */
void mcp_input_answer(mcp_call_t *call, mcp_str_t text);

/* Stores the answer to a question. If all questions are answered, calls the
 * backend again. May end the call. */
void mcp_input_keep(mcp_request_t *req, mcp_question_t *q, mcp_str_t result);

/* Calls the backend again with the client's answers, as soon as its previous
 * backend request has ended. Returns the values of mcp_call_finish(). */
int  mcp_input_retry(mcp_request_t *req);

/* Called when the backend has asked for input without a question. Calls the
 * backend again after a pause. If all messages of the backend within
 * mcp_input_timeout were without a question, lets the request fail instead.
 * Returns MCP_OK. */
int  mcp_input_pause(mcp_request_t *req);

/*
 * In 2025-11-25 a question that sends the user to a URL has an elicitationId,
 * and a notification reports its completion (client/elicitation, "Completion
 * Notifications for URL Mode Elicitation"). In 2026-07-28, the form in which
 * backends write questions, neither exists; the core adds both for clients of
 * 2025-11-25.
 */

/* Notifies the client that the questions in req->urls are completed. Returns
 * MCP_OK, or MCP_AGAIN if the stream has no room: the caller has to call this
 * again later. */
int  mcp_input_url_settle(mcp_request_t *req);

/*
 * Returns 1 if the backend's message msg is notifications/elicitation/complete
 * and must not be passed to the client: it has no elicitationId, or the client
 * uses 2026-07-28, which does not have this notification. In the first case,
 * the caller sends the notifications of mcp_input_url_settle() instead.
 */
int  mcp_input_url_is_settled(const mcp_request_t *req,
    const mcp_backend_msg_t *msg);


/* --- mcp_input_required.c --- */

/*
 * Returns 1 if the client has declared the capabilities that a question needs,
 * 0 if not, -1 if the method of the question is unknown, so that no client can
 * answer it. Modes of elicitation and tools in sampling need capabilities of
 * their own (2025-11-25, client/elicitation and client/sampling,
 * "Capabilities").
 */
int  mcp_input_capability(const mcp_client_t *client, const mcp_question_t *q);

/* Returns the bits of the capabilities that n questions need and the client
 * lacks. mcp_input_capability() must not be -1 for any of the questions. */
unsigned mcp_input_lacks(const mcp_client_t *client, const mcp_question_t *q,
    size_t n);

/* Appends the ClientCapabilities object for bits of MCP_CLIENT_INPUT. */
void mcp_input_capabilities(unsigned bits, mcp_buf_t *out);

/* Sends the questions in a backend's message as the response, to a client of a
 * revision without sessions. Returns the values of mcp_call_finish(). */
int  mcp_input_respond(mcp_request_t *req, const mcp_backend_msg_t *msg);

/* Ends a request whose client lacks capabilities that the questions need.
 * "lacks" has the bits of the missing capabilities. Returns the values of
 * mcp_call_finish(). */
int  mcp_input_refuse_lacks(mcp_request_t *req, unsigned lacks);

/* Seals the backend's request state, a JSON string, for the client, and appends
 * the sealed state to out. Returns the values of mcp_request_state_seal(). */
int  mcp_input_state_seal(mcp_request_t *req, mcp_str_t state,
    mcp_buf_t *out);


/* --- mcp_call_task.c: questions --- */

/* Appends the questions in a backend's message to the stream of the task, from
 * which the client gets them when it polls. Returns the values of
 * mcp_call_finish(). */
int  mcp_input_task_begin(mcp_request_t *req, const mcp_backend_msg_t *msg);

/* Appends n questions to the task's stream as one event, and sets the numbers
 * of the questions. Returns the values of mcp_store_append(). */
int  mcp_input_task_append(mcp_request_t *req, mcp_question_t *questions,
    size_t n);

/* Processes answers to the questions of the event "number": text is an object
 * whose keys are the indexes of the questions. May end the call. */
void mcp_input_task_answer(mcp_call_t *call, uint64_t number, mcp_str_t text);


#endif /* MCP_CALL_INTERNAL_H_INCLUDED */
