/* SPDX-License-Identifier: Apache-2.0 */

#include "call/mcp_upstream_session.h"

#include "call/mcp_call_internal.h"
#include "call/mcp_upstream_detect.h"
#include "call/mcp_upstream_listen.h"
#include "call/mcp_upstream_resume.h"
#include "call/mcp_upstream_wait.h"
#include "rpc/mcp_upstream_body.h"


void
mcp_upstream_session_set_step(mcp_request_t *req, mcp_upstream_step_e step)
{
    static const char *const  names[] = {
        [MCP_UPSTREAM_STEP_CALL] = "sends the client's request",
        [MCP_UPSTREAM_STEP_RESUME] = "resumes the stream of the call",
        [MCP_UPSTREAM_STEP_DISCOVER] = "detects the form of the server",
        [MCP_UPSTREAM_STEP_OPEN] = "opens a session",
        [MCP_UPSTREAM_STEP_OPENED] = "confirms the session",
        [MCP_UPSTREAM_STEP_CANCEL] = "cancels the call",
        [MCP_UPSTREAM_STEP_CLOSE] = "ends the session"
    };

    mcp_call_trace(req->call, "request %u: the next backend request %s",
                   req->breq.request, names[step]);

    req->session->step = step;
}


int
mcp_upstream_session_is_call(const mcp_request_t *req)
{
    return req->session == NULL
           || req->session->step == MCP_UPSTREAM_STEP_CALL
           || req->session->step == MCP_UPSTREAM_STEP_RESUME;
}


int
mcp_upstream_session_is_used(const mcp_request_t *req)
{
    return req->session
           && (req->session->step != MCP_UPSTREAM_STEP_CALL
               || req->session->version.len);
}


/* --- the session of a request --- */

