/* SPDX-License-Identifier: Apache-2.0 */

/* Processing of the messages that arrive on the GET stream of a session at an
 * MCP server. */

#include "call/mcp_upstream_listen.h"

#include "call/mcp_call_internal.h"
#include "call/mcp_upstream_list_from_cache.h"
#include "call/mcp_upstream_question.h"
#include "call/mcp_upstream_respond.h"
#include "worker/mcp_notification.h"


/* --- questions --- */

/* Returns the rank of a request for mcp_upstream_listen_choose(). A request
 * that has too many open questions has the lowest rank, because it cannot
 * forward a further one. A task has a lower rank, because its client only
 * polls. A request that waits for the GET stream has a lower rank, because the
 * server does not have the request yet, so it cannot be the reason for the
 * question. */
static int
mcp_upstream_listen_rank(const mcp_request_t *req)
{
    return (mcp_upstream_question_has_room(req) ? 4 : 0)
           + (req->call->task ? 0 : 2) + (req->session->listen_waits ? 0 : 1);
}


/* Returns the request on whose stream the client gets a question: the newest
 * request with the highest rank. Returns NULL if no request uses the stream. */
static mcp_request_t *
mcp_upstream_listen_choose(const mcp_upstream_listen_t *listen)
{
    mcp_request_t  *req, *best;

    best = mcp_upstream_listen_user(listen, NULL);

    for (req = best; req; req = mcp_upstream_listen_user(listen, req->session))
    {
        if (mcp_upstream_listen_rank(req) > mcp_upstream_listen_rank(best)) {
            best = req;
        }
    }

    return best;
}


/* Does the same as mcp_upstream_listen_choose(), for a question that the client
 * got on the stream of another request, "last". Returns NULL if no request can
 * forward the question. A task cannot, because the client gets events only when
 * it polls the task. */
static mcp_request_t *
mcp_upstream_listen_choose_again(const mcp_upstream_listen_t *listen,
    const mcp_request_t *last)
{
    mcp_request_t  *req, *best;

    best = NULL;

    for (req = mcp_upstream_listen_user(listen, NULL); req;
         req = mcp_upstream_listen_user(listen, req->session))
    {
        if (req != last && !req->call->task
            && mcp_upstream_question_has_room(req)
            && (best == NULL || mcp_upstream_listen_rank(req)
                                > mcp_upstream_listen_rank(best)))
        {
            best = req;
        }
    }

    return best;
}


/* Sends the server an error for each question of a list, which no request can
 * forward, as the response of the call of "of". Cancels the questions at the
 * client if the stream of req has room; req may be NULL. Frees the
 * questions. */
static void
mcp_upstream_listen_refuse_all(const mcp_backend_request_t *of,
    mcp_request_t *req, mcp_upstream_question_t *questions)
{
    mcp_upstream_question_t  *question;

    if (questions == NULL) {
        return;
    }

    while ((question = questions) != NULL) {
        questions = question->next;

        if (req) {
            mcp_upstream_question_cancel(req, question);
        }

        mcp_upstream_question_refuse(of, question->id);
        mcp_upstream_question_free(of->call->worker, question);
    }

    if (req && mcp_upstream_listen_questions_until(req) == 0) {
        mcp_upstream_listen_answered(req);
    }
}


void
mcp_upstream_listen_refuse_questions(mcp_upstream_listen_t *listen,
    mcp_request_t *req)
{
    mcp_upstream_question_t  *questions;

    questions = listen->questions;
    listen->questions = NULL;
    mcp_upstream_listen_refuse_all(&listen->breq, req, questions);
}


void
mcp_upstream_listen_refuse_held(mcp_upstream_listen_t *listen)
{
    mcp_backend_msg_t  msg;

    if (!listen->held) {
        return;
    }

    listen->held = 0;
    msg = listen->msg;

    do {
        if (msg.kind != MCP_BACKEND_REQUEST) {
            continue;
        }

        if (mcp_str_eq(msg.method, mcp_str("ping"))) {
            mcp_upstream_post_pong(&listen->breq, msg.id.raw);

        } else {
            mcp_upstream_question_refuse(&listen->breq, msg.id.raw);
        }

    } while (!mcp_upstream_post_is_full(listen->breq.call)
             && mcp_backend_read(listen->backend, &msg) == MCP_OK);
}


