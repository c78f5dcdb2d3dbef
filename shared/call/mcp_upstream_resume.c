/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>

#include "call/mcp_upstream_resume.h"

#include "call/mcp_call_internal.h"
#include "call/mcp_upstream_detect.h"


/* Returns req->session->resume, or NULL if no stream of the request has ended
 * without the response. */
static mcp_upstream_resume_t *
mcp_upstream_resume_of(const mcp_request_t *req)
{
    return req->session ? req->session->resume : NULL;
}


/* Called when the stream of a call ends without the response for the first
 * time. Creates req->session->resume and returns it, or NULL when out of
 * memory. */
static mcp_upstream_resume_t *
mcp_upstream_resume_create(mcp_request_t *req, mcp_fault_e fault)
{
    mcp_upstream_resume_t  *resume;

    if (mcp_upstream_session_create(req) != MCP_OK) {
        return NULL;
    }

    resume = mcp_arena_calloc(&req->call->arena,
                              sizeof(mcp_upstream_resume_t));

    if (resume) {
        resume->fault = fault;
        resume->began = UINT64_MAX;
        req->session->resume = resume;
    }

    return resume;
}


/* Returns 1 if a GET request that has failed may succeed later: the server
 * could not be reached, is overloaded, or has not noticed yet that the previous
 * stream has ended (TypeScript SDK 1.x responds with 409). */
static int
mcp_upstream_resume_may_repeat(const mcp_backend_msg_t *msg)
{
    if (msg->resumable) {
        return 1;
    }

    if (msg->status) {
        return msg->status == 409 || msg->status == 429 || msg->status >= 500;
    }

    return msg->kind == MCP_BACKEND_FAULT
           && (msg->fault == MCP_FAULT_BACKEND_FAILED
               || msg->fault == MCP_FAULT_BACKEND_TIMEOUT);
}


/* Copies the id of the last event and the value of "retry" from the decoder of
 * a stream that has ended. A new id or a long stream resets the number of
 * tries. */
static void
mcp_upstream_resume_take(mcp_request_t *req, mcp_upstream_resume_t *resume)
{
    uint64_t   wait, now;
    mcp_str_t  id;

    now = mcp_call_now(req->call);
    id = mcp_backend_last_id(req->backend, &wait);

    if (wait) {
        resume->wait = wait;
    }

    if (!mcp_str_eq(id, (mcp_str_t) { resume->id, resume->len })
        || (resume->began < now
            && now - resume->began >= MCP_UPSTREAM_RESUME_LASTS))
    {
        resume->tries = 0;
    }

    resume->len = id.len;
    memcpy(resume->id, id.data, id.len);
}


/* Schedules the next GET request. */
static void
mcp_upstream_resume_schedule(mcp_request_t *req, mcp_upstream_resume_t *resume)
{
    uint64_t  wait;

    wait = resume->wait ? resume->wait : MCP_UPSTREAM_RESUME_WAIT;

    if (resume->tries) {
        wait = wait < MCP_UPSTREAM_RESUME_LONG >> resume->tries
               ? wait << resume->tries : MCP_UPSTREAM_RESUME_LONG;
    }

    resume->at = mcp_call_now(req->call)
                 + (wait < MCP_UPSTREAM_RESUME_LONG ? wait
                                                    : MCP_UPSTREAM_RESUME_LONG);
    resume->tries++;

    /* a GET request that has failed at this server must not hide a timeout of
     * the MCP server that passes before the next GET request */

    req->failed_here = 0;

    mcp_call_trace(req->call,
                   "request %u: the stream from the MCP server ended before "
                   "the response, and will be resumed", req->breq.request);
    mcp_call_set_timer(req->call);
}


/* Called if the stream cannot be resumed: sets msg to the fault of the call.
 * Returns 0. */
static int
mcp_upstream_resume_fail(mcp_request_t *req,
    const mcp_upstream_resume_t *resume, mcp_backend_msg_t *msg)
{
    char  why[64];

    snprintf(why, sizeof(why), "the server responded to GET with HTTP %d",
             msg->status);
    mcp_call_log(req->call, MCP_LOG_WARN,
                 "could not resume the stream from the MCP server",
                 msg->status ? why : msg->detail);

    mcp_zero(msg, sizeof(mcp_backend_msg_t));
    msg->kind = MCP_BACKEND_FAULT;
    msg->fault = resume->fault;
    msg->detail = "the stream ended without a response, and the MCP server "
                  "did not resume it";

    return 0;
}


/* Processes the fault or error with which a stream of the call, or a GET
 * request that resumes it, has ended. Returns the values of
 * mcp_upstream_resume(). */
