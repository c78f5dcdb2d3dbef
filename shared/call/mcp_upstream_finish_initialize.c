/* SPDX-License-Identifier: Apache-2.0 */

#include "call/mcp_upstream_finish_initialize.h"

#include "call/mcp_call_internal.h"
#include "call/mcp_upstream_session.h"
#include "call/mcp_upstream_record_stats.h"
#include "call/mcp_upstream_wait.h"


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
