/* SPDX-License-Identifier: Apache-2.0 */

#include "call/mcp_upstream_wait.h"

#include "call/mcp_call_internal.h"
#include "call/mcp_upstream_detect.h"


/* --- lists of requests that wait --- */

static void
mcp_upstream_wait_append(mcp_upstream_waiters_t *list,
    mcp_upstream_session_t *waiter)
{
    if (list->first == NULL) {
        list->last = &list->first;
    }

    waiter->waits_in = list;
    waiter->sibling = NULL;
    waiter->sibling_link = list->last;

    *list->last = waiter;
    list->last = &waiter->sibling;
}


/* Moves all requests of one list to the end of another one. Sets their
 * wake_fault. */
static void
mcp_upstream_wait_move(mcp_upstream_waiters_t *from,
    mcp_upstream_waiters_t *to, mcp_fault_e fault)
{
    mcp_upstream_session_t  *waiter, *next;

    waiter = from->first;
    from->first = NULL;

    for ( ; waiter; waiter = next) {
        next = waiter->sibling;
        waiter->wake_fault = fault;
        mcp_upstream_wait_append(to, waiter);
    }
}


/* --- the beginning and the end of a wait --- */

/* Returns another session with the same key that this process is opening, or
 * NULL. */
static mcp_upstream_session_t *
mcp_upstream_wait_find(mcp_upstream_session_t *session)
{
    mcp_upstream_session_t  *opening;

    for (opening = session->req->call->worker->openings; opening;
         opening = opening->next)
    {
        if (opening != session
            && memcmp(opening->key, session->key, MCP_DIGEST_LEN) == 0)
        {
            break;
        }
    }

    return opening;
}


int
mcp_upstream_wait_begin(mcp_upstream_session_t *session)
{
    mcp_upstream_session_t  *opener;

    opener = mcp_upstream_wait_find(session);
    if (opener == NULL) {
        return MCP_OK;
    }

    if (session->wait_until == 0) {
        session->wait_until = mcp_call_now(session->req->call)
                              + MCP_UPSTREAM_WAIT_TIME;
    }

    mcp_upstream_wait_append(&opener->waiters, session);

    return MCP_AGAIN;
}


static void
mcp_upstream_wait_end(mcp_upstream_session_t *session)
{
    mcp_request_t  *req;

    if (session->waits_in == NULL) {
        return;
    }

    *session->sibling_link = session->sibling;

    if (session->sibling) {
        session->sibling->sibling_link = session->sibling_link;

    } else {
        session->waits_in->last = session->sibling_link;
    }

    session->waits_in = NULL;

    /* removes the action MCP_ACT_PREPARE, which may still be in the queue */

    req = session->req;
    mcp_worker_unqueue(req->call->worker, &req->breq.queued);
}


void
mcp_upstream_wait_list(mcp_upstream_session_t *session)
{
    mcp_upstream_session_t  **first;

    if (session->link) {
        return;
    }

    first = &session->req->call->worker->openings;

    session->next = *first;
    session->link = first;

    if (session->next) {
        session->next->link = &session->next;
    }

    *first = session;
}


static void
mcp_upstream_wait_unlist(mcp_upstream_session_t *session)
{
    *session->link = session->next;

    if (session->next) {
        session->next->link = session->link;
    }

    session->link = NULL;
}


void
mcp_upstream_wait_start(mcp_request_t *req, mcp_fault_e fault)
{
    if (req->call->phase == MCP_CALL_OVER) {
        return;
    }

    /* mcp_call_fail() and mcp_call_invoke() may end the call: keeps it until
     * the end of this function */

    mcp_call_retain(req->call);

    if (fault != MCP_FAULT_NONE) {
        mcp_call_fail(req, fault);

    } else {
        mcp_call_invoke(req);
    }

    if (req->call->phase != MCP_CALL_OVER) {
        mcp_call_set_timer(req->call);
    }

    mcp_call_release(req->call);
}


/* Starts requests of worker->released, MCP_UPSTREAM_RELEASE at most. Sets the
 * timer if there are more. */