void
mcp_upstream_listen_take_questions(mcp_upstream_listen_t *listen,
    mcp_request_t *req)
{
    mcp_upstream_question_t  *taken, **last;

    taken = mcp_upstream_question_take(req);

    if (listen == NULL) {
        mcp_upstream_listen_refuse_all(&req->breq, req, taken);
        return;
    }

    for (last = &listen->questions; *last; last = &(*last)->next) {
        /* finds the end of the list */
    }

    *last = taken;

    if (listen->questions == NULL) {
        return;
    }

    if (mcp_upstream_listen_choose_again(listen, req) == NULL) {
        mcp_upstream_listen_refuse_questions(listen, req);
        return;
    }

    /* the timer sends the questions again, not this function, because a call is
     * ending at this moment */

    listen->questions_at = mcp_call_now(listen->breq.call);
    mcp_call_set_timer(listen->breq.call);
}


void
mcp_upstream_listen_ends(mcp_request_t *req)
{
    mcp_upstream_question_t      *question;
    const mcp_upstream_listen_t  *listen;

    if (req->session->listener_link == NULL) {
        return;
    }

    listen = mcp_upstream_listen_find(req->session);

    if (listen && mcp_upstream_listen_choose_again(listen, req)) {
        return;
    }

    for (question = req->server_questions; question; question = question->next)
    {
        if (question->listened) {
            mcp_upstream_question_cancel(req, question);
        }
    }

    for (question = listen ? listen->questions : NULL; question;
         question = question->next)
    {
        mcp_upstream_question_cancel(req, question);
    }
}


void
mcp_upstream_listen_question_again(mcp_upstream_listen_t *listen)
{
    mcp_request_t            *req;
    mcp_upstream_question_t  *question;

    while ((question = listen->questions) != NULL) {
        req = mcp_upstream_listen_choose_again(listen, NULL);

        if (req == NULL) {
            mcp_upstream_listen_refuse_questions(listen,
                mcp_upstream_listen_user(listen, NULL));
            return;
        }

        listen->questions = question->next;

        if (!mcp_call_is_started(req->call) || req->session->listen_waits
            || mcp_upstream_question_again(req, question) == MCP_AGAIN)
        {
            question->next = listen->questions;
            listen->questions = question;
            listen->questions_at = mcp_call_now(listen->breq.call)
                                   + MCP_UPSTREAM_LISTEN_QUESTION;

            /* the call of req has just ended, and no other one uses the
             * stream */

            if (listen->state == MCP_UPSTREAM_LISTEN_OVER) {
                mcp_upstream_listen_refuse_questions(listen, NULL);
            }

            return;
        }
    }
}


/* Returns the next request after "after" that takes questions from the GET
 * streams of a session, or NULL. Unlike mcp_upstream_listen_user(), this works
 * when no GET stream is left. */
static mcp_request_t *
mcp_upstream_listen_mate(const mcp_upstream_session_t *session,
    const mcp_upstream_session_t *after)
{
    mcp_upstream_session_t  *other;

    other = after ? after->listener : session->req->call->worker->listeners;

    for ( ; other; other = other->listener) {
        if (memcmp(other->key, session->key, MCP_DIGEST_LEN) == 0
            && other->req->target == session->req->target
            && other->len == session->len
            && memcmp(other->id, session->id, session->len) == 0)
        {
            return other->req;
        }
    }

    return NULL;
}


uint64_t
mcp_upstream_listen_questions_until(const mcp_request_t *req)
{
    uint64_t                        until;
    mcp_request_t                  *other;
    const mcp_upstream_listen_t    *listen;
    const mcp_upstream_question_t  *question;

    until = 0;

    if (req->session == NULL || !req->session->listened) {
        return 0;
    }

    listen = mcp_upstream_listen_find(req->session);

    for (question = listen ? listen->questions : NULL; question;
         question = question->next)
    {
        until = question->deadline > until ? question->deadline : until;
    }

    for (other = mcp_upstream_listen_mate(req->session, NULL); other;
         other = mcp_upstream_listen_mate(req->session, other->session))
    {
        for (question = other->server_questions; question;
             question = question->next)
        {
            if (question->listened && question->deadline > until) {
                until = question->deadline;
            }
        }
    }

    return until;
}


void
mcp_upstream_listen_answered(mcp_request_t *req)
{
    mcp_request_t  *other;

    for (other = mcp_upstream_listen_mate(req->session, NULL); other;
         other = mcp_upstream_listen_mate(req->session, other->session))
    {
        if (other->session->postponed) {
            other->session->postponed = 0;
            other->deadline = mcp_call_now(other->call)
                              + other->call->endpoint->call_timeout;
            mcp_call_set_timer(other->call);
        }
    }
}


/* --- messages --- */

