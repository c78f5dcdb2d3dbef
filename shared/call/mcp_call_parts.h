/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the files of a call share:
 *
 *   mcp_call.c         its life: start, end, and what ends it
 *   mcp_call_stream.c  its stream: becoming durable
 *   mcp_call_answer.c  its answers
 *   mcp_call_join.c    a stream that others may join
 *   mcp_call_list.c    what it may show of its backend's lists
 *   mcp_call_time.c    what is due in it
 *   mcp_call_task.c    a call that is a task
 *   mcp_request.c      a request's state, and how it ends
 *   mcp_job.c          a backend at work on a request
 *   mcp_job_facts.c    what it is told
 *   mcp_job_message.c  what it says
 *   mcp_job_subscribe.c  what a session subscribes to
 *   mcp_inbox.c        what other processes have for the call
 *   mcp_cancel.c       cancellation
 *   mcp_input.c        asking the client in the middle of the call
 *   mcp_input_again.c  invoking the backend again
 *   mcp_input_can.c    what the client can be asked
 *   mcp_input_post.c   what the client answers
 *   mcp_input_respond.c  asking in the response, the way of 2026-07-28
 *   mcp_input_state.c  the state that such a client brings back
 *   mcp_input_task.c   asking in a task
 *   mcp_input_url.c    questions that send the user to a URL
 */


#ifndef MCP_CALL_PARTS_H_INCLUDED
#define MCP_CALL_PARTS_H_INCLUDED


#include "call/mcp_call.h"


/* --- mcp_call.c --- */

/* Starts a job on a request, for the first time or with input, or fails it. */
void mcp_call_invoke(mcp_request_t *req);

/* Sets the call's limits. */
void mcp_call_take_policy(mcp_call_t *call);

/* Logs a change of phase at debug. */
void mcp_call_set_phase(mcp_call_t *call, mcp_call_phase_e phase);

/* All requests have their answer, or need none: gives it to a client that
 * waits for it, and ends the call. */
void mcp_call_done(mcp_call_t *call);

/* Ends a call that cannot go on, with one fault for all that is pending. */
void mcp_call_abandon(mcp_call_t *call, mcp_fault_e fault);

/* Ends a call without a word: stops its jobs. */
void mcp_call_stop(mcp_call_t *call);

/* Ends a call whose client has closed its connection, which cancels it. */
void mcp_call_cancelled(mcp_call_t *call);

/* A job has gone, perhaps the last thing that kept a call that is over. */
void mcp_call_check_end(mcp_call_t *call);


/* --- mcp_call_stream.c --- */

/* Sets the state of the call's stream in the store, and logs a change. */
void mcp_call_set_stream_state(mcp_call_t *call, mcp_stream_state_e state);

/* The stream has another state, perhaps, which an event brought: logs that at
 * debug, and tells those who listen to a task. */
void mcp_call_note_stream_state(mcp_call_t *call, mcp_stream_state_e state);

/* Makes the stream; promised: its client is told how to come back. */
int  mcp_call_create_stream(mcp_call_t *call, int promised);

/* From now on every event is in the store before it is sent.  MCP_OK, also
 * when it is so already, or MCP_ERR_DENIED: the call has been ended. */
int  mcp_call_durable(mcp_call_t *call);

/* Gives each request that has no answer the fault, as the last events of the
 * stream; one that cannot even take them goes, so that its client is told 404
 * instead of waiting. */
void mcp_call_abandon_stream(mcp_call_t *call, mcp_fault_e fault);

/* Ends a call that cannot be kept: MCP_ERR_LIMIT, MCP_ERR_FULL, or another
 * error.  If its backend has begun nobody is invited to begin it again, as 503
 * and 429 would. */
void mcp_call_refuse(mcp_call_t *call, int rc);

/* Why an append failed that cannot be tried again, for the log. */
const char *mcp_call_append_reason(int rc);


/* --- mcp_call_join.c --- */

/* How long a call that others may join runs on without a client, of which
 * max_wait is configured. */
uint64_t mcp_call_join_wait(const mcp_call_t *call, uint64_t max_wait);

/* The one answer of a call is on its way as JSON: those who have joined get it
 * from the stream. */
void mcp_call_join_answer(mcp_request_t *req, mcp_ending_e how);

/* Its client has left before a backend could be asked: others do that. */
void mcp_call_withdraw(mcp_call_t *call);

/* Gives x, its client, that answer, when all nodes of a cluster can give it. */
void mcp_call_join_respond(mcp_call_t *call, mcp_exchange_t *x);


/* --- mcp_call_answer.c --- */

/* Appends an answer to the stream.  MCP_OK, MCP_AGAIN, or what the store
 * says. */
int mcp_call_answer_stored(mcp_request_t *req, mcp_str_t text,
    mcp_ending_e how);

/* That of the stream while the call goes on. */
mcp_stream_state_e mcp_call_state(const mcp_call_t *call);

/* Which request its response answers, and how, for mcp_store_append(). */
int mcp_call_answers(const mcp_request_t *req, mcp_ending_e how);