static void
mcp_upstream_wait_wake(void *data)
{
    unsigned                 n;
    mcp_worker_t            *worker;
    mcp_upstream_session_t  *waiter;

    worker = data;

    /* sets the timer before requests are started, because their failure may
     * release other requests, which are then only added to the list */

    worker->release_timer.handler = mcp_upstream_wait_wake;
    worker->release_timer.data = worker;
    mcp_timer_set(&worker->timers, &worker->release_timer,
                  worker->env->now(worker->env->ctx) + 1);

    for (n = 0; worker->released.first && n < MCP_UPSTREAM_RELEASE; n++) {
        waiter = worker->released.first;
        mcp_upstream_wait_end(waiter);
        mcp_upstream_wait_start(waiter->req, waiter->wake_fault);
    }

    if (worker->released.first == NULL) {
        mcp_timer_del(&worker->timers, &worker->release_timer);
    }
}


void
mcp_upstream_wait_release(mcp_upstream_session_t *session, mcp_fault_e fault)
{
    mcp_worker_t  *worker;

    if (session->link == NULL) {
        return;
    }

    mcp_upstream_wait_unlist(session);

    if (session->waiters.first == NULL) {
        return;
    }

    worker = session->req->call->worker;
    mcp_upstream_wait_move(&session->waiters, &worker->released, fault);

    if (!mcp_timer_armed(&worker->release_timer)) {
        mcp_upstream_wait_wake(worker);
    }
}


/* Called for a session that the server has opened, and whose request is over.
 * Moves the session to the first request that waits for it, which continues
 * with the step OPENED. The other ones then wait for that request. Does nothing
 * if no request waits. */
static void
mcp_upstream_wait_hand_over(mcp_upstream_session_t *session)
{
    mcp_upstream_session_t  *next;

    next = session->waiters.first;

    if (next == NULL) {
        return;
    }

    mcp_upstream_wait_unlist(session);
    mcp_upstream_wait_end(next);
    mcp_upstream_wait_list(next);
    mcp_upstream_wait_move(&session->waiters, &next->waiters, MCP_FAULT_NONE);

    next->version = session->version;
    next->len = session->len;
    memcpy(next->id, session->id, session->len);
    next->wait_until = 0;
    session->version = mcp_null_str;
    session->len = 0;

    mcp_upstream_session_set_step(next->req, MCP_UPSTREAM_STEP_OPENED);
    mcp_upstream_wait_start(next->req, MCP_FAULT_NONE);
}


void
mcp_upstream_wait_leave(mcp_upstream_session_t *session)
{
    mcp_upstream_cluster_leave(session);
    mcp_upstream_wait_end(session);

    if (!session->late) {
        mcp_upstream_wait_release(session, MCP_FAULT_NONE);
    }
}


/* Returns 1 if the request is the first one in its session, and requests that
 * wait for the session are not started yet. */
static int
mcp_upstream_wait_is_alone(const mcp_request_t *req)
{
    return req->session && req->session->link && req->session->lookup == NULL
           && !req->session->listen_waits
           && req->session->step == MCP_UPSTREAM_STEP_CALL;
}


void
mcp_upstream_wait_head(mcp_request_t *req)
{
    if (mcp_upstream_wait_is_alone(req)) {
        mcp_upstream_wait_release(req->session, MCP_FAULT_NONE);
    }
}


uint64_t
mcp_upstream_wait_due(const mcp_request_t *req)
{
    return mcp_upstream_wait_is_alone(req) ? req->session->alone_until
                                           : UINT64_MAX;
}


void
mcp_upstream_wait_timer(mcp_request_t *req, uint64_t now)
{
    if (now >= mcp_upstream_wait_due(req)) {
        mcp_upstream_wait_release(req->session, MCP_FAULT_NONE);
    }
}


int
mcp_upstream_waits(const mcp_request_t *req)
{
    return req->session && (req->session->waits_in || req->session->lookup
                            || req->session->listen_waits);
}


