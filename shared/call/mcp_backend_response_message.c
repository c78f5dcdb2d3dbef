/* SPDX-License-Identifier: Apache-2.0 */

/* Processing of the messages that a backend sends for a client's request:
 * notifications, the result or error, and questions to the client. */

#include <stdio.h>

#include "call/mcp_call_internal.h"
#include "call/mcp_call_response.h"
#include "call/mcp_upstream_detect.h"
#include "call/mcp_upstream_list_from_cache.h"
#include "call/mcp_upstream_param_header.h"
#include "call/mcp_upstream_question.h"
#include "call/mcp_upstream_resume.h"
#include "call/mcp_upstream_session.h"
#include "rpc/mcp_request_id.h"
#include "rpc/mcp_result.h"
#include "worker/mcp_call_stats.h"
#include "worker/mcp_notification.h"
#include "worker/mcp_resume_hooks.h"


/* Makes the call durable, and appends a notification to its stream. Returns
 * MCP_AGAIN if the stream has no room, otherwise MCP_OK, also if the call has
 * ended. */
static int
mcp_backend_request_append(mcp_request_t *req, mcp_str_t message)
{
    int          rc;
    mcp_call_t  *call;

    call = req->call;

    if (mcp_call_durable(call) != MCP_OK || req->state == MCP_REQUEST_OVER) {
        return MCP_OK;
    }

    rc = mcp_call_append(req, message, mcp_call_state(call));

    if (rc == MCP_ERR_LIMIT || rc == MCP_ERR_FULL) {
        return MCP_AGAIN;
    }

    /* MCP_ERR_NOT_FOUND: the stream was freed, so no client waits for the
     * notification. Any other error ends the call, because an event would be
     * missing. */

    if (rc != MCP_OK && rc != MCP_ERR_NOT_FOUND) {
        mcp_call_log(call, MCP_LOG_ERROR, "failed",
                     mcp_call_append_reason(rc));
        mcp_call_abandon(call, MCP_FAULT_INTERNAL);
    }

    return MCP_OK;
}


/* Logs the first progress notification whose token is not that of the client's
 * request. Such notifications are dropped, because clients ignore them. */
static void
mcp_backend_request_warn_token(mcp_request_t *req, mcp_str_t token)
{
    char  id[9];

    if (req->token_warned) {
        return;
    }

    if (token.len == 0) {
        token = mcp_str("(none)");
    }

    req->token_warned = 1;
    mcp_stream_id_short(id, req->call->id);

    mcp_worker_log(req->call->worker, MCP_LOG_WARN,
                   "call %s of \"%.*s\" dropped a progress notification of "
                   "its backend, in which \"progressToken\" is %.*s instead "
                   "of %.*s as in the client's request",
                   id, mcp_call_cut(req->name, 128),
                   mcp_call_cut(token, 64),
                   mcp_call_cut(req->progress_token, 64));
}


/* Decides which clients get a notification of the backend: the client of the
 * call, all subscribers, or none if the client has not asked for it
 * (progress, log level). */
static int
mcp_backend_request_notification(mcp_request_t *req,
    const mcp_backend_msg_t *msg)
{
    mcp_call_t  *call;

    call = req->call;

    if (mcp_endpoint_upstream(call->endpoint, req->target)
        != MCP_UPSTREAM_OFF)
    {
        mcp_upstream_list_changed(req, msg->method);
    }

    if (mcp_str_eq(msg->method, mcp_str("notifications/progress"))) {

        /* a client gets progress notifications only if it has sent a progress
         * token, and only with this token (basic/utilities/progress) */

        if (req->progress_token.len == 0) {
            return MCP_OK;
        }

        if (!mcp_str_eq(msg->progress_token.raw, req->progress_token)
            && !mcp_id_same(&call->worker->env->mem, msg->progress_token.raw,
                            req->progress_token))
        {
            mcp_backend_request_warn_token(req, msg->progress_token.raw);
            return MCP_OK;
        }

    } else if (mcp_str_eq(msg->method, mcp_str("notifications/message"))) {

        if (!mcp_notify_log_wanted(call->worker, &call->client,
                                   msg->level.raw))
        {
            return MCP_OK;
        }

    } else if (mcp_upstream_session_is_used(req)
               && mcp_str_eq(msg->method, mcp_str("notifications/cancelled")))
    {
        return mcp_upstream_question_cancelled(req, msg);

    } else if (mcp_input_url_is_settled(req, msg)) {
        return mcp_input_url_settle(req);

    } else if (mcp_notify_broadcast(call->worker, msg->method, msg->uri.raw,
                                  msg->body))
    {
        return MCP_OK;
    }

    if (call->task) {
        mcp_call_status(req, msg);
        return MCP_OK;
    }

    return mcp_backend_request_append(req, msg->body);
}


