/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Jobs: a backend at work on one request of a call.  How one starts, what is
 * made of what it says, and how it ends.  What finds no room in the stream is
 * held, and keeps all that the backend says after it waiting.
 */

#include <stdio.h>

#include "call/mcp_publish_url.h"
#include "rpc/mcp_topic.h"
#include "http/mcp_id.h"
#include "worker/mcp_hook.h"
#include "worker/mcp_notify.h"


static void mcp_job_go_again(mcp_request_t *req);


/* The capabilities object, rebuilt from the bits that the session keeps. */
static mcp_str_t
mcp_job_client_capabilities(mcp_call_t *call)
{
    unsigned   bits;
    mcp_buf_t  buf;
    mcp_str_t  text;

    bits = call->session.capabilities & MCP_CLIENT_INPUT;

    if (bits == 0) {
        return mcp_str("{}");
    }

    mcp_buf_init(&buf, &call->worker->env->mem, 256);

    if (bits & MCP_CLIENT_SAMPLING_TOOLS) {
        mcp_buf_lit(&buf, ",\"sampling\":{\"tools\":{}}");

    } else if (bits & MCP_CLIENT_SAMPLING) {
        mcp_buf_lit(&buf, ",\"sampling\":{}");
    }

    if (bits & MCP_CLIENT_ELICITATION_URL) {
        mcp_buf_lit(&buf, ",\"elicitation\":{");

        if (bits & MCP_CLIENT_ELICITATION) {
            mcp_buf_lit(&buf, "\"form\":{},");
        }

        mcp_buf_lit(&buf, "\"url\":{}}");

    } else if (bits & MCP_CLIENT_ELICITATION) {
        mcp_buf_lit(&buf, ",\"elicitation\":{}");
    }

    if (bits & MCP_CLIENT_ROOTS) {
        mcp_buf_lit(&buf, ",\"roots\":{}");
    }

    mcp_buf_lit(&buf, "}");

    text = mcp_null_str;

    if (buf.failed == MCP_OK) {
        buf.data[0] = '{';
        text = mcp_arena_dup(&call->arena,
                             (mcp_str_t) { buf.data, buf.len });
    }

    mcp_buf_free(&buf);

    return text;
}


void
mcp_job_facts(mcp_call_t *call)
{
    char         *text;
    mcp_facts_t  *facts;

    facts = &call->facts;

    mcp_fact_set(facts, MCP_FACT_VERSION, mcp_str(MCP_VERSION));
    mcp_fact_set(facts, MCP_FACT_PROTOCOL_VERSION,
                 mcp_revision(call->session.revision)->name);
    mcp_fact_set(facts, MCP_FACT_CALL, (mcp_str_t) { call->id_text, 8 });

    if (call->x) {
        mcp_fact_set(facts, MCP_FACT_PRINCIPAL,
                     mcp_arena_dup(&call->arena, call->x->principal_name));
    }

    text = mcp_arena_alloc(&call->arena, MCP_STREAM_TEXT_LEN);

    if (text) {
        mcp_stream_id_print(text, call->session.id);
        mcp_fact_set(facts, MCP_FACT_SESSION, (mcp_str_t) { text, 8 });
        mcp_fact_set(facts, MCP_FACT_SESSION_ID,
                     (mcp_str_t) { text, MCP_STREAM_TEXT_LEN });
    }

    mcp_fact_set(facts, MCP_FACT_CLIENT_CAPABILITIES,
                 mcp_job_client_capabilities(call));
}


