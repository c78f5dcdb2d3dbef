/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>

#include "call/mcp_upstream_listen.h"

#include "call/mcp_call_internal.h"
#include "call/mcp_upstream_detect.h"
#include "call/mcp_upstream_question.h"
#include "call/mcp_upstream_wait.h"
#include "http/mcp_http_accept.h"


static mcp_upstream_listen_t *
mcp_upstream_listen_of(mcp_backend_request_t *breq)
{
    /* breq is the first member */

    return (mcp_upstream_listen_t *) (void *) breq;
}


static void
mcp_upstream_listen_set_state(mcp_upstream_listen_t *listen,
    mcp_upstream_listen_e state)
{
    static const char *const  names[] = {
        [MCP_UPSTREAM_LISTEN_OPENING] = "is requested",
        [MCP_UPSTREAM_LISTEN_OPEN] = "is open",
        [MCP_UPSTREAM_LISTEN_PAUSE] = "will be opened again",
        [MCP_UPSTREAM_LISTEN_OVER] = "has ended"
    };

    mcp_call_trace(listen->breq.call, "the GET stream of the MCP server %s",
                   names[state]);

    listen->state = state;
}


/* --- requests and their stream --- */

/* Returns 1 if the GET stream belongs to the session. */
static int
mcp_upstream_listen_is_of(const mcp_upstream_listen_t *listen,
    const mcp_upstream_session_t *session)
{
    return memcmp(listen->key, session->key, MCP_DIGEST_LEN) == 0
           && listen->breq.target == session->req->target
           && listen->len == session->len
           && memcmp(listen->id, session->id, listen->len) == 0;
}


mcp_upstream_listen_t *
mcp_upstream_listen_find(const mcp_upstream_session_t *session)
{
    mcp_upstream_listen_t  *listen;

    for (listen = session->req->call->worker->listens; listen;
         listen = listen->next)
    {
        if (listen->state != MCP_UPSTREAM_LISTEN_OVER
            && mcp_upstream_listen_is_of(listen, session))
        {
            break;
        }
    }

    return listen;
}


mcp_request_t *
mcp_upstream_listen_user(const mcp_upstream_listen_t *listen,
    const mcp_upstream_session_t *after)
{
    mcp_upstream_session_t  *session;

    session = after ? after->listener : listen->breq.call->worker->listeners;

    for ( ; session; session = session->listener) {
        if (mcp_upstream_listen_is_of(listen, session)) {
            return session->req;
        }
    }

    return NULL;
}


static void
mcp_upstream_listen_join(mcp_upstream_session_t *session)
{
    mcp_upstream_session_t  **first;

    first = &session->req->call->worker->listeners;

    session->listener = *first;
    session->listener_link = first;

    if (session->listener) {
        session->listener->listener_link = &session->listener;
    }

    *first = session;
}


/* Starts the backend requests of all requests that wait for a GET stream. */
static void
mcp_upstream_listen_release(mcp_upstream_listen_t *listen)
{
    mcp_request_t  *req;

    req = mcp_upstream_listen_user(listen, NULL);

    while (req) {
        if (!req->session->listen_waits) {
            req = mcp_upstream_listen_user(listen, req->session);
            continue;
        }

        req->session->listen_waits = 0;
        req->session->wait_until = 0;
        mcp_worker_unqueue(req->call->worker, &req->breq.queued);

        /* this may end the request and also others, so the loop begins again
         * with the first request */

        mcp_upstream_wait_start(req, MCP_FAULT_NONE);
        req = mcp_upstream_listen_user(listen, NULL);
    }
}


/* --- the backend request --- */

mcp_request_t *
mcp_upstream_listen_opener(const mcp_upstream_listen_t *listen)
{
    return &listen->breq.call->requests[listen->breq.request];
}


/* Called when the glue pulls an action about a GET stream. For MCP_ACT_INVOKE,
 * records that the GET request has started. If the GET request was aborted
 * before its start, ends it instead. */