/* Evaluates rc, the return value of a function that writes a changed result to
 * buf. For MCP_OK, sets *result to the text in buf; for MCP_DONE, *result needs
 * no change. Returns 1, or 0 for any other value, which is an error. */
static int
mcp_backend_request_changed(int rc, const mcp_buf_t *buf, mcp_str_t *result)
{
    if (rc == MCP_OK) {
        *result = (mcp_str_t) { buf->data, buf->len };
    }

    return rc == MCP_OK || rc == MCP_DONE;
}


/* Sets the result of a request, without the members that the client's revision
 * does not accept. Returns the values of mcp_call_finish(). */
static int
mcp_backend_request_finish_filter(mcp_request_t *req,
    const mcp_backend_msg_t *msg, mcp_str_t result)
{
    int            rc;
    mcp_buf_t      buf;
    mcp_outcome_e  how;

    how = msg->is_error ? MCP_OUTCOME_TOOL_ERROR : MCP_OUTCOME_OK;

    if (!msg->any_output && req->method->list_kind != MCP_LIST_TOOLS) {

        /* a result with a token may have got "_meta" from a resumption
         * method */

        return msg->is_plain && !msg->has_next
               ? mcp_call_finish_plain(req, result, how)
               : mcp_call_finish(req, result, how);
    }

    mcp_buf_init(&buf, &req->call->worker->env->mem, SIZE_MAX / 2);

    rc = mcp_revision_filter_result(mcp_revision_filter(
                                        req->call->client.revision),
                                    req->method, result, &buf);

    rc = mcp_backend_request_changed(rc, &buf, &result)
         ? mcp_call_finish(req, result, how)
         : mcp_call_finish_fault(req, MCP_FAULT_INTERNAL, mcp_null_str);

    mcp_buf_free(&buf);

    return rc;
}


/* Sets the result of a request. If the result is a list, removes the items that
 * the rules of mcp_allow hide from the client. Returns the values of
 * mcp_call_finish(). */
static int
mcp_backend_request_finish(mcp_request_t *req, const mcp_backend_msg_t *msg,
    mcp_str_t result)
{
    int        rc;
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &req->call->worker->env->mem, SIZE_MAX / 2);

    rc = mcp_call_list_filter(req, result, &buf);

    rc = mcp_backend_request_changed(rc, &buf, &result)
         ? mcp_backend_request_finish_filter(req, msg, result)
         : mcp_call_finish_fault(req, MCP_FAULT_INTERNAL, mcp_null_str);

    mcp_buf_free(&buf);

    return rc;
}


/* Called for a backend's list before hidden items are removed for the client.
 * Stores data of the list in the worker: the page in the cache of lists and,
 * for a list of tools, the Mcp-Param-* headers that the tools need. */
static void
mcp_backend_request_listed(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    mcp_upstream_list_result(req, msg);

    if (req->method->list_kind == MCP_LIST_TOOLS && req->cached.len == 0) {
        mcp_upstream_param_learn(req, msg->body);

        if (req->call->endpoint->catalog == NULL) {
            mcp_call_stats_list(req->call->worker, req->call->endpoint,
                                msg->body);
        }
    }
}


