/* SPDX-License-Identifier: Apache-2.0 */

#include "call/mcp_upstream_wait.h"

#include "call/mcp_call_internal.h"


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
    mcp_upstream_session_t  *opener, **last;

    opener = mcp_upstream_wait_find(session);
    if (opener == NULL) {
        return MCP_OK;
    }

    if (opener->n_waiting == MCP_UPSTREAM_WAITING) {
        return MCP_ERR_LIMIT;
    }

    for (last = &opener->waiting; *last; last = &(*last)->sibling) {
        /* void */
    }

    if (session->wait_until == 0) {
        session->wait_until = mcp_call_now(session->req->call)
                              + MCP_UPSTREAM_WAIT_TIME;
    }

    session->opener = opener;
    session->sibling = NULL;
    opener->n_waiting++;
    *last = session;

    return MCP_AGAIN;
}


static void
mcp_upstream_wait_end(mcp_upstream_session_t *session)
{
    mcp_request_t            *req;
    mcp_upstream_session_t  **link;

    if (session->opener == NULL) {
        return;
    }

    for (link = &session->opener->waiting; *link; link = &(*link)->sibling) {
        if (*link == session) {
            *link = session->sibling;
            break;
        }
    }

    session->opener->n_waiting--;
    session->opener = NULL;

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


void
mcp_upstream_wait_release(mcp_upstream_session_t *session, mcp_fault_e fault)
{
    mcp_upstream_session_t  *waiter;

    if (session->link == NULL) {
        return;
    }

    mcp_upstream_wait_unlist(session);

    while ((waiter = session->waiting) != NULL) {
        mcp_upstream_wait_end(waiter);
        mcp_upstream_wait_start(waiter->req, fault);
    }
}


void
mcp_upstream_wait_hand_over(mcp_upstream_session_t *session)
{
    mcp_upstream_session_t  *heir, *waiter;

    heir = session->waiting;

    if (heir == NULL) {
        return;
    }

    mcp_upstream_wait_unlist(session);
    mcp_upstream_wait_end(heir);
    mcp_upstream_wait_list(heir);

    heir->waiting = session->waiting;
    heir->n_waiting = session->n_waiting;
    session->waiting = NULL;
    session->n_waiting = 0;

    for (waiter = heir->waiting; waiter; waiter = waiter->sibling) {
        waiter->opener = heir;
    }

    heir->version = session->version;
    heir->len = session->len;
    memcpy(heir->id, session->id, session->len);
    heir->wait_until = 0;
    session->version = mcp_null_str;
    session->len = 0;

    mcp_upstream_session_set_step(heir->req, MCP_UPSTREAM_STEP_OPENED);
    mcp_upstream_wait_start(heir->req, MCP_FAULT_NONE);
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
    return req->session && (req->session->opener || req->session->lookup
                            || req->session->listen_waits);
}


int
mcp_upstream_wait_timeout(mcp_request_t *req)
{
    if (req->session == NULL) {
        return 0;
    }

    if (req->session->opener == NULL) {
        return mcp_upstream_cluster_timeout(req);
    }

    mcp_upstream_wait_end(req->session);
    mcp_call_log(req->call, MCP_LOG_ERROR, "failed",
                 "the call shares a session at the MCP server with another "
                 "request, which did not open the session within 10 s");
    mcp_call_fail(req, MCP_FAULT_UPSTREAM_SESSION);

    return 1;
}