static void
mcp_upstream_listen_taken(mcp_queued_action_t *queued, mcp_action_t *action)
{
    mcp_backend_request_t  *breq;

    (void) queued;

    breq = action->breq;

    if (action->type != MCP_ACT_INVOKE) {
        return;
    }

    if (breq->aborted) {
        action->type = MCP_ACT_NONE;
        mcp_upstream_listen_end(breq, "aborted");
        return;
    }

    breq->started = 1;
    action->exchange = breq->call->x;
}


static void
mcp_upstream_listen_queue(mcp_upstream_listen_t *listen, mcp_action_e type)
{
    mcp_worker_t  *worker;

    worker = listen->breq.call->worker;

    mcp_worker_unqueue(worker, &listen->breq.queued);
    listen->breq.queued.action.type = type;
    mcp_worker_queue(worker, &listen->breq.queued);
}


/* Creates a decoder that reads requests and notifications, and ignores
 * responses. Returns NULL when out of memory. */
static mcp_backend_t *
mcp_upstream_listen_decoder(mcp_upstream_listen_t *listen)
{
    mcp_call_t     *call;
    mcp_backend_t  *backend;

    call = listen->breq.call;

    backend = mcp_backend_create(&call->worker->env->mem, MCP_WANT_PLAIN,
                                 mcp_null_str, call->endpoint->max_message,
                                 call->endpoint->max_depth);
    if (backend == NULL) {
        return NULL;
    }

    mcp_backend_set_server(backend);
    mcp_backend_allow_questions(backend);
    mcp_backend_ignore_responses(backend);

    if (mcp_backend_set_resumes(backend,
                                (mcp_str_t) { listen->last, listen->last_len })
        != MCP_OK)
    {
        mcp_backend_free(backend);
        return NULL;
    }

    return backend;
}


/* Queues the GET request that opens the stream. Returns MCP_OK or
 * MCP_ERR_MEMORY. */
static int
mcp_upstream_listen_start(mcp_upstream_listen_t *listen)
{
    mcp_call_t             *call;
    mcp_backend_request_t  *breq;

    call = listen->breq.call;
    breq = &listen->breq;

    mcp_backend_free(listen->backend);
    listen->backend = mcp_upstream_listen_decoder(listen);

    if (listen->backend == NULL) {
        return MCP_ERR_MEMORY;
    }

    breq->started = 0;
    breq->aborted = 0;
    breq->glue = NULL;
    mcp_variable_put(&breq->variables, MCP_VARIABLE_UPSTREAM_LAST_EVENT_ID,
                     (mcp_str_t) { listen->last, listen->last_len });

    listen->active = 1;
    listen->busy = 0;
    listen->held = 0;
    listen->ended = 0;
    listen->starved = 0;
    listen->chosen = NULL;
    listen->hold = 0;
    listen->at = mcp_call_now(call);

    if (listen->busy_tries == 0) {
        listen->deadline = listen->at + MCP_UPSTREAM_LISTEN_WAIT;
    }

    if (listen->at < listen->deadline) {
        listen->at = listen->deadline;
    }

    mcp_upstream_listen_set_state(listen, MCP_UPSTREAM_LISTEN_OPENING);

    mcp_upstream_listen_queue(listen, MCP_ACT_INVOKE);
    mcp_call_set_timer(call);

    return MCP_OK;
}


static void
mcp_upstream_listen_add(mcp_upstream_listen_t *listen)
{
    mcp_upstream_listen_t  **first;

    first = &listen->breq.call->worker->listens;

    listen->next = *first;
    listen->link = first;

    if (listen->next) {
        listen->next->link = &listen->next;
    }

    *first = listen;

    listen->sibling = listen->breq.call->listens;
    listen->breq.call->listens = listen;
    listen->breq.call->n_breqs++;
}


/* Removes a stream whose backend request has ended, without freeing its
 * call. */
static void
mcp_upstream_listen_remove(mcp_upstream_listen_t *listen)
{
    mcp_upstream_listen_t  **link;

    *listen->link = listen->next;

    if (listen->next) {
        listen->next->link = listen->link;
    }

    for (link = &listen->breq.call->listens; *link != listen;
         link = &(*link)->sibling)
    {
        /* the loop ends, because the stream is in the list */
    }

    *link = listen->sibling;

    mcp_backend_free(listen->backend);
    listen->backend = NULL;
    listen->breq.call->n_breqs--;
}