static int
mcp_backend_request_result(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    int          rc;
    mcp_buf_t    buf;
    mcp_str_t    result;
    mcp_fault_e  fault;

    /* a backend returns its result only after the user has finished at the URLs
     * of earlier questions: first notifies the client that these questions are
     * completed */

    if (mcp_input_url_settle(req) == MCP_AGAIN) {
        return MCP_AGAIN;
    }

    if (mcp_backend_request_subscribe(req, &fault) == MCP_AGAIN) {
        return MCP_AGAIN;
    }

    if (fault != MCP_FAULT_NONE) {
        return mcp_call_finish_fault(req, fault, mcp_null_str);
    }

    mcp_buf_init(&buf, &req->call->worker->env->mem, SIZE_MAX / 2);

    result = msg->body;
    rc = mcp_hook_result(req->call->worker, req, msg, &buf);

    if (mcp_backend_request_changed(rc, &buf, &result)) {

        if (req->method->list_kind != MCP_METHOD_NO_LIST) {
            mcp_backend_request_listed(req, msg);
        }

        rc = mcp_backend_request_finish(req, msg, result);

    } else if (rc == MCP_ERR_SYNTAX) {
        mcp_call_fail(req, MCP_FAULT_BACKEND_OUTPUT);
        rc = MCP_OK;

    } else {
        rc = mcp_call_finish_fault(req, MCP_FAULT_INTERNAL, mcp_null_str);
    }

    mcp_buf_free(&buf);

    return rc;
}


#define MCP_BACKEND_REQUEST_REASON  300

/* Writes a byte, with an escape if it is not printable ASCII: at most 4 bytes.
 * Returns the end. */
static char *
mcp_backend_request_escape(char *p, unsigned char c)
{
    const char  *hex = "0123456789abcdef";

    if (c >= 0x20 && c < 0x7f) {
        *p++ = (char) c;
        return p;
    }

    *p++ = '\\';

    switch (c) {

    case '\n':
        *p++ = 'n';
        break;

    case '\r':
        *p++ = 'r';
        break;

    case '\t':
        *p++ = 't';
        break;

    default:
        *p++ = 'x';
        *p++ = hex[c >> 4];
        *p++ = hex[c & 15];
    }

    return p;
}


/* Writes a description of invalid JSON in a backend's response to "text": the
 * detail, the position of the first invalid byte, and the text around this byte
 * with escapes. */
static void
mcp_backend_request_broken(const mcp_backend_msg_t *msg,
    char text[MCP_BACKEND_REQUEST_REASON])
{
    char           *p;
    size_t          i;
    unsigned char   c;

    p = text + snprintf(text, 40, "%s at byte %llu: \"", msg->detail,
                        (unsigned long long) msg->at);

    for (i = 0; i < msg->near.len && p < text + MCP_BACKEND_REQUEST_REASON - 6;
         i++) {
        c = (unsigned char) msg->near.data[i];

        if (c == '"' || c == '\\') {
            *p++ = '\\';
        }

        p = mcp_backend_request_escape(p, c);
    }

    *p++ = '"';
    *p = '\0';
}


/* Maximum number of bytes of an id that are logged; an escape needs 4 bytes. */
#define MCP_BACKEND_REQUEST_ID  24

/* Writes the first bytes of a raw id, with escapes. Returns the end. */
static char *
mcp_backend_request_put_id(char *p, mcp_str_t id)
{
    size_t  i;

    if (id.len == 0) {
        id = mcp_str("none");
    }

    for (i = 0; i < id.len && i < MCP_BACKEND_REQUEST_ID; i++) {
        p = mcp_backend_request_escape(p, (unsigned char) id.data[i]);
    }

    return p;
}


/* Writes a description of a response with a wrong id to "text": the detail and
 * the two ids. */
static void
mcp_backend_request_foreign(const mcp_backend_msg_t *msg,
    char text[MCP_BACKEND_REQUEST_REASON])
{
    char       *p;
    mcp_str_t   instead = mcp_str(" instead of ");

    p = text + snprintf(text, 80, "%s: ", msg->detail);
    p = mcp_backend_request_put_id(p, msg->foreign);
    memcpy(p, instead.data, instead.len);
    p = mcp_backend_request_put_id(p + instead.len, msg->expected);
    *p = '\0';
}


/* Logs the first response on the stream of a request that is not the response
 * to this request. Such responses are ignored. */