int
mcp_job_start(mcp_request_t *req)
{
    mcp_job_t    *job;
    mcp_str_t     url;
    mcp_call_t   *call;
    mcp_facts_t  *facts;

    call = req->call;

    if (req->backend) {
        mcp_backend_free(req->backend);
    }

    req->backend = mcp_backend_create(&call->worker->env->mem,
                                      req->method->want, req->name,
                                      call->endpoint->max_message,
                                      call->endpoint->max_depth);
    if (req->backend == NULL) {
        return MCP_ERR_MEMORY;
    }

    job = &req->job;
    job->started = 0;
    job->aborted = 0;
    job->glue = NULL;
    job->target = req->target;

    if (req->body.len) {
        job->body = (mcp_str_t) { req->body.data, req->body.len };
        job->rebuilt = 1;

    } else {
        job->body = req->raw;
        job->rebuilt = 0;
    }

    url = job->facts.value[MCP_FACT_PUBLISH_URL];

    if (url.len == 0 && call->endpoint->publish_url.len) {
        url = mcp_publish_url(call, job->request);
    }

    job->facts = call->facts;
    facts = &job->facts;
    mcp_fact_set(facts, MCP_FACT_PUBLISH_URL, url);
    mcp_fact_set(facts, MCP_FACT_METHOD, req->method->name);
    mcp_fact_set(facts, MCP_FACT_NAME, req->name);
    mcp_fact_set(facts, MCP_FACT_REQUEST_ID, req->id);
    mcp_fact_set(facts, MCP_FACT_PROGRESS_TOKEN, req->progress_token);

    req->state = MCP_REQUEST_RUN;
    req->deadline = mcp_call_now(call) + call->endpoint->call_timeout;
    req->ended = 0;
    req->again = 0;
    req->starved = 0;
    req->late = 0;
    req->live = 1;
    call->jobs++;

    job->task.action.type = MCP_ACT_INVOKE;
    mcp_worker_queue(call->worker, &job->task);

    return MCP_OK;
}


void
mcp_job_taken(mcp_task_t *task, mcp_action_t *action)
{
    (void) task;

    if (action->type == MCP_ACT_INVOKE) {
        action->job->started = 1;
        action->exchange = action->job->call->x;
    }
}


/* One that is not started yet is gone at once. */
static void
mcp_job_abort(mcp_request_t *req)
{
    mcp_job_t   *job;
    mcp_call_t  *call;

    call = req->call;
    job = &req->job;

    if (!req->live || job->aborted) {
        return;
    }

    if (!job->started) {
        mcp_worker_unqueue(call->worker, &job->task);
        req->live = 0;
        call->jobs--;
        return;
    }

    job->aborted = 1;

    mcp_worker_unqueue(call->worker, &job->task);
    job->task.action.type = MCP_ACT_ABORT;
    mcp_worker_queue(call->worker, &job->task);
}


void
mcp_job_stop(mcp_request_t *req)
{
    req->again = 0;
    req->held = 0;

    mcp_job_abort(req);
}


void
mcp_job_stop_all(mcp_call_t *call)
{
    size_t  i;

    for (i = 0; i < call->n; i++) {
        mcp_job_stop(&call->requests[i]);
    }
}


/* --- what backends say --- */

static int
mcp_job_notification(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    int         rc;
    mcp_call_t  *call;

    call = req->call;

    if (mcp_str_eq(msg->method, mcp_str("notifications/progress"))) {

        /* only for those who asked, and as they asked (basic/utilities/
         * progress) */

        if (req->progress_token.len == 0
            || !mcp_id_same(&call->worker->env->mem, msg->progress_token.raw,
                            req->progress_token))
        {
            return MCP_OK;
        }

    } else if (mcp_str_eq(msg->method, mcp_str("notifications/message"))) {

        if (!mcp_notify_log_wanted(call->worker, call->session.id,
                                   msg->level.raw))
        {
            return MCP_OK;
        }

    } else if (mcp_notify_broadcast(call->worker, msg->method, msg->uri.raw,
                                  msg->body))
    {
        return MCP_OK;
    }

    if (mcp_call_durable(call) != MCP_OK || req->state == MCP_REQUEST_OVER) {
        return MCP_OK;
    }

    rc = mcp_call_append(req, msg->body, mcp_call_state(call));

    if (rc == MCP_ERR_LIMIT || rc == MCP_ERR_FULL) {
        return MCP_AGAIN;
    }

    /* without a stream nobody waits for it; else something would be missing */

    if (rc != MCP_OK && rc != MCP_ERR_NOT_FOUND) {
        mcp_call_log(call, MCP_LOG_ERROR, "failed",
                     mcp_call_append_reason(rc));
        mcp_call_abandon(call, MCP_FAULT_INTERNAL);
    }

    return MCP_OK;
}