static void
mcp_upstream_listen_free(mcp_upstream_listen_t *listen)
{
    mcp_call_t  *call;

    call = listen->breq.call;

    call->refs++;
    mcp_upstream_listen_remove(listen);
    mcp_call_check_end(call);
    mcp_call_release(call);
}


static void
mcp_upstream_listen_abort(mcp_upstream_listen_t *listen)
{
    if (!listen->active || listen->breq.aborted) {
        return;
    }

    listen->breq.aborted = 1;

    /* if the glue has not pulled INVOKE yet, mcp_upstream_listen_taken() ends
     * the backend request */

    if (listen->breq.started) {
        mcp_upstream_listen_queue(listen, MCP_ACT_ABORT);
    }
}


/* Ends a stream. The structure is freed later, because the call of the stream
 * may be ending at this moment. */
static void
mcp_upstream_listen_stop(mcp_upstream_listen_t *listen)
{
    if (listen->state == MCP_UPSTREAM_LISTEN_OVER) {
        return;
    }

    mcp_upstream_listen_set_state(listen, MCP_UPSTREAM_LISTEN_OVER);
    mcp_upstream_listen_refuse_questions(listen,
                                         mcp_upstream_listen_user(listen,
                                                                  NULL));
    mcp_upstream_listen_refuse_held(listen);
    listen->at = listen->active ? 0 : mcp_call_now(listen->breq.call);
    mcp_upstream_listen_abort(listen);
    mcp_call_set_timer(listen->breq.call);
}


void
mcp_upstream_listen_fail(mcp_upstream_listen_t *listen, mcp_log_level_e level,
    const char *why)
{
    mcp_call_log(listen->breq.call, level,
                 "continues without the GET stream of the MCP server", why);
    mcp_upstream_listen_stop(listen);
    mcp_upstream_listen_release(listen);
}


/* Creates the stream for the session of a request. Returns NULL when out of
 * memory. */
static mcp_upstream_listen_t *
mcp_upstream_listen_create(mcp_request_t *req)
{
    mcp_variables_t         *variables;
    mcp_upstream_listen_t   *listen;
    mcp_upstream_session_t  *session;

    session = req->session;

    listen = mcp_arena_calloc(&req->call->arena, sizeof(mcp_upstream_listen_t));
    if (listen == NULL) {
        return NULL;
    }

    memcpy(listen->key, session->key, MCP_DIGEST_LEN);
    memcpy(listen->id, session->id, session->len);
    listen->len = session->len;
    memcpy(listen->affinity, session->affinity, MCP_STREAM_TEXT_LEN);

    listen->breq.call = req->call;
    listen->breq.kind = MCP_BACKEND_REQUEST_LISTEN;
    listen->breq.http_method = MCP_BACKEND_REQUEST_GET;
    listen->breq.asks = 1;
    listen->breq.request = req->breq.request;
    listen->breq.target = req->target;
    listen->breq.body = mcp_str("");
    listen->breq.queued.action.breq = &listen->breq;
    listen->breq.queued.taken = mcp_upstream_listen_taken;

    variables = &listen->breq.variables;
    *variables = req->breq.variables;
    mcp_variable_put(variables, MCP_VARIABLE_METHOD, mcp_null_str);
    mcp_variable_put(variables, MCP_VARIABLE_UPSTREAM_MCP_NAME, mcp_null_str);
    mcp_variable_put(variables, MCP_VARIABLE_UPSTREAM_VERSION,
                     session->version);
    mcp_variable_put(variables, MCP_VARIABLE_UPSTREAM_SESSION,
                     (mcp_str_t) { listen->id, listen->len });
    mcp_variable_put(variables, MCP_VARIABLE_UPSTREAM_AFFINITY,
                     (mcp_str_t) { listen->affinity, MCP_STREAM_TEXT_LEN });

    mcp_upstream_listen_add(listen);

    if (mcp_upstream_listen_start(listen) != MCP_OK) {
        mcp_upstream_listen_remove(listen);
        return NULL;
    }

    return listen;
}


/* Returns 1 if a request may use a GET stream. A session that several clients
 * of one principal share has no stream, because a question on it might reach
 * the wrong client. */