/*
 * Gives a request its answer, body being its result or, when it ends with an
 * RPC_ERROR, its error, and ends the call with the last one.  MCP_OK (also for
 * one that has its answer, and when all has failed); MCP_AGAIN: no room, to be
 * repeated.
 */
int  mcp_call_finish(mcp_request_t *req, mcp_str_t body, mcp_ending_e how);

/* The same for a result that has neither resultType nor _meta. */
int  mcp_call_finish_plain(mcp_request_t *req, mcp_str_t result,
    mcp_ending_e how);

int  mcp_call_finish_fault(mcp_request_t *req, mcp_fault_e fault,
    mcp_str_t detail);

/* The same, with error.data, which is raw JSON. */
int  mcp_call_finish_fault_data(mcp_request_t *req, mcp_fault_e fault,
    mcp_str_t detail, mcp_str_t data);

/* The same, with the reason in error.data if it is the server's or a backend's
 * fault, and the endpoint tells (mcp_debug). */
int  mcp_call_finish_fault_why(mcp_request_t *req, mcp_fault_e fault,
    mcp_str_t why);

/* A tool result with isError, or a JSON-RPC error where there is no tool. */
int  mcp_call_finish_text(mcp_request_t *req, mcp_str_t text);

/* The same for good: what finds no room is held and tried again. */
void mcp_call_fail(mcp_request_t *req, mcp_fault_e fault);
void mcp_call_hold_fault(mcp_request_t *req, mcp_fault_e fault);


/* --- mcp_call_list.c --- */

/*
 * Copies the result of a list without the items that the endpoint's rules hide
 * from the caller.
 *
 * Returns MCP_OK, or
 *   MCP_DONE        the request asks for no list, or nothing is hidden from
 *                   anybody: out is as it was
 *   MCP_ERR_MEMORY
 */
int mcp_call_list_filter(mcp_request_t *req, mcp_str_t result, mcp_buf_t *out);


/* --- mcp_call_task.c --- */

/* Makes the call durable and a task, before a backend is asked.  MCP_OK; else
 * the call has been ended. */
int  mcp_call_promote_first(mcp_call_t *call);

/* When it ends, whatever its state; and ends it then, without a word. */
uint64_t mcp_call_expires(const mcp_call_t *call);
void mcp_call_expire_task(mcp_call_t *call);

/* Tells those who listen to the task, if it is one; and when they are to be
 * told what they were not told at once, UINT64_MAX: not at all. */
void mcp_call_task_changed(mcp_call_t *call);
uint64_t mcp_call_tell_at(const mcp_call_t *call);

/* Makes a notification of the backend's the task's status, if it is progress:
 * of a task no others are sent. */
void mcp_call_status(mcp_request_t *req, const mcp_backend_msg_t *msg);


/* --- mcp_call_time.c --- */

/* Answers a client that waits with how it comes back. */
void mcp_call_send_interim(mcp_call_t *call);

/* The rest will be published: the call becomes durable, and a task at once if
 * it may be one. */
void mcp_call_detached(mcp_call_t *call);

/* Returns 1 if it has begun and no job waits to be started: that takes the
 * client's request, which leaves the call when it becomes durable. */
int mcp_call_is_started(const mcp_call_t *call);

/* Arms the call's timer for what is due next. */
void mcp_call_set_timer(mcp_call_t *call);

/* The handler of that timer; data is the call. */
void mcp_call_timer(void *data);


/* --- mcp_job.c --- */

/* Queues an invocation with a decoder of its own, which replaces the last
 * one: nothing may be held.  MCP_OK or MCP_ERR_MEMORY. */
int  mcp_job_start(mcp_request_t *req);

/* The glue has pulled an action of a job. */
void mcp_job_taken(mcp_errand_t *errand, mcp_action_t *action);

/* Nothing more is wanted of the request's job; what is held is dropped. */
void mcp_job_stop(mcp_request_t *req);
void mcp_job_stop_all(mcp_call_t *call);

/* The request's deadline has passed.  May end the call. */
void mcp_job_deadline(mcp_request_t *req);

/* Keeps a message that found no room; its text stays the decoder's, which is
 * not asked for another one meanwhile. */
void mcp_job_hold(mcp_request_t *req, const mcp_backend_msg_t *msg);

/* Works through what is held and what the decoder has, until it has no more or
 * the stream has no room.  May end the call. */
void mcp_job_process(mcp_request_t *req);


/* Goes on with what is held, and has the backend do so. */
void mcp_job_continue(mcp_request_t *req);


/* --- mcp_job_facts.c --- */

/* Fills in what all jobs of a call tell their backends, in its arena. */
void mcp_job_facts(mcp_call_t *call);


/* --- mcp_job_message.c --- */

/* One message, of the backend or published.  MCP_OK; MCP_AGAIN: no room for it
 * now.  May end the call. */
int  mcp_job_message(mcp_request_t *req, const mcp_backend_msg_t *msg);


/* --- mcp_job_subscribe.c --- */

/* Subscribes, or unsubscribes, if that is what the request is for: MCP_OK, and
 * what has failed, or MCP_AGAIN, and mcp_job_process() is called in the end. */
int  mcp_job_subscribe(mcp_request_t *req, mcp_fault_e *fault);