static void
mcp_backend_request_ignored(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    char  text[MCP_BACKEND_REQUEST_REASON];

    if (msg->expected.len == 0 || req->id_warned) {
        return;
    }

    req->id_warned = 1;
    mcp_backend_request_foreign(msg, text);
    mcp_request_log(req, MCP_LOG_WARN, "ignored a response of its MCP server",
                    ": ", text);
}


/* Returns the reason why a backend's response is invalid, for the log. The
 * buffer "text" must remain valid, because the reason may be written there. */
static const char *
mcp_backend_request_reason(const mcp_backend_msg_t *msg,
    char text[MCP_BACKEND_REQUEST_REASON])
{
    if (msg->near.data) {
        mcp_backend_request_broken(msg, text);
        return text;
    }

    if (msg->expected.len) {
        mcp_backend_request_foreign(msg, text);
        return text;
    }

    return msg->detail;
}


/* Returns 1 if clients would reject a result of tools/call: the tool has an
 * outputSchema, but the result has no structuredContent and is not an
 * error. */
static int
mcp_backend_request_lacks_output(const mcp_request_t *req,
    const mcp_backend_msg_t *msg)
{
    const mcp_catalog_t  *catalog;

    catalog = req->call->endpoint->catalog;

    return catalog && !msg->structured && !msg->is_error
           && req->method->id == MCP_METHOD_TOOLS_CALL
           && mcp_catalog_has_output(catalog, req->name);
}


/* Sets *text to the message of an MCP server's error. Returns the values of
 * mcp_json_unescape(). */
static int
mcp_backend_request_error_message(mcp_request_t *req,
    const mcp_backend_msg_t *msg, mcp_str_t *text)
{
    return mcp_json_unescape(&req->call->arena,
                             mcp_json_get_from(msg->body,
                                               mcp_str("message")).raw,
                             text);
}


/* Returns 1 if the message is an MCP server's error about a header that differs
 * from the body, and the client may have caused it. Only a client without a
 * session can: its Mcp-Param-* headers are passed on. For all other clients,
 * this server writes these headers itself. */
static int
mcp_backend_request_is_mismatch(const mcp_request_t *req,
    const mcp_backend_msg_t *msg)
{
    return msg->header && mcp_client_is_stateless(&req->call->client);
}


/* Logs why a backend's message is a failure, or which defects its result has,
 * and stores a failure for the status page. */
static void
mcp_backend_request_log_message(mcp_request_t *req,
    const mcp_backend_msg_t *msg)
{
    char  text[MCP_BACKEND_REQUEST_REASON];

    if (msg->status && !mcp_fault_is_upstream(msg->fault)) {
        snprintf(text, sizeof(text), "HTTP %d", msg->status);
        mcp_request_log(req, MCP_LOG_WARN, "failed in its backend", ": ", text);
        mcp_request_why(req, text);

    } else if (msg->kind == MCP_BACKEND_FAULT && msg->detail) {
        mcp_request_log(req, mcp_backend_request_is_mismatch(req, msg)
                             ? MCP_LOG_WARN : MCP_LOG_ERROR,
                        "failed in its backend", ": ",
                        mcp_backend_request_reason(msg, text));
        mcp_request_why(req, mcp_backend_request_reason(msg, text));
    }

    if (msg->warning) {
        mcp_request_log(req, MCP_LOG_WARN, "got from its backend", " ",
                        msg->warning);
    }

    if (msg->kind == MCP_BACKEND_RESULT
        && mcp_backend_request_lacks_output(req, msg))
    {
        mcp_request_log(req, MCP_LOG_WARN, "got from its backend", " ",
                        "a result without \"structuredContent\", which "
                        "clients reject, because the tool has an "
                        "\"outputSchema\"");
    }
}


/* Sets a fault as the response, because the backend has failed. The client gets
 * the reason only if mcp_debug is on, or if the reason is a header that the
 * client has set. Returns the values of mcp_call_finish(). */