static int
mcp_upstream_listen_is_possible(const mcp_request_t *req)
{
    const mcp_call_t  *call;

    call = req->call;

    return call->endpoint->targets[req->target].listens && req->session->len
           && req->session->declares
           && req->session->of != MCP_UPSTREAM_OF_PRINCIPAL
           && !call->bare && call->respond == NULL
           && (call->client.capabilities & MCP_CLIENT_INPUT)
           && req->method->takes_input && !call->worker->ending;
}


int
mcp_upstream_listen_begin(mcp_request_t *req)
{
    mcp_upstream_listen_t   *listen;
    mcp_upstream_session_t  *session;

    session = req->session;

    if (session->listened || !mcp_upstream_listen_is_possible(req)) {
        return MCP_OK;
    }

    session->listened = 1;
    mcp_upstream_listen_join(session);

    listen = mcp_upstream_listen_find(session);

    if (listen == NULL && !mcp_upstream_listen_is_refused(req)) {
        listen = mcp_upstream_listen_create(req);

    } else if (listen && listen->state == MCP_UPSTREAM_LISTEN_PAUSE
               && !listen->busy
               && mcp_upstream_listen_start(listen) != MCP_OK)
    {
        mcp_upstream_listen_stop(listen);
    }

    /* the request is sent now if there is no GET stream, if the GET stream is
     * open or over, if the waiting time has passed, or if another process
     * probably has the GET stream (busy_tries) */

    if (listen == NULL || listen->at == 0
        || listen->busy_tries >= MCP_UPSTREAM_LISTEN_BUSY
        || listen->state == MCP_UPSTREAM_LISTEN_OPEN
        || listen->state == MCP_UPSTREAM_LISTEN_OVER)
    {
        return MCP_OK;
    }

    session->listen_waits = 1;
    session->wait_until = UINT64_MAX;

    return MCP_AGAIN;
}


void
mcp_upstream_listen_leave(mcp_upstream_session_t *session)
{
    mcp_upstream_listen_t  *listen;

    if (session->listener_link == NULL) {
        return;
    }

    *session->listener_link = session->listener;

    if (session->listener) {
        session->listener->listener_link = session->listener_link;
    }

    session->listener_link = NULL;

    if (session->listen_waits) {
        session->listen_waits = 0;
        mcp_worker_unqueue(session->req->call->worker,
                           &session->req->breq.queued);
    }

    listen = mcp_upstream_listen_find(session);

    if (listen && listen->chosen == session->req) {
        listen->chosen = NULL;
    }

    mcp_upstream_listen_take_questions(listen, session->req);

    if (listen && mcp_upstream_listen_user(listen, NULL) == NULL) {
        mcp_upstream_listen_stop(listen);
    }
}


/* --- responses of the server --- */

void
mcp_upstream_listen_head(mcp_backend_request_t *breq, int status,
    mcp_str_t content_type)
{
    char                    why[64];
    mcp_upstream_listen_t  *listen;

    listen = mcp_upstream_listen_of(breq);

    if (listen->state != MCP_UPSTREAM_LISTEN_OPENING || breq->aborted) {
        return;
    }

    mcp_call_trace(breq->call, "the MCP server responded to GET with HTTP "
                               "status %d", status);

    if (status == 200
        && mcp_http_is_type(content_type, mcp_str("text/event-stream")))
    {
        mcp_backend_head(listen->backend, status, content_type);
        listen->at = 0;
        listen->busy_tries = 0;
        listen->began = mcp_call_now(breq->call);
        mcp_upstream_listen_set_state(listen, MCP_UPSTREAM_LISTEN_OPEN);
        mcp_upstream_listen_release(listen);
        return;
    }

    if (status == 409) {
        listen->busy = 1;
        mcp_upstream_listen_abort(listen);

        if (listen->busy_tries == MCP_UPSTREAM_LISTEN_BUSY) {
            mcp_call_log(breq->call, MCP_LOG_INFO,
                         "no longer waits for the GET stream of the MCP "
                         "server",
                         "the server responded with HTTP 409, so another "
                         "process may have opened the stream");
            mcp_upstream_listen_release(listen);
        }

        return;
    }

    if (status == 405) {
        mcp_upstream_listen_remember(mcp_upstream_listen_opener(listen));
        mcp_upstream_listen_fail(listen, MCP_LOG_INFO,
                                 "the server responded with HTTP 405, so it "
                                 "does not offer this stream");
        return;
    }

    if (status == 200) {
        mcp_upstream_listen_fail(listen, MCP_LOG_WARN, "the Content-Type of "
                                 "the response is not text/event-stream");
        return;
    }

    snprintf(why, sizeof(why), "the server responded with HTTP %d", status);
    mcp_upstream_listen_fail(listen, MCP_LOG_WARN, why);
}