/* --- mcp_inbox.c --- */

/* The store has something for the call: room, a consumer come or gone,
 * posts, a cancellation.  May end it. */
void mcp_inbox_wake(void *call);

/* There may be room now: for what is held, for backends that were stopped, for
 * what was posted behind it.  May end the call. */
void mcp_inbox_continue(mcp_call_t *call);

/* Frees what was taken out of the inbox and not looked at. */
void mcp_inbox_drop(mcp_call_t *call);


/* --- mcp_cancel.c --- */

/* Cancels those of a call's requests whose bits are set: they get no response.
 * May end it. */
void mcp_cancel_requests(mcp_call_t *call, uint64_t requests);

/* A call that has become durable is found in the store from now on: cancels
 * what was marked before.  May end it. */
void mcp_cancel_check(mcp_call_t *call);

/* Polls for the marks of a call that is not durable yet; and no more, which is
 * a no-op for a call that is not tracked. */
void mcp_cancel_track(mcp_call_t *call);
void mcp_cancel_untrack(mcp_call_t *call);


/* --- mcp_input_can.c --- */

/*
 * 1 if the client said that it can answer this; 0 if not; -1 if nobody can.
 * Modes and tools have capabilities of their own (2025-11-25,
 * client/elicitation and client/sampling, "Capabilities").
 */
int  mcp_input_can(const mcp_client_t *client, const mcp_question_t *q);

/* Returns the capabilities that n questions need, each of which somebody can
 * answer, and that the client lacks. */
unsigned mcp_input_lacks(const mcp_client_t *client, const mcp_question_t *q,
    size_t n);

/* Appends the ClientCapabilities object that has these bits of
 * MCP_CLIENT_INPUT. */
void mcp_input_capabilities(unsigned bits, mcp_buf_t *out);


/* --- mcp_input.c --- */

/* Asks the client what the backend wants to know.  As mcp_call_finish(). */
int  mcp_input_begin(mcp_request_t *req, const mcp_backend_msg_t *msg);

/* Reads the questions and the state of a new round. */
mcp_fault_e mcp_input_read_round(mcp_request_t *req,
    const mcp_backend_msg_t *msg);

/* Takes what mcp_input_deliver() has brought to the process that owns the
 * call. */
void mcp_input_answer(mcp_call_t *call, mcp_str_t text);

/* Keeps an answer; the last one lets the backend go on.  May end the call. */
void mcp_input_keep(mcp_request_t *req, mcp_question_t *q, mcp_str_t result);


/* --- mcp_input_again.c --- */

/* Invokes the backend again, with what the client has answered.  As
 * mcp_call_finish(). */
int  mcp_input_again(mcp_request_t *req);

/* The same after a while, until its time is over: the backend has asked
 * nothing. */
int  mcp_input_pause(mcp_request_t *req);


/* --- mcp_input_respond.c --- */

/* The question as the response, for a client of a stateless revision.  As
 * mcp_call_finish(). */
int  mcp_input_respond(mcp_request_t *req, const mcp_backend_msg_t *msg);

/* Ends a request whose client lacks what its backend's questions need.  As
 * mcp_call_finish(). */
int  mcp_input_refuse_lacks(mcp_request_t *req, unsigned lacks);


/* --- mcp_input_task.c --- */

/* The questions as a task's.  As mcp_call_finish(). */
int  mcp_input_task_begin(mcp_request_t *req, const mcp_backend_msg_t *msg);

/* Takes answers to the questions of an event: an object of results by the
 * places of their questions.  May end the call. */
void mcp_input_task_answer(mcp_call_t *call, uint64_t number, mcp_str_t text);


/* --- mcp_input_state.c --- */

/* Appends the backend's state, a JSON string, as the client gets it.  Returns
 * what mcp_request_state_seal() does. */
int  mcp_input_state_seal(mcp_request_t *req, mcp_str_t state,
    mcp_buf_t *out);


/* --- mcp_input_url.c --- */

/*
 * In 2025-11-25 a question that sends the user to a URL has an elicitationId,
 * and a notification says that it is settled (client/elicitation, "Completion
 * Notifications for URL Mode Elicitation"); in 2026-07-28 neither exists, so
 * backends do not write them.
 */

/* Appends the question's params, with an elicitationId if one is due: its
 * event's id. */
void mcp_input_url_params(const mcp_call_t *call, mcp_question_t *q,
    mcp_buf_t *out);

/* The question has been sent; it has been answered: only what the user has
 * agreed to can be settled. */
void mcp_input_url_asked(mcp_request_t *req, const mcp_question_t *q);
void mcp_input_url_answered(mcp_request_t *req, const mcp_question_t *q);

/* Tells the client that what it was asked is settled.  MCP_OK, or MCP_AGAIN: no
 * room, to be repeated. */
int  mcp_input_url_settle(mcp_request_t *req);

/* Whether a notification of the backend's says so, and it is for us to name
 * what is settled. */
int  mcp_input_url_is_settled(const mcp_request_t *req,
    const mcp_backend_msg_t *msg);


#endif /* MCP_CALL_PARTS_H_INCLUDED */