static int
mcp_upstream_resume_broken(mcp_request_t *req, mcp_backend_msg_t *msg)
{
    mcp_upstream_resume_t  *resume;

    resume = mcp_upstream_resume_of(req);

    if (msg->kind == MCP_BACKEND_FAULT && msg->fault == MCP_FAULT_INTERNAL) {
        return 0;
    }

    if (resume == NULL) {
        resume = msg->resumable ? mcp_upstream_resume_create(req, msg->fault)
                                : NULL;

        if (resume == NULL) {
            return 0;
        }
    }

    if (msg->resumable) {
        mcp_upstream_resume_take(req, resume);
    }

    if (req->call->worker->ending || resume->tries == MCP_UPSTREAM_RESUME_TRIES
        || !mcp_upstream_resume_may_repeat(msg))
    {
        return mcp_upstream_resume_fail(req, resume, msg);
    }

    mcp_upstream_resume_schedule(req, resume);

    return 1;
}


int
mcp_upstream_resume(mcp_request_t *req, mcp_backend_msg_t *msg)
{
    mcp_upstream_resume_t  *resume;

    if (!mcp_upstream_session_is_call(req)) {
        return 0;
    }

    switch (msg->kind) {

    case MCP_BACKEND_NOTIFICATION:
    case MCP_BACKEND_REQUEST:
        return 0;

    case MCP_BACKEND_FAULT:
        return mcp_upstream_resume_broken(req, msg);

    default:
        break;
    }

    resume = mcp_upstream_resume_of(req);

    if (resume == NULL) {
        return 0;
    }

    /* an error with an HTTP status is not the response of the call: the server
     * has refused the GET request */

    if (msg->status) {
        return mcp_upstream_resume_broken(req, msg);
    }

    /* the question ends this backend request: the next one sends the client's
     * request with the answer, and resumes nothing */

    if (msg->kind == MCP_BACKEND_INPUT) {
        req->session->resume = NULL;
        mcp_upstream_session_set_step(req, MCP_UPSTREAM_STEP_CALL);
    }

    return 0;
}


int
mcp_upstream_resume_prepare(mcp_request_t *req, mcp_str_t *version)
{
    mcp_str_t               id, number;
    mcp_upstream_resume_t  *resume;

    resume = req->session->resume;
    id = (mcp_str_t) { resume->id, resume->len };

    /* without a session, the JSON-RPC id at the server is the id of the
     * client's request */

    number = req->id;

    if (version->len) {
        mcp_backend_allow_questions(req->backend);
        number = mcp_upstream_session_id(req, req->session->number);

    } else {
        (void) mcp_upstream_form(req, version);
    }

    mcp_upstream_session_body(req, mcp_str(""), mcp_null_str);
    req->breq.http_method = MCP_BACKEND_REQUEST_GET;
    mcp_variable_put(&req->breq.variables, MCP_VARIABLE_UPSTREAM_LAST_EVENT_ID,
                     id);

    mcp_backend_set_id(req->backend, number);

    return mcp_backend_set_resumes(req->backend, id);
}


uint64_t
mcp_upstream_resume_due(const mcp_request_t *req)
{
    const mcp_upstream_resume_t  *resume;

    resume = mcp_upstream_resume_of(req);

    return resume && resume->at ? resume->at : UINT64_MAX;
}


void
mcp_upstream_resume_timer(mcp_request_t *req, uint64_t now)
{
    if (now < mcp_upstream_resume_due(req)) {
        return;
    }

    /* the next backend request would free the decoder of the previous one,
     * which contains the held message: tries again later */

    if (req->held) {
        req->session->resume->at = now + MCP_CALL_RETRY;
        return;
    }

    req->session->resume->at = 0;
    req->session->resume->began = now;

    mcp_upstream_session_set_step(req, MCP_UPSTREAM_STEP_RESUME);
    mcp_call_invoke(req);
}


void
mcp_upstream_resume_leave(mcp_request_t *req)
{
    mcp_upstream_resume_t  *resume;

    resume = mcp_upstream_resume_of(req);

    if (resume == NULL || req->has_response
        || (resume->at == 0
            && (req->active || req->breq.started
                || req->session->step != MCP_UPSTREAM_STEP_RESUME)))
    {
        return;
    }

    resume->at = 0;

    if (req->session->len) {
        req->session->after = MCP_UPSTREAM_STEP_CANCEL;
        mcp_backend_request_start_after(req);
    }
}


int
mcp_upstream_resume_is_done(const mcp_request_t *req)
{
    return req->has_response && mcp_upstream_resume_of(req) != NULL;
}