size_t
mcp_upstream_listen_data(mcp_backend_request_t *breq, const char *data,
    size_t len)
{
    mcp_upstream_listen_t  *listen;

    listen = mcp_upstream_listen_of(breq);

    if (listen->state != MCP_UPSTREAM_LISTEN_OPEN || breq->aborted) {
        return len;
    }

    if (listen->held) {
        listen->starved = 1;
        return 0;
    }

    if (mcp_backend_write(listen->backend, data, len) == MCP_ERR_MEMORY) {
        mcp_upstream_listen_fail(listen, MCP_LOG_ERROR, "no memory");
        return len;
    }

    mcp_upstream_listen_process(listen);

    return len;
}


/* Schedules the next GET after the time "wait", ms, which is doubled "tries"
 * times. */
static void
mcp_upstream_listen_pause(mcp_upstream_listen_t *listen, uint64_t wait,
    unsigned tries)
{
    wait = wait < MCP_UPSTREAM_LISTEN_LONG ? wait << tries
                                           : MCP_UPSTREAM_LISTEN_LONG;

    mcp_upstream_listen_set_state(listen, MCP_UPSTREAM_LISTEN_PAUSE);
    listen->held = 0;
    listen->at = mcp_call_now(listen->breq.call)
                 + (wait < MCP_UPSTREAM_LISTEN_LONG ? wait
                                                    : MCP_UPSTREAM_LISTEN_LONG);
    mcp_call_set_timer(listen->breq.call);
}


/* Called when an open stream has ended. Schedules the next GET. If neither this
 * stream nor the MCP_UPSTREAM_LISTEN_TRIES streams before it had a message or
 * lasted for MCP_UPSTREAM_LISTEN_LASTS, ends the attempts instead. */
static void
mcp_upstream_listen_closed(mcp_upstream_listen_t *listen, const char *detail)
{
    uint64_t   retry;
    mcp_str_t  last;

    last = mcp_backend_last_id(listen->backend, &retry);
    listen->last_len = last.len;

    if (last.len) {
        memcpy(listen->last, last.data, last.len);
    }

    if (mcp_call_now(listen->breq.call) - listen->began
        >= MCP_UPSTREAM_LISTEN_LASTS)
    {
        listen->tries = 0;
    }

    if (detail == NULL) {
        detail = "the server closed the stream";
    }

    if (listen->tries == MCP_UPSTREAM_LISTEN_TRIES) {
        mcp_upstream_listen_fail(listen, MCP_LOG_WARN, detail);
        return;
    }

    mcp_call_log(listen->breq.call, MCP_LOG_INFO,
                 "will open the GET stream of the MCP server again", detail);
    if (retry == 0) {
        retry = MCP_UPSTREAM_LISTEN_AGAIN;

    } else if (retry < MCP_UPSTREAM_LISTEN_MIN) {
        retry = MCP_UPSTREAM_LISTEN_MIN;
    }

    mcp_upstream_listen_pause(listen, retry, listen->tries++);
}


/* Called when the server has responded to GET with HTTP 409, because another
 * stream of the session is open. Schedules the next GET, because the other
 * stream may end later. */
static void
mcp_upstream_listen_conflict(mcp_upstream_listen_t *listen)
{
    unsigned  tries;

    tries = listen->busy_tries++;

    if (tries < MCP_UPSTREAM_LISTEN_BUSY) {
        mcp_upstream_listen_pause(listen, MCP_UPSTREAM_LISTEN_SOON, tries);
        return;
    }

    /* no more than MCP_UPSTREAM_LISTEN_TRIES doublings, so that the shift in
     * mcp_upstream_listen_pause() cannot overflow */

    tries -= MCP_UPSTREAM_LISTEN_BUSY;
    mcp_upstream_listen_pause(listen, MCP_UPSTREAM_LISTEN_AGAIN,
                              tries < MCP_UPSTREAM_LISTEN_TRIES
                                  ? tries : MCP_UPSTREAM_LISTEN_TRIES);
}