/* The subscription itself is ours, the backend has agreed to it. */
static int
mcp_job_subscribe(mcp_request_t *req)
{
    int                rc;
    unsigned char      topic[MCP_DIGEST_LEN];
    mcp_call_t        *call;
    mcp_stream_info_t  info;

    call = req->call;

    rc = mcp_notify_listener(call->worker, call->endpoint, &call->session,
                             call->party, &info);

    if (rc == MCP_OK) {
        rc = mcp_topic_uri(req->name, topic);
    }

    if (rc != MCP_OK) {
        return rc;
    }

    if (req->method->id == MCP_METHOD_RESOURCES_SUBSCRIBE) {
        return mcp_store_subscribe(call->worker->store, &info.ref, topic);
    }

    mcp_store_unsubscribe(call->worker->store, &info.ref, topic);

    return MCP_OK;
}


static mcp_fault_e
mcp_job_subscription(mcp_request_t *req)
{
    if (req->method->id != MCP_METHOD_RESOURCES_SUBSCRIBE
        && req->method->id != MCP_METHOD_RESOURCES_UNSUBSCRIBE)
    {
        return MCP_FAULT_NONE;
    }

    switch (mcp_job_subscribe(req)) {

    case MCP_OK:
        return MCP_FAULT_NONE;

    case MCP_ERR_FULL:
        return MCP_FAULT_STORE_FULL;

    case MCP_ERR_LIMIT:
        return MCP_FAULT_TOO_MANY_STREAMS;

    default:
        return MCP_FAULT_INTERNAL;
    }
}


static int
mcp_job_result(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    int           rc;
    mcp_buf_t     buf;
    mcp_fault_e   fault;
    mcp_ending_e  how;

    fault = mcp_job_subscription(req);
    if (fault != MCP_FAULT_NONE) {
        return mcp_call_finish_fault(req, fault, mcp_null_str);
    }

    how = msg->is_error ? MCP_ENDING_TOOL_ERROR : MCP_ENDING_OK;
    mcp_buf_init(&buf, &req->call->worker->env->mem, SIZE_MAX / 2);

    switch (mcp_hook_result(req->call->worker, req, msg, &buf)) {

    case MCP_OK:
        rc = mcp_call_finish(req, (mcp_str_t) { buf.data, buf.len }, how);
        break;

    case MCP_DONE:
        rc = mcp_call_finish(req, msg->body, how);
        break;

    case MCP_ERR_SYNTAX:
        mcp_call_fail(req, MCP_FAULT_BACKEND_OUTPUT);
        rc = MCP_OK;
        break;

    default:
        rc = mcp_call_finish_fault(req, MCP_FAULT_INTERNAL, mcp_null_str);
    }

    mcp_buf_free(&buf);

    return rc;
}


static void
mcp_job_log(const mcp_request_t *req, mcp_log_level_e level, const char *what,
    const char *why)
{
    char  id[9];

    mcp_stream_id_short(id, req->call->id);

    mcp_worker_log(req->call->worker, level, "call %s of \"%.*s\" %s%s", id,
                 (int) (req->name.len > 128 ? 128 : req->name.len),
                 req->name.data ? req->name.data : "", what, why);
}