/* Processes a notification of the server. Returns MCP_OK, or MCP_AGAIN: the
 * message has to be held. */
static int
mcp_upstream_listen_notification(mcp_upstream_listen_t *listen,
    const mcp_backend_msg_t *msg)
{
    int             rc;
    mcp_call_t     *call;
    mcp_request_t  *req;

    call = listen->breq.call;

    if (mcp_str_eq(msg->method, mcp_str("notifications/cancelled"))) {

        /* if questions wait to be sent again, the notification may cancel such
         * a question: holds the notification until all were sent */

        rc = listen->questions ? MCP_AGAIN : MCP_OK;

        for (req = mcp_upstream_listen_user(listen, NULL); req && rc == MCP_OK;
             req = mcp_upstream_listen_user(listen, req->session))
        {
            rc = mcp_upstream_question_cancelled(req, msg);
        }

        return rc;
    }

    mcp_upstream_list_changed(mcp_upstream_listen_opener(listen), msg->method);

    if (!mcp_notify_broadcast(call->worker, msg->method, msg->uri.raw,
                              msg->body))
    {
        mcp_call_trace(call, "dropped a notification on the GET stream of the "
                             "MCP server: %.*s",
                       (int) (msg->method.len > 64 ? 64 : msg->method.len),
                       msg->method.data);
    }

    return MCP_OK;
}


/* Processes a request of the server. Returns MCP_OK, or MCP_AGAIN: the message
 * has to be held. */
static int
mcp_upstream_listen_request(mcp_upstream_listen_t *listen,
    const mcp_backend_msg_t *msg)
{
    mcp_request_t  *req;

    req = listen->chosen ? listen->chosen : mcp_upstream_listen_choose(listen);

    if (req == NULL) {
        return MCP_OK;
    }

    listen->chosen = req;

    /* a question makes the call durable: not allowed before the call is
     * started */

    return mcp_call_is_started(req->call)
           ? mcp_upstream_question_receive(req, msg, 1) : MCP_AGAIN;
}


/* Processes one message of the stream. Returns MCP_OK, or MCP_AGAIN: the
 * message has to be held. */
static int
mcp_upstream_listen_message(mcp_upstream_listen_t *listen,
    const mcp_backend_msg_t *msg)
{
    switch (msg->kind) {

    case MCP_BACKEND_NOTIFICATION:
        return msg->ignored ? MCP_OK
                            : mcp_upstream_listen_notification(listen, msg);

    case MCP_BACKEND_REQUEST:
        return mcp_upstream_listen_request(listen, msg);

    default:
        mcp_upstream_listen_fail(listen, MCP_LOG_WARN,
                                 msg->detail ? msg->detail
                                             : "the server sent a response on "
                                               "this stream, where only "
                                               "requests and notifications "
                                               "are allowed");
        return MCP_OK;
    }
}


/* Holds a message and processes it again after 1 ms, which suffices if a call
 * is just being started. The time doubles each time. If the last call that used
 * the stream has just ended, refuses the message. */
static void
mcp_upstream_listen_hold(mcp_upstream_listen_t *listen,
    const mcp_backend_msg_t *msg)
{
    listen->msg = *msg;
    listen->held = 1;

    if (listen->state == MCP_UPSTREAM_LISTEN_OVER) {
        mcp_upstream_listen_refuse_held(listen);
        return;
    }

    listen->hold = listen->hold ? 2 * listen->hold : 1;

    if (listen->hold > MCP_CALL_RETRY) {
        listen->hold = MCP_CALL_RETRY;
    }

    listen->at = mcp_call_now(listen->breq.call) + listen->hold;
    mcp_call_set_timer(listen->breq.call);
}


void
mcp_upstream_listen_process(mcp_upstream_listen_t *listen)
{
    int                rc;
    mcp_backend_msg_t  msg;

    rc = MCP_OK;

    if (listen->held) {
        listen->held = 0;
        msg = listen->msg;

    } else {
        rc = mcp_backend_read(listen->backend, &msg);
    }

    while (rc == MCP_OK) {

        if (mcp_upstream_listen_message(listen, &msg) == MCP_AGAIN) {
            mcp_upstream_listen_hold(listen, &msg);
            return;
        }

        listen->chosen = NULL;
        listen->hold = 0;
        listen->tries = 0;

        if (listen->state != MCP_UPSTREAM_LISTEN_OPEN) {
            return;
        }

        rc = mcp_backend_read(listen->backend, &msg);
    }

    if (rc < 0) {
        mcp_upstream_listen_fail(listen, MCP_LOG_ERROR, "no memory");
    }
}