int
mcp_upstream_session_create(mcp_request_t *req)
{
    mcp_upstream_session_t  *session;

    if (req->session) {
        return MCP_OK;
    }

    session = mcp_arena_calloc(&req->call->arena,
                               sizeof(mcp_upstream_session_t));

    if (session == NULL || mcp_upstream_session_key(req, session) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    (void) mcp_stream_id_print(session->affinity, session->key);
    session->req = req;
    req->session = session;

    return MCP_OK;
}


/* Finds the session in which the next backend request is sent, or prepares the
 * step that opens a session. Returns the values of
 * mcp_upstream_session_begin(). */
static int
mcp_upstream_session_get(mcp_request_t *req, mcp_upstream_e form)
{
    mcp_upstream_session_t  *session;

    session = req->session;
    session->continues = 0;
    session->alone_until = mcp_call_now(req->call) + MCP_UPSTREAM_ALONE_TIME;

    if (session->lookup) {
        return MCP_AGAIN;
    }

    if (session->step != MCP_UPSTREAM_STEP_CALL || session->version.len) {
        return MCP_OK;
    }

    if (!session->own) {
        if (mcp_upstream_wait_begin(session) == MCP_AGAIN) {
            return MCP_AGAIN;
        }

        session->wait_until = 0;

        if (form != MCP_UPSTREAM_AUTO && mcp_upstream_session_find(req)) {
            return MCP_OK;
        }

        mcp_upstream_wait_list(session);
    }

    mcp_upstream_session_set_step(req, form == MCP_UPSTREAM_AUTO
                                       ? MCP_UPSTREAM_STEP_DISCOVER
                                       : MCP_UPSTREAM_STEP_OPEN);

    return MCP_OK;
}


int
mcp_upstream_session_begin(mcp_request_t *req, mcp_upstream_e form)
{
    int  rc;

    if (mcp_upstream_session_create(req) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    rc = mcp_upstream_session_get(req, form);

    if (rc == MCP_OK && req->session->step == MCP_UPSTREAM_STEP_OPEN
        && !req->session->own)
    {
        return mcp_upstream_cluster_find(req);
    }

    if (rc == MCP_OK && req->session->step == MCP_UPSTREAM_STEP_CALL) {
        rc = mcp_upstream_cluster_put(req);
    }

    return rc == MCP_OK && req->session->step == MCP_UPSTREAM_STEP_CALL
           ? mcp_upstream_listen_begin(req) : rc;
}


int
mcp_upstream_session_close(mcp_request_t *req)
{
    mcp_str_t  version;
    size_t     len;

    if (mcp_upstream_session_create(req) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    /* does not end a session that other clients of the principal may use */

    if (req->session->of != MCP_UPSTREAM_OF_CLIENT) {
        return MCP_ERR_NOT_FOUND;
    }

    if (!mcp_upstream_session_find(req)) {
        if (mcp_upstream_cluster_take(req) == MCP_OK) {
            return MCP_ERR_NOT_FOUND;
        }

        mcp_upstream_session_set_step(req, MCP_UPSTREAM_STEP_CLOSE);
        return MCP_OK;
    }

    version = req->session->version;
    len = req->session->len;

    mcp_upstream_session_forget(req);

    req->session->version = version;
    req->session->len = len;
    mcp_upstream_session_set_step(req, MCP_UPSTREAM_STEP_CLOSE);

    return MCP_OK;
}


/* --- backend requests --- */

mcp_str_t
mcp_upstream_session_id(const mcp_request_t *req, char text[24])
{
    uint64_t  id;

    /* the id is the sum of the backend request's number and the upper 52 of the
     * first 64 bits of the call's id: JavaScript represents integers of about
     * this size exactly */

    id = (mcp_be_get(req->call->id, 8) >> 12) + req->breq.request;

    return (mcp_str_t) { text, (size_t) (mcp_uint_print(text, id) - text) };
}


/* Sets the body of the backend request to the client's request, without the
 * members of newer revisions, and with the JSON-RPC id that
 * mcp_upstream_session_id() returns. Lets the decoder accept requests of the
 * server. Returns MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_upstream_session_call(mcp_request_t *req)
{
    mcp_str_t  id;
    mcp_buf_t  older, out;

    id = mcp_upstream_session_id(req, req->session->number);

    mcp_backend_allow_questions(req->backend);
    mcp_backend_set_id(req->backend, id);
    (void) mcp_backend_set_resumes(req->backend, mcp_null_str);

    mcp_buf_init(&older, &req->call->worker->env->mem, SIZE_MAX / 2);
    mcp_buf_init(&out, &req->call->worker->env->mem, SIZE_MAX / 2);

    mcp_upstream_set_id(&out,
                        mcp_upstream_remove_meta(&older, req->breq.body)
                        ? mcp_buf_text(&older) : req->breq.body, id);

    out.failed |= older.failed;
    mcp_buf_free(&older);

    if (out.failed) {
        mcp_buf_free(&out);
        return MCP_ERR_MEMORY;
    }

    mcp_buf_free(&req->body);

    req->body = out;
    req->breq.body = mcp_buf_text(&req->body);
    req->breq.rebuilt = 1;

    return MCP_OK;
}


void
mcp_upstream_session_body(mcp_request_t *req, mcp_str_t body,
    mcp_str_t method)
{
    req->breq.body = body;
    req->breq.rebuilt = 0;
    mcp_variable_put(&req->breq.variables, MCP_VARIABLE_METHOD, method);
    mcp_variable_put(&req->breq.variables, MCP_VARIABLE_UPSTREAM_MCP_NAME,
                     mcp_null_str);
}


/* Sets the body of the next backend request to the text in out, and frees out.
 * Returns MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_upstream_session_written(mcp_request_t *req, mcp_buf_t *out,
    mcp_str_t method)
{
    mcp_str_t  body;

    body = mcp_arena_take(&req->call->arena, out);
    mcp_upstream_session_body(req, body, method);

    return body.data ? MCP_OK : MCP_ERR_MEMORY;
}


/* Sets the body of the next backend request to an initialize request. Returns
 * MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_upstream_session_initialize(mcp_request_t *req)
{
    mcp_str_t  capabilities;
    mcp_buf_t  out;

    mcp_buf_init(&out, &req->call->worker->env->mem, SIZE_MAX / 2);

    if (req->session->declares) {
        capabilities = req->call->variables.value[
                           MCP_VARIABLE_CLIENT_CAPABILITIES];

        mcp_buf_lit(&out, MCP_UPSTREAM_INITIALIZE);
        mcp_buf_str(&out, capabilities);
        mcp_buf_lit(&out, MCP_UPSTREAM_INITIALIZE_END);

        /* they are empty only if there was no memory for them */

        if (capabilities.len == 0) {
            out.failed = MCP_ERR_MEMORY;
        }

    } else {
        mcp_buf_str(&out, mcp_upstream_initialize);
    }

    return mcp_upstream_session_written(req, &out, mcp_str("initialize"));
}


static int
mcp_upstream_session_cancel(mcp_request_t *req)
{
    char       id[24];
    mcp_buf_t  out;

    mcp_buf_init(&out, &req->call->worker->env->mem, SIZE_MAX / 2);

    mcp_buf_lit(&out, "{\"jsonrpc\":\"2.0\",\"method\":"
                      "\"notifications/cancelled\",\"params\":{\"requestId\":");
    mcp_buf_str(&out, mcp_upstream_session_id(req, id));
    mcp_buf_lit(&out, "}}");

    return mcp_upstream_session_written(req, &out,
                                        mcp_str("notifications/cancelled"));
}


void
mcp_upstream_put_state(mcp_request_t *req, mcp_str_t state)
{
    mcp_call_t  *call;

    call = req->call;

    mcp_variable_put(&req->breq.variables, MCP_VARIABLE_UPSTREAM_STATE, state);

    if (call->x && !call->batch && call->respond == NULL) {
        mcp_variable_put(&call->x->variables, MCP_VARIABLE_UPSTREAM_STATE,
                         state);
    }
}


/*
 * Sets the members of the backend request that determine when the glue starts
 * it. CANCEL and CLOSE let a call or a session end. All other steps lead to a
 * request during which the server may ask. They count from the first step on,
 * so that requests that could only wait for a thread open no session. A request
 * for the description of the server never leads to such a request.
 */
static void
mcp_upstream_session_rank(mcp_request_t *req, mcp_upstream_step_e step)
{
    mcp_backend_request_t  *breq;

    breq = &req->breq;

    breq->urgent = step == MCP_UPSTREAM_STEP_CANCEL
                   || step == MCP_UPSTREAM_STEP_CLOSE;

    breq->asks = !breq->urgent && !req->call->bare
                 && (step != MCP_UPSTREAM_STEP_RESUME
                     || req->session->version.len);
}


/* Sets the variable $mcp_upstream_state: "again" if the server has lost a
 * session of this request, "init" if this request opens the session, otherwise
 * "hit". Does nothing if no session is open or being opened. */
static void
mcp_upstream_session_put_state(mcp_request_t *req)
{
    mcp_upstream_session_t  *session;

    session = req->session;

    if (session->step == MCP_UPSTREAM_STEP_OPEN) {
        session->opened = 1;

    } else if (session->version.len == 0) {
        return;
    }

    mcp_upstream_put_state(req, session->lost ? mcp_str("again")
                                : session->opened ? mcp_str("init")
                                                  : mcp_str("hit"));
}


/* Sets the variables whose values the server gets in headers. */
static void
mcp_upstream_session_put_headers(mcp_request_t *req, mcp_str_t version)
{
    mcp_variables_t               *variables;
    const mcp_upstream_session_t  *session;

    session = req->session;
    variables = &req->breq.variables;

    mcp_variable_put(variables, MCP_VARIABLE_UPSTREAM_VERSION, version);
    mcp_variable_put(variables, MCP_VARIABLE_UPSTREAM_SESSION,
                     (mcp_str_t) { session->id, session->len });
    mcp_variable_put(variables, MCP_VARIABLE_UPSTREAM_AFFINITY,
                     (mcp_str_t) { session->affinity, MCP_STREAM_TEXT_LEN });
}


int
mcp_upstream_session_prepare(mcp_request_t *req)
{
    int                      rc;
    mcp_str_t                version;
    mcp_upstream_session_t  *session;

    rc = MCP_OK;
    session = req->session;
    version = session->version;

    mcp_upstream_session_rank(req, session->step);

    switch (session->step) {

    case MCP_UPSTREAM_STEP_DISCOVER:
        mcp_backend_set_id(req->backend, mcp_str(MCP_UPSTREAM_ID));
        mcp_upstream_session_body(req, mcp_upstream_discover,
                                  mcp_str("server/discover"));
        mcp_variable_put(&req->breq.variables, MCP_VARIABLE_UPSTREAM_VERSION,
                         mcp_upstream_latest());
        return MCP_OK;

    case MCP_UPSTREAM_STEP_OPEN:
        session->len = 0;
        session->bad_id = 0;
        mcp_backend_set_id(req->backend, mcp_str(MCP_UPSTREAM_ID));
        rc = mcp_upstream_session_initialize(req);
        break;

    case MCP_UPSTREAM_STEP_OPENED:
        mcp_upstream_session_body(req, mcp_upstream_initialized,
                                  mcp_str("notifications/initialized"));
        break;

    case MCP_UPSTREAM_STEP_CANCEL:
        rc = mcp_upstream_session_cancel(req);
        break;

    case MCP_UPSTREAM_STEP_CLOSE:
        mcp_upstream_session_body(req, mcp_str(""), mcp_null_str);
        req->breq.http_method = MCP_BACKEND_REQUEST_DELETE;
        break;

    case MCP_UPSTREAM_STEP_RESUME:
        rc = mcp_upstream_resume_prepare(req, &version);
        break;

    default:
        rc = mcp_upstream_session_call(req);
    }

    mcp_upstream_session_put_state(req);
    mcp_upstream_session_put_headers(req, version);

    return rc;
}


/* --- responses --- */

/* Makes "step" the next step. Its backend request starts as soon as the running
 * one has ended. */
static void
mcp_upstream_session_next(mcp_request_t *req, mcp_upstream_step_e step)
{
    mcp_upstream_session_set_step(req, step);

    req->session->continues = 1;
    req->again = 1;
    req->deadline = mcp_call_now(req->call) + MCP_CALL_GRACE;
    mcp_call_set_timer(req->call);
}


/* Changes msg to a fault that the client gets. Returns 0, with which
 * mcp_upstream_session_message() leaves msg to its caller. */
static int
mcp_upstream_session_fault(mcp_backend_msg_t *msg, mcp_fault_e fault,
    const char *detail)
{
    msg->kind = MCP_BACKEND_FAULT;
    msg->fault = fault;
    msg->detail = detail;

    return 0;
}


/* Returns 1 if a message is a fault that does not depend on the protocol
 * revision of the request, such as a timeout or denied access. */
static int
mcp_upstream_session_is_down(const mcp_backend_msg_t *msg)
{
    return msg->kind == MCP_BACKEND_FAULT
           && (msg->fault == MCP_FAULT_BACKEND_FAILED
               || msg->fault == MCP_FAULT_BACKEND_TIMEOUT
               || msg->fault == MCP_FAULT_UPSTREAM_AUTH
               || msg->fault == MCP_FAULT_UPSTREAM_HOST);
}


/* Returns 1 if a message has an HTTP status by which an overloaded server, or a
 * proxy in front of it, refuses any request. */
static int
mcp_upstream_session_is_busy(const mcp_backend_msg_t *msg)
{
    return msg->status == 429 || (msg->status >= 502 && msg->status <= 504);
}


/* Called if the response to server/discover shows that the server does not
 * serve revision 2026-07-28. If the zone has a session of the caller at this
 * server, the client's request is sent in that session. Otherwise the next
 * backend request is initialize, whose response shows whether the server has
 * sessions. */
static void
mcp_upstream_session_discovered_older(mcp_request_t *req)
{
    mcp_upstream_step_e  step;

    step = MCP_UPSTREAM_STEP_OPEN;

    if (!req->session->own && mcp_upstream_session_find(req)) {
        step = MCP_UPSTREAM_STEP_CALL;
        mcp_upstream_form_found(req, MCP_UPSTREAM_SESSION,
                                req->session->version);
    }

    mcp_upstream_session_next(req, step);
}


/* Processes a message in response to server/discover. Returns the values of
 * mcp_upstream_session_message(). */
static int
mcp_upstream_session_discovered(mcp_request_t *req, mcp_backend_msg_t *msg)
{
    if (msg->kind == MCP_BACKEND_NOTIFICATION) {
        return 1;
    }

    if (mcp_upstream_session_is_down(msg)
        || mcp_upstream_session_is_busy(msg))
    {
        return 0;
    }

    if (msg->kind != MCP_BACKEND_RESULT
        || !mcp_upstream_about_is_modern(msg->body))
    {
        mcp_upstream_session_discovered_older(req);
        return 1;
    }

    mcp_upstream_form_found(req, MCP_UPSTREAM_MODERN, mcp_upstream_latest());
    mcp_upstream_status_describe(req, msg->body, mcp_upstream_latest());

    if (req->call->bare) {
        return 0;
    }

    mcp_upstream_session_next(req, MCP_UPSTREAM_STEP_CALL);

    return 1;
}


/* Called for the response to initialize. With "mcp_upstream auto", and if the
 * server has chosen a known revision with sessions, stores the detected form of
 * the server: "session" if the response has a session id, otherwise
 * "stateless". Returns 1 if "stateless" was detected. Otherwise returns 0. */
static int
mcp_upstream_session_is_stateless(mcp_request_t *req)
{
    mcp_upstream_session_t  *session;

    session = req->session;

    if (mcp_endpoint_upstream(req->call->endpoint, req->target)
        != MCP_UPSTREAM_AUTO || session->version.len == 0)
    {
        return 0;
    }

    mcp_upstream_form_found(req, session->len ? MCP_UPSTREAM_SESSION
                                              : MCP_UPSTREAM_STATELESS,
                            session->version);

    return session->len == 0;
}


int
mcp_upstream_session_describe(mcp_request_t *req, mcp_str_t result)
{
    mcp_upstream_session_t  *session;

    session = req->session;
    session->version = mcp_upstream_about_version(
                           &(mcp_json_value_t) { MCP_JSON_OBJECT, result });
    mcp_upstream_status_describe(req, result, session->version);

    if (!mcp_upstream_session_is_stateless(req)) {
        return 0;
    }

    session->version = mcp_null_str;

    return 1;
}


/* Processes a message in response to initialize. Returns the values of
 * mcp_upstream_session_message(). */
static int
mcp_upstream_session_opened(mcp_request_t *req, mcp_backend_msg_t *msg)
{
    mcp_upstream_session_t  *session;

    session = req->session;

    switch (msg->kind) {

    case MCP_BACKEND_NOTIFICATION:
        return 1;

    case MCP_BACKEND_RESULT:
        break;

    case MCP_BACKEND_FAULT:
        return 0;

    default:
        return mcp_upstream_session_fault(msg, MCP_FAULT_UPSTREAM_SESSION,
                                          "the MCP server responded to "
                                          "initialize with an error");
    }

    if (session->bad_id) {
        return mcp_upstream_session_fault(msg, MCP_FAULT_UPSTREAM_SESSION,
                                          "the MCP server sent a session id "
                                          "that is longer than 256 bytes or "
                                          "has characters other than visible "
                                          "ASCII");
    }

    if (mcp_upstream_session_describe(req, msg->body) && !req->call->bare) {
        mcp_upstream_session_next(req, MCP_UPSTREAM_STEP_CALL);
        return 1;
    }

    if (req->call->bare) {
        return 0;
    }

    if (session->version.len == 0) {
        return mcp_upstream_session_fault(msg, MCP_FAULT_UPSTREAM_VERSION,
                                          "the MCP server chose a revision "
                                          "without sessions in its response "
                                          "to initialize");
    }

    mcp_upstream_session_next(req, MCP_UPSTREAM_STEP_OPENED);

    return 1;
}


/* Called for a fault in response to initialize. With "mcp_upstream auto",
 * forgets the detected form of the server if the fault may mean that the server
 * was replaced by one without sessions. An overloaded server keeps its form. */
static void
mcp_upstream_session_refused(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    if (mcp_endpoint_upstream(req->call->endpoint, req->target)
        == MCP_UPSTREAM_AUTO
        && msg->status != 429 && msg->status < 500
        && (msg->no_session || msg->header
            || msg->fault == MCP_FAULT_UPSTREAM_VERSION
            || msg->fault == MCP_FAULT_UPSTREAM_SESSION))
    {
        mcp_upstream_form_forget(req);
    }
}


/*
 * Processes the response to the client's request. Sends the request again and
 * returns 1 if the server has not executed it, because the server has lost the
 * session or rejects the protocol form that was detected before. Otherwise
 * returns 0.
 *
 * The request is sent again once, or twice if the second attempt used a session
 * from Redis.
 */
static int
mcp_upstream_session_answered(mcp_request_t *req, mcp_backend_msg_t *msg)
{
    int                      lost, changed, fetched;
    mcp_upstream_session_t  *session;

    session = req->session;
    lost = session->version.len && msg->no_session;
    changed = !lost
              && (msg->no_session || msg->fault == MCP_FAULT_UPSTREAM_VERSION)
              && mcp_endpoint_upstream(req->call->endpoint, req->target)
                 == MCP_UPSTREAM_AUTO;

    if (!lost && !changed) {
        req->has_response |= msg->kind != MCP_BACKEND_NOTIFICATION
                             && msg->kind != MCP_BACKEND_REQUEST
                             && msg->kind != MCP_BACKEND_FAULT;
        return 0;
    }

    mcp_upstream_session_forget(req);
    session->lost |= (lost != 0);

    if (changed) {
        session->reforms = 1;
        mcp_upstream_form_forget(req);
    }

    /* after the first loss, the session is looked up in Redis, because another
     * node may have opened a new one. If that session is lost as well, the
     * request opens a session itself. */

    fetched = session->fetched;
    session->fetched = 0;
    session->looked_up = session->renewed;

    if (session->renewed && !fetched) {
        return msg->no_session
               ? mcp_upstream_session_fault(msg, MCP_FAULT_UPSTREAM_SESSION,
                                            "the MCP server rejected the "
                                            "session that it had just opened")
               : 0;
    }

    session->renewed = 1;
    mcp_upstream_session_next(req, MCP_UPSTREAM_STEP_CALL);

    return 1;
}


/* Processes a message in one of the steps of a session. Returns the values of
 * mcp_upstream_session_message(). */
static int
mcp_upstream_session_step(mcp_request_t *req, mcp_backend_msg_t *msg)
{
    int  rc;

    switch (req->session->step) {

    case MCP_UPSTREAM_STEP_DISCOVER:
        return mcp_upstream_session_discovered(req, msg);

    case MCP_UPSTREAM_STEP_OPEN:
        rc = mcp_upstream_session_opened(req, msg);

        if (msg->kind != MCP_BACKEND_NOTIFICATION) {
            mcp_upstream_status_initialized(req,
                                            msg->kind == MCP_BACKEND_RESULT);
        }

        if (msg->kind == MCP_BACKEND_FAULT) {
            mcp_upstream_session_refused(req, msg);
        }

        return rc;

    case MCP_UPSTREAM_STEP_OPENED:

        /* the request fails if the server is down or denies access. A server
         * that has only refused notifications/initialized may still accept the
         * request. */

        if (mcp_upstream_session_is_down(msg)) {
            return 0;
        }

        if (msg->kind != MCP_BACKEND_NOTIFICATION) {
            mcp_upstream_session_share(req);
            mcp_upstream_session_next(req, MCP_UPSTREAM_STEP_CALL);
        }

        return 1;

    case MCP_UPSTREAM_STEP_CALL:
    case MCP_UPSTREAM_STEP_RESUME:
        return mcp_upstream_session_answered(req, msg);

    default:

        /* the server's response to CANCEL or CLOSE does not matter */

        if (msg->kind != MCP_BACKEND_NOTIFICATION) {
            (void) mcp_call_finish_plain(req, mcp_str("{}"), MCP_OUTCOME_OK);
        }

        return 1;
    }
}


void
mcp_upstream_session_timeout(mcp_request_t *req)
{
    if (req->session) {
        mcp_upstream_wait_release(req->session, MCP_FAULT_BACKEND_TIMEOUT);
    }
}


int
mcp_upstream_session_message(mcp_request_t *req, mcp_backend_msg_t *msg)
{
    if (mcp_upstream_session_step(req, msg)) {
        return 1;
    }

    /* requests that wait for this session get the same fault */

    if (!mcp_upstream_session_is_call(req)) {
        mcp_upstream_wait_release(req->session,
                                     msg->kind == MCP_BACKEND_FAULT
                                     ? msg->fault : MCP_FAULT_NONE);
    }

    return 0;
}


void
mcp_upstream_session_end(mcp_request_t *req)
{
    int                      over;
    mcp_upstream_session_t  *session;

    session = req->session;

    if (req->active || req->again) {
        return;
    }

    over = req->call->phase == MCP_CALL_OVER || req->state == MCP_REQUEST_OVER;

    if (over && session->len && req->breq.aborted
        && mcp_upstream_session_is_call(req)
        && !session->continues && !req->has_response)
    {
        session->after = MCP_UPSTREAM_STEP_CANCEL;

    } else if (over && req->call->posts == NULL
               && ((session->len && !session->shared
                    && session->step != MCP_UPSTREAM_STEP_CLOSE)
                   || mcp_upstream_session_take_dropped(session)))
    {
        session->after = MCP_UPSTREAM_STEP_CLOSE;

    } else {
        return;
    }

    mcp_backend_request_start_after(req);
    mcp_call_set_timer(req->call);
}


int
mcp_upstream_session_start_after(mcp_request_t *req)
{
    mcp_upstream_step_e  step;

    step = req->session->after;

    if (step == MCP_UPSTREAM_STEP_CALL) {
        return 0;
    }

    req->session->after = MCP_UPSTREAM_STEP_CALL;
    mcp_upstream_session_set_step(req, step);

    return 1;
}


int
mcp_upstream_session_was_call(const mcp_request_t *req)
{
    if (req->session == NULL || req->call->respond) {
        return !req->active;
    }

    if (req->session->after != MCP_UPSTREAM_STEP_CALL) {
        return 1;
    }

    return !req->active && req->session->step != MCP_UPSTREAM_STEP_CANCEL
           && req->session->step != MCP_UPSTREAM_STEP_CLOSE;
}