void
mcp_upstream_listen_end(mcp_backend_request_t *breq, const char *detail)
{
    mcp_call_t             *call;
    mcp_upstream_listen_t  *listen;

    call = breq->call;
    listen = mcp_upstream_listen_of(breq);

    call->refs++;
    mcp_worker_unqueue(call->worker, &breq->queued);
    listen->active = 0;

    if (listen->busy && listen->state == MCP_UPSTREAM_LISTEN_OPENING) {
        mcp_upstream_listen_conflict(listen);

    } else if (listen->state == MCP_UPSTREAM_LISTEN_OPEN && listen->held) {
        listen->ended = 1;

    } else if (listen->state == MCP_UPSTREAM_LISTEN_OPEN) {
        mcp_upstream_listen_closed(listen, detail);

    } else if (listen->state != MCP_UPSTREAM_LISTEN_OVER) {
        mcp_upstream_listen_fail(listen, MCP_LOG_WARN,
                                 detail ? detail : "the server sent no "
                                                   "response");
    }

    if (listen->state == MCP_UPSTREAM_LISTEN_OVER) {
        mcp_upstream_listen_free(listen);
    }

    mcp_call_release(call);
}


/* --- timeouts --- */

uint64_t
mcp_upstream_listen_due(const mcp_call_t *call)
{
    uint64_t                      when;
    const mcp_upstream_listen_t  *listen;

    when = UINT64_MAX;

    for (listen = call->listens; listen; listen = listen->sibling) {
        if (listen->at && listen->at < when) {
            when = listen->at;
        }

        if (listen->questions && listen->questions_at < when) {
            when = listen->questions_at;
        }
    }

    return when;
}


/* Processes the held message again. If no message is held after that, lets the
 * glue pass rejected bytes again or, if the stream has ended, schedules the
 * next GET. */
static void
mcp_upstream_listen_continue(mcp_upstream_listen_t *listen)
{
    mcp_upstream_listen_process(listen);

    if (listen->held || listen->state != MCP_UPSTREAM_LISTEN_OPEN) {
        return;
    }

    if (listen->ended) {
        mcp_upstream_listen_closed(listen, NULL);

    } else if (listen->starved) {
        listen->starved = 0;
        mcp_upstream_listen_queue(listen, MCP_ACT_RESUME);
    }
}


static void
mcp_upstream_listen_handle(mcp_upstream_listen_t *listen)
{
    listen->at = 0;

    switch (listen->state) {

    case MCP_UPSTREAM_LISTEN_OPENING:
        if (listen->busy_tries <= MCP_UPSTREAM_LISTEN_BUSY) {
            mcp_call_log(listen->breq.call, MCP_LOG_INFO,
                         "no longer waits for the GET stream of the MCP "
                         "server",
                         "the server has not responded within 2 s");
        }

        mcp_upstream_listen_release(listen);
        break;

    case MCP_UPSTREAM_LISTEN_OPEN:
        if (listen->held) {
            mcp_upstream_listen_continue(listen);
        }

        break;

    case MCP_UPSTREAM_LISTEN_PAUSE:
        if (mcp_upstream_listen_start(listen) != MCP_OK) {
            mcp_upstream_listen_fail(listen, MCP_LOG_ERROR, "no memory");
        }

        break;

    default:
        if (!listen->active) {
            mcp_upstream_listen_free(listen);
        }
    }
}


void
mcp_upstream_listen_timer(mcp_call_t *call, uint64_t now)
{
    mcp_upstream_listen_t  *listen, *next;

    for (listen = call->listens; listen; listen = next) {
        next = listen->sibling;

        if (listen->questions && now >= listen->questions_at) {
            mcp_upstream_listen_question_again(listen);
        }

        if (listen->at && now >= listen->at) {
            mcp_upstream_listen_handle(listen);
        }
    }
}