static int
mcp_backend_request_fault(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    char        text[MCP_BACKEND_REQUEST_REASON];
    mcp_str_t   why;

    if (mcp_backend_request_is_mismatch(req, msg)) {
        return mcp_backend_request_error_message(req, msg, &why) == MCP_OK
               ? mcp_call_finish_fault(req, MCP_FAULT_HEADER, why)
               : mcp_call_finish_fault(req, MCP_FAULT_INTERNAL, mcp_null_str);
    }

    why = mcp_null_str;

    if (msg->detail) {
        why.data = mcp_backend_request_reason(msg, text);
        why.len = strlen(why.data);
    }

    return mcp_call_finish_fault_why(req, msg->fault, why);
}


/* Sets the response for an MCP server's error which means that the client lacks
 * a capability. Clients of revisions before 2026-07-28 do not have this error:
 * for tools/call they get a tool error, whose text the model can read. */
static int
mcp_backend_request_capability(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    mcp_str_t  text;

    req->reason = MCP_REASON_CAPABILITY;

    if (mcp_client_is_stateless(&req->call->client)
        || req->method->want != MCP_WANT_TOOL)
    {
        return mcp_call_finish(req, msg->body, MCP_OUTCOME_RPC_ERROR);
    }

    if (mcp_backend_request_error_message(req, msg, &text) != MCP_OK) {
        return mcp_call_finish_fault(req, MCP_FAULT_INTERNAL, mcp_null_str);
    }

    return mcp_call_finish_text(req, text);
}


/* Counts the response to initialize in the statistics of MCP servers, and
 * stores the server's description for the status page. Does nothing for a
 * request with a session, because mcp_upstream_session.c does both. */
static void
mcp_backend_request_described(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    int               initialize;
    mcp_str_t         version;
    mcp_json_value_t  result;

    if (req->session || msg->kind == MCP_BACKEND_NOTIFICATION) {
        return;
    }

    initialize = req->method->id == MCP_METHOD_INITIALIZE;

    if (initialize) {
        mcp_upstream_status_initialized(req, msg->kind == MCP_BACKEND_RESULT);
    }

    if (msg->kind == MCP_BACKEND_RESULT) {
        result = (mcp_json_value_t) { MCP_JSON_OBJECT, msg->body };
        version = initialize ? mcp_upstream_about_version(&result)
                             : mcp_upstream_latest();
        mcp_upstream_status_describe(req, msg->body, version);
    }
}


/* Processes the response to a request for the description of an MCP server:
 * stores the description in the endpoint, or passes on the error. Returns the
 * values of mcp_call_finish(). */
static int
mcp_backend_request_describe(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    int                    known;
    mcp_worker_t          *worker;
    mcp_upstream_about_t  *about;

    worker = req->call->worker;
    mcp_backend_request_described(req, msg);

    switch (msg->kind) {

    case MCP_BACKEND_NOTIFICATION:
        return MCP_OK;

    case MCP_BACKEND_RESULT:
        about = req->call->endpoint->about;
        known = about->at != 0;

        if (mcp_upstream_about_set(about, &worker->env->mem, msg->body,
                                   mcp_worker_now(worker))
            != MCP_OK)
        {
            return mcp_call_finish_fault(req, MCP_FAULT_BACKEND_OUTPUT,
                                         mcp_null_str);
        }

        if (!known) {
            about->next = worker->abouts;
            worker->abouts = about;
        }

        return mcp_call_finish(req, msg->body, MCP_OUTCOME_OK);

    case MCP_BACKEND_ERROR:
        return mcp_call_finish(req, msg->body, MCP_OUTCOME_RPC_ERROR);

    case MCP_BACKEND_FAULT:
        return mcp_backend_request_fault(req, msg);

    default:
        return mcp_call_finish_fault(req, MCP_FAULT_BACKEND_OUTPUT,
                                     mcp_null_str);
    }
}


/* Called for a message of an MCP server. Updates the data about that server:
 * the session, the state for resuming its stream, the statistics and the cached
 * lists. Returns 1 if the message is not for the client.
 * Otherwise returns 0: the caller has to process msg, which may have become a
 * fault. */