/* Where JSON is broken, and what stands there. */
static void
mcp_job_log_broken(const mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    char         text[300], *p;
    size_t       i;
    const char  *hex = "0123456789abcdef";

    unsigned char  c;

    p = text + snprintf(text, 40, "%s at byte %llu: \"", msg->detail,
                        (unsigned long long) msg->at);

    for (i = 0; i < msg->near.len && p < text + sizeof(text) - 6; i++) {
        c = (unsigned char) msg->near.data[i];

        if (c >= 0x20 && c < 0x7f) {
            if (c == '"' || c == '\\') {
                *p++ = '\\';
            }

            *p++ = (char) c;
            continue;
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
    }

    *p++ = '"';
    *p = '\0';

    mcp_job_log(req, MCP_LOG_ERROR, "failed in its backend: ", text);
}


/* What its operator has to know of a backend's answer. */
static void
mcp_job_tell(const mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    char  status[32];

    if (msg->status) {
        snprintf(status, sizeof(status), "HTTP %d", msg->status);
        mcp_job_log(req, MCP_LOG_WARN, "failed in its backend: ", status);

    } else if (msg->kind == MCP_BACKEND_FAULT && msg->detail) {

        if (msg->near.data) {
            mcp_job_log_broken(req, msg);

        } else {
            mcp_job_log(req, MCP_LOG_ERROR, "failed in its backend: ",
                        msg->detail);
        }
    }

    if (msg->doubt) {
        mcp_job_log(req, MCP_LOG_WARN, "answered with ", msg->doubt);
    }
}


int
mcp_job_message(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    mcp_call_t  *call;

    call = req->call;

    if (call->over || req->state == MCP_REQUEST_OVER) {
        return MCP_OK;
    }

    mcp_job_tell(req, msg);

    switch (msg->kind) {

    case MCP_BACKEND_NOTIFICATION:
        return mcp_job_notification(req, msg);

    case MCP_BACKEND_RESULT:
        return mcp_job_result(req, msg);

    case MCP_BACKEND_ERROR:
        return mcp_call_finish(req, msg->body, MCP_ENDING_RPC_ERROR);

    case MCP_BACKEND_INPUT:
        return mcp_input_begin(req, msg);

    case MCP_BACKEND_DETACHED:
        req->state = MCP_REQUEST_DETACHED;
        mcp_call_durable(call);
        return MCP_OK;

    default:
        return mcp_call_finish_fault(req, msg->fault, mcp_null_str);
    }
}


/* It is in the log already. */
static void
mcp_job_told(mcp_backend_msg_t *msg)
{
    msg->detail = NULL;
    msg->doubt = NULL;
    msg->status = 0;
}


void
mcp_job_hold(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    req->msg = *msg;
    mcp_job_told(&req->msg);
    req->held = 1;
}


/* The message that was held, if there is one: MCP_OK or MCP_AGAIN. */
static int
mcp_job_retry(mcp_request_t *req)
{
    if (!req->held) {
        return MCP_OK;
    }

    req->held = 0;

    if (mcp_job_message(req, &req->msg) == MCP_AGAIN) {
        mcp_job_told(&req->msg);
        req->held = 1;
        return MCP_AGAIN;
    }

    return MCP_OK;
}


void
mcp_job_process(mcp_request_t *req)
{
    int                rc;
    mcp_backend_msg_t  msg;

    if (mcp_job_retry(req) == MCP_AGAIN || req->backend == NULL) {
        return;
    }

    for ( ;; ) {

        rc = mcp_backend_read(req->backend, &msg);

        if (rc == MCP_AGAIN && req->ended) {
            req->ended = 0;
            mcp_backend_end(req->backend, req->end_fault, req->end_detail);
            continue;
        }

        if (rc != MCP_OK) {
            break;
        }

        if (mcp_job_message(req, &msg) == MCP_AGAIN) {
            mcp_job_hold(req, &msg);
            return;
        }
    }

    if (rc < 0 && !req->call->over && req->state != MCP_REQUEST_OVER) {
        mcp_call_abandon(req->call, MCP_FAULT_INTERNAL);
    }

    mcp_job_go_again(req);
}


/* Invokes once more if that was put off, and nothing stands in its way: what
 * is held lies in the decoder, which the next invocation replaces. */
static void
mcp_job_go_again(mcp_request_t *req)
{
    if (!req->again || req->live || req->held) {
        return;
    }

    req->again = 0;

    /* what was published meanwhile may have answered, or have asked anew */

    if (req->call->over || req->state != MCP_REQUEST_RUN) {
        return;
    }

    if (mcp_input_again(req) == MCP_AGAIN) {
        mcp_call_hold_fault(req, MCP_FAULT_INTERNAL);
    }
}


static mcp_request_t *
mcp_job_request(mcp_job_t *job)
{
    return &job->call->requests[job->request];
}


void
mcp_job_head(mcp_job_t *job, int status, mcp_str_t content_type)
{
    mcp_backend_head(mcp_job_request(job)->backend, status, content_type);
}


size_t
mcp_job_data(mcp_job_t *job, const char *data, size_t len)
{
    mcp_request_t  *req;

    req = mcp_job_request(job);

    if (req->call->over || job->aborted) {
        return len;
    }

    if (req->held) {
        req->starved = 1;
        return 0;
    }

    if (mcp_backend_write(req->backend, data, len) == MCP_ERR_MEMORY) {
        mcp_call_fail(req, MCP_FAULT_INTERNAL);
        return len;
    }

    mcp_job_process(req);

    if (req->held) {
        mcp_call_set_timer(req->call);
    }

    return len;
}


void
mcp_job_end(mcp_job_t *job, mcp_fault_e fault, const char *detail)
{
    mcp_call_t     *call;
    mcp_request_t  *req;

    req = mcp_job_request(job);
    call = req->call;

    mcp_worker_unqueue(call->worker, &job->task);

    req->live = 0;
    call->refs++;

    if (req->again) {
        mcp_job_go_again(req);

    } else if (!call->over && !job->aborted
               && req->state == MCP_REQUEST_RUN)
    {
        req->ended = 1;
        req->end_fault = fault;
        req->end_detail = detail;

        if (!req->held) {
            mcp_job_process(req);
        }

        /* no more of the job wakes the call up for what is held now */

        if (req->held) {
            mcp_call_set_timer(call);
        }
    }

    call->jobs--;

    mcp_call_check_end(call);
    mcp_call_release(call);
}


/* --- its time --- */

static void
mcp_job_timeout(mcp_request_t *req)
{
    int  rc;

    if (req->state == MCP_REQUEST_INPUT) {
        rc = mcp_call_finish_text(req, mcp_str("The client did not answer "
                                               "the request for input in "
                                               "time"));
    } else {
        /* once: it comes again until there is room for its answer */

        if (!req->late) {
            req->late = 1;
            mcp_call_log(req->call, MCP_LOG_ERROR, "timed out", NULL);
        }

        rc = mcp_call_finish_fault(req, MCP_FAULT_BACKEND_TIMEOUT,
                                   mcp_null_str);
    }

    if (rc == MCP_AGAIN) {
        req->deadline = mcp_call_now(req->call) + MCP_CALL_RETRY;
    }
}


void
mcp_job_deadline(mcp_request_t *req)
{
    unsigned     was_live;
    mcp_call_t  *call;

    call = req->call;
    was_live = req->live;

    /* it passes once */

    req->deadline = UINT64_MAX;

    if (call->over || req->state == MCP_REQUEST_OVER) {
        mcp_job_stop(req);

        if (was_live && !req->live) {
            mcp_call_check_end(call);
        }

        return;
    }

    if (req->again) {

        /* it asked, was answered, and does not end */

        mcp_job_abort(req);
        mcp_job_go_again(req);
        return;
    }

    if (req->held && req->msg.kind != MCP_BACKEND_NOTIFICATION) {

        /* its last word is here, only room is not */

        req->deadline = mcp_call_now(call) + MCP_CALL_RETRY;
        return;
    }

    mcp_job_stop(req);
    mcp_job_timeout(req);
}