int
mcp_upstream_wait_timeout(mcp_request_t *req)
{
    if (req->session == NULL) {
        return 0;
    }

    if (req->session->waits_in == NULL) {
        return mcp_upstream_cluster_timeout(req);
    }

    mcp_upstream_wait_end(req->session);
    mcp_call_log(req->call, MCP_LOG_ERROR, "failed",
                 "the call shares a session at the MCP server with another "
                 "request, which did not open the session within 10 s");

    /* the same fault as for a request whose own initialize request times out:
     * both may happen at the same time, in any order */

    mcp_call_fail(req, MCP_FAULT_BACKEND_TIMEOUT);

    return 1;
}


/* --- the response to initialize --- */

int
mcp_upstream_open_continue(mcp_request_t *req)
{
    mcp_upstream_session_t  *session;

    session = req->session;

    if (session == NULL || session->step != MCP_UPSTREAM_STEP_OPEN
        || !req->active || !req->breq.started || req->breq.aborted)
    {
        return 0;
    }

    if (session->late) {
        return 1;
    }

    /* the head of the response has arrived: without a session id, there is
     * nothing to end, and with one, the session can be ended at once. Continues
     * for requests that wait, because they need the rest of the response. */

    if (req->responds && session->waiters.first == NULL) {
        return 0;
    }

    mcp_call_trace(req->call, "request %u: is over, but its initialize request "
                   "continues until the response has arrived",
                   req->breq.request);

    session->late = 1;
    req->deadline = mcp_call_now(req->call) + MCP_UPSTREAM_OPEN_GRACE;

    return 1;
}


uint64_t
mcp_upstream_open_grace(const mcp_request_t *req)
{
    return req->session && req->session->late ? MCP_UPSTREAM_OPEN_GRACE
                                              : MCP_CALL_GRACE;
}


/* Reads the messages of the decoder. Stores the revision in the response to
 * initialize, and counts the attempt to open a session. */
static void
mcp_upstream_open_read(mcp_request_t *req)
{
    mcp_backend_msg_t  msg;

    while (mcp_backend_read(req->backend, &msg) == MCP_OK) {

        if (msg.kind == MCP_BACKEND_NOTIFICATION
            || msg.kind == MCP_BACKEND_REQUEST)
        {
            continue;
        }

        /* a timeout was counted already */

        if (!req->late) {
            mcp_upstream_status_initialized(req,
                                            msg.kind == MCP_BACKEND_RESULT);
        }

        if (msg.kind == MCP_BACKEND_RESULT) {
            (void) mcp_upstream_session_describe(req, msg.body);

            /* a server that keeps its stream open after the response is not
             * awaited longer than for any other request */

            req->deadline = mcp_call_now(req->call) + MCP_CALL_GRACE;
            mcp_call_set_timer(req->call);
        }
    }
}


int
mcp_upstream_open_data(mcp_backend_request_t *breq, const char *data,
    size_t len)
{
    mcp_request_t  *req;

    req = &breq->call->requests[breq->request];

    if (breq->kind != MCP_BACKEND_REQUEST_CALL || breq->aborted
        || req->session == NULL || !req->session->late)
    {
        return 0;
    }

    /* when out of memory, the decoder gets an incomplete response, which is a
     * fault */

    (void) mcp_backend_write(req->backend, data, len);

    if (!mcp_backend_collects(req->backend)) {
        mcp_upstream_open_read(req);
    }

    return 1;
}


void
mcp_upstream_open_end(mcp_request_t *req, mcp_fault_e fault,
    const char *detail)
{
    mcp_upstream_session_t  *session;

    session = req->session;

    if (session == NULL || !session->late) {
        return;
    }

    if (!req->breq.aborted) {
        (void) mcp_backend_end(req->backend, fault, detail);
        mcp_upstream_open_read(req);
    }

    session->late = 0;

    if (session->version.len && !session->bad_id) {
        mcp_upstream_wait_hand_over(session);
    }

    /* the session was not opened: the first request that waits tries again */

    mcp_upstream_wait_release(session, MCP_FAULT_NONE);
}