static int
mcp_backend_request_of_server(mcp_request_t *req, mcp_backend_msg_t *msg)
{
    if (mcp_upstream_resume(req, msg)
        || (req->session && mcp_upstream_session_message(req, msg)))
    {
        return 1;
    }

    if (mcp_upstream_param_message(req, msg)) {
        mcp_upstream_list_error(req, msg);
        return 1;
    }

    mcp_upstream_list_error(req, msg);
    mcp_upstream_status_message(req, msg);

    return 0;
}


/* Replaces a failure of the MCP server by the expired list from the cache, if
 * the client may get this list. If the stream has no room, the list is held
 * instead of the failure, whose HTTP status would be lost. */
static void
mcp_backend_request_replace(mcp_request_t *req, mcp_backend_msg_t *msg)
{
    if (mcp_upstream_list_is_busy(msg)) {
        (void) mcp_upstream_list_stale(req, MCP_FAULT_UPSTREAM_STATUS, msg);

    } else if (msg->kind == MCP_BACKEND_FAULT) {
        (void) mcp_upstream_list_stale(req, msg->fault, msg);
    }
}


/* Processes a message for the client. Returns the values of
 * mcp_backend_request_message(). */
static int
mcp_backend_request_take(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    switch (msg->kind) {

    case MCP_BACKEND_NOTIFICATION:
        return mcp_backend_request_notification(req, msg);

    case MCP_BACKEND_REQUEST:
        return mcp_upstream_question_receive(req, msg, 0);

    case MCP_BACKEND_RESULT:
        return mcp_backend_request_result(req, msg);

    case MCP_BACKEND_ERROR:
        return msg->capability
               ? mcp_backend_request_capability(req, msg)
               : mcp_call_finish(req, msg->body, MCP_OUTCOME_RPC_ERROR);

    case MCP_BACKEND_INPUT:
        return mcp_input_begin(req, msg);

    case MCP_BACKEND_DETACHED:
        mcp_request_set_state(req, MCP_REQUEST_DETACHED);
        mcp_call_detached(req->call);
        return MCP_OK;

    default:
        return mcp_backend_request_fault(req, msg);
    }
}


int
mcp_backend_request_message(mcp_request_t *req, mcp_backend_msg_t *msg)
{
    if (req->call->phase == MCP_CALL_OVER || req->state == MCP_REQUEST_OVER) {
        return MCP_OK;
    }

    if (msg->ignored) {
        mcp_backend_request_ignored(req, msg);
        return MCP_OK;
    }

    if (mcp_endpoint_upstream(req->call->endpoint, req->target)
        != MCP_UPSTREAM_OFF
        && mcp_backend_request_of_server(req, msg))
    {
        return MCP_OK;
    }

    return mcp_backend_request_message_held(req, msg);
}


int
mcp_backend_request_message_held(mcp_request_t *req, mcp_backend_msg_t *msg)
{
    if (req->call->phase == MCP_CALL_OVER || req->state == MCP_REQUEST_OVER) {
        return MCP_OK;
    }

    if (msg->kind != MCP_BACKEND_NOTIFICATION) {
        mcp_backend_request_log_message(req, msg);
    }

    if (msg->status && !mcp_fault_is_upstream(msg->fault)) {
        req->reason = MCP_REASON_STATUS;
    }

    if (req->call->bare) {
        return mcp_backend_request_describe(req, msg);
    }

    mcp_backend_request_replace(req, msg);

    return mcp_backend_request_take(req, msg);
}


int
mcp_backend_request_late(mcp_request_t *req)
{
    mcp_backend_msg_t  msg;

    if (mcp_upstream_param_timeout(req, &msg)) {
        mcp_backend_request_log_message(req, &msg);
        return mcp_backend_request_fault(req, &msg);
    }

    if (mcp_upstream_list_stale(req, MCP_FAULT_BACKEND_TIMEOUT, &msg)) {
        return mcp_backend_request_result(req, &msg);
    }

    return mcp_call_finish_fault_why(req, MCP_FAULT_BACKEND_TIMEOUT,
                                     mcp_upstream_session_is_call(req)
                                     ? mcp_str("the backend sent no response "
                                               "within mcp_call_timeout")
                                     : mcp_str("the MCP server opened no "
                                               "session within 10 s or "
                                               "mcp_call_timeout"));
}
